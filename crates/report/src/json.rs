//! The record itself: `--format json`.

use serde::Serialize;

/// Returns a record, or a record with the data that a command adds, as indented JSON with a final
/// newline.
pub fn json<T: Serialize>(record: &T) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(record)?;
    text.push('\n');
    Ok(text)
}
