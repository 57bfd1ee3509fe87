//! Sleep sequences: steps that lead from a state to one whose future is known already.
//!
//! A sequence belongs to the state (its *home*) that it starts from, and is handed down to the states after it: a step that is one of
//! its own is crossed off, a step that is independent of all that is left adds to the sum that is expected at the end what it adds to
//! the current sum. A step that is neither *suspends* it: what to expect at its end is looked up when it goes on, by making what is
//! left of it first, and then the steps since.
//!
//! The order of the steps does not matter: what counts is that all of them have been made, and the state. So sequences are sets
//! of steps, with an order in which they can be tried.

use mazurka_core::{Event, Fingerprint, ProcessId};
use smallvec::SmallVec;

use crate::catalogue::{Catalogue, single};

/// Longer sequences are not kept: one is as good as its chance to be followed to the end.
pub(super) const MOST_STEPS: usize = 64;
/// No more sequences start from a state than this.
const MOST_SEQUENCES: usize = 256;
/// A sequence that is suspended for so many steps, or has so many left, is given up.
const MOST_AHEAD: usize = 32;

/// A step of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub process: ProcessId,
    pub outcomes: SmallVec<[i64; 1]>,
    /// What it claimed when it was made.
    pub claims: u32,
}

impl Step {
    pub fn of(event: &Event, claims: u32) -> Self {
        Self {
            process: event.process,
            outcomes: event.outcomes.iter().map(|o| o.value).collect(),
            claims,
        }
    }

    fn is(&self, event: &Event, claims: u32) -> bool {
        let values = event.outcomes.iter().map(|outcome| outcome.value);
        self.claims == claims && self.outcomes.iter().copied().eq(values)
    }
}

/// A sequence that starts from a state.
#[derive(Clone, Copy, Debug)]
struct Sequence {
    /// Where its steps start and end.
    first: usize,
    end: usize,
    /// The sum of the state after them.
    sum: Fingerprint,
    /// It has been seen to lead to another state: here the order of its steps matters.
    useless: bool,
    /// The states themselves have been compared, in vain.
    compared: bool,
}

/// What starts from a state.
#[derive(Debug, Default)]
struct Home {
    steps: Vec<Step>,
    /// For each step its place in the run that it was made in.
    places: Vec<usize>,
    sequences: Vec<Sequence>,
}

/// A sequence that has been followed up to a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Followed {
    pub home: usize,
    at: usize,
    /// The steps that are left, as bits.
    left: u64,
    /// The sum of the state after them, if they are made from the state `since`.
    sum: Fingerprint,
    /// The depth of the state after which steps were made that it depends on; none unless it is suspended.
    since: Option<usize>,
}

impl Followed {
    pub fn len(&self) -> u32 {
        self.left.count_ones()
    }
}

/// A suspended sequence that the last step goes on with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doubt {
    pub sequence: Followed,
    /// The depth of the state after which it was suspended.
    pub since: usize,
    /// The step that was made.
    made: u32,
}

/// A step that has been made.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub event: &'a Event,
    pub claims: u32,
    /// What it has added to the sum, and what this is now.
    pub change: Fingerprint,
    pub sum: Fingerprint,
}

/// The sequences of the states on the current path.
#[derive(Debug, Default)]
pub(super) struct Sequences {
    homes: Vec<Home>,
    /// Those that have been handed down to each state, one state after the other, and where each state's start.
    followed: Vec<Followed>,
    starts: Vec<usize>,
    doubts: Vec<Doubt>,
    /// Those that the last step has ended in a state with another sum.
    unlike: Vec<Followed>,
    stored: usize,
    most: usize,
}

impl Sequences {
    /// The initial state.
    pub fn start(&mut self) {
        self.starts.clear();
        self.followed.clear();
        self.stored = 0;
        self.enter();
    }

    fn enter(&mut self) {
        let depth = self.starts.len();
        self.starts.push(self.followed.len());
        if self.homes.len() == depth {
            self.homes.push(Home::default());
        }
        self.homes[depth].steps.clear();
        self.homes[depth].places.clear();
        self.homes[depth].sequences.clear();
    }

    /// The last state is left.
    pub fn leave(&mut self) {
        if let Some(start) = self.starts.pop() {
            self.followed.truncate(start);
            self.stored -= self.homes[self.starts.len()].sequences.len();
        }
    }

    /// The most states that were stored at any time.
    pub fn most_stored(&self) -> usize {
        self.most
    }

    /// A step has led from the last state to a new one. Whether a sequence has come to its end with it, in the state that is
    /// expected there.
    pub fn follow(&mut self, made: Made<'_>, catalogue: &Catalogue) -> bool {
        let from = self.starts.len() - 1;
        let handed = self.starts[from]..self.followed.len();
        self.enter();
        self.doubts.clear();
        self.unlike.clear();
        let mut known = false;
        for at in handed {
            known |= self.hand_down(self.followed[at], made, catalogue);
        }
        for at in 0..self.homes[from].sequences.len() {
            known |= self.hand_down(self.whole(from, at), made, catalogue);
        }
        known
    }

    fn whole(&self, home: usize, at: usize) -> Followed {
        let Sequence {
            first, end, sum, ..
        } = self.homes[home].sequences[at];
        let left = u64::MAX >> (MOST_STEPS - (end - first));
        Followed {
            home,
            at,
            left,
            sum,
            since: None,
        }
    }

    fn hand_down(&mut self, mut one: Followed, made: Made<'_>, catalogue: &Catalogue) -> bool {
        let Made { event, claims, .. } = made;
        if self.homes[one.home].sequences[one.at].useless {
            return false;
        }
        let steps = self.steps(one);
        let mut conflicts = false;
        let mut left = one.left;
        while left != 0 {
            let at = left.trailing_zeros();
            left &= left - 1;
            let step = &steps[at as usize];
            if step.process != event.process {
                conflicts |= catalogue.conflict(step.claims, single(&event.claims), &event.claims);
                continue;
            }
            if step.is(event, claims) {
                if let Some(since) = one.since {
                    self.doubts.push(Doubt {
                        sequence: one,
                        since,
                        made: at,
                    });
                    return false;
                }
                one.left &= !(1 << at);
                if one.left == 0 {
                    let known = self.expects(one, made.sum);
                    if !known {
                        self.ended_unlike(one);
                    }
                    return known;
                }
                self.followed.push(one);
            }
            return false;
        }
        let from = self.starts.len() - 2;
        match one.since {
            None if conflicts => one.since = Some(from),
            None => one.sum = one.sum.and(made.change),
            Some(_) => {}
        }
        let ahead = one.len() as usize + from - one.since.unwrap_or(from);
        if one.since.is_none() || ahead < MOST_AHEAD {
            self.followed.push(one);
        }
        false
    }

    fn steps(&self, one: Followed) -> &[Step] {
        let home = &self.homes[one.home];
        let Sequence { first, end, .. } = home.sequences[one.at];
        &home.steps[first..end]
    }

    /// The suspended sequences that the last step goes on with: those that it ends first, and then those that were suspended last.
    pub fn doubts(&mut self) -> Vec<Doubt> {
        let mut doubts = std::mem::take(&mut self.doubts);
        doubts.sort_by_key(|doubt| {
            let ends = doubt.sequence.len() == 1;
            (!ends, std::cmp::Reverse(doubt.since))
        });
        doubts
    }

    /// They have been looked at.
    pub fn no_doubts(&mut self, mut doubts: Vec<Doubt>) {
        doubts.clear();
        self.doubts = doubts;
    }

    pub fn has_doubts(&self) -> bool {
        !self.doubts.is_empty()
    }

    /// The steps that are left of a sequence, in an order in which they can be tried.
    pub fn left(&self, one: Followed) -> impl Iterator<Item = &Step> {
        let steps = self.steps(one).iter().enumerate();
        steps
            .filter(move |(at, _)| one.left >> at & 1 == 1)
            .map(|(_, step)| step)
    }

    /// Whether a sum is the one expected at the end. If not, it need not be tried again.
    pub fn expects(&mut self, one: Followed, sum: Fingerprint) -> bool {
        self.homes[one.home].sequences[one.at].useless |= one.sum != sum;
        one.sum == sum
    }

    /// A sequence has come to its end in a state with another sum than the one expected.
    pub fn ended_unlike(&mut self, one: Followed) {
        if !self.homes[one.home].sequences[one.at].compared {
            self.unlike.push(one);
        }
    }

    pub fn has_unlike(&self) -> bool {
        !self.unlike.is_empty()
    }

    /// Those that the last step has ended in a state with another sum, and that may still lead to the expected state.
    pub fn unlike(&mut self) -> Vec<Followed> {
        std::mem::take(&mut self.unlike)
    }

    /// The states themselves have been compared at the end of a sequence.
    pub fn compared(&mut self, one: Followed, equal: bool) {
        let sequence = &mut self.homes[one.home].sequences[one.at];
        (sequence.useless, sequence.compared) = (!equal, !equal);
    }

    /// The steps since the home of a sequence that has been followed to its end, in the order of the run that it was found in:
    /// its own as they were made there, and then the others.
    pub fn as_found<'a>(&'a self, one: Followed, since: &'a [Step]) -> Vec<&'a Step> {
        let home = &self.homes[one.home];
        let Sequence { first, end, .. } = home.sequences[one.at];
        let mut own: Vec<usize> = (first..end).collect();
        own.sort_unstable_by_key(|&at| home.places[at]);
        let own = own.into_iter().map(|at| &home.steps[at]);
        // The steps of a process in the sequence are its first since then.
        let mut left: SmallVec<[ProcessId; 16]> = own.clone().map(|step| step.process).collect();
        let others = since.iter().filter(|step| {
            let mine = left.iter().position(|&process| process == step.process);
            mine.map(|at| left.swap_remove(at)).is_none()
        });
        own.chain(others).collect()
    }

    /// A sequence goes on with the step that was made, and ends in a state with this sum. Whether it is at its end.
    pub fn go_on(&mut self, doubt: Doubt, sum: Fingerprint) -> bool {
        let mut one = doubt.sequence;
        one.left &= !(1 << doubt.made);
        one.sum = sum;
        one.since = None;
        if one.left != 0 {
            self.followed.push(one);
        }
        one.left == 0
    }

    /// A sequence starts from a state of the path, to a state with this sum, unless it is known.
    /// It has the steps at some places of the run.
    pub fn add(&mut self, home: usize, places: &[usize], run: &[Step], sum: Fingerprint) {
        let Home {
            steps: all,
            places: all_places,
            sequences,
        } = &mut self.homes[home];
        let steps = places.iter().map(|&at| &run[at]);
        let same = |known: &Sequence| {
            known.sum == sum && all[known.first..known.end].iter().eq(steps.clone())
        };
        if sequences.len() == MOST_SEQUENCES || sequences.iter().any(same) {
            return;
        }
        let first = all.len();
        all.extend(steps.cloned());
        all_places.extend_from_slice(places);
        sequences.push(Sequence {
            first,
            end: all.len(),
            sum,
            useless: false,
            compared: false,
        });
        self.stored += 1;
        self.most = self.most.max(self.stored);
    }

    /// How many may lead on from the last state; there never become fewer.
    pub fn count(&self) -> usize {
        let depth = self.starts.len() - 1;
        self.followed.len() - self.starts[depth] + self.homes[depth].sequences.len()
    }

    /// All sequences that lead on from a state of the path.
    pub fn at(&self, depth: usize) -> impl Iterator<Item = Followed> {
        let end = self.starts.get(depth + 1).copied();
        let end = end.unwrap_or(self.followed.len());
        let handed = self.followed[self.starts[depth]..end].iter().copied();
        let own = 0..self.homes[depth].sequences.len();
        let useful = |one: &Followed| !self.homes[one.home].sequences[one.at].useless;
        let all = handed.chain(own.map(move |at| self.whole(depth, at)));
        all.filter(useful)
    }

    /// The processes that make the first steps of those, and how long the shortest of each is.
    pub fn shortest(&self, depth: usize) -> SmallVec<[(ProcessId, u32); 8]> {
        let mut shortest: SmallVec<[(ProcessId, u32); 8]> = SmallVec::new();
        for one in self.at(depth) {
            let (first, length) = (one.left.trailing_zeros(), one.len());
            let process = self.steps(one)[first as usize].process;
            match shortest.iter_mut().find(|(known, _)| *known == process) {
                Some((_, known)) => *known = length.min(*known),
                None => shortest.push((process, length)),
            }
        }
        shortest
    }

    /// Nothing leads on from the last state.
    pub fn forget(&mut self) {
        if let Some(&start) = self.starts.last() {
            self.followed.truncate(start);
        }
        self.doubts.clear();
        self.unlike.clear();
    }
}
