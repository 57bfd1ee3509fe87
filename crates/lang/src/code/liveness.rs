//! The locals whose values can still matter at each place of the code (live-variable analysis).
//!
//! This is the textbook's backward dataflow analysis (Kildall 1973; Aho, Lam, Sethi, Ullman,
//! section 9.2.5). A slot is live at a place if some path from there reads the slot before writing
//! it. States that differ only in dead slots have the same future, so a
//! [fingerprint](mazurka_core::Semantics::fingerprint) omits dead slots.
//!
//! | textbook | here |
//! |---|---|
//! | use\[B\], def\[B\] | [`InstrEffect::reads`], [`InstrEffect::writes`], for one instruction |
//! | IN\[B\] | [`LiveSlots::at`] |
//!
//! A spawned block starts with a copy of the frame, so a spawn reads the slots that are live at the
//! start of the block. A callee has its own frame; in the frame of its caller, the slots that are
//! live at the return address stay live.

use crate::check::hir::Type;
use crate::code::{Code, Op, Range};

/// Limit on the number of slots of a frame that is analysed. In a larger frame every slot counts as
/// live.
const MOST_SLOTS: u32 = 1024;

/// A live slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveSlot {
    /// Its index in the frame.
    pub at: u32,
    /// Whether it holds the index of a process (the value of `let h = spawn …`). Equal states can
    /// number their processes differently.
    pub handle: bool,
}

/// The live slots at each instruction.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveSlots {
    slots: Vec<LiveSlot>,
    /// For each instruction, the range of its live slots in `slots`. The range is empty unless a
    /// process can rest at the instruction or return to it.
    parts: Vec<(u32, u32)>,
}

impl LiveSlots {
    /// Returns the slots that are live before an instruction at which a process rests, or to which
    /// a call returns.
    #[inline]
    pub fn at(&self, pc: u32) -> &[LiveSlot] {
        let (first, end) = self.parts[pc as usize];
        &self.slots[first as usize..end as usize]
    }
}

/// The effect of an instruction on the frame, and the instructions that may follow it.
struct InstrEffect {
    reads: [Option<Range>; 2],
    /// The slot that is certainly written, if any.
    writes: Option<u32>,
    /// Whether the next instruction may follow.
    falls: bool,
    /// Another instruction that may follow, or the first instruction of a spawned block.
    leads: Option<u32>,
}

const NOTHING: InstrEffect = InstrEffect {
    reads: [None; 2],
    writes: None,
    falls: true,
    leads: None,
};

fn effect(op: Op) -> InstrEffect {
    let slot = |first| Some(Range { first, len: 1 });
    match op {
        Op::Local(at) => InstrEffect {
            reads: [slot(at), None],
            ..NOTHING
        },
        Op::LocalAt(range) => InstrEffect {
            reads: [Some(range), None],
            ..NOTHING
        },
        Op::ArithLocals(_, _, slots) => InstrEffect {
            reads: slots.map(|at| slot(u32::from(at))),
            ..NOTHING
        },
        Op::Increment(at, _) => InstrEffect {
            reads: [slot(at), None],
            writes: Some(at),
            ..NOTHING
        },
        Op::SetLocal(at) | Op::Fetch { slot: at, .. } => InstrEffect {
            writes: Some(at),
            ..NOTHING
        },
        Op::JumpIfFalse(to) | Op::SpawnBlock(to) => InstrEffect {
            leads: Some(to),
            ..NOTHING
        },
        Op::JumpUnlessLess {
            slots: [a, b], to, ..
        } => InstrEffect {
            reads: [slot(u32::from(a)), slot(u32::from(b))],
            leads: Some(to),
            ..NOTHING
        },
        Op::Jump(to) => InstrEffect {
            falls: false,
            leads: Some(to),
            ..NOTHING
        },
        Op::Return | Op::Error | Op::End => InstrEffect {
            falls: false,
            ..NOTHING
        },
        // `SetLocalAt` writes one element, but the analysis does not know which.
        Op::SetLocalAt(_)
        | Op::Mark(_)
        | Op::Open(_)
        | Op::Close
        | Op::BeginAtomic
        | Op::EndAtomic
        | Op::BeginSimple
        | Op::EndSimple
        | Op::Const(_)
        | Op::Load(_)
        | Op::LoadAt(_)
        | Op::Not
        | Op::Neg(_)
        | Op::Arith(..)
        | Op::Compare(..)
        | Op::And
        | Op::Or
        | Op::Pick(..)
        | Op::Within(_)
        | Op::Select(_)
        | Op::Input(_)
        | Op::Choose
        | Op::Store(_)
        | Op::StoreAt(_)
        | Op::Guard
        | Op::Lock(_)
        | Op::LockAt(_)
        | Op::Unlock(_)
        | Op::UnlockAt(_)
        | Op::SpawnCall(_)
        | Op::Join
        | Op::JoinAll
        | Op::Call(_)
        | Op::Drop
        | Op::Assert
        | Op::Assume
        | Op::Limit(_) => NOTHING,
    }
}

/// Computes the live slots of compiled code.
pub(crate) fn analyse(code: &Code) -> LiveSlots {
    let frames: Vec<Vec<LiveSlot>> = (0..code.layouts.len())
        .map(|body| frame(code, body))
        .collect();
    let small = |body: usize| frames[body].len() as u32 <= MOST_SLOTS;
    let widths = (0..frames.len()).filter(|&body| small(body));
    let most = widths.map(|body| frames[body].len()).max().unwrap_or(0);
    let words = most.div_ceil(64);
    let live = solve(code, words, |pc| small(code.bodies[pc] as usize));

    let mut result = LiveSlots::default();
    let everything: Vec<(u32, u32)> = frames
        .iter()
        .enumerate()
        .map(|(body, slots)| {
            let first = result.slots.len() as u32;
            if !small(body) {
                result.slots.extend(slots);
            }
            (first, result.slots.len() as u32)
        })
        .collect();
    for (pc, op) in code.ops.iter().enumerate() {
        let body = code.bodies[pc] as usize;
        let rests = matches!(op, Op::Mark(_) | Op::Open(_));
        let returns = pc > 0 && matches!(code.ops[pc - 1], Op::Call(_));
        let first = result.slots.len() as u32;
        result.parts.push(match (rests || returns, small(body)) {
            (false, _) => (0, 0),
            (true, false) => everything[body],
            (true, true) => {
                let live = &live[pc * words..(pc + 1) * words];
                let is_live = |slot: &&LiveSlot| has(live, slot.at);
                result.slots.extend(frames[body].iter().filter(is_live));
                (first, result.slots.len() as u32)
            }
        });
    }
    result
}

/// Returns all slots of a body.
fn frame(code: &Code, body: usize) -> Vec<LiveSlot> {
    let layout = &code.layouts[body];
    let mut slots = Vec::new();
    for (local, &first) in layout.names.iter().zip(&layout.slots) {
        let handle = local.ty == Type::Process;
        let all = first..first + local.len.unwrap_or(1);
        slots.extend(all.map(|at| LiveSlot { at, handle }));
    }
    slots
}

fn has(set: &[u64], slot: u32) -> bool {
    set[slot as usize / 64] & (1 << (slot % 64)) != 0
}

/// Computes the least solution, as a set of `words` words for each instruction.
fn solve(code: &Code, words: usize, wanted: impl Fn(usize) -> bool) -> Vec<u64> {
    let count = code.ops.len();
    let mut live = vec![0u64; count * words];
    let mut set = vec![0u64; words];
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for pc in (0..count).rev() {
            if !wanted(pc) {
                continue;
            }
            let effect = effect(code.ops[pc]);
            set.fill(0);
            let next = (effect.falls && pc + 1 < count).then_some(pc + 1);
            for follower in next.into_iter().chain(effect.leads.map(|to| to as usize)) {
                let theirs = &live[follower * words..(follower + 1) * words];
                set.iter_mut().zip(theirs).for_each(|(a, b)| *a |= b);
            }
            if let Some(slot) = effect.writes {
                set[slot as usize / 64] &= !(1 << (slot % 64));
            }
            for range in effect.reads.into_iter().flatten() {
                for slot in range.first..range.first + range.len {
                    set[slot as usize / 64] |= 1 << (slot % 64);
                }
            }
            let mine = &mut live[pc * words..(pc + 1) * words];
            if mine != set {
                mine.copy_from_slice(&set);
                changed = true;
            }
        }
    }
    live
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names that are live where each step starts, in order.
    fn live(source: &str) -> Vec<String> {
        let program = crate::load(source, &[]).expect("a program");
        let code = crate::compile(&program, source).expect("it can be explored");
        let rests = |op: &Op| matches!(op, Op::Mark(_) | Op::Open(_));
        let names = |pc: usize| {
            let layout = &code.layouts[code.bodies[pc] as usize];
            let name = |slot: &LiveSlot| {
                let at = layout.slots.partition_point(|&first| first <= slot.at) - 1;
                let mark = if slot.handle { "^" } else { "" };
                format!("{}{mark}", layout.names[at].name)
            };
            let names: Vec<String> = code.live.at(pc as u32).iter().map(name).collect();
            names.join(" ")
        };
        let marks = (0..code.ops.len()).filter(|&pc| rests(&code.ops[pc]));
        marks.map(names).collect()
    }

    #[test]
    fn a_local_lives_from_its_value_to_its_last_use() {
        let source = "var x: int = 0 process { let a = x; x := a; x := 1; a := x; x := a + a }";
        assert_eq!(live(source), ["", "a", "", "", "a"]);
    }

    #[test]
    fn temporaries_live_within_their_statement() {
        let source = "atomicity access var x, y: int = 0 process { x := x + y; y := x }";
        assert_eq!(live(source), ["", "$t", "$t $t", "", "$t"]);
    }

    #[test]
    fn loops_keep_what_they_need_again() {
        let source = "var x: int = 0 process { let a = x; while x > 0 { x := a }; x := 0 }";
        assert_eq!(live(source), ["", "a", "a", ""]);
        let source = "var x: int = 0 process { for k in 0..2 { let b = x; x := b } }";
        assert_eq!(live(source), ["k $limit1", "k $limit1 b"]);
    }

    #[test]
    fn elements_are_told_apart_where_the_index_is_constant() {
        let source = "var x: int = 0
            process { let a: int[2] = [x, x]; a[0] := 1; let i = x; x := a[1]; x := a[i] }";
        let found = live(source);
        assert_eq!(found[0], "");
        assert_eq!(found[1], "a a");
        assert_eq!(found.last().expect("steps"), "a a i");
    }

    #[test]
    fn a_spawned_block_reads_the_frame_of_its_parent() {
        let source =
            "var x: int = 0 process { let a = x; let h = spawn { x := a }; join h; x := 1 }";
        assert_eq!(live(source), ["", "a", "h^", "", "a"]);
    }

    #[test]
    fn a_caller_keeps_what_it_needs_after_the_call() {
        let source = "var x: int = 0
            proc p(n: int) { x := n }
            process { let a = x; let b = x; p(a); x := b }";
        let program = crate::load(source, &[]).expect("a program");
        let code = crate::compile(&program, source).expect("it can be explored");
        let is_call = |op: &Op| matches!(op, Op::Call(_));
        let call = code.ops.iter().position(is_call).expect("a call");
        assert_eq!(
            code.live.at(call as u32 + 1),
            [LiveSlot {
                at: 1,
                handle: false
            }]
        );
    }

    #[test]
    fn in_a_large_frame_everything_is_live() {
        let source = "var x: int = 0 process { let a: int[2000] = 0; x := 1; x := a[x] }";
        let found = live(source);
        assert_eq!(found[0].matches('a').count(), 2000);
        assert_eq!(found[0], found[1]);
    }
}
