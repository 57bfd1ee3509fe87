//! Decides which statements are not steps: those that touch only locals, choose nothing and cannot
//! wait.

use super::ast::{Expr, Init, Kind, Stmt};
use super::compile::{Compiler, Meaning};

impl Compiler {
    /// Whether all these statements are local, including the procedures that they call.
    pub(super) fn all_local(&self, body: &[Stmt]) -> bool {
        self.local_but_for(body, &mut Vec::new())
    }

    /// Whether these statements are local if the procedures in `assumed` are local.
    fn local_but_for(&self, body: &[Stmt], assumed: &mut Vec<String>) -> bool {
        body.iter().all(|stmt| self.is_local(stmt, assumed))
    }

    fn is_local(&self, stmt: &Stmt, assumed: &mut Vec<String>) -> bool {
        let plain = |e: &Expr| !self.touches(e);
        match &stmt.kind {
            Kind::Skip
            | Kind::Print(_)
            | Kind::End
            | Kind::Error(_)
            | Kind::Break
            | Kind::Continue
            | Kind::Return => true,
            Kind::Guard(..)
            | Kind::GuardedLoop(..)
            | Kind::Await(_)
            | Kind::Spawn(..)
            | Kind::Join(_)
            | Kind::Lock(_)
            | Kind::Operate(..)
            | Kind::Try(..)
            | Kind::Update(..)
            | Kind::Send(..)
            | Kind::Receive(..)
            | Kind::Select(..)
            | Kind::Unlock(_) => false,
            Kind::Assign(places, values) => {
                let shared = |name| matches!(self.lookup(name), Some(Meaning::Shared { .. }));
                let mut indices = places.iter().filter_map(|p| p.index.as_ref());
                !places.iter().any(|p| shared(&p.name))
                    && indices.all(plain)
                    && values.iter().all(plain)
            }
            Kind::Let(_, _, _, Init::One(value)) => plain(value),
            Kind::Let(_, _, _, Init::List(values)) => values.iter().all(plain),
            Kind::Assert(test, _) | Kind::Assume(test) => plain(test),
            Kind::Choice(one, test, other) => {
                plain(test) && self.is_local(one, assumed) && self.is_local(other, assumed)
            }
            Kind::If(test, yes, no) => {
                plain(test) && self.local_but_for(yes, assumed) && self.local_but_for(no, assumed)
            }
            Kind::While(test, _, _, body) => plain(test) && self.local_but_for(body, assumed),
            Kind::For(_, low, high, body) => {
                plain(low) && plain(high) && self.local_but_for(body, assumed)
            }
            Kind::Seq(body) | Kind::Atomic(body) => self.local_but_for(body, assumed),
            Kind::Call(name, arguments) => {
                if !arguments.iter().all(plain) {
                    return false;
                }
                let Some(body) = self.bodies.get(name).filter(|_| !assumed.contains(name)) else {
                    return true;
                };
                assumed.push(name.clone());
                let local = self.local_but_for(body, assumed);
                assumed.pop();
                local
            }
        }
    }
}
