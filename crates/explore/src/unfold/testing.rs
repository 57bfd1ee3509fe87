//! Systematic testing: test executions that together cover the whole net.
//!
//! Thesis, Fig. 3.11 and 5.5. A test runs a schedule to an extension that no test has covered,
//! makes its step, and continues until no process can make a step. It prefers steps that no test
//! has made. If there are none, it searches for a path to another uncovered extension (section
//! 3.9). All steps of the test become part of the net, and the net shows which extensions are not
//! covered. So every test covers an event that no earlier test has covered: there are never more
//! tests than traces.
//!
//! | thesis | here |
//! |---|---|
//! | EXECUTE(P, target, k) | [`Tester::cover`] |
//! | CORRESPONDINGEVENT(o, M) | [`Tester::next_of`] |
//! | M | `marking`, `threads` |
//!
//! Deviation: whether the guard of an extension is open is known only when a test evaluates it. A
//! run that finds it closed ends there and counts as blocked.
//!
//! `sides.rs` describes the differences for programs with inputs.

use std::ops::ControlFlow;

use mazurka_core::{Bound, Execution, ProcessId, Random, Schedule, ScheduledStep, Status};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::extensions::Builder;
use super::net::{NONE, NetKind, Phase};
use super::parts::Part;
use super::region::Region;
use super::session::{Session, done, next};
use crate::algorithms::naive::next_outcomes;
use crate::drive::driver::End;
use crate::drive::findings::Findings;

/// Number of extensions examined in search of one that the current test can cover, too: all if
/// there are at most `FEW`, otherwise `GLANCES`.
const FEW: usize = 64;
const GLANCES: usize = 8;

/// Runs tests and builds the net from them.
pub(crate) struct Tester<'a, 'w, E> {
    pub(super) session: Session<'a, 'w, E>,
    pub(super) builder: Builder,
    /// The part of the net that is built; `None` for the whole net.
    part: Option<&'a Part>,
    /// Whether outcomes are sides of conditions over inputs.
    conditional: bool,
    pub(super) random: Random,
    /// For extensions whose step chooses: the outcomes to try next. With conditions over inputs the
    /// list of outcomes is empty, and an entry means only that sides may be left.
    pub(super) chances: FxHashMap<u32, SmallVec<[i64; 1]>>,
    /// Extensions of which a test has covered a side in passing, so that it is unknown whether
    /// other sides are left.
    pub(super) passed: Vec<u32>,
    /// The events of the net that the program's current run consists of.
    pub(super) run: Vec<u32>,
    /// For each place, its condition.
    marking: Vec<u32>,
    /// For each place (in a replicated net), the events that have read its condition.
    readers: Vec<Vec<u32>>,
    /// For each process, its thread.
    threads: Vec<u32>,
    pub(super) schedule: Vec<u32>,
    clock: Vec<u32>,
    preset: Vec<u32>,
}

impl<'a, 'w, E: Execution> Tester<'a, 'w, E> {
    pub fn new(session: Session<'a, 'w, E>, kind: NetKind, seed: u64) -> Self {
        Self::of(None, session, kind, seed)
    }

    /// Creates a tester that builds a part of the net.
    pub fn in_part(part: &'a Part, session: Session<'a, 'w, E>, kind: NetKind, seed: u64) -> Self {
        Self::of(Some(part), session, kind, seed)
    }

    fn of(part: Option<&'a Part>, session: Session<'a, 'w, E>, kind: NetKind, seed: u64) -> Self {
        let program = &*session.program;
        let processes = program.processes().in_order().iter().copied();
        let roots = processes.filter(|&process| program.status(process) != Status::Unborn);
        let conditional = program.has_conditions();
        let next = roots.map(|process| next(program, process));
        let region = part.map(|part| Region::without(part.forbidden.clone()));
        let builder = Builder::new(kind, conditional, region, next);
        Self {
            session,
            builder,
            part,
            conditional,
            random: Random::new(seed),
            chances: FxHashMap::default(),
            passed: Vec::new(),
            run: Vec::new(),
            marking: Vec::new(),
            readers: Vec::new(),
            threads: Vec::new(),
            schedule: Vec::new(),
            clock: Vec::new(),
            preset: Vec::new(),
        }
    }

    /// Runs tests until every extension is covered.
    pub fn test(self) -> (Builder, Findings) {
        self.test_after(&[])
    }

    /// Like `test`, but the first tests follow these schedules.
    pub fn test_after(mut self, recorded: &[Schedule]) -> (Builder, Findings) {
        if let ControlFlow::Break(bound) = self.run_tests(recorded) {
            self.session.break_off(bound);
        }
        let mut found = self.session.finish();
        found.counts.events = self.builder.net.events.len() as u64;
        (self.builder, found)
    }

    /// Runs the recorded tests, then tests that cover the other extensions, and finds the
    /// deadlocks.
    fn run_tests(&mut self, recorded: &[Schedule]) -> ControlFlow<Bound> {
        self.session.start()?;
        if self.builder.pending.is_empty() {
            // A run without steps is a run, too.
            self.end();
        }
        if let Some(part) = self.part {
            self.enter(part)?;
        }
        for schedule in recorded {
            if !self.session.ledger.certain {
                self.run_again(schedule)?;
            }
        }
        self.cover_all()?;
        if self.session.ledger.certain {
            ControlFlow::Continue(())
        } else {
            self.find_deadlocks()
        }
    }

    /// Covers one extension after the other, until none is left or the verdict is certain.
    fn cover_all(&mut self) -> ControlFlow<Bound> {
        while let Some(target) = self.pick() {
            if self.session.ledger.certain {
                break;
            }
            self.cover(target)?;
            while let Some(extension) = self.passed.pop() {
                self.look_at_sides(extension)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Records the end of a run. A run that lacks a required event of the part is a run of another
    /// part; it counts as blocked.
    fn end(&mut self) {
        let region = self.builder.region.as_ref();
        let end = match region.is_none_or(|region| region.holds_run(&self.run)) {
            true => End::classify(self.session.program),
            false => End::Blocked,
        };
        self.session.end(end);
    }

    /// Runs the required events of a part, and then continues as a test.
    fn enter(&mut self, part: &Part) -> ControlFlow<Bound> {
        if part.prefix.0.is_empty() {
            return ControlFlow::Continue(());
        }
        self.session.may_run()?;
        self.follow(&[])?;
        for ScheduledStep { process, .. } in &part.prefix.0 {
            let process = self.session.program.processes().find(process);
            let process = process.expect("a process of the required events");
            let extension = self.next_of(process);
            self.step(extension, false)?;
        }
        let required = part.required.iter().map(|&at| self.run[at]);
        let required = required.collect();
        let mut clock = Vec::new();
        for &event in &self.run {
            super::net::set(&mut clock, self.builder.net.event(event).process, event);
        }
        self.builder.require(required, &clock);
        self.continue_run()
    }

    /// Finds the deadlocks that the net represents, whether or not a test has met them, and runs
    /// each.
    fn find_deadlocks(&mut self) -> ControlFlow<Bound> {
        let mut clocks = self.session.deadlocks(&mut self.builder);
        if let Some(region) = &self.builder.region {
            // The others are deadlocks of other parts.
            clocks.retain(|clock| region.holds(&self.builder.net, clock));
        }
        self.session.ledger.found.counts.deadlocks = 0;
        let mut schedule = Vec::new();
        for clock in &clocks {
            let Builder { net, examiner, .. } = &mut self.builder;
            examiner.schedule(net, clock, &mut schedule);
            if !self.follow(&schedule)? {
                // No inputs lead there.
                continue;
            }
            let end = End::classify(self.session.program);
            if end != End::Deadlock && self.conditional {
                // This run is not deadlocked: a step in which a process stays may have been made
                // too late (see the head of `deadlocks`).
                continue;
            }
            let run = || {
                let program = &self.session.program;
                Schedule::from_run(program.events(), program.processes())
            };
            assert_eq!(
                end,
                End::Deadlock,
                "the net has no such deadlock: {}",
                run()
            );
            self.session.ledger.found.counts.deadlocks += 1;
            self.session.ledger.deadlock(self.session.program);
            self.builder.add_deadlock(self.session.program, &schedule);
        }
        ControlFlow::Continue(())
    }

    /// Returns an extension that no test has covered.
    fn pick(&mut self) -> Option<u32> {
        loop {
            let pending = &mut self.builder.pending;
            if pending.is_empty() {
                return None;
            }
            let at = self.random.below(pending.len() as u64) as usize;
            let extension = pending.swap_remove(at);
            let target = self.settled(extension);
            if self.open(target) {
                return Some(target);
            }
        }
    }

    /// Returns the extension itself, or the extension that represents it.
    fn settled(&mut self, extension: u32) -> u32 {
        let net = &self.builder.net;
        match net.extension(extension).phase {
            Phase::Alias => net.extension(extension).events,
            Phase::Pending => self.builder.settle(extension),
            Phase::Closed | Phase::Done | Phase::Impossible | Phase::Barred => extension,
        }
    }

    /// Whether some outcome of an extension's step may not be covered by a test yet.
    fn open(&self, extension: u32) -> bool {
        match self.builder.net.extension(extension).phase {
            Phase::Pending => true,
            Phase::Done => self.chances.contains_key(&extension),
            Phase::Closed | Phase::Alias | Phase::Impossible | Phase::Barred => false,
        }
    }

    /// Whether the step of an extension is outside of the part that is built.
    fn is_barred(&self, extension: u32) -> bool {
        self.builder.net.extension(extension).phase == Phase::Barred
    }

    /// Runs a test that covers an extension.
    fn cover(&mut self, target: u32) -> ControlFlow<Bound> {
        self.session.may_run()?;
        let mut schedule = std::mem::take(&mut self.schedule);
        let past = self.builder.net.past(target).to_vec();
        self.builder
            .examiner
            .schedule(&self.builder.net, &past, &mut schedule);
        if schedule.len() as u64 >= self.session.limits.depth() {
            self.schedule = schedule;
            let bound = Bound::MaxDepth(self.session.limits.depth());
            self.session.ledger.found.bound(bound);
            return ControlFlow::Continue(());
        }
        let followed = self.follow(&schedule);
        self.schedule = schedule;
        if !followed? {
            self.builder.net.extensions[target as usize].phase = Phase::Impossible;
            return ControlFlow::Continue(());
        }
        let thread = self.builder.net.extension(target).thread;
        let process = self.builder.net.thread(thread).process;
        if self.session.program.status(process) != Status::Ready {
            self.builder.net.extensions[target as usize].phase = Phase::Closed;
            self.session.ledger.found.counts.blocked += 1;
            return ControlFlow::Continue(());
        }
        if self.step(target, true)? {
            self.continue_run()
        } else {
            // No feasible side of the step is left.
            ControlFlow::Continue(())
        }
    }

    /// Runs a test that follows a schedule as far as it can, and then continues.
    fn run_again(&mut self, schedule: &Schedule) -> ControlFlow<Bound> {
        self.session.may_run()?;
        self.follow(&[])?;
        for ScheduledStep { process, outcomes } in &schedule.0 {
            let process = self.session.program.processes().find(process);
            let ready =
                |&process: &ProcessId| self.session.program.status(process) == Status::Ready;
            let Some(process) = process.filter(ready) else {
                break;
            };
            if self.run.len() as u64 >= self.session.limits.depth() {
                break;
            }
            let extension = self.next_of(process);
            let net = &self.builder.net;
            let mut events = net.events_of(extension);
            let known = events.find(|&event| net.chosen(event) == &outcomes[..]);
            drop(events);
            match known {
                Some(event) => drop(self.step_again(event)?),
                // Outcomes are tried in order, so the step may have other outcomes than the
                // recorded ones.
                None if self.open(extension) => {
                    self.step(extension, false)?;
                    let made = self.run.last().map(|&event| self.builder.net.chosen(event));
                    if made != Some(&outcomes[..]) {
                        break;
                    }
                }
                None => break,
            }
        }
        self.continue_run()
    }

    /// Brings the program to the end of a schedule, going back no further than necessary. Returns
    /// false if no inputs lead there.
    pub(super) fn follow(&mut self, schedule: &[u32]) -> ControlFlow<Bound, bool> {
        let same = self.run.iter().zip(schedule).take_while(|(a, b)| a == b);
        let same = same.count();
        self.session.program.back_to(same);
        self.reset();
        self.run.clear();
        for (at, &event) in schedule.iter().enumerate() {
            if at < same {
                self.advance(event);
            } else if !self.step_again(event)? {
                return ControlFlow::Continue(false);
            }
        }
        ControlFlow::Continue(true)
    }

    /// Restores the initial marking.
    fn reset(&mut self) {
        let net = &self.builder.net;
        self.marking.clear();
        self.marking.extend_from_slice(&net.initial);
        self.readers.iter_mut().for_each(Vec::clear);
        self.threads.clear();
        for (number, thread) in net.threads.iter().enumerate() {
            if thread.origin != NONE {
                break;
            }
            super::net::set(&mut self.threads, thread.process, number as u32);
        }
    }

    /// Updates the marking by an event of the run.
    pub(super) fn advance(&mut self, event: u32) {
        let net = &self.builder.net;
        self.run.push(event);
        let known = self.marking.len();
        self.marking.extend_from_slice(&net.initial[known..]);
        let node = net.event(event);
        let mut output = node.outputs;
        for input in net.inputs(event) {
            let place = net.condition(input.condition).place as usize;
            if input.write {
                self.marking[place] = output;
                output += 1;
            }
            if net.kind == NetKind::Replicated {
                if self.readers.len() <= place {
                    self.readers.resize_with(net.places.len(), Vec::new);
                }
                if input.write {
                    self.readers[place].clear()
                } else {
                    self.readers[place].push(event)
                }
            }
        }
        for thread in node.thread..node.thread + node.thread_count {
            super::net::set(&mut self.threads, net.thread(thread).process, thread);
        }
    }

    /// Returns the extension that the next step of a process belongs to.
    fn next_of(&mut self, process: ProcessId) -> u32 {
        let thread = self.threads[process.index()];
        let mut preset = std::mem::take(&mut self.preset);
        let mut clock = std::mem::take(&mut self.clock);
        preset.clear();
        clock.clear();
        let net = &self.builder.net;
        let known = self.marking.len();
        self.marking.extend_from_slice(&net.initial[known..]);
        let claimed = net.claims_of(thread);
        preset.extend(claimed.iter().map(|c| self.marking[c.place as usize]));
        if net.kind == NetKind::Replicated {
            net.clock(net.thread(thread).origin, &mut clock);
            for (claimed, &condition) in claimed.iter().zip(&preset) {
                net.join_event(&mut clock, net.condition(condition).producer);
                let readers = self.readers.get(claimed.place as usize);
                for &event in readers.into_iter().flatten().filter(|_| claimed.write) {
                    net.join_event(&mut clock, event);
                }
            }
        }
        let found = net.find(thread, &preset, &clock);
        self.preset = preset;
        self.clock = clock;
        let Some(found) = found else {
            panic!("a step that no extension foresaw");
        };
        self.settled(found)
    }

    /// Makes the step of an extension, which is possible now. `alone` says whether only its causes
    /// have been run. Returns false if the step yields nothing new, which happens only with
    /// conditions over inputs.
    fn step(&mut self, extension: u32, alone: bool) -> ControlFlow<Bound, bool> {
        if self.conditional {
            return self.step_conditionally(extension, alone);
        }
        let net = &self.builder.net;
        let process = net.thread(net.extension(extension).thread).process;
        let outcomes: SmallVec<[i64; 1]> = match self.chances.get(&extension) {
            Some(outcomes) => outcomes.clone(),
            None => {
                let known: SmallVec<[u32; 4]> = net.events_of(extension).collect();
                match known.len() as u64 {
                    0 => SmallVec::new(),
                    n => net.chosen(known[self.random.below(n) as usize]).into(),
                }
            }
        };
        let made = self.session.step(process, &outcomes)?;
        assert!(made.is_ok(), "an extension that is open is not possible");
        let event = &self.session.program.events()[self.run.len()];
        let done = done(self.session.program, event);
        let more = next_outcomes(event);
        let (session, builder) = (&mut self.session, &mut self.builder);
        let look = &mut || session.check_limits_at_intervals();
        let (node, new) = builder.add_event(extension, &done, look)?;
        if new {
            let owner = self.builder.net.event(node).extension;
            match more {
                Some(outcomes) => {
                    self.chances.insert(owner, outcomes);
                    self.builder.pending.push(owner);
                }
                None => drop(self.chances.remove(&owner)),
            }
            self.note_mishaps(node);
        }
        self.advance(node);
        ControlFlow::Continue(true)
    }

    /// Records the mishaps of an event. Its step is the last step of the program and not yet part
    /// of the run.
    pub(super) fn note_mishaps(&mut self, event: u32) {
        let at = self.run.len();
        if self.session.program.events()[at].mishaps.is_empty() {
            return;
        }
        let net = &self.builder.net;
        let mut clock = Vec::new();
        net.clock(event, &mut clock);
        let is_cause = |&(_, &other): &(usize, &u32)| {
            let last = clock.get(net.event(other).process.index()).copied();
            last.is_some_and(|last| last != NONE && net.is_at_or_after(last, other))
        };
        let causes = self.run.iter().enumerate().filter(is_cause);
        let causes: Vec<usize> = causes.map(|(at, _)| at).chain([at]).collect();
        let Session {
            program, ledger, ..
        } = &mut self.session;
        ledger.mishaps_after(*program, &causes);
    }

    /// Continues until no process can make a step; prefers new steps.
    fn continue_run(&mut self) -> ControlFlow<Bound> {
        let mut look_further = true;
        loop {
            let processes = self.session.program.processes().in_order().to_vec();
            let mut choices: SmallVec<[u32; 8]> = SmallVec::new();
            let mut fresh: SmallVec<[u32; 8]> = SmallVec::new();
            for process in processes {
                let status = self.session.program.status(process);
                if !matches!(status, Status::Ready | Status::Waiting) {
                    continue;
                }
                let extension = self.next_of(process);
                match status {
                    Status::Ready if self.is_barred(extension) => {}
                    Status::Ready => {
                        choices.push(extension);
                        if self.open(extension) {
                            fresh.push(extension);
                        }
                    }
                    _ => self.builder.net.extensions[extension as usize].phase = Phase::Closed,
                }
            }
            let from = if fresh.is_empty() { &choices } else { &fresh };
            if from.is_empty() {
                self.end();
                return ControlFlow::Continue(());
            }
            if self.run.len() as u64 >= self.session.limits.depth() {
                let bound = Bound::MaxDepth(self.session.limits.depth());
                self.session.ledger.found.bound(bound);
                self.session.end(End::Cut);
                return ControlFlow::Continue(());
            }
            let at = self.random.below(from.len() as u64) as usize;
            let choice = from[at];
            if look_further && fresh.is_empty() {
                let path = self.path_to_another();
                look_further = path.is_some();
                if let Some(path) = path {
                    for event in path {
                        // With inputs, the rest of `path` may turn out to be infeasible after this
                        // event.
                        look_further = self.step_again(event)?;
                        if !look_further {
                            break;
                        }
                    }
                    continue;
                }
            }
            self.step(choice, false)?;
        }
    }

    /// Returns known events that lead from the end of the current run to another extension that no
    /// test has covered. Only a few extensions are examined: another test costs less than examining
    /// all.
    fn path_to_another(&mut self) -> Option<Vec<u32>> {
        let mut here = Vec::new();
        for &event in &self.run {
            super::net::set(&mut here, self.builder.net.event(event).process, event);
        }
        let few = self.builder.pending.len() <= FEW;
        if few {
            let mut pending = std::mem::take(&mut self.builder.pending);
            pending.retain(|&extension| self.open(extension));
            self.builder.pending = pending;
        }
        let count = self.builder.pending.len();
        if count == 0 {
            return None;
        }
        let first = self.random.below(count as u64) as usize;
        for glance in 0..if few { count } else { GLANCES } {
            let pending = &mut self.builder.pending;
            let at = if few || glance == 0 {
                (first + glance) % count
            } else {
                self.random.below(pending.len() as u64) as usize
            };
            let extension = pending[at];
            if !self.open(extension) {
                self.builder.pending.swap_remove(at);
                if self.builder.pending.is_empty() {
                    return None;
                }
                continue;
            }
            let Builder { net, examiner, .. } = &mut self.builder;
            let thread = net.thread(net.extension(extension).thread);
            let mut there = here.clone();
            let preset: SmallVec<[u32; 8]> =
                net.preset(extension).iter().map(|i| i.condition).collect();
            let fits = net.join(&mut there, net.past(extension))
                && there.get(thread.process.index()).copied().unwrap_or(NONE) == thread.last
                && examiner.reaches(net, &there, &preset);
            if fits && let Some(path) = self.path(&here, &there) {
                return Some(path);
            }
        }
        None
    }

    /// Returns the events between two configurations, in an order in which they can follow the run;
    /// `None` if there is no such order, or no event between them.
    fn path(&self, here: &[u32], there: &[u32]) -> Option<Vec<u32>> {
        let net = &self.builder.net;
        let mut heads: Vec<Vec<u32>> = Vec::new();
        for (process, &last) in there.iter().enumerate() {
            let from = here.get(process).copied().unwrap_or(NONE);
            let mut chain = Vec::new();
            let mut event = last;
            while event != from {
                chain.push(event);
                event = net.event(event).parent;
            }
            heads.push(chain);
        }
        let mut marking = self.marking.clone();
        let mut path = Vec::new();
        loop {
            let before = path.len();
            for chain in &mut heads {
                while let Some(&event) = chain.last() {
                    let origin = net
                        .thread(net.extension(net.event(event).extension).thread)
                        .origin;
                    let born =
                        origin == NONE || self.run.contains(&origin) || path.contains(&origin);
                    let there = |input: &super::net::Input| {
                        let place = net.condition(input.condition).place as usize;
                        let marked = marking.get(place).copied();
                        marked.unwrap_or(net.initial[place]) == input.condition
                    };
                    if !born || !net.inputs(event).iter().all(there) {
                        break;
                    }
                    marking.extend_from_slice(&net.initial[marking.len()..]);
                    let taken = net.inputs(event).iter().filter(|input| input.write);
                    for (output, input) in (net.event(event).outputs..).zip(taken) {
                        marking[net.condition(input.condition).place as usize] = output;
                    }
                    path.push(event);
                    chain.pop();
                }
            }
            if heads.iter().all(Vec::is_empty) {
                return (!path.is_empty()).then_some(path);
            }
            if path.len() == before {
                return None;
            }
        }
    }

    /// Makes the step of a known event. Returns false if the event is infeasible for all inputs
    /// that follow the current run.
    pub(super) fn step_again(&mut self, event: u32) -> ControlFlow<Bound, bool> {
        let process = self.builder.net.event(event).process;
        let outcomes = self.builder.net.chosen(event);
        let made = self.session.step(process, outcomes)?;
        if self.conditional && made.is_err() {
            return ControlFlow::Continue(false);
        }
        assert!(made.is_ok(), "a path of the net cannot be followed");
        self.advance(event);
        ControlFlow::Continue(true)
    }
}
