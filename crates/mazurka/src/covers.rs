//! `cover e`: whether the states that must be reachable are reachable.
//!
//! After the search for violations there is one more search for each `cover e`. It explores the
//! same program with `invariant !e` added (`Code::covering`). A run that breaks this invariant
//! reaches a state in which e holds, so the cover is satisfied and the run is the evidence. If a
//! complete search finds no such run, the cover is violated. If the search hits a bound, the cover
//! remains open. Covers do not change the answers about other properties.

use mazurka_core::record::{CoverAnswer, CoverRecord, Record, Witness};
use mazurka_core::{Bound, Counts, Kind, Kinds, Verdict};
use mazurka_explore::Account;
use mazurka_lang::Cover;

use crate::evidence::unexplained;
use crate::{Options, Program, Refused};

/// Searches for failures of a program.
type Search<'a> = &'a mut dyn FnMut(&Program, &Options) -> Result<Record, Refused>;

/// The least number of steps that are allowed for a cover if a violation was already found.
const LEAST_STEPS: u64 = 1_000_000;

impl Program {
    /// Returns the covers that count, each with its index among all covers of the program.
    fn covers(&self, options: &Options) -> Vec<(usize, Cover)> {
        let stated = self.language.maz().map(|code| code.covers());
        let all = self.kinds_of(options).contains(Kind::Property);
        let counts = |(_, cover): &(usize, Cover)| {
            let named = |name: &String| options.properties.contains(name);
            all || cover.name.as_ref().is_some_and(named)
        };
        let stated = stated.into_iter().flatten().enumerate();
        stated.filter(counts).collect()
    }

    /// Returns the bound that a command reports if it does not search for covers although they
    /// count.
    pub(crate) fn leaves_out_covers(&self, options: &Options) -> Option<Bound> {
        let any = !self.covers(options).is_empty();
        any.then_some(Bound::Covers)
    }

    /// Searches for the covers that count, and adds the results to a record. If another violation
    /// was found and the search need not go on after it, each search for a cover may use as many
    /// steps as the main search, but at least a million. A cover for which the limits leave no
    /// steps or time remains open.
    pub(crate) fn look_for_covers(
        &self,
        record: &mut Record,
        options: &Options,
        account: &mut Account<'_>,
        search: Search<'_>,
    ) -> Result<(), Refused> {
        let covers = self.covers(options);
        if covers.is_empty() {
            return Ok(());
        }
        let violated = record.verdict == Verdict::Violated && !options.keep_going;
        let own = violated.then(|| record.counts.steps.max(LEAST_STEPS));
        // A limit on executions is the size of a sample, and each cover gets its own sample. All
        // other limits apply to the whole command.
        for (number, cover) in covers {
            if record.sample.is_some() {
                account.forget_executions();
            }
            if let Some(bound) = account.over() {
                record.covers.push(CoverRecord {
                    name: cover.name,
                    condition: cover.text,
                    place: cover.place,
                    answer: CoverAnswer::Open,
                    run: None,
                    algorithm: record.algorithm.clone(),
                    counts: Counts::default(),
                    bounds: vec![bound],
                });
                record.add_bounds([bound]);
                continue;
            }
            let mut limits = account.left();
            let own = own.filter(|&own| limits.steps.is_none_or(|left| own < left));
            limits.steps = own.or(limits.steps);
            let options = &Options {
                limits,
                counted: Some(Kinds::of(&[Kind::Failure])),
                properties: Vec::new(),
                cover: false,
                reached: None,
                ..options.clone()
            };
            let language = self.language.clone().covering(number);
            let found = search(&Program::new(self.record().clone(), language), options)?;
            account.spend(&found.counts);
            let mut bounds = found.scope.bounds;
            // The cover's own budget is not a limit that the user has given.
            bounds.retain(|bound| own.is_none_or(|own| *bound != Bound::MaxSteps(own)));
            account.restate(&mut bounds);
            let run = found.witnesses.into_iter().flat_map(|shown| shown.runs);
            let answer = match found.verdict {
                Verdict::Violated => CoverAnswer::Reached,
                Verdict::Verified => CoverAnswer::Unreached,
                Verdict::Inconclusive => CoverAnswer::Open,
            };
            record.covers.push(CoverRecord {
                name: cover.name,
                condition: cover.text,
                place: cover.place,
                answer,
                run: run.into_iter().next(),
                algorithm: found.algorithm,
                counts: found.counts,
                bounds: bounds.clone(),
            });
            if answer == CoverAnswer::Open {
                record.scope.exhaustive = false;
                record.add_bounds(bounds);
            }
        }
        let unreached = |cover: &&CoverRecord| cover.answer == CoverAnswer::Unreached;
        let never: Vec<Witness> = record.covers.iter().filter(unreached).map(never).collect();
        if !never.is_empty() {
            record.verdict = Verdict::Violated;
            record.witnesses.extend(never);
            record.witnesses.sort_by_key(|shown| shown.kind);
        }
        record.seconds = account.elapsed().as_secs_f64();
        Ok(())
    }
}

/// Returns the witness for a cover whose condition is never reached. It has no run.
fn never(cover: &CoverRecord) -> Witness {
    let condition = &cover.condition;
    Witness {
        message: match &cover.name {
            Some(name) => format!("cover `{name}` is never reached: `{condition}`"),
            None => format!("cover is never reached: `{condition}`"),
        },
        place: Some(cover.place.clone()),
        ..unexplained(Kind::Property, Vec::new())
    }
}
