//! The command `flags`: prints the table of commands and flags that the page and `serve` offer. The
//! table is made from the definitions of the command line, so there is only one list of flags.
//! [`OFFERED`] lists the flags that a page may use: none of them names a file, a program to
//! execute, a solver or a computer.

use clap::{Arg, ArgAction, Args, Command, CommandFactory};
use serde::Serialize;

use super::{Cli, Refusal};
use crate::exit::Exit;
use crate::output;
use crate::show::json;

/// The commands that the page offers. Each of them has `--format html`.
const COMMANDS: [&str; 7] = [
    "check", "explore", "run", "unfold", "permute", "symbolic", "prove",
];

/// The flags that the page offers: they take a text, a number or nothing, but no file.
const OFFERED: [&str; 50] = [
    "algorithm",
    "canonical",
    "class",
    "classes",
    "complete",
    "depth",
    "equivalent",
    "events",
    "fairness",
    "goal",
    "ignore-time",
    "inputs",
    "jobs",
    "keep-going",
    "linearise",
    "main",
    "max-depth",
    "max-executions",
    "max-local",
    "max-steps",
    "memory",
    "memory-limit",
    "model",
    "naive",
    "net",
    "no-anticipate",
    "no-deadlock",
    "no-feasible",
    "no-guide",
    "no-por",
    "no-reduction",
    "no-sleep",
    "no-symmetry",
    "object",
    "observe",
    "paper",
    "path",
    "paths",
    "por",
    "prefix-pruning",
    "product",
    "profile",
    "property",
    "schedule",
    "seed",
    "set",
    "states",
    "symbolic-initial",
    "time-limit",
    "unfold",
];

/// Print the flags of the commands that the page offers, as JSON
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka flags")]
pub(crate) struct FlagsArgs {}

/// The data about the command line that the page needs.
#[derive(Serialize)]
struct FlagTable {
    version: &'static str,
    keywords: &'static [&'static str],
    commands: Vec<OfferedCommand>,
}

/// A command.
#[derive(Serialize)]
struct OfferedCommand {
    name: String,
    about: String,
    flags: Vec<OfferedFlag>,
    /// Flags that this build sets by itself. Another build gives the same result only with these
    /// flags on its command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    always: Vec<&'static str>,
}

/// A flag that the page offers for a command.
#[derive(Serialize)]
struct OfferedFlag {
    name: String,
    help: String,
    /// The name of its value in the help, such as `NAME=VALUE`; `None` if the flag takes no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Whether it is repeatable.
    many: bool,
    /// The values that it accepts; empty if they are not a fixed list.
    choices: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
}

/// Prints the table.
pub(super) fn flags(_args: &FlagsArgs) -> Result<Exit, Refusal> {
    Ok(output::print_raw(&json(&table())?, Exit::Verified))
}

fn table() -> FlagTable {
    let all = Cli::command();
    let commands = COMMANDS.iter().filter_map(|name| {
        let command = all.find_subcommand(name)?;
        Some(offered(command))
    });
    FlagTable {
        version: env!("CARGO_PKG_VERSION"),
        keywords: mazurka::symbols::KEYWORDS,
        commands: commands.collect(),
    }
}

fn offered(command: &Command) -> OfferedCommand {
    let flags = command.get_arguments();
    let flags = flags.filter(|flag| {
        let name = flag.get_long().unwrap_or_default();
        !flag.is_hide_set() && OFFERED.contains(&name)
    });
    let solves = command
        .get_arguments()
        .any(|flag| flag.get_long() == Some("solver"));
    let embedded = cfg!(target_family = "wasm") && solves;
    OfferedCommand {
        name: command.get_name().to_owned(),
        about: command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
        flags: flags.map(flag).collect(),
        always: Vec::from_iter(embedded.then_some("--solver=embedded")),
    }
}

fn flag(flag: &Arg) -> OfferedFlag {
    let takes = flag.get_action().takes_values();
    let choices = flag.get_possible_values();
    let choices = choices.iter().filter(|_| takes);
    let value = flag.get_value_names().and_then(|names| names.first());
    let value = value.map_or_else(|| flag.get_id().to_string(), ToString::to_string);
    let default = flag.get_default_values().first();
    OfferedFlag {
        name: flag.get_long().unwrap_or_default().to_owned(),
        help: flag.get_help().map(ToString::to_string).unwrap_or_default(),
        value: takes.then_some(value),
        many: matches!(flag.get_action(), ArgAction::Append),
        choices: choices.map(|choice| choice.get_name().to_owned()).collect(),
        default: default
            .filter(|_| takes)
            .map(|value| value.to_string_lossy().into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn every_offered_flag_exists() {
        let table = table();
        assert_eq!(table.commands.len(), COMMANDS.len());
        for name in OFFERED {
            let known = |command: &OfferedCommand| command.flags.iter().any(|f| f.name == name);
            assert!(table.commands.iter().any(known), "no command has --{name}");
        }
    }

    #[test]
    fn no_flag_of_the_page_names_a_file_or_a_program() {
        let all = Cli::command();
        let path = clap::builder::ValueParser::path_buf().type_id();
        assert_eq!(path, std::any::TypeId::of::<PathBuf>());
        let mut refused = 0;
        for command in all
            .get_subcommands()
            .filter(|c| COMMANDS.contains(&c.get_name()))
        {
            for flag in command.get_arguments() {
                let names = flag.get_value_names().unwrap_or_default();
                let file = flag.get_value_parser().type_id() == path
                    || names.iter().any(|n| {
                        ["FILE", "RECORD", "DIR", "SOLVER", "OBJECT"].contains(&n.as_str())
                    });
                if file && let Some(name) = flag.get_long() {
                    refused += 1;
                    assert!(!OFFERED.contains(&name), "--{name} names a file");
                }
            }
        }
        assert!(refused > 5, "{refused}");
    }
}
