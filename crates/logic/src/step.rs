//! The rules that make a step: Fig. 7 of the SymPaths paper, and those for what `.maz` has besides.
//!
//! A thread stands before a statement that is a step. The rule of that statement gives one sequent for
//! each way on, with what was assumed to go that way. Work on locals belongs to the step before it, as
//! in every other engine; a guard or choice and the first step of what it guards are one step.
//!
//! | paper | here |
//! |---|---|
//! | DLT-ASSIGN, DLT-COND, DLT-WHILE | [`Rule::Assign`], [`Rule::Cond`], [`Rule::While`] |
//! | section 6.2, with the event that errata E9 asks for | [`Rule::Spawn`], [`Rule::Join`] |
//! | section 6.3 | [`Rule::Guard`], [`Rule::Choice`], [`Rule::Lock`], [`Rule::Unlock`] |
//!
//! The bound of a `while` that is used up is a step without an event, as in the paper's prototype.

use std::rc::Rc;

use mazurka_core::{ProcessId, ProcessTable};
use mazurka_lang::hir::{Expr, LocalId, Program, Spawned, Stmt, StmtKind};
use mazurka_lang::shared::Shared;
use mazurka_smt::{Term, Terms};

use crate::eval::{Eval, Fault, Obligation};
use crate::pool::{
    FrameRef, Item, Layout, State, Thread, frame_size, is_step, local_range, rounds_left, sort,
};

/// One way that a step can go.
#[derive(Clone, Debug)]
pub(crate) struct Branch<'p> {
    pub state: State<'p>,
    /// What was chosen, and from where to where.
    pub chosen: Vec<[Term; 3]>,
    /// Which way it went where it could go several.
    pub ways: Vec<u8>,
    pub spawned: Vec<ProcessId>,
    pub joined: Vec<ProcessId>,
    /// A false `assume`: there is nothing more to show, but nobody waits either.
    pub discarded: bool,
}

/// A step that does too much.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a step of process {0} has too many ways to go (a loop over unknown values inside one step?)"
)]
pub struct TooMuch(pub String);

/// How much one step may do.
const MOST_WORK: usize = 20_000;

/// Makes steps of one program.
pub(crate) struct Stepper<'p> {
    pub program: &'p Program,
    pub shared: Shared<'p>,
    pub layout: Layout,
}

/// The step in the making.
struct Making<'a, 'p> {
    stepper: &'a Stepper<'p>,
    terms: &'a mut Terms,
    table: &'a mut ProcessTable,
    process: ProcessId,
    name: String,
    work: usize,
    /// Kept apart from the ways: what fails on a way that turns out to be closed has failed all the same.
    obligations: Vec<Obligation>,
}

type Ways<'p> = Result<Vec<Branch<'p>>, TooMuch>;

/// A step: the ways it can go, and what must hold for it to go none that is wrong.
pub(crate) struct Made<'p> {
    pub ways: Vec<Branch<'p>>,
    pub obligations: Vec<Obligation>,
}

impl<'p> Stepper<'p> {
    pub fn new(program: &'p Program) -> Self {
        Self {
            program,
            shared: Shared::new(program),
            layout: Layout::of(program),
        }
    }

    /// The initial pool: these processes, each before its first step. Work on locals may go several ways.
    pub fn start(
        &self,
        cells: Vec<Term>,
        processes: &[usize],
        depth: u32,
        terms: &mut Terms,
        table: &mut ProcessTable,
    ) -> Result<Made<'p>, TooMuch> {
        let state = State {
            cells,
            locks: vec![None; self.layout.lock_cells],
            threads: Vec::new(),
            condition: Vec::new(),
        };
        let mut ways = vec![Branch::at(state)];
        let mut obligations = Vec::new();
        for &at in processes {
            let process = &self.program.processes[at];
            let thread = Thread::new(at, process, depth);
            let mut making = self.making(ProcessId(at as u32), terms, table);
            let mut next = Vec::new();
            for way in ways {
                next.extend(making.begin(way, thread.clone())?);
            }
            // A false `assume` before the first step is in the past of everything.
            next.retain(|way| !way.discarded);
            obligations.extend(making.obligations);
            ways = next;
        }
        Ok(Made { ways, obligations })
    }

    fn making<'a>(
        &'a self,
        process: ProcessId,
        terms: &'a mut Terms,
        table: &'a mut ProcessTable,
    ) -> Making<'a, 'p> {
        let name = table.path(process).to_string();
        Making {
            stepper: self,
            terms,
            table,
            process,
            name,
            work: 0,
            obligations: Vec::new(),
        }
    }

    /// The ways that the next step of a thread can go; none if it has to wait.
    pub fn step(
        &self,
        state: &State<'p>,
        thread: usize,
        terms: &mut Terms,
        table: &mut ProcessTable,
    ) -> Result<Made<'p>, TooMuch> {
        let process = state.threads[thread].process;
        let mut making = self.making(process, terms, table);
        let ways = making.one(Branch::at(state.clone()))?;
        let mut settled = Vec::new();
        for way in ways {
            settled.extend(making.settle(way, 0)?);
        }
        for way in &mut settled {
            way.state.threads.retain(|thread| !thread.work.is_empty());
        }
        Ok(Made {
            ways: settled,
            obligations: making.obligations,
        })
    }
}

impl<'p> Branch<'p> {
    pub fn at(state: State<'p>) -> Self {
        Self {
            state,
            chosen: Vec::new(),
            ways: Vec::new(),
            spawned: Vec::new(),
            joined: Vec::new(),
            discarded: false,
        }
    }
}

impl<'p> Making<'_, 'p> {
    /// Adds a thread and lets it work on its locals.
    fn begin(&mut self, mut way: Branch<'p>, thread: Thread<'p>) -> Ways<'p> {
        let process = thread.process;
        way.state.threads.push(thread);
        way.state.threads.sort_by_key(|thread| thread.process);
        let outer = std::mem::replace(&mut self.process, process);
        let name = self.table.path(process).to_string();
        let outer_name = std::mem::replace(&mut self.name, name);
        let mut ways = self.settle(way, 0)?;
        for way in &mut ways {
            let at = at(&way.state, process);
            if way.state.threads[at].work.is_empty() && outer == process {
                way.state.threads.remove(at);
            }
        }
        self.process = outer;
        self.name = outer_name;
        Ok(ways)
    }

    fn eval<'e>(&'e mut self, way: &'e mut Branch<'p>) -> Eval<'e, 'p> {
        let thread = at(&way.state, self.process);
        Eval {
            terms: self.terms,
            layout: &self.stepper.layout,
            state: &mut way.state,
            thread,
            name: &self.name,
            when: Vec::new(),
            obligations: &mut self.obligations,
            chosen: &mut way.chosen,
        }
    }

    fn thread<'b>(&self, way: &'b mut Branch<'p>) -> &'b mut Thread<'p> {
        let at = at(&way.state, self.process);
        &mut way.state.threads[at]
    }

    fn push(&self, way: &mut Branch<'p>, stmts: &'p [Stmt]) {
        let items = stmts.iter().rev().map(Item::Do);
        self.thread(way).work.extend(items);
    }

    /// The two ways of a test, those that are plainly impossible left out.
    fn fork(&mut self, mut way: Branch<'p>, test: &Expr) -> Vec<(bool, Branch<'p>)> {
        let test = self.eval(&mut way).expr(test);
        if let Some(truth) = self.terms.truth(test) {
            way.ways.push(u8::from(truth));
            return vec![(truth, way)];
        }
        let not = self.terms.not(test);
        let mut other = way.clone();
        way.state.condition.push(test);
        way.ways.push(1);
        other.state.condition.push(not);
        other.ways.push(0);
        vec![(true, way), (false, other)]
    }

    fn tire(&mut self) -> Result<(), TooMuch> {
        self.work += 1;
        match self.work > MOST_WORK {
            true => Err(TooMuch(self.name.clone())),
            false => Ok(()),
        }
    }

    /// Works on locals until a statement is reached that is a step, or no more than `depth` items are left.
    fn settle(&mut self, way: Branch<'p>, depth: usize) -> Ways<'p> {
        let mut done = Vec::new();
        let mut open = vec![way];
        while let Some(mut way) = open.pop() {
            self.tire()?;
            let work = &mut self.thread(&mut way).work;
            let local = match work.last() {
                Some(item) => work.len() > depth && !is_step(item, &self.stepper.shared),
                None => false,
            };
            if local {
                let item = self.thread(&mut way).work.pop();
                open.extend(self.local(way, item)?);
            } else {
                done.push(way);
            }
        }
        // The order in which the ways were opened.
        done.reverse();
        Ok(done)
    }

    /// An item that is no step, or one inside an atomic block.
    fn local(&mut self, mut way: Branch<'p>, item: Option<Item<'p>>) -> Ways<'p> {
        let stmt = match item {
            None => return Ok(vec![way]),
            Some(Item::Return(frame, saved)) => {
                let thread = self.thread(&mut way);
                thread.frame = FrameRef(frame);
                thread.locals = saved.to_vec();
                return Ok(vec![way]);
            }
            Some(Item::Round(stmt)) => return self.round(way, stmt),
            Some(Item::Count(stmt)) => return Ok(vec![self.count(way, stmt)]),
            Some(Item::Again(stmt)) => return self.test_loop(way, stmt),
            Some(Item::Do(stmt)) => stmt,
        };
        match &stmt.kind {
            StmtKind::Skip => Ok(vec![way]),
            StmtKind::End => {
                self.thread(&mut way).work.clear();
                Ok(vec![way])
            }
            StmtKind::Block(stmts) | StmtKind::Atomic(stmts) => {
                self.push(&mut way, stmts);
                Ok(vec![way])
            }
            StmtKind::While { bound, .. } => {
                if let Some((most, counter)) = bound {
                    let most = self.terms.constant(mazurka_smt::Sort::Int, *most);
                    let thread = self.thread(&mut way);
                    let at = local_range(thread.frame.0, *counter).0;
                    thread.locals[at] = most;
                }
                self.thread(&mut way).work.push(Item::Again(stmt));
                Ok(vec![way])
            }
            StmtKind::Error(_) => {
                self.eval(&mut way)
                    .oblige(Term::FALSE, Fault::Error, stmt.span);
                self.thread(&mut way).work.clear();
                Ok(vec![way])
            }
            _ => self.simple(way, stmt),
        }
    }

    /// The next step of the thread.
    fn one(&mut self, mut way: Branch<'p>) -> Ways<'p> {
        self.tire()?;
        let item = self.thread(&mut way).work.pop();
        match item {
            Some(Item::Do(stmt)) => match &stmt.kind {
                StmtKind::Atomic(stmts) => self.atomic(way, stmts),
                _ => self.simple(way, stmt),
            },
            Some(Item::Again(stmt)) => self.test_loop(way, stmt),
            other => self.local(way, other),
        }
    }

    /// A statement that starts with something to do, as opposed to a block.
    fn simple(&mut self, mut way: Branch<'p>, stmt: &'p Stmt) -> Ways<'p> {
        match &stmt.kind {
            StmtKind::Assign(places, values) => {
                self.eval(&mut way).assign(places, values);
                Ok(vec![way])
            }
            StmtKind::Let(local, values) => {
                let mut eval = self.eval(&mut way);
                let values: Vec<Term> = values.iter().map(|value| eval.expr(value)).collect();
                let thread = self.thread(&mut way);
                let first = local_range(thread.frame.0, *local).0;
                thread.locals[first..first + values.len()].copy_from_slice(&values);
                Ok(vec![way])
            }
            StmtKind::Assert(test, _) => {
                let mut eval = self.eval(&mut way);
                let test = eval.expr(test);
                eval.oblige(test, Fault::Assertion, stmt.span);
                Ok(vec![way])
            }
            StmtKind::Assume(test) => {
                let mut ways = Vec::new();
                for (truth, mut way) in self.fork(way, test) {
                    if !truth {
                        way.discarded = true;
                        self.thread(&mut way).work.clear();
                    }
                    ways.push(way);
                }
                Ok(ways)
            }
            StmtKind::If(test, then, other) => {
                let mut ways = Vec::new();
                for (truth, mut way) in self.fork(way, test) {
                    self.push(&mut way, if truth { then } else { other });
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
                let mut eval = self.eval(&mut way);
                let values = [eval.expr(from), eval.expr(to)];
                let thread = self.thread(&mut way);
                for (local, value) in [local, limit].into_iter().zip(values) {
                    let at = local_range(thread.frame.0, *local).0;
                    thread.locals[at] = value;
                }
                thread.work.push(Item::Round(stmt));
                Ok(vec![way])
            }
            StmtKind::Call(procedure, args) => {
                let mut eval = self.eval(&mut way);
                let args: Vec<Term> = args.iter().map(|arg| eval.expr(arg)).collect();
                let procedure = &self.stepper.program.procedures[procedure.0 as usize];
                let thread = self.thread(&mut way);
                let saved = Rc::from(std::mem::take(&mut thread.locals));
                thread.work.push(Item::Return(thread.frame.0, saved));
                thread.frame = FrameRef(&procedure.frame);
                thread.locals = args;
                thread
                    .locals
                    .resize(frame_size(&procedure.frame), Term::FALSE);
                self.push(&mut way, &procedure.body);
                Ok(vec![way])
            }
            StmtKind::Guard(test, body) => {
                let test = self.eval(&mut way).expr(test);
                match self.given(way, test) {
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
                        self.thread(&mut way).work.push(Item::Do(stmt));
                        ways.extend(self.guarded(way, body)?);
                    } else {
                        ways.push(way);
                    }
                }
                Ok(ways)
            }
            StmtKind::Spawn(handle, spawned) => self.spawn(way, *handle, spawned),
            StmtKind::Join(handle) => Ok(self.join(way, *handle)),
            StmtKind::Lock(lock, index) => {
                let cells = self.stepper.layout.locks[lock.0 as usize];
                let mut ways = Vec::new();
                for (cell, mut way) in self.locks(way, index.as_ref(), cells) {
                    if way.state.locks[cell].is_none() {
                        way.state.locks[cell] = Some(self.process);
                        ways.push(way);
                    }
                }
                Ok(ways)
            }
            StmtKind::Unlock(lock, index) => {
                let cells = self.stepper.layout.locks[lock.0 as usize];
                let mut ways = Vec::new();
                for (cell, mut way) in self.locks(way, index.as_ref(), cells) {
                    if way.state.locks[cell] != Some(self.process) {
                        let mut eval = self.eval(&mut way);
                        eval.oblige(Term::FALSE, Fault::Unlock, stmt.span);
                    }
                    way.state.locks[cell] = None;
                    ways.push(way);
                }
                Ok(ways)
            }
            // What is inside an atomic block: blocks and loops among it.
            _ => self.local(way, Some(Item::Do(stmt))),
        }
    }

    /// Assumes a condition, unless it is plainly false.
    fn given(&self, mut way: Branch<'p>, test: Term) -> Option<Branch<'p>> {
        match self.terms.truth(test) {
            Some(true) => {}
            Some(false) => return None,
            None => way.state.condition.push(test),
        }
        Some(way)
    }

    /// Runs the first step of what a guard or choice guards, if it has one, in the same step.
    fn guarded(&mut self, mut way: Branch<'p>, body: &'p Stmt) -> Ways<'p> {
        let depth = self.thread(&mut way).work.len();
        self.thread(&mut way).work.push(Item::Do(body));
        let mut ways = Vec::new();
        for mut way in self.settle(way, depth)? {
            match self.thread(&mut way).work.len() > depth {
                true => ways.extend(self.one(way)?),
                false => ways.push(way),
            }
        }
        Ok(ways)
    }

    fn atomic(&mut self, mut way: Branch<'p>, stmts: &'p [Stmt]) -> Ways<'p> {
        let depth = self.thread(&mut way).work.len();
        self.push(&mut way, stmts);
        let mut done = Vec::new();
        let mut open = vec![way];
        while let Some(mut way) = open.pop() {
            if self.thread(&mut way).work.len() <= depth {
                done.push(way);
                continue;
            }
            let mut ways = self.one(way)?;
            ways.reverse();
            open.extend(ways);
        }
        Ok(done)
    }

    /// The test of a `while` that was entered.
    fn test_loop(&mut self, mut way: Branch<'p>, stmt: &'p Stmt) -> Ways<'p> {
        let StmtKind::While {
            test, bound, body, ..
        } = &stmt.kind
        else {
            return Ok(vec![way]);
        };
        if let Some((_, counter)) = bound {
            let thread = at(&way.state, self.process);
            let left = rounds_left(&way.state.threads[thread], *counter, self.terms);
            if left == 0 {
                return Ok(vec![way]);
            }
            let left = self.terms.constant(mazurka_smt::Sort::Int, left - 1);
            let thread = self.thread(&mut way);
            let at = local_range(thread.frame.0, *counter).0;
            thread.locals[at] = left;
        }
        let mut ways = Vec::new();
        for (truth, mut way) in self.fork(way, test) {
            if truth {
                self.thread(&mut way).work.push(Item::Again(stmt));
                self.push(&mut way, body);
            }
            ways.push(way);
        }
        Ok(ways)
    }

    /// The next round of a `for`. Its bounds were read once.
    fn round(&mut self, mut way: Branch<'p>, stmt: &'p Stmt) -> Ways<'p> {
        let StmtKind::For {
            local, limit, body, ..
        } = &stmt.kind
        else {
            return Ok(vec![way]);
        };
        let thread = self.thread(&mut way);
        let (counter, limit) = (
            local_range(thread.frame.0, *local).0,
            local_range(thread.frame.0, *limit).0,
        );
        let (value, end) = (thread.locals[counter], thread.locals[limit]);
        let more = self.terms.less(value, end);
        let mut ways = Vec::new();
        if more != Term::FALSE {
            let mut way = way.clone();
            way.state
                .condition
                .extend((more != Term::TRUE).then_some(more));
            way.ways.push(1);
            self.thread(&mut way).work.push(Item::Count(stmt));
            self.push(&mut way, body);
            ways.push(way);
        }
        if more != Term::TRUE {
            let not = self.terms.not(more);
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
        let thread = at(&way.state, self.process);
        let thread = &mut way.state.threads[thread];
        let counter = local_range(thread.frame.0, *local).0;
        let one = self
            .terms
            .constant(self.terms.sort(thread.locals[counter]), 1);
        thread.locals[counter] = self.terms.add(thread.locals[counter], one);
        thread.work.push(Item::Round(stmt));
        way
    }

    fn spawn(
        &mut self,
        mut way: Branch<'p>,
        handle: Option<LocalId>,
        what: &'p Spawned,
    ) -> Ways<'p> {
        let program = self.stepper.program;
        let (body, frame, locals) = match what {
            Spawned::Block(stmts) => {
                let parent = self.thread(&mut way);
                (&stmts[..], parent.frame, parent.locals.clone())
            }
            Spawned::Call(procedure, args) => {
                let mut eval = self.eval(&mut way);
                let mut locals: Vec<Term> = args.iter().map(|arg| eval.expr(arg)).collect();
                let procedure = &program.procedures[procedure.0 as usize];
                locals.resize(frame_size(&procedure.frame), Term::FALSE);
                (&procedure.body[..], FrameRef(&procedure.frame), locals)
            }
        };
        let parent = self.thread(&mut way);
        let (number, depth) = (parent.children, parent.depth);
        let process = self.table.child(self.process, number);
        let name = self
            .terms
            .constant(sort(mazurka_lang::hir::Type::Process), process.0.into());
        let parent = self.thread(&mut way);
        parent.children += 1;
        if let Some(handle) = handle {
            let at = local_range(parent.frame.0, handle).0;
            parent.locals[at] = name;
        }
        way.spawned.push(process);
        let child = Thread {
            process,
            work: body.iter().rev().map(Item::Do).collect(),
            frame,
            locals,
            children: 0,
            asked: 0,
            depth,
            events: 0,
        };
        self.begin(way, child)
    }

    fn join(&mut self, mut way: Branch<'p>, handle: Option<LocalId>) -> Vec<Branch<'p>> {
        let thread = self.thread(&mut way);
        let wanted: Vec<ProcessId> = match handle {
            Some(handle) => {
                let value = thread.locals[local_range(thread.frame.0, handle).0];
                let value = self.terms.value(value);
                value
                    .map(|value| ProcessId(value as u32))
                    .into_iter()
                    .collect()
            }
            None => (0..thread.children)
                .filter_map(|number| self.table.known_child(self.process, number))
                .collect(),
        };
        let alive = |process: &ProcessId| {
            let mut threads = way.state.threads.iter();
            threads.any(|thread| thread.process == *process && !thread.work.is_empty())
        };
        if wanted.iter().any(alive) {
            return Vec::new();
        }
        way.joined.extend(wanted);
        vec![way]
    }

    /// Which lock, where the index does not say at once one way for each.
    fn locks(
        &mut self,
        mut way: Branch<'p>,
        index: Option<&Expr>,
        (first, len): (usize, usize),
    ) -> Vec<(usize, Branch<'p>)> {
        let Some(index) = index else {
            return vec![(first, way)];
        };
        let mut eval = self.eval(&mut way);
        let at = eval.expr(index);
        eval.bounds(at, len, index.span);
        let mut ways = Vec::new();
        for number in 0..len {
            let this = self.terms.constant(self.terms.sort(at), number as i64);
            let here = self.terms.equal(at, this);
            if let Some(mut way) = self.given(way.clone(), here) {
                way.ways.push(number as u8);
                ways.push((first + number, way));
            }
        }
        ways
    }
}

/// Where a thread is in the pool.
fn at(state: &State<'_>, process: ProcessId) -> usize {
    let found = state.threads.iter().position(|t| t.process == process);
    found.expect("the thread that makes the step is there")
}
