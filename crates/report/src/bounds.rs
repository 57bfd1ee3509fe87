//! The names of the bounds of a search, which are the limits that it hit, and advice on each: what
//! the user can do, such as raising a flag or trying another engine.

use std::time::Duration;

use mazurka_core::Bound;
use mazurka_core::record::Record;

use crate::shell::check_command;

/// Returns what the user can do about a bound that was hit, in the imperative.
///
/// ```
/// use mazurka_core::Bound;
/// use mazurka_report::advice;
/// assert!(advice(&Bound::MaxSteps(10)).contains("--max-steps"));
/// ```
pub fn advice(bound: &Bound) -> &'static str {
    match bound {
        Bound::MaxDepth(_) => {
            "raise --max-depth, or bound the loop that does not end: `while (e)[n] { … }`"
        }
        Bound::MaxSteps(_) => "raise --max-steps, or make the program smaller (--set)",
        Bound::MaxExecutions(_) => "raise --max-executions, or make the program smaller (--set)",
        Bound::MaxMessages(_) => {
            "receive more before sending more, or raise the limit in the declaration: `chan c[..64]: …`"
        }
        Bound::MaxLocal(_) => "raise --max-local, or shorten the loop that touches only locals",
        Bound::TimeLimit(_) => "raise --time-limit, or make the program smaller (--set)",
        Bound::MemoryLimit(_) => "raise --memory-limit, or make the program smaller (--set)",
        Bound::IntRange => {
            "keep the values smaller, or declare the variable `i64`, which wraps around"
        }
        Bound::FinalStates => {
            "a net covers what each process can do, not all final states; `mazurka check` examines these"
        }
        Bound::IntWithin(_) => {
            "declare the variables `i64` or smaller; z3 or cvc5, if it is installed, decides more of `int`"
        }
        Bound::Undecided => {
            "simplify the conditions, declare numbers `i32` or smaller, or try another --solver"
        }
        Bound::Bitstate(_) => {
            "give --bitstate more memory, or omit it if the states fit into memory"
        }
        Bound::AsPrinted => "leave --paper out",
        Bound::Sampled(_) => {
            "draw more runs (--max-executions) or other runs (--seed); `mazurka check` or another --algorithm covers all runs"
        }
        Bound::Temporal => "`mazurka check` and `explore --algorithm stateful` check them",
        Bound::Covers => "`mazurka check` and `explore` search for it",
        Bound::Refinement => "`mazurka check` checks it",
        Bound::Times => {
            "give each duration a single time, or remove `now()` and `deadline()`: then the explored times are enough"
        }
        Bound::Unfold(_) => {
            "give the loop an invariant: `while e invariant I { … }`, or raise --unfold"
        }
        Bound::DataRaces => {
            "order the accesses that race, or make the variable `atomic`; `--property failure` shows a race"
        }
        Bound::Interrupted => "run it again and let it finish, or give it a --time-limit",
    }
}

/// Returns the [`advice`] on a bound, adapted to the command, the engine and the language of this
/// search.
pub(crate) fn advice_for(record: &Record, bound: &Bound) -> String {
    // Only `stateful` recognises that a run returns to a state, and it has no limit on depth.
    // `check` uses it automatically, unless there are unknown values.
    let is_maz = record.program.file.ends_with(".maz");
    let is_native = [".c", ".cc", ".cpp", ".cxx", ".C"]
        .iter()
        .any(|ending| record.program.file.ends_with(ending));
    let stateful = match record.command.as_str() {
        _ if record.memory_model.is_some() || record.algorithm == "stateful" => None,
        _ if is_native => None,
        "explore" => Some("--algorithm stateful"),
        "check" if record.solver.is_some() && is_maz => {
            Some("`mazurka explore --algorithm stateful`")
        }
        _ => None,
    };
    let is_limit = |bound: &Bound| {
        matches!(
            bound,
            Bound::TimeLimit(_) | Bound::MemoryLimit(_) | Bound::Interrupted
        )
    };
    let last = match bound {
        Bound::MaxDepth(_) if is_native => {
            "raise --max-depth, or make the infinite loop end: a loop that counts its rounds while it \
             waits has no last round, so bound the rounds, or use `__VERIFIER_assume` instead of the \
             loop"
        }
        // Only `.maz` has bounded loops.
        Bound::MaxDepth(_) if !is_maz => "raise --max-depth, or make the infinite loop end",
        _ => advice(bound),
    };
    match (bound, stateful) {
        (Bound::Sampled(_), _) if record.command == "sample" => {
            "draw more runs (--runs), other runs (--seed) or with another --method; `mazurka check` covers all runs".to_owned()
        }
        (Bound::Covers, _) if record.command == "explore" => {
            let command = check_command(&record.program);
            format!("explorations with checkpoints do not search for it: `{command}`")
        }
        (Bound::MaxDepth(_), Some(stateful)) => {
            format!("try {stateful}, which stops at states that it has visited; or {last}")
        }
        (Bound::Undecided, _) if record.scope.bounds.iter().any(is_limit) => {
            "a limit stopped the solver: raise that limit, or simplify the conditions".to_owned()
        }
        _ => last.to_owned(),
    }
}

/// Returns the name of a bound that was hit.
pub(crate) fn name(bound: &Bound) -> String {
    match *bound {
        Bound::MemoryLimit(bytes) => format!("--memory-limit {} was reached", size(bytes)),
        Bound::TimeLimit(ms) => {
            let seconds = Duration::from_millis(ms).as_secs_f64();
            format!("--time-limit {seconds}s was reached")
        }
        _ => bound.to_string(),
    }
}

/// Returns a number of bytes as a user would write it.
fn size(bytes: u64) -> String {
    let units = [(30, "G"), (20, "M"), (10, "K")];
    let fits =
        |&&(shift, _): &&(u32, &str)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift);
    match units.iter().find(fits) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_core::Verdict;

    #[test]
    fn every_flag_that_was_hit_is_named_in_the_advice() {
        for bound in [
            Bound::MaxDepth(1),
            Bound::MaxSteps(1),
            Bound::MaxExecutions(1),
            Bound::MaxLocal(1),
            Bound::TimeLimit(1),
            Bound::MemoryLimit(1),
            Bound::AsPrinted,
        ] {
            let flag = name(&bound)
                .split_whitespace()
                .find(|word| word.starts_with("--"))
                .map(str::to_owned);
            let flag = flag.expect("the bound names its flag");
            assert!(advice(&bound).contains(&flag), "{flag}");
        }
    }

    #[test]
    fn the_depth_limit_advises_the_engine_that_merges_states() {
        let mut record = crate::tests::record(Verdict::Inconclusive, Vec::new(), Vec::new());
        let advised = |record: &Record| advice_for(record, &Bound::MaxDepth(10_000));
        record.command = "explore".to_owned();
        record.algorithm = "optimal".to_owned();
        assert!(advised(&record).starts_with("try --algorithm stateful"));
        assert!(advised(&record).contains("raise --max-depth"));
        record.algorithm = "stateful".to_owned();
        assert!(!advised(&record).contains("stateful"));
        record.command = "run".to_owned();
        record.algorithm = "random".to_owned();
        assert!(!advised(&record).contains("stateful"));
        record.command = "check".to_owned();
        record.algorithm = "optimal".to_owned();
        assert!(!advised(&record).contains("stateful"));
        record.solver = Some(Default::default());
        assert!(advised(&record).starts_with("try `mazurka explore --algorithm stateful`"));
        // No engine compares states of C.
        record.command = "explore".to_owned();
        record.program.file = "queue.c".to_owned();
        let advice = advised(&record);
        assert!(
            !advice.contains("stateful") && advice.contains("__VERIFIER_assume"),
            "{advice}"
        );
    }

    #[test]
    fn a_limit_that_stopped_the_solver_is_named_in_the_advice() {
        let mut record = crate::tests::record(Verdict::Inconclusive, Vec::new(), Vec::new());
        assert!(advice_for(&record, &Bound::Undecided).contains("numbers `i32`"));
        record.scope.bounds = vec![Bound::Undecided, Bound::TimeLimit(10)];
        let advised = advice_for(&record, &Bound::Undecided);
        assert!(
            advised.starts_with("a limit stopped the solver"),
            "{advised}"
        );
    }

    #[test]
    fn sizes_are_written_as_they_are_given() {
        assert_eq!(size(512 << 20), "512M");
        assert_eq!(size(2 << 30), "2G");
        assert_eq!(size(1500), "1500");
    }
}
