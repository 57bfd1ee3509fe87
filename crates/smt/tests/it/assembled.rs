//! The solver that commands use, compared with other solvers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{boolean, cases};
use mazurka_smt::{
    Answer, Assembly, Cache, Choice, CrossCheck, Deadline, Effort, Embedded, External, Kind,
    Program, Reuse, Slice, Solver, Sort, Statistics, Term, Terms, Why, assemble,
};
use proptest::prelude::*;

/// Returns a solver that calls z3; prints a note and returns `None` if z3 is not installed.
fn z3() -> Option<External> {
    if !Program::Z3.is_present() {
        println!("skipped: z3 is not on the path");
        return None;
    }
    Some(External::new(Program::Z3, Duration::from_secs(5)))
}

/// The sorts that are tested. They are small, because products and quotients of wider sorts take
/// too long for any solver.
fn sorts() -> impl Strategy<Value = Sort> {
    prop::sample::select(vec![
        Sort::Int,
        Sort::Signed(3),
        Sort::Unsigned(5),
        Sort::Signed(8),
        Sort::Unsigned(8),
    ])
}

fn effort() -> Effort {
    Effort {
        conflicts: 2000,
        int_bits: 8,
        ..Effort::default()
    }
}

#[test]
fn the_embedded_solver_agrees_with_z3() {
    let Some(z3) = z3() else { return };
    let z3 = std::cell::RefCell::new(z3);
    let mut runner = proptest::test_runner::TestRunner::new(cases(250));
    let strategy = sorts().prop_flat_map(|sort| prop::collection::vec(boolean(sort, 3), 1..4));
    let ran = runner.run(&strategy, |formulas| {
        let mut terms = Terms::new();
        let constraints: Vec<Term> = formulas.iter().map(|f| f.term(&mut terms)).collect();
        let mut z3 = z3.borrow_mut();
        let mut both = CrossCheck::new(Embedded::new(effort()), &mut *z3);
        if let Answer::Unknown(Why::Defect(what)) = both.check(&mut terms, &constraints) {
            prop_assert!(false, "{what}");
        }
        Ok(())
    });
    ran.unwrap();
}

proptest! {
    #![proptest_config(cases(150))]

    /// Makes growing and shrinking queries, so that earlier models, independent groups and the
    /// cache are used.
    #[test]
    fn decorators_of_a_solver_change_no_answer(
        (formulas, picks) in sorts().prop_filter("finite", |&sort| sort != Sort::Int).prop_flat_map(|sort| {
            let picks = prop::collection::vec(prop::collection::vec(any::<bool>(), 5), 8);
            (prop::collection::vec(boolean(sort, 2), 5), picks)
        }),
    ) {
        let mut terms = Terms::new();
        let constraints: Vec<Term> = formulas.iter().map(|f| f.term(&mut terms)).collect();
        let assembly = Assembly { choice: Choice::Embedded, ..Assembly::default() };
        let mut solver = assemble(assembly).unwrap();
        for picks in picks {
            let zip = constraints.iter().zip(&picks);
            let some: Vec<Term> = zip.filter(|&(_, &picked)| picked).map(|(&term, _)| term).collect();
            let plain = Embedded::default().check(&mut terms, &some);
            let around = solver.check(&mut terms, &some);
            match (&plain, &around) {
                (Answer::Unsat, Answer::Unsat) => {}
                (Answer::Sat(_), Answer::Sat(model)) => {
                    for &constraint in &some {
                        prop_assert_eq!(terms.eval(constraint, model), Some(1));
                    }
                    for variable in terms.variables_of(&some) {
                        prop_assert!(model.get(variable).is_some());
                    }
                }
                _ => prop_assert!(false, "{plain:?} but {around:?}"),
            }
        }
    }
}

/// Returns `x0 > 5`, `x1 > 6`, …: conditions on separate variables.
fn independent(terms: &mut Terms, count: i64) -> Vec<Term> {
    let sort = Sort::Signed(32);
    let below = |k: i64| {
        let x = terms.variable(Kind::Input, &format!("x{k}"), sort);
        let least = terms.constant(sort, k + 5);
        terms.less(least, x)
    };
    (0..count).map(below).collect()
}

#[test]
fn models_groups_and_the_cache_save_searches() {
    let mut terms = Terms::new();
    let constraints = independent(&mut terms, 10);
    let mut solver = Reuse::new(Slice::new(Cache::new(Embedded::default())));
    for count in 1..=10 {
        let answer = solver.check(&mut terms, &constraints[..count]);
        assert!(matches!(answer, Answer::Sat(_)));
    }
    // One search for each group; the nine other groups of the last query were in the cache.
    let before = solver.statistics();
    assert_eq!(
        (before.queries, before.searches, before.cached),
        (10, 10, 45)
    );
    assert!(matches!(
        solver.check(&mut terms, &constraints[3..7]),
        Answer::Sat(_)
    ));
    let after = solver.statistics();
    assert_eq!(
        after,
        Statistics {
            queries: 11,
            reused: 1,
            ..before
        }
    );
    let not = terms.not(constraints[4]);
    let contradiction = [&constraints[..], &[not]].concat();
    assert_eq!(solver.check(&mut terms, &contradiction), Answer::Unsat);
    assert_eq!(solver.statistics().searches, before.searches + 1);
}

#[test]
fn queries_are_logged_as_smt_lib() {
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let recorded = log.clone();
    let mut solver = assemble(Assembly {
        choice: Choice::Embedded,
        log: Some(Box::new(move |logged| {
            recorded.lock().unwrap().push(logged.script)
        })),
        ..Assembly::default()
    })
    .unwrap();
    let mut terms = Terms::new();
    let x = terms.variable(Kind::Input, "0#0", Sort::Int);
    let (three, minus) = (terms.constant(Sort::Int, 3), terms.constant(Sort::Int, -7));
    let rest = terms.rem(x, three);
    let constraints = [terms.equal(rest, minus)];
    solver.check(&mut terms, &constraints);
    let p = terms.variable(Kind::Input, "p", Sort::Bool);
    solver.check(&mut terms, &[p]);
    let log = log.lock().unwrap();
    assert_eq!(
        log[0],
        "; unknown: `int` was decided within -2147483648..2147483648 only\n(set-logic ALL)\n\
         (declare-const v0 Int) ; 0#0\n\
         (define-fun t1 () Int (ite (= 3 0) v0 (ite (>= v0 0) (mod v0 3) (- (mod (- v0) 3)))))\n\
         (define-fun t2 () Bool (= t1 (- 7)))\n\
         (assert t2)\n(check-sat)\n"
    );
    assert_eq!(
        log[1],
        "; sat: p = true\n(set-logic ALL)\n(declare-const v1 Bool) ; p\n(assert v1)\n(check-sat)\n"
    );
}

/// Returns a query for the two prime factors of a number, which is hard for every solver.
fn factors(terms: &mut Terms) -> Vec<Term> {
    let sort = Sort::Unsigned(64);
    let x = terms.variable(Kind::Input, "x", sort);
    let y = terms.variable(Kind::Input, "y", sort);
    let product = terms.mul(x, y);
    let number = terms.constant(sort, 982_451_653 * 961_748_941);
    let (one, most) = (terms.constant(sort, 1), terms.constant(sort, 1 << 30));
    vec![
        terms.equal(product, number),
        terms.less(one, x),
        terms.less(x, y),
        terms.less(y, most),
    ]
}

#[test]
fn a_query_that_reached_a_limit_is_not_repeated() {
    let mut terms = Terms::new();
    let hard = factors(&mut terms);
    let effort = Effort {
        conflicts: 10,
        ..Effort::default()
    };
    let mut solver = Cache::new(Embedded::new(effort));
    let first = solver.check(&mut terms, &hard);
    assert!(matches!(first, Answer::Unknown(Why::Limit(_))), "{first:?}");
    let searches = solver.statistics().searches;
    let mut other_order = hard.clone();
    other_order.reverse();
    assert_eq!(solver.check(&mut terms, &other_order), first);
    let statistics = solver.statistics();
    assert_eq!((statistics.searches, statistics.cached), (searches, 1));
}

#[test]
fn a_query_that_the_deadline_stopped_is_repeated() {
    let mut terms = Terms::new();
    let constraints = independent(&mut terms, 1);
    let deadline = Deadline::after(Duration::ZERO);
    let effort = Effort {
        deadline: deadline.clone(),
        ..Effort::default()
    };
    let mut solver = Cache::new(Embedded::new(effort));
    let answer = solver.check(&mut terms, &constraints);
    assert_eq!(answer, Answer::Unknown(Why::Time));
    deadline.put_off(Duration::from_secs(1000));
    let answer = solver.check(&mut terms, &constraints);
    assert!(matches!(answer, Answer::Sat(_)), "{answer:?}");
}

#[test]
fn an_external_solver_is_given_up_in_time_and_started_again() {
    if z3().is_none() {
        return;
    }
    let mut terms = Terms::new();
    let hard = factors(&mut terms);
    let mut solver = External::new(Program::Z3, Duration::from_millis(300));
    let answer = solver.check(&mut terms, &hard);
    assert_eq!(
        answer,
        Answer::Unknown(Why::Limit("its time limit".to_owned()))
    );
    // On a busy machine the next process needs some time to start.
    let mut solver = External::new(Program::Z3, Duration::from_secs(20));
    assert!(matches!(
        solver.check(&mut terms, &hard[1..]),
        Answer::Sat(_)
    ));
    let Answer::Sat(_) = solver.check(&mut terms, &[]) else {
        panic!("nothing to satisfy");
    };
}

#[test]
fn integers_without_bounds_are_decided_by_z3() {
    let Some(mut z3) = z3() else { return };
    let mut terms = Terms::new();
    let [x, y] = ["x", "y"].map(|name| terms.variable(Kind::Input, name, Sort::Int));
    let two = terms.constant(Sort::Int, 2);
    let (twice_x, twice_y) = (terms.mul(x, two), terms.mul(y, two));
    let one = terms.constant(Sort::Int, 1);
    let odd = terms.add(twice_y, one);
    let parity = [terms.equal(twice_x, odd)];
    assert_eq!(z3.check(&mut terms, &parity), Answer::Unsat);
    let mut auto = assemble(Assembly::default()).unwrap();
    assert_eq!(auto.check(&mut terms, &parity), Answer::Unsat);
    assert_eq!(auto.statistics().external, 1);
    // A solution beyond 64 bits cannot be used, and does not prove that there is no other.
    let most = terms.constant(Sort::Int, i64::MAX);
    let beyond = [terms.less(most, x)];
    let Answer::Unknown(why) = z3.check(&mut terms, &beyond) else {
        panic!("no such value fits");
    };
    assert_eq!(
        why.to_string(),
        "the solver gave no answer: only integers beyond 64 bits satisfy it"
    );
}

#[test]
fn a_missing_program_is_named() {
    if Program::Cvc5.is_present() {
        println!("skipped: cvc5 is on the path");
        return;
    }
    let choice: Choice = "cvc5".parse().unwrap();
    let Err(missing) = assemble(Assembly {
        choice,
        ..Assembly::default()
    }) else {
        panic!("there is no cvc5");
    };
    assert_eq!(
        missing.to_string(),
        "`cvc5` is not on the path; install it, or use --solver embedded"
    );
    assert!(
        "minisat"
            .parse::<Choice>()
            .unwrap_err()
            .contains("try auto")
    );
}

/// Records the number of constraints of each query.
struct QuerySizes(Arc<Mutex<Vec<usize>>>);

impl Solver for QuerySizes {
    fn check(&mut self, _: &mut Terms, constraints: &[Term]) -> Answer {
        self.0.lock().unwrap().push(constraints.len());
        Answer::Unsat
    }

    fn statistics(&self) -> Statistics {
        Statistics::default()
    }
}

/// A formula of many constraints is always passed on as a whole: slicing and caching it would take
/// longer than a limit allows.
#[test]
fn a_large_query_reaches_the_solver_whole() {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let mut solver = Reuse::new(Slice::new(Cache::new(QuerySizes(Arc::clone(&recorded)))));
    let mut terms = Terms::new();
    let variable = |at: usize| terms.variable(Kind::Input, &format!("x{at}"), Sort::Bool);
    let all: Vec<Term> = (0..5000).map(variable).collect();
    for constraints in [&all[..], &all[..], &all[..3]] {
        assert_eq!(solver.check(&mut terms, constraints), Answer::Unsat);
    }
    assert_eq!(*recorded.lock().unwrap(), [5000, 5000, 1]);
}
