//! Mistakes in a source file: their places, descriptions, and how to fix them.
//!
//! The front ends share this crate: places in a text, mistakes that point at them, and suggestions
//! of similar names. It neither reads files nor prints: the binary renders a [`Diagnostic`] with
//! its caret.
//!
//! ```
//! use mazurka_diagnostics::{Diagnostic, Span, nearest};
//! let source = "var count: int = 0 process { cuont := 1 }";
//! let span = Span { start: 29, end: 34 };
//! let name = span.text(source);
//! let help = nearest(name, ["count"]).map(|meant| format!("did you mean `{meant}`?"));
//! let mistake = Diagnostic::new("M0201", span, format!("`{name}` is not known")).maybe_help(help);
//! assert_eq!(mistake.help.as_deref(), Some("did you mean `count`?"));
//! assert_eq!(span.line_column(source), (1, 30));
//! ```

mod diagnostic;
mod files;
mod hints;
mod span;

pub use diagnostic::{Diagnostic, MAX_DIAGNOSTICS, finish};
pub use files::{MARK, Part, mark, mark_after_include, parts, refusal};
pub use hints::nearest;
pub use span::Span;
