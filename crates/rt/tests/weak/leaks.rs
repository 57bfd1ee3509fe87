//! What searches leave behind: nothing that threads own, and no memory that grows with executions.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use mazurka_rt::sync::atomic::AtomicU32;
use mazurka_rt::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Memory, hint, thread};

thread_local! {
    /// The bytes that this thread has allocated and not freed. A search stays on one thread.
    static LIVE: Cell<i64> = const { Cell::new(0) };
}

/// Counts what each thread allocates.
struct Counting;

fn count(bytes: i64) {
    let _counted = LIVE.try_with(|live| live.set(live.get() + bytes));
}

// SAFETY: everything is left to the allocator of the system.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller promises the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller promises the same.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn rc11() -> Builder {
    let quiet = Builder {
        quiet: true,
        ..Builder::default()
    };
    quiet.memory(Memory::Rc11)
}

/// Something that threads own.
struct Payload(
    &'static AtomicI64,
    #[expect(dead_code, reason = "it is memory")] Box<u64>,
);

impl Payload {
    fn new(alive: &'static AtomicI64) -> Self {
        alive.fetch_add(1, Ordering::Relaxed);
        Self(alive, Box::new(0))
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Threads that own something while they run.
fn owners(
    threads: u32,
    alive: &'static AtomicI64,
    run: impl Fn(u32, &AtomicU32, &Mutex<u32>) + Copy + Send + Sync + 'static,
) {
    let shared = Arc::new((AtomicU32::new(0), Mutex::new(0)));
    let threads = (0..threads).map(|number| {
        let shared = shared.clone();
        thread::spawn(move || {
            let _payload = Payload::new(alive);
            run(number, &shared.0, &shared.1);
        })
    });
    let threads: Vec<_> = threads.collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Runs that are left to revisit a read are finished, so that all payloads are dropped.
#[test]
fn nothing_is_owned_after_a_search() {
    static ALIVE: AtomicI64 = AtomicI64::new(0);
    static MADE: AtomicU64 = AtomicU64::new(0);
    let checks: [fn(); 4] = [
        || owners(5, &ALIVE, |_, x, _| _ = x.fetch_add(1, Relaxed)),
        || {
            owners(3, &ALIVE, |_, x, _| {
                let mut old = x.load(Relaxed);
                while let Err(now) = x.compare_exchange(old, old + 1, Relaxed, Relaxed) {
                    old = now;
                }
            });
        },
        || {
            owners(4, &ALIVE, |number, x, _| match number {
                0 => {
                    while x.load(Acquire) < 2 {
                        hint::spin_loop();
                    }
                }
                _ => _ = x.fetch_add(1, Release),
            });
        },
        || {
            owners(3, &ALIVE, |_, x, lock| {
                let mut sum = lock.lock().unwrap();
                *sum += 1 + x.load(Relaxed);
                x.store(*sum, Relaxed);
            });
        },
    ];
    for check in checks {
        let summary = rc11().check(move || {
            MADE.fetch_add(1, Ordering::Relaxed);
            check();
        });
        assert!(summary.is_complete() && summary.executions > 5, "{summary}");
        assert_eq!(ALIVE.load(Ordering::Relaxed), 0, "{summary}");
    }
    assert!(MADE.load(Ordering::Relaxed) > 200);
}

/// The memory in use is that of an execution, and does not grow with their number.
#[test]
fn memory_stays_in_a_hundred_thousand_executions() {
    static ALIVE: AtomicI64 = AtomicI64::new(0);
    static RUNS: AtomicU64 = AtomicU64::new(0);
    static EARLY: AtomicI64 = AtomicI64::new(0);
    static LATE: AtomicI64 = AtomicI64::new(0);
    let limited = Builder {
        max_executions: Some(100_000),
        ..rc11()
    };
    let summary = limited.check(|| {
        let live = LIVE.get();
        match RUNS.fetch_add(1, Ordering::Relaxed) {
            20_000 => EARLY.store(live, Ordering::Relaxed),
            99_000 => LATE.store(live, Ordering::Relaxed),
            _ => {}
        }
        owners(9, &ALIVE, |_, x, _| _ = x.fetch_add(1, Relaxed));
    });
    assert_eq!(summary.executions, 100_000);
    let (early, late) = (EARLY.load(Ordering::Relaxed), LATE.load(Ordering::Relaxed));
    assert!(early > 0 && (late - early).abs() < 4096, "{early}, {late}");
}
