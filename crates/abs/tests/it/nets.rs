//! Tests that a net of an actor program represents exactly the traces of the program, whatever the
//! order of the tests from which it is built.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::{code, corpus};
use crate::random::{number, program_of};
use mazurka_abs::{Machine, NoNet, Settings, load};
use mazurka_core::{Execution, Fingerprint, Limits, Random, Status, TraceHasher, with_status};
use mazurka_explore::{Algorithm, Goal, NetKind, Observer, Search, Unfold, Unfolding, WalkStates};

/// The maximal number of interleavings.
const MOST_EXECUTIONS: u64 = 5_000;

/// The results of complete runs.
#[derive(Debug, Default, PartialEq, Eq)]
struct RunResults {
    runs: u64,
    traces: BTreeSet<Fingerprint>,
    deadlocks: BTreeSet<Fingerprint>,
    /// Failing events, each with its past.
    failures: BTreeSet<Fingerprint>,
    /// The sites of failures.
    sites: BTreeSet<u32>,
    finals: BTreeSet<Fingerprint>,
}

impl RunResults {
    fn add(&mut self, program: &Machine) {
        let mut hasher = TraceHasher::new();
        for (at, event) in program.events().iter().enumerate() {
            hasher.push(event, program.processes());
            for mishap in &event.mishaps {
                self.failures.insert(hasher.event(at));
                self.sites.insert(mishap.site);
            }
        }
        self.runs += 1;
        self.traces.insert(hasher.trace());
        if program.is_final() {
            self.finals.insert(program.observation());
        }
        let any = |status| !with_status(program, status).is_empty();
        if any(Status::Waiting) && !any(Status::Failed) {
            self.deadlocks.insert(hasher.trace());
        }
    }
}

impl Observer<Machine> for RunResults {
    fn complete(&mut self, program: &Machine) {
        self.add(program);
    }
}

/// Returns the results of brute force, or `None` if there are too many runs.
fn truth(program: &mut Machine) -> Option<RunResults> {
    let naive = Search {
        algorithm: Algorithm::Naive,
        limits: Limits {
            executions: Some(MOST_EXECUTIONS),
            steps: Some(20 * MOST_EXECUTIONS),
            ..Limits::default()
        },
        goal: Goal::Everything,
    };
    let mut shown = RunResults::default();
    let found = naive.run(program, &mut |_| ControlFlow::Continue(()), &mut shown);
    program.back_to(0);
    found.bounds.is_empty().then_some(shown)
}

fn for_nets(source: &str, set: &[(&str, &str)]) -> Machine {
    Machine::for_nets(code(source, set), 1_000_000).expect("a program that has nets")
}

fn net_of(program: &mut Machine, kind: NetKind, seed: u64) -> Unfolding {
    let unfold = Search {
        algorithm: Unfold { kind, seed },
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    unfold.run(program, &mut |_| ControlFlow::Continue(()), &mut ())
}

/// Runs the executions that a net represents and returns their results. Executions of a stateful
/// net may be cut; such executions have no results.
fn represented(what: &str, program: &mut Machine, net: &mut Unfolding) -> RunResults {
    let mut shown = RunResults::default();
    for schedule in net.executions(100_000).expect("a small net") {
        program.back_to(0);
        for step in &schedule.0 {
            let process = program.processes().find(&step.process).expect("a process");
            let made = program.step(process, &step.outcomes);
            assert!(made.is_ok(), "{what}: {schedule} is not a run");
        }
        if with_status(program, Status::Ready).is_empty() {
            shown.add(program);
        }
    }
    shown
}

/// Compares the nets of a program with brute force. Returns the numbers of traces and of tests of
/// each net, or `None` if there are too many traces.
fn compare(what: &str, source: &str, set: &[(&str, &str)]) -> Option<(usize, [u64; 3])> {
    let mut program = for_nets(source, set);
    let truth = truth(&mut program)?;
    if program.has_net().is_err() {
        // An object dies in some run, and the machine of every net must detect this.
        for &kind in NetKind::ALL {
            let mut dies = for_nets(source, set);
            net_of(&mut dies, kind, 1);
            assert!(dies.has_net().is_err(), "{what}, {kind} net");
        }
        return None;
    }
    // An explorer distinguishes the objects of a cog. In some programs a net does not.
    let mut explored = Machine::new(code(source, set), 1_000_000);
    let explored = self::truth(&mut explored)?;
    assert_eq!(explored.finals, truth.finals, "{what}");
    // In an explorer, steps are also ordered because an object might die.
    let fewer = explored.traces.len() < truth.traces.len();
    assert!(!fewer || source.contains("new local"), "{what}");
    let mut tests = [0; 3];
    for (at, &kind) in NetKind::ALL.iter().enumerate() {
        let what = format!("{what}, {kind} net");
        let mut net = net_of(&mut for_nets(source, set), kind, 1);
        assert!(net.found.bounds.is_empty(), "{what}");
        let shown = represented(&what, &mut program, &mut net);
        let counts = net.found.counts;
        tests[at] = counts.executions;
        assert_eq!(shown.finals, truth.finals, "{what}");
        if kind == NetKind::Stateful {
            let site = |failure: &mazurka_explore::Finding| failure.mishap.map(|m| m.site);
            let sites: BTreeSet<u32> = net.found.failures.iter().filter_map(site).collect();
            assert_eq!(sites, truth.sites, "{what}");
            let stuck = counts.deadlocks > 0;
            assert_eq!(stuck, !truth.deadlocks.is_empty(), "{what}");
            let walk = Search {
                algorithm: WalkStates {
                    seed: 3,
                    sleep: false,
                },
                limits: Limits::default(),
                goal: Goal::Everything,
            };
            let on = &mut |_: &_| ControlFlow::Continue(());
            let walked = walk.run(&mut for_nets(source, set), on, &mut ());
            assert_eq!(walked.found.counts.deadlocks, counts.deadlocks, "{what}");
            continue;
        }
        assert_eq!(shown.traces, truth.traces, "{what}");
        assert_eq!(shown.deadlocks, truth.deadlocks, "{what}");
        assert_eq!(shown.failures, truth.failures, "{what}");
        assert_eq!(shown.runs, truth.traces.len() as u64, "{what}");
        assert_eq!(counts.deadlocks, truth.deadlocks.len() as u64, "{what}");
        assert!(counts.executions <= shown.runs, "{what}: {counts:?}");
        assert_eq!(net.found.failures.is_empty(), truth.failures.is_empty());
        let again = net_of(&mut for_nets(source, set), kind, 2);
        assert_eq!(again.fingerprint(), net.fingerprint(), "{what}");
    }
    Some((truth.traces.len(), tests))
}

/// Returns a variant of a program: it calls `random` instead of printing a field, and classes with
/// a helper create a new helper in their cog instead of suspending.
fn varied(source: &str) -> String {
    let classes = source.split_inclusive("\n}\n").map(|class| {
        let class = class.replace("println(toString(f0));", "f0 = random(2);");
        if class.contains("I helper") {
            class.replace("suspend;", "helper = new local C0(peer);")
        } else {
            class
        }
    });
    classes.collect()
}

/// More programs: `MAZURKA_PROGRAMS=10000 cargo test --release -p mazurka-abs --test it nets::`.
#[test]
fn nets_of_random_programs() {
    let programs = number("MAZURKA_PROGRAMS", 300);
    let seed = number("MAZURKA_SEED", 1);
    let (mut compared, mut traces, mut tests) = (0, 0, [0; 3]);
    for program in seed..seed + programs {
        let source = program_of(program);
        for source in [varied(&source), source] {
            let what = format!("program {program}\n{source}");
            if let Some((all, run)) = compare(&what, &source, &[]) {
                compared += 1;
                traces += all as u64;
                for (sum, run) in tests.iter_mut().zip(run) {
                    *sum += run;
                }
            }
        }
    }
    let programs = 2 * programs;
    println!("{compared} of {programs} compared: {traces} traces, {tests:?} tests");
    assert!(compared * 3 > programs, "most programs were too large");
    assert!(tests[1] < traces, "{tests:?} {traces}");
}

/// The order in which tests create objects is not part of a net.
#[test]
fn cells_may_be_numbered_otherwise() {
    let source = program_of(13_263);
    assert!(compare("program 13263", &source, &[]).is_some());
}

#[test]
fn nets_of_the_corpus() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("producer-consumer", &[("n", "2")]),
        ("pi", &[("workers", "3")]),
        ("registration", &[("clients", "2")]),
        ("psort", &[("n", "2")]),
        ("fib", &[("n", "2")]),
        ("philosophers", &[("seats", "2")]),
        ("boolean-await", &[]),
    ];
    for (name, set) in cases {
        let (traces, tests) = compare(name, &corpus(name), set).expect("a small program");
        println!("{name} {set:?}: {traces} traces, {tests:?} tests");
    }
}

/// Features that random programs do not have.
#[test]
fn nets_of_programs_with_everything_else() {
    let cases = [
        (
            "an object of the cog that is created while a task waits to call it",
            "module M;
            interface I { Unit make(); Unit use(); Int n(); Unit set(Int x); }
            class C implements I {
                I other = null; Int x = 0;
                Unit make() { other = new local C(); other.set(1); }
                Unit use() { if (other != null) { Int y = other.n(); other.set(y + 1); } }
                Int n() { return x; }
                Unit set(Int y) { x = y; }
            }
            { I c = new C(); c!use(); c!make(); c!use(); }",
        ),
        (
            "a future that is null",
            "module M;
            interface I { Int m(); Unit w(Fut<Int> f, Fut<Int> g); Unit one(Fut<Int> f); }
            class C implements I {
                Int x = 0;
                Int m() { x = x + 1; return x; }
                Unit w(Fut<Int> f, Fut<Int> g) { await f? & g?; x = 7; }
                Unit one(Fut<Int> f) { await f?; x = 9; }
            }
            { I c = new C(); I d = new C(); Fut<Int> f = d!m(); Fut<Int> no = null;
              c!w(no, f); c!w(f, no); c!one(no); c!m(); }",
        ),
        (
            "futures that are handed on, and a result that depends on the order",
            "module M;
            interface I { Int m(Int y); Int w(List<Fut<Int>> fs); }
            class C implements I {
                Int x = 0;
                Int m(Int y) { x = x + y; return x; }
                Int w(List<Fut<Int>> fs) {
                    Fut<Int> f = head(fs); await f? & x >= 0; Int r = f.get; x = x * r; return r; }
            }
            { I c = new C(); I d = new C();
              Fut<Int> f = c!m(1); Fut<Int> g = c!m(2); Fut<Int> h = d!w(list[f]);
              Fut<Int> k = d!w(list[g, h]); await h?; Int r = k.get; println(toString(r)); }",
        ),
        (
            "a task that fails and is waited for",
            "module M;
            interface I { Int m(Int y); Unit w(Fut<Int> f); }
            class C implements I {
                Int x = 0;
                Int m(Int y) { x = x + y; assert x < 2; return x; }
                Unit w(Fut<Int> f) { await f?; x = x + 10; }
            }
            { I c = new C(); I d = new C(); Fut<Int> f = c!m(1); Fut<Int> g = c!m(1);
              d!w(f); d!w(g); }",
        ),
        (
            "chance",
            "module M;
            interface I { Int m(); Unit w(Fut<Int> f); }
            class C implements I {
                Int x = 0;
                Int m() { Int k = random(3); x = x + k; return k; }
                Unit w(Fut<Int> f) { Int r = f.get; if (r > 1) { assert x < 4; } x = r; }
            }
            { I c = new C(); I d = new C(); Fut<Int> f = c!m(); c!m(); c!w(f); d!w(f); }",
        ),
        (
            "a deadlock of two cogs that hold each other",
            "module M;
            interface I { Int m(I o); Int n(); }
            class C implements I {
                Int m(I o) { Fut<Int> f = o!n(); Int r = f.get; return r; }
                Int n() { return 1; }
            }
            { I c = new C(); I d = new C(); c!m(d); d!m(c); }",
        ),
    ];
    let mut dying = Vec::new();
    for (what, source) in cases {
        match compare(what, source, &[]) {
            Some((traces, tests)) => println!("{what}: {traces} traces, {tests:?} tests"),
            None => dying.push(what),
        }
    }
    let expected = [
        "a future that is null",
        "a task that fails and is waited for",
        "chance",
    ];
    assert_eq!(dying, expected, "objects die in these");
}

/// Only one object's scheduling varies, so each step depends on all others.
#[test]
fn a_net_of_one_object() {
    let settings = Settings {
        object: Some("C1".to_owned()),
        ..Settings::default()
    };
    let source = "module M;
        interface I { Int m(Int y); }
        class C implements I { Int x = 0; Int m(Int y) { x = 2 * x + y; return x; } }
        { I c = new C(); Fut<Int> f = c!m(1); c!m(2); await f?; c!m(3); }";
    let code = Arc::new(load(source, &settings).expect("a program"));
    let machine = || Machine::for_nets(Arc::clone(&code), 1_000).expect("a program that has nets");
    let truth = truth(&mut machine()).expect("a small program");
    for &kind in NetKind::ALL {
        let mut net = net_of(&mut machine(), kind, 1);
        let shown = represented("one object", &mut machine(), &mut net);
        assert_eq!(shown.finals, truth.finals, "{kind}");
    }
}

#[test]
fn a_guard_over_a_future_in_a_field_has_no_net() {
    let source = "module M;
        interface I { Int m(); Unit w(); }
        class C implements I {
            Fut<Int> f = null; Int x = 0;
            Int m() { return 1; }
            Unit w() { f = this!m(); await x == 0 & f?; }
        }
        { I c = new C(); c!w(); c!w(); }";
    let refused = Machine::for_nets(code(source, &[]), 1_000).map(drop);
    assert_eq!(refused, Err(NoNet::MovingGuard(6)));
}

/// Returns a random program whose tasks pass futures on and wait for futures of others.
pub fn program_of_futures(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut body = String::new();
    for at in 0..2 + random.below(3) {
        let line = match random.below(10) {
            0 => "x = x + 1;".to_owned(),
            1 => "x = 2 * x;".to_owned(),
            2 => format!("if (fs != Nil) {{ Fut<Int> f{at} = head(fs); await f{at}?; }}"),
            3 => format!("if (fs != Nil) {{ Fut<Int> f{at} = head(fs); x = f{at}.get; }}"),
            4 => format!(
                "if (d > 0) {{ Fut<Int> g{at} = this!w(fs, d - 1); await g{at}? & x < 3; }}"
            ),
            5 => format!(
                "if (d > 0) {{ Fut<Int> g{at} = this!w(fs, d - 1); this.hand(g{at}, fs); }}"
            ),
            6 => "await x > 0;".to_owned(),
            7 => format!(
                "if (length(fs) > 1) {{ Fut<Int> f{at} = nth(fs, 1); await x != 1 & f{at}?; }}"
            ),
            8 => "if (d > 0 && peer != null) { peer!w(fs, d - 1); }".to_owned(),
            _ => "assert x < 3;".to_owned(),
        };
        body += &format!("    {line}\n");
    }
    let first = ["a", "b"][random.below(2) as usize];
    let depth = random.below(2);
    format!(
        "module M;
interface I {{ Int w(List<Fut<Int>> fs, Int d); Int n(); }}
class C(I peer) implements I {{
  Int x = {};
  Unit hand(Fut<Int> f, List<Fut<Int>> fs) {{ if (peer != null) {{ peer!w(Cons(f, fs), 0); }} }}
  Int n() {{ x = x + 1; return x; }}
  Int w(List<Fut<Int>> fs, Int d) {{
{body}    return x;
  }}
}}
{{
  I a = new C(null); I b = new C(a);
  Fut<Int> f = {first}!n(); Fut<Int> g = b!w(list[f], {depth}); a!w(list[g, f], 0);
}}
",
        random.below(2)
    )
}

#[test]
fn nets_of_programs_that_hand_futures_on() {
    let programs = number("MAZURKA_PROGRAMS", 150);
    let seed = number("MAZURKA_SEED", 1);
    let (mut compared, mut traces) = (0, 0);
    for program in seed..seed + programs {
        let source = program_of_futures(program);
        let what = format!("program {program}\n{source}");
        if let Some((all, _)) = compare(&what, &source, &[]) {
            compared += 1;
            traces += all as u64;
        }
    }
    println!("{compared} of {programs} compared: {traces} traces");
    assert!(compared * 3 > programs, "most programs were too large");
    assert!(traces > 2 * compared, "the programs are too tame");
}
