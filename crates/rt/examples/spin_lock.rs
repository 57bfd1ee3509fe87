//! A spin lock, and two common mistakes: testing before taking, and a relaxed release.
//!
//! `cargo run -p mazurka-rt --example spin_lock`

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::{AtomicBool, Ordering};
use mazurka_rt::{Builder, hint, thread};

/// How the lock is taken and released.
#[derive(Clone, Copy)]
enum Kind {
    Right,
    /// Tests whether the lock is free and takes it, in two steps.
    LookThenTake,
    /// Releases the lock without publishing earlier writes.
    RelaxedRelease,
}

struct SpinLock<T> {
    kind: Kind,
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that has set `held` touches the value; the model checks this.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for SpinLock<T> {}

impl<T> SpinLock<T> {
    fn new(kind: Kind, value: T) -> Self {
        Self {
            kind,
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        match self.kind {
            Kind::LookThenTake => {
                while self.held.load(Ordering::Acquire) {
                    hint::spin_loop();
                }
                self.held.store(true, Ordering::Relaxed);
            }
            _ => {
                while self.held.swap(true, Ordering::Acquire) {
                    hint::spin_loop();
                }
            }
        }
        // SAFETY: the lock is held.
        #[allow(unsafe_code)]
        let result = self.value.with_mut(|value| f(unsafe { &mut *value }));
        let order = match self.kind {
            Kind::RelaxedRelease => Ordering::Relaxed,
            _ => Ordering::Release,
        };
        self.held.store(false, order);
        result
    }
}

fn two_increments(kind: Kind) -> impl Fn() + Send + Sync + 'static {
    move || {
        let lock = Arc::new(SpinLock::new(kind, 0));
        let other = {
            let lock = lock.clone();
            thread::spawn(move || lock.with(|value| *value += 1))
        };
        lock.with(|value| *value += 1);
        other.join().unwrap();
        assert_eq!(lock.with(|value| *value), 2);
    }
}

/// Checks the right version, and finds both mistakes.
pub fn main() {
    Builder::new().check(two_increments(Kind::Right));
    for kind in [Kind::LookThenTake, Kind::RelaxedRelease] {
        let found = std::panic::catch_unwind(|| Builder::new().check(two_increments(kind)));
        assert!(found.is_err(), "the mistake must be found");
    }
}
