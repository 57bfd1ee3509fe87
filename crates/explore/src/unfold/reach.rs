//! Reachability of a state, searched for in the net.
//!
//! The thesis (section 6.2) calls a solver. Here the net is searched directly. The property is
//! treated like a step that reads its variables and the locations of its processes. Only the
//! markings of these variables and locations are enumerated, in the same way as the extensions of a
//! thread (`extensions.rs` explains why all are found), and the property is evaluated once for each
//! marking. The rest of the net matters only in so far as it contains the causes of these markings.
//!
//! With inputs (section 3.5) a marking is reachable if some inputs satisfy the path constraint of
//! its causes, and the property must hold for some of these inputs. A marking represents all
//! configurations that lead to it. The smallest of these consists of the causes of the marking.
//! Every larger one has the same events and more, and so at least the same constraints. So it is
//! enough to look at the causes. If the constraints contradict each other, no later marking is
//! reachable either.
//!
//! A question about deadlocks is evaluated in each deadlock of the net (`deadlocks.rs`).
//!
//! | thesis | here |
//! |---|---|
//! | variable(c), value(c), formula (S1) | `values` |
//! | pc, properties on program location | `lines` |

use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution, ProcessId, ProcessPath, Status};
use rustc_hash::FxHashSet;

use super::configuration::Examiner;
use super::deadlocks::{self, Hunter};
use super::net::{Group, NONE, Net, NetKind, Phase, Place};
use crate::drive::driver::End;

/// A property of states: the cells and locations that it reads, and its evaluation.
pub trait Question<E> {
    /// The content of a cell: a number, or a term over inputs.
    type Value: Copy + Default;

    /// Returns the cells that the question reads.
    fn cells(&self) -> &[u32];

    /// Returns the processes whose locations the question reads.
    fn processes(&self) -> &[ProcessPath];

    /// Returns the value of a cell in the current state.
    fn value(&self, program: &E, cell: u32) -> Self::Value;

    /// Returns the conditions over inputs that the last step has added to the path.
    fn conditions(&self, _program: &E) -> Vec<Self::Value> {
        Vec::new()
    }

    /// Returns the line of the next step of a process in the current state; 0, which is not a line,
    /// before the process has reached its first step.
    fn line(&self, program: &E, process: ProcessId) -> Option<usize>;

    /// Whether the question holds only in deadlocks.
    fn deadlock(&self) -> bool {
        false
    }

    /// Whether the question holds where the cells have these values and the processes are at these
    /// lines. With conditions over inputs ([`Execution::has_conditions`]) the program is in that
    /// state, and the result says whether the question holds for some inputs that lead there.
    /// Otherwise the program may be in any state.
    fn holds(&self, program: &E, values: &[Self::Value], lines: &[Option<usize>]) -> bool;
}

/// A net, with the values and lines that a question is about, for a translation into a formula.
/// Events, conditions and threads are represented by their indices.
#[derive(Clone, Debug, Default)]
pub struct Structure<V> {
    /// Whether reads do not consume conditions. Then an order of the events must be found.
    pub contextual: bool,
    /// For each event, events that must have happened before it; their transitive closure is the
    /// set of its causes.
    pub needs: Vec<Vec<usize>>,
    /// For each condition of a place, the events that take it.
    pub takers: Vec<Vec<usize>>,
    /// For each thread, the events that continue it.
    pub thread_takers: Vec<Vec<usize>>,
    /// In a contextual net, for each condition of a place, the events that read it, which come
    /// before the event that takes it. These are not stored as pairs, because there would be too
    /// many.
    pub readers: Vec<Vec<usize>>,
    /// In a replicated net, pairs of an event that reads a condition and an event that takes it,
    /// unless the first is a cause of the second. The events of a pair exclude each other.
    pub conflicts: Vec<(usize, usize)>,
    /// For each event that decides about inputs: its index, and the conditions over inputs that it
    /// adds to the path ([`Question::conditions`]).
    pub constraints: Vec<(usize, Vec<V>)>,
    /// For each cell of the question: its conditions, the events that make them, and their values.
    /// If no step claims the cell, it has one entry, without a condition, with its initial value.
    pub cells: Vec<(u32, Vec<Valued<V>>)>,
    /// For each process of the question: its threads, the events that make them, and their lines.
    pub points: Vec<(ProcessPath, Vec<Placed>)>,
    /// If the question is about deadlocks: for each thread, the event that makes it, and the ways
    /// in which its process can wait there for ever.
    pub stops: Vec<(Option<usize>, Stops)>,
}

/// The ways in which a process can wait for ever. Each way is a list of conditions, each with the
/// event that makes it: the process waits as long as none of them is taken. `None` for a process
/// that has ended.
pub type Stops = Option<Vec<Vec<(usize, Option<usize>)>>>;

/// A condition, the event that makes it, and the value of its cell. No condition: no step claims
/// the cell. No event: the condition is an initial one.
pub type Valued<V> = (Option<usize>, Option<usize>, V);

/// A thread, the event that makes it (`None`: it exists initially), and the line of its next step
/// (`None`: it has no next step).
pub type Placed = (usize, Option<usize>, Option<usize>);

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The clock of a configuration after which the property holds; `None` if there is none.
    pub clock: Option<Vec<u32>>,
    /// Number of markings examined.
    pub markings: u64,
}

/// A marking of the variables and processes of a property.
#[derive(Clone, Debug)]
struct PropertyMarking {
    clock: Vec<u32>,
    conditions: Vec<u32>,
    threads: Vec<u32>,
}

/// The part of a net that a property is about.
pub(crate) struct Slice<'a, V> {
    net: &'a Net,
    /// For each cell of the question, its place, if some step claims it, and its initial value.
    cells: Vec<(Option<u32>, V)>,
    /// For each process of the question, its identifier, if it exists in one of the tests.
    processes: Vec<Option<ProcessId>>,
    /// For each condition of these places, its value.
    values: Vec<V>,
    /// For each thread of these processes, its line.
    lines: Vec<Option<usize>>,
    /// For each thread of these processes, the events that continue it.
    followers: Vec<Vec<u32>>,
    /// The events that start one of the processes.
    births: Vec<u32>,
}

/// The parts needed to run events and record their effects.
struct EventRunner<'a, E, Q> {
    examiner: &'a mut Examiner,
    program: &'a mut E,
    question: &'a Q,
    tick: &'a mut dyn FnMut() -> ControlFlow<Bound>,
}

impl<'a, V: Copy + Default> Slice<'a, V> {
    /// Collects values and lines by running the events that change them.
    pub fn new<E: Execution, Q: Question<E, Value = V>>(
        net: &'a Net,
        examiner: &mut Examiner,
        program: &mut E,
        question: &Q,
        tick: &mut dyn FnMut() -> ControlFlow<Bound>,
    ) -> ControlFlow<Bound, Self> {
        program.back_to(0);
        let place = |&cell: &u32| {
            (
                net.known_place(Place::Cell(cell)),
                question.value(program, cell),
            )
        };
        let cells: Vec<_> = question.cells().iter().map(place).collect();
        let find = |path: &ProcessPath| program.processes().find(path);
        let processes: Vec<_> = question.processes().iter().map(find).collect();
        let mut slice = Self {
            net,
            values: vec![V::default(); net.conditions.len()],
            lines: vec![None; net.threads.len()],
            followers: vec![Vec::new(); net.threads.len()],
            births: Vec::new(),
            cells,
            processes,
        };
        for &(place, value) in &slice.cells {
            if let Some(place) = place {
                slice.values[net.initial[place as usize] as usize] = value;
            }
        }
        for (number, thread) in net.threads.iter().enumerate() {
            if thread.origin == NONE && slice.processes.contains(&Some(thread.process)) {
                slice.lines[number] = question.line(program, thread.process);
            }
        }
        let mut looking = EventRunner {
            examiner,
            program,
            question,
            tick,
        };
        for event in 0..net.events.len() as u32 {
            slice.run(event, &mut looking)?;
        }
        ControlFlow::Continue(slice)
    }

    /// Records the values and lines that an event changes, if any.
    fn run<E: Execution, Q: Question<E, Value = V>>(
        &mut self,
        event: u32,
        looking: &mut EventRunner<'_, E, Q>,
    ) -> ControlFlow<Bound> {
        let EventRunner {
            examiner,
            program,
            question,
            tick,
        } = looking;
        let net = self.net;
        let node = net.event(event);
        let outputs = node.outputs..node.outputs + node.output_count;
        let cell = |condition: u32| {
            let place = net.condition(condition).place;
            self.cells.iter().position(|known| known.0 == Some(place))
        };
        let written: Vec<(u32, usize)> = outputs.filter_map(|c| Some((c, cell(c)?))).collect();
        let threads = node.thread..node.thread + node.thread_count;
        let watched = |thread: &u32| self.processes.contains(&Some(net.thread(*thread).process));
        let moved: Vec<u32> = threads.filter(watched).collect();
        if written.is_empty() && moved.is_empty() {
            return ControlFlow::Continue(());
        }
        tick()?;
        let there = self.bring(examiner, *program, net.past(node.extension))
            && program.step(node.process, net.chosen(event)).is_ok();
        if !there && program.has_conditions() {
            // The solver found values on this path before and finds no values now. So it has given
            // up, and the caller adds a bound for the query that the solver did not decide.
            return ControlFlow::Continue(());
        }
        assert!(there, "a schedule of the net cannot be followed");
        for (condition, cell) in written {
            self.values[condition as usize] = question.value(program, question.cells()[cell]);
        }
        for thread in moved {
            let process = net.thread(thread).process;
            self.lines[thread as usize] = question.line(program, process);
            if thread == node.thread {
                let before = net.extension(node.extension).thread;
                self.followers[before as usize].push(event);
            } else {
                self.births.push(event)
            }
        }
        ControlFlow::Continue(())
    }

    /// Evaluates the property in every marking of its variables and processes, until it holds.
    pub fn search<E: Execution, Q: Question<E, Value = V>>(
        &self,
        examiner: &mut Examiner,
        program: &mut E,
        question: &Q,
        tick: &mut dyn FnMut() -> ControlFlow<Bound>,
    ) -> ControlFlow<Bound, Answer> {
        let initial = |cell: &(Option<u32>, V)| {
            cell.0
                .map_or(NONE, |place| self.net.initial[place as usize])
        };
        let root = |process: &Option<ProcessId>| {
            let thread = self
                .net
                .threads
                .iter()
                .position(|thread| thread.origin == NONE && Some(thread.process) == *process);
            thread.map_or(NONE, |thread| thread as u32)
        };
        let start = PropertyMarking {
            clock: Vec::new(),
            conditions: self.cells.iter().map(initial).collect(),
            threads: self.processes.iter().map(root).collect(),
        };
        let mut known = FxHashSet::default();
        known.insert((start.conditions.clone(), start.threads.clone()));
        let mut left = std::collections::VecDeque::from([start]);
        let mut markings = 0;
        while let Some(at) = left.pop_front() {
            tick()?;
            if program.has_conditions() && !self.bring(examiner, program, &at.clock) {
                continue;
            }
            markings += 1;
            if self.holds(program, question, &at) {
                let clock = Some(at.clock);
                return ControlFlow::Continue(Answer { clock, markings });
            }
            for event in self.next(&at) {
                if let Some(next) = self.fire(examiner, &at, event)
                    && known.insert((next.conditions.clone(), next.threads.clone()))
                {
                    left.push_back(next);
                }
            }
        }
        let clock = None;
        ControlFlow::Continue(Answer { clock, markings })
    }

    /// Brings the program to a configuration. Returns false if no inputs lead there.
    fn bring<E: Execution>(&self, examiner: &mut Examiner, program: &mut E, clock: &[u32]) -> bool {
        let mut schedule = Vec::new();
        examiner.schedule(self.net, clock, &mut schedule);
        program.back_to(0);
        schedule.iter().all(|&event| {
            let (process, outcomes) = (self.net.event(event).process, self.net.chosen(event));
            program.step(process, outcomes).is_ok()
        })
    }

    fn holds<E, Q: Question<E, Value = V>>(
        &self,
        program: &E,
        question: &Q,
        at: &PropertyMarking,
    ) -> bool {
        let value = |(&condition, cell): (&u32, &(Option<u32>, V))| match condition {
            NONE => cell.1,
            condition => self.values[condition as usize],
        };
        let values: Vec<V> = at.conditions.iter().zip(&self.cells).map(value).collect();
        let line = |&thread: &u32| match thread {
            NONE => None,
            thread => self.lines[thread as usize],
        };
        let lines: Vec<_> = at.threads.iter().map(line).collect();
        question.holds(program, &values, &lines)
    }

    /// Returns the events that may change the marking.
    fn next(&self, at: &PropertyMarking) -> Vec<u32> {
        let mut events = Vec::new();
        for &condition in at.conditions.iter().filter(|&&c| c != NONE) {
            let mut group = self.net.condition(condition).takers;
            while group != NONE {
                let Group { arcs, next, .. } = self.net.groups[group as usize];
                let mut arc = arcs;
                while arc != NONE {
                    let input = self.net.arcs[arc as usize];
                    if input.write {
                        events.push(input.owner);
                    }
                    arc = input.next;
                }
                group = next;
            }
        }
        for &thread in &at.threads {
            match thread {
                NONE => events.extend_from_slice(&self.births),
                thread => events.extend_from_slice(&self.followers[thread as usize]),
            }
        }
        events.sort_unstable();
        events.dedup();
        events
    }

    /// Returns the marking with an event added, if that is possible. In a contextual net the event
    /// may read a condition that another event of the marking has already taken: then the reader
    /// happened before the taker.
    fn fire(
        &self,
        examiner: &mut Examiner,
        at: &PropertyMarking,
        event: u32,
    ) -> Option<PropertyMarking> {
        let net = self.net;
        let node = net.event(event);
        let mut next = at.clone();
        let taken = net.inputs(event).iter().filter(|input| input.write);
        for (produced, input) in (node.outputs..).zip(taken) {
            let place = net.condition(input.condition).place;
            let Some(k) = self.cells.iter().position(|cell| cell.0 == Some(place)) else {
                continue;
            };
            if next.conditions[k] != input.condition {
                return None;
            }
            next.conditions[k] = produced;
        }
        if !net.join_event(&mut next.clock, event) {
            return None;
        }
        let before = net.extension(node.extension).thread;
        let own = self.processes.iter().position(|p| *p == Some(node.process));
        if own.is_some_and(|k| next.threads[k] != before) {
            return None;
        }
        for thread in node.thread..node.thread + node.thread_count {
            let process = Some(net.thread(thread).process);
            if let Some(k) = self.processes.iter().position(|p| *p == process) {
                next.threads[k] = thread;
            }
        }
        // If the causes of the event have moved a process on, that is a separate step of the
        // search.
        for (process, &thread) in self.processes.iter().zip(&next.threads) {
            let Some(process) = *process else { continue };
            let here = next.clock.get(process.index()).copied().unwrap_or(NONE);
            let last = if thread == NONE {
                NONE
            } else {
                net.thread(thread).last
            };
            if here != last {
                return None;
            }
        }
        let kept: Vec<u32> = next
            .conditions
            .iter()
            .copied()
            .filter(|&c| c != NONE)
            .collect();
        examiner.reaches(net, &next.clock, &kept).then_some(next)
    }

    /// Returns the whole net with the values and lines of the question, for a translation into a
    /// formula.
    pub fn structure<E: Execution, Q: Question<E, Value = V>>(
        &self,
        examiner: &mut Examiner,
        program: &mut E,
        question: &Q,
        tick: &mut dyn FnMut() -> ControlFlow<Bound>,
    ) -> ControlFlow<Bound, Structure<V>> {
        let net = self.net;
        let event = |event: u32| (event != NONE).then_some(event as usize);
        let mut all = Structure {
            contextual: net.kind == NetKind::Contextual,
            takers: vec![Vec::new(); net.conditions.len()],
            thread_takers: vec![Vec::new(); net.threads.len()],
            needs: Vec::new(),
            readers: Vec::new(),
            conflicts: Vec::new(),
            constraints: Vec::new(),
            cells: Vec::new(),
            points: Vec::new(),
            stops: Vec::new(),
        };
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); net.conditions.len()];
        for number in 0..net.events.len() as u32 {
            tick()?;
            let extension = net.event(number).extension;
            let past = net.past(extension).iter().copied();
            all.needs.push(past.filter_map(event).collect());
            let thread = net.extension(extension).thread as usize;
            all.thread_takers[thread].push(number as usize);
            for input in net.inputs(number) {
                if input.write {
                    all.takers[input.condition as usize].push(number as usize)
                } else {
                    readers[input.condition as usize].push(number as usize)
                }
            }
        }
        if all.contextual {
            all.readers = readers;
        } else {
            for (readers, takers) in readers.iter().zip(&all.takers) {
                for &reader in readers {
                    tick()?;
                    let apart = takers
                        .iter()
                        .filter(|&&taker| !precedes(net, reader, taker));
                    all.conflicts.extend(apart.map(|&taker| (reader, taker)));
                }
            }
        }
        for (&cell, &(place, initial)) in question.cells().iter().zip(&self.cells) {
            let mut found = Vec::new();
            for (number, condition) in net.conditions.iter().enumerate() {
                if Some(condition.place) == place {
                    let value = self.values[number];
                    found.push((Some(number), event(condition.producer), value));
                }
            }
            if place.is_none() {
                found.push((None, None, initial));
            }
            all.cells.push((cell, found));
        }
        for (path, &process) in question.processes().iter().zip(&self.processes) {
            let threads = net.threads.iter().enumerate();
            let own = threads.filter(|(_, thread)| Some(thread.process) == process);
            let placed =
                own.map(|(number, thread)| (number, event(thread.origin), self.lines[number]));
            all.points.push((path.clone(), placed.collect()));
        }
        if question.deadlock() {
            all.stops = stops(net);
        }
        if program.has_conditions() {
            for number in 0..net.events.len() as u32 {
                let node = net.event(number);
                if node.outcome_count > 0 {
                    tick()?;
                    self.bring(examiner, program, net.past(node.extension));
                    if program.step(node.process, net.chosen(number)).is_ok() {
                        let added = question.conditions(program);
                        all.constraints.push((number as usize, added));
                    }
                }
            }
        }
        program.back_to(0);
        ControlFlow::Continue(all)
    }
}

/// Whether an event is a cause of another.
fn precedes(net: &Net, first: usize, second: usize) -> bool {
    let past = net.past(net.events[second].extension);
    let process = net.events[first].process;
    let last = past.get(process.index()).copied().unwrap_or(NONE);
    last != NONE && net.is_at_or_after(last, first as u32)
}

/// Returns, for each thread, the event that makes it, and the ways in which its process can wait
/// there for ever.
fn stops(net: &Net) -> Vec<(Option<usize>, Stops)> {
    let event = |event: u32| (event != NONE).then_some(event as usize);
    let closed = |extension: &u32| net.extension(*extension).phase == Phase::Closed;
    let waits = |extension: u32| {
        let conditions = net.preset(extension).iter().map(|input| input.condition);
        let with_event = |condition| {
            let producer = net.condition(condition).producer;
            (condition as usize, event(producer))
        };
        conditions.map(with_event).collect()
    };
    let all = (0..).zip(&net.threads).map(|(number, thread)| {
        let stops = match thread.status {
            Status::Ended => None,
            // A process that is neither ready nor waiting has no closed extensions: its list is
            // empty.
            _ => Some(
                net.extensions_of(number)
                    .filter(closed)
                    .map(waits)
                    .collect(),
            ),
        };
        (event(thread.origin), stops)
    });
    all.collect()
}

/// Evaluates a question in each deadlock of a net, until it holds.
pub(crate) fn search_deadlocks<E: Execution, Q: Question<E>>(
    net: &Net,
    examiner: &mut Examiner,
    program: &mut E,
    question: &Q,
    tick: &mut dyn FnMut() -> ControlFlow<Bound>,
) -> ControlFlow<Bound, Answer> {
    let mut search = QuestionSearch {
        net,
        examiner: Examiner::default(),
        program,
        question,
        tick,
        answer: Answer {
            clock: None,
            markings: 0,
        },
    };
    let searched = deadlocks::search(net, examiner, &mut search);
    match search.answer.clock {
        Some(_) => ControlFlow::Continue(search.answer),
        None => searched.map_continue(|()| search.answer),
    }
}

/// Evaluates a question in the deadlocks that a search finds.
struct QuestionSearch<'a, E, Q> {
    net: &'a Net,
    examiner: Examiner,
    program: &'a mut E,
    question: &'a Q,
    tick: &'a mut dyn FnMut() -> ControlFlow<Bound>,
    answer: Answer,
}

impl<E: Execution, Q: Question<E>> Hunter for QuestionSearch<'_, E, Q> {
    fn found(&mut self, clock: Vec<u32>) -> ControlFlow<Bound> {
        let mut schedule = Vec::new();
        self.examiner.schedule(self.net, &clock, &mut schedule);
        self.program.back_to(0);
        let there = schedule.iter().all(|&event| {
            let (process, outcomes) = (self.net.event(event).process, self.net.chosen(event));
            self.program.step(process, outcomes).is_ok()
        });
        // Either no inputs lead there, or a step in which a process stays was made too late (see
        // the head of `deadlocks`).
        if !there || End::classify(self.program) != End::Deadlock {
            return ControlFlow::Continue(());
        }
        self.answer.markings += 1;
        let (program, question) = (&*self.program, self.question);
        let values = question.cells().iter();
        let values: Vec<_> = values.map(|&cell| question.value(program, cell)).collect();
        let line = |path: &ProcessPath| question.line(program, program.processes().find(path)?);
        let lines: Vec<_> = question.processes().iter().map(line).collect();
        if !question.holds(program, &values, &lines) {
            return ControlFlow::Continue(());
        }
        self.answer.clock = Some(clock);
        // The bound only stops the search: the caller checks the answer first.
        ControlFlow::Break(Bound::Undecided)
    }

    fn tick(&mut self) -> ControlFlow<Bound> {
        (self.tick)()
    }
}
