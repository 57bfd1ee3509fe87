//! Decides temporal properties on a set of states that is closed under steps (`stateful.rs`).
//!
//! `always e` is checked in each state. Each of the other properties has a *goal*: e for
//! `eventually e` and for `infinitely_often e`, f for `whenever e leads_to f`. A run violates the
//! property if it enters the *region* of the property and stays there:
//!
//! | property | its region: the states without the goal in which no process has failed, if they |
//! |---|---|
//! | `eventually e` | are reached from the initial state through such states only |
//! | `infinitely_often e` | (no further condition) |
//! | `whenever e leads_to f` | are reached from a state with e through such states only |
//!
//! A run stays in a region if it ends in the region, or never leaves it. To decide the second case,
//! each state also has a rank for the region, and no step inside the region raises the rank. A fair
//! run can stay in a class of equal rank only if some step stays in the class, and if each process
//! that is ready in all states of the class has a step that stays in it. Livelocks are decided in
//! the same way. The checker computes the region from the steps that it makes; only ranks are read
//! from the file.

use std::collections::BTreeMap;

use mazurka_lang::flat::Temporal;

use crate::Rejected;
use crate::format::{Reader, put};
use crate::machine::{Life, Machine, Process, State};
use crate::stateful::{Class, beyond, components};

/// The possible steps in a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exits {
    /// The processes that are ready.
    pub ready: Vec<Process>,
    /// The processes that make a step, each with the index of the next state. Discarded steps are
    /// omitted.
    pub steps: Vec<(Process, u32)>,
}

/// The states, and the possible steps in each.
pub(crate) struct Graph<'s> {
    pub states: &'s [State],
    pub exits: &'s [Exits],
}

/// Whether temporal properties can be decided, because their conditions read only cells.
pub(crate) fn is_decided(machine: &Machine<'_>) -> bool {
    !machine.flat.mentions_locals()
}

fn has_failed(state: &State) -> bool {
    let mut threads = state.threads.iter();
    threads.any(|thread| thread.life == Life::Failed)
}

impl Graph<'_> {
    /// Returns, for each state, whether a condition of the program holds.
    fn holds(&self, machine: &Machine<'_>, condition: usize) -> Result<Vec<bool>, Rejected> {
        let ops = machine.flat.condition(condition);
        let ops = ops.ok_or(Rejected::Beyond("a property without its condition"))?;
        let all = self.states.iter();
        all.map(|state| machine.holds(ops, state).map_err(beyond))
            .collect()
    }

    /// Returns, for each state, whether it is in the region; `None` for `always`, which has no
    /// goal.
    fn region(
        &self,
        machine: &Machine<'_>,
        property: Temporal,
    ) -> Result<Option<Vec<bool>>, Rejected> {
        let (goal, from) = match property {
            Temporal::Always(_) => return Ok(None),
            Temporal::Eventually(e) | Temporal::InfinitelyOften(e) => (e, None),
            Temporal::LeadsTo(e, f) => (f, Some(e)),
        };
        let mut open: Vec<bool> = self.holds(machine, goal)?;
        for (open, state) in open.iter_mut().zip(self.states) {
            *open = !*open && !has_failed(state);
        }
        let mut starts: Vec<u32> = match (property, from) {
            (Temporal::InfinitelyOften(_), _) => return Ok(Some(open)),
            (_, None) => vec![0],
            (_, Some(e)) => {
                let holds = self.holds(machine, e)?.into_iter().zip(0..);
                let holds = holds.filter(|(holds, _)| *holds);
                holds.map(|(_, number)| number).collect()
            }
        };
        let mut region = vec![false; self.states.len()];
        while let Some(number) = starts.pop() {
            let at = number as usize;
            if open[at] && !region[at] {
                region[at] = true;
                starts.extend(self.exits[at].steps.iter().map(|&(_, next)| next));
            }
        }
        Ok(Some(region))
    }

    /// Writes the ranks for all properties that need them.
    pub fn ranks(&self, machine: &Machine<'_>, out: &mut Vec<u8>) -> Result<(), Rejected> {
        for property in machine.flat.temporal() {
            let Some(region) = self.region(machine, property)? else {
                continue;
            };
            let inside = |(at, exits): (usize, &Exits)| -> Vec<u32> {
                let steps = exits.steps.iter().map(|&(_, next)| next);
                let stays = |next: &u32| region[at] && region[*next as usize];
                steps.filter(stays).collect()
            };
            let edges: Vec<Vec<u32>> = self.exits.iter().enumerate().map(inside).collect();
            for (rank, inside) in components(&edges).into_iter().zip(&region) {
                put(out, if *inside { rank.into() } else { 0 });
            }
        }
        Ok(())
    }

    /// Returns the number of properties that the evidence does not show to hold: the violated
    /// properties, and the properties that the ranks do not decide. `None` if the evidence has no
    /// ranks for them.
    pub fn broken(
        &self,
        machine: &Machine<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Option<u64>, Rejected> {
        let mut broken = 0;
        for property in machine.flat.temporal() {
            if let Temporal::Always(e) = property {
                let holds = self.holds(machine, e)?;
                let mut both = holds.iter().zip(self.states);
                broken += u64::from(both.any(|(holds, state)| !holds && !has_failed(state)));
                continue;
            }
            if reader.rest.is_empty() {
                return Ok(None);
            }
            let ranks: Result<Vec<u32>, Rejected> = (0..self.states.len())
                .map(|_| Ok(u32::try_from(reader.number()?).unwrap_or(u32::MAX)))
                .collect();
            let region = self.region(machine, property)?.unwrap_or_default();
            broken += u64::from(self.may_stay(&region, &ranks?)?);
        }
        Ok(Some(broken))
    }

    /// Whether a fair run may stay in a region, as far as the ranks show.
    fn may_stay(&self, region: &[bool], ranks: &[u32]) -> Result<bool, Rejected> {
        let mut classes = BTreeMap::<u32, Class>::new();
        for (at, exits) in self.exits.iter().enumerate() {
            if !region[at] {
                continue;
            }
            if exits.ready.is_empty() {
                return Ok(true);
            }
            let mut inside = Vec::new();
            for &(process, next) in &exits.steps {
                let next = next as usize;
                if region[next] && ranks[next] > ranks[at] {
                    return Err(Rejected::States("a rank rises"));
                }
                if region[next] && ranks[next] == ranks[at] {
                    inside.push(process);
                }
            }
            classes
                .entry(ranks[at])
                .or_default()
                .add(&exits.ready, &inside);
        }
        Ok(classes.values().any(Class::has_a_fair_run))
    }
}
