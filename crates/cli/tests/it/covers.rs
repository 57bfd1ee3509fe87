//! Tests `cover e`: conditions that some run must reach.

use crate::support::with_input;

const QUEUE: &str = "const N = 2
var count: int = 0
cover full: count == N
cover beyond: count == 3
cover 6 / count == 3
allows nondeterminism
process p { for i in 0..2 { count := count + 1 } }
process q { for i in 0..2 { count > 0 |> count := count - 1 } }
";

#[test]
fn an_unreached_cover_is_violated_with_the_explored_part() {
    for command in ["check", "explore"] {
        let result = with_input(&[command, "-"], QUEUE);
        assert_eq!(result.code, 1, "{result:?}");
        for line in [
            "cover `beyond` is never reached: `count == 3`",
            "never covered: `beyond` holds in no reachable state (",
            "covered: `full` holds after 2 steps: mazurka run - --schedule \"p p\"",
            "covered: `6 / count == 3` holds after 2 steps: mazurka run",
        ] {
            assert!(result.out.contains(line), "{line}\n{}", result.out);
        }
    }
}

#[test]
fn covers_count_by_their_names_and_by_their_kind() {
    let check = |property: &str| {
        let args = ["check", "-", "--format", "json", "--property", property];
        let result = with_input(&args, QUEUE);
        (result.code, result.json())
    };
    let (code, record) = check("full");
    assert_eq!(
        (code, record["covers"][0]["answer"].as_str()),
        (0, Some("reached"))
    );
    assert_eq!(record["covers"].as_array().map(Vec::len), Some(1));
    assert_eq!(record["covers"][0]["run"]["schedule"], "0 0");
    let (code, record) = check("beyond");
    assert_eq!(
        (code, record["covers"][0]["answer"].as_str()),
        (1, Some("unreached"))
    );
    assert_eq!(record["witnesses"][0]["kind"], "property");
    let (code, record) = check("property");
    assert_eq!(
        (code, record["covers"].as_array().map(Vec::len)),
        (1, Some(3))
    );
    let (code, record) = check("failure");
    assert_eq!((code, record.get("covers")), (0, None));
    let allowed = QUEUE.replace("allows", "allows property,");
    assert_eq!(with_input(&["check", "-"], &allowed).code, 0);
}

#[test]
fn a_limit_leaves_it_open() {
    let program = "var x: int = 0 cover x == 50 invariant x < 100
        process { for i in 0..40 { x := x + 1 } }";
    let result = with_input(&["check", "-", "--max-steps", "20"], program);
    assert_eq!(result.code, 2, "{result:?}");
    let line = "not covered so far: `x == 50` (";
    assert!(result.out.contains(line), "{}", result.out);
    assert!(
        result.out.contains("--max-steps 20 was reached"),
        "{}",
        result.out
    );
    let result = with_input(&["check", "-"], program);
    assert_eq!(result.code, 1, "{result:?}");
}

/// A limit applies to the whole command, not to each cover separately.
#[test]
fn covers_share_the_limits() {
    let mut program = "var x: int = 0 allows nondeterminism\n".to_owned();
    for k in 0..8 {
        program += &format!("cover c{k}: x == {}\n", 1000 + k);
    }
    program += "process p (i in 0..3) { for k in 0..3 { x := x * 2 + i } }\n";
    let json = |command: &str, limit: [&str; 2]| {
        let args = [command, "-", "--format", "json", limit[0], limit[1]];
        with_input(&args, &program).json()
    };
    let count = |one: &serde_json::Value, what: &str| {
        let counts = one.get("counts").unwrap_or(one);
        counts[what].as_u64().expect("a count")
    };
    for (command, flag, what) in [
        ("check", "--max-steps", "steps"),
        ("explore", "--max-steps", "steps"),
        ("explore", "--max-executions", "executions"),
    ] {
        let all = json(command, ["--max-steps", "100000000"]);
        let alone = count(&all, what);
        let limit = alone * 5 / 2;
        let record = json(command, [flag, &limit.to_string()]);
        let covers = record["covers"].as_array().expect("covers");
        assert_eq!(covers.len(), 8);
        let spent: u64 = covers.iter().map(|cover| count(cover, what)).sum();
        assert!(
            count(&record, what) + spent <= limit + 100,
            "{command} {flag}: {spent}"
        );
        let open = covers.iter().filter(|cover| cover["answer"] == "open");
        let open: Vec<_> = open.collect();
        assert!(open.len() >= 6, "{command} {flag}: {covers:?}");
        let bounds = open[5]["bounds"].to_string();
        assert!(bounds.contains(&limit.to_string()), "{command}: {bounds}");
        assert_eq!(count(covers.last().expect("the last"), what), 0);
    }
}

/// A sample is drawn for each cover: its size is not a limit.
#[test]
fn a_sample_is_drawn_for_each_cover() {
    let program = "var x: int = 0 cover one: x == 1 cover x == 9 process { x := 1 }";
    let args = [
        "explore",
        "-",
        "--algorithm",
        "random",
        "--max-executions",
        "3",
    ];
    let result = with_input(&args, program);
    assert!(
        result.out.contains("covered: `one` holds after"),
        "{result:?}"
    );
}

#[test]
fn values_that_are_not_known_are_found() {
    let program = "var n: i32 var x: int = 0 cover seven: n * n == 49 && x == 1
        cover x == 2 allows nondeterminism process { x := 1 }";
    let result = with_input(&["check", "-", "--format", "json"], program);
    assert_eq!(result.code, 1, "{result:?}");
    let record = result.json();
    let run = &record["covers"][0]["run"];
    let n: i32 = run["inputs"][0]["value"]
        .as_str()
        .expect("n")
        .parse()
        .expect("a number");
    assert_eq!(n.wrapping_mul(n), 49);
    assert_eq!(record["covers"][1]["answer"], "unreached");
}

/// A state in the same step as a false `assume` does not count. A failed process stops, but its
/// earlier states count.
#[test]
fn assumptions_and_failures() {
    let answer = |body: &str| {
        let program =
            format!("var x, y: int = 0 cover x == 1 invariant y < 5 process {{ {body} }}");
        let result = with_input(&["check", "-", "--format", "json"], &program);
        result.json()["covers"][0]["answer"]
            .as_str()
            .map(str::to_owned)
    };
    let [reached, unreached] = ["reached", "unreached"].map(|word| Some(word.to_owned()));
    assert_eq!(answer("atomic { x := 1; assume false }"), unreached);
    assert_eq!(answer("atomic { x := 1; assert false }"), reached);
    assert_eq!(answer("assert false; x := 1"), unreached);
    assert_eq!(answer("y := 5; x := 1"), unreached);
    // Local work belongs to the step before it.
    assert_eq!(answer("x := 1; assume false"), unreached);
    assert_eq!(answer("x := 1; y := 1; assume false"), reached);
}

#[test]
fn commands_without_covers_report_that() {
    for command in ["unfold", "permute", "symbolic"] {
        let result = with_input(&[command, "-"], QUEUE);
        assert_eq!(result.code, 2, "{command}: {result:?}");
        let line = "`cover` was not checked";
        assert!(result.out.contains(line), "{command}: {}", result.out);
    }
    let proved = format!("{QUEUE}ensures count >= 0");
    let result = with_input(&["prove", "-"], &proved);
    assert_eq!(result.code, 2, "{result:?}");
    let weak = "atomicity access var x: int = 0 cover x == 1 process { x := 1 }";
    let result = with_input(&["check", "-", "--memory", "rc11"], weak);
    assert_eq!(result.code, 3, "{result:?}");
    assert!(result.err.contains("`cover`"), "{result:?}");
}

#[test]
fn a_record_without_a_run_has_nothing_to_replay() {
    let path = std::env::temp_dir().join(format!("cover-{}.maz", std::process::id()));
    let program = "var x: int = 0 cover x == 2 process { x := 1 }";
    std::fs::write(&path, program).expect("a file");
    let file = path.to_str().expect("a name");
    let result = with_input(&["check", file, "--format", "json"], "");
    let again = with_input(&["replay", "-"], &result.out);
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(result.code, 1, "{result:?}");
    assert_eq!(again.code, 3, "{again:?}");
    assert!(again.err.contains("nothing to replay"), "{again:?}");
    let why = "the violation is a `cover` that no run reaches";
    assert!(again.err.contains(why), "{again:?}");
    let how = format!("`mazurka check {file}`");
    assert!(again.err.contains(&how), "{again:?}");
}

#[test]
fn explorations_with_checkpoints_name_the_command_for_covers() {
    let folder = std::env::temp_dir().join(format!("mazurka-covers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).display().to_string();
    let (program, checkpoint) = (file("a.maz"), file("a.json"));
    std::fs::write(&program, QUEUE).expect("a file");
    let result = with_input(&["explore", &program, "--checkpoint", &checkpoint], "");
    // A leftover folder does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(result.code, 2, "{result:?}");
    let line =
        format!("explorations with checkpoints do not search for it: `mazurka check {program}`");
    assert!(result.out.contains(&line), "{result:?}");
}
