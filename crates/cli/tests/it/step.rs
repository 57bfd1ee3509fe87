//! Tests `mazurka step` with scripted dialogues.

use crate::support::{command, mazurka, root, run_command, with_input};

/// Returns the answers of a dialogue with these arguments to these lines of input.
fn dialogue(args: &[&str], lines: &[&str]) -> String {
    let result = with_input(&[&["step"], args].concat(), &lines.join("\n"));
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(result.err, "", "{result:?}");
    result.out
}

/// Returns the answers of a dialogue about a program that is given as text.
fn about(name: &str, source: &str, lines: &[&str]) -> String {
    let folder = folder(name);
    let file = folder.join("program.maz");
    std::fs::write(&file, source).expect("a place to write");
    let result = run_command(
        command().current_dir(&folder).args(["step", "program.maz"]),
        &lines.join("\n"),
    );
    assert_eq!((result.code, result.err.as_str()), (0, ""), "{result:?}");
    result.out
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("step-{name}"));
    std::fs::create_dir_all(&folder).expect("a place to write");
    folder
}

#[test]
fn a_failure_by_hand() {
    let lines = ["0", "1", "1", "state", "0", "schedule", "back 2", "start"];
    insta::assert_snapshot!(dialogue(&["examples/counter.maz"], &lines));
}

#[test]
fn a_deadlock_by_names() {
    let lines = [
        "philosopher(0) philosopher.1",
        "philosopher(0)",
        "state",
        "philosopher(2)",
        "state",
        "philosopher(0)",
    ];
    insta::assert_snapshot!(dialogue(&["examples/philosophers.maz"], &lines));
}

#[test]
fn actors_by_hand() {
    let file = "corpus/abs/ping-pong/program.abs";
    let out = dialogue(&[file], &["0", "state", "random 3", "finish"]);
    insta::assert_snapshot!(out);
}

#[test]
fn choices_are_asked_for() {
    let source = "var x: int = 0\nprocess { x := choose(1..3) + choose(0..2) }\n\
                  process { x := choose(0..20) }";
    let lines = ["0", "0=2", "0=2,1", "1=17", "schedule"];
    insta::assert_snapshot!(about("choices", source, &lines));
}

#[test]
fn endings_are_named() {
    let discarded = "var x: int = 0 process { x := 1; assume x == 2 }";
    let out = about("discarded", discarded, &["0 0"]);
    assert!(out.contains("discarded: an `assume` is false"), "{out}");
    let out = about("final", "var x: int = 0 process { x := 1 }", &["0"]);
    assert!(out.ends_with("final: every process has ended\n"), "{out}");
    let broken = "var x: int = 0 invariant x < 1 process { x := 1; x := 0 }";
    let out = about("invariant", broken, &["0"]);
    assert!(
        out.contains("failure: invariant does not hold: `x < 1`"),
        "{out}"
    );
    let at_once = "var x: int = 0 ensures x == 1 process { }";
    let out = about("at-once", at_once, &[]);
    assert!(out.contains("ensures does not hold"), "{out}");
}

#[test]
fn nonsense_is_answered_and_the_dialogue_goes_on() {
    let lines = [
        "dance",
        "back much",
        "0 7",
        "7",
        "goto 0 0 0",
        "goto x",
        "finish now",
        "save",
        "state",
    ];
    insta::assert_snapshot!(dialogue(&["examples/counter.maz"], &lines));
}

#[test]
fn letters_and_words_mean_the_same() {
    let file = ["examples/counter.maz"];
    let words = [
        "0", "back", "again", "random", "state", "help", "goto 1 0", "finish", "quit",
    ];
    let letters = ["0", "b", "a", "r", "s", "h", "g 1 0", "f", "q", "0"];
    assert_eq!(dialogue(&file, &words), dialogue(&file, &letters));
}

#[test]
fn a_process_may_have_the_name_of_a_letter_or_of_a_command() {
    let source = "var x: int = 0 process s { x := 1 } process state { x := 2 }";
    let out = about("names", source, &["s", "state", "1"]);
    let steps: Vec<&str> = out.lines().filter(|line| line.contains(" x := ")).collect();
    assert!(
        out.contains("after 1 step: x = 1\n"),
        "`state` is a command: {out}"
    );
    assert!(
        steps.iter().any(|line| line.starts_with("  1  s ")),
        "{out}"
    );
    assert!(
        steps.iter().any(|line| line.starts_with("  2  state ")),
        "{out}"
    );
}

#[test]
fn a_saved_run_equals_the_record_of_run_and_replays() {
    let folder = folder("save");
    let file = folder.join("bad.json");
    let name = file.display().to_string();
    let save = format!("save {name}");
    let out = dialogue(&["examples/counter.maz"], &["0 1 1 0", &save]);
    let wanted = format!("saved; replay with: mazurka replay {name}\n");
    assert!(out.ends_with(&wanted), "{out}");
    let args = ["run", "examples/counter.maz", "--schedule", "0 1 1 0"];
    let mut ran = mazurka(&[&args[..], &["--format", "json"]].concat()).json();
    let text = std::fs::read_to_string(&file).expect("the record");
    let mut saved: serde_json::Value = serde_json::from_str(&text).expect("a record");
    for record in [&mut ran, &mut saved] {
        record["seconds"] = 0.into();
        // The two commands record different limits.
        record["options"] = 0.into();
    }
    assert_eq!(saved, ran);
    let replayed = mazurka(&["replay", &name]);
    assert_eq!(replayed.code, 1, "{replayed:?}");
    // The run can be continued.
    let again = dialogue(
        &["examples/counter.maz", "--record", &name],
        &["back", "again"],
    );
    assert!(
        again.contains("ensures `both_counted` does not hold"),
        "{again}"
    );
    let other = mazurka(&["step", "examples/philosophers.maz", "--record", &name]);
    assert_eq!(other.code, 3, "{other:?}");
    assert!(other.err.contains("another program"), "{other:?}");
}

#[test]
fn a_run_that_cannot_be_saved_does_not_end_the_dialogue() {
    let lines = ["0", "save no/such/folder/run.json", "schedule"];
    let out = dialogue(&["examples/counter.maz"], &lines);
    assert!(out.contains("there is no such folder"), "{out}");
    assert!(
        out.contains("\n0\nrepeat with: mazurka run examples/counter.maz"),
        "{out}"
    );
}

#[test]
fn a_run_of_a_record_keeps_its_settings() {
    let folder = folder("settings");
    let name = folder.join("deadlock.json").display().to_string();
    let args = ["check", "examples/philosophers.maz", "--set", "N=2"];
    mazurka(&[&args[..], &["--witness", &name]].concat());
    let out = dialogue(&["examples/philosophers.maz", "--record", &name], &[]);
    assert!(
        out.contains("deadlock: philosopher(0) and philosopher(1) wait"),
        "{out}"
    );
}

#[test]
fn the_dialogue_starts_after_the_given_schedule() {
    let file = "examples/counter.maz";
    let out = dialogue(&[file, "--schedule", "0 1"], &[]);
    assert!(out.contains("\n  2  1  read x"), "{out}");
    for (schedule, wrong) in [
        ("0 0 0", "step 3 of the schedule: 0 has ended"),
        ("nobody", "step 1 of the schedule"),
    ] {
        let result = mazurka(&["step", file, "--schedule", schedule]);
        assert_eq!(result.code, 3, "{result:?}");
        assert!(result.err.contains(wrong), "{result:?}");
    }
}

#[test]
fn inputs_are_given_as_for_run() {
    let folder = folder("inputs");
    let file = folder.join("input.maz").display().to_string();
    std::fs::write(&file, "var x: i32 = 0 process { x := input() }").expect("a place");
    let out = dialogue(&[&file], &["0"]);
    assert!(out.contains("x := input()"), "{out}");
    let out = dialogue(&[&file, "--inputs", "0#0=7"], &["0", "schedule"]);
    assert!(out.contains("x: 0 -> 7"), "{out}");
    assert!(out.contains("--inputs \"0#0=7\""), "{out}");
    let none = mazurka(&["step", "examples/counter.maz", "--inputs", "0#0=7"]);
    assert_eq!(none.code, 3, "{none:?}");
}

#[test]
fn finish_is_run_and_limits_hold() {
    let ran = mazurka(&["run", "examples/philosophers.maz"]).out;
    let schedule = ran.lines().last().expect("a command");
    let out = dialogue(&["examples/philosophers.maz"], &["finish", "schedule"]);
    assert_eq!(out.lines().last(), Some(schedule), "{out}");
    let endless = "var x: int = 0 process { while true { x := 1 - x } }";
    let folder = folder("limits");
    let file = folder.join("endless.maz").display().to_string();
    std::fs::write(&file, endless).expect("a place");
    let out = dialogue(&[&file, "--max-depth", "20"], &["finish"]);
    assert!(
        out.contains("stopped: an execution reached --max-depth 20: raise"),
        "{out}"
    );
    let local = "var x: int = 0 process { let i = 0; while true { i := 1 - i } }";
    std::fs::write(&file, local).expect("a place");
    let out = dialogue(&[&file, "--max-local", "1000"], &["state"]);
    assert!(out.contains("cut within a step"), "{out}");
}

#[test]
fn the_program_must_be_a_file() {
    let result = with_input(&["step", "-"], "var x: int = 0");
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("name the file"), "{result:?}");
}

/// Ctrl-C ends the dialogue during any command.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_dialogue_with_exit_code_0() {
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    let folder = folder("interrupt");
    let file = folder.join("endless.maz");
    let endless = "var x: int = 0 process { while true { x := 1 - x } }";
    std::fs::write(&file, endless).expect("a place to write");
    for work in ["", "finish\n"] {
        let mut child = command()
            .args(["step", "--max-depth", "1000000000"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut stdin = child.stdin.take().expect("piped");
        let mut first = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        while !first.ends_with("line 1\n") {
            assert!(stdout.read_line(&mut first).expect("text") > 0, "{first}");
        }
        stdin.write_all(work.as_bytes()).expect("it reads");
        std::thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        let mut kill = std::process::Command::new("kill");
        let sent = kill.args(["-INT", &child.id().to_string()]).status();
        assert!(sent.expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        assert!(start.elapsed() < Duration::from_secs(5), "`{work}`");
        assert_eq!(output.status.code(), Some(0), "`{work}`: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "`{work}`");
        drop(stdin);
    }
}

/// The dialogue on the documentation page is the real one.
#[test]
fn the_page_shows_what_happens() {
    let page = std::fs::read_to_string(root().join("docs/step.md")).expect("the page");
    let (_, session) = page
        .split_once("```console\n$ mazurka step ")
        .expect("a session");
    let (session, _) = session.split_once("\n```").expect("its end");
    let (args, session) = session.split_once('\n').expect("lines");
    let mut lines = Vec::new();
    let mut shown = String::new();
    for line in session.lines() {
        match line.split_once("> ") {
            Some((steps, command)) if steps.parse::<u32>().is_ok() => lines.push(command),
            _ => shown += &format!("{line}\n"),
        }
    }
    assert!(lines.len() > 4, "{session}");
    let args: Vec<&str> = args.split_whitespace().collect();
    assert_eq!(dialogue(&args, &lines), shown);
}
