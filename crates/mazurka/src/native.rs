//! Native C and C++ programs: compiled elsewhere, loaded into this process ([`load`]).
//!
//! Such a program is [checked](Program::check), [explored](Program::explore),
//! [run](Program::run) and [replayed](Program::replay), by one engine without states and one
//! worker, under sequential consistency. Everything else is for other languages.

use mazurka_core::Kinds;
use mazurka_core::record::ProgramRecord;
use mazurka_explore::{Algorithm, Goal, Search};
use mazurka_lang::LabelledMachine;

use crate::front::{Front, Language};
use crate::search::search_alone;
use crate::{Options, Program, Refused};

pub use mazurka_c::{
    FLAGS, LoadError, OPTIONAL_FLAGS, RUNS_HERE, SHIM_FLAGS, Settings, TRAIL_SIZE, confine,
    interrupt, interrupt_process, keep_files, keep_trail, kill_process, left_behind, shim_flags,
    shim_source, wrong_input,
};
use mazurka_c::{Machine, Stop};

/// The program in this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Native;

/// A compiled program.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// The shared object.
    pub path: &'a str,
    /// Its content.
    pub content: &'a [u8],
}

/// Loads a compiled program into this process, which it can crash: its constructors run now, and
/// its code is run by every search. `file` and `source` are the names and the text of its files,
/// `set` what else it depends on; these name it in records.
pub fn load(
    file: &str,
    source: &str,
    set: &[(String, String)],
    object: Object<'_>,
    settings: Settings,
) -> Result<Program, LoadError> {
    mazurka_c::load(object.path, object.content, settings)?;
    let record = ProgramRecord {
        file: file.to_owned(),
        hash: crate::program::hash(source, set),
        set: set.to_vec(),
        names: Vec::new(),
    };
    Ok(Program::of(record, Language::C(Native)))
}

impl Program {
    /// What of the program runs outside of what is explored.
    pub(crate) fn outside(&self) -> Vec<String> {
        if self.is_native() {
            mazurka_c::outside()
        } else {
            Vec::new()
        }
    }
}

/// What is not for native programs: the command line refuses it before.
pub(crate) fn refuse() -> ! {
    panic!("native programs can be checked, explored, run and replayed, and nothing else")
}

impl Front for Native {
    type Machine = Machine;

    /// For a run, which may be of a schedule that a search has found: where a search finds out
    /// which accesses are steps, the same search is made before.
    fn machine(&self, options: &Options) -> Machine {
        let mut machine = Machine::for_runs().expect("a program is loaded");
        if machine.learns_steps() {
            let search = Search {
                algorithm: Algorithm::Optimal,
                limits: options.limits.clone(),
                goal: Goal::Violation(Kinds::FAULTS),
            };
            // What is refused is refused again where it is met.
            let _found = search_alone::<Self>(&mut machine, &search, &mut crate::quietly());
        }
        machine
    }

    fn machine_for_a_search(&self, options: &Options) -> Machine {
        mazurka_c::set_deadline(options.limits.time);
        Machine::of_loaded().expect("a program is loaded")
    }

    type Labelled = LabelledMachine;

    fn labelled(&self, _options: &Options) -> Option<LabelledMachine> {
        None
    }

    /// If only by saying what to observe.
    fn asks_for_determinism(&self) -> bool {
        mazurka_c::must_agree()
    }

    fn states_ensures(&self) -> bool {
        false
    }

    /// Different exit codes are no violation unless that is asked for.
    fn states_other_property(&self) -> bool {
        true
    }

    fn states_temporal(&self) -> bool {
        false
    }

    const ALONE: bool = true;

    fn learned(machine: &mut Machine) -> Result<bool, Refused> {
        match machine.stopped() {
            None => {
                machine.end_search();
                Ok(false)
            }
            Some(Stop::Restart) => {
                machine.start_again();
                Ok(true)
            }
            // The limit is a bound of what was found.
            Some(Stop::OutOfTime) => {
                machine.end_broken_search();
                Ok(false)
            }
            Some(Stop::Refused(what)) => Err(Refused::Uncontrolled(what)),
        }
    }
}
