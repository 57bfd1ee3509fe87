//! Parses `refines "other.maz" via { x -> y, m.from -> z }`.

use super::super::ast::{Dotted, Item};
use super::super::token::TokenKind;
use super::{Parse, Parser};

impl<'s> Parser<'s> {
    /// Parses a `refines` declaration, which begins at the current token.
    pub(super) fn refines(&mut self) -> Parse<Item<'s>> {
        let start = self.token().span;
        self.bump();
        let help = "write `refines \"other.maz\" via { x -> y }`";
        let Some(file) = self.string() else {
            return Err(self.unexpected_with("the name of a file", Some(help.to_owned())));
        };
        if !self.at_word("via") {
            return Err(self.unexpected_with("`via`", Some(help.to_owned())));
        }
        self.bump();
        self.expect(TokenKind::LBrace, " after `via`")?;
        let mut via = Vec::new();
        while !self.at(TokenKind::RBrace) {
            let ours = self.dotted()?;
            if !self.at(TokenKind::Minus) || self.kind_after(1) != TokenKind::Gt {
                return Err(self.unexpected_with("`->`", Some(help.to_owned())));
            }
            self.bump();
            self.bump();
            via.push((ours, self.dotted()?));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBrace, " or `,` after the variable")?;
        let span = start.to(self.previous());
        Ok(Item::Refines { file, via, span })
    }

    /// Parses a name with fields.
    fn dotted(&mut self) -> Parse<Dotted> {
        let first = self.name("the name of a shared variable")?;
        let mut name = first.text.to_owned();
        while self.eat(TokenKind::Dot) {
            name.push('.');
            name += self.name("the name of a field")?.text;
        }
        Ok((name, first.span.to(self.previous())))
    }
}
