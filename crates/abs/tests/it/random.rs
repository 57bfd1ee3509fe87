//! Tests random actor programs: every engine must find what brute force finds.
//!
//! A few hundred programs run with the other tests. For more:
//! `MAZURKA_PROGRAMS=10000 cargo test --release -p mazurka-abs --test it random::`; `MAZURKA_SEED`
//! sets the first seed.

use std::fmt::Write;

use crate::common::{explore, machine};
use mazurka_core::Limits;
use mazurka_explore::Algorithm;

/// The maximal number of interleavings.
const MOST_EXECUTIONS: u64 = 20_000;

/// A small random number generator: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

const FIELDS: u64 = 2;
const METHODS: u64 = 3;

struct Generator {
    random: Random,
    text: String,
    /// The number of variables for futures.
    futures: u64,
    numbers: u64,
    helper: bool,
    /// Whether statements take time or read it.
    timed: bool,
}

impl Generator {
    fn field(&mut self) -> String {
        format!("f{}", self.random.below(FIELDS))
    }

    fn expr(&mut self) -> String {
        match self.random.below(5) {
            0 => self.random.below(3).to_string(),
            1 => "x".to_owned(),
            2 => self.field(),
            3 => format!("{} + 1", self.field()),
            _ => format!("{} + {}", self.field(), self.field()),
        }
    }

    fn condition(&mut self) -> String {
        let operator = ["<", ">", "==", "!="][self.random.below(4) as usize];
        format!("{} {operator} {}", self.field(), self.random.below(3))
    }

    /// Returns an object to call: the peer, the object itself, or a helper in the same cog.
    fn object(&mut self) -> &'static str {
        match self.random.below(6) {
            0 => "this",
            1 if self.helper => "helper",
            _ => "peer",
        }
    }

    /// Returns a condition for a call, so that calls end and are rarely made on `null`.
    fn may_call(&mut self) -> &'static str {
        if self.random.one_in(8) {
            "if (d > 0)"
        } else {
            "if (d > 0 && peer != null)"
        }
    }

    fn call(&mut self, sign: &str) -> String {
        let object = self.object();
        format!(
            "{object}{sign}m{}(d - 1, {})",
            self.random.below(METHODS),
            self.expr()
        )
    }

    fn stmt(&mut self, indent: usize) {
        let pad = "  ".repeat(indent);
        let kind = self.random.below(14);
        let line = match kind {
            0..=2 => format!("{} = {};", self.field(), self.expr()),
            3 => {
                let condition = self.condition();
                let _ = writeln!(self.text, "{pad}if ({condition}) {{");
                self.stmt(indent + 1);
                "}".to_owned()
            }
            4 => format!("{} {{ {}; }}", self.may_call(), self.call("!")),
            5 => {
                self.futures += 1;
                let (may, call, field) = (self.may_call(), self.call("!"), self.field());
                let future = self.futures;
                format!(
                    "{may} {{ Fut<Int> v{future} = {call}; await v{future}?; {field} = v{future}.get; }}"
                )
            }
            6 => {
                self.futures += 1;
                let (may, call, field) = (self.may_call(), self.call("!"), self.field());
                let (future, between) = (self.futures, self.field());
                let value = self.expr();
                format!(
                    "{may} {{ Fut<Int> v{future} = {call}; {between} = {value}; {field} = v{future}.get; }}"
                )
            }
            7 => {
                self.numbers += 1;
                let (may, call, field) = (self.may_call(), self.call("."), self.field());
                let number = self.numbers;
                format!("{may} {{ Int n{number} = {call}; {field} = n{number}; }}")
            }
            8 => format!(
                "{} {{ {} = await {}; }}",
                self.may_call(),
                self.field(),
                self.call("!")
            ),
            9 => format!("await {};", self.condition()),
            10 if self.timed => {
                let field = self.field();
                match self.random.below(4) {
                    0 => "await duration(1, 2);".to_owned(),
                    1 => "duration(1);".to_owned(),
                    2 => format!("await duration(2) & {};", self.condition()),
                    _ => format!("{field} = if timeValue(now()) > 1 then 1 else {field};"),
                }
            }
            10 => "suspend;".to_owned(),
            11 => format!(
                "if ({}) {{ throw NullPointerException; }}",
                self.condition()
            ),
            12 => {
                let (may, call, field) = (self.may_call(), self.call("!"), self.field());
                format!("{may} {{ try {{ {field} = await {call}; }} catch _ => {field} = 2; }}")
            }
            _ if self.random.one_in(3) => format!("assert {};", self.condition()),
            _ => format!("println(toString({}));", self.field()),
        };
        let _ = writeln!(self.text, "{pad}{line}");
    }

    fn class(&mut self, number: u64, helper: bool) {
        self.helper = helper;
        let _ = writeln!(self.text, "class C{number}(I peer) implements I {{");
        for field in 0..FIELDS {
            let _ = writeln!(self.text, "  Int f{field} = {};", self.random.below(2));
        }
        if helper {
            let _ = writeln!(
                self.text,
                "  I helper = null;\n  {{ helper = new local C0(peer); }}"
            );
        }
        for method in 0..METHODS {
            let _ = writeln!(self.text, "  Int m{method}(Int d, Int x) {{");
            for _ in 0..=self.random.below(3) {
                self.stmt(2);
            }
            let result = self.expr();
            let _ = writeln!(self.text, "    return {result};\n  }}");
        }
        let _ = writeln!(self.text, "}}");
    }

    fn program(mut self) -> String {
        self.text.push_str("module Random;\ninterface I {\n");
        for method in 0..METHODS {
            let _ = writeln!(self.text, "  Int m{method}(Int d, Int x);");
        }
        self.text.push_str("}\n");
        let classes = 2 + self.random.below(2);
        for class in 0..classes {
            let helper = class > 0 && self.random.one_in(3);
            self.class(class, helper);
        }
        self.text.push_str("{\n");
        let objects = 1 + self.random.below(2);
        for object in 0..objects {
            let class = self.random.below(classes);
            let peer = match object {
                0 => "null".to_owned(),
                n => format!("o{}", n - 1),
            };
            let _ = writeln!(self.text, "  I o{object} = new C{class}({peer});");
        }
        for call in 0..2 + self.random.below(2) {
            let object = self.random.below(objects);
            let (method, depth) = (self.random.below(METHODS), self.random.below(2));
            let _ = writeln!(self.text, "  o{object}!m{method}({depth}, {call});");
        }
        self.text.push_str("}\n");
        self.text
    }
}

/// Returns the random program of a seed.
pub fn program_of(seed: u64) -> String {
    timed_program_of(seed, false)
}

/// Returns the random program of a seed; with time if `timed`.
fn timed_program_of(seed: u64, timed: bool) -> String {
    let generator = Generator {
        random: Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
        text: String::new(),
        futures: 0,
        numbers: 0,
        helper: false,
        timed,
    };
    generator.program()
}

/// Returns a number from the environment, or a default.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn all_engines_agree_with_brute_force() {
    compare(number("MAZURKA_PROGRAMS", 300), false);
}

#[test]
fn all_engines_agree_with_brute_force_about_time() {
    compare(number("MAZURKA_PROGRAMS", 150), true);
}

fn compare(programs: u64, timed: bool) {
    let seed = number("MAZURKA_SEED", 1);
    let (mut compared, mut traces, mut deadlocks, mut failures) = (0, 0, 0, 0);
    for program in seed..seed + programs {
        let source = timed_program_of(program, timed);
        let limits = Limits {
            executions: Some(MOST_EXECUTIONS),
            steps: Some(20 * MOST_EXECUTIONS),
            ..Limits::default()
        };
        let expected = explore(&mut machine(&source, &[]), Algorithm::Naive, &limits);
        if !expected.bounds.is_empty() {
            continue;
        }
        compared += 1;
        traces += expected.counts.traces.unwrap_or(0);
        deadlocks += expected.counts.deadlocks;
        failures += expected.counts.failures;
        for &algorithm in Algorithm::ALL {
            let found = explore(&mut machine(&source, &[]), algorithm, &Limits::default());
            let what = |what: &str| format!("program {program}, {algorithm}: {what}\n{source}");
            assert_eq!(
                found.seen.observed,
                expected.seen.observed,
                "{}",
                what("final states")
            );
            assert_eq!(
                found.deadlock.is_some(),
                expected.deadlock.is_some(),
                "{}",
                what("a deadlock")
            );
            assert_eq!(
                found.failures.is_empty(),
                expected.failures.is_empty(),
                "{}",
                what("a failure")
            );
            if algorithm.compares_states() {
                continue;
            }
            assert_eq!(
                found.counts.traces,
                expected.counts.traces,
                "{}",
                what("traces")
            );
            assert_eq!(
                found.counts.deadlocks,
                expected.counts.deadlocks,
                "{}",
                what("deadlocks")
            );
            assert_eq!(
                found.seen.failed,
                expected.seen.failed,
                "{}",
                what("failures")
            );
        }
    }
    println!(
        "{compared} of {programs} compared: {traces} traces, {deadlocks} deadlocks, {failures} failures"
    );
    assert!(
        compared * 2 > programs,
        "most programs were too large: {compared} of {programs}"
    );
    assert!(
        traces > 2 * compared && deadlocks > 0 && failures > 0,
        "the programs are too tame"
    );
}
