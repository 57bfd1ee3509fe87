//! Two withdrawals from one account, for all amounts. One mistake is to check the balance under a
//! lock that is released before the withdrawal. The other is to check a sum that may overflow. The
//! first shows only under certain schedules, the second only for certain amounts; both are found.
//!
//! `cargo run -p mazurka-rt --features symbolic --example withdrawals`

use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Symbolic, input, thread};

const FEE: u32 = 2;

/// How a withdrawal checks the balance.
#[derive(Clone, Copy)]
enum Kind {
    Right,
    /// Under a lock that is released before the withdrawal.
    TooEarly,
    /// With a sum that may overflow.
    Sum,
}

fn withdraw(kind: Kind, account: &Mutex<Symbolic<u32>>, amount: Symbolic<u32>) {
    if let Kind::TooEarly = kind {
        let balance = *account.lock().unwrap();
        if amount <= balance {
            *account.lock().unwrap() -= amount;
        }
        return;
    }
    let mut balance = account.lock().unwrap();
    let enough = match kind {
        Kind::Sum => amount + FEE <= *balance,
        _ => *balance >= FEE && amount <= *balance - FEE,
    };
    if enough {
        *balance -= amount;
        *balance -= FEE;
    }
}

fn two_withdrawals(kind: Kind) -> impl Fn() + Send + Sync + 'static {
    move || {
        let account = Arc::new(Mutex::new(Symbolic::from(100)));
        let other = {
            let account = account.clone();
            thread::spawn(move || withdraw(kind, &account, input()))
        };
        withdraw(kind, &account, input());
        other.join().unwrap();
        assert!(*account.lock().unwrap() <= 100);
    }
}

/// Returns the message about a mistake.
fn mistake(kind: Kind) -> String {
    let found = std::panic::catch_unwind(|| Builder::new().check(two_withdrawals(kind)));
    let message = found.expect_err("the mistake must be found");
    *message.downcast().expect("a text")
}

/// Checks the right version, and finds both mistakes.
pub fn main() {
    let found = Builder::new().check(two_withdrawals(Kind::Right));
    assert!(found.is_complete());
    let message = mistake(Kind::TooEarly);
    assert!(message.contains("With these inputs:"), "{message}");
    let message = mistake(Kind::Sum);
    assert!(
        message.contains("attempt to add with overflow"),
        "{message}"
    );
}
