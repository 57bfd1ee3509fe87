//! Objects of the thread library that end before their last use or are initialised again, threads
//! that are joined twice, and waits with a time limit. Each program is explored as interleavings
//! and under rc11.

use crate::support::{Compiled, ExploreOptions, Findings, has_compiler};

const HEAD: &str = "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n\
    #include <stdlib.h>\n#include <time.h>\n#include <errno.h>\n#include <assert.h>\n\
    #include <threads.h>\nstatic const struct timespec soon = {1, 0};\n\
    #define START pthread_t a; pthread_create(&a, 0, t, 0);\n\
    #define END pthread_join(a, 0);\n#line 1\n";

/// Returns the findings of the searches of interleavings and under rc11.
fn both(body: &str) -> [Findings; 2] {
    let source = format!("{HEAD}{body}");
    let compiled = Compiled::new("t.c", &source, &ExploreOptions::default());
    [None, Some("rc11")].map(|memory| {
        let how = ExploreOptions {
            memory,
            ..ExploreOptions::default()
        };
        compiled.explore(&how)
    })
}

#[track_caller]
fn right(body: &str) {
    for found in both(body) {
        assert!(found.is_right(), "{body}: {found:?}");
    }
}

/// Both searches, of interleavings and under rc11, must find a failure. The message of the first
/// one must contain these words.
#[track_caller]
fn wrong(body: &str, words: &str) {
    let [found, weak] = both(body);
    assert!(found.says(words), "{body}: {found:?}");
    assert!(
        !weak.failures.is_empty() && weak.refused.is_none(),
        "{body}: {weak:?}"
    );
}

/// Returns a program in which a thread uses an object that `main` has allocated and may have freed.
fn freed(object: &str, init: &str, before: &str, last: &str) -> String {
    format!(
        "{object} *m; atomic_int x; void *t(void *p) {{ {before} x = 1; {last}; return p; }}\n\
         int main(void) {{ m = malloc(sizeof *m); {init}; START while (!x); free(m); END }}"
    )
}

#[test]
fn objects_must_not_be_freed_before_their_last_use() {
    if !has_compiler() {
        return;
    }
    let cases = [
        freed("sem_t", "sem_init(m, 0, 0)", "", "sem_post(m)"),
        freed("sem_t", "sem_init(m, 0, 1)", "", "sem_wait(m)"),
        freed(
            "pthread_cond_t",
            "pthread_cond_init(m, 0)",
            "",
            "pthread_cond_signal(m)",
        ),
        freed(
            "pthread_cond_t",
            "pthread_cond_init(m, 0)",
            "",
            "pthread_cond_broadcast(m)",
        ),
        freed(
            "pthread_rwlock_t",
            "pthread_rwlock_init(m, 0)",
            "",
            "pthread_rwlock_rdlock(m)",
        ),
        freed(
            "pthread_mutex_t",
            "pthread_mutex_init(m, 0)",
            "pthread_mutex_lock(m);",
            "pthread_mutex_unlock(m)",
        ),
        freed(
            "pthread_mutex_t",
            "pthread_mutex_init(m, 0)",
            "",
            "pthread_mutex_trylock(m)",
        ),
        freed(
            "pthread_barrier_t",
            "pthread_barrier_init(m, 0, 1)",
            "",
            "pthread_barrier_wait(m)",
        ),
    ];
    for case in &cases {
        wrong(case, "it is used in t (t.c:1) and freed in main (t.c:2)");
    }
    let posts = |last: &str| {
        format!(
            "sem_t *m; void *t(void *p) {{ sem_post(m); {last} return p; }}\n\
             int main(void) {{ m = malloc(sizeof *m); sem_init(m, 0, 0); START sem_wait(m);\n\
             sem_destroy(m); free(m); END }}"
        )
    };
    right(&posts(""));
    let late = "uses a semaphore in a block of 32 bytes after it was freed";
    wrong(&posts("sem_post(m);"), late);
    let done = |last: &str| {
        format!(
            "struct w {{ pthread_mutex_t m; pthread_cond_t c; int d; }} *w;\n\
             void *t(void *p) {{ pthread_mutex_lock(&w->m); w->d = 1; {last} return p; }}\n\
             int main(void) {{ w = malloc(sizeof *w); pthread_mutex_init(&w->m, 0);\n\
             pthread_cond_init(&w->c, 0); w->d = 0; START pthread_mutex_lock(&w->m);\n\
             while (!w->d) pthread_cond_wait(&w->c, &w->m);\n\
             pthread_mutex_unlock(&w->m); pthread_cond_destroy(&w->c); free(w); END }}"
        )
    };
    right(&done(
        "pthread_cond_signal(&w->c); pthread_mutex_unlock(&w->m);",
    ));
    wrong(
        &done("pthread_mutex_unlock(&w->m); pthread_cond_signal(&w->c);"),
        "uses a condition variable in a block of ",
    );
    // The thread that counts down to 0 frees the object. The mutex in the object orders this after
    // the other thread's uses.
    let last = "pthread_mutex_lock(&m->l); int last = --m->n == 0; pthread_mutex_unlock(&m->l);\n\
                if (last) { pthread_mutex_destroy(&m->l); free(m); }";
    right(&format!(
        "struct m {{ pthread_mutex_t l; int n; }} *m; void *t(void *p) {{ {last} return p; }}\n\
         int main(void) {{ m = malloc(sizeof *m); pthread_mutex_init(&m->l, 0); m->n = 2; START\n\
         t(0); END }}"
    ));
    // All threads have left the barrier when one of them destroys it.
    right(
        "pthread_barrier_t b; void *t(void *p) { int last = pthread_barrier_wait(&b);\n\
         if (last) pthread_barrier_destroy(&b); return p; }\n\
         int main(void) { pthread_barrier_init(&b, 0, 2); START t(0); END }",
    );
    // A woken thread need not have left the object when another thread destroys it.
    right(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t *c; int ready, waits;\n\
         void *t(void *p) { pthread_mutex_lock(&m); waits = 1;\n\
         while (!ready) pthread_cond_wait(c, &m); pthread_mutex_unlock(&m); return p; }\n\
         int main(void) { c = malloc(sizeof *c); pthread_cond_init(c, 0); START\n\
         pthread_mutex_lock(&m); ready = 1; pthread_cond_broadcast(c);\n\
         int w = waits; if (w) pthread_cond_destroy(c); pthread_mutex_unlock(&m); END\n\
         if (!w) pthread_cond_destroy(c); free(c); }",
    );
}

#[test]
fn a_thread_is_joined_once() {
    if !has_compiler() {
        return;
    }
    let twice = |one: &str, other: &str| {
        format!(
            "pthread_t a; void *t(void *p) {{ return p; }}\n\
             void *u(void *p) {{ {one}(a{comma}); return p; }}\n\
             int main(void) {{ pthread_t b; pthread_create(&a, 0, t, 0);\n\
             pthread_create(&b, 0, u, 0); {other}; pthread_join(b, 0); }}",
            comma = if one == "pthread_join" { ", 0" } else { "" },
        )
    };
    wrong(
        &twice("pthread_join", "pthread_join(a, 0)"),
        "joins a thread that was joined already",
    );
    wrong(
        &twice("pthread_join", "pthread_detach(a)"),
        " a thread that ",
    );
    wrong(
        &twice("pthread_detach", "pthread_join(a, 0)"),
        " a thread that ",
    );
    right(&twice("pthread_join", "atomic_int x = 1; x++"));
    right(&twice("pthread_detach", "atomic_int x = 1; x++"));
}

#[test]
fn waits_with_a_time_limit_end() {
    if !has_compiler() {
        return;
    }
    right(
        "sem_t s; int main(void) { sem_init(&s, 0, 0);\n\
           assert(sem_timedwait(&s, &soon) == -1 && errno == ETIMEDOUT); }",
    );
    let held = |object: &str, take: &str, timed: &str| {
        format!(
            "{object}; void *t(void *p) {{ assert({timed}(&m, &soon) == ETIMEDOUT); return p; }}\n\
             int main(void) {{ {take}(&m); START END }}"
        )
    };
    let mutex = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER";
    let rwlock = "pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER";
    right(&held(
        mutex,
        "pthread_mutex_lock",
        "pthread_mutex_timedlock",
    ));
    right(&held(
        rwlock,
        "pthread_rwlock_wrlock",
        "pthread_rwlock_timedrdlock",
    ));
    right(&held(
        rwlock,
        "pthread_rwlock_rdlock",
        "pthread_rwlock_timedwrlock",
    ));
    // Whether the wait times out depends on when the other thread finishes.
    let either = |result: &str| {
        format!(
            "sem_t s; void *t(void *p) {{ sem_post(&s); return p; }}\n\
             int main(void) {{ sem_init(&s, 0, 0); START int r = sem_timedwait(&s, &soon);\n\
             assert(r == {result}); END }}"
        )
    };
    wrong(&either("0"), "assertion `r == 0` failed");
    wrong(&either("-1"), "assertion `r == -1` failed");
}

#[test]
fn an_object_that_is_made_anew_is_a_new_one() {
    if !has_compiler() {
        return;
    }
    let lock = "pthread_mutex_lock(&m); pthread_mutex_unlock(&m);";
    let local = |made: &str, body: &str| {
        format!(
            "__attribute__((noinline)) void f(int k) {{ {made}; {body} }}\n\
             int main(void) {{ f(1); f(0); f(1); f(0); return 0; }}"
        )
    };
    let assigned = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER";
    let called = "pthread_mutex_t m; pthread_mutex_init(&m, 0)";
    let leaves = "pthread_mutex_lock(&m); if (!k) pthread_mutex_unlock(&m);";
    for made in [assigned, called] {
        right(&local(made, &format!("{lock} pthread_mutex_destroy(&m);")));
        right(&local(made, leaves));
    }
    right(&local(
        "pthread_rwlock_t m = PTHREAD_RWLOCK_INITIALIZER",
        "pthread_rwlock_rdlock(&m); pthread_rwlock_unlock(&m); if (k) pthread_rwlock_wrlock(&m);",
    ));
    right(&local(
        "sem_t m; sem_init(&m, 0, k)",
        "if (k) sem_wait(&m); sem_destroy(&m);",
    ));
    right(&format!(
        "void *t(void *m) {{ pthread_mutex_lock(m); pthread_mutex_unlock(m); return 0; }}\n\
         __attribute__((noinline)) void f(void) {{ {assigned}; pthread_t a;\n\
         pthread_create(&a, 0, t, &m); {lock} pthread_join(a, 0); pthread_mutex_destroy(&m); }}\n\
         int main(void) {{ f(); f(); return 0; }}"
    ));
    let global = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;";
    let again = "m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;";
    right(&format!(
        "{global} int main(void) {{ {lock} pthread_mutex_destroy(&m); {again} {lock} }}"
    ));
    wrong(
        &format!("{global} int main(void) {{ {lock} pthread_mutex_destroy(&m); {lock} }}"),
        "uses a mutex that was destroyed",
    );
    // A new barrier counts from the start.
    right(
        "void *t(void *b) { pthread_barrier_wait(b); return 0; }\n\
         __attribute__((noinline)) void f(int n) { pthread_barrier_t b; pthread_t a[2];\n\
         pthread_barrier_init(&b, 0, n); for (int k = 0; k < n - 1; k++) pthread_create(&a[k], 0, t, &b);\n\
         pthread_barrier_wait(&b); for (int k = 0; k < n - 1; k++) pthread_join(a[k], 0);\n\
         pthread_barrier_destroy(&b); }\n\
         int main(void) { f(2); f(3); return 0; }",
    );
}

#[test]
fn initialising_and_destroying_what_is_in_use_is_found() {
    if !has_compiler() {
        return;
    }
    let posts = "sem_t s; void *t(void *p) { sem_post(&s); return p; }\n";
    let race = |body: &str| format!("{posts}int main(void) {{ {body} }}");
    let words = "data race on `s`: it is used in t (t.c:1) and written in main (t.c:2)";
    wrong(&race("START sem_init(&s, 0, 0); sem_wait(&s); END"), words);
    wrong(
        &race("sem_init(&s, 0, 0); START sem_init(&s, 0, 0); END"),
        words,
    );
    wrong(
        &race("sem_init(&s, 0, 0); START sem_destroy(&s); END"),
        "uses a semaphore that was destroyed",
    );
    let locks = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
                 void *t(void *p) { pthread_mutex_lock(&m); pthread_mutex_unlock(&m); return p; }\n";
    let words = "data race on `m`: it is used in t (t.c:2) and written in main (t.c:3)";
    let cases = [
        ("pthread_mutex_init(&m, 0)", words),
        (
            "pthread_mutex_destroy(&m)",
            "uses a mutex that was destroyed",
        ),
    ];
    for (call, words) in cases {
        wrong(
            &format!("{locks}int main(void) {{ START {call}; END }}"),
            words,
        );
    }
    wrong(
        &format!(
            "{locks}int main(void) {{ pthread_mutex_lock(&m); pthread_mutex_init(&m, 0); START END }}"
        ),
        "initialises a mutex that is held",
    );
    let key = |count: &str| {
        format!(
            "pthread_key_t k; atomic_int d; sem_t s; void f(void *p) {{ d++; }}\n\
             void *t(void *p) {{ pthread_setspecific(k, &d); sem_post(&s); return p; }}\n\
             int main(void) {{ sem_init(&s, 0, 0); pthread_key_create(&k, f); START sem_wait(&s);\n\
             pthread_key_delete(k); END assert(d == {count}); }}"
        )
    };
    wrong(&key("1"), "assertion `d == 1` failed");
    wrong(&key("0"), "assertion `d == 0` failed");
    wrong(
        "pthread_key_t k; int main(void) { pthread_key_create(&k, 0); pthread_key_delete(k);\n\
         pthread_setspecific(k, &k); }",
        "uses a key that was deleted",
    );
}

#[test]
fn what_was_destroyed_is_not_used() {
    if !has_compiler() {
        return;
    }
    let cases = [
        (
            "sem_t s;",
            "sem_init(&s, 0, 1); sem_destroy(&s); sem_wait(&s);",
            "semaphore",
        ),
        (
            "sem_t s;",
            "sem_init(&s, 0, 0); sem_destroy(&s); sem_wait(&s);",
            "semaphore",
        ),
        (
            "pthread_rwlock_t s = PTHREAD_RWLOCK_INITIALIZER;",
            "pthread_rwlock_destroy(&s); pthread_rwlock_rdlock(&s);",
            "read-write lock",
        ),
        (
            "pthread_cond_t s = PTHREAD_COND_INITIALIZER;",
            "pthread_cond_destroy(&s); pthread_cond_signal(&s);",
            "condition variable",
        ),
        (
            "pthread_barrier_t s;",
            "pthread_barrier_init(&s, 0, 1); pthread_barrier_destroy(&s); pthread_barrier_wait(&s);",
            "barrier",
        ),
        (
            "mtx_t s;",
            "mtx_init(&s, mtx_plain); mtx_destroy(&s); mtx_lock(&s);",
            "mutex",
        ),
    ];
    for (object, body, name) in cases {
        let program = format!("{object} int main(void) {{ {body} }}");
        wrong(&program, &format!("uses a {name} that was destroyed"));
    }
    wrong(
        "pthread_rwlock_t s = PTHREAD_RWLOCK_INITIALIZER;\n\
         int main(void) { pthread_rwlock_rdlock(&s); pthread_rwlock_destroy(&s); }",
        "destroys a read-write lock that is held",
    );
    wrong(
        "pthread_mutex_t s = PTHREAD_MUTEX_INITIALIZER;\n\
         int main(void) { pthread_mutex_lock(&s); pthread_mutex_destroy(&s); }",
        "destroys a mutex that is held",
    );
    wrong(
        "pthread_cond_t s = PTHREAD_COND_INITIALIZER; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n\
         int d; void *t(void *p) { pthread_mutex_lock(&m); while (!d) pthread_cond_wait(&s, &m);\n\
         pthread_mutex_unlock(&m); return p; }\n\
         int main(void) { START pthread_mutex_lock(&m); pthread_cond_destroy(&s); d = 1;\n\
         pthread_mutex_unlock(&m); END }",
        "destroys a condition variable that threads wait for",
    );
}

/// A failure that occurs only after an unordered step is shown with that step: the worker replays
/// the schedule that was found, and checks that it shows the failure.
#[test]
fn failures_have_the_steps_of_others_in_their_schedules() {
    if !has_compiler() {
        return;
    }
    let beside = |object: &str, use_: &str, end: &str| {
        format!(
            "{object}; atomic_int x, y; void *t(void *p) {{ y = 1; {use_}; return p; }}\n\
             int main(void) {{ w = malloc(sizeof *w); INIT; START x = 1; {end}; END }}"
        )
    };
    let mutex = |use_: &str, end: &str| {
        let object = "struct w { int d; pthread_mutex_t m; } *w";
        beside(object, use_, end).replace("INIT", "pthread_mutex_init(&w->m, 0)")
    };
    let late = "uses a lock in a block of ";
    wrong(&mutex("pthread_mutex_lock(&w->m)", "free(w)"), late);
    wrong(&mutex("pthread_mutex_trylock(&w->m)", "free(w)"), late);
    let destroyed = "uses a mutex that was destroyed";
    let end = "pthread_mutex_destroy(&w->m)";
    wrong(&mutex("pthread_mutex_lock(&w->m)", end), destroyed);
    let unlock = "pthread_mutex_unlock(&w->m)";
    wrong(
        &mutex("pthread_mutex_lock(&w->m)", unlock),
        "unlocks a mutex that ",
    );
    let again = "pthread_mutex_init(&w->m, 0)";
    wrong(&mutex("pthread_mutex_lock(&w->m)", again), "data race");
    let plain = |use_: &str, end: &str| beside("int *w", use_, end).replace("INIT", "");
    wrong(
        &plain("*w = 1", "free(w)"),
        "block of 4 bytes after it was freed",
    );
    wrong(&plain("free(w)", "free(w)"), "frees a block twice");
    let moved = "reallocates what is not an allocated block";
    wrong(&plain("w = realloc(w, 8)", "free(w)"), moved);
    let barrier = |use_: &str, end: &str| {
        beside("pthread_barrier_t *w", use_, end).replace("INIT", "pthread_barrier_init(w, 0, 2)")
    };
    let gone = barrier("pthread_barrier_wait(w)", "pthread_barrier_destroy(w)");
    wrong(&gone, "uses a barrier that was destroyed");
    // The other order: `main` waits for `z`, so the thread can use the barrier before its end.
    let other = gone.replace("START x = 1;", "START while (!z);");
    let other = other
        .replace("x, y;", "x, y, z;")
        .replace("y = 1;", "z = 1; y = 1;");
    wrong(&other, " barrier that ");
}
