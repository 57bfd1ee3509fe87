//! Compiles statements, and decides where steps begin: it emits a mark before each statement that
//! can access shared memory or can block, or with `atomicity access` before each access.

use crate::check::hir::{
    Atomicity, Expr, ExprKind, Leave, LocalId, Message, Place, Spawned, Stmt, StmtKind, Type,
};
use crate::code::{Action, Arith, Compare, LabelPart, Op, Range};

use crate::check::objects::has_hidden_parameter;

use super::{Compiler, IndexedAccess, Values, constant_index};

/// A loop around the statement being compiled, and the jumps out of its rounds.
#[derive(Default)]
pub(super) struct Loop {
    breaks: Vec<u32>,
    continues: Vec<u32>,
    /// How many guards and how many atomic blocks enclose the loop.
    guards: usize,
    atomics: usize,
    /// Whether a guard's step may continue after a `break`.
    open: bool,
}

impl<'a> Compiler<'a> {
    pub(super) fn block(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    /// Whether each access is a separate step here.
    pub(super) fn splits(&self) -> bool {
        self.program.atomicity == Atomicity::Access && !self.one_step
    }

    pub(super) fn stmt(&mut self, stmt: &'a Stmt) {
        self.forget_temporaries();
        let outer = self.span;
        let first = self.here();
        self.span = stmt.span;
        match &stmt.kind {
            StmtKind::Skip => {}
            StmtKind::End => {
                self.emit(Op::End);
            }
            StmtKind::Block(stmts) => self.block(stmts),
            // An assignment to ghosts joins the step before it, so it gets no mark.
            StmtKind::Assign(places, values) if self.program.assigns_ghosts(places) => {
                let outer = std::mem::replace(&mut self.one_step, true);
                self.assign(places, values);
                self.one_step = outer;
            }
            StmtKind::Assign(places, values) => {
                let shared = self.shared.assigns_shared(places, values);
                self.simple(
                    shared,
                    Action::Assign(places.clone(), values.clone()),
                    |c| {
                        c.assign(places, values);
                    },
                );
            }
            StmtKind::Let(local, values) => {
                let name = self.code.layouts[self.body as usize].names[local.0 as usize]
                    .name
                    .clone();
                let shared = values.iter().any(|e| self.shared.expr(e));
                self.simple(shared, Action::Let(name, values.clone()), |c| {
                    c.let_(*local, values)
                });
            }
            StmtKind::Guard(test, body) => {
                self.mark(Op::Open);
                self.set_step_order(&[test], &[body]);
                self.expr(test);
                let at = self.emit(Op::Guard);
                self.code.tests.insert(at, test.span);
                self.note(at, LabelPart::Guard(test.clone()));
                self.guarded(body);
            }
            StmtKind::Choice { test, then, other } => self.choice(stmt, test, then, other),
            StmtKind::GuardedLoop(test, body) => {
                let start = self.here();
                self.mark(Op::Open);
                self.set_step_order(&[test], &[body]);
                self.expr(test);
                let exit = self.branch();
                self.code.tests.insert(exit, test.span);
                self.note(exit, LabelPart::Test(test.clone()));
                self.enter_loop();
                self.guarded(body);
                self.next_round();
                self.emit(Op::Jump(start));
                self.land(exit);
                self.emit(Op::Close);
                self.exit_loop();
            }
            StmtKind::If(test, then, other) => {
                let exit = self.test(test);
                let open = self.maybe_open;
                self.block(then);
                let open_then = std::mem::replace(&mut self.maybe_open, open);
                if other.is_empty() {
                    self.land(exit);
                } else {
                    let end = self.jump(Op::Jump);
                    self.land(exit);
                    self.block(other);
                    self.land(end);
                }
                self.maybe_open |= open_then;
            }
            StmtKind::While {
                test, bound, body, ..
            } => {
                if let Some((most, counter)) = bound {
                    self.emit(Op::Const(*most));
                    self.emit(Op::SetLocal(self.slot(*counter)));
                }
                let start = self.here();
                let exhausted = bound.map(|(_, counter)| self.count_down(counter));
                let exit = self.test(test);
                let open = self.maybe_open;
                self.enter_loop();
                self.block(body);
                self.next_round();
                self.emit(Op::Jump(start));
                let exits = self.values == Values::Symbolic { exits: true };
                if let (Some(exhausted), true) = (exhausted, exits) {
                    self.land(exhausted);
                    self.mark(Op::Mark);
                }
                self.land(exit);
                if let (Some(exhausted), false) = (exhausted, exits) {
                    self.land(exhausted);
                }
                self.maybe_open |= open;
                self.exit_loop();
            }
            StmtKind::For {
                local,
                limit,
                from,
                to,
                body,
            } => self.for_(*local, *limit, [from, to], body),
            StmtKind::Spawn(handle, spawned) => self.spawn(*handle, spawned),
            StmtKind::Join(handle) => {
                self.mark(Op::Mark);
                let at = match handle {
                    Some(handle) => {
                        self.emit(Op::Local(self.slot(*handle)));
                        self.emit(Op::Join)
                    }
                    None => self.emit(Op::JoinAll),
                };
                self.note(at, LabelPart::Action(Action::Join(*handle), self.span));
                self.maybe_open = false;
            }
            StmtKind::Call(procedure, args) => {
                let shared = args.iter().any(|e| self.shared.expr(e));
                let called = &self.program.procedures[procedure.0 as usize];
                let hidden = usize::from(has_hidden_parameter(called));
                let shown = args[..args.len() - hidden].to_vec();
                self.simple(shared, Action::Call(called.name.clone(), shown), |c| {
                    for arg in c.values(args) {
                        c.expr(&arg);
                    }
                });
                self.emit(Op::Call(procedure.0));
            }
            StmtKind::Atomic(stmts) => {
                // A fence is an empty block with an order.
                let fence = stmts.is_empty() && self.program.orders.contains_key(&stmt.span);
                let step = fence || stmts.iter().any(|s| self.shared.stmt(s));
                let outer = std::mem::replace(&mut self.one_step, true);
                if step {
                    self.mark(Op::Mark);
                    self.set_step_order(&[], &[stmt]);
                    self.emit(Op::BeginAtomic);
                    self.atomics += 1;
                }
                self.block(stmts);
                if step {
                    self.atomics -= 1;
                    self.emit(Op::EndAtomic);
                    self.maybe_open = false;
                }
                self.one_step = outer;
            }
            StmtKind::Lock(lock, index) => self.lock("lock", *lock, index.as_ref()),
            StmtKind::Unlock(lock, index) => self.lock("unlock", *lock, index.as_ref()),
            StmtKind::Assert(test, message) => {
                self.code.states_property |= !self.program.lowered.contains(&stmt.span);
                let shared = self.shared.expr(test);
                let action = Action::Assert("assert", test.clone());
                self.simple(shared, action, |c| {
                    c.condition(test, Op::Assert, message.as_ref())
                });
            }
            StmtKind::Assume(test) => {
                let shared = self.shared.expr(test);
                let action = Action::Assert("assume", test.clone());
                let limit = self.program.limits.get(&stmt.span);
                let op = limit.map_or(Op::Assume, |&most| Op::Limit(most));
                self.simple(shared, action, |c| c.condition(test, op, None));
            }
            StmtKind::Leave(leave) => self.leave(*leave),
            StmtKind::Error(message) => {
                self.code.states_property = true;
                let at = self.emit(Op::Error);
                self.code
                    .messages
                    .extend(message.iter().map(|m| (at, m.clone())));
            }
        }
        if let (StmtKind::Guard(..), Some(&end)) = (&stmt.kind, self.program.ends.get(&stmt.span)) {
            self.code.ends.push((first..self.here(), end));
        }
        self.span = outer;
    }

    fn enter_loop(&mut self) {
        self.loops.push(Loop {
            guards: self.guards,
            atomics: self.atomics,
            ..Loop::default()
        });
    }

    /// Compiles the end of a round, which is the target of `continue`.
    fn next_round(&mut self) {
        let continues = self
            .loops
            .last_mut()
            .map(|l| std::mem::take(&mut l.continues));
        for jump in continues.unwrap_or_default() {
            self.land(jump);
        }
    }

    /// Compiles the exit of a loop, which is the target of `break`.
    fn exit_loop(&mut self) {
        if let Some(left) = self.loops.pop() {
            for jump in left.breaks {
                self.land(jump);
            }
            self.maybe_open |= left.open;
        }
    }

    /// Compiles `break`, `continue` or `return`, and before the jump the end of each guard and
    /// atomic block that the statement leaves.
    fn leave(&mut self, leave: Leave) {
        let enclosing = match (leave, self.loops.last()) {
            (Leave::Procedure, _) | (_, None) => (0, 0),
            (_, Some(enclosing)) => (enclosing.guards, enclosing.atomics),
        };
        let closes = self.guards > enclosing.0;
        if closes {
            self.emit(Op::Close);
        }
        for _ in enclosing.1..self.atomics {
            self.emit(Op::EndAtomic);
        }
        if leave == Leave::Procedure {
            self.emit(Op::Return);
            return;
        }
        let jump = self.jump(Op::Jump);
        let open = self.maybe_open && !closes;
        if let Some(enclosing) = self.loops.last_mut() {
            match leave {
                Leave::Round => enclosing.continues.push(jump),
                _ => {
                    enclosing.breaks.push(jump);
                    enclosing.open |= open;
                }
            }
        }
    }

    /// Compiles a statement without nested statements. If it accesses shared memory, it is one step
    /// with `atomicity statement`, and has one step for each access with `atomicity access`.
    pub(super) fn simple(&mut self, shared: bool, action: Action, make: impl FnOnce(&mut Self)) {
        if !shared {
            return make(self);
        }
        let absorb = self.splits() && self.maybe_open;
        if !self.splits() {
            self.mark(Op::Mark);
        } else if absorb {
            self.emit(Op::BeginSimple);
        }
        let (first, span) = (self.here(), self.span);
        make(self);
        if !self.splits() {
            self.note(first, LabelPart::Action(action, span));
        } else if absorb {
            self.note(first - 1, LabelPart::Action(action, span));
            self.emit(Op::EndSimple);
        }
        self.maybe_open = false;
    }

    pub(super) fn guarded(&mut self, body: &'a Stmt) {
        self.maybe_open = true;
        self.guards += 1;
        self.stmt(body);
        self.guards -= 1;
        self.emit(Op::Close);
        self.maybe_open = false;
    }

    pub(super) fn choice(&mut self, stmt: &'a Stmt, test: &Expr, then: &'a Stmt, other: &'a Stmt) {
        let step = self.shared.stmt(stmt);
        if step {
            self.mark(Op::Open);
            self.set_step_order(&[test], &[then, other]);
        }
        self.expr(test);
        let exit = self.branch();
        self.code.tests.insert(exit, test.span);
        if step {
            self.note(exit, LabelPart::Test(test.clone()));
        }
        let before = self.maybe_open;
        self.maybe_open |= step;
        self.guards += usize::from(step);
        self.stmt(then);
        let end = self.jump(Op::Jump);
        self.land(exit);
        self.maybe_open = before | step;
        self.stmt(other);
        self.guards -= usize::from(step);
        self.land(end);
        if step {
            self.emit(Op::Close);
        }
        self.maybe_open = before && !step;
    }

    /// Evaluates the test of an `if` or `while`. Returns the jump taken if it is false.
    pub(super) fn test(&mut self, test: &Expr) -> u32 {
        self.forget_temporaries();
        let mut exit = 0;
        let shared = self.shared.expr(test);
        // The label of the jump shows the test with its outcome, so the statement needs no label.
        let absorb = shared && self.splits() && self.maybe_open;
        let whole = shared && !self.splits();
        if whole {
            self.mark(Op::Mark);
        } else if absorb {
            self.emit(Op::BeginSimple);
        }
        let value = self.value(test);
        self.expr(&value);
        if absorb {
            self.emit(Op::EndSimple);
        }
        exit += self.branch();
        if !self.program.lowered.contains(&self.span)
            || self.program.alternatives.contains(&test.span)
        {
            self.code.tests.insert(exit, test.span);
        }
        if whole || absorb {
            self.note(exit, LabelPart::Test(test.clone()));
        }
        self.maybe_open &= !shared;
        exit
    }

    /// Emits code that jumps if a counter is 0, and otherwise decrements the counter. Returns the
    /// jump.
    pub(super) fn count_down(&mut self, counter: LocalId) -> u32 {
        let slot = self.slot(counter);
        self.emit(Op::Local(slot));
        let exhausted = self.branch();
        self.emit(Op::Local(slot));
        self.emit(Op::Const(1));
        self.emit(Op::Arith(Arith::Sub, Type::Int));
        self.emit(Op::SetLocal(slot));
        exhausted
    }

    pub(super) fn for_(
        &mut self,
        local: LocalId,
        limit: LocalId,
        [from, to]: [&Expr; 2],
        body: &'a [Stmt],
    ) {
        let (counter, end) = (self.slot(local), self.slot(limit));
        let shared = self.shared.expr(from) || self.shared.expr(to);
        let layout = &self.code.layouts[self.body as usize];
        let (name, ty) = {
            let local = &layout.names[local.0 as usize];
            (local.name.clone(), local.ty)
        };
        self.simple(shared, Action::For(name, from.clone(), to.clone()), |c| {
            let from = c.value(from);
            c.expr(&from);
            c.emit(Op::SetLocal(counter));
            let to = c.value(to);
            c.expr(&to);
            c.emit(Op::SetLocal(end));
        });
        let start = self.here();
        let unsigned = ty == Type::Unsigned(64);
        let exit = match (u16::try_from(counter), u16::try_from(end)) {
            (Ok(a), Ok(b)) => self.emit(Op::JumpUnlessLess {
                slots: [a, b],
                unsigned,
                to: 0,
            }),
            // In a very large frame, the slots do not fit the fused instruction.
            _ => {
                self.emit(Op::Local(counter));
                self.emit(Op::Local(end));
                self.emit(Op::Compare(Compare::Lt, unsigned));
                self.branch()
            }
        };
        if !self.program.lowered.contains(&self.span) {
            self.code.tests.insert(exit, from.span.to(to.span));
        }
        let open = self.maybe_open;
        self.enter_loop();
        self.block(body);
        self.next_round();
        self.emit(Op::Increment(counter, ty));
        self.emit(Op::Jump(start));
        self.land(exit);
        self.maybe_open |= open;
        self.exit_loop();
    }

    pub(super) fn spawn(&mut self, handle: Option<LocalId>, spawned: &'a Spawned) {
        self.mark(Op::Mark);
        let first = self.here();
        match spawned {
            Spawned::Block(stmts) => {
                let at = self.emit(Op::SpawnBlock(0));
                self.blocks.push((at, stmts));
            }
            Spawned::Call(procedure, args) => {
                for arg in args {
                    self.expr(arg);
                }
                self.emit(Op::SpawnCall(procedure.0));
            }
        }
        self.note(first, LabelPart::Action(Action::Spawn, self.span));
        match handle {
            Some(handle) => self.emit(Op::SetLocal(self.slot(handle))),
            None => self.emit(Op::Drop),
        };
        self.maybe_open = false;
    }

    pub(super) fn lock(
        &mut self,
        verb: &'static str,
        lock: crate::check::hir::LockId,
        index: Option<&Expr>,
    ) {
        self.mark(Op::Mark);
        let first = self.here();
        let range = Range {
            first: self.code.lock_cells[lock.0 as usize],
            len: self.program.locks[lock.0 as usize].len.unwrap_or(1),
        };
        let acquire = verb == "lock";
        match index {
            None => {
                let op = if acquire { Op::Lock } else { Op::Unlock };
                self.emit(op(range.first));
            }
            Some(index) => match constant_index(index, range) {
                Some(cell) => {
                    let op = if acquire { Op::Lock } else { Op::Unlock };
                    self.emit(op(cell));
                }
                None => {
                    self.expr(index);
                    let op = if acquire { Op::LockAt } else { Op::UnlockAt };
                    self.indexed(op(range), index);
                }
            },
        }
        self.note(
            first,
            LabelPart::Action(Action::Lock(verb, lock, index.cloned()), self.span),
        );
        self.maybe_open = false;
    }

    pub(super) fn condition(&mut self, test: &Expr, op: Op, message: Option<&Message>) {
        let read = self.value(test);
        self.expr(&read);
        let at = self.emit(op);
        if !self.program.lowered.contains(&self.span) {
            self.code.tests.insert(at, test.span);
        }
        if op == Op::Assert {
            let seen = self.as_computed(&read);
            self.code.asserted.insert(at, [test.clone(), seen]);
        }
        self.code.messages.extend(message.map(|m| (at, m.clone())));
    }

    pub(super) fn let_(&mut self, local: LocalId, values: &[Expr]) {
        let first = self.slot(local);
        for (k, value) in values.iter().enumerate() {
            let read = matches!(value.kind, ExprKind::Shared(_));
            let value = self.value(value);
            self.expr(&value);
            let to = first + k as u32;
            self.emit(Op::SetLocal(to));
            // Fetch the value directly into its slot.
            if let [
                ..,
                Op::Fetch { cell, slot },
                Op::Local(from),
                Op::SetLocal(_),
            ] = self.code.ops[..]
                && read
                && from == slot
            {
                self.drop_last(2);
                let at = self.here() as usize - 1;
                self.code.ops[at] = Op::Fetch { cell, slot: to };
            }
        }
    }

    pub(super) fn assign(&mut self, places: &[Place], values: &[Expr]) {
        if let ([place], [value], false) = (places, values, self.splits()) {
            // The common case needs no temporaries.
            let index = self.index(place);
            if let Some(index) = index {
                self.expr(index);
            }
            self.expr(value);
            return self.store(place, index);
        }
        // The indices on the left are computed first, then the values on the right, and then the
        // writes are made. An index or a value that can fail, or that one of the writes could
        // change, is computed into a temporary.
        let single = values.len() == 1;
        let indices: Vec<Option<Expr>> = places
            .iter()
            .map(|place| {
                let index = self.value(self.index(place)?);
                Some(self.keep(index, !single))
            })
            .collect();
        let values: Vec<Expr> = values
            .iter()
            .map(|value| {
                let value = self.value(value);
                self.keep(value, !single)
            })
            .collect();
        for ((place, index), value) in places.iter().zip(&indices).zip(&values) {
            if self.splits() && place.is_shared() {
                self.mark(Op::Mark);
            }
            if let Some(index) = index {
                self.expr(index);
            }
            self.expr(value);
            // The index as written decides which element the write claims, if this index reads only
            // locals.
            let written = if self.splits() {
                index.as_ref()
            } else {
                self.index(place)
            };
            self.store(place, written);
            if let Some(index) = index {
                // A failure shows this index, which was computed before the writes. The variables
                // of the index as written may have changed since.
                self.failing(index);
            }
        }
    }

    /// Returns the index of a place, unless it is a constant within bounds.
    pub(super) fn index<'p>(&self, place: &'p Place) -> Option<&'p Expr> {
        match place {
            Place::Local(_) | Place::Shared(_) => None,
            Place::LocalElement(local, index) => constant_index(index, self.local_range(*local))
                .is_none()
                .then_some(index),
            Place::Element(var, index) => constant_index(index, self.range(var.0))
                .is_none()
                .then_some(index),
        }
    }

    /// Stores the operand in a place. An index that is not constant is below the operand on the
    /// stack.
    pub(super) fn store(&mut self, place: &Place, index: Option<&Expr>) {
        let at = match (place, index) {
            (Place::Local(local), _) => self.emit(Op::SetLocal(self.slot(*local))),
            (Place::LocalElement(local, at), None) => {
                let range = self.local_range(*local);
                self.emit(Op::SetLocal(
                    constant_index(at, range).unwrap_or(range.first),
                ))
            }
            (Place::LocalElement(local, _), Some(index)) => {
                let at = self.emit(Op::SetLocalAt(self.local_range(*local)));
                self.failing(index);
                at
            }
            (Place::Shared(var), _) => self.emit(Op::Store(self.range(var.0).first)),
            (Place::Element(var, at), None) => {
                let range = self.range(self.program.accessed(*var, at).0);
                self.emit(Op::Store(constant_index(at, range).unwrap_or(range.first)))
            }
            (Place::Element(var, _), Some(index)) => {
                let range = self.range(self.program.accessed(*var, index).0);
                self.indexed(Op::StoreAt(range), index)
            }
        };
        if self.splits() && place.is_shared() {
            self.note(at, LabelPart::Write);
        }
    }

    pub(super) fn indexed(&mut self, op: Op, index: &Expr) -> u32 {
        let local = (!self.shared.expr(index)).then(|| {
            let mut slots = Vec::new();
            index.walk(&mut |e| match &e.kind {
                ExprKind::Local(local) => slots.push(self.slot(*local)),
                ExprKind::LocalElement(local, _) => {
                    let range = self.local_range(*local);
                    slots.extend(range.first..range.first + range.len);
                }
                _ => {}
            });
            let snippet = self.snippet(index);
            // The read and the write of an update use the same index.
            if self.code.snippets.last() != Some(&snippet) {
                self.code.snippets.push(snippet);
            }
            (self.code.snippets.len() as u32 - 1, slots)
        });
        let at = self.emit(op);
        self.indices.insert(at, IndexedAccess { local });
        self.failing(index);
        at
    }
}
