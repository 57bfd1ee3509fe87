//! `--set NAME=VALUE`: constants and initial values that the user sets. The values are parsed
//! first. Each declaration later takes the value that was given for its name, if there is one.

use super::types::{range, show, stored};
use super::{Checker, ConstantValue, Global};
use crate::check::hir::{Shape, Type};
use mazurka_diagnostics::{Diagnostic, Span};

/// A constant or an initial value given by the user: `--set NAME=VALUE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name of a `const` or a `var`.
    pub name: String,
    /// The value, as in `8`, `-1` or `true`; for an array also `[1, 2, 3]`.
    pub value: String,
}

/// One given value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GivenValue {
    Known(ConstantValue),
    /// A member of an `enum`, by name.
    Name(String),
}

/// The value of a setting. It is parsed, but not yet converted to the type of its constant or
/// variable.
#[derive(Clone, Debug)]
pub(super) enum SettingValue {
    One(GivenValue),
    List(Vec<SettingValue>),
    /// A value that could not be parsed; the mistake was reported.
    Poison,
}

impl Checker<'_> {
    /// Parses the values; the last setting of a name counts.
    pub(super) fn read_settings(&mut self, settings: &[Setting]) {
        for Setting { name, value } in settings {
            let given = match read(value) {
                Some(given) => given,
                None => {
                    let help =
                        format!("write `--set {name}=1`, or `--set {name}=[1,2]` for an array");
                    self.no_value(name, value, help);
                    SettingValue::Poison
                }
            };
            self.settings.insert(name.clone(), given);
        }
    }

    fn no_value(&mut self, name: &str, value: &str, help: String) {
        self.setting_mistake(
            "M0502",
            format!("`--set {name}={value}`: this is not a value"),
            "expected a number, `true`, `false` or a member of an `enum`",
            help,
        );
    }

    /// Returns a help text on the possible values of a name.
    fn values_of(&self, name: &str) -> String {
        let var = self.program.vars.iter().find(|var| var.name == name);
        match var.map(|var| var.ty) {
            Some(Type::Enum(id)) => {
                let members = &self.program.enums[usize::from(id)].members;
                format!("write one of {}", members.join(", "))
            }
            Some(Type::Bool) => format!("write `--set {name}=true` or `--set {name}=false`"),
            _ => format!("write `--set {name}=1`, or `--set {name}=[1,2]` for an array"),
        }
    }

    fn setting_mistake(&mut self, code: &'static str, message: String, label: &str, help: String) {
        self.report(
            Diagnostic::new(code, Span::default(), message)
                .label(label)
                .help(help),
        );
    }

    /// Reports settings of names that cannot be set. All names must be declared.
    pub(super) fn check_setting_names(&mut self) {
        let mut names: Vec<String> = self.settings.keys().cloned().collect();
        names.sort();
        for name in names {
            let mut values = Vec::new();
            self.settings
                .get(&name)
                .map(|given| flat(given, &mut values));
            let unknown = values.iter().find_map(|value| match value {
                GivenValue::Name(member) if self.program.member(member).is_none() => Some(member),
                _ => None,
            });
            if let Some(unknown) = unknown {
                self.no_value(&name, unknown, self.values_of(&name));
                self.settings.insert(name.clone(), SettingValue::Poison);
            }
            let known = self.globals.get(name.as_str()).map(|(global, _)| *global);
            match known {
                Some(Global::Const(ConstantValue::Member(..))) => self.setting_mistake(
                    "M0501",
                    format!("`--set {name}`: this is a member of an `enum`"),
                    "only a `const` or a `var` can be set",
                    "remove this setting".to_owned(),
                ),
                Some(Global::Pending | Global::Const(_) | Global::Var(_) | Global::Poison) => {}
                None if self.program.vars.iter().any(|var| var.name == name) => {}
                Some(other) => self.setting_mistake(
                    "M0501",
                    format!("`--set {name}`: this is {}", other.describe()),
                    "only a `const` or a `var` can be set",
                    match other {
                        Global::Record(_) => {
                            format!("set its fields, as in `--set {name}.FIELD=1`")
                        }
                        _ => "remove this setting".to_owned(),
                    },
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

    /// Whether a setting exists for this name.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.settings.contains_key(name)
    }

    /// Returns the value that a constant is set to, if any.
    pub(super) fn set_const(
        &mut self,
        name: &str,
        declared: Option<ConstantValue>,
    ) -> Option<ConstantValue> {
        let value = match self.settings.get(name)? {
            SettingValue::Poison => return None,
            SettingValue::One(value) => self.value_of(value),
            SettingValue::List(_) => None,
        };
        let kind = |value: ConstantValue| match value {
            ConstantValue::Int(_) => "a number".to_owned(),
            ConstantValue::Bool(_) => "a truth value".to_owned(),
            ConstantValue::Member(id, _) => {
                format!("a `{}`", self.program.enums[usize::from(id)].name)
            }
        };
        let found = value.map_or_else(
            || match self.settings.get(name) {
                Some(SettingValue::List(_)) => "a list".to_owned(),
                _ => "an unknown name".to_owned(),
            },
            kind,
        );
        let expected = declared.map_or_else(|| found.clone(), kind);
        if value.is_none() || expected != found {
            self.setting_mistake(
                "M0503",
                format!("`--set {name}`: the constant is {expected}, not {found}"),
                "a value of another type",
                match declared {
                    Some(ConstantValue::Member(id, _)) => {
                        let members = &self.program.enums[usize::from(id)].members;
                        format!("write `--set {name}={}`", members[0])
                    }
                    Some(ConstantValue::Bool(_)) => {
                        format!("write `--set {name}=true` or `--set {name}=false`")
                    }
                    _ => format!("write `--set {name}=1`"),
                },
            );
            return None;
        }
        value
    }

    /// Returns the constant that a given value denotes; `None` for a name that no `enum` has as a
    /// member.
    fn value_of(&self, given: &GivenValue) -> Option<ConstantValue> {
        match given {
            GivenValue::Known(value) => Some(*value),
            GivenValue::Name(name) => match self.program.member(name)? {
                (Type::Enum(id), value) => Some(ConstantValue::Member(id, value)),
                _ => None,
            },
        }
    }

    /// Returns the dimensions and elements that a constant array is set to, if any. The elements
    /// must be of the same kind as `like`.
    pub(super) fn set_table(
        &mut self,
        name: &str,
        like: &[ConstantValue],
    ) -> Option<(Vec<u32>, Vec<ConstantValue>)> {
        let given = self.settings.get(name)?.clone();
        let mut values = Vec::new();
        let dims = flat(&given, &mut values);
        let values: Option<Vec<ConstantValue>> =
            values.iter().map(|value| self.value_of(value)).collect();
        let kind = std::mem::discriminant(like.first()?);
        let fits = |value: &ConstantValue| std::mem::discriminant(value) == kind;
        match (given, dims, values) {
            (SettingValue::Poison, ..) => None,
            (SettingValue::List(_), Some(dims), Some(values)) if values.iter().all(fits) => {
                (!values.is_empty()).then_some((dims, values))
            }
            _ => {
                self.setting_mistake(
                    "M0503",
                    format!("`--set {name}`: the constant is an array"),
                    "expected a list of values like those of the file",
                    format!("write `--set {name}=[1,2]`"),
                );
                None
            }
        }
    }

    /// Returns the initial values that a variable is set to, if any.
    pub(super) fn set_var(&mut self, name: &str, ty: Type, shape: &Shape) -> Option<Vec<i64>> {
        let given = self.settings.get(name)?.clone();
        let len = shape.elements();
        let mut values = Vec::new();
        let dims = flat(&given, &mut values);
        match (&given, len) {
            (SettingValue::Poison, _) => return None,
            (SettingValue::One(value), _) => {
                values = vec![value.clone(); len.unwrap_or(1) as usize]
            }
            (SettingValue::List(_), None) => {
                self.setting_mistake(
                    "M0504",
                    format!("`--set {name}`: the variable is not an array"),
                    "a list",
                    format!("write `--set {name}=1`"),
                );
                return None;
            }
            // For an array with several dimensions the list may also be flat.
            (SettingValue::List(items), Some(len))
                if dims.as_ref() != Some(&shape.dims)
                    && !(items.len() == len as usize
                        && items
                            .iter()
                            .all(|item| matches!(item, SettingValue::One(_)))) =>
            {
                let (found, label) = if values.len() == len as usize {
                    (
                        "but the rows of the list have another form".to_owned(),
                        "other rows",
                    )
                } else {
                    (
                        format!("but the list has {}", values.len()),
                        "a list of another length",
                    )
                };
                self.setting_mistake(
                    "M0504",
                    format!("`--set {name}`: the array has {len} elements, {found}"),
                    label,
                    form(name, shape),
                );
                return None;
            }
            (SettingValue::List(_), Some(_)) => {}
        }
        let mut bits = Vec::with_capacity(values.len());
        for value in values {
            let number = match (self.value_of(&value), ty) {
                (Some(ConstantValue::Bool(value)), Type::Bool) => Some(value.into()),
                (Some(ConstantValue::Member(id, value)), Type::Enum(wanted)) if id == wanted => {
                    Some(value.into())
                }
                (Some(ConstantValue::Int(value)), ty)
                    if !matches!(ty, Type::Bool | Type::Enum(_)) =>
                {
                    let (low, high) = range(ty);
                    (low..=high).contains(&value).then_some(value)
                }
                _ => None,
            };
            let Some(number) = number else {
                let (low, high) = range(ty);
                let (fits, help) = match ty {
                    Type::Bool => (show(ty), "write `true` or `false`".to_owned()),
                    Type::Enum(id) => {
                        let declared = &self.program.enums[usize::from(id)];
                        let help = format!("write one of {}", declared.members.join(", "));
                        (declared.name.clone(), help)
                    }
                    _ => (show(ty), format!("write a number from {low} to {high}")),
                };
                self.setting_mistake(
                    "M0503",
                    format!("`--set {name}`: the value does not fit `{fits}`"),
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

/// Returns a help text on the expected form of the values of an array.
fn form(name: &str, shape: &Shape) -> String {
    let len = shape.elements().unwrap_or(1);
    match &shape.dims[..] {
        [rows, inner @ ..] if !inner.is_empty() => format!(
            "give {rows} lists of {} each, {len} values in one list, or one for all: `--set {name}=0`",
            inner
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(" times "),
        ),
        _ => format!("give {len} values, or one for all: `--set {name}=0`"),
    }
}

/// Collects the elements of a list, which may contain lists. Returns the dimensions if all rows
/// have the same form.
fn flat(given: &SettingValue, into: &mut Vec<GivenValue>) -> Option<Vec<u32>> {
    match given {
        SettingValue::Poison => None,
        SettingValue::One(value) => {
            into.push(value.clone());
            Some(Vec::new())
        }
        SettingValue::List(items) => {
            let rows: Vec<Option<Vec<u32>>> = items.iter().map(|item| flat(item, into)).collect();
            let inner = rows.first().cloned().flatten();
            let same = rows.iter().all(|row| *row == inner) && inner.is_some();
            let mut dims = vec![u32::try_from(items.len()).ok()?];
            dims.extend(inner?);
            same.then_some(dims)
        }
    }
}

/// Limit on the nesting of lists.
const MAX_DEPTH: usize = 16;

fn read(text: &str) -> Option<SettingValue> {
    let text = text.trim();
    if !text.starts_with('[') {
        return read_one(text).map(SettingValue::One);
    }
    let (given, rest) = read_list(text, 0)?;
    rest.trim().is_empty().then_some(given)
}

/// Parses a list at the start of a text. Returns it and the rest of the text.
fn read_list(text: &str, depth: usize) -> Option<(SettingValue, &str)> {
    let mut rest = text.strip_prefix('[')?.trim_start();
    let mut items = Vec::new();
    if let Some(rest) = rest.strip_prefix(']') {
        return Some((SettingValue::List(items), rest));
    }
    if depth > MAX_DEPTH {
        return None;
    }
    loop {
        let item;
        if rest.starts_with('[') {
            (item, rest) = read_list(rest, depth + 1)?;
        } else {
            let end = rest.find([',', ']'])?;
            item = SettingValue::One(read_one(&rest[..end])?);
            rest = &rest[end..];
        }
        items.push(item);
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix(']') {
            return Some((SettingValue::List(items), rest));
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
}

fn read_one(text: &str) -> Option<GivenValue> {
    let text = text.trim();
    match text {
        "true" | "True" => return Some(GivenValue::Known(ConstantValue::Bool(true))),
        "false" | "False" => return Some(GivenValue::Known(ConstantValue::Bool(false))),
        _ => {}
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(is_part) {
        return Some(GivenValue::Name(text.to_owned()));
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: i128 = text.parse().ok()?;
    (i128::from(i64::MIN)..=u64::MAX.into())
        .contains(&value)
        .then_some(GivenValue::Known(ConstantValue::Int(value)))
}
