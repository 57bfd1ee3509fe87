//! A list of models with their expected verdicts: `mazurka.toml`.
//!
//! The list is pure data: files, settings, limits and verdicts. No key runs a command, compiles C,
//! or names a file outside of the folder.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use mazurka::Verdict;
use mazurka::search::Kind;
use serde::{Deserialize, Serialize};

/// The contents of the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Suite {
    /// The settings of all models that do not override them.
    #[serde(default)]
    pub defaults: Settings,
    #[serde(default, rename = "model")]
    pub models: Vec<Model>,
}

/// How a model is checked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    pub time_limit: Option<String>,
    pub memory_limit: Option<String>,
    pub memory: Option<String>,
    pub fairness: Option<String>,
    pub property: Option<Vec<String>>,
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
}

/// A model with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Model {
    pub file: String,
    /// Its name [default: from its file and its settings].
    pub name: Option<String>,
    pub verdict: Option<String>,
    pub kind: Option<String>,
    pub time_limit: Option<String>,
    pub memory_limit: Option<String>,
    pub memory: Option<String>,
    pub fairness: Option<String>,
    pub property: Option<Vec<String>>,
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
}

/// A separate file with expected verdicts, by the names of the models.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verdicts {
    #[serde(default)]
    pub verdict: BTreeMap<String, String>,
}

/// The expected result of a model: a verdict, and the kind of violation; `None` accepts any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Expected {
    pub verdict: Verdict,
    pub kind: Option<Kind>,
}

impl Expected {
    /// Whether the result `found` is as expected.
    pub(crate) fn is_met_by(self, found: Self) -> bool {
        self.verdict == found.verdict && (self.kind.is_none() || self.kind == found.kind)
    }

    /// Parses a verdict with perhaps a kind: `verified`, `violated`, `violated: deadlock`.
    fn parse(text: &str) -> Result<Self, String> {
        let (verdict, kind) = match text.split_once(':') {
            Some((verdict, kind)) => (verdict.trim(), Some(kind.trim())),
            None => (text.trim(), None),
        };
        let verdict = match verdict {
            "verified" => Verdict::Verified,
            "violated" => Verdict::Violated,
            "inconclusive" => Verdict::Inconclusive,
            other => {
                return Err(format!(
                    "there is no verdict `{other}`: verified, violated or inconclusive"
                ));
            }
        };
        let kind = kind.map(|kind| {
            let known = Kind::ALL.iter().find(|known| known.name() == kind);
            known.copied().ok_or_else(|| {
                let names: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
                format!("there is no kind `{kind}`: {}", names.join(", "))
            })
        });
        let kind = kind.transpose()?;
        match (verdict, kind) {
            (Verdict::Violated, _) | (_, None) => Ok(Self { verdict, kind }),
            _ => Err("only `violated` has a kind".to_owned()),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.verdict.name())?;
        match self.kind {
            Some(kind) => write!(f, ": {}", kind.name()),
            None => Ok(()),
        }
    }
}

/// A model that is ready to be checked.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub name: String,
    /// Its file: a path relative to the folder of the models, which stays inside this folder.
    pub file: String,
    /// The flags of `mazurka check`.
    pub flags: Vec<String>,
    pub expected: Option<Expected>,
}

impl Suite {
    /// Parses the text of a file. The error names the place of the mistake.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, String> {
        let suite: Self = read(file, text)?;
        if suite.models.is_empty() {
            Err(format!("`{file}` has no [[model]]"))
        } else {
            Ok(suite)
        }
    }

    /// Returns the models with their flags and expected results. `apart` has the verdicts of a
    /// separate file, if there is one.
    pub(crate) fn cases(&self, apart: Option<&Verdicts>) -> Result<Vec<Case>, String> {
        let mut all: Vec<Case> = Vec::new();
        for model in &self.models {
            let case = self.case(model, apart);
            let case = case.map_err(|error| format!("model `{}`: {error}", model.file))?;
            if case.name.contains(char::is_control) {
                return Err(format!("model `{}`: a name is one line", model.file));
            }
            if all.iter().any(|other| other.name == case.name) {
                let refusal = "give one of them a `name`";
                return Err(format!("two models are called `{}`: {refusal}", case.name));
            }
            all.push(case);
        }
        let names = apart.iter().flat_map(|apart| apart.verdict.keys());
        for name in names {
            if !all.iter().any(|case| case.name == *name) {
                return Err(format!(
                    "there is a verdict for `{name}`, but no such model"
                ));
            }
        }
        Ok(all)
    }

    fn case(&self, model: &Model, apart: Option<&Verdicts>) -> Result<Case, String> {
        stays_inside(&model.file)?;
        if crate::native::is_native(&model.file) {
            return Err(
                "it would be compiled and executed, which is not allowed in a list".to_owned(),
            );
        }
        let defaults = &self.defaults;
        let mut flags = Vec::new();
        let mut flag = |name: &str, own: &Option<String>, usual: &Option<String>| {
            if let Some(value) = own.as_ref().or(usual.as_ref()) {
                flags.push(format!("--{name}={value}"));
            }
        };
        flag("time-limit", &model.time_limit, &defaults.time_limit);
        flag("memory-limit", &model.memory_limit, &defaults.memory_limit);
        flag("memory", &model.memory, &defaults.memory);
        flag("fairness", &model.fairness, &defaults.fairness);
        let properties = model.property.as_ref().or(defaults.property.as_ref());
        for property in properties.into_iter().flatten() {
            flags.push(format!("--property={property}"));
        }
        let mut name = model.file.clone();
        let mut set = defaults.set.clone();
        set.extend(model.set.clone());
        for (constant, value) in &set {
            let value = written(constant, value)?;
            flags.push(format!("--set={constant}={value}"));
            name += &format!(" {constant}={value}");
        }
        let name = model.name.clone().unwrap_or(name);
        let own = match (&model.verdict, &model.kind) {
            (Some(verdict), Some(kind)) if verdict.contains(':') => {
                return Err(format!(
                    "its kind is given twice: write `verdict = \"{verdict}\"`, or leave `kind = \"{kind}\"` out"
                ));
            }
            (Some(verdict), Some(kind)) => Some(format!("{verdict}: {kind}")),
            (None, Some(_)) => return Err("a `kind` needs a `verdict`".to_owned()),
            (verdict, None) => verdict.clone(),
        };
        let apart = apart.and_then(|apart| apart.verdict.get(&name).cloned());
        if own.is_some() && apart.is_some() {
            return Err("its verdict is in the list, and also in the file of verdicts".to_owned());
        }
        let expected = own.or(apart).map(|text| Expected::parse(&text));
        Ok(Case {
            name,
            file: model.file.clone(),
            flags,
            expected: expected.transpose()?,
        })
    }
}

impl Verdicts {
    /// Parses the text of a file. The error names the place of the mistake.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, String> {
        read(file, text)
    }
}

/// Parses the text of a file. The error names the place of the mistake.
pub(crate) fn read<T: for<'a> Deserialize<'a>>(file: &str, text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| format!("`{file}`: {error}").trim_end().to_owned())
}

/// Returns the value of a constant, in the form of `--set`.
pub(crate) fn written(constant: &str, value: &toml::Value) -> Result<String, String> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(_) | toml::Value::Boolean(_) | toml::Value::Array(_) => {
            Ok(value.to_string())
        }
        _ => Err(format!(
            "{constant} is not a number, a truth value, a text or a list"
        )),
    }
}

/// Fails if a path leads out of the folder.
pub(crate) fn stays_inside(file: &str) -> Result<(), String> {
    let mut parts = Path::new(file).components();
    let inside = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if inside && !file.is_empty() {
        Ok(())
    } else {
        Err("a path stays below the folder: no `..`, and not from the root".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(text: &str, apart: &str) -> Result<Vec<Case>, String> {
        let apart = Verdicts::parse("apart", apart)?;
        Suite::parse("suite", text)?.cases(Some(&apart))
    }

    #[test]
    fn defaults_apply_unless_a_model_overrides_them() {
        let text = "
            [defaults]
            time-limit = '1s'
            set = { N = 2, M = 1 }
            [[model]]
            file = 'a.maz'
            set = { N = 3 }
            [[model]]
            file = 'b.maz'
            name = 'second'
            time-limit = '2s'
        ";
        let all = cases(text, "[verdict]\nsecond = 'violated: deadlock'").expect("a suite");
        assert_eq!(all[0].name, "a.maz M=1 N=3");
        assert_eq!(all[0].flags, ["--time-limit=1s", "--set=M=1", "--set=N=3"]);
        assert_eq!(all[0].expected, None);
        assert_eq!(all[1].flags[0], "--time-limit=2s");
        let expected = all[1].expected.expect("a verdict");
        assert_eq!(expected.to_string(), "violated: deadlock");
    }

    #[test]
    fn mistakes_are_reported() {
        let wrong = |text: &str, apart: &str, message: &str| {
            let error = cases(text, apart).expect_err(text);
            assert!(error.contains(message), "{error}");
        };
        wrong("", "", "no [[model]]");
        wrong("[[model]]\nfile = '../a.maz'", "", "stays below");
        wrong("[[model]]\nfile = '/a.maz'", "", "stays below");
        wrong("[[model]]\nfile = 'a.c'", "", "compiled");
        wrong(
            "[[model]]\nfile = 'a.maz'\nname = \"a\\nok\"",
            "",
            "one line",
        );
        wrong(
            "[[model]]\nfile = 'a.maz'\nrun = 'ls'",
            "",
            "unknown field `run`",
        );
        wrong(
            "[[model]]\nfile = 'a.maz'\nverdict = 'yes'",
            "",
            "no verdict `yes`",
        );
        wrong(
            "[[model]]\nfile = 'a.maz'\nkind = 'deadlock'",
            "",
            "needs a `verdict`",
        );
        wrong(
            "[[model]]\nfile = 'a.maz'\nverdict = 'violated: deadlock'\nkind = 'deadlock'",
            "",
            "given twice",
        );
        let twice = "[[model]]\nfile = 'a.maz'\n[[model]]\nfile = 'a.maz'";
        wrong(twice, "", "two models");
        wrong(
            "[[model]]\nfile = 'a.maz'",
            "[verdict]\nb = 'verified'",
            "no such model",
        );
    }
}
