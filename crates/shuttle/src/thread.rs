//! `shuttle::thread`: std's, explored.

pub use mazurka_rt::thread::*;
