//! The declarations of a text and the places that mention them, for editors.
//!
//! The search works on tokens, without a syntax tree, so it also works for programs with mistakes.
//! A name after a type is a declaration; types start with a capital letter, and other names do not.
//! The types of expressions are not known, so a call refers to the method with its name in an
//! interface. Variables that a pattern binds are not found.

use mazurka_diagnostics::Span;
use rustc_hash::FxHashMap;

use crate::syntax::lexer::words;
use crate::syntax::token::{Token, TokenKind};

pub use crate::syntax::token::KEYWORDS;

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymbolKind {
    /// A module.
    Module,
    /// An interface.
    Interface,
    /// A class.
    Class,
    /// A method, in an interface or a class.
    Method,
    /// A field of an object or of a value.
    Field,
    /// A data type, a synonym or an exception.
    Data,
    /// A constructor of a data type.
    Constructor,
    /// A function.
    Function,
    /// A parameter.
    Parameter,
    /// A local variable.
    Local,
    /// A main block.
    Main,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name; empty for a main block.
    pub name: String,
    /// Its kind.
    pub kind: SymbolKind,
    /// The place of its name.
    pub span: Span,
    /// The place of the whole declaration.
    pub extent: Span,
    /// The index of the symbol that it is part of, such as the class of a method or the method of a
    /// local; `None` at the top of the text.
    pub parent: Option<usize>,
    /// The range in which it can be mentioned by its name alone.
    pub visible: Span,
}

/// The declarations of a text, in order, and all mentions of them, each with the index of its
/// declaration. A declaration is also a mention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The declarations.
    pub declared: Vec<Symbol>,
    /// The mentions.
    pub mentions: Vec<(Span, usize)>,
}

/// Resolves the names of an ABS program.
///
/// ```
/// use mazurka_abs::symbols::{SymbolKind, symbols};
/// let source = "module M; class C { Int x = 0; Unit m(Int y) { x = x + y; } }";
/// let found = symbols(source);
/// let names: Vec<&str> = found.declared.iter().map(|one| &*one.name).collect();
/// assert_eq!(names, ["M", "C", "x", "m", "y"]);
/// assert_eq!(found.declared[2].kind, SymbolKind::Field);
/// // The declaration of x, and two mentions.
/// assert_eq!(found.mentions.iter().filter(|(_, symbol)| *symbol == 2).count(), 3);
/// ```
pub fn symbols(source: &str) -> Symbols {
    let tokens = all_words(source);
    let mut finder = Finder {
        closes: closing(&tokens),
        tokens,
        found: Symbols::default(),
        own: FxHashMap::default(),
        owners: Vec::new(),
    };
    finder.declare();
    finder.mention();
    finder.found
}

/// Returns the words of a text, including those of the expressions in its template strings.
pub(crate) fn all_words(source: &str) -> Vec<Token> {
    let (tokens, _) = words(source, 0, source.len());
    let mut all = Vec::with_capacity(tokens.len());
    for token in tokens {
        let TokenKind::Template(parts) = &token.kind else {
            all.push(token);
            continue;
        };
        for place in parts.iter().filter_map(|(_, place)| *place) {
            let (mut inner, _) = words(source, place.start as usize, place.end as usize);
            inner.pop();
            all.append(&mut inner);
        }
    }
    all
}

/// Returns, for each opening bracket, the index of its closing bracket, or of the last word if
/// there is none.
fn closing(tokens: &[Token]) -> FxHashMap<usize, usize> {
    let mut open = Vec::new();
    let mut closes = FxHashMap::default();
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Symbol("(" | "{" | "[") => open.push(at),
            TokenKind::Symbol(")" | "}" | "]") => {
                if let Some(opened) = open.pop() {
                    closes.insert(opened, at);
                }
            }
            _ => {}
        }
    }
    let last = tokens.len().saturating_sub(1);
    closes.extend(open.into_iter().map(|at| (at, last)));
    closes
}

/// The search for declarations: the words, the closing bracket of each opening bracket, and the
/// symbols found so far.
struct Finder {
    tokens: Vec<Token>,
    closes: FxHashMap<usize, usize>,
    found: Symbols,
    /// For each word that declares a symbol, this symbol.
    own: FxHashMap<usize, usize>,
    /// The declarations around the current word: a symbol, and its last word.
    owners: Vec<(usize, usize)>,
}

impl Finder {
    fn is(&self, at: usize, sign: &str) -> bool {
        matches!(self.tokens.get(at), Some(Token { kind: TokenKind::Symbol(known), .. }) if *known == sign)
    }

    fn keyword(&self, at: usize) -> Option<&'static str> {
        match self.tokens.get(at)?.kind {
            TokenKind::Keyword(word) => Some(word),
            _ => None,
        }
    }

    fn is_type_name(&self, at: usize) -> bool {
        matches!(
            self.tokens.get(at),
            Some(Token {
                kind: TokenKind::TypeName(_),
                ..
            })
        )
    }

    fn text(&self, at: usize) -> &str {
        match &self.tokens[at].kind {
            TokenKind::Name(text) | TokenKind::TypeName(text) => text,
            _ => "",
        }
    }

    /// Returns the first word of the type that ends right before a place, if there is one.
    fn type_before(&self, at: usize) -> Option<usize> {
        let mut last = at.checked_sub(1)?;
        if self.is(last, ">") {
            let mut depth = 0;
            loop {
                match &self.tokens[last].kind {
                    TokenKind::Symbol(">") => depth += 1,
                    TokenKind::Symbol("<") => depth -= 1,
                    TokenKind::Symbol("," | ".") | TokenKind::TypeName(_) => {}
                    _ => return None,
                }
                last = last.checked_sub(1)?;
                if depth == 0 {
                    break;
                }
            }
        }
        self.is_type_name(last).then_some(last)
    }

    /// Returns the last word of the declaration that continues at a place: a semicolon, or the
    /// bracket that closes its body.
    fn end(&self, from: usize) -> usize {
        let mut at = from;
        while at + 1 < self.tokens.len() {
            match self.tokens[at].kind {
                TokenKind::Symbol(";") => return at,
                TokenKind::Symbol("{") => return self.closes[&at],
                TokenKind::Symbol("(" | "[") => at = self.closes[&at],
                _ => {}
            }
            at += 1;
        }
        at.min(self.tokens.len() - 1)
    }

    /// Returns the end of a declaration without a body of statements: the next semicolon.
    fn semicolon(&self, from: usize) -> usize {
        let signs = (from..self.tokens.len()).filter(|&at| self.is(at, ";"));
        signs.min().unwrap_or(self.tokens.len() - 1)
    }

    fn between(&self, first: usize, last: usize) -> Span {
        Span {
            start: self.tokens[first].span.start,
            end: self.tokens[last].span.end,
        }
    }

    /// Returns the symbol around the current word.
    fn owner(&self) -> Option<usize> {
        self.owners.last().map(|(symbol, _)| *symbol)
    }

    fn add(&mut self, at: usize, kind: SymbolKind, words: (usize, usize), visible: Span) -> usize {
        let number = self.found.declared.len();
        self.found.declared.push(Symbol {
            name: self.text(at).to_owned(),
            kind,
            span: self.tokens[at].span,
            extent: self.between(words.0, words.1),
            parent: self.owner(),
            visible,
        });
        self.own.insert(at, number);
        number
    }

    /// Adds a symbol with parts, which extend up to its last word.
    fn open(&mut self, at: usize, kind: SymbolKind, words: (usize, usize)) {
        let everywhere = self.between(0, self.tokens.len() - 1);
        let number = self.add(at, kind, words, everywhere);
        self.owners.push((number, words.1));
    }

    fn declare(&mut self) {
        let mut depth = 0_u32;
        for at in 0..self.tokens.len() {
            while self.owners.last().is_some_and(|(_, last)| *last < at) {
                self.owners.pop();
            }
            match self.tokens[at].kind {
                TokenKind::Keyword(word) if self.is_type_name(at + 1) => self.named(word, at),
                TokenKind::Symbol("{") => {
                    if depth == 0 && self.owners.is_empty() {
                        self.open(at, SymbolKind::Main, (at, self.closes[&at]));
                    }
                    depth += 1;
                }
                TokenKind::Symbol("}") => depth = depth.saturating_sub(1),
                TokenKind::TypeName(_) => self.constructor(at),
                TokenKind::Name(_) => self.typed(at),
                _ => {}
            }
        }
    }

    /// Handles a declaration with a keyword and a capital letter, such as `class C`.
    fn named(&mut self, word: &str, at: usize) {
        match word {
            "module" => {
                let everywhere = self.between(0, self.tokens.len() - 1);
                let last = self.semicolon(at);
                self.add(at + 1, SymbolKind::Module, (at, last), everywhere);
            }
            "interface" => self.open(at + 1, SymbolKind::Interface, (at, self.end(at))),
            "class" => self.open(at + 1, SymbolKind::Class, (at, self.end(at))),
            "data" | "type" | "exception" => {
                self.open(at + 1, SymbolKind::Data, (at, self.semicolon(at)));
            }
            _ => {}
        }
    }

    /// Handles a constructor, which follows `=` or `|` in a data type.
    fn constructor(&mut self, at: usize) {
        let in_data = self.owner().map(|owner| self.found.declared[owner].kind);
        let behind = at > 0 && (self.is(at - 1, "=") || self.is(at - 1, "|"));
        if in_data == Some(SymbolKind::Data) && behind {
            let everywhere = self.between(0, self.tokens.len() - 1);
            self.add(at, SymbolKind::Constructor, (at, at), everywhere);
        }
    }

    /// Handles a name after a type.
    fn typed(&mut self, at: usize) {
        let Some(first) = self.type_before(at) else {
            return;
        };
        let owner = self.owner();
        let kind = owner.map(|owner| self.found.declared[owner].kind);
        let everywhere = self.between(0, self.tokens.len() - 1);
        let is_function = first > 0 && self.keyword(first - 1) == Some("def");
        if is_function {
            self.open(at, SymbolKind::Function, (first - 1, self.semicolon(at)));
        } else if self.is(at + 1, "(")
            && matches!(kind, Some(SymbolKind::Class | SymbolKind::Interface))
        {
            self.open(at, SymbolKind::Method, (first, self.end(at)));
        } else if let Some(owner) = owner {
            let whole = self.found.declared[owner].extent;
            let (kind, visible) = match kind {
                Some(SymbolKind::Data) => (SymbolKind::Field, everywhere),
                _ if self.in_header(owner, at) => (SymbolKind::Parameter, whole),
                Some(SymbolKind::Class) => (SymbolKind::Field, whole),
                _ => (SymbolKind::Local, self.block(at)),
            };
            self.add(at, kind, (first, at), visible);
        }
    }

    /// Whether a word is in the brackets after the name of a symbol, where parameters are.
    fn in_header(&self, symbol: usize, at: usize) -> bool {
        let name = self.found.declared[symbol].span;
        let behind = self
            .tokens
            .partition_point(|token| token.span.start < name.end);
        let open = (behind..at).find(|&at| self.is(at, "(") || self.is(at, "{"));
        open.is_some_and(|open| self.is(open, "(") && at < self.closes[&open])
    }

    /// Returns the range from a word to the end of the innermost brackets around it.
    fn block(&self, at: usize) -> Span {
        let around = self
            .closes
            .iter()
            .filter(|(open, close)| **open < at && at < **close);
        let braces = around.filter(|(open, _)| self.is(**open, "{"));
        let last = braces.map(|(_, close)| *close).min();
        self.between(at, last.unwrap_or(self.tokens.len() - 1))
    }

    fn mention(&mut self) {
        let mut by_name: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (number, symbol) in self.found.declared.iter().enumerate() {
            by_name.entry(symbol.name.clone()).or_default().push(number);
        }
        for at in 0..self.tokens.len() {
            let meant = match self.tokens[at].kind {
                TokenKind::TypeName(_) | TokenKind::Name(_) => match self.own.get(&at) {
                    Some(own) => Some(*own),
                    None => {
                        let named = by_name.get(self.text(at));
                        named.and_then(|named| self.referenced_symbol(at, named))
                    }
                },
                _ => None,
            };
            if let Some(symbol) = meant {
                self.found.mentions.push((self.tokens[at].span, symbol));
            }
        }
    }

    /// Returns the symbol to which the word at a place refers, among the symbols with its name.
    fn referenced_symbol(&self, at: usize, named: &[usize]) -> Option<usize> {
        use SymbolKind::{
            Class, Constructor, Data, Field, Function, Interface, Local, Method, Module, Parameter,
        };
        let of = |kinds: &[SymbolKind]| {
            let place = self.tokens[at].span;
            let seen = named.iter().copied().filter(|&symbol| {
                let visible = self.found.declared[symbol].visible;
                visible.start <= place.start && place.end <= visible.end
            });
            let rank = |symbol: &usize| {
                let declared = &self.found.declared[*symbol];
                let kind = kinds.iter().position(|kind| *kind == declared.kind)?;
                let width = declared.visible.end - declared.visible.start;
                Some((kind, width))
            };
            let ranked = seen.filter_map(|symbol| Some((rank(&symbol)?, symbol)));
            ranked.min().map(|(_, symbol)| symbol)
        };
        let behind = |sign: &str| at > 0 && self.is(at - 1, sign);
        let called = self.is(at + 1, "(");
        if self.is_type_name(at) {
            let made = at > 0 && matches!(self.keyword(at - 1), Some("new" | "local"));
            return if made {
                of(&[Class])
            } else {
                of(&[Interface, Data, Constructor, Class, Module])
            };
        }
        match () {
            () if called && (behind(".") || behind("!")) => of(&[Method]),
            () if behind(".") => of(&[Field]),
            () if called => of(&[Function, Method, Field]),
            // Symbols with a smaller scope come first, then functions, because a function may be
            // passed as a value.
            () => of(&[Local, Parameter, Field, Function]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANK: &str = "module Bank;
data Answer = Yes | No(Int why);
interface Account { Int balance(); Unit add(Int amount); }
class Account(Int start) implements Account {
  Int current = start;
  Int balance() { return current; }
  Unit add(Int amount) { Int old = current; current = old + amount; }
}
def Int twice(Int x) = x + x;
{
  Account a = new Account(twice(2));
  Fut<Unit> f = a!add(5);
  await f?;
}
";

    fn named(source: &str, name: &str) -> Vec<(SymbolKind, usize)> {
        let found = symbols(source);
        let all = found.declared.iter().enumerate();
        let mentions = |symbol| {
            found
                .mentions
                .iter()
                .filter(|(_, one)| *one == symbol)
                .count()
        };
        all.filter(|(_, symbol)| symbol.name == name)
            .map(|(at, symbol)| (symbol.kind, mentions(at)))
            .collect()
    }

    #[test]
    fn declarations_have_their_kinds_and_mentions() {
        use SymbolKind::*;
        // The interface: its declaration, `implements`, the type of `a`. The class: its
        // declaration, `new`.
        assert_eq!(named(BANK, "Account"), [(Interface, 3), (Class, 2)]);
        assert_eq!(named(BANK, "current"), [(Field, 4)]);
        assert_eq!(named(BANK, "start"), [(Parameter, 2)]);
        assert_eq!(named(BANK, "old"), [(Local, 2)]);
        assert_eq!(named(BANK, "f"), [(Local, 2)]);
        assert_eq!(named(BANK, "twice"), [(Function, 2)]);
        assert_eq!(named(BANK, "x"), [(Parameter, 3)]);
        assert_eq!(named(BANK, "No"), [(Constructor, 1)]);
        assert_eq!(named(BANK, "why"), [(Field, 1)]);
        // A call is resolved to the method of the interface.
        assert_eq!(named(BANK, "add"), [(Method, 2), (Method, 1)]);
        assert_eq!(named(BANK, "amount"), [(Parameter, 1), (Parameter, 2)]);
    }

    #[test]
    fn parts_are_within_the_whole_and_no_text_is_too_broken() {
        for end in 0..=BANK.len() {
            let found = symbols(&BANK[..end]);
            for symbol in &found.declared {
                let extent = symbol.extent;
                assert!(extent.start <= symbol.span.start && symbol.span.end <= extent.end);
                assert!(
                    symbol
                        .parent
                        .is_none_or(|parent| parent < found.declared.len())
                );
            }
            assert!(found.mentions.is_sorted_by_key(|(span, _)| span.start));
        }
    }
}
