//! Tests the invariants of ARCHITECTURE.md that can be read from the text of the repository.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the workspace").to_owned()
}

/// Returns every file under a folder of the repository whose name has one of these endings.
fn files(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && name != ".git" {
                walk(&path, found);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    walk(&root().join(folder), &mut paths);
    paths.sort();
    let wanted = |path: &&PathBuf| endings.iter().any(|e| path.to_string_lossy().ends_with(e));
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(root()).expect("within the repository");
        let name = name.to_string_lossy().replace('\\', "/");
        let bytes = fs::read(path).expect("a file");
        (name, String::from_utf8_lossy(&bytes).into_owned())
    };
    let found: Vec<_> = paths.iter().filter(wanted).map(read).collect();
    assert!(
        !found.is_empty(),
        "nothing found in `{folder}`: has it moved?"
    );
    found
}

fn sources(of: &str) -> Vec<(String, String)> {
    files(&format!("crates/{of}/src"), &[".rs"])
}

/// Returns the lines that are code, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(at, line)| (at + 1, line))
}

/// Returns the crates of this workspace on which a crate depends.
fn dependencies(of: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join(format!("crates/{of}/Cargo.toml")));
    let manifest: toml::Table = manifest.expect("a manifest").parse().expect("TOML");
    let ours = |table: &toml::Value| -> Vec<String> {
        let names = table
            .as_table()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone());
        names.filter(|name| name.starts_with("mazurka")).collect()
    };
    manifest.get("dependencies").map(ours).unwrap_or_default()
}

/// Whether a line contains the word, and not as a part of a longer name.
fn says(line: &str, word: &str) -> bool {
    let name = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let starts = !word.starts_with(name) || !before.is_some_and(name);
        let ends = !word.ends_with(name) || !after.is_some_and(name);
        starts && ends
    })
}

#[test]
fn a_word_is_no_part_of_a_name() {
    assert!(says("impl Execution for Machine", "Execution"));
    assert!(!says("Bound::MaxExecutions(n)", "Execution"));
    assert!(says("machine.step(p)", ".step("));
}

/// Asserts that no line of code of a crate contains any of these words.
fn never(of: &str, words: &[&str]) {
    for (file, text) in sources(of) {
        for (number, line) in code(&text) {
            for word in words {
                assert!(!says(line, word), "{file}:{number} says `{word}`: {line}");
            }
        }
    }
}

#[test]
fn core_depends_on_nothing_of_ours() {
    assert_eq!(dependencies("core"), [""; 0]);
}

#[test]
fn the_solver_depends_on_nothing_of_ours() {
    assert_eq!(dependencies("smt"), [""; 0]);
    never("smt", &["mazurka_core", "mazurka_lang"]);
}

#[test]
fn explorers_never_name_a_language() {
    assert_eq!(dependencies("explore"), ["mazurka-core"]);
    never("explore", &["mazurka_lang", "hir::", "Machine", ".maz"]);
    assert_eq!(dependencies("memory"), ["mazurka-core"]);
    never("memory", &["mazurka_lang", "hir::", ".maz"]);
}

#[test]
fn languages_never_name_an_algorithm() {
    assert_eq!(dependencies("diagnostics"), [""; 0]);
    let both = ["mazurka-core", "mazurka-diagnostics"];
    let more = ["mazurka-history", "mazurka-smt"];
    assert_eq!(dependencies("lang"), [&both[..], &more].concat());
    assert_eq!(dependencies("abs"), both);
    assert_eq!(dependencies("c"), ["mazurka-core", "mazurka-memory"]);
    for name in ["lang", "abs", "c"] {
        never(name, &["mazurka_explore", "Naive", "Dpor", "Policy"]);
    }
}

#[test]
fn the_facade_lists_the_languages_once() {
    for (file, text) in sources("mazurka") {
        for (number, line) in code(&text) {
            let variants = [
                "Language::Maz",
                "Language::Abs",
                "Language::ForAll",
                "Language::C(",
            ];
            let lists = variants.iter().any(|variant| says(line, variant));
            // A native program is loaded elsewhere, because the library does not compile.
            let loads = file == "crates/mazurka/src/native.rs";
            let may = file.starts_with("crates/mazurka/src/front") || loads;
            assert!(may || !lists, "{file}:{number} lists a language: {line}");
        }
    }
}

#[test]
fn logic_explores_nothing() {
    let mine = [
        "mazurka-core",
        "mazurka-diagnostics",
        "mazurka-lang",
        "mazurka-smt",
    ];
    assert_eq!(dependencies("logic"), mine);
    never("logic", &["mazurka_explore"]);
}

#[test]
fn the_checker_of_proofs_is_small_and_on_its_own() {
    let (mut lines, mut files) = (0, 0);
    for (file, text) in sources("logic") {
        if !file.contains("/check/") {
            continue;
        }
        files += 1;
        for (number, line) in code(&text) {
            lines += 1;
            for word in [
                "crate::search",
                "crate::step",
                "crate::loops",
                "crate::prove",
                "super::super",
            ] {
                assert!(!says(line, word), "{file}:{number} says `{word}`: {line}");
            }
        }
    }
    assert!(files > 0, "the checker was not found");
    assert!(
        lines < 790,
        "the checker of proofs has {lines} lines without comments, and must have less than 790"
    );
}

#[test]
fn the_checker_of_certificates_is_small_and_trusts_no_explorer() {
    let allowed = ["mazurka-diagnostics", "mazurka-lang"];
    assert_eq!(dependencies("certificate"), allowed);
    // It uses only the parser of the language, and its instructions.
    never(
        "certificate",
        &[
            "lang::Machine",
            "lang::Reached",
            "SymbolicMachine",
            "ProcessTable",
        ],
    );
    let mut files = 0;
    for (file, text) in sources("certificate") {
        let lines = code(&text).count();
        assert!(lines < 800, "{file} has {lines} lines");
        files += 1;
    }
    assert!(files >= 6, "the checker was not found");
}

#[test]
fn reports_run_no_program() {
    assert_eq!(dependencies("report"), ["mazurka-core", "mazurka-history"]);
    never("report", &["Execution", "Semantics", ".step("]);
}

#[test]
fn the_runtime_is_light() {
    let all = [
        "mazurka-core",
        "mazurka-diagnostics",
        "mazurka-explore",
        "mazurka-history",
        "mazurka-memory",
        "mazurka-rt-macros",
        "mazurka-smt",
    ];
    assert_eq!(dependencies("rt"), all);
    let manifest = fs::read_to_string(root().join("crates/rt/Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    let solver = &manifest["dependencies"]["mazurka-smt"];
    assert_eq!(solver["optional"].as_bool(), Some(true));
    let default = manifest["features"]["default"].as_array().expect("a list");
    let default: Vec<_> = default.iter().filter_map(toml::Value::as_str).collect();
    assert_eq!(default, ["heap"], "no solver unless it is asked for");
    for (file, text) in sources("rt") {
        for (number, line) in code(&text) {
            for word in ["println!", "eprintln!", "print!(", "dbg!", "std::fs"] {
                let allowed = file.ends_with("/say.rs") || !says(line, word);
                assert!(allowed, "{file}:{number} says `{word}`: {line}");
            }
        }
    }
}

#[test]
fn only_the_binary_does_io() {
    let io = [
        "println!",
        "eprintln!",
        "print!(",
        "eprint!(",
        "dbg!",
        "std::fs",
        "std::io",
        "std::env",
        "std::net",
        "std::process",
    ];
    for name in [
        "core",
        "diagnostics",
        "lang",
        "abs",
        "c",
        "certificate",
        "explore",
        "memory",
        "report",
        "logic",
        "mazurka",
        "lsp",
        "testkit",
    ] {
        never(name, &io);
    }
    let mut libraries = 0;
    // One file talks to other solvers over a pipe.
    for (file, text) in sources("smt") {
        if file.ends_with("/smt/src/external.rs") {
            continue;
        }
        libraries += 1;
        for (number, line) in code(&text) {
            for word in io {
                assert!(!says(line, word), "{file}:{number} says `{word}`: {line}");
            }
        }
    }
    assert!(libraries > 3, "the solver's files were not found");
}

#[test]
fn the_library_knows_no_terminal() {
    let all = fs::read_to_string(root().join("crates/mazurka/Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = all.parse().expect("TOML");
    let used = manifest["dependencies"].as_table().expect("a table");
    for name in ["clap", "indicatif", "ctrlc", "anstream", "mazurka-report"] {
        assert!(!used.contains_key(name), "the library uses {name}");
    }
    assert_eq!(dependencies("lsp"), ["mazurka"]);
    assert_eq!(dependencies("cli"), ["mazurka", "mazurka-report"]);
}

#[test]
fn the_default_build_has_no_server() {
    let cli = fs::read_to_string(root().join("crates/cli/Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = cli.parse().expect("TOML");
    // Dependencies that a browser does not need.
    let native = &manifest["target"]["cfg(not(target_family = \"wasm\"))"]["dependencies"];
    let native = native.as_table().expect("a table");
    let ours = native.keys().filter(|name| name.starts_with("mazurka"));
    let optional = ["mazurka-cluster", "mazurka-serve"];
    assert_eq!(
        ours.collect::<Vec<_>>(),
        [optional[0], "mazurka-lsp", optional[1]]
    );
    for name in optional {
        assert_eq!(native[name]["optional"].as_bool(), Some(true));
    }
    let features = manifest["features"].as_table().expect("a table");
    assert!(!features.contains_key("default"));
    assert_eq!(dependencies("serve"), [""; 0]);
    assert_eq!(dependencies("cluster"), [""; 0]);
    // No file of the page is WebAssembly or comes from elsewhere.
    for (file, text) in files("crates/serve/page", &[".js", ".html", ".css"]) {
        let vendored = file == "crates/serve/page/editor.js";
        let elsewhere = ["http://", "https://", "//cdn"]
            .iter()
            .any(|word| text.contains(word));
        assert!(vendored || !elsewhere, "{file} asks another host");
    }
    assert!(!root().join("crates/serve/page/mazurka.wasm").exists());
}

#[test]
fn every_algorithm_has_a_head_comment() {
    let mut algorithms = 0;
    for (file, text) in sources("explore") {
        let head: Vec<&str> = text
            .lines()
            .take_while(|line| line.starts_with("//!"))
            .collect();
        assert!(!head.is_empty(), "{file} does not say what it is");
        if code(&text).any(|(_, line)| line.contains("Policy<") && line.contains(" for ")) {
            algorithms += 1;
            let head = head.join("\n").to_lowercase();
            assert!(
                head.contains("paper"),
                "{file} neither cites a paper nor says that there is none"
            );
        }
    }
    assert!(algorithms > 0, "no algorithm was found");
}

#[test]
fn no_file_is_long() {
    for (file, text) in files("crates", &[".rs"]) {
        let lines = text.lines().count();
        assert!(
            lines <= 800,
            "{file} has {lines} lines: one concept, one file"
        );
    }
}

#[test]
fn no_comment_is_wide() {
    let comment = |line: &&str| line.trim_start().starts_with("//");
    for folder in ["crates", "fuzz", "peers"] {
        for (file, text) in files(folder, &[".rs"]) {
            for (at, line) in text.lines().enumerate().filter(|(_, line)| comment(line)) {
                let url = line.split_whitespace().any(|word| word.contains("://"));
                assert!(
                    url || line.chars().count() <= 100,
                    "{file}:{} is a comment beyond column 100: {line}",
                    at + 1
                );
            }
        }
    }
}

/// Whether a second sentence starts in a line of Markdown. Code in backticks and an emphasised
/// heading of a paragraph, `*Oracle.*`, do not count.
fn has_two_sentences(line: &str) -> bool {
    const SHORT: [&str; 5] = ["e.g.", "i.e.", "cf.", "al.", "vs."];
    let prose = line.split('`').step_by(2).collect::<Vec<_>>().join("code");
    let words: Vec<&str> = prose.split_whitespace().collect();
    // The number of a list item or of a chapter.
    let number = |word: &str| word.trim_matches(['[', '.']).parse::<u32>().is_ok();
    words.windows(2).any(|pair| {
        let ends = pair[0].trim_end_matches(['"', '”', ')']);
        let starts = pair[1].trim_start_matches(['"', '“', '(', '*', '[']);
        ends.ends_with(['.', '!', '?'])
            && !SHORT.contains(&ends)
            && !number(ends)
            && starts.starts_with(|first: char| first.is_uppercase())
    })
}

#[test]
fn a_second_sentence_is_detected() {
    for two in [
        "One. Two.",
        "- It ends (here.) [It](x) goes on",
        "Why? Because.",
    ] {
        assert!(has_two_sentences(two), "{two}");
    }
    for one in [
        "Only one.",
        "See `A. B` here",
        "3. Third",
        "- [3. Third](x)",
        "After Ip et al. Dill",
        "x.maz Is",
    ] {
        assert!(!has_two_sentences(one), "{one}");
    }
}

#[test]
fn markdown_has_one_sentence_a_line() {
    let mut looked_at = 0;
    for (file, text) in files("", &[".md"]) {
        // Older entries of the changelog are not rewritten.
        if file == "CHANGELOG.md" {
            continue;
        }
        looked_at += 1;
        let mut code = false;
        for (at, line) in text.lines().enumerate() {
            let line = line.trim_start();
            if line.starts_with("```") {
                code = !code;
            } else if !code && !line.starts_with('|') {
                let here = at + 1;
                assert!(
                    !has_two_sentences(line),
                    "{file}:{here}: two sentences: {line}"
                );
            }
        }
    }
    assert!(looked_at > 50);
}

/// Words that STYLE.md forbids: use the field's nouns for processes, files and readers.
const BANNED: [&str; 6] = [
    "somebody",
    "nobody",
    "whoever",
    "anybody",
    "everybody",
    "whom",
];

#[test]
fn prose_names_the_processes() {
    let mut looked_at = 0;
    let comments = |text: &str| -> Vec<(usize, String)> {
        let lines = text.lines().enumerate();
        let comments = lines.filter(|(_, line)| line.trim_start().starts_with("//"));
        comments
            .map(|(at, line)| (at + 1, line.to_lowercase()))
            .collect()
    };
    let all = |text: &str| -> Vec<(usize, String)> {
        let lines = text.lines().enumerate();
        lines
            .map(|(at, line)| (at + 1, line.to_lowercase()))
            .collect()
    };
    for (file, text) in files("", &[".rs", ".md"]) {
        // STYLE.md contains the rule itself, and older entries of the changelog are not rewritten.
        if file == "STYLE.md" || file == "CHANGELOG.md" {
            continue;
        }
        looked_at += 1;
        let prose = if file.ends_with(".md") {
            all(&text)
        } else {
            comments(&text)
        };
        for (number, line) in prose {
            for word in BANNED {
                assert!(!says(&line, word), "{file}:{number} says `{word}`: {line}");
            }
        }
    }
    assert!(looked_at > 50);
}

#[test]
fn no_path_of_a_machine() {
    let folders = ["home", "root", "Users", "work", "tmp"];
    let mut looked_at = 0;
    for (file, text) in files(
        "",
        &[
            ".rs", ".md", ".toml", ".maz", ".abs", ".snap", "run", "-MIT",
        ],
    ) {
        looked_at += 1;
        for (number, line) in text.lines().enumerate() {
            for folder in folders {
                let path = format!("/{folder}/");
                let absolute = line.match_indices(&path).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    !before.is_some_and(|c| c.is_alphanumeric() || "._~-/".contains(c))
                });
                assert!(!absolute, "{file}:{}: {line}", number + 1);
            }
        }
    }
    assert!(looked_at > 50);
}
