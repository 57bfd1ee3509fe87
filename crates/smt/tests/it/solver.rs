//! Compares solvers with brute force.

use crate::common::{Expr, VARIABLES, boolean, cases, variable};
use mazurka_smt::{Answer, Embedded, Kind, Model, Solver, Sort, Term, Terms, Why};
use proptest::prelude::*;

/// Returns every value of a small sort; for `int`, a small range.
fn domain(sort: Sort) -> std::ops::Range<i64> {
    match sort {
        Sort::Bool => 0..2,
        Sort::Int => -4..5,
        Sort::Signed(bits) => -(1 << (bits - 1))..1 << (bits - 1),
        Sort::Unsigned(bits) => 0..1 << bits,
    }
}

/// Whether some values of the variables make all formulas true.
fn brute(formulas: &[Expr], sort: Sort) -> bool {
    let bools = 1 << VARIABLES;
    (0..bools).any(|bools: i64| {
        domain(sort).any(|first| {
            domain(sort).any(|second| {
                let of = |sort: Sort, v: usize| match sort {
                    Sort::Bool => bools >> v & 1,
                    _ => [first, second][v],
                };
                formulas.iter().all(|formula| formula.eval(&of) == Some(1))
            })
        })
    })
}

/// Returns `-4 <= x < 5` for the variables of sort `int`.
fn within_domain(terms: &mut Terms) -> Vec<Term> {
    let range = domain(Sort::Int);
    let low = terms.constant(Sort::Int, range.start);
    let high = terms.constant(Sort::Int, range.end);
    let mut bounds = Vec::new();
    for v in 0..VARIABLES {
        let x = variable(terms, Sort::Int, v);
        bounds.push(terms.at_most(low, x));
        bounds.push(terms.less(x, high));
    }
    bounds
}

fn small_sorts() -> impl Strategy<Value = Sort> {
    let sorts = [
        Sort::Int,
        Sort::Signed(3),
        Sort::Unsigned(3),
        Sort::Signed(4),
        Sort::Unsigned(1),
    ];
    prop::sample::select(sorts.to_vec())
}

proptest! {
    #![proptest_config(cases(600))]

    /// Passes growing prefixes to one solver, so that it works incrementally.
    #[test]
    fn the_embedded_solver_agrees_with_brute_force(
        (formulas, sort) in small_sorts().prop_flat_map(|sort| {
            (prop::collection::vec(boolean(sort, 3), 1..4), Just(sort))
        }),
    ) {
        let mut terms = Terms::new();
        let mut solver = Embedded::default();
        let mut constraints = if sort == Sort::Int { within_domain(&mut terms) } else { Vec::new() };
        for count in 1..=formulas.len() {
            constraints.push(formulas[count - 1].term(&mut terms));
            let expected = brute(&formulas[..count], sort);
            match solver.check(&mut terms, &constraints) {
                Answer::Sat(model) => {
                    prop_assert!(expected, "{constraints:?}");
                    let of = |sort: Sort, v: usize| model.get(variable(&mut terms.clone(), sort, v)).unwrap_or(0);
                    prop_assert!(formulas[..count].iter().all(|f| f.eval(&of) == Some(1)));
                }
                Answer::Unsat => prop_assert!(!expected, "{}", terms.show(constraints[count - 1])),
                Answer::Unknown(why) => prop_assert!(false, "{why}"),
            }
        }
    }
}

/// Returns `x*y == 1452 && x > y && x/2 == 5` over `i32`.
fn thesis(terms: &mut Terms) -> (Term, Term, [Term; 3]) {
    let sort = Sort::Signed(32);
    let x = terms.variable(Kind::Input, "x", sort);
    let y = terms.variable(Kind::Input, "y", sort);
    let product = terms.mul(x, y);
    let half = terms.constant(sort, 2);
    let half = terms.div(x, half);
    let (wanted, five) = (terms.constant(sort, 1452), terms.constant(sort, 5));
    let constraints = [
        terms.equal(product, wanted),
        terms.greater(x, y),
        terms.equal(half, five),
    ];
    (x, y, constraints)
}

#[test]
fn the_example_of_the_thesis_has_one_solution() {
    let mut terms = Terms::new();
    let (x, y, constraints) = thesis(&mut terms);
    let mut solver = Embedded::default();
    let Answer::Sat(model) = solver.check(&mut terms, &constraints) else {
        panic!("there is a solution");
    };
    assert_eq!((model.get(x), model.get(y)), (Some(10), Some(-858_993_314)));
    let ten = terms.constant(Sort::Signed(32), 10);
    let other = terms.unequal(x, ten);
    let again = [&constraints[..], &[other]].concat();
    assert_eq!(solver.check(&mut terms, &again), Answer::Unsat);
}

/// For a division by a constant, the search chooses quotient and remainder, and a product checks
/// them. For each dividend there must be exactly one such pair.
#[test]
fn a_number_divides_every_word_in_one_way() {
    let divisors = [1, 2, 3, 5, 6, 12, 48, 100, 127, -1, -3, -48, -127];
    for (sort, values) in [
        (Sort::Signed(8), -128..128),
        (Sort::Unsigned(7), 0..128),
        (Sort::Int, -40..40),
    ] {
        let mut terms = Terms::new();
        let x = terms.variable(Kind::Input, "x", sort);
        let mut solver = Embedded::default();
        for divisor in divisors {
            if divisor < 0 && matches!(sort, Sort::Unsigned(_)) {
                continue;
            }
            let by = terms.constant(sort, divisor);
            let (quotient, rest) = (terms.div(x, by), terms.rem(x, by));
            for value in values.clone() {
                let here = terms.constant(sort, value);
                let here = terms.equal(x, here);
                // Only -128 / -1 wraps.
                let wrapped = (value / divisor + 128).rem_euclid(256) - 128;
                let expected = if sort == Sort::Signed(8) {
                    wrapped
                } else {
                    value / divisor
                };
                let q = terms.constant(sort, expected);
                let r = terms.constant(sort, value % divisor);
                let (right, rest) = (terms.equal(quotient, q), terms.equal(rest, r));
                let both = terms.and(right, rest);
                let found = solver.check(&mut terms, &[here, both]);
                assert!(
                    matches!(found, Answer::Sat(_)),
                    "{value} by {divisor}: {found:?}"
                );
                let neither = terms.not(both);
                let other = solver.check(&mut terms, &[here, neither]);
                assert_eq!(other, Answer::Unsat, "{value} by {divisor}");
            }
        }
    }
}

/// A query of thousands of constraints is handled differently from a small one.
#[test]
fn a_chain_of_thousands_of_implications_is_followed() {
    const LINKS: usize = 6000;
    let mut terms = Terms::new();
    let links = (0..LINKS).map(|at| terms.variable(Kind::Input, &format!("e{at}"), Sort::Bool));
    let links: Vec<Term> = links.collect();
    let mut chain = vec![links[0], terms.not(links[LINKS - 1])];
    for pair in links.windows(2) {
        let not = terms.not(pair[0]);
        chain.push(terms.or(not, pair[1]));
    }
    assert_eq!(Embedded::default().check(&mut terms, &chain), Answer::Unsat);
    chain.remove(LINKS / 2);
    let Answer::Sat(model) = Embedded::default().check(&mut terms, &chain) else {
        panic!("the chain is broken");
    };
    assert_eq!(model.get(links[0]), Some(1));
    assert_eq!(model.get(links[LINKS - 1]), Some(0));
}

fn ints(terms: &mut Terms) -> [Term; 3] {
    ["x", "y", "z"].map(|name| terms.variable(Kind::Input, name, Sort::Int))
}

#[test]
fn differences_of_integers_are_decided_for_all_integers() {
    let mut terms = Terms::new();
    let [x, y, z] = ints(&mut terms);
    let thousand = terms.constant(Sort::Int, 1000);
    let mut solver = Embedded::default();
    let below = [terms.less(x, y), terms.less(y, z)];
    let cycle = [below[0], below[1], terms.less(z, x)];
    assert_eq!(solver.check(&mut terms, &cycle), Answer::Unsat);
    let sum = terms.add(x, thousand);
    let far = [
        below[0],
        below[1],
        terms.less(sum, z),
        terms.less(thousand, x),
    ];
    let Answer::Sat(model) = solver.check(&mut terms, &far) else {
        panic!("there is a solution");
    };
    assert!(model.get(z).unwrap() > 2001);
    // A condition chooses between x and y, and both are less than the choice: a contradiction.
    let choice = terms.ite(below[0], x, y);
    let least = [terms.less(x, choice), terms.less(y, choice)];
    assert_eq!(solver.check(&mut terms, &least), Answer::Unsat);
}

#[test]
fn integers_without_a_known_range_are_never_called_unsatisfiable() {
    let mut terms = Terms::new();
    let [x, y, z] = ints(&mut terms);
    // x * x == 2 * y * y has no solution but 0, which no search of a range can prove.
    let squares = [terms.mul(x, x), terms.mul(y, y)];
    let two = terms.constant(Sort::Int, 2);
    let twice = terms.mul(squares[1], two);
    let zero = terms.constant(Sort::Int, 0);
    let hard = [terms.equal(squares[0], twice), terms.less(zero, x)];
    let mut solver = Embedded::new(mazurka_smt::Effort {
        int_bits: 8,
        ..Default::default()
    });
    let answer = solver.check(&mut terms, &hard);
    assert_eq!(answer, Answer::Unknown(Why::OnlyWithin { bits: 8 }));
    assert_eq!(
        Why::OnlyWithin { bits: 8 }.to_string(),
        "`int` was decided within -128..128 only"
    );
    // With bounds, it can be decided.
    let twenty = terms.constant(Sort::Int, 20);
    let bounded = [
        hard[0],
        hard[1],
        terms.less(x, twenty),
        terms.less(y, twenty),
        terms.less(zero, y),
    ];
    assert_eq!(solver.check(&mut terms, &bounded), Answer::Unsat);
    // A solution beyond the first range is found.
    let large = terms.constant(Sort::Int, 1_000_000);
    let product = terms.mul(x, z);
    let wide = [
        terms.equal(product, large),
        terms.less(x, z),
        terms.less(zero, x),
    ];
    let answer = Embedded::default().check(&mut terms, &wide);
    assert!(matches!(answer, Answer::Sat(_)), "{answer:?}");
}

#[test]
fn thousands_of_queries_leave_little_behind() {
    let sort = Sort::Signed(32);
    let mut terms = Terms::new();
    let mut solver = Embedded::default();
    for round in 0..2000 {
        let x = terms.variable(Kind::Input, &format!("x{round}"), sort);
        let y = terms.variable(Kind::Input, &format!("y{round}"), sort);
        let (least, sum) = (terms.constant(sort, round), terms.add(x, y));
        let sat = [
            terms.less(least, x),
            terms.less(sum, least),
            terms.less(least, y),
        ];
        assert!(matches!(solver.check(&mut terms, &sat), Answer::Sat(_)));
        let not = [sat[0], terms.at_most(x, least)];
        assert_eq!(solver.check(&mut terms, &not), Answer::Unsat);
    }
    assert_eq!(solver.statistics().queries, 4000);
}

#[test]
fn a_search_ends_at_its_limit() {
    // A query for two 30-bit prime factors, which needs more conflicts than the limit.
    let sort = Sort::Unsigned(64);
    let mut terms = Terms::new();
    let x = terms.variable(Kind::Input, "x", sort);
    let y = terms.variable(Kind::Input, "y", sort);
    let product = terms.mul(x, y);
    let (number, one) = (
        terms.constant(sort, 982_451_653 * 961_748_941),
        terms.constant(sort, 1),
    );
    let most = terms.constant(sort, 1 << 30);
    let constraints = [
        terms.equal(product, number),
        terms.less(one, x),
        terms.less(x, y),
        terms.less(y, most),
    ];
    let effort = mazurka_smt::Effort {
        conflicts: 20,
        ..Default::default()
    };
    let answer = Embedded::new(effort).check(&mut terms, &constraints);
    let Answer::Unknown(why) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(
        why.to_string(),
        "the solver reached its limit of 20 conflicts"
    );
}

#[test]
fn nothing_to_satisfy() {
    let mut terms = Terms::new();
    let mut solver = Embedded::default();
    assert_eq!(solver.check(&mut terms, &[]), Answer::Sat(Model::new()));
    assert_eq!(
        solver.check(&mut terms, &[Term::TRUE]),
        Answer::Sat(Model::new())
    );
    assert_eq!(
        solver.check(&mut terms, &[Term::TRUE, Term::FALSE]),
        Answer::Unsat
    );
}

#[test]
fn a_solver_can_move_to_another_thread() {
    fn movable<T: Send>(_: T) {}
    movable(Embedded::default());
    movable(Terms::new());
}
