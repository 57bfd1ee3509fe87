//! What the random tests share.

use std::panic;
use std::sync::{Mutex, PoisonError};

/// How many programs to try: `MAZURKA_PROGRAMS` says so, or this number does.
pub fn programs(unless_told: u64) -> u64 {
    let told = std::env::var("MAZURKA_PROGRAMS").ok();
    told.and_then(|n| n.parse().ok()).unwrap_or(unless_told)
}

/// Does something whose panics are caught, and not printed. The hook belongs to the whole process,
/// so that one test after the other changes it.
pub fn silently<T>(body: impl FnOnce() -> T) -> T {
    static HOOK: Mutex<()> = Mutex::new(());
    let _alone = HOOK.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let result = body();
    panic::set_hook(hook);
    result
}
