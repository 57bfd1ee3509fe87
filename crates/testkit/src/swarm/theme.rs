//! Themes: the topics of some batches, chosen because engines once made mistakes there.
//!
//! A theme turns features on, and the processes of its programs begin with statements that combine
//! them. The rest is as random as in other batches.

use super::{TreeBuilder, binary};
use crate::features::Feature;
use crate::oracle::ast::{Child, Expr, Init, Kind, Op, Place, Stmt, Ty};

/// The topic of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// A child that makes steps in some runs only.
    IdleChild,
    /// A failure that occurs both in runs with a false `assume` in another process and in runs
    /// without one.
    Discarded,
    /// Results that depend on the schedule and on unknown initial values.
    UnknownStart,
    /// A false `assume` on an input before the first step, beside a process that fails.
    AssumeFirst,
    /// A process that joins a process that is not its child.
    ForeignJoin,
    /// Locks that are taken in two orders.
    Crossed,
    /// Arithmetic over unknown numbers, with large constants; see `swarm/numbers.rs`.
    Numbers,
}

impl Theme {
    /// Every theme.
    pub const ALL: [Self; 7] = [
        Self::IdleChild,
        Self::Discarded,
        Self::UnknownStart,
        Self::AssumeFirst,
        Self::ForeignJoin,
        Self::Crossed,
        Self::Numbers,
    ];

    /// The weight of each theme in the draw. A theme has a larger weight if few commands can show
    /// the mistakes that it provokes.
    pub(super) const WEIGHTS: [u32; 7] = [2, 4, 4, 2, 2, 4, 4];

    /// Returns the features that the theme needs.
    pub(super) fn features(self) -> &'static [Feature] {
        match self {
            Self::IdleChild => &[Feature::Spawn, Feature::Captured, Feature::If],
            Self::Discarded => &[Feature::Assume, Feature::Assert],
            Self::UnknownStart => &[Feature::Symbolic, Feature::Requires],
            Self::AssumeFirst => &[Feature::Input, Feature::Assume, Feature::Assert],
            Self::ForeignJoin => &[Feature::Spawn, Feature::JoinOther],
            Self::Crossed => &[Feature::Lock],
            Self::Numbers => &[Feature::Int, Feature::Division],
        }
    }

    /// Returns the features that are turned off, because they would make programs of the theme too
    /// large or hide mistakes.
    pub(super) fn without(self) -> &'static [Feature] {
        match self {
            Self::UnknownStart => &[Feature::Array, Feature::Input],
            Self::AssumeFirst => &[Feature::Symbolic],
            Self::Numbers => &[
                Feature::Array,
                Feature::Symbolic,
                Feature::Input,
                Feature::While,
                Feature::GuardedLoop,
            ],
            _ => &[],
        }
    }
}

impl TreeBuilder {
    /// Returns the first statements of the process with this number.
    pub(super) fn opening(&mut self, number: usize) -> Vec<Kind> {
        match (self.shape.theme, number) {
            (Some(Theme::IdleChild), 0) => self.idle_child(),
            (Some(Theme::IdleChild), 1) => vec![self.write_first()],
            (Some(Theme::UnknownStart), 0) => vec![self.change_first()],
            (Some(Theme::UnknownStart), 1) => vec![self.write_first()],
            (Some(Theme::Discarded), 0) => vec![Kind::Assume(self.about_first())],
            (Some(Theme::Discarded), 1) => vec![self.write_first(), self.failure()],
            (Some(Theme::AssumeFirst), 0) => self.assume_first(),
            (Some(Theme::AssumeFirst), 1) => vec![self.failure()],
            (Some(Theme::ForeignJoin), 0) => self.foreign_join(),
            (Some(Theme::Crossed), 0..=1) => self.crossed(number == 1),
            (Some(Theme::Numbers), 0) => self.hard_input(),
            _ => Vec::new(),
        }
    }

    /// Returns an assignment to the first shared variable, which other processes read.
    fn write_first(&mut self) -> Kind {
        let first = self.shared[0].clone();
        let place = self.place(&first);
        Kind::Assign(vec![place], vec![self.literal(first.ty)])
    }

    /// Returns an assignment to the first variable that depends on its value.
    fn change_first(&mut self) -> Kind {
        let first = self.shared[0].clone();
        let (place, read) = (self.place(&first), self.read(&first));
        let value = match first.ty {
            Ty::Bool => Expr::Not(Box::new(read)),
            ty => {
                let op = [Op::Add, Op::Sub, Op::Mul][self.rng.below(3)];
                binary(op, read, self.literal(ty))
            }
        };
        Kind::Assign(vec![place], vec![value])
    }

    /// Returns a condition on the first variable.
    fn about_first(&mut self) -> Expr {
        let first = self.shared[0].clone();
        let read = self.read(&first);
        self.compared(read, first.ty)
    }

    /// Returns a value compared with a constant.
    fn compared(&mut self, value: Expr, ty: Ty) -> Expr {
        if ty == Ty::Bool {
            return value;
        }
        let op = [Op::Eq, Op::Ne, Op::Le, Op::Gt][self.rng.below(4)];
        let literal = self.literal(ty);
        binary(op, value, literal)
    }

    /// Returns a statement that fails, always or often.
    fn failure(&mut self) -> Kind {
        if self.rng.percent(50) {
            Kind::Error(None)
        } else {
            Kind::Assert(self.about_first(), None)
        }
    }

    /// Returns `let l = x; spawn { if l == 1 { … } }`.
    fn idle_child(&mut self) -> Vec<Kind> {
        let first = self.shared[0].clone();
        let read = self.read(&first);
        let local = self.fresh("l");
        let bind = Kind::Let(local.clone(), Some(first.ty), None, Init::One(read));
        let test = self.compared(Expr::Name(local), first.ty);
        self.children = self.children.saturating_sub(1);
        let mut body = vec![self.write_first()];
        if self.rng.percent(50) {
            body.push(self.failure());
        }
        let body = body.into_iter().map(Stmt::new).collect();
        let test = Kind::If(test, body, Vec::new());
        let child = Child::Block(vec![Stmt::new(test)]);
        vec![bind, Kind::Spawn(None, child)]
    }

    /// Returns `let l = input(i8); assume l > 1`.
    fn assume_first(&mut self) -> Vec<Kind> {
        self.unknowns = self.unknowns.saturating_sub(1);
        let ty = [Ty::Bool, Ty::Signed(8), Ty::Unsigned(8)][self.rng.below(3)];
        let local = self.fresh("l");
        let input = Init::One(Expr::Input(Some(ty)));
        let test = self.compared(Expr::Name(local.clone()), ty);
        vec![Kind::Let(local, None, None, input), Kind::Assume(test)]
    }

    /// Returns `spawn h { … }; spawn { join h; … }`.
    fn foreign_join(&mut self) -> Vec<Kind> {
        self.children = self.children.saturating_sub(2);
        let handle = self.fresh("h");
        let one = vec![Stmt::new(self.write_first())];
        let join = Stmt::new(Kind::Join(Some(handle.clone())));
        let after = if self.rng.percent(50) {
            self.write_first()
        } else {
            Kind::Assert(self.about_first(), None)
        };
        vec![
            Kind::Spawn(Some(handle), Child::Block(one)),
            Kind::Spawn(None, Child::Block(vec![join, Stmt::new(after)])),
        ]
    }

    /// Returns `lock(m); lock(n); …; unlock(n); unlock(m)`. If `turned`, `n` is locked first.
    fn crossed(&mut self, turned: bool) -> Vec<Kind> {
        let place = |name: &str| Place {
            name: name.into(),
            index: None,
        };
        let (mut first, mut second) = (place("m"), place("n"));
        if turned {
            std::mem::swap(&mut first, &mut second);
        }
        vec![
            Kind::Lock(first.clone()),
            Kind::Lock(second.clone()),
            self.write_first(),
            Kind::Unlock(second),
            Kind::Unlock(first),
        ]
    }
}
