//! Generator C: swarm generation. It was written from docs/language.md alone.
//!
//! Each batch of seeds gets a random subset of the features and a random shape. A feature that is
//! rare overall is common in some batch, and so are combinations of rare features. Programs are
//! tiny: an oracle that visits every state must finish.

use std::collections::BTreeSet;

use crate::Rng;
use crate::features::Feature;
use crate::oracle::ast::{Expr, Init, Item, ItemKind, Op, Program, Stmt, Ty};
use crate::oracle::print;

mod expressions;
mod kinds;
mod messages;
mod models;
mod numbers;
mod statements;
mod symmetric;
mod synchronised;
mod theme;

pub use kinds::kinds;
pub use messages::{messages, network};
pub use models::models;
pub use symmetric::symmetric;
pub use synchronised::synchronised;
pub use theme::Theme;

/// The number of consecutive seeds that share a choice of features and a shape.
pub const BATCH: u64 = 50;

/// The common properties of the programs of one batch.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The features that may be used.
    pub features: BTreeSet<Feature>,
    /// The number of processes at the start.
    pub processes: usize,
    /// The number of statements of each process.
    pub statements: usize,
    /// The maximal nesting depth of statements.
    pub depth: usize,
    /// The number of shared variables.
    pub variables: usize,
    /// The percentage of the uses of shared variables that use the first variable.
    pub hot: u32,
    /// The percentage of statements that are not plain assignments.
    pub rich: u32,
    /// The theme of the batch, if it has one.
    pub theme: Option<Theme>,
}

/// The percentage of batches that have a theme.
const THEMES: u32 = 55;

/// The features that decide which violations count.
const COUNTED: [Feature; 2] = [Feature::Allows, Feature::Expects];

/// Returns the shape of a batch.
pub fn shape(batch: u64) -> Shape {
    let mut rng = Rng::new(batch.wrapping_mul(0x9E37_79B9).wrapping_add(0x5EED));
    let chance = [20, 35, 50, 75][rng.below(4)];
    let features = Feature::ALL
        .into_iter()
        .filter(|feature| !COUNTED.contains(feature) && *feature != Feature::Update)
        .filter(|_| rng.percent(chance))
        .collect();
    let processes = [1, 2, 2, 2, 3, 3, 4][rng.below(7)];
    let shape = Shape {
        features,
        processes,
        statements: if processes > 2 {
            1 + rng.below(2)
        } else {
            1 + rng.below(4)
        },
        depth: 1 + rng.below(3),
        variables: 1 + rng.below(3),
        hot: [20, 50, 90][rng.below(3)],
        rich: [50, 70, 90][rng.below(3)],
        theme: None,
    };
    let theme = rng
        .percent(THEMES)
        .then(|| Theme::ALL[rng.weighted(&Theme::WEIGHTS)]);
    let mut shape = theme.map_or(shape.clone(), |theme| shape.about(theme));
    // These features only decide which violations count, and may hide the mistakes of an engine:
    // use few.
    let counted = COUNTED.into_iter().filter(|_| rng.percent(15));
    shape.features.extend(counted);
    if rng.percent(20) {
        shape.features.insert(Feature::Update);
    }
    shape
}

impl Shape {
    /// Returns the shape with a theme; it is small, because the theme brings its own statements.
    fn about(mut self, theme: Theme) -> Self {
        self.features.extend(theme.features());
        let without = theme.without();
        self.features.retain(|feature| !without.contains(feature));
        self.processes = 2;
        self.statements = self.statements.min(2);
        self.depth = self.depth.min(2);
        self.theme = Some(theme);
        self
    }
}

/// Returns the program of this seed.
///
/// ```
/// use mazurka_testkit::{oracle, swarm};
/// let text = swarm::swarm(12);
/// assert_eq!(text, swarm::swarm(12));
/// assert!(oracle::parse(&text).is_ok());
/// ```
pub fn swarm(seed: u64) -> String {
    print(&program(seed))
}

/// Returns the program of this seed as a tree.
pub fn program(seed: u64) -> Program {
    let mut builder = TreeBuilder::new(shape(seed / BATCH), Rng::new(seed.wrapping_add(0xC0FFEE)));
    builder.program()
}

/// A name in scope.
#[derive(Clone, Debug)]
struct Name {
    name: String,
    ty: Ty,
    len: Option<usize>,
}

/// A procedure that can be called.
#[derive(Clone, Debug)]
struct Procedure {
    name: String,
    params: Vec<Ty>,
    recursive: bool,
}

/// Makes the tree of a program. Contains the names in scope, and limits on the statements that may
/// still be generated.
struct TreeBuilder {
    shape: Shape,
    rng: Rng,
    shared: Vec<Name>,
    locks: Vec<(String, Option<usize>)>,
    procedures: Vec<Procedure>,
    locals: Vec<Name>,
    handles: Vec<String>,
    /// How many fresh names were made.
    names: usize,
    /// How many more statements, children and unknown values are allowed.
    budget: usize,
    children: usize,
    unknowns: usize,
}

impl TreeBuilder {
    fn new(shape: Shape, rng: Rng) -> Self {
        let budget = 4 + 3 * shape.processes;
        Self {
            shape,
            rng,
            shared: Vec::new(),
            locks: Vec::new(),
            procedures: Vec::new(),
            locals: Vec::new(),
            handles: Vec::new(),
            names: 0,
            budget,
            children: 3,
            unknowns: 2,
        }
    }

    fn has(&self, feature: Feature) -> bool {
        self.shape.features.contains(&feature)
    }

    /// Whether the feature is in the shape and a random draw succeeds.
    fn draws(&mut self, feature: Feature, percent: u32) -> bool {
        self.has(feature) && self.rng.percent(percent)
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn program(&mut self) -> Program {
        let mut items = Vec::new();
        if self.has(Feature::Access) {
            items.push(ItemKind::Atomicity(true));
        }
        if self.has(Feature::Const) {
            let value = 1 + self.rng.below(2) as i128;
            items.push(ItemKind::Const("N".into(), Expr::Num(value)));
        }
        self.variables(&mut items);
        self.declare_locks(&mut items);
        self.properties(&mut items);
        self.declare_procedures(&mut items);
        self.processes(&mut items);
        let atomic = if self.has(Feature::Update) {
            self.shared.iter().map(|name| name.name.clone()).collect()
        } else {
            Vec::new()
        };
        let items = items.into_iter();
        Program {
            items: items.map(|kind| Item { line: 0, kind }).collect(),
            atomic,
        }
    }

    fn some_type(&mut self) -> Ty {
        let mut all = Vec::new();
        if self.has(Feature::Bool) {
            all.push(Ty::Bool);
        }
        if self.has(Feature::Sized) {
            all.extend([Ty::Signed(8), Ty::Unsigned(8)]);
        }
        if self.has(Feature::Int) || all.is_empty() {
            all.extend([Ty::Int, Ty::Int]);
        }
        *self.rng.pick(&all).unwrap_or(&Ty::Int)
    }

    fn variables(&mut self, items: &mut Vec<ItemKind>) {
        for at in 0..self.shape.variables {
            let name = ["x", "y", "z"][at % 3].to_string();
            let mut ty = self.some_type();
            let mut init = Some(Init::One(self.literal(ty)));
            let mut len = None;
            if self.draws(Feature::Array, 60) {
                len = Some(2);
                if self.rng.percent(40) {
                    init = Some(Init::List(vec![self.literal(ty), self.literal(ty)]));
                }
            } else if self.unknowns > 0 && self.starts_unknown(at) {
                self.unknowns -= 1;
                if ty == Ty::Int {
                    ty = Ty::Signed(8);
                }
                init = None;
            }
            let size = len.map(|len| Expr::Num(len as i128));
            let bounded = init.is_none() && ty != Ty::Bool && self.draws(Feature::Requires, 70);
            items.push(ItemKind::Var(vec![name.clone()], ty, size, init));
            if bounded {
                items.push(ItemKind::Requires(None, between(&name)));
            }
            self.shared.push(Name { name, ty, len });
        }
        if self.shape.theme == Some(Theme::Numbers) {
            self.hard_start(items);
        }
    }

    /// Whether the variable with this number has no initial value.
    fn starts_unknown(&mut self, at: usize) -> bool {
        let about = self.shape.theme == Some(Theme::UnknownStart) && at == 0;
        about || self.draws(Feature::Symbolic, 70)
    }

    fn declare_locks(&mut self, items: &mut Vec<ItemKind>) {
        if self.has(Feature::Lock) {
            self.locks.push(("m".into(), None));
            if self.shape.theme == Some(Theme::Crossed) || self.rng.percent(40) {
                self.locks.push(("n".into(), None));
            }
        }
        if self.has(Feature::LockArray) {
            self.locks.push(("k".into(), Some(2)));
        }
        if !self.locks.is_empty() {
            let sized = |len: &Option<usize>| len.map(|len| Expr::Num(len as i128));
            let all = self
                .locks
                .iter()
                .map(|(name, len)| (name.clone(), sized(len)))
                .collect();
            items.push(ItemKind::Lock(all));
        }
    }

    fn properties(&mut self, items: &mut Vec<ItemKind>) {
        if self.draws(Feature::Invariant, 70) {
            let e = self.condition(2);
            items.push(ItemKind::Invariant(None, e));
        }
        if self.draws(Feature::Ensures, 70) {
            let e = self.condition(2);
            items.push(ItemKind::Ensures(None, e));
        }
        if self.draws(Feature::Observe, 70) {
            let names = self
                .shared
                .iter()
                .map(|name| name.name.clone())
                .collect::<Vec<_>>();
            let name = self.rng.pick(&names).cloned().unwrap_or_default();
            items.push(ItemKind::Observe(vec![name]));
        }
        // These items draw from a copy of the random number generator, so that they do not change
        // the rest of the program.
        let mut rng = self.rng.clone();
        let mut allows_results = false;
        if self.has(Feature::Allows) && rng.percent(70) {
            let kinds = ["failure", "deadlock", "livelock", "nondeterminism"];
            let some: Vec<&str> = kinds.into_iter().filter(|_| rng.percent(30)).collect();
            allows_results = some.contains(&"nondeterminism");
            if !some.is_empty() {
                let names = some.iter().map(|name| (*name).to_owned()).collect();
                items.push(ItemKind::Allows(names));
            }
        }
        if self.has(Feature::Expects) && rng.percent(70) && !allows_results {
            items.push(ItemKind::ExpectsDeterminism);
        }
    }

    fn declare_procedures(&mut self, items: &mut Vec<ItemKind>) {
        if self.has(Feature::Call) || self.has(Feature::SpawnCall) {
            let mut params = Vec::new();
            if self.rng.percent(60) {
                params.push((self.fresh("a"), self.some_type()));
            }
            let body = self.body(&params);
            let tys = params.iter().map(|(_, ty)| *ty).collect();
            let name = "p".to_string();
            items.push(ItemKind::Proc(name.clone(), params, body));
            self.procedures.push(Procedure {
                name,
                params: tys,
                recursive: false,
            });
        }
        if self.has(Feature::Recursion) {
            let count = self.fresh("c");
            let params = vec![(count.clone(), Ty::Int)];
            let mut body = self.body(&params);
            let less = binary(Op::Sub, Expr::Name(count.clone()), Expr::Num(1));
            body.push(Stmt::new(crate::oracle::ast::Kind::Call(
                "r".into(),
                vec![less],
            )));
            let more = binary(Op::Gt, Expr::Name(count), Expr::Num(0));
            let body = vec![Stmt::new(crate::oracle::ast::Kind::If(
                more,
                body,
                Vec::new(),
            ))];
            items.push(ItemKind::Proc("r".into(), params, body));
            let params = vec![Ty::Int];
            self.procedures.push(Procedure {
                name: "r".into(),
                params,
                recursive: true,
            });
        }
    }

    /// Returns the body of a procedure.
    fn body(&mut self, params: &[(String, Ty)]) -> Vec<Stmt> {
        self.locals = params
            .iter()
            .map(|(name, ty)| Name {
                name: name.clone(),
                ty: *ty,
                len: None,
            })
            .collect();
        let count = 1 + self.rng.below(2);
        let body = self.block(count, 1);
        self.locals.clear();
        body
    }

    fn processes(&mut self, items: &mut Vec<ItemKind>) {
        let mut left = self.shape.processes;
        self.budget = 4 + 3 * left;
        for number in 0.. {
            if left == 0 {
                break;
            }
            self.locals.clear();
            self.handles.clear();
            let opening = self.opening(number).into_iter().map(Stmt::new);
            let mut body: Vec<Stmt> = opening.collect();
            // A process with an opening from the theme needs no further statements.
            let about = usize::from(body.is_empty());
            let count = about + self.rng.below(self.shape.statements);
            body.extend(self.more(count));
            let mut range = None;
            if left > 1 && self.draws(Feature::Family, 50) {
                range = Some((self.fresh("j"), Expr::Num(0), Expr::Num(2)));
                left -= 1;
            }
            items.push(ItemKind::Process(None, range, body));
            left -= 1;
        }
    }
}

impl TreeBuilder {
    /// Returns this many statements of a process.
    fn more(&mut self, count: usize) -> Vec<Stmt> {
        match count {
            0 => Vec::new(),
            _ => self.block(count, self.shape.depth),
        }
    }
}

fn binary(op: Op, left: Expr, right: Expr) -> Expr {
    Expr::Bin(op, Box::new(left), Box::new(right))
}

/// Returns `name >= 0 && name <= 2`, so that there are few enough values for the oracle.
fn between(name: &str) -> Expr {
    let name = || Expr::Name(name.into());
    let low = binary(Op::Ge, name(), Expr::Num(0));
    binary(Op::And, low, binary(Op::Le, name(), Expr::Num(2)))
}
