//! `--set NAME=VALUE`: constants and initial values from outside of the file.

use super::types::{range, show, stored};
use super::{Checker, Global, Value};
use crate::check::hir::Type;
use mazurka_diagnostics::{Diagnostic, Span};

/// A constant or an initial value given from outside: `--set NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name of a `const` or a `var`.
    pub name: String,
    /// `8`, `-1`, `true`, or for an array also `[1, 2, 3]`.
    pub value: String,
}

/// A setting's value, read but not yet matched with what it sets.
#[derive(Clone, Debug)]
pub(super) enum Given {
    One(Value),
    List(Vec<Value>),
    /// Could not be read, and that was reported.
    Poison,
}

impl Checker<'_> {
    /// Reads the values; the last setting of a name counts.
    pub(super) fn read_settings(&mut self, settings: &[Setting]) {
        for Setting { name, value } in settings {
            let given = match read(value) {
                Some(given) => given,
                None => {
                    self.setting_mistake(
                        "M0502",
                        format!("`--set {name}={value}`: this is not a value"),
                        "expected a number, `true` or `false`",
                        format!("write `--set {name}=1`, or `--set {name}=[1,2]` for an array"),
                    );
                    Given::Poison
                }
            };
            self.settings.insert(name.clone(), given);
        }
    }

    fn setting_mistake(&mut self, code: &'static str, message: String, label: &str, help: String) {
        self.report(
            Diagnostic::new(code, Span::default(), message)
                .label(label)
                .help(help),
        );
    }

    /// Reports settings whose name can be set nowhere. All names are declared by now.
    pub(super) fn check_setting_names(&mut self) {
        let mut names: Vec<String> = self.settings.keys().cloned().collect();
        names.sort();
        for name in names {
            let known = self.globals.get(name.as_str()).map(|(global, _)| *global);
            match known {
                Some(Global::Pending | Global::Const(_) | Global::Var(_) | Global::Poison) => {}
                Some(other) => self.setting_mistake(
                    "M0501",
                    format!("`--set {name}`: this is {}", other.describe()),
                    "only a `const` or a `var` can be set",
                    "remove this setting".to_owned(),
                ),
                None if self.tainted.contains(name.as_str()) => {}
                None => {
                    let settable = self.globals.iter().filter(|(_, (global, _))| {
                        matches!(global, Global::Pending | Global::Const(_) | Global::Var(_))
                    });
                    let near = mazurka_diagnostics::nearest(&name, settable.map(|(name, _)| *name));
                    let help = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => "only a `const` or a `var` of the file can be set".to_owned(),
                    };
                    self.setting_mistake(
                        "M0501",
                        format!("`--set {name}`: the file declares no `{name}`"),
                        "unknown name",
                        help,
                    );
                }
            }
        }
    }

    /// Whether a name is set from outside.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.settings.contains_key(name)
    }

    /// The value that a constant has been set to, if it has.
    pub(super) fn set_const(&mut self, name: &str, declared: Option<Value>) -> Option<Value> {
        let (value, found) = match self.settings.get(name)? {
            Given::Poison => return None,
            Given::One(value @ Value::Int(_)) => (Some(*value), "a number"),
            Given::One(value @ Value::Bool(_)) => (Some(*value), "a truth value"),
            Given::List(_) => (None, "a list"),
        };
        let expected = match declared {
            Some(Value::Bool(_)) => "a truth value",
            Some(Value::Int(_)) => "a number",
            None => found,
        };
        if value.is_none() || expected != found {
            self.setting_mistake(
                "M0503",
                format!("`--set {name}`: the constant is {expected}, not {found}"),
                "a value of another type",
                match expected {
                    "a number" => format!("write `--set {name}=1`"),
                    _ => format!("write `--set {name}=true` or `--set {name}=false`"),
                },
            );
            return None;
        }
        value
    }

    /// The initial values that a variable has been set to, if it has.
    pub(super) fn set_var(&mut self, name: &str, ty: Type, len: Option<u32>) -> Option<Vec<i64>> {
        let values = match self.settings.get(name)? {
            Given::Poison => return None,
            Given::One(value) => vec![*value; len.unwrap_or(1) as usize],
            Given::List(values) => values.clone(),
        };
        let is_list = matches!(self.settings.get(name), Some(Given::List(_)));
        match len {
            None if is_list => {
                self.setting_mistake(
                    "M0504",
                    format!("`--set {name}`: the variable is no array"),
                    "a list",
                    format!("write `--set {name}=1`"),
                );
                return None;
            }
            Some(len) if values.len() != len as usize => {
                self.setting_mistake(
                    "M0504",
                    format!(
                        "`--set {name}`: the array has {len} elements, the list {}",
                        values.len()
                    ),
                    "a list of another length",
                    format!("give {len} values, or one for all: `--set {name}=0`"),
                );
                return None;
            }
            _ => {}
        }
        let mut bits = Vec::with_capacity(values.len());
        for value in values {
            let number = match (value, ty) {
                (Value::Bool(value), Type::Bool) => Some(value.into()),
                (Value::Int(value), ty) if ty != Type::Bool => {
                    let (low, high) = range(ty);
                    (low..=high).contains(&value).then_some(value)
                }
                _ => None,
            };
            let Some(number) = number else {
                let (low, high) = range(ty);
                let help = match ty {
                    Type::Bool => "write `true` or `false`".to_owned(),
                    _ => format!("write a number from {low} to {high}"),
                };
                self.setting_mistake(
                    "M0503",
                    format!("`--set {name}`: the value does not fit `{}`", show(ty)),
                    "a value of another type",
                    help,
                );
                return None;
            };
            bits.push(stored(number));
        }
        Some(bits)
    }
}

fn read(text: &str) -> Option<Given> {
    let text = text.trim();
    let Some(inner) = text.strip_prefix('[') else {
        return read_one(text).map(Given::One);
    };
    let inner = inner.strip_suffix(']')?.trim();
    if inner.is_empty() {
        return Some(Given::List(Vec::new()));
    }
    let values: Option<Vec<Value>> = inner.split(',').map(read_one).collect();
    values.map(Given::List)
}

fn read_one(text: &str) -> Option<Value> {
    let text = text.trim();
    match text {
        "true" | "True" => return Some(Value::Bool(true)),
        "false" | "False" => return Some(Value::Bool(false)),
        _ => {}
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: i128 = text.parse().ok()?;
    (i128::from(i64::MIN)..=u64::MAX.into())
        .contains(&value)
        .then_some(Value::Int(value))
}
