//! Resolves the `export` and `import` clauses of modules: determines which names are visible in
//! each module, and reports clauses with unknown names.

use mazurka_diagnostics::{Diagnostic, Span, nearest};

use super::{Checker, STANDARD_NAME};
use crate::syntax::ast::{Clause, Item, Name};
use crate::syntax::parser::{excluded_module, excluded_name};

/// The module of the predefined exceptions, which count as part of the standard module.
const EXCEPTIONS_NAME: &str = "ABS.StdLib.Exceptions";

impl Checker<'_> {
    /// Determines the names visible in every module. A module may re-export names that another
    /// module re-exports, so this is repeated until no new name is found.
    pub(super) fn compute_visible_names(&mut self) {
        for module in 0..self.modules.len() {
            self.own_exports(module);
        }
        for _ in 0..=self.modules.len() {
            let mut changed = false;
            for module in 1..self.modules.len() {
                for clause in &self.modules[module].imports {
                    changed |= self.import(module, clause);
                }
                for clause in &self.modules[module].exports {
                    changed |= self.re_export(module, clause);
                }
            }
            if !changed {
                break;
            }
        }
        for module in 1..self.modules.len() {
            self.check_clauses(module);
        }
    }

    fn module_named(&self, name: &str) -> Option<usize> {
        let name = match name {
            EXCEPTIONS_NAME => STANDARD_NAME,
            name => name,
        };
        self.scopes.iter().position(|scope| scope.name == name)
    }

    /// Exports all names that a module declares, if it has `export *`.
    fn own_exports(&mut self, module: usize) {
        for clause in &self.modules[module].exports {
            let scope = &mut self.scopes[module];
            let own = |from: &&Name| from.text != scope.name;
            if clause.names.is_none() && clause.from.as_ref().filter(own).is_none() {
                scope.exports.extend(scope.visible.clone());
            }
        }
    }

    /// Returns the names that a clause imports or re-exports from another module, each as a short
    /// and as a full name.
    fn taken(&self, clause: &Clause) -> Vec<(String, String)> {
        let home = clause.from.as_ref();
        let Some(home) = home.and_then(|from| self.module_named(&from.text)) else {
            return Vec::new();
        };
        let named = |short: &String| match &clause.names {
            None => true,
            Some(names) => names.iter().any(|name| name.text == *short),
        };
        let exports = self.scopes[home].exports.iter();
        let taken = exports.filter(|(short, _)| named(short));
        taken
            .map(|(short, full)| (short.clone(), full.clone()))
            .collect()
    }

    /// Makes the names of an import clause visible in a module. Returns whether a name was not
    /// visible before.
    fn import(&mut self, module: usize, clause: &Clause) -> bool {
        let from_standard = clause
            .from
            .as_ref()
            .is_some_and(|from| self.module_named(&from.text) == Some(0));
        if from_standard {
            if clause.names.is_none() {
                // `import * from ABS.StdLib` adds nothing: all names of the standard module are
                // visible, unless the module imports only some of them by name.
                return false;
            }
            let all = self.modules[module].imports.iter().any(|other| {
                let standard = |from: &Name| from.text == STANDARD_NAME;
                other.names.is_none() && other.from.as_ref().is_some_and(standard)
            });
            self.scopes[module].standard &= all;
        }
        let mut changed = false;
        if clause.from.is_none() {
            for name in clause.names.iter().flatten() {
                let full = self.full(module, &name.text);
                self.scopes[module].qualified.extend(full);
            }
        }
        for (short, full) in self.taken(clause) {
            let scope = &mut self.scopes[module];
            match scope.visible.get(&short) {
                None => {
                    scope.visible.insert(short, full);
                    changed = true;
                }
                Some(known) if *known != full => {
                    let both = [known.clone(), full];
                    scope.ambiguous.entry(short).or_insert(both);
                }
                Some(_) => {}
            }
        }
        changed
    }

    /// Re-exports imported names: the names of `export … from M`, and imported names in `export X`.
    /// The ABS suite accepts the latter with a warning. Returns whether a name was not exported
    /// before.
    fn re_export(&mut self, module: usize, clause: &Clause) -> bool {
        let mut changed = false;
        let scope = &mut self.scopes[module];
        let own = |from: &Name| from.text == scope.name;
        if clause.from.as_ref().is_none_or(own) {
            for name in clause.names.iter().flatten() {
                let short = unqualified(&name.text);
                if let Some(full) = scope.visible.get(short) {
                    changed |= scope
                        .exports
                        .insert(short.to_owned(), full.clone())
                        .is_none();
                }
            }
        }
        for (short, full) in self.taken(clause) {
            let scope = &mut self.scopes[module];
            if scope.visible.get(&short) == Some(&full) || scope.qualified.contains(&full) {
                changed |= scope.exports.insert(short, full).is_none();
            }
        }
        changed
    }

    /// Reports clauses with names that do not exist, and names with two meanings.
    fn check_clauses(&mut self, module: usize) {
        let tree = &self.modules[module];
        for clause in &tree.exports {
            if let Some(from) = &clause.from {
                self.exporter(from);
            }
            for name in clause.names.iter().flatten() {
                let short = unqualified(&name.text);
                if !self.scopes[module].exports.contains_key(short) {
                    let visible = &self.scopes[module].visible;
                    let own = format!("{}.", tree.name.text);
                    let names: Vec<String> = { visible.values() }
                        .filter(|full| full.starts_with(&own))
                        .cloned()
                        .collect();
                    self.unknown("A0203", "declaration", name, names.iter());
                }
            }
        }
        for clause in &tree.imports {
            for name in clause.names.iter().flatten() {
                match (&clause.from, name.text.rsplit_once('.')) {
                    (Some(from), _) => self.check_export(from, &name.text, name.span),
                    (None, Some((home, short))) => {
                        let home = Name {
                            text: home.to_owned(),
                            span: name.span,
                        };
                        self.check_export(&home, short, name.span);
                    }
                    (None, None) => {
                        let mistake = Diagnostic::new(
                            "A0204",
                            name.span,
                            "the module of this name is unknown",
                        )
                        .label("expected a qualified name, or `from` and a module")
                        .help(format!("write `import {} from M;`", name.text));
                        self.report(mistake);
                    }
                }
            }
            if let (None, Some(from)) = (&clause.names, &clause.from) {
                self.exporter(from);
            }
        }
        for item in &tree.items {
            let name = declared(item);
            if let Some(both) = self.scopes[module].ambiguous.get(&name.text).cloned() {
                let mistake = ambiguous(name, &both);
                self.report(mistake);
            }
        }
    }

    /// Returns the module that a clause names, or reports that there is none. An excluded standard
    /// module may be named although it does not exist: only the use of its names is a mistake.
    fn exporter(&mut self, from: &Name) -> Option<usize> {
        let found = self.module_named(&from.text);
        if found.is_none() && excluded_module(&from.text).is_none() {
            let names: Vec<&str> = self
                .scopes
                .iter()
                .map(|scope| scope.name.as_str())
                .collect();
            let help = nearest(&from.text, names).map(|near| format!("did you mean `{near}`?"));
            let message = format!("there is no module `{}`", from.text);
            let mistake = Diagnostic::new("A0205", from.span, message)
                .label("not among the files that are read")
                .maybe_help(help);
            self.report(mistake);
        }
        found
    }

    fn check_export(&mut self, from: &Name, short: &str, span: Span) {
        let home = Name {
            text: from.text.clone(),
            span,
        };
        let Some(number) = self.exporter(&home) else {
            return;
        };
        let scope = &self.scopes[number];
        let standard = format!("{STANDARD_NAME}.{short}");
        if scope.exports.contains_key(short) || (number == 0 && self.types.contains_key(&standard))
        {
            return;
        }
        if number == 0 && self.constructor_numbers.contains_key(&standard) {
            return;
        }
        // Excluded names may be imported; only their use is a mistake.
        if number == 0 && excluded_name(short, &[]).is_some() {
            return;
        }
        let home = &from.text;
        let mistake = if scope.visible.contains_key(short) {
            Diagnostic::new("A0206", span, format!("`{home}` does not export `{short}`"))
                .label("private to its module")
                .help(format!("write `export {short};` in module {home}"))
        } else {
            Diagnostic::new(
                "A0206",
                span,
                format!("`{home}` does not declare `{short}`"),
            )
            .label("nothing of this name there")
        };
        self.report(mistake);
    }
}

/// Returns the last part of a name.
fn unqualified(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// Returns the name that an item declares.
pub(super) fn declared(item: &Item) -> &Name {
    match item {
        Item::Data(data) => &data.name,
        Item::Synonym(name, _) => name,
        Item::Def(def) => &def.name,
        Item::Exception(constructor) => &constructor.name,
        Item::Interface(interface) => &interface.name,
        Item::Class(class) => &class.name,
    }
}

/// Returns the report on a name with two meanings.
pub(super) fn ambiguous(name: &Name, both: &[String; 2]) -> Diagnostic {
    let [one, other] = both;
    let message = format!("`{}` is `{one}` and `{other}`", name.text);
    Diagnostic::new("A0249", name.span, message)
        .label("this name has two meanings")
        .help(format!(
            "write `{one}` or `{other}`, or import one of them only"
        ))
}
