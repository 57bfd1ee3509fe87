//! Loops without bounds: proofs that return to an earlier goal, and invariants of loops (SymPaths
//! paper, end of section 4.3, and errata E10 in docs/algorithms.md).
//!
//! Two rules make proofs of unbounded loops finite; with them, proofs are graphs with cycles.
//! *Generalise* replaces some values by fresh constants. The new goal assumes only the invariants
//! of loops whose test is the next step of a thread, the file's invariants, and the conditions on
//! values that are not replaced. To apply the rule, the proof must show that these invariants hold
//! in the goal. *Back* closes a goal that is an instance of an earlier goal: both are at the same
//! points, and the assumptions of the earlier goal hold.
//!
//! Each rule is sound by itself: a goal follows from a more general goal. Cycles are sound too.
//! Suppose that some goal of the graph is false: an execution from it ends in a state without Ψ.
//! Choose the goal and the execution so that the execution is as short as possible. If the rule of
//! this goal is not SCHEDULE, the same execution starts from one of the goals that the rule yields.
//! Such rules alone form no cycle. A goal reached by *generalise* or *back* is either scheduled, or
//! all its threads have ended. In the second case its remaining boxes are in inner contexts, and no
//! rule leads back from an inner context. So at some point SCHEDULE is applied, and an execution
//! that is one step shorter starts from one of the goals that it yields. This contradicts the
//! choice.
//!
//! So a proof shows three things about an invariant of a loop: it holds on entry, the body
//! preserves it, and the steps of all other threads preserve it while its thread is before the
//! test. Each of these paths returns to a goal that assumes the invariant. An invariant is assumed
//! only after it was shown, so a wrong invariant leaves a goal open and proves nothing.
//!
//! A heuristic decides when to generalise; soundness does not depend on it. A goal is generalised
//! if a thread is before the test of a loop with an invariant, and an earlier goal of the path,
//! after the last generalised goal, was at the same points. The values that have changed since this
//! earlier goal are replaced. If further values change in the next round, they are replaced as
//! well. The number of values is finite, so this ends.

use mazurka_lang::hir::{Expr, ExprKind, Program, Stmt, StmtKind};
use mazurka_smt::{Kind, Term, Terms};
use rustc_hash::FxHashMap;

use crate::fol::Truth;
use crate::pool::{State, WorkItem};
use crate::search::{AppliedRule, OpenReason, Search};
use crate::sequent::{Leaf, Subject};
use crate::world::loop_invariants;

impl<'p> Search<'p, '_> {
    /// Applies the rules for loops: leads back to an earlier goal that is more general, or
    /// generalises this goal.
    pub fn handle_loops(&mut self, at: usize) -> Option<AppliedRule> {
        if !self.endless {
            return None;
        }
        if let Some(to) = self.equal_goal(at) {
            let leaves = Vec::new();
            return Some(AppliedRule::Back { leaves, to });
        }
        let context = self.goals[at].context;
        let mut failed = Vec::new();
        for to in self.generalised.clone() {
            let other = &self.goals[to];
            if other.context == context
                && other.state.same_points(&self.goals[at].state)
                && self.may_lead_to(at, to)
            {
                let leaves = self.instance(at, to);
                if leaves.iter().all(|leaf| leaf.truth == Truth::Proved) {
                    return Some(AppliedRule::Back { leaves, to });
                }
                failed.push((to, leaves));
            }
        }
        if self.starts_too_many(at) {
            return Some(AppliedRule::Open(OpenReason::Unfolded(self.options.unfold)));
        }
        // Visit the earlier goals of this path at the same points.
        let mut rounds = 0;
        let mut changed: Option<Vec<usize>> = None;
        let mut up = self.goals[at].parent;
        while let Some(earlier) = up {
            let goal = &self.goals[earlier];
            let here = &self.goals[at].state;
            if goal.context != context {
                break;
            }
            if goal.state.same_points(here) {
                rounds += 1;
                let pairs = goal.state.values().zip(here.values()).enumerate();
                let differing: Vec<usize> = pairs
                    .filter(|(_, (a, b))| a != b)
                    .map(|(position, _)| position)
                    .collect();
                let mut all = differing;
                all.extend(&goal.changed);
                all.sort_unstable();
                all.dedup();
                if all == goal.changed && changed.is_none() {
                    // All values that differ are already replaced. So the earlier goal does not
                    // cover this goal, because its assumptions do not follow: record the failed
                    // questions.
                    let at = failed.iter().position(|(to, _)| *to == earlier)?;
                    let (to, leaves) = failed.swap_remove(at);
                    return Some(AppliedRule::Back { leaves, to });
                }
                changed.get_or_insert(all);
            }
            // The search for earlier goals stops at a generalised goal at other points.
            if goal.segment == earlier && !goal.changed.is_empty() && rounds == 0 {
                break;
            }
            up = goal.parent;
        }
        let changed = changed?;
        let mut loops = self.goals[at]
            .state
            .threads
            .iter()
            .filter_map(|thread| loop_invariants(thread));
        let annotated = loops.any(|invariants| !invariants.is_empty());
        if !annotated {
            let most = self.options.unfold;
            return (rounds > most).then_some(AppliedRule::Open(OpenReason::Unfolded(most)));
        }
        Some(self.generalise(at, changed))
    }

    /// Whether calls or starts of processes are nested too deeply. A path with endless recursion
    /// never returns to the same points, so only this limit ends it.
    pub fn too_deep(&self, at: usize) -> bool {
        let most = self.world.program.procedures.len() + self.options.unfold as usize;
        self.goals[at].state.threads.iter().any(|thread| {
            let calls = thread.work.iter();
            let calls = calls.filter(|item| matches!(item, WorkItem::Return(..)));
            let path = self.world.table.path(thread.process).to_string();
            calls.count() > most || path.matches('.').count() > most + 1
        })
    }

    /// Whether a loop starts a process in each round, and more than the allowed number of rounds
    /// are on the path to this goal.
    fn starts_too_many(&self, at: usize) -> bool {
        let goal = &self.goals[at];
        let mover = |state: &State<'p>| {
            let mut threads = state.threads.iter();
            threads.position(|thread| Some(thread.process) == goal.process)
        };
        let Some(thread) = mover(&goal.state).map(|at| &goal.state.threads[at]) else {
            return false;
        };
        if thread.children <= self.options.unfold || !thread.work.iter().any(is_endless) {
            return false;
        }
        let mut rounds = 0;
        let (mut children, mut up) = (thread.children, goal.parent);
        while let Some(earlier) = up.map(|up| &self.goals[up]) {
            let same = mover(&earlier.state).map(|at| &earlier.state.threads[at]);
            if same.is_some_and(|same| same.children < children && same.same_point(thread)) {
                rounds += 1;
                children -= 1;
            }
            up = earlier.parent;
        }
        rounds > self.options.unfold
    }

    /// Whether another goal may close this goal. With reduction any goal may. Without reduction,
    /// goals on different paths stay separate, so only a goal on the same path may.
    fn may_lead_to(&self, at: usize, to: usize) -> bool {
        let up = |at: &usize| self.goals[*at].parent;
        self.options.reduce || std::iter::successors(Some(at), up).any(|above| above == to)
    }

    /// Returns a scheduled goal with an equal state and the same assumptions or fewer.
    fn equal_goal(&self, at: usize) -> Option<usize> {
        let goal = &self.goals[at];
        let known = |term: &Term| goal.state.condition.contains(term);
        let same = |&&to: &&usize| {
            let other = &self.goals[to];
            self.may_lead_to(at, to)
                && other.context == goal.context
                && other.state.same_points(&goal.state)
                && other.state.values().eq(goal.state.values())
                && other.state.condition.iter().all(known)
        };
        let candidates = self.by_state.get(&goal.state.key())?;
        candidates.iter().find(same).copied()
    }

    fn generalise(&mut self, at: usize, changed: Vec<usize>) -> AppliedRule {
        let context = self.goals[at].context;
        let state = self.goals[at].state.clone();
        let mut leaves = Vec::new();
        for (what, must) in self.world.invariants(&state, true) {
            leaves.push(self.ask_at(what, context, state.condition.clone(), must));
        }
        let mut values: Vec<Term> = state.values().collect();
        let names = self.world.names().places(&state);
        for &position in &changed {
            let sort = self.world.terms.sort(values[position]);
            // The name contains the index of the new goal.
            let name = format!("{}'{}", names[position], self.goals.len());
            values[position] = self.world.terms.variable(Kind::Initial, &name, sort);
        }
        let mut general = state.with_values(&mut values.iter().copied());
        // Assumptions about values that are not replaced are kept.
        let alive = self.world.terms.variables_of(&values);
        let is_alive = |terms: &Terms, term: Term| {
            let variables = terms.variables_of(&[term]);
            variables.iter().all(|variable| alive.contains(variable))
        };
        let terms = &self.world.terms;
        general.condition.retain(|&term| is_alive(terms, term));
        let assumed = self.world.invariants(&general, true);
        for (_, must) in assumed {
            if must != Term::TRUE && !general.condition.contains(&must) {
                general.condition.push(must);
            }
        }
        let to = self.add(general, context, Some(at), Some(changed));
        self.generalised.push(to);
        AppliedRule::Generalise { leaves, to }
    }

    /// Decides the questions that show that a goal is an instance of another goal at the same
    /// points. Stops after the first question that is not proved.
    pub fn instance(&mut self, at: usize, general: usize) -> Vec<Leaf> {
        let (state, context) = (self.goals[at].state.clone(), self.goals[at].context);
        let other = self.goals[general].state.clone();
        let theirs: Vec<Term> = other.values().collect();
        let ours: Vec<Term> = state.values().collect();
        let changed = &self.goals[general].changed;
        let map: FxHashMap<Term, Term> = changed.iter().map(|&k| (theirs[k], ours[k])).collect();
        let mut leaves = Vec::new();
        let mut must = Vec::new();
        for (their, our) in theirs.iter().zip(&ours) {
            let their = self
                .world
                .terms
                .substitute(*their, |part| map.get(&part).copied());
            if their != *our {
                if self.world.terms.sort(their) != self.world.terms.sort(*our) {
                    return vec![self.ask_at(Subject::Instance, context, Vec::new(), Term::FALSE)];
                }
                must.push(self.world.terms.equal(their, *our));
            }
        }
        for term in other.condition {
            let term = self
                .world
                .terms
                .substitute(term, |part| map.get(&part).copied());
            if term != Term::TRUE && !state.condition.contains(&term) {
                must.push(term);
            }
        }
        for term in must {
            leaves.push(self.ask_at(Subject::Instance, context, state.condition.clone(), term));
            if leaves
                .last()
                .is_some_and(|leaf| leaf.truth != Truth::Proved)
            {
                break;
            }
        }
        leaves
    }
}

/// Whether a thread may repeat an item of work forever.
fn is_endless(item: &WorkItem<'_>) -> bool {
    match item {
        WorkItem::Do(stmt)
        | WorkItem::Again(stmt)
        | WorkItem::Round(stmt)
        | WorkItem::Count(stmt) => has_no_bound(stmt),
        WorkItem::Return(..) => false,
    }
}

/// Whether a statement is a loop whose number of rounds is not known.
fn has_no_bound(stmt: &Stmt) -> bool {
    let fixed = |e: &Expr| matches!(e.kind, ExprKind::Const(_));
    match &stmt.kind {
        StmtKind::While { bound, .. } => bound.is_none(),
        StmtKind::GuardedLoop(..) => true,
        StmtKind::For { from, to, .. } => !fixed(from) || !fixed(to),
        _ => false,
    }
}

/// Whether a program has loops without bounds.
pub(crate) fn endless(program: &Program) -> bool {
    let processes = program.processes.iter().map(|process| &process.body);
    let procedures = program.procedures.iter().map(|procedure| &procedure.body);
    let mut open: Vec<&Stmt> = processes.chain(procedures).flatten().collect();
    while let Some(stmt) = open.pop() {
        if has_no_bound(stmt) {
            return true;
        }
        open.extend(stmt.inner());
    }
    false
}
