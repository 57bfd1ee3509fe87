//! Checks a program and compiles it in the same pass: one walk over the tree resolves names, checks
//! types, reports mistakes, and emits the code ([`Code`]).

mod body;
mod calls;
mod carries;
mod classes;
mod declare;
mod expr;
mod modules;
mod names;
mod pattern;
mod rules;
mod stmt;
mod times;

use std::mem::Discriminant;

use mazurka_core::Fairness;
use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};

use self::rules::Rules;
use self::times::Times;
use crate::code::{
    Builtin, ClassInfo, Code, ConstructorInfo, Exceptions, FunctionInfo, Handler, Op,
};
use crate::flatten::flatten;
use crate::syntax::ast::{self, Module};
use crate::syntax::parser::{parse, parse_value};
use crate::types::{Head, Inheritance, Ty, Unknowns};
use crate::value::Value;
use crate::{Settings, effects, liveness};

/// The standard module, in ABS.
const STANDARD: &str = include_str!("../stdlib.abs");

/// The name of the standard module.
pub(crate) const STANDARD_NAME: &str = "ABS.StdLib";

/// The meaning of a type name.
#[derive(Clone, Debug)]
enum TypeDef<'a> {
    Builtin(crate::types::Head, usize),
    Data(u32),
    Interface(u32),
    Synonym(usize, &'a ast::Type),
}

/// A declared data type, with the count of its type parameters.
#[derive(Debug)]
struct DataDef {
    name: String,
    parameters: usize,
}

/// A declared constructor: the types of its parts, and the type of the values that it makes.
#[derive(Debug)]
struct ConstructorDef {
    name: String,
    /// Number of type parameters.
    generics: usize,
    parts: Vec<Ty>,
    result: Ty,
    /// For `True`, `False` and `Unit`: the value, which has a representation of its own.
    special: Option<Value>,
}

/// The origin of the code of a function.
#[derive(Clone, Copy, Debug)]
enum FunctionBody<'a> {
    Written(&'a ast::Expr),
    Builtin(Option<Builtin>),
    /// An accessor: it reads one part of the values of some constructors.
    Accessor,
}

/// The type that a function parameter of a partial function must have.
type FunctionTy = (Vec<Ty>, Ty);

/// A declared function, or partial function (`calls.rs`).
#[derive(Debug)]
struct FunctionDef<'a> {
    name: String,
    module: usize,
    span: Span,
    generics: Vec<String>,
    parameters: Vec<(String, Ty)>,
    result: Ty,
    /// Whether its result is annotated with `Nonnull`.
    nonnull: bool,
    /// For each parameter, whether it is annotated with `Nonnull`.
    nonnull_parameters: Vec<bool>,
    /// For a partial function: the functions that it takes, each with its name, and its type if the
    /// body determines it.
    functions: Option<Vec<(String, Option<FunctionTy>)>>,
    body: FunctionBody<'a>,
    /// For accessors: constructors, and the index of the part in each.
    parts: Vec<(u32, u32)>,
}

/// The types of a method, in an interface or a class.
#[derive(Clone, Debug)]
struct MethodSignature {
    parameters: Vec<Ty>,
    result: Ty,
    span: Span,
    /// Which parameters, and whether the result, are annotated with `Nonnull`.
    nonnull: (Vec<bool>, bool),
    atomic: bool,
}

/// A declared interface. It has no syntax tree if it is the one that all objects implement.
#[derive(Debug)]
struct InterfaceDef<'a> {
    name: String,
    module: usize,
    methods: FxHashMap<String, MethodSignature>,
    tree: Option<&'a ast::Interface>,
}

/// A declared class. It has no syntax tree if it is the class of the main block.
#[derive(Debug)]
struct ClassDef<'a> {
    name: String,
    module: usize,
    fields: Vec<(String, Ty)>,
    /// For each field, its rules.
    rules: Vec<Rules>,
    methods: FxHashMap<String, MethodSignature>,
    tree: Option<&'a ast::Class>,
}

/// The names visible in a module.
#[derive(Debug, Default)]
struct Scope {
    name: String,
    /// For each short name that is declared here or imported, its full name.
    visible: FxHashMap<String, String>,
    /// For each short name that the module exports, its full name.
    exports: FxHashMap<String, String>,
    /// The short names that could mean two declarations, with the full names of both.
    ambiguous: FxHashMap<String, [String; 2]>,
    /// The names that are visible only by their full name.
    qualified: FxHashSet<String>,
    /// Whether the whole standard module is visible.
    standard: bool,
}

/// A block whose statements must not wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Block {
    #[default]
    Init,
    Recover,
    Finally,
}

/// The code of a function, method, init block or main block, with places relative to its start.
#[derive(Debug, Default)]
struct BodyCode {
    ops: Vec<Op>,
    spans: Vec<Span>,
    handlers: Vec<Handler>,
    slots: u32,
    scope: Vec<Local>,
    /// All variables that were declared, in scope or not.
    named: Vec<(u32, String)>,
    /// For an anonymous function: for each captured variable, its slot in the enclosing body and
    /// its slot in this one.
    captures: Option<Vec<(u32, u32)>>,
    /// The class, if this is the code of a method or of a block of a class.
    class: Option<u32>,
    /// Whether statements may wait.
    may_wait: bool,
    block: Block,
    /// Whether it is an atomic method, which must not wait.
    atomic: bool,
    /// Whether it is a read-only method, which must not assign fields.
    readonly: bool,
    /// The slot of the deadline for the calls of the current statement, if it has one.
    deadline: Option<u32>,
    /// Whether the condition of an `await` is being compiled.
    in_guard: bool,
    /// While the initial value of a field is compiled: the index of this field. The field and all
    /// later ones have no value yet.
    fields: Option<u32>,
    /// The slots of variables that are known not to be `null` here.
    nonnull: Vec<u32>,
    result: ResultTy,
    nonnull_result: bool,
    module: usize,
    generics: Vec<String>,
    /// The slots of the variables whose futures have been awaited on every path to this place.
    claimed: Vec<u32>,
    /// The places where the value of a future is taken, with its type.
    taken: Vec<(u32, Ty)>,
    /// The places that fail if an object or a future is `null`, each with the type of this value.
    derefs: Vec<(u32, Head)>,
}

/// The result type; `None` if nothing is returned.
type ResultTy = Option<Ty>;

/// A variable in scope: its slot, its type, and its rules.
#[derive(Clone, Debug)]
struct Local {
    name: String,
    slot: u32,
    ty: LocalTy,
    rules: Rules,
}

/// The type of a variable.
#[derive(Clone, Debug)]
enum LocalTy {
    Value(Ty),
    /// A function that a partial function takes, by index.
    Function(usize),
}

/// The checker: the declarations of all modules, the bodies that are being compiled (several if an
/// anonymous function is inside another body), and the output. Modules, classes and other
/// declarations are identified by their indices.
struct Checker<'a> {
    modules: &'a [Module],
    scopes: Vec<Scope>,
    types: FxHashMap<String, TypeDef<'a>>,
    data: Vec<DataDef>,
    constructor_numbers: FxHashMap<String, u32>,
    constructors: Vec<ConstructorDef>,
    function_numbers: FxHashMap<String, u32>,
    functions: Vec<FunctionDef<'a>>,
    /// The types of the functions that the current partial function takes.
    function_types: Vec<Option<FunctionTy>>,
    /// What partial functions pass to others that are not compiled yet.
    passed_early: Vec<calls::PassedEarly>,
    /// The function whose body is being compiled; `None` for methods and blocks.
    current: Option<u32>,
    interfaces: Vec<InterfaceDef<'a>>,
    class_numbers: FxHashMap<String, u32>,
    classes: Vec<ClassDef<'a>>,
    inheritance: Inheritance,
    unknowns: Unknowns,
    bodies: Vec<BodyCode>,
    /// The `finally` blocks around the statement that is being checked, each with its index in
    /// `holes`.
    finals: Vec<(&'a ast::Stmt, usize)>,
    /// For each enclosing handler, the ranges of code that it does not cover ([`Handler::holes`]).
    holes: Vec<Vec<(u32, u32)>>,
    mistakes: Vec<Diagnostic>,
    /// Whether the standard module is being checked.
    standard: bool,
    /// Whether a duration only releases the cog, and there is no clock.
    ignore_time: bool,
    /// Whether the last method that was called never returns `null`.
    called_nonnull: bool,
    /// How many parts the type that is being resolved has so far.
    written_parts: u32,
    out: Output,
}

/// The compiled code.
#[derive(Default)]
struct Output {
    ops: Vec<Op>,
    spans: Vec<Span>,
    /// The first instruction after those of the standard module.
    own: u32,
    handlers: Vec<Handler>,
    constants: Vec<Value>,
    constant_numbers: FxHashMap<(Discriminant<Value>, Value), u32>,
    functions: Vec<FunctionInfo>,
    classes: Vec<ClassInfo>,
    method_numbers: FxHashMap<String, u32>,
    /// The places where the value of a future is taken, with its type.
    taken: Vec<(u32, Ty)>,
    /// The places that fail if an object or a future is `null`, each with the type of this value.
    derefs: Vec<(u32, Head)>,
    /// For each body, in order: its start, and the slot and the name of each variable.
    variables: Vec<(u32, Vec<(u32, String)>)>,
    times: Times,
}

/// Reads, checks and compiles a program.
pub(crate) fn load(source: &str, settings: &Settings) -> Result<Code, Vec<Diagnostic>> {
    let (standard, mut mistakes) = parse(STANDARD, false);
    let mut modules = standard.modules;
    debug_assert!(mistakes.is_empty(), "{mistakes:?}");
    let (own, wrong) = parse(source, settings.ignore_time);
    mistakes.extend(wrong);
    if own.modules.is_empty() && mistakes.is_empty() {
        let (message, help) = if own.variability.is_empty() {
            (
                "this file is empty",
                "write `module Main;`, classes, and a main block `{ … }`",
            )
        } else {
            (
                "deltas and products without a module",
                "name all files of the model, or their folder",
            )
        };
        let mistake = Diagnostic::new("A0105", Span::default(), message)
            .label("expected `module`")
            .help(help);
        mistakes.push(mistake);
    }
    let own = flatten(own, settings.product.as_deref(), &mut mistakes);
    let whole = mistakes.is_empty();
    let (mut own, again): (Vec<Module>, Vec<Module>) =
        { own.into_iter() }.partition(|module| module.name.text != STANDARD_NAME);
    for module in again {
        let message = format!("the module `{STANDARD_NAME}` is declared already");
        let mistake = Diagnostic::new("A0202", module.name.span, message)
            .label("a part of the language")
            .help("choose another name");
        mistakes.push(mistake);
    }
    modules.append(&mut own);
    set_constants(&mut modules, settings, &mut mistakes);
    let mut checker = Checker::new(&modules, mistakes);
    checker.ignore_time = settings.ignore_time;
    checker.declare();
    // If a part could not be parsed, most further reports would be wrong.
    if whole {
        checker.check(source, settings.main.as_deref());
    }
    checker.check_settings(settings);
    if checker.unknowns.is_too_large() && checker.mistakes.is_empty() {
        let mistake = Diagnostic::new("A0112", Span::default(), "a type is too large")
            .label("somewhere in this program")
            .help("give its parts data types of their own");
        checker.mistakes.push(mistake);
    }
    if !checker.mistakes.is_empty() {
        return Err(mazurka_diagnostics::finish(checker.mistakes));
    }
    Ok(checker.into_code(source, settings))
}

/// Applies `--set name=value`, which replaces the body of a function without parameters.
fn set_constants(modules: &mut [Module], settings: &Settings, mistakes: &mut Vec<Diagnostic>) {
    for (name, value) in &settings.constants {
        let mistake = |message: String, help: &str| {
            Diagnostic::new("A0401", Span::default(), message)
                .label("`--set` is about this file")
                .help(help)
        };
        let mut found = None;
        for module in modules.iter_mut().skip(1) {
            let prefix = format!("{}.", module.name.text);
            for item in &mut module.items {
                if let ast::Item::Def(def) = item
                    && def.parameters.is_empty()
                    && def.functions.is_none()
                    && (def.name.text == *name
                        || Some(def.name.text.as_str()) == name.strip_prefix(&prefix))
                {
                    found = Some(&mut def.body);
                }
            }
        }
        let Some(body) = found else {
            let message =
                format!("`--set {name}={value}`: there is no function `{name}` without parameters");
            mistakes.push(mistake(
                message,
                "write `def Int n() = 3;` in the file, and use `n()`",
            ));
            continue;
        };
        let Some(mut expr) = parse_value(value) else {
            let message = format!("`--set {name}={value}`: `{value}` is no ABS expression");
            mistakes.push(mistake(
                message,
                "give a value such as `3`, `-1`, `True` or `\"text\"`",
            ));
            continue;
        };
        relocate(&mut expr, body);
        *body = ast::Body::Expr(expr);
    }
}

/// Gives an expression the place of the body that it replaces, so that mistakes are reported there.
/// Values are small expressions, so moving the outermost node is enough.
fn relocate(expr: &mut ast::Expr, body: &ast::Body) {
    if let ast::Body::Expr(old) = body {
        expr.span = old.span;
    }
}

impl<'a> Checker<'a> {
    fn new(modules: &'a [Module], mistakes: Vec<Diagnostic>) -> Self {
        Self {
            modules,
            scopes: Vec::new(),
            types: FxHashMap::default(),
            data: Vec::new(),
            constructor_numbers: FxHashMap::default(),
            constructors: Vec::new(),
            function_numbers: FxHashMap::default(),
            functions: Vec::new(),
            function_types: Vec::new(),
            passed_early: Vec::new(),
            current: None,
            interfaces: Vec::new(),
            class_numbers: FxHashMap::default(),
            classes: Vec::new(),
            inheritance: Inheritance::default(),
            unknowns: Unknowns::default(),
            bodies: Vec::new(),
            finals: Vec::new(),
            holes: Vec::new(),
            mistakes,
            standard: false,
            ignore_time: false,
            called_nonnull: false,
            written_parts: 0,
            out: Output::default(),
        }
    }

    /// Checks that the classes and fields that the settings name exist.
    fn check_settings(&mut self, settings: &Settings) {
        let mut wrong = Vec::new();
        if let Some(object) = &settings.object {
            let class = object
                .split('@')
                .next()
                .unwrap_or(object)
                .trim_end_matches(|c: char| c.is_ascii_digit());
            let known = self.classes[1..]
                .iter()
                .any(|known| known.name == class || known.name == *object);
            if !known {
                wrong.push(format!("`--object {object}`: there is no class `{class}`"));
            }
        }
        for (class, field) in settings.observed.fields.iter().flatten() {
            match self.classes[1..].iter().find(|known| known.name == *class) {
                None => wrong.push(format!("`--observe {class}`: there is no class `{class}`")),
                Some(known) => {
                    let missing = field
                        .as_ref()
                        .filter(|field| !known.fields.iter().any(|(name, _)| name == *field));
                    if let Some(field) = missing {
                        wrong.push(format!(
                            "`--observe {class}.{field}`: class `{class}` has no field `{field}`"
                        ));
                    }
                }
            }
        }
        for message in wrong {
            let help =
                "name a class as in `Buffer`, a field as in `Buffer.n`, an object as in `Buffer1`";
            self.mistakes
                .push(Diagnostic::new("A0402", Span::default(), message).help(help));
        }
    }

    fn report(&mut self, mistake: Diagnostic) {
        debug_assert!(!self.standard, "in the standard module: {mistake:?}");
        self.mistakes.push(mistake);
    }

    /// Checks and compiles everything.
    fn check(&mut self, source: &str, main: Option<&str>) {
        // Partial functions are compiled first, because their bodies determine the types of the
        // functions that they take, and uses are checked against these types.
        let (partial, plain): (Vec<_>, Vec<_>) = (0..self.functions.len() as u32)
            .partition(|&at| self.functions[at as usize].functions.is_some());
        let empty = FunctionInfo {
            entry: 0,
            slots: 0,
            captures: Vec::new(),
            parameters: 0,
        };
        self.out.functions = vec![empty; self.functions.len()];
        self.standard = true;
        let standard = |checker: &Self, at: &u32| checker.functions[*at as usize].module == 0;
        let (first, rest): (Vec<_>, Vec<_>) = partial
            .into_iter()
            .chain(plain)
            .partition(|at| standard(self, at));
        self.functions_in(first);
        self.standard = false;
        let own = self.out.ops.len() as u32;
        self.functions_in(rest);
        for class in 0..self.classes.len() as u32 {
            self.class(class);
        }
        self.main(source, main);
        self.out.functions.shrink_to_fit();
        self.out.ops.shrink_to_fit();
        self.out.own = own;
    }

    fn constructor_named(&self, name: &str) -> u32 {
        self.constructor_numbers[&format!("{STANDARD_NAME}.{name}")]
    }

    fn into_code(self, source: &str, settings: &Settings) -> Code {
        let exceptions = Exceptions {
            division_by_zero: self.constructor_named("DivisionByZeroException"),
            assertion_failed: self.constructor_named("AssertionFailException"),
            pattern_match_failed: self.constructor_named("PatternMatchFailException"),
            null_pointer: self.constructor_named("NullPointerException"),
            object_dead: self.constructor_named("ObjectDeadException"),
            lists: [
                (
                    "list[",
                    self.constructor_named("Nil"),
                    self.constructor_named("Cons"),
                ),
                (
                    "set[",
                    self.constructor_named("EmptySet"),
                    self.constructor_named("Insert"),
                ),
                (
                    "map[",
                    self.constructor_named("EmptyMap"),
                    self.constructor_named("InsertAssoc"),
                ),
            ],
        };
        let constructors = self.constructors.iter().map(|constructor| ConstructorInfo {
            name: constructor.name.clone(),
        });
        let constructors: Vec<ConstructorInfo> = constructors.collect();
        let carrying = |(pc, ty): &(u32, Ty)| self.carries(ty).then_some(*pc);
        let carrying = if self.carries(&Ty::EXCEPTION) {
            self.out.taken.iter().map(|(pc, _)| *pc).collect()
        } else {
            self.out.taken.iter().filter_map(carrying).collect()
        };
        let nulls = self.null_sites();
        let mut code = Code {
            nulls,
            carrying,
            kept: FxHashSet::default(),
            source: source.to_owned(),
            files: settings.files.clone(),
            ranks: ranks(&constructors),
            constructors,
            ops: self.out.ops,
            spans: self.out.spans,
            own: self.out.own,
            handlers: self.out.handlers,
            constants: self.out.constants,
            functions: self.out.functions,
            classes: self.out.classes,
            variables: self.out.variables,
            effects: FxHashMap::default(),
            dead: FxHashMap::default(),
            timed: false,
            unit: self.out.times.unit(),
            off_grid: self.out.times.off_grid(),
            reads_time: self.out.times.read,
            guarded: false,
            may_loop: true,
            observed: settings.observed.clone(),
            object: settings.object.clone(),
            exceptions,
            fairness: Fairness::Weak,
        };
        liveness::find_dead_slots(&mut code);
        effects::analyse(&mut code);
        code
    }

    /// Returns the places that may fail because an object or a future is `null`: those where the
    /// program uses `null` as a value of its type or of a subtype.
    fn null_sites(&self) -> FxHashSet<u32> {
        let mut nulls = self.unknowns.nulls.clone();
        for head in &self.unknowns.nulls {
            if let Head::Interface(number) = head {
                let wider = &self.inheritance.interfaces[*number as usize];
                nulls.extend(wider.iter().map(|&number| Head::Interface(number)));
            }
        }
        let sites = self.out.derefs.iter();
        let sites = sites.filter(|(_, head)| nulls.contains(head));
        sites.map(|(pc, _)| *pc).collect()
    }

    /// Compiles functions, of which the partial ones come first.
    fn functions_in(&mut self, numbers: Vec<u32>) {
        for number in numbers {
            if self.functions[number as usize].functions.is_none() {
                self.check_passed_early();
            }
            self.function(number);
        }
        self.check_passed_early();
    }

    /// Compiles a function, if it has code.
    fn function(&mut self, number: u32) {
        let function = &self.functions[number as usize];
        let (module, span) = (function.module, function.span);
        let result = function.result.clone();
        let parameters = function.parameters.clone();
        let taken = function.functions.clone();
        let generics = function.generics.clone();
        let body = function.body;
        let parts = function.parts.clone();
        let count = parameters.len() + taken.as_ref().map_or(0, Vec::len);
        self.current = Some(number);
        self.function_types = vec![None; taken.as_ref().map_or(0, Vec::len)];
        self.open(BodyCode {
            module,
            generics,
            ..BodyCode::default()
        });
        for (at, (name, _)) in taken.iter().flatten().enumerate() {
            let name = ast::Name {
                text: name.clone(),
                span,
            };
            self.declare_local(&name, LocalTy::Function(at));
        }
        for (name, ty) in parameters {
            let name = ast::Name { text: name, span };
            self.declare_local(&name, LocalTy::Value(ty));
        }
        match body {
            FunctionBody::Written(expr) => self.expr_as(expr, &result),
            FunctionBody::Builtin(Some(builtin)) => {
                for slot in 0..count as u32 {
                    self.emit(Op::Local(slot), span);
                }
                self.emit(Op::Builtin(builtin), span);
            }
            // A function with effects can be used only as a statement, so this code is never
            // reached.
            FunctionBody::Builtin(None) => self.emit(Op::NoMatch, span),
            FunctionBody::Accessor => {
                let total = self.is_total(&parts);
                for (constructor, part) in parts {
                    self.emit(Op::Local(0), span);
                    let next = self.here() + 4;
                    self.emit(
                        Op::JumpUnlessMade {
                            constructor,
                            target: next,
                        },
                        span,
                    );
                    self.emit(Op::Local(0), span);
                    self.emit(Op::Part(part), span);
                    self.emit(Op::Return, span);
                }
                let last = if total { Op::Impossible } else { Op::NoMatch };
                self.emit(last, span);
            }
        }
        self.emit(Op::Return, span);
        let types = std::mem::take(&mut self.function_types);
        let known: Vec<_> = types.into_iter().map(|ty| self.settled(ty)).collect();
        let function = &mut self.functions[number as usize];
        for (taken, known) in function.functions.iter_mut().flatten().zip(known) {
            taken.1 = known;
        }
        self.current = None;
        let (entry, slots, captures) = self.close();
        self.out.functions[number as usize] = FunctionInfo {
            entry,
            slots,
            captures,
            parameters: count as u32,
        };
    }

    /// Whether an accessor has a part for every constructor of its type.
    fn is_total(&self, parts: &[(u32, u32)]) -> bool {
        let Some((first, _)) = parts.first() else {
            return false;
        };
        let data = &self.constructors[*first as usize].result;
        let made = self.constructors.iter();
        let made = made.filter(|constructor| constructor.result == *data);
        *data != Ty::EXCEPTION && made.count() == parts.len()
    }

    /// Returns the type of a function parameter. A part of the type that the body of the partial
    /// function does not determine may be any type.
    fn settled(&mut self, ty: Option<FunctionTy>) -> Option<FunctionTy> {
        let (parameters, result) = ty?;
        let open = |checker: &Self, ty: &Ty| match checker.unknowns.deep(ty) {
            ty if has_unknown(&ty) => Ty::Wrong,
            ty => ty,
        };
        let parameters = parameters.iter().map(|ty| open(self, ty)).collect();
        let result = open(self, &result);
        Some((parameters, result))
    }
}

/// Returns, for each constructor, its rank in the order of names.
fn ranks(constructors: &[ConstructorInfo]) -> std::sync::Arc<[u32]> {
    let mut names: Vec<&str> = constructors.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let rank = |c: &ConstructorInfo| names.binary_search(&c.name.as_str()).unwrap_or(0) as u32;
    constructors.iter().map(rank).collect()
}

fn has_unknown(ty: &Ty) -> bool {
    match ty {
        Ty::Unknown(_) => true,
        Ty::Made(_, args) => args.iter().any(has_unknown),
        _ => false,
    }
}
