//! Tests that a file which cannot be written is reported, and does not hide the result.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::support::{CommandResult, command, mazurka, run_command, with_input};

const FAILS: &str = "var x: int = 0 process { x := 1 } process { assert x == 1 }";
const HOLDS: &str = "var x: int = 0 process { x := 1 } process { await x == 1; assert x == 1 }";
const ASKS: &str = "var x: i8 = 0 process { let k = input(i8); assume k > 3; assert k > 2 }";
const SUM: &str = "var x: i8 = 0 process { x := x + 1 } process { x := x + 1 } ensures x == 2";
const ANY: &str = "var x: i8 requires x > 3 && x < 9 process { x := x + 1 } ensures x > 4";
const WRITERS: &str = "corpus/maz/writers/program.maz";

/// Paths that cannot be written, whatever the permissions are.
fn bad_places(folder: &TempDir) -> Vec<PathBuf> {
    let here = folder.path();
    std::fs::write(here.join("file"), "kept").expect("written");
    std::fs::create_dir(here.join("taken")).expect("a folder");
    let mut places = vec![here.join("none/x.json"), here.join("file/x.json")];
    places.push(here.join("taken"));
    #[cfg(target_os = "linux")]
    {
        // Use a link, so that a defect of the test would replace the link and not the device.
        let full = here.join("full");
        std::os::unix::fs::symlink("/dev/full", &full).expect("a link");
        places.push(full);
    }
    places
}

/// Returns the names of everything in a folder.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        names.push(entry.file_name().to_string_lossy().into_owned());
        if entry.file_type().expect("a type").is_dir() {
            names.extend(self::names(&entry.path()));
        }
    }
    names.sort();
    names
}

#[track_caller]
fn assert_reported(ended: &CommandResult, code: i32, result: &str) {
    assert_eq!(ended.code, code, "{ended:?}");
    assert!(
        ended.out.contains(result),
        "`{result}` is missing: {ended:?}"
    );
    assert!(
        ended.err.contains("mazurka: cannot write the "),
        "{ended:?}"
    );
    assert!(
        ["; make ", "; name "]
            .iter()
            .any(|todo| ended.err.contains(todo)),
        "{ended:?}"
    );
    assert!(!ended.err.contains("--resume"), "{ended:?}");
    assert!(!ended.err.contains("internal error"), "{ended:?}");
}

#[test]
fn a_file_that_cannot_be_written_loses_no_result() {
    // The arguments before the file, the program, the exit code, and a part of the result.
    let commands: [(&[&str], &str, i32, &str); 5] = [
        (&["check", "-", "--witness"], FAILS, 1, "violated: failure"),
        (
            &["check", "-", "--format", "json", "--witness"],
            FAILS,
            1,
            "\"violated\"",
        ),
        (
            &[
                "explore",
                WRITERS,
                "--set",
                "N=7",
                "--max-executions",
                "500",
                "--checkpoint",
            ],
            "",
            3,
            "not everything was explored",
        ),
        (
            &[
                "explore",
                WRITERS,
                "--set",
                "N=4",
                "--checkpoint-every",
                "0s",
                "--checkpoint",
            ],
            "",
            0,
            "explored everything",
        ),
        (&["prove", "-", "--proof"], SUM, 3, "proved"),
    ];
    for (args, program, code, result) in commands {
        let folder = tempfile::tempdir().expect("a folder");
        let places = bad_places(&folder);
        let before = names(folder.path());
        for place in places {
            let ended = run_command(command().args(args).arg(&place), program);
            match code {
                // The search was finished, so it needed no checkpoint.
                0 => assert_eq!(
                    (ended.code, ended.out.contains(result)),
                    (0, true),
                    "{ended:?}"
                ),
                _ => assert_reported(&ended, code, result),
            }
            assert_eq!(names(folder.path()), before, "{args:?} {place:?}");
        }
        let kept = std::fs::read_to_string(folder.path().join("file"));
        assert_eq!(kept.expect("it is there"), "kept");
    }
}

#[test]
fn a_folder_that_cannot_be_written_loses_no_result() {
    let commands: [(&[&str], &str, i32, &str); 5] = [
        (&["explore", "-", "--tests"], HOLDS, 3, "\"verified\""),
        (&["explore", "-", "--tests"], FAILS, 1, "\"violated\""),
        (&["unfold", "-", "--tests"], HOLDS, 3, "\"verified\""),
        (&["check", "-", "--dump-smt"], ASKS, 3, "\"verified\""),
        (&["prove", "-", "--dump-smt"], ANY, 3, "\"verified\""),
    ];
    for (args, program, code, result) in commands {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("file"), "kept").expect("written");
        // First the folder cannot be created; then it exists, but its names are taken.
        let taken = folder.path().join("taken");
        for name in ["1.json", "000001.smt2"] {
            std::fs::create_dir_all(taken.join(name)).expect("a folder");
        }
        let before = names(folder.path());
        for place in [
            folder.path().join("file"),
            folder.path().join("file/below"),
            taken,
        ] {
            let mut command = command();
            command.args(args).arg(&place).args(["--format", "json"]);
            let ended = run_command(&mut command, program);
            assert_reported(&ended, code, result);
            assert!(!ended.err.contains("sides of branches"), "{ended:?}");
            assert_eq!(names(folder.path()), before, "{args:?} {place:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("bad.json");
    std::fs::write(&file, "the old witness").expect("written");
    let mut shell = std::process::Command::new("sh");
    // No file may grow: writing fails after the temporary file was made.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$@\"", "sh"]);
    shell.arg(env!("CARGO_BIN_EXE_mazurka"));
    shell.args(["check", "-", "--witness"]).arg(&file);
    assert_reported(&run_command(&mut shell, FAILS), 1, "violated: failure");
    assert_eq!(names(folder.path()), ["bad.json"]);
    let kept = std::fs::read_to_string(&file).expect("it is there");
    assert_eq!(kept, "the old witness");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("bad.json"), folder.path().join("link"));
    std::fs::write(&file, "the old witness").expect("written");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("it is ours");
    symlink(&file, &link).expect("a link");
    let check = || {
        run_command(
            command().args(["check", "-", "--witness"]).arg(&link),
            FAILS,
        )
    };
    assert_eq!((check().code, check().err.as_str()), (1, ""));
    assert!(link.is_symlink());
    let text = std::fs::read_to_string(&file).expect("it is there");
    assert!(text.contains("\"violated\""), "{text}");
    let mode = std::fs::metadata(&file)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(names(folder.path()), ["bad.json", "link"]);
    // A read-only file is not replaced.
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o400)).expect("it is ours");
    assert_reported(&check(), 1, "violated: failure");
}

#[cfg(target_os = "linux")]
#[test]
fn devices_stay_devices() {
    let folder = tempfile::tempdir().expect("a folder");
    let null = folder.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &null).expect("a link");
    let witness = run_command(
        command().args(["check", "-", "--witness"]).arg(&null),
        FAILS,
    );
    assert_eq!((witness.code, witness.err.as_str()), (1, ""));
    let mut explore = command();
    explore.args([
        "explore",
        WRITERS,
        "--set",
        "N=4",
        "--checkpoint-every",
        "0s",
    ]);
    let explored = run_command(explore.arg("--checkpoint").arg(&null), "");
    assert_eq!((explored.code, explored.err.as_str()), (0, ""));
    assert!(null.is_symlink());
    assert!(
        !std::fs::metadata("/dev/null")
            .expect("it is there")
            .is_file()
    );
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_reported() {
    let run = |args: &[&str], program: &str| {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let mut child = command()
            .args(args)
            .stdin(std::process::Stdio::piped())
            .stdout(full.expect("a full device"))
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the binary starts");
        use std::io::Write;
        let mut stdin = child.stdin.take().expect("piped");
        // A command that takes no program may have ended already.
        let _ = stdin.write_all(program.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.code(), err)
    };
    for (args, program, code, of_result) in [
        (&["check", "-"][..], HOLDS, 3, 0),
        (&["check", "-", "--format", "json"], HOLDS, 3, 0),
        (&["check", "-"], FAILS, 1, 1),
        (&["check", "-", "--max-steps", "1"], HOLDS, 3, 2),
        (&["explore", "-", "--format", "svg"], FAILS, 1, 1),
        (&["completions", "bash"], "", 3, 0),
        (&["step", "examples/counter.maz"], "", 3, 0),
        (&["--help"], "", 3, 0),
    ] {
        let (exit, err) = run(args, program);
        assert_eq!(exit, Some(code), "{args:?}: {err}");
        assert!(err.contains("cannot write the result: "), "{args:?}: {err}");
        let known = format!("its exit code is {of_result};");
        assert!(err.contains(&known), "{args:?}: {err}");
    }
}

#[test]
fn no_result_is_written_over_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let (main, lib) = (
        folder.path().join("main.maz"),
        folder.path().join("lib.maz"),
    );
    std::fs::write(&lib, FAILS).expect("written");
    std::fs::write(&main, "include \"lib.maz\"\n").expect("written");
    let main_name = main.display().to_string();
    for over in [&main, &lib] {
        let over = over.display().to_string();
        for command in ["check", "sample"] {
            let result = mazurka(&[command, &main_name, "--witness", &over]);
            assert_eq!(result.code, 1, "{result:?}");
            assert!(
                result.err.contains("the program was read from it"),
                "{result:?}"
            );
        }
    }
    assert_eq!(std::fs::read_to_string(&lib).expect("it is there"), FAILS);
}

#[cfg(unix)]
#[test]
fn links_stay_links() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a.maz"), FAILS).expect("written");
    std::os::unix::fs::symlink("there.json", path("link.json")).expect("a link");
    std::os::unix::fs::symlink("loop.json", path("loop.json")).expect("a link");
    let check = |to: &str| {
        let words = [path("a.maz"), path(to)].map(|path| path.display().to_string());
        mazurka(&["check", &words[0], "--witness", &words[1]])
    };
    assert_eq!(check("link.json").err, "");
    assert!(path("link.json").is_symlink() && path("there.json").is_file());
    let looping = check("loop.json");
    assert!(looping.err.contains("leads to itself"), "{looping:?}");
    assert!(path("loop.json").is_symlink());
}

/// A picture does not show why a search is inconclusive, so the reason is reported.
#[test]
fn a_picture_without_a_verdict_says_why() {
    let program = "var x: int = 0 cover never: x == 9 process { x := 1 }";
    let result = with_input(&["explore", "-", "--format", "svg"], program);
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.out.starts_with("<svg") && result.err.contains("inconclusive:"),
        "{result:?}"
    );
}
