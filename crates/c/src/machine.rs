//! The program as an [`Execution`]. To go back, the program is run again, from its start or from a
//! checkpoint (checkpoint.rs).

use std::mem::ManuallyDrop;

use corosensei::{Coroutine, CoroutineResult};
use mazurka_core::{
    Access, AccessKind, Claims, Event, Execution, Fingerprint, Mishap, MishapKind, ProcessId,
    ProcessTable, Promises, Semantics, Status, StepError, Wait,
};

use crate::calls::{ENTRIES, STACK_ENTRY};
use crate::heap::Region;
use crate::objects::{end_thread, exit};
use crate::spin::Spin;
use crate::world::{Effects, Failure, Life, Pending, Request, Thread, is_there, world};
use crate::{SearchStop, access, heap, objects, trap, weak};

/// Returns the functions of the table, in the order of `calls::ENTRIES`.
pub(crate) fn table() -> [usize; ENTRIES.len()] {
    [
        access::turn as *const () as usize,
        access::did as *const () as usize,
        access::plain as *const () as usize,
        objects::halt as *const () as usize,
        objects::ask as *const () as usize,
        objects::start as *const () as usize,
        0,
        0,
        0,
        0,
    ]
}

/// Whether an address is in the code of the program.
pub(crate) fn is_program(pc: usize) -> bool {
    is_there()
        && world()
            .image
            .symbols
            .symbol(world().address_of(pc))
            .is_some()
}

/// The reason for refusing a program that does not repeat its steps under the same schedule.
const NOT_THE_SAME: &str = "the program does not do the same again with the same schedule";

/// The value of `Machine::live` if no events of the machine lead to the state of the threads.
const NOWHERE: usize = usize::MAX;

/// The program in one of its executions.
///
/// A process has one program, which several machines may use, all from one real thread. When a
/// second machine takes over the program, the first one runs its execution again on its next use.
#[derive(Debug)]
pub struct Machine {
    number: u64,
    events: Vec<Event>,
    /// Number of valid entries in `events`; the others are kept for their allocations.
    len: usize,
    /// The number of the machine's events that the threads have made, or [`NOWHERE`].
    live: std::cell::Cell<usize>,
    /// The mishaps before the first step.
    initial: Vec<Mishap>,
    guards: Vec<Access>,
}

impl Machine {
    /// Returns a machine for the loaded program in its initial state.
    pub(crate) fn new() -> Self {
        let mut machine = Self::empty();
        machine.start_again();
        machine
    }

    fn empty() -> Self {
        static NUMBERS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        Self {
            number: NUMBERS.fetch_add(1, std::sync::atomic::Ordering::Relaxed),
            events: Vec::new(),
            len: 0,
            live: std::cell::Cell::new(NOWHERE),
            initial: Vec::new(),
            guards: Vec::new(),
        }
    }

    /// Returns a machine for the current execution, which weak/program.rs runs.
    pub(crate) fn as_it_stands() -> Self {
        let machine = Self::empty();
        world().owner = machine.number;
        machine.live.set(0);
        machine
    }

    /// Restarts the search with the facts that the previous search has learned.
    pub fn start_again(&mut self) {
        let world = world();
        if matches!(
            world.stop,
            Some(SearchStop::Restart | SearchStop::OutOfTime | SearchStop::Raced)
        ) {
            world.stop = None;
            world.forget_places();
        }
        (world.searching, world.has_raced) = (true, false);
        world.checkpoints.forget();
        (self.len, self.initial) = (0, Vec::new());
        self.guards = if world.learned.guarded || world.claims_more() {
            vec![Access::ANYTHING]
        } else {
            Vec::new()
        };
        self.begin();
        self.initial.clone_from(&self::world().effects.mishaps);
        if self::world().stop.is_some() {
            self.initial.push(broken_off());
        }
        self.live.set(0);
    }

    /// Ends a search. The runs after it only simplify the violations that it has found, and nothing
    /// is learned from them.
    pub fn end_search(&mut self) {
        world().searching = false;
        // A later run must find these violations by the same schedule.
        world().learned.stacks = true;
        world().checkpoints.forget();
    }

    /// Ends a search that was stopped in a step that does not end. The program is not run again at
    /// once, because it may enter the same step, but only on its next use.
    pub fn end_broken_search(&mut self) {
        let world = world();
        world.stop = None;
        world.forget_places();
        self.end_search();
        self.len = 0;
        self.live.set(NOWHERE);
    }

    /// Whether the search has met accesses whose order no steps determine. Other orders of these
    /// accesses may lead to other results, and are not explored.
    pub fn has_raced(&self) -> bool {
        world().has_raced
    }

    /// Returns why the last search stopped, if the program was the reason.
    pub fn stopped(&self) -> Option<SearchStop> {
        world().stop.clone()
    }

    /// Sets whether the threads record descriptions of their steps.
    pub(crate) fn record(on: bool) {
        world().recording = on;
    }

    fn begin(&self) {
        let world = world();
        world.owner = self.number;
        world.begin();
        start(ProcessId(0));
        run(ProcessId(0));
        self::world().settle();
    }

    /// Brings the threads to the state after the machine's events.
    #[inline]
    fn revive(&self) {
        if self.live.get() == self.len && world().owner == self.number {
            return;
        }
        self.run_again();
    }

    #[cold]
    fn run_again(&self) {
        let recording = std::mem::take(&mut world().recording);
        let start = match world().go_to_checkpoint(self.number) {
            Some(depth) => {
                world().owner = self.number;
                depth
            }
            None => {
                self.begin();
                world().keep(self.number, 0);
                0
            }
        };
        let kept_at = world().checkpoints.wanted(start..self.len);
        for (at, event) in self.events[..self.len].iter().enumerate().skip(start) {
            let world = world();
            if kept_at == Some(at) {
                world.keep(self.number, at);
            }
            if world.status(event.process) != Status::Ready {
                let raced = self.events[..at].iter().any(|it| it.races_with.is_some());
                world.stop = Some(if raced {
                    SearchStop::Raced
                } else {
                    SearchStop::Refused(NOT_THE_SAME.to_owned())
                });
                break;
            }
            world.effects.clear();
            let wanted = event.outcomes.iter().map(|outcome| outcome.value);
            world.effects.wanted.extend(wanted);
            world.begin_step(event.process);
            run(event.process);
            self::world().settle();
        }
        world().recording = recording;
        self.live.set(self.len);
    }
}

/// Moves effects of a step to its event. Most lists are empty, and the branch is cheaper than a
/// call that moves nothing.
#[inline]
fn move_all<T>(into: &mut Vec<T>, from: &mut Vec<T>) {
    if from.is_empty() {
        return;
    }
    if into.is_empty() {
        std::mem::swap(into, from);
    } else {
        into.append(from);
    }
}

/// Whether the last step only read or wrote one cell, according to its claims and effects.
#[inline]
fn is_plain(event: &Event, effects: &Effects) -> bool {
    let kinds = [AccessKind::Read, AccessKind::Write];
    matches!(event.claims[..], [access] if access.len == 1 && kinds.contains(&access.kind))
        && event.wait == Wait::Never
        && effects.touched.is_empty()
        && effects.outcomes.is_empty()
        && effects.spawned.is_empty()
        && effects.joined.is_empty()
}

/// Returns the mishap of a step that ends the search.
fn broken_off() -> Mishap {
    Mishap {
        process: None,
        kind: MishapKind::BrokenOff,
        site: 0,
    }
}

impl Effects {
    pub(crate) fn clear(&mut self) {
        self.wanted.clear();
        self.outcomes.clear();
        self.touched.clear();
        self.untouched = false;
        self.joined.clear();
        self.spawned.clear();
        self.mishaps.clear();
        self.races_with = None;
        self.notes.clear();
        self.values = None;
        self.made = None;
    }
}

impl Thread {
    pub(crate) fn new(region: Region, token_cell: u32) -> Self {
        Self {
            life: Life::Unborn,
            pending: Pending::new("start", 0, 0),
            yielder: std::ptr::null(),
            coroutine: None,
            region,
            routine: None,
            result: 0,
            steps: 0,
            children: 0,
            detached: false,
            joined: false,
            claimed: None,
            exits: false,
            token_cell,
            awaiting: false,
            token: false,
            errno: 0,
            tls: Vec::new(),
            keys: Vec::new(),
            now: 0,
            reads_clock: false,
            at_end: Vec::new(),
            spin: Spin::default(),
            access: (0, 0, 0),
            writing: None,
            idle: 0,
            weak_state: Default::default(),
            lowest: usize::MAX,
            top: 0,
            started: 0,
            thrown: None,
            stamp: 0,
        }
    }

    /// Whether functions run at the end of the thread.
    fn has_ends(&self) -> bool {
        !self.at_end.is_empty() || self.keys.iter().any(|&value| value != 0)
    }

    /// Records that the thread has changed something. So the current round of a loop does not
    /// repeat the previous one, and the thread does not spin.
    pub(crate) fn makes_progress(&mut self) {
        self.spin.progress();
        self.weak_state.leave_round();
    }

    /// Resets the thread to one that has not started. `mark` and `content` are those of its heap
    /// (`Region::restore`).
    pub(crate) fn begin(&mut self, mark: (usize, usize), content: &[u8]) {
        (self.coroutine, self.life, self.stamp) = (None, Life::Unborn, 0);
        self.region.restore(mark, content);
        self.region
            .clean_stack(std::mem::replace(&mut self.lowest, usize::MAX));
    }
}

impl crate::world::World {
    /// Starts a new execution.
    pub(crate) fn begin(&mut self) {
        self.epoch += 1;
        self.used_cells.clear();
        self.image.restore();
        // The first thread keeps the blocks that constructors have allocated.
        let (mark, content) = &self.initial_heap;
        for (at, thread) in self.threads.iter_mut().enumerate() {
            match at {
                0 => thread.begin(*mark, content),
                _ => thread.begin((0, 0), &[]),
            }
        }
        (self.loaded, self.current) = (ProcessId(0), ProcessId(0));
        self.put_thread_locals(ProcessId(0), true);
        self.effects.clear();
        if self.clocks.is_large() {
            self.clocks.clear();
            self.checkpoints.forget();
        }
        self.clocks.begin();
        (self.alive, self.started) = (0, 0);
        (self.exited, self.finished, self.in_section) = (false, false, false);
        self.keys.truncate(self.initial_keys);
        self.at_exit.clone_from(&self.initial_at_exit);
        self.output = Fingerprint::EMPTY;
        self.printed.clear();
        self.exit_code = 0;
    }

    /// Copies the thread-local variables of a thread to the block of the real thread.
    #[inline]
    fn put_thread_locals(&mut self, process: ProcessId, fresh: bool) {
        if !self.image.tls_content.is_empty() {
            self.swap_thread_locals(process, fresh);
        }
    }

    #[inline(never)]
    fn swap_thread_locals(&mut self, process: ProcessId, fresh: bool) {
        let size = self.image.tls_content.len();
        let block = self.image.tls as *mut u8;
        // SAFETY: the block has this size and belongs to this real thread, and no thread of the
        // program runs.
        unsafe {
            if !fresh && self.loaded != process {
                let old = &mut self.threads[self.loaded.index()].tls;
                old.resize(size, 0);
                std::ptr::copy_nonoverlapping(block, old.as_mut_ptr(), size);
                let new = &self.threads[process.index()].tls;
                std::ptr::copy_nonoverlapping(new.as_ptr(), block, size);
            } else if fresh {
                let content = self.image.tls_content.as_ptr();
                std::ptr::copy_nonoverlapping(content, block, size);
            }
        }
        self.loaded = process;
    }

    /// Saves the current thread-local variables for their thread.
    pub(crate) fn keep_thread_locals(&mut self) {
        let size = self.image.tls_content.len();
        heap::copy_from(
            self.image.tls,
            size,
            &mut self.threads[self.loaded.index()].tls,
        );
    }

    /// Loads the saved thread-local variables of the current thread.
    pub(crate) fn load_thread_locals(&mut self) {
        heap::copy_to(self.image.tls, &self.threads[self.loaded.index()].tls);
    }

    /// Makes room for a thread. Returns false if there is not enough memory.
    pub(crate) fn make_room(&mut self, process: ProcessId) -> bool {
        while self.threads.len() <= process.index() {
            let Some(region) = Region::new(self.threads.len()) else {
                return false;
            };
            if self.image.code_on_stacks && !region.run_code_on_stack() {
                return false;
            }
            let token_cell = self.object(usize::MAX - self.threads.len());
            self.threads.push(Thread::new(region, token_cell));
        }
        true
    }

    /// Ends the current thread, because of a fault or a limit.
    #[cold]
    fn end_by(&mut self, trap: trap::Trap) {
        if let trap::Trap::OutOfTime = trap {
            (self.stop, self.me().life) = (Some(SearchStop::OutOfTime), Life::Failed);
            return;
        }
        if self.weak.on {
            weak::take_back();
        }
        let (message, pc) = trap.words();
        let pc = self.place_in_source(pc);
        self.halt(MishapKind::Failure, Failure::new(message, pc));
    }

    #[inline]
    pub(crate) fn begin_step(&mut self, process: ProcessId) {
        let thread = &mut self.threads[process.index()];
        thread.steps += 1;
        if self.recording {
            self.effects.made = Some(thread.pending);
        }
    }
}

/// Starts a thread: `main`, or the one that the current thread has requested.
pub(crate) fn start(process: ProcessId) {
    let world = world();
    let asked = world.start.take();
    if !world.make_room(process) {
        let what = "there is no memory for one more thread".to_owned();
        world.stop = Some(SearchStop::Refused(what));
        return;
    }
    let thread = &mut world.threads[process.index()];
    thread.life = Life::Alive;
    (thread.steps, thread.children, thread.result) = (0, 0, 0);
    (thread.detached, thread.joined, thread.exits) = (false, false, false);
    thread.claimed = None;
    (thread.awaiting, thread.token, thread.errno) = (false, false, 0);
    thread.keys.clear();
    thread.at_end.clear();
    (thread.now, thread.reads_clock) = (0, false);
    thread.spin.progress();
    (thread.writing, thread.idle, thread.thrown) = (None, 0, None);
    thread.weak_state.reset();
    thread.tls.clone_from(&world.image.tls_content);
    if let Some((routine, detached, pc)) = asked {
        (thread.routine, thread.detached, thread.started) = (Some(routine), detached, pc);
    }
    let routine = asked.map(|(routine, ..)| routine);
    let (main, bottom) = (world.image.main, world.image.bottom);
    let (thread_ends, program_ends) = (world.image.thread_ends, world.image.program_ends);
    let coroutine = Coroutine::with_stack(thread.region.stack(), move |yielder, ()| {
        let top = 0u8;
        {
            let thread = self::world().me();
            thread.yielder = yielder;
            // The frames at higher addresses belong to corosensei, which writes to them at each
            // resumption.
            thread.top = std::hint::black_box(&raw const top) as usize;
        }
        let result = match routine {
            Some((function, argument)) => {
                let result = bottom(function as *const () as usize, argument, 0, 0);
                if self::world().me().has_ends() || self::world().last_thread_ends {
                    bottom(thread_ends as *const () as usize, 0, 0, 0);
                }
                result
            }
            None => {
                let main = main as *const () as usize;
                let arguments = [c"program".as_ptr().cast::<u8>(), std::ptr::null()];
                let nothing = [std::ptr::null::<u8>()];
                let code = bottom(
                    main,
                    1,
                    arguments.as_ptr() as usize,
                    nothing.as_ptr() as usize,
                );
                bottom(program_ends as *const () as usize, 0, 0, 0);
                exit((code as i32).into(), "return", main + 1);
                if self::world().learned.joins_main {
                    weak::never_ends(main + 1);
                }
                0
            }
        };
        end_thread(result);
    });
    thread.coroutine = Some(ManuallyDrop::new(coroutine));
    world.alive += 1;
    world.started += 1;
}

/// Runs a thread up to its next operation. Inlined, because a processor mispredicts every return
/// after a switch of stacks.
#[inline(always)]
pub(crate) fn run(process: ProcessId) {
    while let Some(Request::Start) = resume(process) {
        if !run_child(process) {
            return;
        }
    }
}

/// Resumes a thread. Returns its request; `None` if it has ended, or a fault has ended it.
#[inline(always)]
fn resume(process: ProcessId) -> Option<Request> {
    let world = world();
    let mut coroutine = world.thread(process.index()).coroutine.take()?;
    world.current = process;
    world.put_thread_locals(process, false);
    // SAFETY: the function has no preconditions.
    let errno = unsafe { libc::__errno_location() };
    world.errno = errno as usize;
    let thread = world.me();
    // SAFETY: errno belongs to the real thread, and the table is mapped (`load`).
    unsafe {
        *errno = thread.errno;
        *(STACK_ENTRY as *mut usize) = thread.region.runtime_stack();
    }
    trap::enter(coroutine.trap_handler());
    let result = coroutine.resume(());
    let trapped = trap::leave();
    let world = self::world();
    world.current = process;
    // SAFETY: as above.
    world.me().errno = unsafe { *libc::__errno_location() };
    world.end_write();
    if let Some(trap) = trapped {
        world.end_by(trap);
        return None;
    }
    match result {
        CoroutineResult::Return(()) => None,
        CoroutineResult::Yield(request) => {
            world.me().coroutine = Some(coroutine);
            Some(request)
        }
    }
}

/// Starts the thread that `process` has requested, and runs it up to its first operation. Returns
/// false if there is not enough memory for it.
#[inline(never)]
fn run_child(process: ProcessId) -> bool {
    let world = world();
    let thread = &mut world.threads[process.index()];
    let number = thread.children;
    thread.children += 1;
    let child = world.table.child(process, number);
    world.trail.thread(child, process, number);
    start(child);
    let world = self::world();
    if world.stop.is_some() && world.threads.len() <= child.index() {
        return false;
    }
    world.clocks.order(process, child);
    world.effects.spawned.push(child);
    run(child);
    self::world().last_child = child;
    true
}

impl Promises for Machine {
    fn guards(&self) -> &[Access] {
        &self.guards
    }
}

impl Execution for Machine {
    fn processes(&self) -> &ProcessTable {
        &world().table
    }

    #[inline]
    fn status(&self, process: ProcessId) -> Status {
        self.revive();
        world().status(process)
    }

    #[inline]
    fn is_final(&self) -> bool {
        self.revive();
        world().is_final()
    }

    fn claims(&self, process: ProcessId, into: &mut Claims) {
        self.revive();
        world().claims(process, into);
    }

    fn wait(&self, process: ProcessId) -> Wait {
        self.revive();
        world().wait(process)
    }

    fn joins(&self, process: ProcessId, into: &mut Vec<ProcessId>) {
        self.revive();
        into.clear();
        if let crate::world::WaitCondition::Ended(other) =
            world().threads[process.index()].pending.until
        {
            into.push(other);
        }
    }

    fn step(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<&Event, StepError> {
        self.revive();
        if self.events.len() == self.len {
            self.events.push(Event::new(process, 0));
        }
        let event = &mut self.events[self.len];
        {
            let world = world();
            event.reset(process, 0);
            if world.stop.is_some() {
                event.mishaps.push(broken_off());
                self.len += 1;
                self.live.set(NOWHERE);
                return Ok(&self.events[self.len - 1]);
            }
            if world.status(process) != Status::Ready {
                return Err(StepError::NotReady);
            }
            let thread = &world.threads[process.index()];
            let (access, second) = (thread.pending.access, thread.pending.second);
            event.number = thread.steps;
            event.wait = world.wait(process);
            world.claims(process, &mut event.claims);
            if let Some(access) = access {
                event.touched.push(access);
            }
            if let Some(second) = second {
                event.touched.push(second);
            }
            world.effects.clear();
            if !outcomes.is_empty() {
                world.effects.wanted.extend_from_slice(outcomes);
            }
            world.trail.step(self.len, process, outcomes);
            world.begin_step(process);
        }
        run(process);
        let world = world();
        world.settle();
        let effects = &mut world.effects;
        let mut made = effects.outcomes.iter().zip(outcomes);
        if made.any(|(made, &given)| made.value != given) && world.stop.is_none() {
            self.live.set(NOWHERE);
            return Err(StepError::NoSuchOutcome);
        }
        event.plain = is_plain(event, effects);
        if effects.untouched {
            event.touched.clear();
        }
        move_all(&mut event.touched, &mut effects.touched);
        move_all(&mut event.outcomes, &mut effects.outcomes);
        move_all(&mut event.spawned, &mut effects.spawned);
        move_all(&mut event.joined, &mut effects.joined);
        move_all(&mut event.mishaps, &mut effects.mishaps);
        event.races_with = effects.races_with;
        if let [access] = event.claims[..]
            && access.len == 1
        {
            event.claims_key = 1 + access.first * 4 + access.kind as u32;
        }
        if world.stop.is_some() {
            event.mishaps.push(broken_off());
        }
        self.len += 1;
        self.live.set(self.len);
        Ok(&self.events[self.len - 1])
    }

    #[inline]
    fn events(&self) -> &[Event] {
        &self.events[..self.len]
    }

    #[inline]
    fn back_to(&mut self, depth: usize) {
        self.len = depth;
        world().checkpoints.go_back(self.number, depth);
    }

    fn initial_mishaps(&self) -> &[Mishap] {
        &self.initial
    }

    fn final_mishaps(&self) -> Vec<Mishap> {
        if !world().settings.leaks {
            return Vec::new();
        }
        self.revive();
        let leak = |site| Mishap {
            process: None,
            kind: MishapKind::Failure,
            site,
        };
        world().leaks().into_iter().map(leak).collect()
    }

    fn observation(&self) -> Fingerprint {
        self.revive();
        world().observation()
    }
}

/// A state is identified by the steps that lead to it, so no two runs lead to one state.
impl Semantics for Machine {
    type State = Vec<(ProcessId, Vec<i64>)>;

    fn state(&self) -> Self::State {
        let step = |event: &Event| {
            let outcomes = event.outcomes.iter().map(|outcome| outcome.value).collect();
            (event.process, outcomes)
        };
        self.events().iter().map(step).collect()
    }

    fn fingerprint(&self) -> Fingerprint {
        let words = self.state().into_iter().flat_map(|(process, outcomes)| {
            let values = outcomes.into_iter().map(|value| value as u64);
            std::iter::once(u64::from(process.0) + 1).chain(values)
        });
        words.fold(Fingerprint::EMPTY, Fingerprint::then)
    }

    /// Repeats the steps that lead to the state: there is no other way to restore it.
    fn restore(&mut self, state: &Self::State) {
        self.back_to(0);
        for (process, outcomes) in state {
            let made = self.step(*process, outcomes);
            debug_assert!(made.is_ok(), "a state that was reached");
        }
    }
}
