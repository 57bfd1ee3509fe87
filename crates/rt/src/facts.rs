//! Facts that a search of interleavings has learned about the program, as text in replays.
//!
//! Some operations are steps only if the program does something special in some execution. For
//! example, the end of a thread is a step only if the program calls `is_finished`. A search that
//! learns such a fact starts again with it. A replay makes a single execution, in which the program
//! may not do this. So the replay lists, after its schedule, the facts that it must know from the
//! start:
//!
//! | text | meaning |
//! |---|---|
//! | `loop=src/a.rs:7:5*3` | at this place, three futile rounds of a loop are explored |
//! | `ends` | the end of a thread is a step: `is_finished` |
//! | `count=0.1#3` | the count of the `Arc` that thread 0.1 made after three others is shared |
//! | `weak=0.1#3` | the count of weak references of this `Arc` is shared |
//! | `heap` | objects are named by the blocks of the heap that they lie in |
//! | `names=src/a.rs:7:5` | several objects are made at this place, so threads register with them |
//! | `wakes=1`, `polls=1`, `failures=1` | how many spurious events of each kind a thread may meet |
//!
//! All facts together would make a replay long, and the replayed execution usually shows them by
//! itself. So a replay states the facts of all rows but the last only if its schedule cannot be
//! followed without them. It always states the facts of the last row.

use mazurka_core::{Execution, Schedule};

use crate::report;
use crate::simulate::Simulator;

/// Returns the facts that a replay lists after its schedule.
pub(crate) fn needed(simulator: &Simulator, schedule: &Schedule) -> Vec<String> {
    if simulator.is_shown_by(schedule) {
        simulator.inner(|inner| inner.spurious.settings().collect())
    } else {
        all(simulator)
    }
}

/// Returns all facts that a search has learned.
pub(crate) fn all(simulator: &Simulator) -> Vec<String> {
    simulator.inner(|inner| {
        let mut facts: Vec<String> = inner.spurious.settings().collect();
        for (place, rounds) in inner.loops.explored() {
            facts.push(format!("loop={}*{rounds}", word(place)));
        }
        if inner.watched_ends {
            facts.push("ends".into());
        }
        for (count, (thread, number)) in inner.names.regions.explored_counts() {
            facts.push(format!("{count}={}#{number}", inner.names.paths[thread]));
        }
        facts.extend(inner.names.blocks.are_recorded().then(|| "heap".into()));
        let mut sites: Vec<String> = inner.names.registered_sites().collect();
        sites.sort();
        facts.extend(sites.into_iter().map(|site| format!("names={site}")));
        facts
    })
}

/// Returns a place as a word.
pub(crate) fn word(place: impl ToString) -> String {
    place.to_string().replace(' ', "%20")
}

/// Gives a program the fact that a word of a replay states. Returns false if the word is not a fact
/// but the value of an input.
pub(crate) fn give(simulator: &mut Simulator, fact: &str) -> Result<bool, String> {
    let misread = || format!("`{fact}` is nothing that a replay knows");
    let (name, value) = fact.split_once('=').unwrap_or((fact, ""));
    match name {
        "loop" => {
            let (place, rounds) = value.rsplit_once('*').ok_or_else(misread)?;
            let rounds = rounds.parse().map_err(|_| misread())?;
            simulator.inner(|inner| inner.loops.explore(place.into(), rounds));
        }
        "ends" => simulator.inner(|inner| inner.watched_ends = true),
        "count" | "weak" => {
            let (path, number) = value.split_once('#').ok_or_else(misread)?;
            let path = path.parse().map_err(|_| misread())?;
            let number: u16 = number.parse().map_err(|_| misread())?;
            let thread = simulator.thread(&path).ok_or_else(misread)?;
            let region = (thread.index(), usize::from(number));
            simulator.inner(|inner| inner.names.regions.explore_count(name, region));
        }
        "heap" => simulator.inner(|inner| _ = inner.names.blocks.start_recording()),
        "names" => simulator.inner(|inner| inner.names.shared_sites.push(value.into())),
        _ => return Ok(simulator.inner(|inner| inner.spurious.give(name, value))),
    }
    Ok(true)
}

impl Simulator {
    /// Whether the program can make the steps of a schedule without being given any facts, with one
    /// event for each step.
    fn is_shown_by(&self, schedule: &Schedule) -> bool {
        let mut other = self.anew();
        let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            crate::check::with_restarts(&mut other, |other| {
                let made = report::play(other, schedule).is_ok();
                made && other.events().len() == schedule.0.len()
            })
        }));
        matches!(made, Ok(Ok(true)))
    }
}
