//! Messages on a stream of bytes, as the protocol frames them: a header with the length, then JSON.
//!
//! A payload that is not a valid message is answered with an error, and the server continues. A
//! stream without valid headers ends the server, because it cannot be divided into messages.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, never, select, unbounded};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId};
use lsp_types::notification::{Exit, Notification as NotificationType};
use serde_json::{Value, json};

use crate::{Connection, Ended, Environment, serve};

/// The longest header, in bytes.
const LONGEST_HEADER: usize = 4096;

/// Answers an editor over two streams of bytes, until the editor ends the connection. `read`
/// returns the next bytes from the editor, and no bytes at the end; `write` sends bytes to the
/// editor. Fails if `read` or `write` fails, or if the input has no valid headers.
pub fn converse(
    read: impl FnMut() -> Result<Vec<u8>, String> + Send,
    write: impl FnMut(&[u8]) -> Result<(), String> + Send,
    environment: Arc<dyn Environment>,
) -> Result<Ended, String> {
    let (arrived, receiver) = unbounded();
    let (sender, leaving) = unbounded();
    let (refusing, refused) = unbounded();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || read_messages(read, &arrived, &refusing));
        let writer = scope.spawn(move || write_messages(write, &leaving, &refused));
        // The reader ends after `exit`, and the writer when the connection is dropped.
        let ended = serve(&Connection { sender, receiver }, environment);
        let joined = |result: std::thread::Result<Result<(), String>>| {
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        joined(reader.join())?;
        joined(writer.join())?;
        Ok(ended)
    })
}

/// Reads messages until `exit` or the end of the stream.
fn read_messages(
    mut read: impl FnMut() -> Result<Vec<u8>, String>,
    arrived: &Sender<Message>,
    refusing: &Sender<Value>,
) -> Result<(), String> {
    let mut frames = Frames::default();
    while let Some(payload) = frames.payload(&mut read)? {
        match parsed(&payload) {
            Ok(Some(message)) => {
                let is_exit = matches!(&message, Message::Notification(notification) if notification.method == Exit::METHOD);
                if arrived.send(message).is_err() || is_exit {
                    break;
                }
            }
            Ok(None) => {}
            Err(refusal) => {
                // If the editor is gone, this fails, and so does the next read.
                let _ = refusing.send(refusal);
            }
        }
    }
    Ok(())
}

/// Writes messages until the server has ended.
fn write_messages(
    mut write: impl FnMut(&[u8]) -> Result<(), String>,
    leaving: &Receiver<Message>,
    refused: &Receiver<Value>,
) -> Result<(), String> {
    let none = never();
    let mut open = refused;
    loop {
        select! {
            recv(leaving) -> message => match message {
                Ok(message) => {
                    let mut bytes = Vec::new();
                    message.write(&mut bytes).map_err(|error| error.to_string())?;
                    write(&bytes)?;
                }
                Err(_) => break,
            },
            recv(open) -> refusal => match refusal {
                Ok(refusal) => write(&framed(&refusal))?,
                Err(_) => open = &none,
            },
        }
    }
    let mut rest = refused.try_iter();
    rest.try_for_each(|refusal| write(&framed(&refusal)))
}

fn framed(message: &Value) -> Vec<u8> {
    let text = message.to_string();
    format!("Content-Length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

/// Divides a stream of bytes into payloads.
#[derive(Default)]
struct Frames {
    /// The bytes that were read and do not belong to a returned payload.
    bytes: Vec<u8>,
    /// If `bytes` starts with a complete header: the length of the header, and the length of the
    /// payload after it.
    header: Option<(usize, usize)>,
}

impl Frames {
    /// Returns the next payload; `None` at the end of the stream.
    fn payload(
        &mut self,
        read: &mut impl FnMut() -> Result<Vec<u8>, String>,
    ) -> Result<Option<Vec<u8>>, String> {
        loop {
            if self.header.is_none() {
                self.header = self.read_header()?;
            }
            let ends = self
                .header
                .map(|(start, length)| (start, start.saturating_add(length)));
            if let Some((start, end)) = ends.filter(|(_, end)| *end <= self.bytes.len()) {
                let payload = self.bytes[start..end].to_vec();
                self.bytes.drain(..end);
                self.header = None;
                return Ok(Some(payload));
            }
            let more = read()?;
            if more.is_empty() {
                return if self.bytes.is_empty() {
                    Ok(None)
                } else {
                    Err("the last message is not complete".to_owned())
                };
            }
            self.bytes.extend(more);
        }
    }

    /// Returns the length of the header and of its payload, if the header is complete.
    fn read_header(&self) -> Result<Option<(usize, usize)>, String> {
        let mut length = None;
        let mut end = 0;
        for line in self.bytes.split_inclusive(|byte| *byte == b'\n') {
            if end > LONGEST_HEADER {
                return Err("a header is too long".to_owned());
            }
            if !line.ends_with(b"\n") {
                break;
            }
            end += line.len();
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end();
            if text.is_empty() {
                let length = length.ok_or("a header has no `Content-Length`")?;
                return Ok(Some((end, length)));
            }
            let (name, value) = text
                .split_once(':')
                .ok_or_else(|| format!("`{text}` is not a line of a header"))?;
            if name.eq_ignore_ascii_case("content-length") {
                let number = value.trim().parse();
                length = Some(number.map_err(|_| format!("`{text}` is not a length"))?);
            }
        }
        if self.bytes.len() > LONGEST_HEADER {
            return Err("a header is too long".to_owned());
        }
        Ok(None)
    }
}

/// Parses a message. Returns `None` for a response of the editor, which the server does not use.
/// The error is the response to send.
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

/// Replaces escapes of half a surrogate pair. Strings of JavaScript may contain such a half, but
/// strings of Rust may not.
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
            // Skip the escaped character, which may be a backslash.
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

    /// Returns the payloads of a text that arrives in pieces of this size.
    fn payloads(text: &str, size: usize) -> Result<Vec<String>, String> {
        let mut pieces = text.as_bytes().chunks(size);
        let mut read = || Ok(pieces.next().unwrap_or_default().to_vec());
        let mut frames = Frames::default();
        let mut found = Vec::new();
        while let Some(payload) = frames.payload(&mut read)? {
            found.push(String::from_utf8(payload).expect("UTF-8"));
        }
        Ok(found)
    }

    #[test]
    fn headers_may_have_other_lines_any_case_and_be_cut_anywhere() {
        let text = "Content-Type: x\r\ncontent-length:2\r\n\r\n{}Content-Length: 1\n\n7";
        for size in 1..=text.len() {
            let expected = ["{}", "7"].map(str::to_owned).to_vec();
            assert_eq!(payloads(text, size), Ok(expected), "{size}");
        }
        let long = "x".repeat(LONGEST_HEADER + 1);
        for wrong in [
            "X-Foo: 1\r\n\r\n",
            "hello\r\n\r\n",
            "Content-Length: -5\r\n\r\n",
            "Content-Length: 99999999999999999999\r\n\r\n",
            "Content-Length: 5\r\n\r\n{}",
            "Content-Length: 5",
            &long,
        ] {
            assert!(payloads(wrong, 7).is_err(), "{wrong}");
        }
    }
}
