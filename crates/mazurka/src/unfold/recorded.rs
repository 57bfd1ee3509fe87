//! `unfold --from`: builds a net from recorded tests first. The unfolding thesis leaves this as
//! future work.
//!
//! The net does not depend on the tests from which it is built. So the recorded tests are run
//! first, and then those that are still missing.

use mazurka_core::{ParseScheduleError, Schedule};
use mazurka_explore::UnfoldFrom;

use super::{NetKind, Unfold, UnfoldRecord};
use crate::front::{Front, on_front};
use crate::replay::Recording;
use crate::search::everything;
use crate::{Options, Program, Watch};

/// Why recorded tests cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotTaken {
    /// A stateful net predicts most of its events.
    #[error(
        "recorded tests are for --net replicated and contextual: a stateful net runs a test only where its model does not know a step"
    )]
    Stateful,
    /// The program has inputs.
    #[error(
        "recorded tests have values for inputs, and a net of a program with inputs or without initial values is made of runs for all of them; give initial values with --set, or leave out --from"
    )]
    Unknowns,
    /// A test was recorded with another program.
    #[error("test {0} was recorded with another program, or with other --set options")]
    OtherProgram(usize),
    /// A test has no run.
    #[error(
        "test {0} has no run: `mazurka run`, and `explore` and `unfold` with --tests, write some"
    )]
    Nothing(usize),
    /// A schedule cannot be parsed.
    #[error("test {0}: {1}")]
    Schedule(usize, ParseScheduleError),
}

impl Program {
    /// Builds a net from recorded runs, and from tests that cover the rest.
    ///
    /// ```
    /// use mazurka::replay::Recording;
    /// use mazurka::unfold::{NetKind, Unfold};
    /// use mazurka::{Options, Program, quietly};
    ///
    /// let source = "var x: int = 0  process { x := 1 }  process { x := 2 }";
    /// let program = Program::load("writes.maz", source, &[]).unwrap();
    /// let wanted = Unfold { kind: NetKind::Contextual, seed: 0 };
    /// let options = Options::default();
    /// let mut tests = Vec::new();
    /// let keep = &mut |_, test: &mazurka::run::RunRecord| {
    ///     let text = serde_json::to_string(test).unwrap();
    ///     tests.push(Recording::parse(&text).unwrap());
    /// };
    /// let first = program.unfold_tests(wanted, &options, &mut quietly(), keep).unwrap();
    /// let again = program.unfold_from(wanted, &tests, &options, &mut quietly()).unwrap();
    /// assert_eq!((first.tests, first.conditions), (again.tests, again.conditions));
    /// ```
    pub fn unfold_from(
        &self,
        wanted: Unfold,
        tests: &[Recording],
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<UnfoldRecord, NotTaken> {
        if wanted.kind == NetKind::Stateful {
            return Err(NotTaken::Stateful);
        }
        if self.language.for_all().is_some() {
            return Err(NotTaken::Unknowns);
        }
        let mut schedules = Vec::new();
        for (number, test) in (1..).zip(tests) {
            schedules.extend(self.schedules(number, test)?);
        }
        let from = UnfoldFrom {
            unfold: wanted,
            tests: &schedules,
        };
        Ok(on_front!(self.language, front => {
            let options = &options.started();
            let mut machine = front.machine_for_a_search(options);
            let net = everything(from, options).run(&mut machine, watch, &mut ());
            let mut net = net.into();
            self.net_record(wanted, &mut net, &mut machine, options)
        }))
    }

    /// Returns the schedules of the runs in a record: its run or, if it is not a record of `run`,
    /// its evidence.
    fn schedules(&self, number: usize, test: &Recording) -> Result<Vec<Schedule>, NotTaken> {
        if test.record.program.hash != self.record().hash {
            return Err(NotTaken::OtherProgram(number));
        }
        let shown = test.record.witnesses.iter().flat_map(|w| &w.runs);
        let shown = shown.filter(|_| test.run.is_none());
        let schedules = test.run.iter().chain(shown).map(|run| {
            let schedule = run.schedule.parse();
            schedule.map_err(|error| NotTaken::Schedule(number, error))
        });
        let schedules: Vec<Schedule> = schedules.collect::<Result<_, _>>()?;
        if schedules.is_empty() {
            Err(NotTaken::Nothing(number))
        } else {
            Ok(schedules)
        }
    }
}
