//! Tests what a release consists of: the GitHub action checks a folder, the list of licences is
//! complete, and all files name the same version.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{CommandResult, command, root, run_command};

const RACE: &str = "var x: int = 0\nprocess { x := 1 }\nprocess { assert x == 0 }\n";
const CALM: &str = "var x: int = 0\nensures x == 1\nprocess { x := 1 }\n";

/// Runs the script of action.yml with this binary.
fn check_folder(folder: &Path, sarif: &Path) -> CommandResult {
    let mut script = Command::new(root().join(".ci/check-folder"));
    script.arg(folder).arg(sarif).arg("10s");
    run_command(script.env("MAZURKA", env!("CARGO_BIN_EXE_mazurka")), "")
}

/// Returns the results of all SARIF files in a folder.
fn results(folder: &Path) -> Vec<serde_json::Value> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).expect("a folder");
    for entry in entries {
        let text = fs::read_to_string(entry.expect("an entry").path()).expect("a file");
        let sarif: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(sarif["version"], "2.1.0");
        found.extend(
            sarif["runs"][0]["results"]
                .as_array()
                .expect("results")
                .clone(),
        );
    }
    found
}

#[test]
#[cfg(unix)]
fn the_action_checks_a_folder_without_a_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let (models, sarif) = (folder.path().join("a b"), folder.path().join("sarif"));
    fs::create_dir_all(models.join("inner")).expect("a folder");
    let none = check_folder(&models, &sarif);
    assert_eq!(none.code, 3, "{none:?}");
    fs::write(models.join("calm.maz"), CALM).expect("written");
    let good = check_folder(&models, &sarif);
    assert_eq!(good.code, 0, "{good:?}");
    assert_eq!(results(&sarif), [] as [serde_json::Value; 0]);
    fs::write(models.join("inner/race.maz"), RACE).expect("written");
    let bad = check_folder(&models, &sarif);
    assert_eq!(bad.code, 1, "{bad:?}");
    assert!(bad.out.contains("::error file="), "{bad:?}");
    let found = results(&sarif);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["ruleId"], "failure");
}

#[test]
#[cfg(unix)]
fn the_action_takes_the_verdicts_of_a_list() {
    let folder = tempfile::tempdir().expect("a folder");
    let (models, sarif) = (folder.path().join("models"), folder.path().join("sarif"));
    fs::create_dir(&models).expect("a folder");
    fs::write(models.join("race.maz"), RACE).expect("written");
    fs::write(models.join("wrong.maz"), "process { x := 1 }\n").expect("written");
    let list = "[[model]]\nfile = 'race.maz'\nverdict = 'violated'\n";
    fs::write(models.join("mazurka.toml"), list).expect("written");
    // An expected violation is not a finding.
    let good = check_folder(&models, &sarif);
    assert_eq!(good.code, 0, "{good:?}");
    assert_eq!(results(&sarif), [] as [serde_json::Value; 0]);
    let list =
        "[[model]]\nfile = 'race.maz'\nverdict = 'verified'\n[[model]]\nfile = 'wrong.maz'\n";
    fs::write(models.join("mazurka.toml"), list).expect("written");
    let bad = check_folder(&models, &sarif);
    assert_eq!(bad.code, 1, "{bad:?}");
    let found = results(&sarif);
    let rules: Vec<&str> = found
        .iter()
        .filter_map(|one| one["ruleId"].as_str())
        .collect();
    assert!(rules.contains(&"failure"), "{rules:?}");
    // The mistake in the other file has a code.
    assert!(rules.iter().any(|rule| rule.starts_with('M')), "{rules:?}");
}

#[test]
fn the_action_names_inputs_that_it_uses() {
    let action = fs::read_to_string(root().join("action.yml")).expect("the action");
    for input in ["path", "time-limit", "version", "upload"] {
        assert!(action.contains(&format!("\n  {input}:\n")), "{input}");
        assert!(action.contains(&format!("inputs.{input}")), "{input}");
    }
    // Inputs reach the shell only as variables, never as a part of a script.
    for line in action.lines().filter(|line| line.contains("${{")) {
        assert!(!line.trim_start().starts_with("run:"), "{line}");
    }
    assert!(action.contains(".ci/check-folder"));
}

/// Every file names the version of the workspace.
#[test]
fn one_version_is_named_everywhere() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect("a file");
    let manifest: toml::Table = read("Cargo.toml").parse().expect("TOML");
    let version = manifest["workspace"]["package"]["version"]
        .as_str()
        .expect("a version");
    assert_eq!(version, env!("CARGO_PKG_VERSION"));
    let (minor, _) = version.rsplit_once('.').expect("three numbers");
    for (name, words) in [
        ("CITATION.cff", format!("\nversion: {version}\n")),
        (
            "editors/code/package.json",
            format!("\"version\": \"{version}\""),
        ),
        ("docs/editors.md", format!("mazurka-{version}.vsix")),
        ("action.yml", format!("default: {version}")),
        ("CHANGELOG.md", format!("## {version}")),
        ("docs/stability.md", format!("version {version}")),
        ("docs/rust.md", format!("mazurka-rt = \"{minor}\"")),
        ("docs/howto/rust.md", format!("mazurka-rt = \"{minor}\"")),
        ("crates/loom/README.md", format!("version = \"{minor}\"")),
    ] {
        assert!(read(name).contains(&words), "{name} does not name {words}");
    }
}

/// Every published crate has the metadata that a registry requires.
#[test]
fn every_published_crate_has_its_metadata() {
    let mut published = 0;
    for entry in fs::read_dir(root().join("crates")).expect("the crates") {
        let folder = entry.expect("an entry").path();
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let manifest: toml::Table = manifest.parse().expect("TOML");
        let package = manifest["package"].as_table().expect("a package");
        if package.get("publish").and_then(toml::Value::as_bool) == Some(false) {
            continue;
        }
        published += 1;
        let here = folder.display();
        for key in [
            "description",
            "license",
            "readme",
            "keywords",
            "categories",
            "rust-version",
        ] {
            assert!(package.contains_key(key), "{here}: no `{key}`");
        }
        let keywords = package["keywords"].as_array().expect("a list");
        assert!((1..=5).contains(&keywords.len()), "{here}");
        let short = |word: &toml::Value| word.as_str().is_some_and(|word| word.len() <= 20);
        assert!(keywords.iter().all(short), "{here}: {keywords:?}");
        let name = package["name"].as_str().expect("a name");
        let readme = fs::read_to_string(folder.join("README.md")).expect("a README");
        assert!(readme.starts_with(&format!("# {name}\n")), "{here}");
    }
    assert!(published >= 21, "{published} crates");
}

#[test]
fn no_licence_is_missing() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    let metadata = run_command(cargo.current_dir(root()), "");
    if metadata.code != 0 {
        println!("skipped: the sources of dependencies missing");
        return;
    }
    // The metadata also has the packages for other systems, so there are more than in the binary.
    let metadata = metadata.json();
    let allowed = fs::read_to_string(root().join("deny.toml")).expect("what is allowed");
    let mut looked_at = 0;
    for package in metadata["packages"].as_array().expect("packages") {
        let licence = package["license"].as_str().expect("a licence");
        let mut choices = licence.split([' ', '/', '(', ')']);
        let fits = choices.any(|one| one.len() > 2 && allowed.contains(&format!("\"{one}\"")));
        assert!(fits, "{} is under {licence}", package["name"]);
        looked_at += 1;
    }
    assert!(looked_at > 50);
}

/// The man pages and completions for the archives can be made.
#[test]
fn pages_and_completions_are_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let man = run_command(command().args(["man"]).arg(folder.path()), "");
    assert_eq!(man.code, 0, "{man:?}");
    assert!(fs::read_dir(folder.path()).expect("a folder").count() > 20);
    for shell in ["bash", "zsh", "fish"] {
        let script = run_command(
            command().args(["completions", shell]).stdin(Stdio::null()),
            "",
        );
        assert_eq!(script.code, 0);
        assert!(script.out.contains("mazurka"));
    }
}
