//! A loaded program: its code, and its writable memory. Each execution starts with the content that
//! the memory had after loading.

use std::ffi::CString;

use crate::LoadError;
use crate::elf::Symbols;

/// A part of the writable memory, and its content after loading.
struct Segment {
    address: usize,
    content: Vec<u8>,
}

/// The type of `main`: the number of arguments, the arguments and the environment.
pub(crate) type Main = extern "C" fn(i32, *const *const u8, *const *const u8) -> i32;

/// The loaded program.
pub(crate) struct Image {
    pub base: usize,
    pub symbols: Symbols,
    segments: Vec<Segment>,
    /// Address of the thread-local variables of the one real thread, and their initial content.
    pub tls: usize,
    pub tls_content: Vec<u8>,
    /// Whether the program puts code on stacks, as nested functions of GNU C do.
    pub code_on_stacks: bool,
    pub main: Main,
    /// The function of the shim that calls the function of a thread with its arguments.
    pub bottom: extern "C" fn(usize, usize, usize, usize) -> usize,
    /// Functions of the shim that run at the end of a thread, and at the end of the program.
    pub thread_ends: extern "C" fn(),
    pub program_ends: extern "C" fn(),
    /// The functions with the attribute `destructor`. The last one in this list runs first.
    pub destructors: Vec<usize>,
}

/// The entries of the dynamic section with the address and the size of the array of functions that
/// the loader runs when it unloads the object.
const DT_FINI_ARRAY: usize = 26;
const DT_FINI_ARRAYSZ: usize = 28;

extern "C" fn nothing_at_the_end() {}

/// A thread-local variable, as the loader names it.
#[repr(C)]
struct TlsIndex {
    module: usize,
    offset: usize,
}

unsafe extern "C" {
    fn __tls_get_addr(index: *const TlsIndex) -> *mut libc::c_void;
}

/// The data that `dl_iterate_phdr` collects.
struct CollectedImage {
    base: usize,
    found: Vec<(usize, usize)>,
    relro: (usize, usize),
    tls: (usize, usize),
    dynamic: usize,
    code_on_stacks: bool,
}

impl CollectedImage {
    /// Removes and returns the functions that the loader would run when it unloads the object. It
    /// would run them at the end of this process, which is later than the end of the program.
    ///
    /// # Safety
    ///
    /// The object is loaded, and none of its code runs.
    unsafe fn take_destructors(&self) -> Vec<usize> {
        let (mut entry, mut array, mut size) = (self.dynamic as *const [usize; 2], 0, 0);
        // SAFETY: the section ends with an entry of the kind 0.
        unsafe {
            while !entry.is_null() && (*entry)[0] != 0 {
                match *entry {
                    [DT_FINI_ARRAY, at] => array = self.base + at,
                    [DT_FINI_ARRAYSZ, bytes] => size = bytes,
                    _ => {}
                }
                entry = entry.add(1);
            }
        }
        if array == 0 || size < size_of::<usize>() {
            return Vec::new();
        }
        let first = array & !4095;
        let pages = (first as *mut libc::c_void, array + size - first);
        let (start, length) = self.relro;
        let read_only = start <= array && array < start + length;
        // SAFETY: this array was relocated, and is a part of the object.
        unsafe {
            if read_only
                && libc::mprotect(pages.0, pages.1, libc::PROT_READ | libc::PROT_WRITE) != 0
            {
                return Vec::new();
            }
            let functions =
                std::slice::from_raw_parts_mut(array as *mut usize, size / size_of::<usize>());
            let taken = functions.to_vec();
            functions.fill(nothing_at_the_end as *const () as usize);
            if read_only {
                libc::mprotect(pages.0, pages.1, libc::PROT_READ);
            }
            taken
        }
    }
}

/// Collects the data of the object at `CollectedImage::base`. `dl_iterate_phdr` calls this for one
/// object after the other until it returns 1.
extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut libc::c_void) -> i32 {
    // SAFETY: the loader passes the description of an object, and `data` is the `CollectedImage` of
    // `open`.
    unsafe {
        let (info, wanted) = (&*info, &mut *data.cast::<CollectedImage>());
        if info.dlpi_addr as usize != wanted.base {
            return 0;
        }
        let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        for header in headers {
            let (at, size) = (
                wanted.base + header.p_vaddr as usize,
                header.p_memsz as usize,
            );
            match header.p_type {
                libc::PT_LOAD if header.p_flags & libc::PF_W != 0 => wanted.found.push((at, size)),
                libc::PT_DYNAMIC => wanted.dynamic = at,
                libc::PT_GNU_RELRO => wanted.relro = (at, size),
                libc::PT_GNU_STACK => wanted.code_on_stacks = header.p_flags & libc::PF_X != 0,
                // This call also allocates the block of this thread if the loader has not done so
                // yet.
                libc::PT_TLS => {
                    let block = __tls_get_addr(&TlsIndex {
                        module: info.dlpi_tls_modid,
                        offset: 0,
                    });
                    wanted.tls = (block as usize, size);
                }
                _ => {}
            }
        }
        1
    }
}

impl Image {
    /// Returns an image without a program.
    pub fn none() -> Self {
        extern "C" fn nothing(_: i32, _: *const *const u8, _: *const *const u8) -> i32 {
            0
        }
        extern "C" fn no_thread(_: usize, _: usize, _: usize, _: usize) -> usize {
            0
        }
        Self {
            base: 0,
            symbols: Symbols::default(),
            segments: Vec::new(),
            tls: 0,
            tls_content: Vec::new(),
            code_on_stacks: false,
            main: nothing,
            bottom: no_thread,
            thread_ends: nothing_at_the_end,
            program_ends: nothing_at_the_end,
            destructors: Vec::new(),
        }
    }

    /// Loads an object with these symbols, and runs its constructors.
    pub fn open(path: &str, symbols: Symbols) -> Result<Self, LoadError> {
        let name = CString::new(path).map_err(|_| LoadError::NoObject)?;
        // SAFETY: the strings end with 0, and the object is never closed.
        unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if handle.is_null() {
                let why = std::ffi::CStr::from_ptr(libc::dlerror());
                return Err(LoadError::Loader(why.to_string_lossy().into_owned()));
            }
            let main = libc::dlsym(handle, c"main".as_ptr());
            if main.is_null() {
                return Err(LoadError::NoMain);
            }
            let mut info: libc::Dl_info = std::mem::zeroed();
            libc::dladdr(main, &mut info);
            let base = info.dli_fbase as usize;
            let mut wanted = CollectedImage {
                base,
                found: Vec::new(),
                relro: (0, 0),
                tls: (0, 0),
                dynamic: 0,
                code_on_stacks: false,
            };
            libc::dl_iterate_phdr(Some(look), (&raw mut wanted).cast());
            let (tls, tls_size) = wanted.tls;
            if tls_size > 0 && tls == 0 {
                return Err(LoadError::ThreadLocal);
            }
            let of_source = |&function: &usize| {
                let at = function.wrapping_sub(base) as u64;
                symbols.line(at).is_some()
            };
            let mut destructors = wanted.take_destructors();
            // Only destructors in the source are kept; others belong to the compiler's libraries.
            destructors.retain(of_source);
            let copy = |at: usize, size: usize| match size {
                0 => Vec::new(),
                _ => std::slice::from_raw_parts(at as *const u8, size).to_vec(),
            };
            let relro_end = (wanted.relro.0 + wanted.relro.1) & !4095;
            let segments = wanted.found.iter().map(|&(at, size)| {
                // The first part may be read-only once the object is loaded.
                let start = if wanted.relro.0 <= at && at < relro_end {
                    relro_end
                } else {
                    at
                };
                let size = (at + size).saturating_sub(start);
                Segment {
                    address: start,
                    content: copy(start, size),
                }
            });
            let segments = segments.collect();
            let of_shim = |name: &str| {
                let at = symbols.address(name).ok_or(LoadError::NoObject)?;
                Ok::<usize, LoadError>(base + at as usize)
            };
            let end = |at: usize| std::mem::transmute::<usize, extern "C" fn()>(at);
            Ok(Self {
                code_on_stacks: wanted.code_on_stacks,
                main: std::mem::transmute::<*mut libc::c_void, Main>(main),
                bottom: std::mem::transmute::<
                    usize,
                    extern "C" fn(usize, usize, usize, usize) -> usize,
                >(of_shim("mazurka_bottom")?),
                thread_ends: end(of_shim("mazurka_thread_ends")?),
                program_ends: end(of_shim("mazurka_program_ends")?),
                destructors,
                tls_content: copy(tls, tls_size),
                tls,
                segments,
                base,
                symbols,
            })
        }
    }

    /// Restores the writable memory to its content after loading.
    pub fn restore(&self) {
        for segment in &self.segments {
            // SAFETY: the segment is mapped and writable while the object is loaded, and none of
            // its code runs.
            unsafe {
                let to = segment.address as *mut u8;
                std::ptr::copy_nonoverlapping(segment.content.as_ptr(), to, segment.content.len());
            }
        }
    }

    /// Saves the content of the writable memory.
    pub fn save(&self, into: &mut Vec<u8>) {
        into.clear();
        for segment in &self.segments {
            // SAFETY: as in `restore`.
            let content = unsafe {
                std::slice::from_raw_parts(segment.address as *const u8, segment.content.len())
            };
            into.extend_from_slice(content);
        }
    }

    /// Restores a saved content.
    pub fn put_back(&self, saved: &[u8]) {
        let mut rest = saved;
        for segment in &self.segments {
            let content;
            (content, rest) = rest.split_at(segment.content.len());
            // SAFETY: as in `restore`.
            unsafe {
                let to = segment.address as *mut u8;
                std::ptr::copy_nonoverlapping(content.as_ptr(), to, content.len());
            }
        }
    }

    /// Returns the size of the writable memory.
    pub fn size(&self) -> usize {
        self.segments.iter().map(|it| it.content.len()).sum()
    }

    /// Whether an address is in the thread-local variables.
    pub fn is_thread_local(&self, address: usize) -> bool {
        address.wrapping_sub(self.tls) < self.tls_content.len()
    }
}
