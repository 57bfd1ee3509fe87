//! The end of a thread and of the program: the functions that run then, the observed values, and
//! the clock of a thread.
//!
//! Functions of `atexit` and destructors of static and thread-local objects run in reverse order of
//! registration, in the thread that ends. They are ordinary code, whose accesses are explored, and
//! other threads continue while they run.

use mazurka_core::{AccessKind, Fingerprint, ProcessId};

use crate::access::announce;
use crate::world::{Failure, Life, Pending, World, bytes_at, world};
use crate::{SearchStop, weak};

/// The address of the cell for the list of functions that run at the end of the program. No object
/// of the program has such an address.
const ENDS_OF_PROGRAM: usize = usize::MAX - (1 << 21);
/// Marks a function with the attribute `destructor` in a list of functions and their arguments. It
/// replaces the argument, because such a function has no arguments.
pub(crate) const DESTRUCTOR: usize = usize::MAX - 7;
/// The address of the cell for the number of ended threads.
const ENDED_THREADS: usize = usize::MAX - (1 << 21) - 2;

/// Advances the clock of the current thread: by `time` nanoseconds if `relative`, otherwise to
/// `time`. If the thread reads its clock, this counts as a change, so that a loop that sleeps does
/// not spin.
pub(crate) fn later(time: i64, relative: bool) -> i64 {
    let me = world().me();
    let time = if relative {
        me.now.saturating_add(time)
    } else {
        time
    };
    me.now = me.now.max(time);
    if me.reads_clock || world().learned.clock {
        world().me().makes_progress();
    }
    0
}

/// Returns the clock of the current thread, in nanoseconds. If the clock had advanced before the
/// thread reads it for the first time, an earlier loop that advanced the clock may have been
/// mistaken for a loop that changes nothing. So the search restarts, and from then on advancing a
/// clock counts as a change.
pub(crate) fn now() -> i64 {
    let world = world();
    let me = world.me();
    let first = !std::mem::replace(&mut me.reads_clock, true);
    let now = me.now;
    if first && now > 0 && world.searching && !std::mem::replace(&mut world.learned.clock, true) {
        world.stop.get_or_insert(SearchStop::Restart);
    }
    now
}

/// Returns the last function of a list, or 0 if the list is empty. List 0 belongs to the current
/// thread, list 1 to the program.
pub(crate) fn last_function(list: i64, pc: usize) -> i64 {
    if list != 0 && world().has_ends {
        ends_of_program("exit", pc);
    }
    let world = world();
    let last = match list {
        0 => world.me().at_end.last(),
        _ => world.at_exit.last(),
    };
    last.map_or(0, |&(function, _)| function as i64)
}

/// Removes the last function from a list. Returns its argument.
pub(crate) fn take_last(list: i64) -> i64 {
    let world = world();
    let taken = match list {
        0 => world.me().at_end.pop(),
        _ => world.at_exit.pop(),
    };
    taken.map_or(0, |(_, argument)| argument as i64)
}

/// Orders operations on the program's list of final functions, which all threads share.
fn ends_of_program(verb: &'static str, pc: usize) {
    if world().started > 1 {
        let cell = world().object(ENDS_OF_PROGRAM);
        orders(Pending::new(verb, 0, pc), cell);
    }
}

/// Makes a step that orders operations of threads on shared data.
pub(crate) fn orders(pending: Pending, cell: u32) {
    if world().weak.on {
        weak::orders(pending, cell)
    } else {
        announce(pending.on(AccessKind::Write, cell))
    }
}

/// Registers a function that runs when the program ends. For the C library, all functions with the
/// attribute `destructor` are one entry of its list: a function that is registered while they run
/// is called after all of them.
pub(crate) fn at_exit(function: usize, argument: usize, pc: usize) -> i64 {
    ends_of_program("atexit", pc);
    let world = world();
    let is_destructor = |end: &(usize, usize)| end.1 == DESTRUCTOR;
    let left = world
        .at_exit
        .iter()
        .filter(|end| is_destructor(end))
        .count();
    let first = world.at_exit.iter().position(is_destructor);
    let at = first.filter(|_| left < world.image.destructors.len());
    let at = at.unwrap_or(world.at_exit.len());
    world.at_exit.insert(at, (function, argument));
    0
}

/// Whether the current thread, which is ending, is the last one and therefore ends the program.
/// This is possible if `main` has called `pthread_exit`. The functions at the end of the program
/// then run in this thread, after everything that the other threads have done. If there are such
/// functions, the end of each thread is a step, because it decides which thread is the last.
pub(crate) fn is_last_thread(pc: usize) -> i64 {
    if !world().last_thread_ends {
        return 0;
    }
    let mut last = world().alive == 1;
    if world().started > 1 {
        let cell = world().object(ENDED_THREADS);
        let pending = Pending::new("the thread ends", 0, pc);
        if world().weak.on {
            // Under a memory model, the threads need not run in the order of the execution, so the
            // engine counts the ended threads.
            last = weak::count(pending, cell) + 1 == i64::from(world().started);
        } else {
            announce(pending.on(AccessKind::Write, cell));
            let world = world();
            let current = world.current;
            world.clocks.acquire(current, cell);
            world.clocks.release(current, cell);
            last = world.alive == 1;
        }
    }
    i64::from(last && !world().exited)
}

impl World {
    /// Returns the indices in `failures` of the failures for leaked memory and threads; none if the
    /// settings do not ask for them.
    pub fn leaks(&mut self) -> Vec<u32> {
        if !self.settings.leaks {
            return Vec::new();
        }
        let mut all = Vec::new();
        for at in 1..self.threads.len() {
            let thread = &self.threads[at];
            if thread.life == Life::Unborn || thread.joined || thread.detached {
                continue;
            }
            let started = thread.started;
            let name = self.table.path(ProcessId(at as u32)).to_string();
            let message = format!("thread {name} is neither joined nor detached");
            all.push(Failure::new(message, started));
        }
        let initial = self.initial_heap.0.1;
        for at in 0..self.threads.len() {
            let first = if at == 0 { initial } else { 0 };
            let kept: Vec<_> = self.threads[at].region.unfreed_blocks(first).collect();
            all.extend(kept.into_iter().map(|(size, made)| {
                Failure::new(format!("a block of {size} bytes is never freed"), made)
            }));
        }
        let sites = all.into_iter().map(|failure| self.site_of(failure) as u32);
        let mut sites: Vec<u32> = sites.collect();
        sites.sort_unstable();
        sites.dedup();
        sites
    }

    /// Returns the fingerprint of the observed values of an execution.
    pub fn observation(&self) -> Fingerprint {
        let settings = &self.settings;
        let mut all = if settings.observed.is_empty() || settings.observes_output() {
            self.output
        } else {
            Fingerprint::EMPTY
        };
        if settings.observes_code() {
            all = all.then(self.exit_code as u64);
        }
        for (_, content) in self.observed_content() {
            all = content.iter().fold(all, |all, &byte| all.then(byte.into()));
        }
        all
    }

    /// Whether every other thread was joined, by the current thread or by a thread that was itself
    /// joined. So all of them have ended, and the answer does not depend on the order of
    /// independent steps.
    pub fn is_alone(&self) -> bool {
        let mut threads = self.threads.iter().enumerate();
        threads.all(|(at, thread)| {
            at == self.current.index() || thread.joined || thread.life == Life::Unborn
        })
    }

    /// Saves the content of the observed variables, at the end of the process.
    pub fn keep_observed(&mut self) {
        self.left.clear();
        for &(_, address, size) in &self.observed {
            self.left.extend_from_slice(bytes_at(address, size));
        }
    }

    /// Returns the names of the observed variables and their content: the content at the end of the
    /// process if it has ended, otherwise the present content.
    pub fn observed_content(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut start = 0;
        self.observed.iter().map(move |(name, address, size)| {
            let kept = start..start + size;
            start += size;
            let content = if self.exited {
                &self.left[kept]
            } else {
                bytes_at(*address, *size)
            };
            (name.as_str(), content)
        })
    }
}
