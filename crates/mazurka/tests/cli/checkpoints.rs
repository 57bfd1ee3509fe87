//! `explore --checkpoint` and `--resume`: what a user sees.

use crate::support::{command, said};

const WRITERS: &str = "corpus/maz/writers/program.maz";

#[test]
fn a_search_that_is_broken_off_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later.json");
    let explore = |more: &[&str], flag: &str| {
        let mut command = command();
        command.args(["explore", WRITERS, "--set", "N=7", "--format", "json"]);
        command.args(more).arg(flag).arg(&file);
        said(&mut command, "")
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
    let last = explore(&[], "--resume");
    assert_eq!((last.code, last.err.as_str()), (0, ""), "{last:?}");
    assert_eq!(last.json()["traces"], 5040);
    assert_eq!(last.json()["executions"], 5040);
    // What is finished needs no checkpoint.
    let other = folder.path().join("never.json");
    let mut whole = command();
    whole.args(["explore", WRITERS, "--checkpoint"]).arg(&other);
    assert_eq!(said(&mut whole, "").code, 0);
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
fn what_is_no_checkpoint_is_refused() {
    for (file, why) in [
        (WRITERS, "no checkpoint"),
        ("corpus/maz", "directory"),
        ("nowhere.json", "no file"),
    ] {
        let mut command = command();
        command.args(["explore", WRITERS, "--resume", file]);
        let refused = said(&mut command, "");
        assert_eq!(refused.code, 3, "{refused:?}");
        assert!(refused.err.contains(why), "{}", refused.err);
    }
}

#[test]
fn a_checkpoint_of_another_mazurka_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("later.json");
    let explore = |flag: &str| {
        let mut command = command();
        command.args(["explore", WRITERS, "--set", "N=7", "--max-executions"]);
        command.args(["1000", flag]).arg(&file);
        said(&mut command, "")
    };
    assert_eq!(explore("--checkpoint").code, 2);
    let text = std::fs::read_to_string(&file).expect("a checkpoint");
    let made: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    for (field, value, why) in [
        ("checkpoint", 1.into(), "(format 1)"),
        ("checkpoint", 999.into(), "(format 999)"),
        ("mazurka", "0.0.7".into(), "made by Mazurka 0.0.7"),
        ("sample", "0".repeat(32).into(), "fingerprints differ"),
    ] {
        let mut other = made.clone();
        assert_ne!(other[field], value);
        other[field] = value;
        std::fs::write(&file, other.to_string()).expect("it can be written");
        let refused = explore("--resume");
        assert_eq!(refused.code, 3, "{field}: {refused:?}");
        assert!(refused.err.contains(why), "{field}: {}", refused.err);
        assert!(refused.err.contains("start anew"), "{}", refused.err);
    }
    std::fs::write(&file, text).expect("it can be written");
    assert_eq!(explore("--resume").code, 2);
}

#[test]
fn a_limit_without_a_checkpoint_says_how_to_make_one() {
    let mut limited = command();
    limited.args(["explore", WRITERS, "--set", "N=7", "--max-executions", "9"]);
    let limited = said(&mut limited, "");
    assert_eq!(limited.code, 2);
    assert!(limited.err.contains("--checkpoint FILE"), "{}", limited.err);
}

#[test]
fn a_search_that_is_killed_goes_on_from_what_was_saved_last() {
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
    let last = said(&mut explore("--resume", &[]), "");
    assert_eq!((last.code, last.err.as_str()), (0, ""), "{last:?}");
    assert_eq!(last.json()["traces"], 362_880);

    // What is finished needs no checkpoint.
    std::fs::remove_file(&file).expect("it was there");
    let mut whole = command();
    whole.args(["explore", WRITERS, "--set", "N=7", "--checkpoint"]);
    whole.arg(&file).args(["--checkpoint-every", "0s"]);
    assert_eq!(said(&mut whole, "").code, 0);
    assert!(!file.exists());
}
