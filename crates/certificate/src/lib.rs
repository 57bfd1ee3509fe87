//! Certificates: evidence for "verified" that a small program checks.
//!
//! A search says that a program is verified; a certificate shows it. [`Certificate::check`] reads
//! the program again and goes through the evidence with an interpreter of its own. It trusts
//!
//! - the parser and the lowering of `mazurka-lang`: the text means what its
//!   [instructions](mazurka_lang::flat) say;
//! - this crate.
//!
//! It trusts no explorer, no analysis of claims, no machine of `lang`, and nothing in the file.
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

/// Steps between two questions whether to go on.
const LOOK_AFTER: u64 = 32;

/// Why a certificate shows nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// It is no certificate.
    #[error("this is no certificate: {0}")]
    Malformed(&'static str),
    /// Its program has mistakes.
    #[error("its program cannot be read: {0}")]
    Program(String),
    /// Its tree does not have every execution.
    #[error("the tree of executions is not complete: it has {0}")]
    Tree(&'static str),
    /// Its states are not all that can be reached.
    #[error("the set of states is not closed: {0}")]
    States(&'static str),
    /// Nothing can be concluded for this program.
    #[error("nothing can be concluded: {0}")]
    Beyond(&'static str),
    /// The check was stopped.
    #[error("the check was stopped before its end")]
    Stopped,
}

/// What has been shown of all executions of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The steps of the tree, or the states.
    pub steps: u64,
    /// The runs of the tree; none for states.
    pub executions: u64,
    /// The runs that were broken off because others have what they would have.
    pub blocked: u64,
    /// The runs that a false `assume` discards.
    pub discarded: u64,
    /// The failures: 0 if there is none.
    pub failures: u64,
    /// The deadlocks.
    pub deadlocks: u64,
    /// The parts of the state graph in which a run may stay for ever though some process does not
    /// end; none for a tree, which is finite.
    pub livelocks: u64,
    /// The temporal properties that do not hold; none if the evidence says nothing about them: a
    /// tree does not, and neither does a set of states about locals.
    pub broken: Option<u64>,
    /// Whether two final states differ in what is observed.
    pub results_differ: bool,
}

/// The evidence that there was, and what it shows.
#[derive(Clone, Debug)]
pub struct Mended {
    /// The evidence with what it lacked.
    pub certificate: Certificate,
    /// How many children of nodes were missing.
    pub missing: u64,
    /// How many were left out, with all that follows them, because others have what they have.
    pub superfluous: u64,
    /// What it shows.
    pub facts: Facts,
}

impl Certificate {
    /// Makes a certificate for a program by a search of its own: a tree by source sets, or all
    /// states. `go_on` is asked now and then.
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

    /// Adds to the tree of a certificate what it lacks.
    pub fn mend(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Mended, Rejected> {
        let code = self.code()?;
        let mut machine = Machine::new(Flat::new(&code), self.most_jumps);
        let mut evidence = Vec::new();
        let mut mend = stateless::Mend::new(&self.evidence);
        let walk = stateless::Walk::new(&mut machine)?;
        let facts = walk.all(&mut mend, &mut evidence, go_on)?;
        Ok(Mended {
            certificate: Self {
                evidence,
                ..self.clone()
            },
            missing: mend.missing,
            superfluous: mend.superfluous,
            facts,
        })
    }

    /// What it shows.
    pub fn check(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Facts, Rejected> {
        let code = self.code()?;
        let mut machine = Machine::new(Flat::new(&code), self.most_jumps);
        if self.kind == Kind::Stateful {
            return stateful::check(&mut machine, &self.evidence, go_on);
        }
        let walk = stateless::Walk::new(&mut machine)?;
        let mut written = stateless::Written(Reader::new(&self.evidence));
        let facts = walk.all(&mut written, &mut Vec::new(), go_on)?;
        if written.0.rest.is_empty() {
            Ok(facts)
        } else {
            Err(Rejected::Malformed("the tree goes on behind its end"))
        }
    }

    /// Reads its program.
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
