//! Figures about the executions of a program: how many preemptions each needs under sc, and how
//! many executions there are if those that differ only by interchanged threads count as one.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::ControlFlow;

use mazurka_core::Limits;
use mazurka_memory::MemoryOrder::Relaxed;
use mazurka_memory::graph::{Graph, Slot};
use mazurka_memory::litmus::Litmus;
use mazurka_memory::{End, Loc, Memory, ThreadId, visit};

use crate::programs::{ainc, inc};

/// The number of events that each thread has made, and the running thread.
type Position = (Vec<usize>, usize);

fn is_made(graph: &Graph, slot: Slot, made: &[usize]) -> bool {
    slot == Slot::INITIAL || {
        let event = graph.event(slot);
        (event.index as usize) < made[event.thread.index()]
    }
}

/// Whether everything before an event in rf ∪ mo ∪ rb was made.
fn is_ready(graph: &Graph, slot: Slot, made: &[usize]) -> bool {
    let event = graph.event(slot);
    if event.kind.is_read() {
        return is_made(graph, event.rf, made);
    }
    let before = graph.write_at(event.loc, event.position - 1);
    let mut readers = graph.reads(event.loc).iter().filter(|&&read| {
        let own = graph.event(read).thread == event.thread;
        graph.event(read).rf == before && !own
    });
    is_made(graph, before, made) && readers.all(|&read| is_made(graph, read, made))
}

/// Returns the least number of preemptions that an interleaving with the rf and mo of a graph
/// needs.
fn preemptions(graph: &Graph) -> u32 {
    let threads = graph.threads() as usize;
    let events = |thread: usize| graph.thread(ThreadId(thread as u32));
    let start = (0..threads).map(|thread| (vec![0; threads], thread));
    let mut open: VecDeque<(u32, Position)> = start.map(|it| (0, it)).collect();
    let mut known = HashSet::new();
    while let Some((cost, (made, current))) = open.pop_front() {
        if !known.insert((made.clone(), current)) {
            continue;
        }
        if (0..threads).all(|thread| made[thread] == events(thread).len()) {
            return cost;
        }
        match events(current).get(made[current]) {
            Some(&next) if is_ready(graph, next, &made) => {
                let mut made = made.clone();
                made[current] += 1;
                open.push_front((cost, (made, current)));
            }
            _ => {}
        }
        let finished = made[current] == events(current).len();
        for other in (0..threads).filter(|&other| other != current) {
            let next = (made.clone(), other);
            if finished || made[current] == 0 {
                open.push_front((cost, next))
            } else {
                open.push_back((cost + 1, next))
            }
        }
    }
    unreachable!("an execution under sc has an interleaving")
}

#[test]
fn preemption_bounds() {
    let mut needed = Vec::new();
    let mut visitor = |end: &mut End<'_, Litmus>| {
        needed.push(preemptions(end.graph()));
        ControlFlow::Continue(())
    };
    visit(inc(4), Memory::Sc, &Limits::default(), &mut visitor);
    let within = |bound| needed.iter().filter(|&&it| it <= bound).count();
    assert_eq!([0, 1, 2, 3].map(within), [24, 168, 432, 576]);
}

/// The threads are identical, so executions differ only by their order in mo.
#[test]
fn symmetric_increments() {
    let mut orders = BTreeSet::new();
    let mut up_to_names = BTreeSet::new();
    let mut visitor = |end: &mut End<'_, Litmus>| {
        let graph = end.graph();
        let mo = graph.mo(Loc(0)).iter().map(|&slot| graph.event(slot));
        let order: Vec<_> = mo.clone().map(|event| event.thread).collect();
        let values: Vec<_> = mo.map(|event| event.value).collect();
        orders.insert(order);
        up_to_names.insert(values);
        ControlFlow::Continue(())
    };
    visit(
        ainc(5, Relaxed),
        Memory::Rc11,
        &Limits::default(),
        &mut visitor,
    );
    assert_eq!((orders.len(), up_to_names.len()), (120, 1));
}
