//! Values that the user gives, by name: inputs, and initial values that the file leaves open.

use mazurka_core::record::Binding;

use crate::Machine;
use crate::check::hir::Type;
use crate::check::types::{Ty, noun, range};
use crate::code::Code;
use crate::code::numbers;
use crate::run::{evaluate, input_name};

/// A given value that the program cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitInput {
    /// The value does not fit the type.
    #[error("`{name}={value}` does not fit: `{name}` is {ty}, so write {range}")]
    Range {
        /// The name of the input.
        name: String,
        /// The value that was given.
        value: i128,
        /// The type of the input.
        ty: String,
        /// The range of the type, in words.
        range: String,
    },
    /// The value is for a variable that does not exist, or that has an initial value.
    #[error("`{name}` is neither a variable without an initial value nor an input such as `0#0`")]
    NoSuchVariable {
        /// The name that was given.
        name: String,
    },
    /// The initial values break a `requires` of the program.
    #[error("these initial values break `{requires}`; give others, by name: --inputs x=1")]
    Requires {
        /// The condition, as written in the program.
        requires: String,
    },
}

fn fits(name: &str, value: i128, ty: Type) -> Result<(), UnfitInput> {
    let (least, most) = range(ty);
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        Err(UnfitInput::Range {
            name: name.to_owned(),
            value,
            ty: noun(Ty::Known(ty)),
            range: match ty {
                Type::Bool => "true or false".to_owned(),
                _ => format!("a number from {least} to {most}"),
            },
        })
    }
}

impl Code {
    /// Returns the cells of variables without an initial value in the file.
    pub(crate) fn unknown_cells(&self) -> impl Iterator<Item = u32> {
        let vars = self.program.vars.iter().zip(&self.first_cells);
        let unknown = vars.filter(|(var, _)| var.init.is_none());
        unknown.flat_map(|(var, &first)| first..first + var.len.unwrap_or(1))
    }

    /// Returns the same program with values for its inputs, by name. `0.1#0` is the first input of
    /// process 0.1; `x` and `a[2]` are variables without an initial value in the file.
    pub fn with_inputs<'a>(&self, values: impl IntoIterator<Item = (&'a str, i64)>) -> Self {
        let mut code = self.clone();
        let values = values.into_iter();
        code.inputs = values
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        for cell in self.unknown_cells() {
            let given = code.inputs.get(&self.cell_name(cell)).copied();
            code.initial[cell as usize] = numbers::wrap(given.unwrap_or(0), self.cell_type(cell));
        }
        code
    }
}

impl Machine {
    /// Returns the cells of variables without an initial value in the file: their names, and their
    /// values in this run.
    pub(crate) fn initial_inputs(&self) -> impl Iterator<Item = Binding> {
        self.code.unknown_cells().map(|cell| Binding {
            name: self.code.cell_name(cell),
            value: {
                let value = self.code.initial[cell as usize];
                self.code.program.show(value, self.code.cell_type(cell))
            },
        })
    }

    /// Checks that the given values fit the types of the inputs of the current run and satisfy the
    /// `requires` of the program.
    pub fn check_inputs(&self, given: &[(String, i128)]) -> Result<(), UnfitInput> {
        let code = &self.code;
        for (name, value) in given.iter().filter(|(name, _)| !name.contains('#')) {
            let cell = code
                .unknown_cells()
                .find(|&cell| code.cell_name(cell) == *name);
            let Some(cell) = cell else {
                return Err(UnfitInput::NoSuchVariable { name: name.clone() });
            };
            fits(name, *value, code.cell_type(cell))?;
        }
        for (name, value) in given {
            let mut inputs_read = self.inputs_read.iter();
            let named = |process, number| input_name(self.table.path(process), number) == *name;
            if let Some((_, &ty)) =
                inputs_read.find(|&(&(process, number), _)| named(process, number))
            {
                fits(name, *value, ty)?;
            }
        }
        match self.broken_requires() {
            None => Ok(()),
            Some(requires) => Err(UnfitInput::Requires { requires }),
        }
    }

    /// Returns a `requires` of the program that the initial values break, as written.
    pub fn broken_requires(&self) -> Option<String> {
        let code = &self.code;
        let mut all = code.requires.iter();
        let snippet = |at: u32| &code.snippets[at as usize];
        let broken = all.find(|one| evaluate(snippet(one.snippet), &code.initial) != Ok(1));
        broken.map(|one| one.span.text(&code.source).trim().to_owned())
    }
}
