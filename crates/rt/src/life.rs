//! How executions, threads and steps begin and end.

use std::any::Any;

use mazurka_core::{Access, Event, Mishap, MishapKind, ProcessId, ProcessTable, Status};

use crate::alloc::Watched;
use crate::builder::Builder;
use crate::names::{Names, next_epoch};
use crate::spurious::SpuriousEvents;
use crate::world::{Failure, Inner, Life, Pending, Place, Start, StepEffects, ThreadState, Until};

/// The message of a panic whose payload is not text.
pub(crate) const NO_TEXT: &str = "a panic with a value that is no text";

/// The message of the panic of `thread::scope` after a thread of the scope has panicked.
pub(crate) const SCOPED: &str = "a scoped thread panicked";

impl Inner {
    pub fn new(settings: &Builder) -> Self {
        Self {
            epoch: 0,
            current: ProcessId(0),
            in_step: false,
            threads: Vec::new(),
            alive: 0,
            given_up: None,
            unwinding: 0,
            real_panic: false,
            cells: Vec::new(),
            names: Names::default(),
            effects: StepEffects::default(),
            recording: false,
            clocks: Default::default(),
            failures: Vec::new(),
            restart: false,
            probing: false,
            chosen: None,
            watched_ends: false,
            guarded: false,
            readers: Default::default(),
            weak: false,
            refused: None,
            spun: false,
            shared: false,
            random_choices: None,
            spins: settings.spins,
            loops: Default::default(),
            spurious: SpuriousEvents {
                most: [
                    settings.spurious_wakes,
                    settings.spurious_polls,
                    settings.spurious_failures,
                ],
                ..SpuriousEvents::default()
            },
            watched: Watched::new(settings.leaks),
            freed: Default::default(),
            #[cfg(feature = "symbolic")]
            unknowns: crate::unknowns::Unknowns::new(settings),
        }
    }

    /// Starts a new execution.
    pub fn begin(&mut self) {
        self.epoch = next_epoch();
        self.in_step = false;
        self.loops.begin();
        self.watched.begin();
        self.freed.begin();
        self.alive = 0;
        self.unwinding = 0;
        self.real_panic = std::thread::panicking();
        self.clocks.reset();
        self.names.regions.clear();
        self.effects.clear();
        #[cfg(feature = "symbolic")]
        self.unknowns.begin();
        for thread in &mut self.threads {
            thread.life = Life::Unborn;
            thread.unwinding = false;
        }
    }

    /// Returns the access that each started thread has announced; `None` if the announced operation
    /// is not an access.
    pub fn opening(&self) -> impl Iterator<Item = Option<Access>> {
        let started = self
            .threads
            .iter()
            .filter(|thread| thread.life != Life::Unborn);
        started.map(|thread| thread.pending.access)
    }

    /// Whether the threads of this execution announce the same first accesses as those of an
    /// earlier one. Also true if inputs were compared before the first step, because then the two
    /// executions may differ.
    pub fn opens_like(&self, before: &[Option<Access>]) -> bool {
        #[cfg(feature = "symbolic")]
        if !self.unknowns.path.is_empty() {
            return true;
        }
        self.opening().eq(before.iter().copied())
    }

    /// Starts a thread.
    pub fn start_thread(&mut self, process: ProcessId, start: &Start, table: &ProcessTable) {
        while self.threads.len() <= process.index() {
            let path = table.path(ProcessId(self.threads.len() as u32)).clone();
            self.names.paths.push(path);
            let cells = ["token", "arbiter", "permit", "end"].map(|kind| self.new_cell(kind));
            self.threads.push(ThreadState::new(cells, start.place));
        }
        let thread = &mut self.threads[process.index()];
        thread.life = Life::Alive;
        thread.pending = Pending::new(None, ("", "start"), start.place);
        (thread.steps, thread.children) = (0, 0);
        (thread.awaiting, thread.token, thread.notified) = (false, false, false);
        thread.spin.reset();
        thread.repetition.end();
        thread.spurious = [0; 3];
        thread.stops = None;
        thread.locals.forget();
        thread.engine.reset();
        (thread.ended, thread.destroys, thread.leaving) = (0, None, false);
        thread.seen_destructors = 0;
        thread.name.clone_from(&start.name);
        thread.started = start.place;
        (thread.panicked, thread.failure, thread.learned) = (false, None, None);
        let cells = thread.cells;
        for cell in cells {
            self.clean(cell);
        }
        self.alive += 1;
    }

    /// Ends the current thread.
    pub fn end_current_thread(&mut self, panicked: bool) {
        self.unwinds(false);
        self.end_spawn_join_clock();
        let process = self.current;
        let failure = self.threads[process.index()].failure;
        let thread = self.me();
        thread.life = Life::Ended;
        if panicked && process == ProcessId(0) {
            thread.life = Life::Failed;
            self.effects.mishaps.extend(failure.map(|site| Mishap {
                process: Some(process),
                kind: MishapKind::Failure,
                site,
            }));
            return;
        }
        self.alive -= 1;
        // A leak is a failure of the thread that ends last.
        if self.alive == 0
            && self.given_up.is_none()
            && let Some(leak) = self.leaked()
        {
            let site = self.failure(leak);
            let thread = self.me();
            (thread.panicked, thread.failure) = (true, Some(site));
        }
    }

    /// Begins the step of a thread. The choices in this step take the values `wanted`, in order.
    pub fn begin_step(&mut self, process: ProcessId, wanted: &[i64]) {
        self.effects.clear();
        #[cfg(feature = "symbolic")]
        self.unknowns.decisions.clear();
        self.effects.wanted.extend_from_slice(wanted);
        let thread = &mut self.threads[process.index()];
        thread.steps += 1;
        self.effects.made = Some(thread.pending);
        if let Until::Ended(child) = thread.pending.until {
            thread.spin.progress();
            self.effects.joined.push(child);
            self.clocks.order(child, process);
            self.join_spawn_join_clock(child.index(), process.index());
        }
    }

    /// Fills in the fields of an event that are known before its step.
    #[inline]
    pub fn prepare(&self, process: ProcessId, event: &mut Event) {
        event.wait = self.wait(process);
        self.claims(process, &mut event.claims);
        if !event.claims.is_empty() {
            let pending = &self.threads[process.index()].pending;
            event.touched.extend(pending.access);
            event.touched.extend(pending.second);
        }
    }

    /// Fills in the fields of an event that are known only after its step.
    #[inline]
    pub fn complete(&mut self, event: &mut Event) {
        let effects = &mut self.effects;
        if effects.untouched {
            event.touched.clear();
        }
        event.touched.append(&mut effects.touched);
        event.outcomes.append(&mut effects.outcomes);
        event.spawned.append(&mut effects.spawned);
        event.joined.append(&mut effects.joined);
        event.mishaps.append(&mut effects.mishaps);
        event.races_with = effects.races_with;
        // A single access gets a key, which saves explorers a lookup.
        if let [access] = event.claims[..]
            && access.len == 1
        {
            event.claims_key = 1 + access.first * 4 + access.kind as u32;
        }
    }

    /// Handles a join by the current thread. Returns whether the joined thread panicked.
    pub fn handle_join(&mut self, process: ProcessId) -> bool {
        let other = &mut self.threads[process.index()];
        let panicked = std::mem::take(&mut other.panicked);
        if let (true, Some(site)) = (panicked, other.failure) {
            self.me().learned = Some(site);
        }
        panicked
    }

    /// Returns the underlying panic if this panic only reports a failed join.
    pub fn underlying_panic(&mut self, failure: Failure) -> Failure {
        let signs = ["Any { .. }", "JoinError::Panic"];
        let of_join = signs.iter().any(|sign| failure.message.contains(sign));
        let of_join = of_join || failure.message == SCOPED;
        let Some(site) = self.me().learned.take_if(|_| of_join) else {
            return failure;
        };
        let Failure { message, place } = self.failures[site as usize].clone();
        Failure {
            message,
            place: format!("{place}\n  noticed at {}", failure.place),
        }
    }

    /// Records that the current thread ends by a panic. The panic hook has seen the panic, unless
    /// it was resumed (`std::panic::resume_unwind`).
    pub fn record_ending_panic(&mut self, payload: &(dyn Any + Send)) {
        if self.me().failure.is_some() || self.given_up.is_some() {
            return;
        }
        let learned = self.me().learned.take();
        let failure = match learned.map(|site| self.failures[site as usize].clone()) {
            Some(Failure { message, place }) => Failure {
                message,
                place: format!("{place}\n  resumed by another thread"),
            },
            None => {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                Failure {
                    message: text.unwrap_or(NO_TEXT).into(),
                    place: "a place that is not known: it was resumed".into(),
                }
            }
        };
        if self.recording {
            self.effects.panic = Some(failure.clone());
        }
        let site = self.failure(failure);
        self.me().failure = Some(site);
    }

    /// Records a failure of the current thread.
    pub fn failed(&mut self, failure: Failure) {
        if self.recording {
            self.effects.panic = Some(failure.clone());
        }
        let site = self.failure(failure);
        self.me().failure = Some(site);
        self.unwinds(true);
    }

    /// Records whether the current thread is unwinding.
    pub fn unwinds(&mut self, unwinds: bool) {
        let before = std::mem::replace(&mut self.me().unwinding, unwinds);
        self.unwinding = self.unwinding + usize::from(unwinds) - usize::from(before);
    }

    /// Whether the current thread is unwinding.
    ///
    /// Like real threads, threads of a model make steps while they unwind, and other threads run
    /// between these steps. But all threads of a model share one real thread, and std only knows
    /// whether that real thread panics. So std is asked only if no other thread of the model is
    /// unwinding. Otherwise the answer is a flag that the panic hook sets and the end of the thread
    /// clears. In that case a panic that the thread has since caught itself still counts.
    #[inline]
    pub fn is_unwinding(&mut self) -> bool {
        let known = self.me().unwinding;
        if self.unwinding > usize::from(known) || self.real_panic {
            return known;
        }
        let unwinding = std::thread::panicking();
        if unwinding != known {
            self.unwinds(unwinding);
        }
        unwinding
    }

    /// Describes the next operation of a thread, for messages about a run that diverged.
    pub fn describe(&self, process: ProcessId) -> String {
        let status = self.status(process);
        let Some(thread) = self.threads.get(process.index()) else {
            return "was not started".into();
        };
        let Pending { what, place, .. } = thread.pending;
        match status {
            Status::Ready => format!("is at another step, `{}` at {place}", what.1),
            Status::Waiting => format!("has to wait, for `{}` at {place}", what.1),
            Status::Unborn => "was not started".into(),
            _ => "has ended".into(),
        }
    }
}

impl ThreadState {
    fn new(cells: [u32; 4], place: Place) -> Self {
        Self {
            life: Life::Unborn,
            pending: Pending::new(None, ("", "start"), place),
            yielder: std::ptr::null(),
            steps: 0,
            children: 0,
            awaiting: false,
            token: false,
            notified: false,
            cells,
            spin: Default::default(),
            repetition: Default::default(),
            spurious: [0; 3],
            name: None,
            started: place,
            panicked: false,
            unwinding: false,
            failure: None,
            learned: None,
            locals: Default::default(),
            leaving: false,
            ended: 0,
            destroys: None,
            seen_destructors: 0,
            stack: (0, 0),
            engine: Default::default(),
            stops: None,
        }
    }
}

impl StepEffects {
    /// Returns the value that the next choice of this step must take, if it is prescribed.
    pub fn given(&self) -> Option<i64> {
        self.wanted.get(self.outcomes.len()).copied()
    }

    fn clear(&mut self) {
        self.wanted.clear();
        self.outcomes.clear();
        self.touched.clear();
        self.untouched = false;
        self.joined.clear();
        self.spawned.clear();
        self.mishaps.clear();
        self.races_with = None;
        self.notes.clear();
        self.made = None;
        self.panic = None;
    }
}
