//! The steps of threads for the checker: the effect of each statement on a state, implemented
//! independently of the search.
//!
//! The remaining work of a thread is a stack of items, and [`Machine::execute_item`] executes the
//! item on top and returns all branches. A step is one such item, followed by local work. The step
//! of a guard includes the first step of the guarded statement, and the step of an atomic block is
//! the whole block.

use mazurka_core::{Access, ProcessId};
use mazurka_lang::hir::{LocalId, Spawned, Stmt, StmtKind, Type};
use mazurka_smt::{Sort, Term};

use super::Checked;
use crate::claims::lock_base;
use crate::eval::Fault;
use crate::pool::WorkItem::{Again, Count, Do, Return, Round};
use crate::pool::{FrameRef, State, Thread, filled, is_step, rounds_left, sort};
use crate::world::{Branch, World};

/// Limit on the items that one step executes, on all its branches together.
const MOST: usize = 50_000;

/// The executor of one step.
pub(super) struct Machine<'a, 'p> {
    world: &'a mut World<'p>,
    work: usize,
}

type Branches<'p> = Checked<Vec<Branch<'p>>>;

impl<'a, 'p> Machine<'a, 'p> {
    pub fn new(world: &'a mut World<'p>) -> Self {
        world.touched.clear();
        Self { world, work: 0 }
    }

    /// Returns the processes of a box, each at its first step.
    pub fn start(&mut self, cells: Vec<Term>, processes: &[usize], depth: u32) -> Branches<'p> {
        let state = State::new(cells, &self.world.layout);
        let mut ways = vec![Branch::at(state, ProcessId(0))];
        for &at in processes {
            let mut next = Vec::new();
            for mut way in ways {
                let process = &self.world.program.processes[at];
                way.state.add(Thread::new(at, process, depth));
                way.turn = ProcessId(at as u32);
                next.extend(self.until(way, 0, false)?);
            }
            ways = next;
            ways.retain(|way| !way.discarded);
        }
        Ok(ways.into_iter().map(Branch::ended).collect())
    }

    /// Returns all branches of the step of a thread. There are none if the thread has to wait.
    pub fn step(&mut self, state: &State<'p>, process: ProcessId) -> Branches<'p> {
        let mut done = Vec::new();
        for way in self.execute_item(Branch::at(state.clone(), process))? {
            done.extend(self.until(way, 0, false)?);
        }
        Ok(done.into_iter().map(Branch::ended).collect())
    }

    /// Does local work until the next item is a step or at most `floor` items are left. With
    /// `steps` set, also executes steps.
    fn until(&mut self, way: Branch<'p>, floor: usize, steps: bool) -> Branches<'p> {
        let (mut open, mut done) = (vec![way], Vec::new());
        while let Some(mut way) = open.pop() {
            let work = &way.thread().work;
            let next = work.last().filter(|_| work.len() > floor);
            if next.is_some_and(|item| steps || !is_step(item, &self.world.shared)) {
                open.extend(self.execute_item(way)?.into_iter().rev());
            } else {
                done.push(way);
            }
        }
        Ok(done)
    }

    /// Executes the first step of a guarded statement, whose items are above `floor`, as part of
    /// the step of its guard.
    fn guarded(&mut self, ways: Vec<Branch<'p>>, floor: usize) -> Branches<'p> {
        let mut done = Vec::new();
        for way in ways {
            for mut way in self.until(way, floor, false)? {
                if way.thread().work.len() > floor {
                    done.extend(self.execute_item(way)?)
                } else {
                    done.push(way)
                }
            }
        }
        Ok(done)
    }

    /// Executes the next item of a thread.
    fn execute_item(&mut self, mut way: Branch<'p>) -> Branches<'p> {
        self.work += 1;
        if self.work > MOST {
            return Err("a step has too many branches".to_owned());
        }
        let thread = way.thread();
        let (item, floor) = (thread.work.pop(), thread.work.len());
        let stmt = match &item {
            None => return Ok(vec![way]),
            Some(Return(frame, saved)) => {
                thread.leave(frame, saved);
                return Ok(vec![way]);
            }
            Some(Do(stmt) | Again(stmt) | Round(stmt) | Count(stmt)) => *stmt,
        };
        match (&stmt.kind, item) {
            (StmtKind::Skip, _) => {}
            (StmtKind::End, _) => thread.work.clear(),
            (StmtKind::Leave(leave), _) => return Err(format!("no rule: {}", leave.word())),
            (StmtKind::Block(body), _) => thread.push(body),
            (StmtKind::Atomic(body), _) => {
                thread.push(body);
                return self.until(way, floor, true);
            }
            (StmtKind::Error(_), _) => {
                thread.work.clear();
                let mut eval = self.world.eval(&mut way);
                eval.oblige(Term::FALSE, Fault::Error, stmt.span);
            }
            (StmtKind::Assign(places, values), _) => {
                self.world.eval(&mut way).assign(places, values)
            }
            (StmtKind::Let(local, values), _) => {
                let values = self.world.values(&mut way, values);
                way.thread().set(*local, &values);
            }
            (StmtKind::Assert(test, _), _) => {
                let mut eval = self.world.eval(&mut way);
                let test = eval.expr(test);
                eval.oblige(test, Fault::Assertion, stmt.span);
            }
            (StmtKind::Assume(test), _) => {
                let test = self.world.eval(&mut way).expr(test);
                return Ok(self.fork(way, test, |way, truth| {
                    if !truth {
                        way.discarded = true;
                        way.thread().work.clear();
                    }
                }));
            }
            (StmtKind::If(test, then, other), _) => {
                let test = self.world.eval(&mut way).expr(test);
                return Ok(self.fork(way, test, |way, truth| {
                    way.thread().push(if truth { then } else { other });
                }));
            }
            (
                StmtKind::While {
                    test, bound, body, ..
                },
                Some(Again(_)),
            ) => {
                if let Some((_, counter)) = bound {
                    let left = rounds_left(thread, *counter, &self.world.terms);
                    if left == 0 {
                        return Ok(vec![way]);
                    }
                    thread.set(*counter, &[self.world.terms.constant(Sort::Int, left - 1)]);
                }
                let test = self.world.eval(&mut way).expr(test);
                return Ok(self.fork(way, test, |way, truth| {
                    if truth {
                        way.thread().work.push(Again(stmt));
                        way.thread().push(body);
                    }
                }));
            }
            (StmtKind::While { bound, .. }, _) => {
                if let Some((most, counter)) = bound {
                    thread.set(*counter, &[self.world.terms.constant(Sort::Int, *most)]);
                }
                thread.work.push(Again(stmt));
            }
            (
                StmtKind::For {
                    local, limit, body, ..
                },
                Some(Round(_)),
            ) => {
                let (value, end) = (thread.get(*local), thread.get(*limit));
                let more = self.world.terms.less(value, end);
                return Ok(self.fork(way, more, |way, truth| {
                    if truth {
                        way.thread().work.push(Count(stmt));
                        way.thread().push(body);
                    }
                }));
            }
            (StmtKind::For { local, .. }, Some(Count(_))) => {
                let value = thread.get(*local);
                let one = self.world.terms.constant(self.world.terms.sort(value), 1);
                thread.set(*local, &[self.world.terms.add(value, one)]);
                thread.work.push(Round(stmt));
            }
            (
                StmtKind::For {
                    local,
                    limit,
                    from,
                    to,
                    ..
                },
                _,
            ) => {
                let mut eval = self.world.eval(&mut way);
                let (from, to) = (eval.expr(from), eval.expr(to));
                way.thread().set(*local, &[from]);
                way.thread().set(*limit, &[to]);
                way.thread().work.push(Round(stmt));
            }
            (StmtKind::Call(procedure, args), _) => {
                let args = self.world.values(&mut way, args);
                let procedure = &self.world.program.procedures[procedure.0 as usize];
                way.thread().enter(procedure, args);
            }
            (StmtKind::Guard(test, body), _) => {
                let test = self.world.eval(&mut way).expr(test);
                let mut way = way.given(test, &self.world.terms);
                if let Some(way) = &mut way {
                    way.thread().work.push(Do(body));
                }
                return self.guarded(way.into_iter().collect(), floor);
            }
            (StmtKind::Choice { test, then, other }, _) => {
                let test = self.world.eval(&mut way).expr(test);
                let ways = self.fork(way, test, |way, truth| {
                    let body = Do(if truth { then } else { other });
                    way.thread().work.push(body);
                });
                return self.guarded(ways, floor);
            }
            (StmtKind::GuardedLoop(test, body), _) => {
                let test = self.world.eval(&mut way).expr(test);
                let ways = self.fork(way, test, |way, truth| {
                    if truth {
                        way.thread().work.extend([Do(stmt), Do(body)]);
                    }
                });
                return self.guarded(ways, floor + 1);
            }
            (StmtKind::Spawn(handle, what), _) => return self.spawn(way, *handle, what),
            (StmtKind::Join(handle), _) => return Ok(self.join(way, *handle, stmt)),
            (StmtKind::Lock(..) | StmtKind::Unlock(..), _) => return Ok(self.lock(way, stmt)),
        }
        Ok(vec![way])
    }

    /// Returns the branch where a test holds and the branch where it does not, each continued by
    /// `then`.
    fn fork(
        &mut self,
        way: Branch<'p>,
        test: Term,
        then: impl Fn(&mut Branch<'p>, bool),
    ) -> Vec<Branch<'p>> {
        let mut ways = Vec::new();
        for (truth, test) in [(true, test), (false, self.world.terms.not(test))] {
            let mut way = way.clone().given(test, &self.world.terms);
            way.iter_mut().for_each(|way| then(way, truth));
            ways.extend(way);
        }
        ways
    }

    fn spawn(
        &mut self,
        mut way: Branch<'p>,
        handle: Option<LocalId>,
        what: &'p Spawned,
    ) -> Branches<'p> {
        let (body, frame, locals) = match what {
            Spawned::Block(body) => (&body[..], way.thread().frame, way.thread().locals.clone()),
            Spawned::Call(procedure, args) => {
                let args = self.world.values(&mut way, args);
                let procedure = &self.world.program.procedures[procedure.0 as usize];
                let frame = FrameRef(&procedure.frame);
                (&procedure.body[..], frame, filled(args, frame.0))
            }
        };
        let parent = way.turn;
        let child = way
            .thread()
            .child(&mut self.world.table, body, frame, locals);
        way.turn = child.process;
        way.spawned.push(child.process);
        if let Some(handle) = handle {
            let name = self
                .world
                .terms
                .constant(sort(Type::Process), child.process.0.into());
            way.state.thread(parent).set(handle, &[name]);
        }
        way.state.add(child);
        let mut ways = self.until(way, 0, false)?;
        ways.iter_mut().for_each(|way| way.turn = parent);
        Ok(ways)
    }

    fn join(
        &mut self,
        mut way: Branch<'p>,
        handle: Option<LocalId>,
        stmt: &Stmt,
    ) -> Vec<Branch<'p>> {
        let thread = way.thread();
        let (process, children) = (thread.process, thread.children);
        let wanted: Vec<ProcessId> = match handle.map(|handle| thread.get(handle)) {
            None => (0..children)
                .filter_map(|k| self.world.table.known_child(process, k))
                .collect(),
            Some(handle) => match self.world.terms.value(handle) {
                Some(name) => vec![ProcessId(name as u32)],
                None => {
                    self.world
                        .eval(&mut way)
                        .oblige(Term::FALSE, Fault::Error, stmt.span);
                    Vec::new()
                }
            },
        };
        if wanted.iter().any(|&process| way.state.lives(process)) {
            return Vec::new();
        }
        way.joined.extend(wanted);
        vec![way]
    }

    /// Acquires or releases a lock. There is a branch for each lock that an index may select.
    fn lock(&mut self, mut way: Branch<'p>, stmt: &Stmt) -> Vec<Branch<'p>> {
        let (StmtKind::Lock(lock, index) | StmtKind::Unlock(lock, index)) = &stmt.kind else {
            return vec![way];
        };
        let takes = matches!(stmt.kind, StmtKind::Lock(..));
        let (first, len) = self.world.layout.locks[lock.0 as usize];
        let at = index.as_ref().map(|index| {
            let mut eval = self.world.eval(&mut way);
            let at = eval.expr(index);
            eval.bounds(at, len, index.span);
            at
        });
        let mut ways = Vec::new();
        for number in 0..len {
            let here = match at {
                None => Term::TRUE,
                Some(at) => self.world.terms.is_number(at, number),
            };
            let Some(mut way) = way.clone().given(here, &self.world.terms) else {
                continue;
            };
            let cell = lock_base(&self.world.layout) + first + number;
            self.world.touched.push((Access::write(cell as u32), None));
            let holder = way.state.locks[first + number];
            if takes && holder.is_some() {
                continue;
            }
            if !takes && holder != Some(way.turn) {
                let mut eval = self.world.eval(&mut way);
                eval.oblige(Term::FALSE, Fault::Unlock, stmt.span);
            }
            way.state.locks[first + number] = takes.then_some(way.turn);
            ways.push(way);
        }
        ways
    }
}
