//! `refines "other.maz" via { x -> y }`: whether every run of a program corresponds to a run of its
//! specification.
//!
//! The search is explore/src/algorithms/refine.rs. This file defines what is observed, starts the
//! search and reports the result. The library reads no files: the caller provides the specification
//! as [`Options::specification`], and without it `check` reports that the refinement was not
//! checked.
//!
//! ```
//! use std::sync::Arc;
//! use mazurka::{Options, Program, Verdict, quietly};
//!
//! let spec = "var y: int = 0  process { while (y < 2)[2] { y := y + 1 } }";
//! let spec = Arc::new(Program::load("spec.maz", spec, &[]).unwrap());
//! let verdict = |body: &str| {
//!     let head = "refines \"spec.maz\" via { x -> y }  var x: int = 0";
//!     let source = format!("{head}  process {{ {body} }}");
//!     let program = Program::load("two.maz", &source, &[]).unwrap();
//!     let options = Options { specification: Some(Arc::clone(&spec)), ..Options::default() };
//!     program.check(&options, &mut quietly()).unwrap().verdict
//! };
//! assert_eq!(verdict("x := 1; x := 2"), Verdict::Verified);
//! assert_eq!(verdict("x := 2"), Verdict::Violated);
//! ```

use mazurka_core::record::{
    Binding, Kind, Record, RefinementAnswer, RefinementRecord, Run, Witness,
};
use mazurka_core::{Bound, Limits, Schedule, Verdict};
use mazurka_explore::{Account, Observed, RefinementGap, exceeds, refine};
use mazurka_lang::{Code, Machine, VariablePart, hir};

use crate::compare::same_type;
use crate::evidence::{retell, unexplained};
use crate::{Options, Program, Refused, Watch};

/// The beginning of the message about a run that the specification does not have.
pub(crate) const EXCEEDS: &str = "does not refine";

/// The observed cells of the program, and the corresponding ones of the specification.
struct MatchedCells {
    cells: Vec<u32>,
    theirs: Vec<u32>,
}

fn values(machine: &Machine, cells: &[u32]) -> Vec<i64> {
    cells.iter().map(|&cell| machine.value(cell)).collect()
}

impl Program {
    /// Returns the refinement that the file states.
    fn refinement(&self) -> Option<&hir::Refinement> {
        self.language.maz()?.program().refinement.as_ref()
    }

    /// Returns the file of the specification, as the program names it. It is in the folder of the
    /// program or below.
    pub fn refines(&self) -> Option<&str> {
        self.refinement().map(|stated| stated.file.as_str())
    }

    /// Whether the program declares a constant of this name that is not an array.
    pub fn has_constant(&self, name: &str) -> bool {
        let code = self.language.maz();
        code.is_some_and(|code| code.program().constants.contains(name))
    }

    /// Returns the bound that a command reports if it does not check the refinement although it
    /// counts.
    pub(crate) fn leaves_out_refinement(&self, options: &Options) -> Option<Bound> {
        let counts = self.kinds_of(options).contains(Kind::Property);
        (counts && self.refinement().is_some()).then_some(Bound::Refinement)
    }

    /// Returns the bounds that a command reports if it checks neither covers nor the refinement.
    pub(crate) fn leaves_out(&self, options: &Options) -> impl Iterator<Item = Bound> {
        let covers = self.leaves_out_covers(options);
        covers
            .into_iter()
            .chain(self.leaves_out_refinement(options))
    }

    /// Returns the code of both programs, and their observed cells.
    fn matched<'a>(
        &'a self,
        specification: &'a Program,
    ) -> Result<
        (
            &'a std::sync::Arc<Code>,
            &'a std::sync::Arc<Code>,
            MatchedCells,
        ),
        Refused,
    > {
        let refused = |why: String| Refused::Refinement(why);
        let stated = self
            .refinement()
            .ok_or_else(|| refused("nothing is stated".to_owned()))?;
        let known = |program: &Program| program.language.for_all().is_none();
        let (Some(code), Some(theirs)) = (self.language.maz(), specification.language.maz()) else {
            return Err(Refused::NotMaz);
        };
        if !known(self) || !known(specification) {
            return Err(refused(
                "it is decided only where all values are known: give the initial values (--set) and use no `input()`"
                    .to_owned(),
            ));
        }
        let mut matched = MatchedCells {
            cells: Vec::new(),
            theirs: Vec::new(),
        };
        for (ours, other) in &stated.via {
            let (own, others) = (code.parts_of(ours), theirs.parts_of(other));
            if others.is_empty() {
                let file = &specification.record().file;
                return Err(refused(format!(
                    "`{file}` has no shared variable `{other}`"
                )));
            }
            let same = |(a, b): (&VariablePart, &VariablePart)| {
                a.rest == b.rest
                    && a.dims == b.dims
                    && same_type((code.program(), a.ty), (theirs.program(), b.ty))
            };
            if own.len() != others.len() || !own.iter().zip(&others).all(same) {
                return Err(refused(format!(
                    "`{ours}` and `{other}` have different types"
                )));
            }
            matched
                .cells
                .extend(own.into_iter().flat_map(|part| part.cells));
            matched
                .theirs
                .extend(others.into_iter().flat_map(|part| part.cells));
        }
        Ok((code, theirs, matched))
    }

    /// Decides the refinement if it counts, and adds the result to a record.
    pub(crate) fn look_at_refinement(
        &self,
        record: &mut Record,
        options: &Options,
        account: &Account<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<(), Refused> {
        let Some(left_out) = self.leaves_out_refinement(options) else {
            return Ok(());
        };
        let (Some(stated), Some(specification)) = (self.refinement(), &options.specification)
        else {
            record.add_bounds([left_out]);
            return Ok(());
        };
        let (code, theirs, matched) = self.matched(specification)?;
        let limits = account.left();
        let mut machine = Machine::new(code.clone(), limits.local);
        let mut other = Machine::new(theirs.clone(), limits.local);
        let found = refine(
            Observed {
                program: &mut machine,
                values: &|machine| values(machine, &matched.cells),
            },
            Observed {
                program: &mut other,
                values: &|machine| values(machine, &matched.theirs),
            },
            &limits,
            watch,
        );
        let mut bounds = found.bounds;
        account.restate(&mut bounds);
        let answer = match (&found.broken, bounds.is_empty()) {
            (Some(_), _) => RefinementAnswer::Broken,
            (None, true) => RefinementAnswer::Holds,
            (None, false) => RefinementAnswer::Open,
        };
        record.refinement = Some(RefinementRecord {
            file: specification.record().file.clone(),
            hash: specification.record().hash.clone(),
            via: stated.via.clone(),
            answer,
            pairs: found.pairs,
            states: found.states,
            steps: found.steps,
            bounds: bounds.clone(),
        });
        if answer == RefinementAnswer::Open {
            record.add_bounds(bounds);
        }
        if let Some((schedule, excess)) = found.broken {
            options.show();
            // The machine of the search may be in any state, so another one makes the run.
            let mut fresh = Machine::new(code.clone(), limits.local);
            let run = retell(&mut fresh, &schedule).run;
            record
                .witnesses
                .push(self.excess(run, stated, excess, code));
            record.witnesses.sort_by_key(|shown| shown.kind);
            record.verdict = Verdict::Violated;
        }
        record.seconds = account.elapsed().as_secs_f64();
        Ok(())
    }

    /// Returns the evidence for a run that the specification does not have.
    fn excess(
        &self,
        run: Run,
        stated: &hir::Refinement,
        excess: RefinementGap,
        code: &Code,
    ) -> Witness {
        let file = &stated.file;
        let named = |binding: &&Binding| {
            let name = binding.name.split(['.', '[']).next().unwrap_or_default();
            stated
                .via
                .iter()
                .any(|(ours, _)| ours.split('.').next() == Some(name))
        };
        let values: Vec<Binding> = run.state.iter().filter(named).cloned().collect();
        let what = match excess {
            RefinementGap::Start => "it starts with other values",
            RefinementGap::Step => "no run of it goes on with these values",
            RefinementGap::End => "the run ends here, and no run of it with the same values does",
        };
        Witness {
            message: format!("{EXCEEDS} `{file}`: {what}"),
            place: Some(code.place_of(stated.span)),
            values,
            ..unexplained(Kind::Property, vec![run])
        }
    }

    /// Returns the evidence for a run that was replayed. The error says why the run is no evidence.
    pub(crate) fn replayed_excess(
        &self,
        run: Run,
        old: &Record,
        options: &Options,
    ) -> Result<Witness, String> {
        let Some(specification) = &options.specification else {
            return Err("its specification is not there".to_owned());
        };
        let same = |known: &RefinementRecord| known.hash == specification.record().hash;
        if !old.refinement.as_ref().is_some_and(same) {
            return Err("its specification has changed since".to_owned());
        }
        let matched = self.matched(specification).map_err(|why| why.to_string())?;
        let (code, theirs, matched) = matched;
        let schedule: Schedule = run
            .schedule
            .parse()
            .map_err(|_| "it has no run".to_owned())?;
        let limits = Limits::default();
        let mut machine = Machine::new(code.clone(), limits.local);
        let mut other = Machine::new(theirs.clone(), limits.local);
        let excess = exceeds(
            Observed {
                program: &mut machine,
                values: &|machine| values(machine, &matched.cells),
            },
            Observed {
                program: &mut other,
                values: &|machine| values(machine, &matched.theirs),
            },
            &schedule,
            &limits,
        );
        match (excess, self.refinement()) {
            (Some(excess), Some(stated)) => Ok(self.excess(run, stated, excess, code)),
            _ => Err("the run is one of its specification".to_owned()),
        }
    }
}
