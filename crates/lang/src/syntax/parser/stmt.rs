//! Parses statements.

use super::super::ast::{Expr, ExprKind, Kept, Name, Spawned, Stmt, StmtKind, Text};
use super::super::token::Kind;
use super::expr::continues_expression;
use super::{MAX_STMT_DEPTH, Parse, ParseStop, Parser};
use crate::check::hir::Leave;
use mazurka_diagnostics::Span;

impl<'s> Parser<'s> {
    /// Parses `{ … }`.
    pub(super) fn block(&mut self, after: &str) -> Parse<Vec<Stmt<'s>>> {
        if !self.at(Kind::LBrace) {
            return Err(self.no_block(after));
        }
        Ok(self.statements_in_brackets())
    }

    /// Parses the statements between the bracket here and its partner. Never gives up: a statement
    /// that cannot be parsed is skipped.
    pub(super) fn statements_in_brackets(&mut self) -> Vec<Stmt<'s>> {
        let end = self.partner_of(self.pos);
        if self.block_depth > MAX_STMT_DEPTH {
            self.too_deep("statements are", MAX_STMT_DEPTH, "statements");
            self.pos = end;
            self.bump();
            return Vec::new();
        }
        self.bump();
        let list = self.statements_up_to(end);
        self.pos = end;
        self.bump();
        list
    }

    /// Parses the statements up to a token.
    pub(super) fn statements_up_to(&mut self, end: usize) -> Vec<Stmt<'s>> {
        self.block_depth += 1;
        let mut list = Vec::new();
        loop {
            while self.eat(Kind::Semi) {}
            if self.pos >= end {
                break;
            }
            let start = self.pos;
            let before = self.diagnostics.len();
            match self.stmt() {
                Ok(stmt) => {
                    let wrong =
                        self.pos < end && !self.at(Kind::Semi) && self.has_wrong_tail(before);
                    list.push(if wrong {
                        self.skip_statement(start, end, ParseStop::Unexpected)
                    } else {
                        stmt
                    });
                }
                Err(stop) => {
                    list.push(self.skip_statement(start, end, stop));
                }
            }
        }
        self.block_depth -= 1;
        list
    }

    /// Called after a statement without a `;`. Returns whether the statement cannot end here at
    /// all. If only the `;` is missing, that is reported, and the next statement begins here.
    fn has_wrong_tail(&mut self, before: usize) -> bool {
        if self.token_at(self.pos - 1).kind == Kind::RBrace {
            return false;
        }
        if self.diagnostics.len() > before {
            return true;
        }
        if self.can_open_statement() {
            self.missing_semicolon();
            return false;
        }
        self.wrong_tail();
        true
    }

    fn can_open_statement(&self) -> bool {
        let kind = self.kind();
        kind.opens_statement()
            || kind.opens_item()
            || matches!(kind, Kind::If | Kind::LBrace | Kind::Ident | Kind::LParen)
    }

    /// Skips to the end of a statement that could not be parsed, but parses the blocks in it for
    /// their mistakes.
    fn skip_statement(&mut self, start: usize, end: usize, stop: ParseStop) -> Stmt<'s> {
        let failed = self.pos;
        let mut index = start;
        let mut blocks = Vec::new();
        let mut unread = start;
        while index < end {
            match self.token_at(index).kind {
                Kind::Semi => break,
                Kind::LBrace if index >= failed && stop != ParseStop::TooDeep => {
                    self.taint(unread, index);
                    let partner = self.partner_of(index);
                    self.pos = index;
                    let block_start = self.token().span;
                    let body = self.statements_in_brackets();
                    blocks.push(Stmt {
                        kind: StmtKind::Block(body),
                        span: block_start.to(self.previous()),
                    });
                    index = partner + 1;
                    unread = index;
                    if self.token_at(index).kind != Kind::Else {
                        break;
                    }
                }
                Kind::LBrace | Kind::LParen | Kind::LBracket => {
                    index = self.partner_of(index).max(index) + 1;
                    // A skipped block ends its statement, too.
                    if index >= failed
                        && self.token_at(index - 1).kind == Kind::RBrace
                        && self.token_at(index).kind != Kind::Else
                        && stop == ParseStop::TooDeep
                    {
                        break;
                    }
                }
                _ => index += 1,
            }
        }
        let index = index.min(end).max(start + 1);
        self.taint(unread, index);
        self.pos = index;
        let span = self.token_at(start).span;
        Stmt {
            kind: if blocks.is_empty() {
                StmtKind::Poison
            } else {
                StmtKind::Block(blocks)
            },
            span,
        }
    }

    pub(super) fn stmt(&mut self) -> Parse<Stmt<'s>> {
        self.deeper(Self::guarded)
    }

    /// Parses something one level deeper. Brackets after a guard, a choice or a test are on the
    /// same level as these.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.stmt_depth >= MAX_STMT_DEPTH {
            return Err(self.too_deep("statements are", MAX_STMT_DEPTH, "statements"));
        }
        self.stmt_depth += 1;
        let result = read(self);
        self.stmt_depth -= 1;
        result
    }

    /// Parses a guard with its body, a choice, or a plain statement.
    fn guarded(&mut self) -> Parse<Stmt<'s>> {
        let stmt = if self.at_expression() && !self.at_worded() {
            let test = self.expr()?;
            if matches!(self.kind(), Kind::Guard | Kind::GuardLoop) {
                return self.after_guard(test);
            }
            self.after_expression(test)?
        } else {
            self.plain()?
        };
        self.choice(stmt)
    }

    fn after_guard(&mut self, test: Expr<'s>) -> Parse<Stmt<'s>> {
        let start = test.span;
        let sign = self.bump().kind;
        if !self.can_open_statement() && !self.at_expression() {
            let sign = sign.describe();
            let help = format!("write what is guarded after {sign}, or `await e` to wait only");
            return Err(self.unexpected_with("a statement", Some(help)));
        }
        let body = Box::new(match self.kind() {
            // The statements in the block are one level deeper than the guard, as in an `if`.
            Kind::LBrace | Kind::LParen if !self.at_expression() => self.guarded()?,
            _ => self.stmt()?,
        });
        let span = start.to(body.span);
        let kind = match sign {
            Kind::Guard => StmtKind::Guard(test, body),
            _ => StmtKind::GuardedLoop(test, body),
        };
        Ok(Stmt { kind, span })
    }

    /// Parses the rest of `s <| e |> t`, after `s`.
    fn choice(&mut self, then: Stmt<'s>) -> Parse<Stmt<'s>> {
        if !self.eat(Kind::Choice) {
            return Ok(then);
        }
        let test = self.condition()?;
        self.expect(Kind::Guard, " after the condition of the choice")?;
        let other = self.branch()?;
        let span = then.span.to(other.span);
        let stmt = Stmt {
            kind: StmtKind::Choice {
                test,
                then: Box::new(then),
                other: Box::new(other),
            },
            span,
        };
        if self.at(Kind::Choice) {
            return Err(self.needs_parentheses("a choice inside a choice"));
        }
        Ok(stmt)
    }

    /// Parses the second branch of a choice: a statement without guard or choice.
    fn branch(&mut self) -> Parse<Stmt<'s>> {
        if !self.at_expression() || self.at_worded() {
            return self.plain();
        }
        let first = self.expr()?;
        if matches!(self.kind(), Kind::Guard | Kind::GuardLoop) {
            return Err(self.needs_parentheses("a guard inside a choice"));
        }
        self.after_expression(first)
    }

    /// Whether an expression must be parsed here first.
    pub(super) fn at_expression(&self) -> bool {
        match self.kind() {
            Kind::LParen => {
                let after = self.token_at(self.partner_of(self.pos) + 1).kind;
                continues_expression(after)
                    || matches!(after, Kind::Guard | Kind::GuardLoop | Kind::Assign)
            }
            Kind::If => false,
            kind => kind.opens_expression(),
        }
    }

    /// Parses the rest of an assignment or a call, after its first expression.
    pub(super) fn after_expression(&mut self, first: Expr<'s>) -> Parse<Stmt<'s>> {
        let start = first.span;
        match self.kind() {
            Kind::Assign | Kind::Equals => self.assignment(vec![first]),
            Kind::Comma => {
                let mut left = vec![first];
                while self.eat(Kind::Comma) {
                    left.push(self.expr()?);
                }
                if !matches!(self.kind(), Kind::Assign | Kind::Equals) {
                    return Err(self.unexpected("`:=`"));
                }
                self.assignment(left)
            }
            Kind::Not | Kind::Question if is_path(&first) && !self.on_new_line() => {
                let sends = self.bump().kind == Kind::Not;
                let other = self.expr()?;
                let span = start.to(other.span);
                let kind = if sends {
                    StmtKind::Send(first, other)
                } else {
                    StmtKind::Receive(first, other)
                };
                Ok(Stmt { kind, span })
            }
            _ => match first.kind {
                ExprKind::Call(name, args) if self.ends_statement() => Ok(Stmt {
                    kind: StmtKind::Call(name, args),
                    span: start,
                }),
                ExprKind::Operation { .. } if self.ends_statement() => Ok(Stmt {
                    kind: StmtKind::Operation(first),
                    span: start,
                }),
                _ => Err(self.no_statement(first)),
            },
        }
    }

    /// Whether the token here may follow a complete statement.
    pub(super) fn ends_statement(&self) -> bool {
        matches!(
            self.kind(),
            Kind::Semi | Kind::RBrace | Kind::RParen | Kind::Choice | Kind::Eof
        ) || self.kind().opens_statement()
            || self.at_alternative()
            || self.on_new_line()
    }

    /// Whether a line ends between the previous token and the one here.
    pub(super) fn on_new_line(&self) -> bool {
        let between = Span {
            start: self.previous().end,
            end: self.token().span.start,
        };
        self.text(between).contains('\n')
    }

    fn assignment(&mut self, mut left: Vec<Expr<'s>>) -> Parse<Stmt<'s>> {
        let start = left[0].span;
        if self.at(Kind::Equals) {
            self.equals_for_assignment();
        }
        self.bump();
        let mut right = Vec::new();
        loop {
            if self.at(Kind::Spawn) {
                return Err(self.spawn_in_assignment());
            }
            if left.len() == 1
                && right.is_empty()
                && self.at_try()
                && let Some(place) = left.pop()
            {
                let kind = self.tried(Kept::Place(place))?;
                let span = start.to(self.previous());
                return Ok(Stmt { kind, span });
            }
            right.push(self.expr()?);
            if !self.eat(Kind::Comma) {
                break;
            }
        }
        for place in &left {
            if !matches!(
                place.kind,
                ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Path(..) | ExprKind::Poison
            ) {
                return Err(self.not_assignable(place.span));
            }
        }
        let span = start.to(self.previous());
        Ok(Stmt {
            kind: StmtKind::Assign(left, right),
            span,
        })
    }

    /// Parses a statement that begins with a keyword or a bracket.
    pub(super) fn plain(&mut self) -> Parse<Stmt<'s>> {
        let start = self.token().span;
        let kind = match self.kind() {
            Kind::Skip => {
                self.bump();
                StmtKind::Skip
            }
            Kind::End => {
                self.bump();
                StmtKind::End
            }
            Kind::LBrace => StmtKind::Block(self.statements_in_brackets()),
            Kind::LParen => return self.parenthesised_stmt(),
            Kind::Await => {
                self.bump();
                let test = self.condition()?;
                let span = self.previous();
                let skip = Stmt {
                    kind: StmtKind::Skip,
                    span,
                };
                StmtKind::Guard(test, Box::new(skip))
            }
            Kind::If => return self.if_stmt(),
            Kind::While => self.while_stmt()?,
            Kind::For => self.for_stmt()?,
            Kind::Let => self.let_stmt()?,
            Kind::Spawn => StmtKind::Spawn(None, self.spawned()?),
            Kind::Ident if self.at_new() => StmtKind::Spawn(None, self.spawned()?),
            Kind::Ident if self.at_match() => self.match_stmt()?,
            Kind::Ident if self.at_select() => self.select_stmt()?,
            Kind::Ident if self.at_print() => {
                self.bump();
                match self.string() {
                    Some(text) => StmtKind::Print(text),
                    None => StmtKind::Poison,
                }
            }
            Kind::Ident if self.at_label() => {
                let name = self.name("a label")?;
                self.bump();
                StmtKind::Labelled(name, Box::new(self.stmt()?))
            }
            Kind::Ident if self.leave_here().is_some() => self.leave()?,
            Kind::Join => {
                self.bump();
                if self.at(Kind::LParen) && !self.on_new_line() {
                    return Err(self.needless_parentheses("join` or `join h"));
                }
                StmtKind::Join(self.joined()?)
            }
            Kind::Atomic => {
                self.bump();
                StmtKind::Atomic(self.block("`atomic`")?)
            }
            Kind::Lock | Kind::Unlock => {
                let word = self.bump().kind;
                let (name, index) = self.locked(word)?;
                match word {
                    Kind::Lock => StmtKind::Lock(name, index),
                    _ => StmtKind::Unlock(name, index),
                }
            }
            Kind::Assert => {
                self.bump();
                if let Some(call) = self.assert_as_call() {
                    return Ok(call);
                }
                let test = self.condition()?;
                let mut message = None;
                if self.eat(Kind::Comma) {
                    if !self.at(Kind::Str) {
                        return Err(self.unexpected("a string"));
                    }
                    message = self.string();
                }
                StmtKind::Assert(test, message)
            }
            Kind::Assume => {
                self.bump();
                StmtKind::Assume(self.condition()?)
            }
            Kind::Error => {
                self.bump();
                if self.at(Kind::LParen) {
                    return Err(self.needless_parentheses("error \"why\""));
                }
                StmtKind::Error(self.string())
            }
            _ => return Err(self.not_a_statement()),
        };
        let span = start.to(self.previous());
        Ok(Stmt { kind, span })
    }

    pub(super) fn string(&mut self) -> Option<Text<'s>> {
        if !self.at(Kind::Str) {
            return None;
        }
        let span = self.bump().span;
        let quoted = self.text(span);
        Some(Text { quoted, span })
    }

    /// Parses `( s )`, or `( s; t )`, which is a block.
    fn parenthesised_stmt(&mut self) -> Parse<Stmt<'s>> {
        let start = self.token().span;
        let mut body = self.statements_in_brackets();
        let span = start.to(self.previous());
        match body.len() {
            1 => Ok(body.remove(0)),
            _ => Ok(Stmt {
                kind: StmtKind::Block(body),
                span,
            }),
        }
    }

    fn if_stmt(&mut self) -> Parse<Stmt<'s>> {
        let start = self.bump().span;
        let test = self.condition()?;
        let then = self.body("the condition")?;
        let mut other = Vec::new();
        // `if …; else` is parsed too, after the `;` was reported.
        if self.eat(Kind::Else) {
            other = match self.kind() {
                Kind::If => vec![self.deeper(Self::if_stmt)?],
                _ => self.body("`else`")?,
            };
        }
        let span = start.to(self.previous());
        Ok(Stmt {
            kind: StmtKind::If(test, then, other),
            span,
        })
    }

    fn while_stmt(&mut self) -> Parse<StmtKind<'s>> {
        self.bump();
        let bounded = self.at(Kind::LParen)
            && self.token_at(self.partner_of(self.pos) + 1).kind == Kind::LBracket;
        let mut bound = None;
        let test = if bounded {
            self.bump();
            let test = self.condition()?;
            self.expect(Kind::RParen, " after the condition")?;
            self.bump();
            bound = Some(self.expr()?);
            self.expect(Kind::RBracket, " after the bound")?;
            test
        } else {
            self.condition()?
        };
        let mut invariants = Vec::new();
        while self.eat(Kind::Invariant) {
            invariants.push(self.condition()?);
        }
        let body = self.body(if invariants.is_empty() {
            "the condition"
        } else {
            "the invariant"
        })?;
        Ok(StmtKind::While {
            test,
            bound,
            invariants,
            body,
        })
    }

    fn for_stmt(&mut self) -> Parse<StmtKind<'s>> {
        self.bump();
        if self.at(Kind::LParen) {
            return Err(self.for_of_c());
        }
        let name = self.name("the name of the counter")?;
        if !self.at(Kind::In) {
            let help = format!("write `for {} in 0..n {{ … }}`", name.text);
            return Err(self.unexpected_with("`in`", Some(help)));
        }
        self.bump();
        let (from, to) = self.bounds()?;
        let body = self.body("the bounds")?;
        Ok(StmtKind::For {
            name,
            from,
            to,
            body,
        })
    }

    fn let_stmt(&mut self) -> Parse<StmtKind<'s>> {
        self.bump();
        let name = self.name("the name of a local variable")?;
        let mut ty = None;
        if self.eat(Kind::Colon) {
            ty = Some(self.type_expr()?);
        }
        match self.kind() {
            Kind::Equals => {}
            Kind::Assign => self.assign_for_equals(),
            _ => return Err(self.let_without_value(name)),
        }
        self.bump();
        if self.at(Kind::Spawn) {
            let spawned = self.spawned()?;
            if let Some(ty) = ty {
                self.type_of_handle(ty.span);
            }
            return Ok(StmtKind::Spawn(Some(name), spawned));
        }
        if self.at_try() && ty.is_none() {
            return self.tried(Kept::Let(name));
        }
        let init = self.init()?;
        Ok(StmtKind::Let { name, ty, init })
    }

    /// Whether this is `print "…"`, and not a name.
    fn at_print(&self) -> bool {
        self.at_word("print") && self.kind_after(1) == Kind::Str
    }

    /// Whether this is a label, `critical: x := 1`, and not a declaration in the style of
    /// other languages.
    fn at_label(&self) -> bool {
        let [next, after] = [self.kind_after(2), self.kind_after(3)];
        self.at(Kind::Ident)
            && self.kind_after(1) == Kind::Colon
            && self.text(self.token_at(self.pos + 1).span) == ":"
            && next != Kind::TypeName
            && !(next == Kind::Ident && matches!(after, Kind::Equals | Kind::Semi | Kind::RBrace))
    }

    /// Whether this is `try lock(m)`, or the like, and not a name.
    fn at_try(&self) -> bool {
        self.at_word("try") && matches!(self.kind_after(1), Kind::Ident | Kind::Lock)
    }

    /// Parses `try s`; `kept`: where its result is stored.
    fn tried(&mut self, kept: Kept<'s>) -> Parse<StmtKind<'s>> {
        self.bump();
        // A choice around it applies to the whole statement.
        let operation = self.deeper(Self::branch)?;
        Ok(StmtKind::Try(kept, Box::new(operation)))
    }

    /// Whether a name here is the keyword of a statement.
    fn at_worded(&self) -> bool {
        self.at_new()
            || self.at_match()
            || self.at_select()
            || self.at_print()
            || self.at_label()
            || self.leave_here().is_some()
    }

    /// Returns which of `break`, `continue` or `return` this is, unless it is a name: a name alone
    /// is not a statement.
    fn leave_here(&self) -> Option<Leave> {
        let text = match self.kind() {
            Kind::Ident => self.text(self.token().span),
            _ => return None,
        };
        let (_, leave) = Leave::ALL.iter().find(|(word, _)| *word == text)?;
        let next = self.kind_after(1);
        // In an operation a value may follow: `return -1`, `return (x)`.
        let gives = self.in_operation && *leave == Leave::Procedure && next.opens_expression();
        let is_name = !gives
            && (continues_expression(next)
                || matches!(
                    next,
                    Kind::Assign
                        | Kind::Equals
                        | Kind::Comma
                        | Kind::LParen
                        | Kind::Dot
                        | Kind::Guard
                        | Kind::GuardLoop
                )
                || next == Kind::LBracket && !self.separates(self.pos + 1));
        (!is_name).then_some(*leave)
    }

    fn leave(&mut self) -> Parse<StmtKind<'s>> {
        let leave = self.leave_here().unwrap_or(Leave::Loop);
        self.bump();
        let more = self.kind().opens_expression() && !self.on_new_line();
        if more && leave == Leave::Procedure {
            if self.in_operation {
                return Ok(StmtKind::Return(self.expr()?));
            }
            let help = "a procedure gives no value: write a `fn`, or assign a shared variable";
            return Err(self.unexpected_with("the end of the statement", Some(help.to_owned())));
        }
        Ok(StmtKind::Leave(leave))
    }

    /// Whether this is `new(s)`, as the SymPaths paper writes `spawn { s }`, and not a call of a
    /// procedure with that name.
    fn at_new(&self) -> bool {
        self.at(Kind::Ident)
            && self.kind_after(1) == Kind::LParen
            && self.text(self.token().span) == "new"
            && !self.source.contains("proc new(")
    }

    /// Parses `spawn { s }`, `spawn p(…)`, and the papers' notations `spawn(g)` and `new(s)`.
    fn spawned(&mut self) -> Parse<Spawned<'s>> {
        self.bump();
        if self.at(Kind::LBrace) || self.at(Kind::LParen) {
            return Ok(Spawned::Block(self.statements_in_brackets()));
        }
        if !self.at(Kind::Ident) {
            let help = "write `spawn { … }` or `spawn p(…)`".to_owned();
            return Err(self.unexpected_with("a block or a procedure", Some(help)));
        }
        let name = self.name("the name of a procedure")?;
        if !self.at(Kind::LParen) {
            let help = format!("write `spawn {}()`", name.text);
            return Err(self.unexpected_with("`(`", Some(help)));
        }
        let args = self.arguments()?;
        Ok(Spawned::Call(name, args))
    }

    /// Parses the name after `join`, if there is one. If the name begins the next statement, it
    /// does not count: a `;` is missing there.
    fn joined(&mut self) -> Parse<Option<Name<'s>>> {
        if !self.at(Kind::Ident) {
            return Ok(None);
        }
        let next_statement = self.on_new_line()
            && matches!(
                self.kind_after(1),
                Kind::Assign | Kind::Comma | Kind::LBracket | Kind::LParen
            );
        if next_statement {
            return Ok(None);
        }
        Ok(Some(self.name("the name of a process")?))
    }

    fn locked(&mut self, word: Kind) -> Parse<(Name<'s>, Option<Expr<'s>>)> {
        if !self.at(Kind::LParen) {
            return Err(self.lock_without_parentheses(word));
        }
        self.bump();
        let locked = self.name_and_index("the name of a lock")?;
        self.expect(Kind::RParen, " after the lock")?;
        Ok(locked)
    }
}

/// Whether an expression is a name, perhaps with indices and fields.
fn is_path(expr: &Expr<'_>) -> bool {
    let kind = &expr.kind;
    matches!(
        kind,
        ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Path(..)
    )
}
