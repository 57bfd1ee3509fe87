//! The command `serve`: starts the server of the page, with native engines.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use clap::Args;
use mazurka_serve::Settings;

use super::Refusal;
use crate::exit::Exit;
use crate::{output, values};

/// Serve the page on this machine, with native engines
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka serve
  mazurka serve --port 9000 --searches 2 --most-time 1m
  mazurka serve --address 0.0.0.0 --host lab3.example.org

The page takes program text and options, and nothing that names a file of this machine; programs in
C are not run. With an address that other machines reach, a token is needed: it is a part of the
printed link.
Exit codes: 3 the server cannot listen; otherwise it runs until it is stopped.")]
pub(crate) struct ServeArgs {
    /// The port; with 0 the system chooses one
    #[arg(long, value_name = "N", default_value_t = 8421)]
    port: u16,
    /// The address to listen on; other machines reach it only if it is not a loopback address
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::LOCALHOST.into())]
    address: IpAddr,
    /// A name of this machine, if other machines open the page by this name (repeatable)
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// How many searches run in parallel [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::count)]
    searches: Option<u64>,
    /// The time after which a search is ended
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "10m")]
    most_time: Duration,
    /// The maximal memory of a search
    #[arg(long, value_name = "SIZE", value_parser = values::size, default_value = "4G")]
    most_memory: u64,
}

/// Serves until the process is ended.
pub(super) fn serve(args: &ServeArgs) -> Result<Exit, Refusal> {
    let command = std::env::current_exe();
    let command = command.map_err(|error| format!("cannot find this program: {error}"))?;
    let usual = Settings::new(command);
    let settings = Settings {
        port: args.port,
        address: args.address,
        hosts: args.hosts.clone(),
        searches: args
            .searches
            .map_or(usual.searches, |n| n.min(1024) as usize),
        most_time: args.most_time,
        most_memory: args.most_memory,
        ..usual
    };
    let others = if args.address.is_unspecified() {
        "  (from another machine: the same with the address of this one; a name needs --host)\n"
    } else {
        ""
    };
    let listening = |url: &str| {
        output::print(&format!("open {url}\n{others}"), Exit::Verified);
    };
    let served = mazurka_serve::serve(settings, listening);
    served.map_err(|error| Refusal::Message(error.to_string()))?;
    Ok(Exit::Verified)
}
