//! Resolves names: from a name in a module to the declaration, and from the syntax of a type to the
//! type. Also writes types as text for messages.

use mazurka_diagnostics::Span;
use mazurka_diagnostics::{Diagnostic, nearest};

use rustc_hash::FxHashMap;

use super::modules::ambiguous;
use super::{Checker, STANDARD_NAME, TypeDef};
use crate::syntax::ast::{self, Name};
use crate::syntax::parser::excluded_name;
use crate::types::{Head, Ty};

/// Limit on the nesting of synonyms.
const MAX_SYNONYMS: usize = 50;

/// Limit on the size of a type with its synonyms expanded. Each synonym of a pair may double the
/// size.
const MOST_WRITTEN: u32 = 4096;

impl Checker<'_> {
    /// Returns the full name of a name in a module.
    pub(super) fn full(&self, module: usize, name: &str) -> Option<String> {
        if let Some((home, short)) = name.rsplit_once('.') {
            // The other module may re-export a name that a third module declares.
            let home = self.scopes.iter().find(|scope| scope.name == home);
            let passed_on = home.and_then(|scope| scope.exports.get(short).cloned());
            return passed_on.or_else(|| Some(name.to_owned()));
        }
        let scope = &self.scopes[module];
        if scope.ambiguous.contains_key(name) {
            return None;
        }
        let standard = || scope.standard.then(|| format!("{STANDARD_NAME}.{name}"));
        scope.visible.get(name).cloned().or_else(standard)
    }

    /// Looks up a name in one of the tables: first among the names that the module declares or
    /// imports, then in the standard module.
    pub(super) fn find<'t, T>(
        &self,
        table: &'t FxHashMap<String, T>,
        module: usize,
        name: &str,
    ) -> Option<&'t T> {
        let full = self.full(module, name)?;
        let standard = || {
            if self.scopes[module].standard {
                table.get(&format!("{STANDARD_NAME}.{name}"))
            } else {
                None
            }
        };
        table.get(&full).or_else(standard)
    }

    pub(super) fn module_here(&self) -> usize {
        self.bodies.last().map_or(0, |body| body.module)
    }

    /// Reports an unknown name: an ambiguous name, a name from an excluded part of ABS, or a name
    /// that is not declared.
    pub(super) fn unknown<'n>(
        &mut self,
        code: &'static str,
        what: &str,
        name: &Name,
        candidates: impl Iterator<Item = &'n String>,
    ) {
        let scopes = self.scopes.iter();
        let both = { scopes }.find_map(|scope| scope.ambiguous.get(&name.text));
        if let Some(both) = both {
            let mistake = ambiguous(name, both);
            return self.report(mistake);
        }
        let short = name.text.rsplit('.').next().unwrap_or(&name.text);
        let imports = self.modules.iter().flat_map(|module| &module.imports);
        let imported: Vec<&str> = { imports }
            .filter_map(|clause| Some(clause.from.as_ref()?.text.as_str()))
            .collect();
        if let Some(excluded) = excluded_name(&name.text, &imported) {
            self.mistakes.push(excluded.at(name.span));
            return;
        }
        let names: Vec<&String> = candidates.collect();
        let help = self.import_hint(short, &names).or_else(|| {
            let shorts = { names.iter() }.map(|full| full.rsplit('.').next().unwrap_or(full));
            nearest(short, shorts).map(|near| format!("did you mean `{near}`?"))
        });
        let mistake = Diagnostic::new(
            code,
            name.span,
            format!("there is no {what} `{}`", name.text),
        )
        .label("not declared, or not imported")
        .maybe_help(help);
        self.mistakes.push(mistake);
    }

    /// Returns a hint for a name that another module declares.
    fn import_hint(&self, short: &str, names: &[&String]) -> Option<String> {
        let homes = names.iter().filter_map(|full| full.rsplit_once('.'));
        let homes = homes.filter(|(_, name)| *name == short);
        let home = homes.map(|(home, _)| home).min()?;
        let mut scopes = self.scopes.iter();
        let exports = scopes.any(|scope| scope.name == home && scope.exports.contains_key(short));
        let import = format!("`import {short} from {home};`");
        Some(if exports || home == STANDARD_NAME {
            format!("import it: write {import} at the start of the module")
        } else {
            format!("write `export {short};` in module {home}, and {import} here")
        })
    }

    /// Returns the type that a piece of syntax denotes.
    pub(super) fn ty(&mut self, module: usize, generics: &[String], ty: &ast::Type) -> Ty {
        self.written_parts = 0;
        let before = self.mistakes.len();
        let found = self.ty_within(module, generics, ty, 0);
        if self.written_parts > MOST_WRITTEN {
            if self.mistakes.len() == before {
                let mistake = Diagnostic::new("A0112", ty.span, "this type is too large")
                    .label("without its synonyms it has too many parts")
                    .help("give the parts data types of their own");
                self.report(mistake);
            }
            return Ty::Wrong;
        }
        self.check_nonnull(ty, &found);
        found
    }

    fn ty_within(
        &mut self,
        module: usize,
        generics: &[String],
        ty: &ast::Type,
        depth: usize,
    ) -> Ty {
        self.written_parts += 1;
        if self.written_parts > MOST_WRITTEN {
            return Ty::Wrong;
        }
        if let Some(at) = generics.iter().position(|generic| *generic == ty.name.text) {
            return Ty::Parameter(at as u32);
        }
        let args: Vec<Ty> = ty
            .args
            .iter()
            .map(|arg| self.ty_within(module, generics, arg, depth))
            .collect();
        let known = self.find(&self.types, module, &ty.name.text).cloned();
        let (result, wanted) = match known {
            Some(TypeDef::Builtin(head, parameters)) => (Ty::Made(head, args.clone()), parameters),
            Some(TypeDef::Data(data)) => (
                Ty::Made(Head::Data(data), args.clone()),
                self.data[data as usize].parameters,
            ),
            Some(TypeDef::Interface(interface)) => (Ty::interface(interface), 0),
            Some(TypeDef::Synonym(_, _)) if depth > MAX_SYNONYMS => {
                let mistake = Diagnostic::new(
                    "A0211",
                    ty.span,
                    format!("`{}` is defined by itself", ty.name.text),
                )
                .label("this synonym never ends")
                .help("use `data` for a recursive type");
                self.report(mistake);
                return Ty::Wrong;
            }
            Some(TypeDef::Synonym(home, written)) => {
                (self.ty_within(home, &[], written, depth + 1), 0)
            }
            None => {
                let is_class = self
                    .full(module, &ty.name.text)
                    .is_some_and(|full| self.class_numbers.contains_key(&full));
                if is_class {
                    let name = &ty.name.text;
                    let mistake = Diagnostic::new("A0212", ty.span, format!("the class `{name}` is not a type"))
                        .label("expected an interface or a data type")
                        .help(format!("declare an interface, let `{name}` implement it, and use the interface here"));
                    self.report(mistake);
                    return Ty::Wrong;
                }
                let names: Vec<String> = self
                    .types
                    .keys()
                    .cloned()
                    .chain(generics.iter().cloned())
                    .collect();
                self.unknown("A0201", "type", &ty.name, names.iter());
                return Ty::Wrong;
            }
        };
        if args.len() != wanted {
            let mistake = Diagnostic::new(
                "A0213",
                ty.span,
                format!(
                    "`{}` takes {}",
                    ty.name.text,
                    count(wanted, "type argument")
                ),
            )
            .label(format!("{} given", count(args.len(), "type argument")));
            self.report(mistake);
            return Ty::Wrong;
        }
        result
    }

    /// Returns a type as it appears in messages.
    pub(super) fn show(&self, ty: &Ty) -> String {
        let generics = self.bodies.last().map_or(&[][..], |body| &body.generics);
        self.show_in(ty, generics)
    }

    pub(super) fn show_in(&self, ty: &Ty, generics: &[String]) -> String {
        match self.unknowns.deep(ty) {
            Ty::Wrong => "?".to_owned(),
            Ty::Unknown(_) => "_".to_owned(),
            Ty::Parameter(at) => generics
                .get(at as usize)
                .cloned()
                .unwrap_or_else(|| "_".to_owned()),
            Ty::Made(head, args) => {
                let name = match head {
                    Head::Int => "Int",
                    Head::Rat => "Rat",
                    Head::Float => "Float",
                    Head::Bool => "Bool",
                    Head::Text => "String",
                    Head::Unit => "Unit",
                    Head::Exception => "Exception",
                    Head::Future => "Fut",
                    Head::Destiny => "Destiny",
                    Head::Null => "null",
                    Head::Data(data) => &self.data[data as usize].name,
                    Head::Interface(interface) => &self.interfaces[interface as usize].name,
                    Head::Class(class) => &self.classes[class as usize].name,
                };
                if args.is_empty() {
                    return name.to_owned();
                }
                let args: Vec<String> =
                    args.iter().map(|arg| self.show_in(arg, generics)).collect();
                format!("{name}<{}>", args.join(", "))
            }
        }
    }

    /// Reports a mismatch if a value of type `actual` cannot be used where `wanted` is wanted.
    pub(super) fn fit(&mut self, actual: &Ty, wanted: &Ty, span: Span) {
        let known = self.unknowns.is_too_large();
        if self.unknowns.fits(actual, wanted, &self.inheritance) {
            if !known && self.unknowns.is_too_large() {
                let mistake = Diagnostic::new("A0112", span, "a type is too large")
                    .label("the type of this has too many parts")
                    .help("give the parts data types of their own");
                self.report(mistake);
            }
            return;
        }
        let (actual_name, wanted_name) = (self.show(actual), self.show(wanted));
        let mut mistake = Diagnostic::new(
            "A0220",
            span,
            format!("expected `{wanted_name}`, found `{actual_name}`"),
        )
        .label(format!("this is of type `{actual_name}`"));
        let heads = (self.unknowns.shallow(actual), self.unknowns.shallow(wanted));
        mistake = match heads {
            (Ty::Made(Head::Rat, _), Ty::Made(Head::Int, _)) => {
                mistake.help("division gives a `Rat`; `truncate(…)` makes an `Int` of it")
            }
            (Ty::Made(Head::Future, _), _) => {
                mistake.help("take the value of a future with `.get`, or `await` the call")
            }
            (_, Ty::Made(Head::Text, _)) => {
                mistake.help("`toString(…)` makes a `String` of any value")
            }
            _ => mistake,
        };
        self.report(mistake);
    }
}

/// Formats a count with a noun: `1 argument`, `2 arguments`.
pub(super) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
