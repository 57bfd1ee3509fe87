//! Generates statements.

use super::{Generator, Scope};
use crate::tree::{Expr, Spawned, Stmt, Type};

/// The maximal nesting depth of statements.
const DEPTH: usize = 3;

impl Generator<'_> {
    /// Returns statements of about `steps` steps, in a scope of their own.
    pub(super) fn body(&mut self, scope: &Scope, steps: usize) -> Vec<Stmt> {
        let mut scope = scope.deeper();
        let mut body = Vec::new();
        let mut done = 0;
        while done < steps {
            let more = self.statements(&mut scope);
            done += more.len();
            body.extend(more);
        }
        body
    }

    /// Returns a process that opens and closes the guards of others.
    pub(super) fn toggler(&mut self, scope: &Scope, steps: usize) -> Vec<Stmt> {
        let (place, ty) = self.place(scope);
        let count = 2 + usize::from(self.rng.percent(50));
        let mut body = Vec::new();
        for k in 0..count {
            let value = match ty {
                Type::Bool if self.rng.percent(60) => Expr::Unary("!", Box::new(place.clone())),
                Type::Bool => Expr::Bool(k % 2 == 1),
                _ => Expr::Int((k as i64 + 1) % 2),
            };
            body.push(Stmt::Assign(vec![place.clone()], vec![value]));
            if steps > 2 && self.rng.percent(15) {
                body.extend(self.statements(&mut scope.deeper()));
            }
        }
        body
    }

    /// Returns one statement, or a few that belong together.
    fn statements(&mut self, scope: &mut Scope) -> Vec<Stmt> {
        let config = self.config;
        let on = |wanted: bool, weight: u32| if wanted { weight } else { 0 };
        let nest = scope.depth < DEPTH;
        let free = !scope.in_step;
        let weights = [
            26,
            on(config.guards, 14),
            on(config.choices, 6),
            on(config.locks && !self.program.locks.is_empty(), 18),
            on(config.branches && nest, 6),
            on(config.loops && nest, 3),
            on(config.guards, 3),
            on(config.spawn && free && nest, 4),
            on(config.spawn && !scope.handles.is_empty(), 8),
            on(config.atomic && nest, 5),
            on(scope.callable > 0, 6),
            on(free, 4),
            on(config.failures, 3),
            on(config.assume, 1),
            on(config.spawn && free, 1),
            on(config.failures && !self.program.locks.is_empty(), 1),
        ];
        match self.rng.weighted(&weights) {
            0 => vec![self.assignment(scope)],
            1 => vec![self.guarded(scope)],
            2 => vec![self.choice(scope)],
            3 => self.section(scope),
            4 => vec![self.branch(scope)],
            5 => vec![self.bounded_loop(scope)],
            6 => vec![self.guarded_loop(scope)],
            7 => vec![self.spawn(scope)],
            8 => {
                let handle = self.rng.pick(&scope.handles).cloned();
                vec![Stmt::Join(handle)]
            }
            9 => vec![self.atomic(scope)],
            10 => vec![self.call(scope)],
            11 => vec![self.declaration(scope)],
            12 => vec![self.failure(scope)],
            13 => vec![Stmt::Assume(self.test(scope, 0))],
            14 => vec![Stmt::Join(None)],
            _ => {
                let (name, at) = self.lock(scope);
                vec![Stmt::Unlock(name, at)]
            }
        }
    }

    pub(super) fn assignment(&mut self, scope: &Scope) -> Stmt {
        if self.config.simultaneous && self.rng.percent(8) {
            let (one, one_type) = self.place(scope);
            let (other, other_type) = self.place(scope);
            if one != other {
                let values = if one_type == other_type && self.rng.percent(40) {
                    vec![other.clone(), one.clone()]
                } else {
                    vec![
                        self.value(scope, one_type, 1),
                        self.value(scope, other_type, 0),
                    ]
                };
                return Stmt::Assign(vec![one, other], values);
            }
        }
        let owned: Vec<(String, Type)> = scope
            .locals
            .iter()
            .filter(|(name, _)| name.starts_with('l'))
            .cloned()
            .collect();
        let (place, ty) = match self.rng.pick(&owned) {
            Some((name, ty)) if self.rng.percent(25) => (Expr::var(name), *ty),
            _ => self.place(scope),
        };
        let value = self.right_side(scope, ty);
        Stmt::Assign(vec![place], vec![value])
    }

    /// Returns the right side of an assignment: a value, or a `choose`, which must be the whole
    /// right side.
    fn right_side(&mut self, scope: &Scope, ty: Type) -> Expr {
        if self.config.choose && ty != Type::Bool && self.rng.percent(6) {
            return Expr::Choose(0, 2 + i64::from(self.rng.percent(20)));
        }
        let depth = 1 + usize::from(self.rng.percent(10));
        self.value(scope, ty, depth)
    }

    /// Returns `e |> s` or `await e`.
    fn guarded(&mut self, scope: &Scope) -> Stmt {
        let depth = usize::from(self.rng.percent(25));
        let test = self.test(scope, depth);
        if self.rng.percent(30) {
            return Stmt::Await(test);
        }
        let body = self.first_step(scope);
        Stmt::Guard(test, Box::new(body))
    }

    /// Returns a statement that is allowed under a guard or in a choice.
    fn first_step(&mut self, scope: &Scope) -> Stmt {
        let config = self.config;
        let nest = scope.depth < DEPTH;
        let inner = scope.deeper();
        let on = |wanted: bool, weight: u32| if wanted { weight } else { 0 };
        let weights = [
            20,
            2,
            on(nest, 4),
            on(config.guards && nest, 3),
            on(config.choices && nest, 2),
            on(config.locks && !self.program.locks.is_empty(), 3),
            on(config.branches && nest, 2),
            on(config.spawn && nest && !scope.in_step, 1),
            on(config.spawn && !scope.handles.is_empty(), 2),
            on(config.atomic && nest, 2),
            on(scope.callable > 0, 2),
            on(config.loops && nest, 1),
            on(config.failures, 1),
        ];
        match self.rng.weighted(&weights) {
            0 => self.assignment(scope),
            1 => Stmt::Skip,
            2 => {
                let body = self.body(&inner, 2);
                Stmt::Block(body)
            }
            3 => self.guarded(&inner),
            4 => self.choice(&inner),
            5 => {
                let (name, at) = self.lock(scope);
                Stmt::Lock(name, at)
            }
            6 => self.branch(&inner),
            7 => {
                let steps = 1;
                let body = self.body(&self.spawned(&inner), steps);
                Stmt::Spawn(None, Spawned::Block(body))
            }
            8 => Stmt::Join(self.rng.pick(&scope.handles).cloned()),
            9 => self.atomic(&inner),
            10 => self.call(scope),
            11 => self.bounded_loop(&inner),
            _ => self.failure(scope),
        }
    }

    fn choice(&mut self, scope: &Scope) -> Stmt {
        let scope = scope.deeper();
        let test = self.test(&scope, 0);
        let then = self.first_step(&scope);
        let other = self.first_step(&scope);
        Stmt::Choice(Box::new(then), test, Box::new(other))
    }

    /// Returns a lock, by name and index.
    fn lock(&mut self, scope: &Scope) -> (String, Option<Expr>) {
        let locks: Vec<(String, Option<u32>)> = self
            .program
            .locks
            .iter()
            .map(|lock| (lock.name.clone(), lock.len))
            .collect();
        let (name, len) = self
            .rng
            .pick(&locks)
            .cloned()
            .unwrap_or(("m".to_owned(), None));
        let at = len.map(|len| {
            if self.rng.percent(70) {
                Expr::Int(self.rng.below(len as usize) as i64)
            } else {
                self.index(scope, len)
            }
        });
        (name, at)
    }

    /// Returns a critical section; sometimes a second lock is nested in it or overlaps it, or the
    /// lock is never released.
    fn section(&mut self, scope: &mut Scope) -> Vec<Stmt> {
        let (name, at) = self.lock(scope);
        let mut body = vec![Stmt::Lock(name.clone(), at.clone())];
        let release = Stmt::Unlock(name.clone(), at.clone());
        if self.rng.percent(45) {
            let (second, second_at) = self.lock(scope);
            if (&second, &second_at) != (&name, &at) || self.rng.percent(10) {
                body.push(Stmt::Lock(second.clone(), second_at.clone()));
                if self.rng.percent(50) {
                    body.push(self.assignment(scope));
                }
                let inner = Stmt::Unlock(second, second_at);
                if self.rng.percent(70) {
                    body.extend([inner, release])
                } else {
                    body.extend([release, inner])
                }
                return body;
            }
        }
        if self.rng.percent(70) {
            body.push(self.assignment(scope));
        }
        if self.rng.percent(93) {
            body.push(release);
        }
        body
    }

    fn branch(&mut self, scope: &Scope) -> Stmt {
        let depth = usize::from(self.rng.percent(30));
        let test = self.test(scope, depth);
        let then = self.body(scope, 1);
        let other = if self.rng.percent(40) {
            self.body(scope, 1)
        } else {
            Vec::new()
        };
        Stmt::If(test, then, other)
    }

    fn bounded_loop(&mut self, scope: &Scope) -> Stmt {
        if self.rng.percent(50) {
            let name = self.fresh("q");
            let mut inner = scope.clone();
            inner.locals.push((name.clone(), Type::Int));
            let body = self.body(&inner, 1);
            return Stmt::For(name, 0, 2, body);
        }
        let test = self.test(scope, 0);
        let bound = 1 + self.rng.below(2) as i64;
        let body = self.body(scope, 1);
        Stmt::While(test, bound, body)
    }

    /// Returns a guarded loop over a fresh counter, which its first step decreases.
    fn guarded_loop(&mut self, scope: &Scope) -> Stmt {
        let counter = self.fresh("c");
        let rounds = 1 + self.rng.below(2) as i64;
        self.var(&counter, Type::Int, None, rounds);
        let counter = Expr::Var(counter);
        let mut test = Expr::binary(">", counter.clone(), Expr::Int(0));
        if self.rng.percent(50) {
            let more = self.test(scope, 0);
            test = Expr::binary("&&", test, more);
        }
        let less = Expr::binary("-", counter.clone(), Expr::Int(1));
        let step = if self.rng.percent(40) {
            let (place, ty) = self.place(scope);
            let value = self.value(scope, ty, 1);
            Stmt::Assign(vec![counter, place], vec![less, value])
        } else {
            Stmt::Assign(vec![counter], vec![less])
        };
        let step = if self.rng.percent(20) {
            Stmt::Guard(self.test(scope, 0), Box::new(step))
        } else {
            step
        };
        let body = if self.rng.percent(25) && scope.depth < DEPTH {
            let mut body = vec![step];
            body.extend(self.body(scope, 1));
            Stmt::Block(body)
        } else {
            step
        };
        Stmt::GuardedLoop(test, Box::new(body))
    }

    /// Returns the scope of a spawned process: it has copies of the locals, but no handles of
    /// processes to join.
    fn spawned(&self, scope: &Scope) -> Scope {
        Scope {
            handles: Vec::new(),
            ..scope.deeper()
        }
    }

    fn spawn(&mut self, scope: &mut Scope) -> Stmt {
        let handle = self.rng.percent(60).then(|| self.fresh("h"));
        let what = if scope.callable > 0 && self.rng.percent(50) {
            match self.call(scope) {
                Stmt::Call(name, args) => Spawned::Call(name, args),
                _ => Spawned::Block(Vec::new()),
            }
        } else {
            let steps = 1 + self.rng.below(2);
            Spawned::Block(self.body(&self.spawned(scope), steps))
        };
        scope.handles.extend(handle.clone());
        Stmt::Spawn(handle, what)
    }

    fn call(&mut self, scope: &Scope) -> Stmt {
        let which = self.rng.below(scope.callable.max(1));
        let Some(procedure) = self.program.procedures.get(which) else {
            return Stmt::Skip;
        };
        let name = procedure.name.clone();
        let types: Vec<Type> = procedure.params.iter().map(|(_, ty)| *ty).collect();
        let args = types
            .into_iter()
            .map(|ty| self.value(scope, ty, 0))
            .collect();
        Stmt::Call(name, args)
    }

    /// Returns an atomic block: reads, writes, tests, and sometimes a statement that blocks inside
    /// it.
    fn atomic(&mut self, scope: &Scope) -> Stmt {
        let scope = Scope {
            in_step: true,
            ..scope.deeper()
        };
        let mut body = Vec::new();
        match self.rng.weighted(&[4, 4, 2, 1]) {
            0 => body.push(self.assignment(&scope)),
            1 if self.config.branches => body.push(self.branch(&scope)),
            2 if self.config.guards => body.push(Stmt::Await(self.test(&scope, 0))),
            3 if !self.program.locks.is_empty() => body.extend(self.section(&mut scope.clone())),
            _ => {}
        }
        if self.rng.percent(85) {
            body.push(self.assignment(&scope))
        } else {
            body.extend(self.body(&scope, 1))
        }
        Stmt::Atomic(body)
    }

    /// Returns an input at the start of a process; the statements after it can depend on it.
    pub(super) fn input(&mut self, scope: &mut Scope) -> Option<Stmt> {
        if !self.config.inputs || self.rng.percent(25) {
            return None;
        }
        let name = self.fresh("q");
        let ty = if self.rng.percent(80) {
            self.number_type()
        } else {
            Type::Bool
        };
        scope.locals.push((name.clone(), ty));
        let most = 1 + i64::from(self.rng.percent(30));
        Some(Stmt::Let(name, Some(ty), Expr::Input(0, most)))
    }

    fn declaration(&mut self, scope: &mut Scope) -> Stmt {
        let name = self.fresh("l");
        let ty = if self.rng.percent(80) {
            self.number_type()
        } else {
            Type::Bool
        };
        let value = self.right_side(scope, ty);
        scope.locals.push((name.clone(), ty));
        Stmt::Let(name, Some(ty), value)
    }

    fn failure(&mut self, scope: &Scope) -> Stmt {
        if self.rng.percent(80) {
            Stmt::Assert(self.test(scope, 0))
        } else {
            Stmt::Error
        }
    }
}
