//! Running the steps of a program: one interpreter, for numbers and for terms.
//!
//! | file | what it defines |
//! |---|---|
//! | `cover` | notes of what is passed, for coverage |
//! | `domain` | what values are: the trait that numbers and terms implement |
//! | `work` | instructions that compute: expressions, variables, jumps, locks |
//! | `cpu` | instructions that do more: marks, guards, processes, procedures, failures |
//! | `concrete` | the domain of numbers, and expressions evaluated without making a step |
//! | `state` | the state of a program with numbers |
//! | `machine` | a program with numbers, in the middle of a run: what explorers drive |
//! | `labelled` | the same, with labels for the steps |
//! | `judge` | whether the history of an object's operations is linearizable |
//! | `blocker`, `given` | what a process waits for; values from outside |
//! | `symbolic` | the domain of terms, and the machine over it |
//!
//! `code/quick.rs` makes the most frequent steps of the domain of numbers without the interpreter;
//! a test compares the two.

pub(crate) mod blocker;
mod concrete;
mod cover;
mod cpu;
mod domain;
mod given;
mod judge;
mod labelled;
pub(crate) mod machine;
pub(crate) mod state;
pub(crate) mod symbolic;
mod work;

pub(crate) use concrete::{
    Deaf, Heard, Listener, Numbers, Plain, choose, element, evaluate, input_name,
};
pub use cover::Reached;
pub(crate) use cover::{FAILED, HELD, Recorder};
pub(crate) use cpu::{Cpu, Undo, Unfinished};
pub(crate) use domain::{Domain, Fuel, Halt, Log, Obstacle, Selected, StepInProgress, Values};
pub use given::UnfitInput;
pub use labelled::LabelledMachine;
pub use machine::{Machine, NotWeak};
pub use state::State;
pub(crate) use work::{Piece, Work, peek};
