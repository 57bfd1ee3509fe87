//! A rough estimate of how many interleavings a program has, and how to make it smaller.

use crate::tree::{Expr, Program, Spawned, Stmt};

/// Cuts statements off the ends of the longest bodies until the estimate is below the limit.
pub(super) fn trim(program: &mut Program, limit: f64) {
    while interleavings(program) > limit {
        let lengths: Vec<f64> = program
            .processes
            .iter()
            .map(|body| total(&Threads::new(program, body)))
            .collect();
        let longest = (0..lengths.len()).max_by(|&a, &b| lengths[a].total_cmp(&lengths[b]));
        match longest {
            Some(at) if program.processes[at].len() > 1 => {
                program.processes[at].pop();
            }
            Some(at) if program.processes.len() > 2 => {
                program.processes.remove(at);
            }
            Some(at) => {
                // Only one statement is left: replace it by the statements inside it.
                if !shorten(&mut program.processes[at]) {
                    return;
                }
            }
            None => return,
        }
    }
}

/// Replaces the last statement of a body by the statements within it.
fn shorten(body: &mut Vec<Stmt>) -> bool {
    match body.pop() {
        Some(Stmt::Block(inner) | Stmt::If(_, inner, _)) => body.extend(inner),
        Some(Stmt::While(_, _, inner)) => body.extend(inner),
        Some(Stmt::Spawn(_, Spawned::Block(inner))) => body.extend(inner),
        Some(Stmt::Guard(_, inner)) => body.push(*inner),
        Some(_) => return !body.is_empty(),
        None => return false,
    }
    true
}

fn total(threads: &Threads<'_>) -> f64 {
    threads.steps.iter().sum()
}

/// Returns the number of interleavings if no process ever waits: a multinomial coefficient.
fn interleavings(program: &Program) -> f64 {
    let mut ways = 1.0;
    let mut before = 0.0;
    for body in &program.processes {
        for &steps in &Threads::new(program, body).steps {
            let steps = f64::ceil(steps) as u32;
            for k in 1..=steps {
                before += 1.0;
                ways *= before / f64::from(k);
            }
        }
    }
    ways
}

/// The number of steps of a process and of each process that it spawns.
struct Threads<'p> {
    program: &'p Program,
    steps: Vec<f64>,
}

impl<'p> Threads<'p> {
    fn new(program: &'p Program, body: &[Stmt]) -> Self {
        let mut threads = Self {
            program,
            steps: vec![0.0],
        };
        threads.walk(body, 0, 1.0);
        threads
    }

    fn walk(&mut self, body: &[Stmt], thread: usize, times: f64) {
        for stmt in body {
            self.stmt(stmt, thread, times);
        }
    }

    fn add(&mut self, thread: usize, steps: f64) {
        self.steps[thread] += steps;
    }

    fn stmt(&mut self, stmt: &Stmt, thread: usize, times: f64) {
        let program = self.program;
        let cost = |exprs: &[Expr]| {
            if program.access {
                exprs.iter().map(reads).sum::<f64>()
            } else {
                1.0
            }
        };
        match stmt {
            Stmt::Skip => {}
            Stmt::Block(body) => self.walk(body, thread, times),
            Stmt::Assign(places, values) => {
                let writes = if program.access {
                    places.len() as f64
                } else {
                    0.0
                };
                self.add(thread, times * (writes + cost(values)));
            }
            Stmt::Let(_, _, value) => {
                let one = cost(std::slice::from_ref(value));
                self.add(thread, times * reads(value).min(one));
            }
            Stmt::Guard(_, body) => {
                self.add(thread, 0.5 * times);
                self.stmt(body, thread, times);
            }
            Stmt::Choice(then, _, other) => {
                self.stmt(then, thread, 0.6 * times);
                self.stmt(other, thread, 0.6 * times);
            }
            Stmt::GuardedLoop(_, body) => {
                self.add(thread, times);
                self.stmt(body, thread, 1.5 * times);
            }
            Stmt::If(test, then, other) => {
                self.add(thread, times * cost(std::slice::from_ref(test)));
                self.walk(then, thread, 0.6 * times);
                self.walk(other, thread, 0.6 * times);
            }
            Stmt::While(test, bound, body) => {
                let rounds = *bound as f64;
                self.add(thread, times * rounds * cost(std::slice::from_ref(test)));
                self.walk(body, thread, times * rounds);
            }
            Stmt::For(_, from, to, body) => {
                self.walk(body, thread, times * (to - from) as f64);
            }
            Stmt::Spawn(_, what) => {
                self.add(thread, times);
                let child = self.steps.len();
                self.steps.push(0.0);
                match what {
                    Spawned::Block(body) => self.walk(body, child, times),
                    Spawned::Call(name, args) => self.call(name, args, child, times),
                }
            }
            Stmt::Call(name, args) => self.call(name, args, thread, times),
            Stmt::Await(_)
            | Stmt::Join(_)
            | Stmt::Atomic(_)
            | Stmt::Lock(..)
            | Stmt::Unlock(..) => self.add(thread, times),
            Stmt::Assert(test) | Stmt::Assume(test) => {
                self.add(thread, times * cost(std::slice::from_ref(test)));
            }
            Stmt::Error => {}
        }
    }

    fn call(&mut self, name: &str, args: &[Expr], thread: usize, times: f64) {
        let reading = args.iter().map(reads).sum::<f64>();
        self.add(
            thread,
            times
                * if self.program.access {
                    reading
                } else {
                    reading.min(1.0)
                },
        );
        // Procedures call only earlier ones, so this ends.
        if let Some(procedure) = self.program.procedures.iter().find(|p| p.name == name) {
            self.walk(&procedure.body, thread, times);
        }
    }
}

/// Returns how many variables an expression reads, local or shared.
fn reads(expr: &Expr) -> f64 {
    match expr {
        Expr::Int(_) | Expr::Bool(_) | Expr::Choose(..) | Expr::Input(..) => 0.0,
        Expr::Var(_) => 1.0,
        Expr::Element(_, index) => 1.0 + reads(index),
        Expr::Unary(_, of) => reads(of),
        Expr::Binary(_, left, right) => reads(left) + reads(right),
        Expr::If(test, then, other) => reads(test) + reads(then).max(reads(other)),
    }
}
