//! Renaming, for editors.
//!
//! A variable is renamed within its scope. The names that refer to another kind of declaration
//! cannot be found without the types of expressions, which are not known here. So all declarations
//! with the same name are renamed together: a class and an interface with this name, or the methods
//! with this name in all classes. The new name must not occur in the text, so no other name can
//! become a reference to the renamed declaration. If a reference is missed, the new text refers to
//! an undeclared name, and the caller can detect this by checking the new text.

use mazurka_diagnostics::Span;

use crate::symbols::{Symbol, SymbolKind, all_words, symbols};
use crate::syntax::token::{Token, TokenKind};

/// Returns the places at which a name must be replaced, in order. The error says why it cannot be
/// renamed.
///
/// ```
/// use mazurka_abs::rename::renaming;
/// let source = "module M; { Int x = 1; x = x + 1; }";
/// assert_eq!(renaming(source, 16, "count").unwrap().len(), 3);
/// assert!(renaming(source, 16, "Count").is_err());
/// assert!(renaming(source, 0, "count").is_err());
/// ```
pub fn renaming(source: &str, offset: u32, new: &str) -> Result<Vec<Span>, String> {
    let words = all_words(source);
    let here = |word: &&Token| (word.span.start..=word.span.end).contains(&offset);
    let named = words
        .iter()
        .filter(here)
        .find_map(|word| Some((word, name(word)?)));
    let (word, old) = named.ok_or("there is no name here")?;
    if !is_alike(&word.kind, new) {
        return Err(format!(
            "`{new}` is no such name: types and constructors start with a capital letter, other \
             names with a small one, and keywords are not names"
        ));
    }
    if words.iter().any(|word| name(word) == Some(new)) {
        return Err(format!("`{new}` means something else in this program"));
    }
    let found = symbols(source);
    let meant = found.mentions.iter().find(|(span, _)| *span == word.span);
    let (_, number) = meant.ok_or_else(|| format!("`{old}` is not declared in this file"))?;
    let symbol = &found.declared[*number];
    let others = found.declared.iter().enumerate();
    let mut namesakes = others.filter(|(at, one)| at != number && one.name == symbol.name);
    let is_variable = |symbol: &Symbol| is_variable(symbol, &found.declared);
    if is_variable(symbol) {
        if namesakes.any(|(_, other)| is_variable(other) && overlap(other.visible, symbol.visible))
        {
            return Err(format!("`{old}` is declared more than once here"));
        }
        let own = found.mentions.iter().filter(|(_, meant)| meant == number);
        return Ok(own.map(|(span, _)| *span).collect());
    }
    if symbol.kind == SymbolKind::Method && old == "run" {
        return Err("`run` is called by its name when an object is made".to_owned());
    }
    if namesakes.any(|(_, other)| is_variable(other)) {
        return Err(format!("`{old}` is the name of a variable, too"));
    }
    let all = words.iter().filter(|word| name(word) == Some(old));
    Ok(all.map(|word| word.span).collect())
}

fn name(word: &Token) -> Option<&str> {
    match &word.kind {
        TokenKind::Name(text) | TokenKind::TypeName(text) => Some(text),
        _ => None,
    }
}

/// Whether a text is a single name of the same kind as the name in `old`: both start with a small
/// letter, or both with a capital letter.
fn is_alike(old: &TokenKind, new: &str) -> bool {
    let words = all_words(new);
    let [one, end] = &words[..] else {
        return false;
    };
    let same = std::mem::discriminant(&one.kind) == std::mem::discriminant(old);
    same && end.kind == TokenKind::End && name(one) == Some(new)
}

/// Whether a symbol is visible in a part of the text only: a local, a parameter or a field of an
/// object.
fn is_variable(symbol: &Symbol, declared: &[Symbol]) -> bool {
    let parent = symbol.parent.map(|parent| declared[parent].kind);
    match symbol.kind {
        SymbolKind::Local | SymbolKind::Parameter => true,
        SymbolKind::Field => parent != Some(SymbolKind::Data),
        _ => false,
    }
}

fn overlap(one: Span, other: Span) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANK: &str = "module Bank;
interface Account { Int balance(); Unit add(Int amount); }
class Account(Int start) implements Account {
  Int current = start;
  Int balance() { return current; }
  Unit add(Int amount) { Int old = current; current = old + amount; println(`now $current$`); }
  Unit run() { Int current = 1; this.add(current); }
}
{
  Account a = new Account(2);
  Fut<Unit> f = a!add(5);
  await f?;
}
";

    fn renamed(line: usize, text: &str, new: &str) -> Result<String, String> {
        let lines: Vec<&str> = BANK.lines().collect();
        let before: usize = lines[..line].iter().map(|line| line.len() + 1).sum();
        let offset = before + lines[line].find(text).expect("it is there");
        let spans = renaming(BANK, offset as u32, new)?;
        let mut found = BANK.to_owned();
        for span in spans.iter().rev() {
            found.replace_range(span.start as usize..span.end as usize, new);
        }
        let mistakes = crate::load(&found, &crate::Settings::default());
        assert!(mistakes.is_ok(), "{found}");
        Ok(found)
    }

    #[test]
    fn variables_are_renamed_in_their_scope() {
        let found = renamed(5, "amount", "sum").expect("a parameter");
        assert_eq!(
            found.matches("amount").count(),
            1,
            "the interface has its own"
        );
        let found = renamed(2, "start", "first").expect("a parameter of a class");
        assert_eq!(found.matches("first").count(), 2);
        let found = renamed(9, "a = ", "account").expect("a local");
        assert!(found.contains("account!add(5)"));
    }

    #[test]
    fn other_declarations_are_renamed_in_the_whole_text() {
        let found = renamed(1, "add", "put").expect("a method");
        assert_eq!(found.matches("put(").count(), 4);
        let found = renamed(9, "Account", "Deposit").expect("a class and its interface");
        assert_eq!(found.matches("Deposit").count(), 5);
    }

    const CORPUS: [(&str, &str); 4] = [
        (
            "map-reduce",
            include_str!("../../../corpus/abs/map-reduce/program.abs"),
        ),
        (
            "producer-consumer",
            include_str!("../../../corpus/abs/producer-consumer/program.abs"),
        ),
        (
            "philosophers",
            include_str!("../../../corpus/abs/philosophers/program.abs"),
        ),
        (
            "registration",
            include_str!("../../../corpus/abs/registration/program.abs"),
        ),
    ];

    /// Renames every declaration of some programs: each renaming is refused, or does not change the
    /// code.
    #[test]
    fn the_programs_of_the_corpus_stay_as_they_were() {
        let (mut renamed, mut refused) = (0, 0);
        for (path, source) in CORPUS {
            let source = source.to_owned();
            let code = |text: &str| crate::load(text, &crate::Settings::default());
            let before = code(&source).expect("a program of the corpus");
            for symbol in symbols(&source).declared {
                let new = if symbol.name.starts_with(|c: char| c.is_uppercase()) {
                    "Zz9"
                } else {
                    "zz9"
                };
                let Ok(spans) = renaming(&source, symbol.span.start, new) else {
                    refused += 1;
                    continue;
                };
                let mut text = source.clone();
                for span in spans.iter().rev() {
                    text.replace_range(span.start as usize..span.end as usize, new);
                }
                // The text may also use the name for something in the library, which is not
                // renamed.
                let Ok(after) = code(&text) else {
                    refused += 1;
                    continue;
                };
                renamed += 1;
                let shape = |code: &crate::Code| {
                    let classes = code.classes.iter();
                    let fields: usize = classes.map(|class| class.fields.len()).sum();
                    (code.ops.clone(), fields)
                };
                assert_eq!(shape(&after), shape(&before), "{path}: {}", symbol.name);
            }
        }
        assert!(
            renamed > 70 && refused < renamed / 3,
            "{renamed}, {refused}"
        );
    }

    #[test]
    fn renamings_that_would_change_the_program_are_refused() {
        for (line, text, new, why) in [
            (3, "current", "value", "more than once"),
            (6, "run", "start", "something else"),
            (6, "run", "begin", "called by its name"),
            (1, "add", "balance", "something else"),
            (1, "add", "Add", "no such name"),
            (1, "add", "await", "no such name"),
            (1, "add", "a b", "no such name"),
            (1, "Int", "Number", "not declared"),
            (0, "module", "part", "no name here"),
        ] {
            let error = renamed(line, text, new).expect_err(new);
            assert!(error.contains(why), "{new}: {error}");
        }
    }
}
