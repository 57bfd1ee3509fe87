//! Parses tokens into the tree.

use super::ast::{Child, Expr, Init, Item, ItemKind, Kind, Op, Place, Program, Stmt, Temporal, Ty};
use super::lex::{Token, lex};
use super::sugar::Declarations;

pub(super) type Parsed<T> = Result<T, String>;

/// Parses a text; the error says what is wrong with it.
pub fn parse(text: &str) -> Result<Program, String> {
    parse_set(text, &[])
}

/// Parses a program in which some constants have other values than in the text.
pub(super) fn parse_set(text: &str, set: &[(String, i128)]) -> Result<Program, String> {
    let mut parser = Parser {
        tokens: lex(text)?,
        at: 0,
        known: Declarations::with(set),
        before: Vec::new(),
    };
    let mut items = Vec::new();
    while parser.peek() != &Token::End {
        items.extend(parser.items()?);
    }
    Ok(Program {
        items,
        atomic: parser.known.atomic,
    })
}

const KEYWORDS: [&str; 46] = [
    "var",
    "lock",
    "const",
    "proc",
    "requires",
    "invariant",
    "ensures",
    "always",
    "eventually",
    "infinitely_often",
    "whenever",
    "leads_to",
    "observe",
    "atomicity",
    "process",
    "in",
    "skip",
    "end",
    "await",
    "if",
    "then",
    "else",
    "while",
    "for",
    "spawn",
    "let",
    "join",
    "atomic",
    "unlock",
    "assert",
    "assume",
    "error",
    "choose",
    "input",
    "true",
    "false",
    "bool",
    "int",
    "at",
    "goal",
    "i8",
    "i16",
    "i32",
    "u8",
    "u16",
    "u32",
];

/// A recursive descent parser. Sugar is replaced while it is parsed (`sugar.rs`), so the tree has
/// none.
pub(super) struct Parser {
    pub(super) tokens: Vec<(Token, u32)>,
    pub(super) at: usize,
    /// The declarations so far of constructs that are replaced while parsing.
    pub(super) known: Declarations,
    /// Statements to insert before the one that is being parsed.
    pub(super) before: Vec<Stmt>,
}

impl Parser {
    /// Parses a declaration, which may be sugar for several.
    fn items(&mut self) -> Parsed<Vec<Item>> {
        let line = self.line();
        if let Some(kinds) = self.sugared_item()? {
            self.has(";");
            return Ok(kinds.into_iter().map(|kind| Item { line, kind }).collect());
        }
        Ok(vec![self.item()?])
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    pub(super) fn line(&self) -> u32 {
        self.tokens[self.at.min(self.tokens.len() - 1)].1
    }

    pub(super) fn wrong<T>(&self, wanted: &str) -> Parsed<T> {
        Err(format!(
            "line {}: {wanted} expected, not {:?}",
            self.line(),
            self.peek()
        ))
    }

    pub(super) fn has(&mut self, sign: &str) -> bool {
        let matches = matches!(self.peek(), Token::Sign(found) if *found == sign);
        self.at += usize::from(matches);
        matches
    }

    pub(super) fn has_word(&mut self, word: &str) -> bool {
        let matches = matches!(self.peek(), Token::Word(found) if found == word);
        self.at += usize::from(matches);
        matches
    }

    pub(super) fn sees(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    pub(super) fn need(&mut self, sign: &str) -> Parsed<()> {
        if self.has(sign) {
            Ok(())
        } else {
            self.wrong(sign)
        }
    }

    pub(super) fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Token::Word(word) if !KEYWORDS.contains(&word.as_str()) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.wrong("a name"),
        }
    }

    pub(super) fn ty(&mut self) -> Parsed<Ty> {
        let found = match self.peek() {
            Token::Word(word) => Ty::named(word),
            _ => None,
        };
        self.at += usize::from(found.is_some());
        found.map_or_else(|| self.wrong("a type"), Ok)
    }

    /// Parses items separated by commas.
    pub(super) fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.has(",") {
            all.push(one(self)?);
        }
        Ok(all)
    }

    fn item(&mut self) -> Parsed<Item> {
        let line = self.line();
        let Token::Word(word) = self.peek().clone() else {
            return self.wrong("a declaration");
        };
        self.at += 1;
        let kind = match word.as_str() {
            "lock" => ItemKind::Lock(self.list(|p| Ok((p.name()?, p.size()?)))?),
            "proc" => self.procedure()?,
            "requires" => self.property(ItemKind::Requires)?,
            "invariant" => self.property(ItemKind::Invariant)?,
            "ensures" => self.property(ItemKind::Ensures)?,
            "cover" => self.property(ItemKind::Cover)?,
            "always" | "eventually" | "infinitely_often" | "whenever" => self.temporal(&word)?,
            "observe" => ItemKind::Observe(self.list(Self::name)?),
            "allows" => ItemKind::Allows(self.list(Self::name)?),
            "expects" if self.has_word("deterministic") => ItemKind::ExpectsDeterminism,
            "atomicity" if self.has_word("access") => ItemKind::Atomicity(true),
            "atomicity" if self.has_word("statement") => ItemKind::Atomicity(false),
            "process" => self.process()?,
            _ => {
                self.at -= 1;
                return self.wrong("a declaration");
            }
        };
        self.has(";");
        Ok(Item { line, kind })
    }

    pub(super) fn size(&mut self) -> Parsed<Option<Expr>> {
        if !self.has("[") {
            return Ok(None);
        }
        let size = self.expr()?;
        self.need("]")?;
        Ok(Some(size))
    }

    fn init(&mut self) -> Parsed<Init> {
        if !self.has("[") {
            return Ok(Init::One(self.expr()?));
        }
        let all = self.list(Self::expr)?;
        self.need("]")?;
        Ok(Init::List(all))
    }

    fn procedure(&mut self) -> Parsed<ItemKind> {
        let name = self.name()?;
        self.need("(")?;
        let mut params = Vec::new();
        if !self.sees(")") {
            params = self.list(|p| {
                let name = p.name()?;
                p.need(":")?;
                Ok((name, p.plain_type()?))
            })?;
        }
        self.need(")")?;
        Ok(ItemKind::Proc(name, params, self.block()?))
    }

    fn property(
        &mut self,
        make: impl FnOnce(Option<String>, Expr) -> ItemKind,
    ) -> Parsed<ItemKind> {
        let start = self.at;
        let label = match self.name() {
            Ok(name) if self.has(":") => Some(name),
            _ => {
                self.at = start;
                None
            }
        };
        Ok(make(label, self.expr()?))
    }

    fn temporal(&mut self, word: &str) -> Parsed<ItemKind> {
        let kinds = Temporal::ALL.into_iter();
        let Some((kind, _)) = kinds.into_iter().find(|(_, first)| *first == word) else {
            return self.wrong("a temporal property");
        };
        let item = self.property(|name, e| ItemKind::Temporal(kind, name, vec![e]))?;
        let ItemKind::Temporal(kind, name, mut conditions) = item else {
            return self.wrong("a temporal property");
        };
        if kind == Temporal::LeadsTo {
            if !self.has_word("leads_to") {
                return self.wrong("`leads_to`");
            }
            conditions.push(self.expr()?);
        }
        Ok(ItemKind::Temporal(kind, name, conditions))
    }

    fn process(&mut self) -> Parsed<ItemKind> {
        let named = matches!(self.peek(), Token::Word(_));
        let name = if named { Some(self.name()?) } else { None };
        let range = if self.has("(") {
            let (name, low, high) = self.range()?;
            self.need(")")?;
            Some((name, low, high))
        } else {
            None
        };
        Ok(ItemKind::Process(name, range, self.block()?))
    }

    /// Parses `i in a..b`.
    fn range(&mut self) -> Parsed<(String, Expr, Expr)> {
        let name = self.name()?;
        if !self.has_word("in") {
            return self.wrong("in");
        }
        let low = self.expr()?;
        self.need("..")?;
        Ok((name, low, self.expr()?))
    }

    pub(super) fn block(&mut self) -> Parsed<Vec<Stmt>> {
        self.need("{")?;
        let body = self.sequence("}")?;
        self.need("}")?;
        Ok(body)
    }

    fn sequence(&mut self, close: &str) -> Parsed<Vec<Stmt>> {
        let mut body = Vec::new();
        while !self.sees(close) {
            if self.has(";") {
                continue;
            }
            let stmt = self.stmt()?;
            body.append(&mut self.before);
            body.push(stmt);
            let closed = matches!(&self.tokens[self.at - 1].0, Token::Sign("}"));
            if !self.sees(";") && !self.sees(close) && !closed {
                return self.wrong(";");
            }
        }
        Ok(body)
    }

    fn stmt(&mut self) -> Parsed<Stmt> {
        // A label has no effect on a run.
        if self.word_after(0).is_some() && self.sign_after(1) == Some(":") {
            self.name()?;
            self.need(":")?;
        }
        let line = self.line();
        if let Some(guard) = self.guard_ahead() {
            let repeated = self.has("|>*");
            if !repeated {
                self.need("|>")?;
            }
            let inner = Box::new(self.stmt()?);
            let kind = if repeated {
                Kind::GuardedLoop(guard, inner)
            } else {
                Kind::Guard(guard, inner)
            };
            return Ok(Stmt { line, kind });
        }
        let first = self.unguarded()?;
        if !self.has("<|") {
            return Ok(first);
        }
        let test = self.expr()?;
        self.need("|>")?;
        let other = self.unguarded()?;
        if self.sees("<|") {
            return self.wrong("parentheses");
        }
        Ok(Stmt {
            line,
            kind: Kind::Choice(Box::new(first), test, Box::new(other)),
        })
    }

    /// Parses an expression if a `|>` or `|>*` follows it.
    fn guard_ahead(&mut self) -> Option<Expr> {
        let start = self.at;
        match self.expr() {
            Ok(expr) if self.sees("|>") || self.sees("|>*") => Some(expr),
            _ => {
                self.at = start;
                None
            }
        }
    }

    pub(super) fn unguarded(&mut self) -> Parsed<Stmt> {
        let line = self.line();
        let kind = match self.sugared_statement()? {
            Some(kind) => kind,
            None => self.kind()?,
        };
        Ok(Stmt { line, kind })
    }

    fn kind(&mut self) -> Parsed<Kind> {
        if self.has("(") {
            let body = self.sequence(")")?;
            self.need(")")?;
            return Ok(Kind::Seq(body));
        }
        if self.sees("{") {
            return Ok(Kind::Seq(self.block()?));
        }
        let Token::Word(word) = self.peek().clone() else {
            return self.wrong("a statement");
        };
        self.at += 1;
        Ok(match word.as_str() {
            "break" if self.ends_here() => Kind::Break,
            "continue" if self.ends_here() => Kind::Continue,
            "return" if self.ends_here() => Kind::Return,
            "skip" => Kind::Skip,
            "end" => Kind::End,
            "await" => Kind::Await(self.expr()?),
            "if" => self.if_rest()?,
            "while" => self.while_rest()?,
            "for" => {
                let (name, low, high) = self.range()?;
                Kind::For(name, low, high, self.block()?)
            }
            "spawn" => Kind::Spawn(None, self.child()?),
            "join" => {
                let named = matches!(self.peek(), Token::Word(_));
                Kind::Join(if named { Some(self.name()?) } else { None })
            }
            "atomic" => Kind::Atomic(self.block()?),
            "lock" => Kind::Lock(self.lock_place()?),
            "unlock" => Kind::Unlock(self.lock_place()?),
            "let" => self.let_rest()?,
            "assert" => {
                let test = self.expr()?;
                let text = if self.has(",") { self.text() } else { None };
                Kind::Assert(test, text)
            }
            "assume" => Kind::Assume(self.expr()?),
            "error" => Kind::Error(self.text()),
            _ => {
                self.at -= 1;
                self.assign_or_call()?
            }
        })
    }

    /// Whether a statement can end here.
    fn ends_here(&self) -> bool {
        self.sees(";") || self.sees("}") || self.sees(")") || self.sees("<|")
    }

    fn text(&mut self) -> Option<String> {
        let Token::Text(text) = self.peek().clone() else {
            return None;
        };
        self.at += 1;
        Some(text)
    }

    fn if_rest(&mut self) -> Parsed<Kind> {
        let test = self.expr()?;
        let yes = self.block()?;
        let mut no = Vec::new();
        if self.has_word("else") {
            let line = self.line();
            if self.has_word("if") {
                no.push(Stmt {
                    line,
                    kind: self.if_rest()?,
                });
            } else {
                no = self.block()?;
            }
        }
        Ok(Kind::If(test, yes, no))
    }

    fn while_rest(&mut self) -> Parsed<Kind> {
        let test = self.expr()?;
        let bound = self.size()?;
        let invariant = if self.has_word("invariant") {
            Some(self.expr()?)
        } else {
            None
        };
        Ok(Kind::While(test, bound, invariant, self.block()?))
    }

    fn child(&mut self) -> Parsed<Child> {
        if self.sees("{") {
            return Ok(Child::Block(self.block()?));
        }
        let name = self.name()?;
        Ok(Child::Call(name, self.arguments()?))
    }

    pub(super) fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.need("(")?;
        let all = if self.sees(")") {
            Vec::new()
        } else {
            self.list(Self::expr)?
        };
        self.need(")")?;
        Ok(all)
    }

    fn lock_place(&mut self) -> Parsed<Place> {
        self.need("(")?;
        let place = self.place()?;
        self.need(")")?;
        Ok(place)
    }

    fn place(&mut self) -> Parsed<Place> {
        self.path()
    }

    fn let_rest(&mut self) -> Parsed<Kind> {
        let name = self.name()?;
        let (mut ty, mut size) = (None, None);
        if self.has(":") {
            ty = Some(self.plain_type()?);
            size = self.size()?;
        }
        self.need("=")?;
        if self.has_word("spawn") {
            return Ok(Kind::Spawn(Some(name), self.child()?));
        }
        Ok(Kind::Let(name, ty, size, self.init()?))
    }

    fn assign_or_call(&mut self) -> Parsed<Kind> {
        let first = self.place()?;
        if first.index.is_none() && self.sees("(") {
            return Ok(Kind::Call(first.name, self.arguments()?));
        }
        let mut places = vec![first];
        while self.has(",") {
            places.push(self.place()?);
        }
        self.need(":=")?;
        let values = self.list(Self::expr)?;
        if values.len() != places.len() {
            return self.wrong("as many values as variables");
        }
        Ok(Kind::Assign(places, values))
    }

    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        if self.has_word("if") {
            let test = self.expr()?;
            if !self.has_word("then") {
                return self.wrong("then");
            }
            let yes = self.expr()?;
            if !self.has_word("else") {
                return self.wrong("else");
            }
            return Ok(Expr::If(
                Box::new(test),
                Box::new(yes),
                Box::new(self.expr()?),
            ));
        }
        self.level(0)
    }

    /// Parses an expression with binary operators of this level of precedence and of those that
    /// bind tighter. The levels are `||`, `&&`, comparisons, bits, shifts, sums and products.
    fn level(&mut self, level: usize) -> Parsed<Expr> {
        const LEVELS: [&[Op]; 9] = [
            &[Op::Or],
            &[Op::And],
            &[Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge],
            &[Op::BitOr],
            &[Op::BitXor],
            &[Op::BitAnd],
            &[Op::Shl, Op::Shr],
            &[Op::Add, Op::Sub],
            &[Op::Mul, Op::Div, Op::Rem],
        ];
        let Some(ops) = LEVELS.get(level) else {
            return self.unary();
        };
        let mut left = self.level(level + 1)?;
        while let Some(&op) = ops.iter().find(|op| self.sees(op.sign())) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = self.compared(op, left, right)?;
            if op.compares() {
                if ops.iter().any(|op| self.sees(op.sign())) {
                    return self.wrong("no chain of comparisons");
                }
                break;
            }
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        if self.has("!") {
            return Ok(Expr::Not(Box::new(self.unary()?)));
        }
        // `~x` is `-x - 1`.
        if self.has("~") {
            let opposite = Expr::Neg(Box::new(self.unary()?));
            return Ok(Expr::Bin(
                Op::Sub,
                Box::new(opposite),
                Box::new(Expr::Num(1)),
            ));
        }
        if self.has("-") {
            return Ok(match self.unary()? {
                Expr::Num(value) if value > 0 => Expr::Num(-value),
                other => Expr::Neg(Box::new(other)),
            });
        }
        self.primary()
    }

    fn primary(&mut self) -> Parsed<Expr> {
        if self.has("(") {
            let inner = self.expr()?;
            self.need(")")?;
            return Ok(inner);
        }
        if let Token::Number(value) = *self.peek() {
            self.at += 1;
            return Ok(Expr::Num(value));
        }
        if self.has_word("true") {
            return Ok(Expr::Bool(true));
        }
        if self.has_word("false") {
            return Ok(Expr::Bool(false));
        }
        if self.has_word("choose") {
            self.need("(")?;
            let low = self.expr()?;
            self.need("..")?;
            let high = self.expr()?;
            self.need(")")?;
            return Ok(Expr::Choose(Box::new(low), Box::new(high)));
        }
        if self.has_word("input") {
            self.need("(")?;
            let ty = if self.sees(")") {
                None
            } else {
                Some(self.ty()?)
            };
            self.need(")")?;
            return Ok(Expr::Input(ty));
        }
        if let Some(sugared) = self.sugared_value()? {
            return Ok(sugared);
        }
        let place = self.place()?;
        self.skip_load()?;
        Ok(match place.index {
            Some(index) => Expr::Index(place.name, Box::new(index)),
            None => Expr::Name(place.name),
        })
    }
}
