//! The languages. A [`Front`] creates the machines that run the programs of a language. The rest of
//! the crate is generic over machines and does not depend on the language.
//!
//! A language is defined by a variant of [`Language`], a line of [`on_front!`], an implementation
//! of [`Front`], and the extension of its files in [`Language::load`]. No other place lists the
//! languages.

#[cfg(target_family = "wasm")]
mod either;

use std::sync::Arc;

use mazurka_abs::NoNet;
use mazurka_core::record::FILES_JOINED_BY;
use mazurka_core::{Fairness, Kinds, Labelled, Narrator, Patience, Semantics};
use mazurka_diagnostics::{Diagnostic, Span};
use mazurka_lang::{Code, Concolic, LabelledMachine, Machine, Setting, StepPlace};

use crate::native::Native;
use crate::unknowns::ForAll;
use crate::{Options, Refused};

/// A program of some language, ready to run.
pub(crate) trait Front: Sync {
    /// The machine that runs it.
    type Machine: Narrator + Semantics;

    /// Creates a machine in the initial state.
    fn machine(&self, options: &Options) -> Self::Machine;

    /// Creates a machine for a search: engines break off a long step when the patience of the
    /// options is over.
    fn machine_for_a_search(&self, options: &Options) -> Self::Machine {
        self.machine(options)
    }

    /// Creates a machine for nets. The error says why the program has no net.
    fn machine_for_nets(&self, options: &Options) -> Result<Self::Machine, NoNet> {
        Ok(self.machine_for_a_search(options))
    }

    /// Whether a net that was built with such a machine is a net of the program. The error says why
    /// it is not.
    fn has_net(_machine: &Self::Machine) -> Result<(), NoNet> {
        Ok(())
    }

    /// The machine that runs the program and records a label for each step, for `permute`.
    type Labelled: Labels;

    /// Creates a machine that records labels, or returns `None` if the program has unknown values
    /// or is native.
    fn labelled(&self, options: &Options) -> Option<Self::Labelled>;

    /// Creates a machine for one run: a long step is broken off when the patience of the options is
    /// over.
    fn machine_for_a_run(&self, options: &Options) -> Self::Machine {
        self.machine(options)
    }

    /// Returns the code of a `.maz` program, for commands that need its text or its terms.
    fn maz(&self) -> Option<&Arc<Code>> {
        None
    }

    /// Returns the places in the source where steps begin, with the variables that each may touch.
    fn step_places(&self) -> Vec<StepPlace> {
        self.maz()
            .map_or(Vec::new(), |code| Code::step_places(code))
    }

    /// Returns the program as [`ForAll`] if it has unknown values, so that it is explored for all
    /// values.
    fn for_all(&self) -> Option<&ForAll> {
        None
    }

    /// Whether the program requires determinism, explicitly or by defining what to observe.
    fn asks_for_determinism(&self) -> bool;

    /// Whether the program states properties of final states.
    fn states_ensures(&self) -> bool;

    /// Whether the program states a property besides determinism.
    fn states_other_property(&self) -> bool;

    /// Whether the program states temporal properties.
    fn states_temporal(&self) -> bool;

    /// Whether the program may behave differently at points of time that are not explored.
    fn leaves_out_times(&self) -> bool {
        false
    }

    /// Whether this process can hold only one execution of the program, which always starts from
    /// the beginning. Such a program is explored by one worker, with an engine that does not
    /// compare states.
    const ALONE: bool = false;

    /// Whether the search must be repeated, because it has learned a fact about the program that it
    /// needs from the start, such as an access that must be a step. The error says which part of
    /// the program cannot be explored.
    fn learned(_machine: &mut Self::Machine) -> Result<bool, Refused> {
        Ok(false)
    }

    /// Whether the last search has met accesses that race and that it does not explore in all
    /// orders.
    fn has_raced(_machine: &Self::Machine) -> bool {
        false
    }
}

/// A machine whose steps have labels.
pub(crate) trait Labels: Labelled {
    /// Makes the machine record the variables that its labels name.
    fn with_names(self) -> Self;

    /// Makes the machine break off a long step when the search no longer waits for it.
    fn set_patience(&mut self, patience: Patience);
}

impl Labels for LabelledMachine {
    fn with_names(self) -> Self {
        LabelledMachine::with_names(self)
    }

    fn set_patience(&mut self, patience: Patience) {
        LabelledMachine::set_patience(self, patience);
    }
}

impl Labels for mazurka_abs::Machine {
    fn with_names(self) -> Self {
        self
    }

    /// Steps are never broken off: the limit on local work ends a long step.
    fn set_patience(&mut self, _patience: Patience) {}
}

/// A program of one of the languages.
#[derive(Clone, Debug)]
pub(crate) enum Language {
    /// `.maz`
    Maz(Arc<Code>),
    /// `.abs`
    Abs(Arc<mazurka_abs::Code>),
    /// `.maz` with unknown values. As a front end, it runs the program with given values.
    ForAll(ForAll),
    /// C and C++, loaded into this process.
    C(Native),
}

/// Evaluates an expression with the front end of a program, whatever its language:
/// `on_front!(program.language, front => …)`.
#[cfg(not(target_family = "wasm"))]
macro_rules! on_front {
    ($language:expr, $front:ident => $do:expr) => {
        match &$language {
            $crate::front::Language::Maz($front) => $do,
            $crate::front::Language::Abs($front) => $do,
            $crate::front::Language::ForAll($front) => $do,
            $crate::front::Language::C(_) => $crate::native::refuse(),
        }
    };
}
/// The same macro for a browser, where one front end represents all languages (either.rs).
#[cfg(target_family = "wasm")]
macro_rules! on_front {
    ($language:expr, $front:ident => $do:expr) => {{
        let $front = &$language;
        $do
    }};
}
pub(crate) use on_front;

/// Evaluates an expression with the front end of a program, which may also be a native one.
macro_rules! of_each {
    ($language:expr, $front:ident => $do:expr) => {
        match &$language {
            $crate::front::Language::Maz($front) => $do,
            $crate::front::Language::Abs($front) => $do,
            $crate::front::Language::ForAll($front) => $do,
            $crate::front::Language::C($front) => $do,
        }
    };
}
#[cfg(not(target_family = "wasm"))]
pub(crate) use of_each as on_any_front;
#[cfg(target_family = "wasm")]
pub(crate) use on_front as on_any_front;

impl Front for Arc<Code> {
    type Machine = Machine;

    fn machine(&self, options: &Options) -> Machine {
        let reached = options.reached.clone();
        Machine::until(
            Arc::clone(self),
            options.limits.local,
            Patience::default(),
            reached,
        )
    }

    fn machine_for_a_search(&self, options: &Options) -> Machine {
        let (local, patience) = (options.limits.local, options.patience.clone());
        Machine::until(Arc::clone(self), local, patience, options.reached.clone())
    }

    type Labelled = LabelledMachine;

    fn labelled(&self, options: &Options) -> Option<LabelledMachine> {
        Some(LabelledMachine::new(self.machine(options)))
    }

    fn machine_for_a_run(&self, options: &Options) -> Machine {
        let mut machine = self.machine(options);
        machine.set_patience(options.patience.clone());
        machine
    }

    fn maz(&self) -> Option<&Arc<Code>> {
        Some(self)
    }

    fn asks_for_determinism(&self) -> bool {
        Code::asks_for_determinism(self)
    }

    fn states_ensures(&self) -> bool {
        Code::states_ensures(self)
    }

    fn states_other_property(&self) -> bool {
        Code::states_other_property(self)
    }

    fn states_temporal(&self) -> bool {
        Code::states_temporal(self)
    }
}

impl Front for Arc<mazurka_abs::Code> {
    type Machine = mazurka_abs::Machine;

    fn machine(&self, options: &Options) -> mazurka_abs::Machine {
        mazurka_abs::Machine::new(Arc::clone(self), options.limits.local)
    }

    fn machine_for_nets(&self, options: &Options) -> Result<mazurka_abs::Machine, NoNet> {
        mazurka_abs::Machine::for_nets(Arc::clone(self), options.limits.local)
    }

    fn has_net(machine: &mazurka_abs::Machine) -> Result<(), NoNet> {
        machine.has_net()
    }

    type Labelled = mazurka_abs::Machine;

    fn labelled(&self, options: &Options) -> Option<mazurka_abs::Machine> {
        let code = Arc::clone(self);
        Some(mazurka_abs::Machine::labelled(code, options.limits.local))
    }

    fn step_places(&self) -> Vec<StepPlace> {
        let places = mazurka_abs::Code::step_places(self).into_iter();
        let place = |one: mazurka_abs::StepPlace| StepPlace {
            span: one.span,
            waits: one.waits,
            reads: one.reads,
            writes: one.writes,
        };
        places.map(place).collect()
    }

    fn asks_for_determinism(&self) -> bool {
        mazurka_abs::Code::observes(self)
    }

    fn states_ensures(&self) -> bool {
        false
    }

    fn states_other_property(&self) -> bool {
        mazurka_abs::Code::states_other_property(self)
    }

    fn states_temporal(&self) -> bool {
        false
    }

    fn leaves_out_times(&self) -> bool {
        mazurka_abs::Code::leaves_out_times(self)
    }
}

impl Language {
    /// Loads a program, in the language that the name of its file indicates.
    pub fn load(
        file: &str,
        source: &str,
        set: &[(String, String)],
    ) -> Result<Self, Vec<Diagnostic>> {
        if file.ends_with(".abs") {
            load_abs(file, source, set)
        } else {
            load_maz(source, set)
        }
    }

    /// Returns the program, restricted to the properties that have one of these names or whose
    /// violations are of these kinds.
    pub fn selecting(self, kinds: Kinds, names: &[String]) -> Self {
        match self {
            Language::Maz(code) => Language::Maz(Arc::new(code.selecting(kinds, names))),
            Language::ForAll(ForAll { code }) => Language::ForAll(ForAll {
                code: Arc::new(code.selecting(kinds, names)),
            }),
            // ABS programs have no named properties.
            Language::Abs(code) => Language::Abs(code),
            Language::C(native) => Language::C(native),
        }
    }

    /// Returns the program, prepared for the search for one cover.
    pub fn covering(self, cover: usize) -> Self {
        match self {
            Language::Maz(code) => Language::Maz(Arc::new(code.covering(cover))),
            Language::ForAll(ForAll { code }) => Language::ForAll(ForAll {
                code: Arc::new(code.covering(cover)),
            }),
            // ABS programs have no covers.
            Language::Abs(code) => Language::Abs(code),
            Language::C(native) => Language::C(native),
        }
    }

    /// Returns the program with this fairness: an infinite run counts only if it is fair.
    pub fn with_fairness(self, fairness: Fairness) -> Self {
        match self {
            Language::Maz(mut code) => {
                if code.fairness != fairness {
                    Arc::make_mut(&mut code).fairness = fairness;
                }
                Language::Maz(code)
            }
            Language::ForAll(ForAll { mut code }) => {
                if code.fairness != fairness {
                    Arc::make_mut(&mut code).fairness = fairness;
                }
                Language::ForAll(ForAll { code })
            }
            Language::Abs(mut code) => {
                if code.fairness != fairness {
                    Arc::make_mut(&mut code).fairness = fairness;
                }
                Language::Abs(code)
            }
            // Cycles of native programs are not searched.
            Language::C(native) => Language::C(native),
        }
    }

    /// Returns the initial processes that have a name: for each its path, such as `1`, and its
    /// name.
    pub fn names(&self) -> Vec<(String, String)> {
        let code = self.maz().into_iter();
        let named = code.flat_map(|code| code.process_names().roots());
        named.map(|(path, name)| (path.to_string(), name)).collect()
    }

    /// Whether it is native code.
    pub fn is_native(&self) -> bool {
        matches!(self, Language::C(_))
    }

    /// Returns the code of a `.maz` program.
    pub fn maz(&self) -> Option<&Arc<Code>> {
        of_each!(*self, front => front.maz())
    }

    /// Returns the places in the source where steps begin.
    pub fn step_places(&self) -> Vec<StepPlace> {
        of_each!(*self, front => front.step_places())
    }

    /// Returns the program as [`ForAll`] if it has unknown values.
    pub fn for_all(&self) -> Option<&ForAll> {
        of_each!(*self, front => front.for_all())
    }

    /// Returns the code of a `.maz` program whose values are all known.
    fn maz_of_known_values(&self) -> Option<&Arc<Code>> {
        match self.for_all() {
            Some(_) => None,
            None => self.maz(),
        }
    }

    /// Returns a machine for runs over symbolic initial values, if the language supports it.
    pub fn concolic(&self, options: &Options) -> Option<Concolic> {
        let code = self.maz_of_known_values()?;
        let patience = options.patience.clone();
        Some(Concolic::until(code, options.limits.local, patience))
    }

    /// Returns a machine for runs in any order and from any initial values, if the language
    /// supports it.
    pub fn concolic_solving(&self, options: &Options) -> Option<Concolic> {
        let code = self.maz_of_known_values()?;
        let deadline = options.solver.deadline.clone();
        Some(Concolic::solving_until(
            code,
            options.limits.local,
            deadline,
            options.patience.clone(),
        ))
    }

    /// Whether the program requires determinism, explicitly or by defining what to observe.
    pub fn asks_for_determinism(&self) -> bool {
        of_each!(*self, front => Front::asks_for_determinism(front))
    }

    /// Returns the kinds of violations that the program allows.
    pub fn allowed(&self) -> Kinds {
        self.maz().map_or(Kinds::NONE, |code| code.allowed())
    }

    /// Whether the program states properties of final states.
    pub fn states_ensures(&self) -> bool {
        of_each!(*self, front => Front::states_ensures(front))
    }

    /// Whether the program states temporal properties.
    pub fn states_temporal(&self) -> bool {
        of_each!(*self, front => Front::states_temporal(front))
    }

    /// Whether the program may behave differently at points of time that are not explored.
    pub fn leaves_out_times(&self) -> bool {
        of_each!(*self, front => Front::leaves_out_times(front))
    }

    /// Whether the program states a property besides determinism.
    pub fn states_other_property(&self) -> bool {
        of_each!(*self, front => Front::states_other_property(front))
    }
}

fn load_maz(source: &str, set: &[(String, String)]) -> Result<Language, Vec<Diagnostic>> {
    if let Some((option, _)) = set.iter().find(|(name, _)| name.starts_with('@')) {
        let message = format!("`--{}` is for ABS programs", &option[1..]);
        let mistake = Diagnostic::new("A0403", Span::default(), message)
            .help("remove it, or name a file that ends in `.abs`");
        return Err(vec![mistake]);
    }
    let checked = mazurka_lang::load(source, &settings(set))?;
    let code = Arc::new(mazurka_lang::compile(&checked, source)?);
    Ok(if checked.unknowns().is_empty() {
        Language::Maz(code)
    } else {
        Language::ForAll(ForAll { code })
    })
}

/// Returns `--set` options in the form of the language.
pub(crate) fn settings(set: &[(String, String)]) -> Vec<Setting> {
    let setting = |(name, value): &(String, String)| Setting {
        name: name.clone(),
        value: value.clone(),
    };
    set.iter().map(setting).collect()
}

fn load_abs(
    file: &str,
    source: &str,
    set: &[(String, String)],
) -> Result<Language, Vec<Diagnostic>> {
    let code = mazurka_abs::load(source, &abs_settings(file, set))?;
    Ok(Language::Abs(Arc::new(code)))
}

/// Returns the settings: constants, and options, whose names start with `@`.
fn abs_settings(file: &str, set: &[(String, String)]) -> mazurka_abs::Settings {
    let mut settings = mazurka_abs::Settings::default();
    for (name, value) in set {
        match name.as_str() {
            "@ignore-time" => settings.ignore_time = true,
            "@object" => settings.object = Some(value.clone()),
            "@product" => settings.product = Some(value.clone()),
            "@main" => settings.main = Some(value.clone()),
            "@files" => {
                let starts = value.split(',').filter_map(|at| at.parse().ok());
                let names = file.split(FILES_JOINED_BY).map(str::to_owned);
                settings.files = starts.zip(names).collect();
            }
            "@observe" => settings.observed = mazurka_abs::Observed::parse(value),
            _ => settings.constants.push((name.clone(), value.clone())),
        }
    }
    settings
}
