//! The syntax tree of traits, deltas, product lines and products.

use mazurka_diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;

use super::ast::{Clause, Data, Expr, Field, Item, Method, Name, Signature, Type};

/// A set of methods: written out, or the methods of a trait.
#[derive(Clone, Debug)]
pub(crate) enum Methods {
    Written(Vec<Method>),
    Trait(Name),
}

/// A change of a set of methods.
#[derive(Clone, Debug)]
pub(crate) enum MethodsChange {
    Adds(Methods),
    Modifies(Methods),
    Removes(Vec<Signature>),
}

/// `T adds { … } removes Unit m();`
#[derive(Clone, Debug)]
pub(crate) struct TraitExpr {
    pub first: Methods,
    pub changes: Vec<MethodsChange>,
}

/// A trait: a name for a set of methods.
#[derive(Clone, Debug)]
pub(crate) struct Trait {
    pub name: Name,
    pub expr: TraitExpr,
}

/// A part of `modifies class`.
#[derive(Clone, Debug)]
pub(crate) enum ClassChange {
    AddsField(Field),
    RemovesField(Name),
    Methods(MethodsChange),
}

/// A change that a delta makes.
#[derive(Clone, Debug)]
pub(crate) enum Modifier {
    Adds(Box<Item>),
    Removes(Name),
    ModifiesClass {
        name: Name,
        adds: Vec<Name>,
        removes: Vec<Name>,
        changes: Vec<ClassChange>,
    },
    ModifiesInterface {
        name: Name,
        adds: Vec<Signature>,
        removes: Vec<Signature>,
    },
    ModifiesSynonym(Name, Type),
    ModifiesData(Data),
    Imports(Clause),
    Exports(Clause),
}

/// A delta: changes of classes, interfaces and types that a product may apply.
#[derive(Clone, Debug)]
pub(crate) struct Delta {
    pub name: Name,
    pub parameters: Vec<Name>,
    /// The module of names without a module qualifier.
    pub uses: Option<Name>,
    pub modifiers: Vec<Modifier>,
    /// Whether it is in curly brackets, as in older versions of ABS.
    pub old: bool,
    /// For a delta in curly brackets: the module that contains it.
    pub within: Option<Name>,
    /// The reports on parts of ABS that the delta uses and that Mazurka does not explore.
    pub left_out: Vec<Diagnostic>,
}

/// A feature with the values of its attributes.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    pub name: Name,
    /// The attributes to which a value is given, by name.
    pub attributes: Vec<(String, Expr)>,
}

/// The condition under which a delta is applied.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Feature(Feature),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

/// An argument of a delta.
#[derive(Clone, Debug)]
pub(crate) enum DeltaArgument {
    /// `Feature.attribute`
    Attribute(Name, Name),
    /// A constant, or the name of a feature, which means whether the product has it.
    Value(Expr),
}

/// A line of a product line: `delta D(arguments) after E when condition`.
#[derive(Clone, Debug)]
pub(crate) struct DeltaClause {
    pub delta: Name,
    pub arguments: Vec<DeltaArgument>,
    pub after: Vec<Name>,
    pub when: Option<Condition>,
}

/// A product line: all features, and which deltas are applied for them.
#[derive(Clone, Debug)]
pub(crate) struct ProductLine {
    pub features: Vec<Feature>,
    pub clauses: Vec<DeltaClause>,
}

/// The features of a product: a list of features, the features of another product, or a combination
/// of two sets. `Both` (`&&`) is the intersection of the sets, `Either` (`||`) their union, and
/// `Without` (`-`) the first set without the second.
#[derive(Clone, Debug)]
pub(crate) enum ProductExpr {
    Features(Vec<Feature>),
    Product(Name),
    Both(Box<ProductExpr>, Box<ProductExpr>),
    Either(Box<ProductExpr>, Box<ProductExpr>),
    Without(Box<ProductExpr>, Box<ProductExpr>),
}

/// A product: a name for a set of features.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub name: Name,
    pub expr: ProductExpr,
}

/// The values that an attribute may have.
#[derive(Clone, Debug)]
pub(crate) enum Range {
    /// The least and the greatest value; `None` for `*`.
    Between(Option<BigInt>, Option<BigInt>),
    OneOf(Vec<BigInt>),
}

/// An attribute of a feature, such as `Int [0 .. 9] size`.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub ty: Name,
    pub name: Name,
    pub range: Range,
}

/// A condition over the features and attributes of a product.
#[derive(Clone, Debug)]
pub(crate) enum FeatureExpr {
    Bool(bool),
    Int(BigInt),
    Text(String),
    Feature(Name),
    /// An attribute of a feature, or of the feature that contains the constraint.
    Attribute(Option<Name>, Name),
    Unary(&'static str, Box<FeatureExpr>),
    /// A chain of left-associative operators of the same strength.
    Chain(Box<FeatureExpr>, Vec<(&'static str, FeatureExpr)>),
}

/// A constraint of a feature on products.
#[derive(Clone, Debug)]
pub(crate) enum Constraint {
    Require(Name),
    Exclude(Name),
    /// A condition on products that have the feature, or on those that do not (`ifout`).
    Holds {
        out: bool,
        expr: FeatureExpr,
        span: Span,
    },
}

/// A group of features, and how many of them a product has.
#[derive(Clone, Debug)]
pub(crate) struct FeatureGroup {
    /// The least number of members that a product with the group has.
    pub least: BigInt,
    /// The greatest number of members; `None` for no limit.
    pub most: Option<BigInt>,
    /// Whether all members are required, except the optional ones. If so, `least` and `most` do not
    /// count.
    pub all: bool,
    /// The features, and whether each is optional.
    pub members: Vec<(bool, FeatureNode)>,
    pub span: Span,
}

/// A feature of a feature model.
#[derive(Clone, Debug)]
pub(crate) struct FeatureNode {
    pub name: Name,
    pub group: Option<FeatureGroup>,
    pub attributes: Vec<Attribute>,
    pub constraints: Vec<Constraint>,
}

/// The declarations of a model outside of its modules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variability {
    /// The features that every product has, with the features below them.
    pub roots: Vec<FeatureNode>,
    /// Extensions of features that are declared elsewhere in the feature model.
    pub extensions: Vec<FeatureNode>,
    pub deltas: Vec<Delta>,
    pub line: Option<ProductLine>,
    pub products: Vec<Product>,
}

impl Variability {
    /// Whether there are no deltas, product lines or products.
    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty() && self.line.is_none() && self.products.is_empty()
    }
}
