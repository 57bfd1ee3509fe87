//! Tests random edits: the server has the same text as the editor, and answers every request.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::client::{Client, at, files, position, programs, uri};

/// Returns the byte offset of a position, as the protocol defines it. For a shorter line or text,
/// it is the end.
fn byte(text: &str, line: u32, character: u32) -> usize {
    let mut start = 0;
    for _ in 0..line {
        match text[start..].find(['\n', '\r']) {
            Some(at) if text[start + at..].starts_with("\r\n") => start += at + 2,
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let rest = text[start..].split(['\n', '\r']).next().unwrap_or("");
    let mut units = 0;
    for (at, c) in rest.char_indices() {
        if units >= character {
            return start + at;
        }
        units += c.len_utf16() as u32;
    }
    start + rest.len()
}

type Edit = ((u32, u32), (u32, u32), String);

/// The texts that edits insert.
const WORDS: &[&str] = &[
    "",
    "",
    " ",
    "\n",
    ";",
    "{",
    "}",
    "x",
    "process p { x := 1 }",
    "var y: int = 0\n",
    "\"",
    "/*",
    "//",
    "▷",
    "𝔸",
    "\r\n",
    "\r",
    "include \"a.maz\"\n",
    "(((((",
    "1..",
    "\u{1e}",
    "await ",
];

fn edit() -> impl Strategy<Value = Edit> {
    let place = || (0..30_u32, 0..60_u32);
    (
        place(),
        place(),
        prop::sample::select(WORDS).prop_map(str::to_owned),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn the_server_keeps_up(pick in any::<prop::sample::Index>(), edits in prop::collection::vec(edit(), 1..25)) {
        let mut texts = programs(&["examples", "corpus"]);
        texts.extend(files(&["corpus/abs"], "abs"));
        let (path, text) = &texts[pick.index(texts.len())];
        let ending = path.rsplit('.').next().unwrap_or("maz");
        let mut client = Client::new();
        let file = &uri(&format!("/models/edited.{ending}"));
        let mut text = text.clone();
        client.open(file, &text);
        let mut version = 1;
        for (from, to, new) in &edits {
            let (start, end) = (byte(&text, from.0, from.1), byte(&text, to.0, to.1));
            text.replace_range(start..end.max(start), new);
            version += 1;
            let range = json!({ "start": position(from.0, from.1), "end": position(to.0, to.1) });
            client.change(file, version, json!([{ "range": range, "text": new }]));
            if version % 3 == 0 {
                let here = &position(to.0, to.1);
                for method in ["hover", "definition", "references", "completion", "prepareRename"] {
                    client.at(&format!("textDocument/{method}"), file, here);
                }
                let mut params = at(file, here);
                params["newName"] = json!("z");
                // The rename may be refused.
                let _ = client.try_request("textDocument/rename", params);
                let whole = json!({ "textDocument": { "uri": file }, "range": range,
                    "options": { "tabSize": 2, "insertSpaces": true } });
                for method in ["documentSymbol", "codeLens", "formatting", "inlayHint"] {
                    client.request(&format!("textDocument/{method}"), whole.clone());
                }
            }
        }
        // A new file with the final text has the same mistakes.
        let diagnostics = client.diagnostics(file, version);
        let fresh = client.open(&uri(&format!("/models/fresh.{ending}")), &text);
        let places = |all: &[Value]| -> Vec<Value> {
            all.iter().map(|one| json!([one["code"], one["range"], one["message"]])).collect()
        };
        prop_assert_eq!(places(&diagnostics), places(&fresh), "{}", text);
    }
}
