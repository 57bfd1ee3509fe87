//! [`Scribe`]: a listener that collects the parts of the label of a step while the machine makes
//! the step: its guards, its actions, and the values that it reads.

use rustc_hash::FxHashSet;

use crate::code::{Action, Code, LabelPart, Op};
use crate::run::{ConcreteContext, Listener};
use crate::tell::pretty::Scope;
use crate::tell::values::EvaluationContext;

/// Limit on the number of guards, and on the number of actions, in the label of a step. The label
/// of a loop in an atomic block could otherwise have millions.
const MAX_ITEMS: usize = 100;

/// Collects the guards, actions, prints and reads of a step.
#[derive(Default)]
pub(super) struct Scribe {
    pub guards: FirstItems<Condition>,
    /// Whether the step is an atomic block.
    pub atomic: bool,
    /// The text of the chosen alternative of a `select`. `None` if the step chose `else` or has no
    /// `select`.
    pub alternative: Option<String>,
    /// Whether the step has reached the choice among the alternatives of a `select`. This is false
    /// if the evaluation of a condition failed before the choice.
    pub chose: bool,
    pub actions: FirstItems<NarratedAction>,
    pub printed: FirstItems<String>,
    /// The cells in the order in which they were first read, each with the value read.
    pub reads: Vec<(u32, i64)>,
    /// The cells in `reads`.
    read: FxHashSet<u32>,
}

/// The first items of a sequence, and the number of further items.
pub(super) struct FirstItems<T> {
    pub first: Vec<T>,
    pub more: usize,
}

impl<T> Default for FirstItems<T> {
    fn default() -> Self {
        let (first, more) = (Vec::new(), 0);
        Self { first, more }
    }
}

impl<T> FirstItems<T> {
    /// Adds an item. `make` is called only if the item is kept.
    fn push(&mut self, make: impl FnOnce() -> T) {
        if self.first.len() < MAX_ITEMS {
            self.first.push(make())
        } else {
            self.more += 1
        }
    }
}

/// Returns the printed texts of a step, with a note on omitted texts.
pub(super) fn printed(all: FirstItems<String>) -> Vec<String> {
    let FirstItems { mut first, more } = all;
    if more > 0 {
        first.push(format!("… and {more} more"));
    }
    first
}

/// A listener that collects only printed texts.
#[derive(Default)]
pub(crate) struct Prints {
    texts: FirstItems<String>,
}

impl Prints {
    pub(crate) fn texts(self) -> Vec<String> {
        printed(self.texts)
    }
}

impl Listener for Prints {
    const LISTENS: bool = true;

    fn on_instruction(&mut self, code: &Code, pc: u32, context: ConcreteContext<'_>) {
        if code.ops[pc as usize] == Op::Assert
            && code.program.prints.contains(&code.spans[pc as usize])
        {
            self.texts.push(|| code.printed(pc, &context));
        }
    }
}

/// A condition that decided the path of the step.
pub(super) struct Condition {
    pub text: String,
    /// Whether it is a test, which chooses between two paths. Otherwise it is a guard, for which
    /// the step would wait.
    pub test: bool,
}

pub(super) enum NarratedAction {
    Text(String),
    /// A spawn. The name of the new process is known after the step.
    Spawn,
    /// A join: of the process with this index, or of all children if `None`.
    Join(Option<i64>),
}

impl Listener for Scribe {
    const LISTENS: bool = true;

    fn on_instruction(&mut self, code: &Code, pc: u32, context: ConcreteContext<'_>) {
        let op = code.ops[pc as usize];
        let top = context.operands.last().copied().unwrap_or(0);
        let cell = |below: usize| match op {
            Op::Load(cell) | Op::Store(cell) | Op::Fetch { cell, .. } => Some(cell),
            Op::LoadAt(range) | Op::StoreAt(range) => {
                let index = *context
                    .operands
                    .get(context.operands.len().checked_sub(below)?)?;
                let inside = (0..i64::from(range.len)).contains(&index);
                inside.then(|| range.first + index as u32)
            }
            _ => None,
        };
        if let (Op::Load(_) | Op::LoadAt(_) | Op::Fetch { .. }, Some(cell)) = (op, cell(1)) {
            self.note_read(cell, context.cells[cell as usize]);
        }
        self.atomic |= op == Op::BeginAtomic;
        if op == Op::Assert && code.program.prints.contains(&code.spans[pc as usize]) {
            self.printed.push(|| code.printed(pc, &context));
        }
        if let (Op::JumpIfFalse(_), Some(span)) = (op, code.tests.get(&pc))
            && code.program.alternatives.contains(span)
        {
            self.chose = true;
            if top != 0 {
                self.alternative = Some(code.words(*span));
            }
        }
        let Some(note) = code.notes.get(&pc) else {
            return;
        };
        let scope = Scope {
            code,
            layout: &code.layouts[code.bodies[pc as usize] as usize],
            locals: context.locals,
        };
        match note {
            LabelPart::Guard(_) if top == 0 => {}
            // The action of a lowered statement includes its guard.
            LabelPart::Guard(guard) if code.program.lowered.contains(&guard.span) => {}
            LabelPart::Guard(guard) => self.guards.push(|| Condition {
                text: scope.expr(guard),
                test: false,
            }),
            LabelPart::Test(test) => self.guards.push(|| Condition {
                text: match top {
                    0 => scope.negation(test),
                    _ => scope.expr(test),
                },
                test: true,
            }),
            // With `atomicity access`, a statement that is not part of a guard's step is described
            // by its accesses.
            LabelPart::Action(..) if op == Op::BeginSimple && !context.open => {}
            LabelPart::Action(Action::Spawn, _) => self.actions.push(|| NarratedAction::Spawn),
            LabelPart::Action(Action::Join(handle), _) => {
                let handle = handle.and_then(|handle| scope.handle(handle));
                self.actions.push(|| NarratedAction::Join(handle));
            }
            LabelPart::Action(_, span) if code.is_shown_as_written(*span) => {
                let text = code.words(*span);
                let last = self.actions.first.last();
                if !matches!(last, Some(NarratedAction::Text(last)) if *last == text) {
                    self.actions.push(|| NarratedAction::Text(text));
                }
            }
            LabelPart::Action(action, _) => self
                .actions
                .push(|| NarratedAction::Text(scope.action(action))),
            LabelPart::Read | LabelPart::Write if context.merged => {}
            LabelPart::Read => self.actions.push(|| {
                let name =
                    cell(1).map_or_else(|| "an element".to_owned(), |cell| code.cell_name(cell));
                NarratedAction::Text(format!("read {name}"))
            }),
            LabelPart::Write => self.actions.push(|| {
                NarratedAction::Text(match cell(2) {
                    Some(cell) => format!(
                        "{} := {}",
                        code.cell_name(cell),
                        code.program.show(top, code.cell_type(cell))
                    ),
                    None => "write an element".to_owned(),
                })
            }),
        }
    }
}

impl Scribe {
    fn note_read(&mut self, cell: u32, value: i64) {
        if self.read.insert(cell) {
            self.reads.push((cell, value));
        }
    }
}

impl Code {
    /// Returns the text that the `print` at an instruction shows.
    fn printed(&self, pc: u32, context: &ConcreteContext<'_>) -> String {
        let Some(message) = self.messages.get(&pc) else {
            return String::new();
        };
        let scope = Scope {
            code: self,
            layout: &self.layouts[self.bodies[pc as usize] as usize],
            locals: context.locals,
        };
        let evaluation = EvaluationContext {
            scope,
            cells: context.cells,
        };
        evaluation.message(message, &[])
    }
}
