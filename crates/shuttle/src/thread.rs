//! `shuttle::thread`: the API of `std::thread`, explored by `mazurka-rt`.

pub use mazurka_rt::thread::*;
