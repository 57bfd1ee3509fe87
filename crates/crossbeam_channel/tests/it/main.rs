//! Channels of crossbeam, explored: outcomes, deadlocks, `select!`, and random programs compared
//! with the channels of std.

mod documented;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use mazurka_crossbeam_channel::{
    Receiver, RecvTimeoutError, Select, Sender, TryRecvError, TrySendError, after, bounded, never,
    select, select_biased, unbounded,
};
use mazurka_rt::{Builder, thread};

/// Returns everything that a closure can return, and whether it can deadlock.
fn outcomes<T: Ord + Debug + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> (Vec<T>, bool) {
    let found = Builder::new().outcomes(f);
    assert!(found.bounds.is_empty(), "{:?}", found.bounds);
    assert_eq!(found.failures, 0);
    let results: BTreeSet<T> = found.results.into_iter().collect();
    (results.into_iter().collect(), found.deadlocks > 0)
}

#[test]
fn messages_keep_their_order() {
    for capacity in [0, 1, 2] {
        let found = outcomes(move || {
            let (s, r) = bounded(capacity);
            thread::spawn(move || (1..=3).for_each(|k| s.send(k).unwrap()));
            r.iter().collect::<Vec<_>>()
        });
        assert_eq!(found, (vec![vec![1, 2, 3]], false), "capacity {capacity}");
    }
}

#[test]
fn several_receivers_share_the_messages() {
    for capacity in [0, 1, 2] {
        let (found, deadlock) = outcomes(move || {
            let (s, r) = bounded(capacity);
            let other = r.clone();
            let other = thread::spawn(move || other.recv().ok());
            s.send(1).unwrap();
            s.send(2).unwrap_or(());
            drop(s);
            let mine = r.recv().ok();
            (mine, other.join().unwrap())
        });
        // Without room for both, the second message waits for a receiver that comes later.
        let all = vec![(Some(1), Some(2)), (Some(2), Some(1))];
        let expected = match capacity {
            0 => (vec![], true),
            1 => (vec![(Some(2), Some(1))], false),
            _ => (all, false),
        };
        assert_eq!((found, deadlock), expected, "capacity {capacity}");
    }
}

#[test]
fn dropped_ends_are_reported() {
    let found = outcomes(|| {
        let (s, r) = bounded::<u32>(1);
        let sender = thread::spawn(move || (s.send(1).is_ok(), s.send(2).is_ok()));
        let first = r.recv().unwrap();
        drop(r);
        (first, sender.join().unwrap())
    });
    assert_eq!(found, (vec![(1, (true, false)), (1, (true, true))], false));
    let found = outcomes(|| {
        let (s, r) = bounded::<u32>(0);
        let sender = thread::spawn(move || s.send(1).is_ok());
        drop(r);
        sender.join().unwrap()
    });
    assert_eq!(found, (vec![false], false));
    let found = outcomes(|| {
        let (s, r) = bounded::<u32>(0);
        let other = s.clone();
        thread::spawn(move || drop(other));
        drop(s);
        r.recv().is_err()
    });
    assert_eq!(found, (vec![true], false));
}

#[test]
fn attempts_fail_without_a_partner() {
    let (found, _) = outcomes(|| {
        let (s, r) = bounded(0);
        thread::spawn(move || r.recv());
        match s.try_send(1) {
            Ok(()) => "sent",
            Err(TrySendError::Full(1)) => "full",
            Err(_) => "gone",
        }
    });
    assert_eq!(found, ["full", "sent"]);
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded(0);
        thread::spawn(move || s.send(1));
        match r.try_recv() {
            Ok(1) => "received",
            Err(TryRecvError::Empty) => "empty",
            _ => "gone",
        }
    });
    assert_eq!((found, deadlock), (vec!["empty", "received"], false));
    let (found, _) = outcomes(|| {
        let (s, r) = unbounded();
        thread::spawn(move || s.send(1));
        match r.recv_timeout(Duration::from_secs(1)) {
            Ok(1) => "received",
            Err(RecvTimeoutError::Timeout) => "late",
            _ => "gone",
        }
    });
    assert_eq!(found, ["late", "received"]);
}

#[test]
fn any_operation_that_is_possible_is_selected() {
    let (found, deadlock) = outcomes(|| {
        let (a, from_a) = unbounded();
        let (b, from_b) = unbounded();
        a.send(1).unwrap();
        b.send(2).unwrap();
        let mut got = Vec::new();
        for _ in 0..2 {
            select! {
                recv(from_a) -> m => got.push(m.unwrap()),
                recv(from_b) -> m => got.push(m.unwrap()),
            }
        }
        got
    });
    assert_eq!((found, deadlock), (vec![vec![1, 2], vec![2, 1]], false));
    let biased = || {
        let (a, from_a) = unbounded();
        let (b, from_b) = unbounded();
        (a.send(1), b.send(2)).0.unwrap();
        select_biased! {
            recv(from_b) -> m => m.unwrap(),
            recv(from_a) -> m => { m.unwrap() }
        }
    };
    assert_eq!(outcomes(biased), (vec![2], false));
}

#[test]
fn a_select_waits() {
    let found = outcomes(|| {
        let (a, from_a) = bounded(0);
        let (b, from_b) = bounded(1);
        thread::spawn(move || a.send(1).is_ok());
        thread::spawn(move || b.send(2).is_ok());
        let mut sum = Vec::new();
        let mut open = (true, true);
        while open != (false, false) {
            select! {
                recv(if open.0 { &from_a } else { &never() }) -> m => match m {
                    Ok(m) => sum.push(m),
                    Err(_) => { open.0 = false; continue }
                },
                recv(if open.1 { &from_b } else { &never() }) -> m => match m {
                    Ok(m) => sum.push(m),
                    Err(_) => open.1 = false,
                },
            }
        }
        sum
    });
    assert_eq!(found, (vec![vec![1, 2], vec![2, 1]], false));
}

/// Two selecting threads meet at a channel without room, each at most once.
#[test]
fn threads_that_select_meet() {
    let found = outcomes(|| {
        let (s, r) = bounded(0);
        let (t, q) = bounded(0);
        let other = thread::spawn(move || {
            select! {
                send(s, 1) -> sent => { sent.unwrap(); 's' }
                recv(q) -> m => { assert_eq!(m, Ok(2)); 'q' }
            }
        });
        let mine = select! {
            recv(r) -> m => { assert_eq!(m, Ok(1)); 'r' }
            send(t, 2) -> sent => { sent.unwrap(); 't' }
        };
        (mine, other.join().unwrap())
    });
    assert_eq!(found, (vec![('r', 's'), ('t', 'q')], false));
}

#[test]
fn a_thread_does_not_meet_itself() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded(0);
        select! {
            send(s, 1) -> _ => "sent",
            recv(r) -> _ => "received",
        }
    });
    assert_eq!((found, deadlock), (vec![], true));
}

#[test]
fn default_is_taken_if_nothing_is_possible() {
    let (found, _) = outcomes(|| {
        let (s, r) = unbounded();
        let (t, q) = bounded::<u32>(1);
        thread::spawn(move || s.send(1));
        t.send(7).unwrap();
        select! {
            recv(r) -> m => m.unwrap_or(3),
            send(t, 2) -> _ => q.recv().unwrap(),
            default => 0,
        }
    });
    assert_eq!(found, [0, 1]);
    let (found, _) = outcomes(|| {
        let (s, r) = unbounded();
        thread::spawn(move || s.send(1));
        select! {
            recv(r) -> m => m.unwrap_or(3),
            default(Duration::from_millis(1)) => 0,
        }
    });
    assert_eq!(found, [0, 1]);
}

/// A message is always in one of two channels, and a thread that looks at both may miss it.
#[test]
fn default_looks_at_one_channel_after_the_other() {
    let (found, _) = outcomes(|| {
        let (a, from_a) = unbounded();
        let (b, from_b) = unbounded();
        b.send(1).unwrap();
        let (c, from_c) = (from_a.clone(), from_b.clone());
        let moves = thread::spawn(move || {
            a.send(2).unwrap();
            from_c.try_recv().ok()
        });
        let got = select! {
            recv(from_a) -> m => m.unwrap(),
            recv(from_b) -> m => m.unwrap(),
            default => 0,
        };
        drop(c);
        moves.join().unwrap();
        got
    });
    assert_eq!(found, [0, 1, 2]);
}

#[test]
fn time_ends_at_any_moment() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = unbounded();
        thread::spawn(move || s.send(1));
        let timeout = after(Duration::from_secs(1));
        select! {
            recv(r) -> m => m.unwrap_or(2),
            recv(timeout) -> _ => 0,
        }
    });
    assert_eq!((found, deadlock), (vec![0, 1], false));
}

#[test]
fn an_operation_must_be_completed() {
    let panic = std::panic::catch_unwind(|| {
        let (s, _r) = unbounded::<u32>();
        let mut select = Select::new();
        select.send(&s);
        drop(select.select());
    });
    assert!(panic.is_err());
}

#[test]
fn everything_works_outside_a_model() {
    let (s, r) = bounded(0);
    let (t, q) = bounded(1);
    std::thread::scope(|scope| {
        scope.spawn(move || (0..100).for_each(|k| s.send(k).unwrap()));
        scope.spawn(move || (0..100).for_each(|k| t.send(k).unwrap()));
        let (mut sum, mut open) = (0, 2);
        let (mut r, mut q) = (r, q);
        while open > 0 {
            let (which, message) = select! {
                recv(r) -> m => (0, m),
                recv(q) -> m => (1, m),
            };
            match (message, which) {
                (Ok(message), _) => sum += message,
                (Err(_), 0) => (r, open) = (never(), open - 1),
                (Err(_), _) => (q, open) = (never(), open - 1),
            }
        }
        assert_eq!(sum, 2 * 4950);
    });
    let late = after(Duration::from_millis(1));
    assert!(late.recv().is_ok());
}

/// An operation of a random program. A send names a channel; a thread receives only from its own
/// channel.
#[derive(Clone, Copy, Debug)]
enum Op {
    Send(usize),
    TrySend(usize),
    Recv,
    TryRecv,
}

/// The ends of a channel of either kind.
trait Ends: 'static {
    type Sender: Clone + Send + 'static;
    type Receiver: Send + 'static;
    fn new(capacity: usize) -> (Self::Sender, Self::Receiver);
    fn send(sender: &Self::Sender, value: u32) -> bool;
    fn try_send(sender: &Self::Sender, value: u32) -> u32;
    fn recv(receiver: &Self::Receiver) -> u32;
    fn try_recv(receiver: &Self::Receiver) -> u32;
}

struct Ours;
impl Ends for Ours {
    type Sender = Sender<u32>;
    type Receiver = Receiver<u32>;
    fn new(capacity: usize) -> (Sender<u32>, Receiver<u32>) {
        bounded(capacity)
    }
    fn send(sender: &Sender<u32>, value: u32) -> bool {
        sender.send(value).is_ok()
    }
    fn try_send(sender: &Sender<u32>, value: u32) -> u32 {
        match sender.try_send(value) {
            Ok(()) => 0,
            Err(TrySendError::Full(_)) => 1,
            Err(TrySendError::Disconnected(_)) => 2,
        }
    }
    fn recv(receiver: &Receiver<u32>) -> u32 {
        receiver.recv().unwrap_or(99)
    }
    fn try_recv(receiver: &Receiver<u32>) -> u32 {
        match receiver.try_recv() {
            Ok(value) => value,
            Err(TryRecvError::Empty) => 98,
            Err(TryRecvError::Disconnected) => 99,
        }
    }
}

struct Std;
mod std_channels {
    pub use mazurka_rt::sync::mpsc::{
        Receiver, SyncSender, TryRecvError, TrySendError, sync_channel,
    };
}
impl Ends for Std {
    type Sender = std_channels::SyncSender<u32>;
    type Receiver = std_channels::Receiver<u32>;
    fn new(capacity: usize) -> (Self::Sender, Self::Receiver) {
        std_channels::sync_channel(capacity)
    }
    fn send(sender: &Self::Sender, value: u32) -> bool {
        sender.send(value).is_ok()
    }
    fn try_send(sender: &Self::Sender, value: u32) -> u32 {
        match sender.try_send(value) {
            Ok(()) => 0,
            Err(std_channels::TrySendError::Full(_)) => 1,
            Err(std_channels::TrySendError::Disconnected(_)) => 2,
        }
    }
    fn recv(receiver: &Self::Receiver) -> u32 {
        receiver.recv().unwrap_or(99)
    }
    fn try_recv(receiver: &Self::Receiver) -> u32 {
        match receiver.try_recv() {
            Ok(value) => value,
            Err(std_channels::TryRecvError::Empty) => 98,
            Err(std_channels::TryRecvError::Disconnected) => 99,
        }
    }
}

type Run = fn(&[usize], &[Vec<Op>]) -> Vec<Vec<u32>>;

/// Runs a program: channel k belongs to thread k, which alone receives from it.
fn run<E: Ends>(capacities: &[usize], threads: &[Vec<Op>]) -> Vec<Vec<u32>> {
    let (senders, receivers): (Vec<_>, Vec<_>) = capacities.iter().map(|&c| E::new(c)).unzip();
    let body = |ops: Vec<Op>, senders: Vec<E::Sender>, receiver: E::Receiver, me: u32| {
        move || {
            let mut seen = Vec::new();
            for (at, op) in ops.into_iter().enumerate() {
                let value = 10 * (me + 1) + at as u32;
                seen.push(match op {
                    Op::Send(channel) => u32::from(E::send(&senders[channel], value)),
                    Op::TrySend(channel) => E::try_send(&senders[channel], value),
                    Op::Recv => E::recv(&receiver),
                    Op::TryRecv => E::try_recv(&receiver),
                });
            }
            seen
        }
    };
    let mut bodies: Vec<_> = (0..).zip(threads.iter().zip(receivers)).collect();
    let (me, (ops, receiver)) = bodies.remove(0);
    let main = body(ops.clone(), senders.clone(), receiver, me);
    let others: Vec<_> = bodies
        .into_iter()
        .map(|(me, (ops, receiver))| {
            thread::spawn(body(ops.clone(), senders.clone(), receiver, me))
        })
        .collect();
    drop(senders);
    let mut all = vec![main()];
    all.extend(others.into_iter().map(|other| other.join().unwrap()));
    all
}

#[test]
fn random_programs_behave_as_with_the_channels_of_std() {
    let programs: u64 = std::env::var("MAZURKA_PROGRAMS").map_or(40, |n| n.parse().unwrap());
    let mut state = 0x9E37_79B9_97F4_A7C1_u64;
    let mut draw = move |n: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % n as u64) as usize
    };
    let mut deadlocks = 0;
    for program in 0..programs {
        let count = 2 + draw(2);
        let capacities: Vec<usize> = (0..count).map(|_| draw(3)).collect();
        let threads: Vec<Vec<Op>> = (0..count)
            .map(|me| {
                let length = 1 + draw(if count == 2 { 3 } else { 2 });
                let mut op = || match draw(6) {
                    0 | 1 => Op::Send((me + 1) % count),
                    2 => Op::TrySend(draw(count)),
                    3 | 4 => Op::Recv,
                    _ => Op::TryRecv,
                };
                (0..length).map(|_| op()).collect()
            })
            .collect();
        let explored = |run: Run| {
            let (capacities, threads) = (capacities.clone(), threads.clone());
            outcomes(move || run(&capacities, &threads))
        };
        let (ours, std) = (explored(run::<Ours>), explored(run::<Std>));
        assert_eq!(ours, std, "program {program}: {capacities:?} {threads:?}");
        deadlocks += u32::from(std.1);
    }
    assert!(deadlocks > 0, "the generator makes programs that deadlock");
}

/// `ready` names a possible operation without performing it.
#[test]
fn ready_names_what_is_possible() {
    for capacity in [0, 1] {
        let (found, deadlock) = outcomes(move || {
            let (a, from_a) = bounded(capacity);
            let (b, from_b) = bounded(capacity);
            thread::spawn(move || a.send(1));
            thread::spawn(move || b.send(2));
            let receivers = [from_a, from_b];
            let mut select = Select::new();
            for receiver in &receivers {
                select.recv(receiver);
            }
            let index = select.ready();
            (index, receivers[index].try_recv().ok())
        });
        let expected = vec![(0, Some(1)), (1, Some(2))];
        assert_eq!((found, deadlock), (expected, false), "capacity {capacity}");
    }
}

/// After `ready`, another thread may take the message first.
#[test]
fn what_was_ready_may_be_gone() {
    for capacity in [0, 1] {
        let (found, deadlock) = outcomes(move || {
            let (s, r) = bounded(capacity);
            let other = r.clone();
            let sender = thread::spawn(move || s.send(1).is_ok());
            let other = thread::spawn(move || other.try_recv().is_ok());
            let mut select = Select::new();
            select.recv(&r);
            let ready = select.ready_timeout(Duration::from_secs(1)).is_ok();
            let mine = ready.then(|| r.try_recv().is_ok());
            let other = other.join().unwrap();
            drop(r);
            sender.join().unwrap();
            (mine, other)
        });
        let all = [
            (None, false),
            (None, true),
            (Some(false), true),
            (Some(true), false),
        ];
        assert_eq!(
            (found, deadlock),
            (all.to_vec(), false),
            "capacity {capacity}"
        );
    }
}

#[test]
fn nothing_is_ready() {
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded::<u32>(0);
        let mut select = Select::new();
        select.send(&s);
        select.recv(&r);
        let before = select.try_ready().is_ok();
        drop(select);
        drop(s);
        let mut select = Select::new();
        select.recv(&r);
        (before, select.try_ready(), select.ready())
    });
    // Without senders a receive need not wait: it fails.
    assert_eq!((found, deadlock), (vec![(false, Ok(0), 0)], false));
    // Two threads that only wait in `ready` never exchange a message.
    let (found, deadlock) = outcomes(|| {
        let (s, r) = bounded::<u32>(0);
        let other = thread::spawn(move || {
            let mut select = Select::new();
            select.send(&s);
            select.ready()
        });
        let mut select = Select::new();
        select.recv(&r);
        (select.ready(), other.join().unwrap())
    });
    assert_eq!((found, deadlock), (vec![], true));
}
