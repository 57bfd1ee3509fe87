//! Facts that a search has learned about the program, as text in replays.
//!
//! Some accesses are events only if the program does something special, perhaps later or in another
//! execution. For example, the end of a thread is an event only if the program calls `is_finished`.
//! A search that learns such a fact starts again with it. A replay may end before the program does
//! so. So the replay lists, after its schedule, the facts that it must know from the start:
//!
//! | text | meaning |
//! |---|---|
//! | `spins=2` | number of futile rounds of a loop that are explored |
//! | `ends` | the end of a thread is an event: `is_finished` |
//! | `count=0.1#3` | the count of the `Arc` that thread 0.1 made after three others is a location |
//! | `weak=0.1#3` | the count of weak references of this `Arc` is a location |
//! | `reads=0.1,0.2` | these threads read some `RwLock` |
//! | `tries` | an `RwLock` is tried or downgraded |
//! | `wakes=1`, `polls=1`, `failures=1` | how many spurious events of each kind a thread may meet |
//! | `0.1#0=7` | the first input of thread 0.1 |
//! | `heap` | objects are named by the blocks of the heap that they lie in |
//! | `names=src/a.rs:7:5` | several objects are made at this place, so threads register with them |

use std::fmt::Write;

use super::inputs;
use super::program::WeakProgram;

/// Separates the schedule of a replay from the facts.
const BETWEEN: char = ';';

/// Splits a replay into its schedule and the facts.
pub(super) fn split(replay: &str) -> (&str, &str) {
    replay.split_once(BETWEEN).unwrap_or((replay, ""))
}

/// Returns the facts that the search has learned, and the inputs, after a semicolon.
pub(super) fn written(program: &WeakProgram) -> String {
    let mut facts = learned(program);
    let inputs = program
        .inner(|inner| crate::inputs::collect(inner))
        .into_iter();
    facts.extend(inputs.map(|input| format!("{}={}", input.name, input.value)));
    let mut text = String::new();
    for (at, fact) in facts.iter().enumerate() {
        let between = if at == 0 { "; " } else { " " };
        let _ = write!(text, "{between}{fact}");
    }
    text
}

/// Returns the facts that the search has learned, without the inputs of the run.
pub(super) fn learned(program: &WeakProgram) -> Vec<String> {
    let mut facts = Vec::new();
    program.inner(|inner| {
        if inner.spins > program.spins {
            facts.push(format!("spins={}", inner.spins));
        }
        facts.extend(inner.spurious.settings());
        if inner.watched_ends {
            facts.push("ends".into());
        }
        if inner.readers.counted {
            facts.push("tries".into());
        } else if !inner.readers.threads.is_empty() {
            let threads = inner.readers.threads.iter();
            let paths = threads.map(|&thread| inner.names.paths[thread as usize].to_string());
            facts.push(format!("reads={}", paths.collect::<Vec<_>>().join(",")));
        }
        for (thread, number) in inner.names.regions.counted_regions() {
            facts.push(format!("count={}#{number}", inner.names.paths[thread]));
        }
        for (thread, number) in inner.names.regions.weakly_counted_regions() {
            facts.push(format!("weak={}#{number}", inner.names.paths[thread]));
        }
        facts.extend(inner.names.blocks.are_recorded().then(|| "heap".into()));
        let mut sites: Vec<String> = inner.names.registered_sites().collect();
        sites.sort();
        sites.dedup();
        facts.extend(sites.into_iter().map(|site| format!("names={site}")));
    });
    facts
}

/// Gives a program the facts of a replay.
pub(super) fn give(program: &mut WeakProgram, facts: &str) -> Result<(), String> {
    let mut given = Vec::new();
    for fact in facts.split_whitespace() {
        let misread = || format!("`{fact}` is nothing that a replay knows");
        let (name, value) = fact.split_once('=').unwrap_or((fact, ""));
        match name {
            "spins" => {
                let spins = value.parse().map_err(|_| misread())?;
                program.inner(|inner| inner.spins = inner.spins.max(spins));
            }
            "ends" => program.inner(|inner| inner.watched_ends = true),
            "tries" => program.inner(|inner| inner.readers.counted = true),
            "reads" => {
                for path in value.split(',') {
                    let path = path.parse().map_err(|_| misread())?;
                    let thread = program.thread(&path).ok_or_else(misread)?;
                    program.inner(|inner| inner.readers.threads.push(thread.0));
                }
            }
            "count" | "weak" => {
                let (path, number) = value.split_once('#').ok_or_else(misread)?;
                let path = path.parse().map_err(|_| misread())?;
                let number: u16 = number.parse().map_err(|_| misread())?;
                let thread = program.thread(&path).ok_or_else(misread)?;
                let region = (thread.index(), usize::from(number));
                program.inner(|inner| match name {
                    "count" => inner.names.regions.count_region(region),
                    _ => inner.names.regions.count_weak_references(region),
                });
            }
            "heap" => program.inner(|inner| _ = inner.names.blocks.start_recording()),
            "names" => program.inner(|inner| inner.names.shared_sites.push(value.into())),
            _ if name.contains('#') => given.push((name, value)),
            _ if program.inner(|inner| inner.spurious.give(name, value)) => {}
            _ => return Err(misread()),
        }
    }
    inputs::give(program, &given)
}
