//! Tests `mazurka test`, `new`, `explain`, `man` and `--color`.

use std::fs;
use std::path::Path;

use crate::support::{CommandResult, command, mazurka, run_command};

/// Runs the command in another folder.
#[track_caller]
fn within(folder: &Path, args: &[&str]) -> CommandResult {
    run_command(command().current_dir(folder).args(args), "")
}

fn put(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("written");
}

const RACE: &str = "var x: int = 0 process { x := 1 } process { assert x == 0 }\n";
const CALM: &str = "const N = 1 var x: int = 0 process { x := N } ensures x == N\n";

/// A link in the folder of a list or a program does not lead to files in other folders.
#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let (inner, outer) = (folder.path().join("inner"), folder.path());
    fs::create_dir(&inner).expect("a folder");
    put(outer, "calm.maz", CALM);
    std::os::unix::fs::symlink(outer.join("calm.maz"), inner.join("link.maz")).expect("a link");
    put(&inner, "mazurka.toml", "[[model]]\nfile = 'link.maz'\n");
    let result = within(&inner, &["test"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.out.contains("leads out of the folder"), "{result:?}");
    let list = "[[program]]\nname = 'a'\nfile = 'link.maz'\n";
    put(&inner, "list.toml", list);
    let result = within(&inner, &["table", "list.toml"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("leads out of the folder"), "{result:?}");
    let refines = "refines \"link.maz\" via { x -> x }\nvar x: int = 0\nprocess { x := 1 }\n";
    put(&inner, "refines.maz", refines);
    let result = within(&inner, &["check", "refines.maz"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("leads out of the folder"), "{result:?}");
}

/// A pipe in a folder of models is no program: a read from it might never return.
#[cfg(unix)]
#[test]
fn pipes_are_no_models() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    put(folder, "calm.maz", CALM);
    let pipe = folder.join("pipe.maz");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    put(folder, "mazurka.toml", "[[model]]\nfile = 'pipe.maz'\n");
    let result = within(folder, &["test"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.out.contains("is not a file"), "{result:?}");
    let result = within(folder, &["fmt", "."]);
    assert_eq!(result.code, 0, "{result:?}");
}

#[test]
fn commands_can_be_pasted() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    put(
        folder,
        "a list.maz",
        "var a: int[2] = 0 process { a[0] := 1 }\n",
    );
    let list = "[[model]]\nfile = 'a list.maz'\nset = { a = [1, 2] }\nverdict = 'violated'\n";
    put(folder, "mazurka.toml", list);
    let result = within(folder, &["test"]);
    let again = "again: mazurka check 'a list.maz' '--set=a=[1, 2]'";
    assert!(result.out.contains(again), "{result:?}");
}

#[test]
fn verdicts_are_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    put(folder, "race.maz", RACE);
    put(folder, "calm.maz", CALM);
    let list = "
        [[model]]
        file = 'race.maz'
        verdict = 'violated'
        kind = 'failure'
        [[model]]
        file = 'calm.maz'
        set = { N = 3 }
        verdict = 'verified'
    ";
    put(folder, "mazurka.toml", list);
    let good = within(folder, &["test"]);
    assert_eq!(good.code, 0, "{good:?}");
    assert!(good.out.contains("ok  calm.maz N=3  verified"), "{good:?}");
    assert_eq!(good.last_line(), "2 models: 2 as expected, 0 not");
    let wrong = list
        .replace("'failure'", "'deadlock'")
        .replace("N = 3", "M = 3");
    put(folder, "wrong.toml", &wrong);
    let bad = within(folder, &["test", "wrong.toml", "--jobs", "1"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    let race = "violated: failure, not violated: deadlock";
    assert!(bad.out.contains(race), "{bad:?}");
    assert!(bad.out.contains("again: mazurka check race.maz"), "{bad:?}");
    assert!(bad.out.contains("not checked: "), "{bad:?}");
    assert_eq!(bad.last_line(), "2 models: 0 as expected, 2 not");
    let results = within(folder, &["test", "wrong.toml", "--format", "json"]).json();
    assert_eq!(results[0]["found"]["kind"], "failure");
    assert_eq!(results[1]["found"], serde_json::Value::Null);
    let problem = results[1]["problem"].as_str().expect("a sentence");
    assert!(problem.contains("M"), "{problem}");
}

#[test]
fn verdicts_may_be_apart_and_models_elsewhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    fs::create_dir(folder.join("anna")).expect("a folder");
    put(&folder.join("anna"), "race.maz", CALM);
    put(folder, "race.maz", RACE);
    put(folder, "mazurka.toml", "[[model]]\nfile = 'race.maz'\n");
    put(folder, "apart.toml", "[verdict]\n'race.maz' = 'verified'\n");
    let open = within(folder, &["test", "."]);
    assert_eq!(open.code, 0, "{open:?}");
    let last = "1 model: 0 as expected, 0 not, 1 without an expected verdict";
    assert_eq!(open.last_line(), last);
    let apart = ["test", "--verdicts", "apart.toml"];
    assert_eq!(within(folder, &apart).code, 1);
    let elsewhere = [&apart[..], &["--models", "anna"]].concat();
    let right = within(folder, &elsewhere);
    assert_eq!(right.code, 0, "{right:?}");
}

#[test]
fn a_limit_is_inconclusive_not_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let long = "const N = 40 var x: int = 0\nprocess { for i in 0..N { x := x + 1 } }\n\
                process { for i in 0..N { x := (2 * x) % 1000 } }\nensures x >= 0\n";
    put(folder, "long.maz", long);
    let list = "[[model]]\nfile = 'long.maz'\nverdict = 'verified'\ntime-limit = '0.2s'\n";
    put(folder, "mazurka.toml", list);
    let cut = within(folder, &["test"]);
    assert_eq!(cut.code, 2, "{cut:?}");
    assert!(cut.out.contains("inconclusive, not verified"), "{cut:?}");
    assert_eq!(within(folder, &["test", "--allow-inconclusive"]).code, 0);
}

#[test]
fn lists_that_are_wrong_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    assert_eq!(within(folder, &["test"]).code, 3);
    for (text, result) in [
        (
            "[[model]]\nfile = 'a.maz'\nrun = 'ls'",
            "unknown field `run`",
        ),
        ("[[model]]\nfile = '../a.maz'", "stays below"),
        ("[[model]]\nfile = 'a.c'", "compiled and executed"),
        ("model = 3", "invalid type"),
    ] {
        put(folder, "mazurka.toml", text);
        let refused = within(folder, &["test"]);
        assert_eq!(refused.code, 3, "{refused:?}");
        assert!(refused.err.contains(result), "{refused:?}");
    }
    put(
        folder,
        "mazurka.toml",
        "[[model]]\nfile = 'missing.maz'\nverdict = 'verified'",
    );
    let missing = within(folder, &["test"]);
    assert_eq!(missing.code, 3, "{missing:?}");
}

#[test]
fn every_template_is_verified_and_none_is_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for template in ["counter", "channel", "monitor", "object", "litmus"] {
        let file = format!("{template}.maz");
        let created = within(folder, &["new", &file, "--template", template]);
        assert_eq!(created.code, 0, "{created:?}");
        let next = created.last_line().strip_prefix("next: mazurka ");
        let next: Vec<&str> = next.expect("a command").split(' ').collect();
        let checked = within(folder, &next);
        assert_eq!(checked.code, 0, "{checked:?}");
        assert_eq!(within(folder, &["fmt", "--check", &file]).code, 0, "{file}");
    }
    assert_eq!(within(folder, &["new", "a.abs"]).code, 0);
    assert_eq!(within(folder, &["check", "a.abs"]).code, 0);
    assert_eq!(within(folder, &["new", "mazurka.toml"]).code, 0);
    let tested = within(folder, &["test"]);
    assert_eq!(tested.code, 0, "{tested:?}");
    let again = within(folder, &["new", "counter.maz"]);
    assert_eq!(again.code, 3);
    assert!(again.err.contains("exists already"), "{again:?}");
    assert_eq!(within(folder, &["new", "a.txt"]).code, 3);
    // In another folder, the model of the list is missing.
    fs::create_dir(folder.join("empty")).expect("a folder");
    let listed = within(folder, &["new", "empty/list.toml"]);
    let first = "first, for its example: mazurka new empty/counter.maz\n";
    assert!(listed.out.contains(first), "{listed:?}");
    let other = within(folder, &["new", "b.abs", "--template", "counter"]);
    assert!(other.err.contains("end with .maz"), "{other:?}");
}

#[test]
fn codes_are_explained() {
    let one = mazurka(&["explain", "m0301"]);
    assert_eq!(one.code, 0, "{one:?}");
    assert!(one.out.starts_with("M0301\n\n"), "{one:?}");
    assert!(
        one.out.contains("Repaired:") && !one.out.contains("```"),
        "{one:?}"
    );
    let all = mazurka(&["explain", "--list"]);
    assert!(
        all.out.lines().any(|line| line.starts_with("W01")),
        "{all:?}"
    );
    let of_abs = mazurka(&["explain", "A0202"]);
    assert!(of_abs.out.starts_with("A0202\n\n"), "{of_abs:?}");
    let none = mazurka(&["explain", "M9999"]);
    assert_eq!(none.code, 3);
    assert!(none.err.contains("--list"), "{none:?}");
}

#[test]
fn manual_pages_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    let name = pages.to_str().expect("UTF-8");
    assert_eq!(mazurka(&["man", name]).code, 0);
    let check = fs::read_to_string(pages.join("mazurka-check.1")).expect("a page");
    assert!(check.contains("time\\-limit"), "{check}");
    assert!(mazurka(&["man"]).out.contains(".TH mazurka 1"));
}

#[test]
fn colours_are_a_choice() {
    let colours = |args: &[&str]| {
        let checked = mazurka(&[&["check", "examples/counter.maz"], args].concat());
        checked.out.contains('\u{1b}')
    };
    assert!(!colours(&[]));
    assert!(colours(&["--color", "always"]));
    assert!(!colours(&["--color", "never"]));
}

/// Ctrl-C ends the processes of all models, and what is known is reported.
#[cfg(unix)]
#[test]
fn an_interrupted_list_reports_its_results() {
    let folder = tempfile::tempdir().expect("a folder");
    let slow = "var x: int = 0 process (i in 0..16) { x := x + i; x := x + i; x := x + 1 }";
    put(folder.path(), "calm.maz", CALM);
    put(folder.path(), "slow.maz", slow);
    put(folder.path(), "slower.maz", slow);
    let list = ["calm", "slow", "slower"];
    let list = list.map(|name| format!("[[model]]\nfile = '{name}.maz'\nverdict = 'verified'\n"));
    put(folder.path(), "mazurka.toml", &list.concat());
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_mazurka"))
        .args(["test", "--jobs", "2"])
        .current_dir(folder.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let mut kill = std::process::Command::new("kill");
    let sent = kill.args(["-TERM", &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    // The pipes stay open as long as a process of a model runs.
    let ended = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(ended.status.code(), Some(2), "{ended:?}");
    assert!(text.contains("ok  calm"), "{text}");
    assert_eq!(
        text.matches("inconclusive, not verified").count(),
        2,
        "{text}"
    );
    assert!(
        String::from_utf8_lossy(&ended.stderr).contains("interrupted"),
        "{ended:?}"
    );
}
