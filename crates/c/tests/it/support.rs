//! Compiles a program, and explores it in another process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use mazurka_c::{Machine, SearchStop, Settings, load, shim_source};
use mazurka_core::{Bound, Limits, Narrator, Schedule};
use mazurka_explore::{Algorithm, Goal, Search};

/// What a search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub executions: u64,
    pub blocked: u64,
    pub deadlocks: u64,
    pub discarded: u64,
    /// Number of different results: exit codes and output, or observed values.
    pub finals: u64,
    /// The messages of failures, with the line.
    pub failures: Vec<String>,
    pub bounds: String,
    pub refused: Option<String>,
}

impl Findings {
    /// Returns whether there is no error and everything was explored.
    pub fn is_right(&self) -> bool {
        self.failures.is_empty()
            && self.deadlocks == 0
            && self.bounds == "[]"
            && self.refused.is_none()
    }

    /// Whether the message of some failure contains these words.
    pub fn says(&self, words: &str) -> bool {
        self.failures.iter().any(|failure| failure.contains(words))
    }
}

/// Returns the compilers of C and C++: those that the environment names, or gcc.
fn compilers() -> [String; 2] {
    let named = |name: &str, otherwise: &str| std::env::var(name).unwrap_or(otherwise.to_owned());
    [named("CC", "gcc"), named("CXX", "g++")]
}

/// Returns the optional flags that a compiler takes. The first flag, which initialises variables
/// with 0, is left out, because no test has uninitialised variables.
fn optional_flags(cxx: bool) -> &'static [&'static str] {
    static TAKEN: [OnceLock<Vec<&str>>; 2] = [OnceLock::new(), OnceLock::new()];
    TAKEN[usize::from(cxx)].get_or_init(|| {
        let compiler = &compilers()[usize::from(cxx)];
        let all = mazurka_c::OPTIONAL_FLAGS[1..].iter();
        let taken = all.filter(|flags| takes(compiler, flags));
        taken.flat_map(|flags| flags.iter().copied()).collect()
    })
}

/// Whether a compiler takes these flags.
fn takes(compiler: &str, flags: &[&str]) -> bool {
    let mut command = Command::new(compiler);
    command.args(flags).arg("-Werror");
    command.args(["-x", "c", "-fsyntax-only", "/dev/null"]);
    let output = command.output();
    output.is_ok_and(|output| output.status.success())
}

/// Returns whether there is a compiler; if not, the test prints that it is skipped.
pub fn has_compiler() -> bool {
    let [cc, _] = compilers();
    let there = Command::new(&cc).arg("--version").output();
    let there = there.is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: {cc} missing");
    }
    there
}

/// How to explore a program.
#[derive(Clone, Debug, Default)]
pub struct ExploreOptions<'a> {
    pub flags: &'a [&'a str],
    pub allow_races: bool,
    pub nondet: Option<(&'a str, i64, i64)>,
    pub algorithm: Option<&'a str>,
    /// The memory model; `None` for interleavings.
    pub memory: Option<&'a str>,
    pub leaks: bool,
    /// The observed values (`code`, `output` or variables), separated by commas.
    pub observed: Option<&'a str>,
}

fn run(command: &mut Command) {
    let output = command.output().expect("a command");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

fn folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("mazurka-c-test-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Returns the compiled shim, which all tests share.
fn shim() -> &'static PathBuf {
    static SHIM: OnceLock<PathBuf> = OnceLock::new();
    SHIM.get_or_init(|| {
        let folder = folder();
        let (source, object) = (folder.join("shim.c"), folder.join("shim.o"));
        fs::write(&source, shim_source()).expect("the shim");
        let [cc, _] = compilers();
        let flags = mazurka_c::SHIM_FLAGS;
        let fixed = takes(&cc, &flags[flags.len() - 1..]);
        run(Command::new(&cc)
            .args(mazurka_c::shim_flags(fixed))
            .args(["-c", "-o"])
            .arg(&object)
            .arg(source));
        object
    })
}

fn compile(name: &str, source: &str, how: &ExploreOptions<'_>, folder: &Path) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, source).expect("the program");
    let cxx = name.ends_with(".cpp");
    let (b, object) = (folder.join("b.o"), folder.join("p.so"));
    let a = shim();
    let level = if how.allow_races { "-O0" } else { "-O1" };
    let [c, cpp] = compilers();
    let compiler = if cxx { &cpp } else { &c };
    let mut command = Command::new(compiler);
    command.arg(level).args(mazurka_c::FLAGS);
    command.args(optional_flags(cxx));
    command.args(["-fPIC", "-c", "-o"]);
    run(command.arg(&b).arg(file).args(how.flags));
    let mut link = Command::new(compiler);
    link.args(mazurka_c::LINK_FLAGS).arg("-o");
    link.arg(&object).args([&b, a]).arg("-lm");
    if cxx {
        link.args(mazurka_c::CXX_LINK_FLAGS);
    }
    run(&mut link);
    object
}

/// Explores a program in a separate process. `name` is the name of its file.
pub fn explore(name: &str, source: &str, how: ExploreOptions<'_>) -> Findings {
    Compiled::new(name, source, &how).explore(&how)
}

/// A compiled program, to be explored in several ways.
pub struct Compiled {
    name: String,
    folder: PathBuf,
    object: PathBuf,
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // If the folder cannot be removed, that does no harm.
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

impl Compiled {
    /// Compiles a program. `name` is the name of its file.
    pub fn new(name: &str, source: &str, how: &ExploreOptions<'_>) -> Self {
        let folder = folder();
        let object = compile(name, source, how, &folder);
        let name = name.to_owned();
        Self {
            name,
            folder,
            object,
        }
    }

    /// Explores the program in a separate process.
    pub fn explore(&self, how: &ExploreOptions<'_>) -> Findings {
        explore_object(&self.name, &self.object, how)
    }
}

/// A number that marks the chosen program in the object of a batch.
const MARK: u64 = 0x6d61_7a75_726b_6121;

/// Several programs in one object. Random tests compile many small programs, and compiling one for
/// itself takes ten times as long as exploring it. The names of the programs get a number each, and
/// `main` calls that of the chosen program; for each exploration, the choice is written into a copy
/// of the object.
pub struct Batch {
    compiled: Compiled,
    object: Vec<u8>,
}

impl Batch {
    /// Compiles programs whose global names are among `names`. They may use these headers only.
    pub fn new(sources: &[String], names: &[&str], how: &ExploreOptions<'_>) -> Self {
        let headers = ["assert", "pthread", "semaphore", "stdatomic", "stdio"];
        let headers = headers.map(|name| format!("#include <{name}.h>\n"));
        let mut text = headers.concat();
        for (number, source) in sources.iter().enumerate() {
            for name in names.iter().chain(&["main"]) {
                text += &format!("#undef {name}\n#define {name} {name}_{number}\n");
            }
            text += source;
        }
        text += &format!(
            "#undef main\nstatic volatile unsigned long chosen[2] = {{{MARK}ul, 0}};\n\
             int main(void) {{ switch (chosen[1]) {{\n"
        );
        for number in 0..sources.len() {
            text += &format!("case {number}: return main_{number}();\n");
        }
        text += "} return 77; }\n";
        let compiled = Compiled::new("t.c", &text, how);
        let object = fs::read(&compiled.object).expect("the object");
        Self { compiled, object }
    }

    /// Explores one of the programs in a separate process.
    pub fn explore(&self, number: usize, how: &ExploreOptions<'_>) -> Findings {
        let mark = MARK.to_ne_bytes();
        let at = self.object.windows(8).position(|word| word == mark);
        let at = at.expect("the mark") + 8;
        let mut object = self.object.clone();
        object[at..at + 8].copy_from_slice(&(number as u64).to_ne_bytes());
        let file = self.compiled.folder.join("chosen.so");
        fs::write(&file, object).expect("the object");
        explore_object(&self.compiled.name, &file, how)
    }
}

/// Calls a function for slices of the seeds from the first one on, and prints the seeds that are
/// done. The variables `MAZURKA_SEED` and `MAZURKA_PROGRAMS` say which seeds; without them they are
/// those that are given here.
pub fn in_slices(what: &str, (first, programs): (u64, u64), run: impl Fn(std::ops::Range<u64>)) {
    /// Larger batches compile hardly faster, and take longer to load.
    const BATCH: usize = 32;
    let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = variable("MAZURKA_SEED").unwrap_or(first);
    let end = first.saturating_add(variable("MAZURKA_PROGRAMS").unwrap_or(programs));
    for start in (first..end).step_by(BATCH) {
        let next = end.min(start + BATCH as u64);
        run(start..next);
        println!("{what}: the seeds {first} to {} hold", next - 1);
    }
}

fn explore_object(name: &str, object: &Path, how: &ExploreOptions<'_>) -> Findings {
    let mut worker = Command::new(std::env::current_exe().expect("this program"));
    worker.args([
        "--exact",
        "support::worker",
        "--nocapture",
        "--test-threads=1",
    ]);
    worker.env("MAZURKA_C_OBJECT", object);
    worker.env("MAZURKA_C_ALGORITHM", how.algorithm.unwrap_or("optimal"));
    if how.allow_races {
        worker.env("MAZURKA_C_RACES", "1");
    }
    if how.leaks {
        worker.env("MAZURKA_C_LEAKS", "1");
    }
    if let Some(observed) = how.observed {
        worker.env("MAZURKA_C_OBSERVED", observed);
    }
    if let Some(memory) = how.memory {
        worker.env("MAZURKA_C_MEMORY", memory);
    }
    if let Some((name, least, greatest)) = how.nondet {
        worker.env("MAZURKA_C_NONDET", format!("{name} {least} {greatest}"));
    }
    let output = worker.output().expect("a worker");
    let said = String::from_utf8_lossy(&output.stdout);
    let mut found = Findings::default();
    for line in said.lines() {
        let Some((key, value)) = line.split_once("=== ") else {
            continue;
        };
        let number = || value.parse().expect("a number");
        match key {
            "executions" => found.executions = number(),
            "blocked" => found.blocked = number(),
            "deadlocks" => found.deadlocks = number(),
            "discarded" => found.discarded = number(),
            "finals" => found.finals = number(),
            "failure" => found.failures.push(value.to_owned()),
            "bounds" => found.bounds = value.to_owned(),
            "refused" => found.refused = Some(value.to_owned()),
            _ => {}
        }
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let ended = found.bounds != String::new() || found.refused.is_some();
    assert!(ended && output.status.success(), "{name}: {said}{errors}");
    found
}

/// The child process of [`Compiled::explore`]: explores the program that the environment names.
/// Without these variables, as an ordinary test, it does nothing.
#[test]
fn worker() {
    let Ok(object) = std::env::var("MAZURKA_C_OBJECT") else {
        return;
    };
    let inputs = std::env::var("MAZURKA_C_NONDET").ok().map(|text| {
        let words: Vec<&str> = text.split(' ').collect();
        let number = |at: usize| words[at].parse().expect("a number");
        (words[0].to_owned(), number(1), number(2))
    });
    let settings = Settings {
        main_file: String::new(),
        allow_races: std::env::var("MAZURKA_C_RACES").is_ok(),
        leaks: std::env::var("MAZURKA_C_LEAKS").is_ok(),
        outside: Vec::new(),
        inputs: inputs.into_iter().collect(),
        observed: std::env::var("MAZURKA_C_OBSERVED")
            .ok()
            .map_or(Vec::new(), |text| {
                text.split(',').map(str::to_owned).collect()
            }),
        must_agree: false,
    };
    let content = fs::read(&object).expect("the object");
    if let Err(error) = load(&object, &content, settings) {
        println!("\nrefused=== {error}");
        return;
    }
    if let Ok(memory) = std::env::var("MAZURKA_C_MEMORY") {
        return crate::memory::explore_weakly(&memory);
    }
    let mut machine = Machine::of_loaded().expect("a program");
    let algorithm = std::env::var("MAZURKA_C_ALGORITHM").expect("an algorithm");
    let search = Search {
        algorithm: algorithm.parse::<Algorithm>().expect("an algorithm"),
        limits: Limits::default(),
        goal: Goal::Everything,
    };
    let mut found = loop {
        let found = search.run(
            &mut machine,
            &mut |_| std::ops::ControlFlow::Continue(()),
            &mut (),
        );
        match machine.stopped() {
            None | Some(SearchStop::Raced) => break found,
            Some(SearchStop::Restart) => machine.start_again(),
            Some(SearchStop::Refused(what)) => return println!("\nrefused=== {what}"),
            Some(SearchStop::OutOfTime) => unreachable!("there is no limit"),
        }
    };
    if machine.has_raced() {
        found.add_bound(Bound::DataRaces);
    }
    println!(
        "\nexecutions=== {}",
        found.counts.traces.unwrap_or(found.counts.executions)
    );
    println!("blocked=== {}", found.counts.blocked);
    println!("deadlocks=== {}", found.counts.deadlocks);
    println!("discarded=== {}", found.counts.discarded);
    println!("finals=== {}", found.counts.final_states);
    let micros = found.elapsed.as_secs_f64() * 1e6 / found.counts.executions.max(1) as f64;
    println!("micros=== {micros:.2}");
    for finding in &found.failures {
        let mishap = finding.mishap.expect("a mishap");
        let schedule: &Schedule = &finding.schedule;
        let run = machine
            .narrate(schedule)
            .expect("a schedule that was found");
        let (message, place) = mazurka_core::Narrator::explain(&machine, &mishap);
        let line = place.map_or(0, |place| place.line);
        assert!(
            run.steps.len() == schedule.0.len(),
            "the run is the schedule's"
        );
        let last = run.steps.last().and_then(|step| step.mishap.as_ref());
        assert!(
            schedule.0.is_empty() || mishap.process.is_none() || last == Some(&message),
            "the run of `{message}` shows {last:?}"
        );
        println!("failure=== {message} @{line}");
        if std::env::var("MAZURKA_C_TELL").is_ok() {
            for step in &run.steps {
                println!(
                    "  {} {} :{} {:?}",
                    step.process, step.label, step.line, step.mishap
                );
            }
        }
    }
    println!("bounds=== {:?}", found.bounds);
}
