//! The programs of the corpus under sc: compares the engine for execution graphs with Optimal-DPOR.
//! Programs with `atomicity statement` are loaded with `atomicity access` instead.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mazurka_core::Limits;
use mazurka_lang::hir::{ExprKind, Program, StmtKind};
use mazurka_lang::{Code, compile, load};

use crate::random_maz::{graphs, interleavings};

/// Programs whose search takes more steps are left out.
const MOST_STEPS: u64 = 300_000;

/// Returns the programs that can run under memory models.
fn programs() -> Vec<(PathBuf, Arc<Code>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["maz", "litmus"] {
        let entries = std::fs::read_dir(corpus.join(folder)).expect("a folder");
        for entry in entries {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                let inside = std::fs::read_dir(path).expect("a folder");
                files.extend(inside.map(|entry| entry.expect("an entry").path()));
            } else {
                files.push(path)
            }
        }
    }
    files.retain(|file| file.extension().is_some_and(|ending| ending == "maz"));
    files.sort();
    files
        .into_iter()
        .filter_map(|file| {
            let source = std::fs::read_to_string(&file).expect("a file");
            let source = source.replace("atomicity statement", "");
            let source = if source.contains("atomicity access") {
                source
            } else {
                format!("atomicity access\n{source}")
            };
            let program = load(&source, &[]).ok()?;
            let known = program.unknowns().is_empty();
            let code = compile(&program, &source).ok().filter(|_| known)?;
            code.accesses_are_steps().ok()?;
            Some((file, Arc::new(code)))
        })
        .collect()
}

/// Whether graphs and traces correspond one to one: there are no guards, choices or assumptions, no
/// updates that may fail, and no `atomic` blocks apart from updates.
fn is_counted_alike(program: &Program) -> bool {
    let mut alike = true;
    let procedures = program.procedures.iter().map(|one| &one.body);
    let processes = program.processes.iter().map(|one| &one.body);
    for stmt in procedures.chain(processes).flatten() {
        stmt.walk(&mut |stmt| {
            alike &= match &stmt.kind {
                StmtKind::Guard(..)
                | StmtKind::GuardedLoop(..)
                | StmtKind::Choice { .. }
                | StmtKind::Assume(_) => false,
                StmtKind::Atomic(body) => {
                    let conditional = |kind: &StmtKind| matches!(kind, StmtKind::If(..));
                    let updates = program.orders.contains_key(&stmt.span);
                    updates && !body.iter().any(|stmt| conditional(&stmt.kind))
                }
                _ => true,
            };
            for expr in stmt.exprs() {
                expr.walk(&mut |expr| alike &= !matches!(expr.kind, ExprKind::Choose(..)));
            }
        });
    }
    alike
}

#[test]
fn under_sc_both_engines_agree_on_the_corpus() {
    let limits = Limits {
        steps: Some(MOST_STEPS),
        depth: Some(400),
        ..Limits::default()
    };
    let (mut compared, mut counted, mut deadlocked, mut failed) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for (file, code) in programs() {
        let Some(expected) = interleavings(&code, &limits) else {
            continue;
        };
        let mut all = vec![graphs::<false>(&code, &limits)];
        if !code.starts_processes() {
            all.push(graphs::<true>(&code, &limits));
        }
        let alike = is_counted_alike(code.program());
        for found in all {
            let Some(mut found) = found else {
                continue;
            };
            if !alike {
                (found.complete, found.deadlocks) = (expected.complete, expected.deadlocks);
            }
            if found != expected {
                let name = file.display();
                wrong.push(format!("{name}: {found:?}, but interleavings {expected:?}"));
            }
            compared += 1;
            counted += usize::from(alike);
            deadlocked += usize::from(expected.deadlocked);
            failed += usize::from(!expected.failures.is_empty());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let seen = (compared, counted, deadlocked, failed);
    assert!(compared > 60 && counted > 30, "{seen:?}");
    assert!(deadlocked > 5 && failed > 5, "{seen:?}");
}
