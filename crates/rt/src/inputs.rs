//! Inputs of reported runs: their values, and how a replay provides them.
//!
//! A search over inputs finds a path, which says for each comparison of inputs whether it was true.
//! The report then runs the program with concrete values that lead to these answers. So the run can
//! be shortened without a solver. A replay consists of a schedule and these values. For example, in
//! `0 0.1; 0#0=7 0.1#0=true` the threads 0 and 0.1 make one step each, and the first input of each
//! has a value.

use std::fmt::Write;

use mazurka_core::Schedule;
use mazurka_explore::{Observer, Violation};

use crate::simulate::Simulator;
use crate::world::Inner;

/// Separates the schedule of a replay from its inputs.
const BETWEEN: char = ';';

/// An input of a run.
pub(crate) struct Input {
    /// The thread that asked for it, and the number of inputs that this thread had asked for
    /// before, as in `0.1#0`.
    pub name: String,
    pub value: String,
    pub place: String,
}

/// Splits a replay into its schedule and the words after it: inputs and facts.
pub(crate) fn split(replay: &str) -> (&str, &str) {
    replay.split_once(BETWEEN).unwrap_or((replay, ""))
}

/// Joins a schedule, inputs and facts to a replay.
pub(crate) fn join(schedule: &Schedule, inputs: &[Input], facts: &[String]) -> String {
    let mut text = schedule.to_string();
    let inputs = inputs
        .iter()
        .map(|input| format!("{}={}", input.name, input.value));
    for (at, word) in inputs.chain(facts.iter().cloned()).enumerate() {
        if at == 0 {
            text.push(BETWEEN);
        }
        let _ = write!(text, " {word}");
    }
    text
}

#[cfg(not(feature = "symbolic"))]
mod of_run {
    use super::*;

    pub(crate) fn collect(_: &Inner) -> Vec<Input> {
        Vec::new()
    }

    pub(crate) fn give(_: &mut Simulator, inputs: &str) -> Result<(), String> {
        match inputs.trim() {
            "" => Ok(()),
            _ => Err("it has inputs, and these need the feature `symbolic`".into()),
        }
    }

    pub(crate) fn settle(
        _: &mut Simulator,
        schedule: &Schedule,
        violation: &Violation,
    ) -> (Schedule, Violation) {
        (schedule.clone(), violation.clone())
    }

    pub(crate) fn compare(_: &Simulator) {}

    pub(crate) fn compared(_: &Simulator) -> bool {
        false
    }

    #[derive(Default)]
    pub(crate) struct DifferingRuns {}

    impl Observer<Simulator> for DifferingRuns {}

    impl DifferingRuns {
        pub fn settle(self, _: &mut Simulator) -> Option<[Schedule; 2]> {
            None
        }
    }
}

#[cfg(feature = "symbolic")]
mod of_run {
    use mazurka_core::{Execution, ScheduledStep, Status};
    use mazurka_smt::Term;

    use super::*;
    use crate::report;

    /// Returns the inputs of the current run.
    pub(crate) fn collect(inner: &Inner) -> Vec<Input> {
        let asked = inner.unknowns.asked.iter();
        asked
            .map(|asked| Input {
                name: asked.name.clone(),
                value: asked.shown(),
                place: asked.place.to_string(),
            })
            .collect()
    }

    /// Fixes the values of all inputs from now on: those in `inputs`, and 0 for all others.
    pub(crate) fn give(simulator: &mut Simulator, inputs: &str) -> Result<(), String> {
        let read = |word: &str| {
            let (name, value) = word.split_once('=')?;
            Some((name.to_owned(), bits(value)?))
        };
        let mut given = Vec::new();
        for word in inputs.split_whitespace() {
            let input = read(word);
            given.push(input.ok_or_else(|| {
                format!("`{word}` is not an input; write its name and its value, as in `0#0=7`")
            })?);
        }
        simulator.inner(|inner| inner.unknowns.given = Some(given));
        simulator.start_anew();
        Ok(())
    }

    /// Parses a value of any type.
    pub(crate) fn bits(value: &str) -> Option<i64> {
        match value {
            "true" => Some(1),
            "false" => Some(0),
            _ => {
                let signed = value.parse().ok();
                signed.or_else(|| value.parse::<u64>().ok().map(|bits| bits as i64))
            }
        }
    }

    /// Finds values of the inputs that lead to the path of this run, and fixes the inputs to them.
    /// Returns the schedule and the violation of the run with these values.
    pub(crate) fn settle(
        simulator: &mut Simulator,
        schedule: &Schedule,
        violation: &Violation,
    ) -> (Schedule, Violation) {
        let unchanged = || (schedule.clone(), violation.clone());
        let Some(plain) = follow(simulator, schedule) else {
            return unchanged();
        };
        let given = simulator.inner(|inner| {
            let unknowns = &mut inner.unknowns;
            let open = unknowns.given.is_none() && !unknowns.asked.is_empty();
            (open && unknowns.settle()).then(|| {
                let asked = unknowns.asked.iter();
                asked.map(|a| (a.name.clone(), a.value())).collect()
            })
        });
        let Some(given) = given else {
            return unchanged();
        };
        simulator.inner(|inner| inner.unknowns.given = Some(given));
        simulator.start_anew();
        let again = report::play(simulator, &plain);
        let violation = match violation {
            Violation::Failure(_) => simulator.failing().map(Violation::Failure),
            _ => Some(report::deadlock(simulator, &plain)),
        };
        match (again, violation) {
            (Ok(()), Some(violation)) => (plain, violation),
            _ => panic!(
                "mazurka: with the inputs found the failure does not come again: a mistake of mazurka"
            ),
        }
    }

    /// Announces that results are going to be compared.
    pub(crate) fn compare(simulator: &Simulator) {
        simulator.inner(|inner| inner.unknowns.compares = true);
    }

    /// Whether results are compared for equal inputs only, by [`DifferingRuns`].
    pub(crate) fn compared(simulator: &Simulator) -> bool {
        simulator.inner(|inner| inner.unknowns.compared)
    }

    /// Limit on comparisons of two runs.
    const MOST: u64 = 200_000;

    /// Values of inputs, by name.
    type Values = Vec<(String, i64)>;

    /// A run that has ended: the index of its result, the condition on the inputs under which the
    /// run is possible, and its schedule.
    struct EndedRun<S> {
        result: u64,
        path: Vec<Term>,
        schedule: S,
    }

    /// Runs that have ended. The search looks for two of them with different results that the same
    /// inputs can reach.
    pub(crate) struct EndedRuns<S> {
        all: Vec<EndedRun<S>>,
        comparisons: u64,
        /// Two runs with different results, each with the index of its result, and inputs that can
        /// reach both; `None` until they are found.
        pub found: Option<([(u64, S); 2], Values)>,
    }

    impl<S> Default for EndedRuns<S> {
        fn default() -> Self {
            Self {
                all: Vec::new(),
                comparisons: 0,
                found: None,
            }
        }
    }

    impl<S> EndedRuns<S> {
        /// Adds the current run. Returns whether an earlier run with a different result can be
        /// reached by the same inputs.
        pub fn add(
            &mut self,
            inner: &mut Inner,
            result: u64,
            schedule: impl FnOnce() -> S,
        ) -> bool {
            let path = inner.unknowns.decided();
            let same = |other: &EndedRun<S>| other.result == result && other.path == path;
            if result == u64::MAX || self.found.is_some() || self.all.iter().any(same) {
                return false;
            }
            for at in 0..self.all.len() {
                let other = &self.all[at];
                if other.result == result {
                    continue;
                }
                self.comparisons += 1;
                if self.comparisons > MOST {
                    let why = "there were too many results to compare".to_owned();
                    inner.unknowns.undecided.get_or_insert(why);
                    return false;
                }
                if let Some(inputs) = inner.unknowns.common(&other.path, &path) {
                    let other = self.all.swap_remove(at);
                    let pair = [(other.result, other.schedule), (result, schedule())];
                    self.found = Some((pair, inputs));
                    return true;
                }
            }
            self.all.push(EndedRun {
                result,
                path,
                schedule: schedule(),
            });
            false
        }
    }

    /// Looks for two runs with different results that the same inputs can reach.
    #[derive(Default)]
    pub(crate) struct DifferingRuns(EndedRuns<Schedule>);

    impl Observer<Simulator> for DifferingRuns {
        fn start(&mut self, _: &Simulator) {
            *self = Self::default();
        }

        fn complete(&mut self, program: &Simulator) {
            if !compared(program) || !program.is_final() {
                return;
            }
            let observe = program.observe.as_ref();
            let result = observe.map_or(u64::MAX, |observe| observe());
            let schedule = || Schedule::from_run(program.events(), program.processes());
            program.inner(|inner| self.0.add(inner, result, schedule));
        }
    }

    impl DifferingRuns {
        /// Returns the schedules of the two runs, without the decisions about inputs, and fixes the
        /// inputs from now on. `None` if no such runs were found.
        pub fn settle(self, simulator: &mut Simulator) -> Option<[Schedule; 2]> {
            let ([(_, one), (_, other)], inputs) = self.0.found?;
            let plain = [follow(simulator, &one)?, follow(simulator, &other)?];
            simulator.inner(|inner| inner.unknowns.given = Some(inputs));
            simulator.start_anew();
            Some(plain)
        }
    }

    /// Runs the steps of a schedule. Returns the schedule without the decisions about inputs.
    fn follow(simulator: &mut Simulator, schedule: &Schedule) -> Option<Schedule> {
        simulator.back_to(0);
        simulator.catch_up();
        let following = |simulator: &Simulator, on| {
            simulator.inner(|inner| inner.unknowns.following = on);
        };
        following(simulator, true);
        let mut plain = Vec::new();
        for step in &schedule.0 {
            let process = simulator.processes().find(&step.process);
            let process = process.filter(|&p| simulator.status(p) == Status::Ready);
            let made = process.and_then(|process| simulator.step(process, &step.outcomes).ok());
            let Some(event) = made else {
                break;
            };
            let values: Vec<i64> = event.outcomes.iter().map(|outcome| outcome.value).collect();
            let decisions = simulator.inner(|inner| inner.unknowns.decisions.clone());
            let chosen = values.iter().enumerate();
            let chosen = chosen.filter(|(at, _)| decisions.get(*at) != Some(&true));
            plain.push(ScheduledStep {
                process: step.process.clone(),
                outcomes: chosen.map(|(_, &value)| value).collect(),
            });
        }
        following(simulator, false);
        (plain.len() == schedule.0.len()).then_some(Schedule(plain))
    }
}

pub(crate) use of_run::{DifferingRuns, collect, compare, compared, give, settle};
#[cfg(feature = "symbolic")]
pub(crate) use of_run::{EndedRuns, bits};
