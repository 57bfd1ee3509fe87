//! Finds the missing synchronisation between two accesses that race.
//!
//! After the first access, its thread can make the access visible by writing an atomic location
//! (here a *place*) that another thread reads. The reading thread can do the same for a third
//! thread, and so on. This is a chain of *links*: each link is a write and a read of that write. If
//! a chain reaches the thread of the second access, synchronisation is missing at the links whose
//! write does not release or whose read does not acquire. A fence can take the part of a release or
//! an acquire, and an update of another thread continues the release sequence that it reads from.
//! If there is no chain, the locks held at the two accesses are more informative.

use std::collections::BTreeMap;

/// An action of a thread that may order other actions.
///
/// ```
/// use mazurka_core::{Missing, SyncAction, SyncStep, missing_order};
///
/// // Thread 1 stores relaxed after its access, and thread 2 reads that with an acquire load.
/// let (releases, acquires) = (false, true);
/// let store = SyncAction::Access { reads_from: None, writes: true, releases, acquires: false };
/// let load = SyncAction::Access { reads_from: Some(0), writes: false, releases, acquires };
/// let steps = [SyncStep { thread: 1, action: store }, SyncStep { thread: 2, action: load }];
/// let Missing::Links(links) = missing_order(&steps, (1, 0), 2) else { panic!("a link") };
/// assert!((links[0].write, links[0].read) == (0, 1));
/// assert!(links[0].release && !links[0].acquire);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncAction {
    /// An access to an atomic place that reads the write of the step `reads_from`.
    Access {
        /// The step whose write the access reads, if it reads and such a step exists.
        reads_from: Option<usize>,
        /// Whether the access writes.
        writes: bool,
        /// Whether its write releases.
        releases: bool,
        /// Whether its read acquires.
        acquires: bool,
    },
    /// A fence.
    Fence {
        /// Whether it releases.
        releases: bool,
        /// Whether it acquires.
        acquires: bool,
    },
    /// Takes a lock that the step `after` has released last.
    Lock {
        /// The lock.
        lock: u32,
        /// The step that has released it, if there is one.
        after: Option<usize>,
    },
    /// Releases a lock.
    Unlock {
        /// The lock.
        lock: u32,
    },
    /// Orders all earlier actions of the thread of the step before all later actions of `thread`,
    /// as starting or joining a thread does.
    Orders {
        /// The other thread.
        thread: u32,
    },
}

/// A step of a thread; steps are listed in the order of the execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncStep {
    /// The thread.
    pub thread: u32,
    /// Its action.
    pub action: SyncAction,
}

/// A write and a read of that write that do not synchronise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The step of the write.
    pub write: usize,
    /// The step of the read.
    pub read: usize,
    /// Whether the write should release, but does not.
    pub release: bool,
    /// Whether the read should acquire, but does not.
    pub acquire: bool,
}

/// The synchronisation that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The threads communicate through these links, which do not synchronise.
    Links(Vec<Link>),
    /// The threads do not communicate; these locks are held at the first and at the second access.
    Locks(Vec<u32>, Vec<u32>),
}

impl Missing {
    /// Describes the missing synchronisation in words. `access` describes the access of a step,
    /// `lock` a lock.
    pub fn in_words(
        &self,
        access: impl Fn(usize) -> String,
        lock: impl Fn(u32) -> String,
    ) -> String {
        match self {
            Self::Links(links) => {
                let sides = links.iter().flat_map(|link| {
                    let write = link.release.then_some((link.write, "release"));
                    let read = link.acquire.then_some((link.read, "acquire"));
                    write.into_iter().chain(read)
                });
                let words = sides.map(|(at, has_to)| format!("{} has to {has_to}", access(at)));
                words.collect::<Vec<_>>().join(", and ")
            }
            Self::Locks(first, second) if first.is_empty() && second.is_empty() => {
                "no lock, join or atomic access orders them".to_owned()
            }
            Self::Locks(first, second) => {
                let named = |held: &[u32]| match held {
                    [] => "no lock".to_owned(),
                    _ => {
                        let names = held.iter().map(|&it| format!("`{}`", lock(it)));
                        names.collect::<Vec<_>>().join(" and ")
                    }
                };
                let verb = if first.len() > 1 { "are" } else { "is" };
                let (first, second) = (named(first), named(second));
                format!("{first} {verb} held at the first, {second} at the second")
            }
        }
    }

    /// Returns the result for the two accesses in the other order.
    pub fn swapped(self) -> Self {
        match self {
            Self::Locks(first, second) => Self::Locks(second, first),
            links => links,
        }
    }
}

/// How the search for a chain reached a thread.
#[derive(Clone, Copy)]
struct ReachedThread {
    /// The previous thread of the chain, and the link between the two threads: the steps of its
    /// write and of its read, or `None` if a step of the previous thread directly orders this one,
    /// such as a spawn. For the first thread, the whole field is `None`.
    from: Option<(u32, Option<(usize, usize)>)>,
    /// The step at which it was reached. From here on, the thread can make the access visible.
    at: usize,
}

/// Returns the missing order between two accesses: one of the thread `first.0`, made before the
/// step `first.1`, and one of the thread `second`, made after all these steps.
pub fn missing_order(steps: &[SyncStep], first: (u32, usize), second: u32) -> Missing {
    let chain = chain(steps, first, second);
    let broken: Vec<Link> = chain
        .into_iter()
        .rev()
        .filter_map(|(since, write, read)| broken(steps, since, (write, read)))
        .collect();
    if broken.is_empty() {
        Missing::Locks(held(&steps[..first.1], first.0), held(steps, second))
    } else {
        Missing::Links(broken)
    }
}

/// Returns the links of a chain, the last one first; empty if no chain reaches the second thread. A
/// link is three steps: the step from which on the writing thread can make the access visible, the
/// write, and the read.
fn chain(
    steps: &[SyncStep],
    (first, position): (u32, usize),
    second: u32,
) -> Vec<(usize, usize, usize)> {
    let mut reached: BTreeMap<u32, ReachedThread> = BTreeMap::new();
    let at = position;
    reached.insert(first, ReachedThread { from: None, at });
    // For each step that continues a release sequence, the write at its head.
    let mut heads: BTreeMap<usize, usize> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate().skip(position) {
        let thread = step.thread;
        let (reads_from, writes) = match step.action {
            SyncAction::Access {
                reads_from, writes, ..
            } => (reads_from, writes),
            SyncAction::Lock { after, .. } => (after, false),
            SyncAction::Unlock { .. } => (None, true),
            SyncAction::Fence { .. } => continue,
            SyncAction::Orders { thread: other } => {
                if reached.contains_key(&thread) {
                    let from = Some((thread, None));
                    reached.entry(other).or_insert(ReachedThread { from, at });
                }
                continue;
            }
        };
        let head = reads_from.and_then(|write| heads.get(&write).copied());
        let known = reached.contains_key(&thread);
        if let (Some(head), false) = (head, known) {
            let from = Some((steps[head].thread, Some((head, at))));
            reached.insert(thread, ReachedThread { from, at });
        }
        if writes && known {
            heads.insert(at, at);
        } else if let (true, Some(head)) = (writes, head) {
            heads.insert(at, head);
        }
    }
    let mut links = Vec::new();
    let mut thread = second;
    while thread != first {
        let Some(ReachedThread {
            from: Some((before, link)),
            ..
        }) = reached.get(&thread)
        else {
            return Vec::new();
        };
        let since = reached.get(before).map_or(position, |it| it.at);
        links.extend(link.map(|(write, read)| (since, write, read)));
        thread = *before;
    }
    links
}

/// Returns the missing orders of a link, or `None` if the link synchronises.
fn broken(steps: &[SyncStep], since: usize, (write, read): (usize, usize)) -> Option<Link> {
    let fenced = |thread: u32, steps: &[SyncStep], release: bool| {
        steps.iter().any(|step| {
            let helps = match step.action {
                SyncAction::Fence { releases, acquires } => {
                    if release {
                        releases
                    } else {
                        acquires
                    }
                }
                _ => false,
            };
            step.thread == thread && helps
        })
    };
    let releases = match steps[write].action {
        SyncAction::Access { releases, .. } => releases,
        _ => true,
    };
    let acquires = match steps[read].action {
        SyncAction::Access { acquires, .. } => acquires,
        _ => true,
    };
    let release = !releases && !fenced(steps[write].thread, &steps[since..write], true);
    let acquire = !acquires && !fenced(steps[read].thread, &steps[read..], false);
    (release || acquire).then_some(Link {
        write,
        read,
        release,
        acquire,
    })
}

/// Returns the locks that a thread holds after these steps.
fn held(steps: &[SyncStep], thread: u32) -> Vec<u32> {
    let mut held = Vec::new();
    for step in steps.iter().filter(|step| step.thread == thread) {
        match step.action {
            SyncAction::Lock { lock, .. } => held.push(lock),
            SyncAction::Unlock { lock } => held.retain(|&it| it != lock),
            _ => {}
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(thread: u32, reads_from: Option<usize>, writes: bool, orders: bool) -> SyncStep {
        let action = SyncAction::Access {
            reads_from,
            writes,
            releases: orders && writes,
            acquires: orders && reads_from.is_some(),
        };
        SyncStep { thread, action }
    }

    fn links(steps: &[SyncStep], first: (u32, usize), second: u32) -> Vec<(usize, usize, u8)> {
        let Missing::Links(links) = missing_order(steps, first, second) else {
            return Vec::new();
        };
        let lacks = |link: &Link| u8::from(link.release) + 2 * u8::from(link.acquire);
        let links = links.iter();
        links.map(|it| (it.write, it.read, lacks(it))).collect()
    }

    #[test]
    fn links_that_do_not_synchronise_are_named() {
        for (store, load, lacks) in [(false, true, 1), (true, false, 2), (false, false, 3)] {
            let steps = [
                access(0, None, true, store),
                access(1, Some(0), false, load),
            ];
            assert_eq!(links(&steps, (0, 0), 1), [(0, 1, lacks)]);
        }
        // A write before the access does not make it visible.
        let steps = [
            access(0, None, true, false),
            access(1, Some(0), false, false),
        ];
        assert_eq!(links(&steps, (0, 1), 1), []);
    }

    #[test]
    fn a_chain_goes_through_other_threads() {
        let steps = [
            access(0, None, true, true),
            access(2, Some(0), false, true),
            access(2, None, true, false),
            access(1, Some(2), false, true),
        ];
        assert_eq!(links(&steps, (0, 0), 1), [(2, 3, 1)]);
        // An update continues the release sequence that it reads from.
        let steps = [
            access(0, None, true, false),
            access(2, Some(0), true, false),
            access(1, Some(1), false, true),
        ];
        assert_eq!(links(&steps, (0, 0), 1), [(0, 2, 1)]);
    }

    #[test]
    fn fences_help() {
        let fence = |thread: u32, releases: bool| SyncStep {
            thread,
            action: SyncAction::Fence {
                releases,
                acquires: !releases,
            },
        };
        let steps = [
            fence(0, true),
            access(0, None, true, false),
            access(1, Some(1), false, false),
        ];
        assert_eq!(links(&steps, (0, 0), 1), [(1, 2, 2)]);
        // A fence before the access has no effect.
        assert_eq!(links(&steps, (0, 1), 1), [(1, 2, 3)]);
        let steps = [
            access(0, None, true, false),
            access(1, Some(0), false, false),
            fence(1, false),
        ];
        assert_eq!(links(&steps, (0, 0), 1), [(0, 1, 1)]);
    }

    #[test]
    fn locks_are_those_that_are_held() {
        let lock = |thread: u32, lock: u32| SyncStep {
            thread,
            action: SyncAction::Lock { lock, after: None },
        };
        let unlock = |thread: u32, lock: u32| SyncStep {
            thread,
            action: SyncAction::Unlock { lock },
        };
        let steps = [
            lock(0, 7),
            unlock(0, 7),
            lock(1, 8),
            lock(1, 9),
            unlock(1, 8),
        ];
        let missing = missing_order(&steps, (0, 1), 1);
        assert_eq!(missing, Missing::Locks(vec![7], vec![9]));
    }
}
