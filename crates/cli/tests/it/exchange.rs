//! Tests `--format sarif`, `junit`, `github`, `itf`, `csv` and `markdown`: the output is valid for
//! its readers, and agrees with the record.

use serde_json::Value;

use crate::schemas::{fits, itf, sarif};
use crate::support::{CommandResult, mazurka, with_input};
use crate::wellformed::{Element, elements};

const LIVELOCK: &str = "corpus/records/livelock.maz";
const TWO_ENDS: &str = "var x: int = 0 process a { x := 1 } process b { x := 2 }";
const RECORDS: &str = "struct M { from: int, ok: bool }
enum E { A, B }
var m: M[2] = M(from: -1, ok: false)
var grid: int[2][2] = [[1, 2], [3, 4]]
var e: E = A
process { m[1].from := 7; grid[1][0] := 9; e := B; assert m[0].ok }";

/// Commands that are violated, verified, inconclusive or refused; some programs are on standard
/// input.
const COMMANDS: [(&[&str], &str); 11] = [
    (&["check", "examples/counter.maz"], ""),
    (&["check", "examples/counter-locked.maz"], ""),
    (&["check", "examples/philosophers.maz", "--set", "N=3"], ""),
    (&["check", LIVELOCK], ""),
    (&["check", "-"], TWO_ENDS),
    (&["check", "-"], RECORDS),
    (
        &["check", "-"],
        "var x: int = 0 cover x == 2 cover one: x == 1 process { x := 1 }",
    ),
    (
        &["check", "examples/philosophers.maz", "--max-steps", "5"],
        "",
    ),
    (
        &["explore", "examples/counter.maz", "--algorithm", "source"],
        "",
    ),
    (
        &["explore", "corpus/abs/ping-pong", "--max-executions", "3"],
        "",
    ),
    (&["check", "-"], "process { x := }"),
];

#[test]
fn places_in_included_files_name_these_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("in");
    std::fs::create_dir(&inner).expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(inner.join(name), text).expect("written");
    write(
        "lib.maz",
        "var x: int = 0\nproc bad() { x := 1; assert x == 0 }\n",
    );
    write("main.maz", "include \"lib.maz\"\nprocess p { bad() }\n");
    let said = |format: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_mazurka"))
            .args(["check", "in/main.maz", "--format", format])
            .current_dir(folder.path())
            .output()
            .expect("the tool");
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(
        said("github").contains("file=in/lib.maz,line=2,"),
        "{}",
        said("github")
    );
    assert!(said("junit").contains("in/lib.maz:2:"), "{}", said("junit"));
    let sarif: Value = serde_json::from_str(&said("sarif")).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    let uri = |location: &Value| location["physicalLocation"]["artifactLocation"]["uri"].clone();
    assert_eq!(uri(&result["locations"][0]), "in/lib.maz");
    let steps = &result["codeFlows"][0]["threadFlows"][0]["locations"];
    let steps = steps.as_array().expect("steps");
    assert!(!steps.is_empty(), "{result}");
    for step in steps {
        assert_eq!(uri(&step["location"]), "in/lib.maz", "{step}");
    }
    let record: Value = serde_json::from_str(&said("json")).expect("JSON");
    assert_eq!(
        record["witnesses"][0]["runs"][0]["steps"][0]["file"],
        "lib.maz"
    );
}

fn run_command(command: (&[&str], &str), format: &str) -> CommandResult {
    let (words, input) = command;
    with_input(&[words, &["--format", format]].concat(), input)
}

/// Returns the record of each command, if its program has no mistakes, and its output in a format.
fn all(format: &str) -> Vec<(Option<Value>, CommandResult)> {
    let both = COMMANDS.map(|command| {
        let record = run_command(command, "json");
        let printed = run_command(command, format);
        assert_eq!(printed.code, record.code, "{printed:?}");
        (Some(record.json()).filter(|_| record.code != 3), printed)
    });
    both.into()
}

fn items<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value[name].as_array().map_or(&[], |all| &all[..])
}

#[test]
fn sarif_has_every_violation_with_its_runs() {
    for (record, result) in all("sarif") {
        let log = result.json();
        fits(&sarif(), &log);
        let run = &log["runs"][0];
        let errors: Vec<&Value> = items(run, "results")
            .iter()
            .filter(|result| result["level"] == "error")
            .collect();
        let Some(record) = record else {
            assert_eq!(run["invocations"][0]["executionSuccessful"], false);
            assert_eq!(errors[0]["ruleId"], "M0101");
            continue;
        };
        let witnesses = items(&record, "witnesses");
        assert_eq!(errors.len(), witnesses.len());
        for (error, witness) in errors.iter().zip(witnesses) {
            assert_eq!(error["ruleId"], witness["kind"]);
            let rule = error["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(run["tool"]["driver"]["rules"][rule]["id"], witness["kind"]);
            let flows = items(error, "codeFlows");
            assert_eq!(flows.len(), items(witness, "runs").len());
            for (flow, run) in flows.iter().zip(items(witness, "runs")) {
                let steps = items(&flow["threadFlows"][0], "locations");
                assert_eq!(steps.len(), items(run, "steps").len());
                for (at, (step, made)) in steps.iter().zip(items(run, "steps")).enumerate() {
                    assert_eq!(step["executionOrder"], at + 1);
                    let region = &step["location"]["physicalLocation"]["region"];
                    assert_eq!(region["startLine"], made["line"]);
                }
            }
        }
        let notifications = items(&run["invocations"][0], "toolExecutionNotifications");
        assert_eq!(
            notifications.len(),
            1 + items(&record["scope"], "bounds").len()
        );
    }
}

#[test]
fn sarif_points_at_the_assertion() {
    let log = mazurka(&["check", "examples/counter.maz", "--format", "sarif"]).json();
    let result = &log["runs"][0]["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "examples/counter.maz");
    assert_eq!(place["region"]["startLine"], 15);
    let steps = items(&result["codeFlows"][0]["threadFlows"][0], "locations");
    assert_eq!(steps[0]["location"]["message"]["text"], "0: read x");
    assert_eq!(steps[0]["importance"], "essential");
}

fn attribute<'e>(element: &'e Element, name: &str) -> &'e str {
    let mut all = element.attributes.iter();
    all.find(|(known, _)| known == name)
        .map_or("", |(_, value)| value)
}

#[test]
fn junit_counts_its_cases() {
    for (record, result) in all("junit") {
        let text = result
            .out
            .strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let found = elements(text.expect("a declaration"));
        let named = |name: &str| found.iter().filter(|one| one.name == name).count();
        let cases: Vec<&str> = found
            .iter()
            .filter(|one| one.name == "testcase")
            .map(|one| attribute(one, "name"))
            .collect();
        assert!(!cases.is_empty() && cases.iter().all(|name| !name.is_empty()));
        for suite in found.iter().filter(|one| one.name.starts_with("testsuite")) {
            assert_eq!(attribute(suite, "tests"), cases.len().to_string());
            let failing = attribute(suite, "failures")
                .parse::<usize>()
                .expect("a number");
            assert!(failing <= named("failure") && (failing > 0) == (named("failure") > 0));
            assert_eq!(attribute(suite, "errors"), named("error").to_string());
        }
        let names = ["testsuites", "testsuite", "testcase", "failure", "error"];
        assert!(found.iter().all(|one| names.contains(&&*one.name)));
        let Some(record) = record else {
            assert_eq!((cases, named("error")), (vec!["load"], 1));
            continue;
        };
        assert_eq!(
            named("failure"),
            items(&record, "witnesses").len(),
            "{}",
            result.out
        );
        let verdict = match (named("failure"), named("error")) {
            (0, 0) => "verified",
            (0, _) => "inconclusive",
            _ => "violated",
        };
        assert_eq!(record["verdict"], verdict, "{}", result.out);
    }
}

#[test]
fn line_breaks_of_messages_stay_in_attributes() {
    let program = "var x: int = 0 process { assert x == 1, \"one\\ntwo\" }";
    let result = with_input(&["check", "-", "--format", "junit"], program);
    assert!(result.out.contains("one&#10;two"), "{}", result.out);
}

#[test]
fn covers_are_test_cases() {
    let program = "var x: int = 0 cover x == 2 cover one: x == 1 process { x := 1 }";
    let result = with_input(&["check", "-", "--format", "junit"], program);
    assert!(
        result
            .out
            .contains("<testcase name=\"cover one\" classname=\"stdin\" time=\"0.000\"/>")
    );
    assert!(
        result
            .out
            .contains("<failure message=\"`x == 2` is never reached\""),
        "{}",
        result.out
    );
}

#[test]
fn github_annotates_the_files() {
    for (record, result) in all("github") {
        let mut levels = Vec::new();
        for line in result.out.lines() {
            let command = line.strip_prefix("::").expect("a command");
            let (head, text) = command.split_once("::").expect("a text");
            assert!(!text.is_empty());
            let (level, properties) = head.split_once(' ').expect("properties");
            levels.push(level);
            for property in properties.split(',') {
                let (name, value) = property.split_once('=').expect("a value");
                let number = value.parse::<usize>().is_ok_and(|value| value > 0);
                match name {
                    "line" | "col" | "endColumn" => assert!(number, "{line}"),
                    "file" | "title" => assert!(!value.is_empty() && !value.contains(':')),
                    other => panic!("unknown property {other}"),
                }
            }
        }
        let errors = levels.iter().filter(|level| **level == "error").count();
        let Some(record) = record else {
            assert!(errors > 0 && errors == levels.len(), "{levels:?}");
            continue;
        };
        assert_eq!(errors, items(&record, "witnesses").len());
        let last = *levels.last().expect("a line");
        match record["verdict"].as_str() {
            Some("verified") => assert_eq!(last, "notice"),
            Some("inconclusive") => assert_eq!(last, "warning"),
            _ => assert!(errors > 0),
        }
    }
    let result = mazurka(&["check", "examples/counter.maz", "--format", "github"]);
    let head = "::error file=examples/counter.maz,line=15,col=1,title=failure::failure: ensures";
    assert!(result.out.starts_with(head), "{}", result.out);
}

#[test]
fn itf_has_the_states_of_the_run() {
    for (record, result) in all("itf") {
        let Some(record) = record else {
            assert!(result.err.contains("M0101"));
            continue;
        };
        let witnesses = items(&record, "witnesses").iter();
        let Some(shown) = witnesses.clone().find(|one| !items(one, "runs").is_empty()) else {
            assert!(
                result.out.is_empty() && result.err.contains("no trace"),
                "{result:?}"
            );
            continue;
        };
        let trace = result.json();
        let vars: Vec<&str> = items(&trace, "vars")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        fits(&itf(&vars), &trace);
        let run = &shown["runs"][0];
        let states = items(&trace, "states");
        assert_eq!(states.len(), items(run, "steps").len() + 1);
        assert_eq!(trace["loop"], shown["lasso"]);
        for (at, state) in states.iter().enumerate() {
            assert_eq!(state["#meta"]["index"], at);
        }
    }
}

#[test]
fn itf_reconstructs_states_from_the_last_one() {
    let trace = with_input(&["check", "-", "--format", "itf"], RECORDS).json();
    let number = |n: i64| serde_json::json!({ "#bigint": n.to_string() });
    let first = &trace["states"][0];
    assert_eq!(first["m.from"], serde_json::json!([number(-1), number(-1)]));
    assert_eq!(first["grid"][1][0], number(3));
    assert_eq!(first["e"], "A");
    let last = items(&trace, "states").last().expect("a state");
    assert_eq!(last["m.from"][1], number(7));
    assert_eq!(
        last["grid"],
        serde_json::json!([[number(1), number(2)], [number(9), number(4)]])
    );
    assert_eq!((&last["e"], &last["m.ok"][0]), (&"B".into(), &false.into()));
    // `run` writes a trace as well, and an infinite run has a `loop`.
    let result = mazurka(&[
        "run",
        "examples/counter.maz",
        "--schedule",
        "0 1 1 0",
        "--format",
        "itf",
    ]);
    assert_eq!(result.json()["states"][4]["x"], number(1));
    let trace = mazurka(&["check", LIVELOCK, "--format", "itf"]).json();
    let back = trace["loop"].as_u64().expect("it goes round") as usize;
    let states = items(&trace, "states");
    let without = |state: &Value| {
        let mut state = state.clone();
        state["#meta"] = Value::Null;
        state
    };
    assert_eq!(
        without(&states[back]),
        without(states.last().expect("a state"))
    );
}

/// Parses the cells of a text as RFC 4180 defines them.
fn cells(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut chars = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        let row = rows.last_mut().expect("a row");
        let cell = row.last_mut().expect("a cell");
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\r' if !quoted => {
                assert_eq!(chars.next(), Some('\n'));
                rows.push(vec![String::new()]);
            }
            c => cell.push(c),
        }
    }
    assert_eq!(rows.pop(), Some(vec![String::new()]));
    rows
}

#[test]
fn tables_have_the_counts_of_the_record() {
    let csv = all("csv");
    let markdown = all("markdown");
    for ((record, result), (_, table)) in csv.into_iter().zip(markdown) {
        let Some(record) = record else {
            continue;
        };
        let rows = cells(&result.out);
        assert_eq!((rows.len(), rows[0].len()), (2, rows[1].len()));
        for name in [
            "executions",
            "traces",
            "deadlocks",
            "failures",
            "final_states",
            "states",
        ] {
            let column = rows[0]
                .iter()
                .position(|known| known == name)
                .expect("a column");
            let count = record[name]
                .as_u64()
                .map_or(String::new(), |count| count.to_string());
            assert_eq!(rows[1][column], count, "{name}");
        }
        let lines: Vec<&str> = table.out.lines().collect();
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        assert_eq!(lines.len(), 3, "{}", table.out);
        assert!(lines.iter().all(|line| columns(line) == rows[0].len() + 1));
    }
}

#[test]
fn a_benchmark_is_a_table() {
    let words = [
        "bench", "--quick", "--repeat", "1", "--filter", "fib", "--format",
    ];
    let csv = mazurka(&[&words[..], &["csv"]].concat());
    let rows = cells(&csv.out);
    assert!(csv.code == 0 && rows.len() > 1, "{csv:?}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let markdown = mazurka(&[&words[..], &["markdown"]].concat());
    assert_eq!(markdown.out.lines().count(), rows.len() + 1);
}
