//! The parser of formulas. Formulas contain the same expressions as programs.
//!
//! Operators from weak to strong: `<==>`, `==>` (right-associative), `||`, `&&`, comparisons, sums,
//! products, `!` and `-`. A box or an update extends as far to the right as possible, up to `==>`
//! or `<==>`; a quantifier or `if e then f else g` extends to the end.

use mazurka_diagnostics::Span;
use mazurka_lang::hir::{BinaryOp, Expr, ExprKind, LocalId, Place, Program, Type, UnaryOp, VarId};

use crate::Formula;

/// The error for a text that is not a formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}: {expected}")]
pub struct FormulaError {
    /// The place in the formula.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What was expected there, or how to fix it.
    pub expected: String,
}

type Parse<T> = Result<T, FormulaError>;

/// Limit on the number of processes in one box. The limit is needed because one more copy of a
/// process in a box copies all processes of the program.
const MOST_IN_A_BOX: usize = 1000;

/// Limit on the nesting, so that recursion does not overflow the stack.
const MOST_DEPTH: usize = 200;

/// Parses a formula over the variables and processes of a program.
///
/// ```
/// let source = "var x: int process p { x := x + 1 }";
/// let program = mazurka_lang::load(source, &[]).unwrap();
/// assert!(mazurka_logic::parse("x == 0 ==> [p] x == 1", &program).is_ok());
/// assert!(mazurka_logic::parse("∀k: int. x == k → [*] x == k + 1", &program).is_ok());
/// let error = mazurka_logic::parse("[q] x == 1", &program).unwrap_err();
/// assert_eq!(error.message, "there is no process `q`");
/// ```
pub fn parse(text: &str, program: &Program) -> Parse<Formula> {
    parse_over(text, program, program.processes.len())
}

/// Parses like `parse`, but `[*]` means only the first `all` processes of a program. The other
/// processes have no names and are given by index.
pub fn parse_over(text: &str, program: &Program, all: usize) -> Parse<Formula> {
    let mut parser = Parser {
        text,
        at: 0,
        token: Token::End,
        span: Span::default(),
        program,
        all,
        bound: Vec::new(),
        depth: 0,
    };
    parser.bump()?;
    let whole = parser.formula(0)?;
    if parser.token != Token::End {
        return Err(parser.unexpected("the end of the formula"));
    }
    parser.bool(whole)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Token<'t> {
    Name(&'t str),
    Number(&'t str),
    Sign(&'static str),
    End,
}

/// The spellings of each sign. If one is a prefix of another, the longer one comes first.
const SIGNS: &[(&str, &str)] = &[
    ("<==>", "<==>"),
    ("<->", "<==>"),
    ("==>", "==>"),
    ("->", "==>"),
    (":=", ":="),
    ("==", "=="),
    ("!=", "!="),
    ("<=", "<="),
    (">=", ">="),
    ("&&", "&&"),
    ("||", "||"),
    ("↔", "<==>"),
    ("→", "==>"),
    ("∧", "&&"),
    ("∨", "||"),
    ("¬", "!"),
    ("≤", "<="),
    ("≥", ">="),
    ("≠", "!="),
    ("∀", "forall"),
    ("∃", "exists"),
    ("·", "."),
    ("∥", "||"),
    ("⟨", "<"),
    ("⟩", ">"),
    ("<", "<"),
    (">", ">"),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "%"),
    ("!", "!"),
    ("(", "("),
    (")", ")"),
    ("[", "["),
    ("]", "]"),
    ("{", "{"),
    ("}", "}"),
    (",", ","),
    (":", ":"),
    (".", "."),
];

struct Parser<'t, 'p> {
    text: &'t str,
    at: usize,
    token: Token<'t>,
    span: Span,
    program: &'p Program,
    /// The number of processes that `[*]` means.
    all: usize,
    bound: Vec<(String, Type)>,
    depth: usize,
}

/// A value or a formula. A literal takes the type of the other operand.
#[derive(Clone, Debug)]
enum Operand {
    Formula(Formula, Span),
    Value(Expr),
    Literal(Expr),
}

impl Operand {
    fn span(&self) -> Span {
        match self {
            Operand::Formula(_, span) => *span,
            Operand::Value(expr) | Operand::Literal(expr) => expr.span,
        }
    }
}

impl<'t> Parser<'t, '_> {
    fn bump(&mut self) -> Parse<()> {
        let rest = &self.text[self.at..];
        let rest = rest.trim_start();
        let start = self.text.len() - rest.len();
        let (token, len) = match rest.chars().next() {
            None => (Token::End, 0),
            Some(c) if c.is_ascii_digit() => {
                let len = length(rest, |c| c.is_ascii_digit());
                (Token::Number(&rest[..len]), len)
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                let len = length(rest, |c| c.is_alphanumeric() || c == '_');
                let word = match &rest[..len] {
                    "and" => Token::Sign("&&"),
                    "or" => Token::Sign("||"),
                    "not" => Token::Sign("!"),
                    "forall" => Token::Sign("forall"),
                    "exists" => Token::Sign("exists"),
                    name => Token::Name(name),
                };
                (word, len)
            }
            Some(c) => match SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
                Some((sign, meaning)) => (Token::Sign(meaning), sign.len()),
                None => {
                    self.span = span(start, c.len_utf8());
                    return Err(self.error(format!("`{c}` means nothing here"), "a formula"));
                }
            },
        };
        self.token = token;
        self.span = span(start, len);
        self.at = start + len;
        Ok(())
    }

    fn error(&self, message: impl Into<String>, expected: impl Into<String>) -> FormulaError {
        FormulaError {
            span: self.span,
            message: message.into(),
            expected: expected.into(),
        }
    }

    fn unexpected(&self, expected: &str) -> FormulaError {
        let found = match self.token {
            Token::End => "the formula ends here".to_owned(),
            _ => format!("unexpected `{}`", self.span.text(self.text)),
        };
        self.error(found, format!("expected {expected}"))
    }

    fn at_sign(&self, sign: &str) -> bool {
        matches!(self.token, Token::Sign(found) if found == sign)
    }

    fn eat(&mut self, sign: &str) -> Parse<bool> {
        let found = self.at_sign(sign);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: &str) -> Parse<()> {
        if self.eat(sign)? {
            Ok(())
        } else {
            Err(self.unexpected(&format!("`{sign}`")))
        }
    }

    fn name(&mut self, what: &str) -> Parse<(&'t str, Span)> {
        match self.token {
            Token::Name(name) => {
                let span = self.span;
                self.bump()?;
                Ok((name, span))
            }
            _ => Err(self.unexpected(what)),
        }
    }

    /// Parses a formula or value whose operators bind at least this strongly.
    fn formula(&mut self, least: u8) -> Parse<Operand> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.error("this formula is nested too deeply", "a simpler one"));
        }
        let mut left = self.prefix()?;
        while let Token::Sign(sign) = self.token {
            let Some((level, right)) = level(sign) else {
                break;
            };
            if level < least {
                break;
            }
            self.bump()?;
            let other = self.formula(right)?;
            left = self.join(sign, left, other)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn prefix(&mut self) -> Parse<Operand> {
        let start = self.span;
        match self.token {
            Token::Sign("!") => {
                self.bump()?;
                let inner = self.formula(7)?;
                let span = start.to(inner.span());
                Ok(match self.bool(inner)? {
                    Formula::Expr(e) => Operand::Value(Expr {
                        ty: Type::Bool,
                        span,
                        kind: ExprKind::Unary(UnaryOp::Not, Box::new(e)),
                    }),
                    inner => Operand::Formula(Formula::Not(Box::new(inner)), span),
                })
            }
            Token::Sign("-") => {
                self.bump()?;
                match self.formula(7)? {
                    Operand::Literal(mut e) => {
                        if let ExprKind::Const(value) = &mut e.kind {
                            *value = value.wrapping_neg();
                        }
                        e.span = start.to(e.span);
                        Ok(Operand::Literal(e))
                    }
                    inner => {
                        let e = self.number(inner)?;
                        Ok(Operand::Value(Expr {
                            ty: e.ty,
                            span: start.to(e.span),
                            kind: ExprKind::Unary(UnaryOp::Neg, Box::new(e)),
                        }))
                    }
                }
            }
            Token::Sign("(") => {
                self.bump()?;
                let inner = self.formula(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Sign(modality @ ("[" | "<")) => {
                self.bump()?;
                let end = if modality == "[" { "]" } else { ">" };
                let processes = self.processes(end)?;
                self.expect(end)?;
                let inner = self.formula(2)?;
                let span = start.to(inner.span());
                let inner = Box::new(self.bool(inner)?);
                Ok(Operand::Formula(
                    match modality {
                        "[" => Formula::Box(processes, inner),
                        _ => Formula::Diamond(processes, inner),
                    },
                    span,
                ))
            }
            Token::Sign("{") => {
                self.bump()?;
                let mut update = Vec::new();
                while !self.at_sign("}") {
                    let before = self.span;
                    let (place, value) = self.assignment()?;
                    if let Place::Shared(var) = place
                        && update
                            .iter()
                            .any(|(p, _)| matches!(p, Place::Shared(v) if *v == var))
                    {
                        return Err(FormulaError {
                            span: before,
                            message: "this variable is updated twice".to_owned(),
                            expected: "all of an update happens at once: write two updates"
                                .to_owned(),
                        });
                    }
                    update.push((place, value));
                    if !self.eat(",")? {
                        break;
                    }
                }
                self.expect("}")?;
                let inner = self.formula(2)?;
                let span = start.to(inner.span());
                let inner = self.bool(inner)?;
                Ok(Operand::Formula(
                    Formula::Update(update, Box::new(inner)),
                    span,
                ))
            }
            Token::Sign(quantifier @ ("forall" | "exists")) => {
                self.bump()?;
                let (name, place) = self.name("the name of a variable")?;
                let mut vars = self.program.vars.iter();
                if let Some(at) = vars.position(|var| var.name == name) {
                    return self.over_variable(quantifier, at, start.to(place));
                }
                self.expect(":")?;
                let ty = self.type_()?;
                self.expect(".")?;
                self.bound.push((name.to_owned(), ty));
                let inner = self.formula(0)?;
                let span = start.to(inner.span());
                let inner = Box::new(self.bool(inner)?);
                self.bound.pop();
                let name = name.to_owned();
                Ok(Operand::Formula(
                    match quantifier {
                        "forall" => Formula::ForAll(name, ty, inner),
                        _ => Formula::Exists(name, ty, inner),
                    },
                    span,
                ))
            }
            Token::Number(digits) => {
                let Ok(value) = digits.parse::<i64>() else {
                    return Err(self.error("this number is too large", "at most 63 bits"));
                };
                self.bump()?;
                Ok(Operand::Literal(constant(value, Type::Int, start)))
            }
            Token::Name(truth @ ("true" | "false" | "True" | "False")) => {
                self.bump()?;
                let value = i64::from(truth.eq_ignore_ascii_case("true"));
                Ok(Operand::Value(constant(value, Type::Bool, start)))
            }
            Token::Name("if") => self.conditional(),
            Token::Name(_) => self.variable().map(Operand::Value),
            _ => Err(self.unexpected("a formula")),
        }
    }

    /// Parses `forall x. f`, where `x` is a variable of the program, as `forall k. {x := k} f`.
    fn over_variable(&mut self, quantifier: &str, at: usize, start: Span) -> Parse<Operand> {
        let var = &self.program.vars[at];
        if var.len.is_some() {
            return Err(FormulaError {
                span: start,
                message: format!("`{}` is an array", var.name),
                expected: "quantify over its elements: `forall k: int. {a[0] := k} …`".to_owned(),
            });
        }
        if self.eat(":")? && self.type_()? != var.ty {
            return Err(FormulaError {
                span: start,
                message: format!("`{}` is {}", var.name, noun(var.ty)),
                expected: "leave the type out".to_owned(),
            });
        }
        self.expect(".")?;
        // No text can contain this name, so `x` in the formula still means the variable of the
        // program.
        let name = format!("{} again", var.name);
        let value = Expr {
            kind: ExprKind::Local(LocalId(self.bound.len() as u32)),
            ty: var.ty,
            span: start,
        };
        self.bound.push((name.clone(), var.ty));
        let inner = self.formula(0)?;
        let span = start.to(inner.span());
        let inner = Box::new(self.bool(inner)?);
        self.bound.pop();
        let update = vec![(Place::Shared(VarId(at as u32)), value)];
        let inner = Box::new(Formula::Update(update, inner));
        Ok(Operand::Formula(
            match quantifier {
                "forall" => Formula::ForAll(name, var.ty, inner),
                _ => Formula::Exists(name, var.ty, inner),
            },
            span,
        ))
    }

    /// Parses `if e then f else g`, which extends as far to the right as possible.
    fn conditional(&mut self) -> Parse<Operand> {
        let start = self.span;
        self.bump()?;
        let test = self.formula(0)?;
        let test = self.as_type(test, Type::Bool)?;
        self.word("then")?;
        let then = self.formula(0)?;
        self.word("else")?;
        let other = self.formula(0)?;
        let span = start.to(other.span());
        let (then, other) = self.alike(then, other)?;
        Ok(Operand::Value(Expr {
            ty: then.ty,
            span,
            kind: ExprKind::If(Box::new(test), Box::new(then), Box::new(other)),
        }))
    }

    fn word(&mut self, word: &str) -> Parse<()> {
        match self.token {
            Token::Name(name) if name == word => self.bump(),
            _ => Err(self.unexpected(&format!("`{word}`"))),
        }
    }

    /// Parses the processes of a box. A process that is named again is a copy.
    fn processes(&mut self, end: &str) -> Parse<Vec<usize>> {
        if self.eat("*")? {
            return Ok((0..self.all).collect());
        }
        let mut found: Vec<usize> = Vec::new();
        if self.at_sign(end) {
            return Ok(found);
        }
        loop {
            let span = self.span;
            let all = &self.program.processes;
            let before = found.len();
            match self.token {
                Token::Number(digits) => {
                    let number = digits.parse::<usize>().ok();
                    found.extend(number.filter(|&number| number < all.len()));
                }
                Token::Name(name) => {
                    let named = |at: &usize| all[*at].name.as_deref() == Some(name);
                    found.extend((0..all.len()).filter(named));
                }
                _ => return Err(self.unexpected("the name of a process, or `*`")),
            }
            if found.len() == before {
                let text = span.text(self.text);
                return Err(self.error(
                    format!("there is no process `{text}`"),
                    "name a process of the file or its number, or write `[*]` for all",
                ));
            }
            let count = all.len();
            if found.len() > MOST_IN_A_BOX {
                return Err(self.error("this box has too many processes", "fewer of them"));
            }
            for at in before..found.len() {
                while found[..at].contains(&found[at]) {
                    found[at] += count;
                }
            }
            self.bump()?;
            if !self.eat("||")? {
                found.sort_unstable();
                return Ok(found);
            }
        }
    }

    fn type_(&mut self) -> Parse<Type> {
        let (name, span) = self.name("a type")?;
        let bits = |text: &str| match text {
            "8" => Some(8),
            "16" => Some(16),
            "32" => Some(32),
            "64" => Some(64),
            _ => None,
        };
        let ty = match name {
            "bool" => Some(Type::Bool),
            "int" => Some(Type::Int),
            _ => match (name.strip_prefix('i'), name.strip_prefix('u')) {
                (Some(width), _) => bits(width).map(Type::Signed),
                (_, Some(width)) => bits(width).map(Type::Unsigned),
                _ => None,
            },
        };
        ty.ok_or(FormulaError {
            span,
            message: format!("`{name}` is not a type"),
            expected: "expected `int`, `bool`, `i8` … `u64`".to_owned(),
        })
    }

    fn assignment(&mut self) -> Parse<(Place, Expr)> {
        let target = self.variable()?;
        let place = match target.kind {
            ExprKind::Shared(var) => Place::Shared(var),
            ExprKind::Element(var, index) => Place::Element(var, *index),
            _ => {
                return Err(FormulaError {
                    span: target.span,
                    message: "only shared variables can be updated".to_owned(),
                    expected: "write `{x := e}` with a variable of the program".to_owned(),
                });
            }
        };
        self.expect(":=")?;
        let value = self.formula(2)?;
        let value = self.as_type(value, target.ty)?;
        Ok((place, value))
    }

    /// Parses a variable of the program, or a variable that a quantifier binds. The innermost
    /// quantifier takes precedence.
    fn variable(&mut self) -> Parse<Expr> {
        let (name, span) = self.name("a variable")?;
        if let Some(at) = self.bound.iter().rposition(|(bound, _)| bound == name) {
            return Ok(Expr {
                kind: ExprKind::Local(LocalId(at as u32)),
                ty: self.bound[at].1,
                span,
            });
        }
        let Some(at) = self.program.vars.iter().position(|var| var.name == name) else {
            if let Some((ty, value)) = self.program.member(name) {
                return Ok(constant(value, ty, span));
            }
            return Err(FormulaError {
                span,
                message: format!("there is no variable `{name}`"),
                expected:
                    "expected a shared variable of the program, or one that a quantifier binds"
                        .to_owned(),
            });
        };
        let var = &self.program.vars[at];
        let id = VarId(at as u32);
        if var.len.is_none() {
            return Ok(Expr {
                kind: ExprKind::Shared(id),
                ty: var.ty,
                span,
            });
        }
        self.expect("[")?;
        let index = self.formula(2)?;
        let index = self.number(index)?;
        let end = self.span;
        self.expect("]")?;
        Ok(Expr {
            kind: ExprKind::Element(id, Box::new(index)),
            ty: var.ty,
            span: span.to(end),
        })
    }

    fn join(&self, sign: &str, left: Operand, right: Operand) -> Parse<Operand> {
        let span = left.span().to(right.span());
        let op = match sign {
            "==" => BinaryOp::Eq,
            "!=" => BinaryOp::Ne,
            "<" => BinaryOp::Lt,
            "<=" => BinaryOp::Le,
            ">" => BinaryOp::Gt,
            ">=" => BinaryOp::Ge,
            "+" => BinaryOp::Add,
            "-" => BinaryOp::Sub,
            "*" => BinaryOp::Mul,
            "/" => BinaryOp::Div,
            "%" => BinaryOp::Rem,
            _ => {
                let (a, b) = (self.bool(left)?, self.bool(right)?);
                return Ok(connect(sign, a, b, span));
            }
        };
        let (left, right) = self.alike(left, right)?;
        let compares = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        let orders = matches!(
            op,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        );
        if !compares && left.ty == Type::Bool {
            return Err(FormulaError {
                span,
                message: format!("`{sign}` of truth values"),
                expected: "expected numbers".to_owned(),
            });
        }
        let ty = if compares || orders {
            Type::Bool
        } else {
            left.ty
        };
        Ok(Operand::Value(Expr {
            kind: ExprKind::Binary(op, Box::new(left), Box::new(right)),
            ty,
            span,
        }))
    }

    /// Converts two operands to values of one type.
    fn alike(&self, left: Operand, right: Operand) -> Parse<(Expr, Expr)> {
        let typed = |operand: &Operand| match operand {
            Operand::Value(expr) => Some(expr.ty),
            Operand::Formula(..) => Some(Type::Bool),
            Operand::Literal(_) => None,
        };
        let ty = typed(&left).or(typed(&right)).unwrap_or(Type::Int);
        Ok((self.as_type(left, ty)?, self.as_type(right, ty)?))
    }

    fn as_type(&self, operand: Operand, ty: Type) -> Parse<Expr> {
        let wrong = |span: Span, found: Type| FormulaError {
            span,
            message: format!("this is {}", noun(found)),
            expected: format!("expected {}", noun(ty)),
        };
        match operand {
            Operand::Formula(Formula::Expr(expr), _) | Operand::Value(expr) => {
                if expr.ty == ty {
                    Ok(expr)
                } else {
                    Err(wrong(expr.span, expr.ty))
                }
            }
            Operand::Formula(_, span) => Err(FormulaError {
                span,
                message: "a formula with a box, an update or a quantifier is not a value"
                    .to_owned(),
                expected: "combine it with `&&`, `||`, `!`, `==>` or `<==>`".to_owned(),
            }),
            Operand::Literal(expr) if ty != Type::Bool => match expr.kind {
                ExprKind::Const(value) if !fits(value, ty) => Err(FormulaError {
                    span: expr.span,
                    message: format!("{value} does not fit {}", noun(ty)),
                    expected: "a number that it can hold".to_owned(),
                }),
                _ => Ok(Expr { ty, ..expr }),
            },
            Operand::Literal(expr) => Err(wrong(expr.span, Type::Int)),
        }
    }

    fn number(&self, operand: Operand) -> Parse<Expr> {
        let expr = match operand {
            Operand::Literal(expr) => expr,
            other => {
                let ty = match &other {
                    Operand::Value(expr) => expr.ty,
                    _ => Type::Bool,
                };
                self.as_type(other, ty)?
            }
        };
        match expr.ty {
            Type::Bool => Err(FormulaError {
                span: expr.span,
                message: "this is a truth value".to_owned(),
                expected: "expected a number".to_owned(),
            }),
            _ => Ok(expr),
        }
    }

    fn bool(&self, operand: Operand) -> Parse<Formula> {
        match operand {
            Operand::Formula(formula, _) => Ok(formula),
            other => self.as_type(other, Type::Bool).map(Formula::Expr),
        }
    }
}

/// Returns the binding strength of a sign, and the least binding strength on its right side.
fn level(sign: &str) -> Option<(u8, u8)> {
    Some(match sign {
        "<==>" => (0, 1),
        "==>" => (1, 1),
        "||" => (2, 3),
        "&&" => (3, 4),
        "==" | "!=" | "<" | "<=" | ">" | ">=" => (4, 5),
        "+" | "-" => (5, 6),
        "*" | "/" | "%" => (6, 7),
        _ => return None,
    })
}

fn connect(sign: &str, a: Formula, b: Formula, span: Span) -> Operand {
    if let (Formula::Expr(a), Formula::Expr(b), "&&" | "||") = (&a, &b, sign) {
        let op = match sign {
            "&&" => BinaryOp::And,
            _ => BinaryOp::Or,
        };
        return Operand::Value(Expr {
            kind: ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone())),
            ty: Type::Bool,
            span,
        });
    }
    let (a, b) = (Box::new(a), Box::new(b));
    Operand::Formula(
        match sign {
            "&&" => Formula::And(a, b),
            "||" => Formula::Or(a, b),
            "==>" => Formula::Implies(a, b),
            _ => Formula::Iff(a, b),
        },
        span,
    )
}

/// Whether a type includes this number.
fn fits(value: i64, ty: Type) -> bool {
    match ty {
        Type::Signed(bits) => value >> (bits - 1) == value >> 63,
        Type::Unsigned(bits) => value >= 0 && (bits == 64 || value >> bits == 0),
        Type::Int | Type::Bool | Type::Process | Type::Enum(_) => true,
    }
}

fn constant(value: i64, ty: Type, span: Span) -> Expr {
    Expr {
        kind: ExprKind::Const(value),
        ty,
        span,
    }
}

fn noun(ty: Type) -> String {
    match ty {
        Type::Bool => "a truth value".to_owned(),
        Type::Int | Type::Process => "an `int`".to_owned(),
        Type::Enum(_) => "a member of an `enum`".to_owned(),
        Type::Signed(bits) => format!("an `i{bits}`"),
        Type::Unsigned(bits) => format!("a `u{bits}`"),
    }
}

fn length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

fn span(start: usize, len: usize) -> Span {
    Span {
        start: start as u32,
        end: (start + len) as u32,
    }
}
