//! The layout of programs, `mazurka fmt`.
//!
//! ```
//! use mazurka::format::format;
//! let text = "var x : int=0\n\n\nprocess {\nx:=x+1 // counted\n}";
//! let laid_out = "var x: int = 0\n\nprocess {\n  x := x + 1 // counted\n}\n";
//! assert_eq!(format(text).unwrap(), laid_out);
//! ```

pub use mazurka_lang::{Unformatted, format};

/// Formats a program, in the language that the name of its file indicates. Returns `None` if the
/// program has mistakes. ABS programs are only indented.
///
/// ```
/// use mazurka::format::format_of;
/// assert_eq!(format_of("a.maz", "process{skip}"), Some("process { skip }\n".to_owned()));
/// assert_eq!(format_of("a.abs", "{\nskip;\n}\n"), Some("{\n  skip;\n}\n".to_owned()));
/// assert_eq!(format_of("a.maz", "process {"), None);
/// ```
pub fn format_of(file: &str, text: &str) -> Option<String> {
    if file.ends_with(".abs") {
        mazurka_abs::layout::indented(text).ok()
    } else {
        format(text).ok()
    }
}
