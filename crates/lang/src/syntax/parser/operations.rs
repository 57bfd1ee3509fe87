//! Parses the operations of an object and its specification: `op push(v: 1..3) { … }` and `spec
//! object for 2 clients of 3 operations { … }`.

use super::super::ast::{Expr, Item, OperationResult, Spec};
use super::super::token::TokenKind;
use super::{Parse, ParseStop, Parser};

const SPEC: &str = "write `spec object for 2 clients of 3 operations { … }`";

impl<'s> Parser<'s> {
    /// Whether `op name(` begins here; `op` is a name elsewhere.
    pub(super) fn at_operation(&self) -> bool {
        self.at_word("op")
            && self.kind_after(1) == TokenKind::Ident
            && [TokenKind::LParen, TokenKind::LBrace, TokenKind::Colon]
                .contains(&self.kind_after(2))
    }

    /// Whether `spec object for` begins here; `spec` and `object` are names elsewhere.
    pub(super) fn at_spec(&self) -> bool {
        self.at_word("spec")
            && self.text(self.token_at(self.pos + 1).span) == "object"
            && matches!(self.kind_after(2), TokenKind::For | TokenKind::LBrace)
    }

    /// Parses a procedure, and marks it as an operation.
    pub(super) fn operation_item(&mut self, items: &mut Vec<Item<'s>>) -> Parse<()> {
        let start = self.token().span;
        self.bump();
        let name = self.name("the name of an operation")?;
        let params = if self.at(TokenKind::LParen) {
            self.params(name)?
        } else {
            let help = format!("write `op {}() {{ … }}`", name.text);
            self.unexpected_with("`(`", Some(help));
            Vec::new()
        };
        let mut ty = None;
        if self.eat(TokenKind::Colon) {
            ty = Some(self.type_expr()?);
        }
        let head = start.to(self.previous());
        self.in_operation = true;
        let body = self.block("the parameters");
        self.in_operation = false;
        let body = body?;
        items.push(Item::Proc { name, params, body });
        items.push(Item::Operation(OperationResult { name, ty, head }));
        Ok(())
    }

    /// Parses a specification, which begins at the current token.
    pub(super) fn spec(&mut self) -> Parse<Item<'s>> {
        let start = self.token().span;
        self.bump();
        self.bump();
        let Ok((clients, operations)) = self.spec_clients() else {
            // Skip the contents of the braces.
            while !self.at(TokenKind::LBrace) && !self.at(TokenKind::Eof) {
                self.bump();
            }
            self.pos = self.partner_of(self.pos) + 1;
            return Err(ParseStop::Unexpected);
        };
        let head = start.to(self.previous());
        let end = self.partner_of(self.pos);
        self.bump();
        let mut items = Vec::new();
        while self.pos < end {
            if self.eat(TokenKind::Semi) {
                continue;
            }
            self.item(&mut items)?;
        }
        self.expect(TokenKind::RBrace, " after the operations")?;
        Ok(Item::Spec(Spec {
            clients,
            operations,
            items,
            head,
        }))
    }

    /// Parses `for 2 clients of 3 operations`, before a brace.
    fn spec_clients(&mut self) -> Parse<(Expr<'s>, Expr<'s>)> {
        let help = || Some(SPEC.to_owned());
        if !self.eat(TokenKind::For) {
            return Err(self.unexpected_with("`for`", help()));
        }
        let clients = self.expr()?;
        self.spec_word(["clients", "client"])?;
        self.spec_word(["of", "of"])?;
        let operations = self.expr()?;
        self.spec_word(["operations", "operation"])?;
        if !self.at(TokenKind::LBrace) {
            return Err(self.unexpected_with("`{`", help()));
        }
        Ok((clients, operations))
    }

    fn spec_word(&mut self, [word, other]: [&str; 2]) -> Parse<()> {
        if !self.at_word(word) && !self.at_word(other) {
            return Err(self.unexpected_with(&format!("`{word}`"), Some(SPEC.to_owned())));
        }
        self.bump();
        Ok(())
    }
}
