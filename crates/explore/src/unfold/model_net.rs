//! The model of a program as a Petri net.
//!
//! Thesis, section 7.2 (Fig. 7.2 to 7.4). A stateful net is an unfolding of the model, so every
//! transition of the model that can happen is the label of an event. Merging the events with equal
//! labels yields the model. A lock has one place, which is marked while the lock is free; a read
//! leaves its place marked; a write leads from every valuation to the same one.
//!
//! | thesis | here |
//! |---|---|
//! | place of a thread, of a shared variable | [`PlaceOf`] |
//! | transition | an event, by its label and the sides that it takes |

use rustc_hash::{FxHashMap, FxHashSet};

use super::drawing::{Arcs, Drawing, Drawn};
use super::net::{NONE, Net, Place};

/// The places and transitions of a model, as a drawing.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelNet {
    pub drawing: Drawing,
    /// For each transition, an event that is labelled with it.
    pub events: Vec<u32>,
}

/// The meaning of a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum PlaceOf {
    /// A local state, by its index in the model.
    Local(u32),
    /// A cell, and its valuation.
    Cell(u32, u32),
}

/// The meaning of the nodes of a stateful net in its model.
pub(crate) struct Labels<'a> {
    pub net: &'a Net,
    /// For each condition, its valuation.
    pub valuations: &'a [u32],
    /// For each thread, its local state.
    pub locals: &'a [u32],
    /// For each event, its label, and its layer, which is not used here.
    pub labels: &'a [(u32, u32)],
}

/// Builds the model whose unfolding is a stateful net.
pub(crate) fn model_net(from: &Labels<'_>) -> ModelNet {
    let net = from.net;
    let mut pen = NetDrawer {
        from,
        places: FxHashMap::default(),
        model: ModelNet::default(),
    };
    let roots = net
        .threads
        .iter()
        .take_while(|thread| thread.origin == NONE);
    for (thread, _) in roots.enumerate() {
        pen.local(thread as u32);
    }
    for place in &net.places {
        if let Place::Cell(cell) = *place {
            pen.place(PlaceOf::Cell(cell, 0), Drawn::Cell(cell));
        }
    }
    let mut known = FxHashSet::default();
    for event in 0..net.events.len() as u32 {
        let label = from.labels[event as usize].0;
        if known.insert((label, net.chosen(event).to_vec())) {
            let arcs = pen.transition(event);
            pen.model.drawing.events.push(arcs);
            pen.model.events.push(event);
        }
    }
    pen.model
}

struct NetDrawer<'a> {
    from: &'a Labels<'a>,
    places: FxHashMap<PlaceOf, usize>,
    model: ModelNet,
}

impl NetDrawer<'_> {
    fn place(&mut self, of: PlaceOf, drawn: Drawn) -> usize {
        let conditions = &mut self.model.drawing.conditions;
        *self.places.entry(of).or_insert_with(|| {
            conditions.push(drawn);
            conditions.len() - 1
        })
    }

    /// Returns the valuation of a condition: 0 if no event has taken the condition yet.
    fn valuation(&self, condition: u32) -> u32 {
        let known = self.from.valuations.get(condition as usize);
        known.copied().unwrap_or(0)
    }

    fn local(&mut self, thread: u32) -> usize {
        let process = self.from.net.thread(thread).process;
        let local = self.from.locals[thread as usize];
        self.place(PlaceOf::Local(local), Drawn::Thread(process))
    }

    fn transition(&mut self, event: u32) -> Arcs {
        let net = self.from.net;
        let node = *net.event(event);
        let own = self.local(net.extension(node.extension).thread);
        let mut arcs = Arcs {
            takes: vec![own],
            ..Arcs::default()
        };
        let mut output = node.outputs;
        for input in net.inputs(event) {
            let condition = net.condition(input.condition);
            let produced = output;
            output += u32::from(input.write);
            let cell = match net.places[condition.place as usize] {
                Place::Cell(cell) => cell,
                Place::End(_) if condition.set => {
                    let ended = self.local(net.event(condition.producer).thread);
                    arcs.reads.push(ended);
                    continue;
                }
                Place::End(_) => continue,
            };
            let before = self.valuation(input.condition);
            let after = if input.write {
                self.valuation(produced)
            } else {
                before
            };
            // Only a free lock has a place.
            let there = |valuation: u32| valuation == 0 || !net.is_lock(condition.place);
            let of = |valuation: u32| PlaceOf::Cell(cell, valuation);
            if before == after {
                if there(before) {
                    arcs.reads.push(self.place(of(before), Drawn::Cell(cell)));
                }
                continue;
            }
            if there(before) {
                arcs.takes.push(self.place(of(before), Drawn::Cell(cell)));
            }
            if there(after) {
                arcs.makes.push(self.place(of(after), Drawn::Cell(cell)));
            }
        }
        for thread in node.thread..node.thread + node.thread_count {
            let local = self.local(thread);
            arcs.makes.push(local);
        }
        arcs
    }
}
