//! Tests the mistakes that are reported for wrong programs.
//!
//! `tests/wrong/<code>-<slug>.maz` is a program. The `.txt` file with the same name contains the
//! mistakes of the program. They come from [`load`]; if it reports none, from [`compile`]; and if
//! that reports none, from [`Unknowns::refused`](mazurka_lang::Unknowns::refused). `UPDATE_EXPECT=1
//! cargo test -p mazurka-lang` writes the `.txt` files; read the difference before you commit it. A
//! first line `// --set N=8` gives settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;
use mazurka_lang::{Setting, compile, load};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn fixtures() -> Vec<PathBuf> {
    let folder = root().join("tests/wrong");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder of fixtures")
        .map(|entry| entry.expect("a fixture").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "maz"))
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn settings(source: &str) -> Vec<Setting> {
    let first = source.lines().next().unwrap_or_default();
    let Some(list) = first.strip_prefix("// --set ") else {
        return Vec::new();
    };
    list.split(" --set ")
        .filter_map(|setting| setting.split_once('='))
        .map(|(name, value)| Setting {
            name: name.to_owned(),
            value: value.to_owned(),
        })
        .collect()
}

fn mistakes(source: &str) -> Vec<Diagnostic> {
    // Only commands that need all values report an unknown value.
    let known = load(source, &settings(source)).and_then(|program| {
        compile(&program, source)?;
        Ok(program.unknowns().refused())
    });
    known.unwrap_or_else(|mistakes| mistakes)
}

fn place(span: Span, source: &str) -> String {
    let (line, column) = span.line_column(source);
    format!("{line}:{column}")
}

fn render(diagnostics: &[Diagnostic], source: &str) -> String {
    let mut text = String::new();
    for d in diagnostics {
        let at = place(d.span, source);
        let help = d.help.as_deref().unwrap_or("-");
        let _ = writeln!(text, "{} {at} {} | {} | {help}", d.code, d.message, d.label);
        for (span, words) in &d.related {
            let _ = writeln!(text, "      {} {words}", place(*span, source));
        }
    }
    text
}

#[test]
fn every_fixture_is_reported_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = String::new();
    for path in fixtures() {
        let source = read(&path);
        let found = render(&mistakes(&source), &source);
        let expected = path.with_extension("txt");
        if update {
            std::fs::write(&expected, &found).expect("writing the expectation");
        } else if read(&expected) != found {
            let _ = writeln!(
                wrong,
                "{}\n--- expected\n{}--- found\n{found}",
                path.display(),
                read(&expected)
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Each fixture has one mistake, with the code in its file name, and gets one diagnostic. A fixture
/// whose slug starts with `many` gets several.
#[test]
fn one_mistake_is_reported_once() {
    for path in fixtures() {
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
        let (code, slug) = stem.split_once('-').unwrap_or((stem, ""));
        let diagnostics = mistakes(&read(&path));
        assert!(
            diagnostics.iter().any(|d| d.code == code),
            "{stem}: {diagnostics:#?}"
        );
        if !slug.starts_with("many") {
            assert_eq!(diagnostics.len(), 1, "{stem}: {diagnostics:#?}");
        }
    }
}

#[test]
fn every_diagnostic_says_what_was_expected() {
    for path in fixtures() {
        for d in mistakes(&read(&path)) {
            assert!(!d.message.is_empty() && !d.label.is_empty(), "{d:?}");
            assert!(!d.message.ends_with('.'), "{d:?}");
        }
    }
}

fn codes_in(text: &str) -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for (at, _) in text.match_indices('M') {
        let digits = text.get(at + 1..at + 5).unwrap_or_default();
        if digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit()) {
            codes.insert(format!("M{digits}"));
        }
    }
    codes
}

fn codes_of_the_source() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    let mut folders = vec![root().join("src/check"), root().join("src/syntax")];
    let diagnostics = read(&root().join("../diagnostics/src/diagnostic.rs"));
    let mut text = diagnostics + &read(&root().join("src/refuse.rs"));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a source").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                text.push_str(&read(&path));
            }
        }
    }
    for quoted in text.split('"').skip(1).step_by(1) {
        if quoted.len() == 5 {
            codes.extend(codes_in(quoted));
        }
    }
    codes
}

#[test]
fn every_code_is_documented_and_shown() {
    let used = codes_of_the_source();
    assert!(used.len() > 40, "{used:?}");
    let documented = codes_in(&read(&root().join("../../docs/diagnostics.md")));
    let mut shown: BTreeSet<String> = fixtures()
        .iter()
        .filter_map(|path| path.file_name()?.to_str()?.get(..5).map(str::to_owned))
        .collect();
    // `limits.rs` tests M0411 with a thousand mistakes.
    shown.insert("M0411".to_owned());
    assert_eq!(used, documented, "used against docs/diagnostics.md");
    assert_eq!(used, shown, "used against tests/wrong");
}

/// The codes that are deliberately used in several files, because each use means the same mistake.
const FOUND_IN_SEVERAL: &[&str] = &[
    "M0002", "M0101", "M0109", "M0201", "M0203", "M0204", "M0301", "M0302", "M0305", "M0306",
    "M0307", "M0308", "M0310", "M0311", "M0313", "M0314", "M0406", "M0407", "M0408", "M0410",
    "M0428",
];

/// If two changes independently take the next free code, this code occurs in two files.
#[test]
fn no_code_has_two_meanings_by_accident() {
    let mut files: BTreeMap<String, BTreeSet<PathBuf>> = BTreeMap::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a source").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod tests").next();
            // Comments may mention codes, so they are skipped.
            let lines = code.into_iter().flat_map(str::lines);
            for line in lines.filter(|line| !line.trim_start().starts_with("//")) {
                for quoted in line.split('"').filter(|quoted| quoted.len() == 5) {
                    for code in codes_in(quoted) {
                        files.entry(code).or_default().insert(path.clone());
                    }
                }
            }
        }
    }
    files.retain(|_, files| files.len() > 1);
    let several: Vec<&str> = files.keys().map(String::as_str).collect();
    assert_eq!(
        several, FOUND_IN_SEVERAL,
        "a code in several files: is it the same mistake? {files:#?}"
    );
    let documented = read(&root().join("../../docs/diagnostics.md"));
    let headings = documented.lines().filter(|line| line.starts_with("### "));
    let mut seen = BTreeSet::new();
    for heading in headings {
        assert!(seen.insert(heading), "{heading} is documented twice");
    }
}

/// The codes whose examples are not programs, because they would be too long or include another
/// file.
const NOT_PROGRAMS: &[&str] = &["M0407", "M0411", "M0431"];

/// Returns the programs that an example of the documentation may represent: the example itself, the
/// example with a process, and a process with the example as its statements.
fn completed(example: &str) -> [String; 3] {
    [
        example.to_owned(),
        format!("{example}\nprocess {{ skip }}\n"),
        format!("var x, y: int = 0\nprocess {{\n{example}\n}}\n"),
    ]
}

#[test]
fn documented_examples_have_the_mistake_and_their_repairs_have_none() {
    let codes =
        |text: &str| -> Vec<&'static str> { mistakes(text).iter().map(|d| d.code).collect() };
    let documented = read(&root().join("../../docs/diagnostics.md"));
    let mut tested = 0;
    for section in documented.split("\n### ").skip(1) {
        let code = section.lines().next().unwrap_or_default();
        if !code.starts_with('M') || NOT_PROGRAMS.contains(&code) {
            continue;
        }
        let blocks = section.split("```").skip(1).step_by(2);
        let examples: Vec<&str> = blocks
            .filter_map(|block| block.strip_prefix("text\n"))
            .collect();
        assert_eq!(examples.len(), 2, "{code} needs an example and its repair");
        let (wrong, repaired) = (completed(examples[0]), completed(examples[1]));
        // A repaired example may have a variable without initial value, unless that is the mistake.
        let allowed = |found: &str| found == "M0601" && code != "M0601";
        let shown = wrong.iter().zip(&repaired).any(|(wrong, repaired)| {
            codes(wrong).contains(&code) && codes(repaired).iter().all(|found| allowed(found))
        });
        assert!(
            shown,
            "{code}: the example has {:?}, its repair {:?}",
            wrong.each_ref().map(|text| codes(text)),
            repaired.each_ref().map(|text| codes(text)),
        );
        tested += 1;
    }
    assert!(tested > 80, "{tested}");
}
