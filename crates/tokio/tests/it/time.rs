//! Timers: both outcomes of each wait.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::{self, Instant, interval, sleep, timeout};
use tokio::{select, spawn};

use crate::{outcomes, passes};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_timeout_may_elapse_or_not() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, receiver) = oneshot::channel();
        spawn(async move { sender.send(1) });
        match timeout(SECOND, receiver).await {
            Ok(message) => message.unwrap(),
            Err(elapsed) => {
                assert_eq!(elapsed.to_string(), "deadline has elapsed");
                0
            }
        }
    });
    assert_eq!((found, deadlock), (vec![0, 1], false));
    // A future that is ready at once never times out.
    let (found, _) = outcomes(|| async { timeout(SECOND, async { 1 }).await.ok() });
    assert_eq!(found, [Some(1)]);
    // A future that is never ready always does.
    let (found, deadlock) =
        outcomes(|| async { timeout(SECOND, std::future::pending::<()>()).await.is_err() });
    assert_eq!((found, deadlock), (vec![true], false));
}

/// A future that waits twice may time out at either wait.
#[test]
fn a_timeout_may_elapse_at_each_wait() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        spawn(async move {
            sender.send(1).await.unwrap_or(());
            sender.send(2).await.unwrap_or(());
        });
        let mut got = Vec::new();
        let both = async {
            for _ in 0..2 {
                got.push(receiver.recv().await.unwrap());
            }
        };
        _ = timeout(SECOND, both).await;
        got
    });
    assert_eq!(
        (found, deadlock),
        (vec![vec![], vec![1], vec![1, 2]], false)
    );
}

#[test]
fn timers_of_a_task_end_in_order() {
    let executions = passes(|| async {
        let start = Instant::now();
        sleep(SECOND).await;
        assert_eq!(start.elapsed(), SECOND);
        select! {
            () = sleep(3 * SECOND) => unreachable!("it is later"),
            () = sleep(SECOND) => {}
        }
        let mut ticks = interval(SECOND);
        let first = ticks.tick().await;
        assert_eq!(ticks.tick().await - first, SECOND);
        time::sleep_until(first).await;
    });
    assert!(executions >= 1);
}

/// A task that a message wakes may find that its timer has ended, too.
#[test]
fn a_message_and_a_timer_may_come_together() {
    let (found, deadlock) = outcomes(|| async {
        let (sender, mut receiver) = mpsc::channel(1);
        spawn(async move { sender.send(1).await });
        let late = sleep(SECOND);
        tokio::pin!(late);
        select! {
            biased;
            () = &mut late => receiver.try_recv().map_or("late", |_| "late, and a message"),
            Some(_) = receiver.recv() => "message",
        }
    });
    let all = vec!["late", "late, and a message", "message"];
    assert_eq!((found, deadlock), (all, false));
}

/// A loop that ticks until it is stopped terminates.
#[test]
fn a_loop_of_ticks_ends() {
    let (found, deadlock) = outcomes(|| async {
        let (stop, mut stopped) = oneshot::channel::<()>();
        spawn(async move { stop.send(()) });
        let mut ticks = interval(SECOND);
        let mut count = 0;
        loop {
            select! {
                _ = ticks.tick() => count += 1,
                _ = &mut stopped => break,
            }
        }
        count.min(2)
    });
    assert!(!deadlock && found.contains(&1), "{found:?}");
}
