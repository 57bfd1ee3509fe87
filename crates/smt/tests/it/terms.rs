//! Compares terms with an independent evaluator.

use crate::common::{Expr, VARIABLES, boolean, cases, variable};
use mazurka_smt::{Kind, Model, Sort, Term, Terms};
use proptest::prelude::*;

/// Every sort that the tests use.
fn sorts() -> impl Strategy<Value = Sort> {
    prop::sample::select(vec![
        Sort::Int,
        Sort::Signed(3),
        Sort::Signed(8),
        Sort::Unsigned(3),
        Sort::Unsigned(8),
        Sort::Signed(32),
        Sort::Unsigned(64),
        Sort::Signed(64),
    ])
}

/// Generates values for the variables of a sort: small values, and the extreme ones.
fn values(sort: Sort) -> impl Strategy<Value = Vec<i64>> {
    let any = prop_oneof![3 => -4i64..5, 1 => any::<i64>()];
    let fit = move |v: i64| match sort {
        Sort::Bool => v & 1,
        Sort::Int => v,
        Sort::Signed(bits) => v << (64 - bits) >> (64 - bits),
        Sort::Unsigned(bits) => ((v as u64) << (64 - bits) >> (64 - bits)) as i64,
    };
    prop::collection::vec(any.prop_map(fit), VARIABLES)
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn building_keeps_the_value(
        (formula, sort, numbers, truths) in sorts().prop_flat_map(|sort| {
            (boolean(sort, 4), Just(sort), values(sort), values(Sort::Bool))
        }),
    ) {
        let of = |sort: Sort, v: usize| if sort == Sort::Bool { truths[v] } else { numbers[v] };
        let mut terms = Terms::new();
        let term = formula.term(&mut terms);
        let mut model = Model::new();
        for v in 0..VARIABLES {
            model.set(variable(&mut terms, Sort::Bool, v), truths[v]);
            model.set(variable(&mut terms, sort, v), numbers[v]);
        }
        if let Some(value) = formula.eval(&of) {
            prop_assert_eq!(terms.eval(term, &model), Some(value), "{}", terms.show(term));
            let constants: Vec<(Term, Term)> = model
                .iter()
                .map(|(variable, value)| (variable, terms.constant(terms.sort(variable), value)))
                .collect();
            let closed = terms.substitute(term, |part| {
                constants.iter().find(|&&(variable, _)| variable == part).map(|&(_, constant)| constant)
            });
            // Results beyond 64 bits are not folded, so `closed` may have no value.
            if sort != Sort::Int || terms.value(closed).is_some() {
                prop_assert_eq!(terms.value(closed), Some(value), "{}", terms.show(term));
            }
            let simple = terms.simplify(term);
            let (before, after) = (terms.show(term), terms.show(simple));
            prop_assert_eq!(terms.eval(simple, &model), Some(value), "{} | {}", before, after);
        }
    }
}

/// Generates comparisons of few numbers with few constants, so that many imply or contradict each
/// other.
fn dense(sort: Sort) -> impl Strategy<Value = Expr> {
    let constant = move || (0i64..4).prop_map(move |value| Expr::Constant(sort, value));
    let x = move |v| Expr::Variable(sort, v);
    let binary = |operator, a, b| Expr::Binary(operator, Box::new(a), Box::new(b));
    let number = move || {
        prop_oneof![
            3 => Just(x(0)),
            1 => Just(x(1)),
            1 => Just(binary("-", x(0), x(1))),
            1 => Just(binary("-", x(1), x(0))),
            1 => constant().prop_map(move |c| binary("+", x(0), c)),
            1 => constant().prop_map(move |c| binary("*", x(1), c)),
        ]
    };
    let compare = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let side = prop_oneof![3 => constant().boxed(), 1 => number().boxed()];
    let literal = prop_oneof![
        6 => (compare, number(), side).prop_map(move |(o, a, b)| binary(o, a, b)),
        1 => (0..VARIABLES).prop_map(|v| Expr::Variable(Sort::Bool, v)),
    ];
    literal.prop_recursive(4, 24, 3, move |inner| {
        let connect = prop::sample::select(vec!["&&", "||"]);
        prop_oneof![
            4 => (connect, inner.clone(), inner.clone()).prop_map(move |(o, a, b)| binary(o, a, b)),
            1 => inner.prop_map(|a| Expr::Not(Box::new(a))),
        ]
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn simplifying_keeps_every_solution(
        (formulas, sort) in prop::sample::select(vec![Sort::Int, Sort::Signed(3), Sort::Unsigned(3)])
            .prop_flat_map(|sort| (prop::collection::vec(dense(sort), 1..5), Just(sort))),
    ) {
        let mut terms = Terms::new();
        let list: Vec<Term> = formulas.iter().map(|formula| formula.term(&mut terms)).collect();
        let whole = terms.all(list.iter().copied());
        let one = terms.simplify(whole);
        let simple = match terms.simplify_all(&list) {
            Some(list) => terms.all(list),
            None => Term::FALSE,
        };
        let names: Vec<Term> = (0..VARIABLES)
            .flat_map(|v| [variable(&mut terms, Sort::Bool, v), variable(&mut terms, sort, v)])
            .collect();
        let range = if sort == Sort::Unsigned(3) { 0..8 } else { -4..4 };
        let shown = (terms.show(whole), terms.show(simple), terms.show(one));
        for truths in 0..4 {
            for first in range.clone() {
                for second in range.clone() {
                    let values = [truths & 1, first, truths >> 1, second];
                    let model = names.iter().copied().zip(values).collect();
                    let value = terms.eval(whole, &model);
                    prop_assert_eq!(terms.eval(simple, &model), value, "{:?}", &shown);
                    prop_assert_eq!(terms.eval(one, &model), value, "{:?}", &shown);
                }
            }
        }
    }
}

fn x_and_y(terms: &mut Terms, sort: Sort) -> (Term, Term) {
    let x = terms.variable(Kind::Initial, "x", sort);
    (x, terms.variable(Kind::Initial, "y", sort))
}

#[test]
fn terms_are_printed_as_the_language_writes_them() {
    let mut terms = Terms::new();
    let (x, y) = x_and_y(&mut terms, Sort::Int);
    let flag = terms.variable(Kind::Initial, "flag", Sort::Bool);
    let minus_two = terms.constant(Sort::Int, -2);
    let three = terms.constant(Sort::Int, 3);

    let is = terms.equal(minus_two, x);
    let both = terms.and(flag, is);
    assert_eq!(terms.show(both), "flag && x == -2");
    let neither = terms.not(both);
    assert_eq!(terms.show(neither), "!(flag && x == -2)");
    let not = terms.not(is);
    let either = terms.or(flag, not);
    let all = terms.and(either, is);
    assert_eq!(terms.show(all), "(flag || x != -2) && x == -2");

    let difference = terms.sub(x, y);
    let nested = terms.sub(x, difference);
    assert_eq!(terms.show(nested), "x - (x - y)");
    let product = terms.mul(three, difference);
    assert_eq!(terms.show(product), "3 * (x - y)");
    let below = terms.less(minus_two, x);
    assert_eq!(terms.show(below), "x > -2");
    let moved = terms.add(x, minus_two);
    let quotient = terms.div(moved, y);
    assert_eq!(terms.show(quotient), "(x - 2) / y");
    let choice = terms.ite(flag, x, y);
    let sum = terms.add(choice, three);
    assert_eq!(terms.show(sum), "(if flag then x else y) + 3");
}

#[test]
fn an_order_does_not_move_over_the_sum_of_a_machine_type() {
    let mut terms = Terms::new();
    let (x, _) = x_and_y(&mut terms, Sort::Signed(8));
    let one = terms.constant(Sort::Signed(8), 1);
    let next = terms.add(x, one);
    let grows = terms.less(x, next);
    let wraps = Model::from_iter([(x, 127)]);
    assert_eq!(terms.eval(grows, &wraps), Some(0));

    let mut terms = Terms::new();
    let (x, _) = x_and_y(&mut terms, Sort::Int);
    let one = terms.constant(Sort::Int, 1);
    let next = terms.add(x, one);
    assert_eq!(terms.less(x, next), Term::TRUE);
}

#[test]
fn large_constants_are_terms_of_their_own() {
    let mut terms = Terms::new();
    let max = terms.constant(Sort::Unsigned(64), -1);
    assert_eq!(terms.show(max), "18446744073709551615");
    let most = terms.constant(Sort::Int, i64::MAX);
    assert_eq!(terms.value(most), Some(i64::MAX));
    // An `int` sum beyond 64 bits has no value.
    let one = terms.constant(Sort::Int, 1);
    let beyond = terms.add(most, one);
    assert_eq!(terms.value(beyond), None);
    assert_eq!(terms.eval(beyond, &Model::new()), None);
    let most = terms.constant(Sort::Signed(64), i64::MAX);
    let one = terms.constant(Sort::Signed(64), 1);
    let beyond = terms.add(most, one);
    assert_eq!(terms.value(beyond), Some(i64::MIN));
}

#[test]
fn arrays_are_read_and_written_by_a_term() {
    let mut terms = Terms::new();
    let (x, y) = x_and_y(&mut terms, Sort::Int);
    let mut array = [5, 6, 7].map(|value| terms.constant(Sort::Int, value));
    let nine = terms.constant(Sort::Int, 9);
    terms.store(&mut array, x, nine);
    let read = terms.select(&array, y);
    for (at, other, expected) in [(1, 1, 9), (1, 0, 5), (2, 1, 6), (2, 2, 9)] {
        let model = Model::from_iter([(x, at), (y, other)]);
        assert_eq!(terms.eval(read, &model), Some(expected));
    }
    let two = terms.constant(Sort::Int, 2);
    let known = terms.select(&array, two);
    assert_eq!(terms.show(known), "if x == 2 then 9 else 7");
}

#[test]
fn terms_may_be_deep() {
    let mut terms = Terms::new();
    let (x, y) = x_and_y(&mut terms, Sort::Signed(32));
    let mut deep = x;
    for _ in 0..200_000 {
        deep = terms.mul(deep, y);
        deep = terms.add(deep, x);
    }
    let model = Model::from_iter([(x, 1), (y, 1)]);
    assert_eq!(terms.eval(deep, &model), Some(200_001));
    assert_eq!(terms.variables_of(&[deep]), [x, y]);
    assert!(terms.show_within(deep, usize::MAX).len() > 1_000_000);
    let one = terms.constant(Sort::Signed(32), 1);
    let closed = terms.substitute(deep, |part| (part == x || part == y).then_some(one));
    assert_eq!(terms.value(closed), Some(200_001));
}

/// Returns the path condition of the guarded-command paper's traces over `flag` and `x`: the guard
/// of a label is evaluated in the state after the previous labels.
fn path(terms: &mut Terms, labels: &[&str]) -> String {
    let mut flag = terms.variable(Kind::Initial, "flag", Sort::Bool);
    let mut x = terms.variable(Kind::Initial, "x", Sort::Int);
    let [two, minus_one, zero] = [2, -1, 0].map(|value| terms.constant(Sort::Int, value));
    let mut path = Term::TRUE;
    for &label in labels {
        let guard = match label {
            "flag |> x := x + 2" => {
                x = terms.add(x, two);
                flag
            }
            "!flag |> x := x - 1" => {
                x = terms.add(x, minus_one);
                terms.not(flag)
            }
            "flag := !flag" => {
                flag = terms.not(flag);
                Term::TRUE
            }
            "x == 0 || flag |> x := 2 * x" => {
                let is_zero = terms.equal(x, zero);
                x = terms.mul(two, x);
                terms.or(is_zero, flag)
            }
            _ => unreachable!("{label}"),
        };
        path = terms.and(path, guard);
    }
    let path = terms.simplify(path);
    terms.show(path)
}

#[test]
fn the_path_conditions_of_examples_7_and_11() {
    let round = [
        "flag |> x := x + 2",
        "flag := !flag",
        "!flag |> x := x - 1",
        "flag := !flag",
    ];
    let double = "x == 0 || flag |> x := 2 * x";
    let with_double_at = |at: usize| {
        let mut labels = round.repeat(2);
        labels.insert(at, double);
        labels
    };
    let mut terms = Terms::new();
    assert_eq!(path(&mut terms, &with_double_at(8)), "flag");
    assert_eq!(path(&mut terms, &with_double_at(7)), "flag && x == -2");
    assert_eq!(path(&mut terms, &with_double_at(5)), "flag");
}

#[test]
fn conditions_become_simple() {
    let mut terms = Terms::new();
    let (x, y) = x_and_y(&mut terms, Sort::Int);
    let p = terms.variable(Kind::Initial, "p", Sort::Bool);
    let q = terms.variable(Kind::Initial, "q", Sort::Bool);
    let [two, three, five, six] = [2, 3, 5, 6].map(|value| terms.constant(Sort::Int, value));
    let check = |term: Term, terms: &mut Terms, expected: &str| {
        let simple = terms.simplify(term);
        assert_eq!(terms.show(simple), expected, "of {}", terms.show(term));
    };

    let (above_three, above_five) = (terms.less(three, x), terms.less(five, x));
    let both = terms.and(above_three, above_five);
    check(both, &mut terms, "x > 5");
    let one = terms.or(above_three, above_five);
    check(one, &mut terms, "x > 3");
    let at_most_six = terms.at_most(x, six);
    let pinned = terms.and(both, at_most_six);
    check(pinned, &mut terms, "x == 6");
    let below_three = terms.less(x, three);
    let nothing = terms.and(below_three, above_five);
    check(nothing, &mut terms, "false");
    let not_six = terms.unequal(x, six);
    let edge = terms.and(above_five, not_six);
    check(edge, &mut terms, "x >= 7");
    let hole = terms.and(above_three, not_six);
    check(hole, &mut terms, "x > 3 && x != 6");

    let twice = terms.mul(x, two);
    let odd = terms.equal(twice, five);
    check(odd, &mut terms, "false");
    let small = terms.less(twice, five);
    check(small, &mut terms, "x <= 2");
    let sum = terms.add(x, y);
    let back = terms.sub(sum, x);
    let is_five = terms.equal(back, five);
    check(is_five, &mut terms, "y == 5");
    let (less, same) = (terms.less(x, y), terms.equal(x, y));
    let never = terms.and(less, same);
    check(never, &mut terms, "false");

    let is_three = terms.equal(x, three);
    let larger = terms.less(x, y);
    let known = terms.and(is_three, larger);
    check(known, &mut terms, "x == 3 && y > 3");
    let (not_p, p_or_q) = (terms.not(p), terms.or(p, q));
    let unit = terms.and(p_or_q, not_p);
    check(unit, &mut terms, "q && !p");
    let chosen = terms.ite(p, x, y);
    let chosen = terms.equal(chosen, five);
    let settled = terms.and(p, chosen);
    check(settled, &mut terms, "p && x == 5");
}

#[test]
fn simplifying_ends_on_large_and_deep_conditions() {
    let mut terms = Terms::new();
    let mut deep = terms.variable(Kind::Initial, "p", Sort::Bool);
    let mut long = Term::TRUE;
    for k in 0..3000 {
        let x = terms.variable(Kind::Initial, &format!("x{k}"), Sort::Int);
        let bound = terms.constant(Sort::Int, k);
        let below = terms.less(x, bound);
        let not = terms.not(below);
        deep = terms.and(deep, below);
        deep = terms.or(deep, not);
        long = terms.and(below, long);
    }
    let whole = |terms: &Terms, term| terms.show_within(term, usize::MAX);
    let shown = whole(&terms, long);
    let simple = terms.simplify(long);
    assert_eq!(whole(&terms, simple), shown);
    let simple = terms.simplify(deep);
    assert!(whole(&terms, simple).len() <= whole(&terms, deep).len());
}
