//! Random statements, within the features of the shape.

use super::{Name, Procedure, TreeBuilder, between, binary};
use crate::features::Feature;
use crate::oracle::ast::{Child, Expr, Init, Kind, Op, Place, ResultTarget, Stmt, Ty};

/// The features with a statement of their own, and their weights.
const STATEMENTS: [(Feature, u32); 28] = [
    (Feature::Spawn, 4),
    (Feature::NestedSpawn, 2),
    (Feature::SpawnCall, 2),
    (Feature::JoinHandle, 3),
    (Feature::JoinOther, 3),
    (Feature::JoinAll, 1),
    (Feature::Guard, 3),
    (Feature::Choice, 3),
    (Feature::GuardedLoop, 2),
    (Feature::Await, 2),
    (Feature::If, 3),
    (Feature::While, 2),
    (Feature::BoundedWhile, 2),
    (Feature::For, 2),
    (Feature::Atomic, 3),
    (Feature::Lock, 3),
    (Feature::LockArray, 3),
    (Feature::Call, 3),
    (Feature::Recursion, 2),
    (Feature::Input, 3),
    (Feature::Local, 4),
    (Feature::LocalArray, 2),
    (Feature::MultiAssign, 2),
    (Feature::Assume, 2),
    (Feature::Assert, 3),
    (Feature::Error, 1),
    (Feature::End, 1),
    (Feature::Update, 6),
];

impl TreeBuilder {
    pub(super) fn block(&mut self, count: usize, depth: usize) -> Vec<Stmt> {
        let (locals, handles) = (self.locals.len(), self.handles.len());
        let mut body = Vec::new();
        while body.len() < count && (self.budget > 0 || body.is_empty()) {
            self.budget = self.budget.saturating_sub(1);
            self.statement(depth, &mut body);
        }
        self.locals.truncate(locals);
        self.handles.truncate(handles);
        body
    }

    fn statement(&mut self, depth: usize, body: &mut Vec<Stmt>) {
        let mut kinds = vec![self.assignment()];
        if self.rng.percent(self.shape.rich) {
            let available: Vec<_> = STATEMENTS
                .into_iter()
                .filter(|(feature, _)| self.has(*feature))
                .collect();
            let weights: Vec<_> = available.iter().map(|(_, weight)| *weight).collect();
            if !available.is_empty() {
                let (feature, _) = available[self.rng.weighted(&weights)];
                kinds = self.special(feature, depth).unwrap_or(kinds);
            }
        }
        body.extend(kinds.into_iter().map(Stmt::new));
    }

    fn assignment(&mut self) -> Kind {
        let locals: Vec<_> = self.locals.clone();
        let name = match self.rng.pick(&locals).cloned() {
            Some(local) if self.rng.percent(15) => local,
            _ => self.some_shared(),
        };
        let place = self.place(&name);
        Kind::Assign(vec![place], vec![self.right(name.ty)])
    }

    /// Returns a statement for this feature; `None` if it does not fit here.
    fn special(&mut self, feature: Feature, depth: usize) -> Option<Vec<Kind>> {
        let nests = depth > 0;
        let kind = match feature {
            Feature::Spawn | Feature::NestedSpawn if nests => return self.spawn(depth),
            Feature::SpawnCall => self.spawn_call()?,
            Feature::JoinHandle | Feature::JoinOther => {
                let handles = self.handles.clone();
                Kind::Join(Some(self.rng.pick(&handles)?.clone()))
            }
            Feature::JoinAll => Kind::Join(None),
            Feature::Guard if nests => {
                let test = self.condition(1);
                Kind::Guard(test, Box::new(self.inner(depth)))
            }
            Feature::Choice if nests => {
                let test = self.condition(1);
                let (first, other) = (self.inner(depth), self.inner(depth));
                Kind::Choice(Box::new(first), test, Box::new(other))
            }
            Feature::Update => self.update(),
            Feature::GuardedLoop => self.guarded_loop()?,
            Feature::Await => Kind::Await(self.condition(1)),
            Feature::If if nests => self.if_(depth),
            Feature::While if nests => self.while_(depth)?,
            Feature::BoundedWhile if nests => {
                let test = self.condition(1);
                let rounds = Expr::Num(self.rng.below(3) as i128);
                Kind::While(test, Some(rounds), None, self.block(1, depth - 1))
            }
            Feature::For if nests => self.for_(depth),
            Feature::Atomic if nests => {
                let count = 1 + self.rng.below(2);
                Kind::Atomic(self.block(count, depth - 1))
            }
            Feature::Lock => return self.locked(depth, false),
            Feature::LockArray => return self.locked(depth, true),
            Feature::Call => self.call(false)?,
            Feature::Recursion => self.call(true)?,
            Feature::Input => return self.input(),
            Feature::Local => self.local(),
            Feature::LocalArray => self.local_array(),
            Feature::MultiAssign => self.several()?,
            Feature::Assume => Kind::Assume(self.condition(1)),
            Feature::Assert => Kind::Assert(self.condition(1), None),
            Feature::Error => Kind::Error(None),
            Feature::End => Kind::End,
            _ => return None,
        };
        Some(vec![kind])
    }

    fn update(&mut self) -> Kind {
        let name = self.some_shared();
        let mut verbs = vec!["swap", "compare_exchange"];
        if name.ty != Ty::Bool {
            verbs.extend(["fetch_add", "fetch_add", "fetch_sub"]);
        }
        let verb = verbs[self.rng.below(verbs.len())];
        let place = self.place(&name);
        let count = 1 + usize::from(verb == "compare_exchange");
        let values = (0..count).map(|_| self.value(name.ty, 1)).collect();
        let ty = match count {
            2 => Ty::Bool,
            _ => name.ty,
        };
        let target = self.rng.percent(60).then(|| self.result_target(ty));
        Kind::Update(target, place, verb.into(), values)
    }

    /// Returns a local for a result, existing or new.
    fn result_target(&mut self, ty: Ty) -> ResultTarget {
        let old = self.locals.clone();
        let old: Vec<Name> = old.into_iter().filter(|name| name.ty == ty).collect();
        match self.rng.pick(&old) {
            Some(name) if self.rng.percent(50) => ResultTarget::Place(self.place(name)),
            _ => {
                let (name, len) = (self.fresh("u"), None);
                self.locals.push(Name {
                    name: name.clone(),
                    ty,
                    len,
                });
                ResultTarget::Let(name)
            }
        }
    }

    /// Returns the statement below a guard or in a choice.
    fn inner(&mut self, depth: usize) -> Stmt {
        let mut body = self.block(1, depth - 1);
        let first = body.remove(0);
        // No other statement could use a name that a `let` or a `spawn` declares directly below a
        // guard.
        match first.kind {
            Kind::Let(..) | Kind::Spawn(Some(_), _) => Stmt::new(self.assignment()),
            kind if body.is_empty() => Stmt::new(kind),
            kind => {
                body.insert(0, Stmt::new(kind));
                Stmt::new(Kind::Seq(body))
            }
        }
    }

    fn spawn(&mut self, depth: usize) -> Option<Vec<Kind>> {
        self.children = self.children.checked_sub(1)?;
        let handle = self.rng.percent(60).then(|| self.fresh("h"));
        let mut kinds = Vec::new();
        if self.has(Feature::Captured) && self.locals.is_empty() {
            kinds.push(self.local());
        }
        let count = 1 + self.rng.below(2);
        let body = self.block(count, depth - 1);
        kinds.push(Kind::Spawn(handle.clone(), Child::Block(body)));
        self.handles.extend(handle.clone());
        if let Some(handle) = handle {
            if self.draws(Feature::JoinOther, 30) && self.children > 0 {
                self.children -= 1;
                let mut body = self.block(1, 0);
                body.insert(0, Stmt::new(Kind::Join(Some(handle))));
                kinds.push(Kind::Spawn(None, Child::Block(body)));
            } else if self.draws(Feature::JoinHandle, 40) {
                kinds.push(self.assignment());
                kinds.push(Kind::Join(Some(handle)));
            }
        }
        Some(kinds)
    }

    fn arguments(&mut self, procedure: &Procedure) -> Vec<Expr> {
        if procedure.recursive {
            return vec![Expr::Num(1 + self.rng.below(2) as i128)];
        }
        procedure.params.iter().map(|ty| self.right(*ty)).collect()
    }

    fn spawn_call(&mut self) -> Option<Kind> {
        let procedures = self.procedures.clone();
        let procedure = self.rng.pick(&procedures)?;
        self.children = self.children.checked_sub(1)?;
        let arguments = self.arguments(procedure);
        let handle = self.rng.percent(50).then(|| self.fresh("h"));
        self.handles.extend(handle.clone());
        Some(Kind::Spawn(
            handle,
            Child::Call(procedure.name.clone(), arguments),
        ))
    }

    fn call(&mut self, recursive: bool) -> Option<Kind> {
        let procedures = self.procedures.clone();
        let procedure = procedures
            .iter()
            .find(|procedure| procedure.recursive == recursive)?;
        Some(Kind::Call(
            procedure.name.clone(),
            self.arguments(procedure),
        ))
    }

    /// Returns a shared number that is not an element, for a loop that counts.
    fn counter(&mut self) -> Option<String> {
        let numbers: Vec<_> = self
            .shared
            .iter()
            .filter(|name| name.ty != Ty::Bool && name.len.is_none())
            .map(|name| name.name.clone())
            .collect();
        self.rng.pick(&numbers).cloned()
    }

    fn guarded_loop(&mut self) -> Option<Kind> {
        let (test, count) = self.counting()?;
        Some(Kind::GuardedLoop(test, Box::new(Stmt::new(count))))
    }

    /// Returns `x < 2` and `x := x + 1`.
    fn counting(&mut self) -> Option<(Expr, Kind)> {
        let name = self.counter()?;
        let read = || Expr::Name(name.clone());
        let test = binary(Op::Lt, read(), Expr::Num(1 + self.rng.below(2) as i128));
        let more = binary(Op::Add, read(), Expr::Num(1));
        let place = Place {
            name: name.clone(),
            index: None,
        };
        Some((test, Kind::Assign(vec![place], vec![more])))
    }

    fn while_(&mut self, depth: usize) -> Option<Kind> {
        let (test, count) = self.counting()?;
        let mut body = vec![Stmt::new(count)];
        if self.rng.percent(40) {
            body.extend(self.block(1, depth - 1));
        }
        Some(Kind::While(test, None, None, body))
    }

    fn if_(&mut self, depth: usize) -> Kind {
        let test = self.condition(1);
        let yes = self.block(1, depth - 1);
        let no = if self.rng.percent(40) {
            self.block(1, depth - 1)
        } else {
            Vec::new()
        };
        Kind::If(test, yes, no)
    }

    fn for_(&mut self, depth: usize) -> Kind {
        let name = self.fresh("j");
        self.locals.push(Name {
            name: name.clone(),
            ty: Ty::Int,
            len: None,
        });
        let high = self.literal(Ty::Int);
        let body = self.block(1, depth - 1);
        self.locals.retain(|local| local.name != name);
        let assigned = body.iter().any(|stmt| assigns(stmt, &name));
        let body = if assigned {
            vec![Stmt::new(Kind::Skip)]
        } else {
            body
        };
        Kind::For(name, Expr::Num(0), high, body)
    }

    fn some_lock(&mut self, array: bool) -> Option<Place> {
        let locks: Vec<_> = self
            .locks
            .iter()
            .filter(|(_, len)| len.is_some() == array)
            .cloned()
            .collect();
        let (name, len) = self.rng.pick(&locks).cloned()?;
        Some(Place {
            name,
            index: len.map(|_| self.index()),
        })
    }

    fn locked(&mut self, depth: usize, array: bool) -> Option<Vec<Kind>> {
        let place = self.some_lock(array)?;
        match self.rng.below(10) {
            0 => Some(vec![Kind::Unlock(place)]),
            1 | 2 => Some(vec![Kind::Lock(place)]),
            _ => {
                let body = self.block(1, depth.saturating_sub(1));
                let inside = body.into_iter().map(|stmt| stmt.kind);
                let mut all = vec![Kind::Lock(place.clone())];
                // Names that are declared inside stay in scope after the `unlock`; later statements
                // may use them.
                all.extend(inside);
                all.push(Kind::Unlock(place));
                Some(all)
            }
        }
    }

    /// Returns an input, mostly restricted to a few values.
    fn input(&mut self) -> Option<Vec<Kind>> {
        self.unknowns = self.unknowns.checked_sub(1)?;
        let ty = [Ty::Bool, Ty::Signed(8), Ty::Unsigned(8)][self.rng.below(3)];
        let name = self.fresh("l");
        let mut all = vec![Kind::Let(
            name.clone(),
            None,
            None,
            Init::One(Expr::Input(Some(ty))),
        )];
        if ty != Ty::Bool && self.rng.percent(60) {
            all.push(Kind::Assume(between(&name)));
        }
        self.locals.push(Name {
            name,
            ty,
            len: None,
        });
        Some(all)
    }

    fn local(&mut self) -> Kind {
        let ty = self.some_shared().ty;
        let value = self.right(ty);
        let name = self.fresh("l");
        self.locals.push(Name {
            name: name.clone(),
            ty,
            len: None,
        });
        Kind::Let(name, Some(ty), None, Init::One(value))
    }

    fn local_array(&mut self) -> Kind {
        let ty = self.some_shared().ty;
        let values = vec![self.value(ty, 1), self.value(ty, 1)];
        let name = self.fresh("l");
        self.locals.push(Name {
            name: name.clone(),
            ty,
            len: Some(2),
        });
        Kind::Let(name, Some(ty), Some(Expr::Num(2)), Init::List(values))
    }

    fn several(&mut self) -> Option<Kind> {
        let (first, other) = (self.some_shared(), self.some_shared());
        if first.name == other.name {
            return None;
        }
        let places = vec![self.place(&first), self.place(&other)];
        Some(Kind::Assign(
            places,
            vec![self.right(first.ty), self.right(other.ty)],
        ))
    }
}

/// Whether the statement assigns this local.
fn assigns(stmt: &Stmt, name: &str) -> bool {
    match &stmt.kind {
        Kind::Assign(places, _) => places.iter().any(|place| place.name == name),
        Kind::Update(Some(ResultTarget::Place(place)), ..) => place.name == name,
        Kind::If(_, yes, no) => yes.iter().chain(no).any(|stmt| assigns(stmt, name)),
        Kind::Guard(_, inner) | Kind::GuardedLoop(_, inner) => assigns(inner, name),
        Kind::Choice(first, _, other) => assigns(first, name) || assigns(other, name),
        Kind::While(.., body) | Kind::For(.., body) | Kind::Atomic(body) | Kind::Seq(body) => {
            body.iter().any(|stmt| assigns(stmt, name))
        }
        Kind::Spawn(_, Child::Block(body)) => body.iter().any(|stmt| assigns(stmt, name)),
        _ => false,
    }
}
