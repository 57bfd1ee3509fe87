//! The worked examples find their mistakes.

#[path = "../../examples/bounded_queue.rs"]
mod bounded_queue;
#[path = "../../examples/reference_count.rs"]
mod reference_count;
#[path = "../../examples/spin_lock.rs"]
mod spin_lock;

#[test]
fn a_spin_lock() {
    spin_lock::main();
}

#[test]
fn a_bounded_queue() {
    bounded_queue::main();
}

#[test]
fn a_reference_count() {
    reference_count::main();
}
