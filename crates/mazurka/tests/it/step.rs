//! Tests stepping by hand: going back restores the whole state, and the run can be replayed.

use std::fs;
use std::path::Path;

use mazurka::record::{Ending, Step};
use mazurka::replay::Recording;
use mazurka::run::{Plan, Random};
use mazurka::step::{NextSteps, Situation, StepProblem, Stepper};
use mazurka::{Options, Program, Schedule, quietly};

/// Returns the programs of the corpus, by name.
fn corpus() -> Vec<(String, Program)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().nth(2).expect("the workspace");
    let mut programs = Vec::new();
    for language in ["maz", "abs"] {
        let all = fs::read_dir(folder.join("corpus").join(language));
        for entry in all.expect("the corpus").flatten() {
            let file = format!("program.{language}");
            let Ok(source) = fs::read_to_string(entry.path().join(&file)) else {
                continue;
            };
            // Some programs need settings.
            if let Ok(program) = Program::load(&file, &source, &[]) {
                programs.push((entry.path().display().to_string(), program));
            }
        }
    }
    assert!(programs.len() > 100, "most of the corpus was not found");
    programs
}

/// Returns one of the next steps as a schedule.
fn scheduled(step: &Step) -> Schedule {
    let values: Vec<String> = step.outcomes.iter().map(i64::to_string).collect();
    let text = if values.is_empty() {
        step.process.clone()
    } else {
        format!("{}={}", step.process, values.join(","))
    };
    text.parse().expect("a step")
}

type StepperView = (Situation, NextSteps, String);

fn view(stepper: &mut Stepper<'_>) -> StepperView {
    let schedule = stepper.schedule().to_string();
    (stepper.situation(), stepper.next_steps(), schedule)
}

/// Walks forwards and backwards, and compares each state with the earlier state at that depth.
fn walk_at_random(name: &str, stepper: &mut Stepper<'_>, random: &mut Random) {
    let mut states = vec![view(stepper)];
    for _ in 0..60 {
        let depth = stepper.steps_made();
        assert_eq!(depth, states.len() - 1, "{name}");
        let next = &states[depth].1.steps;
        match random.below(5) {
            0 => {
                let most = random.below(4) as usize;
                let taken = stepper.back(most);
                assert_eq!(taken, most.min(depth), "{name}");
                assert_eq!(view(stepper), states[depth - taken], "{name}");
                // Repeating the steps gives the same states.
                if random.below(2) == 0 {
                    assert_eq!(stepper.redo(taken), Ok(taken), "{name}");
                    assert_eq!(view(stepper), states[depth], "{name}");
                } else {
                    states.truncate(depth - taken + 1);
                }
            }
            _ if next.is_empty() => {}
            _ => {
                let step = next[random.below(next.len() as u64) as usize].clone();
                stepper
                    .make(&scheduled(&step))
                    .expect("a step that was offered");
                let run = stepper.run();
                let made = Step {
                    enabled: Vec::new(),
                    ..run.steps[depth].clone()
                };
                assert_eq!(made, step, "{name}: a step does what it was said to do");
                states.push(view(stepper));
            }
        }
    }
}

#[test]
fn walks_restore_every_state_and_can_be_replayed() {
    let mut walked = 0;
    for (name, program) in corpus() {
        let options = Options::default();
        // Some programs require other initial values.
        let Ok(mut stepper) = program.stepper(&options) else {
            continue;
        };
        // The seed must not depend on the folder of the repository.
        let seed = name.rsplit(['/', '\\']).next().map_or(0, str::len);
        walk_at_random(&name, &mut stepper, &mut Random::new(seed as u64));
        let record = stepper.record(&mut quietly()).expect("a run");
        assert_eq!(
            record.run.schedule,
            stepper.schedule().to_string(),
            "{name}"
        );
        assert_eq!(record.run.state, stepper.situation().state, "{name}");
        let text = serde_json::to_string(&record).expect("a record");
        let recording = Recording::parse(&text).expect("a record");
        let again = program.replay(&recording, &options);
        let again = again.unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert_eq!(again.witnesses, record.record.witnesses, "{name}");
        walked += 1;
    }
    assert!(walked > 100, "{walked} programs");
}

#[test]
fn finish_makes_the_same_steps_as_run() {
    for (name, program) in corpus() {
        let options = Options::default();
        let Ok(mut stepper) = program.stepper(&options) else {
            continue;
        };
        let bound = stepper.finish(&mut quietly()).expect("no inputs are given");
        let ran = program.run(&Plan::Seed(0), &options, &mut quietly());
        let ran = ran.expect("a run");
        assert_eq!(stepper.schedule().to_string(), ran.run.schedule, "{name}");
        assert_eq!(bound.is_some(), ran.run.ending == Ending::Open, "{name}");
    }
}

fn load(source: &str) -> Program {
    Program::load("test.maz", source, &[]).expect("a program")
}

#[test]
fn an_impossible_step_gives_the_reason_and_changes_nothing() {
    let program = load(
        "var x: int = 0  lock m
         process holder { lock(m); x := choose(1..4); unlock(m) }
         process { lock(m); unlock(m) }",
    );
    let mut stepper = program.stepper(&Options::default()).expect("a start");
    let mut make = |text: &str| {
        let schedule = program.schedule(text).expect("a schedule");
        let made = stepper.make(&schedule);
        (
            made.map_err(|problem| problem.to_string()),
            stepper.steps_made(),
        )
    };
    assert_eq!(make("holder"), (Ok(()), 1));
    let held = "1 has to wait for lock `m`, held by holder";
    assert_eq!(make("1"), (Err(held.to_owned()), 1));
    let chooses = "holder chooses: say holder=1 or holder=2 or holder=3";
    assert_eq!(make("holder"), (Err(chooses.to_owned()), 1));
    let cannot = "holder cannot choose that: say holder=1 or holder=2 or holder=3";
    assert_eq!(make("holder=7"), (Err(cannot.to_owned()), 1));
    let many = "holder chooses 1 value here, and more values are given";
    assert_eq!(make("holder=1,2"), (Err(many.to_owned()), 1));
    assert_eq!(make("7"), (Err("there is no process 7 now".to_owned()), 1));
    assert_eq!(make("0=2 0"), (Ok(()), 3));
    assert_eq!(make("holder"), (Err("holder has ended".to_owned()), 3));
}

#[test]
fn a_schedule_that_does_not_fit_changes_nothing() {
    let program = load("var x: int = 0  process { x := 1; x := 2 }  process { x := 3 }");
    let mut stepper = program.stepper(&Options::default()).expect("a start");
    stepper
        .make(&"0 1".parse().expect("a schedule"))
        .expect("two steps");
    stepper.back(1);
    let before = view(&mut stepper);
    let result = stepper.go_to(&"1 0 1".parse().expect("a schedule"));
    let over = StepProblem::Over {
        process: "1".to_owned(),
        why: "has ended",
    };
    assert_eq!(result, Err((3, over)));
    assert_eq!(view(&mut stepper), before);
    assert_eq!(stepper.redo(5), Ok(1), "what was taken back is kept");
    stepper
        .go_to(&"1 0".parse().expect("a schedule"))
        .expect("it fits");
    assert_eq!(stepper.schedule().to_string(), "1 0");
}

#[test]
fn locals_and_locks_are_shown() {
    let program = load(
        "var x: int = 0  lock m
         proc add(n: int) { let twice = 2 * n; lock(m); x := x + twice; unlock(m) }
         process worker { let kept = x; add(3); x := kept }",
    );
    let mut stepper = program.stepper(&Options::default()).expect("a start");
    stepper
        .make(&"0 0".parse().expect("a schedule"))
        .expect("two steps");
    let now = stepper.situation();
    let held: Vec<_> = now.held.iter().map(|h| (&*h.lock, &*h.process)).collect();
    assert_eq!(held, [("m", "0")]);
    let worker = &now.processes[0];
    assert_eq!((&*worker.name, worker.line), ("worker", Some(2)));
    let locals = worker.locals.iter();
    let locals: Vec<_> = locals.map(|b| (&*b.name, &*b.value)).collect();
    assert_eq!(locals, [("kept", "0"), ("add.twice", "6")]);
}

#[test]
fn an_input_that_does_not_fit_is_refused_where_it_is_read() {
    let program = load("var x: int = 0  process { x := 1; let n = input(u8); x := 2 }");
    let options = Options {
        inputs: vec![("0#0".to_owned(), 300)],
        ..Options::default()
    };
    let mut stepper = program.stepper(&options).expect("a start");
    while stepper.steps_made() < 3 {
        let made = stepper.make(&"0".parse().expect("a schedule"));
        if let Err(problem) = made {
            assert!(problem.to_string().contains("from 0 to 255"), "{problem}");
            let made_before = stepper.steps_made();
            assert!(stepper.finish(&mut quietly()).is_err());
            assert_eq!(stepper.steps_made(), made_before);
            return;
        }
    }
    panic!("300 is no u8");
}
