//! DPOR with sleep sets: from each state a persistent set of processes is run, found as races show up.
//!
//! Flanagan, Godefroid, "Dynamic Partial-Order Reduction for Model Checking Software", POPL 2005, section 4, Figure 3;
//! section 2.4 of the thesis paper, Figures 2.5 and 2.6, with its sleep sets.
//!
//! | paper | here |
//! |---|---|
//! | S, pre(S, i) | the current execution, [`Order`]; the node with the number i of [`Path`] |
//! | next(s, p) | what `program.claims` tells of p |
//! | i →_S p | i is in `order.program_past` of p |
//! | i = max { i : S_i is dependent and may be co-enabled with next(s, p), i ↛_S p } | [`last_race`] |
//! | E = { q ∈ enabled(pre(S, i)) : q = p, or j > i, q = proc(S_j), j →_S p } | p, or the initials among the others |
//! | backtrack(s), done | the candidates of a state with `Mark::Wanted`, with `Mark::Taken` |
//! | Sleep(s) | those with `Mark::Taken` (of which the one being run is none) and `Mark::Asleep` |
//!
//! Where it deviates:
//! - Only the process that made the last step, one that it started and those whose next steps conflict with it are looked
//!   at in a state: for the others the paper finds what it found in the state before.
//! - *Who is added* (errata E11): the paper may take any q of E. We take p where p is ready and awake. If
//!   p sleeps, nothing that is run from the state need show the steps that p's own depends on, and the trace that reverses the race
//!   may be lost. Then one of the initials of the steps from i on that happen before p's is added, unless one
//!   is there or sleeps itself: what starts with a sleeping initial has been explored. With E11's more careful
//!   rule (all other initials) nothing more was found, only more blocked runs.
//! - *Locks*: two acquisitions of a lock may be co-enabled, an acquisition and a release never. So an acquisition, also one that
//!   has to wait, races with the acquisition before it.
//! - *Guards* (errata E3): a guarded step races with every event that conflicts with it and is not in its program past, for it may have
//!   been open long before the last of them; there all ready processes are run.
//! - *Outcomes* of `choose`: a process is run with all of them, and sleeps as a whole.

use mazurka_core::{Claims, Event, Execution, ProcessId, Status, Wait};

use crate::catalogue::conflict;
use crate::driver::{Choice, Policy};
use crate::order::Order;
use crate::path::{Mark, Path};
use crate::set::{Set, for_each};

/// The policy.
#[derive(Debug)]
pub(crate) struct Dpor<S> {
    order: Order<S>,
    path: Path,
    overflow: bool,
}

impl<S: Set> Dpor<S> {
    pub fn new() -> Self {
        Self {
            order: Order::new(),
            path: Path::new(),
            overflow: false,
        }
    }

    /// Looks at the next steps of all processes, as far as the last event matters to them.
    fn next_steps(&mut self, program: &impl Execution, event: &Event) {
        let mut claims = Claims::new();
        for &process in program.processes().in_order() {
            if !matches!(program.status(process), Status::Ready | Status::Waiting) {
                continue;
            }
            program.claims(process, &mut claims);
            let new = process == event.process || event.spawned.contains(&process);
            if !new && !conflict(&claims, &event.claims) {
                continue;
            }
            let Self { order, path, .. } = self;
            let wait = program.wait(process);
            if wait == Wait::Guard {
                order.for_each_rival(process, &claims, |at| path.want_all(at));
            } else if let Some(last) = last_race(order, process, &claims, wait) {
                self.reverse(last, process);
            }
        }
    }

    /// Makes sure that the next step of a process is also tried before an event that it races with.
    fn reverse(&mut self, last: usize, process: ProcessId) {
        let Self { order, path, .. } = self;
        match path.mark(last, process) {
            Some(Mark::Idle) => path.want(last, process),
            Some(Mark::Wanted | Mark::Taken) => {}
            Some(Mark::Asleep) | None => {
                let mut between = S::default();
                for_each(&order.program_past(process, &[]), |at| {
                    if at > last {
                        between.insert(at);
                    }
                });
                path.want_one_of(last, |candidate| {
                    let events = order.of_process.get(candidate.index());
                    match events.and_then(|events| events.lowest_common(&between)) {
                        Some(first) => !order.before[first].meets(&between),
                        None => candidate == process && between.is_empty(),
                    }
                });
            }
        }
    }
}

/// The last event that the next step of a process could have come before.
fn last_race<S: Set>(
    order: &mut Order<S>,
    process: ProcessId,
    claims: &Claims,
    wait: Wait,
) -> Option<usize> {
    if wait == Wait::Lock {
        order.push_virtual(process, claims);
        let last = order.races[order.len() - 1].highest();
        order.pop_virtual(claims);
        return last;
    }
    let mut rivals = order.conflicting(claims);
    rivals.remove_all(&order.program_past(process, &[]));
    rivals.highest()
}

impl<E: Execution, S: Set> Policy<E> for Dpor<S> {
    const UNIQUE: bool = true;

    fn enter(&mut self, program: &E) {
        if let Some(event) = program.events().last() {
            // One more for a step that is not made.
            self.overflow |= program.events().len() + 1 >= S::CAPACITY;
            if self.overflow {
                return;
            }
            self.order.push(event);
            self.next_steps(program, event);
        }
        self.path.enter(program);
    }

    fn next(&mut self, _program: &E) -> Option<Choice> {
        if self.overflow {
            return None;
        }
        self.path.next()
    }

    fn leave(&mut self, program: &E) {
        if let Some(event) = program.events().last().filter(|_| !self.overflow) {
            self.path.leave(event);
            self.order.pop(event);
        }
    }

    fn overflowed(&self) -> bool {
        self.overflow
    }
}
