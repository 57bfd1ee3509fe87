//! Tests how C programs end: by `exit`, in infinite loops, and when a search is interrupted.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::native::{has_compiler, mazurka};

const HEAD: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n\
    #include <stdlib.h>\n#include <string.h>\n#include <assert.h>\n";

/// Writes a program into a temporary folder. Returns the folder and the path of the file.
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
        // There are three results: no output, or `t` with one of the two exit codes.
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

/// Programs with an infinite step: without any code of the runtime, with code of the runtime in
/// each round, and after a complete execution.
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

/// A signal to the tool ends a compiler that takes long, with the processes that it has started.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_compiler_ends_at_once() {
    use std::os::unix::fs::PermissionsExt;
    if !has_compiler() {
        return;
    }
    let (folder, file) = program("int main(void) { return 0; }");
    let [compiler, noted] = ["slow", "noted"].map(|name| folder.path().join(name));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *t.c*) echo $$ > {0}.new; mv {0}.new {0}; sleep 60; exit 1;; esac\n\
         exec gcc \"$@\"\n",
        noted.display()
    );
    fs::write(&compiler, script).expect("a script");
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).expect("a script");
    let mut tool = Command::new(env!("CARGO_BIN_EXE_mazurka"));
    let tool = tool.args(["check", &file]).env("CC", &compiler);
    let child = tool.stderr(Stdio::piped()).spawn().expect("the tool");
    let shell = loop {
        if let Ok(shell) = fs::read_to_string(&noted) {
            break shell.trim().to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let start = Instant::now();
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()), "a signal");
    let output = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(start.elapsed() < Duration::from_secs(30), "it has waited");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("interrupted before"), "{said}");
    let arguments = fs::read(format!("/proc/{shell}/cmdline")).unwrap_or_default();
    let arguments = String::from_utf8_lossy(&arguments);
    assert!(!arguments.contains("slow"), "the compiler runs on");
}

/// Whether this process exists and runs a program.
#[cfg(target_os = "linux")]
fn is_worker(id: &str) -> bool {
    let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments).contains("--native")
}

/// Starts a search, interrupts it, and waits for its end. Also returns the id of the process that
/// searched.
#[cfg(target_os = "linux")]
fn interrupted(file: &str, group: bool) -> (Option<i32>, String, String) {
    let mut tool = Command::new("setsid");
    let tool = tool
        .arg(env!("CARGO_BIN_EXE_mazurka"))
        .args(["check", file]);
    let child = tool.stdout(Stdio::piped()).spawn().expect("the tool");
    let id = child.id();
    let children = format!("/proc/{id}/task/{id}/children");
    // Wait until the process handles Ctrl-C, as it does when the search begins.
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

/// Requires that both memory models find, or do not find, this failure.
#[track_caller]
fn both(body: &str, failure: Option<&str>) {
    let (_folder, file) = program(body);
    for memory in ["sc", "rc11"] {
        let (code, out, err) = mazurka(&["check", &file, "--memory", memory]);
        let expected = match failure {
            Some(words) => code == 1 && out.contains(words),
            None => code == 0 && out.starts_with("verified"),
        };
        assert!(expected, "{memory}: {code} {out}{err}\n{body}");
    }
}

#[test]
fn destructors_run_at_the_end_of_the_program() {
    if !has_compiler() {
        return;
    }
    let last = "static int done; __attribute__((destructor)) static void last(void) {\n\
        assert(done == 1); }\n";
    both(
        &format!("{last}int main(void) {{ done = 1; return 0; }}"),
        None,
    );
    let fails = Some("last: assertion `done == 1` failed");
    both(
        &format!("{last}int main(void) {{ done = 2; return 0; }}"),
        fails,
    );
    both(&format!("{last}int main(void) {{ exit(0); }}"), fails);
    both(&format!("{last}int main(void) {{ _Exit(0); }}"), None);
    // Destructors run after the functions of `atexit`, the one with the greatest priority first.
    let order = "static int at; static void one(void) { assert(at++ == 1); }\n\
        static void two(void) { assert(at++ == 0); }\n\
        __attribute__((destructor(200))) static void three(void) { assert(at++ == 2); }\n\
        __attribute__((destructor(101))) static void four(void) { assert(at++ == LAST); }\n\
        int main(void) { atexit(one); atexit(two); return 0; }";
    both(&order.replace("LAST", "3"), None);
    both(&order.replace("LAST", "4"), Some("four: assertion"));
    // A function that a destructor registers runs after all destructors.
    let late = "static int at; static void late(void) { assert(at == 2); }\n\
        __attribute__((destructor(102))) static void one(void) { at++; atexit(late); }\n\
        __attribute__((destructor(101))) static void two(void) { at++; }\n\
        int main(void) { return 0; }";
    both(late, None);
    // A thread that is still running races with destructors.
    let races = "int x; void *f(void *p) { x = 1; return p; }\n\
        __attribute__((destructor)) static void last(void) { x = 2; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); JOIN; return 0; }";
    both(&races.replace("JOIN", "pthread_join(t, 0)"), None);
    both(&races.replace("JOIN", ""), Some("data race on `x`"));
}

/// `main` leaves by `pthread_exit`, so the last thread ends the program, whichever it is.
#[test]
fn the_last_thread_ends_the_program() {
    if !has_compiler() {
        return;
    }
    let body = "static int done; static pthread_t first; static void end(void) { CHECK; }\n\
        static void *f(void *p) { done = 1; return p; }\n\
        int main(void) { pthread_t t; first = pthread_self(); atexit(end);\n\
        pthread_create(&t, 0, f, 0); pthread_detach(t); pthread_exit(0); }";
    both(&body.replace("CHECK", "assert(done == 1)"), None);
    both(
        &body.replace("CHECK", "assert(done == 0)"),
        Some("end: assertion"),
    );
    // Either of the two threads may be the last.
    let first = body.replace("CHECK", "assert(pthread_equal(first, pthread_self()))");
    both(&first, Some("end: assertion"));
    let other = body.replace("CHECK", "assert(!pthread_equal(first, pthread_self()))");
    both(&other, Some("end: assertion"));
    // A thread that calls `exit` does not wait for the others.
    let exits = body.replace("CHECK", "assert(done == 1)");
    let exits = exits.replace("pthread_exit(0)", "if (done) pthread_exit(0); return 0");
    let (_folder, file) = program(&exits);
    let (code, out, err) = mazurka(&["check", &file, "--allow-races"]);
    assert!(code == 1 && out.contains("end: assertion"), "{out}{err}");
}

#[test]
fn an_end_by_a_system_call_is_reported() {
    if !has_compiler() {
        return;
    }
    let call = "int main(void) { __asm__ volatile(\"syscall\" :: \"a\"(NUMBERL), \"D\"(CODEL)\n\
        : \"rcx\", \"r11\", \"memory\"); return 0; }";
    // `exit_group` ends the process, `exit` only the thread that runs the program.
    for (number, code) in [("231", "0"), ("231", "3"), ("231", "4"), ("60", "0")] {
        let (_folder, file) = program(&call.replace("NUMBER", number).replace("CODE", code));
        let (exit, out, err) = mazurka(&["check", &file]);
        assert!(
            exit == 3 && err.contains("has ended the process that explored it"),
            "{number} {code}: {exit} {out}{err}"
        );
    }
    // If the program calls `syscall` of the C library, this counts as `_exit`, which runs no
    // functions at the end.
    let body = "#include <unistd.h>\n#include <sys/syscall.h>\n\
        static void end(void) { assert(0); }\n\
        int main(void) { atexit(end); syscall(SYS_exit_group, 4); assert(0); }";
    both(body, None);
}

#[test]
fn what_constructors_must_not_do_is_refused_by_name() {
    if !has_compiler() {
        return;
    }
    let head = "static int x; static pthread_mutex_t m; static pthread_key_t k;\n\
        static void *f(void *p) { x = 1; return p; }\n\
        __attribute__((constructor)) static void first(void) { BODY; }\n\
        int main(void) { f(0); pthread_mutex_lock(&m); pthread_key_create(&k, 0); return 0; }";
    for (body, words) in [
        (
            "pthread_t t; pthread_create(&t, 0, f, 0)",
            "`pthread_create`",
        ),
        ("exit(4)", "calls `exit`"),
        ("assert(x)", "assertion `x` failed"),
        ("abort()", "aborts"),
        (
            "extern int __VERIFIER_nondet_int(void); x = __VERIFIER_nondet_int()",
            "nondet",
        ),
        ("pthread_setspecific(0, &x)", "`pthread_setspecific`"),
    ] {
        let (_folder, file) = program(&head.replace("BODY", body));
        let (code, out, err) = mazurka(&["check", &file]);
        assert!(
            code == 3 && err.contains("before `main`, in a constructor") && err.contains(words),
            "{body}: {code} {out}{err}"
        );
    }
    let blocks = "int *p = malloc(4); *p = 7; p = realloc(p, 400); assert(*p == 7); free(p);\n\
        pthread_mutex_init(&m, 0); pthread_mutex_lock(&m); pthread_mutex_unlock(&m)";
    both(&head.replace("BODY", blocks), None);
}

/// Functions of the C library read and write the times that threads pass to them.
#[test]
fn times_race_like_other_variables() {
    if !has_compiler() {
        return;
    }
    let body = "#include <time.h>\n#include <sys/time.h>\n#include <semaphore.h>\n\
        static struct timespec ts; static struct timeval tv; static time_t t0; static sem_t s;\n\
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
        static pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
        static void *f(void *p) { ONE; return p; }\n\
        int main(void) { pthread_t t; sem_init(&s, 0, 1); pthread_create(&t, 0, f, 0); TWO;\n\
        pthread_join(t, 0); return 0; }";
    for (one, two) in [
        ("time(&t0)", "(void)*(volatile time_t *)&t0"),
        (
            "clock_gettime(CLOCK_REALTIME, &ts)",
            "clock_gettime(CLOCK_REALTIME, &ts)",
        ),
        ("gettimeofday(&tv, 0)", "tv.tv_usec = 1"),
        ("nanosleep(&ts, 0)", "ts.tv_nsec = 1"),
        ("sem_timedwait(&s, &ts)", "ts.tv_sec = 1"),
        ("pthread_mutex_timedlock(&m, &ts)", "ts.tv_sec = 1"),
        (
            "pthread_mutex_lock(&m); pthread_cond_timedwait(&c, &m, &ts); pthread_mutex_unlock(&m)",
            "ts.tv_sec = 1",
        ),
    ] {
        let (_folder, file) = program(&body.replace("ONE", one).replace("TWO", two));
        let (code, out, err) = mazurka(&["check", &file]);
        assert!(
            code == 1 && out.contains("data race on `t"),
            "{one}: {out}{err}"
        );
        let (_folder, file) = program(&body.replace("ONE", one).replace("TWO", ""));
        let (code, out, err) = mazurka(&["check", &file]);
        assert!(
            code == 0 && out.starts_with("verified"),
            "{one}: {out}{err}"
        );
    }
}

#[test]
fn a_time_limit_holds_for_a_run_before_its_first_step() {
    if !has_compiler() {
        return;
    }
    let (_folder, file) = program("int main(void) { volatile int k = 0; for (;;) k++; }");
    for plan in [["--seed", "1"], ["--schedule", "0"]] {
        for memory in ["sc", "rc11"] {
            let mut all = vec!["run", &file, "--time-limit", "1s", "--memory", memory];
            all.extend(plan);
            let (code, out, err) = mazurka(&all);
            assert!(
                code == 2 && format!("{out}{err}").contains("--time-limit"),
                "{all:?}: {code} {out}{err}"
            );
        }
    }
}

#[test]
fn a_value_that_cannot_be_chosen_is_refused() {
    if !has_compiler() {
        return;
    }
    let (_folder, file) = program(
        "extern int __VERIFIER_nondet_int(void);\n\
        int main(void) { int k = __VERIFIER_nondet_int(); assert(k < 3); return 0; }",
    );
    let run = |outcome: &str, memory: &str| {
        let schedule = format!("0={outcome}");
        let options = ["--nondet", "int=0..3", "--memory", memory];
        let mut all = vec!["run", &file, "--schedule", &schedule];
        all.extend(options);
        mazurka(&all)
    };
    for memory in ["sc", "rc11"] {
        for outcome in ["9", "-1", "4"] {
            let (code, out, err) = run(outcome, memory);
            assert!(code == 3, "{memory} {outcome}: {code} {out}{err}");
        }
        let (code, out, err) = run("3", memory);
        assert!(
            code == 1 && out.contains("`k < 3` failed"),
            "{memory}: {out}{err}"
        );
        let (code, out, err) = run("2", memory);
        assert_eq!(code, 0, "{memory}: {out}{err}");
    }
}

/// A step that does not end is a failure after 10 seconds. If the time limit is reached while the
/// run of the failure is repeated, the failure is still reported. On a slow machine, the time limit
/// may be reached before the failure.
#[test]
fn a_failure_whose_run_is_cut_off_stays_one() {
    if !has_compiler() {
        return;
    }
    let body = "void *f(void *p) { for (volatile int i = 0;; i++) {} }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }";
    let (_folder, file) = program(body);
    let (code, out, err) = mazurka(&["check", &file, "--time-limit", "12"]);
    assert!(
        code == 1 && out.contains("violated") || code == 2 && out.contains("--time-limit"),
        "{out}{err}"
    );
}
