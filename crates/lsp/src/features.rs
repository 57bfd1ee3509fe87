//! The answers to the requests of an editor (hover, definition, renaming, completion, formatting,
//! lenses, hints), as pure functions of a document.

use lsp_types::{
    CodeLens, Command, CompletionItem, CompletionItemKind, DocumentSymbol, Hover, HoverContents,
    InlayHint, InlayHintLabel, InlayHintTooltip, Location, MarkupContent, MarkupKind, Position,
    Range, SymbolKind as Icon, TextEdit,
};
use mazurka::format::format_of;
use mazurka::names::{keywords_of, names_of, renaming};
use mazurka::symbols::{Symbol, SymbolKind};
use mazurka::{Program, StepPlace};
use serde_json::json;

use crate::document::{Document, OpenTexts};
use crate::{CHECK, Environment, RUN};

/// Describes the name and the step at a position.
pub(crate) fn hover(document: &Document, position: Position) -> Option<Hover> {
    let offset = document.text.offset(position) as u32;
    let mut parts = Vec::new();
    let mention = document.symbols.at(offset);
    if let Some(mention) = mention {
        let symbol = &document.symbols.declared[mention.symbol];
        let start = symbol.span.start as usize;
        let language = if document.is_maz() { "maz" } else { "abs" };
        parts.push(format!(
            "```{language}\n{}\n```\n{}",
            document.text.line_at(start).trim(),
            noun(symbol.kind)
        ));
        let comments = document.text.comments_above(start);
        if !comments.is_empty() && symbol.parent.is_none() {
            parts.push(comments.join("\n"));
        }
    }
    let around = |step: &&StepPlace| (step.span.start..=step.span.end).contains(&offset);
    let steps = document.steps.iter().filter(around);
    // Use the innermost step. With `atomicity access`, a statement and the accesses inside it are
    // steps.
    let step = steps.min_by_key(|step| step.span.end - step.span.start);
    parts.extend(step.map(described));
    if parts.is_empty() {
        return None;
    }
    let range = mention.map(|mention| document.text.range(mention.span));
    let contents = HoverContents::Markup(MarkupContent {
        kind: MarkupKind::Markdown,
        value: parts.join("\n\n---\n\n"),
    });
    Some(Hover { contents, range })
}

/// Describes the accesses of a step.
fn described(step: &StepPlace) -> String {
    let mut text = "one step".to_owned();
    let quoted = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    if step.waits {
        text += ", which may have to wait";
    }
    if !step.reads.is_empty() {
        text += &format!("; reads {}", quoted(&step.reads));
    }
    if !step.writes.is_empty() {
        text += &format!("; writes {}", quoted(&step.writes));
    }
    text
}

fn noun(kind: SymbolKind) -> &'static str {
    match kind {
        SymbolKind::Variable => "shared variable",
        SymbolKind::Ghost => "ghost: a shared variable for properties alone",
        SymbolKind::Constant => "constant",
        SymbolKind::Lock => "lock",
        SymbolKind::Object => "object that processes synchronise with",
        SymbolKind::Enum => "type with members",
        SymbolKind::Module => "module",
        SymbolKind::Interface => "interface",
        SymbolKind::Class => "class",
        SymbolKind::Method => "method",
        SymbolKind::Member => "member of an `enum`",
        SymbolKind::Struct => "type with fields",
        SymbolKind::Field => "field",
        SymbolKind::Function => "function",
        SymbolKind::Procedure => "procedure",
        SymbolKind::Operation => "operation",
        SymbolKind::Process => "process",
        SymbolKind::Property => "property",
        SymbolKind::Parameter => "parameter",
        SymbolKind::Local => "local variable",
        SymbolKind::Label => "label",
    }
}

/// Returns the place where the name at a position is declared.
pub(crate) fn definition(document: &Document, position: Position) -> Option<Location> {
    let offset = document.text.offset(position) as u32;
    let mention = document.symbols.at(offset)?;
    let span = document.symbols.declared[mention.symbol].span;
    Some(Location::new(
        document.uri.clone(),
        document.text.range(span),
    ))
}

/// Returns the places where the name at a position is used.
pub(crate) fn references(
    document: &Document,
    position: Position,
    with_declaration: bool,
) -> Vec<Location> {
    let offset = document.text.offset(position) as u32;
    let Some(mention) = document.symbols.at(offset) else {
        return Vec::new();
    };
    let declared = document.symbols.declared[mention.symbol].span;
    let all = document.symbols.of(mention.symbol);
    all.filter(|span| with_declaration || *span != declared)
        .map(|span| Location::new(document.uri.clone(), document.text.range(span)))
        .collect()
}

/// Returns the range of the name at a position, if it can be renamed.
pub(crate) fn renamable(document: &Document, position: Position) -> Option<Range> {
    let offset = document.text.offset(position) as u32;
    let mention = document.symbols.at(offset)?;
    Some(document.text.range(mention.span))
}

/// Returns the edits that rename a name. Fails if they would change the meaning of the program.
pub(crate) fn rename(
    document: &Document,
    position: Position,
    new: &str,
    (environment, open): (&dyn Environment, &OpenTexts<'_>),
) -> Result<Vec<TextEdit>, String> {
    let offset = document.text.offset(position) as u32;
    let source = document.text.as_str();
    let spans = renaming(&document.path, source, offset, new)?;
    if document.program.is_none() {
        return Err("the program has mistakes: fix these first".to_owned());
    }
    let mut renamed = String::with_capacity(source.len());
    let mut at = 0;
    for span in &spans {
        renamed += &source[at..span.start as usize];
        renamed += new;
        at = span.end as usize;
    }
    renamed += &source[at..];
    // Analyse the new text: every name must keep its meaning, and no mention may appear or
    // disappear.
    let meanings = |all: &mazurka::symbols::Symbols| -> Vec<usize> {
        all.mentions.iter().map(|mention| mention.symbol).collect()
    };
    let text = if document.is_maz() {
        environment.expand(&document.path, &renamed, open)
    } else {
        renamed.clone()
    };
    if meanings(&names_of(&document.path, &renamed)) != meanings(&document.symbols) {
        return Err(format!("`{new}` means something else in this program"));
    }
    if let Err(mistakes) = Program::load(&document.path, &text, &[]) {
        let first = mistakes.first();
        let file = first.and_then(|mistake| mistake.span.file(&text));
        return Err(match (first, file) {
            (Some(mistake), Some(file)) => {
                format!(
                    "`{new}` does not fit `{file}`, which is included: {}",
                    mistake.message
                )
            }
            (Some(mistake), None) => {
                format!("`{new}` does not fit this program: {}", mistake.message)
            }
            (None, _) => format!("`{new}` does not fit this program"),
        });
    }
    let edit = |span| TextEdit::new(document.text.range(span), new.to_owned());
    Ok(spans.into_iter().map(edit).collect())
}

/// Returns the declarations, with locals nested in their processes.
pub(crate) fn outline(document: &Document) -> Vec<DocumentSymbol> {
    let declared = &document.symbols.declared;
    let mut inner = vec![Vec::new(); declared.len()];
    for (at, symbol) in declared.iter().enumerate() {
        if let Some(all) = symbol.parent.and_then(|parent| inner.get_mut(parent)) {
            all.push(at);
        }
    }
    let all = declared.iter().enumerate();
    all.filter(|(_, symbol)| symbol.parent.is_none())
        .map(|(at, _)| outlined(document, at, &inner))
        .collect()
}

/// Describes a symbol with the symbols inside it; `inner` has their indices for each symbol.
fn outlined(document: &Document, at: usize, inner: &[Vec<usize>]) -> DocumentSymbol {
    let symbol = &document.symbols.declared[at];
    let icon = match symbol.kind {
        SymbolKind::Variable | SymbolKind::Ghost | SymbolKind::Local | SymbolKind::Parameter => {
            Icon::VARIABLE
        }
        SymbolKind::Constant => Icon::CONSTANT,
        SymbolKind::Lock | SymbolKind::Object => Icon::OBJECT,
        SymbolKind::Enum => Icon::ENUM,
        SymbolKind::Member => Icon::ENUM_MEMBER,
        SymbolKind::Struct => Icon::STRUCT,
        SymbolKind::Field => Icon::FIELD,
        SymbolKind::Function | SymbolKind::Procedure => Icon::FUNCTION,
        SymbolKind::Operation | SymbolKind::Method => Icon::METHOD,
        SymbolKind::Process | SymbolKind::Class => Icon::CLASS,
        SymbolKind::Module => Icon::MODULE,
        SymbolKind::Interface => Icon::INTERFACE,
        SymbolKind::Property => Icon::PROPERTY,
        SymbolKind::Label => Icon::KEY,
    };
    let children: Vec<DocumentSymbol> = inner[at]
        .iter()
        .map(|part| outlined(document, *part, inner))
        .collect();
    // The protocol requires that the range of a name is within its declaration, and the ranges of
    // parts within the whole.
    let selection = document.text.range(symbol.span);
    let own = document.text.range(symbol.extent);
    let inside = own.start <= selection.start && selection.end <= own.end;
    #[allow(deprecated)]
    DocumentSymbol {
        name: shown_name(symbol),
        detail: Some(noun(symbol.kind).to_owned()),
        kind: icon,
        tags: None,
        deprecated: None,
        range: if inside && symbol.parent.is_none() {
            own
        } else {
            selection
        },
        selection_range: selection,
        children: (!children.is_empty()).then_some(children),
    }
}

fn shown_name(symbol: &Symbol) -> String {
    match (symbol.name.as_str(), symbol.kind) {
        ("", SymbolKind::Process) => "process".to_owned(),
        ("", _) => "property".to_owned(),
        (name, _) => name.to_owned(),
    }
}

/// Returns the names in scope at a position, and the keywords.
pub(crate) fn completion(document: &Document, position: Position) -> Vec<CompletionItem> {
    let offset = document.text.offset(position) as u32;
    let known = |symbol: &&Symbol| {
        let local = matches!(symbol.kind, SymbolKind::Local | SymbolKind::Parameter);
        let visible = symbol.scope.start < offset && offset <= symbol.scope.end;
        !symbol.name.is_empty() && symbol.kind != SymbolKind::Label && (!local || visible)
    };
    let item = |symbol: &Symbol| CompletionItem {
        label: symbol.name.clone(),
        kind: Some(match symbol.kind {
            SymbolKind::Constant => CompletionItemKind::CONSTANT,
            SymbolKind::Enum => CompletionItemKind::ENUM,
            SymbolKind::Member => CompletionItemKind::ENUM_MEMBER,
            SymbolKind::Struct => CompletionItemKind::STRUCT,
            SymbolKind::Field => CompletionItemKind::FIELD,
            SymbolKind::Function | SymbolKind::Procedure | SymbolKind::Operation => {
                CompletionItemKind::FUNCTION
            }
            SymbolKind::Method => CompletionItemKind::METHOD,
            SymbolKind::Class => CompletionItemKind::CLASS,
            SymbolKind::Interface => CompletionItemKind::INTERFACE,
            SymbolKind::Module => CompletionItemKind::MODULE,
            _ => CompletionItemKind::VARIABLE,
        }),
        detail: Some(noun(symbol.kind).to_owned()),
        ..CompletionItem::default()
    };
    let declared = document.symbols.declared.iter();
    let mut items: Vec<CompletionItem> = declared.filter(known).map(item).collect();
    items.sort_by(|one, other| one.label.cmp(&other.label));
    items.dedup_by(|one, other| one.label == other.label);
    items.extend(
        keywords_of(&document.path)
            .iter()
            .map(|word| CompletionItem {
                label: (*word).to_owned(),
                kind: Some(CompletionItemKind::KEYWORD),
                ..CompletionItem::default()
            }),
    );
    items
}

/// Returns the edits that format the text, which are empty if it is formatted already; `None` if it
/// has mistakes.
pub(crate) fn formatting(document: &Document) -> Option<Vec<TextEdit>> {
    let text = document.text.as_str();
    let formatted = format_of(&document.path, text)?;
    Some(if formatted == text {
        Vec::new()
    } else {
        vec![TextEdit::new(document.text.whole(), formatted)]
    })
}

/// Returns the lenses: `check` above the file and each property, `run` above each process, each
/// with its result.
pub(crate) fn lenses(document: &Document) -> Vec<CodeLens> {
    let Some(program) = &document.program else {
        return Vec::new();
    };
    let stated = program.named_properties();
    let is_stated = |name: &str| stated.iter().any(|(known, _)| known == name);
    let mut lenses = lens(document, Range::default(), "check", None);
    for symbol in &document.symbols.declared {
        let range = document.text.range(symbol.span);
        let name = Some(symbol.name.as_str()).filter(|name| !name.is_empty());
        match symbol.kind {
            // A `prove` goal is not a property that a search decides.
            SymbolKind::Property if name.is_none_or(is_stated) => {
                lenses.extend(lens(document, range, "check", name));
            }
            SymbolKind::Process => lenses.extend(lens(document, range, "run", None)),
            _ => {}
        }
    }
    lenses
}

/// Returns a lens that starts a search, and a lens with its result, if there is one.
fn lens(document: &Document, range: Range, what: &str, name: Option<&str>) -> Vec<CodeLens> {
    let search = search_name(what, name);
    let mut arguments = vec![json!(document.uri.as_str())];
    arguments.extend(name.map(|name| json!(name)));
    let id = if what == "run" { RUN } else { CHECK };
    let command = Command::new(search.clone(), id.to_owned(), Some(arguments));
    let found = document
        .findings
        .iter()
        .filter(|finding| finding.name == search);
    let answer = found.map(|one| Command::new(one.answer.clone(), String::new(), None));
    let all = std::iter::once(command).chain(answer);
    all.map(|command| CodeLens {
        range,
        command: Some(command),
        data: None,
    })
    .collect()
}

/// Returns the name of a search.
pub(crate) fn search_name(what: &str, name: Option<&str>) -> String {
    name.map_or_else(|| what.to_owned(), |name| format!("{what} {name}"))
}

/// Returns a hint before each step.
pub(crate) fn hints(document: &Document, range: Range) -> Vec<InlayHint> {
    let first = document.text.offset(range.start) as u32;
    let last = document.text.offset(range.end) as u32;
    let visible = |step: &&StepPlace| (first..=last).contains(&step.span.start);
    let hint = |step: &StepPlace| InlayHint {
        position: document.text.position(step.span.start as usize),
        label: InlayHintLabel::String(if step.waits { "◇" } else { "◆" }.to_owned()),
        kind: None,
        text_edits: None,
        tooltip: Some(InlayHintTooltip::String(described(step))),
        padding_left: None,
        padding_right: Some(true),
        data: None,
    };
    let mut hints: Vec<InlayHint> = document.steps.iter().filter(visible).map(hint).collect();
    hints.dedup_by(|one, other| one.position == other.position);
    hints
}
