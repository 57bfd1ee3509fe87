//! The exit codes of the command. `docs/` and scripts rely on the numbers.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an inconclusive answer ends with exit code 0 (`--allow-inconclusive`).
static ALLOWS_INCONCLUSIVE: AtomicBool = AtomicBool::new(false);

/// From now on, an inconclusive answer ends with exit code 0.
pub(crate) fn allow_inconclusive() {
    ALLOWS_INCONCLUSIVE.store(true, Ordering::SeqCst);
}

/// Returns the exit code of an inconclusive answer.
pub(crate) fn inconclusive() -> i32 {
    if ALLOWS_INCONCLUSIVE.load(Ordering::SeqCst) {
        Exit::Verified as i32
    } else {
        Exit::Inconclusive as i32
    }
}

/// The exit code. The numbers are a stable interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Verified within the stated scope.
    Verified = 0,
    /// Violated; `explore`: a failure or a deadlock was found.
    Violated = 1,
    /// A bound (a limit of the search) was hit before the answer was certain.
    Inconclusive = 2,
    /// Bad input or usage.
    BadInput = 3,
    /// A defect of Mazurka.
    Internal = 4,
}

impl Exit {
    /// Returns the exit with this code.
    pub(crate) fn of_code(code: i32) -> Self {
        match code {
            0 => Exit::Verified,
            1 => Exit::Violated,
            2 => Exit::Inconclusive,
            3 => Exit::BadInput,
            _ => Exit::Internal,
        }
    }

    /// Returns the worse of two exit codes, for a command to which both apply. A requested file
    /// that was not written ([`BadInput`](Self::BadInput)) is worse than the answers "verified" and
    /// "inconclusive", because a script must not continue without the file. A violation is worse
    /// still, because it is certain.
    pub(crate) fn worse(self, other: Self) -> Self {
        let rank = |exit: Self| match exit {
            Exit::Verified => 0,
            Exit::Inconclusive => 1,
            Exit::BadInput => 2,
            Exit::Violated => 3,
            Exit::Internal => 4,
        };
        std::cmp::max_by_key(self, other, |exit| rank(*exit))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Inconclusive => ExitCode::from(inconclusive() as u8),
            exit => ExitCode::from(exit as u8),
        }
    }
}

impl From<mazurka::Verdict> for Exit {
    fn from(verdict: mazurka::Verdict) -> Self {
        match verdict {
            mazurka::Verdict::Verified => Exit::Verified,
            mazurka::Verdict::Violated => Exit::Violated,
            mazurka::Verdict::Inconclusive => Exit::Inconclusive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_takes_precedence_then_a_missing_file() {
        let order = [
            Exit::Verified,
            Exit::Inconclusive,
            Exit::BadInput,
            Exit::Violated,
            Exit::Internal,
        ];
        for (at, one) in order.iter().enumerate() {
            for other in &order[at..] {
                assert_eq!(one.worse(*other), *other);
                assert_eq!(other.worse(*one), *other);
            }
        }
    }
}
