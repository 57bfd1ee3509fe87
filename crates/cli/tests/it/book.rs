//! Tests the book: a reader who writes its programs into an empty folder and types its commands
//! gets the output that the book shows.
//!
//! A program follows a line that names its file, `Write this to `counter.maz`:`. A command is in a
//! `console` block, after `$`, with its output below it. In an output `…` matches any lines if it
//! is alone on a line, and any text within a line. `.ci/tour` runs the `cargo` commands.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::support::{command, root};

/// A fenced block: the info string, the text, and the line of prose before it.
struct Block {
    info: String,
    text: String,
    before: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut before = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push(Block {
                info: info.to_owned(),
                text: body.iter().map(|line| format!("{line}\n")).collect(),
                before: before.clone(),
            });
        } else if !line.trim().is_empty() {
            line.clone_into(&mut before);
        }
    }
    found
}

/// Returns the file that the line before a block names: the last word in backquotes with an
/// extension.
fn named(before: &str) -> Option<&str> {
    let words = before.split('`').skip(1).step_by(2);
    let last = words.last().filter(|_| before.ends_with(':'))?;
    let ending = Path::new(last).extension()?.to_str()?;
    ["maz", "abs", "c", "toml", "rs"]
        .contains(&ending)
        .then_some(last)
}

/// Splits a command into words; quotes keep spaces. The file for the output follows `>`.
fn words(command: &str) -> (Vec<String>, Option<String>) {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match c {
            '"' | '\'' if quoted.is_none() => {
                quoted = Some(c);
                word.get_or_insert_default();
            }
            c if quoted == Some(c) => quoted = None,
            ' ' if quoted.is_none() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.iter().position(|word| word == ">") {
        Some(at) => {
            let file = words.split_off(at).pop();
            (words, file)
        }
        None => (words, None),
    }
}

/// Whether a line is as shown, where `…` matches any text.
fn is_line(line: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
    }
    match last {
        Some(part) => rest.ends_with(part),
        None => rest.is_empty(),
    }
}

/// Whether an output is as shown, where `…` alone on a line matches any lines.
fn is_shown(output: &[&str], shown: &[&str]) -> bool {
    match shown.split_first() {
        None => output.is_empty(),
        Some((&"…", rest)) => (0..=output.len()).any(|from| is_shown(&output[from..], rest)),
        Some((first, rest)) => output
            .split_first()
            .is_some_and(|(line, others)| is_line(line, first) && is_shown(others, rest)),
    }
}

#[test]
fn dots_match_anything() {
    assert!(is_line("seconds  0.01", "seconds  …"));
    assert!(is_line("a b c", "a … c") && !is_line("a b d", "a … c"));
    assert!(is_line("same", "same") && !is_line("same", "sam"));
    assert!(is_shown(&["a", "b", "c"], &["a", "…", "c"]));
    assert!(is_shown(&["a", "c"], &["a", "…", "c", "…"]));
    assert!(!is_shown(&["a", "b"], &["a"]) && !is_shown(&["a"], &["a", "b"]));
    let (words, to) = words(r#"run a.maz --schedule "0 1" > b.svg"#);
    assert_eq!(words, ["run", "a.maz", "--schedule", "0 1"]);
    assert_eq!(to.as_deref(), Some("b.svg"));
}

/// A reader of one page, in an empty folder.
struct Reader {
    page: PathBuf,
    folder: tempfile::TempDir,
    /// The programs that were written, but not yet named by a command.
    unused: Vec<String>,
    commands: usize,
}

impl Reader {
    fn read(page: &Path) -> usize {
        let text = fs::read_to_string(page).expect("a page");
        let mut reader = Self {
            page: page.to_owned(),
            folder: tempfile::tempdir().expect("a folder"),
            unused: Vec::new(),
            commands: 0,
        };
        let all = blocks(&text);
        let native = all.iter().any(|block| block.info == "c");
        if native && !has_compiler() {
            println!("{}: skipped: gcc missing", page.display());
            return 0;
        }
        for block in &all {
            reader.block(block);
        }
        let unused = &reader.unused;
        assert!(
            unused.is_empty(),
            "{}: {unused:?} is not run",
            page.display()
        );
        reader.pictures(&text);
        reader.commands
    }

    fn block(&mut self, block: &Block) {
        let here = self.page.display();
        match block.info.as_str() {
            "maz" | "abs" | "c" => {
                let file = named(&block.before);
                let file = file.unwrap_or_else(|| panic!("{here}: no name: {}", block.text));
                self.write(file, &block.text);
                self.unused.push(file.to_owned());
            }
            "toml" => {
                if let Some(file) = named(&block.before) {
                    self.write(file, &block.text);
                }
            }
            "rust" => self.source(block),
            "console" => self.console(&block.text),
            _ => {}
        }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        if file.ends_with(".maz") {
            let (code, result) = self.run(&["fmt", "--check", file].map(str::to_owned));
            assert_eq!(
                code,
                0,
                "{}: {file} is not formatted\n{result}",
                self.page.display()
            );
        }
    }

    /// Checks that a block below a link to a file of the repository is that file.
    fn source(&self, block: &Block) {
        let Some((_, link)) = block.before.rsplit_once("](") else {
            return;
        };
        let Some(link) = link.strip_suffix("):") else {
            return;
        };
        let file = self.page.with_file_name("").join(link);
        let text = fs::read_to_string(&file).expect("a source");
        assert_eq!(block.text, text, "{} and {link}", self.page.display());
    }

    fn console(&mut self, text: &str) {
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ");
            let command = command.unwrap_or_else(|| panic!("{}: {line}", self.page.display()));
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                shown.push(line);
            }
            let Some(command) = command.strip_prefix("mazurka ") else {
                assert!(command.starts_with("cargo "), "{command}");
                continue;
            };
            let (words, to) = words(command);
            self.unused.retain(|file| !mentions(&words, file));
            let (code, result) = self.run(&words);
            self.commands += 1;
            let here = self.page.display();
            assert!(code <= 2, "{here}: `{command}`: exit code {code}\n{result}");
            if let Some(to) = to {
                assert!(shown.is_empty(), "{here}: `{command}` prints nothing");
                fs::write(self.folder.path().join(to), result).expect("a file");
                continue;
            }
            let output: Vec<&str> = result.trim_end().lines().collect();
            assert!(
                is_shown(&output, &shown),
                "{here}: `{command}` prints\n{result}"
            );
        }
    }

    /// Runs the binary in the folder. Output and messages are mixed, as on a terminal.
    fn run(&self, words: &[String]) -> (i32, String) {
        let out = self.folder.path().join(".out");
        let file = File::create(&out).expect("a file");
        let again = file.try_clone().expect("a file");
        let mut command = command();
        command.current_dir(self.folder.path()).args(words);
        command.stdin(Stdio::null()).stdout(file).stderr(again);
        let status = command.status().expect("the binary starts");
        let result = fs::read_to_string(&out).expect("UTF-8");
        fs::remove_file(out).expect("the file");
        (status.code().unwrap_or(-1), result)
    }

    /// Checks that the pictures that the commands of a page draw are those beside the page.
    fn pictures(&self, text: &str) {
        for (at, _) in text.match_indices("![") {
            let link = text[at..]
                .split_once("](")
                .and_then(|(_, rest)| rest.split_once(')'));
            let (name, _) = link.expect("a picture");
            let drawn = fs::read_to_string(self.folder.path().join(name));
            let kept = fs::read_to_string(self.page.with_file_name(name));
            let here = self.page.display();
            assert_eq!(drawn.ok(), kept.ok(), "{here}: {name} is not what is drawn");
        }
    }
}

/// Whether a command names a file or its folder.
fn mentions(words: &[String], file: &str) -> bool {
    let folder = file.split_once('/').map(|(folder, _)| folder);
    words
        .iter()
        .any(|word| word == file || Some(word.as_str()) == folder)
}

fn has_compiler() -> bool {
    let linux = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let gcc = std::process::Command::new("gcc").arg("--version").output();
    linux && gcc.is_ok()
}

fn pages(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.sort();
    pages
}

#[test]
fn the_tutorial_shows_what_happens() {
    let pages = pages("docs/tutorial");
    assert_eq!(pages.len(), 8);
    for page in pages {
        assert!(Reader::read(&page) >= 2, "{}: no commands", page.display());
    }
}

#[test]
fn the_pages_for_single_tasks_show_what_happens() {
    let pages = pages("docs/howto");
    assert_eq!(pages.len(), 7);
    let commands: usize = pages.iter().map(|page| Reader::read(page)).sum();
    assert!(commands >= 16, "{commands}");
}

/// The book lists every page, and every listed page exists.
#[test]
fn every_page_is_in_the_book() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).expect("a list");
    let links = summary
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let mut listed: Vec<String> = links
        .filter(|link| !link.is_empty())
        .map(str::to_owned)
        .collect();
    listed.sort();
    let mut files: Vec<String> = Vec::new();
    for folder in ["", "tutorial/", "howto/", "papers/", "proofs/"] {
        for page in pages(&format!("docs/{folder}")) {
            let name = page.file_name().expect("a name").to_string_lossy();
            if name != "SUMMARY.md" {
                files.push(format!("{folder}{name}"));
            }
        }
    }
    files.sort();
    assert_eq!(listed, files);
}

/// Links in the book lead to existing files and headings.
#[test]
fn links_of_the_book_lead_somewhere() {
    let mut followed = 0;
    for folder in [
        "docs",
        "docs/tutorial",
        "docs/howto",
        "docs/papers",
        "docs/proofs",
    ] {
        for page in pages(folder) {
            let text = fs::read_to_string(&page).expect("a page");
            for (at, _) in text.match_indices("](") {
                let link = text[at + 2..].split(')').next().unwrap_or("");
                if link.is_empty() || link.contains("://") {
                    continue;
                }
                let (file, heading) = link.split_once('#').unwrap_or((link, ""));
                let target = match file {
                    "" => page.clone(),
                    file => page.with_file_name("").join(file),
                };
                assert!(target.exists(), "{}: {link}", page.display());
                followed += 1;
                if !heading.is_empty() {
                    let text = fs::read_to_string(&target).expect("a page");
                    let found = text
                        .lines()
                        .any(|line| anchor(line).as_deref() == Some(heading));
                    assert!(found, "{}: {link}", page.display());
                }
            }
        }
    }
    assert!(followed > 200, "{followed} links");
}

/// Returns the name that a heading has in links.
fn anchor(line: &str) -> Option<String> {
    let title = line
        .strip_prefix('#')?
        .trim_start_matches('#')
        .strip_prefix(' ')?;
    let kept = title.to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(kept.map(|c| if c == ' ' { '-' } else { c }).collect())
}
