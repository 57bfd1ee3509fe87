//! Settings of an exploration, set by the builder or by environment variables.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use mazurka_core::{Bound, Limits};
use mazurka_diagnostics::nearest;
use mazurka_explore::Stateless as Algorithm;
use mazurka_memory::Memory;

use crate::batches::{Coverage, ExecutionCounts};
use crate::world::{Inner, Place};

/// Settings of an exploration.
///
/// [`Builder::new`] reads the environment; fields that are set afterwards take precedence.
///
/// | variable | field |
/// |---|---|
/// | `MAZURKA_MEMORY` (`rc11`, `ra`, `tso` or `sc`) | `memory` |
/// | `MAZURKA_MAX_DEPTH` | `max_depth` |
/// | `MAZURKA_MAX_STEPS` | `max_steps` |
/// | `MAZURKA_MAX_EXECUTIONS` | `max_executions` |
/// | `MAZURKA_TIME_LIMIT` (seconds) | `time_limit` |
/// | `MAZURKA_STEP_LIMIT` (seconds) | `step_limit` |
/// | `MAZURKA_MAX_PREEMPTIONS` | `max_preemptions` |
/// | `MAZURKA_MAX_DECISIONS` | `max_decisions` |
/// | `MAZURKA_SPINS` | `spins` |
/// | `MAZURKA_STACK_SIZE` (bytes) | `stack_size` |
/// | `MAZURKA_SPURIOUS_WAKES` | `spurious_wakes` |
/// | `MAZURKA_SPURIOUS_POLLS` | `spurious_polls` |
/// | `MAZURKA_SPURIOUS_FAILURES` | `spurious_failures` |
/// | `MAZURKA_SEED` | `seed` |
/// | `MAZURKA_WORKERS` | `workers` |
/// | `MAZURKA_REPLAY` (a schedule) | `replay` |
/// | `MAZURKA_REPLAY_AT` (a place in the source) | `replay_at` |
/// | `MAZURKA_REQUIRE_COMPLETE` (1) | `require_complete` |
/// | `MAZURKA_LEAKS` (1) | `leaks` |
/// | `MAZURKA_CHECKPOINT` (a folder) | `checkpoint` |
///
/// If `MAZURKA_REPORT` names a folder, each search adds a line to `models.txt` there. Each failure
/// adds a text file there, and a record, which `mazurka show` renders. Test runners capture what
/// tests print, so without `models.txt` a search that a bound has cut goes unnoticed.
///
/// A variable whose name looks like a misspelling of one of these is an error.
///
/// ```
/// use mazurka_rt::{Builder, thread};
///
/// let found = Builder {
///     max_executions: Some(100),
///     ..Builder::new()
/// }
/// .check(|| thread::spawn(|| ()).join().unwrap());
/// assert_eq!(found.executions, 1);
/// assert!(found.is_complete());
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    /// The memory model. Default: sequential consistency until the program asks for a weaker
    /// ordering, then C++20's orderings (rc11) from the start.
    pub memory: Option<Memory>,
    /// Limit on the steps of one execution. Default: 50 000. Reaching the default is an error;
    /// reaching a limit that was set ends the execution and is reported as a bound.
    pub max_depth: Option<u64>,
    /// Limit on the total number of steps.
    pub max_steps: Option<u64>,
    /// Limit on executions.
    pub max_executions: Option<u64>,
    /// Limit on time.
    pub time_limit: Option<Duration>,
    /// Limit on the time of one step. Exceeding it is an error: the thread loops without making a
    /// step, or really blocks. Default: 60 seconds, or `time_limit` if that is less, but at least 1
    /// second. Linux only.
    pub step_limit: Option<Duration>,
    /// Limit on the preemptions of one execution. A preemption is a switch to another thread
    /// although the current one could continue. With this bound, executions that differ only in the
    /// order of independent steps are not recognised as equal.
    pub max_preemptions: Option<u32>,
    /// Limit on comparisons of inputs in one execution (feature `symbolic`). Default: 500. Reaching
    /// the default is an error.
    pub max_decisions: Option<u64>,
    /// Number of rounds without a change that a thread may spin in a loop before it is suspended
    /// until something changes. Default: 0, except that a loop which gives up after at most 8 such
    /// rounds is explored until it gives up.
    pub spins: u32,
    /// How often `Condvar::wait` and `park` may return spuriously, for each thread of an execution.
    /// If not 0, each such call is a choice. Default: 0.
    pub spurious_wakes: u32,
    /// How often a thread's `block_on` calls may poll spuriously. Default: 0.
    pub spurious_polls: u32,
    /// How often a thread's `compare_exchange_weak` calls may fail spuriously, in an execution. If
    /// not 0, each such call is a choice. Default: 0.
    pub spurious_failures: u32,
    /// Size of a thread's stack in bytes. Default: 2 MiB, as in std.
    pub stack_size: usize,
    /// Seed for random schedules.
    pub seed: u64,
    /// Number of real threads that draw random schedules; 0 for all cores. The result does not
    /// depend on it. Default: 0.
    pub workers: u32,
    /// If set, nothing is searched, and this schedule is replayed.
    pub replay: Option<String>,
    /// If set, the schedule is replayed only in the model that is called at this place; other
    /// models are searched as usual.
    pub replay_at: Option<String>,
    /// Panics if a search hits a bound and finds nothing. Samples and replays are never complete,
    /// and are exempt.
    pub require_complete: bool,
    /// Whether leaking an [`Arc`](crate::sync::Arc) that was made in an execution is a failure.
    /// Executions that put a value into a `OnceLock` are exempt, because a static keeps its value.
    pub leaks: bool,
    /// A folder in which [`check`](Builder::check) saves its progress, every few seconds and when a
    /// limit ends it. The next run of the same test continues from there. Ignored with
    /// `max_preemptions`.
    pub checkpoint: Option<PathBuf>,
    /// Whether nothing is printed if the search finds no failure.
    pub quiet: bool,
    #[doc(hidden)]
    pub algorithm: Algorithm,
    /// Explores execution graphs instead of interleavings, even under sequential consistency; for
    /// tests of the engine.
    #[doc(hidden)]
    pub graphs: bool,
    /// Whether waiting threads are unwound when an execution is abandoned (farewell.rs).
    #[doc(hidden)]
    pub unwinds: bool,
    /// Whether the first thread has no name, as in loom.
    #[doc(hidden)]
    pub nameless: bool,
    /// Whether each interleaving is run twice, to see whether it depends on more than the schedule.
    #[doc(hidden)]
    pub repeats: bool,
    /// The part of the time limit that earlier searches have used up.
    #[doc(hidden)]
    pub spent: Duration,
    /// If this is a batch of a sample (batches.rs), the number of executions in the batches before
    /// it; otherwise `None`.
    #[doc(hidden)]
    pub drawn: Option<u64>,
}

impl Default for Builder {
    /// The defaults, without the environment.
    fn default() -> Self {
        Self {
            memory: None,
            graphs: false,
            unwinds: false,
            nameless: false,
            repeats: false,
            spent: Duration::ZERO,
            drawn: None,
            max_depth: None,
            max_steps: None,
            max_executions: None,
            time_limit: None,
            step_limit: None,
            max_preemptions: None,
            max_decisions: None,
            spins: 0,
            spurious_wakes: 0,
            spurious_polls: 0,
            spurious_failures: 0,
            stack_size: 2 * 1024 * 1024,
            seed: 1,
            workers: 0,
            replay: None,
            replay_at: None,
            require_complete: false,
            leaks: false,
            checkpoint: None,
            quiet: false,
            algorithm: Algorithm::Optimal,
        }
    }
}

/// The environment variables that are read, without their prefix.
const VARIABLES: [&str; 21] = [
    "MEMORY",
    "MAX_DEPTH",
    "MAX_STEPS",
    "MAX_EXECUTIONS",
    "TIME_LIMIT",
    "STEP_LIMIT",
    "MAX_PREEMPTIONS",
    "MAX_DECISIONS",
    "SPINS",
    "SPURIOUS_WAKES",
    "SPURIOUS_POLLS",
    "SPURIOUS_FAILURES",
    "STACK_SIZE",
    "SEED",
    "WORKERS",
    "REPLAY",
    "REPLAY_AT",
    "REQUIRE_COMPLETE",
    "LEAKS",
    "CHECKPOINT",
    crate::say::REPORT,
];

/// Panics if one of these variables looks like a misspelling of one that is read.
fn refuse_misspelt(names: impl Iterator<Item = OsString>) {
    for name in names {
        let name = name.to_string_lossy();
        let Some(rest) = name.strip_prefix("MAZURKA_") else {
            continue;
        };
        let known = VARIABLES.contains(&rest);
        if let Some(meant) = nearest(rest, VARIABLES).filter(|_| !known) {
            panic!("{name} is set, which is not read: write MAZURKA_{meant}, or unset it");
        }
    }
}

fn variable<T: FromStr>(name: &str, what: &str) -> Option<T> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    match text.trim().parse() {
        Ok(value) => Some(value),
        Err(_) => panic!("{name}={text}: write {what}, or unset it"),
    }
}

/// Whether a variable is set to a number other than 0.
fn is_set(name: &str) -> bool {
    variable(name, "1 or 0").is_some_and(|wanted: u8| wanted != 0)
}

impl Builder {
    /// Default limit on the steps of one execution.
    #[doc(hidden)]
    pub const DEPTH: u64 = 50_000;

    /// Reads the settings from the environment.
    ///
    /// # Panics
    ///
    /// If a variable has a value that cannot be parsed, or a name that looks like a misspelling.
    pub fn new() -> Self {
        refuse_misspelt(std::env::vars_os().map(|(name, _)| name));
        let number = "a number";
        let time = |name| {
            let seconds: Option<f64> = variable(name, "seconds");
            seconds.map(|s| match Duration::try_from_secs_f64(s) {
                Ok(time) => time,
                Err(_) => panic!("{name}={s}: write seconds, or unset it"),
            })
        };
        let default = Self::default();
        Self {
            memory: variable("MAZURKA_MEMORY", "one of rc11, ra, tso, sc"),
            max_depth: variable("MAZURKA_MAX_DEPTH", number),
            max_steps: variable("MAZURKA_MAX_STEPS", number),
            max_executions: variable("MAZURKA_MAX_EXECUTIONS", number),
            time_limit: time("MAZURKA_TIME_LIMIT"),
            step_limit: time("MAZURKA_STEP_LIMIT"),
            max_preemptions: variable("MAZURKA_MAX_PREEMPTIONS", number),
            max_decisions: variable("MAZURKA_MAX_DECISIONS", number),
            spins: variable("MAZURKA_SPINS", number).unwrap_or(default.spins),
            spurious_wakes: variable("MAZURKA_SPURIOUS_WAKES", number).unwrap_or(0),
            spurious_polls: variable("MAZURKA_SPURIOUS_POLLS", number).unwrap_or(0),
            spurious_failures: variable("MAZURKA_SPURIOUS_FAILURES", number).unwrap_or(0),
            stack_size: variable("MAZURKA_STACK_SIZE", "bytes").unwrap_or(default.stack_size),
            seed: variable("MAZURKA_SEED", number).unwrap_or(default.seed),
            workers: variable("MAZURKA_WORKERS", number).unwrap_or(default.workers),
            replay: variable("MAZURKA_REPLAY", "a schedule"),
            replay_at: variable("MAZURKA_REPLAY_AT", "a place in the source"),
            require_complete: is_set("MAZURKA_REQUIRE_COMPLETE"),
            leaks: is_set("MAZURKA_LEAKS"),
            checkpoint: variable("MAZURKA_CHECKPOINT", "a folder"),
            ..default
        }
    }

    /// Sets the memory model.
    ///
    /// ```
    /// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// use mazurka_rt::sync::Arc;
    /// use mazurka_rt::{Builder, Memory, thread};
    ///
    /// // Both threads may miss the other's write.
    /// let buffering = || {
    ///     let (x, y) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    ///     let other = {
    ///         let (x, y) = (x.clone(), y.clone());
    ///         thread::spawn(move || {
    ///             x.store(1, Relaxed);
    ///             y.load(Relaxed)
    ///         })
    ///     };
    ///     y.store(1, Relaxed);
    ///     (x.load(Relaxed), other.join().unwrap())
    /// };
    /// let count = |memory| Builder::new().memory(memory).outcomes(buffering).results.len();
    /// assert_eq!((count(Memory::Sc), count(Memory::Rc11)), (3, 4));
    /// ```
    #[must_use]
    pub fn memory(self, memory: Memory) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }

    /// Returns the model whose execution graphs are explored; `None` for interleavings.
    pub(crate) fn graph_model(&self) -> Option<Memory> {
        let wanted = self.memory.filter(|&memory| memory != Memory::Sc);
        wanted.or_else(|| self.graphs.then_some(Memory::Sc))
    }

    /// Returns the schedule to replay, if it belongs to the model that is called at this place.
    pub(crate) fn replay_for(&self, place: Place) -> Option<&str> {
        let here = |wanted: &String| *wanted == place.to_string();
        let here = self.replay_at.as_ref().is_none_or(here);
        self.replay.as_deref().filter(|_| here)
    }

    /// Returns the limit on comparisons of inputs in one execution.
    pub(crate) fn decisions(&self) -> u64 {
        self.max_decisions.unwrap_or(500)
    }

    /// Returns the limit on the time of one step.
    pub(crate) fn step_limit(&self) -> Duration {
        let longest = Duration::from_secs(60);
        let time = self.time_limit.map_or(longest, |time| time.min(longest));
        self.step_limit.unwrap_or(time.max(Duration::from_secs(1)))
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            depth: Some(self.max_depth.unwrap_or(Self::DEPTH)),
            local: self.decisions(),
            steps: self.max_steps,
            executions: self.max_executions,
            time: self.time_limit.map(|time| time.saturating_sub(self.spent)),
            ..Limits::default()
        }
    }
}

impl Builder {
    /// Returns these settings for a search that starts after earlier searches have used up this
    /// time.
    pub(crate) fn after(&self, spent: Duration) -> Self {
        Self {
            spent: self.spent + spent,
            ..self.clone()
        }
    }

    /// Returns the bounds that a search has hit. A search that starts after others gets only the
    /// rest of the time limit. So in the result, the time limit is the one that was set.
    pub(crate) fn as_asked(&self, mut bounds: Vec<Bound>) -> Vec<Bound> {
        for bound in &mut bounds {
            if let (Bound::TimeLimit(_), Some(time)) = (&bound, self.time_limit) {
                *bound = Bound::TimeLimit(time.as_millis() as u64);
            }
        }
        bounds
    }
}

/// The result of an exploration that found no failure.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Number of really different executions.
    pub executions: u64,
    /// Number of runs that do not count as executions: they repeated an explored execution, or the
    /// memory model turned out to forbid them. Under sequential consistency, such runs exist only
    /// in programs with an `RwLock` or with a loop that spins on several objects, and in searches
    /// with a checkpoint.
    pub blocked: u64,
    /// The bounds that were hit.
    pub bounds: Vec<Bound>,
    /// The bound on preemptions, if it left executions out; otherwise `None`.
    pub max_preemptions: Option<u32>,
    /// The memory model.
    pub memory: Memory,
    /// Whether executions were drawn at random.
    pub random: bool,
    /// Whether the program used orderings weaker than `SeqCst`, which were explored as `SeqCst`.
    pub weak_orderings: bool,
    /// Why weaker orderings were explored as `SeqCst`, if rc11 was tried first and refused.
    pub weak_refused: Option<String>,
    /// Whether the search was ready to explore orderings weaker than `SeqCst` under rc11, but the
    /// program used only `SeqCst`.
    pub no_weak_ordering_met: bool,
    /// Whether spinning threads were suspended: further rounds without a change were not explored.
    pub suspended_spins: bool,
    /// The kinds of spurious events that were possible but not explored, because their limit is 0;
    /// `None` if there are none.
    pub spurious_left_out: Option<String>,
    /// Loops that spin and then give up, whose later rounds were not explored.
    pub rounds_left_out: Option<String>,
    /// Whether threads were started but none used a shared object of this crate, so that
    /// nothing was explored.
    pub nothing_shared: bool,
    /// Why the solver could not decide whether a side of a comparison is feasible; that side was
    /// not explored.
    pub undecided: Option<String>,
    /// A place where an input had to be a concrete number and had more values than the search
    /// tries; `None` if there is none.
    pub values_left_out: Option<String>,
    /// Whether the search continued from a checkpoint: the counts include earlier runs.
    pub resumed: bool,
    /// How often each execution was drawn, if executions were drawn at random.
    pub(crate) execution_counts: ExecutionCounts,
}

impl Summary {
    /// Makes a summary with all counts 0, and with what the search has left unexplored so far.
    pub(crate) fn new(inner: &Inner) -> Self {
        Self {
            executions: 0,
            blocked: 0,
            bounds: Vec::new(),
            max_preemptions: None,
            memory: Memory::Sc,
            random: false,
            weak_orderings: inner.weak,
            weak_refused: None,
            no_weak_ordering_met: false,
            suspended_spins: inner.spun,
            spurious_left_out: inner.spurious.left_out(),
            rounds_left_out: inner.loops.unexplored(),
            nothing_shared: inner.threads.len() > 1 && !inner.shared,
            #[cfg(feature = "symbolic")]
            undecided: inner.unknowns.undecided.clone(),
            #[cfg(feature = "symbolic")]
            values_left_out: inner.unknowns.left_out.map(ToString::to_string),
            #[cfg(not(feature = "symbolic"))]
            undecided: None,
            #[cfg(not(feature = "symbolic"))]
            values_left_out: None,
            resumed: false,
            execution_counts: ExecutionCounts::default(),
        }
    }

    /// Whether `max_depth` has cut off an execution.
    pub fn has_cut_executions(&self) -> bool {
        { self.bounds.iter() }.any(|bound| matches!(bound, Bound::MaxDepth(_)))
    }

    /// Whether everything was explored.
    pub fn is_complete(&self) -> bool {
        let inputs = self.undecided.is_none() && self.values_left_out.is_none();
        let bounds = self.bounds.is_empty() && self.max_preemptions.is_none();
        bounds && inputs && self.rounds_left_out.is_none() && !self.random
    }
}

/// Describes a bound and the setting that changes it.
pub(crate) fn explain(bound: Bound) -> String {
    match bound {
        Bound::MaxDepth(n) => format!("an execution reached {n} steps (max_depth)"),
        Bound::MaxSteps(n) => format!("{n} steps were reached (max_steps)"),
        Bound::MaxLocal(n) => format!("an execution compared inputs {n} times (max_decisions)"),
        Bound::MaxExecutions(n) => format!("{n} executions were reached (max_executions)"),
        Bound::TimeLimit(ms) => {
            let time = Duration::from_millis(ms).as_secs_f64();
            format!("{time} seconds were over (time_limit)")
        }
        other => other.to_string(),
    }
}

/// The warning if nothing was explored.
const NOTHING_SHARED: &str = "\n\
    warning: threads were started, and none used a lock, an atomic or a channel of mazurka_rt.\n\
    Does the code under test still use those of std? In tests/ a library is built without cfg(test): see \
    \"Integration tests\" in docs/rust.md";

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.executions == 1 { "" } else { "s" };
        write!(f, "mazurka: {} execution{s}, ", self.executions)?;
        if self.blocked > 0 {
            write!(f, "{} blocked, ", self.blocked)?;
        }
        if self.is_complete() {
            f.write_str("complete")?;
        } else if self.random {
            f.write_str("drawn at random: not complete")?;
            if let Some(Coverage {
                different, unseen, ..
            }) = self.coverage()
            {
                let percent = (100.0 * unseen).round();
                write!(
                    f,
                    ", {different} different, the next is new with a chance of about {percent} %"
                )?;
            }
        } else {
            let mut why: Vec<String> = self.bounds.iter().map(|&bound| explain(bound)).collect();
            let most = self.max_preemptions;
            why.extend(most.map(|n| format!("at most {n} preemptions (max_preemptions)")));
            why.extend(self.undecided.as_ref().map(|why| format!("inputs: {why}")));
            why.extend(self.rounds_left_out.clone());
            let places = self.values_left_out.as_ref();
            why.extend(places.map(|at| format!("only some values of an input at {at}")));
            write!(f, "not complete: {}", why.join(", "))?;
        }
        f.write_str(match self.memory {
            Memory::Sc => "; sequential consistency",
            Memory::Rc11 => "; C++20 orderings without load buffering (RC11)",
            Memory::Ra => "; release and acquire (RA)",
            Memory::Tso => "; total store order (TSO)",
        })?;
        match &self.weak_refused {
            Some(why) => write!(
                f,
                " (weaker orderings were explored as SeqCst, not under rc11: {why})"
            )?,
            None if self.weak_orderings => f.write_str(" (weaker orderings were asked for)")?,
            None if self.no_weak_ordering_met && !self.is_complete() => {
                f.write_str(" (no weaker ordering was met)")?;
            }
            None => {}
        }
        if self.resumed {
            f.write_str("; gone on from a checkpoint")?;
        }
        if self.suspended_spins {
            f.write_str("; spin loops without the rounds in which nothing changes")?;
        }
        if let Some(without) = &self.spurious_left_out {
            write!(f, "; {without}")?;
        }
        if self.nothing_shared {
            f.write_str(NOTHING_SHARED)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_variable_is_refused() {
        let refuse = |name: &str| refuse_misspelt([OsString::from(name)].into_iter());
        for name in ["MAZURKA_SEED", "MAZURKA_PROGRAMS", "MAZURKA", "PATH"] {
            refuse(name);
        }
        let panic = std::panic::catch_unwind(|| refuse("MAZURKA_MAX_DEPHT")).unwrap_err();
        let text = panic.downcast::<String>().unwrap();
        assert!(text.contains("write MAZURKA_MAX_DEPTH"), "{text}");
    }
}
