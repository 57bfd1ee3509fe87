//! Prints the tree (tree.rs) as a `.maz` text, with more parentheses than necessary; short blocks
//! stay on one line.

use std::fmt::{self, Display, Formatter};

use crate::tree::{Expr, Program, Spawned, Stmt, Type};

/// The width up to which a block stays on the line of its statement.
const WIDTH: usize = 72;

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Type::Bool => "bool",
            Type::Int => "int",
            Type::I8 => "i8",
            Type::U8 => "u8",
        })
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Int(value) => write!(f, "{value}"),
            Expr::Bool(value) => write!(f, "{value}"),
            Expr::Var(name) => f.write_str(name),
            Expr::Element(name, index) => write!(f, "{name}[{index}]"),
            Expr::Unary(op, of) => write!(f, "{op}{}", Operand(of)),
            Expr::Binary(op, left, right) => write!(f, "{} {op} {}", Operand(left), Operand(right)),
            Expr::If(test, then, other) => {
                write!(
                    f,
                    "if {} then {} else {}",
                    Operand(test),
                    Operand(then),
                    Operand(other)
                )
            }
            Expr::Choose(from, to) => write!(f, "choose({from}..{to})"),
            Expr::Input(..) => write!(f, "input()"),
        }
    }
}

/// An expression with the parentheses that it needs as an operand.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Unary(..) | Expr::Binary(..) | Expr::If(..) => write!(f, "({})", self.0),
            Expr::Int(value) if *value < 0 => write!(f, "({value})"),
            plain => plain.fmt(f),
        }
    }
}

/// A guard or test. If it is a conditional expression it needs parentheses, because it begins a
/// statement.
struct Test<'a>(&'a Expr);

impl Display for Test<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::If(..) => write!(f, "({})", self.0),
            plain => plain.fmt(f),
        }
    }
}

fn commas<T: Display>(items: &[T]) -> String {
    items
        .iter()
        .map(T::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

fn index(of: Option<&Expr>) -> String {
    of.map(|e| format!("[{e}]")).unwrap_or_default()
}

/// Writes `head { … }`, on one line if it fits.
fn block(head: &str, body: &[Stmt], indent: usize) -> String {
    let parts: Vec<String> = body.iter().map(|s| statement(s, indent + 1)).collect();
    let inline = format!("{head}{{ {} }}", parts.join("; "));
    if body.is_empty() {
        return format!("{head}{{ }}");
    }
    if inline.len() + 2 * indent <= WIDTH && !inline.contains('\n') {
        return inline;
    }
    let pad = "  ".repeat(indent);
    let lines: Vec<String> = parts.iter().map(|part| format!("{pad}  {part}")).collect();
    format!("{head}{{\n{}\n{pad}}}", lines.join(";\n"))
}

/// Returns a statement under a guard or in a choice.
fn inner(stmt: &Stmt, indent: usize) -> String {
    let text = statement(stmt, indent);
    match stmt {
        Stmt::Guard(..) | Stmt::Choice(..) | Stmt::GuardedLoop(..) | Stmt::Await(..) => {
            format!("({text})")
        }
        _ => text,
    }
}

fn statement(stmt: &Stmt, indent: usize) -> String {
    match stmt {
        Stmt::Skip => "skip".to_owned(),
        Stmt::Block(body) => block("", body, indent),
        Stmt::Assign(places, values) => format!("{} := {}", commas(places), commas(values)),
        Stmt::Let(name, Some(Type::Bool), Expr::Input(..)) => {
            format!("let {name}: bool = input(bool)")
        }
        Stmt::Let(name, Some(ty), Expr::Input(least, most)) => {
            format!("let {name}: {ty} = input({ty}); assume {name} >= {least} && {name} <= {most}")
        }
        Stmt::Let(name, ty, value) => {
            let ty = ty.map(|ty| format!(": {ty}")).unwrap_or_default();
            format!("let {name}{ty} = {value}")
        }
        Stmt::Guard(test, body) => format!("{} |> {}", Test(test), inner(body, indent)),
        Stmt::Choice(then, test, other) => {
            format!(
                "{} <| {} |> {}",
                inner(then, indent),
                Test(test),
                inner(other, indent)
            )
        }
        Stmt::GuardedLoop(test, body) => format!("{} |>* {}", Test(test), inner(body, indent)),
        Stmt::Await(test) => format!("await {test}"),
        Stmt::If(test, then, other) => {
            let head = block(&format!("if {} ", Test(test)), then, indent);
            if other.is_empty() {
                return head;
            }
            block(&format!("{head} else "), other, indent)
        }
        Stmt::While(test, bound, body) => block(&format!("while ({test})[{bound}] "), body, indent),
        Stmt::For(name, from, to, body) => {
            block(&format!("for {name} in {from}..{to} "), body, indent)
        }
        Stmt::Spawn(handle, what) => {
            let head = handle
                .as_ref()
                .map(|h| format!("let {h} = "))
                .unwrap_or_default();
            match what {
                Spawned::Block(body) => block(&format!("{head}spawn "), body, indent),
                Spawned::Call(name, args) => format!("{head}spawn {name}({})", commas(args)),
            }
        }
        Stmt::Join(None) => "join".to_owned(),
        Stmt::Join(Some(handle)) => format!("join {handle}"),
        Stmt::Call(name, args) => format!("{name}({})", commas(args)),
        Stmt::Atomic(body) => block("atomic ", body, indent),
        Stmt::Lock(name, at) => format!("lock({name}{})", index(at.as_ref())),
        Stmt::Unlock(name, at) => format!("unlock({name}{})", index(at.as_ref())),
        Stmt::Assert(test) => format!("assert {test}"),
        Stmt::Assume(test) => format!("assume {test}"),
        Stmt::Error => "error".to_owned(),
    }
}

impl Display for Stmt {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&statement(self, 0))
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.access {
            writeln!(f, "atomicity access")?;
        }
        for var in &self.vars {
            let len = var.len.map(|n| format!("[{n}]")).unwrap_or_default();
            let init = match var.ty {
                Type::Bool => (var.init != 0).to_string(),
                _ => var.init.to_string(),
            };
            writeln!(f, "var {}: {}{len} = {init}", var.name, var.ty)?;
        }
        for lock in &self.locks {
            let len = lock.len.map(|n| format!("[{n}]")).unwrap_or_default();
            writeln!(f, "lock {}{len}", lock.name)?;
        }
        for test in &self.invariants {
            writeln!(f, "invariant {test}")?;
        }
        for test in &self.ensures {
            writeln!(f, "ensures {test}")?;
        }
        for procedure in &self.procedures {
            let params: Vec<String> = procedure
                .params
                .iter()
                .map(|(name, ty)| format!("{name}: {ty}"))
                .collect();
            let head = format!("proc {}({}) ", procedure.name, params.join(", "));
            writeln!(f, "{}", block(&head, &procedure.body, 0))?;
        }
        for body in &self.processes {
            writeln!(f, "{}", block("process ", body, 0))?;
        }
        Ok(())
    }
}
