//! Programs in the style of SV-COMP: races are allowed, and plain accesses that race are steps.

use crate::support::{ExploreOptions, Findings, explore, has_compiler};

const HEAD: &str = "#include <pthread.h>\n#include <assert.h>\nextern void __VERIFIER_atomic_begin(void), __VERIFIER_atomic_end(void), __VERIFIER_assume(int);\nextern int __VERIFIER_nondet_int(void);\n#line 1\n";

fn two(declarations: &str, one: &str, two: &str, end: &str) -> Findings {
    let source = format!(
        "{HEAD}{declarations}\nvoid *f(void *p) {{\n{one}\nreturn p; }}\nvoid *g(void *p) {{\n{two}\nreturn p; }}\n\
         int main(void) {{ pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);\n\
         pthread_join(a, 0); pthread_join(b, 0); {end} return 0; }}"
    );
    let how = ExploreOptions {
        allow_races: true,
        nondet: Some(("int", 0, 2)),
        ..ExploreOptions::default()
    };
    explore("t.c", &source, how)
}

#[test]
fn plain_variables_are_explored_like_atomics() {
    if !has_compiler() {
        return;
    }
    let fib = two(
        "int i = 1, j = 1;",
        "for (int k = 0; k < 2; k++) i += j;",
        "for (int k = 0; k < 2; k++) j += i;",
        "assert(i < 8 && j < 8);",
    );
    // The number of executions of `fib` with N = 2. The assertion comes after the joins, so it adds
    // none.
    assert_eq!(fib.executions, 19, "{fib:?}");
    assert!(fib.says("assertion"), "{fib:?}");
    let right = two(
        "int i = 1, j = 1;",
        "for (int k = 0; k < 2; k++) i += j;",
        "for (int k = 0; k < 2; k++) j += i;",
        "assert(i <= 8 && j <= 8);",
    );
    assert!(right.is_right(), "{right:?}");
    let counter = two("int x;", "x++;", "x++;", "assert(x == 2);");
    assert!(counter.says("assertion `x == 2` failed"), "{counter:?}");
    let atomic = "__VERIFIER_atomic_begin(); x++; __VERIFIER_atomic_end();";
    let counted = two("int x;", atomic, atomic, "assert(x == 2);");
    assert!(counted.is_right(), "{counted:?}");
    assert_eq!(counted.executions, 2);
}

/// Plain reads of a variable that another thread writes atomically are steps, whichever comes first
/// in the first execution.
#[test]
fn plain_accesses_race_with_atomic_ones() {
    if !has_compiler() {
        return;
    }
    let (writes, reads) = ("__atomic_store_n(&x, 1, 5);", "r1 = x; r2 = x;");
    for (one, other) in [(writes, reads), (reads, writes)] {
        let found = two("int x, r1, r2;", one, other, "assert(r1 == r2);");
        assert!(found.says("assertion `r1 == r2` failed"), "{found:?}");
        assert_eq!(found.executions, 3, "{found:?}");
    }
}

/// A call of the C library that makes two accesses is no loop.
#[test]
fn functions_of_the_library_race_by_steps() {
    if !has_compiler() {
        return;
    }
    let lengths = |assertion: &str| {
        let declared = "#include <string.h>\n#line 2\nchar s[8] = \"abc\"; int n, k;";
        let reads = "n = strlen(s); k = strlen(s);";
        two(declared, "s[1] = 0; s[0] = 0;", reads, assertion)
    };
    for (n, k) in [(3, 3), (3, 1), (3, 0), (1, 1), (1, 0), (0, 0)] {
        let found = lengths(&format!("assert(n != {n} || k != {k});"));
        assert!(found.says("assertion"), "{n} {k}: {found:?}");
        assert_eq!(found.deadlocks, 0, "{n} {k}: {found:?}");
    }
    let never = lengths("assert(n >= k && n != 2 && k != 2);");
    assert!(never.is_right(), "{never:?}");
    // `y` is 0 in the end only if both writes come between the two accesses of `memcpy`.
    let declared = "#include <string.h>\nint x, y;";
    let copied = two(
        declared,
        "x = 1; y = 2;",
        "memcpy(&y, &x, 4);",
        "assert(y != 0);",
    );
    assert!(copied.says("assertion"), "{copied:?}");
    let across = "struct __attribute__((packed)) { char a[6]; int x; } s;";
    let refused = two(across, "s.x = 1;", "((char *)&s)[9] = 1;", "");
    let why = refused.refused.as_deref().unwrap_or_default();
    assert!(why.contains("across a boundary"), "{refused:?}");
}

#[test]
fn mutual_exclusion_by_plain_variables() {
    if !has_compiler() {
        return;
    }
    let variables = "int flag[2], turn, x;";
    let peterson = |me: usize, waits: bool| {
        let other = 1 - me;
        let wait = if waits {
            format!("while (flag[{other}] && turn == {other}) ;")
        } else {
            String::new()
        };
        format!(
            "flag[{me}] = 1; turn = {other}; {wait} x = {me}; assert(x == {me}); flag[{me}] = 0;"
        )
    };
    let right = two(variables, &peterson(0, true), &peterson(1, true), "");
    assert!(right.is_right(), "{right:?}");
    let wrong = two(variables, &peterson(0, false), &peterson(1, true), "");
    assert!(wrong.says("assertion `x == "), "{wrong:?}");
}

#[test]
fn values_that_are_not_known_are_all_tried() {
    if !has_compiler() {
        return;
    }
    let found = two(
        "int x;",
        "int n = __VERIFIER_nondet_int(); __VERIFIER_assume(n != 1); x = n;",
        "",
        "assert(x != 2);",
    );
    assert_eq!((found.executions, found.discarded), (2, 1), "{found:?}");
    assert!(found.says("assertion `x != 2` failed"), "{found:?}");
}

/// The types with few values need no range.
#[test]
fn all_values_of_a_small_type_are_tried() {
    if !has_compiler() {
        return;
    }
    let source = format!(
        "{HEAD}unsigned char __VERIFIER_nondet_uchar(void);\n\
         int main(void) {{ int n = __VERIFIER_nondet_uchar(); assert(n * n != 49); return 0; }}"
    );
    let found = explore("t.c", &source, ExploreOptions::default());
    assert_eq!(found.executions, 256, "{found:?}");
    assert!(found.says("assertion `n * n != 49` failed"), "{found:?}");
}

#[test]
fn names_of_cxx_are_those_of_the_source() {
    if !has_compiler() {
        return;
    }
    let source = "#include <thread>\nnamespace bank {\n\
        struct Account { int balance = 0; __attribute__((noinline)) void pay(int by) { balance += by; } };\n\
        Account account; }\n\
        int main() { std::thread t([] { bank::account.pay(1); }); bank::account.pay(2); t.join(); }\n";
    let found = explore("bank.cpp", source, ExploreOptions::default());
    let words = "data race on `bank::account`: it is read in bank::Account::pay (bank.cpp:3)";
    assert!(found.says(words), "{found:?}");
}

#[test]
fn a_program_in_cxx_works() {
    if !has_compiler() {
        return;
    }
    let source = r#"
#include <atomic>
#include <cassert>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Queue {
    std::mutex mutex;
    std::condition_variable ready;
    std::vector<int> items;
    void push(int item) {
        std::lock_guard<std::mutex> guard(mutex);
        items.push_back(item);
        ready.notify_one();
    }
    int pop() {
        std::unique_lock<std::mutex> guard(mutex);
        ready.wait(guard, [this] { return !items.empty(); });
        int item = items.back();
        items.pop_back();
        return item;
    }
};

int main() {
    auto queue = std::make_shared<Queue>();
    std::atomic<int> sum{0};
    std::thread consumer([queue, &sum] { sum += queue->pop(); });
    std::thread producer([queue] { queue->push(WHAT); });
    consumer.join();
    producer.join();
    assert(sum == 5);
    return 0;
}
"#;
    for (what, right) in [("-DWHAT=5", true), ("-DWHAT=6", false)] {
        let how = ExploreOptions {
            flags: &[what],
            ..ExploreOptions::default()
        };
        let found = explore("queue.cpp", source, how);
        assert_eq!(found.is_right(), right, "{found:?}");
        assert!(found.executions >= 2, "{found:?}");
    }
}
