//! Parses `select { e |> s [] c ? x |> t [] else |> u }`: alternatives with their conditions,
//! separated by `[]`.

use super::super::ast::{Alternative, Gate, Stmt, StmtKind};
use super::super::token::TokenKind;
use super::foreign::foreign;
use super::{Parse, ParseStop, Parser};
use mazurka_diagnostics::{Diagnostic, nearest};

/// The alternatives of a `select`, and the `else` alternative.
type Alternatives<'s> = (Vec<Alternative<'s>>, Option<Vec<Stmt<'s>>>);

impl<'s> Parser<'s> {
    /// Whether `select {` begins here, possibly misspelt. No other statement begins with a name and
    /// `{`.
    pub(super) fn at_select(&self) -> bool {
        self.at(TokenKind::Ident)
            && self.kind_after(1) == TokenKind::LBrace
            && foreign(self.text(self.token().span)).is_none_or(|_| self.at_word("select"))
            && nearest(self.text(self.token().span), ["select"]).is_some()
    }

    /// Parses `select { e |> s [] c ? x |> t [] else |> u }`.
    pub(super) fn select_stmt(&mut self) -> Parse<StmtKind<'s>> {
        if !self.at_word("select") {
            self.misspelt_select();
        }
        let word = self.bump().span;
        let end = self.partner_of(self.pos);
        self.bump();
        let outer = std::mem::replace(&mut self.in_select, true);
        let read = self.alternatives(end);
        self.in_select = outer;
        let (alternatives, other) = read?;
        self.bump();
        Ok(StmtKind::Select(word, alternatives, other))
    }

    fn alternatives(&mut self, end: usize) -> Parse<Alternatives<'s>> {
        let (mut all, mut other) = (Vec::new(), None);
        loop {
            let next = self.separator_before(end).unwrap_or(end);
            if self.eat(TokenKind::Else) {
                self.expect(TokenKind::Guard, " after `else`")?;
                other = Some(self.statements_up_to(next));
            } else {
                let gate = self.gate()?;
                self.expect(TokenKind::Guard, " after the condition of an alternative")?;
                let body = self.statements_up_to(next);
                all.push(Alternative { gate, body });
            }
            if self.pos >= end {
                return Ok((all, other));
            }
            if other.is_some() && self.pos == next {
                return Err(self.else_not_last());
            }
            if self.pos != next {
                let help = "`[]` separates alternatives, and `else` is the last one";
                return Err(self.unexpected_with("`[]` or `}`", Some(help.to_owned())));
            }
            self.bump();
            self.bump();
        }
    }

    /// Whether the `[]` before the next alternative of a `select` begins here.
    pub(super) fn at_alternative(&self) -> bool {
        self.separates(self.pos)
    }

    /// Whether a `[]` begins at this token. It separates two alternatives, because the brackets of
    /// an index are never empty.
    pub(super) fn separates(&self, at: usize) -> bool {
        self.in_select
            && self.token_at(at).kind == TokenKind::LBracket
            && self.token_at(at + 1).kind == TokenKind::RBracket
    }

    fn misspelt_select(&mut self) {
        let span = self.token().span;
        let message = format!("there is no statement `{}`", self.text(span));
        self.report(
            Diagnostic::new("M0109", span, message)
                .label("unknown statement")
                .help("did you mean `select`?"),
        );
    }

    fn else_not_last(&mut self) -> ParseStop {
        let span = self.token().span.to(self.token_at(self.pos + 1).span);
        self.report(
            Diagnostic::new("M0101", span, "an alternative follows `else`")
                .label("expected `}`")
                .help("move `else |> …` to the end: it is taken if no other alternative is open"),
        )
    }

    /// Returns the position of the next `[]` that separates two alternatives of this `select`.
    fn separator_before(&self, end: usize) -> Option<usize> {
        let mut at = self.pos;
        while at < end {
            match self.token_at(at).kind {
                TokenKind::LBracket if self.separates(at) => return Some(at),
                TokenKind::LBracket | TokenKind::LParen | TokenKind::LBrace => {
                    at = self.partner_of(at).max(at) + 1;
                }
                _ => at += 1,
            }
        }
        None
    }

    /// Parses the condition under which an alternative is open.
    fn gate(&mut self) -> Parse<Gate<'s>> {
        if self.at(TokenKind::Lock) {
            return Ok(Gate::Does(Box::new(self.plain()?)));
        }
        if !self.at_expression() {
            let help = "an alternative is `e |> s`, `c ? x |> s`, `acquire(s) |> t` or the like";
            return Err(self.unexpected_with("a condition or an operation", Some(help.to_owned())));
        }
        let first = self.expr()?;
        if self.at(TokenKind::Guard) {
            Ok(Gate::When(first))
        } else {
            Ok(Gate::Does(Box::new(self.after_expression(first)?)))
        }
    }
}
