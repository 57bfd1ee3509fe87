//! Programs in C, compiled and run by the tool.

use std::fs;
use std::process::Command;

fn mazurka(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mazurka"))
        .args(arguments)
        .output()
        .expect("the tool");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().expect("an exit code");
    (code, text(&output.stdout), text(&output.stderr))
}

fn has_compiler() -> bool {
    let there = Command::new("gcc").arg("--version").output();
    let there = there.is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: gcc missing");
    }
    there
}

const LOST: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int hits;
static void *visit(void *p) {
    TYPE seen = hits;
    hits = seen + 1;
    return p;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, visit, 0);
    visit(0);
    pthread_join(other, 0);
    assert(hits == 2);
    return 0;
}
"#;

#[test]
fn a_violation_is_shown_and_replayed() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, saved) = (path("hits.c"), path("bad.json"));
    fs::write(&file, LOST).expect("a program");
    let (code, out, err) = mazurka(&["check", &file, "--", "-DTYPE=int"]);
    assert_eq!(code, 1, "{out}{err}");
    assert!(
        out.starts_with("violated: failure: main: assertion `hits == 2` failed"),
        "{out}"
    );
    assert!(
        out.contains("hits.c:16") && out.contains("-- -DTYPE=int"),
        "{out}"
    );
    let schedule = out.split('"').nth(1).expect("a schedule").to_owned();
    let (code, out, _) = mazurka(&["run", &file, "--schedule", &schedule, "--", "-DTYPE=int"]);
    assert!(code == 1 && out.contains("visit: store(hits)"), "{out}");
    // Without flags for the compiler a record replays.
    fs::write(&file, LOST.replace("TYPE", "int")).expect("a program");
    assert_eq!(mazurka(&["check", &file, "-q", "--witness", &saved]).0, 1);
    let (code, out, err) = mazurka(&["replay", &saved]);
    assert!(
        code == 1 && out.starts_with("replayed: failure"),
        "{out}{err}"
    );
    let (code, out, _) = mazurka(&["check", &file, "--format", "json"]);
    assert!(
        code == 1 && out.contains("\"verdict\": \"violated\""),
        "{out}"
    );
}

#[test]
fn schedules_of_racing_accesses_replay() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.c").display().to_string();
    let source = "#include <assert.h>\n#include <pthread.h>\nint x;\n\
        void *f(void *p) { x++; return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); assert(x == 2); }\n";
    fs::write(&file, source).expect("a program");
    let (code, out, _) = mazurka(&["check", &file]);
    assert!(code == 1 && out.contains("data race on `x`"), "{out}");
    let (code, out, err) = mazurka(&["check", &file, "--allow-races"]);
    assert!(
        code == 1 && out.contains("assertion `x == 2` failed"),
        "{out}{err}"
    );
    let schedule = out.split('"').nth(1).expect("a schedule").to_owned();
    let (code, out, err) = mazurka(&["run", &file, "--allow-races", "--schedule", &schedule]);
    assert!(
        code == 1 && out.contains("assertion `x == 2` failed"),
        "{out}{err}"
    );
}

#[test]
fn what_cannot_be_done_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, broken) = (path("a.c"), path("b.c"));
    fs::write(&file, "int main(void) { return 0; }").expect("a program");
    fs::write(&broken, "int main(void) { return").expect("a program");
    let (code, _, err) = mazurka(&["unfold", &file]);
    assert!(code == 3 && err.contains("is native code"), "{err}");
    let (code, _, err) = mazurka(&["check", &file, "--set", "N=3"]);
    assert!(code == 3 && err.contains("-- -DN="), "{err}");
    if !has_compiler() {
        return;
    }
    let (code, _, err) = mazurka(&["check", &broken]);
    assert!(
        code == 3 && err.contains("does not compile") && err.contains("error:"),
        "{err}"
    );
    let (code, _, err) = mazurka(&["check", &file, "--memory", "rc11"]);
    assert!(code == 3 && err.contains("sequential consistency"), "{err}");
    let (code, _, err) = mazurka(&["explore", &file, "--algorithm", "stateful"]);
    assert!(code == 3 && err.contains("cannot be compared"), "{err}");
    let missing = Command::new(env!("CARGO_BIN_EXE_mazurka"))
        .args(["check", &file])
        .env("CC", "no-such-compiler")
        .output()
        .expect("the tool");
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(
        said.contains("there is no compiler: no-such-compiler"),
        "{said}"
    );
}
