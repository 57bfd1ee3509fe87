//! Partial order sampling (POS): priorities of steps, drawn again where steps conflict.
//!
//! Yuan, Yang, Gu, "Partial order aware concurrency sampling", CAV 2018. Each possible step gets a
//! random priority, and the step with the highest priority is made. The steps that conflict with it
//! then get new priorities. So the order of two conflicting steps is drawn independently of earlier
//! priorities. Steps that conflict with no other step have no influence on these orders.
//!
//! | paper | here |
//! |---|---|
//! | e ∈ enabled(s) | the next step of a ready process |
//! | pri | `of`; 0: to be drawn |
//! | racing events R(e) | the ready processes whose claims conflict with those of e |
//! | U(0, 1) | 64 random bits |
//!
//! Where it deviates:
//!
//! - Two steps race if their *claims* conflict; the claims of a step include everything that some
//!   path through it might touch. So a priority may be drawn again where the paper would keep it.
//!   This changes the probabilities of traces, but excludes no trace.
//! - A step that waits has no priority. It gets one when it becomes possible, like a step that has
//!   not been possible before. If one step disables another, the two conflict, so the disabled step
//!   would have lost its priority anyway.
//! - The paper does not have `choose`; its outcomes are drawn evenly.
//!
//! Every trace can be drawn: in every state each order of the priorities has a positive
//! probability. The walks are independent: no walk learns from another.

use mazurka_core::{Claims, Execution, ProcessId, Random};

use super::sample::Picker;

/// The ready process whose next step has the highest priority.
#[derive(Clone, Debug, Default)]
pub struct StepPriorities {
    /// The priority of the next step of each process; 0 if it must be drawn.
    of: Vec<u64>,
    chosen: Claims,
    other: Claims,
}

impl<E: Execution> Picker<E> for StepPriorities {
    fn begin(&mut self, _random: &mut Random) {
        self.of.clear();
    }

    fn pick(&mut self, ready: &[ProcessId], program: &E, random: &mut Random) -> ProcessId {
        for process in ready {
            if self.of.len() <= process.index() {
                self.of.resize(process.index() + 1, 0);
            }
            let priority = &mut self.of[process.index()];
            if *priority == 0 {
                *priority = random.next().max(1);
            }
        }
        let first = ready.iter().max_by_key(|process| self.of[process.index()]);
        let first = *first.expect("a process is ready");
        self.of[first.index()] = 0;
        program.claims(first, &mut self.chosen);
        for &process in ready {
            if process == first {
                continue;
            }
            program.claims(process, &mut self.other);
            let races = |claim| self.chosen.iter().any(|made| made.conflicts(claim));
            if self.other.iter().any(|&claim| races(claim)) {
                self.of[process.index()] = 0;
            }
        }
        first
    }
}
