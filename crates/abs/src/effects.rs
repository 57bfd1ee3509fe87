//! What the next run of a task may do, on any path up to where it rests again: errata E2 asks that
//! dependence be decided by this, and not by what a run really did. Found once, when the program is
//! compiled.
//!
//! A run starts where a task rests: at the start of its method, after an `await`, a `suspend` or a
//! `get`. It ends at the next of these, or with the method. It touches fields of `this`; and where
//! it calls objects of its own cog, fields of these, known by class only.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::{Code, Op};

/// What a run may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// The fields of `this` that it may read, and write; sorted.
    pub reads: Vec<u32>,
    pub writes: Vec<u32>,
    /// Fields of other objects of the cog: class, field, whether written.
    pub others: Vec<(u32, u32, bool)>,
    /// It may end waiting with the cog in its hands.
    pub holds: bool,
    pub prints: bool,
}

/// A place that a run may come to.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    pc: u32,
    /// On `this` of the run, or on another object of this class.
    other: Option<u32>,
}

/// Finds the effects of every run, and which cogs can be held.
pub(crate) fn analyse(code: &mut Code) {
    let local = code
        .ops
        .iter()
        .any(|op| matches!(op, Op::New { local: true, .. }));
    let mut effects = FxHashMap::default();
    for (number, class) in code.classes.iter().enumerate() {
        for method in &class.methods {
            let walk = Walk::new(code, number as u32, local, false);
            effects.insert(method.entry, walk.run(method.entry));
        }
        for pc in within(code, number as u32) {
            // A step that starts by waiting for a future need not wait for it again.
            let (start, joined) = match code.ops[pc as usize] {
                Op::Await => (pc + 1, true),
                Op::Suspend => (pc + 1, false),
                Op::Get => (pc + 1, true),
                Op::Sync { .. } => (pc + 2, true),
                _ => continue,
            };
            let walk = Walk::new(code, number as u32, local, joined);
            effects.insert(start, walk.run(start));
        }
    }
    code.effects = effects;
    let sent = (0..code.ops.len() as u32).filter(|&pc| keeps_future(code, pc));
    code.kept = sent.collect();
    for class in 0..code.classes.len() as u32 {
        code.classes[class as usize].may_hold = may_hold(code, class);
    }
    let guards = code.ops.contains(&Op::Guard);
    code.guarded = guards || code.classes.iter().any(|class| class.may_hold);
    let own = (code.own as usize..code.ops.len())
        .filter(|&pc| matches!(code.ops[pc], Op::Jump(to) if to as usize <= pc));
    code.may_loop = own.count() > 0 || code.ops.iter().any(|op| matches!(op, Op::Sync { .. }));
}

/// Whether this sends a message whose future is used for more than `await f?`: then an exception
/// may reach the tasks that have the future.
fn keeps_future(code: &Code, pc: u32) -> bool {
    let [Op::Async { .. }, next, ..] = code.ops[pc as usize..] else {
        return false;
    };
    match next {
        Op::Pop => false,
        Op::Set(slot) => passed(code, vec![pc + 2]).iter().any(|&at| {
            let [one, two, ..] = code.ops[at as usize..] else {
                return false;
            };
            one == Op::Local(slot) && two != Op::Claim
        }),
        _ => true,
    }
}

/// Everything that the methods and the init block of a class consist of.
fn within(code: &Code, class: u32) -> Vec<u32> {
    let info = &code.classes[class as usize];
    let entries = info.methods.iter().map(|method| method.entry);
    let mut pending: Vec<u32> = entries.collect();
    if class != 0 {
        pending.push(info.init);
    }
    passed(code, pending)
}

/// All instructions that may be passed from these on, in the same methods.
pub(crate) fn passed(code: &Code, mut pending: Vec<u32>) -> Vec<u32> {
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
            Op::Return | Op::Leave | Op::Created | Op::Throw | Op::NoMatch => {}
            _ => pending.push(pc + 1),
        }
    }
    let mut all: Vec<u32> = seen.into_iter().collect();
    all.sort_unstable();
    all
}

/// Whether a task may hold a cog whose first object is of this class, while others of its tasks
/// wait.
fn may_hold(code: &Code, class: u32) -> bool {
    let mut classes = vec![class];
    let mut at = 0;
    let mut holds = false;
    while at < classes.len() {
        for pc in within(code, classes[at]) {
            match code.ops[pc as usize] {
                Op::New {
                    class, local: true, ..
                } if !classes.contains(&class) => classes.push(class),
                Op::Sync { on, .. } if on != u32::MAX => holds = true,
                Op::Get if !after_own_call(code, pc) => holds = true,
                _ => {}
            }
        }
        at += 1;
    }
    // No other task can be on the main block's cog.
    holds && (class != 0 || classes.len() > 1)
}

/// Whether this `get` follows a call on `this`, which never comes to it.
fn after_own_call(code: &Code, pc: u32) -> bool {
    matches!(code.ops[pc as usize - 1], Op::Sync { on: u32::MAX, .. })
}

struct Walk<'a> {
    code: &'a Code,
    class: u32,
    /// Whether a cog may have several objects.
    local: bool,
    /// Whether a `get` may pass.
    joined: bool,
    pending: Vec<Place>,
    seen: FxHashSet<Place>,
    found: Effects,
}

impl<'a> Walk<'a> {
    fn new(code: &'a Code, class: u32, local: bool, joined: bool) -> Self {
        Self {
            code,
            class,
            local,
            joined,
            pending: Vec::new(),
            seen: FxHashSet::default(),
            found: Effects::default(),
        }
    }

    fn run(mut self, start: u32) -> Effects {
        self.pending.push(Place {
            pc: start,
            other: None,
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
        found
    }

    fn visit(&mut self, place: Place) {
        let Place { pc, other } = place;
        let mut go = |pc: u32| self.pending.push(Place { pc, other });
        for handler in self
            .code
            .handlers
            .iter()
            .filter(|handler| handler.covers(pc))
        {
            go(handler.target);
        }
        match self.code.ops[pc as usize] {
            Op::Jump(target) => go(target),
            Op::JumpUnless(target) | Op::JumpUnlessMade { target, .. } => {
                go(target);
                go(pc + 1);
            }
            Op::Field(at) => {
                go(pc + 1);
                match other {
                    None => self.found.reads.push(at),
                    Some(class) => self.found.others.push((class, at, false)),
                }
            }
            Op::SetField(at) => {
                go(pc + 1);
                match other {
                    None => self.found.writes.push(at),
                    Some(class) => self.found.others.push((class, at, true)),
                }
            }
            Op::Function { function, .. } => {
                go(self.code.functions[function as usize].entry);
                go(pc + 1);
            }
            Op::Print { .. } => {
                go(pc + 1);
                self.found.prints = true;
            }
            Op::Sync { method, on, .. } => {
                go(pc + 2);
                self.call(method, on, other);
            }
            Op::New { class, .. } => {
                go(pc + 1);
                // No other task knows the new object yet, so what is done to its fields does not
                // matter.
                let init = self.code.classes[class as usize].init;
                self.pending.push(Place {
                    pc: init,
                    other: Some(NEW),
                });
            }
            Op::Get => {
                self.found.holds = true;
                if self.joined {
                    go(pc + 1);
                }
            }
            Op::Await
            | Op::Suspend
            | Op::Return
            | Op::Leave
            | Op::Created
            | Op::Throw
            | Op::NoMatch => {}
            _ => go(pc + 1),
        }
        self.found.others.retain(|&(class, ..)| class != NEW);
    }

    /// A synchronous call: what the method does if the object is in this cog.
    fn call(&mut self, method: u32, on: u32, other: Option<u32>) {
        if on == u32::MAX {
            let class = other.unwrap_or(self.class);
            if class == NEW {
                // `this` is the new object: all classes' methods of that name are an approximation
                // that costs nothing.
                for class in &self.code.classes {
                    if let Some(&at) = class.by_name.get(&method) {
                        let pc = class.methods[at as usize].entry;
                        self.pending.push(Place {
                            pc,
                            other: Some(NEW),
                        });
                    }
                }
                return;
            }
            let info = &self.code.classes[class as usize];
            if let Some(&at) = info.by_name.get(&method) {
                let pc = info.methods[at as usize].entry;
                self.pending.push(Place { pc, other });
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
                self.pending.push(Place {
                    pc,
                    other: Some(number),
                });
            }
        }
    }
}

/// The class of an object that is being created.
const NEW: u32 = u32::MAX;
