//! Computes, for each place where a task can rest, the effects that its next run may have, on any
//! path up to the place where it rests again. These possible effects, and not the actual ones,
//! decide whether two steps are dependent (errata E2 in docs/algorithms.md says why). They are
//! computed once, when the program is compiled.
//!
//! A *run* is one step of a task. It starts where the task rests: at the start of its method, after
//! an `await`, a `suspend`, a `get` or a `duration`, or at a `println` if other cogs could already
//! notice an earlier action of the run (`machine.rs` explains why). It ends at the next such place,
//! or with the method. A run touches fields of `this`. If it calls objects of its own cog, it also
//! touches their fields; the code says only of which class these objects are.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::{Builtin, Caught, Code, Op};
use crate::syntax::ast::Binary;
use crate::value::Value;

/// The possible effects of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// The fields of `this` that it may read; sorted.
    pub reads: Vec<u32>,
    /// The fields of `this` that it may write; sorted.
    pub writes: Vec<u32>,
    /// The fields of other objects of the cog that it may touch: the class, the field, and whether
    /// it is written.
    pub others: Vec<(u32, u32, bool)>,
    /// Whether the task may keep the cog when it rests after the run.
    pub holds: bool,
    /// Whether it may end before a `println`.
    pub pauses: bool,
    pub prints: bool,
    /// Whether an exception may leave the task, which kills its object.
    pub throws: bool,
    /// Whether `die` may kill `this`.
    pub dies: bool,
    /// Whether it starts without waiting and comes to rest again without an effect.
    pub idle: bool,
}

/// Whether a run has done something before a place that other cogs can notice, that is, has printed
/// or started a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Noticeable {
    No,
    Maybe,
    Yes,
}

/// A place that a run may reach.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    pc: u32,
    /// The class of the object that the code here runs on; `None` if this is the object on which
    /// the run started, [`NEW`] if the run is creating it.
    other: Option<u32>,
    /// Whether the run has done something before this place that other cogs can notice.
    noticed: Noticeable,
}

/// Computes the effects of every run, the cogs that can be held, and the objects that can die.
pub(crate) fn analyse(code: &mut Code) {
    let local = code
        .ops
        .iter()
        .any(|op| matches!(op, Op::New { local: true, .. }));
    let mut throwing = Throwing {
        functions: thrown_by_functions(code),
        futures: Vec::new(),
    };
    // An exception that leaves a task is thrown again where its future is used. So the exceptions
    // of runs and of futures depend on each other: compute a fixed point.
    let effects = loop {
        let mut effects = FxHashMap::default();
        let mut left: Vec<u32> = Vec::new();
        for class in 0..code.classes.len() as u32 {
            let recover = code.classes[class as usize].recover;
            // A recovery block may run after any action of the task.
            let recover = recover.map(|(start, _)| (start, false, Noticeable::Maybe));
            let starts = starts(code, class).into_iter();
            let starts = starts.map(|(start, joined)| (start, joined, Noticeable::No));
            for (start, joined, noticed) in { starts }.chain(recover) {
                let walk = Walk::new(code, class, local, joined, &throwing);
                let (found, thrown) = walk.run(start, noticed);
                effects.insert(start, found);
                add_all(&mut left, &thrown);
            }
        }
        if !left.is_empty() {
            add_all(&mut left, &[code.exceptions.object_dead]);
        }
        if !add_all(&mut throwing.futures, &left) {
            break effects;
        }
    };
    code.effects = effects;
    let sent = (0..code.ops.len() as u32).filter(|&pc| keeps_future(code, pc));
    code.kept = sent.collect();
    for class in 0..code.classes.len() as u32 {
        let dies = starts(code, class)
            .iter()
            .any(|(start, _)| code.effects[start].throws);
        // Only the main block runs on its object.
        code.classes[class as usize].may_die = dies && class != 0;
    }
    for class in 0..code.classes.len() as u32 {
        code.classes[class as usize].may_hold = may_hold(code, class);
    }
    code.timed = code.ops.contains(&Op::Wake);
    let guards = code.timed || code.ops.contains(&Op::Guard);
    let classes = code.classes.iter();
    code.guarded = guards || { classes }.any(|class| class.may_hold || class.may_die);
    let own = (code.own as usize..code.ops.len())
        .filter(|&pc| matches!(code.ops[pc], Op::Jump(to) if to as usize <= pc));
    code.may_loop = own.count() > 0 || code.ops.iter().any(|op| matches!(op, Op::Sync { .. }));
}

/// Returns where runs of the tasks of a class start, and whether a run that starts there has waited
/// for a future.
fn starts(code: &Code, class: u32) -> Vec<(u32, bool)> {
    let info = &code.classes[class as usize];
    let mut all: Vec<(u32, bool)> = info.methods.iter().map(|m| (m.entry, false)).collect();
    for pc in within(code, class) {
        all.push(match code.ops[pc as usize] {
            // A step that starts at an `await` or `get` has waited for the future and need not wait
            // for it again.
            Op::Await => (pc + 1, true),
            Op::Suspend => (pc + 1, false),
            Op::Get => (pc + 1, true),
            Op::Block => (pc + 1, false),
            Op::Sync { .. } => (pc + 2, true),
            Op::New { .. } => (pc + 1, true),
            Op::Print { .. } => (pc, false),
            _ => continue,
        });
    }
    all
}

/// The exceptions that parts of the program may throw. An exception is given by its constructor, or
/// is [`ANY`].
struct Throwing {
    /// For each function, the exceptions that it may throw. The last entry is for all functions
    /// that are passed as values.
    functions: Vec<Vec<u32>>,
    /// The exceptions that may end a task whose future is used.
    futures: Vec<u32>,
}

/// Any exception.
const ANY: u32 = u32::MAX;

/// Adds the elements that are missing. Returns whether anything was added.
fn add_all(all: &mut Vec<u32>, more: &[u32]) -> bool {
    let before = all.len();
    for &one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all.len() > before
}

fn thrown_by_functions(code: &Code) -> Vec<Vec<u32>> {
    let bodies: Vec<Vec<u32>> = code
        .functions
        .iter()
        .map(|function| reachable(code, vec![function.entry]))
        .collect();
    let mut thrown = vec![Vec::new(); bodies.len() + 1];
    loop {
        let mut changed = false;
        // A function value may be any function that the program passes as a value somewhere.
        let given = code.ops.iter().filter_map(|op| match op {
            Op::Function { function, .. } => Some(*function as usize),
            _ => None,
        });
        for function in given {
            let more = thrown[function].clone();
            changed |= add_all(&mut thrown[bodies.len()], &more);
        }
        for (number, body) in bodies.iter().enumerate() {
            for &pc in body {
                let here = thrown_here(code, pc, &thrown);
                changed |= add_all(&mut thrown[number], &here);
            }
        }
        if !changed {
            return thrown;
        }
    }
}

/// Returns the exceptions that a pure instruction may throw.
fn thrown_here(code: &Code, pc: u32, functions: &[Vec<u32>]) -> Vec<u32> {
    let exceptions = &code.exceptions;
    match code.ops[pc as usize] {
        Op::Binary(Binary::Divide | Binary::Modulo) => match constant_before(code, pc) {
            Some(Value::Int(divisor)) if *divisor != 0 => Vec::new(),
            _ => vec![exceptions.division_by_zero],
        },
        Op::NoMatch => vec![exceptions.pattern_match_failed],
        Op::CallValue(_) => functions.last().cloned().unwrap_or_default(),
        // Other functions on numbers return a value or fail because the value is too large.
        Op::Builtin(Builtin::Rat | Builtin::Substring) => vec![exceptions.pattern_match_failed],
        Op::Call(function) => functions[function as usize].clone(),
        _ => Vec::new(),
    }
}

/// Returns the constant that the preceding instruction pushes; `None` if it is another instruction.
fn constant_before(code: &Code, pc: u32) -> Option<&Value> {
    match code.ops[pc.checked_sub(1)? as usize] {
        Op::Const(constant) => code.constants.get(constant as usize),
        _ => None,
    }
}

/// Whether this instruction sends a message whose future is used for more than `await f?`. If so,
/// an exception of the new task may reach the tasks that have the future.
fn keeps_future(code: &Code, pc: u32) -> bool {
    let (next, pc) = match code.ops[pc as usize..] {
        [Op::Async { .. }, Op::Deadline(_), next, ..] => (next, pc + 1),
        [Op::Async { .. }, next, ..] => (next, pc),
        _ => return false,
    };
    match next {
        Op::Pop => false,
        Op::Set(slot) => reachable(code, vec![pc + 2]).iter().any(|&at| {
            let [one, two, ..] = code.ops[at as usize..] else {
                return false;
            };
            one == Op::Local(slot) && two != Op::Claim
        }),
        _ => true,
    }
}

/// Returns the places of all instructions of the methods and the blocks of a class.
fn within(code: &Code, class: u32) -> Vec<u32> {
    let info = &code.classes[class as usize];
    let entries = info.methods.iter().map(|method| method.entry);
    let mut pending: Vec<u32> = entries.collect();
    if class != 0 {
        pending.push(info.init);
    }
    pending.extend(info.recover.map(|(entry, _)| entry));
    reachable(code, pending)
}

/// Returns the places of all instructions that can be reached from the given places without leaving
/// their methods.
pub(crate) fn reachable(code: &Code, mut pending: Vec<u32>) -> Vec<u32> {
    let mut seen: FxHashSet<u32> = FxHashSet::default();
    while let Some(pc) = pending.pop() {
        if !seen.insert(pc) {
            continue;
        }
        pending.extend(
            code.handlers
                .iter()
                .filter(|h| h.covers(pc))
                .map(|h| h.target),
        );
        match code.ops[pc as usize] {
            Op::Jump(target) => pending.push(target),
            Op::JumpUnless(target) | Op::JumpUnlessMade { target, .. } => {
                pending.extend([target, pc + 1])
            }
            op if op.ends() => {}
            _ => pending.push(pc + 1),
        }
    }
    let mut all: Vec<u32> = seen.into_iter().collect();
    all.sort_unstable();
    all
}

/// Whether a task may rest and keep its cog while other tasks wait for the cog. `class` is the
/// class of the first object of the cog.
fn may_hold(code: &Code, class: u32) -> bool {
    let mut classes = vec![class];
    let mut at = 0;
    let mut holds = false;
    while at < classes.len() {
        for pc in within(code, classes[at]) {
            match code.ops[pc as usize] {
                Op::New { class, local, .. } => {
                    if local && !classes.contains(&class) {
                        classes.push(class);
                    }
                    holds |= init_rests(code, class);
                }
                Op::Sync { on, .. } if on != u32::MAX => holds = true,
                Op::Block => holds = true,
                Op::Get if !after_own_call(code, pc) => holds = true,
                _ => {}
            }
        }
        holds |= pauses(code, classes[at]);
        at += 1;
    }
    // In the cog of the main block no other task can wait, unless the cog has other objects.
    holds && (class != 0 || classes.len() > 1)
}

/// Whether a run on an object of this class may end before a `println`.
fn pauses(code: &Code, class: u32) -> bool {
    let info = &code.classes[class as usize];
    let recover = info.recover.map(|(entry, _)| entry);
    let starts = starts(code, class).into_iter().map(|(start, _)| start);
    init_rests(code, class) || { starts }
        .chain(recover)
        .any(|start| code.effects[&start].pauses)
}

/// Whether a task may rest in the init block of a new object of this class.
fn init_rests(code: &Code, class: u32) -> bool {
    if class == 0 {
        return false;
    }
    // It is unknown what the run has done before the init block, so any `println` may end the run.
    let ops = |pcs: Vec<u32>| pcs.into_iter().map(|pc| code.ops[pc as usize]);
    let prints = |pcs: Vec<u32>| ops(pcs).any(|op| matches!(op, Op::Print { .. }));
    let init = || reachable(code, vec![code.classes[class as usize].init]);
    let calls = ops(init()).any(|op| matches!(op, Op::Sync { .. }));
    let waits = ops(init()).any(|op| matches!(op, Op::Sync { on, .. } if on != u32::MAX));
    let output = !code.observed.no_output;
    waits || (output && (prints(init()) || (calls && prints(within(code, class)))))
}

/// Whether this `get` belongs to a synchronous call on `this`. Such a call stays in the cog, so it
/// skips the `get`.
fn after_own_call(code: &Code, pc: u32) -> bool {
    matches!(code.ops[pc as usize - 1], Op::Sync { on: u32::MAX, .. })
}

/// The examination of one run: follows all paths from its start, and collects their effects.
struct Walk<'a> {
    code: &'a Code,
    class: u32,
    /// Whether a cog may have several objects.
    local: bool,
    /// Whether the run has waited for a future where it started. It may then pass a `get` of this
    /// future without resting.
    joined: bool,
    throwing: &'a Throwing,
    pending: Vec<Place>,
    seen: FxHashSet<Place>,
    found: Effects,
    /// The exceptions that may leave the task.
    thrown: Vec<u32>,
    /// Whether the run has an effect, or ends the task.
    acts: bool,
}

impl<'a> Walk<'a> {
    fn new(code: &'a Code, class: u32, local: bool, joined: bool, throwing: &'a Throwing) -> Self {
        Self {
            code,
            class,
            local,
            joined,
            throwing,
            pending: Vec::new(),
            seen: FxHashSet::default(),
            found: Effects::default(),
            thrown: Vec::new(),
            acts: false,
        }
    }

    fn run(mut self, start: u32, noticed: Noticeable) -> (Effects, Vec<u32>) {
        self.pending.push(Place {
            pc: start,
            other: None,
            noticed,
        });
        while let Some(place) = self.pending.pop() {
            if self.seen.insert(place) {
                self.visit(place);
            }
        }
        let mut found = self.found;
        found.reads.sort_unstable();
        found.reads.dedup();
        found.writes.sort_unstable();
        found.writes.dedup();
        found.others.sort_unstable();
        found.others.dedup();
        found.throws = !self.thrown.is_empty();
        let before = start.checked_sub(1).map(|pc| self.code.ops[pc as usize]);
        let waits = matches!(before, Some(Op::Await | Op::Get | Op::Block));
        let prints = matches!(self.code.ops[start as usize], Op::Print { .. });
        found.idle = !self.acts && !found.throws && !waits && !prints;
        (found, self.thrown)
    }

    fn visit(&mut self, place: Place) {
        let Place { pc, other, noticed } = place;
        let op = self.code.ops[pc as usize];
        let mut thrown = self.thrown_at(pc);
        for handler in &self.code.handlers {
            if handler.covers(pc) {
                self.push_place(handler.target, place);
                if op == Op::Die {
                    continue;
                }
                match &handler.catches {
                    Caught::All => thrown.clear(),
                    Caught::These(these) => thrown.retain(|one| !these.contains(one)),
                }
            }
        }
        add_all(&mut self.thrown, &thrown);
        self.acts |= match op {
            Op::SetField(_) | Op::Print { .. } | Op::Async { .. } | Op::Sync { .. } => true,
            Op::New { .. } => true,
            op => op.ends() && op != Op::Return,
        };
        match op {
            Op::Die => match other {
                None => self.found.dies = true,
                Some(NEW) => {}
                Some(class) => {
                    let life = self.code.classes[class as usize].life_cell();
                    self.found.others.push((class, life, true));
                }
            },
            Op::Jump(target) => self.push_place(target, place),
            Op::JumpUnless(target) | Op::JumpUnlessMade { target, .. } => {
                self.push_place(target, place);
                self.push_place(pc + 1, place);
            }
            Op::Field(at) => {
                self.push_place(pc + 1, place);
                match other {
                    None => self.found.reads.push(at),
                    Some(class) => self.found.others.push((class, at, false)),
                }
            }
            Op::SetField(at) => {
                self.push_place(pc + 1, place);
                match other {
                    None => self.found.writes.push(at),
                    Some(class) => self.found.others.push((class, at, true)),
                }
            }
            Op::Function { function, .. } => {
                self.push_place(self.code.functions[function as usize].entry, place);
                self.push_place(pc + 1, place);
            }
            Op::Print { .. } => {
                self.found.prints = true;
                self.found.pauses |= noticed != Noticeable::No && !self.code.observed.no_output;
                self.found.holds |= self.found.pauses;
                if noticed != Noticeable::Yes || self.code.observed.no_output {
                    self.push_noticed(pc + 1, place, Noticeable::Yes);
                }
            }
            Op::Async { .. } => self.push_noticed(pc + 1, place, Noticeable::Yes),
            Op::Sync { method, on, .. } => {
                self.push_noticed(pc + 2, place, Noticeable::Maybe);
                self.call(method, on, place);
            }
            Op::New { class, .. } => {
                let info = &self.code.classes[class as usize];
                let noticed = match info.run {
                    Some(_) => Noticeable::Yes,
                    None => Noticeable::Maybe,
                };
                self.push_noticed(pc + 1, place, noticed);
                // No other task has a reference to the new object yet, so its fields need no
                // claims.
                self.pending.push(Place {
                    pc: info.init,
                    other: Some(NEW),
                    noticed: place.noticed,
                });
            }
            Op::Get => {
                self.found.holds = true;
                if self.joined {
                    self.push_place(pc + 1, place);
                }
            }
            Op::Block => self.found.holds = true,
            Op::Await | Op::Suspend => {}
            op if op.ends() => {}
            _ => self.push_place(pc + 1, place),
        }
        self.found.others.retain(|&(class, ..)| class != NEW);
    }

    /// Adds a place to examine.
    fn push_place(&mut self, pc: u32, from: Place) {
        self.pending.push(Place { pc, ..from });
    }

    /// Adds a place to examine. `noticed`: whether the instruction before it does something that
    /// other cogs can notice.
    fn push_noticed(&mut self, pc: u32, from: Place, noticed: Noticeable) {
        self.pending.push(Place {
            pc,
            noticed: from.noticed.max(noticed),
            ..from
        });
    }

    /// Returns the exceptions that an instruction may throw, or with which it may kill the object.
    fn thrown_at(&self, pc: u32) -> Vec<u32> {
        let exceptions = &self.code.exceptions;
        let mut all = match self.code.ops[pc as usize] {
            Op::Throw | Op::Die => match pc.checked_sub(1).map(|pc| self.code.ops[pc as usize]) {
                Some(Op::Construct { constructor, .. }) => vec![constructor],
                _ => match constant_before(self.code, pc) {
                    Some(Value::Data(data)) => vec![data.constructor],
                    _ => vec![ANY],
                },
            },
            Op::Assert => vec![exceptions.assertion_failed],
            // The object may be dead.
            Op::Sync { on, .. } if on != u32::MAX && !self.throwing.futures.is_empty() => {
                vec![exceptions.object_dead]
            }
            Op::Get | Op::Take => self.throwing.futures.clone(),
            Op::Random => match constant_before(self.code, pc) {
                Some(Value::Int(below)) if *below > 0 => Vec::new(),
                _ => vec![exceptions.pattern_match_failed],
            },
            _ => thrown_here(self.code, pc, &self.throwing.functions),
        };
        if self.code.nulls.contains(&pc) {
            all.push(exceptions.null_pointer);
        }
        all
    }

    /// Follows a synchronous call into the method, if the object may be in this cog.
    fn call(&mut self, method: u32, on: u32, place: Place) {
        let other = place.other;
        if on == u32::MAX {
            let class = other.unwrap_or(self.class);
            if class == NEW {
                // `this` is the new object, whose class is not recorded here. So the methods with
                // this name in all classes are examined, which is safe.
                for class in &self.code.classes {
                    if let Some(&at) = class.by_name.get(&method) {
                        let pc = class.methods[at as usize].entry;
                        self.pending.push(Place { pc, ..place });
                    }
                }
                return;
            }
            let info = &self.code.classes[class as usize];
            if let Some(&at) = info.by_name.get(&method) {
                let pc = info.methods[at as usize].entry;
                self.push_place(pc, place);
            }
            return;
        }
        self.found.holds = true;
        for (number, class) in self.code.classes.iter().enumerate() {
            let number = number as u32;
            // Without `new local`, an object is alone in its cog.
            let possible = class.interfaces.contains(&on) && (self.local || number == self.class);
            if let (true, Some(&at)) = (possible, class.by_name.get(&method)) {
                let pc = class.methods[at as usize].entry;
                // The call reads whether the object is alive.
                let life = class.life_cell();
                self.found.others.push((number, life, false));
                self.pending.push(Place {
                    pc,
                    other: Some(number),
                    ..place
                });
            }
        }
    }
}

/// Stands for the class of an object that is being created.
const NEW: u32 = u32::MAX;
