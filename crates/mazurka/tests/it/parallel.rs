//! Runs jobs on all cores.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Runs all jobs, the last one first. Returns each with its result, or with `None` if it panics.
pub fn on_all_cores<J: Send, R: Send>(
    jobs: Vec<J>,
    run: impl Fn(&J) -> R + Sync,
) -> Vec<(J, Option<R>)> {
    let jobs = Mutex::new(jobs);
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().expect("no worker panics").pop();
                    let Some(job) = job else { return };
                    let result = catch_unwind(AssertUnwindSafe(|| run(&job))).ok();
                    done.lock().expect("no worker panics").push((job, result));
                }
            });
        }
    });
    done.into_inner().expect("no worker panics")
}
