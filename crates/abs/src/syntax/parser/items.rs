//! Parses modules and their declarations: types, functions, exceptions, interfaces and classes.

use mazurka_diagnostics::Diagnostic;

use super::excluded::Excluded;
use super::{Parsed, Parser};
use crate::syntax::ast::{
    Annotations, Body, Class, Clause, Constructor, Data, Def, Field, Interface, Item, Method,
    Module, Name, Parameter, Signature,
};
use crate::syntax::token::TokenKind;

impl Parser<'_> {
    pub(super) fn modules(&mut self) -> Vec<Module> {
        let mut all = Vec::new();
        while self.peek() != &TokenKind::End {
            let read = if self.is("module") {
                self.module().map(|module| all.push(module))
            } else if self.starts_outside_modules() {
                self.outside_modules(all.last().map(|module| module.name.clone()))
            } else if let (true, Some(last)) = (self.old_deltas, all.last_mut()) {
                self.declarations(last);
                Ok(())
            } else {
                let mistake = Diagnostic::new(
                    "A0105",
                    self.span_here(),
                    "a file starts with the name of its module",
                )
                .label("expected `module`")
                .help("write `module Main;` above this line");
                Err(self.mistake(mistake))
            };
            if read.is_err() {
                self.skip_to_module();
            }
        }
        all
    }

    fn skip_to_module(&mut self) {
        self.next();
        while !self.is("module") && !self.starts_outside_modules() && self.peek() != &TokenKind::End
        {
            self.next();
        }
    }

    fn module(&mut self) -> Parsed<Module> {
        self.next();
        let name = self.qualified_type("the name of a module")?;
        self.expect(";")?;
        let mut module = Module {
            name,
            exports: Vec::new(),
            imports: Vec::new(),
            items: Vec::new(),
            traits: Vec::new(),
            main: None,
        };
        self.declarations(&mut module);
        Ok(module)
    }

    fn declarations(&mut self, module: &mut Module) {
        while !self.is("module") && !self.starts_outside_modules() && self.peek() != &TokenKind::End
        {
            if self.declaration(module).is_err() {
                self.recover();
                // Skip an unmatched closing bracket.
                self.accept("}");
            }
        }
    }

    fn declaration(&mut self, module: &mut Module) -> Parsed<()> {
        let annotations = self.annotations()?;
        let start = self.span_here();
        if !self.is("class") {
            self.refuse_foreign(&annotations);
        }
        let item = match *self.peek() {
            TokenKind::Keyword("export") => {
                let clause = self.clause()?;
                module.exports.push(clause);
                return Ok(());
            }
            TokenKind::Keyword("import") => {
                if !module.items.is_empty() {
                    let mistake = Diagnostic::new("A0118", start, "an import after a declaration")
                        .label("too late")
                        .help("move it up, below `module`");
                    return Err(self.mistake(mistake));
                }
                let clause = self.clause()?;
                module.imports.push(clause);
                return Ok(());
            }
            TokenKind::Keyword("data") => Item::Data(self.data()?),
            TokenKind::Keyword("type") => {
                self.next();
                let name = self.type_name("the name of a type")?;
                self.expect("=")?;
                let ty = self.ty()?;
                self.expect(";")?;
                Item::Synonym(name, ty)
            }
            TokenKind::Keyword("def") => Item::Def(self.def()?),
            TokenKind::Keyword("exception") => {
                self.next();
                let constructor = self.constructor()?;
                self.expect(";")?;
                Item::Exception(constructor)
            }
            TokenKind::Keyword("interface") => Item::Interface(self.interface()?),
            TokenKind::Keyword("class") => {
                let mut class = self.class()?;
                class.annotations = annotations;
                Item::Class(class)
            }
            TokenKind::Symbol("{") => {
                let body = self.block()?;
                let span = start.to(self.span_before());
                if module.main.is_some() {
                    let mistake =
                        Diagnostic::new("A0117", start, "this module has a main block already")
                            .label("a second one")
                            .help("put both into one");
                    return Err(self.mistake(mistake));
                }
                module.main = Some((body, span));
                return Ok(());
            }
            _ if self.is("trait") => {
                let declared = self.trait_decl()?;
                module.traits.push(declared);
                return Ok(());
            }
            _ => {
                let reported = self.expected(
                    "a declaration (`data`, `type`, `def`, `exception`, `interface`, `class`) or the main block",
                );
                self.next();
                return Err(reported);
            }
        };
        let name = match &item {
            Item::Data(data) => &data.name,
            Item::Def(def) => &def.name,
            Item::Interface(interface) => &interface.name,
            Item::Class(class) => &class.name,
            Item::Synonym(name, _) => name,
            Item::Exception(constructor) => &constructor.name,
        };
        if name.text.contains('.') {
            let mistake = Diagnostic::new("A0119", name.span, "a declaration is in its module")
                .label("a name without a module is expected")
                .help("remove the module");
            return Err(self.mistake(mistake));
        }
        module.items.push(item);
        Ok(())
    }

    pub(super) fn clause(&mut self) -> Parsed<Clause> {
        self.next();
        let names = if self.accept("*") {
            None
        } else {
            Some(self.list(|parser| parser.qualified("a name").map(|(name, _)| name))?)
        };
        let from = if self.accept("from") {
            Some(self.qualified_type("the name of a module")?)
        } else {
            None
        };
        self.expect(";")?;
        Ok(Clause { names, from })
    }

    fn type_parameters(&mut self) -> Parsed<Vec<Name>> {
        if !self.accept("<") {
            return Ok(Vec::new());
        }
        let all = self.list(|parser| parser.type_name("a type parameter"))?;
        self.expect(">")?;
        Ok(all)
    }

    fn constructor(&mut self) -> Parsed<Constructor> {
        let name = self.type_name("a constructor")?;
        let mut fields = Vec::new();
        if self.is("(") {
            fields = self.in_brackets(|parser| {
                let ty = parser.ty()?;
                let accessor = match parser.peek() {
                    TokenKind::Name(_) => Some(parser.name("an accessor")?),
                    _ => None,
                };
                Ok((ty, accessor))
            })?;
        }
        Ok(Constructor { name, fields })
    }

    pub(super) fn data(&mut self) -> Parsed<Data> {
        self.next();
        let name = self.qualified_type("the name of a data type")?;
        let parameters = self.type_parameters()?;
        let mut constructors = Vec::new();
        if self.accept("=") {
            constructors.push(self.constructor()?);
            while self.accept("|") {
                constructors.push(self.constructor()?);
            }
        }
        self.expect(";")?;
        Ok(Data {
            name,
            parameters,
            constructors,
        })
    }

    fn parameter(&mut self) -> Parsed<Parameter> {
        let annotations = self.annotations()?;
        let mut ty = self.ty()?;
        ty.nonnull |= annotations.has("Nonnull");
        let name = self.name("the name of a parameter")?;
        let fixed = annotations.has("Final");
        Ok(Parameter { ty, name, fixed })
    }

    pub(super) fn def(&mut self) -> Parsed<Def> {
        self.next();
        let result = self.ty()?;
        let (name, small) = self.qualified("the name of a function")?;
        if !small {
            return Err(self.expected("the name of a function"));
        }
        let type_parameters = self.type_parameters()?;
        // In `def List<B> map<A, B>(fn)(List<A> l)` the first list has names without types: these
        // are functions.
        let names_only = self.is("(") && matches!(self.peek_at(1), TokenKind::Name(_));
        let no_names = self.is("(") && self.is_at(1, ")") && self.is_at(2, "(");
        let functions = if names_only || no_names {
            Some(self.in_brackets(|parser| parser.name("the name of a function"))?)
        } else {
            None
        };
        let parameters = self.in_brackets(Self::parameter)?;
        self.expect("=")?;
        let body = if self.is("builtin") {
            self.next();
            if self.is("(") {
                self.report_excluded(Excluded::Foreign, self.span_here());
                self.in_brackets(Self::expr)?;
            }
            Body::Builtin
        } else {
            Body::Expr(self.expr()?)
        };
        self.expect(";")?;
        Ok(Def {
            result,
            name,
            type_parameters,
            functions,
            parameters,
            body,
        })
    }

    pub(super) fn signature(&mut self) -> Parsed<Signature> {
        let annotations = self.annotations()?;
        let mut result = self.ty()?;
        result.nonnull |= annotations.has("Nonnull");
        let name = self.name("the name of a method")?;
        let parameters = self.in_brackets(Self::parameter)?;
        Ok(Signature {
            result,
            name,
            parameters,
            atomic: annotations.has("Atomic"),
            readonly: annotations.has("Readonly"),
        })
    }

    pub(super) fn names_after(&mut self, word: &str) -> Parsed<Vec<Name>> {
        if self.accept(word) {
            self.list(|parser| parser.qualified_type("the name of an interface"))
        } else {
            Ok(Vec::new())
        }
    }

    pub(super) fn interface(&mut self) -> Parsed<Interface> {
        self.next();
        let name = self.qualified_type("the name of an interface")?;
        let extends = self.names_after("extends")?;
        self.expect("{")?;
        let mut methods = Vec::new();
        while !self.accept("}") {
            if self.peek() == &TokenKind::End {
                self.expect("}")?;
            }
            match self.signature().and_then(|s| self.expect(";").map(|_| s)) {
                Ok(signature) => methods.push(signature),
                Err(_) => self.recover(),
            }
        }
        Ok(Interface {
            name,
            extends,
            methods,
        })
    }

    pub(super) fn class(&mut self) -> Parsed<Class> {
        self.next();
        let name = self.qualified_type("the name of a class")?;
        let parameters = if self.is("(") {
            self.in_brackets(Self::parameter)?
        } else {
            Vec::new()
        };
        let implements = self.names_after("implements")?;
        self.expect("{")?;
        let mut class = Class {
            name,
            annotations: Annotations::default(),
            parameters,
            implements,
            fields: Vec::new(),
            init: Vec::new(),
            recover: None,
            methods: Vec::new(),
            uses: Vec::new(),
        };
        while !self.accept("}") {
            if self.peek() == &TokenKind::End {
                self.expect("}")?;
            }
            if self.member(&mut class).is_err() {
                self.recover();
            }
        }
        Ok(class)
    }

    /// Parses a method of a trait, or a method that a delta adds.
    pub(super) fn method(&mut self) -> Parsed<Method> {
        let signature = self.signature()?;
        let body = self.block()?;
        let end = self.span_before();
        Ok(Method {
            signature,
            body,
            end,
        })
    }

    fn member(&mut self, class: &mut Class) -> Parsed<()> {
        let annotations = self.annotations()?;
        self.refuse_foreign(&annotations);
        match () {
            () if self.is("{") => {
                class.init.extend(self.block()?);
                return Ok(());
            }
            () if self.is("recover") => {
                self.next();
                class.recover = Some(self.branches()?);
                return Ok(());
            }
            () if self.is("uses") => {
                self.next();
                let used = self.trait_expr()?;
                class.uses.push(used);
                self.expect(";")?;
                return Ok(());
            }
            () => {}
        }
        let mut ty = self.ty()?;
        ty.nonnull |= annotations.has("Nonnull");
        let name = self.name("the name of a field or method")?;
        if self.is("(") {
            let parameters = self.in_brackets(Self::parameter)?;
            let body = self.block()?;
            class.methods.push(Method {
                signature: Signature {
                    result: ty,
                    name,
                    parameters,
                    atomic: annotations.has("Atomic"),
                    readonly: annotations.has("Readonly"),
                },
                body,
                end: self.span_before(),
            });
            return Ok(());
        }
        let value = if self.accept("=") {
            Some(self.expr()?)
        } else {
            None
        };
        self.expect(";")?;
        let fixed = annotations.has("Final");
        class.fields.push(Field {
            ty,
            name,
            value,
            fixed,
        });
        Ok(())
    }
}
