//! Every planted defect is caught, by a small program. E1, E2, E3 and E12 are errata in
//! docs/algorithms.md.

use mazurka_lang::Machine;
use mazurka_testkit::planted::{Switches, context, forgets_idle, idle_in_first_run, source};
use mazurka_testkit::{Aspect, Config, Dependence, Hunt, Summary, disagreement, hunt};

fn caught(name: &str, settings: &Hunt, engine: impl Fn(&mut Machine) -> Summary) {
    let Some(found) = hunt(settings, engine) else {
        panic!("{name}: not caught within {} programs", settings.programs);
    };
    println!(
        "{name}: caught after {} programs: {}",
        found.after, found.difference
    );
    println!("{}", found.shrunk);
    let lines = found.shrunk.to_string().lines().count();
    assert!(lines <= 12, "{name}: {lines} lines left");
    assert!(
        !found.difference.is_empty(),
        "{name}: the small program does not fail"
    );
}

fn with(switches: Switches) -> impl Fn(&mut Machine) -> Summary {
    move |machine| source(machine, switches)
}

#[test]
fn context_as_printed_is_caught() {
    // This engine merges traces, so traces are not compared; and it was designed for programs that
    // never wait.
    let settings = Hunt {
        aspects: &[Aspect::FinalStates],
        config: Config {
            interleavings: 200.0,
            ..Config::plain()
        },
        ..Hunt::default()
    };
    caught("E1", &settings, context);
}

#[test]
fn context_as_printed_loses_a_final_state_of_the_erratum() {
    let text =
        "var x, y, l: int = 0 process { x := 1 } process { y := x } process { l := x; y := 1 }";
    let mut program = mazurka_testkit::machine(text).unwrap();
    assert_eq!(context(&mut program).final_states.len(), 2);
    assert_eq!(
        source(&mut program, Switches::default()).final_states.len(),
        3
    );
}

#[test]
fn dependence_by_what_was_touched_is_caught() {
    // The engine is compared with brute force under its own dependence relation, which has fewer
    // traces. The programs are those where the relation matters: steps have several paths, and
    // nothing waits.
    let settings = Hunt {
        dependence: Dependence::Touched,
        config: Config {
            choices: true,
            atomic: true,
            branches: true,
            arrays: true,
            ..Config::plain()
        },
        ..Hunt::default()
    };
    let switches = Switches {
        really_touched: true,
        ..Switches::default()
    };
    caught("E2", &settings, with(switches));
}

#[test]
fn ignoring_pending_guards_is_caught() {
    let switches = Switches {
        ignore_pending_guards: true,
        ..Switches::default()
    };
    caught("E3", &Hunt::default(), with(switches));
}

#[test]
fn ignoring_pending_locks_is_caught() {
    let switches = Switches {
        ignore_pending_locks: true,
        ..Switches::default()
    };
    caught("no pending locks", &Hunt::default(), with(switches));
}

#[test]
fn checking_only_the_last_writer_is_caught() {
    let switches = Switches {
        only_last_writer: true,
        ..Switches::default()
    };
    caught("only the last writer", &Hunt::default(), with(switches));
}

#[test]
fn checking_pending_steps_only_at_ends_is_caught() {
    let switches = Switches {
        pending_only_at_ends: true,
        ..Switches::default()
    };
    caught("pending only at ends", &Hunt::default(), with(switches));
}

#[test]
fn stopping_at_a_mishap_is_caught() {
    // This engine cuts traces on purpose, so traces are not compared; another result must be wrong.
    let settings = Hunt {
        aspects: &[Aspect::Deadlocks, Aspect::Failures, Aspect::FinalStates],
        ..Hunt::default()
    };
    let switches = Switches {
        stop_at_mishap: true,
        ..Switches::default()
    };
    caught("E12", &settings, with(switches));
}

#[test]
fn leaving_out_processes_idle_in_the_first_run_is_caught() {
    let text = "var y: int = 5
        process { let q = y; spawn { if q <= 3 { y := 0; error } } }
        process { y := 0 }";
    let mut program = mazurka_testkit::machine(text).unwrap();
    let idle = idle_in_first_run(&mut program);
    assert_eq!(idle.len(), 1);
    assert!(forgets_idle(&mut program, &idle).failures.is_empty());
    let right = source(&mut program, Switches::default());
    assert_eq!(right.failures.len(), 1);
}

#[test]
fn each_defect_is_off_by_default() {
    let text = "var x: int = 0 lock m, n
        process { lock(m); lock(n); x := 1 }
        process { lock(n); lock(m); x == 0 |> x := 2 }
        process { assert x != 2 }";
    assert_eq!(disagreement(text, with(Switches::default())), None);
}
