//! `check --certificate` and `check-certificate`: evidence for the verdict "verified". The checker
//! of the evidence (crate `certificate`) shares no code with the explorers, so the user need not
//! trust them.
//!
//! The evidence is the tree of executions that `optimal` explores, with some steps added so that
//! the theorem of docs/proofs/certificates.md applies. If this tree is infinite or too large, the
//! evidence is the set of all states.
//!
//! ```
//! use mazurka::certificate::{self, Certificate};
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let source = "var x: int = 0  lock m  process p (i in 0..2) { lock(m); x := x + 1; unlock(m) }";
//! let program = Program::load("counter.maz", source, &[]).unwrap();
//! let options = Options::default();
//! let made = program.certify(&options, &mut quietly()).unwrap();
//! let bytes = made.certificate.to_bytes();
//!
//! let read = Certificate::from_bytes(&bytes).unwrap();
//! let checked = certificate::check(&read, &options, &mut quietly()).unwrap();
//! assert_eq!(checked.verdict(), Verdict::Verified);
//! assert_eq!(checked.facts.executions, 2);
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use mazurka_certificate::Tree;
pub use mazurka_certificate::{Certificate, Facts, Kind as Evidence, Rejected};
use mazurka_core::{Bound, Execution, Kind, Kinds, StopReason, Verdict};
use mazurka_explore::{Observer, Progress};
use mazurka_lang::flat::Flat;
use mazurka_lang::{Code, Machine};

use crate::front::Front;
use crate::search::everything;
use crate::{Algorithm, Options, Program, Watch};

/// Number of steps of `optimal` after which all states are explored instead.
const MOST_STEPS: u64 = 50_000_000;

/// Number of steps after which a run is assumed to be infinite.
const MOST_STEPS_OF_A_RUN: u64 = 10_000;

/// Number of steps of `optimal` within which the search usually finds an infinite run, if there is
/// one.
const MOST_STEPS_OF_LOOPS: u64 = 1_000_000;

/// Why there is no certificate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCertified {
    /// The program is not in `.maz`.
    #[error("certificates are for `.maz` programs")]
    NotMaz,
    /// The program has unknown values.
    #[error("there are no certificates for programs that leave values open; give them with --set")]
    Unknown,
    /// The search is under a memory model.
    #[error("there are no certificates under a memory model")]
    Memory,
    /// The program states a property that certificates do not cover.
    #[error(
        "there are no certificates for `cover`, `refines`, `spec object`, and temporal properties over locals"
    )]
    Property,
    /// The options name properties, but a certificate is about kinds of violations.
    #[error("there are no certificates for properties by name; --property takes kinds here")]
    Named,
    /// A limit was reached before the certificate was complete.
    #[error("{0} before the certificate was made")]
    Bound(Bound),
    /// The checker rejects the evidence.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The evidence contradicts the verdict.
    #[error(
        "the evidence shows a violation that the search has not found: {0}; please report this"
    )]
    Disagrees(String),
}

/// A certificate, and the effort of creating it.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The certificate.
    pub certificate: Certificate,
    /// The properties of all executions that the certificate proves.
    pub facts: Facts,
    /// Number of steps that were added to the tree of `optimal`.
    pub added: u64,
}

/// The result of checking a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The properties of all executions.
    pub facts: Facts,
    /// The kinds of violations that count.
    pub counted: Kinds,
}

impl Checked {
    /// Returns the kinds of violations that count and occur.
    pub fn violated(&self) -> Kinds {
        let Facts {
            failures,
            deadlocks,
            livelocks,
            results_differ,
            broken,
            ..
        } = self.facts;
        let occur = [
            (Kind::Failure, failures > 0),
            (Kind::Property, broken != Some(0)),
            (Kind::Deadlock, deadlocks > 0),
            (Kind::Livelock, livelocks > 0),
            (Kind::Nondeterminism, results_differ),
        ];
        let occur = occur.into_iter().filter(|(_, occurs)| *occurs);
        let occur = occur.fold(Kinds::NONE, |all, (kind, _)| all.with(kind));
        occur.and(self.counted)
    }

    /// Returns the names of the violated kinds.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.violated().iter().map(Kind::name).collect();
        names.join(", ")
    }

    /// Returns the verdict that follows from these properties.
    pub fn verdict(&self) -> Verdict {
        if self.violated() == Kinds::NONE {
            Verdict::Verified
        } else {
            Verdict::Violated
        }
    }
}

/// Records the tree of an engine.
struct TreeRecorder(Tree);

impl Observer<Machine> for TreeRecorder {
    fn start(&mut self, program: &Machine) {
        self.0 = Tree::new(program.code().program().processes.len() as u32);
    }

    fn pushed(&mut self, program: &Machine) {
        if let Some(event) = program.events().last() {
            let outcomes: Vec<i64> = event.outcomes.iter().map(|one| one.value).collect();
            let spawned: Vec<u32> = event.spawned.iter().map(|child| child.0).collect();
            self.0.step(event.process.0, &outcomes, &spawned);
        }
    }

    fn popping(&mut self, _: &Machine) {
        self.0.back();
    }
}

/// Checks the watch and the limits. `bound` is the limit that was reached; `None` while the work
/// may continue.
struct ContinueWatch<'a, 'w> {
    options: &'a Options,
    watch: &'a mut Watch<'w>,
    start: Instant,
    bound: Option<Bound>,
}

impl<'a, 'w> ContinueWatch<'a, 'w> {
    fn new(options: &'a Options, watch: &'a mut Watch<'w>, start: Instant) -> Self {
        Self {
            options,
            watch,
            start,
            bound: None,
        }
    }

    fn may_continue(&mut self) -> bool {
        let elapsed = self.start.elapsed();
        let late = self.options.limits.time.filter(|most| elapsed >= *most);
        let progress = Progress {
            counts: Default::default(),
            elapsed,
            done: None,
            estimate: None,
            open: 0,
            miss: None,
        };
        self.bound = match (late, (self.watch)(&progress)) {
            (Some(most), _) => Some(Bound::TimeLimit(most.as_millis() as u64)),
            (None, ControlFlow::Break(bound)) => Some(bound),
            (None, ControlFlow::Continue(())) => None,
        };
        self.bound.is_none()
    }

    /// Returns the error for a rejection that a limit may have caused.
    fn or_bound(&self, rejected: Rejected) -> NotCertified {
        match (rejected, self.bound) {
            (Rejected::Stopped, Some(bound)) => NotCertified::Bound(bound),
            (other, _) => NotCertified::Rejected(other),
        }
    }
}

/// Checks a certificate: determines the executions of its program, and their properties.
pub fn check(
    certificate: &Certificate,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Checked, NotCertified> {
    let (source, set) = (&certificate.source, &certificate.settings);
    let program = Program::load("certificate", source, set).map_err(|mistakes| {
        let first = mistakes.into_iter().next();
        NotCertified::Rejected(Rejected::Program(
            first.map_or(String::new(), |one| one.message),
        ))
    })?;
    program.can_certify(options)?;
    let mut looking = ContinueWatch::new(options, watch, Instant::now());
    let checked = certificate.check(&mut || looking.may_continue());
    let facts = checked.map_err(|why| looking.or_bound(why))?;
    let counted = program.counted(options);
    if counted.contains(Kind::Property) && facts.broken.is_none() {
        Err(NotCertified::Rejected(Rejected::Beyond(
            "the evidence says nothing about temporal properties",
        )))
    } else {
        Ok(Checked { facts, counted })
    }
}

/// Returns the tree of `optimal`, or `None` if it is infinite or too large.
fn tree(
    code: &Arc<Code>,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Option<Vec<u8>>, NotCertified> {
    // If runs may be infinite, a first attempt with few steps usually finds an infinite run.
    let few = code.may_loop().then_some(MOST_STEPS_OF_LOOPS);
    for most in few.into_iter().chain([MOST_STEPS]) {
        let mut short = options.clone();
        short.limits.steps = Some(options.limits.steps.map_or(most, |asked| asked.min(most)));
        if code.may_loop() {
            let asked = short.limits.depth.unwrap_or(MOST_STEPS_OF_A_RUN);
            short.limits.depth = Some(asked.min(MOST_STEPS_OF_A_RUN));
        }
        let mut growing = TreeRecorder(Tree::new(0));
        let mut machine = code.machine(&short);
        let search = everything(Algorithm::Optimal, &short);
        let found = search.run(&mut machine, watch, &mut growing);
        let endless = |bound: &Bound| matches!(bound, Bound::MaxDepth(_));
        let large = |bound: &Bound| matches!(bound, Bound::MaxSteps(_));
        let mut others = found.bounds.iter();
        match others.find(|bound| !endless(bound) && !large(bound)) {
            Some(&bound) => return Err(NotCertified::Bound(bound)),
            None if found.bounds.iter().any(endless) => return Ok(None),
            None if found.bounds.is_empty() => match found.stopped {
                StopReason::Complete => return Ok(Some(growing.0.finish())),
                _ => return Err(NotCertified::Bound(Bound::Interrupted)),
            },
            None => {}
        }
    }
    Ok(None)
}

impl Program {
    /// Creates a certificate for the claim that no property that counts is violated.
    pub fn certify(
        &self,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Certified, NotCertified> {
        self.can_certify(options)?;
        let Some(code) = self.language.maz() else {
            return Err(NotCertified::NotMaz);
        };
        let mut certificate = Certificate {
            kind: Evidence::Stateless,
            source: code.source().to_string(),
            settings: self.record().set.clone(),
            most_jumps: options.limits.local,
            evidence: Vec::new(),
        };
        let start = Instant::now();
        // A tree does not cover infinite runs.
        let tree = if self.counted(options).contains(Kind::Property) {
            None
        } else {
            tree(code, options, watch)?
        };
        let mut looking = ContinueWatch::new(options, watch, start);
        let mut added = 0;
        match tree {
            Some(evidence) => {
                certificate.evidence = evidence;
                let mended = certificate.mend(&mut || looking.may_continue());
                let mended = mended.map_err(|why| looking.or_bound(why))?;
                (certificate, added) = (mended.certificate, mended.missing);
            }
            None => {
                let Certificate {
                    source,
                    settings,
                    most_jumps,
                    ..
                } = certificate;
                let mut may_continue = || looking.may_continue();
                let kind = Evidence::Stateful;
                let grown =
                    Certificate::grow(kind, &source, &settings, most_jumps, &mut may_continue);
                certificate = grown.map_err(|why| looking.or_bound(why))?;
            }
        }
        let facts = certificate.check(&mut || looking.may_continue());
        let facts = facts.map_err(|why| looking.or_bound(why))?;
        let checked = Checked {
            facts,
            counted: self.counted(options),
        };
        match checked.verdict() {
            Verdict::Verified => Ok(Certified {
                certificate,
                facts,
                added,
            }),
            _ => Err(NotCertified::Disagrees(checked.names())),
        }
    }

    /// Whether certificates cover all properties that count here.
    fn can_certify(&self, options: &Options) -> Result<(), NotCertified> {
        let Some(code) = self.language.maz() else {
            return Err(NotCertified::NotMaz);
        };
        if code.program().linearizable.is_some() {
            return Err(NotCertified::Property);
        }
        if !self.unknowns().is_empty() {
            return Err(NotCertified::Unknown);
        }
        if options.weak_memory().is_some() {
            return Err(NotCertified::Memory);
        }
        if !options.properties.is_empty() {
            return Err(NotCertified::Named);
        }
        let locals = Flat::new(code).mentions_locals();
        let beyond = locals || !code.covers().is_empty() || self.refines().is_some();
        if beyond && self.kinds_of(options).contains(Kind::Property) {
            Err(NotCertified::Property)
        } else {
            Ok(())
        }
    }
}
