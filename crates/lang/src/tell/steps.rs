//! The places of a text where steps begin, with the variables that each step may touch, for
//! editors.

use mazurka_core::AccessKind;
use mazurka_diagnostics::Span;

use crate::code::{Claim, Code, Op, StepInfo, Waits};

/// A place in the source where a step begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPlace {
    /// The place of the statement, or of the access.
    pub span: Span,
    /// Whether the step may have to wait.
    pub waits: bool,
    /// The shared variables that it may read but not write.
    pub reads: Vec<String>,
    /// The shared variables that it may write, and the locks that it may acquire or release.
    pub writes: Vec<String>,
}

impl Code {
    /// Returns the steps of a program, in the order of the text, each place once. The statements
    /// within a guard or an `atomic` block are part of its step.
    ///
    /// ```
    /// let source = "var x, y: int = 0  process { await x == 1; y := x }";
    /// let program = mazurka_lang::load(source, &[]).unwrap();
    /// let code = mazurka_lang::compile(&program, source).unwrap();
    /// let steps = code.step_places();
    /// assert_eq!(steps.len(), 2);
    /// assert!(steps[0].waits && steps[0].reads == ["x"] && steps[0].writes.is_empty());
    /// assert_eq!((&*steps[1].reads[0], &*steps[1].writes[0]), ("x", "y"));
    /// ```
    pub fn step_places(&self) -> Vec<StepPlace> {
        let mut found: Vec<StepPlace> = Vec::new();
        let mut atomic = 0_u32;
        let mut open = false;
        for op in &self.ops {
            match op {
                Op::BeginAtomic => atomic += 1,
                Op::EndAtomic => atomic = atomic.saturating_sub(1),
                Op::Close => open = false,
                Op::Mark(step) | Op::Open(step) => {
                    let swallowed = atomic > 0 || std::mem::replace(&mut open, false);
                    open |= matches!(op, Op::Open(_));
                    if let (false, Some(info)) = (swallowed, self.steps.get(*step as usize)) {
                        found.push(self.step_place(info));
                    }
                }
                _ => {}
            }
        }
        found.sort_by_key(|place| place.span);
        found.dedup_by(|next, place| {
            let same = next.span == place.span;
            if same {
                place.waits |= next.waits;
                place.reads.append(&mut next.reads);
                place.writes.append(&mut next.writes);
            }
            same
        });
        for place in &mut found {
            place.writes.sort();
            place.writes.dedup();
            place.reads.sort();
            place.reads.dedup();
            let writes = &place.writes;
            place.reads.retain(|name| !writes.contains(name));
        }
        found
    }

    fn step_place(&self, info: &StepInfo) -> StepPlace {
        let mut place = StepPlace {
            span: info.span,
            waits: info.waits != Waits::Never || info.joins,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        for claim in &info.claims {
            let (kind, first, len) = match claim {
                Claim::Fixed(access) => (access.kind, access.first, access.len),
                Claim::Element { kind, range, .. } => (*kind, range.first, range.len),
            };
            let end = first.saturating_add(len).min(self.initial.len() as u32);
            let names = match kind {
                AccessKind::Read => &mut place.reads,
                AccessKind::Write | AccessKind::Acquire | AccessKind::Release => &mut place.writes,
            };
            // Elements are shown without their indices, so naming the first element of an array is
            // enough.
            let inside = [&self.first_cells, &self.lock_cells].map(|firsts| {
                let from = firsts.partition_point(|cell| *cell < first);
                let to = firsts.partition_point(|cell| *cell < end);
                firsts[from..to.max(from)].iter().copied()
            });
            let inside = inside.into_iter().flatten();
            let cells = inside.chain((first < end).then_some(first));
            let shown = cells.filter(|cell| !self.is_hidden(*cell));
            names.extend(shown.map(|cell| without_indices(&self.cell_name(cell))));
        }
        place
    }
}

/// Returns a name without indices: `q.from` for `q[1].from`.
fn without_indices(name: &str) -> String {
    let mut depth = 0_u32;
    let mut kept = String::new();
    for c in name.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            c if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}
