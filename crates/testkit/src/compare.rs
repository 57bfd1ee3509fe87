//! Compares explorers with brute force.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use mazurka_lang::Machine;

use crate::brute::{Limit, naive};
use crate::record::{Dependence, Summary};

/// A part of a [`Summary`] that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The set of traces.
    Traces,
    /// The number of traces, for engines whose fingerprints of traces differ from those of brute
    /// force.
    TraceCount,
    /// The set of deadlocked traces.
    Deadlocks,
    /// The set of failures.
    Failures,
    /// The set of observed final states.
    FinalStates,
}

impl Aspect {
    /// The aspects in which an engine that visits each trace must agree with brute force.
    pub const ALL: &'static [Self] = &[
        Self::Traces,
        Self::Deadlocks,
        Self::Failures,
        Self::FinalStates,
    ];
}

impl Summary {
    /// Returns how this summary differs from the true one, if it does.
    pub fn difference(&self, truth: &Self, aspects: &[Aspect]) -> Option<String> {
        fn sets<T: Ord + Debug>(
            name: &str,
            mine: &BTreeSet<T>,
            truth: &BTreeSet<T>,
        ) -> Option<String> {
            let lost = truth.difference(mine).count();
            let invented = mine.difference(truth).count();
            (lost + invented > 0).then(|| {
                let total = truth.len();
                format!("{name}: {lost} of {total} not found, {invented} found that do not exist")
            })
        }
        let found: Vec<String> = aspects
            .iter()
            .filter_map(|aspect| match aspect {
                Aspect::Traces => sets("traces", &self.traces, &truth.traces),
                Aspect::TraceCount => {
                    let (mine, truth) = (self.traces.len(), truth.traces.len());
                    (mine != truth).then(|| format!("traces: {mine} instead of {truth}"))
                }
                Aspect::Deadlocks => sets("deadlocks", &self.deadlocks, &truth.deadlocks),
                Aspect::Failures => sets("failures", &self.failures, &truth.failures),
                Aspect::FinalStates => {
                    sets("final states", &self.final_states, &truth.final_states)
                }
            })
            .collect();
        (!found.is_empty()).then(|| found.join("; "))
    }
}

/// The result of comparing an engine with brute force on one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Their results are the same.
    Agree,
    /// Their results differ, as the text describes.
    Differ(String),
    /// The program was not compared, for the given reason: it does not load, it has too many
    /// interleavings, or a value in it exceeds the limits of the machine that runs it.
    Skipped(String),
}

/// Loads and compiles a program.
pub fn machine(text: &str) -> Result<Machine, String> {
    let hir = mazurka_lang::load(text, &[]).map_err(|error| format!("{error:?}"))?;
    let code = mazurka_lang::compile(&hir, text).map_err(|error| format!("{error:?}"))?;
    Ok(Machine::new(Arc::new(code), LOCAL))
}

/// The limit on the local work of one step; generated programs need very little.
const LOCAL: u64 = 10_000;

/// Compares an engine with brute force in the given aspects, under the given dependence.
pub fn compare(
    text: &str,
    limit: Limit,
    dependence: Dependence,
    aspects: &[Aspect],
    engine: impl Fn(&mut Machine) -> Summary,
) -> Comparison {
    let mut program = match machine(text) {
        Ok(program) => program,
        Err(error) => return Comparison::Skipped(error),
    };
    let truth = match naive(&mut program, limit, dependence) {
        Ok(truth) if !truth.lost => truth,
        Ok(_) => return Comparison::Skipped("beyond the evaluator".to_owned()),
        Err(_) => return Comparison::Skipped("too many interleavings".to_owned()),
    };
    // The engine gets a machine of its own, without any state that brute force has left.
    let mut program = match machine(text) {
        Ok(program) => program,
        Err(error) => return Comparison::Skipped(error),
    };
    match engine(&mut program).difference(&truth, aspects) {
        None => Comparison::Agree,
        Some(difference) => Comparison::Differ(difference),
    }
}

/// Returns what an engine gets wrong about a program: it must find exactly its traces, deadlocks,
/// failures and final states. `None` if it is right, or if the program cannot be compared.
pub fn disagreement(text: &str, engine: impl Fn(&mut Machine) -> Summary) -> Option<String> {
    match compare(
        text,
        Limit::default(),
        Dependence::Claimed,
        Aspect::ALL,
        engine,
    ) {
        Comparison::Differ(difference) => Some(difference),
        Comparison::Agree | Comparison::Skipped(_) => None,
    }
}
