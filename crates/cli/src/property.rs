//! The flag `--property`: what counts as a violation.

use clap::Args;
use mazurka::search::{Kind, Kinds};
use mazurka::{Options, Program};

use crate::commands::Refusal;

/// What counts as a violation.
#[derive(Debug, Args)]
pub(crate) struct PropertyArgs {
    /// What counts as a violation, whatever the file states: failure, property, deadlock, livelock,
    /// deterministic, all, or the name of a property (repeatable)
    #[arg(long, value_name = "KIND|NAME", value_delimiter = ',')]
    property: Vec<String>,
}

impl PropertyArgs {
    /// Whether the flags select determinism.
    pub(crate) fn includes_determinism(&self) -> bool {
        let kinds = self.property.iter().filter_map(|word| Kinds::parse(word));
        kinds
            .fold(Kinds::NONE, Kinds::or)
            .contains(Kind::Nondeterminism)
    }

    /// Sets which violations count, by the names that the flags give; refuses a name that the
    /// program does not have.
    pub(crate) fn apply(&self, program: &Program, options: &mut Options) -> Result<(), Refusal> {
        if self.property.is_empty() {
            return Ok(());
        }
        let known = program.named_properties();
        let mut counted = Kinds::NONE;
        for word in &self.property {
            match Kinds::parse(word) {
                Some(_) if word == Kind::Property.name() && !program.states_property() => {
                    let refusal = "the file states no temporal property and no `cover`, so --property property has nothing to check";
                    return Err(refusal.to_owned().into());
                }
                Some(kinds) => counted = counted.or(kinds),
                None if known.iter().any(|(name, _)| name == word) => {
                    options.properties.push(word.clone());
                }
                None => return Err(unknown(word, &known).into()),
            }
        }
        options.counted = Some(counted);
        Ok(())
    }
}

fn unknown<K>(word: &str, known: &[(String, K)]) -> String {
    let [words @ .., last] = Kinds::WORDS;
    let kinds = format!("{} and {last}", words.join(", "));
    let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    let stated = if names.is_empty() {
        "and the file names no property".to_owned()
    } else {
        format!("and the file names {}", names.join(", "))
    };
    format!("there is no property `{word}`: --property takes {kinds}, {stated}")
}
