//! Finds endless bodies (docs/language.md, Verdicts): bodies with an endless loop and no path to
//! their end. A process that runs an endless body is not meant to end. A failure is not such a
//! path, because it halts a process without ending it.

use super::ast::{Alternative, Expr, Kind, Stmt};
use super::compile::Compiler;

/// The possible continuations after some statements. Each field says whether one of them is
/// possible.
#[derive(Clone, Copy)]
struct Continuations {
    /// The statement after them.
    next: bool,
    /// Nothing, because the process ends.
    nothing: bool,
    /// The statements themselves again, in an endless loop.
    itself: bool,
    /// After a `break`, the statement after the enclosing loop (`broken`); after a `continue`, the
    /// next round of that loop (`again`); after a `return`, the statement after the call
    /// (`returned`).
    broken: bool,
    again: bool,
    returned: bool,
}

impl Continuations {
    const NEXT: Continuations = Continuations {
        next: true,
        nothing: false,
        itself: false,
        broken: false,
        again: false,
        returned: false,
    };
    /// Nothing is executed after a failure. A recursive call counts as a failure, too (see
    /// `after_all`).
    const DEAD_END: Continuations = Continuations {
        next: false,
        ..Continuations::NEXT
    };

    fn either(self, other: Continuations) -> Continuations {
        Continuations {
            next: self.next || other.next,
            nothing: self.nothing || other.nothing,
            itself: self.itself || other.itself,
            broken: self.broken || other.broken,
            again: self.again || other.again,
            returned: self.returned || other.returned,
        }
    }

    /// Returns the continuations of a round of a loop, given those of its statements: a `continue`
    /// ends the round.
    fn round(self) -> Continuations {
        Continuations {
            next: self.next || self.again,
            again: false,
            ..self
        }
    }

    /// Returns the continuations of a loop, given those of its rounds: a `break` ends the loop.
    fn outside(self) -> Continuations {
        Continuations {
            next: self.next || self.broken,
            broken: false,
            ..self
        }
    }
}

impl Compiler {
    /// Records whether the body at `entry` is endless.
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

    /// Returns the continuations after these statements. `calls` are the procedures that are being
    /// called. If a procedure has a path to its end, it has one without recursive calls, so a
    /// recursive call counts as a dead end.
    fn after_all<'a>(&'a self, body: &'a [Stmt], calls: &mut Vec<&'a str>) -> Continuations {
        let mut all = Continuations::DEAD_END;
        for stmt in body {
            let after = self.after(stmt, calls);
            let next = after.next;
            all = all.either(Continuations {
                next: false,
                ..after
            });
            if !next {
                return all;
            }
        }
        all.either(Continuations::NEXT)
    }

    fn after<'a>(&'a self, stmt: &'a Stmt, calls: &mut Vec<&'a str>) -> Continuations {
        let one = std::slice::from_ref::<Stmt>;
        match &stmt.kind {
            Kind::End => Continuations {
                nothing: true,
                ..Continuations::DEAD_END
            },
            Kind::Error(_) => Continuations::DEAD_END,
            Kind::Break | Kind::Continue | Kind::Return => Continuations {
                broken: matches!(stmt.kind, Kind::Break),
                again: matches!(stmt.kind, Kind::Continue),
                returned: matches!(stmt.kind, Kind::Return),
                ..Continuations::DEAD_END
            },
            Kind::Guard(_, inner) => self.after(inner, calls),
            Kind::Atomic(body) | Kind::Seq(body) => self.after_all(body, calls),
            Kind::If(test, yes, no) => self.either(test, yes, no, calls),
            Kind::Select(all, other) => {
                let bodies = all.iter().map(|one| match one {
                    Alternative::When(_, body) | Alternative::Does(_, body) => body,
                });
                let bodies = bodies.chain(other);
                bodies.fold(Continuations::DEAD_END, |after, body| {
                    after.either(self.after_all(body, calls))
                })
            }
            Kind::Choice(yes, test, no) => self.either(test, one(yes), one(no), calls),
            Kind::While(_, Some(most), ..) if self.constant_number(most).is_some_and(|n| n < 1) => {
                Continuations::NEXT
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
                    (Some(_), Some(_)) => Continuations::NEXT,
                    _ => round.either(Continuations::NEXT),
                }
            }
            Kind::Call(name, _) => {
                let Some((name, body)) = self.bodies.get_key_value(name) else {
                    return Continuations::DEAD_END;
                };
                if calls.contains(&name.as_str()) {
                    return Continuations::DEAD_END;
                }
                calls.push(name);
                let after = self.after_all(body, calls);
                calls.pop();
                Continuations {
                    next: after.next || after.returned,
                    returned: false,
                    ..after
                }
            }
            _ => Continuations::NEXT,
        }
    }

    /// Returns the possible continuations of a loop, given those of one of its rounds.
    fn looping(&self, test: &Expr, unbounded: bool, round: Continuations) -> Continuations {
        match self.truth(test) {
            Some(false) => Continuations::NEXT,
            Some(true) if unbounded => Continuations {
                next: false,
                itself: true,
                ..round
            },
            Some(true) => round,
            None => round.either(Continuations::NEXT),
        }
    }

    fn either<'a>(
        &'a self,
        test: &Expr,
        yes: &'a [Stmt],
        no: &'a [Stmt],
        calls: &mut Vec<&'a str>,
    ) -> Continuations {
        match self.truth(test) {
            Some(true) => self.after_all(yes, calls),
            Some(false) => self.after_all(no, calls),
            None => self.after_all(yes, calls).either(self.after_all(no, calls)),
        }
    }
}
