//! Objects against their specifications under a memory model. An operation A comes before an
//! operation B if the end of A happens before the call of B, through the object or through
//! synchronisation that a client could add.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mazurka_rt::sync::Mutex;
use mazurka_rt::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use mazurka_rt::sync::atomic::{AtomicUsize, fence};
use mazurka_rt::{Builder, Checked, Memory, Object};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Put(usize),
    Take,
}

fn quiet() -> Builder {
    Builder {
        quiet: true,
        ..Builder::default()
    }
}

fn verdict(check: impl FnOnce() -> Checked) -> Result<Checked, String> {
    catch_unwind(AssertUnwindSafe(check)).map_err(|panic| {
        let text = panic.downcast::<String>().expect("a report");
        *text
    })
}

/// A queue of one producer and one consumer.
struct Ring {
    slots: [AtomicUsize; 4],
    first: AtomicUsize,
    last: AtomicUsize,
    publish: Ordering,
    look: Ordering,
}

impl Ring {
    fn apply(&self, op: &Op) -> Option<usize> {
        match *op {
            Op::Put(value) => {
                let last = self.last.load(Relaxed);
                self.slots[last].store(value, Relaxed);
                self.last.store(last + 1, self.publish);
                None
            }
            Op::Take => {
                let first = self.first.load(Relaxed);
                if self.last.load(self.look) == first {
                    return None;
                }
                self.first.store(first + 1, Relaxed);
                Some(self.slots[first].load(Relaxed))
            }
        }
    }
}

fn ring(publish: Ordering, look: Ordering) -> Object<Ring, VecDeque<usize>, Op, Option<usize>> {
    Object::new(
        move || Ring {
            slots: std::array::from_fn(|_| AtomicUsize::new(0)),
            first: AtomicUsize::new(0),
            last: AtomicUsize::new(0),
            publish,
            look,
        },
        Ring::apply,
        VecDeque::new(),
        |queue: &mut VecDeque<usize>, op| match *op {
            Op::Put(value) => {
                queue.push_back(value);
                None
            }
            Op::Take => queue.pop_front(),
        },
    )
    .with(quiet())
}

#[test]
fn a_ring_needs_its_orderings() {
    let client = [vec![Op::Put(1), Op::Put(2)], vec![Op::Take, Op::Take]];
    let checked = ring(Release, Acquire).linearizable(client.clone());
    assert!(checked.complete, "{checked:?}");
    for (publish, look) in [(Relaxed, Acquire), (Release, Relaxed)] {
        let object = ring(publish, look);
        let wrong = verdict(|| object.linearizable(client.clone())).expect_err("a place is empty");
        assert!(wrong.starts_with("not linearizable"), "{wrong}");
        assert!(wrong.matches('├').count() <= 6, "{wrong}");
        assert!(wrong.contains("0.1 calls Take"), "{wrong}");
        assert!(!wrong.contains("the operation"), "{wrong}");
        let replay = wrong.split("MAZURKA_REPLAY=\"").nth(1).expect(&wrong);
        let replay = Builder {
            replay: replay.split('"').next().map(Into::into),
            ..quiet()
        };
        let again = verdict(|| {
            ring(publish, look)
                .with(replay)
                .linearizable(client.clone())
        });
        let again = again.expect_err("as before");
        assert!(again.starts_with("not linearizable"), "{again}");
    }
}

/// Actions of a client can make the end of an operation happen before a call.
#[test]
fn an_answer_from_the_past_is_found() {
    let counter = Object::new(
        || AtomicUsize::new(0),
        |counter, op: &Op| match op {
            Op::Put(_) => {
                counter.fetch_add(1, Relaxed);
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
        wrong.contains("0.1 calls Take after the end of Put(1) of 0.0, which returns 0"),
        "{wrong}"
    );
}

/// A relaxed register is linearizable: if a client orders two operations, coherence orders them in
/// the same way.
#[test]
fn a_relaxed_register_is_linearizable() {
    let register = Object::new(
        || AtomicUsize::new(0),
        |register, op: &Op| match *op {
            Op::Put(value) => {
                register.store(value, Relaxed);
                0
            }
            Op::Take => register.load(Relaxed),
        },
        0,
        |register: &mut usize, op| match *op {
            Op::Put(value) => {
                *register = value;
                0
            }
            Op::Take => *register,
        },
    )
    .with(quiet());
    let all = register.all_clients(&[Op::Put(1), Op::Put(2), Op::Take], 3, 3);
    assert!(all.complete, "{all:?}");
}

/// Two registers in one object: release and acquire do not forbid that each thread misses the
/// other's write.
#[test]
fn two_registers_need_more_than_release_and_acquire() {
    let registers = |fenced: bool, store: Ordering, load: Ordering| {
        Object::new(
            || [AtomicUsize::new(0), AtomicUsize::new(0)],
            move |registers: &[AtomicUsize; 2], &(sets, at): &(bool, usize)| {
                if sets {
                    registers[at].store(1, store);
                }
                if fenced {
                    fence(SeqCst);
                }
                if sets { 0 } else { registers[at].load(load) }
            },
            [0, 0],
            |registers: &mut [usize; 2], &(sets, at)| {
                if sets {
                    registers[at] = 1;
                    0
                } else {
                    registers[at]
                }
            },
        )
        .with(quiet())
    };
    let client = [[(true, 0), (false, 1)], [(true, 1), (false, 0)]];
    for (fenced, store, load) in [(true, Relaxed, Relaxed), (false, SeqCst, SeqCst)] {
        let checked = registers(fenced, store, load).linearizable(client);
        assert!(checked.complete, "{store:?}: {checked:?}");
    }
    let wrong = verdict(|| registers(false, Release, Acquire).linearizable(client));
    wrong.expect_err("both miss the other");
}

/// Under sequential consistency, graphs and interleavings have the same executions and the
/// same verdicts.
#[test]
fn graphs_and_interleavings_agree() {
    let counter = |whole: bool| {
        Object::new(
            || AtomicUsize::new(0),
            move |counter, op: &Op| match op {
                Op::Take => counter.load(Acquire),
                Op::Put(more) if whole => counter.fetch_add(*more, AcqRel),
                Op::Put(more) => {
                    let old = counter.load(Acquire);
                    counter.store(old + more, Release);
                    old
                }
            },
            0,
            |counter: &mut usize, op| match op {
                Op::Take => *counter,
                Op::Put(more) => std::mem::replace(counter, *counter + more),
            },
        )
    };
    let mut wrong = 0;
    for client in mazurka_rt::clients(&[Op::Put(1), Op::Take], 2, 3) {
        for whole in [true, false] {
            let check = |graphs| {
                let builder = Builder { graphs, ..quiet() };
                let object = counter(whole).with(builder.memory(Memory::Sc));
                verdict(|| object.linearizable(client.clone()))
            };
            match (check(false), check(true)) {
                (Ok(one), Ok(other)) => assert_eq!(one, other, "{client:?}"),
                (Err(_), Err(_)) => wrong += 1,
                (one, other) => panic!("{client:?}: {one:?}, {other:?}"),
            }
        }
    }
    assert!(wrong > 0);
}

/// A lock orders all operations.
#[test]
fn an_object_with_a_lock_is_right_under_every_model() {
    for memory in [Memory::Rc11, Memory::Ra, Memory::Tso] {
        let stack = Object::new(
            || Mutex::new(Vec::new()),
            |stack, op: &Op| match *op {
                Op::Put(value) => {
                    stack.lock().unwrap().push(value);
                    None
                }
                Op::Take => stack.lock().unwrap().pop(),
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
        .with(quiet().memory(memory));
        let all = stack.all_clients(&[Op::Put(1), Op::Put(2), Op::Take], 2, 3);
        assert!(all.complete, "{memory}: {all:?}");
    }
}
