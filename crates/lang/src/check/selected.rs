//! Checks expressions with indices and fields, such as `a[i]` and `q[i].from`, which read a
//! variable, an element or a field.

use mazurka_diagnostics::{Diagnostic, Span};

use super::body::{BodyChecker, Meaning};
use super::records::{Selected, SelectorPart, read, selector_part};
use super::temporal::NamedLocal;
use super::types::{Ty, Typed};
use crate::syntax::ast::{self, Name};

impl<'s> BodyChecker<'_, 's> {
    pub(super) fn element(&mut self, name: Name<'s>, index: &ast::Expr<'s>, span: Span) -> Typed {
        let selected = self.select(name, &[SelectorPart::Index(index)], span);
        self.read_selected(selected, span)
    }

    /// Checks `a[i][j]`, `m.f`, `q[i].f`, and in a temporal property a local of a process.
    pub(super) fn path(
        &mut self,
        name: Name<'s>,
        selectors: &[ast::Selector<'s>],
        span: Span,
    ) -> Typed {
        let is_record = matches!(self.peek(name), Some(Meaning::Record(_)));
        if self.temporal && !is_record {
            let local = match selectors {
                [ast::Selector::Field(local)] => Some((*local, None)),
                [ast::Selector::Field(local), ast::Selector::Index(index)] => {
                    Some((*local, Some(index)))
                }
                _ => None,
            };
            if let Some((local, index)) = local {
                let index = index.map(|index| self.index(index));
                let named = NamedLocal {
                    process: name,
                    instance: None,
                    local,
                    span,
                };
                return self.local_of(&named, index);
            }
        }
        let selectors: Vec<SelectorPart<'_, 's>> = selectors.iter().map(selector_part).collect();
        let selected = self.select(name, &selectors, span);
        self.read_selected(selected, span)
    }

    /// Reads a selection as a single value.
    fn read_selected(&mut self, selected: Selected, span: Span) -> Typed {
        match selected {
            Selected::Poison => self.poison(span),
            Selected::Value(place, ty) => {
                self.c.grow(1, span);
                Typed {
                    expr: read(place, ty, span),
                    ty: Ty::Known(ty),
                }
            }
            Selected::Constant(typed) => typed,
            Selected::Record(..) => {
                self.report(
                    Diagnostic::new("M0313", span, "this is a whole `struct`")
                        .label("expected a single value")
                        .help("name a field, as in `m.f`; `==` and `:=` take a whole `struct`"),
                );
                self.poison(span)
            }
        }
    }

    pub(super) fn record_as_value(&mut self, name: Name<'s>) {
        self.report(
            Diagnostic::new("M0313", name.span, "this is a whole `struct`")
                .label("expected a single value")
                .help("it can be assigned, compared with `==`, or be an argument of a procedure"),
        );
    }

    pub(super) fn array_without_index(&mut self, name: Name<'s>, len: u32) {
        self.report(
            Diagnostic::new("M0306", name.span, format!("`{}` is an array", name.text))
                .label("expected an index after this")
                .help(format!(
                    "write `{}[i]`, with `i` from 0 to {}",
                    name.text,
                    len - 1
                )),
        );
    }

    pub(super) fn scalar_with_index(&mut self, name: Name<'s>) {
        let mut diagnostic = Diagnostic::new(
            "M0307",
            name.span,
            format!("`{}` is not an array", name.text),
        )
        .label("has no elements");
        if let Some(span) = self.declared_at(name) {
            diagnostic = diagnostic.related(span, "declared here");
        }
        self.report(diagnostic.help("remove the index, or give it a size: `int[n]`"));
    }
}
