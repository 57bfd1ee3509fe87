//! Writes values as text, for `toString` and for messages.

use mazurka_core::ProcessId;

use crate::arithmetic::written;
use crate::code::Code;
use crate::heap::Names;
use crate::value::{Data, Value};

/// Limit on the length of strings, in bytes. Longer strings would exhaust the memory.
pub(crate) const MOST: usize = 1 << 22;

/// Limit on the length of a value in messages, in bytes. A value whose parts are shared may be much
/// longer as text than in memory.
const MOST_SHOWN: usize = 20_000;

/// Writes a value as `toString` does: strings unquoted, strings within other values quoted, no
/// blanks, and lists, sets and maps by their elements.
pub(crate) fn write(into: &mut String, value: &Value, code: &Code, names: &Names) {
    match value {
        Value::Text(text) => into.push_str(text),
        other => write_inner(into, other, MOST, (code, names)),
    }
}

/// Writes a value as in the source, with quoted strings. Stops soon after `most` bytes.
fn write_inner(into: &mut String, value: &Value, most: usize, (code, names): (&Code, &Names)) {
    /// A piece that remains to be written.
    enum PendingText {
        Value(Value),
        /// The remaining elements of a list, set or map, and its constructor for further elements.
        Rest(Value, u32),
        Sign(&'static str),
    }
    // An explicit stack, so that deep values do not overflow the call stack.
    let mut pending = vec![PendingText::Value(value.clone())];
    while let Some(piece) = pending.pop().filter(|_| into.len() <= most) {
        let value = match piece {
            PendingText::Sign(sign) => {
                into.push_str(sign);
                continue;
            }
            PendingText::Rest(rest, cons) => {
                if let Value::Data(data) = &rest
                    && data.constructor == cons
                {
                    into.push(',');
                    pending.push(PendingText::Rest(data.parts[1].clone(), cons));
                    pending.push(PendingText::Value(data.parts[0].clone()));
                } else {
                    into.push(']');
                }
                continue;
            }
            PendingText::Value(value) => value,
        };
        match &value {
            Value::Unit => into.push_str("Unit"),
            Value::Bool(value) => into.push_str(if *value { "True" } else { "False" }),
            Value::Text(text) => {
                into.push('"');
                into.push_str(&text.replace('"', "\\\""));
                into.push('"');
            }
            Value::Null => into.push_str("null"),
            Value::Object(object) => into.push_str(&object_name(*object, code, names)),
            Value::Future(task) => {
                into.push_str("future of ");
                into.push_str(&names.tasks.path(ProcessId(*task)).to_string());
            }
            Value::Function(_) => into.push_str("function"),
            Value::Data(data) => {
                if let Some((start, _, cons)) = listed(data, code) {
                    into.push_str(start);
                    if data.constructor == cons {
                        pending.push(PendingText::Rest(data.parts[1].clone(), cons));
                        pending.push(PendingText::Value(data.parts[0].clone()));
                    } else {
                        into.push(']')
                    }
                    continue;
                }
                into.push_str(&code.constructors[data.constructor as usize].name);
                if !data.parts.is_empty() {
                    into.push('(');
                    pending.push(PendingText::Sign(")"));
                    for (at, part) in data.parts.iter().enumerate().rev() {
                        pending.push(PendingText::Value(part.clone()));
                        if at > 0 {
                            pending.push(PendingText::Sign(","));
                        }
                    }
                }
            }
            number => into.push_str(&written(number).unwrap_or_default()),
        }
    }
}

/// Returns the notation of a list, a set or a map: the text before its elements, and the
/// constructors of an empty value and of a value with one more element. Returns `None` for other
/// data.
fn listed(data: &Data, code: &Code) -> Option<(&'static str, u32, u32)> {
    let kinds = code.exceptions.lists.iter().copied();
    { kinds }.find(|(_, nil, cons)| [*nil, *cons].contains(&data.constructor))
}

/// Returns a value as a string, truncated if it is long.
pub(crate) fn shown(value: &Value, code: &Code, names: &Names) -> String {
    let mut text = String::new();
    write_inner(&mut text, value, MOST_SHOWN, (code, names));
    if text.len() > MOST_SHOWN {
        let mut end = MOST_SHOWN;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Returns the name of an object: its class, its index among the objects of its creator, and the
/// creator if that is not the main block.
pub(crate) fn object_name(object: u32, code: &Code, names: &Names) -> String {
    let name = names.object(object);
    let class = &code.classes[name.class as usize].name;
    match name.creator {
        _ if name.number == u32::MAX => "main".to_owned(),
        ProcessId(0) => format!("{class}{}", name.number + 1),
        creator => format!("{class}{}@{}", name.number + 1, names.tasks.path(creator)),
    }
}
