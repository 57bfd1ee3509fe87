//! Tests the output, the refusals and the messages of `mazurka fmt`.

use std::fs;

use crate::support::{mazurka, with_input};

const UGLY: &str = "var x:int=0\nprocess{x:=x+1 // one\n}\n";
const NEAT: &str = "var x: int = 0\nprocess { x := x + 1 // one\n}\n";

#[test]
fn standard_input_is_printed() {
    let result = with_input(&["fmt", "-"], UGLY);
    assert_eq!((result.code, &*result.out, &*result.err), (0, NEAT, ""));
    let result = with_input(&["fmt", "-", "--check"], UGLY);
    assert_eq!((result.code, &*result.out), (1, "-:1: not formatted\n"));
    let result = with_input(&["fmt", "-", "--check"], NEAT);
    assert_eq!((result.code, &*result.out), (0, ""));
}

#[test]
fn files_and_folders_are_written_in_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).expect("a folder");
    let [one, two, other] = ["a.maz", "inner/b.maz", "inner/c.txt"].map(|name| {
        let path = folder.path().join(name);
        fs::write(&path, UGLY).expect("written");
        path
    });
    let name = folder.path().to_str().expect("UTF-8");
    let result = mazurka(&["fmt", "--check", name]);
    assert_eq!(
        (result.code, result.out.lines().count()),
        (1, 2),
        "{result:?}"
    );
    assert_eq!(fs::read_to_string(&one).expect("read"), UGLY);
    let result = mazurka(&["fmt", name]);
    assert_eq!((result.code, &*result.out, &*result.err), (0, "", ""));
    assert_eq!(fs::read_to_string(&one).expect("read"), NEAT);
    assert_eq!(fs::read_to_string(&two).expect("read"), NEAT);
    assert_eq!(fs::read_to_string(&other).expect("read"), UGLY);
    assert_eq!(mazurka(&["fmt", "--check", name]).code, 0);
    assert_eq!(fs::read_dir(&inner).expect("a folder").count(), 2);
}

#[test]
fn a_file_with_mistakes_is_not_changed_but_others_are_formatted() {
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = "process{x:=}\n";
    for (name, text) in [("a.maz", wrong), ("b.maz", UGLY)] {
        fs::write(folder.path().join(name), text).expect("written");
    }
    let result = mazurka(&["fmt", folder.path().to_str().expect("UTF-8")]);
    assert_eq!(result.code, 3);
    assert!(
        result.err.contains("M0101") && result.err.contains("a.maz:1:12"),
        "{result:?}"
    );
    let read = |name| fs::read_to_string(folder.path().join(name)).expect("read");
    assert_eq!((&*read("a.maz"), &*read("b.maz")), (wrong, NEAT));
}

#[test]
fn a_file_that_is_not_a_program_is_refused() {
    for (name, words) in [
        ("README.md", "not a `.maz` file"),
        ("no-such-file.maz", "no-such-file.maz"),
        ("corpus/c", "without `.maz` files"),
    ] {
        let result = mazurka(&["fmt", name]);
        assert_eq!(result.code, 3, "{name}");
        assert!(result.err.contains(words), "{result:?}");
    }
    assert_eq!(mazurka(&["fmt"]).code, 3);
}

#[test]
fn a_read_only_file_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.maz");
    fs::write(&path, UGLY).expect("written");
    let mut rights = fs::metadata(&path).expect("a file").permissions();
    rights.set_readonly(true);
    fs::set_permissions(&path, rights).expect("changed");
    let result = mazurka(&["fmt", path.to_str().expect("UTF-8")]);
    assert_eq!(result.code, 3, "{result:?}");
    assert_eq!(fs::read_to_string(&path).expect("read"), UGLY);
}

#[test]
fn only_the_including_file_is_formatted() {
    let result = with_input(&["fmt", "-"], "include  \"lib/none.maz\"\nprocess{skip}");
    assert_eq!(result.code, 0, "{result:?}");
    assert_eq!(result.out, "include \"lib/none.maz\"\nprocess { skip }\n");
}
