//! Checks initial values of variables, locals and constant arrays: `= 0`, `= [1, 2]`, `= [i * i for
//! i in 0..4]`, `= Msg(from: 1)`. A declaration of a `struct` type is lowered to several variables,
//! so a value is turned into one list of expressions for each of these variables.

use std::sync::Arc;

use mazurka_diagnostics::{Diagnostic, Span};

use super::body::BodyChecker;
use super::records::{Declared, Selected, TypeName, elements, read, within};
use super::types::Ty;
use super::{Checker, ConstantArray, ConstantValue, MAX_ELEMENTS};
use crate::check::hir::{Expr, ExprKind, Message, MessagePart, Shape, Stmt, StmtKind, Table, Type};
use crate::syntax::ast::{self, Init, Name, Range};

/// When the values of a declaration must be known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Before the program runs.
    Constant,
    /// When the `let` statement runs.
    Local,
}

/// The elements of a variable that get values.
#[derive(Clone, Copy)]
pub(super) struct FillTarget<'a, 's> {
    pub name: Name<'s>,
    pub dims: &'a [u32],
    /// The type of the elements.
    pub element: Declared,
    pub mode: Mode,
}

impl<'a, 's> FillTarget<'a, 's> {
    fn inner(self, dims: &'a [u32]) -> Self {
        Self { dims, ..self }
    }
}

/// Makes an assertion that a value is in a range.
pub(super) fn assert_range(value: Expr, name: &str, range: (i64, i64), span: Span) -> Stmt {
    let (low, high) = range;
    let message = Message {
        parts: vec![
            MessagePart::Text(format!("`{name}` left its range {low}..{high}: it is ")),
            MessagePart::Value(name.to_owned(), value.clone()),
        ],
    };
    Stmt {
        kind: StmtKind::Assert(within(value, range), Some(message)),
        span,
    }
}

impl<'s> Checker<'s> {
    /// Returns the number of variables that a declared type is lowered to.
    pub(super) fn count_leaves(&self, of: Declared) -> usize {
        match of {
            Declared::Struct(id) => self.structs[id as usize].leaves,
            _ => 1,
        }
    }

    /// Checks a constant array. Returns its index in the checker's tables; `None` if it has
    /// a mistake.
    pub(super) fn constant_array(&mut self, name: Name<'s>, init: &Init<'s>) -> Option<u32> {
        let mut array = FlatConstant::default();
        BodyChecker::new(self).flatten(init, &mut array)?;
        if array.dims.is_empty() || array.values.is_empty() {
            self.report(
                Diagnostic::new("M0406", init.span(), "an array of 0 elements")
                    .label("expected at least 1")
                    .help("an array has at least one element"),
            );
            return None;
        }
        let (dims, values) = self
            .set_table(name.text, &array.values)
            .unwrap_or((array.dims, array.values));
        let mut ty = Ty::Literal;
        let mut bits = Vec::with_capacity(values.len());
        for value in values {
            let (value, of) = match value {
                ConstantValue::Bool(value) => (i128::from(value), Ty::Known(Type::Bool)),
                ConstantValue::Member(id, value) => (value.into(), Ty::Known(Type::Enum(id))),
                ConstantValue::Int(value) => (value, Ty::Literal),
            };
            let Ok(value) = i64::try_from(value) else {
                self.elements_differ(name, init.span());
                return None;
            };
            if bits.is_empty() {
                ty = of;
            } else if ty != of {
                self.elements_differ(name, init.span());
                return None;
            }
            bits.push(value);
        }
        self.program.constants.insert(name.text.to_owned());
        self.tables.push(ConstantArray {
            table: Arc::new(Table {
                shape: Some(Shape::plain(name.text, dims)),
                values: bits,
            }),
            ty,
        });
        Some(self.tables.len() as u32 - 1)
    }

    fn elements_differ(&mut self, name: Name<'s>, span: Span) {
        let message = format!("the elements of `{}` have different types", name.text);
        self.report(
            Diagnostic::new("M0302", span, message)
                .label("expected values of one type, of at most 63 bits")
                .help("write two arrays"),
        );
    }
}

/// The elements of a constant array, with its dimensions.
#[derive(Default)]
struct FlatConstant {
    dims: Vec<u32>,
    values: Vec<ConstantValue>,
}

impl<'s> BodyChecker<'_, 's> {
    /// Returns the sizes of the dimensions of an array. `outer` is the number of such arrays, and
    /// `shared` says whether they are shared.
    pub(super) fn dims(
        &mut self,
        sizes: &[ast::Expr<'s>],
        outer: u64,
        shared: bool,
    ) -> Option<Vec<u32>> {
        let mut dims = Vec::with_capacity(sizes.len());
        let mut all = outer;
        for size in sizes {
            let len = self.const_int(size, "the size of an array")?;
            if len < 1 {
                self.report(
                    Diagnostic::new("M0406", size.span, format!("an array of {len} elements"))
                        .label("expected at least 1")
                        .help("an array has at least one element"),
                );
                return None;
            }
            all = all.saturating_mul(len as u64);
            // Locals do not count here: they count toward the size of the program, once for each
            // instance.
            let total = if shared {
                self.c.elements.saturating_add(all)
            } else {
                all
            };
            if total > MAX_ELEMENTS {
                self.report(
                    Diagnostic::new("M0408", size.span, "too many array elements")
                        .label(format!("here the arrays exceed {MAX_ELEMENTS} elements"))
                        .help("make the arrays smaller"),
                );
                return None;
            }
            dims.push(u32::try_from(len).ok()?);
        }
        if shared && !dims.is_empty() {
            self.c.elements = self.c.elements.saturating_add(all);
        }
        Some(dims)
    }

    /// Collects the elements of a constant array; `None` if it has a mistake.
    fn flatten(&mut self, init: &Init<'s>, into: &mut FlatConstant) -> Option<()> {
        match init {
            Init::Value(expr) => {
                let value = self.const_value(expr, "a constant")?;
                into.values.push(value);
                Some(())
            }
            Init::List(items, span) => {
                let mut inner = None;
                for item in items {
                    self.flatten_item(item, *span, &mut inner, into)?;
                }
                self.close_list(items.len(), inner, into)
            }
            Init::Each { value, range, span } => {
                let mut inner = None;
                let (from, to) = self.comprehension_range(range, *span)?;
                for at in from..to {
                    self.scoped(|body| {
                        body.declare_param(range.name, at);
                        body.flatten_item(value, *span, &mut inner, into)
                    })?;
                }
                self.close_list((to - from) as usize, inner, into)
            }
        }
    }

    /// Collects one item of a list. All items of a list must have the same form.
    fn flatten_item(
        &mut self,
        item: &Init<'s>,
        list: Span,
        inner: &mut Option<Vec<u32>>,
        into: &mut FlatConstant,
    ) -> Option<()> {
        let mut nested = FlatConstant::default();
        self.flatten(item, &mut nested)?;
        self.c.grow(1, list);
        let same = inner.get_or_insert_with(|| nested.dims.clone()) == &nested.dims;
        if !same || self.c.full {
            self.report(
                Diagnostic::new(
                    "M0311",
                    item.span(),
                    "a list of another form than the first",
                )
                .label("expected as many values as before")
                .help("all rows of an array have the same length"),
            );
            return None;
        }
        into.values.extend(nested.values);
        Some(())
    }

    fn close_list(
        &mut self,
        count: usize,
        inner: Option<Vec<u32>>,
        into: &mut FlatConstant,
    ) -> Option<()> {
        into.dims = vec![u32::try_from(count).ok()?];
        into.dims.extend(inner.unwrap_or_default());
        Some(())
    }

    /// Returns the range of `[e for i in a..b]`.
    fn comprehension_range(&mut self, range: &Range<'s>, span: Span) -> Option<(i64, i64)> {
        let from = self.const_int(&range.from, "the range of a list")?;
        let to = self.const_int(&range.to, "the range of a list")?;
        let count = i128::from(to) - i128::from(from);
        if !(1..=i128::from(MAX_ELEMENTS)).contains(&count) {
            self.report(
                Diagnostic::new("M0406", span, format!("a list of {} values", count.max(0)))
                    .label(format!("expected 1 to {MAX_ELEMENTS}"))
                    .help("a range is written `a..b` and excludes `b`"),
            );
            return None;
        }
        Some((from, to))
    }

    /// Returns a list for each variable that the type is lowered to: the values of all its
    /// elements.
    pub(super) fn filled(&mut self, what: FillTarget<'_, 's>, init: &Init<'s>) -> Vec<Vec<Expr>> {
        let mut all = vec![Vec::new(); self.c.count_leaves(what.element)];
        self.fill(what, init, &mut all);
        all
    }

    fn fill(&mut self, what: FillTarget<'_, 's>, init: &Init<'s>, into: &mut [Vec<Expr>]) {
        if self.c.full {
            return;
        }
        match (init, what.dims.split_first()) {
            (Init::Value(expr), _) => self.fill_with(what, expr, into),
            (Init::List(items, _), Some((len, inner))) if items.len() == *len as usize => {
                for item in items {
                    self.fill(what.inner(inner), item, into);
                }
            }
            (Init::List(items, span), dims) => {
                let len = dims.map(|(len, _)| *len);
                self.c.list_fits(what.name.text, items.len(), len, *span);
            }
            (Init::Each { value, range, span }, dims) => {
                let Some((from, to)) = self.comprehension_range(range, *span) else {
                    return;
                };
                let len = dims.map(|(len, _)| *len);
                let fits = self
                    .c
                    .list_fits(what.name.text, (to - from) as usize, len, *span);
                let Some((_, inner)) = dims.filter(|_| fits) else {
                    return;
                };
                let before = self.c.diagnostics.len();
                for at in from..to {
                    self.scoped(|body| {
                        body.declare_param(range.name, at);
                        body.fill(what.inner(inner), value, into);
                    });
                    // Further values would only repeat the mistake.
                    if self.c.diagnostics.len() > before {
                        return;
                    }
                }
            }
        }
    }

    /// Gives all elements the same value.
    fn fill_with(
        &mut self,
        what: FillTarget<'_, 's>,
        expr: &ast::Expr<'s>,
        into: &mut [Vec<Expr>],
    ) {
        let count = elements(what.dims) as usize;
        let id = match what.element {
            Declared::Struct(id) => id,
            other => {
                if let Some(value) = self.one_of_type(what, expr, other.plain()) {
                    let constant = matches!(value.kind, ExprKind::Const(_));
                    if !what.dims.is_empty() && !constant {
                        return self.one_value_for_all(what.name, value.span);
                    }
                    self.c.grow(count, expr.span);
                    if !self.c.full {
                        into[0].extend(std::iter::repeat_n(value, count));
                    }
                }
                return;
            }
        };
        let Some(values) = self.record_values(id, expr, what.mode) else {
            return;
        };
        let constant = |value: &Expr| matches!(value.kind, ExprKind::Const(_));
        if !what.dims.is_empty() && !values.iter().flatten().all(constant) {
            return self.one_value_for_all(what.name, expr.span);
        }
        for (values, into) in values.iter().zip(into) {
            self.c.grow(values.len().saturating_mul(count), expr.span);
            if self.c.full {
                return;
            }
            for _ in 0..count {
                into.extend(values.iter().cloned());
            }
        }
    }

    fn one_of_type(
        &mut self,
        what: FillTarget<'_, 's>,
        expr: &ast::Expr<'s>,
        ty: Option<Type>,
    ) -> Option<Expr> {
        match (what.mode, ty) {
            (Mode::Constant, Some(ty)) => {
                let value = self.const_of_type(expr, ty, "an initial value")?;
                Some(Expr {
                    kind: ExprKind::Const(value),
                    ty,
                    span: expr.span,
                })
            }
            (Mode::Constant, None) => None,
            (Mode::Local, ty) => Some(self.value_of_type(expr, ty)),
        }
    }

    /// Returns the values of the variables that a value of a `struct` type is lowered to, in order.
    pub(super) fn record_values(
        &mut self,
        id: u32,
        expr: &ast::Expr<'s>,
        mode: Mode,
    ) -> Option<Vec<Vec<Expr>>> {
        if let ast::ExprKind::Record(name, fields) = &expr.kind {
            return self.literal_values(id, *name, fields, mode);
        }
        let wanted = self.c.structs[id as usize].name.text;
        if self.struct_of(expr) != Some(id) {
            let before = self.c.diagnostics.len();
            if self.struct_of(expr).is_none() {
                self.value(expr);
            }
            if self.c.diagnostics.len() == before {
                self.no_record(expr.span, wanted);
            }
            return None;
        }
        match self.selected(expr)? {
            Selected::Record(record, indices) if mode == Mode::Local => {
                // One list for each variable; a field that is an array has several values.
                let mut leaves = Vec::new();
                self.c.leaves(record, &mut leaves);
                let mut places = self.places_of(record, &indices, expr.span).into_iter();
                let mut values = Vec::with_capacity(leaves.len());
                for count in self.sizes_of(id) {
                    let some = places.by_ref().take(count);
                    values.push(some.map(|(place, ty)| read(place, ty, expr.span)).collect());
                }
                Some(values)
            }
            Selected::Record(..) => {
                self.no_record(expr.span, wanted);
                None
            }
            _ => None,
        }
    }

    fn no_record(&mut self, span: Span, wanted: &str) {
        self.report(
            Diagnostic::new("M0314", span, format!("expected a `{wanted}`"))
                .label(format!("this is not a `{wanted}`"))
                .help(format!(
                    "write a variable of it, or its fields: `{wanted}(f: e, …)`"
                )),
        );
    }

    /// Returns the number of elements of each variable that a value of a `struct` type is
    /// lowered to.
    fn sizes_of(&mut self, id: u32) -> Vec<usize> {
        let fields = self.c.structs[id as usize].fields.clone();
        let mut all = Vec::new();
        for (_, ty) in fields {
            let own = self.dims(&ty.dims, 1, false).unwrap_or_default();
            let own = elements(&own) as usize;
            match self.c.declared(&ty.base) {
                Declared::Struct(inner) => {
                    let inner = self.sizes_of(inner);
                    all.extend(inner.into_iter().map(|count| count * own));
                }
                _ => all.push(own),
            }
        }
        all
    }

    /// Checks `Msg(from: 1, kind: Ping)`.
    fn literal_values(
        &mut self,
        id: u32,
        name: Name<'s>,
        given: &[(Name<'s>, ast::Expr<'s>)],
        mode: Mode,
    ) -> Option<Vec<Vec<Expr>>> {
        let wanted = self.c.structs[id as usize].name.text;
        match self.c.types.get(name.text) {
            Some((TypeName::Struct(found), _)) if *found == id => {}
            _ => {
                self.no_record(name.span, wanted);
                return None;
            }
        }
        let mut seen: Vec<(usize, Span)> = Vec::new();
        for (field, _) in given {
            let at = self.field_of(id, *field)?;
            if let Some((_, first)) = seen.iter().find(|(known, _)| *known == at) {
                let diagnostic = Diagnostic::new(
                    "M0314",
                    field.span,
                    format!("the field `{}` is given twice", field.text),
                );
                let diagnostic = diagnostic
                    .label("the second time")
                    .related(*first, "the first time");
                self.report(diagnostic.help("keep one of them"));
                return None;
            }
            seen.push((at, field.span));
        }
        let fields = self.c.structs[id as usize].fields.clone();
        let mut all = Vec::new();
        for (at, (field, ty)) in fields.iter().enumerate() {
            let Some(value) = seen.iter().position(|(known, _)| *known == at) else {
                self.report(
                    Diagnostic::new(
                        "M0314",
                        name.span,
                        format!("the field `{}` has no value", field.text),
                    )
                    .label("expected a value for each field")
                    .help(format!("write `{wanted}({}: …, …)`", field.text)),
                );
                return None;
            };
            let dims = self.dims(&ty.dims, 1, false)?;
            let of = self.c.declared(&ty.base);
            let what = FillTarget {
                name: *field,
                dims: &dims,
                element: of,
                mode,
            };
            let mut values = vec![Vec::new(); self.c.count_leaves(of)];
            let before = self.c.diagnostics.len();
            self.fill_with(what, &given[value].1, &mut values);
            if self.c.diagnostics.len() > before {
                return None;
            }
            all.extend(values);
        }
        Some(all)
    }
}
