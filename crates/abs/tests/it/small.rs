//! Steps of many statements against a model of its own with one step a statement: the same outputs,
//! fields, deaths and deadlocks are possible. The model shares nothing with the crate but the text
//! of the programs, and its objects die at once.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::common::{explore, machine};
use mazurka_abs::Machine;
use mazurka_core::{Execution, Limits, Narrator, Semantics, Status};
use mazurka_explore::Algorithm;

/// A statement of a method; objects and methods by number.
#[derive(Clone, Copy, Debug)]
enum Small {
    Print(char),
    Increment,
    ThrowIf(u8),
    Send(usize, usize),
    AwaitCall(usize, usize),
    Call(usize, usize),
    CallCaught(usize, usize, char),
    Suspend,
}

/// The main block's statements, and those of each method of each object.
#[derive(Clone, Debug)]
struct SmallProgram {
    main: Vec<Small>,
    methods: Vec<Vec<Vec<Small>>>,
}

impl SmallProgram {
    fn stmt(stmt: Small) -> String {
        match stmt {
            Small::Print(c) => format!("println(\"{c}\");"),
            Small::Increment => "n = n + 1;".to_owned(),
            Small::ThrowIf(k) => format!("if (n > {k}) throw NullPointerException;"),
            Small::Send(o, m) => format!("o{o}!m{m}();"),
            Small::AwaitCall(o, m) => format!("await o{o}!m{m}();"),
            Small::Call(o, m) => format!("o{o}.m{m}();"),
            Small::CallCaught(o, m, c) => {
                format!("try o{o}.m{m}(); catch _ => println(\"{c}\");")
            }
            Small::Suspend => "suspend;".to_owned(),
        }
    }

    /// The program as text. Object k knows the objects before it.
    fn text(&self) -> String {
        let mut text = "module M;\ninterface I { Unit m0(); Unit m1(); }\n".to_owned();
        for (number, methods) in self.methods.iter().enumerate() {
            let known: Vec<String> = (0..number).map(|o| format!("I o{o}")).collect();
            let known = known.join(", ");
            let _ = writeln!(text, "class C{number}({known}) implements I {{ Int n = 0;");
            for (method, body) in methods.iter().enumerate() {
                let body: Vec<String> = body.iter().map(|&stmt| Self::stmt(stmt)).collect();
                let _ = writeln!(text, "  Unit m{method}() {{ {} }}", body.join(" "));
            }
            text.push_str("}\n");
        }
        text.push_str("{\n");
        for number in 0..self.methods.len() {
            let known: Vec<String> = (0..number).map(|o| format!("o{o}")).collect();
            let _ = writeln!(text, "  I o{number} = new C{number}({});", known.join(", "));
        }
        for &stmt in &self.main {
            let _ = writeln!(text, "  {}", Self::stmt(stmt));
        }
        text.push_str("}\n");
        text
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Mode {
    /// Wants its cog: it has not started, or has suspended.
    Pending,
    /// Awaits a future without the cog.
    Awaits(usize),
    /// Has the cog.
    Runs,
    /// Has the cog and waits for a future; the character is printed if that holds an exception.
    Gets(usize, Option<char>),
    Done {
        thrown: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SmallTask {
    /// None for the main block.
    object: Option<usize>,
    method: usize,
    next: usize,
    mode: Mode,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SmallState {
    tasks: Vec<SmallTask>,
    fields: Vec<u8>,
    dead: Vec<bool>,
    output: String,
}

/// How a run can end: output, fields, deaths, whether a task still waits.
type Ending = (String, Vec<u8>, Vec<bool>, bool);

struct Model<'a> {
    program: &'a SmallProgram,
    seen: BTreeSet<SmallState>,
    endings: BTreeSet<Ending>,
}

impl Model<'_> {
    fn body(&self, task: &SmallTask) -> &[Small] {
        match task.object {
            None => &self.program.main,
            Some(object) => &self.program.methods[object][task.method],
        }
    }

    /// All states that one step leads to.
    fn successors(&self, state: &SmallState) -> Vec<SmallState> {
        let mut all = Vec::new();
        for number in 0..state.tasks.len() {
            let task = &state.tasks[number];
            let done = |future: usize| matches!(state.tasks[future].mode, Mode::Done { .. });
            let holds = |task: &SmallTask| matches!(task.mode, Mode::Runs | Mode::Gets(..));
            let free = !state
                .tasks
                .iter()
                .any(|other| other.object == task.object && holds(other));
            let mut next = state.clone();
            match task.mode {
                Mode::Pending if free => next.tasks[number].mode = Mode::Runs,
                Mode::Awaits(future) if free && done(future) => {
                    next.tasks[number].mode = Mode::Runs;
                }
                Mode::Runs => self.statement(&mut next, number),
                Mode::Gets(future, caught) if done(future) => {
                    let thrown = state.tasks[future].mode == Mode::Done { thrown: true };
                    next.tasks[number].mode = Mode::Runs;
                    match caught {
                        // To catch and to print are two steps.
                        Some(c) if thrown => {
                            next.tasks[number].mode = Mode::Gets(usize::MAX, Some(c));
                        }
                        None if thrown => Self::die(&mut next, number),
                        _ => {}
                    }
                }
                _ => continue,
            }
            all.push(next);
        }
        all
    }

    fn die(state: &mut SmallState, number: usize) {
        state.tasks[number].mode = Mode::Done { thrown: true };
        let Some(object) = state.tasks[number].object else {
            return;
        };
        state.dead[object] = true;
        for task in &mut state.tasks {
            if task.object == Some(object) && !matches!(task.mode, Mode::Done { .. }) {
                task.mode = Mode::Done { thrown: true };
            }
        }
    }

    fn send(state: &mut SmallState, object: usize, method: usize) -> usize {
        let mode = match state.dead[object] {
            true => Mode::Done { thrown: true },
            false => Mode::Pending,
        };
        state.tasks.push(SmallTask {
            object: Some(object),
            method,
            next: 0,
            mode,
        });
        state.tasks.len() - 1
    }

    fn statement(&self, state: &mut SmallState, number: usize) {
        let task = state.tasks[number].clone();
        let Some(&stmt) = self.body(&task).get(task.next) else {
            state.tasks[number].mode = Mode::Done { thrown: false };
            return;
        };
        state.tasks[number].next += 1;
        match stmt {
            Small::Print(c) => state.output.push(c),
            Small::Increment => state.fields[task.object.expect("an object")] += 1,
            Small::ThrowIf(k) => {
                if state.fields[task.object.expect("an object")] > k {
                    Self::die(state, number);
                }
            }
            Small::Send(o, m) => {
                Self::send(state, o, m);
            }
            Small::AwaitCall(o, m) => {
                let future = Self::send(state, o, m);
                state.tasks[number].mode = Mode::Awaits(future);
            }
            Small::Call(o, m) => {
                let future = Self::send(state, o, m);
                state.tasks[number].mode = Mode::Gets(future, None);
            }
            Small::CallCaught(o, m, c) => {
                let future = Self::send(state, o, m);
                state.tasks[number].mode = Mode::Gets(future, Some(c));
            }
            Small::Suspend => state.tasks[number].mode = Mode::Pending,
        }
    }

    fn run(program: &SmallProgram) -> Option<BTreeSet<Ending>> {
        let objects = program.methods.len();
        let start = SmallState {
            tasks: vec![SmallTask {
                object: None,
                method: 0,
                next: 0,
                mode: Mode::Runs,
            }],
            fields: vec![0; objects],
            dead: vec![false; objects],
            output: String::new(),
        };
        let mut model = Model {
            program,
            seen: BTreeSet::from([start.clone()]),
            endings: BTreeSet::new(),
        };
        let mut pending = vec![start];
        while let Some(state) = pending.pop() {
            if model.seen.len() > 60_000 {
                return None;
            }
            let printing = state
                .tasks
                .iter()
                .enumerate()
                .find_map(|(n, t)| match t.mode {
                    Mode::Gets(usize::MAX, Some(c)) => Some((n, c)),
                    _ => None,
                });
            let mut next = model.successors_but(&state, printing.map(|(n, _)| n));
            if let Some((number, c)) = printing {
                let mut printed = state.clone();
                printed.output.push(c);
                printed.tasks[number].mode = Mode::Runs;
                next.push(printed);
            }
            if next.is_empty() {
                let open = |task: &SmallTask| !matches!(task.mode, Mode::Done { .. });
                let waits = state.tasks.iter().any(open);
                let ending = (state.output, state.fields, state.dead, waits);
                model.endings.insert(ending);
                continue;
            }
            for state in next {
                if model.seen.insert(state.clone()) {
                    pending.push(state);
                }
            }
        }
        Some(model.endings)
    }

    /// The successors by all tasks but one that is about to print what it caught.
    fn successors_but(&self, state: &SmallState, printing: Option<usize>) -> Vec<SmallState> {
        let mut state = state.clone();
        let Some(number) = printing else {
            return self.successors(&state);
        };
        let mode = state.tasks[number].mode;
        // Waiting for itself it cannot go on.
        state.tasks[number].mode = Mode::Gets(number, None);
        let mut all = self.successors(&state);
        for state in &mut all {
            if state.tasks[number].mode == Mode::Gets(number, None) {
                state.tasks[number].mode = mode;
            }
        }
        all
    }
}

/// All endings of the crate's machine, by trying every task in every state.
fn endings(machine: &mut Machine, objects: usize) -> BTreeSet<Ending> {
    let mut found = BTreeSet::new();
    let mut seen = std::collections::HashSet::from([machine.fingerprint()]);
    let mut pending = vec![machine.state()];
    while let Some(state) = pending.pop() {
        machine.restore(&state);
        let tasks = machine.processes().in_order().to_vec();
        let ready = tasks
            .iter()
            .filter(|&&t| machine.status(t) == Status::Ready);
        let ready: Vec<_> = ready.copied().collect();
        if ready.is_empty() {
            let all = machine.bindings(false);
            let value = |name: &str| {
                let binding = all.iter().find(|binding| binding.name == name);
                binding.map(|binding| binding.value.clone())
            };
            let output = value("output").unwrap_or_default();
            let output = output.replace("\\n", "").replace('"', "");
            let fields = (0..objects).map(|o| format!("C{o}{}.n", o + 1));
            let fields =
                fields.map(|name| value(&name).map_or(0, |n| n.parse().expect("a number")));
            let dead = (0..objects).map(|o| value(&format!("C{o}{}", o + 1)).is_some());
            let waits = tasks.iter().any(|&t| machine.status(t) == Status::Waiting);
            found.insert((output, fields.collect(), dead.collect(), waits));
        }
        for task in ready {
            machine.restore(&state);
            machine.step(task, &[]).expect("it is ready");
            if seen.insert(machine.fingerprint()) {
                pending.push(machine.state());
            }
        }
    }
    found
}

#[track_caller]
fn compare(program: &SmallProgram) -> bool {
    let Some(expected) = Model::run(program) else {
        return false;
    };
    let text = program.text();
    let found = endings(&mut machine(&text, &[]), program.methods.len());
    assert_eq!(found, expected, "\n{text}");
    // An engine that reduces meets the same.
    let limits = Limits::default();
    for algorithm in [Algorithm::Optimal, Algorithm::CONTEXT] {
        let all = explore(&mut machine(&text, &[]), algorithm, &limits);
        let whole = expected.iter().filter(|ending| !ending.3).count();
        let failed = !all.failures.is_empty();
        assert!(
            failed || all.seen.observed.len() == whole,
            "{algorithm}: {} of {whole}\n{text}",
            all.seen.observed.len()
        );
        assert_eq!(
            all.deadlock.is_some(),
            expected.iter().any(|e| e.3),
            "{algorithm}\n{text}"
        );
    }
    true
}

#[test]
fn output_interleaves_inside_steps() {
    use Small::{Print, Send};
    let two = SmallProgram {
        main: vec![Send(0, 0), Send(1, 0)],
        methods: vec![
            vec![vec![Print('a'), Print('b')], vec![]],
            vec![vec![Print('c'), Print('d')], vec![]],
        ],
    };
    assert!(compare(&two));
    let outputs = endings(&mut machine(&two.text(), &[]), 2);
    assert_eq!(outputs.len(), 6, "{outputs:?}");
    let around = SmallProgram {
        main: vec![Print('a'), Send(0, 0), Print('b')],
        methods: vec![vec![vec![Print('c')], vec![]]],
    };
    assert!(compare(&around));
    let outputs = endings(&mut machine(&around.text(), &[]), 1);
    assert_eq!(outputs.len(), 2, "{outputs:?}");
}

#[test]
fn an_uncaught_exception_kills_its_object() {
    use Small::{AwaitCall, Call, CallCaught, Increment, Print, Send, Suspend, ThrowIf};
    let program = SmallProgram {
        main: vec![
            Send(0, 0),
            AwaitCall(0, 1),
            CallCaught(0, 1, 'x'),
            Print('e'),
            Call(0, 1),
            Print('f'),
        ],
        methods: vec![vec![
            vec![Increment, Suspend, ThrowIf(0)],
            vec![Suspend, Print('r')],
        ]],
    };
    assert!(compare(&program));
}

/// A generator of numbers, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn stmt(&mut self, objects: usize, own: bool) -> Small {
        let letter = |n: usize| char::from(b'a' + n as u8);
        let kind = self.below(if objects == 0 { 4 } else { 9 });
        let call = match objects {
            0 => (0, 0),
            n => (self.below(n), self.below(2)),
        };
        match kind {
            0 | 1 => Small::Print(letter(self.below(6))),
            2 if own => Small::Increment,
            3 if own => Small::ThrowIf(self.below(2) as u8),
            2 | 3 => Small::Suspend,
            4 | 5 => Small::Send(call.0, call.1),
            6 => Small::AwaitCall(call.0, call.1),
            7 => Small::Call(call.0, call.1),
            _ => Small::CallCaught(call.0, call.1, letter(self.below(6))),
        }
    }

    fn program(&mut self) -> SmallProgram {
        let objects = 1 + self.below(3);
        let mut methods = Vec::new();
        for object in 0..objects {
            let method = |random: &mut Self| {
                let count = 1 + random.below(3);
                (0..count).map(|_| random.stmt(object, true)).collect()
            };
            methods.push((0..2).map(|_| method(self)).collect());
        }
        let count = 2 + self.below(2);
        let main = (0..count).map(|_| self.stmt(objects, false)).collect();
        SmallProgram { main, methods }
    }
}

#[test]
fn steps_of_many_statements_lead_to_the_same_endings() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let programs = std::env::var("MAZURKA_PROGRAMS").ok();
    let programs = programs.and_then(|n| n.parse().ok()).unwrap_or(200);
    let compared = (0..programs).filter(|_| compare(&random.program())).count();
    println!("{compared} of {programs} compared");
    assert!(compared * 2 > programs, "most programs were too large");
}
