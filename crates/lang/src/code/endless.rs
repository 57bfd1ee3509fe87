//! Finds the bodies that are not meant to end, such as the body of a server.
//!
//! A body is *endless* if none of its paths leads to its end or to an `end`. Each path enters a
//! `while true`, in the body or in a procedure that it calls, or fails at an `error`; and at least
//! one path enters such a loop. A failure halts a process but does not end it, so a server with an
//! `error` is still a server. A process with an endless body may run forever. If another process
//! runs forever, in a cycle that a fair scheduler can follow, the run is a livelock.

use crate::check::hir::{Expr, ExprKind, Leave, ProcedureId, Program, Stmt, StmtKind, Type};

/// The places to which control may go from a list of statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Continuations {
    /// To the statement after them.
    falls_through: bool,
    /// To the end of the process, by `end`.
    ends_process: bool,
    /// Into a loop that is never left.
    runs_forever: bool,
    /// To the statement after the enclosing loop.
    breaks: bool,
    /// To the next round of the enclosing loop.
    continues: bool,
    /// Out of the procedure.
    returns: bool,
}

impl Continuations {
    const NOWHERE: Continuations = Continuations {
        falls_through: false,
        ends_process: false,
        runs_forever: false,
        breaks: false,
        continues: false,
        returns: false,
    };
    const FALLS_THROUGH: Continuations = Continuations {
        falls_through: true,
        ..Continuations::NOWHERE
    };

    fn or(self, other: Continuations) -> Continuations {
        Continuations {
            falls_through: self.falls_through || other.falls_through,
            ends_process: self.ends_process || other.ends_process,
            runs_forever: self.runs_forever || other.runs_forever,
            breaks: self.breaks || other.breaks,
            continues: self.continues || other.continues,
            returns: self.returns || other.returns,
        }
    }

    /// Returns the continuations of one round of a loop, from those of its body. The end of a round
    /// leads to the next round.
    fn after_round(self) -> Continuations {
        Continuations {
            falls_through: self.falls_through || self.continues,
            continues: false,
            ..self
        }
    }

    /// Returns the continuations of a whole loop. A `break` leads to the statement after it.
    fn after_loop(self) -> Continuations {
        Continuations {
            falls_through: self.falls_through || self.breaks,
            breaks: false,
            ..self
        }
    }
}

/// Decides which bodies of a program are endless.
pub(crate) struct EndlessBodies {
    /// The continuations of each procedure.
    procedures: Vec<Continuations>,
}

impl EndlessBodies {
    /// Computes the least fixed point over the procedures of a program. So a procedure that only
    /// calls itself has no continuation.
    pub fn new(program: &Program) -> Self {
        let mut ends = EndlessBodies {
            procedures: vec![Continuations::default(); program.procedures.len()],
        };
        loop {
            let bodies = program.procedures.iter();
            let next = bodies
                .map(|p| ends.list(&p.body))
                .map(|ways| Continuations {
                    falls_through: ways.falls_through || ways.returns,
                    returns: false,
                    ..ways
                });
            let next: Vec<Continuations> = next.collect();
            if next == ends.procedures {
                return ends;
            }
            ends.procedures = next;
        }
    }

    /// Whether a process with this body is not meant to end.
    pub fn is_endless(&self, body: &[Stmt]) -> bool {
        let ways = self.list(body);
        ways.runs_forever && !ways.falls_through && !ways.ends_process
    }

    fn list(&self, stmts: &[Stmt]) -> Continuations {
        let mut all = Continuations::FALLS_THROUGH;
        for stmt in stmts {
            let ways = self.stmt(stmt);
            all = Continuations {
                falls_through: ways.falls_through,
                ..all.or(ways)
            };
            if !ways.falls_through {
                break;
            }
        }
        all
    }

    fn stmt(&self, stmt: &Stmt) -> Continuations {
        match &stmt.kind {
            StmtKind::End => Continuations {
                ends_process: true,
                ..Continuations::NOWHERE
            },
            StmtKind::Error(_) => Continuations::NOWHERE,
            StmtKind::Leave(leave) => Continuations {
                breaks: *leave == Leave::Loop,
                continues: *leave == Leave::Round,
                returns: *leave == Leave::Procedure,
                ..Continuations::NOWHERE
            },
            StmtKind::Block(body) | StmtKind::Atomic(body) => self.list(body),
            StmtKind::Guard(_, body) => self.stmt(body),
            StmtKind::If(test, then, other) => match constant(test) {
                Some(holds) => self.list(if holds { then } else { other }),
                None => self.list(then).or(self.list(other)),
            },
            StmtKind::Choice { test, then, other } => match constant(test) {
                Some(holds) => self.stmt(if holds { then } else { other }),
                None => self.stmt(then).or(self.stmt(other)),
            },
            StmtKind::While {
                test, bound, body, ..
            } => {
                let most = bound.as_ref().map(|(most, _)| *most);
                repeated(constant(test), most, self.list(body).after_round()).after_loop()
            }
            StmtKind::GuardedLoop(test, body) => {
                repeated(constant(test), None, self.stmt(body).after_round()).after_loop()
            }
            StmtKind::For { from, to, body, .. } => match rounds(from, to) {
                Some(false) => Continuations::FALLS_THROUGH,
                Some(true) => self.list(body).after_round().after_loop(),
                None => Continuations::FALLS_THROUGH.or(self.list(body).after_round().after_loop()),
            },
            StmtKind::Call(ProcedureId(callee), _) => self.procedures[*callee as usize],
            StmtKind::Skip
            | StmtKind::Assign(..)
            | StmtKind::Let(..)
            | StmtKind::Spawn(..)
            | StmtKind::Join(_)
            | StmtKind::Lock(..)
            | StmtKind::Unlock(..)
            | StmtKind::Assert(..)
            | StmtKind::Assume(_) => Continuations::FALLS_THROUGH,
        }
    }
}

/// Returns the continuations of a loop, from those of its body and the greatest number of rounds.
fn repeated(test: Option<bool>, most: Option<i64>, body: Continuations) -> Continuations {
    match (test, most) {
        (Some(false), _) | (_, Some(..=0)) => Continuations::FALLS_THROUGH,
        (Some(true), None) => Continuations {
            falls_through: false,
            runs_forever: true,
            ..body
        },
        (Some(true), Some(_)) => body,
        (None, _) => Continuations::FALLS_THROUGH.or(body),
    }
}

/// Whether a `for` makes at least one round, if its range is constant.
fn rounds(from: &Expr, to: &Expr) -> Option<bool> {
    match (&from.kind, &to.kind) {
        (ExprKind::Const(first), ExprKind::Const(end)) => Some(match from.ty {
            Type::Unsigned(64) => (*first as u64) < *end as u64,
            _ => first < end,
        }),
        _ => None,
    }
}

fn constant(test: &Expr) -> Option<bool> {
    match test.kind {
        ExprKind::Const(value) => Some(value != 0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::EndlessBodies;

    #[test]
    fn a_body_without_a_way_to_its_end_is_endless() {
        let program = |body: &str| {
            let source = format!(
                "var x: int = 0
                 proc serve() {{ while true {{ x := 1 - x }} }}
                 proc once() {{ x := 1 }}
                 proc leave() {{ while true {{ if x == 1 {{ return }}; x := 1 - x }} }}
                 process {{ {body} }}"
            );
            crate::load(&source, &[]).unwrap_or_else(|e| panic!("{body}: {e:?}"))
        };
        for (body, endless) in [
            ("while true { x := 1 - x }", true),
            ("x := 3; while true { once() }", true),
            ("serve()", true),
            (
                "if x == 0 { serve() } else { while 1 < 2 { x := 2 } }",
                true,
            ),
            ("if x == 0 { serve() } else { x := 2 }", false),
            ("while x == 0 { x := 0 }", false),
            ("while true { if x == 1 { end }; x := 1 - x }", false),
            ("while true { assert x == 0; x := 1 - x }", true),
            ("for i in 0..3 { x := i }", false),
            ("once()", false),
            ("error", false),
            ("if x == 5 { error } else { serve() }", true),
            ("while x == 0 { skip }; error", false),
            ("while true { if x == 5 { error }; x := 1 - x }", true),
            ("if x == 5 { error }; serve()", true),
            ("if x == 5 { error }; x := 1", false),
            ("for i in 0..2 { while true { x := i } }", true),
            ("for i in 2..2 { while true { x := i } }", false),
            ("for i in 0..x { while true { x := i } }", false),
            ("for i in 0..2 { end }", false),
            ("while true { x := 1 - x; while false { end } }", true),
            ("while true { x := 1 - x; false |>* end }", true),
            ("while (true)[3] { serve() }", true),
            ("while (true)[3] { x := 1 }", false),
            ("let p = spawn { serve() }; join p", false),
            ("while true { if x == 1 { break }; x := 1 - x }", false),
            ("while true { if x == 1 { continue }; x := 1 - x }", true),
            ("while true { while true { break }; x := 1 - x }", true),
            ("while (true)[3] { continue; serve() }", false),
            ("for i in 0..2 { if x == 1 { break }; serve() }", false),
            ("leave()", false),
        ] {
            let program = program(body);
            let ends = EndlessBodies::new(&program);
            let found = ends.is_endless(&program.processes[0].body);
            assert_eq!(found, endless, "{body}");
        }
    }
}
