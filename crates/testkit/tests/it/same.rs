//! `compare`, on random pairs of programs: the second is the first with a change. The answers must
//! agree with an enumeration of all runs by a separate interpreter.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::common::programs;
use mazurka::compare::{Compare, Relation};
use mazurka::run::Plan;
use mazurka::{Options, Program, Verdict, quietly};
use mazurka_core::record::Ending;
use mazurka_testkit::Rng;

/// The number of values that `n` may have if it is unknown.
const VALUES: i64 = 3;

/// A statement over the shared variables `x`, `y` and `n`; each is a step.
#[derive(Clone, Debug)]
enum Statement {
    /// `v := a + b`, where the operands are variables or numbers.
    Assign(usize, Operand, Operand),
    /// `v == a |> w := b`
    Guarded(usize, Operand, usize, Operand),
    Lock,
    Unlock,
    /// `assert v != a`
    Assert(usize, Operand),
    /// `if v == a { w := b }`: the test is a step, too.
    If(usize, Operand, usize, Operand),
}

#[derive(Clone, Copy, Debug)]
enum Operand {
    Number(i64),
    Variable(usize),
}

const NAMES: [&str; 3] = ["x", "y", "n"];

type Processes = Vec<Vec<Statement>>;

fn operand(rng: &mut Rng) -> Operand {
    if rng.percent(50) {
        Operand::Number(rng.below(3) as i64)
    } else {
        Operand::Variable(rng.below(3))
    }
}

fn statement(rng: &mut Rng) -> Statement {
    use Statement::{Assert, Assign, Guarded, If};
    let (v, w) = (rng.below(3), rng.below(2));
    match rng.weighted(&[6, 2, 1, 3]) {
        0 => Assign(w, operand(rng), operand(rng)),
        1 => Guarded(v, operand(rng), w, operand(rng)),
        2 => Assert(v, operand(rng)),
        _ => If(v, operand(rng), w, operand(rng)),
    }
}

/// Returns a few statements, some of them under the lock.
fn body(rng: &mut Rng) -> Vec<Statement> {
    let mut body: Vec<Statement> = (0..1 + rng.below(3)).map(|_| statement(rng)).collect();
    if rng.percent(40) {
        body.insert(rng.below(body.len() + 1), Statement::Lock);
        body.push(Statement::Unlock);
    }
    body
}

/// Returns the processes with a change that may or may not change the results.
fn changed(rng: &mut Rng, processes: &Processes) -> Processes {
    let mut all = processes.clone();
    let at = rng.below(all.len());
    let body = &mut all[at];
    match rng.below(5) {
        0 => drop(body.remove(rng.below(body.len()))),
        1 => body.insert(rng.below(body.len() + 1), statement(rng)),
        2 => {
            let at = rng.below(body.len());
            body[at] = statement(rng);
        }
        3 => {
            let (a, b) = (rng.below(body.len()), rng.below(body.len()));
            body.swap(a, b);
        }
        _ => all.reverse(),
    }
    all
}

fn text(processes: &Processes, known: Option<i64>) -> String {
    let shown = |operand: &Operand| match *operand {
        Operand::Number(number) => number.to_string(),
        Operand::Variable(v) => NAMES[v].to_owned(),
    };
    let mut text = "var x, y: int = 0\n".to_owned();
    match known {
        Some(n) => text += &format!("var n: int = {n}\n"),
        None => text += &format!("var n: int\nrequires 0 <= n && n < {VALUES}\n"),
    }
    text += "lock m\n";
    for body in processes {
        text += "process {\n";
        for statement in body {
            let line = match statement {
                Statement::Assign(v, a, b) => {
                    format!("{} := {} + {}", NAMES[*v], shown(a), shown(b))
                }
                Statement::Guarded(v, a, w, b) => {
                    let (v, w) = (NAMES[*v], NAMES[*w]);
                    format!("{v} == {} |> {w} := {}", shown(a), shown(b))
                }
                Statement::Lock => "lock(m)".to_owned(),
                Statement::Unlock => "unlock(m)".to_owned(),
                Statement::Assert(v, a) => format!("assert {} != {}", NAMES[*v], shown(a)),
                Statement::If(v, a, w, b) => {
                    let (v, w) = (NAMES[*v], NAMES[*w]);
                    format!("if {v} == {} {{ {w} := {} }}", shown(a), shown(b))
                }
            };
            let _ = writeln!(text, "  {line};");
        }
        text += "  skip\n}\n";
    }
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ProcessState {
    /// At the statement with this index; for an `if`, also whether its test has already succeeded.
    At(usize, bool),
    Failed,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    values: [i64; 3],
    holder: Option<usize>,
    processes: Vec<ProcessState>,
}

/// How a run ended, and the values of `x`, `y` and `n`.
type Outcome = (&'static str, [i64; 3]);

impl State {
    fn value(&self, operand: Operand) -> i64 {
        match operand {
            Operand::Number(number) => number,
            Operand::Variable(v) => self.values[v],
        }
    }

    /// Returns the state after a step of a process; `None` if the process has to wait.
    fn step(&self, process: usize, statement: &Statement, entered: bool) -> Option<State> {
        let mut next = self.clone();
        let ProcessState::At(at, _) = self.processes[process] else {
            return None;
        };
        next.processes[process] = ProcessState::At(at + 1, false);
        match *statement {
            Statement::Assign(v, a, b) => next.values[v] = self.value(a) + self.value(b),
            Statement::Guarded(v, a, w, b) => {
                if self.values[v] != self.value(a) {
                    return None;
                }
                next.values[w] = self.value(b);
            }
            Statement::Lock => match self.holder {
                None => next.holder = Some(process),
                Some(_) => return None,
            },
            Statement::Unlock if self.holder == Some(process) => next.holder = None,
            Statement::Unlock => next.processes[process] = ProcessState::Failed,
            Statement::Assert(v, a) if self.values[v] == self.value(a) => {
                next.processes[process] = ProcessState::Failed;
            }
            Statement::Assert(..) => {}
            Statement::If(_, _, w, b) if entered => next.values[w] = self.value(b),
            Statement::If(v, a, ..) if self.values[v] == self.value(a) => {
                next.processes[process] = ProcessState::At(at, true);
            }
            Statement::If(..) => {}
        }
        Some(next)
    }
}

fn outcomes(processes: &Processes, n: i64) -> BTreeSet<Outcome> {
    let start = State {
        values: [0, 0, n],
        holder: None,
        processes: vec![ProcessState::At(0, false); processes.len()],
    };
    let mut known = BTreeSet::from([start.clone()]);
    let mut open = vec![start];
    let mut all = BTreeSet::new();
    while let Some(state) = open.pop() {
        let mut ready = false;
        let (mut waits, mut failed) = (false, false);
        for (process, body) in processes.iter().enumerate() {
            let ProcessState::At(at, entered) = state.processes[process] else {
                failed = true;
                continue;
            };
            let Some(statement) = body.get(at) else {
                continue;
            };
            match state.step(process, statement, entered) {
                None => waits = true,
                Some(next) => {
                    ready = true;
                    if known.insert(next.clone()) {
                        open.push(next);
                    }
                }
            }
        }
        if !ready {
            let end = match (failed, waits) {
                (true, _) => "failure",
                (false, true) => "deadlock",
                (false, false) => "final",
            };
            all.insert((end, state.values));
        }
    }
    all
}

/// Compares a pair, and checks the run that shows a difference. `is_alone` says whether only the
/// program with this index has an outcome.
fn judge(
    texts: [&str; 2],
    relation: Relation,
    holds: bool,
    is_alone: &dyn Fn(usize, Outcome) -> bool,
) {
    let load = |text: &str| Program::load("pair.maz", text, &[]).expect("a program");
    let both = texts.map(load);
    let how = Compare {
        relation,
        observe: Vec::new(),
    };
    let comparison = both[0].compare(&both[1], &how, &Options::default(), &mut quietly());
    let comparison = comparison.expect("both are searched");
    let wanted = if holds {
        Verdict::Verified
    } else {
        Verdict::Violated
    };
    let shown = format!("{relation:?}\n{}\n{}", texts[0], texts[1]);
    assert_eq!(comparison.record.verdict, wanted, "{shown}");
    assert_eq!(comparison.difference.is_none(), holds, "{shown}");
    let Some(difference) = comparison.difference else {
        return;
    };
    let run = &difference.run;
    let end = match run.ending {
        Ending::Final => "final",
        Ending::Failure => "failure",
        Ending::Deadlock => "deadlock",
        other => panic!("{other:?}\n{shown}"),
    };
    let value = |name: &str| {
        let found = run.state.iter().find(|binding| binding.name == name);
        found
            .and_then(|found| found.value.parse().ok())
            .expect("a value")
    };
    let outcome = (end, [value("x"), value("y"), value("n")]);
    assert!(is_alone(difference.of, outcome), "{outcome:?} {shown}");
    // The schedule leads to the same final values.
    let options = Options {
        inputs: vec![("n".to_owned(), value("n").into())],
        ..Options::default()
    };
    let plan = Plan::Schedule(run.schedule.parse().expect("a schedule"));
    let again = both[difference.of].run(&plan, &options, &mut quietly());
    assert_eq!(again.expect("it runs").run.state, run.state, "{shown}");
}

fn agree(first: u64, count: u64) {
    let (mut same, mut different) = (0, 0);
    for seed in first..first + count {
        let mut rng = Rng::new(seed);
        let one: Processes = (0..2 + rng.below(2)).map(|_| body(&mut rng)).collect();
        let two = changed(&mut rng, &one);
        let all = |n: i64| [outcomes(&one, n), outcomes(&two, n)];
        let by_value: Vec<[BTreeSet<Outcome>; 2]> = (0..VALUES).map(all).collect();
        let unknown = seed % 2 == 1;
        let compared: &[[BTreeSet<Outcome>; 2]] = if unknown { &by_value } else { &by_value[1..2] };
        let known = (!unknown).then_some(1);
        let texts = [text(&one, known), text(&two, known)];
        let alone = |program: usize, outcome: Outcome| {
            let mut values = compared.iter();
            let n = outcome.1[2];
            values.any(|both| {
                both[program].contains(&outcome) && !both[1 - program].contains(&outcome)
            }) && (0..VALUES).contains(&n)
        };
        let equal = compared.iter().all(|[a, b]| a == b);
        let within = compared.iter().all(|[a, b]| b.is_subset(a));
        for (relation, holds) in [(Relation::Same, equal), (Relation::Within, within)] {
            judge([&texts[0], &texts[1]], relation, holds, &alone);
            if holds { same += 1 } else { different += 1 }
        }
    }
    println!("{same} hold, {different} do not");
    assert!(count < 100 || same > count / 4 && different > count / 4);
}

#[test]
fn pairs_agree_with_an_enumeration() {
    agree(1, programs(150));
}

#[test]
#[ignore = "long: see .ci/long"]
fn many_pairs_agree_with_an_enumeration() {
    agree(1_000_000, programs(20_000));
}
