//! `check` and `explore`: a search, and the verdict on what it found.

use mazurka_core::record::{Record, VERSION};
use mazurka_core::{Scope, Verdict};
use mazurka_explore::{Goal, search_states};

use crate::{Algorithm, Options, Program, Watch, evidence};

impl Program {
    /// The verdict, as soon as it is certain. Failures and deadlocks violate always, different results
    /// where the [program must be deterministic](Program::must_be_deterministic).
    pub fn check(&self, options: &Options, watch: &mut Watch<'_>) -> Record {
        let deterministic = self.must_be_deterministic(options);
        let goal = Goal::Verdict { deterministic };
        self.search("check", Algorithm::Naive, goal, options, watch)
    }

    /// The whole space with one engine, and its counts. Failures and deadlocks violate.
    pub fn explore(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Record {
        self.search("explore", algorithm, Goal::Everything, options, watch)
    }

    fn search(
        &self,
        command: &str,
        algorithm: Algorithm,
        goal: Goal,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Record {
        let mut machine = self.machine(options);
        let found = search_states(
            &mut machine,
            algorithm,
            &options.limits,
            goal,
            watch,
            &mut (),
        );
        let deterministic = goal
            == Goal::Verdict {
                deterministic: true,
            };
        let witnesses = evidence::witnesses(&mut machine, &found, deterministic);
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
