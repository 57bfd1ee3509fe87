//! Random `.maz` programs with unknown values. A valuation gives each of these a value. The
//! executions whose decisions agree with a valuation must be the executions of the program with
//! these values.

use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::{Limits, Random};
use mazurka_lang::{Code, Machine, SymbolicMachine, compile_symbolic, load};
use mazurka_memory::{End, Ending, Memory, Threads, visit};
use mazurka_smt::{Effort, Embedded};

const MAX_LOCAL: u64 = 10_000_000;
/// The values that are tried for each unknown. The programs require that an unknown is neither the
/// first nor the last of these.
const TRIED: std::ops::RangeInclusive<i64> = -1..=3;

/// The number of variables of a program, which are its first cells.
const VARIABLES: u32 = 4;

struct Generator {
    random: Random,
    text: String,
    locals: u64,
}

impl Generator {
    /// Returns a random program. The initial value of `n` and the inputs of the processes are
    /// unknown, each from 0 to 2. Only `z` is awaited and exchanged, and it never holds an unknown
    /// value.
    fn program(seed: u64) -> String {
        let mut generator = Self {
            random: Random::new(seed),
            text: "atomicity access\nvar x: atomic int = 0\nvar n: atomic int\n\
                   var z: atomic int = 0\nvar p: int = 0\nlock m\n\
                   requires 0 <= n && n <= 2\n"
                .to_owned(),
            locals: 0,
        };
        if generator.random.below(2) == 0 {
            let bound = generator.random.below(4);
            let _ = writeln!(generator.text, "ensures x != {bound}");
        }
        for _ in 0..2 + generator.random.below(2) {
            generator.process();
        }
        generator.text
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.random.below(all.len() as u64) as usize]
    }

    fn process(&mut self) {
        self.text += "process {\n";
        let start = match self.random.below(3) {
            0 => "let r = input(int); assume 0 <= r && r <= 2",
            _ => "let r = 0",
        };
        let _ = writeln!(self.text, "  {start};");
        for _ in 0..1 + self.random.below(3) {
            let line = self.statement(true);
            let _ = writeln!(self.text, "  {line};");
        }
        self.text += "}\n";
    }

    fn condition(&mut self) -> String {
        let (is, value) = (self.pick(&["<", "==", "!=", ">"]), self.random.below(3));
        format!("r {is} {value}")
    }

    fn statement(&mut self, nests: bool) -> String {
        let most = if nests { 12 } else { 7 };
        let (place, value) = (self.pick(&["x", "n"]), 1 + self.random.below(2));
        let load = self.pick(&["relaxed", "acquire", "seq_cst"]);
        let store = self.pick(&["relaxed", "release", "seq_cst"]);
        let update = self.pick(&["relaxed", "acq_rel", "seq_cst"]);
        match self.random.below(most) {
            0 => format!("{place}.store({value}, {store})"),
            1 => format!("{place}.store(r + {value}, {store})"),
            2 | 3 => format!("r := {place}.load({load})"),
            4 => format!("r := {place}.fetch_add({value}, {update})"),
            5 => format!("z.store({value}, {store})"),
            6 => "lock(m); p := p + r; unlock(m)".to_owned(),
            7 => {
                let (one, other) = (self.statement(false), self.statement(false));
                format!("if {} {{ {one} }} else {{ {other} }}", self.condition())
            }
            8 => format!("if {place} > r {{ {} }}", self.statement(false)),
            9 => format!("assert {}", self.condition()),
            10 => format!("assume {}", self.condition()),
            _ => match self.random.below(3) {
                0 => format!("await z.load({load}) == {value}"),
                1 => "r := choose(0..2)".to_owned(),
                _ => {
                    self.locals += 1;
                    let local = self.locals;
                    format!("let c{local} = z.compare_exchange(0, {value}, {update})")
                }
            },
        }
    }
}

/// How an execution ends, and the final contents of the cells.
type Outcome = (String, Vec<i64>);

fn outcome(ending: Ending, cells: Vec<i64>) -> Outcome {
    (format!("{ending:?}"), cells)
}

/// The possible unknowns of a program: an initial value, and an input of each process.
const UNKNOWNS: [&str; 4] = ["n", "0#0", "1#0", "2#0"];
type Values = [i64; 4];

/// Returns every valuation of the unknowns that the program has.
fn valuations(source: &str) -> Vec<Values> {
    let mut all = vec![[0; 4]];
    let processes = source.split("process {").skip(1);
    let inputs = processes.map(|text| text.contains("input("));
    for (at, unknown) in std::iter::once(true).chain(inputs).enumerate() {
        if unknown {
            let each = all.iter().flat_map(|values: &Values| {
                TRIED.map(move |value| {
                    let mut values = *values;
                    values[at] = value;
                    values
                })
            });
            all = each.collect();
        }
    }
    all
}

/// Returns the executions of the program whose unknowns have these values.
fn known(code: &Code, values: &Values, memory: Memory) -> Vec<Outcome> {
    let given = UNKNOWNS.into_iter().zip(values.iter().copied());
    let code = Arc::new(code.with_inputs(given));
    let mut all = Vec::new();
    let mut look = |end: &mut End<'_, Threads<Machine, false>>| {
        let ending = end.ending();
        let (graph, threads) = end.graph_and_program();
        let machine = threads.at_the_end(graph);
        let cells = (0..VARIABLES).map(|cell| machine.value(cell));
        all.push(outcome(ending, cells.collect()));
        ControlFlow::Continue(())
    };
    let threads = Threads::<_, false>::new(|| Machine::new(code.clone(), MAX_LOCAL));
    let found = visit(threads, memory, &Limits::default(), &mut look);
    assert!(found.is_exhaustive());
    all.sort();
    all
}

/// Searches for all values at once. Returns, for each valuation, the executions whose path it
/// follows; `None` if a step does several things.
fn for_all(code: &Code, values: &[Values], memory: Memory) -> Option<Vec<Vec<Outcome>>> {
    let mut all = vec![Vec::new(); values.len()];
    let mut doubts = false;
    let mut look = |end: &mut End<'_, Threads<SymbolicMachine, false>>| {
        let ending = end.ending();
        let (graph, threads) = end.graph_and_program();
        let machine = threads.at_the_end(graph);
        doubts |= machine.doubts() != Default::default();
        let mut taken = false;
        for (values, ends) in values.iter().zip(&mut all) {
            let value = |name: &str| {
                let at = UNKNOWNS.iter().position(|unknown| *unknown == name);
                at.map(|at| values[at])
            };
            if let Some(cells) = machine.under(value) {
                ends.push(outcome(ending, cells));
                taken = true;
            }
        }
        // Some values must follow the path of each execution, even if none of those that are tried
        // does.
        let exists = taken || machine.concrete(None).is_some();
        assert!(exists, "an execution that no values take");
        ControlFlow::Continue(())
    };
    let threads = Threads::<_, false>::new(|| {
        let solver = Box::new(Embedded::new(Effort::default()));
        let machine = SymbolicMachine::new(Arc::new(code.clone()), MAX_LOCAL, Some(solver));
        machine.with_conditions_apart()
    });
    let found = visit(threads, memory, &Limits::default(), &mut look);
    if found.given_up.is_some() {
        return None;
    }
    assert!(found.is_exhaustive() && !doubts);
    all.iter_mut().for_each(|ends| ends.sort());
    Some(all)
}

/// Compares a program. Returns the number of executions over all valuations, and the greatest
/// number for one valuation.
fn compare(seed: u64, memory: Memory) -> Option<(usize, usize)> {
    let source = Generator::program(seed);
    let program = load(&source, &[]).unwrap_or_else(|mistakes| panic!("{source}\n{mistakes:?}"));
    let code = compile_symbolic(&program, &source, false);
    code.accesses_are_steps()
        .unwrap_or_else(|why| panic!("{source}\n{why}"));
    let valuations = valuations(&source);
    let found = for_all(&code, &valuations, memory)?;
    let mut executions = 0;
    for (values, found) in valuations.iter().zip(&found) {
        // With known values, the requirement on `n` is not checked.
        if !(0..=2).contains(&values[0]) {
            assert!(
                found.is_empty(),
                "seed {seed}, {memory}, {values:?}\n{source}"
            );
            continue;
        }
        let expected = known(&code, values, memory);
        assert_eq!(
            *found, expected,
            "seed {seed}, {memory}, {values:?}\n{source}"
        );
        executions += expected.len();
    }
    Some((executions, found.iter().map(Vec::len).max().unwrap_or(0)))
}

fn number(name: &str, otherwise: u64) -> u64 {
    let asked = std::env::var(name).ok();
    asked
        .and_then(|text| text.parse().ok())
        .unwrap_or(otherwise)
}

#[test]
fn executions_for_all_values_are_those_of_each() {
    let (first, programs) = (number("MAZURKA_SEED", 1), number("MAZURKA_PROGRAMS", 150));
    let (mut compared, mut executions) = (0, 0);
    for seed in first..first + programs {
        let memory = Memory::ALL[seed as usize % Memory::ALL.len()];
        if let Some((all, _)) = compare(seed, memory) {
            compared += 1;
            executions += all;
        }
    }
    assert!(2 * compared > programs, "{compared} of {programs}");
    assert!(executions as u64 > 10 * programs, "{executions}");
}
