//! Tests flags for the compiler of C programs.

use std::fs;

use crate::native::{has_compiler, mazurka};

/// No flag for the compiler may turn the instrumentation off, because without it no violation is
/// found.
#[test]
fn programs_without_instrumentation_are_refused() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.c").display().to_string();
    let text = "#include <pthread.h>\nint x;\nvoid *f(void *p) { x++; return p; }\n\
        int main(void) { pthread_t a; pthread_create(&a, 0, f, 0); f(0); pthread_join(a, 0); return 0; }";
    fs::write(&file, text).expect("a program");
    for flags in [
        &["-flto"][..],
        &["-O2", "-flto", "-ffat-lto-objects"],
        &["-fno-sanitize=thread"],
        &["-fno-sanitize=all"],
        &["-fvisibility=hidden"],
    ] {
        let args = [&["check", &file, "--"], flags].concat();
        let (code, out, err) = mazurka(&args);
        assert!(
            code == 1 && out.contains("data race"),
            "{flags:?} {out}{err}"
        );
    }
    for flag in [
        "--param=tsan-instrument-func-entry-exit=0",
        "-fsanitize-ignorelist=all",
    ] {
        let (code, _, err) = mazurka(&["check", &file, "--", flag]);
        assert!(code == 3 && err.contains("leave it out"), "{flag} {err}");
    }
}
