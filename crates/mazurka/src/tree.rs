//! `explore` as a tree: records the states and steps of a search, and the races for which the
//! search has gone back, for a picture or a folding list.

use std::ops::ControlFlow;

use mazurka_core::record::{Binding, Ending, Leaf, Record, Run, Step, Tree, TreeNode, TreeRace};
use mazurka_core::{
    Bound, Event, Execution, MishapKind, Narrator, Patience, Schedule, ScheduledStep, Semantics,
    dependent, ending,
};
use mazurka_explore::{Findings, Observer, Progress};
use mazurka_lang::{LastStep, Machine, SymbolicMachine};

use crate::front::{Front, on_front};
use crate::search::everything;
use crate::unfold::label_for_inputs;
use crate::unknowns::{ForAll, follow};
use crate::{Algorithm, Options, Program, Refused, Watch};

/// Limit on the states of a picture.
const MOST_NODES: u64 = 500;
/// Limit on the states of a list.
const MOST_LISTED: u64 = 200_000;
/// Limit on the number of steps that are described for a list; further steps have no text.
const MOST_TOLD: usize = 2_000_000;

/// A tree that is too large to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the exploration has {} {nodes} states, and a picture shows at most {MOST_NODES}; make the program smaller (--set), \
     or choose an --algorithm that explores less; --format text counts what there is", if *.complete { "" } else { "at least" }
)]
pub struct TreeTooLarge {
    /// Number of states that the search has visited.
    pub nodes: u64,
    /// Whether these are all states.
    pub complete: bool,
}

impl Program {
    /// Explores like [`explore`](Program::explore), and also returns the tree of the exploration.
    pub fn explore_tree(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Tree), Refused> {
        if let Some(program) = self.language.for_all() {
            return self.explore_tree_for_all(program, algorithm, options, watch);
        }
        let drawn = on_front!(self.language, front => {
            self.explore_tree_on(front, (algorithm, MOST_NODES), options, watch)
        });
        Ok(drawn?)
    }

    /// Returns the tree for a folding list. This tree may be larger than that of a picture, and its
    /// states have no values. For programs with unknown values, the limit of a picture applies.
    pub fn explore_outline(
        &self,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Tree), Refused> {
        if self.language.for_all().is_some() {
            return self.explore_tree(algorithm, options, watch);
        }
        let listed = on_front!(self.language, front => {
            self.explore_tree_on(front, (algorithm, MOST_LISTED), options, watch)
        });
        Ok(listed?)
    }

    /// Returns the tree for all inputs. For `naive`, a condition over inputs is a separate node, as
    /// the thesis draws it; for other engines it belongs to the step that decides it.
    fn explore_tree_for_all(
        &self,
        program: &ForAll,
        algorithm: Algorithm,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Tree), Refused> {
        let record = self.explore(algorithm, options, watch)?;
        let options = &options.started();
        let mut machine = program.split(options, Patience::default())?;
        if algorithm == Algorithm::Naive {
            machine = machine.with_branches_apart();
        }
        let (growing, _) = grown(&mut machine, algorithm, MOST_NODES, options, watch)?;
        let depth = options.limits.depth() as usize;
        let names = program.machine(options);
        let tree = growing.tree(depth, |at| {
            state_text_for_inputs(&mut machine, &names, &growing.schedule(at), options)
        });
        Ok((record, tree))
    }

    fn explore_tree_on<F: Front>(
        &self,
        front: &F,
        (algorithm, most): (Algorithm, u64),
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<(Record, Tree), TreeTooLarge> {
        let mut machine = front.machine(options);
        let (growing, found) = grown(&mut machine, algorithm, most, options, watch)?;
        let limits = &options.limits;
        let depth = match algorithm.merging() {
            Some(_) => limits.depth,
            None => Some(limits.depth()),
        };
        let depth = depth.map_or(usize::MAX, |depth| depth as usize);
        let tree = if most > MOST_NODES {
            let mut words = growing.words(&mut machine);
            growing.tree(depth, |at| std::mem::take(&mut words[at]))
        } else {
            growing.tree(depth, |at| state_text(&mut machine, &growing.schedule(at)))
        };
        let mut record = self.explored(algorithm, options, &mut machine, &found);
        record.add_bounds(self.leaves_out(options));
        Ok((record, tree))
    }
}

/// Explores a program, and records the tree if it has fewer than `most` states.
fn grown<E: Semantics>(
    machine: &mut E,
    algorithm: Algorithm,
    most: u64,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<(TreeObserver, Findings), TreeTooLarge> {
    let mut growing = TreeObserver {
        most,
        ..TreeObserver::default()
    };
    let mut stopped = false;
    let mut look = |progress: &Progress| {
        // Stop the search when the tree is too large for a picture.
        stopped = progress.counts.events >= most;
        if stopped {
            ControlFlow::Break(Bound::Interrupted)
        } else {
            watch(progress)
        }
    };
    let found = everything(algorithm, options).run(machine, &mut look, &mut growing);
    if growing.met >= most {
        Err(TreeTooLarge {
            nodes: growing.met + 1,
            complete: !stopped,
        })
    } else {
        Ok((growing, found))
    }
}

/// The description of the last step of a run and of the state after it.
#[derive(Default)]
struct StateText {
    process: String,
    label: String,
    state: Vec<Binding>,
    mishap: Option<String>,
    /// The mishap of the state if it is a final state, for example a violated `ensures`.
    broken: Option<String>,
    /// Whether the last step only decided a condition.
    decides: bool,
}

impl StateText {
    /// Returns the description of one step of a run.
    fn step(run: &Run, step: &Step) -> Self {
        Self {
            process: named(run, step),
            label: step.label.clone(),
            mishap: step.mishap.clone(),
            ..Self::default()
        }
    }
}

/// Runs a schedule. Returns the run, and the mishap of its final state.
fn narrated<M: Narrator>(machine: &mut M, schedule: &Schedule) -> (Run, Option<String>) {
    let run = match machine.narrate(schedule) {
        Ok(run) => run,
        Err(error) => panic!("a run of the search does not run again: {error}"),
    };
    let final_mishaps = if run.ending == Ending::Final {
        machine.final_mishaps()
    } else {
        Vec::new()
    };
    let broken = final_mishaps.first().map(|m| machine.explain(m).0);
    (run, broken)
}

fn state_text<M: Narrator>(machine: &mut M, schedule: &Schedule) -> StateText {
    let (run, broken) = narrated(machine, schedule);
    let last = run.steps.last();
    let last = last.map_or_else(StateText::default, |step| StateText::step(&run, step));
    StateText {
        broken,
        state: run.state,
        ..last
    }
}

/// Describes the state of a path for all inputs: the values of variables are terms.
fn state_text_for_inputs(
    machine: &mut SymbolicMachine,
    names: &Machine,
    schedule: &Schedule,
    options: &Options,
) -> StateText {
    let (label, mishap) = if schedule.0.is_empty() {
        Default::default()
    } else {
        label_for_inputs(machine, schedule, options)
    };
    follow(machine, schedule);
    let last = schedule.0.last();
    let final_mishaps = if machine.is_final() {
        machine.final_mishaps()
    } else {
        Vec::new()
    };
    let kind = machine.last_step();
    StateText {
        process: last.map_or(String::new(), |step| names.name_of(&step.process)),
        label,
        state: machine.substitution(),
        mishap,
        broken: final_mishaps.first().map(|m| machine.explain(m).0),
        decides: matches!(kind, LastStep::Branch | LastStep::Start),
    }
}

/// A state, and the step that led to it.
struct TreeState {
    parent: Option<usize>,
    step: Option<(ScheduledStep, Event)>,
    children: Vec<usize>,
    /// Whether the search has gone back from it.
    left: bool,
    leaf: Option<Leaf>,
}

impl TreeState {
    fn at(parent: Option<usize>, step: Option<(ScheduledStep, Event)>) -> Self {
        Self {
            parent,
            step,
            children: Vec::new(),
            left: false,
            leaf: None,
        }
    }
}

/// Observes the search, and records the tree while it is small.
#[derive(Default)]
struct TreeObserver {
    nodes: Vec<TreeState>,
    /// The states of the current run.
    path: Vec<usize>,
    /// Number of steps made.
    met: u64,
    /// Limit on the number of steps that are recorded.
    most: u64,
}

impl<E: Execution> Observer<E> for TreeObserver {
    fn start(&mut self, _: &E) {
        *self = Self {
            nodes: vec![TreeState::at(None, None)],
            path: vec![0],
            met: 0,
            most: self.most,
        };
    }

    fn pushed(&mut self, machine: &E) {
        self.met += 1;
        let events = machine.events();
        if let (Some(event), true) = (events.last(), self.met < self.most) {
            let names = machine.processes();
            let step = Schedule::from_run(std::slice::from_ref(event), names)
                .0
                .pop();
            let parent = self.path.last().copied();
            let child = self.nodes.len();
            if let Some(parent) = parent {
                self.nodes[parent].children.push(child);
            }
            let step = step.map(|step| (step, event.clone()));
            self.nodes.push(TreeState::at(parent, step));
            self.path.push(child);
        }
    }

    fn popping(&mut self, _: &E) {
        if let (Some(at), true) = (self.path.pop(), self.met < self.most) {
            self.nodes[at].left = true;
        }
    }

    fn complete(&mut self, machine: &E) {
        let Some(&at) = self.path.last() else { return };
        let broken = || {
            let mut all = machine.final_mishaps().into_iter();
            all.any(|mishap| mishap.kind == MishapKind::Failure)
        };
        self.nodes[at].leaf = Some(match ending(machine) {
            Ending::Final if broken() => Leaf::Failure,
            Ending::Final => Leaf::Final,
            Ending::Deadlock => Leaf::Deadlock,
            Ending::Failure => Leaf::Failure,
            // An engine that merges states ends a run at its first false `assume`.
            Ending::Discarded | Ending::Open => Leaf::Discarded,
            Ending::Lost => Leaf::Cut,
        });
    }
}

/// Returns the process that made a step, by its name in the source if it has one, and its outcomes.
pub(crate) fn named(run: &Run, step: &Step) -> String {
    let chosen = step.outcomes.iter().map(i64::to_string);
    let chosen = chosen.collect::<Vec<_>>().join(",");
    let name = run.name_of(&step.process);
    if chosen.is_empty() {
        name.to_owned()
    } else {
        format!("{name}={chosen}")
    }
}

impl TreeObserver {
    /// Returns the tree, with descriptions. Runs of length `depth` were cut.
    fn tree(&self, depth: usize, mut describe: impl FnMut(usize) -> StateText) -> Tree {
        let races = self.races();
        let mut nodes: Vec<TreeNode> = Vec::with_capacity(self.nodes.len());
        let mut depths: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (at, (node, races)) in self.nodes.iter().zip(races).enumerate() {
            let text = describe(at);
            let steps = node.parent.map_or(0, |parent| depths[parent] + 1);
            depths.push(steps);
            let leaf = match (node.leaf, node.children.is_empty()) {
                (Some(leaf), _) => Some(leaf),
                (None, false) => None,
                (None, true) if node.left && steps < depth => Some(Leaf::Blocked),
                (None, true) => Some(Leaf::Cut),
            };
            let broken = text.broken.filter(|_| leaf == Some(Leaf::Failure));
            // A parent comes before its children.
            if let (Some(parent), true) = (node.parent, text.decides) {
                nodes[parent].branches = true;
            }
            nodes.push(TreeNode {
                parent: node.parent,
                process: text.process,
                label: text.label,
                state: text.state,
                mishap: text.mishap.or(broken),
                races,
                leaf,
                branches: false,
            });
        }
        Tree { nodes }
    }

    fn schedule(&self, at: usize) -> Schedule {
        let steps = self.path_to(at).into_iter();
        let steps = steps.filter_map(|at| self.nodes[at].step.as_ref());
        Schedule(steps.map(|(step, _)| step.clone()).collect())
    }

    /// Returns the states on the path to a state, without the initial one.
    fn path_to(&self, mut at: usize) -> Vec<usize> {
        let mut path = Vec::new();
        while let Some(parent) = self.nodes[at].parent {
            path.push(at);
            at = parent;
        }
        path.reverse();
        path
    }

    /// Returns the descriptions of all steps, without values. Each run is described once.
    fn words<M: Narrator>(&self, machine: &mut M) -> Vec<StateText> {
        let mut words: Vec<Option<StateText>> = self.nodes.iter().map(|_| None).collect();
        let mut left = MOST_TOLD;
        // States come before their successors, so the last state without a description is the end
        // of a run.
        for end in (1..self.nodes.len()).rev() {
            if words[end].is_some() {
                continue;
            }
            let path = self.path_to(end);
            match left.checked_sub(path.len()) {
                Some(rest) => left = rest,
                None => break,
            }
            let (run, broken) = narrated(machine, &self.schedule(end));
            for (&at, step) in path.iter().zip(&run.steps) {
                words[at].get_or_insert_with(|| StateText::step(&run, step));
            }
            if let Some(text) = &mut words[end] {
                text.broken = broken;
            }
        }
        let or_numbers = |(text, node): (Option<StateText>, &TreeState)| {
            let step = node.step.iter().map(|(step, _)| step.clone());
            text.unwrap_or_else(|| StateText {
                process: Schedule(step.collect()).to_string(),
                ..StateText::default()
            })
        };
        words.into_iter().zip(&self.nodes).map(or_numbers).collect()
    }

    /// Returns, for each state, the races in which the step to it takes part. Let `other` be a
    /// branch of a state, and `one` an earlier branch of the same state. The search has gone back
    /// to `other` because of a race if the first run through `other` makes a step that conflicts
    /// with the step to `one` before the process of that step continues. This run reverses the
    /// race.
    fn races(&self) -> Vec<Vec<TreeRace>> {
        let mut races = vec![Vec::new(); self.nodes.len()];
        let mut number = 0;
        for node in &self.nodes {
            for (k, &other) in node.children.iter().enumerate() {
                let earlier = node.children[..k].iter().rev();
                let mut pairs = earlier.filter_map(|&one| Some((one, self.reversed(one, other)?)));
                let Some((one, moved)) = pairs.next() else {
                    continue;
                };
                number += 1;
                for (at, reversed) in [(one, false), (moved, true)] {
                    races[at].push(TreeRace { number, reversed });
                }
            }
        }
        races
    }

    /// Follows the first run through `other` until the process of the step to `one` makes a step.
    /// Returns the first step before that one which conflicts with the step to `one`, if there is
    /// such a step.
    fn reversed(&self, one: usize, other: usize) -> Option<usize> {
        let event = |at: usize| self.nodes[at].step.as_ref().map(|(_, event)| event);
        let first = event(one)?;
        let mut at = other;
        loop {
            let here = event(at)?;
            if here.process == first.process {
                return None;
            }
            if dependent(first, here) {
                return Some(at);
            }
            at = *self.nodes[at].children.first()?;
        }
    }
}
