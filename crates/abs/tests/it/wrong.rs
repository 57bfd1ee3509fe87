//! Tests the messages about wrong programs.
//! `UPDATE_EXPECT=1 cargo test -p mazurka-abs --test it wrong::` writes the current messages into
//! the expected files; read the difference before you commit it.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use mazurka_abs::{Settings, load};
use proptest::prelude::*;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wrong")
}

fn mistakes_in(source: &str) -> String {
    let Err(mistakes) = load(source, &Settings::default()) else {
        return "no mistakes\n".to_owned();
    };
    let mut text = String::new();
    for mistake in mistakes {
        let (line, column) = mistake.span.line_column(source);
        let _ = writeln!(
            text,
            "{} {line}:{column}: {}",
            mistake.code, mistake.message
        );
        let _ = writeln!(
            text,
            "    `{}`: {}",
            mistake.span.text(source),
            mistake.label
        );
        for (span, words) in &mistake.related {
            let _ = writeln!(text, "    line {}: {words}", span.line_column(source).0);
        }
        if let Some(help) = &mistake.help {
            let _ = writeln!(text, "    help: {help}");
        }
    }
    text
}

#[test]
fn every_mistake_is_reported_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut programs = 0;
    for entry in fs::read_dir(folder()).expect("the folder").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "abs") {
            continue;
        }
        programs += 1;
        let source = fs::read_to_string(&path).expect("a program");
        let expected = path.with_extension("txt");
        let text = mistakes_in(&source);
        assert_ne!(text, "no mistakes\n", "{}", path.display());
        if update {
            fs::write(&expected, &text).expect("written");
        }
        let known = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(text, known, "{}", path.display());
    }
    assert!(programs >= 5, "the programs were not found");
}

/// Words of programs, in any order.
const WORDS: &[&str] = &[
    "module M;",
    "class C",
    "interface I",
    "data D =",
    "def Int f",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    "=",
    "=>",
    "|",
    "&",
    "!",
    "?",
    ".",
    "+",
    "x",
    "this",
    "Int",
    "List<Int>",
    "await",
    "new",
    "get",
    "case",
    "let",
    "in",
    "if",
    "then",
    "else",
    "while",
    "foreach",
    "try",
    "catch",
    "finally",
    "return",
    "1",
    "\"a\"",
    "`b$x$`",
    "import * from",
    "export",
    "local",
    "suspend",
    "assert",
    "True",
    "Nil",
    "Cons",
    "_",
    "-",
    "switch",
    "trait T =",
    "uses T",
    "adds",
    "removes",
    "modifies",
    "original()",
    "delta D;",
    "productline P; features F;",
    "product P (F);",
    "delta D {",
    "productline P {",
    "root F { group oneof {",
    "extension F {",
    "opt G",
    "Int n in [0 .. *];",
    "require: F;",
    "ifout: n ->",
    "..",
    "recover",
    "die",
    "[Atomic]",
    "throw",
    "/*",
    "//",
    "\n",
    "é",
    "\"",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_text_makes_it_panic(picks in proptest::collection::vec(0..WORDS.len(), 0..60)) {
        let text: Vec<&str> = picks.iter().map(|&at| WORDS[at]).collect();
        let _ = mistakes_in(&format!("module A;\n{}", text.join(" ")));
    }

    #[test]
    fn no_cut_or_doubled_program_makes_it_panic(cut in 0usize..2000, skip in 0usize..40, name in 0usize..4) {
        let names = ["chat-server", "book-shop", "peer-to-peer", "leader-election"];
        let path = folder().join("../../../../corpus/abs").join(names[name]).join("program.abs");
        let source = fs::read_to_string(path).expect("a program");
        let characters: Vec<char> = source.chars().collect();
        let cut = cut % characters.len();
        let end = (cut + skip).min(characters.len());
        let without: String = characters[..cut].iter().chain(&characters[end..]).collect();
        let doubled: String = characters[..end].iter().chain(&characters[cut..]).collect();
        let _ = mistakes_in(&without);
        let _ = mistakes_in(&doubled);
    }
}

#[test]
fn imports_come_before_declarations() {
    assert!(mistakes_in("module A; data D; import * from ABS.StdLib;").starts_with("A0118 1:19"));
}

#[test]
fn deep_nesting_is_a_mistake_and_no_overflow() {
    for (open, close) in [
        ("(", ")"),
        ("-", ""),
        ("if True then 1 else ", ""),
        ("Just(", ")"),
    ] {
        let source = format!(
            "module M; def Int f() = {}1{};",
            open.repeat(5000),
            close.repeat(5000)
        );
        assert!(mistakes_in(&source).contains("A0112"), "{open}");
    }
    let chain = format!("module M; def Int f() = 1{};", " + 1".repeat(5000));
    assert!(mistakes_in(&chain).contains("A0112"));
    let blocks = format!("module M; {} {}", "{".repeat(5000), "}".repeat(5000));
    assert!(mistakes_in(&blocks).contains("A0112"));
}

/// The codes in a text.
fn codes(text: &str) -> std::collections::BTreeSet<String> {
    let places = text.match_indices("A0").map(|(at, _)| at);
    let code = |at: usize| {
        text.get(at..at + 5)
            .filter(|code| code[2..].bytes().all(|b| b.is_ascii_digit()))
    };
    places.filter_map(code).map(str::to_owned).collect()
}

fn documentation() -> String {
    let path = folder().join("../../../../docs/diagnostics.md");
    fs::read_to_string(path).expect("docs/diagnostics.md")
}

#[test]
fn every_code_is_documented() {
    let documented = codes(&documentation());
    let mut used = std::collections::BTreeSet::from(["A0403".to_owned()]);
    let mut pending = vec![folder().join("../../src")];
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(
                fs::read_dir(path)
                    .expect("a folder")
                    .flatten()
                    .map(|entry| entry.path()),
            );
        } else if path.extension().is_some_and(|end| end == "rs") {
            used.extend(codes(&fs::read_to_string(path).expect("a file")));
        }
    }
    assert_eq!(used, documented);
}

/// The codes whose examples in the documentation are not programs, because the program would be too
/// long or the mistake is in a command.
const NOT_PROGRAMS: &[&str] = &["A0102", "A0112", "A0403"];

/// Returns the settings of a first line such as `// --set n=3`.
fn settings(source: &str) -> Settings {
    let mut settings = Settings::default();
    let first = source.lines().next().unwrap_or_default();
    let Some(flag) = first.strip_prefix("// --") else {
        return settings;
    };
    let (flag, value) = flag.split_once(' ').unwrap_or((flag, ""));
    match flag {
        "set" => {
            let (name, value) = value.split_once('=').expect("a name and a value");
            settings.constants.push((name.to_owned(), value.to_owned()));
        }
        "product" => settings.product = Some(value.to_owned()),
        "main" => settings.main = Some(value.to_owned()),
        "object" => settings.object = Some(value.to_owned()),
        "ignore-time" => settings.ignore_time = true,
        _ => panic!("`--{flag}` has no meaning here"),
    }
    settings
}

/// Returns the programs that an example of the documentation may be a part of. The example may be a
/// whole program, declarations of a module, or statements of a main block.
fn completed(example: &str) -> [String; 3] {
    [
        example.to_owned(),
        format!("module Main;\n{example}\n{{ }}\n"),
        format!("module Main;\n{{\n{example}\n}}\n"),
    ]
}

#[test]
fn documented_examples_have_the_mistake_and_their_repairs_have_none() {
    let codes = |text: &str| -> Vec<&'static str> {
        match load(text, &settings(text)) {
            Ok(_) => Vec::new(),
            Err(mistakes) => mistakes.iter().map(|mistake| mistake.code).collect(),
        }
    };
    let documented = documentation();
    let mut tested = 0;
    for section in documented.split("\n### ").skip(1) {
        let code = section.lines().next().unwrap_or_default();
        if !code.starts_with("A0") || NOT_PROGRAMS.contains(&code) {
            continue;
        }
        let blocks = section.split("```").skip(1).step_by(2);
        let examples: Vec<&str> = blocks
            .filter_map(|block| block.strip_prefix("text\n"))
            .collect();
        assert_eq!(examples.len(), 2, "{code} needs an example and its repair");
        let (wrong, repaired) = (completed(examples[0]), completed(examples[1]));
        let shown = wrong
            .iter()
            .zip(&repaired)
            .any(|(wrong, repaired)| codes(wrong).contains(&code) && codes(repaired).is_empty());
        assert!(
            shown,
            "{code}: the example has {:?}, its repair {:?}",
            wrong.each_ref().map(|text| codes(text)),
            repaired.each_ref().map(|text| codes(text)),
        );
        tested += 1;
    }
    assert!(tested > 70, "{tested}");
}
