//! Describes runs in words: which task makes a step on which object, and what tasks wait for. The
//! interpreter reports the actions of a step to a list ([`StepAction`]), and this file turns the
//! actions into text.

use std::fmt::Write;

use mazurka_diagnostics::Span;

use mazurka_core::record::{Actor, Binding, Change, Message, Place, Step, Waiting};
use mazurka_core::{
    Execution, HeldLock, Mishap, MishapKind, Narrator, ProcessId, Status, StepError,
};

use crate::Machine;
use crate::code::Op;
use crate::heap::{CLOCK_PROCESS, Life, Task};
use crate::step::{StepAction, resolved};
use crate::text::{object_name, shown};
use crate::value::Value;

/// Limit on the characters of a quoted instruction.
const MOST_WORDS: usize = 200;

impl Machine {
    /// Lets time pass, and describes the step.
    fn narrate_tick(&mut self) -> Result<Step, StepError> {
        self.step(CLOCK_PROCESS, &[])?;
        let now = self.shown(&self.state.now);
        Ok(Step {
            process: self.names.tasks.path(CLOCK_PROCESS).to_string(),
            outcomes: Vec::new(),
            label: format!("clock: it is {now}"),
            line: 0,
            file: None,
            enabled: Vec::new(),
            reads: Vec::new(),
            changes: Vec::new(),
            locks: Vec::new(),
            mishap: None,
            racing: false,
            actor: Some(Box::new(Actor {
                object: "clock".to_owned(),
                task: format!("it is {now}"),
                starts: true,
                ends: true,
                sends: Vec::new(),
                creates: Vec::new(),
                waits_for: None,
                until: None,
                result: None,
                throws: None,
                keeps: false,
                file: None,
            })),
            memory: None,
            printed: Vec::new(),
        })
    }

    /// Returns the name of a task, such as `Buffer1.take`.
    pub(crate) fn task_name(&self, process: ProcessId) -> String {
        if self.is_clock(process) {
            return "clock".to_owned();
        }
        let Some(task) = self.task(process) else {
            return "?".to_owned();
        };
        let object = object_name(task.object, &self.code, &self.names);
        let class = &self.code.classes[self.names.object(task.object).class as usize];
        match task.object {
            0 => "main".to_owned(),
            _ => format!("{object}.{}", class.methods[task.method as usize].name),
        }
    }

    pub(crate) fn shown(&self, value: &Value) -> String {
        shown(value, &self.code, &self.names)
    }

    /// Returns the source text of an instruction, on one line.
    pub(crate) fn words(&self, pc: u32) -> String {
        let text = self.code.spans[pc as usize].text(&self.code.source);
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").chars().take(MOST_WORDS).collect()
    }

    /// Whether a task that rests here keeps its cog.
    pub(crate) fn holds_at(&self, pc: u32) -> bool {
        matches!(
            self.code.ops[pc as usize],
            Op::Get | Op::Print { .. } | Op::Block
        )
    }

    /// Returns the line where a task rests.
    fn rest_line(&self, task: &Task) -> usize {
        self.code.line_column(self.rest_span(task)).0
    }

    /// Returns the place in the source where a task rests.
    fn rest_span(&self, task: &Task) -> Span {
        let waits =
            task.pc > 0 && matches!(self.code.ops[task.pc as usize - 1], Op::Await | Op::Suspend);
        let fresh = !waits && !self.holds_at(task.pc);
        let class = &self.code.classes[self.names.object(task.object).class as usize];
        if fresh {
            class.methods[task.method as usize].span
        } else {
            self.code.spans[if waits { task.pc - 1 } else { task.pc } as usize]
        }
    }

    /// Returns the beginning of the label of a step: the task, and the future or condition that it
    /// has waited for, if any.
    fn beginning(&self, process: ProcessId, task: &Task) -> String {
        let name = self.task_name(process);
        let before = task.pc.checked_sub(1).map(|pc| self.code.ops[pc as usize]);
        match (self.code.ops[task.pc as usize], before) {
            (Op::Get, _) => format!("{name}: {} ▷ ", self.words(task.pc)),
            (_, Some(Op::Await)) => format!(
                "{name}: {} ▷ ",
                self.words(task.pc - 1).trim_end_matches(';')
            ),
            (Op::Print { .. } | Op::Block, _) | (_, Some(Op::Suspend)) => format!("{name}: "),
            _ => {
                let parameters = match task.object {
                    0 => 0,
                    object => {
                        let class = &self.code.classes[self.names.object(object).class as usize];
                        class.methods[task.method as usize].parameters
                    }
                };
                let args: Vec<String> = task.stack[..parameters as usize]
                    .iter()
                    .map(|value| self.shown(value))
                    .collect();
                match task.object {
                    0 => format!("{name}: "),
                    _ => format!("{name}({}): ", args.join(", ")),
                }
            }
        }
    }

    /// Returns the actions of a step in words; writes of fields are described as changes.
    fn actions(&self, step_actions: &[StepAction]) -> (Vec<String>, Vec<Change>) {
        let mut actions = Vec::new();
        let mut changes: Vec<Change> = Vec::new();
        let path = |task: &u32| self.names.tasks.path(ProcessId(*task)).to_string();
        let mut new: Vec<u32> = Vec::new();
        for action in step_actions {
            actions.push(match action {
                // The initial values of a new object are not changes.
                StepAction::Wrote { object, .. } if new.contains(object) => continue,
                StepAction::Wrote {
                    object,
                    field,
                    from,
                    to,
                } => {
                    let name = self.names.object(*object);
                    let field = &self.code.classes[name.class as usize].fields[*field as usize];
                    let name = format!("{}.{field}", object_name(*object, &self.code, &self.names));
                    let (from, to) = (self.shown(from), self.shown(to));
                    match changes.iter_mut().find(|change| change.name == name) {
                        Some(change) => change.to = to,
                        None => changes.push(Change { name, from, to }),
                    }
                    continue;
                }
                StepAction::Created(object) => {
                    new.push(*object);
                    format!("new {}", object_name(*object, &self.code, &self.names))
                }
                StepAction::Sent { task } => {
                    format!("{} is {}", self.message(ProcessId(*task)), path(task))
                }
                StepAction::Waits { task } => format!("waits for {}", path(task)),
                StepAction::Until(time) => format!("waits until {}", self.shown(time)),
                StepAction::Took { task } => format!("takes the result of {}", path(task)),
                StepAction::Released => "releases".to_owned(),
                StepAction::Printed(text) => format!("prints {text:?}"),
                StepAction::Ended(Value::Unit) => "ends".to_owned(),
                StepAction::Ended(value) => format!("returns {}", self.shown(value)),
                StepAction::Threw(value) => format!("throws {}", self.shown(value)),
                StepAction::Died(object) => {
                    format!("{} dies", object_name(*object, &self.code, &self.names))
                }
            });
        }
        changes.retain(|change| change.from != change.to);
        (actions, changes)
    }

    /// Returns the task that makes a step, with the messages, objects and results of the step.
    fn actor(&self, process: ProcessId, starts: bool, step_actions: &[StepAction]) -> Actor {
        let path = |task: u32| self.names.tasks.path(ProcessId(task)).to_string();
        let parts = |process: ProcessId| {
            let name = self.task_name(process);
            match name.rsplit_once('.') {
                // The name of the object may contain dots, so the method comes after the last one.
                Some((object, method)) => (object.to_owned(), method.to_owned()),
                None => (name.clone(), name),
            }
        };
        let (object, task) = parts(process);
        let now = self.task(process);
        let alive = now.is_some_and(|task| task.life == Life::Alive);
        let mut actor = Actor {
            object,
            task,
            starts,
            ends: !alive,
            sends: Vec::new(),
            creates: Vec::new(),
            waits_for: None,
            until: None,
            result: None,
            throws: None,
            keeps: { now }.is_some_and(|task| {
                alive && matches!(self.code.ops[task.pc as usize], Op::Print { .. })
            }),
            file: None,
        };
        for action in step_actions {
            match action {
                StepAction::Sent { task } => {
                    let (object, method) = parts(ProcessId(*task));
                    actor.sends.push(Message {
                        process: path(*task),
                        object,
                        method,
                        arguments: self.arguments(ProcessId(*task)),
                    });
                }
                StepAction::Created(object) => {
                    let name = object_name(*object, &self.code, &self.names);
                    actor.creates.push(name);
                }
                StepAction::Waits { task } => actor.waits_for = Some(path(*task)),
                StepAction::Until(time) => actor.until = Some(self.shown(time)),
                StepAction::Ended(Value::Unit) => {}
                StepAction::Ended(value) => actor.result = Some(self.shown(value)),
                StepAction::Threw(value) if !alive => actor.throws = Some(self.shown(value)),
                _ => {}
            }
        }
        actor
    }

    /// Returns the arguments of the method of a task that has not started.
    fn arguments(&self, process: ProcessId) -> Vec<String> {
        let Some(task) = self.task(process) else {
            return Vec::new();
        };
        let class = &self.code.classes[self.names.object(task.object).class as usize];
        let parameters = class.methods[task.method as usize].parameters;
        let arguments = task.stack.iter().take(parameters as usize);
        arguments.map(|value| self.shown(value)).collect()
    }

    /// Returns a message, such as `Buffer1!store(3)`.
    fn message(&self, process: ProcessId) -> String {
        let Some(task) = self.task(process) else {
            return "?".to_owned();
        };
        let class = &self.code.classes[self.names.object(task.object).class as usize];
        let method = &class.methods[task.method as usize];
        let object = object_name(task.object, &self.code, &self.names);
        let args = self.arguments(process).join(", ");
        format!("{object}!{}({args})", method.name)
    }

    /// Returns the obstacle of a task that cannot continue, and the task that could remove it.
    fn obstacle(&self, process: ProcessId, task: &Task) -> (String, Option<String>) {
        let path = |task: u32| self.names.tasks.path(ProcessId(task)).to_string();
        let name = self.task_name(process);
        let cog = self.cog(task);
        let future = |future: u32| {
            let what = format!(
                "the result of {} ({})",
                path(future),
                self.task_name(ProcessId(future))
            );
            (format!("{what}, as {name}"), None)
        };
        let holder = self.state.objects[cog as usize].holder;
        if let Some(holder) = holder.filter(|&holder| holder != process.0) {
            let object = object_name(cog, &self.code, &self.names);
            let why = format!("the cog of {object} to run {name}");
            return (
                why,
                Some(format!(
                    "{} ({})",
                    path(holder),
                    self.task_name(ProcessId(holder))
                )),
            );
        }
        if self.code.ops[task.pc as usize] == Op::Get
            && let Some(Value::Future(task)) = task.stack.last()
        {
            return future(*task);
        }
        if let [Op::Local(slot), Op::Claim, Op::Resume, ..] = self.code.ops[task.pc as usize..]
            && let Some(frame) = task.frames.last()
            && let Value::Future(task) = task.stack[(frame.base + slot) as usize]
            && !resolved(&self.state, task)
        {
            return future(task);
        }
        let at = if self.code.ops[task.pc as usize] == Op::Block {
            task.pc
        } else {
            task.pc - 1
        };
        let guard = self.words(at);
        let guard = guard
            .trim_start_matches("await")
            .trim_end_matches(';')
            .trim();
        (format!("`{guard}`, as {name}"), None)
    }
}

impl Narrator for Machine {
    fn cell_name(&self, cell: u32) -> String {
        self.name_of_cell(cell)
    }

    fn tell(&mut self, process: ProcessId, outcomes: &[i64]) -> Result<Step, StepError> {
        if self.is_clock(process) {
            return self.narrate_tick();
        }
        let Some(task) = self
            .task(process)
            .filter(|_| self.status(process) == Status::Ready)
        else {
            return Err(StepError::NotReady);
        };
        let line = self.rest_line(task);
        let file = self.code.file(self.rest_span(task));
        let starts = task.steps == 0;
        let beginning = self.beginning(process, task);
        let mut step_actions = Vec::new();
        let event = self.step_with_listener(process, outcomes, &mut step_actions)?;
        let outcomes = event.outcomes.iter().map(|outcome| outcome.value).collect();
        let mishap = event.mishaps.first().copied();
        let (actions, changes) = self.actions(&step_actions);
        let mut label = beginning;
        let _ = write!(label, "{}", actions.join(", "));
        Ok(Step {
            process: self.names.tasks.path(process).to_string(),
            outcomes,
            label: label.trim_end_matches([' ', ':']).to_owned(),
            line,
            file: None,
            enabled: Vec::new(),
            reads: Vec::new(),
            changes,
            locks: Vec::new(),
            mishap: mishap.map(|mishap| self.explain(&mishap).0),
            racing: false,
            actor: Some(Box::new(Actor {
                file,
                ..self.actor(process, starts, &step_actions)
            })),
            memory: None,
            printed: Vec::new(),
        })
    }

    fn explain(&self, mishap: &Mishap) -> (String, Option<Place>) {
        let span = self.code.spans[mishap.site as usize];
        let (line, column) = self.code.line_column(span);
        let place = Place {
            line,
            column,
            text: self.words(mishap.site),
            file: self.code.file(span),
        };
        let who = mishap
            .process
            .map_or_else(String::new, |process| self.task_name(process));
        let result = mishap
            .process
            .and_then(|process| self.task(process))
            .and_then(|task| task.result.as_ref());
        let message = match (mishap.kind, self.code.ops[mishap.site as usize], result) {
            (MishapKind::Failure, Op::Assert, _) => format!("an assertion fails in {who}"),
            (MishapKind::Failure, _, Some(exception)) => {
                format!("{} is not caught in {who}", self.shown(exception))
            }
            (MishapKind::Failure, _, None) => format!("an exception is not caught in {who}"),
            _ => format!("{who} does more than one step may do"),
        };
        (message, Some(place))
    }

    fn waiting(&self) -> Vec<Waiting> {
        let all = self.names.tasks.in_order().iter();
        let waiting = all
            .filter(|&&process| !self.is_clock(process) && self.status(process) == Status::Waiting);
        let describe = |&process: &ProcessId| {
            let task = self.task(process)?;
            let (mut what, held_by) = self.obstacle(process, task);
            if let Some(file) = self.code.file(self.rest_span(task)) {
                let _ = write!(what, ", in {file}");
            }
            Some(Waiting {
                process: self.names.tasks.path(process).to_string(),
                what,
                held_by,
                line: self.rest_line(task),
                file: None,
            })
        };
        waiting.filter_map(describe).collect()
    }

    fn locals_of(&self, process: ProcessId) -> Vec<Binding> {
        self.task_locals(process)
    }

    fn line_of(&self, process: ProcessId) -> Option<usize> {
        let alive = matches!(self.status(process), Status::Ready | Status::Waiting);
        let task = self.task(process).filter(|_| alive);
        task.map(|task| self.rest_line(task))
    }

    fn site_of(&self, process: ProcessId) -> u32 {
        self.task(process).map_or(0, |task| task.pc)
    }

    fn site(&self, site: u32) -> Place {
        self.resting_place(site)
    }

    fn held(&self) -> Vec<HeldLock> {
        self.held_cogs()
    }

    fn bindings(&self, observed_only: bool) -> Vec<Binding> {
        let mut objects: Vec<u32> = (0..self.state.objects.len() as u32)
            .filter(|&object| self.state.objects[object as usize].exists)
            .collect();
        objects.sort_by(|&a, &b| Value::Object(a).order(&Value::Object(b), &self.names));
        let mut all = Vec::new();
        for number in objects {
            let object = &self.state.objects[number as usize];
            let class = &self.code.classes[object.class as usize];
            let name = object_name(number, &self.code, &self.names);
            // Two results may differ only in whether an object is alive, so this is shown.
            let is_shown = if observed_only {
                class.may_die && self.observes_life(number)
            } else {
                object.dead
            };
            if is_shown {
                all.push(Binding {
                    name: name.clone(),
                    value: if object.dead { "dead" } else { "alive" }.to_owned(),
                });
            }
            let observed: Vec<usize> = self.observed_fields(number).collect();
            for (at, field) in class.fields.iter().enumerate() {
                if !observed_only || observed.contains(&at) {
                    all.push(Binding {
                        name: format!("{name}.{field}"),
                        value: self.shown(&object.fields[at]),
                    });
                }
            }
        }
        let is_shown =
            !observed_only || (!self.code.observed.no_output && self.code.object.is_none());
        if is_shown && !self.state.output.is_empty() {
            let text: String = self.state.output.iter().map(|text| text.as_str()).collect();
            all.push(Binding {
                name: "output".to_owned(),
                value: format!("{text:?}"),
            });
        }
        all
    }
}
