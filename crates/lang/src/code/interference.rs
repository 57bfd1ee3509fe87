//! For each place of the code, the accesses that are still possible from there, as sets of cells.
//! `reach.rs` computes the accesses and keeps the two ends of a channel apart. Here, the accesses
//! become bits, because a [reduced](mazurka_core::Promises::interferes) search asks in every state
//! whether the rest of one process interferes with the step of another process.
//!
//! The sets are computed on first use, because most searches never need them.

use mazurka_core::{Access, AccessKind, Claims};

use crate::code::{Code, Op, reach};

/// The greatest number of bits. Beyond it, every process that can continue counts as interfering
/// with every step.
const MOST_BITS: usize = 1 << 24;

/// For each place where a process can rest or to which it can return, a set of cells for each kind
/// of access.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interference {
    /// The number of words of a set.
    words: usize,
    /// For each instruction, the index in `bits` of its first set, if it has sets.
    places: Vec<Option<u32>>,
    bits: Vec<u64>,
    /// Whether the sets are too large, so that every access counts as interfering.
    unknown: bool,
}

/// The number of access kinds; each has its own sets.
const KINDS: usize = 4;

fn set_of(kind: AccessKind) -> usize {
    match kind {
        AccessKind::Read => 0,
        AccessKind::Write => 1,
        AccessKind::Acquire => 2,
        AccessKind::Release => 3,
    }
}

impl Interference {
    /// Whether a process at this instruction may still make an access that interferes with a step
    /// of another process. `claims` are the claims of that step, and `waits` says whether it is
    /// blocked.
    #[inline]
    pub fn interferes_from(&self, pc: u32, claims: &[Access], waits: bool) -> bool {
        let Some(first) = self.places[pc as usize] else {
            return self.unknown;
        };
        let sets = &self.bits[first as usize..first as usize + KINDS * self.words];
        claims.iter().any(|claim| {
            let rivals = rivals(claim.kind, waits);
            let mut cells = claim.cells();
            cells.any(|cell| {
                let (word, bit) = (cell / 64, cell % 64);
                word >= self.words
                    || rivals
                        .iter()
                        .any(|&kind| sets[kind * self.words + word] >> bit & 1 == 1)
            })
        })
    }
}

/// Returns the kinds of accesses that interfere with a claim of this kind; see [`Access::delays`].
#[inline]
fn rivals(kind: AccessKind, waits: bool) -> &'static [usize] {
    match (kind, waits) {
        (AccessKind::Read, _) => &[1, 2, 3],
        (AccessKind::Acquire, false) => &[2, 0, 1],
        (AccessKind::Release, false) => &[0, 1],
        (AccessKind::Write, _) | (_, true) => &[0, 1, 2, 3],
    }
}

/// Computes the sets of compiled code.
pub(crate) fn analyse(code: &Code) -> Interference {
    let cells = code.initial.len() + code.invariants.len();
    let words = cells.div_ceil(64).max(1);
    let rests = |pc: usize| {
        matches!(code.ops[pc], Op::Mark(_) | Op::Open(_))
            || pc > 0 && matches!(code.ops[pc - 1], Op::Call(_))
    };
    let places: Vec<usize> = (0..code.ops.len()).filter(|&pc| rests(pc)).collect();
    let mut all = Interference {
        words,
        places: vec![None; code.ops.len()],
        ..Interference::default()
    };
    if places.len() * KINDS * words * 64 > MOST_BITS {
        all.unknown = true;
        return all;
    }
    let separate = (!code.pure_ends.is_empty()).then(|| reach::analyse(code, true));
    let reach = separate.as_ref().unwrap_or_else(|| code.reach());
    let mut claims = Claims::new();
    for pc in places {
        claims.clear();
        reach.add_from(pc as u32, &mut claims);
        let first = all.bits.len();
        all.places[pc] = Some(first as u32);
        all.bits.resize(first + KINDS * words, 0);
        for access in &claims {
            let set = first + set_of(access.kind) * words;
            let end = cells.min(access.first as usize + (access.len as usize).min(cells));
            for cell in access.first as usize..end {
                all.bits[set + cell / 64] |= 1 << (cell % 64);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(source: &str) -> Code {
        let program = crate::load(source, &[]).expect("a program");
        crate::compile(&program, source).expect("it can be explored")
    }

    /// Returns, for each mark, whether the code from there on interferes, and compares the answer
    /// with the list of accesses.
    fn answers(code: &Code, claim: Access, waits: bool) -> Vec<bool> {
        let (sets, reach) = (analyse(code), reach::analyse(code, true));
        let marks = (0..code.ops.len()).filter(|&pc| matches!(code.ops[pc], Op::Mark(_)));
        let mut answers = Vec::new();
        for pc in marks {
            let mut future = Claims::new();
            reach.add_from(pc as u32, &mut future);
            let listed = future.iter().any(|&other| {
                if waits {
                    claim.conflicts(other)
                } else {
                    claim.delays(other)
                }
            });
            let answer = sets.interferes_from(pc as u32, &[claim], waits);
            assert_eq!(answer, listed, "{pc} {claim:?} {waits}");
            answers.push(answer);
        }
        answers
    }

    #[test]
    fn the_sets_say_what_the_accesses_say() {
        let code = code(
            "var x, y: int = 0 lock m invariant x >= 0
             process { x := 1; lock(m); y := x; unlock(m) }",
        );
        assert_eq!(
            answers(&code, Access::write(1), false),
            [true, true, true, false]
        );
        let kinds = [
            AccessKind::Read,
            AccessKind::Write,
            AccessKind::Acquire,
            AccessKind::Release,
        ];
        for kind in kinds {
            for cell in 0..4 {
                for waits in [false, true] {
                    answers(&code, Access::new(kind, cell), waits);
                    answers(&code, Access::new(kind, cell).over(4 - cell), waits);
                }
            }
        }
        answers(&code, Access::ANYTHING.over(4), false);
    }

    #[test]
    fn sends_and_receives_touch_different_ends() {
        // Cell 0 has the number of messages, cells 1 and 2 have the messages.
        let ends = [Access::write(0), Access::write(1).over(2)];
        let answers_of = |source: &str| {
            let code = code(source);
            ends.map(|end| [false, true].map(|waits| answers(&code, end, waits)))
        };
        let same = |answers: &[bool]| [answers.to_vec(), answers.to_vec()];
        let two = "chan c[2]: int process { c ! 1 } process { let l = 0; c ? l }";
        let wanted = [same(&[true, false]), same(&[false, true])];
        assert_eq!(answers_of(two), wanted);
        let third = |third: &str| format!("{two} process {{ {third} }}");
        let len = third("let l = len(c)");
        let wanted = [same(&[true, false, true]), same(&[false, true, true])];
        assert_eq!(answers_of(&len), wanted);
        // The send in the procedure is a part of two steps, and one of them touches both ends.
        let put = format!(
            "proc put() {{ c ! 1 }} {}",
            third("put(); atomic { put() }")
        );
        let [count, messages] = answers_of(&put);
        assert!(count[0].iter().filter(|&&touches| touches).count() >= 3);
        assert!(messages[0].iter().filter(|&&touches| touches).count() >= 3);
        let watched = format!("{two} invariant len(c) < 2");
        assert_eq!(answers_of(&watched), [same(&[true; 2]), same(&[true; 2])]);
    }
}
