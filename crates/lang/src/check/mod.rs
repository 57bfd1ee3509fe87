//! Turns the syntax tree into the checked program ([`hir`]): resolves names, checks types,
//! evaluates constants, and makes the instances of processes.
//!
//! The checks run in a fixed order. All names are declared first (`globals`); then constants get
//! their values in the order of the file; then come sizes and initial values; then properties,
//! procedures and processes (`body`, `stmt`, `expr`). A declaration with a mistake is poisoned, and
//! uses of a poisoned name are not reported, so each mistake is reported once.

mod atomics;
mod body;
mod channels;
mod constants;
mod expr;
mod fold;
mod functions;
mod ghosts;
mod globals;
pub mod hir;
mod initial;
mod matches;
mod message;
mod object;
pub(crate) mod objects;
mod operations;
mod ordered;
mod processes;
mod quantified;
mod records;
mod refines;
pub(crate) mod refuse;
mod select;
mod selected;
mod settings;
mod specification;
mod stmt;
mod synchronise;
mod temporal;
pub(crate) mod types;
mod unknowns;
mod warnings;

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::functions::Inlined;
use crate::check::hir::{LockId, ProcedureId, Program, Table, VarId};
use crate::check::records::{Declared, Record, Struct, TypeName};
use mazurka_diagnostics::{Diagnostic, Span, nearest};

use crate::syntax::ast::{File, Name};
use crate::syntax::parser::{foreign, parse};

pub use ordered::OrderedAccess;
pub use settings::Setting;
pub use unknowns::Unknowns;

/// Limit on the number of elements of all shared arrays together.
const MAX_ELEMENTS: u64 = 1 << 20;

/// Limit on the number of processes that exist from the start.
const MAX_PROCESSES: u64 = 4096;

/// Limit on the number of statements and expressions of an expanded program.
const MAX_SIZE: usize = 1 << 21;

/// Limit on the size of a file, so that places in it fit a [`Span`] with room to spare.
const MAX_SOURCE: usize = 1 << 28;

/// Limit on the number of comparisons of names in the search for similar names, over the whole
/// file.
const HINT_BUDGET: usize = 200_000;

/// Parses and checks a program. `settings` give values to constants and variables.
///
/// # Errors
///
/// Every mistake in the file, sorted by place. Mistakes in `settings` have the empty span at 0.
///
/// ```
/// use mazurka_lang::{Setting, load};
///
/// let source = "const N = 2  var x: int = 0  process p (i in 0..N) { x := x + i }";
/// assert_eq!(load(source, &[]).unwrap().processes.len(), 2);
///
/// let more = Setting { name: "N".to_owned(), value: "5".to_owned() };
/// assert_eq!(load(source, &[more]).unwrap().processes.len(), 5);
///
/// let mistakes = load("var x: int = 0 process { y := 1 }", &[]).unwrap_err();
/// assert_eq!(mistakes[0].code, "M0201");
/// ```
pub fn load(source: &str, settings: &[Setting]) -> Result<Program, Vec<Diagnostic>> {
    if source.len() > MAX_SOURCE {
        let diagnostic = Diagnostic::new("M0410", Span::default(), "this file is too large")
            .label(format!("more than {MAX_SOURCE} bytes"))
            .help("split it into several programs");
        return Err(vec![diagnostic]);
    }
    let parsed = parse(source);
    let mut checker = Checker::new(&parsed.file, parsed.diagnostics, parsed.tainted);
    let readable = checker.diagnostics.is_empty();
    checker.read_settings(settings);
    checker.file(&parsed.file, source, readable);
    if checker.diagnostics.is_empty() {
        // An included file may declare more than this file needs, so its warnings do not matter.
        let mut warnings = warnings::warnings(&parsed.file);
        warnings.retain(|warning| warning.span.file(source).is_none());
        checker.program.warnings = warnings;
        specification::add(&mut checker.program, source, settings)?;
        Ok(checker.program)
    } else {
        Err(mazurka_diagnostics::finish(checker.diagnostics))
    }
}

/// The value of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConstantValue {
    Int(i128),
    Bool(bool),
    /// A member of an `enum`: the index of the `enum`, and the index of the member.
    Member(u16, i64),
}

/// The expected kind of a name.
#[derive(Clone, Copy, Debug)]
enum ExpectedName {
    Value,
    Lock,
    Proc,
    Process,
    Object,
}

/// The meaning of a name at the top level of the file.
#[derive(Clone, Copy, Debug)]
enum Global {
    /// A constant that is declared later in the file.
    Pending,
    Const(ConstantValue),
    Var(VarId),
    Lock(LockId),
    Proc(ProcedureId),
    Table(u32),
    Record(u32),
    Function(u32),
    Object(u32),
    /// A name whose declaration has a mistake, which was reported.
    Poison,
}

impl Global {
    fn describe(self) -> &'static str {
        match self {
            Global::Pending | Global::Const(_) => "a constant",
            Global::Var(_) => "a shared variable",
            Global::Lock(_) => "a lock",
            Global::Proc(_) => "a procedure",
            Global::Table(_) => "a constant array",
            Global::Record(_) => "a variable of a `struct`",
            Global::Function(_) => "a function",
            Global::Object(_) => "a synchronisation object",
            Global::Poison => "something else",
        }
    }
}

/// A constant array.
#[derive(Clone, Debug)]
struct ConstantArray {
    table: Arc<Table>,
    ty: types::Ty,
}

/// Checks one file. It holds the program built so far, the meaning of every name at the top level,
/// and the mistakes found.
struct Checker<'s> {
    globals: FxHashMap<&'s str, (Global, Span)>,
    program: Program,
    /// The parameters of each procedure.
    signatures: Vec<Rc<[Declared]>>,
    types: FxHashMap<&'s str, (TypeName, Span)>,
    structs: Vec<Struct<'s>>,
    /// The variables of `struct` types, and each of their fields whose type is a `struct` too.
    records: Vec<Record>,
    functions: Vec<Inlined<'s>>,
    /// The constant arrays.
    tables: Vec<ConstantArray>,
    /// For each size of a dimension, the table of its valid indices.
    dimensions: FxHashMap<u32, Arc<Table>>,
    diagnostics: Vec<Diagnostic>,
    /// The names in parts of the file that could not be parsed. Such a part may declare a name, so
    /// these names are not reported as unknown.
    tainted: FxHashSet<&'s str>,
    /// The unknown names that were reported and that resemble no declared name. Further uses are
    /// not reported.
    unknown: FxHashSet<&'s str>,
    settings: FxHashMap<String, settings::SettingValue>,
    /// The variables that `observe` has named so far.
    observed: FxHashSet<VarId>,
    /// The number of elements of all shared arrays so far.
    elements: u64,
    /// The number of statements and expressions so far.
    size: usize,
    /// Whether the program is too large. If so, the checker builds no further parts of it.
    full: bool,
    /// Whether the checker has reported that there are too many processes.
    crowded: bool,
    /// How many more names may be compared to suggest similar ones.
    hint_budget: usize,
    /// The synchronisation objects.
    objects: Vec<objects::Object>,
    /// The locks in a `try` or an alternative of a `select`.
    tried: FxHashSet<&'s str>,
    processes: objects::Processes,
    operations: operations::Operations,
    /// Whether the contents of `spec object { … }` are being checked.
    is_specification: bool,
    /// The variables of the object whose specification is being checked, which the specification
    /// must not use.
    object_vars: FxHashSet<&'s str>,
}

impl<'s> Checker<'s> {
    /// Makes the checker of a parsed file.
    fn new(file: &File<'s>, diagnostics: Vec<Diagnostic>, tainted: FxHashSet<&'s str>) -> Self {
        Self {
            globals: FxHashMap::default(),
            program: Program::default(),
            signatures: Vec::new(),
            types: FxHashMap::default(),
            structs: Vec::new(),
            records: Vec::new(),
            functions: Vec::new(),
            tables: Vec::new(),
            dimensions: FxHashMap::default(),
            diagnostics,
            tainted,
            unknown: FxHashSet::default(),
            settings: FxHashMap::default(),
            observed: FxHashSet::default(),
            elements: 0,
            size: 0,
            full: false,
            crowded: false,
            hint_budget: HINT_BUDGET,
            objects: Vec::new(),
            tried: objects::tried_locks(file),
            processes: objects::Processes::default(),
            operations: operations::Operations::default(),
            is_specification: false,
            object_vars: FxHashSet::default(),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Adds `count` to the number of statements and expressions, and reports a program that is too
    /// large.
    fn grow(&mut self, count: usize, span: Span) {
        self.size = self.size.saturating_add(count);
        if self.size > MAX_SIZE && !self.full {
            self.full = true;
            self.report(
                Diagnostic::new("M0410", span, "this program is too large")
                    .label(format!(
                        "here it exceeds {MAX_SIZE} statements and expressions"
                    ))
                    .help("start fewer instances, or make arrays and bodies smaller"),
            );
        }
    }

    /// Returns the most similar name among the globals and the given names.
    fn nearest(&mut self, name: &str, locals: &[&'s str]) -> Option<&'s str> {
        let cost = self.globals.len() + locals.len();
        if cost > self.hint_budget {
            return None;
        }
        self.hint_budget -= cost;
        nearest(
            name,
            self.globals
                .keys()
                .copied()
                .chain(locals.iter().copied())
                .chain(["true", "false"]),
        )
    }

    /// Reports an unknown name.
    fn unknown_name(
        &mut self,
        name: Name<'s>,
        wanted: ExpectedName,
        locals: &[&'s str],
        note: Option<(Span, String)>,
    ) {
        if self.tainted.contains(name.text) || self.unknown.contains(name.text) {
            return;
        }
        if self.object_vars.contains(name.text) {
            self.unknown.insert(name.text);
            let message = format!("`{}` is a variable of the object", name.text);
            let diagnostic = Diagnostic::new("M0201", name.span, message)
                .label("the specification cannot use it")
                .help("pass it as an argument to functions that both use, or declare a variable in the specification");
            return self.report(diagnostic);
        }
        let mut help = match name.text {
            "TRUE" => Some("write `true`".to_owned()),
            "FALSE" => Some("write `false`".to_owned()),
            word => foreign(word).map(str::to_owned),
        };
        if help.is_none() && note.is_none() {
            let near = self.nearest(name.text, locals);
            help = near.map(|near| format!("did you mean `{near}`?"));
        }
        let mut diagnostic = Diagnostic::new(
            "M0201",
            name.span,
            format!("`{}` is not declared", name.text),
        )
        .label("unknown name");
        if let Some((span, text)) = note {
            diagnostic = diagnostic
                .related(span, text)
                .help("declare it before the block, and assign it inside");
        } else if help.is_some() {
            diagnostic = diagnostic.maybe_help(help);
        } else {
            // The missing declaration is reported once, at the first use of the name.
            self.unknown.insert(name.text);
            let text = name.text;
            diagnostic = diagnostic.help(match wanted {
                ExpectedName::Value => format!(
                    "declare it: `var {text}: int = 0` if it is shared, `let {text} = 0` if it is local"
                ),
                ExpectedName::Lock => format!("declare it outside of all blocks: `lock {text}`"),
                ExpectedName::Proc => {
                    format!("declare it outside of all blocks: `proc {text}() {{ … }}`")
                }
                ExpectedName::Object => format!(
                    "declare it outside of all blocks: `semaphore {text} = 1`, `rwlock {text}`, `cond {text}` or `barrier {text} = 2`"
                ),
                ExpectedName::Process => {
                    format!("keep the process where it is started: `let {text} = spawn …`")
                }
            });
        }
        self.report(diagnostic);
    }
}
