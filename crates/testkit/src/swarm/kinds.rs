//! Programs with several kinds of violations at once: endless processes, temporal properties, and
//! `allows` with any kinds.
//!
//! The bodies are as random as in other programs of the swarm. No program has inputs or unknown
//! initial values, because temporal properties are decided only for known values.

use super::{BATCH, Theme, TreeBuilder, shape};
use crate::Rng;
use crate::features::Feature;
use crate::oracle::ast::{Expr, Item, ItemKind, Kind, Stmt, Temporal};
use crate::oracle::print;

/// Features and themes with unknown values.
const UNKNOWN: [Feature; 2] = [Feature::Symbolic, Feature::Input];
const UNKNOWN_THEMES: [Theme; 3] = [Theme::UnknownStart, Theme::AssumeFirst, Theme::Numbers];

/// Returns the program of this seed. Its temporal properties are called `t0`, `t1`, …
///
/// ```
/// use mazurka_testkit::{oracle, swarm};
/// let text = swarm::kinds(5);
/// assert_eq!(text, swarm::kinds(5));
/// assert!(text.contains(" t0: "));
/// assert!(oracle::parse(&text).is_ok());
/// ```
pub fn kinds(seed: u64) -> String {
    let mut shape = shape(seed / BATCH);
    shape.features.retain(|feature| !UNKNOWN.contains(feature));
    shape.features.remove(&Feature::Allows);
    shape.theme = shape.theme.filter(|theme| !UNKNOWN_THEMES.contains(theme));
    let mut builder = TreeBuilder::new(shape, Rng::new(seed.wrapping_add(0x0DD_BA11)));
    let mut program = builder.program();
    builder.locals.clear();
    for item in &mut program.items {
        if let ItemKind::Process(_, _, body) = &mut item.kind
            && builder.rng.percent(50)
        {
            let all = std::mem::take(body);
            let forever = Kind::While(Expr::Bool(true), None, None, all);
            body.push(Stmt::new(forever));
        }
    }
    let stated = builder.stated().into_iter();
    program
        .items
        .extend(stated.map(|kind| Item { line: 0, kind }));
    print(&program)
}

impl TreeBuilder {
    /// Returns random temporal properties, and sometimes an `allows`.
    fn stated(&mut self) -> Vec<ItemKind> {
        let mut all = Vec::new();
        for number in 0..1 + self.rng.below(3) {
            let (kind, _) = Temporal::ALL[self.rng.below(4)];
            let mut conditions = vec![self.condition(2)];
            if kind == Temporal::LeadsTo {
                conditions.push(self.condition(2));
            }
            let name = Some(format!("t{number}"));
            all.push(ItemKind::Temporal(kind, name, conditions));
        }
        let kinds = ["failure", "property", "deadlock", "livelock"];
        let some = kinds.into_iter().filter(|_| self.rng.percent(15));
        let some: Vec<String> = some.map(str::to_owned).collect();
        if !some.is_empty() {
            all.push(ItemKind::Allows(some));
        }
        all
    }
}
