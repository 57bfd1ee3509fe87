//! `#[mazurka_rt::test]`: the body is explored, with the settings of the attribute.

use std::sync::atomic::{AtomicU32, Ordering};

use mazurka_rt::sync::Mutex;
use mazurka_rt::{choose, future, thread};

#[mazurka_rt::test]
fn the_body_is_explored() {
    let number = mazurka_rt::sync::Arc::new(Mutex::new(0));
    let other = number.clone();
    let other = thread::spawn(move || *other.lock().unwrap() += 1);
    *number.lock().unwrap() += 1;
    other.join().unwrap();
    assert_eq!(*number.lock().unwrap(), 2);
}

#[mazurka_rt::test]
#[should_panic(expected = "one of them")]
fn every_execution_counts() {
    assert!(choose(0..10) != 7, "one of them");
}

#[mazurka_rt::test(max_executions = 3, quiet)]
fn settings_are_those_of_the_builder() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    choose(0..10);
    assert!(RUNS.fetch_add(1, Ordering::SeqCst) < 3);
}

#[mazurka_rt::test(max_executions = 2, require_complete, memory = sc, time_limit = 60)]
#[should_panic(expected = "max_executions")]
fn flags_need_no_value() {
    choose(0..10);
}

#[mazurka_rt::test]
fn a_result_may_be_returned() -> Result<(), std::num::ParseIntError> {
    let number: i32 = "7".parse()?;
    assert_eq!(number, 7);
    Ok(())
}

#[mazurka_rt::test]
#[should_panic(expected = "the test returned an error")]
fn an_error_is_a_failure() -> Result<(), String> {
    match choose(0..3) {
        2 => Err("two".to_owned()),
        _ => Ok(()),
    }
}

#[mazurka_rt::test(spurious_polls = 1)]
async fn it_may_be_asynchronous() {
    let value = async { 7 }.await;
    assert_eq!(value + future::block_on(async { 1 }), 8);
}
