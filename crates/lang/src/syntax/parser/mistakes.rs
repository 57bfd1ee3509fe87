//! Mistakes that are made often, each with the words that mend it.

use super::super::ast::{Expr, ExprKind, Name, Stmt, TypeExpr};
use super::super::token::{KEYWORDS, Kind};
use super::{Parse, Parser, Stop};
use crate::diagnostic::Diagnostic;
use crate::hints::nearest;
use crate::hir::BinaryOp;
use crate::source::Span;

/// Words that open a statement in other languages, and what to write instead.
const FOREIGN_WORDS: &[(&str, &str)] = &[
    (
        "thread",
        "write `process` outside of all blocks, or `spawn { … }` in one",
    ),
    ("fork", "write `spawn { … }`"),
    ("go", "write `spawn { … }`"),
    ("async", "write `spawn { … }`"),
    (
        "parallel",
        "write one `process` for each part, or `spawn { … }`",
    ),
    ("par", "write one `process` for each part, or `spawn { … }`"),
    (
        "cobegin",
        "write one `process` for each part, or `spawn { … }`",
    ),
    ("run", "write `spawn p(…)`"),
    ("start", "write `spawn p(…)`"),
    ("active", "write `process`"),
    ("proctype", "write `process`, or `proc` for a procedure"),
    ("mutex", "write `lock m` outside of all blocks"),
    (
        "semaphore",
        "write `lock m`, or an `int` with `await s > 0`",
    ),
    ("acquire", "write `lock(m)`"),
    ("release", "write `unlock(m)`"),
    ("synchronized", "write `lock(m); …; unlock(m)`"),
    ("wait", "write `await e` or `e |> s`"),
    ("when", "write `e |> s`"),
    (
        "signal",
        "assign a shared variable that the other process awaits",
    ),
    (
        "notify",
        "assign a shared variable that the other process awaits",
    ),
    (
        "yield",
        "nothing is needed: every step may be followed by another process's",
    ),
    (
        "sleep",
        "nothing is needed: there is no time here, and any process may be slow",
    ),
    (
        "print",
        "a program prints nothing; `observe` and `assert` say what matters",
    ),
    (
        "printf",
        "a program prints nothing; `observe` and `assert` say what matters",
    ),
    (
        "println",
        "a program prints nothing; `observe` and `assert` say what matters",
    ),
    (
        "return",
        "a procedure gives no value; assign a shared variable, and use `if` to leave early",
    ),
    (
        "break",
        "there is no `break`: put the reason to stop into the loop's condition",
    ),
    (
        "continue",
        "there is no `continue`: put the rest of the body into an `if`",
    ),
    ("goto", "there is no `goto`: use `while` and `if`"),
    ("do", "write `while e { … }` or `e |>* s`"),
    ("loop", "write `while true { … }`"),
    ("repeat", "write `while e { … }`"),
    ("until", "write `while !e { … }`"),
    ("foreach", "write `for i in a..b { … }`"),
    ("elif", "write `else if`"),
    ("elsif", "write `else if`"),
    ("elseif", "write `else if`"),
    ("switch", "write `if … { … } else if … { … }`"),
    ("match", "write `if … { … } else if … { … }`"),
    ("case", "write `if … { … } else if … { … }`"),
    ("function", "write `proc p() { … }` outside of all blocks"),
    ("fn", "write `proc p() { … }` outside of all blocks"),
    ("def", "write `proc p() { … }` outside of all blocks"),
    ("func", "write `proc p() { … }` outside of all blocks"),
    ("void", "write `proc p() { … }` outside of all blocks"),
    ("procedure", "write `proc p() { … }` outside of all blocks"),
    ("global", "write `var x: int = 0` outside of all blocks"),
    ("shared", "write `var x: int = 0` outside of all blocks"),
    ("volatile", "write `var x: int = 0` outside of all blocks"),
    ("local", "write `let x = 0`"),
    ("begin", "write `{`"),
    ("nop", "write `skip`"),
    ("pass", "write `skip`"),
    ("abort", "write `error \"why\"`"),
    ("exit", "write `end`"),
    ("stop", "write `end`"),
    ("throw", "write `error \"why\"`"),
    ("raise", "write `error \"why\"`"),
    ("import", "a program is one file"),
    ("include", "a program is one file"),
    ("post", "write `ensures`"),
    ("pre", "write `requires`"),
    ("property", "write `invariant` or `ensures`"),
    ("always", "write `invariant`"),
    (
        "init",
        "give the variable its value where it is declared: `var x: int = 0`",
    ),
];

/// What to write instead of a word of another language, or of a misspelt one.
fn advice(word: &str, known: impl Fn(Kind) -> bool) -> Option<String> {
    if let Some(advice) = foreign(word) {
        return Some(advice.to_owned());
    }
    let keywords = KEYWORDS.iter().filter(|(_, kind)| known(*kind));
    let near = nearest(word, keywords.map(|(text, _)| *text))?;
    Some(format!("did you mean `{near}`?"))
}

/// What to write instead of a word of another language.
pub(crate) fn foreign(word: &str) -> Option<&'static str> {
    let found = FOREIGN_WORDS.iter().find(|(foreign, _)| *foreign == word);
    found.map(|(_, advice)| *advice)
}

fn opens_any_statement(kind: Kind) -> bool {
    kind.opens_statement() || kind == Kind::If
}

impl<'s> Parser<'s> {
    /// A condition: an expression where `=` and `:=` are taken for `==`.
    pub(super) fn condition(&mut self) -> Parse<Expr<'s>> {
        let test = self.expr()?;
        let token = self.token();
        if !matches!(token.kind, Kind::Equals | Kind::Assign) {
            return Ok(test);
        }
        let shown = token.kind.describe();
        self.report(
            Diagnostic::new("M0106", token.span, format!("{shown} does not compare"))
                .label("expected `==`")
                .help("write `==` to compare; an assignment is a statement of its own"),
        );
        self.bump();
        let rest = self.expr()?;
        Ok(Expr {
            kind: ExprKind::Poison,
            span: test.span.to(rest.span),
            depth: 1,
        })
    }

    /// `x = e` as a statement; goes on as if it were `:=`.
    pub(super) fn equals_for_assignment(&mut self) {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0105", span, "`=` does not assign")
                .label("expected `:=`")
                .help("write `:=` to assign, `==` to compare"),
        );
    }

    /// `var x: int := 0` and the like; goes on as if it were `=`.
    pub(super) fn assign_for_equals(&mut self) {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0105", span, "a declaration gives its value with `=`")
                .label("expected `=`")
                .help("`:=` is for assignments later on"),
        );
    }

    pub(super) fn missing_semicolon(&mut self) {
        let previous = self.previous();
        let next = self.token();
        let string = self.text(previous);
        let open_string = string.starts_with('"') && (string.len() < 2 || !string.ends_with('"'));
        if self.already_reported(next) || open_string {
            return;
        }
        self.report(
            Diagnostic::new("M0102", previous, "a `;` is missing")
                .label("expected `;` after this")
                .related(next.span, "the next statement begins here")
                .help("statements in a block are separated by `;`"),
        );
    }

    /// What follows a statement and can neither belong to it nor open the next.
    pub(super) fn wrong_tail(&mut self) {
        let previous = self.token_at(self.pos - 1);
        if self.at(Kind::Assign) && matches!(previous.kind, Kind::Skip | Kind::End | Kind::Join) {
            self.word_as_name(previous.span, "a name");
            return;
        }
        let help = match self.kind() {
            Kind::Else => Some("`else` follows the `}` of an `if` without `;`".to_owned()),
            Kind::Guard | Kind::GuardLoop => {
                Some("a guard is an expression: `e |> s`; a choice is `s <| e |> t`".to_owned())
            }
            _ => None,
        };
        self.unexpected_with("`;` or the end of the block", help);
    }

    pub(super) fn wrong_item_tail(&mut self) {
        if !self.already_reported(self.token()) && self.kind() != Kind::Eof {
            self.not_an_item();
        }
    }

    /// Whether `+=`, `++` or the like begins here, which no expression contains.
    pub(super) fn at_foreign_assignment(&self) -> bool {
        self.foreign_assignment().is_some()
    }

    fn foreign_assignment(&self) -> Option<Kind> {
        let (first, second) = (self.token(), self.token_at(self.pos + 1));
        let adjacent = first.span.end == second.span.start;
        let op = first.kind;
        if !adjacent
            || !matches!(
                op,
                Kind::Plus | Kind::Minus | Kind::Star | Kind::Slash | Kind::Percent
            )
        {
            return None;
        }
        let doubled = matches!(op, Kind::Plus | Kind::Minus)
            && second.kind == op
            && matches!(
                self.kind_after(2),
                Kind::Semi | Kind::RBrace | Kind::RParen | Kind::Eof
            );
        (second.kind == Kind::Equals || doubled).then_some(second.kind)
    }

    /// An expression where a statement is expected.
    pub(super) fn no_statement(&mut self, expr: Expr<'s>) -> Stop {
        if let Some(second) = self.foreign_assignment() {
            let (first, second_span) = (self.token(), self.token_at(self.pos + 1).span);
            let span = first.span.to(second_span);
            let name = self.text(expr.span).to_owned();
            let op = self.text(first.span).to_owned();
            let value = if second == Kind::Equals { "…" } else { "1" };
            return self.report(
                Diagnostic::new("M0108", span, format!("there is no `{}`", self.text(span)))
                    .label("expected `:=`")
                    .help(format!("write `{name} := {name} {op} {value}`")),
            );
        }
        if self.already_reported(self.token()) {
            return Stop::Unexpected;
        }
        if self.at(Kind::RParen) && self.guard_sign_missing() {
            let text = self.text(expr.span);
            return self.report(
                Diagnostic::new("M0107", expr.span, "an expression is not a statement")
                    .label("expected a statement, or `|>` after the parenthesis")
                    .help(format!("write `({text}) |> …` to wait for it")),
            );
        }
        match &expr.kind {
            ExprKind::Poison => Stop::Unexpected,
            ExprKind::Name(name) => self.lonely_name(*name),
            ExprKind::Call(name, _) => {
                let text = name.text;
                match advice(text, opens_any_statement) {
                    Some(help) => self.foreign_word(*name, help),
                    None => self.unexpected("`;`"),
                }
            }
            ExprKind::Binary(BinaryOp::Eq, sign, left, right) => {
                let (sign, left, right) = (*sign, self.text(left.span), self.text(right.span));
                let help = format!(
                    "write `{left} := {right}` to assign, `await {left} == {right}` to wait"
                );
                self.report(
                    Diagnostic::new("M0107", sign, "a comparison is not a statement")
                        .label("this compares, and nothing is done with the result")
                        .help(help),
                )
            }
            _ => self.report(
                Diagnostic::new("M0107", expr.span, "an expression is not a statement")
                    .label("a value with which nothing is done")
                    .help("write `x := e` to keep it, `await e` or `e |> s` to wait for it"),
            ),
        }
    }

    /// Whether what follows `( e )` could be what it guards.
    fn guard_sign_missing(&self) -> bool {
        let (close, next) = (self.token(), self.token_at(self.pos + 1));
        let between = Span {
            start: close.span.end,
            end: next.span.start,
        };
        let follows =
            next.kind.opens_statement() || matches!(next.kind, Kind::Ident | Kind::LBrace);
        follows && !self.text(between).contains('\n')
    }

    fn lonely_name(&mut self, name: Name<'s>) -> Stop {
        if let Some(help) = advice(name.text, opens_any_statement) {
            return self.foreign_word(name, help);
        }
        let next = self.token();
        if next.kind == Kind::Colon {
            let help = format!("write `let {} = …`; there are no labels", name.text);
            return self.unexpected_with("`:=`", Some(help));
        }
        self.report(
            Diagnostic::new("M0107", name.span, "a name alone is not a statement")
                .label("expected a statement")
                .help(format!(
                    "write `{0} := …` to assign, `{0}()` to call a procedure",
                    name.text
                )),
        )
    }

    fn foreign_word(&mut self, name: Name<'s>, help: String) -> Stop {
        self.report(
            Diagnostic::new(
                "M0109",
                name.span,
                format!("there is no statement `{}`", name.text),
            )
            .label("unknown statement")
            .help(help),
        )
    }

    /// A token that can open no statement.
    pub(super) fn not_a_statement(&mut self) -> Stop {
        let token = self.token();
        if self.already_reported(token) {
            return Stop::Unexpected;
        }
        let text = self.text(token.span);
        match token.kind {
            Kind::Var | Kind::Const => {
                let name = match self.token_at(self.pos + 1) {
                    next if next.kind == Kind::Ident => self.text(next.span),
                    _ => "x",
                };
                self.misplaced(
                    format!("`{text}` stands inside a block"),
                    format!("write `let {name} = …` for a local; shared variables are declared outside of all blocks"),
                )
            }
            kind if kind.opens_item() => self.misplaced(
                format!("`{text}` stands inside a block"),
                "move it out of all blocks".to_owned(),
            ),
            Kind::TypeName => self.type_before_name("let "),
            Kind::Else => {
                let help = "`else` follows the `}` of its `if`, without `;`".to_owned();
                self.unexpected_with("a statement", Some(help))
            }
            Kind::Reserved => self.reserved(),
            _ => self.unexpected("a statement"),
        }
    }

    /// A word of the language where a name is needed, reported once for each word.
    pub(super) fn word_as_name(&mut self, span: Span, what: &str) -> Stop {
        let text = self.text(span);
        if !self.words_reported.insert(text) {
            return Stop::Unexpected;
        }
        self.report(
            Diagnostic::new("M0110", span, format!("`{text}` is a word of the language"))
                .label(format!("expected {what}"))
                .help(format!("choose another name, such as `{text}_`")),
        )
    }

    /// A word that is kept for later, reported once for each word.
    pub(super) fn reserved(&mut self) -> Stop {
        let span = self.token().span;
        let text = self.text(span);
        if !self.words_reported.insert(text) {
            return Stop::Unexpected;
        }
        self.report(
            Diagnostic::new("M0110", span, format!("`{text}` is reserved for later"))
                .label("this word has no meaning yet")
                .help("choose another name"),
        )
    }

    fn misplaced(&mut self, message: String, help: String) -> Stop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0112", span, message)
                .label("not allowed here")
                .help(help),
        )
    }

    /// A token that can open no declaration.
    pub(super) fn not_an_item(&mut self) -> Stop {
        let token = self.token();
        // A `}` too many closed the process early: that was reported.
        if self.already_reported(token) || self.stray_brace {
            return Stop::Unexpected;
        }
        let text = self.text(token.span);
        match token.kind {
            Kind::TypeName => self.type_before_name("var "),
            Kind::Reserved => self.reserved(),
            Kind::Ident => {
                let is_item = |kind: Kind| kind.opens_item() || kind == Kind::Lock;
                let follows_name = matches!(
                    self.kind_after(1),
                    Kind::Ident | Kind::LBrace | Kind::TypeName
                );
                match advice(text, is_item).filter(|_| follows_name) {
                    Some(help) => self.report(
                        Diagnostic::new(
                            "M0109",
                            token.span,
                            format!("there is no declaration `{text}`"),
                        )
                        .label("expected a declaration or a process")
                        .help(help),
                    ),
                    None => self.outside(),
                }
            }
            kind if opens_any_statement(kind) || kind == Kind::LBrace => self.outside(),
            _ => self.unexpected("a declaration or a process"),
        }
    }

    fn outside(&mut self) -> Stop {
        self.misplaced(
            "a statement stands outside of all processes".to_owned(),
            "statements stand inside `process { … }` or `proc p() { … }`".to_owned(),
        )
    }

    /// `int x` for `var x: int`.
    pub(super) fn type_before_name(&mut self, word: &str) -> Stop {
        let token = self.token();
        let ty = self.text(token.span);
        let name = match self.token_at(self.pos + 1) {
            next if next.kind == Kind::Ident => self.text(next.span),
            _ => "x",
        };
        let rest = if word.is_empty() { "" } else { " = 0" };
        let rest = if ty == "bool" && !rest.is_empty() {
            " = false"
        } else {
            rest
        };
        self.report(
            Diagnostic::new("M0113", token.span, "the type follows the name")
                .label("expected a name")
                .help(format!("write `{word}{name}: {ty}{rest}`")),
        )
    }

    /// `var x = 0`.
    pub(super) fn missing_type(&mut self, name: Name<'s>) -> Parse<TypeExpr<'s>> {
        if !matches!(self.kind(), Kind::Equals | Kind::Assign)
            && !self.kind().opens_item()
            && !matches!(self.kind(), Kind::Semi | Kind::Eof)
        {
            return Err(self.unexpected("`:` and a type"));
        }
        Ok(self.no_type(name, "var "))
    }

    pub(super) fn untyped_param(&mut self, name: Name<'s>) -> TypeExpr<'s> {
        self.no_type(name, "")
    }

    fn no_type(&mut self, name: Name<'s>, word: &str) -> TypeExpr<'s> {
        let ty = match self.kind_after(1) {
            Kind::True | Kind::False => "bool",
            _ => "int",
        };
        self.report(
            Diagnostic::new("M0113", name.span, format!("`{}` has no type", name.text))
                .label("expected a type after this name")
                .help(format!("write `{word}{}: {ty}`", name.text)),
        );
        TypeExpr {
            base: None,
            len: None,
            span: name.span,
        }
    }

    pub(super) fn unknown_type(&mut self) {
        let span = self.bump().span;
        let text = self.text(span);
        let types = [
            "bool", "int", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
        ];
        let meant = match text {
            "boolean" | "Bool" | "Boolean" => Some("bool"),
            "integer" | "Integer" | "Int" | "number" | "long" | "nat" | "Nat" => Some("int"),
            "byte" | "char" => Some("u8"),
            "short" => Some("i16"),
            "unsigned" | "uint" => Some("u32"),
            "usize" | "size_t" => Some("u64"),
            _ => nearest(text, types),
        };
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "types are `bool`, `int`, `i8` to `i64`, `u8` to `u64`".to_owned(),
        };
        self.report(
            Diagnostic::new("M0114", span, format!("there is no type `{text}`"))
                .label("expected a type")
                .help(help),
        );
    }

    pub(super) fn second_dimension(&mut self) -> Stop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0119", span, "arrays have one dimension")
                .label("a second index")
                .help("use one array of `n * m` elements and the index `i * m + j`"),
        )
    }

    pub(super) fn constant_with_type(&mut self, name: Name<'s>) -> Stop {
        let help = format!(
            "write `const {} = …`: a constant takes the type of its context",
            name.text
        );
        self.unexpected_with("`=`", Some(help))
    }

    pub(super) fn let_without_value(&mut self, name: Name<'s>) -> Stop {
        let help = format!("a local needs a value: `let {} = 0`", name.text);
        self.unexpected_with("`=`", Some(help))
    }

    pub(super) fn type_of_handle(&mut self, span: Span) {
        self.report(
            Diagnostic::new("M0310", span, "a process has no type that can be written")
                .label("remove this")
                .help("write `let h = spawn …`"),
        );
    }

    pub(super) fn spawn_in_assignment(&mut self) -> Stop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0310", span, "a process cannot be assigned")
                .label("`spawn` is not a value")
                .help("write `let h = spawn …`, and later `join h`"),
        )
    }

    pub(super) fn not_assignable(&mut self, span: Span) -> Stop {
        self.report(
            Diagnostic::new("M0118", span, "this cannot be assigned")
                .label("expected a variable or an element of an array")
                .help("only `x` and `a[i]` can stand left of `:=`"),
        )
    }

    pub(super) fn needs_parentheses(&mut self, what: &str) -> Stop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0111", span, format!("{what} needs parentheses"))
                .label("which of the two is meant is not clear")
                .help("write `s <| e |> (…)` or `(…) <| e |> t`"),
        )
    }

    pub(super) fn lock_without_parentheses(&mut self, word: Kind) -> Stop {
        let word = if word == Kind::Lock { "lock" } else { "unlock" };
        let help = match self.kind() {
            Kind::Ident => format!("write `{word}({})`", self.text(self.token().span)),
            _ => format!("write `{word}(m)`"),
        };
        self.unexpected_with("`(`", Some(help))
    }

    pub(super) fn for_of_c(&mut self) -> Stop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0109", span, "a `for` counts through a range")
                .label("expected a name")
                .help("write `for i in 0..n { … }`"),
        )
    }

    /// A block, or the one statement that stands where it should be.
    pub(super) fn body(&mut self, after: &str) -> Parse<Vec<Stmt<'s>>> {
        if self.at(Kind::LBrace) {
            return self.block(after);
        }
        if self.already_reported(self.token()) {
            return Err(Stop::Unexpected);
        }
        if matches!(self.kind(), Kind::Semi | Kind::RBrace | Kind::Eof) {
            return Err(self.no_block(after));
        }
        if self.at(Kind::Reserved) {
            return Err(self.reserved());
        }
        let span = self.token().span;
        let then = self.at(Kind::Then)
            || (self.at(Kind::Ident) && matches!(self.text(span), "do" | "begin"));
        let help = if then {
            format!("write `{{ … }}` without `{}`", self.text(span))
        } else {
            "put the statement into braces: `{ … }`".to_owned()
        };
        self.report(
            Diagnostic::new("M0116", span, format!("a block is missing after {after}"))
                .label("expected `{`")
                .help(help),
        );
        if then {
            self.bump();
            if self.at(Kind::LBrace) {
                return self.block(after);
            }
            return Err(Stop::Unexpected);
        }
        Ok(vec![self.stmt()?])
    }

    pub(super) fn no_block(&mut self, after: &str) -> Stop {
        self.unexpected(&format!("`{{` after {after}"))
    }

    pub(super) fn no_expression(&mut self) -> Stop {
        let token = self.token();
        let help = match token.kind {
            Kind::Plus => Some("there is no unary `+`: leave it out".to_owned()),
            Kind::Str => Some("strings only stand in `assert` and `error`".to_owned()),
            Kind::LBracket => Some("`[…]` only stands in the declaration of an array".to_owned()),
            Kind::LBrace => Some("there are no sets or records; `( )` groups".to_owned()),
            Kind::Equals | Kind::EqEq if self.pos > 0 => {
                Some("write `:=` to assign, `==` to compare".to_owned())
            }
            Kind::Spawn => Some("write `let h = spawn …` as a statement of its own".to_owned()),
            Kind::Reserved => return self.reserved(),
            Kind::TypeName => Some("there are no conversions between types".to_owned()),
            _ => None,
        };
        self.unexpected_with("an expression", help)
    }
}
