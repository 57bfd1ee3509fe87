//! Small random objects with their specifications, and brute force over all that clients may do
//! with them: an oracle for `spec object` that shares no code with the tool.
//!
//! An [`Object`] is a program of a few operations over shared numbers. [`Object::text`] writes it
//! in `.maz`, [`brute()`] makes every run of every client, with a step of its own for each call and
//! each return, and tries every order of every history.

mod brute;
mod generate;

use std::fmt::Write;

pub use brute::{Judged, brute};
pub use generate::{scrambled, weakened};

/// A number of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A constant.
    Const(i64),
    /// A shared variable.
    Shared(usize),
    /// A local.
    Local(usize),
    /// The argument.
    Arg,
}

/// A sum of a number and a constant.
pub type Sum = (Value, i64);

/// Whether a number is some constant, or is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The number.
    pub value: Value,
    /// The constant.
    pub is: i64,
    /// Whether they are to be equal.
    pub equal: bool,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A shared one.
    Shared(usize),
    /// A local.
    Local(usize),
}

/// What happens within a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An assignment.
    Set(Target, Sum),
    /// One thing or another.
    If(Test, Vec<Action>, Vec<Action>),
}

/// A part of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A step, which waits until the test holds if there is one.
    Step(Option<Test>, Vec<Action>),
    /// Returns if a local is some number.
    ReturnIf(Test, Sum),
    /// Goes on until a local is some number.
    Until(Test, Vec<Part>),
    /// Returns.
    Return(Sum),
}

/// An operation. Its argument is one of `0..args`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// How many arguments there are; 0 if it takes none.
    pub args: i64,
    /// What the object does; it ends with a return.
    pub parts: Vec<Part>,
    /// What it should do, at once; a test that does not hold says that it is not possible.
    pub spec: Vec<Part>,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The operations.
    pub ops: Vec<Op>,
    /// The number of clients.
    pub clients: usize,
    /// The number of calls of each.
    pub calls: usize,
    /// Whether accesses are steps; then each step of the object makes one.
    pub access: bool,
}

/// Shared variables, and locals of an operation.
pub const VARS: usize = 4;
/// See [`VARS`].
pub const LOCALS: usize = 2;

fn value(value: Value) -> String {
    match value {
        Value::Const(number) => number.to_string(),
        Value::Shared(at) => format!("s{at}"),
        Value::Local(at) => format!("l{at}"),
        Value::Arg => "v".to_owned(),
    }
}

fn sum((left, right): Sum) -> String {
    match right {
        0 => value(left),
        _ => format!("{} + {right}", value(left)),
    }
}

fn test(test: Test) -> String {
    let sign = if test.equal { "==" } else { "!=" };
    format!("{} {sign} {}", value(test.value), test.is)
}

fn actions(all: &[Action]) -> String {
    let one = |action: &Action| match action {
        Action::Set(Target::Shared(at), to) => format!("s{at} := {}", sum(*to)),
        Action::Set(Target::Local(at), to) => format!("l{at} := {}", sum(*to)),
        Action::If(holds, then, other) => format!(
            "if {} {{ {} }} else {{ {} }}",
            test(*holds),
            actions(then),
            actions(other)
        ),
    };
    let all: Vec<String> = all.iter().map(one).collect();
    all.join("; ")
}

fn parts(all: &[Part], is_spec: bool) -> String {
    let one = |part: &Part| match part {
        Part::Step(Some(holds), all) if is_spec => {
            format!("assume {}; {}", test(*holds), actions(all))
        }
        Part::Step(Some(holds), all) if all.is_empty() => format!("await {}", test(*holds)),
        Part::Step(Some(holds), all) => {
            format!("{} |> atomic {{ {} }}", test(*holds), actions(all))
        }
        Part::Step(None, all) => match &all[..] {
            [Action::Set(..)] => actions(all),
            _ => format!("atomic {{ {} }}", actions(all)),
        },
        Part::ReturnIf(holds, what) => format!("if {} {{ return {} }}", test(*holds), sum(*what)),
        Part::Until(holds, inner) => {
            let not = Test {
                equal: !holds.equal,
                ..*holds
            };
            format!("while {} {{ {} }}", test(not), parts(inner, is_spec))
        }
        Part::Return(what) => format!("return {}", sum(*what)),
    };
    let all: Vec<String> = all.iter().map(one).collect();
    all.join("; ")
}

impl Object {
    /// The object in the notation of `.maz`.
    pub fn text(&self) -> String {
        let op = |at: usize, op: &Op, is_spec: bool| {
            let param = match op.args {
                0 => String::new(),
                args => format!("v: 0..{args}"),
            };
            let body = parts(if is_spec { &op.spec } else { &op.parts }, is_spec);
            format!("op o{at}({param}): int {{ let l0 = 0; let l1 = 0; {body} }}\n")
        };
        let mut text = String::from("allows deadlock, livelock\n");
        if self.access {
            text += "atomicity access\n";
        }
        for var in 0..VARS {
            writeln!(text, "var s{var}: int = 0").expect("a text");
        }
        let numbered = || self.ops.iter().enumerate();
        numbered().for_each(|(at, one)| text += &op(at, one, false));
        let (clients, calls) = (self.clients, self.calls);
        writeln!(
            text,
            "spec object for {clients} clients of {calls} operations {{"
        )
        .expect("a text");
        for var in 0..VARS {
            writeln!(text, "var s{var}: int = 0").expect("a text");
        }
        numbered().for_each(|(at, one)| text += &op(at, one, true));
        text + "}\n"
    }

    /// All calls: an operation and an argument.
    pub fn calls_to_choose(&self) -> Vec<(usize, i64)> {
        let numbered = self.ops.iter().enumerate();
        let all = numbered.flat_map(|(at, op)| (0..op.args.max(1)).map(move |arg| (at, arg)));
        all.collect()
    }
}
