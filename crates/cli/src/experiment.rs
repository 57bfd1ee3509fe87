//! A list of experiments for `mazurka table`: programs, settings, engines, and published figures.
//!
//! It is pure data, like a list of models ([`crate::suite`]): no key runs a command or names a file
//! outside of the folder.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::suite::{read, stays_inside, written};

/// The contents of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Experiments {
    /// `check`, `explore`, `unfold`, `symbolic` or `reach`.
    pub command: Option<String>,
    #[serde(default)]
    pub algorithm: Vec<String>,
    #[serde(default)]
    pub net: Vec<String>,
    #[serde(default)]
    pub por: Vec<String>,
    /// For `reach`: how to search the net for states.
    #[serde(default)]
    pub method: Vec<String>,
    /// Whether symbolic states with an unsatisfiable path condition are dropped.
    pub feasible: Option<bool>,
    /// The columns to show; all if empty.
    #[serde(default)]
    pub columns: Vec<String>,
    #[serde(default, rename = "program")]
    pub programs: Vec<Listed>,
}

/// A program with its settings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Listed {
    /// Its name in the table.
    pub name: String,
    /// Its file: a path relative to the folder of the list, which stays inside this folder.
    pub file: String,
    #[serde(default)]
    pub set: BTreeMap<String, toml::Value>,
    /// For `reach`: the states to search for, each as a condition.
    #[serde(default)]
    pub property: Vec<String>,
    /// Published figures: for each publisher, a figure for each engine. Each publisher gets a
    /// column of the table.
    #[serde(default)]
    pub published: BTreeMap<String, BTreeMap<String, toml::Value>>,
}

impl Experiments {
    /// Parses the text of a file. The error names the place of the mistake.
    pub(crate) fn parse(file: &str, text: &str) -> Result<Self, String> {
        let list: Self = read(file, text)?;
        if list.programs.is_empty() {
            return Err(format!("`{file}` has no [[program]]"));
        }
        for program in &list.programs {
            let named = |error: String| format!("program `{}`: {error}", program.name);
            stays_inside(&program.file).map_err(named)?;
            if crate::native::is_native(&program.file) {
                let refusal = "it would be compiled and executed, which is not allowed in a list";
                return Err(named(refusal.to_owned()));
            }
        }
        Ok(list)
    }

    /// Returns the publishers, sorted by name.
    pub(crate) fn publishers(&self) -> Vec<String> {
        let all = self
            .programs
            .iter()
            .flat_map(|program| program.published.keys());
        let mut all: Vec<String> = all.cloned().collect();
        all.sort();
        all.dedup();
        all
    }
}

impl Listed {
    /// Returns the settings, in the form of `--set`.
    pub(crate) fn settings(&self) -> Result<Vec<(String, String)>, String> {
        let set = self.set.iter();
        set.map(|(name, value)| Ok((name.clone(), written(name, value)?)))
            .collect()
    }

    /// Returns the figure of a publisher for an engine; empty if there is none.
    pub(crate) fn figure(&self, publisher: &str, algorithm: &str) -> String {
        let figures = self.published.get(publisher);
        match figures.and_then(|figures| figures.get(algorithm)) {
            Some(toml::Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read() {
        let text = "
            command = 'unfold'
            net = ['contextual']
            [[program]]
            name = 'Fib 1'
            file = 'fib/program.maz'
            set = { N = 4 }
            published = { thesis = { contextual = 4950 } }
        ";
        let list = Experiments::parse("list", text).expect("a list");
        assert_eq!(list.publishers(), ["thesis"]);
        let first = &list.programs[0];
        let four = ("N".to_owned(), "4".to_owned());
        assert_eq!(first.settings(), Ok(vec![four]));
        assert_eq!(first.figure("thesis", "contextual"), "4950");
        assert_eq!(first.figure("thesis", "stateful"), "");
    }

    #[test]
    fn mistakes_are_reported() {
        for (text, words) in [
            ("", "no [[program]]"),
            ("[[program]]\nname = 'a'\nfile = '../a.maz'", "stays below"),
            ("[[program]]\nname = 'a'\nfile = 'a.c'", "compiled"),
            ("run = 'ls'", "unknown field `run`"),
        ] {
            let error = Experiments::parse("list", text).expect_err(text);
            assert!(error.contains(words), "{error}");
        }
    }
}
