//! Programs with unknown values under a weak memory model.
//!
//! A condition over unknown values is a *decision* of the execution graph
//! (memory/src/explore/decisions.rs): an event whose outcomes are the sides that are feasible
//! together with all other decisions. So a search explores graphs and decisions together, each
//! combination once. For a finding, the solver gives values, and the finding is described as an
//! execution with these values. This execution has no decisions, so its schedule is that of the
//! search without the decisions.
//!
//! Terms belong to one solver, so one worker explores. A step must be an access or a decision, and
//! not both. So steps that wait for an unknown value, compare-exchange with an unknown value, or
//! select an element by an unknown index are rejected. Results are not compared, because two
//! results may differ for some values and agree for others.

use std::cell::RefCell;
use std::sync::Arc;

use mazurka_core::record::Witness;
use mazurka_core::{Bound, Counts, Kind, Mishap, MishapKind};
use mazurka_explore::{Budget, Watch};
use mazurka_lang::{Code, Doubts, SymbolicMachine};
use mazurka_memory::graph::{Event, Graph, Kind as Access};
use mazurka_memory::schedule::Schedule;
use mazurka_memory::{
    Failure, Finding, Found, Program as _, Threads, Value, replay_graph, sample, visit,
};

use super::search::{
    Answer, PartFindings, Question, counts, does_several_things, executions, take_runs, watched,
};
use super::tell::{Narrator, WeakEvidence as Evidence};
use crate::Refused;
use crate::evidence::bounds_of_run;
use crate::unknowns::ForAll;

type ForAllThreads = Threads<SymbolicMachine, false>;

impl Question<'_> {
    /// Searches for all values, and describes the findings.
    pub fn search_for_all_values(&self, watch: &mut Watch<'_>) -> Result<Answer, Refused> {
        if self.counted.contains(Kind::Nondeterminism) {
            return Err(Refused::WeakUnknowns);
        }
        let budget = Budget::new(&self.options.limits);
        let (explored, over) = watched(&budget, watch, |shared| self.explore(&budget, shared));
        let (mut shown, doubts) = explored?;
        if let Some(line) = shown.found.given_up {
            return Err(does_several_things(line).into());
        }
        let mut bounds = std::mem::take(&mut shown.found.bounds);
        let runs = take_runs(&mut bounds, shown.certain);
        bounds.extend(over.filter(|_| shown.broken_off));
        bounds.extend(self.options.bounds_of(&doubts, watch));
        self.options.show();
        let witnesses = self.witnesses(&shown, &mut bounds)?;
        if shown.certain && witnesses.is_empty() && bounds.is_empty() {
            // The finding that stopped the search could not be shown with values.
            bounds.push(Bound::Undecided);
        }
        let (found, seen) = (&shown.found, &shown.seen);
        let races = found.counts.races > 0;
        if races && !self.counted.contains(Kind::Failure) {
            bounds.push(Bound::DataRaces);
        }
        self.name_limits(&mut bounds);
        Ok(Answer {
            counts: Counts {
                traces: self.draws.is_none().then(|| executions(found)),
                ..counts(found, seen)
            },
            stopped: shown.certain && !witnesses.is_empty(),
            bounds,
            halted: seen.halted,
            races,
            deterministic: None,
            witnesses,
            runs,
            estimate: None,
        })
    }

    /// Returns the program for all values.
    fn threads(&self) -> Result<(ForAllThreads, impl Fn() -> Doubts + use<>), Refused> {
        let code = Arc::clone(self.code);
        let machine = ForAll { code }.for_graphs(self.options)?;
        let doubts = machine.doubts_so_far();
        // This machine makes the steps of all threads.
        let machine = RefCell::new(Some(machine));
        let only = || machine.borrow_mut().take().expect("one machine is made");
        Ok((Threads::new(only), doubts))
    }

    fn explore(
        &self,
        budget: &Budget<'_>,
        shared: &super::search::Shared,
    ) -> Result<(PartFindings, Doubts), Refused> {
        let (program, doubts) = self.threads()?;
        let mut look = self.look(0, shared);
        let found = match self.draws {
            None => visit(program, self.memory, &budget.left(), &mut look),
            Some(drawn) => {
                let (limits, drawing) = self.drawing(drawn);
                sample(program, self.memory, &limits, drawing, &mut look)
            }
        };
        Ok((look.shown(found), doubts()))
    }

    /// Returns the evidence for the findings, each with values. A finding is left out if no values
    /// are known or if a number exceeds 64 bits; the search then counts as incomplete.
    fn witnesses(
        &self,
        shown: &PartFindings,
        bounds: &mut Vec<Bound>,
    ) -> Result<Vec<Witness>, Refused> {
        let findings = shown.found.findings.iter();
        let found = findings.map(|finding| (finding.failure, None, &finding.schedule));
        let broken = shown.seen.broken.iter().map(|(site, schedule)| {
            let (thread, code) = (mazurka_memory::ThreadId(0), *site);
            (Failure::Failed { thread, code }, Some(*site), schedule)
        });
        let mut all = Vec::new();
        // Deadlocks come last, as with known values.
        let (deadlocks, failed): (Vec<_>, Vec<_>) =
            found.partition(|(failure, ..)| *failure == Failure::Deadlock);
        for (failure, ensures, schedule) in failed.into_iter().chain(broken).chain(deadlocks) {
            let Evidence {
                witnesses,
                bounds: more,
            } = self.with_values(failure, ensures, schedule)?;
            all.extend(witnesses);
            bounds.extend(more);
        }
        Ok(all)
    }

    /// Repeats an execution of the search with values that take its path and violate this
    /// `ensures`. Returns the violations that it shows.
    fn with_values(
        &self,
        failure: Failure,
        ensures: Option<u32>,
        schedule: &Schedule,
    ) -> Result<Evidence, Refused> {
        let none = |bounds| Evidence {
            witnesses: Vec::new(),
            bounds,
        };
        let (mut threads, _) = self.threads()?;
        let replayed = replay_graph(&mut threads, self.memory, schedule);
        let (_, graph) = replayed.unwrap_or_else(|error| {
            panic!("a schedule that the search found does not run again: {error}")
        });
        // A value in the graph may stand for a term that these threads know.
        threads.rewind(&mut vec![0; graph.threads() as usize]);
        let plain = follow(&mut threads, &graph, schedule);
        let machine = threads.at_the_end(&graph);
        // If the evaluator gave up a step, there is no failure.
        let given_up = bounds_of_run(machine, &self.options.limits);
        if !given_up.is_empty() {
            return Ok(none(given_up));
        }
        // In a concrete execution all processes start, also those that the finding does not need.
        if !machine.start_all() {
            return Ok(none(vec![Bound::Undecided]));
        }
        let broken = ensures.map(|site| Mishap {
            process: None,
            kind: MishapKind::Failure,
            site,
        });
        let Some(any) = machine.concrete(broken.as_ref()) else {
            return Ok(none(vec![Bound::Undecided]));
        };
        let findings = vec![Finding {
            failure,
            schedule: plain,
        }];
        let found = Found {
            findings,
            ..Found::default()
        };
        let narrated = self.found_evidence(&any.code, &found).or_else(|| {
            let small = machine.concrete_and_small(broken.as_ref())?;
            self.found_evidence(&small.code, &found)
        });
        Ok(narrated.unwrap_or_else(|| none(vec![Bound::IntRange])))
    }

    /// Returns the evidence in a program with values, or `None` if the program does not show the
    /// finding.
    fn found_evidence(&self, code: &Arc<Code>, found: &Found) -> Option<Evidence> {
        let narrator = Narrator {
            code,
            ..self.narrator()
        };
        let shows = found.findings.iter().all(|finding| narrator.shows(finding));
        shows.then(|| narrator.witnesses(found, &[], self.counted))
    }
}

/// Makes the steps of a schedule, which leads to a graph. Returns those that are not decisions.
fn follow(threads: &mut ForAllThreads, graph: &Graph, schedule: &Schedule) -> Schedule {
    let mut next = vec![0; graph.threads() as usize];
    let mut plain = Schedule::default();
    for step in &schedule.0 {
        let events = graph.thread(step.thread);
        let at: &mut usize = &mut next[step.thread.index()];
        // The racing access that ends the execution is not part of the graph.
        let Some(event) = events.get(*at).map(|&slot| *graph.event(slot)) else {
            plain.0.push(*step);
            continue;
        };
        let pair = event.kind.reads_exclusively() && events.len() > *at + 1;
        *at += 1 + usize::from(pair);
        if event.kind != Access::Decision {
            plain.0.push(*step);
        }
        if event.kind != Access::Stuck {
            threads.pending(step.thread);
            threads.answer(step.thread, before(graph, &event));
        }
    }
    plain
}

/// Returns the value of a location right before an access: the value that the access reads or
/// replaces.
pub(super) fn before(graph: &Graph, event: &Event) -> Value {
    match event.kind {
        Access::Store => {
            let position = graph.position(event).saturating_sub(1);
            graph.value_at(event.loc, position)
        }
        Access::Unlock => 0,
        _ => event.value,
    }
}
