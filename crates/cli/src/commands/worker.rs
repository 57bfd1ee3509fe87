//! The command `worker`: takes orders from a NATS server, and explores the parts of searches that
//! they describe. `mazurka_cluster` handles the network; this file explores.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use mazurka::checkpoint::Checkpoint;
use mazurka::cluster::{Job, OrderError, Shared, id_of, orders};
use mazurka::{Bound, Limits, Options, Progress};
use mazurka_cluster::{Failure, PartResult, Task, Work, WorkerSettings};

use super::cluster::AccessArgs;
use super::{Refusal, jobs};
use crate::args::options_of;
use crate::exit::Exit;
use crate::watch::{self, watched};
use crate::{output, values};

/// Explore parts of the searches on a NATS server
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka worker nats://head:4222
  mazurka worker nats://me:secret@head:4222 --jobs 8 --memory-limit 16G
  mazurka worker tls://head:4222 --creds me.creds --tls-ca ca.pem --idle 5m

A worker accepts only the text of programs in .maz and .abs, and stays within its own limits,
whatever a job says. It may be killed at any time. docs/cluster.md has a guide.
Exit codes: 0 it was ended or was idle, 2 it has reached --memory-limit, 3 there is no server.")]
pub(crate) struct WorkerArgs {
    /// The server: nats://HOST:PORT or tls://HOST:PORT
    url: String,
    /// Parts in parallel [default: one for each core]
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    /// Memory of this process, which ends at this limit [default: 4G]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    memory_limit: Option<u64>,
    /// Steps of one part, at most: a part that needs more and cannot be cut is refused
    #[arg(long, value_name = "N", value_parser = values::count, default_value_t = 100_000_000_000)]
    max_part_steps: u64,
    /// End after being idle for this time [default: never]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    idle: Option<Duration>,
    /// The name of this worker in lists [default: the machine and the process]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Do not report why orders are refused
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    access: AccessArgs,
}

/// Explores parts until the process is ended.
pub(super) fn worker(args: &WorkerArgs) -> Result<Exit, Refusal> {
    let limits = Limits {
        memory: watch::memory_limit(args.memory_limit),
        ..Limits::default()
    };
    let explorer = Arc::new(Explorer {
        options: options_of(limits.clone(), 1),
        most_steps: args.max_part_steps,
        quiet: args.quiet,
        opened: Mutex::new(None),
    });
    let settings = WorkerSettings {
        name: name(args.name.as_deref()),
        jobs: jobs(args.jobs),
        idle: args.idle,
    };
    let server = args.access.server(&args.url);
    let worked = watched(&limits, true, |_| {
        mazurka_cluster::work(&server, &settings, explorer)
    })?;
    let parts = worked.map_err(|error| error.to_string())?;
    if !args.quiet {
        output::print_error(&format!("mazurka: {parts} parts done"));
    }
    Ok(if watch::memory_exceeded() {
        Exit::Inconclusive
    } else {
        Exit::Verified
    })
}

/// Returns a name that a server accepts as a key.
fn name(given: Option<&str>) -> String {
    let machine = || std::env::var("HOSTNAME").unwrap_or_else(|_| "worker".to_owned());
    let own = || format!("{}-{}", machine(), std::process::id());
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = given.map_or_else(own, str::to_owned);
    let name: String = name.chars().map(fits).take(60).collect();
    if name.is_empty() {
        "worker".to_owned()
    } else {
        name
    }
}

/// Explores parts.
struct Explorer {
    options: Options,
    most_steps: u64,
    quiet: bool,
    /// The name of the last search and its job, ready to be explored.
    opened: Mutex<Option<(String, Arc<Shared>)>>,
}

impl Explorer {
    /// Reads the job of a task, and checks that the name of the search is the fingerprint of this
    /// job.
    fn open(&self, task: &Task<'_>) -> Result<Arc<Shared>, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((id, shared)) = &*opened
            && id == task.id
        {
            return Ok(Arc::clone(shared));
        }
        let text = std::str::from_utf8(task.job).map_err(|error| error.to_string())?;
        if id_of(text) != task.id {
            return Err("the job does not belong to this search".to_owned());
        }
        let job = Job::parse(text).map_err(|error| error.to_string())?;
        if job.budget() > self.most_steps {
            let (steps, most) = (job.budget(), self.most_steps);
            return Err(format!(
                "the job has parts of {steps} steps, and --max-part-steps is {most}"
            ));
        }
        let shared = Shared::open(&job, &self.options).map_err(|error| error.to_string())?;
        let shared = Arc::new(shared);
        *opened = Some((task.id.to_owned(), Arc::clone(&shared)));
        Ok(shared)
    }

    fn done(&self, task: &Task<'_>) -> Result<PartResult, OrderError> {
        let shape =
            |error: String| OrderError::Order(mazurka::checkpoint::ResumeError::Shape(error));
        let shared = self.open(task).map_err(shape)?;
        let order = std::str::from_utf8(task.order).map_err(|error| shape(error.to_string()))?;
        let order = Checkpoint::parse(order)?;
        let mut watch_stop = |_: &Progress| {
            if task.stop.load(Ordering::SeqCst) || watch::interrupted() {
                ControlFlow::Break(Bound::Interrupted)
            } else if watch::memory_exceeded() {
                let most = self.options.limits.memory.unwrap_or_default();
                ControlFlow::Break(Bound::MemoryLimit(most))
            } else {
                ControlFlow::Continue(())
            }
        };
        let result = shared.explore(&order, self.most_steps, &mut watch_stop)?;
        let text = |error: serde_json::Error| shape(error.to_string());
        let children = orders(&result).map_err(text)?;
        Ok(PartResult {
            result: result.text().map_err(text)?.into_bytes(),
            children: children.into_iter().map(String::into_bytes).collect(),
            executions: result.counts().executions,
        })
    }
}

impl Work for Explorer {
    fn explore(&self, task: &Task<'_>) -> Result<PartResult, Failure> {
        self.done(task).map_err(|error| match error {
            OrderError::BrokenOff(Bound::Interrupted) => Failure::Stopped,
            error => Failure::Refused(error.to_string()),
        })
    }

    fn is_over(&self) -> bool {
        watch::interrupted() || watch::memory_exceeded()
    }

    fn report(&self, what: &str) {
        if !self.quiet {
            output::complain(what);
        }
    }
}
