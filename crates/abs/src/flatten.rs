//! Turns a product line into one ordinary model. It works on syntax trees. First it adds the
//! methods of traits to the classes that use them; the result is the *core*. Then it applies the
//! deltas of a product to the core, in an order that the product line allows. The resulting modules
//! are checked like any others. All declarations keep their places in the source, so a message
//! about code from a delta points into the delta.
//!
//! | ABS | here |
//! |---|---|
//! | `uses T` | the methods of T become methods of the class |
//! | `modifies m` | the method is replaced; the old one gets a *hidden* name that no program has |
//! | `original(…)` | a call of the method that was replaced |
//! | `core.original(…)`, `D.original(…)` | a call of the version that the core, or D, made |
//! | `delta D after E when F` | D is applied after E, if the product has F |
//!
//! [`features`](crate::features) checks whether the feature model allows the product.

use mazurka_diagnostics::{Diagnostic, Span, nearest};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::delta_order::in_order;
use crate::features;
use crate::syntax::ast::{Class, Expr, ExprKind, Item, Method, Module, Name};
use crate::syntax::parser::Model;
use crate::syntax::variability::{
    ClassChange, Condition, Delta, DeltaArgument, DeltaClause, Feature, Methods, MethodsChange,
    Modifier, ProductExpr, TraitExpr, Variability,
};
use crate::syntax::visit;

/// Limit on the nesting of traits and products.
const MAX_DEPTH: usize = 50;

/// Limit on the number of traits and products that are expanded.
const MAX_EXPANDED: usize = 10_000;

/// The name of the core of the program in `core.original()`.
const CORE: &str = "core";

/// For each method, given by module, class and name: its versions. Each version has an origin,
/// which is [`CORE`] or a delta, and its current name in the class.
type Versions = FxHashMap<(String, String, String), Vec<(String, String)>>;

/// The modules while traits and deltas are applied to them.
struct Flattener<'a> {
    modules: Vec<Module>,
    variability: &'a Variability,
    versions: Versions,
    /// How many traits and products were expanded.
    expanded: usize,
    /// The number of hidden names made so far, which makes the next name unique.
    hidden: usize,
    mistakes: Vec<Diagnostic>,
}

/// Returns the modules of a product, or the core if no product is given.
pub(crate) fn flatten(
    model: Model,
    product: Option<&str>,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<Module> {
    let mut flattener = Flattener {
        modules: model.modules,
        variability: &model.variability,
        versions: Versions::default(),
        expanded: 0,
        hidden: 0,
        mistakes: Vec::new(),
    };
    flattener.check_line();
    flattener.apply_traits();
    if let Some(product) = product {
        flattener.apply_product(product);
        flattener.apply_traits();
    }
    mistakes.append(&mut flattener.mistakes);
    for module in &mut flattener.modules {
        for item in &mut module.items {
            if let Item::Class(class) = item {
                drop_unused(class);
            }
        }
    }
    flattener.modules
}

/// Removes hidden versions of methods that are not called, because they may use removed
/// declarations.
fn drop_unused(class: &mut Class) {
    let mut calls: FxHashMap<String, Vec<String>> = FxHashMap::default();
    for method in &mut class.methods {
        let called = calls.entry(method.signature.name.text.clone()).or_default();
        visit::method(method, &mut |expr: &mut Expr| {
            if let ExprKind::Sync(_, name, _) = &expr.kind
                && is_hidden(&name.text)
            {
                called.push(name.text.clone());
            }
        });
    }
    let names = calls.keys().filter(|name| !is_hidden(name));
    let mut pending: Vec<String> = names.cloned().collect();
    let mut used: FxHashSet<String> = FxHashSet::default();
    while let Some(name) = pending.pop() {
        pending.extend(calls.remove(&name).into_iter().flatten());
        used.insert(name);
    }
    let used = |method: &Method| used.contains(&method.signature.name.text);
    class.methods.retain(used);
}

fn is_hidden(method: &str) -> bool {
    method.contains('$')
}

fn short(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

impl Flattener<'_> {
    fn report(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        let mistake = Diagnostic::new(code, span, message).help(help);
        self.mistakes.push(mistake);
    }

    /// Adds the methods of traits to the classes that use them.
    fn apply_traits(&mut self) {
        for module in 0..self.modules.len() {
            for item in 0..self.modules[module].items.len() {
                let Item::Class(class) = &mut self.modules[module].items[item] else {
                    continue;
                };
                let uses = std::mem::take(&mut class.uses);
                for used in uses {
                    let methods = self.trait_methods(module, &used, 0);
                    let place = (module, item);
                    self.add_methods(place, methods);
                }
            }
        }
    }

    fn class_at(&mut self, (module, item): (usize, usize)) -> Option<&mut Class> {
        match self.modules[module].items.get_mut(item) {
            Some(Item::Class(class)) => Some(class),
            _ => None,
        }
    }

    fn add_methods(&mut self, place: (usize, usize), methods: Vec<Method>) {
        for method in methods {
            let name = method.signature.name.clone();
            let Some(class) = self.class_at(place) else {
                return;
            };
            if class
                .methods
                .iter()
                .any(|m| m.signature.name.text == name.text)
            {
                let message = format!("the method `{}` is there already", name.text);
                self.report("A0250", name.span, message, "modify it, or remove it first");
                continue;
            }
            class.methods.push(method);
        }
    }

    /// Returns the methods that a trait expression denotes.
    fn trait_methods(&mut self, module: usize, expr: &TraitExpr, depth: usize) -> Vec<Method> {
        let mut all = self.methods(module, &expr.first, depth);
        for change in &expr.changes {
            match change {
                MethodsChange::Adds(methods) => {
                    for method in self.methods(module, methods, depth) {
                        let name = method.signature.name.clone();
                        if all
                            .iter()
                            .any(|m: &Method| m.signature.name.text == name.text)
                        {
                            let message = format!("the method `{}` is there already", name.text);
                            self.report("A0250", name.span, message, "modify it instead");
                            continue;
                        }
                        all.push(method);
                    }
                }
                MethodsChange::Modifies(methods) => {
                    for method in self.methods(module, methods, depth) {
                        let key = ("trait".to_owned(), String::new(), String::new());
                        self.replace(&mut all, method, &key, "");
                    }
                }
                MethodsChange::Removes(signatures) => {
                    for signature in signatures {
                        self.remove(&mut all, &signature.name);
                    }
                }
            }
        }
        all
    }

    fn methods(&mut self, module: usize, methods: &Methods, depth: usize) -> Vec<Method> {
        let name = match methods {
            Methods::Written(all) => return all.clone(),
            Methods::Trait(name) => name,
        };
        let traits = |module: &Module| {
            let found = module
                .traits
                .iter()
                .find(|t| t.name.text == short(&name.text));
            found.map(|found| found.expr.clone())
        };
        let here = self.modules.get(module).and_then(traits);
        let Some(expr) = here.or_else(|| self.modules.iter().find_map(traits)) else {
            let message = format!("there is no trait `{}`", name.text);
            self.report("A0253", name.span, message, "declare it: `trait T = { … }`");
            return Vec::new();
        };
        self.expanded += 1;
        if depth > MAX_DEPTH || self.expanded > MAX_EXPANDED {
            // One report for a cycle is enough.
            if self.expanded >= MAX_EXPANDED {
                return Vec::new();
            }
            self.expanded = MAX_EXPANDED;
            let message = format!("the trait `{}` is made of itself", name.text);
            self.report("A0253", name.span, message, "remove one use");
            return Vec::new();
        }
        self.trait_methods(module, &expr, depth + 1)
    }

    /// Removes a method, or reports that there is no such method.
    fn remove(&mut self, methods: &mut Vec<Method>, name: &Name) {
        let before = methods.len();
        methods.retain(|method| method.signature.name.text != name.text);
        if methods.len() == before {
            let message = format!("there is no method `{}` to remove", name.text);
            self.report("A0250", name.span, message, "name one that is there");
        }
    }

    /// Replaces the method with the same name; the new method can call the old one by `original`.
    fn replace(
        &mut self,
        methods: &mut Vec<Method>,
        mut method: Method,
        (module, class, _): &(String, String, String),
        delta: &str,
    ) {
        let name = method.signature.name.text.clone();
        let versions = {
            let key = (module.clone(), class.clone(), name.clone());
            self.versions.entry(key).or_default()
        };
        let known = methods.iter_mut().find(|m| m.signature.name.text == name);
        if let Some(known) = known {
            if versions.is_empty() {
                versions.push((CORE.to_owned(), String::new()));
            }
            self.hidden += 1;
            let hidden = format!("{name}${}", self.hidden);
            known.signature.name.text.clone_from(&hidden);
            if let Some(last) = versions.last_mut() {
                last.1 = hidden;
            }
        }
        let versions: Vec<(String, String)> = versions.clone();
        let mut wrong: Vec<Span> = Vec::new();
        visit::method(&mut method, &mut |expr: &mut Expr| {
            let ExprKind::Original(of, args) = &mut expr.kind else {
                return;
            };
            let found = match of {
                None => versions.last(),
                Some(of) => versions
                    .iter()
                    .rev()
                    .find(|(made_by, _)| *made_by == of.text),
            };
            let Some((_, hidden)) = found else {
                wrong.push(expr.span);
                return;
            };
            let this = Expr {
                kind: ExprKind::This,
                span: expr.span,
            };
            let called = Name {
                text: hidden.clone(),
                span: expr.span,
            };
            expr.kind = ExprKind::Sync(Box::new(this), called, std::mem::take(args));
        });
        for span in wrong {
            let message = format!("there is no other version of `{name}`");
            self.report(
                "A0254",
                span,
                message,
                "only a method that is modified has one",
            );
        }
        let key = (module.clone(), class.clone(), name);
        let versions = self.versions.entry(key).or_default();
        versions.push((delta.to_owned(), String::new()));
        methods.push(method);
    }

    fn apply_product(&mut self, product: &str) {
        let names: Vec<&str> = { self.variability.products.iter() }
            .map(|product| product.name.text.as_str())
            .collect();
        let found = self
            .variability
            .products
            .iter()
            .find(|p| p.name.text == product);
        let Some(found) = found else {
            let near = nearest(product, names).map(|near| format!("did you mean `{near}`?"));
            let message = format!("`--product {product}`: there is no product `{product}`");
            let help = near.unwrap_or_else(|| "declare it: `product P (F, G);`".to_owned());
            return self.report("A0252", Span::default(), message, &help);
        };
        let features = self.features(&found.expr, 0);
        let Some(line) = &self.variability.line else {
            let message = "there is no product line".to_owned();
            let help = "declare it: `productline L; features F; delta D when F;`";
            return self.report("A0252", found.name.span, message, help);
        };
        for feature in &features {
            if !line
                .features
                .iter()
                .any(|f| f.name.text == feature.name.text)
            {
                let message = format!("the product line has no feature `{}`", feature.name.text);
                self.report(
                    "A0252",
                    feature.name.span,
                    message,
                    "list it under `features`",
                );
            }
        }
        let allowed = features::check(self.variability, &found.name, &features);
        self.mistakes.extend(allowed);
        let wanted = |clause: &&DeltaClause| match &clause.when {
            None => true,
            Some(when) => holds(when, &features),
        };
        let clauses: Vec<&DeltaClause> = line.clauses.iter().filter(wanted).collect();
        let (ordered, cyclic) = in_order(&clauses);
        if let Some(first) = cyclic {
            let message = format!("the delta `{}` comes after itself", first.text);
            self.report("A0251", first.span, message, "take one `after` out");
        }
        for clause in ordered {
            self.apply(clause, &features);
        }
    }

    /// Reports features that are listed twice, and products with the same name.
    fn check_line(&mut self) {
        let line = self.variability.line.iter().flat_map(|line| &line.features);
        let features: Vec<&Name> = line.map(|feature| &feature.name).collect();
        let products = self.variability.products.iter();
        let products: Vec<&Name> = products.map(|product| &product.name).collect();
        let deltas = self.variability.deltas.iter();
        let deltas: Vec<&Name> = deltas.map(|delta| &delta.name).collect();
        for (what, names) in [
            ("feature", features),
            ("product", products),
            ("delta", deltas),
        ] {
            for (at, name) in names.iter().enumerate() {
                if names[..at].iter().any(|known| known.text == name.text) {
                    let message = format!("the {what} `{}` is declared already", name.text);
                    self.report("A0252", name.span, message, "choose another name");
                }
            }
        }
        for delta in &self.variability.deltas {
            for modifier in &delta.modifiers {
                if let Modifier::Adds(item) = modifier
                    && delta.uses.is_none()
                    && delta.within.is_none()
                {
                    let name = declared(&mut item.clone()).clone();
                    if !name.text.contains('.') {
                        let message = format!("it is not clear which module `{}` is in", name.text);
                        let help = "write the module before it, or `uses M;` at the start";
                        self.report("A0250", name.span, message, help);
                    }
                }
            }
        }
    }

    fn features(&mut self, expr: &ProductExpr, depth: usize) -> Vec<Feature> {
        let has = |all: &[Feature], one: &Feature| all.iter().any(|f| f.name.text == one.name.text);
        match expr {
            ProductExpr::Features(features) => features.clone(),
            ProductExpr::Product(name) => {
                let products = &self.variability.products;
                let found = products.iter().find(|p| p.name.text == name.text);
                self.expanded += 1;
                match found.filter(|_| depth < MAX_DEPTH && self.expanded < MAX_EXPANDED) {
                    Some(found) => self.features(&found.expr, depth + 1),
                    None => {
                        let message = format!("there is no product `{}`", name.text);
                        self.report("A0252", name.span, message, "products may not be cyclic");
                        Vec::new()
                    }
                }
            }
            ProductExpr::Both(one, other) => {
                let other = self.features(other, depth + 1);
                let mut one = self.features(one, depth + 1);
                one.retain(|feature| has(&other, feature));
                one
            }
            ProductExpr::Either(one, other) => {
                let mut one = self.features(one, depth + 1);
                let mut other = self.features(other, depth + 1);
                other.retain(|feature| !has(&one, feature));
                one.append(&mut other);
                one
            }
            ProductExpr::Without(one, other) => {
                let other = self.features(other, depth + 1);
                let mut one = self.features(one, depth + 1);
                one.retain(|feature| !has(&other, feature));
                one
            }
        }
    }

    fn apply(&mut self, clause: &DeltaClause, features: &[Feature]) {
        let deltas = &self.variability.deltas;
        let Some(delta) = deltas
            .iter()
            .find(|delta| delta.name.text == clause.delta.text)
        else {
            let message = format!("there is no delta `{}`", clause.delta.text);
            return self.report(
                "A0250",
                clause.delta.span,
                message,
                "declare it: `delta D;`",
            );
        };
        if delta.parameters.len() != clause.arguments.len() {
            let (wanted, given) = (delta.parameters.len(), clause.arguments.len());
            let message = format!("`{}` takes {wanted} values", clause.delta.text);
            let help = format!("{given} are given");
            return self.report("A0250", clause.delta.span, message, &help);
        }
        let mut values: Vec<(String, Expr)> = Vec::new();
        for (parameter, argument) in delta.parameters.iter().zip(&clause.arguments) {
            match value(argument, features, clause) {
                Ok(value) => values.push((parameter.text.clone(), value)),
                Err((span, message)) => {
                    self.report(
                        "A0252",
                        span,
                        message,
                        "give it where the product is declared",
                    );
                }
            }
        }
        self.mistakes.extend(delta.left_out.iter().cloned());
        for modifier in &delta.modifiers {
            self.modify(modifier, delta, &values);
        }
    }

    /// Returns the module to which a name in a delta belongs.
    fn home(&mut self, name: &Name, delta: &Delta) -> Option<usize> {
        let home = match (name.text.rsplit_once('.'), &delta.uses) {
            (Some((home, _)), _) => home.to_owned(),
            (None, Some(uses)) => uses.text.clone(),
            (None, None) => {
                let declares = |module: &Module| find(module, &name.text).is_some();
                if let Some(home) = self.modules.iter().position(declares) {
                    return Some(home);
                }
                delta
                    .within
                    .as_ref()
                    .map_or(String::new(), |w| w.text.clone())
            }
        };
        let found = self
            .modules
            .iter()
            .position(|module| module.name.text == home);
        if found.is_none() {
            let message = format!("it is not clear which module `{}` is in", name.text);
            self.report(
                "A0250",
                name.span,
                message,
                "write `uses M;` at the start of the delta",
            );
        }
        found
    }

    /// Returns the item that a delta names, or reports that there is no such item.
    fn place(&mut self, name: &Name, delta: &Delta) -> Option<(usize, usize)> {
        let home = self.home(name, delta)?;
        let found = find(&self.modules[home], short(&name.text));
        if found.is_none() {
            let message = format!("there is no `{}` to change", name.text);
            self.report(
                "A0250",
                name.span,
                message,
                "let the delta come after one that adds it",
            );
        }
        Some((home, found?))
    }

    fn modify(&mut self, modifier: &Modifier, delta: &Delta, values: &[(String, Expr)]) {
        match modifier {
            Modifier::Adds(item) => {
                let mut item = (**item).clone();
                visit::item(&mut item, &mut |expr| insert(expr, values));
                let name = declared(&mut item);
                let full = name.clone();
                name.text = short(&full.text).to_owned();
                let within = |module: &Module| {
                    let within = delta.within.as_ref();
                    within.is_some_and(|within| within.text == module.name.text)
                };
                let within = if full.text.contains('.') {
                    None
                } else {
                    self.modules.iter().position(within)
                };
                let Some(home) = within.or_else(|| self.home(&full, delta)) else {
                    return;
                };
                if let Item::Class(class) = &item {
                    let module = self.modules[home].name.text.clone();
                    let name = class.name.text.clone();
                    for method in &class.methods {
                        let method = method.signature.name.text.clone();
                        let made = vec![(delta.name.text.clone(), String::new())];
                        let key = (module.clone(), name.clone(), method);
                        self.versions.insert(key, made);
                    }
                }
                self.modules[home].items.push(item);
            }
            Modifier::Removes(name) => {
                if let Some((module, item)) = self.place(name, delta) {
                    self.modules[module].items.remove(item);
                }
            }
            Modifier::ModifiesSynonym(name, ty) => {
                if let Some((module, item)) = self.place(name, delta) {
                    let old = &mut self.modules[module].items[item];
                    let mut name = name.clone();
                    name.text = short(&name.text).to_owned();
                    *old = Item::Synonym(name, ty.clone());
                }
            }
            Modifier::ModifiesData(data) => {
                if let Some((module, item)) = self.place(&data.name, delta) {
                    let mut data = data.clone();
                    data.name.text = short(&data.name.text).to_owned();
                    self.modules[module].items[item] = Item::Data(data);
                }
            }
            Modifier::ModifiesInterface {
                name,
                adds,
                removes,
            } => {
                let Some((module, item)) = self.place(name, delta) else {
                    return;
                };
                if let Item::Interface(interface) = &mut self.modules[module].items[item] {
                    let gone = |name: &str| removes.iter().any(|r| r.name.text == name);
                    interface.methods.retain(|method| !gone(&method.name.text));
                    interface.methods.extend(adds.iter().cloned());
                }
            }
            Modifier::Imports(clause) | Modifier::Exports(clause) => {
                let uses = delta.uses.as_ref().map(|uses| uses.text.as_str());
                let module = match (uses, &mut self.modules[..]) {
                    (None, [only]) => Some(only),
                    (uses, all) => all.iter_mut().find(|m| Some(m.name.text.as_str()) == uses),
                };
                let Some(module) = module else {
                    let message = "it is not clear which module this is about".to_owned();
                    let help = "write `uses M;` at the start of the delta";
                    return self.report("A0250", delta.name.span, message, help);
                };
                match modifier {
                    Modifier::Imports(_) => module.imports.push(clause.clone()),
                    _ => module.exports.push(clause.clone()),
                }
            }
            Modifier::ModifiesClass {
                name,
                adds,
                removes,
                changes,
            } => {
                let Some(place) = self.place(name, delta) else {
                    return;
                };
                if let Some(class) = self.class_at(place) {
                    let gone =
                        |known: &Name| removes.iter().any(|r| short(&r.text) == short(&known.text));
                    class.implements.retain(|known| !gone(known));
                    // A delta in the older syntax may add an interface that the class already
                    // implements.
                    let known = class.implements.clone();
                    let new =
                        |name: &&Name| !delta.old || known.iter().all(|k| k.text != name.text);
                    class.implements.extend(adds.iter().filter(new).cloned());
                }
                for change in changes {
                    self.change_class(place, change, delta, values);
                }
            }
        }
    }

    fn change_class(
        &mut self,
        place: (usize, usize),
        change: &ClassChange,
        delta: &Delta,
        values: &[(String, Expr)],
    ) {
        let module = self.modules[place.0].name.text.clone();
        match change {
            ClassChange::AddsField(field) => {
                let mut field = field.clone();
                if let Some(value) = &mut field.value {
                    visit::expr(value, &mut |expr| insert(expr, values));
                }
                if let Some(class) = self.class_at(place) {
                    class.fields.push(field);
                }
            }
            ClassChange::RemovesField(name) => {
                let Some(class) = self.class_at(place) else {
                    return;
                };
                let before = class.fields.len();
                class.fields.retain(|field| field.name.text != name.text);
                if class.fields.len() == before {
                    let message = format!("there is no field `{}` to remove", name.text);
                    self.report("A0250", name.span, message, "name one that is there");
                }
            }
            ClassChange::Methods(MethodsChange::Adds(methods)) => {
                let mut methods = self.methods(place.0, methods, 0);
                let class = self.class_at(place).map(|class| class.name.text.clone());
                for method in &mut methods {
                    visit::method(method, &mut |expr| insert(expr, values));
                    let name = method.signature.name.text.clone();
                    let made = vec![(delta.name.text.clone(), String::new())];
                    let key = (module.clone(), class.clone().unwrap_or_default(), name);
                    self.versions.insert(key, made);
                }
                self.add_methods(place, methods);
            }
            ClassChange::Methods(MethodsChange::Modifies(methods)) => {
                let mut methods = self.methods(place.0, methods, 0);
                let Some(class) = self.class_at(place) else {
                    return;
                };
                let key = (module, class.name.text.clone(), String::new());
                let mut all = std::mem::take(&mut class.methods);
                for mut method in methods.drain(..) {
                    visit::method(&mut method, &mut |expr| insert(expr, values));
                    self.replace(&mut all, method, &key, &delta.name.text);
                }
                if let Some(class) = self.class_at(place) {
                    class.methods = all;
                }
            }
            ClassChange::Methods(MethodsChange::Removes(signatures)) => {
                let Some(class) = self.class_at(place) else {
                    return;
                };
                let mut all = std::mem::take(&mut class.methods);
                for signature in signatures {
                    self.remove(&mut all, &signature.name);
                }
                if let Some(class) = self.class_at(place) {
                    class.methods = all;
                }
            }
        }
    }
}

/// Returns the index of a class, an interface or a type in a module.
fn find(module: &Module, name: &str) -> Option<usize> {
    module.items.iter().position(|item| match item {
        Item::Class(class) => class.name.text == name,
        Item::Interface(interface) => interface.name.text == name,
        Item::Synonym(known, _) => known.text == name,
        Item::Data(data) => data.name.text == name,
        Item::Def(_) | Item::Exception(_) => false,
    })
}

fn declared(item: &mut Item) -> &mut Name {
    match item {
        Item::Class(class) => &mut class.name,
        Item::Interface(interface) => &mut interface.name,
        Item::Synonym(name, _) => name,
        Item::Data(data) => &mut data.name,
        Item::Def(def) => &mut def.name,
        Item::Exception(constructor) => &mut constructor.name,
    }
}

/// Whether a product with these features satisfies a condition.
fn holds(condition: &Condition, features: &[Feature]) -> bool {
    match condition {
        Condition::Feature(wanted) => features.iter().any(|f| f.name.text == wanted.name.text),
        Condition::Not(inner) => !holds(inner, features),
        Condition::And(one, other) => holds(one, features) && holds(other, features),
        Condition::Or(one, other) => holds(one, features) || holds(other, features),
    }
}

/// Returns the value of a parameter of a delta. The error is the place where the value is missing,
/// and a message.
fn value(
    argument: &DeltaArgument,
    features: &[Feature],
    clause: &DeltaClause,
) -> Result<Expr, (Span, String)> {
    match argument {
        DeltaArgument::Attribute(feature, attribute) => {
            let found = features.iter().find(|f| f.name.text == feature.text);
            let attributes = found.map_or(&[][..], |found| &found.attributes);
            let value = attributes.iter().find(|(name, _)| *name == attribute.text);
            let missing = || {
                let message = format!("`{}.{}` has no value", feature.text, attribute.text);
                (clause.delta.span, message)
            };
            value.map(|(_, value)| value.clone()).ok_or_else(missing)
        }
        DeltaArgument::Value(expr) => {
            let mut expr = expr.clone();
            // The name of a feature as a value means whether the product has the feature.
            if let ExprKind::Construct(name, args) = &mut expr.kind
                && args.is_empty()
                && !["True", "False"].contains(&name.text.as_str())
            {
                let there = features.iter().any(|f| f.name.text == name.text);
                name.text = if there { "True" } else { "False" }.to_owned();
            }
            Ok(expr)
        }
    }
}

/// Substitutes values for the parameters of a delta.
fn insert(expr: &mut Expr, values: &[(String, Expr)]) {
    if let ExprKind::Variable(name) = &expr.kind
        && let Some((_, value)) = values.iter().find(|(known, _)| *known == name.text)
    {
        expr.kind = value.kind.clone();
    }
}
