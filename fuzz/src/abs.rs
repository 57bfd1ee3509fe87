//! Programs in ABS.

use mazurka_abs::{Settings, load};

use super::maz::are_told;

/// Loads a program, and looks at every place that is mentioned. Whether it is one.
pub fn read(source: &str) -> bool {
    let code = load(source, &Settings::default());
    if let Err(mistakes) = &code {
        are_told(mistakes, source);
    }
    code.is_ok()
}
