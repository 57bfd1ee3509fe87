//! Messages on a stream of bytes, as the protocol frames them: a header with the length, then JSON.
//!
//! A payload that is no message is answered with an error and does not end the server. A stream
//! without headers cannot be divided into messages, so it does.

use std::io::{self, BufRead, Read, Write};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, never, select, unbounded};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId};
use lsp_types::notification::{Exit, Notification as Told};
use serde_json::{Value, json};

use crate::{Connection, Ended, Environment, serve};

/// The longest line of a header.
const LONGEST_HEADER: u64 = 4096;

/// Answers an editor that writes to one stream and reads from another, until it ends the
/// connection. Fails if the streams fail, or if the input has no headers.
pub fn converse(
    input: impl BufRead + Send,
    output: impl Write + Send,
    environment: Arc<dyn Environment>,
) -> io::Result<Ended> {
    let (arrived, receiver) = unbounded();
    let (sender, leaving) = unbounded();
    let (refusing, refused) = unbounded();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || read_messages(input, &arrived, &refusing));
        let writer = scope.spawn(move || write_messages(output, &leaving, &refused));
        // The reader ends after `exit`, and the writer when the connection is dropped.
        let ended = serve(&Connection { sender, receiver }, environment);
        let joined = |result: std::thread::Result<io::Result<()>>| {
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        joined(reader.join())?;
        joined(writer.join())?;
        Ok(ended)
    })
}

/// Reads messages until `exit` or the end of the stream.
fn read_messages(
    mut input: impl BufRead,
    arrived: &Sender<Message>,
    refusing: &Sender<Value>,
) -> io::Result<()> {
    while let Some(payload) = read_payload(&mut input)? {
        match parsed(&payload) {
            Ok(Some(message)) => {
                let is_exit =
                    matches!(&message, Message::Notification(told) if told.method == Exit::METHOD);
                if arrived.send(message).is_err() || is_exit {
                    break;
                }
            }
            Ok(None) => {}
            Err(refusal) => {
                // If the editor is gone, the next read fails.
                let _ = refusing.send(refusal);
            }
        }
    }
    Ok(())
}

/// Writes messages until the server has ended.
fn write_messages(
    mut output: impl Write,
    leaving: &Receiver<Message>,
    refused: &Receiver<Value>,
) -> io::Result<()> {
    let none = never();
    let mut refused = refused;
    loop {
        select! {
            recv(leaving) -> message => match message {
                Ok(message) => message.write(&mut output)?,
                Err(_) => break,
            },
            recv(refused) -> refusal => match refusal {
                Ok(refusal) => write_payload(&mut output, &refusal)?,
                Err(_) => refused = &none,
            },
        }
    }
    refused
        .try_iter()
        .try_for_each(|refusal| write_payload(&mut output, &refusal))
}

fn write_payload(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

/// Reads a header and the payload after it; `None` at the end of the stream.
fn read_payload(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut length = None;
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        let most = &mut input.take(LONGEST_HEADER);
        if most.read_until(b'\n', &mut line)? == 0 && number == 0 {
            return Ok(None);
        }
        if !line.ends_with(b"\n") {
            return Err(wrong("a header is not complete".to_owned()));
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        if text.is_empty() {
            break;
        }
        let (name, value) = text
            .split_once(':')
            .ok_or_else(|| wrong(format!("`{text}` is not a line of a header")))?;
        if name.eq_ignore_ascii_case("content-length") {
            let number = value.trim().parse::<u64>();
            length = Some(number.map_err(|_| wrong(format!("`{text}` is not a length")))?);
        }
    }
    let length = length.ok_or_else(|| wrong("a header has no `Content-Length`".to_owned()))?;
    let mut payload = Vec::new();
    input.take(length).read_to_end(&mut payload)?;
    if (payload.len() as u64) < length {
        return Err(wrong("the last message is not complete".to_owned()));
    }
    Ok(Some(payload))
}

/// Parses a message; `None` if it is an answer, which the server does not use. The error is the
/// answer to send.
fn parsed(payload: &[u8]) -> Result<Option<Message>, Value> {
    let unreadable = |why: String| refusal(Value::Null, ErrorCode::ParseError, &why);
    let text = std::str::from_utf8(payload);
    let text = text.map_err(|error| unreadable(format!("the message is not UTF-8: {error}")))?;
    let value: Value = serde_json::from_str(text)
        .or_else(|error| serde_json::from_str(&without_lone_surrogates(text)).map_err(|_| error))
        .map_err(|error| unreadable(format!("the message is not JSON: {error}")))?;
    let invalid = |id: Option<Value>, why: &str| {
        let id = id.unwrap_or_default();
        Err(refusal(id, ErrorCode::InvalidRequest, why))
    };
    let Value::Object(mut message) = value else {
        return invalid(None, "a message is one object; batches are not supported");
    };
    let params = message.remove("params").unwrap_or_default();
    let (method, id) = (message.remove("method"), message.remove("id"));
    match (method, id) {
        (Some(Value::String(method)), None) => Ok(Some(Notification { method, params }.into())),
        (Some(Value::String(method)), Some(id)) => match request_id(&id) {
            Some(id) => Ok(Some(Request { id, method, params }.into())),
            None => invalid(Some(id), "an id is a text or an integer of 32 bits"),
        },
        (None, Some(_)) if message.contains_key("result") || message.contains_key("error") => {
            Ok(None)
        }
        (Some(_), id) => invalid(id, "the `method` is a text"),
        (None, id) => invalid(id, "a message has a `method`, a `result` or an `error`"),
    }
}

fn request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::String(text) => Some(text.clone().into()),
        _ => Some(i32::try_from(id.as_i64()?).ok()?.into()),
    }
}

fn refusal(id: Value, code: ErrorCode, why: &str) -> Value {
    let error = json!({ "code": code as i32, "message": why });
    json!({ "jsonrpc": "2.0", "id": id, "error": error })
}

/// Replaces escapes of one half of a surrogate pair without the other half: strings of JavaScript
/// may contain them, texts of Rust may not.
fn without_lone_surrogates(text: &str) -> String {
    let code = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let is_high = |code: Option<u32>| code.is_some_and(|code| (0xd800..0xdc00).contains(&code));
    let is_low = |code: Option<u32>| code.is_some_and(|code| (0xdc00..0xe000).contains(&code));
    let mut kept = String::with_capacity(text.len());
    let (mut copied, mut at) = (0, 0);
    while let Some(next) = text[at..].find('\\') {
        at += next;
        let first = code(at);
        if is_high(first) && is_low(code(at + 6)) {
            at += 12;
        } else if is_high(first) || is_low(first) {
            kept += &text[copied..at];
            kept += "\\ufffd";
            at += 6;
            copied = at;
        } else {
            // The escaped character may be a backslash.
            let escaped = text[at + 1..].chars().next();
            at += 1 + escaped.map_or(0, char::len_utf8);
        }
    }
    kept + &text[copied..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_pair_becomes_the_replacement_character() {
        for (text, expected) in [
            (r#""\ud83d""#, r#""\ufffd""#),
            (
                r#""\ude00\ud83d\ude00\ud83dx""#,
                r#""\ufffd\ud83d\ude00\ufffdx""#,
            ),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \\\ud83d""#, r#""\\ud83d \\\ufffd""#),
            (r#""▷\▷\ud83""#, r#""▷\▷\ud83""#),
        ] {
            assert_eq!(without_lone_surrogates(text), expected, "{text}");
        }
    }

    #[test]
    fn a_header_may_have_other_lines_and_any_case() {
        let mut input: &[u8] =
            b"Content-Type: x\r\ncontent-length:2\r\n\r\n{}Content-Length: 1\n\n7";
        assert_eq!(
            read_payload(&mut input).expect("a payload"),
            Some(b"{}".to_vec())
        );
        assert_eq!(
            read_payload(&mut input).expect("a payload"),
            Some(b"7".to_vec())
        );
        assert_eq!(read_payload(&mut input).expect("the end"), None);
        for wrong in [
            "X-Foo: 1\r\n\r\n",
            "hello\r\n\r\n",
            "Content-Length: -5\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n",
            "Content-Length: 5\r\n\r\n{}",
            "Content-Length: 5",
        ] {
            assert!(read_payload(&mut wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
