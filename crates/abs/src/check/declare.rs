//! Declares everything that the modules contain: first the names, then the types of constructors,
//! functions, interfaces and classes. Bodies are checked later, so a body may use a declaration
//! that comes later in the text. A declaration gets an index in a list of the checker, and a table
//! maps its full name, such as `M.f`, to this index.

use mazurka_diagnostics::Diagnostic;
use rustc_hash::FxHashMap;

use super::modules::declared;
use super::rules::Rules;
use super::{
    Checker, ClassDef, ConstructorDef, DataDef, FunctionBody, FunctionDef, InterfaceDef,
    MethodSignature, STANDARD_NAME, Scope, TypeDef,
};
use crate::code::Builtin;
use crate::syntax::ast::{self, Item, Name};
use crate::syntax::parser::Excluded;
use crate::types::{Head, Ty};
use crate::value::Value;

/// The function that reads one part of the values of a constructor.
struct Accessor<'a> {
    name: &'a Name,
    /// The type parameters of the data type.
    generics: &'a [String],
    constructor: usize,
    part: usize,
}

impl<'a> Checker<'a> {
    /// Declares everything.
    pub(super) fn declare(&mut self) {
        self.builtin_types();
        // The class of the main block, and the interface that all objects implement.
        self.classes.push(ClassDef {
            name: "main".to_owned(),
            module: 0,
            fields: Vec::new(),
            rules: Vec::new(),
            methods: FxHashMap::default(),
            tree: None,
        });
        self.interfaces.push(InterfaceDef {
            name: "Object".to_owned(),
            module: 0,
            methods: FxHashMap::default(),
            tree: None,
        });
        for module in 0..self.modules.len() {
            self.standard = module == 0;
            self.names(module);
        }
        self.compute_visible_names();
        self.interface_types();
        for module in 0..self.modules.len() {
            self.standard = module == 0;
            self.module_types(module);
        }
        self.standard = false;
        self.class_types();
    }

    fn builtin_types(&mut self) {
        let all = [
            ("Int", Head::Int, 0),
            ("Rat", Head::Rat, 0),
            ("Float", Head::Float, 0),
            ("Bool", Head::Bool, 0),
            ("String", Head::Text, 0),
            ("Unit", Head::Unit, 0),
            ("Exception", Head::Exception, 0),
            ("Fut", Head::Future, 1),
            ("Destiny", Head::Destiny, 0),
        ];
        for (name, head, parameters) in all {
            let def = TypeDef::Builtin(head, parameters);
            self.types.insert(format!("{STANDARD_NAME}.{name}"), def);
        }
        self.types
            .insert(format!("{STANDARD_NAME}.Object"), TypeDef::Interface(0));
        let specials = [
            ("True", Ty::BOOL, Value::Bool(true)),
            ("False", Ty::BOOL, Value::Bool(false)),
            ("Unit", Ty::UNIT, Value::Unit),
        ];
        for (name, result, value) in specials {
            self.constructor_numbers.insert(
                format!("{STANDARD_NAME}.{name}"),
                self.constructors.len() as u32,
            );
            self.constructors.push(ConstructorDef {
                name: name.to_owned(),
                generics: 0,
                parts: Vec::new(),
                result,
                special: Some(value),
            });
        }
    }

    /// Reports a name that is declared a second time.
    fn report_twice(&mut self, what: &str, name: &Name) {
        let mistake = Diagnostic::new(
            "A0202",
            name.span,
            format!("{what} `{}` is declared already", name.text),
        )
        .label("a second one of this name")
        .help("choose another name");
        self.report(mistake);
    }

    fn add_type(&mut self, full: &str, def: TypeDef<'a>, name: &Name) {
        if self.types.insert(full.to_owned(), def).is_some() {
            self.report_twice("the type", name);
        }
    }

    fn add_constructor(&mut self, module: usize, name: &Name) {
        let full = format!("{}.{}", self.modules[module].name.text, name.text);
        let number = self.constructors.len() as u32;
        if self
            .constructor_numbers
            .insert(full.clone(), number)
            .is_some()
        {
            self.report_twice("the constructor", name);
        }
        self.scopes[module].visible.insert(name.text.clone(), full);
        self.constructors.push(ConstructorDef {
            name: name.text.clone(),
            generics: 0,
            parts: Vec::new(),
            result: Ty::Wrong,
            special: None,
        });
    }

    fn add_function(
        &mut self,
        module: usize,
        name: &Name,
        body: FunctionBody<'a>,
        partial: bool,
    ) -> u32 {
        let full = format!("{}.{}", self.modules[module].name.text, name.text);
        let key = if partial {
            partial_key(&full)
        } else {
            full.clone()
        };
        let number = self.functions.len() as u32;
        if let Some(known) = self.function_numbers.get(&key).copied() {
            let accessors = matches!(
                (body, self.functions[known as usize].body),
                (FunctionBody::Accessor, FunctionBody::Accessor)
            );
            if !accessors {
                self.report_twice("the function", name);
            }
            return known;
        }
        self.function_numbers.insert(key, number);
        self.scopes[module].visible.insert(name.text.clone(), full);
        self.functions.push(FunctionDef {
            name: name.text.clone(),
            module,
            span: name.span,
            generics: Vec::new(),
            parameters: Vec::new(),
            result: Ty::Wrong,
            nonnull: false,
            nonnull_parameters: Vec::new(),
            functions: None,
            body,
            parts: Vec::new(),
        });
        number
    }

    /// Declares the names of a module.
    fn names(&mut self, module: usize) {
        let tree = &self.modules[module];
        let name = tree.name.text.clone();
        if self.scopes.iter().any(|scope| scope.name == name) {
            self.report_twice("the module", &tree.name);
        }
        self.scopes.push(Scope {
            name: name.clone(),
            standard: true,
            ..Scope::default()
        });
        for item in &tree.items {
            let declared = declared(item);
            let full = format!("{name}.{}", declared.text);
            self.scopes[module]
                .visible
                .insert(declared.text.clone(), full.clone());
            match item {
                Item::Data(data) => {
                    let def = TypeDef::Data(self.data.len() as u32);
                    self.add_type(&full, def, &data.name);
                    self.data.push(DataDef {
                        name: data.name.text.clone(),
                        parameters: data.parameters.len(),
                    });
                    for constructor in &data.constructors {
                        self.add_constructor(module, &constructor.name);
                        for (_, accessor) in &constructor.fields {
                            if let Some(accessor) = accessor {
                                self.add_function(module, accessor, FunctionBody::Accessor, false);
                            }
                        }
                    }
                }
                Item::Synonym(name, ty) => self.add_type(&full, TypeDef::Synonym(module, ty), name),
                Item::Exception(constructor) => {
                    let def = TypeDef::Builtin(Head::Exception, 0);
                    self.add_type(&full, def, &constructor.name);
                    self.add_constructor(module, &constructor.name);
                    for accessor in constructor
                        .fields
                        .iter()
                        .filter_map(|(_, name)| name.as_ref())
                    {
                        self.add_function(module, accessor, FunctionBody::Accessor, false);
                    }
                }
                Item::Interface(interface) => {
                    let def = TypeDef::Interface(self.interfaces.len() as u32);
                    self.add_type(&full, def, &interface.name);
                    self.interfaces.push(InterfaceDef {
                        name: interface.name.text.clone(),
                        module,
                        methods: FxHashMap::default(),
                        tree: Some(interface),
                    });
                }
                Item::Def(def) => {
                    let body = match &def.body {
                        ast::Body::Expr(expr) => FunctionBody::Written(expr),
                        ast::Body::Builtin => {
                            if module != 0 {
                                let excluded = Excluded::Foreign;
                                self.mistakes.push(excluded.at(def.name.span));
                            }
                            FunctionBody::Builtin(builtin(&def.name.text))
                        }
                    };
                    self.add_function(module, &def.name, body, def.functions.is_some());
                }
                Item::Class(class) => {
                    let number = self.classes.len() as u32;
                    if self.class_numbers.insert(full, number).is_some() {
                        self.report_twice("the class", &class.name);
                    }
                    self.classes.push(ClassDef {
                        name: class.name.text.clone(),
                        module,
                        fields: Vec::new(),
                        rules: Vec::new(),
                        methods: FxHashMap::default(),
                        tree: Some(class),
                    });
                }
            }
        }
    }

    fn signature(&mut self, module: usize, signature: &ast::Signature) -> MethodSignature {
        self.distinct(&signature.parameters);
        let parameters = signature
            .parameters
            .iter()
            .map(|p| self.ty(module, &[], &p.ty))
            .collect();
        let result = self.ty(module, &[], &signature.result);
        MethodSignature {
            parameters,
            result,
            span: signature.name.span,
            nonnull: (
                signature.parameters.iter().map(|p| p.ty.nonnull).collect(),
                signature.result.nonnull,
            ),
            atomic: signature.atomic,
        }
    }

    /// Reports parameters with the same name.
    fn distinct(&mut self, parameters: &[ast::Parameter]) {
        for (at, parameter) in parameters.iter().enumerate() {
            let same = |other: &ast::Parameter| other.name.text == parameter.name.text;
            if parameters[..at].iter().any(same) {
                self.report_twice("the parameter", &parameter.name);
            }
        }
    }

    /// Reports type parameters with the same name, or with the name of a type.
    fn distinct_types(&mut self, module: usize, parameters: &[Name]) {
        for (at, parameter) in parameters.iter().enumerate() {
            let same = |other: &Name| other.text == parameter.text;
            let known = module != 0 && self.find(&self.types, module, &parameter.text).is_some();
            if known || parameters[..at].iter().any(same) {
                self.report_twice("the type", parameter);
            }
        }
    }

    /// Reports interfaces that extend themselves, and methods that are both inherited and declared,
    /// or inherited with different types.
    fn check_inherited(&mut self, extends: &[Vec<u32>]) {
        for number in 0..self.interfaces.len() {
            let Some(tree) = self.interfaces[number].tree else {
                continue;
            };
            let mut above: Vec<u32> = Vec::new();
            let mut pending = extends[number].clone();
            while let Some(parent) = pending.pop() {
                if !above.contains(&parent) {
                    above.push(parent);
                    pending.extend(&extends[parent as usize]);
                }
            }
            if above.contains(&(number as u32)) {
                let message = format!("interface `{}` extends itself", tree.name.text);
                let mistake = Diagnostic::new("A0247", tree.name.span, message)
                    .label("a cycle")
                    .help("take one `extends` out");
                self.report(mistake);
                continue;
            }
            above.sort_unstable();
            let mut inherited: Vec<(String, MethodSignature)> = Vec::new();
            let mut wrong = Vec::new();
            for parent in above {
                let mut methods: Vec<_> = self.interfaces[parent as usize].methods.iter().collect();
                methods.sort_by_key(|(_, signature)| signature.span);
                for (name, signature) in methods {
                    let known = inherited.iter().find(|(known, _)| known == name);
                    match known {
                        Some((_, known)) if !known.same_types(signature) => wrong.push((
                            tree.name.span,
                            format!("two methods `{name}` are inherited"),
                        )),
                        Some(_) => {}
                        None => inherited.push((name.clone(), signature.clone())),
                    }
                }
            }
            for method in &tree.methods {
                if inherited.iter().any(|(name, _)| *name == method.name.text) {
                    let message = format!("method `{}` is inherited already", method.name.text);
                    wrong.push((method.name.span, message));
                }
            }
            for (span, message) in wrong {
                let mistake = Diagnostic::new("A0248", span, message)
                    .label("ABS has no overloading")
                    .help("choose another name");
                self.report(mistake);
            }
        }
    }

    fn interface_number(&mut self, module: usize, name: &Name) -> Option<u32> {
        match self.find(&self.types, module, &name.text) {
            Some(TypeDef::Interface(number)) => Some(*number),
            _ => {
                let names: Vec<String> = self.types.keys().cloned().collect();
                self.unknown("A0201", "interface", name, names.iter());
                None
            }
        }
    }

    /// Determines which interfaces extend which, and their methods.
    fn interface_types(&mut self) {
        let count = self.interfaces.len();
        let mut extends: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (number, extended) in extends.iter_mut().enumerate() {
            let Some(tree) = self.interfaces[number].tree else {
                continue;
            };
            let module = self.interfaces[number].module;
            for name in &tree.extends {
                if let Some(parent) = self.interface_number(module, name) {
                    extended.push(parent);
                }
            }
            for method in &tree.methods {
                let signature = self.signature(module, method);
                let methods = &mut self.interfaces[number].methods;
                if methods
                    .insert(method.name.text.clone(), signature)
                    .is_some()
                {
                    self.report_twice("the method", &method.name);
                }
            }
        }
        self.check_inherited(&extends);
        for number in 0..count {
            let mut all = vec![number as u32];
            let mut at = 0;
            while at < all.len() {
                for &parent in &extends[all[at] as usize] {
                    if !all.contains(&parent) {
                        all.push(parent);
                    }
                }
                at += 1;
            }
            if !all.contains(&0) {
                all.push(0);
            }
            self.inheritance.interfaces.push(all);
        }
    }

    /// Determines the types of constructors and functions.
    fn module_types(&mut self, module: usize) {
        let prefix = self.modules[module].name.text.clone();
        let constructor_number = |checker: &Self, name: &Name| {
            checker.constructor_numbers[&format!("{prefix}.{}", name.text)] as usize
        };
        let tree = &self.modules[module];
        for item in &tree.items {
            match item {
                Item::Data(data) => {
                    let generics: Vec<String> =
                        data.parameters.iter().map(|p| p.text.clone()).collect();
                    self.distinct_types(module, &data.parameters);
                    let full = format!("{prefix}.{}", data.name.text);
                    let Some(TypeDef::Data(number)) = self.types.get(&full).cloned() else {
                        continue;
                    };
                    let args = (0..generics.len() as u32).map(Ty::Parameter).collect();
                    let result = Ty::Made(Head::Data(number), args);
                    for constructor in &data.constructors {
                        let parts: Vec<Ty> = constructor
                            .fields
                            .iter()
                            .map(|(ty, _)| self.ty(module, &generics, ty))
                            .collect();
                        let at = constructor_number(self, &constructor.name);
                        let def = &mut self.constructors[at];
                        def.generics = generics.len();
                        def.parts = parts;
                        def.result = result.clone();
                        for (part, (_, accessor)) in constructor.fields.iter().enumerate() {
                            if let Some(name) = accessor {
                                let accessor = Accessor {
                                    name,
                                    generics: &generics,
                                    constructor: at,
                                    part,
                                };
                                self.accessor(&prefix, accessor);
                            }
                        }
                    }
                }
                Item::Exception(constructor) => {
                    let parts = constructor
                        .fields
                        .iter()
                        .map(|(ty, _)| self.ty(module, &[], ty))
                        .collect();
                    let at = constructor_number(self, &constructor.name);
                    let def = &mut self.constructors[at];
                    def.parts = parts;
                    def.result = Ty::EXCEPTION;
                    for (part, (_, accessor)) in constructor.fields.iter().enumerate() {
                        if let Some(name) = accessor {
                            let accessor = Accessor {
                                name,
                                generics: &[],
                                constructor: at,
                                part,
                            };
                            self.accessor(&prefix, accessor);
                        }
                    }
                }
                Item::Synonym(_, ty) => {
                    self.ty(module, &[], ty);
                }
                Item::Def(def) => {
                    let generics: Vec<String> =
                        def.type_parameters.iter().map(|p| p.text.clone()).collect();
                    self.distinct_types(module, &def.type_parameters);
                    self.distinct(&def.parameters);
                    let parameter = |checker: &mut Self, parameter: &ast::Parameter| {
                        let ty = checker.ty(module, &generics, &parameter.ty);
                        (parameter.name.text.clone(), ty)
                    };
                    let parameters = def.parameters.iter().map(|p| parameter(self, p)).collect();
                    let result = self.ty(module, &generics, &def.result);
                    let taken: Option<Vec<_>> = def
                        .functions
                        .as_ref()
                        .map(|names| names.iter().map(|name| (name.text.clone(), None)).collect());
                    let full = format!("{prefix}.{}", def.name.text);
                    let key = if taken.is_some() {
                        partial_key(&full)
                    } else {
                        full
                    };
                    let number = self.function_numbers[&key];
                    let function = &mut self.functions[number as usize];
                    function.generics = generics;
                    function.parameters = parameters;
                    function.result = result;
                    function.nonnull = def.result.nonnull;
                    let nonnull = def.parameters.iter().map(|p| p.ty.nonnull);
                    function.nonnull_parameters = nonnull.collect();
                    function.functions = taken;
                }
                Item::Interface(_) | Item::Class(_) => {}
            }
        }
    }

    /// Declares an accessor, or adds another constructor to an accessor that exists.
    fn accessor(&mut self, prefix: &str, accessor: Accessor<'_>) {
        let Accessor { name, part, .. } = accessor;
        let made = &self.constructors[accessor.constructor];
        let (data, result) = (&made.result, &made.parts[part]);
        let number = self.function_numbers[&format!("{prefix}.{}", name.text)];
        let function = &mut self.functions[number as usize];
        if !matches!(function.body, FunctionBody::Accessor) {
            return;
        }
        if function.parts.is_empty() {
            function.generics = accessor.generics.to_vec();
            function.parameters = vec![("data".to_owned(), data.clone())];
            function.result = result.clone();
        } else if function.result != *result || function.parameters[0].1 != *data {
            return self.report_twice("the function", name);
        }
        let function = &mut self.functions[number as usize];
        function
            .parts
            .push((accessor.constructor as u32, part as u32));
    }

    /// Determines the interfaces, the fields and the methods of classes.
    fn class_types(&mut self) {
        self.inheritance.classes.push(vec![0]);
        for number in 1..self.classes.len() {
            let module = self.classes[number].module;
            let Some(tree) = self.classes[number].tree else {
                continue;
            };
            let mut implements = vec![0];
            for name in &tree.implements {
                if let Some(interface) = self.interface_number(module, name) {
                    for &all in &self.inheritance.interfaces[interface as usize] {
                        if !implements.contains(&all) {
                            implements.push(all);
                        }
                    }
                }
            }
            let parameters = tree.parameters.iter().map(|p| (&p.name, &p.ty));
            let declared = tree.fields.iter().map(|f| (&f.name, &f.ty));
            let mut fields: Vec<(String, Ty)> = Vec::new();
            for (name, ty) in parameters.chain(declared) {
                if fields.iter().any(|(known, _)| *known == name.text) {
                    self.report_twice("the field", name);
                }
                let ty = self.ty(module, &[], ty);
                fields.push((name.text.clone(), ty));
            }
            let mut methods = FxHashMap::default();
            for method in &tree.methods {
                let signature = self.signature(module, &method.signature);
                if methods
                    .insert(method.signature.name.text.clone(), signature)
                    .is_some()
                {
                    self.report_twice("the method", &method.signature.name);
                }
            }
            self.classes[number].fields = fields;
            let parameters = tree.parameters.iter().map(|p| (p.fixed, p.ty.nonnull));
            let declared = tree.fields.iter().map(|f| (f.fixed, f.ty.nonnull));
            let rules = parameters.chain(declared);
            let rules = rules.map(|(fixed, nonnull)| Rules {
                fixed,
                nonnull,
                elements: false,
            });
            self.classes[number].rules = rules.collect();
            self.classes[number].methods = methods;
            self.check_implements(number, &implements, tree);
            self.inheritance.classes.push(implements);
        }
    }

    /// Checks that a class has the methods of its interfaces, with the same types.
    fn check_implements(&mut self, class: usize, implements: &[u32], tree: &ast::Class) {
        for &interface in implements {
            let mut wanted: Vec<(String, MethodSignature)> = self.interfaces[interface as usize]
                .methods
                .clone()
                .into_iter()
                .collect();
            wanted.sort_by_key(|(_, signature)| signature.span);
            for (name, signature) in wanted {
                let interface_name = &self.interfaces[interface as usize].name;
                match self.classes[class].methods.get(&name) {
                    None => {
                        let mistake = Diagnostic::new(
                            "A0214",
                            tree.name.span,
                            format!("class `{}` lacks the method `{name}`", tree.name.text),
                        )
                        .label(format!("implements `{interface_name}`"))
                        .related(signature.span, "declared here")
                        .help(format!("add the method `{name}` to the class"));
                        self.report(mistake);
                    }
                    Some(known) if !known.implements(&signature) => {
                        let mistake = Diagnostic::new(
                            "A0215",
                            known.span,
                            format!(
                                "method `{name}` is not as interface `{interface_name}` declares it"
                            ),
                        )
                        .label("other parameters, or another result")
                        .related(signature.span, "declared here");
                        self.report(mistake);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

impl MethodSignature {
    fn same_types(&self, other: &Self) -> bool {
        self.parameters == other.parameters && self.result == other.result
    }

    /// Whether a method with this signature can implement the method that an interface declares.
    fn implements(&self, declared: &Self) -> bool {
        self.same_types(declared)
            && { self.nonnull.0.iter() }
                .zip(&declared.nonnull.0)
                .all(|(own, declared)| !own || *declared)
            && (self.nonnull.1 || !declared.nonnull.1)
            && (self.atomic || !declared.atomic)
    }
}

/// Returns the key under which a partial function is stored. It differs from the key of an ordinary
/// function with the same name, because `map(f)(l)` and `map(l)` call different functions.
pub(super) fn partial_key(full: &str) -> String {
    format!("{full}()")
}

fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "toString" => Builtin::ToString,
        "strlen" => Builtin::Length,
        "substr" => Builtin::Substring,
        "truncate" => Builtin::Truncate,
        "float" => Builtin::Float,
        "rat" => Builtin::Rat,
        "floor" => Builtin::Floor,
        "ceil" => Builtin::Ceil,
        "numerator" => Builtin::Numerator,
        "denominator" => Builtin::Denominator,
        "sqrt" => Builtin::SquareRoot,
        "log" => Builtin::Logarithm,
        "exp" => Builtin::Exponential,
        "abs" => Builtin::Absolute,
        "currentms" => Builtin::Clock,
        "lowlevelDeadline" => Builtin::Deadline,
        // `println`, `print` and `random` are statements.
        _ => return None,
    })
}
