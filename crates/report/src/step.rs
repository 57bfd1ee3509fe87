//! The view of `step`, a run by hand: the steps made so far, the possible next steps, and whole
//! states.

use mazurka_core::record::{Run, Waiting};
use mazurka_core::{NextSteps, Situation, Standing, Status};

use crate::events::{Columns, StepRow, bindings};
use crate::{View, clip, counted, pad, witness};

/// Limit on the length of values.
const VALUES_WIDTH: usize = 240;

/// The data that `step` shows after a command of the user.
#[derive(Clone, Copy, Debug)]
pub struct Stepped<'a> {
    /// The run so far.
    pub run: &'a Run,
    /// How many steps of the run were shown before.
    pub known: usize,
    /// The possible next steps.
    pub next: &'a NextSteps,
}

/// Returns the new steps, or the state if there are none, and the possible next steps.
pub fn stepped(now: Stepped<'_>, view: &View) -> String {
    let Stepped { run, known, next } = now;
    let next_run = Run {
        steps: next.steps.clone(),
        names: run.names.clone(),
        ..run.clone()
    };
    let new_rows = (known..run.steps.len()).map(|at| StepRow::new(run, at));
    let new_rows: Vec<StepRow> = new_rows.collect();
    let possible = (0..next_run.steps.len()).map(|at| StepRow {
        number: String::new(),
        ..StepRow::new(&next_run, at)
    });
    let (count, all) = (new_rows.len(), new_rows.into_iter().chain(possible));
    let rows: Vec<StepRow> = all.collect();
    let columns = Columns::for_rows(&rows, view);
    let line = |row: &StepRow| columns.line(row, "", view.paint);
    let mut text: String = rows[..count].iter().map(line).collect();
    if count == 0 {
        text += &format!("{}\n", headline(run.steps.len(), &bindings(&run.state)));
        text += &witness::inputs(&run.inputs);
    }
    if rows.len() > count {
        text += &format!("{}\n", view.paint.strong("can go:"));
        text.extend(rows[count..].iter().map(line));
    }
    for process in &next.more {
        let name = run.name_of(process);
        text += &format!("  {name} can choose more values than are shown\n");
    }
    text
}

/// Returns everything about a state: variables, locks, and the position of each process.
pub fn situation(now: &Situation, view: &View) -> String {
    let mut text = format!("{}\n", headline(now.steps, &bindings(&now.state)));
    text += &witness::inputs(&now.inputs);
    if !now.held.is_empty() {
        let name = |process: &String| {
            let all = now.processes.iter();
            let standing = all.clone().find(|standing| standing.number == *process);
            standing.map_or(process.clone(), |standing| standing.name.clone())
        };
        let held = now.held.iter();
        let held = held.map(|held| format!("{} by {}", held.lock, name(&held.process)));
        let held = clip(&held.collect::<Vec<_>>().join(", "), VALUES_WIDTH);
        text += &format!("  held: {held}\n");
    }
    let names = now.processes.iter().map(|one| one.name.chars().count());
    let width = names.max().unwrap_or(0);
    for one in &now.processes {
        let name = view.paint.strong(&pad(&one.name, width));
        text += &format!("  {name}  {}\n", standing(one));
    }
    text
}

/// Returns a text such as `after 3 steps: x = 1`.
fn headline(steps: usize, state: &str) -> String {
    let when = match steps {
        0 => "at the start".to_owned(),
        n => format!("after {}", counted(n as u64, "step", "steps")),
    };
    match state {
        "" => when,
        state => format!("{when}: {}", clip(state, VALUES_WIDTH)),
    }
}

/// Returns the status of a process, its position, and its locals.
fn standing(one: &Standing) -> String {
    let line = one.line.map(|line| format!(" (line {line})"));
    let line = line.unwrap_or_default();
    let mut text = match (one.status, &one.waiting) {
        (Status::Waiting, Some(waiting)) => format!("{}{line}", waits(waiting)),
        (Status::Waiting, None) => format!("waits{line}"),
        (Status::Ready, _) => format!("can go{line}"),
        (Status::Unborn, _) => "not started".to_owned(),
        (Status::Ended, _) => "has ended".to_owned(),
        (Status::Failed, _) => "halted by a failure".to_owned(),
        (Status::Discarded, _) => "halted by a false `assume`".to_owned(),
        (Status::Lost, _) => "halted by a bound of the evaluator".to_owned(),
    };
    if !one.locals.is_empty() {
        text += &format!(": {}", clip(&bindings(&one.locals), VALUES_WIDTH));
    }
    text
}

fn waits(waiting: &Waiting) -> String {
    let holder = match &waiting.held_by {
        Some(holder) if *holder == waiting.process => ", which it holds itself".to_owned(),
        Some(holder) => format!(", held by {holder}"),
        None => String::new(),
    };
    format!("waits for {}{holder}", clip(&waiting.what, VALUES_WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mazurka_core::HeldLock;
    use mazurka_core::record::{Binding, Change, Ending, Step};

    fn binding(name: &str, value: &str) -> Binding {
        Binding {
            name: name.to_owned(),
            value: value.to_owned(),
        }
    }

    fn step(process: &str, outcomes: &[i64], label: &str) -> Step {
        Step {
            locks: Vec::new(),
            process: process.to_owned(),
            outcomes: outcomes.to_vec(),
            label: label.to_owned(),
            line: 3,
            file: None,
            enabled: Vec::new(),
            reads: Vec::new(),
            changes: vec![Change {
                name: "x".to_owned(),
                from: "0".to_owned(),
                to: "1".to_owned(),
            }],
            mishap: None,
            racing: false,
            actor: None,
            memory: None,
            printed: Vec::new(),
        }
    }

    fn run(steps: Vec<Step>) -> Run {
        Run {
            processes: Vec::new(),
            schedule: String::new(),
            inputs: Vec::new(),
            ending: Ending::Open,
            steps,
            state: vec![binding("x", "1")],
            names: vec![("1".to_owned(), "server".to_owned())],
        }
    }

    #[test]
    fn new_steps_are_listed_above_the_possible_next_steps() {
        let run = run(vec![step("0", &[], "x := 1"), step("0", &[], "x := 2")]);
        let next = NextSteps {
            steps: vec![step("0", &[7], "y := 1"), step("1", &[], "longer := 3")],
            more: vec!["0".to_owned()],
        };
        let now = Stepped {
            run: &run,
            known: 1,
            next: &next,
        };
        insta::assert_snapshot!(stepped(now, &View::default()), @r"
          2  0       x := 2       x: 0 -> 1  line 3
        can go:
             0=7     y := 1       x: 0 -> 1  line 3
             server  longer := 3  x: 0 -> 1  line 3
          0 can choose more values than are shown
        ");
        let now = Stepped { known: 2, ..now };
        assert!(stepped(now, &View::default()).starts_with("after 2 steps: x = 1\ncan go:\n"));
    }

    #[test]
    fn a_state_has_everything() {
        let standing = |number: &str, name: &str, status| Standing {
            number: number.to_owned(),
            name: name.to_owned(),
            status,
            line: matches!(status, Status::Ready | Status::Waiting).then_some(4),
            waiting: (status == Status::Waiting).then(|| Waiting {
                process: name.to_owned(),
                what: "lock `m`".to_owned(),
                held_by: Some("server".to_owned()),
                line: 4,
                file: None,
            }),
            locals: Vec::new(),
        };
        let mut now = Situation {
            steps: 1,
            ending: Ending::Open,
            state: vec![binding("x", "1")],
            inputs: Vec::new(),
            held: vec![HeldLock {
                lock: "m".to_owned(),
                process: "1".to_owned(),
            }],
            processes: vec![
                standing("0", "0", Status::Waiting),
                standing("1", "server", Status::Ready),
                standing("2", "2", Status::Ended),
            ],
        };
        now.processes[1].locals = vec![binding("i", "3"), binding("t", "[1, 2]")];
        insta::assert_snapshot!(situation(&now, &View::default()), @r"
        after 1 step: x = 1
          held: m by server
          0       waits for lock `m`, held by server (line 4)
          server  can go (line 4): i = 3, t = [1, 2]
          2       has ended
        ");
    }
}
