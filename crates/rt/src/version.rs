//! The version at the start of a replay, as in `v1 0 0.0 0`.
//!
//! A replay is the text that repeats a failing run: a schedule, which lists the threads in the
//! order of their steps, and facts and inputs after it. If a change of this crate gives an
//! operation more steps, or changes the format of a replay, an older replay would fail in a
//! confusing way or lead to another run. Such a change therefore increments the version. A replay
//! without a version is taken to have this one, because people also write schedules by hand.

/// The version of the replays that this crate writes and reads.
const VERSION: u32 = 1;

/// Puts the version before a replay.
pub(crate) fn with_version(replay: &str) -> String {
    format!("v{VERSION} {replay}").trim_end().to_owned()
}

/// Returns a replay without its version, or an error if it has another version than [`VERSION`].
pub(crate) fn without_version(replay: &str) -> Result<&str, String> {
    let replay = replay.trim();
    let (first, rest) = replay.split_once(' ').unwrap_or((replay, ""));
    match first.strip_prefix('v') {
        None => Ok(replay),
        Some(version) if version.parse() == Ok(VERSION) => Ok(rest),
        Some(_) => Err(format!(
            "this replay begins with {first}, and mazurka-rt {} reads v{VERSION}: run it with the release of mazurka-rt that \
             printed it, or search again for a new one",
            env!("CARGO_PKG_VERSION")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{with_version, without_version};

    #[test]
    fn what_is_written_is_read() {
        for replay in ["", "0 0.0 0", "rc11: 0 0.1=1; spins=2"] {
            assert_eq!(without_version(&with_version(replay)), Ok(replay));
            assert_eq!(without_version(replay), Ok(replay));
        }
    }

    #[test]
    fn other_versions_are_refused() {
        for replay in ["v0 0 0", "v2", "v 0", "vx 0", "v99999999999999999999 0"] {
            let error = without_version(replay).expect_err("another version");
            let first = replay.split(' ').next().expect("a word");
            assert!(error.contains(&format!("begins with {first},")), "{error}");
        }
    }
}
