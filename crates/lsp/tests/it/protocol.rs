//! Tests the framing of messages, and the start and end of the server, over streams of bytes.

use std::sync::Arc;

use mazurka_lsp::{Ended, converse};
use serde_json::{Value, json};

use crate::client::Files;

/// A message with its header.
fn framed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Content-Length: {}\r\n\r\n", payload.len()).into_bytes();
    bytes.extend(payload);
    bytes
}

/// Sends these bytes; returns how the server ended, and all bytes that it sent.
fn streamed(input: &[u8]) -> (Result<Ended, String>, Vec<u8>) {
    let mut pieces = input.chunks(1000);
    let mut output = Vec::new();
    let read = || Ok(pieces.next().unwrap_or_default().to_vec());
    let write = |bytes: &[u8]| {
        output.extend(bytes);
        Ok(())
    };
    let ended = converse(read, write, Arc::new(Files));
    (ended, output)
}

/// Sends these payloads; returns how the server ended, and all messages that it sent.
fn conversation(payloads: &[&[u8]]) -> (Ended, Vec<Value>) {
    let input: Vec<u8> = payloads.iter().flat_map(|one| framed(one)).collect();
    let (ended, output) = streamed(&input);
    let ended = ended.expect("the headers are right");
    let mut rest = output.as_slice();
    let mut sent = Vec::new();
    while !rest.is_empty() {
        let behind = rest.windows(4).position(|four| four == b"\r\n\r\n");
        let behind = behind.expect("a header") + 4;
        let header = std::str::from_utf8(&rest[..behind]).expect("UTF-8").trim();
        let length = header.strip_prefix("Content-Length: ").expect("a length");
        let end = behind + length.parse::<usize>().expect("a length");
        sent.push(serde_json::from_slice(&rest[behind..end]).expect("JSON"));
        rest = &rest[end..];
    }
    (ended, sent)
}

const HELLO: &[u8] =
    br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
const READY: &[u8] = br#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#;
const SHUTDOWN: &[u8] = br#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
const EXIT: &[u8] = br#"{"jsonrpc":"2.0","method":"exit"}"#;

/// The error code of the answer to a request.
fn code(sent: &[Value], id: &Value) -> Option<i64> {
    let mut answers = sent.iter().filter(|one| one.get("method").is_none());
    let answer = answers.find(|one| one["id"] == *id);
    answer.unwrap_or_else(|| panic!("no answer to {id}: {sent:?}"))["error"]["code"].as_i64()
}

const PARSE_ERROR: Option<i64> = Some(-32700);
const INVALID_REQUEST: Option<i64> = Some(-32600);

#[test]
fn a_bad_payload_is_answered_and_does_not_end_the_server() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":24,"method":"x","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let hover = br#"{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///a.maz"},"position":{"line":0,"character":5}}}"#;
    let opened = br#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.maz","languageId":"maz","version":1,"text":"var count: int = 0\nprocess { count := 1 }\n"}}}"#;
    let cases: &[(&[u8], Value, Option<i64>)] = &[
        (br#"{"jsonrpc":"#, Value::Null, PARSE_ERROR),
        (b"", Value::Null, PARSE_ERROR),
        (
            b"{\"id\":5,\"method\":\"\xff\xfe\"}",
            Value::Null,
            PARSE_ERROR,
        ),
        (
            br#"{"id":6,"method":"x","params":{"a":1e400}}"#,
            Value::Null,
            PARSE_ERROR,
        ),
        (deep.as_bytes(), Value::Null, PARSE_ERROR),
        (
            br#"[{"jsonrpc":"2.0","id":77,"method":"x"}]"#,
            Value::Null,
            INVALID_REQUEST,
        ),
        (b"[1,2,3]", Value::Null, INVALID_REQUEST),
        (b"42", Value::Null, INVALID_REQUEST),
        (b"null", Value::Null, INVALID_REQUEST),
        (br#"{"jsonrpc":"2.0","id":9}"#, json!(9), INVALID_REQUEST),
        (br#"{"id":10,"method":7}"#, json!(10), INVALID_REQUEST),
        (
            br#"{"id":1.5,"method":"textDocument/hover"}"#,
            json!(1.5),
            INVALID_REQUEST,
        ),
        (
            br#"{"id":100000000000000000000,"method":"x"}"#,
            json!(1e20),
            INVALID_REQUEST,
        ),
        (
            br#"{"id":2147483648,"method":"x"}"#,
            json!(2147483648_u64),
            INVALID_REQUEST,
        ),
        (br#"{"id":null,"method":"x"}"#, Value::Null, INVALID_REQUEST),
        (br#"{"id":[],"method":"x"}"#, json!([]), INVALID_REQUEST),
        (br#"{"id":-4,"method":"x"}"#, json!(-4), Some(-32601)),
        (br#"{"id":"a","method":"x"}"#, json!("a"), Some(-32601)),
    ];
    for (payload, id, expected) in cases {
        let all = [HELLO, READY, opened, payload, hover, SHUTDOWN, EXIT];
        let (ended, sent) = conversation(&all);
        let shown = String::from_utf8_lossy(&payload[..payload.len().min(80)]);
        assert_eq!(ended, Ended::ShutDown, "{shown}");
        assert_eq!(code(&sent, id), *expected, "{shown}");
        let hover = sent.iter().find(|one| one["id"] == 3).expect("an answer");
        assert!(
            hover["result"].to_string().contains("shared variable"),
            "{shown}"
        );
    }
    // An answer to no request is ignored.
    let (_, sent) = conversation(&[HELLO, br#"{"id":1000,"result":{}}"#, SHUTDOWN, EXIT]);
    assert_eq!(sent.len(), 2, "{sent:?}");
}

#[test]
fn half_a_surrogate_pair_is_a_character() {
    // `JSON.stringify("// \ud83d")` writes the half as an escape.
    let opened = br#"{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///a.maz","languageId":"maz","version":1,"text":"// \ud83d \ud83d\ude00\nvar x: int = 0 // \ude00\nprocess { x := z }\n"}}}"#;
    let hover = br#"{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///a.maz"},"position":{"line":1,"character":4}}}"#;
    let (ended, sent) = conversation(&[HELLO, READY, opened, hover, SHUTDOWN, EXIT]);
    assert_eq!(ended, Ended::ShutDown);
    let hover = sent.iter().find(|one| one["id"] == 3).expect("an answer");
    let hover = hover["result"]["contents"]["value"]
        .as_str()
        .expect("a text");
    assert!(hover.contains("\n\u{fffd} \u{1f600}"), "{hover}");
    let published = sent
        .iter()
        .find(|one| one["method"] == "textDocument/publishDiagnostics");
    let published = &published.expect("diagnostics")["params"]["diagnostics"];
    assert_eq!(
        published[0]["range"]["start"],
        json!({ "line": 2, "character": 15 })
    );
}

#[test]
fn requests_before_and_after_the_service_are_errors() {
    let early = br#"{"jsonrpc":"2.0","id":"early","method":"shutdown"}"#;
    let again =
        br#"{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"capabilities":{}}}"#;
    let late = br#"{"jsonrpc":"2.0","id":"late","method":"textDocument/hover","params":{}}"#;
    let twice = br#"{"jsonrpc":"2.0","id":"twice","method":"shutdown"}"#;
    let (ended, sent) = conversation(&[early, HELLO, READY, again, SHUTDOWN, late, twice, EXIT]);
    assert_eq!(ended, Ended::ShutDown);
    assert_eq!(code(&sent, &json!("early")), Some(-32002));
    assert_eq!(code(&sent, &json!(1)), None);
    for id in ["again", "late", "twice"] {
        assert_eq!(code(&sent, &json!(id)), INVALID_REQUEST, "{id}");
    }
    assert_eq!(code(&sent, &json!(2)), None);
}

#[test]
fn an_exit_without_a_shutdown_is_told_from_one_with_it() {
    assert_eq!(
        conversation(&[HELLO, READY, SHUTDOWN, EXIT]).0,
        Ended::ShutDown
    );
    assert_eq!(conversation(&[HELLO, READY, EXIT]).0, Ended::Exited);
    assert_eq!(conversation(&[EXIT]).0, Ended::Exited);
    assert_eq!(conversation(&[HELLO, READY]).0, Ended::Closed);
    assert_eq!(conversation(&[HELLO, SHUTDOWN]).0, Ended::Closed);
    assert_eq!(conversation(&[]).0, Ended::Closed);
    // `initialized` is not needed.
    let hover = br#"{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{}}"#;
    let (ended, sent) = conversation(&[HELLO, hover, SHUTDOWN, EXIT]);
    assert_eq!(
        (ended, code(&sent, &json!(3))),
        (Ended::ShutDown, Some(-32602))
    );
}

#[test]
fn a_stream_without_headers_ends_the_server() {
    for input in [
        "hello world\r\n\r\n",
        "X-Foo: 1\r\n\r\n{}",
        "Content-Length: abc\r\n\r\n",
    ] {
        assert!(streamed(input.as_bytes()).0.is_err(), "{input}");
    }
}
