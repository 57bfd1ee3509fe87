//! Tests `repair`: the changes that it finds, and the file that it writes.

use std::fs;

use crate::support::{mazurka, root, with_input};

/// Returns the kind of the first change that `repair` finds for a program, and the lines that the
/// change removes and adds.
fn best(file: &str) -> (String, Vec<String>) {
    let result = mazurka(&["repair", file, "--format", "json"]);
    assert_eq!(result.code, 0, "{file}: {result:?}");
    let record = result.json();
    let repair = &record["repairs"][0];
    let diff = repair["diff"].as_str().expect("a diff");
    let changed = |line: &&str| {
        line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
    };
    let lines = diff.lines().filter(changed).map(str::to_owned).collect();
    // The changed program is verified.
    let source = repair["source"].as_str().expect("a text");
    let checked = with_input(&["check", "-"], source);
    assert_eq!(checked.code, 0, "{file}: {checked:?}\n{source}");
    let kind = repair["kind"].as_str().expect("a kind").to_owned();
    (kind, lines)
}

#[track_caller]
fn repaired(file: &str, kind: &str, lines: &[&str]) {
    let (found, changed) = best(file);
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    assert_eq!((&found[..], &changed[..]), (kind, lines), "{file}");
}

#[test]
fn a_change_of_the_order_comes_first() {
    repaired(
        "examples/repair/abba.maz",
        "order",
        &["+  lock(b);", "-  lock(b);"],
    );
    repaired(
        "examples/repair/peterson.maz",
        "order",
        &["+  want[me] := true;", "-  want[me] := true;"],
    );
    repaired(
        "examples/repair/double-checked.maz",
        "order",
        &[
            "-      done := true;",
            "-      value := 7",
            "+      value := 7;",
            "+      done := true",
        ],
    );
    repaired(
        "examples/repair/transfer.maz",
        "order",
        &[
            "-  lock(account[from]);",
            "-  lock(account[to]);",
            "+  let first = if from < to then from else to;",
            "+  let second = if from < to then to else from;",
            "+  lock(account[first]);",
            "+  lock(account[second]);",
        ],
    );
    repaired(
        "examples/philosophers.maz",
        "order",
        &[
            "-  lock(fork[p]);",
            "-  lock(fork[(p + 1) % N]);",
            "+  let low = if p < (p + 1) % N then p else (p + 1) % N;",
            "+  let high = if p < (p + 1) % N then (p + 1) % N else p;",
            "+  lock(fork[low]);",
            "+  lock(fork[high]);",
        ],
    );
}

#[test]
fn locks_atomic_blocks_joins_and_guards_are_put_where_they_are_missing() {
    repaired(
        "examples/counter.maz",
        "atomic",
        &[
            "-process { x := x + 1 }",
            "-process { x := x + 1 }",
            "+process { atomic { x := x + 1 } }",
            "+process { atomic { x := x + 1 } }",
        ],
    );
    repaired(
        "examples/repair/lost-wakeup.maz",
        "lock",
        &[
            "-  signal(not_empty)",
            "+  lock(m);",
            "+  signal(not_empty);",
            "+  unlock(m)",
        ],
    );
    repaired("examples/repair/fork.maz", "join", &["+  join;"]);
    repaired(
        "examples/repair/handover.maz",
        "guard",
        &["-  got := data", "+  ready |> got := data"],
    );
    // For the counter, the change with a lock is the second.
    let result = mazurka(&["repair", "examples/counter.maz"]);
    assert!(
        result
            .out
            .contains("+process { lock(m); x := x + 1; unlock(m) }"),
        "{result:?}"
    );
    assert!(
        result
            .out
            .contains("leaves 2 of 4 traces and 1 final state"),
        "{result:?}"
    );
}

#[test]
fn nothing_is_written_unless_asked() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("abba.maz");
    let text = fs::read_to_string(root().join("examples/repair/abba.maz")).expect("a program");
    fs::write(&path, &text).expect("a file");
    let file = path.to_str().expect("a name");
    assert_eq!(mazurka(&["repair", file]).code, 0);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), text);
    let result = mazurka(&["repair", file, "--apply"]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.err.contains("change 1 was written"), "{result:?}");
    assert_ne!(fs::read_to_string(&path).expect("it is there"), text);
    assert_eq!(mazurka(&["check", file]).code, 0);
    // No temporary file is left.
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    let result = mazurka(&["repair", file, "--apply"]);
    assert!(
        result.out.contains("there is nothing to repair"),
        "{result:?}"
    );
    assert_eq!(result.code, 3, "{result:?}");
}

#[test]
fn a_program_that_no_change_repairs_is_reported() {
    let wrong = "var x: int = 0 ensures x == 3 process { x := 1 } process { x := 2 }";
    let result = with_input(&["repair", "-"], wrong);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.starts_with("no repair:"), "{result:?}");
    let result = with_input(&["repair", "-", "--apply"], wrong);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("--apply needs a file"), "{result:?}");
}

#[test]
fn the_time_limit_is_for_everything() {
    let many = "const N = 9 var x: int = 0 lock l[N] ensures x == 0
        process p (i in 0..N) { lock(l[i]); lock(l[(i + 1) % N]); x := x + i; x := x - i;
          unlock(l[i]); unlock(l[(i + 1) % N]) }";
    let start = std::time::Instant::now();
    let result = with_input(&["repair", "-", "--time-limit", "2s"], many);
    let took = start.elapsed();
    assert!(took.as_secs_f64() < 4.5, "{took:?} {result:?}");
    assert!([0, 2].contains(&result.code), "{result:?}");
}
