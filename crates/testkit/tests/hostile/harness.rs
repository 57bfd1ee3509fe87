//! Compares every command with the oracle, on one program.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;
use std::time::Instant;

use mazurka::reach::Method;
use mazurka::symbolic::Reduction;
use mazurka::unfold::NetKind;
use mazurka::{Algorithm, Verdict};
use mazurka_core::Counts;
use mazurka_testkit::variants;

use crate::answer::{CommandAnswer, Outcome};
use crate::commands::{Command, Loaded, Size, attempt, installed_solver};
use crate::expected::Expected;
use crate::judge::disagreement;
use crate::reach::questions;

/// A wrong answer of a command.
#[derive(Clone, Debug)]
pub struct Fault {
    pub command: Command,
    pub what: String,
}

/// How often a command was run, and how often it gave each kind of answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub runs: u64,
    pub refused: u64,
    pub inconclusive: u64,
    pub violated: u64,
    pub seconds: f64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            runs,
            refused,
            inconclusive,
            violated,
            seconds,
        } = self;
        let share = 100.0 * *inconclusive as f64 / (runs - refused).max(1) as f64;
        write!(
            f,
            "{runs:8} runs {refused:8} refused {inconclusive:8} inconclusive ({share:4.1} %) {violated:8} violated {seconds:8.1} s"
        )
    }
}

/// The tally of each command over a tour of programs.
pub type Tallies = BTreeMap<String, Tally>;

/// A planted defect, for the tests of the harness itself: it changes the answer of a command about
/// a text.
pub type Plant = dyn Fn(&Command, &str, &mut CommandAnswer) + Sync;

/// Which commands are tried, and how.
#[derive(Clone, Copy, Default)]
pub struct Trial<'a> {
    /// Only commands whose names have this prefix.
    pub only: Option<&'a str>,
    /// A defect that is planted in them.
    pub plant: Option<&'a Plant>,
}

impl Trial<'_> {
    fn wants(&self, command: &Command) -> bool {
        self.only
            .is_none_or(|only| command.name().starts_with(only))
    }
}

/// Returns the commands to run on a program: the cheap ones always, the others on some programs.
pub fn commands(seed: u64, open: bool) -> Vec<Command> {
    let mut all = vec![Command::Check, Command::CheckDeterministic];
    all.extend(Algorithm::ALL.iter().map(|&a| Command::Explore(a)));
    if seed % 3 == 1 {
        all.push(Command::Tests(Algorithm::Optimal));
    }
    let nets = [NetKind::Contextual, NetKind::Replicated, NetKind::Stateful];
    all.extend(nets.map(|net| Command::Unfold(net, seed % 8)));
    all.push(Command::Unfold(NetKind::Contextual, (seed + 3) % 8));
    all.push(Command::Walk(seed % 8));
    all.push(Command::Run(seed));
    if !open {
        all.push(Command::Permute(seed));
    }
    if !open && seed % 4 == 2 {
        all.push(Command::PermuteAny(seed));
    }
    if open && seed % 7 == 3 && installed_solver().is_some() {
        all.extend(installed(seed));
    }
    if seed % 4 == 1 || open {
        all.push(Command::Symbolic(Reduction::Canonical));
    }
    if seed % 2 == 1 {
        all.push(Command::Prove { reduce: true });
    }
    if seed % 5 == 2 {
        all.extend((0..6).map(|seed| Command::Unfold(NetKind::Contextual, seed)));
    }
    if seed % 10 == 3 {
        let workers = [1, 2, 7][(seed / 10 % 3) as usize];
        let parts = Algorithm::ALL.iter().filter(|a| !a.compares_states());
        all.extend(parts.map(|&a| Command::Resume(a, workers)));
        all.extend(variants().map(|v| Command::Explore(Algorithm::Context(v))));
    }
    if seed % 20 == 4 {
        all.push(Command::Prove { reduce: false });
        all.push(Command::Tests(Algorithm::Naive));
    }
    if seed % 60 == 4 {
        all.push(Command::Symbolic(Reduction::None));
    }
    all
}

/// Returns the commands to run with the installed solver. Each query goes to another process, so
/// they are few.
fn installed(seed: u64) -> impl Iterator<Item = Command> {
    let all = [
        Command::Check,
        Command::Explore(Algorithm::Optimal),
        Command::Unfold(NetKind::Contextual, seed % 8),
        Command::Symbolic(Reduction::Canonical),
        Command::Prove { reduce: true },
    ];
    all.into_iter()
        .map(|command| Command::Installed(Box::new(command)))
}

/// Whether to run the command, which has this number in the list, on a program of this size. Slow
/// commands run on only one in four of the larger programs, which take most of the time and show
/// few mistakes that small programs do not show.
fn chosen(command: &Command, size: Size, number: usize, seed: u64) -> bool {
    let slow = match command {
        Command::Explore(algorithm) => *algorithm == Algorithm::Naive,
        Command::Check | Command::CheckDeterministic | Command::Run(_) => false,
        Command::Reach(_, method, ..) => *method == Method::Smt,
        _ => true,
    };
    size.allows(command)
        && (!slow || size == Size::Small || (number as u64 + seed).is_multiple_of(4))
}

/// Returns the first mistake of a command.
pub fn fault(
    text: &str,
    seed: u64,
    truth: &Expected,
    trial: Trial<'_>,
    tallies: &mut Tallies,
) -> Option<Fault> {
    let loaded = Loaded::new(text);
    if loaded.refusal().is_some() {
        return None;
    }
    let size = timed("(size)", tallies, || loaded.size());
    let truth = &Expected {
        endless: size == Size::Endless,
        ..truth.clone()
    };
    let mut counted: Option<Counts> = None;
    let wanted = |command: &Command| trial.wants(command);
    // The counts of other commands are compared with the counts of these commands.
    let counts = |command: &Command| {
        matches!(
            command,
            Command::Explore(Algorithm::Naive | Algorithm::Sleep)
        )
    };
    let plain = commands(seed, truth.open()).into_iter();
    let plain = plain.map(|command| (command, None));
    let reached = timed("(questions)", tallies, || questions(&loaded, truth, seed));
    let reached = reached
        .into_iter()
        .map(|(command, yes)| (command, Some(yes)));
    for (number, (command, expected)) in plain.chain(reached).enumerate() {
        let needed = wanted(&command) || counts(&command);
        if !needed || !chosen(&command, size, number, seed) {
            continue;
        }
        if trace() {
            eprintln!("{seed}: {command}");
        }
        let plant = trial.plant.filter(|_| wanted(&command));
        let outcome = timed(&command.name(), tallies, || {
            attempt(&command, &loaded, plant)
        });
        let tally = tallies.entry(command.name()).or_default();
        let answer = match outcome {
            Err(_) if !wanted(&command) => continue,
            Err(what) => return Some(Fault { command, what }),
            Ok(Outcome::Refused(why)) => {
                tally.refused += 1;
                if let Some(what) = wrongly_refused(&command, &why, truth) {
                    return Some(Fault { command, what });
                }
                continue;
            }
            Ok(Outcome::Answer(answer)) => *answer,
        };
        tally.inconclusive += u64::from(answer.verdict == Verdict::Inconclusive);
        tally.violated += u64::from(answer.verdict == Verdict::Violated);
        let wrong = disagreement(&command, &answer, truth)
            .or_else(|| wrongly_answered(&answer, expected))
            .or_else(|| miscounted(&command, &answer, truth, &mut counted));
        match wrong {
            Some(what) if wanted(&command) => return Some(Fault { command, what }),
            _ => {}
        }
    }
    None
}

/// Runs a closure and adds its time to the tally of a name.
pub fn timed<T>(name: &str, tallies: &mut Tallies, body: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = body();
    let tally = tallies.entry(name.to_owned()).or_default();
    tally.runs += 1;
    tally.seconds += start.elapsed().as_secs_f64();
    result
}

/// Returns what commands get wrong about a program whose requirements no initial values satisfy.
/// All commands must refuse the program, and none may prove anything. If the requirements are hard
/// to decide, commands may be inconclusive instead.
pub fn fault_of_impossible(
    text: &str,
    hard: bool,
    trial: Trial<'_>,
    tallies: &mut Tallies,
) -> Option<Fault> {
    let loaded = Loaded::new(text);
    let commands = [
        Command::Check,
        Command::Explore(Algorithm::Optimal),
        Command::Unfold(NetKind::Contextual, 0),
        Command::Run(0),
        Command::Symbolic(Reduction::Canonical),
        Command::Prove { reduce: true },
    ];
    for command in commands.into_iter().filter(|command| trial.wants(command)) {
        let outcome = timed(&command.name(), tallies, || {
            attempt(&command, &loaded, trial.plant)
        });
        let tally = tallies.entry(command.name()).or_default();
        let answer = match outcome {
            Err(what) => return Some(Fault { command, what }),
            Ok(Outcome::Answer(answer)) => answer,
            Ok(Outcome::Refused(_)) => {
                tally.refused += 1;
                continue;
            }
        };
        let open = answer.verdict == Verdict::Inconclusive;
        tally.inconclusive += u64::from(open);
        let right = match answer.proof {
            Some(proof) => !proof.proved && !proof.refuted,
            None => hard && open,
        };
        if !right {
            let verdict = answer.verdict;
            let what =
                format!("says {verdict:?}, though no initial values satisfy the requirements");
            return Some(Fault { command, what });
        }
    }
    None
}

/// Whether to print every command before it runs (`MAZURKA_TRACE=1`), to find one that does not
/// return.
pub fn trace() -> bool {
    static TRACE: OnceLock<bool> = OnceLock::new();
    *TRACE.get_or_init(|| std::env::var_os("MAZURKA_TRACE").is_some())
}

/// Returns a refusal that is wrong. Only the commands whose documentation says so may refuse a
/// program.
fn wrongly_refused(command: &Command, why: &str, truth: &Expected) -> Option<String> {
    let may_refuse = match command {
        Command::Prove { .. } | Command::Reach(..) | Command::PermuteAny(_) => true,
        Command::Installed(command) => return wrongly_refused(command, why, truth),
        Command::Permute(_) | Command::Resume(..) | Command::Run(_) => truth.open(),
        _ => false,
    };
    (!may_refuse).then(|| format!("refused: {why}"))
}

/// Returns a wrong answer of `reach`, which must find a state if and only if it is reachable.
fn wrongly_answered(answer: &CommandAnswer, expected: Option<bool>) -> Option<String> {
    let reachable = expected?;
    let right = match answer.verdict {
        Verdict::Violated => reachable,
        Verdict::Verified => !reachable,
        Verdict::Inconclusive => !answer.exhaustive(),
    };
    let says = if reachable {
        "reachable"
    } else {
        "unreachable"
    };
    (!right).then(|| format!("the state is {says}"))
}

/// Returns a wrong count: engines that distinguish traces must have the same counts.
fn miscounted(
    command: &Command,
    answer: &CommandAnswer,
    truth: &Expected,
    counted: &mut Option<Counts>,
) -> Option<String> {
    let tells = match command {
        Command::Explore(a) | Command::Tests(a) | Command::Resume(a, _) => !a.compares_states(),
        Command::Permute(_) => true,
        _ => false,
    };
    if !tells || !answer.exhaustive() {
        return None;
    }
    let naive = matches!(command, Command::Explore(a) | Command::Tests(a) | Command::Resume(a, _) if *a == Algorithm::Naive);
    if truth.open() && naive {
        // `naive` counts more: it also distinguishes when a process checked another process that it
        // waits for (docs/inputs.md).
        return None;
    }
    let known = *counted.get_or_insert(answer.counts);
    let figures = |counts: &Counts| (counts.traces, counts.deadlocks, counts.final_states);
    let (one, other) = (figures(&known), figures(&answer.counts));
    if one != other {
        return Some(format!(
            "(traces, deadlocks, final states) is {other:?}, and {one:?} by another engine"
        ));
    }
    let failures = (known.failures, answer.counts.failures);
    (failures.0 != failures.1 && !truth.open()).then(|| {
        format!(
            "{} failures, and {} by another engine",
            failures.1, failures.0
        )
    })
}
