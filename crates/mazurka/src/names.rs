//! The declarations and mentions of names in a text, in either language, for editors: `names_of`
//! resolves names, `renaming` returns the places that a renaming changes.

use mazurka_abs::symbols as abs;
use mazurka_diagnostics::Span;
use mazurka_lang::symbols::{KEYWORDS, Mention, Symbol, SymbolKind, Symbols, is_keyword, symbols};

/// Resolves the names of a program, in the language that the name of its file indicates. For ABS
/// the types of expressions are not known here, so a call is resolved by its name, to the method of
/// an interface.
///
/// ```
/// use mazurka::names::names_of;
/// let found = names_of("a.abs", "module M; class C { Unit run() { skip; } }");
/// let names: Vec<&str> = found.declared.iter().map(|one| &*one.name).collect();
/// assert_eq!(names, ["M", "C", "run"]);
/// ```
pub fn names_of(file: &str, source: &str) -> Symbols {
    if !is_abs(file) {
        return symbols(source);
    }
    let found = abs::symbols(source);
    let declared = found.declared.into_iter().map(|one| Symbol {
        name: one.name,
        kind: kind(one.kind),
        span: one.span,
        extent: one.extent,
        parent: one.parent,
        scope: Span {
            start: one.visible.start.max(one.span.end),
            end: one.visible.end,
        },
    });
    let mentions = found.mentions.into_iter();
    Symbols {
        declared: declared.collect(),
        mentions: mentions
            .map(|(span, symbol)| Mention { span, symbol })
            .collect(),
    }
}

/// Returns, in order, the places at which the name at an offset must be replaced to rename it. The
/// error says why it cannot be renamed. The caller must check that the new text has the same
/// meaning.
///
/// ```
/// use mazurka::names::renaming;
/// let source = "var x: int = 0  process { x := 1 }";
/// assert_eq!(renaming("a.maz", source, 4, "y").unwrap().len(), 2);
/// assert!(renaming("a.maz", source, 4, "1x").is_err());
/// ```
pub fn renaming(file: &str, source: &str, offset: u32, new: &str) -> Result<Vec<Span>, String> {
    if is_abs(file) {
        return mazurka_abs::rename::renaming(source, offset, new);
    }
    let found = symbols(source);
    let mention = found.at(offset).ok_or("there is no name here")?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let is_name =
        new.starts_with(|c: char| c.is_alphabetic() || c == '_') && new.chars().all(is_part);
    if !is_name {
        return Err(format!("`{new}` is not a name"));
    }
    if is_keyword(new) {
        return Err(format!("`{new}` is a keyword"));
    }
    if source.contains("prove \"") {
        return Err("the program has `prove` goals, in which names are not looked up".to_owned());
    }
    Ok(found.of(mention.symbol).collect())
}

/// Returns the keywords of the language that the name of a file indicates.
pub fn keywords_of(file: &str) -> &'static [&'static str] {
    if is_abs(file) {
        abs::KEYWORDS
    } else {
        KEYWORDS
    }
}

fn is_abs(file: &str) -> bool {
    file.ends_with(".abs")
}

fn kind(kind: abs::SymbolKind) -> SymbolKind {
    match kind {
        abs::SymbolKind::Module => SymbolKind::Module,
        abs::SymbolKind::Interface => SymbolKind::Interface,
        abs::SymbolKind::Class => SymbolKind::Class,
        abs::SymbolKind::Method => SymbolKind::Method,
        abs::SymbolKind::Field => SymbolKind::Field,
        abs::SymbolKind::Data => SymbolKind::Enum,
        abs::SymbolKind::Constructor => SymbolKind::Member,
        abs::SymbolKind::Function => SymbolKind::Function,
        abs::SymbolKind::Parameter => SymbolKind::Parameter,
        abs::SymbolKind::Local => SymbolKind::Local,
        abs::SymbolKind::Main => SymbolKind::Process,
    }
}
