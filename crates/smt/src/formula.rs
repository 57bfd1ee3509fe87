//! Makes formulas readable for people.
//!
//! A disjunction of path conditions has a disjunct for each path through a program, and most
//! disjuncts are long descriptions of one condition. Here a formula becomes a disjunction of a few
//! short *cubes*, or a conjunction of a few short clauses. The result is equivalent to the formula
//! wherever the condition `given` holds, which the caller assumes:
//!
//! 1. Take a model of the formula that no cube covers yet. It assigns a truth value to each atom of
//!    the formula. These literals together imply the formula.
//! 2. Literals are dropped, the longest first, as long as the remaining ones still imply the
//!    formula. The remaining literals form a prime implicant (Quine). Comparisons of two numbers
//!    are tried instead of literals about single numbers: `i == j` for
//!    `i == 0 && j == 0 || i == 1 && j == 1`.
//! 3. Literals about a single number are replaced by the widest interval around its value that
//!    still implies the formula, if that interval covers all of these literals.
//! 4. When all models are covered, a cube that the other cubes together cover is dropped.
//!
//! Clauses are the negated cubes of the negated formula. Each implication is an "unsatisfiable"
//! answer of the solver. If the solver does not know the answer, there is no readable form, and the
//! caller keeps the formula.

use crate::{Answer, Model, Solver, Sort, Term, TermNode, Terms};

/// Limit on the number of cubes: more cubes are not readable.
const MOST_CUBES: usize = 48;

/// Limit on queries to the solver for one formula.
const MOST_QUERIES: u32 = 6_000;

/// If a formula has more numbers than this, comparisons of two numbers are not tried.
const MOST_ORDERED: usize = 4;

/// The atoms from which literals are made.
struct Atoms {
    /// The conditions that the formula consists of.
    own: Vec<Term>,
    /// Comparisons of the numbers that occur in the formula.
    orders: Vec<Term>,
}

/// A conjunction of literals; the empty one is true.
pub type Cube = Vec<Term>;

/// A formula as a few short parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readable {
    /// The cubes. Wherever `given` holds, their disjunction is equivalent to the formula.
    pub cubes: Vec<Cube>,
    /// The formula in the syntax of the language, as cubes or as clauses, whichever is shorter.
    pub text: String,
}

/// Makes formulas readable.
pub struct Reader<'a> {
    terms: &'a mut Terms,
    solver: &'a mut dyn Solver,
    /// The condition that may be assumed to hold.
    given: Term,
    /// Called before each query; if it returns false, the query is not made.
    go_on: &'a mut dyn FnMut() -> bool,
    /// Number of queries that may still be made.
    queries_left: u32,
}

/// Returns the least and the greatest value of a sort, if they exist.
fn range(sort: Sort) -> (Option<i128>, Option<i128>) {
    match sort {
        Sort::Bool => (Some(0), Some(1)),
        Sort::Int => (None, None),
        Sort::Signed(bits) => {
            let half = 1i128 << (bits - 1);
            (Some(-half), Some(half - 1))
        }
        Sort::Unsigned(bits) => (Some(0), Some((1i128 << bits) - 1)),
    }
}

/// Returns a stored value as a number.
fn number(sort: Sort, kept: i64) -> i128 {
    match sort {
        Sort::Unsigned(64) => i128::from(kept as u64),
        _ => i128::from(kept),
    }
}

impl<'a> Reader<'a> {
    /// Creates a reader for formulas that matter only where `given` holds. `go_on` is called before
    /// each query to the solver; if it returns false, no further query is made.
    pub fn new(
        terms: &'a mut Terms,
        solver: &'a mut dyn Solver,
        given: Term,
        go_on: &'a mut dyn FnMut() -> bool,
    ) -> Self {
        Self {
            terms,
            solver,
            given,
            go_on,
            queries_left: MOST_QUERIES,
        }
    }

    /// Returns the readable form of a formula, or `None` if the solver cannot decide enough
    /// queries, or if the form has too many parts.
    ///
    /// ```
    /// use mazurka_smt::{Effort, Embedded, Kind, Reader, Sort, Term, Terms};
    ///
    /// let mut terms = Terms::new();
    /// let mut solver = Embedded::new(Effort::default());
    /// let n = terms.variable(Kind::Input, "n", Sort::Signed(8));
    /// let flag = terms.variable(Kind::Input, "flag", Sort::Bool);
    /// // n is 1, 2 or 3, or less than 1, or flag is set and n is not 2.
    /// let mut parts = Vec::new();
    /// for k in 1..4 {
    ///     let k = terms.constant(Sort::Signed(8), k);
    ///     parts.push(terms.equal(n, k));
    /// }
    /// let one = terms.constant(Sort::Signed(8), 1);
    /// parts.push(terms.less(n, one));
    /// let two = terms.constant(Sort::Signed(8), 2);
    /// let other = terms.unequal(n, two);
    /// parts.push(terms.and(flag, other));
    /// let all = terms.any(parts);
    /// let mut go_on = || true;
    /// let mut reader = Reader::new(&mut terms, &mut solver, Term::TRUE, &mut go_on);
    /// assert_eq!(reader.read(all).unwrap().text, "n <= 3 || flag");
    /// ```
    pub fn read(&mut self, formula: Term) -> Option<Readable> {
        self.queries_left = MOST_QUERIES;
        let cubes = self.cubes(formula)?;
        let negated = self.terms.not(formula);
        let weight = |parts: &[Cube]| parts.iter().map(Vec::len).sum::<usize>();
        // The cubes of the negation are tried with the remaining queries, and only if they could be
        // shorter.
        let clauses = if weight(&cubes) > 1 {
            self.cubes(negated)
        } else {
            None
        };
        let text = match clauses {
            Some(clauses) if weight(&clauses) < weight(&cubes) => self.as_clauses(&clauses),
            _ => self.as_cubes(&cubes),
        };
        Some(Readable { cubes, text })
    }

    fn as_cubes(&mut self, cubes: &[Cube]) -> String {
        let one = |literals: &Cube| {
            if literals.is_empty() {
                "true".to_owned()
            } else {
                let shown: Vec<String> = literals.iter().map(|&l| self.terms.show(l)).collect();
                shown.join(" && ")
            }
        };
        if cubes.is_empty() {
            "false".to_owned()
        } else {
            cubes.iter().map(one).collect::<Vec<_>>().join(" || ")
        }
    }

    /// Returns the conjunction of the negations of cubes.
    fn as_clauses(&mut self, cubes: &[Cube]) -> String {
        let mut clauses = Vec::new();
        for cube in cubes {
            let mut shown = Vec::new();
            for &literal in cube {
                let negated = self.terms.not(literal);
                shown.push(self.terms.show(negated));
            }
            clauses.push(match (shown.len(), cubes.len()) {
                (0, _) => "false".to_owned(),
                (1, _) | (_, 1) => shown.join(" || "),
                _ => format!("({})", shown.join(" || ")),
            });
        }
        if clauses.is_empty() {
            "true".to_owned()
        } else {
            clauses.join(" && ")
        }
    }

    fn query(&mut self, conditions: &[Term]) -> Option<Answer> {
        if self.queries_left == 0 || !(self.go_on)() {
            return None;
        }
        self.queries_left -= 1;
        let mut all = vec![self.given];
        all.extend(conditions);
        all.retain(|&condition| condition != Term::TRUE);
        Some(self.solver.check(self.terms, &all))
    }

    /// Whether these conditions certainly contradict each other.
    fn excluded(&mut self, conditions: &[Term]) -> bool {
        self.query(conditions) == Some(Answer::Unsat)
    }

    /// Returns values for which these conditions hold. The inner option is `None` if there are no
    /// such values, the outer option if this is unknown.
    fn model(&mut self, conditions: &[Term]) -> Option<Option<Model>> {
        match self.query(conditions)? {
            Answer::Sat(model) => Some(Some(model)),
            Answer::Unsat => Some(None),
            Answer::Unknown(_) => None,
        }
    }

    /// Returns prime implicants whose disjunction is the formula; `None` if the solver does not
    /// decide a query, or if there are too many of them.
    fn cubes(&mut self, formula: Term) -> Option<Vec<Cube>> {
        let formula = self.terms.simplify(formula);
        let negated = self.terms.not(formula);
        if self.model(&[formula])?.is_none() {
            return Some(Vec::new());
        }
        if self.excluded(&[negated]) {
            return Some(vec![Vec::new()]);
        }
        let atoms = Atoms {
            own: self.atoms(formula),
            orders: self.orders(formula),
        };
        let mut cubes: Vec<Cube> = Vec::new();
        let mut uncovered = vec![formula];
        while let Some(model) = self.model(&uncovered)? {
            if cubes.len() == MOST_CUBES {
                return None;
            }
            let cube = self.implicant(&atoms, &model, negated)?;
            let all = self.terms.all(cube.iter().copied());
            uncovered.push(self.terms.not(all));
            cubes.push(cube);
        }
        self.without_covered(&mut cubes);
        for cube in &mut cubes {
            cube.sort_by_key(|&literal| self.sort_key(literal));
        }
        cubes.sort_by_key(|cube| {
            let keys: Vec<_> = cube.iter().map(|&literal| self.sort_key(literal)).collect();
            (cube.len(), keys)
        });
        Some(cubes)
    }

    /// Returns the sort key of a literal: its first variable, then lower bounds before upper ones.
    fn sort_key(&self, literal: Term) -> (Option<Term>, String) {
        let first = self.terms.variables_of(&[literal]).first().copied();
        let text = self.terms.show(literal);
        // `>=` before `<=`, and both before all other literals about that variable.
        let order = match () {
            () if text.contains(" >") => '0',
            () if text.contains(" <") => '1',
            () => '2',
        };
        (first, format!("{order}{text}"))
    }

    /// Returns the conditions that a formula consists of, including conditions that choose between
    /// numbers.
    fn atoms(&self, formula: Term) -> Vec<Term> {
        let mut atoms = Vec::new();
        let mut stack = vec![formula];
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(term) = stack.pop() {
            if !seen.insert(term) {
                continue;
            }
            match self.terms.node(term) {
                TermNode::Constant(_) => {}
                TermNode::Not(a) => stack.push(a),
                TermNode::And(a, b) | TermNode::Or(a, b) => stack.extend([a, b]),
                TermNode::If(a, b, c) if self.terms.sort(b) == Sort::Bool => {
                    stack.extend([a, b, c])
                }
                TermNode::Equal(a, b) if self.terms.sort(a) == Sort::Bool => stack.extend([a, b]),
                _ => {
                    atoms.push(term);
                    let parts = self.terms.parts_of(&[term]);
                    stack.extend(
                        parts
                            .iter()
                            .filter_map(|&part| match self.terms.node(part) {
                                TermNode::If(test, ..) => Some(test),
                                _ => None,
                            }),
                    );
                }
            }
        }
        // Longer atoms come first, so that they are dropped before shorter ones.
        let size = |&atom: &Term| self.terms.parts_of(&[atom]).len();
        atoms.sort_by_key(|atom| (std::cmp::Reverse(size(atom)), *atom));
        atoms
    }

    /// Returns comparisons of two numbers of one sort.
    fn orders(&mut self, formula: Term) -> Vec<Term> {
        let mut numbers = self.terms.variables_of(&[formula]);
        numbers.retain(|&variable| self.terms.sort(variable) != Sort::Bool);
        let mut orders = Vec::new();
        if numbers.len() > MOST_ORDERED {
            return orders;
        }
        for (at, &one) in numbers.iter().enumerate() {
            for &other in &numbers[..at] {
                if self.terms.sort(one) == self.terms.sort(other) {
                    orders.push(self.terms.equal(other, one));
                    orders.push(self.terms.less(other, one));
                }
            }
        }
        orders
    }

    /// Returns a short cube that contains a model and contradicts the negated formula.
    fn implicant(&mut self, atoms: &Atoms, model: &Model, negated: Term) -> Option<Cube> {
        let own = self.literals(&atoms.own, model);
        let mut cube = self.shortest(own.clone(), negated)?;
        if cube.len() > 1 && !atoms.orders.is_empty() {
            // The literals of the formula are dropped before the comparisons of numbers.
            let mut all = own;
            all.extend(self.literals(&atoms.orders, model));
            let other = self.shortest(all, negated);
            cube = other.filter(|o| o.len() < cube.len()).unwrap_or(cube);
        }
        let mut numbers: Vec<Term> = self.terms.variables_of(&cube);
        numbers.retain(|&variable| self.terms.sort(variable) != Sort::Bool);
        for variable in numbers {
            self.widen(&mut cube, variable, model, negated);
        }
        Some(cube)
    }

    /// Returns the literals of some atoms that hold in a model.
    fn literals(&mut self, atoms: &[Term], model: &Model) -> Cube {
        let mut cube = Vec::new();
        for &atom in atoms {
            match self.terms.eval(atom, model) {
                Some(0) => cube.push(self.terms.not(atom)),
                Some(_) => cube.push(atom),
                None => {}
            }
        }
        cube
    }

    /// Drops literals, from the first on, as long as the remaining ones contradict the negated
    /// formula. Returns `None` if the given literals do not contradict it.
    fn shortest(&mut self, mut cube: Cube, negated: Term) -> Option<Cube> {
        let with = |cube: &[Term]| -> Vec<Term> { [cube, &[negated]].concat() };
        if !self.excluded(&with(&cube)) {
            return None;
        }
        let mut at = 0;
        // Drop many at once while that works, then one by one.
        let mut stride = cube.len() / 2;
        while at < cube.len() {
            let end = (at + stride.max(1)).min(cube.len());
            let mut less = cube.clone();
            less.drain(at..end);
            if self.excluded(&with(&less)) {
                cube = less;
            } else if stride > 1 {
                stride /= 2;
            } else {
                at += 1;
            }
        }
        Some(cube)
    }

    /// Replaces the literals of a cube about a single number by an interval, if that is not longer.
    fn widen(&mut self, cube: &mut Cube, variable: Term, model: &Model, negated: Term) {
        let alone = |terms: &Terms, literal: Term| terms.variables_of(&[literal]) == [variable];
        let (own, rest): (Vec<Term>, Vec<Term>) = cube
            .iter()
            .partition(|&&literal| alone(self.terms, literal));
        if own.is_empty() {
            return;
        }
        let sort = self.terms.sort(variable);
        let value = number(sort, model.get(variable).unwrap_or(0));
        let mut around = rest.clone();
        around.push(negated);
        let [low, high] = [false, true].map(|up| self.furthest(variable, value, up, &around));
        let mut bounds = Vec::new();
        let constant = |terms: &mut Terms, value: i128| terms.constant(sort, value as i64);
        match (low, high) {
            (Some(low), Some(high)) if low == high => {
                let value = constant(self.terms, low);
                bounds.push(self.terms.equal(variable, value));
            }
            (low, high) => {
                if let Some(low) = low {
                    let low = constant(self.terms, low);
                    bounds.push(self.terms.at_least(variable, low));
                }
                if let Some(high) = high {
                    let high = constant(self.terms, high);
                    bounds.push(self.terms.at_most(variable, high));
                }
            }
        }
        if bounds.len() > own.len().max(1) {
            return;
        }
        let inside = self.terms.all(bounds.iter().copied());
        let outside = self.terms.not(inside);
        let covers = self.excluded(&[&own[..], &rest, &[outside]].concat());
        let mut wider = rest;
        wider.extend(&bounds);
        // The two ends were found separately, so they are checked together.
        if covers && self.excluded(&[&wider[..], &[negated]].concat()) {
            *cube = wider;
        }
    }

    /// Returns the last value, counting up or down from `from`, such that it and all values before
    /// it contradict `around`. Returns `None` if all values of the sort in that direction
    /// contradict `around`.
    fn furthest(&mut self, variable: Term, from: i128, up: bool, around: &[Term]) -> Option<i128> {
        let sort = self.terms.sort(variable);
        let (least, most) = range(sort);
        let end = if up { most } else { least };
        let start = self.terms.constant(sort, from as i64);
        let beyond = if up {
            self.terms.at_least(variable, start)
        } else {
            self.terms.at_most(variable, start)
        };
        if self.excluded(&[around, &[beyond]].concat()) {
            return None;
        }
        let works = |reader: &mut Self, distance: i128| {
            let to = if up { from + distance } else { from - distance };
            let inside = end.is_none_or(|end| if up { to <= end } else { to >= end });
            let fits = i64::try_from(to).is_ok() || sort == Sort::Unsigned(64);
            if !inside || !fits {
                return false;
            }
            let to = reader.terms.constant(sort, to as i64);
            let within = if up {
                reader.terms.at_most(variable, to)
            } else {
                reader.terms.at_least(variable, to)
            };
            reader.excluded(&[around, &[beyond, within]].concat())
        };
        // The greatest distance that works is between these.
        let (mut good, mut bad) = (0, 1);
        while works(self, bad) {
            (good, bad) = (bad, bad * 2);
        }
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if works(self, middle) {
                good = middle
            } else {
                bad = middle
            }
        }
        Some(if up { from + good } else { from - good })
    }

    /// Drops each cube that the other cubes together cover, the longest first.
    fn without_covered(&mut self, cubes: &mut Vec<Cube>) {
        let mut order: Vec<usize> = (0..cubes.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(cubes[at].len()));
        let mut kept: Vec<bool> = vec![true; cubes.len()];
        for at in order {
            let mut conditions = cubes[at].clone();
            for (other, cube) in cubes.iter().enumerate() {
                if other != at && kept[other] {
                    let all = self.terms.all(cube.iter().copied());
                    conditions.push(self.terms.not(all));
                }
            }
            kept[at] = !self.excluded(&conditions);
        }
        let mut kept = kept.into_iter();
        cubes.retain(|_| kept.next().unwrap_or(true));
    }
}
