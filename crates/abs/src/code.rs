//! Compiled programs ([`Code`]): instructions of a small stack machine, and the tables that they
//! refer to. `check/` makes them.
//!
//! A *place* in the code is the index of an instruction in [`Code::ops`]. A method or function that
//! runs has a *frame*: a range of slots on the stack, with the operands above it. *Pure*
//! instructions may read fields but change only the stack. Functions consist only of pure
//! instructions; the other instructions occur in methods.

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

/// An instruction. It pops its operands from the stack, and pushes its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    // Pure instructions. A number is the index of a constant, slot, field, part, function or
    // interface; in a jump, it is the target place.
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
    /// Joins this many operands to one string.
    Join(u32),
    Cast(u32),
    Implements(u32),
    /// No pattern matches.
    NoMatch,
    /// Never reached: it follows the branches of a list of patterns, one of which always matches.
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
    /// A synchronous call. `on` is the interface of the called object, or `u32::MAX` for a call on
    /// `this`.
    Sync {
        method: u32,
        args: u32,
        on: u32,
    },
    /// Replaces a future that the task has waited for by its value.
    Take,
    /// Replaces a future by its value. The task rests here, unless it has already waited for this
    /// future in the same step.
    Get,
    /// Rests here until the guard holds. The guard is the code from the next instruction up to
    /// `Resume`.
    Await,
    /// In a guard: pops a future, and goes on if the task of the future has ended.
    Claim,
    /// In a guard: pops a truth value, and goes on if it is `True`.
    Guard,
    /// Ends a guard.
    Resume,
    /// Releases the cog and rests here.
    Suspend,
    /// Pops the bounds of a duration, chooses its length, and pushes the time at which it ends.
    Wake,
    /// Pops a time that `Wake` has pushed, and pushes whether the clock has reached the time.
    Elapsed,
    /// Rests here and keeps the cog until the clock has reached the time that `Wake` has pushed.
    Block,
    /// Sets the deadline of the task whose future is on the stack to the value of this slot.
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
    /// Parts of the range that the handler does not cover, each from its start to before its end.
    pub holes: Vec<(u32, u32)>,
    pub target: u32,
    /// The slot into which the exception is put before `target` runs.
    pub slot: u32,
    pub catches: Caught,
}

/// The exceptions that a handler catches. It throws all other exceptions again.
#[derive(Clone, Debug)]
pub(crate) enum Caught {
    All,
    /// All exceptions made by these constructors, and perhaps some exceptions made by others.
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

/// A compiled function: where its code starts, and how many slots it needs; parameters come first.
#[derive(Clone, Debug)]
pub(crate) struct FunctionInfo {
    pub entry: u32,
    pub slots: u32,
    /// The slots into which the captured values are put.
    pub captures: Vec<u32>,
    pub parameters: u32,
}

/// A compiled method: where its code starts, and how many slots it needs; parameters come first.
#[derive(Clone, Debug)]
pub(crate) struct MethodInfo {
    pub name: String,
    pub entry: u32,
    pub slots: u32,
    pub parameters: u32,
    pub span: Span,
}

/// A compiled class.
#[derive(Clone, Debug)]
pub(crate) struct ClassInfo {
    pub name: String,
    pub fields: Vec<String>,
    /// For each field, whether it may refer to an object or a future.
    pub carries: Vec<bool>,
    /// Where the code of the init block starts, and how many slots it needs.
    pub init: u32,
    pub init_slots: u32,
    pub methods: Vec<MethodInfo>,
    /// Maps the index of a method name, as in `Op::Async`, to the index of the method in `methods`.
    pub by_name: FxHashMap<u32, u32>,
    /// The index of the method `run`, if the class has one.
    pub run: Option<u32>,
    /// The interfaces that the class implements, and all interfaces that they extend.
    pub interfaces: Vec<u32>,
    /// The entry of the recovery block and its number of slots. The first slot holds the exception.
    pub recover: Option<(u32, u32)>,
    /// Whether the recovery block handles a false `assert` by a branch that names the exception.
    pub recovers_assertions: bool,
    /// For a cog whose first object is of this class: whether a task may keep the cog while the
    /// task rests.
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
    /// The files that the source was assembled from: for each, its start in the source and its
    /// name.
    pub(crate) files: Vec<(u32, String)>,
    pub(crate) ops: Vec<Op>,
    /// For each instruction, its place in the source.
    pub(crate) spans: Vec<Span>,
    /// Instructions before this one belong to the standard module.
    pub(crate) own: u32,
    pub(crate) handlers: Vec<Handler>,
    pub(crate) constants: Vec<Value>,
    pub(crate) constructors: Vec<ConstructorInfo>,
    /// For each constructor, its rank in the alphabetical order of the names. Values of different
    /// constructors are ordered by rank.
    pub(crate) ranks: Arc<[u32]>,
    pub(crate) functions: Vec<FunctionInfo>,
    /// The classes; the first is that of the main block.
    pub(crate) classes: Vec<ClassInfo>,
    /// For each body of a method, function or block, in the order of the code: its first place, and
    /// the slot and the name of each of its variables.
    pub(crate) variables: Vec<(u32, Vec<(u32, String)>)>,
    /// For each place where a task can rest, the effects of its next run.
    pub(crate) effects: FxHashMap<u32, Effects>,
    /// For each place where a frame can continue, the slots that are dead there, sorted: they are
    /// written before they are read.
    pub(crate) dead: FxHashMap<u32, Vec<u32>>,
    /// The places where a task may take a reference from a future: a value or an exception that
    /// refers to an object or a future.
    pub(crate) carrying: FxHashSet<u32>,
    /// The places where a message is sent whose future is used for more than waiting for its end.
    pub(crate) kept: FxHashSet<u32>,
    /// The places of calls and of uses of futures where the object or the future may be `null`; the
    /// instruction then fails.
    pub(crate) nulls: FxHashSet<u32>,
    /// Whether time can pass.
    pub(crate) timed: bool,
    /// The unit of time: durations are explored at its multiples (`check/times.rs`).
    pub(crate) unit: Value,
    /// Whether times between the multiples of `unit` may lead to other results.
    pub(crate) off_grid: bool,
    /// Whether the program reads the time.
    pub(crate) reads_time: bool,
    /// Whether some step may have to wait for a condition.
    pub(crate) guarded: bool,
    /// Whether a run of the program may be infinite.
    pub(crate) may_loop: bool,
    pub(crate) observed: Observed,
    /// The name of the one object whose scheduling varies, or the name of a class for all its
    /// objects. `None` means that the scheduling of all objects varies.
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

    /// Returns the start and the name of the file that contains a place in the source.
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

    /// Returns where a frame continues after the instruction `call` has called a method or an init
    /// block.
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
