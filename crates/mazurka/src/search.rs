//! `check` and `explore`: a search, and the verdict on what it found.

use mazurka_core::record::{Record, VERSION};
use mazurka_core::{Scope, Verdict};
use mazurka_explore::{Findings, Goal, search_states};
use mazurka_lang::Machine;

use crate::{Algorithm, Options, Program, Watch, evidence, pick};

impl Program {
    /// The verdict, as soon as it is certain, by the engine that gets there first; the record says which.
    /// Failures, deadlocks and livelocks violate always, different results where the
    /// [program must be deterministic](Program::must_be_deterministic).
    pub fn check(&self, options: &Options, watch: &mut Watch<'_>) -> Record {
        let deterministic = self.must_be_deterministic(options);
        let goal = Goal::Verdict { deterministic };
        let mut machine = self.machine(options);
        let (algorithm, found) = pick::decide(&mut machine, &options.limits, goal, watch);
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
    ) -> Record {
        let mut machine = self.machine(options);
        let goal = Goal::Everything;
        let limits = &options.limits;
        let found = search_states(&mut machine, algorithm, limits, goal, watch, &mut ());
        self.judge("explore", algorithm, options, false, &mut machine, &found)
    }

    fn judge(
        &self,
        command: &str,
        algorithm: Algorithm,
        options: &Options,
        deterministic: bool,
        machine: &mut Machine,
        found: &Findings,
    ) -> Record {
        let witnesses = evidence::witnesses(machine, found, deterministic);
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
            witnesses,
        }
    }
}
