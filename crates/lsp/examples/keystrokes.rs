//! Measures the time that the server takes for a keystroke in a long program: from the edit until
//! it has sent the mistakes and answered a hover.
//!
//! `cargo run --release -p mazurka-lsp --example keystrokes [LINES]`

use std::sync::Arc;
use std::time::{Duration, Instant};

use lsp_server::{Connection, Message, Notification, Request};
use mazurka_lsp::{Environment, serve};
use serde_json::{Value, json};

struct NoEnvironment;
impl Environment for NoEnvironment {}

/// Returns a program of about this many lines: procedures with loops, conditions, locks and arrays,
/// and processes that call them.
fn program(lines: usize) -> String {
    let mut text = "const N = 4\nlock m\nvar a: int[N] = 0\nvar x, y: int = 0\n".to_owned();
    let procedures = lines.saturating_sub(40) / 14;
    for i in 0..procedures {
        text += &format!(
            "
// Procedure {i}.
proc work{i}(p: int) {{
  lock(m);
  let seen = a[p % N];
  if seen > {i} {{
    a[p % N] := seen - 1
  }} else {{
    a[p % N] := seen + x
  }};
  for k in 0..2 {{ x := x + k }};
  unlock(m);
  await y >= 0
}}
"
        );
    }
    for p in 0..4 {
        text += &format!(
            "\nprocess client{p} {{\n  work{p}({p});\n  y := y + 1;\n  work{}({p})\n}}\n",
            p + 1
        );
    }
    text
}

/// A client, which sends messages and waits for the expected answers.
struct Editor {
    connection: Connection,
    last: i32,
}

impl Editor {
    fn notify(&self, method: &str, params: Value) {
        let notification = Notification::new(method.to_owned(), params);
        self.connection
            .sender
            .send(notification.into())
            .expect("the server listens");
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let request = Request::new(self.last.into(), method.to_owned(), params);
        self.connection
            .sender
            .send(request.into())
            .expect("the server listens");
        loop {
            if let Message::Response(response) = self.connection.receiver.recv().expect("an answer")
            {
                return response.response_result.expect("no error");
            }
        }
    }

    /// Waits for the diagnostics of a version, and returns the number of mistakes.
    fn count_mistakes(&self, version: i64) -> usize {
        loop {
            if let Message::Notification(notification) =
                self.connection.receiver.recv().expect("diagnostics")
                && notification.params["version"] == version
            {
                let all = notification.params["diagnostics"]
                    .as_array()
                    .into_iter()
                    .flatten();
                return all.filter(|one| one["severity"] == 1).count();
            }
        }
    }
}

fn main() {
    let lines = std::env::args()
        .nth(1)
        .map_or(2000, |n| n.parse().expect("a number"));
    let text = program(lines);
    let (server, connection) = Connection::memory();
    let serving = std::thread::spawn(move || serve(&server, Arc::new(NoEnvironment)));
    let mut editor = Editor {
        connection,
        last: 0,
    };
    editor.request("initialize", json!({ "capabilities": {} }));
    editor.notify("initialized", json!({}));
    let uri = "file:///long.maz";
    let file = json!({ "uri": uri, "languageId": "maz", "version": 1, "text": text });
    let start = Instant::now();
    editor.notify("textDocument/didOpen", json!({ "textDocument": file }));
    let mistakes = editor.count_mistakes(1);
    let opened = start.elapsed();
    assert_eq!(mistakes, 0, "the program is right");
    // Type a statement in the middle of the file, one letter at a time, and delete it again.
    let middle = text.lines().count() / 2;
    let line = text
        .lines()
        .skip(middle)
        .position(|line| line.contains("let seen"))
        .expect("a line");
    let line = middle + line;
    let typed = "  x := x + a[0]; ";
    let mut times: Vec<Duration> = Vec::new();
    let mut version = 1;
    let mut key = |range: Value, text: &str, times: &mut Vec<Duration>| {
        version += 1;
        let start = Instant::now();
        let change = json!([{ "range": range, "text": text }]);
        let file = json!({ "uri": uri, "version": version });
        editor.notify(
            "textDocument/didChange",
            json!({ "textDocument": file, "contentChanges": change }),
        );
        editor.count_mistakes(version);
        let here =
            json!({ "textDocument": { "uri": uri }, "position": { "line": line, "character": 7 } });
        editor.request("textDocument/hover", here);
        times.push(start.elapsed());
    };
    for (column, letter) in typed.chars().enumerate() {
        let place = json!({ "line": line, "character": column });
        key(
            json!({ "start": place, "end": place }),
            &letter.to_string(),
            &mut times,
        );
    }
    for column in (0..typed.len()).rev() {
        let [from, to] = [column, column + 1].map(|c| json!({ "line": line, "character": c }));
        key(json!({ "start": from, "end": to }), "", &mut times);
    }
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    drop(editor);
    serving.join().expect("no panic");
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "{} lines: opened in {:.1} ms; {} keystrokes: median {:.1} ms, slowest {:.1} ms",
        text.lines().count(),
        ms(opened),
        times.len(),
        ms(times[times.len() / 2]),
        ms(times[times.len() - 1])
    );
}
