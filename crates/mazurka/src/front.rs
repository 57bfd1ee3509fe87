//! The languages: each makes machines, and the rest of the crate does not ask which it is.

use std::sync::Arc;

use mazurka_core::{Narrator, Semantics};
use mazurka_lang::{Code, Concolic, LabelledMachine, Machine};

use crate::Options;
use crate::unknowns::ForAll;

/// A program of some language, ready to run.
pub(crate) trait Front: Sync {
    /// What runs it.
    type Machine: Narrator + Semantics;

    /// A machine in the initial state.
    fn machine(&self, options: &Options) -> Self::Machine;

    /// The same for a search: engines break off a long step when the options no longer wait for it.
    fn machine_for_a_search(&self, options: &Options) -> Self::Machine {
        self.machine(options)
    }

    /// The same for one run: a long step is broken off when the options no longer wait for it.
    fn machine_for_a_run(&self, options: &Options) -> Self::Machine {
        self.machine(options)
    }
}

/// A program of one of the languages.
#[derive(Clone, Debug)]
pub(crate) enum Language {
    /// `.maz`
    Maz(Arc<Code>),
    /// `.abs`
    Abs(Arc<mazurka_abs::Code>),
    /// `.maz` with unknown values. Its front end runs it with given ones.
    ForAll(ForAll),
}

/// Does something with the front end of a program, whichever it is:
/// `on_front!(program.language, front => …)`.
macro_rules! on_front {
    ($language:expr, $front:ident => $do:expr) => {
        match &$language {
            $crate::front::Language::Maz($front) => $do,
            $crate::front::Language::Abs($front) => $do,
            $crate::front::Language::ForAll($front) => $do,
        }
    };
}
pub(crate) use on_front;

impl Front for Arc<Code> {
    type Machine = Machine;

    fn machine(&self, options: &Options) -> Machine {
        Machine::new(Arc::clone(self), options.limits.local)
    }

    fn machine_for_a_search(&self, options: &Options) -> Machine {
        Machine::until(
            Arc::clone(self),
            options.limits.local,
            options.patience.clone(),
        )
    }

    fn machine_for_a_run(&self, options: &Options) -> Machine {
        let mut machine = self.machine(options);
        machine.set_patience(options.patience.clone());
        machine
    }
}

impl Front for Arc<mazurka_abs::Code> {
    type Machine = mazurka_abs::Machine;

    fn machine(&self, options: &Options) -> mazurka_abs::Machine {
        mazurka_abs::Machine::new(Arc::clone(self), options.limits.local)
    }
}

impl Language {
    /// The code of a `.maz` program.
    pub fn code(&self) -> Option<&Arc<Code>> {
        match self {
            Language::Maz(code) | Language::ForAll(ForAll { code }) => Some(code),
            Language::Abs(_) => None,
        }
    }

    /// A machine whose steps have labels, if the language has them.
    pub fn labelled(&self, options: &Options) -> Option<LabelledMachine> {
        match self {
            Language::Maz(code) => Some(LabelledMachine::new(code.machine(options))),
            Language::Abs(_) | Language::ForAll(_) => None,
        }
    }

    /// What tells runs over symbolic initial values, if the language has that.
    pub fn concolic(&self, options: &Options) -> Option<Concolic> {
        match self {
            Language::Maz(code) => {
                let patience = options.patience.clone();
                Some(Concolic::until(code, options.limits.local, patience))
            }
            Language::Abs(_) | Language::ForAll(_) => None,
        }
    }

    /// The same, for runs in any order and from any initial values.
    pub fn concolic_solving(&self, options: &Options) -> Option<Concolic> {
        match self {
            Language::Maz(code) => {
                let deadline = options.solver.deadline.clone();
                Some(Concolic::solving_until(
                    code,
                    options.limits.local,
                    deadline,
                    options.patience.clone(),
                ))
            }
            Language::Abs(_) | Language::ForAll(_) => None,
        }
    }

    /// Whether the program says what to observe.
    pub fn observes(&self) -> bool {
        match self {
            Language::Maz(code) | Language::ForAll(ForAll { code }) => code.observes(),
            Language::Abs(code) => code.observes(),
        }
    }

    /// Whether it states something about final states.
    pub fn states_ensures(&self) -> bool {
        match self {
            Language::Maz(code) | Language::ForAll(ForAll { code }) => code.states_ensures(),
            Language::Abs(_) => false,
        }
    }

    /// Whether it states a property besides determinism.
    pub fn states_other_property(&self) -> bool {
        match self {
            Language::Maz(code) | Language::ForAll(ForAll { code }) => code.states_other_property(),
            Language::Abs(code) => code.states_other_property(),
        }
    }
}
