//! The tokens of the language, and what can begin with each of them.

use mazurka_diagnostics::Span;

/// A token and its place. A token with an empty span is a missing bracket, which
/// [`super::brackets`] has inserted and reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

macro_rules! kinds {
    (words { $($word:ident $text:literal,)* } signs { $($sign:ident $show:literal,)* }) => {
        /// The kinds of tokens.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum TokenKind {
            Ident,
            Int,
            Str,
            /// `bool`, `int`, `i8` … `u64`.
            TypeName,
            /// `at` and `goal`, which are reserved words.
            Reserved,
            /// A token that the lexer has reported.
            Bad,
            Eof,
            $($word,)*
            $($sign,)*
        }

        /// Every keyword with its kind.
        pub(crate) const KEYWORDS: &[(&str, TokenKind)] = &[$(($text, TokenKind::$word),)*];

        impl TokenKind {
            /// Returns the name of a token in messages.
            pub(crate) fn describe(self) -> &'static str {
                match self {
                    TokenKind::Ident => "a name",
                    TokenKind::Int => "a number",
                    TokenKind::Str => "a string",
                    TokenKind::TypeName => "a type",
                    TokenKind::Reserved => "a reserved word",
                    TokenKind::Bad => "something unknown",
                    TokenKind::Eof => "the end of the file",
                    $(TokenKind::$word => concat!("`", $text, "`"),)*
                    $(TokenKind::$sign => concat!("`", $show, "`"),)*
                }
            }
        }
    };
}

kinds! {
    words {
        Var "var", Lock "lock", Const "const", Proc "proc", Requires "requires",
        Invariant "invariant", Ensures "ensures", Observe "observe", Allows "allows", Expects "expects", Atomicity "atomicity",
        Always "always", Eventually "eventually", InfinitelyOften "infinitely_often",
        Whenever "whenever", LeadsTo "leads_to", Prove "prove", Process "process", Skip "skip", End "end", Await "await", If "if", Then "then",
        Else "else", While "while", For "for", In "in", Let "let", Spawn "spawn", Join "join",
        Atomic "atomic", Unlock "unlock", Assert "assert", Assume "assume", Error "error",
        Input "input", Choose "choose", True "true", False "false",
    }
    signs {
        LParen "(", RParen ")", LBracket "[", RBracket "]", LBrace "{", RBrace "}",
        Comma ",", Semi ";", Colon ":", Dot ".", DotDot "..", Assign ":=", Equals "=",
        EqEq "==", NotEq "!=", Lt "<", Le "<=", Gt ">", Ge ">=",
        Plus "+", Minus "-", Star "*", Slash "/", Percent "%",
        Amp "&", Pipe "|", Caret "^", Tilde "~", Shl "<<", Shr ">>",
        Not "!", Question "?", AndAnd "&&", OrOr "||", Guard "|>", GuardLoop "|>*", Choice "<|", Parallel "∥",
    }
}

/// Returns the kind of a word.
pub(crate) fn word(text: &str) -> TokenKind {
    match text {
        "and" => TokenKind::AndAnd,
        "or" => TokenKind::OrOr,
        "not" => TokenKind::Not,
        "True" => TokenKind::True,
        "False" => TokenKind::False,
        "at" | "goal" => TokenKind::Reserved,
        "bool" | "int" | "i8" | "i16" | "i32" | "i64" | "u8" | "u16" | "u32" | "u64" => {
            TokenKind::TypeName
        }
        _ => KEYWORDS
            .iter()
            .find(|(word, _)| *word == text)
            .map_or(TokenKind::Ident, |(_, kind)| *kind),
    }
}

impl TokenKind {
    /// Returns the closing bracket for an opening one.
    pub(crate) fn closer(self) -> Option<TokenKind> {
        match self {
            TokenKind::LParen => Some(TokenKind::RParen),
            TokenKind::LBracket => Some(TokenKind::RBracket),
            TokenKind::LBrace => Some(TokenKind::RBrace),
            _ => None,
        }
    }

    /// Whether the token can only start a declaration or a process.
    pub(crate) fn opens_item(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Var | Const
                | Proc
                | Requires
                | Invariant
                | Ensures
                | Observe
                | Allows
                | Expects
                | Atomicity
                | Prove
                | Process
        ) || self.opens_temporal()
    }

    /// Whether the token starts a temporal property.
    pub(crate) fn opens_temporal(self) -> bool {
        use TokenKind::*;
        matches!(self, Always | Eventually | InfinitelyOften | Whenever)
    }

    /// Whether the token can only start a statement. This excludes names, and `if`, which can also
    /// start an expression.
    pub(crate) fn opens_statement(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Skip | End
                | Await
                | While
                | For
                | Let
                | Spawn
                | Join
                | Atomic
                | Lock
                | Unlock
                | Assert
                | Assume
                | Error
        )
    }

    /// Whether an expression can begin with the token.
    pub(crate) fn opens_expression(self) -> bool {
        use TokenKind::*;
        matches!(
            self,
            Ident | Int | LParen | Not | Minus | Tilde | True | False | If | Input | Choose
        )
    }
}
