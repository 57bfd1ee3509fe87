//! The form of a path: its normal form, which is the same for all paths that count as equivalent.

use std::rc::Rc;

use mazurka_core::{Access, Fingerprint, MishapKind, Symbolic};

use super::path::{PastEvent, Path, PathLink, form, is_silent, nodes};
use super::reduction::Reduction;

/// The last link of a path in its canonical form, without the event.
#[derive(Clone, Copy)]
struct Link {
    form: Fingerprint,
    past: Fingerprint,
    discarded: bool,
    unknown: bool,
}

impl Link {
    fn with(self, event: Rc<PastEvent>, before: &Path) -> Rc<PathLink> {
        Rc::new(PathLink {
            path: self.form,
            past: self.past,
            discarded: self.discarded,
            unknown: self.unknown,
            event,
            before: before.clone(),
        })
    }
}

/// The last link of a path that is not made yet.
pub(super) struct NewLink {
    link: Link,
    event: PastEvent,
}

impl NewLink {
    fn onto(self, before: &Path) -> Rc<PathLink> {
        self.link.with(Rc::new(self.event), before)
    }
}

/// What an event adds to a path.
pub(super) enum Extension {
    /// Nothing: paths leave the event out.
    None,
    /// A new path.
    Path(Path),
    /// A link after the last one.
    Link(NewLink),
}

impl Extension {
    /// Returns the fingerprint of the form of the extended path.
    pub(super) fn form(&self, before: &Path) -> Fingerprint {
        match self {
            Extension::None => form(before),
            Extension::Path(path) => form(path),
            Extension::Link(link) => link.link.form,
        }
    }

    /// Returns the extended path.
    pub(super) fn onto(self, before: &Path) -> Path {
        match self {
            Extension::None => before.clone(),
            Extension::Path(path) => path,
            Extension::Link(link) => Some(link.onto(before)),
        }
    }
}

/// Computes forms in the current state of a program, under its path condition.
pub(super) struct Forms<'a, E> {
    pub(super) program: &'a E,
    pub(super) reduction: Reduction,
}

impl<E: Symbolic> Forms<'_, E> {
    /// Returns what the last event of the program adds to a path, in its form. Most successors are
    /// equal to others and are dropped, so the path itself is not made here if possible.
    pub(super) fn extension(&self, path: &Path) -> Extension {
        let Some(event) = self.program.events().last() else {
            return Extension::None;
        };
        if is_silent(event) {
            return Extension::None;
        }
        let indices = self.program.indices();
        let index = |at: usize| indices.get(at).copied().flatten();
        let touched = event.touched.iter().enumerate();
        let touched = touched.map(|(at, &access)| (access, index(at)));
        // A claimed cell whose index is beyond the cells of a state represents an invariant that
        // the step has evaluated.
        let cells = self.program.cells() as u32;
        let claims = event.claims.iter();
        let watched = claims.filter(|claim| claim.first >= cells);
        let new = PastEvent {
            process: event.process,
            outcomes: event.outcomes.iter().map(|o| o.value).collect(),
            touched: touched.chain(watched.map(|&claim| (claim, None))).collect(),
            spawned: event.spawned.as_slice().into(),
            joined: event.joined.as_slice().into(),
            discards: event
                .mishaps
                .iter()
                .any(|m| m.kind == MishapKind::Discarded),
        };
        if self.reduction == Reduction::Paper {
            let link = self.link(path, &new);
            let own = self.own(&new);
            let path = self.inserted(path, Rc::new(new), own, link.discarded);
            return Extension::Path(Some(path));
        }
        // A new condition may show that elements which earlier events touched are different.
        let unknown = path.as_ref().is_some_and(|node| node.unknown);
        if unknown && !new.outcomes.is_empty() {
            let mut events: Vec<Rc<PastEvent>> =
                nodes(path).map(|node| Rc::clone(&node.event)).collect();
            events.reverse();
            let mut again: Path = None;
            for event in events {
                let link = self.link(&again, &event);
                again = Some(link.with(event, &again));
            }
            let link = self.link(&again, &new);
            return Extension::Path(Some(link.with(Rc::new(new), &again)));
        }
        let link = self.link(path, &new);
        Extension::Link(NewLink { link, event: new })
    }

    /// Returns the fingerprint of an event without its past.
    fn own(&self, event: &PastEvent) -> Fingerprint {
        let name = self.program.processes().name(event.process);
        let values = event.outcomes.iter();
        values.fold(name, |all, &value| all.then(value as u64))
    }

    /// Returns what an event after a path has to say about its past, under the current path
    /// condition.
    fn link(&self, path: &Path, new: &PastEvent) -> Link {
        let (mut past, mut discarded) = (self.own(new), new.discards);
        for node in nodes(path) {
            if !self.independent(&node.event, new) {
                past = past.and(node.past);
                discarded |= node.discarded;
            }
        }
        let past = past.then(1);
        Link {
            form: form(path).and(past),
            past,
            discarded,
            unknown: new.is_unknown() || path.as_ref().is_some_and(|node| node.unknown),
        }
    }

    /// Moves an event before its neighbours as long as they are independent of it and its process
    /// comes before theirs.
    fn inserted(
        &self,
        path: &Path,
        new: Rc<PastEvent>,
        own: Fingerprint,
        discarded: bool,
    ) -> Rc<PathLink> {
        let processes = self.program.processes();
        let mut place = path.clone();
        let mut moved = Vec::new();
        while let Some(node) = place.clone() {
            let smaller = processes.path(new.process) < processes.path(node.event.process);
            if !smaller || !self.independent(&node.event, &new) {
                break;
            }
            place = node.before.clone();
            moved.push(node);
        }
        let after = |before: Path, event: Rc<PastEvent>, own: Fingerprint, discarded: bool| {
            Rc::new(PathLink {
                path: form(&before).then_all(own),
                past: own,
                discarded,
                unknown: false,
                event,
                before,
            })
        };
        let mut path = after(place, new, own, discarded);
        for node in moved.into_iter().rev() {
            let discarded = node.discarded;
            path = after(Some(path), Rc::clone(&node.event), node.past, discarded);
        }
        path
    }

    /// Whether two events are independent: Definition 4, with spawns and joins (erratum E9), and
    /// with array elements that the path condition keeps apart.
    fn independent(&self, one: &PastEvent, other: &PastEvent) -> bool {
        let orders = |a: &PastEvent, b: &PastEvent| {
            a.spawned.contains(&b.process) || a.joined.contains(&b.process)
        };
        let conflict = |&x: &(Access, Option<u32>), &y: &(Access, Option<u32>)| {
            let unknown = x.1.is_some() || y.1.is_some();
            x.0.conflicts(y.0) && !(unknown && self.program.apart(x, y))
        };
        let mut accesses = one.touched.iter();
        one.process != other.process
            && !orders(one, other)
            && !orders(other, one)
            && !accesses.any(|x| other.touched.iter().any(|y| conflict(x, y)))
    }
}
