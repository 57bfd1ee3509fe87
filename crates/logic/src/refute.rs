//! Turns refuted questions into evidence, and checks that the formula is false for the values of
//! the evidence.
//!
//! The solver refutes a question of the proof by a model: values for which the question fails. The
//! model becomes evidence in two steps. [`Search::refutations`] extracts from the model the initial
//! values and, for each box on the path, the schedule of its run and the values of its inputs.
//! [`falsify`] then evaluates the formula with these numbers, by Definition 6 of the SymPaths
//! paper. For a box it calls a function that runs the processes. So the evidence does not rely on
//! the proof search.

use std::ops::ControlFlow;
use std::rc::Rc;

use mazurka_core::proof::{LeafRecord, Rule};
use mazurka_core::{ProcessId, Schedule, ScheduledStep};
use mazurka_smt::{Kind, Model, Solver, Term};

use crate::eliminate::Eliminate;
use crate::fol::{Fol, Truth, decide};
use crate::pool::{rule, sort};
use crate::search::{AppliedRule, Search};
use crate::sequent::{Leaf, Subject};
use crate::world::World;
use crate::{Formula, Theorem};

/// A refuted question.
#[derive(Clone, Debug)]
pub struct Refutation {
    /// The question.
    pub leaf: LeafRecord,
    /// The index of its goal; `None` for a question about the initial state.
    pub goal: Option<usize>,
    /// The run of each box on the path, the outermost first.
    pub runs: Vec<BoxRun>,
    /// The initial values and the inputs, by name.
    pub values: Vec<(String, String)>,
    /// The values of the variables that quantifiers bind, by their names in the formula.
    pub bound: Vec<(String, i64)>,
    /// Whether the values belong to an execution of the program. If they do not, an invariant is
    /// too weak or does not hold.
    pub concrete: bool,
    /// Whether the question is about a deadlock.
    pub deadlock: bool,
}

/// A run of the processes of a box.
#[derive(Clone, Debug, Default)]
pub struct BoxRun {
    /// The steps, with their outcomes.
    pub schedule: Schedule,
    /// The values of the inputs of its processes.
    pub inputs: Vec<(String, i64)>,
}

/// The result of running the processes of a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoxRunResult {
    /// The run has a fault that a box excludes.
    Wrong,
    /// All processes ended, with these values of the shared cells.
    Ended(Vec<i64>),
    /// Anything else, for example a run that reaches a limit.
    Otherwise,
}

/// A function that runs the processes of a box. The arguments are the number of boxes around the
/// box, its processes, and the values of the shared cells.
pub type RunBox<'a> = dyn FnMut(usize, &[usize], &[i64]) -> BoxRunResult + 'a;

/// A refuted question: its goal, the question, the model, and the process whose step it is about.
type Refuted<'a> = (Option<usize>, &'a Leaf, &'a Model, Option<ProcessId>);

impl Search<'_, '_> {
    /// Returns the first refuted questions. Questions whose values belong to an execution of the
    /// program come first.
    pub fn refutations(&self, most: usize) -> Vec<Refutation> {
        let mut all = self.refuted();
        all.sort_by_key(|(at, ..)| !at.is_none_or(|at| self.is_concrete(at)));
        let first = all.iter().take(most);
        first.map(|refuted| self.refutation(refuted)).collect()
    }

    fn refutation(&self, &(at, leaf, model, process): &Refuted<'_>) -> Refutation {
        let names = self.world.names();
        let mut runs = Vec::new();
        let mut steps = Vec::new();
        let mut up = at;
        if let (Some(at), Some(process)) = (at, process) {
            steps.extend(self.scheduled(at, process, model));
        }
        while let Some(at) = up {
            let goal = &self.goals[at];
            if let (Some(parent), Some(process)) = (goal.parent, goal.process) {
                steps.extend(self.scheduled(parent, process, model));
            }
            // A goal to which no step leads is the start of a box or a generalised goal.
            if goal.process.is_none() && goal.changed.is_empty() {
                steps.reverse();
                let depth = self.contexts[goal.context].depth;
                runs.push(BoxRun {
                    schedule: Schedule(std::mem::take(&mut steps)),
                    inputs: self.inputs(depth, model),
                });
            }
            up = goal.parent;
        }
        runs.reverse();
        let (mut values, mut bound) = (Vec::new(), Vec::new());
        for variable in self.world.terms.variables() {
            let of_inner_box = variable.name.contains(['?', '#']) && variable.name.contains('\'');
            let value = model.get(variable.term).unwrap_or(0);
            match variable.name.split_once('\'') {
                _ if variable.name.contains('?') || of_inner_box => {}
                Some((name, _)) => bound.push((name.to_owned(), value)),
                None => {
                    let value = self.world.terms.sort(variable.term).show(value);
                    values.push((variable.name.clone(), value));
                }
            }
        }
        Refutation {
            leaf: names.leaf(leaf),
            goal: at,
            runs,
            values,
            bound,
            concrete: at.is_none_or(|at| self.is_concrete(at))
                && !matches!(leaf.what, Subject::LoopInvariant(_) | Subject::Instance),
            deadlock: leaf.what == Subject::Deadlock,
        }
    }

    /// Returns the values of the inputs that the processes of a box read.
    fn inputs(&self, depth: u32, model: &Model) -> Vec<(String, i64)> {
        let mark = within(depth, "#");
        let variables = self.world.terms.variables().iter();
        let found = variables.filter_map(|variable| {
            let (process, number) = variable.name.split_once(&mark)?;
            let plain = !process.contains('\'');
            let value = model.get(variable.term).unwrap_or(0);
            plain.then(|| (format!("{process}#{number}"), value))
        });
        found.collect()
    }

    /// Whether no value on the path to a goal was replaced.
    fn is_concrete(&self, at: usize) -> bool {
        let mut up = Some(at);
        while let Some(at) = up {
            if !self.goals[at].changed.is_empty() {
                return false;
            }
            up = self.goals[at].parent;
        }
        true
    }

    /// Returns the step of a process for a schedule. Returns `None` if the step is not part of a
    /// schedule: the exit of a loop that has reached its bound, or a test that reads only locals.
    fn scheduled(&self, from: usize, process: ProcessId, model: &Model) -> Option<ScheduledStep> {
        let state = &self.goals[from].state;
        let at = state.threads.iter().position(|t| t.process == process)?;
        let thread = &state.threads[at];
        match rule(thread, &self.world.terms) {
            Some(Rule::Spent) => return None,
            Some(Rule::While) if self.world.claims(thread).is_empty() => {
                return None;
            }
            _ => {}
        }
        let path = self.world.table.path(process).clone();
        let mark = format!("{path}{}", within(thread.depth, "?"));
        let variables = self.world.terms.variables().iter();
        let mut chosen: Vec<(u32, Option<i64>)> = variables
            .filter(|variable| variable.kind == Kind::Input)
            .filter_map(|variable| {
                let number = variable.name.strip_prefix(&mark)?;
                let number = number.parse::<u32>().ok()?;
                Some((number, model.get(variable.term)))
            })
            .filter(|(number, _)| *number >= thread.choices)
            .collect();
        // On another path the choice with this index may have another type, and the model may lack
        // a value for it. Prefer the choice with a value.
        chosen.sort_unstable_by_key(|&(number, value)| (number, value.is_none()));
        chosen.dedup_by_key(|(number, _)| *number);
        let chosen = chosen
            .into_iter()
            .map(|(number, value)| (number, value.unwrap_or(0)));
        let mut chosen: Vec<(u32, i64)> = chosen.collect();
        // Remove the outcomes of later steps.
        let next = self.choices_after(from, process);
        chosen.retain(|(number, _)| *number < next);
        Some(ScheduledStep {
            process: path,
            outcomes: chosen.into_iter().map(|(_, value)| value).collect(),
        })
    }

    /// Returns the number of `choose` expressions that a process has evaluated after its step from
    /// a goal; `u32::MAX` if the goal was not scheduled.
    fn choices_after(&self, from: usize, process: ProcessId) -> u32 {
        let AppliedRule::Schedule { steps, .. } = &self.goals[from].by else {
            return u32::MAX;
        };
        let step = steps.iter().find(|step| step.process == process);
        let way = step.and_then(|step| step.ways.first());
        let after = way.and_then(|way| {
            let threads = &self.goals[way.to].state.threads;
            threads.iter().find(|t| t.process == process)
        });
        after.map_or(u32::MAX, |thread| thread.choices)
    }

    /// Returns every refuted question.
    fn refuted(&self) -> Vec<Refuted<'_>> {
        let mut found = Vec::new();
        let mut add = |at, leaf, process| {
            let leaf: &Leaf = leaf;
            if let Truth::Refuted(model) = &leaf.truth {
                found.push((at, leaf, model, process));
            }
        };
        self.leaves.iter().for_each(|leaf| add(None, leaf, None));
        for &at in &self.results.refuted {
            match &self.goals[at].by {
                AppliedRule::Schedule { steps, deadlock } => {
                    for step in steps {
                        let ways = step.ways.iter().flat_map(|way| &way.leaves);
                        for leaf in step.leaves.iter().chain(ways) {
                            add(Some(at), leaf, Some(step.process));
                        }
                    }
                    deadlock.iter().for_each(|leaf| add(Some(at), leaf, None));
                }
                by => by.leaves().for_each(|leaf| add(Some(at), leaf, None)),
            }
        }
        found
    }
}

/// Returns the text between the process and the index in the name of an outcome (mark `?`) or an
/// input (mark `#`), for a box with `depth` boxes around it.
pub(crate) fn within(depth: u32, mark: &str) -> String {
    match depth {
        0 => mark.to_owned(),
        depth => format!("'{depth}{mark}"),
    }
}

/// Evaluates a formula from these initial values. If it is false, returns the number of boxes that
/// were run.
///
/// `start` has a value for each shared cell, and `bound` has the values that are tried for bound
/// variables. `run` runs the processes of a box.
pub fn falsify<'a>(
    theorem: &Theorem<'_>,
    (start, bound): (&'a [i64], &'a [(String, i64)]),
    solver: &'a mut dyn Solver,
    run: &'a mut RunBox<'a>,
) -> Option<usize> {
    let mut world = World::new(theorem);
    let cells = constants(&mut world, start);
    let required = world.required(&cells);
    if required.iter().any(|&term| term != Term::TRUE) {
        return None;
    }
    let mut falsifier = Falsifier {
        world,
        solver,
        bound_values: bound,
        run,
    };
    let place = EvaluationPoint {
        cells: cells.into(),
        bound: Vec::new(),
        depth: 0,
    };
    falsifier.fails(theorem.formula, &place)
}

fn constants(world: &mut World<'_>, values: &[i64]) -> Vec<Term> {
    let vars = world.program.vars.iter().enumerate();
    let sorts = vars.flat_map(|(at, var)| {
        let (_, len) = world.layout.vars[at];
        std::iter::repeat_n(sort(var.ty), len)
    });
    let pairs: Vec<_> = sorts.zip(values).collect();
    let terms = &mut world.terms;
    let constant = |(sort, &value)| terms.constant(sort, value);
    pairs.into_iter().map(constant).collect()
}

/// The state and the bindings in which a part of a formula is evaluated.
#[derive(Clone)]
struct EvaluationPoint {
    cells: Rc<[Term]>,
    /// The values of the variables that enclosing quantifiers bind.
    bound: Vec<Term>,
    /// The number of boxes around the part.
    depth: usize,
}

/// The evaluator of formulas with numbers.
struct Falsifier<'a, 'p> {
    world: World<'p>,
    solver: &'a mut dyn Solver,
    /// The values to try for variables that quantifiers bind, with the names of the variables.
    bound_values: &'a [(String, i64)],
    run: &'a mut RunBox<'a>,
}

impl Falsifier<'_, '_> {
    /// Returns the number of boxes that were run to show that a formula is false; `None` if this
    /// was not shown.
    fn fails(&mut self, formula: &Formula, at: &EvaluationPoint) -> Option<usize> {
        match formula {
            _ if formula.is_first_order() => self.has_value(formula, false, at).then_some(at.depth),
            _ if !formula.has_rules() => self.executes_to_false(formula, at).then_some(at.depth),
            Formula::And(a, b) => self.fails(a, at).or_else(|| self.fails(b, at)),
            Formula::Or(a, b) => {
                let one = self.fails(a, at)?;
                Some(self.fails(b, at)?.max(one))
            }
            Formula::Implies(a, b) if a.is_first_order() && self.has_value(a, true, at) => {
                self.fails(b, at)
            }
            Formula::ForAll(name, ty, inner) => {
                let values = self.bound_values.iter().filter(|(known, _)| known == name);
                let values: Vec<i64> = values.map(|(_, value)| *value).collect();
                values.into_iter().find_map(|value| {
                    let mut at = at.clone();
                    at.bound.push(self.world.terms.constant(sort(*ty), value));
                    self.fails(inner, &at)
                })
            }
            Formula::Update(update, inner) => {
                let mut lower = self.world.lower(String::new());
                let (cells, must) = lower.update(update, &at.cells, &at.bound);
                if self.world.terms.truth(must)? {
                    let cells = cells.into();
                    self.fails(
                        inner,
                        &EvaluationPoint {
                            cells,
                            ..at.clone()
                        },
                    )
                } else {
                    Some(at.depth)
                }
            }
            Formula::Box(processes, post) => {
                let values = at.cells.iter().map(|&cell| self.world.terms.value(cell));
                let values: Option<Vec<i64>> = values.collect();
                match (self.run)(at.depth, processes, &values?) {
                    BoxRunResult::Wrong => Some(at.depth + 1),
                    BoxRunResult::Otherwise => None,
                    BoxRunResult::Ended(values) => {
                        let cells = constants(&mut self.world, &values).into();
                        let depth = at.depth + 1;
                        self.fails(
                            post,
                            &EvaluationPoint {
                                cells,
                                depth,
                                ..at.clone()
                            },
                        )
                    }
                }
            }
            _ => None,
        }
    }

    /// Whether the execution of its boxes shows that a formula is false.
    fn executes_to_false(&mut self, formula: &Formula, at: &EvaluationPoint) -> bool {
        let go_on = &mut || ControlFlow::Continue(());
        let mut eliminate = Eliminate::new(&mut self.world, self.solver, go_on);
        let mut bound = at.bound.clone();
        let Ok(holds) = eliminate.formula(formula, &at.cells, &mut bound, true) else {
            return false;
        };
        decide(&mut self.world.terms, self.solver, &[], &[], &holds) == Truth::Proved
    }

    /// Whether a formula without boxes certainly has this truth value.
    fn has_value(&mut self, formula: &Formula, holds: bool, at: &EvaluationPoint) -> bool {
        let mut lower = self.world.lower(String::new());
        let mut bound = at.bound.clone();
        let denied: Result<Fol, _> = lower.formula(formula, &at.cells, &mut bound, !holds);
        let Ok(denied) = denied else {
            return false;
        };
        decide(&mut self.world.terms, self.solver, &[], &[], &denied) == Truth::Proved
    }
}
