//! Determines the claims of each step, and whether the step can block.
//!
//! A step *claims* the accesses that it might make. From every mark, the analysis follows all paths
//! to the end of the step, through both sides of each test, and collects the accesses. Steps with
//! conflicting claims are dependent, even in a run in which they do not make the conflicting
//! accesses.
//!
//! An index can be computed when the step starts if it reads only local slots that the step has not
//! changed before. An access with such an index claims one element; any other access with an index
//! claims the whole array. So the analysis tracks the slots that the step may have changed.
//!
//! The analysis also tracks which values depend on a `choose` of the same step, because no wait may
//! depend on such a value. Where paths meet, their facts are united. This loses no precision: each
//! fact after an instruction follows from at most one fact before the instruction.

use mazurka_core::{Access, AccessKind, Claims, Wait, add_claim};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::hir::VarId;
use crate::code::compile::IndexedAccess;
use crate::code::quick::quick;
use crate::code::reach::followers;
use crate::code::{
    ChannelCells, ChannelEndClaims, Claim, Code, LateWait, Op, PureEnd, Range, Waits,
};

/// The depth to which nested calls within one step are followed. A step with deeper (recursive)
/// calls claims everything.
pub(crate) const CALL_DEPTH: usize = 16;

/// The most positions (an instruction with its call stack) that the analysis of a step visits
/// before it stops following calls.
const MOST_PLACES: usize = 1 << 14;

/// Sets the claims and waits of every step of compiled code.
pub(crate) fn analyse(code: &mut Code, indices: &FxHashMap<u32, IndexedAccess>) {
    let marks: Vec<(u32, u32)> = (0..code.ops.len() as u32)
        .filter_map(|pc| match code.ops[pc as usize] {
            Op::Mark(step) | Op::Open(step) => Some((pc, step)),
            _ => None,
        })
        .collect();
    code.quick = vec![None; code.ops.len()];
    code.waits = vec![Waits::Somewhere; code.ops.len()];
    code.channels = channels(code);
    let mut ends_of_ops = EndsOfOps::default();
    let has_ghosts = !code.program.ghosts.is_empty();
    let assumes = code.ops.contains(&Op::Assume);
    let some_put_off = (0..code.ops.len() as u32).any(|pc| puts_off(code, pc, assumes));
    for (pc, step) in marks {
        let walk = |into_calls| {
            let mut walk = ClaimWalk {
                code,
                indices,
                seen: FxHashMap::default(),
                bodies: FxHashMap::default(),
                claims: Vec::new(),
                blockers: Vec::new(),
                late: false,
                incomplete: false,
                into_calls,
                touched: FxHashSet::default(),
            };
            walk.walk_from(pc);
            walk
        };
        // This walk also follows what the step does after a `return` to a caller.
        let put_off = some_put_off && {
            let walk = walk(true);
            walk.incomplete || walk.seen.keys().any(|at| puts_off(code, at.pc, assumes))
        };
        let mut walk = walk(has_ghosts);
        let waits = walk.waits(pc);
        let joins = walk.joins();
        let ends = walk.ends();
        ends_of_ops.add(&walk, ends.as_deref());
        let claims = if walk.incomplete {
            everything(code)
        } else {
            walk.claims
        };
        if walk.late {
            code.late.push(LateWait {
                span: code.steps[step as usize].span,
                certain: !walk.incomplete,
            });
        }
        let wait = kind_of_wait(waits, &claims, &code.ops);
        if wait == Wait::Guard {
            for claim in &claims {
                let access = match *claim {
                    Claim::Fixed(access) => access,
                    Claim::Element { kind, range, .. } => {
                        Access::new(kind, range.first).over(range.len)
                    }
                };
                add_claim(&mut code.guards, access);
            }
        }
        let fixed = fixed(&claims);
        // A step that touches a channel has two sets of claims; a search uses one of them. A quick
        // step has one set, so this step cannot be quick.
        let quick = match ends {
            None => quick(code, pc, &claims, wait),
            Some(_) => None,
        };
        code.quick[pc as usize] = quick;
        code.waits[pc as usize] = match wait {
            Wait::Never => Waits::Never,
            _ => waits,
        };
        let info = &mut code.steps[step as usize];
        info.fixed = fixed;
        info.claims = claims;
        info.waits = waits;
        info.wait = wait;
        info.joins = joins;
        info.puts_off = put_off;
        info.ends = ends;
    }
    code.pure_ends = ends_of_ops.pure();
}

/// Collects the instructions that touch the same end of a channel in all steps that contain them.
#[derive(Default)]
struct EndsOfOps {
    /// These instructions, and whether each is part of a send.
    touched: FxHashMap<u32, bool>,
    /// The instructions of steps that touch both ends.
    mixed: Vec<u32>,
    /// Whether the instructions of some step are unknown.
    incomplete: bool,
}

impl EndsOfOps {
    fn add(&mut self, walk: &ClaimWalk<'_>, ends: Option<&ChannelEndClaims>) {
        self.incomplete |= walk.incomplete;
        for &(channel, end, pc) in &walk.touched {
            let counts = walk.code.channels[channel].counts;
            let is_pure = ends.is_some_and(|ends| {
                let mut pure = ends.pure.iter();
                pure.any(|end| end.cells.counts.first == counts.first)
            });
            match end.filter(|_| is_pure) {
                Some(end) => drop(self.touched.insert(pc, walk.code.ends[end].1.sends)),
                None => self.mixed.push(pc),
            }
        }
    }

    fn pure(mut self) -> FxHashMap<u32, bool> {
        for pc in self.mixed {
            self.touched.remove(&pc);
        }
        if self.incomplete {
            self.touched.clear();
        }
        self.touched
    }
}

/// Whether an instruction may lead back to an earlier state, or may discard the run. Only a
/// backward jump leads back to a state, because recursion makes the stack deeper. A spawned process
/// runs to its first mark in the same step, and may meet an `assume` before it.
fn puts_off(code: &Code, pc: u32, assumes: bool) -> bool {
    match code.ops[pc as usize] {
        Op::Assume => true,
        Op::SpawnBlock(_) | Op::SpawnCall(_) => assumes,
        Op::Jump(to) | Op::JumpIfFalse(to) | Op::JumpUnlessLess { to, .. } => {
            code.may_loop && to <= pc
        }
        _ => false,
    }
}

fn kind_of_wait(waits: Waits, claims: &[Claim], ops: &[Op]) -> Wait {
    let acquires = |claim: &Claim| match claim {
        Claim::Fixed(access) => access.kind == AccessKind::Acquire && access.len == 1,
        Claim::Element { kind, .. } => *kind == AccessKind::Acquire,
    };
    match (waits, claims) {
        (Waits::Never, _) => Wait::Never,
        // With further claims, such as those of an assignment to ghosts after the lock, the step is
        // a guard.
        (Waits::Lock(_), [_]) => Wait::Lock,
        (Waits::At(pc), [claim]) if acquires(claim) => match ops[pc as usize] {
            // Any other blocking instruction, such as a guard over locals before the lock, would be
            // a second reason to wait, so the step would be a guard.
            Op::Lock(_) | Op::LockAt(_) => Wait::Lock,
            _ => Wait::Guard,
        },
        (Waits::At(pc), []) => match ops[pc as usize] {
            Op::Join | Op::JoinAll => Wait::Process,
            _ => Wait::Guard,
        },
        _ => Wait::Guard,
    }
}

/// Returns the claims if none of them depends on an index.
fn fixed(claims: &[Claim]) -> Option<Claims> {
    let mut all = Claims::new();
    for claim in claims {
        match claim {
            Claim::Fixed(access) => add_claim(&mut all, *access),
            Claim::Element { .. } => return None,
        }
    }
    all.sort_unstable();
    Some(all)
}

/// Returns claims for all accesses of the program. Locks are acquired and released, not written,
/// because the unfolding into nets tells from these accesses whether a lock is free.
fn everything(code: &Code) -> Vec<Claim> {
    let (locks, invariants) = (code.first_lock, code.initial.len() as u32);
    let all = [
        (AccessKind::Write, 0..locks),
        (AccessKind::Acquire, locks..invariants),
        (AccessKind::Release, locks..invariants),
        (
            AccessKind::Write,
            invariants..invariants + code.invariants.len() as u32,
        ),
    ];
    let claims = all.into_iter().filter(|(_, cells)| !cells.is_empty());
    claims
        .map(|(kind, cells)| Claim::Fixed(Access::new(kind, cells.start).over(cells.len() as u32)))
        .collect()
}

/// What depends on the values that the step has chosen with `choose`.
#[derive(Clone, Default, PartialEq, Eq)]
struct ChoiceValues {
    /// Whether the value that is being computed depends on them.
    read: bool,
    /// Whether the path of the step depends on them.
    path_depends: bool,
    /// The places whose values depend on them, sorted.
    dependent: Vec<TouchedPlace>,
}

/// A place that a step reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum TouchedPlace {
    Cell(u32),
    /// The number of calls around the slot, and the slot.
    Slot(usize, u32),
}

impl ChoiceValues {
    /// Applies the effect of an instruction with this number of calls around it.
    fn follow(&mut self, op: Op, calls: usize) {
        let cells = |range: Range| (range.first..range.first + range.len).map(TouchedPlace::Cell);
        let slots = |range: Range| {
            let all = range.first..range.first + range.len;
            all.map(move |slot| TouchedPlace::Slot(calls, slot))
        };
        match op {
            Op::Choose => self.read = true,
            Op::Load(cell) => self.reads([TouchedPlace::Cell(cell)]),
            Op::LoadAt(range) => self.reads(cells(range)),
            Op::Local(slot) => self.reads([TouchedPlace::Slot(calls, slot)]),
            Op::LocalAt(range) => self.reads(slots(range)),
            Op::ArithLocals(_, _, both) => {
                self.reads(both.map(|slot| TouchedPlace::Slot(calls, u32::from(slot))));
            }
            Op::Fetch { cell, slot } => {
                self.reads([TouchedPlace::Cell(cell)]);
                self.writes([TouchedPlace::Slot(calls, slot)], true);
            }
            Op::Store(cell) => self.writes([TouchedPlace::Cell(cell)], true),
            Op::SetLocal(slot) => self.writes([TouchedPlace::Slot(calls, slot)], true),
            Op::StoreAt(range) => self.writes(cells(range), false),
            Op::SetLocalAt(range) => self.writes(slots(range), false),
            Op::JumpUnlessLess { slots, .. } => {
                self.reads(slots.map(|slot| TouchedPlace::Slot(calls, u32::from(slot))));
                self.branch();
            }
            // The analysis does not follow arguments into the procedure.
            Op::JumpIfFalse(_) | Op::Call(_) | Op::SpawnCall(_) => self.branch(),
            Op::Drop | Op::Assert | Op::Assume | Op::Limit(_) => self.read = false,
            _ => {}
        }
    }

    /// Applies the effect of a call that the walk does not follow. Returns whether the path after
    /// the call may depend on a chosen value.
    fn skip(&mut self, body: ProcedureEffects) -> bool {
        let shared = self
            .dependent
            .iter()
            .any(|at| matches!(at, TouchedPlace::Cell(_)));
        self.path_depends |= shared || body.chooses;
        self.path_depends
    }

    fn join(&mut self, other: ChoiceValues) {
        self.read |= other.read;
        self.path_depends |= other.path_depends;
        self.dependent.extend(other.dependent);
        self.dependent.sort_unstable();
        self.dependent.dedup();
    }

    fn branch(&mut self) {
        self.path_depends |= std::mem::take(&mut self.read);
    }

    fn reads(&mut self, places: impl IntoIterator<Item = TouchedPlace>) {
        self.read |= places
            .into_iter()
            .any(|place| self.dependent.contains(&place));
    }

    /// Writes the current value to one of these places. `certain` says that there is only one.
    fn writes(&mut self, places: impl IntoIterator<Item = TouchedPlace>, certain: bool) {
        for place in places {
            match self.dependent.binary_search(&place) {
                Err(at) if self.read => self.dependent.insert(at, place),
                Ok(at) if !self.read && certain => drop(self.dependent.remove(at)),
                _ => {}
            }
        }
        self.read = false;
    }
}

/// A position of the walk: an instruction, the state that decides how marks are treated, and the
/// return addresses.
#[derive(Clone, PartialEq, Eq, Hash)]
struct WalkPosition {
    pc: u32,
    open: bool,
    merged: bool,
    atomic: u32,
    returns: Vec<u32>,
    /// Whether the step has left the procedure in which it began, so that it is in the frame of a
    /// caller.
    left: bool,
}

/// The possible effects on the paths to a position.
#[derive(Clone, Default, PartialEq, Eq)]
struct PathEffects {
    /// The slots that may have been changed, sorted.
    changed: Vec<u32>,
    outcome: ChoiceValues,
}

impl PathEffects {
    /// Adds the possible effects on other paths. Returns whether any of them was new.
    fn join(&mut self, other: PathEffects) -> bool {
        let known = self.clone();
        self.changed.extend(other.changed);
        self.changed.sort_unstable();
        self.changed.dedup();
        self.outcome.join(other.outcome);
        *self != known
    }
}

/// The possible effects of a procedure, including those of its callees.
#[derive(Clone, Copy, Default)]
struct ProcedureEffects {
    chooses: bool,
    waits: bool,
    recursive: bool,
}

/// The analysis of one step: a worklist walk over the code from its mark, with its results.
struct ClaimWalk<'a> {
    code: &'a Code,
    indices: &'a FxHashMap<u32, IndexedAccess>,
    seen: FxHashMap<WalkPosition, PathEffects>,
    /// The procedures analysed so far.
    bodies: FxHashMap<u32, ProcedureEffects>,
    claims: Vec<Claim>,
    blockers: Vec<u32>,
    /// Whether the step may wait after it has chosen something.
    late: bool,
    /// Whether some call was not followed.
    incomplete: bool,
    /// Whether the walk follows calls and returns up to the next mark. It does so if the program
    /// has ghosts: an assignment to a ghost belongs to the step before it, even if this step is in
    /// another procedure.
    into_calls: bool,
    /// Each touch of a channel: the channel, the index in `Code::ends` if the access is a part of a
    /// send or receive that touches only one end, and the instruction.
    touched: FxHashSet<(usize, Option<usize>, u32)>,
}

impl ClaimWalk<'_> {
    fn walk_from(&mut self, mark: u32) {
        let open = matches!(self.code.ops[mark as usize], Op::Open(_));
        let start = WalkPosition {
            pc: mark + 1,
            open,
            merged: false,
            atomic: 0,
            returns: Vec::new(),
            left: false,
        };
        let mut work = vec![(start, PathEffects::default())];
        while let Some((at, mut before)) = work.pop() {
            if let Some(known) = self.seen.get_mut(&at) {
                if !known.join(before) {
                    continue;
                }
                before = known.clone();
            } else {
                self.seen.insert(at.clone(), before.clone());
            }
            self.step(at, before, &mut work);
        }
    }

    fn step(
        &mut self,
        mut at: WalkPosition,
        before: PathEffects,
        work: &mut Vec<(WalkPosition, PathEffects)>,
    ) {
        let PathEffects {
            mut changed,
            mut outcome,
        } = before;
        let pc = at.pc;
        let index = self.fixed_index(&at, &changed);
        self.touch_channel(&at);
        at.pc += 1;
        outcome.follow(self.code.ops[pc as usize], at.returns.len());
        match self.code.ops[pc as usize] {
            Op::Mark(_) if at.atomic > 0 || at.merged => {}
            Op::Mark(_) if at.open => at.open = false,
            Op::Open(_) if at.atomic > 0 || at.merged || at.open => {}
            Op::Mark(_) | Op::Open(_) => return,
            Op::Close => at.open = false,
            Op::BeginAtomic => at.atomic += 1,
            // The walk began at a mark inside an atomic block. No process rests there, so the
            // result is not used.
            Op::EndAtomic if at.atomic == 0 => return,
            Op::EndAtomic => at.atomic -= 1,
            Op::BeginSimple => at.merged |= std::mem::take(&mut at.open),
            Op::EndSimple => at.merged = false,
            Op::Const(_)
            | Op::Local(_)
            | Op::LocalAt(_)
            | Op::Pick(..)
            | Op::Within(_)
            | Op::Not
            | Op::Neg(_)
            | Op::Arith(..)
            | Op::ArithLocals(..)
            | Op::Compare(..)
            | Op::And
            | Op::Or
            | Op::Select(_)
            | Op::Input(_)
            | Op::Drop
            | Op::Assert
            | Op::Assume
            | Op::Limit(_) => {}
            Op::Choose => {}
            Op::Load(cell) => self.claim(Claim::Fixed(Access::read(cell))),
            Op::LoadAt(range) => self.element(AccessKind::Read, range, index),
            Op::Fetch { cell, slot } => {
                self.claim(Claim::Fixed(Access::read(cell)));
                changed.push(slot);
            }
            Op::Increment(slot, _) => changed.push(slot),
            Op::Store(cell) => {
                self.claim(Claim::Fixed(Access::write(cell)));
                self.invariants(cell..cell + 1);
            }
            Op::StoreAt(range) => self.element(AccessKind::Write, range, index),
            Op::SetLocal(slot) => changed.push(slot),
            Op::SetLocalAt(range) => changed.extend(range.first..range.first + range.len),
            Op::Jump(to) => at.pc = to,
            Op::JumpIfFalse(to) | Op::JumpUnlessLess { to, .. } => {
                let mut other = at.clone();
                other.pc = to;
                let before = PathEffects {
                    changed: changed.clone(),
                    outcome: outcome.clone(),
                };
                work.push((other, before));
            }
            Op::Guard | Op::Join | Op::JoinAll => self.blocks(pc, &outcome),
            Op::Lock(cell) => {
                self.blocks(pc, &outcome);
                self.claim(Claim::Fixed(Access::new(AccessKind::Acquire, cell)));
            }
            Op::LockAt(range) => {
                self.blocks(pc, &outcome);
                self.element(AccessKind::Acquire, range, index);
            }
            Op::Unlock(cell) => {
                self.claim(Claim::Fixed(Access::new(AccessKind::Release, cell)));
            }
            Op::UnlockAt(range) => self.element(AccessKind::Release, range, index),
            Op::SpawnBlock(_) | Op::SpawnCall(_) => {}
            // The body of a procedure starts with a mark, where the step ends. The step continues
            // in the body only if it swallows this mark, or if ghosts are assigned before the mark.
            Op::Call(_) if !self.into_calls && !at.open && !at.merged && at.atomic == 0 => return,
            Op::Call(procedure) if !self.follows(procedure, &at) => {
                self.incomplete = true;
                let body = self.body(procedure);
                self.late |= outcome.skip(body) && body.waits;
            }
            Op::Call(procedure) => {
                at.returns.push(at.pc);
                at.pc = self.code.procedures[procedure as usize].pc;
            }
            Op::Return => match at.returns.pop() {
                Some(pc) => at.pc = pc,
                // The step leaves the procedure in which it began. The rest of the step is local
                // work and assignments to ghosts in the caller, which may be any caller.
                None => {
                    if self.into_calls {
                        at.left = true;
                        self.leave(pc, at, PathEffects { changed, outcome }, work);
                    }
                    return;
                }
            },
            Op::Error | Op::End => return,
        }
        changed.sort_unstable();
        changed.dedup();
        work.push((at, PathEffects { changed, outcome }));
    }

    /// Continues the walk after every call of the procedure that contains the `return` at `from`.
    fn leave(
        &self,
        from: u32,
        at: WalkPosition,
        before: PathEffects,
        work: &mut Vec<(WalkPosition, PathEffects)>,
    ) {
        // Procedures are compiled first, so the number of a procedure is the number of its body.
        let procedure = self.code.bodies[from as usize];
        for (pc, op) in self.code.ops.iter().enumerate() {
            if *op == Op::Call(procedure) {
                let after_call = WalkPosition {
                    pc: pc as u32 + 1,
                    ..at.clone()
                };
                work.push((after_call, before.clone()));
            }
        }
    }

    /// Whether the walk follows a call. After the first call that is too deep, it follows no
    /// recursive calls.
    fn follows(&mut self, procedure: u32, at: &WalkPosition) -> bool {
        at.returns.len() < CALL_DEPTH
            && self.seen.len() < MOST_PLACES
            && !(self.incomplete && self.body(procedure).recursive)
    }

    fn body(&mut self, procedure: u32) -> ProcedureEffects {
        let code = self.code;
        let analyse_body = || body(code, procedure);
        *self.bodies.entry(procedure).or_insert_with(analyse_body)
    }

    fn blocks(&mut self, pc: u32, outcome: &ChoiceValues) {
        self.blockers.push(pc);
        self.late |= outcome.read || outcome.path_depends;
    }

    /// Records the channel that an instruction touches.
    fn touch_channel(&mut self, at: &WalkPosition) {
        if self.code.channels.is_empty() {
            return;
        }
        let cells = match self.code.ops[at.pc as usize] {
            Op::Load(cell) | Op::Store(cell) | Op::Fetch { cell, .. } => cell,
            Op::LoadAt(range) | Op::StoreAt(range) => range.first,
            _ => return,
        };
        let channels = &self.code.channels;
        let Some(channel) = channels.iter().position(|known| known.has(cells)) else {
            return;
        };
        let mut ends = self.code.ends.iter();
        let first = channels[channel].counts.first;
        let end = ends.position(|(code, end)| {
            let count = self.code.first_cells[end.count.0 as usize];
            at.atomic == 0 && code.contains(&at.pc) && count == first
        });
        self.touched.insert((channel, end, at.pc));
    }

    /// Returns the claims for searches in which a send claims only one end of its channel, and a
    /// receive the other end. The end of the sender is the cell of the count, the end of the
    /// receiver the cells of the messages. Any other access to a channel claims both ends. Returns
    /// `None` if the step touches no channel, or if the walk is incomplete.
    fn ends(&self) -> Option<Box<ChannelEndClaims>> {
        if self.touched.is_empty() || self.incomplete {
            return None;
        }
        let mut ends = ChannelEndClaims::default();
        for (at, channel) in self.code.channels.iter().enumerate() {
            let mut own = self.touched.iter().filter(|(touched, ..)| *touched == at);
            let first = own.next().and_then(|&(_, end, _)| end);
            let Some(end) = first.filter(|_| !is_watched(self.code, channel)) else {
                continue;
            };
            if own.all(|&(_, other, _)| other == Some(end)) {
                let end = self.code.ends[end].1;
                ends.pure.push(PureEnd {
                    cells: channel.clone(),
                    capacity: end.capacity,
                    sends: end.sends,
                });
            }
        }
        for claim in &self.claims {
            let (kind, first) = match *claim {
                Claim::Fixed(access) => (access.kind, access.first),
                Claim::Element { kind, range, .. } => (kind, range.first),
            };
            let mut channels = self.code.channels.iter();
            let Some(channel) = channels.find(|channel| channel.has(first)) else {
                ends.claims.push(claim.clone());
                continue;
            };
            let is_count = channel.counts.contains(first);
            let counts = channel.counts;
            match ends
                .pure
                .iter()
                .find(|end| end.cells.counts.first == counts.first)
            {
                Some(end) if end.sends != is_count => {}
                Some(_) => ends.claims.push(claim.clone()),
                None => {
                    ends.claims.push(claim.clone());
                    let messages = channel.messages.iter().filter(|_| is_count);
                    ends.claims.extend(
                        messages.map(|range| {
                            Claim::Fixed(Access::new(kind, range.first).over(range.len))
                        }),
                    );
                }
            }
        }
        Some(Box::new(ends))
    }

    fn claim(&mut self, claim: Claim) {
        if !self.claims.contains(&claim) {
            self.claims.push(claim);
        }
    }

    /// Returns the code of the index at this instruction if its value is fixed when the step
    /// starts: it reads only unchanged slots of the procedure in which the step begins.
    fn fixed_index(&self, at: &WalkPosition, changed: &[u32]) -> Option<u32> {
        let (snippet, slots) = self.indices.get(&at.pc)?.local.as_ref()?;
        let own = at.returns.is_empty() && !at.left;
        let fixed = own && !slots.iter().any(|slot| changed.contains(slot));
        fixed.then_some(*snippet)
    }

    /// Claims the element that an index selects if the index is fixed, else the whole array.
    fn element(&mut self, kind: AccessKind, range: Range, index: Option<u32>) {
        match index {
            // When the machine knows the index, it adds the invariants over this element.
            Some(index) => self.claim(Claim::Element { kind, range, index }),
            None => {
                self.claim(Claim::Fixed(Access::new(kind, range.first).over(range.len)));
                if kind == AccessKind::Write {
                    self.invariants(range.first..range.first + range.len);
                }
            }
        }
    }

    fn invariants(&mut self, cells: std::ops::Range<u32>) {
        for cell in cells {
            for &invariant in self.code.watched.get(cell as usize).into_iter().flatten() {
                self.claim(Claim::Fixed(Access::write(
                    self.code.invariant_cell(invariant),
                )));
            }
        }
    }

    fn waits(&mut self, mark: u32) -> Waits {
        self.blockers.sort_unstable();
        self.blockers.dedup();
        match (&self.blockers[..], self.incomplete) {
            ([], false) => Waits::Never,
            ([one], false) => match self.code.ops[*one as usize] {
                Op::Lock(cell) if *one == mark + 1 => Waits::Lock(cell),
                _ if self.reads_only_up_to(mark, *one) => Waits::At(*one),
                _ => Waits::Somewhere,
            },
            _ => Waits::Somewhere,
        }
    }

    /// Whether the step may wait for the end of a process.
    fn joins(&self) -> bool {
        let joins = |&pc: &u32| matches!(self.code.ops[pc as usize], Op::Join | Op::JoinAll);
        self.incomplete || self.blockers.iter().any(joins)
    }

    /// Whether the code from a mark to the instruction that may block is a straight line that only
    /// reads.
    fn reads_only_up_to(&self, mark: u32, blocker: u32) -> bool {
        mark < blocker
            && (mark + 1..blocker).all(|pc| match self.code.ops[pc as usize] {
                Op::Const(_)
                | Op::Local(_)
                | Op::LocalAt(_)
                | Op::Pick(..)
                | Op::Within(_)
                | Op::Load(_)
                | Op::LoadAt(_)
                | Op::Not
                | Op::Neg(_)
                | Op::Arith(..)
                | Op::ArithLocals(..)
                | Op::Compare(..)
                | Op::And
                | Op::Or
                | Op::Select(_)
                | Op::Mark(_)
                | Op::Open(_)
                | Op::BeginAtomic => true,
                Op::Jump(to) | Op::JumpIfFalse(to) => (mark..=blocker).contains(&to),
                _ => false,
            })
    }
}

/// Whether an invariant reads a cell of a channel.
fn is_watched(code: &Code, channel: &ChannelCells) -> bool {
    let mut ranges = channel.messages.iter().chain([&channel.counts]);
    ranges.any(|range| {
        let mut cells = range.first..range.first + range.len;
        let watched = |cell: u32| code.watched.get(cell as usize);
        cells.any(|cell| watched(cell).is_some_and(|by| !by.is_empty()))
    })
}

fn channels(code: &Code) -> Vec<ChannelCells> {
    let range = |var: &VarId| Range {
        first: code.first_cells[var.0 as usize],
        len: code.program.vars[var.0 as usize].len.unwrap_or(1),
    };
    let cells = |(count, messages): &(VarId, Vec<VarId>)| ChannelCells {
        counts: range(count),
        messages: messages.iter().map(range).collect(),
    };
    code.program.channels.iter().map(cells).collect()
}

/// Returns the possible effects of a procedure for any arguments, without the effects of processes
/// that it spawns.
fn body(code: &Code, procedure: u32) -> ProcedureEffects {
    let mut body = ProcedureEffects::default();
    let mut seen = vec![false; code.ops.len()];
    let mut work = vec![code.procedures[procedure as usize].pc as usize];
    while let Some(pc) = work.pop() {
        if std::mem::replace(&mut seen[pc], true) {
            continue;
        }
        match code.ops[pc] {
            Op::Choose => body.chooses = true,
            Op::Guard | Op::Join | Op::JoinAll | Op::Lock(_) | Op::LockAt(_) => body.waits = true,
            Op::Call(callee) => body.recursive |= callee == procedure,
            Op::SpawnBlock(_) | Op::SpawnCall(_) => {
                work.push(pc + 1);
                continue;
            }
            _ => {}
        }
        work.extend(followers(code, pc));
    }
    body
}
