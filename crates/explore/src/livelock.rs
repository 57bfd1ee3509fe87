//! Livelocks: cycles that a program can follow for ever, though everybody gets a turn.
//!
//! A run that never ends is no fault of the program if the scheduler passes over somebody who could always
//! go on: only *weakly fair* runs count (Manna and Pnueli, *The Temporal Logic of Reactive and Concurrent
//! Systems*, 1992, "justice"). In a finite state graph there is one just if some
//! strong component with a step in it lets every process make a step inside or be not ready in some
//! state of it (Lichtenstein and Pnueli, POPL 1985): going round through all of it is fair, and in any
//! other component some process is always ready and never moves, whatever cycle is taken. The component
//! need not be a trap: two who give way to each other for ever could do otherwise.
//!
//! | paper | here |
//! |---|---|
//! | state graph | [`Graph`], made by [`Mapper`] |
//! | just component | [`fair_components`] |
//! | enabled(τ) | `ready`: the process has a step from the state |
//!
//! Deviations: the graph has every step, none left out by sleep sets, for it decides who is ready.
//! States with a halted process are not followed: a failure has been reported already, and
//! a run with a false `assume` does not count. The finding is a *lasso*: a shortest way into a fair
//! component and a cycle there that shows its fairness, made of shortest ways, so
//! short though not always shortest.

use hashbrown::HashTable;
use mazurka_core::{
    Bound, Fingerprint, Limits, ProcessId, Schedule, Semantics, Status, StopReason,
};
use smallvec::SmallVec;

use crate::driver::{Finding, Findings, Goal, Watch, explore};
use crate::graph::{Edge, Graph};
use crate::naive::next_outcomes;
use crate::{Choice, Policy};

/// Looks for a livelock and adds what it finds to the findings of a search that went
/// through all states.
pub(crate) fn find<E: Semantics>(
    program: &mut E,
    limits: &Limits,
    watch: &mut Watch<'_>,
    found: &mut Findings,
) {
    let left = Limits {
        steps: limits
            .steps
            .map(|most| most.saturating_sub(found.counts.steps)),
        time: limits.time.map(|most| most.saturating_sub(found.elapsed)),
        executions: None,
        ..limits.clone()
    };
    let mut mapper = Mapper::default();
    let mapped = explore(
        program,
        &mut mapper,
        &left,
        Goal::Everything,
        watch,
        &mut (),
    );
    found.counts.steps += mapped.counts.steps;
    found.elapsed += mapped.elapsed;
    if mapped.stopped != StopReason::Complete {
        // The bounds are those of the whole search.
        let whole = |bound: &Bound| match (bound, limits.steps, limits.time) {
            (Bound::MaxSteps(_), Some(most), _) => Bound::MaxSteps(most),
            (Bound::TimeLimit(_), _, Some(most)) => Bound::TimeLimit(most.as_millis() as u64),
            (other, ..) => *other,
        };
        found.bounds.extend(mapped.bounds.iter().map(whole));
        found.stopped = StopReason::Bound;
        return;
    }
    let Mapper { prints, edges, .. } = mapper;
    let graph = Graph::new(prints.len(), edges);
    if let Some(lasso) = lasso(&graph) {
        let schedule = schedule(program, &lasso, &prints);
        found.livelock = Some(Finding {
            mishap: None,
            schedule,
        });
    }
}

/// The schedule of a way through the graph from its first state.
fn schedule<E: Semantics>(program: &mut E, way: &[Edge], prints: &[Fingerprint]) -> Schedule {
    program.back_to(0);
    for (depth, edge) in way.iter().enumerate() {
        let mut outcomes = Some(SmallVec::new());
        while let Some(values) = outcomes {
            program.back_to(depth);
            match program.step(edge.process, &values) {
                Ok(event) => outcomes = next_outcomes(event),
                Err(error) => panic!("a step of the state graph cannot be made: {error}"),
            }
            if program.fingerprint() == prints[edge.to as usize] {
                break;
            }
        }
    }
    Schedule::of(program.events(), program.processes())
}

/// Writes down the whole state graph.
#[derive(Debug, Default)]
struct Mapper {
    numbers: HashTable<u32>,
    prints: Vec<Fingerprint>,
    edges: Vec<Edge>,
    nodes: Vec<Node>,
    todo: Vec<ProcessId>,
    known: bool,
}

#[derive(Debug)]
struct Node {
    state: u32,
    first: usize,
    next: usize,
    again: Option<SmallVec<[i64; 1]>>,
}

impl Mapper {
    /// The number of a state, and whether it has been met before.
    fn number(&mut self, print: Fingerprint) -> (u32, bool) {
        let Self {
            numbers, prints, ..
        } = self;
        let hash = |print: Fingerprint| print.bits() as u64;
        let is = |&number: &u32| prints[number as usize] == print;
        if let Some(&number) = numbers.find(hash(print), is) {
            return (number, true);
        }
        let number = prints.len() as u32;
        prints.push(print);
        numbers.insert_unique(hash(print), number, |&n| hash(prints[n as usize]));
        (number, false)
    }
}

impl<E: Semantics> Policy<E> for Mapper {
    const UNIQUE: bool = true;
    const MERGES: bool = true;

    fn enter(&mut self, program: &E) {
        let (state, known) = self.number(program.fingerprint());
        if let (Some(parent), Some(event)) = (self.nodes.last(), program.events().last()) {
            self.edges.push(Edge {
                from: parent.state,
                process: event.process,
                to: state,
            });
        }
        let first = self.todo.len();
        self.known = known;
        if !known {
            let mut halted = false;
            for &process in program.processes().in_order() {
                match program.status(process) {
                    Status::Ready => self.todo.push(process),
                    Status::Failed | Status::Discarded | Status::Lost => halted = true,
                    Status::Unborn | Status::Waiting | Status::Ended => {}
                }
            }
            if halted {
                self.todo.truncate(first);
            }
        }
        self.nodes.push(Node {
            state,
            first,
            next: first,
            again: None,
        });
    }

    fn next(&mut self, _program: &E) -> Option<Choice> {
        let node = self.nodes.last_mut()?;
        let outcomes = match node.again.take() {
            Some(outcomes) => outcomes,
            None => {
                node.next += 1;
                SmallVec::new()
            }
        };
        let process = *self.todo.get(node.next - 1)?;
        Some(Choice { process, outcomes })
    }

    fn leave(&mut self, program: &E) {
        if let Some(node) = self.nodes.pop() {
            self.todo.truncate(node.first);
        }
        if let (Some(node), Some(event)) = (self.nodes.last_mut(), program.events().last()) {
            node.again = next_outcomes(event);
        }
    }

    fn known(&self) -> bool {
        self.known
    }
}

/// Whether a process can make a step in a state.
fn ready(graph: &Graph, state: u32, process: ProcessId) -> bool {
    graph
        .steps(state)
        .iter()
        .any(|edge| edge.process == process)
}

/// What is known of one process in one component.
#[derive(Clone, Copy, Default)]
struct Turn {
    /// In how many states of the component it is ready.
    ready: u32,
    /// Whether it makes a step inside.
    steps: bool,
}

/// For each component whether a fair run can stay in it for ever.
fn fair_components(graph: &Graph, component: &[u32], components: u32) -> Vec<bool> {
    let mut size = vec![0u32; components as usize];
    let mut turns: Vec<SmallVec<[(ProcessId, Turn); 2]>> =
        vec![SmallVec::new(); components as usize];
    for state in 0..graph.len() as u32 {
        let here = component[state as usize];
        size[here as usize] += 1;
        let turns = &mut turns[here as usize];
        let mut last = None;
        for edge in graph.steps(state) {
            let at = turns.iter().position(|(p, _)| *p == edge.process);
            let at = at.unwrap_or_else(|| {
                turns.push((edge.process, Turn::default()));
                turns.len() - 1
            });
            let turn = &mut turns[at].1;
            // The steps of one process stand together.
            turn.ready += u32::from(last != Some(edge.process));
            turn.steps |= component[edge.to as usize] == here;
            last = Some(edge.process);
        }
    }
    let fair = |(turns, &size): (&SmallVec<[(ProcessId, Turn); 2]>, &u32)| {
        turns.iter().any(|(_, turn)| turn.steps)
            && turns
                .iter()
                .all(|(_, turn)| turn.steps || turn.ready < size)
    };
    turns.iter().zip(&size).map(fair).collect()
}

/// A way from the first state into a fair component, and round in it; none if there is none.
fn lasso(graph: &Graph) -> Option<Vec<Edge>> {
    let (component, components) = graph.components();
    let fair = fair_components(graph, &component, components);
    let is_fair = |state: u32| fair[component[state as usize] as usize];
    if !fair.contains(&true) {
        return None;
    }
    let prefix = graph.way(0, |_| true, is_fair, |_| false)?;
    let start = prefix.last().map_or(0, |edge| edge.to);
    let home = component[start as usize];
    let inside = |edge: &Edge| component[edge.to as usize] == home;

    // Who has had no turn yet: ready in every state so far, and has made no step.
    let mut waiting: Vec<ProcessId> = graph.steps(start).iter().map(|e| e.process).collect();
    let mut lasso = prefix;
    let mut here = start;
    while !waiting.is_empty() {
        let turn_in = |state: u32| waiting.iter().any(|&p| !ready(graph, state, p));
        let turn = |edge: &Edge| waiting.contains(&edge.process);
        let way = graph.way(here, inside, turn_in, turn)?;
        for edge in way {
            waiting.retain(|&p| p != edge.process && ready(graph, edge.to, p));
            here = edge.to;
            lasso.push(edge);
        }
    }
    lasso.extend(graph.way(here, inside, |state| state == start, |_| false)?);
    Some(lasso)
}
