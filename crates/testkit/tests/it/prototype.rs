//! The steps of the SymPaths paper's table (Example 3), by a model of the paper's prototype.
//!
//! The prototype is written in Maude, where a configuration is a multiset whose elements are sorted
//! by the term order, and the rule SCHEDULE is applied to the least state that it matches. Terms
//! are ordered by their top symbol, and then by their arguments. Symbols are ordered by their
//! number of arguments, and then by the place of their declaration. Arguments of an associative
//! operator are ordered by their number first. So the state with the least substitution comes next,
//! and among states with equal substitutions the state with the least path. The empty path (a
//! constant) comes before a path of several events (an operator of two arguments), and this before
//! a path of one event (an operator of four). A state that was expanded is forgotten: if it is
//! reached again, it is expanded again. This order gives exactly the printed 596 and 1562 steps and
//! the peak of 110 states, and, with pruning of paths that were expanded before, the 271 and 821
//! steps. Mazurka proceeds level by level and needs fewer steps (docs/papers/sympaths.md). This
//! model shares no code with Mazurka.

use std::collections::BTreeSet;

/// The variables of Fig. 8, in the order of their names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Var {
    I,
    J,
    P,
    X,
    Y,
    M,
    N,
}

use Var::{I, J, M, N, P, X, Y};

/// Terms; the variants are in the order of their symbols.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Term {
    Initial(Var),
    Number(i8),
    True,
    Not(Box<Term>),
    /// A sum, a product, a conjunction: the number of operands, and the sorted operands.
    Sum(usize, Vec<Term>),
    Product(usize, Vec<Term>),
    And(usize, Vec<Term>),
    Equal(Box<[Term; 2]>),
}

/// Joins two terms under an associative operator.
fn join(a: Term, b: Term, parts: impl Fn(Term) -> Vec<Term>) -> (usize, Vec<Term>) {
    let mut all = parts(a);
    all.extend(parts(b));
    all.sort();
    (all.len(), all)
}

fn sum(a: Term, b: Term) -> Term {
    let (len, all) = join(a, b, |term| match term {
        Term::Sum(_, parts) => parts,
        other => vec![other],
    });
    Term::Sum(len, all)
}

fn product(a: Term, b: Term) -> Term {
    let (len, all) = join(a, b, |term| match term {
        Term::Product(_, parts) => parts,
        other => vec![other],
    });
    Term::Product(len, all)
}

/// A set of variables: their number, and the sorted variables.
type Vars = (usize, Vec<Var>);

fn vars(all: &[Var]) -> Vars {
    let mut all = all.to_vec();
    all.sort();
    (all.len(), all)
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    thread: u8,
    condition: Term,
    writes: Vars,
    reads: Vars,
}

impl Event {
    /// Whether two steps commute (Definition 4).
    fn commutes(&self, other: &Event) -> bool {
        let apart = |a: &Vars, b: &Vars| !a.1.iter().any(|var| b.1.contains(var));
        self.thread != other.thread
            && apart(&self.writes, &other.writes)
            && apart(&self.writes, &other.reads)
            && apart(&self.reads, &other.writes)
    }
}

/// A path; the variants are in the order of their symbols.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Path {
    Empty,
    Several(usize, Vec<Event>),
    Single(Event),
}

impl Path {
    /// Returns the path with one more event, in the normal form of the paper: neighbours are
    /// swapped until nothing changes.
    fn with(&self, event: Event) -> Path {
        let mut all = match self {
            Path::Empty => return Path::Single(event),
            Path::Single(first) => vec![first.clone()],
            Path::Several(_, events) => events.clone(),
        };
        all.push(event);
        let moves = |two: &[Event]| two[1].thread < two[0].thread && two[0].commutes(&two[1]);
        while let Some(at) = all.windows(2).position(moves) {
            all.swap(at, at + 1);
        }
        Path::Several(all.len(), all)
    }
}

/// A statement of Fig. 8.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stmt {
    /// `while (a < b)[n] { c := c * a; a := a + 1 }`
    While { a: Var, b: Var, c: Var, n: u8 },
    /// `c := c * a`
    Multiply { c: Var, a: Var },
    /// `a := a + 1`
    Increment { a: Var },
    /// `if (i == m and j == n) { p := x * y } else { p := -1 }`
    If,
    /// `p := x * y`
    Set,
    /// `p := -1`
    Clear,
}

/// ⟨σ, φ, Σ⟩: terms for all variables, the path, and the number of threads with the remaining
/// statements of each.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    values: Vec<Term>,
    path: Path,
    threads: usize,
    pool: Vec<(u8, Vec<Stmt>)>,
}

impl State {
    fn start(bounds: [u8; 2]) -> State {
        let [n, k] = bounds;
        let pool = vec![
            (
                0,
                vec![Stmt::While {
                    a: I,
                    b: M,
                    c: X,
                    n,
                }],
            ),
            (
                1,
                vec![Stmt::While {
                    a: J,
                    b: N,
                    c: Y,
                    n: k,
                }],
            ),
            (2, vec![Stmt::If]),
        ];
        State {
            values: [I, J, P, X, Y, M, N].map(Term::Initial).to_vec(),
            path: Path::Empty,
            threads: pool.len(),
            pool,
        }
    }

    fn value(&self, var: Var) -> Term {
        self.values[var as usize].clone()
    }

    /// Returns the state after a step of the thread at a place of the pool, with the event of the
    /// step. `first` replaces the thread's first statement.
    fn after(&self, at: usize, event: Option<Event>, first: &[Stmt]) -> State {
        let mut next = self.clone();
        let rest = &mut next.pool[at].1;
        rest.splice(0..1, first.iter().copied());
        if rest.is_empty() {
            next.pool.remove(at);
            next.threads -= 1;
        }
        if let Some(event) = event {
            next.path = self.path.with(event);
        }
        next
    }

    fn assigned(&self, at: usize, var: Var, value: Term, reads: &[Var]) -> Vec<State> {
        let event = Event {
            thread: self.pool[at].0,
            condition: Term::True,
            writes: vars(&[var]),
            reads: vars(reads),
        };
        let mut next = self.after(at, Some(event), &[]);
        next.values[var as usize] = value;
        vec![next]
    }

    fn tested(&self, at: usize, test: Term, reads: &[Var], sides: [&[Stmt]; 2]) -> Vec<State> {
        let conditions = [test.clone(), Term::Not(Box::new(test))];
        let both = conditions.into_iter().zip(sides);
        let side = |(condition, first): (Term, &[Stmt])| {
            let event = Event {
                thread: self.pool[at].0,
                condition,
                writes: vars(&[]),
                reads: vars(reads),
            };
            self.after(at, Some(event), first)
        };
        both.map(side).collect()
    }

    /// Returns the states after a step of the thread at a place of the pool.
    fn step(&self, at: usize) -> Vec<State> {
        let equal = |a: Var, b: Var| Term::Equal(Box::new([self.value(a), self.value(b)]));
        match self.pool[at].1[0] {
            // The bound is used up: a step without an event.
            Stmt::While { n: 0, .. } => vec![self.after(at, None, &[])],
            Stmt::While { a, b, c, n } => {
                let again = Stmt::While { a, b, c, n: n - 1 };
                let round = [Stmt::Multiply { c, a }, Stmt::Increment { a }, again];
                // The prototype turns a comparison into an equation.
                self.tested(at, equal(a, b), &[a, b], [&round, &[]])
            }
            Stmt::Multiply { c, a } => {
                let value = product(self.value(c), self.value(a));
                self.assigned(at, c, value, &[c, a])
            }
            Stmt::Increment { a } => {
                let value = sum(self.value(a), Term::Number(1));
                self.assigned(at, a, value, &[a])
            }
            Stmt::If => {
                let mut both = vec![equal(I, M), equal(J, N)];
                both.sort();
                let sides: [&[Stmt]; 2] = [&[Stmt::Set], &[Stmt::Clear]];
                self.tested(at, Term::And(2, both), &[I, J, M, N], sides)
            }
            Stmt::Set => self.assigned(at, P, product(self.value(X), self.value(Y)), &[X, Y]),
            Stmt::Clear => self.assigned(at, P, Term::Number(-1), &[]),
        }
    }
}

/// Returns the final states, the steps, and the maximal number of states of a configuration.
/// `prunes`: whether states whose path was expanded before are dropped.
fn prototype(bounds: [u8; 2], prunes: bool) -> (usize, u64, usize) {
    let mut open = BTreeSet::from([State::start(bounds)]);
    let mut ended = BTreeSet::new();
    let mut expanded = BTreeSet::new();
    let (mut steps, mut peak) = (0, 1);
    while let Some(state) = open.pop_first() {
        steps += 1;
        for next in (0..state.threads).flat_map(|at| state.step(at)) {
            if prunes && next.path != state.path {
                expanded.insert(state.path.clone());
            }
            match next.threads {
                0 => ended.insert(next),
                _ => open.insert(next),
            };
        }
        open.retain(|state| !expanded.contains(&state.path));
        ended.retain(|state: &State| !expanded.contains(&state.path));
        peak = peak.max(open.len() + ended.len());
    }
    (ended.len(), steps, peak)
}

#[test]
fn the_prototype_of_the_paper_makes_as_many_steps_as_printed() {
    assert_eq!(prototype([1, 1], false), (35, 596, 110));
    let figures = |bounds, prunes| {
        let (states, steps, _) = prototype(bounds, prunes);
        (states, steps)
    };
    assert_eq!(figures([2, 1], false), (97, 1562));
    assert_eq!(figures([1, 1], true), (35, 271));
    assert_eq!(figures([2, 1], true), (97, 821));
}
