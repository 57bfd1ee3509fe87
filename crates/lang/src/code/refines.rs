//! Returns the cells of a shared variable by its name. A refinement needs them to compare a
//! variable of the program with a variable of the specification, part by part.

use mazurka_core::record::Place;
use mazurka_diagnostics::Span;

use super::Code;
use crate::check::hir::Type;

/// A part of a shared variable. A variable of a `struct` type has one part for each field, any
/// other variable is one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariablePart {
    /// The text after the name, such as `.from`; empty for a variable that is not a `struct`.
    pub rest: String,
    /// The type of its elements.
    pub ty: Type,
    /// The sizes of its dimensions.
    pub dims: Vec<u32>,
    /// Its cells.
    pub cells: std::ops::Range<u32>,
}

impl Code {
    /// Returns the parts of a shared variable, or none if there is no such variable.
    ///
    /// ```
    /// let source = "struct P { x: int, y: int }
    ///     var p: P = P(x: 1, y: 2)  var q: int[2] = 0  process { skip }";
    /// let program = mazurka_lang::load(source, &[]).unwrap();
    /// let code = mazurka_lang::compile(&program, source).unwrap();
    /// let rests: Vec<_> = code.parts_of("p").into_iter().map(|part| part.rest).collect();
    /// assert_eq!(rests, [".x", ".y"]);
    /// assert_eq!(code.parts_of("q")[0].cells, 2..4);
    /// assert!(code.parts_of("r").is_empty());
    /// ```
    pub fn parts_of(&self, name: &str) -> Vec<VariablePart> {
        let vars = self.program.vars.iter().zip(&self.first_cells);
        let parts = vars.filter_map(|(var, &first)| {
            let rest = var.name.strip_prefix(name)?;
            let whole = rest.is_empty() || rest.starts_with('.');
            (whole && !var.object).then(|| VariablePart {
                rest: rest.to_owned(),
                ty: var.ty,
                dims: var.shape.dims.clone(),
                cells: first..first + var.len.unwrap_or(1),
            })
        });
        parts.collect()
    }

    /// Returns the place of a span in the source.
    pub fn place_of(&self, span: Span) -> Place {
        self.place(span)
    }
}
