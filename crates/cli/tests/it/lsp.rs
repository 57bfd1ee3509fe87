//! Tests `mazurka lsp` as a process, started as an editor does.

use std::io::Write;
use std::process::{Command, Stdio};

/// Writes these payloads with headers, and then `rest`. Returns the exit code and the output.
fn serve(payloads: &[&str], rest: &str) -> (Option<i32>, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_mazurka"))
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let framed = payloads
        .iter()
        .map(|one| format!("Content-Length: {}\r\n\r\n{one}", one.len()));
    let input = framed.collect::<String>() + rest;
    let mut stdin = server.stdin.take().expect("a pipe");
    stdin.write_all(input.as_bytes()).expect("it reads");
    drop(stdin);
    let output = server.wait_with_output().expect("it ends");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    (output.status.code(), said)
}

const HELLO: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
const SHUTDOWN: &str = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
const EXIT: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;

#[test]
fn the_exit_code_says_how_it_ended() {
    let (code, said) = serve(&[HELLO, "{", SHUTDOWN, EXIT], "");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("-32700") && said.contains("\"id\":2"),
        "{said}"
    );
    assert_eq!(serve(&[HELLO, EXIT], "").0, Some(1));
    assert_eq!(serve(&[HELLO], "").0, Some(0));
    assert_eq!(serve(&[HELLO], "hello\r\n\r\n").0, Some(3));
}
