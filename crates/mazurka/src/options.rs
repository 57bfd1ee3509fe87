//! The options that all commands share: limits, which properties count, the memory model, the
//! solver.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mazurka_core::record::OptionsRecord;
use mazurka_core::{Bound, Counts, Fairness, Kind, Kinds, Limits, Patience};
use mazurka_explore::{Progress, Watch, broken_by};
use mazurka_lang::{Doubts, Reached};
use mazurka_memory::Memory;

use crate::solving::Solving;

/// The options of a search.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The limits.
    pub limits: Limits,
    /// The kinds of violations that count; by default, those that the program
    /// [requires](crate::Program::counted).
    pub counted: Option<Kinds>,
    /// The names of properties that count: of invariants, `ensures`, temporal properties and
    /// covers. If there are any, a property that is not named is ignored, unless `counted` contains
    /// its kind.
    pub properties: Vec<String>,
    /// Which infinite runs count.
    pub fairness: Fairness,
    /// The memory model; `None` for interleavings, which is sequential consistency.
    pub memory: Option<Memory>,
    /// Whether `check` continues until everything is explored, even after a violation.
    pub keep_going: bool,
    /// The program that the `refines` of the file names, for `check`.
    pub specification: Option<Arc<crate::Program>>,
    /// Number of workers, for engines that can have several; 0 means 1.
    pub jobs: usize,
    /// The values of inputs by name, for a single run: `0.1#0` is the first input of process 0.1,
    /// `x` is the initial value of a variable that has none in the file. All other values are 0.
    pub inputs: Vec<(String, i128)>,
    /// The solver for conditions over inputs and initial values.
    pub solver: Solving,
    /// How long a search waits for one step. A search sets this according to its time limit.
    pub patience: Patience,
    /// Whether the search is over and its findings are being described.
    pub telling: Arc<AtomicBool>,
    /// Whether `check` and `explore` determine which parts of the program no execution reaches.
    pub cover: bool,
    /// Where the search records its coverage. The search sets this itself if `cover` is set.
    pub reached: Option<Arc<Reached>>,
}

impl Options {
    /// Returns the options for a search that starts now.
    pub(crate) fn started(&self) -> Self {
        self.telling.store(false, Ordering::SeqCst);
        Self {
            solver: self.solver.started(&self.limits),
            patience: Patience::new(self.limits.time, self.solver.stop.clone()),
            ..self.clone()
        }
    }

    /// Returns the memory model, if it is not that of interleavings.
    pub(crate) fn weak_memory(&self) -> Option<Memory> {
        self.memory.filter(|&memory| memory != Memory::Sc)
    }

    /// Records that the search is over, before its findings are run again and described.
    pub(crate) fn show(&self) {
        self.solver.show();
        self.patience.wait_again();
        self.telling.store(true, Ordering::SeqCst);
    }

    /// Returns the bounds to report for queries that the solver could not decide. If the solver was
    /// stopped, the watch knows the reason.
    pub(crate) fn bounds_of(&self, doubts: &Doubts, watch: &mut Watch<'_>) -> Vec<Bound> {
        let over = doubts.out_of_time.then(|| {
            let progress = Progress {
                counts: Counts::default(),
                elapsed: Duration::ZERO,
                done: None,
                estimate: None,
                open: 0,
                miss: None,
            };
            let says = watch(&progress).break_value();
            says.unwrap_or_else(|| broken_by(&self.limits))
        });
        let within = doubts.within.map(Bound::IntWithin);
        let undecided = doubts.undecided.as_ref().map(|_| Bound::Undecided);
        let range = doubts.out_of_range.then_some(Bound::IntRange);
        [over, within, undecided, range]
            .into_iter()
            .flatten()
            .collect()
    }

    /// Returns the options for a record, for a search that goes no deeper than `depth`.
    pub(crate) fn record(&self, depth: Option<u64>) -> OptionsRecord {
        let limits = &self.limits;
        OptionsRecord {
            property: self.counted.map(|counted| named(counted, &self.properties)),
            max_depth: depth,
            max_steps: limits.steps,
            max_executions: limits.executions,
            max_local: limits.local,
            time_limit: limits.time.map(|time| time.as_millis() as u64),
            memory_limit: limits.memory,
            jobs: (self.jobs > 0).then_some(self.jobs as u64),
            fairness: None,
        }
    }

    /// Returns the options with the fairness and the properties that count according to a record.
    pub(crate) fn as_recorded(&self, record: Option<&OptionsRecord>) -> Self {
        let Some(record) = record else {
            return self.clone();
        };
        let words = record.property.iter().flat_map(|all| all.split(','));
        let (kinds, names): (Vec<&str>, Vec<&str>) =
            words.partition(|word| Kinds::parse(word).is_some());
        let kinds = kinds.into_iter().filter_map(Kinds::parse);
        Self {
            counted: record
                .property
                .as_ref()
                .map(|_| kinds.fold(Kinds::NONE, Kinds::or)),
            properties: names.into_iter().map(str::to_owned).collect(),
            fairness: record.fairness.unwrap_or_default(),
            ..self.clone()
        }
    }
}

/// Returns properties as `--property` names them.
fn named(counted: Kinds, properties: &[String]) -> String {
    let word = |kind: Kind| match kind {
        Kind::Nondeterminism => "deterministic",
        kind => kind.name(),
    };
    let names = properties.iter().map(String::as_str);
    let all: Vec<&str> = counted.iter().map(word).chain(names).collect();
    all.join(",")
}

/// Returns a watch that shows nothing and never breaks off.
pub fn quietly() -> impl FnMut(&Progress) -> ControlFlow<Bound> {
    |_| ControlFlow::Continue(())
}
