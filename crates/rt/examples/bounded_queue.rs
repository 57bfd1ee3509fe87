//! A bounded queue with a mutex and a condition variable. If producers and consumers wait at one
//! condition variable, `notify_one` can wake a producer although only a consumer could continue.
//! Then all threads wait for ever. This takes at least three threads and an unlucky schedule.
//!
//! `cargo run -p mazurka-rt --example bounded_queue`

use std::collections::VecDeque;

use mazurka_rt::sync::{Arc, Condvar, Mutex};
use mazurka_rt::{Builder, thread};

struct Queue {
    items: Mutex<VecDeque<u32>>,
    changed: Condvar,
    capacity: usize,
    /// Whether `notify` wakes all waiting threads, so that one that can continue is among them.
    careful: bool,
}

impl Queue {
    fn new(capacity: usize, careful: bool) -> Self {
        Self {
            items: Mutex::new(VecDeque::new()),
            changed: Condvar::new(),
            capacity,
            careful,
        }
    }

    fn push(&self, item: u32) {
        let items = self.items.lock().unwrap();
        let full = |items: &mut VecDeque<u32>| items.len() == self.capacity;
        let mut items = self.changed.wait_while(items, full).unwrap();
        items.push_back(item);
        self.notify();
    }

    fn pop(&self) -> u32 {
        let items = self.items.lock().unwrap();
        let empty = |items: &mut VecDeque<u32>| items.is_empty();
        let mut items = self.changed.wait_while(items, empty).unwrap();
        let item = items.pop_front().expect("it is not empty");
        self.notify();
        item
    }

    fn notify(&self) {
        if self.careful {
            self.changed.notify_all()
        } else {
            self.changed.notify_one()
        }
    }
}

/// Two producers (the main thread is one of them) push one item each, and two consumers pop one
/// item each. The queue has room for one item.
fn producers_and_consumers(careful: bool) -> impl Fn() + Send + Sync + 'static {
    move || {
        let queue = Arc::new(Queue::new(1, careful));
        let consumers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || queue.pop())
            })
            .collect();
        let producer = {
            let queue = queue.clone();
            thread::spawn(move || queue.push(1))
        };
        queue.push(2);
        producer.join().unwrap();
        let sum: u32 = consumers.into_iter().map(|one| one.join().unwrap()).sum();
        assert_eq!(sum, 3);
    }
}

/// Finds the bug in the careless version, and none in the careful one.
pub fn main() {
    let found = std::panic::catch_unwind(|| {
        Builder::new().check(producers_and_consumers(false));
    });
    assert!(found.is_err(), "the mistake must be found");
    let few = Builder {
        max_executions: Some(20_000),
        ..Builder::new()
    };
    few.check(producers_and_consumers(true));
}
