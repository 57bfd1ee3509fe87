//! The explorers work on programs whose states cannot be saved, only reached again by running them:
//! closures over shared cells, as coroutines.
//!
//! Neither a closure nor a cell can be cloned or set back. To go back, the program here creates
//! fresh cells and closures and repeats the steps. By the contract of `Execution`, the explorers do
//! not notice this.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;

use corosensei::{Coroutine, CoroutineResult, Yielder};
use mazurka_core::{
    Access, AccessKind, Bound, Claims, Event, Execution, Fingerprint, Limits, Mishap, ProcessId,
    ProcessTable, Promises, Status, StepError, Wait,
};
use mazurka_explore::{Engine, Findings, Goal, Method, Sample, Search, Stateless};

/// Reports the next access of a thread to the scheduler, and waits until the scheduler lets the
/// thread make it.
struct Turn<'a>(&'a Yielder<(), Access>);

/// A shared variable or a lock. A lock is held if its value is 1.
#[derive(Clone)]
struct Shared {
    number: u32,
    value: Rc<Cell<i64>>,
}

impl Shared {
    fn touch(&self, kind: AccessKind, turn: &Turn<'_>) {
        turn.0.suspend(Access::new(kind, self.number));
    }

    fn get(&self, turn: &Turn<'_>) -> i64 {
        self.touch(AccessKind::Read, turn);
        self.value.get()
    }

    fn set(&self, value: i64, turn: &Turn<'_>) {
        self.touch(AccessKind::Write, turn);
        self.value.set(value);
    }

    fn lock(&self, turn: &Turn<'_>) {
        self.touch(AccessKind::Acquire, turn);
        assert_eq!(self.value.replace(1), 0, "the scheduler gave a held lock");
    }

    fn unlock(&self, turn: &Turn<'_>) {
        self.touch(AccessKind::Release, turn);
        self.value.set(0);
    }
}

type Body = Box<dyn FnOnce(&Turn<'_>)>;

/// A thread, and its next access; `None` if it has ended.
struct Thread {
    coroutine: Coroutine<(), Access, ()>,
    next: Option<Access>,
    steps: u32,
}

impl Thread {
    fn start(body: Body) -> Self {
        let mut thread = Self {
            coroutine: Coroutine::new(|yielder, ()| body(&Turn(yielder))),
            next: None,
            steps: 0,
        };
        thread.resume();
        thread
    }

    fn resume(&mut self) {
        self.next = match self.coroutine.resume(()) {
            CoroutineResult::Yield(access) => Some(access),
            CoroutineResult::Return(()) => None,
        };
    }
}

/// Runs closures under a scheduler.
struct Simulator<F> {
    /// Makes new closures, over cells that are all 0.
    build: F,
    cells: Vec<Shared>,
    threads: Vec<Thread>,
    table: ProcessTable,
    events: Vec<Event>,
    /// The number of restarts from the beginning.
    restarts: u64,
}

impl<F: Fn(&[Shared]) -> Vec<Body>> Simulator<F> {
    fn new(cells: u32, build: F) -> Self {
        let cell = |number| Shared {
            number,
            value: Rc::default(),
        };
        let cells: Vec<Shared> = (0..cells).map(cell).collect();
        let threads: Vec<_> = build(&cells).into_iter().map(Thread::start).collect();
        Self {
            table: ProcessTable::new(threads.len() as u32),
            build,
            cells,
            threads,
            events: Vec::new(),
            restarts: 0,
        }
    }
}

impl<F: Fn(&[Shared]) -> Vec<Body>> Promises for Simulator<F> {
    fn guards(&self) -> &[Access] {
        &[]
    }
}

impl<F: Fn(&[Shared]) -> Vec<Body>> Execution for Simulator<F> {
    fn processes(&self) -> &ProcessTable {
        &self.table
    }

    fn status(&self, process: ProcessId) -> Status {
        match self.threads[process.index()].next {
            None => Status::Ended,
            Some(next) if next.kind == AccessKind::Acquire => {
                match self.cells[next.first as usize].value.get() {
                    0 => Status::Ready,
                    _ => Status::Waiting,
                }
            }
            Some(_) => Status::Ready,
        }
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        into.clear();
        into.extend(self.threads[process.index()].next);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        match self.threads[process.index()].next.map(|next| next.kind) {
            Some(AccessKind::Acquire) => Wait::Lock,
            _ => Wait::Never,
        }
    }

    fn step(&mut self, process: ProcessId, _outcomes: &[i64]) -> Result<&Event, StepError> {
        if self.status(process) != Status::Ready {
            return Err(StepError::NotReady);
        }
        let wait = self.wait(process);
        let thread = &mut self.threads[process.index()];
        let mut event = Event::new(process, thread.steps);
        event.wait = wait;
        event.claims.extend(thread.next);
        event.touched.extend(thread.next);
        thread.steps += 1;
        thread.resume();
        self.events.push(event);
        Ok(&self.events[self.events.len() - 1])
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn back_to(&mut self, depth: usize) {
        if depth == self.events.len() {
            return;
        }
        self.restarts += 1;
        // Drop the threads first: their destructors must not reach the new cells.
        self.threads.clear();
        for cell in &mut self.cells {
            cell.value = Rc::default();
        }
        let bodies = (self.build)(&self.cells).into_iter();
        self.threads.extend(bodies.map(Thread::start));
        let run = std::mem::take(&mut self.events);
        for event in &run[..depth] {
            let again = self.step(event.process, &[]);
            assert_eq!(again, Ok(event), "the same schedule made another step");
        }
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        &[]
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        Vec::new()
    }

    fn observation(&self) -> Fingerprint {
        let values = self.cells.iter().map(|cell| cell.value.get());
        values.fold(Fingerprint::EMPTY, |all, value| all.then(value as u64))
    }
}

fn body(run: impl FnOnce(&Turn<'_>) + 'static) -> Body {
    Box::new(run)
}

/// The engines that do not compare states.
fn engines() -> impl Iterator<Item = Stateless> {
    Stateless::ALL.iter().copied()
}

fn explore<F: Fn(&[Shared]) -> Vec<Body>>(
    program: &mut Simulator<F>,
    algorithm: Stateless,
) -> Findings {
    let search = Search {
        algorithm,
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    search.run(program, &mut |_| ControlFlow::Continue(()), &mut ())
}

/// Checks that every engine finds these numbers of traces, deadlocks and final states.
fn check(cells: u32, build: impl Fn(&[Shared]) -> Vec<Body> + Copy, expected: (u64, u64, u64)) {
    for algorithm in engines() {
        let mut program = Simulator::new(cells, build);
        let counts = explore(&mut program, algorithm).counts;
        let traces = counts.traces.unwrap_or(0);
        let found = (traces, counts.deadlocks, counts.final_states);
        assert_eq!(found, expected, "{algorithm}");
        if algorithm != Stateless::Naive {
            assert_eq!(counts.executions, traces, "{algorithm}");
        }
        if algorithm == Stateless::Optimal {
            assert_eq!(counts.blocked, 0);
        }
        assert!(
            program.restarts > 0,
            "{algorithm} cannot have explored anything"
        );
    }
}

#[test]
fn writers() {
    let build = |cells: &[Shared]| {
        let writer = |k: i64| {
            let x = cells[0].clone();
            body(move |turn| x.set(k, turn))
        };
        (1..=4).map(writer).collect()
    };
    check(1, build, (24, 0, 4));
}

#[test]
fn readers() {
    let build = |cells: &[Shared]| {
        let writer = cells[0].clone();
        let mut all = vec![body(move |turn| writer.set(1, turn))];
        for reader in 1..=3 {
            let (from, to) = (cells[0].clone(), cells[reader].clone());
            all.push(body(move |turn| {
                let value = from.get(turn);
                to.set(value, turn);
            }));
        }
        all
    };
    check(4, build, (8, 0, 8));
}

#[test]
fn counters() {
    let increment = |x: &Shared, turn: &Turn<'_>| {
        let value = x.get(turn);
        x.set(value + 1, turn);
    };
    let locked = move |cells: &[Shared]| {
        let one = |_| {
            let (lock, x) = (cells[0].clone(), cells[1].clone());
            body(move |turn| {
                lock.lock(turn);
                increment(&x, turn);
                lock.unlock(turn);
            })
        };
        (0..3).map(one).collect()
    };
    check(2, locked, (6, 0, 1));
    let unlocked = move |cells: &[Shared]| {
        let one = |_| {
            let x = cells[0].clone();
            body(move |turn| increment(&x, turn))
        };
        (0..2).map(one).collect()
    };
    check(1, unlocked, (4, 0, 2));
}

#[test]
fn a_deadlock() {
    let build = |cells: &[Shared]| {
        let pair = |first: usize, second: usize| {
            let (first, second) = (cells[first].clone(), cells[second].clone());
            body(move |turn| {
                first.lock(turn);
                second.lock(turn);
                second.unlock(turn);
                first.unlock(turn);
            })
        };
        vec![pair(0, 1), pair(1, 0)]
    };
    check(2, build, (3, 1, 1));
    for algorithm in engines() {
        let mut program = Simulator::new(2, build);
        let found = explore(&mut program, algorithm);
        let deadlock = found.deadlock.expect("it was counted");
        assert_eq!(deadlock.schedule.to_string(), "0 1", "{algorithm}");
    }
}

/// A closure may do anything between two accesses, such as choosing its next access.
#[test]
fn control_flow_depends_on_what_was_read() {
    let build = |cells: &[Shared]| {
        let (flag, data) = (cells[0].clone(), cells[1].clone());
        let producer = body(move |turn| {
            data.set(7, turn);
            flag.set(1, turn);
        });
        let (flag, data, out) = (cells[0].clone(), cells[1].clone(), cells[2].clone());
        let consumer = body(move |turn| {
            if flag.get(turn) == 1 {
                let value = data.get(turn);
                out.set(value, turn);
            }
        });
        vec![producer, consumer]
    };
    check(3, build, (2, 0, 2));
}

/// Returns the findings of a sample of two threads that take two locks in different orders.
fn sampled<F>(build: F, algorithm: impl Engine<Simulator<F>, Found = Findings>) -> Findings
where
    F: Fn(&[Shared]) -> Vec<Body>,
{
    let search = Search {
        algorithm,
        limits: Limits {
            executions: Some(60),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let mut program = Simulator::new(2, build);
    search.run(&mut program, &mut |_| ControlFlow::Continue(()), &mut ())
}

#[test]
fn samples() {
    let build = |cells: &[Shared]| {
        let taker = |k: usize| {
            let locks = [cells[k].clone(), cells[1 - k].clone()];
            body(move |turn| {
                locks.iter().for_each(|lock| lock.lock(turn));
                locks.iter().for_each(|lock| lock.unlock(turn));
            })
        };
        (0..2).map(taker).collect()
    };
    let draw = |seed| Method::ALL.map(|method| sampled(build, Sample { method, seed }));
    for (found, again) in draw(5).iter().zip(draw(5)) {
        assert_eq!(found.bounds, [Bound::Sampled(60)]);
        assert_eq!(found.counts.executions, 60);
        // The three traces: each thread first, and the deadlock.
        assert_eq!((found.counts.traces, found.counts.deadlocks), (Some(3), 1));
        assert_eq!(found.counts, again.counts);
        assert_eq!(found.deadlock, again.deadlock);
    }
}

/// Explores runs of up to a length.
fn cut<F: Fn(&[Shared]) -> Vec<Body>>(build: F, algorithm: Stateless, depth: u64) -> Findings {
    let search = Search {
        algorithm,
        limits: Limits {
            depth: Some(depth),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let mut program = Simulator::new(2, build);
    search.run(&mut program, &mut |_| ControlFlow::Continue(()), &mut ())
}

/// Even if one process loops without end, some runs contain the steps of the other process.
#[test]
fn runs_that_are_cut() {
    /// The first process reads the second cell until the second process has set it.
    fn build(cells: &[Shared], locks: bool) -> Vec<Body> {
        let [lock, x] = [cells[0].clone(), cells[1].clone()];
        let reader = body(move |turn| {
            let mut seen = 0;
            while seen == 0 {
                if locks {
                    lock.lock(turn);
                }
                seen = x.get(turn);
                if locks {
                    lock.unlock(turn);
                }
            }
        });
        let [lock, x] = [cells[0].clone(), cells[1].clone()];
        let writer = body(move |turn| {
            if locks {
                lock.lock(turn);
            }
            x.set(1, turn);
            if locks {
                lock.unlock(turn);
            }
        });
        vec![reader, writer]
    }
    // The traces differ in how often the reader has seen 0: from never up to as often as the depth
    // allows.
    for (locks, depth, traces) in [(false, 2, 1), (false, 7, 6), (true, 6, 1), (true, 14, 3)] {
        let build = |cells: &[Shared]| build(cells, locks);
        for algorithm in engines() {
            let found = cut(build, algorithm, depth);
            assert_eq!(found.counts.traces, Some(traces), "{algorithm} {depth}");
            assert_eq!(found.bounds, [Bound::MaxDepth(depth)], "{algorithm}");
        }
    }
}
