//! Translates terms into circuits: every operation on every sort, including division and remainder.
//!
//! An `int` becomes a number of a fixed width in two's complement. Besides its bits, each term has
//! a bit that says whether the term is *safe*: no `int` from which it is computed exceeds that
//! width. A solution in which the constraints are true and safe is also a solution over the
//! mathematical integers.

use batsat::Lit;
use rustc_hash::FxHashMap;

use crate::circuit::{Circuit, Word, invert};
use crate::{BitOp, Deadline, Model, Sort, Term, TermNode, Terms};

/// The position of a term's bits in `Blaster::bits`, and the bit that says whether the term is
/// safe.
#[derive(Clone, Copy)]
struct Wires {
    first: u32,
    len: u32,
    safe: Lit,
}

pub(crate) struct Blaster {
    circuit: Circuit,
    /// The width of an `int`.
    int_bits: u8,
    wires: FxHashMap<Term, Wires>,
    bits: Vec<Lit>,
    stack: Vec<Term>,
    /// Number of terms to build until the next check of the circuit's size and the deadline.
    until_check: u32,
}

/// Number of terms between two checks of the circuit's size and the deadline.
const TERMS_PER_CHECK: u32 = 1 << 10;

impl Blaster {
    pub fn new(int_bits: u8, conflicts: u64, deadline: Deadline) -> Self {
        Blaster {
            circuit: Circuit::new(conflicts, deadline),
            int_bits,
            wires: FxHashMap::default(),
            bits: Vec::new(),
            stack: Vec::new(),
            until_check: TERMS_PER_CHECK,
        }
    }

    /// Returns the size of the circuit.
    pub fn size(&self) -> u32 {
        self.circuit.size()
    }

    /// Whether the circuit has too many variables to be searched.
    pub fn is_too_large(&self) -> bool {
        self.circuit.is_too_large()
    }

    /// Whether all constraints can be true and safe. Returns `None` if that was not decided within
    /// the budget.
    pub fn solve(&mut self, terms: &Terms, constraints: &[Term]) -> Option<bool> {
        let mut assumptions = Vec::with_capacity(constraints.len());
        for &constraint in constraints {
            let wires = self.wires(terms, constraint)?;
            assumptions.push(self.bits[wires.first as usize]);
            if wires.safe != self.circuit.true_bit() {
                assumptions.push(wires.safe);
            }
        }
        self.circuit.solve(&assumptions)
    }

    /// Solves a single query: the constraints are added permanently. A disjunction becomes a
    /// clause, and the search need not repeat assumptions when it restarts.
    pub fn solve_once(&mut self, terms: &Terms, constraints: &[Term]) -> Option<bool> {
        let mut clause = Vec::new();
        for &constraint in constraints {
            clause.clear();
            let mut left = vec![constraint];
            while let Some(term) = left.pop() {
                if let TermNode::Or(a, b) = terms.node(term) {
                    left.extend([b, a]);
                    continue;
                }
                let wires = self.wires(terms, term)?;
                clause.push(self.bits[wires.first as usize]);
                self.circuit.clause(&[wires.safe]);
            }
            self.circuit.clause(&clause);
        }
        self.circuit.solve(&[])
    }

    /// Returns the values of these variables in the solution of the last call of `solve` or
    /// `solve_once`.
    pub fn model(&self, terms: &Terms, variables: &[Term]) -> Model {
        let value = |&variable: &Term| {
            let bits = self
                .wires
                .get(&variable)
                .map_or(&[][..], |&wires| self.word(wires));
            let found = bits.iter().enumerate();
            let value = found.fold(0u64, |value, (at, &bit)| {
                value | u64::from(self.circuit.found(bit)) << at
            });
            let sort = match terms.sort(variable) {
                Sort::Int => Sort::Signed(self.int_bits),
                sort => sort,
            };
            (variable, crate::number::wrap(sort, value as i64))
        };
        variables.iter().map(value).collect()
    }

    fn width(&self, sort: Sort) -> usize {
        usize::from(match sort {
            Sort::Bool => 1,
            Sort::Int => self.int_bits,
            Sort::Signed(bits) | Sort::Unsigned(bits) => bits,
        })
    }

    fn word(&self, wires: Wires) -> &[Lit] {
        &self.bits[wires.first as usize..][..wires.len as usize]
    }

    /// Returns the circuit for a term; builds it if necessary. Returns `None` if the construction
    /// is abandoned.
    fn wires(&mut self, terms: &Terms, term: Term) -> Option<Wires> {
        self.stack.clear();
        self.stack.push(term);
        while let Some(&top) = self.stack.last() {
            if self.wires.contains_key(&top) {
                self.stack.pop();
                continue;
            }
            let before = self.stack.len();
            let node = terms.node(top);
            for part in node.parts() {
                if !self.wires.contains_key(&part) {
                    self.stack.push(part);
                }
            }
            if self.stack.len() == before {
                self.build(terms, top, node);
                self.stack.pop();
                self.until_check -= 1;
            }
            if self.until_check == 0 {
                self.until_check = TERMS_PER_CHECK;
                if self.circuit.is_given_up() {
                    return None;
                }
            }
        }
        self.wires.get(&term).copied()
    }

    fn build(&mut self, terms: &Terms, term: Term, node: TermNode) {
        let mut safe: Vec<Lit> = node.parts().map(|part| self.wires[&part].safe).collect();
        let (word, exact) = self.gates(terms, term, node);
        safe.push(exact);
        let wires = Wires {
            first: self.bits.len() as u32,
            len: word.len() as u32,
            safe: self.circuit.all(&safe),
        };
        self.bits.extend(word);
        self.wires.insert(term, wires);
    }

    /// Returns the bits of a term, computed from the bits of its parts, and a bit that says whether
    /// they are exact: the operation did not exceed the width. A term is safe if it and all its
    /// parts are exact.
    fn gates(&mut self, terms: &Terms, term: Term, node: TermNode) -> (Word, Lit) {
        let true_bit = self.circuit.true_bit();
        let sort = terms.sort(term);
        let part = |part: &Term| self.word(self.wires[part]).to_vec();
        let parts: Vec<Word> = node.parts().map(|p| part(&p)).collect();
        let circuit = &mut self.circuit;
        // The sort of the first part; for a term without parts, its own sort.
        let of = node.parts().next().map_or(sort, |first| terms.sort(first));
        let word = match (node, &parts[..]) {
            (TermNode::Constant(value), _) => return self.constant(sort, value),
            (TermNode::Variable(_), _) => (0..self.width(sort))
                .map(|_| self.circuit.input())
                .collect(),
            (TermNode::Not(_), [a]) => invert(a),
            (TermNode::And(..), [a, b]) => vec![circuit.and(a[0], b[0])],
            (TermNode::Or(..), [a, b]) => vec![circuit.or(a[0], b[0])],
            (TermNode::Equal(..), [a, b]) => vec![circuit.equal(a, b)],
            (TermNode::Less(..), [a, b]) => vec![less(circuit, of, a, b)],
            (TermNode::AtMost(..), [a, b]) => vec![!less(circuit, of, b, a)],
            (TermNode::If(..), [c, a, b]) => circuit.choose_word(c[0], a, b),
            (TermNode::Bits(op, ..), [a, b]) => bits(circuit, op, of, [a, b]),
            _ if of == Sort::Int => return self.exact(node, &parts),
            (TermNode::Add(..), [a, b]) => circuit.add(a, b, !true_bit).0,
            (TermNode::Sub(..), [a, b]) => circuit.sub(a, b),
            (TermNode::Negate(_), [a]) => circuit.negate(a),
            (TermNode::Mul(..), [a, b]) => circuit.mul(a, b, a.len()),
            (TermNode::Div(..), [a, b]) => divide(circuit, of, a, b).0,
            (TermNode::Rem(..), [a, b]) => divide(circuit, of, a, b).1,
            _ => unreachable!("a node has its parts"),
        };
        (word, true_bit)
    }

    fn constant(&self, sort: Sort, value: i64) -> (Word, Lit) {
        let width = self.width(sort);
        let bits = (0..width).map(|at| self.circuit.constant(value >> at & 1 != 0));
        let fits =
            sort != Sort::Int || crate::number::wrap(Sort::Signed(self.int_bits), value) == value;
        (bits.collect(), self.circuit.constant(fits))
    }

    /// Computes an operation on `int` with enough bits to determine whether its result fits.
    fn exact(&mut self, node: TermNode, parts: &[Word]) -> (Word, Lit) {
        let circuit = &mut self.circuit;
        let width = usize::from(self.int_bits);
        let wide = |word: &Word| {
            let mut word = word.clone();
            word.push(word[width - 1]);
            word
        };
        let (true_bit, false_bit) = (circuit.true_bit(), circuit.false_bit());
        let (mut result, small) = match (node, parts) {
            (TermNode::Add(..), [a, b]) => (circuit.add(&wide(a), &wide(b), false_bit).0, true_bit),
            (TermNode::Sub(..), [a, b]) => (circuit.sub(&wide(a), &wide(b)), true_bit),
            (TermNode::Negate(_), [a]) => (circuit.negate(&wide(a)), true_bit),
            (TermNode::Div(..), [a, b]) => {
                (divide(circuit, Sort::Int, &wide(a), &wide(b)).0, true_bit)
            }
            (TermNode::Rem(..), [a, b]) => (divide(circuit, Sort::Int, a, b).1, true_bit),
            (TermNode::Mul(..), [a, b]) => {
                let (x, y) = (magnitude(circuit, a), magnitude(circuit, b));
                let product = circuit.mul(&x, &y, 2 * width);
                let small = circuit.all(&invert(&product[width..]));
                let mut low = product[..width].to_vec();
                low.push(false_bit);
                let minus = circuit.xor(a[width - 1], b[width - 1]);
                (with_sign(circuit, minus, &low), small)
            }
            _ => unreachable!("an operation on numbers"),
        };
        if result.len() == width {
            return (result, true_bit);
        }
        let top = result.pop().expect("one more bit");
        let fits = !circuit.xor(top, result[width - 1]);
        let exact = circuit.and(small, fits);
        (result, exact)
    }
}

fn less(circuit: &mut Circuit, sort: Sort, a: &[Lit], b: &[Lit]) -> Lit {
    match sort {
        Sort::Unsigned(_) => circuit.less(a, b),
        _ => circuit.less_signed(a, b),
    }
}

/// Computes a bit operation on two words.
fn bits(circuit: &mut Circuit, op: BitOp, sort: Sort, [a, b]: [&Word; 2]) -> Word {
    let pairs = a.iter().zip(b);
    match op {
        BitOp::And => pairs.map(|(&x, &y)| circuit.and(x, y)).collect(),
        BitOp::Or => pairs.map(|(&x, &y)| circuit.or(x, y)).collect(),
        BitOp::Xor => pairs.map(|(&x, &y)| circuit.xor(x, y)).collect(),
        BitOp::ShiftLeft => {
            let mut mirrored = a.clone();
            mirrored.reverse();
            let mut shifted = circuit.shift_right(&mirrored, b, circuit.false_bit());
            shifted.reverse();
            shifted
        }
        BitOp::ShiftRight => {
            let fill = match (sort, a.last()) {
                (Sort::Signed(_), Some(&sign)) => sign,
                _ => circuit.false_bit(),
            };
            circuit.shift_right(a, b, fill)
        }
    }
}

fn magnitude(circuit: &mut Circuit, a: &[Lit]) -> Word {
    let sign = *a.last().expect("a word has bits");
    with_sign(circuit, sign, a)
}

/// Returns `-a` if `minus`, otherwise `a`.
fn with_sign(circuit: &mut Circuit, minus: Lit, a: &[Lit]) -> Word {
    let negative = circuit.negate(a);
    circuit.choose_word(minus, &negative, a)
}

/// Computes quotient and remainder as the language defines them, with `x / 0 == 0` and
/// `x % 0 == x`.
fn divide(circuit: &mut Circuit, sort: Sort, a: &[Lit], b: &[Lit]) -> (Word, Word) {
    let zero = vec![circuit.false_bit(); a.len()];
    let by_zero = circuit.equal(b, &zero);
    let (quotient, rest) = if let Sort::Unsigned(_) = sort {
        circuit.divide(a, b)
    } else {
        let (x, y) = (magnitude(circuit, a), magnitude(circuit, b));
        let (quotient, rest) = circuit.divide(&x, &y);
        let (sign_a, sign_b) = (a[a.len() - 1], b[b.len() - 1]);
        let minus = circuit.xor(sign_a, sign_b);
        let quotient = with_sign(circuit, minus, &quotient);
        (quotient, with_sign(circuit, sign_a, &rest))
    };
    (circuit.choose_word(by_zero, &zero, &quotient), rest)
}
