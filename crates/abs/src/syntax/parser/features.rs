//! Parses feature models, which say which features a product may combine and which values their
//! attributes may have.

use num_bigint::BigInt;

use super::{Parsed, Parser};
use crate::syntax::token::TokenKind;
use crate::syntax::variability::{
    Attribute, Constraint, FeatureExpr, FeatureGroup, FeatureNode, Range,
};

/// The operators of constraints, the weakest first.
const OPERATORS: [&[&str]; 7] = [
    &["||"],
    &["&&"],
    &["->", "<->"],
    &["==", "!="],
    &["<=", ">=", "<", ">"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl Parser<'_> {
    /// Parses `F { group … attributes constraints }`, or `F` alone.
    pub(super) fn feature_node(&mut self) -> Parsed<FeatureNode> {
        let name = self.type_name("the name of a feature")?;
        let mut node = FeatureNode {
            name,
            group: None,
            attributes: Vec::new(),
            constraints: Vec::new(),
        };
        if !self.accept("{") {
            return Ok(node);
        }
        if self.at_word("group") {
            node.group = Some(self.feature_group()?);
        }
        while !self.accept("}") {
            if self.peek() == &TokenKind::End {
                self.expect("}")?;
            }
            if self.starts_attribute() {
                node.attributes.push(self.attribute()?)
            } else {
                node.constraints.push(self.constraint()?)
            }
        }
        Ok(node)
    }

    fn at_word(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Name(name) if name == word)
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.next();
        }
        found
    }

    fn feature_group(&mut self) -> Parsed<FeatureGroup> {
        let span = self.span_here();
        self.next();
        let (mut least, mut most, mut all) = (BigInt::from(1), Some(BigInt::from(1)), false);
        if self.accept_word("allof") {
            all = true;
        } else if !self.accept_word("oneof") {
            if !self.is("[") {
                return Err(self.expected("`allof`, `oneof` or `[1 .. 2]`"));
            }
            self.next();
            least = self.limit()?.unwrap_or_default();
            self.two_dots()?;
            most = self.limit()?;
            self.expect("]")?;
        }
        self.expect("{")?;
        let members = self.nested(|parser| {
            parser.list(|parser| {
                let optional = parser.accept_word("opt");
                Ok((optional, parser.feature_node()?))
            })
        })?;
        self.expect("}")?;
        Ok(FeatureGroup {
            least,
            most,
            all,
            members,
            span,
        })
    }

    fn two_dots(&mut self) -> Parsed<()> {
        self.expect(".")?;
        self.expect(".")?;
        Ok(())
    }

    /// Parses a number, or `*`, which means no limit.
    fn limit(&mut self) -> Parsed<Option<BigInt>> {
        if self.accept("*") {
            return Ok(None);
        }
        let negative = self.accept("-");
        let TokenKind::Int(value) = self.peek().clone() else {
            return Err(self.expected("a number, or `*`"));
        };
        self.next();
        Ok(Some(if negative { -value } else { value }))
    }

    /// Whether an attribute starts here: `Int a`, `Bool a`, `String a`, `Int [0 .. 9] a`.
    fn starts_attribute(&self) -> bool {
        let named = matches!(self.peek_at(1), TokenKind::Name(_)) || self.is_at(1, "[");
        named && matches!(self.peek(), TokenKind::TypeName(_))
    }

    fn attribute(&mut self) -> Parsed<Attribute> {
        let ty = self.type_name("the type of an attribute")?;
        let mut range = Range::Between(None, None);
        if self.is("[") {
            range = self.interval()?;
        }
        let name = self.name("the name of an attribute")?;
        if self.accept("in") {
            if self.accept("{") {
                let values = self.list(|parser| Ok(parser.limit()?.unwrap_or_default()))?;
                self.expect("}")?;
                range = Range::OneOf(values);
            } else {
                range = self.interval()?;
            }
        }
        self.expect(";")?;
        Ok(Attribute { ty, name, range })
    }

    fn interval(&mut self) -> Parsed<Range> {
        self.expect("[")?;
        let from = self.limit()?;
        self.two_dots()?;
        let to = self.limit()?;
        self.expect("]")?;
        Ok(Range::Between(from, to))
    }

    fn constraint(&mut self) -> Parsed<Constraint> {
        let marked = self.is_at(1, ":");
        if marked && (self.at_word("require") || self.at_word("exclude")) {
            let require = self.at_word("require");
            self.next();
            self.next();
            let other = self.type_name("the name of a feature")?;
            self.expect(";")?;
            return Ok(if require {
                Constraint::Require(other)
            } else {
                Constraint::Exclude(other)
            });
        }
        let out = marked && self.accept_word("ifout");
        if out || marked && self.accept_word("ifin") {
            self.expect(":")?;
        }
        let start = self.span_here();
        let expr = self.feature_expr(0)?;
        let span = start.to(self.span_before());
        self.expect(";")?;
        Ok(Constraint::Holds { out, expr, span })
    }

    fn feature_expr(&mut self, level: usize) -> Parsed<FeatureExpr> {
        let Some(operators) = OPERATORS.get(level) else {
            return self.nested(Self::feature_operand);
        };
        let first = self.feature_expr(level + 1)?;
        let mut more = Vec::new();
        while let Some(operator) = operators.iter().find(|operator| self.is(operator)) {
            self.next();
            more.push((*operator, self.feature_expr(level + 1)?));
        }
        Ok(if more.is_empty() {
            first
        } else {
            FeatureExpr::Chain(Box::new(first), more)
        })
    }

    fn feature_operand(&mut self) -> Parsed<FeatureExpr> {
        for operator in ["!", "-"] {
            if self.accept(operator) {
                let inner = self.nested(Self::feature_operand)?;
                return Ok(FeatureExpr::Unary(operator, Box::new(inner)));
            }
        }
        if self.accept("(") {
            let inner = self.feature_expr(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        match self.peek().clone() {
            TokenKind::Int(value) => {
                self.next();
                Ok(FeatureExpr::Int(value))
            }
            TokenKind::Text(value) => {
                self.next();
                Ok(FeatureExpr::Text(value))
            }
            TokenKind::Name(_) => Ok(FeatureExpr::Attribute(
                None,
                self.name("the name of an attribute")?,
            )),
            _ => {
                let name = self.type_name("a feature, an attribute or a number")?;
                if self.accept(".") {
                    let attribute = self.name("the name of an attribute")?;
                    return Ok(FeatureExpr::Attribute(Some(name), attribute));
                }
                Ok(match name.text.as_str() {
                    "True" => FeatureExpr::Bool(true),
                    "False" => FeatureExpr::Bool(false),
                    _ => FeatureExpr::Feature(name),
                })
            }
        }
    }
}
