//! Parses statements. A type followed by a name begins the declaration of a variable. A statement
//! that begins with no keyword is a declaration, an assignment or an expression.

use super::excluded::Excluded;
use super::{Parsed, Parser};
use crate::syntax::ast::{Expr, ExprKind, Guard, Pattern, Stmt, StmtKind};
use crate::syntax::token::TokenKind;

impl Parser<'_> {
    /// Parses the statements of a block, including its closing bracket.
    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.expect("{")?;
        let mut all = Vec::new();
        while !self.is("}") {
            if self.peek() == &TokenKind::End {
                self.expect("}")?;
            }
            match self.stmt() {
                Ok(stmt) => all.push(stmt),
                Err(_) => self.recover(),
            }
        }
        self.next();
        Ok(all)
    }

    pub(super) fn stmt(&mut self) -> Parsed<Stmt> {
        self.nested(|parser| {
            let annotations = parser.annotations()?;
            let start = parser.span_here();
            let mut kind = parser.stmt_kind()?;
            if let StmtKind::Declare { ty, fixed, .. } = &mut kind {
                ty.nonnull |= annotations.has("Nonnull");
                *fixed = annotations.has("Final");
            }
            let deadline = annotations.labelled("Deadline").cloned();
            Ok(Stmt {
                kind,
                span: start.to(parser.span_before()),
                deadline: deadline.filter(|_| !parser.ignore_time),
            })
        })
    }

    fn stmt_kind(&mut self) -> Parsed<StmtKind> {
        let start = self.span_here();
        let kind = match *self.peek() {
            TokenKind::Symbol("{") => return Ok(StmtKind::Block(self.block()?)),
            TokenKind::Symbol(";") => {
                self.next();
                return Ok(StmtKind::Skip);
            }
            TokenKind::Keyword(word) => match word {
                "if" => return self.if_stmt(),
                "while" => {
                    self.next();
                    self.expect("(")?;
                    let condition = self.expr()?;
                    self.expect(")")?;
                    return Ok(StmtKind::While(condition, Box::new(self.stmt()?)));
                }
                "foreach" => return self.foreach(),
                "switch" | "case" => {
                    self.next();
                    let value = self.expr()?;
                    return Ok(StmtKind::Switch(value, self.branches()?));
                }
                "try" => return self.try_stmt(),
                "skip" => {
                    self.next();
                    StmtKind::Skip
                }
                "return" => {
                    self.next();
                    if self.is(";") {
                        // The grammar of ABS has no `return;`, but its meaning is clear.
                        StmtKind::Return(Expr {
                            kind: ExprKind::Construct(
                                crate::syntax::ast::Name {
                                    text: "Unit".to_owned(),
                                    span: start,
                                },
                                Vec::new(),
                            ),
                            span: start,
                        })
                    } else {
                        StmtKind::Return(self.expr()?)
                    }
                }
                "assert" => {
                    self.next();
                    StmtKind::Assert(self.expr()?)
                }
                "throw" => {
                    self.next();
                    StmtKind::Throw(self.expr()?)
                }
                "suspend" => {
                    self.next();
                    StmtKind::Suspend
                }
                "await" => self.await_stmt()?,
                "duration" => {
                    self.next();
                    match self.bounds()? {
                        Some((min, max)) => StmtKind::Duration(min, max),
                        None => StmtKind::Suspend,
                    }
                }
                "die" => {
                    self.next();
                    StmtKind::Die(self.expr()?)
                }
                "movecogto" => return Err(self.report_excluded(Excluded::Deployment, start)),
                _ => self.simple()?,
            },
            _ => self.simple()?,
        };
        self.expect(";")?;
        Ok(kind)
    }

    /// Parses the least and the greatest time; returns `None` if time is ignored.
    fn bounds(&mut self) -> Parsed<Option<(Expr, Option<Expr>)>> {
        self.expect("(")?;
        let min = self.expr()?;
        let max = if self.accept(",") {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect(")")?;
        Ok((!self.ignore_time).then_some((min, max)))
    }

    /// Parses a declaration, an assignment or an expression.
    fn simple(&mut self) -> Parsed<StmtKind> {
        if self.starts_declaration() {
            let ty = self.ty()?;
            let name = self.name("the name of a variable")?;
            let value = if self.accept("=") {
                Some(self.expr()?)
            } else {
                None
            };
            return Ok(StmtKind::Declare {
                ty,
                name,
                value,
                fixed: false,
            });
        }
        let target = self.expr()?;
        if !self.accept("=") {
            return Ok(StmtKind::Expr(target));
        }
        let value = self.expr()?;
        match target.kind {
            ExprKind::Variable(name) => Ok(StmtKind::Assign {
                field: false,
                name,
                value,
            }),
            ExprKind::Field(name) => Ok(StmtKind::Assign {
                field: true,
                name,
                value,
            }),
            _ => {
                let mistake = mazurka_diagnostics::Diagnostic::new(
                    "A0116",
                    target.span,
                    "this cannot be assigned to",
                )
                .label("expected a variable or `this.` and a field")
                .help("to compare, write `==`");
                Err(self.mistake(mistake))
            }
        }
    }

    /// Whether a type and a name follow.
    fn starts_declaration(&self) -> bool {
        let mut ahead = 0;
        loop {
            if !matches!(self.peek_at(ahead), TokenKind::TypeName(_)) {
                return false;
            }
            ahead += 1;
            if !self.is_at(ahead, ".") {
                break;
            }
            ahead += 1;
        }
        matches!(self.peek_at(ahead), TokenKind::Name(_)) || self.is_at(ahead, "<")
    }

    fn if_stmt(&mut self) -> Parsed<StmtKind> {
        self.next();
        if !self.is("(") {
            return Err(self.expected("`(` around the condition"));
        }
        let condition = self.expr()?;
        let yes = Box::new(self.stmt()?);
        let no = if self.accept("else") {
            Some(Box::new(self.stmt()?))
        } else {
            None
        };
        Ok(StmtKind::If(condition, yes, no))
    }

    fn foreach(&mut self) -> Parsed<StmtKind> {
        self.next();
        self.expect("(")?;
        let name = self.name("the name of a variable")?;
        let index = if self.accept(",") {
            Some(self.name("the name of a variable")?)
        } else {
            None
        };
        self.expect("in")?;
        let list = self.expr()?;
        self.expect(")")?;
        Ok(StmtKind::Foreach {
            name,
            index,
            list,
            body: Box::new(self.stmt()?),
        })
    }

    pub(super) fn branches(&mut self) -> Parsed<Vec<(Pattern, Stmt)>> {
        self.expect("{")?;
        let mut all = Vec::new();
        while !self.accept("}") {
            let pattern = self.pattern()?;
            self.expect("=>")?;
            all.push((pattern, self.stmt()?));
        }
        Ok(all)
    }

    fn try_stmt(&mut self) -> Parsed<StmtKind> {
        self.next();
        let body = Box::new(self.stmt()?);
        self.expect("catch")?;
        let catches = if self.is("{") {
            self.branches()?
        } else {
            let pattern = self.pattern()?;
            self.expect("=>")?;
            vec![(pattern, self.stmt()?)]
        };
        let finally = if self.accept("finally") {
            Some(Box::new(self.stmt()?))
        } else {
            None
        };
        Ok(StmtKind::Try {
            body,
            catches,
            finally,
        })
    }

    fn await_stmt(&mut self) -> Parsed<StmtKind> {
        let start = self.span_here();
        self.next();
        let mut guards = Vec::new();
        loop {
            if self.accept("duration") {
                let bounds = self.bounds()?;
                guards.push(Guard::Duration(bounds));
            } else {
                let expr = self.expr()?;
                guards.push(if self.accept("?") {
                    Guard::Claim(expr)
                } else {
                    Guard::Condition(expr)
                });
            }
            if !self.accept("&") {
                break;
            }
        }
        if let [Guard::Condition(expr)] = &mut guards[..]
            && let ExprKind::Async(object, method, args) = &expr.kind
        {
            let kind = ExprKind::AwaitCall(object.clone(), method.clone(), args.clone());
            let span = start.to(expr.span);
            return Ok(StmtKind::Expr(Expr { kind, span }));
        }
        Ok(StmtKind::Await(guards))
    }
}
