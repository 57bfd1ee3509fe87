//! `.maz` programs.

use mazurka_diagnostics::Diagnostic;
use mazurka_lang::{Unformatted, compile, format, load};

/// Loads and compiles a program, and checks all places of its mistakes. Returns whether it is a
/// program.
pub fn read(source: &str) -> bool {
    let code = load(source, &[]).and_then(|program| compile(&program, source));
    if let Err(mistakes) = &code {
        are_told(mistakes, source);
    }
    lay_out(source);
    code.is_ok()
}

/// Formats a text, unless it has mistakes, and asserts that formatting the result changes nothing.
fn lay_out(source: &str) {
    match format(source) {
        Ok(text) => assert_eq!(format(&text).as_ref(), Ok(&text), "of {source:?}"),
        Err(Unformatted::Mistakes(mistakes)) => are_told(&mistakes, source),
        Err(Unformatted::Changed) => panic!("the layout changes {source:?}"),
    }
}

/// Asserts that there are mistakes, in text order, with messages, at places within the text.
pub fn are_told(mistakes: &[Diagnostic], source: &str) {
    assert!(!mistakes.is_empty());
    let mut last = 0;
    for mistake in mistakes {
        let places = mistake.related.iter().map(|(span, _)| *span);
        for span in places.chain([mistake.span]) {
            let text = source.get(span.start as usize..span.end as usize);
            assert!(text.is_some(), "{mistake:?} in {source:?}");
        }
        assert!(mistake.span.start >= last, "not sorted: {mistakes:?}");
        last = mistake.span.start;
        assert!(!mistake.message.is_empty() && !mistake.label.is_empty());
    }
}
