//! Tests the permutations of runs: of the paper's examples, of the errata (docs/algorithms.md), and
//! of the whole corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use mazurka::permute::{PermuteRecord, Permuting};
use mazurka::record::{Ending, Permutations};
use mazurka::run::Plan;
use mazurka::{Algorithm, Bound, Options, Program, Verdict, quietly};

fn corpus() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("the workspace");
    root.join("corpus/maz")
}

fn program(name: &str, set: &[(&str, &str)]) -> Program {
    let path = corpus().join(name).join("program.maz");
    let source = fs::read_to_string(path).expect("a program of the corpus");
    load(name, &source, set)
}

fn load(name: &str, source: &str, set: &[(&str, &str)]) -> Program {
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let set: Vec<_> = set.iter().map(own).collect();
    Program::load(name, source, &set).expect("a program")
}

/// Returns the request to permute the run of a schedule.
fn by(schedule: &str) -> Permuting {
    Permuting {
        plan: Plan::Schedule(schedule.parse().expect("a schedule")),
        ..random(0)
    }
}

fn random(seed: u64) -> Permuting {
    Permuting {
        plan: Plan::Seed(seed),
        complete: false,
        paper: false,
        any_start: false,
        listed: 1000,
    }
}

fn permute(program: &Program, wanted: &Permuting) -> PermuteRecord {
    let options = Options::default();
    let permuted = program.permute(wanted, &options, &mut quietly());
    permuted.expect("permutations")
}

/// Returns the final value of a variable in each class.
fn finals<'a>(permuted: &'a Permutations, name: &str) -> Vec<&'a str> {
    let value = |class: &'a mazurka::record::PermutationClass| {
        let found = class.state.iter().find(|binding| binding.name == name);
        found.map_or("", |binding| &binding.value)
    };
    permuted.classes.iter().map(value).collect()
}

/// The paper's θ0: ι2 to its end, then ι1.
const THETA_0: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0";

#[test]
fn example_5() {
    let program = program("fagiani-example5", &[]);
    let PermuteRecord {
        record,
        permutations,
    } = permute(&program, &by(THETA_0));
    assert_eq!(permutations.recorded.steps.len(), 12);
    assert_eq!(permutations.executable, 5);
    let mut x = finals(&permutations, "x");
    x.sort_unstable();
    assert_eq!(x, ["2", "3", "4", "4", "5"]);
    assert_eq!(record.counts.final_states, 4);
    assert_eq!(permutations.results.len(), 4);
    assert_eq!(record.deterministic, Some(false));
    assert!(!record.scope.exhaustive);
    let labels = permutations.recorded.steps.iter().map(|step| {
        let label = step.label.strip_prefix("true ▷ ").unwrap_or(&step.label);
        format!("{}: {label}", step.process)
    });
    let labels: Vec<String> = labels.collect();
    assert_eq!(
        labels,
        [
            "0: spawn(0.0)",
            "0: spawn(0.1)",
            "0.1: flag ▷ x := x + 2",
            "0.1: flag := !flag",
            "0.1: !flag ▷ x := x - 1",
            "0.1: flag := !flag",
            "0.1: flag ▷ x := x + 2",
            "0.1: flag := !flag",
            "0.1: !flag ▷ x := x - 1",
            "0.1: flag := !flag",
            "0.1: y := y + 1",
            "0.0: x == 0 || flag ▷ x := 2 * x",
        ]
    );
    // Choices, not guards (errata E6).
    assert_eq!(permutations.branches, [3, 5, 7, 9]);
}

/// Examples 10 and 11: canon(θ0) = θ1, and θ3 has the printed final state. θ2 is executable only if
/// x is -2.
#[test]
fn example_10() {
    let theta_1 = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1";
    let theta_2 = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1";
    let theta_3 = "0 0 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1 0.1 0.1";
    let schedules = |set: &[(&str, &str)]| {
        let permuted = permute(&program("fagiani-example5", set), &by(THETA_0));
        let classes = permuted.permutations.classes.into_iter();
        let each = classes.map(|class| (class.schedule, class.state[0].value.clone()));
        each.collect::<BTreeMap<_, _>>()
    };
    let from_zero = schedules(&[]);
    assert_eq!(from_zero.get(theta_1).map(String::as_str), Some("4"));
    assert_eq!(from_zero.get(theta_3).map(String::as_str), Some("5"));
    assert!(!from_zero.contains_key(THETA_0));
    assert!(!from_zero.contains_key(theta_2));
    let from_minus_two = schedules(&[("x", "-2")]);
    assert!(from_minus_two.contains_key(theta_2));
    assert_eq!(from_minus_two.len(), 7);
}

/// The path conditions of Examples 7 and 11: path(θ1), which is that of θ0, path(θ3) and path(θ2).
#[test]
fn path_conditions() {
    let conditions = |set: &[(&str, &str)]| {
        let permuted = permute(&program("fagiani-example5", set), &by(THETA_0));
        let classes = permuted.permutations.classes.into_iter();
        let each = classes.map(|class| (class.schedule, class.path_condition));
        each.collect::<BTreeMap<_, _>>()
    };
    for (schedule, condition) in conditions(&[]) {
        assert_eq!(condition.as_deref(), Some("flag"), "{schedule}");
    }
    let theta_2 = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1";
    let condition = &conditions(&[("x", "-2")])[theta_2];
    assert_eq!(condition.as_deref(), Some("flag && x == -2"));
}

#[test]
fn from_any_initial_values() {
    let wanted = Permuting {
        any_start: true,
        ..by(THETA_0)
    };
    let permuted = permute(&program("fagiani-example5", &[]), &wanted);
    let any_start = permuted.permutations.any_start.expect("it was asked for");
    assert_eq!(any_start.executable, 9);
    let conditions = any_start.classes.iter();
    let conditions: Vec<&str> = conditions
        .map(|class| class.path_condition.as_deref().unwrap_or(""))
        .collect();
    let at = |x: i64| format!("flag && x == {x}");
    let (one, two, three) = (at(-1), at(-2), at(-3));
    assert_eq!(
        conditions,
        [
            "flag", "flag", &two, &one, "flag", "flag", &three, &two, "flag"
        ]
    );
    assert!(any_start.all_pairs);
    assert_eq!(any_start.undecided, None);
    let pair = |first, second| {
        let mut all = any_start.disagreements.iter();
        all.find(|pair| (pair.first, pair.second) == (first, second))
    };
    // Classes 1 and 2 are executable from the same states, and end with 2x + 2 and with 2(x + 2).
    // Classes 2 and 9 both end with 2(x + 2).
    assert_eq!(pair(1, 2).map(|pair| pair.condition.as_str()), Some("flag"));
    assert_eq!(pair(2, 9), None);
    // Classes are compared only for the initial states from which both are executable.
    assert_eq!(pair(1, 4).map(|pair| pair.condition.clone()), Some(one));
    assert_eq!(pair(3, 7), None);
}

#[test]
fn runs_that_depend_on_the_initial_values_are_refused() {
    let source =
        "var i: int = 0 var a: int[2] = 0 process { let t = i; a[t] := 1 } process { i := 1 }";
    let wanted = Permuting {
        any_start: true,
        ..by("1 0 0")
    };
    let refused =
        load("index.maz", source, &[]).permute(&wanted, &Options::default(), &mut quietly());
    let message = refused.expect_err("the index").to_string();
    assert!(
        message.contains("depends on the initial values"),
        "{message}"
    );
    let source = "var x: int = 0 process { assert x == 1 }";
    let wanted = Permuting {
        any_start: true,
        ..random(0)
    };
    let refused =
        load("fails.maz", source, &[]).permute(&wanted, &Options::default(), &mut quietly());
    let message = refused.expect_err("the failure").to_string();
    assert!(message.contains("not every process ends"), "{message}");
}

#[test]
fn long_runs() {
    let program = program("fagiani-example5-flips", &[("FLIPS", "500")]);
    for complete in [false, true] {
        let wanted = Permuting {
            complete,
            ..random(3)
        };
        let permuted = permute(&program, &wanted);
        assert_eq!(permuted.permutations.executable, 501);
        assert_eq!(permuted.record.counts.final_states, 252);
        assert_eq!(permuted.permutations.recorded.steps.len(), 1004);
        // No step is tried twice: each class adds only the steps that it shares with no other
        // class.
        assert!(permuted.record.counts.steps < 501 * 1005);
    }
}

/// Errata E4: two writers with n independent processes between them.
#[test]
fn the_printed_form_repeats_itself() {
    for (n, printed) in [("1", 3), ("2", 5), ("3", 9), ("4", 17)] {
        let wanted = Permuting {
            paper: true,
            ..random(1)
        };
        let permuted = permute(&program("e4-writers-between", &[("N", n)]), &wanted);
        assert_eq!(permuted.permutations.executable, 2, "{n}");
        let paper = permuted.permutations.paper.expect("it was asked for");
        assert_eq!(paper.executable, printed, "{n}");
    }
    let many = permute(&program("e4-writers-between", &[("N", "16")]), &random(1));
    assert_eq!(many.permutations.executable, 2);
    // The search knows the remaining labels, so it tries few prefixes that lead to no permutation.
    assert!(
        many.record.counts.steps < 400,
        "{}",
        many.record.counts.steps
    );
}

/// Definition 9 uses the variables that a label names; claims include both sides of a choice
/// (errata E2).
#[test]
fn the_printed_interference_is_of_the_label() {
    let source = "var a, b: int = 0  process { a := 1 <| true |> b := 1 }  process { b := 2 }";
    let wanted = Permuting {
        paper: true,
        ..by("0 1")
    };
    let permuted = permute(&load("claims.maz", source, &[]), &wanted).permutations;
    assert_eq!(permuted.executable, 2);
    assert_eq!(permuted.paper.expect("asked for").executable, 1);
}

#[test]
fn the_permutations_of_one_path_do_not_show_other_paths() {
    let program = program("e6-choice", &[]);
    let one = permute(&program, &by("1 0"));
    assert_eq!(one.permutations.executable, 1);
    assert_eq!(one.record.deterministic, None);
    assert_eq!(one.record.verdict, Verdict::Verified);
    assert!(!one.record.scope.exhaustive);
    let wanted = Permuting {
        complete: true,
        ..by("1 0")
    };
    let all = permute(&program, &wanted);
    assert_eq!(all.permutations.seeds, 2);
    assert_eq!(all.permutations.executable, 2);
    assert_eq!(all.record.deterministic, Some(false));
    assert!(all.record.scope.exhaustive);
}

/// Errata E7 and E8: guards that block, and the label at the end of a loop.
#[test]
fn guards_of_choices_and_ends_of_loops() {
    let source = "var x: int = 0 var b: bool = false
        process { false |> (x := 1 <| b |> x := 2) }  process { b := true }";
    let blocked = permute(&load("e7.maz", source, &[]), &random(0));
    assert_eq!(blocked.record.verdict, Verdict::Violated);
    assert_eq!(blocked.permutations.classes[0].ending, Ending::Deadlock);
    assert_eq!(blocked.permutations.executable, 1);

    let program = program("e8-loop-exit", &[]);
    let recorded = permute(&program, &random(0)).permutations.recorded;
    let exit = recorded
        .steps
        .iter()
        .find(|step| step.label.ends_with("▷ skip"));
    assert!(exit.is_some(), "{recorded:?}");
    for seed in 0..5 {
        let wanted = Permuting {
            complete: true,
            ..random(seed)
        };
        assert!(agrees("e8", &program, &wanted, 1000));
    }
}

/// A deadlock that the recorded run does not have.
#[test]
fn a_prefix_that_cannot_complete_is_a_deadlock() {
    let source = "var x: int = 0  process { x := 1; x := 0 }  process { x == 1 |> skip }";
    let program = load("stuck.maz", source, &[]);
    let one = permute(&program, &by("0 1 0"));
    assert_eq!(one.permutations.executable, 1);
    assert_eq!(one.permutations.stuck, 1);
    assert_eq!(one.record.counts.deadlocks, 1);
    assert_eq!(one.record.verdict, Verdict::Violated);
    assert_eq!(one.record.witnesses[0].runs[0].schedule, "0 0");
}

/// Permutations of a deadlocked run after which a process can continue.
#[test]
fn a_permutation_may_be_open() {
    let source =
        "var x: int = 0  process { x := 1 }  process { x := 0 }  process { x == 1 |> skip }";
    let permuted = permute(&load("open.maz", source, &[]), &by("0 1")).permutations;
    assert_eq!((permuted.executable, permuted.open), (1, 1));
}

#[test]
fn a_bound_is_reported_and_leaves_the_verdict_open() {
    let program = program("fagiani-example5-flips", &[]);
    let mut options = Options::default();
    options.limits.depth = Some(5);
    let wanted = Permuting {
        complete: true,
        ..random(0)
    };
    let cut = program.permute(&wanted, &options, &mut quietly());
    let cut = cut.expect("a record");
    assert_eq!(cut.record.verdict, Verdict::Inconclusive);
    assert_eq!(cut.record.scope.bounds, [Bound::MaxDepth(5)]);
    assert_eq!(cut.record.deterministic, None);
    options.limits.depth = None;
    options.limits.executions = Some(2);
    let cut = program.permute(&wanted, &options, &mut quietly());
    let cut = cut.expect("a record");
    assert_eq!(cut.record.scope.bounds, [Bound::MaxExecutions(2)]);
    assert!(!cut.record.scope.exhaustive);
}

#[test]
fn a_program_without_steps() {
    let permuted = permute(
        &load("none.maz", "var x: int = 0 process { skip }", &[]),
        &random(0),
    );
    assert_eq!(permuted.permutations.executable, 1);
    assert_eq!(permuted.record.counts.final_states, 1);
}

/// Most steps belong to permutations; few steps only show that there is none. With N = 13, 104
/// labels are recorded and permuted.
#[test]
fn complete_makes_few_steps_in_vain() {
    for (n, traces, most) in [("13", 1, 208), ("14", 2, 1_000), ("15", 4, 6_000)] {
        let wanted = Permuting {
            complete: true,
            ..random(0)
        };
        let PermuteRecord { record, .. } = permute(&program("filesystem", &[("N", n)]), &wanted);
        assert_eq!(record.counts.traces, Some(traces), "N = {n}");
        let steps = record.counts.steps;
        assert!(steps <= most, "N = {n}: {steps} steps");
    }
}

/// Asserts that `--complete` and `explore --algorithm optimal` agree. Returns false if the
/// permutations take more than `steps` steps.
fn agrees(name: &str, program: &Program, wanted: &Permuting, steps: u64) -> bool {
    let mut options = Options::default();
    let explored = program
        .explore(Algorithm::Optimal, &options, &mut quietly())
        .expect("a record");
    options.limits.steps = Some(steps);
    let permuted = program.permute(wanted, &options, &mut quietly());
    let permuted = permuted.expect("permutations").record;
    if permuted.scope.bounds == [Bound::MaxSteps(steps)] {
        return false;
    }
    let figures = |record: &mazurka::record::Record| {
        let counts = &record.counts;
        let figures = [
            counts.executions,
            counts.deadlocks,
            counts.failures,
            counts.final_states,
        ];
        (record.verdict, figures, counts.traces, record.deterministic)
    };
    assert_eq!(figures(&permuted), figures(&explored), "{name}");
    true
}

/// A program's name, its text and its settings.
type Case = (String, String, Vec<(String, String)>);

/// Returns all cases of the corpus.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let folders = fs::read_dir(corpus()).expect("the corpus");
    for folder in folders.flatten().map(|entry| entry.path()) {
        let (Ok(source), Ok(expect)) = (
            fs::read_to_string(folder.join("program.maz")),
            fs::read_to_string(folder.join("expect.toml")),
        ) else {
            continue;
        };
        let expect: toml::Table = toml::from_str(&expect).expect("TOML");
        let each = expect.get("case").and_then(toml::Value::as_array);
        for case in each.into_iter().flatten() {
            let set = case.get("set").and_then(toml::Value::as_table);
            let text = |value: &toml::Value| match value {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let set = set.into_iter().flatten();
            let set: Vec<_> = set
                .map(|(name, value)| (name.clone(), text(value)))
                .collect();
            cases.push((folder.display().to_string(), source.clone(), set));
        }
    }
    cases.sort();
    cases
}

fn whole_corpus(most: u64, steps: u64, seeds: u64) {
    let mut compared = 0;
    for (name, source, set) in cases() {
        let program = Program::load(&name, &source, &set).ok();
        let Some(program) = program.filter(|program| program.unknowns().is_empty()) else {
            continue;
        };
        let mut options = Options::default();
        options.limits.executions = Some(most);
        let explored = program
            .explore(Algorithm::Optimal, &options, &mut quietly())
            .expect("a record");
        if !explored.scope.exhaustive {
            continue;
        }
        let name = format!("{name} {set:?}");
        let mut each = (0..seeds).map(|seed| {
            let wanted = Permuting {
                complete: true,
                ..random(seed)
            };
            agrees(&format!("{name}, seed {seed}"), &program, &wanted, steps)
        });
        compared += u64::from(each.all(|done| done));
    }
    assert!(compared > 150, "only {compared} cases");
}

#[test]
fn complete_agrees_with_optimal_on_the_corpus() {
    whole_corpus(300, 30_000, 2);
}

/// `cargo test --release -p mazurka --test it permute:: -- --ignored`
#[test]
#[ignore = "takes minutes"]
fn complete_agrees_with_optimal_on_more_of_the_corpus() {
    whole_corpus(20_000, 100_000_000, 3);
}

/// The recorded run as `run` shows it: path(θ0) and path(θ3) of Example 7, path(θ2) of Example 11,
/// and the effect of each.
#[test]
fn a_run_has_its_path() {
    let path = |x: &str, schedule: &str| {
        let program = program("fagiani-example5", &[("x", x)]);
        let plan = Plan::Schedule(schedule.parse().expect("a schedule"));
        let ran = program.run(&plan, &Options::default(), &mut quietly());
        let path = program.path(&ran.expect("it fits").run, &Options::default());
        path.expect("a path")
    };
    let theta_0 = path("0", THETA_0);
    assert_eq!(theta_0.condition, "flag");
    let state: Vec<String> = theta_0.state.iter().map(|b| b.value.clone()).collect();
    assert_eq!(state, ["2 * (x + 2)", "y + 1", "flag"]);
    assert_eq!(theta_0.branches, [3, 5, 7, 9]);
    let theta_2 = path("-2", "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1");
    assert_eq!(theta_2.condition, "flag && x == -2");
    let theta_3 = path("0", "0 0 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1 0.1 0.1");
    assert_eq!(theta_3.condition, "flag");
}

/// In another order, another lock of an array is taken; the label is still the same.
#[test]
fn another_lock_of_an_array_has_the_same_label() {
    let wanted = Permuting {
        any_start: true,
        ..by("1 0 0")
    };
    let permuted = permute(&program("found-permuted-lock", &[]), &wanted).permutations;
    assert_eq!(permuted.executable, 3);
    assert_eq!(permuted.any_start.expect("asked for").executable, 3);
}

/// A choice between bounds that depend on initial values is repeated if the value is within the
/// bounds.
#[test]
fn a_choice_between_symbolic_bounds_is_part_of_the_path() {
    let source =
        "var n: int = 3 var x: int = 0 process { x := choose(0..n) } process { n := n + 1 }";
    let program = Program::load("choose.maz", source, &[]).expect("a program");
    let wanted = Permuting {
        any_start: true,
        ..by("1 0=3")
    };
    let permuted = permute(&program, &wanted).permutations;
    assert_eq!(permuted.executable, 1);
    let any_start = permuted.any_start.expect("asked for");
    let conditions: Vec<_> = any_start
        .classes
        .iter()
        .map(|c| c.path_condition.clone())
        .collect();
    assert_eq!(any_start.executable, 2, "{any_start:?}");
    assert_eq!(
        conditions,
        [Some("n > 3".to_owned()), Some("n > 2".to_owned())]
    );
}

/// The permutations of these runs take so many steps that workers share them.
#[test]
fn permutations_are_the_same_for_any_number_of_workers() {
    let orders = "var x: int = 0
        process (p in 0..8) { x := x * 10 + p + 1 }";
    for (program, listed, executable) in [
        (program("writers", &[("N", "8")]), 7, 40_320),
        (load("orders.maz", orders, &[]), 1000, 40_320),
        (load("orders.maz", orders, &[]), 45_000, 40_320),
        (program("readers", &[("N", "14")]), 1000, 16_384),
    ] {
        let wanted = Permuting {
            listed,
            ..random(3)
        };
        let permuted = |jobs: usize| {
            let options = Options {
                jobs,
                ..Options::default()
            };
            let found = program.permute(&wanted, &options, &mut quietly());
            let mut found = found.expect("permutations");
            let counts = &mut found.record.counts;
            let steps = std::mem::take(&mut counts.steps);
            counts.events = 0;
            (found.record.seconds, found.record.options) = (0.0, None);
            (found, steps)
        };
        let (one, steps) = permuted(1);
        assert_eq!(one.permutations.executable, executable);
        let classes = usize::try_from(executable).expect("a small number");
        assert_eq!(one.permutations.classes.len(), classes.min(listed));
        for jobs in [2, 3] {
            let (more, more_steps) = permuted(jobs);
            assert_eq!(one, more, "{jobs} jobs");
            // The steps on the way to branches are counted, too.
            assert!(more_steps > steps, "{jobs} jobs did not share the branches");
        }
    }
}

#[test]
fn limits_stop_the_workers_that_permute() {
    let program = program("writers", &[("N", "14")]);
    let mut options = Options {
        jobs: 3,
        ..Options::default()
    };
    options.limits.time = Some(std::time::Duration::from_millis(500));
    let started = std::time::Instant::now();
    let found = program.permute(&random(0), &options, &mut quietly());
    let found = found.expect("permutations");
    assert!(started.elapsed() < std::time::Duration::from_secs(8));
    assert!(found.record.scope.bounds.contains(&Bound::TimeLimit(500)));
    assert!(found.permutations.executable > 1000);
    assert_eq!(found.permutations.classes.len(), 1000);
    assert_ne!(found.record.verdict, Verdict::Verified);
}
