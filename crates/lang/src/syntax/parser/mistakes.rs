//! Reports frequent mistakes, each with a help text. Where possible, the parser continues as if the
//! text were right: `x = 1` as a statement is reported and read as `x := 1`.

use super::super::ast::{Base, Expr, ExprKind, Name, Stmt, StmtKind, TypeExpr};
use super::super::token::TokenKind;
use super::foreign::{self, advice};
use super::{Parse, ParseStop, Parser};
use crate::check::hir::BinaryOp;
use mazurka_diagnostics::{Diagnostic, Span, mark_after_include};

fn opens_any_statement(kind: TokenKind) -> bool {
    kind.opens_statement() || kind == TokenKind::If
}

impl<'s> Parser<'s> {
    /// Parses a condition. In it, `=` and `:=` are reported and parsed like `==`, but the result is
    /// [`ExprKind::Poison`].
    pub(super) fn condition(&mut self) -> Parse<Expr<'s>> {
        let test = self.expr()?;
        let token = self.token();
        if !matches!(token.kind, TokenKind::Equals | TokenKind::Assign) {
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

    /// Reports `x = e` as a statement; the parser continues as if it were `:=`.
    pub(super) fn equals_for_assignment(&mut self) {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0105", span, "`=` does not assign")
                .label("expected `:=`")
                .help("write `:=` to assign, `==` to compare"),
        );
    }

    /// Reports a declaration with `:=`, such as `var x: int := 0`; the parser continues as if it
    /// were `=`.
    pub(super) fn assign_for_equals(&mut self) {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0105", span, "a declaration gives its value with `=`")
                .label("expected `=`")
                .help("`:=` assigns a variable that is declared already"),
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

    /// Reports a token after a statement: the token does not belong to the statement, and does not
    /// start the next one.
    pub(super) fn wrong_tail(&mut self) {
        let previous = self.token_at(self.pos - 1);
        if self.at(TokenKind::Assign)
            && matches!(
                previous.kind,
                TokenKind::Skip | TokenKind::End | TokenKind::Join
            )
        {
            self.word_as_name(previous.span, "a name");
            return;
        }
        if self.at_foreign_assignment() {
            let span = self.token().span.to(self.token_at(self.pos + 1).span);
            let text = self.text(span);
            self.report(
                Diagnostic::new("M0108", span, format!("there is no `{text}`"))
                    .label("not an operator of this language")
                    .help("write `x + 1` for the value, `x := x + 1` to change it"),
            );
            return;
        }
        let help = match self.kind() {
            TokenKind::Else => Some("`else` follows the `}` of an `if` without `;`".to_owned()),
            TokenKind::Assign => Some("two assignments are separated by `;`".to_owned()),
            TokenKind::Guard | TokenKind::GuardLoop => {
                Some("a guard is an expression: `e |> s`; a choice is `s <| e |> t`".to_owned())
            }
            _ => None,
        };
        self.unexpected_with("`;` or the end of the block", help);
    }

    pub(super) fn wrong_item_tail(&mut self) {
        if !self.already_reported(self.token()) && self.kind() != TokenKind::Eof {
            self.not_an_item();
        }
    }

    /// Whether `+=`, `++` or a similar operator of another language begins here.
    pub(super) fn at_foreign_assignment(&self) -> bool {
        self.foreign_assignment().is_some()
    }

    fn foreign_assignment(&self) -> Option<TokenKind> {
        let (first, second) = (self.token(), self.token_at(self.pos + 1));
        let adjacent = first.span.end == second.span.start;
        let op = first.kind;
        if !adjacent
            || !matches!(
                op,
                TokenKind::Plus
                    | TokenKind::Minus
                    | TokenKind::Star
                    | TokenKind::Slash
                    | TokenKind::Percent
                    | TokenKind::Amp
                    | TokenKind::Pipe
                    | TokenKind::Caret
                    | TokenKind::Shl
                    | TokenKind::Shr
            )
        {
            return None;
        }
        let doubled = matches!(op, TokenKind::Plus | TokenKind::Minus)
            && second.kind == op
            && matches!(
                self.kind_after(2),
                TokenKind::Semi | TokenKind::RBrace | TokenKind::RParen | TokenKind::Eof
            );
        (second.kind == TokenKind::Equals || doubled).then_some(second.kind)
    }

    /// Reports an expression where a statement is expected.
    pub(super) fn no_statement(&mut self, expr: Expr<'s>) -> ParseStop {
        if let Some(second) = self.foreign_assignment() {
            let (first, second_span) = (self.token(), self.token_at(self.pos + 1).span);
            let span = first.span.to(second_span);
            let name = self.quoted(expr.span);
            let op = self.text(first.span).to_owned();
            let value = if second == TokenKind::Equals {
                "…"
            } else {
                "1"
            };
            return self.report(
                Diagnostic::new("M0108", span, format!("there is no `{}`", self.text(span)))
                    .label("expected `:=`")
                    .help(format!("write `{name} := {name} {op} {value}`")),
            );
        }
        if self.already_reported(self.token()) {
            return ParseStop::Unexpected;
        }
        if self.at(TokenKind::RParen) && self.guard_sign_missing() {
            let text = self.quoted(expr.span);
            return self.report(
                Diagnostic::new("M0107", expr.span, "an expression is not a statement")
                    .label("expected a statement, or `|>` after the parenthesis")
                    .help(format!("write `({text}) |> …` to wait for it")),
            );
        }
        match &expr.kind {
            ExprKind::Poison => ParseStop::Unexpected,
            ExprKind::Name(name) => self.lonely_name(*name),
            ExprKind::Call(name, _) => {
                let text = name.text;
                match advice(text, opens_any_statement) {
                    Some(help) => self.foreign_word(*name, help),
                    None => self.unexpected("`;`"),
                }
            }
            ExprKind::Binary(BinaryOp::Eq, sign, left, right) if !self.at(TokenKind::LBrace) => {
                let (left, right) = (self.quoted(left.span), self.quoted(right.span));
                let sign = *sign;
                let help = format!(
                    "write `{left} := {right}` to assign, `await {left} == {right}` to wait"
                );
                self.report(
                    Diagnostic::new("M0107", sign, "a comparison is not a statement")
                        .label("this compares, but the result is not used")
                        .help(help),
                )
            }
            ExprKind::Binary(BinaryOp::Lt, sign, left, right)
                if self.text(Span {
                    start: sign.start,
                    end: sign.start + 2,
                }) == "<-" =>
            {
                let (left, sign) = (self.quoted(left.span), *sign);
                let right = self.quoted(right.span).trim_start_matches('-').trim_start();
                self.report(
                    Diagnostic::new("M0107", sign, "a comparison is not a statement")
                        .label("this compares with a negative number")
                        .help(format!("write `{left} := {right}` to assign")),
                )
            }
            _ if self.at(TokenKind::LBrace) => {
                let text = self.quoted(expr.span);
                self.report(
                    Diagnostic::new("M0107", expr.span, "an expression is not a statement")
                        .label("expected `if` before this, or `|>` after it")
                        .help(format!(
                            "write `if {text} {{ … }}`, or `{text} |> {{ … }}` to wait"
                        )),
                )
            }
            _ => self.report(
                Diagnostic::new("M0107", expr.span, "an expression is not a statement")
                    .label("a value that is not used")
                    .help("write `x := e` to keep it, `await e` or `e |> s` to wait for it"),
            ),
        }
    }

    /// Returns source text for a message, unless it is long.
    fn quoted(&self, span: Span) -> &'s str {
        let text = self.text(span);
        if text.len() > 60 || text.contains('\n') {
            "…"
        } else {
            text
        }
    }

    /// Whether the tokens after `( e )` look like the body of a guard, so that `|>` is missing.
    fn guard_sign_missing(&self) -> bool {
        let (close, next) = (self.token(), self.token_at(self.pos + 1));
        let between = Span {
            start: close.span.end,
            end: next.span.start,
        };
        let follows = next.kind.opens_statement()
            || matches!(next.kind, TokenKind::Ident | TokenKind::LBrace);
        follows && !self.text(between).contains('\n')
    }

    fn lonely_name(&mut self, name: Name<'s>) -> ParseStop {
        if let Some(help) = advice(name.text, opens_any_statement) {
            return self.foreign_word(name, help);
        }
        let next = self.token();
        if next.kind == TokenKind::Colon {
            let help = format!(
                "write `let {} = …`; a label precedes a statement",
                name.text
            );
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

    fn foreign_word(&mut self, name: Name<'s>, help: String) -> ParseStop {
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

    /// Reports a token that starts no statement.
    pub(super) fn not_a_statement(&mut self) -> ParseStop {
        let token = self.token();
        if self.already_reported(token) {
            return ParseStop::Unexpected;
        }
        let text = self.text(token.span);
        match token.kind {
            TokenKind::Var | TokenKind::Const => {
                let name = match self.token_at(self.pos + 1) {
                    next if next.kind == TokenKind::Ident => self.text(next.span),
                    _ => "x",
                };
                self.misplaced(
                    format!("`{text}` is inside a block"),
                    format!("write `let {name} = …` for a local; shared variables are declared outside of all blocks"),
                )
            }
            kind if kind.opens_item() => self.misplaced(
                format!("`{text}` is inside a block"),
                "move it out of all blocks".to_owned(),
            ),
            TokenKind::TypeName => self.type_before_name("let "),
            TokenKind::Else => {
                let help = "`else` follows the `}` of its `if`, without `;`".to_owned();
                self.unexpected_with("a statement", Some(help))
            }
            TokenKind::Reserved => self.reserved(),
            TokenKind::Comma | TokenKind::OrOr => {
                let help = "statements are separated by `;`; each `process` runs beside the others";
                self.unexpected_with("a statement", Some(help.to_owned()))
            }
            _ => self.unexpected("a statement"),
        }
    }

    /// Returns the operator at this position. A word that is an operator in other languages, such
    /// as `mod`, is reported and counts as that operator.
    pub(super) fn operator_here(&mut self) -> TokenKind {
        let token = self.token();
        if token.kind != TokenKind::Ident || self.on_new_line() {
            return token.kind;
        }
        let Some((meant, kind)) = foreign::operator(self.text(token.span)) else {
            return token.kind;
        };
        if !self.kind_after(1).opens_expression() {
            return token.kind;
        }
        let text = self.text(token.span);
        self.report(
            Diagnostic::new(
                "M0002",
                token.span,
                format!("`{text}` is not an operator here"),
            )
            .label("not an operator of this language")
            .help(format!("write `{meant}`")),
        );
        // The token is replaced, so that it is reported once.
        self.tokens[self.pos].kind = kind;
        kind
    }

    /// Reports a list of values in braces, as in `= {1, 2}`.
    pub(super) fn list_in_braces(&mut self) -> Expr<'s> {
        let start = self.token().span;
        self.unexpected_with(
            "an expression",
            Some("a list of values is written in `[ ]`".to_owned()),
        );
        self.pos = self.partner_of(self.pos);
        self.bump();
        Expr {
            kind: ExprKind::Poison,
            span: start.to(self.previous()),
            depth: 1,
        }
    }

    /// Parses `assert(e, "why")` and reports its parentheses.
    pub(super) fn assert_as_call(&mut self) -> Option<Stmt<'s>> {
        let close = self.partner_of(self.pos);
        let as_call = self.at(TokenKind::LParen)
            && close > self.pos + 2
            && self.token_at(close - 1).kind == TokenKind::Str
            && self.token_at(close - 2).kind == TokenKind::Comma;
        if !as_call {
            return None;
        }
        let start = self.previous();
        self.needless_parentheses("assert e, \"why\"");
        self.pos = close;
        self.bump();
        Some(Stmt {
            kind: StmtKind::Poison,
            span: start.to(self.previous()),
        })
    }

    pub(super) fn needless_parentheses(&mut self, form: &str) -> ParseStop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0120", span, "this is a statement, not a call")
                .label("remove the parentheses")
                .help(format!("write `{form}`")),
        )
    }

    /// Reports a keyword where a name is needed, once for each keyword.
    pub(super) fn word_as_name(&mut self, span: Span, what: &str) -> ParseStop {
        let text = self.text(span);
        if !self.words_reported.insert(text) {
            return ParseStop::Unexpected;
        }
        self.report(
            Diagnostic::new("M0110", span, format!("`{text}` is a word of the language"))
                .label(format!("expected {what}"))
                .help(format!("choose another name, such as `{text}_`")),
        )
    }

    /// Reports a reserved word, once for each word.
    pub(super) fn reserved(&mut self) -> ParseStop {
        let span = self.token().span;
        let text = self.text(span);
        if !self.words_reported.insert(text) {
            return ParseStop::Unexpected;
        }
        self.report(
            Diagnostic::new("M0110", span, format!("`{text}` is reserved for later"))
                .label("this word has no meaning yet")
                .help("choose another name"),
        )
    }

    /// Reports an `include "file.maz"` that was not replaced by the text of the file, with the
    /// reason.
    pub(super) fn included(&mut self, span: Span) {
        let label = match mark_after_include(self.source, span) {
            Ok(true) => return,
            Ok(false) => "this text has no folder: give the program as a file",
            Err(reason) => reason,
        };
        self.report(
            Diagnostic::new("M0431", span, "this file cannot be included")
                .label(label)
                .help("write `include \"name.maz\"` on a line of its own, outside of all blocks"),
        );
    }

    fn misplaced(&mut self, message: String, help: String) -> ParseStop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0112", span, message)
                .label("not allowed here")
                .help(help),
        )
    }

    /// Reports a token that starts no declaration.
    pub(super) fn not_an_item(&mut self) -> ParseStop {
        let token = self.token();
        // A `}` without a partner, which was reported, has ended the process too early.
        if self.already_reported(token) || self.stray_brace {
            return ParseStop::Unexpected;
        }
        let text = self.text(token.span);
        match token.kind {
            TokenKind::TypeName => self.type_before_name("var "),
            TokenKind::Reserved => self.reserved(),
            TokenKind::Ident => {
                if let Some(next) = self.word_for_object() {
                    return self.word_as_name(next, "the name of the object");
                }
                let is_item = |kind: TokenKind| kind.opens_item() || kind == TokenKind::Lock;
                // `start := 1` is a misplaced statement, even if the variable has the name of a
                // foreign word.
                let next = self.kind_after(1);
                let declares = match foreign::foreign(text) {
                    Some(_) if next == TokenKind::Equals => self.kind_after(2) == TokenKind::LBrace,
                    Some(_) => !matches!(
                        next,
                        TokenKind::Assign | TokenKind::Comma | TokenKind::LBracket
                    ),
                    None => matches!(
                        next,
                        TokenKind::Ident | TokenKind::LBrace | TokenKind::TypeName
                    ),
                };
                match advice(text, is_item).filter(|_| declares) {
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
            kind if opens_any_statement(kind) || kind == TokenKind::LBrace => self.outside(),
            TokenKind::Comma | TokenKind::OrOr => {
                let help = "declarations and processes follow each other without a separator";
                self.unexpected_with("a declaration or a process", Some(help.to_owned()))
            }
            _ => self.unexpected("a declaration or a process"),
        }
    }

    fn outside(&mut self) -> ParseStop {
        self.misplaced(
            "a statement is outside of all processes".to_owned(),
            "statements belong in `process { … }` or `proc p() { … }`".to_owned(),
        )
    }

    /// Reports a type before a name, as in `int x`.
    pub(super) fn type_before_name(&mut self, word: &str) -> ParseStop {
        let token = self.token();
        let ty = self.text(token.span);
        let name = match self.token_at(self.pos + 1) {
            next if next.kind == TokenKind::Ident => self.text(next.span),
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

    /// Reports `var x = 0`.
    pub(super) fn missing_type(&mut self, name: Name<'s>) -> Parse<TypeExpr<'s>> {
        if !matches!(self.kind(), TokenKind::Equals | TokenKind::Assign)
            && !self.kind().opens_item()
            && !matches!(self.kind(), TokenKind::Semi | TokenKind::Eof)
        {
            return Err(self.unexpected("`:` and a type"));
        }
        Ok(self.no_type(name, "var "))
    }

    /// Reports a missing `:`, as in `x int`; the parser continues as if it were there.
    pub(super) fn missing_colon(&mut self, name: Name<'s>) {
        let ty = self.text(self.token().span);
        let help = format!("write `{}: {ty}`", name.text);
        self.unexpected_with("`:`", Some(help));
    }

    pub(super) fn untyped_param(&mut self, name: Name<'s>) -> TypeExpr<'s> {
        self.no_type(name, "")
    }

    fn no_type(&mut self, name: Name<'s>, word: &str) -> TypeExpr<'s> {
        let ty = match self.kind_after(1) {
            TokenKind::True | TokenKind::False => "bool",
            _ => "int",
        };
        self.report(
            Diagnostic::new("M0113", name.span, format!("`{}` has no type", name.text))
                .label("expected a type after this name")
                .help(format!("write `{word}{}: {ty}`", name.text)),
        );
        TypeExpr {
            atomic: None,
            base: Base::Poison,
            dims: Vec::new(),
            span: name.span,
        }
    }

    pub(super) fn constant_with_type(&mut self, name: Name<'s>) -> ParseStop {
        let help = format!(
            "write `const {} = …`: a constant takes the type of its context",
            name.text
        );
        self.unexpected_with("`=`", Some(help))
    }

    pub(super) fn let_without_value(&mut self, name: Name<'s>) -> ParseStop {
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

    pub(super) fn spawn_in_assignment(&mut self) -> ParseStop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0310", span, "a process cannot be assigned")
                .label("`spawn` is not a value")
                .help("write `let h = spawn …`, and later `join h`"),
        )
    }

    pub(super) fn not_assignable(&mut self, span: Span) -> ParseStop {
        self.report(
            Diagnostic::new("M0118", span, "this cannot be assigned")
                .label("expected a variable or an element of an array")
                .help("only `x`, `a[i]` and `m.f` can be left of `:=`"),
        )
    }

    pub(super) fn needs_parentheses(&mut self, what: &str) -> ParseStop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0111", span, format!("{what} needs parentheses"))
                .label("it is not clear which of the two is meant")
                .help("write `s <| e |> (…)` or `(…) <| e |> t`"),
        )
    }

    pub(super) fn lock_without_parentheses(&mut self, word: TokenKind) -> ParseStop {
        let word = if word == TokenKind::Lock {
            "lock"
        } else {
            "unlock"
        };
        let help = match self.kind() {
            TokenKind::Ident => format!("write `{word}({})`", self.text(self.token().span)),
            _ => format!("write `{word}(m)`"),
        };
        self.unexpected_with("`(`", Some(help))
    }

    pub(super) fn for_of_c(&mut self) -> ParseStop {
        let span = self.token().span;
        self.report(
            Diagnostic::new("M0109", span, "a `for` counts through a range")
                .label("expected a name")
                .help("write `for i in 0..n { … }`"),
        )
    }

    /// Parses a block, or a single statement in its place.
    pub(super) fn body(&mut self, after: &str) -> Parse<Vec<Stmt<'s>>> {
        if self.at(TokenKind::LBrace) {
            return self.block(after);
        }
        if self.already_reported(self.token()) {
            return Err(ParseStop::Unexpected);
        }
        if matches!(
            self.kind(),
            TokenKind::Semi | TokenKind::RBrace | TokenKind::Eof
        ) {
            return Err(self.no_block(after));
        }
        if self.at(TokenKind::Reserved) {
            return Err(self.reserved());
        }
        let span = self.token().span;
        let then = self.at(TokenKind::Then)
            || (self.at(TokenKind::Ident) && matches!(self.text(span), "do" | "begin"));
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
            if self.at(TokenKind::LBrace) {
                return self.block(after);
            }
            return Err(ParseStop::Unexpected);
        }
        Ok(vec![self.stmt()?])
    }

    pub(super) fn no_block(&mut self, after: &str) -> ParseStop {
        self.unexpected(&format!("`{{` after {after}"))
    }

    pub(super) fn no_expression(&mut self) -> ParseStop {
        let token = self.token();
        let help = match token.kind {
            TokenKind::Plus => Some("there is no unary `+`: leave it out".to_owned()),
            TokenKind::Str => Some("strings are only allowed in `assert` and `error`".to_owned()),
            TokenKind::LBracket => {
                Some("`[…]` is only allowed in the declaration of an array".to_owned())
            }
            TokenKind::LBrace => Some("there are no sets or records; `( )` groups".to_owned()),
            TokenKind::Equals | TokenKind::EqEq if self.pos > 0 => {
                Some("write `:=` to assign, `==` to compare".to_owned())
            }
            TokenKind::Spawn => {
                Some("write `let h = spawn …` as a statement of its own".to_owned())
            }
            TokenKind::Reserved => return self.reserved(),
            TokenKind::TypeName => Some("there are no conversions between types".to_owned()),
            _ => None,
        };
        self.unexpected_with("an expression", help)
    }
}
