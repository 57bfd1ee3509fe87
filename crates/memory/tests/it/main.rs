//! The engine against published figures, and against an oracle of its own.

mod figures;
mod programs;
