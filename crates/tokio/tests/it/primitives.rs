//! Each primitive: what can happen, and what must not.

use std::sync::Arc;

use mazurka_rt::sync::atomic::{AtomicU32, Ordering::SeqCst};
use tokio::sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, TryAcquireError, broadcast, mpsc, oneshot,
    watch,
};
use tokio::{join, spawn, task};

use crate::{fails, outcomes, passes};

#[test]
fn a_mutex_excludes() {
    let executions = passes(|| async {
        let sum = Arc::new(Mutex::new(0));
        let other = sum.clone();
        let other = spawn(async move {
            let mut sum = other.lock().await;
            let before = *sum;
            task::yield_now().await;
            *sum = before + 1;
        });
        {
            let mut sum = sum.lock().await;
            let before = *sum;
            task::yield_now().await;
            *sum = before + 1;
        }
        other.await.unwrap();
        assert_eq!(*sum.lock().await, 2);
    });
    assert!(executions >= 2, "{executions}");
}

/// The task that has requested the lock first gets it, and a later attempt does not overtake this
/// task.
#[test]
fn a_mutex_is_fair() {
    let (found, deadlock) = outcomes(|| async {
        let lock = Arc::new(Mutex::new(Vec::new()));
        let guard = lock.lock().await;
        let (first, second) = (lock.clone(), lock.clone());
        let waits = Arc::new(Semaphore::new(0));
        let asked = waits.clone();
        let mut first = Box::pin(async move { first.lock().await.push(1) });
        std::future::poll_fn(|cx| {
            assert!(first.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        let second = spawn(async move {
            asked.add_permits(1);
            second.lock().await.push(2);
        });
        waits.acquire().await.unwrap().forget();
        drop(guard);
        let tried = lock.try_lock().is_ok();
        first.await;
        second.await.unwrap();
        (tried, Arc::into_inner(lock).unwrap().into_inner())
    });
    assert_eq!((found, deadlock), (vec![(false, vec![1, 2])], false));
}

/// Two tasks that each hold a guard while they wait for the other.
#[test]
fn a_guard_held_over_an_await_deadlocks() {
    let message = fails(|| async {
        let (a, b) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (x, y) = (a.clone(), b.clone());
        let other = spawn(async move {
            let _y = y.lock().await;
            let _x = x.lock().await;
        });
        let _a = a.lock().await;
        let _b = b.lock().await;
        other.await.unwrap();
    });
    assert!(message.contains("deadlock"), "{message}");
}

#[test]
fn readers_share_and_writers_do_not_starve() {
    let executions = passes(|| async {
        let lock = Arc::new(RwLock::new(0));
        let other = lock.clone();
        let one = lock.read().await;
        let two = lock.read().await;
        let writer = spawn(async move { *other.write().await += 1 });
        assert_eq!(*one + *two, 0);
        drop((one, two));
        writer.await.unwrap();
        let mut guard = lock.write().await;
        *guard += 1;
        assert!(lock.try_read().is_err());
        let guard = guard.downgrade();
        assert_eq!(*guard, 2);
        assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    });
    assert!(executions >= 2, "{executions}");
    // A waiting writer keeps later readers out.
    let (found, _) = outcomes(|| async {
        let lock = Arc::new(RwLock::new(()));
        let guard = lock.read().await;
        let mut writer = Box::pin(lock.clone().write_owned());
        std::future::poll_fn(|cx| {
            assert!(writer.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        let kept_out = lock.try_read().is_err();
        drop(writer);
        let let_in = lock.try_read().is_ok();
        drop(guard);
        (kept_out, let_in)
    });
    assert_eq!(found, [(true, true)]);
}

#[test]
fn a_semaphore_serves_in_order() {
    let (found, deadlock) = outcomes(|| async {
        let permits = Arc::new(Semaphore::new(1));
        // A task that needs more permits than are available takes the available ones.
        let mut many = Box::pin(permits.clone().acquire_many_owned(2));
        std::future::poll_fn(|cx| {
            assert!(many.as_mut().poll(cx).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        let taken = permits.available_permits();
        let tried = permits.try_acquire().err();
        // Its permits are returned when it gives up.
        drop(many);
        let back = permits.available_permits();
        permits.close();
        let closed = permits.try_acquire().err();
        let refused = permits.acquire().await.is_err();
        (
            taken,
            tried.is_some(),
            back,
            closed == Some(TryAcquireError::Closed),
            refused,
        )
    });
    assert_eq!((found, deadlock), (vec![(0, true, 1, true, true)], false));
}

/// A permit is left for a task that asks later, but only one.
#[test]
fn notify_one_is_not_lost() {
    passes(|| async {
        let notify = Arc::new(Notify::new());
        let other = notify.clone();
        let other = spawn(async move { other.notify_one() });
        notify.notified().await;
        other.await.unwrap();
    });
    let message = fails(|| async {
        let notify = Arc::new(Notify::new());
        let other = notify.clone();
        let other = spawn(async move {
            other.notify_one();
            other.notify_one();
        });
        other.await.unwrap();
        notify.notified().await;
        notify.notified().await;
    });
    assert!(message.contains("deadlock"), "{message}");
}

/// `notify_waiters` leaves no permit: the classic lost wake-up, and how it is avoided.
#[test]
fn notify_waiters_reaches_those_that_wait() {
    let message = fails(|| async {
        let notify = Arc::new(Notify::new());
        let ready = Arc::new(AtomicU32::new(0));
        let (other, flag) = (notify.clone(), ready.clone());
        spawn(async move {
            flag.store(1, SeqCst);
            other.notify_waiters();
        });
        if ready.load(SeqCst) == 0 {
            notify.notified().await;
        }
    });
    assert!(message.contains("deadlock"), "{message}");
    passes(|| async {
        let notify = Arc::new(Notify::new());
        let ready = Arc::new(AtomicU32::new(0));
        let (other, flag) = (notify.clone(), ready.clone());
        spawn(async move {
            flag.store(1, SeqCst);
            other.notify_waiters();
        });
        // Notifications count from here on.
        let notified = notify.notified();
        if ready.load(SeqCst) == 0 {
            notified.await;
        }
    });
}

/// If a task gives up its wait after `notify_one` has chosen it, the next task is notified.
#[test]
fn a_notification_is_passed_on() {
    let (found, _) = outcomes(|| async {
        let notify = Notify::new();
        let mut first = Box::pin(notify.notified());
        let mut second = Box::pin(notify.notified());
        assert!(!first.as_mut().enable() && !second.as_mut().enable());
        notify.notify_one();
        drop(first);
        second.as_mut().enable()
    });
    assert_eq!(found, [true]);
}

#[test]
fn a_oneshot_sends_once() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = oneshot::channel();
        let other = spawn(async move { sender.send(1).is_ok() });
        let early = receiver.try_recv().ok();
        let late = if early.is_none() {
            receiver.await.ok()
        } else {
            None
        };
        (early, late, other.await.unwrap())
    });
    let all = vec![(None, Some(1), true), (Some(1), None, true)];
    assert_eq!((found, deadlock), (all, false));
    let (found, _) = outcomes(|| async {
        let (sender, receiver) = oneshot::channel::<u32>();
        let other = spawn(async move {
            let mut sender = sender;
            sender.closed().await;
            sender.send(1).is_err()
        });
        drop(receiver);
        let (sender, receiver) = oneshot::channel::<u32>();
        drop(sender);
        (receiver.await.is_err(), other.await.unwrap())
    });
    assert_eq!(found, [(true, true)]);
}

#[test]
fn messages_keep_their_order() {
    for bound in [1, 2] {
        let (found, deadlock) = outcomes(move || async move {
            let (sender, mut receiver) = mpsc::channel(bound);
            spawn(async move {
                for k in 1..=3 {
                    sender.send(k).await.unwrap();
                }
            });
            let mut all = Vec::new();
            while let Some(message) = receiver.recv().await {
                all.push(message);
            }
            all
        });
        assert_eq!((found, deadlock), (vec![vec![1, 2, 3]], false));
    }
}

/// Two senders, each with two messages: the orders are the interleavings, 4! / (2! 2!).
#[test]
fn messages_of_two_senders_interleave() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let other = sender.clone();
        spawn(async move { (0..2).for_each(|k| other.send(k).unwrap()) });
        spawn(async move { (2..4).for_each(|k| sender.send(k).unwrap()) });
        let mut all = Vec::new();
        while let Some(message) = receiver.recv().await {
            all.push(message);
        }
        all
    });
    assert_eq!((found.len(), deadlock), (6, false), "{found:?}");
}

#[test]
fn a_closed_channel_drains() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = mpsc::channel(2);
        let permit = sender.clone().reserve_owned().await.unwrap();
        sender.send(1).await.unwrap();
        receiver.close();
        let refused = sender.send(2).await.is_err();
        let first = receiver.recv().await;
        // The permit may still be used, so the channel has not ended.
        let sends = spawn(async move { drop(permit.send(3)) });
        let second = receiver.recv().await;
        let over = receiver.recv().await;
        sends.await.unwrap();
        drop(sender);
        (refused, first, second, over)
    });
    assert_eq!(
        (found, deadlock),
        (vec![(true, Some(1), Some(3), None)], false)
    );
}

/// A cancelled receive loses no message, unless the message was taken before the await.
#[test]
fn receiving_can_be_cancelled() {
    let drain = |safe: bool| {
        outcomes(move || async move {
            let (sender, mut receiver) = mpsc::channel(2);
            let (stop, stopped) = oneshot::channel();
            spawn(async move { sender.send(1).await });
            spawn(async move { stop.send(()) });
            let mut got = Vec::new();
            let slowly = async {
                let message = receiver.recv().await;
                if !safe {
                    task::yield_now().await;
                }
                message
            };
            tokio::select! {
                Some(message) = slowly => got.push(message),
                _ = stopped => {}
            }
            while let Some(message) = receiver.recv().await {
                got.push(message);
            }
            got
        })
    };
    assert_eq!(drain(true), (vec![vec![1]], false));
    assert_eq!(
        drain(false),
        (vec![vec![], vec![1]], false),
        "cancellation loses it"
    );
}

#[test]
fn weak_senders_do_not_keep_a_channel_open() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        let weak = sender.downgrade();
        spawn(async move { drop(sender) });
        let sent = match weak.upgrade() {
            Some(sender) => sender.try_send(1).is_ok(),
            None => false,
        };
        (sent, receiver.recv().await)
    });
    assert_eq!(
        (found, deadlock),
        (vec![(false, None), (true, Some(1))], false)
    );
}

/// A slow receiver misses the oldest messages, and learns how many.
#[test]
fn broadcast_lags() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = broadcast::channel(2);
        let other =
            spawn(async move { (1..=3).for_each(|k| assert_eq!(sender.send(k).unwrap(), 1)) });
        let mut got = Vec::new();
        loop {
            match receiver.recv().await {
                Ok(message) => got.push(message),
                Err(broadcast::error::RecvError::Lagged(missed)) => got.push(-(missed as i32)),
                Err(broadcast::error::RecvError::Closed) => break,
            }
        }
        other.await.unwrap();
        got
    });
    assert_eq!(
        (found, deadlock),
        (vec![vec![-1, 2, 3], vec![1, 2, 3]], false)
    );
}

#[test]
fn every_receiver_gets_every_message() {
    passes(|| async {
        let (sender, mut receiver) = broadcast::channel(4);
        let mut other = sender.subscribe();
        let other = spawn(async move { (other.recv().await, other.recv().await) });
        assert_eq!(sender.send(1).unwrap(), 2);
        drop(sender);
        assert_eq!(receiver.recv().await, Ok(1));
        let closed = Err(broadcast::error::RecvError::Closed);
        assert_eq!(other.await.unwrap(), (Ok(1), closed));
    });
}

/// A receiver sees the latest value, and may miss earlier ones.
#[test]
fn watch_shows_the_last_value() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = watch::channel(0);
        let other = spawn(async move { (1..=2).for_each(|k| sender.send(k).unwrap()) });
        let mut seen = Vec::new();
        while receiver.changed().await.is_ok() {
            seen.push(*receiver.borrow_and_update());
        }
        other.await.unwrap();
        seen
    });
    // `changed` counts the version as seen, so a value that arrives before the borrow is seen again
    // only if its version is newer.
    assert_eq!((found, deadlock), (vec![vec![1, 2], vec![2]], false));
}

/// A borrow of the value makes a sender wait. If a task holds the borrow over an await, there is a
/// deadlock.
#[test]
fn a_borrow_held_over_an_await_deadlocks() {
    let message = fails(|| async {
        let (sender, receiver) = watch::channel(0);
        let look = receiver.borrow();
        let other = spawn(async move { sender.send(1).is_ok() });
        other.await.unwrap();
        drop(look);
    });
    assert!(message.contains("deadlock"), "{message}");
}

#[test]
fn a_barrier_has_one_leader() {
    let (found, deadlock) = outcomes(|| async {
        let barrier = Arc::new(Barrier::new(2));
        let other = barrier.clone();
        let other = spawn(async move { other.wait().await.is_leader() });
        (barrier.wait().await.is_leader(), other.await.unwrap())
    });
    assert_eq!(
        (found, deadlock),
        (vec![(false, true), (true, false)], false)
    );
}

/// One of two tasks makes the value; if it fails or is cancelled, the other does.
#[test]
fn a_once_cell_is_made_once() {
    let (found, deadlock) = outcomes(|| async {
        let cell = Arc::new(OnceCell::new());
        let made = Arc::new(AtomicU32::new(0));
        let (other, count) = (cell.clone(), made.clone());
        let other = spawn(async move {
            let make = || async {
                count.fetch_add(1, SeqCst);
                Err::<u32, ()>(())
            };
            other.get_or_try_init(make).await.copied()
        });
        let mine = *cell.get_or_init(|| async { 7 }).await;
        (mine, other.await.unwrap(), made.load(SeqCst))
    });
    let all = vec![(7, Ok(7), 0), (7, Err(()), 1)];
    assert_eq!((found, deadlock), (all, false));
}

#[test]
fn statics_start_every_execution_anew() {
    static COUNT: Mutex<u32> = Mutex::const_new(0);
    static BELL: Notify = Notify::const_new();
    static ROOM: Semaphore = Semaphore::const_new(1);
    static ONCE: OnceCell<u32> = OnceCell::const_new();
    let executions = passes(|| async {
        let other = spawn(async {
            let _permit = ROOM.acquire().await.unwrap();
            *COUNT.lock().await += 1;
            BELL.notify_one();
        });
        join!(BELL.notified(), async {
            drop(ROOM.acquire().await.unwrap())
        });
        other.await.unwrap();
        assert_eq!(*COUNT.lock().await, 1);
        assert!(ONCE.set(1).is_ok());
    });
    assert!(executions > 1, "{executions}");
}
