//! Checks under a memory model: turns the findings of a search into a verdict.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use mazurka_core::Bound;
use mazurka_memory::schedule::Schedule;
use mazurka_memory::{Ending, Failure, Memory, Replay, replay_graph};

use super::describe;
use super::inputs;
use super::program::WeakProgram;
use super::search::{Explored, Fault, SearchPlan};
use crate::builder::{Builder, Summary, explain};
use crate::check::{Outcomes, Results, fail_if_too_long};
use crate::hook;
use crate::report::{self, About, Report};
use crate::simulate::SearchAbort;
use crate::verdict::end_test;
use crate::world::world;

/// Why a program cannot be explored under a memory model.
pub(crate) struct Refused(pub String);

impl Refused {
    /// Fails the test with this reason, because the test itself has set the memory model.
    pub fn fail(&self, memory: Memory) -> ! {
        end_test!(
            "mazurka: under {memory} this cannot be explored: {}\n\
             Ask for sequential consistency: Builder::memory(Memory::Sc), or MAZURKA_MEMORY=sc.",
            self.0
        );
    }
}

impl Builder {
    /// Makes a program from a closure.
    pub(crate) fn weak_program(&self, body: Rc<dyn Fn()>, memory: Memory) -> WeakProgram {
        assert!(world().is_none(), "there is a model within a model");
        hook::install();
        WeakProgram::new(body, self, memory)
    }

    /// Explores a program, and fails the test if an execution has a fault.
    fn explore_and_judge(
        &self,
        program: &mut WeakProgram,
        plan: &SearchPlan,
        about: &About,
    ) -> Result<Explored, Refused> {
        if self.max_preemptions.is_some() {
            return Err(Refused("a bound on preemptions".into()));
        }
        let explored = loop {
            let explored = self.explore_weakly(program, plan).map_err(Refused)?;
            let Some(fault) = &explored.fault else {
                break explored;
            };
            // The reported run may show a fact that the search must know from its start; then
            // search again.
            let Some(mut report) = report_fault(program, plan.memory, fault) else {
                continue;
            };
            if plan.random.is_none() {
                let forbids = self.forbidding(program.body(), plan.memory);
                report.weak.extend(forbids);
            }
            let before = self.drawn.unwrap_or(0);
            report.end(before + explored.executions.max(1), about);
        };
        self.fail_if_decisions_cut(&explored.bounds, explored.executions);
        if self.max_depth.is_none() {
            let mut bounds = explored.bounds.iter();
            let long = bounds.find(|bound| matches!(bound, Bound::MaxDepth(_)));
            if let (None, Some(&bound)) = (self.memory, long) {
                return Err(Refused(explain(bound)));
            }
            fail_if_too_long(&explored.bounds, explored.executions);
        }
        Ok(explored)
    }

    /// Checks a closure.
    pub(crate) fn check_weakly(
        &self,
        body: Rc<dyn Fn()>,
        plan: &SearchPlan,
        about: &About,
    ) -> Result<Summary, Refused> {
        let mut program = self.weak_program(body, plan.memory);
        let explored = self.explore_and_judge(&mut program, plan, about)?;
        let drawn = plan.random.is_some();
        let summary = self.weak_findings(&program, plan.memory, &explored, drawn);
        let earlier = plan.checkpoint.as_ref();
        Ok(self.say(match earlier {
            Some(checkpoint) => checkpoint.add_earlier(summary),
            None => summary,
        }))
    }

    /// Checks that a closure always returns the same result.
    pub(crate) fn compare_weakly<T: PartialEq + Debug + 'static>(
        &self,
        body: (Rc<dyn Fn()>, Rc<Results<T>>),
        memory: Memory,
        about: &About,
    ) -> Result<Summary, Refused> {
        let (body, results) = body;
        let mut program = self.weak_program(body, memory);
        let all = results.clone();
        program.observe = Some(Rc::new(move || all.number()));
        inputs::compare(&program);
        let plan = SearchPlan {
            compares: true,
            ..SearchPlan::new(memory)
        };
        let explored = self.explore_and_judge(&mut program, &plan, about)?;
        if explored.results.len() > 1 {
            let text = |number: usize| results.text(number);
            let report = describe::differ(&mut program, memory, &explored.results, &text);
            drop(program);
            end_test!("{report}");
        }
        Ok(self.weak_summary(&program, memory, &explored, false))
    }

    /// Collects the results of a closure.
    pub(crate) fn outcomes_weakly<T: PartialEq + 'static>(
        &self,
        body: (Rc<dyn Fn()>, Rc<Results<T>>),
        memory: Memory,
    ) -> Result<Outcomes<T>, Refused> {
        let (body, results) = body;
        let mut program = self.weak_program(body, memory);
        let all = results.clone();
        program.observe = Some(Rc::new(move || all.number()));
        let plan = SearchPlan {
            everything: true,
            ..SearchPlan::new(memory)
        };
        let explored = self.explore_weakly(&mut program, &plan).map_err(Refused)?;
        drop(program);
        Ok(Outcomes {
            rounds_left_out: None,
            results: results.take(),
            executions: explored.executions,
            deadlocks: explored.deadlocks,
            failures: explored.failures,
            bounds: explored.bounds,
            blocked: explored.blocked,
        })
    }

    fn weak_summary(
        &self,
        program: &WeakProgram,
        memory: Memory,
        explored: &Explored,
        random: bool,
    ) -> Summary {
        self.say(self.weak_findings(program, memory, explored, random))
    }

    /// Summarises the findings.
    fn weak_findings(
        &self,
        program: &WeakProgram,
        memory: Memory,
        explored: &Explored,
        random: bool,
    ) -> Summary {
        let mut bounds = explored.bounds.clone();
        let drawn = bounds.iter().find_map(|bound| match bound {
            Bound::Sampled(drawn) => Some(*drawn),
            _ => None,
        });
        bounds.retain(|bound| !matches!(bound, Bound::Sampled(_)));
        Summary {
            executions: drawn.unwrap_or(explored.executions),
            blocked: explored.blocked,
            bounds,
            random,
            execution_counts: explored.execution_counts.clone(),
            memory,
            weak_orderings: false,
            ..program.inner(|inner| Summary::new(inner))
        }
    }

    /// Replays a schedule.
    pub(crate) fn follow_weakly(
        &self,
        body: Rc<dyn Fn()>,
        (memory, text): (Memory, &str),
        about: &About,
    ) -> Summary {
        let mut program = self.weak_program(body, memory);
        let schedule = match describe::read(&mut program, text) {
            Ok(schedule) => schedule,
            Err(error) => end_test!("mazurka: {error}"),
        };
        let explored = Explored {
            executions: 1,
            bounds: vec![Bound::MaxExecutions(1)],
            ..Explored::default()
        };
        loop {
            program.reset();
            let run = AssertUnwindSafe(|| {
                let replay = replay_graph(&mut program, memory, &schedule);
                replay.map(|(replay, _)| replay)
            });
            match catch_unwind(run) {
                Ok(Ok(replay)) => match fault_of(&replay, program.unnoticed()) {
                    Some(fault) => {
                        let fault = (fault, schedule.clone());
                        if let Some(report) = report_fault(&mut program, memory, &fault) {
                            report.end(1, about);
                        }
                    }
                    None => return self.weak_summary(&program, memory, &explored, false),
                },
                Ok(Err(error)) => end_test!(
                    "mazurka: the schedule does not fit: {error}. Is this the program that it was printed for?"
                ),
                Err(payload) => match payload.downcast::<SearchAbort>().map(|stop| *stop) {
                    Ok(SearchAbort::Restart | SearchAbort::Weak) => {}
                    Ok(SearchAbort::Refused(what)) => Refused(what).fail(memory),
                    Ok(SearchAbort::Diverged(how)) => end_test!("{}", report::divergence(&how)),
                    Err(other) => resume_unwind(other),
                },
            }
        }
    }
}

/// Returns the fault of a replayed run, if any.
pub(super) fn fault_of(replay: &Replay, unnoticed: Option<u32>) -> Option<Fault> {
    let fault = replay.failures.iter().find_map(|failure| match *failure {
        Failure::Failed { code, .. } => Some(Fault::Panic(code)),
        Failure::Race { first, second, .. } => Some(Fault::Race([first, second])),
        Failure::Deadlock => None,
    });
    let complete = replay.ending == Some(Ending::Complete);
    let fault = fault.or_else(|| unnoticed.filter(|_| complete).map(Fault::Panic));
    fault.or_else(|| (replay.ending == Some(Ending::Deadlock)).then_some(Fault::Deadlock))
}

/// Reports a fault. Returns `None` if the run has shown a fact that the search must know from its
/// start, so that the search must start again.
pub(super) fn report_fault(
    program: &mut WeakProgram,
    memory: Memory,
    fault: &(Fault, Schedule),
) -> Option<Report> {
    let given = inputs::are_given(program);
    let reported = catch_unwind(AssertUnwindSafe(|| {
        let fault = inputs::settle(program, memory, fault)?;
        describe::report(program, memory, &fault)
    }));
    if !given {
        inputs::forget(program);
    }
    match reported {
        Ok(Ok(report)) => return Some(report),
        Ok(Err(error)) => end_test!("{}", report::divergence(&error)),
        Err(payload) => match payload.downcast::<SearchAbort>().map(|stop| *stop) {
            Ok(SearchAbort::Restart) => program.record(false),
            Ok(SearchAbort::Diverged(how)) => end_test!("{}", report::divergence(&how)),
            Ok(SearchAbort::Refused(_) | SearchAbort::Weak) => {
                end_test!("{}", report::divergence("something new was met"))
            }
            Err(other) => resume_unwind(other),
        },
    }
    None
}
