//! Tests the jobs, orders and results of a search by many computers, in one process: the tree of
//! parts has the same findings as one search, and wrong texts are refused.

use mazurka::checkpoint::Checkpoint;
use mazurka::cluster::{Job, JobError, OrderError, Shared, id_of, orders};
use mazurka::{Algorithm, Limits, Options, Program, quietly};

use crate::workers::{corpus, meaning};

const WRITERS: &str = "var x: int = 0  process p(i in 0..5) { x := i; x := x + 1 }";

fn job(source: &str) -> Job {
    Job::new("writers.maz", source, &[], Algorithm::Optimal).with_budget(200, 5)
}

fn open(job: &Job) -> Shared {
    Shared::open(job, &Options::default()).expect("a good job")
}

#[test]
fn the_corpus_is_the_same_as_a_tree_of_parts() {
    let mut cut = 0_usize;
    for (source, program) in corpus() {
        for &algorithm in &[Algorithm::Optimal, Algorithm::Source, Algorithm::Naive] {
            let record = program.record();
            // The oracle compares brute force on smaller programs (`parallel` of testkit).
            let naive = algorithm == Algorithm::Naive;
            // This program has few traces with many steps, so small budgets would cut it into very
            // many parts.
            if &*record.file == "fagiani-example5-flips" {
                continue;
            }
            if naive && !["counter-access", "abba-ordered"].contains(&&*record.file) {
                continue;
            }
            let name = format!("{record:?}, {algorithm}");
            let file = format!("{}.maz", record.file);
            let program = Program::load(&file, &source, &record.set).expect("a program");
            let job = Job::new(&file, &source, &record.set, algorithm).with_budget(1000, 6);
            let shared = match Shared::open(&job, &Options::default()) {
                Ok(shared) => shared,
                // Programs with unknown values are not explored in parts.
                Err(JobError::Parts(_)) => continue,
                Err(error) => panic!("{name}: {error}"),
            };
            let tree = shared.explore_here(&mut quietly()).expect("a record");
            // Coverage must be the same in parts: the same parts of the program are not reached.
            let covering = Options {
                cover: true,
                ..Options::default()
            };
            let (whole, _) = program
                .explore_from(None, algorithm, &covering, &mut quietly())
                .expect("an engine that can be cut");
            assert_eq!(meaning(&tree), meaning(&whole), "{name}");
            let root = shared.root().text().expect("JSON");
            let root = Checkpoint::parse(&root).expect("an order");
            let result = shared
                .explore(&root, u64::MAX, &mut quietly())
                .expect("a result");
            cut += usize::from(!orders(&result).expect("JSON").is_empty());
        }
    }
    assert!(cut > 20, "few of them were cut: {cut}");
}

/// Returns all results of a job, by the paths of their orders.
fn results(shared: &Shared) -> Vec<(String, Checkpoint)> {
    let root = shared.root().text().expect("JSON");
    let (mut all, mut open) = (Vec::new(), vec![("0".to_owned(), root)]);
    while let Some((path, order)) = open.pop() {
        let order = Checkpoint::parse(&order).expect("an order");
        let result = shared
            .explore(&order, u64::MAX, &mut quietly())
            .expect("a result");
        let children = orders(&result).expect("JSON").into_iter().enumerate();
        open.extend(children.map(|(k, order)| (format!("{path}.{k}"), order)));
        all.push((path, result));
    }
    all.sort_by_cached_key(|(path, _)| {
        let numbers = path.split('.').map(|k| k.parse().expect("a number"));
        numbers.collect::<Vec<u32>>()
    });
    all
}

#[test]
fn any_machine_makes_the_same_tree() {
    let (first, second) = (results(&open(&job(WRITERS))), results(&open(&job(WRITERS))));
    assert!(first.len() > 5, "{}", first.len());
    assert!(first.iter().any(|(path, _)| path.len() > 3));
    for ((path, one), (other, two)) in first.iter().zip(&second) {
        assert_eq!(path, other);
        assert_eq!(one.counts(), two.counts());
        assert_eq!(orders(one).expect("JSON"), orders(two).expect("JSON"));
    }
    // The results as texts, added one after the other.
    let shared = open(&job(WRITERS));
    let mut sum = shared.sum();
    for (_, result) in &first {
        let text = result.text().expect("JSON");
        sum.add(&shared.result(&text).expect("a result"))
            .expect("of this job");
    }
    let mut record = sum.record(None, Default::default());
    let mut here = shared.explore_here(&mut quietly()).expect("a record");
    (record.seconds, here.seconds) = (0.0, 0.0);
    assert_eq!(record, here);
    assert!(record.scope.exhaustive);
}

#[test]
fn missing_results_are_reported() {
    let shared = open(&job(WRITERS));
    let mut sum = shared.sum();
    for (_, result) in results(&shared).iter().take(3) {
        sum.add(result).expect("of this job");
    }
    let record = sum.record(Some(mazurka::Bound::Interrupted), Default::default());
    assert_eq!(record.verdict, mazurka::Verdict::Inconclusive);
    assert_eq!(record.scope.bounds, [mazurka::Bound::Interrupted]);
    assert!(!record.scope.exhaustive);
}

#[test]
fn a_job_has_one_name() {
    let text = job(WRITERS).text().expect("JSON");
    assert_eq!(Job::parse(&text).expect("a job"), job(WRITERS));
    assert_eq!(job(WRITERS).id().expect("JSON"), id_of(&text));
    let depth = Limits {
        depth: Some(7),
        ..Limits::default()
    };
    let others = [
        job(&WRITERS.replace('5', "6")),
        job(WRITERS).with_budget(201, 5),
        job(WRITERS).within(&depth),
        Job::new("other.maz", WRITERS, &[], Algorithm::Optimal).with_budget(200, 5),
    ];
    for other in others {
        assert_ne!(other.id().expect("JSON"), id_of(&text));
    }
}

#[test]
fn orders_of_another_job_are_refused() {
    let shared = open(&job(WRITERS));
    let other = open(&job(&WRITERS.replace("x + 1", "x + 2")));
    let explored = shared.explore(&other.root(), u64::MAX, &mut quietly());
    let said = explored.expect_err("an order of another job").to_string();
    assert!(said.contains("another program"), "{said}");
    let whole = shared
        .explore(&shared.root(), u64::MAX, &mut quietly())
        .expect("a result");
    let explored = shared.explore(&whole, u64::MAX, &mut quietly());
    assert_eq!(explored, Err(OrderError::Parts(whole.left())));
    let text = whole.text().expect("JSON");
    assert!(shared.result(&text.replacen("\"0", "\"1", 1)).is_err());
    assert!(other.result(&text).is_err());
}

#[test]
fn harmful_jobs_are_refused() {
    let refused = |job: &Job| Shared::open(job, &Options::default()).err();
    let c = Job::new("evil.c", "int main() {}", &[], Algorithm::Optimal);
    assert!(matches!(refused(&c), Some(JobError::Language(_))));
    let mistake = job("process { x := 1 }");
    assert!(matches!(refused(&mistake), Some(JobError::Program(_))));
    let unknown = job("var x: int  process { x := x + 1 }");
    assert!(matches!(refused(&unknown), Some(JobError::Parts(_))));
    let states = Job::new("states.maz", WRITERS, &[], Algorithm::Stateful);
    assert!(matches!(refused(&states), Some(JobError::Parts(_))));
    for (budget, pieces) in [(0, 5), (200, 1), (200, 1 << 20)] {
        let greedy = job(WRITERS).with_budget(budget, pieces);
        assert!(matches!(refused(&greedy), Some(JobError::Limits(_))));
    }
    let text = job(WRITERS).text().expect("JSON");
    for (from, to) in [
        ("\"job\":1", "\"job\":2"),
        ("\"mazurka\":\"", "\"mazurka\":\"0"),
    ] {
        let other = Job::parse(&text.replacen(from, to, 1));
        assert!(matches!(other, Err(JobError::Version { .. })), "{from}");
    }
    assert!(Job::parse("{}").is_err());
    assert!(Job::parse(&text.replacen("\"set\"", "\"run\"", 1)).is_err());
}

#[test]
fn a_part_that_cannot_be_cut_is_explored_to_its_end() {
    // One process: all runs start with the same steps.
    let source = "var x: int = 0  process { for i in 0..300 { x := x + i } }";
    let shared = open(&job(source).with_budget(10, 4));
    let result = shared.explore(&shared.root(), u64::MAX, &mut quietly());
    let result = result.expect("a result");
    assert_eq!((result.left(), result.counts().executions), (0, 1));
    let refused = shared.explore(&shared.root(), 100, &mut quietly());
    assert_eq!(refused, Err(OrderError::TooLarge(100)));
}
