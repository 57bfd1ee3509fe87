//! Runs the steps of a program: one interpreter, over numbers or over terms.
//!
//! | file | what it defines |
//! |---|---|
//! | `cover` | records of the instructions that steps pass, for coverage |
//! | `domain` | the trait for values, which numbers and terms implement |
//! | `work` | instructions that compute: expressions, variables, jumps, locks |
//! | `cpu` | all other instructions: marks, guards, processes, procedures, failures |
//! | `concrete` | the domain of numbers, and expressions evaluated outside of steps |
//! | `state` | the state of a program with numbers |
//! | `machine` | the machine over numbers that explorers drive |
//! | `labelled` | the machine over numbers with labels for its steps |
//! | `judge` | whether the history of an object's operations is linearizable |
//! | `blocker`, `given` | the obstacle that a process waits for; values given by the user |
//! | `symbolic` | the domain of terms, and the machine over it |
//!
//! The most frequent steps over numbers are made without the interpreter (`code/quick.rs`); a test
//! compares the results.

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
    ConcreteContext, Listener, NoListener, Numbers, PlainNumbers, choose, element, evaluate,
    input_name,
};
pub use cover::Reached;
pub(crate) use cover::{FAILED, HELD, Recorder};
pub(crate) use cpu::{Cpu, Undo, Unfinished};
pub(crate) use domain::{
    Domain, Fuel, Halt, Log, Obstacle, SelectedElement, StepInProgress, Values,
};
pub use given::UnfitInput;
pub use labelled::LabelledMachine;
pub use machine::{Machine, NotWeak};
pub use state::State;
pub(crate) use work::{InstrRange, Work, peek};
