//! Selectively uniform random walks (SURW): uniform over the orders of the steps that matter.
//!
//! Zhao, Wolff, Mathur, Roychoudhury, "Selectively uniform concurrency testing", ASPLOS 2025. Most
//! steps are of no interest for a bug, and the interleavings of all of them are too many. So a set
//! of *interesting* steps is chosen, and the walk is uniform over the orders of these. It draws
//! which process makes the next interesting step, its *intent*, with a chance proportional to the
//! interesting steps that processes have left (see `urw`). Until then the interesting steps of the
//! others are held back, and all other steps are made in any order.
//!
//! | paper | here |
//! |---|---|
//! | Δ, the interesting events | the steps that touch `object` |
//! | nᵢ, those that thread i has left | `lengths` |
//! | the intended thread | `intent` |
//! | the order of other events: any | each ready process that is not held back is as likely |
//!
//! What is interesting is drawn for each walk: the steps that touch one object, of those that two
//! processes have touched and one of them has changed in the walks before. So walks of a bug that
//! needs an order of the accesses of one object take a chance of 1/objects, and are uniform then.
//!
//! Where it deviates:
//!
//! - The paper profiles the program first. Here the walks before, of the same batch, are the
//!   profile: the first one is a random walk.
//! - A process that is not started yet belongs to its parent (see `urw`). If the intended process
//!   starts others, the intent is drawn among it and these: that keeps the orders of interesting
//!   steps uniform where no step waits.
//! - Whether a step is interesting is decided by its claims, which are all that it might touch. An
//!   object is a range of cells as claims have them; a step counts once for each range that
//!   overlaps it.
//! - If no step is left but those that are held back, which happens where processes wait for each
//!   other or are shorter than expected, the intent is drawn anew among the ready ones.

use mazurka_core::{Access, Claims, Execution, ProcessId, Random};
use rustc_hash::FxHashMap;

use super::sample::Picker;
use super::urw::Lengths;

/// What was learned of an object.
#[derive(Clone, Debug)]
struct Learned {
    /// The cells, as a write of them.
    cells: Access,
    /// The steps of each process that have touched it, in all walks.
    made: Vec<u64>,
    /// Whether one of them has changed it.
    written: bool,
}

impl Learned {
    fn is_shared(&self) -> bool {
        self.written && self.made.iter().filter(|&&made| made > 0).count() > 1
    }
}

/// A process whose step is not interesting, or the one that is meant to make the next of these.
#[derive(Clone, Debug, Default)]
pub struct Selective {
    /// The walks that have begun, without the current one.
    walks: u64,
    /// Whether the current one has made a step.
    walking: bool,
    /// What was touched, in the order in which it was met first.
    objects: Vec<Learned>,
    numbers: FxHashMap<(u32, u32), usize>,
    /// The object of the current walk; none if nothing is known that processes share.
    object: Option<Access>,
    lengths: Lengths,
    intent: Option<ProcessId>,
    /// Whether the next interesting step is still to be drawn.
    open: bool,
    /// The ready processes whose next step is interesting.
    interesting: Vec<ProcessId>,
    claims: Claims,
    /// A process and those that it has just started.
    family: Vec<ProcessId>,
}

impl Selective {
    fn touches(&self, claims: &[Access]) -> bool {
        let object = self.object;
        claims
            .iter()
            .any(|claim| object.is_some_and(|object| object.conflicts(*claim)))
    }

    /// Draws the object of a walk, and what is expected of the processes.
    fn draw_object(&mut self, random: &mut Random) {
        let shared = self.objects.iter().filter(|object| object.is_shared());
        let count = shared.clone().count() as u64;
        let drawn = (count > 0).then(|| random.below(count) as usize);
        let drawn = drawn.and_then(|at| shared.clone().nth(at));
        self.object = drawn.map(|object| object.cells);
        let mut made: Vec<u64> = Vec::new();
        for object in &self.objects {
            if !self
                .object
                .is_some_and(|drawn| drawn.conflicts(object.cells))
            {
                continue;
            }
            made.resize(made.len().max(object.made.len()), 0);
            for (all, more) in made.iter_mut().zip(&object.made) {
                *all += more;
            }
        }
        self.lengths.expect(self.walks, made);
    }

    /// Learns from a step that touches what `claims` says.
    fn learn(&mut self, process: ProcessId) {
        for (at, claim) in self.claims.iter().enumerate() {
            let range = (claim.first, claim.len);
            let number = *self.numbers.entry(range).or_insert_with(|| {
                self.objects.push(Learned {
                    cells: Access::write(claim.first).over(claim.len),
                    made: Vec::new(),
                    written: false,
                });
                self.objects.len() - 1
            });
            let object = &mut self.objects[number];
            object.written |= claim.writes();
            if object.made.len() <= process.index() {
                object.made.resize(process.index() + 1, 0);
            }
            // A step that reads and writes a range has two claims of it.
            let before = self.claims[..at].iter();
            let again = before
                .clone()
                .any(|other| (other.first, other.len) == range);
            object.made[process.index()] += u64::from(!again);
        }
    }

    /// Whether the next step of a ready process is not held back.
    fn is_free(&self, process: ProcessId) -> bool {
        self.intent == Some(process) || !self.interesting.contains(&process)
    }

    /// Draws the process that makes the next interesting step, if it is to be drawn now.
    fn intend<E: Execution>(&mut self, ready: &[ProcessId], program: &E, random: &mut Random) {
        if self.object.is_none() {
            return;
        }
        self.lengths.weigh(program);
        let last = program.events().last();
        if self.open {
            self.intent = self.lengths.draw(ready, random);
            self.open = false;
        } else if let Some(event) = last
            && self.intent == Some(event.process)
            && !event.spawned.is_empty()
        {
            self.family.clear();
            self.family.push(event.process);
            self.family.extend_from_slice(&event.spawned);
            self.intent = self.lengths.draw(&self.family, random).or(self.intent);
        }
        if !ready.iter().any(|&process| self.is_free(process)) {
            self.intent = self.lengths.draw(ready, random);
        }
    }
}

impl<E: Execution> Picker<E> for Selective {
    fn begin(&mut self, random: &mut Random) {
        self.walks += u64::from(self.walking);
        self.walking = false;
        self.draw_object(random);
        (self.intent, self.open) = (None, true);
    }

    fn pick(&mut self, ready: &[ProcessId], program: &E, random: &mut Random) -> ProcessId {
        self.walking = true;
        self.interesting.clear();
        for &process in ready {
            program.claims(process, &mut self.claims);
            if self.touches(&self.claims) {
                self.lengths.at_least_one(process);
                self.interesting.push(process);
            }
        }
        self.intend(ready, program, random);
        let free = ready.iter().filter(|&&process| self.is_free(process));
        let drawn = random.below(free.clone().count() as u64);
        let drawn = *free.clone().nth(drawn as usize).expect("one is free");
        if self.interesting.contains(&drawn) {
            self.lengths.step(drawn);
            self.open = true;
        }
        program.claims(drawn, &mut self.claims);
        self.learn(drawn);
        drawn
    }
}
