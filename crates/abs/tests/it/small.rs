//! Compares steps of many statements with a separate model that has one step for each statement:
//! both must have the same possible outputs, fields, deaths and deadlocks. The model shares only
//! the text of the programs with the crate. In the model, objects die immediately, and durations
//! also end between the multiples of the unit of time that the crate explores.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::common::{explore, machine};
use crate::random::number;
use mazurka_abs::Machine;
use mazurka_core::{Execution, Limits, Narrator, Semantics, Status};
use mazurka_explore::Algorithm;

/// A statement of a method; objects and methods are numbers.
#[derive(Clone, Copy, Debug)]
enum SmallStmt {
    Print(char),
    Increment,
    ThrowIf(u8),
    Send(usize, usize),
    AwaitCall(usize, usize),
    Call(usize, usize),
    CallCaught(usize, usize, char),
    Suspend,
    /// `await duration(…)`
    Sleep(u8, u8),
    /// `duration(…)`
    Hold(u8, u8),
}

/// The statements of the main block, and of each method of each object.
#[derive(Clone, Debug)]
struct SmallProgram {
    main: Vec<SmallStmt>,
    methods: Vec<Vec<Vec<SmallStmt>>>,
    /// The character that the recovery block of each object prints, if it has one.
    recovers: Vec<Option<char>>,
}

/// The number of parts into which the model divides a unit of time.
const PARTS: u8 = 2;

impl SmallProgram {
    fn stmt(stmt: SmallStmt) -> String {
        match stmt {
            SmallStmt::Print(c) => format!("println(\"{c}\");"),
            SmallStmt::Increment => "n = n + 1;".to_owned(),
            SmallStmt::ThrowIf(k) => format!("if (n > {k}) throw NullPointerException;"),
            SmallStmt::Send(o, m) => format!("o{o}!m{m}();"),
            SmallStmt::AwaitCall(o, m) => format!("await o{o}!m{m}();"),
            SmallStmt::Call(o, m) => format!("o{o}.m{m}();"),
            SmallStmt::CallCaught(o, m, c) => {
                format!("try o{o}.m{m}(); catch _ => println(\"{c}\");")
            }
            SmallStmt::Suspend => "suspend;".to_owned(),
            SmallStmt::Sleep(min, max) => format!("await duration({min}, {max});"),
            SmallStmt::Hold(min, max) => format!("duration({min}, {max});"),
        }
    }

    /// Returns the program as text. Object k knows the objects with smaller numbers.
    fn text(&self) -> String {
        let mut text = "module M;\ninterface I { Unit m0(); Unit m1(); }\n".to_owned();
        for (number, methods) in self.methods.iter().enumerate() {
            let known: Vec<String> = (0..number).map(|o| format!("I o{o}")).collect();
            let known = known.join(", ");
            let _ = writeln!(text, "class C{number}({known}) implements I {{ Int n = 0;");
            if let Some(c) = self.recovers[number] {
                let _ = writeln!(text, "  recover {{ _ => println(\"{c}\"); }}");
            }
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

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Mode {
    /// Waits for its cog: it has not started, or was suspended.
    Pending,
    /// Awaits a future without the cog.
    Awaits(usize),
    /// Has the cog.
    Runs,
    /// Has the cog and waits for a future; the task prints the character if the future has an
    /// exception.
    Gets(usize, Option<char>),
    /// Waits for a time, with or without the cog.
    Until {
        time: u8,
        holds: bool,
    },
    /// Has the cog and has caught an exception; prints this character next.
    Caught(char),
    /// Has the cog and recovers: prints this character next; with `None`, ends with an exception.
    Recovers(Option<char>),
    Done {
        thrown: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct SmallTask {
    /// `None` for the main block.
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
    now: u8,
}

/// The possible end of a run: output, fields, deaths, and whether a task still waits.
type Ending = (String, Vec<u8>, Vec<bool>, bool);

struct Model<'a> {
    program: &'a SmallProgram,
    seen: BTreeSet<SmallState>,
    endings: BTreeSet<Ending>,
}

impl Model<'_> {
    fn body(&self, task: &SmallTask) -> &[SmallStmt] {
        match task.object {
            None => &self.program.main,
            Some(object) => &self.program.methods[object][task.method],
        }
    }

    /// Returns all successors of a state.
    fn successors(&self, state: &SmallState) -> Vec<SmallState> {
        let mut all = Vec::new();
        for number in 0..state.tasks.len() {
            let task = &state.tasks[number];
            let done = |future: usize| matches!(state.tasks[future].mode, Mode::Done { .. });
            let holds = |task: &SmallTask| {
                matches!(
                    task.mode,
                    Mode::Runs
                        | Mode::Gets(..)
                        | Mode::Caught(_)
                        | Mode::Recovers(_)
                        | Mode::Until { holds: true, .. }
                )
            };
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
                Mode::Until { time, holds } if time <= state.now && (holds || free) => {
                    next.tasks[number].mode = Mode::Runs;
                }
                Mode::Caught(c) => {
                    next.output.push(c);
                    next.tasks[number].mode = Mode::Runs;
                }
                Mode::Recovers(Some(c)) => {
                    next.output.push(c);
                    next.tasks[number].mode = Mode::Recovers(None);
                }
                Mode::Recovers(None) => {
                    next.tasks[number].mode = Mode::Done { thrown: true };
                }
                Mode::Runs => {
                    if let Some(durations) = self.durations(state, number) {
                        all.extend(durations);
                        continue;
                    }
                    self.statement(&mut next, number);
                }
                Mode::Gets(future, caught) if done(future) => {
                    let thrown = state.tasks[future].mode == Mode::Done { thrown: true };
                    next.tasks[number].mode = Mode::Runs;
                    match caught {
                        // Catching and printing are two separate steps.
                        Some(c) if thrown => next.tasks[number].mode = Mode::Caught(c),
                        None if thrown => self.die(&mut next, number),
                        _ => {}
                    }
                }
                _ => continue,
            }
            all.push(next);
        }
        all
    }

    /// Returns the state after each choice of a duration; `None` if the next statement of the task
    /// is no duration.
    fn durations(&self, state: &SmallState, number: usize) -> Option<Vec<SmallState>> {
        let task = &state.tasks[number];
        let (min, max, holds) = match *self.body(task).get(task.next)? {
            SmallStmt::Sleep(min, max) => (min, max, false),
            SmallStmt::Hold(min, max) => (min, max, true),
            _ => return None,
        };
        let choices = (min * PARTS..=max * PARTS).map(|time| {
            let mut next = state.clone();
            next.tasks[number].next += 1;
            let time = state.now + time;
            next.tasks[number].mode = Mode::Until { time, holds };
            next
        });
        Some(choices.collect())
    }

    /// Advances the time, if a task waits for it.
    fn later(state: &SmallState) -> Option<SmallState> {
        let times = state.tasks.iter().filter_map(|task| match task.mode {
            Mode::Until { time, .. } if time > state.now => Some(time),
            _ => None,
        });
        let now = times.min()?;
        Some(SmallState {
            now,
            ..state.clone()
        })
    }

    fn die(&self, state: &mut SmallState, number: usize) {
        state.tasks[number].mode = Mode::Done { thrown: true };
        let Some(object) = state.tasks[number].object else {
            return;
        };
        if let Some(c) = self.program.recovers[object] {
            state.tasks[number].mode = Mode::Recovers(Some(c));
            return;
        }
        state.dead[object] = true;
        for task in &mut state.tasks {
            if task.object == Some(object) && !matches!(task.mode, Mode::Done { .. }) {
                task.mode = Mode::Done { thrown: true };
            }
        }
    }

    fn send(state: &mut SmallState, object: usize, method: usize) -> usize {
        let mode = if state.dead[object] {
            Mode::Done { thrown: true }
        } else {
            Mode::Pending
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
            SmallStmt::Print(c) => state.output.push(c),
            SmallStmt::Increment => state.fields[task.object.expect("an object")] += 1,
            SmallStmt::ThrowIf(k) => {
                if state.fields[task.object.expect("an object")] > k {
                    self.die(state, number);
                }
            }
            SmallStmt::Send(o, m) => {
                Self::send(state, o, m);
            }
            SmallStmt::AwaitCall(o, m) => {
                let future = Self::send(state, o, m);
                state.tasks[number].mode = Mode::Awaits(future);
            }
            SmallStmt::Call(o, m) => {
                let future = Self::send(state, o, m);
                state.tasks[number].mode = Mode::Gets(future, None);
            }
            SmallStmt::CallCaught(o, m, c) => {
                let future = Self::send(state, o, m);
                state.tasks[number].mode = Mode::Gets(future, Some(c));
            }
            SmallStmt::Suspend => state.tasks[number].mode = Mode::Pending,
            SmallStmt::Sleep(..) | SmallStmt::Hold(..) => unreachable!("a choice"),
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
            now: 0,
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
            let mut next = model.successors(&state);
            if next.is_empty() {
                next.extend(Self::later(&state));
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
}

/// Returns all endings of the crate's machine, by trying every task in every state.
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
            for outcome in 0.. {
                machine.restore(&state);
                if machine.step(task, &[outcome]).is_err() {
                    assert_ne!(outcome, 0, "it is ready");
                    break;
                }
                if seen.insert(machine.fingerprint()) {
                    pending.push(machine.state());
                }
                let chose = machine.events().last().map(|event| event.outcomes.len());
                if chose != Some(1) {
                    break;
                }
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
    // Reducing engines must find the same endings.
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
    use SmallStmt::{Print, Send};
    let two = SmallProgram {
        main: vec![Send(0, 0), Send(1, 0)],
        methods: vec![
            vec![vec![Print('a'), Print('b')], vec![]],
            vec![vec![Print('c'), Print('d')], vec![]],
        ],
        recovers: vec![None; 2],
    };
    assert!(compare(&two));
    let outputs = endings(&mut machine(&two.text(), &[]), 2);
    assert_eq!(outputs.len(), 6, "{outputs:?}");
    let around = SmallProgram {
        main: vec![Print('a'), Send(0, 0), Print('b')],
        methods: vec![vec![vec![Print('c')], vec![]]],
        recovers: vec![None],
    };
    assert!(compare(&around));
    let outputs = endings(&mut machine(&around.text(), &[]), 1);
    assert_eq!(outputs.len(), 2, "{outputs:?}");
}

#[test]
fn an_uncaught_exception_kills_its_object() {
    use SmallStmt::{AwaitCall, Call, CallCaught, Increment, Print, Send, Suspend, ThrowIf};
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
        recovers: vec![None],
    };
    assert!(compare(&program));
    // With a recovery block the object does not die.
    let program = SmallProgram {
        recovers: vec![Some('z')],
        ..program
    };
    assert!(compare(&program));
    let all = endings(&mut machine(&program.text(), &[]), 1);
    assert!(
        all.iter()
            .all(|(output, _, dead, _)| output.contains('z') && !dead[0])
    );
}

#[test]
fn the_order_of_three_durations_may_depend_on_times_between_their_bounds() {
    use SmallStmt::{Hold, Print, Send, Sleep};
    // `await duration(2, 2)` of the second object can end between the two durations of the first
    // object only if `await duration(0, 4)` ends at a time other than its bounds.
    let program = SmallProgram {
        main: vec![Send(0, 0), Send(1, 0)],
        methods: vec![
            vec![
                vec![Sleep(0, 4), Print('a'), Hold(1, 1), Print('b')],
                vec![],
            ],
            vec![vec![Sleep(2, 2), Print('c')], vec![]],
        ],
        recovers: vec![None; 2],
    };
    assert!(compare(&program));
    let all = endings(&mut machine(&program.text(), &[]), 2);
    let outputs: BTreeSet<&str> = all.iter().map(|ending| ending.0.as_str()).collect();
    assert_eq!(outputs, BTreeSet::from(["abc", "acb", "cab"]));
}

/// A random number generator, the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn stmt(&mut self, objects: usize, own: bool) -> SmallStmt {
        let letter = |n: usize| char::from(b'a' + n as u8);
        let kind = self.below(if objects == 0 { 6 } else { 11 });
        let call = match objects {
            0 => (0, 0),
            n => (self.below(n), self.below(2)),
        };
        match kind {
            0 | 1 => SmallStmt::Print(letter(self.below(6))),
            2 if own => SmallStmt::Increment,
            3 if own => SmallStmt::ThrowIf(self.below(2) as u8),
            2 | 3 => SmallStmt::Suspend,
            4 | 5 => {
                let min = self.below(3) as u8;
                let max = min + self.below(3) as u8;
                match kind {
                    4 => SmallStmt::Sleep(min, max),
                    _ => SmallStmt::Hold(min, max),
                }
            }
            6 | 7 => SmallStmt::Send(call.0, call.1),
            8 => SmallStmt::AwaitCall(call.0, call.1),
            9 => SmallStmt::Call(call.0, call.1),
            _ => SmallStmt::CallCaught(call.0, call.1, letter(self.below(6))),
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
        let recovers = (0..objects).map(|_| (self.below(4) == 0).then_some('z'));
        SmallProgram {
            main,
            methods,
            recovers: recovers.collect(),
        }
    }
}

/// More programs: `MAZURKA_PROGRAMS=10000 cargo test --release -p mazurka-abs --test it small::`;
/// `MAZURKA_SEED` is the first seed.
#[test]
fn steps_of_many_statements_lead_to_the_same_endings() {
    let programs = number("MAZURKA_PROGRAMS", 200);
    let first = number("MAZURKA_SEED", 1);
    let mut compared = 0;
    for seed in first..first + programs {
        // Mix the seed, so that neighbouring seeds do not give similar programs.
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            random.below(2);
        }
        println!("seed {seed}");
        compared += u64::from(compare(&random.program()));
    }
    println!("{compared} of {programs} compared");
    assert!(compared * 2 > programs, "most programs were too large");
}
