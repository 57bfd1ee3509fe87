//! The command `check-certificate`: checks a certificate. This file also makes the certificates
//! that `check` and `explore` save.

use std::path::Path;

use clap::Args;
use mazurka::certificate::{self, Certificate, Checked, Evidence, Facts, NotCertified, Rejected};
use mazurka::record::Record;
use mazurka::search::Kind;
use mazurka::{Options, Program, Verdict};

use super::{Refusal, view};
use crate::args::{AllowArgs, EXIT_CODES, ProofLimitArgs};
use crate::exit::Exit;
use crate::property::PropertyArgs;
use crate::watch::watched;
use crate::{files, output};

/// Check a certificate made by `check`, without trusting any search
#[derive(Debug, Args)]
#[command(after_help = format!("Examples:
  mazurka check counter-locked.maz --certificate counter.cert
  mazurka check-certificate counter.cert
  mazurka check-certificate counter.cert --file counter-locked.maz

The program is in the certificate; --file compares it with yours.
Exit code 0: the verdict follows. 1: it does not follow: the evidence is incomplete, or shows a violation.
2: a limit was reached before the check was complete.
3: it cannot be read, or is about another program.
{EXIT_CODES}"))]
pub(crate) struct CheckCertificateArgs {
    /// A certificate, as `check --certificate FILE` saves it
    certificate: String,
    /// The program that the certificate must be about
    #[arg(long, value_name = "FILE")]
    file: Option<String>,
    #[command(flatten)]
    property: PropertyArgs,
    #[command(flatten)]
    limits: ProofLimitArgs,
    #[command(flatten)]
    pub(super) allowing: AllowArgs,
}

/// Checks a certificate, and prints the properties that it proves.
pub(super) fn check_certificate(args: &CheckCertificateArgs) -> Result<Exit, Refusal> {
    let name = &args.certificate;
    let unreadable = |why: Rejected| Refusal::Message(format!("`{name}`: {why}"));
    let read = Certificate::from_bytes(&files::certificate(name)?).map_err(unreadable)?;
    if let Some(file) = &args.file
        && files::with_included(file)? != read.source
    {
        let other = format!("`{name}` is about another program than `{file}`");
        return Err(Refusal::Message(other));
    }
    let program = Program::load("certificate", &read.source, &read.settings);
    let program = program
        .map_err(|_| Refusal::Message(format!("`{name}`: the program in it has mistakes")))?;
    let mut options = Options {
        limits: args.limits.limits(),
        ..Options::default()
    };
    args.property.apply(&program, &mut options)?;
    let checked = watched(&options.limits, true, |watch| {
        certificate::check(&read, &options, watch)
    })?;
    Ok(match checked {
        Ok(checked) => {
            let exit = match checked.verdict() {
                Verdict::Verified => Exit::Verified,
                _ => Exit::Violated,
            };
            output::print(&described(&read, &checked), exit)
        }
        Err(NotCertified::Bound(bound)) => {
            let what = "the certificate was not checked completely";
            let text = mazurka_report::unchecked(&bound, what, &view(&options.limits));
            output::print(&text, Exit::Inconclusive)
        }
        Err(NotCertified::Rejected(why @ (Rejected::Tree(_) | Rejected::States(_)))) => {
            output::print(&format!("rejected: {why}\n"), Exit::Violated)
        }
        Err(why) => return Err(Refusal::Message(format!("`{name}`: {why}"))),
    })
}

/// Describes the properties that the certificate proves, and its kind of evidence.
fn described(certificate: &Certificate, checked: &Checked) -> String {
    let head = match checked.verdict() {
        Verdict::Verified => {
            let shown = checked.counted.iter().map(|kind| match kind {
                Kind::Property => "violated property",
                kind => kind.name(),
            });
            let shown: Vec<&str> = shown.collect();
            format!("verified: no {}", shown.join(", no "))
        }
        _ => format!(
            "rejected: the evidence shows a violation ({})",
            checked.names()
        ),
    };
    let set = certificate.settings.iter();
    let set: String = set
        .map(|(name, value)| format!(" --set {name}={value}"))
        .collect();
    let lines = certificate.source.lines().count();
    format!(
        "{head}\n  evidence: {}\n  program: {lines} lines{set}, in the certificate\n",
        evidence(certificate.kind, &checked.facts)
    )
}

/// Returns the evidence in a few words.
fn evidence(kind: Evidence, facts: &Facts) -> String {
    let Facts {
        steps,
        executions,
        blocked,
        ..
    } = facts;
    match kind {
        Evidence::Stateless => {
            format!("a tree of {executions} executions and {blocked} blocked runs, {steps} steps")
        }
        Evidence::Stateful => format!("{steps} states that no step leaves"),
    }
}

/// Makes a certificate of a verdict. Reports the result, or why there is no certificate, on
/// standard error.
pub(super) fn certify(
    program: &Program,
    (record, path): (&Record, &Path),
    options: &Options,
    exit: Exit,
) -> Result<Exit, Refusal> {
    if cfg!(target_family = "wasm") {
        let refusal = "--certificate writes a file, which is impossible in a browser";
        return Err(Refusal::Message(refusal.to_owned()));
    }
    if record.verdict != Verdict::Verified {
        output::print_error("no certificate: only `verified` has one\n");
        return Ok(exit);
    }
    let certificate = watched(&options.limits, true, |watch| {
        program.certify(options, watch)
    })?;
    match certificate {
        Ok(certificate) => {
            if files::save_bytes("the certificate", path, &certificate.certificate.to_bytes()) {
                let evidence = evidence(certificate.certificate.kind, &certificate.facts);
                let added = match certificate.added {
                    0 => String::new(),
                    added => format!(", {added} of them beyond those of `optimal`"),
                };
                output::print_error(&format!("certificate: {evidence}{added}\n"));
            }
            Ok(exit)
        }
        Err(why) => {
            output::complain(&format!("no certificate: {why}"));
            Ok(exit.worse(Exit::BadInput))
        }
    }
}
