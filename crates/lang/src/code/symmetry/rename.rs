//! The fingerprints of a program's parts, with two members exchanged.
//!
//! The walk also checks types. It rejects the symmetry if an expression that may be a member is
//! used as a plain number, or the other way round, or if a member is used in a way that a scalarset
//! forbids. So this walk alone decides whether the program is symmetric, and a wrong guess of the
//! types does no harm.

use mazurka_core::Fingerprint;

use super::typing::{self, ElementIndex, Typing, compared, dims, indices, is_one_sided};
use super::{Family, PlaceKind, loops};
use crate::check::hir::{
    Atomicity, BinaryOp, Expr, ExprKind, LocalId, Place, Program, Property, Spawned, Stmt,
    StmtKind, Type,
};

/// Two exchanged members.
pub(super) struct Swap {
    link: u32,
    values: [i64; 2],
    /// The exchanged processes: two of each family.
    pub processes: Vec<[u32; 2]>,
}

impl Swap {
    /// Exchanges the members at two indices in the range of some linked families.
    pub fn new(typing: &Typing, link: u32, at: [u32; 2]) -> Self {
        let Family { least, .. } = typing.families[link as usize];
        let processes = typing.linked(link).map(|family| {
            let Family { first, .. } = typing.families[family as usize];
            at.map(|index| first + index)
        });
        Self {
            link,
            values: at.map(|index| least + i64::from(index)),
            processes: processes.collect(),
        }
    }

    fn apply(&self, kind: PlaceKind, value: i64) -> i64 {
        let exchanged = |[a, b]: [i64; 2]| match value {
            value if value == a => Some(b),
            value if value == b => Some(a),
            _ => None,
        };
        let found = match kind {
            PlaceKind::Value(link) if link == self.link => exchanged(self.values),
            PlaceKind::Process(plus) => {
                let mut pairs = self.processes.iter();
                pairs.find_map(|pair| exchanged(pair.map(|process| i64::from(process) + plus)))
            }
            PlaceKind::Plain | PlaceKind::Value(_) => None,
        };
        found.unwrap_or(value)
    }
}

/// The fingerprints of a program's parts.
#[derive(Debug)]
pub(super) struct Renamed {
    pub procedures: Vec<Fingerprint>,
    pub processes: Vec<Fingerprint>,
    pub invariants: Vec<Fingerprint>,
    pub ensures: Vec<Fingerprint>,
}

impl Renamed {
    /// Computes the fingerprints of a program with two members exchanged; `None` if the program
    /// uses members in a way that is not symmetric.
    pub fn new(program: &Program, typing: &Typing, swap: Option<&Swap>) -> Option<Self> {
        let walk = |body: u32| BodyWalk {
            program,
            typing,
            swap,
            body,
            one_step: program.atomicity == Atomicity::Statement,
            kept: false,
            atomic: false,
        };
        let property = |property: &Property| {
            let walk = BodyWalk {
                one_step: true,
                ..walk(0)
            };
            walk.expr(&property.expr, PlaceKind::Plain)
        };
        let procedures = program.procedures.iter().enumerate();
        let procedures = procedures.map(|(at, one)| walk(at as u32).stmts(&one.body));
        let before = program.procedures.len();
        let processes = program.processes.iter().enumerate();
        let processes = processes.map(|(at, one)| walk((before + at) as u32).stmts(&one.body));
        Some(Self {
            procedures: procedures.collect::<Option<_>>()?,
            processes: processes.collect::<Option<_>>()?,
            invariants: program
                .invariants
                .iter()
                .map(property)
                .collect::<Option<_>>()?,
            ensures: program
                .ensures
                .iter()
                .map(property)
                .collect::<Option<_>>()?,
        })
    }
}

/// A walk through a body.
#[derive(Clone, Copy)]
struct BodyWalk<'a> {
    program: &'a Program,
    typing: &'a Typing,
    swap: Option<&'a Swap>,
    body: u32,
    /// Whether an expression is evaluated in one step.
    one_step: bool,
    /// Whether values are kept in temporaries. Temporaries hold plain numbers, so in this case only
    /// constants may be members: the compiler does not keep constants in temporaries.
    kept: bool,
    /// Whether the statements are part of an `atomic` block.
    atomic: bool,
}

fn tag(number: u64) -> Fingerprint {
    Fingerprint::EMPTY.then(number)
}

fn sequence(tagged: Fingerprint, parts: impl IntoIterator<Item = Fingerprint>) -> Fingerprint {
    let parts = parts.into_iter();
    let (all, count) = parts.fold((tagged, 0), |(all, count), part| {
        (all.then_all(part), count + 1)
    });
    all.then(count)
}

fn multiset(tagged: Fingerprint, parts: &[Fingerprint]) -> Fingerprint {
    let sum = parts.iter().fold(Fingerprint::ZERO, |sum, &part| {
        // The tag makes a sum of sums different from a single sum.
        sum.and(tag(1).then_all(part))
    });
    tagged.then_all(sum).then(parts.len() as u64)
}

fn type_number(ty: Type) -> u64 {
    match ty {
        Type::Bool => 0,
        Type::Int => 1,
        Type::Process => 2,
        Type::Signed(bits) => 256 + u64::from(bits),
        Type::Unsigned(bits) => 512 + u64::from(bits),
        Type::Enum(id) => 1024 + u64::from(id),
    }
}

impl BodyWalk<'_> {
    fn swapped(&self, kind: PlaceKind, value: i64) -> u64 {
        self.swap.map_or(value, |swap| swap.apply(kind, value)) as u64
    }

    /// Returns the kind of the place that an expression reads; `None` if the context determines the
    /// kind.
    fn kind(&self, e: &Expr) -> Option<PlaceKind> {
        match &e.kind {
            ExprKind::Const(_) | ExprKind::Choose(..) => None,
            ExprKind::Local(local) | ExprKind::LocalElement(local, _) => {
                Some(self.typing.local(self.body, *local).0)
            }
            ExprKind::Shared(var) | ExprKind::Element(var, _) => {
                Some(self.typing.vars[var.0 as usize])
            }
            ExprKind::If(_, a, b) => self.kind(a).or_else(|| self.kind(b)),
            _ => Some(PlaceKind::Plain),
        }
    }

    /// Whether an expression has a value in every state. An `int` beyond 64 bits counts as a value
    /// (docs/proofs/symmetry.md, Lemma 2).
    fn total(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Shared(_) => true,
            ExprKind::Element(var, index) => {
                let len = self.program.vars[var.0 as usize].len.unwrap_or(1);
                matches!(index.kind, ExprKind::Const(at) if (0..i64::from(len)).contains(&at))
            }
            ExprKind::LocalElement(local, index) => {
                let frame = typing::frame(self.program, self.body);
                let len = frame.locals[local.0 as usize].len.unwrap_or(1);
                matches!(index.kind, ExprKind::Const(at) if (0..i64::from(len)).contains(&at))
            }
            ExprKind::Unary(_, e) => self.total(e),
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, ..) => false,
            ExprKind::Binary(_, a, b) => self.total(a) && self.total(b),
            ExprKind::If(test, a, b) => self.total(test) && self.total(a) && self.total(b),
            ExprKind::Table(..) | ExprKind::Input | ExprKind::Choose(..) => false,
        }
    }

    /// Collects the operands of a chain of one operator.
    fn operands<'e>(op: BinaryOp, e: &'e Expr, into: &mut Vec<&'e Expr>) {
        match &e.kind {
            ExprKind::Binary(own, a, b) if *own == op => {
                Self::operands(op, a, into);
                Self::operands(op, b, into);
            }
            _ => into.push(e),
        }
    }

    /// Returns the fingerprint of an expression, which must be of the wanted kind.
    fn expr(&self, e: &Expr, wanted: PlaceKind) -> Option<Fingerprint> {
        let plain = wanted == PlaceKind::Plain;
        let stays = match e.kind {
            ExprKind::Const(_) => true,
            ExprKind::Local(_) => self.one_step || !self.kept,
            _ => self.one_step,
        };
        if !plain && (e.ty == Type::Bool || !stays) {
            return None;
        }
        let read = |kind: PlaceKind| (kind == wanted).then_some(());
        let part = |e: &Expr| self.expr(e, PlaceKind::Plain);
        let typed = |number: u64| tag(number).then(type_number(e.ty));
        Some(match &e.kind {
            ExprKind::Const(value) => typed(1).then(self.swapped(wanted, *value)),
            ExprKind::Local(local) => {
                read(self.typing.local(self.body, *local).0)?;
                typed(2).then(local.0.into())
            }
            ExprKind::LocalElement(local, index) => {
                let (kind, _) = self.typing.local(self.body, *local);
                read(kind)?;
                self.local_element(*local, index)?
            }
            ExprKind::Shared(var) => {
                read(self.typing.vars[var.0 as usize])?;
                typed(4).then(var.0.into())
            }
            ExprKind::Element(var, index) => {
                read(self.typing.vars[var.0 as usize])?;
                self.element(var.0, index)?
            }
            ExprKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) if plain => {
                let kind = self
                    .kind(a)
                    .or_else(|| self.kind(b))
                    .unwrap_or(PlaceKind::Plain);
                let sides = [self.expr(a, kind)?, self.expr(b, kind)?];
                let tagged = typed(6).then(*op as u64).then(type_number(a.ty));
                if self.one_step && self.total(a) && self.total(b) {
                    multiset(tagged, &sides)
                } else {
                    sequence(tagged, sides)
                }
            }
            ExprKind::Binary(
                op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Add | BinaryOp::Mul),
                a,
                b,
            ) if plain => {
                let mut operands = Vec::new();
                Self::operands(*op, a, &mut operands);
                Self::operands(*op, b, &mut operands);
                let tagged = typed(7).then(*op as u64);
                if self.one_step && operands.iter().all(|e| self.total(e)) {
                    let parts: Option<Vec<_>> = operands.into_iter().map(part).collect();
                    multiset(tagged, &parts?)
                } else {
                    sequence(tagged, [part(a)?, part(b)?])
                }
            }
            ExprKind::Binary(op, a, b)
                if plain
                    && let Some((e, bound)) = compared(*op, a, b)
                    && let Some(kind) = self.kind(e).filter(|&kind| kind != PlaceKind::Plain) =>
            {
                let mut ranges = self.ranges(kind);
                if !ranges.all(|range| is_one_sided(*op, a, b, range)) {
                    return None;
                }
                let tagged = typed(13).then(*op as u64).then(type_number(a.ty));
                let right = std::ptr::eq(e, &**b);
                let tagged = tagged.then(right.into()).then(bound as u64);
                tagged.then_all(self.expr(e, kind)?)
            }
            ExprKind::Binary(op, a, b) if plain => {
                let tagged = typed(8).then(*op as u64).then(type_number(a.ty));
                sequence(tagged, [part(a)?, part(b)?])
            }
            ExprKind::Unary(op, e) if plain => typed(9).then(*op as u64).then_all(part(e)?),
            ExprKind::Table(table, e) if plain => {
                let values = table.values.iter().map(|&value| tag(value as u64));
                sequence(typed(10), values).then_all(part(e)?)
            }
            ExprKind::If(test, a, b) => {
                let sides = [self.expr(a, wanted)?, self.expr(b, wanted)?];
                sequence(typed(11).then_all(part(test)?), sides)
            }
            ExprKind::Choose(a, b) => {
                let bounds = [part(a)?, part(b)?];
                if !plain {
                    self.chooses_all(wanted, a, b)?;
                }
                sequence(typed(12), bounds)
            }
            ExprKind::Input | ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Table(..) => {
                return None;
            }
        })
    }

    /// Returns the values of a kind's members as one range for each family: the least value, and
    /// the end, which is excluded.
    fn ranges(&self, kind: PlaceKind) -> impl Iterator<Item = (i64, i64)> {
        let families = self.typing.families.iter().enumerate();
        let ranges = families.filter_map(move |(at, family)| match kind {
            PlaceKind::Plain => None,
            PlaceKind::Value(link) => (at as u32 == link).then_some((family.least, family.count)),
            PlaceKind::Process(plus) => Some((i64::from(family.first) + plus, family.count)),
        });
        ranges.map(|(least, count)| (least, least + i64::from(count)))
    }

    /// Checks that a `choose` ranges over all members of a kind or over none.
    fn chooses_all(&self, kind: PlaceKind, from: &Expr, to: &Expr) -> Option<()> {
        let (ExprKind::Const(from), ExprKind::Const(to)) = (&from.kind, &to.kind) else {
            return None;
        };
        let mut ranges = self.ranges(kind);
        ranges
            .all(|(least, end)| {
                let all = *from <= least && end <= *to;
                all || end <= *from || *to <= least
            })
            .then_some(())
    }

    fn subscripts(
        &self,
        tagged: Fingerprint,
        sizes: &[u32],
        kinds: &[PlaceKind],
        flat: &Expr,
    ) -> Option<Fingerprint> {
        let Some(found) = indices(sizes, flat) else {
            let plain = kinds.iter().all(|&kind| kind == PlaceKind::Plain);
            return Some(tagged.then_all(self.expr(flat, PlaceKind::Plain).filter(|_| plain)?));
        };
        let moves = kinds.iter().any(|&kind| kind != PlaceKind::Plain);
        let known = |index: &ElementIndex<'_>| matches!(index, ElementIndex::Known(_));
        if !self.one_step && moves && !found.iter().all(known) {
            return None;
        }
        let mut all = tagged.then(type_number(flat.ty));
        for (index, &kind) in found.into_iter().zip(kinds) {
            all = match index {
                ElementIndex::Known(value) => all.then(1).then(self.swapped(kind, value)),
                ElementIndex::Of(e) => all.then(2).then_all(self.expr(e, kind)?),
            };
        }
        Some(all)
    }

    fn element(&self, var: u32, index: &Expr) -> Option<Fingerprint> {
        let declared = &self.program.vars[var as usize];
        let sizes = dims(&declared.shape, declared.len);
        let kinds = &self.typing.dims[var as usize];
        self.subscripts(tag(5).then(var.into()), &sizes, kinds, index)
    }

    fn local_element(&self, local: LocalId, index: &Expr) -> Option<Fingerprint> {
        let frame = typing::frame(self.program, self.body);
        let declared = &frame.locals[local.0 as usize];
        let sizes = dims(&declared.shape, declared.len);
        let (_, kinds) = self.typing.local(self.body, local);
        self.subscripts(tag(3).then(local.0.into()), &sizes, kinds, index)
    }

    /// Returns the fingerprint of an assigned place, and the kind of its content.
    fn place(&self, place: &Place) -> Option<(Fingerprint, PlaceKind)> {
        Some(match place {
            Place::Local(local) => (
                tag(2).then(local.0.into()),
                self.typing.local(self.body, *local).0,
            ),
            Place::LocalElement(local, index) => (
                self.local_element(*local, index)?,
                self.typing.local(self.body, *local).0,
            ),
            Place::Shared(var) => (tag(4).then(var.0.into()), self.typing.vars[var.0 as usize]),
            Place::Element(var, index) => (
                self.element(var.0, index)?,
                self.typing.vars[var.0 as usize],
            ),
        })
    }

    fn assignment(&self, place: &Place, value: &Expr) -> Option<Fingerprint> {
        let (to, kind) = self.place(place)?;
        let kind = if self.typing.clears(self.program, place, value) {
            PlaceKind::Plain
        } else {
            kind
        };
        Some(to.then_all(self.expr(value, kind)?))
    }

    /// Returns the walk for one of `count` values that are computed one after the other.
    fn one_of_values(&self, count: usize) -> Self {
        Self {
            kept: count > 1,
            ..*self
        }
    }

    fn stmts(&self, stmts: &[Stmt]) -> Option<Fingerprint> {
        let parts: Option<Vec<_>> = stmts.iter().map(|stmt| self.stmt(stmt)).collect();
        Some(sequence(tag(100), parts?))
    }

    /// Returns the fingerprint of the index of a lock.
    fn lock(&self, e: &Expr, kind: PlaceKind) -> Option<Fingerprint> {
        self.one_of_values(2).expr(e, kind)
    }

    fn plain_local(&self, local: LocalId) -> Option<Fingerprint> {
        let (kind, _) = self.typing.local(self.body, local);
        (kind == PlaceKind::Plain).then(|| tag(2).then(local.0.into()))
    }

    /// Returns the fingerprint of the counter of a loop. The counter must hold plain numbers, or
    /// take all members as its values, in an order that does not matter.
    fn counter(&self, local: LocalId, stmt: &Stmt) -> Option<Fingerprint> {
        let (PlaceKind::Value(link), _) = self.typing.local(self.body, local) else {
            return self.plain_local(local);
        };
        let frame = typing::frame(self.program, self.body);
        let range = loops::commuting(self.program, frame, stmt)?;
        let all = self.typing.families[link as usize].range();
        (self.atomic && range == all).then(|| tag(2).then(local.0.into()))
    }

    fn arguments(&self, procedure: u32, arguments: &[Expr]) -> Option<Fingerprint> {
        let walk = self.one_of_values(arguments.len());
        let argument = |(at, e): (usize, &Expr)| {
            let (kind, _) = self.typing.local(procedure, LocalId(at as u32));
            walk.expr(e, kind)
        };
        let parts: Option<Vec<_>> = arguments.iter().enumerate().map(argument).collect();
        Some(sequence(tag(101).then(procedure.into()), parts?))
    }

    fn stmt(&self, stmt: &Stmt) -> Option<Fingerprint> {
        let part = |e: &Expr| self.expr(e, PlaceKind::Plain);
        let whole = BodyWalk {
            one_step: true,
            ..*self
        };
        let guard = |e: &Expr| whole.expr(e, PlaceKind::Plain);
        let index = |lock: u32, index: &Option<Expr>| match index {
            None => Some(tag(0)),
            Some(e) => self.lock(e, self.typing.locks[lock as usize]),
        };
        Some(match &stmt.kind {
            StmtKind::Skip => tag(110),
            StmtKind::End => tag(111),
            StmtKind::Block(body) => tag(112).then_all(self.stmts(body)?),
            StmtKind::Assign(places, values) => {
                let (pairs, walk) = (places.iter().zip(values), self.one_of_values(values.len()));
                let parts: Option<Vec<_>> = pairs
                    .map(|(place, value)| walk.assignment(place, value))
                    .collect();
                sequence(tag(113), parts?)
            }
            StmtKind::Let(local, values) => self.declared(*local, values)?,
            StmtKind::Guard(test, body) => sequence(tag(115), [guard(test)?, self.stmt(body)?]),
            StmtKind::Choice { test, then, other } => {
                let sides = [guard(test)?, self.stmt(then)?, self.stmt(other)?];
                sequence(tag(116), sides)
            }
            StmtKind::GuardedLoop(test, body) => {
                sequence(tag(117), [guard(test)?, self.stmt(body)?])
            }
            StmtKind::If(test, then, other) => {
                let sides = [part(test)?, self.stmts(then)?, self.stmts(other)?];
                sequence(tag(118), sides)
            }
            StmtKind::While {
                test, bound, body, ..
            } => {
                let bound = match bound {
                    None => tag(0),
                    Some((most, counter)) => tag(1)
                        .then(*most as u64)
                        .then_all(self.plain_local(*counter)?),
                };
                sequence(tag(119), [part(test)?, bound, self.stmts(body)?])
            }
            StmtKind::For {
                local,
                limit,
                from,
                to,
                body,
            } => {
                let counters = [self.counter(*local, stmt)?, self.plain_local(*limit)?];
                let range = [part(from)?, part(to)?];
                let parts = counters.into_iter().chain(range);
                sequence(tag(120), parts.chain([self.stmts(body)?]))
            }
            StmtKind::Spawn(handle, spawned) => {
                let handle = match handle {
                    None => tag(0),
                    Some(handle) => self.plain_local(*handle)?,
                };
                let spawned = match spawned {
                    Spawned::Block(body) => {
                        let apart = BodyWalk {
                            one_step: self.program.atomicity == Atomicity::Statement,
                            atomic: false,
                            ..*self
                        };
                        apart.stmts(body)?
                    }
                    Spawned::Call(procedure, arguments) => {
                        self.arguments(procedure.0, arguments)?
                    }
                };
                sequence(tag(121), [handle, spawned])
            }
            StmtKind::Join(None) => tag(122),
            StmtKind::Join(Some(handle)) => tag(123).then_all(self.plain_local(*handle)?),
            StmtKind::Call(procedure, arguments) => {
                tag(124).then_all(self.arguments(procedure.0, arguments)?)
            }
            StmtKind::Atomic(body) => {
                let atomic = BodyWalk {
                    atomic: true,
                    ..whole
                };
                tag(125).then_all(atomic.stmts(body)?)
            }
            StmtKind::Lock(lock, at) => tag(126).then(lock.0.into()).then_all(index(lock.0, at)?),
            StmtKind::Unlock(lock, at) => tag(127).then(lock.0.into()).then_all(index(lock.0, at)?),
            StmtKind::Assert(test, _) => tag(128).then_all(part(test)?),
            StmtKind::Assume(test) => tag(129).then_all(part(test)?),
            StmtKind::Error(_) => tag(130),
            StmtKind::Leave(leave) => tag(131).then(*leave as u64),
        })
    }

    /// Returns the fingerprint of a local with its initial values: one for each element of an
    /// array.
    fn declared(&self, local: LocalId, values: &[Expr]) -> Option<Fingerprint> {
        let (kind, kinds) = self.typing.local(self.body, local);
        let tagged = tag(114).then(local.0.into());
        let walk = self.one_of_values(values.len());
        let parts: Option<Vec<_>> = values.iter().map(|e| walk.expr(e, kind)).collect();
        let parts = parts?;
        if kinds.iter().all(|&kind| kind == PlaceKind::Plain) {
            return Some(sequence(tagged, parts));
        }
        let frame = typing::frame(self.program, self.body);
        let declared = &frame.locals[local.0 as usize];
        let sizes = dims(&declared.shape, declared.len);
        // The values may be permuted if nothing else happens between their evaluations.
        if !self.one_step || !values.iter().all(|e| self.total(e)) {
            return None;
        }
        let placed = parts.into_iter().enumerate().map(|(at, part)| {
            let at = typing::coordinates(&sizes, at as i64);
            let at = at.iter().zip(kinds);
            let at = at.map(|(&at, &kind)| tag(self.swapped(kind, at)));
            sequence(tag(1), at).then_all(part)
        });
        let placed: Vec<_> = placed.collect();
        Some(multiset(tagged, &placed))
    }
}
