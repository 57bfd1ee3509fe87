//! `shuttle::sync`: the API of `std::sync`, explored by `mazurka-rt`. `Arc` and `Weak` are those of
//! std, as in shuttle.

pub use mazurka_rt::sync::*;
pub use std::sync::{Arc, Weak};
