//! What runs when a thread or the program ends, what is observed then, and the clock of a thread.
//!
//! Functions of `atexit`, destructors of static and thread-local objects run the last one first, in
//! the thread that ends, as the rest of the program does: other threads go on meanwhile.

use mazurka_core::{AccessKind, Fingerprint, ProcessId};

use crate::access::announce;
use crate::world::{Failure, Life, Pending, World, bytes_at, world};
use crate::{Stop, weak};

/// No object of the program has such an address.
const ENDS_OF_PROGRAM: usize = usize::MAX - (1 << 21);

/// The clock of the current thread moves on: to a time, or by a time. That is a change of its state
/// if it looks at the clock.
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

/// The clock of the current thread. If it has moved before anything looked at it, a loop may have
/// been taken for one that changes nothing: the search starts again.
pub(crate) fn now() -> i64 {
    let world = world();
    let me = world.me();
    let first = !std::mem::replace(&mut me.reads_clock, true);
    let now = me.now;
    if first && now > 0 && world.searching && !std::mem::replace(&mut world.learned.clock, true) {
        world.stop.get_or_insert(Stop::Restart);
    }
    now
}

/// The last function of a list, or 0: list 0 is that of the current thread, 1 that of the program.
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

/// Takes the last function from a list. Returns its argument.
pub(crate) fn take_last(list: i64) -> i64 {
    let world = world();
    let taken = match list {
        0 => world.me().at_end.pop(),
        _ => world.at_exit.pop(),
    };
    taken.map_or(0, |(_, argument)| argument as i64)
}

/// The list of functions that run at the end is shared: what threads do with it is ordered.
fn ends_of_program(verb: &'static str, pc: usize) {
    if world().started > 1 {
        let cell = world().object(ENDS_OF_PROGRAM);
        orders(Pending::new(verb, 0, pc), cell);
    }
}

/// A step that orders what threads do with something that they share.
pub(crate) fn orders(pending: Pending, cell: u32) {
    if world().weak.on {
        weak::orders(pending, cell)
    } else {
        announce(pending.on(AccessKind::Write, cell))
    }
}

/// Registers a function that runs when the program ends.
pub(crate) fn at_exit(function: usize, argument: usize, pc: usize) -> i64 {
    ends_of_program("atexit", pc);
    world().at_exit.push((function, argument));
    0
}

impl World {
    /// What the program has left behind at its end, as failures, if that is asked for.
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
            let kept: Vec<_> = self.threads[at].region.kept(first).collect();
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

    /// What is observed of an execution.
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

    /// Whether all other threads have ended before the current one goes on: each was joined, by a
    /// thread that was joined in its turn, or by this one. So that does not depend on the order of
    /// steps that do not depend on each other.
    pub fn is_alone(&self) -> bool {
        let mut threads = self.threads.iter().enumerate();
        threads.all(|(at, thread)| {
            at == self.current.index() || thread.joined || thread.life == Life::Unborn
        })
    }

    /// Keeps what is in the variables that are observed.
    pub fn keep_observed(&mut self) {
        self.left.clear();
        for &(_, address, size) in &self.observed {
            self.left.extend_from_slice(bytes_at(address, size));
        }
    }

    /// The variables that are observed: their names, and what is in them, or was when the process
    /// ended.
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
