//! Sends every request about every program of the corpus and the examples.

use serde_json::{Value, json};

use crate::client::{Client, files, position, programs, uri};

/// Whether one range is within another.
fn within(inner: &Value, outer: &Value) -> bool {
    let place = |value: &Value| (value["line"].as_u64(), value["character"].as_u64());
    place(&outer["start"]) <= place(&inner["start"]) && place(&inner["end"]) <= place(&outer["end"])
}

fn is_outline(symbols: &Value) {
    for symbol in symbols.as_array().into_iter().flatten() {
        assert!(!symbol["name"].as_str().expect("a name").is_empty());
        assert!(
            within(&symbol["selectionRange"], &symbol["range"]),
            "{symbol}"
        );
        is_outline(&symbol["children"]);
    }
}

#[test]
fn requests_about_all_programs_are_answered() {
    let mut client = Client::new();
    let all = programs(&["corpus", "examples"]);
    assert!(all.len() > 300);
    let (mut hovers, mut hints) = (0, 0);
    for (path, text) in &all {
        let file = &uri(path);
        let errors = client.open(file, text);
        let errors: Vec<&Value> = errors.iter().filter(|one| one["severity"] == 1).collect();
        // A file that other files include may have no process.
        let library = errors.iter().all(|one| one["code"] == "M0206");
        assert!(library, "{path}: {errors:?}");
        let whole = json!({ "textDocument": { "uri": file } });
        let outline = client.request("textDocument/documentSymbol", whole.clone());
        // A file may consist of includes only.
        let empty = outline.as_array().expect("a list").is_empty();
        assert!(!empty || text.contains("include"), "{path}");
        is_outline(&outline);
        let lenses = client.request("textDocument/codeLens", whole.clone());
        if errors.is_empty() {
            assert_eq!(lenses[0]["command"]["title"], "check", "{path}");
        }
        let edits = json!({ "textDocument": { "uri": file }, "options": {} });
        let mut edits = edits;
        edits["options"] = json!({ "tabSize": 2, "insertSpaces": true });
        assert_eq!(
            client.request("textDocument/formatting", edits),
            json!([]),
            "{path}"
        );
        let range = json!({ "start": position(0, 0), "end": position(9999, 0) });
        let visible = json!({ "textDocument": { "uri": file }, "range": range });
        let found = client.request("textDocument/inlayHint", visible);
        hints += found.as_array().expect("a list").len();
        for (line, code) in text.lines().enumerate() {
            // Three positions in each line: the first word, the middle and the end.
            let start = code.len() - code.trim_start().len();
            for column in [start, code.chars().count() / 2, code.chars().count()] {
                let here = &position(line as u32, column as u32);
                let hover = client.at("textDocument/hover", file, here);
                hovers += usize::from(!hover.is_null());
                let declared = client.at("textDocument/definition", file, here);
                let mentions = client.at("textDocument/references", file, here);
                let mentions = mentions.as_array().expect("a list").clone();
                assert_eq!(
                    declared.is_null(),
                    mentions.is_empty(),
                    "{path}:{line}:{column}"
                );
                if !declared.is_null() {
                    // The declaration is one of the uses, and all have the same name.
                    assert!(mentions.contains(&declared), "{path}:{line}:{column}");
                    let named = |mention: &Value| named(text, &mention["range"]);
                    let name = named(&declared);
                    assert!(
                        mentions.iter().all(|one| named(one) == name),
                        "{path}: {name}"
                    );
                }
            }
        }
        client.close(file);
    }
    assert!(
        hovers > 3 * all.len() && hints > all.len(),
        "{hovers} {hints}"
    );
}

/// Returns the text of a range within one line.
fn named<'t>(text: &'t str, range: &Value) -> &'t str {
    let number = |value: &Value| value.as_u64().expect("a number") as usize;
    let line = text
        .lines()
        .nth(number(&range["start"]["line"]))
        .expect("a line");
    let byte = |units: usize| {
        let mut seen = 0;
        let mut chars = line.char_indices();
        let found = chars.find(|(_, c)| {
            let here = seen >= units;
            seen += c.len_utf16();
            here
        });
        found.map_or(line.len(), |(at, _)| at)
    };
    let [start, end] = [&range["start"], &range["end"]].map(|one| byte(number(&one["character"])));
    &line[start..end]
}

#[test]
fn mistakes_have_the_codes_that_the_files_are_named_by() {
    let mut client = Client::new();
    let all = programs(&["crates/lang/tests/wrong"]);
    assert!(all.len() > 200);
    for (path, text) in all {
        // Skip mistakes in settings, which the server does not have, and mistakes that only
        // commands report.
        if path.contains("/M05") || path.contains("/M06") {
            continue;
        }
        let code = path
            .rsplit('/')
            .next()
            .and_then(|name| name.split('-').next());
        let diagnostics = client.open(&uri(&path), &text);
        let diagnostics: Vec<&Value> = diagnostics.iter().map(|one| &one["code"]).collect();
        assert!(
            diagnostics.contains(&&json!(code)),
            "{path}: {diagnostics:?}"
        );
        client.close(&uri(&path));
    }
}

#[test]
fn requests_about_all_abs_programs_are_answered() {
    let mut client = Client::new();
    let all = files(&["corpus/abs"], "abs");
    assert!(all.len() >= 16);
    let mut found = 0;
    for (path, text) in &all {
        let file = &uri(path);
        let diagnostics = client.open(file, text);
        let errors: Vec<&Value> = diagnostics
            .iter()
            .filter(|one| one["severity"] == 1)
            .collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
        let range = json!({ "start": position(0, 0), "end": position(9999, 0) });
        let whole = json!({ "textDocument": { "uri": file }, "range": range,
            "options": { "tabSize": 2, "insertSpaces": true } });
        client.request("textDocument/codeLens", whole.clone());
        let edits = client.request("textDocument/formatting", whole.clone());
        assert_eq!(edits, json!([]), "{path}");
        let hints = client.request("textDocument/inlayHint", whole.clone());
        assert!(!hints.as_array().expect("a list").is_empty(), "{path}");
        let outline = client.request("textDocument/documentSymbol", whole.clone());
        assert_eq!(outline[0]["detail"], "module", "{path}");
        is_outline(&outline);
        for (line, code) in text.lines().enumerate() {
            let words = code.match_indices(|c: char| c.is_alphanumeric());
            for (column, _) in words.step_by(4) {
                let here = &position(line as u32, code[..column].chars().count() as u32);
                let declared = client.at("textDocument/definition", file, here);
                let mentions = client.at("textDocument/references", file, here);
                let mentions = mentions.as_array().expect("a list").clone();
                client.at("textDocument/completion", file, here);
                assert_eq!(declared.is_null(), mentions.is_empty(), "{path}:{line}");
                if declared.is_null() {
                    continue;
                }
                found += 1;
                assert!(!client.at("textDocument/hover", file, here).is_null());
                assert!(mentions.contains(&declared), "{path}:{line}:{column}");
                let name = named(text, &declared["range"]);
                let same = |one: &Value| named(text, &one["range"]) == name;
                assert!(mentions.iter().all(same), "{path}: {name}");
            }
        }
        client.close(file);
    }
    assert!(found > 50 * all.len(), "{found}");
}
