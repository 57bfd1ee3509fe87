//! Shared parts of the comparisons of random programs with interpreters (crowd/, hunt/).

use std::fmt::Debug;

use mazurka_rt::sync::atomic::Ordering;
use mazurka_rt::sync::{PoisonError, TryLockError};

pub struct Random(mazurka_core::Random);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    pub fn order(&mut self) -> Ordering {
        use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
        [SeqCst, SeqCst, AcqRel, Acquire, Release, Relaxed][self.below(6)]
    }
}

/// Returns the generator for the program with this number.
pub fn numbered(seed: u64, number: u64) -> Random {
    Random(mazurka_core::Random::new(seed << 32 | number))
}

/// Returns the part of an ordering that a load can have.
pub fn for_load(order: Ordering) -> Ordering {
    match order {
        Ordering::AcqRel => Ordering::Acquire,
        Ordering::Release => Ordering::Relaxed,
        other => other,
    }
}

/// Returns the part of an ordering that a store can have.
pub fn for_store(order: Ordering) -> Ordering {
    match order {
        Ordering::AcqRel => Ordering::Release,
        Ordering::Acquire => Ordering::Relaxed,
        other => other,
    }
}

/// Returns a guard, and whether the lock is poisoned.
pub fn with_poison<G>(result: Result<G, PoisonError<G>>) -> (G, bool) {
    match result {
        Ok(guard) => (guard, false),
        Err(error) => (error.into_inner(), true),
    }
}

/// Like [`with_poison`], for an attempt to take the lock. Returns `None` if the lock is held.
pub fn try_with_poison<G>(result: Result<G, TryLockError<G>>) -> Option<(G, bool)> {
    match result {
        Ok(guard) => Some((guard, false)),
        Err(TryLockError::Poisoned(error)) => Some((error.into_inner(), true)),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Returns the panic message of a search.
pub fn message(error: Box<dyn std::any::Any + Send>) -> String {
    error
        .downcast::<String>()
        .map_or_else(|_| "?".into(), |text| *text)
}

/// The result of comparing the interpreter with the crate on one program. An error describes a
/// disagreement; otherwise it says whether the program shows the feature that the hunt counts (a
/// race, a deadlock). `None` if the program is too large to run.
pub type Compared = Option<Result<bool, String>>;

/// The number of compared programs, and of those that show the feature.
pub struct Hunted {
    pub compared: u64,
    pub marked: u64,
}

/// A kind of random programs.
pub trait Hunt {
    type Program: Clone + Debug;

    fn program(&self, random: &mut Random) -> Self::Program;

    fn compare(&self, program: &Self::Program) -> Compared;

    /// Returns all programs that lack one operation.
    fn smaller(&self, program: &Self::Program) -> Vec<Self::Program>;

    /// Compares `programs` programs. Panics with a small program on which the crate and the
    /// interpreter disagree, if there is one.
    fn run(&self, seed: u64, programs: u64) -> Hunted {
        let (mut compared, mut marked) = (0, 0);
        for number in 0..programs {
            let program = self.program(&mut numbered(seed, number));
            match self.compare(&program) {
                None => {}
                Some(Ok(mark)) => (compared, marked) = (compared + 1, marked + u64::from(mark)),
                Some(Err(how)) => {
                    let (program, how) = self.least(program, how);
                    panic!("seed {seed}, program {number}: {program:#?}\n{how}");
                }
            }
        }
        println!("seed {seed}: {programs} programs, {compared} compared, {marked} of them marked");
        Hunted { compared, marked }
    }

    /// Removes operations while the disagreement remains.
    fn least(&self, mut program: Self::Program, mut how: String) -> (Self::Program, String) {
        'smaller: loop {
            for less in self.smaller(&program) {
                if let Some(Err(still)) = self.compare(&less) {
                    (program, how) = (less, still);
                    continue 'smaller;
                }
            }
            return (program, how);
        }
    }
}

/// Returns the seed and the number of programs that the environment variables set.
pub fn requested_programs() -> (u64, u64) {
    let variable = |name| std::env::var(name).ok()?.parse().ok();
    (
        variable("MAZURKA_SEED").unwrap_or(1),
        variable("MAZURKA_PROGRAMS").unwrap_or(5000),
    )
}
