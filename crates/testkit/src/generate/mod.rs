//! Generator A: random programs that are well typed, always terminate and are small enough for
//! brute force. There are two more generators: B ([`crate::mutate`]) changes existing programs, and
//! C ([`crate::swarm`]) makes programs in batches with different features.
//!
//! The design follows no paper. There are few variables, so that processes conflict; flags are
//! toggled, so that guards close and open again; locks are taken in any order, so that there are
//! deadlocks. Every loop is bounded or counts down a variable that no other process writes, and a
//! procedure calls only earlier ones, so every execution ends.

mod expr;
mod size;
mod stmt;

use crate::tree::{Lock, Procedure, Program, Type, Var};
use crate::{Config, Rng};

/// Returns the program of a seed.
///
/// ```
/// use mazurka_testkit::{Config, generate};
/// let program = generate(1, &Config::default());
/// assert_eq!(program, generate(1, &Config::default()));
/// assert!(program.processes.len() >= 2);
/// ```
pub fn generate(seed: u64, config: &Config) -> Program {
    let program = make(seed, config);
    // The language refuses a step in which a `choose` decides whether the step waits. Then the
    // program is made without `choose`.
    if config.choose && is_refused(&program.to_string()) {
        let config = Config {
            choose: false,
            ..config.clone()
        };
        make(seed, &config)
    } else {
        program
    }
}

fn is_refused(text: &str) -> bool {
    mazurka_lang::load(text, &[]).is_ok_and(|program| {
        let refused = mazurka_lang::compile(&program, text)
            .err()
            .unwrap_or_default();
        refused.iter().any(|mistake| mistake.code != "M0603")
    })
}

fn make(seed: u64, config: &Config) -> Program {
    let mut generator = Generator {
        rng: Rng::new(seed),
        config,
        program: Program::default(),
        fresh: 0,
    };
    generator.declarations();
    generator.procedures();
    generator.processes();
    generator.properties();
    let mut program = generator.program;
    size::trim(&mut program, config.interleavings);
    program
}

/// A program that is being generated, with the source of its random choices.
struct Generator<'a> {
    rng: Rng,
    config: &'a Config,
    program: Program,
    /// Number of unique names made so far.
    fresh: usize,
}

/// The names in scope at a place in the program.
#[derive(Clone, Debug, Default)]
struct Scope {
    /// Locals that may be assigned or read.
    locals: Vec<(String, Type)>,
    /// Handles of processes that may be joined.
    handles: Vec<String>,
    /// How deep the statements nest.
    depth: usize,
    /// Whether all statements must belong to one step, so that `spawn` and `let` are not allowed.
    in_step: bool,
    /// The number of procedures that may be called here, counted from the first. A procedure calls
    /// only earlier ones, so that there is no recursion.
    callable: usize,
}

impl Scope {
    fn deeper(&self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self.clone()
        }
    }
}

impl Generator<'_> {
    fn fresh(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }

    fn declarations(&mut self) {
        self.program.access = self.config.access && self.rng.percent(20);
        let numbers = 1 + self.rng.weighted(&[3, 4, 2]);
        for name in ["x", "y", "z"].into_iter().take(numbers) {
            let narrow = self.config.narrow && self.rng.percent(8);
            let ty = match (narrow, self.rng.percent(50)) {
                (false, _) => Type::Int,
                (true, true) => Type::I8,
                (true, false) => Type::U8,
            };
            let init = match (ty, self.rng.percent(15)) {
                (Type::I8, true) => 127,
                (Type::U8, true) => 255,
                _ => self.rng.weighted(&[6, 2, 1]) as i64,
            };
            self.var(name, ty, None, init);
        }
        let flags = self.rng.weighted(&[4, 5, 1]);
        for name in ["f", "g"].into_iter().take(flags) {
            let init = i64::from(self.rng.percent(50));
            self.var(name, Type::Bool, None, init);
        }
        if self.config.arrays && self.rng.percent(25) {
            let len = 2 + u32::from(self.rng.percent(20));
            let ty = if self.rng.percent(85) {
                Type::Int
            } else {
                Type::Bool
            };
            self.var("a", ty, Some(len), 0);
        }
        if self.config.locks && self.rng.percent(40) {
            let count = 1 + usize::from(self.rng.percent(60));
            for name in ["m", "n"].into_iter().take(count) {
                let len = self.rng.percent(20).then_some(2);
                let name = name.to_owned();
                self.program.locks.push(Lock { name, len });
            }
        }
    }

    fn var(&mut self, name: &str, ty: Type, len: Option<u32>, init: i64) {
        self.program.vars.push(Var {
            name: name.to_owned(),
            ty,
            len,
            init,
        });
    }

    fn procedures(&mut self) {
        if !self.config.procedures || !self.rng.percent(20) {
            return;
        }
        for k in 0..1 + usize::from(self.rng.percent(30)) {
            let params = match self.rng.weighted(&[3, 4, 2]) {
                0 => Vec::new(),
                1 => vec![("k".to_owned(), Type::Int)],
                _ => vec![("k".to_owned(), Type::Int), ("b".to_owned(), Type::Bool)],
            };
            let scope = Scope {
                locals: params.clone(),
                callable: k,
                ..Scope::default()
            };
            let steps = 1 + self.rng.below(2);
            let body = self.body(&scope, steps);
            self.program.procedures.push(Procedure {
                name: format!("p{k}"),
                params,
                body,
            });
        }
    }

    fn processes(&mut self) {
        let most = self.config.processes.clamp(2, 4);
        let count = (2 + self.rng.weighted(&[4, 6, 2])).min(most);
        let toggles = self.config.guards && self.rng.percent(40);
        for k in 0..count {
            let mut scope = Scope {
                callable: self.program.procedures.len(),
                ..Scope::default()
            };
            let input = self.input(&mut scope);
            let steps = match count {
                2 => 2 + self.rng.below(7),
                3 => 1 + self.rng.below(5),
                _ => 1 + self.rng.below(3),
            };
            let mut body = if k == 0 && toggles {
                self.toggler(&scope, steps)
            } else {
                self.body(&scope, steps)
            };
            body.splice(0..0, input);
            // Explorers prefer the lowest process, so over many programs each kind of process
            // should occur at every position.
            let place = self.rng.below(self.program.processes.len() + 1);
            self.program.processes.insert(place, body);
        }
    }

    fn properties(&mut self) {
        if self.config.invariants && self.rng.percent(8) {
            let test = self.test(&Scope::default(), 1);
            self.program.invariants.push(test);
        }
        if self.config.failures && self.rng.percent(5) {
            let test = self.test(&Scope::default(), 1);
            self.program.ensures.push(test);
        }
    }
}
