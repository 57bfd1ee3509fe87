//! Compiles C and C++ programs, and turns the errors of the compiler into mistakes with places.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mazurka::native::{self, SHIM_FLAGS};
use mazurka::record::{DiagnosticRecord, MistakesRecord, Severity, SpanRecord, VERSION};

use super::{CXX, NativeArgs, OUTSIDE, ends};
use crate::commands::Refusal;
use crate::watch::Workers;

impl NativeArgs {
    /// Compiles the files with the shim. Returns the shared object. The compilers are `workers`.
    pub(super) fn compile(
        &self,
        names: &[&str],
        folder: &Path,
        workers: &Workers,
    ) -> Result<PathBuf, Refusal> {
        let refused = |flag: &&String| native::REFUSED_FLAGS.iter().any(|it| flag.contains(it));
        if let Some(flag) = self.cflags.iter().find(refused) {
            return Err(format!(
                "the flag {flag} would turn off a part of the instrumentation, by which accesses are seen: leave it out"
            )
            .into());
        }
        let cxx = names.iter().any(|name| ends(name, &CXX));
        let find_c = || Compiler::find("CC", &["gcc", "clang", "cc"], workers);
        let find_cxx = || Compiler::find("CXX", &["g++", "clang++", "c++"], workers);
        let cc = find_c()?;
        let shim = folder.join("shim.c");
        fs::write(&shim, native::shim_source())
            .map_err(|error| format!("`{}`: {error}", shim.display()))?;
        let mut objects = Vec::new();
        let mut compile =
            |compiler: &Compiler<'_>, source: &Path, flags: &[&str], own: &[String]| {
                let object = folder.join(format!("{}.o", objects.len()));
                let mut command = Command::new(&compiler.name);
                command.args(["-c", "-fPIC", "-o"]).arg(&object).arg(source);
                command.args(flags).args(own);
                if !own.is_empty() {
                    command.args(native::LAST_FLAGS);
                }
                objects.push(object.clone());
                compiler.run(&mut command).map(|()| object)
            };
        let known = cc.takes(&SHIM_FLAGS[SHIM_FLAGS.len() - 1..], folder);
        compile(&cc, &shim, &native::shim_flags(known), &[])?;
        let level = if self.allow_races { "-O0" } else { "-O1" };
        let flags = [&[level], &native::FLAGS[..]].concat();
        let mut outside = String::new();
        for name in names {
            let compiler = if ends(name, &CXX) { &find_cxx()? } else { &cc };
            let mut flags = flags.clone();
            for optional in &native::OPTIONAL_FLAGS {
                if compiler.takes(optional, folder) {
                    flags.extend(*optional);
                }
            }
            let object = compile(compiler, Path::new(name), &flags, &self.cflags);
            let object = object.map_err(|text| {
                let mistakes = Box::new(mistakes(name, &text));
                Refusal::NotCompiled { mistakes, text }
            })?;
            if !is_instrumented(&object) {
                return Err(format!(
                    "{} has compiled `{name}` without the instrumentation (-fsanitize=thread), so its accesses cannot be seen: leave out the flag that turns it off",
                    compiler.name
                )
                .into());
            }
            outside += &assembly(compiler, name, &self.cflags);
        }
        if cxx {
            outside += "code of the C++ library that is compiled already, as that of std::string and streams\n";
        }
        let remarks = folder.join(OUTSIDE);
        fs::write(&remarks, outside)
            .map_err(|error| format!("`{}`: {error}", remarks.display()))?;
        let linker = if cxx { find_cxx()? } else { cc };
        let object = folder.join("program.so");
        let mut command = Command::new(&linker.name);
        command.args(native::LINK_FLAGS).arg("-o");
        command.arg(&object).args(&objects).arg("-lm");
        if cxx {
            command.args(native::CXX_LINK_FLAGS);
        }
        linker.run(&mut command)?;
        Ok(object)
    }
}

/// Whether an object was compiled with the instrumentation.
fn is_instrumented(object: &Path) -> bool {
    let name = native::INSTRUMENTED.as_bytes();
    let content = fs::read(object).unwrap_or_default();
    content.windows(name.len()).any(|bytes| bytes == name)
}

/// The code of a mistake that the compiler has found.
const CODE: &str = "compiler";

/// Returns the errors in the output of a compiler. gcc and clang write `file:line:column: error:
/// message`, where the column counts bytes. If no line has this form, the whole output is one
/// mistake without a place.
fn mistakes(file: &str, output: &str) -> MistakesRecord {
    let mistake = |message: String, span| DiagnosticRecord {
        code: CODE.to_owned(),
        severity: Severity::Error,
        message,
        label: String::new(),
        span,
        related: Vec::new(),
        help: None,
    };
    let source = fs::read_to_string(file).unwrap_or_default();
    let mut diagnostics = Vec::new();
    for line in output.lines() {
        let errors = [": error: ", ": fatal error: "];
        let Some((place, message)) = errors.iter().find_map(|mark| line.split_once(mark)) else {
            continue;
        };
        let mut parts = place.rsplitn(3, ':');
        let column = parts.next().and_then(|column| column.parse().ok());
        let row = parts.next().and_then(|row| row.parse().ok());
        diagnostics.push(match (parts.next(), row, column) {
            (Some(named), Some(line), Some(byte)) if named == file => {
                let text = source.lines().nth(usize::wrapping_sub(line, 1));
                let before = text.and_then(|text| text.get(..usize::saturating_sub(byte, 1)));
                let column = before.map_or(byte, |before| before.chars().count() + 1);
                let span = SpanRecord {
                    line,
                    column,
                    length: 1,
                };
                mistake(message.to_owned(), Some(span))
            }
            // The error is in a header, or about the whole file. A mistake can only have a place in
            // the file itself, so the place becomes a part of the message.
            _ => mistake(format!("{place}: {message}"), None),
        });
    }
    if diagnostics.is_empty() {
        diagnostics.push(mistake(output.trim_end().to_owned(), None));
    }
    MistakesRecord {
        version: VERSION,
        file: file.to_owned(),
        diagnostics,
    }
}

/// Returns the places with inline assembly, one on each line, because accesses in it cannot be
/// seen.
fn assembly(compiler: &Compiler<'_>, name: &str, flags: &[String]) -> String {
    let mut command = Command::new(&compiler.name);
    command.arg("-E").args(flags).arg(name);
    let Ok(output) = compiler.workers.output_of_group(&mut command) else {
        return String::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let mut found = Vec::new();
    // Where the next line comes from: its file, its line number there, and whether the file is one
    // of the user's.
    let (mut file, mut line, mut own) = (name.to_owned(), 1usize, true);
    for content in text.lines() {
        if let Some(marker) = content.strip_prefix("# ") {
            // In `# 12 "stdio.h" 1 3`, the 3 stands for a header of the system.
            let mut parts = marker.split('"');
            let number = parts.next().and_then(|number| number.trim().parse().ok());
            if let (Some(number), Some(named)) = (number, parts.next()) {
                let flags = parts.next().unwrap_or_default();
                own = !flags.split(' ').any(|flag| flag == "3") && !named.starts_with('<');
                (file, line) = (named.to_owned(), number);
                continue;
            }
        }
        if own && has_assembly(content) {
            let place = format!("inline assembly in {file}:{line}\n");
            if !found.contains(&place) {
                found.push(place);
            }
        }
        line += 1;
    }
    found.concat()
}

/// Whether a line has a keyword for assembly outside of string literals.
fn has_assembly(line: &str) -> bool {
    let outside_of_texts = line.split('"').step_by(2);
    outside_of_texts.into_iter().any(|part| {
        let letter = |letter: char| letter.is_alphanumeric() || letter == '_';
        let mut words = part.split(|c: char| !letter(c));
        words.any(|word| matches!(word, "asm" | "__asm" | "__asm__"))
    })
}

/// A compiler, by name.
struct Compiler<'w> {
    name: String,
    /// Ctrl-C ends what the compiler has started.
    workers: &'w Workers,
}

impl<'w> Compiler<'w> {
    /// Returns the compiler that an environment variable names, or the first of `names` that is
    /// installed.
    fn find(variable: &str, names: &[&str], workers: &'w Workers) -> Result<Self, String> {
        let named = std::env::var(variable).ok().filter(|name| !name.is_empty());
        let all: Vec<String> = match named {
            Some(name) => vec![name],
            None => names.iter().map(|&name| name.to_owned()).collect(),
        };
        let works = |name: &&String| {
            let output = workers.output_of_group(Command::new(name).arg("--version"));
            output.is_ok_and(|output| output.status.success())
        };
        match all.iter().find(works).cloned() {
            Some(name) => Ok(Self { name, workers }),
            None => Err(format!(
                "there is no compiler: {} was not found; install gcc or clang, or name one in {variable}",
                all.join(", ")
            )),
        }
    }

    /// Whether the compiler accepts these flags.
    fn takes(&self, flags: &[&str], folder: &Path) -> bool {
        let empty = folder.join("empty.c");
        if fs::write(&empty, "").is_err() {
            return false;
        }
        let mut command = Command::new(&self.name);
        command
            .arg("-Werror")
            .args(flags)
            .args(["-x", "c", "-fsyntax-only"])
            .arg(empty);
        let output = self.workers.output_of_group(&mut command);
        output.is_ok_and(|output| output.status.success())
    }

    /// Runs the compiler. If it fails, the error is its output.
    fn run(&self, command: &mut Command) -> Result<(), String> {
        let name = &self.name;
        let output = self.workers.output_of_group(command);
        let output = output.map_err(|error| format!("cannot run {name}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "{name} does not compile the program:\n{}",
            said.trim_end()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_a_compiler_have_places() {
        let output = "gcc does not compile the program:\n\
            In file included from a.c:1:\n\
            lib/b.h:3:1: error: unknown type name `strict`\n\
            a.c:4:7: warning: unused variable `x`\n\
            a.c:5:11: error: expected `)` before `{`: add it\n\
            a.c:9:10: fatal error: none.h: No such file or directory";
        let found = mistakes("a.c", output).diagnostics;
        let shown: Vec<_> = found
            .iter()
            .map(|mistake| {
                let place = mistake.span.map(|span| (span.line, span.column));
                (place, mistake.message.as_str())
            })
            .collect();
        assert_eq!(
            shown,
            [
                (None, "lib/b.h:3:1: unknown type name `strict`"),
                (Some((5, 11)), "expected `)` before `{`: add it"),
                (Some((9, 10)), "none.h: No such file or directory"),
            ]
        );
        let found = mistakes("a.c", "killed\n").diagnostics;
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].span, found[0].message.as_str()), (None, "killed"));
    }
}
