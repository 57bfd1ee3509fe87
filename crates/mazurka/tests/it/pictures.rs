//! Tests the data from which pictures are drawn: the state graph, the locks, and the ends of runs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use mazurka::record::{EndStatus, Ending, GraphEdge, Run};
use mazurka::run::Plan;
use mazurka::search::Merging;
use mazurka::{Algorithm, Options, Program, quietly};

/// Returns the programs of the corpus without unknown values.
fn corpus() -> Vec<(String, Program)> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.ancestors().nth(2).expect("the workspace");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join("corpus/maz")).expect("the corpus") {
        let folder = entry.expect("an entry").path();
        let source = fs::read_to_string(folder.join("program.maz")).expect("a program");
        let name = folder.file_name().expect("a name").to_string_lossy();
        let program = Program::load(&name, &source, &[]).expect("a right program");
        if program.unknowns().is_empty() {
            found.push((name.into_owned(), program));
        }
    }
    assert!(found.len() > 100);
    found
}

fn options() -> Options {
    let mut options = Options::default();
    options.limits.steps = Some(30_000);
    options
}

#[test]
fn the_graph_has_the_states_that_the_engine_counts() {
    let mut whole = 0;
    for (name, program) in corpus() {
        let all = Algorithm::StatefulAs(Merging {
            reduced: false,
            symmetric: false,
            ..Merging::default()
        });
        let record = program.explore(all, &options(), &mut quietly());
        let record = record.expect("an exploration");
        let few = program.explore(Algorithm::Stateful, &options(), &mut quietly());
        let few = few.expect("an exploration");
        assert!(few.counts.states <= record.counts.states, "{name}");
        let (again, graph) = program.explore_states(&options(), &mut quietly());
        assert_eq!(again.counts.states, record.counts.states, "{name}");
        assert_eq!(again.verdict, record.verdict, "{name}");
        let cut = graph.states.iter().any(|state| state.cut);
        let counted = record.counts.states.expect("it merges states") as usize;
        if record.scope.exhaustive && counted <= 200 {
            assert_eq!(counted, graph.states.len(), "{name}");
            assert!(!cut, "{name}");
            whole += 1;
        } else {
            assert!(graph.states.len() <= 200, "{name}")
        }
        for (at, state) in graph.states.iter().enumerate().skip(1) {
            let leads = |edge: &&GraphEdge| {
                edge.to == at && graph.states[edge.from].depth + 1 == state.depth
            };
            assert!(graph.edges.iter().any(|edge| leads(&edge)), "{name}: {at}");
        }
    }
    assert!(whole > 60, "{whole}");
}

/// Returns the holder of each lock at the end of a run.
fn held(run: &Run) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    for step in &run.steps {
        for change in &step.locks {
            let before = if change.held {
                held.insert(change.name.clone(), step.process.clone())
            } else {
                held.remove(&change.name)
            };
            // Only a free lock is taken, and only its holder releases it.
            let expected = (!change.held).then(|| step.process.clone());
            assert_eq!(before, expected, "{} in {}", change.name, run.schedule);
        }
    }
    held
}

#[test]
fn a_run_has_the_positions_of_its_processes_and_their_locks() {
    let (mut waited, mut taken) = (0, 0);
    for (name, program) in corpus() {
        for seed in 0..5 {
            let ran = program.run(&Plan::Seed(seed), &options(), &mut quietly());
            let run = ran.expect("a run").run;
            let held = held(&run);
            taken += held.len();
            for step in &run.steps {
                let known = |process: &String| run.processes.iter().any(|e| e.process == *process);
                assert!(step.enabled.iter().all(known), "{name}: {}", run.schedule);
            }
            let any = |status| run.processes.iter().any(|end| end.status == status);
            let all_ended = run.processes.iter().all(|e| e.status == EndStatus::Ended);
            assert_eq!(
                run.ending == Ending::Final,
                all_ended,
                "{name}: {}",
                run.schedule
            );
            assert_eq!(run.ending == Ending::Open, any(EndStatus::Ready), "{name}");
            for end in &run.processes {
                let waits = end.status == EndStatus::Waiting;
                assert_eq!(waits, end.waits_for.is_some(), "{name}: {end:?}");
                let Some(what) = &end.waits_for else { continue };
                if let Some(lock) = what.strip_prefix("lock `") {
                    let holder = held.get(lock.trim_end_matches('`'));
                    assert_eq!(holder, end.held_by.as_ref(), "{name}: {end:?}");
                    waited += 1;
                }
            }
        }
    }
    assert!(waited > 5 && taken > 5, "{waited} {taken}");
}
