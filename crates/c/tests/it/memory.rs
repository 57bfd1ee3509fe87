//! C programs under memory models: the errors that only weak orders allow, and numbers of
//! executions. These are compared with published numbers, and with the numbers of the same programs
//! in other tests.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mazurka_c::SearchStop;
use mazurka_c::weak::WeakProgram;
use mazurka_core::Limits;
use mazurka_memory::{End, Ending, Failure, Memory, visit};

use crate::support::{Compiled, ExploreOptions, Findings, explore, has_compiler};

/// Explores the loaded program, in the process of the worker.
pub fn explore_weakly(memory: &str) {
    let memory: Memory = memory.parse().expect("a model");
    let mut program = WeakProgram::of_loaded().expect("a program");
    let mut finals = BTreeSet::new();
    let (found, [complete, deadlocks, blocked, discarded]) = loop {
        finals.clear();
        let (mut complete, mut deadlocks, mut blocked, mut discarded) = (0, 0, 0, 0);
        let mut look = |end: &mut End<'_, &mut WeakProgram>| {
            let ending = end.ending();
            let (graph, program) = end.graph_and_program();
            match ending {
                _ if program.is_in_vain() => blocked += 1,
                Ending::Deadlock if !program.is_deadlock(|loc| graph.final_value(loc)) => {
                    blocked += 1;
                }
                Ending::Deadlock if program.has_exited() => {
                    complete += 1;
                    finals.insert(program.observation().bits());
                }
                Ending::Deadlock => deadlocks += 1,
                Ending::Blocked => blocked += 1,
                Ending::Discarded => discarded += 1,
                ending => {
                    complete += 1;
                    if ending == Ending::Complete {
                        finals.insert(program.observation().bits());
                    }
                }
            }
            ControlFlow::Continue(())
        };
        let found = visit(&mut program, memory, &Limits::default(), &mut look);
        match program.stopped() {
            None | Some(SearchStop::Raced) => {
                let counts = [complete, deadlocks, blocked, discarded];
                break (found, counts);
            }
            Some(SearchStop::Restart) => program.start_again(),
            Some(SearchStop::Refused(what)) => return println!("\nrefused=== {what}"),
            Some(SearchStop::OutOfTime) => unreachable!("there is no limit"),
        }
    };
    println!("\nexecutions=== {}", complete + deadlocks);
    println!("blocked=== {blocked}");
    println!("deadlocks=== {deadlocks}");
    println!("discarded=== {discarded}");
    println!("finals=== {}", finals.len());
    for finding in &found.findings {
        match finding.failure {
            Failure::Failed { code, .. } => {
                let (message, place) = program.explain(code);
                println!(
                    "failure=== {message} @{}",
                    place.map_or(0, |place| place.line)
                );
            }
            Failure::Race { loc, .. } => {
                println!("failure=== data race on {}", program.name_of(loc))
            }
            Failure::Deadlock => {}
        }
    }
    println!("bounds=== {:?}", found.bounds);
}

const HEAD: &str = "#include <pthread.h>\n#include <stdatomic.h>\n#include <assert.h>\n#include <semaphore.h>\n#include <stdlib.h>\n\
    #define rlx memory_order_relaxed\n#define acq memory_order_acquire\n#define rel memory_order_release\n\
    #define ar memory_order_acq_rel\n#define sc memory_order_seq_cst\n\
    #define L(x, o) atomic_load_explicit(&x, o)\n#define S(x, v, o) atomic_store_explicit(&x, v, o)\n\
    #define A(x, v, o) atomic_fetch_add_explicit(&x, v, o)\n#define FENCE(o) atomic_thread_fence(o)\n#line 1\n";

/// Returns a program whose threads have these bodies. `main` joins the threads and then runs `end`.
fn program(declarations: &str, threads: &[&str], end: &str) -> String {
    let mut text = format!("{HEAD}{declarations}\n");
    let mut main = String::new();
    for (k, body) in threads.iter().enumerate() {
        text += &format!("void *t{k}(void *p) {{ {body} return p; }}\n");
        main += &format!("pthread_create(&t[{k}], 0, t{k}, 0);");
    }
    for k in 0..threads.len() {
        main += &format!("pthread_join(t[{k}], 0);");
    }
    text + &format!(
        "int main(void) {{ pthread_t t[{}]; {main} {end} }}\n",
        threads.len()
    )
}

fn under(memory: &str, source: &str) -> Findings {
    let how = ExploreOptions {
        memory: Some(memory),
        ..ExploreOptions::default()
    };
    explore("t.c", source, how)
}

/// The numbers of execution graphs of a program under rc11 and under sc, and its number of traces,
/// which the engines for interleavings count.
struct Counts {
    rc11: u64,
    sc: u64,
    traces: u64,
}

fn counts_of(source: &str, flags: &[&str]) -> Counts {
    let how = ExploreOptions {
        flags,
        ..ExploreOptions::default()
    };
    let compiled = Compiled::new("t.c", source, &how);
    let count = |memory: Option<&str>| {
        let found = compiled.explore(&ExploreOptions {
            memory,
            ..how.clone()
        });
        assert!(found.is_right(), "{found:?}");
        assert_eq!((found.blocked, found.discarded), (0, 0), "{found:?}");
        found.executions
    };
    Counts {
        rc11: count(Some("rc11")),
        sc: count(Some("sc")),
        traces: count(None),
    }
}

/// Returns the numbers of executions under rc11 and under sc. In these programs no compare-exchange
/// fails, so there are as many traces as graphs under sc.
fn counts(threads: &[&str]) -> (u64, u64) {
    counts_with("atomic_int x, y, z;", threads)
}

fn counts_with(declarations: &str, threads: &[&str]) -> (u64, u64) {
    let found = counts_of(&program(declarations, threads, ""), &[]);
    assert_eq!(found.traces, found.sc, "{threads:?}");
    (found.rc11, found.sc)
}

/// Counts that are published or follow in closed form: executions under rc11 and under sc.
#[test]
fn litmus_tests_have_their_executions() {
    if !has_compiler() {
        return;
    }
    let cases: [(&str, &[&str], (u64, u64)); 21] = [
        (
            "SB",
            &["S(x, 1, rlx); L(y, rlx);", "S(y, 1, rlx); L(x, rlx);"],
            (4, 3),
        ),
        (
            "SB, all sc",
            &["S(x, 1, sc); L(y, sc);", "S(y, 1, sc); L(x, sc);"],
            (3, 3),
        ),
        (
            "SB, sc fences",
            &[
                "S(x, 1, rlx); FENCE(sc); L(y, rlx);",
                "S(y, 1, rlx); FENCE(sc); L(x, rlx);",
            ],
            (3, 3),
        ),
        (
            "LB",
            &["L(x, rlx); S(y, 1, rlx);", "L(y, rlx); S(x, 1, rlx);"],
            (3, 3),
        ),
        (
            "MP, relaxed",
            &["S(x, 1, rlx); S(y, 1, rlx);", "L(y, rlx); L(x, rlx);"],
            (4, 3),
        ),
        (
            "MP, release, acquire",
            &["S(x, 1, rlx); S(y, 1, rel);", "L(y, acq); L(x, rlx);"],
            (3, 3),
        ),
        (
            "MP, fences",
            &[
                "S(x, 1, rlx); FENCE(rel); S(y, 1, rlx);",
                "L(y, rlx); FENCE(acq); L(x, rlx);",
            ],
            (3, 3),
        ),
        (
            "MP, a relaxed store after the release",
            &[
                "S(x, 1, rlx); S(y, 1, rel); S(y, 2, rlx);",
                "L(y, acq); L(x, rlx);",
            ],
            (5, 4),
        ),
        (
            "MP, release sequence",
            &[
                "S(x, 1, rlx); S(y, 1, rel);",
                "A(y, 1, rlx);",
                "L(y, acq); L(x, rlx);",
            ],
            (9, 9),
        ),
        (
            "2+2W",
            &["S(x, 1, rlx); S(y, 2, rlx);", "S(y, 1, rlx); S(x, 2, rlx);"],
            (4, 3),
        ),
        (
            "2+2W, all sc",
            &["S(x, 1, sc); S(y, 2, sc);", "S(y, 1, sc); S(x, 2, sc);"],
            (3, 3),
        ),
        (
            "CoRR",
            &[
                "S(x, 1, rlx);",
                "S(x, 2, rlx);",
                "L(x, rlx); L(x, rlx);",
                "L(x, rlx); L(x, rlx);",
            ],
            (72, 72),
        ),
        (
            "IRIW, acquire then sc",
            &[
                "S(x, 1, sc);",
                "S(y, 1, sc);",
                "L(x, acq); L(y, sc);",
                "L(y, acq); L(x, sc);",
            ],
            (16, 15),
        ),
        (
            "IRIW, all sc",
            &[
                "S(x, 1, sc);",
                "S(y, 1, sc);",
                "L(x, sc); L(y, sc);",
                "L(y, sc); L(x, sc);",
            ],
            (15, 15),
        ),
        (
            "WRC",
            &[
                "S(x, 1, rlx);",
                "L(x, rlx); S(y, 1, rlx);",
                "L(y, rlx); L(x, rlx);",
            ],
            (8, 7),
        ),
        (
            "ISA2",
            &[
                "S(x, 1, rlx); S(y, 1, rel);",
                "L(y, acq); S(z, 1, rel);",
                "L(z, acq); L(x, rlx);",
            ],
            (7, 7),
        ),
        (
            "Z6.U",
            &[
                "S(x, 1, sc); S(y, 1, rel);",
                "A(y, 1, sc); L(y, rlx);",
                "S(y, 3, sc); L(x, sc);",
            ],
            (22, 18),
        ),
        (
            "WWmerge1",
            &[
                "L(x, acq); L(y, sc);",
                "S(x, 1, sc); S(x, 2, sc);",
                "S(y, 1, sc); L(x, sc);",
            ],
            (17, 15),
        ),
        (
            "SB+rfis",
            &[
                "S(x, 1, rel); L(x, sc); L(y, sc);",
                "S(y, 1, rel); L(y, sc); L(x, sc);",
            ],
            (4, 3),
        ),
        ("ainc", &["A(x, 1, rlx);"; 4], (24, 24)),
        (
            "readers",
            &["S(x, 1, rel);", "L(x, acq);", "L(x, acq);", "L(x, acq);"],
            (8, 8),
        ),
    ];
    for (name, threads, figures) in cases {
        assert_eq!(counts(threads), figures, "{name}");
    }
}

/// One release store of 2, and this number of threads that exchange it for 3. A failing exchange is
/// a read in a graph, but counts as a write in a trace, so the numbers of graphs and traces differ.
fn wcas(threads: usize) -> (u64, u64) {
    let exchange = "int e = 2; atomic_compare_exchange_strong_explicit(&x, &e, 3, rlx, rlx);";
    let mut all = vec!["S(x, 2, rel);"];
    all.resize(threads + 1, exchange);
    let found = counts_of(&program("atomic_int x;", &all, ""), &[]);
    (found.rc11, found.sc)
}

fn inc(threads: usize) -> (u64, u64) {
    counts(&vec!["int r = L(x, rlx); S(x, r + 1, rel);"; threads])
}

fn ainc(threads: usize) -> (u64, u64) {
    counts(&vec!["A(x, 1, rlx);"; threads])
}

/// Returns the bodies of two threads: one repeats `x += y`, the other `y += x`.
fn additions(rounds: usize) -> [String; 2] {
    let one = "S(x, L(x, acq) + L(y, acq), rel);".repeat(rounds);
    [one, "S(y, L(y, acq) + L(x, acq), rel);".repeat(rounds)]
}

fn fib(rounds: usize) -> (u64, u64) {
    let [one, other] = additions(rounds);
    counts(&[&one, &other])
}

/// `fib` with a thread that reads both variables.
fn fib_bench(rounds: usize) -> (u64, u64) {
    let [one, other] = additions(rounds);
    let look = "if (L(x, acq) <= 144) L(y, acq);";
    counts_with("atomic_int x = 1, y = 1;", &[&one, &other, look])
}

fn lockinc(threads: usize) -> (u64, u64) {
    let body = "pthread_mutex_lock(&m); n++; pthread_mutex_unlock(&m);";
    let declared = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int n;";
    counts_with(declared, &vec![body; threads])
}

/// Returns the numbers of executions of a program of `peers/c` under rc11 and under sc. Where the
/// program leaves its memory orders open, loads acquire and stores release.
fn peer(name: &str, threads: usize) -> (u64, u64) {
    let path = format!("{}/../../peers/c/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).expect("a program of peers/c");
    let number = format!("-DN={threads}");
    let orders = [
        "-DACQUIRE=memory_order_acquire",
        "-DRELEASE=memory_order_release",
    ];
    let found = counts_of(&source, &[&number, orders[0], orders[1]]);
    assert_eq!(found.traces, found.sc, "{name} {threads}");
    (found.rc11, found.sc)
}

fn both(figure: u64) -> (u64, u64) {
    (figure, figure)
}

/// Larger programs whose counts are published or follow in closed form.
#[test]
fn programs_have_their_executions() {
    if !has_compiler() {
        return;
    }
    for (threads, figure) in [(2, 5), (3, 13), (5, 81), (6, 193)] {
        assert_eq!(wcas(threads), both(figure), "wcas {threads}");
    }
    for (threads, figure) in [(2, 4), (3, 36), (4, 576)] {
        assert_eq!(inc(threads), both(figure), "inc {threads}");
    }
    assert_eq!(ainc(5), both(120));
    assert_eq!(
        [fib(2), fib(3), fib(4)],
        [(20, 19), (175, 141), (1764, 1107)]
    );
    assert_eq!([lockinc(2), lockinc(4), lockinc(5)], [2, 24, 120].map(both));
    assert_eq!(peer("readers", 4), both(16));
    assert_eq!(
        [peer("lastzero", 5), peer("lastzero", 10)],
        [64, 3328].map(both)
    );
    assert_eq!(peer("indexer", 12), both(8));
    let peterson = |me: usize| {
        let other = 1 - me;
        format!(
            "S(f{me}, 1, rel); S(turn, {other}, rel);
             __VERIFIER_assume(!(L(f{other}, acq) && L(turn, acq) == {other}));
             S(x, {me}, rel); L(x, acq); S(f{me}, 0, rel);"
        )
    };
    let declared = "atomic_int f0, f1, turn, x; void __VERIFIER_assume(int);";
    let source = program(declared, &[&peterson(0), &peterson(1)], "");
    for (memory, figures) in [("rc11", (22, 8)), ("sc", (4, 6))] {
        let found = under(memory, &source);
        assert_eq!((found.executions, found.discarded), figures, "{found:?}");
    }
}

/// The largest programs whose counts are published or follow in closed form.
#[test]
#[ignore = "long: minutes"]
fn long_figures() {
    if !has_compiler() {
        return;
    }
    for (threads, figure) in [(4, 33), (7, 449), (8, 1025), (9, 2305)] {
        assert_eq!(wcas(threads), both(figure), "wcas {threads}");
    }
    for (threads, figure) in [(6, 720), (7, 5040)] {
        assert_eq!(ainc(threads), both(figure), "ainc {threads}");
        assert_eq!(lockinc(threads), both(figure), "lockinc {threads}");
    }
    assert_eq!(peer("readers", 10), both(1024));
    assert_eq!(peer("lastzero", 15), both(147_456));
    assert_eq!(peer("indexer", 15), both(4096));
    assert_eq!(fib_bench(5), (525_630, 218_243));
}

/// Returns what the search finds for these threads under rc11.
fn weak(declarations: &str, threads: &[&str], end: &str) -> Findings {
    under("rc11", &program(declarations, threads, end))
}

#[test]
fn races_and_stale_values_are_found() {
    if !has_compiler() {
        return;
    }
    let pass = |store: &str, load: &str| {
        let write = format!("d = 1; S(f, 1, {store});");
        let read = format!("if (L(f, {load})) assert(d == 1);");
        weak("int d; atomic_int f;", &[&write, &read], "")
    };
    assert!(pass("rel", "acq").is_right());
    for found in [pass("rlx", "acq"), pass("rel", "rlx")] {
        assert!(found.says("data race on d"), "{found:?}");
    }
    let buffer = |order: &str| {
        let one = format!("S(x, 1, {order}); a = L(y, {order});");
        let other = format!("S(y, 1, {order}); b = L(x, {order});");
        weak(
            "atomic_int x, y; int a, b;",
            &[&one, &other],
            "assert(a || b);",
        )
    };
    assert!(buffer("sc").is_right());
    assert!(
        buffer("ar").says("assertion `a || b` failed"),
        "{:?}",
        buffer("ar")
    );
    // Adjacent bytes, and a copy of all of them.
    let parts = weak(
        "char c[8], all[8]; void *memcpy(void *, const void *, unsigned long);",
        &["c[0] = 1;", "c[1] = 2;"],
        "memcpy(all, c, 8); assert(all[0] == 1 && all[1] == 2);",
    );
    assert!(parts.is_right(), "{parts:?}");
    let copied = weak(
        "char c[8], all[8]; void *memcpy(void *, const void *, unsigned long);",
        &["c[3] = 1;", "memcpy(all, c, 8);"],
        "",
    );
    assert!(copied.says("data race on c"), "{copied:?}");
    // Plain code reads the last of two relaxed stores.
    let mixed = weak(
        "atomic_int x; int y; void *memcpy(void *, const void *, unsigned long);",
        &["S(x, 1, rlx);", "S(x, 2, rlx);"],
        "memcpy(&y, (void *)&x, 4); assert(y == L(x, rlx) && y != 0);",
    );
    assert!(mixed.is_right() && mixed.executions == 2, "{mixed:?}");
    // A thread initialises a block with an atomic in it, and then publishes the block.
    let made = weak(
        "struct s { int n; atomic_int x; } *p; atomic_int ready; struct s *_Atomic q;",
        &[
            "struct s *m = malloc(sizeof *m); m->n = 5; S(m->x, 3, rlx); S(q, m, rel);",
            "struct s *m = L(q, acq); if (m) { assert(m->n == 5 && A(m->x, 1, rlx) == 3); free(m); }",
        ],
        "",
    );
    assert!(made.is_right() && made.executions == 2, "{made:?}");
    let freed = weak(
        "int *block; void __attribute__((constructor)) init(void) { block = malloc(4); }",
        &["*block = 1;", "free(block);"],
        "",
    );
    assert!(freed.says("data race"), "{freed:?}");
}

#[test]
fn objects_synchronise() {
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
    let abba = weak(locks, &[&take("m", "n"), &take("n", "m")], "");
    assert_eq!((abba.executions, abba.deadlocks), (3, 1), "{abba:?}");
    let condition = "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\
        pthread_cond_t c = PTHREAD_COND_INITIALIZER; int ready;";
    let tell =
        "pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);";
    let right = "pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);";
    let wrong = "pthread_mutex_lock(&m); int r = ready; pthread_mutex_unlock(&m);\
        if (!r) { pthread_mutex_lock(&m); pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); }";
    let waits = weak(condition, &[right, tell], "assert(ready);");
    assert!(waits.is_right() && waits.executions == 2, "{waits:?}");
    let lost = weak(condition, &[wrong, tell], "");
    assert!(lost.deadlocks > 0 && lost.failures.is_empty(), "{lost:?}");
    let all = tell.replace("signal", "broadcast");
    let both = weak(condition, &[right, right, &all], "");
    assert!(both.is_right(), "{both:?}");
    let semaphore =
        "sem_t s; int x; void __attribute__((constructor)) init(void) { sem_init(&s, 0, 0); }";
    let handed = weak(
        semaphore,
        &["x = 1; sem_post(&s);", "sem_wait(&s); assert(x == 1);"],
        "",
    );
    assert!(handed.is_right(), "{handed:?}");
    let early = weak(
        semaphore,
        &["sem_post(&s); x = 1;", "sem_wait(&s); x = 2;"],
        "",
    );
    assert!(early.says("data race on x"), "{early:?}");
    let rw = "pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER; int x;";
    let writer = "pthread_rwlock_wrlock(&l); x++; pthread_rwlock_unlock(&l);";
    let reader = "pthread_rwlock_rdlock(&l); int r = x; pthread_rwlock_unlock(&l); assert(r < 2);";
    assert!(weak(rw, &[writer, reader, reader], "assert(x == 1);").is_right());
    let barrier = "pthread_barrier_t b; int x, y; void __attribute__((constructor)) init(void) { pthread_barrier_init(&b, 0, 2); }";
    let meet = weak(
        barrier,
        &[
            "x = 1; pthread_barrier_wait(&b); assert(y == 1);",
            "y = 1; pthread_barrier_wait(&b); assert(x == 1);",
        ],
        "",
    );
    assert!(meet.is_right(), "{meet:?}");
    let once = "pthread_once_t o = PTHREAD_ONCE_INIT; int n; void init(void) { n++; }";
    let call = "pthread_once(&o, init); assert(n == 1);";
    let onced = weak(once, &[call, call], "assert(n == 1);");
    assert!(onced.is_right(), "{onced:?}");
    let tried = weak(
        "pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER; int x;",
        &[
            "if (!pthread_mutex_trylock(&m)) { x++; pthread_mutex_unlock(&m); }",
            "pthread_mutex_lock(&m); x++; pthread_mutex_unlock(&m);",
        ],
        "assert(x == 2);",
    );
    assert!(tried.says("assertion `x == 2` failed"), "{tried:?}");
    let unlocked = weak(locks, &["pthread_mutex_unlock(&m);"], "");
    assert!(
        unlocked.says("unlocks a mutex that it does not hold"),
        "{unlocked:?}"
    );
}

#[test]
fn loops_that_spin_await_another_value() {
    if !has_compiler() {
        return;
    }
    let flag = "atomic_int flag; int data;";
    let handed = weak(
        flag,
        &[
            "while (!L(flag, acq)) ; assert(data == 1);",
            "data = 1; S(flag, 1, rel);",
        ],
        "",
    );
    assert!(handed.is_right(), "{handed:?}");
    let never = weak(flag, &["while (!L(flag, acq)) ;", "data = 1;"], "");
    assert_eq!(never.deadlocks, 1, "{never:?}");
    let lock = "while (atomic_exchange_explicit(&flag, 1, acq)) ; data++; S(flag, 0, rel);";
    let spinlock = weak(flag, &[lock, lock], "assert(data == 2);");
    assert!(spinlock.is_right(), "{spinlock:?}");
    let relaxed = lock.replace("rel", "rlx");
    let broken = weak(flag, &[&relaxed, &relaxed], "assert(data == 2);");
    assert!(broken.says("data race on data"), "{broken:?}");
    let peterson = |order: &str| {
        let thread = |me: usize| {
            let other = 1 - me;
            format!(
                "S(f{me}, 1, {order}); S(turn, {other}, {order});
                 while (L(f{other}, {order}) && L(turn, {order}) == {other}) ;
                 data = {me}; assert(data == {me}); S(f{me}, 0, {order});"
            )
        };
        weak(
            "atomic_int f0, f1, turn; int data;",
            &[&thread(0), &thread(1)],
            "",
        )
    };
    assert!(peterson("sc").is_right(), "{:?}", peterson("sc"));
    let broken = weak(
        "atomic_int f0, f1; int data;",
        &[
            "S(f0, 1, rel); if (!L(f1, acq)) data = 1;",
            "S(f1, 1, rel); if (!L(f0, acq)) data = 2;",
        ],
        "",
    );
    assert!(broken.says("data race on data"), "{broken:?}");
}

#[test]
fn what_no_model_has_is_refused() {
    if !has_compiler() {
        return;
    }
    let refused = |declarations: &str, body: &str| {
        let found = weak(declarations, &[body, body], "");
        found.refused.expect("refused")
    };
    let sections = "void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void); int x;";
    let body = "__VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end();";
    assert!(refused(sections, body).contains("atomic sections"));
    let sizes = "union { atomic_int whole; _Atomic char part; } u;";
    let body = "S(u.whole, 1, rlx); S(u.part, 1, rlx);";
    assert!(refused(sizes, body).contains("different sizes"));
}
