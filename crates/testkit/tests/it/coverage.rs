//! Coverage of random programs: compares every engine with plain interleaving.

use mazurka::record::Coverage;
use mazurka::search::Limits;
use mazurka::{Algorithm, Options, Program, quietly};
use mazurka_testkit::swarm::swarm;

/// The number of programs.
const PROGRAMS: u64 = 3000;

/// Returns what an engine reports as reached, if it explores everything within the limits.
fn covered(program: &Program, algorithm: Algorithm, jobs: usize) -> Option<Coverage> {
    let options = Options {
        cover: true,
        jobs,
        limits: Limits {
            steps: Some(4000),
            ..Limits::default()
        },
        ..Options::default()
    };
    let record = program.explore(algorithm, &options, &mut quietly());
    record.ok()?.coverage
}

#[test]
fn all_engines_reach_what_plain_interleaving_reaches() {
    let (mut compared, mut partial) = (0, 0);
    for seed in 0..PROGRAMS {
        let source = swarm(seed);
        let Ok(program) = Program::load("swarm.maz", &source, &[]) else {
            continue;
        };
        if !program.unknowns().is_empty() {
            // A solver takes too long for this many programs.
            continue;
        }
        let Some(all) = covered(&program, Algorithm::Naive, 1) else {
            continue;
        };
        partial += u64::from(all.reached < all.statements);
        for &algorithm in Algorithm::ALL {
            for jobs in 1..=2 {
                if let Some(coverage) = covered(&program, algorithm, jobs) {
                    compared += 1;
                    assert_eq!(coverage, all, "seed {seed}, {algorithm}, {jobs}:\n{source}");
                }
            }
        }
    }
    assert!(compared > 1000 && partial > 50, "{compared}, {partial}");
}
