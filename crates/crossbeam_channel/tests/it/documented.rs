//! The documentation of crossbeam-channel, sentence by sentence, as programs.

use std::sync::Arc as Shared;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use mazurka_crossbeam_channel::{
    Receiver, RecvTimeoutError, Select, SendTimeoutError, Sender, TryRecvError, TrySendError,
    after, at, bounded, never, select, select_biased, tick, unbounded,
};
use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use mazurka_rt::{Builder, Memory, thread};

use crate::outcomes;

const TIME: Duration = Duration::from_millis(20);

/// "The channel has capacity of 1 and never gets disconnected. Exactly one message will be sent."
#[test]
fn a_timer_sends_once_and_is_never_gone() {
    let (found, deadlock) = outcomes(|| {
        let timer = after(TIME);
        let first = timer.recv().is_ok();
        (first, timer.try_recv(), timer.capacity())
    });
    assert_eq!(found, [(true, Err(TryRecvError::Empty), Some(1))]);
    assert!(!deadlock);
    let (found, deadlock) = outcomes(|| {
        let timer = at(Instant::now() + TIME);
        timer.recv().is_ok() && timer.recv().is_ok()
    });
    assert_eq!(
        (found, deadlock),
        (vec![], true),
        "the second waits for ever"
    );
    let (found, _) = outcomes(|| {
        let (s, r) = unbounded();
        thread::spawn(move || s.send(1));
        let (timer, mut ticks) = (after(TIME), 0);
        loop {
            select! {
                recv(r) -> message => break (message.is_ok(), ticks),
                recv(timer) -> _ => ticks += 1,
            }
        }
    });
    assert_eq!(found, [(true, 0), (true, 1)]);
}

/// "Creates a receiver that delivers messages periodically. The channel is bounded with capacity of
/// 1 and never gets disconnected."
#[test]
fn a_channel_ticks_again_and_again() {
    let (found, deadlock) = outcomes(|| {
        let ticks = tick(TIME);
        let four = (0..4).all(|_| ticks.recv().is_ok());
        (four, ticks.capacity(), ticks.same_channel(&ticks.clone()))
    });
    assert_eq!((found, deadlock), (vec![(true, Some(1), true)], false));
    // An attempt may come before the tick or after it, and a tick that has come stays in the
    // channel.
    let (found, _) = outcomes(|| {
        let ticks = tick(TIME);
        let seen = (ticks.len(), ticks.is_full());
        (seen, ticks.try_recv().is_ok(), ticks.try_recv().is_ok())
    });
    for (early, late) in [(false, false), (false, true), (true, false), (true, true)] {
        assert!(found.contains(&((0, false), early, late)), "{found:?}");
        assert_eq!(found.contains(&((1, true), early, late)), early);
    }
    // Ticks that are not received do not pile up, and a ticker may outlive all threads.
    let (found, deadlock) = outcomes(|| {
        let ticks = tick(TIME);
        ticks.recv().unwrap();
        std::mem::forget(ticks);
    });
    assert_eq!((found, deadlock), (vec![()], false));
}

/// Ticks interleave with other threads, and a loop that does something at each tick ends.
#[test]
fn ticks_come_between_the_steps_of_others() {
    let program = || {
        let (stop, stopped) = bounded::<()>(0);
        let count = Arc::new(AtomicU32::new(0));
        let seen = count.clone();
        let other = thread::spawn(move || {
            let seen = (seen.load(SeqCst), seen.load(SeqCst));
            drop(stop);
            seen
        });
        let ticks = tick(TIME);
        loop {
            select! {
                recv(ticks) -> _ => count.fetch_add(1, SeqCst),
                recv(stopped) -> _ => break,
            };
        }
        other.join().unwrap()
    };
    let (found, deadlock) = outcomes(program);
    assert!(!deadlock);
    for pair in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)] {
        assert!(found.contains(&pair), "{found:?}");
    }
    let summary = Builder::new().check(move || _ = program());
    assert!(!summary.is_complete());
    let text = summary.to_string();
    assert!(text.contains("ticks after the second, made at"), "{text}");
    // With two ticks nothing is left out: they come at any moment.
    let summary = Builder::new().check(|| {
        let ticks = tick(TIME);
        ticks.recv().unwrap();
        ticks.recv().unwrap();
    });
    assert!(summary.is_complete(), "{summary}");
}

/// A thread that waits for a third tick gets it, whatever the others wait for.
#[test]
fn a_late_tick_ends_a_wait() {
    let (found, deadlock) = outcomes(|| {
        let (one, two) = (tick(TIME), tick(TIME));
        let (s, r) = bounded(1);
        let other = thread::spawn(move || {
            let all = (0..3).all(|_| two.recv().is_ok());
            s.send(all).unwrap();
        });
        let all = (0..3).all(|_| one.recv().is_ok()) && r.recv().unwrap();
        other.join().unwrap();
        all
    });
    assert_eq!((found, deadlock), (vec![true], false));
    // The other threads can deadlock although the ticker does not.
    let (found, deadlock) = outcomes(|| {
        let ticks = tick(TIME);
        (0..3).for_each(|_| _ = ticks.recv());
        never::<u32>().recv().is_ok()
    });
    assert_eq!((found, deadlock), (vec![], true));
}

/// More than two ticks are explored under sequential consistency.
#[test]
fn ticks_under_a_memory_model() {
    let summary = Builder::new().check(|| {
        AtomicU32::new(0).store(1, Relaxed);
        let ticks = tick(TIME);
        (0..3).for_each(|_| _ = ticks.recv());
    });
    assert_eq!(summary.memory, Memory::Sc);
    let text = summary.to_string();
    assert!(text.contains("`tick` when all others wait"), "{text}");
    let summary = Builder::new().memory(Memory::Rc11).check(|| {
        let ticks = tick(TIME);
        assert!(ticks.recv().is_ok());
    });
    assert!(summary.is_complete());
}

#[test]
fn ticks_outside_a_model() {
    let start = Instant::now();
    let ticks = tick(TIME);
    assert_eq!(ticks.try_recv(), Err(TryRecvError::Empty));
    let times: Vec<Instant> = ticks.iter().take(3).collect();
    assert!(start.elapsed() >= 3 * TIME);
    let mut last = start;
    for time in times {
        assert!(time >= last + TIME, "{:?}", time - last);
        last = time;
    }
}

/// "Creates a receiver that never delivers messages."
#[test]
fn never_is_empty_for_ever() {
    let (found, _) = outcomes(|| {
        let (one, two) = (never::<u32>(), never::<u32>());
        let state = (one.is_empty(), one.is_full(), one.len(), one.capacity());
        let tried = (one.try_recv(), one.recv_timeout(TIME));
        (state, tried, one.same_channel(&two))
    });
    let tried = (Err(TryRecvError::Empty), Err(RecvTimeoutError::Timeout));
    assert_eq!(found, [((true, true, 0, Some(0)), tried, true)]);
    let (found, deadlock) = outcomes(|| never::<u32>().recv().is_ok());
    assert_eq!((found, deadlock), (vec![], true));
}

/// Two threads that wait for each other for a time either both meet or both time out.
#[test]
fn threads_that_wait_for_a_time_meet() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded(0);
        let receives = thread::spawn(move || {
            let got = r.recv_timeout(TIME).ok();
            (got, r)
        });
        let sent = s.send_timeout(1, TIME).is_ok();
        let (got, _r) = receives.join().unwrap();
        (sent, got)
    });
    assert_eq!(
        (found, deadlock),
        (vec![(false, None), (true, Some(1))], false)
    );
    let (found, _) = outcomes(|| {
        let (s, r) = bounded(0);
        let receives = thread::spawn(move || {
            select! {
                recv(r) -> message => message.ok(),
                default(TIME) => None,
            }
        });
        let sent = match s.send_timeout(1, TIME) {
            Ok(()) => 0,
            Err(SendTimeoutError::Timeout(_)) => 1,
            Err(SendTimeoutError::Disconnected(_)) => 2,
        };
        (sent, receives.join().unwrap())
    });
    assert_eq!(found, [(0, Some(1)), (1, None), (2, None)]);
}

/// A `try_send` or `try_recv` can meet a thread in a timed wait.
#[test]
fn attempts_meet_threads_that_wait_for_a_time() {
    let (found, _) = outcomes(|| {
        let (s, r) = bounded(0);
        let receives = thread::spawn(move || r.recv_timeout(TIME));
        let sent = match s.try_send(1) {
            Ok(()) => 0,
            Err(TrySendError::Full(_)) => 1,
            Err(TrySendError::Disconnected(_)) => 2,
        };
        let got = receives.join().unwrap();
        (sent, got)
    });
    let timeout = Err(RecvTimeoutError::Timeout);
    assert_eq!(found, [(0, Ok(1)), (1, timeout), (2, timeout)]);
    let (found, _) = outcomes(|| {
        let (s, r) = bounded(0);
        let sends = thread::spawn(move || s.send_timeout(1, TIME).is_ok());
        let got = r.try_recv();
        (got, sends.join().unwrap())
    });
    let (empty, gone) = (TryRecvError::Empty, TryRecvError::Disconnected);
    // If the attempt does not take the message, the send fails, whether the attempt came too early
    // or after the timeout.
    assert_eq!(
        found,
        [(Ok(1), true), (Err(empty), false), (Err(gone), false)]
    );
}

#[test]
fn a_loop_of_timeouts_ends() {
    for capacity in [0, 1] {
        let (found, deadlock) = outcomes(move || {
            let (s, r) = bounded(capacity);
            thread::spawn(move || s.send(7));
            loop {
                match r.recv_timeout(TIME) {
                    Ok(message) => break message,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break 0,
                }
            }
        });
        assert_eq!((found, deadlock), (vec![7], false), "capacity {capacity}");
    }
}

#[test]
fn a_loop_of_attempts_ends() {
    for capacity in [0, 1] {
        let (found, deadlock) = outcomes(move || {
            let (s, r) = bounded(capacity);
            thread::spawn(move || s.send(7));
            loop {
                match r.try_recv() {
                    Ok(message) => break message,
                    Err(_) => thread::yield_now(),
                }
            }
        });
        assert_eq!((found, deadlock), (vec![7], false), "capacity {capacity}");
        let (found, deadlock) = outcomes(move || {
            let (s, r) = bounded(capacity);
            if capacity > 0 {
                s.send(1).unwrap();
            }
            let receives =
                thread::spawn(move || (r.recv().is_ok(), capacity > 0 && r.recv().is_ok()));
            while s.try_send(2).is_err() {
                thread::yield_now();
            }
            receives.join().unwrap()
        });
        assert_eq!(
            (found, deadlock),
            (vec![(true, capacity > 0)], false),
            "capacity {capacity}"
        );
    }
}

/// "If the channel is zero-capacity, this method will wait for a receive operation to appear on the
/// other side of the channel."
#[test]
fn without_room_a_send_ends_after_the_receive_has_begun() {
    for capacity in [0, 1] {
        let (found, _) = outcomes(move || {
            let (s, r) = bounded(capacity);
            let flag = Arc::new(AtomicU32::new(0));
            let begun = flag.clone();
            let receives = thread::spawn(move || {
                begun.store(1, SeqCst);
                r.recv().is_ok()
            });
            s.send(1).unwrap();
            let seen = flag.load(SeqCst);
            (seen, receives.join().unwrap())
        });
        let expected = if capacity == 0 {
            vec![(1, true)]
        } else {
            vec![(0, true), (1, true)]
        };
        assert_eq!(found, expected, "capacity {capacity}");
    }
}

/// "When all senders or all receivers associated with a channel get dropped, the channel becomes
/// disconnected. No more messages can be sent, but any remaining messages can still be received."
#[test]
fn what_is_left_when_an_end_is_gone() {
    let (found, _) = outcomes(|| {
        let (s, r) = unbounded();
        s.send(1).unwrap();
        s.send(2).unwrap();
        drop(s);
        let left: Vec<i32> = r.try_iter().collect();
        (left, r.recv().is_err(), r.try_recv())
    });
    assert_eq!(found, [(vec![1, 2], true, Err(TryRecvError::Disconnected))]);
    struct Counted(Shared<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let (found, _) = outcomes(|| {
        let drops = Shared::new(AtomicUsize::new(0));
        let (s, r) = unbounded();
        for _ in 0..2 {
            assert!(s.send(Counted(drops.clone())).is_ok());
        }
        drop(r);
        let gone = drops.load(std::sync::atomic::Ordering::SeqCst);
        let back = s
            .send(Counted(drops.clone()))
            .map_err(|error| error.into_inner());
        (gone, back.is_err())
    });
    assert_eq!(found, [(2, true)]);
}

#[test]
fn the_last_sender_ends_the_messages() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded(1);
        let senders: Vec<_> = (1..=2)
            .map(|message| {
                let s = s.clone();
                thread::spawn(move || s.send(message).unwrap())
            })
            .collect();
        drop(s);
        let mut all: Vec<i32> = r.into_iter().collect();
        for sender in senders {
            sender.join().unwrap();
        }
        let first = all[0];
        all.sort_unstable();
        (first, all)
    });
    assert_eq!(found, [(1, vec![1, 2]), (2, vec![1, 2])]);
    assert!(!deadlock);
}

#[test]
fn each_message_is_received_once() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = unbounded();
        let receivers = [r.clone(), r].map(|r| thread::spawn(move || r.recv().ok()));
        let other = s.clone();
        let sends = thread::spawn(move || other.send(1).is_ok());
        let mine = s.send(2).is_ok();
        let mut got: Vec<_> = receivers.into_iter().map(|r| r.join().unwrap()).collect();
        got.sort_unstable();
        (mine && sends.join().unwrap(), got)
    });
    assert_eq!(
        (found, deadlock),
        (vec![(true, vec![Some(1), Some(2)])], false)
    );
}

#[test]
fn a_full_channel() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded(1);
        s.send(1).unwrap();
        let state = (s.is_full(), s.len(), r.is_empty());
        let full = matches!(s.try_send(2), Err(TrySendError::Full(2)));
        let timeout = s.send_timeout(3, TIME);
        (
            state,
            full,
            matches!(timeout, Err(SendTimeoutError::Timeout(3))),
        )
    });
    assert_eq!(found, [((true, 1, false), true, true)]);
    assert!(!deadlock);
    let (found, deadlock) = outcomes(|| {
        let (s, _r) = bounded(1);
        s.send(1).unwrap();
        s.send(2).is_ok()
    });
    assert_eq!((found, deadlock), (vec![], true));
}

/// "If multiple operations are ready, a random one among them is selected."
#[test]
fn any_of_three() {
    let ready = || -> [Receiver<u32>; 3] {
        [1, 2, 3].map(|message| {
            let (s, r) = bounded(1);
            s.send(message).unwrap();
            r
        })
    };
    let (found, _) = outcomes(move || {
        let [a, b, c] = ready();
        select! {
            recv(a) -> message => message,
            recv(b) -> message => message,
            recv(c) -> message => message,
        }
    });
    assert_eq!(found, [Ok(1), Ok(2), Ok(3)]);
    let (found, _) = outcomes(move || {
        let [a, b, c] = ready();
        select_biased! {
            recv(b) -> message => message,
            recv(a) -> message => message,
            recv(c) -> message => message,
        }
    });
    assert_eq!(found, [Ok(2)]);
}

/// "An operation is ready if it can be executed without blocking, even when it will simply return
/// an error because the channel is disconnected."
#[test]
fn a_channel_that_is_gone_is_ready() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded::<u32>(0);
        let (t, q) = bounded::<u32>(0);
        drop((s, q));
        select! {
            recv(r) -> message => message.is_err(),
            send(t, 1) -> sent => sent.is_ok(),
        }
    });
    assert_eq!((found, deadlock), (vec![false, true], false));
}

#[test]
fn a_select_sends_when_there_is_room() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded(1);
        let (_t, q) = bounded::<u32>(0);
        s.send(1).unwrap();
        let takes = thread::spawn(move || (r.recv(), r.recv()));
        select! {
            send(s, 2) -> sent => sent.unwrap(),
            recv(q) -> _ => unreachable!(),
        }
        drop(s);
        takes.join().unwrap()
    });
    assert_eq!((found, deadlock), (vec![(Ok(1), Ok(2))], false));
}

/// As many cases as upstream supports.
#[test]
fn many_cases() {
    let (found, _) = outcomes(|| {
        let (s, r) = bounded(1);
        s.send(5).unwrap();
        let n: Receiver<i32> = never();
        select! {
            recv(n) -> _ => 0, recv(n) -> _ => 0, recv(n) -> _ => 0, recv(n) -> _ => 0,
            recv(n) -> _ => 0, recv(n) -> _ => 0, recv(n) -> _ => 0, recv(n) -> _ => 0,
            recv(n) -> _ => 0, recv(n) -> _ => 0, recv(n) -> _ => 0, recv(n) -> _ => 0,
            recv(n) -> _ => 0, recv(n) -> _ => 0, recv(n) -> _ => 0,
            recv(r) -> message => message.unwrap(),
        }
    });
    assert_eq!(found, [5]);
}

#[test]
fn an_operation_that_is_removed_is_not_selected() {
    let (found, _) = outcomes(|| {
        let (s, r) = bounded(1);
        let (t, q) = bounded(1);
        s.send(1).unwrap();
        t.send(2).unwrap();
        let mut select = Select::new();
        let one = select.recv(&r);
        let two = select.recv(&q);
        select.remove(one);
        let selected = select.select();
        assert_eq!(selected.index(), two);
        selected.recv(&q)
    });
    assert_eq!(found, [Ok(2)]);
}

/// What a thread wrote before it sent a message is seen after the message is received, also under
/// C++20's orderings.
#[test]
fn a_message_orders() {
    fn passes(make: fn() -> (Sender<()>, Receiver<()>)) -> bool {
        let found = Builder::new().memory(Memory::Rc11).outcomes(move || {
            let (s, r) = make();
            let data = Arc::new(AtomicU32::new(0));
            let other = data.clone();
            thread::spawn(move || {
                other.store(1, Relaxed);
                s.send(())
            });
            r.recv().unwrap();
            data.load(Relaxed)
        });
        assert_eq!((found.failures, found.deadlocks), (0, 0));
        assert!(found.bounds.is_empty());
        found.results == [1]
    }
    assert!(passes(|| bounded(0)) && passes(|| bounded(1)) && passes(unbounded));
}

#[test]
fn timeouts_outside_a_model() {
    let (s, r) = bounded(0);
    std::thread::scope(|scope| {
        let receives = scope.spawn(|| r.recv_timeout(Duration::from_secs(20)));
        assert!(s.send_timeout(1, Duration::from_secs(20)).is_ok());
        assert_eq!(receives.join().unwrap(), Ok(1));
    });
    assert_eq!(r.recv_timeout(TIME), Err(RecvTimeoutError::Timeout));
    assert!(after(TIME).recv().is_ok());
}
