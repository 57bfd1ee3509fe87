//! Watches a search: shows its progress, and stops it on Ctrl-C or at the memory limit. A separate
//! thread, the *guard*, ends the whole program if the search does not stop.

use std::io;
use std::ops::ControlFlow;
use std::process::{self, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use mazurka::native::Child;
use mazurka::record::Record;
use mazurka::search::Estimate;
use mazurka::{Bound, Limits, Progress, Watch};

use crate::exit;
use crate::files;
use crate::native;
use crate::output;
use crate::progress::ProgressLine;

/// The time between two checks by the search. Measuring the memory costs microseconds, and the
/// display needs no faster updates.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// A search that ends sooner shows no progress.
const BEFORE_PROGRESS: Duration = Duration::from_millis(500);

/// The time between two measurements of the memory by the guard. The second, shorter time holds
/// when less than a fifth of the limit is left, because a search may take a gigabyte in a second.
const GUARD_INTERVAL: Duration = Duration::from_millis(20);
const GUARD_INTERVAL_NEAR_LIMIT: Duration = Duration::from_millis(2);
/// The time that a search may take to stop and report its findings, after Ctrl-C. On a busy
/// computer this may be too little. So the search gets more time until it has used `STOP_WORK` of
/// processor time, but at most `MOST_STOP_TIME`.
const STOP_TIME: Duration = Duration::from_millis(900);
const STOP_WORK: Duration = Duration::from_millis(500);
const MOST_STOP_TIME: Duration = Duration::from_secs(10);
/// The additional memory that a search may use after it hit the limit, to report its findings: a
/// twelfth of the limit, and at least this.
const ALLOWANCE: u64 = 16 << 20;
/// Memory in addition to `ALLOWANCE` that may be used while the search has not noticed the limit
/// yet, and during the report: as much as the limit itself, but at most this.
const MOST_FOR_REPORT: u64 = 64 << 20;
/// How long a search may exceed the memory limit before it must notice this. It may exceed the
/// limit suddenly, because a table grows by half at once.
const MOST_EXCESS_TIME: Duration = Duration::from_millis(100);

/// Signals within this time after the first count as one request. `timeout` signals the program and
/// then its group, so that the program gets two signals; a terminal may do the same.
const SAME_REQUEST: Duration = Duration::from_millis(500);

/// The time that the worker process has to finish after a second Ctrl-C.
const WORKER_STOP_TIME: Duration = Duration::from_secs(1);

/// Set when Ctrl-C was pressed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The maximal memory in use that was measured, in bytes.
static MOST_USED: AtomicU64 = AtomicU64::new(0);
/// Set when the memory limit is exceeded.
static FULL: AtomicBool = AtomicBool::new(false);
/// Set while the result of a finished search is being reported.
static REPORTING: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Set whenever `INTERRUPTED` or `FULL` is set: all work must stop.
static STOP: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Set while the program only waits for a line of input.
static WAITING: AtomicBool = AtomicBool::new(false);

/// While a value of this type exists, the program waits for input, and Ctrl-C ends it at once with
/// exit code 0.
pub(crate) struct Waiting(());

impl Waiting {
    pub(crate) fn for_user() -> Self {
        WAITING.store(true, Ordering::SeqCst);
        Self(())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.store(false, Ordering::SeqCst);
    }
}

/// Whether Ctrl-C was pressed.
pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// Whether the memory limit was exceeded.
#[cfg(feature = "cluster")]
pub(crate) fn memory_exceeded() -> bool {
    FULL.load(Ordering::SeqCst)
}

/// Returns the flag that is set when all work must end. Solvers and long steps look at it too.
pub(crate) fn stop() -> Arc<AtomicBool> {
    Arc::clone(&STOP)
}

/// Returns the flag that is set while the result of a finished search is being reported.
pub(crate) fn reporting() -> Arc<AtomicBool> {
    Arc::clone(&REPORTING)
}

/// Sets `why`, the flag of a reason for stopping, and stops all work.
fn stop_for(why: &AtomicBool) {
    why.store(true, Ordering::SeqCst);
    STOP.store(true, Ordering::SeqCst);
}

/// Does work under a watch: the memory limit and Ctrl-C end it, and its progress is shown unless
/// `quiet`. Fails if the memory limit cannot be enforced.
pub(crate) fn watched<T>(
    limits: &Limits,
    quiet: bool,
    work: impl FnOnce(&mut Watch<'_>) -> T,
) -> Result<T, String> {
    let mut watcher = Watcher::new(limits.memory, quiet)?;
    let done = work(&mut |progress| watcher.check(progress));
    watcher.finish();
    Ok(done)
}

/// Watches one search.
struct Watcher {
    memory: Option<u64>,
    line: Option<ProgressLine>,
    last_check: Option<Instant>,
}

impl Watcher {
    /// Starts to watch a search: from now on, Ctrl-C stops the search, and a second Ctrl-C ends the
    /// program. Fails if the memory limit cannot be enforced.
    fn new(memory: Option<u64>, quiet: bool) -> Result<Self, String> {
        if memory.is_some() && used().is_none() {
            let refusal =
                "this system does not report how much memory is used; leave out --memory-limit";
            return Err(refusal.to_owned());
        }
        REPORTING.store(false, Ordering::SeqCst);
        listen();
        start_guard(memory);
        Ok(Self {
            memory,
            line: ProgressLine::wanted(quiet),
            last_check: None,
        })
    }

    /// Called at intervals by the search.
    fn check(&mut self, progress: &Progress) -> ControlFlow<Bound> {
        if INTERRUPTED.load(Ordering::SeqCst) {
            return ControlFlow::Break(Bound::Interrupted);
        }
        if let Some(limit) = self.memory.filter(|_| FULL.load(Ordering::SeqCst)) {
            return ControlFlow::Break(Bound::MemoryLimit(limit));
        }
        if self
            .last_check
            .is_some_and(|last| last.elapsed() < CHECK_INTERVAL)
        {
            return ControlFlow::Continue(());
        }
        self.last_check = Some(Instant::now());
        if let Some(limit) = self.memory
            && used().is_some_and(|used| used > limit)
        {
            return ControlFlow::Break(Bound::MemoryLimit(limit));
        }
        if let Some(line) = &mut self.line
            && progress.elapsed >= BEFORE_PROGRESS
        {
            line.show(|| message(progress, used()));
        }
        ControlFlow::Continue(())
    }

    /// Removes the progress from the screen.
    fn finish(self) {
        REPORTING.store(true, Ordering::SeqCst);
        if let Some(line) = self.line {
            line.finish();
        }
    }
}

/// Makes Ctrl-C stop the search.
#[cfg(not(target_family = "wasm"))]
fn listen() {
    // If the handler cannot be set, Ctrl-C ends the program at once, which is acceptable.
    let mut first = None;
    let _ = ctrlc::set_handler(move || {
        stop_for(&INTERRUPTED);
        mazurka::native::interrupt();
        if WAITING.load(Ordering::SeqCst) {
            // Starts a new line for the next output of the terminal.
            println!();
            native::note_end();
            std::process::exit(exit::Exit::Verified as i32);
        }
        // The handler runs in a separate thread, so it can end the program even if the search does
        // not check.
        if is_second_request(&mut first, Instant::now()) {
            files::wait_for_save();
            mazurka::solving::stop_solvers();
            native::note_end();
            std::process::exit(exit::inconclusive());
        }
    });
}

/// The worker processes that exist.
static WORKERS: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Processes that do the work of this process. Every Ctrl-C that this process gets is passed on to
/// them.
pub(crate) struct Workers(());

impl Workers {
    /// Makes Ctrl-C go only to the workers, so that this process can wait for their end.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn expected() -> Self {
        let mut first = None;
        let _ = ctrlc::set_handler(move || {
            stop_for(&INTERRUPTED);
            let is_second_request = is_second_request(&mut first, Instant::now());
            forward(mazurka::native::interrupt_process);
            if is_second_request {
                std::thread::sleep(WORKER_STOP_TIME);
                if workers().is_empty() {
                    std::process::exit(exit::inconclusive());
                }
                forward(mazurka::native::kill_process);
            }
        });
        Self(())
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn expected() -> Self {
        Self(())
    }

    /// Runs a command to its end, and returns its output.
    pub(crate) fn output(&self, command: &mut Command) -> io::Result<Output> {
        let child = quiet(command).spawn()?;
        self.finish(child, false, process::Child::wait_with_output)
    }

    /// As `output`, for a command that starts further processes and does not end them at Ctrl-C.
    /// After Ctrl-C, it is not started.
    pub(crate) fn output_of_group(&self, command: &mut Command) -> io::Result<Output> {
        if interrupted() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(command, 0);
        let child = quiet(command).spawn()?;
        self.finish(child, true, process::Child::wait_with_output)
    }

    /// Waits for a command, which shares the terminal with this process.
    pub(crate) fn status(&self, command: &mut Command) -> io::Result<ExitStatus> {
        let child = command.spawn()?;
        self.finish(child, false, |mut child| child.wait())
    }

    fn finish<T>(
        &self,
        child: process::Child,
        leads: bool,
        wait: impl FnOnce(process::Child) -> io::Result<T>,
    ) -> io::Result<T> {
        let id = child.id();
        let worker = Child { id, leads };
        workers().push(worker);
        if interrupted() {
            mazurka::native::interrupt_process(worker);
        }
        let done = wait(child);
        workers().retain(|&other| other != worker);
        done
    }
}

/// Gives a command no input, and keeps its output.
fn quiet(command: &mut Command) -> &mut Command {
    let command = command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped())
}

impl Drop for Workers {
    fn drop(&mut self) {
        workers().clear();
    }
}

fn workers() -> MutexGuard<'static, Vec<Child>> {
    WORKERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a signal to each worker.
fn forward(signal: fn(Child)) {
    workers().iter().for_each(|&child| signal(child));
}

/// Starts the thread of the guard.
#[cfg(not(target_family = "wasm"))]
fn start_guard(memory: Option<u64>) {
    std::thread::spawn(move || guard(memory));
}

/// In a browser there are no signals: the page ends the worker that searches.
#[cfg(target_family = "wasm")]
fn listen() {}

/// In a browser there are no threads: the search checks its limits itself.
#[cfg(target_family = "wasm")]
fn start_guard(_memory: Option<u64>) {}

/// Whether a signal that comes now is a second request to stop, and not a repetition of the first.
fn is_second_request(first: &mut Option<Instant>, now: Instant) -> bool {
    let first = *first.get_or_insert(now);
    now.saturating_duration_since(first) >= SAME_REQUEST
}

/// The loop of the guard. When the memory limit is exceeded, it stops a long step or a solver. If
/// the search still does not stop, it ends the program, and the result is lost. While a result is
/// being reported, the report may use some more memory.
fn guard(memory: Option<u64>) {
    let most = memory.map(|limit| limit.saturating_add(ALLOWANCE.max(limit / 12)));
    let mut exceeded_since: Option<Instant> = None;
    let mut interrupted: Option<(Instant, Duration)> = None;
    let mut pause = GUARD_INTERVAL;
    loop {
        std::thread::sleep(pause);
        if INTERRUPTED.load(Ordering::SeqCst) {
            let (since, before) = *interrupted.get_or_insert_with(|| (Instant::now(), worked()));
            let (waited, work) = (since.elapsed(), worked().saturating_sub(before));
            if waited >= MOST_STOP_TIME || waited >= STOP_TIME && work >= STOP_WORK {
                give_up("interrupted");
            }
        }
        let Some((used, limit)) = used().zip(memory) else {
            continue;
        };
        if used > limit {
            stop_for(&FULL);
            exceeded_since.get_or_insert_with(Instant::now);
        }
        pause = if used > limit / 5 * 4 {
            GUARD_INTERVAL_NEAR_LIMIT
        } else {
            GUARD_INTERVAL
        };
        let waited = exceeded_since.is_some_and(|since| since.elapsed() >= MOST_EXCESS_TIME);
        let tolerant = REPORTING.load(Ordering::SeqCst) || !waited;
        let most = if tolerant {
            most.map(|most| most.saturating_add(limit.min(MOST_FOR_REPORT)))
        } else {
            most
        };
        if most.is_some_and(|most| used > most) {
            give_up("--memory-limit was reached");
        }
    }
}

/// Returns the processor time of this program.
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
pub(crate) fn worked() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Returns the running time of this program, where the system does not report its processor time.
#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
pub(crate) fn worked() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    START.elapsed()
}

/// Ends the program in the middle of its work.
fn give_up(why: &str) -> ! {
    let lost = "and the findings so far are lost";
    output::print_error(&format!("mazurka: inconclusive: {why}, {lost}"));
    exit_program();
}

/// Ends the program, after stopping its solvers and waiting for a file that is being saved.
pub(crate) fn exit_program() -> ! {
    files::wait_for_save();
    mazurka::solving::stop_solvers();
    native::note_end();
    std::process::exit(exit::inconclusive());
}

/// The upper bound of every `--memory-limit` (`--most-memory`).
static MOST_MEMORY: AtomicU64 = AtomicU64::new(u64::MAX);

/// From now on, no memory limit is above `bytes`.
pub(crate) fn bound_memory(bytes: u64) {
    MOST_MEMORY.store(bytes, Ordering::SeqCst);
}

/// The upper bound of every `--time-limit` (`--most-time`).
static MOST_TIME: OnceLock<Duration> = OnceLock::new();

/// From now on, `most` is the greatest time limit, and the limit of commands without one.
pub(crate) fn bound_time(most: Duration) {
    let _first = MOST_TIME.set(most);
}

/// Returns the time limit of a command.
pub(crate) fn time_limit(given: Option<Duration>) -> Option<Duration> {
    let most = MOST_TIME.get().copied();
    given.into_iter().chain(most).min()
}

/// Returns the memory limit in bytes. The default is 4 GB: a model may be infinite, a machine is
/// not.
pub(crate) fn memory_limit(given: Option<u64>) -> Option<u64> {
    let wanted = given.or_else(|| used().map(|_| 4 << 30));
    wanted.map(|bytes| bytes.min(MOST_MEMORY.load(Ordering::SeqCst)))
}

/// Bytes of memory in use, if the system reports them.
pub(crate) fn used() -> Option<u64> {
    let used = memory_in_use()?;
    MOST_USED.fetch_max(used, Ordering::SeqCst);
    Some(used)
}

#[cfg(not(target_family = "wasm"))]
fn memory_in_use() -> Option<u64> {
    Some(memory_stats::memory_stats()?.physical_mem as u64)
}

/// Returns the size of the WebAssembly memory, which never shrinks. It is counted in pages of 64
/// KB.
#[cfg(target_family = "wasm")]
fn memory_in_use() -> Option<u64> {
    Some((core::arch::wasm32::memory_size::<0>() as u64) << 16)
}

/// Adds the maximal memory in use to the record of a search that merges states.
pub(crate) fn add_memory(record: &mut Record) {
    let most = used().map(|_| MOST_USED.load(Ordering::SeqCst));
    record.memory = most.filter(|_| record.counts.states.is_some());
}

/// Returns the progress of the search as text: the elapsed time, the explored part, the speed, the
/// estimated size, and the remaining time.
fn message(progress: &Progress, used: Option<u64>) -> String {
    let seconds = progress.elapsed.as_secs_f64().max(0.001);
    let counts = &progress.counts;
    let executions = counts.executions as f64;
    let elapsed = span(progress.elapsed);
    if let Some(states) = counts.states {
        let states = states as f64;
        let rate = short(states / seconds);
        let memory = used.map(|bytes| format!(", {} MB", bytes >> 20));
        let open = progress.open as f64;
        let open = (open > 0.0).then(|| format!(", {} open", short(open)));
        // Show the probability of a collision only if it is not negligible.
        let miss = progress.miss.filter(|&miss| miss > 1e-9);
        let miss = miss.map(|miss| format!(", one missed with probability {miss:.0e}"));
        return format!(
            "{elapsed}: {} states{}, {rate} a second{}{}",
            short(states),
            open.unwrap_or_default(),
            memory.unwrap_or_default(),
            miss.unwrap_or_default(),
        );
    }
    let rate = executions / seconds;
    let mut text = format!("{elapsed}: {} executions", short(executions));
    let mut to_go = String::new();
    if let Some(Estimate {
        executions: all,
        low,
        high,
    }) = progress.estimate
    {
        text += &format!(" of about {} ({}–{})", short(all), short(low), short(high));
        if let Ok(left) = Duration::try_from_secs_f64((all - executions) / rate) {
            to_go = format!(", about {} to go", span(left));
        }
    }
    if counts.blocked > 0 {
        text += &format!(", {} blocked", short(counts.blocked as f64));
    }
    text += &format!(", {} a second", short(rate));
    if let Some(traces) = counts.traces
        && traces != counts.executions
    {
        text += &format!(", {} traces", short(traces as f64));
    }
    text + &to_go
}

/// Returns a time in words.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800..31_536_000 => format!("{} days", seconds / 86_400),
        _ => "years".to_owned(),
    }
}

/// Rounds a number to about three digits, enough for a display that changes ten times a second.
fn short(n: f64) -> String {
    match n {
        n if n < 10_000.0 => format!("{n:.0}"),
        n if n < 1e6 => format!("{:.0} k", n / 1e3),
        n if n < 1e9 => format!("{:.1} M", n / 1e6),
        n if n < 1e12 => format!("{:.1} G", n / 1e9),
        n => format!("{n:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_short() {
        let mut progress = Progress {
            counts: Default::default(),
            elapsed: Duration::from_secs(2),
            done: Some(0.25),
            estimate: Some(Estimate {
                executions: 12e6,
                low: 4.8e6,
                high: 48e6,
            }),
            open: 0,
            miss: None,
        };
        progress.counts.executions = 3_000_000;
        progress.counts.blocked = 20_000;
        assert_eq!(
            message(&progress, None),
            "2 s: 3.0 M executions of about 12.0 M (4.8 M–48.0 M), 20 k blocked, 1.5 M a second, about 6 s to go"
        );
    }

    #[test]
    fn an_engine_that_merges_states_counts_them() {
        let mut progress = Progress {
            counts: Default::default(),
            elapsed: Duration::from_secs(2),
            done: None,
            estimate: None,
            open: 0,
            miss: None,
        };
        progress.counts.states = Some(3_000_000);
        progress.counts.executions = 0;
        let interrupted = "2 s: 3.0 M states, 1.5 M a second, 300 MB";
        assert_eq!(message(&progress, Some(300 << 20)), interrupted);
        (progress.open, progress.miss) = (2_000_000, Some(2e-6));
        let interrupted = "2 s: 3.0 M states, 2.0 M open, 1.5 M a second, 300 MB, one missed with probability 2e-6";
        assert_eq!(message(&progress, Some(300 << 20)), interrupted);
    }

    #[test]
    fn signals_in_quick_succession_are_one_request() {
        let (mut first, start) = (None, Instant::now());
        let after = |millis| start + Duration::from_millis(millis);
        assert!(!is_second_request(&mut first, start));
        assert!(!is_second_request(&mut first, after(0)));
        assert!(!is_second_request(&mut first, after(499)));
        assert!(is_second_request(&mut first, after(500)));
    }

    #[test]
    fn memory_beyond_the_limit_stops_the_search() {
        let mut watcher = Watcher {
            memory: Some(1),
            line: None,
            last_check: None,
        };
        let progress = Progress {
            counts: Default::default(),
            elapsed: Duration::ZERO,
            done: None,
            estimate: None,
            open: 0,
            miss: None,
        };
        let broken = ControlFlow::Break(Bound::MemoryLimit(1));
        assert_eq!(watcher.check(&progress), broken);
    }
}
