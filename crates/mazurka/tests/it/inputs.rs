//! Tests the commands on programs with inputs: verdicts, the values that are shown, and what is
//! left open.

use mazurka::record::{Binding, Kind};
use mazurka::replay::Recording;
use mazurka::run::Plan;
use mazurka::solving::SolverChoice;
use mazurka::{Algorithm, Bound, Options, Program, Refused, Verdict, quietly};

fn program(source: &str) -> Program {
    Program::load("test.maz", source, &[]).expect("a program")
}

fn pairs(bindings: &[Binding]) -> Vec<(&str, &str)> {
    bindings
        .iter()
        .map(|b| (b.name.as_str(), b.value.as_str()))
        .collect()
}

#[test]
fn the_inputs_of_example_2_wrap_around() {
    let source = "process { let x = input(); let y = input();
        if x > y { if x * y == 1452 { if x / 2 == 5 { error } } } }";
    let record = program(source)
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Violated);
    let inputs = pairs(&record.witnesses[0].runs[0].inputs);
    assert_eq!(inputs, [("0#0", "10"), ("0#1", "-858993314")]);
    // No pair of mathematical integers satisfies this, but the embedded solver, which only decides
    // ranges, cannot prove it.
    let source = source.replace("input()", "input(int)");
    let options = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    let record = program(&source)
        .check(&options, &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Inconclusive);
    assert_eq!(record.scope.bounds, [Bound::IntWithin(32)]);
}

#[test]
fn the_errors_of_example_1_come_in_the_first_and_in_the_second_round() {
    let source = "process { let i: i32 = 0; while i < 2 {
        let x = input(); x := x + 5; if x == i { error }; i := i + 1 } }";
    let mut failing = Vec::new();
    let (record, coverage) = program(source)
        .explore_tests(
            Algorithm::Optimal,
            &Options::default(),
            &mut quietly(),
            &mut |_, test| {
                if !test.record.witnesses.is_empty() {
                    failing.push(test.run.inputs.last().expect("an input").value.clone());
                }
            },
        )
        .expect("a record");
    assert_eq!((record.counts.executions, record.counts.failures), (3, 2));
    failing.sort();
    assert_eq!(failing, ["-4", "-5"]);
    assert_eq!(coverage.tests, 3);
}

#[test]
fn results_are_compared_for_the_same_inputs_only() {
    // There are two results, but each input gives one.
    let same = "var x: i32 = 0 process { let i = input(); if i > 3 { x := 1 } else { x := 2 } }";
    let record = program(same)
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    assert_eq!(
        (record.verdict, record.deterministic),
        (Verdict::Verified, Some(true))
    );

    let race = "var x: i32 = 0
        process { let i = input(); if i > 3 { x := 1 } else { x := 5 } }
        process { x := input() }";
    let record = program(race)
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    assert_eq!(
        (record.verdict, record.deterministic),
        (Verdict::Violated, Some(false))
    );
    let witness = &record.witnesses[0];
    assert_eq!(witness.kind, Kind::Nondeterminism);
    let condition = witness.condition.as_deref().expect("there are inputs");
    let conditions = ["0#0 <= 3 && 1#0 != 5", "0#0 > 3 && 1#0 != 1"];
    assert!(conditions.contains(&condition), "{condition}");
    assert_eq!(witness.runs[0].inputs, witness.runs[1].inputs);
    assert_ne!(witness.runs[0].state, witness.runs[1].state);
}

#[test]
fn a_guard_may_be_closed_for_some_inputs() {
    let source = "var k, x: i32 = 0 process { k := input() } process { k > 3 |> x := 1 }";
    let record = program(source)
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Violated);
    let witness = &record.witnesses[0];
    assert_eq!(witness.kind, Kind::Deadlock);
    let input: i64 = witness.runs[0].inputs[0].value.parse().unwrap();
    assert!(input <= 3);
    let explored = program(source)
        .explore(Algorithm::Optimal, &Options::default(), &mut quietly())
        .expect("a record");
    assert!(explored.counts.final_states == 1 && explored.counts.deadlocks > 0);
}

#[test]
fn a_witness_and_every_test_replay_with_their_inputs() {
    let source = "var a: i32[3] = 0
        process { let i = input(); if i % 2 == 0 { a[i] := 1 } else { assert i != 7 } }";
    let program = program(source);
    let mut tests = Vec::new();
    let (record, _) = program
        .explore_tests(
            Algorithm::Source,
            &Options::default(),
            &mut quietly(),
            &mut |_, test| tests.push(serde_json::to_string(test).unwrap()),
        )
        .expect("a record");
    tests.push(serde_json::to_string(&record).unwrap());
    assert!(
        record.witnesses.len() == 2 && tests.len() > 4,
        "{}",
        tests.len()
    );
    for test in tests {
        let recording = Recording::parse(&test).unwrap();
        program.replay(&recording, &Options::default()).unwrap();
    }
}

#[test]
fn a_run_takes_the_inputs_that_it_is_given() {
    let program =
        program("var x: u8 = 0 process { x := input(u8) } process { let b = input(bool) }");
    let options = Options {
        inputs: vec![("0#0".to_owned(), 200), ("1#0".to_owned(), 1)],
        ..Options::default()
    };
    let plan = Plan::Schedule("0".parse().unwrap());
    let record = program.run(&plan, &options, &mut quietly()).unwrap();
    assert_eq!(pairs(&record.run.inputs), [("0#0", "200"), ("1#0", "true")]);
    assert_eq!(pairs(&record.run.state), [("x", "200")]);
}

#[test]
fn values_that_an_input_cannot_have_are_refused() {
    let program = program(
        "var x: u8 process { x := input(u8) } process { let b = input(bool) } process { let i = input(u64) }",
    );
    let run = |name: &str, value: i128| {
        let options = Options {
            inputs: vec![(name.to_owned(), value)],
            ..Options::default()
        };
        let record = program.run(&Plan::Seed(1), &options, &mut quietly());
        record.map_err(|error| error.to_string())
    };
    for (name, value) in [("0#0", 255), ("1#0", 1), ("2#0", u64::MAX.into()), ("x", 7)] {
        assert!(run(name, value).is_ok(), "{name}={value}");
    }
    for (name, value, why) in [
        (
            "0#0",
            256,
            "`0#0` is a `u8`, so write a number from 0 to 255",
        ),
        ("0#0", -1, "a number from 0 to 255"),
        ("1#0", 2, "write true or false"),
        ("2#0", -1, "from 0 to 18446744073709551615"),
        ("x", 300, "`x` is a `u8`"),
        ("y", 1, "`y` is neither a variable without an initial value"),
    ] {
        let error = run(name, value).expect_err("it does not fit");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn initial_values_that_the_file_does_not_give_are_inputs_too() {
    let source = "var x: i32 var y: i32 = 0 requires x > 3
        process { let a = input(); if a == x { error }; y := y + x } process { y := y - 1 }";
    let program = program(source);
    let record = program
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Violated);
    let inputs = pairs(&record.witnesses[0].runs[0].inputs);
    let (x, a) = (inputs[0], inputs[1]);
    assert_eq!((x.0, a.0, x.1), ("x", "0#0", a.1));
    assert!(x.1.parse::<i32>().unwrap() > 3);
    let recording = Recording::parse(&serde_json::to_string(&record).unwrap()).unwrap();
    program.replay(&recording, &Options::default()).unwrap();
    for &algorithm in Algorithm::ALL {
        let explored = program
            .explore(algorithm, &Options::default(), &mut quietly())
            .expect("a record");
        assert!(
            explored.scope.exhaustive && explored.deterministic == Some(true),
            "{algorithm}"
        );
        assert_eq!(
            explored.counts.failures > 0,
            explored.verdict == Verdict::Violated
        );
    }
    // A run starts with the given values, which must satisfy the requirements of the program.
    let run = |x: i128| {
        let inputs = vec![("x".to_owned(), x)];
        let options = Options {
            inputs,
            ..Options::default()
        };
        program.run(&Plan::Seed(1), &options, &mut quietly())
    };
    let record = run(7).unwrap();
    assert_eq!(pairs(&record.run.state), [("x", "7"), ("y", "6")]);
    let error = run(2).expect_err("2 is not above 3").to_string();
    assert!(error.contains("break `requires x > 3`"), "{error}");
    let impossible = source.replace("x > 3", "x > 3 && x < 4");
    let impossible = Program::load("test.maz", &impossible, &[]).unwrap();
    let refused = impossible.check(&Options::default(), &mut quietly());
    assert_eq!(refused, Err(Refused::NoStart("execute")));
}

/// Two factors of a large number: the embedded solver gives up.
#[test]
fn undecided_paths_are_not_explored_and_are_a_bound() {
    let source = "var x: i64 = 0 process { let a = input(i64); let b = input(i64);
        assume a > 1 && a < 4000000000 && b > 1 && b < 4000000000;
        if a * b == 1000000016000000063 { error }; x := 1 }";
    let options = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    let record = program(source)
        .check(&options, &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Inconclusive);
    assert_eq!(record.scope.bounds, [Bound::Undecided]);
    assert_eq!((record.counts.failures, record.counts.executions), (0, 1));
    let asked = record.solver.expect("there are inputs");
    assert!(
        asked.searches > 0 && asked.queries > asked.reused,
        "{asked:?}"
    );
}

#[test]
fn a_program_lists_its_unknown_values() {
    let unknowns = |source: &str| Program::load("test.maz", source, &[]).unwrap().unknowns();
    assert_eq!(unknowns("process { let x = input() }").inputs.len(), 1);
    assert_eq!(unknowns("var x: int process { x := 1 }").initial.len(), 1);
    assert!(unknowns("process { skip }").is_empty());
}

#[test]
fn paths_may_ask_for_inputs_of_different_types() {
    let source = "var x: bool = false
        process { x := true }
        process { if x { let a = input(i8); assert a != 3 } else { let b = input(bool); assert b } }";
    let asking = program(source);
    for algorithm in [Algorithm::Naive, Algorithm::Optimal, Algorithm::Stateful] {
        let record = asking
            .explore(algorithm, &Options::default(), &mut quietly())
            .expect("a record");
        assert_eq!(record.verdict, Verdict::Violated, "{algorithm}");
        let inputs = record
            .witnesses
            .iter()
            .map(|w| w.runs[0].inputs[0].value.as_str());
        let mut inputs: Vec<&str> = inputs.collect();
        inputs.sort_unstable();
        assert_eq!(inputs, ["3", "false"], "{algorithm}");
    }
    // No list of inputs gives process 1 both an `i8` and a `bool`, so these results are not
    // compared.
    let source = "var x, y: bool = false observe y
        process { x := true }
        process { if x { let a = input(i8); y := a == 3 } else { let b = input(bool); y := b } }";
    let record = program(source)
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Inconclusive);
    assert_eq!(record.deterministic, None);
}

#[test]
fn two_runs_replay_if_only_one_asks_for_an_input() {
    let source = "var x: bool = false var y: bool = false process { x := true }
        process { if x { y := input(bool) } }";
    let asking = program(source);
    let record = asking
        .check(&Options::default(), &mut quietly())
        .expect("a record");
    let [witness] = &record.witnesses[..] else {
        panic!("{:?}", record.witnesses)
    };
    assert_eq!(witness.kind, Kind::Nondeterminism);
    let [one, other] = &witness.runs[..] else {
        panic!("{witness:?}")
    };
    assert_ne!(one.inputs.len(), other.inputs.len());
    let text = serde_json::to_string(&record).expect("a record");
    let recording = Recording::parse(&text).expect("a recording");
    let again = asking.replay(&recording, &Options::default());
    assert_eq!(again.expect("the same runs").verdict, Verdict::Violated);
}

#[test]
fn a_livelock_is_found_beside_inputs() {
    let source = "var x: int = 0 process { while x < 1 { } } process { let l = input() }";
    let asking = program(source);
    let record = asking
        .explore(Algorithm::Stateful, &Options::default(), &mut quietly())
        .expect("a record");
    assert_eq!(record.verdict, Verdict::Violated);
    assert_eq!(record.witnesses[0].kind, Kind::Livelock);
}

/// An interrupt ends the current query. Its condition must not count as impossible.
#[test]
fn an_interrupted_solver_verifies_nothing() {
    let source = "var x, y: u8 process { assert x * y != 143 }";
    let program = Program::load("interrupted.maz", source, &[]).unwrap();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let options = Options {
        solver: mazurka::solving::Solving {
            stop: Some(stop),
            ..SolverChoice::Embedded.into()
        },
        ..Options::default()
    };
    let watch = &mut quietly();
    let net = mazurka::unfold::Unfold {
        kind: mazurka::unfold::NetKind::Contextual,
        seed: 0,
    };
    let records = [
        program.check(&options, watch).unwrap(),
        program
            .explore(Algorithm::Optimal, &options, watch)
            .unwrap(),
        program.unfold(net, &options, watch).unwrap().record,
        program
            .walk_states(
                mazurka::unfold::WalkStates {
                    seed: 0,
                    sleep: false,
                },
                &options,
                watch,
            )
            .unwrap()
            .record,
        program
            .symbolic(
                &mazurka::symbolic::SymbolicOptions::default(),
                &options,
                watch,
            )
            .unwrap()
            .record,
    ];
    for record in records {
        assert_eq!(record.verdict, Verdict::Inconclusive, "{record:?}");
        assert!(!record.scope.exhaustive, "{record:?}");
        assert!(
            record.scope.bounds.contains(&Bound::Interrupted),
            "{record:?}"
        );
    }
}

#[test]
fn only_naive_counts_looks_at_a_process_that_has_not_ended() {
    let source = "var x, z: int  process { spawn { x := 0 } z != 0 |> join }";
    let program = Program::load("looks.maz", source, &[]).expect("a program");
    let options = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    for &algorithm in Algorithm::ALL {
        let record = program.explore(algorithm, &options, &mut quietly());
        let counts = record.expect("a record").counts;
        assert_eq!(
            (counts.deadlocks, counts.final_states),
            (1, 1),
            "{algorithm}"
        );
        let traces = match algorithm {
            Algorithm::Naive => Some(3),
            other => other.stateless().map(|_| 2),
        };
        assert_eq!(counts.traces, traces, "{algorithm}");
    }
}

#[test]
fn a_net_refuses_the_choices_of_other_paths() {
    let source = include_str!("../../../../corpus/maz/found-choice-of-another-path/program.maz");
    let program = Program::load("choices.maz", source, &[]).expect("a program");
    let options = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    let kind = mazurka::unfold::NetKind::Replicated;
    for seed in 0..2 {
        let wanted = mazurka::unfold::Unfold { kind, seed };
        let net = program.unfold(wanted, &options, &mut quietly());
        let counts = net.expect("a net").record.counts;
        assert_eq!((counts.deadlocks, counts.failures), (504, 254));
    }
}

#[test]
fn a_net_has_no_deadlock_beside_an_end_that_comes_late() {
    let source = "var x, y: bool  process { spawn { x := false } y |> join }  process { y := y }";
    let program = Program::load("late.maz", source, &[]).expect("a program");
    let options = Options {
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    };
    for &kind in mazurka::unfold::NetKind::ALL {
        for seed in 0..8 {
            let wanted = mazurka::unfold::Unfold { kind, seed };
            let net = program
                .unfold(wanted, &options, &mut quietly())
                .expect("a net");
            let witness = &net.record.witnesses[0];
            assert_eq!(net.record.verdict, Verdict::Violated);
            assert_eq!(witness.kind, Kind::Deadlock);
        }
    }
}
