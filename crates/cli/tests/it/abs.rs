//! Tests the commands on ABS programs.

use crate::support::mazurka;

const PHILOSOPHERS: &str = "corpus/abs/philosophers/program.abs";
const BUFFER: &str = "corpus/abs/producer-consumer/program.abs";
const PI: &str = "corpus/abs/pi/program.abs";

/// Runs the replay command at the end of a witness.
fn replayed(text: &str) -> crate::support::CommandResult {
    let command = text
        .lines()
        .find_map(|line| line.split_once("replay with: mazurka "))
        .map(|(_, command)| command)
        .unwrap_or_else(|| panic!("no replay in {text}"));
    let (before, rest) = command.split_once('"').expect("a schedule");
    let (schedule, after) = rest.split_once('"').expect("its end");
    let mut args: Vec<&str> = before.split_whitespace().collect();
    args.push(schedule);
    args.extend(after.split_whitespace());
    mazurka(&args)
}

#[test]
fn a_deadlock_names_what_each_task_waits_for_and_replays() {
    let result = mazurka(&["check", PHILOSOPHERS, "--set", "seats=2"]);
    assert_eq!(result.code, 1, "{result:?}");
    for words in [
        "violated: deadlock",
        "waits for the result of 0.0.1 (Fork",
        "waits for `!taken`",
    ] {
        assert!(result.out.contains(words), "{words}: {result:?}");
    }
    let again = replayed(&result.out);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(again.out.contains("waits for `!taken`"), "{again:?}");
}

#[test]
fn different_results_are_shown_side_by_side() {
    let result = mazurka(&["check", BUFFER, "--set", "n=1"]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(
        result
            .out
            .contains("violated: not deterministic: `Buffer1."),
        "{result:?}"
    );
    assert!(result.out.contains("races with step"), "{result:?}");
}

#[test]
fn the_observed_variables_decide() {
    let result = mazurka(&["check", BUFFER, "--observe", "Consumer,output"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(!result.out.contains("initially"), "{result:?}");
    let result = mazurka(&["check", BUFFER, "--observe", "Shop.till"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("A0402"), "{result:?}");
}

#[test]
fn one_object_alone_may_be_deterministic_or_not() {
    let buffer = mazurka(&["check", BUFFER, "--object", "Buffer1"]);
    assert_eq!(buffer.code, 1, "{buffer:?}");
    let consumer = mazurka(&["check", BUFFER, "--object", "Consumer3"]);
    assert_eq!(consumer.code, 0, "{consumer:?}");
}

#[test]
fn every_engine_explores_them() {
    for (engine, executions) in [
        ("naive", 90),
        ("sleep", 6),
        ("dpor", 6),
        ("source", 6),
        ("optimal", 6),
        ("context", 1),
        ("stateful", 1),
    ] {
        let args = [
            "explore",
            PI,
            "--set",
            "workers=3",
            "--algorithm",
            engine,
            "--format",
            "json",
        ];
        let record = mazurka(&args).json();
        assert_eq!(record["executions"], executions, "{engine}");
        assert_eq!(record["final_states"], 1, "{engine}");
    }
}

/// This program has too many traces and states to count. Only an engine that explores just one of
/// several orders of commuting steps can decide it.
#[test]
fn a_large_tree_of_actors_is_decided() {
    let args = [
        "check",
        "corpus/abs/fib/program.abs",
        "--set",
        "n=9",
        "--format",
        "json",
    ];
    let record = mazurka(&args).json();
    assert_eq!(record["verdict"], "verified", "{record}");
    assert_eq!(record["algorithm"], "context", "{record}");
}

#[test]
fn a_chart_has_a_lane_for_each_object() {
    let text = mazurka(&["run", PHILOSOPHERS, "--set", "seats=2", "--format", "chart"]);
    let lanes: Vec<&str> = text.first_line().split_whitespace().collect();
    assert_eq!(lanes.len(), 5, "{text:?}");
    assert!(lanes.contains(&"Fork1"), "{text:?}");
    let svg = mazurka(&["run", PHILOSOPHERS, "--set", "seats=2", "--format", "svg"]);
    assert!(svg.out.starts_with("<svg"), "{svg:?}");
    for name in ["Fork1", "Fork2", "Philosopher3", "Philosopher4"] {
        assert!(svg.out.contains(name), "{name}");
    }
}

#[test]
fn unsupported_constructs_are_named_with_their_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("clock.abs");
    let text = "module M;\n{ Int t = ms_since_model_start(); }\n";
    std::fs::write(&file, text).expect("written");
    let file = file.to_str().expect("a name");
    let result = mazurka(&["check", file]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("A0301"), "{result:?}");
    assert!(result.err.contains("clock.abs:2:11"), "{result:?}");
    std::fs::write(file, "module M;\n{ await duration(1, 1); skip; }\n").expect("written");
    assert_eq!(mazurka(&["check", file]).code, 0);
    assert_eq!(mazurka(&["check", file, "--ignore-time"]).code, 0);
    let run = mazurka(&["run", file]);
    assert!(run.out.contains("clock: it is 1"), "{run:?}");
    let svg = mazurka(&["run", file, "--format", "svg"]);
    assert!(svg.code == 0 && svg.out.contains("clock"), "{svg:?}");
}

#[test]
fn commands_without_support_for_abs_refuse() {
    for args in [
        &["reach", PI, "--property", "sum == 1"][..],
        &["symbolic", PI],
        &["prove", PI],
    ] {
        let result = mazurka(args);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(
            result.err.contains("ABS programs cannot be"),
            "{args:?}: {result:?}"
        );
        assert_eq!(result.err.lines().count(), 1, "{result:?}");
    }
}

#[test]
fn a_recorded_witness_replays() {
    let folder = tempfile::tempdir().expect("a folder");
    let witness = folder.path().join("witness.json");
    let name = witness.to_str().expect("a name");
    let result = mazurka(&["check", PHILOSOPHERS, "--set", "seats=2", "--witness", name]);
    assert_eq!(result.code, 1, "{result:?}");
    let again = mazurka(&["replay", name]);
    assert_eq!(again.code, 1, "{again:?}");
}

#[test]
fn all_nets_are_built_of_actors_and_their_tests_replay() {
    for (net, tests) in [("replicated", 6), ("contextual", 6), ("stateful", 6)] {
        let args = ["unfold", PI, "--set", "workers=3", "--net", net];
        let result = mazurka(&[&args[..], &["--format", "json"]].concat());
        assert_eq!(result.code, 0, "{result:?}");
        assert_eq!(result.json()["tests"], tests, "{net}: {result:?}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().to_str().expect("a name");
    let args = ["unfold", PHILOSOPHERS, "--set", "seats=2", "--tests", name];
    let result = mazurka(&[&args[..], &["--format", "json"]].concat());
    assert_eq!(result.code, 1, "{result:?}");
    assert_eq!(result.json()["deadlocks"], 1, "{result:?}");
    let tests: Vec<_> = std::fs::read_dir(folder.path()).expect("tests").collect();
    assert_eq!(result.json()["tests"], tests.len(), "{result:?}");
    for test in tests {
        let path = test.expect("a test").path();
        let again = mazurka(&["replay", path.to_str().expect("a name")]);
        assert!(again.code < 2, "{again:?}");
    }
    let drawn = mazurka(&["unfold", PI, "--set", "workers=2", "--format", "dot"]);
    assert!(drawn.out.contains("xlabel=\"Master1.sum\""), "{drawn:?}");
}

#[test]
fn a_guard_over_a_future_in_a_field_is_not_unfolded() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("moving.abs");
    let source = "module M;
interface I { Int m(); Unit w(); }
class C implements I {
  Fut<Int> f = null;
  Int m() { return 1; }
  Unit w() {
    f = this!m();
    await f?;
  }
}
{ I c = new C(); c!w(); }
";
    std::fs::write(&file, source).expect("written");
    let file = file.to_str().expect("a name");
    let result = mazurka(&["unfold", file]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(
        result.err.contains("the guard in line 8 waits"),
        "{result:?}"
    );
    assert_eq!(mazurka(&["explore", file]).code, 0);
}

/// The case that the guarded-command paper names: `await` on conditions that close again.
#[test]
fn runs_of_actors_are_permuted() {
    const DOOR: &str = "corpus/abs/boolean-await/program.abs";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.json");
    let name = file.to_str().expect("a name");
    let schedule = "0 0.0 0.1 0.1 0.2 0.2 0.3";
    let ran = mazurka(&["run", DOOR, "--schedule", schedule, "--format", "json"]);
    std::fs::write(&file, &ran.out).expect("written");
    let by_schedule = mazurka(&["permute", DOOR, "--schedule", schedule, "--format", "json"]);
    let by_record = mazurka(&["permute", DOOR, "--recorded", name, "--format", "json"]);
    for result in [&by_schedule, &by_record] {
        let permutations = &result.json()["permutations"];
        assert_eq!(permutations["executable"], 4, "{result:?}");
        assert_eq!(permutations["stuck"], 3, "{result:?}");
        assert_eq!(permutations["recorded"]["schedule"], schedule, "{result:?}");
    }
    // The run of a witness can be permuted as well.
    let result = mazurka(&["check", DOOR, "--witness", name]);
    assert_eq!(result.code, 1, "{result:?}");
    let result = mazurka(&["permute", DOOR, "--recorded", name]);
    assert!(result.code < 2, "{result:?}");
    let result = mazurka(&["permute", BUFFER, "--recorded", name]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("another program"), "{result:?}");
    let result = mazurka(&["permute", DOOR, "--symbolic-initial"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("starts in one state"), "{result:?}");
}

#[test]
fn the_path_of_a_run_of_actors_is_shown() {
    let result = mazurka(&["run", BUFFER, "--set", "n=1", "--seed", "1", "--path"]);
    assert_eq!(result.code, 0, "{result:?}");
    for words in [
        "path condition: true",
        "labels that take a branch",
        "await b!take() ▷",
    ] {
        assert!(result.out.contains(words), "{words}: {result:?}");
    }
}

#[test]
fn several_files_and_a_folder_are_one_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.to_str().expect("a name").to_owned()
    };
    let library = write(
        "library.abs",
        "module Library; export *;\ninterface I { Unit m(); }\nclass C implements I { Unit m() {\n  assert 1 > 2;\n} }\n",
    );
    let main = write(
        "main.abs",
        "module Main; import * from Library; { I i = new C(); i.m(); }\nmodule Other; { skip; }\n",
    );
    let result = mazurka(&["check", &library]);
    assert!(
        result.code == 3 && result.err.contains("A0224"),
        "{result:?}"
    );
    let result = mazurka(&["check", &library, &main]);
    assert!(
        result.code == 3 && result.err.contains("main.abs:2:"),
        "{result:?}"
    );
    // Lines are numbered in each file.
    for model in [
        vec![&*library, &*main],
        vec![folder.path().to_str().expect("a name")],
    ] {
        let witness = folder.path().join("witness.json");
        let witness = witness.to_str().expect("a name");
        let mut args = vec!["check"];
        args.extend(model);
        args.extend(["--main", "Main", "--witness", witness]);
        let result = mazurka(&args);
        assert!(
            result.code == 1 && result.out.contains(&format!("at {library}:4:3: assert")),
            "{result:?}"
        );
        for place in ["line 3 of ", "line 1 of "] {
            assert!(result.out.contains(place), "{place}: {result:?}");
        }
        assert!(!result.out.contains("--files"), "{result:?}");
        let again = mazurka(&["replay", witness]);
        assert_eq!(again.code, 1, "{again:?}");
    }
    let result = mazurka(&["check", &library, &main, "--main", "Other"]);
    assert_eq!(result.code, 0, "{result:?}");
    let result = mazurka(&["check", &main, "corpus/maz/counter/program.maz"]);
    assert!(
        result.code == 3 && result.err.contains("several files"),
        "{result:?}"
    );
}

#[test]
fn a_product_is_chosen_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("line.abs");
    let text = "module M; class C { Unit run() { skip; } } { new C(); }
delta D; modifies class M.C { modifies Unit run() { assert 1 > 2; } }
productline L; features F; delta D when F; product P (F);
";
    std::fs::write(&path, text).expect("written");
    let path = path.to_str().expect("a name");
    assert_eq!(mazurka(&["check", path]).code, 0);
    let result = mazurka(&["check", path, "--product", "P"]);
    assert!(
        result.code == 1 && result.out.contains("line 2"),
        "{result:?}"
    );
    let result = mazurka(&["check", path, "--product", "Q"]);
    assert!(
        result.code == 3 && result.err.contains("A0252"),
        "{result:?}"
    );
}

/// Writes a program into a temporary file.
fn written(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".abs").tempfile();
    let file = file.expect("a file");
    std::fs::write(file.path(), text).expect("written");
    file
}

#[test]
fn differences_are_shown_by_name() {
    let file = written(
        "module A; exception E1; interface I { Unit a(); Unit b(); }
class K implements I {
  Int f = 0; Int g = 0;
  Unit a() { g = 1; g = 0; }
  Unit b() { Int q = random(2); if (q == 0) { die E1; } }
}
{ I o = new K(); o!a(); o!b(); }
",
    );
    let name = file.path().to_str().expect("a name");
    let result = mazurka(&["check", name, "--keep-going"]);
    assert_eq!(result.code, 1, "{result:?}");
    let lines: Vec<&str> = { result.out.lines() }
        .filter(|l| l.contains(" in the one, "))
        .collect();
    assert_eq!(lines.len(), 1, "{result:?}");
    let line = lines[0].trim();
    assert!(
        line.starts_with("K1 = ") && line.contains("alive"),
        "{line}"
    );
    let result = mazurka(&["check", name, "--observe", "K.f"]);
    assert_eq!(result.code, 0, "{result:?}");
}

#[test]
fn a_chart_shows_which_task_keeps_its_object() {
    let file = written(
        "module A; interface I { Unit m(); Unit n(); }
class C implements I {
  Unit m() { println(\"a\"); println(\"b\"); suspend; } Unit n() { skip; }
}
{ I c = new C(); c!m(); c!n(); }
",
    );
    let name = file.path().to_str().expect("a name");
    let schedule = "0 0.0 0.0 0.0 0.1";
    let result = mazurka(&["run", name, "--schedule", schedule, "--format", "chart"]);
    let bars = |sign: &str| {
        { result.out.lines() }
            .filter(|l| l.trim_end().ends_with(sign))
            .count()
    };
    assert_eq!(
        (bars("m() [0.0] ┆"), bars("m [0.0] …")),
        (1, 1),
        "{result:?}"
    );
}

#[test]
fn a_huge_type_or_value_is_refused_quickly() {
    let synonyms: String = (1..30)
        .map(|n| format!("type T{n} = Pair<T{}, T{}>;\n", n - 1, n - 1))
        .collect();
    let types = format!("module A; type T0 = Int; {synonyms} def Int f(T29 x) = 1; {{ skip; }}");
    let file = written(&types);
    let result = mazurka(&["check", file.path().to_str().expect("a name")]);
    assert!(
        result.code == 3 && result.err.contains("A0112"),
        "{result:?}"
    );
    let file = written(
        "module A; data N = Z | S(N, N);
def N p(N x, Int n) = if n == 0 then x else p(S(x, x), n - 1);
interface I { Unit m(Int k); }
class C implements I { N z = Z; Int w = 0; Unit m(Int k) { z = p(Z, 50); w = w * 2 + k; } }
{ I c = new C(); c!m(0); c!m(1); }
",
    );
    let result = mazurka(&["check", file.path().to_str().expect("a name")]);
    assert!(
        result.code == 1 && result.out.contains("C1.w"),
        "{result:?}"
    );
}
