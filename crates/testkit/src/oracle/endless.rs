//! Bodies that no way leads out of (docs/language.md, Verdicts): a process that runs one is not
//! meant to end.

use super::ast::{Expr, Kind, Stmt};
use super::compile::Compiler;

/// What may follow some statements.
#[derive(Clone, Copy)]
struct After {
    /// The next statement.
    next: bool,
    /// Nothing: the process has ended, or failed.
    nothing: bool,
}

impl Compiler {
    /// Keeps it if the body that begins at an instruction is endless.
    pub(super) fn note_endless(&mut self, entry: usize, body: &[Stmt]) {
        if self.is_endless(body) {
            self.code.endless.insert(entry);
        }
    }

    /// Whether a process with this body is endless.
    pub(super) fn is_endless(&self, body: &[Stmt]) -> bool {
        let after = self.after_all(body, &mut Vec::new());
        !after.next && !after.nothing
    }

    /// `calls` are the procedures that the statements are in. A way that leads out of a procedure
    /// need not go through a call of the same procedure, so such a call is taken for a dead end.
    fn after_all<'a>(&'a self, body: &'a [Stmt], calls: &mut Vec<&'a str>) -> After {
        let mut nothing = false;
        for stmt in body {
            let after = self.after(stmt, calls);
            nothing |= after.nothing;
            if !after.next {
                return After {
                    next: false,
                    nothing,
                };
            }
        }
        After {
            next: true,
            nothing,
        }
    }

    fn after<'a>(&'a self, stmt: &'a Stmt, calls: &mut Vec<&'a str>) -> After {
        let one = std::slice::from_ref::<Stmt>;
        match &stmt.kind {
            Kind::End | Kind::Error(_) => After {
                next: false,
                nothing: true,
            },
            Kind::Guard(_, inner) => self.after(inner, calls),
            Kind::Atomic(body) | Kind::Seq(body) => self.after_all(body, calls),
            Kind::If(test, yes, no) => self.either(test, yes, no, calls),
            Kind::Choice(yes, test, no) => self.either(test, one(yes), one(no), calls),
            Kind::While(test, bound, _, body) => After {
                next: bound.is_some() || self.truth(test) != Some(true),
                nothing: self.after_all(body, calls).nothing,
            },
            Kind::GuardedLoop(test, inner) => After {
                next: self.truth(test) != Some(true),
                nothing: self.after(inner, calls).nothing,
            },
            Kind::For(.., body) => After {
                next: true,
                nothing: self.after_all(body, calls).nothing,
            },
            Kind::Call(name, _) => {
                let dead_end = After {
                    next: false,
                    nothing: false,
                };
                let Some((name, body)) = self.bodies.get_key_value(name) else {
                    return dead_end;
                };
                if calls.contains(&name.as_str()) {
                    return dead_end;
                }
                calls.push(name);
                let after = self.after_all(body, calls);
                calls.pop();
                after
            }
            _ => After {
                next: true,
                nothing: false,
            },
        }
    }

    fn either<'a>(
        &'a self,
        test: &Expr,
        yes: &'a [Stmt],
        no: &'a [Stmt],
        calls: &mut Vec<&'a str>,
    ) -> After {
        match self.truth(test) {
            Some(true) => self.after_all(yes, calls),
            Some(false) => self.after_all(no, calls),
            None => {
                let (yes, no) = (self.after_all(yes, calls), self.after_all(no, calls));
                After {
                    next: yes.next || no.next,
                    nothing: yes.nothing || no.nothing,
                }
            }
        }
    }
}
