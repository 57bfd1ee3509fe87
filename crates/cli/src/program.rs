//! Loads the program that a command is about: reads its files, joins them, and reports its
//! mistakes.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use mazurka::Program;
use mazurka::reach::{BadProperty, StateProperty};

use crate::commands::Refusal;
use crate::native::{self, NativeArgs};
use crate::{files, values};

#[derive(Debug, Args)]
pub(crate) struct ProgramArgs {
    /// The program, a `.maz` or `.abs` file; `-` for standard input, which is `.maz`. For ABS also
    /// a folder: all `.abs` files in it. `check`, `explore`, `sample` and `run` take `.c` and
    /// `.cpp` files, which are compiled and executed
    pub file: String,
    /// ABS, C: more files of the same program
    #[arg(value_name = "FILE", help_heading = "ABS programs")]
    more: Vec<String>,
    /// Override a constant (in ABS: a function without parameters), or give a variable its initial
    /// value (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = values::setting)]
    pub set: Vec<(String, String)>,
    /// ABS: treat durations as release points
    #[arg(long, help_heading = "ABS programs")]
    ignore_time: bool,
    /// ABS: observe `output`, classes, or fields as `Class.field`, separated by commas. C: observe
    /// `output`, `code` (the exit code), or global variables
    #[arg(long, value_name = "WHAT", help_heading = "ABS programs")]
    observe: Option<String>,
    /// ABS: vary only the scheduling of this object (`Buffer1`), or of all objects of a class
    /// (`Buffer`)
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "ABS programs",
        conflicts_with = "observe"
    )]
    object: Option<String>,
    /// ABS: the product of the product line, with its deltas [default: the core]
    #[arg(long, value_name = "NAME", help_heading = "ABS programs")]
    product: Option<String>,
    /// ABS: the main block of this module, if several have one
    #[arg(long, value_name = "MODULE", help_heading = "ABS programs")]
    main: Option<String>,
}

impl ProgramArgs {
    /// Returns the settings: the values of constants, and the flags for ABS, whose names begin with
    /// `@`, as no constant does.
    pub(crate) fn settings(&self) -> Vec<(String, String)> {
        let mut all = self.set.clone();
        if self.ignore_time {
            all.push(("@ignore-time".to_owned(), "true".to_owned()));
        }
        let named = [
            ("@observe", &self.observe),
            ("@object", &self.object),
            ("@product", &self.product),
            ("@main", &self.main),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                all.push((name.to_owned(), value.clone()));
            }
        }
        all
    }

    /// Loads the program, which may be native code. `compares` says whether the results of
    /// executions are compared.
    pub(crate) fn load_any(&self, native: &NativeArgs, compares: bool) -> Result<Program, Refusal> {
        let names: Vec<&str> = std::iter::once(&self.file)
            .chain(&self.more)
            .map(String::as_str)
            .collect();
        if names.iter().any(|name| native::is_native(name)) {
            return native.load(&names, &self.settings(), compares);
        }
        if native.is_empty() {
            self.load()
        } else {
            Err(NativeArgs::only_for_c().into())
        }
    }

    /// Loads the program.
    pub(crate) fn load(&self) -> Result<Program, Refusal> {
        for (at, (name, _)) in self.set.iter().enumerate() {
            if self.set[..at].iter().any(|(earlier, _)| earlier == name) {
                let refusal = format!("--set {name} is given twice: give it once");
                return Err(Refusal::Message(refusal));
            }
        }
        self.sources()?.load(&self.settings())
    }

    /// Returns the only file, for commands that do not support ABS models.
    pub(crate) fn only_file(&self) -> Result<&str, String> {
        match self.more.first() {
            Some(other) => Err(format!("only one file is accepted; remove `{other}`")),
            None => Ok(&self.file),
        }
    }

    /// Reads the texts of the program.
    pub(crate) fn sources(&self) -> Result<Sources, String> {
        let names: Vec<&str> = std::iter::once(&self.file)
            .chain(&self.more)
            .map(|n| &**n)
            .collect();
        Sources::read(&names)
    }

    /// Loads a program, and refuses it if it has unknown values.
    pub(crate) fn load_known(&self) -> Result<Program, Refusal> {
        let sources = self.sources()?;
        let program = sources.load(&self.settings())?;
        match program.unknowns().refused() {
            unknown if unknown.is_empty() => Ok(program),
            unknown => Err(sources.mistakes(&unknown)),
        }
    }
}

/// The text of a program, joined from one or more files.
pub(crate) struct Sources {
    /// The names of all files, joined.
    name: String,
    text: String,
    /// The name of each file, and its start in the text.
    files: Vec<(String, usize)>,
}

impl Sources {
    /// Reads files and folders. A name may also be the joined names of several files, as a record
    /// stores them.
    pub(crate) fn read(names: &[&str]) -> Result<Self, String> {
        let names: Vec<&str> = names
            .iter()
            .flat_map(|name| {
                if std::path::Path::new(name).exists() {
                    vec![*name]
                } else {
                    name.split(mazurka::FILES_JOINED_BY).collect()
                }
            })
            .collect();
        if let Some(name) = names.iter().find(|name| native::is_native(name)) {
            return Err(native::refusal(name));
        }
        let mut all = Vec::new();
        for name in names {
            all.extend(files::in_folder(name, ".abs")?);
        }
        if let (Some(other), true) = (all.iter().find(|n| !n.ends_with(".abs")), all.len() > 1) {
            let problem = "is not an `.abs` file; only models in ABS have several files";
            return Err(format!("`{other}` {problem}"));
        }
        let mut sources = Self {
            name: all.join(mazurka::FILES_JOINED_BY),
            text: String::new(),
            files: Vec::new(),
        };
        for name in all {
            if !sources.text.is_empty() {
                sources.text.push('\n');
            }
            let start = sources.text.len();
            sources.text += &if name.ends_with(".abs") {
                files::program(&name)?
            } else {
                files::with_included(&name)?
            };
            sources.files.push((name, start));
        }
        Ok(sources)
    }

    /// Loads the program.
    pub(crate) fn load(&self, set: &[(String, String)]) -> Result<Program, Refusal> {
        let set = self.with_files(set);
        Program::load(&self.name, &self.text, &set).map_err(|all| self.mistakes(&all))
    }

    /// Returns the settings, with the start of each file if there are several.
    fn with_files(&self, set: &[(String, String)]) -> Vec<(String, String)> {
        let mut set = set.to_vec();
        if self.files.len() > 1 && !set.iter().any(|(name, _)| name == "@files") {
            let starts: Vec<String> = self.files.iter().map(|(_, at)| at.to_string()).collect();
            set.push(("@files".to_owned(), starts.join(",")));
        }
        set
    }

    /// Returns the program as a job for other machines.
    #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
    pub(crate) fn job(
        &self,
        set: &[(String, String)],
        algorithm: mazurka::Algorithm,
    ) -> mazurka::cluster::Job {
        mazurka::cluster::Job::new(&self.name, &self.text, &self.with_files(set), algorithm)
    }

    /// Parses a property of a state of the program.
    pub(crate) fn state(
        &self,
        set: &[(String, String)],
        property: &str,
    ) -> Result<StateProperty, Refusal> {
        if self.name.ends_with(".abs") {
            return Err(files::no_abs("asked about states").into());
        }
        StateProperty::read(&self.text, set, property).map_err(bad_property)
    }

    /// Returns the mistakes of the first file that has any.
    fn mistakes(&self, all: &[mazurka::Diagnostic]) -> Refusal {
        let outside = mazurka::Span::default();
        let starts = self
            .files
            .iter()
            .enumerate()
            .map(|(number, (name, start))| {
                let end = self
                    .files
                    .get(number + 1)
                    .map_or(self.text.len(), |(_, next)| next - 1);
                (name, *start, end)
            });
        for (name, start, end) in starts {
            let moved = |span: mazurka::Span| mazurka::Span {
                start: span.start - start as u32,
                end: span.end - start as u32,
            };
            let within = |span: mazurka::Span| {
                span != outside && start as u32 <= span.start && span.end <= end as u32
            };
            let here: Vec<mazurka::Diagnostic> = { all.iter() }
                .filter(|mistake| within(mistake.span) || mistake.span == outside)
                .map(|mistake| {
                    let mut mistake = mistake.clone();
                    if mistake.span != outside {
                        mistake.span = moved(mistake.span);
                    }
                    mistake.related.retain(|(span, _)| within(*span));
                    for (span, _) in &mut mistake.related {
                        *span = moved(*span);
                    }
                    mistake
                })
                .collect();
            if !here.is_empty() {
                return mistakes(name, &self.text[start..end], &here);
            }
        }
        mistakes(&self.name, &self.text, all)
    }
}

/// Loads the specification that this program refines, from its folder or below. If `--set` gives a
/// value to a constant that both programs declare, it applies to both.
pub(crate) fn specification(program: &Program) -> Result<Option<Arc<Program>>, Refusal> {
    let Some(file) = program.refines() else {
        return Ok(None);
    };
    let folder = Path::new(&program.record().file).parent();
    let folder = folder.unwrap_or(Path::new(""));
    let path = folder.join(file);
    files::below(folder, &path)?;
    let path = path.to_string_lossy();
    let loaded = load_maz(&path, &[], "refined")?;
    let set = program.record().set.iter();
    let set = set.filter(|(name, _)| program.has_constant(name) && loaded.has_constant(name));
    let set: Vec<(String, String)> = set.cloned().collect();
    let loaded = if set.is_empty() {
        loaded
    } else {
        load_maz(&path, &set, "refined")?
    };
    Ok(Some(Arc::new(loaded)))
}

/// Loads a `.maz` program. Programs in other languages are refused; `cannot` names the refused
/// action in the message, such as `permuted`.
pub(crate) fn load_maz(
    file: &str,
    set: &[(String, String)],
    cannot: &str,
) -> Result<Program, Refusal> {
    let source = files::maz_program(file, cannot)?;
    load_source(file, &source, set)
}

/// Loads a program from its text.
pub(crate) fn load_source(
    file: &str,
    source: &str,
    set: &[(String, String)],
) -> Result<Program, Refusal> {
    Program::load(file, source, set).map_err(|all| mistakes(file, source, &all))
}

/// Returns the refusal of a bad property on the command line.
pub(crate) fn bad_property(bad: BadProperty) -> Refusal {
    match bad {
        BadProperty::Mistakes {
            text,
            mistakes: all,
        } => mistakes("the property, after the program", &text, &all),
        BadProperty::Point(_) | BadProperty::Nowhere(_) | BadProperty::Deadlock => {
            Refusal::Message(bad.to_string())
        }
    }
}

/// Returns the refusal of a text with mistakes.
pub(crate) fn mistakes(file: &str, source: &str, all: &[mazurka::Diagnostic]) -> Refusal {
    // Mistakes are sorted by place. Show only those of the first file that has any.
    let outside = mazurka::Span::default();
    let first = all.iter().find(|mistake| mistake.span != outside);
    let parts = mazurka::parts(source);
    let holds = |part: &&mazurka::Part| first.is_some_and(|f| part.span(f.span).is_some());
    let part = parts.iter().find(holds).unwrap_or(&parts[0]);
    let own = |mistake: &mazurka::Diagnostic| {
        let mut own = mistake.clone();
        // If something is missing at the end of the file, the place of the mistake may be after the
        // text.
        let moved_span = (parts.len() == 1).then_some(mistake.span);
        if own.span != outside {
            own.span = part.span(mistake.span).or(moved_span)?;
        }
        let related = mistake.related.iter();
        let related = related.filter_map(|(span, words)| Some((part.span(*span)?, words)));
        own.related = related.map(|(span, words)| (span, words.clone())).collect();
        Some(own)
    };
    let here: Vec<mazurka::Diagnostic> = all.iter().filter_map(own).collect();
    let file = if part.name.is_empty() {
        file.to_owned()
    } else {
        std::path::Path::new(file)
            .with_file_name(&part.name)
            .display()
            .to_string()
    };
    Refusal::Program {
        mistakes: Box::new(mazurka::mistakes(&file, &part.text, &here)),
        source: part.text.clone(),
    }
}
