//! The engine against published figures, and against an oracle of its own.

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
