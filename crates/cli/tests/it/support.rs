//! Runs the binary and captures its output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The exit code and the output.
#[derive(Debug)]
pub struct CommandResult {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl CommandResult {
    /// Returns the record in the output.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.out) {
            Ok(value) => value,
            Err(error) => panic!("{error} in {self:?}"),
        }
    }

    pub fn first_line(&self) -> &str {
        self.out.lines().next().unwrap_or("")
    }

    pub fn last_line(&self) -> &str {
        self.out.lines().next_back().unwrap_or("")
    }
}

pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the workspace").to_owned()
}

/// Returns a command that runs the binary in the root of the repository, in a clean environment.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mazurka"));
    command
        .current_dir(root())
        .env_remove("COLUMNS")
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE");
    command
}

#[track_caller]
pub fn run_command(command: &mut Command, input: &str) -> CommandResult {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A command that does not read its input may close it.
        let _ = stdin.write_all(input.as_bytes());
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("the writer ends");
    CommandResult {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Runs the binary with these arguments.
#[track_caller]
pub fn mazurka(args: &[&str]) -> CommandResult {
    run_command(command().args(args), "")
}

/// Runs the binary with a program on standard input.
#[track_caller]
pub fn with_input(args: &[&str], input: &str) -> CommandResult {
    run_command(command().args(args), input)
}

/// Returns the words of the replay command in a text, split as by a shell.
pub fn replay_words(text: &str) -> Vec<String> {
    let line = text
        .lines()
        .rev()
        .find_map(|line| {
            line.strip_prefix("replay with: mazurka ")
                .or(line.strip_prefix("repeat with: mazurka "))
        })
        .expect("a command to replay with");
    let mut words = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.trim_start().chars().next() {
        rest = rest.trim_start();
        let (word, after) = match first {
            '"' | '\'' => rest[1..].split_once(first).expect("a closed quote"),
            _ => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after;
    }
    words
}
