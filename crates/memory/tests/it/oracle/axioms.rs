//! The axioms of the models, transcribed literally.

use std::collections::{BTreeMap, BTreeSet};

use mazurka_memory::{Loc, Memory, MemoryOrder};

use super::matrix::Matrix;
use super::{EventKind, Graph, Name};

/// An event of the relations: an event of the graph, or one that the graph leaves out, such as an
/// initial write.
#[derive(Clone, Copy, Debug)]
struct Node {
    thread: Option<usize>,
    kind: NodeKind,
    loc: Option<Loc>,
    order: MemoryOrder,
    locked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NodeKind {
    /// A read, the begin of a thread, or a join.
    Read,
    /// A write, a spawn, or the end of a thread.
    Write,
    Fence,
    Choice,
}

/// The relations of a graph.
struct Relations {
    nodes: Vec<Node>,
    /// po within a thread, including begin and end.
    sb: Matrix,
    /// sb, and edges from a spawn to the begin, from an end to its joins, and from initial writes.
    po: Matrix,
    /// Edges from a spawn to the begin, and from an end to its joins.
    starts: Matrix,
    rf: Matrix,
    mo: Matrix,
    rb: Matrix,
    rmw: Matrix,
}

/// Whether a graph is consistent.
pub fn hold(graph: &Graph, memory: Memory) -> bool {
    let relations = Relations::from_graph(graph);
    let atomic = relations
        .rmw
        .and(&relations.rb.then(&relations.mo))
        .is_empty();
    atomic
        && match memory {
            Memory::Rc11 => relations.rc11(),
            Memory::Ra => relations.ra(),
            Memory::Tso => relations.tso(),
            Memory::Sc => relations.sc(),
        }
}

/// Whether there is a data race.
pub fn races(graph: &Graph) -> bool {
    let relations = Relations::from_graph(graph);
    let hb = relations.hb();
    let nodes = &relations.nodes;
    let conflict = |a: usize, b: usize| {
        let (x, y) = (&nodes[a], &nodes[b]);
        let plain = x.order == MemoryOrder::Plain || y.order == MemoryOrder::Plain;
        let writes = x.kind == NodeKind::Write || y.kind == NodeKind::Write;
        let threads = x.thread.is_some() && y.thread.is_some() && x.thread != y.thread;
        x.loc.is_some() && x.loc == y.loc && plain && writes && threads
    };
    let size = nodes.len();
    let mut pairs = (0..size).flat_map(|a| (0..size).map(move |b| (a, b)));
    pairs.any(|(a, b)| conflict(a, b) && !hb.has(a, b) && !hb.has(b, a))
}

impl Relations {
    fn from_graph(graph: &Graph) -> Self {
        let mut nodes = Vec::new();
        let mut ids: BTreeMap<Name, usize> = BTreeMap::new();
        let mut initial: BTreeMap<Loc, usize> = BTreeMap::new();
        let mut program_order: Vec<Vec<usize>> = Vec::new();
        let mut begin_end = Vec::new();
        let bare = |thread: usize, kind| Node {
            thread: Some(thread),
            kind,
            loc: None,
            order: MemoryOrder::Relaxed,
            locked: false,
        };
        for (thread, events) in graph.threads.iter().enumerate() {
            let begin = nodes.len();
            nodes.push(bare(thread, NodeKind::Read));
            for (index, event) in events.iter().enumerate() {
                ids.insert((thread, index), nodes.len());
                let (kind, loc) = match event.kind {
                    EventKind::Read => (NodeKind::Read, Some(event.loc)),
                    EventKind::Write => (NodeKind::Write, Some(event.loc)),
                    EventKind::Fence => (NodeKind::Fence, None),
                    EventKind::Spawn(_) => (NodeKind::Write, None),
                    EventKind::Join(_) => (NodeKind::Read, None),
                    EventKind::Choice | EventKind::Decision => (NodeKind::Choice, None),
                };
                nodes.push(Node {
                    thread: Some(thread),
                    kind,
                    loc,
                    order: event.order,
                    locked: event.locked,
                });
            }
            let end = nodes.len();
            nodes.push(bare(thread, NodeKind::Write));
            program_order.push((begin..=end).collect());
            begin_end.push((begin, end));
        }
        let accesses = graph.threads.iter().flatten();
        let accesses = accesses.filter(|e| matches!(e.kind, EventKind::Read | EventKind::Write));
        for loc in accesses.map(|event| event.loc).collect::<BTreeSet<_>>() {
            initial.insert(loc, nodes.len());
            nodes.push(Node {
                thread: None,
                kind: NodeKind::Write,
                loc: Some(loc),
                order: MemoryOrder::Plain,
                locked: false,
            });
        }
        let size = nodes.len();
        let mut sb = Matrix::empty(size);
        for order in &program_order {
            for (at, &a) in order.iter().enumerate() {
                order[at + 1..].iter().for_each(|&b| sb.relate(a, b));
            }
        }
        let mut starts = Matrix::empty(size);
        let mut rf = Matrix::empty(size);
        let mut rmw = Matrix::empty(size);
        for (&(thread, index), &id) in &ids {
            let event = graph.event((thread, index));
            match event.kind {
                EventKind::Spawn(child) => starts.relate(id, begin_end[child].0),
                EventKind::Join(child) => starts.relate(begin_end[child].1, id),
                EventKind::Read => {
                    let from = event.rf.map_or(initial[&event.loc], |name| ids[&name]);
                    rf.relate(from, id);
                }
                _ => {}
            }
            if event.rmw {
                rmw.relate(ids[&(thread, index - 1)], id);
            }
        }
        let mut mo = Matrix::empty(size);
        for (&loc, &first) in &initial {
            let writes = graph.mo.get(&loc).into_iter().flatten();
            let writes = std::iter::once(first).chain(writes.map(|name| ids[name]));
            let writes: Vec<usize> = writes.collect();
            for (at, &a) in writes.iter().enumerate() {
                writes[at + 1..].iter().for_each(|&b| mo.relate(a, b));
            }
        }
        let is_initial = |a: usize| nodes[a].thread.is_none();
        let first = Matrix::from_fn(size, |a, b| is_initial(a) && !is_initial(b));
        let po = sb.or(&starts).or(&first).plus();
        let rb = rf.inverse().then(&mo);
        Self {
            nodes,
            sb,
            po,
            starts,
            rf,
            mo,
            rb,
            rmw,
        }
    }

    fn on(&self, set: impl Fn(&Node) -> bool) -> Matrix {
        Matrix::on(self.nodes.len(), |a| set(&self.nodes[a]))
    }

    fn eco(&self) -> Matrix {
        self.rf.or(&self.mo).or(&self.rb).plus()
    }

    fn sw(&self) -> Matrix {
        let fence = |node: &Node| node.kind == NodeKind::Fence;
        let access = |node: &Node, kind| node.kind == kind && node.loc.is_some();
        let releases =
            self.on(|node| node.order.releases() && (fence(node) || access(node, NodeKind::Write)));
        let acquires =
            self.on(|node| node.order.acquires() && (fence(node) || access(node, NodeKind::Read)));
        let fences = self.on(fence);
        let writes = self.on(|node| access(node, NodeKind::Write) && node.order.is_atomic());
        let reads = self.on(|node| access(node, NodeKind::Read) && node.order.is_atomic());
        let chain = self.rf.then(&self.rmw).plus().maybe();
        releases
            .then(&fences.then(&self.sb).maybe())
            .then(&writes)
            .then(&chain)
            .then(&self.rf)
            .then(&reads)
            .then(&self.sb.then(&fences).maybe())
            .then(&acquires)
    }

    fn hb(&self) -> Matrix {
        self.po.or(&self.sw()).plus()
    }

    /// Returns the pairs of a relation that access the same location.
    fn same_place(&self, relation: &Matrix) -> Matrix {
        let loc = |at: usize| self.nodes[at].loc;
        let same = |a, b| loc(a).is_some() && loc(a) == loc(b);
        Matrix::from_fn(self.nodes.len(), |a, b| relation.has(a, b) && same(a, b))
    }

    fn psc(&self, hb: &Matrix, sc: impl Fn(&Node) -> bool) -> Matrix {
        let sc_events = self.on(|node| node.order == MemoryOrder::SeqCst && sc(node));
        let is_fence = |node: &Node| node.kind == NodeKind::Fence;
        let fences = self.on(|node| node.order == MemoryOrder::SeqCst && is_fence(node));
        let step = self.po.or(&self.po.then(hb).then(&self.po));
        let step = step.or(&self.same_place(hb)).or(&self.rf);
        let step = step.or(&self.mo).or(&self.rb);
        let between = |relation: &Matrix| sc_events.then(relation).then(&sc_events);
        let after = fences.then(hb).maybe();
        let base = between(&after.then(&step).then(&hb.then(&fences).maybe()));
        let around = hb.or(&hb.then(&self.eco()).then(hb));
        base.or(&fences.then(&around).then(&fences))
    }

    fn is_coherent(&self, hb: &Matrix) -> bool {
        hb.is_irreflexive() && hb.then(&self.eco()).is_irreflexive()
    }

    fn rc11(&self) -> bool {
        let hb = self.hb();
        let porf = self.po.or(&self.rf);
        porf.is_acyclic() && self.is_coherent(&hb) && self.psc(&hb, |_| true).is_acyclic()
    }

    fn ra(&self) -> bool {
        let hb = self.po.or(&self.rf).plus();
        let fences = |node: &Node| node.kind == NodeKind::Fence;
        self.is_coherent(&hb) && self.psc(&hb, fences).is_acyclic()
    }

    fn sc(&self) -> bool {
        let all = self.po.or(&self.rf).or(&self.mo).or(&self.rb);
        all.is_acyclic()
    }

    fn tso(&self) -> bool {
        let size = self.nodes.len();
        let communication = self.rf.or(&self.mo).or(&self.rb);
        let po_loc = self.same_place(&self.po);
        let ppo = Matrix::from_fn(size, |a, b| self.sb.has(a, b) && self.is_preserved(a, b));
        let external = |a: usize, b: usize| self.nodes[a].thread != self.nodes[b].thread;
        let rfe = Matrix::from_fn(size, |a, b| self.rf.has(a, b) && external(a, b));
        let order = ppo.or(&rfe).or(&self.starts).or(&self.mo).or(&self.rb);
        po_loc.or(&communication).is_acyclic() && order.is_acyclic()
    }

    /// Whether two events of a thread are in ppo.
    fn is_preserved(&self, a: usize, b: usize) -> bool {
        let sc = |at: usize| self.nodes[at].order == MemoryOrder::SeqCst;
        let is = |at: usize, kind| self.nodes[at].kind == kind;
        let is_member = |at: usize| match self.nodes[at].kind {
            NodeKind::Fence => sc(at),
            NodeKind::Choice => false,
            _ => true,
        };
        let is_barrier = |at: usize| self.nodes[at].locked || (is(at, NodeKind::Fence) && sc(at));
        let fenced_store = |at: usize| is(at, NodeKind::Write) && sc(at);
        let between = (0..self.nodes.len()).any(|at| {
            self.sb.has(a, at) && self.sb.has(at, b) && (is_barrier(at) || fenced_store(at))
        });
        let buffered = is(a, NodeKind::Write) && is(b, NodeKind::Read);
        let ends = is_barrier(a) || is_barrier(b) || fenced_store(a);
        is_member(a) && is_member(b) && (!buffered || between || ends)
    }
}
