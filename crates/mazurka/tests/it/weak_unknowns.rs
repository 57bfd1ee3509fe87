//! Tests programs with unknown values under weak memory models.

use mazurka::record::Kind;
use mazurka::replay::Recording;
use mazurka::run::Plan;
use mazurka::weak::Memory;
use mazurka::{Algorithm, Options, Program, Refused, Verdict, quietly};
use mazurka_explore::{Method, Sample};

fn options() -> Options {
    Options {
        memory: Some(Memory::Rc11),
        ..Options::default()
    }
}

fn load(source: &str) -> Program {
    Program::load("unknown.maz", source, &[]).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Returns a program with a message whose value is an input, and a flag that publishes it.
fn message(store: &str, load: &str, claim: &str) -> String {
    format!(
        "atomicity access
         var data, flag: atomic int = 0
         process {{ let v = input(u8); let w: int = 0; if v > 9 {{ w := 2 }} else {{ w := 1 }}; \
                    data.store(w, relaxed); flag.store(1, {store}) }}
         process {{ if flag.load({load}) == 1 {{ let d = data.load(relaxed); assert {claim} }} }}"
    )
}

#[test]
fn failures_have_values_and_replay() {
    // Only a large input violates the claim, whatever the orders are.
    let program = load(&message("release", "acquire", "d == 1"));
    let record = program.check(&options(), &mut quietly()).unwrap();
    assert_eq!(record.verdict, Verdict::Violated);
    let inputs = record.witnesses[0].inputs();
    let value: u32 = inputs[0].value.parse().unwrap();
    assert!(value > 9 && inputs[0].name == "0#0", "{inputs:?}");
    let recording = Recording::parse(&serde_json::to_string(&record).unwrap()).unwrap();
    let again = program.replay(&recording, &Options::default()).unwrap();
    assert_eq!(again.witnesses.len(), 1);
    // The schedule does not contain the inputs. The run of the schedule with these inputs fails
    // again.
    let schedule = record.witnesses[0].runs[0].schedule.parse().unwrap();
    let given = Options {
        inputs: vec![("0#0".to_owned(), i128::from(value))],
        ..options()
    };
    let run = program.run(&Plan::Schedule(schedule), &given, &mut quietly());
    assert_eq!(run.unwrap().record.verdict, Verdict::Violated);
}

#[test]
fn orders_decide_for_all_values() {
    let check = |store, load_order| {
        let program = load(&message(store, load_order, "d > 0"));
        program.check(&options(), &mut quietly()).unwrap().verdict
    };
    assert_eq!(check("release", "acquire"), Verdict::Verified);
    assert_eq!(check("relaxed", "acquire"), Verdict::Violated);
    assert_eq!(check("release", "relaxed"), Verdict::Violated);
}

/// The flag is read before or after it is set, on each side of the condition. With release and
/// acquire, only the message can be read after the flag is set.
#[test]
fn executions_are_graphs_and_paths_through_conditions() {
    let program = load(&message("release", "acquire", "d > 0"));
    let explored = program.explore(Algorithm::Optimal, &options(), &mut quietly());
    let record = explored.unwrap();
    assert_eq!((record.counts.executions, record.counts.blocked), (4, 0));
    assert!(record.scope.exhaustive);
}

#[test]
fn initial_values_satisfy_requires() {
    let source = |claim: &str| {
        format!(
            "atomicity access
             var x: atomic int
             requires 3 <= x && x <= 5
             ensures {claim}
             process {{ x.fetch_add(1, relaxed) }}
             process {{ x.fetch_add(1, relaxed) }}"
        )
    };
    let check = |claim| {
        let program = load(&source(claim));
        program.check(&options(), &mut quietly()).unwrap()
    };
    assert_eq!(check("5 <= x && x <= 7").verdict, Verdict::Verified);
    let violated = check("x < 7");
    assert_eq!(violated.verdict, Verdict::Violated);
    assert_eq!(violated.witnesses[0].inputs()[0].value, "5");
}

#[test]
fn an_assumption_belongs_to_the_access_before_it() {
    // The assumption belongs to the step of the store that the second process reads. It is false
    // for most values.
    let program = load(
        "atomicity access
         var x: atomic int = 0
         process { x.store(1, release); let v = input(int); assume v == 7 }
         process { let r = x.load(acquire); assert r == 0 }",
    );
    let record = program.check(&options(), &mut quietly()).unwrap();
    assert_eq!(record.verdict, Verdict::Violated);
    assert_eq!(record.witnesses[0].inputs()[0].value, "7");
}

/// A step that decides a condition in addition to its access is rejected, whatever comes after it.
#[test]
fn steps_that_decide_beside_their_access_are_refused() {
    for processes in [
        "process { atomic { if n > 1 { n := 3 } }; let r = n; assert r <= 1 }",
        "process { let c = n.compare_exchange(7, 8); let r = n; assert r != 7 }",
        "process { let k = n; select { k > 1 |> x := 1 [] k <= 1 |> x := 2 }; assert k <= 1 }",
        "process { a[n] := 1; let r = a[0]; assert r == 0 }",
        "process { await n.load(relaxed) > 1; assert false }",
        "process { await x == 1 } process { await n > 1; x := 1 }",
        "process { n > 1 |> n := n - 1 }",
        "process { let k = n; await k > 1; x := 1 }",
    ] {
        let program = load(&format!(
            "atomicity access
             allows nondeterminism
             var x: atomic int = 0
             var n: atomic int
             var a: atomic int[2] = 0
             {processes}"
        ));
        let mut options = options();
        options.limits.depth = Some(100);
        let refused = program.check(&options, &mut quietly()).unwrap_err();
        let sampled = program.explore(
            Algorithm::Sample(Sample {
                method: Method::Random,
                seed: 0,
            }),
            &options,
            &mut quietly(),
        );
        for refused in [refused.to_string(), sampled.unwrap_err().to_string()] {
            assert!(
                refused.contains("line 6: this step does several things"),
                "{processes}: {refused}"
            );
            assert!(refused.contains("a value that is not known"), "{refused}");
        }
    }
}

/// Waiting for a known value decides nothing, even directly after a decision.
#[test]
fn waiting_for_known_values_is_not_refused() {
    let program = load(
        "atomicity access
         var x: atomic int = 0
         var n: atomic int
         ensures x == 1
         process { let k = n; if k > 1 { skip } else { skip }; await x == 1 }
         process { let k = n; if k > 5 { x := 1 } else { x := 1 } }",
    );
    let record = program.check(&options(), &mut quietly()).unwrap();
    assert_eq!(record.verdict, Verdict::Verified);
}

#[test]
fn failures_come_before_deadlocks() {
    let program = load(
        "atomicity access
         var x: atomic int = 0
         var n: atomic int
         ensures true
         process { let c = x.compare_exchange(0, 1); let k = n; if k > 0 { x := 2 } }
         process { await x == 2; assert false }",
    );
    for keep_going in [false, true] {
        let options = Options {
            keep_going,
            ..options()
        };
        let record = program.check(&options, &mut quietly()).unwrap();
        let kinds: Vec<_> = record.witnesses.iter().map(|it| it.kind).collect();
        assert_eq!(kinds, [Kind::Failure, Kind::Deadlock]);
    }
}

/// Final states are counted as different terms, as for interleavings.
#[test]
fn final_states_are_counted_as_terms() {
    for (process, states) in [
        ("process { let k = n; x := k }", 1),
        ("process { let k = n; x := k } process { x := 3 }", 2),
        (
            "process { let k = n; if k > 1 { x := k } else { x := 1 } }",
            2,
        ),
    ] {
        let program = load(&format!(
            "atomicity access  var x: atomic int = 0  var n: atomic int  ensures true {process}"
        ));
        let counted = |options: &Options| {
            let record = program.explore(Algorithm::Optimal, options, &mut quietly());
            record.unwrap().counts.final_states
        };
        assert_eq!(counted(&Options::default()), states, "{process}");
        assert_eq!(counted(&options()), states, "{process}");
    }
}

#[test]
fn orders_need_all_values() {
    let orders = load(&message("release", "acquire", "d > 0")).orders(&options(), &mut quietly());
    assert_eq!(orders.unwrap_err(), Refused::WeakUnknowns);
}
