//! Chooses which values to try for unknown numbers, and recognises conditions that no value
//! satisfies.
//!
//! A type of more than 8 bits has too many values to try them all. Where the text compares two
//! terms, the interesting values are those that make them equal, and their neighbours. To solve
//! such an equation, all names in it are taken for the same unknown. This may be wrong, but a guess
//! need not be right.

use super::ast::{Child, Expr, Init, ItemKind, Kind, Op, Program, Stmt};

/// Maximum number of values in addition to the usual ones.
const MOST: usize = 30;

/// Returns the values to try in addition to the usual ones; empty if no unknown number has more
/// than 8 bits.
pub(super) fn guesses(program: &Program) -> Vec<i128> {
    let mut guesser = Guesser::default();
    for item in &program.items {
        guesser.item(&item.kind);
    }
    if guesser.unknowns == 0 {
        return Vec::new();
    }
    let mut all = guesser.values;
    all.retain(|value| i64::try_from(*value).is_ok());
    all.sort_unstable_by_key(|value| (value.unsigned_abs() < 5, value.unsigned_abs(), *value));
    all.dedup();
    // With several unknowns, all combinations of these values are tried.
    all.truncate(MOST / guesser.unknowns);
    all
}

#[derive(Default)]
struct Guesser {
    values: Vec<i128>,
    /// The number of unknowns of more than 8 bits.
    unknowns: usize,
}

impl Guesser {
    fn item(&mut self, item: &ItemKind) {
        match item {
            ItemKind::Var(names, ty, _, None) if wide(*ty) => self.unknowns += names.len(),
            ItemKind::Requires(_, e)
            | ItemKind::Invariant(_, e)
            | ItemKind::Ensures(_, e)
            | ItemKind::Cover(_, e) => {
                self.expr(e);
            }
            ItemKind::Proc(.., body) | ItemKind::Process(.., body) => self.all(body),
            _ => {}
        }
    }

    fn all(&mut self, body: &[Stmt]) {
        for stmt in body {
            self.stmt(&stmt.kind);
        }
    }

    fn stmt(&mut self, kind: &Kind) {
        match kind {
            Kind::Assign(_, values) | Kind::Call(_, values) => self.exprs(values),
            Kind::Let(.., Init::One(value)) => self.expr(value),
            Kind::Let(.., Init::List(values)) => self.exprs(values),
            Kind::Await(test) | Kind::Assume(test) | Kind::Assert(test, _) => self.expr(test),
            Kind::Guard(test, inner) | Kind::GuardedLoop(test, inner) => {
                self.expr(test);
                self.stmt(&inner.kind);
            }
            Kind::Choice(one, test, other) => {
                self.expr(test);
                self.stmt(&one.kind);
                self.stmt(&other.kind);
            }
            Kind::If(test, yes, no) => {
                self.expr(test);
                self.all(yes);
                self.all(no);
            }
            Kind::While(test, _, _, body) => {
                self.expr(test);
                self.all(body);
            }
            Kind::For(.., body) | Kind::Atomic(body) | Kind::Seq(body) => self.all(body),
            Kind::Spawn(_, Child::Block(body)) => self.all(body),
            Kind::Spawn(_, Child::Call(_, values)) => self.exprs(values),
            _ => {}
        }
    }

    fn exprs(&mut self, all: &[Expr]) {
        all.iter().for_each(|e| self.expr(e));
    }

    fn expr(&mut self, e: &Expr) {
        match e {
            Expr::Input(ty) => self.unknowns += usize::from(ty.is_none_or(wide)),
            Expr::Not(inner) | Expr::Neg(inner) => self.expr(inner),
            Expr::Bin(op, left, right) => {
                if op.compares() {
                    for at in solutions(left, right) {
                        self.values.extend([at - 1, at, at + 1]);
                    }
                }
                self.expr(left);
                self.expr(right);
            }
            Expr::If(test, yes, no) => {
                self.expr(test);
                self.expr(yes);
                self.expr(no);
            }
            _ => {}
        }
    }
}

fn wide(ty: super::ast::Ty) -> bool {
    let (low, high) = ty.range();
    high - low >= 256
}

/// Returns values at which the two sides may be equal.
fn solutions(left: &Expr, right: &Expr) -> Vec<i128> {
    match (constant(left), constant(right)) {
        (Some(worth), None) => inverse(right, worth),
        (None, Some(worth)) => inverse(left, worth),
        _ => match (linear(left), linear(right)) {
            (Some((a, b)), Some((c, d))) if a != c => vec![(d - b) / (a - c)],
            _ => Vec::new(),
        },
    }
}

/// Returns values at which the term may have this value.
fn inverse(term: &Expr, worth: i128) -> Vec<i128> {
    if let Some((a, b)) = linear(term) {
        return match a {
            0 => Vec::new(),
            _ => vec![(worth - b) / a],
        };
    }
    let Expr::Bin(op, left, right) = term else {
        return Vec::new();
    };
    match (op, constant(left), constant(right)) {
        (Op::Add, None, Some(k)) => inverse(left, worth - k),
        (Op::Add, Some(k), None) => inverse(right, worth - k),
        (Op::Sub, None, Some(k)) => inverse(left, worth - k),
        (Op::Sub, Some(k), None) => inverse(right, k - worth),
        (Op::Div, None, Some(k)) => worth.checked_mul(k).into_iter().collect(),
        (Op::Rem, None, Some(k)) => vec![worth, worth + k, worth - k],
        (Op::Mul, None, None) if worth >= 0 => {
            let root = worth.isqrt();
            vec![root, -root]
        }
        _ => Vec::new(),
    }
}

fn constant(e: &Expr) -> Option<i128> {
    linear(e).filter(|(a, _)| *a == 0).map(|(_, b)| b)
}

/// Returns `(a, b)` if the term has the form `a * x + b`.
fn linear(e: &Expr) -> Option<(i128, i128)> {
    let small = |value: i128| (value.unsigned_abs() < 1 << 70).then_some(value);
    let (a, b) = match e {
        Expr::Num(value) => (0, *value),
        Expr::Name(_) | Expr::Index(..) | Expr::Input(_) => (1, 0),
        Expr::Neg(inner) => {
            let (a, b) = linear(inner)?;
            (-a, -b)
        }
        Expr::Bin(op, left, right) => {
            let ((a, b), (c, d)) = (linear(left)?, linear(right)?);
            match op {
                Op::Add => (a + c, b + d),
                Op::Sub => (a - c, b - d),
                Op::Mul if c == 0 => (a.checked_mul(d)?, b.checked_mul(d)?),
                Op::Mul if a == 0 => (c.checked_mul(b)?, d.checked_mul(b)?),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some((small(a)?, small(b)?))
}

/// Whether two conjuncts of the requirements compare the same term with constants such that no
/// value satisfies both. If this is false, the requirements may still contradict each other in
/// another way.
pub(super) fn contradiction(program: &Program) -> bool {
    let mut parts = Vec::new();
    for item in &program.items {
        if let ItemKind::Requires(_, e) = &item.kind {
            conjuncts(e, &mut parts);
        }
    }
    let limits: Vec<_> = parts.iter().filter_map(|part| limit(part)).collect();
    limits.iter().enumerate().any(|(at, (term, op, worth))| {
        let before = limits[..at].iter().filter(|(other, ..)| other == term);
        before.into_iter().any(|(_, with, other)| {
            let around = [*worth, *other].into_iter().flat_map(|v| [v - 1, v, v + 1]);
            let both = |v: i128| holds(v, *op, *worth) && holds(v, *with, *other);
            !around.into_iter().any(both)
        })
    })
}

fn conjuncts<'a>(e: &'a Expr, parts: &mut Vec<&'a Expr>) {
    match e {
        Expr::Bin(Op::And, left, right) => {
            conjuncts(left, parts);
            conjuncts(right, parts);
        }
        _ => parts.push(e),
    }
}

/// Splits a comparison of a term with a constant number into its parts; `None` for other
/// expressions.
fn limit(e: &Expr) -> Option<(&Expr, Op, i128)> {
    match e {
        Expr::Bin(op, term, than) if op.compares() => Some((term, *op, constant(than)?)),
        _ => None,
    }
}

fn holds(value: i128, op: Op, than: i128) -> bool {
    match op {
        Op::Eq => value == than,
        Op::Ne => value != than,
        Op::Lt => value < than,
        Op::Le => value <= than,
        Op::Gt => value > than,
        _ => value >= than,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Answer, Limits, judge, parse};
    use super::{contradiction, guesses};

    #[test]
    fn solutions_of_comparisons_are_tried() {
        let guesses_for = |text: &str| guesses(&parse(text).unwrap());
        let sum = guesses_for("var x: int ensures x + x + x != 7500000000 process { skip }");
        assert!(sum.contains(&2_500_000_000), "{sum:?}");
        let square = guesses_for("process { let a = input(int); assume a * a == 9000000 }");
        assert!(square.contains(&3000) && square.contains(&-3000));
        let both = guesses_for("var x: i64 requires x * 2 - 5 == x + 70000 process { skip }");
        assert!(both.contains(&70_005));
        assert!(guesses_for("var x: i8 ensures x != 100 process { skip }").is_empty());
    }

    #[test]
    fn a_violation_by_a_large_value_is_known() {
        let text = "var x: int ensures x + x + x != 7500000000 process { skip }";
        let Answer::Truth(truth) = judge(text, &Limits::default()) else {
            panic!("no answer")
        };
        assert!(!truth.exact && truth.failures.len() == 1);
    }

    #[test]
    fn an_int_that_leaves_64_bits_has_no_answer() {
        let text =
            "var x: int requires x > 9000000000000000000 ensures x + x == x process { skip }";
        let Answer::Truth(truth) = judge(text, &Limits::default()) else {
            panic!("no answer")
        };
        assert!(truth.failures.is_empty());
    }

    #[test]
    fn contradictions_in_the_text_are_found() {
        let guesses_for = |e: &str| {
            let text = format!("var x: int requires {e} process {{ skip }}");
            (
                contradiction(&parse(&text).unwrap()),
                judge(&text, &Limits::default()) == Answer::Impossible,
            )
        };
        assert_eq!(guesses_for("x % 2 == 1 && x % 2 == 0"), (true, true));
        assert_eq!(guesses_for("x > 3 && x * 7 != 1 && x < 4"), (true, true));
        assert_eq!(guesses_for("x > 3 && x < 5"), (false, false));
        // No tried value satisfies it, but some value does: there is no answer.
        let hard = "x * x * x == 1000000000000000000 && x % 10 == 0";
        assert_eq!(guesses_for(hard), (false, false));
    }
}
