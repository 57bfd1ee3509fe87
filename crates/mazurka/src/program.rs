//! [`Program`]: a program that was loaded once and is ready for all commands; and which properties
//! of it count.

use mazurka_abs::NoNet;
use mazurka_core::record::ProgramRecord;
use mazurka_core::{Bound, Fingerprint, Kind, Kinds, ParseScheduleError, Schedule};
use mazurka_diagnostics::Diagnostic;
use mazurka_lang::Unknowns;
use mazurka_memory::Memory;
use mazurka_smt::Missing;

use crate::Options;
use crate::front::Language;
use crate::reach::NotTranslated;
use crate::tree::TreeTooLarge;
use crate::unfold::NetTooLarge;
use mazurka_lang::NotWeak;

/// A program, loaded once for all commands: checked and compiled.
///
/// Some of its values may be unknown: those of its inputs, and initial values.
/// [`check`](Program::check), [`explore`](Program::explore), [`unfold`](Program::unfold),
/// [`reach`](Program::reach), [`symbolic`](Program::symbolic) and [`prove`](Program::prove)
/// consider all values; [`run`](Program::run) and [`replay`](Program::replay) use given values.
///
/// ```
/// use mazurka::{Options, Program, quietly};
///
/// let source = "var y: i32  process { let x = input(); if x * x == 49 && y == x { error } }";
/// let program = Program::load("square.maz", source, &[]).unwrap();
/// let record = program.check(&Options::default(), &mut quietly()).unwrap();
/// let run = &record.witnesses[0].runs[0];
/// assert_eq!([&*run.inputs[0].name, &*run.inputs[1].name], ["y", "0#0"]);
/// let x: i32 = run.inputs[1].value.parse().unwrap();
/// assert_eq!(x.wrapping_mul(x), 49);
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    record: ProgramRecord,
    pub(crate) language: Language,
}

impl Program {
    /// Loads a program: an ABS program if the name of its file ends in `.abs`, otherwise a `.maz`
    /// program. `file` is the name in records and messages. `set` overrides constants and sets
    /// initial values of variables, as `--set` does. Names that start with `@` are options of ABS
    /// programs: `@ignore-time`, `@observe`, `@object`, `@product`, `@main`, and `@files`. The last
    /// gives the positions at which the files begin that the text was assembled from, separated by
    /// commas. The error contains all mistakes in the text.
    pub fn load(
        file: &str,
        source: &str,
        set: &[(String, String)],
    ) -> Result<Self, Vec<Diagnostic>> {
        let language = Language::load(file, source, set)?;
        Ok(Self {
            record: ProgramRecord {
                file: file.to_owned(),
                hash: hash(source, set),
                set: set.to_vec(),
                names: language.names(),
            },
            language,
        })
    }

    /// Creates a program. `record` identifies it.
    pub(crate) fn new(record: ProgramRecord, language: Language) -> Self {
        Self { record, language }
    }

    /// Whether it is native code that was loaded into this process.
    pub fn is_native(&self) -> bool {
        self.language.is_native()
    }

    /// Returns the unknown values of the program.
    pub fn unknowns(&self) -> Unknowns {
        match self.language.for_all() {
            Some(program) => program.code.program().unknowns(),
            None => Unknowns::default(),
        }
    }

    /// Returns the identity of the program.
    pub fn record(&self) -> &ProgramRecord {
        &self.record
    }

    /// Parses a schedule of this program. Processes may be given by their names in the source, such
    /// as `philosopher(2)`, `philosopher.2` or `server`, or by their paths, such as `0.1`.
    ///
    /// ```
    /// use mazurka::Program;
    /// let source = "var x: int = 0  process p (i in 4..6) { x := i }  process { x := 1 }";
    /// let program = Program::load("names.maz", source, &[]).unwrap();
    /// let schedule = program.schedule("p(5) 2 p.4").unwrap();
    /// assert_eq!(schedule.to_string(), "1 2 0");
    /// assert!(program.schedule("p").is_err());
    /// ```
    pub fn schedule(&self, text: &str) -> Result<Schedule, ParseScheduleError> {
        match self.language.maz() {
            Some(code) => code.process_names().schedule(text),
            None => text.parse(),
        }
    }

    /// Returns the program that a search with these options explores: it has the fairness of the
    /// options, and if the options name properties, it lacks the properties that do not count.
    pub(crate) fn asked(&self, options: &Options) -> Self {
        let mut language = self.language.clone();
        if !options.properties.is_empty() {
            language = language.selecting(self.kinds_of(options), &options.properties);
        }
        Self {
            record: self.record.clone(),
            language: language.with_fairness(options.fairness),
        }
    }

    /// Returns the options for a search that looks only for violations of these kinds.
    pub(crate) fn narrowed(&self, options: &Options, graver: Kinds) -> Options {
        let named = self.named_properties();
        let matters = |name: &&String| {
            let mut kinds = named.iter().filter(|(known, _)| known == *name);
            kinds.any(|&(_, kind)| graver.contains(kind))
        };
        Options {
            counted: Some(self.kinds_of(options).and(graver)),
            properties: options.properties.iter().filter(matters).cloned().collect(),
            ..options.clone()
        }
    }

    /// Returns the kinds of violations that count even if the options do not name the property.
    pub(crate) fn kinds_of(&self, options: &Options) -> Kinds {
        let language = &self.language;
        let deterministic = language.asks_for_determinism() || !language.states_other_property();
        let asked = if deterministic {
            Kinds::ALL
        } else {
            Kinds::FAULTS
        };
        options.counted.unwrap_or(asked.without(language.allowed()))
    }

    /// Returns the kinds of violations that count: the kinds in the options, if any are given, and
    /// those of the properties that the options name. By default, failures, violated temporal
    /// properties, deadlocks and livelocks count. Different results count if the file defines what
    /// to observe or states no other property. The kinds that the file allows do not count.
    /// Temporal properties count only if the file states some.
    pub fn counted(&self, options: &Options) -> Kinds {
        let named = self.named_properties().into_iter();
        let named = named.filter(|(name, _)| options.properties.contains(name));
        let counted = named.fold(self.kinds_of(options), |all, (_, kind)| all.with(kind));
        if self.language.states_temporal() {
            counted
        } else {
            counted.without(Kinds::of(&[Kind::Property]))
        }
    }

    /// Returns the named properties (invariants, `ensures`, temporal properties and covers), each
    /// with the kind of its violations.
    ///
    /// ```
    /// use mazurka::Program;
    /// use mazurka::search::Kind;
    /// let source = "var x: int = 0  invariant small: x < 2  process { x := 1 }";
    /// let program = Program::load("named.maz", source, &[]).unwrap();
    /// assert_eq!(program.named_properties(), [("small".to_owned(), Kind::Failure)]);
    /// ```
    pub fn named_properties(&self) -> Vec<(String, Kind)> {
        let code = self.language.maz().into_iter();
        let all = code.flat_map(|code| code.named_properties());
        all.map(|(name, kind)| (name.to_owned(), kind)).collect()
    }

    /// Whether the program states temporal properties.
    pub fn states_temporal(&self) -> bool {
        self.language.states_temporal()
    }

    /// Whether the program states a property of the kind `property`: a temporal property, a `cover`
    /// or a refinement.
    pub fn states_property(&self) -> bool {
        let covers = |code: &std::sync::Arc<mazurka_lang::Code>| !code.covers().is_empty();
        let covers = self.language.maz().is_some_and(covers);
        self.states_temporal() || covers || self.refines().is_some()
    }

    /// Returns the bound that a search reports if it ignores temporal properties although they
    /// count.
    pub(crate) fn leaves_out_temporal(&self, counted: Kinds) -> Option<Bound> {
        counted.contains(Kind::Property).then_some(Bound::Temporal)
    }

    /// Returns the bound that a search reports if a duration of the program can take times that are
    /// not explored.
    pub(crate) fn leaves_out_times(&self) -> Option<Bound> {
        self.language.leaves_out_times().then_some(Bound::Times)
    }

    /// Returns the kinds of violations that count for commands that explore and count everything.
    /// There, different results are not a violation.
    pub(crate) fn counted_by_explorers(&self, options: &Options) -> Kinds {
        self.counted(options).and(Kinds::FAULTS)
    }
}

/// Why a program cannot be searched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// No initial values satisfy the `requires` of the program.
    #[error("no initial values satisfy what the program `requires`, so there is nothing to {0}")]
    NoStart(&'static str),
    /// The solver is not installed.
    #[error(transparent)]
    Solver(#[from] Missing),
    /// The program is in another language.
    #[error("this is for `.maz` programs")]
    NotMaz,
    /// The property cannot be translated for the solver.
    #[error(transparent)]
    Property(#[from] NotTranslated),
    /// Temporal properties of a program with unknown values.
    #[error(
        "temporal properties can be decided only where all values are known: give the initial values (--set) and use no `input()`, or leave them out (`allows property`)"
    )]
    Temporal,
    /// The program cannot be explored under a weak memory model.
    #[error("under a weak memory model: {0}")]
    Weak(#[from] NotWeak),
    /// The program has unknown values, and the command would have to compare results or orders
    /// under a weak memory model.
    #[error(
        "under a weak memory model `orders` and determinism need all values: give the initial values (--set) and use no `input()`, or leave out determinism (`allows nondeterminism`)"
    )]
    WeakUnknowns,
    /// The refinement cannot be checked.
    #[error("`refines`: {0}")]
    Refinement(String),
    /// An object whose operations clients call.
    #[error(
        "`spec object`: histories are decided only if all values are known, by `mazurka check` and `mazurka explore`"
    )]
    Object,
    /// The program has a `spec object`, and its net does not distinguish returns.
    #[error(
        "`spec object`: in a contextual net one return may stand for two, since it does not tell \
         which calls came before: say --net replicated or --net stateful"
    )]
    ContextualObject,
    /// Orders are requested without a weak memory model.
    #[error("orders matter under a weak memory model only: say --memory rc11, ra or tso")]
    NoOrders,
    /// There are no accesses with orders.
    #[error("the program has no atomic variable and no fence, so there is no order to choose")]
    NothingOrdered,
    /// A native program does something that cannot be controlled.
    #[error("the program cannot be explored: {0}")]
    Uncontrolled(String),
    /// The memory model does not support native programs.
    #[error(
        "programs in C and C++ are explored under --memory sc and rc11, the model of their language: tso and ra are models of machines and of .maz"
    )]
    NativeWeak,
    /// Races are failures under the model of C.
    #[error("under --memory rc11 a data race is a failure: leave out --allow-races")]
    NativeRaces,
    /// Leaks are only searched in interleavings.
    #[error("--leaks is for sequential consistency: leave out --memory")]
    NativeLeaks,
    /// Variables are observed under a memory model, where memory does not hold their last values.
    #[error(
        "under a memory model the exit code and the output are observed: print what --observe names"
    )]
    NativeObserved,
    /// Executions of native programs under a memory model cannot be drawn.
    #[error(
        "under a memory model executions of programs in C and C++ are explored, not drawn: take `mazurka check`, or leave out --method, --algorithm or --memory"
    )]
    NativeDrawn,
    /// The method draws only interleavings.
    #[error(
        "under --memory {0} executions are drawn by random or pct; {1} draws interleavings: take one of these, or leave out --memory"
    )]
    WeakMethod(Memory, &'static str),
    /// A native program has no states to merge.
    #[error(
        "states of native programs cannot be compared: take --algorithm optimal, source, dpor, sleep or naive, or one that draws"
    )]
    NoStates,
    /// An ABS program without a net.
    #[error("this program cannot be unfolded: {0}")]
    NoNet(#[from] NoNet),
    /// The net is too large to be drawn.
    #[error(transparent)]
    TooLarge(#[from] NetTooLarge),
    /// The tree is too large to be drawn.
    #[error(transparent)]
    TreeTooLarge(#[from] TreeTooLarge),
}

/// Returns 128 bits of a hash of the text and the settings, the same on every machine.
pub(crate) fn hash(source: &str, set: &[(String, String)]) -> String {
    let mut fingerprint = text(Fingerprint::EMPTY, source);
    for (name, value) in set {
        fingerprint = text(text(fingerprint, name), value);
    }
    format!("{:032x}", fingerprint.bits())
}

/// Adds a text. Its length comes first, so that different lists of texts have different hashes.
fn text(start: Fingerprint, text: &str) -> Fingerprint {
    let word = |chunk: &[u8]| {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(bytes)
    };
    let words = text.as_bytes().chunks(8).map(word);
    words.fold(start.then(text.len() as u64), Fingerprint::then)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_tells_texts_and_settings_apart() {
        let set = |all: &[(&str, &str)]| -> Vec<(String, String)> {
            let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
            all.iter().map(own).collect()
        };
        let hashes = [
            hash("", &[]),
            hash("\0", &[]),
            hash("a", &[]),
            hash("a", &set(&[("N", "1")])),
            hash("a", &set(&[("N", "2")])),
            hash("a", &set(&[("N1", "")])),
            hash("aN1", &[]),
        ];
        for (at, one) in hashes.iter().enumerate() {
            assert_eq!(one.len(), 32);
            assert!(!hashes[..at].contains(one), "{at}");
        }
    }
}
