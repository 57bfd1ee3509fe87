//! Gates, and words of gates, over a SAT solver. Every gate folds constants, so known bits of a
//! word cost nothing.
//!
//! A word is a list of bits, the lowest first.

use batsat::{Callbacks, ClauseKind, Lit, SolverInterface, lbool};

use crate::Deadline;

/// The bits of a number, the lowest first.
pub(crate) type Word = Vec<Lit>;

/// Stops the search after a number of conflicts, or at a deadline.
struct Budget {
    learnt: u64,
    limit: u64,
    deadline: Deadline,
}

impl Callbacks for Budget {
    fn on_start(&mut self) {
        self.learnt = 0;
    }

    fn on_new_clause(&mut self, _: &[Lit], kind: ClauseKind) {
        self.learnt += u64::from(kind == ClauseKind::Learnt);
    }

    fn stop(&self) -> bool {
        self.learnt >= self.limit || self.deadline.has_passed()
    }
}

/// Limit on the number of variables of a circuit. A circuit of this size takes a few gigabytes.
pub(crate) const LARGEST: u32 = 16_000_000;

/// A circuit of gates, each encoded as clauses over its inputs and its output.
pub(crate) struct Circuit {
    sat: batsat::Solver<Budget>,
    /// The bit that is always true.
    true_bit: Lit,
    clause: Vec<Lit>,
}

impl Circuit {
    /// Creates an empty circuit. Its searches end undecided after this many conflicts, or at the
    /// deadline.
    pub fn new(conflicts: u64, deadline: Deadline) -> Self {
        let budget = Budget {
            learnt: 0,
            limit: conflicts,
            deadline,
        };
        let mut sat = batsat::Solver::new(Default::default(), budget);
        let true_bit = Lit::new(sat.new_var_default(), true);
        let mut circuit = Circuit {
            sat,
            true_bit,
            clause: Vec::new(),
        };
        circuit.clause(&[true_bit]);
        circuit
    }

    pub fn true_bit(&self) -> Lit {
        self.true_bit
    }

    pub fn false_bit(&self) -> Lit {
        !self.true_bit
    }

    /// Whether to stop building the circuit: it is too large, or the deadline has passed.
    pub fn is_given_up(&self) -> bool {
        self.is_too_large() || self.sat.cb().deadline.has_passed()
    }

    /// Whether the circuit has too many variables to be searched.
    pub fn is_too_large(&self) -> bool {
        self.size() > LARGEST
    }

    /// Returns the number of variables.
    pub fn size(&self) -> u32 {
        self.sat.num_vars()
    }

    /// Whether some inputs make all of these bits true. Returns `None` if that was not decided
    /// within the budget.
    pub fn solve(&mut self, assumptions: &[Lit]) -> Option<bool> {
        match self.sat.solve_limited(assumptions) {
            answer if answer == lbool::TRUE => Some(true),
            answer if answer == lbool::FALSE => Some(false),
            _ => None,
        }
    }

    /// Returns the value of a bit in the solution of the last call of `solve`.
    pub fn found(&self, bit: Lit) -> bool {
        self.sat.value_lit(bit) == lbool::TRUE
    }

    /// Returns an input bit, which the search chooses.
    pub fn input(&mut self) -> Lit {
        Lit::new(self.sat.new_var_default(), true)
    }

    /// Returns the output of a gate. The output follows from the inputs, so the search does not
    /// choose it. If the search could choose outputs, small queries would spend most of their time
    /// in deciding which bit to choose next.
    fn gate(&mut self) -> Lit {
        Lit::new(self.sat.new_var(lbool::UNDEF, false), true)
    }

    pub fn clause(&mut self, literals: &[Lit]) {
        self.clause.clear();
        self.clause.extend_from_slice(literals);
        self.sat.add_clause_reuse(&mut self.clause);
    }

    pub fn constant(&self, bit: bool) -> Lit {
        self.true_bit.apply_sign(bit)
    }

    fn known(&self, bit: Lit) -> Option<bool> {
        (bit.var() == self.true_bit.var()).then_some(bit == self.true_bit)
    }

    pub fn and(&mut self, a: Lit, b: Lit) -> Lit {
        self.all(&[a, b])
    }

    pub fn or(&mut self, a: Lit, b: Lit) -> Lit {
        !self.all(&[!a, !b])
    }

    /// Returns the conjunction of these bits.
    pub fn all(&mut self, bits: &[Lit]) -> Lit {
        let mut open: Vec<Lit> = Vec::with_capacity(bits.len());
        for &bit in bits {
            match self.known(bit) {
                Some(true) => {}
                Some(false) => return self.false_bit(),
                None if open.contains(&!bit) => return self.false_bit(),
                None if open.contains(&bit) => {}
                None => open.push(bit),
            }
        }
        match open[..] {
            [] => self.true_bit,
            [one] => one,
            _ => {
                let all = self.gate();
                for &bit in &open {
                    self.clause(&[!all, bit]);
                }
                for bit in &mut open {
                    *bit = !*bit;
                }
                open.push(all);
                self.clause(&open);
                all
            }
        }
    }

    pub fn xor(&mut self, a: Lit, b: Lit) -> Lit {
        match (self.known(a), self.known(b)) {
            (Some(a), _) => return b.apply_sign(!a),
            (_, Some(b)) => return a.apply_sign(!b),
            _ => {}
        }
        if a.var() == b.var() {
            return self.constant(a != b);
        }
        let xor = self.gate();
        self.clause(&[!xor, a, b]);
        self.clause(&[!xor, !a, !b]);
        self.clause(&[xor, !a, b]);
        self.clause(&[xor, a, !b]);
        xor
    }

    /// `if condition then a else b`
    pub fn choose(&mut self, condition: Lit, a: Lit, b: Lit) -> Lit {
        match self.known(condition) {
            Some(true) => return a,
            Some(false) => return b,
            None => {}
        }
        if a == b {
            return a;
        }
        match (self.known(a), self.known(b)) {
            (Some(true), _) => return self.or(condition, b),
            (Some(false), _) => return self.and(!condition, b),
            (_, Some(true)) => return self.or(!condition, a),
            (_, Some(false)) => return self.and(condition, a),
            _ => {}
        }
        if a == !b {
            return self.xor(condition, b);
        }
        let chosen = self.gate();
        self.clause(&[!condition, !a, chosen]);
        self.clause(&[!condition, a, !chosen]);
        self.clause(&[condition, !b, chosen]);
        self.clause(&[condition, b, !chosen]);
        self.clause(&[!a, !b, chosen]);
        self.clause(&[a, b, !chosen]);
        chosen
    }

    /// Whether at least two of the three bits are 1: the carry of a full adder.
    fn majority(&mut self, a: Lit, b: Lit, c: Lit) -> Lit {
        for (x, y, z) in [(a, b, c), (b, c, a), (c, a, b)] {
            match self.known(x) {
                Some(true) => return self.or(y, z),
                Some(false) => return self.and(y, z),
                None if x == y => return x,
                None if x == !y => return z,
                None => {}
            }
        }
        let most = self.gate();
        for (x, y) in [(a, b), (b, c), (c, a)] {
            self.clause(&[!x, !y, most]);
            self.clause(&[x, y, !most]);
        }
        most
    }

    /// Returns `a + b + carry`, and the carry out.
    pub fn add(&mut self, a: &[Lit], b: &[Lit], mut carry: Lit) -> (Word, Lit) {
        let mut sum = Vec::with_capacity(a.len());
        for (&x, &y) in a.iter().zip(b) {
            let half = self.xor(x, y);
            sum.push(self.xor(half, carry));
            carry = self.majority(x, y, carry);
        }
        (sum, carry)
    }

    pub fn sub(&mut self, a: &[Lit], b: &[Lit]) -> Word {
        let inverse = invert(b);
        let true_bit = self.true_bit;
        self.add(a, &inverse, true_bit).0
    }

    pub fn negate(&mut self, a: &[Lit]) -> Word {
        let zero = vec![self.false_bit(); a.len()];
        self.sub(&zero, a)
    }

    /// `if condition then a else b`, bit by bit.
    pub fn choose_word(&mut self, condition: Lit, a: &[Lit], b: &[Lit]) -> Word {
        let pairs = a.iter().zip(b);
        pairs.map(|(&x, &y)| self.choose(condition, x, y)).collect()
    }

    pub fn equal(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let pairs = a.iter().zip(b);
        let same: Word = pairs.map(|(&x, &y)| !self.xor(x, y)).collect();
        self.all(&same)
    }

    /// `a < b` of natural numbers.
    pub fn less(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let mut less = self.false_bit();
        for (&x, &y) in a.iter().zip(b) {
            less = self.majority(!x, y, less);
        }
        less
    }

    /// `a < b` in two's complement.
    pub fn less_signed(&mut self, a: &[Lit], b: &[Lit]) -> Lit {
        let (mut a, mut b) = (a.to_vec(), b.to_vec());
        for word in [&mut a, &mut b] {
            let sign = word.last_mut().expect("a word has bits");
            *sign = !*sign;
        }
        self.less(&a, &b)
    }

    /// Returns the lowest `bits` of `a * b`, as natural numbers.
    pub fn mul(&mut self, a: &[Lit], b: &[Lit], bits: usize) -> Word {
        // The word with more known bits selects the rows.
        let unknown = |word: &[Lit]| {
            let true_bit = self.true_bit.var();
            word.iter().filter(|bit| bit.var() != true_bit).count()
        };
        let (a, b) = if unknown(a) < unknown(b) {
            (b, a)
        } else {
            (a, b)
        };
        let mut product = vec![self.false_bit(); bits];
        for (shift, &chosen) in b.iter().enumerate().take(bits) {
            if chosen == self.false_bit() {
                continue;
            }
            let wide = bits - shift;
            let mut row: Word = a
                .iter()
                .take(wide)
                .map(|&bit| self.and(bit, chosen))
                .collect();
            row.resize(wide, self.false_bit());
            let false_bit = self.false_bit();
            let (sum, _) = self.add(&product[shift..], &row, false_bit);
            product.splice(shift.., sum);
        }
        product
    }

    /// Returns `a` shifted towards its lowest bit by a natural number; `fill` is shifted in from
    /// above.
    pub fn shift_right(&mut self, a: &[Lit], by: &[Lit], fill: Lit) -> Word {
        let mut word = a.to_vec();
        for (at, &bit) in by.iter().enumerate() {
            let distance = 1_usize.checked_shl(at as u32).unwrap_or(usize::MAX);
            let from = |to: usize| to.checked_add(distance).and_then(|from| word.get(from));
            let shifted = (0..word.len()).map(|to| from(to).copied().unwrap_or(fill));
            let shifted: Word = shifted.collect();
            word = self.choose_word(bit, &shifted, &word);
        }
        word
    }

    /// Returns the value of a word, if all its bits are known and it fits into 64 bits.
    fn number(&self, word: &[Lit]) -> Option<u64> {
        let mut number = 0;
        for (at, &bit) in word.iter().enumerate() {
            if self.known(bit)? {
                number |= 1_u64.checked_shl(at as u32)?;
            }
        }
        Some(number)
    }

    /// Requires that two words are equal.
    fn require_equal(&mut self, a: &[Lit], b: &[Lit]) {
        for (&x, &y) in a.iter().zip(b) {
            self.clause(&[!x, y]);
            self.clause(&[x, !y]);
        }
    }

    /// Returns the quotient and the remainder of natural numbers. For a division by zero, all bits
    /// of the quotient are ones, and the remainder is `a`. If the divisor is known, a product
    /// checks them.
    pub fn divide(&mut self, a: &[Lit], b: &[Lit]) -> (Word, Word) {
        match self.number(b) {
            Some(divisor) if divisor != 0 && self.number(a).is_none() => {
                self.divide_by_number(a, divisor)
            }
            _ => self.divide_by_word(a, b),
        }
    }

    /// Lets the search choose a quotient q and a remainder r with a = q · divisor + r and r <
    /// divisor. There is exactly one such pair for each a, so this excludes no value of a. The
    /// powers of two in the divisor are split off first, because they only shift.
    fn divide_by_number(&mut self, a: &[Lit], divisor: u64) -> (Word, Word) {
        let false_bit = self.false_bit();
        let shift = (divisor.trailing_zeros() as usize).min(a.len());
        let (low, high) = a.split_at(shift);
        let odd = divisor >> divisor.trailing_zeros();
        let (mut quotient, mut rest) = (high.to_vec(), low.to_vec());
        if odd > 1 && !high.is_empty() {
            let most = ((1_u128 << high.len()) - 1) / u128::from(odd);
            let bits = bits_of(odd.into());
            quotient = (0..bits_of(most)).map(|_| self.input()).collect();
            let small: Word = (0..bits).map(|_| self.input()).collect();
            let divisor = (0..bits).map(|at| self.constant(odd >> at & 1 == 1));
            let divisor: Word = divisor.collect();
            let less = self.less(&small, &divisor);
            self.clause(&[less]);
            let width = (quotient.len() + bits + 1).max(high.len());
            let wide = |word: &[Lit]| {
                let mut word = word.to_vec();
                word.resize(width, false_bit);
                word
            };
            let product = self.mul(&quotient, &divisor, width);
            let (sum, _) = self.add(&product, &wide(&small), false_bit);
            self.require_equal(&sum, &wide(high));
            rest.extend(small);
        }
        // Bits beyond those of `a` are zero.
        quotient.resize(a.len(), false_bit);
        rest.resize(a.len(), false_bit);
        (quotient, rest)
    }

    /// Divides by restoring division.
    fn divide_by_word(&mut self, a: &[Lit], b: &[Lit]) -> (Word, Word) {
        let false_bit = self.false_bit();
        let mut divisor = b.to_vec();
        divisor.push(false_bit);
        let mut rest = vec![false_bit; a.len()];
        let mut quotient = vec![false_bit; a.len()];
        for at in (0..a.len()).rev() {
            rest.insert(0, a[at]);
            let fits = !self.less(&rest, &divisor);
            let less = self.sub(&rest, &divisor);
            rest = self.choose_word(fits, &less, &rest);
            rest.pop();
            quotient[at] = fits;
        }
        (quotient, rest)
    }
}

/// Returns the number of bits of a natural number.
fn bits_of(number: u128) -> usize {
    (u128::BITS - number.leading_zeros()) as usize
}

pub(crate) fn invert(word: &[Lit]) -> Word {
    word.iter().map(|&bit| !bit).collect()
}
