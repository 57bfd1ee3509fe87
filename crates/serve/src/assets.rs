//! Serves the files of the page. They are embedded in the binary, so no request reads a file on the
//! disk.

use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use rust_embed::RustEmbed;

/// The files of the page. Files that the page shares with reports, and its examples, are links to
/// other places of the repository. A published crate contains the files themselves.
#[derive(RustEmbed)]
#[folder = "page"]
struct PageFiles;

/// The engine that the static page names, and its replacement in this server.
const WASM: &str = "<meta name=\"engine\" content=\"wasm\">";
const NATIVE: &str = "<meta name=\"engine\" content=\"native\">";

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}

/// Answers with a file of the page.
pub(crate) async fn asset(uri: Uri) -> Response {
    let path = match uri.path() {
        "/" => "index.html",
        path => path.trim_start_matches('/'),
    };
    // A name is used without decoding, and must not lead out of the folder.
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let found = if path.chars().all(plain) && !path.contains("..") {
        PageFiles::get(path)
    } else {
        None
    };
    match found {
        // Tell the page that this server is its engine.
        Some(file) if path == "index.html" => {
            let text = String::from_utf8_lossy(&file.data).replace(WASM, NATIVE);
            ([(header::CONTENT_TYPE, kind(path))], text).into_response()
        }
        Some(file) => ([(header::CONTENT_TYPE, kind(path))], file.data).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such page\n").into_response(),
    }
}
