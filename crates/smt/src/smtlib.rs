//! Writes queries in SMT-LIB 2.6, and parses the values in the answers.
//!
//! Every part of a term becomes a separate definition, which preserves sharing and avoids deep
//! nesting. Variables are called `v0`, `v1`, … by their numbers; their names are comments.

use std::fmt::Write;

use rustc_hash::FxHashSet;

use crate::{BitOp, Sort, Term, TermNode, Terms, number};

/// Returns the declarations, definitions and assertions of a query.
pub(crate) fn script(terms: &Terms, constraints: &[Term]) -> String {
    let mut text = definitions(terms, &terms.parts_of(constraints));
    for &constraint in constraints {
        let _ = writeln!(text, "(assert {})", name(terms, constraint));
    }
    text
}

/// Returns a script like `script`, with quantified conditions. An element of `universal` is a
/// variable, and a condition that must hold for all values of this variable. Parts that depend on
/// the variable are defined under its quantifier.
pub(crate) fn quantified(
    terms: &Terms,
    constraints: &[Term],
    universal: &[(Term, Term)],
) -> String {
    let bound: FxHashSet<Term> = universal.iter().map(|&(variable, _)| variable).collect();
    let roots: Vec<Term> = universal.iter().map(|&(_, body)| body).collect();
    let roots: Vec<Term> = constraints.iter().copied().chain(roots).collect();
    let mut inside = bound;
    let mut outside = Vec::new();
    for part in terms.parts_of(&roots) {
        // Parts come before the terms that contain them.
        if inside.contains(&part) || terms.node(part).parts().any(|p| inside.contains(&p)) {
            inside.insert(part);
        } else {
            outside.push(part);
        }
    }
    let mut text = definitions(terms, &outside);
    for &constraint in constraints {
        let _ = writeln!(text, "(assert {})", name(terms, constraint));
    }
    for &(variable, condition) in universal {
        let mut own = terms.parts_of(&[condition]);
        own.retain(|&part| inside.contains(&part) && part != variable);
        let _ = write!(
            text,
            "(assert (forall (({} {})) ",
            name(terms, variable),
            sort(terms.sort(variable))
        );
        for &part in &own {
            let _ = write!(
                text,
                "(let (({} {})) ",
                name(terms, part),
                body(terms, terms.node(part))
            );
        }
        let _ = write!(text, "{}", name(terms, condition));
        let _ = writeln!(text, "{}", ")".repeat(own.len() + 2));
    }
    text
}

/// Returns the declarations of variables and the definitions of all other parts.
fn definitions(terms: &Terms, parts: &[Term]) -> String {
    let mut text = String::new();
    for &part in parts {
        match terms.node(part) {
            TermNode::Constant(_) => {}
            TermNode::Variable(number) => {
                let name = terms.variables()[number as usize].name.replace('\n', " ");
                let sort = sort(terms.sort(part));
                let _ = writeln!(text, "(declare-const v{number} {sort}) ; {name}");
            }
            node => {
                let sort = sort(terms.sort(part));
                let body = body(terms, node);
                let _ = writeln!(text, "(define-fun {} () {sort} {body})", name(terms, part));
            }
        }
    }
    text
}

fn sort(sort: Sort) -> String {
    match sort {
        Sort::Bool => "Bool".to_owned(),
        Sort::Int => "Int".to_owned(),
        Sort::Signed(bits) | Sort::Unsigned(bits) => format!("(_ BitVec {bits})"),
    }
}

/// Returns the name of a term where it is used.
pub(crate) fn name(terms: &Terms, term: Term) -> String {
    match terms.node(term) {
        TermNode::Constant(value) => constant(terms.sort(term), value),
        TermNode::Variable(number) => format!("v{number}"),
        _ => format!("{term:?}"),
    }
}

fn constant(sort: Sort, value: i64) -> String {
    match sort {
        Sort::Bool => (value != 0).to_string(),
        Sort::Int if value < 0 => format!("(- {})", value.unsigned_abs()),
        Sort::Int => value.to_string(),
        Sort::Signed(bits) | Sort::Unsigned(bits) => {
            let value = number::wrap(Sort::Unsigned(bits), value) as u64;
            format!("(_ bv{value} {bits})")
        }
    }
}

/// Returns the expression for a node, over the names of its parts.
fn body(terms: &Terms, node: TermNode) -> String {
    let of = |part| name(terms, part);
    let sort = node.parts().next().map(|part| terms.sort(part));
    // `names`: the operator for `int` and `bool`, for signed numbers, and for unsigned ones.
    let by_sort = |names: [&'static str; 3]| match sort {
        Some(Sort::Signed(_)) => names[1],
        Some(Sort::Unsigned(_)) => names[2],
        _ => names[0],
    };
    let binary = |names, a, b| format!("({} {} {})", by_sort(names), of(a), of(b));
    match node {
        TermNode::Constant(_) | TermNode::Variable(_) => unreachable!("they have names"),
        TermNode::Not(a) => format!("(not {})", of(a)),
        TermNode::And(a, b) => binary(["and"; 3], a, b),
        TermNode::Or(a, b) => binary(["or"; 3], a, b),
        TermNode::Equal(a, b) => binary(["="; 3], a, b),
        TermNode::Less(a, b) => binary(["<", "bvslt", "bvult"], a, b),
        TermNode::AtMost(a, b) => binary(["<=", "bvsle", "bvule"], a, b),
        TermNode::Add(a, b) => binary(["+", "bvadd", "bvadd"], a, b),
        TermNode::Sub(a, b) => binary(["-", "bvsub", "bvsub"], a, b),
        TermNode::Mul(a, b) => binary(["*", "bvmul", "bvmul"], a, b),
        TermNode::Bits(op, a, b) => {
            let names = match op {
                BitOp::And => ["", "bvand", "bvand"],
                BitOp::Or => ["", "bvor", "bvor"],
                BitOp::Xor => ["", "bvxor", "bvxor"],
                BitOp::ShiftLeft => ["", "bvshl", "bvshl"],
                BitOp::ShiftRight => ["", "bvashr", "bvlshr"],
            };
            binary(names, a, b)
        }
        TermNode::Negate(a) => format!("({} {})", by_sort(["-", "bvneg", "bvneg"]), of(a)),
        TermNode::If(a, b, c) => format!("(ite {} {} {})", of(a), of(b), of(c)),
        TermNode::Div(a, b) => total(terms, &QUOTIENT, a, b, None),
        TermNode::Rem(a, b) => total(terms, &REMAINDER, a, b, Some(a)),
    }
}

/// The name of a division for each kind of number.
struct Division {
    int: &'static str,
    signed: &'static str,
    unsigned: &'static str,
}

const QUOTIENT: Division = Division {
    int: "div",
    signed: "bvsdiv",
    unsigned: "bvudiv",
};

const REMAINDER: Division = Division {
    int: "mod",
    signed: "bvsrem",
    unsigned: "bvurem",
};

/// Returns a division as the language defines it. In SMT-LIB the remainder is never negative, so
/// `div` and `mod` agree with the language if the dividend is not negative.
fn total(terms: &Terms, by: &Division, a: Term, b: Term, by_zero: Option<Term>) -> String {
    let Division {
        int,
        signed,
        unsigned,
    } = by;
    let sort = terms.sort(a);
    let zero = constant(sort, 0);
    let (x, y) = (name(terms, a), name(terms, b));
    let quotient = match sort {
        Sort::Signed(_) => format!("({signed} {x} {y})"),
        Sort::Unsigned(_) => format!("({unsigned} {x} {y})"),
        _ => format!("(ite (>= {x} 0) ({int} {x} {y}) (- ({int} (- {x}) {y})))"),
    };
    let by_zero = by_zero.map_or(zero.clone(), |term| name(terms, term));
    format!("(ite (= {y} {zero}) {by_zero} {quotient})")
}

/// Parses the values in an answer to `get-value`, in order: `((v0 #b01) (v1 (- 2)) (v2 true))`.
/// Returns `None` for any other text, and `Err` for a number beyond 64 bits.
pub(crate) fn values(answer: &str, sorts: &[Sort]) -> Option<Result<Vec<i64>, TooLarge>> {
    let spaced = answer.replace('(', " ( ").replace(')', " ) ");
    let mut tokens = spaced.split_whitespace();
    let expect = |wanted: &str, tokens: &mut std::str::SplitWhitespace<'_>| {
        (tokens.next()? == wanted).then_some(())
    };
    expect("(", &mut tokens)?;
    let mut values = Vec::new();
    let mut too_large = false;
    for &sort in sorts {
        expect("(", &mut tokens)?;
        tokens.next()?;
        let mut number = Vec::new();
        let mut depth = 0;
        loop {
            match tokens.next()? {
                ")" if depth == 0 => break,
                ")" => depth -= 1,
                "(" => depth += 1,
                token => number.push(token),
            }
        }
        match value(&number)? {
            Ok(value) => values.push(number::wrap(sort, value)),
            Err(TooLarge) => too_large = true,
        }
    }
    Some(if too_large { Err(TooLarge) } else { Ok(values) })
}

/// An `int` that does not fit into 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

/// Parses one value without its parentheses.
fn value(tokens: &[&str]) -> Option<Result<i64, TooLarge>> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let decimal = |text: &str, minus: bool| {
        let parsed = text
            .parse::<i128>()
            .ok()
            .map(|n| if minus { -n } else { n });
        parsed.and_then(|n| i64::try_from(n).ok()).ok_or(TooLarge)
    };
    let bits = |text: &str, radix| u64::from_str_radix(text, radix).ok().map(|n| Ok(n as i64));
    match *tokens {
        ["true"] => Some(Ok(1)),
        ["false"] => Some(Ok(0)),
        ["-", number] if digits(number) => Some(decimal(number, true)),
        ["_", number, _] => number.strip_prefix("bv").and_then(|n| bits(n, 10)),
        [number] if digits(number) => Some(decimal(number, false)),
        [number] => match number.strip_prefix("#x") {
            Some(number) => bits(number, 16),
            None => number.strip_prefix("#b").and_then(|n| bits(n, 2)),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let sorts = [
            Sort::Bool,
            Sort::Int,
            Sort::Signed(8),
            Sort::Unsigned(8),
            Sort::Signed(3),
        ];
        let answer = "((v0 true) (v1 (- 2))\\n (v2 #xff) (v3 #xff) (v4 (_ bv7 3)))";
        let answer = answer.replace("\\n", "\n");
        assert_eq!(values(&answer, &sorts), Some(Ok(vec![1, -2, -1, 255, -1])));
        assert_eq!(
            values("((v0 #b101))", &[Sort::Unsigned(3)]),
            Some(Ok(vec![5]))
        );
        let large = "((v0 9223372036854775808))";
        assert_eq!(values(large, &[Sort::Int]), Some(Err(TooLarge)));
        let least = "((v0 (- 9223372036854775808)))";
        assert_eq!(values(least, &[Sort::Int]), Some(Ok(vec![i64::MIN])));
        for wrong in ["", "(", "((v0", "((v0 (error))", "((v0 1.5))", "((v0 #z))"] {
            assert_eq!(values(wrong, &[Sort::Int]), None, "{wrong}");
        }
    }
}
