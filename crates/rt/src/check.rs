//! Explores a closure and reports the findings.

use std::cell::RefCell;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::process::{ExitCode, Termination};
use std::rc::Rc;
use std::time::Instant;

use mazurka_core::{Bound, Execution, Kinds, Schedule, Status, StopReason};
use mazurka_explore::{FewPreemptions, Findings, Goal, Observer, Preempted, Search, Violation};
use mazurka_memory::Memory;

use crate::batches::RepeatExecutions;
use crate::builder::{Builder, Summary};
use crate::checkpoint::Checkpoint;
use crate::inputs::DifferingRuns;
use crate::report::{self, Report};
use crate::simulate::{SearchAbort, Simulator};
use crate::verdict::{at_caller, end_test};
use crate::version::without_version;
use crate::weak::{Refused, SearchPlan};
use crate::world::world;
use crate::{facts, hook, inputs, say, weak};

/// Explores every really different execution of a closure's threads. Panics if one of them has a
/// panic, a deadlock or a data race; the message lists the steps that lead to it.
///
/// ```should_panic
/// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
/// use mazurka_rt::sync::Arc;
/// use mazurka_rt::{model, thread};
///
/// model(|| {
///     let x = Arc::new(AtomicU32::new(0));
///     let other = {
///         let x = x.clone();
///         thread::spawn(move || x.store(x.load(SeqCst) + 1, SeqCst))
///     };
///     x.store(x.load(SeqCst) + 1, SeqCst);
///     other.join().unwrap();
///     assert_eq!(x.load(SeqCst), 2); // not in all executions
/// });
/// ```
///
/// The closure may return a `Result`, like a function with `#[test]`: an error is a failure.
///
/// ```
/// mazurka_rt::model(|| {
///     let number: u32 = "7".parse()?;
///     assert_eq!(number, 7);
///     Ok::<(), std::num::ParseIntError>(())
/// });
/// ```
#[track_caller]
pub fn model<F, R>(f: F)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    Builder::new().check(f);
}

/// Explores a closure and compares its results: every execution must return the same value.
///
/// ```
/// use mazurka_rt::sync::{Arc, Mutex};
/// use mazurka_rt::{assert_deterministic, thread};
///
/// assert_deterministic(|| {
///     let sum = Arc::new(Mutex::new(0));
///     let all: Vec<_> = (1..=2)
///         .map(|k| {
///             let sum = sum.clone();
///             thread::spawn(move || *sum.lock().unwrap() += k)
///         })
///         .collect();
///     all.into_iter().for_each(|one| one.join().unwrap());
///     *sum.lock().unwrap()
/// });
/// ```
#[track_caller]
pub fn assert_deterministic<T, F>(f: F)
where
    T: PartialEq + Debug + 'static,
    F: Fn() -> T + Send + Sync + 'static,
{
    Builder::new().assert_deterministic(f);
}

/// Runs a closure under the schedule that the report of a failure contains, possibly in another
/// process. The closure fails in the same way.
///
/// ```should_panic
/// mazurka_rt::replay(|| panic!("as before"), "");
/// ```
#[track_caller]
pub fn replay<F, R>(f: F, schedule: &str)
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Termination,
{
    let builder = Builder {
        replay: Some(schedule.into()),
        replay_at: None,
        ..Builder::new()
    };
    builder.check(f);
}

/// The results of an exploration that collects all outcomes.
#[derive(Clone, Debug)]
pub struct Outcomes<T> {
    /// The different values that the closure can return, in order of discovery.
    pub results: Vec<T>,
    /// Number of really different executions.
    pub executions: u64,
    /// Number of executions that end in a deadlock.
    pub deadlocks: u64,
    /// Number of different panics of the main thread and of threads that are never joined. Two
    /// panics at the same place count as different if different steps happen before them.
    pub failures: u64,
    /// The bounds that were hit; if there are none, the exploration is complete.
    pub bounds: Vec<Bound>,
    /// Loops that spin and then give up, whose later rounds were not explored.
    pub rounds_left_out: Option<String>,
    /// Number of runs that repeated an explored execution.
    #[doc(hidden)]
    pub blocked: u64,
}

/// The result of the last execution: none, a value that has not been compared with the earlier
/// results, or the index of an equal result.
enum LastResult<T> {
    Nothing,
    New(T),
    Known(usize),
}

/// The results of all executions, without repetition.
pub(crate) struct Results<T> {
    last: RefCell<LastResult<T>>,
    all: RefCell<Vec<T>>,
}

impl<T: PartialEq> Results<T> {
    /// Returns the index of the result of the execution that has just ended; `u64::MAX` if the
    /// execution returned nothing.
    pub fn number(&self) -> u64 {
        let mut last = self.last.borrow_mut();
        let mut all = self.all.borrow_mut();
        let number = match std::mem::replace(&mut *last, LastResult::Nothing) {
            LastResult::Nothing => return u64::MAX,
            LastResult::Known(number) => number,
            LastResult::New(result) => match all.iter().position(|known| *known == result) {
                Some(number) => number,
                None => {
                    all.push(result);
                    all.len() - 1
                }
            },
        };
        *last = LastResult::Known(number);
        number as u64
    }

    /// Returns all results.
    pub fn take(&self) -> Vec<T> {
        self.all.take()
    }
}

impl<T: Debug> Results<T> {
    /// Returns a result as text.
    pub fn text(&self, number: usize) -> String {
        format!("{:?}", self.all.borrow()[number])
    }
}

impl Builder {
    /// Explores a closure; see [`model`].
    #[track_caller]
    pub fn check<F, R>(&self, f: F) -> Summary
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Termination,
    {
        let about = report::About {
            place: Location::caller(),
            body: std::any::type_name::<F>(),
            call: "replay",
        };
        let body = test_body(f);
        at_caller(|| self.check_body(&body, &about))
    }

    /// The body of [`check`](Self::check), compiled only once instead of for each closure.
    fn check_body(&self, body: &Rc<dyn Fn()>, about: &report::About) -> Summary {
        if let Some(replay) = self.replay_for(about.place) {
            return self.follow_any(body.clone(), replay, about);
        }
        let checkpoint = Checkpoint::of(self, about).map(Rc::new);
        self.under_model(
            |this, orders| {
                let mut simulator = this.simulator(body.clone());
                if let Some(checkpoint) = &checkpoint {
                    let found = checkpoint.search(this, &mut simulator, orders)?;
                    this.judge(&mut simulator, &found, about);
                    let summary = this.findings(&simulator, &found, false, orders);
                    return Ok(this.say(checkpoint.add_earlier(summary)));
                }
                let goal = |_: &_| Goal::Violation(Kinds::FAULTS);
                let observer = &mut RepeatExecutions;
                let (found, cut) = this.search(&mut simulator, orders, &goal, observer)?;
                this.judge(&mut simulator, &found, about);
                Ok(this.summary(&simulator, &found, cut, orders))
            },
            |this, memory| {
                if let Some(why) = checkpoint.as_ref().and_then(|saved| saved.refused()) {
                    return Err(Refused(why));
                }
                let plan = SearchPlan {
                    checkpoint: checkpoint.clone(),
                    ..SearchPlan::new(memory)
                };
                this.check_weakly(body.clone(), &plan, about)
            },
        )
    }

    /// Explores the program under the memory model that was set. By default it explores
    /// interleavings until the program uses an ordering weaker than sequential consistency, then
    /// execution graphs under rc11. If rc11 refuses the program, it explores interleavings again.
    pub(crate) fn under_model<R>(
        &self,
        mut interleavings: impl FnMut(&Self, &Orders) -> Result<R, WeakOrder>,
        mut graphs: impl FnMut(&Self, Memory) -> Result<R, Refused>,
    ) -> R {
        if let Some(memory) = self.graph_model() {
            return graphs(self, memory).unwrap_or_else(|refused| refused.fail(memory));
        }
        let start = Instant::now();
        let orders = match self.memory {
            Some(_) => Orders::Accepted(None),
            None => match interleavings(self, &Orders::Watched) {
                Ok(result) => return result,
                Err(WeakOrder) => match graphs(&self.after(start.elapsed()), Memory::Rc11) {
                    Ok(result) => return result,
                    Err(Refused(why)) => Orders::Accepted(Some(why)),
                },
            },
        };
        match interleavings(&self.after(start.elapsed()), &orders) {
            Ok(result) => result,
            Err(WeakOrder) => unreachable!("orderings are accepted"),
        }
    }

    /// Replays a schedule of interleavings or of a memory model.
    fn follow_any(&self, body: Rc<dyn Fn()>, replay: &str, about: &report::About) -> Summary {
        let replay = match without_version(replay) {
            Ok(replay) => replay,
            Err(error) => end_test!("mazurka: {error}"),
        };
        match weak::split(replay) {
            Some(replay) => self.follow_weakly(body, replay, about),
            None => self.follow(&mut self.simulator(body), replay, about),
        }
    }

    /// Explores a closure and compares the values that it returns; see [`assert_deterministic()`].
    #[track_caller]
    pub fn assert_deterministic<T, F>(&self, f: F) -> Summary
    where
        T: PartialEq + Debug + 'static,
        F: Fn() -> T + Send + Sync + 'static,
    {
        let about = report::About {
            place: Location::caller(),
            body: "",
            call: "replay",
        };
        let f: Rc<dyn Fn() -> T> = Rc::new(f);
        at_caller(|| self.compare_results(f, &about))
    }

    /// The body of [`assert_deterministic`](Self::assert_deterministic), compiled for each type of
    /// results instead of for each closure.
    fn compare_results<T>(&self, f: Rc<dyn Fn() -> T>, about: &report::About) -> Summary
    where
        T: PartialEq + Debug + 'static,
    {
        if let Some(replay) = self.replay_for(about.place) {
            return self.follow_any(observed(f).0, replay, about);
        }
        self.under_model(
            |this, orders| this.compare(observed(f.clone()), orders, about),
            |this, memory| this.compare_weakly(observed(f.clone()), memory, about),
        )
    }

    /// Explores interleavings and compares results.
    fn compare<T>(
        &self,
        (body, results): (Rc<dyn Fn()>, Rc<Results<T>>),
        orders: &Orders,
        about: &report::About,
    ) -> Result<Summary, WeakOrder>
    where
        T: PartialEq + Debug + 'static,
    {
        let mut simulator = self.observer(body, &results);
        inputs::compare(&simulator);
        let goal = |simulator: &Simulator| {
            if inputs::compared(simulator) {
                Goal::Violation(Kinds::FAULTS)
            } else {
                Goal::Violation(Kinds::ALL)
            }
        };
        let mut differing_runs = DifferingRuns::default();
        let (found, cut) = self.search(&mut simulator, orders, &goal, &mut differing_runs)?;
        self.judge(&mut simulator, &found, about);
        let pair = match &found.finals[..] {
            [one, other] if !inputs::compared(&simulator) => {
                Some([one.schedule.clone(), other.schedule.clone()])
            }
            _ => differing_runs.settle(&mut simulator),
        };
        if let Some([one, other]) = pair {
            let texts = |number: usize| results.text(number);
            let report = report::differ(&mut simulator, &one, &other, &texts);
            drop(simulator);
            end_test!("{report}");
        }
        Ok(self.summary(&simulator, &found, cut, orders))
    }

    /// Explores all executions and collects the results of the closure; panics and deadlocks
    /// are only counted.
    ///
    /// ```
    /// use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
    /// use mazurka_rt::sync::Arc;
    /// use mazurka_rt::{Builder, thread};
    ///
    /// let found = Builder::new().outcomes(|| {
    ///     let x = Arc::new(AtomicU32::new(0));
    ///     let writer = { let x = x.clone(); thread::spawn(move || x.store(1, SeqCst)) };
    ///     let seen = x.load(SeqCst);
    ///     writer.join().unwrap();
    ///     seen
    /// });
    /// assert_eq!((found.executions, found.results.len()), (2, 2));
    /// ```
    #[track_caller]
    pub fn outcomes<T, F>(&self, f: F) -> Outcomes<T>
    where
        T: PartialEq + 'static,
        F: Fn() -> T + Send + Sync + 'static,
    {
        let f: Rc<dyn Fn() -> T> = Rc::new(f);
        at_caller(|| self.outcomes_of(&f))
    }

    /// The body of [`outcomes`](Self::outcomes), compiled for each type of results instead of
    /// for each closure.
    fn outcomes_of<T: PartialEq + 'static>(&self, f: &Rc<dyn Fn() -> T>) -> Outcomes<T> {
        self.under_model(
            |this, orders| {
                let (body, results) = observed(f.clone());
                let unwinding = Builder {
                    unwinds: true,
                    ..this.clone()
                };
                let mut simulator = unwinding.observer(body, &results);
                let found = this.search_everything(&mut simulator, orders)?;
                let rounds_left_out = simulator.inner(|inner| inner.loops.unexplored());
                drop(simulator);
                Ok(Outcomes {
                    rounds_left_out,
                    results: results.take(),
                    executions: found.counts.traces.unwrap_or(found.counts.executions),
                    deadlocks: found.counts.deadlocks,
                    failures: found.counts.failures,
                    bounds: found.bounds,
                    blocked: found.counts.blocked,
                })
            },
            |this, memory| this.outcomes_weakly(observed(f.clone()), memory),
        )
    }

    fn search_everything(
        &self,
        simulator: &mut Simulator,
        orders: &Orders,
    ) -> Result<Findings, WeakOrder> {
        let goal = |_: &_| Goal::Everything;
        Ok(self.search(simulator, orders, &goal, &mut ())?.0)
    }

    /// Makes a program from a closure. The program's observation is the index of the closure's
    /// result in `results`.
    fn observer<T>(&self, body: Rc<dyn Fn()>, results: &Rc<Results<T>>) -> Simulator
    where
        T: PartialEq + 'static,
    {
        let all = results.clone();
        let mut simulator = self.simulator(body);
        simulator.observe = Some(Rc::new(move || all.number()));
        simulator
    }

    pub(crate) fn simulator(&self, body: Rc<dyn Fn()>) -> Simulator {
        assert!(world().is_none(), "there is a model within a model");
        hook::install();
        Simulator::new(body, self)
    }

    /// Explores interleavings. Returns the findings, and whether the bound on preemptions left
    /// executions out.
    fn search(
        &self,
        simulator: &mut Simulator,
        orders: &Orders,
        goal: &dyn Fn(&Simulator) -> Goal,
        observer: &mut dyn Observer<Simulator>,
    ) -> Result<(Findings, bool), WeakOrder> {
        simulator.switches = orders.are_watched();
        let start = Instant::now();
        let go_on = &mut |_: &_| ControlFlow::Continue(());
        let result = with_restarts(simulator, |simulator| {
            let (limits, goal) = (self.after(start.elapsed()).limits(), goal(simulator));
            match self.max_preemptions {
                None => {
                    let algorithm = self.algorithm;
                    let search = Search {
                        algorithm,
                        limits,
                        goal,
                    };
                    (search.run(simulator, go_on, observer), false)
                }
                Some(most) => {
                    let algorithm = FewPreemptions { most };
                    let search = Search {
                        algorithm,
                        limits,
                        goal,
                    };
                    let Preempted { found, cut } = search.run(simulator, go_on, observer);
                    (found, cut)
                }
            }
        });
        // From here on the runs only serve the report. A weaker ordering that appears in one of
        // them no longer starts a new search.
        (simulator.searching, simulator.switches) = (false, false);
        result.map(|(mut found, cut)| {
            found.bounds = self.as_asked(found.bounds);
            (found, cut)
        })
    }

    /// Panics if the findings contain a failure.
    fn judge(&self, simulator: &mut Simulator, found: &Findings, about: &report::About) {
        let count = found.counts.executions.max(1);
        if let Some(finding) = found.failures.first() {
            let site = finding.mishap.map_or(0, |mishap| mishap.site);
            let violation = Violation::Failure(site);
            fail(simulator, &finding.schedule, &violation, count, about);
        }
        if let Some(finding) = &found.deadlock {
            let violation = report::deadlock(simulator, &finding.schedule);
            fail(simulator, &finding.schedule, &violation, count, about);
        }
        self.fail_if_decisions_cut(&found.bounds, count);
        if self.max_depth.is_none() {
            fail_if_too_long(&found.bounds, count);
        }
    }

    /// Panics if an execution has compared inputs too often and no limit was set explicitly.
    pub(crate) fn fail_if_decisions_cut(&self, bounds: &[Bound], executions: u64) {
        let mut bounds = bounds.iter();
        if self.max_decisions.is_none()
            && let Some(&bound) = bounds.find(|b| matches!(b, Bound::MaxLocal(_)))
        {
            end_test!(
                "mazurka: not complete after {executions} executions: {}\nIs there a loop that an input decides how often to go round? \
                 Use input_in, or set max_decisions.",
                crate::builder::explain(bound)
            );
        }
    }

    fn summary(
        &self,
        simulator: &Simulator,
        found: &Findings,
        cut: bool,
        orders: &Orders,
    ) -> Summary {
        self.say(self.findings(simulator, found, cut, orders))
    }

    /// Summarises the findings.
    fn findings(
        &self,
        simulator: &Simulator,
        found: &Findings,
        cut: bool,
        orders: &Orders,
    ) -> Summary {
        debug_assert!(found.stopped != StopReason::Certain);
        Summary {
            executions: found.counts.executions,
            blocked: found.counts.blocked,
            bounds: found.bounds.clone(),
            max_preemptions: self.max_preemptions.filter(|_| cut),
            no_weak_ordering_met: orders.are_watched(),
            weak_refused: orders.refused(),
            ..simulator.inner(|inner| Summary::new(inner))
        }
    }

    /// Prints the summary; fails if the search had to be complete and is not.
    pub(crate) fn say(&self, summary: Summary) -> Summary {
        if self.drawn.is_some() {
            return summary;
        }
        let searched = !summary.random && self.replay.is_none();
        if self.require_complete && searched && !summary.is_complete() {
            end_test!(
                "{summary}\nmazurka: the search must be complete (MAZURKA_REQUIRE_COMPLETE, Builder::require_complete)"
            );
        }
        say::summary(&summary.to_string(), self.quiet);
        summary
    }

    /// Runs the steps of a schedule, then continues to the end of the run.
    fn follow(&self, simulator: &mut Simulator, text: &str, about: &report::About) -> Summary {
        let (schedule, inputs) = inputs::split(text);
        let schedule: Schedule = match schedule.parse() {
            Ok(schedule) => schedule,
            Err(error) => end_test!("mazurka: this is no schedule: {error}"),
        };
        let mut values = Vec::new();
        for word in inputs.split_whitespace() {
            match facts::give(simulator, word) {
                Ok(true) => {}
                Ok(false) => values.push(word),
                Err(error) => end_test!("mazurka: this cannot be replayed: {error}"),
            }
        }
        if let Err(error) = inputs::give(simulator, &values.join(" ")) {
            end_test!("mazurka: this cannot be replayed: {error}");
        }
        simulator.start_anew();
        let most = self.limits().depth();
        let followed = with_restarts(simulator, |simulator| {
            simulator.back_to(0);
            for (at, step) in schedule.0.iter().enumerate() {
                let process = simulator.processes().find(&step.process);
                let ready = process.filter(|&p| simulator.status(p) == Status::Ready);
                let made = ready.map(|process| simulator.step(process, &step.outcomes).is_ok());
                if made != Some(true) {
                    return Some((at + 1, step.process.to_string()));
                }
            }
            while let Some(process) = simulator.first_ready() {
                if simulator.events().len() as u64 >= most || simulator.failing().is_some() {
                    break;
                }
                let _made = simulator.step(process, &[]);
            }
            None
        });
        let Ok(misfit) = followed else {
            unreachable!("orderings are accepted");
        };
        if let Some((step, thread)) = misfit {
            end_test!(
                "mazurka: the schedule does not fit: thread {thread} cannot make step {step}. Is this the program that it was \
                 printed for?"
            );
        }
        simulator.searching = false;
        let schedule = Schedule::from_run(simulator.events(), simulator.processes());
        let violation = simulator.failing().map(Violation::Failure);
        let stuck = simulator.first_ready().is_none() && !simulator.is_final();
        let violation = violation.or_else(|| stuck.then(|| report::deadlock(simulator, &schedule)));
        if let Some(violation) = violation {
            let report = make_report(|| Report::new(simulator, &schedule, &violation));
            report.end(1, about);
        }
        self.say(Summary {
            executions: 1,
            bounds: vec![Bound::MaxExecutions(1)],
            ..simulator.inner(|inner| Summary::new(inner))
        })
    }
}

/// How a search of interleavings treats orderings weaker than sequential consistency.
pub(crate) enum Orders {
    /// The search ends with [`WeakOrder`] at the first such ordering.
    Watched,
    /// They are explored as if they were `SeqCst`. The text is the reason why rc11 refused the
    /// program, if it was tried.
    Accepted(Option<String>),
}

impl Orders {
    pub fn are_watched(&self) -> bool {
        matches!(self, Self::Watched)
    }

    pub fn refused(&self) -> Option<String> {
        match self {
            Self::Accepted(why) => why.clone(),
            Self::Watched => None,
        }
    }
}

/// The search ended because the program has used an ordering weaker than sequential consistency.
pub(crate) struct WeakOrder;

/// Wraps the closure of a test. Like a function with `#[test]` it returns nothing or a `Result`; an
/// error fails the execution.
pub(crate) fn test_body<R: Termination>(f: impl Fn() -> R + 'static) -> Rc<dyn Fn()> {
    Rc::new(move || {
        let success = f().report() == ExitCode::SUCCESS;
        assert!(success, "the test returned an error");
    })
}

/// Wraps a closure so that its result is stored. Returns the wrapped closure and the results.
fn observed<T>(f: Rc<dyn Fn() -> T>) -> (Rc<dyn Fn()>, Rc<Results<T>>)
where
    T: PartialEq + 'static,
{
    let results = Rc::new(Results {
        last: RefCell::new(LastResult::Nothing),
        all: RefCell::default(),
    });
    let slot = results.clone();
    let body = Rc::new(move || {
        let result = f();
        *slot.last.borrow_mut() = LastResult::New(result);
    });
    (body, results)
}

/// Panics if an execution was cut off because it was too long.
pub(crate) fn fail_if_too_long(bounds: &[Bound], executions: u64) {
    let mut bounds = bounds.iter();
    if let Some(&bound) = bounds.find(|b| matches!(b, Bound::MaxDepth(_))) {
        end_test!(
            "mazurka: not complete after {executions} executions: {}\nIs there a loop that waits for another thread without \
             `yield_now` or `spin_loop`, or that changes something in every round? If not, set max_depth.",
            crate::builder::explain(bound)
        );
    }
}

/// Panics with a report.
pub(crate) fn fail(
    simulator: &mut Simulator,
    schedule: &Schedule,
    violation: &Violation,
    executions: u64,
    about: &report::About,
) -> ! {
    let report = make_report(|| {
        let (schedule, violation) = inputs::settle(simulator, schedule, violation);
        report::evidence(simulator, &schedule, &violation)
    });
    report.end(executions, about)
}

/// Makes a report. The report runs the program again. If this run diverges from the run that was
/// found, the test ends with a message about that.
fn make_report(report: impl FnOnce() -> Report) -> Report {
    let payload = match catch_unwind(AssertUnwindSafe(report)) {
        Ok(report) => return report,
        Err(payload) => payload,
    };
    match payload.downcast::<SearchAbort>() {
        Ok(stop) => {
            let how = match *stop {
                SearchAbort::Diverged(how) => how,
                SearchAbort::Restart | SearchAbort::Refused(_) | SearchAbort::Weak => {
                    "something new was met".into()
                }
            };
            end_test!("{}", report::divergence(&how));
        }
        Err(other) => resume_unwind(other),
    }
}

/// Runs a function on a program. If a run learns a fact about the program that the search must know
/// from its start (facts.rs), the function is run again with this fact.
pub(crate) fn with_restarts<R>(
    simulator: &mut Simulator,
    mut run: impl FnMut(&mut Simulator) -> R,
) -> Result<R, WeakOrder> {
    simulator.searching = true;
    loop {
        // The program may have used a weaker ordering before its first step.
        if simulator.switches && simulator.inner(|inner| inner.weak) {
            return Err(WeakOrder);
        }
        let stop = match catch_unwind(AssertUnwindSafe(|| run(simulator))) {
            Ok(result) => return Ok(result),
            Err(payload) => match payload.downcast::<SearchAbort>() {
                Ok(stop) => *stop,
                Err(other) => resume_unwind(other),
            },
        };
        match stop {
            SearchAbort::Restart => simulator.start_anew(),
            SearchAbort::Diverged(_) if simulator.inner(|inner| inner.names.blocks.distrust()) => {
                simulator.start_anew();
            }
            SearchAbort::Diverged(how) => end_test!("{}", report::divergence(&how)),
            SearchAbort::Weak => return Err(WeakOrder),
            SearchAbort::Refused(what) => end_test!("mazurka: this cannot be explored: {what}"),
        }
    }
}
