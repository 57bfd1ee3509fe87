//! Parses the items of a file: declarations, properties, procedures and processes. Some keywords of
//! items, such as `ghost`, are names in other places, so they are recognised by the tokens after
//! them.

use std::rc::Rc;

use super::super::ast::{
    Base, Expr, ExprKind, File, Init, Item, Name, Object, ObjectKind, Param, PropertyKind, Range,
    TemporalKind, TypeExpr,
};
use super::super::lexer::unescape;
use super::super::token::{TokenKind, word};
use super::{Parse, Parser};
use crate::check::hir::{Atomicity, Type};
use mazurka_core::{Kind as Violation, Kinds};
use mazurka_diagnostics::Span;

/// The default limit on the number of waiting messages in a channel without a capacity.
const DEFAULT_LIMIT: u64 = 16;

impl<'s> Parser<'s> {
    pub(super) fn file(&mut self) -> File<'s> {
        let mut file = File::default();
        loop {
            while self.eat(TokenKind::Semi) {}
            if self.at(TokenKind::Eof) {
                return file;
            }
            let start = self.pos;
            let before = self.diagnostics.len();
            let first = (self.token().span, file.items.len());
            self.depth_reported = false;
            let result = self.item(&mut file.items);
            file.extents.push((first.0.to(self.previous()), first.1));
            if result.is_err() {
                self.skip_item(start);
            } else if !self.at_item() && !self.at(TokenKind::Semi) {
                // A wrong token on a new line is a separate mistake.
                if self.diagnostics.len() == before || self.on_new_line() {
                    self.wrong_item_tail();
                }
                self.skip_item(start);
            }
        }
    }

    fn at_item(&self) -> bool {
        let kind = self.kind();
        kind.opens_item()
            || kind == TokenKind::Eof
            || (kind == TokenKind::Lock && self.kind_after(1) != TokenKind::LParen)
            || self.word_of_item().is_some()
            || self.object_here().is_some()
            || self.at_include()
            || self.at_cover()
            || self.at_ghost()
            || self.at_refines()
            || self.at_operation()
            || self.at_spec()
    }

    /// Whether `refines "other.maz"` begins here; `refines` is a name elsewhere.
    fn at_refines(&self) -> bool {
        self.at_word("refines") && self.kind_after(1) == TokenKind::Str
    }

    /// Whether `include "file.maz"` begins here; `include` is a name elsewhere.
    fn at_include(&self) -> bool {
        self.at_word("include") && self.kind_after(1) == TokenKind::Str
    }

    /// Whether `ghost var x: T` begins here; `ghost` is a name elsewhere.
    fn at_ghost(&self) -> bool {
        self.at_word("ghost") && self.kind_after(1) == TokenKind::Var
    }

    /// Whether `cover e` begins here. `cover` is a name elsewhere, but a name followed by an
    /// expression begins no other declaration.
    fn at_cover(&self) -> bool {
        self.at_word("cover") && self.kind_after(1).opens_expression()
    }

    /// Returns the keyword of a declaration that begins here, if the keyword is a name elsewhere.
    fn word_of_item(&self) -> Option<&'static str> {
        let words = [
            ("enum", TokenKind::LBrace),
            ("struct", TokenKind::LBrace),
            ("fn", TokenKind::LParen),
        ];
        let declares = |word: &str, open: TokenKind| {
            self.at_word(word)
                && self.kind_after(1) == TokenKind::Ident
                && self.kind_after(2) == open
        };
        let found = words.iter().find(|(word, open)| declares(word, *open));
        found.map(|(word, _)| *word)
    }

    /// Returns the kind of object that is declared here, and how many words its keyword has. These
    /// words are names elsewhere, but no other declaration begins with two names.
    fn object_here(&self) -> Option<(ObjectKind, usize)> {
        let kind = |at: usize| {
            let token = self.token_at(self.pos + at);
            let text = self.text(token.span);
            let found = ObjectKind::ALL.iter().find(|(word, _)| *word == text);
            found.filter(|_| {
                token.kind == TokenKind::Ident && self.kind_after(at + 1) == TokenKind::Ident
            })
        };
        if self.at_word("spurious") && matches!(kind(1), Some((_, ObjectKind::Cond))) {
            return Some((ObjectKind::SpuriousCond, 2));
        }
        kind(0).map(|(_, kind)| (*kind, 1))
    }

    /// Returns the place of a keyword that is used as the name of an object, such as `in` in `chan
    /// in[2]`.
    pub(super) fn word_for_object(&self) -> Option<Span> {
        let text = self.text(self.token().span);
        let next = self.token_at(self.pos + 1).span;
        let opens = ObjectKind::ALL.iter().any(|(word, _)| *word == text);
        (opens && word(self.text(next)) != TokenKind::Ident).then_some(next)
    }

    /// Parses `semaphore s[3] = 1, t = 2`, `cond c, d`, `chan c[..]: int`.
    fn objects(&mut self, items: &mut Vec<Item<'s>>) -> Parse<()> {
        let Some((kind, words)) = self.object_here() else {
            return Err(self.not_an_item());
        };
        for _ in 0..words {
            self.bump();
        }
        loop {
            let name = self.name("the name of the object")?;
            let mut dims = Vec::new();
            let mut unbounded = None;
            while unbounded.is_none() && self.eat(TokenKind::LBracket) {
                if kind == ObjectKind::Channel && self.at(TokenKind::DotDot) {
                    unbounded = Some(self.bump().span);
                }
                dims.push(match unbounded {
                    Some(span) if self.at(TokenKind::RBracket) => Expr {
                        kind: ExprKind::Int(DEFAULT_LIMIT),
                        span,
                        depth: 0,
                    },
                    _ => self.expr()?,
                });
                self.expect(TokenKind::RBracket, " after the size")?;
            }
            let counts = matches!(kind, ObjectKind::Semaphore | ObjectKind::Barrier);
            let mut value = None;
            if self.at(TokenKind::Equals) != counts {
                let (expected, help) = match kind {
                    ObjectKind::Semaphore => {
                        ("`=` and the number of permits", "write `semaphore s = 2`")
                    }
                    ObjectKind::Barrier => {
                        ("`=` and the number of processes", "write `barrier b = 3`")
                    }
                    ObjectKind::Channel => {
                        ("`:` and the type of the messages", "write `chan c[4]: int`")
                    }
                    _ => (
                        "the end of the declaration",
                        "it has no value: no process holds it or waits at first",
                    ),
                };
                return Err(self.unexpected_with(expected, Some(help.to_owned())));
            }
            if self.eat(TokenKind::Equals) {
                value = Some(self.expr()?);
            }
            let mut ty = None;
            if kind == ObjectKind::Channel {
                if !self.at(TokenKind::Colon) {
                    let help = "write `chan c[4]: int`".to_owned();
                    return Err(
                        self.unexpected_with("`:` and the type of the messages", Some(help))
                    );
                }
                self.bump();
                ty = Some(self.type_expr()?);
            }
            items.push(Item::Object(Object {
                ty,
                kind,
                name,
                dims,
                unbounded,
                value,
            }));
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    /// Parses `enum`, `struct` or `fn`.
    fn worded_item(&mut self) -> Parse<Item<'s>> {
        let word = self.word_of_item().unwrap_or_default();
        self.bump();
        if word == "fn" {
            return self.function();
        }
        let name = self.name("the name of a type")?;
        self.bump();
        let item = if word == "enum" {
            let mut members = Vec::new();
            while !self.at(TokenKind::RBrace) {
                members.push(self.name("the name of a member")?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            Item::Enum { name, members }
        } else {
            let fields = self.fields(TokenKind::RBrace, "the name of a field")?;
            Item::Struct { name, fields }
        };
        self.expect(TokenKind::RBrace, " or `,` in the declaration of a type")?;
        Ok(item)
    }

    /// Skips to the next declaration.
    fn skip_item(&mut self, start: usize) {
        let failed = self.pos;
        self.pos = start + 1;
        while self.pos < failed || !self.at_item() {
            let next = self.partner_of(self.pos).max(self.pos) + 1;
            // A skipped block is parsed, so that its mistakes are reported.
            if self.at(TokenKind::LBrace) && self.pos >= failed {
                let _ = self.block("");
            } else {
                self.pos = next;
            }
        }
        self.taint(start, self.pos);
    }

    pub(super) fn item(&mut self, items: &mut Vec<Item<'s>>) -> Parse<()> {
        let start = self.token().span;
        match self.kind() {
            TokenKind::Var => {
                self.bump();
                items.push(self.var()?);
            }
            TokenKind::Ident if self.at_include() => {
                self.bump();
                self.bump();
                self.included(start.to(self.previous()));
            }
            TokenKind::Lock if self.kind_after(1) != TokenKind::LParen => {
                self.bump();
                loop {
                    let (name, len) = self.name_and_index("the name of a lock")?;
                    items.push(Item::Lock { name, len });
                    if !self.eat(TokenKind::Comma) {
                        break;
                    }
                }
                if self.at(TokenKind::Equals) || self.at(TokenKind::Colon) {
                    let help = "a lock has no type and no value: it is free at first".to_owned();
                    return Err(self.unexpected_with("the end of the declaration", Some(help)));
                }
            }
            TokenKind::Const => {
                self.bump();
                items.push(self.constant()?);
            }
            // In the SymPaths paper, `proc` declares a process.
            TokenKind::Proc if self.kind_after(1) == TokenKind::LBrace => {
                self.bump();
                items.push(self.process()?);
            }
            TokenKind::Proc => {
                self.bump();
                let name = self.name("the name of a procedure")?;
                let params = self.params(name)?;
                if self.at(TokenKind::Colon) || self.at(TokenKind::Guard) {
                    let help = "a procedure gives no value: let it assign a shared variable";
                    return Err(self.unexpected_with("`{`", Some(help.to_owned())));
                }
                let body = self.block("the parameters")?;
                items.push(Item::Proc { name, params, body });
            }
            TokenKind::Requires | TokenKind::Invariant | TokenKind::Ensures | TokenKind::Ident
                if !self.at(TokenKind::Ident) || self.at_cover() =>
            {
                let kind = match self.bump().kind {
                    TokenKind::Requires => PropertyKind::Requires,
                    TokenKind::Invariant => PropertyKind::Invariant,
                    TokenKind::Ensures => PropertyKind::Ensures,
                    _ => PropertyKind::Cover,
                };
                let mut name = None;
                if self.kind_after(1) == TokenKind::Colon {
                    name = Some(self.name("the name of a property")?);
                    self.bump();
                }
                let expr = self.condition()?;
                let span = start.to(self.previous());
                items.push(Item::Property {
                    kind,
                    name,
                    expr,
                    span,
                });
            }
            kind if kind.opens_temporal() => items.push(self.temporal()?),
            TokenKind::Prove => {
                self.bump();
                let mut name = None;
                if self.kind_after(1) == TokenKind::Colon {
                    name = Some(self.name("the name of a goal")?);
                    self.bump();
                }
                let Some(goal) = self.string() else {
                    let help = "a goal is written in quotes, as in `prove \"[*] x == 2\"`";
                    return Err(self.unexpected_with("a string", Some(help.to_owned())));
                };
                let span = start.to(self.previous());
                let goal = unescape(goal.quoted);
                items.push(Item::Prove { name, goal, span });
            }
            TokenKind::Observe => {
                self.bump();
                let names = self.names("the name of a shared variable")?;
                items.push(Item::Observe(names));
            }
            TokenKind::Allows => {
                self.bump();
                let allowed = self.kinds_of_violations()?;
                items.push(Item::Allows(allowed, start.to(self.previous())));
            }
            TokenKind::Expects => {
                self.bump();
                if self.text(self.token().span) != "deterministic" {
                    return Err(self.unexpected("`deterministic`"));
                }
                self.bump();
                items.push(Item::ExpectsDeterminism(start.to(self.previous())));
            }
            TokenKind::Atomicity => {
                self.bump();
                let token = self.token();
                let atomicity = match self.text(token.span) {
                    "statement" => Atomicity::Statement,
                    "access" => Atomicity::Access,
                    _ => return Err(self.unexpected("`statement` or `access`")),
                };
                self.bump();
                items.push(Item::Atomicity(atomicity, start.to(token.span)));
            }
            TokenKind::Process => {
                self.bump();
                items.push(self.process()?);
            }
            TokenKind::Ident if self.at_refines() => items.push(self.refines()?),
            TokenKind::Ident if self.at_operation() => self.operation_item(items)?,
            TokenKind::Ident if self.at_spec() => items.push(self.spec()?),
            TokenKind::Ident if self.at_ghost() => {
                self.bump();
                self.bump();
                let declared = self.var()?;
                if let Item::Var { names, .. } = &declared {
                    let names = names.clone();
                    items.extend([declared, Item::Ghosts(names)]);
                }
            }
            TokenKind::Ident if self.at_maplet() => self.state_and_program(items)?,
            TokenKind::Ident if self.word_of_item().is_some() => items.push(self.worded_item()?),
            TokenKind::Ident if self.object_here().is_some() => self.objects(items)?,
            _ => return Err(self.not_an_item()),
        }
        Ok(())
    }

    /// Whether this is `x ↦ v`.
    fn at_maplet(&self) -> bool {
        self.at(TokenKind::Ident) && self.is_maplet_sign(self.pos + 1)
    }

    fn is_maplet_sign(&self, at: usize) -> bool {
        let token = self.token_at(at);
        token.kind == TokenKind::Equals && self.text(token.span) == "↦"
    }

    /// Parses a program in the notation of the guarded-command paper: a state σ, then the statement
    /// g of the initial process, as in `x ↦ 0, y ↦ 1, x := 1; y := 2`, or several parallel
    /// processes, as in `x ↦ 1, { x := x + 1 ∥ x := 3 }`.
    fn state_and_program(&mut self, items: &mut Vec<Item<'s>>) -> Parse<()> {
        while self.at_maplet() {
            let names = vec![self.name("the name of a variable")?];
            let (ty, init) = self.maplet_value()?;
            items.push(Item::Var { names, ty, init });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        while self.eat(TokenKind::Semi) {}
        let parallel = self.at(TokenKind::LBrace) && {
            let end = self.partner_of(self.pos);
            self.next_at_this_depth(self.pos + 1, end, |kind| kind == TokenKind::Parallel) < end
        };
        let mut process = |body| {
            items.push(Item::Process {
                name: None,
                range: None,
                body,
            });
        };
        if parallel {
            let end = self.partner_of(self.pos);
            self.bump();
            while self.pos < end {
                let next =
                    self.next_at_this_depth(self.pos, end, |kind| kind == TokenKind::Parallel);
                process(self.statements_up_to(next));
                self.pos = next + 1;
            }
            self.pos = end + 1;
        } else if !self.at_item() || self.at_cover() && self.kind_after(1) != TokenKind::Ident {
            let eof = self.tokens.len() - 1;
            let next = self.next_at_this_depth(self.pos, eof, TokenKind::opens_item);
            process(self.statements_up_to(next));
            self.pos = next;
        }
        Ok(())
    }

    /// Returns the index of the next token of the wanted kind that is not in a nested bracket.
    fn next_at_this_depth(
        &self,
        start: usize,
        end: usize,
        wanted: impl Fn(TokenKind) -> bool,
    ) -> usize {
        let mut at = start;
        while at < end && !wanted(self.token_at(at).kind) {
            at = self.partner_of(at).max(at) + 1;
        }
        at.min(end)
    }

    /// Parses `↦ v`. The value determines the type.
    fn maplet_value(&mut self) -> Parse<(TypeExpr<'s>, Option<Init<'s>>)> {
        let span = self.bump().span;
        let base = match self.kind() {
            TokenKind::True | TokenKind::False => Type::Bool,
            _ => Type::Int,
        };
        let ty = TypeExpr {
            atomic: None,
            base: Base::Plain(base),
            dims: Vec::new(),
            span,
        };
        Ok((ty, Some(self.init()?)))
    }

    /// Parses `eventually done: x == 1`, `whenever e leads_to f`.
    fn temporal(&mut self) -> Parse<Item<'s>> {
        let start = self.token().span;
        let kind = match self.bump().kind {
            TokenKind::Always => TemporalKind::Always,
            TokenKind::Eventually => TemporalKind::Eventually,
            TokenKind::InfinitelyOften => TemporalKind::InfinitelyOften,
            _ => TemporalKind::LeadsTo,
        };
        let mut name = None;
        if self.kind_after(1) == TokenKind::Colon {
            name = Some(self.name("the name of a property")?);
            self.bump();
        }
        let mut conditions = vec![self.condition()?];
        if kind == TemporalKind::LeadsTo {
            if !self.at(TokenKind::LeadsTo) {
                let help = "write `whenever e leads_to f`".to_owned();
                return Err(self.unexpected_with("`leads_to`", Some(help)));
            }
            self.bump();
            conditions.push(self.condition()?);
        } else if self.at(TokenKind::LeadsTo) {
            let help = "write `whenever e leads_to f`".to_owned();
            return Err(self.unexpected_with("the end of the property", Some(help)));
        }
        Ok(Item::Temporal {
            kind,
            name,
            conditions,
            span: start.to(self.previous()),
        })
    }

    /// Parses `failure, deadlock`.
    fn kinds_of_violations(&mut self) -> Parse<Kinds> {
        let mut kinds = Kinds::NONE;
        loop {
            let word = self.text(self.token().span);
            let Some(kind) = Violation::ALL.iter().find(|kind| kind.name() == word) else {
                return Err(self.unexpected(
                    "`failure`, `property`, `deadlock`, `livelock` or `nondeterminism`",
                ));
            };
            self.bump();
            kinds = kinds.with(*kind);
            if !self.eat(TokenKind::Comma) {
                return Ok(kinds);
            }
        }
    }

    fn names(&mut self, what: &str) -> Parse<Vec<Name<'s>>> {
        let mut names = vec![self.name(what)?];
        while self.eat(TokenKind::Comma) {
            names.push(self.name(what)?);
        }
        Ok(names)
    }

    fn var(&mut self) -> Parse<Item<'s>> {
        if self.at(TokenKind::TypeName) {
            return Err(self.type_before_name("var "));
        }
        let names = self.names("the name of a variable")?;
        if self.at(TokenKind::TypeName) {
            self.missing_colon(names[0]);
        } else if self.is_maplet_sign(self.pos) {
            let (ty, init) = self.maplet_value()?;
            return Ok(Item::Var { names, ty, init });
        } else if !self.at(TokenKind::Colon) {
            let ty = self.missing_type(names[0])?;
            let init = self.value_of_untyped();
            return Ok(Item::Var { names, ty, init });
        }
        self.eat(TokenKind::Colon);
        let ty = self.type_expr()?;
        let init = match self.kind() {
            TokenKind::Equals | TokenKind::Assign => {
                if self.at(TokenKind::Assign) {
                    self.assign_for_equals();
                }
                self.bump();
                Some(self.init()?)
            }
            kind if (kind.opens_expression() || kind == TokenKind::LBracket)
                && !self.on_new_line() =>
            {
                let help = "an initial value follows `=`, as in `var x: int = 0`".to_owned();
                return Err(self.unexpected_with("`=`", Some(help)));
            }
            _ => None,
        };
        Ok(Item::Var { names, ty, init })
    }

    /// Parses the value of a variable whose type is missing, so that mistakes in the value are
    /// reported too.
    fn value_of_untyped(&mut self) -> Option<Init<'s>> {
        if !matches!(self.kind(), TokenKind::Equals | TokenKind::Assign) {
            return None;
        }
        self.bump();
        self.init().ok()
    }

    fn constant(&mut self) -> Parse<Item<'s>> {
        let name = self.name("the name of a constant")?;
        match self.kind() {
            TokenKind::Equals => {}
            TokenKind::Assign => self.assign_for_equals(),
            TokenKind::Colon => return Err(self.constant_with_type(name)),
            _ => return Err(self.unexpected("`=`")),
        }
        self.bump();
        let value = self.init()?;
        Ok(Item::Const { name, value })
    }

    /// Parses `(a: int, b, c: bool)`.
    pub(super) fn params(&mut self, proc: Name<'s>) -> Parse<Vec<Param<'s>>> {
        if !self.at(TokenKind::LParen) {
            let help = format!("write `proc {}() {{ … }}`", proc.text);
            return Err(self.unexpected_with("`(`", Some(help)));
        }
        self.bump();
        let params = self.fields(TokenKind::RParen, "the name of a parameter")?;
        self.expect(TokenKind::RParen, " or `,` after the parameter")?;
        Ok(params)
    }

    /// Parses `a: int, b, c: bool`, up to a closing bracket.
    fn fields(&mut self, close: TokenKind, what: &str) -> Parse<Vec<Param<'s>>> {
        let mut fields: Vec<Param<'s>> = Vec::new();
        while !self.at(close) {
            if self.at(TokenKind::TypeName) {
                return Err(self.type_before_name(""));
            }
            let names = self.names(what)?;
            if self.at(TokenKind::TypeName) {
                self.missing_colon(names[0]);
            } else if !self.at(TokenKind::Colon) {
                for &name in &names {
                    let ty = self.untyped_param(name);
                    fields.push((name, Rc::new(ty)));
                }
                break;
            }
            self.eat(TokenKind::Colon);
            let ty = Rc::new(self.type_expr()?);
            fields.extend(names.into_iter().map(|name| (name, Rc::clone(&ty))));
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        Ok(fields)
    }

    fn process(&mut self) -> Parse<Item<'s>> {
        let mut name = None;
        if !matches!(self.kind(), TokenKind::LBrace | TokenKind::LParen) {
            name = Some(self.name("the name of the process or `{`")?);
        }
        let mut range = None;
        if self.eat(TokenKind::LParen) {
            if self.at(TokenKind::RParen) {
                // `process p() { … }` and `process p { … }` have the same meaning.
            } else {
                let name = self.name("the name of the parameter")?;
                if !self.at(TokenKind::In) {
                    let help = format!("write `({} in 0..n)`", name.text);
                    return Err(self.unexpected_with("`in`", Some(help)));
                }
                self.bump();
                let (from, to) = self.bounds()?;
                range = Some(Range { name, from, to });
            }
            self.expect(TokenKind::RParen, " after the range")?;
        }
        let after = if range.is_some() {
            "the range"
        } else if name.is_some() {
            "the name"
        } else {
            "`process`"
        };
        let body = self.block(after)?;
        Ok(Item::Process { name, range, body })
    }
}
