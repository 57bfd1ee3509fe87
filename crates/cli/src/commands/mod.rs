//! The commands. Each has a file with its flags, its help and its code. This module defines
//! [`Cli`], dispatches to the commands, and has the parts that they share.

#[cfg(not(target_family = "wasm"))]
mod bench;
mod check;
mod check_certificate;
#[cfg(not(target_family = "wasm"))]
mod check_proof;
#[cfg(all(feature = "cluster", not(target_family = "wasm")))]
mod cluster;
#[cfg(not(target_family = "wasm"))]
mod compare;
#[cfg(not(target_family = "wasm"))]
mod completions;
#[cfg(not(target_family = "wasm"))]
mod condition;
#[cfg(not(target_family = "wasm"))]
mod explain;
mod explore;
mod flags;
#[cfg(not(target_family = "wasm"))]
mod fmt;
#[cfg(not(target_family = "wasm"))]
mod lsp;
#[cfg(not(target_family = "wasm"))]
mod man;
#[cfg(not(target_family = "wasm"))]
mod new;
#[cfg(not(target_family = "wasm"))]
mod orders;
mod permute;
mod prove;
#[cfg(not(target_family = "wasm"))]
mod reach;
#[cfg(not(target_family = "wasm"))]
mod repair;
mod replay;
mod run;
mod sample;
#[cfg(all(feature = "serve", not(target_family = "wasm")))]
mod serve;
mod show_record;
#[cfg(not(target_family = "wasm"))]
mod step;
mod symbolic;
#[cfg(not(target_family = "wasm"))]
mod table;
#[cfg(not(target_family = "wasm"))]
mod test;
mod unfold;
#[cfg(all(feature = "cluster", not(target_family = "wasm")))]
mod worker;

use std::path::Path;
use std::time::Duration;

use clap::{Parser, Subcommand};
use mazurka::record::MistakesRecord;
use mazurka::run::{Plan, RunRecord};
use mazurka::search::TestSink;
use mazurka::{Limits, Program};
use mazurka_report::{Paint, View};

use crate::args::{EXIT_CODES, OutputArgs};
use crate::exit::{self, Exit};
use crate::show::{Format, exchanged_mistakes, json};
use crate::{diagnose, files, output, progress, values, watch};

/// Maximum number of workers. More workers would only slow each other down.
const MOST_JOBS: u64 = 1024;

#[derive(Debug, Parser)]
#[command(
    name = "mazurka",
    version,
    about = "Explores the executions of a concurrent program that are really different",
    long_about = "Explores the executions of a concurrent program that are really different: can an assertion \
                  fail, can it deadlock, is its result always the same, and which schedule shows it?",
    after_help = format!("Examples:
  mazurka check examples/counter.maz
  mazurka check examples/philosophers.maz --set N=3
  mazurka explore examples/counter.maz --format svg > counter.svg
  mazurka run examples/counter.maz --schedule \"0 1 0 1\"
  mazurka permute examples/counter.maz --complete

{EXIT_CODES}")
)]
pub(crate) struct Cli {
    /// Colours: only on a terminal, always, or never
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value_t,
        help_heading = "Output"
    )]
    color: clap::ColorChoice,
    /// Write progress line by line to standard error, for a program that reads it
    #[arg(long, global = true, hide = true)]
    progress_lines: bool,
    /// The upper bound of every memory limit, for a server whose users choose the limit
    #[arg(long, global = true, hide = true, value_name = "SIZE", value_parser = values::size)]
    most_memory: Option<u64>,
    /// The upper bound of every time limit, for the same purpose
    #[arg(long, global = true, hide = true, value_name = "TIME", value_parser = values::time)]
    most_time: Option<Duration>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(check::CheckArgs),
    Explore(Box<explore::ExploreArgs>),
    Sample(sample::SampleArgs),
    Unfold(unfold::UnfoldArgs),
    #[cfg(not(target_family = "wasm"))]
    Reach(reach::ReachArgs),
    Symbolic(symbolic::SymbolicArgs),
    Run(run::RunArgs),
    #[cfg(not(target_family = "wasm"))]
    Step(step::StepArgs),
    Permute(permute::PermuteArgs),
    #[cfg(not(target_family = "wasm"))]
    Replay(replay::ReplayArgs),
    Show(show_record::ShowArgs),
    #[cfg(all(feature = "serve", not(target_family = "wasm")))]
    Serve(serve::ServeArgs),
    #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
    Worker(worker::WorkerArgs),
    #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
    Cluster(cluster::ClusterArgs),
    #[cfg(not(target_family = "wasm"))]
    Orders(orders::OrdersArgs),
    #[cfg(not(target_family = "wasm"))]
    Compare(compare::CompareArgs),
    #[cfg(not(target_family = "wasm"))]
    Condition(condition::ConditionArgs),
    #[cfg(not(target_family = "wasm"))]
    Repair(repair::RepairArgs),
    Prove(prove::ProveArgs),
    #[cfg(not(target_family = "wasm"))]
    CheckProof(check_proof::CheckProofArgs),
    #[cfg(not(target_family = "wasm"))]
    CheckCertificate(check_certificate::CheckCertificateArgs),
    #[cfg(not(target_family = "wasm"))]
    Table(table::TableArgs),
    #[cfg(not(target_family = "wasm"))]
    Test(test::TestArgs),
    #[cfg(not(target_family = "wasm"))]
    New(new::NewArgs),
    #[cfg(not(target_family = "wasm"))]
    Fmt(fmt::FmtArgs),
    #[command(hide = true)]
    Flags(flags::FlagsArgs),
    #[cfg(not(target_family = "wasm"))]
    Explain(explain::ExplainArgs),
    #[cfg(not(target_family = "wasm"))]
    Lsp(lsp::LspArgs),
    #[cfg(not(target_family = "wasm"))]
    Bench(bench::BenchArgs),
    #[cfg(not(target_family = "wasm"))]
    Completions(completions::CompletionsArgs),
    #[cfg(not(target_family = "wasm"))]
    Man(man::ManArgs),
}

/// Executes the command and returns its exit code.
pub(crate) fn execute(cli: &Cli) -> Exit {
    output::colour(cli.color);
    if cli.progress_lines {
        progress::in_lines();
    }
    if let Some(bytes) = cli.most_memory {
        watch::bound_memory(bytes);
    }
    if let Some(most) = cli.most_time {
        watch::bound_time(most);
    }
    if cli.command.allows_inconclusive() {
        exit::allow_inconclusive();
    }
    let done = match &cli.command {
        Command::Check(args) => check::check(args),
        Command::Explore(args) => explore::explore(args),
        Command::Sample(args) => sample::sample(args),
        Command::Unfold(args) => unfold::unfold(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Reach(args) => reach::reach(args),
        Command::Symbolic(args) => symbolic::symbolic(args),
        Command::Run(args) => run::run(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Step(args) => step::step(args),
        Command::Permute(args) => permute::permute(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Replay(args) => replay::replay(args),
        #[cfg(all(feature = "serve", not(target_family = "wasm")))]
        Command::Serve(args) => serve::serve(args),
        #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
        Command::Worker(args) => worker::worker(args),
        #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
        Command::Cluster(args) => cluster::cluster(args),
        Command::Show(args) => show_record::show_record(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Orders(args) => orders::orders(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Compare(args) => compare::compare(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Condition(args) => condition::condition(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Repair(args) => repair::repair(args),
        Command::Prove(args) => prove::prove(args),
        #[cfg(not(target_family = "wasm"))]
        Command::CheckProof(args) => check_proof::check_proof(args),
        #[cfg(not(target_family = "wasm"))]
        Command::CheckCertificate(args) => check_certificate::check_certificate(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Table(args) => table::table(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Test(args) => test::test(args),
        #[cfg(not(target_family = "wasm"))]
        Command::New(args) => new::new(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Fmt(args) => fmt::fmt(args),
        Command::Flags(args) => flags::flags(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Explain(args) => explain::explain(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Lsp(args) => lsp::lsp(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Bench(args) => bench::bench(args),
        #[cfg(not(target_family = "wasm"))]
        Command::Completions(args) => Ok(completions::completions(args)),
        #[cfg(not(target_family = "wasm"))]
        Command::Man(args) => man::man(args),
    };
    let exit = done.unwrap_or_else(|refusal| {
        match refusal {
            Refusal::Done(exit) => return exit,
            Refusal::Message(text) => output::complain(&text),
            Refusal::NotCompiled { mistakes, text } => {
                output::complain(&text);
                let format = cli.command.format();
                if format == Format::Json {
                    return print_mistakes(&mistakes);
                }
                if let Some(text) = exchanged_mistakes(&mistakes, format) {
                    return output::print_raw(&text, Exit::BadInput);
                }
            }
            Refusal::Program { mistakes, source } => {
                let format = cli.command.format();
                if format == Format::Json {
                    return print_mistakes(&mistakes);
                }
                if let Some(text) = exchanged_mistakes(&mistakes, format) {
                    return output::print_raw(&text, Exit::BadInput);
                }
                output::print_error(&diagnose::render(
                    &mistakes.file,
                    &source,
                    &mistakes.diagnostics,
                ));
            }
        }
        Exit::BadInput
    });
    // The result has been printed. Now report the files that could not be written.
    files::unwritten().iter().fold(exit, |exit, problem| {
        output::complain(problem);
        exit.worse(Exit::BadInput)
    })
}

impl Command {
    /// Returns the format of the result.
    fn format(&self) -> Format {
        self.output().map_or(Format::Text, |output| output.format)
    }

    /// Whether an inconclusive verdict counts as success (`--allow-inconclusive`).
    fn allows_inconclusive(&self) -> bool {
        let allowing = match self {
            #[cfg(not(target_family = "wasm"))]
            Command::Bench(args) => Some(&args.allowing),
            #[cfg(not(target_family = "wasm"))]
            Command::Table(args) => Some(&args.allowing),
            #[cfg(not(target_family = "wasm"))]
            Command::Test(args) => Some(&args.allowing),
            #[cfg(not(target_family = "wasm"))]
            Command::CheckProof(args) => Some(&args.allowing),
            #[cfg(not(target_family = "wasm"))]
            Command::CheckCertificate(args) => Some(&args.allowing),
            other => other.output().map(|output| &output.allowing),
        };
        allowing.is_some_and(|allowing| allowing.allow_inconclusive)
    }

    /// Returns the output flags, which most commands have.
    fn output(&self) -> Option<&OutputArgs> {
        Some(match self {
            Command::Check(args) => &args.output,
            Command::Explore(args) => &args.output,
            Command::Sample(args) => &args.output,
            Command::Unfold(args) => &args.output,
            #[cfg(not(target_family = "wasm"))]
            Command::Reach(args) => &args.output,
            Command::Symbolic(args) => &args.output,
            Command::Run(args) => &args.output,
            Command::Permute(args) => &args.output,
            #[cfg(not(target_family = "wasm"))]
            Command::Replay(args) => &args.output,
            Command::Show(args) => &args.output,
            #[cfg(not(target_family = "wasm"))]
            Command::Orders(args) => &args.output,
            #[cfg(not(target_family = "wasm"))]
            Command::Compare(args) => &args.output,
            #[cfg(not(target_family = "wasm"))]
            Command::Condition(args) => &args.output,
            #[cfg(not(target_family = "wasm"))]
            Command::Repair(args) => &args.output,
            Command::Prove(args) => &args.output,
            Command::Flags(_) => return None,
            #[cfg(all(feature = "serve", not(target_family = "wasm")))]
            Command::Serve(_) => return None,
            #[cfg(all(feature = "cluster", not(target_family = "wasm")))]
            Command::Worker(_) | Command::Cluster(_) => return None,
            #[cfg(not(target_family = "wasm"))]
            Command::Step(_)
            | Command::CheckProof(_)
            | Command::CheckCertificate(_)
            | Command::Table(_)
            | Command::Test(_)
            | Command::New(_)
            | Command::Explain(_)
            | Command::Fmt(_)
            | Command::Bench(_)
            | Command::Completions(_)
            | Command::Lsp(_)
            | Command::Man(_) => return None,
        })
    }
}

/// Prints the mistakes of a program as JSON.
fn print_mistakes(mistakes: &MistakesRecord) -> Exit {
    match json(mistakes) {
        Ok(text) => output::print_raw(&text, Exit::BadInput),
        Err(error) => {
            output::complain(&error);
            Exit::BadInput
        }
    }
}

/// The reason why a command has no result of its own, usually bad input.
pub(crate) enum Refusal {
    /// Another process did the work and showed the result.
    Done(Exit),
    /// An error message.
    Message(String),
    /// The errors of a compiler, and its whole output.
    NotCompiled {
        mistakes: Box<MistakesRecord>,
        text: String,
    },
    /// The mistakes of a program, and its text.
    Program {
        mistakes: Box<MistakesRecord>,
        source: String,
    },
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Refusal::Message(text)
    }
}

/// Returns the run given by a schedule or a seed.
pub(super) fn plan(
    program: &Program,
    schedule: Option<&String>,
    seed: u64,
) -> Result<Plan, String> {
    let Some(text) = schedule else {
        return Ok(Plan::Seed(seed));
    };
    let schedule = program.schedule(text);
    schedule.map(Plan::Schedule).map_err(|e| e.to_string())
}

/// Returns how many workers to use: as many as wanted, or one for each core.
pub(super) fn jobs(wanted: Option<u64>) -> usize {
    if cfg!(target_family = "wasm") {
        return 1;
    }
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    wanted.map_or_else(cores, |wanted| wanted.min(MOST_JOBS) as usize)
}

/// Calls `tests` with a function that writes each test into the folder, as `1.json`, `2.json` and
/// so on. Returns the result of `tests`, and whether all tests were written.
pub(super) fn into_folder<T>(folder: &Path, tests: impl FnOnce(TestSink<'_>) -> T) -> (T, bool) {
    let mut folder = files::Folder::new("the test", folder);
    let mut sink = |number: u64, test: &RunRecord| match json(test) {
        Ok(text) => folder.write(&format!("{number}.json"), &text),
        Err(error) => folder.fail(&error),
    };
    let done = tests(&mut sink);
    (done, folder.is_whole())
}

/// Returns the view of a result, with the flags that are needed to replay a schedule.
pub(super) fn view(limits: &Limits) -> View {
    let mut flags = Vec::new();
    if limits.local != Limits::default().local {
        flags.push(format!("--max-local={}", limits.local));
    }
    View {
        paint: Paint::Ansi,
        flags,
        width: output::width(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command().get_subcommands() {
            let after = command.get_after_help().map(ToString::to_string);
            let name = command.get_name();
            assert!(after.unwrap_or_default().contains("Examples:"), "{name}");
        }
    }
}
