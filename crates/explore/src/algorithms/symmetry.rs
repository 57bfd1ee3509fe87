//! States up to permutations of interchangeable processes: one state of each orbit is explored.
//!
//! Ip, Dill, *Better verification through symmetry*, Formal Methods in System Design 9, 1996;
//! Clarke, Enders, Filkorn, Jha, *Exploiting symmetry in temporal logic model checking*, same
//! volume; on finding a representative McKay, *Practical graph isomorphism*, Congressus Numerantium
//! 30, 1981. docs/proofs/symmetry.md has the proofs.
//!
//! A *member* is a part of the program that is interchangeable with the others of its group, such
//! as one of several equal processes ([`Symmetric`]). The permutations of members are automorphisms
//! of the graph of states. The *orbit* of a state s consists of the states π·s. All states of an
//! orbit have the same futures up to names. So a state is stored under the key of its orbit: the
//! least fingerprint among some states of the orbit. The choice of these states does not depend on
//! the names of members. The explored states are states that runs reach, so all schedules are real.
//! The key only decides whether a state is known.
//!
//! | paper | here |
//! |---|---|
//! | ξ(s), the canonical state | [`Orbits::canonical`], as a fingerprint |
//! | ordered partition | colours: members with lesser colours come first |
//! | refinement | [`Orbits::refine`], by how the state looks from each member |
//! | the tree of partitions | [`Orbits::descend`] |
//!
//! At first all members of a group have one colour. A member's *view* is the image of the state in
//! which the member has a label of its own and all others are labelled by their colours. Different
//! views split a colour. Members that share a colour are often interchangeable in this state: if
//! each exchange of two neighbours among them leaves the state unchanged, every order of them gives
//! the same image, and this image is the result. Otherwise views with the new colours split
//! further. When they no longer split, each member that has the first shared colour is in turn made
//! the first of these members, and the least image counts. No step of this computation depends on
//! the names, so states of one orbit have one key. Conversely, states with one key are in one
//! orbit, because a key is the fingerprint of a state of its orbit.
//!
//! The size of the orbit follows: it is the number of all permutations (n! for a group of n
//! members), divided by the number of permutations that leave the state unchanged. The latter is
//! the number of labellings that give the least image.
//!
//! Stubborn sets: a set that is [stubborn](crate::algorithms::stubborn) in s is, after renaming,
//! stubborn in π·s. So it does not matter which state of an orbit is explored. Which state of an
//! orbit is explored may depend on the workers, but the numbers of states and steps must not. So
//! the choice among several smallest stubborn sets must be the same for all states of an orbit.
//! This choice depends on an order of the processes; their order in the canonical state is used.
//!
//! Deviations: only fingerprints are renamed, never states. A fingerprint is an unordered sum of
//! parts, so the parts that no permutation changes are added once. Observations
//! ([`Orbits::observations`]) and sites of failures ([`crate::algorithms::permuted`]) are collected
//! over the whole orbit.

use mazurka_core::{Fingerprint, ProcessId, Semantics, Symmetric};

/// The observation of a final state of an orbit, and a permutation that leads to this state.
pub(crate) type OrbitObservation = (Fingerprint, Vec<u32>);

/// Finds the orbits of states.
#[derive(Debug)]
pub(crate) struct Orbits {
    /// For each group, the index of its first member, and the index after its last.
    groups: Vec<(usize, usize)>,
    /// The canonical labelling of the last state examined.
    labels: Vec<u32>,
    /// The number of states of that state's orbit; `u64::MAX` if there are more.
    size: u64,
    /// The number of states of all added orbits; `u64::MAX` if there are more.
    all: u64,
    /// The least image so far, and the number of labellings with this image; `None` for the number
    /// if it does not fit.
    best: Option<(Fingerprint, Option<u128>)>,
    /// Kept between calls to reuse the allocation.
    views: Vec<(Fingerprint, usize)>,
    trial: Vec<u32>,
}

/// Returns n!, if it fits.
fn factorial(n: usize) -> Option<u128> {
    (1..=n as u128).try_fold(1u128, u128::checked_mul)
}

impl Orbits {
    /// Creates a finder of orbits for a program with interchangeable members.
    pub fn new(program: &dyn Symmetric) -> Self {
        let mut first = 0;
        let groups = program.groups().iter().map(|&size| {
            let group = (first, first + size as usize);
            first = group.1;
            group
        });
        Self {
            groups: groups.collect(),
            labels: Vec::new(),
            size: 0,
            all: 0,
            best: None,
            views: Vec::new(),
            trial: Vec::new(),
        }
    }

    fn members(&self) -> usize {
        self.groups.last().map_or(0, |group| group.1)
    }

    /// Returns the key of the orbit of the current state.
    pub fn canonical(&mut self, program: &dyn Symmetric) -> Fingerprint {
        let mut colours = Vec::with_capacity(self.members());
        for &(first, end) in &self.groups {
            colours.resize(end, first as u32);
        }
        self.best = None;
        self.descend(program, colours);
        let (image, times) = self.best.take().unwrap_or((Fingerprint::ZERO, None));
        let mut groups = self
            .groups
            .iter()
            .map(|(first, end)| factorial(end - first));
        let all = groups.try_fold(1u128, |all, one| all.checked_mul(one?));
        let size = all.zip(times).map(|(all, times)| all / times);
        let size = size.and_then(|size| u64::try_from(size).ok());
        self.size = size.unwrap_or(u64::MAX);
        program.unmoved().and(image)
    }

    /// Adds the orbit of the last state examined, which is new.
    pub fn add(&mut self) {
        self.all = self.all.saturating_add(self.size);
    }

    /// Returns the number of states of all added orbits; `u64::MAX` if there are more.
    pub fn states(&self) -> u64 {
        self.all
    }

    /// Searches for the least image among the labellings that the colours allow.
    fn descend(&mut self, program: &dyn Symmetric, mut colours: Vec<u32>) {
        let mut image;
        loop {
            let split = self.refine(program, &mut colours);
            let labels = self.spread(&colours);
            image = program.image(&labels);
            if self.are_alike(program, &colours, &labels, image) {
                return self.leaf(&colours, labels, image);
            }
            if !split {
                break;
            }
        }
        let shared = |colour: u32| colours.iter().filter(|&&other| other == colour).count();
        let first = colours
            .iter()
            .copied()
            .filter(|&colour| shared(colour) > 1)
            .min();
        let Some(first) = first else { return };
        for member in 0..colours.len() {
            if colours[member] == first {
                let mut colours = colours.clone();
                for (other, colour) in colours.iter_mut().enumerate() {
                    *colour += u32::from(*colour == first && other != member);
                }
                self.descend(program, colours);
            }
        }
    }

    /// Records an image. All labellings that the colours allow have this image.
    fn leaf(&mut self, colours: &[u32], labels: Vec<u32>, image: Fingerprint) {
        let mut times = Some(1u128);
        let mut runs: Vec<u32> = colours.to_vec();
        runs.sort_unstable();
        for run in runs.chunk_by(|a, b| a == b) {
            let own = factorial(run.len());
            times = times.zip(own).and_then(|(all, own)| all.checked_mul(own));
        }
        match &mut self.best {
            Some((best, _)) if *best < image => {}
            Some((best, known)) if *best == image => {
                let sum = known.zip(times);
                *known = sum.and_then(|(all, own)| all.checked_add(own));
            }
            best => {
                *best = Some((image, times));
                self.labels = labels;
            }
        }
    }

    /// Splits colours by the views of members. Returns whether any was split.
    fn refine(&mut self, program: &dyn Symmetric, colours: &mut [u32]) -> bool {
        let own = colours.len() as u32 + 1;
        let mut views = std::mem::take(&mut self.views);
        let mut next = colours.to_vec();
        let mut split = false;
        for &(first, end) in &self.groups {
            for colour in first as u32..end as u32 {
                views.clear();
                let sharing = (first..end).filter(|&member| colours[member] == colour);
                views.extend(sharing.map(|member| (Fingerprint::ZERO, member)));
                if views.len() < 2 {
                    continue;
                }
                for (view, member) in &mut views {
                    let before = std::mem::replace(&mut colours[*member], own);
                    *view = program.image(colours);
                    colours[*member] = before;
                }
                views.sort_unstable();
                let mut rank = colour;
                for (at, &(view, member)) in views.iter().enumerate() {
                    if at > 0 && views[at - 1].0 != view {
                        rank = colour + at as u32;
                        split = true;
                    }
                    next[member] = rank;
                }
            }
        }
        self.views = views;
        colours.copy_from_slice(&next);
        split
    }

    /// Returns a labelling that the colours allow.
    fn spread(&mut self, colours: &[u32]) -> Vec<u32> {
        let mut next: Vec<u32> = (0..colours.len() as u32).collect();
        let label = |&colour: &u32| {
            let label = next[colour as usize];
            next[colour as usize] += 1;
            label
        };
        colours.iter().map(label).collect()
    }

    /// Whether all labellings that the colours allow have this image.
    fn are_alike(
        &mut self,
        program: &dyn Symmetric,
        colours: &[u32],
        labels: &[u32],
        image: Fingerprint,
    ) -> bool {
        let mut last: Vec<Option<usize>> = vec![None; colours.len()];
        self.trial.clear();
        self.trial.extend_from_slice(labels);
        for (member, &colour) in colours.iter().enumerate() {
            if let Some(before) = last[colour as usize].replace(member) {
                self.trial.swap(before, member);
                let same = program.image(&self.trial) == image;
                self.trial.swap(before, member);
                if !same {
                    return false;
                }
            }
        }
        true
    }

    /// Sorts the processes into their order in the canonical state of the current orbit. The
    /// current state must be the last one examined.
    pub fn in_order<E: Semantics>(&self, program: &E, into: &mut Vec<ProcessId>) {
        into.clear();
        into.extend(program.processes().in_order());
        if let Some(symmetric) = program.symmetry() {
            let table = program.processes();
            into.sort_by_key(|&process| {
                let renamed = symmetric.process_of(process, &self.labels);
                table.path(renamed)
            });
        }
    }

    /// Returns the observations of the other states in the orbit of the current state. Permutations
    /// act on observations, so repeated exchanges of neighbours find the observations of all
    /// permutations.
    pub fn observations<E: Semantics>(&self, program: &E) -> Vec<OrbitObservation> {
        let Some(symmetric) = program.symmetry() else {
            return Vec::new();
        };
        let same: Vec<u32> = (0..self.members() as u32).collect();
        let mut all = vec![(symmetric.observation_of(&same), same)];
        let mut known: rustc_hash::FxHashSet<Fingerprint> = all.iter().map(|one| one.0).collect();
        let mut at = 0;
        while at < all.len() {
            for exchanged in self.exchanges() {
                let labels: Vec<u32> = all[at].1.iter().map(|&label| exchanged(label)).collect();
                let observed = symmetric.observation_of(&labels);
                if known.insert(observed) {
                    all.push((observed, labels));
                }
            }
            at += 1;
        }
        all.remove(0);
        all
    }

    /// Returns the exchanges of two neighbours in a group, which generate all permutations.
    pub fn exchanges(&self) -> impl Iterator<Item = impl Fn(u32) -> u32 + use<>> {
        let pairs = self.groups.iter().flat_map(|&(first, end)| first + 1..end);
        pairs.map(|second| {
            let (first, second) = (second as u32 - 1, second as u32);
            move |label: u32| match label {
                label if label == first => second,
                label if label == second => first,
                other => other,
            }
        })
    }
}
