//! Random schedules, for programs too large to explore: the random walks of `mazurka-explore`
//! (`explore/src/algorithms/method.rs` lists the methods).
//!
//! A spinning thread is suspended (spin.rs), so a thread of high priority cannot starve the one it
//! waits for. Workers on all cores draw schedules (batches.rs).

use std::ops::ControlFlow;
use std::panic::Location;
use std::process::Termination;
use std::rc::Rc;
use std::sync::Arc as Shared;
use std::time::Instant;

use mazurka_core::{Bound, Execution, Kinds, Limits, Random, Schedule, StopReason};
use mazurka_explore::{
    ByLength, Findings, Goal, Method, Picker, Priorities, Search, Selective, StepPriorities,
    Uniform, Violation, WalkOn, Walks,
};

use mazurka_memory::Drawing;

use crate::batches::{Batch, ExecutionCounts};
use crate::builder::{Builder, Summary};
use crate::check::test_body;
use crate::check::{Orders, WeakOrder, fail, with_restarts};
use crate::report;
use crate::simulate::Simulator;
use crate::verdict::at_caller;
use crate::weak::{Refused, SearchPlan};

/// Runs a closure under `executions` random schedules.
///
/// ```
/// use mazurka_rt::{check_random, thread};
///
/// check_random(|| thread::spawn(|| ()).join().unwrap(), 10);
/// ```
#[track_caller]
pub fn check_random<F, R>(f: F, executions: u64)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    Builder::new().check_random(f, executions);
}

/// Runs a closure under `executions` schedules with random priorities of threads, which find bugs
/// that need `depth` events in a certain order (PCT, "probabilistic concurrency testing").
///
/// ```
/// use mazurka_rt::{check_pct, thread};
///
/// check_pct(|| thread::spawn(|| ()).join().unwrap(), 10, 2);
/// ```
#[track_caller]
pub fn check_pct<F, R>(f: F, executions: u64, depth: usize)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    Builder::new().check_pct(f, executions, depth);
}

/// Runs a closure under `executions` schedules with random priorities of steps, which are redrawn
/// where steps conflict (POS, "partial order sampling").
///
/// ```
/// use mazurka_rt::{check_pos, thread};
///
/// check_pos(|| thread::spawn(|| ()).join().unwrap(), 10);
/// ```
#[track_caller]
pub fn check_pos<F, R>(f: F, executions: u64)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    Builder::new().check_pos(f, executions);
}

/// Runs a closure under `executions` random schedules, in which a thread is more likely to be
/// chosen the more steps it has left (URW, "uniform random walk"). If threads do not wait and
/// always have the same number of steps, all schedules are equally likely.
///
/// ```
/// use mazurka_rt::{check_urw, thread};
///
/// check_urw(|| thread::spawn(|| ()).join().unwrap(), 10);
/// ```
#[track_caller]
pub fn check_urw<F, R>(f: F, executions: u64)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    Builder::new().check_urw(f, executions);
}

/// Runs a closure under `executions` random schedules that are weighted like those of
/// [`check_urw()`], but by the steps that touch one object. The object is drawn for each
/// execution (SURW).
///
/// ```
/// use mazurka_rt::{check_surw, thread};
///
/// check_surw(|| thread::spawn(|| ()).join().unwrap(), 10);
/// ```
#[track_caller]
pub fn check_surw<F, R>(f: F, executions: u64)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    Builder::new().check_surw(f, executions);
}

impl Builder {
    /// Runs a closure under random schedules; see [`check_random()`].
    #[track_caller]
    pub fn check_random<F, R>(&self, f: F, executions: u64) -> Summary
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        self.sample(f, executions, Uniform, Method::Random)
    }

    /// Runs a closure under schedules with random priorities; see [`check_pct()`].
    #[track_caller]
    pub fn check_pct<F, R>(&self, f: F, executions: u64, depth: usize) -> Summary
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        let method = Method::Pct { depth };
        self.sample(f, executions, Priorities::new(depth), method)
    }

    /// Runs a closure under schedules with random priorities of steps; see [`check_pos()`].
    #[track_caller]
    pub fn check_pos<F, R>(&self, f: F, executions: u64) -> Summary
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        self.sample(f, executions, StepPriorities::default(), Method::Pos)
    }

    /// Runs a closure under schedules weighted by remaining steps; see [`check_urw()`].
    #[track_caller]
    pub fn check_urw<F, R>(&self, f: F, executions: u64) -> Summary
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        self.sample(f, executions, ByLength::default(), Method::Urw)
    }

    /// Runs a closure under schedules weighted by steps on one object; see [`check_surw()`].
    #[track_caller]
    pub fn check_surw<F, R>(&self, f: F, executions: u64) -> Summary
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        self.sample(f, executions, Selective::default(), Method::Surw)
    }

    #[track_caller]
    fn sample<F, R>(
        &self,
        f: F,
        executions: u64,
        picker: impl Picker<Simulator> + Clone + Sync,
        method: Method,
    ) -> Summary
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        let about = report::About {
            place: Location::caller(),
            body: std::any::type_name::<F>(),
            call: "replay",
        };
        if self.replay_for(about.place).is_some() {
            return self.check(f);
        }
        let most = self.max_executions.unwrap_or(u64::MAX).min(executions);
        let f = Shared::new(f);
        let start = Instant::now();
        let batch = |batch: &Batch| {
            let f = f.clone();
            let body = test_body(move || f());
            let one = Self {
                seed: batch.seed,
                max_executions: Some(batch.executions),
                drawn: Some(batch.before),
                ..self.after(start.elapsed())
            };
            one.under_model(
                |this, orders| {
                    let picker = picker.clone();
                    this.draw(body.clone(), batch.executions, picker, (orders, &about))
                },
                |this, memory| {
                    let random = Random::new(this.seed);
                    let drawn = match method {
                        Method::Random => Drawing::from(random),
                        Method::Pct { depth } => Drawing::by_priorities(random, depth),
                        Method::Pos | Method::Urw | Method::Surw => {
                            return Err(Refused(format!(
                                "{} draws interleavings; check_random and check_pct draw under a memory model",
                                method.name()
                            )));
                        }
                    };
                    let plan = SearchPlan {
                        random: Some(drawn),
                        ..SearchPlan::new(memory)
                    };
                    this.check_weakly(body.clone(), &plan, &about)
                },
            )
        };
        at_caller(|| {
            let mut summary = self.draw_in_batches(most, batch);
            if summary.executions == most && most < executions {
                summary.bounds.push(Bound::MaxExecutions(most));
            }
            summary.bounds = self.as_asked(summary.bounds);
            self.say(summary)
        })
    }

    /// Draws `most` interleavings.
    fn draw(
        &self,
        body: Rc<dyn Fn()>,
        most: u64,
        picker: impl Picker<Simulator> + Clone,
        (orders, about): (&Orders, &report::About),
    ) -> Result<Summary, WeakOrder> {
        let mut simulator = self.simulator(body);
        simulator.switches = orders.are_watched();
        let mut random = Random::new(self.seed);
        simulator.inner(|inner| inner.random_choices = Some(Random::new(random.next())));
        let mut walks = Walks::new(picker, random, Some(most))
            .program_chooses()
            .ends_at_bound();
        let mut execution_counts = ExecutionCounts::default();
        let found = self.walk(&mut simulator, &mut walks, &mut execution_counts)?;
        if found.stopped == StopReason::Certain {
            (simulator.searching, simulator.switches) = (false, false);
            simulator.inner(|inner| inner.random_choices = None);
            let schedule = Schedule::from_run(simulator.events(), simulator.processes());
            let failure = simulator.failing().map(Violation::Failure);
            let violation = failure.unwrap_or_else(|| report::deadlock(&mut simulator, &schedule));
            let begun = self.drawn.unwrap_or(0) + walks.begun().max(1);
            fail(&mut simulator, &schedule, &violation, begun, about);
        }
        // A closure without steps has one execution, which every draw repeats.
        let done = match found.counts.steps {
            0 if found.bounds.is_empty() => most,
            _ => walks.begun(),
        };
        Ok(Summary {
            executions: done,
            bounds: found.bounds,
            random: true,
            execution_counts,
            no_weak_ordering_met: orders.are_watched(),
            weak_refused: orders.refused(),
            ..simulator.inner(|inner| Summary::new(inner))
        })
    }

    /// Makes the walks. If a walk learns a fact about the program that it should have known from
    /// its start (facts.rs), then the walk does not count and another one replaces it.
    fn walk<L: Picker<Simulator> + Clone>(
        &self,
        simulator: &mut Simulator,
        walks: &mut Walks<L>,
        execution_counts: &mut ExecutionCounts,
    ) -> Result<Findings, WeakOrder> {
        let search = Search {
            algorithm: WalkOn::new(walks),
            limits: Limits {
                executions: None,
                ..self.limits()
            },
            goal: Goal::Violation(Kinds::FAULTS),
        };
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        with_restarts(simulator, |simulator| {
            search.run(simulator, go_on, execution_counts)
        })
    }
}
