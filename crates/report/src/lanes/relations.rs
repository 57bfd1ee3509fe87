//! The relations of an execution graph: the write that a read reads from, the order of the writes
//! to a place, and synchronisation. All of them are derived from the accesses in the record of a
//! run. In the run, each read comes after the write that it reads from. A write in the record lists
//! the earlier steps whose writes come after it in the modification order. So this order is built
//! by inserting one write at a time.

use mazurka_core::record::{MemoryStep, Run};

/// A relation between two steps, by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relation {
    pub from: usize,
    pub to: usize,
    /// The kinds of the relations between the two steps. The first determines how the arrow is
    /// drawn.
    pub kinds: Vec<RelationKind>,
}

/// The kinds of relations of an execution graph, except program order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RelationKind {
    /// The second step acquires what the first one released.
    SynchronisesWith,
    /// The second step reads what the first one wrote.
    ReadsFrom,
    /// The second step is the next one to write to the place.
    ModificationOrder,
    /// The second step is the next one to overwrite what the first one has read.
    FromRead,
}

impl RelationKind {
    pub const ALL: [Self; 4] = [
        Self::SynchronisesWith,
        Self::ReadsFrom,
        Self::ModificationOrder,
        Self::FromRead,
    ];

    /// Returns its name in papers.
    pub fn short(self) -> &'static str {
        match self {
            Self::SynchronisesWith => "sw",
            Self::ReadsFrom => "rf",
            Self::ModificationOrder => "mo",
            Self::FromRead => "fr",
        }
    }

    /// Returns its meaning, for a legend.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::SynchronisesWith => "sw: synchronises with, so what is before it happens before",
            Self::ReadsFrom => "rf: the write that is read",
            Self::ModificationOrder => "mo: the next write of the place",
            Self::FromRead => "fr: the write that overwrites what was read",
        }
    }

    /// Returns its colour.
    pub fn colour(self) -> &'static str {
        match self {
            Self::SynchronisesWith => "#1f618d",
            Self::ReadsFrom => "#1e8449",
            Self::ModificationOrder => "#6e2c00",
            Self::FromRead => "#c0392b",
        }
    }

    /// Whether its line is dashed.
    pub fn is_dashed(self) -> bool {
        self == Self::FromRead
    }
}

/// The accesses of a run.
struct Accesses<'a> {
    run: &'a Run,
    /// Whether every access acquires and releases, as under the model ra.
    all_order: bool,
    /// Whether the memory model has synchronisation; only ra and rc11 do.
    synchronises: bool,
}

/// Returns the relations of a run under a memory model. `model` is `None` for a run of
/// interleavings, which has no relations.
pub(crate) fn relations(run: &Run, model: Option<&str>) -> Vec<Relation> {
    let accesses = Accesses {
        run,
        all_order: model == Some("ra"),
        synchronises: matches!(model, Some("ra" | "rc11")),
    };
    let mut pairs = Vec::new();
    let mut places: Vec<&str> = Vec::new();
    for at in 0..run.steps.len() {
        let place = accesses.of(at).and_then(|access| access.place.as_deref());
        if let Some(place) = place.filter(|place| !places.contains(place)) {
            places.push(place);
            accesses.of_place(place, &mut pairs);
        }
        if accesses.synchronises {
            accesses.synchronisation(at, &mut pairs);
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    let mut relations: Vec<Relation> = Vec::new();
    for (from, to, kind) in pairs {
        match relations.last_mut() {
            Some(last) if (last.from, last.to) == (from, to) => last.kinds.push(kind),
            _ => relations.push(Relation {
                from,
                to,
                kinds: vec![kind],
            }),
        }
    }
    relations
}

impl<'a> Accesses<'a> {
    fn of(&self, at: usize) -> Option<&'a MemoryStep> {
        self.run.steps[at].memory.as_deref()
    }

    fn process(&self, at: usize) -> &'a str {
        &self.run.steps[at].process
    }

    /// Returns the step that an access reads from; `None` for the initial value.
    fn source(&self, access: &MemoryStep) -> Option<usize> {
        access.reads_from.and_then(|from| from.checked_sub(1))
    }

    /// Adds reads-from, modification order and from-read of a place.
    fn of_place(&self, place: &str, pairs: &mut Vec<(usize, usize, RelationKind)>) {
        let own = |&at: &usize| {
            self.of(at)
                .is_some_and(|one| one.place.as_deref() == Some(place))
        };
        let all: Vec<usize> = (0..self.run.steps.len()).filter(own).collect();
        let mut order: Vec<usize> = Vec::new();
        for &at in &all {
            // A race ends the execution, so its second access is not part of the graph.
            let ends = self.run.steps[at].racing && at + 1 == self.run.steps.len();
            if let Some(access) = self.of(at).filter(|access| writes(access) && !ends) {
                let newer = order
                    .iter()
                    .filter(|&&write| access.behind.contains(&(write + 1)));
                order.insert(order.len() - newer.count(), at);
            }
        }
        for pair in order.windows(2) {
            pairs.push((pair[0], pair[1], RelationKind::ModificationOrder));
        }
        for &at in &all {
            let Some(access) = self.of(at).filter(|access| access.reads_from.is_some()) else {
                continue;
            };
            let source = self.source(access);
            pairs.extend(source.map(|from| (from, at, RelationKind::ReadsFrom)));
            let next = match source {
                Some(from) => order
                    .iter()
                    .position(|&write| write == from)
                    .map(|at| at + 1),
                None => Some(0),
            };
            let next = next.and_then(|next| order.get(next));
            if let Some(&next) = next.filter(|&&next| next != at) {
                pairs.push((at, next, RelationKind::FromRead));
            }
        }
    }

    /// Adds the steps that a step synchronises with.
    fn synchronisation(&self, at: usize, pairs: &mut Vec<(usize, usize, RelationKind)>) {
        let Some(access) = self.of(at).filter(|access| self.is_atomic(access)) else {
            return;
        };
        let Some(mut write) = self.source(access) else {
            return;
        };
        let Some(acquires) = self.acquires(at, access) else {
            return;
        };
        // Follow the release sequence backwards: from the read through updates to the releasing
        // write.
        loop {
            let Some(source) = self.of(write).filter(|source| self.is_atomic(source)) else {
                return;
            };
            if let Some(released) = self.released(write, source)
                && self.process(released) != self.process(acquires)
            {
                pairs.push((released, acquires, RelationKind::SynchronisesWith));
            }
            match self.source(source) {
                Some(earlier) if source.access == "update" => write = earlier,
                _ => return,
            }
        }
    }

    /// Whether an access can synchronise: that of an atomic variable or of a lock.
    fn is_atomic(&self, access: &MemoryStep) -> bool {
        self.all_order || is_lock(access) || access.order != "plain"
    }

    /// Returns the step that acquires the write from which a read reads: the read itself, or the
    /// next acquiring fence of its process. `None` if there is no such step.
    fn acquires(&self, at: usize, access: &MemoryStep) -> Option<usize> {
        if self.all_order || is_lock(access) || acquiring(&access.order) {
            return Some(at);
        }
        let mut later = at + 1..self.run.steps.len();
        later.find(|&other| {
            self.is_fence(other, at) && self.of(other).is_some_and(|fence| acquiring(&fence.order))
        })
    }

    /// Returns the step that releases a write: the write itself, or the last releasing fence of its
    /// process. `None` if there is no such step.
    fn released(&self, at: usize, access: &MemoryStep) -> Option<usize> {
        if self.all_order || is_lock(access) || releasing(&access.order) {
            return Some(at);
        }
        let mut earlier = (0..at).rev();
        earlier.find(|&other| {
            self.is_fence(other, at) && self.of(other).is_some_and(|fence| releasing(&fence.order))
        })
    }

    /// Whether a step is a fence of the same process.
    fn is_fence(&self, other: usize, at: usize) -> bool {
        let fence = |access: &MemoryStep| access.access == "fence";
        self.process(other) == self.process(at) && self.of(other).is_some_and(fence)
    }
}

fn writes(access: &MemoryStep) -> bool {
    matches!(
        access.access.as_str(),
        "write" | "update" | "lock" | "unlock"
    )
}

fn is_lock(access: &MemoryStep) -> bool {
    matches!(access.access.as_str(), "lock" | "unlock")
}

fn acquiring(order: &str) -> bool {
    matches!(order, "acquire" | "acq_rel" | "seq_cst")
}

fn releasing(order: &str) -> bool {
    matches!(order, "release" | "acq_rel" | "seq_cst")
}
