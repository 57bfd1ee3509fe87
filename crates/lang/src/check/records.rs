//! Named types, and variables of `struct` types.
//!
//! A variable of a `struct` type is lowered to one variable for each field, so fields are separate
//! locations: `q[i].from` is an element of the array `q.from`. An array with several dimensions is
//! lowered to an array with one dimension. Each index is looked up in the [table](Table) of its
//! dimension, so an index out of bounds fails.

use std::sync::Arc;

use mazurka_diagnostics::{Diagnostic, Span, nearest};

use super::body::{BodyChecker, Meaning};
use super::types::{Ty, Typed};
use super::{Checker, ExpectedName};
use crate::check::hir::{
    BinaryOp, Expr, ExprKind, LocalId, Place, Property, Shape, Table, Type, Var, VarId,
};
use crate::syntax::ast::{self, Base, Name, Param, Selector, TypeExpr};

/// The declared type that a name refers to.
#[derive(Clone, Copy, Debug)]
pub(super) enum TypeName {
    Enum(u16),
    Struct(u32),
}

/// A `struct`.
pub(super) struct Struct<'s> {
    pub name: Name<'s>,
    pub fields: Vec<Param<'s>>,
    /// The number of variables that a variable of this type is lowered to.
    pub leaves: usize,
}

/// The type of the elements of a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Declared {
    /// A type with a mistake that was reported.
    Poison,
    Plain(Type),
    Struct(u32),
}

impl Declared {
    /// Returns the type of a single value; `None` for a `struct`, which is reported elsewhere, and
    /// for a mistake.
    pub fn plain(self) -> Option<Type> {
        match self {
            Declared::Plain(ty) => Some(ty),
            Declared::Poison | Declared::Struct(_) => None,
        }
    }
}

/// A variable of a `struct` type, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Record {
    /// The index of the `struct`.
    pub ty: u32,
    /// How many indices select one value of the `struct` type.
    pub depth: usize,
    pub fields: Vec<Part>,
}

/// The variable or record that a field is lowered to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Var(VarId),
    Local(LocalId),
    Record(u32),
}

/// The result of selecting with indices and fields.
pub(super) enum Selected {
    Poison,
    /// A variable or an element of it.
    Value(Place, Type),
    /// An element of a constant array.
    Constant(Typed),
    /// A value of a `struct` type: the index of its record, and the indices that select the value.
    Record(u32, Vec<Expr>),
}

/// An index or a field after a name.
#[derive(Clone, Copy)]
pub(super) enum SelectorPart<'a, 's> {
    Index(&'a ast::Expr<'s>),
    Field(Name<'s>),
}

impl<'s> Checker<'s> {
    /// Returns the meaning of a type; reports nothing.
    pub(super) fn declared(&self, base: &Base<'s>) -> Declared {
        match base {
            Base::Poison => Declared::Poison,
            Base::Plain(ty) => Declared::Plain(*ty),
            Base::Range(..) => Declared::Plain(Type::Int),
            Base::Named(name) => match self.types.get(name.text) {
                Some((TypeName::Enum(id), _)) => Declared::Plain(Type::Enum(*id)),
                Some((TypeName::Struct(id), _)) => Declared::Struct(*id),
                None => Declared::Poison,
            },
        }
    }

    /// Returns the meaning of a type as `declared` does, and reports an unknown type.
    pub(super) fn known_type(&mut self, ty: &TypeExpr<'s>) -> Declared {
        if let Base::Named(name) = &ty.base
            && !self.types.contains_key(name.text)
        {
            self.unknown_type(*name);
        }
        self.declared(&ty.base)
    }

    fn unknown_type(&mut self, name: Name<'s>) {
        if self.tainted.contains(name.text) {
            return;
        }
        let plain = [
            "bool", "int", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
        ];
        let meant = match name.text {
            "boolean" | "Bool" | "Boolean" => Some("bool"),
            "integer" | "Integer" | "Int" | "number" | "long" | "nat" | "Nat" => Some("int"),
            "byte" | "char" => Some("u8"),
            "short" => Some("i16"),
            "unsigned" | "uint" => Some("u32"),
            "usize" | "size_t" => Some("u64"),
            text => nearest(text, plain.into_iter().chain(self.types.keys().copied())),
        };
        let help = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "types are `bool`, `int`, `i8` to `i64`, `u8` to `u64`, ranges such as `0..4`, and the names that `enum` and `struct` declare before this".to_owned(),
        };
        self.report(
            Diagnostic::new(
                "M0114",
                name.span,
                format!("there is no type `{}`", name.text),
            )
            .label("expected a type")
            .help(help),
        );
    }

    /// Returns the name of a type in messages.
    pub(super) fn noun(&self, ty: Ty) -> String {
        match ty {
            Ty::Known(Type::Enum(id)) => {
                format!("a `{}`", self.program.enums[usize::from(id)].name)
            }
            ty => super::types::noun(ty),
        }
    }

    /// Declares the variables that a shared variable of a `struct` type is lowered to. The sizes of
    /// their dimensions are not known yet.
    pub(super) fn shared_record(&mut self, ty: u32, shape: &Shape, like: &Var) -> u32 {
        let fields = self.structs[ty as usize].fields.clone();
        let mut parts = Vec::with_capacity(fields.len());
        for (name, field) in fields {
            self.grow(1, like.span);
            if self.full {
                break;
            }
            let shape = with_field(shape, name.text, &vec![1; field.dims.len()]);
            parts.push(match self.declared(&field.base) {
                Declared::Struct(inner) => Part::Record(self.shared_record(inner, &shape, like)),
                other => {
                    let id = VarId(self.program.vars.len() as u32);
                    self.program.vars.push(Var {
                        name: shape.parts.concat(),
                        len: shape.elements(),
                        shape,
                        ty: other.plain().unwrap_or(Type::Int),
                        ..like.clone()
                    });
                    Part::Var(id)
                }
            });
        }
        self.records.push(Record {
            ty,
            depth: shape.dims.len(),
            fields: parts,
        });
        self.records.len() as u32 - 1
    }

    /// Sets the sizes of the dimensions, and adds an invariant for each field whose type is a
    /// range.
    pub(super) fn size_record(&mut self, record: u32, dims: &[u32], span: Span) -> Option<()> {
        let Record { ty, fields, .. } = self.records[record as usize].clone();
        let declared = self.structs[ty as usize].fields.clone();
        for (part, (_, field)) in fields.into_iter().zip(declared) {
            let mut dims = dims.to_vec();
            let outer = elements(&dims);
            dims.extend(BodyChecker::new(self).dims(&field.dims, outer, true)?);
            match part {
                Part::Record(inner) => self.size_record(inner, &dims, span)?,
                Part::Var(id) => {
                    let var = &mut self.program.vars[id.0 as usize];
                    var.shape.dims = dims;
                    var.len = var.shape.elements();
                    self.state_range(id, &field, span);
                }
                Part::Local(_) => {}
            }
        }
        Some(())
    }

    /// Adds the invariant that a variable is in its range, if its type is a range.
    pub(super) fn state_range(&mut self, var: VarId, ty: &TypeExpr<'s>, span: Span) {
        let Some(range) = BodyChecker::new(self).range(ty) else {
            return;
        };
        let len = self.program.vars[var.0 as usize].len;
        for at in 0..len.unwrap_or(1) {
            let kind = match len {
                None => ExprKind::Shared(var),
                Some(_) => ExprKind::Element(var, Box::new(number(at.into(), span))),
            };
            let value = Expr {
                kind,
                ty: Type::Int,
                span,
            };
            self.grow(8, span);
            if self.full {
                return;
            }
            self.program.invariants.push(Property {
                name: None,
                expr: within(value, range),
                span,
            });
        }
    }

    /// Appends to `into` the variables that a record is lowered to, in the order of their
    /// declaration.
    pub(super) fn leaves(&self, record: u32, into: &mut Vec<Part>) {
        for part in &self.records[record as usize].fields {
            match part {
                Part::Record(inner) => self.leaves(*inner, into),
                leaf => into.push(*leaf),
            }
        }
    }

    fn dimension(&mut self, len: u32) -> Arc<Table> {
        let table = self.dimensions.entry(len).or_insert_with(|| {
            Arc::new(Table {
                shape: None,
                values: (0..i64::from(len)).collect(),
            })
        });
        Arc::clone(table)
    }
}

/// Returns the shape of a field of a variable.
pub(super) fn with_field(shape: &Shape, field: &str, dims: &[u32]) -> Shape {
    let mut shape = shape.clone();
    if let Some(last) = shape.parts.last_mut() {
        *last += &format!(".{field}");
    }
    shape.dims.extend(dims);
    shape.parts.extend(dims.iter().map(|_| String::new()));
    shape
}

/// Returns the number of elements.
pub(super) fn elements(dims: &[u32]) -> u64 {
    dims.iter()
        .fold(1, |all: u64, &dim| all.saturating_mul(dim.into()))
}

/// Makes a constant expression.
pub(super) fn number(value: i64, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Const(value),
        ty: Type::Int,
        span,
    }
}

/// Makes `low <= value && value < high`.
pub(super) fn within(value: Expr, (low, high): (i64, i64)) -> Expr {
    let span = value.span;
    let truth = |op, a, b| Expr {
        kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
        ty: Type::Bool,
        span,
    };
    let least = truth(BinaryOp::Le, number(low, span), value.clone());
    let most = truth(BinaryOp::Lt, value, number(high, span));
    truth(BinaryOp::And, least, most)
}

/// Makes an expression that reads a place.
pub(super) fn read(place: Place, ty: Type, span: Span) -> Expr {
    let kind = match place {
        Place::Local(local) => ExprKind::Local(local),
        Place::LocalElement(local, index) => ExprKind::LocalElement(local, Box::new(index)),
        Place::Shared(var) => ExprKind::Shared(var),
        Place::Element(var, index) => ExprKind::Element(var, Box::new(index)),
    };
    Expr { kind, ty, span }
}

impl<'s> BodyChecker<'_, 's> {
    /// Returns the range of a type, if it is a range. The upper bound is exclusive.
    pub(super) fn range(&mut self, ty: &TypeExpr<'s>) -> Option<(i64, i64)> {
        let Base::Range(from, to) = &ty.base else {
            return None;
        };
        let low = self.const_int(from, "the range of a type");
        let high = self.const_int(to, "the range of a type");
        let (low, high) = (low?, high?);
        if low >= high {
            self.report(
                Diagnostic::new("M0406", ty.span, "a range without values")
                    .label(format!("from {low} up to {high}, which is excluded"))
                    .help("a range is written `a..b` and excludes `b`"),
            );
            return None;
        }
        Some((low, high))
    }

    /// Declares the locals that a local of a `struct` type is lowered to.
    pub(super) fn local_record(&mut self, ty: u32, shape: &Shape) -> Option<u32> {
        let fields = self.c.structs[ty as usize].fields.clone();
        let mut parts = Vec::with_capacity(fields.len());
        for (name, field) in fields {
            self.c.grow(1, name.span);
            if self.c.full {
                break;
            }
            let dims = self.dims(&field.dims, elements(&shape.dims), false)?;
            let shape = with_field(shape, name.text, &dims);
            parts.push(match self.c.declared(&field.base) {
                Declared::Struct(inner) => Part::Record(self.local_record(inner, &shape)?),
                other => {
                    let local = self.new_local(shape, other.plain().unwrap_or(Type::Int));
                    if let Some(range) = self.range(&field) {
                        self.ranges.insert(local, range);
                    }
                    Part::Local(local)
                }
            });
        }
        let depth = shape.dims.len();
        let fields = parts;
        self.c.records.push(Record { ty, depth, fields });
        Some(self.c.records.len() as u32 - 1)
    }

    /// Returns the type and the shape of a variable.
    fn leaf(&self, part: Part) -> (Type, &Shape) {
        match part {
            Part::Local(id) => {
                let local = &self.frame.locals[id.0 as usize];
                (local.ty, &local.shape)
            }
            Part::Var(id) => {
                let var = &self.c.program.vars[id.0 as usize];
                (var.ty, &var.shape)
            }
            Part::Record(_) => unreachable!("a record is not a leaf"),
        }
    }

    /// Returns the place that the indices select. There must be one index for each dimension.
    pub(super) fn place_of(&mut self, part: Part, indices: Vec<Expr>, span: Span) -> Place {
        let dims = self.leaf(part).1.dims.clone();
        let index = self.flat(&dims, indices, span);
        match (part, index) {
            (Part::Local(id), None) => Place::Local(id),
            (Part::Local(id), Some(index)) => Place::LocalElement(id, index),
            (Part::Var(id), None) => Place::Shared(id),
            (Part::Var(id), Some(index)) => Place::Element(id, index),
            (Part::Record(_), _) => unreachable!("a record is not a leaf"),
        }
    }

    /// Returns the index in a flat array: `(i * m + j) * n + k`. With one dimension it is the
    /// index itself.
    pub(super) fn flat(&mut self, dims: &[u32], indices: Vec<Expr>, span: Span) -> Option<Expr> {
        if dims.len() <= 1 {
            return indices.into_iter().next();
        }
        let inside = |index: &Expr, dim: u32| match index.kind {
            ExprKind::Const(at) if (0..i64::from(dim)).contains(&at) => Some(at),
            _ => None,
        };
        let known: Option<Vec<i64>> = indices
            .iter()
            .zip(dims)
            .map(|(index, &dim)| inside(index, dim))
            .collect();
        if let Some(known) = known {
            let flat = known
                .iter()
                .zip(dims)
                .fold(0, |flat, (at, &dim)| flat * i64::from(dim) + at);
            return Some(number(flat, span));
        }
        let mut flat: Option<Expr> = None;
        for (index, &dim) in indices.into_iter().zip(dims) {
            self.c.grow(4, span);
            let at = index.span;
            let index = match inside(&index, dim) {
                Some(known) => number(known, at),
                None => Expr {
                    kind: ExprKind::Table(self.c.dimension(dim), Box::new(index)),
                    ty: Type::Int,
                    span: at,
                },
            };
            let int = |op, a, b| Expr {
                kind: ExprKind::Binary(op, Box::new(a), Box::new(b)),
                ty: Type::Int,
                span,
            };
            flat = Some(match flat {
                None => index,
                Some(outer) => {
                    let rows = int(BinaryOp::Mul, outer, number(dim.into(), at));
                    int(BinaryOp::Add, rows, index)
                }
            });
        }
        flat
    }

    /// Resolves a name with indices and fields. Reports mistakes.
    pub(super) fn select(
        &mut self,
        name: Name<'s>,
        selectors: &[SelectorPart<'_, 's>],
        span: Span,
    ) -> Selected {
        let meaning = self.resolve(name, ExpectedName::Value);
        let mut indices = Vec::new();
        let mut part = match meaning {
            Meaning::Poison => {
                self.check_indices(selectors);
                return Selected::Poison;
            }
            Meaning::Local(id) => Part::Local(id),
            Meaning::Var(id) => Part::Var(id),
            Meaning::Record(id) => Part::Record(id),
            Meaning::Table(id) => return self.select_constant(id, selectors, span),
            other => {
                self.check_indices(selectors);
                let help = match selectors {
                    [SelectorPart::Field(_), ..] => "only a variable of a `struct` has fields",
                    _ => "only arrays have elements",
                };
                let expected = match selectors {
                    [SelectorPart::Field(_), ..] => "a variable of a `struct`",
                    _ => "an array",
                };
                self.wrong_kind(name, other, expected, help.to_owned());
                return Selected::Poison;
            }
        };
        for (at, selector) in selectors.iter().enumerate() {
            match (selector, part) {
                (SelectorPart::Index(index), _) => indices.push(self.index(index)),
                (SelectorPart::Field(field), Part::Record(id)) => {
                    let record = &self.c.records[id as usize];
                    if record.depth != indices.len() {
                        let depth = record.depth;
                        self.wrong_indices(field.span, depth, indices.len());
                        self.check_indices(&selectors[at + 1..]);
                        return Selected::Poison;
                    }
                    match self.field(id, *field) {
                        Some(next) => part = next,
                        None => {
                            self.check_indices(&selectors[at + 1..]);
                            return Selected::Poison;
                        }
                    }
                }
                (SelectorPart::Field(field), _) => {
                    self.no_struct(name, *field);
                    self.check_indices(&selectors[at + 1..]);
                    return Selected::Poison;
                }
            }
        }
        let depth = match part {
            Part::Record(id) => self.c.records[id as usize].depth,
            leaf => self.leaf(leaf).1.dims.len(),
        };
        if indices.len() != depth {
            match (depth, indices.len(), selectors) {
                (0, _, [SelectorPart::Index(_)]) => self.scalar_with_index(name),
                _ => self.wrong_indices(span, depth, indices.len()),
            }
            return Selected::Poison;
        }
        match part {
            Part::Record(id) => Selected::Record(id, indices),
            leaf => {
                let ty = self.leaf(leaf).0;
                if ty == Type::Process {
                    self.handle_as_value(name);
                    return Selected::Poison;
                }
                Selected::Value(self.place_of(leaf, indices, span), ty)
            }
        }
    }

    /// Checks indices, only to report their mistakes.
    fn check_indices(&mut self, selectors: &[SelectorPart<'_, 's>]) {
        for selector in selectors {
            if let SelectorPart::Index(index) = selector {
                self.index(index);
            }
        }
    }

    /// Selects an element of a constant array.
    fn select_constant(
        &mut self,
        id: u32,
        selectors: &[SelectorPart<'_, 's>],
        span: Span,
    ) -> Selected {
        let array = self.c.tables[id as usize].clone();
        let dims = array.table.shape.as_ref().map(|shape| shape.dims.clone());
        let dims = dims.unwrap_or_default();
        let mut indices = Vec::new();
        for selector in selectors {
            match selector {
                SelectorPart::Index(index) => indices.push(self.index(index)),
                SelectorPart::Field(field) => {
                    self.report(
                        Diagnostic::new("M0313", field.span, "a constant array has no fields")
                            .label("expected no field"),
                    );
                    return Selected::Poison;
                }
            }
        }
        if indices.len() != dims.len() {
            self.wrong_indices(span, dims.len(), indices.len());
            return Selected::Poison;
        }
        let Some(index) = self.flat(&dims, indices, span) else {
            return Selected::Poison;
        };
        let known = match index.kind {
            ExprKind::Const(at) => usize::try_from(at).ok(),
            _ => None,
        };
        let known = known.and_then(|at| array.table.values.get(at));
        let kind = match known {
            Some(value) => ExprKind::Const(*value),
            None => ExprKind::Table(Arc::clone(&array.table), Box::new(index)),
        };
        let ty = match array.ty {
            Ty::Known(ty) => ty,
            Ty::Literal | Ty::Poison => Type::Int,
        };
        self.c.grow(1, span);
        Selected::Constant(Typed {
            expr: Expr { kind, ty, span },
            ty: array.ty,
        })
    }

    /// Returns a field of a variable.
    fn field(&mut self, record: u32, name: Name<'s>) -> Option<Part> {
        let ty = self.c.records[record as usize].ty;
        let at = self.field_of(ty, name)?;
        self.c.records[record as usize].fields.get(at).copied()
    }

    /// Returns the index of a field in its `struct`.
    pub(super) fn field_of(&mut self, ty: u32, name: Name<'s>) -> Option<usize> {
        let declared = &self.c.structs[ty as usize];
        let mut fields = declared.fields.iter();
        let found = fields.position(|(field, _)| field.text == name.text);
        if found.is_none() {
            let names = declared.fields.iter().map(|(field, _)| field.text);
            let help = match nearest(name.text, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
                    format!("its fields are {}", names.join(", "))
                }
            };
            let message = format!("`{}` has no field `{}`", declared.name.text, name.text);
            let declared = declared.name.span;
            self.report(
                Diagnostic::new("M0313", name.span, message)
                    .label("unknown field")
                    .related(declared, "declared here")
                    .help(help),
            );
        }
        found
    }

    fn no_struct(&mut self, name: Name<'s>, field: Name<'s>) {
        let mut diagnostic = Diagnostic::new(
            "M0313",
            field.span,
            format!("`{}` is not of a `struct` type", name.text),
        )
        .label("has no fields");
        if let Some(declared) = self.declared_at(name) {
            diagnostic = diagnostic.related(declared, "declared here");
        }
        self.report(diagnostic.help(
            "declare it with a `struct`: `struct Pair { x: int, y: int }  var p: Pair = Pair(x: 0, y: 0)`",
        ));
    }

    /// Reports a wrong number of indices.
    pub(super) fn wrong_indices(&mut self, span: Span, depth: usize, found: usize) {
        let indices = |number: usize| match number {
            0 => "no index".to_owned(),
            1 => "1 index".to_owned(),
            _ => format!("{number} indices"),
        };
        let message = format!("expected {}, found {found}", indices(depth));
        self.report(
            Diagnostic::new("M0119", span, message)
                .label(format!("expected {}", indices(depth)))
                .help("write one index for each dimension: `a[i][j]`"),
        );
    }

    /// Resolves an expression that is a variable, an element or a field. Returns `None` for any
    /// other expression.
    pub(super) fn selected(&mut self, expr: &ast::Expr<'s>) -> Option<Selected> {
        Some(match &expr.kind {
            ast::ExprKind::Name(name) => self.select(*name, &[], expr.span),
            ast::ExprKind::Index(name, index) => {
                self.select(*name, &[SelectorPart::Index(index)], expr.span)
            }
            ast::ExprKind::Path(name, selectors) => {
                let selectors: Vec<SelectorPart<'_, 's>> =
                    selectors.iter().map(selector_part).collect();
                self.select(*name, &selectors, expr.span)
            }
            _ => return None,
        })
    }

    /// Returns the `struct` type of an expression, if it has one; reports nothing.
    pub(super) fn struct_of(&self, expr: &ast::Expr<'s>) -> Option<u32> {
        let (name, selectors): (_, &[Selector<'s>]) = match &expr.kind {
            ast::ExprKind::Record(name, _) => {
                return match self.c.types.get(name.text) {
                    Some((TypeName::Struct(id), _)) => Some(*id),
                    _ => None,
                };
            }
            ast::ExprKind::Name(name) | ast::ExprKind::Index(name, _) => (name, &[]),
            ast::ExprKind::Path(name, selectors) => (name, selectors),
            _ => return None,
        };
        let Some(Meaning::Record(mut record)) = self.peek(*name) else {
            return None;
        };
        for selector in selectors {
            let Selector::Field(field) = selector else {
                continue;
            };
            let Record { ty, fields, .. } = &self.c.records[record as usize];
            let declared = &self.c.structs[*ty as usize].fields;
            let at = declared
                .iter()
                .position(|(name, _)| name.text == field.text);
            match fields.get(at?) {
                Some(Part::Record(inner)) => record = *inner,
                _ => return None,
            }
        }
        Some(self.c.records[record as usize].ty)
    }

    /// Returns all places of a value of a `struct` type, in the order of its fields, with
    /// their types.
    pub(super) fn places_of(
        &mut self,
        record: u32,
        indices: &[Expr],
        span: Span,
    ) -> Vec<(Place, Type)> {
        let mut leaves = Vec::new();
        self.c.leaves(record, &mut leaves);
        let mut places = Vec::new();
        for leaf in leaves {
            let (ty, shape) = self.leaf(leaf);
            let own = shape.dims[indices.len()..].to_vec();
            for at in 0..elements(&own) {
                self.c.grow(1, span);
                if self.c.full {
                    return places;
                }
                let mut all = indices.to_vec();
                let mut rest = at;
                let mut inner: Vec<Expr> = Vec::new();
                for &dim in own.iter().rev() {
                    inner.push(number((rest % u64::from(dim)) as i64, span));
                    rest /= u64::from(dim);
                }
                all.extend(inner.into_iter().rev());
                places.push((self.place_of(leaf, all, span), ty));
            }
        }
        places
    }

    /// Adds, after the current statement, assertions that a local or its elements are in the range
    /// of their type, if this type is a range.
    pub(super) fn keep_in_range(&mut self, place: &Place, span: Span) {
        let (Place::Local(id) | Place::LocalElement(id, _)) = place else {
            return;
        };
        let Some(&range) = self.ranges.get(id) else {
            return;
        };
        let shape = self.frame.locals[id.0 as usize].shape.clone();
        for at in 0..shape.elements().unwrap_or(1) {
            let kind = match shape.elements() {
                None => ExprKind::Local(*id),
                Some(_) => ExprKind::LocalElement(*id, Box::new(number(at.into(), span))),
            };
            let value = Expr {
                kind,
                ty: Type::Int,
                span,
            };
            let stmt = super::initial::assert_range(value, &shape.element(at), range, span);
            self.c.grow(8, span);
            self.after.push(stmt);
        }
    }
}

/// Converts a selector of the syntax tree.
pub(super) fn selector_part<'a, 's>(selector: &'a Selector<'s>) -> SelectorPart<'a, 's> {
    match selector {
        Selector::Index(index) => SelectorPart::Index(index),
        Selector::Field(name) => SelectorPart::Field(*name),
    }
}
