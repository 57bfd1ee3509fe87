//! The end of the process (by `exit` or a return from `main`) is a step. Only the first such step
//! counts, and what other threads do after it is not observed.

use crate::support::{Compiled, ExploreOptions, Findings, explore, has_compiler};

const HEAD: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <stdlib.h>\n\
    #include <stdio.h>\n#include <unistd.h>\n#include <assert.h>\n\
    static pthread_t a, b;\n\
    #define START(t, f) pthread_create(&t, 0, f, 0)\n#line 1\n";

/// Returns the findings of a search of interleavings and, unless variables are observed, of a
/// search under rc11.
fn observed(body: &str, observed: &str) -> Vec<Findings> {
    let source = format!("{HEAD}{body}");
    let compiled = Compiled::new("t.c", &source, &ExploreOptions::default());
    let variables = observed.split(',').any(|it| it != "code" && it != "output");
    let mut memories = vec![None];
    if !variables {
        memories.push(Some("rc11"));
    }
    let explore = |memory| {
        let observed = Some(observed);
        compiled.explore(&ExploreOptions {
            memory,
            observed,
            ..ExploreOptions::default()
        })
    };
    memories.into_iter().map(explore).collect()
}

/// Requires that there is no failure, and this number of different results.
#[track_caller]
fn results(body: &str, what: &str, finals: u64) {
    for (at, found) in observed(body, what).into_iter().enumerate() {
        assert!(found.is_right(), "{at} {body}: {found:?}");
        assert_eq!(found.finals, finals, "{at} {body}: {found:?}");
    }
}

#[test]
fn the_first_end_of_the_process_counts() {
    if !has_compiler() {
        return;
    }
    let thread = "void *f(void *p) { exit(3); }\n";
    let both = format!("{thread}int main(void) {{ START(a, f); return 0; }}");
    results(&both, "code,output", 2);
    results(&both, "code", 2);
    let same = format!("{thread}int main(void) {{ START(a, f); return 3; }}");
    results(&same, "code,output", 1);
    // A join of a thread that has called `exit` never returns.
    let joined = format!("{thread}int main(void) {{ START(a, f); pthread_join(a, 0); return 0; }}");
    results(&joined, "code,output", 1);
    let two = "void *f(void *p) { exit(1); }\nvoid *g(void *p) { _exit(2); }\n\
               int main(void) { START(a, f); START(b, g); pthread_join(b, 0); }";
    results(two, "code,output", 2);
    let chosen = "atomic_int x; void *f(void *p) { if (atomic_exchange(&x, 1)) exit(4); return p; }\n\
                  int main(void) { START(a, f); START(b, f); pthread_exit(0); }";
    results(chosen, "code,output", 1);
    let or_later = "atomic_int x; void *f(void *p) { if (x) exit(4); return p; }\n\
                    int main(void) { START(a, f); x = 1; pthread_join(a, 0); return 0; }";
    results(or_later, "code,output", 2);
}

#[test]
fn what_is_printed_after_the_end_is_lost() {
    if !has_compiler() {
        return;
    }
    let thread = "void *f(void *p) { printf(\"x\"); printf(\"y\"); return p; }\n";
    let cut = format!("{thread}int main(void) {{ START(a, f); pthread_detach(a); return 0; }}");
    // The output is empty, x or xy.
    results(&cut, "code,output", 3);
    results(&cut, "code", 1);
    let also = format!("{thread}int main(void) {{ START(a, f); puts(\"m\"); return 0; }}");
    // m is printed before, between or after x and y; then some of the remaining letters follow.
    results(&also, "output", 3 + 2 + 1);
    let waits = format!("{thread}int main(void) {{ START(a, f); pthread_join(a, 0); return 0; }}");
    results(&waits, "code,output", 1);
    let last = "atomic_int n; void *f(void *p) { puts(\"t\"); return p; }\n\
                void bye(void) { puts(\"bye\"); }\n\
                int main(void) { atexit(bye); START(a, f); return 0; }";
    // The thread prints before `bye`, after it, or after the end of the process.
    results(last, "code,output", 3);
}

#[test]
fn variables_are_observed_at_the_end() {
    if !has_compiler() {
        return;
    }
    let body = "int x; atomic_int y; void *f(void *p) { y = 1; x = 1; y = 2; x = 2; return p; }\n\
                int main(void) { START(a, f); return 0; }";
    // The process ends after any number of the four assignments.
    results(body, "x,y", 5);
    results(body, "code", 1);
    let joined = body.replace("return 0", "pthread_join(a, 0); return 0");
    results(&joined, "x,y", 1);
    let locked = "int x; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; void *f(void *p) { \
                  pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); return p; }\n\
                  int main(void) { START(a, f); START(b, f); pthread_join(b, 0); return 0; }";
    results(locked, "x", 2);
    let ends = "int x; void *f(void *p) { exit(1); }\n\
                int main(void) { START(a, f); x = 1; return 0; }";
    // The thread ends it before or after the assignment, or `main` ends it.
    results(ends, "x,code", 3);
    let plain = "int g; void *f(void *p) { g = 2; return p; }\n\
                 int main(void) { START(a, f); return 0; }";
    results(plain, "g", 2);
    let within = "int g; void *f(void *p) { exit(0); }\n\
                  int main(void) { START(a, f); g = 1; pthread_join(a, 0); return 0; }";
    results(within, "g", 2);
}

#[test]
fn no_join_of_main_ends_when_it_returns() {
    if !has_compiler() {
        return;
    }
    let thread = "pthread_t m; void *f(void *p) { pthread_join(m, 0); assert(0); }\n";
    let returns =
        format!("{thread}int main(void) {{ m = pthread_self(); START(a, f); return 0; }}");
    results(&returns, "code", 1);
    let exits =
        format!("{thread}int main(void) {{ m = pthread_self(); START(a, f); pthread_exit(0); }}");
    for found in observed(&exits, "code") {
        assert!(found.says("assertion `0` failed"), "{found:?}");
    }
}

/// If a thread can fail while the process ends, it can also fail before the end.
#[test]
fn failures_are_found_in_threads_that_are_cut_off() {
    if !has_compiler() {
        return;
    }
    let body = "atomic_int x; void *f(void *p) { x = 1; assert(x == 2); return p; }\n\
                int main(void) { START(a, f); exit(x); }";
    for what in ["code", "x"] {
        for found in observed(body, what) {
            assert!(found.says("assertion `x == 2` failed"), "{found:?}");
        }
    }
    let waits = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; void *f(void *p) { \
                 pthread_mutex_lock(&m); return p; }\n\
                 int main(void) { pthread_mutex_lock(&m); START(a, f); return 0; }";
    results(waits, "code,output", 1);
    let spins = "atomic_int x; void *f(void *p) { while (!x); return p; }\n\
                 int main(void) { START(a, f); return 0; }";
    results(spins, "code,output", 1);
}

/// An exception that no handler catches is told at its `throw`, and an end by the C++ library at
/// the call. The unwinder makes no steps.
#[test]
fn an_exception_that_is_not_caught_is_told_at_its_throw() {
    if !has_compiler() {
        return;
    }
    let source = |body: &str| {
        format!(
            "#include <thread>\n#include <stdexcept>\n#line 1\nint zero;\nvoid bad(int n) {{\n\
             if (n > 0) bad(n - 1);\nelse if (zero == 0)\n  throw std::runtime_error(\"boom\");\n\
             }}\nvoid good() {{ try {{ throw 7; }} catch (int) {{}} }}\nint main() {{\n{body}\n}}\n"
        )
    };
    let thrown = "throws an exception that is not caught @";
    let told = [
        ("bad(2);", "5"),
        ("good(); std::thread t([] {\nthrow 7; });\nt.join();", "10"),
        (
            "try { bad(2); } catch (std::exception &e) {\nthrow; }",
            "10",
        ),
        ("auto f = []() noexcept { bad(1); };\nf();", "5"),
        ("good(); std::thread t([] {});", "calls `std::terminate` @"),
        ("std::terminate();", "main: calls `std::terminate` @9"),
        (
            "good(); std::abort();",
            "main: the program aborts: abort @9",
        ),
    ];
    for (body, what) in told {
        let found = explore("t.cpp", &source(body), ExploreOptions::default());
        let words = match what.parse::<u32>() {
            Ok(_) => format!("{thrown}{what}"),
            Err(_) => what.to_owned(),
        };
        assert!(found.says(&words), "{body}: {found:?}");
        assert_eq!(found.failures.len(), 1, "{body}: {found:?}");
    }
    // Exceptions of two threads do not depend on each other.
    let both = "std::thread t(good), u(good); t.join(); u.join();";
    for memory in [None, Some("rc11")] {
        let how = ExploreOptions {
            memory,
            ..ExploreOptions::default()
        };
        let found = explore("t.cpp", &source(both), how);
        assert!(found.is_right(), "{found:?}");
        assert_eq!(found.executions, 1, "{found:?}");
    }
}
