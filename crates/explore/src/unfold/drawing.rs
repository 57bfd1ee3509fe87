//! A net as the thesis draws it: with the copies of place replication, and without the additions of
//! this implementation.
//!
//! Thesis, Fig. 3.4 and 5.3. A lock has a condition only while it is free; a join takes the last
//! thread condition of the process that it joins.

use mazurka_core::ProcessId;

use super::net::{NONE, Net, NetKind, Place};

/// A condition of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// A local state of a process.
    Thread(ProcessId),
    /// A variable or a lock.
    Cell(u32),
    /// A process's copy of a variable.
    Copy(u32, ProcessId),
}

/// The arcs of an event of a drawing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arcs {
    /// The conditions that it takes.
    pub takes: Vec<usize>,
    /// The conditions that it only reads.
    pub reads: Vec<usize>,
    /// The conditions that it makes.
    pub makes: Vec<usize>,
    /// Whether a stateful net stops at this event, because its state was reached before.
    pub terminal: bool,
}

/// A net, ready to be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The conditions.
    pub conditions: Vec<Drawn>,
    /// The events, in the order in which they were found.
    pub events: Vec<Arcs>,
    /// For some deadlocks, the conditions at which processes wait.
    pub deadlocks: Vec<Vec<usize>>,
}

/// Draws a net with this number of processes.
pub(crate) fn draw(net: &Net, processes: u32) -> Drawing {
    let mut pen = NetDrawer {
        net,
        processes: (0..processes).map(ProcessId).collect(),
        drawing: Drawing::default(),
        threads: Vec::new(),
        cells: vec![Vec::new(); net.conditions.len()],
        copies: vec![Vec::new(); net.events.len()],
    };
    for thread in &net.threads {
        pen.threads.push(pen.drawing.conditions.len());
        pen.drawing.conditions.push(Drawn::Thread(thread.process));
    }
    for &condition in &net.initial {
        pen.condition(condition);
    }
    for event in 0..net.events.len() as u32 {
        let arcs = pen.event(event);
        pen.drawing.events.push(arcs);
    }
    pen.drawing
}

struct NetDrawer<'a> {
    net: &'a Net,
    processes: Vec<ProcessId>,
    drawing: Drawing,
    /// For each thread, its condition.
    threads: Vec<usize>,
    /// For each condition of the net, the drawn conditions that represent it: none, one, or one for
    /// each process.
    cells: Vec<Vec<usize>>,
    /// For each event, the copies that its reads made: the condition of the net that was read, and
    /// the drawn condition.
    copies: Vec<Vec<(u32, usize)>>,
}

impl NetDrawer<'_> {
    fn replicates(&self, place: u32) -> bool {
        self.net.kind == NetKind::Replicated && !self.net.is_lock(place)
    }

    /// Draws a condition, or one for each process if the net replicates its place.
    fn condition(&mut self, condition: u32) {
        let known = self.net.condition(condition);
        let Place::Cell(cell) = self.net.places[known.place as usize] else {
            return;
        };
        if known.set {
            return;
        }
        let drawn: Vec<Drawn> = if self.replicates(known.place) {
            let copies = self.processes.iter();
            copies.map(|&process| Drawn::Copy(cell, process)).collect()
        } else {
            vec![Drawn::Cell(cell)]
        };
        for drawn in drawn {
            self.cells[condition as usize].push(self.drawing.conditions.len());
            self.drawing.conditions.push(drawn);
        }
    }

    /// Draws an event: returns its arcs, and adds the conditions that it makes.
    fn event(&mut self, event: u32) -> Arcs {
        let net = self.net;
        let node = net.event(event);
        let thread = net.extension(node.extension).thread;
        let mut arcs = Arcs {
            takes: vec![self.threads[thread as usize]],
            ..Arcs::default()
        };
        for thread in node.thread..node.thread + node.thread_count {
            arcs.makes.push(self.threads[thread as usize]);
        }
        for input in net.inputs(event) {
            let known = net.condition(input.condition);
            match net.places[known.place as usize] {
                Place::End(_) if input.write => {}
                Place::End(process) => {
                    let last = net.event(known.producer);
                    let threads = last.thread..last.thread + last.thread_count;
                    let mut own = threads.filter(|&t| net.thread(t).process == process);
                    arcs.takes
                        .extend(own.next().map(|t| self.threads[t as usize]));
                }
                Place::Cell(cell) if self.replicates(known.place) => {
                    if input.write {
                        for at in 0..self.processes.len() {
                            arcs.takes
                                .push(self.copy(input.condition, at, node.extension));
                        }
                    } else {
                        let process = node.process;
                        arcs.takes.push(self.copy(
                            input.condition,
                            process.index(),
                            node.extension,
                        ));
                        let copy = self.drawing.conditions.len();
                        self.drawing.conditions.push(Drawn::Copy(cell, process));
                        self.copies[event as usize].push((input.condition, copy));
                        arcs.makes.push(copy);
                    }
                }
                Place::Cell(_) => {
                    let drawn = self.cells[input.condition as usize].iter().copied();
                    if input.write {
                        arcs.takes.extend(drawn)
                    } else {
                        arcs.reads.extend(drawn)
                    }
                }
            }
        }
        for output in node.outputs..node.outputs + node.output_count {
            self.condition(output);
            arcs.makes.extend_from_slice(&self.cells[output as usize]);
        }
        arcs
    }

    /// Returns the copy of a condition that a process has after the causes of an extension.
    fn copy(&self, condition: u32, process: usize, extension: u32) -> usize {
        let past = self.net.past(extension);
        let mut event = past.get(process).copied().unwrap_or(NONE);
        while event != NONE {
            let copies = &self.copies[event as usize];
            if let Some((_, copy)) = copies.iter().find(|(read, _)| *read == condition) {
                return *copy;
            }
            event = self.net.event(event).parent;
        }
        self.cells[condition as usize][process]
    }
}
