//! A search by many computers: the job, its orders, and their results. The crate `cluster`
//! transfers these as bytes and does not interpret them.
//!
//! This module does not use a network. It defines the texts that computers exchange, and checks
//! them when it parses them:
//! - A [`Job`] is the text of a program and the options that affect the findings. Its
//!   [`id`](Job::id) is a fingerprint of these and of the version.
//! - An *order* is a [`Checkpoint`] with one remaining part and no findings. [`Shared::root`] is
//!   the order for the whole search.
//! - The *result* of an order is a checkpoint too. If it has no remaining parts, the part of the
//!   order was explored completely. Otherwise the part took too many steps and was cut, and
//!   [`orders`] returns an order for each piece, in the order of the pieces.
//!
//! A result depends on the order alone, except for its time. So it does not matter which computer
//! explores an order, or how often. The parts form a tree, and the [`Sum`] of the results in the
//! order of this tree always gives the same record.
//!
//! ```
//! use mazurka::cluster::{Job, Shared};
//! use mazurka::{Algorithm, Options, Program, quietly};
//!
//! let source = "var x: int = 0  process p(i in 0..4) { x := i }";
//! let job = Job::new("four.maz", source, &[], Algorithm::Optimal).with_budget(20, 4);
//! let shared = Shared::open(&job, &Options::default()).unwrap();
//! let record = shared.explore_here(&mut quietly()).unwrap();
//! assert_eq!(record.counts.traces, Some(24));
//! ```

use std::time::{Duration, Instant};

use mazurka_core::Bound;
use mazurka_core::record::Record;
use mazurka_explore::{Parts, Search, Stateless, Watch, Within};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{Checkpoint, ResumeError};
use crate::front::{Front, on_front};
use crate::search::everything;
use crate::{Algorithm, Diagnostic, Limits, Options, Program};

/// The version of the text formats.
const VERSION: u32 = 1;

/// Number of steps after which a part is cut: some seconds of work. A job can set another number.
/// docs/cluster.md explains the choice of the default.
pub const BUDGET: u64 = 1 << 21;

/// Approximate number of parts that a part is cut into: see docs/cluster.md.
pub const PIECES: u64 = 64;

/// Maximum number of parts that a part may be cut into.
const MOST_PIECES: u64 = 4096;

/// Maximum size of the text of a job.
pub const MOST_JOB_BYTES: usize = 24 << 20;

/// A program and its options.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    job: u32,
    mazurka: String,
    /// The name of the file, as the user gave it.
    pub file: String,
    /// The settings, in order.
    pub set: Vec<(String, String)>,
    /// The engine.
    pub algorithm: String,
    max_depth: u64,
    max_local: u64,
    budget: u64,
    pieces: u64,
    source: String,
}

/// Why a job is rejected.
#[derive(Clone, Debug, thiserror::Error)]
pub enum JobError {
    /// The text is not a job.
    #[error("this is no job, or a damaged one: {0}")]
    Shape(String),
    /// Another version of Mazurka wrote the job.
    #[error(
        "the job is of Mazurka {made}, and this is {here}; run the same version on all machines"
    )]
    Version {
        /// The version that wrote it.
        made: String,
        /// The version that reads it.
        here: String,
    },
    /// Programs of this language are not distributed.
    #[error("`{0}` is neither `.maz` nor `.abs`: only these are explored by other machines")]
    Language(String),
    /// A limit of the job is too large.
    #[error("the job asks for {0}")]
    Limits(String),
    /// The program has mistakes.
    #[error("the program of the job has a mistake: {}", .0.first().map_or("?", |first| &first.message))]
    Program(Vec<Diagnostic>),
    /// The search cannot be divided into parts.
    #[error(transparent)]
    Parts(#[from] ResumeError),
}

/// Why an order has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OrderError {
    /// The order does not belong to this job.
    #[error(transparent)]
    Order(#[from] ResumeError),
    /// The order does not have exactly one part.
    #[error("an order has one part, and this has {0}")]
    Parts(usize),
    /// The part cannot be cut, and takes more steps than this machine allows.
    #[error(
        "a part that cannot be cut takes more than {0} steps; start workers with a larger --max-part-steps"
    )]
    TooLarge(u64),
    /// A limit stopped the exploration.
    #[error("{0}")]
    BrokenOff(Bound),
}

fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

impl Job {
    /// Creates a job for the whole state space of a program. The source contains all included
    /// files.
    pub fn new(file: &str, source: &str, set: &[(String, String)], algorithm: Algorithm) -> Self {
        let limits = Limits::default();
        Self {
            job: VERSION,
            mazurka: version(),
            file: file.to_owned(),
            set: set.to_vec(),
            algorithm: algorithm.to_string(),
            max_depth: limits.depth(),
            max_local: limits.local,
            budget: BUDGET,
            pieces: PIECES,
            source: source.to_owned(),
        }
    }

    /// Sets the limits for single executions and steps.
    pub fn within(self, limits: &Limits) -> Self {
        Self {
            max_depth: limits.depth(),
            max_local: limits.local,
            ..self
        }
    }

    /// Sets the number of steps after which a part is cut, and the approximate number of pieces.
    pub fn with_budget(self, steps: u64, pieces: u64) -> Self {
        Self {
            budget: steps,
            pieces,
            ..self
        }
    }

    /// Returns the number of steps after which a part is cut.
    pub fn budget(&self) -> u64 {
        self.budget
    }

    /// Returns the job as text.
    pub fn text(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// Parses a text that was created by [`text`](Job::text).
    pub fn parse(text: &str) -> Result<Self, JobError> {
        #[derive(Deserialize)]
        struct Header {
            job: u32,
            mazurka: String,
        }
        if text.len() > MOST_JOB_BYTES {
            let most = MOST_JOB_BYTES >> 20;
            return Err(JobError::Limits(format!("more than {most} MB of text")));
        }
        let shape = |error: serde_json::Error| JobError::Shape(error.to_string());
        let Header { job, mazurka } = serde_json::from_str(text).map_err(shape)?;
        if (job, &mazurka) != (VERSION, &version()) {
            let of = |version: &str, format: u32| format!("{version} (format {format})");
            return Err(JobError::Version {
                made: of(&mazurka, job),
                here: of(&version(), VERSION),
            });
        }
        serde_json::from_str(text).map_err(shape)
    }

    /// Returns the name of the search: a fingerprint of the program, the options and the version.
    pub fn id(&self) -> serde_json::Result<String> {
        Ok(id_of(&self.text()?))
    }
}

/// Returns the fingerprint of the text of a job.
pub fn id_of(text: &str) -> String {
    crate::program::hash(text, &[])
}

/// Returns the orders for the remaining parts of a result, each as text. They do not depend on the
/// machine.
pub fn orders(result: &Checkpoint) -> serde_json::Result<Vec<String>> {
    result.each_alone().map(|order| order.text()).collect()
}

/// A job that was parsed and is ready for exploration.
pub struct Shared {
    program: Program,
    algorithm: Algorithm,
    stateless: Stateless,
    options: Options,
    budget: u64,
    pieces: usize,
}

impl Shared {
    /// Parses the program of a job. The job determines the options that affect the findings;
    /// `options` gives the others, such as the solver and the limits of this computer.
    pub fn open(job: &Job, options: &Options) -> Result<Self, JobError> {
        let known = [".maz", ".abs"].iter().any(|end| job.file.ends_with(end));
        if !known && job.file != "-" {
            return Err(JobError::Language(job.file.clone()));
        }
        if !(2..=MOST_PIECES).contains(&job.pieces) || job.budget == 0 {
            let (budget, pieces) = (job.budget, job.pieces);
            let asked = format!("{pieces} pieces after {budget} steps");
            return Err(JobError::Limits(asked));
        }
        let algorithm = job.algorithm.parse::<Algorithm>();
        let algorithm = algorithm.map_err(|error| JobError::Shape(error.to_string()))?;
        let Some(stateless) = algorithm.stateless() else {
            return Err(ResumeError::Engine(algorithm).into());
        };
        let program = Program::load(&job.file, &job.source, &job.set).map_err(JobError::Program)?;
        if !program.unknowns().is_empty() {
            return Err(ResumeError::Unknowns.into());
        }
        let limits = Limits {
            depth: Some(job.max_depth),
            local: job.max_local,
            steps: None,
            executions: None,
            ..options.limits.clone()
        };
        Ok(Self {
            program,
            algorithm,
            stateless,
            options: Options {
                limits,
                cover: true,
                jobs: 0,
                ..options.clone()
            },
            budget: job.budget,
            pieces: job.pieces as usize,
        })
    }

    /// Returns the program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the limits of this machine, combined with those of the job.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    fn search(&self) -> Search<Stateless> {
        everything(self.stateless, &self.options)
    }

    /// Returns the parts of a checkpoint, if it belongs to this job.
    fn parts(&self, checkpoint: &Checkpoint) -> Result<Parts, ResumeError> {
        on_front!(self.program.language, front => {
            checkpoint.parts(&self.program, front, self.search(), &self.options)
        })
    }

    /// Returns the order for the whole search.
    pub fn root(&self) -> Checkpoint {
        Checkpoint::new(&self.program, &self.options, &Parts::whole(self.search()))
    }

    /// Parses a result. The error says why it is not a result of this job.
    pub fn result(&self, text: &str) -> Result<Checkpoint, ResumeError> {
        let checkpoint = Checkpoint::parse(text)?;
        self.parts(&checkpoint).map(|_| checkpoint)
    }

    /// Explores the part of an order, or cuts it. `most_steps` limits a part that cannot be cut.
    pub fn explore(
        &self,
        order: &Checkpoint,
        most_steps: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Checkpoint, OrderError> {
        if order.left() != 1 {
            return Err(OrderError::Parts(order.left()));
        }
        let options = &self.program.covering(&self.options.started());
        let parts = self.parts(order)?;
        let parts = on_front!(self.program.language, front => {
            let machine = &mut front.machine_for_a_search(options);
            match parts.clone().explore_within(machine, self.budget, watch) {
                Within::TooLarge(spent) => {
                    match parts.split(&mut front.machine(options), self.pieces, spent) {
                        Some(cut) => Within::Explored(Box::new(cut)),
                        None => parts.explore_within(machine, most_steps, watch),
                    }
                }
                other => other,
            }
        });
        match parts {
            Within::Explored(parts) => {
                let result = Checkpoint::new(&self.program, options, &parts);
                Ok(match &options.reached {
                    Some(reached) => result.with_reached(&reached.notes()),
                    None => result,
                })
            }
            Within::TooLarge(_) => Err(OrderError::TooLarge(most_steps)),
            Within::BrokenOff(bound) => Err(OrderError::BrokenOff(bound)),
        }
    }

    /// Returns the empty sum, without results.
    pub fn sum(&self) -> Sum<'_> {
        Sum {
            shared: self,
            parts: Parts::none(self.search()),
            options: self.program.covering(&self.options.started()),
        }
    }

    /// Explores the tree of parts on this computer, one part after the other. A cluster must get
    /// the same result.
    pub fn explore_here(&self, watch: &mut Watch<'_>) -> Result<Record, OrderError> {
        let start = Instant::now();
        let (mut sum, mut open) = (self.sum(), vec![self.root()]);
        while let Some(order) = open.pop() {
            let result = self.explore(&order, u64::MAX, watch)?;
            sum.add(&result)?;
            let children: Vec<Checkpoint> = result.each_alone().collect();
            open.extend(children.into_iter().rev());
        }
        Ok(sum.record(None, start.elapsed()))
    }
}

/// A sum of results. Results are added in the order of the tree, each part before its children.
pub struct Sum<'a> {
    shared: &'a Shared,
    parts: Parts,
    options: Options,
}

impl Sum<'_> {
    /// Adds a result.
    pub fn add(&mut self, result: &Checkpoint) -> Result<(), ResumeError> {
        let parts = self.shared.parts(result)?;
        if let Some(reached) = &self.options.reached {
            let notes = result.reached()?.unwrap_or_default();
            if !reached.add(&notes) {
                let what = "it does not say what was reached";
                return Err(ResumeError::Shape(what.to_owned()));
            }
        }
        self.parts.add(parts);
        Ok(())
    }

    /// Returns the record of all added results. `stopped_by` is the reason why some results are
    /// missing.
    pub fn record(self, stopped_by: Option<Bound>, elapsed: Duration) -> Record {
        let Self {
            shared,
            parts,
            options,
        } = self;
        let (program, options) = (&shared.program, &options);
        let found = parts.added_up(stopped_by, elapsed);
        on_front!(program.language, front => {
            let machine = &mut front.machine(options);
            let mut record = program.explored(shared.algorithm, options, machine, &found);
            record.add_bounds(program.leaves_out(options));
            program.remark(&mut record, options);
            record
        })
    }
}
