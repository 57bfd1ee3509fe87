//! tokio's primitives and tasks, explored: outcomes, planted bugs that must be found, and random
//! programs compared with a separate interpreter.

extern crate mazurka_tokio as tokio;

mod documented;
mod entry;
mod interpreter;
mod primitives;
mod random;
mod tasks;
mod time;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mazurka_rt::Builder;
use tokio::runtime;

/// Returns all results of a test body in a multi-threaded runtime, and whether it can deadlock.
fn outcomes<T, F>(body: impl Fn() -> F + Send + Sync + 'static) -> (Vec<T>, bool)
where
    T: Ord + Debug + 'static,
    F: Future<Output = T>,
{
    let found = Builder::new().outcomes(move || {
        let runtime = runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(body())
    });
    assert!(found.bounds.is_empty(), "{:?}", found.bounds);
    assert_eq!(found.failures, 0);
    let results: BTreeSet<T> = found.results.into_iter().collect();
    (results.into_iter().collect(), found.deadlocks > 0)
}

/// Like [`outcomes`], in a current-thread runtime.
fn outcomes_alone<T, F>(body: impl Fn() -> F + Send + Sync + 'static) -> (Vec<T>, bool)
where
    T: Ord + Debug + 'static,
    F: Future<Output = T>,
{
    let found = Builder::new().outcomes(move || {
        let runtime = runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(body())
    });
    assert!(found.bounds.is_empty(), "{:?}", found.bounds);
    assert_eq!(found.failures, 0);
    let results: BTreeSet<T> = found.results.into_iter().collect();
    (results.into_iter().collect(), found.deadlocks > 0)
}

/// Explores a body that must pass. Returns the number of executions.
fn passes<F>(body: impl Fn() -> F + Send + Sync + 'static) -> u64
where
    F: Future<Output = ()>,
{
    let summary = Builder::new().check(move || {
        let runtime = runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(body());
    });
    assert!(summary.is_complete(), "{:?}", summary.bounds);
    summary.executions
}

/// Explores a body that must fail. Returns the message.
fn fails<F>(body: impl Fn() -> F + Send + Sync + 'static) -> String
where
    F: Future<Output = ()>,
{
    let payload = catch_unwind(AssertUnwindSafe(move || {
        let mut builder = Builder::new();
        builder.quiet = true;
        builder.check(move || {
            let runtime = runtime::Builder::new_multi_thread().build().unwrap();
            runtime.block_on(body());
        })
    }));
    let payload = payload.expect_err("the planted bug is found");
    match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(_) => panic!("the message is a text"),
    }
}
