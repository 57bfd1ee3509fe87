//! Generator C: swarm generation.

/// How many seeds in a row share one choice of features and shapes.
pub const BATCH: u64 = 50;

/// The program of this seed.
pub fn swarm(seed: u64) -> String {
    format!("var x: int = {}\nprocess {{\n  x := 1\n}}\n", seed % 2)
}
