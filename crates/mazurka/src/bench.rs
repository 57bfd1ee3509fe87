//! `mazurka bench`: the speed of the engines on the programs of the papers, compared with other
//! tools.
//!
//! One worker explores. The time is that of the search alone, without reading the program and
//! creating witnesses. If the system offers it, the clock is the CPU time of the thread, so other
//! load on the computer hardly matters; the record names the clock. Each search is repeated several
//! times, and the best time counts, because noise only adds time.

mod programs;

use std::time::Duration;

use mazurka_core::bench::{Clock, Measure, Measured, Peer};
use mazurka_core::record::VERSION;
use mazurka_core::{Bound, Counts, Fingerprint, Limits, Semantics};
use mazurka_explore::{Findings, Observer};
use rustc_hash::FxHashSet;

use crate::front::{Front, on_front};
use crate::program::hash;
use crate::search::everything;
use crate::{Algorithm, Options, Program, Watch, quietly};
use programs::{FAMILIES, Family, Size};

pub use mazurka_core::bench::Benchmark;

/// The programs and engines to measure.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The engines. If the list is empty, each program is measured with the engines that have
    /// figures to compare with.
    pub algorithms: Vec<Algorithm>,
    /// If given, only the programs whose name contains it are measured, such as `fib` or
    /// `writers(9)`.
    pub filter: Option<String>,
    /// Whether to use tiny sizes, as a test that everything works.
    pub quick: bool,
    /// Number of repetitions.
    pub repeat: u64,
    /// Limit on the time of a search.
    pub time: Duration,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            algorithms: Vec::new(),
            filter: None,
            quick: false,
            repeat: 3,
            time: Duration::from_secs(10),
        }
    }
}

/// The error for a filter that matches no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no program of the benchmark is called `{filter}`; there are {}", .names.join(", "))]
pub struct NothingToMeasure {
    /// The filter.
    pub filter: String,
    /// The existing names.
    pub names: Vec<String>,
}

/// Why `bench` does not measure a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotMeasured {
    /// Native code runs in a separate process.
    #[error("`{0}`: C is not measured by `bench`; `explore` shows its time")]
    Native(String),
    /// The program has unknown values, so the time of the solver would be measured as well.
    #[error(
        "`{0}` has unknown values, and only programs without them are measured: give the initial values (--set) and use no `input()`"
    )]
    Unknowns(String),
}

impl Bench {
    /// Runs the benchmark. If the watch breaks a search off, returns the measurements so far.
    ///
    /// ```
    /// use mazurka::bench::Bench;
    /// use mazurka::quietly;
    /// let plan = Bench {
    ///     quick: true,
    ///     repeat: 1,
    ///     filter: Some("writers".into()),
    ///     ..Bench::default()
    /// };
    /// let measured = plan.run(&mut quietly()).unwrap();
    /// assert_eq!(measured.rows[0].program, "writers(5)");
    /// assert_eq!(measured.rows[0].counts.traces, Some(120));
    /// ```
    pub fn run(&self, watch: &mut Watch<'_>) -> Result<Benchmark, NothingToMeasure> {
        let sizes = self.sizes()?;
        let mut rows = Vec::new();
        'all: for (family, size) in sizes {
            let engines = if self.algorithms.is_empty() {
                size.engines
            } else {
                &self.algorithms
            };
            let subject = BenchSubject::of_corpus(family, size);
            for &algorithm in engines {
                let row = self.measure(&subject, algorithm, watch);
                let interrupted = row.bounds.iter().any(|bound| !is_own_bound(bound));
                rows.push(row);
                if interrupted {
                    break 'all;
                }
            }
        }
        Ok(self.measured(rows))
    }

    /// Measures these programs instead of those of the papers, with `optimal` if no engine is
    /// given. If one of them is a program of the papers, at a size with known figures, the result
    /// contains these figures.
    ///
    /// ```
    /// use mazurka::bench::Bench;
    /// use mazurka::{Program, quietly};
    /// let source = "var x: int = 0  process { x := 1 }  process { x := 2 }";
    /// let program = Program::load("mine.maz", source, &[]).unwrap();
    /// let measured = Bench::default().run_on(&[program], &mut quietly()).unwrap();
    /// assert_eq!(measured.rows[0].program, "mine.maz");
    /// assert_eq!(measured.rows[0].counts.traces, Some(2));
    /// ```
    pub fn run_on(
        &self,
        programs: &[Program],
        watch: &mut Watch<'_>,
    ) -> Result<Benchmark, NotMeasured> {
        for program in programs {
            let file = || program.record().file.clone();
            match () {
                () if program.is_native() => return Err(NotMeasured::Native(file())),
                () if !program.unknowns().is_empty() => return Err(NotMeasured::Unknowns(file())),
                () => {}
            }
        }
        let engines = if self.algorithms.is_empty() {
            &[Algorithm::Optimal][..]
        } else {
            &self.algorithms
        };
        let mut rows = Vec::new();
        'all: for program in programs {
            let subject = BenchSubject::of_user(program.clone());
            for &algorithm in engines {
                let row = self.measure(&subject, algorithm, watch);
                let interrupted = row.bounds.iter().any(|bound| !is_own_bound(bound));
                rows.push(row);
                if interrupted {
                    break 'all;
                }
            }
        }
        Ok(self.measured(rows))
    }

    fn measured(&self, rows: Vec<Measured>) -> Benchmark {
        Benchmark {
            version: VERSION,
            clock: clock::KIND,
            repeat: self.repeat.max(1),
            quick: self.quick,
            source: programs::SOURCE.to_owned(),
            rows,
        }
    }

    /// Returns the programs to measure, each with a size. Those that have a target for traces per
    /// second come first.
    fn sizes(&self) -> Result<Vec<(&'static Family, &'static Size)>, NothingToMeasure> {
        let mut all: Vec<_> = FAMILIES
            .iter()
            .flat_map(|family| {
                let sizes = if self.quick {
                    std::slice::from_ref(&family.quick)
                } else {
                    family.sizes
                };
                sizes.iter().map(move |size| (family, size))
            })
            .collect();
        all.sort_by_key(|(_, size)| size.per_second.target.is_none());
        let Some(filter) = &self.filter else {
            return Ok(all);
        };
        let wanted: Vec<_> = all
            .iter()
            .filter(|(family, size)| name(family, size).contains(filter))
            .copied()
            .collect();
        if wanted.is_empty() {
            Err(NothingToMeasure {
                filter: filter.clone(),
                names: all
                    .iter()
                    .map(|(family, size)| name(family, size))
                    .collect(),
            })
        } else {
            Ok(wanted)
        }
    }

    fn measure(
        &self,
        subject: &BenchSubject,
        algorithm: Algorithm,
        watch: &mut Watch<'_>,
    ) -> Measured {
        let program = &subject.program;
        let options = Options {
            limits: Limits {
                time: Some(self.time),
                ..Limits::default()
            },
            ..Options::default()
        };
        let (mut found, mut seconds) = search(program, algorithm, &options, watch);
        for _ in 1..self.repeat {
            // The search has reached its time limit, and would reach it again.
            if !found.bounds.is_empty() {
                break;
            }
            let (again, time) = search(program, algorithm, &options, watch);
            found = again;
            seconds = seconds.min(time);
        }
        let states = match algorithm {
            Algorithm::Stateful if found.bounds.is_empty() => Some(states(program, &options)),
            _ => found.counts.stored_states,
        };
        let measure = match algorithm {
            Algorithm::Stateful | Algorithm::Context(_) => Measure::Seconds,
            Algorithm::Naive => Measure::Steps,
            _ => Measure::Traces,
        };
        let (peers, target) = match (subject.known, algorithm) {
            (Some(size), Algorithm::Stateful) => (size.seconds.peers, size.seconds.target),
            (Some(size), Algorithm::Naive) => (&[][..], size.naive_steps),
            (None, _) | (_, Algorithm::Context(_)) => (&[][..], None),
            (Some(size), _) => (size.per_second.peers, size.per_second.target),
        };
        let peer = |&(tool, value): &(&str, f64)| Peer {
            tool: tool.to_owned(),
            value,
        };
        Measured {
            program: subject.name.clone(),
            algorithm: algorithm.to_string(),
            set: program.record().set.clone(),
            // The number of states is a separate field of the measurement.
            counts: Counts {
                states: None,
                ..found.counts
            },
            states,
            expected: subject.known.map(|size| size.traces),
            bounds: found.bounds,
            seconds: seconds.as_secs_f64(),
            measure,
            peers: peers.iter().map(peer).collect(),
            target,
        }
    }
}

/// A program to measure, and its known figures.
struct BenchSubject {
    name: String,
    program: Program,
    known: Option<&'static Size>,
}

impl BenchSubject {
    fn of_corpus(family: &'static Family, size: &'static Size) -> Self {
        let name = name(family, size);
        let program = Program::load(&name, family.text, &settings(size))
            .unwrap_or_else(|mistakes| panic!("{name} is a wrong program: {mistakes:?}"));
        Self {
            name,
            program,
            known: Some(size),
        }
    }

    /// Recognises a program of the papers by its text.
    fn of_user(program: Program) -> Self {
        let record = program.record();
        let sizes = FAMILIES.iter().flat_map(|family| {
            let sizes = family.sizes.iter().chain([&family.quick]);
            sizes.map(move |size| (family, size))
        });
        let mut known = sizes.map(|(family, size)| (hash(family.text, &settings(size)), size));
        let known = known.find(|(hash, _)| *hash == record.hash);
        let settings = record.set.iter();
        let settings: String = settings
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        Self {
            name: format!("{}{settings}", record.file),
            known: known.map(|(_, size)| size),
            program,
        }
    }
}

fn settings(size: &Size) -> Vec<(String, String)> {
    let set = size.set.iter();
    set.map(|(name, value)| ((*name).to_owned(), value.to_string()))
        .collect()
}

/// Returns the name of a program, such as `writers(9)`.
fn name(family: &Family, size: &Size) -> String {
    format!("{}({})", family.name, size.name)
}

/// Whether the benchmark itself sets this bound.
fn is_own_bound(bound: &Bound) -> bool {
    matches!(bound, Bound::TimeLimit(_) | Bound::MaxDepth(_))
}

/// Explores everything, and returns the findings and the time taken.
fn search(
    program: &Program,
    algorithm: Algorithm,
    options: &Options,
    watch: &mut Watch<'_>,
) -> (Findings, Duration) {
    on_front!(program.language, front => search_on(front, algorithm, options, watch, &mut ()))
}

fn search_on<F: Front>(
    front: &F,
    algorithm: Algorithm,
    options: &Options,
    watch: &mut Watch<'_>,
    observer: &mut dyn Observer<F::Machine>,
) -> (Findings, Duration) {
    let mut machine = front.machine(options);
    let start = clock::now();
    let found = everything(algorithm, options).run(&mut machine, watch, observer);
    (found, clock::now().saturating_sub(start))
}

/// Returns the number of states of a program. They are counted in a separate, slower search.
fn states(program: &Program, options: &Options) -> u64 {
    struct SeenStates(FxHashSet<Fingerprint>);
    impl<E: Semantics> Observer<E> for SeenStates {
        fn start(&mut self, program: &E) {
            self.0.insert(program.fingerprint());
        }
        fn pushed(&mut self, program: &E) {
            self.0.insert(program.fingerprint());
        }
    }
    let mut seen = SeenStates(FxHashSet::default());
    let options = Options {
        limits: Limits {
            time: None,
            ..options.limits.clone()
        },
        ..options.clone()
    };
    let (all, watch) = (Algorithm::Stateful, &mut quietly());
    on_front!(program.language, front => search_on(front, all, &options, watch, &mut seen));
    seen.0.len() as u64
}

/// The CPU time of this thread.
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
mod clock {
    use super::{Clock, Duration};
    use rustix::time::{ClockId, clock_gettime};

    pub const KIND: Clock = Clock::ThreadCpu;

    pub fn now() -> Duration {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

/// The wall-clock time.
#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
mod clock {
    use super::{Clock, Duration};
    use std::sync::LazyLock;
    use std::time::Instant;

    pub const KIND: Clock = Clock::Wall;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub fn now() -> Duration {
        START.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factorial(n: u64) -> u64 {
        (1..=n).product()
    }

    fn binomial(n: u64, k: u64) -> u64 {
        factorial(n) / factorial(k) / factorial(n - k)
    }

    /// Returns the coefficient of xⁿ in (1 + x + x²)ⁿ: two-thread fib(n) has the coefficient for
    /// 2n.
    fn central_trinomial(n: u64) -> u64 {
        (0..=n / 2)
            .map(|k| binomial(n, 2 * k) * binomial(2 * k, k))
            .sum()
    }

    /// Returns the number of traces of a program, if there is a closed form.
    fn closed_form(family: &str, set: &[(&str, u64)]) -> Option<u64> {
        let value = |name| set.iter().find(|(n, _)| *n == name).map_or(0, |(_, v)| *v);
        let n = value("N");
        Some(match family {
            "writers" => factorial(n),
            "readers" => 1 << n,
            "fib" => central_trinomial(2 * n),
            "lastzero" => (n + 3) << (n - 2),
            "indexer" => 8u64.pow(n.saturating_sub(11) as u32),
            "filesystem" => 1 << n.saturating_sub(13),
            "locking" => {
                let (threads, blocks, extra) = (value("T"), value("B"), value("EXTRA"));
                let each = factorial(blocks).pow(threads as u32) * factorial(extra);
                factorial(threads * blocks + extra) / each
            }
            "producer-consumer" => binomial(2 * n, n),
            _ => return None,
        })
    }

    #[test]
    fn the_figures_are_the_closed_forms() {
        let mut without = Vec::new();
        for family in FAMILIES {
            for size in family.sizes.iter().chain([&family.quick]) {
                match closed_form(family.name, size.set) {
                    Some(traces) => assert_eq!(size.traces, traces, "{}", name(family, size)),
                    None => without.push(name(family, size)),
                }
            }
        }
        let known = [
            "philosophers(5)",
            "philosophers(4)",
            "philosophers(6)",
            "philosophers(3)",
            "fib-with-main(4)",
            "fib-with-main(2)",
        ];
        assert_eq!(without, known);
    }
}
