//! Selectively uniform random walks (SURW): uniform over the orders of the steps that matter.
//!
//! Zhao, Wolff, Mathur, Roychoudhury, "Selectively uniform concurrency testing", ASPLOS 2025. Most
//! steps do not matter for a bug, and there are too many interleavings of all steps. So a set of
//! *interesting* steps is chosen, and the walk is uniform over their orders. It draws the process
//! that will make the next interesting step, called the *intent*. The probability of a process is
//! proportional to the number of interesting steps that it has left (see `urw`). Until that step is
//! made, the interesting steps of other processes are held back, and all other steps are made in
//! any order.
//!
//! | paper | here |
//! |---|---|
//! | Δ, the interesting events | the steps that touch `object` |
//! | nᵢ, the interesting events that thread i has left | `lengths` |
//! | the intended thread | `intent` |
//! | the order of other events: any | each ready process that is not held back is equally likely |
//!
//! The interesting steps of a walk are those that touch one object. The object is drawn among those
//! that at least two processes have touched and one has changed in earlier walks. So if a bug needs
//! an order of the accesses to one object, a walk chooses that object with probability 1/objects,
//! and is then uniform over these orders.
//!
//! Where it deviates:
//!
//! - The paper profiles the program first. Here the earlier walks of the same batch are the
//!   profile: the first walk is a random walk.
//! - The interesting steps of a process that has not been started count as steps of its parent (see
//!   `urw`). If the intended process starts other processes, the intent is drawn again among the
//!   process and its children. This keeps the orders of interesting steps uniform if no step waits.
//! - Whether a step is interesting is decided by its claims, that is, by everything that it might
//!   touch. An object is a range of cells that some claim has; a step counts once for each range
//!   that overlaps it.
//! - If all ready processes are held back, because processes wait for each other or make fewer
//!   interesting steps than expected, the intent is drawn again among the ready ones.

use mazurka_core::{Access, Claims, Execution, ProcessId, Random};
use rustc_hash::FxHashMap;

use super::sample::Picker;
use super::urw::Lengths;

/// The accesses to an object in earlier walks.
#[derive(Clone, Debug)]
struct ObjectAccesses {
    /// The cells of the object, as an access that writes them.
    cells: Access,
    /// For each process, the number of its steps that have touched the object, in all walks.
    made: Vec<u64>,
    /// Whether some step has changed the object.
    written: bool,
}

impl ObjectAccesses {
    fn is_shared(&self) -> bool {
        self.written && self.made.iter().filter(|&&made| made > 0).count() > 1
    }
}

/// Picks a process whose next step is not interesting, or the process that must make the next
/// interesting step.
#[derive(Clone, Debug, Default)]
pub struct Selective {
    /// Number of walks that have begun, excluding the current one.
    walks: u64,
    /// Whether the current walk has made a step.
    walking: bool,
    /// The objects touched, in the order of the first accesses to them.
    objects: Vec<ObjectAccesses>,
    /// The index in `objects` of each range of cells.
    numbers: FxHashMap<(u32, u32), usize>,
    /// The object of the current walk; `None` if no shared object is known.
    object: Option<Access>,
    /// The expected numbers of interesting steps that remain.
    lengths: Lengths,
    /// The process that will make the next interesting step.
    intent: Option<ProcessId>,
    /// Whether the intent must be drawn before the next step.
    open: bool,
    /// The ready processes whose next step is interesting.
    interesting: Vec<ProcessId>,
    claims: Claims,
    /// The intended process and the processes that it has just started.
    family: Vec<ProcessId>,
}

impl Selective {
    fn touches(&self, claims: &[Access]) -> bool {
        let object = self.object;
        claims
            .iter()
            .any(|claim| object.is_some_and(|object| object.conflicts(*claim)))
    }

    /// Draws the object of a walk, and sets the expected numbers of interesting steps.
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

    /// Learns from a step of a process, whose claims are in `claims`.
    fn learn(&mut self, process: ProcessId) {
        for (at, claim) in self.claims.iter().enumerate() {
            let range = (claim.first, claim.len);
            let number = *self.numbers.entry(range).or_insert_with(|| {
                self.objects.push(ObjectAccesses {
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
            // A step that reads and writes a range has two claims on it.
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

    /// Draws the process that makes the next interesting step, unless it is already drawn.
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
