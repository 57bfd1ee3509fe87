//! Prints terms in the syntax of the language.

use crate::{BitOp, Term, TermNode, Terms};

/// The precedence of the outermost operator, and the pieces of the text.
struct PrintedTerm {
    binds: u8,
    pieces: Vec<Piece>,
}

enum Piece {
    Text(String),
    /// A part, in parentheses if its precedence is below this one.
    Part(Term, u8),
}

const CHOICE: u8 = 0;
const OR: u8 = 1;
const AND: u8 = 2;
const COMPARE: u8 = 3;
const BIT_OR: u8 = 4;
const BIT_XOR: u8 = 5;
const BIT_AND: u8 = 6;
const SHIFT: u8 = 7;
const SUM: u8 = 8;
const PRODUCT: u8 = 9;
const UNARY: u8 = 10;
const ATOM: u8 = 11;

/// Longer texts end with an ellipsis. Shared parts of a term are printed at each occurrence, so the
/// text of a small term may be very long.
const MOST_SHOWN: usize = 20_000;

impl Terms {
    /// Returns the term in the syntax of the language, such as `flag && x == -2`. A long text is
    /// truncated.
    pub fn show(&self, term: Term) -> String {
        self.show_within(term, MOST_SHOWN)
    }

    /// Like `show`, but truncates the text after about `most` bytes.
    pub fn show_within(&self, term: Term, most: usize) -> String {
        let mut text = String::new();
        let mut todo = vec![Piece::Part(term, CHOICE)];
        while let Some(piece) = todo.pop() {
            if text.len() > most {
                text.push_str(" …");
                break;
            }
            match piece {
                Piece::Text(piece) => text.push_str(&piece),
                Piece::Part(term, at_least) => {
                    let shape = self.shape(term);
                    let parentheses = shape.binds < at_least;
                    if parentheses {
                        text.push('(');
                        todo.push(Piece::Text(")".to_owned()));
                    }
                    todo.extend(shape.pieces.into_iter().rev());
                }
            }
        }
        text
    }

    /// Returns the outermost operator of a term as text, with its parts still to be printed.
    fn shape(&self, term: Term) -> PrintedTerm {
        let text = |text: &str| Piece::Text(text.to_owned());
        let infix = |binds: u8, a, operator: &str, b, right: u8| PrintedTerm {
            binds,
            pieces: vec![
                Piece::Part(a, binds),
                Piece::Text(format!(" {operator} ")),
                Piece::Part(b, right),
            ],
        };
        let atom = |text: String| PrintedTerm {
            binds: ATOM,
            pieces: vec![Piece::Text(text)],
        };
        // The sides of a comparison are numbers; a constant is on the right.
        let compare = |a, operator: &str, mirrored: &str, b| {
            let (a, operator, b) = match self.value(a) {
                Some(_) => (b, mirrored, a),
                None => (a, operator, b),
            };
            PrintedTerm {
                binds: COMPARE,
                pieces: vec![
                    Piece::Part(a, BIT_OR),
                    Piece::Text(format!(" {operator} ")),
                    Piece::Part(b, BIT_OR),
                ],
            }
        };
        match self.node(term) {
            TermNode::Constant(value) => atom(self.sort(term).show(value)),
            TermNode::Variable(number) => atom(self.variables()[number as usize].name.clone()),
            TermNode::Not(inner) => match self.node(inner) {
                TermNode::Equal(a, b) => compare(a, "!=", "!=", b),
                _ => PrintedTerm {
                    binds: UNARY,
                    pieces: vec![text("!"), Piece::Part(inner, UNARY)],
                },
            },
            TermNode::Negate(inner) => PrintedTerm {
                binds: UNARY,
                pieces: vec![text("-"), Piece::Part(inner, ATOM)],
            },
            TermNode::And(a, b) => infix(AND, a, "&&", b, AND),
            TermNode::Or(a, b) => infix(OR, a, "||", b, OR),
            TermNode::Equal(a, b) => compare(a, "==", "==", b),
            TermNode::Less(a, b) => compare(a, "<", ">", b),
            TermNode::AtMost(a, b) => compare(a, "<=", ">=", b),
            TermNode::Add(a, b) => match self.value(b) {
                // `x + -1` is `x - 1`.
                Some(value) if value < 0 && value != i64::MIN && self.is_signed(b) => {
                    let mut shape = infix(SUM, a, "-", b, PRODUCT);
                    shape.pieces[2] = Piece::Text((-value).to_string());
                    shape
                }
                _ => infix(SUM, a, "+", b, PRODUCT),
            },
            TermNode::Sub(a, b) => infix(SUM, a, "-", b, PRODUCT),
            TermNode::Mul(a, b) => match self.value(b) {
                // `2 * x`, in the usual order.
                Some(_) => infix(PRODUCT, b, "*", a, UNARY),
                None => infix(PRODUCT, a, "*", b, UNARY),
            },
            TermNode::Bits(op, a, b) => {
                let (binds, sign) = match op {
                    BitOp::And => (BIT_AND, "&"),
                    BitOp::Or => (BIT_OR, "|"),
                    BitOp::Xor => (BIT_XOR, "^"),
                    BitOp::ShiftLeft => (SHIFT, "<<"),
                    BitOp::ShiftRight => (SHIFT, ">>"),
                };
                infix(binds, a, sign, b, binds + 1)
            }
            TermNode::Div(a, b) => infix(PRODUCT, a, "/", b, UNARY),
            TermNode::Rem(a, b) => infix(PRODUCT, a, "%", b, UNARY),
            TermNode::If(a, b, c) => PrintedTerm {
                binds: CHOICE,
                pieces: vec![
                    text("if "),
                    Piece::Part(a, OR),
                    text(" then "),
                    Piece::Part(b, OR),
                    text(" else "),
                    Piece::Part(c, CHOICE),
                ],
            },
        }
    }

    fn is_signed(&self, term: Term) -> bool {
        !matches!(self.sort(term), crate::Sort::Unsigned(_))
    }
}

#[cfg(test)]
mod tests {
    use super::MOST_SHOWN;
    use crate::{Kind, Sort, Terms};

    #[test]
    fn a_long_text_is_truncated() {
        let mut terms = Terms::default();
        let mut term = terms.variable(Kind::Initial, "x", Sort::Int);
        for _ in 0..60 {
            term = terms.mul(term, term);
        }
        let text = terms.show(term);
        assert!(text.ends_with(" …"), "{}", text.len());
        assert!(text.len() < MOST_SHOWN + 100, "{}", text.len());
    }
}
