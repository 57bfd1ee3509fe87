//! Parses traits, deltas, product lines and products.

use mazurka_diagnostics::Diagnostic;

use super::{Parsed, Parser};
use crate::syntax::ast::{Expr, ExprKind, Field, Item, Name, Signature};
use crate::syntax::token::TokenKind;
use crate::syntax::variability::{
    ClassChange, Condition, Delta, DeltaArgument, DeltaClause, Feature, Methods, MethodsChange,
    Modifier, Product, ProductExpr, ProductLine, Trait, TraitExpr,
};

/// The keywords of declarations outside of modules.
const OUTSIDE_MODULES: [&str; 5] = ["delta", "productline", "product", "root", "extension"];

impl Parser<'_> {
    /// Whether a delta, a product line, a product or a feature model starts here.
    pub(super) fn starts_outside_modules(&self) -> bool {
        let named = matches!(self.peek_at(1), TokenKind::TypeName(_));
        named && OUTSIDE_MODULES.iter().any(|word| self.is(word))
    }

    /// Parses a declaration outside of modules. `within` is the preceding module, to which the
    /// declaration belongs in older versions of ABS.
    pub(super) fn outside_modules(&mut self, within: Option<Name>) -> Parsed<()> {
        let start = self.span_here();
        if self.accept("delta") {
            let before = self.mistakes.len();
            let mut delta = self.delta()?;
            if delta.old {
                delta.within = within;
            }
            // The excluded parts of ABS in a delta are reported only if the delta is applied.
            let found = self.mistakes.split_off(before);
            let (left_out, wrong) = { found.into_iter() }.partition(|m| m.code.starts_with("A03"));
            delta.left_out = left_out;
            self.mistakes.extend::<Vec<Diagnostic>>(wrong);
            self.variability.deltas.push(delta);
        } else if self.accept("productline") {
            let line = self.product_line()?;
            if self.variability.line.is_some() {
                let mistake = Diagnostic::new("A0256", start, "a second product line")
                    .label("a model has one")
                    .help("put both into one");
                return Err(self.mistake(mistake));
            }
            self.variability.line = Some(line);
        } else if self.accept("product") {
            let product = self.product()?;
            self.variability.products.push(product);
        } else if self.accept("root") {
            let root = self.feature_node()?;
            self.variability.roots.push(root);
        } else {
            self.next();
            let extension = self.feature_node()?;
            self.variability.extensions.push(extension);
        }
        Ok(())
    }

    pub(super) fn trait_decl(&mut self) -> Parsed<Trait> {
        self.next();
        let name = self.type_name("the name of a trait")?;
        self.expect("=")?;
        let expr = self.trait_expr()?;
        Ok(Trait { name, expr })
    }

    pub(super) fn trait_expr(&mut self) -> Parsed<TraitExpr> {
        let first = self.some_methods()?;
        let mut changes = Vec::new();
        while self.is("adds") || self.is("modifies") || self.is("removes") {
            changes.push(self.methods_change()?);
        }
        Ok(TraitExpr { first, changes })
    }

    fn some_methods(&mut self) -> Parsed<Methods> {
        if self.accept("{") {
            let mut all = Vec::new();
            while !self.accept("}") {
                if self.peek() == &TokenKind::End {
                    self.expect("}")?;
                }
                all.push(self.method()?);
            }
            return Ok(Methods::Written(all));
        }
        let alone = matches!(self.peek(), TokenKind::TypeName(_))
            && !matches!(self.peek_at(1), TokenKind::Name(_))
            && !self.is_at(1, "<")
            && !self.is_at(1, ".");
        let contextual = ["adds", "modifies", "removes", "trait", "uses", "delta"];
        let named = alone || contextual.iter().any(|word| self.is_at(1, word));
        if named {
            Ok(Methods::Trait(self.type_name("the name of a trait")?))
        } else {
            Ok(Methods::Written(vec![self.method()?]))
        }
    }

    fn methods_change(&mut self) -> Parsed<MethodsChange> {
        if self.accept("adds") {
            return Ok(MethodsChange::Adds(self.some_methods()?));
        }
        if self.accept("modifies") {
            return Ok(MethodsChange::Modifies(self.some_methods()?));
        }
        self.expect("removes")?;
        Ok(MethodsChange::Removes(self.signatures()?))
    }

    /// Parses one signature, or several in brackets.
    fn signatures(&mut self) -> Parsed<Vec<Signature>> {
        let mut all = Vec::new();
        let several = self.accept("{");
        while !several || !self.accept("}") {
            all.push(self.signature()?);
            self.expect(";")?;
            if !several {
                break;
            }
        }
        Ok(all)
    }

    fn delta(&mut self) -> Parsed<Delta> {
        let name = self.type_name("the name of a delta")?;
        let mut parameters = Vec::new();
        if self.is("(") {
            parameters = self.in_brackets(|parser| {
                parser.annotations()?;
                let ty = parser.ty()?;
                if parser.has_condition()? {
                    let mistake = Diagnostic::new("A0303", ty.span, "a class as a parameter")
                        .label("deltas take values only")
                        .help("write the delta for the class that is meant");
                    parser.mistake(mistake);
                    return Ok(ty.name);
                }
                parser.name("the name of a parameter")
            })?;
        }
        let old = self.accept("{");
        if !old {
            self.expect(";")?;
        }
        self.old_deltas |= old;
        let mut delta = Delta {
            name,
            parameters,
            uses: None,
            modifiers: Vec::new(),
            old,
            within: None,
            left_out: Vec::new(),
        };
        if self.accept("uses") {
            delta.uses = Some(self.qualified_type("the name of a module")?);
            self.expect(";")?;
        }
        while self.is("adds") || self.is("modifies") || self.is("removes") {
            delta.modifiers.push(self.modifier(old)?);
        }
        if old {
            self.expect("}")?;
        }
        Ok(delta)
    }

    /// Parses and ignores a requirement on a class parameter of a delta: `hasField`, `hasMethod` or
    /// `hasInterface`. Returns whether there was one.
    fn has_condition(&mut self) -> Parsed<bool> {
        if self.accept("hasField") {
            self.ty()?;
            self.name("the name of a field")?;
            self.accept(";");
        } else if self.accept("hasMethod") {
            self.signature()?;
            self.accept(";");
        } else if self.accept("hasInterface") {
            self.qualified_type("the name of an interface")?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Parses a change. In an old delta (`old`), `removes class C` has no semicolon.
    fn modifier(&mut self, old: bool) -> Parsed<Modifier> {
        if self.accept("adds") {
            return self.added();
        }
        if self.accept("removes") {
            if !self.accept("class") {
                self.expect("interface")?;
            }
            let name = self.qualified_type("the name of a class or interface")?;
            if !self.accept(";") && !old {
                self.expect(";")?;
            }
            return Ok(Modifier::Removes(name));
        }
        self.expect("modifies")?;
        match *self.peek() {
            TokenKind::Keyword("class") => {
                self.next();
                self.modified_class(old)
            }
            TokenKind::Keyword("interface") => {
                self.next();
                self.modified_interface()
            }
            TokenKind::Keyword("data") => Ok(Modifier::ModifiesData(self.data()?)),
            _ => {
                self.expect("type")?;
                let name = self.qualified_type("the name of a type")?;
                self.expect("=")?;
                let ty = self.ty()?;
                self.expect(";")?;
                Ok(Modifier::ModifiesSynonym(name, ty))
            }
        }
    }

    fn added(&mut self) -> Parsed<Modifier> {
        let annotations = self.annotations()?;
        let item = match *self.peek() {
            TokenKind::Keyword("import") => return Ok(Modifier::Imports(self.clause()?)),
            TokenKind::Keyword("export") => return Ok(Modifier::Exports(self.clause()?)),
            TokenKind::Keyword("data") => Item::Data(self.data()?),
            TokenKind::Keyword("def") => Item::Def(self.def()?),
            TokenKind::Keyword("interface") => Item::Interface(self.interface()?),
            TokenKind::Keyword("class") => {
                let mut class = self.class()?;
                class.annotations = annotations;
                Item::Class(class)
            }
            _ => {
                self.expect("type")?;
                let name = self.qualified_type("the name of a type")?;
                self.expect("=")?;
                let ty = self.ty()?;
                self.expect(";")?;
                Item::Synonym(name, ty)
            }
        };
        Ok(Modifier::Adds(Box::new(item)))
    }

    fn modified_class(&mut self, old: bool) -> Parsed<Modifier> {
        let name = self.qualified_type("the name of a class")?;
        let adds = if old {
            self.names_after("implements")?
        } else {
            self.names_after("adds")?
        };
        let removes = self.names_after("removes")?;
        self.expect("{")?;
        let mut changes = Vec::new();
        while !self.accept("}") {
            changes.push(self.class_change()?);
        }
        Ok(Modifier::ModifiesClass {
            name,
            adds,
            removes,
            changes,
        })
    }

    /// Parses a change of a class. The token after the declared name distinguishes a field from a
    /// method.
    fn class_change(&mut self) -> Parsed<ClassChange> {
        let field = self.field_follows();
        if field && self.accept("adds") {
            let field = self.field_decl()?;
            return Ok(ClassChange::AddsField(field));
        }
        if field && self.accept("removes") {
            let field = self.field_decl()?;
            return Ok(ClassChange::RemovesField(field.name));
        }
        if !self.is("adds") && !self.is("modifies") && !self.is("removes") {
            return Err(self.expected("`adds`, `modifies` or `removes`"));
        }
        Ok(ClassChange::Methods(self.methods_change()?))
    }

    /// Whether the next `=`, `;`, `(` or `{` shows that the declaration is a field.
    fn field_follows(&self) -> bool {
        let mut ahead = 1;
        // Annotations come first.
        while self.is_at(ahead, "[") {
            while !self.is_at(ahead, "]") && self.peek_at(ahead) != &TokenKind::End {
                ahead += 1;
            }
            ahead += 1;
        }
        loop {
            match self.peek_at(ahead) {
                TokenKind::Symbol("=" | ";") => return true,
                TokenKind::Symbol("(" | "{" | "}") | TokenKind::End => return false,
                _ => ahead += 1,
            }
        }
    }

    fn field_decl(&mut self) -> Parsed<Field> {
        let annotations = self.annotations()?;
        let mut ty = self.ty()?;
        ty.nonnull |= annotations.has("Nonnull");
        let name = self.name("the name of a field")?;
        let value = if self.accept("=") {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect(";")?;
        let fixed = annotations.has("Final");
        Ok(Field {
            ty,
            name,
            value,
            fixed,
        })
    }

    fn modified_interface(&mut self) -> Parsed<Modifier> {
        let name = self.qualified_type("the name of an interface")?;
        self.expect("{")?;
        let (mut adds, mut removes) = (Vec::new(), Vec::new());
        while !self.accept("}") {
            if self.accept("adds") {
                adds.extend(self.signatures()?);
            } else {
                self.expect("removes")?;
                removes.extend(self.signatures()?);
            }
        }
        Ok(Modifier::ModifiesInterface {
            name,
            adds,
            removes,
        })
    }

    fn feature(&mut self) -> Parsed<Feature> {
        let name = self.type_name("the name of a feature")?;
        self.accept("'");
        let mut attributes = Vec::new();
        if self.accept("{") {
            attributes = self.list(|parser| {
                let name = parser.name("the name of an attribute")?;
                parser.expect("=")?;
                Ok((name.text, parser.expr()?))
            })?;
            self.expect("}")?;
        }
        Ok(Feature { name, attributes })
    }

    fn product_line(&mut self) -> Parsed<ProductLine> {
        self.type_name("the name of a product line")?;
        let old = self.accept("{");
        if !old {
            self.expect(";")?;
        }
        self.old_deltas |= old;
        self.expect("features")?;
        let features = self.list(Self::feature)?;
        self.expect(";")?;
        let mut clauses = Vec::new();
        while self.accept("delta") {
            clauses.push(self.delta_clause()?);
        }
        if old {
            self.expect("}")?;
        }
        Ok(ProductLine { features, clauses })
    }

    fn delta_clause(&mut self) -> Parsed<DeltaClause> {
        let delta = self.type_name("the name of a delta")?;
        let mut arguments = Vec::new();
        if self.is("(") {
            arguments = self.in_brackets(|parser| {
                let attribute =
                    matches!(parser.peek(), TokenKind::TypeName(_)) && parser.is_at(1, ".");
                if !attribute {
                    return Ok(DeltaArgument::Value(parser.expr()?));
                }
                let feature = parser.type_name("the name of a feature")?;
                parser.expect(".")?;
                let name = parser.name("the name of an attribute")?;
                Ok(DeltaArgument::Attribute(feature, name))
            })?;
        }
        let after = if self.accept("after") {
            self.list(|parser| parser.type_name("the name of a delta"))?
        } else {
            Vec::new()
        };
        if self.accept("from") {
            self.condition(0)?;
        }
        let when = if self.accept("when") || self.accept("to") {
            Some(self.condition(0)?)
        } else {
            None
        };
        self.expect(";")?;
        Ok(DeltaClause {
            delta,
            arguments,
            after,
            when,
        })
    }

    fn condition(&mut self, least: u8) -> Parsed<Condition> {
        let mut left = self.nested(|parser| {
            if parser.accept("!") {
                return Ok(Condition::Not(Box::new(parser.condition(2)?)));
            }
            if parser.accept("(") {
                let inner = parser.condition(0)?;
                parser.expect(")")?;
                return Ok(inner);
            }
            Ok(Condition::Feature(parser.feature()?))
        })?;
        loop {
            if least < 2 && self.accept("&&") {
                left = Condition::And(Box::new(left), Box::new(self.condition(2)?));
            } else if least < 1 && self.accept("||") {
                left = Condition::Or(Box::new(left), Box::new(self.condition(1)?));
            } else {
                return Ok(left);
            }
        }
    }

    fn product(&mut self) -> Parsed<Product> {
        let name = self.type_name("the name of a product")?;
        let expr = if self.accept("=") {
            self.product_expr(0)?
        } else {
            ProductExpr::Features(self.in_brackets(Self::feature)?)
        };
        self.expect(";")?;
        Ok(Product { name, expr })
    }

    fn product_expr(&mut self, least: u8) -> Parsed<ProductExpr> {
        let mut left = self.nested(|parser| {
            if parser.accept("{") {
                let features = parser.list(Self::feature)?;
                parser.expect("}")?;
                return Ok(ProductExpr::Features(features));
            }
            if parser.accept("(") {
                let inner = parser.product_expr(0)?;
                parser.expect(")")?;
                return Ok(inner);
            }
            Ok(ProductExpr::Product(
                parser.type_name("the name of a product")?,
            ))
        })?;
        loop {
            if least < 3 && self.accept("&&") {
                left = ProductExpr::Both(Box::new(left), Box::new(self.product_expr(3)?));
            } else if least < 2 && self.accept("||") {
                left = ProductExpr::Either(Box::new(left), Box::new(self.product_expr(2)?));
            } else if least < 1 && self.accept("-") {
                left = ProductExpr::Without(Box::new(left), Box::new(self.product_expr(1)?));
            } else {
                return Ok(left);
            }
        }
    }

    /// Parses `original(…)`, `core.original(…)` or `Delta.original(…)`, which call an earlier
    /// version of the method. Returns `None` if the next words are something else.
    pub(super) fn original(&mut self) -> Parsed<Option<ExprKind>> {
        let start = self.span_here();
        let of = match self.peek().clone() {
            TokenKind::Name(text) if text == "original" && self.is_at(1, "(") => None,
            TokenKind::Name(text) | TokenKind::TypeName(text) => {
                let called = matches!(self.peek_at(2), TokenKind::Name(name) if name == "original");
                if !(called && self.is_at(1, ".") && self.is_at(3, "(")) {
                    return Ok(None);
                }
                self.next();
                self.next();
                Some(Name { text, span: start })
            }
            _ => return Ok(None),
        };
        self.next();
        let args: Vec<Expr> = self.in_brackets(Self::expr)?;
        Ok(Some(ExprKind::Original(of, args)))
    }
}
