//! Searches through execution graphs with checkpoints.
//!
//! A checkpoint holds the stack of choice points that the search has not finished
//! (`mazurka_memory::Unexplored`), so a search continues exactly where it stopped. The search runs
//! in slices of a few seconds, and is saved after each of them. A slice explores at least one
//! execution, even if a limit has been reached.

use std::time::Instant;

use mazurka_core::{Bound, Limits};
use mazurka_memory::{Found, Memory, Unexplored, visit_rest};
use serde_json::{Value, json};

use super::facts;
use super::program::WeakProgram;
use super::search::Watch;
use crate::builder::Summary;
use crate::checkpoint::{Checkpoint, EVERY, Stage};

/// A search that is saved.
pub(super) struct SavedSearch<'a> {
    pub memory: Memory,
    pub checkpoint: &'a Checkpoint,
    /// When the search began.
    pub start: Instant,
    pub limits: &'a Limits,
}

impl SavedSearch<'_> {
    /// Explores the rest of the search, up to the first fault.
    pub fn visit(&self, program: &mut WeakProgram, watch: &mut Watch) -> Found {
        let (mut found, mut rest) = self.resume(program, watch).unwrap_or_else(|| {
            self.checkpoint.start_anew();
            Default::default()
        });
        loop {
            let (limits, last) = self.next_slice(&found);
            program.reset();
            let (more, left) = visit_rest(&mut *program, self.memory, &limits, &rest, watch);
            let stopped = more.stopped;
            found.merge(more);
            let Some(left) = left.filter(|_| !stopped) else {
                self.checkpoint.remove();
                return found;
            };
            let is_sliced = |bound: &Bound| !last && matches!(bound, Bound::TimeLimit(_));
            found.bounds.retain(|bound| !is_sliced(bound));
            rest = left;
            let over = found.bounds.iter().any(is_limit);
            self.save(program, watch, &found.bounds, &rest);
            if over {
                self.name_limits(&mut found);
                return found;
            }
        }
    }

    /// Returns the limits of the next slice, and whether it lasts until the limit on time.
    fn next_slice(&self, found: &Found) -> (Limits, bool) {
        let counts = &found.counts;
        let minus = |most: Option<u64>, made: u64| most.map(|most| most.saturating_sub(made));
        let left = { self.limits.time }.map(|most| most.saturating_sub(self.start.elapsed()));
        let last = left.is_some_and(|left| left <= EVERY);
        let limits = Limits {
            steps: minus(self.limits.steps, counts.events),
            executions: minus(self.limits.executions, counts.executions()),
            time: Some(left.map_or(EVERY, |left| left.min(EVERY))),
            ..self.limits.clone()
        };
        (limits, last)
    }

    /// Replaces the limits of one slice by the limits that were set.
    fn name_limits(&self, found: &mut Found) {
        for bound in &mut found.bounds {
            let given = match bound {
                Bound::MaxSteps(_) => self.limits.steps.map(Bound::MaxSteps),
                Bound::MaxExecutions(_) => self.limits.executions.map(Bound::MaxExecutions),
                Bound::TimeLimit(_) => self
                    .limits
                    .time
                    .map(|time| Bound::TimeLimit(time.as_millis() as u64)),
                _ => None,
            };
            *bound = given.unwrap_or(*bound);
        }
    }

    /// Continues the saved search.
    fn resume(&self, program: &mut WeakProgram, watch: &mut Watch) -> Option<(Found, Unexplored)> {
        let saved = self.checkpoint.take(&Stage::Graphs(self.memory))?;
        let resumed = self.read(&saved, program, watch);
        match resumed {
            Some(_) => self.checkpoint.resumed.set(true),
            None => self.checkpoint.tell_damage(),
        }
        resumed
    }

    fn read(
        &self,
        saved: &Value,
        program: &mut WeakProgram,
        watch: &mut Watch,
    ) -> Option<(Found, Unexplored)> {
        facts::give(program, saved["facts"].as_str()?).ok()?;
        let rest = &saved["rest"];
        let found = Found {
            bounds: serde_json::from_value(rest["bounds"].clone()).ok()?,
            ..Found::default()
        };
        let left = Unexplored {
            ways: serde_json::from_value(rest["ways"].clone()).ok()?,
            shown: rest["shown"].as_bool()?,
            races: serde_json::from_value(rest["races"].clone()).ok()?,
        };
        let counts = (rest["executions"].as_u64()?, rest["blocked"].as_u64()?);
        (watch.explored.executions, watch.explored.blocked) = counts;
        Some((found, left))
    }

    fn save(&self, program: &WeakProgram, watch: &Watch, bounds: &[Bound], rest: &Unexplored) {
        let bounds: Vec<&Bound> = bounds.iter().filter(|bound| !is_limit(bound)).collect();
        let written = json!({
            "executions": watch.explored.executions,
            "blocked": watch.explored.blocked,
            "bounds": bounds,
            "ways": rest.ways,
            "shown": rest.shown,
            "races": rest.races,
        });
        let summary = program.inner(|inner| Summary::new(inner));
        let facts = facts::learned(program).join(" ");
        let stage = Stage::Graphs(self.memory);
        self.checkpoint.save(&stage, &summary, &facts, written);
    }
}

/// Whether a bound ends a search before everything is explored. A limit on the length of executions
/// cuts off single executions only.
fn is_limit(bound: &Bound) -> bool {
    !matches!(bound, Bound::MaxDepth(_))
}
