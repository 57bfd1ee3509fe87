//! Parses expressions by binding power (a Pratt parser): an operator takes the operands on both
//! sides that bind more tightly than it.

use super::super::ast::{Expr, ExprKind, Name, Selector};
use super::super::token::TokenKind;
use super::{MAX_EXPR_DEPTH, Parse, Parser};
use crate::check::hir::{BinaryOp, UnaryOp};
use mazurka_diagnostics::{Diagnostic, Span};

/// The binding powers of the operators, the weakest first.
const OR: u8 = 1;
const AND: u8 = 2;
/// `!` binds weaker than a comparison. If `x` is a number, this is the only reading of `!x == 0`
/// that has a type; for truth values both readings have the same value.
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const BIT_OR: u8 = 5;
const BIT_XOR: u8 = 6;
const BIT_AND: u8 = 7;
const SHIFT: u8 = 8;
const SUM: u8 = 9;
const PRODUCT: u8 = 10;
const NEGATE: u8 = 11;

fn binary(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        TokenKind::OrOr => (BinaryOp::Or, OR),
        TokenKind::AndAnd => (BinaryOp::And, AND),
        TokenKind::EqEq => (BinaryOp::Eq, COMPARE),
        TokenKind::NotEq => (BinaryOp::Ne, COMPARE),
        TokenKind::Lt => (BinaryOp::Lt, COMPARE),
        TokenKind::Le => (BinaryOp::Le, COMPARE),
        TokenKind::Gt => (BinaryOp::Gt, COMPARE),
        TokenKind::Ge => (BinaryOp::Ge, COMPARE),
        TokenKind::Pipe => (BinaryOp::BitOr, BIT_OR),
        TokenKind::Caret => (BinaryOp::BitXor, BIT_XOR),
        TokenKind::Amp => (BinaryOp::BitAnd, BIT_AND),
        TokenKind::Shl => (BinaryOp::Shl, SHIFT),
        TokenKind::Shr => (BinaryOp::Shr, SHIFT),
        TokenKind::Plus => (BinaryOp::Add, SUM),
        TokenKind::Minus => (BinaryOp::Sub, SUM),
        TokenKind::Star => (BinaryOp::Mul, PRODUCT),
        TokenKind::Slash => (BinaryOp::Div, PRODUCT),
        TokenKind::Percent => (BinaryOp::Rem, PRODUCT),
        _ => return None,
    })
}

/// Whether a token after `( … )` continues an expression.
pub(super) fn continues_expression(kind: TokenKind) -> bool {
    binary(kind).is_some()
}

impl<'s> Parser<'s> {
    pub(super) fn expr(&mut self) -> Parse<Expr<'s>> {
        self.expr_above(0)
    }

    /// Parses an expression whose operators all bind tighter than `min`.
    fn expr_above(&mut self, min: u8) -> Parse<Expr<'s>> {
        if self.expr_depth >= MAX_EXPR_DEPTH {
            return Err(self.too_deep(
                "this expression is",
                MAX_EXPR_DEPTH,
                "operators and brackets",
            ));
        }
        self.expr_depth += 1;
        let result = self.operators(min);
        self.expr_depth -= 1;
        result
    }

    fn operators(&mut self, min: u8) -> Parse<Expr<'s>> {
        let mut left = self.operand()?;
        while let Some((op, power)) = binary(self.operator_here()) {
            if power <= min || self.at_foreign_assignment() {
                break;
            }
            let sign = self.bump().span;
            let right = self.expr_above(power)?;
            let span = left.span.to(right.span);
            let kind = ExprKind::Binary(op, sign, Box::new(left), Box::new(right));
            left = self.node(kind, span)?;
            if power == COMPARE
                && let Some((_, COMPARE)) = binary(self.operator_here())
            {
                left = self.chained_comparison(left)?;
            }
        }
        Ok(left)
    }

    /// Makes a node, or reports that the tree is too high. The recursion depth of the parser does
    /// not bound the height: the tree of a long sum grows to the left, without recursion.
    pub(super) fn node(&mut self, kind: ExprKind<'s>, span: Span) -> Parse<Expr<'s>> {
        let below = match &kind {
            ExprKind::Unary(_, e) | ExprKind::Index(_, e) => e.depth,
            ExprKind::Binary(_, _, e, f) | ExprKind::Choose(e, f) => e.depth.max(f.depth),
            ExprKind::If(e, f, g) => e.depth.max(f.depth).max(g.depth),
            ExprKind::LocalOf {
                instance, index, ..
            } => {
                let inner = index.iter().map(|e| e.depth);
                inner.fold(instance.depth, u16::max)
            }
            ExprKind::Path(_, selectors) => {
                let inner = selectors.iter().map(|selector| match selector {
                    Selector::Index(e) => e.depth,
                    Selector::Field(_) => 0,
                });
                inner.max().unwrap_or(0)
            }
            ExprKind::Record(_, fields) => fields.iter().map(|(_, e)| e.depth).max().unwrap_or(0),
            ExprKind::Quantified(quantified) => quantified.body.depth,
            ExprKind::Match(value, cases) => {
                let inner = cases.cases.iter().map(|(_, e)| e.depth);
                let other = cases.other.iter().map(|(_, e)| e.depth);
                inner.chain(other).fold(value.depth, u16::max)
            }
            ExprKind::Operation { place, args, .. } => {
                let inner = args.iter().map(|e| e.depth);
                inner.fold(place.depth, u16::max)
            }
            ExprKind::Call(_, args) => args.iter().map(|e| e.depth).max().unwrap_or(0),
            _ => 0,
        };
        if below >= MAX_EXPR_DEPTH {
            return Err(self.too_deep(
                "this expression is",
                MAX_EXPR_DEPTH,
                "operators and brackets",
            ));
        }
        let depth = below + 1;
        Ok(Expr { kind, span, depth })
    }

    fn chained_comparison(&mut self, left: Expr<'s>) -> Parse<Expr<'s>> {
        let sign = self.token();
        let shown = self.shown(sign);
        // The source is like `x == 1 & y == 1`, with `&` in place of `&&`.
        let help = match &left.kind {
            ExprKind::Binary(_, _, _, right) if matches!(right.kind, ExprKind::Binary(op, ..) if op.is_bitwise()) => {
                "`&`, `|` and `^` work on bits: write `&&`, `||` and `!=` between conditions"
            }
            _ => "write `a < b && b < c`, or put one of them into parentheses",
        };
        self.report(
            Diagnostic::new("M0117", sign.span, "comparisons cannot be chained")
                .label(format!("a second comparison, {shown}"))
                .related(left.span, "the first one")
                .help(help),
        );
        let mut span = left.span;
        while let Some((_, COMPARE)) = binary(self.kind()) {
            self.bump();
            span = span.to(self.expr_above(COMPARE)?.span);
        }
        self.node(ExprKind::Poison, span)
    }

    fn operand(&mut self) -> Parse<Expr<'s>> {
        let token = self.token();
        let start = token.span;
        match token.kind {
            TokenKind::Int => {
                self.bump();
                // The lexer has reported a number that is not valid.
                let kind = match self.text(start).parse() {
                    Ok(value) => ExprKind::Int(value),
                    Err(_) => ExprKind::Poison,
                };
                self.node(kind, start)
            }
            TokenKind::True | TokenKind::False => {
                self.bump();
                self.node(ExprKind::Bool(token.kind == TokenKind::True), start)
            }
            TokenKind::Ident if self.at_quantifier() => self.quantified(),
            TokenKind::Ident if self.at_match() => self.match_expr(),
            TokenKind::Ident => self.named(),
            TokenKind::Not | TokenKind::Minus | TokenKind::Tilde => {
                self.bump();
                let (op, power) = match token.kind {
                    TokenKind::Not => (UnaryOp::Not, NOT),
                    TokenKind::Tilde => (UnaryOp::BitNot, NEGATE),
                    _ => (UnaryOp::Neg, NEGATE),
                };
                let inner = self.expr_above(power)?;
                let span = start.to(inner.span);
                self.node(ExprKind::Unary(op, Box::new(inner)), span)
            }
            TokenKind::LParen => self.parenthesised(),
            TokenKind::If => self.conditional(),
            TokenKind::Input => {
                self.bump();
                let ty = if self.eat(TokenKind::LParen) {
                    let ty = match self.kind() {
                        TokenKind::RParen => None,
                        _ => Some(self.type_expr()?),
                    };
                    self.expect(TokenKind::RParen, " after the type of the input")?;
                    ty
                } else {
                    let help = "write `input()` or `input(u8)`".to_owned();
                    return Err(self.unexpected_with("`(` after `input`", Some(help)));
                };
                let span = start.to(self.previous());
                self.node(ExprKind::Input(ty), span)
            }
            TokenKind::Choose => {
                self.bump();
                self.expect(TokenKind::LParen, " after `choose`")?;
                let (from, to) = self.bounds()?;
                self.expect(TokenKind::RParen, " after the bounds of `choose`")?;
                let span = start.to(self.previous());
                self.node(ExprKind::Choose(Box::new(from), Box::new(to)), span)
            }
            _ => Err(self.no_expression()),
        }
    }

    fn named(&mut self) -> Parse<Expr<'s>> {
        let name = self.name("a name")?;
        if self.at(TokenKind::LParen) {
            if self.kind_after(1) == TokenKind::Ident && self.kind_after(2) == TokenKind::Colon {
                return self.record(name);
            }
            let mut args = self.arguments()?;
            if self.at(TokenKind::Dot)
                && args.len() == 1
                && let Some(instance) = args.pop()
            {
                return self.local_of(name, instance);
            }
            let span = name.span.to(self.previous());
            return self.node(ExprKind::Call(name, args), span);
        }
        let place = self.path(name)?;
        if self.at(TokenKind::Dot) {
            self.operation(place)
        } else {
            Ok(place)
        }
    }

    /// Parses indices and fields after a name, up to an operation such as `.load(acquire)`.
    fn path(&mut self, name: Name<'s>) -> Parse<Expr<'s>> {
        let mut selectors = Vec::new();
        loop {
            // Within a `select`, `[]` starts the next alternative.
            if !self.before_size && !self.at_alternative() && self.eat(TokenKind::LBracket) {
                selectors.push(Selector::Index(self.expr()?));
                self.expect(TokenKind::RBracket, " after the index")?;
            } else if self.at(TokenKind::Dot) && self.kind_after(2) != TokenKind::LParen {
                self.bump();
                selectors.push(Selector::Field(self.name("the name of a field")?));
            } else {
                break;
            }
            if selectors.len() > usize::from(MAX_EXPR_DEPTH) {
                let counted = "indices and fields";
                return Err(self.too_deep("this variable is", MAX_EXPR_DEPTH, counted));
            }
        }
        let span = name.span.to(self.previous());
        let kind = match (selectors.len(), selectors.pop()) {
            (_, None) => ExprKind::Name(name),
            (1, Some(Selector::Index(index))) => ExprKind::Index(name, Box::new(index)),
            (_, Some(last)) => {
                selectors.push(last);
                ExprKind::Path(name, selectors)
            }
        };
        self.node(kind, span)
    }

    /// Parses `(from: 1, kind: Ping)`, after the name of a `struct`.
    fn record(&mut self, name: Name<'s>) -> Parse<Expr<'s>> {
        self.bump();
        let mut fields = Vec::new();
        while !self.at(TokenKind::RParen) {
            let field = self.name("the name of a field")?;
            self.expect(TokenKind::Colon, " after the name of the field")?;
            fields.push((field, self.expr()?));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RParen, " or `,` after the value of the field")?;
        let span = name.span.to(self.previous());
        self.node(ExprKind::Record(name, fields), span)
    }

    /// Parses `.x`, `.a[i]`, after a process with its index, as in `p(1).x`.
    fn local_of(&mut self, process: Name<'s>, instance: Expr<'s>) -> Parse<Expr<'s>> {
        self.bump();
        let (local, index) = self.name_and_index("the name of a local")?;
        let span = process.span.to(self.previous());
        let kind = ExprKind::LocalOf {
            process,
            instance: Box::new(instance),
            local,
            index: index.map(Box::new),
        };
        self.node(kind, span)
    }

    /// Parses `.load(acquire)`, after a variable or an element.
    fn operation(&mut self, place: Expr<'s>) -> Parse<Expr<'s>> {
        self.bump();
        let operation = self.name("an operation, such as `load`")?;
        let args = self.arguments()?;
        let span = place.span.to(self.previous());
        let kind = ExprKind::Operation {
            place: Box::new(place),
            operation,
            args,
        };
        self.node(kind, span)
    }

    /// Parses `( e, f, … )`.
    pub(super) fn arguments(&mut self) -> Parse<Vec<Expr<'s>>> {
        self.expect(TokenKind::LParen, "")?;
        let mut args = Vec::new();
        while !self.at(TokenKind::RParen) {
            args.push(self.expr()?);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RParen, " or `,` after the argument")?;
        Ok(args)
    }

    /// Parses a bound of a range type. Brackets after it are the size of an array.
    pub(super) fn bound(&mut self) -> Parse<Expr<'s>> {
        let outer = std::mem::replace(&mut self.before_size, true);
        let bound = self.expr_above(COMPARE);
        self.before_size = outer;
        bound
    }

    fn parenthesised(&mut self) -> Parse<Expr<'s>> {
        let open = self.bump().span;
        let outer = std::mem::replace(&mut self.before_size, false);
        let inner = self.condition();
        self.before_size = outer;
        let mut inner = inner?;
        self.expect(TokenKind::RParen, " after the expression")?;
        // Labels show the text with its parentheses.
        inner.span = open.to(self.previous());
        Ok(inner)
    }

    fn conditional(&mut self) -> Parse<Expr<'s>> {
        let start = self.bump().span;
        let test = self.condition()?;
        if self.at(TokenKind::LBrace) {
            let help = "inside an expression write `if a then b else c`".to_owned();
            return Err(self.unexpected_with("`then`", Some(help)));
        }
        self.expect(TokenKind::Then, " after the condition")?;
        let then = self.expr()?;
        if !self.at(TokenKind::Else) {
            let help =
                "an expression needs a value for both cases: `if a then b else c`".to_owned();
            return Err(self.unexpected_with("`else`", Some(help)));
        }
        self.bump();
        let other = self.expr()?;
        let span = start.to(other.span);
        let kind = ExprKind::If(Box::new(test), Box::new(then), Box::new(other));
        self.node(kind, span)
    }

    /// Parses `e .. f`.
    pub(super) fn bounds(&mut self) -> Parse<(Expr<'s>, Expr<'s>)> {
        let from = self.expr()?;
        if !self.at(TokenKind::DotDot) {
            let help = "a range is written `a..b` and excludes `b`".to_owned();
            return Err(self.unexpected_with("`..`", Some(help)));
        }
        self.bump();
        let to = self.expr()?;
        Ok((from, to))
    }

    /// Parses a name with an optional index, as in `lock(m[i])`.
    pub(super) fn name_and_index(&mut self, what: &str) -> Parse<(Name<'s>, Option<Expr<'s>>)> {
        let name = self.name(what)?;
        if !self.eat(TokenKind::LBracket) {
            return Ok((name, None));
        }
        let index = self.expr()?;
        self.expect(TokenKind::RBracket, " after the index")?;
        Ok((name, Some(index)))
    }
}
