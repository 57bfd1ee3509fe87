//! Closes a goal if an earlier goal was reached by the same steps in another order, and all steps
//! whose order differs touch different elements of arrays: SymPaths paper, section 6.1.
//!
//! | paper | here |
//! |---|---|
//! | "aliasing information encoded by the symbolic path" | the condition of the goal, and Γ |
//! | ev₁ ~ ev₂ | [`Search::commute`]: their elements differ whenever the condition holds |
//!
//! If the text of an index does not show which element a step touches, the step claims the whole
//! array. So partial order reduction keeps both orders of `a[i] := 1` and `a[j] := 2`. If the
//! condition of a goal implies that `i` and `j` differ, the goals after the two orders are
//! equivalent, although their terms differ. The second goal is then closed by the rule BACK
//! (`loops.rs`), and the proof contains the questions whether the assumptions and values of the
//! first goal follow.
//!
//! So soundness does not depend on the test in this module, which only selects the goals to
//! compare. It selects them as symbolic execution selects the states to merge
//! (`explore/src/sympaths`), so that there are as many goals as states (Lemma 2).

use mazurka_core::{Access, Event};
use mazurka_smt::Term;
use rustc_hash::FxHashMap;

use crate::fol::{Fol, Truth, decide};
use crate::search::{AppliedRule, Search};

/// An access of a step to a shared cell. If its index is not a constant, the access covers the
/// whole array, and the term is the index.
pub(crate) type Touched = (Access, Option<Term>);

/// Goals, by their context, their segment, and a hash of the points of their threads.
pub(crate) type ByPoints = FxHashMap<(usize, usize, u64), Vec<usize>>;

impl Search<'_, '_> {
    /// Returns an application of BACK to an earlier goal at the same points, if the paths of both
    /// goals differ only in the order of steps on different elements.
    pub fn merge_by_elements(&mut self, at: usize) -> Option<AppliedRule> {
        if !self.options.reduce || !self.goals[at].elements {
            return None;
        }
        let goal = &self.goals[at];
        let key = (goal.context, goal.segment, goal.state.points_key());
        let candidates = self.by_points.get(&key).cloned().unwrap_or_default();
        for to in candidates {
            let other = &self.goals[to];
            // If the other goal were itself closed by another goal, there could be a cycle without
            // a step.
            let is_reduced = matches!(
                other.by,
                AppliedRule::Schedule { .. } | AppliedRule::Reduce { .. }
            );
            let same_points = other.state.same_points(&self.goals[at].state);
            if is_reduced && same_points && self.orders_commute(at, to) {
                let leaves = self.instance(at, to);
                if leaves.iter().all(|leaf| leaf.truth == Truth::Proved) {
                    self.merged += 1;
                    return Some(AppliedRule::Back { leaves, to });
                }
            }
        }
        self.by_points.entry(key).or_default().push(at);
        None
    }

    /// Whether two paths have the same steps, and any two steps whose order differs commute.
    fn orders_commute(&mut self, at: usize, to: usize) -> bool {
        let (one, other) = (self.steps(at), self.steps(to));
        let name = |search: &Self, goal: usize| {
            let event = search.goals[goal].event.as_ref();
            event.map(|event| (event.process, event.number, event.outcomes.clone()))
        };
        let place = |search: &Self, goal: usize| {
            let wanted = name(search, goal);
            other.iter().position(|&step| name(search, step) == wanted)
        };
        let places: Option<Vec<usize>> = one.iter().map(|&goal| place(self, goal)).collect();
        let Some(places) = places.filter(|_| one.len() == other.len()) else {
            return false;
        };
        let mut moved = false;
        for later in 0..one.len() {
            for earlier in 0..later {
                if places[earlier] > places[later] {
                    moved = true;
                    let there = (other[places[later]], other[places[earlier]]);
                    if !self.commute((one[earlier], one[later]), at) || !self.commute(there, to) {
                        return false;
                    }
                }
            }
        }
        moved
    }

    /// Returns the goals of a path that were reached by a step with an event, in order.
    fn steps(&self, at: usize) -> Vec<usize> {
        let before = |&at: &usize| {
            let goal = &self.goals[at];
            goal.parent.filter(|_| goal.segment != at)
        };
        let goals = std::iter::successors(Some(at), before);
        let mut steps: Vec<usize> = goals.filter(|&at| self.goals[at].event.is_some()).collect();
        steps.reverse();
        steps
    }

    /// Whether two steps on the path to a goal commute under its condition: their claims conflict
    /// only in arrays, and neither touches an element that the other writes.
    fn commute(&mut self, (one, other): (usize, usize), at: usize) -> bool {
        let (Some(a), Some(b)) = (&self.goals[one].event, &self.goals[other].event) else {
            return false;
        };
        if orders(a, b) || orders(b, a) {
            return false;
        }
        let mut shared = Vec::new();
        for &x in &a.claims {
            for &y in b.claims.iter().filter(|&&y| x.conflicts(y)) {
                let vars = self.world.layout.vars.iter();
                let mut arrays = vars.filter(|(_, len)| *len > 1);
                let inside = |access: Access, &(first, len): &(usize, usize)| {
                    let cells = access.cells();
                    first <= cells.start && cells.end <= first + len
                };
                let Some(&array) = arrays.find(|array| inside(x, array) && inside(y, array)) else {
                    return false;
                };
                shared.push(array);
            }
        }
        let mut apart = Vec::new();
        for (first, len) in shared {
            let of = |goal: usize| {
                let touched = self.goals[goal].touched.iter();
                let here = touched
                    .filter(|(access, _)| (first..first + len).contains(&(access.first as usize)));
                here.copied().collect::<Vec<Touched>>()
            };
            for &(x, i) in &of(one) {
                for &(y, j) in of(other).iter().filter(|(y, _)| x.conflicts(*y)) {
                    apart.push(((x, i, first), (y, j, first)));
                }
            }
        }
        apart.into_iter().all(|((x, i, first), (y, j, _))| {
            let element = |search: &mut Self, access: Access, index: Option<Term>, like: Term| {
                index.unwrap_or_else(|| {
                    let sort = search.world.terms.sort(like);
                    let at = i64::from(access.first) - first as i64;
                    search.world.terms.constant(sort, at)
                })
            };
            let Some(like) = i.or(j) else {
                return false;
            };
            let (i, j) = (element(self, x, i, like), element(self, y, j, like));
            let terms = &mut self.world.terms;
            if terms.sort(i) != terms.sort(j) {
                return false;
            }
            let same = Fol::Term(terms.equal(i, j));
            let goal = &self.goals[at];
            let condition = goal.state.condition.clone();
            let known = self.contexts[goal.context].known.clone();
            decide(
                &mut self.world.terms,
                self.solver,
                &known,
                &condition,
                &same,
            ) == Truth::Proved
        })
    }
}

/// Whether `b` cannot come before `a`, because both belong to one process, or because `a` starts or
/// joins the process of `b`.
fn orders(a: &Event, b: &Event) -> bool {
    a.process == b.process || a.spawned.contains(&b.process) || a.joined.contains(&b.process)
}
