//! The command `step`: a dialogue about one execution. It reads lines such as `next`, `back 2` or
//! the name of a process, gives them to a `Stepper` of the library, and prints the new state.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::Path;

use clap::Args;
use mazurka::record::{Ending, Run};
use mazurka::replay::{Recording, ReplayProblem};
use mazurka::run::parse_input;
use mazurka::step::{StepProblem, Stepper};
use mazurka::{Bound, Limits, Options, Program, Watch};
use mazurka_report::{OneRun, Stepped, View};

use super::{Refusal, view};
use crate::args::options_of;
use crate::exit::Exit;
use crate::program::ProgramArgs;
use crate::show::json;
use crate::watch::{self, watched};
use crate::{files, output, values};

/// The maximal length of a line of the dialogue, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Step through one execution by hand, forwards and backwards
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  mazurka step counter.maz
  mazurka step philosophers.maz --set N=3 --schedule \"philosopher(2) philosopher(0)\"
  mazurka check counter.maz --witness bad.json; mazurka step counter.maz --record bad.json
  printf '0\\n1\\nstate\\nsave run.json\\n' | mazurka step counter.maz

It reads commands from standard input, and after each shows the possible next steps; `help` lists
the commands.
Processes are named as in schedules: 0, 0.1, philosopher(2), and 0=3 lets its `choose` give 3.
Inputs that are not given are 0, as for `run`. Exit codes: 0 the end of the dialogue, 3 bad input or
usage, 4 internal error. See docs/step.md.")]
pub(crate) struct StepArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Start with these steps, such as "0 0 0.1=2 1"
    #[arg(long, value_name = "SCHEDULE", conflicts_with = "record")]
    schedule: Option<String>,
    /// Start with the run of a record, as `--witness FILE` or `save FILE` writes it
    #[arg(long, value_name = "FILE")]
    record: Option<String>,
    /// The values of inputs, by process and order (or initial values, by variable) [default: 0]
    #[arg(long, value_name = "INPUT=VALUE", num_args = 1.., value_parser = values::input, conflicts_with = "record")]
    inputs: Vec<(String, i128)>,
    /// The seed of `random`
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = values::seed, allow_negative_numbers = true)]
    seed: u64,
    /// The number of steps at which `random` and `finish` stop [default: 10000]
    #[arg(long, value_name = "N", value_parser = values::count, help_heading = "Limits")]
    max_depth: Option<u64>,
    /// Local work within one step, in jumps and calls, at most 20 million
    #[arg(long, value_name = "N", default_value_t = Limits::default().local, value_parser = values::local, help_heading = "Limits")]
    max_local: u64,
}

/// A command of the dialogue: its name, its argument (empty if it takes none), and what it does.
type Offered = (&'static str, &'static str, &'static str);

/// A command may be abbreviated to its first letter; the first command with that letter is meant.
const COMMANDS: [Offered; 11] = [
    ("again", "[N]", "redo N steps that were taken back (1)"),
    ("back", "[N]", "take N steps back (1)"),
    (
        "finish",
        "",
        "make random steps until the run ends, as `run` does",
    ),
    ("goto", "SCHEDULE", "go to the end of a schedule"),
    ("help", "", "list the commands"),
    ("quit", "", "end the dialogue"),
    ("random", "[N]", "make N random steps (1)"),
    (
        "state",
        "",
        "show variables, locals, locks, and what processes wait for",
    ),
    (
        "schedule",
        "",
        "show the schedule, and the command that runs it",
    ),
    ("start", "", "go back to the start"),
    ("save", "FILE", "save the run, for `mazurka replay FILE`"),
];

/// Runs the dialogue about one execution.
pub(super) fn step(args: &StepArgs) -> Result<Exit, Refusal> {
    if args.program.file == "-" {
        let refusal = "`step` reads its commands from standard input; name the file of the program";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    let limits = Limits {
        depth: args.max_depth,
        local: args.max_local,
        memory: watch::memory_limit(None),
        ..Limits::default()
    };
    let mut options = options_of(limits, 1);
    options.inputs.clone_from(&args.inputs);
    let (program, start) = match &args.record {
        Some(record) => recorded(args, record, &mut options)?,
        None => {
            let program = args.program.load()?;
            (program, args.schedule.clone().unwrap_or_default())
        }
    };
    if !options.inputs.is_empty() && program.unknowns().is_empty() {
        let refusal = "this program asks for no inputs; leave out --inputs";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    let schedule = program.schedule(&start).map_err(|e| e.to_string())?;
    let stepper = program.stepper(&options);
    let mut stepper = stepper.map_err(|error| error.to_string())?;
    stepper.seed(args.seed);
    let reached = stepper.go_to(&schedule);
    reached.map_err(|(at, problem)| format!("step {at} of the schedule: {problem}"))?;
    watched(&options.limits, true, |watch| {
        let dialogue = Dialogue {
            program: &program,
            stepper,
            view: view(&options.limits),
            watch,
        };
        dialogue.run()
    })?
}

/// Returns the program of a record, and the schedule of its run. Adds the inputs of the run to the
/// options.
fn recorded(
    args: &StepArgs,
    name: &str,
    options: &mut Options,
) -> Result<(Program, String), Refusal> {
    let parsed = Recording::parse(&files::record(name)?);
    let recording = parsed.map_err(|error| format!("`{name}`: {error}"))?;
    let Recording { record, run } = &recording;
    // If no settings are given, use the recorded settings.
    let set = match args.program.settings() {
        none if none.is_empty() => record.program.set.clone(),
        set => set,
    };
    let program = args.program.sources()?.load(&set)?;
    if program.record().hash != record.program.hash {
        let problem = ReplayProblem::OtherProgram {
            file: program.record().file.clone(),
            recorded: record.program.hash.clone(),
            now: program.record().hash.clone(),
        };
        return Err(problem.to_string().into());
    }
    let first = record.witnesses.first().and_then(|one| one.runs.first());
    let run: &Run = match first.or(run.as_ref()) {
        Some(run) => run,
        None => {
            let problem = ReplayProblem::without_runs(record);
            return Err(format!("`{name}`: {problem}").into());
        }
    };
    let inputs = run.inputs.iter();
    let given = inputs.filter_map(|one| Some((one.name.clone(), parse_input(&one.value)?)));
    options.inputs = given.collect();
    Ok((program, run.schedule.clone()))
}

/// A dialogue about one run.
struct Dialogue<'a, 'w> {
    program: &'a Program,
    stepper: Stepper<'a>,
    view: View,
    watch: &'a mut Watch<'w>,
}

impl Dialogue<'_, '_> {
    /// Answers lines until the input ends, or the output is closed.
    fn run(mut self) -> Result<Exit, Refusal> {
        let prompts = io::stdin().is_terminal() && io::stdout().is_terminal();
        let first = self.situation_text(0);
        let mut answer = Some(format!("{}\n{first}", self.program.record().file));
        while let Some(text) = answer {
            let written = output::try_print(&mazurka_report::fit(&text, self.view.width));
            if written.is_err() {
                return Ok(output::written(written, Exit::Verified));
            }
            if watch::interrupted() {
                break;
            }
            if prompts {
                print_prompt(self.stepper.steps_made());
            }
            let line = read_line().map_err(|e| format!("cannot read standard input: {e}"))?;
            if line.is_none() && prompts {
                // End the line of the prompt, so that the next output of the terminal starts on a
                // new line.
                println!();
            }
            answer = line.and_then(|line| self.answer(&line));
        }
        Ok(Exit::Verified)
    }

    /// Executes a line and returns the answer, or `None` if the dialogue ends.
    fn answer(&mut self, line: &str) -> Option<String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let done = match self.command(word) {
            _ if line.is_empty() => Ok(self.situation_text(self.stepper.steps_made())),
            Some("quit") => return None,
            Some(command) => self.execute(command, rest.trim()),
            None => self.steps(line),
        };
        Some(done.unwrap_or_else(|problem| format!("{problem}\n")))
    }

    /// Returns the command that a word names. If a single letter is also the name of a process, it
    /// means the process.
    fn command(&self, word: &str) -> Option<&'static str> {
        let mut names = COMMANDS.iter().map(|&(name, ..)| name);
        if let Some(name) = names.clone().find(|&name| name == word) {
            return Some(name);
        }
        let letter = word.chars().count() == 1 && self.program.schedule(word).is_err();
        names.find(|name| letter && name.starts_with(word))
    }

    /// Executes a command. The error is a message about it.
    fn execute(&mut self, command: &'static str, rest: &str) -> Result<String, String> {
        let offered = COMMANDS.iter().find(|(name, ..)| *name == command);
        if offered.is_some_and(|(_, takes, _)| takes.is_empty()) && !rest.is_empty() {
            return Err(format!("`{command}` takes no argument; leave out `{rest}`"));
        }
        let known = self.stepper.steps_made();
        match command {
            "again" => {
                let outcome = self.stepper.redo(number(command, rest)?);
                self.show_steps(known, outcome.map(|_| ()))
            }
            "back" => {
                self.stepper.back(number(command, rest)?);
                Ok(self.situation_text(self.stepper.steps_made()))
            }
            "start" => {
                self.stepper.back(known);
                Ok(self.situation_text(0))
            }
            "goto" => self.go_to(rest),
            "random" => {
                let steps = number(command, rest)? as u64;
                let bound = self.stepper.by_chance(steps, self.watch);
                self.bounded(known, bound)
            }
            "finish" => {
                let bound = self.stepper.finish(self.watch);
                self.bounded(known, bound)
            }
            "state" => Ok(mazurka_report::situation(
                &self.stepper.situation(),
                &self.view,
            )),
            "schedule" => Ok(self.schedule()),
            "save" => self.save(rest),
            _ => Ok(help()),
        }
    }

    /// Makes the steps that a line names.
    fn steps(&mut self, line: &str) -> Result<String, String> {
        let schedule = self.program.schedule(line).map_err(|error| {
            let ready = self.ready();
            match line.split_whitespace().count() {
                1 => format!(
                    "`{line}` is neither a command nor a process; {ready}; `help` lists the commands"
                ),
                _ => format!("{error}; {ready}; `help` lists the commands"),
            }
        })?;
        let known = self.stepper.steps_made();
        let outcome = self.stepper.make(&schedule);
        self.show_steps(known, outcome)
    }

    fn go_to(&mut self, text: &str) -> Result<String, String> {
        let schedule = self.program.schedule(text).map_err(|e| e.to_string())?;
        let reached = self.stepper.go_to(&schedule);
        let problem_text = |(at, problem): (usize, StepProblem)| {
            format!("step {at} of the schedule: {problem}; the run stays where it is")
        };
        reached.map_err(problem_text)?;
        Ok(self.situation_text(self.stepper.steps_made()))
    }

    /// Returns the schedule, and the command that runs it.
    fn schedule(&self) -> String {
        let run = self.stepper.run();
        let record = self.program.record();
        let command = mazurka_report::replay_command(record, &run, &self.view.flags);
        let schedule = record.schedule(&run.schedule);
        format!("{schedule}\nrepeat with: {command}\n")
    }

    /// Saves the record of the run.
    fn save(&mut self, name: &str) -> Result<String, String> {
        if name.is_empty() {
            return Err("`save` needs a name: save FILE".to_owned());
        }
        let record = self.stepper.record(self.watch).map_err(|e| e.to_string())?;
        files::save_for_now("the record", Path::new(name), &json(&record)?)?;
        let name = mazurka_report::quote(name);
        Ok(format!("saved; replay with: mazurka replay {name}\n"))
    }

    /// Returns the steps after the first `known` ones as text, and if there are no further steps,
    /// the reason.
    fn show_steps(
        &mut self,
        known: usize,
        outcome: Result<(), StepProblem>,
    ) -> Result<String, String> {
        match outcome {
            Ok(()) => Ok(self.situation_text(known)),
            // Show the steps that were made, then why there are no more.
            Err(problem) if self.stepper.steps_made() > known => {
                Ok(format!("{}{problem}\n", self.situation_text(known)))
            }
            Err(
                problem @ (StepProblem::NoSuchProcess(_)
                | StepProblem::Waits { .. }
                | StepProblem::Over { .. }),
            ) => Err(format!("{problem}; {}", self.ready())),
            Err(problem) => Err(problem.to_string()),
        }
    }

    /// Like [`show_steps`](Self::show_steps), for random steps. `bound` is the bound that has ended
    /// the steps, if any.
    fn bounded(
        &mut self,
        known: usize,
        bound: Result<Option<Bound>, StepProblem>,
    ) -> Result<String, String> {
        let bound = bound.map_err(|problem| problem.to_string())?;
        if bound == Some(Bound::Interrupted) {
            // There may be millions of steps, and the user wants to stop: do not show them.
            let steps = self.stepper.steps_made();
            return Ok(format!("interrupted after {steps} steps\n"));
        }
        let mut text = self.situation_text(known);
        if let Some(bound) = bound {
            let advice = mazurka_report::advice(&bound);
            text += &format!("stopped: {bound}: {advice}\n");
        }
        Ok(text)
    }

    /// Returns the current state of the run: new steps, failures, its ending, and the possible next
    /// steps.
    fn situation_text(&mut self, known: usize) -> String {
        let run = self.stepper.run();
        let next = self.stepper.next_steps();
        let now = Stepped {
            run: &run,
            known,
            next: &next,
        };
        let text = mazurka_report::stepped(now, &self.view);
        let wrong = run.steps[known..].iter().any(|step| step.mishap.is_some());
        if run.ending == Ending::Open && !wrong && !run.steps.is_empty() {
            return text;
        }
        match self.stepper.record(self.watch) {
            Ok(whole) => {
                let one = OneRun {
                    run: &whole.run,
                    seed: None,
                    ready: &whole.ready,
                    path: None,
                    events: &[],
                    compared: None,
                };
                text + &mazurka_report::ended(&whole.record, one, &self.view)
            }
            Err(error) => format!("{text}{error}\n"),
        }
    }

    /// Returns the processes that can make a step, in a few words.
    fn ready(&self) -> String {
        let ready = self.stepper.ready_names();
        if ready.is_empty() {
            "no process can make a step; `back` takes one back".to_owned()
        } else {
            format!("these can make a step: {}", ready.join(", "))
        }
    }
}

/// Parses the number of steps that is the argument of a command; 1 if there is no argument.
fn number(command: &str, rest: &str) -> Result<usize, String> {
    match rest {
        "" => Ok(1),
        _ => rest
            .parse()
            .map_err(|_| format!("`{command}` takes a number of steps, not `{rest}`")),
    }
}

fn help() -> String {
    let steps = (
        "PROCESS",
        "…",
        "let it make its next step: 0, 0.1, philosopher(2), or 0=3 to choose 3",
    );
    let all = [&[steps], &COMMANDS[..]].concat();
    let call = |(name, takes, _): &Offered| format!("{name} {takes}");
    let width = all.iter().map(|one| call(one).chars().count()).max();
    let width = width.unwrap_or(0);
    let line = |one: &Offered| format!("  {:<width$}  {}\n", call(one), one.2);
    let lines: String = all.iter().map(line).collect();
    let letters = "The first letter is enough (s: state), unless a process has this name. An empty \
                   line shows what can come next.\nA process with the name of a command is selected by \
                   its number.\n";
    lines + letters
}

fn print_prompt(steps: usize) {
    let mut out = io::stdout().lock();
    // If this fails, writing the next answer fails too, which ends the dialogue.
    let _ = write!(out, "{steps}> ").and_then(|()| out.flush());
}

/// Returns the next line of standard input, trimmed; `None` at its end.
fn read_line() -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    let waiting = watch::Waiting::for_user();
    let read = io::stdin()
        .lock()
        .take(MOST_BYTES)
        .read_until(b'\n', &mut bytes)?;
    drop(waiting);
    let line = String::from_utf8_lossy(&bytes);
    Ok((read > 0).then(|| line.trim().to_owned()))
}
