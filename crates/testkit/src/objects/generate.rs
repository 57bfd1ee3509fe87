//! Two generators of objects: [`scrambled`] makes operations of random steps; [`weakened`] makes
//! well-known objects and leaves out a part of their synchronisation.

use super::{Action, Object, Op, Part, Sum, Target, Test, Value};
use crate::Rng;

fn is(value: Value, is: i64) -> Test {
    Test {
        value,
        is,
        equal: true,
    }
}

fn set(target: Target, sum: Sum) -> Action {
    Action::Set(target, sum)
}

const fn plain(value: Value) -> Sum {
    (value, 0)
}

/// Makes an object, with numbers of clients and calls that brute force can handle.
fn sized(ops: Vec<Op>, access: bool, rng: &mut Rng) -> Object {
    let choices: i64 = ops.iter().map(|op| op.args.max(1)).sum();
    let sizes: &[(usize, usize)] = match choices {
        ..=2 => &[(2, 2), (3, 1), (2, 1)],
        3 => &[(2, 2), (3, 1), (2, 1), (2, 1)],
        _ => &[(2, 1), (2, 1), (3, 1)],
    };
    let (clients, calls) = *rng.pick(sizes).expect("not empty");
    Object {
        ops,
        clients,
        calls,
        access,
    }
}

fn any_value(rng: &mut Rng, args: i64) -> Value {
    match rng.below(6) {
        0 => Value::Const(rng.below(3) as i64),
        1 | 2 => Value::Shared(rng.below(2)),
        3 if args > 0 => Value::Arg,
        _ => Value::Local(rng.below(2)),
    }
}

fn any_target(rng: &mut Rng) -> Target {
    if rng.percent(60) {
        Target::Shared(rng.below(2))
    } else {
        Target::Local(rng.below(2))
    }
}

fn any_action(rng: &mut Rng, args: i64) -> Action {
    if rng.percent(25) {
        let mut test = is(any_value(rng, args), rng.below(2) as i64);
        test.equal = rng.percent(60);
        let then = vec![any_set(rng, args)];
        let other = if rng.percent(50) {
            vec![any_set(rng, args)]
        } else {
            Vec::new()
        };
        return Action::If(test, then, other);
    }
    any_set(rng, args)
}

fn any_set(rng: &mut Rng, args: i64) -> Action {
    let target = any_target(rng);
    let value = any_value(rng, args);
    set(target, (value, i64::from(rng.percent(30))))
}

/// Makes operations of random steps. The specification is the same steps executed alone, often with
/// a change.
pub fn scrambled(seed: u64) -> Object {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let count = 1 + rng.below(2);
    let mut ops = Vec::new();
    for _ in 0..count {
        let args = *rng.pick(&[0, 0, 2]).expect("not empty");
        let mut parts = Vec::new();
        // Many operations read a variable first, and finally write a value that depends on it.
        let (from, to) = (rng.below(2), rng.below(2));
        let careful = rng.percent(70);
        if careful {
            let read = set(Target::Local(0), plain(Value::Shared(from)));
            parts.push(Part::Step(None, vec![read]));
        }
        for _ in 0..1 + rng.below(2) {
            match rng.below(10) {
                0 => {
                    let waits = is(Value::Shared(rng.below(2)), rng.below(2) as i64);
                    let actions = (0..rng.below(2)).map(|_| any_action(rng, args)).collect();
                    parts.push(Part::Step(Some(waits), actions));
                }
                1 => {
                    let test = is(Value::Local(rng.below(2)), rng.below(2) as i64);
                    parts.push(Part::ReturnIf(test, plain(Value::Const(7))));
                }
                _ => {
                    let actions = (0..1 + rng.below(2)).map(|_| any_action(rng, args));
                    parts.push(Part::Step(None, actions.collect()));
                }
            }
        }
        if careful {
            let value = if args > 0 && rng.percent(50) {
                plain(Value::Arg)
            } else {
                (Value::Local(0), 1)
            };
            parts.push(Part::Step(None, vec![set(Target::Shared(to), value)]));
        }
        let result = if rng.percent(80) {
            plain(Value::Local(usize::from(rng.percent(20))))
        } else {
            plain(Value::Const(0))
        };
        parts.push(Part::Return(result));
        let mut spec = parts.clone();
        if rng.percent(15) {
            let at = rng.below(spec.len());
            spec.insert(at, Part::Step(None, vec![any_action(rng, args)]));
        }
        // Often the operation is made a single step, so that it is linearizable.
        if rng.percent(30) {
            let whole = parts
                .iter()
                .all(|part| matches!(part, Part::Step(None, _)) || is_last(part));
            if whole {
                let actions = parts.iter().flat_map(|part| match part {
                    Part::Step(_, actions) => actions.clone(),
                    _ => Vec::new(),
                });
                parts = vec![Part::Step(None, actions.collect()), Part::Return(result)];
            }
        }
        ops.push(Op { args, parts, spec });
    }
    sized(ops, false, rng)
}

fn is_last(part: &Part) -> bool {
    matches!(part, Part::Return(_))
}

/// Makes a register, a counter, a flag that is taken once, a queue of two places or a stack. Each
/// operation is a single step, is protected by a lock, retries compare-and-exchange in a loop, or
/// has no protection; sometimes part of the protection is left out.
pub fn weakened(seed: u64) -> Object {
    let mut rng = Rng::new(seed);
    let rng = &mut rng;
    let (local, other) = (Target::Local(0), Target::Local(1));
    let x = Target::Shared(0);
    let read = || set(local, plain(Value::Shared(0)));
    // For each operation: its number of arguments, its actions in one step, and its result.
    let mut all: Vec<(i64, Vec<Action>, Sum)> = match rng.below(5) {
        0 => vec![
            (
                2,
                vec![read(), set(x, plain(Value::Arg))],
                plain(Value::Local(0)),
            ),
            (0, vec![read()], plain(Value::Local(0))),
        ],
        1 => vec![
            (
                0,
                vec![read(), set(x, (Value::Local(0), 1))],
                plain(Value::Local(0)),
            ),
            (0, vec![read()], plain(Value::Local(0))),
        ],
        2 => vec![(
            0,
            vec![read(), set(x, plain(Value::Const(1)))],
            plain(Value::Local(0)),
        )],
        3 => queue(true),
        _ => queue(false),
    };
    if all.len() > 1 && rng.percent(20) {
        let at = rng.below(all.len());
        all.remove(at);
    }
    let style = *rng.pick(&[0, 1, 1, 2, 2, 3]).expect("not empty");
    let forgets = rng.percent(60);
    let free = Value::Shared(3);
    let ops = all.into_iter().map(|(args, actions, result)| {
        let spec = vec![Part::Step(None, actions.clone()), Part::Return(result)];
        let mut parts: Vec<Part> = Vec::new();
        let apart = |actions: &[Action]| -> Vec<Part> {
            let one = |action: &Action| Part::Step(None, vec![action.clone()]);
            actions.iter().map(one).collect()
        };
        match style {
            0 => parts.push(Part::Step(None, actions)),
            1 => {
                let locked = !(forgets && rng.percent(60));
                if locked {
                    let take = vec![set(Target::Shared(3), plain(Value::Const(1)))];
                    parts.push(Part::Step(Some(is(free, 0)), take));
                }
                parts.extend(apart(&actions));
                if locked {
                    let give = vec![set(Target::Shared(3), plain(Value::Const(0)))];
                    parts.push(Part::Step(None, give));
                }
            }
            2 if actions.len() == 2 => {
                // Read, then write if the value is unchanged. The value may have changed back in
                // between.
                let mut tried = vec![apart(&actions[..1])[0].clone()];
                let done = set(other, plain(Value::Const(1)));
                let again = set(other, plain(Value::Const(0)));
                let same = |number: i64| is(Value::Shared(0), number);
                let exchange = |number: i64, rest: Action| {
                    let right = Action::If(
                        is(Value::Local(0), number),
                        vec![actions[1].clone(), done.clone()],
                        vec![again.clone()],
                    );
                    Action::If(same(number), vec![right], vec![rest])
                };
                let rest = if forgets { done.clone() } else { again.clone() };
                let all = (0..5)
                    .rev()
                    .fold(rest, |rest, number| exchange(number, rest));
                tried.push(Part::Step(None, vec![all]));
                parts.push(Part::Until(is(Value::Local(1), 1), tried));
            }
            _ => parts.extend(if rng.percent(50) {
                apart(&actions)
            } else {
                vec![Part::Step(None, actions)]
            }),
        }
        parts.push(Part::Return(result));
        Op { args, parts, spec }
    });
    let ops: Vec<Op> = ops.collect();
    let single = |part: &Part| match part {
        Part::Step(None, actions) => {
            matches!(&actions[..], [Action::Set(target, (from, _))]
                if !(matches!(target, Target::Shared(_)) && matches!(from, Value::Shared(_))))
        }
        Part::Step(Some(_), _) | Part::Return(_) | Part::ReturnIf(..) => true,
        Part::Until(..) => false,
    };
    let access = ops.iter().all(|op| op.parts.iter().all(single)) && rng.percent(50);
    sized(ops, access, rng)
}

/// Returns a queue or a stack of two places: s0 has the number of elements, s1 and s2 have the
/// elements. Putting a number in returns whether there was room; taking one out returns it plus
/// one, or 0 if there is none.
fn queue(first_in_first_out: bool) -> Vec<(i64, Vec<Action>, Sum)> {
    let (result, count) = (Target::Local(0), Target::Shared(0));
    let here = |at: usize| Target::Shared(1 + at);
    let size = |number: i64| is(Value::Shared(0), number);
    let put_at = |at: usize| {
        vec![
            set(here(at), (Value::Arg, 1)),
            set(count, plain(Value::Const(at as i64 + 1))),
            set(result, plain(Value::Const(1))),
        ]
    };
    let put = vec![Action::If(
        size(0),
        put_at(0),
        vec![Action::If(
            size(1),
            put_at(1),
            vec![set(result, plain(Value::Const(0)))],
        )],
    )];
    let take_at = |at: usize, left: i64| {
        let mut all = vec![set(result, plain(Value::Shared(1 + at)))];
        if first_in_first_out {
            all.push(set(here(0), plain(Value::Shared(2))));
        }
        all.push(set(
            here(if first_in_first_out { 1 } else { at }),
            plain(Value::Const(0)),
        ));
        all.push(set(count, plain(Value::Const(left))));
        all
    };
    let last = if first_in_first_out { 0 } else { 1 };
    let take = vec![Action::If(
        size(0),
        vec![set(result, plain(Value::Const(0)))],
        vec![Action::If(size(1), take_at(0, 0), take_at(last, 1))],
    )];
    let result = plain(Value::Local(0));
    vec![(2, put, result), (0, take, result)]
}
