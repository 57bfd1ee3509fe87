//! The reference Source-DPOR finds what brute force finds.

use crate::common::programs;
use mazurka_explore::{Goal, Search, Stateless};
use mazurka_testkit::planted::{Switches, source};
use mazurka_testkit::{
    Config, Dependence, Hunt, Limit, Recording, WrongProgram, disagreement, generate, hunt,
    machine, naive,
};

fn agrees(first: u64, programs: u64, config: Config) {
    let where_to_look = Hunt {
        first,
        programs,
        config,
        ..Hunt::default()
    };
    if let Some(WrongProgram {
        seed,
        shrunk,
        difference,
        ..
    }) = hunt(&where_to_look, |machine| {
        source(machine, Switches::default())
    }) {
        panic!("seed {seed}: {difference}\n{shrunk}");
    }
}

#[test]
fn agrees_with_brute_force() {
    agrees(0, programs(1_000), Config::default());
}

#[test]
fn agrees_with_brute_force_where_nothing_fails() {
    let config = Config {
        choose: false,
        ..Config::default().without_mishaps()
    };
    agrees(50_000, programs(500), config);
}

/// Run with `cargo test --release -p mazurka-testkit -- --ignored`; `MAZURKA_PROGRAMS=n` for more.
#[test]
#[ignore = "takes minutes"]
fn agrees_with_brute_force_for_long() {
    agrees(1_000_000, programs(20_000), Config::default());
}

#[test]
fn agrees_on_the_errata() {
    let programs = [
        // E1
        "var x, y, l: int = 0 process { x := 1 } process { y := x } process { l := x; y := 1 }",
        // E2
        "var a, b, c: int = 0
         process { a := 0 }
         process { c := 0; atomic { if b == 0 { b := 1 } } }
         process { atomic { if b == 0 { a := 1 } } }",
        "var a: int[2] = 0 var i, l: int = 0
         process { l := a[0]; a[i] := 1 }
         process { a[1] := 0; i := 1 }
         process { a[0] := a[0] }",
        // E3, and a guard that closes and opens again
        "var x: int = 0 process { x := 1 } process { x == 0 |> x := 0 }",
        "var x, y: int = 0 process { x := 1; x := 0 } process { x == 0 |> y := 1 }",
        "lock m, n process { lock(m); lock(n) } process { lock(n); lock(m) }",
        // A step that claims a lock and does not acquire it
        "lock m process { lock(m); unlock(m) } process { let l = false; lock(m) <| l |> skip }",
        // An unlock that fails, before or after the other process takes the lock
        "lock m process { unlock(m) } process { lock(m) }",
        // E8
        "var i, y: int = 0 process { i < 1 |>* i := i + 1; y := 1 } process { i := 5 }",
        // E12
        "var x: int = 0 process { if x == 1 { error } } process { x := 1; error }",
    ];
    for text in programs {
        let found = disagreement(text, |machine| source(machine, Switches::default()));
        assert_eq!(found, None, "{text}");
        // The program must have been compared.
        assert!(machine(text).is_ok(), "{:?}", machine(text).err());
    }
}

#[test]
fn the_counts_of_the_driver_are_those_of_the_sets() {
    for seed in 0..300 {
        let text = generate(seed, &Config::default()).to_string();
        let mut program = machine(&text).unwrap();
        let Ok(truth) = naive(&mut program, Limit::default(), Dependence::Claimed) else {
            continue;
        };
        let mut recording = Recording::default();
        let search = Search {
            algorithm: Stateless::Naive,
            limits: mazurka_core::Limits::default(),
            goal: Goal::Everything,
        };
        let watch = &mut |_: &_| std::ops::ControlFlow::Continue(());
        let found = search.run(&mut program, watch, &mut recording);
        assert_eq!(recording.finish(), truth, "{text}");
        let counts = found.counts;
        assert_eq!(counts.executions, truth.executions, "{text}");
        assert_eq!(counts.discarded, truth.discarded, "{text}");
        assert_eq!(counts.traces, Some(truth.traces.len() as u64), "{text}");
        assert_eq!(counts.deadlocks, truth.deadlocks.len() as u64, "{text}");
        assert_eq!(
            counts.final_states,
            truth.final_states.len() as u64,
            "{text}"
        );
        assert_eq!(counts.failures, truth.failures.len() as u64, "{text}");
    }
}
