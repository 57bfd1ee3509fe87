//! Flat code for a small stack machine, and the tables that it refers to.
//!
//! A frame is a row of slots on the stack, operands come above it. *Pure* instructions touch
//! nothing but the stack (they read fields); functions consist of these alone. The others are for
//! methods.

use std::sync::Arc;

use mazurka_core::Fairness;
use mazurka_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::effects::Effects;
use crate::syntax::ast::{Binary, Unary};
use crate::value::Value;

/// A function that is not written in ABS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    ToString,
    Length,
    Substring,
    Truncate,
    Float,
    Rat,
    Floor,
    Ceil,
    Numerator,
    Denominator,
    SquareRoot,
    Logarithm,
    Exponential,
    Absolute,
    /// The time.
    Clock,
    /// How long the task has until its deadline; less than nothing if it has none.
    Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    // Pure.
    Const(u32),
    Local(u32),
    Set(u32),
    Field(u32),
    This,
    Destiny,
    Construct {
        constructor: u32,
        parts: u32,
    },
    Part(u32),
    Unary(Unary),
    Binary(Binary),
    Jump(u32),
    JumpUnless(u32),
    /// Jumps if the value was made by another constructor.
    JumpUnlessMade {
        constructor: u32,
        target: u32,
    },
    Call(u32),
    /// Calls a function value that lies below its arguments.
    CallValue(u32),
    /// Makes a function value of a function and the operands that it captures.
    Function {
        function: u32,
        captured: u32,
    },
    Return,
    Builtin(Builtin),
    /// Joins so many operands to one text.
    Join(u32),
    Cast(u32),
    Implements(u32),
    /// No pattern matches.
    NoMatch,
    /// Behind patterns of which one always matches.
    Impossible,
    Pop,
    // For methods only.
    SetField(u32),
    New {
        class: u32,
        local: bool,
        args: u32,
    },
    /// The init block is done.
    Created,
    Async {
        method: u32,
        args: u32,
    },
    /// Called on `this` if `on` is the highest number, else on an object with that interface.
    Sync {
        method: u32,
        args: u32,
        on: u32,
    },
    /// Takes the value of a future that the task has waited for.
    Take,
    /// Takes the value of a future; the task rests here unless it has waited for it in this step.
    Get,
    /// Rests here. The guard follows, up to `Resume`.
    Await,
    Claim,
    Guard,
    Resume,
    Suspend,
    /// Makes of the bounds of a duration the time when it is over.
    Wake,
    /// Makes of such a time whether it has come.
    Elapsed,
    /// Rests here with the cog until the time that `Wake` made has come.
    Block,
    /// Gives the task of the future on the stack a deadline, which lies in a slot.
    Deadline(u32),
    Throw,
    /// Throws an exception on that a handler was asked for.
    Rethrow,
    /// Kills the object with an exception.
    Die,
    /// A recovery block is done.
    Recovered,
    Assert,
    Print {
        line: bool,
    },
    Random,
    /// Returns from a method.
    Leave,
}

impl Op {
    /// Whether no instruction follows in the same method or function.
    pub fn ends(self) -> bool {
        matches!(
            self,
            Op::Return
                | Op::Leave
                | Op::Created
                | Op::Recovered
                | Op::Throw
                | Op::Rethrow
                | Op::Die
                | Op::NoMatch
                | Op::Impossible
        )
    }
}

/// Where an exception goes that is thrown in a range of code.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub start: u32,
    pub end: u32,
    /// Not there.
    pub holes: Vec<(u32, u32)>,
    pub target: u32,
    /// Where the exception is put.
    pub slot: u32,
    pub catches: Caught,
}

/// Which exceptions a handler does not throw on.
#[derive(Clone, Debug)]
pub(crate) enum Caught {
    All,
    /// At least those of these constructors.
    These(Vec<u32>),
}

impl Handler {
    pub fn covers(&self, pc: u32) -> bool {
        let within = |&(start, end): &(u32, u32)| (start..end).contains(&pc);
        within(&(self.start, self.end)) && !self.holes.iter().any(within)
    }
}

/// A constructor of a data type or an exception.
#[derive(Clone, Debug)]
pub(crate) struct ConstructorInfo {
    pub name: String,
}

#[derive(Clone, Debug)]
pub(crate) struct FunctionInfo {
    pub entry: u32,
    pub slots: u32,
    /// Where captured values go.
    pub captures: Vec<u32>,
    pub parameters: u32,
}

#[derive(Clone, Debug)]
pub(crate) struct MethodInfo {
    pub name: String,
    pub entry: u32,
    pub slots: u32,
    pub parameters: u32,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct ClassInfo {
    pub name: String,
    pub fields: Vec<String>,
    /// Of each field, whether it may refer to an object or a future.
    pub carries: Vec<bool>,
    pub init: u32,
    pub init_slots: u32,
    pub methods: Vec<MethodInfo>,
    /// From the number of a method's name to its place in `methods`.
    pub by_name: FxHashMap<u32, u32>,
    pub run: Option<u32>,
    /// The interfaces that it implements, with all that these extend.
    pub interfaces: Vec<u32>,
    /// The recovery block, with the exception in its first slot, and its slots.
    pub recover: Option<(u32, u32)>,
    /// Whether the branch of the recovery block that handles a false `assert` names its exception.
    pub recovers_assertions: bool,
    /// Whether a task may hold a cog whose first object is of this class while it waits.
    pub may_hold: bool,
    /// Whether an object of this class may be killed by an exception.
    pub may_die: bool,
}

impl ClassInfo {
    /// Of the cells of an object, the one that stands for its cog. The fields are before it.
    pub fn cog_cell(&self) -> u32 {
        self.fields.len() as u32
    }

    /// The cell that stands for whether the object lives.
    pub fn life_cell(&self) -> u32 {
        self.fields.len() as u32 + 1
    }
}

/// A program, compiled.
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) source: String,
    /// Where the files start that the source was put together from, and their names.
    pub(crate) files: Vec<(u32, String)>,
    pub(crate) ops: Vec<Op>,
    /// Where each instruction comes from.
    pub(crate) spans: Vec<Span>,
    /// Instructions before this one belong to the standard module.
    pub(crate) own: u32,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) constants: Vec<Value>,
    pub(crate) constructors: Vec<ConstructorInfo>,
    /// The place of each constructor in the order of their names, by which values are compared.
    pub(crate) ranks: Arc<[u32]>,
    pub(crate) functions: Vec<FunctionInfo>,
    /// The first is that of the main block.
    pub(crate) classes: Vec<ClassInfo>,
    /// Where each body starts, in order, and its variables with their slots.
    pub(crate) variables: Vec<(u32, Vec<(u32, String)>)>,
    /// For each place where a task can rest, what its next run may do.
    pub(crate) effects: FxHashMap<u32, Effects>,
    /// For each place where a frame can go on, the slots that do not matter there, in order.
    pub(crate) dead: FxHashMap<u32, Vec<u32>>,
    /// Where a task may take a value out of a future, or an exception, that refers to an object or
    /// a future.
    pub(crate) carrying: FxHashSet<u32>,
    /// Where a message is sent whose future is kept for more than to wait for its end.
    pub(crate) kept: FxHashSet<u32>,
    /// Calls whose object may be `null`, and uses of futures that may be.
    pub(crate) nulls: FxHashSet<u32>,
    /// Whether time can pass.
    pub(crate) timed: bool,
    /// Durations are explored at multiples of this (`check/times.rs`).
    pub(crate) unit: Value,
    pub(crate) off_grid: bool,
    /// Whether the program asks what time it is.
    pub(crate) asks_time: bool,
    /// Whether any step may have to wait for a condition.
    pub(crate) guarded: bool,
    pub(crate) may_loop: bool,
    pub(crate) observed: Observed,
    /// Only the scheduling of this object varies, or of all objects of this class.
    pub(crate) object: Option<String>,
    pub(crate) exceptions: Exceptions,
    /// Which runs without an end count.
    pub fairness: Fairness,
}

impl Code {
    /// Whether it has been said what to observe.
    pub fn observes(&self) -> bool {
        self.object.is_some() || self.observed != Observed::default()
    }

    /// Whether times between those that are explored may lead to something else.
    pub fn leaves_out_times(&self) -> bool {
        self.off_grid
    }

    /// The file of a place.
    fn file_at(&self, span: Span) -> Option<&(u32, String)> {
        let before = { self.files.iter() }.filter(|(start, _)| *start <= span.start);
        before.max_by_key(|(start, _)| *start)
    }

    /// The name of the file of a place, if there are several.
    pub(crate) fn file(&self, span: Span) -> Option<String> {
        let several = self.files.len() > 1;
        let known = self.file_at(span).filter(|_| several);
        known.map(|(_, name)| name.clone())
    }

    /// The line and the column of a place, in its file.
    pub(crate) fn line_column(&self, span: Span) -> (usize, usize) {
        let start = self.file_at(span).map_or(0, |(start, _)| *start);
        let inside = Span {
            start: span.start - start,
            end: span.end.saturating_sub(start),
        };
        let file = self.source.get(start as usize..).unwrap_or_default();
        inside.line_column(file)
    }

    /// Where a frame goes on after the method or init block that the instruction calls.
    pub(crate) fn after_call(&self, call: u32) -> u32 {
        match self.ops[call as usize] {
            Op::New { .. } => call + 1,
            _ => call + 2,
        }
    }

    /// Whether a run that starts here comes to rest without having done anything. Then it does not
    /// matter whether its object lives: the next one finds out.
    pub(crate) fn is_idle(&self, pc: u32) -> bool {
        self.effects.get(&pc).is_some_and(|effects| effects.idle)
    }

    /// Whether the program states a property besides determinism.
    pub fn states_other_property(&self) -> bool {
        self.ops.contains(&Op::Assert)
    }
}

/// What determinism is about.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Observed {
    /// The fields, as `Class` or `Class.field`; none: all of them.
    pub fields: Option<Vec<(String, Option<String>)>>,
    /// Whether the output is left out.
    pub no_output: bool,
}

impl Observed {
    /// Parses a list of names: `output`, classes, and fields as `Class.field`.
    ///
    /// ```
    /// let observed = mazurka_abs::Observed::parse("Buffer.n,output");
    /// assert_eq!(observed.fields.unwrap()[0], ("Buffer".to_owned(), Some("n".to_owned())));
    /// assert!(!observed.no_output);
    /// ```
    pub fn parse(list: &str) -> Self {
        let names: Vec<&str> = list
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .collect();
        let field = |name: &&&str| match name.split_once('.') {
            Some((class, field)) => (class.to_owned(), Some(field.to_owned())),
            None => ((**name).to_owned(), None),
        };
        let fields = names.iter().filter(|name| **name != "output");
        Self {
            fields: Some(fields.map(|name| field(&name)).collect()),
            no_output: !names.contains(&"output"),
        }
    }
}

/// The constructors of the exceptions that the machine throws, and of other values that it makes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exceptions {
    pub division_by_zero: u32,
    pub assertion_failed: u32,
    pub pattern_match_failed: u32,
    pub null_pointer: u32,
    pub object_dead: u32,
    /// What is written as a list: how it begins, and the constructors of what is empty and of what
    /// has one element more.
    pub lists: [(&'static str, u32, u32); 3],
}
