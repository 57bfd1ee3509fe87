//! Random `.maz` programs under each model: compares the engine on the machine of the language with
//! the oracle, which gets the same program as instructions.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::{Limits, Random};
use mazurka_lang::{Machine, compile, load as read};
use mazurka_memory::MemoryOrder::{self, AcqRel, Acquire, Plain, Relaxed, Release, SeqCst};
use mazurka_memory::litmus::{
    Comparison, Instruction, Litmus, compare_exchange, fence, fetch_add, load, lock, r, store,
    swap, unlock,
};
use mazurka_memory::{End, Ending, Memory, Threads, visit};

use crate::oracle::{self, Answer, code};

/// The maximal number of graphs for the oracle.
const MOST: usize = 20_000;
/// Two atomic variables (0 and 1), a plain one and a lock, as the language numbers them.
const PLAIN: u32 = 2;
const MUTEX: u32 = 3;
/// The register that the program reads, and one that it does not read.
const LOOKED_AT: usize = 0;
const OTHER: usize = 5;

const LOADS: [MemoryOrder; 3] = [Relaxed, Acquire, SeqCst];
const STORES: [MemoryOrder; 3] = [Relaxed, Release, SeqCst];
const FENCES: [MemoryOrder; 4] = [Acquire, Release, AcqRel, SeqCst];
const UPDATES: [MemoryOrder; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];

/// A program as text and as instructions.
struct Pair {
    random: Random,
    text: String,
    code: Vec<Vec<Instruction>>,
    locals: u64,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut pair = Self {
            random: Random::new(seed),
            text: "atomicity access\nvar x, y: atomic int = 0\nvar p: int = 0\nlock m\n".to_owned(),
            code: Vec::new(),
            locals: 0,
        };
        for _ in 0..2 + pair.random.below(2) {
            pair.code.push(Vec::new());
            pair.text += "process {\n  let r = 0;\n";
            for _ in 0..1 + pair.random.below(3) {
                pair.statement();
            }
            pair.text += "}\n";
        }
        pair
    }

    fn order(&mut self, all: &[MemoryOrder]) -> MemoryOrder {
        all[self.random.below(all.len() as u64) as usize]
    }

    /// Adds a statement, as text and as instructions.
    fn add(&mut self, text: &str, instructions: &[Instruction]) {
        let _ = writeln!(self.text, "  {text};");
        self.code.last_mut().expect("a thread").extend(instructions);
    }

    fn statement(&mut self) {
        let at = self.random.below(2) as u32;
        let (name, value) = (["x", "y"][at as usize], 1 + self.random.below(2) as i64);
        match self.random.below(14) {
            0 | 1 => {
                let order = self.order(&STORES);
                let text = format!("{name}.store({value}, {order})");
                self.add(&text, &[store(at, value, order)]);
            }
            2 => {
                let order = self.order(&STORES);
                let text = format!("{name}.store(r + 1, {order})");
                self.add(&text, &[store(at, r(LOOKED_AT).plus(1), order)]);
            }
            3..=5 => {
                let order = self.order(&LOADS);
                let text = format!("r := {name}.load({order})");
                self.add(&text, &[load(LOOKED_AT, at, order)]);
            }
            6 => {
                let order = self.order(&UPDATES);
                let text = format!("r := {name}.fetch_add(1, {order})");
                self.add(&text, &[fetch_add(LOOKED_AT, at, 1, order)]);
            }
            7 => {
                let order = self.order(&UPDATES);
                let text = format!("r := {name}.swap({value}, {order})");
                self.add(&text, &[swap(LOOKED_AT, at, value, order)]);
            }
            8 => self.exchange(name, at, value),
            9 => {
                let order = self.order(&FENCES);
                self.add(&format!("fence({order})"), &[fence(order)]);
            }
            10 => {
                let order = self.order(&LOADS);
                let text = format!("await {name}.load({order}) != {value}");
                let sum = value.into();
                let wait = Instruction::Await(OTHER, at.into(), Comparison::Unequal, sum, order);
                self.add(&text, &[wait]);
            }
            11 => {
                let inside = [
                    lock(MUTEX),
                    load(LOOKED_AT, PLAIN, Plain),
                    store(PLAIN, r(LOOKED_AT).plus(1), Plain),
                    unlock(MUTEX),
                ];
                self.add("lock(m); r := p; p := r + 1; unlock(m)", &inside);
            }
            12 => {
                let assert = Instruction::Assert(r(LOOKED_AT).differs(value), 1);
                self.add(&format!("assert r != {value}"), &[assert]);
            }
            _ => match self.random.below(3) {
                0 => self.add("p := 5", &[store(PLAIN, 5, Plain)]),
                1 => self.add("r := choose(0..2)", &[Instruction::Choose(LOOKED_AT, 2)]),
                _ => {
                    let assume = Instruction::Assume(r(LOOKED_AT).equals(0));
                    self.add("assume r == 0", &[assume]);
                }
            },
        }
    }

    fn exchange(&mut self, name: &str, at: u32, value: i64) {
        let orders = (self.order(&UPDATES), self.order(&LOADS));
        self.locals += 1;
        let (local, (order, failure)) = (self.locals, orders);
        let text =
            format!("let c{local} = {name}.compare_exchange(0, {value}, {order}, {failure})");
        self.add(&text, &[compare_exchange(OTHER, at, (0, value), orders)]);
    }
}

fn found<const APART: bool>(source: &str, memory: Memory) -> Answer {
    let program = read(source, &[]).unwrap_or_else(|mistakes| panic!("{source}\n{mistakes:?}"));
    let code = Arc::new(compile(&program, source).expect("code"));
    let mut ends = BTreeSet::new();
    let mut look = |end: &mut End<'_, Threads<Machine, APART>>| {
        if !matches!(end.ending(), Ending::Blocked | Ending::Race) {
            let key = (self::code(end.ending()), oracle::key_of(end.graph()));
            assert!(ends.insert(key), "a graph twice\n{source}");
        }
        ControlFlow::Continue(())
    };
    let threads = Threads::<_, APART>::new(|| Machine::new(code.clone(), 10_000));
    let found = visit(threads, memory, &Limits::default(), &mut look);
    assert!(found.is_exhaustive());
    Answer {
        ends,
        races: found.counts.races > 0,
        failures: BTreeSet::new(),
    }
}

#[test]
fn programs_of_the_language_have_the_graphs_of_the_oracle() {
    let mut compared = [0; 4];
    for seed in 1..=250 {
        let pair = Pair::new(seed);
        for (at, memory) in Memory::ALL.into_iter().enumerate() {
            let program = Litmus::new(pair.code.clone());
            let Ok(mut expected) = oracle::ends(&program, memory, MOST, true) else {
                continue;
            };
            expected.failures.clear();
            let context = format!("seed {seed} under {memory}\n{}", pair.text);
            for found in [
                found::<true>(&pair.text, memory),
                found::<false>(&pair.text, memory),
            ] {
                assert_eq!(found.races, expected.races, "{context}");
                if !expected.races {
                    assert_eq!(found, expected, "{context}");
                }
            }
            compared[at] += usize::from(!expected.races);
        }
    }
    assert!(compared.iter().all(|&count| count > 150), "{compared:?}");
}
