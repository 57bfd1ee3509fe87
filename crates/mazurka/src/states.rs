//! The graph of the states of a program, for a picture.

use mazurka_core::record::{Ending, GraphEdge, GraphState, Leaf, Record, StateGraph};
use mazurka_core::{MishapKind, Narrator, Schedule, Semantics, Status, ending, names_with};
use mazurka_explore::{Merging, NearestStates};

use crate::evidence::retell;
use crate::front::{Front, on_front};
use crate::search::everything;
use crate::tree::named;
use crate::{Algorithm, Options, Program, Watch};

/// Limit on the states of a picture.
const MOST_STATES: usize = 200;

impl Program {
    /// Explores like [`explore`](Program::explore) with [`Algorithm::Stateful`], and also returns
    /// the graph of the states. If there are many, the graph has the 200 states that are nearest to
    /// the initial one.
    ///
    /// ```
    /// use mazurka::{Options, Program, quietly};
    ///
    /// let source = "var x: int = 0  process { x := 1 }  process { x := 1 }";
    /// let program = Program::load("same.maz", source, &[]).unwrap();
    /// let (record, graph) = program.explore_states(&Options::default(), &mut quietly());
    /// assert_eq!(record.counts.states, Some(4));
    /// assert_eq!((graph.states.len(), graph.edges.len()), (4, 4));
    /// ```
    pub fn explore_states(&self, options: &Options, watch: &mut Watch<'_>) -> (Record, StateGraph) {
        on_front!(self.language, front => self.explore_states_on(front, options, watch))
    }

    fn explore_states_on<F: Front>(
        &self,
        front: &F,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> (Record, StateGraph) {
        let mut machine = front.machine(options);
        // A picture shows all states, so no reduction is used.
        let algorithm = Algorithm::StatefulAs(Merging {
            reduced: false,
            symmetric: false,
            ..Merging::default()
        });
        let found = everything(algorithm, options).run(&mut machine, watch, &mut ());
        let near = NearestStates::find(&mut machine, MOST_STATES, options.limits.depth);
        let states = (0..near.states.len()).map(|at| state(&mut machine, &near, at));
        let states = states.collect();
        let edges = (0..near.edges.len()).map(|at| edge(&mut machine, &near, at));
        let edges = edges.collect();
        let mut record = self.explored(algorithm, options, &mut machine, &found);
        record.add_bounds(self.leaves_out(options));
        (record, StateGraph { states, edges })
    }
}

/// Returns a state with its description.
fn state<M: Narrator + Semantics>(machine: &mut M, near: &NearestStates, at: usize) -> GraphState {
    let run = retell(machine, &near.schedule(at)).run;
    let has = |status| !names_with(machine, status).is_empty();
    let mut mishaps = match (at, ending(machine)) {
        (0, _) => machine.initial_mishaps().to_vec(),
        _ => Vec::new(),
    };
    if ending(machine) == Ending::Final {
        mishaps.extend(machine.final_mishaps());
    }
    mishaps.retain(|mishap| mishap.kind == MishapKind::Failure);
    let mark = match ending(machine) {
        _ if !mishaps.is_empty() || has(Status::Failed) => Some(Leaf::Failure),
        _ if has(Status::Discarded) => Some(Leaf::Discarded),
        _ if has(Status::Lost) => Some(Leaf::Cut),
        Ending::Deadlock => Some(Leaf::Deadlock),
        Ending::Final => Some(Leaf::Final),
        _ => None,
    };
    GraphState {
        depth: near.states[at].depth,
        state: run.state,
        mark,
        cut: near.states[at].cut,
        mishap: mishaps.first().map(|mishap| machine.explain(mishap).0),
    }
}

/// Returns a step with its description.
fn edge<M: Narrator>(machine: &mut M, near: &NearestStates, at: usize) -> GraphEdge {
    let edge = &near.edges[at];
    let Schedule(mut steps) = near.schedule(edge.from);
    steps.push(edge.step.clone());
    let run = retell(machine, &Schedule(steps)).run;
    let last = run.steps.last();
    GraphEdge {
        from: edge.from,
        to: edge.to,
        process: last.map_or(String::new(), |step| named(&run, step)),
        label: last.map_or(String::new(), |step| step.label.clone()),
        mishap: last.and_then(|step| step.mishap.clone()),
    }
}
