//! Small random objects with their specifications, and brute force over everything that clients can
//! do with them: an oracle for `spec object` that shares no code with the tool.
//!
//! An [`Object`] is a program of a few operations over shared numbers. [`Object::text`] writes it
//! as `.maz`. [`brute()`] executes every run of all clients, where each call and each return is a
//! separate step, and tries every order of every history.

mod brute;
mod generate;

use std::fmt::Write;

pub use brute::{Judgement, brute};
pub use generate::{scrambled, weakened};

/// A number that an operation can read.
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

/// A comparison of a number with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Test {
    /// The number.
    pub value: Value,
    /// The constant.
    pub is: i64,
    /// Whether the test is for equality; otherwise it is for inequality.
    pub equal: bool,
}

/// A variable that can be assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A shared one.
    Shared(usize),
    /// A local.
    Local(usize),
}

/// An action within a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// An assignment.
    Set(Target, Sum),
    /// A branch.
    If(Test, Vec<Action>, Vec<Action>),
}

/// A part of the body of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A step. If there is a test, the step waits until it holds.
    Step(Option<Test>, Vec<Action>),
    /// Returns if the test holds. The test reads a local.
    ReturnIf(Test, Sum),
    /// Repeats the parts until the test holds. The test reads a local.
    Until(Test, Vec<Part>),
    /// Returns.
    Return(Sum),
}

/// An operation. Its argument is one of `0..args`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    /// The number of possible arguments; 0 if it takes none.
    pub args: i64,
    /// The implementation of the object; the last part is a return.
    pub parts: Vec<Part>,
    /// The specification of the operation, which is executed in one step. If the test of a step in
    /// it does not hold, the call is not allowed in this state.
    pub spec: Vec<Part>,
}

/// An object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The operations.
    pub ops: Vec<Op>,
    /// The number of clients.
    pub clients: usize,
    /// The number of calls that each client makes.
    pub calls: usize,
    /// Whether each access is a step (`atomicity access`). Then each step of the object has one
    /// access.
    pub access: bool,
}

/// The number of shared variables.
pub const VARS: usize = 4;
/// The number of locals of an operation.
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
    /// Returns the object as a `.maz` text.
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

    /// Returns all possible calls: pairs of an operation and an argument.
    pub fn calls_to_choose(&self) -> Vec<(usize, i64)> {
        let numbered = self.ops.iter().enumerate();
        let all = numbered.flat_map(|(at, op)| (0..op.args.max(1)).map(move |arg| (at, arg)));
        all.collect()
    }
}
