//! A log of all queries.

use crate::{Answer, Solver, Statistics, Term, Terms, smtlib};

/// A query and its answer.
#[derive(Clone, Debug)]
pub struct Logged {
    /// Its number, from 1.
    pub number: u64,
    /// The query in SMT-LIB, with the answer as a comment: an input for any solver.
    pub script: String,
}

/// Passes every query and its answer to a sink. This crate writes no files, but the sink may.
pub struct Log<S> {
    inner: S,
    sink: Box<dyn FnMut(Logged) + Send>,
    number: u64,
}

impl<S: Solver> Log<S> {
    /// Wraps a solver and passes its queries to the sink.
    pub fn new(inner: S, sink: Box<dyn FnMut(Logged) + Send>) -> Self {
        Log {
            inner,
            sink,
            number: 0,
        }
    }

    /// Passes a query and its answer to the sink.
    fn record(&mut self, terms: &Terms, answer: &Answer, query: &str) {
        self.number += 1;
        let value = |(variable, value): (Term, i64)| {
            let shown = terms.sort(variable).show(value);
            format!(" {} = {shown}", terms.show(variable))
        };
        let comment = match answer {
            Answer::Sat(model) => {
                let values: Vec<String> = model.iter().map(value).collect();
                format!("sat:{}", values.join(","))
            }
            Answer::Unsat => "unsat".to_owned(),
            Answer::Unknown(why) => format!("unknown: {why}"),
        };
        // A name may contain a line break, but the comment may not.
        let comment = comment.replace(['\n', '\r'], " ");
        (self.sink)(Logged {
            number: self.number,
            script: format!("; {comment}\n(set-logic ALL)\n{query}(check-sat)\n"),
        });
    }
}

impl<S: Solver> Solver for Log<S> {
    fn check(&mut self, terms: &mut Terms, constraints: &[Term]) -> Answer {
        let answer = self.inner.check(terms, constraints);
        let query = smtlib::script(terms, constraints);
        self.record(terms, &answer, &query);
        answer
    }

    fn refute(
        &mut self,
        terms: &mut Terms,
        constraints: &[Term],
        universal: &[(Term, Term)],
    ) -> Answer {
        let answer = self.inner.refute(terms, constraints, universal);
        let query = smtlib::quantified(terms, constraints, universal);
        self.record(terms, &answer, &query);
        answer
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }
}
