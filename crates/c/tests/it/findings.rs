//! For small programs with one error each: the search reports this error with its line, and no
//! other error.

use crate::support::{ExploreOptions, Findings, explore, has_compiler};

const HEAD: &str = "#include <pthread.h>\n#include <semaphore.h>\n#include <stdatomic.h>\n\
    #include <stdlib.h>\n#include <errno.h>\n#include <wchar.h>\n#include <stdio.h>\n#include <string.h>\n#include <assert.h>\n\
    #include <threads.h>\n#line 1\n";

fn found(body: &str) -> Findings {
    explore("t.c", &format!("{HEAD}{body}"), ExploreOptions::default())
}

/// Explores a program of two threads with these bodies. `main` joins the threads and then runs
/// `end`.
fn two(declarations: &str, one: &str, two: &str, end: &str) -> Findings {
    found(&format!(
        "{declarations}\nvoid *f(void *p) {{\n{one}\nreturn p; }}\nvoid *g(void *p) {{\n{two}\nreturn p; }}\n\
         int main(void) {{ pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);\n\
         pthread_join(a, 0); pthread_join(b, 0); {end} return 0; }}"
    ))
}

#[test]
fn races_have_both_places() {
    if !has_compiler() {
        return;
    }
    let racy = two("int x;", "x = 1;", "x = 2;", "");
    assert_eq!(racy.failures.len(), 1, "{racy:?}");
    assert!(
        racy.says("data race on `x`: it is written in f (t.c:3) and written in g (t.c:6)"),
        "{racy:?}"
    );
    let guarded = two(
        "int x; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;",
        "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);",
        "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);",
        "assert(x == 2);",
    );
    assert!(guarded.is_right(), "{guarded:?}");
    assert_eq!(guarded.executions, 2);
    let relaxed = |order: &str| {
        let write = format!("x = 1; atomic_store_explicit(&flag, 1, memory_order_{order});");
        let read = "if (atomic_load_explicit(&flag, memory_order_acquire)) assert(x == 1);";
        two("int x; atomic_int flag;", &write, read, "")
    };
    assert!(relaxed("release").is_right());
    assert!(relaxed("relaxed").says("data race on `x`"));
    let copied = two("char a[64], b[64];", "memcpy(a, b, 64);", "a[40] = 1;", "");
    assert!(copied.says("data race on `a+40`"), "{copied:?}");
    for (one, race) in [
        ("wmemset(w, 1, 4);", "w+8"),
        ("wmemcpy(w, other, 4);", "w+8"),
        ("wmemmove(w, w + 1, 3);", "w+8"),
        ("assert(wmemcmp(w, other, 4) == 0);", "w+8"),
        ("assert(wmemchr(w, 1, 3));", "w+8"),
        ("assert(wcslen(w) == 0);", "w"),
        ("assert(wcscmp(other, w) == 0);", "w"),
    ] {
        let at = if race == "w" { 0 } else { 2 };
        let wide = two("wchar_t w[8], other[8];", one, &format!("w[{at}] = 1;"), "");
        assert!(
            wide.says(&format!("data race on `{race}`")),
            "{one} {wide:?}"
        );
    }
    for one in [
        "bzero(s, 4);",
        "n = strnlen(s, 4);",
        "free(strndup(s, 4));",
        "strncat(other, s, 4);",
        "strncat(s, other, 4);",
        "stpcpy(other, s);",
        "n = memchr(s, 'c', 8) != 0;",
        "n = strrchr(s, 'a') != 0;",
        "n = strstr(s, \"c\") != 0;",
        "n = strstr(other, s) != 0;",
        "n = strspn(s, \"ab\");",
        "n = strcspn(s, \"c\");",
        "n = strpbrk(s, \"c\") != 0;",
    ] {
        let declared = "char s[8] = \"abc\", other[16] = \"xyz\"; int n;";
        let text = two(declared, one, "s[2] = 'd';", "");
        let here = text.says("data race on `s`") || text.says("data race on `s+2`");
        assert!(here && text.says("in f (t.c:3)"), "{one} {text:?}");
    }
}

/// The functions for texts do what those of the C library do.
#[test]
fn texts_are_as_in_the_library() {
    if !has_compiler() {
        return;
    }
    let right = found(
        "int main(void) { char a[16] = \"abcab\", b[16] = \"x\";\n\
         assert(strnlen(a, 3) == 3 && strnlen(a, 5) == 5 && strnlen(a, 9) == 5);\n\
         char *d = strndup(a, 2), *e = strndup(a, 9); assert(!strcmp(d, \"ab\") && !strcmp(e, a));\n\
         assert(strncat(b, a, 2) == b && !strcmp(b, \"xab\")); strncat(b, \"yz\", 9);\n\
         assert(!strcmp(b, \"xabyz\")); assert(stpcpy(b, \"pq\") == b + 2 && !strcmp(b, \"pq\"));\n\
         assert(memchr(a, 'c', 5) == a + 2 && !memchr(a, 'c', 2) && memchr(a, 0, 9) == a + 5);\n\
         assert(strrchr(a, 'a') == a + 3 && !strrchr(a, 'z') && strrchr(a, 0) == a + 5);\n\
         assert(strstr(a, \"ca\") == a + 2 && strstr(a, \"\") == a && !strstr(a, \"abd\"));\n\
         assert(!strstr(\"\", \"a\") && strstr(a, \"abcab\") == a && !strstr(a, \"abcabc\"));\n\
         assert(strspn(a, \"ab\") == 2 && strspn(a, \"\") == 0 && strspn(a, \"cba\") == 5);\n\
         assert(strcspn(a, \"c\") == 2 && strcspn(a, \"\") == 5 && strcspn(a, \"a\") == 0);\n\
         assert(strpbrk(a, \"cb\") == a + 1 && !strpbrk(a, \"z\")); bzero(a, 2);\n\
         assert(!a[0] && !a[1] && a[2] == 'c'); free(d); free(e); return 0; }",
    );
    assert!(right.is_right(), "{right:?}");
}

/// The functions for wide characters do what those of the C library do.
#[test]
fn wide_characters_are_as_in_the_library() {
    if !has_compiler() {
        return;
    }
    let right = found(
        "int main(void) { wchar_t a[8] = {5, -1, 7, 0}, b[8]; wmemcpy(b, a, 4);\n\
         assert(wmemcmp(a, b, 4) == 0); assert(wcslen(a) == 3); assert(wcscmp(a, b) == 0);\n\
         b[1] = 2; assert(wcscmp(a, b) < 0); assert(wcscmp(b, a) > 0);\n\
         assert(wmemcmp(b, a, 4) > 0); assert(wmemchr(a, 7, 4) == a + 2);\n\
         assert(!wmemchr(a, 9, 4)); wmemmove(a + 1, a, 3); assert(a[1] == 5 && a[2] == -1 && a[3] == 7);\n\
         wmemmove(a, a + 1, 3); assert(a[0] == 5 && a[2] == 7);\n\
         wmemset(a, 3, 2); assert(a[0] == 3 && a[1] == 3 && a[2] == 7); return 0; }",
    );
    assert!(right.is_right(), "{right:?}");
}

/// Each thread has its own `errno`.
#[test]
fn errno_is_local_to_a_thread() {
    if !has_compiler() {
        return;
    }
    let set =
        |value: u32| format!("errno = {value}; atomic_fetch_add(&x, 1); assert(errno == {value});");
    let right = two("atomic_int x;", &set(3), &set(4), "assert(errno == 0);");
    assert!(right.is_right(), "{right:?}");
    assert_eq!(right.executions, 2);
}

/// Accesses of a thread to its own stack are recorded only once another thread accesses it. The
/// search then starts again, so that earlier accesses are recorded, too.
#[test]
fn stacks_are_shared() {
    if !has_compiler() {
        return;
    }
    let program = |own: &str, other: &str, end: &str| {
        found(&format!(
            "atomic_int go; void *f(void *p) {{\n\
             if (atomic_load_explicit(&go, memory_order_acquire)) {{ {other} }} return 0; }}\n\
             int main(void) {{ volatile int v = 1; pthread_t a;\n\
             pthread_create(&a, 0, f, (void *)&v); {own}\n\
             atomic_store_explicit(&go, 1, ORDER); {end} return 0; }}"
        ))
    };
    let ordered = |order: &str, end: &str| {
        let own = format!("\n#define ORDER memory_order_{order}\nv = 2;");
        program(&own, "assert(*(int *)p == 2);", end)
    };
    let right = ordered("release", "pthread_join(a, 0); v = 3;");
    assert!(right.is_right(), "{right:?}");
    let relaxed = ordered("relaxed", "pthread_join(a, 0); v = 3;");
    assert!(relaxed.says("data race on `stack of 0"), "{relaxed:?}");
    let early = ordered("release", "v = 3; pthread_join(a, 0);");
    assert!(early.says("data race on `stack of 0"), "{early:?}");
}

#[test]
fn races_say_which_order_is_missing() {
    if !has_compiler() {
        return;
    }
    let missing = |declarations: &str, one: &str, other: &str| {
        let found = two(declarations, one, other, "");
        let [race] = &found.failures[..] else {
            panic!("{found:?}");
        };
        let words = race
            .split("orders the two: ")
            .nth(1)
            .expect("what is missing");
        words.split(" @").next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        missing("int x;", "x = 1;", "x = 2;"),
        "no lock, join or atomic access orders them"
    );
    let handed = |store: &str, load: &str| {
        let write = format!("x = 1;\natomic_store_explicit(&flag, 1, memory_order_{store});");
        let read = format!("if (atomic_load_explicit(&flag, memory_order_{load}))\nx = 2;");
        missing("int x; atomic_int flag;", &write, &read)
    };
    let [store, load] = [
        "the store of `flag` in f (t.c:4) has to release",
        "the load of `flag` in g (t.c:7) has to acquire",
    ];
    assert_eq!(handed("relaxed", "acquire"), store);
    assert_eq!(handed("release", "relaxed"), load);
    assert_eq!(handed("relaxed", "relaxed"), format!("{store}, and {load}"));
    let locks =
        "int x; pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;";
    let locked =
        |lock: &str| format!("pthread_mutex_lock(&{lock}); x++; pthread_mutex_unlock(&{lock});");
    // The access that is named first depends on the compiler's layout of the code.
    let either = |found: String, one: &str, other: &str| {
        let words = |a: &str, b: &str| format!("{a} is held at the first, {b} at the second");
        assert!(
            [words(one, other), words(other, one)].contains(&found),
            "{found}"
        );
    };
    either(missing(locks, &locked("m"), "x = 2;"), "`m`", "no lock");
    either(missing(locks, &locked("m"), &locked("n")), "`m`", "`n`");
}

#[test]
fn deadlocks_and_lost_wakeups_are_found() {
    if !has_compiler() {
        return;
    }
    let locks = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;";
    let take = |one: &str, two: &str| {
        format!(
            "pthread_mutex_lock(&{one}); pthread_mutex_lock(&{two});\
             pthread_mutex_unlock(&{two}); pthread_mutex_unlock(&{one});"
        )
    };
    let abba = two(locks, &take("m", "n"), &take("n", "m"), "");
    assert_eq!((abba.executions, abba.deadlocks), (3, 1), "{abba:?}");
    let same = two(locks, &take("m", "n"), &take("m", "n"), "");
    assert_eq!((same.executions, same.deadlocks), (2, 0), "{same:?}");
    let condition = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\
                     pthread_cond_t c = PTHREAD_COND_INITIALIZER; int ready;";
    let tell =
        "pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);";
    let right = "pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);";
    let wrong = "pthread_mutex_lock(&m); int r = ready; pthread_mutex_unlock(&m);\
                 if (!r) { pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); }";
    let waits = two(condition, right, tell, "assert(ready);");
    assert!(waits.is_right(), "{waits:?}");
    assert_eq!(waits.executions, 2);
    let lost = two(condition, wrong, tell, "");
    assert!(lost.deadlocks > 0 && lost.failures.is_empty(), "{lost:?}");
}

#[test]
fn crashes_are_failures_with_a_line() {
    if !has_compiler() {
        return;
    }
    let flag = "atomic_int flag; int *null; volatile int zero;";
    let set = "atomic_store(&flag, 1);";
    let crash = |code: &str| {
        two(
            flag,
            &format!("if (atomic_load(&flag)) {{\n{code} }}"),
            set,
            "",
        )
    };
    let cases = [
        (
            "*null = 1;",
            "segmentation fault: it uses a null pointer @4",
        ),
        (
            "flag = 1000 / zero;",
            "arithmetic fault: a division by zero? @4",
        ),
        ("abort();", "the program aborts: abort @4"),
        ("assert(0);", "assertion `0` failed @4"),
        (
            "int *q = malloc(4); free(q); free(q);",
            "frees a block twice",
        ),
        (
            "int *q = malloc(4); free(q); *q = 1;",
            "writes to a block of 4 bytes after it was freed",
        ),
        (
            "volatile int *q = malloc(8); q[2] = 1;",
            "writes to a block of 8 bytes beyond its end",
        ),
        (
            "free(&flag);",
            "frees what is not the start of an allocated block",
        ),
        (
            "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_mutex_unlock(&m);",
            "unlocks a mutex that is not locked",
        ),
    ];
    for (code, words) in cases {
        let found = crash(code);
        assert!(found.says(words), "{code}: {found:?}");
        assert_eq!(
            (found.failures.len(), found.executions),
            (1, 2),
            "{code}: {found:?}"
        );
    }
    let early = two(
        "int *q; void __attribute__((constructor)) init(void) { q = malloc(4); }",
        "*q = 1;",
        "",
        "assert(*q == 1); free(q);",
    );
    assert!(early.is_right(), "{early:?}");
    let deep = found(
        "int depth(volatile int n) { volatile int a[64]; a[0] = n; return depth(n + 1) + a[0]; }\n\
                      int main(void) { return depth(0); }",
    );
    assert!(deep.says("has overflowed its stack"), "{deep:?}");
}

#[test]
fn loops_that_spin_wait() {
    if !has_compiler() {
        return;
    }
    let flag = "atomic_int flag; int data;";
    let handed = two(
        flag,
        "while (!atomic_load(&flag)) ; assert(data == 1);",
        "data = 1; atomic_store(&flag, 1);",
        "",
    );
    assert!(handed.is_right(), "{handed:?}");
    // There is one more execution if the compiler has turned one load into two.
    assert!((2..=3).contains(&handed.executions), "{handed:?}");
    let never = two(flag, "while (!atomic_load(&flag)) ;", "data = 1;", "");
    assert_eq!((never.executions, never.deadlocks), (1, 1), "{never:?}");
    let lock = "while (atomic_exchange(&flag, 1)) ; data++; atomic_store(&flag, 0);";
    let spinlock = two(flag, lock, lock, "assert(data == 2);");
    assert!(spinlock.is_right(), "{spinlock:?}");
    let cas = "int no = 0; while (!atomic_compare_exchange_strong(&flag, &no, 1)) no = 0; data++; atomic_store(&flag, 0);";
    let spinning = two(flag, cas, cas, "assert(data == 2);");
    assert!(spinning.is_right(), "{spinning:?}");
    // A loop that counts does not spin.
    let counted = two(
        flag,
        "for (int k = 0; k < 3 && !atomic_load(&flag); k++) ;",
        "atomic_store(&flag, 1);",
        "",
    );
    assert_eq!(
        (counted.executions, counted.deadlocks),
        (4, 0),
        "{counted:?}"
    );
}

#[test]
fn other_objects_of_the_thread_library_work() {
    if !has_compiler() {
        return;
    }
    let semaphore =
        "sem_t s; int x; void __attribute__((constructor)) init(void) { sem_init(&s, 0, 1); }";
    let body = "sem_wait(&s); x++; sem_post(&s);";
    let semaphores = two(semaphore, body, body, "assert(x == 2);");
    assert!(semaphores.is_right(), "{semaphores:?}");
    assert_eq!(semaphores.executions, 2);
    let rw = "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; int x;";
    let writer = "pthread_rwlock_wrlock(&l); x++; pthread_rwlock_unlock(&l);";
    let reader = "pthread_rwlock_rdlock(&l); int r = x; pthread_rwlock_unlock(&l); assert(r < 2);";
    assert!(two(rw, writer, reader, "assert(x == 1);").is_right());
    assert!(two(rw, reader, "x = 1;", "").says("data race on `x`"));
    let barrier = "pthread_barrier_t b; int x, y; void __attribute__((constructor)) init(void) { pthread_barrier_init(&b, 0, 2); }";
    let meet = two(
        barrier,
        "x = 1; pthread_barrier_wait(&b); assert(y == 1);",
        "y = 1; pthread_barrier_wait(&b); assert(x == 1);",
        "",
    );
    assert!(meet.is_right(), "{meet:?}");
    let once = "pthread_once_t o = PTHREAD_ONCE_INIT; int n; void init(void) { n++; }";
    let call = "pthread_once(&o, init); assert(n == 1);";
    let onced = two(once, call, call, "assert(n == 1);");
    assert!(onced.is_right(), "{onced:?}");
    let local = "__thread int mine = 3; pthread_key_t k;";
    let body = "assert(mine == 3); mine++; pthread_t me = pthread_self(); assert(pthread_equal(me, pthread_self())); assert(mine == 4);";
    assert!(two(local, body, body, "assert(mine == 3);").is_right());
    let recursive = "pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP; int x;";
    let body = "pthread_mutex_lock(&m); pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m); pthread_mutex_unlock(&m);";
    let nested = explore(
        "t.c",
        &format!(
            "#define _GNU_SOURCE\n{HEAD}{recursive}\nvoid *f(void *p) {{ {body} return p; }}\n\
            int main(void) {{ pthread_t a; pthread_create(&a, 0, f, 0); f(0); pthread_join(a, 0); assert(x == 2); }}"
        ),
        ExploreOptions::default(),
    );
    assert!(nested.is_right(), "{nested:?}");
    assert_eq!(nested.executions, 2);
    let c11 = found(
        "mtx_t m; int x; int f(void *p) { mtx_lock(&m); x++; mtx_unlock(&m); return 7; }\n\
         int main(void) { thrd_t t; int r; mtx_init(&m, mtx_plain); thrd_create(&t, f, 0); f(0); thrd_join(t, &r); assert(r == 7 && x == 2); }",
    );
    assert!(c11.is_right(), "{c11:?}");
    let tried = two(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x;",
        "if (!pthread_mutex_trylock(&m)) { x++; pthread_mutex_unlock(&m); }",
        "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);",
        "assert(x == 2);",
    );
    assert!(tried.says("assertion `x == 2` failed"), "{tried:?}");
}

#[test]
fn a_program_ends_when_main_returns() {
    if !has_compiler() {
        return;
    }
    let waiting = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; pthread_cond_t c = PTHREAD_COND_INITIALIZER;\n\
        void *f(void *p) { pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); return p; }\n";
    let left = found(&format!(
        "{waiting}int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); return 0; }}"
    ));
    assert!(left.is_right(), "{left:?}");
    let joined = found(&format!(
        "{waiting}int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_exit(0); }}"
    ));
    assert_eq!(joined.deadlocks, 1, "{joined:?}");
}

#[test]
fn what_is_not_controlled_is_refused_by_name() {
    if !has_compiler() {
        return;
    }
    let forks = found("#include <unistd.h>\nint main(void) { return fork(); }");
    assert!(forks.refused.expect("refused").contains("`fork`"));
    let opens = found("int main(void) { FILE *f = fopen(\"x\", \"r\"); return !f; }");
    assert!(opens.refused.expect("refused").contains("`fopen`"));
    let draws = found("int main(void) { return rand(); }");
    assert!(draws.refused.expect("refused").contains("rand"));
}

#[test]
fn engines_agree_and_search_less_or_as_much() {
    if !has_compiler() {
        return;
    }
    let source = format!(
        "{HEAD}atomic_int x, y; void *f(void *p) {{ atomic_store(&x, 1); atomic_load(&y); return p; }}\n\
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); atomic_store(&y, 1); int r = atomic_load(&x); pthread_join(t, 0); assert(r); }}"
    );
    for algorithm in ["naive", "sleep", "dpor", "source", "optimal"] {
        let how = ExploreOptions {
            algorithm: Some(algorithm),
            ..ExploreOptions::default()
        };
        let found = explore("t.c", &source, how);
        assert_eq!(found.executions, 3, "{algorithm}: {found:?}");
        assert!(found.says("assertion `r` failed"), "{algorithm}: {found:?}");
    }
}
