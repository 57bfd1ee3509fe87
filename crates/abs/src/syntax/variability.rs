//! The syntax tree of traits, deltas, product lines and products.

use mazurka_diagnostics::{Diagnostic, Span};
use num_bigint::BigInt;

use super::ast::{Clause, Data, Expr, Field, Item, Method, Name, Signature, Type};

/// Methods: written out, or those of a trait.
#[derive(Clone, Debug)]
pub(crate) enum Methods {
    Written(Vec<Method>),
    Trait(Name),
}

/// What is done to a set of methods.
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

/// What a delta does.
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

#[derive(Clone, Debug)]
pub(crate) struct Delta {
    pub name: Name,
    pub parameters: Vec<Name>,
    /// The module that names without a module belong to.
    pub uses: Option<Name>,
    pub modifiers: Vec<Modifier>,
    /// Whether it is in curly brackets, as in older versions of ABS.
    pub old: bool,
    /// The module that such a delta stands in.
    pub within: Option<Name>,
    /// The reports on what it uses and is left out.
    pub left_out: Vec<Diagnostic>,
}

/// A feature with the values of its attributes.
#[derive(Clone, Debug)]
pub(crate) struct Feature {
    pub name: Name,
    pub attributes: Vec<(String, Expr)>,
}

/// When a delta is applied.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    Feature(Feature),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

/// What a delta is given.
#[derive(Clone, Debug)]
pub(crate) enum DeltaArgument {
    /// `Feature.attribute`
    Attribute(Name, Name),
    /// A constant, or whether a feature is there.
    Value(Expr),
}

#[derive(Clone, Debug)]
pub(crate) struct DeltaClause {
    pub delta: Name,
    pub arguments: Vec<DeltaArgument>,
    pub after: Vec<Name>,
    pub when: Option<Condition>,
}

#[derive(Clone, Debug)]
pub(crate) struct ProductLine {
    pub features: Vec<Feature>,
    pub clauses: Vec<DeltaClause>,
}

/// The features of a product.
#[derive(Clone, Debug)]
pub(crate) enum ProductExpr {
    Features(Vec<Feature>),
    Product(Name),
    Both(Box<ProductExpr>, Box<ProductExpr>),
    Either(Box<ProductExpr>, Box<ProductExpr>),
    Without(Box<ProductExpr>, Box<ProductExpr>),
}

#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub name: Name,
    pub expr: ProductExpr,
}

/// The values that an attribute may have.
#[derive(Clone, Debug)]
pub(crate) enum Range {
    /// None for `*`.
    Between(Option<BigInt>, Option<BigInt>),
    OneOf(Vec<BigInt>),
}

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
    /// Of a feature, or of the one that the constraint stands in.
    Attribute(Option<Name>, Name),
    Unary(&'static str, Box<FeatureExpr>),
    /// Operators that bind alike, from the left.
    Chain(Box<FeatureExpr>, Vec<(&'static str, FeatureExpr)>),
}

/// What a feature asks of products.
#[derive(Clone, Debug)]
pub(crate) enum Constraint {
    Require(Name),
    Exclude(Name),
    /// For products that have the feature, or for those that do not (`ifout`).
    Holds {
        out: bool,
        expr: FeatureExpr,
        span: Span,
    },
}

/// How many of some features a product has.
#[derive(Clone, Debug)]
pub(crate) struct FeatureGroup {
    pub least: BigInt,
    pub most: Option<BigInt>,
    /// All of them but the optional ones.
    pub all: bool,
    /// Each with whether it is optional.
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

/// All that stands beside the modules of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variability {
    /// The feature model: features that every product has, and what is said of others elsewhere.
    pub roots: Vec<FeatureNode>,
    pub extensions: Vec<FeatureNode>,
    pub deltas: Vec<Delta>,
    pub line: Option<ProductLine>,
    pub products: Vec<Product>,
}

impl Variability {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.deltas.is_empty() && self.line.is_none() && self.products.is_empty()
    }
}
