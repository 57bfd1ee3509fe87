//! Running the steps of a program: one interpreter, for numbers and for terms.
//!
//! | file | what it defines |
//! |---|---|
//! | `domain` | what values are: the trait that numbers and terms implement |
//! | `work` | instructions that compute: expressions, variables, jumps, locks |
//! | `cpu` | instructions that do more: marks, guards, processes, procedures, failures |
//! | `concrete` | the domain of numbers, and expressions evaluated without making a step |
//!
//! The domain of terms is in `symbolic/domain.rs`. `quick.rs` makes the most frequent steps of the
//! domain of numbers without the interpreter; a test compares the two.

mod concrete;
mod cpu;
mod domain;
mod work;

pub(crate) use concrete::{
    Deaf, Heard, Listener, Numbers, Plain, choose, element, evaluate, input_name,
};
pub(crate) use cpu::{Cpu, Undo, Unfinished};
pub(crate) use domain::{Domain, Halt, Selected, Step, Stop, Values};
pub(crate) use work::{Work, peek};
