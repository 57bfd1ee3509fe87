//! Every explored execution as a test that can be replayed, and what the tests cover.

use std::sync::Arc;

use mazurka_core::record::{Coverage, Record};
use mazurka_core::{Schedule, Semantics};
use mazurka_explore::{Goal, Observer};
use mazurka_lang::Sides;
use mazurka_lang::{Code, Machine};

use crate::front::{Front, on_front};
use crate::run::{Plan, RunRecord};
use crate::search::everything;
use crate::unknowns::{Asked, given};
use crate::{Algorithm, Options, Program, Refused, Watch, quietly};

/// Takes each test with its number, from 1.
pub type TestSink<'a> = &'a mut dyn FnMut(u64, &RunRecord);

/// Hands on the schedule of every complete run.
struct Schedules<'a>(&'a mut dyn FnMut(Schedule));

impl<E: Semantics> Observer<E> for Schedules<'_> {
    fn complete(&mut self, program: &E) {
        (self.0)(Schedule::from_run(program.whole(), program.processes()));
    }
}

impl Program {
    /// [`explore`](Program::explore) with one worker; every complete execution goes to the sink as
    /// the record of a run, with the inputs that lead there.
    pub fn explore_tests(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
        sink: TestSink<'_>,
    ) -> Result<(Record, Coverage), Refused> {
        let mut sides = Sides::default();
        let mut tests = 0;
        let mut test =
            |code: Option<Arc<Code>>, schedule: Schedule, inputs: Vec<(String, i128)>| {
                if let Some(code) = code {
                    Machine::new(code, options.limits.local).cover(&schedule, &mut sides);
                }
                let options = Options {
                    inputs,
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
        let record = match self.language.for_all() {
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
        // Branches are those of `.maz` programs.
        let code = self.language.maz();
        let branches = code.map_or(Vec::new(), |code| code.branches(&sides));
        Ok((record, Coverage { tests, branches }))
    }
}
