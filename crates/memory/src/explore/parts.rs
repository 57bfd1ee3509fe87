//! Parts of a search: for workers that share nothing, and to continue after a limit.
//!
//! The tree of graphs is cut below a number of choice points. A part is given by the alternatives
//! that were taken at these choice points. A worker takes the same alternatives, without exploring
//! other ones, and explores everything below. The parts depend only on the program and the depth,
//! and each execution is in exactly one of them, or was seen while the tree was cut. So the
//! findings do not depend on the number of workers.
//!
//! If a limit ends a search, the unexplored rest follows from the stack of choice points: from the
//! number of alternatives that were taken at each of them. A later search takes the last of these
//! alternatives again, as on the way to a part, but leaves the choice points open. After that, it
//! is in the state in which the first search ended. If that search ended while it looked for the
//! next alternative of the last choice point, it may have met races there, which are no
//! alternatives; so the number of these races is kept, too.

use std::ops::ControlFlow;

use mazurka_core::Limits;

use super::ends::{Found, Visitor};
use super::frames::{Frame, OpenChoice};
use super::{Explorer, Program};
use crate::models::{Memory, Model, under};
use crate::planted::Planted;

/// A part of a search: for each choice point, the number of consistent alternatives before the one
/// taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part(Vec<u32>);

impl Part {
    /// Makes a part from the numbers that [`ways`](Part::ways) returns.
    pub fn new(ways: Vec<u32>) -> Self {
        Self(ways)
    }

    /// Returns, for each choice point, the number of consistent alternatives before the one taken.
    pub fn ways(&self) -> &[u32] {
        &self.0
    }
}

/// The unexplored rest of a search that a limit has ended. The default is a whole search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unexplored {
    /// For each open choice point, the number of consistent alternatives before the current one.
    pub ways: Vec<u32>,
    /// Whether the execution to which the current alternatives lead has been shown.
    pub shown: bool,
    /// If the search ended before the current alternative of the last choice point was found: the
    /// number of races that were shown since the alternative before it.
    pub races: Option<u32>,
}

/// How a search treats its first choice points.
#[derive(Debug, Default)]
pub(super) struct SearchPlan {
    /// The alternatives to take at the first choice points. A search that continues after them
    /// empties the list when it has taken them.
    path: Vec<u32>,
    /// Whether the search continues after the path: its choice points stay open.
    continues: bool,
    /// Whether the execution at the end of the path has been shown.
    pub(super) shown: bool,
    /// Whether the search must explore another execution before a limit may end it.
    pub(super) must_progress: bool,
    /// While the next alternative of a choice point is looked for: the number of races that were
    /// met there.
    pub(super) races: Option<u32>,
    /// If the search before this one ended between two alternatives of the choice point at the end
    /// of the path: the number of races that it showed there, which are not shown again.
    shown_races: Option<u32>,
    /// The number of choice points below which parts are left to other searches; `None` if nothing
    /// is left to others.
    depth: Option<usize>,
    /// The parts that were left.
    parts: Vec<Part>,
}

impl SearchPlan {
    /// Panics if an execution has ended before the path of a search that continues.
    #[inline]
    pub(super) fn check_path(&self) {
        let taken = !self.continues || self.path.is_empty();
        assert!(taken, "the rest of a search belongs to another program");
    }
}

/// Cuts a search into parts below `depth` choice points. Executions with fewer choice points are
/// shown to the visitor.
///
/// ```
/// use mazurka_core::Limits;
/// use mazurka_memory::litmus::{Litmus, fetch_add};
/// use mazurka_memory::{CountOnly, Memory, MemoryOrder::Relaxed, split, visit_part};
///
/// let program = Litmus::new(vec![vec![fetch_add(0, 0, 1, Relaxed)]; 5]);
/// let (limits, memory) = (Limits::default(), Memory::Rc11);
/// let (mut found, parts) = split(program.clone(), memory, &limits, 4, &mut CountOnly);
/// assert!(parts.len() > 1);
/// for part in &parts {
///     found.merge(visit_part(program.clone(), memory, &limits, part, &mut CountOnly));
/// }
/// assert_eq!(found.counts.complete, 120);
/// ```
pub fn split<P: Program>(
    program: P,
    memory: Memory,
    limits: &Limits,
    depth: usize,
    visitor: &mut impl Visitor<P>,
) -> (Found, Vec<Part>) {
    let plan = SearchPlan {
        depth: Some(depth),
        ..SearchPlan::default()
    };
    run(program, memory, limits, plan, visitor)
}

/// Explores a part, and shows its executions to a visitor.
pub fn visit_part<P: Program>(
    program: P,
    memory: Memory,
    limits: &Limits,
    part: &Part,
    visitor: &mut impl Visitor<P>,
) -> Found {
    let plan = SearchPlan {
        path: part.0.clone(),
        ..SearchPlan::default()
    };
    run(program, memory, limits, plan, visitor).0
}

/// Explores the rest of a search, and shows its executions to a visitor. Also returns the rest that
/// a limit has left unexplored; `None` if no limit was reached. The counts are those of the rest
/// alone, and at least one execution is explored whatever the limits of time and steps are, so that
/// repeated searches come to an end.
///
/// ```
/// use mazurka_core::Limits;
/// use mazurka_memory::litmus::{Litmus, fetch_add};
/// use mazurka_memory::{CountOnly, Found, Memory, MemoryOrder::Relaxed, Unexplored, visit_rest};
///
/// let program = Litmus::new(vec![vec![fetch_add(0, 0, 1, Relaxed)]; 5]);
/// let limits = Limits { executions: Some(7), ..Limits::default() };
/// let (mut found, mut left) = (Found::default(), Some(Unexplored::default()));
/// while let Some(rest) = left.take() {
///     let more;
///     (more, left) = visit_rest(program.clone(), Memory::Rc11, &limits, &rest, &mut CountOnly);
///     found.merge(more);
/// }
/// assert_eq!(found.counts.complete, 120);
/// ```
pub fn visit_rest<P: Program>(
    program: P,
    memory: Memory,
    limits: &Limits,
    rest: &Unexplored,
    visitor: &mut impl Visitor<P>,
) -> (Found, Option<Unexplored>) {
    let none = Planted::Nothing;
    under!(memory, none, model => {
        Explorer::new(program, model, limits, visitor, none).search_rest(rest)
    })
}

fn run<P: Program>(
    program: P,
    memory: Memory,
    limits: &Limits,
    plan: SearchPlan,
    visitor: &mut dyn Visitor<P>,
) -> (Found, Vec<Part>) {
    let none = Planted::Nothing;
    under!(memory, none, model => {
        Explorer::new(program, model, limits, visitor, none).search_within(plan)
    })
}

impl<P: Program, M: Model> Explorer<'_, P, M> {
    fn search_within(mut self, plan: SearchPlan) -> (Found, Vec<Part>) {
        self.plan = plan;
        self.found.stopped = self.run().is_break() && !self.limited;
        (self.found, self.plan.parts)
    }

    fn search_rest(mut self, rest: &Unexplored) -> (Found, Option<Unexplored>) {
        self.plan = SearchPlan {
            path: rest.ways.clone(),
            continues: true,
            shown: rest.shown,
            shown_races: rest.races,
            must_progress: true,
            ..SearchPlan::default()
        };
        self.found.stopped = self.run().is_break() && !self.limited;
        let left = self.limited.then(|| Unexplored {
            ways: self.frames.iter().map(|open| open.taken - 1).collect(),
            shown: self.plan.shown,
            races: self.plan.races,
        });
        (self.found, left)
    }

    /// Whether the search is still on the way to its part. Executions there were shown before.
    #[inline]
    pub(super) fn is_following_path(&self) -> bool {
        self.frames.len() < self.plan.path.len()
    }

    /// Whether the rest is left to other searches. If so, adds it to the parts.
    pub(super) fn leave_to_others(&mut self) -> bool {
        if self.plan.depth != Some(self.frames.len()) {
            return false;
        }
        let path = self.frames.iter().map(|open| open.taken - 1).collect();
        self.plan.parts.push(Part(path));
        true
    }

    /// Opens a choice point and takes its first consistent alternative. Returns whether there is
    /// one; the choice point with the further alternatives is left on the stack.
    pub(super) fn open(&mut self, mut frame: Frame) -> ControlFlow<(), bool> {
        if let Some(&wanted) = self.plan.path.get(self.frames.len()) {
            return self.follow(frame, wanted);
        }
        if self.leave_to_others() {
            return ControlFlow::Continue(false);
        }
        let advanced = self.advance(&mut frame);
        if advanced != ControlFlow::Continue(false) {
            self.frames.push(OpenChoice::new(frame));
        }
        advanced
    }

    /// Follows the path of a part at a choice point: skips `wanted` consistent alternatives and
    /// takes the next one.
    fn follow(&mut self, mut frame: Frame, wanted: u32) -> ControlFlow<(), bool> {
        let mut advanced = ControlFlow::Continue(true);
        for number in 0..=wanted {
            if number == wanted && self.plan.shown_races.is_some() {
                // Races that have not been shown are not on the way.
                self.finish_path(1);
            }
            self.graph.undo(frame.mark());
            advanced = self.advance(&mut frame);
            if self.plan.path.is_empty() {
                self.plan.shown_races = None;
            }
            if advanced == ControlFlow::Continue(false) {
                self.finish_path(1);
                return advanced;
            }
        }
        self.frames.push(OpenChoice {
            frame,
            taken: wanted + 1,
            closed: !self.plan.continues,
        });
        self.finish_path(0);
        advanced
    }

    /// Counts a race. Returns whether the search before this one has shown it.
    pub(super) fn is_known_race(&mut self) -> bool {
        let races = self.plan.races.get_or_insert_default();
        *races += 1;
        let path_taken = self.plan.path.is_empty();
        path_taken && { self.plan.shown_races }.is_some_and(|shown| *races <= shown)
    }

    /// Clears the path of a search that continues, once the search has taken it. Its last
    /// `beyond` choice points are not on the stack: they have no further alternative, or it is
    /// still to be found.
    fn finish_path(&mut self, beyond: usize) {
        if self.plan.continues && self.frames.len() + beyond >= self.plan.path.len() {
            self.plan.path.clear();
        }
    }
}
