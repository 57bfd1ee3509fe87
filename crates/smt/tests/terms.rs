//! Terms against an evaluation that knows nothing of them.

mod common;

use common::{VARIABLES, boolean, variable};
use mazurka_smt::{Kind, Model, Sort, Term, Terms};
use proptest::prelude::*;

/// Every sort that the tests go through.
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

/// Values for the variables of a sort: small ones, and those at the ends.
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
    #![proptest_config(ProptestConfig::with_cases(4000))]

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
        // Simplifying may remove what lies beyond 64 bits; it never adds it or changes a value.
        if let Some(value) = formula.eval(&of) {
            prop_assert_eq!(terms.eval(term, &model), Some(value), "{}", terms.show(term));
            let constants: Vec<(Term, Term)> = model
                .iter()
                .map(|(variable, value)| (variable, terms.constant(terms.sort(variable), value)))
                .collect();
            let closed = terms.substitute(term, |part| {
                constants.iter().find(|&&(variable, _)| variable == part).map(|&(_, constant)| constant)
            });
            prop_assert_eq!(terms.value(closed), Some(value), "{}", terms.show(term));
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
    // Beyond 64 bits there is no value, and no wrong one.
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
    assert!(terms.show(deep).len() > 1_000_000);
    let one = terms.constant(Sort::Signed(32), 1);
    let closed = terms.substitute(deep, |part| (part == x || part == y).then_some(one));
    assert_eq!(terms.value(closed), Some(200_001));
}
