//! Native C and C++ programs: explores one execution of each equivalence class.
//!
//! A C compiler already instruments code: `-fsanitize=thread` turns each access to memory into a
//! call of a `__tsan_…` function. The *shim* ([`shim_source`]) provides these functions, those of
//! the thread library and parts of the C library; it is linked into the program with hidden
//! visibility. The program is loaded into a process of its own ([`load`]), its threads are
//! coroutines, and its writable memory is restored before each execution. [`Machine`] is then an
//! [`Execution`](mazurka_core::Execution) that every explorer runs.
//!
//! - `calls`: the numbers and addresses that the shim and the runtime share.
//! - `inputs`: the ranges of unknown values.
//! - `elf`: symbols and lines of the program.
//! - `image`: the loaded program; `heap`: the memory of its threads.
//! - `world`: the state of an execution; `next`: the next steps of its threads.
//! - `access`: accesses to memory.
//! - `objects`: mutexes, condition variables and threads; `waits`: semaphores, read-write locks,
//!   barriers and `once`; `futex`: the waits of the C++ library; `lives`: the lifetimes of objects.
//! - `ends`: the end of threads and of the program.
//! - `clock`: data races; `race`: their descriptions.
//! - `spin`: loops that wait; `trap`: faults.
//! - `machine`: executions; `checkpoint`: saved states of an execution; `tell`: descriptions of
//!   steps.
//! - `weak`: executions under a memory model.
//! - `confine`: limits of the process; `trail`: the last schedule of a killed process.
//!
//! C programs run only on Linux with x86-64, and only if the tool itself is linked dynamically.
//! Otherwise [`load`] returns [`LoadError::NotHere`].

// On other systems no machine exists, so the parts that machines use are unused.
#![cfg_attr(
    not(all(target_os = "linux", target_arch = "x86_64")),
    allow(dead_code)
)]

mod calls;
mod inputs;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod access;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod checkpoint;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod clock;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod confine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod elf;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod ends;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod futex;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod heap;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod image;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod known;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod lives;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod load;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod machine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod next;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod objects;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod race;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod spin;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod tell;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod trail;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod trap;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod waits;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
pub mod weak;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[allow(unsafe_code)]
mod world;

pub use calls::shim_source;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use confine::{confine, interrupt_process, keep_files, kill_process};
#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
pub use elsewhere::{
    Machine, TRAIL_SIZE, confine, interrupt, interrupt_process, keep_files, keep_trail,
    kill_process, left_behind, load, must_agree, on_refusal_before_main, outside, set_deadline,
};
pub use inputs::wrong_input;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use load::{
    interrupt, keep_trail, load, must_agree, on_refusal_before_main, outside, set_deadline,
};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use machine::Machine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use trail::{SIZE as TRAIL_SIZE, left_behind};

/// Flags for compiling the shim: its code must not use the registers in which its callers keep
/// values.
pub const SHIM_FLAGS: [&str; 15] = [
    "-O1",
    "-fexceptions",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-builtin",
    "-ffunction-sections",
    "-w",
    "-fomit-frame-pointer",
    "-fno-stack-protector",
    "-ffixed-rbx",
    "-ffixed-rbp",
    "-ffixed-r12",
    "-ffixed-r13",
    "-ffixed-r14",
    "-ffixed-r15",
];

/// Returns the flags for compiling the shim. `fixed` says whether the compiler can reserve
/// registers. If it cannot, the shim saves the registers of the program on its stack.
pub fn shim_flags(fixed: bool) -> Vec<&'static str> {
    if fixed {
        return SHIM_FLAGS.to_vec();
    }
    let kept = SHIM_FLAGS.iter().copied();
    let kept = kept.filter(|flag| !flag.starts_with("-ffixed"));
    kept.chain(["-DMZ_USES_REGISTERS"]).collect()
}

/// Flags for compiling programs. The optimisation level is added: -O0 if races are allowed,
/// otherwise -O1.
pub const FLAGS: [&str; 6] = [
    "-g",
    "-gdwarf-4",
    "-fsanitize=thread",
    "-fno-builtin",
    "-U_FORTIFY_SOURCE",
    "-fno-stack-protector",
];

/// Flags that follow those of the user, because the user's flags must neither turn the
/// instrumentation off nor hide `main`.
pub const LAST_FLAGS: [&str; 3] = ["-fno-lto", "-fsanitize=thread", "-fvisibility=default"];

/// A flag of the user that contains one of these texts is rejected, because it would turn off a
/// part of the instrumentation.
pub const REFUSED_FLAGS: [&str; 3] = ["tsan", "-fsanitize-blacklist", "-fsanitize-ignorelist"];

/// A function that each instrumented object calls.
pub const INSTRUMENTED: &str = "__tsan_init";

/// Flags for linking programs, and further ones for programs in C++.
pub const LINK_FLAGS: [&str; 4] = [
    "-shared",
    "-Wl,-Bsymbolic",
    "-Wl,-z,now",
    "-Wl,--gc-sections",
];
/// See [`LINK_FLAGS`].
pub const CXX_LINK_FLAGS: [&str; 6] = [
    "-static-libstdc++",
    "-static-libgcc",
    "-Wl,--wrap=__cxa_throw",
    "-Wl,--wrap=__cxa_rethrow",
    "-Wl,--wrap=__cxa_begin_catch",
    "-Wl,--wrap=_ZSt9terminatev",
];

/// Flags that only some compilers support. Without the second, clang removes a read before a write
/// to the same place; without the third, gcc removes blocks that are allocated and not used.
pub const OPTIONAL_FLAGS: [&[&str]; 3] = [
    &["-ftrivial-auto-var-init=zero"],
    &["-mllvm", "-tsan-instrument-read-before-write=1"],
    &["-fno-allocation-dce"],
];

/// Whether this build of the tool can run C.
pub const RUNS_HERE: bool = cfg!(all(
    target_os = "linux",
    target_arch = "x86_64",
    not(target_feature = "crt-static")
));

/// A process that this process has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its number.
    pub id: u32,
    /// Whether signals go to all processes of its group, which it leads.
    pub leads: bool,
}

/// Why a search stops early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchStop {
    /// The search has learned a fact about the program and must restart with it.
    Restart,
    /// The program uses a function that Mazurka does not control.
    Refused(String),
    /// The time limit has passed during a step.
    OutOfTime,
    /// After a data race, the program did not repeat its steps under the same schedule.
    Raced,
}

/// How to explore a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The path of the first source file, as it was given to the compiler. Records name other files
    /// relative to its folder.
    pub main_file: String,
    /// Whether data races are allowed. If they are, plain accesses that race are steps; otherwise a
    /// race is a failure.
    pub allow_races: bool,
    /// Whether threads that are neither joined nor detached, and memory that is not freed, are
    /// failures.
    pub leaks: bool,
    /// Descriptions of code that runs outside of the exploration and that this crate cannot see,
    /// such as inline assembly.
    pub outside: Vec<String>,
    /// The values of `__VERIFIER_nondet_TYPE`: the name of the type, the least value and the
    /// greatest value.
    pub inputs: Vec<(String, i64, i64)>,
    /// The values in which executions must agree to be deterministic: `code`, `output` and names of
    /// variables. If empty, these are the exit code and the output, but not the order of concurrent
    /// output of threads.
    pub observed: Vec<String>,
    /// Whether executions with different observed values are violations.
    pub must_agree: bool,
}

impl Settings {
    /// Whether the order of the output matters.
    pub(crate) fn observes_output(&self) -> bool {
        self.observed.iter().any(|what| what == "output")
    }

    /// Whether the exit code matters.
    pub(crate) fn observes_code(&self) -> bool {
        self.observed.is_empty() || self.observed.iter().any(|what| what == "code")
    }
}

/// Why a program cannot be run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The tool runs on another system.
    #[error(
        "C programs are explored on Linux with x86-64 only, by a tool that is not linked statically"
    )]
    NotHere,
    /// The file is not a shared object.
    #[error("the compiled program is not a shared object of this machine")]
    NoObject,
    /// The loader rejects the file.
    #[error("the compiled program cannot be loaded: {0}")]
    Loader(String),
    /// The program has no `main`.
    #[error("the program has no `main`: write a small one that calls what is to be checked")]
    NoMain,
    /// The thread-local variables of the program cannot be located.
    #[error("the thread-local variables of the program cannot be found")]
    ThreadLocal,
    /// The program calls functions that Mazurka does not control.
    #[error(
        "the program calls {}, which Mazurka does not control: leave it out of what is checked, or define a stand-in",
        names(.0)
    )]
    Uncontrolled(Vec<String>),
    /// The program has a function that SV-COMP treats as atomic.
    #[error(
        "`{0}` is atomic by its name in SV-COMP, and not here: put __VERIFIER_atomic_begin() and __VERIFIER_atomic_end() into it"
    )]
    AtomicByName(String),
    /// The program has no variable of this name.
    #[error(
        "the program has no global variable `{0}` to observe; `code` is the exit code, `output` what is printed"
    )]
    NoVariable(String),
    /// The fixed addresses of the program's memory are not free.
    #[error("the addresses that C programs are given are not free in this process")]
    NoMemory,
    /// The system forbids code on stacks.
    #[error(
        "the program puts code on its stacks, as nested functions of GNU C do, and this system does not let it run"
    )]
    CodeOnStacks,
    /// The process already has a program.
    #[error("one program can be loaded into a process")]
    Second,
}

fn names(all: &[String]) -> String {
    let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
    all.join(", ")
}
