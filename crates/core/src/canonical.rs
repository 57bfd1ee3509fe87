//! The canonical form of a trace, and its fingerprint.
//!
//! Guarded-command paper, Definition 12, corrected as errata E4 requires: swapping neighbours until
//! no swap is possible is not canonical. So the normal form here repeatedly takes, among the
//! minimal events, the one of the smallest process.
//!
//! | paper | here |
//! |---|---|
//! | l₁ ≁ l₂ | [`dependent`](crate::dependent) |
//! | canon(θ) | [`canonical_order`] |
//! | \[θ\] as a key | [`TraceHasher::trace`] |
//!
//! Counting traces needs no normal form: [`TraceHasher`] gives each event a fingerprint of its
//! whole past and adds these up step by step, so that equivalent runs have equal sums.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

use crate::{Access, Event, Fingerprint, ProcessId};

/// Returns, for each event, the positions of earlier events that it depends on. These events and
/// their pasts form its past.
pub fn immediate_predecessors(run: &[Event]) -> Vec<SmallVec<[u32; 4]>> {
    #[derive(Default)]
    struct Cell {
        write: Option<u32>,
        reads: Vec<u32>,
    }
    let mut cells: Vec<Cell> = Vec::new();
    // For each process, its last event, or else the event that started it.
    let mut last: Vec<Option<u32>> = Vec::new();
    let mut result = Vec::with_capacity(run.len());
    for (at, event) in run.iter().enumerate() {
        let mut before = SmallVec::<[u32; 4]>::new();
        for enabling in &event.enabled_by {
            let found = run[..at].iter().rposition(|event| enabling.is(event));
            before.extend(found.map(|found| found as u32));
        }
        let at = at as u32;
        let mut add = |p: Option<u32>| before.extend(p.filter(|&p| p != at));
        let highest = |ps: &[ProcessId]| ps.iter().map(|p| p.index() + 1).max().unwrap_or(0);
        let needed = (event.process.index() + 1)
            .max(highest(&event.spawned))
            .max(highest(&event.joined));
        if last.len() < needed {
            last.resize(needed, None);
        }
        add(last[event.process.index()]);
        for joined in &event.joined {
            add(last[joined.index()]);
        }
        for access in &event.claims {
            if cells.len() < access.cells().end {
                cells.resize_with(access.cells().end, Cell::default);
            }
            for cell in &mut cells[access.cells()] {
                add(cell.write);
                if access.writes() {
                    for &read in &cell.reads {
                        add(Some(read));
                    }
                    cell.reads.clear();
                    cell.write = Some(at);
                } else {
                    cell.reads.push(at);
                }
            }
        }
        last[event.process.index()] = Some(at);
        for spawned in &event.spawned {
            last[spawned.index()] = Some(at);
        }
        before.sort_unstable();
        before.dedup();
        result.push(before);
    }
    result
}

/// Returns the normal form of a run, as positions: the same sequence of events for all equivalent
/// runs. `rank` gives the order of processes, that is, of their names.
pub fn canonical_order<K: Ord>(run: &[Event], rank: impl Fn(ProcessId) -> K) -> Vec<usize> {
    let before = immediate_predecessors(run);
    let mut after = vec![SmallVec::<[u32; 4]>::new(); run.len()];
    let mut missing: Vec<usize> = Vec::with_capacity(run.len());
    let mut minimal = BinaryHeap::new();
    let entry = |at: usize| Reverse((rank(run[at].process), at));
    for (at, predecessors) in before.iter().enumerate() {
        missing.push(predecessors.len());
        for &p in predecessors {
            after[p as usize].push(at as u32);
        }
        if predecessors.is_empty() {
            minimal.push(entry(at));
        }
    }
    let mut order = Vec::with_capacity(run.len());
    while let Some(Reverse((_, at))) = minimal.pop() {
        order.push(at);
        for &next in &after[at] {
            missing[next as usize] -= 1;
            if missing[next as usize] == 0 {
                minimal.push(entry(next as usize));
            }
        }
    }
    order
}

/// The fingerprints of the events and of the trace of a run that grows and shrinks.
///
/// ```
/// use mazurka_core::{Access, Event, ProcessId, ProcessTable, TraceHasher};
/// let table = ProcessTable::new(2);
/// let write = |process, cell| Event {
///     claims: [Access::write(cell)].into_iter().collect(),
///     ..Event::new(ProcessId(process), 0)
/// };
/// let trace = |run: &[Event]| {
///     let mut hasher = TraceHasher::new();
///     run.iter().for_each(|event| hasher.push(event, &table));
///     hasher.trace()
/// };
/// // Different cells commute, the same cell does not.
/// assert_eq!(trace(&[write(0, 0), write(1, 1)]), trace(&[write(1, 1), write(0, 0)]));
/// assert_ne!(trace(&[write(0, 0), write(1, 0)]), trace(&[write(1, 0), write(0, 0)]));
/// ```
#[derive(Clone, Debug)]
pub struct TraceHasher {
    cells: Vec<Cell>,
    processes: Vec<Fingerprint>,
    run: Vec<Hashed>,
    undo: Vec<Undo>,
}

/// An event of the run.
#[derive(Clone, Copy, Debug)]
struct Hashed {
    process: ProcessId,
    number: u32,
    /// The fingerprint of the event with its past.
    event: Fingerprint,
    /// The fingerprint of its process before this event.
    before: Fingerprint,
    /// The fingerprint of the trace that ends with this event.
    trace: Fingerprint,
    /// The length of `undo` before this event.
    mark: usize,
}

/// The past of a cell: its last write, and the reads since then as a multiset.
#[derive(Clone, Copy, Debug)]
struct Cell {
    write: Fingerprint,
    reads: Fingerprint,
}

impl Cell {
    /// Adds to a past the accesses of this cell that a new access must come after: the last write
    /// and, for a write, the reads since then.
    #[inline(always)]
    fn after(&self, past: Fingerprint, access: Access) -> Fingerprint {
        let past = past.then_all(self.write);
        if access.writes() {
            past.then_all(self.reads)
        } else {
            past
        }
    }

    /// Records an access that an event makes.
    #[inline(always)]
    fn add(&mut self, event: Fingerprint, access: Access) {
        if access.writes() {
            self.write = event;
            self.reads = Fingerprint::EMPTY;
        } else {
            self.reads = self.reads.and(event);
        }
    }
}

/// A change that an event has made, with the old value.
#[derive(Clone, Debug)]
enum Undo {
    Cell(u32, Cell),
    /// The fingerprint of a process that the event started.
    Process(u32, Fingerprint),
}

const UNTOUCHED: Cell = Cell {
    write: Fingerprint::EMPTY,
    reads: Fingerprint::EMPTY,
};

impl TraceHasher {
    /// Creates the hasher of the empty run.
    pub fn new() -> Self {
        Self {
            cells: Vec::new(),
            processes: Vec::new(),
            run: Vec::new(),
            undo: Vec::new(),
        }
    }

    /// Extends the run by an event.
    pub fn push(&mut self, event: &Event, table: &crate::ProcessTable) {
        if self.processes.len() < table.len() {
            self.add_processes(table);
        }
        match event.claims[..] {
            [access] if event.plain && access.cells().end <= self.cells.len() => {
                self.push_plain(event, access);
            }
            _ => self.push_any(event, table),
        }
    }

    #[cold]
    fn add_processes(&mut self, table: &crate::ProcessTable) {
        let known = self.processes.len() as u32;
        let new = (known..table.len() as u32).map(|process| table.name(ProcessId(process)));
        self.processes.extend(new);
    }

    /// Adds an event that only reads or writes one cell. `cells` must contain this cell.
    #[inline(always)]
    fn push_plain(&mut self, event: &Event, access: Access) {
        let mark = self.undo.len();
        let cell = &mut self.cells[access.first as usize];
        self.undo.push(Undo::Cell(access.first, *cell));
        let before = self.processes[event.process.index()];
        let this = cell.after(before, access).then(u64::from(event.number));
        cell.add(this, access);
        self.add(event, this, mark);
    }

    /// Adds an event with this fingerprint to its process and to the run.
    #[inline(always)]
    fn add(&mut self, event: &Event, this: Fingerprint, mark: usize) {
        let process = &mut self.processes[event.process.index()];
        let before = std::mem::replace(process, this);
        self.run.push(Hashed {
            process: event.process,
            number: event.number,
            event: this,
            before,
            trace: self.trace().and(this),
            mark,
        });
    }

    #[inline(never)]
    fn push_any(&mut self, event: &Event, table: &crate::ProcessTable) {
        let mark = self.undo.len();
        let mut past = self.processes[event.process.index()];
        for outcome in &event.outcomes {
            past = past.then(outcome.value as u64);
        }
        for joined in &event.joined {
            past = past.then_all(self.processes[joined.index()]);
        }
        for enabling in &event.enabled_by {
            let name = (enabling.process, enabling.number);
            let known = |earlier: &&Hashed| (earlier.process, earlier.number) == name;
            if let Some(earlier) = self.run.iter().rev().find(known) {
                past = past.then_all(earlier.event);
            }
        }
        for access in &event.claims {
            if self.cells.len() < access.cells().end {
                self.cells.resize(access.cells().end, UNTOUCHED);
            }
            for cell in &self.cells[access.cells()] {
                past = cell.after(past, *access);
            }
        }
        let this = past.then(u64::from(event.number));
        for access in &event.claims {
            for at in access.cells() {
                let cell = &mut self.cells[at];
                self.undo.push(Undo::Cell(at as u32, *cell));
                cell.add(this, *access);
            }
        }
        for spawned in &event.spawned {
            let child = spawned.index();
            self.undo
                .push(Undo::Process(child as u32, self.processes[child]));
            self.processes[child] = table.name(*spawned).then_all(this);
        }
        self.add(event, this, mark);
    }

    /// Removes the last event.
    pub fn pop(&mut self) {
        let Some(last) = self.run.pop() else { return };
        self.processes[last.process.index()] = last.before;
        while self.undo.len() > last.mark
            && let Some(undo) = self.undo.pop()
        {
            match undo {
                Undo::Cell(at, cell) => self.cells[at as usize] = cell,
                Undo::Process(at, past) => self.processes[at as usize] = past,
            }
        }
    }

    /// Returns the fingerprint of an event of the run, including all events that happen before it.
    pub fn event(&self, position: usize) -> Fingerprint {
        self.run[position].event
    }

    /// Returns the fingerprint of the run's trace.
    pub fn trace(&self) -> Fingerprint {
        self.run
            .last()
            .map_or(Fingerprint::EMPTY, |last| last.trace)
    }
}

impl Default for TraceHasher {
    fn default() -> Self {
        Self::new()
    }
}
