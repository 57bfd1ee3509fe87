//! Context-sensitive DPOR exactly as printed, which loses final states: errata E1.
//!
//! Albert, Arenas, García de la Banda, Gómez-Zamalloa, Stuckey: *Context-Sensitive Dynamic
//! Partial Order Reduction*, section 5, Algorithm 1.
//!
//! | paper | here |
//! |---|---|
//! | E | the program's events, [`Order`] |
//! | backtrack(E), sleep(E) | [`Node::backtrack`], [`Node::sleep`] (of sequences) |
//! | v, u | `v`, `u` in [`Context::races`] |
//! | E ⊨ p ♦ v | [`Context::independent`] |
//!
//! Deviations: none, and that is the point. Lines 11–14 are outside the `if` of line 9,
//! as Example 1 needs. Made for programs that neither wait, choose nor spawn.

use mazurka_core::{Fingerprint, ProcessId, Semantics};

use super::races::Order;
use crate::brute::ready;
use crate::record::{Dependence, Recorder, Summary};

/// Explores a program without guards, locks, `choose` and `spawn`; loses final states.
pub fn context<E: Semantics>(program: &mut E) -> Summary {
    program.back_to(0);
    let recorder = Recorder::new(program, Dependence::Claimed);
    let mut context = Context {
        program,
        recorder,
        order: Order::default(),
        nodes: Vec::new(),
    };
    context.explore(Vec::new());
    context.recorder.finish()
}

#[derive(Default)]
struct Node {
    backtrack: Vec<ProcessId>,
    sleep: Vec<Vec<ProcessId>>,
}

impl Node {
    fn asleep(&self, process: ProcessId) -> bool {
        self.sleep.iter().any(|sequence| sequence[..] == [process])
    }
}

struct Context<'a, E> {
    program: &'a mut E,
    recorder: Recorder,
    order: Order,
    nodes: Vec<Node>,
}

impl<E: Semantics> Context<'_, E> {
    fn explore(&mut self, sleep: Vec<Vec<ProcessId>>) {
        let depth = self.nodes.len();
        self.nodes.push(Node {
            backtrack: Vec::new(),
            sleep,
        });
        let enabled = ready(self.program);
        if let Some(&first) = enabled.iter().find(|&&p| !self.nodes[depth].asleep(p)) {
            self.nodes[depth].backtrack.push(first);
            while let Some(process) = self.next(depth) {
                let sleep = self.sleep_after(process);
                self.advance(process);
                self.recorder.push(self.program);
                self.races(depth);
                self.explore(sleep);
                self.recorder.pop();
                self.order.pop();
                self.program.back_to(depth);
                self.nodes[depth].sleep.push(vec![process]);
            }
        } else if enabled.is_empty() {
            self.recorder.complete(self.program);
        } else {
            self.recorder.blocked();
        }
        self.nodes.pop();
    }

    fn next(&self, depth: usize) -> Option<ProcessId> {
        let node = &self.nodes[depth];
        node.backtrack.iter().copied().find(|&p| !node.asleep(p))
    }

    /// Makes a step; false if it cannot be made.
    fn advance(&mut self, process: ProcessId) -> bool {
        match self.program.step(process, &[]) {
            Ok(event) => {
                self.order.push(event.clone());
                true
            }
            Err(_) => false,
        }
    }

    /// Lines 6 to 14, for the last event.
    fn races(&mut self, at: usize) {
        let state = self.program.fingerprint();
        for e in 0..at {
            if !self.order.concurrent(e, at) || !self.order.adjacent(e, at) {
                continue;
            }
            let v = self.order.not_dependent(e, at);
            let initials = self.order.initials(&v);
            let node = &mut self.nodes[e];
            if !initials.iter().any(|p| node.backtrack.contains(p)) {
                node.backtrack.extend(initials.first());
            }
            let u = self.order.dependent_on(e, at);
            let process = |&k: &usize| self.order.event(k).process;
            let reversed: Vec<ProcessId> = v.iter().chain(&u).map(process).collect();
            let known = node.sleep.iter().any(|w| reversed.starts_with(w));
            if !known && self.state_after(e, &reversed) == Some(state) {
                self.nodes[e].sleep.push(reversed);
            }
        }
    }

    /// The state after a prefix of the run and then a sequence; the run is restored.
    fn state_after(&mut self, prefix: usize, sequence: &[ProcessId]) -> Option<Fingerprint> {
        let end = self.order.len();
        self.program.back_to(prefix);
        let possible = sequence.iter().all(|&p| self.program.step(p, &[]).is_ok());
        let state = possible.then(|| self.program.fingerprint());
        self.program.back_to(prefix);
        for at in prefix..end {
            let process = self.order.event(at).process;
            let again = self.program.step(process, &[]);
            assert!(again.is_ok(), "an executed step cannot be repeated");
        }
        state
    }

    /// Lines 15 and 16.
    fn sleep_after(&mut self, process: ProcessId) -> Vec<Vec<ProcessId>> {
        let sleep = self
            .nodes
            .last()
            .map(|node| node.sleep.clone())
            .unwrap_or_default();
        let mut after = Vec::new();
        for sequence in sleep {
            match sequence.split_first() {
                Some((&first, rest)) if first == process && !rest.is_empty() => {
                    after.push(rest.to_vec());
                }
                _ if self.independent(process, &sequence) => after.push(sequence),
                _ => {}
            }
        }
        after
    }

    /// Whether the next step of a process happens before nothing in the sequence after it.
    fn independent(&mut self, process: ProcessId, sequence: &[ProcessId]) -> bool {
        let depth = self.order.len();
        let mut independent = self.advance(process);
        for &next in sequence {
            independent = independent && self.advance(next);
        }
        independent &= !(depth + 1..self.order.len()).any(|k| self.order.before(depth, k));
        while self.order.len() > depth {
            self.order.pop();
        }
        self.program.back_to(depth);
        independent
    }
}
