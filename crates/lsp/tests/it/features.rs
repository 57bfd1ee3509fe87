//! Tests the contents of the answers to requests.

use serde_json::{Value, json};

use crate::client::{Client, at, position, programs, uri};

const PETERSON: &str = "// Who may go first.
var turn: int = 0
var flag: bool[2] = false
enum Phase { Out, In }
var phase: Phase[2] = Out
invariant exclusion: phase[0] == Out || phase[1] == Out

process p (me in 0..2) {
  flag[me] := true;
  turn := 1 - me;
  await !flag[1 - me] || turn == me;
  phase[me] := In;
  assert turn >= 0, \"{me} sees {turn}\";
  phase[me] := Out;
  flag[me] := false
}
";

fn peterson() -> (Client, String) {
    let mut client = Client::new();
    let file = uri("/models/peterson.maz");
    assert_eq!(client.open(&file, PETERSON), Vec::<Value>::new());
    (client, file)
}

#[test]
fn hover_describes_names_and_steps() {
    let (mut client, file) = peterson();
    let text = |hover: Value| hover["contents"]["value"].as_str().unwrap_or("").to_owned();
    let hover = text(client.at("textDocument/hover", &file, &position(9, 3)));
    assert!(
        hover.contains("var turn: int = 0") && hover.contains("shared variable"),
        "{hover}"
    );
    assert!(hover.contains("Who may go first."), "{hover}");
    assert!(hover.contains("one step; writes `turn`"), "{hover}");
    let hover = text(client.at("textDocument/hover", &file, &position(10, 3)));
    assert!(
        hover.contains("may have to wait; reads `flag`, `turn`"),
        "{hover}"
    );
    let hover = text(client.at("textDocument/hover", &file, &position(8, 8)));
    assert!(
        hover.contains("process p (me in 0..2)") && hover.contains("parameter"),
        "{hover}"
    );
    assert_eq!(
        client.at("textDocument/hover", &file, &position(6, 0)),
        Value::Null
    );
}

#[test]
fn names_in_messages_are_mentions() {
    let (mut client, file) = peterson();
    let found = client.at("textDocument/references", &file, &position(1, 5));
    let lines: Vec<u64> = found
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["range"]["start"]["line"].as_u64())
        .collect();
    assert_eq!(lines, [1, 9, 10, 12, 12]);
    let declared = client.at("textDocument/definition", &file, &position(12, 22));
    assert_eq!(
        declared["range"]["start"],
        position(7, 11),
        "`me` in the message"
    );
}

#[test]
fn completion_offers_the_names_in_scope() {
    let (mut client, file) = peterson();
    let mut labels = |line| -> Vec<String> {
        let items = client.at("textDocument/completion", &file, &position(line, 2));
        let items = items.as_array().expect("a list").clone();
        items
            .iter()
            .filter_map(|item| item["label"].as_str().map(str::to_owned))
            .collect()
    };
    let has = |all: &[String], name: &str| all.iter().any(|label| label == name);
    let inside = labels(9);
    for name in ["turn", "flag", "In", "me", "await"] {
        assert!(has(&inside, name), "{name}");
    }
    let outside = labels(6);
    assert!(has(&outside, "turn") && !has(&outside, "me"));
}

#[test]
fn completion_offers_locals_in_their_blocks_only() {
    let mut client = Client::new();
    let file = uri("/models/blocks.maz");
    let text = "var x: int = 0
process p {
  let first = x;
  if x > 0 {
    let inner = first;
    x := inner
    // The end of the block.
  } else {
    skip
  };
  for k in 0..2 { x := k };
  let last = x
}
";
    client.open(&file, text);
    let mut offered = |line, character| -> String {
        let items = client.at("textDocument/completion", &file, &position(line, character));
        let all = items.as_array().expect("a list").iter();
        let labels: Vec<&str> = all.filter_map(|item| item["label"].as_str()).collect();
        let names = ["first", "inner", "k", "last"];
        names
            .map(|name| if labels.contains(&name) { '1' } else { '0' })
            .iter()
            .collect()
    };
    assert_eq!(offered(2, 2), "0000", "before the declaration");
    assert_eq!(offered(2, 14), "0000", "in the declaration");
    assert_eq!(offered(3, 2), "1000");
    assert_eq!(offered(5, 4), "1100");
    assert_eq!(offered(7, 2), "1100", "before the bracket");
    assert_eq!(offered(8, 4), "1000", "in the other branch");
    assert_eq!(offered(10, 18), "1010");
    assert_eq!(offered(11, 2), "1000", "behind the loop");
    assert_eq!(offered(12, 0), "1001");
}

#[test]
fn a_lone_return_ends_a_line() {
    let mut client = Client::new();
    let file = uri("/models/mac.maz");
    client.open(&file, "var x: int = 0\rprocess { x := 1 }\r");
    let declared = client.at("textDocument/definition", &file, &position(1, 10));
    assert_eq!(declared["range"]["start"], position(0, 4));
    let range = json!({ "start": position(1, 15), "end": position(1, 16) });
    client.change(&file, 2, json!([{ "range": range, "text": "y" }]));
    let shown = client.diagnostics(&file, 2);
    assert_eq!(shown[0]["range"]["start"], position(1, 15), "{shown:?}");
}

#[test]
fn every_step_has_a_hint() {
    let (mut client, file) = peterson();
    let range = json!({ "start": position(0, 0), "end": position(99, 0) });
    let params = json!({ "textDocument": { "uri": file }, "range": range });
    let hints = client.request("textDocument/inlayHint", params);
    let hints: Vec<(u64, &str)> = hints
        .as_array()
        .expect("a list")
        .iter()
        .map(|hint| {
            (
                hint["position"]["line"].as_u64().expect("a line"),
                hint["label"].as_str().expect("a label"),
            )
        })
        .collect();
    let steps = [
        (8, "◆"),
        (9, "◆"),
        (10, "◇"),
        (11, "◆"),
        (12, "◆"),
        (13, "◆"),
        (14, "◆"),
    ];
    assert_eq!(hints, steps);
}

#[test]
fn formatting_is_one_edit() {
    let mut client = Client::new();
    let file = uri("/models/ugly.maz");
    client.open(&file, "process{skip}");
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let params = json!({ "textDocument": { "uri": file }, "options": options });
    let edits = client.request("textDocument/formatting", params.clone());
    assert_eq!(edits[0]["newText"], "process { skip }\n");
    assert_eq!(edits[0]["range"]["end"], position(0, 13));
    client.change(&file, 2, json!([{ "text": "process { x := }" }]));
    client.diagnostics(&file, 2);
    assert_eq!(
        client.request("textDocument/formatting", params),
        Value::Null
    );
}

/// Returns the text after the edits of a rename, which are in the order of the text.
fn edited(text: &str, edits: &Value) -> String {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .collect();
    let byte = |place: &Value| {
        let number = |name: &str| place[name].as_u64().expect("a number") as usize;
        let start = starts[number("line")];
        let mut units = 0;
        let mut chars = text[start..].char_indices();
        let found = chars.find(|(_, c)| {
            let here = units >= number("character");
            units += c.len_utf16();
            here
        });
        found.map_or(text.len(), |(at, _)| start + at)
    };
    let mut out = String::new();
    let mut last = 0;
    for edit in edits.as_array().expect("a list") {
        out += &text[last..byte(&edit["range"]["start"])];
        out += edit["newText"].as_str().expect("a text");
        last = byte(&edit["range"]["end"]);
    }
    out + &text[last..]
}

#[test]
fn renaming_there_and_back_changes_nothing() {
    let mut client = Client::new();
    let mut renamed = 0;
    for (path, text) in programs(&["examples", "corpus/litmus", "corpus/spin"]) {
        let file = &uri(&path);
        let diagnostics = client.open(file, &text);
        // A file that other files include may have no process.
        if diagnostics.iter().any(|one| one["code"] == "M0206") {
            continue;
        }
        let whole = json!({ "textDocument": { "uri": file } });
        let outline = client.request("textDocument/documentSymbol", whole);
        let names = outline.as_array().expect("a list").iter();
        let mut version = 1;
        for symbol in names.filter(|one| one["name"] != "process" && one["name"] != "property") {
            let name = symbol["name"].as_str().expect("a name");
            let mut params = at(file, &symbol["selectionRange"]["start"]);
            params["newName"] = json!("a_new_name");
            let Ok(edits) = client.try_request("textDocument/rename", params) else {
                assert!(text.contains("prove \""), "{path}: {name}");
                continue;
            };
            let new = edited(&text, &edits["changes"][file]);
            assert_ne!(new, text);
            version += 1;
            client.change(file, version, json!([{ "text": new }]));
            let diagnostics = client.diagnostics(file, version);
            assert!(
                diagnostics.iter().all(|one| one["severity"] != 1),
                "{path}: {name}: {diagnostics:?}"
            );
            let here = &edits["changes"][file][0]["range"]["start"];
            let mut params = at(file, here);
            params["newName"] = json!(name);
            let edits = client.request("textDocument/rename", params);
            assert_eq!(
                edited(&new, &edits["changes"][file]),
                text,
                "{path}: {name}"
            );
            version += 1;
            client.change(file, version, json!([{ "text": text }]));
            renamed += 1;
        }
        client.close(file);
    }
    assert!(renamed > 300, "{renamed}");
}

#[test]
fn renames_that_change_meanings_are_refused() {
    let (mut client, file) = peterson();
    for (new, words) in [
        ("flag", "means something else"),
        ("me", "means something else"),
        ("while", "is a keyword"),
        ("int", "is a keyword"),
        ("at", "is a keyword"),
        ("e\u{301}", "not a name"),
        ("1x", "not a name"),
        ("", "not a name"),
    ] {
        let mut params = at(&file, &position(1, 4));
        params["newName"] = json!(new);
        let refused = client.try_request("textDocument/rename", params);
        let message = refused.expect_err("it is refused").message;
        assert!(message.contains(words), "{new}: {message}");
    }
}

#[test]
fn unknown_requests_are_errors_and_do_not_end_the_server() {
    let (mut client, file) = peterson();
    let other = at("file:///other.maz", &position(0, 0));
    assert!(client.try_request("textDocument/hover", other).is_err());
    assert!(
        client
            .try_request("textDocument/hover", json!({ "no": 1 }))
            .is_err()
    );
    assert!(
        client
            .try_request("workspace/nonsense", json!(null))
            .is_err()
    );
    client.notify("textDocument/didChange", json!({ "textDocument": 3 }));
    client.notify("textDocument/didOpen", json!([]));
    client.notify("$/cancelRequest", json!({ "id": 99 }));
    assert!(
        !client
            .at("textDocument/hover", &file, &position(1, 5))
            .is_null()
    );
}

#[test]
fn actors_have_diagnostics_and_definitions() {
    let mut client = Client::new();
    let file = uri("/models/one.abs");
    let diagnostics = client.open(&file, "module M; { Int x = ; }");
    assert!(
        !diagnostics.is_empty() && diagnostics[0]["severity"] == 1,
        "{diagnostics:?}"
    );
    client.change(&file, 2, json!([{ "text": "module M; { Int x = 1; }" }]));
    let diagnostics = client.diagnostics(&file, 2);
    assert!(
        diagnostics.iter().all(|one| one["severity"] != 1),
        "{diagnostics:?}"
    );
    let declared = client.at("textDocument/definition", &file, &position(0, 17));
    assert_eq!(declared["range"]["start"], position(0, 16));
    let mut params = at(&file, &position(0, 17));
    params["newName"] = json!("y");
    let edits = client.request("textDocument/rename", params.clone());
    let edits = edits["changes"][&file].as_array().expect("edits").clone();
    assert_eq!(edits.len(), 1);
    params["newName"] = json!("Y");
    let refused = client.try_request("textDocument/rename", params);
    let refused = refused.expect_err("a variable starts with a small letter");
    assert!(refused.message.contains("small"), "{refused:?}");
}

#[test]
fn steps_of_actors_are_marked() {
    let mut client = Client::new();
    let file = uri("/models/two.abs");
    let text = "module M;
class C {
  Int x = 0;
  Unit m() {
    await x > 0;
    x = 2;
  }
}
{ new C(); }
";
    client.open(&file, text);
    let range = json!({ "start": position(0, 0), "end": position(99, 0) });
    let visible = json!({ "textDocument": { "uri": file }, "range": range });
    let hints = client.request("textDocument/inlayHint", visible);
    let places: Vec<(Value, Value)> = { hints.as_array().expect("a list").iter() }
        .map(|one| (one["position"]["line"].clone(), one["label"].clone()))
        .collect();
    assert!(places.contains(&(json!(3), json!("◆"))), "{hints}");
    assert!(places.contains(&(json!(4), json!("◇"))), "{hints}");
    let hover = client.at("textDocument/hover", &file, &position(4, 5));
    assert!(hover.to_string().contains("writes `C.x`"), "{hover}");
}

#[test]
fn a_name_that_an_included_file_uses_is_refused_with_its_file() {
    let folder = std::env::temp_dir().join(format!("mazurka-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("lib.maz"), "proc p() { x := 1 }\n").expect("a file");
    let mut client = Client::new();
    let file = uri(folder.join("main.maz").to_str().expect("a path"));
    let text = "var x: int = 0\ninclude \"lib.maz\"\nprocess { p() }\n";
    assert_eq!(client.open(&file, text), Vec::<Value>::new());
    let mut params = at(&file, &position(0, 4));
    params["newName"] = json!("y");
    let refused = client.try_request("textDocument/rename", params);
    let message = refused.expect_err("it is refused").message;
    assert!(
        message.contains("`lib.maz`") && message.contains("`x` is not declared"),
        "{message}"
    );
    std::fs::remove_dir_all(&folder).expect("removed");
}
