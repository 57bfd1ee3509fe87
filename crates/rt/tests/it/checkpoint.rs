//! Searches that a limit ends and that continue from a checkpoint.

use std::path::{Path, PathBuf};
use std::time::Duration;

use mazurka_rt::sync::atomic::{AtomicU32, Ordering};
use mazurka_rt::sync::{Arc, Mutex};
use mazurka_rt::{Builder, Summary, thread};

/// A temporary folder, which is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("mazurka-checkpoint-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten();
        entries.map(|entry| entry.expect("a file").path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Starts `threads` threads that each increment one number `times` times. Returns the final number.
fn adds(threads: u32, times: u32, order: Ordering) -> u32 {
    let x = Arc::new(AtomicU32::new(0));
    let add = |_| {
        let x = x.clone();
        thread::spawn(move || (0..times).for_each(|_| _ = x.fetch_add(1, order)))
    };
    let all: Vec<_> = (0..threads).map(add).collect();
    all.into_iter().for_each(|one| one.join().unwrap());
    x.load(Ordering::SeqCst)
}

fn saving(folder: &Path, most: u64) -> Builder {
    Builder {
        checkpoint: Some(folder.to_owned()),
        max_executions: Some(most),
        quiet: true,
        ..Builder::default()
    }
}

/// Repeats the search until nothing is left. Returns the number of runs, and the last summary.
fn until_complete(folder: &Folder, check: impl Fn(&Builder) -> Summary) -> (u32, Summary) {
    let mut last = 0;
    for run in 1..100 {
        let summary = check(&saving(&folder.0, 400));
        assert!(summary.executions > last, "{run}: {summary}");
        assert_eq!(summary.resumed, run > 1, "{run}: {summary}");
        last = summary.executions;
        if summary.is_complete() {
            assert!(folder.files().is_empty());
            return (run, summary);
        }
        assert_eq!(folder.files().len(), 1);
    }
    panic!("there is no end");
}

#[test]
fn interleavings_go_on_to_the_end() {
    let folder = Folder::new("sc");
    let (runs, summary) = until_complete(&folder, |builder| {
        builder.check(|| assert_eq!(adds(3, 3, Ordering::SeqCst), 9))
    });
    // The orders of nine additions, three of each thread.
    assert_eq!(summary.executions, 1680);
    assert!(runs >= 4, "{runs}");
    assert!(summary.to_string().contains("gone on from a checkpoint"));
}

#[test]
fn execution_graphs_go_on_to_the_end() {
    let folder = Folder::new("rc11");
    let (runs, summary) = until_complete(&folder, |builder| {
        builder.check(|| assert_eq!(adds(3, 3, Ordering::AcqRel), 9))
    });
    assert_eq!(summary.executions, 1680);
    assert_eq!(summary.memory, mazurka_rt::Memory::Rc11);
    assert!(runs >= 4, "{runs}");
}

#[test]
fn a_small_limit_under_a_memory_model_does_no_harm() {
    let model = || _ = adds(3, 3, Ordering::AcqRel);
    for most in [1, 2, 5, 20, 60, 200] {
        let folder = Folder::new(&format!("cut-{most}"));
        // All runs make the same call, because a checkpoint file belongs to the place of the call.
        let run = |most| saving(&folder.0, most).check(model);
        assert!(!run(most).is_complete());
        let second = run(10_000);
        assert!(second.is_complete(), "{most}: {second}");
        assert_eq!(second.executions, 1680, "{most}");
        assert!(folder.files().is_empty());
    }
}

/// Each run of a search under a memory model makes progress, however small its limits are.
#[test]
fn every_run_gets_on() {
    let model = || assert_eq!(adds(3, 2, Ordering::AcqRel), 6);
    type Limit = fn(&mut Builder);
    let limits: [(&str, Limit); 4] = [
        ("one", |it| it.max_executions = Some(1)),
        ("seven", |it| it.max_executions = Some(7)),
        ("steps", |it| it.max_steps = Some(1)),
        ("time", |it| it.time_limit = Some(Duration::ZERO)),
    ];
    for (name, limit) in limits {
        let folder = Folder::new(&format!("on-{name}"));
        let mut builder = saving(&folder.0, u64::MAX);
        builder.memory = Some(mazurka_rt::Memory::Rc11);
        limit(&mut builder);
        let mut last = 0;
        let mut runs = 0;
        loop {
            let summary = builder.check(model);
            assert!(summary.executions > last || runs > 0, "{name}: {summary}");
            assert_eq!(summary.resumed, runs > 0, "{name}: {summary}");
            last = summary.executions;
            runs += 1;
            if summary.is_complete() {
                break;
            }
            assert_eq!(
                summary.executions,
                if name == "seven" { 7 * runs } else { runs }
            );
        }
        // The orders of six additions, two of each thread.
        assert_eq!(last, 90, "{name}");
        assert!(folder.files().is_empty());
    }
}

#[test]
fn what_is_learned_is_kept() {
    let folder = Folder::new("facts");
    // Locks of one place, `is_finished`, and a loop that gives up: each of them
    // restarts the search.
    let model = || {
        let locks: Vec<_> = (0..2).map(|_| Arc::new(Mutex::new(0))).collect();
        let all: Vec<_> = (0..3)
            .map(|k| {
                let locks = locks.clone();
                thread::spawn(move || {
                    for lock in &locks {
                        *lock.lock().unwrap() += k;
                    }
                })
            })
            .collect();
        let early = all[0].is_finished();
        all.into_iter().for_each(|one| one.join().unwrap());
        let sum: i32 = locks.iter().map(|lock| *lock.lock().unwrap()).sum();
        assert!(sum == 6 || early);
    };
    let whole = Builder {
        quiet: true,
        ..Builder::default()
    }
    .check(model);
    assert!(whole.is_complete());
    let few = whole.executions / 3;
    let mut last = saving(&folder.0, few).check(model);
    for _ in 0..50 {
        if last.is_complete() {
            break;
        }
        last = saving(&folder.0, few).check(model);
    }
    assert!(last.is_complete() && last.resumed, "{last}");
    assert_eq!(last.executions, whole.executions);
}

/// Returns the number of runs until the search finds an execution in which thread `one` of three
/// threads is the first to swap.
fn runs_until_first(one: u32, order: Ordering) -> u32 {
    let folder = Folder::new(&format!("failure-{order:?}-{one}"));
    let model = move || {
        let x = Arc::new(AtomicU32::new(0));
        let swap = |k| {
            let x = x.clone();
            thread::spawn(move || {
                let before = x.swap(k, order);
                assert!(before > 0 || k != one, "it was the first");
                x.swap(k, order);
                x.swap(k, order);
            })
        };
        let all: Vec<_> = (1..=3).map(swap).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    };
    for run in 1..100 {
        let builder = saving(&folder.0, 400);
        match std::panic::catch_unwind(|| builder.check(model)) {
            Ok(summary) => assert!(!summary.is_complete(), "{summary}"),
            Err(panic) => {
                let message = panic.downcast::<String>().expect("a message");
                assert!(message.contains("it was the first"), "{message}");
                assert!(folder.files().is_empty());
                return run;
            }
        }
    }
    panic!("it is never found");
}

#[test]
fn a_failure_is_found_by_a_later_run() {
    for order in [Ordering::SeqCst, Ordering::AcqRel] {
        let runs: Vec<u32> = (1..=3).map(|one| runs_until_first(one, order)).collect();
        // Under a memory model the search soon reaches graphs in which each thread is the first.
        let late = runs.iter().any(|runs| *runs > 1);
        assert!(late || order == Ordering::AcqRel, "{order:?}: {runs:?}");
    }
}

#[test]
fn a_file_that_does_not_fit_is_not_used() {
    let folder = Folder::new("other");
    let check = |builder: &Builder| builder.check(|| assert_eq!(adds(3, 3, Ordering::SeqCst), 9));
    assert!(!check(&saving(&folder.0, 400)).is_complete());
    // A search with other settings does not use the file.
    let other = Builder {
        spurious_wakes: 1,
        ..saving(&folder.0, 400)
    };
    assert!(!check(&other).resumed);
    // The file now belongs to the other settings.
    assert!(!check(&saving(&folder.0, 400)).resumed);
    let file = folder.files().pop().expect("a file");
    let text = std::fs::read_to_string(&file).expect("text");
    std::fs::write(&file, text.replacen("parts", "party", 1)).expect("it can be written");
    let anew = check(&saving(&folder.0, 400));
    assert!(!anew.resumed && anew.executions <= 400, "{anew}");
}
