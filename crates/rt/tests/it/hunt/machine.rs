//! The interpreter, into which former defects of the crate can be planted.
use super::*;

/// A defect of an interpreter. The crate once had each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// Dropping a reference of an `Arc` does not release earlier writes: a false race.
    ArcWithoutRelease,
    /// Making a node does not count as an access to it: a race with its initialisation is missed.
    NoInitialisation,
    /// All destructors of an unwinding thread are one step: executions are missed.
    UnwindsAtOnce,
}

type Clock = [u32; 4];

fn join(into: &mut Clock, from: Clock) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(from);
    }
}

/// The accesses to plain data: for each one the thread, the time of the thread, and whether it
/// wrote.
type Data = Vec<(usize, u32, bool)>;

#[derive(Clone, Default)]
struct Thread {
    at: usize,
    /// The node whose count it increments next.
    counts: Option<usize>,
    /// The number of steps that its destructors have made.
    ending: usize,
    clock: Clock,
    log: Vec<u32>,
    /// Number of its references to the shared `Arc`.
    references: usize,
    /// Whether its next step drops one of these references.
    drops: bool,
}

#[derive(Clone)]
pub struct Machine<'a> {
    program: &'a Program,
    threads: Vec<Thread>,
    values: Vec<(u32, Clock)>,
    lock: (Option<usize>, u32, bool, Clock),
    published: (Option<usize>, Clock),
    nodes: Vec<(Data, u32, Clock)>,
    arc: (usize, Data, Clock),
    race: bool,
    defect: Option<Defect>,
}

/// The behaviour of a program.
#[derive(Default)]
pub struct Verdict {
    pub outcomes: BTreeSet<Outcome>,
    pub race: bool,
    pub runs: u64,
}

impl<'a> Machine<'a> {
    pub fn new(program: &'a Program) -> Self {
        let count = program.threads.len();
        let mut threads = vec![Thread::default(); count];
        for (number, thread) in threads.iter_mut().enumerate() {
            thread.clock[number] = 1;
            thread.references = 1;
        }
        Self {
            program,
            threads,
            values: vec![(0, [0; 4]); ATOMICS],
            lock: (None, 0, false, [0; 4]),
            published: (None, [0; 4]),
            nodes: Vec::new(),
            arc: (count, Vec::new(), [0; 4]),
            race: false,
            defect: None,
        }
    }

    /// Returns the same machine with a defect.
    pub fn with(self, defect: Defect) -> Self {
        let defect = Some(defect);
        Self { defect, ..self }
    }

    /// Explores all runs from this state. Returns false if there are more than `most` runs.
    pub fn explore(&self, verdict: &mut Verdict, most: u64) -> bool {
        let mut over = true;
        for thread in 0..self.threads.len() {
            let mut next = self.clone();
            if !next.step(thread) {
                continue;
            }
            over = false;
            if !next.explore(verdict, most) {
                return false;
            }
        }
        if over {
            verdict.runs += 1;
            verdict.race |= self.race;
            verdict.outcomes.insert(self.outcome());
        }
        verdict.runs <= most
    }

    fn outcome(&self) -> Outcome {
        let bodies = self.threads.iter().zip(&self.program.threads);
        let logs = bodies.map(|(thread, body)| (thread.log.clone(), body.panics));
        let mut values: Vec<u32> = self.values.iter().map(|(value, _)| *value).collect();
        values.push(self.lock.1);
        (logs.collect(), values)
    }

    fn touch(data: &mut Data, thread: usize, clock: &Clock, writes: bool) -> bool {
        let race = data.iter().any(|&(other, time, wrote)| {
            other != thread && (writes || wrote) && clock[other] < time
        });
        data.push((thread, clock[thread], writes));
        race
    }

    fn tick(&mut self, thread: usize) {
        self.threads[thread].clock[thread] += 1;
    }

    fn load(&mut self, thread: usize, x: usize, order: Ordering) -> u32 {
        let (value, clock) = self.values[x];
        if acquires(order) {
            join(&mut self.threads[thread].clock, clock);
        }
        value
    }

    /// A store ends the release sequence of earlier writes.
    fn store(&mut self, thread: usize, x: usize, value: u32, order: Ordering) {
        self.values[x].1 = [0; 4];
        self.modify(thread, x, value, order);
    }

    /// The write of a read-modify-write: it continues a release sequence.
    fn modify(&mut self, thread: usize, x: usize, value: u32, order: Ordering) {
        let own = self.threads[thread].clock;
        let (old, clock) = &mut self.values[x];
        *old = value;
        if releases(order) {
            join(clock, own);
        }
        self.tick(thread);
    }

    /// Drops a reference of the thread to the shared value, if it has one. Dropping the last
    /// reference writes the cell of the value.
    fn drop_arc(&mut self, thread: usize) {
        if self.threads[thread].references == 0 {
            return;
        }
        self.threads[thread].references -= 1;
        let own = self.threads[thread].clock;
        if self.defect != Some(Defect::ArcWithoutRelease) {
            join(&mut self.arc.2, own);
        }
        self.arc.0 -= 1;
        if self.arc.0 == 0 {
            self.take_arc(thread);
        }
        self.tick(thread);
    }

    fn take_arc(&mut self, thread: usize) {
        join(&mut self.threads[thread].clock, self.arc.2);
        let clock = self.threads[thread].clock;
        self.race |= Self::touch(&mut self.arc.1, thread, &clock, true);
    }

    fn unlock(&mut self, thread: usize, poisons: bool) {
        self.lock.0 = None;
        self.lock.2 |= poisons;
        join(&mut self.lock.3, self.threads[thread].clock);
        self.tick(thread);
    }

    fn lock(&mut self, thread: usize) {
        self.lock.0 = Some(thread);
        join(&mut self.threads[thread].clock, self.lock.3);
        self.lock.1 += 1;
        let seen = self.lock.1 + 10 * u32::from(self.lock.2);
        self.threads[thread].log.push(seen);
    }

    /// Makes the next step of a thread. Returns whether there is one.
    fn step(&mut self, thread: usize) -> bool {
        if let Some(node) = self.threads[thread].counts.take() {
            let (_, count, clock) = &mut self.nodes[node];
            let old = *count;
            *count += 1;
            let own = &mut self.threads[thread];
            join(&mut own.clock, *clock);
            join(clock, own.clock);
            own.log.push(old);
            self.tick(thread);
            return true;
        }
        if std::mem::take(&mut self.threads[thread].drops) {
            self.drop_arc(thread);
            return true;
        }
        let body = &self.program.threads[thread];
        let at = self.threads[thread].at;
        let Some(&op) = body.ops.get(at) else {
            return self.end(thread);
        };
        if matches!(op, Op::Lock) && self.lock.0.is_some() {
            return false;
        }
        self.threads[thread].at += 1;
        self.run(thread, op);
        true
    }

    /// Makes a step of the end of a thread: first it releases the lock, then its destructor runs,
    /// then it drops its references to the `Arc`.
    fn end(&mut self, thread: usize) -> bool {
        let body = &self.program.threads[thread];
        if self.lock.0 == Some(thread) {
            self.unlock(thread, body.panics);
            return true;
        }
        let ending = self.threads[thread].ending;
        if let Some(&x) = body.at_end.get(ending) {
            self.threads[thread].ending += 1;
            let old = self.load(thread, x, Ordering::SeqCst);
            self.modify(thread, x, old + 1, Ordering::SeqCst);
            if self.defect == Some(Defect::UnwindsAtOnce) && body.panics {
                self.end(thread);
            }
            return true;
        }
        if self.threads[thread].references > 0 {
            self.drop_arc(thread);
            return true;
        }
        false
    }

    fn run(&mut self, thread: usize, op: Op) {
        match op {
            Op::Load(x, order) => {
                let value = self.load(thread, x, for_load(order));
                self.threads[thread].log.push(value);
            }
            Op::Store(x, value, order) => self.store(thread, x, value, for_store(order)),
            Op::Add(x, order) => {
                let old = self.load(thread, x, order);
                self.threads[thread].log.push(old);
                self.modify(thread, x, old + 1, order);
            }
            Op::Exchange(x, new, order) => {
                if self.values[x].0 == 0 {
                    self.load(thread, x, order);
                    self.modify(thread, x, new, order);
                    self.threads[thread].log.push(0);
                } else {
                    let old = self.load(thread, x, for_load(order));
                    self.threads[thread].log.push(100 + old);
                }
            }
            Op::Lock => self.lock(thread),
            Op::Unlock => self.unlock(thread, false),
            Op::TryLock if self.lock.0 == Some(thread) => self.unlock(thread, false),
            Op::TryLock if self.lock.0.is_some() => self.threads[thread].log.push(HELD),
            Op::TryLock => {
                // Taking and releasing are two steps: the second one comes before the
                // next operation.
                self.lock(thread);
                self.threads[thread].at -= 1;
            }
            Op::Publish(order) => {
                let clock = self.threads[thread].clock;
                let mut data = Data::new();
                if self.defect != Some(Defect::NoInitialisation) {
                    Self::touch(&mut data, thread, &clock, true);
                }
                self.nodes.push((data, 0, [0; 4]));
                self.published.0 = Some(self.nodes.len() - 1);
                self.published.1 = [0; 4];
                if releases(order) {
                    self.published.1 = clock;
                }
                self.tick(thread);
            }
            Op::Consume(order) => {
                if acquires(order) {
                    join(&mut self.threads[thread].clock, self.published.1);
                }
                let clock = self.threads[thread].clock;
                if let Some(node) = self.published.0 {
                    self.race |= Self::touch(&mut self.nodes[node].0, thread, &clock, false);
                    self.threads[thread].counts = Some(node);
                } else {
                    self.threads[thread].log.push(98);
                }
            }
            Op::ArcDrop => self.drop_arc(thread),
            Op::ArcUpgrade => {
                let there = self.program.weak && self.arc.0 > 0;
                if there {
                    self.arc.0 += 1;
                    join(&mut self.threads[thread].clock, self.arc.2);
                    self.threads[thread].references += 1;
                    self.threads[thread].drops = true;
                }
                self.threads[thread].log.push(u32::from(there));
            }
            // All other operations need a reference to the `Arc`.
            _ if self.threads[thread].references == 0 => {}
            Op::ArcWrite | Op::ArcRead => {
                let writes = matches!(op, Op::ArcWrite);
                let clock = self.threads[thread].clock;
                self.race |= Self::touch(&mut self.arc.1, thread, &clock, writes);
            }
            Op::ArcClone => {
                self.arc.0 += 1;
                self.threads[thread].references += 1;
            }
            Op::ArcCount => {
                let count = self.arc.0 as u32;
                self.threads[thread].log.push(count);
            }
            Op::ArcGetMut => {
                let unique = self.arc.0 == 1 && !self.program.weak;
                if unique {
                    self.take_arc(thread);
                }
                self.threads[thread].log.push(u32::from(unique));
            }
            Op::ArcUnwrap => {
                let unique = self.arc.0 == 1;
                if unique {
                    self.take_arc(thread);
                    (self.arc.0, self.threads[thread].references) = (0, 0);
                }
                self.threads[thread].log.push(u32::from(unique));
            }
        }
    }
}
