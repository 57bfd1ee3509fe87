//! Parses quantified expressions (`forall i in 0..n: e`), `match`, and functions.
//!
//! Their keywords are names in other places, so a keyword is recognised by the tokens after it.

use std::rc::Rc;

use super::super::ast::{
    Cases, Expr, ExprKind, Function, Item, Name, Quantified, Quantifier, QuantifierDomain, StmtKind,
};
use super::super::token::TokenKind;
use super::{Parse, Parser};

impl<'s> Parser<'s> {
    fn quantifier_here(&self) -> Option<Quantifier> {
        let text = self.text(self.token().span);
        let found = Quantifier::ALL.iter().find(|(word, _)| *word == text);
        found.map(|(_, quantifier)| *quantifier)
    }

    /// Whether a quantified expression, such as `forall i in`, begins here.
    pub(super) fn at_quantifier(&self) -> bool {
        self.kind_after(1) == TokenKind::Ident
            && self.kind_after(2) == TokenKind::In
            && self.quantifier_here().is_some()
    }

    /// Parses `forall i in 0..n: e`, `sum v in a: v`.
    pub(super) fn quantified(&mut self) -> Parse<Expr<'s>> {
        let quantifier = self.quantifier_here().unwrap_or(Quantifier::Forall);
        let start = self.bump().span;
        let name = self.name("the name of the counter")?;
        self.bump();
        let from = self.expr()?;
        let over = if self.eat(TokenKind::DotDot) {
            QuantifierDomain::Range(from, self.expr()?)
        } else {
            QuantifierDomain::Array(from)
        };
        if !self.at(TokenKind::Colon) {
            let help = format!("write `{} {} in 0..n: e`", quantifier.word(), name.text);
            return Err(self.unexpected_with("`:`", Some(help)));
        }
        self.bump();
        let body = self.condition()?;
        let span = start.to(body.span);
        let quantified = Quantified {
            quantifier,
            name,
            over,
            body,
        };
        self.node(ExprKind::Quantified(Box::new(quantified)), span)
    }

    /// Whether `match e {` begins here; `match` is a name elsewhere.
    pub(super) fn at_match(&self) -> bool {
        if !self.at_word("match") {
            return false;
        }
        match self.kind_after(1) {
            TokenKind::Ident => true,
            TokenKind::LParen => {
                let close = self.partner_of(self.pos + 1);
                self.token_at(close + 1).kind == TokenKind::LBrace
            }
            _ => false,
        }
    }

    /// Parses the subject of a `match`, and checks that `{` follows.
    fn matched(&mut self) -> Parse<Expr<'s>> {
        self.bump();
        let value = self.expr()?;
        let help = "write `match s { Idle: 0, Busy: 1 }` for a value, `match s { Idle { … } Busy { … } }` for statements";
        if self.at(TokenKind::LBrace) {
            self.bump();
            Ok(value)
        } else {
            Err(self.unexpected_with("`{`", Some(help.to_owned())))
        }
    }

    /// Parses the members of a case: `Busy, Done`.
    fn members(&mut self) -> Parse<Vec<Name<'s>>> {
        let mut names = vec![self.name("a member of the `enum`, or `else`")?];
        while self.eat(TokenKind::Comma) {
            names.push(self.name("a member of the `enum`")?);
        }
        Ok(names)
    }

    /// Parses `match s { Idle: 0, Busy, Done: 1, else: 2 }`.
    pub(super) fn match_expr(&mut self) -> Parse<Expr<'s>> {
        let start = self.token().span;
        let value = self.matched()?;
        let mut cases = Cases {
            cases: Vec::new(),
            other: None,
        };
        while !self.at(TokenKind::RBrace) && cases.other.is_none() {
            let here = self.token().span;
            let members = if self.eat(TokenKind::Else) {
                None
            } else {
                Some(self.members()?)
            };
            self.expect(TokenKind::Colon, " after the case")?;
            let given = self.expr()?;
            match members {
                Some(members) => cases.cases.push((members, given)),
                None => cases.other = Some((here, Box::new(given))),
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBrace, " or `,` after the case")?;
        let span = start.to(self.previous());
        self.node(ExprKind::Match(Box::new(value), cases), span)
    }

    /// Parses `match s { Idle { … } Busy, Done { … } else { … } }`.
    pub(super) fn match_stmt(&mut self) -> Parse<StmtKind<'s>> {
        let value = self.matched()?;
        let mut cases = Cases {
            cases: Vec::new(),
            other: None,
        };
        while !self.at(TokenKind::RBrace) && cases.other.is_none() {
            let here = self.token().span;
            if self.eat(TokenKind::Else) {
                cases.other = Some((here, Box::new(self.block("`else`")?)));
            } else {
                let members = self.members()?;
                if self.at(TokenKind::Colon) {
                    let help = "a case of a statement is `Idle { … }`".to_owned();
                    return Err(self.unexpected_with("`{`", Some(help)));
                }
                cases.cases.push((members, self.block("the case")?));
            }
            while self.eat(TokenKind::Semi) {}
        }
        self.expect(TokenKind::RBrace, " after the cases")?;
        Ok(StmtKind::Match(value, cases))
    }

    /// Parses `fn f(a: int): int { e }`, after `fn`.
    pub(super) fn function(&mut self) -> Parse<Item<'s>> {
        let name = self.name("the name of a function")?;
        let params = self.params(name)?;
        if !self.at(TokenKind::Colon) {
            let help = format!("declare its result: `fn {}(…): int {{ e }}`", name.text);
            return Err(self.unexpected_with("`:` and a type", Some(help)));
        }
        self.bump();
        let result = self.type_expr()?;
        if !self.at(TokenKind::LBrace) {
            return Err(self.unexpected("`{`"));
        }
        self.bump();
        let mut lets = Vec::new();
        while self.eat(TokenKind::Let) {
            let name = self.name("the name of a value")?;
            self.expect(TokenKind::Equals, " after the name")?;
            lets.push((name, self.expr()?));
            self.expect(TokenKind::Semi, " after the value")?;
        }
        if self.at_word("return") {
            let help = "a function is an expression, after any `let x = e;`: leave `return` out";
            return Err(self.unexpected_with("an expression", Some(help.to_owned())));
        }
        let value = self.condition()?;
        self.eat(TokenKind::Semi);
        if !self.at(TokenKind::RBrace) {
            let help = "a function has no statements; write a `proc` for what does something";
            return Err(self.unexpected_with("`}`", Some(help.to_owned())));
        }
        self.bump();
        Ok(Item::Function(Rc::new(Function {
            name,
            params,
            result,
            lets,
            value,
        })))
    }
}
