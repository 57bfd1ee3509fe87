//! Messages that name values: `assert e, "client {me} saw {a[i]}"`.

use super::body::BodyChecker;
use super::types::Ty;
use crate::check::hir::{Expr, Message, MessagePart, Type};
use crate::syntax::ast::{self, Name, Text};
use crate::syntax::lexer::escaped;
use mazurka_diagnostics::{Diagnostic, Span};

impl<'s> BodyChecker<'_, 's> {
    /// Parses a message: braces contain a variable, a constant or an element; `{{` is a brace.
    pub(super) fn message(&mut self, text: Text<'s>) -> Message {
        let inner = text.quoted.strip_prefix('"').unwrap_or(text.quoted);
        let inner = inner.strip_suffix('"').unwrap_or(inner);
        let start = text.span.start as usize + (text.quoted.len() - inner.len()).min(1);
        let mut message = Message::default();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(found) = inner[at..].find(['{', '}', '\\']) {
            plain += &inner[at..at + found];
            at += found;
            let rest = &inner[at..];
            let len = match rest.as_bytes() {
                [b'\\', ..] => {
                    let after = rest[1..].chars().next();
                    plain.extend(after.map(escaped));
                    1 + after.map_or(0, char::len_utf8)
                }
                [b'{', b'{', ..] | [b'}', b'}', ..] => {
                    plain += &rest[..1];
                    2
                }
                [b'{', ..] => {
                    let (named, closed) = match rest.find('}') {
                        Some(end) => (&rest[1..end], true),
                        None => (&rest[1..], false),
                    };
                    let place = start + at + 1;
                    let value = if closed {
                        self.named(named, place)
                    } else {
                        self.not_closed(span_of("{", place - 1))
                    };
                    if let Some(expr) = value {
                        let text = std::mem::take(&mut plain);
                        message.parts.push(MessagePart::Text(text));
                        let value = MessagePart::Value(named.to_owned(), expr);
                        message.parts.push(value);
                    }
                    1 + named.len() + usize::from(closed)
                }
                _ => {
                    plain += &rest[..1];
                    1
                }
            };
            at += len;
        }
        plain += &inner[at..];
        message.parts.push(MessagePart::Text(plain));
        message
    }

    /// Parses `x` or `a[i]`, which begins at `start` in the source. Returns `None` after reporting
    /// a mistake.
    fn named(&mut self, text: &'s str, start: usize) -> Option<Expr> {
        let (name, index) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, index)) => (name, Some(index)),
            None => (text, None),
        };
        let index = match index {
            None => None,
            Some(index) => match word(index, span_of(index, start + name.len() + 1)) {
                Some(index) => Some(Box::new(index)),
                None => return self.not_named(span_of(text, start)),
            },
        };
        let span = span_of(text, start);
        let name = match word(name, span_of(name, start)).map(|name| name.kind) {
            Some(ast::ExprKind::Name(name)) => name,
            _ => return self.not_named(span),
        };
        let depth = 2;
        let kind = match index {
            Some(index) => ast::ExprKind::Index(name, index),
            None => ast::ExprKind::Name(name),
        };
        let typed = self.expr_in(&ast::Expr { kind, span, depth }, "a message");
        match typed.ty {
            Ty::Poison => None,
            Ty::Literal => Some(self.coerce(typed, Type::Int)),
            Ty::Known(_) => Some(typed.expr),
        }
    }

    fn not_closed(&mut self, span: Span) -> Option<Expr> {
        self.report(
            Diagnostic::new("M0419", span, "a brace in a message is not closed")
                .label("expected a value and `}` after this, as in `{x}`")
                .help("write `{{` for a brace"),
        );
        None
    }

    fn not_named(&mut self, span: Span) -> Option<Expr> {
        self.report(
            Diagnostic::new("M0419", span, "braces in a message name a value")
                .label("expected a variable or a constant, as in `{x}` or `{a[i]}`")
                .help("write `{{` for a brace"),
        );
        None
    }
}

/// Returns the span of a text that begins at `start` in the source.
fn span_of(text: &str, start: usize) -> Span {
    Span {
        start: start as u32,
        end: (start + text.len()) as u32,
    }
}

/// Parses a name or a number.
fn word<'s>(text: &'s str, span: Span) -> Option<ast::Expr<'s>> {
    let first = text.chars().next()?;
    let kind = match first {
        '0'..='9' => ast::ExprKind::Int(text.parse().ok()?),
        'a'..='z' | 'A'..='Z' | '_' => {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !text.chars().all(plain) {
                return None;
            }
            ast::ExprKind::Name(Name { text, span })
        }
        _ => return None,
    };
    let depth = 1;
    Some(ast::Expr { kind, span, depth })
}
