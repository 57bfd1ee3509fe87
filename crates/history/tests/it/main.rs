//! Compares the search with an enumeration of all orders, on random histories of a register, a
//! queue, a stack and a set.

use std::collections::BTreeSet;

use mazurka_history::{History, Operation, OperationId, Recorded, Verdict};

/// A reproducible sequence of numbers (Steele, Lea, Flood, OOPSLA 2014).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Put(usize),
    Take,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Register,
    Queue,
    Stack,
    Set,
}

const KINDS: [Kind; 4] = [Kind::Register, Kind::Queue, Kind::Stack, Kind::Set];

type State = Vec<usize>;
type Answer = Option<usize>;

fn apply(kind: Kind, state: &mut State, name: &Name) -> Answer {
    match (kind, *name) {
        (Kind::Register, Name::Put(value)) => {
            *state = vec![value];
            None
        }
        (Kind::Register, Name::Take) => state.last().copied(),
        (Kind::Set, Name::Put(value)) => {
            let new = !state.contains(&value);
            state.push(value);
            state.sort_unstable();
            state.dedup();
            Some(usize::from(new))
        }
        (Kind::Set, Name::Take) => Some(state.len()),
        (_, Name::Put(value)) => {
            state.push(value);
            None
        }
        (Kind::Queue, Name::Take) => (!state.is_empty()).then(|| state.remove(0)),
        (Kind::Stack, Name::Take) => state.pop(),
    }
}

/// Makes random calls and ends, with results that are correct or differ slightly.
fn random(numbers: &mut Numbers, kind: Kind) -> History<Name, Answer> {
    let mut history = History::new();
    let mut open: Vec<(OperationId, Name)> = Vec::new();
    let mut state = State::new();
    let by_time = numbers.below(3) > 0;
    for _ in 0..3 + numbers.below(8) {
        let processes: BTreeSet<usize> = open
            .iter()
            .map(|(id, _)| history.operation(*id).process)
            .collect();
        let process = numbers.below(3);
        let called = history.operations().count();
        if called < 6 && !processes.contains(&process) && numbers.below(2) == 0 {
            let name = match numbers.below(2) {
                0 => Name::Put(numbers.below(3)),
                _ => Name::Take,
            };
            let before = |_: OperationId, earlier: &Operation<Name, Answer>| {
                by_time || earlier.process == process
            };
            let id = history
                .call_after(process, name, before)
                .expect("few operations");
            open.push((id, name));
        } else if !open.is_empty() {
            let (id, name) = open.remove(numbers.below(open.len()));
            let right = apply(kind, &mut state, &name);
            let result = match numbers.below(6) {
                0 => right.map(|value| value ^ 1),
                1 => None,
                _ => right,
            };
            history.end(id, result);
        }
    }
    history
}

/// Whether an order explains the results of these operations.
fn explains(
    history: &History<Name, Answer>,
    kind: Kind,
    ended: &[OperationId],
    order: &[OperationId],
) -> bool {
    let mut state = State::new();
    order.iter().all(|&id| {
        let operation = history.operation(id);
        let answer = apply(kind, &mut state, &operation.name);
        !ended.contains(&id) || operation.result == Some(answer)
    })
}

/// Whether `order` can be continued to a good order that contains all operations in `ended`, and
/// possibly operations that have not ended.
fn some_order(
    ordered: &OrderedHistory,
    ended: &[OperationId],
    order: &mut Vec<OperationId>,
    good: &dyn Fn(&[OperationId]) -> bool,
) -> bool {
    if ended.iter().all(|id| order.contains(id)) && good(order) {
        return true;
    }
    let all = ordered.history.operations().map(|(id, _)| id);
    all.collect::<Vec<_>>().into_iter().any(|id| {
        let before = &ordered.before[id.index()];
        if order.contains(&id) || !before.iter().all(|b| order.contains(b)) {
            return false;
        }
        order.push(id);
        let found = some_order(ordered, ended, order, good);
        order.pop();
        found
    })
}

/// A history, with the operations that come before each operation.
struct OrderedHistory {
    history: History<Name, Answer>,
    before: Vec<Vec<OperationId>>,
}

/// Repeats the calls and ends of a history, in their order, and records the operations that come
/// before each operation. `by_time`: whether these are all ended operations, or only those of the
/// same process.
fn with_order(
    history: &History<Name, Answer>,
    by_time: bool,
    events: &[(bool, OperationId)],
) -> OrderedHistory {
    let mut again = History::new();
    let mut before: Vec<Vec<OperationId>> = Vec::new();
    for &(called, id) in events {
        let operation = history.operation(id);
        if called {
            let comes = |_: OperationId, earlier: &Operation<Name, Answer>| {
                by_time || earlier.process == operation.process
            };
            before.push(
                again
                    .operations()
                    .filter(|(id, earlier)| earlier.result.is_some() && comes(*id, earlier))
                    .map(|(id, _)| id)
                    .collect(),
            );
            again
                .call_after(operation.process, operation.name, comes)
                .expect("few operations");
        } else {
            again.end(id, operation.result.expect("it has ended"));
        }
    }
    OrderedHistory {
        history: again,
        before,
    }
}

#[test]
fn agrees_with_all_orders() {
    let programs: u64 = std::env::var("MAZURKA_PROGRAMS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_000);
    let (mut yes, mut no) = (0, 0);
    for seed in 0..programs {
        let mut numbers = Numbers(seed);
        let kind = KINDS[numbers.below(KINDS.len())];
        let history = random(&mut numbers, kind);
        // Read the order of calls and ends from the chart, which has a line for each operation.
        let chart = history.to_string();
        let mut events: Vec<(usize, bool, OperationId)> = Vec::new();
        for ((id, operation), line) in history.operations().zip(chart.lines()) {
            let place = |mark: char| line.chars().position(|c| c == mark);
            events.push((place('├').expect("a call"), true, id));
            if operation.result.is_some() {
                events.push((place('┤').expect("an end"), false, id));
            }
        }
        events.sort_unstable();
        let events: Vec<(bool, OperationId)> = events
            .into_iter()
            .map(|(_, called, id)| (called, id))
            .collect();
        for by_time in [true, false] {
            let ordered = with_order(&history, by_time, &events);
            let OrderedHistory { history, before } = &ordered;
            let ends = |until: usize| -> Vec<OperationId> {
                let ends = events[..until].iter().filter(|(called, _)| !called);
                ends.map(|(_, id)| *id).collect()
            };
            let right = |until: usize| {
                let ended = ends(until);
                let good = |order: &[OperationId]| explains(history, kind, &ended, order);
                some_order(&ordered, &ended, &mut Vec::new(), &good)
            };
            let verdict = history.linearize(&State::new(), |s, name| apply(kind, s, name));
            match &verdict {
                Verdict::Order(order) => {
                    yes += 1;
                    assert!(right(events.len()), "{seed} {kind:?} {by_time}\n{history}");
                    let all = ends(events.len());
                    assert!(
                        explains(history, kind, &all, order),
                        "{seed}\n{history}{order:?}"
                    );
                    for (at, id) in order.iter().enumerate() {
                        let earlier = &before[id.index()];
                        assert!(earlier.iter().all(|b| order[..at].contains(b)), "{seed}");
                    }
                }
                Verdict::Impossible { since } => {
                    no += 1;
                    assert!(!right(events.len()), "{seed} {kind:?} {by_time}\n{history}");
                    let end = events
                        .iter()
                        .position(|happened| *happened == (false, *since));
                    let end = end.expect("it has ended");
                    assert!(right(end) && !right(end + 1), "{seed} {kind:?}\n{history}");
                }
                Verdict::Undecided => panic!("{seed}: few operations"),
            }
        }
    }
    assert!(yes > programs / 5 && no > programs / 5, "{yes} {no}");
}

#[test]
fn many_operations_are_decided_or_reported_as_too_many() {
    // 40 operations overlap; they have the same results in every order, and lead to the same state.
    let mut history = History::new();
    let ids: Vec<OperationId> = (0..40)
        .map(|n| history.call(n, Name::Put(1)).unwrap())
        .collect();
    for &id in &ids {
        history.end(id, None);
    }
    let verdict = history.linearize(&State::new(), |s, name| apply(Kind::Register, s, name));
    assert!(matches!(verdict, Verdict::Order(order) if order.len() == 40));
    // Forty pushes of different values, and a pop of a value that was never pushed.
    let mut history = History::new();
    let ids: Vec<OperationId> = (0..40)
        .map(|n| history.call(n, Name::Put(n)).unwrap())
        .collect();
    for &id in &ids {
        history.end(id, None);
    }
    let pop = history.call(0, Name::Take).unwrap();
    history.end(pop, Some(99));
    let verdict = history.linearize(&State::new(), |s, name| apply(Kind::Stack, s, name));
    assert_eq!(verdict, Verdict::Undecided);
}

/// The history made from the records of the processes has the same verdict as the history by a
/// clock.
#[test]
fn records_of_processes_give_the_same_verdict() {
    let (mut yes, mut no) = (0, 0);
    for seed in 0..2_000 {
        let mut numbers = Numbers(seed);
        let kind = KINDS[numbers.below(KINDS.len())];
        let mut clock = History::new();
        let mut written: [Vec<Recorded<Name, Answer>>; 3] = Default::default();
        let mut open: [Option<(OperationId, Recorded<Name, Answer>)>; 3] = Default::default();
        let mut state = State::new();
        for _ in 0..4 + numbers.below(9) {
            let process = numbers.below(3);
            if let Some((id, one)) = open[process].take() {
                clock.end(id, one.result);
                written[process].push(one);
                continue;
            }
            let name = match numbers.below(2) {
                0 => Name::Put(numbers.below(3)),
                _ => Name::Take,
            };
            let right = apply(kind, &mut state, &name);
            let result = match numbers.below(8) {
                0 => right.map(|value| value ^ 1),
                _ => right,
            };
            let before = written.iter().map(Vec::len).collect();
            let id = clock.call(process, name).expect("few operations");
            open[process] = Some((
                id,
                Recorded {
                    name,
                    result,
                    before,
                },
            ));
        }
        for process in 0..3 {
            if let Some((id, one)) = open[process].take() {
                clock.end(id, one.result);
                written[process].push(one);
            }
        }
        let together = History::of_processes(written.to_vec()).expect("few operations");
        let decide = |history: &History<Name, Answer>| {
            let verdict = history.linearize(&State::new(), |s, name| apply(kind, s, name));
            matches!(verdict, Verdict::Order(_))
        };
        let right = decide(&clock);
        assert_eq!(
            decide(&together),
            right,
            "{seed} {kind:?}\n{clock}\n{together}"
        );
        // Both texts have the same sentences, in any order.
        let sentences = |history: &History<Name, Answer>| {
            let text = history.tell(|process| process.to_string());
            let lines = text.lines().map(|line| {
                let words = line.split([' ', ',']).map(ToOwned::to_owned);
                let mut words: Vec<String> = words.collect();
                words.sort();
                words
            });
            let mut lines: Vec<Vec<String>> = lines.collect();
            lines.sort();
            lines
        };
        assert_eq!(sentences(&together), sentences(&clock), "{seed}");
        (yes, no) = if right { (yes + 1, no) } else { (yes, no + 1) };
    }
    assert!(yes > 400 && no > 100, "{yes} {no}");
}
