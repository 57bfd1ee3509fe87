//! Renders goals, sequents and questions as text, for proof files and reports. The checker renders
//! them again and compares the texts, so they must not depend on the search.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use mazurka_core::{AccessKind, Bound, Event, ProcessId, ProcessTable};
use mazurka_lang::hir::{Program, Stmt, StmtKind};
use mazurka_smt::{Model, Term, TermNode, Terms};
use rustc_hash::FxHashMap;

use crate::eval::Fault;
use crate::fol::{Fol, Truth};
use crate::pool::{Layout, State, WorkItem};
use crate::search::{AppliedRule, Goal, Search};
use crate::sequent::{Context, Leaf, Subject};
use mazurka_core::proof::{
    ContextRecord, EventRecord, GoalAnswer, GoalRecord, LeafRecord, OpenGoal, RuleRecord,
    StepRecord, ThreadRecord, WayRecord,
};

/// The data from which the names of cells, processes and terms are made.
pub(crate) struct Names<'a, 'p> {
    pub program: &'p Program,
    pub source: &'a str,
    pub layout: &'a Layout,
    pub terms: &'a Terms,
    pub table: &'a ProcessTable,
}

/// A sequent, and the path that leads to it.
pub(crate) struct ReachedSequent<'s, 'p> {
    pub state: &'s State<'p>,
    pub context: usize,
    pub path: Vec<Arc<EventRecord>>,
}

/// Limit on the characters of a statement that are shown.
const STATEMENT_WIDTH: usize = 60;

impl Names<'_, '_> {
    /// Returns the name of a shared cell, of a lock, or of an invariant.
    pub fn cell(&self, cell: usize) -> String {
        let element = |name: &str, len: Option<u32>, at: usize| match len {
            Some(_) => format!("{name}[{at}]"),
            None => name.to_owned(),
        };
        let find = |ranges: &[(usize, usize)], cell: usize| {
            let inside = |&(first, len): &(usize, usize)| (first..first + len).contains(&cell);
            let at = ranges.iter().position(inside)?;
            Some((at, cell - ranges[at].0))
        };
        if let Some((var, at)) = find(&self.layout.vars, cell) {
            let var = &self.program.vars[var];
            return var.shape.element(at as u32);
        }
        let rest = cell - self.layout.cells;
        if let Some((lock, at)) = find(&self.layout.locks, rest) {
            let lock = &self.program.locks[lock];
            return element(&lock.name, lock.len, at);
        }
        format!("invariant {}", rest - self.layout.lock_cells + 1)
    }

    pub fn event(&self, event: &Event) -> EventRecord {
        // Reads are stored separately, because the claim of a write does not say whether the cell
        // is also read.
        let names = |writes: bool| {
            let accesses = if writes {
                event.claims.iter()
            } else {
                event.touched.iter()
            };
            let accesses = accesses.filter(|a| (a.kind != AccessKind::Read) == writes);
            let mut names: Vec<String> = accesses
                .flat_map(|a| a.cells())
                .map(|cell| self.cell(cell))
                .collect();
            names.sort();
            names.dedup();
            names
        };
        let path = |process: &ProcessId| self.table.path(*process).to_string();
        EventRecord {
            process: path(&event.process),
            writes: names(true),
            reads: names(false),
            spawned: event.spawned.iter().map(path).collect(),
            joined: event.joined.iter().map(path).collect(),
        }
    }

    pub fn goal(&self, id: usize, reached: ReachedSequent<'_, '_>, rule: RuleRecord) -> GoalRecord {
        let ReachedSequent {
            state,
            context,
            path,
        } = reached;
        GoalRecord {
            id,
            context,
            path,
            condition: self.terms(&state.condition),
            substitution: self.substitution(state),
            pool: self.pool(state),
            locks: self.locks(state),
            rule,
        }
    }

    pub fn context(&self, context: &Context) -> ContextRecord {
        ContextRecord {
            known: context.known.iter().map(|f| self.formula(f)).collect(),
            processes: context.processes.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns the place and the kind of a statement.
    fn point(&self, stmt: &Stmt) -> String {
        let (line, column) = stmt.span.line_column(self.source);
        let kind = match &stmt.kind {
            StmtKind::Skip => "skip",
            StmtKind::End => "end",
            StmtKind::Leave(leave) => leave.word(),
            StmtKind::Block(_) => "block",
            StmtKind::Assign(..) => "assign",
            StmtKind::Let(..) => "let",
            StmtKind::Guard(..) => "guard",
            StmtKind::Choice { .. } => "choice",
            StmtKind::GuardedLoop(..) => "loop",
            StmtKind::If(..) => "if",
            StmtKind::While { .. } => "while",
            StmtKind::For { .. } => "for",
            StmtKind::Spawn(..) => "spawn",
            StmtKind::Join(_) => "join",
            StmtKind::Call(..) => "call",
            StmtKind::Atomic(_) => "atomic",
            StmtKind::Lock(..) => "lock",
            StmtKind::Unlock(..) => "unlock",
            StmtKind::Assert(..) => "assert",
            StmtKind::Assume(_) => "assume",
            StmtKind::Error(_) => "error",
        };
        match stmt.span.file(self.source) {
            Some(file) => format!("{kind} {file}:{line}:{column}"),
            None => format!("{kind} {line}:{column}"),
        }
    }

    /// Returns the source text of the statement at each point; for a compound statement, only its
    /// first line up to `{`.
    pub fn statements(&self) -> BTreeMap<String, String> {
        let processes = self.program.processes.iter().map(|process| &process.body);
        let procedures = self.program.procedures.iter().map(|p| &p.body);
        let mut open: Vec<&Stmt> = processes.chain(procedures).flatten().collect();
        let mut all = BTreeMap::new();
        while let Some(stmt) = open.pop() {
            open.extend(stmt.inner());
            let text = stmt.span.text(self.source);
            let head = text.split(['{', '\n']).next().unwrap_or_default().trim();
            let text = head.chars().take(STATEMENT_WIDTH).collect();
            all.insert(self.point(stmt), text);
        }
        all
    }

    pub fn item(&self, item: &WorkItem<'_>) -> String {
        match item {
            WorkItem::Do(stmt) => self.point(stmt),
            WorkItem::Again(stmt) => format!("test of {}", self.point(stmt)),
            WorkItem::Round(stmt) => format!("round of {}", self.point(stmt)),
            WorkItem::Count(stmt) => format!("end of round of {}", self.point(stmt)),
            WorkItem::Return(..) => "return".to_owned(),
        }
    }

    /// Returns the name of every value of a state, in the order of [`State::values`].
    pub fn places(&self, state: &State<'_>) -> Vec<String> {
        let mut names: Vec<String> = (0..self.layout.cells).map(|cell| self.cell(cell)).collect();
        let mut frame = |process: &str, frame: &mazurka_lang::hir::Frame| {
            for local in &frame.locals {
                let name = format!("{process}.{}", local.name);
                match local.len {
                    None => names.push(name),
                    Some(len) => names.extend((0..len).map(|at| format!("{name}[{at}]"))),
                }
            }
        };
        for thread in &state.threads {
            let process = self.table.path(thread.process).to_string();
            frame(&process, thread.frame.0);
            for item in &thread.work {
                if let WorkItem::Return(saved, _) = item {
                    frame(&process, saved);
                }
            }
        }
        // Different blocks and callers may have locals with the same name.
        let mut seen: FxHashMap<String, u32> = FxHashMap::default();
        for name in &mut names {
            let times = seen.entry(name.clone()).or_insert(0);
            *times += 1;
            if *times > 1 {
                *name = format!("{name}~{times}");
            }
        }
        names
    }

    pub fn terms(&self, terms: &[Term]) -> Vec<String> {
        terms.iter().map(|&term| self.terms.show(term)).collect()
    }

    pub fn substitution(&self, state: &State<'_>) -> Vec<(String, String)> {
        let pairs = self.places(state).into_iter().zip(state.values());
        let shown = pairs.map(|(name, term)| (name, self.terms.show(term)));
        // Omit the hidden limit of a `for`.
        let plain = |(name, value): &(String, String)| name != value && !name.contains(".$limit");
        shown.filter(plain).collect()
    }

    pub fn pool(&self, state: &State<'_>) -> Vec<ThreadRecord> {
        let threads = state.threads.iter();
        threads
            .map(|thread| ThreadRecord {
                process: self.table.path(thread.process).to_string(),
                work: thread.work.iter().map(|item| self.item(item)).collect(),
            })
            .collect()
    }

    pub fn locks(&self, state: &State<'_>) -> Vec<(String, String)> {
        let held = state.locks.iter().enumerate();
        held.filter_map(|(at, holder)| {
            let name = self.cell(self.layout.cells + at);
            Some((name, self.table.path((*holder)?).to_string()))
        })
        .collect()
    }

    pub fn formula(&self, formula: &Fol) -> String {
        let join = |parts: &[Fol], with: &str| {
            let parts: Vec<String> = parts
                .iter()
                .map(|p| format!("({})", self.formula(p)))
                .collect();
            parts.join(with)
        };
        match formula {
            Fol::Term(term) => self.terms.show(*term),
            Fol::All(parts) => join(parts, " && "),
            Fol::Any(parts) => join(parts, " || "),
            Fol::ForAll(x, inner) => {
                format!("forall {}. {}", self.terms.show(*x), self.formula(inner))
            }
            Fol::Exists(x, inner) => {
                format!("exists {}. {}", self.terms.show(*x), self.formula(inner))
            }
        }
    }

    /// Returns the values of a model, by name.
    pub fn model(&self, model: &Model) -> Vec<(String, String)> {
        let values = model.iter().map(|(term, value)| {
            let value = self.terms.sort(term).show(value);
            (self.terms.show(term), value)
        });
        let mut values: Vec<_> = values.collect();
        values.sort();
        values
    }

    /// Returns a description of a question that was not proved; `None` if it was proved.
    fn missing(&self, leaf: &Leaf) -> Option<String> {
        if leaf.truth == Truth::Proved {
            return None;
        }
        let written = self.leaf(leaf);
        let place = written.place;
        let place = place.map(|(line, column)| format!(" ({line}:{column})"));
        let what = format!("{}{}", written.what, place.unwrap_or_default());
        Some(match &written.answer {
            GoalAnswer::Proved => return None,
            GoalAnswer::Unknown(why) => format!("{what}: {why}"),
            GoalAnswer::Refuted(values) => {
                let values: Vec<String> =
                    values.iter().map(|(n, v)| format!("{n} = {v}")).collect();
                if values.is_empty() {
                    format!("{what} does not follow")
                } else {
                    format!("{what} does not follow, as with {}", values.join(", "))
                }
            }
        })
    }

    pub fn leaf(&self, leaf: &Leaf) -> LeafRecord {
        let (what, at) = match &leaf.what {
            Subject::Goal => ("the goal".to_owned(), None),
            Subject::Fault(fault, span) => {
                let what = match fault {
                    Fault::Assertion => "an assertion",
                    Fault::Error => "`error` is not reached",
                    Fault::Division => "no division by zero",
                    Fault::Index => "an index within its array",
                    Fault::Unlock => "a lock is held when it is given back",
                    Fault::Choose => "something to choose from",
                };
                (what.to_owned(), Some(*span))
            }
            Subject::Invariant(number) => {
                let invariant = &self.program.invariants[*number];
                let what = match &invariant.name {
                    Some(name) => format!("invariant `{name}`"),
                    None => "an invariant".to_owned(),
                };
                (what, Some(invariant.span))
            }
            Subject::LoopInvariant(span) => ("the invariant of a loop".to_owned(), Some(*span)),
            Subject::Instance => (
                "what the goal that it goes back to assumes".to_owned(),
                None,
            ),
            Subject::Deadlock => ("some process can go on".to_owned(), None),
            Subject::Infeasible => ("what is assumed cannot be".to_owned(), None),
        };
        let file = at.and_then(|span| span.file(self.source));
        LeafRecord {
            what: match file {
                Some(file) => format!("{what} in {file}"),
                None => what,
            },
            place: at.map(|span| span.line_column(self.source)),
            must: match &leaf.denied {
                Fol::Term(Term::FALSE) => "true".to_owned(),
                Fol::Term(term) => match self.terms.node(*term) {
                    TermNode::Not(must) => self.terms.show(must),
                    _ => format!("not ({})", self.terms.show(*term)),
                },
                denied => format!("not ({})", self.formula(denied)),
            },
            answer: match &leaf.truth {
                Truth::Proved => GoalAnswer::Proved,
                Truth::Refuted(model) => GoalAnswer::Refuted(self.model(model)),
                Truth::Unknown(why) => GoalAnswer::Unknown(why.clone()),
            },
        }
    }
}

impl<'p> Search<'p, '_> {
    /// Returns the records of the first goals. If the watch breaks this off, returns the records so
    /// far, and the reason.
    pub fn record(
        &self,
        most: usize,
        watch: &mut dyn FnMut() -> ControlFlow<Bound>,
    ) -> (Vec<GoalRecord>, Option<Bound>) {
        let names = self.world.names();
        let mut goals: Vec<GoalRecord> = Vec::new();
        for (id, goal) in self.goals.iter().enumerate().take(most) {
            if let ControlFlow::Break(bound) = watch() {
                return (goals, Some(bound));
            }
            // A path begins at the first goal of a segment. The parent of a goal has a smaller
            // index, so its record exists already.
            let before = goal.parent.filter(|_| goal.segment != id);
            let mut path = before.map_or_else(Vec::new, |before| goals[before].path.clone());
            path.extend(goal.event.iter().map(|event| Arc::new(names.event(event))));
            let rule = self.rule_record(&names, goal);
            let reached = ReachedSequent {
                state: &goal.state,
                context: goal.context,
                path,
            };
            goals.push(names.goal(id, reached, rule));
        }
        (goals, None)
    }

    fn rule_record(&self, names: &Names<'_, 'p>, goal: &Goal<'p>) -> RuleRecord {
        let leaves = |leaves: &[Leaf]| leaves.iter().map(|leaf| names.leaf(leaf)).collect();
        match &goal.by {
            AppliedRule::Open(why) => RuleRecord::Open {
                why: why.to_string(),
            },
            AppliedRule::Schedule { steps, deadlock } => RuleRecord::Schedule {
                steps: steps
                    .iter()
                    .map(|step| StepRecord {
                        process: self.world.table.path(step.process).to_string(),
                        rule: step.rule,
                        leaves: leaves(&step.leaves),
                        ways: step
                            .ways
                            .iter()
                            .map(|way| WayRecord {
                                leaves: leaves(&way.leaves),
                                to: way.to,
                            })
                            .collect(),
                    })
                    .collect(),
                deadlock: deadlock.as_ref().map(|leaf| names.leaf(leaf)),
            },
            AppliedRule::Reduce { leaves: all, boxes } => RuleRecord::Reduce {
                leaves: leaves(all),
                goals: boxes.clone(),
            },
            AppliedRule::Close(leaf) => RuleRecord::Close {
                leaf: names.leaf(leaf),
            },
            AppliedRule::Merge(to) => RuleRecord::Merge { to: *to },
            AppliedRule::Generalise { leaves: all, to } => {
                let places = names.places(&goal.state);
                let values = self.goals[*to].changed.iter();
                RuleRecord::Generalise {
                    leaves: leaves(all),
                    values: values.map(|&at| places[at].clone()).collect(),
                    to: *to,
                }
            }
            AppliedRule::Back { leaves: all, to } => RuleRecord::Back {
                leaves: leaves(all),
                to: *to,
            },
        }
    }

    /// Whether every goal is reduced and every question was proved.
    pub fn is_closed(&self) -> bool {
        let mut leaves = self.leaves.iter();
        leaves.all(|leaf| leaf.truth == Truth::Proved)
            && self.results.open.is_empty()
            && self.waiting().next().is_none()
    }

    /// Returns the first open goals, with reasons.
    pub fn open_goals(&self, most: usize) -> Vec<OpenGoal> {
        let names = self.world.names();
        let mut all = Vec::new();
        let leaves = self.leaves.iter().filter_map(|leaf| names.missing(leaf));
        all.extend(leaves.map(|why| OpenGoal {
            id: None,
            path: Vec::new(),
            condition: Vec::new(),
            why,
        }));
        let recorded = self.results.open.iter().copied().take(most);
        let mut open: Vec<usize> = recorded.chain(self.waiting().take(most)).collect();
        open.sort_unstable();
        for id in open {
            let goal = &self.goals[id];
            let open = match &goal.by {
                AppliedRule::Open(why) => Some(why.to_string()),
                _ => None,
            };
            let leaves = goal.by.leaves().filter_map(|leaf| names.missing(leaf));
            for why in open.into_iter().chain(leaves) {
                let steps = self.path(id);
                let path = steps.map(|event| self.world.table.path(event.process).to_string());
                let mut path: Vec<String> = path.collect();
                path.reverse();
                all.push(OpenGoal {
                    id: Some(id),
                    path,
                    condition: names.terms(&goal.state.condition),
                    why,
                });
            }
            if all.len() >= most {
                break;
            }
        }
        all.truncate(most);
        all
    }
}
