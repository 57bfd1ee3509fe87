//! What the random tests share.

/// How many programs to try: `MAZURKA_PROGRAMS` says so, or this number does.
pub fn programs(unless_told: u64) -> u64 {
    let told = std::env::var("MAZURKA_PROGRAMS").ok();
    told.and_then(|n| n.parse().ok()).unwrap_or(unless_told)
}
