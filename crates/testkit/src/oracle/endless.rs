//! Finds endless bodies (docs/language.md, Verdicts): bodies with no way out. A process that runs
//! one is not meant to end. A failure is not a way out, because it halts a process without ending
//! it.

use super::ast::{Alternative, Expr, Kind, Stmt};
use super::compile::Compiler;

/// The continuations that are possible after some statements.
#[derive(Clone, Copy)]
struct After {
    /// The next statement.
    next: bool,
    /// Nothing: the process ends.
    nothing: bool,
    /// The statements themselves, in an endless loop.
    itself: bool,
    /// In order: the statement after the enclosing loop, its next round, the statement after the
    /// call.
    broken: bool,
    again: bool,
    returned: bool,
}

impl After {
    const NEXT: After = After {
        next: true,
        nothing: false,
        itself: false,
        broken: false,
        again: false,
        returned: false,
    };
    /// A path that ends here: a failure, or a call that other paths make irrelevant.
    const DEAD_END: After = After {
        next: false,
        ..After::NEXT
    };

    fn either(self, other: After) -> After {
        After {
            next: self.next || other.next,
            nothing: self.nothing || other.nothing,
            itself: self.itself || other.itself,
            broken: self.broken || other.broken,
            again: self.again || other.again,
            returned: self.returned || other.returned,
        }
    }

    /// Returns the continuation of a round of a loop, where `continue` is the end of the round.
    fn round(self) -> After {
        After {
            next: self.next || self.again,
            again: false,
            ..self
        }
    }

    /// Returns the continuation of a loop, where `break` is the end of the loop.
    fn outside(self) -> After {
        After {
            next: self.next || self.broken,
            broken: false,
            ..self
        }
    }
}

impl Compiler {
    /// Notes that the body at `entry` is endless, if it is.
    pub(super) fn note_endless(&mut self, entry: usize, body: &[Stmt]) {
        if self.is_endless(body) {
            self.code.endless.insert(entry);
        }
    }

    /// Whether a process with this body is endless.
    pub(super) fn is_endless(&self, body: &[Stmt]) -> bool {
        let after = self.after_all(body, &mut Vec::new());
        after.itself && !after.next && !after.nothing
    }

    /// `calls` are the procedures around the statements. A path out of a procedure need not go
    /// through a recursive call, so such a call counts as a dead end.
    fn after_all<'a>(&'a self, body: &'a [Stmt], calls: &mut Vec<&'a str>) -> After {
        let mut all = After::DEAD_END;
        for stmt in body {
            let after = self.after(stmt, calls);
            let next = after.next;
            all = all.either(After {
                next: false,
                ..after
            });
            if !next {
                return all;
            }
        }
        all.either(After::NEXT)
    }

    fn after<'a>(&'a self, stmt: &'a Stmt, calls: &mut Vec<&'a str>) -> After {
        let one = std::slice::from_ref::<Stmt>;
        match &stmt.kind {
            Kind::End => After {
                nothing: true,
                ..After::DEAD_END
            },
            Kind::Error(_) => After::DEAD_END,
            Kind::Break | Kind::Continue | Kind::Return => After {
                broken: matches!(stmt.kind, Kind::Break),
                again: matches!(stmt.kind, Kind::Continue),
                returned: matches!(stmt.kind, Kind::Return),
                ..After::DEAD_END
            },
            Kind::Guard(_, inner) => self.after(inner, calls),
            Kind::Atomic(body) | Kind::Seq(body) => self.after_all(body, calls),
            Kind::If(test, yes, no) => self.either(test, yes, no, calls),
            Kind::Select(all, other) => {
                let bodies = all.iter().map(|one| match one {
                    Alternative::When(_, body) | Alternative::Does(_, body) => body,
                });
                let bodies = bodies.chain(other);
                bodies.fold(After::DEAD_END, |after, body| {
                    after.either(self.after_all(body, calls))
                })
            }
            Kind::Choice(yes, test, no) => self.either(test, one(yes), one(no), calls),
            Kind::While(_, Some(most), ..) if self.constant_number(most).is_some_and(|n| n < 1) => {
                After::NEXT
            }
            Kind::While(test, most, _, body) => {
                let round = self.after_all(body, calls).round();
                self.looping(test, most.is_none(), round).outside()
            }
            Kind::GuardedLoop(test, inner) => {
                let round = self.after(inner, calls).round();
                self.looping(test, true, round).outside()
            }
            Kind::For(_, first, end, body) => {
                let round = self.after_all(body, calls).round().outside();
                match (self.constant_number(first), self.constant_number(end)) {
                    (Some(first), Some(end)) if first < end => round,
                    (Some(_), Some(_)) => After::NEXT,
                    _ => round.either(After::NEXT),
                }
            }
            Kind::Call(name, _) => {
                let Some((name, body)) = self.bodies.get_key_value(name) else {
                    return After::DEAD_END;
                };
                if calls.contains(&name.as_str()) {
                    return After::DEAD_END;
                }
                calls.push(name);
                let after = self.after_all(body, calls);
                calls.pop();
                After {
                    next: after.next || after.returned,
                    returned: false,
                    ..after
                }
            }
            _ => After::NEXT,
        }
    }

    /// Returns the possible continuations of a loop, given those of one of its rounds.
    fn looping(&self, test: &Expr, unbounded: bool, round: After) -> After {
        match self.truth(test) {
            Some(false) => After::NEXT,
            Some(true) if unbounded => After {
                next: false,
                itself: true,
                ..round
            },
            Some(true) => round,
            None => round.either(After::NEXT),
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
            None => self.after_all(yes, calls).either(self.after_all(no, calls)),
        }
    }
}
