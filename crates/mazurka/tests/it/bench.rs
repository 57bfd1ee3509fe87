//! Runs the benchmark with its programs at their smallest sizes.

use std::ops::ControlFlow;

use mazurka::bench::Bench;
use mazurka::{Algorithm, Bound, Progress, quietly};

#[test]
fn tiny_sizes_give_the_exact_counts() {
    let plan = Bench {
        quick: true,
        repeat: 1,
        ..Bench::default()
    };
    let measured = plan.run(&mut quietly()).expect("programs");
    assert!(measured.rows.len() >= 12);
    for row in &measured.rows {
        assert!(row.complete() && row.agrees(), "{row:?}");
        match row.algorithm.as_str() {
            "optimal" => {
                assert_eq!(
                    row.counts.executions,
                    row.counts.traces.unwrap_or(0),
                    "{row:?}"
                );
                assert_eq!(row.counts.blocked, 0, "{row:?}");
            }
            "stateful" => {
                assert_eq!(row.counts.final_states, 16, "{row:?}");
                assert!(row.states > Some(16), "{row:?}");
            }
            _ => assert_eq!(row.counts.executions, 924, "{row:?}"),
        }
    }
}

#[test]
fn every_engine_can_be_measured() {
    let plan = Bench {
        algorithms: Algorithm::ALL.to_vec(),
        filter: Some("fib(2)".to_owned()),
        quick: true,
        repeat: 2,
        ..Bench::default()
    };
    let measured = plan.run(&mut quietly()).expect("fib(2)");
    assert_eq!(measured.rows.len(), Algorithm::ALL.len());
    assert!(
        measured
            .rows
            .iter()
            .all(|row| row.agrees() && row.complete())
    );
}

#[test]
fn an_unknown_name_lists_the_names() {
    let plan = Bench {
        filter: Some("no such program".to_owned()),
        ..Bench::default()
    };
    let error = plan.run(&mut quietly()).expect_err("no such program");
    assert!(
        error.to_string().contains("writers(9), readers(16)"),
        "{error}"
    );
}

#[test]
fn an_interrupted_benchmark_returns_its_measurements() {
    let plan = Bench {
        quick: true,
        ..Bench::default()
    };
    let stop = &mut |_: &Progress| ControlFlow::Break(Bound::Interrupted);
    let measured = plan.run(stop).expect("programs");
    assert_eq!(measured.rows.len(), 1);
    assert!(!measured.rows[0].complete() && measured.rows[0].agrees());
}
