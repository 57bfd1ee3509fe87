//! Implements [`Narrator`]: describes the steps of a run, its states and its mishaps, in the words
//! of the source.

use mazurka_core::record::{Binding, Change, HistoryOperation, LockChange, Place, Step, Waiting};
use mazurka_core::{
    AccessKind, Claims, Event, Execution, HeldLock, Mishap, Narrator, ProcessId, ProcessPath,
    Status, StepError, TemporalText, conjunct,
};

use crate::check::hir::{Message, Property, Type};
use crate::code::fault::{Fault, Site};
use crate::code::{Checked, Code, LabelPart, Op};
use crate::run::machine::Machine;
use crate::run::state::Life;
use crate::run::{Obstacle, evaluate, input_name};
use crate::tell::pretty::Scope;
use crate::tell::scribe::{Condition, FirstItems, NarratedAction, Scribe, printed};
use crate::tell::values::{EvaluationContext, watched_by};
use mazurka_diagnostics::Span;

impl Code {
    /// Returns a cell as the source names it.
    pub fn cell_name(&self, cell: u32) -> String {
        let find = |firsts: &[u32]| {
            firsts
                .partition_point(|&first| first <= cell)
                .checked_sub(1)
        };
        if cell >= self.first_lock {
            let Some(at) = find(&self.lock_cells) else {
                return String::new();
            };
            let lock = &self.program.locks[at];
            return match lock.len {
                Some(_) => format!("{}[{}]", lock.name, cell - self.lock_cells[at]),
                None => lock.name.clone(),
            };
        }
        let Some(at) = find(&self.first_cells) else {
            return String::new();
        };
        if self.program.vars[at].name.starts_with('$') {
            return "the history".to_owned();
        }
        let shape = &self.program.vars[at].shape;
        shape.element(cell - self.first_cells[at])
    }

    /// Returns the type of the local in this slot, in the body of an instruction.
    pub(crate) fn local_type(&self, pc: u32, slot: u32) -> Type {
        let layout = &self.layouts[self.bodies[pc as usize] as usize];
        let at = layout.slots.partition_point(|&first| first <= slot) - 1;
        layout.names[at].ty
    }

    /// Returns the index of the process that holds an object, if the value of this cell says so.
    /// The cell belongs to a variable of the object.
    pub(super) fn holder(&self, cell: u32, value: i64) -> Option<u32> {
        let at = self.first_cells.partition_point(|&first| first <= cell) - 1;
        let var = self.program.vars.get(at).filter(|var| var.object)?;
        match (var.ty, var.shape.dims.last()) {
            // The checker's type of processes. No type of the file has this name, because `process`
            // is a keyword.
            (Type::Enum(id), _) if self.program.enums[usize::from(id)].name == "process" => {
                u32::try_from(value - 1).ok()
            }
            (Type::Bool, Some(processes)) if var.holds && value != 0 => {
                Some((cell - self.first_cells[at]) % processes)
            }
            _ => None,
        }
    }

    /// Returns the object that a cell belongs to, as the source names it: without the field and the
    /// process of the cell.
    pub(super) fn object_name(&self, cell: u32) -> String {
        let name = self.cell_name(cell);
        match name.split_once(".readers") {
            Some((object, _)) => object.to_owned(),
            None => name.trim_end_matches(".writer").to_owned(),
        }
    }

    pub(crate) fn cell_type(&self, cell: u32) -> Type {
        let at = self.first_cells.partition_point(|&first| first <= cell);
        self.program
            .vars
            .get(at.wrapping_sub(1))
            .map_or(Type::Int, |var| var.ty)
    }

    /// Returns the label of the statement whose step begins at this mark.
    fn label_at(&self, mark: u32) -> Option<&str> {
        let (Op::Mark(step) | Op::Open(step)) = self.ops[mark as usize] else {
            return None;
        };
        let start = self.steps[step as usize].span.start;
        let mut labels = self.program.labels.iter();
        let found = labels.find(|(_, span)| span.start == start);
        found.map(|(name, _)| name.as_str())
    }

    /// Returns the source text of the step at this mark, if the step is an operation on an atomic
    /// variable, a fence or a lowered statement.
    fn operation_at(&self, mark: u32) -> Option<String> {
        let (Op::Mark(step) | Op::Open(step)) = self.ops[mark as usize] else {
            return None;
        };
        let step = &self.steps[step as usize];
        // The text of an update is the text of its whole statement, with the destination of the
        // result.
        let words = self.words(step.span);
        let is_operation = self.program.lowered.contains(&step.span)
            || matches!(self.ops[mark as usize], Op::Mark(_))
                && self.program.orders.contains_key(&step.span);
        is_operation.then_some(words)
    }

    /// Whether a statement is shown as written, because the checker made it from an operation on an
    /// object or on an atomic variable.
    pub(super) fn is_shown_as_written(&self, span: Span) -> bool {
        self.program.lowered.contains(&span) || self.program.orders.contains_key(&span)
    }

    /// Returns the source text on one line.
    pub(super) fn words(&self, span: Span) -> String {
        let text = span.text(&self.source);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the name of the constant at this place, if the text there is exactly that name.
    pub(crate) fn constant_at(&self, span: Span) -> Option<&str> {
        let text = self.source.get(span.start as usize..span.end as usize)?;
        self.program.constants.get(text).map(String::as_str)
    }

    /// Returns a sentence about a mishap, and its place. Messages are shown as written in the
    /// source.
    pub(crate) fn explain(&self, mishap: &Mishap) -> (String, Option<Place>) {
        self.explain_with(mishap, None, Message::to_string)
    }

    /// Explains a mishap like `explain`; `show` makes the messages of `assert` and `error`. `cells`
    /// are the values after the mishap; `None` if they are terms. They decide whether the message
    /// says that a property is false or that it has no value.
    fn explain_with(
        &self,
        mishap: &Mishap,
        cells: Option<&[i64]>,
        show: impl FnOnce(&Message) -> String,
    ) -> (String, Option<Place>) {
        let code = self;
        let property = |kind: &str, checked: &Checked| {
            let wrong = cells.and_then(|cells| code.why_without_value(checked, cells));
            let wrong = wrong.map_or("does not hold".to_owned(), |why| {
                format!("cannot be computed ({why})")
            });
            let text = checked.span.text(&code.source).trim();
            let text = text
                .strip_prefix(kind)
                .unwrap_or(text)
                .trim()
                .trim_end_matches(';');
            let message = match &checked.name {
                Some(name) => {
                    let named = text.strip_prefix(name.as_str()).map(str::trim_start);
                    let bare = named.and_then(|rest| rest.strip_prefix(':'));
                    let text = bare.map_or(text, str::trim_start);
                    format!("{kind} `{name}` {wrong}: `{text}`")
                }
                None => format!("{kind} {wrong}: `{text}`"),
            };
            (message, Some(code.place(checked.span)))
        };
        match Site::decode(mishap.site) {
            Some(Site::Invariant(k)) if (k as usize) < code.invariants.len() => {
                property("invariant", &code.invariants[k as usize])
            }
            Some(Site::Ensures(k)) if (k as usize) < code.ensures.len() => {
                property("ensures", &code.ensures[k as usize])
            }
            Some(Site::At { pc, fault }) if (pc as usize) < code.spans.len() => {
                let span = code.spans[pc as usize];
                let text = span.text(&code.source).lines().next().unwrap_or("").trim();
                let custom = code.messages.get(&pc).map(show);
                let message = match (fault, custom) {
                    (Fault::Assertion, Some(custom)) if code.program.lowered.contains(&span) => {
                        custom
                    }
                    (Fault::Assertion, Some(custom)) => format!("assertion failed: {custom}"),
                    (Fault::Assertion, None) => format!("assertion failed: `{text}`"),
                    (Fault::Error, Some(custom)) => format!("error: {custom}"),
                    (Fault::Error, None) => "error reached".to_owned(),
                    (Fault::DivisionByZero, _) => format!("division by zero in `{text}`"),
                    (Fault::OutOfBounds, _) => format!("index out of bounds in `{text}`"),
                    (Fault::NotHeld, _) => {
                        format!("`{text}` of a lock that the process does not hold")
                    }
                    (Fault::NothingToChoose, _) => format!("nothing to choose from in `{text}`"),
                    (Fault::Assumption, _) => format!("assumption is false: `{text}`"),
                    (Fault::OutOfRange, _) => {
                        format!("an `int` left the range of 64 bits in `{text}`")
                    }
                    (Fault::SymbolicChoose, _) => {
                        format!("the bounds of `{text}` are symbolic")
                    }
                    (Fault::MessageLimit, _) => format!("too many messages for `{text}`"),
                    (Fault::LocalLimit, _) => "too much local work in one step".to_owned(),
                    (Fault::BrokenOff, _) => "the step was broken off".to_owned(),
                    (Fault::Undecided, _) => "the solver cannot decide this condition".to_owned(),
                };
                (message, Some(code.place(span)))
            }
            // The site may come from a file, so it may be invalid.
            _ => ("an unknown mishap".to_owned(), None),
        }
    }

    /// Returns the reason why a property has no value in a state; `None` if it has a value.
    fn why_without_value(&self, property: &Checked, cells: &[i64]) -> Option<&'static str> {
        match evaluate(&self.snippets[property.snippet as usize], cells) {
            Err(Fault::OutOfBounds) => Some("an index is out of bounds"),
            Err(Fault::DivisionByZero) => Some("it divides by zero"),
            Err(Fault::OutOfRange) => Some("an `int` leaves the range of 64 bits"),
            Ok(_) | Err(_) => None,
        }
    }

    pub(crate) fn place(&self, span: Span) -> Place {
        let (line, column) = span.line_column(&self.source);
        let text = span
            .text(&self.source)
            .lines()
            .next()
            .unwrap_or("")
            .trim_end();
        Place {
            line,
            column,
            text: text.to_owned(),
            file: span.file(&self.source).map(str::to_owned),
        }
    }
}

impl Machine {
    /// Returns the texts that were printed by processes without steps. They are shown with the
    /// first step of the run, which another process makes, so each text names its process.
    fn printed_without_steps(&self) -> Vec<String> {
        let ended_before_first_step = |&(at, _): &(usize, &Vec<String>)| {
            let registers = &self.state.processes[at].registers;
            registers.steps == 0 && registers.life != Life::Alive
        };
        let named = |(at, texts): (usize, &Vec<String>)| {
            let name = self.code.names.show(&ProcessPath::root(at as u32));
            let named = texts.iter().map(|text| format!("{name}: {text}"));
            named.collect::<Vec<_>>()
        };
        let texts = self.printed_at_start.iter().enumerate();
        texts
            .filter(ended_before_first_step)
            .flat_map(named)
            .collect()
    }
}

/// Describes runs in the words of the source.
///
/// ```
/// # use std::sync::Arc;
/// use mazurka_core::Narrator;
/// let source = "var x: int = 0; process { x == 0 |> x := x + 2 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// let code = Arc::new(mazurka_lang::compile(&program, source).unwrap());
/// let mut machine = mazurka_lang::Machine::new(code, 1_000_000);
/// let run = machine.narrate(&"0".parse().unwrap()).unwrap();
/// assert_eq!(run.steps[0].label, "x == 0 ▷ x := x + 2");
/// assert_eq!(run.state[0].value, "2");
/// let error = machine.narrate(&"0 0".parse().unwrap()).unwrap_err();
/// assert!(error.to_string().contains("process 0 has already ended"));
/// ```
impl Narrator for Machine {
    fn tell(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<Step, StepError> {
        let span = self.resting(process);
        let span = span.map(|step| self.code.steps[step as usize].span);
        let line = span.map_or(0, |span| span.line_column(&self.code.source).0);
        let pc = self.state.processes.get(process.index());
        let pc = pc.map_or(0, |process| process.registers.pc);
        let mut scribe = Scribe::default();
        self.step_with(process, outcomes, &mut scribe)?;
        let (alternative, chose) = (scribe.alternative.take(), scribe.chose);
        let mut step = self.last_step(scribe, line);
        if let Some(operation) = self.code.operation_at(pc) {
            step.label = match (operation.as_str(), alternative) {
                ("select", Some(alternative)) => format!("select {alternative}"),
                ("select", None) if chose => "select else".to_owned(),
                _ => operation,
            };
        }
        if let Some(label) = self.code.label_at(pc) {
            step.label = format!("{label}: {}", step.label);
        }
        // The text that a process prints before its first step is shown with that step.
        if self.events().last().is_some_and(|event| event.number == 0)
            && let Some(first) = self.printed_at_start.get(process.index())
        {
            step.printed.splice(0..0, first.iter().cloned());
        }
        if self.events().len() == 1 {
            step.printed.splice(0..0, self.printed_without_steps());
        }
        if let Some(procedure) = self.code.procedure_at(pc) {
            step.label = format!("{procedure}: {}", step.label);
        }
        self.add_call_to_label(&mut step);
        if let Some(file) = span.and_then(|span| span.file(&self.code.source)) {
            step.label = format!("({file}) {}", step.label);
            step.file = Some(file.to_owned());
        }
        Ok(step)
    }

    fn explain(&self, mishap: &Mishap) -> (String, Option<Place>) {
        if let Some(explanation) = self.explain_history(mishap) {
            return explanation;
        }
        let cells = Some(&self.state.cells[..]);
        self.code.explain_with(mishap, cells, |message| {
            let context = self.context(mishap);
            let text = context.map(|context| context.message(message, &self.values(mishap)));
            text.unwrap_or_else(|| message.to_string())
        })
    }

    fn history(&self, mishap: &Mishap) -> Vec<HistoryOperation> {
        if self.code.is_about_history(mishap) {
            self.calls_of_run()
        } else {
            Vec::new()
        }
    }

    fn values(&self, mishap: &Mishap) -> Vec<Binding> {
        if self.code.is_about_history(mishap) {
            return Vec::new();
        }
        let code = &self.code;
        let program = &code.program;
        let both = |property: &Property| [property.expr.clone(), property.expr.clone()];
        let condition = match Site::decode(mishap.site) {
            Some(Site::Invariant(k)) => program.invariants.get(k as usize).map(both),
            Some(Site::Ensures(k)) => program.ensures.get(k as usize).map(both),
            Some(Site::At {
                pc,
                fault: Fault::DivisionByZero | Fault::OutOfBounds,
            }) => code.operands.get(&pc).map(|e| [e.clone(), e.clone()]),
            Some(Site::At { pc, .. }) => code.asserted.get(&pc).cloned(),
            None => None,
        };
        let known = condition.zip(self.context(mishap));
        known.map_or_else(Vec::new, |([written, read], context)| {
            context.mentioned(&written, &read)
        })
    }

    fn name_of(&self, process: &ProcessPath) -> String {
        self.code.names.show(process)
    }

    fn temporal_text(&self, property: usize) -> TemporalText {
        let property = &self.code.program.temporal[property];
        let text = property.span.text(&self.code.source).trim();
        let text = match (&property.name, text.split_once(':')) {
            (Some(name), Some((head, rest))) => {
                let keyword = head.trim_end().trim_end_matches(name.as_str());
                format!("{} {}", keyword.trim_end(), rest.trim_start())
            }
            _ => text.to_owned(),
        };
        TemporalText {
            name: property.name.clone(),
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
            place: Some(self.code.place(property.span)),
        }
    }

    fn temporal_values(&self, property: usize) -> Vec<Binding> {
        watched_by(self, self.code.program.temporal[property].says)
    }

    fn cell_name(&self, cell: u32) -> String {
        match cell.checked_sub(self.code.initial.len() as u32) {
            Some(invariant) => format!("invariant {}", invariant + 1),
            None => self.code.cell_name(cell),
        }
    }

    fn locals_of(&self, process: ProcessId) -> Vec<Binding> {
        self.live_locals(process)
    }

    fn line_of(&self, process: ProcessId) -> Option<usize> {
        self.resting_line(process)
    }

    fn site_of(&self, process: ProcessId) -> u32 {
        let state = self.state.processes.get(process.index());
        state.map_or(0, |state| state.registers.pc)
    }

    fn site(&self, site: u32) -> Place {
        self.code.step_at(site)
    }

    fn held(&self) -> Vec<HeldLock> {
        self.held_locks()
    }

    fn waiting(&self) -> Vec<Waiting> {
        let all = self.table.in_order().iter();
        all.filter(|&&p| self.status(p) == Status::Waiting)
            .filter_map(|&p| self.wait_of(p))
            .collect()
    }

    fn inputs(&self) -> Vec<Binding> {
        let mut inputs: Vec<Binding> = self.initial_inputs().collect();
        for &process in self.table.in_order() {
            let Some(state) = self.state.processes.get(process.index()) else {
                continue;
            };
            for number in 0..state.registers.inputs {
                let name = input_name(self.table.path(process), number);
                let ty = self.inputs_read.get(&(process, number)).copied();
                let ty = ty.unwrap_or(Type::Int);
                let value = self.code.inputs.get(&name).copied().unwrap_or(0);
                let value = crate::code::numbers::wrap(value, ty);
                let value = self.code.program.show(value, ty);
                inputs.push(Binding { name, value });
            }
        }
        inputs
    }

    fn bindings(&self, observed_only: bool) -> Vec<Binding> {
        let vars = self.code.program.vars.iter().enumerate();
        // A variable whose name begins with `$` has no name in the source.
        vars.filter(|(_, var)| !var.name.starts_with('$'))
            .filter(|&(at, _)| !observed_only || self.code.program.observes(at))
            .map(|(at, var)| {
                let first = self.code.first_cells[at] as usize;
                let cells = &self.state.cells[first..first + var.len.unwrap_or(1) as usize];
                let program = &self.code.program;
                Binding {
                    name: var.name.clone(),
                    value: var.shape.list(|at| program.show(cells[at], var.ty)),
                }
            })
            .collect()
    }
}

impl Machine {
    fn process_name(&self, process: ProcessId) -> String {
        self.name_of(self.table.path(process))
    }

    /// Returns the values that the process of a mishap had when it was halted.
    fn context(&self, mishap: &Mishap) -> Option<EvaluationContext<'_>> {
        let code = &*self.code;
        let (layout, locals) = match (Site::decode(mishap.site)?, mishap.process) {
            (Site::At { pc, .. }, Some(process)) => {
                let body = *code.bodies.get(pc as usize)?;
                self.state.processes.get(process.index())?;
                (&code.layouts[body as usize], self.locals(process))
            }
            (Site::At { .. }, None) => return None,
            (Site::Invariant(_) | Site::Ensures(_), _) => (code.layouts.first()?, &[][..]),
        };
        let scope = Scope {
            code,
            layout,
            locals,
        };
        let cells = &self.state.cells;
        Some(EvaluationContext { scope, cells })
    }

    fn last_step(&self, scribe: Scribe, line: usize) -> Step {
        let event = &self.events()[self.events().len() - 1];
        let before = self.before_last_step();
        let mut cells: Vec<u32> = before.keys().copied().collect();
        cells.sort_unstable();
        let program = &self.code.program;
        let value = |cell: u32, value| program.show(value, self.code.cell_type(cell));
        let change = |cell: u32| {
            let (from, to) = (before[&cell], self.state.cells[cell as usize]);
            let named = !self.code.is_hidden(cell);
            (from != to && named).then(|| Change {
                name: self.code.cell_name(cell),
                from: value(cell, from),
                to: value(cell, to),
            })
        };
        let reads = scribe.reads.iter();
        let reads = reads.filter(|(cell, _)| !self.code.is_hidden(*cell));
        let reads = reads.map(|&(cell, read)| Binding {
            name: self.code.cell_name(cell),
            value: value(cell, read),
        });
        Step {
            process: self.table.path(event.process).to_string(),
            outcomes: event.outcomes.iter().map(|o| o.value).collect(),
            label: self.label(&scribe, event),
            line,
            file: None,
            enabled: Vec::new(),
            reads: reads.collect(),
            changes: cells.into_iter().filter_map(change).collect(),
            locks: self.lock_changes(),
            mishap: event.mishaps.first().map(|mishap| self.explain(mishap).0),
            racing: false,
            actor: None,
            memory: None,
            printed: printed(scribe.printed),
        }
    }

    /// Returns the locks that the last step acquired or released.
    fn lock_changes(&self) -> Vec<LockChange> {
        let change = |&(cell, before): &(u32, i64)| {
            let now = self.state.cells[cell as usize];
            (before != now).then(|| LockChange {
                name: self.code.cell_name(cell),
                held: now != 0,
            })
        };
        let mut locks: Vec<(u32, i64)> = self.locks_before_last_step().into_iter().collect();
        locks.sort_unstable();
        locks.iter().filter_map(change).collect()
    }

    fn label(&self, scribe: &Scribe, event: &Event) -> String {
        let action = self.action_label(&scribe.actions, event);
        let mut guards: Vec<&Condition> = scribe.guards.first.iter().collect();
        let mut more = scribe.guards.more;
        // In an atomic block the actions say more than the tests, so the tests are omitted.
        if scribe.atomic && guards.len() > 1 && !scribe.actions.first.is_empty() {
            guards.retain(|condition| !condition.test);
            more = 0;
        }
        match &guards[..] {
            [] => action,
            [one] => format!("{} ▷ {action}", one.text),
            many => {
                let mut all: Vec<_> = many.iter().map(|guard| conjunct(&guard.text)).collect();
                if more > 0 {
                    all.push(format!("… and {more} more"));
                }
                format!("{} ▷ {action}", all.join(" && "))
            }
        }
    }

    fn action_label(&self, actions: &FirstItems<NarratedAction>, event: &Event) -> String {
        let name = |p: ProcessId| self.process_name(p);
        let mut spawned = event.spawned.iter();
        let mut texts: Vec<String> = Vec::new();
        for action in &actions.first {
            texts.push(match action {
                NarratedAction::Text(text) => text.clone(),
                NarratedAction::Spawn => {
                    let child = spawned.next().map(|&p| name(p)).unwrap_or_default();
                    format!("spawn({child})")
                }
                NarratedAction::Join(Some(handle)) => {
                    format!("join({})", name(ProcessId(*handle as u32)))
                }
                NarratedAction::Join(None) => {
                    let all: Vec<_> = event.joined.iter().map(|&p| name(p)).collect();
                    format!("join({})", all.join(", "))
                }
            });
        }
        if actions.more > 0 {
            texts.push(format!("… and {} more", actions.more));
        }
        let mut action = texts.join("; ");
        if action.is_empty() {
            action.push_str("skip");
        }
        if !event.outcomes.is_empty() {
            let values: Vec<_> = event.outcomes.iter().map(|o| o.value.to_string()).collect();
            action = format!("{action} [chose {}]", values.join(", "));
        }
        action
    }

    fn wait_of(&self, process: ProcessId) -> Option<Waiting> {
        let step = &self.code.steps[self.resting(process)? as usize];
        let Obstacle::Blocked { at: pc, .. } = self.obstacle(process)? else {
            return None;
        };
        let registers = self.state.processes[process.index()].registers;
        let stack = &self.state.processes[process.index()].stack;
        let locals = &stack[registers.frame as usize..registers.top as usize];
        let (what, held_by) = match self.code.ops[pc as usize] {
            Op::Lock(cell) => self.lock_wait(Some(cell)),
            Op::LockAt(_) => {
                let mut claims = Claims::new();
                self.claims(process, &mut claims);
                let acquired = claims
                    .iter()
                    .find(|a| a.kind == AccessKind::Acquire && a.len == 1);
                self.lock_wait(acquired.map(|a| a.first))
            }
            Op::Join => {
                let child = match self.joined(process, pc) {
                    Some(child) => format!("process {}", self.process_name(child)),
                    None => "a process".to_owned(),
                };
                (format!("the end of {child}"), None)
            }
            Op::JoinAll => {
                let open = self.open_children(process);
                let names: Vec<_> = open.map(|p| self.process_name(p)).collect();
                (format!("the end of {}", names.join(", ")), None)
            }
            _ => match self.code.notes.get(&pc) {
                Some(LabelPart::Guard(test)) => {
                    let layout = &self.code.layouts[self.code.bodies[pc as usize] as usize];
                    let here =
                        self.code.bodies[pc as usize] == self.code.bodies[registers.pc as usize];
                    let scope = Scope {
                        code: &self.code,
                        layout,
                        locals: if here { locals } else { &[] },
                    };
                    (format!("`{}`", scope.expr(test)), self.holder_for(process))
                }
                _ => ("a condition".to_owned(), None),
            },
        };
        Some(Waiting {
            process: self.table.path(process).to_string(),
            what,
            held_by,
            line: step.span.line_column(&self.code.source).0,
            file: step.span.file(&self.code.source).map(str::to_owned),
        })
    }

    /// Returns the holder of the object that a process waits for, if the checker lowered that
    /// object to variables.
    fn holder_for(&self, process: ProcessId) -> Option<String> {
        let mut claims = Claims::new();
        self.claims(process, &mut claims);
        let cells = claims.iter().flat_map(|a| a.first..a.first + a.len);
        cells.into_iter().find_map(|cell| {
            let holder = self
                .code
                .holder(cell, self.state.cells.get(cell as usize).copied()?)?;
            let holder = ProcessId(holder);
            (holder != process).then(|| self.table.path(holder).to_string())
        })
    }

    fn lock_wait(&self, cell: Option<u32>) -> (String, Option<String>) {
        let Some(cell) = cell else {
            return ("a lock".to_owned(), None);
        };
        let holder = match self.state.cells[cell as usize] {
            0 => None,
            owner => Some(self.table.path(ProcessId(owner as u32 - 1)).to_string()),
        };
        (format!("lock `{}`", self.code.cell_name(cell)), holder)
    }
}
