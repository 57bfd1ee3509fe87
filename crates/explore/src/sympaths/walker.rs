//! A program that a search expands state by state: the rule SCHEDULE, and the ends and mishaps that
//! it meets.

use std::ops::ControlFlow;

use mazurka_core::{
    Bound, Counts, Event, Limits, Mishap, MishapKind, ProcessId, Schedule, ScheduledStep, Status,
    StepError, Symbolic, with_status,
};
use smallvec::SmallVec;

use super::curve::Expansion;
use super::forms::{Extension, Forms};
use super::path::{MadeSteps, Path, is_silent, made_after, run_of, schedule};
use super::{Audience, LeadsHere, Rank, SymbolicSearch};
use crate::algorithms::naive::next_outcomes;
use crate::drive::budget::{Budget, broken_by};
use crate::drive::driver::{End, Watch, is_broken_off};
use crate::drive::pace::Pace;

/// Greatest number of states between two checks of the limits.
const STEPS_BETWEEN_CHECKS: u32 = 64;

/// A step to make.
pub(super) struct Choice {
    pub(super) process: ProcessId,
    pub(super) outcomes: SmallVec<[i64; 1]>,
}

pub(super) type Processes = SmallVec<[ProcessId; 8]>;

/// The ends that a search has met.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends {
    pub(super) states: u64,
    pub(super) deadlocks: u64,
    pub(super) failures: u64,
    pub(super) discarded: u64,
    /// The bounds that were hit, each with its first rank.
    bounds: Vec<(Rank, Bound)>,
}

impl Ends {
    /// Adds the ends of another worker.
    pub(super) fn absorb(&mut self, more: Ends) {
        self.states += more.states;
        self.deadlocks += more.deadlocks;
        self.failures += more.failures;
        self.discarded += more.discarded;
        for (rank, bound) in more.bounds {
            self.bound(rank, bound);
        }
    }

    pub(super) fn bound(&mut self, rank: Rank, bound: Bound) {
        match self.bounds.iter_mut().find(|known| known.1 == bound) {
            Some(known) => known.0 = known.0.min(rank),
            None => self.bounds.push((rank, bound)),
        }
    }

    fn mishap(&mut self, rank: Rank, kind: MishapKind, limits: &Limits) {
        let bound = match kind {
            MishapKind::LocalLimit => Bound::MaxLocal(limits.local),
            MishapKind::MessageLimit(most) => Bound::MaxMessages(most),
            MishapKind::Undecided => Bound::Undecided,
            MishapKind::BrokenOff => broken_by(limits),
            _ => Bound::IntRange,
        };
        self.bound(rank, bound);
    }

    /// Returns the bounds in the order in which one worker hits them.
    pub(super) fn bounds(&self) -> Vec<Bound> {
        let mut bounds = self.bounds.clone();
        bounds.sort_unstable_by_key(|(rank, _)| *rank);
        bounds.into_iter().map(|(_, bound)| bound).collect()
    }
}

/// What an expansion has found, apart from the successors.
pub(super) struct Expanded {
    /// The processes that may find that they must wait.
    pub(super) may_stay: Processes,
    /// The effect on the number of states, without the successors.
    pub(super) expansion: Expansion,
}

struct CurrentPath<'a, E: Symbolic> {
    program: &'a E,
    path: &'a Path,
    made: &'a MadeSteps,
    rank: Rank,
}

impl<E: Symbolic> LeadsHere for CurrentPath<'_, E> {
    fn schedule(&self) -> Schedule {
        schedule(self.program, self.path)
    }

    fn run(&self) -> Schedule {
        let mut run = run_of(self.made);
        let since = Schedule::from_run(self.program.events(), self.program.processes());
        run.0.extend(since.0);
        run
    }

    fn rank(&self) -> Rank {
        self.rank
    }
}

/// A program with the limits and the findings of a search.
pub(super) struct Walker<'a, 'w, E: Symbolic> {
    pub(super) program: &'a mut E,
    pub(super) search: &'a SymbolicSearch,
    pub(super) ends: Ends,
    /// States that are no longer needed: others reuse their memory.
    spare: Vec<E::State>,
    /// Number of expansions in which a process moved.
    pub(super) steps: u64,
    /// The steps to the state that is being expanded. In a breadth-first search the program does
    /// not store their events.
    pub(super) made: MadeSteps,
    /// The rank of what is found now.
    pub(super) rank: Rank,
    /// Whether there is a false `assume` before the first step. Then no failure counts.
    void: bool,
    pub(super) budget: Budget<'a>,
    pace: Pace,
    watch: &'a mut Watch<'w>,
    audience: &'a mut dyn Audience<E>,
}

impl<'a, 'w, E: Symbolic> Walker<'a, 'w, E> {
    /// Brings the program to its initial state.
    pub(super) fn new(
        program: &'a mut E,
        search: &'a SymbolicSearch,
        budget: Budget<'a>,
        watch: &'a mut Watch<'w>,
        audience: &'a mut dyn Audience<E>,
    ) -> Self {
        program.back_to(0);
        let mut initial = program.initial_mishaps().iter();
        let void = initial.any(|mishap| mishap.kind == MishapKind::Discarded);
        Self {
            program,
            search,
            ends: Ends::default(),
            spare: Vec::new(),
            steps: 0,
            made: None,
            rank: Rank::default(),
            void,
            budget,
            pace: Pace::new(STEPS_BETWEEN_CHECKS),
            watch,
            audience,
        }
    }

    /// Returns the current state of the program.
    pub(super) fn state(&mut self) -> E::State {
        match self.spare.pop() {
            Some(mut state) => {
                self.program.copy_state(&mut state);
                state
            }
            None => self.program.state(),
        }
    }

    /// Receives a state that is no longer needed.
    pub(super) fn discard(&mut self, state: E::State) {
        self.spare.push(state);
    }

    /// Shows the failures before the first step.
    pub(super) fn initial_failures(&mut self) {
        let initial = self.program.initial_mishaps().iter();
        let shown = |mishap: &&Mishap| match mishap.kind {
            MishapKind::Failure => !self.void,
            MishapKind::Discarded | MishapKind::BrokenOff => false,
            _ => true,
        };
        let initial: Vec<Mishap> = initial.filter(shown).copied().collect();
        for mishap in initial {
            self.failed(mishap, &None);
        }
    }

    fn failed(&mut self, mishap: Mishap, path: &Path) {
        let here = CurrentPath {
            program: &*self.program,
            path,
            made: &self.made,
            rank: self.rank,
        };
        self.audience.failed(self.program, mishap, &here);
    }

    /// Shows how the path to the current state ends.
    pub(super) fn ended(&mut self, end: End, path: &Path) {
        let here = CurrentPath {
            program: &*self.program,
            path,
            made: &self.made,
            rank: self.rank,
        };
        self.audience.ended(self.program, end, &here);
    }

    /// Tells the audience that this program makes no more steps.
    pub(super) fn close(&mut self) {
        self.audience.closed(self.program);
    }

    /// Makes a step again. Returns whether it is possible.
    pub(super) fn make(&mut self, choice: &Choice) -> ControlFlow<Bound, bool> {
        match self.program.step(choice.process, &choice.outcomes) {
            Ok(event) if is_broken_off(&event.mishaps) => ControlFlow::Break(self.why_broken()),
            made => ControlFlow::Continue(made.is_ok()),
        }
    }

    /// Makes the next step of a run that another program has made.
    pub(super) fn repeat(&mut self, step: &ScheduledStep) -> ControlFlow<Bound> {
        let process = self.program.processes().find(&step.process);
        let made = process.ok_or(StepError::NotReady);
        let made = made.and_then(|process| self.program.step(process, &step.outcomes));
        match made {
            Ok(event) if is_broken_off(&event.mishaps) => ControlFlow::Break(self.why_broken()),
            Ok(_) => self.check_limits_at_intervals(),
            Err(error) => panic!("a step of the same program is impossible: {error}"),
        }
    }

    /// Applies SCHEDULE to the current state: calls `visit` in each of its successors.
    pub(super) fn expand(
        &mut self,
        path: &Path,
        mut visit: impl FnMut(&mut Self, Choice),
    ) -> ControlFlow<Bound, Expanded> {
        self.look_at_limits()?;
        let depth = self.program.events().len();
        let ready = with_status(self.program, Status::Ready);
        let mut moved = false;
        let mut may_stay = Processes::new();
        for &process in &ready {
            let mut stays = false;
            let mut outcomes = Some(SmallVec::new());
            while let Some(chosen) = outcomes {
                let Ok(event) = self.program.step(process, &chosen) else {
                    break;
                };
                if is_broken_off(&event.mishaps) {
                    return ControlFlow::Break(self.why_broken());
                }
                outcomes = next_outcomes(event);
                let values = event.outcomes.iter().map(|o| o.value).collect();
                if event.stayed {
                    stays = true;
                } else {
                    moved = true;
                    self.rank.ordinal += 1;
                    let choice = Choice {
                        process,
                        outcomes: values,
                    };
                    visit(self, choice);
                }
                self.program.back_to(depth);
                // A `choose` may have very many outcomes, and there may be many processes.
                self.check_limits_at_intervals()?;
            }
            if stays {
                may_stay.push(process);
            }
        }
        let before = self.ends.states;
        if may_stay.len() == ready.len() {
            self.end_waiting(path, &ready);
        }
        self.steps += u64::from(moved);
        ControlFlow::Continue(Expanded {
            may_stay,
            expansion: Expansion {
                new: (self.ends.states - before) as u32,
                moved,
                late: false,
            },
        })
    }

    /// Lets all these processes find, one after the other, that they must wait. Each combination in
    /// which all of them wait is a state without successors.
    fn end_waiting(&mut self, path: &Path, ready: &[ProcessId]) {
        let Some((&process, others)) = ready.split_first() else {
            self.rank.ordinal += 1;
            return self.end(path);
        };
        let depth = self.program.events().len();
        if self.program.status(process) != Status::Ready {
            return self.end_waiting(path, others);
        }
        let mut outcomes = Some(SmallVec::new());
        while let Some(chosen) = outcomes {
            let Ok(event) = self.program.step(process, &chosen) else {
                break;
            };
            outcomes = next_outcomes(event);
            if event.stayed {
                self.end_waiting(path, others);
            }
            self.program.back_to(depth);
        }
    }

    /// Records a symbolic state in which no process can continue.
    pub(super) fn end(&mut self, path: &Path) {
        let end = End::classify(self.program);
        match end {
            End::Discarded => {
                self.ends.discarded += 1;
                return;
            }
            End::Lost | End::Blocked | End::Cut => return,
            End::Final | End::Deadlock | End::Failure => {}
        }
        self.ends.states += 1;
        self.ends.deadlocks += u64::from(end == End::Deadlock);
        let mut failed = end == End::Failure;
        if end == End::Final {
            for mishap in self.program.final_mishaps() {
                match mishap.kind {
                    MishapKind::Failure => {
                        failed = true;
                        self.failed(mishap, path);
                    }
                    kind => self.ends.mishap(self.rank, kind, &self.search.limits),
                }
            }
        }
        self.ends.failures += u64::from(failed);
        self.ended(end, path);
    }

    /// Records the mishaps of the last event.
    pub(super) fn mishaps(&mut self, path: &Path) {
        let Some(event) = self.program.events().last() else {
            return;
        };
        if event.mishaps.is_empty() {
            return;
        }
        let mishaps: SmallVec<[Mishap; 1]> = event.mishaps.iter().copied().collect();
        for mishap in mishaps {
            let discarded = match path {
                _ if self.void => true,
                Some(node) => node.discarded,
                None => {
                    let last = self.program.events().len() - 1;
                    crate::past_is_discarded(self.program, last)
                }
            };
            match mishap.kind {
                MishapKind::Failure if !discarded => self.failed(mishap, path),
                MishapKind::Failure | MishapKind::Discarded => {}
                kind => self.ends.mishap(self.rank, kind, &self.search.limits),
            }
        }
    }

    /// Returns the path extended by the last event of the program, in its form.
    pub(super) fn extended(&self, path: &Path) -> Path {
        self.extension(path).onto(path)
    }

    /// Returns what the last event of the program adds to a path, in its form.
    pub(super) fn extension(&self, path: &Path) -> Extension {
        let forms = Forms {
            program: &*self.program,
            reduction: self.search.reduction,
        };
        forms.extension(path)
    }

    /// Whether the last event has a mishap.
    pub(super) fn has_mishap(&self) -> bool {
        let last = self.program.events().last();
        last.is_some_and(|event| !event.mishaps.is_empty())
    }

    /// Returns the steps to the current state.
    pub(super) fn made_to_here(&self) -> MadeSteps {
        let since = Schedule::from_run(self.program.events(), self.program.processes());
        made_after(self.made.clone(), since.0)
    }

    /// Whether the last step left no event and its process has nothing left to do. Then the state
    /// is dropped if another process is certain to make a step (*Pruning* in the head of
    /// `sympaths/mod.rs`).
    pub(super) fn is_covered(&self) -> bool {
        let last = self.program.events().last();
        let ended = |event: &Event| self.program.status(event.process) == Status::Ended;
        last.is_some_and(|event| is_silent(event) && ended(event))
    }

    fn look_at_limits(&mut self) -> ControlFlow<Bound> {
        self.budget.may_step(self.steps)?;
        self.budget.may_run(self.ends.states)?;
        self.check_limits_at_intervals()
    }

    fn check_limits_at_intervals(&mut self) -> ControlFlow<Bound> {
        if self.pace.is_due() {
            self.budget.look(self.counts(), self.watch)
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Returns the limit that broke off a step.
    pub(super) fn why_broken(&mut self) -> Bound {
        self.budget.why_broken(self.counts(), self.watch)
    }

    fn counts(&self) -> Counts {
        Counts {
            executions: self.ends.states,
            deadlocks: self.ends.deadlocks,
            steps: self.steps,
            events: self.steps,
            ..Counts::default()
        }
    }
}
