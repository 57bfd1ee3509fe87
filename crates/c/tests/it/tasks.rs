//! The programs of `corpus/c`, which implement the algorithms of well-known verification tasks.
//! Each program states its expected results in lines `// case: FLAGS verified` or
//! `// case: FLAGS violated WORDS`. WORDS are a part of the message of the failure, or `deadlock`.

use std::fs;

use crate::support::{ExploreOptions, Findings, explore, has_compiler};

/// A line of a program that states an expected result.
struct Case {
    flags: Vec<String>,
    /// Words of the failure, or `deadlock`; `None` if the program is correct.
    wrong: Option<String>,
}

fn cases(source: &str) -> Vec<Case> {
    let lines = source
        .lines()
        .filter_map(|line| line.strip_prefix("// case: "));
    let case = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let at = words
            .iter()
            .position(|word| ["verified", "violated"].contains(word))
            .expect("a verdict");
        let rest = words[at + 1..].join(" ");
        Case {
            flags: words[..at].iter().map(|&flag| flag.to_owned()).collect(),
            wrong: (words[at] == "violated").then_some(rest),
        }
    };
    lines.map(case).collect()
}

fn judge(found: &Findings, case: &Case) -> bool {
    let everything = found.bounds == "[]" && found.refused.is_none();
    match &case.wrong {
        None => found.is_right() && found.executions > 0,
        Some(words) if words == "deadlock" => everything && found.deadlocks > 0,
        Some(words) => everything && found.says(words),
    }
}

#[test]
fn tasks_have_their_verdicts() {
    if !has_compiler() {
        return;
    }
    let folder = format!("{}/../../corpus/c", env!("CARGO_MANIFEST_DIR"));
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the corpus")
        .map(|entry| entry.expect("a file").file_name().into_string())
        .map(|name| name.expect("a name"))
        .filter(|name| name.ends_with(".c"))
        .collect();
    names.sort();
    assert!(names.len() >= 30, "{names:?}");
    let include = format!("-I{folder}");
    let mut wrong = Vec::new();
    for name in &names {
        let source = fs::read_to_string(format!("{folder}/{name}")).expect("a program");
        let cases = cases(&source);
        let both = cases.iter().any(|case| case.wrong.is_none())
            && cases.iter().any(|case| case.wrong.is_some());
        assert!(both, "{name} has a right and a wrong case");
        for case in &cases {
            let mut flags = vec![include.as_str()];
            flags.extend(case.flags.iter().map(String::as_str));
            let how = ExploreOptions {
                flags: &flags,
                allow_races: true,
                nondet: Some(("int", 0, 2)),
                ..ExploreOptions::default()
            };
            let found = explore(name, &source, how);
            if !judge(&found, case) {
                wrong.push(format!("{name} {:?}: {found:?}", case.flags));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
