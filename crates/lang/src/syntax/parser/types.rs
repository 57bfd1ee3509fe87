//! Parses types and initial values.

use super::super::ast::{Base, Expr, Init, Range, TypeExpr};
use super::super::token::TokenKind;
use super::expr::continues_expression;
use super::{MAX_EXPR_DEPTH, Parse, Parser};
use crate::check::hir::Type;
use mazurka_diagnostics::Span;

impl<'s> Parser<'s> {
    /// Parses a type: `int`, `u8[4]`, `State`, `0..N`.
    pub(super) fn type_expr(&mut self) -> Parse<TypeExpr<'s>> {
        let start = self.token().span;
        let atomic = self.eat(TokenKind::Atomic).then_some(start);
        let token = self.token();
        let base = match token.kind {
            TokenKind::TypeName => {
                self.bump();
                base_type(self.text(token.span)).map_or(Base::Poison, Base::Plain)
            }
            TokenKind::Ident if !self.at_bound() => Base::Named(self.name("a type")?),
            TokenKind::Ident | TokenKind::Int | TokenKind::Minus | TokenKind::LParen => {
                let (from, to) = self.type_bounds()?;
                Base::Range(Box::new(from), Box::new(to))
            }
            _ => {
                let help = "types are `bool`, `int`, `i8` to `i64`, `u8` to `u64`, ranges such as `0..4`, and the names of an `enum` or a `struct`".to_owned();
                return Err(self.unexpected_with("a type", Some(help)));
            }
        };
        let mut dims = Vec::new();
        while self.eat(TokenKind::LBracket) {
            if self.at(TokenKind::RBracket) {
                let help = "write the number of elements, as in `int[4]`".to_owned();
                return Err(self.unexpected_with("the size of the array", Some(help)));
            }
            dims.push(self.expr()?);
            self.expect(TokenKind::RBracket, " after the size")?;
        }
        let span = start.to(self.previous());
        Ok(TypeExpr {
            atomic,
            base,
            dims,
            span,
        })
    }

    /// Whether the current name begins the lower bound of a range.
    fn at_bound(&self) -> bool {
        let next = self.kind_after(1);
        next == TokenKind::DotDot || continues_expression(next)
    }

    /// Parses `a..b`; brackets after `b` are the size of an array.
    fn type_bounds(&mut self) -> Parse<(Expr<'s>, Expr<'s>)> {
        let from = self.bound()?;
        if !self.at(TokenKind::DotDot) {
            let help = "a range is written `a..b` and excludes `b`".to_owned();
            return Err(self.unexpected_with("`..`", Some(help)));
        }
        self.bump();
        Ok((from, self.bound()?))
    }

    /// Parses an initial value.
    pub(super) fn init(&mut self) -> Parse<Init<'s>> {
        if self.at(TokenKind::LBrace) {
            return Ok(Init::Value(self.list_in_braces()));
        }
        if !self.at(TokenKind::LBracket) {
            return Ok(Init::Value(self.expr()?));
        }
        if self.expr_depth >= MAX_EXPR_DEPTH {
            return Err(self.too_deep("this list is", MAX_EXPR_DEPTH, "brackets"));
        }
        self.expr_depth += 1;
        let list = self.list();
        self.expr_depth -= 1;
        list
    }

    /// Parses `[e, f]`, `[e for i in a..b]`.
    fn list(&mut self) -> Parse<Init<'s>> {
        let start = self.bump().span;
        let mut values = Vec::new();
        while !self.at(TokenKind::RBracket) {
            values.push(self.init()?);
            if self.at(TokenKind::For) && values.len() == 1 {
                return self.comprehension(values.remove(0), start);
            }
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RBracket, " or `,` after the value")?;
        Ok(Init::List(values, start.to(self.previous())))
    }

    fn comprehension(&mut self, value: Init<'s>, start: Span) -> Parse<Init<'s>> {
        self.bump();
        let name = self.name("the name of the counter")?;
        if !self.at(TokenKind::In) {
            let help = format!("write `[… for {} in 0..n]`", name.text);
            return Err(self.unexpected_with("`in`", Some(help)));
        }
        self.bump();
        let (from, to) = self.bounds()?;
        self.expect(TokenKind::RBracket, " after the range")?;
        Ok(Init::Each {
            value: Box::new(value),
            range: Range { name, from, to },
            span: start.to(self.previous()),
        })
    }
}

fn base_type(text: &str) -> Option<Type> {
    Some(match text {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "i8" => Type::Signed(8),
        "i16" => Type::Signed(16),
        "i32" => Type::Signed(32),
        "i64" => Type::Signed(64),
        "u8" => Type::Unsigned(8),
        "u16" => Type::Unsigned(16),
        "u32" => Type::Unsigned(32),
        "u64" => Type::Unsigned(64),
        _ => return None,
    })
}
