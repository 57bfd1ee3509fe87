//! How C programs end: the end of the process, infinite loops, interrupted searches.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::native::{has_compiler, mazurka};

const HEAD: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n\
    #include <stdlib.h>\n#include <string.h>\n#include <assert.h>\n";

/// A file with a program, in a temporary folder.
fn program(body: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    fs::write(&file, format!("{HEAD}{body}\n")).expect("a program");
    (folder, file)
}

#[test]
fn the_first_end_gives_the_exit_code() {
    if !has_compiler() {
        return;
    }
    let thread = "void *f(void *p) { puts(\"t\"); exit(3); }\n";
    let main = "int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); WAIT; return 0; }";
    let (_folder, file) = program(&format!("{thread}{}", main.replace("WAIT", "")));
    assert_eq!(mazurka(&["check", &file]).0, 0);
    for memory in [&[][..], &["--memory", "rc11"]] {
        let mut all = vec!["check", &file, "--property", "deterministic"];
        all.extend(memory);
        let (code, out, err) = mazurka(&all);
        assert!(
            code == 1 && !out.contains("not looked into"),
            "{memory:?}: {out}{err}"
        );
        let mut all = vec!["explore", &file];
        all.extend(memory);
        // Nothing, or t and one of the two exit codes.
        let (_, out, err) = mazurka(&all);
        assert!(out.contains("final states      3 "), "{out}{err}");
    }
    let joined = main.replace("WAIT", "pthread_join(t, 0)");
    let (_folder, file) = program(&format!("{thread}{joined}"));
    let (code, out, err) = mazurka(&["check", &file, "--property", "deterministic"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn variables_are_those_at_the_end() {
    if !has_compiler() {
        return;
    }
    let body = "int x; atomic_int y; void *f(void *p) { y = 1; x = 7; return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); WAIT; return 0; }";
    let (_folder, file) = program(&body.replace("WAIT", ""));
    let (code, out, err) = mazurka(&["check", &file, "--observe", "x"]);
    assert!(
        code == 1 && out.contains("x = 0") && out.contains("x = 7"),
        "{out}{err}"
    );
    let (_folder, file) = program(&body.replace("WAIT", "pthread_join(t, 0)"));
    let (code, out, err) = mazurka(&["check", &file, "--observe", "x"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn nested_functions_and_hundreds_of_threads_run() {
    if !has_compiler() {
        return;
    }
    let nested = "int main(void) { int k = 3; atomic_int x = 0; \
        void *f(void *p) { x += k; return p; } pthread_t t; \
        pthread_create(&t, 0, f, 0); f(0); pthread_join(t, 0); assert(x == 6); return 0; }";
    let many = "atomic_int x; void *f(void *p) { x++; return p; }\n\
        int main(void) { for (int k = 0; k < 300; k++) { pthread_t t; \
        pthread_create(&t, 0, f, 0); pthread_join(t, 0); } assert(x == 300); return 0; }";
    for body in [nested, many] {
        let (_folder, file) = program(body);
        let (code, out, err) = mazurka(&["check", &file]);
        assert!(code == 0 && out.contains("verified"), "{out}{err}");
    }
}

/// The loop is in `main`, but spends most of its time in a function of the C library.
#[test]
fn an_infinite_loop_is_reported_with_its_place() {
    if !has_compiler() {
        return;
    }
    let (_folder, file) = program(
        "char b[4096]; int main(void) { memset(b, 'x', 4095);\n while (strlen(b) > 3);\n return 0; }",
    );
    let (code, out, err) = mazurka(&["check", &file]);
    assert!(
        code == 1 && out.contains("main: has made no step for 10 seconds"),
        "{out}{err}"
    );
}

/// More executions than fit into a minute.
const LONG: &str = "atomic_int x; void *add(void *p) { for (int k = 0; k < 6; k++) x++; return p; }\n\
    int main(void) { pthread_t all[4];\n\
    for (int k = 0; k < 4; k++) pthread_create(&all[k], 0, add, 0);\n\
    for (int k = 0; k < 4; k++) pthread_join(all[k], 0); return 0; }";

#[test]
fn a_stopped_search_reports_its_findings() {
    if !has_compiler() {
        return;
    }
    let (_folder, file) = program(LONG);
    for memory in [&[][..], &["--memory", "rc11"]] {
        let mut all = vec!["check", &file, "--time-limit", "1s"];
        all.extend(memory);
        let (code, out, err) = mazurka(&all);
        assert!(
            code == 2 && out.contains("--time-limit"),
            "{memory:?}: {out}{err}"
        );
    }
}

/// Infinite steps: where no code of the runtime runs, where it runs all the time, and after a
/// complete execution.
const ENDLESS: [&str; 3] = [
    "int main(void) { volatile int p = 0; for (;;) p++; }",
    "int main(void) { for (;;) free(malloc(0)); }",
    "atomic_int x; void *f(void *p) { x = 1; return p; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, f, 0);\n\
    volatile int p = 0; if (x) for (;;) p++; pthread_join(t, 0); return 0; }",
];

#[test]
fn a_time_limit_ends_infinite_steps() {
    if !has_compiler() {
        return;
    }
    for body in ENDLESS {
        let (_folder, file) = program(body);
        for memory in [&[][..], &["--memory", "rc11"]] {
            let mut all = vec!["check", &file, "--time-limit", "1s"];
            all.extend(memory);
            let (code, out, err) = mazurka(&all);
            assert!(
                code == 2 && out.contains("--time-limit 1s was reached"),
                "{memory:?}: {out}{err}\n{body}"
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_search_reports_its_findings() {
    if !has_compiler() {
        return;
    }
    // A terminal signals all processes, `kill` only one.
    for (body, group) in [
        (LONG, true),
        (LONG, false),
        (ENDLESS[0], false),
        (ENDLESS[2], true),
    ] {
        let (_folder, file) = program(body);
        let (code, out, worker) = interrupted(&file, group);
        assert!(
            code == Some(2) && out.starts_with("inconclusive") && out.contains("interrupted"),
            "{code:?} {out}\n{body}"
        );
        assert!(!is_worker(&worker), "process {worker} runs on");
    }
}

/// Whether this process exists and runs a program.
#[cfg(target_os = "linux")]
fn is_worker(id: &str) -> bool {
    let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).contains("--native")
}

/// Starts a search, interrupts it, and waits for its end. Also returns which process searched.
#[cfg(target_os = "linux")]
fn interrupted(file: &str, group: bool) -> (Option<i32>, String, String) {
    let mut tool = Command::new("setsid");
    let tool = tool
        .arg(env!("CARGO_BIN_EXE_mazurka"))
        .args(["check", file]);
    let child = tool.stdout(Stdio::piped()).spawn().expect("the tool");
    let id = child.id();
    let children = format!("/proc/{id}/task/{id}/children");
    // It handles Ctrl-C as soon as the search begins.
    let hears = |worker: &str| {
        let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        caught.is_some_and(|mask| mask & 1 << 1 != 0)
    };
    let worker = loop {
        let all = fs::read_to_string(&children).unwrap_or_default();
        let mut all = all.split_whitespace();
        if let Some(worker) = all.find(|worker| is_worker(worker) && hears(worker)) {
            break worker.to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let to = if group {
        format!("-{id}")
    } else {
        id.to_string()
    };
    let sent = Command::new("kill").args(["-INT", "--", &to]).status();
    assert!(sent.is_ok_and(|status| status.success()), "a signal");
    let output = child.wait_with_output().expect("an end");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), out, worker)
}
