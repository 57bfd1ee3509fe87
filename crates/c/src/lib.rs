//! Native C and C++ programs: every execution of their threads that is really different.
//!
//! A C compiler already instruments code: `-fsanitize=thread` turns each access to memory into a
//! call of a `__tsan_…` function. The *shim* ([`shim_source`]) provides these functions, those of
//! the thread library and parts of the C library; it is linked into the program with hidden
//! visibility. The program is loaded into a process of its own ([`load`]), its threads are
//! coroutines, and its writable memory is put back before each execution. [`Machine`] is then an
//! [`Execution`](mazurka_core::Execution) that every explorer runs.
//!
//! - `calls`: the numbers that shim and runtime share. `inputs`: values that are not known.
//! - `elf`: symbols and lines of the program.
//! - `image`: the loaded program. `heap`: the memory of its threads.
//! - `world`: the state of an execution. `next`: what threads do next.
//! - `access`: accesses to memory. `objects`: mutexes, threads.
//! - `waits`: semaphores, barriers and their like. `futex`: what the C++ library waits by.
//! - `ends`: what runs at the end.
//! - `clock`: data races. `race`: the same in words. `spin`: loops that wait. `trap`: faults.
//! - `machine`: executions. `checkpoint`: going back in one. `tell`: the same in words.
//! - `weak`: executions under a memory model.
//! - `confine`: what the process may use. `trail`: what it did last, if it is killed.
//!
//! Only on Linux with x86-64, and not in a static build: elsewhere [`load`] says so.

// Elsewhere no machine can be made, so parts that machines use are unused.
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
    kill_process, left_behind, load, must_agree, outside, set_deadline,
};
pub use inputs::wrong_input;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use load::{interrupt, keep_trail, load, must_agree, outside, set_deadline};
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use machine::Machine;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub use trail::{SIZE as TRAIL_SIZE, left_behind};

/// How the shim is compiled: it does not use registers that its callers keep values in.
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

/// How the shim is compiled; `fixed` says whether the compiler can leave registers alone. If it
/// cannot, what the program keeps in them is on the stack of the shim.
pub fn shim_flags(fixed: bool) -> Vec<&'static str> {
    if fixed {
        return SHIM_FLAGS.to_vec();
    }
    let kept = SHIM_FLAGS.iter().copied();
    let kept = kept.filter(|flag| !flag.starts_with("-ffixed"));
    kept.chain(["-DMZ_USES_REGISTERS"]).collect()
}

/// How programs are compiled, beside the level of optimisation: -O0 where races are allowed, else
/// -O1.
pub const FLAGS: [&str; 6] = [
    "-g",
    "-gdwarf-4",
    "-fsanitize=thread",
    "-fno-builtin",
    "-U_FORTIFY_SOURCE",
    "-fno-stack-protector",
];

/// Flags that not every compiler has. clang leaves out a read before a write to the same place
/// without the second; gcc leaves out blocks that are allocated and not used without the third.
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

/// Why a search is broken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has to start again, and will know more.
    Restart,
    /// The program does what is not controlled.
    Refused(String),
    /// The time is over, and a step has no end.
    OutOfTime,
}

/// How to explore a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Data races are no failures: plain accesses that race are steps.
    pub allow_races: bool,
    /// Threads that are neither joined nor detached and memory that is not freed are failures.
    pub leaks: bool,
    /// What runs outside of what is explored and is not seen here, in words: inline assembly.
    pub outside: Vec<String>,
    /// The values of `__VERIFIER_nondet_…`, by the name of the type: least and greatest.
    pub inputs: Vec<(String, i64, i64)>,
    /// What executions must agree on to be deterministic: `code`, `output` and the names of
    /// variables. Empty: the exit code and the output, and the order of what threads print at the
    /// same time is not looked at.
    pub observed: Vec<String>,
    /// Whether executions that differ in it are violations.
    pub must_agree: bool,
}

impl Settings {
    /// Whether the order of what is printed matters.
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
    /// Another system.
    #[error(
        "C programs are explored on Linux with x86-64 only, by a tool that is not linked statically"
    )]
    NotHere,
    /// Not a shared object.
    #[error("the compiled program is no shared object of this machine")]
    NoObject,
    /// The loader refuses it.
    #[error("the compiled program cannot be loaded: {0}")]
    Loader(String),
    /// It has no `main`.
    #[error("the program has no `main`: write a small one that calls what is to be checked")]
    NoMain,
    /// Its thread-local variables are nowhere.
    #[error("the thread-local variables of the program cannot be found")]
    ThreadLocal,
    /// It calls what is not controlled.
    #[error(
        "the program calls {}, which Mazurka does not control: leave it out of what is checked, or define a stand-in",
        names(.0)
    )]
    Uncontrolled(Vec<String>),
    /// A function that SV-COMP takes for atomic.
    #[error(
        "`{0}` is atomic by its name in SV-COMP, and not here: put __VERIFIER_atomic_begin() and __VERIFIER_atomic_end() into it"
    )]
    AtomicByName(String),
    /// It has no such variable.
    #[error(
        "the program has no global variable `{0}` to observe; `code` is the exit code, `output` what is printed"
    )]
    NoVariable(String),
    /// There is no memory where the program's is to be.
    #[error("the addresses that C programs are given are not free in this process")]
    NoMemory,
    /// Code on a stack cannot run.
    #[error(
        "the program puts code on its stacks, as nested functions of GNU C do, and this system does not let it run"
    )]
    CodeOnStacks,
    /// There is one already.
    #[error("one program can be loaded into a process")]
    Second,
}

fn names(all: &[String]) -> String {
    let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
    all.join(", ")
}
