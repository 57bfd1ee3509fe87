//! Inputs: for every really different execution, each combination of results of the comparisons is
//! explored once, if some input leads to it.
//!
//! More random programs: `MAZURKA_PROGRAMS=5000 cargo test --release -p mazurka-rt --features
//! symbolic --test symbolic`.

#[path = "weak/inputs.rs"]
mod weak;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use mazurka_core::Random;
use mazurka_rt::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{
    Algorithm, Builder, Outcomes, Symbolic, assert_deterministic, check_random, choose, input,
    input_in, model, replay, thread,
};

#[path = "../examples/withdrawals.rs"]
mod withdrawals;

#[test]
fn two_withdrawals() {
    withdrawals::main();
}

fn outcomes<T: PartialEq + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> Outcomes<T> {
    let found = Builder::default().outcomes(f);
    assert!(found.bounds.is_empty());
    assert_eq!(found.blocked, 0);
    found
}

fn panic_of(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it must fail");
    *payload.downcast::<String>().expect("a text")
}

fn replay_of(message: &str) -> String {
    let (_, rest) = message.split_once("MAZURKA_REPLAY=\"").expect("a replay");
    rest.split_once('"').unwrap().0.to_owned()
}

#[test]
fn ways_through_comparisons() {
    let found = outcomes(|| {
        let x = input::<i32>();
        match x.cmp(&10.into()) {
            std::cmp::Ordering::Less => 0,
            // This comparison is implied, so only one side is possible.
            std::cmp::Ordering::Equal if x > 3 => 1,
            std::cmp::Ordering::Equal => 2,
            std::cmp::Ordering::Greater => 3,
        }
    });
    assert_eq!((found.executions, found.results.len()), (3, 3));
    // Two inputs of which only the order matters.
    let found = outcomes(|| input::<u8>() < input::<u8>());
    assert_eq!(found.executions, 2);
    // Operations on truth values are recorded, and only `value` branches.
    let found = outcomes(|| (!(input::<bool>() & input::<bool>()) ^ true).value());
    assert_eq!(found.executions, 2);
    // A known value stays known.
    let found = outcomes(|| Symbolic::from(3_u64) * 5 == 15);
    assert_eq!((found.executions, found.results), (1, vec![true]));
}

#[test]
fn schedules_times_inputs() {
    // There are two orders of the lock. Each thread takes one of two sides, and one side of one
    // thread excludes one side of the other.
    let found = outcomes(|| {
        let x = input_in(0..10);
        let log = Arc::new(Mutex::new(Vec::new()));
        let other = {
            let log = log.clone();
            thread::spawn(move || {
                let side = x < 3;
                log.lock().unwrap().push((1, side));
            })
        };
        let side = x < 7;
        log.lock().unwrap().push((0, side));
        other.join().unwrap();
        log.lock().unwrap().clone()
    });
    assert_eq!(found.executions, 2 * 3);
    assert_eq!(found.results.len(), 6);
}

#[test]
fn values_are_explored_one_by_one() {
    let values = |f: fn() -> i64| {
        let found = outcomes(f);
        let all: BTreeSet<i64> = found.results.iter().copied().collect();
        assert_eq!(found.executions, all.len() as u64);
        all.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(values(|| input_in(-2..3_i64).value()), [-2, -1, 0, 1, 2]);
    assert_eq!(
        values(|| input_in(1000..1003_i64).value()),
        [1000, 1001, 1002]
    );
    let squares = || i64::from((input_in(0..5_u8).wrapping_mul(3)).value());
    assert_eq!(values(squares), [0, 3, 6, 9, 12]);
    assert_eq!(values(|| i64::from(input::<bool>().value())), [0, 1]);
    // At the ends of the largest types only one value is explored.
    let top = || (input_in(u64::MAX - 2..u64::MAX).value() - (u64::MAX - 2)) as i64;
    assert_eq!(values(top).len(), 1);
    let bottom = || input_in(i64::MIN..i64::MIN + 2).value();
    assert_eq!(values(bottom).len(), 1);
}

#[test]
fn what_is_left_out_is_said() {
    let found = Builder::default().check(|| {
        let x = input::<i32>();
        assert_eq!(x.value(), x);
    });
    assert_eq!(found.executions, 64);
    assert!(!found.is_complete());
    let text = found.to_string();
    assert!(text.contains("only some values of an input at"), "{text}");
    let found = Builder::default().check(|| {
        input_in(u64::MAX - 2..u64::MAX).value();
    });
    assert!(!found.is_complete());
}

#[test]
fn what_the_solver_cannot_decide_is_said() {
    // The solver cannot find these factors.
    const PRODUCT: u64 = 1_000_000_007 * 1_234_567_891;
    let found = Builder::default().check(|| {
        let (x, y) = (input_in(2..1 << 31), input_in(2..1 << 31));
        assert!(x.wrapping_mul(y) != PRODUCT, "this cannot fail");
    });
    assert_eq!(found.executions, 1);
    assert!(!found.is_complete());
    let text = found.to_string();
    assert!(
        text.contains("not complete: inputs: the solver reached"),
        "{text}"
    );
}

fn count_down() {
    let mut n = input::<u32>();
    while n > 0 {
        n -= 1;
    }
}

#[test]
fn loops_over_inputs_have_a_bound() {
    let message = panic_of(|| model(count_down));
    assert!(message.contains("compared inputs 500 times"), "{message}");
    assert!(message.contains("input_in"), "{message}");
    let builder = Builder {
        max_decisions: Some(20),
        ..Builder::default()
    };
    let found = builder.check(count_down);
    assert!(!found.is_complete());
    let text = found.to_string();
    assert!(
        text.contains("compared inputs 20 times (max_decisions)"),
        "{text}"
    );
    let found = builder.check_random(count_down, 50);
    assert!(found.to_string().contains("drawn at random"));
}

fn average(a: Symbolic<u8>, b: Symbolic<u8>) -> Symbolic<u8> {
    (a + b) / 2
}

fn averages() {
    let (a, b) = (input(), input());
    let middle = thread::spawn(move || average(a, b)).join().unwrap();
    assert!(a.min(b) <= middle && middle <= a.max(b));
}

#[test]
#[should_panic(expected = "attempt to add with overflow")]
fn the_input_that_overflows_is_found() {
    model(|| {
        average(input(), input());
    });
}

#[test]
fn a_failure_has_its_inputs() {
    fn overflow() {
        let x = input::<i32>();
        let done = Arc::new(AtomicUsize::new(0));
        let other = {
            let done = done.clone();
            thread::spawn(move || done.store(1, SeqCst))
        };
        if x > 1000 && done.load(SeqCst) == 1 {
            assert!(x + 1 != 2000, "it is {x}");
        }
        other.join().unwrap();
    }
    let message = panic_of(|| model(overflow));
    assert!(message.contains("With these inputs:"), "{message}");
    let replayed = replay_of(&message);
    let (_, inputs) = replayed.split_once("; 0#0=").expect("inputs");
    let (value, text): (i64, _) = (inputs.parse().unwrap(), message.lines().next().unwrap());
    match value {
        2147483647 => assert_eq!(text, "attempt to add with overflow"),
        1999 => assert_eq!(text, "it is 1999"),
        other => panic!("{other} does not fail"),
    }
    // The replay fails at once, with the same message.
    let again = panic_of(|| replay(overflow, &replayed));
    assert_eq!(again.lines().next(), Some(text));
    assert_eq!(replay_of(&again), replayed);
    assert!(again.contains("found after 1 execution;"), "{again}");
    // Other inputs do not fail, and a word that is not an input is reported.
    let schedule = replayed.split_once(';').unwrap().0;
    replay(overflow, &format!("{schedule}; 0#0=5"));
    let wrong = panic_of(|| replay(overflow, &format!("{schedule}; nonsense")));
    assert!(wrong.contains("`nonsense` is not an input"), "{wrong}");
}

#[test]
fn a_replay_in_another_process() {
    if std::env::var_os("MAZURKA_REPLAY").is_some() {
        return model(averages);
    }
    let message = panic_of(|| model(averages));
    let test = std::env::current_exe().unwrap();
    let output = Command::new(test)
        .args(["--exact", "a_replay_in_another_process"])
        .env("MAZURKA_REPLAY", replay_of(&message))
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.contains("found after 1 execution;"), "{output}");
    assert!(output.contains("0#1 = "), "{output}");
}

#[test]
fn a_deadlock_that_an_input_makes() {
    let message = panic_of(|| {
        model(|| {
            let swapped = input::<u16>() == 40_000;
            let locks = Arc::new((Mutex::new(()), Mutex::new(())));
            let other = {
                let locks = locks.clone();
                thread::spawn(move || {
                    let (first, second) = if swapped {
                        (&locks.1, &locks.0)
                    } else {
                        (&locks.0, &locks.1)
                    };
                    let _first = first.lock().unwrap();
                    let _second = second.lock().unwrap();
                })
            };
            {
                let _first = locks.0.lock().unwrap();
                let _second = locks.1.lock().unwrap();
            }
            other.join().unwrap();
        });
    });
    assert!(message.contains("deadlock"), "{message}");
    assert!(message.contains("0#0 = 40000, asked for at"), "{message}");
    assert!(message.contains("held by thread"), "{message}");
}

#[test]
fn other_ways_to_explore() {
    let buggy = || {
        let x = input::<u32>();
        let shared = Arc::new(Mutex::new(x));
        let other = {
            let shared = shared.clone();
            thread::spawn(move || {
                let mut shared = shared.lock().unwrap();
                *shared = shared.wrapping_mul(3);
            })
        };
        {
            let mut shared = shared.lock().unwrap();
            *shared = shared.wrapping_add(7);
        }
        other.join().unwrap();
        assert!(*shared.lock().unwrap() != 1_000_000_000, "hit");
    };
    for message in [
        panic_of(|| check_random(buggy, 1000)),
        panic_of(|| {
            let builder = Builder {
                max_preemptions: Some(1),
                ..Builder::default()
            };
            builder.check(buggy);
        }),
        panic_of(|| model(buggy)),
    ] {
        assert!(message.starts_with("hit"), "{message}");
        let replayed = replay_of(&message);
        assert!(panic_of(|| replay(buggy, &replayed)).starts_with("hit"));
    }
}

#[test]
fn results_are_compared_for_the_same_inputs() {
    fn add_and_double(limit: i32) -> impl Fn() -> bool + Send + Sync + 'static {
        move || {
            let shared = Arc::new(Mutex::new(input_in(0..100)));
            let other = {
                let shared = shared.clone();
                thread::spawn(move || *shared.lock().unwrap() *= 2)
            };
            *shared.lock().unwrap() += 1;
            other.join().unwrap();
            *shared.lock().unwrap() > limit
        }
    }
    // x * 2 + 1 and (x + 1) * 2 differ, but both are below 202. Results may differ for
    // different inputs.
    assert_deterministic(add_and_double(1000));
    assert_deterministic(|| input::<i32>() > 5);
    let message = panic_of(|| assert_deterministic(add_and_double(41)));
    assert!(
        message.contains("not deterministic: the result is"),
        "{message}"
    );
    assert!(message.contains("; 0#0=20`"), "{message}");
}

#[test]
fn outside_a_model() {
    assert_eq!(input::<i32>(), 0);
    assert_eq!(input_in(3..5_u8).value(), 3);
    assert!(5 > input::<i64>() + 4 && input::<i64>() <= 0);
    assert_eq!(
        format!("{:?} {:>3}", input::<bool>(), input::<u8>()),
        "false   0"
    );
    let overflow = panic_of_str(|| {
        let _sum = Symbolic::from(i8::MAX) + 1;
    });
    assert_eq!(overflow, "attempt to add with overflow");
    assert_eq!(Symbolic::from(i8::MIN).checked_rem(-1), None);
    assert_eq!(Symbolic::from(200_u8).wrapping_add(100), 44);
    assert_eq!(-Symbolic::from(3_i16), -3);
}

fn panic_of_str(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("it must fail");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => (*other.downcast::<&str>().expect("a text")).to_owned(),
    }
}

#[test]
fn inputs_of_other_models_are_refused() {
    static KEPT: std::sync::Mutex<Option<Symbolic<u8>>> = std::sync::Mutex::new(None);
    model(|| *KEPT.lock().unwrap() = Some(input()));
    let kept = KEPT.lock().unwrap().take().expect("an input");
    let message = panic_of_str(|| {
        let _same = kept == 1;
    });
    assert!(message.contains("outside its model"), "{message}");
    assert_eq!(format!("{kept}"), "?");
}

/// A step of a random program.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Under a lock: adds a number, or an input, or multiplies by an input.
    Add(usize, i8),
    AddInput(usize, usize),
    Multiply(usize, usize),
    /// Under a lock: compares with a number.
    Compare(usize, i8),
    /// Under a lock: adds, unless that overflows.
    Checked(usize, i8),
    /// Compares an input, or two.
    Local(usize, i8),
    Order,
    /// Divides an input, unless the divisor is 0.
    Divide(i8),
    /// Needs a concrete number.
    Pick(usize),
    Choose,
}

/// The observable behaviour: for each lock the threads that have taken it, in order, each with the
/// result of its operation; and for each thread the results of its operations without a lock.
type Seen = (Vec<Vec<(usize, i64)>>, Vec<Vec<i64>>);

struct Cell {
    value: Symbolic<i8>,
    log: Vec<(usize, i64)>,
}

fn run(threads: &[Vec<Op>], inputs: [Symbolic<i8>; 2]) -> Seen {
    let cell = || Cell {
        value: 0.into(),
        log: Vec::new(),
    };
    // The locks are made at two places of the source. If they were made at one place, threads would
    // have to register with them, which adds steps.
    let shared = Arc::new([Mutex::new(cell()), Mutex::new(cell())]);
    let all: Vec<_> = threads
        .iter()
        .enumerate()
        .map(|(me, ops)| {
            let (shared, ops) = (shared.clone(), ops.clone());
            thread::spawn(move || {
                let mut seen = Vec::new();
                for op in ops {
                    step(op, me, &shared, inputs, &mut seen);
                }
                seen
            })
        })
        .collect();
    let seen = all.into_iter().map(|one| one.join().unwrap()).collect();
    let logs = shared.iter().map(|cell| cell.lock().unwrap().log.clone());
    (logs.collect(), seen)
}

fn step(
    op: Op,
    me: usize,
    shared: &[Mutex<Cell>; 2],
    inputs: [Symbolic<i8>; 2],
    seen: &mut Vec<i64>,
) {
    let locked = |cell: usize, change: &dyn Fn(&mut Cell) -> i64| {
        let mut cell = shared[cell].lock().unwrap();
        let what = change(&mut cell);
        cell.log.push((me, what));
    };
    match op {
        Op::Add(cell, k) => locked(cell, &|cell| {
            cell.value = cell.value.wrapping_add(k);
            0
        }),
        Op::AddInput(cell, which) => locked(cell, &|cell| {
            cell.value = cell.value.wrapping_add(inputs[which]);
            0
        }),
        Op::Multiply(cell, which) => locked(cell, &|cell| {
            cell.value = cell.value.wrapping_mul(inputs[which]);
            0
        }),
        Op::Compare(cell, k) => locked(cell, &|cell| i64::from(cell.value < k)),
        Op::Checked(cell, k) => locked(cell, &|cell| match cell.value.checked_add(k) {
            Some(sum) => {
                cell.value = sum;
                1
            }
            None => 2,
        }),
        Op::Local(which, k) => seen.push(i64::from(inputs[which] >= k)),
        Op::Order => seen.push(inputs[0].cmp(&inputs[1]) as i64),
        Op::Divide(k) => seen.push(match inputs[0].checked_div(inputs[1]) {
            Some(quotient) if quotient == k => 3,
            Some(_) => 4,
            None => 5,
        }),
        Op::Pick(which) => seen.push(i64::from(inputs[which].value())),
        Op::Choose => seen.push(choose(0..2)),
    }
}

fn random_op(random: &mut Random) -> Op {
    let cell = random.below(2) as usize;
    let which = random.below(2) as usize;
    let k = random.below(7) as i8 - 3;
    match random.below(12) {
        0 => Op::Add(cell, k),
        1 | 2 => Op::AddInput(cell, which),
        3 => Op::Multiply(cell, which),
        4 | 5 => Op::Compare(cell, k),
        6 => Op::Checked(cell, if k < 0 { i8::MIN + 2 } else { i8::MAX - 2 }),
        7 | 8 => Op::Local(which, k),
        9 => Op::Order,
        10 => Op::Divide(k),
        _ if random.below(3) == 0 => Op::Pick(which),
        _ => Op::Choose,
    }
}

/// The pairs of a trace and a combination of comparison results are exactly those that concrete
/// inputs lead to, and each pair is explored once.
#[test]
fn random_programs() {
    let programs = std::env::var("MAZURKA_PROGRAMS").ok();
    let programs: u64 = programs.map_or(40, |n| n.parse().expect("a number"));
    const RANGE: std::ops::Range<i8> = -2..3;
    for seed in 0..programs {
        let mut random = Random::new(seed);
        let threads: Vec<Vec<Op>> = (0..2 + random.below(2))
            .map(|_| {
                (0..1 + random.below(2))
                    .map(|_| random_op(&mut random))
                    .collect()
            })
            .collect();
        let mut expected = BTreeSet::new();
        for a in RANGE {
            for b in RANGE {
                let threads = threads.clone();
                let found = outcomes(move || run(&threads, [a.into(), b.into()]));
                expected.extend(found.results);
            }
        }
        for algorithm in [Algorithm::Optimal, Algorithm::Naive] {
            let own = threads.clone();
            let builder = Builder {
                algorithm,
                ..Builder::default()
            };
            let found = builder.outcomes(move || run(&own, [input_in(RANGE), input_in(RANGE)]));
            let words = format!("seed {seed}, {algorithm:?}: {threads:?}");
            assert!(found.bounds.is_empty(), "{words}");
            if algorithm == Algorithm::Optimal {
                assert_eq!(found.executions, expected.len() as u64, "{words}");
                assert_eq!(found.blocked, 0, "{words}");
            }
            let all: BTreeSet<Seen> = found.results.into_iter().collect();
            assert_eq!(all, expected, "{words}");
        }
    }
}
