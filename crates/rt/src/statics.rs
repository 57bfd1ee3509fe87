//! Statics in models: each model has its own copy, which every execution resets.
//!
//! A static outlives executions, and tests that run at the same time share it. So a thread of a
//! model never uses the static itself, but a *twin* of it. The model makes the twin from the static
//! when it first uses the static, and keeps it in its world. Threads outside models use the static,
//! and do not see what models do.
//!
//! - The twin of an object without content (`Condvar`, `Barrier`, `Once`) is only a [`Meta`], the
//!   link to the state of the object in an execution.
//! - An atomic or a `OnceLock` has one twin in a model, which every execution resets to its
//!   first value. A reference to the value of a `OnceLock` may outlive the model, so twins are
//!   never freed.
//! - The content of a lock can be anything. But the compiler computes the initial value of a
//!   static, so this value owns no memory, and as long as the static has not been used, a copy of
//!   its bytes is as good as the original. So a lock gets a new twin in every execution, a copy of
//!   its bytes. The twin of the previous execution is dropped, unless a guard still holds it. A
//!   static lock that has been used outside a model is refused if its content has a destructor.
//!
//! An object counts as a static if it lies in a memory segment that was loaded with the program.

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::names::Meta;
use crate::world::{World, entered};

/// The copy of a static in a model.
struct Twin {
    /// The epoch of the execution that it was made for.
    epoch: u64,
    at: *mut u8,
    /// Drops the twin; `None` if the twin serves all executions of the model.
    retire: Option<Box<dyn FnOnce()>>,
}

/// The twins of a model, by the address of the [`Meta`] of the static.
#[derive(Default)]
pub(crate) struct Twins(RefCell<FxHashMap<usize, Twin>>);

impl Drop for Twins {
    fn drop(&mut self) {
        for (_, twin) in self.0.take() {
            retire(twin.retire);
        }
    }
}

/// Drops a twin. Its destructor runs as code outside models, because its execution has ended and
/// can make no more steps.
fn retire(end: Option<Box<dyn FnOnce()>>) {
    if let Some(end) = end {
        // Statics are never really dropped, so a panic here is not a failure of the test.
        let _panic = catch_unwind(AssertUnwindSafe(|| entered(ptr::null(), end)));
    }
}

impl Meta {
    /// Whether the object is a static, or a part of one.
    pub fn is_static(&self) -> bool {
        let address = ptr::from_ref(self) as usize;
        let segments = &SEGMENTS.get_or_init(segments).data;
        let at = segments.partition_point(|&(start, _)| start <= address);
        at > 0 && address < segments[at - 1].1
    }
}

/// Whether an address lies in memory that was loaded with the program; true if that is unknown.
pub(crate) fn is_loaded(address: usize) -> bool {
    let segments = SEGMENTS.get_or_init(segments);
    let mut loaded = segments.loaded.iter();
    segments.loaded.is_empty() || loaded.any(|&(start, end)| (start..end).contains(&address))
}

/// Whether an address lies in code of the program itself, rather than of a library it uses.
pub(crate) fn is_code(address: usize) -> bool {
    let segments = SEGMENTS.get_or_init(segments);
    let mut code = segments.code.iter();
    code.any(|&(start, end)| (start..end).contains(&address))
}

/// Memory that was loaded with the program, as ranges of addresses.
#[derive(Default)]
struct Segments {
    /// Writable segments, ordered by address.
    data: Vec<(usize, usize)>,
    /// Executable segments of the program itself.
    code: Vec<(usize, usize)>,
    /// All segments.
    loaded: Vec<(usize, usize)>,
}

static SEGMENTS: OnceLock<Segments> = OnceLock::new();

#[cfg(not(target_os = "linux"))]
fn segments() -> Segments {
    Segments::default()
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn segments() -> Segments {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _: usize,
        into: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` passes a valid object, with that many headers, and the pointer
        // that it was given.
        unsafe {
            let into = &mut *into.cast::<Segments>();
            // The program comes first.
            let first = into.data.is_empty() && into.code.is_empty();
            let (base, count) = ((*info).dlpi_addr as usize, usize::from((*info).dlpi_phnum));
            for at in 0..count {
                let header = &*(*info).dlpi_phdr.add(at);
                let start = base.wrapping_add(header.p_vaddr as usize);
                let range = (start, start + header.p_memsz as usize);
                if header.p_type != libc::PT_LOAD {
                    continue;
                }
                into.loaded.push(range);
                if header.p_flags & libc::PF_W != 0 {
                    into.data.push(range);
                }
                if first && header.p_flags & libc::PF_X != 0 {
                    into.code.push(range);
                }
            }
        }
        0
    }
    let mut found = Segments::default();
    // SAFETY: `found` outlives the call.
    unsafe {
        libc::dl_iterate_phdr(Some(look), (&raw mut found).cast());
    }
    found.data.sort_unstable();
    found
}

impl World {
    /// Whether the model uses the object directly, because it is not a static.
    #[inline]
    pub fn owns(&self, meta: &Meta) -> bool {
        meta.known(self.inner.borrow().epoch).is_some() || !meta.is_static()
    }

    /// Returns the link between an object and its cell in this model.
    #[inline]
    pub fn here<'a>(&self, meta: &'a Meta) -> &'a Meta {
        if self.owns(meta) {
            meta
        } else {
            self.twin(meta, || Meta::at(meta.made()))
        }
    }

    /// Returns the twin of a static, which serves all executions of the model.
    #[allow(unsafe_code)]
    pub fn twin<'a, T>(&self, meta: &'a Meta, make: impl FnOnce() -> T) -> &'a T {
        let mut twins = self.twins.0.borrow_mut();
        let twin = twins
            .entry(ptr::from_ref(meta) as usize)
            .or_insert_with(|| Twin {
                epoch: 0,
                at: Box::into_raw(Box::new(make())).cast(),
                retire: None,
            });
        // SAFETY: every object has a `Meta` of its own, so this twin was made above, as a `T`. It
        // is never freed.
        unsafe { &*twin.at.cast() }
    }

    /// Returns the twin of a static lock for this execution: a copy of its bytes. `free` tells
    /// whether no guard of a twin is left.
    ///
    /// # Safety
    ///
    /// A copy of the bytes of the lock must be a valid, independent value.
    #[allow(unsafe_code)]
    pub unsafe fn twin_of_bytes<'a, T: ?Sized>(
        &self,
        meta: &Meta,
        lock: &'a T,
        free: fn(&T) -> bool,
    ) -> &'a T {
        let epoch = self.inner.borrow().epoch;
        let key = ptr::from_ref(meta) as usize;
        let with = |at: *mut u8| {
            let mut twin = ptr::from_ref(lock).cast_mut();
            // SAFETY: a pointer begins with the address, whatever metadata follows.
            unsafe { *(&raw mut twin).cast::<*mut u8>() = at };
            twin
        };
        let known = self.twins.0.borrow_mut().remove(&key);
        let twin = match known {
            Some(twin) if twin.epoch == epoch => twin,
            known => {
                retire(known.and_then(|twin| twin.retire));
                let layout = Layout::for_value(lock);
                // SAFETY: a lock is not empty; the new memory has its size and alignment, and the
                // caller promises the rest.
                let at = unsafe {
                    let at = alloc(layout);
                    if at.is_null() {
                        handle_alloc_error(layout);
                    }
                    ptr::copy_nonoverlapping(ptr::from_ref(lock).cast(), at, layout.size());
                    at
                };
                let copy = with(at);
                let end: Box<dyn FnOnce() + '_> = Box::new(move || {
                    // SAFETY: it was made above and is dropped once, if no guard refers to it. No
                    // other reference to it is left: all of them ended with the execution.
                    unsafe {
                        if free(&*copy) {
                            drop(Box::from_raw(copy));
                        }
                    }
                });
                // SAFETY: a static lives for ever, and so does its type.
                let end: Box<dyn FnOnce()> = unsafe { std::mem::transmute(end) };
                Twin {
                    epoch,
                    at,
                    retire: Some(end),
                }
            }
        };
        let copy = with(twin.at);
        self.twins.0.borrow_mut().insert(key, twin);
        // SAFETY: as above.
        unsafe { &*copy }
    }
}
