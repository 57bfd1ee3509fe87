//! Input that cannot be read is refused with a message.

use crate::support::{CommandResult, mazurka, with_input};

#[track_caller]
fn refused(result: &CommandResult, words: &[&str]) {
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.out.is_empty(), "{result:?}");
    for word in words {
        assert!(
            result.err.contains(word),
            "`{word}` is missing in {result:?}"
        );
    }
    assert!(
        !result.err.contains("panicked") && !result.err.contains("internal error"),
        "{result:?}"
    );
}

#[test]
fn files_that_cannot_be_read_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    refused(
        &mazurka(&["check", &path("none.maz")]),
        &["there is no file", "none.maz"],
    );
    refused(&mazurka(&["run", &path("")]), &["is a directory"]);
    refused(
        &mazurka(&["replay", &path("none.json")]),
        &["there is no file", "none.json"],
    );

    std::fs::write(path("latin.maz"), b"var caf\xe9: int = 0").expect("written");
    refused(
        &mazurka(&["explore", &path("latin.maz")]),
        &["not UTF-8", "byte 7"],
    );

    std::fs::write(path("large.maz"), vec![b' '; (16 << 20) + 1]).expect("written");
    refused(
        &mazurka(&["check", &path("large.maz")]),
        &["larger than 16 MB"],
    );
}

#[test]
fn every_mistake_in_one_run_with_its_place() {
    let program = "var x: int = 0\nprocess {\n  x = 1;\n  y := 2\n}\n";
    let result = with_input(&["check", "-"], program);
    refused(&result, &["error[M", "standard input:3:", "x = 1"]);
    let result = with_input(
        &["check", "-"],
        "var x: int = 0\nprocess {\n  xx := true;\n  x := false\n}\n",
    );
    refused(
        &result,
        &[
            "standard input:3:",
            "standard input:4:",
            "2 errors in standard input",
        ],
    );
}

#[test]
fn unsupported_programs_are_refused() {
    let symbolic = with_input(&["permute", "-"], "var x: int\nprocess { x := x + 1 }");
    refused(&symbolic, &["`x`", "--set"]);
    let given = with_input(
        &["permute", "-", "--set", "x=3"],
        "var x: int\nprocess { x := x + 1 }",
    );
    assert_eq!(given.code, 0, "{given:?}");
    let input = with_input(&["permute", "-"], "var x: i32 = 0 process { x := input() }");
    refused(&input, &["input"]);
    let requires = with_input(
        &["run", "-"],
        "var x: int = 0 requires x > 0 process { x := 1 }",
    );
    refused(&requires, &["requires"]);
}

#[test]
fn settings_of_unknown_names() {
    let result = with_input(
        &["check", "-", "--set", "M=3"],
        "const N = 2 var x: int = N process { x := 1 }",
    );
    refused(&result, &["M"]);
    let result = with_input(
        &["check", "-", "--set", "N=many"],
        "const N = 2 var x: int = N process { x := 1 }",
    );
    refused(&result, &["N"]);
}

#[test]
fn schedules_that_do_not_fit() {
    let run = |schedule: &str| mazurka(&["run", "examples/counter.maz", "--schedule", schedule]);
    refused(&run("0 zero"), &["step 2", "`zero`"]);
    refused(&run("0 7"), &["step 2"]);
    refused(&run("0 0 0"), &["step 3"]);
    refused(&run("0=5"), &["step 1"]);
}

#[test]
fn files_that_are_not_records_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bad.json");
    let path = path.to_string_lossy();
    for (text, words) in [
        ("", &["not a record"][..]),
        ("[1, 2", &["not a record"]),
        ("{}", &["not a record", "mazurka check"]),
        (r#"{"version": 99}"#, &["version 99", "versions 1 to 2"]),
        (r#"{"version": "new"}"#, &["version"]),
    ] {
        std::fs::write(&*path, text).expect("written");
        refused(&mazurka(&["replay", &path]), words);
    }
}

#[test]
fn an_empty_program_does_not_crash() {
    for text in ["", "\n", "\u{feff}", "\0", "}", "process", "▷", "/*"] {
        let result = with_input(&["check", "-"], text);
        assert!([0, 3].contains(&result.code), "{text:?}: {result:?}");
    }
}

#[test]
fn the_deepest_programs_do_not_crash() {
    let nested = |open: &str, close: &str| {
        let (open, close) = (open.repeat(127), close.repeat(127));
        let head = "var x: i8 = 0 var b: bool = false";
        format!("{head} process {{ {open}x := 1{close} }} process {{ b := true }}")
    };
    for (open, close) in [
        ("{ ", " }"),
        ("if !b { ", " }"),
        ("if b { skip } else { ", " }"),
        ("while (!b)[1] { ", " }"),
        ("spawn { ", " }"),
        ("atomic { ", " }"),
        ("b |> { ", " }"),
        ("b |> (", ")"),
        ("b |>* { ", " }"),
        ("skip <| b |> (", ")"),
    ] {
        let program = nested(open, close);
        for args in [
            &["check", "-", "--max-steps", "20000"][..],
            &["explore", "-", "--max-steps", "2000"],
            &["unfold", "-", "--max-steps", "2000"],
            &["reach", "-", "--property", "x == 1", "--max-steps", "2000"],
            &["permute", "-", "--max-steps", "2000"],
            &["symbolic", "-", "--max-steps", "200"],
            &["prove", "-", "--goal", "[*] x < 2", "--max-steps", "200"],
            &["run", "-"],
        ] {
            let result = with_input(args, &program);
            assert!(
                [0, 1, 2, 3].contains(&result.code),
                "{open} {args:?}: {result:?}"
            );
            assert!(!result.err.contains("M0407"), "{open} {args:?}: {result:?}");
        }
    }
}

#[test]
fn a_constant_is_set_once() {
    let program = "corpus/maz/writers/program.maz";
    for command in ["check", "explore", "run"] {
        let result = mazurka(&[command, program, "--set", "N=2", "--set", "N=3"]);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains("--set N is given twice"), "{result:?}");
    }
}
