//! The rules that make a step: Fig. 7 of the SymPaths paper, and rules for the other statements of
//! `.maz`.
//!
//! The rule for the next statement of a thread yields one sequent for each branch of the statement,
//! with the assumptions of the branch. Local work belongs to the step before it, as in the other
//! engines. A guard or choice is one step together with the first step of the statement that it
//! guards. docs/algorithms.md lists the errata.
//!
//! | paper | a variant of [`Rule`](mazurka_core::proof::Rule) |
//! |---|---|
//! | DLT-ASSIGN, DLT-COND, DLT-WHILE | `Assign`, `Cond`, `While` |
//! | section 6.2, with the event that errata E9 adds | `Spawn`, `Join` |
//! | section 6.3 | `Guard`, `Choice`, `Lock`, `Unlock` |
//!
//! The exit of a `while` that has reached its bound is a step without an event, as in the paper's
//! prototype.

use mazurka_core::ProcessId;
use mazurka_diagnostics::Span;
use mazurka_lang::hir::{Expr, LocalId, Spawned, Stmt, StmtKind, Type};
use mazurka_smt::Term;

use crate::eval::Fault;
use crate::pool::{FrameRef, State, Thread, WorkItem, filled, is_step, rounds_left, sort};
use crate::world::{Branch, World};

/// The error for a step of this process with too much work or too many branches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepTooLarge(pub String);

/// Limit on the work of one step, on all its branches together.
const MOST_WORK: usize = 20_000;

/// A step under construction.
struct StepExecutor<'a, 'p> {
    world: &'a mut World<'p>,
    /// The number of items executed so far, on all branches.
    work: usize,
}

type Branches<'p> = Result<Vec<Branch<'p>>, StepTooLarge>;

/// Returns the initial states of a box with these processes, each at its first step. There are
/// several states if the local work before the first steps branches.
pub(crate) fn start<'p>(
    world: &mut World<'p>,
    cells: Vec<Term>,
    processes: &[usize],
    depth: u32,
) -> Branches<'p> {
    let state = State::new(cells, &world.layout);
    let mut ways = vec![Branch::at(state, ProcessId(0))];
    for &at in processes {
        let thread = Thread::new(at, &world.program.processes[at], depth);
        let mut executor = StepExecutor { world, work: 0 };
        let mut next = Vec::new();
        for way in ways {
            next.extend(executor.begin(way, thread.clone())?);
        }
        // A false `assume` before the first step discards all runs.
        next.retain(|way| !way.discarded);
        ways = next;
    }
    Ok(ways.into_iter().map(Branch::ended).collect())
}

/// Returns the branches of the next step of a thread. There are none if the thread has to wait.
pub(crate) fn step<'p>(
    world: &mut World<'p>,
    state: &State<'p>,
    process: ProcessId,
) -> Branches<'p> {
    let mut executor = StepExecutor { world, work: 0 };
    let ways = executor.next_step(Branch::at(state.clone(), process))?;
    let mut settled = Vec::new();
    for way in ways {
        settled.extend(executor.settle(way, 0)?);
    }
    Ok(settled.into_iter().map(Branch::ended).collect())
}

impl<'p> StepExecutor<'_, 'p> {
    /// Adds a thread and does its local work.
    fn begin(&mut self, mut way: Branch<'p>, thread: Thread<'p>) -> Branches<'p> {
        let before = std::mem::replace(&mut way.turn, thread.process);
        way.state.add(thread);
        let mut ways = self.settle(way, 0)?;
        ways.iter_mut().for_each(|way| way.turn = before);
        Ok(ways)
    }

    /// Returns the two branches of a test. A branch whose condition is the constant false is
    /// omitted.
    fn fork(&mut self, mut way: Branch<'p>, test: &Expr) -> Vec<(bool, Branch<'p>)> {
        let test = self.world.eval(&mut way).expr(test);
        if let Some(truth) = self.world.terms.truth(test) {
            way.ways.push(u8::from(truth));
            return vec![(truth, way)];
        }
        let not = self.world.terms.not(test);
        let mut other = way.clone();
        way.state.condition.push(test);
        way.ways.push(1);
        other.state.condition.push(not);
        other.ways.push(0);
        vec![(true, way), (false, other)]
    }

    /// Counts a unit of work. Returns an error if the step has too much work.
    fn count_work(&mut self, turn: ProcessId) -> Result<(), StepTooLarge> {
        self.work += 1;
        if self.work > MOST_WORK {
            Err(StepTooLarge(self.world.table.path(turn).to_string()))
        } else {
            Ok(())
        }
    }

    /// Does local work until the next statement is a step or at most `depth` items are left.
    fn settle(&mut self, way: Branch<'p>, depth: usize) -> Branches<'p> {
        let mut done = Vec::new();
        let mut open = vec![way];
        while let Some(mut way) = open.pop() {
            self.count_work(way.turn)?;
            let work = &mut way.thread().work;
            let local = match work.last() {
                Some(item) => work.len() > depth && !is_step(item, &self.world.shared),
                None => false,
            };
            if local {
                let item = way.thread().work.pop();
                open.extend(self.local(way, item)?.into_iter().rev());
            } else {
                done.push(way);
            }
        }
        Ok(done)
    }

    /// Executes an item that is not a step, or that is in an atomic block.
    fn local(&mut self, mut way: Branch<'p>, item: Option<WorkItem<'p>>) -> Branches<'p> {
        let stmt = match item {
            None => return Ok(vec![way]),
            Some(WorkItem::Return(frame, saved)) => {
                way.thread().leave(frame, &saved);
                return Ok(vec![way]);
            }
            Some(WorkItem::Round(stmt)) => return self.round(way, stmt),
            Some(WorkItem::Count(stmt)) => return Ok(vec![self.count(way, stmt)]),
            Some(WorkItem::Again(stmt)) => return self.test_loop(way, stmt),
            Some(WorkItem::Do(stmt)) => stmt,
        };
        match &stmt.kind {
            StmtKind::Skip => Ok(vec![way]),
            // There is no rule for this statement. Programs with it are refused earlier.
            StmtKind::Leave(leave) => Err(StepTooLarge(format!("no rule for `{}`", leave.word()))),
            StmtKind::End => {
                way.thread().work.clear();
                Ok(vec![way])
            }
            StmtKind::Block(stmts) | StmtKind::Atomic(stmts) => {
                way.thread().push(stmts);
                Ok(vec![way])
            }
            StmtKind::While { bound, .. } => {
                if let Some((most, counter)) = bound {
                    let most = self.world.terms.constant(mazurka_smt::Sort::Int, *most);
                    way.thread().set(*counter, &[most]);
                }
                way.thread().work.push(WorkItem::Again(stmt));
                Ok(vec![way])
            }
            StmtKind::Error(_) => {
                self.world
                    .eval(&mut way)
                    .oblige(Term::FALSE, Fault::Error, stmt.span);
                way.thread().work.clear();
                Ok(vec![way])
            }
            _ => self.simple(way, stmt),
        }
    }

    /// Makes the next step of the thread.
    fn next_step(&mut self, mut way: Branch<'p>) -> Branches<'p> {
        self.count_work(way.turn)?;
        let item = way.thread().work.pop();
        match item {
            Some(WorkItem::Do(stmt)) => match &stmt.kind {
                StmtKind::Atomic(stmts) => self.atomic(way, stmts),
                _ => self.simple(way, stmt),
            },
            Some(WorkItem::Again(stmt)) => self.test_loop(way, stmt),
            other => self.local(way, other),
        }
    }

    /// Executes a statement other than a block.
    fn simple(&mut self, mut way: Branch<'p>, stmt: &'p Stmt) -> Branches<'p> {
        match &stmt.kind {
            StmtKind::Assign(places, values) => {
                self.world.eval(&mut way).assign(places, values);
                Ok(vec![way])
            }
            StmtKind::Let(local, values) => {
                let values = self.world.values(&mut way, values);
                way.thread().set(*local, &values);
                Ok(vec![way])
            }
            StmtKind::Assert(test, _) => {
                let mut eval = self.world.eval(&mut way);
                let test = eval.expr(test);
                eval.oblige(test, Fault::Assertion, stmt.span);
                Ok(vec![way])
            }
            StmtKind::Assume(test) => {
                let mut ways = Vec::new();
                for (truth, mut way) in self.fork(way, test) {
                    if !truth {
                        way.discarded = true;
                        way.thread().work.clear();
                    }
                    ways.push(way);
                }
                Ok(ways)
            }
            StmtKind::If(test, then, other) => {
                let mut ways = Vec::new();
                for (truth, mut way) in self.fork(way, test) {
                    way.thread().push(if truth { then } else { other });
                    ways.push(way);
                }
                Ok(ways)
            }
            StmtKind::For {
                local,
                limit,
                from,
                to,
                ..
            } => {
                let mut eval = self.world.eval(&mut way);
                let (from, to) = (eval.expr(from), eval.expr(to));
                let thread = way.thread();
                thread.set(*local, &[from]);
                thread.set(*limit, &[to]);
                thread.work.push(WorkItem::Round(stmt));
                Ok(vec![way])
            }
            StmtKind::Call(procedure, args) => {
                let args = self.world.values(&mut way, args);
                let procedure = &self.world.program.procedures[procedure.0 as usize];
                way.thread().enter(procedure, args);
                Ok(vec![way])
            }
            StmtKind::Guard(test, body) => {
                let test = self.world.eval(&mut way).expr(test);
                match way.given(test, &self.world.terms) {
                    Some(way) => self.guarded(way, body),
                    None => Ok(Vec::new()),
                }
            }
            StmtKind::Choice { test, then, other } => {
                let mut ways = Vec::new();
                for (truth, way) in self.fork(way, test) {
                    ways.extend(self.guarded(way, if truth { then } else { other })?);
                }
                Ok(ways)
            }
            StmtKind::GuardedLoop(test, body) => {
                let mut ways = Vec::new();
                for (truth, mut way) in self.fork(way, test) {
                    if truth {
                        way.thread().work.push(WorkItem::Do(stmt));
                        ways.extend(self.guarded(way, body)?);
                    } else {
                        ways.push(way);
                    }
                }
                Ok(ways)
            }
            StmtKind::Spawn(handle, spawned) => self.spawn(way, *handle, spawned),
            StmtKind::Join(handle) => Ok(self.join(way, *handle, stmt.span)),
            StmtKind::Lock(lock, index) => {
                let cells = self.world.layout.locks[lock.0 as usize];
                let mut ways = Vec::new();
                for (cell, mut way) in self.locks(way, index.as_ref(), cells) {
                    if way.state.locks[cell].is_none() {
                        way.state.locks[cell] = Some(way.turn);
                        ways.push(way);
                    }
                }
                Ok(ways)
            }
            StmtKind::Unlock(lock, index) => {
                let cells = self.world.layout.locks[lock.0 as usize];
                let mut ways = Vec::new();
                for (cell, mut way) in self.locks(way, index.as_ref(), cells) {
                    if way.state.locks[cell] != Some(way.turn) {
                        let mut eval = self.world.eval(&mut way);
                        eval.oblige(Term::FALSE, Fault::Unlock, stmt.span);
                    }
                    way.state.locks[cell] = None;
                    ways.push(way);
                }
                Ok(ways)
            }
            // A block or a loop inside an atomic block.
            _ => self.local(way, Some(WorkItem::Do(stmt))),
        }
    }

    /// Executes the first step of a guarded statement, if it has one, as part of the current step.
    fn guarded(&mut self, mut way: Branch<'p>, body: &'p Stmt) -> Branches<'p> {
        let depth = way.thread().work.len();
        way.thread().work.push(WorkItem::Do(body));
        let mut ways = Vec::new();
        for mut way in self.settle(way, depth)? {
            if way.thread().work.len() > depth {
                ways.extend(self.next_step(way)?)
            } else {
                ways.push(way)
            }
        }
        Ok(ways)
    }

    fn atomic(&mut self, mut way: Branch<'p>, stmts: &'p [Stmt]) -> Branches<'p> {
        let depth = way.thread().work.len();
        way.thread().push(stmts);
        let mut done = Vec::new();
        let mut open = vec![way];
        while let Some(mut way) = open.pop() {
            if way.thread().work.len() <= depth {
                done.push(way);
                continue;
            }
            let mut ways = self.next_step(way)?;
            ways.reverse();
            open.extend(ways);
        }
        Ok(done)
    }

    /// Executes the test of a `while`.
    fn test_loop(&mut self, mut way: Branch<'p>, stmt: &'p Stmt) -> Branches<'p> {
        let StmtKind::While {
            test, bound, body, ..
        } = &stmt.kind
        else {
            return Ok(vec![way]);
        };
        if let Some((_, counter)) = bound {
            let left = rounds_left(way.thread(), *counter, &self.world.terms);
            if left == 0 {
                return Ok(vec![way]);
            }
            let left = self.world.terms.constant(mazurka_smt::Sort::Int, left - 1);
            way.thread().set(*counter, &[left]);
        }
        let mut ways = Vec::new();
        for (truth, mut way) in self.fork(way, test) {
            if truth {
                way.thread().work.push(WorkItem::Again(stmt));
                way.thread().push(body);
            }
            ways.push(way);
        }
        Ok(ways)
    }

    /// Executes the test of a `for`. Its bounds were read before the first round.
    fn round(&mut self, mut way: Branch<'p>, stmt: &'p Stmt) -> Branches<'p> {
        let StmtKind::For {
            local, limit, body, ..
        } = &stmt.kind
        else {
            return Ok(vec![way]);
        };
        let thread = way.thread();
        let (value, end) = (thread.get(*local), thread.get(*limit));
        let more = self.world.terms.less(value, end);
        let mut ways = Vec::new();
        if more != Term::FALSE {
            let mut way = way.clone();
            way.state
                .condition
                .extend((more != Term::TRUE).then_some(more));
            way.ways.push(1);
            way.thread().work.push(WorkItem::Count(stmt));
            way.thread().push(body);
            ways.push(way);
        }
        if more != Term::TRUE {
            let not = self.world.terms.not(more);
            way.state
                .condition
                .extend((not != Term::TRUE).then_some(not));
            way.ways.push(0);
            ways.push(way);
        }
        Ok(ways)
    }

    fn count(&mut self, mut way: Branch<'p>, stmt: &'p Stmt) -> Branch<'p> {
        let StmtKind::For { local, .. } = &stmt.kind else {
            return way;
        };
        let value = way.thread().get(*local);
        let one = self.world.terms.constant(self.world.terms.sort(value), 1);
        let next = self.world.terms.add(value, one);
        let thread = way.thread();
        thread.set(*local, &[next]);
        thread.work.push(WorkItem::Round(stmt));
        way
    }

    fn spawn(
        &mut self,
        mut way: Branch<'p>,
        handle: Option<LocalId>,
        what: &'p Spawned,
    ) -> Branches<'p> {
        let program = self.world.program;
        let (body, frame, locals) = match what {
            Spawned::Block(stmts) => {
                let parent = way.thread();
                (&stmts[..], parent.frame, parent.locals.clone())
            }
            Spawned::Call(procedure, args) => {
                let args = self.world.values(&mut way, args);
                let procedure = &program.procedures[procedure.0 as usize];
                let frame = &procedure.frame;
                (&procedure.body[..], FrameRef(frame), filled(args, frame))
            }
        };
        let parent = way.thread();
        let child = parent.child(&mut self.world.table, body, frame, locals);
        if let Some(handle) = handle {
            let name = child.process.0.into();
            let name = self.world.terms.constant(sort(Type::Process), name);
            way.thread().set(handle, &[name]);
        }
        way.spawned.push(child.process);
        self.begin(way, child)
    }

    fn join(
        &mut self,
        mut way: Branch<'p>,
        handle: Option<LocalId>,
        span: Span,
    ) -> Vec<Branch<'p>> {
        let thread = way.thread();
        let wanted: Vec<ProcessId> = match handle {
            Some(handle) => {
                let value = self.world.terms.value(thread.get(handle));
                if value.is_none() {
                    // The handle is always known, because handles are never assigned, and processes
                    // with different numbers of children are at different points.
                    self.world
                        .eval(&mut way)
                        .oblige(Term::FALSE, Fault::Error, span);
                }
                let value = value.and_then(|value| u32::try_from(value).ok());
                value.map(ProcessId).into_iter().collect()
            }
            None => (0..thread.children)
                .filter_map(|number| self.world.table.known_child(way.turn, number))
                .collect(),
        };
        if wanted.iter().any(|&process| way.state.lives(process)) {
            return Vec::new();
        }
        way.joined.extend(wanted);
        vec![way]
    }

    /// Returns the locks that an index may select, each with its branch.
    fn locks(
        &mut self,
        mut way: Branch<'p>,
        index: Option<&Expr>,
        (first, len): (usize, usize),
    ) -> Vec<(usize, Branch<'p>)> {
        let Some(index) = index else {
            return vec![(first, way)];
        };
        let mut eval = self.world.eval(&mut way);
        let at = eval.expr(index);
        eval.bounds(at, len, index.span);
        let mut ways = Vec::new();
        for number in 0..len {
            let here = self.world.terms.is_number(at, number);
            if let Some(mut way) = way.clone().given(here, &self.world.terms) {
                way.ways.push(number as u8);
                ways.push((first + number, way));
            }
        }
        ways
    }
}
