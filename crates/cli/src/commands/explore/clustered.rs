//! `explore --cluster`: other computers explore the parts of a search. This process coordinates
//! them: it implements the [`Plan`] of the crate `cluster` with the jobs and results of
//! `mazurka::cluster`.

use std::ops::ControlFlow;
use std::time::Instant;

use clap::Args;
use mazurka::checkpoint::Checkpoint;
use mazurka::cluster::{BUDGET, PIECES, Shared, Sum, orders};
use mazurka::record::Record;
use mazurka::{Algorithm, Bound, Options, Progress};
use mazurka_cluster::{Ended, Error, Plan, Search, coordinate};

use super::ExploreArgs;
use crate::commands::cluster::AccessArgs;
use crate::commands::{Refusal, view};
use crate::exit::Exit;
use crate::show::{Format, exchanged, show};
use crate::watch::watched;
use crate::{native, output, values};

/// The value of `--cluster` with which this process explores all parts itself.
const HERE: &str = "here";

/// Which machines explore.
#[derive(Debug, Args)]
#[command(next_help_heading = "Many machines (docs/cluster.md)")]
pub(super) struct SharingArgs {
    /// Let the workers of this NATS server explore: nats://HOST:PORT or tls://HOST:PORT. The same
    /// command continues a search. `here`: this process explores the same parts one after the other
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,
    /// With --cluster: number of steps after which a part is cut
    #[arg(long, value_name = "N", value_parser = values::count, default_value_t = BUDGET)]
    part_steps: u64,
    /// With --cluster: approximate number of parts that a part is cut into
    #[arg(long, hide = true, value_name = "N", value_parser = values::count, default_value_t = PIECES)]
    part_pieces: u64,
    /// With --cluster: leave the results on the server
    #[arg(long)]
    keep_results: bool,
    #[command(flatten)]
    access: AccessArgs,
}

/// Refuses options that other machines do not support.
fn refuse(args: &ExploreArgs, options: &Options) -> Result<(), Refusal> {
    let limits = &options.limits;
    let others = [
        (args.checkpoint.is_some(), "--checkpoint"),
        (args.resume.is_some(), "--resume"),
        (args.tests.is_some(), "--tests"),
        (args.certificate.is_some(), "--certificate"),
        (args.profile, "--profile"),
        (args.memory.memory.is_some(), "--memory"),
        (args.output.format.is_drawing(), "--format dot and svg"),
        (args.output.format == Format::Html, "--format html"),
        (limits.steps.is_some(), "--max-steps"),
        (limits.executions.is_some(), "--max-executions"),
    ];
    match others.iter().find(|(asked, _)| *asked) {
        Some((_, what)) => Err(Refusal::Message(format!(
            "--cluster explores everything, in parts and without {what}; leave one of them out"
        ))),
        None => Ok(()),
    }
}

/// Explores with other machines.
pub(super) fn explore(
    args: &ExploreArgs,
    url: &str,
    algorithm: Algorithm,
) -> Result<Exit, Refusal> {
    if native::is_native(&args.program.file) {
        let refusal = "other machines explore programs in .maz and .abs, but not in C";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    let options = args.search.options(0)?;
    refuse(args, &options)?;
    let (sources, settings) = (args.program.sources()?, args.program.settings());
    let program = sources.load(&settings)?;
    let job = sources.job(&settings, algorithm).within(&options.limits);
    let job = job.with_budget(args.cluster.part_steps, args.cluster.part_pieces);
    let shared = Shared::open(&job, &options).map_err(|error| error.to_string())?;
    let (record, messages) = if url == HERE {
        let explored = watched(&options.limits, args.output.quiet, |watch| {
            shared.explore_here(watch)
        })?;
        (explored.map_err(|error| error.to_string())?, Vec::new())
    } else {
        let text = job.text().map_err(|error| error.to_string())?;
        coordinate_search(args, url, &shared, &text)?
    };
    let exit = show(&record, record.verdict.into(), &args.output, |format| {
        Ok(exchanged(&record, format)
            .unwrap_or_else(|| mazurka_report::table(&record, &view(&options.limits))))
    })?;
    let exit = args.warnings.show(&program, &record, exit, &args.output);
    messages
        .iter()
        .for_each(|message| output::complain(message));
    Ok(exit)
}

/// Coordinates a search. Returns its record, and additional messages.
fn coordinate_search(
    args: &ExploreArgs,
    url: &str,
    shared: &Shared,
    job: &str,
) -> Result<(Record, Vec<String>), Refusal> {
    let server = args.cluster.access.server(url);
    let (id, limits) = (mazurka::cluster::id_of(job), shared.limits());
    let search = Search {
        id: &id,
        job: job.as_bytes(),
        keep: args.cluster.keep_results,
    };
    let (start, mut bound) = (Instant::now(), None);
    let mut plan = Results {
        shared,
        sum: shared.sum(),
    };
    let ended = watched(limits, args.output.quiet, |watch| {
        let mut watch_search = |remote: &mazurka_cluster::Progress| {
            let mut progress = Progress {
                counts: Default::default(),
                elapsed: start.elapsed(),
                done: None,
                estimate: None,
                open: 0,
                miss: None,
            };
            progress.counts.executions = remote.executions;
            let over_time = limits.time.filter(|most| start.elapsed() >= *most);
            let over_time = over_time.map(|most| Bound::TimeLimit(most.as_millis() as u64));
            bound = over_time.or_else(|| watch(&progress).break_value());
            match bound {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            }
        };
        coordinate(&server, &search, &mut plan, &mut watch_search)
    })?;
    if let (Err(Error::Connect { .. }), Some(bound)) = (&ended, bound) {
        // No server was reached, so there is nothing that a later command could continue.
        let record = plan.sum.record(Some(bound), start.elapsed());
        return Ok((record, Vec::new()));
    }
    let ended = ended.map_err(|error| error.to_string())?;
    let public_url = server.public_url();
    let advice = format!(
        "search {id} is still on the server: to continue it, run the same command again; to cancel it, run mazurka cluster {public_url} --cancel {}",
        &id[..8]
    );
    let (stopped_by, messages) = match ended {
        Ended::Complete => (None, Vec::new()),
        Ended::Stopped => (Some(bound.unwrap_or(Bound::Interrupted)), vec![advice]),
        Ended::Failed(mut why) => {
            why.push(advice);
            (Some(Bound::Interrupted), why)
        }
    };
    Ok((plan.sum.record(stopped_by, start.elapsed()), messages))
}

/// The combined results of a search.
struct Results<'a> {
    shared: &'a Shared,
    sum: Sum<'a>,
}

/// Parses a result, and checks that it belongs to this search.
fn read(shared: &Shared, result: &[u8]) -> Result<Checkpoint, String> {
    let text = std::str::from_utf8(result).map_err(|error| error.to_string())?;
    shared.result(text).map_err(|error| error.to_string())
}

impl Plan for Results<'_> {
    fn root(&self) -> Vec<u8> {
        // Writing an order cannot fail in practice. If it did, the workers would refuse the empty
        // order.
        self.shared.root().text().unwrap_or_default().into_bytes()
    }

    fn children(&self, result: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let children = orders(&read(self.shared, result)?).map_err(|error| error.to_string())?;
        Ok(children.into_iter().map(String::into_bytes).collect())
    }

    fn clear(&mut self) {
        self.sum = self.shared.sum();
    }

    fn add(&mut self, result: &[u8]) -> Result<(), String> {
        let result = read(self.shared, result)?;
        self.sum.add(&result).map_err(|error| error.to_string())
    }
}
