//! The only file that prints.

use crate::world::{Failure, Inner};

/// Prints one line about a search that found nothing.
pub(crate) fn summary(text: &str) {
    println!("{text}");
}

/// Prints why the process is about to be aborted.
pub(crate) fn last_words(inner: &Inner, failure: &Failure) {
    let before = inner.threads[inner.current.index()].failure;
    let before = before.map(|site| &inner.failures[site as usize]);
    eprintln!("mazurka: {}, so the process must abort.", failure.message);
    if let Some(before) = before {
        eprintln!(
            "mazurka: the panic was: {} at {}",
            before.message, before.place
        );
    }
    eprintln!(
        "mazurka: it was in thread {}. A destructor that runs while a panic unwinds must not panic itself.",
        inner.names.paths[inner.current.index()]
    );
}
