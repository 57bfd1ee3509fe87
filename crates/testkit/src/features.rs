//! Which features of the language a program uses, and which pairs of features the programs of a
//! test run have covered.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::oracle::ast::{
    Alternative, Child, Expr, Init, ItemKind, Kind, Place, Program, Stmt, Ty,
};
use crate::oracle::parse;

/// A feature of the language, or a use of features that engines easily treat wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Feature {
    Spawn,
    SpawnCall,
    /// A spawn within a spawn.
    NestedSpawn,
    /// A child uses a local of its parent.
    Captured,
    JoinHandle,
    JoinAll,
    /// `join` of a process that is not a child of the joining process.
    JoinOther,
    Guard,
    Choice,
    GuardedLoop,
    Await,
    If,
    While,
    BoundedWhile,
    For,
    Atomic,
    Lock,
    LockArray,
    Call,
    Recursion,
    Choose,
    Input,
    Symbolic,
    Assume,
    Assert,
    Error,
    Invariant,
    Ensures,
    Requires,
    Observe,
    Allows,
    Expects,
    Array,
    LocalArray,
    Bool,
    Int,
    Sized,
    Access,
    End,
    Local,
    MultiAssign,
    Division,
    Conditional,
    Family,
    Const,
    /// An update of an atomic variable.
    Update,
}

impl Feature {
    /// Every feature, in order.
    pub const ALL: [Self; 46] = [
        Self::Spawn,
        Self::SpawnCall,
        Self::NestedSpawn,
        Self::Captured,
        Self::JoinHandle,
        Self::JoinAll,
        Self::JoinOther,
        Self::Guard,
        Self::Choice,
        Self::GuardedLoop,
        Self::Await,
        Self::If,
        Self::While,
        Self::BoundedWhile,
        Self::For,
        Self::Atomic,
        Self::Lock,
        Self::LockArray,
        Self::Call,
        Self::Recursion,
        Self::Choose,
        Self::Input,
        Self::Symbolic,
        Self::Assume,
        Self::Assert,
        Self::Error,
        Self::Invariant,
        Self::Ensures,
        Self::Requires,
        Self::Observe,
        Self::Allows,
        Self::Expects,
        Self::Array,
        Self::LocalArray,
        Self::Bool,
        Self::Int,
        Self::Sized,
        Self::Access,
        Self::End,
        Self::Local,
        Self::MultiAssign,
        Self::Division,
        Self::Conditional,
        Self::Family,
        Self::Const,
        Self::Update,
    ];
}

/// Returns the features that a text uses; none if it is not a program.
pub fn features(text: &str) -> BTreeSet<Feature> {
    parse(text)
        .map(|program| of_program(&program))
        .unwrap_or_default()
}

/// Returns the features that a program uses.
pub fn of_program(program: &Program) -> BTreeSet<Feature> {
    let mut finder = Finder::default();
    for item in &program.items {
        finder.item(&item.kind);
    }
    finder.found
}

#[derive(Default)]
struct Finder {
    found: BTreeSet<Feature>,
    /// The locals in scope, each with the number of spawns around its declaration.
    locals: Vec<(String, usize)>,
    spawns: usize,
    procedure: Option<String>,
}

impl Finder {
    fn add(&mut self, feature: Feature) {
        self.found.insert(feature);
    }

    fn ty(&mut self, ty: Ty) {
        self.add(match ty {
            Ty::Bool => Feature::Bool,
            Ty::Int => Feature::Int,
            Ty::Signed(_) | Ty::Unsigned(_) => Feature::Sized,
        });
    }

    fn item(&mut self, kind: &ItemKind) {
        match kind {
            ItemKind::Var(_, ty, size, init) => {
                self.ty(*ty);
                if size.is_some() {
                    self.add(Feature::Array);
                }
                if init.is_none() {
                    self.add(Feature::Symbolic);
                }
            }
            ItemKind::Object(..) | ItemKind::Channel(..) => self.add(Feature::Lock),
            ItemKind::Lock(names) => {
                self.add(Feature::Lock);
                if names.iter().any(|(_, size)| size.is_some()) {
                    self.add(Feature::LockArray);
                }
            }
            ItemKind::Const(..) => self.add(Feature::Const),
            ItemKind::Proc(name, params, body) => {
                self.procedure = Some(name.clone());
                self.locals = params.iter().map(|(name, _)| (name.clone(), 0)).collect();
                self.block(body);
                self.procedure = None;
            }
            ItemKind::Requires(_, e) => self.property(Feature::Requires, e),
            ItemKind::Invariant(_, e) => self.property(Feature::Invariant, e),
            ItemKind::Ensures(_, e) => self.property(Feature::Ensures, e),
            ItemKind::Temporal(..) | ItemKind::Cover(..) => {}
            ItemKind::Observe(_) => self.add(Feature::Observe),
            ItemKind::Allows(_) => self.add(Feature::Allows),
            ItemKind::ExpectsDeterminism => self.add(Feature::Expects),
            ItemKind::Atomicity(true) => self.add(Feature::Access),
            ItemKind::Atomicity(false) => {}
            ItemKind::Process(_, range, body) => {
                if range.is_some() {
                    self.add(Feature::Family);
                }
                self.locals.clear();
                self.block(body);
            }
        }
    }

    fn property(&mut self, feature: Feature, e: &Expr) {
        self.add(feature);
        self.expr(e);
    }

    fn block(&mut self, body: &[Stmt]) {
        let before = self.locals.len();
        body.iter().for_each(|stmt| self.stmt(stmt));
        self.locals.truncate(before);
    }

    fn name(&mut self, name: &str) {
        let spawns = self.spawns;
        if self
            .locals
            .iter()
            .any(|(local, depth)| local == name && *depth < spawns)
        {
            self.add(Feature::Captured);
        }
    }

    fn place(&mut self, place: &Place) {
        self.name(&place.name);
        place.index.iter().for_each(|index| self.expr(index));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            Kind::Skip | Kind::Print(_) | Kind::Break | Kind::Continue | Kind::Return => {}
            Kind::End => self.add(Feature::End),
            Kind::Operate(_, places) => {
                self.add(Feature::Lock);
                places.iter().for_each(|place| self.place(place));
            }
            Kind::Try(_, tried) => self.stmt(tried),
            Kind::Update(_, place, _, values) => {
                self.add(Feature::Update);
                self.place(place);
                values.iter().for_each(|value| self.expr(value));
            }
            Kind::Select(all, other) => {
                self.add(Feature::Guard);
                for one in all {
                    let body = match one {
                        Alternative::When(test, body) => {
                            self.expr(test);
                            body
                        }
                        Alternative::Does(operation, body) => {
                            self.stmt(operation);
                            body
                        }
                    };
                    body.iter().for_each(|stmt| self.stmt(stmt));
                }
                other.iter().flatten().for_each(|stmt| self.stmt(stmt));
            }
            Kind::Send(channel, values) => {
                self.add(Feature::Lock);
                self.place(channel);
                values.iter().for_each(|value| self.expr(value));
            }
            Kind::Receive(channel, places) => {
                self.add(Feature::Lock);
                self.place(channel);
                places.iter().for_each(|place| self.place(place));
            }
            Kind::Assign(places, values) => {
                if places.len() > 1 {
                    self.add(Feature::MultiAssign);
                }
                places.iter().for_each(|place| self.place(place));
                values.iter().for_each(|value| self.expr(value));
            }
            Kind::Guard(test, inner) => self.around(Feature::Guard, test, &[inner]),
            Kind::Choice(first, test, other) => {
                self.around(Feature::Choice, test, &[first, other]);
            }
            Kind::GuardedLoop(test, inner) => self.around(Feature::GuardedLoop, test, &[inner]),
            Kind::Await(test) => self.property(Feature::Await, test),
            Kind::If(test, yes, no) => {
                self.property(Feature::If, test);
                self.block(yes);
                self.block(no);
            }
            Kind::While(test, bound, _, body) => {
                self.add(if bound.is_some() {
                    Feature::BoundedWhile
                } else {
                    Feature::While
                });
                self.expr(test);
                self.block(body);
            }
            Kind::For(name, low, high, body) => {
                self.property(Feature::For, low);
                self.expr(high);
                self.locals.push((name.clone(), self.spawns));
                self.block(body);
                self.locals.pop();
            }
            Kind::Spawn(handle, child) => self.spawn(handle.as_ref(), child),
            Kind::Join(None) => self.add(Feature::JoinAll),
            Kind::Join(Some(handle)) => {
                let own = self
                    .locals
                    .iter()
                    .any(|(n, depth)| n == handle && *depth == self.spawns);
                self.add(if own {
                    Feature::JoinHandle
                } else {
                    Feature::JoinOther
                });
                self.name(handle);
            }
            Kind::Call(name, arguments) => {
                self.add(Feature::Call);
                if self.procedure.as_ref() == Some(name) {
                    self.add(Feature::Recursion);
                }
                arguments.iter().for_each(|value| self.expr(value));
            }
            Kind::Atomic(body) => {
                self.add(Feature::Atomic);
                self.block(body);
            }
            Kind::Lock(place) | Kind::Unlock(place) => self.place(place),
            Kind::Let(name, ty, size, init) => {
                self.add(if size.is_some() {
                    Feature::LocalArray
                } else {
                    Feature::Local
                });
                ty.iter().for_each(|ty| self.ty(*ty));
                match init {
                    Init::One(value) => self.expr(value),
                    Init::List(all) => all.iter().for_each(|value| self.expr(value)),
                }
                self.locals.push((name.clone(), self.spawns));
            }
            Kind::Assert(test, _) => self.property(Feature::Assert, test),
            Kind::Assume(test) => self.property(Feature::Assume, test),
            Kind::Error(_) => self.add(Feature::Error),
            Kind::Seq(body) => self.block(body),
        }
    }

    fn around(&mut self, feature: Feature, test: &Expr, inner: &[&Stmt]) {
        self.property(feature, test);
        inner
            .iter()
            .for_each(|stmt| self.block(std::slice::from_ref(*stmt)));
    }

    fn spawn(&mut self, handle: Option<&String>, child: &Child) {
        self.add(if self.spawns > 0 {
            Feature::NestedSpawn
        } else {
            Feature::Spawn
        });
        match child {
            Child::Block(body) => {
                self.spawns += 1;
                self.block(body);
                self.spawns -= 1;
            }
            Child::Call(_, arguments) => {
                self.add(Feature::SpawnCall);
                arguments.iter().for_each(|value| self.expr(value));
            }
        }
        self.locals
            .extend(handle.map(|handle| (handle.clone(), self.spawns)));
    }

    fn expr(&mut self, e: &Expr) {
        match e {
            Expr::Bool(_) | Expr::Num(_) => {}
            Expr::Name(name) => self.name(name),
            Expr::Len(channel) => self.place(channel),
            Expr::Index(name, inner) => {
                self.name(name);
                self.expr(inner);
            }
            Expr::Not(inner) | Expr::Neg(inner) | Expr::Pick(_, inner) => self.expr(inner),
            Expr::Bin(op, left, right) => {
                if matches!(op.sign(), "/" | "%") {
                    self.add(Feature::Division);
                }
                self.expr(left);
                self.expr(right);
            }
            Expr::If(test, yes, no) => {
                self.property(Feature::Conditional, test);
                self.expr(yes);
                self.expr(no);
            }
            Expr::Choose(low, high) => {
                self.property(Feature::Choose, low);
                self.expr(high);
            }
            Expr::Input(ty) => {
                self.add(Feature::Input);
                ty.iter().for_each(|ty| self.ty(*ty));
            }
        }
    }
}

/// For each pair of features: how many programs have both, and how many of these programs have a
/// violation.
///
/// ```
/// use mazurka_testkit::features::{Feature, Pairs, features};
/// let mut pairs = Pairs::default();
/// pairs.count(&features("var x: int = 0  process { assert x == 1 }"), true);
/// assert_eq!(pairs.counts(Feature::Assert, Feature::Int), (1, 1));
/// assert!(pairs.at_zero().contains(&(Feature::Spawn, Feature::Assert)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    programs: u64,
    violated: u64,
    seen: BTreeMap<(Feature, Feature), (u64, u64)>,
}

impl Pairs {
    /// Counts one program.
    pub fn count(&mut self, features: &BTreeSet<Feature>, violated: bool) {
        self.programs += 1;
        self.violated += u64::from(violated);
        for &one in features {
            for &other in features.range(one..) {
                let entry = self.seen.entry((one, other)).or_default();
                entry.0 += 1;
                entry.1 += u64::from(violated);
            }
        }
    }

    /// Adds the counts of another table.
    pub fn add(&mut self, other: &Self) {
        self.programs += other.programs;
        self.violated += other.violated;
        for (pair, (seen, violated)) in &other.seen {
            let entry = self.seen.entry(*pair).or_default();
            entry.0 += seen;
            entry.1 += violated;
        }
    }

    /// Returns the number of programs with both features, and how many of them have a violation.
    pub fn counts(&self, one: Feature, other: Feature) -> (u64, u64) {
        let pair = if one <= other {
            (one, other)
        } else {
            (other, one)
        };
        self.seen.get(&pair).copied().unwrap_or_default()
    }

    /// Returns the pairs of features that occurred together in no program with a violation.
    pub fn at_zero(&self) -> Vec<(Feature, Feature)> {
        let all = Feature::ALL.iter();
        let pairs = all.flat_map(|&one| {
            Feature::ALL
                .iter()
                .filter(move |&&other| one < other)
                .map(move |&other| (one, other))
        });
        pairs
            .filter(|&(one, other)| self.counts(one, other).1 == 0)
            .collect()
    }
}

impl fmt::Display for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} programs, {} of them violated",
            self.programs, self.violated
        )?;
        writeln!(f, "programs and violations for each pair of features:")?;
        for one in Feature::ALL {
            write!(f, "{:<13}", format!("{one:?}"))?;
            for other in Feature::ALL.into_iter().filter(|other| one <= *other) {
                let (seen, violated) = self.counts(one, other);
                write!(f, " {other:?} {seen}/{violated}")?;
            }
            writeln!(f)?;
        }
        let zero = self.at_zero();
        writeln!(f, "{} pairs without a violation:", zero.len())?;
        zero.iter()
            .try_for_each(|(one, other)| writeln!(f, "  {one:?} {other:?}"))
    }
}
