//! Thread-locals of the threads of a model.

/// What a thread keeps for itself.
#[derive(Default)]
pub(crate) struct Locals;
