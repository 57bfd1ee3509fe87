//! The record itself: `--format json`.

use serde::Serialize;

/// A record, or a record with what a command adds to it, as indented JSON that ends with a newline.
pub fn json<T: Serialize>(record: &T) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    Ok(text)
}
