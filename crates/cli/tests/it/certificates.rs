//! Tests `check --certificate` and `check-certificate`, also with damaged certificates.

use std::fs;
use std::path::Path;

use crate::support::{mazurka, with_input};

const LOCKED: &str = "examples/counter-locked.maz";

/// Returns the path of a file in a folder.
fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a name").to_owned()
}

#[test]
fn a_verdict_follows_from_its_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = &path(folder.path(), "counter.cert");
    for command in ["check", "explore"] {
        let result = mazurka(&[command, LOCKED, "--certificate", file]);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(
            result.err.contains("certificate: a tree of 2 executions"),
            "{result:?}"
        );
        let result = mazurka(&["check-certificate", file, "--file", LOCKED]);
        assert_eq!(result.code, 0, "{result:?}");
        assert!(result.out.starts_with("verified: no failure"), "{result:?}");
        fs::remove_file(file).expect("it was saved");
    }
}

#[test]
fn the_evidence_for_a_program_with_loops_is_its_states() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = &path(folder.path(), "spin.cert");
    let spin = "var x: int = 0 process { while x == 0 { skip } } process { x := 1 }";
    let result = with_input(&["check", "-", "--certificate", file], spin);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(
        result.err.contains("states that no step leaves"),
        "{result:?}"
    );
    let result = mazurka(&["check-certificate", file]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("no livelock"), "{result:?}");
}

#[test]
fn temporal_properties_follow_from_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = &path(folder.path(), "served.cert");
    let served = "var stop: bool = false eventually stop whenever !stop leads_to stop
        process { while !stop { skip } } process { stop := true }";
    let result = with_input(&["check", "-", "--certificate", file], served);
    assert_eq!(result.code, 0, "{result:?}");
    let result = mazurka(&["check-certificate", file]);
    assert_eq!(result.code, 0, "{result:?}");
    assert!(result.out.contains("no violated property"), "{result:?}");
    // Remove the ranks, with which the certificate shows the temporal properties.
    let bytes = fs::read(file).expect("it was saved");
    let evidence = bytes.len() - 1;
    fs::write(file, &bytes[..evidence]).expect("a file");
    assert_eq!(mazurka(&["check-certificate", file]).code, 3);
}

#[test]
fn unverified_programs_have_no_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = &path(folder.path(), "none.cert");
    let cases = [
        (
            "var x: int = 0 process { x := 1 } process { x := 2 }",
            1,
            "only `verified`",
        ),
        ("var x: int process { x := 1 }", 3, "leave values open"),
        (
            "var x: int = 0 cover x == 1 process { x := 1 }",
            3,
            "no certificates for `cover`",
        ),
    ];
    for (program, code, why) in cases {
        let result = with_input(&["check", "-", "--certificate", file], program);
        assert_eq!(result.code, code, "{result:?}");
        assert!(result.err.contains(why), "{result:?}");
        assert!(!Path::new(file).exists(), "{program}");
    }
}

#[test]
fn a_certificate_that_was_changed_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = &path(folder.path(), "counter.cert");
    mazurka(&["check", LOCKED, "--certificate", file]);
    let whole = fs::read(file).expect("it was saved");
    // Remove the last steps of the first of two runs.
    let evidence = whole.iter().rposition(|&byte| byte != 0).expect("a step");
    let mut less = whole.clone();
    less.truncate(evidence);
    let length = whole.len() - less.len();
    fs::write(file, &less).expect("a file");
    let result = mazurka(&["check-certificate", file]);
    assert_eq!(result.code, 3, "{length} bytes less: {result:?}");
    fs::write(file, "no certificate").expect("a file");
    let result = mazurka(&["check-certificate", file]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(
        result.err.contains("this is not a certificate"),
        "{result:?}"
    );
    fs::write(file, &whole).expect("a file");
    let result = mazurka(&["check-certificate", file, "--file", "examples/counter.maz"]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("about another program"), "{result:?}");
    let result = mazurka(&["check-certificate", "no-such-file"]);
    assert_eq!(result.code, 3, "{result:?}");
}

#[test]
fn evidence_without_a_run_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = &path(folder.path(), "writers.cert");
    let writers = "var x: int = 0 process { x := 1 } process { x := 1 }";
    let result = with_input(&["check", "-", "--certificate", file], writers);
    assert_eq!(result.code, 0, "{result:?}");
    let mut bytes = fs::read(file).expect("it was saved");
    // The evidence is a tree of two runs with two steps each. It consists of a byte with the
    // length, four bytes for each run, and a byte for the end of the root. Shorten it to one run:
    // length 4, and the four bytes of the run.
    let at = bytes.len() - 10;
    assert_eq!(bytes[at], 9, "{bytes:?}");
    bytes[at] = 4;
    bytes.truncate(at + 5);
    fs::write(file, &bytes).expect("a file");
    let result = mazurka(&["check-certificate", file]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(
        result.out.contains("a race that is not reversed"),
        "{result:?}"
    );
}
