//! The space between two tokens of one line: a blank or nothing.

use crate::syntax::token::TokenKind;

/// A token, with what its layout depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'s> {
    pub kind: TokenKind,
    pub text: &'s str,
    /// Whether it is a prefix operator, as in `-x`, and not a binary operator.
    pub prefix: bool,
    /// Whether it is a bracket of the `[]` between two alternatives of a `select`.
    pub alternative: bool,
    /// The token before it, on the same line or an earlier line.
    pub previous: Option<TokenKind>,
    /// Whether it follows `previous` without a space.
    pub touches: bool,
}

/// Whether an expression can end with this token.
pub(super) fn ends_operand(kind: TokenKind, text: &str) -> bool {
    match kind {
        TokenKind::Ident => !matches!(text, "return" | "match"),
        TokenKind::Int
        | TokenKind::Str
        | TokenKind::True
        | TokenKind::False
        | TokenKind::TypeName => true,
        TokenKind::RParen | TokenKind::RBracket => true,
        _ => false,
    }
}

/// Whether a token always has an operand on each side.
pub(super) fn is_infix(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(
        kind,
        Assign
            | Equals
            | EqEq
            | NotEq
            | Lt
            | Le
            | Gt
            | Ge
            | Plus
            | Minus
            | Star
            | Slash
            | Percent
            | Amp
            | Pipe
            | Caret
            | Shl
            | Shr
            | AndAnd
            | OrOr
            | Guard
            | GuardLoop
            | Choice
            | Parallel
            | Question
            | Dot
            | DotDot
            | LeadsTo
            | Then
            | In
    )
}

/// Whether two tokens of one line have a blank between them.
pub(super) fn blank(left: &Word<'_>, right: &Word<'_>) -> bool {
    use TokenKind::*;
    // Two words always have a blank between them.
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if left.text.ends_with(is_part) && right.text.starts_with(is_part) {
        return true;
    }
    if left.alternative || right.alternative {
        return !(left.alternative && right.alternative && right.kind == RBracket);
    }
    match (left.kind, right.kind) {
        (_, Comma | Semi | RParen | RBracket | Colon | Dot | DotDot) => false,
        (LParen | LBracket | Dot | DotDot, _) => false,
        // The arrow of `via { x -> y }`.
        (Minus, Gt) => !right.touches,
        _ if left.prefix => left.text.ends_with(char::is_alphabetic),
        (left_kind, LParen) => !calls(left_kind, left),
        (Ident | TypeName | RBracket | RParen | Int, LBracket) => false,
        _ => true,
    }
}

/// Whether there is no blank between this token and a parenthesis after it, as in `f(x)` and
/// `lock(m)`.
fn calls(kind: TokenKind, word: &Word<'_>) -> bool {
    match kind {
        TokenKind::Ident => {
            let is_word = matches!(word.text, "return" | "match" | "of" | "for");
            !is_word && word.previous != Some(TokenKind::Process)
        }
        TokenKind::Lock
        | TokenKind::Unlock
        | TokenKind::Input
        | TokenKind::Choose
        | TokenKind::Reserved => true,
        _ => false,
    }
}
