//! A reference count like `Arc`'s. The thread that drops the last reference must see everything
//! that other threads did with the value before they dropped their references. A `Relaxed`
//! decrement, or a load and a store, is not enough.
//!
//! `cargo run -p mazurka-rt --example reference_count`

use mazurka_rt::cell::UnsafeCell;
use mazurka_rt::sync::Arc;
use mazurka_rt::sync::atomic::{AtomicUsize, Ordering, fence};
use mazurka_rt::{Builder, thread};

#[derive(Clone, Copy)]
enum Kind {
    Right,
    /// Decrements without publishing earlier writes.
    Relaxed,
    /// Decrements in two steps.
    LoadThenStore,
}

/// A value and the number of references to it, here called shares.
struct Counted {
    kind: Kind,
    count: AtomicUsize,
    /// `None` once it has been dropped.
    value: UnsafeCell<Option<u32>>,
}

// SAFETY: the value is touched only while a share is held, or by the thread that released the last
// one; the model checks this.
#[allow(unsafe_code)]
unsafe impl Sync for Counted {}

#[allow(unsafe_code)]
impl Counted {
    fn read(&self) -> Option<u32> {
        // SAFETY: a share is held, so no thread writes.
        self.value.with(|value| unsafe { *value })
    }

    /// Releases a share.
    fn release(&self) {
        let old = match self.kind {
            Kind::Right => self.count.fetch_sub(1, Ordering::Release),
            Kind::Relaxed => self.count.fetch_sub(1, Ordering::Relaxed),
            Kind::LoadThenStore => {
                let old = self.count.load(Ordering::Acquire);
                self.count.store(old - 1, Ordering::Release);
                old
            }
        };
        if old == 1 {
            fence(Ordering::Acquire);
            // SAFETY: no other thread has a share.
            self.value.with_mut(|value| unsafe {
                assert!((*value).take().is_some(), "dropped twice");
            });
        }
    }
}

fn two_shares(kind: Kind) -> impl Fn() + Send + Sync + 'static {
    move || {
        let counted = Arc::new(Counted {
            kind,
            count: AtomicUsize::new(2),
            value: UnsafeCell::new(Some(7)),
        });
        let other = {
            let counted = counted.clone();
            thread::spawn(move || {
                assert_eq!(counted.read(), Some(7));
                counted.release();
            })
        };
        assert_eq!(counted.read(), Some(7));
        counted.release();
        other.join().unwrap();
        assert_eq!(counted.read(), None, "never dropped");
    }
}

/// Checks the right version, and finds both bugs.
pub fn main() {
    Builder::new().check(two_shares(Kind::Right));
    for kind in [Kind::Relaxed, Kind::LoadThenStore] {
        let found = std::panic::catch_unwind(|| Builder::new().check(two_shares(kind)));
        assert!(found.is_err(), "the mistake must be found");
    }
}
