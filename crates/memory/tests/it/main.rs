//! Compares the engine with published figures, and with an independent oracle.

mod corpus;
mod figures;
mod generate;
mod long;
mod machines;
mod maz;
mod mutants;
mod oracle;
mod pairs;
mod preemptions;
mod programs;
mod races;
mod random;
mod random_maz;
mod rerun;
mod unknown_maz;
