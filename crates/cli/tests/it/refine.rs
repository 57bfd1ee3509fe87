//! Tests `refines "other.maz" via { x -> y }`: which files are read, verdicts, evidence.

use std::path::{Path, PathBuf};

use crate::support::{mazurka, with_input};

/// A temporary folder with these files.
struct Folder(PathBuf);

impl Folder {
    fn with(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("refine-{name}-{}", std::process::id()));
        for (file, text) in files {
            let file = path.join(file);
            let folder = file.parent().expect("a folder");
            std::fs::create_dir_all(folder).expect("a folder");
            std::fs::write(file, text).expect("a file");
        }
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(Path::new(name)).to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SPEC: &str = "var y, hidden: int = 0
    process { hidden := choose(1..3); y := hidden; y := 0 }";

fn program(body: &str) -> String {
    format!(
        "refines \"specs/spec.maz\" via {{ x -> y }}\nvar x, z: int = 0\nprocess {{ {body} }}\n"
    )
}

#[test]
fn runs_are_compared_up_to_what_is_not_observed() {
    for (body, code, result) in [
        (
            "z := 1; x := 2; z := 2; x := 0",
            0,
            "verified: no failure, refines ",
        ),
        ("x := choose(1..3); x := 0", 0, "refines: "),
        (
            "x := 3; x := 0",
            1,
            "no run of it goes on with these values",
        ),
        (
            "x := 1; x := 2; x := 0",
            1,
            "no run of it goes on with these values",
        ),
        (
            "x := 1",
            1,
            "the run ends here, and no run of it with the same values does",
        ),
        ("skip", 1, "the run ends here"),
        // The end of a deadlocked run need not match an end of the specification.
        ("x := 1; await z == 1", 1, "deadlock"),
    ] {
        let folder = Folder::with(
            "runs",
            &[("specs/spec.maz", SPEC), ("a.maz", &program(body))],
        );
        let found = mazurka(&["check", &folder.file("a.maz")]);
        assert_eq!(found.code, code, "{body}: {found:?}");
        let all = format!("{}{}", found.out, found.err);
        assert!(all.contains(result), "{body}: {all}");
    }
    let waits = program("x := 1; await z == 1").replace("var", "allows deadlock\nvar");
    let folder = Folder::with("waits", &[("specs/spec.maz", SPEC), ("a.maz", &waits)]);
    assert_eq!(mazurka(&["check", &folder.file("a.maz")]).code, 0);
}

#[test]
fn the_start_is_compared_and_evidence_is_replayed() {
    let text = program("x := 3").replace("x, z: int = 0", "x, z: int = 7");
    let folder = Folder::with("start", &[("specs/spec.maz", SPEC), ("a.maz", &text)]);
    let found = mazurka(&["check", &folder.file("a.maz")]);
    assert!(
        found.out.contains("it starts with other values"),
        "{found:?}"
    );

    let text = program("z := 5; x := 3");
    let folder = Folder::with("again", &[("specs/spec.maz", SPEC), ("a.maz", &text)]);
    let file = folder.file("a.maz");
    let found = mazurka(&["check", &file, "--format", "json"]);
    let record = found.json();
    assert_eq!(record["witnesses"][0]["runs"][0]["schedule"], "0 0");
    assert_eq!(record["refinement"]["answer"], "broken");
    let again = with_input(&["replay", "-"], &found.out);
    assert_eq!(again.code, 1, "{again:?}");
    let changed = SPEC.replace("1..3", "1..4");
    std::fs::write(folder.file("specs/spec.maz"), changed).expect("a file");
    let again = with_input(&["replay", "-"], &found.out);
    assert_eq!(again.code, 3, "{again:?}");
    assert!(
        again.err.contains("its specification has changed"),
        "{again:?}"
    );
}

#[test]
fn constants_of_both_programs_are_set_in_both() {
    let spec = "const N = 1 const M = 1 var y: int = 0 process { y := N; y := M }";
    let text = "refines \"spec.maz\" via { x -> y }
const N = 1 var M: int = 1 var x: int = 0 requires M > 0 process { x := N; x := 1 }";
    let folder = Folder::with("set", &[("spec.maz", spec), ("a.maz", text)]);
    let file = folder.file("a.maz");
    let check = |set: &str| mazurka(&["check", &file, "--set", set, "--format", "json"]);
    assert_eq!(mazurka(&["check", &file]).code, 0);
    let both = check("N=5");
    assert_eq!(both.code, 0, "{both:?}");
    // A variable of this program is not a constant of the other.
    let one = check("M=7");
    assert_eq!(one.code, 0, "{one:?}");
    let changed = spec.replace("y := N", "y := 1");
    std::fs::write(folder.file("spec.maz"), changed).expect("a file");
    let found = check("N=5");
    assert_eq!(found.code, 1, "{found:?}");
    assert_eq!(with_input(&["replay", "-"], &found.out).code, 1);
}

#[test]
fn programs_that_cannot_be_compared_are_reported() {
    let wrong = |spec: &str, text: &str| {
        let folder = Folder::with("wrong", &[("specs/spec.maz", spec), ("a.maz", text)]);
        let found = mazurka(&["check", &folder.file("a.maz")]);
        assert_eq!(found.code, 3, "{found:?}");
        found.err
    };
    let right = &program("x := 1");
    assert!(wrong("var q: int = 0 process { q := 1 }", right).contains("no shared variable `y`"));
    assert!(wrong("var y: bool = false process { skip }", right).contains("different types"));
    assert!(wrong("var y: int process { skip }", right).contains("all values are known"));
    assert!(wrong("var y: int = 0 process { y = 1 }", right).contains("M0105"));
    let missing = right.replace("spec.maz", "none.maz");
    assert!(wrong(SPEC, &missing).contains("none.maz"));
}

#[test]
fn limits_and_other_commands_leave_it_open() {
    let spec = "var y, n: int = 0 process { while true { n := n + 1 } } process { y := 1 }";
    let folder = Folder::with(
        "open",
        &[("specs/spec.maz", spec), ("a.maz", &program("x := 1"))],
    );
    let file = folder.file("a.maz");
    let found = mazurka(&["check", &file, "--max-steps", "1000"]);
    assert_eq!(found.code, 2, "{found:?}");
    assert!(found.out.contains("not known to refine: "), "{found:?}");
    for command in ["explore", "unfold", "symbolic", "permute"] {
        let found = mazurka(&[command, &file]);
        assert_eq!(found.code, 2, "{found:?}");
        assert!(found.out.contains("`refines` was not checked"), "{found:?}");
    }
    let found = mazurka(&["check", &file, "--property", "failure"]);
    assert_eq!(found.code, 0, "{found:?}");
}
