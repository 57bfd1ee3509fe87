//! Searches leak no values that threads own.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use mazurka_rt::sync::atomic::AtomicU32;
use mazurka_rt::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Memory, hint, thread};

fn rc11() -> Builder {
    let quiet = Builder {
        quiet: true,
        ..Builder::default()
    };
    quiet.memory(Memory::Rc11)
}

/// A value that a thread owns.
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

/// Runs a function in several threads. Each thread owns a value meanwhile.
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

/// Runs that the search abandons to revisit a read are run to their end, so that all payloads are
/// dropped.
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
