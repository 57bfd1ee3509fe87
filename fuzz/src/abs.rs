//! ABS programs.

use mazurka_abs::{Settings, load};

use super::maz::are_told;

/// Loads a program, and checks all places of its mistakes. Returns whether it is a program.
pub fn read(source: &str) -> bool {
    let code = load(source, &Settings::default());
    if let Err(mistakes) = &code {
        are_told(mistakes, source);
    }
    code.is_ok()
}
