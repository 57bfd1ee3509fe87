//! Tests the server from outside: its answers, its refusals, and the page in a browser.

mod browser;
mod hostile;
mod http;
mod server;
mod tour;

use std::path::PathBuf;

/// Returns the command, if it is built.
fn command() -> Option<PathBuf> {
    if let Ok(given) = std::env::var("MAZURKA") {
        return Some(given.into());
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let built = ["debug", "release"].map(|profile| root.join(profile).join("mazurka"));
    built.into_iter().find(|path| path.exists())
}
