//! Parses statements. A list of statements continues after a statement that cannot be parsed: the
//! parser skips to the end of this statement, and reports the mistakes in the blocks inside it.

use super::super::ast::{Expr, ExprKind, Name, ResultTarget, Spawned, Stmt, StmtKind, Text};
use super::super::token::TokenKind;
use super::expr::continues_expression;
use super::{MAX_STMT_DEPTH, Parse, ParseStop, Parser};
use crate::check::hir::Leave;
use mazurka_diagnostics::Span;

impl<'s> Parser<'s> {
    /// Parses `{ … }`.
    pub(super) fn block(&mut self, after: &str) -> Parse<Vec<Stmt<'s>>> {
        if !self.at(TokenKind::LBrace) {
            return Err(self.no_block(after));
        }
        Ok(self.statements_in_brackets())
    }

    /// Parses the statements between the current bracket and its partner. A statement that cannot
    /// be parsed is skipped.
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
            while self.eat(TokenKind::Semi) {}
            if self.pos >= end {
                break;
            }
            let start = self.pos;
            let before = self.diagnostics.len();
            match self.stmt() {
                Ok(stmt) => {
                    let wrong =
                        self.pos < end && !self.at(TokenKind::Semi) && self.has_wrong_tail(before);
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

    /// Called after a statement that no `;` follows. Returns whether the text after the statement
    /// is wrong. If only the `;` is missing, reports that and returns false, because the next
    /// statement begins here.
    fn has_wrong_tail(&mut self, before: usize) -> bool {
        if self.token_at(self.pos - 1).kind == TokenKind::RBrace {
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
            || matches!(
                kind,
                TokenKind::If | TokenKind::LBrace | TokenKind::Ident | TokenKind::LParen
            )
    }

    /// Skips to the end of a statement that could not be parsed. The blocks in it are parsed, so
    /// that their mistakes are reported.
    fn skip_statement(&mut self, start: usize, end: usize, stop: ParseStop) -> Stmt<'s> {
        let failed = self.pos;
        let mut index = start;
        let mut blocks = Vec::new();
        let mut unread = start;
        while index < end {
            match self.token_at(index).kind {
                TokenKind::Semi => break,
                TokenKind::LBrace if index >= failed && stop != ParseStop::TooDeep => {
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
                    if self.token_at(index).kind != TokenKind::Else {
                        break;
                    }
                }
                TokenKind::LBrace | TokenKind::LParen | TokenKind::LBracket => {
                    index = self.partner_of(index).max(index) + 1;
                    // A skipped block also ends its statement.
                    if index >= failed
                        && self.token_at(index - 1).kind == TokenKind::RBrace
                        && self.token_at(index).kind != TokenKind::Else
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

    /// Runs `read` one level of nesting deeper. A bracket after a guard, a choice or a test does
    /// not add a level.
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
            if matches!(self.kind(), TokenKind::Guard | TokenKind::GuardLoop) {
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
            let help =
                format!("write the guarded statement after {sign}, or `await e` to wait only");
            return Err(self.unexpected_with("a statement", Some(help)));
        }
        let body = Box::new(match self.kind() {
            // The statements in the block are one level deeper than the guard, as they are in an
            // `if`.
            TokenKind::LBrace | TokenKind::LParen if !self.at_expression() => self.guarded()?,
            _ => self.stmt()?,
        });
        let span = start.to(body.span);
        let kind = match sign {
            TokenKind::Guard => StmtKind::Guard(test, body),
            _ => StmtKind::GuardedLoop(test, body),
        };
        Ok(Stmt { kind, span })
    }

    /// Parses the rest of `s <| e |> t`, after `s`.
    fn choice(&mut self, then: Stmt<'s>) -> Parse<Stmt<'s>> {
        if !self.eat(TokenKind::Choice) {
            return Ok(then);
        }
        let test = self.condition()?;
        self.expect(TokenKind::Guard, " after the condition of the choice")?;
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
        if self.at(TokenKind::Choice) {
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
        if matches!(self.kind(), TokenKind::Guard | TokenKind::GuardLoop) {
            return Err(self.needs_parentheses("a guard inside a choice"));
        }
        self.after_expression(first)
    }

    /// Whether an expression begins here. A parenthesis may also begin a statement.
    pub(super) fn at_expression(&self) -> bool {
        match self.kind() {
            TokenKind::LParen => {
                let after = self.token_at(self.partner_of(self.pos) + 1).kind;
                continues_expression(after)
                    || matches!(
                        after,
                        TokenKind::Guard | TokenKind::GuardLoop | TokenKind::Assign
                    )
            }
            TokenKind::If => false,
            kind => kind.opens_expression(),
        }
    }

    /// Parses the rest of an assignment or a call, after its first expression.
    pub(super) fn after_expression(&mut self, first: Expr<'s>) -> Parse<Stmt<'s>> {
        let start = first.span;
        match self.kind() {
            TokenKind::Assign | TokenKind::Equals => self.assignment(vec![first]),
            TokenKind::Comma => {
                let mut left = vec![first];
                while self.eat(TokenKind::Comma) {
                    left.push(self.expr()?);
                }
                if !matches!(self.kind(), TokenKind::Assign | TokenKind::Equals) {
                    return Err(self.unexpected("`:=`"));
                }
                self.assignment(left)
            }
            TokenKind::Not | TokenKind::Question if is_path(&first) && !self.on_new_line() => {
                let sends = self.bump().kind == TokenKind::Not;
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

    /// Whether the current token may follow a complete statement.
    pub(super) fn ends_statement(&self) -> bool {
        matches!(
            self.kind(),
            TokenKind::Semi
                | TokenKind::RBrace
                | TokenKind::RParen
                | TokenKind::Choice
                | TokenKind::Eof
        ) || self.kind().opens_statement()
            || self.at_alternative()
            || self.on_new_line()
    }

    /// Whether a line ends between the previous token and the current one.
    pub(super) fn on_new_line(&self) -> bool {
        let between = Span {
            start: self.previous().end,
            end: self.token().span.start,
        };
        self.text(between).contains('\n')
    }

    fn assignment(&mut self, mut left: Vec<Expr<'s>>) -> Parse<Stmt<'s>> {
        let start = left[0].span;
        if self.at(TokenKind::Equals) {
            self.equals_for_assignment();
        }
        self.bump();
        let mut right = Vec::new();
        loop {
            if self.at(TokenKind::Spawn) {
                return Err(self.spawn_in_assignment());
            }
            if left.len() == 1
                && right.is_empty()
                && self.at_try()
                && let Some(place) = left.pop()
            {
                let kind = self.tried(ResultTarget::Place(place))?;
                let span = start.to(self.previous());
                return Ok(Stmt { kind, span });
            }
            right.push(self.expr()?);
            if !self.eat(TokenKind::Comma) {
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
            TokenKind::Skip => {
                self.bump();
                StmtKind::Skip
            }
            TokenKind::End => {
                self.bump();
                StmtKind::End
            }
            TokenKind::LBrace => StmtKind::Block(self.statements_in_brackets()),
            TokenKind::LParen => return self.parenthesised_stmt(),
            TokenKind::Await => {
                self.bump();
                let test = self.condition()?;
                let span = self.previous();
                let skip = Stmt {
                    kind: StmtKind::Skip,
                    span,
                };
                StmtKind::Guard(test, Box::new(skip))
            }
            TokenKind::If => return self.if_stmt(),
            TokenKind::While => self.while_stmt()?,
            TokenKind::For => self.for_stmt()?,
            TokenKind::Let => self.let_stmt()?,
            TokenKind::Spawn => StmtKind::Spawn(None, self.spawned()?),
            TokenKind::Ident if self.at_new() => StmtKind::Spawn(None, self.spawned()?),
            TokenKind::Ident if self.at_match() => self.match_stmt()?,
            TokenKind::Ident if self.at_select() => self.select_stmt()?,
            TokenKind::Ident if self.at_print() => {
                self.bump();
                match self.string() {
                    Some(text) => StmtKind::Print(text),
                    None => StmtKind::Poison,
                }
            }
            TokenKind::Ident if self.at_label() => {
                let name = self.name("a label")?;
                self.bump();
                StmtKind::Labelled(name, Box::new(self.stmt()?))
            }
            TokenKind::Ident if self.leave_here().is_some() => self.leave()?,
            TokenKind::Join => {
                self.bump();
                if self.at(TokenKind::LParen) && !self.on_new_line() {
                    return Err(self.needless_parentheses("join` or `join h"));
                }
                StmtKind::Join(self.joined()?)
            }
            TokenKind::Atomic => {
                self.bump();
                StmtKind::Atomic(self.block("`atomic`")?)
            }
            TokenKind::Lock | TokenKind::Unlock => {
                let word = self.bump().kind;
                let (name, index) = self.locked(word)?;
                match word {
                    TokenKind::Lock => StmtKind::Lock(name, index),
                    _ => StmtKind::Unlock(name, index),
                }
            }
            TokenKind::Assert => {
                self.bump();
                if let Some(call) = self.assert_as_call() {
                    return Ok(call);
                }
                let test = self.condition()?;
                let mut message = None;
                if self.eat(TokenKind::Comma) {
                    if !self.at(TokenKind::Str) {
                        return Err(self.unexpected("a string"));
                    }
                    message = self.string();
                }
                StmtKind::Assert(test, message)
            }
            TokenKind::Assume => {
                self.bump();
                StmtKind::Assume(self.condition()?)
            }
            TokenKind::Error => {
                self.bump();
                if self.at(TokenKind::LParen) {
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
        if !self.at(TokenKind::Str) {
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
        // In `if …; else`, the `;` was reported and dropped, so `else` is found here.
        if self.eat(TokenKind::Else) {
            other = match self.kind() {
                TokenKind::If => vec![self.deeper(Self::if_stmt)?],
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
        let bounded = self.at(TokenKind::LParen)
            && self.token_at(self.partner_of(self.pos) + 1).kind == TokenKind::LBracket;
        let mut bound = None;
        let test = if bounded {
            self.bump();
            let test = self.condition()?;
            self.expect(TokenKind::RParen, " after the condition")?;
            self.bump();
            bound = Some(self.expr()?);
            self.expect(TokenKind::RBracket, " after the bound")?;
            test
        } else {
            self.condition()?
        };
        let mut invariants = Vec::new();
        while self.eat(TokenKind::Invariant) {
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
        if self.at(TokenKind::LParen) {
            return Err(self.for_of_c());
        }
        let name = self.name("the name of the counter")?;
        if !self.at(TokenKind::In) {
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
        if self.eat(TokenKind::Colon) {
            ty = Some(self.type_expr()?);
        }
        match self.kind() {
            TokenKind::Equals => {}
            TokenKind::Assign => self.assign_for_equals(),
            _ => return Err(self.let_without_value(name)),
        }
        self.bump();
        if self.at(TokenKind::Spawn) {
            let spawned = self.spawned()?;
            if let Some(ty) = ty {
                self.type_of_handle(ty.span);
            }
            return Ok(StmtKind::Spawn(Some(name), spawned));
        }
        if self.at_try() && ty.is_none() {
            return self.tried(ResultTarget::Let(name));
        }
        let init = self.init()?;
        Ok(StmtKind::Let { name, ty, init })
    }

    /// Whether `print "…"` begins here; `print` is a name elsewhere.
    fn at_print(&self) -> bool {
        self.at_word("print") && self.kind_after(1) == TokenKind::Str
    }

    /// Whether a label begins here, as in `critical: x := 1`, and not a declaration in the style of
    /// other languages.
    fn at_label(&self) -> bool {
        let [next, after] = [self.kind_after(2), self.kind_after(3)];
        self.at(TokenKind::Ident)
            && self.kind_after(1) == TokenKind::Colon
            && self.text(self.token_at(self.pos + 1).span) == ":"
            && next != TokenKind::TypeName
            && !(next == TokenKind::Ident
                && matches!(
                    after,
                    TokenKind::Equals | TokenKind::Semi | TokenKind::RBrace
                ))
    }

    /// Whether `try` begins here, as in `try lock(m)`; `try` is a name elsewhere.
    fn at_try(&self) -> bool {
        self.at_word("try") && matches!(self.kind_after(1), TokenKind::Ident | TokenKind::Lock)
    }

    /// Parses `try s`. `kept` is the destination of its result.
    fn tried(&mut self, kept: ResultTarget<'s>) -> Parse<StmtKind<'s>> {
        self.bump();
        // In `let ok = try s <| e |> t`, the choice is between the whole `let` and `t`.
        let operation = self.deeper(Self::branch)?;
        Ok(StmtKind::Try(kept, Box::new(operation)))
    }

    /// Whether the current token is a name that is used as the keyword of a statement.
    fn at_worded(&self) -> bool {
        self.at_new()
            || self.at_match()
            || self.at_select()
            || self.at_print()
            || self.at_label()
            || self.leave_here().is_some()
    }

    /// Returns the kind of `break`, `continue` or `return` that begins here. The word is a name if
    /// a token after it shows that an expression begins here.
    fn leave_here(&self) -> Option<Leave> {
        let text = match self.kind() {
            TokenKind::Ident => self.text(self.token().span),
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
                    TokenKind::Assign
                        | TokenKind::Equals
                        | TokenKind::Comma
                        | TokenKind::LParen
                        | TokenKind::Dot
                        | TokenKind::Guard
                        | TokenKind::GuardLoop
                )
                || next == TokenKind::LBracket && !self.separates(self.pos + 1));
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

    /// Whether `new(s)` begins here, the notation of the SymPaths paper for `spawn { s }`, and not
    /// a call of a procedure with that name.
    fn at_new(&self) -> bool {
        self.at(TokenKind::Ident)
            && self.kind_after(1) == TokenKind::LParen
            && self.text(self.token().span) == "new"
            && !self.source.contains("proc new(")
    }

    /// Parses `spawn { s }`, `spawn p(…)`, and the papers' notations `spawn(g)` and `new(s)`.
    fn spawned(&mut self) -> Parse<Spawned<'s>> {
        self.bump();
        if self.at(TokenKind::LBrace) || self.at(TokenKind::LParen) {
            return Ok(Spawned::Block(self.statements_in_brackets()));
        }
        if !self.at(TokenKind::Ident) {
            let help = "write `spawn { … }` or `spawn p(…)`".to_owned();
            return Err(self.unexpected_with("a block or a procedure", Some(help)));
        }
        let name = self.name("the name of a procedure")?;
        if !self.at(TokenKind::LParen) {
            let help = format!("write `spawn {}()`", name.text);
            return Err(self.unexpected_with("`(`", Some(help)));
        }
        let args = self.arguments()?;
        Ok(Spawned::Call(name, args))
    }

    /// Parses the name after `join`, if there is one. A name that begins the next statement, after
    /// a missing `;`, is not parsed.
    fn joined(&mut self) -> Parse<Option<Name<'s>>> {
        if !self.at(TokenKind::Ident) {
            return Ok(None);
        }
        let next_statement = self.on_new_line()
            && matches!(
                self.kind_after(1),
                TokenKind::Assign | TokenKind::Comma | TokenKind::LBracket | TokenKind::LParen
            );
        if next_statement {
            return Ok(None);
        }
        Ok(Some(self.name("the name of a process")?))
    }

    fn locked(&mut self, word: TokenKind) -> Parse<(Name<'s>, Option<Expr<'s>>)> {
        if !self.at(TokenKind::LParen) {
            return Err(self.lock_without_parentheses(word));
        }
        self.bump();
        let locked = self.name_and_index("the name of a lock")?;
        self.expect(TokenKind::RParen, " after the lock")?;
        Ok(locked)
    }
}

/// Whether an expression is a name, possibly with indices and fields.
fn is_path(expr: &Expr<'_>) -> bool {
    let kind = &expr.kind;
    matches!(
        kind,
        ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Path(..)
    )
}
