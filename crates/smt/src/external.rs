//! A solver in a separate process, used through SMT-LIB: `z3` or `cvc5`, if installed.
//!
//! The process is started at the first query and kept. Each query opens a scope in the process,
//! which is closed after the answer. A query that takes too long, or an answer that cannot be
//! parsed, ends the process; the next query starts a new one.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::embedded::validate;
use crate::smtlib::{self, TooLarge};
use crate::{Answer, Deadline, Evaluator, Model, Solver, Sort, Statistics, Term, Terms, Why};

/// The program to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// <https://github.com/Z3Prover/z3>
    Z3,
    /// <https://cvc5.github.io>
    Cvc5,
}

impl Program {
    /// Returns the name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Program::Z3 => "z3",
            Program::Cvc5 => "cvc5",
        }
    }

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Program::Z3 => &["-in", "-smt2"],
            Program::Cvc5 => &[
                "--incremental",
                "--produce-models",
                "--lang=smt2",
                "--quiet",
            ],
        }
    }

    /// Whether the program can be started on this machine.
    pub fn is_present(self) -> bool {
        let mut command = Command::new(self.name());
        command.arg("--version").stdin(Stdio::null());
        let ran = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        ran.is_ok_and(|status| status.success())
    }
}

/// A solver that calls another program. That program treats integers as unbounded. A solution that
/// needs an `int` beyond 64 bits is `Unknown`, because no run could use it.
pub struct External {
    program: Program,
    patience: Duration,
    deadline: Deadline,
    process: Option<SolverProcess>,
    queries: u64,
}

impl External {
    /// Creates a solver that starts the program at the first query and waits this long for each
    /// answer.
    pub fn new(program: Program, patience: Duration) -> Self {
        External {
            program,
            patience,
            deadline: Deadline::default(),
            process: None,
            queries: 0,
        }
    }

    /// Sets a deadline for all queries.
    pub fn until(self, deadline: Deadline) -> Self {
        External { deadline, ..self }
    }

    /// Returns the times at which to give up on a query that starts now.
    fn wait(&self) -> Wait {
        Wait {
            until: Instant::now() + self.patience,
            deadline: self.deadline.clone(),
        }
    }

    fn start_process(&mut self) -> Result<SolverProcess, Why> {
        match self.process.take() {
            _ if self.deadline.has_passed() => Err(Why::Time),
            Some(process) => Ok(process),
            None => SolverProcess::start(self.program),
        }
    }

    /// Sends a query for a solution, and waits for the answer. If `bounded`, every `int` variable
    /// of the solution must fit into 64 bits.
    fn query(
        &mut self,
        terms: &Terms,
        constraints: &[Term],
        bounded: bool,
    ) -> Result<ExternalAnswer, Why> {
        let mut process = self.start_process()?;
        let wait = self.wait();
        let variables = terms.variables_of(constraints);
        let mut script = format!("(push 1)\n{}", smtlib::script(terms, constraints));
        if bounded {
            for &variable in variables.iter().filter(|&&v| terms.sort(v) == Sort::Int) {
                let name = smtlib::name(terms, variable);
                let (least, most) = (i64::MIN.unsigned_abs(), i64::MAX);
                script += &format!("(assert (<= (- {least}) {name} {most}))\n");
            }
        }
        script += "(check-sat)\n";
        process.send(script)?;
        let result = match process.receive(&wait)?.as_str() {
            "unsat" => ExternalAnswer::Unsat,
            "unknown" => {
                return self.close_scope(
                    process,
                    Err(Why::Failed(format!(
                        "{} does not know",
                        self.program.name()
                    ))),
                );
            }
            "sat" if variables.is_empty() => ExternalAnswer::Sat(Model::new()),
            "sat" => {
                let names: Vec<String> =
                    variables.iter().map(|&v| smtlib::name(terms, v)).collect();
                process.send(format!("(get-value ({}))\n", names.join(" ")))?;
                let mut answer = String::new();
                let mut open = 0;
                while answer.is_empty() || open > 0 {
                    let line = process.receive(&wait)?;
                    let count = |bracket: char| line.matches(bracket).count() as i64;
                    open += count('(') - count(')');
                    answer += &line;
                    answer.push('\n');
                }
                let sorts: Vec<Sort> = variables.iter().map(|&v| terms.sort(v)).collect();
                match smtlib::values(&answer, &sorts) {
                    None => return Err(self.unexpected(&answer)),
                    Some(Err(TooLarge)) => ExternalAnswer::TooLarge,
                    Some(Ok(values)) => {
                        ExternalAnswer::Sat(variables.into_iter().zip(values).collect())
                    }
                }
            }
            other => return Err(self.unexpected(other)),
        };
        self.close_scope(process, Ok(result))
    }

    /// Sends a query with quantifiers, and waits for the answer. Returns `Unsat`, or the reason why
    /// the process does not refute the query.
    fn query_for_all(
        &mut self,
        terms: &Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Result<ExternalAnswer, Why> {
        let mut process = self.start_process()?;
        let wait = self.wait();
        let script = smtlib::quantified(terms, constraints, universal);
        process.send(format!("(push 1)\n{script}(check-sat)\n"))?;
        let result = match process.receive(&wait)?.as_str() {
            "unsat" => Ok(ExternalAnswer::Unsat),
            "sat" | "unknown" => Err(Why::Failed(format!(
                "{} does not refute it",
                self.program.name()
            ))),
            other => return Err(self.unexpected(other)),
        };
        self.close_scope(process, result)
    }

    /// Closes the scope of a query and keeps the process for the next.
    fn close_scope(
        &mut self,
        mut process: SolverProcess,
        result: Result<ExternalAnswer, Why>,
    ) -> Result<ExternalAnswer, Why> {
        process.send("(pop 1)\n".to_owned())?;
        self.process = Some(process);
        result
    }

    fn unexpected(&self, answer: &str) -> Why {
        Why::Failed(format!(
            "{} answered `{}`",
            self.program.name(),
            answer.trim()
        ))
    }
}

enum ExternalAnswer {
    Sat(Model),
    Unsat,
    /// Satisfiable, but a value does not fit into 64 bits.
    TooLarge,
}

impl Solver for External {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        self.queries += 1;
        let mut result = self.query(terms, constraints, false);
        let unbounded = matches!(result, Ok(ExternalAnswer::TooLarge));
        if unbounded {
            result = self.query(terms, constraints, true);
        }
        match result {
            Err(why) => Answer::Unknown(why),
            Ok(ExternalAnswer::Unsat) if !unbounded => Answer::Unsat,
            Ok(ExternalAnswer::Unsat | ExternalAnswer::TooLarge) => {
                let why = "only integers beyond 64 bits satisfy it".to_owned();
                Answer::Unknown(Why::Failed(why))
            }
            Ok(ExternalAnswer::Sat(model)) => validate(terms, constraints, Evaluator::new(model)),
        }
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        self.queries += 1;
        match self.query_for_all(terms, constraints, universal) {
            Ok(ExternalAnswer::Unsat) => Answer::Unsat,
            Ok(_) => Answer::Unknown(Why::Failed("no answer".to_owned())),
            Err(why) => Answer::Unknown(why),
        }
    }

    fn statistics(&self) -> Statistics {
        Statistics {
            queries: self.queries,
            external: self.queries,
            ..Statistics::default()
        }
    }
}

/// Time between two checks of the deadline for all queries.
const BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// The times at which waiting for an answer ends; the earlier of the two counts.
struct Wait {
    until: Instant,
    deadline: Deadline,
}

/// The running processes of all solvers.
static RUNNING: Mutex<Vec<Weak<Mutex<Child>>>> = Mutex::new(Vec::new());

/// Ends all running solvers. Called by a program that exits in the middle of a query; otherwise the
/// solvers would continue until they have an answer.
pub fn stop_all() {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    for child in running.iter().filter_map(Weak::upgrade) {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        // The process may have ended already.
        let _ = child.kill();
    }
}

/// A running process. It is killed when this is dropped.
struct SolverProcess {
    child: Arc<Mutex<Child>>,
    texts: Sender<String>,
    lines: Receiver<String>,
}

impl SolverProcess {
    fn start(program: Program) -> Result<Self, Why> {
        let name = program.name();
        let failed = |what: String| Why::Failed(format!("{name} could not be started: {what}"));
        let mut command = Command::new(name);
        command.args(program.arguments());
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no pipes".to_owned()));
        };
        // Reading and writing may block for ever; these threads end when the process ends.
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let (texts, receiver) = channel::<String>();
        std::thread::spawn(move || {
            for text in receiver {
                let sent = input.write_all(text.as_bytes());
                if sent.and_then(|()| input.flush()).is_err() {
                    break;
                }
            }
        });
        let child = Arc::new(Mutex::new(child));
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|child| child.strong_count() > 0);
        running.push(Arc::downgrade(&child));
        drop(running);
        let mut process = SolverProcess {
            child,
            texts,
            lines,
        };
        process.send("(set-option :produce-models true)\n(set-logic ALL)\n".to_owned())?;
        Ok(process)
    }

    /// Sends a text, without waiting until the other side has read it.
    fn send(&mut self, text: String) -> Result<(), Why> {
        let sent = self.texts.send(text);
        sent.map_err(|_| Why::Failed("it does not read its input".to_owned()))
    }

    fn receive(&mut self, wait: &Wait) -> Result<String, Why> {
        loop {
            let left = wait.until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left.min(BETWEEN_CHECKS)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Why::Failed("it ended without an answer".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if wait.deadline.has_passed() => {
                    return Err(Why::Time);
                }
                Err(RecvTimeoutError::Timeout) if left <= BETWEEN_CHECKS => {
                    return Err(Why::Limit("its time limit".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for SolverProcess {
    fn drop(&mut self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        // The process may have ended already; then there is nothing to kill.
        let _ = child.kill();
        let _ = child.wait();
    }
}
