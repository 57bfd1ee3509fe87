//! Prints the tree as a text, one statement a line.

use super::ast::{
    Alternative, Child, Expr, Init, Item, ItemKind, Kind, Place, Program, ResultTarget, Stmt,
    Temporal,
};

/// Returns the text of a program. Parsing it gives the same tree, except for lines and `Seq`s.
pub fn print(program: &Program) -> String {
    let mut out = String::new();
    for item in &program.items {
        print_item(item, &program.atomic, &mut out);
        out.push('\n');
    }
    out
}

fn print_item(item: &Item, atomic: &[String], out: &mut String) {
    match &item.kind {
        ItemKind::Var(names, ty, size, init) => {
            let is_atomic = names.iter().any(|name| atomic.contains(name));
            let word = if is_atomic { "atomic " } else { "" };
            out.push_str(&format!("var {}: {word}{}", names.join(", "), ty.name()));
            out.push_str(&sized(size.as_ref()));
            if let Some(init) = init {
                out.push_str(&format!(" = {}", initial(init)));
            }
        }
        ItemKind::Lock(names) => {
            let all: Vec<_> = names
                .iter()
                .map(|(name, size)| format!("{name}{}", sized(size.as_ref())))
                .collect();
            out.push_str(&format!("lock {}", all.join(", ")));
        }
        ItemKind::Object(word, name, size, value) => {
            let size = sized(size.as_ref());
            let value = value.as_ref().map(|e| format!(" = {}", expr(e)));
            out.push_str(&format!("{word} {name}{size}{}", value.unwrap_or_default()));
        }
        ItemKind::Channel(name, size, capacity, fields) => {
            let capacity = match capacity {
                Expr::Num(n) if *n >= super::objects::UNBOUNDED => "..".to_owned(),
                capacity => expr(capacity),
            };
            let size = sized(size.as_ref());
            let ty = fields.first().map_or("int".into(), |ty| ty.name());
            out.push_str(&format!("chan {name}{size}[{capacity}]: {ty}"));
        }
        ItemKind::Const(name, value) => out.push_str(&format!("const {name} = {}", expr(value))),
        ItemKind::Proc(name, params, body) => {
            let all: Vec<_> = params
                .iter()
                .map(|(name, ty)| format!("{name}: {}", ty.name()))
                .collect();
            out.push_str(&format!("proc {name}({}) ", all.join(", ")));
            block(body, 0, out);
        }
        ItemKind::Requires(name, e) => property("requires", name, e, out),
        ItemKind::Invariant(name, e) => property("invariant", name, e, out),
        ItemKind::Ensures(name, e) => property("ensures", name, e, out),
        ItemKind::Cover(name, e) => property("cover", name, e, out),
        ItemKind::Temporal(kind, name, conditions) => {
            let word = Temporal::ALL.iter().find(|(one, _)| one == kind);
            property(
                word.map_or("always", |(_, word)| word),
                name,
                &conditions[0],
                out,
            );
            for then in &conditions[1..] {
                out.push_str(&format!(" leads_to {}", expr(then)));
            }
        }
        ItemKind::Allows(kinds) => out.push_str(&format!("allows {}", kinds.join(", "))),
        ItemKind::ExpectsDeterminism => out.push_str("expects deterministic"),
        ItemKind::Observe(names) => out.push_str(&format!("observe {}", names.join(", "))),
        ItemKind::Atomicity(access) => {
            out.push_str(if *access {
                "atomicity access"
            } else {
                "atomicity statement"
            });
        }
        ItemKind::Process(name, range, body) => {
            out.push_str("process ");
            if let Some(name) = name {
                out.push_str(&format!("{name} "));
            }
            if let Some((name, low, high)) = range {
                out.push_str(&format!("({name} in {}..{}) ", expr(low), expr(high)));
            }
            block(body, 0, out);
        }
    }
}

fn property(word: &str, name: &Option<String>, e: &Expr, out: &mut String) {
    let label = name
        .as_ref()
        .map_or(String::new(), |name| format!("{name}: "));
    out.push_str(&format!("{word} {label}{}", expr(e)));
}

fn sized(size: Option<&Expr>) -> String {
    size.map_or(String::new(), |size| format!("[{}]", expr(size)))
}

fn initial(init: &Init) -> String {
    match init {
        Init::One(value) => expr(value),
        Init::List(all) => format!("[{}]", exprs(all)),
    }
}

fn exprs(all: &[Expr]) -> String {
    all.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn block(body: &[Stmt], depth: usize, out: &mut String) {
    out.push_str("{\n");
    sequence(body, depth + 1, out);
    indent(depth, out);
    out.push('}');
}

fn sequence(body: &[Stmt], depth: usize, out: &mut String) {
    for (at, one) in body.iter().enumerate() {
        indent(depth, out);
        stmt(one, depth, out);
        out.push_str(if at + 1 < body.len() { ";\n" } else { "\n" });
    }
}

fn indent(depth: usize, out: &mut String) {
    out.push_str(&"  ".repeat(depth));
}

fn stmt(this: &Stmt, depth: usize, out: &mut String) {
    match &this.kind {
        Kind::Guard(test, inner) => {
            out.push_str(&format!("{} |> ", guard(test)));
            inside(inner, depth, out);
        }
        Kind::GuardedLoop(test, inner) => {
            out.push_str(&format!("{} |>* ", guard(test)));
            inside(inner, depth, out);
        }
        Kind::Choice(first, test, other) => {
            inside(first, depth, out);
            out.push_str(&format!(" <| {} |> ", expr(test)));
            inside(other, depth, out);
        }
        Kind::If(test, yes, no) => {
            out.push_str(&format!("if {} ", expr(test)));
            block(yes, depth, out);
            if !no.is_empty() {
                out.push_str(" else ");
                block(no, depth, out);
            }
        }
        Kind::While(test, bound, invariant, body) => {
            out.push_str(&format!("while {}", guard(test)));
            out.push_str(&sized(bound.as_ref()));
            if let Some(invariant) = invariant {
                out.push_str(&format!(" invariant {}", expr(invariant)));
            }
            out.push(' ');
            block(body, depth, out);
        }
        Kind::For(name, low, high, body) => {
            out.push_str(&format!("for {name} in {}..{} ", expr(low), expr(high)));
            block(body, depth, out);
        }
        Kind::Select(all, other) => {
            out.push_str("select { ");
            for (at, one) in all.iter().enumerate() {
                out.push_str(if at > 0 { " [] " } else { "" });
                let (gate, body) = match one {
                    Alternative::When(test, body) => (guard(test), body),
                    Alternative::Does(operation, body) => (line(&operation.kind), body),
                };
                out.push_str(&format!("{gate} |> "));
                block(body, depth, out);
            }
            if let Some(body) = other {
                out.push_str(" [] else |> ");
                block(body, depth, out);
            }
            out.push_str(" }");
        }
        Kind::Spawn(handle, child) => {
            if let Some(handle) = handle {
                out.push_str(&format!("let {handle} = "));
            }
            out.push_str("spawn ");
            match child {
                Child::Block(body) => block(body, depth, out),
                Child::Call(name, all) => out.push_str(&format!("{name}({})", exprs(all))),
            }
        }
        Kind::Atomic(body) => {
            out.push_str("atomic ");
            block(body, depth, out);
        }
        Kind::Seq(body) => {
            // Printed on one line, so that the test after `<|` is on the line of its choice.
            out.push('(');
            for (at, one) in body.iter().enumerate() {
                stmt(one, depth, out);
                out.push_str(if at + 1 < body.len() { "; " } else { "" });
            }
            out.push(')');
        }
        simple => out.push_str(&line(simple)),
    }
}

/// Prints a statement within a guard or a choice, in parentheses if it is a guard, choice or
/// guarded loop.
fn inside(inner: &Stmt, depth: usize, out: &mut String) {
    let nested = matches!(
        inner.kind,
        Kind::Guard(..) | Kind::Choice(..) | Kind::GuardedLoop(..)
    );
    if nested {
        out.push('(');
    }
    stmt(inner, depth, out);
    if nested {
        out.push(')');
    }
}

/// Returns a statement without nested statements.
fn line(kind: &Kind) -> String {
    match kind {
        Kind::End => "end".into(),
        Kind::Break => "break".into(),
        Kind::Continue => "continue".into(),
        Kind::Return => "return".into(),
        Kind::Assign(places, values) => {
            let all: Vec<_> = places.iter().map(place).collect();
            format!("{} := {}", all.join(", "), exprs(values))
        }
        Kind::Await(test) => format!("await {}", expr(test)),
        Kind::Join(None) => "join".into(),
        Kind::Join(Some(handle)) => format!("join {handle}"),
        Kind::Call(name, all) => format!("{name}({})", exprs(all)),
        Kind::Operate(verb, places) => {
            let all: Vec<_> = places.iter().map(place).collect();
            format!("{verb}({})", all.join(", "))
        }
        Kind::Send(channel, values) => format!("{} ! {}", place(channel), exprs(values)),
        Kind::Receive(channel, places) => {
            let all: Vec<_> = places.iter().map(place).collect();
            format!("{} ? {}", place(channel), all.join(", "))
        }
        Kind::Try(ResultTarget::Let(name), tried) => {
            format!("let {name} = try {}", line(&tried.kind))
        }
        Kind::Try(ResultTarget::Place(kept), tried) => {
            format!("{} := try {}", place(kept), line(&tried.kind))
        }
        Kind::Update(kept, of, verb, values) => {
            let kept = match kept {
                None => String::new(),
                Some(ResultTarget::Let(name)) => format!("let {name} = "),
                Some(ResultTarget::Place(kept)) => format!("{} := ", place(kept)),
            };
            format!("{kept}{}.{verb}({})", place(of), exprs(values))
        }
        Kind::Lock(which) => format!("lock({})", place(which)),
        Kind::Unlock(which) => format!("unlock({})", place(which)),
        Kind::Let(name, ty, size, init) => {
            let ty = ty.map_or(String::new(), |ty| format!(": {}", ty.name()));
            format!("let {name}{ty}{} = {}", sized(size.as_ref()), initial(init))
        }
        Kind::Assert(test, text) => format!("assert {}{}", expr(test), message(", ", text)),
        Kind::Assume(test) => format!("assume {}", expr(test)),
        Kind::Error(text) => format!("error{}", message(" ", text)),
        Kind::Print(text) => format!("print \"{text}\""),
        _ => "skip".into(),
    }
}

fn message(before: &str, text: &Option<String>) -> String {
    text.as_ref()
        .map_or(String::new(), |text| format!("{before}\"{text}\""))
}

fn place(place: &Place) -> String {
    format!("{}{}", place.name, sized(place.index.as_ref()))
}

fn guard(test: &Expr) -> String {
    format!("({})", expr(test))
}

/// Returns an expression, with parentheses around every operand that has operands.
pub fn expr(e: &Expr) -> String {
    match e {
        Expr::Bool(value) => value.to_string(),
        Expr::Num(value) => value.to_string(),
        Expr::Name(name) => name.clone(),
        Expr::Len(channel) => format!("len({})", place(channel)),
        Expr::Index(name, index) => format!("{name}[{}]", expr(index)),
        Expr::Not(inner) => format!("!{}", operand(inner)),
        Expr::Neg(inner) => format!("-{}", operand(inner)),
        Expr::Bin(op, left, right) => {
            format!("{} {} {}", operand(left), op.sign(), operand(right))
        }
        Expr::If(test, yes, no) => {
            format!(
                "if {} then {} else {}",
                operand(test),
                operand(yes),
                operand(no)
            )
        }
        // No generated text contains this expression: the parser makes it for constant arrays and
        // dimensions.
        Expr::Pick(_, index) => format!("pick[{}]", expr(index)),
        Expr::Choose(low, high) => format!("choose({}..{})", expr(low), expr(high)),
        Expr::Input(ty) => format!("input({})", ty.map_or(String::new(), |ty| ty.name())),
    }
}

fn operand(e: &Expr) -> String {
    let plain = match e {
        Expr::Num(value) => *value >= 0,
        other => !matches!(
            other,
            Expr::Bin(..) | Expr::If(..) | Expr::Not(_) | Expr::Neg(_)
        ),
    };
    if plain {
        expr(e)
    } else {
        format!("({})", expr(e))
    }
}
