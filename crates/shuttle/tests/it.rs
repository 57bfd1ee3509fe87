//! shuttle's API: searches, tasks, random numbers, statics.

extern crate mazurka_shuttle as shuttle;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize as RealUsize, Ordering as RealOrdering};

use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, UncontrolledNondeterminismCheckScheduler,
};
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::sync::{Arc, Mutex};
use shuttle::{Config, PortfolioRunner, Runner, future, thread};

/// Loses an update if the threads interleave.
fn lost_update() {
    let sum = Arc::new(AtomicUsize::new(0));
    let other = sum.clone();
    let other = thread::spawn(move || {
        let before = other.load(SeqCst);
        other.store(before + 1, SeqCst);
    });
    let before = sum.load(SeqCst);
    sum.store(before + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(sum.load(SeqCst), 2, "an update is lost");
}

fn message(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("the bug is found");
    *payload.downcast::<String>().expect("a text")
}

/// Returns all values that `run` passes to its argument, in any execution.
fn seen(run: impl Fn(&mut dyn FnMut(usize)) + Send + Sync + 'static) -> BTreeSet<usize> {
    let all = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let into = all.clone();
    shuttle::check_dfs(
        move || {
            let mut values = Vec::new();
            run(&mut |value| values.push(value));
            into.lock().unwrap().extend(values);
        },
        None,
    );
    std::sync::Arc::into_inner(all)
        .unwrap()
        .into_inner()
        .unwrap()
}

#[test]
fn every_search_finds_a_lost_update() {
    for search in [
        || shuttle::check_dfs(lost_update, None),
        || shuttle::check_random(lost_update, 1000),
        || shuttle::check_random_with_seed(lost_update, 7, 1000),
        || shuttle::check_pct(lost_update, 1000, 3),
        || shuttle::check_urw(lost_update, 1000),
        || shuttle::check_uncontrolled_nondeterminism(lost_update, 1000),
        || {
            let mut portfolio = PortfolioRunner::new(true, Config::default());
            portfolio.add(RandomScheduler::new(1));
            portfolio.add(DfsScheduler::new(None, false));
            portfolio.run(lost_update);
        },
    ] {
        let message = message(search);
        assert!(message.contains("an update is lost"), "{message}");
    }
}

#[test]
fn a_schedule_is_replayed() {
    let message = message(|| shuttle::check_dfs(lost_update, None));
    let (_, schedule) = message.split_once("MAZURKA_REPLAY=\"").expect("a command");
    let (schedule, _) = schedule.split_once('"').expect("its end");
    let schedule = schedule.to_owned();
    let again = self::message(move || shuttle::replay(lost_update, &schedule));
    assert!(again.contains("an update is lost"), "{again}");
}

/// A program that does something else when the same schedule is run again is refused by the check
/// for that, also if only the end of its threads differs.
#[test]
fn uncontrolled_choices_are_found() {
    static RUNS: RealUsize = RealUsize::new(0);
    fn locks_every_third_time() {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        thread::spawn(move || {
            if RUNS.fetch_add(1, RealOrdering::SeqCst).is_multiple_of(3) {
                *other.lock().unwrap() += 1;
            }
        });
        *lock.lock().unwrap() += 1;
    }
    let message =
        message(|| shuttle::check_uncontrolled_nondeterminism(locks_every_third_time, 100));
    assert!(
        message.contains("the same schedule did something else"),
        "{message}"
    );
    shuttle::check_uncontrolled_nondeterminism(
        || {
            let drawn = thread_rng().r#gen::<u64>();
            let lock = Arc::new(Mutex::new(0));
            let other = lock.clone();
            thread::spawn(move || (0..drawn % 3).for_each(|_| *other.lock().unwrap() += 1));
            *lock.lock().unwrap() += 1;
        },
        200,
    );
}

/// An execution that is longer than the number of steps that were set is a failure.
#[test]
fn long_executions_fail() {
    let run = |most| {
        let mut config = Config::new();
        config.max_steps = shuttle::MaxSteps::FailAfter(most);
        Runner::new(RandomScheduler::new(5), config).run(|| {
            let lock = Mutex::new(0);
            (0..10).for_each(|_| *lock.lock().unwrap() += 1);
        })
    };
    assert_eq!(run(20), 5);
    let message = message(|| _ = run(19));
    assert!(
        message.starts_with("exceeded max_steps bound 19"),
        "{message}"
    );
}

/// Two threads that take a lock have two executions. Random searches run as many as requested.
#[test]
fn executions_are_counted() {
    let body = || {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let other = thread::spawn(move || *other.lock().unwrap() += 1);
        *lock.lock().unwrap() += 1;
        other.join().unwrap();
    };
    let all = Runner::new(DfsScheduler::new(None, false), Config::default()).run(body);
    assert_eq!(all, 2);
    let some = Runner::new(DfsScheduler::new(Some(1), false), Config::default()).run(body);
    assert_eq!(some, 1);
    assert_eq!(
        Runner::new(RandomScheduler::new(9), Config::default()).run(body),
        9
    );
    let pct = UncontrolledNondeterminismCheckScheduler::new(PctScheduler::new(2, 5));
    assert_eq!(Runner::new(pct, Config::default()).run(body), 5);
}

#[test]
fn random_numbers_of_few_values_are_explored() {
    let found = seen(|tell| {
        let mut rng = thread_rng();
        let number = rng.gen_range(3..=5_usize);
        tell(if rng.r#gen::<bool>() {
            number
        } else {
            10 * number
        });
        assert!(rng.gen_bool(1.0) && !rng.gen_bool(0.0));
    });
    assert_eq!(found, BTreeSet::from([3, 4, 5, 30, 40, 50]));
    // A number with many values is drawn, and refused where everything is explored.
    static DRAWN: RealUsize = RealUsize::new(0);
    shuttle::check_random(
        || _ = DRAWN.fetch_or(thread_rng().r#gen::<usize>(), RealOrdering::SeqCst),
        50,
    );
    assert!(DRAWN.load(RealOrdering::SeqCst) > u32::MAX as usize);
    let message = message(|| shuttle::check_dfs(|| _ = thread_rng().r#gen::<u64>(), None));
    assert!(
        message.starts_with("a random number of more than 256"),
        "{message}"
    );
}

#[test]
fn tasks_are_awaited_and_cancelled() {
    let found = seen(|tell| {
        let sum = Arc::new(AtomicUsize::new(0));
        let other = sum.clone();
        let task = future::spawn(async move {
            other.fetch_add(1, SeqCst);
            future::yield_now().await;
            other.fetch_add(1, SeqCst)
        });
        task.abort();
        let joined = future::block_on(task);
        let result = usize::from(joined == Err(future::JoinError::Cancelled));
        tell(10 * result + sum.load(SeqCst));
    });
    // A task is not cancelled at `yield_now`, because it does not wait there.
    assert_eq!(found, BTreeSet::from([2, 10]));
    let found = seen(|tell| {
        let task = future::spawn_local(async { 7 });
        tell(future::block_on(task).unwrap());
    });
    assert_eq!(found, BTreeSet::from([7]));
    let message = message(|| {
        shuttle::check_dfs(
            || future::block_on(future::spawn(async { panic!("here") })).unwrap(),
            None,
        );
    });
    assert!(message.starts_with("here"), "{message}");
}

shuttle::lazy_static! {
    static ref COUNT: AtomicUsize = AtomicUsize::new(0);
}

#[test]
fn statics_start_every_execution_anew() {
    shuttle::check_dfs(
        || {
            let other = thread::spawn(|| COUNT.fetch_add(1, SeqCst));
            COUNT.fetch_add(1, SeqCst);
            other.join().unwrap();
            assert_eq!(COUNT.load(SeqCst), 2);
            assert!(shuttle::current::get_current_task() == Some(shuttle::current::me()));
        },
        None,
    );
}
