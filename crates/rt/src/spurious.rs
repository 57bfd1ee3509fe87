//! What std allows to happen for no reason: a thread wakes though nothing woke it, and
//! `compare_exchange_weak` fails though the value is as expected.
//!
//! Right code copes with it, and exploring it costs executions, so it is off unless it is asked
//! for. Each thread may meet so many in one execution as the settings say; a loop that waits again
//! would otherwise never end. Whether it happens is a choice of its own; an exchange that would
//! fail anyway has none.

use crate::world::{Pending, Place, World};

/// The kinds of things that happen for no reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spurious {
    /// `Condvar::wait` and `park` return.
    Wake,
    /// `block_on` polls.
    Poll,
    /// `compare_exchange_weak` fails.
    Failure,
}

/// What is explored of them, and what was met, by kind.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SpuriousEvents {
    pub most: [u32; 3],
    pub met: [bool; 3],
}

impl SpuriousEvents {
    /// Names what could have happened and was not explored.
    pub fn left_out(&self) -> Option<String> {
        let names = [
            "wake-ups (spurious_wakes)",
            "polls (spurious_polls)",
            "failures of compare_exchange_weak (spurious_failures)",
        ];
        let all = names.iter().enumerate();
        let off = all.filter(|(kind, _)| self.met[*kind] && self.most[*kind] == 0);
        let off: Vec<&str> = off.map(|(_, name)| *name).collect();
        (!off.is_empty()).then(|| format!("without spurious {}", off.join(" and ")))
    }
}

/// What a replay calls the settings.
const SETTINGS: [&str; 3] = ["wakes", "polls", "failures"];

impl SpuriousEvents {
    /// Returns the settings that a replay of this program needs, as in `failures=1`.
    pub fn settings(&self) -> impl Iterator<Item = String> {
        let all = SETTINGS.iter().zip(self.most).zip(self.met);
        all.filter(|&((_, most), met)| met && most > 0)
            .map(|((name, most), _)| format!("{name}={most}"))
    }

    /// Takes a setting of a replay. Returns false if it is none.
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
    /// Whether the current thread may still meet something of this kind.
    fn may_meet(&self, kind: Spurious) -> bool {
        let at = kind as usize;
        let mut inner = self.inner.borrow_mut();
        inner.spurious.met[at] = true;
        let most = inner.spurious.most[at];
        inner.me().spurious[at] < most
    }

    /// Notes that the current thread has met something: the next round of a loop does not do the
    /// same again.
    fn has_met(&self, kind: Spurious) {
        let mut inner = self.inner.borrow_mut();
        inner.me().spurious[kind as usize] += 1;
        inner.me().spin.progress();
    }

    /// Whether the current step, a `compare_exchange_weak` that could succeed, fails for no reason,
    /// in interleavings.
    pub fn fails_spuriously(&self) -> bool {
        let kind = Spurious::Failure;
        let fails = self.may_meet(kind) && self.inner.borrow_mut().outcome(0, 2) == 1;
        if fails {
            self.note(|| "fails for no reason".into());
            self.has_met(kind);
        }
        fails
    }

    /// Whether something happens to the current thread for no reason.
    pub fn spuriously(&self, kind: Spurious, place: Place) -> bool {
        if !self.may_meet(kind) {
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
            self.has_met(kind);
            if self.memory.is_some() {
                self.progress();
            }
        }
        happens
    }
}
