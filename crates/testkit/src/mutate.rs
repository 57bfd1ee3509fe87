//! Generator B: makes programs by mutating others. It was written from docs/language.md alone.
//!
//! It parses a text with the oracle's parser, changes the tree in one to four places, and prints
//! it. The result always parses. Names and types are right in most results; the oracle refuses the
//! other results.

use crate::Rng;
use crate::oracle::ast::{Child, Expr, Init, Item, ItemKind, Kind, Op, Place, Program, Stmt, Ty};
use crate::oracle::{parse, print};

/// Makes a program from one of these texts by one to four mutations. The same seed and the same
/// texts give the same program. `None` if the chosen text is not a program.
///
/// ```
/// use mazurka_testkit::mutate::mutate;
/// let texts = ["var x: int = 0  process { x := 1 }  process { x := 2 }".to_string()];
/// let made = mutate(7, &texts).unwrap();
/// assert_eq!(Some(made), mutate(7, &texts));
/// ```
pub fn mutate(seed: u64, texts: &[String]) -> Option<String> {
    let mut rng = Rng::new(seed ^ 0x00B0_7A7E);
    let mut program = parse(rng.pick(texts)?).ok()?;
    shrink_constants(&mut program);
    let mut mutator = Mutator {
        rng,
        names: 0,
        procedures: Vec::new(),
    };
    for _ in 0..1 + mutator.rng.below(4) {
        mutator.mutate_once(&mut program);
    }
    let added = mutator
        .procedures
        .into_iter()
        .map(|kind| Item { line: 0, kind });
    let first = program
        .items
        .iter()
        .position(|item| matches!(item.kind, ItemKind::Process(..)));
    let at = first.unwrap_or(program.items.len());
    program.items.splice(at..at, added);
    Some(print(&program))
}

/// Replaces the values of constants above 2 by 2, because brute force needs tiny state spaces.
fn shrink_constants(program: &mut Program) {
    for item in &mut program.items {
        if let ItemKind::Const(_, Expr::Num(value)) = &mut item.kind {
            *value = (*value).min(2);
        }
    }
}

/// Makes the random changes to a program.
struct Mutator {
    rng: Rng,
    /// How many fresh names were made.
    names: usize,
    /// The procedures to which statements were moved.
    procedures: Vec<ItemKind>,
}

/// A variable that a process can see, with its type.
type Variable = (String, Ty);

impl Mutator {
    fn mutate_once(&mut self, program: &mut Program) {
        match self.rng.below(20) {
            0..=11 => self.statement(program),
            12..=15 => self.expression(program),
            16 | 17 => self.initial(program),
            18 => self.item(program),
            _ => self.property(program),
        }
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}_{}", self.names)
    }

    /// Returns a random block of the program.
    fn some_block<'a>(&mut self, program: &'a mut Program) -> Option<&'a mut Vec<Stmt>> {
        let mut bodies: Vec<_> = program
            .items
            .iter_mut()
            .filter_map(|item| match &mut item.kind {
                ItemKind::Proc(_, _, body) | ItemKind::Process(_, _, body) => Some(body),
                _ => None,
            })
            .collect();
        let all: usize = bodies.iter_mut().map(|body| count(body)).sum();
        if all == 0 {
            return None;
        }
        let mut left = self.rng.below(all);
        bodies.into_iter().find_map(|body| nth(body, &mut left))
    }

    fn statement(&mut self, program: &mut Program) {
        let shared = shared(program);
        if let Some(block) = self.some_block(program) {
            self.block(block, &shared);
        }
    }

    fn block(&mut self, block: &mut Vec<Stmt>, shared: &[Variable]) {
        let at = self.rng.below(block.len());
        let to = self.rng.below(block.len());
        match self.rng.below(9) {
            0 => {
                block.remove(at);
            }
            1 => {
                let copy = block[at].clone();
                // The language refuses a second `let` of the same name.
                if !names_local(&copy) {
                    block.insert(to, copy);
                }
            }
            2 => block.swap(at, to),
            3 => self.negate(&mut block[at]),
            4 => {
                let new = self.new_statement(shared);
                block.insert(at, new);
            }
            _ => {
                if !names_local(&block[at]) {
                    let inner = std::mem::replace(&mut block[at], Stmt::new(Kind::Skip));
                    block[at] = self.wrapped(inner, shared);
                }
            }
        }
    }

    fn negate(&mut self, stmt: &mut Stmt) {
        let test = match &mut stmt.kind {
            Kind::Guard(test, _)
            | Kind::Choice(_, test, _)
            | Kind::GuardedLoop(test, _)
            | Kind::Await(test)
            | Kind::If(test, ..)
            | Kind::Assert(test, _)
            | Kind::Assume(test) => test,
            _ => return,
        };
        let old = std::mem::replace(test, Expr::Bool(true));
        *test = Expr::Not(Box::new(old));
    }

    /// Returns a condition over shared variables.
    fn condition(&mut self, shared: &[Variable]) -> Expr {
        let Some((name, ty)) = self.rng.pick(shared).cloned() else {
            return Expr::Bool(true);
        };
        let read = Expr::Name(name);
        if ty == Ty::Bool {
            return if self.rng.percent(50) {
                read
            } else {
                Expr::Not(Box::new(read))
            };
        }
        let ops = [Op::Eq, Op::Ne, Op::Le, Op::Gt];
        let value = Expr::Num(self.rng.below(3) as i128);
        Expr::Bin(ops[self.rng.below(4)], Box::new(read), Box::new(value))
    }

    fn new_statement(&mut self, shared: &[Variable]) -> Stmt {
        let test = self.condition(shared);
        Stmt::new(match self.rng.below(8) {
            0 => Kind::Assert(test, None),
            1 => Kind::Assume(test),
            2 => Kind::Await(test),
            3 => Kind::Join(None),
            4 => Kind::If(test, vec![Stmt::new(Kind::Error(None))], Vec::new()),
            5 => Kind::End,
            _ => self.assignment(shared),
        })
    }

    fn assignment(&mut self, shared: &[Variable]) -> Kind {
        let Some((name, ty)) = self.rng.pick(shared).cloned() else {
            return Kind::Skip;
        };
        let value = match ty {
            Ty::Bool => Expr::Bool(self.rng.percent(50)),
            _ if self.rng.percent(20) => {
                Expr::Choose(Box::new(Expr::Num(0)), Box::new(Expr::Num(2)))
            }
            _ => Expr::Num(self.rng.below(3) as i128),
        };
        Kind::Assign(vec![Place { name, index: None }], vec![value])
    }

    /// Wraps a statement in a spawn, procedure, branch, guard, loop or atomic block.
    fn wrapped(&mut self, inner: Stmt, shared: &[Variable]) -> Stmt {
        let test = self.condition(shared);
        let kind = match self.rng.below(10) {
            0 => Kind::Atomic(vec![inner]),
            1 => Kind::If(test, vec![inner], Vec::new()),
            2 => Kind::If(test, Vec::new(), vec![inner]),
            3 => Kind::Guard(test, Box::new(inner)),
            4 => {
                let other = Stmt::new(self.assignment(shared));
                Kind::Choice(Box::new(inner), test, Box::new(other))
            }
            5 => Kind::While(test, Some(Expr::Num(1)), None, vec![inner]),
            6 => {
                // Locals and parameters are not in scope in the procedure. If the statement uses
                // one, the oracle refuses the program.
                let name = self.fresh("moved");
                self.procedures
                    .push(ItemKind::Proc(name.clone(), Vec::new(), vec![inner]));
                Kind::Call(name, Vec::new())
            }
            7 => {
                let handle = self.fresh("child");
                let spawn = Kind::Spawn(Some(handle.clone()), Child::Block(vec![inner]));
                let rest = vec![Stmt::new(spawn), Stmt::new(Kind::Join(Some(handle)))];
                Kind::If(Expr::Bool(true), rest, Vec::new())
            }
            _ => Kind::Spawn(None, Child::Block(vec![inner])),
        };
        Stmt::new(kind)
    }

    /// Changes one expression: a constant becomes a variable, a variable an input, and so on.
    fn expression(&mut self, program: &mut Program) {
        let shared = shared(program);
        let Some(block) = self.some_block(program) else {
            return;
        };
        let mut sides = Vec::new();
        for stmt in block {
            match &mut stmt.kind {
                Kind::Assign(_, values) => sides.extend(values.iter_mut().map(|e| (e, true))),
                Kind::Let(_, _, _, Init::One(value)) => sides.push((value, true)),
                Kind::Assert(test, _)
                | Kind::Assume(test)
                | Kind::Await(test)
                | Kind::If(test, ..)
                | Kind::Guard(test, _)
                | Kind::GuardedLoop(test, _) => sides.push((test, false)),
                _ => {}
            }
        }
        if sides.is_empty() {
            return;
        }
        let at = self.rng.below(sides.len());
        let (side, right) = sides.swap_remove(at);
        if right && self.rng.percent(25) {
            self.unknown(side, &shared);
        } else {
            self.rewrite(side, &shared);
        }
    }

    /// Replaces a variable by an input of its type.
    fn unknown(&mut self, side: &mut Expr, shared: &[Variable]) {
        let ty = match side {
            Expr::Name(name) => shared.iter().find(|(n, _)| n == name).map(|(_, ty)| *ty),
            Expr::Bool(_) => Some(Ty::Bool),
            _ => None,
        };
        match ty {
            Some(ty) if ty != Ty::Int => *side = Expr::Input(Some(ty)),
            _ => *side = Expr::Choose(Box::new(Expr::Num(0)), Box::new(Expr::Num(3))),
        }
    }

    fn rewrite(&mut self, e: &mut Expr, shared: &[Variable]) {
        match e {
            Expr::Bool(value) => *value = !*value,
            Expr::Len(_) => {}
            Expr::Num(value) => {
                let numbers: Vec<_> = shared.iter().filter(|(_, ty)| *ty != Ty::Bool).collect();
                match self.rng.pick(&numbers) {
                    Some((name, _)) if self.rng.percent(50) => *e = Expr::Name(name.clone()),
                    _ => *value += 1,
                }
            }
            Expr::Name(name) => {
                let ty = shared
                    .iter()
                    .find(|(other, _)| other == name)
                    .map(|(_, ty)| *ty);
                let same: Vec<_> = shared
                    .iter()
                    .filter(|(_, other)| Some(*other) == ty)
                    .collect();
                if let Some((other, _)) = self.rng.pick(&same) {
                    *name = other.clone();
                }
            }
            Expr::Index(_, inner) | Expr::Not(inner) | Expr::Neg(inner) | Expr::Pick(_, inner) => {
                self.rewrite(inner, shared);
            }
            Expr::Bin(op, left, right) => match self.rng.below(3) {
                0 => *op = self.other(*op),
                1 => self.rewrite(left, shared),
                _ => self.rewrite(right, shared),
            },
            Expr::If(test, yes, no) => match self.rng.below(2) {
                0 => self.rewrite(test, shared),
                _ => std::mem::swap(yes, no),
            },
            Expr::Choose(_, high) => self.rewrite(high, shared),
            Expr::Input(_) => {}
        }
    }

    /// Returns another operator of the same kind.
    fn other(&mut self, op: Op) -> Op {
        let same: Vec<Op> = Op::ALL
            .iter()
            .map(|(other, _)| *other)
            .filter(|o| o.compares() == op.compares() && o.logical() == op.logical())
            .collect();
        self.rng.pick(&same).copied().unwrap_or(op)
    }

    /// Changes or removes an initial value.
    fn initial(&mut self, program: &mut Program) {
        let mut all: Vec<_> = program
            .items
            .iter_mut()
            .filter_map(|item| match &mut item.kind {
                ItemKind::Var(_, ty, size, init) => Some((*ty, size.is_some(), init)),
                _ => None,
            })
            .collect();
        if all.is_empty() {
            return;
        }
        let at = self.rng.below(all.len());
        let (ty, array, init) = all.swap_remove(at);
        let small = matches!(ty, Ty::Bool | Ty::Signed(8) | Ty::Unsigned(8)) && !array;
        if small && self.rng.percent(60) {
            *init = None;
        } else if let Some(Init::One(value)) = init {
            self.rewrite(value, &[]);
        }
    }

    /// Duplicates a process, or changes a type or the atomicity.
    fn item(&mut self, program: &mut Program) {
        let at = self.rng.below(program.items.len());
        match &mut program.items[at].kind {
            ItemKind::Process(..) if self.rng.percent(50) => {
                let copy = program.items[at].clone();
                program.items.push(copy);
            }
            ItemKind::Var(_, ty, ..) if *ty != Ty::Bool => {
                *ty = [Ty::Int, Ty::Signed(8), Ty::Unsigned(8)][self.rng.below(3)];
            }
            ItemKind::Atomicity(access) => *access = !*access,
            ItemKind::Requires(..) => {}
            _ => {
                let access = |item: &Item| matches!(item.kind, ItemKind::Atomicity(_));
                if !program.items.iter().any(access) {
                    program.items.insert(
                        0,
                        Item {
                            line: 0,
                            kind: ItemKind::Atomicity(true),
                        },
                    );
                }
            }
        }
    }

    fn property(&mut self, program: &mut Program) {
        let test = self.condition(&shared(program));
        let last = program
            .items
            .iter()
            .rposition(|item| matches!(item.kind, ItemKind::Var(..)));
        let kind = if self.rng.percent(50) {
            ItemKind::Invariant(None, test)
        } else {
            ItemKind::Ensures(None, test)
        };
        program
            .items
            .insert(last.map_or(0, |last| last + 1), Item { line: 0, kind });
    }
}

/// Returns the shared variables that are not arrays.
fn shared(program: &Program) -> Vec<Variable> {
    let mut all = Vec::new();
    for item in &program.items {
        if let ItemKind::Var(names, ty, None, _) = &item.kind {
            all.extend(names.iter().map(|name| (name.clone(), *ty)));
        }
    }
    all
}

/// Whether the statement declares a name that later statements of its block may use.
fn names_local(stmt: &Stmt) -> bool {
    matches!(stmt.kind, Kind::Let(..) | Kind::Spawn(Some(_), _))
}

/// Returns the blocks directly within a statement.
fn blocks_of(kind: &mut Kind) -> Vec<&mut Vec<Stmt>> {
    match kind {
        Kind::If(_, yes, no) => vec![yes, no],
        Kind::While(.., body)
        | Kind::For(.., body)
        | Kind::Atomic(body)
        | Kind::Seq(body)
        | Kind::Spawn(_, Child::Block(body)) => vec![body],
        Kind::Guard(_, inner) | Kind::GuardedLoop(_, inner) => blocks_of(&mut inner.kind),
        Kind::Choice(first, _, other) => {
            let mut all = blocks_of(&mut first.kind);
            all.extend(blocks_of(&mut other.kind));
            all
        }
        _ => Vec::new(),
    }
}

/// Returns the number of non-empty blocks within this block, including itself.
fn count(body: &mut [Stmt]) -> usize {
    let inner = body
        .iter_mut()
        .flat_map(|stmt| blocks_of(&mut stmt.kind))
        .map(|block| count(block));
    let inner: usize = inner.sum();
    inner + usize::from(!body.is_empty())
}

/// Returns the block with this number, in the order of [`count`].
fn nth<'a>(body: &'a mut Vec<Stmt>, left: &mut usize) -> Option<&'a mut Vec<Stmt>> {
    if !body.is_empty() {
        if *left == 0 {
            return Some(body);
        }
        *left -= 1;
    }
    body.iter_mut()
        .flat_map(|stmt| blocks_of(&mut stmt.kind))
        .find_map(|block| nth(block, left))
}
