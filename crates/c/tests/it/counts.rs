//! Programs whose numbers of executions are known from publications or from the same programs in
//! `corpus/maz`.

use crate::support::{ExploreOptions, explore, has_compiler};

#[test]
fn a_load_and_an_update_have_two_orders() {
    if !has_compiler() {
        return;
    }
    let source = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <assert.h>
atomic_int x; int y;
void *f(void *a) { atomic_fetch_add(&x, 1); y++; return a; }
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, f, 0);
    int r = atomic_load(&x);
    pthread_join(t, 0);
    assert(r == 0 && y == 1);
    return 0;
}
"#;
    let found = explore("two.c", source, ExploreOptions::default());
    assert_eq!((found.executions, found.blocked), (2, 0), "{found:?}");
    assert_eq!(
        found.failures,
        ["main: assertion `r == 0 && y == 1` failed @12"]
    );
}

/// Explores a program of `peers/c`, compiled with these definitions. Returns the numbers of its
/// executions and of its deadlocks.
fn peer(name: &str, flags: &[&str]) -> (u64, u64) {
    let path = format!("{}/../../peers/c/{name}", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(path).expect("a program of peers/c");
    let found = explore(
        name,
        &source,
        ExploreOptions {
            flags,
            ..ExploreOptions::default()
        },
    );
    assert_eq!(
        (found.blocked, &*found.bounds),
        (0, "[]"),
        "{name} {flags:?}"
    );
    assert_eq!(found.failures, [""; 0], "{name} {flags:?}");
    (found.executions, found.deadlocks)
}

/// The counts are those of the same programs in `corpus/maz`.
#[test]
fn programs_have_the_executions_of_their_models() {
    if !has_compiler() {
        return;
    }
    let all: [(&str, &[&str], (u64, u64)); 14] = [
        ("writers.c", &["-DN=3"], (6, 0)),
        ("writers.c", &["-DN=6"], (720, 0)),
        ("readers.c", &["-DN=4"], (16, 0)),
        ("readers.c", &["-DN=8"], (256, 0)),
        ("fib.c", &["-DN=2"], (19, 0)),
        ("fib.c", &["-DN=4"], (1107, 0)),
        ("lastzero.c", &["-DN=4"], (28, 0)),
        ("lastzero.c", &["-DN=8"], (704, 0)),
        ("indexer.c", &["-DN=12"], (8, 0)),
        ("filesystem.c", &["-DN=16"], (8, 0)),
        ("filesystem.c", &["-DN=2", "-DBLOCKS=2"], (2, 0)),
        ("philosophers.c", &["-DN=2", "-DEATS=2"], (11, 5)),
        ("philosophers.c", &["-DN=3", "-DEATS=2"], (106, 16)),
        ("philosophers.c", &["-DN=4", "-DEATS=2"], (831, 45)),
    ];
    for (name, flags, figures) in all {
        assert_eq!(peer(name, flags), figures, "{name} {flags:?}");
    }
}
