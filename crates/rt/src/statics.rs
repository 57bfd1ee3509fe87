//! Statics in models: each model has its own, and they start every execution anew.
//!
//! A static outlives executions, and tests that run at the same time share it. So a thread of a
//! model never uses a static itself. Its model has a *twin* of it: made from what the static holds
//! when the model first uses it, and kept by the world of the model. Threads outside models use the
//! static, and do not see what models do.
//!
//! - For what has no content (`Condvar`, `Barrier`, `Once`) the twin is a [`Meta`].
//! - Of an atomic and a `OnceLock` a model has one twin, which gets its first value again in every
//!   execution. A reference to the value of a `OnceLock` may outlive the model, so twins are never
//!   freed.
//! - The content of a lock can be anything. The value of a static is computed by the compiler, so
//!   it owns no memory, and as long as the static has not been used its bytes are as good a value
//!   as the first: a lock gets a twin in every execution, a copy of its bytes. The one of the
//!   execution before is dropped, unless it is still held. A static lock that has been used outside
//!   a model is refused if its content has a destructor.
//!
//! What is a static is asked of the program: does the object lie in a segment that was loaded?

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::names::Meta;
use crate::world::{World, entered};

/// What stands for a static in a model.
struct Twin {
    /// The execution that it is for.
    epoch: u64,
    at: *mut u8,
    /// Ends it, if it is for one execution.
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

/// Ends a twin, outside the model: an execution that is over makes no steps.
fn retire(end: Option<Box<dyn FnOnce()>>) {
    if let Some(end) = end {
        // Statics are not dropped in earnest, so it is not a failure of the test if that panics.
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

/// Whether an address is one of data that was loaded with the program; true where that is unknown.
pub(crate) fn is_loaded(address: usize) -> bool {
    let segments = SEGMENTS.get_or_init(segments);
    let mut loaded = segments.loaded.iter();
    segments.loaded.is_empty() || loaded.any(|&(start, end)| (start..end).contains(&address))
}

/// Whether an address is one of code of the program, and not of a library that it uses.
pub(crate) fn is_code(address: usize) -> bool {
    let segments = SEGMENTS.get_or_init(segments);
    let mut code = segments.code.iter();
    code.any(|&(start, end)| (start..end).contains(&address))
}

/// The parts of memory that were loaded with the program.
#[derive(Default)]
struct Segments {
    /// What can be written, ordered by address.
    data: Vec<(usize, usize)>,
    /// What can be run, of the program itself.
    code: Vec<(usize, usize)>,
    /// Everything.
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
        // SAFETY: `dl_iterate_phdr` gives a valid object, with so many headers, and what it was
        // given itself.
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
    /// Whether the object is one that this model uses itself, and not a static.
    #[inline]
    pub fn owns(&self, meta: &Meta) -> bool {
        meta.known(self.inner.borrow().epoch).is_some() || !meta.is_static()
    }

    /// Returns what links an object to its cell in this model.
    #[inline]
    pub fn here<'a>(&self, meta: &'a Meta) -> &'a Meta {
        if self.owns(meta) {
            meta
        } else {
            self.twin(meta, || Meta::at(meta.made()))
        }
    }

    /// Returns the twin of a static that the model has for all its executions.
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
        // SAFETY: every object has a `Meta` of its own, so this one was made here, as a `T`. It is
        // never freed.
        unsafe { &*twin.at.cast() }
    }

    /// Returns the twin of a static lock for this execution: a copy of its bytes. `free` tells
    /// whether no guard of a twin is left.
    ///
    /// # Safety
    ///
    /// The bytes of the lock must be as good a value as the lock.
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
            // SAFETY: a pointer begins with the address, whatever else it knows of its object.
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
                    // SAFETY: it was made above and is dropped once, if no guard refers to it.
                    // Nothing else can: it was lent only as long as the execution lasted.
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
