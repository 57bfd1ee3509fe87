//! Questions for `reach` whose answers are known.

use std::collections::BTreeSet;

use mazurka::reach::Method;
use mazurka::record::Ending;
use mazurka::run::RunRecord;
use mazurka::unfold::NetKind;
use mazurka::{Algorithm, quietly};
use mazurka_testkit::Rng;

use crate::answer::State;
use crate::commands::{Command, Loaded, options};
use crate::expected::{Expected, Stated, literal};

/// The maximal number of runs that are examined for a question.
const RUNS: u64 = 200;

/// Returns commands that search for a state, and whether the state is reachable.
pub fn questions(loaded: &Loaded, truth: &Expected, seed: u64) -> Vec<(Command, bool)> {
    let mut rng = Rng::new(seed);
    let mut questions = Vec::new();
    if truth.open() || truth.endless || seed % 2 == 1 {
        return questions;
    }
    let (net, method) = match rng.below(4) {
        0 => (NetKind::Replicated, Method::Search),
        1 => (NetKind::Stateful, Method::Search),
        2 => (NetKind::Contextual, Method::Smt),
        _ => (NetKind::Contextual, Method::Search),
    };
    let mut ask = |property: String, yes: bool| {
        questions.push((Command::Reach(net, method, seed % 8, property), yes));
    };
    ask("deadlock".to_owned(), truth.deadlock);
    let finals: Vec<&State> = truth.observed.iter().collect();
    if let Some(state) = rng.pick(&finals)
        && !state.is_empty()
    {
        ask(is(state, &truth.stated), true);
    }
    let Some(points) = loaded.points() else {
        return questions;
    };
    if let Some(point) = rng.pick(&points.iter().collect::<Vec<_>>()) {
        ask(at(point), true);
    }
    // A state in which no process is at any of these points is one in which all processes have
    // ended or are halted. It is final, because here nothing halts a process.
    if !truth.is_faulty() && !truth.discarded {
        let ended: Vec<String> = points
            .iter()
            .map(|point| format!("!{}", at(point)))
            .collect();
        for state in &finals {
            let Some((name, _)) = rng.pick(state) else {
                continue;
            };
            let other = rng.below(if truth.stated.bools.contains(name) {
                2
            } else {
                5
            }) as i128;
            let mut wanted = ended.clone();
            wanted.push(format!("{name} == {}", literal(name, other, &truth.stated)));
            let holds = |state: &&State| state.iter().any(|(n, v)| n == name && *v == other);
            ask(wanted.join(" && "), finals.iter().any(holds));
            break;
        }
    }
    questions
}

fn is(state: &State, stated: &Stated) -> String {
    let all = state
        .iter()
        .map(|(name, value)| format!("{name} == {}", literal(name, *value, stated)));
    all.collect::<Vec<_>>().join(" && ")
}

fn at((process, line): &(String, usize)) -> String {
    format!("at({process}, {line})")
}

impl Loaded {
    /// Returns all points in the text (process and line) at which a step of a process begins;
    /// `None` if there are too many runs.
    fn points(&self) -> Option<BTreeSet<(String, usize)>> {
        let program = self.concrete()?;
        let mut points = BTreeSet::new();
        let (mut complete, mut runs) = (true, 0);
        let sink = &mut |number: u64, test: &RunRecord| {
            runs = number;
            complete &= test.run.ending != Ending::Open;
            let steps = test.run.steps.iter();
            points.extend(steps.map(|step| (step.process.clone(), step.line)));
        };
        let mut options = options();
        options.limits.executions = Some(RUNS + 1);
        let explored = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            program
                .explore_tests(Algorithm::Source, &options, &mut quietly(), sink)
                .expect("a record")
        }));
        complete &= explored.ok()?.0.scope.exhaustive;
        (complete && runs <= RUNS).then_some(points)
    }
}
