//! Shrinks a failing program to a smaller one that still fails.
//!
//! Greedy delta debugging on the tree (Zeller and Hildebrandt, *Simplifying and Isolating
//! Failure-Inducing Input*, with the structure of the input known). Every place in the tree offers
//! a few cuts. Cuts are tried one after the other. A cut after which the program still fails is
//! kept. This ends when no cut can be kept. A cut may make the program invalid; the test must
//! reject that.

use crate::tree::{Expr, Program, Spawned, Stmt, Type};

/// Cuts parts of a program while it still fails.
///
/// ```
/// use mazurka_testkit::{Config, generate, shrink};
/// let large = generate(5, &Config::default());
/// let small = shrink(large, |program| program.to_string().contains(":="));
/// assert_eq!(small.to_string().matches(":=").count(), 1);
/// ```
pub fn shrink(program: Program, still_fails: impl Fn(&Program) -> bool) -> Program {
    let mut program = program;
    loop {
        let mut progress = false;
        let mut at = 0;
        while let Some(candidate) = cut(&program, at) {
            // Some cuts do not make the program smaller. Only cuts that reduce the measure are
            // kept, so this loop ends.
            if measure(&candidate) < measure(&program) && still_fails(&candidate) {
                program = candidate;
                progress = true;
            } else {
                at += 1;
            }
        }
        if !progress {
            return program;
        }
    }
}

/// Returns the length of the program's text and the sum of its digits. Each name of a type counts
/// as long as `int`.
fn measure(program: &Program) -> (usize, i64) {
    let text = program
        .to_string()
        .replace("i8", "i__8")
        .replace("u8", "u__8");
    let digits = text
        .bytes()
        .filter(u8::is_ascii_digit)
        .map(|d| i64::from(d - b'0'))
        .sum();
    (text.len(), digits)
}

/// Returns the program after the cut with this number; `None` if there is no such cut.
fn cut(program: &Program, number: usize) -> Option<Program> {
    let mut program = program.clone();
    Cutter { left: number }
        .program(&mut program)
        .then_some(program)
}

/// Walks over a tree, counts the possible cuts, and makes the one that comes after `left` others.
/// Every method returns whether it made the cut.
struct Cutter {
    left: usize,
}

impl Cutter {
    fn turn(&mut self) -> bool {
        if self.left == 0 {
            return true;
        }
        self.left -= 1;
        false
    }

    fn remove<T>(&mut self, from: &mut Vec<T>) -> bool {
        for at in 0..from.len() {
            if self.turn() {
                from.remove(at);
                return true;
            }
        }
        false
    }

    fn replace<T>(&mut self, place: &mut T, by: T) -> bool {
        let turn = self.turn();
        if turn {
            *place = by;
        }
        turn
    }

    fn program(&mut self, program: &mut Program) -> bool {
        if self.remove(&mut program.processes)
            || self.remove(&mut program.procedures)
            || self.remove(&mut program.invariants)
            || self.remove(&mut program.ensures)
            || self.remove(&mut program.vars)
            || self.remove(&mut program.locks)
            || self.replace(&mut program.access, false)
        {
            return true;
        }
        for body in &mut program.processes {
            if self.body(body) {
                return true;
            }
        }
        for procedure in &mut program.procedures {
            if self.body(&mut procedure.body) {
                return true;
            }
        }
        if self.exprs(&mut program.invariants) || self.exprs(&mut program.ensures) {
            return true;
        }
        for var in &mut program.vars {
            if self.replace(&mut var.init, 0)
                || (var.ty != Type::Bool && self.replace(&mut var.ty, Type::Int))
                || self.replace(&mut var.len, None)
            {
                return true;
            }
        }
        program
            .locks
            .iter_mut()
            .any(|lock| self.replace(&mut lock.len, None))
    }

    fn body(&mut self, body: &mut Vec<Stmt>) -> bool {
        if body.len() > 2 && self.turn() {
            body.truncate(body.len() / 2);
            return true;
        }
        if self.remove(body) || self.pairs(body) {
            return true;
        }
        for at in 0..body.len() {
            for inside in insides(&body[at]) {
                if self.turn() {
                    body.splice(at..=at, inside);
                    return true;
                }
            }
            if self.stmt(&mut body[at]) {
                return true;
            }
        }
        false
    }

    /// Removes a lock with its unlock, or a spawn with its join.
    fn pairs(&mut self, body: &mut Vec<Stmt>) -> bool {
        for at in 0..body.len() {
            let partner = match &body[at] {
                Stmt::Lock(name, index) => Stmt::Unlock(name.clone(), index.clone()),
                Stmt::Spawn(Some(handle), _) => Stmt::Join(Some(handle.clone())),
                _ => continue,
            };
            let Some(other) = body.iter().skip(at).position(|stmt| *stmt == partner) else {
                continue;
            };
            if self.turn() {
                body.remove(at + other);
                body.remove(at);
                return true;
            }
        }
        false
    }

    fn stmt(&mut self, stmt: &mut Stmt) -> bool {
        match stmt {
            Stmt::Skip | Stmt::Error | Stmt::Join(_) => false,
            Stmt::Block(body) | Stmt::Atomic(body) => self.body(body),
            Stmt::Assign(places, values) => {
                for at in 0..places.len().min(values.len()) {
                    if places.len() > 1 && self.turn() {
                        places.remove(at);
                        values.remove(at);
                        return true;
                    }
                }
                places.iter_mut().any(|place| self.place(place)) || self.exprs(values)
            }
            Stmt::Let(_, ty, value) => self.replace(ty, None) || self.expr(value),
            Stmt::Guard(test, body) | Stmt::GuardedLoop(test, body) => {
                self.expr(test) || self.inner(body)
            }
            Stmt::Choice(then, test, other) => {
                self.expr(test) || self.inner(then) || self.inner(other)
            }
            Stmt::Await(test) | Stmt::Assert(test) | Stmt::Assume(test) => self.expr(test),
            Stmt::If(test, then, other) => self.expr(test) || self.body(then) || self.body(other),
            Stmt::While(test, bound, body) => {
                self.replace(bound, 1) || self.expr(test) || self.body(body)
            }
            Stmt::For(_, _, to, body) => self.replace(to, 1) || self.body(body),
            Stmt::Spawn(handle, what) => {
                self.replace(handle, None)
                    || match what {
                        Spawned::Block(body) => self.body(body),
                        Spawned::Call(_, args) => self.exprs(args),
                    }
            }
            Stmt::Call(_, args) => self.exprs(args),
            Stmt::Lock(_, index) | Stmt::Unlock(_, index) => {
                self.replace(index, None) || index.as_mut().is_some_and(|index| self.expr(index))
            }
        }
    }

    /// Makes a cut in a statement that must remain a single statement.
    fn inner(&mut self, stmt: &mut Stmt) -> bool {
        if *stmt != Stmt::Skip && self.replace(stmt, Stmt::Skip) {
            return true;
        }
        for inside in insides(stmt) {
            if let [only] = &inside[..]
                && self.turn()
            {
                *stmt = only.clone();
                return true;
            }
        }
        self.stmt(stmt)
    }

    fn place(&mut self, place: &mut Expr) -> bool {
        match place {
            Expr::Element(name, index) => {
                let scalar = Expr::Var(name.clone());
                if self.turn() {
                    *place = scalar;
                    return true;
                }
                self.expr(index)
            }
            _ => false,
        }
    }

    fn exprs(&mut self, exprs: &mut [Expr]) -> bool {
        exprs.iter_mut().any(|expr| self.expr(expr))
    }

    fn expr(&mut self, expr: &mut Expr) -> bool {
        let literals = [
            Expr::Int(0),
            Expr::Int(1),
            Expr::Bool(true),
            Expr::Bool(false),
        ];
        for literal in literals {
            if *expr != literal && self.turn() {
                *expr = literal;
                return true;
            }
        }
        let parts: Vec<Expr> = match &*expr {
            Expr::Element(name, index) => vec![Expr::Var(name.clone()), (**index).clone()],
            Expr::Unary(_, of) => vec![(**of).clone()],
            Expr::Binary(_, left, right) => vec![(**left).clone(), (**right).clone()],
            Expr::If(_, then, other) => vec![(**then).clone(), (**other).clone()],
            _ => Vec::new(),
        };
        for part in parts {
            if self.turn() {
                *expr = part;
                return true;
            }
        }
        match expr {
            Expr::Int(_) | Expr::Bool(_) | Expr::Var(_) | Expr::Choose(..) | Expr::Input(..) => {
                false
            }
            Expr::Element(_, of) | Expr::Unary(_, of) => self.expr(of),
            Expr::Binary(_, left, right) => self.expr(left) || self.expr(right),
            Expr::If(test, then, other) => self.expr(test) || self.expr(then) || self.expr(other),
        }
    }
}

/// Returns the blocks within a statement, each of which could replace it.
fn insides(stmt: &Stmt) -> Vec<Vec<Stmt>> {
    match stmt {
        Stmt::Block(body)
        | Stmt::Atomic(body)
        | Stmt::While(_, _, body)
        | Stmt::For(_, _, _, body)
        | Stmt::Spawn(_, Spawned::Block(body)) => vec![body.clone()],
        Stmt::If(_, then, other) => vec![then.clone(), other.clone()],
        Stmt::Guard(_, body) | Stmt::GuardedLoop(_, body) => vec![vec![(**body).clone()]],
        Stmt::Choice(then, _, other) => vec![vec![(**then).clone()], vec![(**other).clone()]],
        Stmt::Spawn(_, Spawned::Call(name, args)) => {
            vec![vec![Stmt::Call(name.clone(), args.clone())]]
        }
        _ => Vec::new(),
    }
}
