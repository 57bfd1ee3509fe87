//! `cover e`: whether what must be reachable is.
//!
//! Each is a search of its own, after that for violations: for a run that breaks `invariant !e` of
//! the same program (`Code::covering`). The run is the evidence; a search that ends without one
//! shows that no state with e is reachable, which violates; one that hits a bound leaves it open.
//! The verdicts on everything else are those of the program without covers.

use mazurka_core::record::{CoverAnswer, CoverRecord, Record, Witness};
use mazurka_core::{Bound, Counts, Kind, Kinds, Verdict};
use mazurka_explore::Account;
use mazurka_lang::Cover;

use crate::evidence::unexplained;
use crate::{Options, Program, Refused};

/// Looks for failures of a program.
type Search<'a> = &'a mut dyn FnMut(&Program, &Options) -> Result<Record, Refused>;

/// Steps that are spent on a cover at least where a violation was found already.
const LEAST_STEPS: u64 = 1_000_000;

impl Program {
    /// The numbers of the covers that count, each with what the file says.
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

    /// The bound of a command that does not look for covers though they count.
    pub(crate) fn leaves_out_covers(&self, options: &Options) -> Option<Bound> {
        let any = !self.covers(options).is_empty();
        any.then_some(Bound::Covers)
    }

    /// Looks for the covers that count, and adds to a record what comes of it. Where something
    /// else is violated already, as many steps again, and at least a million, are spent on each.
    /// Those for which the limits leave nothing stay open.
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
        // A sample is drawn for each; all other limits are for the whole command.
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
            let found = search(&Program::of(self.record().clone(), language), options)?;
            account.spend(&found.counts);
            let mut bounds = found.scope.bounds;
            // Its own budget is no limit that the user has given.
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

/// That a condition is never reached. There is no run to show.
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
