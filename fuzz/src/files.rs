//! Files that Mazurka writes and reads again: records, checkpoints, proofs and certificates.

use std::sync::OnceLock;

use mazurka::certificate::{self, Certificate};
use mazurka::checkpoint::Checkpoint;
use mazurka::prove::ProofFile;
use mazurka::replay::Recording;
use mazurka::solving::SolverChoice;
use mazurka::{Algorithm, Limits, Options, Program, quietly};

/// The program that the records and checkpoints are about.
pub fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    let source = "
        const N = 4
        var x, y: int = 0
        lock m
        process p(i in 0..N) { lock(m); x := x + i; unlock(m); y := choose(0..2) }
        ensures x == 6 && y == 0
    ";
    PROGRAM.get_or_init(|| Program::load("damaged.maz", source, &[]).expect("a good program"))
}

/// The program that the proofs are about: it has a loop, a lock and a spawned process.
pub fn proved() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    let source = "
        var x, c: i8 = 0 var n: i8 var a: i8[2] = 0 var b: bool
        lock m
        requires n >= 0
        invariant x <= 2
        process p { let h = spawn { lock(m); x := x + 1; unlock(m) }; join h }
        process q { while c < n invariant 0 <= c && c <= n { c := c + 1 } }
        ensures c == n && x == 1";
    PROGRAM.get_or_init(|| Program::load("damaged.maz", source, &[]).expect("a good program"))
}

/// Options for short searches, without solvers that may be installed.
pub fn options() -> Options {
    Options {
        limits: Limits {
            steps: Some(20_000),
            ..Limits::default()
        },
        solver: SolverChoice::Embedded.into(),
        ..Options::default()
    }
}

/// Parses a record and replays it. Returns whether it is a record.
pub fn record(text: &str) -> bool {
    let Ok(recording) = Recording::parse(text) else {
        return false;
    };
    // Either is an answer; only a panic is not.
    let _ = program().replay(&recording, &options());
    true
}

/// Parses a checkpoint and resumes it. Returns whether it is a checkpoint.
pub fn checkpoint(text: &str) -> bool {
    let Ok(read) = Checkpoint::parse(text) else {
        return false;
    };
    let _ = program().explore_from(Some(&read), Algorithm::Source, &options(), &mut quietly());
    true
}

/// Parses proofs and checks them. Returns the proofs, if the checker accepts them.
pub fn proof(text: &str) -> Option<ProofFile> {
    let file = ProofFile::parse(text).ok()?;
    let checked = proved().check_proof(&file, &options(), &mut quietly());
    checked.is_ok().then_some(file)
}

/// Parses a certificate and checks it. Returns whether the checker accepts it.
pub fn certificate(bytes: &[u8]) -> bool {
    let Ok(read) = Certificate::from_bytes(bytes) else {
        return false;
    };
    let options = Options {
        limits: Limits {
            time: Some(std::time::Duration::from_secs(2)),
            ..options().limits
        },
        ..options()
    };
    certificate::check(&read, &options, &mut quietly()).is_ok()
}
