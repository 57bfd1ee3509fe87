//! Programs in C, compiled, loaded and explored. Each is explored in a separate process: the test
//! program starts itself again with the test `worker`.

mod counts;
mod ends;
mod findings;
mod found;
mod lives;
mod memory;
mod orders;
mod races;
mod random;
mod support;
mod tasks;
