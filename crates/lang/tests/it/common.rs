//! Prints a checked program as text, with parentheses around every operator.

use mazurka_lang::hir::*;

pub fn expr(e: &Expr, locals: &[Local], vars: &[Var]) -> String {
    let show = |e: &Expr| expr(e, locals, vars);
    let local = |id: &LocalId| locals[id.0 as usize].name.clone();
    let var = |id: &VarId| vars[id.0 as usize].name.clone();
    match &e.kind {
        ExprKind::Const(value) if e.ty == Type::Bool => (*value != 0).to_string(),
        ExprKind::Const(value) => value.to_string(),
        ExprKind::Local(id) => local(id),
        ExprKind::LocalElement(id, index) => format!("{}[{}]", local(id), show(index)),
        ExprKind::Shared(id) => var(id),
        ExprKind::Element(id, index) => format!("{}[{}]", var(id), show(index)),
        ExprKind::Unary(UnaryOp::Not, e) => format!("!{}", show(e)),
        ExprKind::Unary(UnaryOp::Neg, e) => format!("-{}", show(e)),
        ExprKind::Unary(UnaryOp::BitNot, e) => format!("~{}", show(e)),
        ExprKind::Binary(op, a, b) => format!("({} {op:?} {})", show(a), show(b)),
        ExprKind::If(a, b, c) => format!("(if {} {} {})", show(a), show(b), show(c)),
        ExprKind::Input => format!("input:{:?}", e.ty),
        ExprKind::Table(table, index) => format!("{:?}[{}]", table.values, show(index)),
        ExprKind::Choose(a, b) => format!("choose({}, {})", show(a), show(b)),
    }
}

pub struct Dump<'p> {
    pub program: &'p Program,
    pub frame: &'p Frame,
}

impl Dump<'_> {
    fn expr(&self, e: &Expr) -> String {
        expr(e, &self.frame.locals, &self.program.vars)
    }

    fn exprs(&self, list: &[Expr]) -> String {
        let list: Vec<String> = list.iter().map(|e| self.expr(e)).collect();
        list.join(", ")
    }

    fn local(&self, id: LocalId) -> &str {
        &self.frame.locals[id.0 as usize].name
    }

    fn place(&self, place: &Place) -> String {
        match place {
            Place::Local(id) => self.local(*id).to_owned(),
            Place::LocalElement(id, e) => format!("{}[{}]", self.local(*id), self.expr(e)),
            Place::Shared(id) => self.program.vars[id.0 as usize].name.clone(),
            Place::Element(id, e) => {
                format!(
                    "{}[{}]",
                    self.program.vars[id.0 as usize].name,
                    self.expr(e)
                )
            }
        }
    }

    pub fn list(&self, list: &[Stmt]) -> String {
        let list: Vec<String> = list.iter().map(|s| self.stmt(s)).collect();
        format!("{{{}}}", list.join("; "))
    }

    fn call(&self, id: ProcedureId, args: &[Expr]) -> String {
        let name = &self.program.procedures[id.0 as usize].name;
        format!("{name}({})", self.exprs(args))
    }

    fn lock(&self, id: LockId, index: Option<&Expr>) -> String {
        let name = &self.program.locks[id.0 as usize].name;
        match index {
            Some(e) => format!("{name}[{}]", self.expr(e)),
            None => name.clone(),
        }
    }

    pub fn stmt(&self, stmt: &Stmt) -> String {
        match &stmt.kind {
            StmtKind::Skip => "skip".to_owned(),
            StmtKind::End => "end".to_owned(),
            StmtKind::Leave(leave) => leave.word().to_owned(),
            StmtKind::Block(list) => self.list(list),
            StmtKind::Assign(left, right) => {
                let left: Vec<String> = left.iter().map(|place| self.place(place)).collect();
                format!("{} := {}", left.join(", "), self.exprs(right))
            }
            StmtKind::Let(id, values) => {
                let local = &self.frame.locals[id.0 as usize];
                let len = local.len.map_or(String::new(), |len| format!("[{len}]"));
                format!(
                    "let {}: {:?}{len} = {}",
                    local.name,
                    local.ty,
                    self.exprs(values)
                )
            }
            StmtKind::Guard(e, s) => format!("({} |> {})", self.expr(e), self.stmt(s)),
            StmtKind::Choice { test, then, other } => format!(
                "({} <| {} |> {})",
                self.stmt(then),
                self.expr(test),
                self.stmt(other)
            ),
            StmtKind::GuardedLoop(e, s) => format!("({} |>* {})", self.expr(e), self.stmt(s)),
            StmtKind::If(e, a, b) => {
                format!("if {} {} {}", self.expr(e), self.list(a), self.list(b))
            }
            StmtKind::While {
                test, bound, body, ..
            } => {
                let bound = bound.map_or(String::new(), |(n, _)| format!("[{n}]"));
                format!("while {}{bound} {}", self.expr(test), self.list(body))
            }
            StmtKind::For {
                local,
                from,
                to,
                body,
                ..
            } => format!(
                "for {}: {:?} in {}..{} {}",
                self.local(*local),
                self.frame.locals[local.0 as usize].ty,
                self.expr(from),
                self.expr(to),
                self.list(body)
            ),
            StmtKind::Spawn(handle, spawned) => {
                let handle = handle.map_or(String::new(), |id| format!("{} = ", self.local(id)));
                match spawned {
                    Spawned::Block(list) => format!("{handle}spawn {}", self.list(list)),
                    Spawned::Call(id, args) => format!("{handle}spawn {}", self.call(*id, args)),
                }
            }
            StmtKind::Join(None) => "join".to_owned(),
            StmtKind::Join(Some(id)) => format!("join {}", self.local(*id)),
            StmtKind::Call(id, args) => self.call(*id, args),
            StmtKind::Atomic(list) => format!("atomic {}", self.list(list)),
            StmtKind::Lock(id, e) => format!("lock {}", self.lock(*id, e.as_ref())),
            StmtKind::Unlock(id, e) => format!("unlock {}", self.lock(*id, e.as_ref())),
            StmtKind::Assert(e, message) => {
                let message = message.as_ref().map(ToString::to_string);
                format!("assert {} {message:?}", self.expr(e))
            }
            StmtKind::Assume(e) => format!("assume {}", self.expr(e)),
            StmtKind::Error(message) => {
                format!("error {:?}", message.as_ref().map(ToString::to_string))
            }
        }
    }
}
