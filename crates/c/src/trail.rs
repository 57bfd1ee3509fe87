//! Stores the schedule of the current execution in memory that another process can read: if a
//! signal ends this process, the other process reports the last schedule.
//!
//! The memory consists of words of eight bytes:
//!
//! - the number of threads and the number of steps;
//! - one word for each thread: its parent, and its index among the children of its parent;
//! - two words for each step: its thread, the number of its outcomes, and the first outcome.

use mazurka_core::{ProcessId, ProcessTable, Schedule, ScheduledStep};

/// Maximum number of stored threads and steps.
const THREADS: usize = 1 << 10;
const STEPS: usize = 1 << 14;
/// Size of the memory.
pub const SIZE: usize = 8 * (2 + THREADS + 2 * STEPS);

/// The memory, if it is mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trail(*mut u64);

impl Default for Trail {
    fn default() -> Self {
        Self(std::ptr::null_mut())
    }
}

impl Trail {
    /// Maps an open file, which must have at least [`SIZE`] bytes.
    pub fn of_file(file: libc::c_int) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: this is a new mapping, and the file is not shorter.
        let got = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                SIZE,
                access,
                libc::MAP_SHARED,
                file,
                0,
            )
        };
        (got != libc::MAP_FAILED).then_some(Self(got.cast()))
    }

    fn set(self, at: usize, word: u64) {
        // SAFETY: the callers stay within `SIZE`, and the mapping is never removed.
        unsafe { self.0.add(at).write_volatile(word) };
    }

    /// Stores a thread, its parent, and its index among the children of its parent.
    pub fn thread(self, thread: ProcessId, parent: ProcessId, number: u32) {
        if !self.0.is_null() && thread.index() < THREADS {
            self.set(
                2 + thread.index(),
                u64::from(parent.0) << 32 | u64::from(number),
            );
            // SAFETY: as in `set`.
            let known = unsafe { self.0.read_volatile() };
            self.set(0, known.max(thread.index() as u64 + 1));
        }
    }

    /// Stores the step after the first `before` steps, with its thread and its first outcome. Steps
    /// beyond the maximum are not stored.
    #[inline]
    pub fn step(self, before: usize, thread: ProcessId, outcomes: &[i64]) {
        if self.0.is_null() || before >= STEPS {
            return;
        }
        let at = 2 + THREADS + 2 * before;
        let chosen = outcomes.first().copied().unwrap_or(0);
        self.set(at, u64::from(thread.0) << 32 | outcomes.len() as u64);
        self.set(at + 1, chosen as u64);
        self.set(1, before as u64 + 1);
    }
}

/// Reads the schedule that a process has left behind; `None` if there is no valid one.
///
/// ```
/// assert_eq!(mazurka_c::left_behind(&[0; 16]), None);
/// ```
pub fn left_behind(bytes: &[u8]) -> Option<Schedule> {
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
        .collect();
    if words.len() * 8 < SIZE {
        return None;
    }
    let (threads, steps) = (words[0] as usize, words[1] as usize);
    let mut table = ProcessTable::new(1);
    for thread in 1..threads.min(THREADS) {
        let word = words[2 + thread];
        let (parent, number) = ((word >> 32) as u32, word as u32);
        if parent as usize >= thread || table.child(ProcessId(parent), number).index() != thread {
            return None;
        }
    }
    let step = |at: usize| {
        let at = 2 + THREADS + 2 * at;
        let (thread, count) = ((words[at] >> 32) as u32, words[at] as u32);
        let known = (thread as usize) < threads.max(1);
        known.then(|| ScheduledStep {
            process: table.path(ProcessId(thread)).clone(),
            outcomes: (count > 0)
                .then_some(words[at + 1] as i64)
                .into_iter()
                .collect(),
        })
    };
    let steps: Option<Vec<ScheduledStep>> = (0..steps.min(STEPS)).map(step).collect();
    steps.filter(|steps| !steps.is_empty()).map(Schedule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_again() {
        let mut words = vec![0u64; SIZE / 8];
        let trail = Trail(words.as_mut_ptr());
        trail.thread(ProcessId(1), ProcessId(0), 0);
        trail.thread(ProcessId(2), ProcessId(0), 1);
        trail.step(0, ProcessId(0), &[]);
        trail.step(1, ProcessId(2), &[3]);
        trail.step(2, ProcessId(1), &[]);
        trail.step(1, ProcessId(2), &[4]);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let schedule = left_behind(&bytes).expect("a schedule");
        assert_eq!(schedule.to_string(), "0 0.1=4");
    }
}
