//! Searches through execution graphs with checkpoints: in parts, one after the other.

use std::time::Instant;

use mazurka_core::{Bound, Limits};
use mazurka_memory::{Found, Memory, Part, split, visit_part};
use serde_json::{Value, json};

use super::facts;
use super::program::WeakProgram;
use super::search::Watch;
use crate::builder::Summary;
use crate::checkpoint::{Checkpoint, EVERY, Stage};

/// Number of parts that a search is cut into, if there are that many.
const ENOUGH_PARTS: usize = 256;
/// Number of choice points above the cut: at first, and at most.
const FIRST_CUT: usize = 2;
const LAST_CUT: usize = 1000;

/// A search in parts.
pub(super) struct InParts<'a> {
    pub memory: Memory,
    pub checkpoint: &'a Checkpoint,
    /// When the search began.
    pub start: Instant,
    pub limits: &'a Limits,
}

/// The state of a search that is saved.
struct SavedState<'p> {
    executions: u64,
    blocked: u64,
    bounds: Vec<Bound>,
    parts: &'p [Part],
}

impl InParts<'_> {
    /// Explores all remaining parts, up to the first fault.
    pub fn visit(&self, program: &mut WeakProgram, watch: &mut Watch) -> Found {
        let (mut found, parts) = match self.resume(program, watch) {
            Some(resumed) => resumed,
            None => self.cut(program, watch),
        };
        let mut last = Instant::now();
        let mut left = 0;
        // The findings of the finished parts.
        let mut done = (
            watch.explored.executions,
            watch.explored.blocked,
            found.bounds.clone(),
        );
        let save = |program: &WeakProgram, done: &(u64, u64, Vec<Bound>), left: usize| {
            let (executions, blocked, bounds) = done.clone();
            let parts = &parts[left..];
            let rest = SavedState {
                executions,
                blocked,
                bounds,
                parts,
            };
            self.save(program, &rest);
        };
        while left < parts.len() && !is_cut_off(&found) {
            let counts = found.counts;
            let limits = Limits {
                steps: self
                    .limits
                    .steps
                    .map(|most| most.saturating_sub(counts.events)),
                executions: (self.limits.executions)
                    .map(|most| most.saturating_sub(counts.executions())),
                time: self
                    .limits
                    .time
                    .map(|most| most.saturating_sub(self.start.elapsed())),
                ..self.limits.clone()
            };
            program.reset();
            found.merge(visit_part(
                &mut *program,
                self.memory,
                &limits,
                &parts[left],
                watch,
            ));
            if is_cut_off(&found) {
                break;
            }
            left += 1;
            done = (
                watch.explored.executions,
                watch.explored.blocked,
                found.bounds.clone(),
            );
            if last.elapsed() >= EVERY {
                save(program, &done, left);
                last = Instant::now();
            }
        }
        if left == parts.len() || found.stopped {
            self.checkpoint.remove()
        } else {
            save(program, &done, left)
        }
        // Report limits as they were set, not the remainder for one part.
        for bound in &mut found.bounds {
            let given = match bound {
                Bound::MaxSteps(_) => self.limits.steps.map(Bound::MaxSteps),
                Bound::MaxExecutions(_) => self.limits.executions.map(Bound::MaxExecutions),
                _ => None,
            };
            *bound = given.unwrap_or(*bound);
        }
        found
    }

    /// Cuts the search into parts. Everything above the cut has then been explored. If a limit ends
    /// this, the parts are those of the last cut that was complete; if there is none, nothing can
    /// be saved.
    fn cut(&self, program: &mut WeakProgram, watch: &mut Watch) -> (Found, Vec<Part>) {
        self.checkpoint.start_anew();
        let mut depth = FIRST_CUT;
        let mut coarser = None;
        loop {
            program.reset();
            let before = watch.forget();
            let (found, parts) = split(&mut *program, self.memory, self.limits, depth, &mut *watch);
            if is_cut_off(&found) && !found.stopped {
                let Some(coarser) = coarser else {
                    return (found, Vec::new());
                };
                *watch = before;
                return coarser;
            }
            let enough = parts.is_empty() || parts.len() >= ENOUGH_PARTS || depth >= LAST_CUT;
            if enough || found.stopped {
                return (found, parts);
            }
            coarser = Some((found, parts));
            depth += (depth / 4).max(2);
        }
    }

    /// Continues the saved search.
    fn resume(&self, program: &mut WeakProgram, watch: &mut Watch) -> Option<(Found, Vec<Part>)> {
        let saved = self.checkpoint.take(&Stage::Graphs(self.memory))?;
        let resumed = self.read(&saved, program);
        if resumed.is_none() {
            self.checkpoint.tell_damage();
        }
        let (executions, blocked, resumed) = resumed?;
        (watch.explored.executions, watch.explored.blocked) = (executions, blocked);
        self.checkpoint.resumed.set(true);
        Some(resumed)
    }

    fn read(
        &self,
        saved: &Value,
        program: &mut WeakProgram,
    ) -> Option<(u64, u64, (Found, Vec<Part>))> {
        facts::give(program, saved["facts"].as_str()?).ok()?;
        program.reset();
        let rest = &saved["rest"];
        let found = Found {
            bounds: serde_json::from_value(rest["bounds"].clone()).ok()?,
            ..Found::default()
        };
        let parts: Vec<Vec<u32>> = serde_json::from_value(rest["parts"].clone()).ok()?;
        let parts = parts.into_iter().map(Part::new).collect();
        let (executions, blocked) = (rest["executions"].as_u64()?, rest["blocked"].as_u64()?);
        Some((executions, blocked, (found, parts)))
    }

    fn save(&self, program: &WeakProgram, rest: &SavedState<'_>) {
        let parts: Vec<&[u32]> = rest.parts.iter().map(Part::ways).collect();
        let written = json!({
            "executions": rest.executions,
            "blocked": rest.blocked,
            "bounds": rest.bounds,
            "parts": parts,
        });
        let summary = program.inner(|inner| Summary::new(inner));
        let facts = facts::learned(program).join(" ");
        let stage = Stage::Graphs(self.memory);
        self.checkpoint.save(&stage, &summary, &facts, written);
    }
}

/// Whether a search ended before everything was explored.
fn is_cut_off(found: &Found) -> bool {
    // A limit on the length of executions cuts off single executions only.
    let limited = |bound: &Bound| !matches!(bound, Bound::MaxDepth(_));
    found.stopped || found.bounds.iter().any(limited)
}
