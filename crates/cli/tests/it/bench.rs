//! Tests `mazurka bench`.

use crate::support::mazurka;

#[test]
fn quick_measurements_count_exactly() {
    let result = mazurka(&["bench", "--quick", "--repeat", "1", "--format", "json"]);
    assert_eq!(result.code, 0, "{result:?}");
    let json = result.json();
    assert_eq!(json["version"], 2);
    assert_eq!(json["quick"], true);
    let rows = json["rows"].as_array().expect("rows");
    let traces = |program: &str, algorithm: &str| {
        let row = rows
            .iter()
            .find(|row| row["program"] == program && row["algorithm"] == algorithm);
        row.unwrap_or_else(|| panic!("no {algorithm} on {program} in {json}"))["traces"].clone()
    };
    assert_eq!(traces("writers(5)", "optimal"), 120);
    assert_eq!(traces("readers(6)", "optimal"), 64);
    assert_eq!(traces("lastzero(4)", "optimal"), 28);
    assert_eq!(traces("fib(2)", "naive"), 19);
    assert!(traces("fib(2)", "stateful").is_null());
}

#[test]
fn the_table_names_the_clock_and_the_peers_and_if_asked_the_target() {
    let args = ["bench", "--filter", "filesystem", "--repeat", "1"];
    let plain = mazurka(&args);
    assert_eq!(plain.code, 0, "{plain:?}");
    for word in ["time", "best of 1", "traces/s", "Nidhugg 500"] {
        assert!(plain.out.contains(word), "no `{word}` in {}", plain.out);
    }
    for word in ["target", "50.0 k", "reached", "missed"] {
        assert!(!plain.out.contains(word), "`{word}` in {}", plain.out);
    }
    let with_targets = mazurka(&[&args[..], &["--targets"]].concat());
    for word in ["Nidhugg 500", "target", "50.0 k", "targets: "] {
        assert!(
            with_targets.out.contains(word),
            "no `{word}` in {}",
            with_targets.out
        );
    }
}

#[test]
fn a_search_that_takes_too_long_is_cut() {
    let args = ["bench", "--algorithm", "naive", "--filter", "readers(16)"];
    let result = mazurka(&[&args[..], &["--time-limit", "50ms"]].concat());
    assert_eq!(result.code, 2, "{result:?}");
    assert!(
        result.out.contains("cut: --time-limit 0.05"),
        "{}",
        result.out
    );
    let allowed = mazurka(&[&args[..], &["--time-limit", "50ms", "--allow-inconclusive"]].concat());
    assert_eq!(allowed.code, 0, "{allowed:?}");
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let result = mazurka(&["bench", "--filter", "no such program"]);
    assert_eq!(result.code, 3);
    assert!(result.err.contains("writers(9)"), "{}", result.err);
}

#[test]
fn files_are_measured_in_place_of_the_programs_of_the_papers() {
    let file = "corpus/maz/writers/program.maz";
    let flags = ["--repeat", "1", "--format", "json", "--algorithm"];
    let ask = |set: &str| {
        let result = mazurka(&[&["bench", file, "--set", set], &flags[..], &["optimal"]].concat());
        assert_eq!(result.code, 0, "{result:?}");
        result.json()["rows"][0].clone()
    };
    // A size without published figures: n writers have n! orders.
    let row = ask("N=4");
    assert_eq!(row["program"], format!("{file} N=4"));
    assert_eq!(row["traces"], 24);
    assert!(row["expected"].is_null() && row["peers"] == serde_json::json!([]));
    // This text is that of a program of the benchmark, so the known figures are shown.
    let row = ask("N=9");
    assert_eq!(row["expected"], 362_880);
    assert_eq!(row["traces"], 362_880);
    assert_eq!(row["peers"][0]["tool"], "GenMC");
}

#[test]
fn files_that_cannot_be_measured_are_refused() {
    let unknown = "corpus/maz/sympaths-example2/program.maz";
    for (args, words) in [
        (&["bench", unknown][..], "unknown values"),
        (&["bench", "no-such-file.maz"], "no-such-file.maz"),
        (&["bench", unknown, "--quick"], "--quick"),
        (&["bench", "--set", "N=3"], "FILE"),
        (
            &["bench", "corpus/maz/writers/program.maz", "--set", "M=3"],
            "M",
        ),
    ] {
        let result = mazurka(args);
        assert_eq!(result.code, 3, "{args:?}: {result:?}");
        assert!(result.err.contains(words), "{args:?}: {result:?}");
    }
}
