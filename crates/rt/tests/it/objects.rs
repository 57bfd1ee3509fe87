//! Queues, stacks and sets against their specifications, in correct and in faulty versions.

use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mazurka_rt::sync::Mutex;
use mazurka_rt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka_rt::{Builder, Checked, Object};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Put(usize),
    Take,
}

const OPERATIONS: [Op; 3] = [Op::Put(1), Op::Put(2), Op::Take];

fn quiet() -> Builder {
    Builder {
        quiet: true,
        ..Builder::default()
    }
}

/// Returns the result of a check, or its message if it fails.
fn verdict(check: impl FnOnce() -> Checked) -> Result<Checked, String> {
    catch_unwind(AssertUnwindSafe(check)).map_err(|panic| {
        let text = panic.downcast::<String>().expect("a report");
        *text
    })
}

/// Herlihy and Wing's queue, bounded and without waiting: a put reserves a place, and then stores
/// its value there.
struct SlotQueue {
    slots: [AtomicUsize; 4],
    last: AtomicUsize,
    gives_up_early: bool,
}

impl SlotQueue {
    fn new(gives_up_early: bool) -> Self {
        Self {
            slots: std::array::from_fn(|_| AtomicUsize::new(0)),
            last: AtomicUsize::new(0),
            gives_up_early,
        }
    }

    fn apply(&self, op: &Op) -> Option<usize> {
        match *op {
            Op::Put(value) => {
                let at = self.last.fetch_add(1, SeqCst);
                self.slots[at].store(value, SeqCst);
                None
            }
            Op::Take => {
                let last = self.last.load(SeqCst);
                for slot in &self.slots[..last] {
                    let value = slot.swap(0, SeqCst);
                    if value != 0 {
                        return Some(value);
                    }
                    if self.gives_up_early {
                        return None;
                    }
                }
                None
            }
        }
    }
}

fn queue() -> Object<Mutex<VecDeque<usize>>, VecDeque<usize>, Op, Option<usize>> {
    Object::new(
        || Mutex::new(VecDeque::new()),
        |queue, op| match *op {
            Op::Put(value) => {
                queue.lock().unwrap().push_back(value);
                None
            }
            Op::Take => queue.lock().unwrap().pop_front(),
        },
        VecDeque::new(),
        take_first,
    )
    .with(quiet())
}

fn take_first(queue: &mut VecDeque<usize>, op: &Op) -> Option<usize> {
    match *op {
        Op::Put(value) => {
            queue.push_back(value);
            None
        }
        Op::Take => queue.pop_front(),
    }
}

#[test]
fn a_queue_with_a_lock_is_right() {
    let checked = queue().all_clients(&OPERATIONS, 2, 4);
    assert!(checked.complete, "{checked:?}");
    // There are 3^k sequences of k operations: pairs of lengths 4 and 0, 3 and 1, and,
    // unordered, 2 and 2.
    assert_eq!(checked.clients, 81 + 27 * 3 + 9 * 10 / 2);
}

/// A planted bug: a take gives up at the first place without a value, and misses a value that was
/// put into a later place before.
#[test]
fn a_queue_that_gives_up_early_is_found() {
    let queue = |early| {
        Object::new(
            move || SlotQueue::new(early),
            SlotQueue::apply,
            VecDeque::new(),
            take_first,
        )
        .with(quiet())
    };
    assert!(queue(false).all_clients(&OPERATIONS, 2, 3).complete);
    let wrong = verdict(|| queue(true).all_clients(&OPERATIONS, 2, 3));
    let wrong = wrong.expect_err("a value that was put is missed");
    assert!(wrong.contains("not linearizable"), "{wrong}");
    assert!(wrong.matches('├').count() <= 6, "{wrong}");
}

/// A stack in a vector; the planted bug reads the top twice.
struct Stack {
    values: Mutex<Vec<usize>>,
    reads_twice: bool,
}

#[test]
fn a_stack() {
    let stack = |reads_twice| {
        Object::new(
            move || Stack {
                values: Mutex::new(Vec::new()),
                reads_twice,
            },
            |stack, op| match *op {
                Op::Put(value) => {
                    stack.values.lock().unwrap().push(value);
                    None
                }
                Op::Take if stack.reads_twice => {
                    let top = stack.values.lock().unwrap().last().copied();
                    stack.values.lock().unwrap().pop();
                    top
                }
                Op::Take => stack.values.lock().unwrap().pop(),
            },
            Vec::new(),
            |stack: &mut Vec<usize>, op| match *op {
                Op::Put(value) => {
                    stack.push(value);
                    None
                }
                Op::Take => stack.pop(),
            },
        )
        .with(quiet())
    };
    assert!(stack(false).all_clients(&OPERATIONS, 2, 3).complete);
    let wrong = verdict(|| stack(true).all_clients(&OPERATIONS, 2, 3));
    let wrong = wrong.expect_err("both take one value, or one is lost");
    assert!(wrong.contains("not linearizable"), "{wrong}");
    assert!(wrong.matches('├').count() <= 6, "{wrong}");
}

#[test]
fn a_set() {
    let set = |checks_first| {
        Object::new(
            || Mutex::new(BTreeSet::new()),
            move |set, op| match *op {
                Op::Put(value) if checks_first => {
                    let new = !set.lock().unwrap().contains(&value);
                    set.lock().unwrap().insert(value);
                    usize::from(new)
                }
                Op::Put(value) => usize::from(set.lock().unwrap().insert(value)),
                Op::Take => set.lock().unwrap().len(),
            },
            BTreeSet::new(),
            |set: &mut BTreeSet<usize>, op| match *op {
                Op::Put(value) => usize::from(set.insert(value)),
                Op::Take => set.len(),
            },
        )
        .with(quiet())
    };
    assert!(set(false).all_clients(&OPERATIONS, 2, 3).complete);
    let wrong = verdict(|| set(true).all_clients(&OPERATIONS, 2, 3));
    let wrong = wrong.expect_err("both insert one value");
    assert!(wrong.contains("not linearizable"), "{wrong}");
}

/// Operations that share nothing are still ordered by time: one ends before the other is called.
#[test]
fn an_answer_from_the_past_is_found() {
    let counter = Object::new(
        || AtomicUsize::new(0),
        |counter, op: &Op| match op {
            Op::Put(_) => {
                counter.fetch_add(1, SeqCst);
                0
            }
            Op::Take => 0,
        },
        0,
        |counter: &mut usize, op| match op {
            Op::Put(_) => {
                *counter += 1;
                0
            }
            Op::Take => *counter,
        },
    )
    .with(quiet());
    let threads = [[Op::Put(1)], [Op::Take]];
    assert!(counter.sequentially_consistent(threads).complete);
    let wrong = verdict(|| counter.linearizable(threads)).expect_err("0 after 1");
    assert!(
        wrong.contains("nothing explains the result of Take"),
        "{wrong}"
    );
}

/// The schedule of a failure replays it.
#[test]
fn it_replays() {
    let counter = |builder| {
        Object::new(
            || AtomicUsize::new(0),
            |counter, _: &()| {
                let seen = counter.load(SeqCst);
                counter.store(seen + 1, SeqCst);
                seen
            },
            0,
            |counter, _| {
                *counter += 1;
                *counter - 1
            },
        )
        .with(builder)
    };
    let wrong = verdict(|| counter(quiet()).linearizable([[()], [()]])).expect_err("two zeros");
    let schedule = wrong.split("MAZURKA_REPLAY=\"").nth(1).expect(&wrong);
    let schedule = schedule.split('"').next().expect("an end");
    let replay = Builder {
        replay: Some(schedule.into()),
        ..quiet()
    };
    let again = verdict(|| counter(replay).linearizable([[()], [()]])).expect_err("as before");
    assert!(again.contains("not linearizable"), "{again}");
    assert!(again.contains("operation.call     ()"), "{again}");
}

/// An operation that panics is a failure.
#[test]
fn an_operation_that_panics_is_found() {
    let object = || {
        Object::new(
            || Mutex::new(vec![1]),
            |values, _: &()| {
                let empty = values.lock().unwrap().is_empty();
                if empty {
                    0
                } else {
                    values.lock().unwrap().pop().expect("a value")
                }
            },
            vec![1],
            |values: &mut Vec<i32>, _| values.pop().unwrap_or(0),
        )
        .with(quiet())
    };
    for wrong in [
        verdict(|| object().linearizable([[()], [()]])),
        verdict(|| object().sequentially_consistent([[()], [()]])),
    ] {
        let wrong = wrong.expect_err("both saw a value");
        assert!(wrong.starts_with("a value\n"), "{wrong}");
    }
}

/// A number, protected by a lock of one bit or by nothing.
struct Number {
    value: AtomicUsize,
    held: AtomicUsize,
}

/// A thread that runs alone completes its operation, unless it needs another thread.
#[test]
fn a_thread_that_stops_does_not_stop_others() {
    let number = |locks: bool| {
        Object::new(
            || Number {
                value: AtomicUsize::new(0),
                held: AtomicUsize::new(0),
            },
            move |number: &Number, more: &usize| {
                if locks {
                    while number.held.swap(1, SeqCst) == 1 {
                        mazurka_rt::thread::yield_now();
                    }
                    let old = number.value.load(SeqCst);
                    number.value.store(old + more, SeqCst);
                    number.held.store(0, SeqCst);
                    return old;
                }
                loop {
                    let old = number.value.load(SeqCst);
                    let new = number
                        .value
                        .compare_exchange(old, old + more, SeqCst, SeqCst);
                    if new.is_ok() {
                        return old;
                    }
                }
            },
            0,
            |number: &mut usize, more| std::mem::replace(number, *number + more),
        )
        .with(quiet())
    };
    let client = [vec![1, 2], vec![3]];
    for locks in [false, true] {
        assert!(number(locks).linearizable(client.clone()).complete);
    }
    let checked = number(false).no_thread_stuck_while_others_stop(client.clone());
    assert!(checked.complete && checked.executions > 10, "{checked:?}");
    let wrong = verdict(|| number(true).no_thread_stuck_while_others_stop(client.clone()));
    let wrong = wrong.expect_err("the holder stops");
    assert!(
        wrong.starts_with("deadlock: no thread can go on"),
        "{wrong}"
    );
    assert!(wrong.contains("stops for good"), "{wrong}");
}

/// Objects that are not lock-free: a thread waits for a lock that a stopped thread holds, or for
/// another operation.
#[test]
fn a_thread_that_waits_for_another_is_stuck() {
    let wrong = verdict(|| queue().no_thread_stuck_while_others_stop([[Op::Put(1)], [Op::Take]]));
    let wrong = wrong.expect_err("the holder stops");
    assert!(wrong.contains("held by thread 0."), "{wrong}");
    let flag = Object::new(
        || AtomicUsize::new(0),
        |flag, op: &Op| match op {
            Op::Put(value) => flag.store(*value, SeqCst),
            Op::Take => {
                while flag.load(SeqCst) == 0 {
                    mazurka_rt::thread::yield_now();
                }
            }
        },
        0,
        |flag: &mut usize, op| match op {
            Op::Put(value) => *flag = *value,
            Op::Take => {}
        },
    )
    .with(quiet());
    let threads = [[Op::Put(1)], [Op::Take]];
    verdict(|| flag.no_thread_stuck_while_others_stop(threads)).expect_err("it never comes");
    let alone = [[Op::Put(1)], [Op::Put(2)]];
    assert!(flag.no_thread_stuck_while_others_stop(alone).complete);
}
