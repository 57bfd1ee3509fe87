//! Tests that changed proofs are rejected: each field of a proof is changed at some place, and the
//! checker must reject every change.

use std::sync::Arc;

use crate::common::{checked, options, search};
use mazurka_core::proof::{
    EventRecord, GoalAnswer, GoalRecord, LeafRecord, Proof, Rule, RuleRecord, StepRecord,
};

/// A program with a bounded loop. Its proof merges goals, and asks questions where all threads have
/// ended.
const BOUNDED: &str = "
    var i, m, x, p: i8
    process { while (i < m)[1] { x := x * i; i := i + 1 } }
    process { if i == m { p := x } else { p := -1 } }";

/// A program with a lock, a spawned process, and an invariant.
const STARTED: &str = "
    var x, y: i8 = 0
    lock m
    invariant x <= 2
    process { let h = spawn { lock(m); x := x + 1; unlock(m) }; y := 1; join h; assert y == 1 }
    process { lock(m); x := x + 1; unlock(m) }";

const HANDOVER: &str = "
    var data: i32 = 0 var flag: bool = false
    process { data := 42; flag := true }
    process { while !flag { }; data := data + 1 }";

const COUNTER: &str = "
    var c: i8 = 0 var n: i8
    requires n >= 0
    process { while c < n invariant 0 <= c && c <= n { c := c + 1 } }";

const TWO: &str = "
    var c, a, b: i8 = 0 lock m
    process { while true invariant c == a + b { lock(m); c := c + 1; a := a + 1; unlock(m) } }
    process { while c < 9 invariant c == a + b { lock(m); c := c + 1; b := b + 1; unlock(m) } }";

const BOXES: &str = "var x: i8 process p { x := x + 1 } process q { x := x + 1 }";

/// A change of a goal. A goal without the changed part stays the same.
type GoalChange = (&'static str, fn(&mut GoalRecord));

/// Changes of one goal, each with a description.
const GOAL_CHANGES: &[GoalChange] = &[
    // Another rule.
    ("merged with the first", |goal| {
        goal.rule = RuleRecord::Merge { to: 0 }
    }),
    ("merged with the one before", |goal| {
        goal.rule = RuleRecord::Merge {
            to: goal.id.saturating_sub(1),
        };
    }),
    ("back to itself", |goal| goal.rule = back(goal.id)),
    ("back to the first", |goal| goal.rule = back(0)),
    ("back to the one before", |goal| {
        // A merged goal is also an instance of the goal that it is merged with. If it is merged
        // with the preceding goal, this change would give a valid proof.
        if !matches!(goal.rule, RuleRecord::Merge { .. }) {
            goal.rule = back(goal.id.saturating_sub(1));
        }
    }),
    ("reduced to nothing", |goal| {
        goal.rule = RuleRecord::Reduce {
            leaves: Vec::new(),
            goals: Vec::new(),
        };
    }),
    ("scheduled without a step", |goal| {
        goal.rule = RuleRecord::Schedule {
            steps: Vec::new(),
            deadlock: None,
        };
    }),
    ("closed", |goal| {
        goal.rule = RuleRecord::Close { leaf: easy() }
    }),
    ("open", |goal| {
        goal.rule = RuleRecord::Open { why: String::new() }
    }),
    // Another sequent.
    ("another number", |goal| goal.id += 1),
    ("another context", |goal| goal.context += 1),
    ("more assumed", |goal| {
        goal.condition.push("x == 0".to_owned())
    }),
    ("less assumed", |goal| drop(goal.condition.pop())),
    ("other values", |goal| {
        goal.substitution
            .iter_mut()
            .for_each(|(_, value)| value.push('0'));
    }),
    ("a value less", |goal| drop(goal.substitution.pop())),
    ("another bound", |goal| {
        let hidden = goal
            .substitution
            .iter_mut()
            .filter(|(name, _)| name.contains('$'));
        hidden.for_each(|(_, value)| value.push('0'));
    }),
    ("a thread less", |goal| drop(goal.pool.pop())),
    ("a thread elsewhere", |goal| {
        goal.pool
            .iter_mut()
            .for_each(|thread| drop(thread.work.pop()));
    }),
    ("another thread", |goal| {
        goal.pool
            .iter_mut()
            .for_each(|thread| thread.process.push('7'));
    }),
    ("a lock more", |goal| {
        goal.locks.push(("m".to_owned(), "1".to_owned()))
    }),
    ("a lock less", |goal| drop(goal.locks.pop())),
    // Another path.
    ("a step less on the path", |goal| drop(goal.path.pop())),
    ("the first step off the path", |goal| {
        if !goal.path.is_empty() {
            goal.path.remove(0);
        }
    }),
    ("a step twice on the path", |goal| {
        goal.path.extend(goal.path.last().cloned())
    }),
    ("a path in another order", |goal| goal.path.reverse()),
    ("a step by another process", |goal| {
        last(goal, |event| event.process.push('7'))
    }),
    ("a step that writes more", |goal| {
        last(goal, |event| event.writes.push("z".to_owned()))
    }),
    ("a step that reads more", |goal| {
        last(goal, |event| event.reads.push("z".to_owned()))
    }),
    ("a step that writes less", |goal| {
        last(goal, |event| drop(event.writes.pop()))
    }),
    ("a step that reads less", |goal| {
        last(goal, |event| drop(event.reads.pop()))
    }),
    ("a step that starts more", |goal| {
        last(goal, |event| event.spawned.push("0.9".to_owned()))
    }),
    ("a step that starts no process", |goal| {
        last(goal, |event| event.spawned.clear())
    }),
    ("a step that joins no process", |goal| {
        last(goal, |event| event.joined.clear())
    }),
    // Another application of the rule.
    ("another target", |goal| match &mut goal.rule {
        RuleRecord::Merge { to } | RuleRecord::Back { to, .. } => *to += 1,
        RuleRecord::Generalise { to, .. } => *to += 1,
        RuleRecord::Schedule { steps, .. } => {
            steps
                .iter_mut()
                .flat_map(|step| &mut step.ways)
                .for_each(|way| way.to += 1);
        }
        RuleRecord::Reduce { goals, .. } => goals.iter_mut().for_each(|to| *to += 1),
        RuleRecord::Close { .. } | RuleRecord::Open { .. } => {}
    }),
    ("targets in another order", |goal| {
        let mut ways: Vec<&mut usize> = match &mut goal.rule {
            RuleRecord::Schedule { steps, .. } => {
                let ways = steps.iter_mut().flat_map(|step| &mut step.ways);
                ways.map(|way| &mut way.to).collect()
            }
            _ => Vec::new(),
        };
        if let [first, .., last] = &mut ways[..] {
            std::mem::swap(*first, *last);
        }
    }),
    ("a step by another rule", |goal| {
        steps(goal, |step| {
            step.rule = if step.rule == Rule::Spent {
                Rule::While
            } else {
                Rule::Spent
            }
        });
    }),
    ("steps by other processes", |goal| {
        steps(goal, |step| step.process.push('7'))
    }),
    ("a thread that makes no step", |goal| {
        if let RuleRecord::Schedule { steps, .. } = &mut goal.rule {
            steps.pop();
        }
    }),
    ("a way less", |goal| {
        steps(goal, |step| drop(step.ways.pop()))
    }),
    ("a way twice", |goal| {
        steps(goal, |step| step.ways.extend(step.ways.last().cloned()))
    }),
    ("an invariant less", |goal| {
        steps(goal, |step| {
            step.ways.iter_mut().for_each(|way| drop(way.leaves.pop()))
        });
    }),
    ("a step that may go wrong", |goal| {
        steps(goal, |step| drop(step.leaves.pop()))
    }),
    ("no question about deadlocks", |goal| {
        if let RuleRecord::Schedule { deadlock, .. } = &mut goal.rule {
            *deadlock = None;
        }
    }),
    ("a value more is replaced", |goal| {
        if let RuleRecord::Generalise { values, .. } = &mut goal.rule {
            values.push("nothing".to_owned());
        }
    }),
    ("a value less is replaced", |goal| {
        if let RuleRecord::Generalise { values, .. } = &mut goal.rule {
            values.pop();
        }
    }),
    // Other questions.
    ("a question less", |goal| {
        if let Some(leaves) = leaves(&mut goal.rule) {
            leaves.pop();
        }
    }),
    ("a question twice", |goal| {
        if let Some(leaves) = leaves(&mut goal.rule) {
            leaves.extend(leaves.first().cloned());
        }
    }),
    ("another question", |goal| {
        change_first_leaf(&mut goal.rule, |leaf| leaf.must.push('!'))
    }),
    ("a question about something else", |goal| {
        change_first_leaf(&mut goal.rule, |leaf| leaf.what.push('!'))
    }),
    ("a question somewhere else", |goal| {
        change_first_leaf(&mut goal.rule, |leaf| {
            leaf.place = Some(leaf.place.map_or((1, 1), |(l, c)| (l + 1, c)))
        });
    }),
    ("a question without an answer", |goal| {
        change_first_leaf(&mut goal.rule, |leaf| {
            leaf.answer = GoalAnswer::Unknown(String::new())
        });
    }),
    ("a question with the answer no", |goal| {
        change_first_leaf(&mut goal.rule, |leaf| {
            leaf.answer = GoalAnswer::Refuted(Vec::new())
        });
    }),
];

fn back(to: usize) -> RuleRecord {
    let leaves = Vec::new();
    RuleRecord::Back { leaves, to }
}

/// Returns a question that is recorded as proved.
fn easy() -> LeafRecord {
    LeafRecord {
        what: "what is assumed cannot be".to_owned(),
        place: None,
        must: "false".to_owned(),
        answer: GoalAnswer::Proved,
    }
}

fn last(goal: &mut GoalRecord, change: impl Fn(&mut EventRecord)) {
    let last = goal.path.last_mut().map(Arc::make_mut);
    last.into_iter().for_each(change);
}

fn steps(goal: &mut GoalRecord, change: impl Fn(&mut StepRecord)) {
    if let RuleRecord::Schedule { steps, .. } = &mut goal.rule {
        steps.iter_mut().for_each(change);
    }
}

fn leaves(rule: &mut RuleRecord) -> Option<&mut Vec<LeafRecord>> {
    match rule {
        RuleRecord::Reduce { leaves, .. }
        | RuleRecord::Generalise { leaves, .. }
        | RuleRecord::Back { leaves, .. } => Some(leaves),
        _ => None,
    }
}

/// Changes the first question of a rule.
fn change_first_leaf(rule: &mut RuleRecord, change: impl Fn(&mut LeafRecord)) {
    match rule {
        RuleRecord::Close { leaf } => change(leaf),
        RuleRecord::Schedule { steps, deadlock } => {
            let ways = steps.iter_mut().flat_map(|step| {
                let ways = step.ways.iter_mut().flat_map(|way| &mut way.leaves);
                step.leaves.iter_mut().chain(ways)
            });
            ways.chain(deadlock).take(1).for_each(change);
        }
        other => leaves(other).into_iter().flatten().take(1).for_each(change),
    }
}

/// A change of a proof, with its description.
type ProofChange = (&'static str, fn(&mut Proof));

/// Changes of the parts of a proof outside its goals, and of the list of goals.
const PROOF_CHANGES: &[ProofChange] = &[
    ("another version", |proof| proof.version += 1),
    ("another program", |proof| proof.program.hash.push('0')),
    ("another goal", |proof| {
        proof.goal = Some("[*] true".to_owned())
    }),
    ("no goal", |proof| proof.goal = None),
    ("about deadlocks or not", |proof| {
        proof.deadlock = !proof.deadlock
    }),
    ("more is known", |proof| {
        proof
            .contexts
            .iter_mut()
            .for_each(|c| c.known.push("false".to_owned()))
    }),
    ("less is known", |proof| {
        proof.contexts.iter_mut().for_each(|c| drop(c.known.pop()))
    }),
    ("a process less", |proof| {
        proof
            .contexts
            .iter_mut()
            .for_each(|c| drop(c.processes.pop()))
    }),
    ("a box more", |proof| {
        proof.contexts.extend(proof.contexts.first().cloned())
    }),
    ("a box less", |proof| drop(proof.contexts.pop())),
    ("a root less", |proof| {
        proof.roots.pop();
    }),
    ("a root twice", |proof| {
        proof.roots.extend(proof.roots.last().copied())
    }),
    ("a root that is not there", |proof| {
        proof.roots.push(1_000_000)
    }),
    ("another root", |proof| {
        proof.roots.iter_mut().for_each(|root| *root += 1)
    }),
    ("a question more", |proof| proof.leaves.push(easy())),
    ("a question less", |proof| drop(proof.leaves.pop())),
    ("a goal less", |proof| drop(proof.goals.pop())),
    ("the first goal is missing", |proof| {
        drop(proof.goals.remove(0))
    }),
    ("a goal twice", |proof| {
        proof.goals.extend(proof.goals.last().cloned())
    }),
    ("goals in another order", |proof| proof.goals.reverse()),
    ("no goals", |proof| proof.goals.clear()),
];

fn rejected(source: &str, goal: &str) -> usize {
    let found = search(source, Some(goal), &options());
    let proof = found.proof;
    assert!(proof.is_closed(), "{goal}\n{source}");
    assert!(checked(source, Some(goal), &proof), "{goal}\n{source}");
    let mut mutants = 0;
    let mut must_fail = |mutant: Proof, change: &str, at: &dyn std::fmt::Display| {
        if mutant != proof {
            mutants += 1;
            let passes = checked(source, Some(goal), &mutant);
            assert!(!passes, "goal {at}, {change}: it passes\n{goal}\n{source}");
        }
    };
    for (change, work) in PROOF_CHANGES {
        let mut mutant = proof.clone();
        work(&mut mutant);
        must_fail(mutant, change, &"");
    }
    // Change the first goal of each rule, and some others.
    let mut seen = Vec::new();
    let some = proof.goals.len() / 4;
    for (at, goal) in proof.goals.iter().enumerate() {
        let name = goal.rule.name();
        if seen.contains(&name) && (some == 0 || at % some != 1) {
            continue;
        }
        seen.push(name);
        for (change, work) in GOAL_CHANGES {
            let mut mutant = proof.clone();
            work(&mut mutant.goals[at]);
            must_fail(mutant, change, &at);
        }
    }
    mutants
}

#[test]
fn changed_proofs_are_rejected() {
    let mutants = [
        (BOUNDED, "i == 0 && m == 1 ==> [*] p == x || p == -1"),
        (STARTED, "[*] x == 2 && y == 1"),
        (HANDOVER, "[*] data == 43"),
        (COUNTER, "[*] c == n"),
        (TWO, "[*] false"),
        (BOXES, "x == 0 && 1 < 2 ==> [p] (x == 1 && [q] x == 2)"),
    ];
    let mutants: Vec<usize> = mutants
        .map(|(source, goal)| rejected(source, goal))
        .to_vec();
    println!("{mutants:?} mutants");
    assert!(mutants.iter().sum::<usize>() > 800, "{mutants:?}");
}
