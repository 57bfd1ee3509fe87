//! The truth about a program, in the form that the answers of commands are compared with.

use std::collections::BTreeSet;

use mazurka_core::{Kind as Violation, Kinds, Promises};
use mazurka_testkit::machine;
use mazurka_testkit::oracle::ast::{Child, Expr, Init, Item, ItemKind, Kind, Program, Stmt, Ty};
use mazurka_testkit::oracle::{Answer, FailureKind, Limits, Truth, judge, parse};

use crate::answer::State;

/// The true behaviour of a program.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The lines of all failures.
    pub failures: BTreeSet<usize>,
    /// The lines of the failures that are a broken `ensures`.
    pub ensures: BTreeSet<usize>,
    /// Whether a run deadlocks.
    pub deadlock: bool,
    /// The number of deadlocked states.
    pub deadlocked_states: u64,
    /// The observed variables in the final states.
    pub observed: BTreeSet<State>,
    /// Whether all final states agree; `None` if no run is final.
    pub deterministic: Option<bool>,
    /// Whether a run is discarded.
    pub discarded: bool,
    /// Whether all values of inputs were tried. If not, the program may have more behaviour.
    pub exact: bool,
    /// Whether a fair run can follow a cycle for ever.
    pub livelock: bool,
    /// Which temporal properties hold, in the order of the text.
    pub temporal: Vec<bool>,
    /// Whether runs are very long or infinite, according to an engine, not the oracle.
    pub endless: bool,
    /// Facts that follow from the text.
    pub stated: Stated,
}

/// Facts that follow from the text of a program.
#[derive(Clone, Debug, Default)]
pub struct Stated {
    /// The shared variables that are `bool`.
    pub bools: BTreeSet<String>,
    /// Whether only some variables are observed.
    pub observes: bool,
    /// Whether it expects determinism.
    pub expects: bool,
    /// The kinds of violations that it allows.
    pub allows: Kinds,
    /// Whether it states an `ensures`.
    pub ensures: bool,
    /// Whether it states any property: an `assert`, `error`, `invariant`, `ensures` or temporal
    /// property.
    pub property: bool,
    /// Whether it has inputs.
    pub inputs: bool,
    /// Whether an initial value is unknown.
    pub starts_anywhere: bool,
    /// Whether an unknown initial value is of more than 8 bits.
    pub wide: bool,
    /// Whether `optimal` may block a run.
    pub may_block: bool,
}

/// The reason why there is nothing to compare.
#[derive(Clone, Debug)]
pub enum Unknown {
    /// The program is beyond the oracle's limits.
    TooLarge,
    /// The text is not a program.
    Refused,
    /// No initial values satisfy the requirements. With `hard`, this is hard to decide because of
    /// wide numbers, and a command may be inconclusive.
    Impossible { hard: bool },
}

impl Expected {
    /// Returns the expectation by the oracle.
    pub fn by_oracle(text: &str, limits: &Limits) -> Result<Self, Unknown> {
        let program = parse(text).map_err(|_| Unknown::Refused)?;
        match judge(text, limits) {
            Answer::Truth(truth) => Ok(Self::from(&truth, Stated::new(&program, text))),
            Answer::TooLarge => Err(Unknown::TooLarge),
            Answer::Impossible => Err(Unknown::Impossible {
                hard: Stated::new(&program, text).wide,
            }),
            Answer::Refused(_) => Err(Unknown::Refused),
        }
    }

    fn from(truth: &Truth, stated: Stated) -> Self {
        let line = |line: u32| line as usize;
        let ensures = truth.failures.iter();
        let ensures = ensures.filter(|failure| failure.kind == FailureKind::Ensures);
        let others = truth.failures.iter();
        let others = others.filter(|failure| failure.kind != FailureKind::Ensures);
        let others: BTreeSet<usize> = others.map(|failure| line(failure.line)).collect();
        let sorted = |state: &Vec<(String, i128)>| {
            let mut state = state.clone();
            state.sort();
            state
        };
        Self {
            failures: truth.failures.iter().map(|f| line(f.line)).collect(),
            ensures: ensures
                .map(|failure| line(failure.line))
                .filter(|line| !others.contains(line))
                .collect(),
            deadlock: truth.deadlock,
            deadlocked_states: truth.deadlock_states as u64,
            observed: truth.final_states.iter().map(sorted).collect(),
            deterministic: truth.deterministic,
            discarded: truth.discarded,
            exact: truth.exact,
            livelock: truth.livelock,
            temporal: truth.temporal.clone(),
            endless: false,
            stated,
        }
    }

    /// Returns the kinds of violations that the program has.
    pub fn kinds(&self) -> Kinds {
        let all = [
            (Violation::Failure, !self.failures.is_empty()),
            (Violation::Property, self.temporal.contains(&false)),
            (Violation::Deadlock, self.deadlock),
            (Violation::Livelock, self.livelock),
            (Violation::Nondeterminism, self.deterministic == Some(false)),
        ];
        let present = all.into_iter().filter(|(_, present)| *present);
        present.map(|(kind, _)| kind).collect()
    }

    /// Returns the kinds of violations that `check` counts.
    pub fn counted(&self) -> Kinds {
        let stated = &self.stated;
        let all = if stated.observes || stated.expects || !stated.property {
            Kinds::ALL
        } else {
            Kinds::FAULTS
        };
        all.without(stated.allows)
    }

    /// Whether there is a failure or a deadlock, allowed or not.
    pub fn is_faulty(&self) -> bool {
        !self.failures.is_empty() || self.deadlock
    }

    /// Whether there is a violation that the program does not allow.
    pub fn violated(&self) -> bool {
        let kinds = Kinds::of(&[Violation::Failure, Violation::Deadlock]);
        !self.kinds().and(self.counted()).and(kinds).is_empty()
    }

    /// Returns the lines of the failures that are not about final states.
    pub fn failures_of_steps(&self) -> BTreeSet<usize> {
        self.failures.difference(&self.ensures).copied().collect()
    }

    /// Whether the program has unknown values.
    pub fn open(&self) -> bool {
        self.stated.inputs || self.stated.starts_anywhere
    }

    /// Returns all shared variables in the final states, if all of them are observed and known.
    pub fn finals(&self) -> Option<&BTreeSet<State>> {
        (!self.stated.observes && !self.open()).then_some(&self.observed)
    }
}

impl Stated {
    pub fn new(program: &Program, text: &str) -> Self {
        let mut stated = Self::default();
        for item in &program.items {
            stated.item(item);
        }
        let guards = machine(text).is_ok_and(|machine| !machine.guards().is_empty());
        stated.may_block |= guards;
        stated
    }

    fn item(&mut self, item: &Item) {
        match &item.kind {
            ItemKind::Var(names, ty, len, init) => {
                self.starts_anywhere |= init.is_none();
                let (low, high) = ty.range();
                self.wide |= init.is_none() && high - low >= 256;
                if *ty == Ty::Bool && len.is_none() {
                    self.bools.extend(names.iter().cloned());
                } else if *ty == Ty::Bool {
                    for name in names {
                        self.bools.extend((0..64).map(|at| format!("{name}[{at}]")));
                    }
                }
            }
            ItemKind::Ensures(..) => (self.ensures, self.property) = (true, true),
            ItemKind::Invariant(..) | ItemKind::Temporal(..) => self.property = true,
            ItemKind::Observe(_) => self.observes = true,
            ItemKind::ExpectsDeterminism => self.expects = true,
            ItemKind::Allows(names) => {
                let named = |kind: &mazurka_core::Kind| names.contains(&kind.name().to_owned());
                let kinds = mazurka_core::Kind::ALL.into_iter().filter(named);
                self.allows = kinds.fold(self.allows, Kinds::with);
            }
            ItemKind::Proc(.., body) | ItemKind::Process(.., body) => self.all(body),
            _ => {}
        }
    }

    fn all(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            Kind::Assert(..) | Kind::Error(_) => self.property = true,
            Kind::Assign(_, values) | Kind::Call(_, values) => self.exprs(values),
            Kind::Let(.., Init::One(value)) => self.exprs(std::slice::from_ref(value)),
            Kind::Let(.., Init::List(values)) => self.exprs(values),
            Kind::Spawn(_, Child::Call(_, values)) => self.exprs(values),
            Kind::Spawn(_, Child::Block(body)) => self.all(body),
            Kind::Guard(_, body) | Kind::GuardedLoop(_, body) => self.stmt(body),
            Kind::Choice(one, _, other) => {
                self.stmt(one);
                self.stmt(other);
            }
            Kind::If(_, one, other) => {
                self.all(one);
                self.all(other);
            }
            Kind::While(.., body) | Kind::For(.., body) => self.all(body),
            Kind::Atomic(body) | Kind::Seq(body) => self.all(body),
            _ => {}
        }
    }

    fn exprs(&mut self, all: &[Expr]) {
        for expr in all {
            match expr {
                Expr::Input(_) => self.inputs = true,
                Expr::Choose(..) => self.may_block = true,
                Expr::Not(one) | Expr::Neg(one) | Expr::Index(_, one) => {
                    self.exprs(std::slice::from_ref(one));
                }
                Expr::Bin(_, one, other) => {
                    self.exprs(std::slice::from_ref(one));
                    self.exprs(std::slice::from_ref(other));
                }
                Expr::If(one, two, three) => {
                    for part in [one, two, three] {
                        self.exprs(std::slice::from_ref(part));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Returns the text of a value in a property for `reach`.
pub fn literal(name: &str, value: i128, stated: &Stated) -> String {
    if stated.bools.contains(name) {
        (value != 0).to_string()
    } else {
        value.to_string()
    }
}
