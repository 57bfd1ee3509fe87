//! The command `table`: runs several searches of several programs, and shows their counts as a
//! table or a plot. Flags or a list (`experiment.rs`) name the programs, their sizes and the
//! engines; each search becomes a row.

use std::path::Path;

use clap::{Args, ValueEnum};
use mazurka::reach::{Reach, Reachability, StateProperty};
use mazurka::record::Record;
use mazurka::symbolic::{Reduction, SymbolicOptions};
use mazurka::unfold::{NetKind, Unfold};
use mazurka::{Algorithm, Options, Program};
use mazurka_report::{Plot, Sheet};
use serde::Serialize;

use super::reach::Method;
use super::symbolic::reduction;
use super::{Refusal, jobs};
use crate::args::{AllowArgs, OutputArgs, SearchArgs, algorithm, net};
use crate::exit::Exit;
use crate::experiment::{Experiments, Listed};
use crate::program::Sources;
use crate::show::{CSV, Format, JSON, LATEX, MARKDOWN, Offer, TEXT, format, show};
use crate::watch::{self, watched};
use crate::{files, output, values};

const FORMATS: [Offer; 6] = [
    TEXT,
    JSON,
    CSV,
    MARKDOWN,
    LATEX,
    (Format::Svg, "A plot, with a logarithmic axis"),
];

/// The maximal number of searches. A larger number is assumed to be a mistake.
const MOST_SEARCHES: usize = 10_000;

/// Search programs of several sizes with several engines, and count: one row each
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka table corpus/maz/readers/program.maz --set N=2..7 --algorithm source --algorithm optimal
  mazurka table models/*.maz --time-limit 10s --format csv > counts.csv
  mazurka table readers.maz --set N=2..9 --algorithm naive --algorithm optimal --format svg > growth.svg
  mazurka table corpus/maz/thesis-updater/program.maz --command unfold --net contextual --net replicated
  mazurka table sympaths.maz --command symbolic --por none,canonical --format latex
  mazurka table fib.maz --set N=4,5 --command reach --property 'i > 144' --method search,smt
  mazurka table corpus/context-table-1.toml --format markdown

The limits apply to each search. A search that was cut is marked in the columns `verdict` and
`exhaustive`. One worker explores, so that times can be compared.
Exit codes: 0 every search was exhaustive or certain, 2 a search was cut, 3 bad usage or a program with
mistakes. Violations do not affect the exit code: they are in the table.")]
pub(crate) struct TableArgs {
    /// The programs, each a `.maz` or `.abs` file; or a list of them, a `.toml` file, which has
    /// everything except limits and format
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// A constant and its values (repeatable): N=3, N=2,4,8, or N=2..6 for 2, 3, 4 and 5. All
    /// combinations are searched
    #[arg(long, value_name = "NAME=VALUES", value_parser = values::settings)]
    set: Vec<(String, Vec<String>)>,
    /// What to do with each program [default: explore]
    #[arg(long, value_enum)]
    command: Option<Experiment>,
    /// An engine, for --command explore (repeatable) [default: optimal]
    #[arg(long, value_name = "ALGORITHM", value_parser = algorithm(Algorithm::ALL), value_delimiter = ',')]
    algorithm: Vec<Algorithm>,
    /// A net, for --command unfold and reach (repeatable) [default: contextual]
    #[arg(long, value_name = "NET", value_parser = net(), value_delimiter = ',')]
    net: Vec<NetKind>,
    /// Which symbolic states are merged, for --command symbolic (repeatable) [default: canonical]
    #[arg(long, value_name = "FORM", value_parser = reduction(), value_delimiter = ',')]
    por: Vec<Reduction>,
    /// Keep symbolic states whose path condition is unsatisfiable
    #[arg(long)]
    no_feasible: bool,
    /// A state to search for, for --command reach (repeatable): `x == 3 && at(0, 12)`
    #[arg(long, value_name = "CONDITION")]
    property: Vec<String>,
    /// How to search the net, for --command reach (repeatable) [default: search]
    #[arg(long, value_enum, value_delimiter = ',')]
    method: Vec<Method>,
    /// From a list, take only programs whose name contains this
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Show these columns, in this order [default: all]
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    columns: Vec<String>,
    /// The column to plot
    #[arg(long, value_name = "COLUMN", default_value = "executions")]
    plot: String,
    #[command(flatten)]
    search: SearchArgs,
    /// Text for people, the records for programs, a table or a plot
    #[arg(long, value_parser = format(&FORMATS), default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
    /// Show no progress
    #[arg(long, short, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    pub(super) allowing: AllowArgs,
}

/// The command that an experiment applies to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Experiment {
    /// Search for a verdict
    Check,
    /// Explore everything, by each engine
    Explore,
    /// Build each net
    Unfold,
    /// Execute for all initial values
    Symbolic,
    /// Tell whether each state can be reached
    Reach,
}

/// One way to search.
#[derive(Clone, Debug)]
enum SearchMethod {
    Check,
    Explore(Algorithm),
    Unfold(NetKind),
    /// The reduction, and whether states with an unsatisfiable path condition are dropped.
    Symbolic(Reduction, bool),
    /// The property of the state, the net to search, and the method.
    Reach(String, NetKind, Method),
}

/// The result of a search.
#[derive(Debug, Serialize)]
struct SearchResult {
    #[serde(flatten)]
    record: Record,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    state: Option<StateAnswer>,
}

/// The answer about a state that was searched for.
#[derive(Debug, Serialize)]
struct StateAnswer {
    state: String,
    answer: Reachability,
    net: String,
    method: &'static str,
}

/// One program at one size, and how to search it.
#[derive(Debug)]
struct Planned {
    file: String,
    set: Vec<(String, String)>,
    ways: Vec<SearchMethod>,
    /// Its entry in the list, if the search comes from a list.
    listed: Option<Listed>,
}

/// Runs the searches, and shows the counts.
pub(super) fn table(args: &TableArgs) -> Result<Exit, Refusal> {
    let list = args.list()?;
    let planned = match &list {
        Some(list) => args.planned_by(list)?,
        None => args.planned()?,
    };
    let searches: usize = planned.iter().map(|one| one.ways.len()).sum();
    if searches > MOST_SEARCHES {
        let refusal =
            format!("these are {searches} searches, but at most {MOST_SEARCHES} are allowed");
        return Err(refusal.into());
    }
    let options = args.search.options(jobs(Some(1)))?;
    let mut found: Vec<SearchResult> = Vec::new();
    let mut listed = Vec::new();
    let mut read: Option<(&str, Sources)> = None;
    for one in &planned {
        let sources = match read.take() {
            Some((file, sources)) if file == one.file => sources,
            _ => Sources::read(&[&one.file])?,
        };
        let program = sources.load(&one.set)?;
        for way in &one.ways {
            let row = match way {
                SearchMethod::Reach(property, net, method) => {
                    let wanted = sources.state(&one.set, property)?;
                    let net = Unfold {
                        kind: *net,
                        seed: 0,
                    };
                    let method = (*method).into();
                    let how = Reach { net, method };
                    args.reached(&program, (property, wanted), how, &options)?
                }
                way => args.counted(&program, way, &options)?,
            };
            args.complain(&program, &row.record);
            found.push(row);
            listed.push(one.listed.as_ref());
        }
        read = Some((&one.file, sources));
    }
    let cut = found.iter().any(|row| !row.record.scope.bounds.is_empty());
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
    let mut sheet = Sheet::of_searches(found.iter().map(|row| &row.record));
    add_states(&mut sheet, &found);
    if let Some(list) = &list {
        published(&mut sheet, list, &listed);
    }
    let whole = sheet.clone();
    let columns = match (&list, args.columns.is_empty()) {
        (Some(list), true) => &list.columns,
        _ => &args.columns,
    };
    if !columns.is_empty() {
        sheet = selected(&sheet, columns)?;
    }
    show(&found, exit, &output, |format| {
        Ok(match format {
            Format::Csv => sheet.csv(),
            Format::Markdown => sheet.markdown(),
            Format::Latex => sheet.latex(),
            Format::Svg => plot(args, &whole)?.svg(),
            _ if columns.is_empty() => sheet.without_empty_columns().text(),
            _ => sheet.text(),
        })
    })
}

/// Adds columns with the states that were searched for, and the answers.
fn add_states(sheet: &mut Sheet, found: &[SearchResult]) {
    if found.iter().all(|row| row.state.is_none()) {
        return;
    }
    for (cells, row) in sheet.rows.iter_mut().zip(found) {
        let state = row.state.as_ref();
        let cell = |text: fn(&StateAnswer) -> String| state.map_or(String::new(), text);
        cells.push(cell(|state| state.state.clone()));
        cells.push(cell(|state| state.net.clone()));
        cells.push(cell(|state| {
            let answer = match state.answer {
                Reachability::Reachable => "reachable",
                Reachability::Unreachable => "unreachable",
                Reachability::Unknown => "unknown",
            };
            answer.to_owned()
        }));
    }
    let names = ["state", "net", "answer"];
    sheet.head.extend(names.map(str::to_owned));
}

/// For programs from a list: adds their names as the first column, and the published figures as the
/// last columns.
fn published(sheet: &mut Sheet, list: &Experiments, listed: &[Option<&Listed>]) {
    let algorithm = sheet.head.iter().position(|name| name == "algorithm");
    let publishers = list.publishers();
    for (row, listed) in sheet.rows.iter_mut().zip(listed) {
        let Some(listed) = listed else { continue };
        let engine = algorithm.map_or(String::new(), |at| row[at].clone());
        row.extend(publishers.iter().map(|who| listed.figure(who, &engine)));
        row.insert(0, listed.name.clone());
    }
    sheet.head.insert(0, "name".to_owned());
    sheet.head.extend(publishers);
}

/// Refuses published figures that no row or column of the table would show.
fn refuse_lost_figures(list: &Experiments) -> Result<(), Refusal> {
    let columns = Sheet::of_searches(std::iter::empty()).head;
    for publisher in list.publishers() {
        if columns.contains(&publisher) {
            return Err(format!(
                "`{publisher}` is the name of a column: choose another name for the publisher"
            )
            .into());
        }
    }
    let is_engine = |name: &str| {
        name.parse::<Algorithm>().is_ok()
            || name.parse::<NetKind>().is_ok()
            || name.parse::<Reduction>().is_ok()
            || <Method as ValueEnum>::from_str(name, false).is_ok()
    };
    for program in &list.programs {
        let mut engines = program.published.values().flat_map(|all| all.keys());
        if let Some(name) = engines.find(|name| !is_engine(name)) {
            let refusal = format!("program `{}`: there is no engine `{name}`", program.name);
            return Err(refusal.into());
        }
    }
    Ok(())
}

/// Selects columns of a sheet, in this order.
fn selected(sheet: &Sheet, columns: &[String]) -> Result<Sheet, Refusal> {
    let place = |name: &String| {
        let place = sheet.head.iter().position(|known| known == name);
        place.ok_or_else(|| no_column(name, sheet))
    };
    let places: Result<Vec<usize>, Refusal> = columns.iter().map(place).collect();
    let places = places?;
    let pick = |row: &Vec<String>| places.iter().map(|&at| row[at].clone()).collect();
    Ok(Sheet {
        head: pick(&sheet.head),
        rows: sheet.rows.iter().map(pick).collect(),
    })
}

fn no_column(name: &str, sheet: &Sheet) -> Refusal {
    format!("there is no column `{name}`: {}", sheet.head.join(", ")).into()
}

/// The ways to search, given by a command and the names of engines, nets and reductions.
struct SearchMethods<'a> {
    command: Experiment,
    algorithms: &'a [Algorithm],
    nets: &'a [NetKind],
    reductions: &'a [Reduction],
    feasible: bool,
    properties: &'a [String],
    methods: &'a [Method],
}

impl SearchMethods<'_> {
    fn all(&self) -> Result<Vec<SearchMethod>, Refusal> {
        let (algorithms, nets) = (!self.algorithms.is_empty(), !self.nets.is_empty());
        let reach = !self.properties.is_empty() || !self.methods.is_empty();
        let symbolic = !self.reductions.is_empty() || !self.feasible;
        use Experiment::{Explore, Reach, Symbolic, Unfold};
        let refused: [(bool, &[Experiment], &str); 4] = [
            (
                algorithms,
                &[Explore],
                "--algorithm is for --command explore",
            ),
            (
                nets,
                &[Unfold, Reach],
                "--net is for --command unfold and reach",
            ),
            (
                symbolic,
                &[Symbolic],
                "--por and --no-feasible are for --command symbolic",
            ),
            (
                reach,
                &[Reach],
                "--property and --method are for --command reach",
            ),
        ];
        for (given, commands, why) in refused {
            if given && !commands.contains(&self.command) {
                return Err(why.to_owned().into());
            }
        }
        let or = |given: &[NetKind]| match given {
            [] => vec![NetKind::Contextual],
            given => given.to_vec(),
        };
        let feasible = self.feasible;
        Ok(match self.command {
            Experiment::Check => vec![SearchMethod::Check],
            Experiment::Symbolic if !self.reductions.is_empty() => {
                let forms = self.reductions.iter();
                forms
                    .map(|&form| SearchMethod::Symbolic(form, feasible))
                    .collect()
            }
            Experiment::Symbolic => vec![SearchMethod::Symbolic(Reduction::default(), feasible)],
            Experiment::Explore if algorithms => self
                .algorithms
                .iter()
                .copied()
                .map(SearchMethod::Explore)
                .collect(),
            Experiment::Explore => vec![SearchMethod::Explore(Algorithm::Optimal)],
            Experiment::Unfold => or(self.nets)
                .into_iter()
                .map(SearchMethod::Unfold)
                .collect(),
            Experiment::Reach => {
                if self.properties.is_empty() {
                    return Err("--command reach needs a --property".to_owned().into());
                }
                let methods = match self.methods {
                    [] => &[Method::Search],
                    given => given,
                };
                let mut ways = Vec::new();
                for property in self.properties {
                    for &net in &or(self.nets) {
                        let all = methods.iter();
                        ways.extend(
                            all.map(|&how| SearchMethod::Reach(property.clone(), net, how)),
                        );
                    }
                }
                ways
            }
        })
    }
}

/// Parses names, each of which must be known.
fn named<T: std::str::FromStr>(names: &[String]) -> Result<Vec<T>, Refusal>
where
    T::Err: std::fmt::Display,
{
    let known = |name: &String| name.parse::<T>().map_err(|error| error.to_string().into());
    names.iter().map(known).collect()
}

impl TableArgs {
    /// Reads the list, if one is named.
    fn list(&self) -> Result<Option<Experiments>, Refusal> {
        let is_list = |file: &String| file.ends_with(".toml");
        if !self.files.iter().any(is_list) {
            return match self.only {
                Some(_) => Err("--only is for lists".to_owned().into()),
                None => Ok(None),
            };
        }
        let flags = !self.set.is_empty() || self.command.is_some() || self.no_feasible;
        let engines = !self.algorithm.is_empty() || !self.net.is_empty() || !self.por.is_empty();
        let states = !self.property.is_empty() || !self.method.is_empty();
        if flags || engines || states || self.files.len() > 1 {
            let refusal = "a list names the programs, settings and engines: give it without other files and flags";
            return Err(refusal.to_owned().into());
        }
        let file = &self.files[0];
        Ok(Some(Experiments::parse(file, &files::program(file)?)?))
    }

    /// Returns the searches that the flags ask for.
    fn planned(&self) -> Result<Vec<Planned>, Refusal> {
        for (at, (name, _)) in self.set.iter().enumerate() {
            if self.set[..at].iter().any(|(known, _)| known == name) {
                return Err(
                    format!("--set {name} is given twice: write --set {name}=2,4,8").into(),
                );
            }
        }
        let ways = SearchMethods {
            command: self.command.unwrap_or(Experiment::Explore),
            algorithms: &self.algorithm,
            nets: &self.net,
            reductions: &self.por,
            feasible: !self.no_feasible,
            properties: &self.property,
            methods: &self.method,
        };
        let ways = ways.all()?;
        let settings = combinations(&self.set);
        if self.files.len() * settings.len() * ways.len() > MOST_SEARCHES {
            let refusal = format!("at most {MOST_SEARCHES} searches are allowed");
            return Err(refusal.into());
        }
        let planned = self.files.iter().flat_map(|file| {
            settings.iter().map(|set| Planned {
                file: file.clone(),
                set: set.clone(),
                ways: ways.clone(),
                listed: None,
            })
        });
        Ok(planned.collect())
    }

    /// Returns the searches that a list asks for.
    fn planned_by(&self, list: &Experiments) -> Result<Vec<Planned>, Refusal> {
        let command = match &list.command {
            Some(name) => <Experiment as ValueEnum>::from_str(name, false).map_err(|_| {
                format!("there is no command `{name}`: check, explore, unfold, symbolic or reach")
            })?,
            None => Experiment::Explore,
        };
        let method = |name: &String| {
            let known = <Method as ValueEnum>::from_str(name, false);
            known.map_err(|_| format!("there is no method `{name}`: search or smt"))
        };
        let methods: Vec<Method> = list.method.iter().map(method).collect::<Result<_, _>>()?;
        let (algorithms, nets) = (named(&list.algorithm)?, named(&list.net)?);
        if let Some(other) = algorithms.iter().find(|one| !Algorithm::ALL.contains(one)) {
            let names: Vec<&str> = Algorithm::ALL.iter().map(|one| one.name()).collect();
            let (other, names) = (other.name(), names.join(", "));
            let why = format!("a table has no `{other}`, which only counts a sample: {names}");
            return Err(why.into());
        }
        let reductions = named(&list.por)?;
        refuse_lost_figures(list)?;
        let ways = |properties: &[String]| {
            let ways = SearchMethods {
                command,
                algorithms: &algorithms,
                nets: &nets,
                reductions: &reductions,
                feasible: list.feasible.unwrap_or(true),
                properties,
                methods: &methods,
            };
            ways.all()
        };
        let folder = Path::new(&self.files[0]).parent().unwrap_or(Path::new(""));
        let wanted = |listed: &&Listed| match &self.only {
            Some(part) => listed.name.contains(part),
            None => true,
        };
        let planned = list.programs.iter().filter(wanted).map(|listed| {
            let file = folder.join(&listed.file);
            files::below(folder, &file)?;
            Ok(Planned {
                file: file.display().to_string(),
                set: listed.settings()?,
                ways: ways(&listed.property)?,
                listed: Some(listed.clone()),
            })
        });
        let planned: Vec<Planned> = planned.collect::<Result<_, Refusal>>()?;
        if planned.is_empty() {
            Err("no program of the list has such a name".to_owned().into())
        } else {
            Ok(planned)
        }
    }

    /// Searches for a state.
    fn reached(
        &self,
        program: &Program,
        (property, wanted): (&str, StateProperty),
        how: Reach,
        options: &Options,
    ) -> Result<SearchResult, Refusal> {
        let done = watched(&options.limits, self.quiet, |watch| {
            program.reach(&wanted, how, options, watch)
        })?;
        let done = done.map_err(|error| format!("`{}`: {error}", program.record().file))?;
        let mut record = done.record;
        record.algorithm = how.method.name().to_owned();
        watch::add_memory(&mut record);
        let state = StateAnswer {
            state: property.to_owned(),
            answer: done.answer,
            net: how.net.kind.to_string(),
            method: how.method.name(),
        };
        Ok(SearchResult {
            record,
            state: Some(state),
        })
    }

    /// Runs one search, and counts.
    fn counted(
        &self,
        program: &Program,
        way: &SearchMethod,
        options: &Options,
    ) -> Result<SearchResult, Refusal> {
        let done = watched(&options.limits, self.quiet, |watch| match *way {
            SearchMethod::Reach(..) => unreachable!("`reached` searches for states"),
            SearchMethod::Check => program.check(options, watch),
            SearchMethod::Explore(algorithm) => program.explore(algorithm, options, watch),
            SearchMethod::Unfold(kind) => {
                let net = program.unfold(Unfold { kind, seed: 0 }, options, watch);
                net.map(|unfolded| {
                    let mut record = unfolded.record;
                    record.algorithm = kind.to_string();
                    record
                })
            }
            SearchMethod::Symbolic(por, feasible) => {
                let wanted = SymbolicOptions {
                    por,
                    feasible,
                    ..SymbolicOptions::default()
                };
                let states = program.symbolic(&wanted, options, watch);
                states.map(|states| {
                    let mut record = states.record;
                    record.algorithm = por.name().to_owned();
                    record
                })
            }
        })?;
        let file = &program.record().file;
        let mut record = done.map_err(|error| format!("`{file}`: {error}"))?;
        watch::add_memory(&mut record);
        Ok(SearchResult {
            record,
            state: None,
        })
    }

    /// Reports a search that hit a bound.
    fn complain(&self, program: &Program, record: &Record) {
        let file = &program.record().file;
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
    }
}

/// Returns all combinations of the values of settings; the last setting varies fastest.
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

/// Plots a column against the setting that varies, with a line for each combination of file, engine
/// and other settings.
fn plot(args: &TableArgs, sheet: &Sheet) -> Result<Plot, Refusal> {
    let column = |name: &str| sheet.head.iter().position(|known| known == name);
    let up = column(&args.plot).ok_or_else(|| no_column(&args.plot, sheet))?;
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
    if series.is_empty() {
        let refusal = format!("no row has a number in the column `{}`", args.plot);
        return Err(refusal.into());
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
