//! Reports the parts of ABS that Mazurka does not explore: the clock of the computer, deployment,
//! foreign code, schedulers and `ABS.Meta`. Each has a message of its own.

use mazurka_diagnostics::Diagnostic;
use mazurka_diagnostics::Span;

use super::{Parsed, Parser, Reported};
use crate::syntax::ast::{Annotations, Name};
use crate::syntax::token::TokenKind;

/// A part of ABS that is not explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excluded {
    Time,
    Deployment,
    Foreign,
    Schedulers,
    Meta,
}

/// The names that schedulers use.
const SCHEDULER: &[&str] = &[
    "Scheduler",
    "Pid",
    "Process",
    "method",
    "destinyOf",
    "arrival",
    "cost",
    "proc_deadline",
    "start",
    "finish",
    "crit",
    "value",
    "defaultscheduler",
    "randomscheduler",
];

/// The excluded standard modules, with their exports. Importing a module is allowed; using its
/// exports is a mistake.
const MODULES: [(&str, Excluded, &[&str]); 7] = [
    (
        "ABS.DC",
        Excluded::Deployment,
        &[
            "DeploymentComponent",
            "ClassicDeploymentComponent",
            "CloudProvider",
            "DC",
            "Cost",
            "DataSize",
            "MaxSize",
            "CogLocation",
            "Resourcetype",
            "Speed",
            "Cores",
            "Bandwidth",
            "Memory",
            "InfRat",
            "Fin",
            "finvalue",
            "Startupduration",
            "Shutdownduration",
            "PaymentInterval",
            "CostPerInterval",
            "thisDC",
        ],
    ),
    (
        "ABS.SmartDeploy",
        Excluded::Deployment,
        &[
            "DeployParamSpecification",
            "DeployScenarioElement",
            "Deploy",
            "SmartDeploy",
            "SmartDeployCloudProvider",
            "SmartDeployCost",
            "SmartDeployInterface",
        ],
    ),
    ("ABS.Scheduler", Excluded::Schedulers, SCHEDULER),
    ("ABS.StdLib.Scheduler", Excluded::Schedulers, SCHEDULER),
    (
        "ABS.Meta",
        Excluded::Meta,
        &[
            "reflect",
            "getProductLine",
            "Runtime",
            "ObjectMirror",
            "Cog",
            "ProcessScheduler",
            "Class",
            "Method",
            "ProductLine",
            "Product",
            "Delta",
            "Feature",
        ],
    ),
    (
        "ABS.Productline",
        Excluded::Meta,
        &["Feature", "product_name", "product_features"],
    ),
    ("ABS.FLI", Excluded::Foreign, &["FLIAnnotation"]),
];

/// Returns the excluded part that a module belongs to.
pub(crate) fn excluded_module(name: &str) -> Option<Excluded> {
    let found = MODULES.iter().find(|(module, _, _)| *module == name);
    found.map(|(_, excluded, _)| *excluded)
}

/// Returns the excluded part that a name belongs to, if any. `imported` has the modules that the
/// current module imports.
pub(crate) fn excluded_name(name: &str, imported: &[&str]) -> Option<Excluded> {
    let (home, short) = name.rsplit_once('.').unwrap_or(("", name));
    let always = match short {
        "ms_since_model_start" => Some(Excluded::Time),
        "readln" => Some(Excluded::Foreign),
        "DC" | "DeploymentComponent" | "CloudProvider" | "thisDC" => Some(Excluded::Deployment),
        _ => None,
    };
    always.or_else(|| {
        let found = MODULES.iter().find(|(module, _, names)| {
            (imported.contains(module) || *module == home) && names.contains(&short)
        });
        found.map(|(_, excluded, _)| *excluded)
    })
}

impl Excluded {
    /// Returns the diagnostic at a place.
    pub fn at(self, span: Span) -> Diagnostic {
        let (code, what, why, help) = match self {
            Excluded::Time => (
                "A0301",
                "the time of the machine is not explored",
                "real time",
                "use `now()`, the time of the model",
            ),
            Excluded::Deployment => (
                "A0302",
                "deployment components are not explored",
                "resources and deployment",
                "remove the deployment component: it changes when things happen, not what can happen",
            ),
            Excluded::Foreign => (
                "A0304",
                "foreign code is not explored",
                "the foreign language interface",
                "write what it does in ABS",
            ),
            Excluded::Schedulers => (
                "A0305",
                "user-defined schedulers are not explored",
                "a scheduler of its own",
                "remove the annotation: all orders of the tasks are explored",
            ),
            Excluded::Meta => (
                "A0307",
                "`ABS.Meta` is not explored",
                "reflection",
                "write out what it does",
            ),
        };
        Diagnostic::new(code, span, what).label(why).help(help)
    }
}

impl Parser<'_> {
    /// Reports the use of an excluded part.
    pub(super) fn report_excluded(&mut self, what: Excluded, span: Span) -> Reported {
        self.mistake(what.at(span))
    }

    /// Reports an annotation `Foreign`. It is not called for a class, which may be foreign as long
    /// as the program creates no object of it.
    pub(super) fn refuse_foreign(&mut self, annotations: &Annotations) {
        if annotations.has("Foreign") {
            self.report_excluded(Excluded::Foreign, self.span_here());
        }
    }

    /// Parses annotations, and reports those that belong to excluded parts.
    pub(super) fn annotations(&mut self) -> Parsed<Annotations> {
        let mut all = Annotations::default();
        while self.is("[") {
            self.next();
            loop {
                let span = self.span_here();
                let word = match self.peek() {
                    TokenKind::TypeName(word) => word.clone(),
                    _ => String::new(),
                };
                let mut label = None;
                if self.is_at(1, ":") {
                    label = Some(Name {
                        text: word.clone(),
                        span,
                    });
                    self.next();
                    self.next();
                }
                let excluded = match word.as_str() {
                    "Cost" if self.ignore_time => None,
                    "DC" | "Size" | "Cost" | "DataSize" | "MaxSize" | "CogLocation" => {
                        Some(Excluded::Deployment)
                    }
                    "Scheduler" => Some(Excluded::Schedulers),
                    _ => None,
                };
                if let Some(excluded) = excluded {
                    self.report_excluded(excluded, span);
                }
                all.0.push((label, self.expr()?));
                if !self.accept(",") {
                    break;
                }
            }
            self.expect("]")?;
        }
        Ok(all)
    }
}
