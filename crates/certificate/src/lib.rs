//! Certificates: evidence for the verdict "verified" that a small program can check.
//!
//! A search claims that a program is verified; a certificate shows it. [`Certificate::check`] loads
//! the program again and checks the evidence with an independent interpreter. It trusts
//!
//! - the parser and the lowering of `mazurka-lang`: the [instructions](mazurka_lang::flat) have the
//!   meaning of the text;
//! - the code of this crate.
//!
//! It does not trust explorers, the analysis of claims, the machines of `lang`, or anything
//! in the file.
//!
//! ```
//! use mazurka_certificate::{Certificate, Kind};
//!
//! let source = "var x: int = 0; lock m; process p (i in 0..2) { lock(m); x := x + 1; unlock(m) }";
//! let grown = Certificate::grow(Kind::Stateless, source, &[], 1_000_000, &mut || true);
//! let certificate = grown.unwrap();
//! let bytes = certificate.to_bytes();
//! let facts = Certificate::from_bytes(&bytes).unwrap().check(&mut || true).unwrap();
//! assert_eq!((facts.executions, facts.failures, facts.deadlocks), (2, 0, 0));
//! assert!(!facts.results_differ);
//! ```

mod claims;
mod format;
mod machine;
mod number;
mod stateful;
mod stateless;
mod temporal;

pub use format::{Certificate, Kind};
pub use stateless::Tree;

use format::Reader;
use machine::Machine;
use mazurka_diagnostics::Diagnostic;
use mazurka_lang::flat::Flat;
use mazurka_lang::{Code, Setting};

/// The number of steps between two calls of `go_on`.
const STEPS_PER_CHECK: u64 = 32;

/// The reason why a certificate is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The file is not a certificate.
    #[error("this is not a certificate: {0}")]
    Malformed(&'static str),
    /// The program has mistakes.
    #[error("its program cannot be read: {0}")]
    Program(String),
    /// The tree does not contain every execution.
    #[error("the tree of executions is not complete: it has {0}")]
    Tree(&'static str),
    /// The set of states is not closed under steps, or the ranks are wrong.
    #[error("the set of states is not closed: {0}")]
    States(&'static str),
    /// The checker cannot handle this program.
    #[error("nothing can be concluded: {0}")]
    Beyond(&'static str),
    /// The check was stopped.
    #[error("the check was stopped before its end")]
    Stopped,
}

/// The properties of all executions that the evidence shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The number of steps of the tree, or the number of states.
    pub steps: u64,
    /// The number of runs of the tree; 0 for a set of states.
    pub executions: u64,
    /// The number of blocked runs, which were cut because other runs cover them.
    pub blocked: u64,
    /// The number of runs that a false `assume` discards.
    pub discarded: u64,
    /// The number of failures.
    pub failures: u64,
    /// The number of deadlocks.
    pub deadlocks: u64,
    /// The number of classes of states (of equal rank, see `stateful.rs`) in which a run may stay
    /// for ever although some process should end. It is 0 for a tree, whose runs are finite.
    pub livelocks: u64,
    /// The number of temporal properties that do not hold. `None` if the evidence does not decide
    /// them: a tree never does, and a set of states does only if the program has such properties
    /// and none of them mentions a local.
    pub broken: Option<u64>,
    /// Whether two final states differ in observed cells.
    pub results_differ: bool,
}

/// A completed certificate, and the facts that it shows.
#[derive(Clone, Debug)]
pub struct MendedCertificate {
    /// The certificate with the missing parts added.
    pub certificate: Certificate,
    /// The number of steps (children of nodes of the tree) that were missing.
    pub missing: u64,
    /// The number of steps that were removed, with the subtrees after them, because other steps
    /// cover them.
    pub superfluous: u64,
    /// The facts that the certificate shows.
    pub facts: Facts,
}

impl Certificate {
    /// Makes a certificate for a program by an independent search: a tree by source sets, or the
    /// set of all states. Calls `go_on` regularly, and returns [`Rejected::Stopped`] if `go_on`
    /// returns false.
    pub fn grow(
        kind: Kind,
        source: &str,
        settings: &[(String, String)],
        most_jumps: u64,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Self, Rejected> {
        let empty = Self {
            kind,
            source: source.to_owned(),
            settings: settings.to_vec(),
            most_jumps,
            evidence: Vec::new(),
        };
        match kind {
            Kind::Stateless => Ok(empty.mend(go_on)?.certificate),
            Kind::Stateful => {
                let code = empty.code()?;
                let mut machine = Machine::new(Flat::new(&code), most_jumps);
                let evidence = stateful::grow(&mut machine, go_on)?;
                Ok(Self { evidence, ..empty })
            }
        }
    }

    /// Adds the missing parts of the tree of a certificate.
    pub fn mend(&self, go_on: &mut dyn FnMut() -> bool) -> Result<MendedCertificate, Rejected> {
        let code = self.code()?;
        let mut machine = Machine::new(Flat::new(&code), self.most_jumps);
        let mut evidence = Vec::new();
        let mut mend = stateless::TreeMender::new(&self.evidence);
        let walk = stateless::TreeWalk::new(&mut machine)?;
        let facts = walk.all(&mut mend, &mut evidence, go_on)?;
        Ok(MendedCertificate {
            certificate: Self {
                evidence,
                ..self.clone()
            },
            missing: mend.missing,
            superfluous: mend.superfluous,
            facts,
        })
    }

    /// Checks the certificate. Returns the facts that it shows.
    pub fn check(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Facts, Rejected> {
        let code = self.code()?;
        let mut machine = Machine::new(Flat::new(&code), self.most_jumps);
        if self.kind == Kind::Stateful {
            return stateful::check(&mut machine, &self.evidence, go_on);
        }
        let walk = stateless::TreeWalk::new(&mut machine)?;
        let mut written = stateless::RecordedChildren(Reader::new(&self.evidence));
        let facts = walk.all(&mut written, &mut Vec::new(), go_on)?;
        if written.0.rest.is_empty() {
            Ok(facts)
        } else {
            Err(Rejected::Malformed(
                "there is data after the end of the tree",
            ))
        }
    }

    /// Loads the program of the certificate.
    pub fn code(&self) -> Result<Code, Rejected> {
        let set = |(name, value): &(String, String)| Setting {
            name: name.clone(),
            value: value.clone(),
        };
        let settings: Vec<Setting> = self.settings.iter().map(set).collect();
        let mistaken = |mistakes: Vec<Diagnostic>| {
            let first = mistakes.into_iter().next();
            Rejected::Program(first.map_or(String::new(), |one| one.message))
        };
        let program = mazurka_lang::load(&self.source, &settings).map_err(mistaken)?;
        if !program.unknowns().is_empty() {
            return Err(Rejected::Beyond("the program leaves values open"));
        }
        if program.linearizable.is_some() {
            return Err(Rejected::Beyond("the program has a `spec object`"));
        }
        mazurka_lang::compile(&program, &self.source).map_err(mistaken)
    }
}
