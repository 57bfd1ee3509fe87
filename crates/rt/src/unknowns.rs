//! Inputs of the code under test: terms for unknown values, and a solver that finds the feasible
//! outcomes of its comparisons.
//!
//! Thesis ("Automated Systematic Testing Methods for Multithreaded Programs"), sections 2.2 to 2.4:
//! dynamic symbolic execution over schedules.
//!
//! | thesis | here |
//! |---|---|
//! | path constraint | `path` |
//! | the inputs of a test execution | `model`; in a reported run, `Asked::value` |
//! | a branch of the symbolic execution tree | an outcome of the step that compares |
//!
//! A comparison takes one of two *sides*: true or false. The side that it takes is an outcome of
//! the comparing step, like the value of `choose`, so explorers need no special case. There is an
//! outcome whenever the term is not constant, even if only one side is feasible: terms are the same
//! in equivalent runs, while feasibility depends on all decisions made before. A *model* gives each
//! input a value that satisfies the path so far. It shows that one side is feasible; the solver
//! decides whether the other one is. If the solver cannot decide this, the side is not explored,
//! and the summary says so. A reported run uses concrete values, so no solver is needed.

use std::cell::Cell;
use std::time::Duration;

use mazurka_core::{Mishap, MishapKind, Outcome};
use mazurka_smt::{
    Answer, Assembly, Choice, Deadline, Effort, Embedded, Evaluator, Kind, Solver, Sort, Term,
    Terms, Variable, assemble,
};

use crate::builder::Builder;
use crate::weak::{Question, Questions};
use crate::world::{Inner, Life, Pending, Place, World};

/// Number of conflicts after which the solver gives up on a query; this takes well under a second.
const CONFLICTS: u64 = 20_000;
/// Extra time for the solver to find inputs for a finding when the time limit is over.
const REPORT_TIME: Duration = Duration::from_millis(500);

/// Number of values of an input that are tried where a plain number is needed, in the order of
/// their keys (see `key` below).
pub(crate) const VALUES: i64 = 64;

/// An input that the current execution has asked for.
pub(crate) struct Asked {
    pub name: String,
    pub place: Place,
    sort: Sort,
    /// Its variable; `None` if its value is known.
    variable: Option<Term>,
    value: i64,
}

impl Asked {
    /// Returns its value; 0 if it is not known yet.
    pub fn value(&self) -> i64 {
        self.value
    }

    /// Returns its value in the syntax of the source.
    pub fn shown(&self) -> String {
        self.sort.show(self.value)
    }
}

/// A decision of a path.
#[derive(Clone, Copy)]
struct Fork {
    /// The condition that was compared, or the term whose value was needed.
    asked: Term,
    /// The constraint that the decision adds to the path.
    held: Term,
    /// The outcome; its end is 0 if the number of outcomes has not been determined.
    outcome: Outcome,
}

/// The inputs of a model, and the path of the current execution.
pub(crate) struct Unknowns {
    /// Identifies this call of `model`: terms of other calls mean nothing here.
    pub number: u32,
    pub terms: Terms,
    /// The solver; created on first use.
    solver: Option<Box<dyn Solver>>,
    /// The path constraint of this execution.
    pub path: Vec<Term>,
    /// The decisions of the last execution, up to the point where this one is known to differ.
    /// Their answers are reused.
    forks: Vec<Fork>,
    /// Values of the inputs that lead to this path, if they have been computed.
    model: Option<Evaluator>,
    /// The inputs of this execution.
    pub asked: Vec<Asked>,
    /// Number of inputs that each thread has asked for.
    counts: Vec<u32>,
    /// The values of inputs by name, if they are fixed; all others are 0.
    pub given: Option<Vec<(String, i64)>>,
    /// Whether the results of executions are compared (`assert_deterministic`).
    pub compares: bool,
    /// Whether the code has inputs, so that results are compared for equal inputs only.
    pub compared: bool,
    /// For each outcome of the current step, whether it is a decision about inputs (rather than a
    /// choice).
    pub decisions: Vec<bool>,
    /// Whether the step repeats an earlier run or only finishes an execution: no solver queries.
    pub following: bool,
    /// Limit on the decisions of one execution.
    pub most: u64,
    /// When the solver gives up: at the end of the time limit.
    pub deadline: Deadline,
    /// Why the solver could not answer a query; `None` if it has answered all queries.
    pub undecided: Option<String>,
    /// A place where more than [`VALUES`] values were possible, so that some were left out; `None`
    /// if there is none.
    pub left_out: Option<Place>,
    /// Whether an execution has reached the limit on decisions.
    pub lost: bool,
    /// The decisions of executions under a memory model.
    pub questions: Questions,
}

impl Unknowns {
    pub fn new(settings: &Builder) -> Self {
        thread_local! {
            static NUMBER: Cell<u32> = const { Cell::new(0) };
        }
        NUMBER.set(NUMBER.get().wrapping_add(1));
        Self {
            number: NUMBER.get(),
            terms: Terms::new(),
            solver: None,
            path: Vec::new(),
            forks: Vec::new(),
            model: None,
            asked: Vec::new(),
            counts: Vec::new(),
            given: None,
            compares: false,
            compared: false,
            decisions: Vec::new(),
            following: false,
            most: settings.decisions(),
            deadline: settings
                .limits()
                .time
                .map_or_else(Deadline::default, Deadline::after),
            undecided: None,
            left_out: None,
            lost: false,
            questions: Questions::default(),
        }
    }

    /// Starts a new execution.
    pub fn begin(&mut self) {
        self.path.clear();
        self.model = None;
        self.asked.clear();
        self.counts.clear();
    }

    fn check(&mut self, path: &[Term]) -> Answer {
        let solver = self.solver.get_or_insert_with(|| {
            let effort = Effort {
                conflicts: CONFLICTS,
                deadline: self.deadline.clone(),
                ..Effort::default()
            };
            let assembly = Assembly {
                choice: Choice::Embedded,
                effort: effort.clone(),
                ..Assembly::default()
            };
            match assemble(assembly) {
                Ok(solver) => solver,
                Err(_) => Box::new(Embedded::new(effort)),
            }
        });
        solver.check(&mut self.terms, path)
    }

    /// Returns values of the inputs that lead to this path and satisfy the condition, if the solver
    /// finds any.
    pub fn possible(&mut self, condition: Term) -> Option<Evaluator> {
        if let Some(truth) = self.terms.truth(condition)
            && !truth
        {
            return None;
        }
        let mut path = std::mem::take(&mut self.path);
        path.push(condition);
        let answer = self.check(&path);
        path.pop();
        self.path = path;
        match answer {
            Answer::Sat(model) => Some(Evaluator::new(model)),
            Answer::Unsat => None,
            Answer::Unknown(why) => {
                self.undecided.get_or_insert(why.to_string());
                None
            }
        }
    }

    /// Returns the value of a term in the current model; `None` without a model.
    fn example(&mut self, term: Term) -> Option<i64> {
        if self.model.is_none() {
            self.model = self.possible(Term::TRUE);
        }
        let terms = &self.terms;
        self.model
            .as_mut()
            .and_then(|model| model.eval(terms, term))
    }

    /// Adds a decision to the path. `model` satisfies it.
    fn hold(&mut self, fork: Fork, model: Option<Evaluator>) {
        let at = self.path.len();
        let before = self
            .forks
            .get_mut(at)
            .filter(|before| before.held == fork.held);
        match before {
            Some(before) => before.outcome.end = before.outcome.end.max(fork.outcome.end),
            None => {
                self.forks.truncate(at);
                self.forks.push(fork);
            }
        }
        self.path.push(fork.held);
        self.model = model;
    }

    /// Returns the outcome of the last execution at this point of the path, if it decided about the
    /// same term there.
    fn before(&self, asked: Term) -> Option<Outcome> {
        let fork = self.forks.get(self.path.len())?;
        (fork.asked == asked && fork.outcome.end != 0).then_some(fork.outcome)
    }

    /// Returns the path constraint in a canonical order.
    pub fn decided(&self) -> Vec<Term> {
        let mut path = self.path.clone();
        path.sort_unstable();
        path.dedup();
        path
    }

    /// Returns values of the inputs that satisfy both paths, if there are any.
    pub fn common(&mut self, one: &[Term], other: &[Term]) -> Option<Vec<(String, i64)>> {
        match self.check(&[one, other].concat()) {
            Answer::Sat(model) => {
                let all = self.terms.variables().iter();
                let value = |variable: &Variable| model.get(variable.term).unwrap_or(0);
                Some(all.map(|v| (v.name.clone(), value(v))).collect())
            }
            Answer::Unsat => None,
            Answer::Unknown(why) => {
                self.undecided.get_or_insert(why.to_string());
                None
            }
        }
    }

    /// Gives all inputs of the execution values that lead to its path. Returns false if the solver
    /// finds none.
    pub fn settle(&mut self) -> bool {
        // The finding must be reported even if the time of the search is over.
        self.deadline.put_off(REPORT_TIME);
        if self.example(Term::TRUE).is_none() {
            return false;
        }
        let (terms, model) = (&self.terms, self.model.as_mut());
        let Some(model) = model else {
            return false;
        };
        for asked in &mut self.asked {
            if let Some(variable) = asked.variable {
                asked.value = model.eval(terms, variable).unwrap_or(0);
            }
        }
        true
    }
}

/// The *key* of a value is its position in the order in which the values of a sort are tried: 0, 1,
/// 2, and so on for unsigned sorts; 0, -1, 1, -2, and so on for signed ones. A key that does not
/// fit into 64 bits is negative, and its value is not searched for.
mod key {
    use mazurka_smt::{Sort, Term, Terms};

    const HALF: i64 = 1 << 62;

    /// Returns the greatest key that is searched.
    pub fn last(sort: Sort) -> i64 {
        match sort {
            Sort::Bool => 1,
            Sort::Signed(bits) | Sort::Unsigned(bits) if bits < 64 => (1 << bits) - 1,
            _ => i64::MAX,
        }
    }

    pub fn from_value(sort: Sort, value: i64) -> i64 {
        match sort {
            Sort::Signed(_) if value >= HALF => value ^ i64::MIN,
            Sort::Signed(_) if value < -HALF => value,
            Sort::Signed(_) if value < 0 => -2 * (value + 1) + 1,
            Sort::Signed(_) => 2 * value,
            _ => value,
        }
    }

    pub fn value(sort: Sort, key: i64) -> i64 {
        match sort {
            Sort::Signed(_) if key < -HALF => key,
            Sort::Signed(_) if key < 0 => key ^ i64::MIN,
            Sort::Signed(_) if key % 2 == 1 => -(key / 2) - 1,
            Sort::Signed(_) => key / 2,
            _ => key,
        }
    }

    /// Returns the formula saying that the key of a term is at most `to`.
    pub fn at_most(terms: &mut Terms, term: Term, to: i64) -> Term {
        let sort = terms.sort(term);
        let to = to.min(last(sort));
        match sort {
            Sort::Bool if to == 0 => terms.not(term),
            Sort::Bool => Term::TRUE,
            Sort::Signed(_) => {
                let greatest = terms.constant(sort, to / 2);
                let least = terms.constant(sort, -(to / 2) - to % 2);
                let below = terms.at_most(term, greatest);
                let above = terms.at_most(least, term);
                terms.and(below, above)
            }
            _ => {
                let greatest = terms.constant(sort, to);
                terms.at_most(term, greatest)
            }
        }
    }

    /// Returns the formula saying that the key of a term lies between two keys, inclusive.
    pub fn between(terms: &mut Terms, term: Term, from: i64, to: i64) -> Term {
        let up_to = at_most(terms, term, to);
        match from {
            ..=0 => up_to,
            _ => {
                let before = at_most(terms, term, from - 1);
                let after = terms.not(before);
                terms.and(after, up_to)
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn keys_are_numbers_of_values() {
            let sorts = [Sort::Signed(8), Sort::Signed(64), Sort::Unsigned(64)];
            for sort in sorts {
                for value in -100..100 {
                    assert_eq!(super::value(sort, from_value(sort, value)), value);
                }
            }
            let tried: Vec<i64> = (0..5).map(|key| value(Sort::Signed(8), key)).collect();
            assert_eq!(tried, [0, -1, 1, -2, 2]);
            for edge in [i64::MIN, -HALF - 1, -HALF, HALF - 1, HALF, i64::MAX] {
                for value in [edge, edge.wrapping_add(1), edge.wrapping_sub(1)] {
                    let key = from_value(Sort::Signed(64), value);
                    assert_eq!(super::value(Sort::Signed(64), key), value);
                }
            }
        }

        #[test]
        fn conditions_say_what_keys_are() {
            use mazurka_smt::{Kind, Model};
            for sort in [Sort::Signed(4), Sort::Unsigned(4), Sort::Bool] {
                let mut terms = Terms::new();
                let x = terms.variable(Kind::Input, "x", sort);
                for (from, to) in [(0, 0), (0, 7), (3, 9), (1, 1), (5, 100), (0, 100)] {
                    let within = between(&mut terms, x, from, to);
                    for key in 0..=last(sort) {
                        let mut model = Model::new();
                        model.set(x, value(sort, key));
                        let holds = terms.eval(within, &model) == Some(1);
                        assert_eq!(
                            holds,
                            (from..=to).contains(&key),
                            "{sort:?} {key} {from}..={to}"
                        );
                    }
                }
            }
        }
    }
}

impl Unknowns {
    /// Returns the least key in the range that a term can have on this path, and a model for it.
    fn least(&mut self, term: Term, from: i64, to: i64) -> Option<(i64, Evaluator)> {
        let sort = self.terms.sort(term);
        let among = |unknowns: &mut Self, to| {
            let condition = key::between(&mut unknowns.terms, term, from, to);
            let mut model = unknowns.possible(condition)?;
            let value = model.eval(&unknowns.terms, term)?;
            Some((key::from_value(sort, value), model))
        };
        let mut best = among(self, to)?;
        let mut low = from;
        while low < best.0 {
            let middle = low + (best.0 - low) / 2;
            match among(self, middle) {
                Some(better) => best = better,
                None => low = middle + 1,
            }
        }
        Some(best)
    }
}

impl Unknowns {
    /// Chooses a side of a condition: the wanted one if it is feasible, otherwise the least
    /// feasible one. Returns this side, the exclusive end of the range of sides to explore (1 or
    /// 2), and values of the inputs that lead to this side, if known.
    fn sides(&mut self, sides: [Term; 2], wanted: Option<i64>) -> (i64, i64, Option<Evaluator>) {
        // The side to which the current model leads is feasible. If there is no model, the solver
        // decides about both sides.
        let easy = self.example(sides[1]);
        let mut models = [None, None];
        let hard = easy.map(|easy| 1 - easy as usize);
        let mut can = |unknowns: &mut Self, side: usize| {
            if hard.is_some_and(|hard| hard != side) {
                return true;
            }
            models[side] = unknowns.possible(sides[side]);
            models[side].is_some()
        };
        let (value, end) = match wanted {
            Some(1) if can(self, 1) => (1, 2),
            _ if can(self, 0) => (0, 1 + i64::from(can(self, 1))),
            // The path is feasible, so one of its sides is.
            _ => (1, 2),
        };
        let model = models[value as usize].take();
        let model = model.or_else(|| self.model.take().filter(|_| easy == Some(value)));
        (value, end, model)
    }

    /// Returns the formula saying that a term is in a range.
    fn within(&mut self, term: Term, (start, end): (i64, i64)) -> Term {
        let sort = self.terms.sort(term);
        let start = self.terms.constant(sort, start);
        let end = self.terms.constant(sort, end);
        let from = self.terms.at_most(start, term);
        let to = self.terms.less(term, end);
        self.terms.and(from, to)
    }

    /// Returns the formula saying that a term has the value of a key.
    pub fn has_key(&mut self, term: Term, key: i64) -> Term {
        let sort = self.terms.sort(term);
        let value = self.terms.constant(sort, key::value(sort, key));
        self.terms.equal(term, value)
    }

    /// Returns the least feasible key that is not below the wanted one, the exclusive end of the
    /// range of keys to explore, and values of the inputs for which the term has this key.
    pub fn values(
        &mut self,
        term: Term,
        given: Option<i64>,
        drawn: Option<i64>,
        place: Place,
    ) -> (i64, i64, Option<Evaluator>) {
        let sort = self.terms.sort(term);
        let (found, end, others) = match self.least(term, 0, key::last(sort)) {
            Some(first) => {
                let least = first.0;
                let last = least.saturating_add(VALUES - 1).min(key::last(sort));
                let drawn = drawn.map(|drawn| least.saturating_add(drawn));
                let from = given.or(drawn).unwrap_or(least);
                let found = if from > least {
                    self.least(term, from, last).unwrap_or(first)
                } else {
                    first
                };
                let more = key::between(&mut self.terms, term, found.0 + 1, last);
                let more = found.0 < last && self.possible(more).is_some();
                let within = key::between(&mut self.terms, term, 0, last);
                let end = if more { last + 1 } else { found.0 + 1 };
                (Some(found), end, self.terms.not(within))
            }
            // Either the term can only have values whose keys are not searched, or the solver finds
            // no value at all. In the second case the value is 0.
            None => {
                let wanted = given.map(|key| self.has_key(term, key));
                let model = wanted.and_then(|wanted| self.possible(wanted));
                let model = model.or_else(|| self.possible(Term::TRUE));
                let found = model.and_then(|mut model| {
                    let value = model.eval(&self.terms, term)?;
                    Some((key::from_value(sort, value), model))
                });
                let key = found.as_ref().map_or(0, |found| found.0);
                let same = self.has_key(term, key);
                (found, key + 1, self.terms.not(same))
            }
        };
        if self.possible(others).is_some() {
            self.left_out.get_or_insert(place);
        }
        let (key, model) = found.map_or((0, None), |(key, model)| (key, Some(model)));
        (key, end, model)
    }
}

impl Inner {
    /// Adds a decision to the path and to the outcomes of the step.
    fn decided(&mut self, fork: Fork, model: Option<Evaluator>) {
        let unknowns = &mut self.unknowns;
        unknowns
            .decisions
            .resize(self.effects.outcomes.len(), false);
        unknowns.decisions.push(true);
        self.effects.outcomes.push(fork.outcome);
        unknowns.hold(fork, model);
    }

    /// Returns the side of a condition that the current step takes.
    fn decide(&mut self, condition: Term) -> bool {
        let given = self.effects.given();
        let drawn = self
            .random_choices
            .as_mut()
            .map(|random| random.below(2) as i64);
        let unknowns = &mut self.unknowns;
        let opposite = unknowns.terms.not(condition);
        let sides = [opposite, condition];
        let (value, end, model) = match given {
            Some(value) if unknowns.following => (value & 1, 0, None),
            None if unknowns.following => {
                let value = unknowns.example(condition).unwrap_or(0);
                (value, 0, unknowns.model.take())
            }
            given => match (unknowns.before(condition), given) {
                // The last execution made the same decision, so its answer holds again.
                (Some(before), Some(given)) if given == before.value => (given, before.end, None),
                (Some(before), Some(1)) if before.end == 2 => (1, 2, None),
                _ => unknowns.sides(sides, given.or(drawn)),
            },
        };
        let fork = Fork {
            asked: condition,
            held: sides[value as usize],
            outcome: Outcome { value, end },
        };
        self.decided(fork, model);
        value == 1
    }

    /// Returns a value of a term; other executions explore the other values.
    fn pick(&mut self, term: Term, place: Place) -> i64 {
        let given = self.effects.given();
        let drawn = self
            .random_choices
            .as_mut()
            .map(|random| random.below(VALUES as u64) as i64);
        let unknowns = &mut self.unknowns;
        let sort = unknowns.terms.sort(term);
        let (key, end, model) = match given {
            Some(key) if unknowns.following => (key, 0, None),
            None if unknowns.following => {
                let value = unknowns.example(term).unwrap_or(0);
                (key::from_value(sort, value), 0, unknowns.model.take())
            }
            given => match unknowns.before(term) {
                Some(before) if given == Some(before.value) => (before.value, before.end, None),
                _ => unknowns.values(term, given, drawn, place),
            },
        };
        let fork = Fork {
            asked: term,
            held: unknowns.has_key(term, key),
            outcome: Outcome { value: key, end },
        };
        self.decided(fork, model);
        key::value(sort, key)
    }

    /// Returns the next input of the current thread: its variable, or its value if that is fixed.
    fn new_input(
        &mut self,
        sort: Sort,
        range: Option<(i64, i64)>,
        place: Place,
    ) -> Result<Term, i64> {
        let thread = self.current.index();
        let unknowns = &mut self.unknowns;
        if unknowns.counts.len() <= thread {
            unknowns.counts.resize(thread + 1, 0);
        }
        // Results are compared for equal inputs only, which the search must know from its start.
        self.restart |= unknowns.compares && !std::mem::replace(&mut unknowns.compared, true);
        let name = format!("{}#{}", self.names.paths[thread], unknowns.counts[thread]);
        unknowns.counts[thread] += 1;
        let known = unknowns.given.as_ref().map(|given| {
            let mut given = given.iter();
            let given = given.find(|(known, _)| *known == name);
            given.map_or(range.map_or(0, |(start, _)| start), |(_, value)| *value)
        });
        let variable = match known {
            Some(_) => None,
            None => Some(unknowns.terms.variable(Kind::Input, &name, sort)),
        };
        unknowns.asked.push(Asked {
            name,
            place,
            sort,
            variable,
            value: known.unwrap_or(0),
        });
        let Some(variable) = variable else {
            return Err(known.unwrap_or(0));
        };
        if let Some(range) = range {
            let fork = Fork {
                asked: variable,
                held: unknowns.within(variable, range),
                outcome: Outcome { value: 0, end: 0 },
            };
            unknowns.hold(fork, None);
        }
        Ok(variable)
    }
}

impl World {
    /// Returns an unknown value, or its value as an error if that is fixed. This is a step of its
    /// own, like `choose`.
    pub fn input(&self, sort: Sort, range: Option<(i64, i64)>, place: Place) -> Result<Term, i64> {
        let pending = Pending::new(None, ("", "input"), place);
        match self.memory {
            None => self.turn(pending),
            Some(_) => _ = self.choice(1, pending),
        }
        let result = self.inner.borrow_mut().new_input(sort, range, place);
        if let (Some(_), Ok(term), Some(range)) = (self.memory, result, range) {
            let within = self.inner.borrow_mut().unknowns.within(term, range);
            self.decide_weakly(Question::Holds(within));
        }
        self.note(|| match result {
            Ok(_) => "any value".into(),
            Err(value) => sort.show(value),
        });
        result
    }

    /// Returns the side of a condition that this execution takes.
    pub fn decide(&self, condition: Term) -> bool {
        let inner = self.inner.borrow();
        if let Some(truth) = inner.unknowns.terms.truth(condition) {
            return truth;
        }
        drop(inner);
        self.count_decision();
        match self.memory {
            None => self.inner.borrow_mut().decide(condition),
            Some(_) => self.decide_weakly(Question::Side(condition)) == 1,
        }
    }

    /// Returns a value of a term, for code that needs a concrete number.
    pub fn pick(&self, term: Term, place: Place) -> i64 {
        self.count_decision();
        if self.memory.is_none() {
            return self.inner.borrow_mut().pick(term, place);
        }
        let key = self.decide_weakly(Question::Value(term, place));
        key::value(self.inner.borrow().unknowns.terms.sort(term), key)
    }

    /// Stops the thread for good if the execution has reached the limit on decisions.
    fn count_decision(&self) {
        {
            let mut inner = self.inner.borrow_mut();
            let few = (inner.unknowns.path.len() as u64) < inner.unknowns.most;
            // A thread that is unwinding must finish doing so.
            if few || inner.is_unwinding() {
                return;
            }
            let current = inner.current;
            inner.me().life = Life::Lost;
            inner.unknowns.lost = true;
            inner.effects.mishaps.push(Mishap {
                process: Some(current),
                kind: MishapKind::LocalLimit,
                site: 0,
            });
        }
        self.suspend_for_ever();
    }
}
