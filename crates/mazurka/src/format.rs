//! The layout of programs, `mazurka fmt`.
//!
//! ```
//! use mazurka::format::format;
//! let text = "var x : int=0\n\n\nprocess {\nx:=x+1 // counted\n}";
//! let laid_out = "var x: int = 0\n\nprocess {\n  x := x + 1 // counted\n}\n";
//! assert_eq!(format(text).unwrap(), laid_out);
//! ```

pub use mazurka_lang::{Unformatted, format};
