//! Which bodies are not meant to end: a server that serves for ever.
//!
//! A body is *endless* if none of its ways leads to its end or to an `end`: each enters a
//! `while true`, here or in a procedure. A process with such a body that runs for ever is ordinary;
//! if any other does, in a cycle that a fair scheduler can follow, it is a livelock.

use crate::check::hir::{Expr, ExprKind, ProcedureId, Program, Stmt, StmtKind};

/// Where a process may get to from some statements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ways {
    /// To what stands after them.
    on: bool,
    /// To its end, by `end`; or to a failure, which is no reason to call it endless.
    out: bool,
}

impl Ways {
    const ON: Ways = Ways {
        on: true,
        out: false,
    };

    fn or(self, other: Ways) -> Ways {
        Ways {
            on: self.on || other.on,
            out: self.out || other.out,
        }
    }
}

/// Tells endless bodies of one program.
pub(crate) struct Ends {
    /// For each procedure.
    procedures: Vec<Ways>,
}

impl Ends {
    /// Follows the procedures of a program until nothing changes: a procedure that only calls
    /// itself leads nowhere.
    pub fn new(program: &Program) -> Self {
        let mut ends = Ends {
            procedures: vec![Ways::default(); program.procedures.len()],
        };
        loop {
            let bodies = program.procedures.iter();
            let next: Vec<Ways> = bodies.map(|p| ends.list(&p.body)).collect();
            if next == ends.procedures {
                return ends;
            }
            ends.procedures = next;
        }
    }

    /// Whether a process with this body is not meant to end.
    pub fn is_endless(&self, body: &[Stmt]) -> bool {
        self.list(body) == Ways::default()
    }

    fn list(&self, stmts: &[Stmt]) -> Ways {
        let mut out = false;
        for stmt in stmts {
            let ways = self.stmt(stmt);
            out |= ways.out;
            if !ways.on {
                return Ways { on: false, out };
            }
        }
        Ways { on: true, out }
    }

    fn stmt(&self, stmt: &Stmt) -> Ways {
        match &stmt.kind {
            StmtKind::End | StmtKind::Error(_) => Ways {
                on: false,
                out: true,
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
            } => Ways {
                on: bound.is_some() || constant(test) != Some(true),
                out: self.list(body).out,
            },
            StmtKind::GuardedLoop(test, body) => Ways {
                on: constant(test) != Some(true),
                out: self.stmt(body).out,
            },
            StmtKind::For { body, .. } => Ways {
                on: true,
                out: self.list(body).out,
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
            | StmtKind::Assume(_) => Ways::ON,
        }
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
    use super::Ends;

    #[test]
    fn a_body_without_a_way_to_its_end_is_endless() {
        let program = |body: &str| {
            let source = format!(
                "var x: int = 0
                 proc serve() {{ while true {{ x := 1 - x }} }}
                 proc once() {{ x := 1 }}
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
            ("let p = spawn { serve() }; join p", false),
        ] {
            let program = program(body);
            let ends = Ends::new(&program);
            let found = ends.is_endless(&program.processes[0].body);
            assert_eq!(found, endless, "{body}");
        }
    }
}
