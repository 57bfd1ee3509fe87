//! Regression tests: programs that earlier versions rejected, explored without an end, or gave a
//! wrong verdict for.

use crate::support::{Compiled, ExploreOptions, Findings, explore, has_compiler};

const C: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
    #include <stdio.h>\n#include <string.h>\n#include <errno.h>\n#include <time.h>\n\
    #include <unistd.h>\n#include <assert.h>\n";

fn c(body: &str) -> Findings {
    explore("t.c", &format!("{C}{body}"), ExploreOptions::default())
}

/// Explores a program in which a thread runs `g` while `main` runs `meanwhile`; after a join,
/// `main` runs `end`.
fn beside(declarations: &str, g: &str, meanwhile: &str, end: &str) -> Findings {
    c(&format!(
        "{declarations}\nvoid *g(void *p) {{ {g} return p; }}\nint main(void) {{ pthread_t t; \
         pthread_create(&t, 0, g, 0); {meanwhile} pthread_join(t, 0); {end} return 0; }}"
    ))
}

/// The write of `h` races with the read and the write of `g`. Which of the two a failure names must
/// not depend on `f`, which is not in the past of the failure: its read comes after the accesses of
/// `g` and orders nothing. The last access of `g` is named.
#[test]
fn a_race_does_not_depend_on_other_threads() {
    if !has_compiler() {
        return;
    }
    let found = c("static pthread_mutex_t m; volatile int x; atomic_int a;
        void *g(void *p) { pthread_mutex_lock(&m); x + 1; x = 2; pthread_mutex_unlock(&m); return p; }
        void *f(void *p) { pthread_mutex_lock(&m); x + 1; pthread_mutex_unlock(&m); return p; }
        void *h(void *p) { a = 1; x = 1; return p; }
        int main(void) { pthread_t t[3]; pthread_create(t, 0, g, 0); pthread_create(t + 1, 0, f, 0);
        pthread_create(t + 2, 0, h, 0); for (int i = 0; i < 3; i++) pthread_join(t[i], 0); return 0; }");
    // `explore` asserts that the run of each failure shows the failure.
    assert!(
        found.says("written in g (t.c:11) and written in h (t.c:13)"),
        "{found:?}"
    );
}

/// Code that is not instrumented writes the expected value of a compare-exchange. The second round
/// of the loop was once mistaken for a repetition of the first, and reported as a deadlock.
#[test]
fn an_expected_value_on_the_heap_changes() {
    if !has_compiler() {
        return;
    }
    let found = beside(
        "atomic_int x;",
        "int *e = malloc(4); *e = 0; while (!atomic_compare_exchange_weak(&x, e, *e + 1)) ; free(e);",
        "g(0);",
        "assert(x == 2);",
    );
    assert!(found.is_right(), "{found:?}");
}

#[test]
fn clocks_move_when_threads_sleep() {
    if !has_compiler() {
        return;
    }
    let sleeps = "while (!atomic_load(&f)) usleep(10);";
    assert!(beside("atomic_int f;", sleeps, "atomic_store(&f, 1);", "").is_right());
    let never = beside("atomic_int f;", sleeps, "", "");
    assert_eq!((never.executions, never.deadlocks), (1, 1), "{never:?}");
    let until = "time_t end = time(0) + 2; while (!atomic_load(&f) && time(0) < end) sleep(1);";
    let over = beside("atomic_int f;", until, "", "");
    assert!(over.is_right(), "{over:?}");
    let missed = format!("{until} assert(atomic_load(&f));");
    let missed = beside("atomic_int f;", &missed, "atomic_store(&f, 1);", "");
    assert!(
        missed.says("assertion `atomic_load(&f)` failed"),
        "{missed:?}"
    );
}

#[test]
fn a_thread_that_exits_is_not_joined() {
    if !has_compiler() {
        return;
    }
    let found = beside("", "exit(0);", "", "assert(0);");
    assert!(found.is_right(), "{found:?}");
    let keys = "pthread_key_t k; atomic_int n; void d(void *p) { atomic_fetch_add(&n, 1); free(p); }\
                void __attribute__((constructor)) i(void) { pthread_key_create(&k, d); }";
    let ends = "pthread_setspecific(k, malloc(4)); pthread_exit(0);";
    let found = beside(keys, ends, "", "assert(n == 1);");
    assert!(found.is_right(), "{found:?}");
    let late = "atomic_int x; void bye(void) { assert(!atomic_load(&x)); }";
    let body = format!(
        "{late}\nvoid *g(void *p) {{ atomic_store(&x, 1); return p; }}\nint main(void) {{ \
         atexit(bye); pthread_t t; pthread_create(&t, 0, g, 0); return 0; }}"
    );
    let found = c(&body);
    assert!(
        found.says("bye: assertion `!atomic_load(&x)` failed"),
        "{found:?}"
    );
}

#[test]
fn what_is_printed_is_read_and_ordered() {
    if !has_compiler() {
        return;
    }
    let text = "char s[8] = \"abc\";";
    let prints = "printf(\"%d %5s %.1f\\n\", 1, s, 2.0);";
    let raced = beside(text, "s[1] = 'x';", prints, "");
    assert!(raced.says("data race on `s"), "{raced:?}");
    let written = beside(text, "snprintf(s, 8, \"%d\", 7);", "s[1] = 'y';", "");
    assert!(written.says("data race on `s"), "{written:?}");
    let observed = |body: &str| {
        let how = ExploreOptions {
            observed: Some("code,output"),
            ..ExploreOptions::default()
        };
        explore("t.c", &format!("{C}{body}"), how).finals
    };
    let threads = |one: &str, other: &str| {
        observed(&format!(
            "void *g(void *p) {{ {one} return p; }}\nint main(void) {{ pthread_t t; \
             pthread_create(&t, 0, g, 0); {other} pthread_join(t, 0); return 0; }}"
        ))
    };
    assert_eq!(threads("puts(\"a\");", "puts(\"b\");"), 2);
    assert_eq!(threads("puts(\"a\");", "printf(\"a\\n\");"), 1);
    let long = "static char s[3000]; memset(s, 'x', 2999); s[2500] = atomic_load(&f) ? 'y' : 'z'; puts(s);";
    let both = format!(
        "atomic_int f; void *g(void *p) {{ atomic_store(&f, 1); return p; }}\nint main(void) {{ \
         pthread_t t; pthread_create(&t, 0, g, 0); {long} pthread_join(t, 0); return 0; }}"
    );
    assert_eq!(observed(&both), 2);
}

/// Only one of the variables is observed, so only its values make results differ.
#[test]
fn variables_are_observed_by_name() {
    if !has_compiler() {
        return;
    }
    let body = format!(
        "{C}atomic_int x, y; void *g(void *p) {{ atomic_store(&x, 1); atomic_store(&y, 1); return p; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, g, 0); atomic_store(&x, 2); \
         pthread_join(t, 0); return 0; }}"
    );
    let program = Compiled::new("t.c", &body, &ExploreOptions::default());
    let finals = |observed| {
        program.explore(&ExploreOptions {
            observed: Some(observed),
            ..ExploreOptions::default()
        })
    };
    assert_eq!((finals("x").finals, finals("y").finals), (2, 1));
    assert_eq!((finals("code").finals, finals("x,y").finals), (1, 2));
    let refused = finals("z").refused.expect("there is no such variable");
    assert!(refused.contains("no global variable `z`"), "{refused}");
}

#[test]
fn large_atomics_and_blocks_that_are_not_there() {
    if !has_compiler() {
        return;
    }
    for size in [2, 3] {
        let declared = format!("struct s {{ long v[{size}]; }}; _Atomic struct s x;");
        let last = size - 1;
        let reads = format!("struct s r = atomic_load(&x); assert(r.v[0] == r.v[{last}]);");
        let writes = format!("struct s w = {{{{1}}}}; w.v[{last}] = 1; atomic_store(&x, w);");
        let found = beside(&declared, &writes, &reads, "");
        assert!(found.is_right() && found.executions == 2, "{found:?}");
    }
    let memory = "void *q = malloc(4); assert(!realloc(q, (size_t)1 << 40)); free(q);\
                  assert(posix_memalign(&q, 3, 8) == EINVAL);";
    let found = beside("", memory, "", "");
    assert!(found.is_right(), "{found:?}");
    let read = beside("", "getchar();", "", "");
    assert!(read.refused.expect("refused").contains("`getc`"));
}

/// `std::counting_semaphore::acquire` as in the library of GCC 12 (its bug 104928): a thread waits
/// while the count equals the first value that it read, rather than while the count is 0. The
/// deadlock is real.
#[test]
fn a_semaphore_that_waits_for_what_it_read_first() {
    if !has_compiler() {
        return;
    }
    let semaphore = |waited: &str| {
        let declared = format!(
            "#include <limits.h>\n#include <sys/syscall.h>\natomic_int s = 1; int x;\n\
             int try(void) {{ int v = atomic_load(&s); return v && atomic_compare_exchange_strong(&s, &v, v - 1); }}\n\
             void acquire(void) {{ do {{ int v = {waited}; if (try()) return; syscall(SYS_futex, &s, 128, v, 0); }} while (!try()); }}\n\
             void release(void) {{ if (atomic_fetch_add(&s, 1) <= 0) syscall(SYS_futex, &s, 129, INT_MAX); }}"
        );
        beside(
            &declared,
            "acquire(); x++; release();",
            "g(0);",
            "assert(x == 2);",
        )
    };
    let wrong = semaphore("atomic_load(&s)");
    assert_eq!((wrong.executions, wrong.deadlocks), (72, 4), "{wrong:?}");
    let right = semaphore("0");
    assert!(right.is_right() && right.executions == 24, "{right:?}");
}

/// Several C++ tests in one program, because compiling the headers dominates the cost of a test.
/// `main` runs the function that the value of `__VERIFIER_nondet_int` selects.
const SEVERAL: &str = r#"
#include <atomic>
#include <cassert>
#include <future>
#include <iostream>
#include <latch>
#include <mutex>
#include <thread>
extern "C" int __VERIFIER_nondet_int();
int which;

std::atomic<int> made{0};
struct Value { int v; Value() { made++; v = 5; } };
Value &value() { static Value it; return it; }
void magic_static() {
    std::thread a([] { assert(value().v == 5); });
    assert(value().v == 5);
    a.join();
    assert(made == 1);
}

std::once_flag once;
std::atomic<int> tries{0};
int n;
void try_once() {
    try { std::call_once(once, [] { if (tries++ == 0) throw 1; n++; }); } catch (int) {}
}
void throwing_once() {
    std::thread a(try_once);
    try_once();
    a.join();
    try_once();
    assert(n == 1);
}

std::atomic<int> sum{0};
struct Local { int v = 0; ~Local() { sum += v; } };
thread_local Local local;
struct Late { ~Late() { if (which == 2 || which == 3) assert(sum == 3); } } late;
void ends(bool joined) {
    std::thread a([] { local.v = 1; }), b([] { local.v = 2; });
    if (joined) a.join(); else a.detach();
    b.join();
    std::cout << "done\n";
}

void kept() {
    std::promise<int> p;
    auto f = p.get_future();
    std::thread a([&] { p.set_value(4); });
    assert(f.get() == 4);
    a.join();
}
void never() {
    std::promise<int> p;
    p.get_future().wait();
}
void timed() {
    std::promise<int> p;
    auto f = p.get_future();
    std::thread a([&] { p.set_value(1); });
    assert(f.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready);
    a.join();
}
int x;
void latch(int count) {
    std::latch l(count);
    std::thread a([&] { x = 1; l.count_down(); });
    l.arrive_and_wait();
    assert(x == 1);
    a.join();
}

int main() {
    switch (which = __VERIFIER_nondet_int()) {
        case 0: magic_static(); break;
        case 1: throwing_once(); break;
        case 2: ends(true); break;
        case 3: ends(false); break;
        case 4: kept(); break;
        case 5: never(); break;
        case 6: timed(); break;
        case 7: latch(2); break;
        default: latch(3);
    }
}
"#;

/// Defects of earlier versions: reading an initialised static after a load of its guard was a data
/// race; `call_once` stayed locked after an exception; destructors of static and thread-local
/// objects did not run; and `std::promise` and `std::latch`, which wait by futexes, were refused.
#[test]
fn the_library_of_cxx() {
    if !has_compiler() {
        return;
    }
    let how = ExploreOptions {
        flags: &["-std=c++20"],
        ..ExploreOptions::default()
    };
    let program = Compiled::new("t.cpp", SEVERAL, &how);
    let found: Vec<Findings> = (0..9)
        .map(|which| {
            program.explore(&ExploreOptions {
                nondet: Some(("int", which, which)),
                ..how.clone()
            })
        })
        .collect();
    for right in [0, 1, 2, 4, 7] {
        let found = &found[right];
        assert!(found.is_right(), "{right}: {found:?}");
    }
    let detached = &found[3];
    assert!(detached.says("assertion `sum == 3` failed"), "{detached:?}");
    for stuck in [5, 8] {
        let found = &found[stuck];
        assert!(found.deadlocks > 0, "{stuck}: {found:?}");
    }
    let timed = &found[6];
    assert!(timed.says("future_status::ready` failed"), "{timed:?}");
}

/// Two rounds of a loop differ if a clock has moved, even if the program reads the clock only after
/// the loop.
#[test]
fn a_clock_that_is_read_later_has_moved() {
    if !has_compiler() {
        return;
    }
    let found = beside(
        "atomic_int x;",
        "x = 1;",
        "while (!x) usleep(10);
         struct timespec now; clock_gettime(CLOCK_MONOTONIC, &now); assert(now.tv_nsec < 20000);",
        "",
    );
    // The number of rounds is not bounded, so a limit ends the search.
    assert!(found.bounds.contains("MaxDepth"), "{found:?}");
}
