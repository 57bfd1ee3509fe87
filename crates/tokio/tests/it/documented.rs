//! The documentation of tokio, sentence by sentence, as programs.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::sync::broadcast::error::{RecvError, TryRecvError as Behind};
use tokio::sync::mpsc::error::{TryRecvError, TrySendError};
use tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, TryAcquireError, broadcast, mpsc, oneshot,
    watch,
};
use tokio::task::JoinSet;
use tokio::{select, spawn, task, time};

use crate::{outcomes, outcomes_alone, passes};

const TIME: Duration = Duration::from_millis(10);

/// Polls once. `None` if the future waits.
fn once<F: Future>(future: F) -> Option<F::Output> {
    let future = pin!(future);
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}

/// "The initial value is considered seen"; an unseen value is reported before the end
/// of the channel.
#[test]
fn watch_tells_each_value_once() {
    passes(|| async {
        let (sender, mut receiver) = watch::channel(0);
        assert!(once(receiver.changed()).is_none());
        sender.send(1).unwrap();
        assert_eq!(*receiver.borrow(), 1);
        assert!(
            receiver.has_changed().unwrap(),
            "`borrow` does not mark it as seen"
        );
        assert_eq!(*receiver.borrow_and_update(), 1);
        assert!(!receiver.has_changed().unwrap());
        sender.send(2).unwrap();
        let late = sender.subscribe();
        assert!(!late.has_changed().unwrap(), "the initial value is seen");
        drop(sender);
        assert!(
            receiver.changed().await.is_ok(),
            "a new value comes before the end"
        );
        assert_eq!(*receiver.borrow(), 2);
        assert!(receiver.changed().await.is_err());
        drop(late);
    });
}

/// Without a receiver, `send` fails and keeps the value; `send_replace` does not fail.
#[test]
fn watch_without_receivers() {
    passes(|| async {
        let (sender, receiver) = watch::channel(0);
        drop(receiver);
        assert!(sender.is_closed());
        assert_eq!(sender.send(1).unwrap_err().0, 1);
        assert_eq!(*sender.borrow(), 0);
        assert_eq!(sender.send_replace(2), 0);
        assert!(!sender.send_if_modified(|value| {
            *value = 3;
            false
        }));
        let mut receiver = sender.subscribe();
        assert_eq!(*receiver.borrow_and_update(), 3);
        assert!(once(receiver.changed()).is_none());
        sender.send(4).unwrap();
        assert_eq!(*receiver.wait_for(|value| *value > 3).await.unwrap(), 4);
    });
}

#[test]
fn a_receiver_of_watch_may_miss_values_but_not_the_last() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = watch::channel(0);
        let sends = spawn(async move {
            sender.send(1).unwrap();
            sender.send(2).unwrap_or(());
        });
        let mut seen = Vec::new();
        while receiver.changed().await.is_ok() {
            seen.push(*receiver.borrow_and_update());
        }
        sends.await.unwrap();
        seen
    });
    assert_eq!((found, deadlock), (vec![vec![1, 2], vec![2]], false));
}

/// "Every message sent will be received by all active receivers", from their subscription on.
#[test]
fn broadcast_is_heard_by_those_that_listen() {
    passes(|| async {
        let (sender, mut one) = broadcast::channel(2);
        assert_eq!(sender.send(1).unwrap(), 1);
        let mut two = sender.subscribe();
        assert_eq!(sender.send(2).unwrap(), 2);
        assert_eq!((one.recv().await, one.recv().await), (Ok(1), Ok(2)));
        assert_eq!(
            (two.recv().await, two.try_recv()),
            (Ok(2), Err(Behind::Empty))
        );
        for message in 3..=6 {
            sender.send(message).unwrap();
        }
        assert_eq!(one.recv().await, Err(RecvError::Lagged(2)));
        assert_eq!(one.recv().await, Ok(5));
        let mut three = one.resubscribe();
        drop(sender);
        assert_eq!(
            (one.recv().await, one.recv().await),
            (Ok(6), Err(RecvError::Closed))
        );
        assert_eq!(three.recv().await, Err(RecvError::Closed));
        let (sender, receiver) = broadcast::channel(1);
        drop(receiver);
        assert!(sender.send(()).is_err());
    });
}

/// A value that was sent before `close` is received; a later one is returned.
#[test]
fn a_oneshot_is_closed_before_or_after_the_value() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = oneshot::channel();
        let sends = spawn(async move { sender.send(7).is_ok() });
        receiver.close();
        let got = receiver.try_recv().ok();
        (sends.await.unwrap(), got)
    });
    assert_eq!(
        (found, deadlock),
        (vec![(false, None), (true, Some(7))], false)
    );
    passes(|| async {
        let (mut sender, mut receiver) = oneshot::channel::<u32>();
        assert_eq!(
            receiver.try_recv(),
            Err(oneshot::error::TryRecvError::Empty)
        );
        assert!(once(sender.closed()).is_none() && !sender.is_closed());
        drop(sender);
        assert_eq!(
            receiver.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        );
        let (sender, receiver) = oneshot::channel::<u32>();
        drop(sender);
        assert!(receiver.await.is_err());
        let (mut sender, receiver) = oneshot::channel::<u32>();
        drop(receiver);
        sender.closed().await;
        assert_eq!(sender.send(3), Err(3));
    });
}

/// "Closes the receiving half of a channel, without dropping it": messages in it can be received.
#[test]
fn a_closed_channel_of_mpsc() {
    passes(|| async {
        let (sender, mut receiver) = mpsc::channel(3);
        sender.send(1).await.unwrap();
        let permit = sender.reserve().await.unwrap();
        assert_eq!((sender.capacity(), sender.max_capacity()), (1, 3));
        receiver.close();
        assert!(sender.is_closed() && sender.send(2).await.is_err());
        assert_eq!(receiver.recv().await, Some(1));
        assert!(once(receiver.recv()).is_none(), "a permit can still send");
        permit.send(3);
        assert_eq!(
            (receiver.recv().await, receiver.recv().await),
            (Some(3), None)
        );
        // There is still a sender, although it can no longer send.
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        drop(sender);
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    });
    passes(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        drop(sender.reserve().await.unwrap());
        sender.try_send(1).unwrap();
        assert!(matches!(sender.try_send(2), Err(TrySendError::Full(2))));
        assert!(
            once(sender.send(3)).is_none(),
            "a send that is dropped sends nothing"
        );
        drop(sender);
        assert_eq!(
            (receiver.recv().await, receiver.recv().await),
            (Some(1), None)
        );
    });
}

/// A task that waits for room gets it before one that tries later.
#[test]
fn room_goes_to_the_task_that_waits() {
    passes(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.try_send(1).unwrap();
        let mut waits = pin!(sender.send(2));
        let mut context = Context::from_waker(Waker::noop());
        assert!(waits.as_mut().poll(&mut context).is_pending());
        assert_eq!(receiver.recv().await, Some(1));
        assert!(matches!(sender.try_send(3), Err(TrySendError::Full(3))));
        assert!(waits.await.is_ok());
        assert_eq!(receiver.recv().await, Some(2));
    });
}

/// "If `acquire_many` is at the front of the queue and there are not enough permits, it can prevent
/// a call to `acquire` from completing, even if the semaphore has enough permits."
#[test]
fn a_semaphore_is_fair() {
    passes(|| async {
        let semaphore = Semaphore::new(1);
        let mut context = Context::from_waker(Waker::noop());
        {
            let mut many = pin!(semaphore.acquire_many(2));
            assert!(many.as_mut().poll(&mut context).is_pending());
            assert!(once(semaphore.acquire()).is_none());
            assert_eq!(
                semaphore.try_acquire().err(),
                Some(TryAcquireError::NoPermits)
            );
            semaphore.add_permits(1);
            assert_eq!(many.await.unwrap().num_permits(), 2);
        }
        semaphore.acquire().await.unwrap().forget();
        assert_eq!(
            (semaphore.available_permits(), semaphore.forget_permits(5)),
            (1, 1)
        );
        let mut waits = pin!(semaphore.acquire());
        assert!(waits.as_mut().poll(&mut context).is_pending());
        semaphore.close();
        assert!(waits.await.is_err());
        assert_eq!(semaphore.try_acquire().err(), Some(TryAcquireError::Closed));
    });
}

/// At most one permit is stored; `notify_waiters` stores none, and reaches every `Notified` that
/// was made before.
#[test]
fn notifications_are_stored_or_not() {
    passes(|| async {
        let notify = Notify::new();
        notify.notify_one();
        notify.notify_one();
        notify.notified().await;
        assert!(once(notify.notified()).is_none());
        notify.notify_waiters();
        assert!(once(notify.notified()).is_none());
        let made_before = notify.notified();
        notify.notify_waiters();
        made_before.await;
        let mut enabled = pin!(notify.notified());
        assert!(!enabled.as_mut().enable());
        notify.notify_one();
        enabled.await;
        assert!(
            once(notify.notified()).is_none(),
            "the one that was enabled took it"
        );
    });
}

/// "The priority policy of Tokio's read-write lock is fair: a reader that comes after a writer
/// waits, so that reading twice in one task can deadlock."
#[test]
fn reading_twice_in_one_task_may_deadlock() {
    let (_, deadlock) = outcomes(|| async {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let writes = spawn(async move { *other.write().await += 1 });
        let one = lock.read().await;
        let two = lock.read().await;
        let sum = *one + *two;
        drop((one, two));
        writes.await.unwrap();
        sum
    });
    assert!(deadlock);
    passes(|| async {
        let lock = RwLock::new(0);
        let held = lock.read().await;
        assert!(lock.try_read().is_ok() && lock.try_write().is_err());
        let mut waits = pin!(lock.write());
        let mut context = Context::from_waker(Waker::noop());
        assert!(waits.as_mut().poll(&mut context).is_pending());
        assert!(lock.try_read().is_err(), "a writer waits");
        drop(held);
        let held = waits.await.downgrade();
        assert!(lock.try_read().is_ok() && *held == 0);
    });
}

#[test]
fn a_barrier_is_used_again() {
    let (found, deadlock) = outcomes(|| async {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let other = spawn(async move {
            let first = other.wait().await.is_leader();
            (first, other.wait().await.is_leader())
        });
        let first = barrier.wait().await.is_leader();
        let mine = (first, barrier.wait().await.is_leader());
        let (one, two) = other.await.unwrap();
        (mine.0 != one, mine.1 != two)
    });
    assert_eq!((found, deadlock), (vec![(true, true)], false));
}

/// An initialiser that fails leaves the cell empty, and the next task may try.
#[test]
fn a_once_cell_after_a_failure() {
    let (found, deadlock) = outcomes(|| async {
        let cell = Arc::new(OnceCell::new());
        let other = cell.clone();
        let fails = spawn(async move {
            other
                .get_or_try_init(|| async { Err::<u32, ()>(()) })
                .await
                .copied()
        });
        let mine = cell
            .get_or_try_init(|| async { Ok::<u32, ()>(5) })
            .await
            .copied();
        (mine, fails.await.unwrap(), cell.get().copied())
    });
    let done = (Ok(5), Some(5));
    let expected = vec![(done.0, Ok(5), done.1), (done.0, Err(()), done.1)];
    assert_eq!((found, deadlock), (expected, false));
}

/// A task that is aborted is cancelled, unless it has ended before.
#[test]
fn a_task_is_aborted_or_has_ended() {
    let (found, deadlock) = outcomes(|| async {
        let task = spawn(async {
            task::yield_now().await;
            1
        });
        task.abort();
        match task.await {
            Ok(value) => value,
            Err(error) => {
                assert!(error.is_cancelled() && !error.is_panic());
                0
            }
        }
    });
    assert_eq!((found, deadlock), (vec![0, 1], false));
    let (found, _) = outcomes(|| async {
        let lock = Arc::new(Mutex::new(0));
        let other = lock.clone();
        let panics = spawn(async move {
            let _held = other.lock().await;
            panic!("while it is held");
        });
        let error = panics.await.unwrap_err();
        (error.is_panic(), *lock.lock().await)
    });
    assert_eq!(found, [(true, 0)], "nothing is poisoned");
}

/// "When the `JoinSet` is dropped, all tasks in the `JoinSet` are immediately aborted."
#[test]
fn a_set_aborts_its_tasks() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut set = JoinSet::new();
        set.spawn(async move {
            task::yield_now().await;
            sender.send(1).unwrap();
            std::future::pending::<()>().await;
        });
        drop(set);
        receiver.recv().await
    });
    assert_eq!((found, deadlock), (vec![None, Some(1)], false));
    let (found, _) = outcomes(|| async {
        let mut set = JoinSet::new();
        set.spawn(async { 1 });
        set.spawn(async { 2 });
        let mut all = Vec::new();
        while let Some(result) = set.join_next().await {
            all.push(result.unwrap());
        }
        all
    });
    assert_eq!(found, [[1, 2], [2, 1]]);
}

/// Contrary to "Note that the timeout is checked before polling the future", a future that is ready
/// at once never times out.
#[test]
fn a_future_that_is_ready_does_not_time_out() {
    let (found, _) = outcomes(|| async { time::timeout(TIME, async { 1 }).await.ok() });
    assert_eq!(found, [Some(1)]);
    let (found, _) = outcomes_alone(|| async {
        let mut ticks = time::interval(TIME);
        ticks.tick().await;
        select! {
            biased;
            () = async {} => 1,
            _ = ticks.tick() => 2,
        }
    });
    assert_eq!(found, [1], "the first tick is at once");
}

/// "If all branches are disabled, `else` is taken"; a pattern that does not match
/// disables its branch.
#[test]
fn patterns_disable_branches() {
    let (found, deadlock) = outcomes_alone(|| async {
        let (sender, mut one) = mpsc::unbounded_channel::<u32>();
        let (other, mut two) = mpsc::unbounded_channel::<u32>();
        drop(sender);
        other.send(5).unwrap();
        drop(other);
        let mut all = Vec::new();
        loop {
            select! {
                Some(message) = one.recv() => all.push(message),
                Some(message) = two.recv() => all.push(message),
                else => break,
            }
        }
        all
    });
    assert_eq!((found, deadlock), (vec![vec![5]], false));
}

/// A message that `recv` did not return is not lost when a branch of `select!` is dropped.
#[test]
fn receiving_is_safe_to_cancel() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let (bell, mut rung) = oneshot::channel();
        let sends = spawn(async move {
            _ = sender.send(1).await;
            _ = bell.send(());
        });
        let mut got = Vec::new();
        let mut open = true;
        while open || got.is_empty() {
            select! {
                message = receiver.recv() => match message {
                    Some(message) => got.push(message),
                    None => break,
                },
                _ = &mut rung, if open => open = false,
            }
        }
        sends.await.unwrap();
        got
    });
    assert_eq!((found, deadlock), (vec![vec![1]], false));
}
