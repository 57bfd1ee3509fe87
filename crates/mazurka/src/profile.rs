//! `explore --profile`: which pairs of places in the source cost the most executions. An engine
//! explores a further execution because it reverses a race of two steps; the profile counts these
//! reversals by the places of the two steps.
//!
//! ```
//! use mazurka::{Algorithm, Options, Program, quietly};
//!
//! let source = "var x: int = 0\nprocess { x := 1 }\nprocess { x := 2 }";
//! let program = Program::load("pair.maz", source, &[]).unwrap();
//! let options = Options::default();
//! let record = program.explore_profile(Algorithm::Optimal, &options, &mut quietly()).unwrap();
//! let pairs = record.profile.unwrap();
//! assert_eq!((pairs[0].first.line, pairs[0].second.line), (2, 3));
//! assert_eq!(pairs[0].executions, 1);
//! ```

use std::collections::BTreeMap;

use mazurka_core::record::{Place, Record, ReversedPair};
use mazurka_core::{Narrator, ProcessId};
use mazurka_explore::{Observer, RacingStep, ReversedRace};
use rustc_hash::FxHashMap;

use crate::front::{Front, on_front};
use crate::search::everything;
use crate::{Algorithm, Options, Program, Watch};

/// Why there is no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProfile {
    /// The engine reverses no races.
    #[error(
        "a profile counts reversals of races, which `{0}` does not make: choose --algorithm optimal, source or dpor"
    )]
    Engine(Algorithm),
    /// Some values are unknown.
    #[error(
        "there is no profile of a program with inputs or without initial values: give them (--set)"
    )]
    Unknowns,
}

impl Program {
    /// Explores like [`explore`](Program::explore) with one worker, and adds the profile to the
    /// record.
    pub fn explore_profile(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Record, NoProfile> {
        let reverses = [Algorithm::Optimal, Algorithm::Source, Algorithm::Dpor];
        if !reverses.contains(&algorithm) {
            return Err(NoProfile::Engine(algorithm));
        }
        if self.language.for_all().is_some() {
            return Err(NoProfile::Unknowns);
        }
        let options = &self.covering(options).started();
        let mut record = on_front!(self.language, front => {
            self.profile_on(front, algorithm, options, watch)
        });
        self.remark(&mut record, options);
        Ok(record)
    }

    fn profile_on<F: Front>(
        &self,
        front: &F,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Record {
        let mut machine = front.machine_for_a_search(options);
        let mut profiler = Profiler::default();
        let found = everything(algorithm, options).run(&mut machine, watch, &mut profiler);
        let mut record = self.explored(algorithm, options, &mut machine, &found);
        record.add_bounds(self.leaves_out(options));
        record.profile = Some(profiler.pairs(&machine));
        record
    }
}

/// Counts reversals by the places of their steps.
#[derive(Default)]
struct Profiler {
    /// For each process, the location of its next step.
    rests: Vec<u32>,
    /// For each step of the current run, its process, and the location of that process before the
    /// step.
    run: Vec<(ProcessId, u32)>,
    /// Number of reversals for the locations of the first and the second step of a race.
    reversals: FxHashMap<(u32, u32), u64>,
}

impl Profiler {
    fn rest<M: Narrator>(&mut self, program: &M, process: ProcessId) {
        let at = process.index();
        if self.rests.len() <= at {
            self.rests.resize(at + 1, 0);
        }
        self.rests[at] = program.site_of(process);
    }

    /// Returns the pairs, the most frequent first. Steps with the same text on the same line are
    /// merged.
    fn pairs<M: Narrator>(&self, program: &M) -> Vec<ReversedPair> {
        let key = |place: &Place| (place.line, place.column, place.text.clone());
        let mut pairs = BTreeMap::new();
        for (&(first, second), &executions) in &self.reversals {
            let (first, second) = (program.site(first), program.site(second));
            let pair = pairs.entry((key(&first), key(&second)));
            let pair = pair.or_insert(ReversedPair {
                first,
                second,
                executions: 0,
            });
            pair.executions += executions;
        }
        let mut pairs: Vec<ReversedPair> = pairs.into_values().collect();
        pairs.sort_by_key(|pair| std::cmp::Reverse(pair.executions));
        pairs
    }
}

impl<M: Narrator> Observer<M> for Profiler {
    fn counts_reversals(&self) -> bool {
        true
    }

    fn start(&mut self, program: &M) {
        *self = Self::default();
        for &process in program.processes().in_order() {
            self.rest(program, process);
        }
    }

    fn pushed(&mut self, program: &M) {
        let Some(event) = program.events().last() else {
            return;
        };
        let process = event.process;
        self.run.push((process, self.rests[process.index()]));
        self.rest(program, process);
        for &child in &event.spawned {
            self.rest(program, child);
        }
    }

    fn popping(&mut self, _program: &M) {
        if let Some((process, site)) = self.run.pop() {
            self.rests[process.index()] = site;
        }
    }

    fn reversed(&mut self, _program: &M, race: ReversedRace) {
        let second = match race.second {
            RacingStep::Event(at) => self.run[at].1,
            RacingStep::Next(process) => self.rests[process.index()],
        };
        let pair = (self.run[race.first].1, second);
        *self.reversals.entry(pair).or_insert(0) += 1;
    }
}
