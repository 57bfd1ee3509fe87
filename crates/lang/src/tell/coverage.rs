//! Coverage: which statements and which sides of branches the runs of a search have reached, and
//! warnings about those that no run reaches.
//!
//! The interpreter records only some instructions (`run/cover.rs`); the other reached instructions
//! follow from these records. Equivalent runs reach the same instructions, so the result does not
//! depend on the engine. An instruction counts as reached exactly if an `error` in its place would
//! fail in some run.

use std::collections::BTreeMap;
use std::slice::from_ref;

use mazurka_core::record::{Branch, Coverage};
use mazurka_diagnostics::{Diagnostic, Span, finish};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::check::hir::{Expr, ExprKind, Spawned, Stmt, StmtKind};
use crate::code::{Code, Op};
use crate::run::{FAILED, HELD, Reached};

impl Code {
    /// Returns the number of reached statements and the reached sides of branches. A statement that
    /// was compiled several times, for several processes, counts once.
    pub fn coverage(&self, reached: &Reached) -> Coverage {
        let parts = ReachedParts::new(self, reached);
        let mut statements = FxHashSet::default();
        let mut visit = |stmt: &Stmt| {
            if parts.all.touches(stmt.span) {
                statements.insert(stmt.span);
            }
        };
        for stmt in self.all_bodies() {
            stmt.walk(&mut visit);
        }
        let reached_ones = statements
            .iter()
            .filter(|span| parts.reached.touches(**span));
        Coverage {
            statements: statements.len() as u64,
            reached: reached_ones.count() as u64,
            branches: parts.branches(),
        }
    }

    /// Returns a warning for each part that was never reached, and for each condition that always
    /// has the same value. The warnings are valid only after an exhaustive search.
    pub fn vacuous(&self, reached: &Reached) -> Vec<Diagnostic> {
        let mut report = Vacuity {
            parts: ReachedParts::new(self, reached),
            warnings: Vec::new(),
        };
        for process in &self.program.processes {
            report.sequence(&process.body);
        }
        for procedure in &self.program.procedures {
            // If the procedure is never called, another warning says so, at the call or at the
            // procedure.
            let entered = !report.parts.misses_all(&procedure.body);
            report.sequence_if(entered, &procedure.body);
        }
        finish(report.warnings)
    }

    fn all_bodies(&self) -> impl Iterator<Item = &Stmt> {
        let processes = self.program.processes.iter().flat_map(|p| &p.body);
        let procedures = self.program.procedures.iter().flat_map(|p| &p.body);
        processes.chain(procedures)
    }

    /// Returns the instructions that were reached.
    fn reached_instructions(&self, reached: &Reached) -> Vec<bool> {
        let mut met = vec![false; self.ops.len()];
        let returning: FxHashSet<u32> = (0..self.ops.len() as u32)
            .filter(|&pc| self.ops[pc as usize] == Op::Return && reached.has(pc, HELD))
            .map(|pc| self.bodies[pc as usize])
            .collect();
        let mut worklist: Vec<u32> = self.processes.iter().map(|entry| entry.pc).collect();
        while let Some(pc) = worklist.pop() {
            if std::mem::replace(&mut met[pc as usize], true) {
                continue;
            }
            let passed = reached.has(pc, HELD);
            match self.ops[pc as usize] {
                Op::End | Op::Error | Op::Return => {}
                Op::Jump(to) => worklist.push(to),
                Op::JumpIfFalse(to) | Op::JumpUnlessLess { to, .. } => {
                    worklist.extend(passed.then_some(pc + 1));
                    worklist.extend(reached.has(pc, FAILED).then_some(to));
                }
                Op::Call(procedure) if passed => {
                    let entry = self.procedures[procedure as usize].pc;
                    worklist.push(entry);
                    let returns = returning.contains(&self.bodies[entry as usize]);
                    worklist.extend(returns.then_some(pc + 1));
                }
                Op::SpawnCall(procedure) if passed => {
                    worklist.extend([self.procedures[procedure as usize].pc, pc + 1]);
                }
                Op::SpawnBlock(entry) if passed => worklist.extend([entry, pc + 1]),
                Op::Mark(_)
                | Op::Open(_)
                | Op::Close
                | Op::BeginAtomic
                | Op::EndAtomic
                | Op::BeginSimple
                | Op::EndSimple
                | Op::Choose
                | Op::Input(_)
                | Op::Guard
                | Op::Join
                | Op::JoinAll
                | Op::Drop
                | Op::Assert
                | Op::Assume
                | Op::Limit(_)
                | Op::Call(_)
                | Op::SpawnCall(_)
                | Op::SpawnBlock(_) => worklist.extend(passed.then_some(pc + 1)),
                // A computing instruction never waits, so a step that reaches it passes it or
                // fails.
                _ => worklist.push(pc + 1),
            }
        }
        met
    }
}

/// A set of places in the text, with the query whether one of them is within another place.
#[derive(Default)]
struct Places(BTreeMap<u32, u32>);

impl Places {
    fn add(&mut self, span: Span) {
        let end = self.0.entry(span.start).or_insert(span.end);
        *end = span.end.min(*end);
    }

    /// Whether one of the places is within this place.
    fn touches(&self, span: Span) -> bool {
        let inside = self.0.range(span.start..span.end);
        inside.into_iter().any(|(_, &end)| end <= span.end)
    }
}

/// The values that a condition has had, over all instructions that decide it.
#[derive(Clone, Copy, Default)]
struct ConditionOutcomes {
    /// Whether the condition belongs to a branch, so that the process continues on either side.
    branches: bool,
    /// Whether some run evaluates the condition.
    evaluated: bool,
    /// Whether the condition was true in some evaluation.
    held: bool,
    /// Whether the condition was false in some evaluation.
    failed: bool,
}

/// The reached parts of a program, by place in the text.
struct ReachedParts<'a> {
    code: &'a Code,
    /// The places that have instructions.
    all: Places,
    /// The places whose instructions were reached.
    reached: Places,
    conditions: FxHashMap<Span, ConditionOutcomes>,
}

impl<'a> ReachedParts<'a> {
    fn new(code: &'a Code, reached: &Reached) -> Self {
        let met = code.reached_instructions(reached);
        let mut parts = Self {
            code,
            all: Places::default(),
            reached: Places::default(),
            conditions: FxHashMap::default(),
        };
        for (pc, &span) in code.spans.iter().enumerate() {
            parts.all.add(span);
            if met[pc] {
                parts.reached.add(span);
            }
        }
        for (&pc, &span) in &code.tests {
            let op = code.ops[pc as usize];
            let outcomes = parts.conditions.entry(span).or_default();
            outcomes.branches |= matches!(op, Op::JumpIfFalse(_) | Op::JumpUnlessLess { .. });
            outcomes.evaluated |= met[pc as usize];
            outcomes.held |= reached.has(pc, HELD);
            outcomes.failed |= reached.has(pc, FAILED);
        }
        parts
    }

    fn outcomes(&self, span: Span) -> ConditionOutcomes {
        self.conditions.get(&span).copied().unwrap_or_default()
    }

    /// Whether the checker made the statement from another statement.
    fn is_lowered(&self, stmt: &Stmt) -> bool {
        self.code.program.lowered.contains(&stmt.span)
    }

    /// Whether a test decides whether an alternative of a `select` is chosen.
    fn is_alternative(&self, test: &Expr) -> bool {
        self.code.program.alternatives.contains(&test.span)
    }

    /// Whether a statement has instructions, but none of them was reached.
    fn misses(&self, stmt: &Stmt) -> bool {
        self.all.touches(stmt.span) && !self.reached.touches(stmt.span)
    }

    /// Whether statements have instructions, but none of them was reached.
    fn misses_all(&self, stmts: &[Stmt]) -> bool {
        let any = stmts.iter().any(|stmt| self.all.touches(stmt.span));
        any && !stmts.iter().any(|stmt| self.reached.touches(stmt.span))
    }

    /// Returns a place up to the end of its first line.
    fn first_line(&self, span: Span) -> Span {
        let line = span.text(&self.code.source).lines().next().unwrap_or("");
        Span {
            start: span.start,
            end: span.start + line.trim_end().len() as u32,
        }
    }

    /// Returns all branches in the order of the text.
    fn branches(&self) -> Vec<Branch> {
        let branches = self
            .conditions
            .iter()
            .filter(|(_, outcomes)| outcomes.branches);
        let mut all: Vec<(Span, ConditionOutcomes)> = branches
            .map(|(&span, &outcomes)| (span, outcomes))
            .collect();
        all.sort_by_key(|(span, _)| *span);
        let branch = |(span, outcomes): (Span, ConditionOutcomes)| Branch {
            place: self.code.place(span),
            held: outcomes.held,
            failed: outcomes.failed,
        };
        all.into_iter().map(branch).collect()
    }
}

/// Finds the parts of a program that are never reached, and warns about them.
struct Vacuity<'a> {
    parts: ReachedParts<'a>,
    warnings: Vec<Diagnostic>,
}

/// The longest condition that a message quotes.
const MAX_QUOTED: usize = 60;

impl Vacuity<'_> {
    /// Handles a sequence of statements. If a statement is not reached, the statements after it are
    /// not reached either.
    fn sequence(&mut self, stmts: &[Stmt]) {
        let missed = stmts.iter().position(|stmt| self.parts.misses(stmt));
        let (met, missed) = stmts.split_at(missed.unwrap_or(stmts.len()));
        met.iter().for_each(|stmt| self.stmt(stmt));
        // An operation without a `return` returns at its end, and the place of this return is the
        // head of the operation.
        let ends = |first: &Stmt, last: &Stmt| first.span.start < last.span.start;
        if let [first, ..] = missed
            && !met.last().is_some_and(|last| ends(first, last))
            && !is_alarm(missed)
            && !matches!(first.kind, StmtKind::Assert(..))
        {
            let message = "this statement is never reached";
            let warning = Diagnostic::new("W0201", self.parts.first_line(first.span), message)
                .label("no execution reaches it")
                .help("remove it, or check what comes before it");
            self.warnings.push(warning);
        }
        self.assertions(missed);
    }

    /// Handles a body like `sequence`, if it is entered. Otherwise another warning says that it is
    /// not entered, so this function warns only about the assertions in it.
    fn sequence_if(&mut self, entered: bool, stmts: &[Stmt]) {
        if entered {
            self.sequence(stmts)
        } else {
            self.assertions(stmts)
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        // The user did not write the conditions of a lowered statement, so there are no warnings
        // about them.
        let lowered = self.parts.is_lowered(stmt);
        match &stmt.kind {
            StmtKind::If(test, then, other) if self.parts.is_alternative(test) => {
                let outcomes = self.parts.outcomes(test.span);
                if stmt.span == test.span && !outcomes.held {
                    let what = self.quoted("this alternative", test.span);
                    let message = format!("{what} is never taken");
                    let warning = Diagnostic::new("W0204", test.span, message)
                        .label("no execution chooses it")
                        .help("check in which of the reached states it is open");
                    self.warnings.push(warning);
                }
                self.sequence_if(outcomes.held, then);
                self.sequence(other);
            }
            StmtKind::Atomic(body) if lowered => {
                let is_choice = |stmt: &&Stmt| matches!(&stmt.kind, StmtKind::If(test, ..) if self.parts.is_alternative(test));
                let choices: Vec<&Stmt> = body.iter().filter(is_choice).collect();
                choices.into_iter().for_each(|stmt| self.stmt(stmt));
            }
            StmtKind::If(..) | StmtKind::For { .. } if lowered => {}
            StmtKind::If(test, then, other) => self.branch(test, then, other),
            StmtKind::Choice { test, then, other } => {
                self.branch(test, from_ref(then), from_ref(other));
            }
            StmtKind::While { test, body, .. } => {
                self.looped(test.span, is_constant(test), body);
            }
            StmtKind::GuardedLoop(test, body) => {
                self.looped(test.span, is_constant(test), from_ref(body));
            }
            StmtKind::For { from, to, body, .. } => {
                let constant = is_constant(from) && is_constant(to);
                self.looped(from.span.to(to.span), constant, body);
            }
            StmtKind::Guard(test, body) => {
                let outcomes = self.parts.outcomes(test.span);
                // A step that waits leaves no records. So if the guard was reached and never held,
                // its evaluation has failed, for example because an index is out of bounds.
                if !outcomes.evaluated {
                    let what = self.quoted("this guard", test.span);
                    self.never_taken(test.span, format!("{what} never opens"));
                }
                self.sequence_if(outcomes.held, from_ref(body));
            }
            StmtKind::Assume(test) => {
                let outcomes = self.parts.outcomes(test.span);
                if outcomes.evaluated && !outcomes.held {
                    let message = "this assumption discards every execution that reaches this";
                    let warning = Diagnostic::new("W0206", stmt.span, message)
                        .label("never true")
                        .help("nothing is verified after it: weaken the assumption");
                    self.warnings.push(warning);
                }
            }
            StmtKind::Atomic(body) => {
                let missed = self.parts.misses_all(body);
                if missed {
                    let span = self.parts.first_line(stmt.span);
                    self.never_taken(span, "this atomic block never takes place".to_owned());
                }
                self.sequence_if(!missed, body);
            }
            StmtKind::Block(body) | StmtKind::Spawn(_, Spawned::Block(body)) => self.sequence(body),
            _ => {}
        }
    }

    fn never_taken(&mut self, span: Span, message: String) {
        let warning = Diagnostic::new("W0204", span, message)
            .label("every execution that reaches this waits for ever")
            .help("check which process should let it continue");
        self.warnings.push(warning);
    }

    /// Handles a condition with two sides. There is no warning about a side that reports an error,
    /// because no run should take it. There is no warning about a constant condition either,
    /// because the author wrote it on purpose.
    fn branch(&mut self, test: &Expr, then: &[Stmt], other: &[Stmt]) {
        let outcomes = self.parts.outcomes(test.span);
        let warning = match (outcomes.held, outcomes.failed) {
            _ if is_constant(test) => None,
            (false, true) if !is_alarm(then) => {
                let message = format!("{} never holds", self.quoted("this condition", test.span));
                let warning = Diagnostic::new("W0202", test.span, message);
                Some(warning.label("the statements that it guards are never reached"))
            }
            (true, false) if !is_alarm(other) => {
                let message = format!("{} always holds", self.quoted("this condition", test.span));
                let warning = Diagnostic::new("W0203", test.span, message);
                Some(warning.label("the other side is never taken"))
            }
            _ => None,
        };
        let help = "remove the condition, or look at what it compares";
        self.warnings
            .extend(warning.map(|warning| warning.help(help)));
        self.sequence_if(outcomes.held, then);
        self.sequence_if(outcomes.failed, other);
    }

    fn looped(&mut self, condition: Span, constant: bool, body: &[Stmt]) {
        let outcomes = self.parts.outcomes(condition);
        if outcomes.failed && !outcomes.held && !constant && !is_alarm(body) {
            let message = "this loop never runs its body";
            let warning = Diagnostic::new("W0202", condition, message)
                .label("never leads into the loop")
                .help("remove the loop, or look at its condition");
            self.warnings.push(warning);
        }
        self.sequence_if(outcomes.held, body);
    }

    /// Warns about assertions among statements that are not reached.
    fn assertions(&mut self, missed: &[Stmt]) {
        let mut visit = |stmt: &Stmt| {
            let is_assertion = matches!(&stmt.kind, StmtKind::Assert(test, _) if !is_false(test))
                && !self.parts.is_lowered(stmt);
            if is_assertion && self.parts.misses(stmt) {
                let message = "this assertion is never reached";
                let span = self.parts.first_line(stmt.span);
                let warning = Diagnostic::new("W0205", span, message)
                    .label("no execution evaluates it")
                    .help("it says nothing about the program: check what comes before it");
                self.warnings.push(warning);
            }
        };
        missed.iter().for_each(|stmt| stmt.walk(&mut visit));
    }

    /// Returns the text of a condition, or `words` if the text is long.
    fn quoted(&self, words: &str, span: Span) -> String {
        let text = span.text(&self.parts.code.source);
        if text.len() > MAX_QUOTED || text.contains('\n') {
            words.to_owned()
        } else {
            format!("`{text}`")
        }
    }
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(_))
}

fn is_false(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(0))
}

/// Whether statements report an error, so that they should not be reached.
fn is_alarm(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Error(_) => true,
        StmtKind::Assert(test, _) => is_false(test),
        StmtKind::Block(inner) => is_alarm(inner),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use mazurka_core::{Execution, ProcessId, Status};

    use super::*;
    use crate::run::{ConcreteContext, Listener};
    use crate::{Machine, compile, load};

    /// A listener that records every instruction, which is slow.
    #[derive(Default)]
    struct Instructions(FxHashSet<u32>);

    impl Listener for Instructions {
        const LISTENS: bool = true;

        fn on_instruction(&mut self, _: &Code, pc: u32, _: ConcreteContext<'_>) {
            self.0.insert(pc);
        }
    }

    /// Makes all runs with two machines: one that records coverage, and one with the listener.
    fn explore(recording: &mut Machine, listening: &mut Machine, all: &mut Instructions) {
        let depth = listening.events().len();
        for process in listening.processes().in_order().to_vec() {
            if listening.status(process) == Status::Ready {
                assert!(listening.step_with(process, &[], all).is_ok());
                assert!(recording.step(process, &[]).is_ok());
                explore(recording, listening, all);
                listening.back_to(depth);
                recording.back_to(depth);
            }
        }
    }

    /// None of these programs does work before its first step, because a listener is not called for
    /// such work.
    #[test]
    fn the_records_determine_all_reached_instructions() {
        let programs = [
            "var x: int = 0 process { x := 1; if x == 2 { x := 3 } else { x := 4 } }
             process { x == 1 |> x := 2; for i in 0..x { x := x + i } }",
            "atomicity access var x, y: int = 0 process { y := 0; for i in 0..2 { x := i }; y := x }
             process { if x == 1 && y == 0 { y := 5 }; x := 2 <| y == 5 |> skip }",
            "var x: int = 0 lock m proc p(n: int) { x := n; if n > 0 { p(n - 1) }; x := x + 1 }
             process { lock(m); p(1); unlock(m) } process { x == 9 |>* x := 0; atomic { x := 1; lock(m) } }",
            "var x: int = 0 proc q() { x := x + 1; end }
             process { spawn { x := 2; let t = x; assert t < 9 }; spawn q(); join; x := 7 }
             process { await x == 3; assume x == 4; x := 5 }",
            "var x: int = 0 process { while x < 2 { x := x + 1; let t = x; while t < 5 { t := t + 2 } };
             error } process { await x > 7; x := 0 }",
        ];
        for source in programs {
            let program = load(source, &[]).expect("a program");
            let code = Arc::new(compile(&program, source).expect("code"));
            let reached = Arc::new(Reached::nothing(&code));
            let local = 1000;
            let mut recording = Machine::until(
                code.clone(),
                local,
                Default::default(),
                Some(reached.clone()),
            );
            let mut listening = Machine::new(code.clone(), local);
            let mut all = Instructions::default();
            let entries = 0..code.processes.len() as u32;
            all.0
                .extend(entries.map(|p| recording.place(ProcessId(p)) as u32));
            explore(&mut recording, &mut listening, &mut all);
            let met = code.reached_instructions(&reached);
            for (pc, &met) in met.iter().enumerate() {
                let expected = all.0.contains(&(pc as u32));
                assert_eq!(met, expected, "{pc}: {:?} of {source}", code.ops[pc]);
            }
        }
    }
}
