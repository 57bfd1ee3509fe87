//! Writes the commands that a report shows, such as the one that replays a witness, so that they
//! can be pasted into a shell.

use mazurka_core::Kinds;
use mazurka_core::record::{ProgramRecord, Record, Run};

/// Returns a word quoted for a POSIX shell: in single quotes, or unchanged if it needs none.
///
/// ```
/// use mazurka_report::quote;
/// assert_eq!(quote("examples/counter.maz"), "examples/counter.maz");
/// assert_eq!(quote("N=3"), "N=3");
/// assert_eq!(quote("my file.maz"), "'my file.maz'");
/// assert_eq!(quote("it's"), r"'it'\''s'");
/// assert_eq!(quote(""), "''");
/// ```
pub fn quote(word: &str) -> String {
    let harmless = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !word.is_empty() && word.chars().all(harmless) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the command that replays a schedule of a program.
pub fn replay_command(program: &ProgramRecord, run: &Run, flags: &[String]) -> String {
    if let Some(command) = rust_command(program, run) {
        return command;
    }
    // A schedule consists of names, digits, blanks and `().=,-`, so double quotes are enough.
    let schedule = format!("--schedule \"{}\"", program.schedule(&run.schedule));
    let mut command = format!("mazurka run {} {schedule}{}", file(program), set(program));
    if !run.inputs.is_empty() {
        command += " --inputs";
    }
    for input in &run.inputs {
        command += &format!(" \"{}={}\"", input.name, input.value);
    }
    for flag in flags {
        command += " ";
        command += &quote(flag);
    }
    command + &cflags(program)
}

/// Returns the command for a test of Rust code that `mazurka-rt` has recorded. The settings of such
/// a record include the place of the model and the name of the test.
fn rust_command(program: &ProgramRecord, run: &Run) -> Option<String> {
    let setting = |wanted: &str| {
        let found = program.set.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| quote(value))
    };
    let place = setting("@model")?;
    let test = setting("@test").map_or_else(String::new, |name| format!(" -- --exact {name}"));
    let schedule = &run.schedule;
    Some(format!(
        "MAZURKA_REPLAY=\"{schedule}\" MAZURKA_REPLAY_AT={place} cargo test{test}"
    ))
}

/// Returns the flags that a replay needs. If properties are named, this includes `--property`,
/// because the search ignored all other properties and their violations halted no process.
pub(crate) fn flags_of(record: &Record, flags: &[String]) -> Vec<String> {
    let options = record.options.as_ref();
    let property = options.and_then(|options| options.property.as_deref());
    let property = property.filter(|_| !named_properties(record).is_empty());
    let property = property.map(|property| format!("--property={property}"));
    let memory = record.memory_model.as_ref();
    let memory = memory.map(|memory| format!("--memory={memory}"));
    let own = property.into_iter().chain(memory);
    own.chain(flags.iter().cloned()).collect()
}

/// Returns the properties that the user has named.
pub(crate) fn named_properties(record: &Record) -> Vec<&str> {
    let options = record.options.as_ref();
    let property = options.and_then(|options| options.property.as_deref());
    let words = property.into_iter().flat_map(|all| all.split(','));
    let named = |word: &&str| !word.is_empty() && Kinds::parse(word).is_none();
    words.filter(named).collect()
}

/// Returns the command that shows two runs of a program with different results.
pub(crate) fn determinism_command(record: &Record) -> String {
    let (file, set) = (file(&record.program), set(&record.program));
    let memory = record.memory_model.as_ref();
    let memory = memory.map_or_else(String::new, |memory| format!(" --memory {memory}"));
    let last = cflags(&record.program);
    format!("mazurka check {file} --property deterministic{set}{memory}{last}")
}

/// Returns the command that checks a program.
pub(crate) fn check_command(program: &ProgramRecord) -> String {
    let (file, set) = (file(program), set(program));
    format!("mazurka check {file}{set}{}", cflags(program))
}

fn file(program: &ProgramRecord) -> String {
    match program.file.as_str() {
        "-" => "-".to_owned(),
        dashed if dashed.starts_with('-') => quote(&format!("./{dashed}")),
        plain => quote(plain),
    }
}

fn set(program: &ProgramRecord) -> String {
    let flag = |(name, value): &(String, String)| match name.strip_prefix('@') {
        // An option without a value.
        Some(option @ ("ignore-time" | "allow-races" | "leaks")) => format!(" --{option}"),
        // `files` follows from the names of the files, and `cflag` is written at the end of the
        // command.
        Some("files" | "cflag") => String::new(),
        Some(option) => format!(" --{option} {}", quote(value)),
        None => format!(" --set {}", quote(&format!("{name}={value}"))),
    };
    program.set.iter().map(flag).collect()
}

/// Returns the flags for the compiler of a C program.
fn cflags(program: &ProgramRecord) -> String {
    let flags = program.set.iter().filter(|(name, _)| name == "@cflag");
    let flags: Vec<String> = flags.map(|(_, flag)| quote(flag)).collect();
    if flags.is_empty() {
        String::new()
    } else {
        format!(" -- {}", flags.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(schedule: &str) -> Run {
        Run {
            schedule: schedule.to_owned(),
            inputs: Vec::new(),
            ending: mazurka_core::record::Ending::Open,
            steps: Vec::new(),
            state: Vec::new(),
            names: Vec::new(),
            processes: Vec::new(),
        }
    }

    #[test]
    fn the_command_carries_settings_and_flags() {
        let mut program = ProgramRecord {
            file: "my counter.maz".into(),
            hash: String::new(),
            set: vec![("N".into(), "3".into()), ("a".into(), "[1, 2]".into())],
            names: Vec::new(),
        };
        assert_eq!(
            replay_command(&program, &run("0 0.1=2"), &["--max-local=5".into()]),
            r#"mazurka run 'my counter.maz' --schedule "0 0.1=2" --set N=3 --set 'a=[1, 2]' --max-local=5"#
        );
        program.set = vec![
            ("@model".into(), "src/lib.rs:7:5".into()),
            ("@test".into(), "tests::queue".into()),
        ];
        assert_eq!(
            replay_command(&program, &run("rc11: 0 0.1=1; spins=2"), &[]),
            r#"MAZURKA_REPLAY="rc11: 0 0.1=1; spins=2" MAZURKA_REPLAY_AT=src/lib.rs:7:5 cargo test -- --exact tests::queue"#
        );
        program.set.clear();
        program.file = "-odd.maz".into();
        assert_eq!(
            replay_command(&program, &run(""), &[]),
            r#"mazurka run ./-odd.maz --schedule """#
        );
    }
}
