//! Splits arrays if the `requires` of the program imply that some of their accesses never overlap.
//!
//! SymPaths paper, section 6.1: `a[i] := 1` and `a[j] := 2` commute if the path condition implies
//! that i and j differ. `symbolic` and `prove` check this for two steps after making them. Other
//! explorers compare claims, which must be known before a step and must not depend on the decisions
//! of a run, because equivalent runs have equal claims.
//!
//! For these explorers the check is made once, before the search. An array can be split if every
//! index of it is computed from variables that no process writes: then each index selects the same
//! element throughout a run. Indices that may be equal under the `requires` form a *group*, so no
//! element belongs to two groups. Each group gets a copy of the array, which its accesses use; no
//! access uses the array itself.
//!
//! For given values, the copy of a group holds the right values in the elements that the group can
//! select, and initial values in all other elements. So the program fails, waits and ends as
//! before, and two final states differ in the array if and only if they differ in a copy. Steps on
//! different groups touch nothing in common.
//!
//! An array stays whole if any other index accesses it, in the code or in a property. It also stays
//! whole if an invariant reads it, because every write to the array is then a write to a variable
//! of the invariant.
//!
//! The instructions and their places stay the same; only the cells differ. A run that is shown to
//! the user with values is a run of the original program.

use std::sync::Arc;

use mazurka_core::Patience;
use mazurka_smt::{Solver, Term};
use rustc_hash::FxHashSet;

use super::SymbolicMachine;
use super::logic::Logic;
use super::state::initial_cells;
use crate::check::hir::{
    Atomicity, BinaryOp, Expr, ExprKind, Place, Program, Property, Split, StmtKind, UnaryOp, VarId,
};
use crate::code::Code;
use crate::code::compile::compile_symbolic;
use crate::run::Reached;

/// Limit on the different indices of an array that is split: each pair of them is a query to the
/// solver.
const MOST_INDICES: usize = 12;

/// Limit on the number of cells that are added for one array.
const MOST_CELLS: usize = 1 << 12;

impl Program {
    /// Returns the variable that an access to an element uses: the array, or a copy of it.
    pub(crate) fn accessed(&self, array: VarId, index: &Expr) -> VarId {
        let mut copies = self.split.iter().filter(|split| split.array == array);
        let copy = copies.find(|split| split.indices.iter().any(|known| known.same(index)));
        copy.map_or(array, |split| split.copy)
    }
}

impl SymbolicMachine {
    /// Makes a machine like [`until`](SymbolicMachine::until), with arrays split if accesses to
    /// them can never overlap.
    ///
    /// ```
    /// use mazurka_core::{Execution, Patience, ProcessId};
    /// use mazurka_lang::SymbolicMachine;
    ///
    /// let source = "var i, j: i8 var a: i8[3] = 0 requires i < j
    ///               process { a[i] := 1 } process { a[j] := 2 }";
    /// let program = mazurka_lang::load(source, &[]).unwrap();
    /// let code = std::sync::Arc::new(mazurka_lang::compile(&program, source).unwrap());
    /// let solver = Box::new(mazurka_smt::Embedded::new(mazurka_smt::Effort::default()));
    /// let patience = Patience::default();
    /// let machine = SymbolicMachine::with_arrays_split(code, 1000, Some(solver), patience, None);
    /// let mut claims = [Vec::new(), Vec::new()];
    /// machine.claims(ProcessId(0), &mut claims[0]);
    /// machine.claims(ProcessId(1), &mut claims[1]);
    /// assert!(claims[0].iter().all(|a| claims[1].iter().all(|b| !a.conflicts(*b))));
    /// ```
    pub fn with_arrays_split(
        code: Arc<Code>,
        max_local: u64,
        solver: Option<Box<dyn Solver>>,
        patience: Patience,
        reached: Option<Arc<Reached>>,
    ) -> Self {
        let mut logic = Logic::new(solver);
        let cells = initial_cells(&code, &mut logic);
        let original = Arc::clone(&code);
        let (code, cells) = match split(&code, &cells, &mut logic) {
            // A copy has the name of its array, so its cells start with the same terms.
            Some(code) => (Arc::new(code), None),
            None => (code, Some(cells)),
        };
        let cells = cells.unwrap_or_else(|| initial_cells(&code, &mut logic));
        Self {
            original,
            ..Self::with_cells(code, max_local, (logic.shared(), cells), patience, reached)
        }
    }

    /// Returns the value of each cell of the shared variables of the original program, as a term.
    pub(super) fn original_cells(&self) -> Vec<Term> {
        // Copies come after all original variables.
        let mut cells = self.state.cells[..self.original.first_lock as usize].to_vec();
        let mut logic = self.logic.borrow_mut();
        for Split {
            array,
            copy,
            indices,
        } in &self.code.program.split
        {
            let var = &self.code.program.vars[array.0 as usize];
            let [first, copied] = [array, copy].map(|v| self.code.first_cells[v.0 as usize]);
            for index in indices {
                let Ok(index) = logic.value(&self.code, &self.state.cells, index) else {
                    continue;
                };
                for at in 0..var.len.unwrap_or(1) {
                    let here = match logic.known(index) {
                        Some(known) => logic.truth(known == i64::from(at)),
                        None => logic.is_at(index, at),
                    };
                    let value = self.state.cells[(copied + at) as usize];
                    let cell = &mut cells[(first + at) as usize];
                    *cell = logic.select(var.ty, here, value, *cell);
                }
            }
        }
        cells
    }

    /// Returns the program whose cells the machine has, in which arrays may be split.
    pub fn code(&self) -> &Arc<Code> {
        &self.code
    }
}

/// Returns the program with its arrays split, if at least one can be split.
fn split(code: &Code, cells: &[Term], logic: &mut Logic) -> Option<Code> {
    let program = &code.program;
    // With `atomicity access`, the index is read in an earlier step than the element.
    if program.atomicity == Atomicity::Access {
        return None;
    }
    let accesses = Accesses::new(program);
    let mut required = Vec::new();
    for property in &program.requires {
        if let Ok(holds) = logic.property(code, cells, &property.expr) {
            required.push(logic.condition(holds));
        }
    }
    let mut made = Program::clone(program);
    for (array, indices) in accesses.by_array(program) {
        let len = program.vars[array.0 as usize].len.unwrap_or(1) as usize;
        if len.saturating_mul(indices.len()) > MOST_CELLS {
            continue;
        }
        let terms = indices.iter();
        let terms: Result<Vec<Term>, _> =
            terms.map(|index| logic.value(code, cells, index)).collect();
        let Ok(terms) = terms else { continue };
        let groups = groups(&terms, &required, logic);
        let copies = groups.iter().max().map_or(0, |last| last + 1);
        for group in (0..copies).filter(|_| copies > 1) {
            let copy = VarId(made.vars.len() as u32);
            made.vars.push(program.vars[array.0 as usize].clone());
            let of_group = indices.iter().zip(&groups).filter(|(_, at)| **at == group);
            made.split.push(Split {
                array,
                copy,
                indices: of_group.map(|(&index, _)| index.clone()).collect(),
            });
            if program.ghosts.contains(&array) {
                made.ghosts.insert(copy);
            }
            if let Some(observe) = &mut made.observe
                && observe.contains(&array)
            {
                observe.push(copy);
            }
        }
    }
    if made.split.is_empty() {
        return None;
    }
    let mut split = compile_symbolic(&made, &code.source, false);
    split.fairness = code.fairness;
    split.counting = code.counting;
    Some(split)
}

/// Returns the group of each index. Indices that may be equal are in the same group.
fn groups(indices: &[Term], required: &[Term], logic: &mut Logic) -> Vec<usize> {
    let mut group: Vec<usize> = (0..indices.len()).collect();
    for one in 0..indices.len() {
        for other in one + 1..indices.len() {
            if group[one] != group[other] && may_meet(indices[one], indices[other], required, logic)
            {
                let (from, to) = (group[other], group[one]);
                group
                    .iter_mut()
                    .filter(|g| **g == from)
                    .for_each(|g| *g = to);
            }
        }
    }
    let mut known: Vec<usize> = Vec::new();
    let mut number = |group: usize| {
        known.iter().position(|&k| k == group).unwrap_or_else(|| {
            known.push(group);
            known.len() - 1
        })
    };
    group.into_iter().map(&mut number).collect()
}

fn may_meet(one: Term, other: Term, required: &[Term], logic: &mut Logic) -> bool {
    let same = match (logic.known(one), logic.known(other)) {
        (Some(one), Some(other)) => return one == other,
        (Some(at), None) => is_at(other, at, logic),
        (None, Some(at)) => is_at(one, at, logic),
        (None, None) => {
            let (one, other) = (logic.number(one), logic.number(other));
            Some(logic.same_element(one, other))
        }
    };
    same.is_none_or(|same| !logic.excluded(required, same))
}

/// Returns the condition that an index selects this element; `None` if no array has such
/// an element.
fn is_at(index: Term, at: i64, logic: &mut Logic) -> Option<Term> {
    u32::try_from(at).ok().map(|at| logic.is_at(index, at))
}

/// The accesses of a program to elements of arrays, and the variables that it writes.
struct Accesses<'a> {
    elements: Vec<(VarId, &'a Expr)>,
    written: FxHashSet<VarId>,
    /// The arrays that invariants read.
    watched: FxHashSet<VarId>,
}

impl<'a> Accesses<'a> {
    fn new(program: &'a Program) -> Self {
        let mut all = Self {
            elements: Vec::new(),
            written: FxHashSet::default(),
            watched: FxHashSet::default(),
        };
        let procedures = program.procedures.iter().map(|p| &p.body);
        let processes = program.processes.iter().map(|p| &p.body);
        let mut work: Vec<_> = procedures.chain(processes).flatten().collect();
        while let Some(stmt) = work.pop() {
            work.extend(stmt.inner());
            stmt.exprs().into_iter().for_each(|expr| all.read(expr));
            if let StmtKind::Assign(places, _) = &stmt.kind {
                places.iter().for_each(|place| all.write(place));
            }
        }
        // A `requires` is about initial values, which are in the array itself.
        let stated = |property: &'a Property| &property.expr;
        let stated = program.ensures.iter().map(stated);
        let stated = stated.chain(&program.conditions);
        stated.for_each(|expr| all.read(expr));
        for invariant in &program.invariants {
            invariant.expr.walk(&mut |expr| {
                if let ExprKind::Element(array, _) = expr.kind {
                    all.watched.insert(array);
                }
            });
        }
        all
    }

    fn read(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Local(_) | ExprKind::Shared(_) | ExprKind::Input => {}
            ExprKind::Element(array, index) => {
                self.elements.push((*array, index));
                self.read(index);
            }
            ExprKind::LocalElement(_, e) | ExprKind::Table(_, e) | ExprKind::Unary(_, e) => {
                self.read(e);
            }
            ExprKind::Binary(_, a, b) | ExprKind::Choose(a, b) => {
                self.read(a);
                self.read(b);
            }
            ExprKind::If(a, b, c) => [a, b, c].into_iter().for_each(|e| self.read(e)),
        }
    }

    fn write(&mut self, place: &'a Place) {
        match place {
            Place::Shared(var) => drop(self.written.insert(*var)),
            Place::Element(array, index) => {
                self.elements.push((*array, index));
                self.written.insert(*array);
            }
            Place::Local(_) | Place::LocalElement(..) => {}
        }
    }

    /// Returns the arrays that can be split, each with its different indices.
    fn by_array(&self, program: &Program) -> Vec<(VarId, Vec<&'a Expr>)> {
        let arrays = (0..program.vars.len() as u32).map(VarId);
        let whole = |array: &VarId| self.watched.contains(array) || !self.written.contains(array);
        let arrays = arrays.filter(|array| !whole(array));
        let with_indices = arrays.filter_map(|array| {
            let mut indices: Vec<&Expr> = Vec::new();
            for (_, index) in self.elements.iter().filter(|(var, _)| *var == array) {
                if !self.is_constant(index) {
                    return None;
                }
                if !indices.iter().any(|known| known.same(index)) {
                    indices.push(index);
                }
            }
            // Constant indices claim separate cells even without copies.
            let all_known = indices.iter().all(|i| matches!(i.kind, ExprKind::Const(_)));
            (!all_known && indices.len() <= MOST_INDICES).then_some((array, indices))
        });
        with_indices.collect()
    }

    /// Whether an expression always has a value, which stays the same throughout a run.
    fn is_constant(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Const(_) => true,
            ExprKind::Shared(var) => !self.written.contains(var),
            ExprKind::Unary(UnaryOp::Neg, e) => self.is_constant(e),
            ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, a, b) => {
                self.is_constant(a) && self.is_constant(b)
            }
            _ => false,
        }
    }
}
