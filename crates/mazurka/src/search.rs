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
//!
//! Where the space is too large, [`Algorithm::SAMPLING`] draws executions at random, as many as
//! [`Limits::executions`] says. What they find is certain; that they find nothing means little, so
//! the verdict is then inconclusive, and its bounds have a [`Bound::Sampled`].

use std::time::Duration;

use mazurka_core::record::{Record, VERSION, Witness};
use mazurka_core::{Narrator, Semantics, Verdict};
use mazurka_explore::{Findings, Goal, Parts, Saver, Search, Workers};

use crate::checkpoint::{Checkpoint, ResumeError};
use crate::evidence::Hurry;
use crate::front::{Front, on_front};
use crate::unknowns::Asked;
use crate::{Options, Program, Refused, evidence, pick};

pub use crate::export::TestSink;
pub use crate::tree::TreeTooLarge;
pub use mazurka_core::{Bound, Limits, Scope, StopReason};
pub use mazurka_explore::{Algorithm, Estimate, Pct, Progress, RandomWalks, Variant, Watch};

/// A search through the whole space, within the limits of the options.
pub(crate) fn everything<A>(algorithm: A, options: &Options) -> Search<A> {
    Search {
        algorithm,
        limits: options.limits.clone(),
        goal: Goal::Everything,
    }
}

/// The evidence for what was found, made in what is left of the time.
pub(crate) fn shown<M: Narrator + Semantics>(
    machine: &mut M,
    found: &Findings,
    deterministic: bool,
    options: &Options,
) -> Vec<Witness> {
    options.show();
    let hurry = Hurry::after(found, &options.limits);
    evidence::witnesses(machine, found, deterministic, &hurry)
}

/// Checkpoints of an exploration: where to go on, and what to do with new ones.
pub struct Saving<'a> {
    /// Where an earlier exploration was broken off.
    pub from: Option<&'a Checkpoint>,
    /// A new checkpoint is made not more often than this, and only if there is something new.
    pub every: Duration,
    /// Keeps a checkpoint, in case that the exploration does not come to an orderly end.
    pub save: &'a mut dyn FnMut(Checkpoint),
}

/// What was asked for: the head of a record.
#[derive(Clone, Copy)]
pub(crate) struct Head<'a> {
    command: &'static str,
    algorithm: Algorithm,
    options: &'a Options,
}

impl<'a> Head<'a> {
    pub fn new(command: &'static str, algorithm: Algorithm, options: &'a Options) -> Self {
        Self {
            command,
            algorithm,
            options,
        }
    }
}

impl Program {
    /// The verdict, as soon as it is certain, by the engine that gets there first; the record says
    /// which. Failures, deadlocks and livelocks violate always, different results where the
    /// [program must be deterministic](Program::must_be_deterministic).
    pub fn check(&self, options: &Options, watch: &mut Watch<'_>) -> Result<Record, Refused> {
        if let Some(program) = self.language.for_all() {
            let deterministic = self.must_be_deterministic(options);
            let asked = Asked {
                algorithm: Algorithm::Optimal,
                goal: Goal::Verdict { deterministic },
                tests: None,
            };
            return self.search_for_all(program, asked, options, watch);
        }
        Ok(on_front!(self.language, front => self.check_on(front, options, watch)))
    }

    fn check_on<F: Front>(&self, front: &F, options: &Options, watch: &mut Watch<'_>) -> Record {
        let deterministic = self.must_be_deterministic(options);
        let goal = Goal::Verdict { deterministic };
        let options = &options.started();
        let mut machine = front.machine_for_a_search(options);
        let machines = || front.machine_for_a_search(options);
        let (algorithm, found) = pick::decide(&mut machine, &machines, options, goal, watch);
        let shown = shown(&mut machine, &found, deterministic, options);
        self.record_of(Head::new("check", algorithm, options), &found, shown)
    }

    /// The whole space with one engine (or a sample of it, if the engine draws executions at
    /// random), and its counts. Failures, deadlocks and livelocks violate.
    pub fn explore(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, Refused> {
        if let Some(program) = self.language.for_all() {
            let asked = Asked {
                algorithm,
                goal: Goal::Everything,
                tests: None,
            };
            return self.search_for_all(program, asked, options, watch);
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
        let options = &options.started();
        let mut machine = front.machine_for_a_search(options);
        let found = match algorithm.stateless() {
            None => everything(algorithm, options).run(&mut machine, watch, &mut ()),
            Some(stateless) => {
                let workers = Workers {
                    count: options.jobs,
                    programs: &|| front.machine_for_a_search(options),
                };
                everything(stateless, options).share(&workers, watch)
            }
        };
        self.explored(algorithm, options, &mut machine, &found)
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
        let never = Saving {
            from: checkpoint,
            every: Duration::MAX,
            save: &mut |_| (),
        };
        self.explore_saving(never, algorithm, options, watch)
    }

    /// The same, with checkpoints on the way.
    pub fn explore_saving(
        &self,
        saving: Saving<'_>,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Option<Checkpoint>), ResumeError> {
        let Saving { from, every, save } = saving;
        if !self.unknowns().is_empty() {
            return Err(ResumeError::Unknowns);
        }
        let Some(stateless) = algorithm.stateless() else {
            return Err(ResumeError::Engine(algorithm));
        };
        let options = &options.started();
        let search = everything(stateless, options);
        on_front!(self.language, front => {
            let mut parts = match from {
                Some(checkpoint) => checkpoint.parts(self, front, search, options)?,
                None => Parts::new(front.machine(options), search),
            };
            let workers = Workers {
                count: options.jobs,
                programs: &|| front.machine_for_a_search(options),
            };
            let save = &mut |parts: &Parts| save(Checkpoint::new(self, options, parts));
            let found = parts.run_saved(&workers, watch, &mut Saver { every, save });
            let left = !parts.left.is_empty();
            let checkpoint = left.then(|| Checkpoint::new(self, options, &parts));
            let record = self.explored(algorithm, options, &mut front.machine(options), &found);
            Ok((record, checkpoint))
        })
    }

    /// The record of an exploration, in which different results are no violation.
    pub(crate) fn explored<M: Narrator + Semantics>(
        &self,
        algorithm: Algorithm,
        options: &Options,
        machine: &mut M,
        found: &Findings,
    ) -> Record {
        let shown = shown(machine, found, false, options);
        self.record_of(Head::new("explore", algorithm, options), found, shown)
    }

    /// The record of a search, with its evidence. A finding without evidence must have left a
    /// bound.
    pub(crate) fn record_of(
        &self,
        head: Head<'_>,
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
            command: head.command.to_owned(),
            algorithm: head.algorithm.to_string(),
            options: Some(head.options.record(match head.algorithm {
                Algorithm::Stateful => head.options.limits.depth,
                _ => Some(head.options.limits.depth()),
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
