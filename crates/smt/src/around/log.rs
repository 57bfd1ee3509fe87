//! A record of all queries, for whoever wants to keep it.

use crate::{Answer, Solver, Statistics, Term, Terms, smtlib};

/// A query that was asked, and its answer.
#[derive(Clone, Debug)]
pub struct Logged {
    /// From 1, in order.
    pub number: u64,
    /// The query in SMT-LIB, with the answer as a comment: a file that any solver can be given.
    pub script: String,
}

/// Hands every query and its answer to a sink. This crate writes no files: the sink may.
pub struct Log<S> {
    inner: S,
    sink: Box<dyn FnMut(Logged) + Send>,
    number: u64,
}

impl<S: Solver> Log<S> {
    /// Tells the sink what this solver is asked.
    pub fn new(inner: S, sink: Box<dyn FnMut(Logged) + Send>) -> Self {
        Log {
            inner,
            sink,
            number: 0,
        }
    }
}

impl<S: Solver> Solver for Log<S> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        let answer = self.inner.check(terms, constraints);
        self.number += 1;
        let comment = match &answer {
            Answer::Sat(model) => {
                let value = |(variable, value): (Term, i64)| {
                    format!(
                        " {} = {}",
                        terms.show(variable),
                        terms.sort(variable).show(value)
                    )
                };
                format!(
                    "sat:{}",
                    model.iter().map(value).collect::<Vec<_>>().join(",")
                )
            }
            Answer::Unsat => "unsat".to_owned(),
            Answer::Unknown(why) => format!("unknown: {why}"),
        };
        (self.sink)(Logged {
            number: self.number,
            script: format!(
                "; {comment}\n{}(check-sat)\n",
                smtlib::script(terms, constraints)
            ),
        });
        answer
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        self.inner.refute(terms, constraints, universal)
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}
