//! What explorers require of every `Execution` (core/src/program.rs), checked on all runs of random
//! programs.

use std::collections::HashMap;

use mazurka_core::{
    Access, AccessKind, Claims, Event, Execution, Fingerprint, Narrator, ProcessId, ProcessPath,
    Semantics, Status, TraceHasher, canonical_order, dependent,
};
use mazurka_lang::Machine;
use mazurka_testkit::{Config, Limit, Rng, Visit, every_run, generate, machine};

/// Programs small enough to examine every run.
const LIMIT: Limit = Limit {
    executions: 3_000,
    depth: 120,
};

/// Returns some programs; `MAZURKA_PROGRAMS` sets their number.
fn programs(first: u64, count: u64) -> impl Iterator<Item = (String, Machine)> {
    let count = crate::common::programs(count);
    (first..first + count).map(|seed| {
        let text = generate(seed, &Config::default()).to_string();
        let program = machine(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        (text, program)
    })
}

type Label = (ProcessPath, u32, Vec<i64>);

fn canonical(program: &Machine) -> Vec<Label> {
    let run = program.events();
    let table = program.processes();
    let order = canonical_order(run, |process| table.path(process).clone());
    let label = |&at: &usize| {
        let outcomes = run[at]
            .outcomes
            .iter()
            .map(|outcome| outcome.value)
            .collect();
        (
            table.path(run[at].process).clone(),
            run[at].number,
            outcomes,
        )
    };
    order.iter().map(label).collect()
}

#[test]
fn equal_fingerprints_equal_canonical_forms_and_equal_states() {
    for (text, mut program) in programs(10_000, 300) {
        let mut hasher = TraceHasher::new();
        let mut forms: HashMap<Fingerprint, (Vec<Label>, Fingerprint)> = HashMap::new();
        let mut traces: HashMap<Vec<Label>, Fingerprint> = HashMap::new();
        let _ = every_run(&mut program, LIMIT, &mut |program, visit| match visit {
            Visit::Enter => {
                if let Some(event) = program.events().last() {
                    hasher.push(event, program.processes());
                }
            }
            Visit::Leave => hasher.pop(),
            Visit::Complete => {
                let form = canonical(program);
                let trace = hasher.trace();
                let state = program.fingerprint();
                let known = forms.entry(trace).or_insert_with(|| (form.clone(), state));
                assert_eq!(
                    known.0, form,
                    "one fingerprint, two canonical forms:\n{text}"
                );
                assert_eq!(known.1, state, "one trace, two states:\n{text}");
                let known = *traces.entry(form).or_insert(trace);
                assert_eq!(
                    known, trace,
                    "one canonical form, two fingerprints:\n{text}"
                );
            }
        });
    }
}

#[test]
fn independent_neighbours_commute() {
    for (text, mut program) in programs(20_000, 200) {
        let _ = every_run(&mut program, LIMIT, &mut |program, visit| {
            let run = program.events();
            if visit != Visit::Enter || run.len() < 2 {
                return;
            }
            let depth = run.len();
            let (one, other) = (run[depth - 2].clone(), run[depth - 1].clone());
            if dependent(&one, &other) {
                return;
            }
            let state = program.fingerprint();
            program.back_to(depth - 2);
            let swapped = repeat(program, &other).and_then(|first| {
                let second = repeat(program, &one)?;
                Some((first, second))
            });
            assert_eq!(
                swapped,
                Some((other.clone(), one.clone())),
                "events differ:\n{text}"
            );
            assert_eq!(program.fingerprint(), state, "states differ:\n{text}");
            program.back_to(depth - 2);
            assert_eq!(repeat(program, &one), Some(one), "not restored:\n{text}");
            assert_eq!(
                repeat(program, &other),
                Some(other),
                "not restored:\n{text}"
            );
            assert_eq!(program.fingerprint(), state, "not restored:\n{text}");
        });
    }
}

/// Makes the step of an event again.
fn repeat(program: &mut Machine, event: &Event) -> Option<Event> {
    let outcomes: Vec<i64> = event.outcomes.iter().map(|outcome| outcome.value).collect();
    program.step(event.process, &outcomes).ok().cloned()
}

#[test]
fn going_back_and_running_again_changes_nothing() {
    for (text, mut program) in programs(30_000, 150) {
        let _ = every_run(&mut program, LIMIT, &mut |program, visit| {
            if visit != Visit::Complete {
                return;
            }
            let run = program.events().to_vec();
            let state = program.state();
            let seen = (program.fingerprint(), program.observation());
            for back in [0, run.len() / 2] {
                program.back_to(back);
                for event in &run[back..] {
                    assert_eq!(repeat(program, event).as_ref(), Some(event), "{text}");
                }
                assert!(
                    program.state() == state,
                    "the state differs after going back:\n{text}"
                );
                assert_eq!(
                    (program.fingerprint(), program.observation()),
                    seen,
                    "{text}"
                );
            }
        });
    }
}

/// Whether one of the claims covers an access.
fn claimed(access: &Access, claims: &Claims) -> bool {
    let enough = |claim: AccessKind| match access.kind {
        AccessKind::Read => true,
        kind => claim == kind,
    };
    access.cells().all(|cell| {
        claims
            .iter()
            .any(|claim| claim.cells().contains(&cell) && enough(claim.kind))
    })
}

#[test]
fn steps_touch_what_they_claim_and_claim_what_they_announced() {
    for (text, mut program) in programs(40_000, 300) {
        let mut announced: Vec<Vec<(u32, Claims)>> = Vec::new();
        let _ = every_run(&mut program, LIMIT, &mut |program, visit| match visit {
            Visit::Complete => {}
            Visit::Leave => {
                announced.pop();
            }
            Visit::Enter => {
                if let Some(event) = program.events().last() {
                    for access in &event.touched {
                        assert!(
                            claimed(access, &event.claims),
                            "{event:?} touched more:\n{text}"
                        );
                    }
                    assert_eq!(event.plain, event.is_plain(), "{event:?}:\n{text}");
                    let before = &announced[announced.len() - 1];
                    let pending = before
                        .iter()
                        .find(|(process, _)| *process == event.process.0);
                    let claims = pending.map(|(_, claims)| claims);
                    assert_eq!(
                        claims,
                        Some(&event.claims),
                        "{event:?} claims otherwise:\n{text}"
                    );
                }
                let processes = program.processes().in_order();
                let pending = processes
                    .iter()
                    .filter(|&&p| program.status(p) == Status::Ready);
                let claims = pending.map(|&process| {
                    let mut claims = Claims::new();
                    program.claims(process, &mut claims);
                    (process.0, claims)
                });
                let claims = claims.collect();
                announced.push(claims);
            }
        });
    }
}

/// Only a step that depends on a pending step may change the claims of the pending step, enable it
/// or disable it.
#[test]
fn independent_steps_leave_pending_ones_alone() {
    for (text, mut program) in programs(60_000, 200) {
        let mut before: Vec<Vec<(u32, Status, Claims)>> = Vec::new();
        let _ = every_run(&mut program, LIMIT, &mut |program, visit| match visit {
            Visit::Complete => {}
            Visit::Leave => {
                before.pop();
            }
            Visit::Enter => {
                let mut now = Vec::new();
                for &process in program.processes().in_order() {
                    let status = program.status(process);
                    if matches!(status, Status::Ready | Status::Waiting) {
                        let mut claims = Claims::new();
                        program.claims(process, &mut claims);
                        let able = status == Status::Ready
                            || program.wait(process) != mazurka_core::Wait::Never;
                        assert!(
                            able,
                            "process {} never waits, and waits:\n{text}",
                            process.0
                        );
                        now.push((process.0, status, claims));
                    }
                }
                if let Some(event) = program.events().last() {
                    for (process, status, claims) in &before[before.len() - 1] {
                        let conflict = claims
                            .iter()
                            .any(|x| event.claims.iter().any(|y| x.conflicts(*y)));
                        if *process == event.process.0 || conflict {
                            continue;
                        }
                        let after = now.iter().find(|(other, ..)| other == process);
                        let Some((_, new_status, new_claims)) = after else {
                            panic!("process {process} lost its step:\n{text}");
                        };
                        assert_eq!(claims, new_claims, "process {process}, {event:?}:\n{text}");
                        // The end of another process enables a join, without an access.
                        let opened = (*status, *new_status) == (Status::Waiting, Status::Ready);
                        assert!(
                            status == new_status || opened,
                            "process {process} was closed by {event:?}:\n{text}"
                        );
                    }
                }
                before.push(now);
            }
        });
    }
}

/// A machine that describes its steps does not take the shortcuts that a machine takes in
/// explorations; both must make the same events. The memory of an undone event is reused, and
/// nothing of the old event may remain.
#[test]
fn a_step_is_the_same_with_and_without_narration() {
    let mut rng = Rng::new(5);
    for (text, program) in programs(60_000, 500) {
        let (mut plain, mut narrated) = (program.clone(), program);
        for _ in 0..3 {
            walk_both(&text, &mut plain, &mut narrated, &mut rng);
        }
    }
}

/// Makes a random run of `program`, repeats it in `narrated`, and undoes it.
fn walk_both(text: &str, program: &mut Machine, narrated: &mut Machine, rng: &mut Rng) {
    let mut states = vec![program.fingerprint()];
    for _ in 0..200 {
        let ready = |p: &&ProcessId| program.status(**p) == Status::Ready;
        let all = program.processes().in_order().iter();
        let ready: Vec<_> = all.filter(ready).copied().collect();
        if ready.is_empty() {
            break;
        }
        let process = ready[rng.below(ready.len())];
        let step = program.step(process, &[]).cloned();
        narrated
            .tell(process, &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(step.as_ref().ok(), narrated.events().last(), "{text}");
        assert_eq!(program.state(), narrated.state(), "{text}");
        assert_eq!(program.is_final(), narrated.is_final(), "{text}");
        states.push(program.fingerprint());
    }
    while let Some(state) = states.pop() {
        for machine in [&mut *program, &mut *narrated] {
            machine.back_to(states.len());
            assert_eq!(machine.fingerprint(), state, "{text}");
        }
        assert_eq!(program.is_final(), narrated.is_final(), "{text}");
    }
}
