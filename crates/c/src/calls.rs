//! The interface between the shim, which is compiled into the program under test, and the runtime:
//! the address of the table of functions, the numbers of its entries and of requests, and the
//! source of the shim with all of these as its first lines.

/// Address of the function table. The memory of the program's threads follows it. The address is
/// the same in every run, so pointers of the program are the same in every run, too. On machines
/// with shorter addresses, no program is loaded.
pub const BASE: usize = 0x6d7a_0000_0000_u64 as usize;

/// Names of the entries of the table, in order.
pub const ENTRIES: [&str; 10] = [
    "turn", "did", "plain", "fail", "ask", "start", "stack", "operand", "expected", "failure",
];

/// Address of an entry that is not a function: it holds the base of the runtime's stack for the
/// current thread.
pub const STACK_ENTRY: usize = BASE + 8 * 6;

/// Address of three entries that are not functions: the operand of an atomic access, the expected
/// value of a compare-exchange, and its failure order.
pub const OPERAND_ENTRIES: usize = BASE + 8 * 7;

macro_rules! numbered {
    ($(#[$about:meta])* $name:ident { $($variant:ident $(= $said:literal)?,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        #[allow(missing_docs)]
        pub enum $name { $($variant,)* }

        impl $name {
            /// All variants, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];
        }
    };
}

numbered! {
    /// Requests of a thread.
    Ask {
        Init, Destroy, MutexLock, MutexTrylock, MutexTimedlock, MutexUnlock,
        CondWait, CondTimedwait, CondSignal, CondBroadcast,
        RwRead, RwWrite, RwTryread, RwTrywrite, RwUnlock,
        SemInit, SemWait, SemTrywait, SemTimedwait, SemPost, SemValue, Barrier,
        OnceEnter, OnceLeave, OnceAbort,
        Join, Detach, Self_, ExitThread,
        KeyCreate, KeyDelete, KeySet, KeyGet, KeyDestructor, KeyTake,
        Malloc, Free, Size, Print, Exit,
        AtomicBegin, AtomicEnd, Choose, Nondet,
        AtExit, AtThreadEnd, LastFunction, TakeLast, LastThread,
        Now, Later, FutexWait, FutexTimedwait, FutexWake, Throws,
    }
}

numbered! {
    /// Reasons for halting a thread.
    Halt { Assert, Abort, Assume, Refused, }
}

/// Returns the name of a variant in the shim: `MZ_MUTEX_LOCK` for `MutexLock`.
fn in_c(name: &str) -> String {
    let mut text = "MZ".to_owned();
    for letter in name.trim_end_matches('_').chars() {
        if letter.is_uppercase() {
            text.push('_');
        }
        text.push(letter.to_ascii_uppercase());
    }
    text
}

/// Returns the source of the shim, for a C compiler.
///
/// ```
/// let text = mazurka_c::shim_source();
/// assert!(text.contains("#define MZ_MUTEX_LOCK 2\n") && text.contains("__tsan_write##n"));
/// ```
pub fn shim_source() -> String {
    let mut text = format!("#define MZ_TABLE {BASE:#x}\n");
    for (number, name) in ENTRIES.iter().enumerate() {
        text += &format!("#define MZ_{name} {number}\n");
    }
    for &ask in Ask::ALL {
        text += &format!("#define {} {}\n", in_c(&format!("{ask:?}")), ask as u32);
    }
    for &halt in Halt::ALL {
        text += &format!("#define {} {}\n", in_c(&format!("{halt:?}")), halt as u32);
    }
    text + include_str!("../shim/shim.c") + include_str!("../shim/libc.c")
}
