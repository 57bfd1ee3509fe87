//! Checks the rules that the annotations `Nonnull`, `Final`, `Readonly`, `Atomic`, `COG` and
//! `Plain` impose, and that a `return` is the last statement of a method.

use mazurka_diagnostics::{Diagnostic, Span};

use super::{Checker, LocalTy};
use crate::syntax::ast::{self, Binary, Expr, ExprKind, Name, Stmt, StmtKind};
use crate::syntax::visit;
use crate::types::{Head, Ty};

/// The rules that a variable or a field must obey.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rules {
    /// Whether only its declaration may assign it; for a field, also the init block.
    pub fixed: bool,
    /// Whether it is never `null`.
    pub nonnull: bool,
    /// Whether its elements are never `null`.
    pub elements: bool,
}

/// Whether one of these statements assigns the field. Looks into blocks, but not into branches and
/// loops.
pub(super) fn assigned(stmts: &[Stmt], field: &str) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Assign { name, .. } => name.text == field,
        StmtKind::Block(inner) => assigned(inner, field),
        _ => false,
    })
}

/// Returns the first `return` that is not the last statement.
pub(super) fn early_return(stmts: &[Stmt]) -> Option<Span> {
    let (last, before) = stmts.split_last()?;
    let early = before.iter().find_map(first_return);
    early.or_else(|| match &last.kind {
        StmtKind::Block(inner) => early_return(inner),
        StmtKind::If(_, yes, no) => {
            let no = no.as_deref().into_iter();
            let mut sides = std::iter::once(&**yes).chain(no);
            sides.find_map(|side| early_return(std::slice::from_ref(side)))
        }
        StmtKind::Switch(_, branches) => {
            let mut branches = branches.iter();
            branches.find_map(|(_, branch)| early_return(std::slice::from_ref(branch)))
        }
        StmtKind::Try { body, catches, .. } => {
            let catches = catches.iter().map(|(_, branch)| branch);
            let mut all = std::iter::once(&**body).chain(catches);
            all.find_map(|branch| early_return(std::slice::from_ref(branch)))
        }
        StmtKind::While(_, body) | StmtKind::Foreach { body, .. } => first_return(body),
        _ => None,
    })
}

/// Returns the first `return` in a statement.
fn first_return(stmt: &Stmt) -> Option<Span> {
    match &stmt.kind {
        StmtKind::Return(_) => Some(stmt.span),
        StmtKind::Block(inner) => inner.iter().find_map(first_return),
        StmtKind::If(_, yes, no) => {
            first_return(yes).or_else(|| no.as_deref().and_then(first_return))
        }
        StmtKind::While(_, body) | StmtKind::Foreach { body, .. } => first_return(body),
        StmtKind::Switch(_, branches) => branches.iter().find_map(|(_, b)| first_return(b)),
        StmtKind::Try {
            body,
            catches,
            finally,
        } => first_return(body)
            .or_else(|| catches.iter().find_map(|(_, branch)| first_return(branch)))
            .or_else(|| finally.as_deref().and_then(first_return)),
        _ => None,
    }
}

impl Checker<'_> {
    /// Reports a `return` that is followed by statements.
    pub(super) fn no_early_return(&mut self, stmts: &[Stmt]) {
        if let Some(span) = early_return(stmts) {
            let mistake = Diagnostic::new("A0245", span, "a method returns at its end")
                .label("statements could follow this")
                .help("keep the result in a variable, and return it at the end");
            self.report(mistake);
        }
    }

    /// Whether an expression is known not to be `null`.
    pub(super) fn is_nonnull(&mut self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::This | ExprKind::New { .. } => true,
            ExprKind::Variable(name) => match self.local(&name.text) {
                Some((slot, LocalTy::Value(_))) => {
                    self.body().nonnull.contains(&slot) || self.local_rules(&name.text).nonnull
                }
                Some(_) => false,
                None => self.field_rules(&name.text).nonnull,
            },
            ExprKind::Field(name) => self.field_rules(&name.text).nonnull,
            ExprKind::If(_, yes, no) => self.is_nonnull(yes) && self.is_nonnull(no),
            ExprKind::Call(name, args) => {
                let number = self.function_here(name);
                let elements = |arg: &Expr| match &arg.kind {
                    ExprKind::Variable(name) => self.local_rules(&name.text).elements,
                    _ => false,
                };
                args.iter().any(elements)
                    || number.is_some_and(|number| self.functions[number as usize].nonnull)
            }
            ExprKind::Sync(..) | ExprKind::AwaitCall(..) => self.called_nonnull,
            _ => false,
        }
    }

    /// Reports a value that may be `null` where it must not be.
    pub(super) fn require_nonnull(&mut self, expr: &Expr) {
        if !self.is_nonnull(expr) {
            let mistake = Diagnostic::new("A0240", expr.span, "this may be `null`")
                .label("expected a value that is never `null`: `[Nonnull]`")
                .help("test it with `!= null`, or annotate its declaration with `[Nonnull]`");
            self.report(mistake);
        }
    }

    pub(super) fn local_rules(&self, name: &str) -> Rules {
        let scope = self.bodies.last().map(|body| &body.scope);
        let local = scope.and_then(|scope| scope.iter().rev().find(|local| local.name == name));
        local.map_or_else(Rules::default, |local| local.rules)
    }

    pub(super) fn field_rules(&self, name: &str) -> Rules {
        let class = self.class_here().map(|class| &self.classes[class as usize]);
        let Some(class) = class else {
            return Rules::default();
        };
        let at = class.fields.iter().position(|(field, _)| field == name);
        let rules = at.and_then(|at| class.rules.get(at));
        rules.copied().unwrap_or_default()
    }

    /// Sets the rules of the variable that was declared last.
    pub(super) fn rule(&mut self, rules: Rules) {
        if let Some(local) = self.body().scope.last_mut() {
            local.rules = rules;
        }
    }

    /// Returns the slot of the variable that a condition compares with `null` by this operator.
    pub(super) fn tested(&mut self, condition: &Expr, operator: Binary) -> Option<u32> {
        let (left, right) = match &condition.kind {
            ExprKind::Binary(found, left, right) if *found == operator => (left, right),
            _ => return None,
        };
        match (&left.kind, &right.kind) {
            (ExprKind::Variable(name), ExprKind::Null)
            | (ExprKind::Null, ExprKind::Variable(name)) => {
                self.local(&name.text).map(|(slot, _)| slot)
            }
            _ => None,
        }
    }

    /// Reports an assignment that an annotation forbids.
    pub(super) fn may_assign(&mut self, name: &Name, field: bool) {
        let rules = if field {
            self.field_rules(&name.text)
        } else {
            self.local_rules(&name.text)
        };
        let in_init = !self.body().may_wait;
        if rules.fixed && !(field && in_init) {
            let mistake = Diagnostic::new("A0242", name.span, format!("`{}` is final", name.text))
                .label("it keeps its first value")
                .help("take `[Final]` from its declaration, or use another variable");
            self.report(mistake);
        }
        if field && self.body().readonly {
            let mistake = Diagnostic::new("A0241", name.span, "this method is read-only")
                .label("it assigns a field")
                .help("take `[Readonly]` from the method");
            self.report(mistake);
        }
    }

    /// Reports a `new` that an annotation of the class forbids.
    pub(super) fn may_create(&mut self, class: u32, local: bool, span: Span) {
        let Some(tree) = self.classes[class as usize].tree else {
            return;
        };
        let name = tree.name.text.clone();
        let (what, help) = if local && tree.annotations.has("COG") {
            ("has a cog of its own", "write `new`")
        } else if !local && tree.annotations.has("Plain") {
            ("has no cog of its own", "write `new local`")
        } else {
            return;
        };
        let mistake = Diagnostic::new("A0243", span, format!("class `{name}` {what}"))
            .label("its annotation says so")
            .help(help);
        self.report(mistake);
    }

    /// Checks `[DomainClass: e]`: `e` must be a string, which may use fields.
    pub(super) fn check_annotations(&mut self, tree: &ast::Class, class: u32) {
        let Some(written) = tree.annotations.labelled("DomainClass") else {
            return;
        };
        let fields = &self.classes[class as usize].fields;
        let mut known = !matches!(written.kind, ExprKind::Int(_) | ExprKind::Float(_));
        visit::expr(&mut written.clone(), &mut |part| {
            if let ExprKind::Variable(name) = &part.kind {
                known &= fields.iter().any(|(field, _)| *field == name.text);
            }
        });
        if !known {
            let mistake = Diagnostic::new("A0208", written.span, "`DomainClass` is a text")
                .label("not a text over the fields of the class")
                .help("write a text, or an expression over the fields of the class");
            self.report(mistake);
        }
    }

    /// Reports `[Nonnull]` on a type that is not a reference.
    pub(super) fn check_nonnull(&mut self, written: &ast::Type, ty: &Ty) {
        let shallow = self.unknowns.shallow(ty);
        let reference = matches!(
            shallow,
            Ty::Made(Head::Interface(_), _) | Ty::Parameter(_) | Ty::Wrong
        );
        if written.nonnull && !reference {
            let mistake = Diagnostic::new("A0240", written.span, "only objects can be `null`")
                .label("`[Nonnull]` has no effect here")
                .help("remove the annotation");
            self.report(mistake);
        }
    }
}
