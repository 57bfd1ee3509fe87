//! The memory in use does not grow with the number of executions.
//!
//! A separate program, because it measures the memory of the whole process.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::AtomicU32;
use mazurka_rt::{Builder, Memory, thread};

/// Returns the number of bytes that are allocated and not freed.
fn live() -> usize {
    // SAFETY: it only reads.
    unsafe { libc::mallinfo2().uordblks }
}

#[test]
fn memory_stays_in_a_hundred_thousand_executions() {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    static EARLY: AtomicUsize = AtomicUsize::new(0);
    static LATE: AtomicUsize = AtomicUsize::new(0);
    // `mallinfo2` reports only the first arena, so there must be no other arena.
    //
    // SAFETY: no other thread allocates at this time.
    assert_eq!(unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) }, 1);
    let limited = Builder {
        quiet: true,
        max_executions: Some(100_000),
        ..Builder::default()
    };
    let summary = limited.memory(Memory::Rc11).check(|| {
        match RUNS.fetch_add(1, Ordering::Relaxed) {
            20_000 => EARLY.store(live(), Ordering::Relaxed),
            99_000 => LATE.store(live(), Ordering::Relaxed),
            _ => {}
        }
        let counters = Arc::new(vec![AtomicU32::new(0), AtomicU32::new(0)]);
        counters[1].store(1, Ordering::Relaxed);
        let threads = (0..9).map(|number| {
            let counters = counters.clone();
            thread::spawn(move || {
                let _payload = Box::new(number);
                counters[0].fetch_add(number, Ordering::Relaxed);
            })
        });
        for thread in threads.collect::<Vec<_>>() {
            thread.join().unwrap();
        }
    });
    assert_eq!(summary.executions, 100_000);
    let (early, late) = (EARLY.load(Ordering::Relaxed), LATE.load(Ordering::Relaxed));
    assert!(early > 0 && early.abs_diff(late) < 4096, "{early}, {late}");
}
