//! The command `table`.

use clap::{Args, ValueEnum};
use mazurka::record::Record;
use mazurka::symbolic::SymbolicOptions;
use mazurka::unfold::{NetKind, Unfold};
use mazurka::{Algorithm, Options, Program};
use mazurka_report::{Plot, Sheet};

use super::{Refusal, jobs};
use crate::args::{AllowArgs, OutputArgs, SearchArgs, algorithm, net};
use crate::exit::Exit;
use crate::program::Sources;
use crate::show::{CSV, Format, JSON, LATEX, MARKDOWN, Offer, TEXT, format, show};
use crate::watch::{self, watched};
use crate::{output, values};

const FORMATS: [Offer; 6] = [
    TEXT,
    JSON,
    CSV,
    MARKDOWN,
    LATEX,
    (Format::Svg, "A plot, with a logarithmic axis"),
];

/// So many searches are an experiment; more were asked for by mistake.
const MOST_SEARCHES: usize = 10_000;

/// Search programs of several sizes by several engines, and count: a row for each
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka table corpus/maz/readers/program.maz --set N=2..7 --algorithm source --algorithm optimal
  mazurka table models/*.maz --time-limit 10s --format csv > counts.csv
  mazurka table readers.maz --set N=2..9 --algorithm naive --algorithm optimal --format svg > growth.svg
  mazurka table corpus/maz/thesis-updater/program.maz --command unfold --net contextual --net replicated
  mazurka table sympaths.maz --command symbolic --format latex

Each search has the limits for itself. A search that is cut says so in the columns `verdict` and
`exhaustive`. One worker explores, so that times can be compared.
Exit codes: 0 every search was exhaustive or certain, 2 one was cut, 3 bad usage or a program with
mistakes. Violations change no exit code: they are in the table.")]
pub(crate) struct TableArgs {
    /// The programs, each a `.maz` or `.abs` file
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// A constant and its values (repeatable): N=3, N=2,4,8, or N=2..6 for 2, 3, 4 and 5. All
    /// combinations are searched
    #[arg(long, value_name = "NAME=VALUES", value_parser = values::settings)]
    set: Vec<(String, Vec<String>)>,
    /// What to do with each
    #[arg(long, value_enum, default_value_t = Experiment::Explore)]
    command: Experiment,
    /// An engine, for --command explore (repeatable) [default: optimal]
    #[arg(long, value_name = "ALGORITHM", value_parser = algorithm(Algorithm::ALL))]
    algorithm: Vec<Algorithm>,
    /// A net, for --command unfold (repeatable) [default: contextual]
    #[arg(long, value_name = "NET", value_parser = net())]
    net: Vec<NetKind>,
    /// What a plot counts: the name of a column
    #[arg(long, value_name = "COLUMN", default_value = "executions")]
    plot: String,
    #[command(flatten)]
    search: SearchArgs,
    /// Text for people, the records for programs, a table or a plot
    #[arg(long, value_parser = format(&FORMATS), default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
    /// No progress
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    pub(super) allowing: AllowArgs,
}

/// What an experiment does with a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Experiment {
    /// Look for a verdict
    Check,
    /// Explore everything, by each engine
    Explore,
    /// Build each net
    Unfold,
    /// Execute for all initial values
    Symbolic,
}

/// One way to search.
#[derive(Clone, Copy, Debug)]
enum Way {
    Check,
    Explore(Algorithm),
    Unfold(NetKind),
    Symbolic,
}

/// Searches, and shows the counts.
pub(super) fn table(args: &TableArgs) -> Result<Exit, Refusal> {
    let ways = args.ways()?;
    let settings = combinations(&args.set);
    let searches = args.files.len() * settings.len() * ways.len();
    if searches > MOST_SEARCHES {
        let no = format!("that would be {searches} searches, and at most {MOST_SEARCHES} are made");
        return Err(no.into());
    }
    let options = args.search.options(jobs(Some(1)))?;
    let mut records = Vec::new();
    for file in &args.files {
        let sources = Sources::read(&[file])?;
        for set in &settings {
            let program = sources.load(set)?;
            for way in &ways {
                let record = args.searched(&program, *way, &options)?;
                records.push(record);
            }
        }
    }
    let cut = records.iter().any(|record| !record.scope.bounds.is_empty());
    let exit = if cut {
        Exit::Inconclusive
    } else {
        Exit::Verified
    };
    let output = OutputArgs {
        format: args.format,
        quiet: false,
        allowing: args.allowing,
    };
    let sheet = Sheet::of_searches(&records);
    show(&records, exit, &output, |format| {
        Ok(match format {
            Format::Csv => sheet.csv(),
            Format::Markdown => sheet.markdown(),
            Format::Latex => sheet.latex(),
            Format::Svg => plot(args, &sheet)?.svg(),
            _ => sheet.text(),
        })
    })
}

impl TableArgs {
    /// The ways to search that the flags name.
    fn ways(&self) -> Result<Vec<Way>, Refusal> {
        let refused = match self.command {
            Experiment::Explore => (!self.net.is_empty(), "--net is for --command unfold"),
            Experiment::Unfold => (
                !self.algorithm.is_empty(),
                "--algorithm is for --command explore",
            ),
            Experiment::Check | Experiment::Symbolic => (
                !self.algorithm.is_empty() || !self.net.is_empty(),
                "--algorithm is for --command explore, and --net for --command unfold",
            ),
        };
        if let (true, why) = refused {
            return Err(why.to_owned().into());
        }
        Ok(match self.command {
            Experiment::Check => vec![Way::Check],
            Experiment::Symbolic => vec![Way::Symbolic],
            Experiment::Explore if self.algorithm.is_empty() => {
                vec![Way::Explore(Algorithm::Optimal)]
            }
            Experiment::Explore => self.algorithm.iter().copied().map(Way::Explore).collect(),
            Experiment::Unfold if self.net.is_empty() => vec![Way::Unfold(NetKind::Contextual)],
            Experiment::Unfold => self.net.iter().copied().map(Way::Unfold).collect(),
        })
    }

    fn searched(&self, program: &Program, way: Way, options: &Options) -> Result<Record, Refusal> {
        let done = watched(&options.limits, self.quiet, |watch| match way {
            Way::Check => program.check(options, watch),
            Way::Explore(algorithm) => program.explore(algorithm, options, watch),
            Way::Unfold(kind) => {
                let net = program.unfold(Unfold { kind, seed: 0 }, options, watch);
                net.map(|unfolded| unfolded.record)
            }
            Way::Symbolic => {
                let wanted = SymbolicOptions::default();
                let states = program.symbolic(&wanted, options, watch);
                states.map(|states| states.record)
            }
        })?;
        let file = &program.record().file;
        let mut record = done.map_err(|error| format!("`{file}`: {error}"))?;
        watch::add_memory(&mut record);
        if !record.scope.bounds.is_empty() && !self.quiet {
            let set = program.record().set.iter();
            let set: String = set
                .map(|(name, value)| format!(" {name}={value}"))
                .collect();
            output::complain(&format!(
                "{file}{set}: {}: not everything was explored",
                record.algorithm
            ));
        }
        Ok(record)
    }
}

/// All combinations of the values of settings, the last one varied first.
fn combinations(set: &[(String, Vec<String>)]) -> Vec<Vec<(String, String)>> {
    let mut all = vec![Vec::new()];
    for (name, values) in set {
        let longer = all.iter().flat_map(|one| {
            values.iter().map(|value| {
                let mut one = one.clone();
                one.push((name.clone(), value.clone()));
                one
            })
        });
        all = longer.collect();
    }
    all
}

/// The plot of a column by the setting that varies: a line for each file, engine and rest of the
/// settings.
fn plot(args: &TableArgs, sheet: &Sheet) -> Result<Plot, Refusal> {
    let column = |name: &str| sheet.head.iter().position(|known| known == name);
    let up = column(&args.plot).ok_or_else(|| {
        format!(
            "there is no column `{}`: {}",
            args.plot,
            sheet.head.join(", ")
        )
    })?;
    let varied = args.set.iter().find(|(_, values)| values.len() > 1);
    let (across, _) = varied
        .ok_or_else(|| "a plot needs a constant with several values: --set N=2..6".to_owned())?;
    let [file, set, algorithm] = ["file", "set", "algorithm"].map(|name| column(name).unwrap_or(0));
    let mut series: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for row in &sheet.rows {
        let settings = row[set].split(' ');
        let (here, rest): (Vec<&str>, Vec<&str>) =
            settings.partition(|one| one.split('=').next() == Some(across));
        let value = here.first().and_then(|one| one.split('=').nth(1));
        let place = value.and_then(|value| value.parse::<f64>().ok());
        let (Some(x), Ok(y)) = (place, row[up].parse::<f64>()) else {
            continue;
        };
        let mut name = row[algorithm].clone();
        if args.files.len() > 1 {
            name = format!("{} {name}", row[file]);
        }
        name += &rest.iter().map(|one| format!(" {one}")).collect::<String>();
        let name = name.trim_end().to_owned();
        match series.iter_mut().find(|(known, _)| *known == name) {
            Some((_, points)) => points.push((x, y)),
            None => series.push((name, vec![(x, y)])),
        }
    }
    Ok(Plot {
        across: across.clone(),
        up: args.plot.clone(),
        series,
    })
}

#[cfg(test)]
mod tests {
    use super::combinations;

    #[test]
    fn settings_are_combined() {
        let set = |name: &str, values: &[&str]| {
            (
                name.to_owned(),
                values.iter().map(|v| (*v).to_owned()).collect(),
            )
        };
        let all = combinations(&[set("N", &["1", "2"]), set("M", &["3", "4"])]);
        let shown: Vec<String> = all
            .iter()
            .map(|one| one.iter().map(|(_, value)| value.as_str()).collect())
            .collect();
        assert_eq!(shown, ["13", "14", "23", "24"]);
        assert_eq!(combinations(&[]), [Vec::new()]);
    }
}
