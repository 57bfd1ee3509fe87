//! `condition`: the inputs and initial values for which a property holds.
//!
//! The search is the one of `explore` for all values: one run over terms for each trace and each
//! combination of decided conditions. A run is possible for the values that satisfy its path
//! condition. The search collects three formulas:
//!
//! - V = ⋁ path ∧ violation, over the runs with a violation: the values for which some schedule and
//!   some outcomes of the `choose` expressions lead to a violation.
//! - N = ⋁ path, over the runs that no false `assume` discards: the values with at least one run
//!   that counts. Values outside N are reported separately.
//! - U = ⋁ path, over the runs that a limit has cut: the values for which a violation may have been
//!   missed. If a limit ends the search itself, all values are in U.
//!
//! The property is certainly violated on V and certainly not on N ∧ ¬V ∧ ¬U; on U ∧ ¬V the answer
//! is unknown. The reason: for a value outside U no run was cut, and the runs of the search that
//! are possible for this value contain every trace of the program with this value.
//! [`mazurka_smt::Reader`] makes the formulas readable.
//!
//! ```
//! use mazurka::condition::SoughtProperty;
//! use mazurka::{Options, Program, quietly};
//!
//! let source = "
//!     var n: i8
//!     var x: i8 = 0
//!     process { x := 1 }
//!     process { if n > 3 { x := 2 } }";
//! let program = Program::load("race.maz", source, &[]).unwrap();
//! let wanted = SoughtProperty::read(source, &[], "deterministic").unwrap();
//! let found = program.condition(&wanted, &Options::default(), &mut quietly()).unwrap();
//! assert!(found.exact);
//! assert_eq!((&found.holds[..], &found.fails[..]), ("n <= 3", "n >= 4"));
//! // A run for each of two results.
//! assert_eq!(found.cases[0].runs.len(), 2);
//! ```

use std::rc::Rc;

use mazurka_core::record::{Binding, Ending, Record, Run};
use mazurka_core::{
    Bound, Execution, Kinds, Limits, Mishap, MishapKind, Schedule, StopReason, Verdict, ending,
};
use mazurka_explore::{Budget, Observer, past_is_discarded};
use mazurka_lang::{Doubts, Machine, Observed, SymbolicMachine, Valuation};
use mazurka_smt::{Answer, Model, Readable, Reader, Term, Terms};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::evidence::{EvidenceTime, retell};
use crate::reach::{BadProperty, StateProperty};
use crate::search::{Head, everything};
use crate::unknowns::{doubt, follow, gives_up, symbolic_machine};
use crate::{Algorithm, Options, Program, Refused, Watch};

/// Limit on the steps of one run, if runs may be infinite and no limit is given.
const DEPTH_OF_LOOPS: u64 = 200;

/// Limit on the number of cases that are shown.
const MOST_CASES: usize = 12;

/// Limit on the number of pairs of results that are compared.
const MOST_PAIRS: usize = 20_000;

/// The property in question.
#[derive(Clone, Debug)]
pub enum SoughtProperty {
    /// All final states agree on the observed variables.
    Deterministic,
    /// Some run fails.
    Failure,
    /// Some run ends in a deadlock.
    Deadlock,
    /// A condition holds whenever all processes have ended, like an `ensures`.
    Ensures(StateProperty, String),
}

impl SoughtProperty {
    /// Parses `deterministic`, `failure`, `deadlock`, or a condition over the shared variables of
    /// the program, whose text and settings must be given again.
    pub fn read(source: &str, set: &[(String, String)], text: &str) -> Result<Self, BadProperty> {
        match text.trim() {
            "deterministic" => return Ok(SoughtProperty::Deterministic),
            "failure" => return Ok(SoughtProperty::Failure),
            "deadlock" => return Ok(SoughtProperty::Deadlock),
            _ => {}
        }
        let read = StateProperty::read(source, set, text)?;
        let property = read.property();
        if property.points().is_empty() && !property.deadlock() {
            Ok(SoughtProperty::Ensures(read, text.trim().to_owned()))
        } else {
            Err(BadProperty::Nowhere(
                "a condition is asked for where all processes have ended, so it has no `at` and no \
                 `deadlock`; `mazurka reach` finds states on the way"
                    .to_owned(),
            ))
        }
    }

    /// Returns the property as the user wrote it.
    pub fn name(&self) -> &str {
        match self {
            SoughtProperty::Deterministic => "deterministic",
            SoughtProperty::Failure => "failure",
            SoughtProperty::Deadlock => "deadlock",
            SoughtProperty::Ensures(_, text) => text,
        }
    }

    /// Whether the property says that some run does something. A run then shows that the property
    /// holds, and not that it is violated.
    fn is_shown_by_a_run(&self) -> bool {
        matches!(self, SoughtProperty::Failure | SoughtProperty::Deadlock)
    }
}

/// The record of `condition`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConditionRecord {
    /// The common record. The verdict is verified if the condition is exact.
    #[serde(flatten)]
    pub record: Record,
    /// The property.
    pub property: String,
    /// Whether every value is in `holds`, in `fails` or in `all_discarded`, so that nothing is
    /// unknown.
    pub exact: bool,
    /// The values for which the property certainly holds, among those that the program allows and
    /// that are not in `all_discarded`.
    pub holds: String,
    /// The values for which it certainly does not hold.
    pub fails: String,
    /// The values for which neither answer is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
    /// The values for which a false `assume` discards every run, so that the property neither holds
    /// nor fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_discarded: Option<String>,
    /// Whether all formulas are in readable form.
    pub readable: bool,
    /// The values for which runs show something: failures, deadlocks or different results.
    pub cases: Vec<Case>,
}

/// Some values for which runs show a failure, a deadlock or different results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The values, as a formula.
    pub condition: String,
    /// One example of such values.
    pub values: Vec<Binding>,
    /// A run with these values, or two with different results.
    pub runs: Vec<Run>,
}

/// Runs over terms, each with the condition under which it is possible.
type Runs = Rc<Vec<(Term, Schedule)>>;

/// Values for which runs show a failure, a deadlock or different results.
struct ShowingValues {
    condition: Term,
    /// For each run to show, the candidates. Which of the candidates is possible depends on the
    /// values.
    runs: Vec<Runs>,
}

/// An outcome, and the runs over terms that have it.
struct OutcomeRuns {
    observed: Observed,
    runs: Vec<(Term, Schedule)>,
}

/// Collects the conditions of runs.
struct ConditionCollector<'a> {
    wanted: &'a SoughtProperty,
    classes: Vec<ShowingValues>,
    /// The conditions in `classes`.
    known: FxHashSet<Term>,
    /// The values for which the initial state breaks the property. They are stored at the start,
    /// because later the machine is in other states.
    initial: Vec<Term>,
    /// The path conditions of the runs that count.
    counted: FxHashSet<Term>,
    /// The path conditions of the runs that were cut.
    cut: FxHashSet<Term>,
    results: Vec<OutcomeRuns>,
    /// The index of each result in `results`.
    result_of: FxHashMap<Box<[Term]>, usize>,
    /// The runs in `results`: the index of the result, and the path condition.
    known_runs: FxHashSet<(usize, Term)>,
}

fn is_failure(mishap: &&Mishap) -> bool {
    mishap.kind == MishapKind::Failure
}

impl ConditionCollector<'_> {
    fn add(&mut self, program: &SymbolicMachine, condition: Term) {
        if condition != Term::FALSE && self.known.insert(condition) {
            let schedule = Schedule::from_run(program.whole(), program.processes());
            self.classes.push(ShowingValues {
                condition,
                runs: vec![Rc::new(vec![(condition, schedule)])],
            });
        }
    }

    fn add_result(&mut self, program: &SymbolicMachine) {
        let (observed, path) = (program.observed(), program.path_term());
        let at = match self.result_of.get(observed.values()) {
            Some(&at) => at,
            None => {
                let at = self.results.len();
                self.result_of.insert(observed.values().into(), at);
                self.results.push(OutcomeRuns {
                    observed,
                    runs: Vec::new(),
                });
                at
            }
        };
        if self.known_runs.insert((at, path)) {
            let schedule = Schedule::from_run(program.whole(), program.processes());
            self.results[at].runs.push((path, schedule));
        }
    }
}

impl Observer<SymbolicMachine> for ConditionCollector<'_> {
    fn start(&mut self, program: &SymbolicMachine) {
        let failed = program.initial_mishaps().iter().filter(is_failure);
        let counted = failed.filter(|mishap| program.counts(mishap));
        self.initial = counted.map(|mishap| program.breach(mishap)).collect();
        self.classes.clear();
        self.known.clear();
        self.counted.clear();
        self.cut.clear();
        self.results.clear();
        self.result_of.clear();
        self.known_runs.clear();
    }

    fn pushed(&mut self, program: &SymbolicMachine) {
        let Some(event) = program.events().last() else {
            return;
        };
        let failed = || event.mishaps.iter().filter(is_failure);
        let at = program.events().len() - 1;
        // Until all processes have started, a false `assume` may still discard the run, so it is
        // unknown which failures count.
        if matches!(self.wanted, SoughtProperty::Failure)
            && failed().any(|mishap| program.counts(mishap))
            && program.has_started()
            && !program.is_discarded_at_start()
            && !past_is_discarded(program, at)
        {
            self.add(program, program.path_term());
        }
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        let end = ending(program);
        if program.is_discarded_at_start() {
            return;
        }
        let path = program.path_term();
        match end {
            Ending::Lost | Ending::Open => {
                self.cut.insert(path);
            }
            Ending::Final | Ending::Failure | Ending::Deadlock => {
                self.counted.insert(path);
            }
            Ending::Discarded => {}
        }
        match self.wanted {
            SoughtProperty::Failure => {
                for broken in self.initial.clone() {
                    let both = program.with_terms(|terms, _| terms.and(path, broken));
                    self.add(program, both.unwrap_or(Term::FALSE));
                }
                let events = program.events().iter().enumerate();
                for (at, event) in events {
                    let mut failed = event.mishaps.iter().filter(is_failure);
                    if failed.any(|mishap| program.counts(mishap))
                        && !past_is_discarded(program, at)
                    {
                        self.add(program, path);
                    }
                }
                if end == Ending::Final {
                    for mishap in program.final_mishaps().iter().filter(is_failure) {
                        if program.counts(mishap) {
                            self.add(program, program.breach(mishap));
                        }
                    }
                }
            }
            SoughtProperty::Deadlock if end == Ending::Deadlock => self.add(program, path),
            SoughtProperty::Ensures(property, _) if end == Ending::Final => {
                self.add(program, program.breaks(property.property()));
            }
            SoughtProperty::Deterministic if end == Ending::Final => self.add_result(program),
            _ => {}
        }
    }

    fn cut(&mut self, program: &SymbolicMachine) {
        self.cut.insert(program.path_term());
    }
}

/// Adds, for each pair of results that can differ, the values for which they differ. Returns
/// whether all pairs were compared.
fn add_differences(machine: &SymbolicMachine, gathered: &mut ConditionCollector<'_>) -> bool {
    let results = std::mem::take(&mut gathered.results).into_iter();
    let results: Vec<(Observed, Runs)> = results
        .map(|result| (result.observed, Rc::new(result.runs)))
        .collect();
    let mut pairs = 0;
    for (at, one) in results.iter().enumerate() {
        for other in &results[..at] {
            pairs += 1;
            if pairs > MOST_PAIRS {
                return false;
            }
            let differ = machine.differ(&one.0, &other.0);
            let both = machine.with_terms(|terms, _| {
                let [one, other] =
                    [one, other].map(|(_, runs)| terms.any(runs.iter().map(|(path, _)| *path)));
                let both = terms.and(one, other);
                terms.and(both, differ)
            });
            let condition = both.unwrap_or(Term::FALSE);
            if condition != Term::FALSE {
                gathered.classes.push(ShowingValues {
                    condition,
                    runs: vec![Rc::clone(&other.1), Rc::clone(&one.1)],
                });
            }
        }
    }
    true
}

/// The formulas to report.
struct Formulas {
    violated: ShownFormula,
    others: ShownFormula,
    unknown: Option<ShownFormula>,
    discarded: Option<ShownFormula>,
    /// A condition that the first three formulas may assume, so that they can be simplified.
    given: Term,
}

/// A formula in readable form.
struct ShownFormula {
    text: String,
    readable: Option<Readable>,
}

/// Turns the collected conditions into formulas, cases and runs, after the search.
struct Describer<'a> {
    machine: &'a SymbolicMachine,
    evidence_time: &'a EvidenceTime,
}

impl Describer<'_> {
    fn terms<T>(&self, work: impl FnOnce(&mut Terms) -> T) -> T {
        let done = self.machine.with_terms(|terms, _| work(terms));
        done.expect("a machine for all values has a solver")
    }

    /// Returns values for which all these conditions hold, if there are any. The error says that
    /// the solver does not know.
    fn model(&self, conditions: &[Term]) -> Result<Option<Model>, ()> {
        let answer = self
            .machine
            .with_terms(|terms, solver| solver.check(terms, conditions));
        match answer {
            Some(Answer::Sat(model)) => Ok(Some(model)),
            Some(Answer::Unsat) => Ok(None),
            _ => Err(()),
        }
    }

    fn tell(&self, formula: Term, given: Term) -> ShownFormula {
        let readable = self.machine.with_terms(|terms, solver| {
            let mut go_on = || !self.evidence_time.is_over();
            Reader::new(terms, solver, given, &mut go_on).read(formula)
        });
        let readable = readable.flatten();
        let text = match &readable {
            Some(readable) => readable.text.clone(),
            None => self.terms(|terms| {
                let simple = terms.simplify(formula);
                terms.show(simple)
            }),
        };
        ShownFormula { text, readable }
    }

    /// Returns the formulas. `bounded` says whether a limit may have cut a run for every value.
    fn formulas(&self, start: Term, gathered: &ConditionCollector<'_>, bounded: bool) -> Formulas {
        let classes = gathered.classes.iter().map(|class| class.condition);
        let sorted = |terms: &FxHashSet<Term>| {
            let mut sorted: Vec<Term> = terms.iter().copied().collect();
            sorted.sort_unstable();
            sorted
        };
        let (counted, cut) = (sorted(&gathered.counted), sorted(&gathered.cut));
        let (violated, idle, unknown, rest) = self.terms(|terms| {
            let violated = terms.any(classes);
            let counted = terms.any(counted);
            let cut = if bounded { Term::TRUE } else { terms.any(cut) };
            let fine = terms.not(violated);
            let unknown = terms.and(fine, cut);
            let whole = terms.not(cut);
            let rest = terms.and(fine, whole);
            let nothing = terms.not(counted);
            let idle = terms.and(rest, nothing);
            (violated, idle, unknown, rest)
        });
        let discarded = match self.model(&[start, idle]) {
            Ok(None) => None,
            _ => Some(self.tell(idle, start)),
        };
        let given = match discarded {
            None => start,
            Some(_) => self.terms(|terms| {
                let active = terms.not(idle);
                terms.and(start, active)
            }),
        };
        let unknown = match self.model(&[given, unknown]) {
            Ok(None) => None,
            _ => Some(self.tell(unknown, given)),
        };
        Formulas {
            violated: self.tell(violated, given),
            others: self.tell(rest, given),
            unknown,
            discarded,
            given,
        }
    }

    /// Returns, for each clause of the formula of violated values, its text, values that satisfy
    /// it, and the index of the class with these values.
    fn instances(
        &self,
        formulas: &Formulas,
        classes: &[ShowingValues],
    ) -> Vec<(String, Model, usize)> {
        let mut all = Vec::new();
        let none = Vec::new();
        let cubes = formulas.violated.readable.as_ref();
        let cubes = cubes.map_or(&none, |readable| &readable.cubes);
        for cube in cubes.iter().take(MOST_CASES) {
            let text = self.terms(|terms| {
                let all = terms.all(cube.iter().copied());
                terms.show(all)
            });
            let found = classes.iter().enumerate().find_map(|(at, class)| {
                let mut conditions = vec![formulas.given, class.condition];
                conditions.extend(cube);
                let model = self.model(&conditions).ok()??;
                Some((text.clone(), model, at))
            });
            all.extend(found);
        }
        if cubes.is_empty() && formulas.violated.readable.is_none() {
            for (at, class) in classes.iter().enumerate().take(MOST_CASES) {
                if let Ok(Some(model)) = self.model(&[formulas.given, class.condition]) {
                    let text = self.tell(class.condition, formulas.given).text;
                    all.push((text, model, at));
                }
            }
        }
        all
    }
}

impl Program {
    /// Determines the inputs and initial values for which a property holds.
    pub fn condition(
        &self,
        wanted: &SoughtProperty,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<ConditionRecord, Refused> {
        let code = self.language.maz().ok_or(Refused::NotMaz)?;
        if code.program().linearizable.is_some() {
            return Err(Refused::Object);
        }
        let depth = code.may_loop().then_some(DEPTH_OF_LOOPS);
        let options = &Options {
            jobs: 1,
            limits: Limits {
                depth: options.limits.depth.or(depth),
                ..options.limits.clone()
            },
            ..options.clone()
        };
        let options = &options.started();
        let budget = Budget::new(&options.limits);
        let mut machine = symbolic_machine(code, options, options.patience.clone())?;
        let mut gathered = ConditionCollector {
            wanted,
            classes: Vec::new(),
            known: FxHashSet::default(),
            initial: Vec::new(),
            counted: FxHashSet::default(),
            cut: FxHashSet::default(),
            results: Vec::new(),
            result_of: FxHashMap::default(),
            known_runs: FxHashSet::default(),
        };
        let algorithm = Algorithm::Optimal;
        let mut found = everything(algorithm, options).run(&mut machine, watch, &mut gathered);
        machine.back_to(0);
        let start = machine.path_term();
        let compared = add_differences(&machine, &mut gathered);
        let bounded = !is_localised(&found.bounds)
            || !compared
            || machine.doubts() != Doubts::default()
            || machine.is_ambiguous(&conditions(&gathered));
        if bounded && found.bounds.is_empty() {
            found.add_bound(Bound::Undecided);
        }
        options.show();
        let evidence_time = EvidenceTime::after(&found, &options.limits);
        let telling = Describer {
            machine: &machine,
            evidence_time: &evidence_time,
        };
        let formulas = telling.formulas(start, &gathered, bounded);
        let instances = telling.instances(&formulas, &gathered.classes);
        let mut cases = Vec::new();
        for (condition, model, class) in instances {
            let runs = &gathered.classes[class].runs;
            cases.extend(case(&mut machine, (condition, runs), model, options));
        }
        doubt(&machine, options, &mut found, watch);
        let exact = formulas.unknown.is_none();
        let head = Head::new("condition", algorithm, options, Kinds::NONE);
        let mut record = self.record_of(head, &found, Vec::new());
        record.deterministic = None;
        record.kinds.met.clear();
        record.seconds = budget.elapsed().as_secs_f64();
        record.verdict = if exact {
            Verdict::Verified
        } else {
            Verdict::Inconclusive
        };
        if exact {
            // Runs were cut only for values whose answer is known anyway.
            record.scope.bounds.clear();
            (record.scope.exhaustive, record.stopped) = (true, StopReason::Complete);
        }
        let Formulas {
            violated,
            others,
            unknown,
            discarded,
            ..
        } = formulas;
        let told = [
            Some(&violated),
            Some(&others),
            unknown.as_ref(),
            discarded.as_ref(),
        ];
        let readable = told.iter().flatten().all(|told| told.readable.is_some());
        let (holds, fails) = if wanted.is_shown_by_a_run() {
            (violated.text, others.text)
        } else {
            (others.text, violated.text)
        };
        Ok(ConditionRecord {
            record,
            property: wanted.name().to_owned(),
            exact,
            holds,
            fails,
            unknown: unknown.map(|told| told.text),
            all_discarded: discarded.map(|told| told.text),
            readable,
            cases,
        })
    }
}

/// Whether the limits have only cut single runs, whose path conditions were collected, and have not
/// ended the search.
fn is_localised(bounds: &[Bound]) -> bool {
    bounds.iter().all(|bound| {
        matches!(
            bound,
            Bound::MaxDepth(_) | Bound::MaxLocal(_) | Bound::MaxMessages(_) | Bound::IntRange
        )
    })
}

/// Returns all conditions that were collected.
fn conditions(gathered: &ConditionCollector<'_>) -> Vec<Term> {
    let classes = gathered.classes.iter().map(|class| class.condition);
    let sets = gathered.counted.iter().chain(&gathered.cut).copied();
    classes.chain(sets).collect()
}

/// Returns a case with its runs, or `None` if one of the runs cannot be repeated with numbers, for
/// example because a number exceeds 64 bits.
fn case(
    machine: &mut SymbolicMachine,
    (condition, all): (String, &[Runs]),
    model: Model,
    options: &Options,
) -> Option<Case> {
    let mut case = Case {
        condition,
        values: Vec::new(),
        runs: Vec::new(),
    };
    for runs in all {
        let possible = |path: Term| machine.with_terms(|terms, _| terms.eval(path, &model));
        let run = runs
            .iter()
            .find(|(path, _)| possible(*path) == Some(Some(1)));
        let (_, schedule) = run?;
        follow(machine, schedule);
        let run = machine.concrete_with(&Valuation::from(model.clone()));
        let mut over = Machine::new(run.code, options.limits.local);
        if !gives_up(&mut over, &run.schedule, options).is_empty() {
            return None;
        }
        case.values = run.values;
        case.runs.push(retell(&mut over, &run.schedule).run);
    }
    Some(case)
}
