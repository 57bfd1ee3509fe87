//! Tests programs of several files: places in included files, and included files that are edited.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::{Client, at, position, uri};

/// A folder with files, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = format!("mazurka-lsp-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        Self(folder)
    }

    fn uri(&self, name: &str) -> String {
        uri(self.0.join(name).to_str().expect("UTF-8"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("removed");
    }
}

fn check(client: &mut Client, file: &str) -> Value {
    let params = json!({ "command": "mazurka.check", "arguments": [file] });
    client.request("workspace/executeCommand", params)
}

/// The lines of a diagnostic and of its related places, each with its file.
fn lines(shown: &Value) -> (u64, Vec<(String, u64)>) {
    let line = |range: &Value| range["start"]["line"].as_u64().expect("a line");
    let related = shown["relatedInformation"]
        .as_array()
        .expect("a list")
        .iter();
    let related = related.map(|one| {
        let file = one["location"]["uri"].as_str().expect("a URI").to_owned();
        (file, line(&one["location"]["range"]))
    });
    (line(&shown["range"]), related.collect())
}

const LIBRARY: &str = "// A library.

proc inc() { shared := shared + 1 }
proc bad() { assert false, \"in lib\" }
lock lk
proc stuck() {
  lock(lk);
  lock(lk)
}
";

#[test]
fn a_mistake_in_an_included_file_is_shown_with_its_file_and_line() {
    let deep = ("parts/a b/deep.maz", "\n\nproc deep() { y := 1 }\n");
    let middle = (
        "parts/middle.maz",
        "// The middle.\ninclude \"a b/deep.maz\"\n",
    );
    let folder = Folder::new("mistake", &[deep, middle]);
    let mut client = Client::new();
    let main = folder.uri("main.maz");
    let text = "var x: int = 0\n  include \"parts/middle.maz\" // both\nprocess { x := z }\n";
    let shown = client.open(&main, text);
    assert_eq!(shown.len(), 2, "{shown:?}");
    let message = shown[0]["message"].as_str().expect("a text");
    assert!(
        message.starts_with("in `parts/a b/deep.maz`, line 3: `y` is not declared"),
        "{message}"
    );
    assert_eq!(shown[0]["range"]["start"], position(1, 2));
    assert_eq!(shown[0]["range"]["end"], position(1, 36));
    let place = &shown[0]["relatedInformation"][0]["location"];
    assert_eq!(place["uri"], folder.uri("parts/a b/deep.maz"));
    assert_eq!(place["range"]["start"], position(2, 14));
    // A place after the included text is reported in its own line.
    assert_eq!(shown[1]["range"]["start"], position(2, 15));
}

#[test]
fn steps_and_failures_are_shown_in_their_files() {
    let folder = Folder::new("steps", &[("lib.maz", LIBRARY)]);
    let mut client = Client::new();
    let library = folder.uri("lib.maz");
    let head = "include \"lib.maz\"\n";
    for (name, text, expected) in [
        (
            "failure.maz",
            "var shared: int = 0\nprocess p { shared := 1; bad() }\n",
            (
                "in `lib.maz`, line 4: ",
                vec![(&library, 3), (&"".to_owned(), 2)],
            ),
        ),
        (
            "deadlock.maz",
            "var shared: int = 0\nprocess p { stuck() }\n",
            ("in `lib.maz`, line 8: ", vec![(&library, 7), (&library, 6)]),
        ),
        (
            "ensures.maz",
            "var shared: int = 0\nensures two: shared == 2\nprocess p { inc(); shared := 3 }\n",
            ("", vec![(&library, 2), (&"".to_owned(), 3)]),
        ),
    ] {
        let main = folder.uri(name);
        assert_eq!(
            client.open(&main, &format!("{head}{text}")),
            Vec::<Value>::new()
        );
        let answer = check(&mut client, &main);
        assert_eq!(answer["verdict"], "violated", "{answer}");
        let shown = client.shown(&main)[0].clone();
        let (line, related) = lines(&shown);
        let message = shown["message"].as_str().expect("a text");
        let (start, places) = expected;
        assert!(message.starts_with(start), "{message}");
        assert_eq!(line, if start.is_empty() { 2 } else { 0 }, "{shown}");
        let places: Vec<(String, u64)> = { places.into_iter() }
            .map(|(file, line)| (if file.is_empty() { &main } else { file }.clone(), line))
            .collect();
        assert_eq!(related, places, "{shown}");
        for step in answer["runs"][0].as_array().expect("steps") {
            let label = step["label"].as_str().expect("a label");
            let file = label.starts_with("(lib.maz)").then_some("lib.maz");
            assert_eq!(step.get("file").and_then(Value::as_str), file, "{step}");
        }
    }
}

#[test]
fn programs_follow_a_library_that_is_open() {
    let folder = Folder::new("open", &[("lib.maz", "proc inc() { x := x + 1 }\n")]);
    let mut client = Client::new();
    let (main, library) = (folder.uri("main.maz"), folder.uri("lib.maz"));
    let text = "var x: int = 0\ninclude \"lib.maz\"\nensures x == 1\nprocess { inc() }\n";
    assert_eq!(client.open(&main, text), Vec::<Value>::new());
    assert_eq!(check(&mut client, &main)["verdict"], "verified");
    // The library is edited and not saved.
    client.open(&library, "proc inc() { x := x + 2 }\n");
    assert_eq!(check(&mut client, &main)["verdict"], "violated");
    assert_eq!(client.shown(&main).len(), 1);
    client.change(&library, 2, json!([{ "text": "proc inc() { y := 1 }\n" }]));
    client.diagnostics(&library, 2);
    let params = at(&main, &position(0, 4));
    client.request("textDocument/hover", params.clone());
    let shown = client.shown(&main);
    let message = shown[0]["message"].as_str().expect("a text");
    assert!(
        message.starts_with("in `lib.maz`, line 1: `y` is not declared"),
        "{message}"
    );
    // After the file is closed, the text on the disk counts again.
    client.close(&library);
    client.request("textDocument/hover", params);
    assert_eq!(client.shown(&main), Vec::<Value>::new());
    assert_eq!(check(&mut client, &main)["verdict"], "verified");
}

/// A program with too many states for any machine, which calls a procedure of `lib.maz`.
const ENDLESS: &str = "include \"lib.maz\"
var a: int[14] = 0
process p (i in 0..14) { a[i] := a[(i + 1) % 14] + 1; a[i] := a[(i + 2) % 14] + 1; one() }
";

#[test]
fn a_search_ends_when_an_included_file_changes() {
    let folder = Folder::new("search", &[("lib.maz", "proc one() { skip }\n")]);
    let mut client = Client::with(json!({ "timeLimit": 60 }));
    let (main, library) = (folder.uri("main.maz"), folder.uri("lib.maz"));
    assert_eq!(client.open(&main, ENDLESS), Vec::<Value>::new());
    let params = json!({ "command": "mazurka.check", "arguments": [main] });
    let search = client.send_request("workspace/executeCommand", params);
    client.open(&library, "proc one() { a[0] := 1 }\n");
    assert_eq!(
        client.answer(&search).expect_err("it is ended").code,
        -32800
    );
}
