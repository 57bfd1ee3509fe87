//! A recursive descent parser, with precedence climbing for expressions. After a mistake has been
//! reported, parsing continues after the next `;` or bracket, so that several mistakes can be
//! reported at once.

mod excluded;
pub(crate) use excluded::{Excluded, excluded_module, excluded_name};
mod expr;
mod features;
mod items;
mod stmt;
mod variability;

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::ast::{Module, Name, Type};
use super::lexer::words;
use super::token::{CONTEXTUAL, Token, TokenKind};
use super::variability::Variability;

/// Limit on how deeply expressions, types and statements are nested.
const MAX_NESTING: usize = 200;

/// A mistake that has been reported; the caller finds a place to continue.
pub(crate) struct Reported;

/// What a parsing function returns.
pub(crate) type Parsed<T> = Result<T, Reported>;

/// The parser: the words of the text, the position in them, and the results so far.
pub(crate) struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    nesting: usize,
    ignore_time: bool,
    /// Whether deltas and product lines are in curly brackets, as in older versions of ABS. They
    /// then belong to a module.
    old_deltas: bool,
    mistakes: Vec<Diagnostic>,
    variability: Variability,
}

/// The parts of a model.
pub(crate) struct Model {
    pub modules: Vec<Module>,
    pub variability: Variability,
}

/// Parses a file. With `ignore_time`, durations take no time: `await duration(…)` only releases the
/// cog.
pub(crate) fn parse(source: &str, ignore_time: bool) -> (Model, Vec<Diagnostic>) {
    let (tokens, mistakes) = words(source, 0, source.len());
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        nesting: 0,
        ignore_time,
        old_deltas: false,
        mistakes,
        variability: Variability::default(),
    };
    let modules = parser.modules();
    let model = Model {
        modules,
        variability: parser.variability,
    };
    (model, parser.mistakes)
}

/// Parses one expression, as given by `--set`.
pub(crate) fn parse_value(source: &str) -> Option<super::ast::Expr> {
    let (tokens, mistakes) = words(source, 0, source.len());
    let mut parser = Parser {
        source,
        tokens,
        at: 0,
        nesting: 0,
        ignore_time: false,
        old_deltas: false,
        mistakes,
        variability: Variability::default(),
    };
    let expr = parser.expr().ok()?;
    (parser.peek() == &TokenKind::End && parser.mistakes.is_empty()).then_some(expr)
}

impl Parser<'_> {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn peek_at(&self, ahead: usize) -> &TokenKind {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + ahead).min(last)].kind
    }

    fn span_here(&self) -> Span {
        self.tokens[self.at].span
    }

    /// Returns the place of the previous word.
    fn span_before(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn next(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn is(&self, word: &str) -> bool {
        self.is_at(0, word)
    }

    fn is_at(&self, ahead: usize, word: &str) -> bool {
        match self.peek_at(ahead) {
            TokenKind::Keyword(w) | TokenKind::Symbol(w) => *w == word,
            TokenKind::Name(w) => w == word && CONTEXTUAL.contains(&word),
            _ => false,
        }
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.is(word);
        if found {
            self.next();
        }
        found
    }

    fn mistake(&mut self, mistake: Diagnostic) -> Reported {
        self.mistakes.push(mistake);
        Reported
    }

    /// Reports that something else was expected here.
    fn expected(&mut self, what: &str) -> Reported {
        let found = self.peek().describe();
        let mistake = Diagnostic::new(
            "A0110",
            self.span_here(),
            format!("{found} is not allowed here"),
        )
        .label(format!("expected {what}"));
        self.mistake(mistake)
    }

    fn expect(&mut self, word: &str) -> Parsed<Span> {
        if self.is(word) {
            let span = self.span_here();
            self.next();
            return Ok(span);
        }
        let found = self.peek().describe();
        // A missing `;`, bracket or comma is reported right after the previous word.
        let missing = matches!(word, ";" | ")" | "]" | ",");
        let at = if missing {
            Span {
                start: self.span_before().end,
                end: self.span_before().end,
            }
        } else {
            self.span_here()
        };
        let mut mistake =
            Diagnostic::new("A0110", at, format!("`{word}` is missing before {found}"))
                .label(format!("expected `{word}`"));
        if word == ";" {
            mistake = mistake.help("statements and declarations end with `;`");
        }
        Err(self.mistake(mistake))
    }

    /// Parses a name that starts with a small letter.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        if let TokenKind::Name(text) = self.peek() {
            let name = Name {
                text: text.clone(),
                span: self.span_here(),
            };
            self.next();
            return Ok(name);
        }
        if let (TokenKind::TypeName(text), true) = (self.peek().clone(), !what.is_empty()) {
            let mistake = Diagnostic::new(
                "A0111",
                self.span_here(),
                format!("`{text}` cannot be {what}"),
            )
            .label("starts with a capital letter")
            .help("names of variables, functions and methods start with a small letter");
            self.next();
            return Err(self.mistake(mistake));
        }
        Err(self.expected(what))
    }

    /// Parses a name that starts with a capital letter, without dots.
    fn type_name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek() {
            TokenKind::TypeName(text) => {
                let name = Name {
                    text: text.clone(),
                    span: self.span_here(),
                };
                self.next();
                Ok(name)
            }
            TokenKind::Name(text) => {
                let mistake = Diagnostic::new("A0111", self.span_here(), format!("`{text}` cannot be {what}"))
                    .label("starts with a small letter")
                    .help("names of types, constructors, interfaces, classes and modules start with a capital letter");
                self.next();
                Err(self.mistake(mistake))
            }
            _ => Err(self.expected(what)),
        }
    }

    /// Parses a name that may be qualified: `A.B.c`. Returns whether its last part starts with a
    /// small letter.
    fn qualified(&mut self, what: &str) -> Parsed<(Name, bool)> {
        let mut name = match self.peek() {
            TokenKind::Name(text) => {
                let name = Name {
                    text: text.clone(),
                    span: self.span_here(),
                };
                self.next();
                return Ok((name, true));
            }
            TokenKind::TypeName(text) => Name {
                text: text.clone(),
                span: self.span_here(),
            },
            _ => return Err(self.expected(what)),
        };
        self.next();
        while self.is(".") {
            let (TokenKind::TypeName(part) | TokenKind::Name(part)) = self.peek_at(1).clone()
            else {
                break;
            };
            let small = matches!(self.peek_at(1), TokenKind::Name(_));
            self.next();
            name.text = format!("{}.{part}", name.text);
            name.span = name.span.to(self.span_here());
            self.next();
            if small {
                return Ok((name, true));
            }
        }
        Ok((name, false))
    }

    /// Parses the name of a type, an interface, a class or a module, with its qualification.
    fn qualified_type(&mut self, what: &str) -> Parsed<Name> {
        match self.qualified(what)? {
            (name, false) => Ok(name),
            (name, true) => {
                let mistake = Diagnostic::new("A0111", name.span, format!("`{}` cannot be {what}", name.text))
                    .label("starts with a small letter")
                    .help("names of types, constructors, interfaces, classes and modules start with a capital letter");
                Err(self.mistake(mistake))
            }
        }
    }

    fn ty(&mut self) -> Parsed<Type> {
        let nonnull = self.annotations()?.has("Nonnull");
        self.nested(|parser| {
            let name = parser.qualified_type("a type")?;
            let mut span = name.span;
            let mut args = Vec::new();
            if parser.accept("<") {
                args = parser.list(Self::ty)?;
                span = span.to(parser.expect(">")?);
            }
            Ok(Type {
                name,
                args,
                span,
                nonnull,
            })
        })
    }

    /// Parses one or more elements, separated by commas.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.accept(",") {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// Parses `( … )`, which may be empty.
    fn in_brackets<T>(&mut self, one: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect("(")?;
        if self.accept(")") {
            return Ok(Vec::new());
        }
        let all = self.list(one)?;
        self.expect(")")?;
        Ok(all)
    }

    /// Guards against nesting that would overflow the stack.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            let mistake = Diagnostic::new("A0112", self.span_here(), "this is nested too deeply")
                .label(format!("more than {MAX_NESTING} levels"))
                .help("give parts of it names: functions, methods, variables");
            let reported = self.mistake(mistake);
            // Skip the rest of the file, because reports about it would make no sense.
            self.at = self.tokens.len() - 1;
            return Err(reported);
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    /// Continues after the end of a statement or declaration: after the next `;`, or after the next
    /// block if it opens earlier.
    fn recover(&mut self) {
        let mut depth = 0usize;
        while self.peek() != &TokenKind::End {
            if self.is("{") {
                depth += 1;
            } else if self.is("}") {
                if depth == 0 {
                    return;
                }
                depth -= 1;
                if depth == 0 {
                    self.next();
                    return;
                }
            } else if self.is(";") && depth == 0 {
                self.next();
                return;
            }
            self.next();
        }
    }
}
