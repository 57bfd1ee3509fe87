//! What a request may contain, and the command line that it becomes. Everything is checked against
//! the table of flags.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// The maximal number of files of one program, and of options of one request.
const MOST_FILES: usize = 64;
const MOST_OPTIONS: usize = 64;
/// The maximal length of a file name.
const LONGEST_NAME: usize = 120;

/// A request: program text and options. Any other field is refused.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The command: one in the table, or `show` for a record.
    pub command: String,
    /// The file that the command is about.
    pub file: String,
    /// All files by name: the program and the files that it includes.
    pub files: BTreeMap<String, String>,
    /// The options, by the names of their flags.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// `json` or `html`.
    pub format: String,
}

/// The flags that the page may use, as `mazurka flags` prints them.
#[derive(Clone, Debug, Deserialize)]
pub struct FlagTable {
    commands: Vec<TableCommand>,
}

/// A command of the table.
#[derive(Clone, Debug, Deserialize)]
struct TableCommand {
    name: String,
    flags: Vec<TableFlag>,
}

/// A flag of a command; `value` is the name of its value, `None` if it takes none.
#[derive(Clone, Debug, Deserialize)]
struct TableFlag {
    name: String,
    value: Option<String>,
}

/// The reason why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    /// There is no such command here.
    #[error("there is no command `{0}` here")]
    Command(String),
    /// The file name is not a plain name of a program.
    #[error(
        "`{0}` is not a name of a program: write letters, digits, `-`, `_` and `.`, and `.maz` or `.abs` at its end"
    )]
    Name(String),
    /// The file name is not a plain name of a record.
    #[error("`{0}` is not a name of a record: write letters and digits, and `.json` at its end")]
    Record(String),
    /// The file is not among the files.
    #[error("the text of `{0}` is missing")]
    Missing(String),
    /// The command has no such option.
    #[error("`{command}` has no option `{option}` here")]
    Option {
        /// The command.
        command: String,
        /// The option.
        option: String,
    },
    /// The value of an option has a wrong type.
    #[error("the value of the option `{0}` must be {1}")]
    Value(String, &'static str),
    /// There is no such format here.
    #[error("the format is `json` or `html`")]
    Format,
    /// There are too many files or options.
    #[error("there are too many {0}")]
    Many(&'static str),
}

/// Whether a file with this name may be written into the folder of a search.
fn is_plain(name: &str, ending: &[&str]) -> bool {
    let part = |part: &str| {
        let mut letters = part.chars();
        let first = letters
            .next()
            .is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
        first && letters.all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    name.len() <= LONGEST_NAME
        && name.split('/').all(part)
        && ending.iter().any(|ending| name.ends_with(ending))
}

/// Returns the words of the command line that a request becomes. The error says why the request is
/// refused.
///
/// ```
/// use mazurka_serve::{FlagTable, Request, words};
///
/// let table: FlagTable = serde_json::from_str(
///     r#"{"commands": [
///         {"name": "check", "flags": [{"name": "set", "value": "NAME=VALUE"}]}
///     ]}"#,
/// ).unwrap();
/// let mut request: Request = serde_json::from_str(
///     r#"{
///         "command": "check", "file": "p.maz", "files": {"p.maz": ""},
///         "options": {"set": ["N=3"]}, "format": "json"
///     }"#,
/// ).unwrap();
/// let all = words(&request, &table).unwrap();
/// assert_eq!(all, ["check", "p.maz", "--set=N=3", "--format=json", "--progress-lines"]);
///
/// request.options.insert("witness".to_owned(), "out.json".into());
/// assert!(words(&request, &table).is_err());
/// ```
pub fn words(request: &Request, table: &FlagTable) -> Result<Vec<String>, BadRequest> {
    let command = &request.command;
    let shows = command == "show";
    let flags: &[TableFlag] = match table.commands.iter().find(|known| &known.name == command) {
        Some(known) => &known.flags,
        None if shows => &[],
        None => return Err(BadRequest::Command(command.clone())),
    };
    if request.files.len() > MOST_FILES {
        return Err(BadRequest::Many("files"));
    }
    if request.options.len() > MOST_OPTIONS {
        return Err(BadRequest::Many("options"));
    }
    let endings: &[&str] = if shows { &[".json"] } else { &[".maz", ".abs"] };
    for name in request.files.keys().chain([&request.file]) {
        if !is_plain(name, endings) {
            return Err(if shows {
                BadRequest::Record(name.clone())
            } else {
                BadRequest::Name(name.clone())
            });
        }
    }
    if !request.files.contains_key(&request.file) {
        return Err(BadRequest::Missing(request.file.clone()));
    }
    let mut all = vec![command.clone(), request.file.clone()];
    for (name, value) in &request.options {
        let flag = flags.iter().find(|flag| &flag.name == name);
        let flag = flag.ok_or_else(|| BadRequest::Option {
            command: command.clone(),
            option: name.clone(),
        })?;
        all.extend(option(flag, value)?);
    }
    if !["json", "html"].contains(&request.format.as_str()) {
        return Err(BadRequest::Format);
    }
    all.push(format!("--format={}", request.format));
    all.push("--progress-lines".to_owned());
    Ok(all)
}

/// Returns the words for a flag. A flag with values gets one word for each, `--flag=value`, so that
/// no value is read as a flag.
fn option(flag: &TableFlag, value: &Value) -> Result<Vec<String>, BadRequest> {
    let name = &flag.name;
    let wrong = |wanted| BadRequest::Value(name.clone(), wanted);
    if flag.value.is_none() {
        return match value {
            Value::Bool(true) => Ok(vec![format!("--{name}")]),
            _ => Err(wrong("`true`; otherwise leave out the option")),
        };
    }
    let one = |value: &Value| match value {
        Value::String(text) if !text.contains('\0') => Ok(format!("--{name}={text}")),
        Value::Number(number) => Ok(format!("--{name}={number}")),
        _ => Err(wrong("text or a number")),
    };
    match value {
        Value::Array(all) if all.len() <= MOST_OPTIONS => all.iter().map(one).collect(),
        Value::Array(_) => Err(BadRequest::Many("values")),
        value => Ok(vec![one(value)?]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> FlagTable {
        let text = r#"{"commands": [{"name": "check", "flags": [
            {"name": "set", "value": "NAME=VALUE"}, {"name": "keep-going", "value": null}]}]}"#;
        serde_json::from_str(text).expect("a table")
    }

    fn request(file: &str) -> Request {
        Request {
            command: "check".to_owned(),
            file: file.to_owned(),
            files: BTreeMap::from([(file.to_owned(), String::new())]),
            options: BTreeMap::new(),
            format: "json".to_owned(),
        }
    }

    #[test]
    fn names_do_not_lead_to_other_folders() {
        for name in ["p.maz", "lib/list.maz", "a_b-c.1.abs"] {
            assert!(words(&request(name), &table()).is_ok(), "{name}");
        }
        let tricks = [
            "../p.maz",
            "/etc/p.maz",
            "a/../../p.maz",
            "-p.maz",
            ".maz",
            "a//b.maz",
            "p.c",
            "p.json",
            "C:\\p.maz",
            "a\0.maz",
            "p.maz/",
            "~/p.maz",
            "a b.maz",
            "%2e%2e/p.maz",
        ];
        for name in tricks {
            let refused = words(&request(name), &table());
            assert_eq!(refused, Err(BadRequest::Name(name.to_owned())), "{name}");
        }
    }

    #[test]
    fn options_are_those_of_the_table() {
        let mut with_options = request("p.maz");
        with_options
            .options
            .insert("keep-going".to_owned(), true.into());
        with_options
            .options
            .insert("set".to_owned(), serde_json::json!(["N=1", "--witness=x"]));
        let line = words(&with_options, &table()).expect("words");
        // A value that looks like a flag is still a value.
        assert_eq!(
            line[2..5],
            ["--keep-going", "--set=N=1", "--set=--witness=x"]
        );
        for (name, value) in [
            ("witness", serde_json::json!("x")),
            ("set=N=1 --witness", serde_json::json!("x")),
            ("keep-going", serde_json::json!("yes")),
            ("set", serde_json::json!({"a": 1})),
            ("set", serde_json::json!([["N=1"]])),
        ] {
            let mut with_options = request("p.maz");
            with_options.options.insert(name.to_owned(), value);
            assert!(words(&with_options, &table()).is_err(), "{name}");
        }
    }

    #[test]
    fn commands_are_those_of_the_table() {
        for command in ["bench", "lsp", "replay", "--help", "new", ""] {
            let mut with_options = request("p.maz");
            with_options.command = command.to_owned();
            assert!(words(&with_options, &table()).is_err(), "{command}");
        }
        let mut shown = request("r.json");
        shown.command = "show".to_owned();
        assert!(words(&shown, &table()).is_ok());
        let mut program = request("p.maz");
        program.command = "show".to_owned();
        let refused = words(&program, &table());
        assert_eq!(refused, Err(BadRequest::Record("p.maz".to_owned())));
    }
}
