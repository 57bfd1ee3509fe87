//! The engine against published figures, and against an oracle of its own.

mod figures;
mod generate;
mod oracle;
mod programs;
mod random;
