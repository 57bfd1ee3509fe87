//! Schedules drawn at random, for programs too large to explore.
//!
//! Uniformly: in every state each ready thread is equally likely. Or by priorities: Burckhardt,
//! Kothari, Musuvathi, Nagarakatte, "A randomized scheduler with probabilistic guarantees of
//! finding bugs", ASPLOS 2010. A run finds a bug that needs d ordering constraints with probability
//! at least 1/(n·k^(d-1)), for n threads and k steps.
//!
//! | paper | here |
//! |---|---|
//! | d | `depth` |
//! | k | the longest run so far |
//! | priority change points | `changes` |
//!
//! Deviation: a thread that spins is suspended (spin.rs), so a thread of high priority cannot
//! starve the one it waits for.

use std::panic::Location;
use std::rc::Rc;

use mazurka_core::{Bound, Execution, ProcessId, Random, Schedule, Status};
use mazurka_explore::Violation;

use crate::builder::{Builder, Summary};
use crate::check::{fail, persevere};
use crate::report;
use crate::simulate::Simulator;

/// Runs a closure under `executions` random schedules.
///
/// ```
/// use mazurka_rt::{check_random, thread};
///
/// check_random(|| thread::spawn(|| ()).join().unwrap(), 10);
/// ```
#[track_caller]
pub fn check_random<F>(f: F, executions: u64)
where
    F: Fn() + Send + Sync + 'static,
{
    Builder::new().check_random(f, executions);
}

/// Runs a closure under `executions` schedules with random priorities, which find bugs that need
/// `depth` events in a certain order.
///
/// ```
/// use mazurka_rt::{check_pct, thread};
///
/// check_pct(|| thread::spawn(|| ()).join().unwrap(), 10, 2);
/// ```
#[track_caller]
pub fn check_pct<F>(f: F, executions: u64, depth: usize)
where
    F: Fn() + Send + Sync + 'static,
{
    Builder::new().check_pct(f, executions, depth);
}

/// Chooses the thread that runs next.
trait Picker {
    /// Starts a run.
    fn begin(&mut self, random: &mut Random);

    fn pick(&mut self, ready: &[ProcessId], step: u64, random: &mut Random) -> ProcessId;
}

struct Uniform;

impl Picker for Uniform {
    fn begin(&mut self, _random: &mut Random) {}

    fn pick(&mut self, ready: &[ProcessId], _step: u64, random: &mut Random) -> ProcessId {
        ready[random.below(ready.len() as u64) as usize]
    }
}

struct Priorities {
    depth: usize,
    /// Priority of each thread: higher runs first; 0: not given yet. Priorities below `depth` are
    /// for threads that were moved down.
    of: Vec<u64>,
    changes: Vec<u64>,
    longest: u64,
}

impl Picker for Priorities {
    fn begin(&mut self, random: &mut Random) {
        self.of.clear();
        self.changes.clear();
        for _ in 1..self.depth {
            self.changes.push(random.below(self.longest.max(1)));
        }
    }

    fn pick(&mut self, ready: &[ProcessId], step: u64, random: &mut Random) -> ProcessId {
        self.longest = self.longest.max(step + 1);
        for process in ready {
            if self.of.len() <= process.index() {
                self.of.resize(process.index() + 1, 0);
            }
            if self.of[process.index()] == 0 {
                self.of[process.index()] = self.depth as u64 + 1 + random.below(1 << 32);
            }
        }
        let highest = |of: &[u64]| {
            let best = ready.iter().max_by_key(|p| of[p.index()]);
            *best.expect("a thread is ready")
        };
        let mut first = highest(&self.of);
        for (at, change) in self.changes.iter().enumerate() {
            if *change == step {
                self.of[first.index()] = at as u64 + 1;
                first = highest(&self.of);
            }
        }
        first
    }
}

impl Builder {
    /// Runs a closure under random schedules; see [`check_random()`].
    #[track_caller]
    pub fn check_random<F>(&self, f: F, executions: u64) -> Summary
    where
        F: Fn() + Send + Sync + 'static,
    {
        self.sample(f, executions, Uniform)
    }

    /// Runs a closure under schedules with random priorities; see [`check_pct()`].
    #[track_caller]
    pub fn check_pct<F>(&self, f: F, executions: u64, depth: usize) -> Summary
    where
        F: Fn() + Send + Sync + 'static,
    {
        let picker = Priorities {
            depth,
            of: Vec::new(),
            changes: Vec::new(),
            longest: 0,
        };
        self.sample(f, executions, picker)
    }

    #[track_caller]
    fn sample<F>(&self, f: F, executions: u64, mut picker: impl Picker) -> Summary
    where
        F: Fn() + Send + Sync + 'static,
    {
        let about = report::About {
            place: Location::caller(),
            body: std::any::type_name::<F>(),
            call: "replay",
        };
        if self.replay.is_some() {
            return self.check(f);
        }
        let mut simulator = self.simulator(Rc::new(f));
        let mut random = Random::new(self.seed);
        simulator.inner(|inner| inner.lottery = Some(Random::new(random.next())));
        let start = std::time::Instant::now();
        let mut bounds = Vec::new();
        let mut done = 0;
        while done < executions && bounds.is_empty() {
            let end = persevere(&mut simulator, |simulator| {
                simulator.restart_execution();
                picker.begin(&mut random);
                run(simulator, &mut picker, &mut random, self.limits().depth())
            });
            done += 1;
            let violation = match end {
                End::Fine => None,
                End::Failure(site) => Some(Violation::Failure(site)),
                End::Deadlock => {
                    let schedule = Schedule::from_run(simulator.events(), simulator.processes());
                    Some(report::deadlock(&mut simulator, &schedule))
                }
                End::TooDeep => {
                    bounds.push(Bound::MaxDepth(self.limits().depth()));
                    None
                }
                End::Lost => {
                    bounds.push(Bound::MaxLocal(self.decisions()));
                    None
                }
            };
            if let Some(violation) = violation {
                simulator.searching = false;
                simulator.inner(|inner| inner.lottery = None);
                let schedule = Schedule::from_run(simulator.events(), simulator.processes());
                fail(&mut simulator, &schedule, &violation, done, &about);
            }
            if self
                .time_limit
                .is_some_and(|limit| start.elapsed() >= limit)
            {
                let limit = self.time_limit.unwrap_or_default();
                bounds.push(Bound::TimeLimit(limit.as_millis() as u64));
            }
            if self.max_executions.is_some_and(|most| done >= most) && done < executions {
                bounds.push(Bound::MaxExecutions(done));
            }
        }
        self.say(Summary {
            executions: done,
            bounds,
            random: true,
            ..simulator.inner(|inner| Summary::new(inner))
        })
    }
}

/// How a random run ended.
enum End {
    Fine,
    Failure(u32),
    Deadlock,
    TooDeep,
    /// A thread made more decisions about inputs than `max_decisions` allows.
    Lost,
}

fn run(simulator: &mut Simulator, picker: &mut impl Picker, random: &mut Random, most: u64) -> End {
    let mut ready = Vec::new();
    loop {
        if let Some(site) = simulator.failing() {
            return End::Failure(site);
        }
        ready.clear();
        let all = simulator.processes().in_order().iter();
        ready.extend(all.filter(|&&p| simulator.status(p) == Status::Ready));
        let step = simulator.events().len() as u64;
        if ready.is_empty() {
            let mut all = simulator.processes().in_order().iter();
            return match simulator.is_final() {
                true => End::Fine,
                false if all.any(|&p| simulator.status(p) == Status::Lost) => End::Lost,
                false => End::Deadlock,
            };
        }
        if step >= most {
            return End::TooDeep;
        }
        let process = picker.pick(&ready, step, random);
        let _made = simulator.step(process, &[]);
    }
}
