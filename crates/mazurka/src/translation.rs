//! `reach --method smt`: translates a net and a property into a formula. An assignment of its
//! variables says which events have happened, and the solver searches for an assignment after which
//! the property holds.
//!
//! Thesis, section 6.2. There is a variable for each event, and for each variable of the property.
//! Conditions of the net (GLOSSARY.md, "Nets") need no variables. Such a condition is marked if the
//! event that makes it has happened and no event that takes it has happened.
//!
//! | thesis | here |
//! |---|---|
//! | (B1) causes, (C1) what is read was written | `needs` |
//! | (B3) at most one event takes a condition | a chain over the takers with a variable for each |
//! | (B4) marked | [`Translation::marked`] |
//! | (C2), (C3) order numbers | numbers of just enough bits, only in contextual nets |
//! | (B2) path constraints | `constraints`: the conditions of branch events, over inputs |
//! | (S1), pc | [`Translation::cells`], [`Translation::points`] |
//! | (D1) no event is enabled, (D3) atLock, (D4) | [`Translation::deadlock`] |
//! | (D2) final | a thread that has ended is left out |
//!
//! Deviation: (C3) is a constraint for each pair of a reader and a taker of a condition, and there
//! are far too many pairs. Here each condition has a number, its *turn*: readers come before the
//! turn, and takers after it (`Translation::order`).
//!
//! If the program has inputs, the values of cells are terms over the inputs, so the formula is
//! built in the symbolic machine's table of terms.
//!
//! Deviation: the net stores the markings under which a step is *not* possible, for locks, guards
//! and joins alike ([`Structure::stops`]). A process is stuck if such a marking is reached, so the
//! formula need not state that events are disabled.

use mazurka_explore::Structure;
use mazurka_lang::hir::{BinaryOp, Expr, ExprKind, Type, UnaryOp};
use mazurka_lang::{Property, SymbolicMachine};
use mazurka_smt::{Answer, BitOp, Deadline, Effort, Kind, Sort, Term, Terms, drop_aside};
use rustc_hash::FxHashMap;

use crate::Refused;
use crate::solving::Solving;

/// The error for a property with a part that cannot be translated for a solver.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the solver is not asked about {0}; leave out `--method smt`")]
pub struct NotTranslated(&'static str);

/// The answer of a solver. The outer `None` says that the solver did not decide, the inner `None`
/// that the state cannot be reached. Otherwise the list says for each event whether it has happened
/// in a run to the state.
pub(crate) type Solved = Option<Option<Vec<bool>>>;

/// A value that can be turned into a term: a number, or a value that is already a term. A number
/// does not determine the sort of its term, so the caller gives the sort.
pub(crate) trait Value: Copy {
    /// Returns the value as a term of a sort.
    fn term(self, terms: &mut Terms, sort: Sort) -> Term;
}

impl Value for i64 {
    fn term(self, terms: &mut Terms, sort: Sort) -> Term {
        terms.constant(sort, self)
    }
}

impl Value for Option<Term> {
    fn term(self, terms: &mut Terms, sort: Sort) -> Term {
        match self {
            None => terms.constant(sort, 0),
            Some(term) => match terms.value(term) {
                Some(value) => terms.constant(sort, value),
                None => term,
            },
        }
    }
}

/// Determines with the solver whether a configuration of a net has a property.
pub(crate) fn solve(
    net: &Structure<i64>,
    property: &Property,
    solving: &Solving,
) -> Result<Solved, Refused> {
    let mut terms = Terms::new();
    let translated = translate(&mut terms, net, property, &solving.deadline)?;
    let solved = match &translated {
        None => None,
        Some((constraints, events)) => {
            let effort = Effort::default().conflicts;
            let answer = solving.assemble(effort)?.check(&mut terms, constraints);
            happened(&answer, events)
        }
    };
    drop_aside((terms, translated));
    Ok(solved)
}

/// Solves the formula for some inputs. The machine is in its initial state.
pub(crate) fn solve_for_inputs(
    machine: &SymbolicMachine,
    net: &Structure<Option<Term>>,
    property: &Property,
    solving: &Solving,
) -> Result<Solved, Refused> {
    let mut events = None;
    let answer = machine.ask(|terms| {
        let translated = translate(terms, net, property, &solving.deadline)?;
        let (constraints, all) = translated.unzip();
        events = all;
        Ok::<_, NotTranslated>(constraints.unwrap_or_default())
    })?;
    Ok(events.and_then(|events| happened(&answer, &events)))
}

/// Returns the events that have happened, according to a solver.
fn happened(answer: &Answer, events: &[Term]) -> Solved {
    match answer {
        Answer::Sat(model) => {
            let happened = events.iter().map(|&event| model.get(event) == Some(1));
            Some(Some(happened.collect()))
        }
        Answer::Unsat => Some(None),
        Answer::Unknown(_) => None,
    }
}

/// The constraints of a formula, and the variables of the events.
type Formula = (Vec<Term>, Vec<Term>);

/// Returns the formula and the variables of the events, or `None` if there is no time to build it.
fn translate<V: Value>(
    terms: &mut Terms,
    net: &Structure<V>,
    property: &Property,
    deadline: &Deadline,
) -> Result<Option<Formula>, NotTranslated> {
    let mut translation = Translation {
        terms,
        constraints: Vec::new(),
        events: Vec::new(),
        net,
        property,
        cells: vec![None; net.cells.len()],
        points: Vec::new(),
        links: 0,
        marks: FxHashMap::default(),
        deadline,
        late: deadline.has_passed(),
    };
    translation.events_and_order();
    translation.state()?;
    let formula = (translation.constraints, translation.events);
    Ok((!translation.late).then_some(formula))
}

/// Number of constraints between two reads of the clock.
const BETWEEN_LOOKS: usize = 1024;

struct Translation<'a, V> {
    terms: &'a mut Terms,
    constraints: Vec<Term>,
    events: Vec<Term>,
    net: &'a Structure<V>,
    property: &'a Property,
    /// For each cell of the property, its variable, if it has been created.
    cells: Vec<Option<Term>>,
    /// For each point of the property (a process and a line), the term that says whether the
    /// process is there.
    points: Vec<Term>,
    /// Number of variables that [`at_most_one`](Translation::at_most_one) has created.
    links: usize,
    /// For each condition that was needed, the term that says whether it is marked.
    marks: FxHashMap<usize, Term>,
    deadline: &'a Deadline,
    /// Whether the deadline has passed. If so, the formula will not be used, and the loops end
    /// early.
    late: bool,
}

impl<V: Value> Translation<'_, V> {
    /// Adds constraints on which sets of events are configurations.
    fn events_and_order(&mut self) {
        let net = self.net;
        for event in 0..net.needs.len() {
            let name = format!("e{event}");
            let event = self.terms.variable(Kind::Input, &name, Sort::Bool);
            self.events.push(event);
        }
        for (event, needs) in net.needs.iter().enumerate() {
            for &need in needs {
                self.implies(self.events[event], self.events[need]);
            }
            if self.late {
                return;
            }
        }
        for takers in net.takers.iter().chain(&net.thread_takers) {
            self.at_most_one(takers);
            if self.late {
                return;
            }
        }
        if net.contextual {
            self.order();
        }
        for &(reader, taker) in &net.conflicts {
            let not = self.terms.not(self.events[taker]);
            self.implies(self.events[reader], not);
            if self.late {
                return;
            }
        }
    }

    /// Adds constraints on the state after the events.
    fn state(&mut self) -> Result<(), NotTranslated> {
        let net = self.net;
        for (event, conditions) in &net.constraints {
            for &condition in conditions {
                let holds = condition.term(self.terms, Sort::Bool);
                self.implies(self.events[*event], holds);
            }
            if self.late {
                return Ok(());
            }
        }
        for (process, line) in self.property.points() {
            let at = self.point(process, *line);
            self.points.push(at);
            // A process that has not reached its first step is at no point, so the property is not
            // evaluated then.
            let before = self.point(process, 0);
            let started = self.terms.not(before);
            self.constraints.push(started);
        }
        let holds = self.expr(self.property.expr())?;
        self.constraints.push(holds);
        if self.property.deadlock() {
            self.deadlock();
        }
        Ok(())
    }

    /// Adds the constraints that each process has ended or is at a place where its next step is not
    /// possible, and that not all have ended.
    fn deadlock(&mut self) {
        let net = self.net;
        let mut waits = Vec::new();
        for (thread, (producer, stops)) in net.stops.iter().enumerate() {
            let Some(stops) = stops else { continue };
            let here = self.marked(*producer, &net.thread_takers[thread]);
            let mut closed = Vec::new();
            for conditions in stops {
                let marked = conditions
                    .iter()
                    .map(|&(condition, producer)| self.holds(condition, producer));
                let marked: Vec<Term> = marked.collect();
                closed.push(self.terms.all(marked));
            }
            let closed = self.terms.any(closed);
            self.implies(here, closed);
            waits.push(here);
            if self.late {
                return;
            }
        }
        let waits = self.terms.any(waits);
        self.constraints.push(waits);
    }

    fn implies(&mut self, a: Term, b: Term) {
        let not = self.terms.not(a);
        let clause = self.terms.or(not, b);
        self.constraints.push(clause);
        if self.constraints.len().is_multiple_of(BETWEEN_LOOKS) {
            self.late |= self.deadline.has_passed();
        }
    }

    /// Adds the constraint that at most one of these events happens. For each event, a variable
    /// says whether this event or an earlier one in the list has happened.
    fn at_most_one(&mut self, events: &[usize]) {
        let Some((&first, rest)) = events.split_first() else {
            return;
        };
        let mut before = self.events[first];
        for (at, &event) in rest.iter().enumerate() {
            let event = self.events[event];
            let not = self.terms.not(event);
            self.implies(before, not);
            if at + 1 < rest.len() {
                let name = format!("t{}", self.links);
                self.links += 1;
                let either = self.terms.variable(Kind::Input, &name, Sort::Bool);
                self.implies(before, either);
                self.implies(event, either);
                before = either;
            }
        }
    }

    /// Gives events order numbers. A cause comes before its effects. A reader of a condition comes
    /// before the turn of the condition, and an event that takes the condition after it. So there
    /// is one constraint for each reader and each taker.
    fn order(&mut self) {
        let net = self.net;
        let bits = (usize::BITS - net.needs.len().leading_zeros()).max(1) as u8;
        let number = |terms: &mut Terms, of: char, at: usize| {
            terms.variable(Kind::Input, &format!("{of}{at}"), Sort::Unsigned(bits))
        };
        let numbers: Vec<Term> = (0..net.needs.len())
            .map(|event| number(self.terms, 'n', event))
            .collect();
        for (event, needs) in net.needs.iter().enumerate() {
            for &need in needs {
                let before = self.terms.less(numbers[need], numbers[event]);
                self.implies(self.events[event], before);
            }
            if self.late {
                return;
            }
        }
        for (condition, (readers, takers)) in net.readers.iter().zip(&net.takers).enumerate() {
            if readers.is_empty() || takers.is_empty() {
                continue;
            }
            let turn = number(self.terms, 'm', condition);
            for &reader in readers {
                let before = self.terms.less(numbers[reader], turn);
                self.implies(self.events[reader], before);
            }
            for &taker in takers {
                let after = self.terms.at_most(turn, numbers[taker]);
                self.implies(self.events[taker], after);
            }
            if self.late {
                return;
            }
        }
    }

    /// Returns the term that says whether a condition is marked. `producer` is the event that makes
    /// the condition; `None` for an initial condition.
    fn holds(&mut self, condition: usize, producer: Option<usize>) -> Term {
        if let Some(&known) = self.marks.get(&condition) {
            return known;
        }
        let marked = self.marked(producer, &self.net.takers[condition]);
        self.marks.insert(condition, marked);
        marked
    }

    /// Returns the term that says whether a condition or thread is marked, given the event that
    /// makes it and the events that take it.
    fn marked(&mut self, producer: Option<usize>, takers: &[usize]) -> Term {
        let taken = takers.iter().map(|&taker| self.events[taker]);
        let taken: Vec<Term> = taken.collect();
        let taken = self.terms.any(taken);
        let there = self.terms.not(taken);
        match producer {
            Some(producer) => self.terms.and(self.events[producer], there),
            None => there,
        }
    }

    /// Returns the term that says whether a process is at a line.
    fn point(&mut self, process: &mazurka_core::ProcessPath, line: usize) -> Term {
        let net = self.net;
        let at = net.points.iter().find(|point| point.0 == *process);
        let mut any = self.terms.bool(false);
        for &(thread, producer, at) in at.map_or(&[][..], |point| &point.1) {
            if at == Some(line) {
                let marked = self.marked(producer, &net.thread_takers[thread]);
                any = self.terms.or(any, marked);
            }
        }
        any
    }

    /// Returns the variable of a cell, with constraints on its possible values (S1).
    fn cell(&mut self, cell: u32, sort: Sort) -> Term {
        let net = self.net;
        let known = net.cells.iter().position(|known| known.0 == cell);
        let Some(at) = known else {
            return self.terms.constant(sort, 0);
        };
        if let Some(term) = self.cells[at] {
            return term;
        }
        let term = self.terms.variable(Kind::Input, &format!("x{cell}"), sort);
        self.cells[at] = Some(term);
        for &(condition, producer, value) in &net.cells[at].1 {
            let takers: &[usize] = condition.map_or(&[], |condition| &net.takers[condition]);
            let marked = self.marked(producer, takers);
            let value = value.term(self.terms, sort);
            let equal = self.terms.equal(term, value);
            self.implies(marked, equal);
        }
        term
    }

    fn expr(&mut self, expr: &Expr) -> Result<Term, NotTranslated> {
        let sort = sort(expr.ty);
        Ok(match &expr.kind {
            ExprKind::Const(value) => self.terms.constant(sort, *value),
            ExprKind::Shared(var) => match self.property.cell_or_point(*var) {
                Ok(cell) => self.cell(cell, sort),
                Err(point) => self.points[point],
            },
            ExprKind::Element(var, index) => match (&index.kind, self.property.cell_or_point(*var))
            {
                (ExprKind::Const(index), Ok(first)) if *index >= 0 => {
                    self.cell(first + *index as u32, sort)
                }
                _ => return Err(NotTranslated("an element whose index is not constant")),
            },
            ExprKind::Unary(UnaryOp::Not, inner) => {
                let inner = self.expr(inner)?;
                self.terms.not(inner)
            }
            ExprKind::Unary(UnaryOp::Neg, inner) => {
                let inner = self.expr(inner)?;
                self.terms.negate(inner)
            }
            ExprKind::Unary(UnaryOp::BitNot, inner) => {
                let inner = self.expr(inner)?;
                let ones = self.terms.constant(sort, -1);
                self.terms.bits(BitOp::Xor, inner, ones)
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                let terms = &mut *self.terms;
                match op {
                    BinaryOp::Add => terms.add(a, b),
                    BinaryOp::Sub => terms.sub(a, b),
                    BinaryOp::Mul => terms.mul(a, b),
                    BinaryOp::BitAnd => terms.bits(BitOp::And, a, b),
                    BinaryOp::BitOr => terms.bits(BitOp::Or, a, b),
                    BinaryOp::BitXor => terms.bits(BitOp::Xor, a, b),
                    BinaryOp::Shl => terms.bits(BitOp::ShiftLeft, a, b),
                    BinaryOp::Shr => terms.bits(BitOp::ShiftRight, a, b),
                    BinaryOp::Eq => terms.equal(a, b),
                    BinaryOp::Ne => terms.unequal(a, b),
                    BinaryOp::Lt => terms.less(a, b),
                    BinaryOp::Le => terms.at_most(a, b),
                    BinaryOp::Gt => terms.greater(a, b),
                    BinaryOp::Ge => terms.at_least(a, b),
                    BinaryOp::And => terms.and(a, b),
                    BinaryOp::Or => terms.or(a, b),
                    BinaryOp::Div | BinaryOp::Rem => {
                        return Err(NotTranslated("a division, which may fail"));
                    }
                }
            }
            ExprKind::If(test, then, other) => {
                let (test, then) = (self.expr(test)?, self.expr(then)?);
                let other = self.expr(other)?;
                self.terms.ite(test, then, other)
            }
            ExprKind::Local(_)
            | ExprKind::LocalElement(..)
            | ExprKind::Table(..)
            | ExprKind::Input
            | ExprKind::Choose(..) => return Err(NotTranslated("anything but shared variables")),
        })
    }
}

fn sort(ty: Type) -> Sort {
    match ty {
        Type::Bool => Sort::Bool,
        Type::Int | Type::Process | Type::Enum(_) => Sort::Int,
        Type::Signed(bits) => Sort::Signed(bits),
        Type::Unsigned(bits) => Sort::Unsigned(bits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If half of the events read a condition and the other half take it, there is a constraint for
    /// each event, not for each pair.
    #[test]
    fn the_formula_grows_with_the_net_and_not_with_pairs_of_events() {
        let source = "var x: int = 0  process { x := 1 }";
        let property = Property::read(source, &[], "x == 0").expect("a property");
        let size = |events: usize| {
            let net: Structure<i64> = Structure {
                contextual: true,
                needs: vec![Vec::new(); events],
                readers: vec![(0..events / 2).collect()],
                takers: vec![(events / 2..events).collect()],
                ..Structure::default()
            };
            let mut terms = Terms::new();
            let formula = translate(&mut terms, &net, &property, &Deadline::default());
            let (constraints, _) = formula.expect("a formula").expect("there is time");
            constraints.len()
        };
        let (small, large) = (size(100), size(1000));
        assert!(small >= 100, "{small}");
        assert!(large < 11 * small, "{small} and {large}");
    }
}
