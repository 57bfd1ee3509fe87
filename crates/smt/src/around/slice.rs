//! Independent parts: groups of constraints that share no variable, directly or indirectly, are
//! decided separately. Groups are small and recur, which suits a cache.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::embedded::MOST_INCREMENTAL;
use crate::{Answer, Model, Solver, Statistics, Term, Terms};

/// Splits a query into independent groups. The query is satisfiable if all groups are, and its
/// model is the union of their models.
pub struct Slice<S> {
    inner: S,
    /// The variables of each constraint of earlier queries.
    variables: FxHashMap<Term, Arc<[Term]>>,
}

impl<S: Solver> Slice<S> {
    /// Wraps a solver whose queries are split.
    pub fn new(inner: S) -> Self {
        Slice {
            inner,
            variables: FxHashMap::default(),
        }
    }

    fn variables(&mut self, terms: &Terms, constraint: Term) -> Arc<[Term]> {
        let found = self.variables.entry(constraint);
        found
            .or_insert_with(|| terms.variables_of(&[constraint]).into())
            .clone()
    }

    /// Returns the groups, in the order of their first constraints.
    fn groups(&mut self, terms: &Terms, conjuncts: &[Term]) -> Vec<Vec<Term>> {
        // The group of each variable; groups that share a variable point to the earlier group.
        let mut group_of: FxHashMap<Term, usize> = FxHashMap::default();
        let mut leader: Vec<usize> = Vec::with_capacity(conjuncts.len());
        fn find(leader: &mut [usize], mut group: usize) -> usize {
            while leader[group] != group {
                leader[group] = leader[leader[group]];
                group = leader[group];
            }
            group
        }
        for (number, &conjunct) in conjuncts.iter().enumerate() {
            leader.push(number);
            for &variable in self.variables(terms, conjunct).iter() {
                let other = *group_of.entry(variable).or_insert(number);
                let (a, b) = (find(&mut leader, number), find(&mut leader, other));
                leader[a.max(b)] = a.min(b);
            }
        }
        let mut groups: Vec<Vec<Term>> = vec![Vec::new(); conjuncts.len()];
        for (number, &conjunct) in conjuncts.iter().enumerate() {
            groups[find(&mut leader, number)].push(conjunct);
        }
        groups.retain(|group| !group.is_empty());
        groups
    }
}

impl<S: Solver> Solver for Slice<S> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        if constraints.len() > MOST_INCREMENTAL {
            return self.inner.check(terms, constraints);
        }
        let Some(conjuncts) = terms.conjuncts(constraints) else {
            return Answer::Unsat;
        };
        let mut model = Model::new();
        let mut unknown = None;
        // The newest constraint decides most queries, so its group comes first.
        for group in self.groups(terms, &conjuncts).into_iter().rev() {
            match self.inner.check(terms, &group) {
                Answer::Sat(part) => {
                    for (variable, value) in part.iter() {
                        model.set(variable, value);
                    }
                }
                Answer::Unsat => return Answer::Unsat,
                Answer::Unknown(why) => unknown = Some(why),
            }
        }
        match unknown {
            None => Answer::Sat(model),
            Some(why) => Answer::Unknown(why),
        }
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        self.inner.refute(terms, constraints, universal)
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}
