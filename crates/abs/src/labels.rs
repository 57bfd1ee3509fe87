//! Labels of the steps of tasks: the path of each step.
//!
//! De Boer, Johnsen, Schlatte, Tapia Tarifa, Tveito: "Inseguendo Fagiani Selvatici: Partial Order
//! Reduction for Guarded Command Languages", 2020. The paper's commands g ▷ s are here the
//! *segments* of a task: s is the code from one scheduling point to the next, and g is the
//! condition for which the task waits at the first of the two.
//!
//! | paper | here |
//! |---|---|
//! | process ι | a task |
//! | shared variable | a field of an object |
//! | g, which opens or stays closed | `await …`, `f.get`, and that no other task holds the cog |
//! | label ι, g ▷ s (Definition 4) | a step: its branches, and where its tasks rest ([`Trail`]) |
//! | W and R (Definition 9) | what the segment claims |
//!
//! It matters only whether a guard is open or closed. So the branches that the evaluation of the
//! guard takes are not part of the path. Deviation: a label contains the tasks that the step has
//! waited for, because a future is a value, and in a permutation it may be the future of another
//! task.

use std::cell::Cell;
use std::sync::Arc;

use mazurka_core::{Access, Claims, Execution, Fingerprint, Labelled, ProcessId};

use crate::Machine;
use crate::code::Code;

/// Records the path of a step.
#[derive(Debug)]
pub(crate) struct Trail {
    path: Cell<Fingerprint>,
    branches: Cell<bool>,
}

impl Trail {
    pub fn new() -> Self {
        Self {
            path: Cell::new(Fingerprint::EMPTY),
            branches: Cell::new(false),
        }
    }

    /// Records that the guard is open, so that the segment starts.
    pub fn start(&self) {
        self.path.set(Fingerprint::EMPTY);
        self.branches.set(false);
    }

    /// Records which side a branch takes: whether it falls through to the next instruction, or
    /// jumps.
    pub fn turn(&self, pc: u32, falls_through: bool) {
        let path = self.path.get();
        self.path
            .set(path.then(2 * u64::from(pc) + u64::from(falls_through)));
        self.branches.set(true);
    }

    /// Records which method or function is entered, if a value decides this.
    pub fn enter(&self, entry: u32) {
        let path = self.path.get();
        self.path.set(path.then(2 * u64::from(entry)));
    }
}

/// The label of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label {
    path: Fingerprint,
    branches: bool,
}

impl Machine {
    /// Creates a machine in the initial state whose steps have labels.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use mazurka_abs::{Machine, Settings, load};
    /// use mazurka_core::{Execution, Labelled, ProcessId};
    ///
    /// let source = "module M; interface I { Unit m(); }
    ///     class C implements I { Int x = 0; Unit m() { if (x == 0) { x = 1; } } }
    ///     { I c = new C(); c!m(); c!m(); }";
    /// let code = Arc::new(load(source, &Settings::default()).unwrap());
    /// let mut machine = Machine::labelled(code, 1000);
    /// for task in 0..3 {
    ///     machine.step(ProcessId(task), &[]).unwrap();
    /// }
    /// assert!(!machine.branches(0) && machine.branches(1));
    /// assert_ne!(machine.path(1), machine.path(2));
    /// ```
    pub fn labelled(code: Arc<Code>, max_local: u64) -> Self {
        let mut machine = Self::new(code, max_local);
        machine.labels = Some(Vec::new());
        machine
    }

    /// Stores the label of the last step.
    pub(crate) fn label(&mut self, trail: &Trail) {
        let at = self.events().len() - 1;
        let event = &self.events()[at];
        let mut path = trail.path.get();
        for &task in &event.joined {
            path = path.then_all(self.names.tasks.name(task));
        }
        for &task in std::iter::once(&event.process).chain(&event.spawned) {
            path = self.place(task, path);
        }
        let label = Label {
            path,
            branches: trail.branches.get(),
        };
        if let Some(labels) = &mut self.labels {
            labels.truncate(at);
            labels.push(label);
        }
    }

    /// Adds where a task rests to a path: the instruction, the methods that the task is in, and
    /// their objects.
    fn place(&self, process: ProcessId, path: Fingerprint) -> Fingerprint {
        let task = &self.state.tasks[process.index()];
        let path = path.then(task.life as u64).then(u64::from(task.pc));
        task.frames.iter().fold(path, |path, frame| {
            let object = self.names.object(frame.object).name;
            path.then(u64::from(frame.call)).then_all(object)
        })
    }
}

impl Labelled for Machine {
    /// The machine must be [`labelled`](Machine::labelled).
    fn path(&self, at: usize) -> Fingerprint {
        let label = self.labels.as_ref().map(|labels| labels[at].path);
        label.unwrap_or(Fingerprint::EMPTY)
    }

    fn branches(&self, at: usize) -> bool {
        let label = self.labels.as_ref().map(|labels| labels[at].branches);
        label == Some(true) || !self.events()[at].outcomes.is_empty()
    }

    fn named(&self, at: usize) -> &[Access] {
        &self.events()[at].claims
    }

    fn claims_fixed(&self, process: ProcessId) -> bool {
        self.code.object.is_some()
            || self
                .task(process)
                .is_none_or(|task| self.find_claims(process, task, &mut Claims::new()))
    }
}
