//! Random programs, explored and interpreted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mazurka_rt::Builder;
use tokio::runtime;
use tokio::sync::{Mutex, Notify, Semaphore, mpsc};

use crate::interpreter::{self, Op, Program, message};

/// The objects that the tasks of a program share.
struct Shared {
    semaphore: Semaphore,
    mutex: Mutex<i32>,
    notify: Notify,
    sender: mpsc::Sender<i32>,
}

/// Runs an operation and returns its result.
async fn perform(
    op: Op,
    shared: &Shared,
    receiver: &mut Option<mpsc::Receiver<i32>>,
    sends: i32,
) -> i32 {
    let Shared {
        semaphore,
        mutex,
        notify,
        sender,
    } = shared;
    match op {
        Op::Acquire(n) => semaphore.acquire_many(n.into()).await.map_or(-1, |permit| {
            permit.forget();
            1
        }),
        Op::AcquireInTime(n) => {
            let acquire = semaphore.acquire_many(n.into());
            match tokio::time::timeout(Duration::from_secs(1), acquire).await {
                Ok(Ok(permit)) => {
                    permit.forget();
                    1
                }
                Ok(Err(_)) => -1,
                Err(_) => 0,
            }
        }
        Op::TryAcquire(n) => match semaphore.try_acquire_many(n.into()) {
            Ok(permit) => {
                permit.forget();
                1
            }
            Err(tokio::sync::TryAcquireError::Closed) => -1,
            Err(tokio::sync::TryAcquireError::NoPermits) => 0,
        },
        Op::Add(n) => {
            semaphore.add_permits(n.into());
            0
        }
        Op::Close => {
            semaphore.close();
            0
        }
        Op::Increment => {
            let mut number = mutex.lock().await;
            let noted = *number;
            tokio::task::yield_now().await;
            *number = noted + 1;
            noted
        }
        Op::Send => sender.send(sends).await.map_or(-1, |()| 1),
        Op::TrySend => sender.try_send(sends).map_or(0, |()| 1),
        Op::Recv => receiver.as_mut().unwrap().recv().await.unwrap(),
        Op::TryRecv => receiver.as_mut().unwrap().try_recv().unwrap_or(0),
        Op::Wait => {
            notify.notified().await;
            2
        }
        Op::NotifyOne => {
            notify.notify_one();
            0
        }
        Op::NotifyWaiters => {
            notify.notify_waiters();
            0
        }
        Op::Either => tokio::select! {
            biased;
            () = notify.notified() => 2,
            permit = semaphore.acquire() => match permit {
                Ok(permit) => {
                    permit.forget();
                    1
                }
                Err(_) => -1,
            },
        },
    }
}

/// Explores a program. Returns the results of the tasks in each outcome, and whether some execution
/// deadlocks.
fn explore(program: &Program, several: bool) -> (BTreeSet<Vec<Vec<i32>>>, bool) {
    let explored = program.clone();
    let found = Builder::new().outcomes(move || {
        let mut builder = if several {
            runtime::Builder::new_multi_thread()
        } else {
            runtime::Builder::new_current_thread()
        };
        let program = explored.clone();
        builder.build().unwrap().block_on(async move {
            let (sender, receiver) = mpsc::channel(program.room.into());
            let shared = Arc::new(Shared {
                semaphore: Semaphore::new(program.permits.into()),
                mutex: Mutex::new(0),
                notify: Notify::new(),
                sender,
            });
            let mut receiver = Some(receiver);
            let mut tasks = Vec::new();
            for (number, ops) in program.tasks.iter().cloned().enumerate() {
                let shared = shared.clone();
                let mut receiver = receiver.take_if(|_| number == 0);
                tasks.push(tokio::spawn(async move {
                    let mut results = Vec::new();
                    for (at, op) in ops.into_iter().enumerate() {
                        let sends = message(number, at);
                        results.push(perform(op, &shared, &mut receiver, sends).await);
                    }
                    (results, receiver)
                }));
            }
            let mut all = Vec::new();
            let mut kept = Vec::new();
            for task in tasks {
                let (results, receiver) = task.await.unwrap();
                all.push(results);
                kept.push(receiver);
            }
            all
        })
    });
    assert!(found.bounds.is_empty(), "{:?}: {program:?}", found.bounds);
    assert_eq!(found.failures, 0, "{program:?}");
    (found.results.into_iter().collect(), found.deadlocks > 0)
}

/// xorshift64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

/// Draws a program about one or two kinds of objects, so that tasks interact.
fn draw(draw: &mut Draw) -> Program {
    let kind = draw.below(5);
    let count = 2 + draw.below(2);
    let mut op = |task: usize| {
        let n = 1 + draw.below(2) as u8;
        match (kind, draw.below(6)) {
            (0, 0 | 1) => Op::Acquire(n),
            (0, 2) => Op::AcquireInTime(n),
            (0, 3) => Op::TryAcquire(n),
            (0, 4) => Op::Add(n),
            (0, _) => [Op::Close, Op::Add(n), Op::Acquire(1)][draw.below(3)],
            (1, 0..=2) => Op::Increment,
            (1, 3) => Op::Wait,
            (1, _) => Op::NotifyOne,
            (2, 0 | 1) if task == 0 => Op::Recv,
            (2, 2) if task == 0 => Op::TryRecv,
            (2, 3) => Op::TrySend,
            (2, 4) => Op::Increment,
            (2, _) => Op::Send,
            (3, 0 | 1) => Op::Wait,
            (3, 2 | 3) => Op::NotifyOne,
            (3, 4) => Op::NotifyWaiters,
            (3, _) => Op::Either,
            (_, 0 | 1) => Op::Either,
            (_, 2) => Op::Add(n),
            (_, 3) => Op::NotifyOne,
            (_, 4) => Op::NotifyWaiters,
            (_, _) => [Op::TryAcquire(1), Op::Acquire(n), Op::Close][draw.below(3)],
        }
    };
    let tasks = (0..count)
        .map(|task| {
            let length = if count == 2 { 3 - task } else { 1 + task % 2 };
            (0..length).map(|_| op(task)).collect()
        })
        .collect();
    Program {
        permits: draw.below(3) as u8,
        room: 1 + draw.below(2) as u8,
        tasks,
    }
}

/// A multi-threaded runtime has exactly the results that the interpreter finds; a current-thread
/// runtime has some of them.
#[test]
fn random_programs_do_what_the_interpreter_says() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let programs: u64 = number("MAZURKA_PROGRAMS", 40);
    let mut random = Draw(number("MAZURKA_SEED", 0x9E37_79B9_97F4_A7C1) | 1);
    let mut deadlocks = 0;
    for at in 0..programs {
        let program = draw(&mut random);
        let expected = interpreter::run(&program);
        let found = explore(&program, true);
        assert_eq!(found, expected, "program {at}: {program:?}");
        let alone = explore(&program, false);
        assert!(alone.0.is_subset(&expected.0), "program {at}: {program:?}");
        assert!(expected.1 || !alone.1, "program {at}: {program:?}");
        deadlocks += u32::from(expected.1);
    }
    assert!(
        programs < 20 || deadlocks > 0,
        "the generator makes programs that deadlock"
    );
}
