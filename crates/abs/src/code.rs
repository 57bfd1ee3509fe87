//! Compiled programs ([`Code`]): instructions of a small stack machine, and the tables that they
//! refer to. `check/` makes them.
//!
//! A method or function that runs has a *frame*: a range of slots on the stack, with the operands
//! above it. *Pure* instructions may read fields but change only the stack. Functions consist only
//! of pure instructions; the other instructions occur in methods.

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
    /// The current time.
    Clock,
    /// The time that the task has until its deadline; negative if it has none.
    Deadline,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    // Pure instructions.
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
    /// Jumps unless the value was created by this constructor.
    JumpUnlessMade {
        constructor: u32,
        target: u32,
    },
    Call(u32),
    /// Calls a function value, which is below its arguments.
    CallValue(u32),
    /// Creates a function value from a function and the operands that it captures.
    Function {
        function: u32,
        captured: u32,
    },
    Return,
    Builtin(Builtin),
    /// Joins this many operands to one text.
    Join(u32),
    Cast(u32),
    Implements(u32),
    /// No pattern matches.
    NoMatch,
    /// Stands after patterns of which one always matches, so it is never reached.
    Impossible,
    Pop,
    // Instructions for methods only.
    SetField(u32),
    New {
        class: u32,
        local: bool,
        args: u32,
    },
    /// Ends the init block.
    Created,
    Async {
        method: u32,
        args: u32,
    },
    /// A synchronous call. `on` is the interface of the object, or the greatest number for a call
    /// on `this`.
    Sync {
        method: u32,
        args: u32,
        on: u32,
    },
    /// Takes the value of a future that the task has waited for.
    Take,
    /// Takes the value of a future. The task rests here, unless it has already waited for this
    /// future in the same step.
    Get,
    /// Rests here. The guard follows, up to `Resume`.
    Await,
    Claim,
    Guard,
    Resume,
    Suspend,
    /// Turns the bounds of a duration into its end time.
    Wake,
    /// Replaces such a time by whether it has come.
    Elapsed,
    /// Rests here and keeps the cog until the time from `Wake` has come.
    Block,
    /// Sets the deadline of the task whose future is on the stack; the deadline is in a slot.
    Deadline(u32),
    Throw,
    /// Throws an exception again because no branch of the handler matches it.
    Rethrow,
    /// Kills the object with an exception.
    Die,
    /// Ends a recovery block.
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

/// The handler of exceptions that are thrown in a range of code.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    pub start: u32,
    pub end: u32,
    /// Parts of the range that the handler does not cover.
    pub holes: Vec<(u32, u32)>,
    pub target: u32,
    /// The slot of the exception.
    pub slot: u32,
    pub catches: Caught,
}

/// The exceptions that a handler does not throw again.
#[derive(Clone, Debug)]
pub(crate) enum Caught {
    All,
    /// At least those made by these constructors.
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
    /// The slots of captured values.
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
    /// For each field, whether it may refer to an object or a future.
    pub carries: Vec<bool>,
    pub init: u32,
    pub init_slots: u32,
    pub methods: Vec<MethodInfo>,
    /// For each method name, by number, its index in `methods`.
    pub by_name: FxHashMap<u32, u32>,
    pub run: Option<u32>,
    /// The interfaces that it implements, including those that these extend.
    pub interfaces: Vec<u32>,
    /// The entry of the recovery block and its number of slots. The first slot holds the exception.
    pub recover: Option<(u32, u32)>,
    /// Whether the branch of the recovery block that handles a false `assert` names its exception.
    pub recovers_assertions: bool,
    /// Whether a task may hold a cog whose first object is of this class while it waits.
    pub may_hold: bool,
    /// Whether an exception may kill an object of this class.
    pub may_die: bool,
}

impl ClassInfo {
    /// Returns the index of the cell for the cog of an object, after those of the fields.
    pub fn cog_cell(&self) -> u32 {
        self.fields.len() as u32
    }

    /// Returns the index of the cell that records whether the object is alive.
    pub fn life_cell(&self) -> u32 {
        self.fields.len() as u32 + 1
    }
}

/// A compiled program, made by [`load`](crate::load) and run by [`Machine`](crate::Machine): the
/// instructions of all functions, methods and init blocks, and tables about classes, fields and
/// durations.
#[derive(Clone, Debug)]
pub struct Code {
    pub(crate) source: String,
    /// The starts and the names of the files that the source was assembled from.
    pub(crate) files: Vec<(u32, String)>,
    pub(crate) ops: Vec<Op>,
    /// For each instruction, its place in the source.
    pub(crate) spans: Vec<Span>,
    /// Instructions before this one belong to the standard module.
    pub(crate) own: u32,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) constants: Vec<Value>,
    pub(crate) constructors: Vec<ConstructorInfo>,
    /// For each constructor, its rank in the order of names, by which values are compared.
    pub(crate) ranks: Arc<[u32]>,
    pub(crate) functions: Vec<FunctionInfo>,
    /// The classes; the first is that of the main block.
    pub(crate) classes: Vec<ClassInfo>,
    /// For each body, in order, its start, and its variables with their slots.
    pub(crate) variables: Vec<(u32, Vec<(u32, String)>)>,
    /// For each place where a task can rest, the effects of its next run.
    pub(crate) effects: FxHashMap<u32, Effects>,
    /// For each place where a frame can continue, the slots that are dead there, in order.
    pub(crate) dead: FxHashMap<u32, Vec<u32>>,
    /// The places where a task may take a reference from a future: a value or an exception that
    /// refers to an object or a future.
    pub(crate) carrying: FxHashSet<u32>,
    /// The places where a message is sent whose future is used for more than waiting for its end.
    pub(crate) kept: FxHashSet<u32>,
    /// The calls and uses of futures that fail if the object or future is `null`, and may do so.
    pub(crate) nulls: FxHashSet<u32>,
    /// Whether time can pass.
    pub(crate) timed: bool,
    /// The unit of time: durations are explored at its multiples (`check/times.rs`).
    pub(crate) unit: Value,
    pub(crate) off_grid: bool,
    /// Whether the program reads the time.
    pub(crate) asks_time: bool,
    /// Whether some step may have to wait for a condition.
    pub(crate) guarded: bool,
    pub(crate) may_loop: bool,
    pub(crate) observed: Observed,
    /// If the user has chosen one object whose scheduling varies: this object, or a class for all
    /// its objects.
    pub(crate) object: Option<String>,
    pub(crate) exceptions: Exceptions,
    /// Which infinite runs count.
    pub fairness: Fairness,
}

impl Code {
    /// Whether the user has chosen what to observe.
    pub fn observes(&self) -> bool {
        self.object.is_some() || self.observed != Observed::default()
    }

    /// Whether times between the explored ones may lead to other results.
    pub fn leaves_out_times(&self) -> bool {
        self.off_grid
    }

    /// Returns the file of a place.
    fn file_at(&self, span: Span) -> Option<&(u32, String)> {
        let before = { self.files.iter() }.filter(|(start, _)| *start <= span.start);
        before.max_by_key(|(start, _)| *start)
    }

    /// Returns the name of the file of a place, if there are several.
    pub(crate) fn file(&self, span: Span) -> Option<String> {
        let several = self.files.len() > 1;
        let known = self.file_at(span).filter(|_| several);
        known.map(|(_, name)| name.clone())
    }

    /// Returns the line and the column of a place, in its file.
    pub(crate) fn line_column(&self, span: Span) -> (usize, usize) {
        let start = self.file_at(span).map_or(0, |(start, _)| *start);
        let inside = Span {
            start: span.start - start,
            end: span.end.saturating_sub(start),
        };
        let file = self.source.get(start as usize..).unwrap_or_default();
        inside.line_column(file)
    }

    /// Returns where a frame continues after the method or init block that the instruction calls.
    pub(crate) fn after_call(&self, call: u32) -> u32 {
        match self.ops[call as usize] {
            Op::New { .. } => call + 1,
            _ => call + 2,
        }
    }

    /// Whether a run that starts here comes to rest without an effect. Such a run need not check
    /// whether its object is alive, because the next run does.
    pub(crate) fn is_idle(&self, pc: u32) -> bool {
        self.effects.get(&pc).is_some_and(|effects| effects.idle)
    }

    /// Whether the program states a property besides determinism.
    pub fn states_other_property(&self) -> bool {
        self.ops.contains(&Op::Assert)
    }
}

/// The observations that are compared for determinism.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Observed {
    /// The fields, as `Class` or `Class.field`; `None` means all.
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

/// The constructors of the exceptions that the machine throws, and of other values that it creates.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exceptions {
    pub division_by_zero: u32,
    pub assertion_failed: u32,
    pub pattern_match_failed: u32,
    pub null_pointer: u32,
    pub object_dead: u32,
    /// The types that are written as lists: the prefix of their notation, the constructor of an
    /// empty value, and the constructor that adds an element.
    pub lists: [(&'static str, u32, u32); 3],
}
