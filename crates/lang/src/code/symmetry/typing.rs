//! Guesses which places hold members, from the flow of constants.
//!
//! Places are in one class if their values are assigned to each other, compared with `==`, passed
//! as arguments or used as the same subscript. Places used in arithmetic, with `<` or by counting
//! are in the class of plain numbers.
//!
//! The checker has replaced `i` by numbers, so the constants identify the classes of members. In
//! such a class, each process of a family contains one value more often than the other processes of
//! the family do. This value is its `i`, or its process number.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::collections::BTreeMap;

use super::{CellContent, CellImage, Family, PlaceKind, SlotImage, loops};
use crate::check::hir::{
    BinaryOp, Expr, ExprKind, Frame, LocalId, Place, Program, Shape, Spawned, Stmt, StmtKind, Type,
    VarId,
};
use crate::code::Code;

/// The kinds of all places.
#[derive(Debug)]
pub(super) struct Typing {
    pub families: Vec<Family>,
    /// For each family, the first of the families that it is linked with.
    links: Vec<u32>,
    pub vars: Vec<PlaceKind>,
    pub dims: Vec<SmallVec<[PlaceKind; 2]>>,
    pub locks: Vec<PlaceKind>,
    /// For each body, the kinds of its locals and of their dimensions.
    locals: Vec<Vec<(PlaceKind, SmallVec<[PlaceKind; 2]>)>>,
    /// For each variable that holds messages: the variable that counts them, and its number of
    /// dimensions.
    messages: FxHashMap<u32, (u32, usize)>,
}

/// Returns the sizes of the dimensions of an array; empty for a single value.
pub(super) fn dims(shape: &Shape, len: Option<u32>) -> SmallVec<[u32; 2]> {
    match len {
        None => SmallVec::new(),
        Some(len) if shape.elements() == Some(len) => shape.dims.iter().copied().collect(),
        Some(len) => [len].into_iter().collect(),
    }
}

/// Returns the indices of an element of a flat array.
pub(super) fn coordinates(dims: &[u32], flat: i64) -> SmallVec<[i64; 2]> {
    let mut rest = flat;
    let mut all: SmallVec<[i64; 2]> = SmallVec::new();
    for &dim in dims.iter().skip(1).rev() {
        all.push(rest % i64::from(dim));
        rest /= i64::from(dim);
    }
    if !dims.is_empty() {
        all.push(rest);
    }
    all.reverse();
    all
}

/// One index of an element.
#[derive(Clone, Copy, Debug)]
pub(super) enum ElementIndex<'e> {
    /// A constant.
    Known(i64),
    /// The value of an expression.
    Of(&'e Expr),
}

/// Returns the indices that the checker has combined into one; `None` if they cannot be recovered.
pub(super) fn indices<'e>(dims: &[u32], flat: &'e Expr) -> Option<SmallVec<[ElementIndex<'e>; 2]>> {
    if let ExprKind::Const(at) = flat.kind {
        let all: u32 = dims.iter().product();
        let inside = (0..i64::from(all)).contains(&at);
        return match dims.len() {
            1 => Some([ElementIndex::Known(at)].into_iter().collect()),
            _ if inside => {
                let all = coordinates(dims, at).into_iter();
                Some(all.map(ElementIndex::Known).collect())
            }
            _ => None,
        };
    }
    if dims.len() == 1 {
        return Some([ElementIndex::Of(flat)].into_iter().collect());
    }
    let one = |index: &'e Expr| match &index.kind {
        ExprKind::Const(at) => Some(ElementIndex::Known(*at)),
        ExprKind::Table(table, index) if table.shape.is_none() => Some(ElementIndex::Of(index)),
        _ => None,
    };
    let mut all: SmallVec<[ElementIndex<'e>; 2]> = SmallVec::new();
    let mut rest = flat;
    for &dim in dims.iter().skip(1).rev() {
        let ExprKind::Binary(BinaryOp::Add, rows, last) = &rest.kind else {
            return None;
        };
        let ExprKind::Binary(BinaryOp::Mul, outer, size) = &rows.kind else {
            return None;
        };
        if !matches!(size.kind, ExprKind::Const(size) if size == i64::from(dim)) {
            return None;
        }
        all.push(one(last)?);
        rest = outer;
    }
    all.push(one(rest)?);
    all.reverse();
    Some(all)
}

impl Typing {
    /// Guesses the kinds of all places.
    pub fn guess(program: &Program, families: Vec<Family>) -> Self {
        let mut flow = Flow::new(program, families);
        for (at, procedure) in program.procedures.iter().enumerate() {
            flow.stmts(at as u32, &procedure.body, false);
        }
        for (at, process) in program.processes.iter().enumerate() {
            let of = |family: &Family| family.has(at as u32);
            let family = flow.families.iter().position(of);
            flow.origin = family.map(|family| (family as u32, at as u32));
            let first = match family {
                Some(family) => flow.families[family].first,
                None => at as u32,
            };
            let body = program.procedures.len() as u32 + first;
            flow.stmts(body, &process.body, false);
        }
        flow.origin = None;
        let properties = program.invariants.iter().chain(&program.ensures);
        for property in properties {
            flow.plain(0, &property.expr);
        }
        flow.typing()
    }

    /// Returns the first family of each set of linked families.
    pub fn links(&self) -> Vec<u32> {
        let own = |&family: &u32| self.links[family as usize] == family;
        (0..self.families.len() as u32).filter(own).collect()
    }

    /// Returns the families that are permuted together.
    pub fn linked(&self, link: u32) -> impl Iterator<Item = u32> {
        let all = 0..self.families.len() as u32;
        all.filter(move |&family| self.links[family as usize] == link)
    }

    /// Returns the kind of a local of a body, and the kinds of its dimensions.
    pub fn local(&self, body: u32, local: LocalId) -> (PlaceKind, &[PlaceKind]) {
        let (kind, dims) = &self.locals[body as usize][local.0 as usize];
        (*kind, dims)
    }

    /// If a variable holds messages, returns the variable that counts them, and the number of its
    /// dimensions.
    pub fn message(&self, var: u32) -> Option<(u32, usize)> {
        self.messages.get(&var).copied()
    }

    /// Whether an assignment clears a free place of a channel.
    pub fn clears(&self, program: &Program, place: &Place, value: &Expr) -> bool {
        clears(program, &self.messages, place, value)
    }

    /// Whether a local may hold a member.
    pub fn has_locals(&self) -> bool {
        let mut all = self.locals.iter().flatten();
        all.any(|(kind, dims)| {
            *kind != PlaceKind::Plain || dims.iter().any(|&kind| kind != PlaceKind::Plain)
        })
    }

    /// Returns the kinds of the slots of each body; empty if all are plain. The compiler's
    /// temporaries hold plain numbers.
    pub fn slots(&self, code: &Code) -> Vec<Vec<SlotImage>> {
        let is_plain = |(kind, dims): &(PlaceKind, SmallVec<[PlaceKind; 2]>)| {
            *kind == PlaceKind::Plain && dims.iter().all(|&kind| kind == PlaceKind::Plain)
        };
        let mut all = vec![Vec::new(); code.layouts.len()];
        for (body, locals) in self.locals.iter().enumerate() {
            if locals.iter().all(is_plain) {
                continue;
            }
            let layout = &code.layouts[body];
            let declared = layout.names.iter().zip(&layout.slots).enumerate();
            for (at, (local, &first)) in declared {
                let nothing = (PlaceKind::Plain, SmallVec::new());
                let (kind, kinds) = locals.get(at).unwrap_or(&nothing);
                let sizes = dims(&local.shape, local.len);
                for offset in 0..local.len.unwrap_or(1) {
                    let moves = kinds.iter().any(|&kind| kind != PlaceKind::Plain);
                    all[body].push(if moves {
                        let held = CellContent::Of(*kind);
                        let image = CellImage::new(first, offset, &sizes, kinds, held);
                        SlotImage::Element(image)
                    } else {
                        SlotImage::Held(*kind)
                    });
                }
            }
        }
        all
    }
}

fn clears(
    program: &Program,
    messages: &FxHashMap<u32, (u32, usize)>,
    place: &Place,
    value: &Expr,
) -> bool {
    let Place::Element(var, index) = place else {
        return false;
    };
    let Some(&(_, depth)) = messages.get(&var.0) else {
        return false;
    };
    let declared = &program.vars[var.0 as usize];
    let found = indices(&dims(&declared.shape, declared.len), index);
    let at = found.as_ref().and_then(|found| found.get(depth));
    // A send does not clear a place: the index of the place that it writes is not constant.
    matches!(value.kind, ExprKind::Const(0)) && matches!(at, Some(ElementIndex::Known(_)))
}

/// A place of the flow analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FlowPlace {
    Plain,
    Var(u32),
    Dim(u32, u32),
    Lock(u32),
    Local(u32, u32),
    LocalDim(u32, u32, u32),
}

/// Collects the classes of places, and the constants of each class.
struct Flow<'a> {
    program: &'a Program,
    families: Vec<Family>,
    nodes: FxHashMap<FlowPlace, usize>,
    /// For each place, another place of its class; the place itself if it represents the class
    /// (union-find).
    parents: Vec<usize>,
    /// The family and the process of the current body.
    origin: Option<(u32, u32)>,
    /// The constants, each with its place, family, process and value.
    constants: Vec<(usize, u32, u32, i64)>,
    messages: FxHashMap<u32, (u32, usize)>,
}

impl<'a> Flow<'a> {
    fn new(program: &'a Program, families: Vec<Family>) -> Self {
        let mut messages = FxHashMap::default();
        for (count, of) in &program.channels {
            let counts = &program.vars[count.0 as usize];
            let depth = dims(&counts.shape, counts.len).len();
            messages.extend(of.iter().map(|var| (var.0, (count.0, depth))));
        }
        Self {
            program,
            families,
            nodes: FxHashMap::default(),
            parents: Vec::new(),
            origin: None,
            constants: Vec::new(),
            messages,
        }
    }

    fn fresh(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    fn node(&mut self, place: FlowPlace) -> usize {
        if let Some(&known) = self.nodes.get(&place) {
            return known;
        }
        let node = self.fresh();
        self.nodes.insert(place, node);
        node
    }

    fn find(&mut self, mut node: usize) -> usize {
        while self.parents[node] != node {
            self.parents[node] = self.parents[self.parents[node]];
            node = self.parents[node];
        }
        node
    }

    fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a] = b;
    }

    fn constant(&mut self, value: i64) -> usize {
        let node = self.fresh();
        if let Some((family, process)) = self.origin {
            self.constants.push((node, family, process, value));
        }
        node
    }

    /// Returns the frame of a body.
    fn frame(&self, body: u32) -> &'a Frame {
        frame(self.program, body)
    }

    fn plain(&mut self, body: u32, e: &Expr) {
        let (node, plain) = (self.expr(body, e), self.node(FlowPlace::Plain));
        self.union(node, plain);
    }

    fn subscript(&mut self, body: u32, sizes: &[u32], flat: &Expr, dim: impl Fn(u32) -> FlowPlace) {
        let Some(found) = indices(sizes, flat) else {
            self.plain(body, flat);
            for at in 0..sizes.len() as u32 {
                let (dim, plain) = (self.node(dim(at)), self.node(FlowPlace::Plain));
                self.union(dim, plain);
            }
            return;
        };
        for (at, index) in found.into_iter().enumerate() {
            let index = match index {
                ElementIndex::Known(value) => self.constant(value),
                ElementIndex::Of(e) => self.expr(body, e),
            };
            let dim = self.node(dim(at as u32));
            self.union(dim, index);
        }
    }

    fn element(&mut self, body: u32, var: VarId, index: &Expr) -> usize {
        let declared = &self.program.vars[var.0 as usize];
        let sizes = dims(&declared.shape, declared.len);
        self.subscript(body, &sizes, index, |at| FlowPlace::Dim(var.0, at));
        self.node(FlowPlace::Var(var.0))
    }

    fn local_element(&mut self, body: u32, local: LocalId, index: &Expr) -> usize {
        let declared = &self.frame(body).locals[local.0 as usize];
        let sizes = dims(&declared.shape, declared.len);
        self.subscript(body, &sizes, index, |at| {
            FlowPlace::LocalDim(body, local.0, at)
        });
        self.node(FlowPlace::Local(body, local.0))
    }

    fn expr(&mut self, body: u32, e: &Expr) -> usize {
        let node = match &e.kind {
            ExprKind::Const(value) => self.constant(*value),
            ExprKind::Local(local) => self.node(FlowPlace::Local(body, local.0)),
            ExprKind::LocalElement(local, index) => self.local_element(body, *local, index),
            ExprKind::Shared(var) => self.node(FlowPlace::Var(var.0)),
            ExprKind::Element(var, index) => self.element(body, *var, index),
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, b) => {
                let (a, b) = (self.expr(body, a), self.expr(body, b));
                self.union(a, b);
                self.node(FlowPlace::Plain)
            }
            ExprKind::If(test, a, b) => {
                self.plain(body, test);
                let (a, b) = (self.expr(body, a), self.expr(body, b));
                self.union(a, b);
                a
            }
            ExprKind::Choose(a, b) => {
                self.plain(body, a);
                self.plain(body, b);
                self.fresh()
            }
            ExprKind::Binary(op, a, b) => {
                match compared(*op, a, b) {
                    Some((e, _)) if self.is_one_sided(*op, a, b) => {
                        self.expr(body, e);
                    }
                    _ => {
                        self.plain(body, a);
                        self.plain(body, b);
                    }
                }
                self.node(FlowPlace::Plain)
            }
            ExprKind::Table(_, e) | ExprKind::Unary(_, e) => {
                self.plain(body, e);
                self.node(FlowPlace::Plain)
            }
            ExprKind::Input => self.node(FlowPlace::Plain),
        };
        if e.ty == Type::Bool {
            let plain = self.node(FlowPlace::Plain);
            self.union(node, plain);
        }
        node
    }

    /// Whether a comparison with a constant has the same result for all values of `i`, and for all
    /// process numbers of a family.
    fn is_one_sided(&self, op: BinaryOp, a: &Expr, b: &Expr) -> bool {
        self.families.iter().all(|family| {
            let firsts = [family.least, family.first.into()];
            firsts.iter().all(|&least| {
                let end = least + i64::from(family.count);
                is_one_sided(op, a, b, (least, end))
            })
        })
    }

    fn local_is_plain(&mut self, body: u32, local: LocalId) {
        let (local, plain) = (
            self.node(FlowPlace::Local(body, local.0)),
            self.node(FlowPlace::Plain),
        );
        self.union(local, plain);
    }

    fn arguments(&mut self, body: u32, procedure: u32, arguments: &[Expr]) {
        for (at, argument) in arguments.iter().enumerate() {
            let argument = self.expr(body, argument);
            let parameter = self.node(FlowPlace::Local(procedure, at as u32));
            self.union(argument, parameter);
        }
    }

    /// Records the flow in statements. `atomic`: whether they are part of an `atomic` block.
    fn stmts<'s>(&mut self, body: u32, stmts: impl IntoIterator<Item = &'s Stmt>, atomic: bool) {
        for stmt in stmts {
            self.stmt(body, stmt, atomic);
            let atomic = match stmt.kind {
                StmtKind::Atomic(_) => true,
                StmtKind::Spawn(..) => false,
                _ => atomic,
            };
            let inner: SmallVec<[&Stmt; 4]> = stmt.inner().collect();
            self.stmts(body, inner, atomic);
        }
    }

    /// Whether the counter of a loop goes through all members of a family, in any order.
    fn counts_members(&self, body: u32, stmt: &Stmt) -> bool {
        let range = loops::commuting(self.program, self.frame(body), stmt);
        let mut families = self.families.iter();
        families.any(|family| Some(family.range()) == range)
    }

    /// Records the flow in a statement, without the statements inside it.
    fn stmt(&mut self, body: u32, stmt: &Stmt, atomic: bool) {
        match &stmt.kind {
            StmtKind::Assign(places, values) => {
                for (place, value) in places.iter().zip(values) {
                    let to = match place {
                        Place::Local(local) => self.node(FlowPlace::Local(body, local.0)),
                        Place::LocalElement(local, index) => {
                            self.local_element(body, *local, index)
                        }
                        Place::Shared(var) => self.node(FlowPlace::Var(var.0)),
                        Place::Element(var, index) => self.element(body, *var, index),
                    };
                    if !clears(self.program, &self.messages, place, value) {
                        let value = self.expr(body, value);
                        self.union(to, value);
                    }
                }
            }
            StmtKind::Let(local, values) => {
                for value in values {
                    let (to, value) = (
                        self.node(FlowPlace::Local(body, local.0)),
                        self.expr(body, value),
                    );
                    self.union(to, value);
                }
            }
            StmtKind::While { test, bound, .. } => {
                self.plain(body, test);
                if let Some((_, counter)) = bound {
                    self.local_is_plain(body, *counter);
                }
            }
            StmtKind::For {
                local,
                limit,
                from,
                to,
                ..
            } => {
                if !atomic || !self.counts_members(body, stmt) {
                    self.local_is_plain(body, *local);
                }
                self.local_is_plain(body, *limit);
                self.plain(body, from);
                self.plain(body, to);
            }
            StmtKind::Call(procedure, arguments) => self.arguments(body, procedure.0, arguments),
            StmtKind::Spawn(handle, spawned) => {
                if let Some(handle) = handle {
                    self.local_is_plain(body, *handle);
                }
                if let Spawned::Call(procedure, arguments) = spawned {
                    self.arguments(body, procedure.0, arguments);
                }
            }
            StmtKind::Lock(lock, index) | StmtKind::Unlock(lock, index) => {
                if let Some(index) = index {
                    let (dim, index) = (self.node(FlowPlace::Lock(lock.0)), self.expr(body, index));
                    self.union(dim, index);
                }
            }
            _ => {
                for e in stmt.exprs() {
                    self.plain(body, e);
                }
            }
        }
    }

    fn typing(mut self) -> Typing {
        let kinds = self.kinds();
        let mut links: Vec<u32> = (0..self.families.len() as u32).collect();
        for (kind, families) in kinds.values() {
            if matches!(kind, PlaceKind::Value(_)) {
                link(&mut links, families);
            }
        }
        let kind_of = |flow: &mut Self, place: FlowPlace, len: Option<u32>| {
            let Some(&node) = flow.nodes.get(&place) else {
                return PlaceKind::Plain;
            };
            let root = flow.find(node);
            match kinds.get(&root) {
                Some((PlaceKind::Value(family), _)) => {
                    let (least, count) = flow.families[*family as usize].range();
                    let inside =
                        len.is_none_or(|len| least >= 0 && least + i64::from(count) <= len.into());
                    if inside {
                        PlaceKind::Value(links[*family as usize])
                    } else {
                        PlaceKind::Plain
                    }
                }
                Some((PlaceKind::Process(plus), families)) => {
                    let inside = len.is_none_or(|len| {
                        families.iter().all(|&family| {
                            let Family { first, count, .. } = flow.families[family as usize];
                            let (low, high) = (i64::from(first), i64::from(first + count));
                            low + plus >= 0 && high + plus <= len.into()
                        })
                    });
                    if inside {
                        PlaceKind::Process(*plus)
                    } else {
                        PlaceKind::Plain
                    }
                }
                _ => PlaceKind::Plain,
            }
        };
        let program = self.program;
        let vars =
            (0..program.vars.len() as u32).map(|var| kind_of(&mut self, FlowPlace::Var(var), None));
        let vars = vars.collect();
        let of_dims = |flow: &mut Self, sizes: &[u32], place: &dyn Fn(u32) -> FlowPlace| {
            let sizes = sizes.iter().enumerate();
            sizes
                .map(|(at, &len)| kind_of(flow, place(at as u32), Some(len)))
                .collect()
        };
        let mut var_dims = Vec::new();
        for (at, var) in program.vars.iter().enumerate() {
            let sizes = dims(&var.shape, var.len);
            var_dims.push(of_dims(&mut self, &sizes, &|dim| {
                FlowPlace::Dim(at as u32, dim)
            }));
        }
        let mut locks = Vec::new();
        for (at, lock) in program.locks.iter().enumerate() {
            locks.push(kind_of(&mut self, FlowPlace::Lock(at as u32), lock.len));
        }
        let bodies = program.procedures.len() + program.processes.len();
        let mut locals = Vec::new();
        for body in 0..bodies as u32 {
            let source_body = self.representative(body);
            let mut of_body = Vec::new();
            for (at, local) in frame(program, body).locals.iter().enumerate() {
                let at = at as u32;
                let sizes = dims(&local.shape, local.len);
                let kind = kind_of(&mut self, FlowPlace::Local(source_body, at), None);
                of_body.push((
                    kind,
                    of_dims(&mut self, &sizes, &|dim| {
                        FlowPlace::LocalDim(source_body, at, dim)
                    }),
                ));
            }
            locals.push(of_body);
        }
        Typing {
            families: self.families,
            links,
            vars,
            dims: var_dims,
            locks,
            locals,
            messages: self.messages,
        }
    }

    /// Returns the body that represents a body: the body of the first process of its family.
    fn representative(&self, body: u32) -> u32 {
        let before = self.program.procedures.len() as u32;
        let family = self
            .families
            .iter()
            .find(|family| body >= before && family.has(body - before));
        family.map_or(body, |family| before + family.first)
    }

    /// Returns the classes of members, each with its kind and the families whose processes it
    /// distinguishes.
    fn kinds(&mut self) -> FxHashMap<usize, (PlaceKind, Vec<u32>)> {
        type Counted = BTreeMap<i64, u32>;
        let mut counted: FxHashMap<usize, BTreeMap<u32, BTreeMap<u32, Counted>>> =
            FxHashMap::default();
        for (node, family, process, value) in std::mem::take(&mut self.constants) {
            let root = self.find(node);
            let of_family = counted.entry(root).or_default().entry(family).or_default();
            *of_family
                .entry(process)
                .or_default()
                .entry(value)
                .or_default() += 1;
        }
        let plain = self.node(FlowPlace::Plain);
        counted.remove(&self.find(plain));
        let mut kinds = FxHashMap::default();
        for (root, families) in counted {
            let mut candidates: Option<Vec<PlaceKind>> = None;
            let mut distinguished = Vec::new();
            for (number, of_family) in families {
                let family = &self.families[number as usize];
                let Some(own) = own_values(family, &of_family) else {
                    continue;
                };
                distinguished.push(number);
                let mut of_family = Vec::new();
                let values = own.iter().zip(family.least..);
                if values.clone().all(|(own, value)| *own == Some(value)) {
                    of_family.push(PlaceKind::Value(0));
                }
                let plus = own[0].map(|own| own - i64::from(family.first));
                let numbers = own.iter().zip(i64::from(family.first)..);
                if let Some(plus) = plus
                    && numbers
                        .clone()
                        .all(|(own, number)| *own == Some(number + plus))
                {
                    of_family.push(PlaceKind::Process(plus));
                }
                candidates = Some(match candidates {
                    None => of_family,
                    Some(all) => all
                        .into_iter()
                        .filter(|kind| of_family.contains(kind))
                        .collect(),
                });
            }
            let ranges = |flow: &Self| {
                let mut all = distinguished
                    .iter()
                    .map(|&family| flow.families[family as usize].range());
                let first = all.next();
                all.all(|range| Some(range) == first)
            };
            let kind = candidates.and_then(|all| {
                let fits = |kind: &PlaceKind| !matches!(kind, PlaceKind::Value(_)) || ranges(self);
                all.into_iter().find(fits)
            });
            match kind {
                Some(PlaceKind::Value(_)) => {
                    kinds.insert(root, (PlaceKind::Value(distinguished[0]), distinguished))
                }
                Some(kind) => kinds.insert(root, (kind, distinguished)),
                None => None,
            };
        }
        kinds
    }
}

/// Splits a comparison with a constant, such as `0 <= x` and `x < 3`, into the expression and the
/// constant.
pub(super) fn compared<'e>(op: BinaryOp, a: &'e Expr, b: &'e Expr) -> Option<(&'e Expr, i64)> {
    use BinaryOp::{Ge, Gt, Le, Lt};
    match (&a.kind, &b.kind) {
        _ if !matches!(op, Lt | Le | Gt | Ge) => None,
        (ExprKind::Const(_), ExprKind::Const(_)) => None,
        (ExprKind::Const(bound), _) => Some((b, *bound)),
        (_, ExprKind::Const(bound)) => Some((a, *bound)),
        _ => None,
    }
}

/// Whether a comparison with a constant has the same result for all numbers of a range. The range
/// must have no negative numbers, and be so small that its numbers fit into every type.
pub(super) fn is_one_sided(op: BinaryOp, a: &Expr, b: &Expr, (least, end): (i64, i64)) -> bool {
    let holds = |number: i64| {
        let value = |e: &Expr| match e.kind {
            ExprKind::Const(bound) => bound,
            _ => number,
        };
        let (a, b) = (value(a), value(b));
        match op {
            BinaryOp::Lt => a < b,
            BinaryOp::Le => a <= b,
            BinaryOp::Gt => a > b,
            _ => a >= b,
        }
    };
    least >= 0 && holds(least) == holds(end - 1)
}

/// Returns, for each process of a family, the value that it contains more often than another
/// process does, or `None` if there is not exactly one such value. Returns `None` if all processes
/// contain the same values.
fn own_values(
    family: &Family,
    counted: &BTreeMap<u32, BTreeMap<i64, u32>>,
) -> Option<Vec<Option<i64>>> {
    let processes = family.first..family.first + family.count;
    let nothing = BTreeMap::new();
    let all: Vec<&BTreeMap<i64, u32>> = processes
        .map(|process| counted.get(&process).unwrap_or(&nothing))
        .collect();
    if all.iter().all(|one| *one == all[0]) {
        return None;
    }
    let least = |value: i64| {
        all.iter()
            .map(|one| one.get(&value).copied().unwrap_or(0))
            .min()
    };
    let own = |one: &&BTreeMap<i64, u32>| {
        let mut more = one
            .iter()
            .filter(|&(&value, &count)| Some(count) > least(value));
        let value = more.next().map(|(&value, _)| value);
        value.filter(|_| more.next().is_none())
    };
    Some(all.iter().map(own).collect())
}

/// Links families, so that they are permuted together.
fn link(links: &mut [u32], families: &[u32]) {
    let roots: Vec<u32> = families
        .iter()
        .map(|&family| links[family as usize])
        .collect();
    let Some(&first) = roots.iter().min() else {
        return;
    };
    for link in links {
        if roots.contains(link) {
            *link = first;
        }
    }
}

/// Returns the frame of a body: of a procedure, or of a process.
pub(super) fn frame(program: &Program, body: u32) -> &Frame {
    let procedures = program.procedures.len();
    match program.procedures.get(body as usize) {
        Some(procedure) => &procedure.frame,
        None => &program.processes[body as usize - procedures].frame,
    }
}
