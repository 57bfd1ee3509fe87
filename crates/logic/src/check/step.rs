//! The steps of threads, once more and in another way: a flat machine, without recursion.
//!
//! What a thread has to do lies on its stack. Items are taken and done one after the other; a step is over when one item that is a
//! step has been done and the next one is a step too. Within a guard, the step is the first one of what it guards; within an
//! atomic block, all of it.

use mazurka_core::{ProcessId, ProcessTable};
use mazurka_lang::hir::{Expr, Frame, LocalId, Program, Spawned, Stmt, StmtKind, Type};
use mazurka_lang::shared::Shared;
use mazurka_smt::{Sort, Term, Terms};

use crate::eval::{Eval, Fault, Obligation};
use crate::pool::{
    FrameRef, Item, Layout, State, Thread, frame_size, is_step, local_range, rounds_left, sort,
};
use crate::step::Branch;

/// More than this in one step is refused.
const MOST: usize = 50_000;

/// What makes steps.
pub(super) struct Stepper<'p> {
    pub program: &'p Program,
    pub shared: Shared<'p>,
    pub layout: Layout,
    pub terms: Terms,
    pub table: ProcessTable,
    /// What the last step must not do wrong.
    pub obligations: Vec<Obligation>,
}

/// A thread in the middle of a step.
#[derive(Clone, Copy)]
struct Active {
    process: ProcessId,
    /// Whether the step has been made, so that only work on locals is left.
    moved: bool,
    /// Inside an atomic block that ends when no more than so many items are left.
    atomic: Option<usize>,
    /// Inside of what a guard guards, likewise.
    guard: Option<usize>,
}

#[derive(Clone)]
struct Run<'p> {
    way: Branch<'p>,
    /// The thread whose turn it is last: a thread that was just spawned comes before its parent.
    active: Vec<Active>,
}

impl<'p> Stepper<'p> {
    /// All ways the step of a thread can go; none if it has to wait, an error if there are too many.
    pub fn step(&mut self, state: &State<'p>, process: ProcessId) -> Result<Vec<Branch<'p>>, ()> {
        self.drive(state.clone(), process, false)
    }

    /// The thread works on its locals until it stands before a step.
    pub fn settle(&mut self, state: State<'p>, process: ProcessId) -> Result<Vec<Branch<'p>>, ()> {
        self.drive(state, process, true)
    }

    fn drive(
        &mut self,
        state: State<'p>,
        process: ProcessId,
        moved: bool,
    ) -> Result<Vec<Branch<'p>>, ()> {
        let first = Active {
            process,
            moved,
            atomic: None,
            guard: None,
        };
        let mut open = vec![Run {
            way: Branch::at(state),
            active: vec![first],
        }];
        let mut done = Vec::new();
        for _ in 0..MOST {
            let Some(mut run) = open.pop() else {
                return Ok(done);
            };
            let Some(active) = run.active.last_mut() else {
                run.way.state.threads.retain(|t| !t.work.is_empty());
                done.push(run.way);
                continue;
            };
            let work = &thread(&mut run.way.state, active.process).work;
            for mark in [&mut active.atomic, &mut active.guard] {
                if mark.is_some_and(|depth| work.len() <= depth) {
                    *mark = None;
                    active.moved = true;
                }
            }
            let rests = match work.last() {
                None => true,
                Some(item) => {
                    active.moved && active.atomic.is_none() && is_step(item, &self.shared)
                }
            };
            if rests {
                run.active.pop();
                open.push(run);
                continue;
            }
            let mut next = self.act(run);
            next.reverse();
            open.extend(next);
        }
        Err(())
    }

    fn eval<'e>(
        &'e mut self,
        way: &'e mut Branch<'p>,
        process: ProcessId,
        name: &'e str,
    ) -> Eval<'e, 'p> {
        let thread = way.state.threads.iter().position(|t| t.process == process);
        Eval {
            terms: &mut self.terms,
            layout: &self.layout,
            thread: thread.unwrap_or(0),
            state: &mut way.state,
            name,
            when: Vec::new(),
            obligations: &mut self.obligations,
            chosen: &mut way.chosen,
        }
    }

    fn value(&mut self, run: &mut Run<'p>, expr: &Expr) -> Term {
        let process = run.process();
        let name = self.table.path(process).to_string();
        self.eval(&mut run.way, process, &name).expr(expr)
    }

    /// The run where the condition holds; none if it plainly does not.
    fn where_(&self, mut run: Run<'p>, test: Term) -> Option<Run<'p>> {
        match self.terms.truth(test) {
            Some(false) => return None,
            Some(true) => {}
            None => run.way.state.condition.push(test),
        }
        Some(run)
    }

    /// Does the next item of the thread whose turn it is.
    fn act(&mut self, mut run: Run<'p>) -> Vec<Run<'p>> {
        let process = run.process();
        let Some(item) = run.thread().work.pop() else {
            return vec![run];
        };
        let step = is_step(&item, &self.shared);
        let depth = run.thread().work.len();
        let guarded = |run: &mut Run<'p>| {
            let active = run.active.last_mut().expect("somebody's turn");
            if active.atomic.is_none() {
                active.guard = Some(depth);
            }
        };
        let stmt = match item {
            Item::Return(frame, saved) => {
                let thread = run.thread();
                thread.frame = FrameRef(frame);
                thread.locals = saved.to_vec();
                return vec![run];
            }
            Item::Count(stmt) | Item::Round(stmt) => {
                return self.round(run, stmt, matches!(item, Item::Count(_)));
            }
            Item::Again(stmt) => {
                let mut runs = self.test(run, stmt);
                runs.iter_mut().filter(|_| step).for_each(Run::has_moved);
                return runs;
            }
            Item::Do(stmt) => stmt,
        };
        match &stmt.kind {
            StmtKind::Guard(test, body) => {
                let test = self.value(&mut run, test);
                let Some(mut run) = self.where_(run, test) else {
                    return Vec::new();
                };
                guarded(&mut run);
                run.thread().work.push(Item::Do(body));
                return vec![run];
            }
            StmtKind::Choice { test, then, other } => {
                let mut runs = self.both(run, test);
                for (truth, run) in &mut runs {
                    if step {
                        guarded(run);
                    }
                    let body = if *truth { then } else { other };
                    run.thread().work.push(Item::Do(body));
                }
                return runs.into_iter().map(|(_, run)| run).collect();
            }
            StmtKind::GuardedLoop(test, body) => {
                let mut runs = self.both(run, test);
                for (truth, run) in &mut runs {
                    if *truth {
                        run.thread().work.push(Item::Do(stmt));
                        let active = run.active.last_mut().expect("somebody's turn");
                        if active.atomic.is_none() {
                            active.guard = Some(depth + 1);
                        }
                        run.thread().work.push(Item::Do(body));
                    } else {
                        run.has_moved();
                    }
                }
                return runs.into_iter().map(|(_, run)| run).collect();
            }
            StmtKind::Atomic(body) if step => {
                let active = run.active.last_mut().expect("somebody's turn");
                active.atomic = active.atomic.or(Some(depth));
                run.push(body);
                return vec![run];
            }
            _ => {}
        }
        let mut runs = self.plain(run, stmt, process);
        runs.iter_mut()
            .filter(|_| step)
            .for_each(Run::has_moved_before_spawned);
        runs
    }

    fn both(&mut self, mut run: Run<'p>, test: &Expr) -> Vec<(bool, Run<'p>)> {
        let test = self.value(&mut run, test);
        let not = self.terms.not(test);
        let mut runs = Vec::new();
        for (truth, test) in [(true, test), (false, not)] {
            if let Some(mut run) = self.where_(run.clone(), test) {
                run.way.ways.push(truth.into());
                runs.push((truth, run));
            }
        }
        runs
    }

    fn test(&mut self, mut run: Run<'p>, stmt: &'p Stmt) -> Vec<Run<'p>> {
        let StmtKind::While {
            test, bound, body, ..
        } = &stmt.kind
        else {
            return vec![run];
        };
        if let Some((_, counter)) = bound {
            let left = rounds_left(run.thread(), *counter, &self.terms);
            if left == 0 {
                return vec![run];
            }
            let left = self.terms.constant(Sort::Int, left - 1);
            run.set(*counter, &[left]);
        }
        let mut runs = self.both(run, test);
        for (_, run) in runs.iter_mut().filter(|(truth, _)| *truth) {
            run.thread().work.push(Item::Again(stmt));
            run.push(body);
        }
        runs.into_iter().map(|(_, run)| run).collect()
    }

    fn round(&mut self, mut run: Run<'p>, stmt: &'p Stmt, count: bool) -> Vec<Run<'p>> {
        let StmtKind::For {
            local, limit, body, ..
        } = &stmt.kind
        else {
            return vec![run];
        };
        let frame = run.thread().frame.0;
        let (at, end) = (local_range(frame, *local).0, local_range(frame, *limit).0);
        let value = run.thread().locals[at];
        if count {
            let one = self.terms.constant(self.terms.sort(value), 1);
            run.thread().locals[at] = self.terms.add(value, one);
            run.thread().work.push(Item::Round(stmt));
            return vec![run];
        }
        let end = run.thread().locals[end];
        let more = self.terms.less(value, end);
        let enough = self.terms.not(more);
        let mut runs = Vec::new();
        if let Some(mut run) = self.where_(run.clone(), more) {
            run.way.ways.push(1);
            run.thread().work.push(Item::Count(stmt));
            run.push(body);
            runs.push(run);
        }
        if let Some(mut run) = self.where_(run, enough) {
            run.way.ways.push(0);
            runs.push(run);
        }
        runs
    }

    /// Statements that do something and go on.
    fn plain(&mut self, mut run: Run<'p>, stmt: &'p Stmt, process: ProcessId) -> Vec<Run<'p>> {
        let name = self.table.path(process).to_string();
        match &stmt.kind {
            StmtKind::Skip => {}
            StmtKind::End => run.thread().work.clear(),
            StmtKind::Block(body) | StmtKind::Atomic(body) => run.push(body),
            StmtKind::Error(_) => {
                self.eval(&mut run.way, process, &name).oblige(
                    Term::FALSE,
                    Fault::Error,
                    stmt.span,
                );
                run.thread().work.clear();
            }
            StmtKind::Assign(places, values) => {
                self.eval(&mut run.way, process, &name)
                    .assign(places, values);
            }
            StmtKind::Let(local, values) => {
                let values: Vec<Term> = values.iter().map(|e| self.value(&mut run, e)).collect();
                run.set(*local, &values);
            }
            StmtKind::Assert(test, _) => {
                let mut eval = self.eval(&mut run.way, process, &name);
                let test = eval.expr(test);
                eval.oblige(test, Fault::Assertion, stmt.span);
            }
            StmtKind::Assume(test) => {
                let mut runs = self.both(run, test);
                for (_, run) in runs.iter_mut().filter(|(truth, _)| !truth) {
                    run.way.discarded = true;
                    run.thread().work.clear();
                }
                return runs.into_iter().map(|(_, run)| run).collect();
            }
            StmtKind::If(test, then, other) => {
                let mut runs = self.both(run, test);
                for (truth, run) in &mut runs {
                    run.push(if *truth { then } else { other });
                }
                return runs.into_iter().map(|(_, run)| run).collect();
            }
            StmtKind::While { bound, .. } => {
                if let Some((most, counter)) = bound {
                    let most = self.terms.constant(Sort::Int, *most);
                    run.set(*counter, &[most]);
                }
                run.thread().work.push(Item::Again(stmt));
            }
            StmtKind::For {
                local,
                limit,
                from,
                to,
                ..
            } => {
                let from = self.value(&mut run, from);
                let to = self.value(&mut run, to);
                run.set(*local, &[from]);
                run.set(*limit, &[to]);
                run.thread().work.push(Item::Round(stmt));
            }
            StmtKind::Call(procedure, args) => {
                let args: Vec<Term> = args.iter().map(|e| self.value(&mut run, e)).collect();
                let procedure = &self.program.procedures[procedure.0 as usize];
                let thread = run.thread();
                let saved = std::mem::replace(&mut thread.locals, fill(args, &procedure.frame));
                thread.work.push(Item::Return(thread.frame.0, saved.into()));
                thread.frame = FrameRef(&procedure.frame);
                run.push(&procedure.body);
            }
            StmtKind::Spawn(handle, what) => self.spawn(&mut run, *handle, what),
            StmtKind::Join(handle) => return self.join(run, *handle).into_iter().collect(),
            StmtKind::Lock(lock, index) | StmtKind::Unlock(lock, index) => {
                let (first, len) = self.layout.locks[lock.0 as usize];
                let takes = matches!(stmt.kind, StmtKind::Lock(..));
                let mut runs = Vec::new();
                for (cell, mut run) in self.which(run, index.as_ref(), first, len) {
                    let holder = run.way.state.locks[cell];
                    if takes && holder.is_some() {
                        continue;
                    }
                    if !takes && holder != Some(process) {
                        let mut eval = self.eval(&mut run.way, process, &name);
                        eval.oblige(Term::FALSE, Fault::Unlock, stmt.span);
                    }
                    run.way.state.locks[cell] = takes.then_some(process);
                    runs.push(run);
                }
                return runs;
            }
            StmtKind::Guard(..) | StmtKind::Choice { .. } | StmtKind::GuardedLoop(..) => {}
        }
        vec![run]
    }

    fn spawn(&mut self, run: &mut Run<'p>, handle: Option<LocalId>, what: &'p Spawned) {
        let (body, frame, locals) = match what {
            Spawned::Block(body) => {
                let parent = run.thread();
                (&body[..], parent.frame, parent.locals.clone())
            }
            Spawned::Call(procedure, args) => {
                let args: Vec<Term> = args.iter().map(|e| self.value(run, e)).collect();
                let procedure = &self.program.procedures[procedure.0 as usize];
                let frame = &procedure.frame;
                (&procedure.body[..], FrameRef(frame), fill(args, frame))
            }
        };
        let (parent, number) = (run.process(), run.thread().children);
        let depth = run.thread().depth;
        let process = self.table.child(parent, number);
        run.thread().children += 1;
        if let Some(handle) = handle {
            let name = self.terms.constant(sort(Type::Process), process.0.into());
            run.set(handle, &[name]);
        }
        run.way.spawned.push(process);
        run.way.state.threads.push(Thread {
            process,
            work: body.iter().rev().map(Item::Do).collect(),
            frame,
            locals,
            children: 0,
            asked: 0,
            depth,
            events: 0,
        });
        run.way.state.threads.sort_by_key(|thread| thread.process);
        run.active.push(Active {
            process,
            moved: true,
            atomic: None,
            guard: None,
        });
    }

    fn join(&mut self, mut run: Run<'p>, handle: Option<LocalId>) -> Option<Run<'p>> {
        let process = run.process();
        let thread = run.thread();
        let wanted: Vec<ProcessId> = match handle {
            Some(handle) => {
                let value = thread.locals[local_range(thread.frame.0, handle).0];
                vec![ProcessId(self.terms.value(value)? as u32)]
            }
            None => {
                let children = 0..thread.children;
                children
                    .filter_map(|k| self.table.known_child(process, k))
                    .collect()
            }
        };
        let threads = &run.way.state.threads;
        let lives = |p: &ProcessId| {
            threads
                .iter()
                .any(|t| t.process == *p && !t.work.is_empty())
        };
        if wanted.iter().any(lives) {
            return None;
        }
        run.way.joined.extend(wanted);
        Some(run)
    }

    fn which(
        &mut self,
        mut run: Run<'p>,
        index: Option<&Expr>,
        first: usize,
        len: usize,
    ) -> Vec<(usize, Run<'p>)> {
        let Some(index) = index else {
            return vec![(first, run)];
        };
        let process = run.process();
        let name = self.table.path(process).to_string();
        let mut eval = self.eval(&mut run.way, process, &name);
        let at = eval.expr(index);
        eval.bounds(at, len, index.span);
        let mut runs = Vec::new();
        for number in 0..len {
            let here = self.terms.constant(self.terms.sort(at), number as i64);
            let here = self.terms.equal(at, here);
            if let Some(mut run) = self.where_(run.clone(), here) {
                run.way.ways.push(number as u8);
                runs.push((first + number, run));
            }
        }
        runs
    }
}

fn fill(mut values: Vec<Term>, frame: &Frame) -> Vec<Term> {
    values.resize(frame_size(frame), Term::FALSE);
    values
}

fn thread<'s, 'p>(state: &'s mut State<'p>, process: ProcessId) -> &'s mut Thread<'p> {
    let mut threads = state.threads.iter_mut();
    let found = threads.find(|thread| thread.process == process);
    found.expect("a thread whose turn it is has not been removed")
}

impl<'p> Run<'p> {
    fn process(&self) -> ProcessId {
        self.active.last().expect("somebody's turn").process
    }

    fn thread(&mut self) -> &mut Thread<'p> {
        let process = self.process();
        thread(&mut self.way.state, process)
    }

    fn push(&mut self, stmts: &'p [Stmt]) {
        self.thread().work.extend(stmts.iter().rev().map(Item::Do));
    }

    fn set(&mut self, local: LocalId, values: &[Term]) {
        let thread = self.thread();
        let first = local_range(thread.frame.0, local).0;
        thread.locals[first..first + values.len()].copy_from_slice(values);
    }

    /// A step has been made; inside an atomic block more may follow.
    fn has_moved(&mut self) {
        let active = self.active.last_mut().expect("somebody's turn");
        if active.atomic.is_none() {
            active.guard = None;
            active.moved = true;
        }
    }

    /// The same for the thread that made it, if it has just spawned another.
    fn has_moved_before_spawned(&mut self) {
        let at = self
            .active
            .iter()
            .rposition(|active| !active.moved || active.atomic.is_some());
        if let Some(active) = at.map(|at| &mut self.active[at])
            && active.atomic.is_none()
        {
            active.guard = None;
            active.moved = true;
        }
    }
}
