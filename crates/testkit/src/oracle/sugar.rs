//! Replaces, while parsing, the constructs that docs/language.md defines by other constructs: named
//! types, ranges, dimensions, constant arrays, functions, quantifiers and `match`.

use std::collections::HashMap;

use super::ast::{Expr, Init, ItemKind, Kind, Op, Place, Stmt, Ty};
use super::lex::Token;
use super::parse::{Parsed, Parser};

/// A type without its dimensions: the type of an element of an array.
#[derive(Clone, Debug)]
pub(super) enum Base {
    Plain(Ty),
    Range(i128, i128),
    Struct(String),
}

/// A type with its dimensions.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub base: Base,
    pub dims: Vec<usize>,
}

/// A value as it is written in a declaration: one expression, a list, or the fields of a `struct`.
#[derive(Clone, Debug)]
pub(super) enum Tree {
    One(Expr),
    Fields(Vec<(String, Tree)>),
    List(Vec<Tree>),
}

/// A function: its parameters, its local names with their values, and its result.
#[derive(Clone, Debug)]
struct Function {
    params: Vec<String>,
    lets: Vec<(String, Expr)>,
    value: Expr,
}

/// The declarations so far.
#[derive(Default)]
pub(super) struct Declarations {
    enums: HashMap<String, Vec<String>>,
    pub structs: HashMap<String, Vec<(String, Type)>>,
    functions: HashMap<String, Function>,
    consts: HashMap<String, i128>,
    tables: HashMap<String, (Vec<usize>, Vec<i128>)>,
    /// The dimensions of variables that have several.
    dims: HashMap<String, Vec<usize>>,
    /// The lengths of arrays.
    lens: HashMap<String, usize>,
    /// The variables whose type is a `struct`, with the name of the `struct`.
    pub records: HashMap<String, String>,
    /// The objects, each with the keyword of its declaration, such as `semaphore`.
    pub objects: HashMap<String, String>,
    /// The channels whose messages are a `struct`, with the name of the `struct`.
    pub messages: HashMap<String, String>,
    /// The number of hidden variables so far; each holds the value of a `match` statement.
    hidden: usize,
    /// The variables that are declared `atomic`.
    pub atomic: Vec<String>,
    /// The constants whose values in the text are replaced (`--set`), with the new values.
    set: HashMap<String, i128>,
}

impl Declarations {
    /// Makes declarations that contain nothing except values for these constants.
    pub fn with(set: &[(String, i128)]) -> Self {
        Self {
            set: set.iter().cloned().collect(),
            ..Self::default()
        }
    }
}

pub(super) fn bin(op: Op, left: Expr, right: Expr) -> Expr {
    Expr::Bin(op, Box::new(left), Box::new(right))
}

/// Replaces a name in an expression by another expression.
fn substitute(e: &Expr, name: &str, value: &Expr) -> Expr {
    let within = |e: &Expr| Box::new(substitute(e, name, value));
    match e {
        Expr::Name(found) if found == name => value.clone(),
        Expr::Index(array, index) => Expr::Index(array.clone(), within(index)),
        Expr::Pick(numbers, index) => match number(&substitute(index, name, value)) {
            Some(at) if (0..numbers.len() as i128).contains(&at) => Expr::Num(numbers[at as usize]),
            _ => Expr::Pick(numbers.clone(), within(index)),
        },
        Expr::Not(e) => Expr::Not(within(e)),
        Expr::Neg(e) => Expr::Neg(within(e)),
        Expr::Bin(op, a, b) => {
            let (a, b) = (substitute(a, name, value), substitute(b, name, value));
            // Constant operands are folded, so that a constant index names one element.
            match (op, number(&a), number(&b)) {
                (Op::Add, Some(a), Some(b)) => Expr::Num(a + b),
                (Op::Mul, Some(a), Some(b)) => Expr::Num(a * b),
                (Op::Sub, Some(a), Some(b)) => Expr::Num(a - b),
                _ => bin(*op, a, b),
            }
        }
        Expr::If(a, b, c) => Expr::If(within(a), within(b), within(c)),
        Expr::Choose(a, b) => Expr::Choose(within(a), within(b)),
        Expr::Len(place) => Expr::Len(Box::new(Place {
            name: place.name.clone(),
            index: place
                .index
                .as_ref()
                .map(|index| substitute(index, name, value)),
        })),
        other => other.clone(),
    }
}

fn number(e: &Expr) -> Option<i128> {
    match e {
        Expr::Num(value) => Some(*value),
        _ => None,
    }
}

fn substitute_in_tree(tree: &Tree, name: &str, value: &Expr) -> Tree {
    match tree {
        Tree::One(e) => Tree::One(substitute(e, name, value)),
        Tree::List(all) => Tree::List(
            all.iter()
                .map(|t| substitute_in_tree(t, name, value))
                .collect(),
        ),
        Tree::Fields(all) => Tree::Fields(
            all.iter()
                .map(|(field, t)| (field.clone(), substitute_in_tree(t, name, value)))
                .collect(),
        ),
    }
}

impl Parser {
    pub(super) fn word_after(&self, count: usize) -> Option<&str> {
        match self.tokens.get(self.at + count).map(|(token, _)| token) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    pub(super) fn sign_after(&self, count: usize) -> Option<&'static str> {
        match self.tokens.get(self.at + count).map(|(token, _)| token) {
            Some(Token::Sign(sign)) => Some(sign),
            _ => None,
        }
    }

    /// Parses a constant expression of numbers and returns its value.
    fn constant(&mut self) -> Parsed<i128> {
        let e = self.expr()?;
        self.fold(&e)
    }

    fn fold(&self, e: &Expr) -> Parsed<i128> {
        Ok(match e {
            Expr::Num(value) => *value,
            Expr::Name(name) => *self
                .known
                .consts
                .get(name)
                .ok_or_else(|| format!("{name} is not a constant"))?,
            Expr::Neg(e) => -self.fold(e)?,
            Expr::Bin(Op::Add, a, b) => self.fold(a)? + self.fold(b)?,
            Expr::Bin(Op::Sub, a, b) => self.fold(a)? - self.fold(b)?,
            Expr::Bin(Op::Mul, a, b) => self.fold(a)? * self.fold(b)?,
            _ => return Err("a constant that is not folded".into()),
        })
    }

    /// Parses the type of a single value.
    pub(super) fn plain_type(&mut self) -> Parsed<Ty> {
        match self.base()? {
            Base::Plain(ty) => Ok(ty),
            _ => Err("only single values here".into()),
        }
    }

    fn base(&mut self) -> Parsed<Base> {
        if let Some(word) = self.word_after(0).map(str::to_owned) {
            if self.known.enums.contains_key(&word) {
                self.at += 1;
                return Ok(Base::Plain(Ty::Int));
            }
            if self.known.structs.contains_key(&word) {
                self.at += 1;
                return Ok(Base::Struct(word));
            }
            if Ty::named(&word).is_some() {
                return Ok(Base::Plain(self.ty()?));
            }
        }
        let bound = |parser: &mut Self| match parser.peek().clone() {
            Token::Number(value) => {
                parser.at += 1;
                Ok(value)
            }
            Token::Word(name) => {
                parser.at += 1;
                parser.fold(&Expr::Name(name))
            }
            _ => parser.wrong("a bound"),
        };
        let low = bound(self)?;
        self.need("..")?;
        Ok(Base::Range(low, bound(self)?))
    }

    /// Parses the type of a message: the types of its fields, and the name of the `struct` if it is
    /// one.
    pub(super) fn message_type(&mut self) -> Parsed<(Vec<Ty>, Option<String>)> {
        match self.base()? {
            Base::Plain(ty) => Ok((vec![ty], None)),
            Base::Range(..) => Ok((vec![Ty::Int], None)),
            Base::Struct(of) => {
                let mut fields = Vec::new();
                for (_, ty) in &self.known.structs[&of] {
                    match (&ty.base, ty.dims.is_empty()) {
                        (Base::Plain(ty), true) => fields.push(*ty),
                        _ => return Err("a message with arrays".into()),
                    }
                }
                Ok((fields, Some(of)))
            }
        }
    }

    fn declared_type(&mut self) -> Parsed<Type> {
        let base = self.base()?;
        let mut dims = Vec::new();
        while self.has("[") {
            let size = self.constant()?;
            self.need("]")?;
            let size = usize::try_from(size).ok().filter(|size| *size > 0);
            dims.push(size.ok_or("not a valid size")?);
        }
        Ok(Type { base, dims })
    }

    /// Parses a declaration that is sugar; `None` for other declarations.
    pub(super) fn sugared_item(&mut self) -> Parsed<Option<Vec<ItemKind>>> {
        let Some(word) = self.word_after(0).map(str::to_owned) else {
            return Ok(None);
        };
        let named = self.word_after(1).is_some();
        if let Some(objects) = self.object_item()? {
            return Ok(Some(objects));
        }
        Ok(Some(match (word.as_str(), self.sign_after(2)) {
            ("enum", Some("{")) if named => self.enumeration()?,
            ("struct", Some("{")) if named => self.structure()?,
            ("fn", Some("(")) if named => self.function()?,
            ("observe", _) => {
                self.at += 1;
                let names = self.list(Self::name)?;
                let mut all = Vec::new();
                for name in names {
                    self.observed(name, &mut all);
                }
                vec![ItemKind::Observe(all)]
            }
            ("const", _) => {
                self.at += 1;
                self.constant_item()?
            }
            ("var", _) => {
                self.at += 1;
                self.variables()?
            }
            _ => return Ok(None),
        }))
    }

    /// Adds an observed variable, or the variables that replace it.
    fn observed(&self, name: String, into: &mut Vec<String>) {
        match self.known.records.get(&name) {
            None => into.push(name),
            Some(of) => {
                for (field, _) in &self.known.structs[of] {
                    self.observed(format!("{name}.{field}"), into);
                }
            }
        }
    }

    fn enumeration(&mut self) -> Parsed<Vec<ItemKind>> {
        self.at += 1;
        let name = self.name()?;
        self.need("{")?;
        let members = self.list(Self::name)?;
        self.need("}")?;
        let mut items = Vec::new();
        for (value, member) in (0..).zip(&members) {
            self.known.consts.insert(member.clone(), value);
            items.push(ItemKind::Const(member.clone(), Expr::Num(value)));
        }
        self.known.enums.insert(name, members);
        Ok(items)
    }

    fn structure(&mut self) -> Parsed<Vec<ItemKind>> {
        self.at += 1;
        let name = self.name()?;
        self.need("{")?;
        let fields = self.list(|parser| {
            let field = parser.name()?;
            parser.need(":")?;
            Ok((field, parser.declared_type()?))
        })?;
        self.need("}")?;
        self.known.structs.insert(name, fields);
        Ok(Vec::new())
    }

    fn function(&mut self) -> Parsed<Vec<ItemKind>> {
        self.at += 1;
        let name = self.name()?;
        self.need("(")?;
        let mut params = Vec::new();
        if !self.sees(")") {
            params = self.list(|parser| {
                let param = parser.name()?;
                parser.need(":")?;
                parser.plain_type()?;
                Ok(param)
            })?;
        }
        self.need(")")?;
        self.need(":")?;
        self.plain_type()?;
        self.need("{")?;
        let mut lets = Vec::new();
        while self.has_word("let") {
            let name = self.name()?;
            self.need("=")?;
            lets.push((name, self.expr()?));
            self.need(";")?;
        }
        let value = self.expr()?;
        self.need("}")?;
        let function = Function {
            params,
            lets,
            value,
        };
        self.known.functions.insert(name, function);
        Ok(Vec::new())
    }

    fn constant_item(&mut self) -> Parsed<Vec<ItemKind>> {
        let name = self.name()?;
        self.need("=")?;
        if !self.sees("[") {
            let value = self.expr()?;
            let set = self.known.set.get(&name).copied();
            if let Some(number) = set.or_else(|| self.fold(&value).ok()) {
                self.known.consts.insert(name.clone(), number);
            }
            return Ok(vec![ItemKind::Const(name, value)]);
        }
        let tree = self.tree()?;
        let mut dims = Vec::new();
        let mut row = &tree;
        while let Tree::List(items) = row {
            dims.push(items.len());
            row = items.first().ok_or("an empty list")?;
        }
        let mut values = Vec::new();
        self.numbers(&tree, &mut values)?;
        if values.len() != dims.iter().product::<usize>() {
            return Err("rows of different lengths".into());
        }
        self.known.tables.insert(name, (dims, values));
        Ok(Vec::new())
    }

    fn numbers(&self, tree: &Tree, into: &mut Vec<i128>) -> Parsed<()> {
        match tree {
            Tree::One(e) => into.push(self.fold(e)?),
            Tree::List(all) => all.iter().try_for_each(|t| self.numbers(t, into))?,
            Tree::Fields(_) => return Err("a constant of a struct".into()),
        }
        Ok(())
    }

    /// Parses a value in a declaration.
    pub(super) fn tree(&mut self) -> Parsed<Tree> {
        if self.has("[") {
            let first = self.tree()?;
            if self.has_word("for") {
                let name = self.name()?;
                if !self.has_word("in") {
                    return self.wrong("in");
                }
                let low = self.constant()?;
                self.need("..")?;
                let high = self.constant()?;
                self.need("]")?;
                let each = (low..high).map(|at| substitute_in_tree(&first, &name, &Expr::Num(at)));
                return Ok(Tree::List(each.collect()));
            }
            let mut all = vec![first];
            while self.has(",") {
                all.push(self.tree()?);
            }
            self.need("]")?;
            return Ok(Tree::List(all));
        }
        if self.at_literal() {
            self.at += 2;
            let fields = self.list(|parser| {
                let field = parser.name()?;
                parser.need(":")?;
                Ok((field, parser.tree()?))
            })?;
            self.need(")")?;
            return Ok(Tree::Fields(fields));
        }
        Ok(Tree::One(self.expr()?))
    }

    /// Whether a literal such as `Msg(` is next.
    pub(super) fn at_literal(&self) -> bool {
        let is_struct = |word: &str| self.known.structs.contains_key(word);
        self.word_after(0).is_some_and(is_struct) && self.sign_after(1) == Some("(")
    }

    fn variables(&mut self) -> Parsed<Vec<ItemKind>> {
        let names = self.list(Self::name)?;
        self.need(":")?;
        if self.has_word("atomic") {
            self.known.atomic.extend(names.iter().cloned());
        }
        let ty = self.declared_type()?;
        let tree = if self.has("=") {
            Some(self.tree()?)
        } else {
            None
        };
        let mut items = Vec::new();
        for name in names {
            self.variable(&name, &ty, tree.as_ref(), &mut items)?;
        }
        Ok(items)
    }

    /// Declares one variable, or one for each of its fields.
    fn variable(
        &mut self,
        name: &str,
        ty: &Type,
        tree: Option<&Tree>,
        items: &mut Vec<ItemKind>,
    ) -> Parsed<()> {
        let len = (!ty.dims.is_empty()).then(|| ty.dims.iter().product::<usize>());
        if ty.dims.len() > 1 {
            self.known.dims.insert(name.into(), ty.dims.clone());
        }
        if let Some(len) = len {
            self.known.lens.insert(name.into(), len);
        }
        if let Base::Struct(of) = &ty.base {
            self.known.records.insert(name.into(), of.clone());
            for (field, inner) in self.known.structs[of].clone() {
                let mut dims = ty.dims.clone();
                dims.extend(&inner.dims);
                let inner = Type { dims, ..inner };
                let part = tree.map(|tree| of_field(tree, &field)).transpose()?;
                self.variable(&format!("{name}.{field}"), &inner, part.as_ref(), items)?;
            }
            return Ok(());
        }
        let plain = match ty.base {
            Base::Plain(plain) => plain,
            _ => Ty::Int,
        };
        let init = tree
            .map(|tree| match (tree, len) {
                (Tree::One(e), _) => Ok(Init::One(e.clone())),
                (tree, Some(_)) => Ok(Init::List(spread(tree, &ty.dims)?)),
                _ => Err("a list for one value".to_string()),
            })
            .transpose()?;
        let size = len.map(|len| Expr::Num(len as i128));
        items.push(ItemKind::Var(vec![name.into()], plain, size, init));
        if let Base::Range(low, high) = ty.base {
            for at in 0..len.unwrap_or(1) {
                let value = match len {
                    None => Expr::Name(name.into()),
                    Some(_) => Expr::Index(name.into(), Box::new(Expr::Num(at as i128))),
                };
                let least = bin(Op::Le, Expr::Num(low), value.clone());
                let inside = bin(Op::And, least, bin(Op::Lt, value, Expr::Num(high)));
                if tree.is_none() {
                    items.push(ItemKind::Requires(None, inside.clone()));
                }
                items.push(ItemKind::Invariant(None, inside));
            }
        }
        Ok(())
    }

    /// Parses a variable with indices and fields.
    pub(super) fn path(&mut self) -> Parsed<Place> {
        let mut name = self.name()?;
        let mut indices = Vec::new();
        loop {
            if let Some(index) = self.size()? {
                indices.push(index);
            } else if self.sees(".") && self.word_after(1).is_some() && !self.sees_verb() {
                self.at += 1;
                name = format!("{name}.{}", self.name()?);
            } else {
                break;
            }
        }
        let index = self.flat(&name, indices)?;
        Ok(Place { name, index })
    }

    /// Returns the index into the flat array.
    fn flat(&self, name: &str, mut indices: Vec<Expr>) -> Parsed<Option<Expr>> {
        let table = self.known.tables.get(name).map(|(dims, _)| dims);
        let Some(dims) = self.known.dims.get(name).or(table).filter(|d| d.len() > 1) else {
            return match indices.len() {
                0 | 1 => Ok(indices.pop()),
                _ => Err(format!("{name} has fewer dimensions")),
            };
        };
        if dims.len() != indices.len() {
            return Err(format!("{name} has {} dimensions", dims.len()));
        }
        let mut flat = Expr::Num(0);
        for (index, &dim) in indices.into_iter().zip(dims) {
            let index = match number(&index) {
                Some(at) if (0..dim as i128).contains(&at) => index,
                _ => Expr::Pick((0..dim as i128).collect(), Box::new(index)),
            };
            flat = match (number(&flat), number(&index)) {
                (Some(0), _) => index,
                (Some(rows), Some(at)) => Expr::Num(rows * dim as i128 + at),
                _ => bin(Op::Add, bin(Op::Mul, flat, Expr::Num(dim as i128)), index),
            };
        }
        Ok(Some(flat))
    }

    /// Parses an expression that is sugar; `None` for other expressions.
    pub(super) fn sugared_value(&mut self) -> Parsed<Option<Expr>> {
        let Some(word) = self.word_after(0).map(str::to_owned) else {
            return Ok(None);
        };
        if let Some(length) = self.length()? {
            return Ok(Some(length));
        }
        if self.word_after(1).is_some() && self.word_after(2) == Some("in") {
            return self.quantified(&word).map(Some);
        }
        if word == "match" && self.word_after(1).is_some() {
            return self.match_value().map(Some);
        }
        if self.known.functions.contains_key(&word) && self.sign_after(1) == Some("(") {
            self.at += 1;
            let arguments = self.arguments()?;
            let function = self.known.functions[&word].clone();
            if arguments.len() != function.params.len() {
                return self.wrong("as many arguments as parameters");
            }
            let given = |e: &Expr| {
                let pairs = function.params.iter().zip(&arguments);
                pairs.fold(e.clone(), |e, (name, value)| substitute(&e, name, value))
            };
            let mut value = function.value.clone();
            for (name, e) in function.lets.iter().rev() {
                value = substitute(&value, name, e);
            }
            return Ok(Some(given(&value)));
        }
        if self.known.tables.contains_key(&word) {
            let place = self.path()?;
            let numbers = self.known.tables[&word].1.clone();
            let index = place.index.ok_or("a constant array without index")?;
            return Ok(Some(match number(&index) {
                Some(at) if (0..numbers.len() as i128).contains(&at) => {
                    Expr::Num(numbers[at as usize])
                }
                _ => Expr::Pick(numbers, Box::new(index)),
            }));
        }
        Ok(None)
    }

    fn quantified(&mut self, word: &str) -> Parsed<Expr> {
        self.at += 1;
        let name = self.name()?;
        self.at += 1;
        let array = self.word_after(0).map(str::to_owned);
        let array = array.filter(|_| self.sign_after(1) == Some(":"));
        let over = match array {
            Some(array) => {
                self.at += 1;
                Expr::Name(array)
            }
            None => self.expr()?,
        };
        let values: Vec<Expr> = if self.has("..") {
            let low = self.fold(&over)?;
            (low..self.constant()?).map(Expr::Num).collect()
        } else {
            let Expr::Name(array) = over else {
                return self.wrong("an array");
            };
            let table = self.known.tables.get(&array).map(|(_, values)| values);
            match (table, self.known.lens.get(&array)) {
                (Some(values), _) => values.iter().copied().map(Expr::Num).collect(),
                (None, Some(len)) => (0..*len)
                    .map(|at| Expr::Index(array.clone(), Box::new(Expr::Num(at as i128))))
                    .collect(),
                (None, None) => return self.wrong("an array"),
            }
        };
        self.need(":")?;
        let body = self.expr()?;
        let parts = values.iter().map(|value| substitute(&body, &name, value));
        let one = |e| Expr::If(Box::new(e), Box::new(Expr::Num(1)), Box::new(Expr::Num(0)));
        let joined = match word {
            "forall" => parts.reduce(|a, b| bin(Op::And, a, b)),
            "exists" => parts.reduce(|a, b| bin(Op::Or, a, b)),
            "sum" => parts.reduce(|a, b| bin(Op::Add, a, b)),
            "count" => parts.map(one).reduce(|a, b| bin(Op::Add, a, b)),
            "min" | "max" => {
                let op = if word == "min" { Op::Le } else { Op::Ge };
                parts.reduce(|a, b| {
                    let test = bin(op, a.clone(), b.clone());
                    Expr::If(Box::new(test), Box::new(a), Box::new(b))
                })
            }
            _ => return self.wrong("a quantifier"),
        };
        let nothing = match word {
            "forall" => Some(Expr::Bool(true)),
            "exists" => Some(Expr::Bool(false)),
            "sum" | "count" => Some(Expr::Num(0)),
            _ => None,
        };
        joined
            .or(nothing)
            .ok_or_else(|| "the least value of an empty list".into())
    }

    /// Parses the members of a case; empty for `else`.
    fn members(&mut self) -> Parsed<Vec<String>> {
        if self.has_word("else") {
            return Ok(Vec::new());
        }
        self.list(Self::name)
    }

    fn is_member(&self, value: &Expr, members: &[String]) -> Parsed<Expr> {
        let mut tests = Vec::new();
        for member in members {
            let number = self.fold(&Expr::Name(member.clone()))?;
            tests.push(bin(Op::Eq, value.clone(), Expr::Num(number)));
        }
        let test = tests.into_iter().reduce(|a, b| bin(Op::Or, a, b));
        test.ok_or_else(|| "a case without members".into())
    }

    fn match_value(&mut self) -> Parsed<Expr> {
        self.at += 1;
        let value = self.expr()?;
        self.need("{")?;
        let mut cases = Vec::new();
        while !self.sees("}") {
            let members = self.members()?;
            self.need(":")?;
            cases.push((members, self.expr()?));
            if !self.has(",") {
                break;
            }
        }
        self.need("}")?;
        // The cases are exhaustive, so the last one covers all remaining members.
        let (_, mut all) = cases.pop().ok_or("a match without cases")?;
        while let Some((members, given)) = cases.pop() {
            let test = self.is_member(&value, &members)?;
            all = Expr::If(Box::new(test), Box::new(given), Box::new(all));
        }
        Ok(all)
    }

    pub(super) fn match_statement(&mut self) -> Parsed<Kind> {
        self.at += 1;
        let value = self.expr()?;
        self.need("{")?;
        let mut cases = Vec::new();
        while !self.sees("}") {
            let members = self.members()?;
            cases.push((members, self.block()?));
        }
        self.need("}")?;
        self.known.hidden += 1;
        let hidden_name = format!("match {}", self.known.hidden);
        let (_, mut all) = cases.pop().ok_or("a match without cases")?;
        while let Some((members, body)) = cases.pop() {
            let test = self.is_member(&Expr::Name(hidden_name.clone()), &members)?;
            all = vec![Stmt::new(Kind::If(test, body, all))];
        }
        let keep = Kind::Let(hidden_name, Some(Ty::Int), None, Init::One(value));
        all.insert(0, Stmt::new(keep));
        Ok(Kind::Seq(all))
    }
}

/// Returns the values of one field of a tree of `struct` values.
fn of_field(tree: &Tree, field: &str) -> Parsed<Tree> {
    match tree {
        Tree::Fields(all) => {
            let found = all.iter().find(|(name, _)| name == field);
            let found = found.map(|(_, tree)| tree.clone());
            found.ok_or_else(|| format!("no value for {field}"))
        }
        Tree::List(all) => {
            let all: Parsed<Vec<Tree>> = all.iter().map(|tree| of_field(tree, field)).collect();
            Ok(Tree::List(all?))
        }
        Tree::One(_) => Err("a value that is not a struct".into()),
    }
}

/// Returns the elements of an array with these dimensions.
fn spread(tree: &Tree, dims: &[usize]) -> Parsed<Vec<Expr>> {
    match (tree, dims.split_first()) {
        (Tree::One(e), _) => Ok(vec![e.clone(); dims.iter().product()]),
        (Tree::List(all), Some((len, inner))) if all.len() == *len => {
            let mut values = Vec::new();
            for tree in all {
                values.extend(spread(tree, inner)?);
            }
            Ok(values)
        }
        _ => Err("another number of values".into()),
    }
}
