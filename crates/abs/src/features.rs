//! Checks whether a feature model allows a product.
//!
//! The rules are those of the manual ("The feature model") and, where the manual is silent, of the
//! ABS suite. A product has the features that it lists, their ancestors, and all roots. An
//! attribute to which a product gives no value has the least value of its range; if there is no
//! least value, the greatest; if there is neither, 0 or `False`. Features that are not in the model
//! are not checked.
//!
//! | model | what a product must satisfy |
//! |---|---|
//! | `group allof { … }` in F | F implies all members of the group that are not marked `opt` |
//! | `group oneof { … }` in F | F implies exactly one member |
//! | `group [l .. u] { … }` in F | F implies l to u members |
//! | `require: G`, `exclude: G` in F | F implies G, or not G |
//! | `e;`, `ifin: e;` in F | F implies e |
//! | `ifout: e;` in F | not F implies e |

use mazurka_diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;
use num_traits::Zero;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::syntax::ast::{Expr, ExprKind, Name, Unary};
use crate::syntax::variability::{
    Attribute, Constraint, Feature, FeatureExpr, FeatureGroup, FeatureNode, Range, Variability,
};

/// The value of an attribute, or of an expression in a feature model.
#[derive(Clone, Debug, PartialEq)]
enum FeatureValue {
    Bool(bool),
    Int(BigInt),
    Text(String),
}

/// Why an expression has no value.
enum Undefined {
    /// There is no such feature or attribute.
    Unknown(String, Span),
    /// The operands do not fit the operator.
    Types(&'static str),
    /// The expression divides by 0 in this product.
    Zero,
    /// The expression uses an attribute whose value was rejected. This was reported already.
    Refused,
}

/// A product, checked against its feature model.
struct Selection<'a> {
    product: &'a Name,
    /// All features of the model.
    known: FxHashSet<&'a str>,
    selected: FxHashSet<&'a str>,
    /// The values of attributes, by feature and name; `None` if the product gives the attribute a
    /// value that it cannot have.
    values: FxHashMap<(&'a str, &'a str), Option<FeatureValue>>,
    mistakes: Vec<Diagnostic>,
}

/// Returns the reasons why a product with these features is not allowed.
pub(crate) fn check(model: &Variability, product: &Name, features: &[Feature]) -> Vec<Diagnostic> {
    if model.roots.is_empty() {
        return Vec::new();
    }
    let mut selection = Selection {
        product,
        known: FxHashSet::default(),
        selected: features.iter().map(|f| f.name.text.as_str()).collect(),
        values: FxHashMap::default(),
        mistakes: Vec::new(),
    };
    let nodes = || model.roots.iter().chain(&model.extensions);
    for node in nodes() {
        selection.declare(node, features);
    }
    // An extension may add features below those of another extension, so repeat this until nothing
    // changes.
    loop {
        let before = selection.selected.len();
        nodes().for_each(|node| {
            selection.select_above(node);
        });
        if selection.selected.len() == before {
            break;
        }
    }
    for root in &model.roots {
        selection.selected.insert(&root.name.text);
    }
    for node in nodes() {
        selection.check(node);
    }
    selection.mistakes
}

impl<'a> Selection<'a> {
    fn refuse(&mut self, span: Span, why: String) {
        let message = format!(
            "`{}` is not a product of the feature model",
            self.product.text
        );
        let mistake = Diagnostic::new("A0257", self.product.span, message)
            .label(why)
            .related(span, "requested here")
            .help("add or remove features, or change the model");
        self.mistakes.push(mistake);
    }

    /// Collects features and the values of their attributes.
    fn declare(&mut self, node: &'a FeatureNode, features: &'a [Feature]) {
        let name = node.name.text.as_str();
        self.known.insert(name);
        let given = features.iter().find(|feature| feature.name.text == name);
        let given = given.map_or(&[][..], |feature| &feature.attributes);
        for attribute in &node.attributes {
            let own = given.iter().find(|(name, _)| *name == attribute.name.text);
            let value = match own {
                None => Some(default_value(attribute)),
                Some((_, expr)) => literal(expr).filter(|value| admits(attribute, value)),
            };
            if value.is_none() {
                let attribute = &attribute.name.text;
                let why = format!("`{name}.{attribute}` cannot have this value");
                self.refuse(node.name.span, why);
            }
            self.values.insert((name, &attribute.name.text), value);
        }
        for (_, member) in node.group.iter().flat_map(|group| &group.members) {
            self.declare(member, features);
        }
    }

    /// Selects the ancestors of selected features. Returns whether the feature itself is selected.
    fn select_above(&mut self, node: &'a FeatureNode) -> bool {
        let members = node.group.iter().flat_map(|group| &group.members);
        let mut below = false;
        for (_, member) in members {
            below |= self.select_above(member);
        }
        let name = node.name.text.as_str();
        if below {
            self.selected.insert(name);
        }
        self.selected.contains(name)
    }

    fn check(&mut self, node: &'a FeatureNode) {
        let has = self.selected.contains(node.name.text.as_str());
        if let Some(group) = &node.group {
            if has {
                self.check_group(node, group);
            }
            for (_, member) in &group.members {
                self.check(member);
            }
        }
        for constraint in &node.constraints {
            self.check_constraint(node, constraint, has);
        }
    }

    fn check_group(&mut self, node: &FeatureNode, group: &FeatureGroup) {
        let counted: Vec<&str> = { group.members.iter() }
            .filter(|(optional, _)| !optional)
            .map(|(_, member)| member.name.text.as_str())
            .collect();
        let missing: Vec<&str> = { counted.iter().copied() }
            .filter(|name| !self.selected.contains(name))
            .collect();
        let there = counted.len() - missing.len();
        let why = match (group.all, &group.most) {
            _ if counted.is_empty() => return,
            (true, _) => match missing.first() {
                None => return,
                Some(first) => format!("`{}` needs `{first}`", node.name.text),
            },
            (false, most) => {
                let number = BigInt::from(there);
                if number >= group.least && most.as_ref().is_none_or(|most| number <= *most) {
                    return;
                }
                let upto = match most {
                    None => format!("at least {}", group.least),
                    Some(most) if *most == group.least => format!("{most}"),
                    Some(most) => format!("{} to {most}", group.least),
                };
                format!(
                    "`{}` needs {upto} of {}: there are {there}",
                    node.name.text,
                    counted.join(", ")
                )
            }
        };
        self.refuse(group.span, why);
    }

    fn check_constraint(&mut self, node: &'a FeatureNode, constraint: &Constraint, has: bool) {
        let name = &node.name.text;
        match constraint {
            Constraint::Require(other) | Constraint::Exclude(other) => {
                if self.unknown(other) {
                    return;
                }
                let require = matches!(constraint, Constraint::Require(_));
                if has && self.selected.contains(other.text.as_str()) != require {
                    let verb = if require { "needs" } else { "excludes" };
                    self.refuse(other.span, format!("`{name}` {verb} `{}`", other.text));
                }
            }
            Constraint::Holds { out, expr, span } => {
                let required = has != *out;
                match self.value(expr, name) {
                    Ok(FeatureValue::Bool(true)) | Err(Undefined::Refused) => {}
                    Ok(FeatureValue::Bool(false)) | Err(Undefined::Zero) if !required => {}
                    Ok(FeatureValue::Bool(false)) => {
                        let with = if *out { "without" } else { "with" };
                        self.refuse(*span, format!("a constraint of products {with} `{name}`"));
                    }
                    Err(Undefined::Zero) => {
                        self.refuse(*span, format!("a constraint of `{name}` divides by 0"));
                    }
                    Err(Undefined::Unknown(what, at)) => {
                        let help = "declare it in the feature model, or name another one";
                        self.report_not_a_condition(at, &format!("there is no {what}"), help);
                    }
                    Err(Undefined::Types(operator)) => {
                        let label = format!("`{operator}` does not take these types");
                        self.report_not_a_condition(
                            *span,
                            &label,
                            "compare attributes: `Cost.cost < 10`",
                        );
                    }
                    Ok(_) => {
                        let label = "this is a value, not a condition";
                        self.report_not_a_condition(*span, label, "compare it: `Cost.cost < 10`");
                    }
                }
            }
        }
    }

    fn report_not_a_condition(&mut self, span: Span, label: &str, help: &str) {
        let message = "this is not a condition over features";
        let mistake = Diagnostic::new("A0252", span, message)
            .label(label)
            .help(help);
        self.mistakes.push(mistake);
    }

    /// Reports a feature that the model does not have. Returns whether it is unknown.
    fn unknown(&mut self, feature: &Name) -> bool {
        let unknown = !self.known.contains(feature.text.as_str());
        if unknown {
            let message = format!("there is no feature `{}`", feature.text);
            let mistake = Diagnostic::new("A0252", feature.span, message)
                .label("not in the feature model")
                .help("declare it in a group of a `root`");
            self.mistakes.push(mistake);
        }
        unknown
    }

    /// Returns the value of an expression in a feature.
    fn value(&self, expr: &FeatureExpr, here: &str) -> Result<FeatureValue, Undefined> {
        match expr {
            FeatureExpr::Bool(value) => Ok(FeatureValue::Bool(*value)),
            FeatureExpr::Int(value) => Ok(FeatureValue::Int(value.clone())),
            FeatureExpr::Text(value) => Ok(FeatureValue::Text(value.clone())),
            FeatureExpr::Feature(name) => {
                if self.known.contains(name.text.as_str()) {
                    Ok(FeatureValue::Bool(
                        self.selected.contains(name.text.as_str()),
                    ))
                } else {
                    let what = format!("feature `{}`", name.text);
                    Err(Undefined::Unknown(what, name.span))
                }
            }
            FeatureExpr::Attribute(of, name) => {
                let of = of.as_ref().map_or(here, |of| of.text.as_str());
                match self.values.get(&(of, name.text.as_str())) {
                    Some(value) => value.clone().ok_or(Undefined::Refused),
                    None => {
                        let what = format!("attribute `{of}.{}`", name.text);
                        Err(Undefined::Unknown(what, name.span))
                    }
                }
            }
            FeatureExpr::Unary(operator, inner) => match (*operator, self.value(inner, here)?) {
                ("!", FeatureValue::Bool(value)) => Ok(FeatureValue::Bool(!value)),
                ("-", FeatureValue::Int(value)) => Ok(FeatureValue::Int(-value)),
                _ => Err(Undefined::Types(operator)),
            },
            FeatureExpr::Chain(first, more) => {
                let mut left = self.value(first, here)?;
                for (operator, right) in more {
                    left = match (self.value(right, here), decides(operator, &left)) {
                        (Err(Undefined::Zero), Some(value)) => FeatureValue::Bool(value),
                        (right, _) => binary(operator, left, right?)?,
                    };
                }
                Ok(left)
            }
        }
    }
}

/// Returns the value of a logical operation, if its left operand alone determines the value.
fn decides(operator: &str, left: &FeatureValue) -> Option<bool> {
    match (operator, left) {
        ("&&", FeatureValue::Bool(false)) => Some(false),
        ("||", FeatureValue::Bool(true)) | ("->", FeatureValue::Bool(false)) => Some(true),
        _ => None,
    }
}

fn binary(
    operator: &'static str,
    left: FeatureValue,
    right: FeatureValue,
) -> Result<FeatureValue, Undefined> {
    if matches!(operator, "==" | "!=") && same_type(&left, &right) {
        return Ok(FeatureValue::Bool((left == right) == (operator == "==")));
    }
    match (left, right) {
        (FeatureValue::Bool(a), FeatureValue::Bool(b)) => Ok(FeatureValue::Bool(match operator {
            "&&" => a && b,
            "||" => a || b,
            "->" => !a || b,
            "<->" => a == b,
            _ => return Err(Undefined::Types(operator)),
        })),
        (FeatureValue::Int(a), FeatureValue::Int(b)) => Ok(match operator {
            "+" => FeatureValue::Int(a + b),
            "-" => FeatureValue::Int(a - b),
            "*" => FeatureValue::Int(a * b),
            "/" | "%" if b.is_zero() => return Err(Undefined::Zero),
            "/" => FeatureValue::Int(a / b),
            "%" => FeatureValue::Int(a % b),
            "<" => FeatureValue::Bool(a < b),
            "<=" => FeatureValue::Bool(a <= b),
            ">" => FeatureValue::Bool(a > b),
            ">=" => FeatureValue::Bool(a >= b),
            _ => return Err(Undefined::Types(operator)),
        }),
        _ => Err(Undefined::Types(operator)),
    }
}

fn same_type(left: &FeatureValue, right: &FeatureValue) -> bool {
    std::mem::discriminant(left) == std::mem::discriminant(right)
}

/// Returns the value of an attribute to which a product gives no value.
fn default_value(attribute: &Attribute) -> FeatureValue {
    match (attribute.ty.text.as_str(), &attribute.range) {
        ("Bool", _) => FeatureValue::Bool(false),
        ("String", _) => FeatureValue::Text(String::new()),
        (_, Range::OneOf(values)) => FeatureValue::Int(values.first().cloned().unwrap_or_default()),
        (_, Range::Between(from, to)) => {
            FeatureValue::Int(from.as_ref().or(to.as_ref()).cloned().unwrap_or_default())
        }
    }
}

/// Whether an attribute can have a value.
fn admits(attribute: &Attribute, value: &FeatureValue) -> bool {
    match (attribute.ty.text.as_str(), value) {
        ("Bool", FeatureValue::Bool(_)) | ("String", FeatureValue::Text(_)) => true,
        ("Int", FeatureValue::Int(value)) => match &attribute.range {
            Range::OneOf(values) => values.contains(value),
            Range::Between(from, to) => {
                from.as_ref().is_none_or(|from| from <= value)
                    && to.as_ref().is_none_or(|to| value <= to)
            }
        },
        _ => false,
    }
}

/// Returns the value that a product gives.
fn literal(expr: &Expr) -> Option<FeatureValue> {
    match &expr.kind {
        ExprKind::Int(value) => Some(FeatureValue::Int(value.clone())),
        ExprKind::Unary(Unary::Negate, inner) => match literal(inner)? {
            FeatureValue::Int(value) => Some(FeatureValue::Int(-value)),
            _ => None,
        },
        ExprKind::Text(text) => Some(FeatureValue::Text(text.clone())),
        ExprKind::Construct(name, args) if args.is_empty() => match name.text.as_str() {
            "True" => Some(FeatureValue::Bool(true)),
            "False" => Some(FeatureValue::Bool(false)),
            _ => None,
        },
        _ => None,
    }
}
