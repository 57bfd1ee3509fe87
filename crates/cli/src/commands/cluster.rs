//! The command `cluster`, and the flags with which commands connect to a server.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use mazurka::cluster::Job;
use mazurka_cluster::{SearchStatus, Server, Status, WorkerStatus};

use super::Refusal;
use crate::exit::Exit;
use crate::{output, values};

/// The credentials for the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "NATS server")]
pub(super) struct AccessArgs {
    /// A file with NATS credentials; without it, the URL may contain `user:password@` or `token@`
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
    /// Also trust the certificates in this file, and use TLS
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The certificate to show to the server
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// How long to try to connect
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "30s")]
    patience: Duration,
}

impl AccessArgs {
    /// Returns the server at a URL.
    pub fn server(&self, url: &str) -> Server {
        let certificate = self.tls_cert.clone().zip(self.tls_key.clone());
        Server {
            url: url.to_owned(),
            credentials: self.creds.clone(),
            authorities: self.tls_ca.clone(),
            certificate,
            patience: self.patience,
        }
    }
}

/// List the searches and the workers on a NATS server, or cancel a search
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka cluster nats://head:4222
  mazurka cluster nats://head:4222 --cancel 5f0c

The first letters of a name identify a search. docs/cluster.md has a guide.
Exit codes: 0 done, 3 the server does not answer, or there is no such search.")]
pub(crate) struct ClusterArgs {
    /// The server: nats://HOST:PORT or tls://HOST:PORT
    url: String,
    /// Delete this search from the server; its workers continue with others
    #[arg(long, value_name = "SEARCH")]
    cancel: Option<String>,
    #[command(flatten)]
    access: AccessArgs,
}

/// Lists the searches and workers, or cancels a search.
pub(super) fn cluster(args: &ClusterArgs) -> Result<Exit, Refusal> {
    let server = args.access.server(&args.url);
    let status = mazurka_cluster::status(&server).map_err(|error| error.to_string())?;
    let Some(name) = &args.cancel else {
        return Ok(output::print(&listed(&status), Exit::Verified));
    };
    let named = |search: &&SearchStatus| search.id.starts_with(&**name);
    let named: Vec<&SearchStatus> = status.searches.iter().filter(named).collect();
    let [search] = named[..] else {
        let count = named.len();
        let text = format!("there are {count} searches whose names start with `{name}`");
        return Err(Refusal::Message(text));
    };
    mazurka_cluster::cancel(&server, &search.id).map_err(|error| error.to_string())?;
    let text = format!("cancelled {}\n", search.id);
    Ok(output::print(&text, Exit::Verified))
}

/// Returns the searches and the workers, one a line.
fn listed(status: &Status) -> String {
    let mut text = String::new();
    if status.searches.is_empty() {
        text += "no searches\n";
    }
    for search in &status.searches {
        let job = search.job.as_deref().and_then(|job| {
            let text = std::str::from_utf8(job).ok()?;
            Some(Job::parse(text).map_err(|error| error.to_string()))
        });
        let what = match job {
            Some(Ok(job)) => {
                let set = job.set.iter().filter(|(name, _)| !name.starts_with('@'));
                let set: Vec<String> = set.map(|(n, v)| format!(" --set {n}={v}")).collect();
                format!("{} --algorithm {}{}", job.file, job.algorithm, set.concat())
            }
            Some(Err(error)) => error,
            None => "its job is missing".to_owned(),
        };
        let SearchStatus {
            id,
            done,
            queued,
            bytes,
            ..
        } = search;
        let what: String = what.chars().filter(|c| !c.is_control()).collect();
        let size = bytes >> 10;
        text += &format!("search {id}: {done} parts done, {queued} open, {size} KB: {what}\n");
    }
    if status.workers.is_empty() {
        text += "no workers\n";
    }
    for worker in &status.workers {
        let WorkerStatus {
            name,
            jobs,
            busy,
            done,
        } = worker;
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        text += &format!("worker {name}: {busy} of {jobs} busy, {done} parts done\n");
    }
    text
}
