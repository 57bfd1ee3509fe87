//! Tests programs that include other files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{mazurka, with_input};

/// A temporary folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let path = std::env::temp_dir().join(format!("mazurka-{name}-{}", std::process::id()));
        let folder = Self(path);
        for (name, text) in files {
            folder.write(name, text);
        }
        folder
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A leftover folder is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_lock_is_written_once_for_several_clients() {
    let file = "examples/ticket-client.maz";
    let result = mazurka(&["check", file]);
    assert_eq!(result.code, 0, "{result:?}");
    let result = mazurka(&["check", file, "--set", "BUG=1"]);
    assert_eq!(result.code, 1, "{result:?}");
    assert!(result.out.contains("exclusion"), "{result:?}");
    // Steps of the included file name the file, with its own line numbers.
    let result = mazurka(&["run", file, "--schedule", "client.0 client.0"]);
    let mut rows = result.out.lines();
    let row = rows.find(|line| line.contains("(locks/ticket.maz)"));
    let row = row.unwrap_or_else(|| panic!("{result:?}"));
    assert!(row.contains("ticket[0] := next"), "{row}");
    assert!(row.trim_end().ends_with("line 7"), "{row}");
    for command in ["explore", "unfold", "permute", "symbolic"] {
        let result = mazurka(&[command, file]);
        assert_eq!(result.code, 0, "{command}: {result:?}");
    }
    let result = mazurka(&[
        "reach",
        file,
        "--property",
        "at(client.0, 12) && at(client.1, 12)",
    ]);
    assert_eq!(result.code, 0, "{result:?}");
    let result = mazurka(&["reach", file, "--property", "at(client.0, 11)"]);
    assert_eq!(result.code, 1, "{result:?}");
    let result = mazurka(&["reach", file, "--property", "at(client.0, 7)"]);
    assert!(result.err.contains("locks/ticket.maz:7"), "{result:?}");
}

#[test]
fn mistakes_are_shown_in_their_file() {
    let folder = Folder::new(
        "mistakes",
        &[
            ("main.maz", "include \"sub/a.maz\"\nprocess { x := 1 }\n"),
            ("sub/a.maz", "include \"b.maz\"\n\nvar x: int = y\n"),
            ("sub/b.maz", "var z: int = 0\n"),
        ],
    );
    let result = mazurka(&["check", &folder.file("main.maz")]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains(&folder.file("sub/a.maz")), "{result:?}");
    assert!(result.err.contains(":3:14"), "{result:?}");
    assert!(result.err.contains("var x: int = y"), "{result:?}");
    let result = mazurka(&["check", &folder.file("main.maz"), "--format", "json"]);
    let json = result.json();
    assert_eq!(json["diagnostics"][0]["span"]["line"], 3);
    assert_eq!(json["file"], folder.file("sub/a.maz"));
    // A mistake in the program itself, after an included file.
    folder.write("sub/a.maz", "include \"b.maz\"\nvar x: int = 0\n");
    folder.write("main.maz", "include \"sub/a.maz\"\nprocess { w := 1 }\n");
    let result = mazurka(&["check", &folder.file("main.maz")]);
    assert!(result.err.contains("main.maz:2:11"), "{result:?}");
}

#[test]
fn files_that_cannot_be_included_are_refused() {
    let folder = Folder::new(
        "refused",
        &[("in/main.maz", ""), ("out.maz", "var x: int = 0")],
    );
    for (path, why) in [
        ("../out.maz", "stays below"),
        ("missing.maz", "missing.maz"),
        ("main.maz", "includes itself"),
    ] {
        folder.write(
            "in/main.maz",
            &format!("include \"{path}\"\nprocess {{ skip }}\n"),
        );
        let result = mazurka(&["check", &folder.file("in/main.maz")]);
        assert_eq!(result.code, 3, "{path}: {result:?}");
        assert!(
            result.err.contains(why) && result.err.contains("M0431"),
            "{path}: {result:?}"
        );
    }
    // Mistakes after an include that fails are shown at their own lines, and the marks between
    // files are not shown.
    let text = "include \"missing.maz\"\nprocess { y := 1 }\nprocess { z := 1 }\n";
    folder.write("in/main.maz", text);
    let result = mazurka(&["check", &folder.file("in/main.maz")]);
    for line in ["2 | process { y := 1 }", "3 | process { z := 1 }"] {
        assert!(result.err.contains(line), "{result:?}");
    }
    assert!(!result.err.contains(['\u{1e}', '\u{241e}']), "{result:?}");
    let result = with_input(&["check", "-"], "include \"out.maz\"\nprocess { skip }\n");
    assert!(
        result.err.contains("standard input has no folder"),
        "{result:?}"
    );
    link(&folder.0.join("out.maz"), &folder.0.join("in/link.maz"));
    folder.write("in/main.maz", "include \"link.maz\"\nprocess { skip }\n");
    let result = mazurka(&["check", &folder.file("in/main.maz")]);
    assert!(result.err.contains("leads out of the folder"), "{result:?}");
}

#[cfg(unix)]
fn link(to: &Path, at: &Path) {
    std::os::unix::fs::symlink(to, at).expect("a link");
}

#[test]
fn a_record_knows_all_files() {
    let folder = Folder::new(
        "recorded",
        &[
            (
                "main.maz",
                "include \"a.maz\"\nprocess { x := x + 1 }\nprocess { assert x == 0 }\n",
            ),
            ("a.maz", "var x: int = 0\n"),
        ],
    );
    let (main, record) = (folder.file("main.maz"), folder.file("bad.json"));
    let result = mazurka(&["check", &main, "--witness", &record]);
    assert_eq!(result.code, 1, "{result:?}");
    let result = mazurka(&["replay", &record]);
    assert_eq!(result.code, 1, "{result:?}");
    folder.write("a.maz", "var x: int = 0 // changed\n");
    let result = mazurka(&["replay", &record]);
    assert_eq!(result.code, 3, "{result:?}");
}

#[test]
fn warnings_are_about_the_programs_own_file() {
    let folder = Folder::new(
        "warned",
        &[
            (
                "main.maz",
                "include \"a.maz\"\n\nvar unused: int = 0\nprocess { x := 1 }\n",
            ),
            ("a.maz", "var x, other: int = 0\nproc idle() { skip }\n"),
        ],
    );
    let result = mazurka(&["check", &folder.file("main.maz")]);
    assert!(
        result.err.contains("W0101") && result.err.contains("main.maz:3:5"),
        "{result:?}"
    );
    assert!(
        !result.err.contains("idle") && !result.err.contains("other"),
        "{result:?}"
    );
}

#[test]
fn a_run_of_several_files_is_linearised() {
    let folder = Folder::new(
        "linearised",
        &[
            (
                "main.maz",
                "var x: int = 0\ninclude \"sub/a b.maz\"\nprocess { x := x + 1 }\n",
            ),
            (
                "sub/a b.maz",
                "process w { x == 0 |> x := 5; twice() }\nproc twice() { here: x := 2 * x }\n",
            ),
        ],
    );
    let (main, schedule) = (folder.file("main.maz"), "w w 1");
    let result = mazurka(&["run", &main, "--schedule", schedule, "--linearise"]);
    assert_eq!(result.code, 0, "{result:?}");
    let steps = ["x == 0 |> x := 5;", "x := 2 * x;", "x := x + 1"];
    let mut rest = &result.out[..];
    for step in steps {
        let at = rest.find(step);
        rest = &rest[at.unwrap_or_else(|| panic!("{step}: {result:?}"))..];
    }
    assert!(!result.out.contains("a b.maz"), "{result:?}");
}

#[test]
fn lines_are_shown_with_their_file() {
    let folder = Folder::new(
        "lines",
        &[
            (
                "main.maz",
                "var x: int = 0\ninclude \"sub/w.maz\"\nprocess own { await x == 6 }\n",
            ),
            ("sub/w.maz", "process w { await x == 5; x := 2 }\n"),
            (
                "weak.maz",
                "atomicity access\nvar d: int = 0\nvar f: atomic bool = false\n\
                 include \"sub/store.maz\"\n\
                 process r { await f.load(relaxed); assert d == 1 }\n",
            ),
            (
                "sub/store.maz",
                "process w { d := 1; f.store(true, relaxed) }\n",
            ),
            (
                "proof.maz",
                "var x: int = 0\ninclude \"sub/assert.maz\"\nensures x == 0\n",
            ),
            ("sub/assert.maz", "process w { x := 1; assert x == 2 }\n"),
        ],
    );
    for command in ["check", "explore"] {
        let result = mazurka(&[command, &folder.file("main.maz")]);
        assert_eq!(result.code, 1, "{result:?}");
        let waits = "waits for `x == 5` (line 1 of sub/w.maz)";
        assert!(result.out.contains(waits), "{result:?}");
        assert!(
            result.out.contains("waits for `x == 6` (line 3)"),
            "{result:?}"
        );
    }
    let result = mazurka(&["orders", &folder.file("weak.maz"), "--memory", "rc11"]);
    assert!(
        result.out.contains("line 1 of sub/store.maz  "),
        "{result:?}"
    );
    assert!(result.out.contains("line 5  "), "{result:?}");
    let result = mazurka(&["prove", &folder.file("proof.maz")]);
    assert!(result.out.contains("at sub/assert.maz:1:21"), "{result:?}");
}

#[cfg(unix)]
#[test]
fn a_file_is_included_by_one_name() {
    let folder = Folder::new(
        "links",
        &[
            (
                "main.maz",
                "include \"a.maz\"\ninclude \"b.maz\"\nprocess { x := 1 }\n",
            ),
            ("a.maz", "var x: int = 0\n"),
            ("own.maz", "var x: int = 0\ninclude \"c.maz\"\n"),
        ],
    );
    std::os::unix::fs::symlink("a.maz", folder.file("b.maz")).expect("a link");
    std::os::unix::fs::symlink("own.maz", folder.file("c.maz")).expect("a link");
    let result = mazurka(&["check", &folder.file("main.maz")]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("`a.maz` are one file"), "{result:?}");
    assert!(result.err.contains("M0431"), "{result:?}");
    let result = mazurka(&["check", &folder.file("own.maz")]);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("includes itself"), "{result:?}");
}
