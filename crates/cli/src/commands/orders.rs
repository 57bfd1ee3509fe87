//! The command `orders`: shows which memory orders are too weak, or stronger than needed.

use clap::Args;

use super::{Refusal, jobs, view};
use crate::args::{LimitArgs, MemoryArgs, OutputArgs};
use crate::exit::Exit;
use crate::program::ProgramArgs;
use crate::property::PropertyArgs;
use crate::show::show;
use crate::values;
use crate::watch::watched;

/// Say which memory orders are too weak, or stronger than needed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka orders message.maz --memory rc11
  mazurka orders peterson.maz --memory tso --time-limit 1m

If the program is violated, the answer is a smallest set of accesses to strengthen, with the weakest
orders that suffice there. If it is verified, the answer is the weakest orders with which it still
is verified: they are weakened one by one, from the first access on. A separate search checks each.
Exit codes: 0 verified, 1 violated, 2 inconclusive (a bound was hit), 3 bad input or usage,
4 internal error.")]
pub(crate) struct OrdersArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    memory: MemoryArgs,
    #[command(flatten)]
    property: PropertyArgs,
    /// Workers that explore in parallel [default: one for each core]; they do not change the result
    #[arg(long, short, value_name = "N", value_parser = values::count)]
    jobs: Option<u64>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
}

/// Searches for better orders, and shows them.
pub(super) fn orders(args: &OrdersArgs) -> Result<Exit, Refusal> {
    let program = args.program.load()?;
    let mut options = args.limits.options(jobs(args.jobs));
    args.property.apply(&program, &mut options)?;
    options.memory = args.memory.memory;
    let whole = watched(&options.limits, args.output.quiet, |watch| {
        program.orders(&options, watch)
    })?;
    let whole = whole.map_err(|error| error.to_string())?;
    let (record, orders) = (&whole.record, &whole.orders);
    show(&whole, record.verdict.into(), &args.output, |_| {
        Ok(mazurka_report::orders(
            record,
            orders,
            &view(&options.limits),
        ))
    })
}
