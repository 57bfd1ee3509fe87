//! An example of a search algorithm that is not part of Mazurka: delay-bounded scheduling.
//!
//! Emmi, Qadeer, Rakamarić, "Delay-bounded scheduling", POPL 2011. The processes run one after the
//! other, each as far as it can. A *delay* skips the process whose turn it is. The search explores
//! all schedules with at most `delays` delays. There are few of them, and authors of programs often
//! overlook them.
//!
//! `cargo run -p mazurka --example own_policy`

use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::{Bound, Execution, Limits, ProcessId, Status};
use mazurka_explore::{Engine, Findings, Goal, Policy, Search, Session};
use mazurka_lang::Machine;

/// The algorithm, as it is named in a request.
pub struct DelayBounded {
    /// The greatest number of delays.
    pub delays: usize,
}

/// An algorithm is an `Engine` for the programs that it can explore; this one can explore all
/// programs.
impl<E: Execution> Engine<E> for DelayBounded {
    type Found = Findings;

    fn search(&self, mut session: Session<'_, '_, E>) -> Findings {
        session.explore(&mut Delaying {
            most: self.delays,
            path: Vec::new(),
        })
    }
}

/// The policy: the processes that remain to be tried in each state of the current run.
struct Delaying {
    most: usize,
    path: Vec<State>,
}

struct State {
    /// The ready processes, beginning with the one whose turn it is.
    turns: Vec<ProcessId>,
    /// The number of these processes that have been run from here.
    tried: usize,
    /// The number of delays in the run to this state.
    spent: usize,
}

impl<E: Execution> Policy<E> for Delaying {
    // Two schedules may be equivalent, and some traces are never met.
    const UNIQUE: bool = false;
    const EVERY_TRACE: bool = false;

    /// Adds a new state: the process that ran last comes first, then those after it, in a circle.
    fn enter(&mut self, program: &E) {
        let mut turns = program.processes().in_order().to_vec();
        let last = program.events().last().map(|event| event.process);
        if let Some(at) = turns.iter().position(|&process| Some(process) == last) {
            turns.rotate_left(at);
        }
        turns.retain(|&process| program.status(process) == Status::Ready);
        // The step to this state was that of the `tried`-th process of the previous state, which
        // cost `tried - 1` delays.
        let spent = self
            .path
            .last()
            .map_or(0, |state| state.spent + state.tried - 1);
        self.path.push(State {
            turns,
            tried: 0,
            spent,
        });
    }

    /// Returns the next process to run from the last state. The k-th process costs k delays.
    fn next(&mut self, _program: &E, _outcomes: &mut Vec<i64>) -> Option<ProcessId> {
        let state = self.path.last_mut()?;
        let process = *state.turns.get(state.tried)?;
        if state.spent + state.tried > self.most {
            return None;
        }
        state.tried += 1;
        Some(process)
    }

    fn leave(&mut self, _program: &E) {
        self.path.pop();
    }
}

/// Explores a `.maz` program with at most `delays` delays.
pub fn explore(text: &str, delays: usize) -> Findings {
    let checked = mazurka_lang::load(text, &[]).expect("a right program");
    let code = mazurka_lang::compile(&checked, text).expect("a right program");
    let mut machine = Machine::new(Arc::new(code), Limits::default().local);
    let search = Search {
        algorithm: DelayBounded { delays },
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    let watch = &mut |_: &_| ControlFlow::<Bound>::Continue(());
    search.run(&mut machine, watch, &mut ())
}

/// Three processes, each of which adds one in two steps.
pub const COUNTER: &str = "
    atomicity access
    var x: int = 0
    ensures all_counted: x == 3
    process (p in 0..3) { x := x + 1 }
";

fn main() {
    for delays in 0..4 {
        let found = explore(COUNTER, delays);
        println!(
            "{delays} delays: {} executions, {} final states, {} failures",
            found.counts.executions, found.counts.final_states, found.counts.failures
        );
    }
}
