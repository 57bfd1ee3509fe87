//! The attributes.

use std::panic::catch_unwind;
use std::sync::Arc;

use tokio::sync::Mutex;

#[tokio::test]
async fn a_test_is_explored() {
    let sum = Arc::new(Mutex::new(0));
    let other = sum.clone();
    let other = tokio::spawn(async move { *other.lock().await += 1 });
    *sum.lock().await += 1;
    other.await.unwrap();
    assert_eq!(*sum.lock().await, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_test_may_return_a_result() -> Result<(), tokio::task::JoinError> {
    assert_eq!(tokio::spawn(async { 7 }).await?, 7);
    Ok(())
}

#[tokio::test]
#[should_panic(expected = "deadlock")]
async fn a_test_that_deadlocks() {
    let lock = Mutex::new(());
    let _held = lock.lock().await;
    let _again = lock.lock().await;
}

#[tokio::main]
async fn answer(of: u32) -> u32 {
    tokio::spawn(async move { of + 1 }).await.unwrap()
}

#[tokio::main(flavor = "current_thread")]
async fn alone() -> u32 {
    tokio::join!(async { 1 }, tokio::spawn(async { 2 }))
        .1
        .unwrap()
}

#[test]
fn a_main_function_runs_anywhere() {
    assert_eq!((answer(1), alone()), (2, 2));
    mazurka_rt::model(|| assert_eq!((answer(1), alone()), (2, 2)));
}

#[test]
fn a_task_needs_a_runtime() {
    let panic = catch_unwind(|| drop(tokio::spawn(async {}))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains("there is no reactor running"), "{message}");
}
