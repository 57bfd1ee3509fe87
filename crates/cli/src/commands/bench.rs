//! The command `bench`.

use mazurka::{Bench, Benchmark};
use mazurka_report::{Paint, View};

use crate::args::{BenchArgs, Format};
use crate::exit::Exit;
use crate::output;
use crate::watch::Watcher;

/// Measures and shows. The error is a sentence about what was asked for.
pub(super) fn bench(args: &BenchArgs) -> Result<Exit, String> {
    let plan = Bench {
        algorithms: args.algorithm.clone(),
        filter: args.filter.clone(),
        quick: args.quick,
        repeat: args.repeat,
        time: args.time_limit,
    };
    let mut watcher = Watcher::new(None, false)?;
    let measured = plan.run(&mut |progress| watcher.look(progress));
    watcher.finish();
    let measured = measured.map_err(|error| error.to_string())?;
    let exit = exit(&measured);
    Ok(match args.format {
        Format::Text => {
            let view = View {
                paint: Paint::Ansi,
                flags: Vec::new(),
            };
            output::print(&mazurka_report::bench(&measured, &view), exit)
        }
        Format::Json => {
            let text = mazurka_report::json(&measured)
                .map_err(|error| format!("cannot write the record: {error}"))?;
            output::print_raw(&text, exit)
        }
    })
}

/// About the counts, which are the same on every machine, and not about the speed.
fn exit(measured: &Benchmark) -> Exit {
    let rows = &measured.rows;
    match (
        rows.iter().all(|row| row.agrees()),
        rows.iter().all(|row| row.complete()),
    ) {
        (false, _) => Exit::Violated,
        (true, false) => Exit::Inconclusive,
        (true, true) => Exit::Verified,
    }
}
