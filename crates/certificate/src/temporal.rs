//! What holds of whole runs, decided on a set of states that no step leaves (`stateful.rs`).
//!
//! `always e` is a question to each state. Each other property has a *goal*: e of `eventually e`
//! and of `infinitely_often e`, f of `whenever e leads_to f`. A run violates it that comes into its
//! *region* and stays there:
//!
//! | property | region: states without the goal, in which no process has failed, and |
//! |---|---|
//! | `eventually e` | such states alone lead to it from the initial one |
//! | `infinitely_often e` | nothing else |
//! | `whenever e leads_to f` | such states alone lead to it from one with e |
//!
//! A run stays in a region if it ends there, or goes on in it for ever. For the latter each state
//! has a rank once more, which no step inside the region raises, and a class of equal rank can hold
//! no fair run if it has no step inside, or some process is ready in all of it and has none: this
//! is what a livelock is decided by, too. The region is computed here, from the steps that were
//! made; only ranks are read.

use std::collections::BTreeMap;

use mazurka_lang::flat::Temporal;

use crate::Rejected;
use crate::format::{Reader, put};
use crate::machine::{Life, Machine, Process, State};
use crate::stateful::{Class, beyond, components};

/// What is possible in a state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exits {
    /// The processes that are ready.
    pub ready: Vec<Process>,
    /// Who makes a step, and the number of the state that it leads to. Discarded ones are left out.
    pub steps: Vec<(Process, u32)>,
}

/// The states, and what is possible in each.
pub(crate) struct Graph<'s> {
    pub states: &'s [State],
    pub exits: &'s [Exits],
}

/// Whether a condition may be asked for here: it is over cells alone.
pub(crate) fn is_decided(machine: &Machine<'_>) -> bool {
    !machine.flat.speaks_of_locals()
}

fn has_failed(state: &State) -> bool {
    let mut threads = state.threads.iter();
    threads.any(|thread| thread.life == Life::Failed)
}

impl Graph<'_> {
    /// The states in which a condition of the program holds.
    fn holds(&self, machine: &Machine<'_>, condition: usize) -> Result<Vec<bool>, Rejected> {
        let ops = machine.flat.condition(condition);
        let ops = ops.ok_or(Rejected::Beyond("a property without its condition"))?;
        let all = self.states.iter();
        all.map(|state| machine.holds(ops, state).map_err(beyond))
            .collect()
    }

    /// The states of a region; none for `always`, which has no goal.
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

    /// The ranks for all properties that need some.
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

    /// How many properties do not hold, or may not for all that the ranks show; none if there are
    /// no ranks.
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

    /// Whether a fair run may stay in a region.
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
