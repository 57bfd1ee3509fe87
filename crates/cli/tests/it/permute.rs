//! `permute`.

use crate::support::{mazurka, with_input};

const CHOICE: &str = "var x, y: int = 0 process { x := 1 } process { y := 1 <| x == 0 |> y := 2 }";
const EXAMPLE: &str = "corpus/maz/fagiani-example5/program.maz";
const THETA_0: &str = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0";

fn without_seconds(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("seconds"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_text_of_example_5() {
    let said = mazurka(&["permute", EXAMPLE, "--schedule", THETA_0, "--paper"]);
    assert_eq!(said.code, 0, "{said:?}");
    insta::assert_snapshot!(without_seconds(&said.out));
}

#[test]
fn the_record_has_the_permutations() {
    let flags = ["permute", "-", "--schedule", "1 0", "--format", "json"];
    let one = with_input(&flags, CHOICE).json();
    assert_eq!(one["command"], "permute");
    assert_eq!(one["algorithm"], "fagiani");
    assert_eq!(one["deterministic"], serde_json::Value::Null);
    assert_eq!(one["scope"]["exhaustive"], false);
    let permutations = &one["permutations"];
    assert_eq!(permutations["executable"], 1);
    assert_eq!(permutations["branches"], serde_json::json!([1]));
    assert_eq!(permutations["classes"][0]["schedule"], "1 0");
    let all = with_input(&[&flags[..], &["--complete"]].concat(), CHOICE).json();
    assert_eq!(all["deterministic"], false);
    assert_eq!(all["scope"]["exhaustive"], true);
    assert_eq!(all["permutations"]["seeds"], 2);
}

#[test]
fn exit_codes() {
    let code = |flags: &[&str], source| {
        let flags = [&["permute", "-", "-q"], flags].concat();
        with_input(&flags, source).code
    };
    assert_eq!(code(&[], CHOICE), 0);
    let stuck = "var x: int = 0 process { x := 1; x := 0 } process { x == 1 |> skip }";
    assert_eq!(code(&["--schedule", "0 1 0"], stuck), 1);
    assert_eq!(code(&["--complete", "--max-steps", "3"], CHOICE), 2);
    assert_eq!(code(&["--schedule", "7"], CHOICE), 3);
    assert_eq!(code(&["--schedule", "x"], CHOICE), 3);
    assert_eq!(code(&["--schedule", "0", "--seed", "1"], CHOICE), 3);
    assert_eq!(code(&["--classes", "0"], CHOICE), 3);
}

#[test]
fn mistakes_are_explained() {
    let said = with_input(&["permute", "-", "--schedule", "1 1"], CHOICE);
    assert!(said.err.contains("process 1 has already ended"), "{said:?}");
    let flags = ["permute", "-", "--class", "9", "--format", "dot"];
    let said = with_input(&flags, CHOICE);
    assert_eq!(said.code, 3);
    assert!(said.err.contains("there is no class 9"), "{said:?}");
}

#[test]
fn the_picture_of_a_class() {
    let flags = ["permute", "-", "--schedule", "1 0", "--format"];
    let dot = with_input(&[&flags[..], &["dot"]].concat(), CHOICE);
    assert_eq!(dot.code, 0);
    assert!(dot.out.contains("e0 -> e1;"), "{}", dot.out);
    let svg = with_input(&[&flags[..], &["svg"]].concat(), CHOICE);
    assert!(svg.out.starts_with("<svg") && svg.out.trim_end().ends_with("</svg>"));
    assert!(svg.out.contains("x == 0 ▷ y := 1"), "{}", svg.out);
}

#[test]
fn long_lists_are_cut_and_say_so() {
    let writers = "var x: int = 0 process (k in 0..5) { x := k }";
    let said = with_input(&["permute", "-", "--classes", "3"], writers);
    assert!(
        said.out.contains("… 117 more: --classes N lists more"),
        "{}",
        said.out
    );
    assert!(
        said.first_line()
            .starts_with("permuted: 120 executable permutations")
    );
}

#[test]
fn run_tells_the_path_condition() {
    let schedule = "0 0 0.1 0.1 0.1 0.1 0.1 0.1 0.1 0.0 0.1 0.1";
    let run = |more: &[&str]| {
        let mut all = vec![
            "run",
            EXAMPLE,
            "--set",
            "x=-2",
            "--schedule",
            schedule,
            "--path",
        ];
        all.extend(more);
        mazurka(&all)
    };
    let said = run(&[]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out.contains("path condition: flag && x == -2\n"),
        "{said:?}"
    );
    assert!(
        said.out
            .contains("where another path can start: 3, 5, 7, 9\n"),
        "{said:?}"
    );
    let record = run(&["--format", "json"]).json();
    assert_eq!(record["path"]["condition"], "flag && x == -2");
    assert_eq!(record["path"]["branches"][3], 9);
    let said = with_input(&["run", "-", "--path"], "process { let x = input(); skip }");
    assert_eq!(said.code, 3, "{said:?}");
    assert!(said.err.contains("--path"), "{said:?}");
}
