//! Whole `struct` values: assigned, declared by `let`, and compared, all field by field.

use super::ast::{Expr, Init, Kind, Op, Place, Stmt, Ty};
use super::lex::Token;
use super::parse::{Parsed, Parser};
use super::sugar::{Base, Tree, bin};

impl Parser {
    /// Parses a statement that is sugar; `None` for other statements.
    pub(super) fn sugared_statement(&mut self) -> Parsed<Option<Kind>> {
        let start = self.at;
        let Some(word) = self.word_after(0).map(str::to_owned) else {
            return Ok(None);
        };
        if let Some(kind) = self.object_statement()? {
            return Ok(Some(kind));
        }
        let text = self.tokens.get(self.at + 1).map(|(token, _)| token.clone());
        if let ("print", Some(Token::Text(text))) = (&word[..], text) {
            self.at += 2;
            return Ok(Some(Kind::Print(text)));
        }
        if word == "select" && self.sign_after(1) == Some("{") {
            return self.select().map(Some);
        }
        if word == "match" && self.word_after(1).is_some() {
            return self.match_statement().map(Some);
        }
        if word == "let" && self.sign_after(2) == Some("=") {
            self.at += 1;
            let name = self.name()?;
            self.at += 1;
            if let Some((of, values)) = self.whole()? {
                return self.let_whole(name, of, values).map(Some);
            }
        } else if self.known.records.contains_key(&word) {
            let place = self.path()?;
            if let Some(of) = self.known.records.get(&place.name).cloned()
                && self.has(":=")
            {
                let Some((_, values)) = self.whole()? else {
                    return self.wrong("a value of a struct");
                };
                let fields = self.fields(&of, &place)?;
                let place = |e: &Expr| match e {
                    Expr::Index(name, index) => Place {
                        name: name.clone(),
                        index: Some((**index).clone()),
                    },
                    Expr::Name(name) => Place {
                        name: name.clone(),
                        index: None,
                    },
                    _ => unreachable!("a field is a variable or an element"),
                };
                return Ok(Some(Kind::Assign(
                    fields.iter().map(place).collect(),
                    values,
                )));
            }
        }
        self.at = start;
        Ok(None)
    }

    fn let_whole(&mut self, name: String, of: String, values: Vec<Expr>) -> Parsed<Kind> {
        self.known.records.insert(name.clone(), of.clone());
        let place = Place { name, index: None };
        let mut places = Vec::new();
        let types = self.known.structs[&of].clone();
        for (field, (_, ty)) in self.fields(&of, &place)?.into_iter().zip(types) {
            let Expr::Name(field) = field else {
                return self.wrong("a struct without arrays");
            };
            let (ty, zero) = match ty.base {
                Base::Plain(Ty::Bool) => (Ty::Bool, Expr::Bool(false)),
                Base::Plain(ty) => (ty, Expr::Num(0)),
                _ => (Ty::Int, Expr::Num(0)),
            };
            let declare = Kind::Let(field.clone(), Some(ty), None, Init::One(zero));
            self.before.push(Stmt::new(declare));
            places.push(Place {
                name: field,
                index: None,
            });
        }
        Ok(Kind::Assign(places, values))
    }

    /// Parses a whole `struct` value, if one is next: its fields, in order.
    pub(super) fn whole(&mut self) -> Parsed<Option<(String, Vec<Expr>)>> {
        let start = self.at;
        let Some(word) = self.word_after(0).map(str::to_owned) else {
            return Ok(None);
        };
        if self.at_literal() {
            let Tree::Fields(given) = self.tree()? else {
                return self.wrong("a value of a struct");
            };
            let mut values = Vec::new();
            for (field, _) in self.known.structs[&word].clone() {
                match given.iter().find(|(name, _)| *name == field) {
                    Some((_, Tree::One(e))) => values.push(e.clone()),
                    _ => return self.wrong("a value for each field"),
                }
            }
            return Ok(Some((word, values)));
        }
        if self.known.records.contains_key(&word) {
            let place = self.path()?;
            if let Some(of) = self.known.records.get(&place.name).cloned() {
                let fields = self.fields(&of, &place)?;
                return Ok(Some((of, fields)));
            }
        }
        self.at = start;
        Ok(None)
    }

    /// Returns the fields of a variable, or of an element, as places.
    pub(super) fn whole_place(&self, of: &str, place: &Place) -> Parsed<Vec<Place>> {
        let field = |e: Expr| match e {
            Expr::Index(name, index) => Place {
                name,
                index: Some(*index),
            },
            Expr::Name(name) => Place { name, index: None },
            _ => unreachable!("a field is a variable or an element"),
        };
        Ok(self.fields(of, place)?.into_iter().map(field).collect())
    }

    /// Returns the fields of a variable, or of an element.
    fn fields(&self, of: &str, place: &Place) -> Parsed<Vec<Expr>> {
        let mut all = Vec::new();
        for (field, ty) in &self.known.structs[of] {
            if !ty.dims.is_empty() || matches!(ty.base, Base::Struct(_)) {
                return Err("a struct in a struct".into());
            }
            let name = format!("{}.{field}", place.name);
            all.push(match &place.index {
                Some(index) => Expr::Index(name, Box::new(index.clone())),
                None => Expr::Name(name),
            });
        }
        Ok(all)
    }

    /// Applies an operator; whole `struct` values are compared field by field.
    pub(super) fn compared(&self, op: Op, left: Expr, right: Expr) -> Parsed<Expr> {
        let whole = |e: &Expr| {
            let place = match e {
                Expr::Name(name) => Place {
                    name: name.clone(),
                    index: None,
                },
                Expr::Index(name, index) => Place {
                    name: name.clone(),
                    index: Some((**index).clone()),
                },
                _ => return None,
            };
            let of = self.known.records.get(&place.name)?;
            Some(self.fields(of, &place))
        };
        let (Some(a), Some(b)) = (whole(&left), whole(&right)) else {
            return Ok(bin(op, left, right));
        };
        let pairs = a?.into_iter().zip(b?);
        let same = pairs.map(|(a, b)| bin(Op::Eq, a, b));
        let same = same.reduce(|a, b| bin(Op::And, a, b));
        let same = same.ok_or("a struct without fields")?;
        Ok(match op {
            Op::Eq => same,
            Op::Ne => Expr::Not(Box::new(same)),
            _ => return self.wrong("== or !="),
        })
    }
}
