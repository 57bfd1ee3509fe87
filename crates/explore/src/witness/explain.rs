//! Explains a violation by orders of steps.
//!
//! A step is named by its process and its index among the steps of that process. Take a run that
//! shows a violation, and pairs a < b of its steps, where a and b belong to different processes.
//! The explanation is a smallest set C of such pairs with two properties: some complete run has
//! these steps in these orders, and every such run shows the violation. Runs that an `assume`
//! discards do not count. So a failure has no explanation if all runs that show it are discarded,
//! although a failure that does not depend on the `assume` counts elsewhere.
//!
//! Runs need not be examined one by one. Whether a run shows a violation depends on its trace T,
//! and some run of T has the orders of C exactly if T has all the steps and C ∪ →T has no cycle. So
//! C is an explanation if it contradicts every trace without the violation, but not every trace
//! with it. A smallest C is a smallest hitting set of the traces without the violation. Either a
//! single pair contradicts such a trace (a step is missing, or b →T a), or several pairs do by a
//! cycle.
//!
//! A step that occurs only in traces with the violation would be an explanation by itself, but not
//! a useful one. Such steps are used only if the other steps are not enough.

use std::time::Duration;

use mazurka_core::record::Ending;
use mazurka_core::{
    Event, Execution, HappensBefore, Limits, Mishap, MishapKind, ProcessId, Semantics, StopReason,
    ending,
};
use rustc_hash::FxHashMap;

use crate::drive::driver::{Goal, Observer, Watch};
use crate::drive::search::Search;
use crate::{Algorithm, past_is_discarded};

/// Limits on the search for all traces, because evidence must be shown without delay.
const MOST_STEPS: u64 = 20_000;
const MOST_TRACES: u64 = 1_500;
const MOST_TIME: Duration = Duration::from_millis(250);
/// If a run is longer, the search is incomplete and explains nothing.
const MOST_STEPS_OF_A_RUN: u64 = 1_000;

/// Limit on the number of steps of the run that are considered.
const MOST_EVENTS: usize = 24;

/// Limit on the number of sets of pairs that are tried.
const MOST_SETS: u64 = 300_000;

/// The violation that a run shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownViolation {
    /// A failure at this site.
    Failure(u32),
    /// A deadlock.
    Deadlock,
}

impl ShownViolation {
    /// Whether the current run, which is complete, shows the violation.
    pub fn by<E: Execution>(self, program: &E) -> bool {
        match self {
            ShownViolation::Deadlock => ending(program) == Ending::Deadlock,
            ShownViolation::Failure(site) => {
                let fails =
                    |mishap: &Mishap| mishap.kind == MishapKind::Failure && mishap.site == site;
                let events = program.events().iter().enumerate();
                let mut failed = events.filter(|(_, event)| event.mishaps.iter().any(fails));
                failed.any(|(at, _)| !past_is_discarded(program, at))
                    || ending(program) == Ending::Final && program.final_mishaps().iter().any(fails)
            }
        }
    }
}

/// A set of orders that explains a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Pairs of positions in the run: the first comes before the second.
    pub orders: Vec<[usize; 2]>,
    /// Number of traces of the program.
    pub traces: u64,
    /// Number of traces that show the violation.
    pub shown: u64,
}

/// A step: its process, and its index, from 1, among the steps of that process.
type StepName = (ProcessId, u32);

/// Returns the names of the steps of a run, in order.
fn names(run: &[Event]) -> Vec<StepName> {
    let mut made: FxHashMap<ProcessId, u32> = FxHashMap::default();
    let name = |event: &Event| {
        let number = made.entry(event.process).or_default();
        *number += 1;
        (event.process, *number)
    };
    run.iter().map(name).collect()
}

/// A trace of the program, restricted to the steps of the run that is explained.
struct Trace {
    /// For each step of the run, whether the trace has it.
    has: Vec<bool>,
    /// For n steps, at index `to * n + from`: whether step `from` is step `to`, or happens before
    /// it in the trace.
    reaches: Vec<bool>,
}

struct Traces<'a> {
    wanted: ShownViolation,
    steps: &'a [StepName],
    /// The traces without the violation.
    opposed: Vec<Trace>,
    /// The traces that show the violation.
    showing: Vec<Trace>,
}

impl<E: Execution> Observer<E> for Traces<'_> {
    fn start(&mut self, _: &E) {
        self.opposed.clear();
        self.showing.clear();
    }

    fn complete(&mut self, program: &E) {
        // Discarded runs do not count, even if a failure in them counts.
        if matches!(ending(program), Ending::Discarded | Ending::Lost) {
            return;
        }
        let run = program.events();
        let order = HappensBefore::new(run);
        let all = names(run);
        let at: FxHashMap<StepName, usize> = all
            .iter()
            .enumerate()
            .map(|(at, &name)| (name, at))
            .collect();
        let places: Vec<Option<usize>> = self
            .steps
            .iter()
            .map(|name| at.get(name).copied())
            .collect();
        let mut reaches = Vec::with_capacity(places.len() * places.len());
        for to in &places {
            for from in &places {
                reaches.push(match (from, to) {
                    (Some(from), Some(to)) => from == to || order.before(*from, *to),
                    _ => false,
                });
            }
        }
        let trace = Trace {
            has: places.iter().map(Option::is_some).collect(),
            reaches,
        };
        if self.wanted.by(program) {
            self.showing.push(trace)
        } else {
            self.opposed.push(trace)
        }
    }
}

impl Traces<'_> {
    /// Whether all runs that have the steps in these orders show the violation, and at least one
    /// such run exists.
    fn explained_by(&self, orders: &[[usize; 2]]) -> bool {
        let mut showing = self.showing.iter();
        self.opposed.iter().all(|trace| trace.contradicts(orders))
            && showing.any(|trace| !trace.contradicts(orders))
    }
}

impl Trace {
    /// Whether `from` is `to`, or happens before it in this trace.
    fn reaches(&self, from: usize, to: usize) -> bool {
        self.reaches[to * self.has.len() + from]
    }

    /// Whether no run of this trace has the steps in these orders: a step is missing, or the orders
    /// form a cycle with those of the trace. There are at most three orders.
    fn contradicts(&self, orders: &[[usize; 2]]) -> bool {
        if orders.iter().flatten().any(|&step| !self.has[step]) {
            return true;
        }
        let leads = |one: usize, two: usize| self.reaches(orders[one][1], orders[two][0]);
        let all = 0..orders.len();
        let cycle = |one: usize, two: usize, three: usize| {
            leads(one, two) && leads(two, three) && leads(three, one)
        };
        all.clone().any(|one| leads(one, one))
            || all.clone().any(|one| {
                let mut rest = one + 1..orders.len();
                rest.any(|two| leads(one, two) && leads(two, one))
            })
            || orders.len() == 3 && (cycle(0, 1, 2) || cycle(0, 2, 1))
    }
}

/// Returns a smallest set of orders of steps of the current run that explains a violation. Looks
/// only for sets of at most three orders, within a small budget; returns `None` if it finds none.
pub fn explain<E: Semantics>(
    program: &mut E,
    wanted: ShownViolation,
    watch: &mut Watch<'_>,
) -> Option<Explained> {
    let run = program.events().to_vec();
    if run.len() > MOST_EVENTS {
        return None;
    }
    let (steps, order) = (names(&run), HappensBefore::new(&run));
    let mut traces = Traces {
        wanted,
        steps: &steps,
        opposed: Vec::new(),
        showing: Vec::new(),
    };
    let search = Search {
        algorithm: Algorithm::Optimal,
        limits: Limits {
            depth: Some(MOST_STEPS_OF_A_RUN),
            steps: Some(MOST_STEPS),
            executions: Some(MOST_TRACES),
            time: Some(MOST_TIME),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let found = search.run(program, watch, &mut traces);
    if found.stopped != StopReason::Complete || !found.bounds.is_empty() {
        return None;
    }
    let mut orders = smallest(&traces, &order)?;
    orders.sort_unstable();
    let shown = traces.showing.len() as u64;
    Some(Explained {
        orders,
        traces: shown + traces.opposed.len() as u64,
        shown,
    })
}

/// Returns the smallest set of pairs that explains the violation.
fn smallest(traces: &Traces<'_>, order: &HappensBefore) -> Option<Vec<[usize; 2]>> {
    if traces.showing.is_empty() {
        return None;
    }
    if traces.opposed.is_empty() {
        return Some(Vec::new());
    }
    let steps = traces.steps;
    let common = |step: &usize| traces.opposed.iter().any(|trace| trace.has[*step]);
    let shared: Vec<usize> = (0..steps.len()).filter(common).collect();
    let all: Vec<usize> = (0..steps.len()).collect();
    [shared, all].iter().find_map(|used| {
        let mut pairs = Vec::new();
        for (at, &first) in used.iter().enumerate() {
            let later = used[at + 1..].iter();
            let later = later.filter(|&&second| steps[first].0 != steps[second].0);
            pairs.extend(later.map(|&second| [first, second]));
        }
        // Prefer steps that are close together and orders of dependent steps, because readers
        // understand these most easily.
        pairs.sort_by_key(|[first, second]| (second - first, *first));
        let depend = |pair: &&[usize; 2]| order.before(pair[0], pair[1]);
        let dependent: Vec<[usize; 2]> = pairs.iter().filter(depend).copied().collect();
        let mut left = MOST_SETS;
        (1..=3).find_map(|size| {
            let mut chosen = Vec::new();
            let mut state = (&mut chosen, &mut left);
            let found = search(&dependent, size, traces, &mut state);
            found.or_else(|| search(&pairs, size, traces, &mut state))
        })
    })
}

/// Looks for a set that explains the violation: the pairs chosen so far and `size` of `pairs`.
/// `state` has the chosen pairs, and the number of sets that may still be tried.
fn search(
    pairs: &[[usize; 2]],
    size: usize,
    traces: &Traces<'_>,
    state: &mut (&mut Vec<[usize; 2]>, &mut u64),
) -> Option<Vec<[usize; 2]>> {
    if size == 0 {
        *state.1 = state.1.checked_sub(1)?;
        return traces.explained_by(state.0).then(|| state.0.clone());
    }
    for (at, &pair) in pairs.iter().enumerate() {
        if *state.1 == 0 {
            return None;
        }
        state.0.push(pair);
        let found = search(&pairs[at + 1..], size - 1, traces, state);
        state.0.pop();
        if found.is_some() {
            return found;
        }
    }
    None
}
