//! The same programs under mazurka-rt, loom and shuttle: executions, and CPU time for each of them.
//!
//! `cargo run --release --manifest-path peers/Cargo.toml`. Every figure is the median of several repetitions, in one run of
//! one binary. Executions are counted by the closure itself. A search that is cut at [`MOST`] executions is marked.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use cpu_time::ProcessTime;

/// Where a search is cut: the others need not be waited for.
const MOST: u64 = 20_000;
const REPETITIONS: usize = 5;

static RUNS: AtomicU64 = AtomicU64::new(0);

/// The programs, for one of the tools.
macro_rules! programs {
    ($tool:ident) => {
        pub mod $tool {
            use $tool::sync::atomic::{AtomicUsize, Ordering::SeqCst};
            use $tool::sync::{Arc, Mutex};
            use $tool::thread;

            /// One writer and so many readers.
            pub fn readers(n: usize) {
                super::RUNS.fetch_add(1, super::Relaxed);
                let x = Arc::new(AtomicUsize::new(0));
                let writer = {
                    let x = x.clone();
                    thread::spawn(move || x.store(1, SeqCst))
                };
                let all: Vec<_> = (0..n)
                    .map(|_| {
                        let x = x.clone();
                        thread::spawn(move || x.load(SeqCst))
                    })
                    .collect();
                writer.join().unwrap();
                for one in all {
                    assert!(one.join().unwrap() <= 1);
                }
                assert_eq!(x.load(SeqCst), 1);
            }

            /// So many threads store to one atomic.
            pub fn stores(n: usize) {
                super::RUNS.fetch_add(1, super::Relaxed);
                let x = Arc::new(AtomicUsize::new(0));
                let all: Vec<_> = (1..=n)
                    .map(|k| {
                        let x = x.clone();
                        thread::spawn(move || x.store(k, SeqCst))
                    })
                    .collect();
                for one in all {
                    one.join().unwrap();
                }
                assert!(x.load(SeqCst) >= 1);
            }

            /// i += j beside j += i, so many times.
            pub fn fib(n: usize) {
                super::RUNS.fetch_add(1, super::Relaxed);
                let i = Arc::new(AtomicUsize::new(1));
                let j = Arc::new(AtomicUsize::new(1));
                let add = |to: &Arc<AtomicUsize>, from: &Arc<AtomicUsize>| {
                    let (to, from) = (to.clone(), from.clone());
                    thread::spawn(move || {
                        for _ in 0..n {
                            let sum = to.load(SeqCst) + from.load(SeqCst);
                            to.store(sum, SeqCst);
                        }
                    })
                };
                let (one, other) = (add(&i, &j), add(&j, &i));
                one.join().unwrap();
                other.join().unwrap();
                assert!(i.load(SeqCst) >= 2 && j.load(SeqCst) >= 2);
            }

            /// So many pairs of threads, each with an atomic of its own.
            pub fn pairs(n: usize) {
                super::RUNS.fetch_add(1, super::Relaxed);
                let mut all = Vec::new();
                for _ in 0..n {
                    let x = Arc::new(AtomicUsize::new(0));
                    for k in 1..=2 {
                        let x = x.clone();
                        all.push(thread::spawn(move || x.store(k, SeqCst)));
                    }
                }
                for one in all {
                    one.join().unwrap();
                }
            }

            /// So many threads take two locks in the same order.
            pub fn locks(n: usize) {
                super::RUNS.fetch_add(1, super::Relaxed);
                let (a, b) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
                let all: Vec<_> = (0..n)
                    .map(|_| {
                        let (a, b) = (a.clone(), b.clone());
                        thread::spawn(move || {
                            let mut a = a.lock().unwrap();
                            let mut b = b.lock().unwrap();
                            *a += 1;
                            *b += 1;
                        })
                    })
                    .collect();
                for one in all {
                    one.join().unwrap();
                }
                assert_eq!((*a.lock().unwrap(), *b.lock().unwrap()), (n, n));
            }

            /// So many threads increment a counter under a mutex, twice.
            pub fn counter(n: usize) {
                super::RUNS.fetch_add(1, super::Relaxed);
                let counter = Arc::new(Mutex::new(0));
                let all: Vec<_> = (0..n)
                    .map(|_| {
                        let counter = counter.clone();
                        thread::spawn(move || {
                            for _ in 0..2 {
                                *counter.lock().unwrap() += 1;
                            }
                        })
                    })
                    .collect();
                for one in all {
                    one.join().unwrap();
                }
                assert_eq!(*counter.lock().unwrap(), 2 * n);
            }
        }
    };
}

mod under {
    use super::{RUNS, Relaxed};
    programs!(mazurka_rt);
    programs!(loom);
    programs!(shuttle);
}

type Program = fn(usize);

/// Executions and CPU time for one, or why there is nothing to say.
struct Figure {
    executions: u64,
    each: Duration,
    cut: bool,
}

fn measure(mut explore: impl FnMut() -> u64) -> Figure {
    let mut times = Vec::new();
    let mut executions = 0;
    for _ in 0..REPETITIONS {
        RUNS.store(0, Relaxed);
        let start = ProcessTime::now();
        let told = explore();
        let time = start.elapsed();
        executions = if told > 0 { told } else { RUNS.load(Relaxed) };
        times.push(time / executions.max(1) as u32);
        if time > Duration::from_secs(5) {
            break;
        }
    }
    times.sort();
    Figure {
        executions,
        each: times[times.len() / 2],
        cut: executions >= MOST,
    }
}

fn mazurka(program: Program, n: usize) -> Figure {
    let builder = mazurka_rt::Builder {
        quiet: true,
        max_executions: Some(MOST),
        ..mazurka_rt::Builder::default()
    };
    measure(|| builder.check(move || program(n)).executions)
}

fn loom(program: Program, n: usize, threads: usize) -> Option<Figure> {
    // It knows no more than five threads, the main one included.
    (threads < 5).then(|| {
        measure(|| {
            let mut builder = loom::model::Builder::new();
            builder.max_permutations = Some(MOST as usize - 1);
            builder.check(move || program(n));
            0
        })
    })
}

fn shuttle(program: Program, n: usize) -> Figure {
    measure(|| {
        shuttle::check_dfs(move || program(n), Some(MOST as usize));
        0
    })
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
    println!("executions, and CPU time for each (median of {REPETITIONS}); >: cut; -: not possible");
    println!("{:14}{:^20}  {:^20}  {:^20}", "", "mazurka-rt", "loom", "shuttle (DFS)");
    // The name, the programs, the threads they start, the sizes.
    type Row = (&'static str, [Program; 3], fn(usize) -> usize, &'static [usize]);
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
        row!(readers, |n| n + 1, &[2, 3, 4, 6, 8, 10]),
        row!(stores, |n| n, &[3, 4, 5, 6]),
        row!(fib, |_| 2, &[1, 2, 3, 4]),
        row!(pairs, |n| 2 * n, &[1, 2, 4, 6]),
        row!(locks, |n| n, &[2, 3, 4, 5]),
        row!(counter, |n| n, &[2, 3]),
    ];
    for (name, [ours, looms, shuttles], threads, sizes) in rows {
        for &n in sizes {
            println!(
                "{:14}{}  {}  {}",
                format!("{name}({n})"),
                show(Some(mazurka(ours, n))),
                show(loom(looms, n, threads(n))),
                show(Some(shuttle(shuttles, n))),
            );
        }
    }
}
