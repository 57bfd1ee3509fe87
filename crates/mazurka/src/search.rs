//! `check` and `explore`: a search, and the verdict on what it found.
//!
//! [`Program::check`] chooses the engine and stops as soon as the verdict is certain.
//! [`Program::explore`] looks at the whole space with one [`Algorithm`] and counts. Both ask a
//! [`Watch`] now and then whether to go on; [`quietly`](crate::quietly) is one that always does.
//!
//! ```
//! use mazurka::search::Algorithm;
//! use mazurka::{Options, Program, quietly};
//!
//! let source = "var x, y: int = 0  process { x := 1 }  process { y := 1 }";
//! let program = Program::load("apart.maz", source, &[]).unwrap();
//! let executions = |algorithm| {
//!     let record = program.explore(algorithm, &Options::default(), &mut quietly());
//!     record.unwrap().counts.executions
//! };
//! // The two orders are not really different.
//! assert_eq!(executions(Algorithm::Naive), 2);
//! assert_eq!(executions(Algorithm::Optimal), 1);
//! ```

use std::time::Duration;

use mazurka_core::record::{Record, VERSION, Witness};
use mazurka_core::{Narrator, Semantics, Verdict};
use mazurka_explore::{Findings, Goal, Parts, Saver, Search, Workers};

use crate::front::{Front, Language, on_front};
use crate::{Checkpoint, Options, Program, Refused, ResumeError, evidence, pick};

pub use crate::export::TestSink;
pub use crate::tree::TreeTooLarge;
pub use mazurka_core::{Bound, Limits, Scope, StopReason};
pub use mazurka_explore::{Algorithm, Estimate, Progress, Variant, Watch};

/// A search through the whole space, within the limits of the options.
pub(crate) fn everything<A>(algorithm: A, options: &Options) -> Search<A> {
    Search {
        algorithm,
        limits: options.limits.clone(),
        goal: Goal::Everything,
    }
}

impl Program {
    /// The verdict, as soon as it is certain, by the engine that gets there first; the record says
    /// which. Failures, deadlocks and livelocks violate always, different results where the
    /// [program must be deterministic](Program::must_be_deterministic).
    pub fn check(&self, options: &Options, watch: &mut Watch<'_>) -> Result<Record, Refused> {
        if let Language::ForAll(program) = &self.language {
            let deterministic = self.must_be_deterministic(options);
            let goal = Goal::Verdict { deterministic };
            let optimal = Algorithm::Optimal;
            return self.search_for_all(program, goal, optimal, options, watch, None);
        }
        Ok(on_front!(self.language, front => self.check_on(front, options, watch)))
    }

    fn check_on<F: Front>(&self, front: &F, options: &Options, watch: &mut Watch<'_>) -> Record {
        let deterministic = self.must_be_deterministic(options);
        let goal = Goal::Verdict { deterministic };
        let mut machine = front.machine(options);
        let machines = || front.machine(options);
        let (algorithm, found) = pick::decide(&mut machine, &machines, options, goal, watch);
        self.judge(
            "check",
            algorithm,
            options,
            deterministic,
            &mut machine,
            &found,
        )
    }

    /// The whole space with one engine, and its counts. Failures, deadlocks and livelocks violate.
    pub fn explore(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        if let Language::ForAll(program) = &self.language {
            let goal = Goal::Everything;
            return self.search_for_all(program, goal, algorithm, options, watch, None);
        }
        Ok(on_front!(self.language, front => self.explore_on(front, algorithm, options, watch)))
    }

    fn explore_on<F: Front>(
        &self,
        front: &F,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Record {
        let mut machine = front.machine(options);
        let found = match algorithm.stateless() {
            None => everything(algorithm, options).run(&mut machine, watch, &mut ()),
            Some(stateless) => {
                let workers = Workers {
                    count: options.jobs,
                    programs: &|| front.machine(options),
                };
                everything(stateless, options).share(&workers, watch)
            }
        };
        self.judge("explore", algorithm, options, false, &mut machine, &found)
    }

    /// The same as [`explore`](Program::explore), in parts: if it is broken off, there is a
    /// checkpoint to go on from. Limits are for this search alone; the counts are of all.
    pub fn explore_from(
        &self,
        checkpoint: Option<&Checkpoint>,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Option<Checkpoint>), ResumeError> {
        let never = Duration::MAX;
        self.explore_saving(checkpoint, algorithm, options, watch, never, &mut |_| ())
    }

    /// The same, and saves a checkpoint at intervals, in case the process does not live until the
    /// end: not more often than this, and only if there is something new.
    pub fn explore_saving(
        &self,
        checkpoint: Option<&Checkpoint>,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
        every: Duration,
        save: &mut dyn FnMut(Checkpoint),
    ) -> Result<(Record, Option<Checkpoint>), ResumeError> {
        if !self.unknowns().is_empty() {
            return Err(ResumeError::Unknowns);
        }
        let Some(stateless) = algorithm.stateless() else {
            return Err(ResumeError::Engine(algorithm));
        };
        let search = everything(stateless, options);
        on_front!(self.language, front => {
            let parts = match checkpoint {
                Some(checkpoint) => checkpoint.parts(self, front, search, options)?,
                None => Parts::new(front.machine(options), search),
            };
            let save = &mut |parts: &Parts| save(Checkpoint::new(self, options, parts));
            Ok(self.explore_parts(front, parts, options, watch, &mut Saver { every, save }))
        })
    }

    fn explore_parts<F: Front>(
        &self,
        front: &F,
        mut parts: Parts,
        options: &Options,
        watch: &mut Watch<'_>,
        saver: &mut Saver<'_>,
    ) -> (Record, Option<Checkpoint>) {
        let algorithm = parts.search.algorithm.into();
        let mut machine = front.machine(options);
        let workers = Workers {
            count: options.jobs,
            programs: &|| front.machine(options),
        };
        let found = parts.run_saved(&workers, watch, saver);
        let left = !parts.left.is_empty();
        let checkpoint = left.then(|| Checkpoint::new(self, options, &parts));
        let record = self.judge("explore", algorithm, options, false, &mut machine, &found);
        (record, checkpoint)
    }

    pub(crate) fn judge<M: Narrator + Semantics>(
        &self,
        command: &str,
        algorithm: Algorithm,
        options: &Options,
        deterministic: bool,
        machine: &mut M,
        found: &Findings,
    ) -> Record {
        let shown = evidence::witnesses(machine, found, deterministic);
        self.judge_with(command, algorithm, options, found, shown)
    }

    /// The record of a search, with its evidence. A finding without evidence must have left a
    /// bound.
    pub(crate) fn judge_with(
        &self,
        command: &str,
        algorithm: Algorithm,
        options: &Options,
        found: &Findings,
        witnesses: Vec<Witness>,
    ) -> Record {
        let any = found.deadlock.as_ref().or(found.livelock.as_ref());
        let any = any.or(found.failures.first());
        assert!(
            any.is_none() || !witnesses.is_empty() || !found.bounds.is_empty(),
            "what was found is not shown: {any:?}"
        );
        // A bound that was hit takes nothing away from a violation that was found.
        let verdict = match (witnesses.is_empty(), found.bounds.is_empty()) {
            (false, _) => Verdict::Violated,
            (true, false) => Verdict::Inconclusive,
            (true, true) => Verdict::Verified,
        };
        Record {
            version: VERSION,
            program: self.record().clone(),
            command: command.to_owned(),
            algorithm: algorithm.to_string(),
            options: Some(options.record(match algorithm {
                Algorithm::Stateful => options.limits.depth,
                _ => Some(options.limits.depth()),
            })),
            verdict,
            scope: Scope {
                exhaustive: found.stopped == mazurka_core::StopReason::Complete,
                bounds: found.bounds.clone(),
            },
            stopped: found.stopped,
            deterministic: found.deterministic(),
            counts: found.counts,
            seconds: found.elapsed.as_secs_f64(),
            solver: None,
            witnesses,
        }
    }
}
