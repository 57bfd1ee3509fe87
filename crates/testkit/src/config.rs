//! The features and the size of generated programs.

/// Which features of the language the generator may use, and how large its programs may be.
///
/// ```
/// use mazurka_testkit::{Config, generate};
/// let text = generate(3, &Config { locks: false, ..Config::default() }).to_string();
/// assert!(!text.contains("lock"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The maximal number of processes at the start (at least 2).
    pub processes: usize,
    /// The maximal number of interleavings, by the generator's own rough estimate.
    pub interleavings: f64,
    /// Arrays, indexed by constants, locals and shared memory.
    pub arrays: bool,
    /// Locks and arrays of locks.
    pub locks: bool,
    /// `|>`, `await`, `|>*`: everything that waits for a condition.
    pub guards: bool,
    /// `s <| e |> t`
    pub choices: bool,
    /// `if`
    pub branches: bool,
    /// `while` and `for`, always bounded.
    pub loops: bool,
    /// `spawn` and `join`.
    pub spawn: bool,
    /// `atomic` blocks.
    pub atomic: bool,
    /// Procedures and calls.
    pub procedures: bool,
    /// `choose`
    pub choose: bool,
    /// `input`, restricted to a few values by `assume`. Off by default: few engines support inputs.
    pub inputs: bool,
    /// `assert`, `error`, `ensures`, and accidental failures: division by zero, an index out of
    /// bounds, `unlock` of a lock that is not held.
    pub failures: bool,
    /// `assume`
    pub assume: bool,
    /// `invariant` (which can fail).
    pub invariants: bool,
    /// `i8` and `u8`.
    pub narrow: bool,
    /// `atomicity access`
    pub access: bool,
    /// `x, y := y, x`
    pub simultaneous: bool,
}

impl Default for Config {
    /// Everything but inputs.
    fn default() -> Self {
        Self {
            processes: 4,
            interleavings: 12_000.0,
            arrays: true,
            locks: true,
            guards: true,
            choices: true,
            branches: true,
            loops: true,
            spawn: true,
            atomic: true,
            procedures: true,
            choose: true,
            inputs: false,
            failures: true,
            assume: true,
            invariants: true,
            narrow: true,
            access: true,
            simultaneous: true,
        }
    }
}

impl Config {
    /// Assignments only: nothing waits, branches, fails or starts anything.
    pub fn plain() -> Self {
        Self {
            arrays: false,
            locks: false,
            guards: false,
            choices: false,
            branches: false,
            loops: false,
            spawn: false,
            atomic: false,
            procedures: false,
            choose: false,
            failures: false,
            assume: false,
            invariants: false,
            narrow: false,
            access: false,
            simultaneous: false,
            ..Self::default()
        }
    }

    /// Turns off everything that waits for a condition, and everything that chooses.
    pub fn without_conditions(self) -> Self {
        Self {
            guards: false,
            atomic: false,
            choices: false,
            choose: false,
            ..self
        }
    }

    /// Turns off everything that can halt a process before its end.
    pub fn without_mishaps(self) -> Self {
        Self {
            failures: false,
            assume: false,
            invariants: false,
            ..self
        }
    }
}
