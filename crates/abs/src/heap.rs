//! The state of a running program: objects, tasks and output. Also the table of the names of
//! objects and tasks. An object has a number, its index in the table, which depends on the search;
//! and a name, which is the same in all equivalent executions.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use mazurka_core::{Fingerprint, ProcessId, ProcessTable};
use rustc_hash::FxHashMap;

use crate::value::Value;

/// The name of an object: the task that created it, and its index among the objects of that task.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectName {
    pub creator: ProcessId,
    /// Its index among the objects of the creator; `u32::MAX` for the object of the main block.
    pub number: u32,
    pub class: u32,
    /// The fingerprint of the name.
    pub name: Fingerprint,
    /// The first cell of the object. There is a cell for each field, then one for its cog and one
    /// for whether it is alive.
    pub cells: u32,
    /// Whether the user has chosen this object, so that the scheduling of its tasks varies.
    pub chosen: bool,
}

/// The cell of the output.
pub(crate) const OUTPUT: u32 = 0;

/// The cell of the time.
pub(crate) const CLOCK: u32 = 1;

/// The process that lets time pass, if time can pass.
pub(crate) const CLOCK_PROCESS: ProcessId = ProcessId(1);

/// The objects and tasks that have occurred in any execution so far. They keep their numbers for
/// the whole search.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    pub tasks: ProcessTable,
    objects: Vec<ObjectName>,
    /// The object with this creator, index and class.
    known: FxHashMap<(ProcessId, u32, u32), u32>,
    /// The number of cells assigned so far, which is also the first cell of the next object.
    cells: u32,
    /// For each constructor, its rank in the order of names.
    pub ranks: Arc<[u32]>,
}

impl Names {
    /// Creates the table with the main task and the object that it runs on.
    pub fn new(ranks: Arc<[u32]>, timed: bool) -> Self {
        let mut names = Self {
            ranks,
            tasks: ProcessTable::new(1 + u32::from(timed)),
            objects: Vec::new(),
            known: FxHashMap::default(),
            cells: CLOCK + 1,
        };
        names.intern(ProcessId(0), u32::MAX, 0, 0);
        names
    }

    #[inline]
    pub fn object(&self, number: u32) -> &ObjectName {
        &self.objects[number as usize]
    }

    /// Returns the number of an object, given by its creator, its index among the objects of the
    /// creator, and its class. A new object gets the next free number.
    pub fn intern(&mut self, creator: ProcessId, number: u32, class: u32, fields: u32) -> u32 {
        let key = (creator, number, class);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let name = self
            .tasks
            .name(creator)
            .then(u64::from(number))
            .then(u64::from(class));
        let object = self.objects.len() as u32;
        self.objects.push(ObjectName {
            creator,
            number,
            class,
            name,
            cells: self.cells,
            chosen: false,
        });
        self.cells += fields + 2;
        self.known.insert(key, object);
        object
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> u32 {
        self.cells
    }

    /// Returns the object that a cell belongs to.
    pub fn owner(&self, cell: u32) -> u32 {
        let after = self.objects.partition_point(|object| object.cells <= cell);
        after.saturating_sub(1) as u32
    }

    /// Marks an object whose scheduling varies.
    pub fn choose(&mut self, object: u32) {
        self.objects[object as usize].chosen = true;
    }
}

/// An object, which may not exist yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Object {
    /// Whether it exists in the current state.
    pub exists: bool,
    pub class: u32,
    /// The first object of its cog.
    pub cog: u32,
    /// For the first object of a cog: the task that holds the cog while the task waits.
    pub holder: Option<u32>,
    /// Whether an exception has killed it.
    pub dead: bool,
    pub fields: Vec<Value>,
}

impl Object {
    pub fn not_created() -> Self {
        Self {
            exists: false,
            class: 0,
            cog: 0,
            holder: None,
            dead: false,
            fields: Vec::new(),
        }
    }
}

/// The life of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Life {
    /// It has not been created.
    Unborn,
    Alive,
    Ended,
    /// An exception has ended it. The exception goes to the task that takes its result.
    Thrown,
    /// An exception has ended it. The exception goes to no task.
    Failed,
    /// It was halted, because one step made too many jumps and calls or needed too much memory.
    Lost,
}

/// A method call that has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    /// The place of the instruction that called it, or `u32::MAX` for the first method of a task.
    pub call: u32,
    /// The start of its slots in the stack of the task.
    pub base: u32,
    /// The end of its slots in the stack of the task.
    pub top: u32,
    /// The object on which it runs: `this`.
    pub object: u32,
}

/// A task: a method that runs on an object, and its future.
#[derive(Debug)]
pub(crate) struct Task {
    pub life: Life,
    /// The next instruction, where it rests.
    pub pc: u32,
    pub frames: Vec<Frame>,
    pub stack: Vec<Value>,
    pub object: u32,
    /// The index of its method in its object's class.
    pub method: u32,
    /// The number of tasks that it has created so far.
    pub tasks: u32,
    /// The number of objects that it has created so far.
    pub objects: u32,
    /// How many steps it has made. States that differ only in this are equal.
    pub steps: u32,
    /// Whether its future is used for more than waiting for its end.
    pub kept: bool,
    /// The end of the duration that it waits for; `None` if it waits for no duration.
    pub wake: Option<Value>,
    /// The deadline of the task, if it has one.
    pub deadline: Option<Value>,
    /// Whether it is in the recovery block of its class.
    pub recovers: bool,
    /// The result of the task, or the exception that ended the task; `None` while it runs.
    pub result: Option<Value>,
}

impl Task {
    pub fn unborn() -> Self {
        Self {
            life: Life::Unborn,
            pc: 0,
            frames: Vec::new(),
            stack: Vec::new(),
            object: 0,
            method: 0,
            tasks: 0,
            objects: 0,
            steps: 0,
            kept: false,
            wake: None,
            deadline: None,
            recovers: false,
            result: None,
        }
    }

    /// Returns all data that can matter later, for the comparison of states.
    fn essence(&self) -> impl Hash + Eq + '_ {
        let (frames, stack) = (&self.frames, &self.stack);
        (
            self.life,
            self.pc,
            frames,
            stack,
            self.tasks,
            self.objects,
            (self.kept, self.recovers, &self.wake, &self.deadline),
            &self.result,
        )
    }
}

// Implemented by hand, so that `clone_from` reuses the memory of a task.
impl Clone for Task {
    fn clone(&self) -> Self {
        let mut copy = Self::unborn();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, other: &Self) {
        self.life = other.life;
        self.pc = other.pc;
        self.frames.clone_from(&other.frames);
        self.stack.clone_from(&other.stack);
        self.object = other.object;
        self.method = other.method;
        self.tasks = other.tasks;
        self.objects = other.objects;
        self.steps = other.steps;
        self.kept = other.kept;
        self.recovers = other.recovers;
        self.wake.clone_from(&other.wake);
        self.deadline.clone_from(&other.deadline);
        self.result.clone_from(&other.result);
    }
}

/// A state of a program. Two states are equal if all data that can matter later are equal.
#[derive(Clone, Debug)]
pub struct State {
    pub(crate) objects: Vec<Object>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) output: Vec<Arc<String>>,
    pub(crate) now: Value,
}

impl State {
    fn existing_objects(&self) -> impl Iterator<Item = (usize, &Object)> {
        self.objects
            .iter()
            .enumerate()
            .filter(|(_, object)| object.exists)
    }

    fn born(&self) -> impl Iterator<Item = (usize, &Task)> {
        let all = self.tasks.iter().enumerate();
        all.filter(|(_, task)| task.life != Life::Unborn)
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.existing_objects().eq(other.existing_objects())
            && self
                .born()
                .map(|(at, task)| (at, task.essence()))
                .eq(other.born().map(|(at, task)| (at, task.essence())))
            && self.output == other.output
            && self.now == other.now
    }
}

impl Eq for State {}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for entry in self.existing_objects() {
            entry.hash(hasher);
        }
        for (at, task) in self.born() {
            (at, task.essence()).hash(hasher);
        }
        self.output.hash(hasher);
        self.now.hash(hasher);
    }
}
