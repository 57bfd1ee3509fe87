//! Tests `explore --checkpoint` and `--resume`: interrupted searches, and damaged checkpoints.

use crate::support::{command, run_command};

const WRITERS: &str = "corpus/maz/writers/program.maz";

#[test]
fn a_stopped_search_can_be_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later.json");
    let explore = |more: &[&str], flag: &str| {
        let mut command = command();
        command.args(["explore", WRITERS, "--format", "json"]);
        if !more.contains(&"--set") {
            command.args(["--set", "N=7"]);
        }
        command.args(more).arg(flag).arg(&file);
        run_command(&mut command, "")
    };
    let first = explore(&["--max-executions", "1000"], "--checkpoint");
    assert_eq!(first.code, 2, "{first:?}");
    assert_eq!(
        first.json()["scope"]["bounds"][0]["bound"],
        "max-executions"
    );
    assert!(first.err.contains("--resume"), "{}", first.err);
    let second = explore(&["--max-executions", "1500", "--jobs", "2"], "--resume");
    assert_eq!(second.code, 2, "{second:?}");
    assert!(second.err.contains("to continue"), "{}", second.err);
    let short = explore(&["--max-executions", "1"], "--resume");
    assert!(short.err.contains("no part"), "{}", short.err);
    let last = explore(&[], "--resume");
    assert_eq!((last.code, last.err.as_str()), (0, ""), "{last:?}");
    assert_eq!(last.json()["traces"], 5040);
    assert_eq!(last.json()["executions"], 5040);
    // A finished search needs no checkpoint.
    let other = folder.path().join("never.json");
    let mut whole = command();
    whole.args(["explore", WRITERS, "--checkpoint"]).arg(&other);
    assert_eq!(run_command(&mut whole, "").code, 0);
    assert!(!other.exists());

    for (more, why) in [
        (&["--set", "N=6"][..], "another program"),
        (&["--algorithm", "source"][..], "--algorithm optimal"),
        (&["--max-depth", "9"][..], "give the same options"),
        (
            &["--algorithm", "stateful"][..],
            "cannot go on from a checkpoint",
        ),
    ] {
        let refused = explore(more, "--resume");
        assert_eq!(refused.code, 3, "{more:?}: {refused:?}");
        assert!(refused.err.contains(why), "{more:?}: {}", refused.err);
    }
}

#[test]
fn a_file_that_is_not_a_checkpoint_is_refused() {
    for (file, why) in [
        (WRITERS, "not a checkpoint"),
        ("corpus/maz", "directory"),
        ("nowhere.json", "no file"),
    ] {
        let mut command = command();
        command.args(["explore", WRITERS, "--resume", file]);
        let refused = run_command(&mut command, "");
        assert_eq!(refused.code, 3, "{refused:?}");
        assert!(refused.err.contains(why), "{}", refused.err);
    }
}

/// Saves a checkpoint of an unfinished search. Returns a function that resumes it with one worker.
fn saved(file: &std::path::Path) -> impl Fn(&str) -> crate::support::CommandResult {
    let explore = move |flag: &str| {
        let mut command = command();
        command.args(["explore", WRITERS, "--set", "N=7", "--max-executions"]);
        command.args(["1000", "--jobs", "1", flag]).arg(file);
        run_command(&mut command, "")
    };
    assert_eq!(explore("--checkpoint").code, 2);
    explore
}

#[test]
fn a_checkpoint_of_another_format_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later.json");
    let explore = saved(&file);
    let text = std::fs::read_to_string(&file).expect("a checkpoint");
    let saved_json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(saved_json["checkpoint"], 3);
    for (version, why) in [(1, "(format 1)"), (2, "(format 2)"), (999, "(format 999)")] {
        let mut other = saved_json.clone();
        other["checkpoint"] = version.into();
        std::fs::write(&file, other.to_string()).expect("it can be written");
        let refused = explore("--resume");
        assert_eq!(refused.code, 3, "{version}: {refused:?}");
        assert!(refused.err.contains(why), "{version}: {}", refused.err);
        assert!(refused.err.contains("start anew"), "{}", refused.err);
    }
    std::fs::write(&file, text).expect("it can be written");
    assert_eq!(explore("--resume").code, 2);
}

/// Returns the next number of a fixed sequence (SplitMix64).
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later.json");
    let explore = saved(&file);
    let whole = std::fs::read(&file).expect("a checkpoint");
    let mut seed = 17;
    for round in 0..300 {
        let mut bytes = whole.clone();
        // Most of a checkpoint is fingerprints; half of the changes are in its first lines.
        let places = [whole.len(), whole.len().min(1500)][round % 2];
        let at = random(&mut seed) as usize % places;
        let digit = b'0' + (random(&mut seed) % 10) as u8;
        match round % 6 {
            0 => bytes[at] ^= 1 << (random(&mut seed) % 8),
            1 => bytes[at] = digit ^ u8::from(bytes[at] == digit),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, digit),
            4 => bytes.truncate(at),
            _ => bytes.insert(at, b' '),
        }
        assert_ne!(bytes, whole, "round {round}");
        std::fs::write(&file, &bytes).expect("it can be written");
        let refused = explore("--resume");
        let at = format!("round {round}, byte {at}: {refused:?}");
        assert_eq!((refused.code, refused.out.as_str()), (3, ""), "{at}");
        let why = ["damaged", "(format ", "not UTF-8"];
        assert!(why.iter().any(|why| refused.err.contains(why)), "{at}");
        assert!(!refused.err.contains("internal error"), "{at}");
        assert_eq!(std::fs::read(&file).expect("it stays"), bytes, "{at}");
    }
    std::fs::write(&file, whole).expect("it can be written");
    assert_eq!(explore("--resume").code, 2);
}

#[test]
fn a_limit_without_a_checkpoint_explains_how_to_make_one() {
    let mut limited = command();
    limited.args(["explore", WRITERS, "--set", "N=7", "--max-executions", "9"]);
    let limited = run_command(&mut limited, "");
    assert_eq!(limited.code, 2);
    assert!(limited.err.contains("--checkpoint FILE"), "{}", limited.err);
}

#[test]
fn a_killed_search_continues_from_the_last_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later.json");
    let explore = |flag: &str, more: &[&str]| {
        let mut command = command();
        command.args(["explore", WRITERS, "--set", "N=9", "--format", "json"]);
        command.args(["--jobs", "1", flag]).arg(&file).args(more);
        command
    };
    let mut first = explore("--checkpoint", &["--checkpoint-every", "1ms"]);
    first.stdout(std::process::Stdio::null());
    let mut killed = first.spawn().expect("it starts");
    while !file.exists() && killed.try_wait().expect("a child").is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    killed.kill().expect("it can be killed");
    assert!(!killed.wait().expect("a child").success());
    let last = run_command(&mut explore("--resume", &[]), "");
    assert_eq!((last.code, last.err.as_str()), (0, ""), "{last:?}");
    assert_eq!(last.json()["traces"], 362_880);

    // A finished search needs no checkpoint.
    std::fs::remove_file(&file).expect("it was there");
    let mut whole = command();
    whole.args(["explore", WRITERS, "--set", "N=7", "--checkpoint"]);
    whole.arg(&file).args(["--checkpoint-every", "0s"]);
    assert_eq!(run_command(&mut whole, "").code, 0);
    assert!(!file.exists());
}
