//! The comparison of programs with unknown values: their outcomes are formulas over these values.
//!
//! Both programs are explored one after the other, and workers share each search. For each class of
//! outcomes the run of least rank is kept (`unknowns/least_runs.rs`), which the workers do not
//! decide. Then a pair of machines with common terms makes these runs, in normal form and in the
//! order of their ranks, and the solver is asked for each class whether the other program has its
//! outcomes. Most of the time goes into these questions, and each is about one class. So each
//! worker has a pair of machines of its own, and takes the next class when it has finished one. A
//! last pair repeats only the questions that a worker has not answered with yes, in order, and
//! finds the values of the difference. Its terms and queries do not depend on the workers, so the
//! record does not either, provided that no solver gives up; if one does, the answer is at best
//! "unknown".

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mazurka_core::record::{Binding, Run};
use mazurka_core::{Bound, Counts, Fingerprint, Patience, Schedule, ending};
use mazurka_explore::{Budget, Findings, Observer, Stateless, Workers};
use mazurka_lang::{Agreement, Code, Doubts, Machine, Observed, SymbolicMachine, Valuation};

use super::{Compared, Difference, Relation, SearchedProgram, number};
use crate::evidence::retell;
use crate::search::everything;
use crate::unknowns::{LeastRuns, doubt, follow, gives_up, in_normal_form, symbolic_machine};
use crate::{Algorithm, Options, Refused, Watch};

/// Time between two calls of the watch.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Number of classes for each worker at least: a worker makes all runs again.
const CLASSES_FOR_EACH: usize = 16;

/// How a run ended, and the fingerprints of the observed values and of the path condition.
type ClassPrint = (u8, (Fingerprint, Fingerprint));

/// Collects the classes of outcomes of a program.
struct Classes<'a> {
    names: &'a [String],
    runs: LeastRuns<ClassPrint>,
    doubts: Doubts,
}

impl<'a> Classes<'a> {
    fn new(names: &'a [String]) -> Self {
        Self {
            names,
            runs: LeastRuns::default(),
            doubts: Doubts::default(),
        }
    }
}

impl Observer<SymbolicMachine> for Classes<'_> {
    fn start(&mut self, program: &SymbolicMachine) {
        self.runs.start(program);
    }

    fn pushed(&mut self, program: &SymbolicMachine) {
        self.runs.pushed(program);
    }

    fn popping(&mut self, _: &SymbolicMachine) {
        self.runs.popping();
    }

    fn complete(&mut self, program: &SymbolicMachine) {
        if let Some(end) = number(ending(program)) {
            self.runs.keep(program, (end, program.print_of(self.names)));
        }
    }

    fn end(&mut self, program: &SymbolicMachine) {
        self.doubts = program.doubts();
    }
}

/// A class of outcomes: how its runs end, and one of them.
type Class = (u8, Schedule);

/// Explores one of the programs. Returns its classes in an order that does not depend on the
/// workers.
fn classes(
    code: &Arc<Code>,
    names: &[String],
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<SearchedProgram<Vec<Class>>, Refused> {
    let make = || symbolic_machine(code, options, options.patience.clone());
    let mut machine = make()?;
    let machines = || make().expect("it could start");
    let workers = Workers {
        count: options.jobs,
        programs: &machines,
    };
    let search = everything(Stateless::Optimal, options);
    let observers = || Classes::new(names);
    let (mut found, parts) = search.share_observed(&mut machine, &workers, watch, &observers);
    let mut doubts = machine.doubts();
    let mut runs = LeastRuns::default();
    for part in parts {
        doubts.add(&part.doubts);
        runs.absorb(part.runs);
    }
    for bound in options.bounds_of(&doubts, watch) {
        found.add_bound(bound);
    }
    let classes = runs.sorted().into_iter();
    Ok(SearchedProgram {
        algorithm: Algorithm::Optimal,
        found,
        outcomes: classes.map(|((end, _), run)| (end, run)).collect(),
    })
}

/// A machine for each program. Both have the same terms and the same solver.
struct Pair([SymbolicMachine; 2]);

impl Pair {
    fn new(codes: [&Arc<Code>; 2], options: &Options) -> Result<Self, Refused> {
        // These machines make only runs that were made before.
        let patience = Patience::default();
        let one = symbolic_machine(codes[0], options, patience.clone())?;
        let two = one.comparable(Arc::clone(codes[1]), options.limits.local, patience);
        match two.can_start() {
            true => Ok(Self([one, two])),
            false => Err(Refused::NoStart("compare")),
        }
    }

    /// Returns the outcomes of the classes of both programs.
    fn outcomes(&mut self, classes: &[Vec<Class>; 2], names: &[String]) -> [Vec<Observed>; 2] {
        [0, 1].map(|of: usize| {
            let machine = &mut self.0[of];
            let runs = classes[of].iter();
            let observed = runs.map(|(_, run)| {
                follow(machine, run);
                machine.values_of(names)
            });
            observed.collect()
        })
    }

    /// Decides whether the other program has the outcomes of a class of program `of`.
    fn ask(
        &self,
        classes: &[Vec<Class>; 2],
        all: &[Vec<Observed>; 2],
        of: usize,
        at: usize,
    ) -> Agreement {
        let end = classes[of][at].0;
        let others = classes[1 - of].iter().zip(&all[1 - of]);
        let others = others.filter(|((other, _), _)| *other == end);
        self.0[0].ends_alone(&all[of][at], others.map(|(_, observed)| observed))
    }
}

/// The questions about all classes, which workers share.
struct Questions<'a> {
    codes: [&'a Arc<Code>; 2],
    names: &'a [String],
    options: &'a Options,
    classes: &'a [Vec<Class>; 2],
    /// For each question, the program and its class.
    all: Vec<(usize, usize)>,
    /// Whether a worker has found that the other program has all outcomes of the class.
    agreed: Vec<AtomicBool>,
    next: AtomicUsize,
    /// The least question that was not answered with yes. Later ones need no answer.
    first: AtomicUsize,
    stopped: AtomicBool,
}

impl Questions<'_> {
    /// Answers questions until none is left. Returns the doubts of the solver.
    fn work(&self) -> Doubts {
        let Ok(mut pair) = Pair::new(self.codes, self.options) else {
            return Doubts::default();
        };
        let observed = pair.outcomes(self.classes, self.names);
        loop {
            let at = self.next.fetch_add(1, Ordering::Relaxed);
            let over = at > self.first.load(Ordering::Relaxed)
                || self.stopped.load(Ordering::Relaxed)
                || self.options.patience.is_over();
            let Some(&(of, class)) = self.all.get(at).filter(|_| !over) else {
                return pair.0[0].doubts();
            };
            match pair.ask(self.classes, &observed, of, class) {
                Agreement::Agree => self.agreed[at].store(true, Ordering::Relaxed),
                Agreement::Differ(_) => {
                    self.first.fetch_min(at, Ordering::Relaxed);
                }
                Agreement::Unknown(_) => {}
            }
        }
    }

    /// Lets workers answer the questions. Returns their doubts, and the limit that has stopped
    /// them.
    fn share(&self, watch: &mut Watch<'_>, budget: &Budget<'_>) -> (Doubts, Option<Bound>) {
        let most = self.all.len().div_ceil(CLASSES_FOR_EACH);
        let workers = self.options.jobs.clamp(1, most.max(1));
        let (mut doubts, mut bound) = (Doubts::default(), None);
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            for _ in 0..workers {
                let sender = sender.clone();
                // Sending fails only if the receiver is gone.
                scope.spawn(move || sender.send(self.work()));
            }
            drop(sender);
            loop {
                match receiver.recv_timeout(BETWEEN_LOOKS) {
                    Ok(more) => doubts.add(&more),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if bound.is_none() {
                    bound = budget.look(Counts::default(), watch).break_value();
                    self.stopped.fetch_or(bound.is_some(), Ordering::Relaxed);
                }
            }
        });
        let over = || budget.look(Counts::default(), watch).break_value();
        (doubts, bound.or_else(over))
    }

    /// Returns the questions that the workers have not answered with yes. If a limit has stopped
    /// them, returns only the first that they have answered with no.
    fn open(&self, stopped: bool) -> Vec<(usize, usize)> {
        let first = self.first.load(Ordering::Relaxed);
        let open = |at: &usize| match stopped {
            true => *at == first,
            false => !self.agreed[*at].load(Ordering::Relaxed),
        };
        let all = (0..self.all.len()).filter(open);
        all.map(|at| self.all[at]).collect()
    }
}

/// Compares programs for all unknown values.
pub(super) fn compare(
    codes: [&Arc<Code>; 2],
    (relation, names): (Relation, &[String]),
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Compared, Refused> {
    let budget = Budget::new(&options.limits);
    // The runs that were made decide which terms this pair has.
    let mut scouts = Pair::new(codes, options)?;
    let mut met = Vec::new();
    for (code, scout) in codes.into_iter().zip(&mut scouts.0) {
        let left = &Options {
            limits: budget.left(),
            ..options.clone()
        };
        let mut one = classes(code, names, left, watch)?;
        for (_, run) in &mut one.outcomes {
            // After the time is over, the answer is open, and these runs are not shown.
            if budget.look(Counts::default(), watch).is_break() {
                break;
            }
            follow(scout, run);
            *run = in_normal_form(scout);
        }
        met.push(one);
    }
    drop(scouts);
    let [one, two] = <[_; 2]>::try_from(met).unwrap_or_else(|_| unreachable!("two programs"));
    let whole = [one.is_whole(), two.is_whole()];
    let mut found = [one.found, two.found];
    let classes = [one.outcomes, two.outcomes];
    let directions = relation.directions().iter();
    // If a limit has cut both searches of a direction, its answers decide nothing: neither does the
    // relation hold, nor is a difference certain.
    let may_hold = directions.clone().all(|&of| whole[of]);
    let all: Vec<(usize, usize)> = directions
        .filter(|&&of| may_hold || whole[1 - of])
        .flat_map(|&of| (0..classes[of].len()).map(move |at| (of, at)))
        .collect();
    let questions = Questions {
        codes,
        names,
        options,
        classes: &classes,
        agreed: all.iter().map(|_| AtomicBool::new(false)).collect(),
        all,
        next: AtomicUsize::new(0),
        first: AtomicUsize::new(usize::MAX),
        stopped: AtomicBool::new(false),
    };
    let (doubts, stopped) = questions.share(watch, &budget);
    let mut holds = stopped.is_none() && may_hold;
    options.show();
    let mut difference = None;
    let mut pair = Pair::new(codes, options)?;
    let mut observed = None;
    for (of, class) in questions.open(stopped.is_some()) {
        let observed = observed.get_or_insert_with(|| pair.outcomes(&classes, names));
        let alone = match pair.ask(&classes, observed, of, class) {
            Agreement::Agree => continue,
            Agreement::Differ(valuation) => Some(valuation),
            Agreement::Unknown(_) => None,
        };
        holds = false;
        let certain = whole[1 - of];
        let shown = alone.filter(|_| certain).and_then(|valuation| {
            let run = &classes[of][class].1;
            let (values, run) = shown(&mut pair.0[of], run, &valuation, options, &mut found[of])?;
            Some(Difference { of, values, run })
        });
        match shown {
            Some(shown) => {
                difference = Some(shown);
                break;
            }
            None => found[of].add_bound(Bound::Undecided),
        }
    }
    for bound in options.bounds_of(&doubts, watch).into_iter().chain(stopped) {
        found[0].add_bound(bound);
    }
    doubt(&pair.0[0], options, &mut found[0], watch);
    for found in &mut found {
        budget.restate(&mut found.bounds);
    }
    Ok(Compared {
        outcomes: [0, 1].map(|of: usize| classes[of].len() as u64),
        holds,
        difference,
        algorithm: one.algorithm,
        found,
    })
}

/// Returns the values, and a run with them. `None` if the run exceeds the range of numbers, which
/// is then a bound.
fn shown(
    machine: &mut SymbolicMachine,
    schedule: &Schedule,
    valuation: &Valuation,
    options: &Options,
    found: &mut Findings,
) -> Option<(Vec<Binding>, Run)> {
    options.show();
    follow(machine, schedule);
    let run = machine.concrete_with(valuation);
    let mut machine = Machine::new(run.code, options.limits.local);
    let bounds = gives_up(&mut machine, &run.schedule, options);
    let fits = bounds.is_empty();
    bounds.into_iter().for_each(|bound| found.add_bound(bound));
    fits.then(|| (run.values, retell(&mut machine, &run.schedule).run))
}
