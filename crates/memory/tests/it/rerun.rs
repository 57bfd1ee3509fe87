//! Programs that cannot go back to an earlier state, but can only be run again from the start, like
//! real code.

use std::ops::ControlFlow;

use mazurka_core::{Bound, Limits, Random};
use mazurka_memory::graph::{Graph, Kind, Slot};
use mazurka_memory::litmus::Litmus;
use mazurka_memory::{
    Action, CountOnly, Effect, End, Loc, Memory, Program, ThreadId, Value, explore, sample, visit,
};

use crate::generate::sketch;

/// A program that always goes back to the start, and records the order of the answers.
struct FromTheStart {
    program: Litmus,
    answered: Vec<ThreadId>,
}

impl Program for FromTheStart {
    fn initial_threads(&self) -> u32 {
        self.program.initial_threads()
    }

    fn initial_value(&self, loc: Loc) -> Value {
        self.program.initial_value(loc)
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        self.program.pending(thread)
    }

    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect {
        self.program.modify(thread, read)
    }

    fn answer(&mut self, thread: ThreadId, value: Value) {
        self.answered.push(thread);
        self.program.answer(thread, value);
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        answers.fill(0);
        self.answered.clear();
        self.program.rewind(answers);
    }
}

/// Whether an order of answers extends po ∪ rf of a graph.
fn extends(graph: &Graph, answered: &[ThreadId]) -> bool {
    let mut made = vec![0; graph.threads() as usize];
    for &thread in answered {
        loop {
            let slot = graph.thread(thread)[made[thread.index()]];
            let event = graph.event(slot);
            let is_made = |slot: Slot| {
                let event = graph.event(slot);
                (event.index as usize) < made[event.thread.index()]
            };
            let reads = event.kind.is_read() && event.rf != Slot::INITIAL;
            let joined = ThreadId(event.loc.0);
            let ready = match event.kind {
                Kind::Join => made[joined.index()] == graph.thread(joined).len(),
                _ => !reads || is_made(event.rf),
            };
            let started = graph.spawn_of(thread).is_none_or(is_made);
            if !ready || !started {
                return false;
            }
            made[thread.index()] += 1;
            if !event.kind.reads_exclusively() {
                break;
            }
        }
    }
    true
}

#[test]
fn answers_extend_po_and_rf() {
    let mut ends = 0;
    for seed in 0..300 {
        let program = sketch(&mut Random::new(seed)).program();
        let slow = FromTheStart {
            program: program.clone(),
            answered: Vec::new(),
        };
        let limits = Limits {
            executions: Some(300),
            ..Limits::default()
        };
        let mut visitor = |end: &mut End<'_, FromTheStart>| {
            let answered = end.program().answered.clone();
            assert!(extends(end.graph(), &answered), "seed {seed}");
            ends += 1;
            ControlFlow::Continue(())
        };
        let slow = visit(slow, Memory::Rc11, &limits, &mut visitor);
        let fast = visit(program, Memory::Rc11, &limits, &mut CountOnly);
        assert_eq!(slow, fast, "seed {seed}");
    }
    assert!(ends > 1000, "{ends} executions");
}

/// Two threads with critical sections, and a variable in real memory.
struct Counter {
    /// The position of each thread.
    at: [u32; 2],
    count: u32,
}

impl Program for Counter {
    fn initial_threads(&self) -> u32 {
        2
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        match self.at[thread.index()] % 2 {
            _ if self.at[thread.index()] == 4 => Action::End,
            0 => Action::Lock { loc: Loc(0) },
            _ => Action::Unlock { loc: Loc(0) },
        }
    }

    fn modify(&mut self, _: ThreadId, _: Value) -> Effect {
        unreachable!("there are no updates")
    }

    fn answer(&mut self, thread: ThreadId, _: Value) {
        let at = &mut self.at[thread.index()];
        *at += 1;
        // After the lock: append the thread's number to the previous ones.
        if *at % 2 == 1 {
            self.count = self.count * 10 + 1 + thread.0;
        }
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        answers.fill(0);
        *self = Self {
            at: [0; 2],
            count: 0,
        };
    }
}

#[test]
fn plain_memory_follows_the_locks() {
    let mut counts = Vec::new();
    let mut visitor = |end: &mut End<'_, Counter>| {
        counts.push(end.program().count);
        ControlFlow::Continue(())
    };
    let program = Counter {
        at: [0; 2],
        count: 0,
    };
    visit(program, Memory::Rc11, &Limits::default(), &mut visitor);
    counts.sort();
    assert_eq!(counts, [1122, 1212, 1221, 2112, 2121, 2211]);
}

#[test]
fn limits_end_the_search() {
    let program = crate::programs::ainc(4, mazurka_memory::MemoryOrder::Relaxed);
    let limits = Limits {
        executions: Some(5),
        ..Limits::default()
    };
    let found = explore(program.clone(), Memory::Rc11, &limits);
    assert_eq!(found.counts.complete, 5);
    assert_eq!(found.bounds, [Bound::MaxExecutions(5)]);
    let limits = Limits {
        steps: Some(20),
        ..Limits::default()
    };
    let found = explore(program.clone(), Memory::Rc11, &limits);
    assert_eq!(found.bounds, [Bound::MaxSteps(20)]);
    let limits = Limits {
        depth: Some(3),
        executions: Some(7),
        ..Limits::default()
    };
    let random = Random::new(1);
    let found = sample(
        program.clone(),
        Memory::Rc11,
        &limits,
        random,
        &mut CountOnly,
    );
    assert_eq!(found.bounds, [Bound::MaxDepth(3), Bound::Sampled(7)]);
    let found = explore(program, Memory::Rc11, &limits);
    assert_eq!(found.bounds, [Bound::MaxDepth(3)]);
    assert!(!found.is_exhaustive() && found.counts.complete == 0);
}

/// A program that gives up after a number of answers, including those of repeated runs, and then
/// fails.
struct GivesUp {
    program: Litmus,
    answers_left: u32,
}

impl Program for GivesUp {
    fn initial_threads(&self) -> u32 {
        self.program.initial_threads()
    }

    fn initial_value(&self, loc: Loc) -> Value {
        self.program.initial_value(loc)
    }

    fn pending(&mut self, thread: ThreadId) -> Action {
        match self.answers_left {
            0 => Action::Fail(0),
            _ => self.program.pending(thread),
        }
    }

    fn modify(&mut self, thread: ThreadId, read: Value) -> Effect {
        match self.answers_left {
            0 => Effect::Keep,
            _ => self.program.modify(thread, read),
        }
    }

    fn answer(&mut self, thread: ThreadId, value: Value) {
        if self.answers_left > 0 {
            self.answers_left -= 1;
            self.program.answer(thread, value);
        }
    }

    fn gives_up(&self) -> Option<u32> {
        (self.answers_left == 0).then_some(7)
    }

    fn rewind(&mut self, answers: &mut [u32]) {
        answers.fill(0);
        self.program.rewind(answers);
    }

    fn differs(&mut self, _: ThreadId) {
        assert_eq!(self.answers_left, 0, "the program does the same again");
    }
}

#[test]
fn a_program_may_give_up_at_any_answer() {
    let mut gave_up = 0;
    for seed in 0..60 {
        let program = sketch(&mut Random::new(seed)).program();
        for answers_left in 1..200 {
            let program = GivesUp {
                program: program.clone(),
                answers_left,
            };
            let found = visit(program, Memory::Rc11, &Limits::default(), &mut CountOnly);
            if found.given_up.is_none() {
                break;
            }
            assert_eq!(found.given_up, Some(7), "seed {seed}");
            gave_up += 1;
        }
    }
    assert!(gave_up > 1000, "it gave up {gave_up} times");
}
