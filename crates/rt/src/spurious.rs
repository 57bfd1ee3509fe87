//! Spurious events that std allows: a thread wakes although nothing woke it, and
//! `compare_exchange_weak` fails although the value is as expected.
//!
//! Correct code tolerates these events, and exploring them costs executions, so they are off by
//! default. The settings limit how many of them each thread may meet in one execution; without a
//! limit, a loop that waits again after each event would never end. Whether such an event happens
//! is a choice that the search explores. An exchange that fails because of the value has no such
//! choice.

use crate::world::{Pending, Place, World};

/// The kinds of spurious events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spurious {
    /// `Condvar::wait` and `park` return.
    Wake,
    /// `block_on` polls.
    Poll,
    /// `compare_exchange_weak` fails.
    Failure,
}

/// The limit for each kind, and whether the program could have met an event of this kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpuriousEvents {
    pub most: [u32; 3],
    pub possible: [bool; 3],
}

impl SpuriousEvents {
    /// Names the kinds that the program could have met and that are off; `None` if there are none.
    pub fn left_out(&self) -> Option<String> {
        let names = [
            "wake-ups (spurious_wakes)",
            "polls (spurious_polls)",
            "failures of compare_exchange_weak (spurious_failures)",
        ];
        let all = names.iter().enumerate();
        let off = all.filter(|(kind, _)| self.possible[*kind] && self.most[*kind] == 0);
        let off: Vec<&str> = off.map(|(_, name)| *name).collect();
        (!off.is_empty()).then(|| format!("without spurious {}", off.join(" and ")))
    }
}

/// The names of the settings in a replay.
const SETTINGS: [&str; 3] = ["wakes", "polls", "failures"];

impl SpuriousEvents {
    /// Returns the limits that a replay of this program must state, as in `failures=1`.
    pub fn settings(&self) -> impl Iterator<Item = String> {
        let all = SETTINGS.iter().zip(self.most).zip(self.possible);
        all.filter(|&((_, most), possible)| possible && most > 0)
            .map(|((name, most), _)| format!("{name}={most}"))
    }

    /// Applies a limit that a replay states. Returns false if the name is not the name of a limit,
    /// or the value is not a number.
    pub fn give(&mut self, name: &str, value: &str) -> bool {
        let kind = SETTINGS.iter().position(|known| *known == name);
        let (Some(kind), Ok(most)) = (kind, value.parse()) else {
            return false;
        };
        self.most[kind] = most;
        true
    }
}

impl World {
    /// Whether the current thread may still meet an event of this kind.
    fn may_happen(&self, kind: Spurious) -> bool {
        let at = kind as usize;
        let mut inner = self.inner.borrow_mut();
        inner.spurious.possible[at] = true;
        let most = inner.spurious.most[at];
        inner.me().spurious[at] < most
    }

    /// Records a spurious event. It counts as progress: the next round of a loop does not
    /// repeat this one.
    fn record_event(&self, kind: Spurious) {
        let mut inner = self.inner.borrow_mut();
        inner.me().spurious[kind as usize] += 1;
        inner.me().spin.progress();
    }

    /// Chooses whether the current step, a `compare_exchange_weak` that could succeed, fails
    /// spuriously. For interleavings.
    pub fn fails_spuriously(&self) -> bool {
        let kind = Spurious::Failure;
        let fails = self.may_happen(kind) && self.inner.borrow_mut().outcome(0, 2) == 1;
        if fails {
            self.note(|| "fails for no reason".into());
            self.record_event(kind);
        }
        fails
    }

    /// Chooses whether a spurious event of this kind happens to the current thread; false if its
    /// limit is reached.
    pub fn spuriously(&self, kind: Spurious, place: Place) -> bool {
        if !self.may_happen(kind) {
            return false;
        }
        let (verb, words) = match kind {
            Spurious::Wake => ("wait", "wakes for no reason"),
            Spurious::Poll => ("wait to be woken", "polls for no reason"),
            Spurious::Failure => ("compare_exchange_weak", "fails for no reason"),
        };
        let pending = Pending::new(None, ("", verb), place);
        let happens = match self.memory {
            None => {
                self.turn(pending);
                self.inner.borrow_mut().outcome(0, 2) == 1
            }
            Some(_) => self.choice(2, pending) == 1,
        };
        self.note(|| if happens { words } else { "goes on" }.into());
        if happens {
            self.record_event(kind);
            if self.memory.is_some() {
                self.progress();
            }
        }
        happens
    }
}
