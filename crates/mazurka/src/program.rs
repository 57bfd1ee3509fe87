//! A program that is ready to be explored.

use std::sync::Arc;

use mazurka_core::Fingerprint;
use mazurka_core::record::ProgramRecord;
use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;
use mazurka_lang::Setting;

use crate::Options;
use crate::front::Language;
use crate::inputs::Open;

/// A program, checked and compiled.
#[derive(Clone, Debug)]
pub struct Program {
    record: ProgramRecord,
    pub(crate) language: Language,
}

impl Program {
    /// Reads a program: ABS if the name of its file ends in `.abs`, else `.maz`. `file` is its name in records and messages;
    /// `set` overrides constants and gives variables their initial values, as `--set` does. Names that start with `@`
    /// are options of ABS programs: `@ignore-time`, `@observe`, `@object`. The error is every mistake of the text.
    pub fn load(
        file: &str,
        source: &str,
        set: &[(String, String)],
    ) -> Result<Self, Vec<Diagnostic>> {
        Self::read(file, source, set, false)
    }

    /// The same for a program that may ask for inputs. These are for [`check`](Program::check),
    /// [`explore`](Program::explore), [`run`](Program::run) and [`replay`](Program::replay): the first two look at all
    /// inputs, the others at given ones, and nobody else should look.
    ///
    /// ```
    /// use mazurka::{Options, Program, quietly};
    ///
    /// let source = "process { let x = input(); if x * x == 49 { error } }";
    /// let program = Program::load_with_inputs("square.maz", source, &[]).unwrap();
    /// let record = program.check(&Options::default(), &mut quietly());
    /// let input = &record.witnesses[0].runs[0].inputs[0];
    /// let x: i32 = input.value.parse().unwrap();
    /// assert_eq!((input.name.as_str(), x.wrapping_mul(x)), ("0#0", 49));
    /// ```
    pub fn load_with_inputs(
        file: &str,
        source: &str,
        set: &[(String, String)],
    ) -> Result<Self, Vec<Diagnostic>> {
        Self::read(file, source, set, true)
    }

    fn read(
        file: &str,
        source: &str,
        set: &[(String, String)],
        inputs: bool,
    ) -> Result<Self, Vec<Diagnostic>> {
        let language = match file.ends_with(".abs") {
            true => Language::Abs(Arc::new(mazurka_abs::load(source, &abs_settings(set))?)),
            false => load_maz(source, set, inputs)?,
        };
        Ok(Self {
            record: ProgramRecord {
                file: file.to_owned(),
                hash: hash(source, set),
                set: set.to_vec(),
            },
            language,
        })
    }

    /// Whether it asks for inputs.
    pub fn has_inputs(&self) -> bool {
        matches!(self.language, Language::Open(_))
    }

    /// Which program it is, exactly.
    pub fn record(&self) -> &ProgramRecord {
        &self.record
    }

    /// Whether it can be unfolded: not if it is written in ABS.
    pub fn unfolds(&self) -> bool {
        matches!(self.language, Language::Maz(_) | Language::Open(_))
    }

    /// Whether two different results violate a property: if the file says what to observe, or
    /// states nothing else, or the caller asks for it.
    pub fn must_be_deterministic(&self, options: &Options) -> bool {
        let language = &self.language;
        options.deterministic || language.observes() || !language.states_other_property()
    }
}

fn load_maz(
    source: &str,
    set: &[(String, String)],
    inputs: bool,
) -> Result<Language, Vec<Diagnostic>> {
    if let Some((option, _)) = set.iter().find(|(name, _)| name.starts_with('@')) {
        let message = format!("`--{}` is for ABS programs", &option[1..]);
        let mistake = Diagnostic::new("A0403", Span::default(), message)
            .help("take it out, or name a file that ends in `.abs`");
        return Err(vec![mistake]);
    }
    let setting = |(name, value): &(String, String)| Setting {
        name: name.clone(),
        value: value.clone(),
    };
    let settings: Vec<Setting> = set.iter().map(setting).collect();
    let checked = mazurka_lang::load(source, &settings)?;
    if !inputs || !mazurka_lang::has_inputs(&checked) {
        let code = mazurka_lang::compile(&checked, source)?;
        return Ok(Language::Maz(Arc::new(code)));
    }
    let open = Open {
        code: Arc::new(mazurka_lang::compile_open(&checked, source)?),
    };
    match checked.requires.first() {
        Some(required) if !open.can_start() => {
            let message = "no initial values satisfy what the program `requires`";
            let help = "take a `requires` out, or give the variables other initial values";
            let mistake = Diagnostic::new("M0603", required.span, message.to_owned()).help(help);
            Err(vec![mistake])
        }
        _ => Ok(Language::Open(open)),
    }
}

/// Constants, and options by names that start with `@`.
fn abs_settings(set: &[(String, String)]) -> mazurka_abs::Settings {
    let mut settings = mazurka_abs::Settings::default();
    for (name, value) in set {
        match name.as_str() {
            "@ignore-time" => settings.ignore_time = true,
            "@object" => settings.object = Some(value.clone()),
            "@observe" => settings.observed = mazurka_abs::Observed::of(value),
            _ => settings.constants.push((name.clone(), value.clone())),
        }
    }
    settings
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
