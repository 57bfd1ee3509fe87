//! Measures the time that the engines take. The engines form one group for each program, so that
//! their ratios are visible.
//!
//! `cargo bench -p mazurka-benches --features measure --bench explore`, with `-- fib` for some of
//! the programs. The throughput is in steps for `naive` (which should make at least 3 million a
//! second on fib(3)) and for `stateful`; for the other engines it is in traces. On a machine with
//! other work, times vary by half; the counts of `instructions.rs` do not vary.

mod programs;

use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mazurka::Algorithm::{self, Naive, Optimal, Sleep, Source, Stateful};

/// Name of the program, its size, its number of traces, and the engines to measure. `naive` is
/// omitted where it would take minutes.
const PROGRAMS: &[(&str, u64, u64, &[Algorithm])] = &[
    ("fib", 3, 141, &[Naive, Sleep, Source, Optimal, Stateful]),
    ("writers", 7, 5_040, &[Naive, Source, Optimal]),
    ("readers", 10, 1_024, &[Source, Optimal]),
    ("fib", 4, 1_107, &[Source, Optimal, Stateful]),
    ("lastzero", 7, 320, &[Source, Optimal]),
    ("philosophers", 4, 831, &[Source, Optimal, Stateful]),
    ("fib", 5, 8_953, &[Optimal, Stateful]),
];

fn engines(criterion: &mut Criterion) {
    for &(name, size, traces, engines) in PROGRAMS {
        let code = programs::program(name, size);
        let mut group = criterion.benchmark_group(format!("{name}({size})"));
        group.sample_size(20);
        group.warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        for &algorithm in engines {
            let counts = programs::search(&code, algorithm);
            assert!(counts.traces.is_none_or(|found| found == traces));
            group.throughput(Throughput::Elements(match algorithm {
                Naive | Stateful => counts.steps,
                _ => traces,
            }));
            group.bench_function(BenchmarkId::from_parameter(algorithm), |bencher| {
                bencher.iter(|| programs::search(&code, algorithm));
            });
        }
        group.finish();
    }
}

criterion_group!(all, engines);
criterion_main!(all);
