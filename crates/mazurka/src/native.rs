//! Native C and C++ programs: compiled elsewhere, loaded into this process ([`load`]).
//!
//! Such a program can be [checked](Program::check), [explored](Program::explore),
//! [run](Program::run) and [replayed](Program::replay). One worker explores it, with an engine that
//! does not store states, under sequential consistency (`weak/native.rs` explores it under rc11).
//! The other commands do not support it.

use mazurka_core::Kinds;
use mazurka_core::record::ProgramRecord;
use mazurka_explore::{Algorithm, Goal, Search};
use mazurka_lang::LabelledMachine;

use crate::front::{Front, Language};
use crate::search::search_alone;
use crate::{Options, Program, Refused};

pub use mazurka_c::{
    CXX_LINK_FLAGS, Child, FLAGS, INSTRUMENTED, LAST_FLAGS, LINK_FLAGS, LoadError, OPTIONAL_FLAGS,
    REFUSED_FLAGS, RUNS_HERE, SHIM_FLAGS, Settings, TRAIL_SIZE, confine, interrupt,
    interrupt_process, keep_files, keep_trail, kill_process, left_behind, on_refusal_before_main,
    shim_flags, shim_source, wrong_input,
};
use mazurka_c::{Machine, SearchStop};

/// The program that is loaded into this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Native;

/// A compiled program.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its content.
    pub content: &'a [u8],
}

/// Loads a compiled program into this process. The program can crash the process: its constructors
/// run now, and every search runs its code. `file` and `source` are the names and the text of its
/// source files, and `set` is everything else that it depends on; they identify the program in
/// records.
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
    Ok(Program::new(record, Language::C(Native)))
}

impl Program {
    /// Returns the parts of the program that run outside the exploration.
    pub(crate) fn outside(&self) -> Vec<String> {
        if self.is_native() {
            mazurka_c::outside()
        } else {
            Vec::new()
        }
    }
}

/// Panics. Called by commands that native programs do not support; the command line rejects them
/// earlier.
pub(crate) fn refuse() -> ! {
    panic!("native programs can be checked, explored, run and replayed, and nothing else")
}

impl Front for Native {
    type Machine = Machine;

    /// Creates a machine for one run, for example for a schedule that a search has found. A search
    /// first determines which accesses are steps, and a schedule is meaningless without this
    /// information. So the search is repeated here.
    fn machine(&self, options: &Options) -> Machine {
        mazurka_c::set_deadline(options.limits.time);
        let mut machine = Machine::for_runs().expect("a program is loaded");
        if machine.learns_steps() {
            let search = Search {
                algorithm: Algorithm::Optimal,
                limits: options.limits.clone(),
                goal: Goal::Violation(Kinds::FAULTS),
            };
            // If the search rejects an operation, the run will reject it as well.
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

    /// Whether the program requires determinism, explicitly or by defining what to observe.
    fn asks_for_determinism(&self) -> bool {
        mazurka_c::must_agree()
    }

    fn states_ensures(&self) -> bool {
        false
    }

    /// Different exit codes are a violation only if requested.
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
            Some(SearchStop::Restart) => {
                machine.start_again();
                Ok(true)
            }
            // The bound is already among the findings.
            Some(SearchStop::OutOfTime | SearchStop::Raced) => {
                machine.end_broken_search();
                Ok(false)
            }
            Some(SearchStop::Refused(what)) => Err(Refused::Uncontrolled(what)),
        }
    }

    fn has_raced(machine: &Machine) -> bool {
        machine.has_raced()
    }
}
