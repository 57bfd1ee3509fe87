//! The command line.

mod args;
mod bench;
mod commands;
mod diagnose;
mod files;
mod output;
mod prove;
mod reach;
mod solver;
mod symbolic;
mod unfold;
mod values;
mod watch;

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;

/// What the shell is told. The numbers are a stable interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Verified within the stated scope.
    Verified = 0,
    /// Violated; `explore`: a failure or a deadlock was found.
    Violated = 1,
    /// A bound was hit before anything was certain.
    Inconclusive = 2,
    /// Bad input or usage.
    BadInput = 3,
    /// A defect of Mazurka.
    Internal = 4,
}

impl Exit {
    /// The one to end with if both are true. A violation stays one whatever else goes wrong,
    /// because it is certain. What was asked for and not done is worse than every other answer, or
    /// a script would go on with a file that is not there.
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
        ExitCode::from(exit as u8)
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

/// Reads the arguments and does what they say.
pub(crate) fn main() -> Exit {
    match args::Cli::try_parse() {
        Ok(cli) => commands::run(&cli.command),
        Err(error) => {
            let exit = match error.use_stderr() {
                true => Exit::BadInput,
                false => Exit::Verified,
            };
            output::written(error.print(), exit)
        }
    }
}

/// Turns a panic into a message that asks for a report, and exit code 4.
pub(crate) fn guarded(work: impl FnOnce() -> Exit) -> Exit {
    panic::set_hook(Box::new(|panic| {
        let payload = panic.payload();
        let text = match (
            payload.downcast_ref::<&str>(),
            payload.downcast_ref::<String>(),
        ) {
            (Some(text), _) => (*text).to_owned(),
            (None, Some(text)) => text.clone(),
            (None, None) => "no message".to_owned(),
        };
        let place = panic
            .location()
            .map(|at| format!(" ({at})"))
            .unwrap_or_default();
        output::complain(&format!(
            "internal error: {text}{place}\n\
             This is a defect of Mazurka, not of your program. Please report it, with the program and the command."
        ));
        // Release builds do not unwind (it costs a tenth of the speed): they end here.
        if cfg!(panic = "abort") {
            files::settle();
            std::process::exit(Exit::Internal as i32);
        }
    }));
    panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or(Exit::Internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_worse_than_a_missing_file_and_that_than_the_rest() {
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

    #[test]
    fn a_panic_is_an_internal_error() {
        assert_eq!(guarded(|| panic!("planted")), Exit::Internal);
        assert_eq!(guarded(|| Exit::Violated), Exit::Violated);
    }
}
