//! `explore --tests`: passes every explored execution to the caller as a test that `replay` can
//! repeat, and measures the coverage of these tests.

use std::sync::Arc;

use mazurka_core::record::{Coverage, Record};
use mazurka_core::{Execution, Patience, Schedule, Semantics};
use mazurka_explore::{Goal, Observer};
use mazurka_lang::{Code, Machine, Reached};

use crate::front::{Front, on_front};
use crate::run::{Plan, RunRecord};
use crate::search::everything;
use crate::unknowns::{Asked, given};
use crate::{Algorithm, Options, Program, Refused, Watch, quietly};

/// Receives each test with its index, counted from 1.
pub type TestSink<'a> = &'a mut dyn FnMut(u64, &RunRecord);

/// Forwards the schedule of every complete run.
struct Schedules<'a>(&'a mut dyn FnMut(Schedule));

impl<E: Semantics> Observer<E> for Schedules<'_> {
    fn complete(&mut self, program: &E) {
        (self.0)(Schedule::from_run(program.whole(), program.processes()));
    }
}

/// The coverage of a set of tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCoverage {
    /// Number of tests.
    pub tests: u64,
    /// The coverage of all tests together.
    pub coverage: Coverage,
}

/// Runs a schedule from the start and records its coverage. An impossible step ends the run.
fn cover(code: Arc<Code>, options: &Options, schedule: &Schedule, reached: &Arc<Reached>) {
    let mut machine = Machine::until(
        code,
        options.limits.local,
        Patience::default(),
        Some(Arc::clone(reached)),
    );
    for step in &schedule.0 {
        let known = machine.processes().find(&step.process);
        let made = known.map(|process| machine.step(process, &step.outcomes).is_ok());
        if made != Some(true) {
            return;
        }
    }
}

impl Program {
    /// Explores like [`explore`](Program::explore), with one worker. Passes each complete execution
    /// to the sink, as the record of a run with the inputs that lead to it.
    pub fn explore_tests(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
        sink: TestSink<'_>,
    ) -> Result<(Record, TestCoverage), Refused> {
        let asked = self.asked(options);
        asked.explore_tests_asked(algorithm, options, watch, sink)
    }

    /// Explores a program with the properties and the fairness of the options.
    fn explore_tests_asked(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
        sink: TestSink<'_>,
    ) -> Result<(Record, TestCoverage), Refused> {
        let options = &self.covering(options);
        // Only `.maz` programs have branches.
        let code = self.language.maz();
        let reached = code.map(|code| Arc::new(Reached::nothing(code)));
        let mut tests = 0;
        let mut test =
            |code: Option<Arc<Code>>, schedule: Schedule, inputs: Vec<(String, i128)>| {
                if let (Some(code), Some(reached)) = (code, &reached) {
                    cover(code, options, &schedule, reached);
                }
                let options = Options {
                    inputs,
                    reached: None,
                    ..options.clone()
                };
                match self.run(&Plan::Schedule(schedule), &options, &mut quietly()) {
                    Ok(record) => {
                        tests += 1;
                        sink(tests, &record);
                    }
                    Err(error) => panic!("an explored run does not run again: {error}"),
                }
            };
        let mut record = match self.language.for_all() {
            Some(program) => {
                let mut each = |run: &mazurka_lang::Concrete| {
                    let inputs = run.values.iter().filter_map(given).collect();
                    test(Some(run.code.clone()), run.schedule.clone(), inputs);
                };
                let tests = Some(&mut each as &mut dyn FnMut(&mazurka_lang::Concrete));
                let asked = Asked {
                    command: "explore",
                    counted: self.counted_by_explorers(options),
                    algorithm,
                    goal: Goal::Everything,
                    tests,
                };
                self.search_for_all(program, asked, options, watch)?
            }
            None => on_front!(self.language, front => {
                let mut machine = front.machine(options);
                let mut each = |schedule| test(front.maz().cloned(), schedule, Vec::new());
                let observer = &mut Schedules(&mut each);
                let found = everything(algorithm, options).run(&mut machine, watch, observer);
                self.explored(algorithm, options, &mut machine, &found)
            }),
        };
        record.add_bounds(self.leaves_out(options));
        self.remark(&mut record, options);
        let coverage = match (code, &reached) {
            (Some(code), Some(reached)) => code.coverage(reached),
            _ => Coverage::default(),
        };
        Ok((record, TestCoverage { tests, coverage }))
    }
}
