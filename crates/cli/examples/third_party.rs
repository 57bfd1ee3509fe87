//! Lists the licences of third parties in a program: `cargo metadata … | third_party PACKAGE`.
//!
//! Prints a Markdown text: a table of all packages that the package is built from, with the licence
//! of each, and the licence texts in the packages. `.ci/release` adds it to the archives.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use serde_json::Value;

fn main() {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .expect("metadata on standard input");
    let metadata: Value = serde_json::from_str(&text).expect("the JSON of `cargo metadata`");
    let root = std::env::args().nth(1).expect("the name of a package");
    print!("{}", list(&metadata, &root));
}

/// Returns the packages that a package is built from, without those of this workspace.
fn third_parties<'m>(metadata: &'m Value, root: &str) -> Vec<&'m Value> {
    let packages: BTreeMap<&str, &Value> = all(&metadata["packages"])
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: BTreeMap<&str, &Value> = all(&metadata["resolve"]["nodes"])
        .map(|node| (text(&node["id"]), node))
        .collect();
    let root = packages.values().find(|package| package["name"] == root);
    let mut pending = vec![text(&root.expect("the package")["id"])];
    let mut reached = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if !reached.insert(id) {
            continue;
        }
        for dependency in all(&nodes[id]["deps"]) {
            // Dependencies for tests are not in the program.
            let mut kinds = all(&dependency["dep_kinds"]);
            if kinds.any(|kind| kind["kind"] != "dev") {
                pending.push(text(&dependency["pkg"]));
            }
        }
    }
    let reached = reached.into_iter().map(|id| packages[id]);
    let mut others: Vec<&Value> = reached
        .filter(|package| !package["source"].is_null())
        .collect();
    others.sort_by_key(|package| (text(&package["name"]), text(&package["version"])));
    others
}

fn list(metadata: &Value, root: &str) -> String {
    let others = third_parties(metadata, root);
    let mut list = format!(
        "# Licences of third parties\n\n\
         `{root}` is built from these packages.\n\n\
         | package | version | licence | source |\n|---|---|---|---|\n"
    );
    for package in &others {
        let licence = package["license"].as_str();
        let name = text(&package["name"]);
        let licence = licence.unwrap_or_else(|| panic!("{name} names no licence"));
        let source = package["repository"].as_str().unwrap_or("");
        let version = text(&package["version"]);
        list += &format!("| {name} | {version} | {licence} | {source} |\n");
    }
    for package in &others {
        for (file, licence) in licences(package) {
            let (name, version) = (text(&package["name"]), text(&package["version"]));
            let fence = "~~~~";
            list += &format!(
                "\n## {name} {version}: {file}\n\n{fence}\n{}\n{fence}\n",
                licence.trim_end()
            );
        }
    }
    list
}

/// Returns the licence texts beside the manifest of a package.
fn licences(package: &Value) -> Vec<(String, String)> {
    let manifest = Path::new(text(&package["manifest_path"]));
    let folder = manifest.parent().unwrap_or(Path::new(""));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(String, String)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let upper = name.to_uppercase();
            let wanted = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];
            if !wanted.iter().any(|word| upper.starts_with(word)) {
                return None;
            }
            Some((name, std::fs::read_to_string(entry.path()).ok()?))
        })
        .collect();
    found.sort();
    found
}

fn all(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}
