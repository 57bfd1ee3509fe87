//! Inputs under a memory model.
//!
//! A comparison of inputs is a *decision* of the execution graph: an event with an outcome. For
//! example, for `x < 3` with an input `x` the *question* is the term `x < 3`, and the outcomes are
//! its two *sides*, true and false. Only outcomes that are feasible together with the decisions of
//! all threads so far are explored. `mazurka-memory` stores questions and outcomes as indices. This
//! file gives the indices their meaning, and the solver decides what is feasible. The tables are
//! kept for all executions of a search, so an index has the same meaning in all of them.
//!
//! A reported execution runs with concrete values of the inputs that lead to the same decisions, so
//! its graph has no decision events. Its schedule is the schedule of the search without the
//! decisions, and a replay lists the values as facts: `rc11: 0 0.1=1; 0#0=7`.

#[cfg(not(feature = "symbolic"))]
mod known {
    use mazurka_memory::schedule::Schedule;
    use mazurka_memory::{Decision, Memory, Value};

    use crate::weak::program::WeakProgram;
    use crate::weak::search::{Explored, Fault};
    use crate::world::Inner;

    pub(crate) fn decide(_: &mut Inner, _: &[Decision], _: u32, _: Option<Value>) -> Option<Value> {
        None
    }

    pub(crate) fn give(_: &mut WeakProgram, inputs: &[(&str, &str)]) -> Result<(), String> {
        match inputs {
            [] => Ok(()),
            _ => Err("it has inputs, and these need the feature `symbolic`".into()),
        }
    }

    pub(crate) fn settle(
        _: &mut WeakProgram,
        _: Memory,
        fault: &(Fault, Schedule),
    ) -> Result<(Fault, Schedule), String> {
        Ok(fault.clone())
    }

    pub(crate) fn are_given(_: &WeakProgram) -> bool {
        true
    }

    pub(crate) fn forget(_: &WeakProgram) {}

    pub(crate) fn compare(_: &WeakProgram) {}

    pub(crate) fn are_incomplete(_: &WeakProgram) -> bool {
        false
    }

    pub(crate) fn decisions_cut(_: &WeakProgram) -> Option<u64> {
        None
    }

    /// Compares nothing.
    #[derive(Default)]
    pub(crate) struct DifferingRuns {}

    impl DifferingRuns {
        pub fn are_asked(&self, _: &WeakProgram) -> bool {
            false
        }

        pub fn add(&mut self, _: &WeakProgram, _: u64, _: Schedule) -> bool {
            false
        }

        pub fn settle(self, _: &mut WeakProgram, _: Memory, _: &mut Explored) {}
    }
}

#[cfg(feature = "symbolic")]
mod known {
    use mazurka_memory::graph::{Graph, Kind};
    use mazurka_memory::schedule::Schedule;
    use mazurka_memory::{Action, Decision, Memory, Value, replay_graph};
    use mazurka_smt::Term;
    use rustc_hash::FxHashMap;

    use crate::inputs::EndedRuns;
    use crate::unknowns::Unknowns;
    use crate::weak::Rule;
    use crate::weak::check::fault_of;
    use crate::weak::program::WeakProgram;
    use crate::weak::search::{Explored, Fault};
    use crate::world::{Inner, Pending, Place, World};

    /// A question about inputs.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    pub(crate) enum Question {
        /// A term that is assumed to hold. This question has one outcome.
        Holds(Term),
        /// Whether a condition is true.
        Side(Term),
        /// The value of a term. At this place the code needs it as a plain number.
        Value(Term, Place),
    }

    /// The questions and outcomes of a search.
    #[derive(Default)]
    pub(crate) struct Questions {
        all: Vec<Question>,
        numbers: FxHashMap<Question, u32>,
        /// For each outcome, the index of its question, and its key: a side (0 or 1), or the key of
        /// a value (unknowns.rs).
        outcomes: Vec<(u32, i64)>,
        outcome_numbers: FxHashMap<(u32, i64), u32>,
    }

    impl Questions {
        fn number(&mut self, question: Question) -> u32 {
            *self.numbers.entry(question).or_insert_with(|| {
                self.all.push(question);
                self.all.len() as u32 - 1
            })
        }

        fn outcome(&mut self, question: u32, key: i64) -> Value {
            let number = self.outcome_numbers.entry((question, key));
            Value::from(*number.or_insert_with(|| {
                self.outcomes.push((question, key));
                self.outcomes.len() as u32 - 1
            }))
        }

        fn key(&self, outcome: Value) -> i64 {
            self.outcomes[outcome as usize].1
        }
    }

    impl Unknowns {
        /// Returns the constraint that an outcome puts on the inputs.
        fn constraint(&mut self, outcome: Value) -> Term {
            let (question, key) = self.questions.outcomes[outcome as usize];
            match self.questions.all[question as usize] {
                Question::Holds(term) => term,
                Question::Side(term) if key == 1 => term,
                Question::Side(term) => self.terms.not(term),
                Question::Value(term, _) => self.has_key(term, key),
            }
        }

        /// Returns the first feasible key of a question under the decisions in `path`; if `after`
        /// is given, the first one after it. `None` if there is no such key.
        fn feasible(&mut self, question: Question, after: Option<i64>) -> Option<i64> {
            match question {
                Question::Holds(_) => after.is_none().then_some(0),
                Question::Side(term) => {
                    let opposite = self.terms.not(term);
                    let sides = [opposite, term];
                    let from = after.map_or(0, |after| after + 1);
                    (from..2).find(|&side| self.possible(sides[side as usize]).is_some())
                }
                Question::Value(term, place) => {
                    // A key outside this range belongs to a value that is not searched for. It is
                    // the last one that is explored.
                    if after.is_some_and(|after| !(0..i64::MAX).contains(&after)) {
                        return None;
                    }
                    let from = after.map(|after| after + 1);
                    let (key, _, model) = self.values(term, from, None, place);
                    let next = from.is_none_or(|from| key >= from);
                    (next && model.is_some()).then_some(key)
                }
            }
        }
    }

    /// Returns the first feasible outcome of a question under the decisions `made`; if `after` is
    /// given, the next feasible one after it. `None` if there is no such outcome.
    pub(crate) fn decide(
        inner: &mut Inner,
        made: &[Decision],
        question: u32,
        after: Option<Value>,
    ) -> Option<Value> {
        let unknowns = &mut inner.unknowns;
        let asked = unknowns.questions.all[question as usize];
        let after = after.map(|after| unknowns.questions.key(after));
        let made = made.iter().map(|it| unknowns.constraint(it.outcome));
        let mut path: Vec<Term> = made.collect();
        // Canonical order, so that the solver is asked about equal paths only once.
        path.sort_unstable();
        path.dedup();
        let path = std::mem::replace(&mut unknowns.path, path);
        let key = unknowns.feasible(asked, after);
        unknowns.path = path;
        key.map(|key| unknowns.questions.outcome(question, key))
    }

    impl World {
        /// Decides a question. Returns the key of its outcome.
        pub(crate) fn decide_weakly(&self, question: Question) -> i64 {
            let (question, place) = {
                let mut inner = self.inner.borrow_mut();
                let place = inner.me().pending.place;
                (inner.unknowns.questions.number(question), place)
            };
            let pending = Pending::new(None, ("", "decision"), place);
            let outcome = self.act(pending, Action::Decide { question }, Rule::Nothing);
            let mut inner = self.inner.borrow_mut();
            let held = inner.unknowns.constraint(outcome);
            inner.unknowns.path.push(held);
            inner.unknowns.questions.key(outcome)
        }
    }

    /// Fixes the values of all inputs from now on: those in `inputs`, and 0 for all others.
    pub(crate) fn give(program: &mut WeakProgram, inputs: &[(&str, &str)]) -> Result<(), String> {
        let mut given = Vec::new();
        for (name, value) in inputs {
            let bits = crate::inputs::bits(value);
            let bits = bits.ok_or_else(|| format!("`{value}` is no value of an input"))?;
            given.push(((*name).to_owned(), bits));
        }
        program.inner(|inner| inner.unknowns.given = Some(given));
        Ok(())
    }

    /// Whether the values of inputs are fixed.
    pub(crate) fn are_given(program: &WeakProgram) -> bool {
        program.inner(|inner| inner.unknowns.given.is_some())
    }

    /// Makes inputs unknown again.
    pub(crate) fn forget(program: &WeakProgram) {
        program.inner(|inner| inner.unknowns.given = None);
    }

    /// Announces that results are going to be compared.
    pub(crate) fn compare(program: &WeakProgram) {
        program.inner(|inner| inner.unknowns.compares = true);
    }

    /// Whether the solver has left something out.
    pub(crate) fn are_incomplete(program: &WeakProgram) -> bool {
        program.inner(|inner| {
            let unknowns = &inner.unknowns;
            unknowns.undecided.is_some() || unknowns.left_out.is_some()
        })
    }

    /// Returns the limit on the decisions of an execution, if one has reached it.
    pub(crate) fn decisions_cut(program: &WeakProgram) -> Option<u64> {
        program.inner(|inner| inner.unknowns.lost.then_some(inner.unknowns.most))
    }

    /// Returns the schedule without the steps that are decisions.
    fn plain(schedule: &Schedule, graph: &Graph) -> Schedule {
        let mut next = vec![0; graph.threads() as usize];
        let mut stays = |thread: mazurka_memory::ThreadId| {
            let events = graph.thread(thread);
            let at: &mut usize = &mut next[thread.index()];
            let Some(event) = events.get(*at).map(|&slot| graph.event(slot)) else {
                return true;
            };
            let pair = event.kind.reads_exclusively() && events.len() > *at + 1;
            *at += 1 + usize::from(pair);
            event.kind != Kind::Decision
        };
        let steps = schedule.0.iter().filter(|step| stays(step.thread));
        Schedule(steps.copied().collect())
    }

    /// Repeats an execution of the search. Returns its schedule without decisions, if it has inputs
    /// whose values are unknown.
    fn follow(
        program: &mut WeakProgram,
        memory: Memory,
        schedule: &Schedule,
    ) -> Result<Option<Schedule>, String> {
        program.reset();
        let replayed = replay_graph(&mut *program, memory, schedule);
        let (_, graph) = replayed.map_err(|error| error.to_string())?;
        let open = program.inner(|inner| {
            let unknowns = &inner.unknowns;
            unknowns.given.is_none() && !unknowns.asked.is_empty()
        });
        Ok(open.then(|| plain(schedule, &graph)))
    }

    /// Finds values of the inputs that lead to the execution with this fault, and fixes the inputs
    /// to them. Returns the fault and the schedule of the execution with these values.
    pub(crate) fn settle(
        program: &mut WeakProgram,
        memory: Memory,
        fault: &(Fault, Schedule),
    ) -> Result<(Fault, Schedule), String> {
        let Some(plain) = follow(program, memory, &fault.1)? else {
            return Ok(fault.clone());
        };
        let given = program.inner(|inner| {
            let unknowns = &mut inner.unknowns;
            unknowns.settle().then(|| {
                let asked = unknowns.asked.iter();
                asked.map(|it| (it.name.clone(), it.value())).collect()
            })
        });
        let Some(given) = given else {
            return Ok(fault.clone());
        };
        program.inner(|inner| inner.unknowns.given = Some(given));
        program.reset();
        let replayed = replay_graph(&mut *program, memory, &plain);
        let (replay, _) = replayed.map_err(|error| error.to_string())?;
        let again = fault_of(&replay, program.unnoticed());
        let again = again.ok_or("with the inputs found the failure does not come again")?;
        Ok((again, plain))
    }

    /// Looks for two executions with different results that the same inputs can reach.
    #[derive(Default)]
    pub(crate) struct DifferingRuns(EndedRuns<Schedule>);

    impl DifferingRuns {
        /// Whether results are compared for equal inputs only.
        pub fn are_asked(&self, program: &WeakProgram) -> bool {
            program.inner(|inner| inner.unknowns.compared)
        }

        /// Adds an execution. Returns whether an earlier execution with a different result can be
        /// reached by the same inputs.
        pub fn add(&mut self, program: &WeakProgram, result: u64, schedule: Schedule) -> bool {
            program.inner(|inner| self.0.add(inner, result, || schedule))
        }

        /// Replaces the results by the two executions, and fixes their inputs from now on.
        pub fn settle(self, program: &mut WeakProgram, memory: Memory, explored: &mut Explored) {
            let Some((pair, given)) = self.0.found else {
                return;
            };
            explored.results.clear();
            for (result, schedule) in pair {
                let plain = follow(program, memory, &schedule).ok().flatten();
                explored.results.push((result, plain.unwrap_or(schedule)));
            }
            program.inner(|inner| inner.unknowns.given = Some(given));
            program.reset();
        }
    }
}

pub(crate) use known::{DifferingRuns, compare, decide, decisions_cut, forget, give, settle};
#[cfg(feature = "symbolic")]
pub(crate) use known::{Question, Questions};
pub(crate) use known::{are_given, are_incomplete};
