//! Measures the time of a query to the solver: `cargo bench -p mazurka-benches --features measure
//! --bench solver`. This is wall-clock time, so compare results only from an idle machine.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use mazurka_smt::{Answer, Assembly, Choice, Embedded, Kind, Solver, Sort, Term, Terms, assemble};

const SORT: Sort = Sort::Signed(32);

/// Returns a path of `length` branches over four inputs.
fn path(terms: &mut Terms, length: i64) -> Vec<Term> {
    let inputs: Vec<Term> = (0..4)
        .map(|k| terms.variable(Kind::Input, &format!("0#{k}"), SORT))
        .collect();
    let branch = |k: i64| {
        let (a, b) = (inputs[k as usize % 4], inputs[(k as usize + 1) % 4]);
        let bound = terms.constant(SORT, k * 3 - 50);
        let sum = terms.add(a, b);
        if k % 2 == 0 {
            terms.less(bound, sum)
        } else {
            terms.at_most(a, bound)
        }
    };
    (0..length).map(branch).collect()
}

/// Answers 10 000 queries: each prefix of a path of 20 branches, once as it is and once with its
/// last branch negated. Returns the number of satisfiable queries.
fn ten_thousand(solver: &mut dyn Solver, terms: &mut Terms) -> usize {
    let path = path(terms, 20);
    let mut satisfiable = 0;
    for round in 0..250 {
        for length in 1..=path.len() {
            let turned = terms.not(path[(round + length) % length]);
            let other = [&path[..length - 1], &[turned]].concat();
            for query in [&path[..length], &other] {
                let answer = solver.check(terms, query);
                satisfiable += usize::from(matches!(answer, Answer::Sat(_)));
            }
        }
    }
    satisfiable
}

fn queries(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("smt");
    group.sample_size(10);
    group.bench_function("10000 queries, embedded", |bencher| {
        bencher.iter(|| ten_thousand(&mut Embedded::default(), &mut Terms::new()));
    });
    group.bench_function("10000 queries, assembled", |bencher| {
        let assembly = || Assembly {
            choice: Choice::Embedded,
            ..Assembly::default()
        };
        bencher.iter(|| ten_thousand(&mut *assemble(assembly()).unwrap(), &mut Terms::new()));
    });
    group.bench_function("x*y == 1452 && x > y && x/2 == 5", |bencher| {
        bencher.iter(|| {
            let mut terms = Terms::new();
            let x = terms.variable(Kind::Input, "x", SORT);
            let y = terms.variable(Kind::Input, "y", SORT);
            let (product, two) = (terms.mul(x, y), terms.constant(SORT, 2));
            let half = terms.div(x, two);
            let (wanted, five) = (terms.constant(SORT, 1452), terms.constant(SORT, 5));
            let query = [
                terms.equal(product, wanted),
                terms.greater(x, y),
                terms.equal(half, five),
            ];
            Embedded::default().check(&mut terms, &query)
        });
    });
    group.bench_function("a million additions of constants", |bencher| {
        bencher.iter(|| {
            let mut terms = Terms::new();
            let one = terms.constant(SORT, 1);
            let mut sum = terms.constant(SORT, 0);
            for _ in 0..1_000_000 {
                sum = terms.add(black_box(sum), one);
            }
            sum
        });
    });
    group.finish();
}

criterion_group!(benches, queries);
criterion_main!(benches);
