//! Programs in two languages (corpus/spin): compares the answers of Mazurka, and of SPIN if it is
//! installed, with those that the files expect.

use std::path::{Path, PathBuf};
use std::process::Command;

use mazurka::search::{Kind, Kinds};
use mazurka::{Options, Program, Verdict, quietly};

/// An answer that both files of a folder expect.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    /// The program has neither a failure nor a deadlock (`None`), or has this one.
    Safety(Option<Kind>),
    /// Whether a temporal property holds in all weakly fair runs.
    Fair { name: String, holds: bool },
}

impl Expected {
    fn parse(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["safety", "verified"] => Expected::Safety(None),
            ["safety", "failure"] => Expected::Safety(Some(Kind::Failure)),
            ["safety", "deadlock"] => Expected::Safety(Some(Kind::Deadlock)),
            ["fair", name, answer @ ("holds" | "violated")] => Expected::Fair {
                name: name.to_owned(),
                holds: answer == "holds",
            },
            _ => panic!("what is expected: {line}"),
        }
    }
}

/// A program in both languages.
struct Pair {
    folder: PathBuf,
    maz: String,
    expected: Vec<Expected>,
}

/// Returns the expectations at the head of a file.
fn expectations(text: &str) -> Vec<Expected> {
    let bare = |line: &str| {
        let line = line.trim_start_matches("//").trim_start_matches("/*");
        line.trim_end_matches("*/").trim().to_owned()
    };
    let lines = text.lines().map(bare);
    let expected = lines.filter_map(|line| line.strip_prefix("expected: ").map(Expected::parse));
    expected.collect()
}

fn pairs() -> Vec<Pair> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/spin");
    let read = |path: &Path| match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => panic!("{}: {error}", path.display()),
    };
    let entries = std::fs::read_dir(&root).expect("the corpus");
    let folders = entries.map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    folders.sort();
    let pair = |folder: PathBuf| {
        let maz = read(&folder.join("program.maz"));
        let pml = read(&folder.join("program.pml"));
        let expected = expectations(&maz);
        assert!(!expected.is_empty(), "{}", folder.display());
        assert_eq!(expected, expectations(&pml), "{}", folder.display());
        Pair {
            folder,
            maz,
            expected,
        }
    };
    folders.into_iter().map(pair).collect()
}

#[test]
fn mazurka_gives_the_expected_answers() {
    let pairs = pairs();
    assert!(pairs.len() >= 10, "{} programs", pairs.len());
    for pair in pairs {
        let program = Program::load("program.maz", &pair.maz, &[]).expect("a right program");
        for expected in &pair.expected {
            let (options, kind) = match expected {
                Expected::Safety(kind) => {
                    let counted = Kinds::of(&[Kind::Failure, Kind::Deadlock]);
                    let options = Options {
                        counted: Some(counted),
                        ..Options::default()
                    };
                    (options, *kind)
                }
                Expected::Fair { name, holds } => {
                    let options = Options {
                        counted: Some(Kinds::NONE),
                        properties: vec![name.clone()],
                        ..Options::default()
                    };
                    (options, (!holds).then_some(Kind::Property))
                }
            };
            let record = program.check(&options, &mut quietly());
            let record = record.expect("all values are known");
            let shown = record.witnesses.first().map(|witness| witness.kind);
            let folder = pair.folder.display();
            assert_eq!(shown, kind, "{folder}: {expected:?}");
            let verdict = match kind {
                Some(_) => Verdict::Violated,
                None => Verdict::Verified,
            };
            assert_eq!(record.verdict, verdict, "{folder}: {expected:?}");
        }
    }
}

/// The realistic models of `examples/`, each with the folders of two pairs: the model as it is, and
/// with its planted bug.
const MODELS: [[&str; 3]; 12] = [
    ["bounded-queue", "bounded-queue", "bounded-queue-if"],
    ["msi", "msi", "msi-stale"],
    ["raft-election", "raft-election", "raft-election-forgetful"],
    [
        "two-phase-commit",
        "two-phase-commit",
        "two-phase-commit-silence",
    ],
    [
        "alternating-bit",
        "alternating-bit",
        "alternating-bit-blind",
    ],
    ["michael-scott", "michael-scott", "michael-scott-store"],
    ["work-stealing", "work-stealing", "work-stealing-unasked"],
    ["rwlock-upgrade", "rwlock-upgrade", "rwlock-upgrade-both"],
    ["thread-pool", "thread-pool", "thread-pool-signal"],
    ["paxos", "paxos", "paxos-stubborn"],
    ["waiter", "waiter", "waiter-generous"],
    ["bakery", "bakery", "bakery-hurried"],
];

#[test]
fn the_models_of_the_examples_are_compared() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let processes = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let lines = text.lines().filter(|line| !line.trim().starts_with("//"));
        let text: Vec<&str> = lines.collect();
        let text = text.join("\n");
        let from = text.find("\nprocess");
        (from.map(|from| text[from..].trim().to_owned()), text)
    };
    for [example, right, wrong] in MODELS {
        let (body, whole) = processes(root.join(format!("examples/{example}.maz")));
        assert!(whole.contains("const BUG = 0"), "{example}");
        for (folder, bug) in [(right, 0), (wrong, 1)] {
            let (copy, text) = processes(root.join(format!("corpus/spin/{folder}/program.maz")));
            // The pairs have processes where an example has an object and its clients.
            if body.is_some() {
                assert_eq!(copy, body, "{folder}");
            }
            assert!(text.contains(&format!("const BUG = {bug}")), "{folder}");
            let verified = expectations(
                &std::fs::read_to_string(root.join(format!("corpus/spin/{folder}/program.pml")))
                    .expect("a program"),
            );
            assert_eq!(
                verified.contains(&Expected::Safety(None)),
                bug == 0,
                "{folder}"
            );
        }
    }
}

/// Runs a command in a folder and returns its output; `None` if the command is not installed.
fn output_of(folder: &Path, program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .output();
    let output = output.ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the first error that SPIN reports, if any.
fn reported(text: &str) -> Option<&'static str> {
    if text.contains("errors: 0") {
        return None;
    }
    let known = [
        "assertion violated",
        "invalid end state",
        "acceptance cycle",
    ];
    let found = known.into_iter().find(|what| text.contains(what));
    Some(found.unwrap_or_else(|| panic!("unknown output of SPIN: {text}")))
}

/// Six of the pairs: compiling SPIN's output takes most of the time.
#[test]
fn spin_gives_the_expected_answers() {
    compare_with_spin(pairs().len() / 6);
}

#[test]
#[ignore = "takes minutes"]
fn spin_gives_all_expected_answers_for_long() {
    compare_with_spin(1);
}

/// Compares each `step`th pair.
fn compare_with_spin(step: usize) {
    let here = std::env::temp_dir();
    if output_of(&here, "spin", &["-V"]).is_none()
        || output_of(&here, "cc", &["--version"]).is_none()
    {
        println!("skipped: spin missing (spin and cc are not both on the path)");
        return;
    }
    for (at, pair) in pairs().into_iter().enumerate().step_by(step) {
        let folder = here.join(format!("mazurka-spin-{}-{at}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join("program.pml");
        std::fs::copy(pair.folder.join("program.pml"), file).expect("a copy");
        let generated = output_of(&folder, "spin", &["-a", "program.pml"]).expect("spin");
        let built = output_of(&folder, "cc", &["-O0", "-w", "-o", "pan", "pan.c"]).expect("cc");
        let has_verifier = folder.join("pan").exists();
        assert!(
            has_verifier,
            "{}:\n{generated}{built}",
            pair.folder.display()
        );
        for expected in &pair.expected {
            let args: &[&str] = match expected {
                Expected::Safety(_) => &["-noclaim", "-m100000"],
                Expected::Fair { name, .. } => &["-a", "-f", "-m100000", "-N", name],
            };
            let output = output_of(&folder, "./pan", args).expect("pan");
            let right = match (expected, reported(&output)) {
                (Expected::Safety(None) | Expected::Fair { holds: true, .. }, None) => true,
                (Expected::Safety(Some(Kind::Failure)), Some(what)) => what == "assertion violated",
                (Expected::Safety(Some(_)), Some(what)) => what == "invalid end state",
                (Expected::Fair { holds: false, .. }, Some(_)) => true,
                _ => false,
            };
            assert!(right, "{}: {expected:?}\n{output}", pair.folder.display());
        }
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}
