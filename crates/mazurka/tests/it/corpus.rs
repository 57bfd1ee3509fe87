//! Compares every program of the corpus with every figure in its `expect.toml`.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use crate::parallel::on_all_cores;
use mazurka::record::{Kind, Record};
use mazurka::replay::Recording;
use mazurka::search::StopReason;
use mazurka::solving::SolverChoice;
use mazurka::symbolic::{SymbolicOptions, SymbolicRecord};
use mazurka::unfold::{NetKind, Unfold};
use mazurka::{Algorithm, Bound, Options, Program, Verdict, quietly};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    #[allow(dead_code)]
    origin: String,
    needs: Option<Needs>,
    #[serde(default)]
    case: Vec<Case>,
    #[serde(default)]
    symbolic: Vec<SymbolicCase>,
}

/// The figures that `symbolic` must find.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SymbolicCase {
    #[serde(default)]
    set: toml::Table,
    por: String,
    #[serde(default)]
    prefix_pruning: bool,
    #[serde(default = "yes")]
    feasible: bool,
    states: Option<u64>,
    steps: Option<u64>,
    most_steps: Option<u64>,
    deadlocks: Option<u64>,
    /// The sizes of the first configurations.
    #[serde(default)]
    grows: Vec<u64>,
}

fn yes() -> bool {
    true
}

/// The kind of unknown values that a program has; its figures are for all inputs or initial values.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Needs {
    Inputs,
    Symbolic,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    set: toml::Table,
    check: Option<String>,
    deterministic: Option<bool>,
    traces: Option<u64>,
    deadlocks: Option<u64>,
    failures: Option<u64>,
    final_states: Option<u64>,
    discarded: Option<u64>,
    #[serde(default)]
    executions: Executions,
    brute_force: Option<bool>,
    #[serde(default)]
    blocked: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Executions {
    naive: Option<u64>,
}

fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the workspace")
        .join("corpus")
}

/// One program with one set of constants, and the figures that it must have.
struct Job {
    name: String,
    /// Its extension decides the language.
    file: String,
    source: String,
    needs: Option<Needs>,
    case: Case,
}

impl Job {
    fn settings(&self) -> Vec<(String, String)> {
        settings(&self.case.set)
    }
}

fn settings(set: &toml::Table) -> Vec<(String, String)> {
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    set.iter()
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}

fn jobs() -> Vec<Job> {
    let mut jobs = Vec::new();
    let mut folders: Vec<PathBuf> = ["maz", "abs"]
        .iter()
        .flat_map(|language| fs::read_dir(folder().join(language)).expect("the corpus"))
        .flatten()
        .map(|e| e.path())
        .collect();
    folders.sort();
    for folder in folders.iter().filter(|path| path.is_dir()) {
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let read = |file: &str| match fs::read_to_string(folder.join(file)) {
            Ok(text) => text,
            Err(error) => panic!("{name}/{file}: {error}"),
        };
        let expect: Expect = match toml::from_str(&read("expect.toml")) {
            Ok(expect) => expect,
            Err(error) => panic!("{name}/expect.toml: {error}"),
        };
        let language = folder.parent().and_then(|parent| parent.file_name());
        let language = language.expect("a language").to_string_lossy();
        let file = format!("program.{language}");
        let source = read(&file);
        let mut cases = expect.case;
        if cases.is_empty() {
            assert!(
                expect.needs.is_some(),
                "{name}: no case, so nothing is tested"
            );
            cases.push(Case::default());
        }
        for case in cases {
            let set: Vec<String> = case.set.iter().map(|(k, v)| format!(" {k}={v}")).collect();
            jobs.push(Job {
                name: format!("{name}{}", set.concat()),
                file: file.clone(),
                source: source.clone(),
                needs: expect.needs,
                case,
            });
        }
    }
    assert!(jobs.len() > 100, "most of the corpus was not found");
    jobs
}

/// Finds every `.maz` file below a folder.
fn programs_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("a folder").flatten() {
        let path = path.path();
        if path.is_dir() {
            programs_below(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "maz") {
            found.push(path);
        }
    }
}

#[test]
fn every_program_states_what_it_is_about() {
    let mut found = Vec::new();
    // The programs in `litmus` are not listed here, because their figures are about execution
    // graphs.
    for part in ["maz", "spin", "../examples"] {
        programs_below(&folder().join(part), &mut found);
    }
    assert!(found.len() > 100, "most of the programs were not found");
    // These files are not programs: others include them.
    found.retain(|path| {
        !path
            .parent()
            .is_some_and(|folder| folder.ends_with("locks"))
    });
    let silent = found.iter().filter(|path| {
        let source = fs::read_to_string(path).expect("a program");
        let folder = path.parent().expect("a folder");
        let included = &mut |name: &str| {
            let text = fs::read_to_string(folder.join(name));
            text.map_err(|error| error.to_string())
        };
        let source = mazurka::expand(&source, included);
        let program = mazurka_lang::load(&source, &[]).expect("a right program");
        let code = mazurka_lang::compile(&program, &source).expect("a small program");
        let stated = code.asks_for_determinism() || code.states_other_property();
        !stated && code.allowed().is_empty()
    });
    let silent: Vec<_> = silent.collect();
    assert!(silent.is_empty(), "without a stated property: {silent:?}");
}

/// The mistakes that a job found.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn compare<T: PartialEq + Debug>(&mut self, what: &str, expected: &Option<T>, found: &T) {
        if let Some(expected) = expected
            && expected != found
        {
            self.0
                .push(format!("{what}: expected {expected:?}, found {found:?}"));
        }
    }
}

/// Which cases to explore completely.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// Those that brute force can explore quickly.
    Small,
    /// Also those that it can explore in minutes: their interleavings have been counted.
    Large,
}

fn run(job: &Job, size: Size) -> Wrong {
    let mut wrong = Wrong::default();
    let settings = job.settings();
    if let Some(Needs::Inputs) = job.needs {
        match Program::load(&job.name, &job.source, &settings) {
            Ok(program) if job.case.traces.is_some_and(|traces| traces >= MANY_TRACES) => {
                by_optimal(&program, &job.case, &mut wrong);
            }
            Ok(program) => for_all_inputs(&program, &job.case, &mut wrong),
            Err(mistakes) => wrong.0.push(format!("does not load: {mistakes:?}")),
        }
        return wrong;
    }
    if job.needs.is_some() {
        for_all_values(job, &mut wrong);
        return wrong;
    }
    let program = match Program::load(&job.file, &job.source, &settings) {
        Ok(program) => program,
        Err(mistakes) => {
            wrong.0.push(format!("does not load: {mistakes:?}"));
            return wrong;
        }
    };
    match job.case.brute_force {
        Some(false) if size == Size::Small => in_part(&program, &job.case, &mut wrong),
        _ => in_full(&program, &job.case, &mut wrong),
    }
    wrong
}

/// Checks a case that is too large for the naive explorer: the part that it explores must not
/// contradict the figures.
fn in_part(program: &Program, case: &Case, wrong: &mut Wrong) {
    let mut options = Options::default();
    options.limits.steps = Some(100_000);
    let checked = program.check(&options, &mut quietly()).expect("a record");
    if checked.verdict != Verdict::Inconclusive {
        wrong.compare("check", &case.check, &word(checked.verdict));
    }
    let explored = program
        .explore(Algorithm::Naive, &options, &mut quietly())
        .expect("a record");
    let counts = &explored.counts;
    for (what, most, found) in [
        ("traces", case.traces, counts.traces.unwrap_or(0)),
        ("deadlocks", case.deadlocks, counts.deadlocks),
        ("failures", case.failures, counts.failures),
        ("final states", case.final_states, counts.final_states),
    ] {
        if most.is_some_and(|most| found > most) {
            wrong.0.push(format!(
                "{what}: expected {most:?}, found {found} in a part"
            ));
        }
    }
    for record in [explored, checked] {
        wrong.0.extend(replays(program, record, &options));
    }
}

fn word(verdict: Verdict) -> String {
    let word = match verdict {
        Verdict::Verified => "verified",
        Verdict::Violated => "violated",
        Verdict::Inconclusive => "inconclusive",
    };
    word.to_owned()
}

/// Programs with inputs and more traces than this are explored only by `optimal`.
const MANY_TRACES: u64 = 10_000;

/// Checks the figures of a large program with inputs.
fn by_optimal(program: &Program, case: &Case, wrong: &mut Wrong) {
    let explored = program.explore(Algorithm::Optimal, &Options::default(), &mut quietly());
    let counts = explored.expect("a record").counts;
    wrong.compare("traces", &case.traces.map(Some), &counts.traces);
    wrong.compare("deadlocks", &case.deadlocks, &counts.deadlocks);
    wrong.compare("failures", &case.failures, &counts.failures);
}

/// Checks every figure of a program with inputs with every algorithm; `optimal` runs each class of
/// executions once.
fn for_all_inputs(program: &Program, case: &Case, wrong: &mut Wrong) {
    let options = Options::default();
    let small = case.traces.is_none_or(|traces| traces < 100);
    let mut all = None;
    for &algorithm in Algorithm::ALL {
        if algorithm == Algorithm::Naive && !small {
            continue;
        }
        let explored = program
            .explore(algorithm, &options, &mut quietly())
            .expect("a record");
        let counts = &explored.counts;
        if !explored.scope.exhaustive {
            let bounds = &explored.scope.bounds;
            wrong.0.push(format!("{algorithm}: was cut: {bounds:?}"));
        }
        let name = |what: &str| format!("{algorithm}: {what}");
        let deterministic = case.deterministic.map(Some);
        wrong.compare(
            &name("deterministic"),
            &deterministic,
            &explored.deterministic,
        );
        match algorithm {
            // The algorithm may meet only one of two terms with equal values.
            Algorithm::Context(_) if counts.final_states < case.final_states.unwrap_or(0) => {
                wrong.compare(
                    &name("final states"),
                    &Some(true),
                    &(counts.final_states > 0),
                );
            }
            _ => wrong.compare(
                &name("final states"),
                &case.final_states,
                &counts.final_states,
            ),
        }
        let some = |number: Option<u64>| number.map(|number| number > 0);
        let (deadlocks, failures) = (some(case.deadlocks), some(case.failures));
        wrong.compare(&name("deadlocks"), &deadlocks, &(counts.deadlocks > 0));
        wrong.compare(&name("failures"), &failures, &(counts.failures > 0));
        if counts.traces.is_some() {
            wrong.compare(&name("traces"), &case.traces.map(Some), &counts.traces);
            wrong.compare(&name("deadlocks"), &case.deadlocks, &counts.deadlocks);
            wrong.compare(&name("failures"), &case.failures, &counts.failures);
        }
        match algorithm {
            Algorithm::Naive => {
                wrong.compare("executions", &case.executions.naive, &counts.executions);
            }
            Algorithm::Optimal => {
                all = Some(explored.clone());
                wrong.compare("optimal: executions", &case.traces, &counts.executions);
                wrong.compare(
                    "optimal: blocked",
                    &Some(case.blocked),
                    &(counts.blocked > 0),
                );
            }
            _ => {}
        }
        wrong.0.extend(replays(program, explored, &options));
    }
    let checked = program.check(&options, &mut quietly()).expect("a record");
    wrong.compare("check", &case.check, &word(checked.verdict));
    let explored = all.expect("optimal is an algorithm");
    let unfolded = unfolded(program, &explored, case, wrong);
    let stateful = stateful(program, &explored, unfolded.counts.events, wrong);
    for record in [checked, unfolded, stateful] {
        wrong.0.extend(replays(program, record, &options));
    }
}

/// Checks every figure exactly.
fn in_full(program: &Program, case: &Case, wrong: &mut Wrong) {
    let options = Options::default();
    let explored = program
        .explore(Algorithm::Naive, &options, &mut quietly())
        .expect("a record");
    let counts = &explored.counts;
    if !explored.scope.exhaustive {
        wrong
            .0
            .push(format!("was cut: {:?}", explored.scope.bounds));
    }
    wrong.compare(
        "deterministic",
        &case.deterministic.map(Some),
        &explored.deterministic,
    );
    wrong.compare("traces", &case.traces.map(Some), &counts.traces);
    wrong.compare("deadlocks", &case.deadlocks, &counts.deadlocks);
    wrong.compare("failures", &case.failures, &counts.failures);
    wrong.compare("final states", &case.final_states, &counts.final_states);
    wrong.compare("discarded", &case.discarded, &counts.discarded);
    wrong.compare("executions", &case.executions.naive, &counts.executions);
    let bad = counts.deadlocks + counts.failures > 0;
    wrong.compare(
        "explore",
        &Some(bad),
        &(explored.verdict == Verdict::Violated),
    );

    let checked = program.check(&options, &mut quietly()).expect("a record");
    wrong.compare("check", &case.check, &word(checked.verdict));
    let unfolded = unfolded(program, &explored, case, wrong);
    let stateful = stateful(program, &explored, unfolded.counts.events, wrong);
    for record in [explored, checked, unfolded, stateful] {
        wrong.0.extend(replays(program, record, &options));
    }
}

/// Checks the replicated and the contextual net. Both have the deadlocks and failures of the
/// figures, whichever tests are run, and need at most as many tests as there are traces.
fn unfolded(program: &Program, explored: &Record, case: &Case, wrong: &mut Wrong) -> Record {
    let options = Options::default();
    let [replicated, contextual] = [NetKind::Replicated, NetKind::Contextual].map(|kind| {
        let few = case.traces.is_some_and(|traces| traces < 20);
        for seed in 0..if few { 6 } else { 1 } {
            let unfolded = program
                .unfold(Unfold { kind, seed }, &options, &mut quietly())
                .expect("a record");
            let name = format!("{kind}, seed {seed}: failures");
            same_failures(&name, explored, &unfolded.record, wrong);
        }
        let unfolded = program
            .unfold(Unfold { kind, seed: 0 }, &options, &mut quietly())
            .expect("a record");
        let counts = &unfolded.record.counts;
        wrong.compare(&unfolded.net, &case.deadlocks, &counts.deadlocks);
        if case.traces.is_some_and(|traces| counts.executions > traces) {
            let tests = counts.executions;
            wrong
                .0
                .push(format!("{kind}: {tests} tests for {:?}", case.traces));
        }
        if case.failures == Some(0) && counts.failures > 0 {
            wrong.0.push(format!("{kind}: a failure that is none"));
        }
        unfolded
    });
    // A read before a write distinguishes events of a replicated net, but not of a contextual one.
    if contextual.record.counts.events > replicated.record.counts.events {
        wrong.0.push("the contextual net is larger".to_owned());
    }
    replicated.record
}

/// Compares the failures of an exploration with those of a net, except for those of final states,
/// which nets do not examine.
fn same_failures(name: &str, explored: &Record, record: &Record, wrong: &mut Wrong) {
    let (mut all, found) = (failing(explored), failing(record));
    all.retain(|failure| !failure.starts_with("ensures ") || found.contains(failure));
    wrong.compare(name, &Some(all), &found);
}

/// Returns the message and place of each failure.
fn failing(record: &Record) -> BTreeSet<String> {
    let failures = record.witnesses.iter();
    let failures = failures.filter(|witness| witness.kind == Kind::Failure);
    failures
        .map(|witness| format!("{} {:?}", witness.message, witness.place))
        .collect()
}

/// Compares the stateful net with all executions: it must have a deadlock if there is one, the same
/// failures, and no more events than the replicated net. Also compares it with all states of its
/// model, if there are not too many.
fn stateful(program: &Program, explored: &Record, replicated: u64, wrong: &mut Wrong) -> Record {
    let options = Options::default();
    let net = program
        .unfold(
            Unfold {
                kind: NetKind::Stateful,
                seed: 0,
            },
            &options,
            &mut quietly(),
        )
        .expect("a record");
    let mut few = Options::default();
    few.limits.steps = Some(20_000);
    let walked = program
        .walk_states(
            mazurka::unfold::WalkStates {
                seed: 0,
                sleep: true,
            },
            &few,
            &mut quietly(),
        )
        .expect("a record");
    let cut = walked
        .record
        .scope
        .bounds
        .contains(&Bound::MaxSteps(20_000));
    let walked = (!cut).then_some(walked.record);
    let records = [("stateful", Some(&net.record)), ("naive", walked.as_ref())];
    for (what, record) in records {
        let Some(record) = record else { continue };
        let name = |of: &str| format!("{what} net: {of}");
        let deadlock = explored.counts.deadlocks > 0;
        let found = record.counts.deadlocks > 0;
        wrong.compare(&name("deadlock"), &Some(deadlock), &found);
        // Not all final states are examined.
        same_failures(&name("failures"), explored, record, wrong);
        if record.deterministic == Some(false) {
            let deterministic = Some(explored.deterministic);
            wrong.compare(&name("deterministic"), &deterministic, &Some(false));
        }
    }
    let deadlocks = walked.map(|walked| walked.counts.deadlocks);
    wrong.compare(
        "stateful net: deadlocks",
        &deadlocks,
        &net.record.counts.deadlocks,
    );
    let events = net.record.counts.events;
    if events > replicated {
        wrong.0.push(format!(
            "stateful net: {events} events, replicated {replicated}"
        ));
    }
    net.record
}

/// Checks that every witness replays, also after it was written to a file and read.
fn replays(program: &Program, mut record: Record, options: &Options) -> Option<String> {
    // Writing and reading may change the last digit of a time.
    record.seconds = 0.0;
    if record.witnesses.is_empty() {
        return None;
    }
    let text = serde_json::to_string(&record).expect("a record is JSON");
    let recording = Recording::parse(&text).expect("a record can be read back");
    assert_eq!(recording.record, record);
    match program.replay(&recording, options) {
        Ok(again) if again.witnesses == record.witnesses => None,
        Ok(_) => Some(format!(
            "{}: the replay shows something else",
            record.command
        )),
        Err(problem) => Some(format!("{}: does not replay: {problem}", record.command)),
    }
}

/// Compares the verdict for all initial values.
fn for_all_values(job: &Job, wrong: &mut Wrong) {
    let program = Program::load(&job.file, &job.source, &job.settings());
    let program = match program {
        Ok(program) => program,
        Err(mistakes) => return wrong.0.push(format!("does not load: {mistakes:?}")),
    };
    let options = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    let record = program.check(&options, &mut quietly()).expect("a record");
    wrong.compare("check", &job.case.check, &word(record.verdict));
    // A search that stops at a violation has not found all results.
    let algorithm = Algorithm::Optimal;
    let explored = program
        .explore(algorithm, &options, &mut quietly())
        .expect("a record");
    let deterministic = job.case.deterministic.map(Some);
    wrong.compare("deterministic", &deterministic, &explored.deterministic);
    let (failures, deadlocks) = (explored.counts.failures, explored.counts.deadlocks);
    wrong.compare("failures", &job.case.failures, &failures);
    wrong.compare("deadlocks", &job.case.deadlocks, &deadlocks);
    for (kind, count) in [(Kind::Failure, failures), (Kind::Deadlock, deadlocks)] {
        let shown = explored.witnesses.iter().filter(|w| w.kind == kind).count();
        if (shown == 0) != (count == 0) {
            wrong
                .0
                .push(format!("{count} of kind {kind:?}, and {shown} shown"));
        }
    }
    if record.stopped != StopReason::Certain {
        wrong.compare(
            "check: deterministic",
            &deterministic,
            &record.deterministic,
        );
    }
}

/// Checks the figures of symbolic execution.
fn symbolic(name: &str, source: &str, case: &SymbolicCase) {
    let program = Program::load(name, source, &settings(&case.set)).expect("it loads");
    let wanted = SymbolicOptions {
        por: case.por.parse().expect("a reduction"),
        prefix_pruning: case.prefix_pruning,
        feasible: case.feasible,
        ..SymbolicOptions::default()
    };
    let options = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    let found = program.symbolic(&wanted, &options, &mut quietly());
    let SymbolicRecord { record, states } = found.expect("it starts");
    let mut wrong = Wrong::default();
    wrong.compare("states", &case.states, &states.count);
    wrong.compare("steps", &case.steps, &record.counts.steps);
    wrong.compare("deadlocks", &case.deadlocks, &record.counts.deadlocks);
    if case
        .most_steps
        .is_some_and(|most| record.counts.steps > most)
    {
        wrong.0.push(format!("{} steps", record.counts.steps));
    }
    let sizes: Vec<u64> = states.curve.iter().map(|point| point.1).collect();
    if !sizes.starts_with(&case.grows) {
        wrong
            .0
            .push(format!("the configurations have {sizes:?} states"));
    }
    assert!(wrong.0.is_empty(), "{name}: {case:?}: {:?}", wrong.0);
}

#[test]
fn symbolic_figures() {
    let mut cases = 0;
    for entry in fs::read_dir(folder().join("maz"))
        .expect("the corpus")
        .flatten()
    {
        let Ok(text) = fs::read_to_string(entry.path().join("expect.toml")) else {
            continue;
        };
        let expect: Expect = toml::from_str(&text).expect("figures");
        let source = fs::read_to_string(entry.path().join("program.maz")).expect("a program");
        let name = entry.file_name().to_string_lossy().into_owned();
        for case in &expect.symbolic {
            symbolic(&name, &source, case);
            cases += 1;
        }
    }
    assert!(cases >= 20, "most of the figures were not found");
}

#[test]
fn the_whole_corpus() {
    all(jobs(), Size::Small);
}

#[test]
#[ignore = "takes minutes; run it with --release"]
fn the_large_cases() {
    let counted =
        |job: &Job| job.case.brute_force == Some(false) && job.case.executions.naive.is_some();
    all(jobs().into_iter().filter(counted).collect(), Size::Large);
}

fn all(jobs: Vec<Job>, size: Size) {
    assert!(!jobs.is_empty());
    let mut lines = Vec::new();
    for (job, wrong) in on_all_cores(jobs, |job| run(job, size)) {
        let wrong = wrong.unwrap_or_else(|| Wrong(vec!["panics".to_owned()]));
        if !wrong.0.is_empty() {
            lines.push(format!("{}: {}", job.name, wrong.0.join("; ")));
        }
    }
    lines.sort();
    assert!(
        lines.is_empty(),
        "{} cases:\n{}",
        lines.len(),
        lines.join("\n")
    );
}
