//! Programs that were once judged wrongly, refused or explored without an end.

use crate::support::{Found, How, explore, has_compiler};

const C: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
    #include <stdio.h>\n#include <string.h>\n#include <errno.h>\n#include <time.h>\n\
    #include <unistd.h>\n#include <assert.h>\n";

fn c(body: &str) -> Found {
    explore("t.c", &format!("{C}{body}"), How::default())
}

fn cxx(standard: &str, body: &str) -> Found {
    let how = How {
        flags: &[standard],
        ..How::default()
    };
    explore("t.cpp", body, how)
}

/// A thread runs `g`, and `main` does this meanwhile.
fn beside(declarations: &str, g: &str, meanwhile: &str, end: &str) -> Found {
    c(&format!(
        "{declarations}\nvoid *g(void *p) {{ {g} return p; }}\nint main(void) {{ pthread_t t; \
         pthread_create(&t, 0, g, 0); {meanwhile} pthread_join(t, 0); {end} return 0; }}"
    ))
}

/// What a compare-exchange expects was written by code that is not instrumented: the second round
/// of the loop was taken for the first, and for a deadlock.
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
        let how = How {
            observed: Some("code,output"),
            ..How::default()
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

/// One of the results alone is observed.
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
    let finals = |observed| {
        let how = How {
            observed: Some(observed),
            ..How::default()
        };
        explore("t.c", &body, how)
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

/// An initialised static was read behind a load of its guard, and that was called a data race; an
/// exception that left `call_once` left it locked.
#[test]
fn statics_and_call_once_of_cxx() {
    if !has_compiler() {
        return;
    }
    let found = cxx(
        "-std=c++17",
        "#include <thread>\n#include <atomic>\n#include <cassert>\n\
         std::atomic<int> made{0}; struct S { int v; S() { made++; v = 5; } };\n\
         S &get() { static S s; return s; }\n\
         int main() { std::thread a([] { assert(get().v == 5); }); assert(get().v == 5); a.join(); assert(made == 1); }",
    );
    assert!(found.is_right(), "{found:?}");
    let found = cxx(
        "-std=c++17",
        "#include <thread>\n#include <mutex>\n#include <atomic>\n#include <cassert>\n\
         std::once_flag o; std::atomic<int> tries{0}; int n;\n\
         void go() { try { std::call_once(o, [] { if (tries++ == 0) throw 1; n++; }); } catch (int) {} }\n\
         int main() { std::thread a(go); go(); a.join(); go(); assert(n == 1); }",
    );
    assert!(found.is_right(), "{found:?}");
}

#[test]
fn ends_of_threads_and_programs_in_cxx() {
    if !has_compiler() {
        return;
    }
    let local = |end: &str| {
        cxx(
            "-std=c++17",
            &format!(
                "#include <thread>\n#include <atomic>\n#include <cassert>\n#include <iostream>\n\
                 std::atomic<int> n{{0}}; struct S {{ int v = 0; ~S() {{ n += v; }} }}; thread_local S s;\n\
                 struct Late {{ ~Late() {{ assert(n == 3); }} }} late;\n\
                 int main() {{ std::thread a([] {{ s.v = 1; }}), b([] {{ s.v = 2; }}); {end} std::cout << \"done\\n\"; }}"
            ),
        )
    };
    let joined = local("a.join(); b.join();");
    assert!(joined.is_right(), "{joined:?}");
    let detached = local("a.detach(); b.join();");
    assert!(detached.says("assertion `n == 3` failed"), "{detached:?}");
}

#[test]
fn futures_and_latches_wait_by_futexes() {
    if !has_compiler() {
        return;
    }
    let promise = |body: &str| {
        cxx(
            "-std=c++20",
            &format!(
                "#include <future>\n#include <thread>\n#include <cassert>\n\
                 int main() {{ std::promise<int> p; auto f = p.get_future(); {body} a.join(); }}"
            ),
        )
    };
    let kept = promise("std::thread a([&] { p.set_value(4); }); assert(f.get() == 4);");
    assert!(kept.is_right(), "{kept:?}");
    let never = promise("std::thread a([] {}); f.get();");
    assert!(never.deadlocks > 0, "{never:?}");
    let timed = promise(
        "std::thread a([&] { p.set_value(1); }); \
         assert(f.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready);",
    );
    assert!(timed.says("future_status::ready` failed"), "{timed:?}");
    let latch = |count: u32| {
        cxx(
            "-std=c++20",
            &format!(
                "#include <latch>\n#include <thread>\n#include <cassert>\nint x;\n\
                 int main() {{ std::latch l({count}); std::thread a([&] {{ x = 1; l.count_down(); }});\n\
                 l.arrive_and_wait(); assert(x == 1); a.join(); }}"
            ),
        )
    };
    let (two, three) = (latch(2), latch(3));
    assert!(two.is_right() && three.deadlocks > 0, "{two:?} {three:?}");
}
