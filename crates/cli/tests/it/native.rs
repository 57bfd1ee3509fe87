//! Tests C programs, which the command compiles and runs.

use std::fs;
use std::process::Command;

pub fn mazurka(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_mazurka"))
        .args(arguments)
        .output()
        .expect("the tool");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().expect("an exit code");
    (code, text(&output.stdout), text(&output.stderr))
}

pub fn has_compiler() -> bool {
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
    // A record without compiler flags replays.
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
fn unsupported_requests_are_refused_with_the_reason() {
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
    // The formats for other tools have the errors, too.
    for (format, part) in [
        ("github", "line=1,col="),
        ("sarif", "\"ruleId\": \"compiler\""),
        ("json", "\"code\": \"compiler\""),
        ("junit", "<error"),
    ] {
        let (code, out, err) = mazurka(&["check", &broken, "--format", format]);
        assert!(code == 3 && err.contains("does not compile"), "{err}");
        assert!(out.contains(part), "{format}: {out}");
    }
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

/// Returns a path in the repository.
fn repository(path: &str) -> String {
    format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn examples_are_right_and_wrong() {
    if !has_compiler() {
        return;
    }
    let cases = [
        (
            "treiber.c",
            "assertion `atomic_fetch_add(&used[node], 1) == 0` failed",
        ),
        ("lost-wakeup.c", "deadlock: 0 and 0.0 wait for ever"),
        ("double-checked.c", "data race on `block"),
        ("channel.cpp", "deadlock"),
    ];
    for (name, wrong) in cases {
        let file = repository(&format!("examples/c/{name}"));
        let (code, out, err) = mazurka(&["check", &file]);
        assert!(
            code == 0 && out.starts_with("verified"),
            "{name}: {out}{err}"
        );
        let (code, out, err) = mazurka(&["check", &file, "--", "-DBUG"]);
        assert!(code == 1 && out.contains(wrong), "{name}: {out}{err}");
    }
    // A defect that only a weak memory model shows.
    let file = repository("examples/c/double-checked.c");
    let (code, out, err) = mazurka(&["check", &file, "--memory", "rc11"]);
    assert!(code == 0 && out.contains("rc11"), "{out}{err}");
    let (code, out, err) = mazurka(&["check", &file, "--memory", "rc11", "--", "-DBUG"]);
    assert!(code == 1 && out.contains("data race"), "{out}{err}");
}

/// More than a thousand lines in several files.
#[test]
fn a_thread_pool_is_checked() {
    if !has_compiler() {
        return;
    }
    let files = ["main", "pool", "future", "containers"];
    let files = files.map(|name| repository(&format!("corpus/c/pool/{name}.c")));
    let check = |flags: &[&str]| {
        let mut all = vec!["check"];
        all.extend(files.iter().map(String::as_str));
        all.push("--");
        all.extend(flags);
        mazurka(&all)
    };
    for scenario in [
        "-DSCENARIO=1",
        "-DSCENARIO=2",
        "-DSCENARIO=5",
        "-DSCENARIO=7",
    ] {
        let (code, out, err) = check(&[scenario]);
        assert!(
            code == 0 && out.starts_with("verified"),
            "{scenario}: {out}{err}"
        );
    }
    let wrong = [
        (["-DSCENARIO=5", "-DFORGET_TO_RETAIN"], "future_release"),
        (["-DSCENARIO=2", "-DFORGET_TO_WITHDRAW"], "failure"),
        (["-DSCENARIO=3", "-DLOSE_STOP"], "deadlock"),
    ];
    for (flags, words) in wrong {
        let (code, out, err) = check(&flags);
        assert!(code == 1 && out.contains(words), "{flags:?}: {out}{err}");
    }
}

const BUFFERS: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x, y;
static int a, b;
static void *one(void *p) {
    atomic_store_explicit(&x, 1, ORDER);
    a = atomic_load_explicit(&y, ORDER);
    return p;
}
static void *two(void *p) {
    atomic_store_explicit(&y, 1, ORDER);
    b = atomic_load_explicit(&x, ORDER);
    return p;
}
int main(void) {
    pthread_t s, t;
    pthread_create(&s, 0, one, 0);
    pthread_create(&t, 0, two, 0);
    pthread_join(s, 0);
    pthread_join(t, 0);
    assert(a || b);
    return 0;
}
"#;

#[test]
fn weak_memory_is_explored_and_replayed() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, saved) = (path("buffers.c"), path("bad.json"));
    fs::write(&file, BUFFERS.replace("ORDER", "memory_order_seq_cst")).expect("a program");
    let (code, out, err) = mazurka(&["check", &file, "--memory", "rc11"]);
    assert!(code == 0 && out.starts_with("verified"), "{out}{err}");
    fs::write(&file, BUFFERS.replace("ORDER", "memory_order_relaxed")).expect("a program");
    let (code, out, _) = mazurka(&["check", &file]);
    assert!(code == 0, "{out}");
    let check = ["check", &file, "--memory", "rc11", "--witness", &saved];
    let (code, out, err) = mazurka(&check);
    assert!(
        code == 1 && out.contains("main: assertion `a || b` failed"),
        "{out}{err}"
    );
    let schedule = out.split('"').nth(1).expect("a schedule").to_owned();
    let run = ["run", &file, "--memory", "rc11", "--schedule", &schedule];
    let (code, out, err) = mazurka(&run);
    assert!(
        code == 1 && out.contains("assertion `a || b` failed"),
        "{out}{err}"
    );
    let (code, out, err) = mazurka(&["replay", &saved]);
    assert!(code == 1 && out.starts_with("replayed"), "{out}{err}");
    let (code, out, err) = mazurka(&["explore", &file, "--memory", "rc11"]);
    assert!(code == 1 && out.contains('4'), "{out}{err}");
    for memory in ["tso", "ra"] {
        let (code, _, err) = mazurka(&["check", &file, "--memory", memory]);
        assert!(code == 3 && err.contains("sc and rc11"), "{err}");
    }
    let (code, _, err) = mazurka(&["check", &file, "--memory", "rc11", "--allow-races"]);
    assert!(
        code == 3 && err.contains("leave out --allow-races"),
        "{err}"
    );
}

#[test]
fn limits_hold_and_crashes_leave_a_schedule() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (endless, dies) = (path("endless.c"), path("dies.c"));
    for body in ["volatile int k = 0; for (;;) k++;", "for (;;) ;"] {
        fs::write(&endless, format!("int main(void) {{ {body} }}\n")).expect("a program");
        for memory in [&[][..], &["--memory", "rc11"]] {
            let mut all = vec!["check", &endless, "--time-limit", "1s"];
            all.extend(memory);
            let (code, out, err) = mazurka(&all);
            // Without the limit it would be a failure, after ten seconds.
            assert!(code == 2 && out.starts_with("inconclusive"), "{out}{err}");
        }
    }
    let source = r#"
#include <pthread.h>
#include <stdatomic.h>
static atomic_int x;
static void *f(void *p) {
    if (atomic_fetch_add(&x, 1) == 1) {
        long me;
        __asm__ volatile("syscall" : "=a"(me) : "a"(39L) : "rcx", "r11", "memory");
        __asm__ volatile("syscall" : "=a"(me) : "a"(62L), "D"(me), "S"(9L) : "rcx", "r11", "memory");
    }
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    f(0);
    pthread_join(t, 0);
}
"#;
    fs::write(&dies, source).expect("a program");
    let (code, _, err) = mazurka(&["check", &dies]);
    assert!(code == 3 && err.contains("ended by signal 9"), "{err}");
    assert!(
        err.contains("--schedule \"0") && err.contains("0.0"),
        "{err}"
    );
}

#[test]
fn unexplored_code_is_listed() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    let source = "#include <stdlib.h>\n#include <stdio.h>\n\
        static int by(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }\n\
        int main(void) { int k[2] = {2, 1}; qsort(k, 2, sizeof *k, by);\n\
        __asm__ volatile(\"nop\");\nputs(\"asm\"); return 0; }\n";
    fs::write(&file, source).expect("a program");
    let (code, out, err) = mazurka(&["check", &file]);
    assert_eq!(code, 0, "{out}{err}");
    let told = format!("not looked into: inline assembly in {file}:5, `qsort` of the C library");
    assert!(out.contains(&told), "{out}");
    let (_, out, _) = mazurka(&["check", &file, "--format", "json"]);
    assert!(out.contains("\"outside\""), "{out}");
    // The C++ library calls this function, too. So the verdict names it only for a C program.
    let source = "#include <stdlib.h>\nint main(void) { wchar_t to[4]; return mbstowcs(to, \"a\", 4) != 1; }";
    fs::write(&file, source).expect("a program");
    let (_, out, err) = mazurka(&["check", &file]);
    assert!(
        out.contains("not looked into: `mbstowcs` of the C library"),
        "{out}{err}"
    );
    let cxx = folder.path().join("t.cpp").display().to_string();
    let source =
        "#include <mutex>\nstd::mutex m;\nint main() { std::lock_guard<std::mutex> g(m); }";
    fs::write(&cxx, source).expect("a program");
    let (code, out, err) = mazurka(&["check", &cxx]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!out.contains("`gettext`"), "{out}");
    let (_, out, err) = mazurka(&["run", &cxx]);
    assert!(out.contains("(gthr-default.h) main: lock(m)"), "{out}{err}");
    let refused = [
        (
            "#include <unistd.h>\nint main(void) { return fork(); }",
            "`fork`",
        ),
        (
            "#include <signal.h>\nint main(void) { signal(2, SIG_IGN); }",
            "`signal`",
        ),
        (
            "#include <fcntl.h>\nint main(void) { return open(\"x\", 0); }",
            "`open`",
        ),
        (
            "#include <stdlib.h>\nint main(void) { return system(\"ls\"); }",
            "`system`",
        ),
        (
            "#include <sys/socket.h>\nint main(void) { return socket(1, 1, 0); }",
            "`socket`",
        ),
        (
            "int of_a_library(void); int main(void) { return of_a_library(); }",
            "`of_a_library`",
        ),
    ];
    for (source, name) in refused {
        fs::write(&file, source).expect("a program");
        let (code, _, err) = mazurka(&["check", &file]);
        assert!(code == 3 && err.contains(name), "{name}: {err}");
    }
}

#[test]
fn leaks_and_different_results_are_found() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    let head = "#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <stdatomic.h>\n\
        atomic_int x; void *f(void *p) { atomic_store(&x, 1); return p; }\n";
    let main = |body: &str| {
        fs::write(
            &file,
            format!("{head}int main(void) {{ {body} return 0; }}\n"),
        )
        .expect("it");
    };
    main("pthread_t t; pthread_create(&t, 0, f, 0);");
    assert_eq!(mazurka(&["check", &file]).0, 0);
    let (code, out, _) = mazurka(&["check", &file, "--leaks"]);
    assert!(
        code == 1 && out.contains("thread 0.0 is neither joined nor detached"),
        "{out}"
    );
    main("pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); malloc(8);");
    let (code, out, _) = mazurka(&["check", &file, "--leaks"]);
    assert!(
        code == 1 && out.contains("a block of 8 bytes is never freed"),
        "{out}"
    );
    assert!(out.trim_end().ends_with("--leaks"), "{out}");
    main("pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); free(malloc(8));");
    let (code, out, err) = mazurka(&["check", &file, "--leaks"]);
    assert_eq!(code, 0, "{out}{err}");
    main("pthread_t t; pthread_create(&t, 0, f, 0); printf(\"%d\", x); pthread_join(t, 0);");
    assert_eq!(mazurka(&["check", &file]).0, 0);
    let (code, out, err) = mazurka(&["check", &file, "--property", "deterministic"]);
    assert!(
        code == 1 && out.contains("output") && out.contains("\"0\"") && out.contains("\"1\""),
        "{out}{err}"
    );
}

/// The search ends at a deadlock before it reaches an access that would make it start again: a
/// guard, or an access of another size. The runs that simplify the deadlock do reach this access.
#[test]
fn evidence_is_made_without_learning() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    let others = [
        ("sem_wait(&s);", &[][..]),
        ("atomic_store((_Atomic char *)&f, 2);", &[]),
        ("plain = 3;", &["--allow-races"]),
    ];
    for (other, flags) in others {
        let program = format!(
            "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n\
             _Alignas(16) atomic_int f; int more[3], plain; sem_t s;\n\
             pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
             void *g(void *p) {{ atomic_store(&f, 1); plain = 2; return p; }}\n\
             int main(void) {{ pthread_t t; sem_init(&s, 0, 1); pthread_create(&t, 0, g, 0);\n\
             if (atomic_load(&f)) {{ {other} }}\n\
             else {{ pthread_mutex_lock(&m); pthread_mutex_lock(&m); }}\n\
             pthread_join(t, 0); return 0; }}\n"
        );
        fs::write(&file, program).expect("a program");
        let (code, out, err) = mazurka(&[&["check", &file], flags].concat());
        let first = out.lines().next().unwrap_or_default();
        let said = first.starts_with("violated: deadlock: 0 waits for ever");
        assert!(code == 1 && said, "{other}: {out}{err}");
    }
}

/// The limits of the process that runs the program.
#[cfg(target_os = "linux")]
#[test]
fn the_process_that_runs_a_program_is_confined() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    fs::write(&file, "int main(void) { for (;;) ; }\n").expect("a program");
    let tool = env!("CARGO_BIN_EXE_mazurka");
    let mut first = Command::new("sh")
        .args([
            "-c",
            "exec 9</dev/null; exec \"$0\" check \"$1\" --time-limit 4s",
        ])
        .args([tool, &file])
        .env("MAZURKA_SECRET", "1")
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the tool");
    let children = format!("/proc/{0}/task/{0}/children", first.id());
    let mut seen = None;
    for _ in 0..3000 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let child = fs::read_to_string(&children).unwrap_or_default();
        let Some(child) = child.split_whitespace().last() else {
            continue;
        };
        let read = |name: &str| fs::read(format!("/proc/{child}/{name}")).unwrap_or_default();
        let text = |name: &str| String::from_utf8_lossy(&read(name)).into_owned();
        let limits = text("limits");
        let line = |name: &str| limits.lines().find(|line| line.starts_with(name));
        // A limit of 64 files is never the default of a system, so it shows that the process has
        // set its limits. The process sets its limit on addresses before its limit on files.
        let files = line("Max open files").map(str::to_owned);
        if text("cmdline").contains("--native")
            && files.is_some_and(|files| files.split_whitespace().nth(3) == Some("64"))
        {
            let files = fs::read_dir(format!("/proc/{child}/fd")).expect("its files");
            let files: Vec<String> = files
                .filter_map(|file| file.ok()?.file_name().into_string().ok())
                .collect();
            let addresses = line("Max address space").unwrap_or_default().to_owned();
            seen = Some((text("environ"), files, addresses));
            break;
        }
    }
    let (environment, files, addresses) = seen.expect("the process was seen");
    first.wait().expect("it ends");
    assert!(!environment.contains("MAZURKA_SECRET"), "{environment}");
    assert!(!environment.contains("PATH="), "{environment}");
    assert!(!files.contains(&"9".to_owned()), "{files:?}");
    assert!(addresses.contains("1099511627776"), "{addresses}");
}

/// The process that runs the program does not outlive the tool, however the tool ends.
#[cfg(target_os = "linux")]
#[test]
fn nothing_runs_on_when_the_tool_is_killed() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    // More executions than fit into a minute.
    let text = "#include <pthread.h>
        #include <stdatomic.h>
        atomic_int x;
        void *add(void *unused) { for (int k = 0; k < 6; k++) x++; return unused; }
        int main(void) {
            pthread_t all[4];
            for (int k = 0; k < 4; k++) pthread_create(&all[k], 0, add, 0);
            for (int k = 0; k < 4; k++) pthread_join(all[k], 0);
        }";
    fs::write(&file, text).expect("a program");
    let mut first = Command::new(env!("CARGO_BIN_EXE_mazurka"))
        .args(["check", &file])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the tool");
    let children = format!("/proc/{0}/task/{0}/children", first.id());
    let is_native = |child: &&str| {
        let arguments = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains("--native")
    };
    let pause = || std::thread::sleep(std::time::Duration::from_millis(20));
    let child = (0..3000).find_map(|_| {
        pause();
        let all = fs::read_to_string(&children).unwrap_or_default();
        all.split_whitespace().find(is_native).map(str::to_owned)
    });
    let child = child.expect("the process that runs the program");
    // The process asks to be ended with its parent after it has set its limits, so wait for these.
    let limits = format!("/proc/{child}/limits");
    let confined = |text: String| {
        let files = text.lines().find(|line| line.starts_with("Max open files"));
        files.is_some_and(|files| files.split_whitespace().nth(3) == Some("64"))
    };
    while !fs::read_to_string(&limits).is_ok_and(confined) {
        pause();
    }
    first.kill().expect("it runs");
    first.wait().expect("it has ended");
    let gone = (0..3000).any(|_| {
        pause();
        !is_native(&child.as_str())
    });
    assert!(gone, "process {child} runs on");
}

/// Failures that depend on a step that nothing orders before them: the other side of a data race,
/// or the freeing of a block that is still in use.
#[test]
fn a_race_is_reported_with_both_sides() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    let head = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n";
    let programs = [
        "atomic_int x, y; int p;
        void *t(void *q) { y; p = 1; return q; }
        int main(void) {
            pthread_t a;
            pthread_create(&a, 0, t, 0);
            x; p = 2;
            pthread_join(a, 0);
        }",
        "atomic_int x, *m;
        void *t(void *q) { x = 1; *m = 1; return q; }
        int main(void) {
            pthread_t a;
            m = malloc(sizeof *m);
            pthread_create(&a, 0, t, 0);
            while (!x) ;
            free(m);
            pthread_join(a, 0);
        }",
        "atomic_int x; pthread_mutex_t *m;
        void *t(void *q) { x = 1; pthread_mutex_lock(m); pthread_mutex_unlock(m); return q; }
        int main(void) {
            pthread_t a;
            m = malloc(sizeof *m);
            pthread_mutex_init(m, 0);
            pthread_create(&a, 0, t, 0);
            while (!x) ;
            free(m);
            pthread_join(a, 0);
        }",
    ];
    for program in programs {
        fs::write(&file, format!("{head}{program}")).expect("a program");
        for more in [&["--memory", "rc11"][..], &[], &["--keep-going"]] {
            let mut arguments = vec!["check", &file];
            arguments.extend(more);
            let (code, out, err) = mazurka(&arguments);
            assert!(
                code == 1 && out.starts_with("violated"),
                "{more:?}: {out}{err}\n{program}"
            );
        }
        let (code, out, err) = mazurka(&["explore", &file]);
        assert_eq!(code, 1, "{out}{err}\n{program}");
    }
}

/// A program that does not reach `main`, or ends the process that explores it, is not a success.
#[test]
fn a_program_that_ends_or_blocks_the_tool_is_reported() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    for (program, words) in [
        (
            "__attribute__((constructor)) static void f(void) { volatile int p = 0; for (;;) p++; }
            int main(void) { return 0; }",
            "does not come to `main`",
        ),
        (
            "int main(void) { __asm__ volatile (\"syscall\" :: \"a\"(231L), \"D\"(0L)); return 0; }",
            "has ended the process that explored it",
        ),
    ] {
        fs::write(&file, program).expect("a program");
        let (code, out, err) = mazurka(&["check", &file]);
        assert!(code == 3 && err.contains(words), "{code} {out}{err}");
    }
}

/// Plain accesses decide which of two steps comes first, and these accesses are explored in one
/// order only.
#[test]
fn what_follows_a_data_race_is_not_verified() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    let source = "#include <pthread.h>\n\
        static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\nstatic int x;\n\
        static void *set(void *p) { x = 1; return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, set, 0);\n\
        if (x) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); }\n\
        pthread_join(t, 0); return 0; }\n";
    fs::write(&file, source).expect("a program");
    for memory in ["sc", "rc11"] {
        let deadlock = ["check", &file, "--memory", memory, "--property", "deadlock"];
        let (code, out, err) = mazurka(&deadlock);
        assert!(
            code == 2 && out.contains("what follows a data race was not explored"),
            "{memory}: {out}{err}"
        );
        let all = ["check", &file, "--memory", memory, "--keep-going"];
        let (code, out, err) = mazurka(&all);
        assert!(
            code == 1 && out.contains("not searched exhaustively"),
            "{memory}: {out}{err}"
        );
        let (code, out, err) = mazurka(&["check", &file, "--memory", memory]);
        assert!(code == 1 && out.contains("data race on `x`"), "{out}{err}");
    }
    // With races allowed, the accesses are steps.
    let steps = ["check", &file, "--allow-races", "--property", "deadlock"];
    let (code, out, err) = mazurka(&steps);
    assert!(code == 1 && out.contains("deadlock"), "{out}{err}");
}

/// The initialisation of a semaphore is not a step, so the search does not know that a wait depends
/// on it.
#[test]
fn a_search_ends_where_a_race_makes_a_step_impossible() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.c").display().to_string();
    let source = "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n\
        static atomic_int u;\nstatic sem_t s;\n\
        static void *one(void *p) { sem_wait(&s); u = 1; return p; }\n\
        static void *two(void *p) { u = 2; return p; }\n\
        int main(void) { pthread_t s1, s2;\n\
        pthread_create(&s1, 0, one, 0); pthread_create(&s2, 0, two, 0);\n\
        u = 3; sem_init(&s, 0, 1); pthread_join(s2, 0); return 0; }\n";
    fs::write(&file, source).expect("a program");
    for engine in ["optimal", "source", "dpor", "sleep"] {
        let races = ["explore", &file, "--allow-races", "--algorithm", engine];
        let (code, out, err) = mazurka(&races);
        assert!(
            code == 2 && out.contains("what follows a data race was not explored"),
            "{engine}: {out}{err}"
        );
    }
    let (code, out, err) = mazurka(&["check", &file, "--allow-races"]);
    assert!(code == 2 && out.starts_with("inconclusive"), "{out}{err}");
    let (code, out, err) = mazurka(&["check", &file]);
    assert!(code == 1 && out.contains("data race on `s`"), "{out}{err}");
}

#[test]
fn places_name_headers_and_folders() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("written");
    for inner in ["src", "inc"] {
        fs::create_dir(folder.path().join(inner)).expect("a folder");
    }
    write(
        "inc/own.h",
        "static atomic_int g;\nstatic void bump(void) { int x = g; g = x + 1; }\n",
    );
    write(
        "src/m.c",
        "#include <assert.h>\n#include <pthread.h>\n#include <stdatomic.h>\n#include \"own.h\"\n\
         static void *t(void *u) { bump(); return u; }\n\
         int main(void) { pthread_t a; pthread_create(&a, 0, t, 0); bump(); pthread_join(a, 0);\n\
         assert(g == 2); return 0; }\n",
    );
    let said = |format: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_mazurka"))
            .args(["check", "src/m.c", "--format", format, "--", "-Iinc"])
            .current_dir(folder.path())
            .output()
            .expect("the tool");
        String::from_utf8(output.stdout).expect("text")
    };
    let github = said("github");
    assert!(github.contains("file=src/m.c,line=7,"), "{github}");
    let sarif = said("sarif");
    assert!(sarif.contains("\"inc/own.h\""), "{sarif}");
    let record: serde_json::Value = serde_json::from_str(&said("json")).expect("JSON");
    let steps = record["witnesses"][0]["runs"][0]["steps"]
        .as_array()
        .expect("steps");
    let in_header = |step: &&serde_json::Value| step["file"] == "../inc/own.h" && step["line"] == 2;
    assert!(steps.iter().filter(in_header).count() >= 4, "{steps:?}");
    let in_main = |step: &serde_json::Value| step.get("file").is_none();
    assert!(steps.iter().any(in_main), "{steps:?}");
}
