//! `step`: one execution by hand, forwards and backwards.
//!
//! A [`Stepper`] is in a state of a run. It shows which processes can make a step, and the effect
//! of each step. It can make one of these steps, and go back. Its steps are a schedule, so the run
//! can be [recorded](Stepper::record) like any other.
//!
//! ```
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "var x: int = 0  process { x := 1 }  process { assert x == 0 }";
//! let program = Program::load("late.maz", source, &[]).unwrap();
//! let mut stepper = program.stepper(&Options::default()).unwrap();
//! let labels = |stepper: &mut mazurka::step::Stepper<'_>| -> Vec<String> {
//!     stepper.next_steps().steps.into_iter().map(|step| step.label).collect()
//! };
//! assert_eq!(labels(&mut stepper), ["x := 1", "assert x == 0"]);
//! stepper.make(&program.schedule("0 1").unwrap()).unwrap();
//! assert_eq!(stepper.run().steps[1].mishap.as_deref(), Some("assertion failed: `assert x == 0`"));
//! let record = stepper.record(&mut quietly()).unwrap();
//! assert_eq!(record.record.verdict, Verdict::Violated);
//! stepper.back(2);
//! assert_eq!(labels(&mut stepper), ["x := 1", "assert x == 0"]);
//! ```

use mazurka_core::record::{Run, Step, Waiting};
use mazurka_core::{
    Bound, Limits, Narrator, ProcessId, Random, Schedule, ScheduledStep, Status, StepError, ending,
    with_status,
};
use mazurka_explore::{broken_by, is_broken_off, next_outcomes};
use mazurka_lang::UnfitInput;

use crate::front::{Front, on_front};
use crate::run::{Plan, RunError, RunRecord, by_chance, go_on, names, one_of};
use crate::{Options, Program, Watch, quietly};

pub use mazurka_core::{HeldLock, NextSteps, Situation, Standing};

/// Limit on the number of next steps that are shown for one process. Its `choose` may have a
/// million outcomes.
const MOST_OUTCOMES: usize = 8;

/// A run that is made by hand: a program in a state of a run, with the steps that led there and the
/// steps that were taken back. The documentation of the module has an example.
pub struct Stepper<'a> {
    program: &'a Program,
    options: Options,
    machine: Box<dyn Narrator>,
    /// The steps of the run, with their descriptions.
    steps: Vec<Step>,
    /// The steps that were taken back. `redo` next makes the last one.
    ahead: Vec<ScheduledStep>,
    random: Random,
}

/// Why a step was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepProblem {
    /// There is no such process in this state.
    #[error("there is no process {0} now")]
    NoSuchProcess(String),
    /// The process waits.
    #[error("{process} has to wait for {what}{held}")]
    Waits {
        /// The process.
        process: String,
        /// What it waits for.
        what: String,
        /// The process that holds it, as the end of the message; empty if there is none.
        held: String,
    },
    /// The process has ended, or was halted.
    #[error("{process} {why}")]
    Over {
        /// The process.
        process: String,
        /// Why it cannot make further steps.
        why: &'static str,
    },
    /// The step has several outcomes, and none was given.
    #[error("{process} chooses: say {}", .steps.join(" or "))]
    Chooses {
        /// The process.
        process: String,
        /// The possible steps, in the notation of schedules.
        steps: Vec<String>,
    },
    /// The step does not have the given outcome.
    #[error("{process} cannot choose that: say {}", .steps.join(" or "))]
    NoSuchOutcome {
        /// The process.
        process: String,
        /// The possible steps, in the notation of schedules.
        steps: Vec<String>,
    },
    /// More outcomes were given than the step chooses.
    #[error("{process} chooses {} here, and more values are given", values(*.chosen))]
    TooManyOutcomes {
        /// The process.
        process: String,
        /// Number of outcomes that it chooses.
        chosen: usize,
    },
    /// The step took too long.
    #[error("the step was broken off: {0}")]
    BrokenOff(Bound),
    /// The step reads an input that cannot have its given value.
    #[error(transparent)]
    Input(#[from] UnfitInput),
}

/// Returns `no value`, `1 value`, `2 values` and so on.
fn values(count: usize) -> String {
    match count {
        0 => "no value".to_owned(),
        1 => "1 value".to_owned(),
        n => format!("{n} values"),
    }
}

impl Program {
    /// Starts a run by hand, before its first step. The error is an initial value that its variable
    /// cannot have.
    pub fn stepper(&self, options: &Options) -> Result<Stepper<'_>, RunError> {
        let options = options.started();
        let machine: Box<dyn Narrator> =
            on_front!(self.language, front => Box::new(front.machine_for_a_run(&options)));
        let stepper = Stepper {
            program: self,
            machine,
            steps: Vec::new(),
            ahead: Vec::new(),
            random: Random::new(0),
            options,
        };
        stepper.record(&mut quietly())?;
        Ok(stepper)
    }
}

impl Stepper<'_> {
    /// Sets the seed of random steps.
    pub fn seed(&mut self, seed: u64) {
        self.random = Random::new(seed);
    }

    /// Returns the number of steps made.
    pub fn steps_made(&self) -> usize {
        self.steps.len()
    }

    /// Returns the names to show of the processes that can make a step.
    pub fn ready_names(&self) -> Vec<String> {
        let ready = with_status(&*self.machine, Status::Ready);
        ready
            .into_iter()
            .map(|process| self.name(process))
            .collect()
    }

    /// Returns the schedule of the run.
    pub fn schedule(&self) -> Schedule {
        Schedule::from_run(self.machine.events(), self.machine.processes())
    }

    /// Returns the run so far.
    pub fn run(&self) -> Run {
        self.machine.told(&self.schedule(), self.steps.clone())
    }

    /// Returns the record of the run so far, with its violations, as [`Program::run`] would return
    /// it.
    pub fn record(&self, watch: &mut Watch<'_>) -> Result<RunRecord, RunError> {
        let plan = Plan::Schedule(self.schedule());
        self.program.run(&plan, &self.options, watch)
    }

    /// Returns the possible next steps. A process with a `choose` has one for each outcome.
    pub fn next_steps(&mut self) -> NextSteps {
        let mut next = NextSteps::default();
        for process in with_status(&*self.machine, Status::Ready) {
            let (steps, more) = self.outcomes(process, &[]);
            next.steps.extend(steps);
            if more {
                next.more.push(self.number(process));
            }
        }
        next
    }

    /// Returns the positions of all processes, and the values of all variables.
    pub fn situation(&self) -> Situation {
        let machine = &*self.machine;
        let waiting = machine.waiting();
        let all = machine.processes().in_order().iter().copied();
        let started = all.filter(|&p| machine.status(p) != Status::Unborn);
        let standing = |process: ProcessId| {
            let number = self.number(process);
            let waits = waiting.iter().find(|waits| waits.process == number);
            Standing {
                name: self.name(process),
                status: machine.status(process),
                line: machine.line_of(process),
                waiting: waits.map(|waits| self.named(waits)),
                locals: machine.locals_of(process),
                number,
            }
        };
        Situation {
            steps: self.steps.len(),
            ending: ending(machine),
            state: machine.bindings(false),
            inputs: machine.inputs(),
            processes: started.map(standing).collect(),
            held: machine.held(),
        }
    }

    /// Makes the steps of a schedule from here on. If a step cannot be made, the earlier ones are
    /// kept.
    pub fn make(&mut self, schedule: &Schedule) -> Result<(), StepProblem> {
        schedule.0.iter().try_for_each(|step| self.make_one(step))
    }

    /// Goes to the end of another schedule, or stays in the current state if one of its steps
    /// cannot be made. The error contains the number of that step, from 1.
    pub fn go_to(&mut self, schedule: &Schedule) -> Result<(), (usize, StepProblem)> {
        let (here, narrated) = (self.schedule(), std::mem::take(&mut self.steps));
        let ahead = std::mem::take(&mut self.ahead);
        self.machine.back_to(0);
        let result = self.make(schedule);
        result.map_err(|problem| {
            let failed = self.steps.len() + 1;
            self.machine.back_to(0);
            crate::run::follow(&mut *self.machine, &here);
            (self.steps, self.ahead) = (narrated, ahead);
            (failed, problem)
        })
    }

    /// Takes back at most `steps` steps. Returns the number of steps taken back.
    pub fn back(&mut self, steps: usize) -> usize {
        let depth = self.steps.len().saturating_sub(steps);
        let mut taken = self.schedule().0.split_off(depth);
        let count = taken.len();
        taken.reverse();
        self.ahead.append(&mut taken);
        self.retreat(depth);
        count
    }

    /// Makes again at most `steps` of the steps that were taken back. Returns how many it has made.
    pub fn redo(&mut self, steps: usize) -> Result<usize, StepProblem> {
        for made in 0..steps {
            let Some(step) = self.ahead.last().cloned() else {
                return Ok(made);
            };
            self.make_one(&step)?;
        }
        Ok(steps)
    }

    /// Makes this many random steps, or fewer if the run ends or a bound is hit.
    pub fn by_chance(
        &mut self,
        steps: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Bound>, StepProblem> {
        let mut random = self.random.clone();
        let bound = self.go_on(Some(steps), &mut random, watch)?;
        self.random = random;
        Ok(bound)
    }

    /// Makes steps until the run ends or a bound is hit. From the start, they are the same as those
    /// of [`Program::run`] with seed 0.
    pub fn finish(&mut self, watch: &mut Watch<'_>) -> Result<Option<Bound>, StepProblem> {
        self.go_on(None, &mut Random::new(0), watch)
    }

    fn go_on(
        &mut self,
        most: Option<u64>,
        random: &mut Random,
        watch: &mut Watch<'_>,
    ) -> Result<Option<Bound>, StepProblem> {
        let before = self.steps.len();
        let enough = most.map(|most| most.saturating_add(before as u64));
        let options = Options {
            limits: Limits {
                steps: enough,
                ..self.options.limits.clone()
            },
            ..self.options.clone()
        };
        let Self { machine, steps, .. } = self;
        let bound = go_on(&mut **machine, &options, watch, &mut |machine, ready| {
            let enabled = names(machine, ready);
            let process = one_of(ready, random);
            let step = by_chance(machine, random, |machine, outcomes| {
                machine.tell(process, outcomes)
            });
            steps.push(Step { enabled, ..step });
        });
        // A step that was broken off has been taken back.
        steps.truncate(machine.events().len());
        let made = steps.len() > before;
        self.check_inputs().inspect_err(|_| self.retreat(before))?;
        if made {
            self.ahead.clear();
        }
        Ok(bound.filter(|bound| Some(*bound) != enough.map(Bound::MaxSteps)))
    }

    /// Makes one step. If it is the step that was taken back last, `redo` can still make the
    /// others.
    fn make_one(&mut self, step: &ScheduledStep) -> Result<(), StepProblem> {
        let depth = self.steps.len();
        let process = self.ready(step)?;
        let enabled = names(&*self.machine, &with_status(&*self.machine, Status::Ready));
        let narrated = match self.machine.tell(process, &step.outcomes) {
            Ok(narrated) => narrated,
            Err(StepError::NoSuchOutcome | StepError::NotReady) => {
                let (process, steps) = (self.name(process), self.spelled(process, &[]));
                return Err(StepProblem::NoSuchOutcome { process, steps });
            }
        };
        if let Err(problem) = self.accepted(process, &step.outcomes) {
            self.machine.back_to(depth);
            return Err(problem);
        }
        self.steps.push(Step {
            enabled,
            ..narrated
        });
        if let Err(problem) = self.check_inputs() {
            self.retreat(depth);
            return Err(problem);
        }
        let last = self.machine.events().last();
        let mut made = Schedule::of_each(last, self.machine.processes());
        if made.0.pop() != self.ahead.pop() {
            self.ahead.clear();
        }
        Ok(())
    }

    /// Returns the process of a step, if it is ready.
    fn ready(&self, step: &ScheduledStep) -> Result<ProcessId, StepProblem> {
        let machine = &*self.machine;
        let known = machine.processes().find(&step.process);
        let known = known.map(|process| (process, machine.status(process)));
        let Some((process, status)) = known else {
            return Err(StepProblem::NoSuchProcess(step.process.to_string()));
        };
        let why = match status {
            Status::Ready => return Ok(process),
            Status::Unborn => return Err(StepProblem::NoSuchProcess(step.process.to_string())),
            Status::Waiting => return Err(self.waits(process)),
            Status::Ended => "has ended",
            Status::Failed => "was halted by a failure",
            Status::Discarded => "was halted by a false `assume`",
            Status::Lost => "was halted by a bound of the evaluator",
        };
        let process = self.name(process);
        Err(StepProblem::Over { process, why })
    }

    fn waits(&self, process: ProcessId) -> StepProblem {
        let number = self.number(process);
        let waiting = self.machine.waiting();
        let waits = waiting.iter().find(|waits| waits.process == number);
        let waits = waits.map(|waits| self.named(waits));
        let held = waits.as_ref().and_then(|waits| waits.held_by.as_ref());
        StepProblem::Waits {
            held: held.map_or(String::new(), |holder| format!(", held by {holder}")),
            process: self.name(process),
            what: waits.map_or("something".to_owned(), |waits| waits.what),
        }
    }

    /// Checks that the last step was not broken off, and that these outcomes decide all of its
    /// choices.
    fn accepted(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<(), StepProblem> {
        let Some(event) = self.machine.events().last() else {
            return Ok(());
        };
        if is_broken_off(&event.mishaps) {
            return Err(StepProblem::BrokenOff(broken_by(&self.options.limits)));
        }
        let chosen = event.outcomes.len();
        if chosen < outcomes.len() {
            let process = self.name(process);
            return Err(StepProblem::TooManyOutcomes { process, chosen });
        }
        let mut open = event.outcomes[outcomes.len()..].iter();
        if open.any(|outcome| outcome.value + 1 < outcome.end) {
            let depth = self.steps.len();
            self.machine.back_to(depth);
            let (process, steps) = (self.name(process), self.spelled(process, outcomes));
            Err(StepProblem::Chooses { process, steps })
        } else {
            Ok(())
        }
    }

    /// Returns the next steps of a process whose outcomes begin with `given`, and whether there are
    /// more.
    fn outcomes(&mut self, process: ProcessId, given: &[i64]) -> (Vec<Step>, bool) {
        let depth = self.machine.events().len();
        let mut steps = Vec::new();
        let mut outcomes = given.to_vec();
        loop {
            let Ok(step) = self.machine.tell(process, &outcomes) else {
                return (steps, false);
            };
            let event = &self.machine.events()[depth];
            let broken = is_broken_off(&event.mishaps);
            let other = next_outcomes(event).filter(|other| other.len() > given.len());
            self.machine.back_to(depth);
            if broken {
                return (steps, true);
            }
            steps.push(step);
            match other {
                None => return (steps, false),
                Some(_) if steps.len() == MOST_OUTCOMES => return (steps, true),
                Some(other) => outcomes = other.to_vec(),
            }
        }
    }

    /// Returns the result of `outcomes` in the notation of schedules.
    fn spelled(&mut self, process: ProcessId, given: &[i64]) -> Vec<String> {
        let name = self.name(process);
        let (steps, more) = self.outcomes(process, given);
        let value = |step: &Step| {
            let values: Vec<String> = step.outcomes.iter().map(i64::to_string).collect();
            format!("{name}={}", values.join(","))
        };
        let mut all: Vec<String> = steps.iter().map(value).collect();
        if more {
            all.push("…".to_owned());
        }
        all
    }

    /// Checks that the inputs that the run has read can have their given values.
    fn check_inputs(&self) -> Result<(), StepProblem> {
        if self.options.inputs.is_empty() {
            return Ok(());
        }
        match self.record(&mut quietly()) {
            Err(RunError::Input(unfit)) => Err(StepProblem::Input(unfit)),
            // A run that was made can be repeated.
            _ => Ok(()),
        }
    }

    /// Goes back to an earlier depth.
    fn retreat(&mut self, depth: usize) {
        self.machine.back_to(depth);
        self.steps.truncate(depth);
    }

    fn number(&self, process: ProcessId) -> String {
        self.machine.processes().path(process).to_string()
    }

    fn name(&self, process: ProcessId) -> String {
        self.machine.name_of(self.machine.processes().path(process))
    }

    /// Returns the obstacle with the names of processes instead of their paths.
    fn named(&self, waiting: &Waiting) -> Waiting {
        let name = |number: &str| match number.parse() {
            Ok(path) => self.machine.name_of(&path),
            Err(_) => number.to_owned(),
        };
        Waiting {
            process: name(&waiting.process),
            held_by: waiting.held_by.as_deref().map(name),
            ..waiting.clone()
        }
    }
}
