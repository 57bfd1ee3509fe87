//! Tasks: how they end, are cancelled and awaited, and where they interleave.

use std::sync::Arc;

use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tokio::sync::{Mutex, Notify, mpsc, oneshot};
use tokio::task::{self, JoinSet};
use tokio::{select, spawn, try_join};

use crate::{fails, outcomes, outcomes_alone, passes};

/// Two tasks add one to a number, each in two steps. Returns the number.
async fn increments() -> u32 {
    let sum = Arc::new(AtomicU32::new(0));
    let add = |sum: Arc<AtomicU32>| async move {
        let before = sum.load(SeqCst);
        sum.store(before + 1, SeqCst);
    };
    let other = spawn(add(sum.clone()));
    add(sum.clone()).await;
    other.await.unwrap();
    sum.load(SeqCst)
}

/// Between two awaits, a task may be interrupted in a multi-threaded runtime, but not in a
/// current-thread one.
#[test]
fn where_tasks_interleave() {
    assert_eq!(outcomes(increments), (vec![1, 2], false));
    assert_eq!(outcomes_alone(increments), (vec![2], false));
    // At an await, it may be interrupted in both.
    let with_await = || async {
        let sum = Arc::new(AtomicU32::new(0));
        let add = |sum: Arc<AtomicU32>| async move {
            let before = sum.load(SeqCst);
            task::yield_now().await;
            sum.store(before + 1, SeqCst);
        };
        let other = spawn(add(sum.clone()));
        add(sum.clone()).await;
        other.await.unwrap();
        sum.load(SeqCst)
    };
    assert_eq!(outcomes_alone(with_await), (vec![1, 2], false));
}

/// n tasks take one lock once each, in n! orders. The number of executions is a multiple of n!.
#[test]
fn counts() {
    for (tasks, expected) in [(1, 1), (2, 2), (3, 6)] {
        let executions = passes(move || async move {
            let lock = mazurka_rt::sync::Arc::new(mazurka_rt::sync::Mutex::new(0));
            let mut all = Vec::new();
            for _ in 0..tasks {
                let lock = lock.clone();
                all.push(spawn(async move { *lock.lock().unwrap() += 1 }));
            }
            for one in all {
                one.await.unwrap();
            }
        });
        // A task can be awaited before or after its end, which are two executions.
        assert_eq!(
            executions % expected,
            0,
            "{tasks} tasks, {executions} executions"
        );
    }
}

#[test]
fn a_panic_is_an_error_for_the_task_that_awaits() {
    passes(|| async {
        let error = spawn(async { panic!("on purpose") }).await.unwrap_err();
        assert!(error.is_panic() && !error.is_cancelled());
        assert_eq!(error.to_string(), format!("task {} panicked", error.id()));
        let payload = error.into_panic();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"on purpose"));
    });
    // If the error is unwrapped, the report begins with the panic of the task. If the task is never
    // awaited, its panic is a failure.
    let message = fails(|| async {
        spawn(async { panic!("headline") }).await.unwrap();
    });
    assert!(message.starts_with("headline"), "{message}");
    let message = fails(|| async {
        let (done, wait) = oneshot::channel::<()>();
        spawn(async move {
            let _done = done;
            panic!("alone");
        });
        _ = wait.await;
    });
    assert!(message.starts_with("alone"), "{message}");
}

#[test]
fn a_task_is_cancelled_where_it_waits() {
    struct Dropped(Arc<AtomicU32>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(10, SeqCst);
        }
    }
    let (found, deadlock) = outcomes(|| async {
        let steps = Arc::new(AtomicU32::new(0));
        let other = Dropped(steps.clone());
        let task = spawn(async move {
            other.0.fetch_add(1, SeqCst);
            task::yield_now().await;
            other.0.fetch_add(1, SeqCst);
        });
        task.abort();
        let cancelled = task.await.is_err_and(|error| error.is_cancelled());
        (cancelled, steps.load(SeqCst))
    });
    // The task is cancelled before it starts, at its await, or not at all.
    let all = vec![(false, 12), (true, 10), (true, 11)];
    assert_eq!((found, deadlock), (all, false));
}

/// A task that waits for ever is cancelled when the body ends.
#[test]
fn a_runtime_ends_its_tasks() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, receiver) = oneshot::channel::<()>();
        spawn(async move {
            let _sender = sender;
            std::future::pending::<()>().await;
        });
        drop(receiver);
        7
    });
    assert_eq!((found, deadlock), (vec![7], false));
    // Another thread of the model sees the effect of the cancellation.
    let found = mazurka_rt::Builder::new().outcomes(|| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (sender, mut receiver) = oneshot::channel::<u32>();
        runtime.spawn(async move {
            let _sender = sender;
            std::future::pending::<()>().await;
        });
        drop(runtime);
        receiver
            .try_recv()
            .is_err_and(|error| error == oneshot::error::TryRecvError::Closed)
    });
    assert_eq!((found.results, found.deadlocks), (vec![true], 0));
}

#[test]
fn a_set_is_joined_in_the_order_of_ends() {
    let (found, deadlock) = outcomes(|| async {
        let mut set = JoinSet::new();
        set.spawn(async { 1 });
        set.spawn(async { 2 });
        let mut got = Vec::new();
        while let Some(joined) = set.join_next().await {
            got.push(joined.unwrap());
        }
        got
    });
    assert_eq!((found, deadlock), (vec![vec![1, 2], vec![2, 1]], false));
    // Dropping the set cancels its tasks.
    let (found, deadlock) = outcomes(|| async {
        let (sender, receiver) = oneshot::channel::<()>();
        let mut set = JoinSet::new();
        set.spawn(async move {
            let _sender = sender;
            std::future::pending::<()>().await;
        });
        drop(set);
        receiver.await.is_err()
    });
    assert_eq!((found, deadlock), (vec![true], false));
}

#[test]
fn blocking_code_runs_beside() {
    let (found, deadlock) = outcomes_alone(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let blocks = task::spawn_blocking(move || {
            sender.blocking_send(1).unwrap();
            sender.blocking_send(2).unwrap();
            3
        });
        let got = (receiver.recv().await, receiver.recv().await);
        (got, blocks.await.unwrap())
    });
    assert_eq!((found, deadlock), (vec![((Some(1), Some(2)), 3)], false));
    let message = fails(|| async {
        let lock = Mutex::new(());
        drop(lock.blocking_lock());
    });
    assert!(
        message.starts_with("Cannot block the current thread"),
        "{message}"
    );
    passes(|| async {
        let lock = Mutex::new(());
        task::block_in_place(|| drop(lock.blocking_lock()));
    });
}

/// Each ready branch is taken in some execution; with `biased` the first.
#[test]
fn select_takes_any_branch() {
    let race = |biased: bool| {
        outcomes(move || async move {
            let (a, from_a) = oneshot::channel();
            let (b, from_b) = oneshot::channel();
            a.send(1).unwrap();
            b.send(2).unwrap();
            if biased {
                select! {
                    biased;
                    one = from_a => one.unwrap(),
                    two = from_b => two.unwrap(),
                }
            } else {
                select! {
                    one = from_a => one.unwrap(),
                    two = from_b => { two.unwrap() }
                }
            }
        })
    };
    assert_eq!(race(false), (vec![1, 2], false));
    assert_eq!(race(true), (vec![1], false));
}

#[test]
fn branches_are_disabled() {
    let (found, _) = outcomes(|| async {
        let mut number = Some(1);
        let mut list = vec![1];
        let off = false;
        let first = select! {
            Some(2) = async { number } => "two",
            _ = async {}, if off => "off",
            else => "none",
        };
        let second = select! {
            Some(mut n) = async { number.take() } => { n += 1; list.push(n); list.len() }
            else => 0,
        };
        (first, second)
    });
    assert_eq!(found, [("none", 2)]);
}

/// A task that is woken for one branch of a `select!` drops the other branch. If a notification was
/// meant for the other branch, the next task gets it.
#[test]
fn a_branch_that_loses_passes_its_notification_on() {
    let (found, deadlock) = outcomes(|| async {
        let notify = Arc::new(Notify::new());
        let (stop, stopped) = oneshot::channel::<()>();
        let (one, two, bell) = (notify.clone(), notify.clone(), notify.clone());
        let first = spawn(async move {
            select! {
                () = one.notified() => true,
                _ = stopped => false,
            }
        });
        let second = spawn(async move { two.notified().await });
        bell.notify_one();
        _ = stop.send(());
        let took = first.await.unwrap();
        if took {
            notify.notify_one();
        }
        second.await.unwrap();
        took
    });
    assert_eq!((found, deadlock), (vec![false, true], false));
}

#[test]
fn the_first_error_ends_try_join() {
    let (found, deadlock) = outcomes(|| async {
        let pending = async {
            std::future::pending::<()>().await;
            Ok::<u32, &str>(1)
        };
        try_join!(pending, async { Err::<u32, _>("no") })
    });
    assert_eq!((found, deadlock), (vec![Err("no")], false));
}

/// A loop that yields until another task has set a flag ends in every execution.
#[test]
fn yielding_waits_for_others() {
    for several in [true, false] {
        let body = || async {
            let flag = Arc::new(AtomicU32::new(0));
            let other = flag.clone();
            spawn(async move { other.store(1, SeqCst) });
            while flag.load(SeqCst) == 0 {
                task::yield_now().await;
            }
        };
        let found = if several {
            outcomes(body)
        } else {
            outcomes_alone(body)
        };
        assert_eq!(found, (vec![()], false));
    }
}

#[test]
fn task_locals_belong_to_a_future() {
    tokio::task_local! {
        static NAME: u32;
    }
    passes(|| async {
        let other = spawn(NAME.scope(1, async {
            task::yield_now().await;
            NAME.get()
        }));
        NAME.scope(2, async {
            task::yield_now().await;
            assert_eq!(NAME.get(), 2);
        })
        .await;
        assert_eq!(other.await.unwrap(), 1);
        assert!(NAME.try_with(|name| *name).is_err());
    });
}

#[test]
fn everything_works_outside_a_model() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let sum = runtime.block_on(async {
        let (sender, mut receiver) = mpsc::channel(2);
        for k in 0..4_u64 {
            let sender = sender.clone();
            spawn(async move {
                for m in 0..50 {
                    sender.send(k * m).await.unwrap();
                }
            });
        }
        drop(sender);
        let mut sum = 0;
        while let Some(message) = receiver.recv().await {
            sum += message;
        }
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        sum
    });
    assert_eq!(sum, 6 * (49 * 50 / 2));
}
