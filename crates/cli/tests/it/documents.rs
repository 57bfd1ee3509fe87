//! Tests that the examples in the documents show the real output of the commands.

use crate::support::{mazurka, root, with_input};

fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).expect("the document")
}

/// Returns the fenced blocks of a document: the info string and the text.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            found.push((info.to_owned(), body.join("\n") + "\n"));
        }
    }
    found
}

#[test]
fn the_programs_of_the_language_reference_have_the_stated_verdicts() {
    let mut tried = 0;
    let all = ["language", "temporal", "memory"];
    let all = all
        .map(|name| document(&format!("docs/{name}.md")))
        .concat();
    for (info, program) in blocks(&all) {
        let Some(result) = info.strip_prefix("maz ") else {
            continue;
        };
        // `maz rc11 violated` is checked under that memory model.
        let (memory, verdict) = result.split_once(' ').unwrap_or(("sc", result));
        let result = with_input(&["check", "-", "--memory", memory], &program);
        assert!(
            result.first_line().starts_with(verdict),
            "{program}\n{result:?}"
        );
        tried += 1;
    }
    assert!(tried >= 9, "the examples were not found");
}

#[test]
fn the_output_in_the_readme_is_real() {
    let readme = document("README.md");
    let mut tried = 0;
    for (info, text) in blocks(&readme) {
        if info != "console" {
            continue;
        }
        let (command, output) = text.split_once('\n').expect("a command and its output");
        let args = command
            .strip_prefix("$ cargo run --release -- ")
            .expect("our command");
        let result = mazurka(&args.split_whitespace().collect::<Vec<_>>());
        assert_eq!(
            result.out, output,
            "README.md shows something else for `{command}`"
        );
        tried += 1;
    }
    assert!(tried >= 1, "the example was not found");
}

#[test]
fn the_ci_script_runs_the_tests_of_the_readme() {
    let script = document(".ci/run");
    assert!(document("README.md").contains("cargo test --workspace"));
    for command in [
        "cargo test",
        "cargo fmt --all --check",
        "cargo clippy",
        "-D warnings",
        "cargo doc",
    ] {
        assert!(script.contains(command), "{command}");
    }
}

#[test]
fn links_lead_somewhere() {
    let mut followed = 0;
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "GLOSSARY.md",
        "CHANGELOG.md",
        "docs/language.md",
        "docs/pictures.md",
        "docs/record.md",
    ] {
        let text = document(name);
        for (at, _) in text.match_indices("](") {
            let link = text[at + 2..].split([')', '#']).next().unwrap_or("");
            if !link.is_empty() && !link.contains("://") {
                assert!(
                    root()
                        .join(name)
                        .parent()
                        .expect("a folder")
                        .join(link)
                        .exists(),
                    "{name}: {link}"
                );
                followed += 1;
            }
        }
    }
    assert!(followed >= 8, "the links were not found");
}

#[test]
fn files_that_the_architecture_names_exist() {
    let text = document("ARCHITECTURE.md");
    let mut found = 0;
    for word in text.split(|c: char| c.is_whitespace() || "`(),".contains(c)) {
        let word = word.trim_end_matches([':', '.', ';']);
        if word.ends_with(".rs") && word.contains('/') {
            let inside = root().join("crates").join(word);
            assert!(root().join(word).exists() || inside.exists(), "{word}");
            found += 1;
        }
    }
    assert!(found >= 5, "the code map was not found");
}

#[test]
fn the_pictures_of_memory_models_are_what_the_tool_draws() {
    let mut tried = 0;
    for (info, text) in blocks(&document("docs/memory.md")) {
        if info != "console" {
            continue;
        }
        let (command, file) = text.split_once(" > ").expect("a command and a file");
        let command = command.strip_prefix("$ mazurka ").expect("our command");
        // The schedule is in quotes.
        let parts: Vec<&str> = command.split('"').collect();
        let [before, schedule, after] = parts[..] else {
            panic!("one schedule: {command}");
        };
        let mut arguments: Vec<&str> = before.split_whitespace().collect();
        arguments.push(schedule);
        arguments.extend(after.split_whitespace());
        let result = mazurka(&arguments);
        assert_eq!(result.code, 0, "{result:?}");
        assert_eq!(result.out, document(file.trim()), "{command}");
        tried += 1;
    }
    assert_eq!(tried, 5);
}

#[test]
fn litmus_tests_have_as_many_graphs_as_the_table_says() {
    let text = document("docs/memory.md");
    let lines = text.lines();
    let mut lines = lines.skip_while(|line| !line.starts_with("| program |"));
    let columns = |line: &str| -> Vec<String> {
        let columns = line.trim_matches('|').split('|');
        columns.map(|column| column.trim().to_owned()).collect()
    };
    let models = columns(lines.next().expect("a table"));
    assert_eq!(models[2..], ["sc", "tso", "ra", "rc11"]);
    let mut tried = 0;
    for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let row = columns(line);
        for (model, counts) in models.iter().zip(&row).skip(2) {
            let counts: Vec<&str> = counts.split(", ").collect();
            for (at, program) in row[0].split(", ").enumerate() {
                let file = format!("corpus/litmus/{program}.maz");
                let arguments = ["explore", &file, "--memory", model, "--format", "json"];
                let found = mazurka(&arguments).json()["executions"].to_string();
                let expected = counts.get(at).unwrap_or(&counts[0]);
                assert_eq!(found, **expected, "{program} under {model}");
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 4 * 20);
}

/// Splits a command into words, some of which are in double quotes.
fn arguments(command: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (at, part) in command.split('"').enumerate() {
        match at % 2 {
            1 => all.push(part.to_owned()),
            _ => all.extend(part.split_whitespace().map(str::to_owned)),
        }
    }
    all
}

#[test]
fn commands_print_what_their_pages_show() {
    let pages = [
        ("docs/papers/guarded-commands.md", 10),
        ("docs/papers/sympaths.md", 10),
        ("docs/papers/context.md", 12),
        ("docs/compare.md", 2),
        ("docs/condition.md", 6),
        ("docs/repair.md", 8),
        ("docs/sampling.md", 2),
    ];
    for (name, least) in pages {
        let page = document(name);
        let folder = root().join(name).with_file_name("");
        let mut tried = 0;
        for (info, text) in blocks(&page) {
            if info != "console" {
                continue;
            }
            let mut result = String::new();
            for line in text.lines() {
                if let Some(command) = line.strip_prefix("$ mazurka ") {
                    let args = arguments(command);
                    let args: Vec<&str> = args.iter().map(String::as_str).collect();
                    result = mazurka(&args).out;
                    tried += 1;
                } else {
                    assert!(
                        result.contains(line),
                        "{name}: `{line}` is not in\n{result}"
                    );
                }
            }
        }
        assert!(tried >= least, "{name}: the commands were not found");
        // Links lead to existing files.
        for (at, _) in page.match_indices("](") {
            let link = page[at + 2..].split([')', '#']).next().unwrap_or("");
            assert!(folder.join(link).exists(), "{link}");
        }
    }
}
