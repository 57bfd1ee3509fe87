//! The solver that is always available: it translates terms into circuits (`blast.rs`) and circuits
//! into clauses, which batsat decides.
//!
//! It works incrementally. A term becomes a circuit once; a query assumes the outputs of its
//! constraints and adds nothing else, so nothing must be retracted. Circuits of old queries add no
//! constraints, but they are still searched. So when the circuits have become four times as large
//! as those of the first query, all of them are discarded, and the next query builds only its own.
//!
//! It is complete for `bool` and machine integers. An `int` is searched in growing widths. The
//! answer "unsatisfiable" is trusted only if `ranges.rs` shows that the width is enough.

use crate::aside::drop_aside;
use crate::blast::Blaster;
use crate::circuit::LARGEST;
use crate::ranges;
use crate::{Answer, Deadline, Evaluator, Solver, Sort, Statistics, Term, TermNode, Terms, Why};

/// The limits of the embedded solver.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Number of conflicts after which the solver gives up on a query.
    pub conflicts: u64,
    /// The greatest width in which an `int` is searched if no width is known to be enough.
    pub int_bits: u8,
    /// The deadline of all searches.
    pub deadline: Deadline,
}

impl Default for Effort {
    fn default() -> Self {
        Effort {
            conflicts: 200_000,
            int_bits: 32,
            deadline: Deadline::default(),
        }
    }
}

/// The widths in which an `int` is searched, in bits.
const WIDTHS: [u8; 4] = [8, 16, 32, 64];

/// A query with more constraints than this is not a growing path condition. It is decided by a
/// separate solver, which is then dropped. The decorators (`around/`) pass such a query on
/// unchanged.
pub(crate) const MOST_INCREMENTAL: usize = 1 << 12;

/// Circuits smaller than this are never discarded.
const SMALL: u32 = 4096;

/// The embedded solver.
///
/// ```
/// use mazurka_smt::{Answer, Embedded, Kind, Solver, Sort, Terms};
///
/// let mut terms = Terms::new();
/// let x = terms.variable(Kind::Input, "x", Sort::Unsigned(8));
/// let ten = terms.constant(Sort::Unsigned(8), 10);
/// let sum = terms.add(x, ten);
/// let wraps = terms.less(sum, x);
/// let Answer::Sat(model) = Embedded::default().check(&mut terms, &[wraps]) else {
///     panic!("250 + 10 is 4");
/// };
/// assert!(model.get(x).unwrap() >= 246);
/// ```
#[derive(Default)]
pub struct Embedded {
    effort: Effort,
    /// The instances: one for queries without `int`, then one for each width.
    blasters: [Option<Instance>; 5],
    /// For each term, by its index, whether an `int` occurs in it.
    has_int: Vec<bool>,
    statistics: Statistics,
}

/// A circuit for queries with one width of `int`, or without `int`.
struct Instance {
    blaster: Blaster,
    /// If the circuit is larger than this, in variables, the next query discards it.
    limit: u32,
}

impl Embedded {
    /// Creates a solver with these limits.
    pub fn new(effort: Effort) -> Self {
        Embedded {
            effort,
            ..Self::default()
        }
    }

    /// Whether an `int` occurs in a term.
    fn has_int(&mut self, terms: &Terms, term: Term) -> bool {
        let Some(index) = term.index() else {
            return false;
        };
        while self.has_int.len() <= index {
            let next = terms.numbered(self.has_int.len());
            let in_part = |part: Term| {
                part.index().is_some_and(|at| self.has_int[at]) || terms.sort(part) == Sort::Int
            };
            let has = terms.sort(next) == Sort::Int || terms.node(next).parts().any(in_part);
            self.has_int.push(has);
        }
        self.has_int[index]
    }

    /// Searches once, with an `int` of `WIDTHS[width]` bits. `width` is `None` for a query without
    /// `int`.
    fn search(&mut self, terms: &Terms, conjuncts: &[Term], width: Option<usize>) -> Search {
        let int_bits = width.map_or(1, |width| WIDTHS[width]);
        let effort = &self.effort;
        let fresh = || Instance {
            blaster: Blaster::new(int_bits, effort.conflicts, effort.deadline.clone()),
            limit: SMALL,
        };
        if conjuncts.len() > MOST_INCREMENTAL {
            self.statistics.searches += 1;
            let mut blaster = fresh().blaster;
            let answer = blaster.solve_once(terms, conjuncts);
            let found = found(terms, conjuncts, &blaster, answer);
            drop_aside(blaster);
            return found;
        }
        let slot = &mut self.blasters[width.map_or(0, |width| width + 1)];
        if let Some(old) = slot
            && (old.blaster.size() > old.limit || old.blaster.is_too_large())
        {
            // The new circuit contains only this query, and may grow to four times the size of this
            // query.
            *slot = None;
        }
        let is_new = slot.is_none();
        let instance = slot.get_or_insert_with(fresh);
        self.statistics.searches += 1;
        let answer = instance.blaster.solve(terms, conjuncts);
        if is_new {
            instance.limit = SMALL.max(instance.blaster.size().saturating_mul(4));
        }
        found(terms, conjuncts, &instance.blaster, answer)
    }

    /// Searches with growing widths of `int`, until there is a solution or no width can have one.
    fn check_int(&mut self, terms: &Terms, conjuncts: &[Term]) -> Answer {
        let enough = ranges::sufficient_width(terms, conjuncts);
        let last = enough.unwrap_or(0).max(self.effort.int_bits);
        let mut decided = None;
        for (width, &bits) in WIDTHS.iter().enumerate() {
            if decided >= Some(last) {
                break;
            }
            match self.search(terms, conjuncts, Some(width)) {
                Search::Found(answer) => return answer,
                Search::NoSolution if enough.is_some_and(|enough| enough <= bits) => {
                    return Answer::Unsat;
                }
                Search::NoSolution => decided = Some(bits),
                Search::GivenUp => break,
            }
        }
        match decided {
            Some(bits) if !self.effort.deadline.has_passed() => {
                Answer::Unknown(Why::OnlyWithin { bits })
            }
            _ => self.given_up(),
        }
    }

    fn given_up(&self) -> Answer {
        if self.effort.deadline.has_passed() {
            return Answer::Unknown(Why::Time);
        }
        let limit = format!("its limit of {} conflicts", self.effort.conflicts);
        Answer::Unknown(Why::Limit(limit))
    }
}

/// Returns the result of a search. If there is a solution, checks it.
fn found(terms: &Terms, conjuncts: &[Term], blaster: &Blaster, answer: Option<bool>) -> Search {
    match answer {
        None if blaster.is_too_large() => {
            let limit = format!("its limit of {LARGEST} variables");
            Search::Found(Answer::Unknown(Why::Limit(limit)))
        }
        None => Search::GivenUp,
        Some(false) => Search::NoSolution,
        Some(true) => {
            let variables = terms.variables_of(conjuncts);
            let model = blaster.model(terms, &variables);
            Search::Found(validate(terms, conjuncts, Evaluator::new(model)))
        }
    }
}

/// The result of a search with one width of `int`.
enum Search {
    /// A final answer: a checked solution, a defect, or a limit that a greater width does not
    /// change.
    Found(Answer),
    /// There is no solution within this width.
    NoSolution,
    /// The budget was used up.
    GivenUp,
}

/// Returns `Sat` if the evaluator agrees that the model satisfies every constraint, and otherwise
/// that there is a defect.
pub(crate) fn validate(terms: &Terms, constraints: &[Term], mut evaluator: Evaluator) -> Answer {
    let wrong = constraints
        .iter()
        .find(|&&constraint| evaluator.eval(terms, constraint) != Some(1));
    match wrong {
        None => Answer::Sat(evaluator.into_model()),
        Some(&constraint) => {
            let constraint = terms.show(constraint);
            Answer::Unknown(Why::Defect(format!(
                "a model does not satisfy `{constraint}`"
            )))
        }
    }
}

impl Terms {
    /// Returns the conjuncts of a list of constraints, without `true` and repetitions. Returns
    /// `None` if one of them is `false`.
    pub fn conjuncts(&self, constraints: &[Term]) -> Option<Vec<Term>> {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut stack: Vec<Term> = constraints.iter().rev().copied().collect();
        let mut conjuncts = Vec::new();
        while let Some(term) = stack.pop() {
            match self.node(term) {
                TermNode::Constant(0) => return None,
                TermNode::Constant(_) => {}
                TermNode::And(a, b) => stack.extend([b, a]),
                _ if seen.insert(term) => conjuncts.push(term),
                _ => {}
            }
        }
        Some(conjuncts)
    }
}

impl Solver for Embedded {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        self.statistics.queries += 1;
        let Some(conjuncts) = terms.conjuncts(constraints) else {
            return Answer::Unsat;
        };
        if conjuncts.is_empty() {
            return Answer::Sat(Default::default());
        }
        if self.effort.deadline.has_passed() {
            return Answer::Unknown(Why::Time);
        }
        if conjuncts
            .iter()
            .any(|&conjunct| self.has_int(terms, conjunct))
        {
            return self.check_int(terms, &conjuncts);
        }
        match self.search(terms, &conjuncts, None) {
            Search::Found(answer) => answer,
            Search::NoSolution => Answer::Unsat,
            Search::GivenUp => self.given_up(),
        }
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
