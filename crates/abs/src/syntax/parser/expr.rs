//! Parses expressions, by precedence climbing: an operand, then operators and operands as long as
//! the operators bind tightly enough.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::excluded::Excluded;
use super::{Parsed, Parser};
use crate::syntax::ast::{Binary, Expr, ExprKind, Function, Name, Pattern, PatternKind, Unary};
use crate::syntax::lexer::words;
use crate::syntax::token::TokenKind;

/// Returns an operator and its precedence.
fn operator(kind: &TokenKind) -> Option<(Binary, u8)> {
    let TokenKind::Symbol(symbol) = kind else {
        return None;
    };
    Some(match *symbol {
        "->" => (Binary::Implies, 1),
        "<->" => (Binary::Equivalent, 1),
        "||" => (Binary::Or, 2),
        "&&" => (Binary::And, 3),
        "==" => (Binary::Equal, 4),
        "!=" => (Binary::Unequal, 4),
        "<" => (Binary::Less, 5),
        "<=" => (Binary::LessEqual, 5),
        ">" => (Binary::Greater, 5),
        ">=" => (Binary::GreaterEqual, 5),
        "+" => (Binary::Add, 6),
        "-" => (Binary::Subtract, 6),
        "*" => (Binary::Multiply, 7),
        "/" => (Binary::Divide, 7),
        "%" => (Binary::Modulo, 7),
        _ => return None,
    })
}

/// An argument: an expression, or an anonymous function.
enum Argument {
    Expr(Expr),
    Function(Function, Span),
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|parser| parser.operators(0))
    }

    fn operators(&mut self, least: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        let mut chain = 0;
        while let Some((operator, binds)) =
            operator(self.peek()).filter(|(_, binds)| *binds > least)
        {
            self.next();
            let right = self.nested(|parser| parser.operators(binds))?;
            let span = left.span.to(right.span);
            // A chain such as `a + b + c` becomes a tree that is as deep as the chain is long, so
            // its length is limited.
            chain += 1;
            if chain > super::MAX_NESTING {
                return self.report_too_long(span);
            }
            left = Expr {
                kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)),
                span,
            };
        }
        Ok(left)
    }

    fn report_too_long(&mut self, span: Span) -> Parsed<Expr> {
        let mistake = Diagnostic::new("A0112", span, "this expression is too long")
            .label(format!(
                "more than {} operators in a row",
                super::MAX_NESTING
            ))
            .help("give parts of it names with `let` or variables");
        Err(self.mistake(mistake))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let start = self.span_here();
        let operator = match self.peek() {
            TokenKind::Symbol("!" | "~") => Unary::Not,
            TokenKind::Symbol("-") => Unary::Negate,
            _ => return self.postfix(),
        };
        self.next();
        let operand = self.nested(Self::unary)?;
        Ok(Expr {
            span: start.to(operand.span),
            kind: ExprKind::Unary(operator, Box::new(operand)),
        })
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        loop {
            let start = expr.span;
            if self.is(".") && self.is_at(1, "get") {
                self.next();
                self.next();
                expr.kind = ExprKind::Get(Box::new(expr.clone()));
            } else if (self.is(".") || self.is("!"))
                && matches!(self.peek_at(1), TokenKind::Name(_))
            {
                let asynchronous = self.is("!");
                self.next();
                let method = self.name("the name of a method")?;
                if !self.is("(") {
                    let mistake = Diagnostic::new(
                        "A0113",
                        method.span,
                        "fields of other objects cannot be read",
                    )
                    .label("expected `(` and arguments after the name of a method")
                    .help("fields are private in ABS: add a method that returns the value");
                    return Err(self.mistake(mistake));
                }
                let args = self.in_brackets(Self::expr)?;
                let object = Box::new(expr.clone());
                expr.kind = if asynchronous {
                    ExprKind::Async(object, method, args)
                } else {
                    ExprKind::Sync(object, method, args)
                };
            } else if self.is("as") || self.is("implements") {
                let cast = self.is("as");
                self.next();
                let name = self.qualified_type("the name of an interface")?;
                let object = Box::new(expr.clone());
                expr.kind = if cast {
                    ExprKind::As(object, name)
                } else {
                    ExprKind::Implements(object, name)
                };
            } else {
                return Ok(expr);
            }
            expr.span = start.to(self.span_before());
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span_here();
        let token = self.peek().clone();
        let kind = match token {
            TokenKind::Int(value) => {
                self.next();
                ExprKind::Int(value)
            }
            TokenKind::Float(value) => {
                self.next();
                ExprKind::Float(value)
            }
            TokenKind::Text(text) => {
                self.next();
                ExprKind::Text(text)
            }
            TokenKind::Template(parts) => {
                self.next();
                self.template(parts)?
            }
            TokenKind::Name(_) | TokenKind::TypeName(_) => match self.original()? {
                Some(original) => original,
                None => self.named()?,
            },
            TokenKind::Symbol("(") => {
                self.next();
                let inner = self.expr()?;
                self.expect(")")?;
                return Ok(Expr {
                    span: start.to(self.span_before()),
                    ..inner
                });
            }
            TokenKind::Keyword(word) => self.keyword(word)?,
            _ => return Err(self.expected("an expression")),
        };
        Ok(Expr {
            kind,
            span: start.to(self.span_before()),
        })
    }

    fn keyword(&mut self, word: &str) -> Parsed<ExprKind> {
        let start = self.span_here();
        match word {
            "this" => {
                self.next();
                let field = self.is(".")
                    && matches!(self.peek_at(1), TokenKind::Name(_))
                    && !self.is_at(2, "(");
                if field {
                    self.next();
                    return Ok(ExprKind::Field(self.name("the name of a field")?));
                }
                Ok(ExprKind::This)
            }
            "null" => {
                self.next();
                Ok(ExprKind::Null)
            }
            "destiny" => {
                self.next();
                Ok(ExprKind::Destiny)
            }
            "if" | "when" => {
                self.next();
                let condition = self.expr()?;
                self.expect("then")?;
                let yes = self.expr()?;
                self.expect("else")?;
                let no = self.expr()?;
                Ok(ExprKind::If(
                    Box::new(condition),
                    Box::new(yes),
                    Box::new(no),
                ))
            }
            "case" => {
                self.next();
                let value = self.expr()?;
                self.expect("{")?;
                let mut branches = Vec::new();
                self.accept("|");
                while !self.accept("}") {
                    let pattern = self.pattern()?;
                    self.expect("=>")?;
                    branches.push((pattern, self.expr()?));
                    if !self.accept(";") && !self.accept("|") && !self.is("}") {
                        return Err(self.expected("`|` and another branch, or `}`"));
                    }
                }
                Ok(ExprKind::Case(Box::new(value), branches))
            }
            "let" => {
                self.next();
                self.let_bindings()
            }
            "new" => {
                self.next();
                let local = self.accept("local");
                let class = self.qualified_type("the name of a class")?;
                let args = if self.is("(") {
                    self.in_brackets(Self::expr)?
                } else {
                    Vec::new()
                };
                Ok(ExprKind::New { local, class, args })
            }
            "await" => {
                self.next();
                let call = self.postfix()?;
                match call.kind {
                    ExprKind::Async(object, method, args) => {
                        Ok(ExprKind::AwaitCall(object, method, args))
                    }
                    _ => {
                        let mistake = Diagnostic::new("A0114", call.span, "only a call can be awaited here")
                            .label("expected `object!method(…)`")
                            .help("await a future in a statement of its own, `await f?;`, and then take `f.get`");
                        Err(self.mistake(mistake))
                    }
                }
            }
            "duration" => Err(self.report_excluded(Excluded::Time, start)),
            _ => Err(self.expected("an expression")),
        }
    }

    fn let_bindings(&mut self) -> Parsed<ExprKind> {
        let bracket = self.accept("(");
        let ty = self.ty()?;
        let name = self.name("the name of a variable")?;
        if bracket {
            self.expect(")")?;
        }
        self.expect("=")?;
        let value = self.expr()?;
        let body = if self.accept(",") {
            let start = self.span_here();
            let kind = self.nested(Self::let_bindings)?;
            Expr {
                kind,
                span: start.to(self.span_before()),
            }
        } else {
            self.expect("in")?;
            self.expr()?
        };
        Ok(ExprKind::Let(ty, name, Box::new(value), Box::new(body)))
    }

    /// Parses an expression that starts with a name: a variable, a constructor, a function.
    fn named(&mut self) -> Parsed<ExprKind> {
        let (name, small) = self.qualified("a name")?;
        if !small {
            let args = if self.is("(") {
                self.in_brackets(Self::expr)?
            } else {
                Vec::new()
            };
            return Ok(ExprKind::Construct(name, args));
        }
        if self.accept("[") {
            let elements = if self.is("]") {
                Vec::new()
            } else {
                self.list(Self::expr)?
            };
            self.expect("]")?;
            return Ok(ExprKind::Variadic(name, elements));
        }
        if !self.is("(") {
            return Ok(ExprKind::Variable(name));
        }
        let args = self.in_brackets(Self::argument)?;
        if self.is("(") {
            let functions = args
                .into_iter()
                .map(|arg| self.function(arg))
                .collect::<Parsed<_>>()?;
            let args = self.in_brackets(Self::expr)?;
            return Ok(ExprKind::Partial(name, functions, args));
        }
        let plain = |arg| match arg {
            Argument::Expr(expr) => Ok(expr),
            Argument::Function(_, span) => {
                let mistake = Diagnostic::new("A0115", span, "functions are not values")
                    .label("an anonymous function cannot be passed here")
                    .help(
                        "functions go in brackets of their own: `map((Int x) => x + 1)(numbers)`",
                    );
                Err(self.mistake(mistake))
            }
        };
        let args = args.into_iter().map(plain).collect::<Parsed<_>>()?;
        Ok(ExprKind::Call(name, args))
    }

    fn argument(&mut self) -> Parsed<Argument> {
        if !self.is("(") || !self.starts_function() {
            return self.expr().map(Argument::Expr);
        }
        let start = self.span_here();
        let parameters = self.in_brackets(|parser| {
            let ty = parser.ty()?;
            Ok((ty, parser.name("the name of a parameter")?))
        })?;
        self.expect("=>")?;
        let body = Box::new(self.expr()?);
        let span = start.to(self.span_before());
        let function = Function::Anonymous {
            parameters,
            body,
            span,
        };
        Ok(Argument::Function(function, span))
    }

    /// Whether `=>` follows the bracket that closes the current one.
    fn starts_function(&self) -> bool {
        let mut depth = 0usize;
        let mut ahead = 0;
        loop {
            match self.peek_at(ahead) {
                TokenKind::Symbol("(") => depth += 1,
                TokenKind::Symbol(")") => {
                    depth -= 1;
                    if depth == 0 {
                        return self.is_at(ahead + 1, "=>");
                    }
                }
                TokenKind::Symbol(";" | "{" | "}") | TokenKind::End => return false,
                _ => {}
            }
            ahead += 1;
        }
    }

    fn function(&mut self, argument: Argument) -> Parsed<Function> {
        match argument {
            Argument::Function(function, _) => Ok(function),
            Argument::Expr(Expr {
                kind: ExprKind::Variable(name),
                ..
            }) => Ok(Function::Named(name)),
            Argument::Expr(expr) => {
                let mistake = Diagnostic::new("A0115", expr.span, "a function is expected here")
                    .label("not the name of a function")
                    .help("the first brackets of a partial function hold functions, the second ones arguments");
                Err(self.mistake(mistake))
            }
        }
    }

    fn template(&mut self, parts: Vec<(String, Option<Span>)>) -> Parsed<ExprKind> {
        let mut read = Vec::new();
        for (text, place) in parts {
            let expr = match place {
                None => None,
                Some(span) => {
                    let (tokens, mistakes) =
                        words(self.source, span.start as usize, span.end as usize);
                    self.mistakes.extend(mistakes);
                    let outer = std::mem::replace(&mut self.tokens, tokens);
                    let at = std::mem::replace(&mut self.at, 0);
                    let expr = self.expr().and_then(|expr| match self.peek() {
                        TokenKind::End => Ok(expr),
                        _ => Err(self.expected("`$` after the expression")),
                    });
                    self.tokens = outer;
                    self.at = at;
                    Some(expr?)
                }
            };
            read.push((text, expr));
        }
        Ok(ExprKind::Template(read))
    }

    pub(super) fn pattern(&mut self) -> Parsed<Pattern> {
        self.nested(|parser| {
            let start = parser.span_here();
            let negative = parser.is("-") && matches!(parser.peek_at(1), TokenKind::Int(_));
            if negative {
                parser.next();
            }
            let kind = match parser.peek().clone() {
                TokenKind::Symbol("_") => {
                    parser.next();
                    PatternKind::Any
                }
                TokenKind::Int(value) => {
                    parser.next();
                    PatternKind::Int(if negative { -value } else { value })
                }
                TokenKind::Text(text) => {
                    parser.next();
                    PatternKind::Text(text)
                }
                TokenKind::Name(text) => {
                    let span = parser.span_here();
                    parser.next();
                    PatternKind::Variable(Name { text, span })
                }
                TokenKind::TypeName(_) => {
                    let name = parser.qualified_type("a constructor")?;
                    let parts = if parser.is("(") {
                        parser.in_brackets(Self::pattern)?
                    } else {
                        Vec::new()
                    };
                    PatternKind::Construct(name, parts)
                }
                _ => return Err(parser.expected("a pattern")),
            };
            Ok(Pattern {
                kind,
                span: start.to(parser.span_before()),
            })
        })
    }
}
