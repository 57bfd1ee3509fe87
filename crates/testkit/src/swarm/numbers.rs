//! Conditions on unknown numbers that are hard for a solver: large constants, products, remainders.
//! The generator first picks a value, and then makes conditions that this value satisfies or
//! violates. The value is not in the text of the program. The oracle finds it by solving simple
//! equations (oracle/guess.rs).

use super::{Name, TreeBuilder, binary};
use crate::oracle::ast::{Expr, Init, ItemKind, Kind, Op, Stmt, Ty};

/// A term over an unknown number, and the value of the term if the number has the picked value.
struct Term {
    term: Expr,
    value_of_term: i128,
}

impl TreeBuilder {
    /// Returns a value of this type, of any magnitude.
    fn picked(&mut self, ty: Ty) -> i128 {
        let bits = [3, 8, 31, 32, 40, 61][self.rng.below(6)];
        let value = i128::from(self.rng.bits() >> (64 - bits)) | (1 << (bits - 1));
        let (low, high) = ty.range();
        let value = value.clamp(low / 4, high / 4);
        if low < 0 && self.rng.percent(30) {
            -value
        } else {
            value
        }
    }

    /// Returns a term whose value is known and stays within its type.
    fn term(&mut self, name: &str, ty: Ty, value: i128) -> Term {
        let x = || Expr::Name(name.to_owned());
        let small = 2 + self.rng.below(6) as i128;
        let (low, high) = ty.range();
        let large = (1 + i128::from(self.rng.bits() >> 30)).min(high / 2);
        let (term, value_of_term) = match self.rng.below(7) {
            0 => (binary(Op::Add, binary(Op::Add, x(), x()), x()), 3 * value),
            1 => (binary(Op::Mul, x(), Expr::Num(small)), small * value),
            2 if value.abs() < 1 << 31 => (binary(Op::Mul, x(), x()), value * value),
            3 => (binary(Op::Rem, x(), Expr::Num(small)), value % small),
            4 => (binary(Op::Div, x(), Expr::Num(small)), value / small),
            5 => {
                let twice = binary(Op::Mul, x(), Expr::Num(2));
                (binary(Op::Sub, twice, Expr::Num(large)), 2 * value - large)
            }
            _ => (binary(Op::Add, x(), Expr::Num(large)), value + large),
        };
        // Its value plus one must fit, too.
        if low < value_of_term && value_of_term < high {
            Term {
                term,
                value_of_term,
            }
        } else {
            Term {
                term: x(),
                value_of_term: value,
            }
        }
    }

    /// Returns a condition that the value satisfies.
    fn satisfied(&mut self, name: &str, ty: Ty, value: i128) -> Expr {
        let Term {
            term,
            value_of_term,
        } = self.term(name, ty, value);
        let (op, than) = match self.rng.below(6) {
            0 => (Op::Ge, value_of_term),
            1 => (Op::Le, value_of_term),
            2 => (Op::Ne, value_of_term + 1),
            _ => (Op::Eq, value_of_term),
        };
        binary(op, term, Expr::Num(than))
    }

    /// Returns a condition that no value satisfies: it compares one term twice, and the two
    /// comparisons contradict each other.
    fn contradiction(&mut self, name: &str, ty: Ty, value: i128) -> Expr {
        let Term {
            term,
            value_of_term,
        } = self.term(name, ty, value);
        let one = binary(Op::Eq, term.clone(), Expr::Num(value_of_term));
        let other = if self.rng.percent(50) {
            binary(Op::Eq, term, Expr::Num(value_of_term + 1))
        } else {
            binary(Op::Ne, term, Expr::Num(value_of_term))
        };
        binary(Op::And, one, other)
    }

    /// Returns a condition. In three of four cases the picked value violates it; otherwise all
    /// values satisfy it.
    fn claim(&mut self, name: &str, ty: Ty, value: i128) -> Expr {
        let Term {
            term,
            value_of_term,
        } = self.term(name, ty, value);
        match self.rng.below(4) {
            0 => {
                let less = binary(Op::Lt, term.clone(), Expr::Num(value_of_term));
                binary(Op::Or, less, binary(Op::Ge, term, Expr::Num(value_of_term)))
            }
            _ => binary(Op::Ne, term, Expr::Num(value_of_term)),
        }
    }

    /// Declares an unknown shared number, with `requires` and `ensures`, in some programs.
    pub(super) fn hard_start(&mut self, items: &mut Vec<ItemKind>) {
        self.unknowns = 0;
        if self.rng.percent(50) {
            self.unknowns = 1;
            return;
        }
        let name = "w".to_string();
        let ty = self.wide();
        let value = self.picked(ty);
        items.push(ItemKind::Var(vec![name.clone()], ty, None, None));
        if self.rng.percent(60) {
            let required = if self.rng.percent(15) {
                self.contradiction(&name, ty, value)
            } else {
                self.satisfied(&name, ty, value)
            };
            items.push(ItemKind::Requires(None, required));
        }
        let claim = self.claim(&name, ty, value);
        items.push(ItemKind::Ensures(None, claim));
        self.shared.push(Name {
            name,
            ty,
            len: None,
        });
    }

    fn wide(&mut self) -> Ty {
        [Ty::Int, Ty::Int, Ty::Signed(64), Ty::Signed(32)][self.rng.below(4)]
    }

    /// Returns `let l = input(int); assume …; assert …`, or nothing if a shared number is unknown.
    pub(super) fn hard_input(&mut self) -> Vec<Kind> {
        if self.unknowns == 0 {
            return Vec::new();
        }
        self.unknowns = 0;
        let ty = self.wide();
        let (name, value) = (self.fresh("l"), self.picked(ty));
        let input = Init::One(Expr::Input(Some(ty)));
        let mut all = vec![Kind::Let(name.clone(), None, None, input)];
        if self.rng.percent(70) {
            all.push(Kind::Assume(self.satisfied(&name, ty, value)));
        }
        all.push(match self.rng.below(4) {
            0 => {
                let test = self.satisfied(&name, ty, value);
                Kind::If(test, vec![Stmt::new(Kind::Error(None))], Vec::new())
            }
            1 => Kind::Error(None),
            _ => Kind::Assert(self.claim(&name, ty, value), None),
        });
        all
    }
}
