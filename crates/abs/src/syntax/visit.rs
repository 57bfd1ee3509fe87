//! Calls a function on every expression of a syntax tree, inner expressions first, to change it in
//! place. `flatten.rs` replaces calls of `original` and parameters of deltas in this way.

use super::ast::{Body, Class, Expr, ExprKind, Function, Guard, Item, Method, Stmt, StmtKind};

/// The function that is called on every expression.
type Change<'a> = &'a mut dyn FnMut(&mut Expr);

pub(crate) fn item(item: &mut Item, change: Change<'_>) {
    match item {
        Item::Class(inner) => class(inner, change),
        Item::Def(def) => {
            if let Body::Expr(inner) = &mut def.body {
                expr(inner, change);
            }
        }
        Item::Data(_) | Item::Synonym(..) | Item::Exception(_) | Item::Interface(_) => {}
    }
}

fn class(class: &mut Class, change: Change<'_>) {
    let values = class.fields.iter_mut().filter_map(|f| f.value.as_mut());
    values.for_each(|value| expr(value, change));
    stmts(&mut class.init, change);
    let recover = class.recover.iter_mut().flatten();
    recover.for_each(|(_, branch)| stmt(branch, change));
    class.methods.iter_mut().for_each(|m| method(m, change));
}

pub(crate) fn method(method: &mut Method, change: Change<'_>) {
    stmts(&mut method.body, change);
}

fn stmts(all: &mut [Stmt], change: Change<'_>) {
    all.iter_mut().for_each(|inner| stmt(inner, change));
}

fn stmt(all: &mut Stmt, change: Change<'_>) {
    all.deadline.iter_mut().for_each(|e| expr(e, change));
    match &mut all.kind {
        StmtKind::Declare { value, .. } => value.iter_mut().for_each(|e| expr(e, change)),
        StmtKind::Assign { value, .. } => expr(value, change),
        StmtKind::Skip | StmtKind::Suspend => {}
        StmtKind::Return(e)
        | StmtKind::Assert(e)
        | StmtKind::Throw(e)
        | StmtKind::Die(e)
        | StmtKind::Expr(e) => expr(e, change),
        StmtKind::Duration(min, max) => {
            expr(min, change);
            max.iter_mut().for_each(|max| expr(max, change));
        }
        StmtKind::Block(inner) => stmts(inner, change),
        StmtKind::If(condition, yes, no) => {
            expr(condition, change);
            stmt(yes, change);
            no.iter_mut().for_each(|no| stmt(no, change));
        }
        StmtKind::While(condition, body) => {
            expr(condition, change);
            stmt(body, change);
        }
        StmtKind::Foreach { list, body, .. } => {
            expr(list, change);
            stmt(body, change);
        }
        StmtKind::Switch(value, branches) => {
            expr(value, change);
            branches
                .iter_mut()
                .for_each(|(_, branch)| stmt(branch, change));
        }
        StmtKind::Try {
            body,
            catches,
            finally,
        } => {
            stmt(body, change);
            catches
                .iter_mut()
                .for_each(|(_, branch)| stmt(branch, change));
            finally.iter_mut().for_each(|last| stmt(last, change));
        }
        StmtKind::Await(guards) => {
            for guard in guards {
                match guard {
                    Guard::Claim(e) | Guard::Condition(e) => expr(e, change),
                    Guard::Duration(bounds) => {
                        if let Some((min, max)) = bounds {
                            expr(min, change);
                            max.iter_mut().for_each(|max| expr(max, change));
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn expr(all: &mut Expr, change: Change<'_>) {
    match &mut all.kind {
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Text(_)
        | ExprKind::Variable(_)
        | ExprKind::Field(_)
        | ExprKind::This
        | ExprKind::Null
        | ExprKind::Destiny => {}
        ExprKind::Template(parts) => {
            let inner = parts.iter_mut().filter_map(|(_, part)| part.as_mut());
            inner.for_each(|part| expr(part, change));
        }
        ExprKind::Construct(_, args)
        | ExprKind::Call(_, args)
        | ExprKind::Variadic(_, args)
        | ExprKind::Original(_, args)
        | ExprKind::New { args, .. } => args.iter_mut().for_each(|arg| expr(arg, change)),
        ExprKind::Partial(_, functions, args) => {
            for function in functions {
                if let Function::Anonymous { body, .. } = function {
                    expr(body, change);
                }
            }
            args.iter_mut().for_each(|arg| expr(arg, change));
        }
        ExprKind::Unary(_, one)
        | ExprKind::As(one, _)
        | ExprKind::Implements(one, _)
        | ExprKind::Get(one) => expr(one, change),
        ExprKind::Binary(_, one, other) | ExprKind::Let(_, _, one, other) => {
            expr(one, change);
            expr(other, change);
        }
        ExprKind::If(condition, yes, no) => {
            expr(condition, change);
            expr(yes, change);
            expr(no, change);
        }
        ExprKind::Case(value, branches) => {
            expr(value, change);
            branches
                .iter_mut()
                .for_each(|(_, branch)| expr(branch, change));
        }
        ExprKind::Sync(object, _, args)
        | ExprKind::Async(object, _, args)
        | ExprKind::AwaitCall(object, _, args) => {
            expr(object, change);
            args.iter_mut().for_each(|arg| expr(arg, change));
        }
    }
    change(all);
}
