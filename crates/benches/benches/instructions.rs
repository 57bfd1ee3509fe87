//! Counts the instructions that the engines execute. The counts are free of noise, so they can be
//! used to compare two versions.
//!
//! `cargo bench -p mazurka-benches --features measure --bench instructions`. This needs Linux,
//! `valgrind` and gungraun's runner in the same version as its library: `cargo install --locked
//! gungraun-runner --version 0.20.0`. If one of these three is missing, the benchmark reports that
//! and ends without a failure.

mod programs;

use std::process::{Command, Stdio};

/// The argument that the runner passes when it measures this program.
const MEASURED: &str = "--gungraun-run";

fn main() {
    let measured = std::env::args().any(|arg| arg == MEASURED);
    // `cargo test --benches` checks only that the benchmark starts.
    let tested = std::env::args().any(|arg| arg == "--test");
    if !measured && tested {
        return;
    }
    let runner = option_env!("GUNGRAUN_RUNNER").unwrap_or("gungraun-runner");
    for (tool, hint) in [
        ("valgrind", "the package `valgrind` of your system has it"),
        (
            runner,
            "cargo install --locked gungraun-runner --version 0.20.0",
        ),
    ] {
        if !measured && !starts(tool) {
            println!("instructions are not counted: there is no `{tool}` ({hint})");
            return;
        }
    }
    counted::run();
}

fn starts(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok()
}

/// A module of its own, because the macros define a `main`.
mod counted {
    use std::hint::black_box;
    use std::sync::Arc;

    use gungraun::{library_benchmark, library_benchmark_group};
    use mazurka::Algorithm::{self, Naive, Optimal, Source, Stateful};
    use mazurka_core::Counts;
    use mazurka_lang::Code;

    use super::programs::{program, search};

    #[library_benchmark]
    #[bench::naive_fib_3(program("fib", 3), Naive)]
    #[bench::optimal_fib_3(program("fib", 3), Optimal)]
    #[bench::optimal_writers_7(program("writers", 7), Optimal)]
    #[bench::source_writers_7(program("writers", 7), Source)]
    #[bench::optimal_readers_10(program("readers", 10), Optimal)]
    #[bench::optimal_fib_4(program("fib", 4), Optimal)]
    #[bench::optimal_lastzero_7(program("lastzero", 7), Optimal)]
    #[bench::source_lastzero_7(program("lastzero", 7), Source)]
    #[bench::optimal_philosophers_4(program("philosophers", 4), Optimal)]
    #[bench::stateful_fib_5(program("fib", 5), Stateful)]
    fn explore(code: Arc<Code>, algorithm: Algorithm) -> Counts {
        black_box(search(&code, algorithm))
    }

    library_benchmark_group!(name = engines, benchmarks = explore);
    gungraun::main!(library_benchmark_groups = engines);

    pub fn run() {
        main();
    }
}
