//! Describes the missing synchronisation between two steps that race, for example a store that
//! would have to be `release`. `mazurka_core::missing_order` finds it.

use mazurka_core::record::Step;
use mazurka_core::{MemoryOrder, SyncAction, SyncStep, missing_order};

/// Returns the index of a name in a list; adds it if it is new.
fn number(names: &mut Vec<String>, name: &str) -> u32 {
    let known = names.iter().position(|known| known == name);
    let at = known.unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    });
    at as u32
}

/// Returns a step as a synchronisation action. A plain access synchronises nothing.
fn action(step: &Step, locks: &mut Vec<String>) -> SyncAction {
    let nothing = SyncAction::Fence {
        releases: false,
        acquires: false,
    };
    let Some(memory) = &step.memory else {
        return nothing;
    };
    let order: MemoryOrder = memory.order.parse().unwrap_or(MemoryOrder::Plain);
    let place = memory.place.as_deref().unwrap_or_default();
    // Steps are numbered from 1, and 0 is the initial value.
    let reads_from = memory.reads_from.and_then(|step| step.checked_sub(1));
    match memory.access.as_str() {
        "lock" => SyncAction::Lock {
            lock: number(locks, place),
            after: reads_from,
        },
        "unlock" => SyncAction::Unlock {
            lock: number(locks, place),
        },
        "fence" => SyncAction::Fence {
            releases: order.releases(),
            acquires: order.acquires(),
        },
        _ if order == MemoryOrder::Plain => nothing,
        access => {
            let writes = access != "read";
            SyncAction::Access {
                reads_from,
                writes,
                releases: writes && order.releases(),
                acquires: access != "write" && order.acquires(),
            }
        }
    }
}

/// Describes the missing synchronisation between two steps of a run: a colon and words. `places`
/// contains the indices of the two steps. If it does not have two elements, returns an empty text.
pub(super) fn missing(steps: &[Step], places: &[usize]) -> String {
    let &[one, two] = places else {
        return String::new();
    };
    format!(": {}", between(steps, one.min(two), one.max(two)))
}

fn between(steps: &[Step], first: usize, second: usize) -> String {
    let (mut processes, mut locks) = (Vec::new(), Vec::new());
    let (one, two) = (&steps[first], &steps[second]);
    let all: Vec<SyncStep> = steps[..second]
        .iter()
        .map(|step| SyncStep {
            thread: number(&mut processes, &step.process),
            action: action(step, &mut locks),
        })
        .collect();
    let thread = number(&mut processes, &one.process);
    let other = number(&mut processes, &two.process);
    let missing = missing_order(&all, (thread, first + 1), other);
    let access = |at: usize| format!("`{}` (line {})", steps[at].label, steps[at].line);
    missing.in_words(access, |lock| locks[lock as usize].clone())
}
