//! A program that is ready to be explored.

use std::sync::Arc;

use mazurka_core::Fingerprint;
use mazurka_core::record::ProgramRecord;
use mazurka_lang::Setting;
use mazurka_lang::diagnostic::Diagnostic;

use crate::Options;
use crate::front::Language;

/// A program, checked and compiled.
#[derive(Clone, Debug)]
pub struct Program {
    record: ProgramRecord,
    pub(crate) language: Language,
}

impl Program {
    /// Reads a program. `file` is its name in records and messages; `set` overrides constants and
    /// gives variables their initial values, as `--set` does. The error is every mistake of the text.
    pub fn load(
        file: &str,
        source: &str,
        set: &[(String, String)],
    ) -> Result<Self, Vec<Diagnostic>> {
        let setting = |(name, value): &(String, String)| Setting {
            name: name.clone(),
            value: value.clone(),
        };
        let settings: Vec<Setting> = set.iter().map(setting).collect();
        let checked = mazurka_lang::load(source, &settings)?;
        let code = mazurka_lang::compile(&checked, source)?;
        Ok(Self {
            record: ProgramRecord {
                file: file.to_owned(),
                hash: hash(source, set),
                set: set.to_vec(),
            },
            language: Language::Maz(Arc::new(code)),
        })
    }

    /// Which program it is, exactly.
    pub fn record(&self) -> &ProgramRecord {
        &self.record
    }

    /// Whether two different results violate a property: if the file says what to observe, or
    /// states nothing else, or the caller asks for it.
    pub fn must_be_deterministic(&self, options: &Options) -> bool {
        let language = &self.language;
        options.deterministic || language.observes() || !language.states_other_property()
    }
}

/// 128 bits of the text and the settings, the same on every machine.
pub(crate) fn hash(source: &str, set: &[(String, String)]) -> String {
    let mut fingerprint = text(Fingerprint::EMPTY, source);
    for (name, value) in set {
        fingerprint = text(text(fingerprint, name), value);
    }
    format!("{:032x}", fingerprint.bits())
}

/// The length first, so that no two lists of texts run into each other.
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
