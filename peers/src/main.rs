//! Runs the same programs under mazurka-rt, loom and shuttle, and prints the number of executions
//! and the CPU time of one execution.
//!
//! `cargo run --release --manifest-path peers/Cargo.toml`; `-- ours` runs only mazurka-rt; `--
//! NAME` runs only the program of this name. Every time is the median of several repetitions, in
//! one run of one binary. A repetition makes as many searches as fit into a millisecond, at least
//! one. The time includes the preparations of a search before its first execution. The closure of a
//! program counts its runs, which are the executions. A search that is cut at [`MOST`] executions
//! is marked.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use cpu_time::ProcessTime;

/// Number of executions after which a search is cut, so that loom and shuttle do not take too long.
const MOST: u64 = 20_000;
const REPETITIONS: usize = 5;
/// Minimum CPU time of a repetition: one search of a small program is shorter than the
/// resolution of the clock.
const LEAST: Duration = Duration::from_millis(1);

static RUNS: AtomicU64 = AtomicU64::new(0);

macro_rules! programs {
    ($tool:ident $file:literal) => {
        pub mod $tool {
            use $tool::{sync, thread};
            include!($file);
        }
    };
}

mod under {
    programs!(mazurka_rt "../../crates/rt/tests/programs/mod.rs");
    programs!(loom "../../crates/rt/tests/programs/mod.rs");
    programs!(shuttle "../../crates/rt/tests/programs/mod.rs");
}

/// Programs with weaker orderings, which shuttle does not support.
mod weakly {
    programs!(mazurka_rt "../../crates/rt/tests/programs/weak.rs");
    programs!(loom "../../crates/rt/tests/programs/weak.rs");
}

type Program = fn(usize);

/// The number of executions of a search, the CPU time of one of them, and whether the search was
/// cut.
struct Figure {
    executions: u64,
    each: Duration,
    cut: bool,
}

/// Wraps a program so that it counts its runs.
fn counted(program: Program, n: usize) -> impl Fn() + Send + Sync + 'static {
    move || {
        RUNS.fetch_add(1, Relaxed);
        program(n);
    }
}

fn measure(mut search: impl FnMut()) -> Figure {
    let mut times = Vec::new();
    let mut executions = 0;
    for _ in 0..REPETITIONS {
        RUNS.store(0, Relaxed);
        let start = ProcessTime::now();
        let mut searches = 0;
        while searches == 0 || start.elapsed() < LEAST {
            search();
            searches += 1;
        }
        let time = start.elapsed();
        let runs = RUNS.load(Relaxed);
        executions = runs / searches;
        times.push(time / runs.max(1) as u32);
        if time > Duration::from_secs(5) {
            break;
        }
    }
    times.sort();
    Figure {
        executions,
        each: times[times.len() / 2],
        // loom stops one execution short of its limit.
        cut: executions + 1 >= MOST,
    }
}

fn mazurka(program: Program, n: usize) -> Figure {
    let builder = mazurka_rt::Builder {
        quiet: true,
        max_executions: Some(MOST),
        ..mazurka_rt::Builder::default()
    };
    let mut told = 0;
    let figure = measure(|| told = builder.check(counted(program, n)).executions);
    assert_eq!(told, figure.executions, "no execution is run twice");
    figure
}

/// Measures mazurka-rt under C++20's orderings. Abandoned runs add to the time, but are not counted
/// as executions.
fn mazurka_weakly(program: Program, n: usize) -> Figure {
    let builder = mazurka_rt::Builder {
        quiet: true,
        ..mazurka_rt::Builder::default()
    };
    let builder = builder.memory(mazurka_rt::Memory::Rc11);
    let mut told = 0;
    let figure = measure(|| told = builder.check(counted(program, n)).executions);
    let runs = figure.executions as f64;
    Figure {
        executions: told,
        each: figure.each.mul_f64(runs / told as f64),
        cut: false,
    }
}

fn loom(program: Program, n: usize, threads: usize) -> Option<Figure> {
    // loom supports at most five threads, including the main one.
    (threads < 5).then(|| {
        measure(|| {
            let mut builder = loom::model::Builder::new();
            builder.max_permutations = Some(MOST as usize);
            builder.check(counted(program, n));
        })
    })
}

fn shuttle(program: Program, n: usize) -> Figure {
    measure(|| shuttle::check_dfs(counted(program, n), Some(MOST as usize)))
}

fn show(figure: Option<Figure>) -> String {
    match figure {
        None => format!("{:>9} {:>10}", "-", "-"),
        Some(Figure {
            executions,
            each,
            cut,
        }) => {
            let more = if cut { ">" } else { "" };
            let each = each.as_nanos() as f64 / 1000.0;
            format!("{:>9} {each:>7.1} µs", format!("{more}{executions}"))
        }
    }
}

fn main() {
    println!(
        "executions, and CPU time for each (median of {REPETITIONS}); >: cut; -: not possible"
    );
    println!(
        "{:14}{:^20}  {:^20}  {:^20}",
        "", "mazurka-rt", "loom", "shuttle (DFS)"
    );
    // The name of a program, the program under each tool, the number of threads that it starts for
    // a size, and the sizes.
    type Row = (
        &'static str,
        [Program; 3],
        fn(usize) -> usize,
        RangeInclusive<usize>,
    );
    macro_rules! row {
        ($name:ident, $threads:expr, $sizes:expr) => {
            (
                stringify!($name),
                [
                    under::mazurka_rt::$name,
                    under::loom::$name,
                    under::shuttle::$name,
                ],
                $threads,
                $sizes,
            )
        };
    }
    let rows: [Row; 6] = [
        row!(readers, |n| n + 1, 2..=10),
        row!(stores, |n| n, 2..=6),
        row!(fib, |_| 2, 1..=4),
        row!(pairs, |n| 2 * n, 1..=6),
        row!(locks, |n| n, 2..=5),
        row!(counter, |n| n, 2..=3),
    ];
    let alone = std::env::args().any(|argument| argument == "ours");
    let wanted = std::env::args().skip(1).find(|argument| argument != "ours");
    let wanted = |name: &str| wanted.as_deref().is_none_or(|it| it == name);
    for (name, [ours, looms, shuttles], threads, sizes) in rows {
        if !wanted(name) {
            continue;
        }
        for n in sizes {
            print!(
                "{:14}{}",
                format!("{name}({n})"),
                show(Some(mazurka(ours, n)))
            );
            if !alone {
                print!("  {}", show(loom(looms, n, threads(n))));
                print!("  {}", show(Some(shuttle(shuttles, n))));
            }
            println!();
        }
    }
    println!("\nC++20's orderings");
    macro_rules! weak {
        ($name:ident, $threads:expr, $sizes:expr) => {
            (
                stringify!($name),
                [weakly::mazurka_rt::$name, weakly::loom::$name],
                $threads,
                &$sizes,
            )
        };
    }
    type WeakRow = (
        &'static str,
        [Program; 2],
        fn(usize) -> usize,
        &'static [usize],
    );
    let rows: [WeakRow; 6] = [
        weak!(sb, |_| 2, [0]),
        weak!(mp, |_| 2, [0]),
        weak!(ainc, |n| n, [2, 3, 4, 7]),
        weak!(fib, |_| 2, [1, 2, 3, 4]),
        weak!(lastzero, |n| n + 1, [2, 3, 10, 15]),
        weak!(treiber, |n| n, [2, 3, 4]),
    ];
    for (name, [ours, looms], threads, sizes) in rows {
        if !wanted(name) {
            continue;
        }
        for &n in sizes {
            let row = format!("{name}({n})");
            print!("{row:14}{}", show(Some(mazurka_weakly(ours, n))));
            if !alone {
                print!("  {}", show(loom(looms, n, threads(n))));
            }
            println!();
        }
    }
}
