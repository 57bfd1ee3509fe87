//! Every command of Mazurka as a function from a program to its answer. The commands run in this
//! process, through the library of the binary, because a hundred thousand programs times forty
//! commands would be four million processes. A panic corresponds to an internal error of the binary
//! (exit code 4).

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Once, OnceLock};
use std::time::Duration;

use mazurka::checkpoint::Checkpoint;
use mazurka::permute::Permuting;
use mazurka::prove::proof::GoalStatus;
use mazurka::prove::{ProofProblem, ProveOptions};
use mazurka::reach::{Method, Reach, Reachability, StateProperty};
use mazurka::record::{Ending, Record};
use mazurka::replay::Recording;
use mazurka::run::{Plan, RunRecord};
use mazurka::solving::{SolverChoice, second_solver};
use mazurka::symbolic::{Reduction, SymbolicOptions};
use mazurka::unfold::{NetKind, Unfold, WalkStates};
use mazurka::{Algorithm, Bound, Limits, Options, Program, Refused, Verdict, quietly};
use mazurka_core::{Counts, Kinds};

use crate::answer::{CommandAnswer, Outcome, Proof, State, named, state_of};
use crate::any_start;
use crate::harness::Plant;

/// A command with its flags. Its `Display` is the command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    Check,
    /// `check --property deterministic`
    CheckDeterministic,
    Explore(Algorithm),
    /// `explore --tests`: all executions, and so all final states.
    Tests(Algorithm),
    /// `explore --checkpoint`, then `--resume` until it is done, with this many workers.
    Resume(Algorithm, usize),
    Unfold(NetKind, u64),
    /// `unfold --net stateful --naive`
    Walk(u64),
    Reach(NetKind, Method, u64, String),
    Permute(u64),
    /// `permute --symbolic-initial`
    PermuteAny(u64),
    Symbolic(Reduction),
    Prove {
        reduce: bool,
    },
    Run(u64),
    /// A command with the installed solver; all others use the embedded one.
    Installed(Box<Command>),
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Check => write!(f, "check FILE --jobs 1"),
            Command::CheckDeterministic => write!(f, "check FILE --property deterministic"),
            Command::Explore(a) => write!(f, "explore FILE --jobs 1 --algorithm {a}"),
            Command::Tests(a) => write!(f, "explore FILE --tests DIR --algorithm {a}"),
            Command::Resume(a, jobs) => write!(
                f,
                "explore FILE --jobs {jobs} --algorithm {a} --max-executions 1 --checkpoint SAVED, then --resume SAVED"
            ),
            Command::Unfold(net, seed) => write!(f, "unfold FILE --net {net} --seed {seed}"),
            Command::Walk(seed) => {
                let sleep = if seed % 2 == 1 { " --sleep" } else { "" };
                write!(f, "unfold FILE --net stateful --naive{sleep} --seed {seed}")
            }
            Command::Reach(net, method, seed, property) => write!(
                f,
                "reach FILE --net {net} --method {} --seed {seed} --property '{property}'",
                method.name()
            ),
            Command::Permute(seed) => write!(f, "permute FILE --complete --seed {seed}"),
            Command::PermuteAny(seed) => write!(f, "permute FILE --symbolic-initial --seed {seed}"),
            Command::Symbolic(por) => write!(f, "symbolic FILE --por {por}"),
            Command::Prove { reduce: true } => write!(f, "prove FILE"),
            Command::Prove { reduce: false } => write!(f, "prove FILE --no-por"),
            Command::Run(seed) => write!(f, "run FILE --seed {seed}"),
            Command::Installed(command) => match installed_solver() {
                Some(solver) => write!(f, "{command} --solver {}", solver.name()),
                None => write!(f, "{command}"),
            },
        }
    }
}

impl Command {
    /// Returns the first word, under which refusals and times are counted.
    pub fn name(&self) -> String {
        match self {
            Command::Check | Command::CheckDeterministic => "check".to_owned(),
            Command::Explore(algorithm) => format!("explore {}", algorithm.name()),
            Command::Tests(_) => "explore --tests".to_owned(),
            Command::Resume(..) => "explore --resume".to_owned(),
            Command::Unfold(net, _) => format!("unfold {net}"),
            Command::Walk(_) => "unfold --naive".to_owned(),
            Command::Reach(net, method, ..) => format!("reach {net} {}", method.name()),
            Command::Permute(_) => "permute".to_owned(),
            Command::PermuteAny(_) => "permute --symbolic-initial".to_owned(),
            Command::Symbolic(por) => format!("symbolic {por}"),
            Command::Prove { .. } => "prove".to_owned(),
            Command::Run(_) => "run".to_owned(),
            Command::Installed(command) => format!("--solver: {}", command.name()),
        }
    }
}

/// A program as the commands load it.
pub struct Loaded {
    text: String,
    program: Result<Program, String>,
}

const FILE: &str = "program.maz";

impl Loaded {
    pub fn new(text: &str) -> Self {
        let program = Program::load(FILE, text, &[]);
        let say = |mistakes: Vec<mazurka::Diagnostic>| {
            let all = mistakes
                .iter()
                .map(|m| format!("{}: {}", m.code, m.message));
            all.collect::<Vec<_>>().join("; ")
        };
        Self {
            text: text.to_owned(),
            program: program.map_err(say),
        }
    }

    /// Returns why the loader refuses the program, if it does.
    pub fn refusal(&self) -> Option<&str> {
        self.program.as_ref().err().map(String::as_str)
    }

    /// Returns the program if it has one set of initial values and no inputs.
    pub fn concrete(&self) -> Option<&Program> {
        self.program
            .as_ref()
            .ok()
            .filter(|program| program.unknowns().is_empty())
    }

    /// Whether the program has unknown values.
    pub fn is_open(&self) -> bool {
        let program = self.program.as_ref();
        program.is_ok_and(|program| !program.unknowns().is_empty())
    }
}

/// Returns the installed solver, if there is one. Searches for it only once.
pub fn installed_solver() -> Option<mazurka_smt::Program> {
    static FOUND: OnceLock<Option<mazurka_smt::Program>> = OnceLock::new();
    *FOUND.get_or_init(second_solver)
}

/// The size of the state space, estimated by a short search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Few executions.
    Small,
    /// More executions: slow commands run on only some of these programs.
    Medium,
    /// Too many executions for engines that explore all interleavings.
    Large,
    /// Very long or infinite runs.
    Endless,
}

impl Size {
    /// Whether a command is likely to finish.
    pub fn allows(self, command: &Command) -> bool {
        if let Command::Installed(command) = command {
            return self.allows(command);
        }
        let sees_cycles = [Command::Check, Command::Explore(Algorithm::Stateful)];
        let every_interleaving = matches!(
            command,
            Command::Explore(Algorithm::Naive)
                | Command::Tests(Algorithm::Naive)
                | Command::Resume(..)
                | Command::Permute(_)
                | Command::PermuteAny(_)
                | Command::Symbolic(_)
                | Command::Prove { .. }
        );
        match self {
            Size::Small | Size::Medium => true,
            Size::Large => !every_interleaving,
            Size::Endless => sees_cycles.contains(command),
        }
    }
}

impl Loaded {
    /// Estimates the size of the state space.
    pub fn size(&self) -> Size {
        const SOME: u64 = 40;
        const MANY: u64 = 400;
        let options = &Options {
            limits: Limits {
                depth: Some(200),
                executions: Some(2 * MANY),
                steps: Some(50_000),
                time: Some(Duration::from_secs(1)),
                ..Limits::default()
            },
            ..options()
        };
        let explored = catch_unwind(AssertUnwindSafe(|| {
            let source = Algorithm::Source;
            let program = self.program.as_ref().ok()?;
            program.explore(source, options, &mut quietly()).ok()
        }));
        let Ok(Some(record)) = explored else {
            return Size::Small;
        };
        let bounds = &record.scope.bounds;
        let runs = record.counts.executions + record.counts.blocked + record.counts.discarded;
        match () {
            () if bounds.iter().any(|b| matches!(b, Bound::MaxDepth(_))) => Size::Endless,
            () if !bounds.is_empty() || runs > MANY => Size::Large,
            () if runs > SOME => Size::Medium,
            () => Size::Small,
        }
    }
}

/// Returns the limits of all commands. No small program should reach them.
fn limits() -> Limits {
    Limits {
        steps: Some(100_000),
        local: 20_000,
        time: Some(Duration::from_secs(2)),
        ..Limits::default()
    }
}

/// Options with the embedded solver, so that another solver does not hide its mistakes.
pub(crate) fn options() -> Options {
    options_with(SolverChoice::Embedded)
}

fn options_with(solver: SolverChoice) -> Options {
    Options {
        limits: limits(),
        jobs: 1,
        solver: solver.into(),
        ..Options::default()
    }
}

thread_local! {
    static LAST: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Runs a command, which may have a planted defect. The error is the message of a panic.
pub fn attempt(
    command: &Command,
    loaded: &Loaded,
    plant: Option<&Plant>,
) -> Result<Outcome, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            LAST.with(|last| *last.borrow_mut() = info.to_string().replace('\n', " "));
            if std::thread::current().name() != Some(QUIET) {
                before(info);
            }
        }));
    });
    let run = || match plant {
        None => run(command, loaded),
        Some(plant) => planted(command, loaded, plant),
    };
    catch_unwind(AssertUnwindSafe(run))
        .map_err(|_| LAST.with(|last| format!("internal error: {}", last.borrow())))
}

/// Returns the answer of a command after a planted defect has changed it. The defect may also turn
/// a refusal into a proof.
fn planted(command: &Command, loaded: &Loaded, plant: &Plant) -> Outcome {
    let mut outcome = run(command, loaded);
    let mut refused = Box::new(CommandAnswer::nothing());
    let answer = match &mut outcome {
        Outcome::Answer(answer) => answer,
        Outcome::Refused(_) => &mut refused,
    };
    plant(command, &loaded.text, answer);
    match refused.proof {
        Some(_) => Outcome::Answer(refused),
        None => outcome,
    }
}

/// The name of threads whose panics are not printed.
pub const QUIET: &str = "hostile";

/// Runs a closure in a thread whose panics are caught and not printed.
pub fn quiet<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name(QUIET.to_owned())
            .stack_size(64 << 20);
        let started = thread.spawn_scoped(scope, body).expect("a thread");
        started
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn run(command: &Command, loaded: &Loaded) -> Outcome {
    match (command, installed_solver()) {
        (Command::Installed(command), Some(solver)) => {
            run_by(SolverChoice::External(solver), command, loaded)
        }
        _ => run_by(SolverChoice::Embedded, command, loaded),
    }
}

fn run_by(solver: SolverChoice, command: &Command, loaded: &Loaded) -> Outcome {
    let options = &options_with(solver);
    match command {
        Command::Symbolic(por) => return symbolic(loaded, *por, options),
        Command::Prove { reduce } => return prove(loaded, *reduce, options),
        Command::Permute(seed) => return permute(loaded, *seed, false, options),
        Command::PermuteAny(seed) => return permute(loaded, *seed, true, options),
        _ => {}
    }
    let ran = match &loaded.program {
        Ok(program) => run_on(command, loaded, program, options),
        Err(why) => Ok(Outcome::Refused(why.clone())),
    };
    ran.unwrap_or_else(|refused| Outcome::Refused(refused.to_string()))
}

fn run_on(
    command: &Command,
    loaded: &Loaded,
    program: &Program,
    options: &Options,
) -> Result<Outcome, Refused> {
    let watch = &mut quietly();
    let answer = |record: &Record| {
        let mut answer = CommandAnswer::from_record(record);
        answer.wrong = replay(program, record);
        answer.boxed()
    };
    Ok(match command {
        Command::Check => answer(&program.check(options, watch)?),
        Command::CheckDeterministic => {
            let options = &Options {
                counted: Some(Kinds::ALL),
                ..options.clone()
            };
            answer(&program.check(options, watch)?)
        }
        Command::Explore(algorithm) => answer(&program.explore(*algorithm, options, watch)?),
        Command::Tests(algorithm) => tests(program, *algorithm, options)?,
        Command::Resume(algorithm, jobs) => resume(program, *algorithm, *jobs, options),
        Command::Unfold(kind, seed) => {
            let (kind, seed) = (*kind, *seed);
            answer(
                &program
                    .unfold(Unfold { kind, seed }, options, watch)?
                    .record,
            )
        }
        Command::Walk(seed) => {
            // Odd seeds walk with sleep sets.
            let walk = WalkStates {
                seed: *seed,
                sleep: seed % 2 == 1,
            };
            answer(&program.walk_states(walk, options, watch)?.record)
        }
        Command::Reach(kind, method, seed, property) => {
            let (kind, method, seed) = (*kind, *method, *seed);
            let net = Unfold { kind, seed };
            let wanted = match StateProperty::read(&loaded.text, &[], property) {
                Ok(wanted) => wanted,
                Err(bad) => return Ok(Outcome::Refused(bad.to_string())),
            };
            let found = program.reach(&wanted, Reach { net, method }, options, watch)?;
            let mut answer = CommandAnswer::from_record(&found.record);
            let shown = found.run.is_some() == (found.answer == Reachability::Reachable);
            answer.wrong = (!shown).then(|| "an answer without a run".to_owned());
            answer.boxed()
        }
        Command::Run(seed) => one_run(program, *seed, options),
        Command::Symbolic(_)
        | Command::Prove { .. }
        | Command::Permute(_)
        | Command::PermuteAny(_)
        | Command::Installed(_) => unreachable!("these are handled before"),
    })
}

/// Returns what is wrong with the witnesses of a record: each must replay from its text.
fn replay(program: &Program, record: &Record) -> Option<String> {
    if record.witnesses.is_empty() {
        return None;
    }
    let text = serde_json::to_string(record).expect("a record is JSON");
    let recording = match Recording::parse(&text) {
        Ok(recording) => recording,
        Err(error) => return Some(format!("the record cannot be read: {error}")),
    };
    match program.replay(&recording, &options()) {
        Err(problem) => Some(format!("a witness does not replay: {problem}")),
        Ok(again) => {
            let kinds =
                |record: &Record| record.witnesses.iter().map(|w| w.kind).collect::<Vec<_>>();
            (kinds(&again) != kinds(record)).then(|| "a witness replays as something else".into())
        }
    }
}

/// Runs `explore --tests`: turns each execution into a test, and collects the final states of these
/// tests.
fn tests(program: &Program, algorithm: Algorithm, options: &Options) -> Result<Outcome, Refused> {
    let mut finals: BTreeSet<State> = BTreeSet::new();
    let mut wrong = None;
    let unknown = !program.unknowns().is_empty();
    let sink = &mut |_: u64, test: &RunRecord| {
        if test.run.ending == Ending::Final {
            finals.insert(state_of(&test.run));
        }
        if wrong.is_none() && unknown {
            wrong = replay_run(program, test);
        }
    };
    let (record, _) = program.explore_tests(algorithm, options, &mut quietly(), sink)?;
    let mut answer = CommandAnswer::from_record(&record);
    answer.wrong = wrong;
    // With unknown values, a test shows the final state for a single choice of the values.
    answer.finals = (!unknown).then_some(finals);
    Ok(answer.boxed())
}

fn replay_run(program: &Program, test: &RunRecord) -> Option<String> {
    let text = serde_json::to_string(test).expect("a record is JSON");
    let recording = Recording::parse(&text).expect("a record that was just written");
    let again = program.replay(&recording, &options());
    again
        .err()
        .map(|problem| format!("a test does not replay: {problem}"))
}

/// Explores in stages, each starting from the text of the previous checkpoint.
fn resume(program: &Program, algorithm: Algorithm, jobs: usize, options: &Options) -> Outcome {
    const MOST: u64 = 1 << 20;
    let mut most = 1;
    let mut checkpoint: Option<Checkpoint> = None;
    loop {
        let options = Options {
            jobs,
            limits: Limits {
                executions: Some(most),
                ..options.limits.clone()
            },
            ..options.clone()
        };
        let found = program.explore_from(checkpoint.as_ref(), algorithm, &options, &mut quietly());
        let (record, left) = match found {
            Ok(found) => found,
            Err(refused) => return Outcome::Refused(refused.to_string()),
        };
        // A stage whose limit is `MOST` is the last one, even if it does not finish the search.
        let Some(left) = left.filter(|_| most < MOST) else {
            let mut answer = CommandAnswer::from_record(&record);
            answer.wrong = replay(program, &record);
            return answer.boxed();
        };
        let text = left.text().expect("a checkpoint is JSON");
        checkpoint = Some(Checkpoint::parse(&text).expect("a checkpoint that was just written"));
        most *= 4;
    }
}

fn one_run(program: &Program, seed: u64, options: &Options) -> Outcome {
    let found = match program.run(&Plan::Seed(seed), options, &mut quietly()) {
        Ok(found) => found,
        Err(refused) => return Outcome::Refused(refused.to_string()),
    };
    let mut answer = CommandAnswer::from_record(&found.record);
    answer.wrong = replay_run(program, &found);
    let state = (found.run.ending == Ending::Final).then(|| state_of(&found.run));
    answer.deadlock = found.run.ending == Ending::Deadlock;
    answer.finals = Some(state.into_iter().collect());
    answer.boxed()
}

fn permute(loaded: &Loaded, seed: u64, any_start: bool, options: &Options) -> Outcome {
    let program = match &loaded.program {
        Ok(program) => program,
        Err(why) => return Outcome::Refused(why.clone()),
    };
    let wanted = Permuting {
        plan: Plan::Seed(seed),
        complete: !any_start,
        paper: false,
        any_start,
        listed: usize::MAX,
    };
    match program.permute(&wanted, options, &mut quietly()) {
        Err(refused) => Outcome::Refused(refused.to_string()),
        Ok(found) => {
            let mut answer = CommandAnswer::from_record(&found.record);
            answer.wrong = replay(program, &found.record);
            let results = found.permutations.results.iter();
            let finals = results.filter(|result| result.ending == Ending::Final);
            let finals = finals.map(|result| named(&result.state)).collect();
            if let Some(any) = &found.permutations.any_start {
                let wrong = || any_start::wrong(&loaded.text, any, &finals);
                answer.wrong = answer.wrong.or_else(wrong);
            }
            answer.finals = Some(finals);
            answer.boxed()
        }
    }
}

fn symbolic(loaded: &Loaded, por: Reduction, options: &Options) -> Outcome {
    let program = match &loaded.program {
        Ok(program) => program,
        Err(why) => return Outcome::Refused(why.clone()),
    };
    let wanted = SymbolicOptions {
        por,
        listed: usize::MAX,
        ..SymbolicOptions::default()
    };
    match program.symbolic(&wanted, options, &mut quietly()) {
        Err(nothing) => Outcome::Refused(nothing.to_string()),
        Ok(found) => {
            let mut answer = CommandAnswer::from_record(&found.record);
            // If the program has no unknowns, the terms are numbers.
            let listed = found.states.listed.iter();
            let finals = listed.filter(|state| state.ending == Ending::Final);
            let finals = finals.map(|state| named(&state.substitution)).collect();
            answer.finals = (!loaded.is_open()).then_some(finals);
            answer.boxed()
        }
    }
}

fn prove(loaded: &Loaded, reduce: bool, options: &Options) -> Outcome {
    let program = match &loaded.program {
        Ok(program) => program,
        Err(why) => return Outcome::Refused(why.clone()),
    };
    let wanted = ProveOptions {
        reduce,
        unfold: 4,
        solver: options.solver.clone(),
        limits: Limits {
            steps: Some(3_000),
            time: Some(Duration::from_secs(2)),
            ..Limits::default()
        },
        ..ProveOptions::default()
    };
    match program.prove(&[], &wanted, &mut quietly()) {
        Err(refused) => Outcome::Refused(refused.to_string()),
        Ok((found, file)) => {
            let mut answer = CommandAnswer::from_record(&found.record);
            let verdict = found.record.verdict;
            let goals = found.goals.iter();
            answer.proof = Some(Proof {
                proved: verdict == Verdict::Verified,
                refuted: verdict == Verdict::Violated,
                deadlock_free: goals.map(|goal| goal.deadlock_free).next().flatten(),
            });
            if found.goals.iter().all(|goal| goal.status == GoalStatus::Proved)
                && let Err(problem) = program.check_proof(&file, options, &mut quietly())
                // On a busy machine the check may run out of time.
                && !matches!(problem, ProofProblem::BrokenOff { .. })
            {
                answer.wrong = Some(format!("the proof is rejected: {problem}"));
            }
            answer.counts = Counts::default();
            answer.deadlock = false;
            answer.boxed()
        }
    }
}
