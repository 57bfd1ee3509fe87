//! Tests certificates of trees with one change (*mutants*): if brute force finds that the changed
//! tree lacks a trace, the checker must reject it.

use mazurka_certificate::{Certificate, Kind, Rejected, Tree};
use mazurka_core::{Execution, ProcessId, Status};
use mazurka_lang::Machine;
use mazurka_testkit::{Config, Dependence, Recorder, Rng, Summary, generate, machine};

use crate::random::{fault, grow, has_finer_claims, programs, truth};
use crate::recorder::certificate;

/// A step, with its subtree.
#[derive(Clone, Debug, PartialEq)]
struct TreeStep {
    process: u32,
    outcomes: Vec<i64>,
    then: Vec<TreeStep>,
}

/// The error for a tree with an impossible step.
struct Impossible;

/// Returns the tree of a search with sleep sets, the simplest search whose tree contains every
/// trace.
fn grown(program: &mut Machine) -> Vec<TreeStep> {
    struct Walk<'a>(&'a mut Machine);
    impl Walk<'_> {
        fn below(&mut self, sleep: &[ProcessId]) -> Vec<TreeStep> {
            let mut children = Vec::new();
            let mut tried: Vec<ProcessId> = sleep.to_vec();
            let all = self.0.processes().in_order().to_vec();
            for process in all {
                if tried.contains(&process) || self.0.status(process) != Status::Ready {
                    continue;
                }
                let mut next = Some(Vec::new());
                while let Some(given) = next.take() {
                    children.push(self.step(process, &given, &tried, &mut next));
                }
                tried.push(process);
            }
            children
        }

        fn step(
            &mut self,
            process: ProcessId,
            given: &[i64],
            tried: &[ProcessId],
            next: &mut Option<Vec<i64>>,
        ) -> TreeStep {
            let depth = self.0.events().len();
            let asleep = tried.iter().copied().filter(|&other| {
                let (mut mine, mut theirs) = (Vec::new(), Vec::new());
                self.0.claims(process, &mut mine);
                self.0.claims(other, &mut theirs);
                let conflict = |a: &mazurka_core::Access| theirs.iter().any(|b| a.conflicts(*b));
                !mine.iter().any(conflict)
            });
            let asleep: Vec<ProcessId> = asleep.collect();
            let event = self.0.step(process, given).expect("it is ready").clone();
            let outcomes: Vec<i64> = event.outcomes.iter().map(|one| one.value).collect();
            let more = event
                .outcomes
                .iter()
                .rposition(|one| one.value + 1 < one.end);
            *next = more.map(|at| {
                let mut given = outcomes[..=at].to_vec();
                given[at] += 1;
                given
            });
            let then = self.below(&asleep);
            self.0.back_to(depth);
            TreeStep {
                process: process.0,
                outcomes,
                then,
            }
        }
    }
    Walk(program).below(&[])
}

/// Records a tree while walking it, and collects its complete runs.
fn runs(
    program: &mut Machine,
    steps: &[TreeStep],
    recorder: &mut Recorder,
    tree: &mut Tree,
) -> Result<(), Impossible> {
    let depth = program.events().len();
    let ready = |program: &Machine| {
        let mut all = program.processes().in_order().iter();
        all.any(|&process| program.status(process) == Status::Ready)
    };
    if steps.is_empty() && !ready(program) {
        recorder.complete(program);
    }
    for step in steps {
        let process = ProcessId(step.process);
        if step.process as usize >= program.processes().len() {
            return Err(Impossible);
        }
        let event = program
            .step(process, &step.outcomes)
            .map_err(|_| Impossible)?;
        let outcomes: Vec<i64> = event.outcomes.iter().map(|one| one.value).collect();
        let spawned: Vec<u32> = event.spawned.iter().map(|child| child.0).collect();
        tree.step(step.process, &outcomes, &spawned);
        recorder.push(program);
        let below = runs(program, &step.then, recorder, tree);
        recorder.pop();
        tree.back();
        program.back_to(depth);
        below?;
    }
    Ok(())
}

/// Returns the certificate of a tree, and the summary of its runs; `None` if some step is
/// impossible.
fn made(text: &str, steps: &[TreeStep]) -> Option<(Certificate, Summary)> {
    let mut program = machine(text).ok()?;
    let mut recorder = Recorder::new(&program, Dependence::Claimed);
    let roots = program.processes().len() as u32;
    let mut tree = Tree::new(roots);
    runs(&mut program, steps, &mut recorder, &mut tree).ok()?;
    Some((certificate(text, tree), recorder.finish()))
}

fn count(steps: &[TreeStep]) -> usize {
    steps.iter().map(|step| 1 + count(&step.then)).sum()
}

/// Changes the tree at the step with this number.
fn change(steps: &mut Vec<TreeStep>, at: &mut usize, how: usize, rng: &mut Rng) -> bool {
    for here in 0..steps.len() {
        if *at == 0 {
            match how {
                // Remove a subtree.
                0 => drop(steps.remove(here)),
                // Let runs end early.
                1 => steps[here].then.clear(),
                // Change the order of children.
                2 => {
                    let other = rng.below(steps.len());
                    steps.swap(here, other);
                }
                // Change the process. The other process may have the same children.
                3 => steps[here].process = (steps[here].process + 1) % 4,
                // Change an outcome.
                4 => match steps[here].outcomes.last_mut() {
                    Some(outcome) => *outcome += 1,
                    None => drop(steps.remove(here)),
                },
                // Remove this step, but keep its subtree.
                _ => {
                    let then = std::mem::take(&mut steps[here].then);
                    steps.splice(here..=here, then);
                }
            }
            return true;
        }
        *at -= 1;
        if change(&mut steps[here].then, at, how, rng) {
            return true;
        }
    }
    false
}

#[test]
fn trees_that_lack_a_trace_are_rejected() {
    let rejected = rejected_mutants(programs(120));
    assert!(rejected > 500, "{rejected}");
}

#[test]
#[ignore = "ten thousand mutants; .ci/long has it"]
fn ten_thousand_mutants_are_rejected() {
    let rejected = rejected_mutants(2_500);
    assert!(rejected >= 10_000, "{rejected}");
}

/// Changes trees of this many programs. Returns the number of rejected trees that lack a trace.
fn rejected_mutants(programs: u64) -> u64 {
    let (mut rejected, mut whole) = (0, 0);
    for seed in 0..programs {
        let text = generate(seed, &Config::default()).to_string();
        let Some(truth) = truth(&text) else { continue };
        let tree = grown(&mut machine(&text).expect("a program"));
        let size = count(&tree);
        if size == 0 || size > 400 {
            continue;
        }
        let (certificate, _) = made(&text, &tree).expect("it runs");
        match certificate.check(&mut || true) {
            Ok(facts) => assert_eq!(fault(&facts, &truth), None, "seed {seed}\n{text}"),
            Err(Rejected::Beyond(_)) => continue,
            // The checker's claims are finer, so processes sleep longer than in this tree, and some
            // child in the tree may sleep.
            Err(Rejected::Tree(_)) if has_finer_claims(&text) => continue,
            Err(why) => panic!("seed {seed}: {why}\n{text}"),
        }
        let mut rng = Rng::new(seed);
        for _ in 0..40 {
            let mut mutant = tree.clone();
            let (mut at, how) = (rng.below(size), rng.below(6));
            change(&mut mutant, &mut at, how, &mut rng);
            let Some((certificate, shows)) = made(&text, &mutant) else {
                continue;
            };
            let complete = shows.traces.is_superset(&truth.traces);
            match certificate.check(&mut || true) {
                Err(_) => rejected += u64::from(!complete),
                // If the checker's claims are finer, there are fewer traces, so a complete tree may
                // lack some of the traces that brute force finds.
                Ok(facts) => {
                    assert_eq!(fault(&facts, &truth), None, "seed {seed}\n{text}");
                    let finer = has_finer_claims(&text);
                    assert!(complete || finer, "seed {seed}, change {how}\n{text}");
                    whole += 1;
                }
            }
        }
    }
    println!("{rejected} mutants rejected, {whole} still whole");
    rejected
}

#[test]
fn files_with_any_byte_changed_never_panic_and_show_nothing_wrong() {
    let mut rng = Rng::new(7);
    for seed in 0..programs(30) {
        let text = generate(seed, &Config::default()).to_string();
        let Some(truth) = truth(&text) else { continue };
        let Ok(grown) = grow(Kind::Stateless, &text) else {
            continue;
        };
        let bytes = grown.to_bytes();
        let evidence = bytes.len() - grown.evidence.len();
        for _ in 0..60 {
            let mut changed = bytes.clone();
            let at = rng.below(bytes.len());
            changed[at] ^= 1 << rng.below(8);
            let mut left = 20_000;
            let mut go_on = || {
                left -= 1;
                left > 0
            };
            let checked = Certificate::from_bytes(&changed).and_then(|it| it.check(&mut go_on));
            if let (Ok(facts), true) = (checked, at >= evidence) {
                assert_eq!(
                    fault(&facts, &truth),
                    None,
                    "seed {seed}, byte {at}\n{text}"
                );
            }
        }
        for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            let cut = Certificate::from_bytes(&bytes[..length]);
            assert!(cut.is_err(), "seed {seed}, {length} bytes");
        }
    }
}
