//! Makes a certificate for every verified program of the corpus and the examples that is small
//! enough. The checker must accept it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::parallel::on_all_cores;
use mazurka::certificate::{self, Certificate, Evidence, NotCertified};
use mazurka::{Limits, Options, Program, Verdict, expand, quietly};

fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").path())
            .collect()
    };
    let corpus = files(&root.join("corpus/maz"));
    let corpus = corpus.into_iter().map(|folder| folder.join("program.maz"));
    let examples = files(&root.join("examples")).into_iter();
    let all = corpus.chain(examples);
    all.filter(|path| path.is_file() && path.extension().is_some_and(|end| end == "maz"))
        .collect()
}

fn load(path: &Path) -> Program {
    let text = fs::read_to_string(path).expect("a program");
    let folder = path.parent().expect("a folder");
    let read =
        &mut |name: &str| fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    Program::load("program.maz", &expand(&text, read), &[]).expect("a program")
}

#[test]
fn verified_programs_have_a_certificate_that_is_accepted() {
    let all = on_all_cores(programs(), |path| {
        let program = load(path);
        let options = Options {
            limits: Limits {
                steps: Some(300_000),
                time: Some(Duration::from_secs(60)),
                ..Limits::default()
            },
            ..Options::default()
        };
        let record = program.check(&options, &mut quietly());
        if record.map(|record| record.verdict) != Ok(Verdict::Verified) {
            return false;
        }
        let made = match program.certify(&options, &mut quietly()) {
            Ok(made) => made.certificate,
            Err(NotCertified::Unknown | NotCertified::Property) => return false,
            Err(why) => panic!("{}: {why}", path.display()),
        };
        let read = Certificate::from_bytes(&made.to_bytes()).expect("a certificate");
        let checked = certificate::check(&read, &options, &mut quietly());
        let checked = checked.unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        assert_eq!(checked.verdict(), Verdict::Verified, "{}", path.display());
        // The most bytes for each step of a tree, or for each state.
        let each = match made.kind {
            Evidence::Stateless => 4,
            Evidence::Stateful => 64,
        };
        let most = each * checked.facts.steps + 16;
        let size = made.evidence.len() as u64;
        assert!(size <= most, "{}: {size} bytes", path.display());
        true
    });
    let mut accepted = 0;
    for (path, certified) in all {
        accepted += u64::from(certified.unwrap_or_else(|| panic!("{}", path.display())));
    }
    assert!(accepted >= 60, "{accepted}");
}
