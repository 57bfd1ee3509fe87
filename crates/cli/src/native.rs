//! C and C++ programs: compiled here, and run by a second process of this tool.
//!
//! The program is native code, which can do anything that the user can. It runs in a separate
//! process, so that its crashes do no harm to this one; but this is no sandbox. The second process
//! is this tool with the same arguments and the flag `--native`, which names the compiled program.
//! It explores the program and shows the result. The first process waits and forwards Ctrl-C. If
//! the program ended the second process, the first process reports how.

mod compile;

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use mazurka::native::{self, Object, RUNS_HERE, Settings};
use mazurka::{Program, Schedule};

use crate::commands::Refusal;
use crate::exit::Exit;
use crate::watch::{Workers, interrupted, worked};
use crate::{files, output};

/// The extensions of C and C++ files.
const C: [&str; 1] = [".c"];
const CXX: [&str; 4] = [".cc", ".cpp", ".cxx", ".C"];

/// Flags for programs in C and C++.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "C and C++ programs")]
pub(crate) struct NativeArgs {
    /// C: data races are not failures; plain accesses that race are steps
    #[arg(long)]
    allow_races: bool,
    /// C: threads that are neither joined nor detached, and memory that is not freed, are failures
    #[arg(long)]
    leaks: bool,
    /// C: the values of `__VERIFIER_nondet_TYPE`, such as int=0..3 (repeatable)
    #[arg(long, value_name = "TYPE=LEAST..GREATEST", value_parser = range)]
    nondet: Vec<(String, i64, i64)>,
    /// The observed results, as in a record.
    #[arg(skip)]
    observe: Option<String>,
    /// The compiled program, for the process that runs it
    #[arg(long, value_name = "OBJECT", hide = true)]
    native: Option<PathBuf>,
    /// C: flags for the compiler
    #[arg(last = true, value_name = "CFLAGS")]
    cflags: Vec<String>,
}

/// Reads `int=0..3`.
fn range(text: &str) -> Result<(String, i64, i64), String> {
    let read = || {
        let (name, range) = text.split_once('=')?;
        let (least, greatest) = range.split_once("..")?;
        let greatest = greatest.trim_start_matches('=');
        Some((name.to_owned(), least.parse().ok()?, greatest.parse().ok()?))
    };
    let (name, least, greatest): (String, i64, i64) =
        read().ok_or("write a type and a range of values, as in int=0..3")?;
    match native::wrong_input(&name, least, greatest) {
        None => Ok((name, least, greatest)),
        Some(wrong) => Err(wrong),
    }
}

fn ends(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether a file is C or C++.
pub(crate) fn is_native(name: &str) -> bool {
    ends(name, &C) || ends(name, &CXX)
}

/// Returns the message of a command that does not support native code.
pub(crate) fn refusal(name: &str) -> String {
    format!(
        "`{name}` is native code: only `check`, `explore`, `sample`, `run` and `replay` support it"
    )
}

/// The names of files beside the compiled program. `outside` lists the code that runs outside of
/// the exploration. `trail` has the last actions of the process that runs the program. `ended` is a
/// note that this process ended by itself.
const OUTSIDE: &str = "outside";
const TRAIL: &str = "trail";
const ENDED: &str = "ended";

/// In the process that runs a program: the path of the note that it ended by itself.
static END: OnceLock<PathBuf> = OnceLock::new();

/// Writes the note that this process ends by itself. If the note is missing, the program has ended
/// the process.
pub(crate) fn note_end() {
    if let Some(file) = END.get() {
        let _noted = fs::write(file, "");
    }
}

/// The processor time that the constructors of the program, which run before `main`, may take.
const LOADING: Duration = Duration::from_secs(10);

/// A watch over the start of the program. It ends this process if the program takes too long to
/// reach `main`, or if the program has ended the thread that runs it.
struct LoadingWatch(Arc<AtomicBool>);

impl LoadingWatch {
    fn watch() -> Self {
        let loaded = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&loaded);
        let (started, starts) = std::sync::mpsc::channel();
        let runner = fs::read_link("/proc/thread-self").ok();
        std::thread::spawn(move || {
            // Report that this thread has started; only then is the program loaded. A starting
            // thread needs the dynamic loader, which is locked while constructors run.
            let _heard = started.send(());
            while !watched.load(Ordering::SeqCst) {
                end_without(runner.as_deref());
                if worked() > LOADING {
                    output::complain(&format!(
                        "the program does not come to `main`: its constructors have run for {} seconds",
                        LOADING.as_secs()
                    ));
                    // An exit would wait for the loader, which waits for the constructors.
                    std::process::abort();
                }
                std::thread::sleep(Duration::from_millis(50));
            }
            loop {
                end_without(runner.as_deref());
                std::thread::sleep(BETWEEN_LOOKS);
            }
        });
        let _started = starts.recv();
        Self(loaded)
    }
}

/// Time between two looks at the thread that runs the program.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// ESRCH: the error of reading the file of a thread that ended while the file was open.
const NO_TASK: i32 = 3;

/// Ends this process if the program has ended the thread `runner` by a system call. Otherwise the
/// other threads would wait for `runner` for ever. The first process, which waits for this one,
/// reports the end.
fn end_without(runner: Option<&Path>) {
    let Some(runner) = runner else { return };
    let proc = Path::new("/proc");
    // In this file the state of the thread comes after its name, which is in brackets. The first
    // thread of a process becomes a zombie (`Z`) when it ends. For any other thread the file
    // disappears.
    let ended = match fs::read_to_string(proc.join(runner).join("stat")) {
        Ok(state) => state
            .rsplit(") ")
            .next()
            .is_some_and(|it| it.starts_with(['Z', 'X'])),
        Err(error) => error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(NO_TASK),
    };
    if ended {
        std::process::exit(Exit::BadInput as i32);
    }
}

impl Drop for LoadingWatch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// The names under which a record stores the flags for native programs.
const SET: [&str; 5] = ["@allow-races", "@nondet", "@cflag", "@leaks", "@observe"];

/// The results of executions that are compared. If `names` is `None`, no results are compared.
#[derive(Clone, Copy)]
struct Observed<'a> {
    names: Option<&'a str>,
    /// Whether the user has named the results; otherwise they are the default.
    asked: bool,
}

impl NativeArgs {
    /// Whether no flag was given that only native programs have.
    pub(crate) fn is_empty(&self) -> bool {
        !self.allow_races && !self.leaks && self.nondet.is_empty() && self.cflags.is_empty()
    }

    /// Returns the message for a flag for native programs with a program in another language.
    pub(crate) fn only_for_c() -> String {
        "--allow-races, --leaks, --nondet and flags for a compiler are for programs in C and C++"
            .to_owned()
    }

    /// Returns the flags from a record, and the path of the compiled program.
    pub(crate) fn recorded(
        set: &[(String, String)],
        native: Option<PathBuf>,
    ) -> Result<Self, String> {
        let mut args = Self {
            native,
            ..Self::default()
        };
        for (name, value) in set {
            match name.as_str() {
                "@allow-races" => args.allow_races = true,
                "@leaks" => args.leaks = true,
                "@nondet" => args.nondet.push(range(value)?),
                "@observe" => args.observe = Some(value.clone()),
                // A record may come from another person, and must not control the compiler.
                "@cflag" => {
                    return Err(format!(
                        "it was recorded with flags for the compiler: check the program again, with -- {value} …"
                    ));
                }
                _ => {}
            }
        }
        Ok(args)
    }

    /// Returns the flags as settings, the form in which a record stores them.
    fn set(&self, observed: Option<&str>) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut add = |name: &str, value: String| all.push((name.to_owned(), value));
        if self.allow_races {
            add(SET[0], "true".to_owned());
        }
        if self.leaks {
            add(SET[3], "true".to_owned());
        }
        if let Some(observed) = observed {
            add(SET[4], observed.to_owned());
        }
        for (name, least, greatest) in &self.nondet {
            add(SET[1], format!("{name}={least}..{greatest}"));
        }
        for flag in &self.cflags {
            add(SET[2], flag.clone());
        }
        all
    }

    /// Loads the program that consists of these files. In the second process, it loads the compiled
    /// program. In the first process, it compiles the program and lets a second process do the
    /// work; the exit of that process is returned as a [`Refusal::Done`]. `compares` says that the
    /// results of executions are compared: by default, the exit code and the output.
    pub(crate) fn load(
        &self,
        names: &[&str],
        set: &[(String, String)],
        compares: bool,
    ) -> Result<Program, Refusal> {
        let given = set.iter().find(|(name, _)| name == SET[4]);
        let given = given.map(|(_, value)| value).or(self.observe.as_ref());
        let both = compares.then_some("code,output");
        let observed = Observed {
            names: given.map(String::as_str).or(both),
            asked: given.is_some(),
        };
        if let Some((name, _)) = set.iter().find(|(name, _)| !SET.contains(&name.as_str())) {
            let what = match name.strip_prefix('@') {
                Some(flag) => format!("--{flag} is for ABS programs"),
                None => {
                    format!("--set {name}: C programs have no constants to set; use -- -D{name}=…")
                }
            };
            return Err(what.into());
        }
        let twice = |(at, (name, ..)): (usize, &(String, i64, i64))| {
            self.nondet[..at].iter().any(|(other, ..)| other == name)
        };
        if self.nondet.iter().enumerate().any(twice) {
            return Err("--nondet has two ranges for one type: give one"
                .to_owned()
                .into());
        }
        if !RUNS_HERE {
            return Err(native::LoadError::NotHere.to_string().into());
        }
        if let Some(other) = names.iter().find(|name| !is_native(name)) {
            return Err(format!("`{other}` is not a file in C or C++, and the others are").into());
        }
        let mut text = String::new();
        for name in names {
            text += &files::program(name)?;
            text.push('\0');
        }
        match &self.native {
            Some(object) => self.load_object(names, &text, object, observed),
            None => Err(Refusal::Done(self.elsewhere(names)?)),
        }
    }

    fn load_object(
        &self,
        names: &[&str],
        text: &str,
        object: &Path,
        observed: Observed<'_>,
    ) -> Result<Program, Refusal> {
        let _known = END.set(object.with_file_name(ENDED));
        native::confine();
        let shown = object.display().to_string();
        let content = fs::read(object).map_err(|error| format!("`{shown}`: {error}"))?;
        let outside = fs::read_to_string(object.with_file_name(OUTSIDE)).unwrap_or_default();
        let settings = Settings {
            main_file: names.first().map_or(String::new(), ToString::to_string),
            allow_races: self.allow_races,
            leaks: self.leaks,
            outside: outside.lines().map(str::to_owned).collect(),
            inputs: self.nondet.clone(),
            observed: observed.names.map_or(Vec::new(), |names| {
                names
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .collect()
            }),
            must_agree: observed.asked,
        };
        let object = Object {
            path: &shown,
            content: &content,
        };
        let name = names.join(mazurka::FILES_JOINED_BY);
        let trail = Path::new(object.path).with_file_name(TRAIL);
        let loading = LoadingWatch::watch();
        native::on_refusal_before_main(|what| {
            output::complain(&format!("the program cannot be explored: {what}"));
            note_end();
        });
        let loaded = native::load(&name, text, &self.set(observed.names), object, settings);
        drop(loading);
        if let Ok(file) = fs::File::options().read(true).write(true).open(trail) {
            keep_trail(&file);
        }
        Ok(loaded.map_err(|error| error.to_string())?)
    }

    /// Compiles the program, and runs this tool again to do the work.
    fn elsewhere(&self, names: &[&str]) -> Result<Exit, Refusal> {
        let folder = Folder::new()?;
        let worker = Workers::expected();
        let object = self.compile(names, &folder.0, &worker);
        if interrupted() {
            output::complain("inconclusive: interrupted before the program was compiled");
            return Ok(Exit::Inconclusive);
        }
        let object = object?;
        let tool =
            std::env::current_exe().map_err(|error| format!("cannot start again: {error}"))?;
        let mut given: Vec<OsString> = std::env::args_os().skip(1).collect();
        // The flag comes after the command, and before the files and `--`.
        let at = given.len().min(1);
        given.splice(at..at, ["--native".into(), object.into_os_string()]);
        let kept = [
            "TERM",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
            "COLUMNS",
            "LANG",
            "LC_ALL",
        ];
        let kept = kept
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        let trail = folder.0.join(TRAIL);
        let made = fs::File::create(&trail);
        let made = made.and_then(|file| file.set_len(native::TRAIL_SIZE as u64));
        made.map_err(|error| format!("`{}`: {error}", trail.display()))?;
        native::keep_files();
        let mut command = Command::new(tool);
        command.stdin(Stdio::null()).args(given);
        let status = worker.status(command.env_clear().envs(kept));
        drop(worker);
        let status = status.map_err(|error| format!("cannot start again: {error}"))?;
        match status.code() {
            Some(_) if !folder.0.join(ENDED).exists() => {
                let left = fs::read(trail)
                    .ok()
                    .and_then(|left| native::left_behind(&left));
                Err(format!(
                    "the program has ended the process that explored it, by a system call of its own: \
                     it has no verdict.{}",
                    last_step(names, left)
                )
                .into())
            }
            Some(code) => Ok(Exit::of_code(code)),
            None if interrupted() => {
                output::complain("inconclusive: interrupted, and nothing is known");
                Ok(Exit::Inconclusive)
            }
            None => {
                let left = fs::read(trail)
                    .ok()
                    .and_then(|left| native::left_behind(&left));
                Err(killed(status, names, left).into())
            }
        }
    }
}

#[cfg(unix)]
fn keep_trail(file: &fs::File) {
    use std::os::fd::AsRawFd;
    native::keep_trail(file.as_raw_fd());
}

#[cfg(not(unix))]
fn keep_trail(_file: &fs::File) {}

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, String> {
        let id = std::process::id();
        for number in 0..100 {
            let path = std::env::temp_dir().join(format!("mazurka-{id}-{number}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(format!("`{}`: {error}", path.display())),
            }
        }
        Err("there is no name for a temporary folder".to_owned())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

#[cfg(unix)]
fn killed(status: ExitStatus, names: &[&str], left: Option<Schedule>) -> String {
    use std::os::unix::process::ExitStatusExt;
    let signal = status.signal().unwrap_or(0);
    let why = match &left {
        None => {
            "Does the program crash before its first step, or write over the memory of the tool?"
        }
        Some(_) => "Does the program write over the memory of the tool?",
    };
    format!(
        "the process that ran the program was ended by signal {signal}; it has no verdict. {why}{}",
        last_step(names, left)
    )
}

/// Returns a sentence about the step in which the process that ran the program has ended: it is the
/// last step of the schedule `left`. Empty if there is no schedule.
fn last_step(names: &[&str], left: Option<Schedule>) -> String {
    let files = names.join(" ");
    left.map_or(String::new(), |schedule| {
        format!(" It was making the last step of:\n  mazurka run {files} --schedule \"{schedule}\"")
    })
}

#[cfg(not(unix))]
fn killed(_: ExitStatus, _: &[&str], _: Option<Schedule>) -> String {
    "the process that ran the program was ended; it has no verdict".to_owned()
}
