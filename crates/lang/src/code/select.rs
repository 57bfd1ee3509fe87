//! Makes variants of a compiled program: with only some of its properties (`--property`), or with
//! other memory orders. A variant is compiled again from the checked program.

use mazurka_core::{AccessOrder, Kind, Kinds, Mishap};
use mazurka_diagnostics::Span;

use super::fault::Site;
use super::{Code, Counting};
use crate::check::hir;
use crate::code::compile::compile;

impl Code {
    /// Returns the named properties of the file, each with the kind of its violations.
    ///
    /// ```
    /// use mazurka_core::Kind;
    /// let properties = "invariant small: x < 2 eventually one: x == 1";
    /// let source = &format!("var x: int = 0 {properties} process {{ x := 1 }}");
    /// let program = mazurka_lang::load(source, &[]).unwrap();
    /// let code = mazurka_lang::compile(&program, source).unwrap();
    /// let named: Vec<_> = code.named_properties().collect();
    /// assert_eq!(named, [("small", Kind::Failure), ("one", Kind::Property)]);
    /// ```
    pub fn named_properties(&self) -> impl Iterator<Item = (&str, Kind)> {
        let stated = self.program.invariants.iter().chain(&self.program.ensures);
        let stated = stated.map(|property| (&property.name, Kind::Failure));
        let temporal = self.program.temporal.iter();
        let temporal = temporal.map(|property| (&property.name, Kind::Property));
        let covers = self.program.covers.iter();
        let covers = covers.map(|property| (&property.name, Kind::Property));
        let named = stated.chain(temporal).chain(covers);
        named.filter_map(|(name, kind)| Some((name.as_deref()?, kind)))
    }

    /// Returns the same program with only the properties that have one of these names or
    /// whose violations are of one of these kinds. Without the kind [`Kind::Failure`], a
    /// failed assertion, an index out of bounds and the like halt their process but do
    /// not [count](mazurka_core::Execution::counts).
    ///
    /// The omitted properties are not evaluated, so they halt no process.
    #[must_use]
    pub fn selecting(&self, kinds: Kinds, names: &[String]) -> Self {
        let named = |name: &Option<String>| name.as_ref().is_some_and(|name| names.contains(name));
        let mut program = hir::Program::clone(&self.program);
        if !kinds.contains(Kind::Failure) {
            program.invariants.retain(|stated| named(&stated.name));
            program.ensures.retain(|stated| named(&stated.name));
        }
        if !kinds.contains(Kind::Property) {
            program.temporal.retain(|stated| named(&stated.name));
            program.covers.retain(|stated| named(&stated.name));
        }
        let counting = if kinds.contains(Kind::Failure) {
            Counting::All
        } else {
            Counting::Stated
        };
        self.recompiled(&program, counting)
    }

    /// Compiles a variant of this program. The variant must be one that passes the checker if the
    /// program does.
    pub(super) fn recompiled(&self, program: &hir::Program, counting: Counting) -> Self {
        let code = compile(program, &self.source);
        let code = code.unwrap_or_else(|_| {
            unreachable!("a variant of a checked program passes the same checks")
        });
        Self {
            inputs: self.inputs.clone(),
            fairness: self.fairness,
            counting,
            ..code
        }
    }

    /// Returns the same program with other memory orders for the accesses at these places.
    ///
    /// ```
    /// use mazurka_core::MemoryOrder;
    /// use mazurka_lang::{compile, load};
    ///
    /// let source = "atomicity access  var x: atomic int = 0  process { x.store(1, release) }";
    /// let code = compile(&load(source, &[]).unwrap(), source).unwrap();
    /// let store = code.program().ordered_accesses()[0];
    /// let other = code.with_orders([(store.span, MemoryOrder::Relaxed.into())]);
    /// let store = other.program().ordered_accesses()[0];
    /// assert_eq!(store.order.order, MemoryOrder::Relaxed);
    /// ```
    #[must_use]
    pub fn with_orders(&self, orders: impl IntoIterator<Item = (Span, AccessOrder)>) -> Self {
        let mut program = hir::Program::clone(&self.program);
        program.orders.extend(orders);
        self.recompiled(&program, self.counting)
    }

    /// Whether a failure counts.
    pub(crate) fn counts(&self, failure: &Mishap) -> bool {
        let site = || Site::decode(failure.site);
        match self.counting {
            Counting::All => true,
            Counting::Stated => matches!(site(), Some(Site::Invariant(_) | Site::Ensures(_))),
            Counting::Invariant(only) => site() == Some(Site::Invariant(only)),
        }
    }
}
