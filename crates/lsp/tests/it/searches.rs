//! Tests the commands `check` and `run`, and their results.

use serde_json::{Value, json};

use crate::client::{Client, position, uri};

const COUNTER: &str = "atomicity access
var x: int = 0
ensures both_counted: x == 2

process { x := x + 1 }
process { x := x + 1 }
";

/// A program with too many states for any machine.
const ENDLESS: &str = "const N = 14
var a: int[N] = 0
ensures never: a[0] >= 0
process p (i in 0..N) { a[i] := a[(i + 1) % N] + 1; a[i] := a[(i + 2) % N] + 1; a[i] := a[0] }
";

fn opened(text: &str) -> (Client, String) {
    let mut client = Client::with(json!({ "timeLimit": 60 }));
    let file = uri("/models/one.maz");
    client.open(&file, text);
    (client, file)
}

fn command(name: &str, arguments: Value) -> Value {
    json!({ "command": name, "arguments": arguments })
}

fn titles(client: &mut Client, file: &str) -> Vec<String> {
    let params = json!({ "textDocument": { "uri": file } });
    let lenses = client.request("textDocument/codeLens", params);
    let lenses = lenses.as_array().expect("a list").iter();
    lenses
        .map(|lens| {
            lens["command"]["title"]
                .as_str()
                .expect("a title")
                .to_owned()
        })
        .collect()
}

#[test]
fn a_violation_appears_in_place_and_disappears_with_the_next_edit() {
    let (mut client, file) = opened(COUNTER);
    assert_eq!(
        titles(&mut client, &file),
        ["check", "check both_counted", "run", "run"]
    );
    let params = command("mazurka.check", json!([file, "both_counted"]));
    let answer = client.request("workspace/executeCommand", params);
    assert_eq!(answer["verdict"], "violated");
    assert_eq!(answer["runs"][0].as_array().expect("steps").len(), 4);
    let shown = client.shown(&file).to_vec();
    assert_eq!((shown.len(), &shown[0]["code"]), (1, &json!("failure")));
    assert_eq!(shown[0]["range"]["start"], position(2, 0));
    let steps = shown[0]["relatedInformation"].as_array().expect("steps");
    assert_eq!(steps.len(), 4);
    assert_eq!(steps[0]["message"], "1. 0: read x");
    assert_eq!(steps[0]["location"]["range"]["start"]["line"], 4);
    let lenses = titles(&mut client, &file);
    assert!(lenses[2].starts_with("violated: ensures"), "{lenses:?}");
    assert!(
        client
            .requested
            .contains(&"workspace/codeLens/refresh".to_owned())
    );
    let all = json!({ "start": position(2, 27), "end": position(2, 28) });
    client.change(&file, 2, json!([{ "range": all, "text": "1 || x == 2" }]));
    assert_eq!(client.diagnostics(&file, 2), Vec::<Value>::new());
    let params = command("mazurka.check", json!([file]));
    let answer = client.request("workspace/executeCommand", params);
    assert_eq!(answer["verdict"], "verified", "{answer}");
    assert!(titles(&mut client, &file)[1].starts_with("verified"));
}

#[test]
fn each_run_has_another_seed() {
    let (mut client, file) = opened(COUNTER);
    let mut ends = Vec::new();
    for _ in 0..3 {
        let params = command("mazurka.run", json!([file]));
        let answer = client.request("workspace/executeCommand", params);
        ends.push(answer["message"].as_str().expect("a text").to_owned());
    }
    for (seed, end) in ends.iter().enumerate() {
        assert!(
            end.starts_with(&format!("seed {seed}: ")) && end.contains("x = "),
            "{end}"
        );
    }
    let again = client.request(
        "workspace/executeCommand",
        command("mazurka.run", json!([file, 1])),
    );
    assert_eq!(again["message"], json!(ends[1]));
    assert!(titles(&mut client, &file).contains(&ends[1]));
}

/// The error code of a cancelled request.
const CANCELLED: i32 = -32800;

#[test]
fn an_edit_a_cancel_and_another_search_end_a_search() {
    let (mut client, file) = opened(ENDLESS);
    let params = command("mazurka.check", json!([file]));
    let search = client.send_request("workspace/executeCommand", params.clone());
    client.change(&file, 2, json!([{ "text": COUNTER }]));
    assert_eq!(
        client.answer(&search).expect_err("it is ended").code,
        CANCELLED
    );
    assert_eq!(
        client.request("workspace/executeCommand", params.clone())["verdict"],
        "violated"
    );
    client.change(&file, 3, json!([{ "text": ENDLESS }]));
    client.diagnostics(&file, 3);
    let search = client.send_request("workspace/executeCommand", params.clone());
    client.notify("$/cancelRequest", json!({ "id": search }));
    assert_eq!(
        client.answer(&search).expect_err("it is ended").code,
        CANCELLED
    );
    let search = client.send_request("workspace/executeCommand", params.clone());
    let run = client.send_request(
        "workspace/executeCommand",
        command("mazurka.run", json!([file])),
    );
    assert_eq!(
        client.answer(&search).expect_err("it is ended").code,
        CANCELLED
    );
    assert!(client.answer(&run).is_ok());
    // The server answers requests during a search. Closing the file ends the search.
    let search = client.send_request("workspace/executeCommand", params);
    assert!(
        !client
            .at("textDocument/hover", &file, &position(1, 4))
            .is_null()
    );
    client.close(&file);
    assert_eq!(
        client.answer(&search).expect_err("it is ended").code,
        CANCELLED
    );
}

#[test]
fn the_message_reports_a_time_limit() {
    let mut client = Client::with(json!({ "timeLimit": 1 }));
    let file = uri("/models/one.maz");
    client.open(&file, ENDLESS);
    let answer = client.request(
        "workspace/executeCommand",
        command("mazurka.check", json!([file])),
    );
    assert_eq!(answer["verdict"], "inconclusive", "{answer}");
    let message = answer["message"].as_str().expect("a text");
    assert!(message.contains("not everything was explored"), "{message}");
}

/// One property holds and one does not; there is no deadlock.
const TWO: &str = "var x: int = 0
invariant good: x >= 0
invariant bad: x < 1
cover two: x == 2
process { x := 1 }
";

#[test]
fn the_property_that_was_asked_for_is_decided_and_no_other() {
    let (mut client, file) = opened(TWO);
    for (name, verdict, words) in [
        ("good", "verified", ""),
        ("bad", "violated", "invariant `bad`"),
        ("two", "violated", "cover `two`"),
        ("failure", "violated", "invariant `bad`"),
        ("deadlock", "verified", ""),
        ("livelock", "verified", ""),
        ("property", "violated", "cover `two`"),
        ("deterministic", "verified", ""),
        ("all", "violated", ""),
    ] {
        let params = command("mazurka.check", json!([file, name]));
        let answer = client.request("workspace/executeCommand", params);
        assert_eq!(answer["verdict"], verdict, "{name}: {answer}");
        let message = answer["message"].as_str().expect("a text");
        assert!(message.contains(words), "{name}: {message}");
    }
    for (name, words) in [
        (json!("nope"), "there is no property `nope`"),
        (json!(""), "there is no property ``"),
        (json!("Deadlock"), "good, bad"),
        (json!(7), "7 is not the name of a property"),
        (json!({}), "is not the name of a property"),
    ] {
        let params = command("mazurka.check", json!([file, name]));
        let refused = client.try_request("workspace/executeCommand", params);
        let message = refused.expect_err("it is refused").message;
        assert!(message.contains(words), "{name}: {message}");
    }
    let (mut client, file) = opened("var x: int = 0  process { x := 1 }");
    let params = command("mazurka.check", json!([file, "property"]));
    let refused = client.try_request("workspace/executeCommand", params);
    assert!(
        refused
            .expect_err("it asks for nothing")
            .message
            .contains("no `cover`")
    );
    for seed in [json!(-1), json!("1"), json!(1.5)] {
        let params = command("mazurka.run", json!([file, seed]));
        let refused = client.try_request("workspace/executeCommand", params);
        assert!(
            refused
                .expect_err("it is refused")
                .message
                .contains("is not a seed")
        );
    }
}

#[test]
fn a_violation_that_is_found_twice_is_shown_once() {
    let (mut client, file) = opened("process { assert false, \"always\" }\n");
    for name in ["mazurka.check", "mazurka.run", "mazurka.check"] {
        let answer = client.request("workspace/executeCommand", command(name, json!([file])));
        assert_eq!(answer["verdict"], "violated");
        assert_eq!(
            client.shown(&file).len(),
            1,
            "{name}: {:?}",
            client.shown(&file)
        );
    }
    assert_eq!(
        titles(&mut client, &file).len(),
        4,
        "two lenses with their results"
    );
}

#[test]
fn only_true_is_trust_and_it_may_come_later() {
    for (trusted, allowed) in [
        (json!("no"), false),
        (json!("true"), false),
        (json!(0), false),
        (json!(true), true),
        (Value::Null, true),
    ] {
        let mut client = Client::with(json!({ "trusted": trusted }));
        let file = uri("/models/one.maz");
        client.open(&file, COUNTER);
        let params = command("mazurka.check", json!([file]));
        let is_allowed = |client: &mut Client| {
            client
                .try_request("workspace/executeCommand", params.clone())
                .is_ok()
        };
        assert_eq!(is_allowed(&mut client), allowed, "{trusted}");
        let granted = json!({ "settings": { "mazurka": { "trusted": true } } });
        client.notify("workspace/didChangeConfiguration", granted);
        assert!(is_allowed(&mut client));
        let other = json!({ "settings": { "mazurka": { "timeLimit": 5 } } });
        client.notify("workspace/didChangeConfiguration", other);
        assert!(is_allowed(&mut client), "trust stays");
        let taken = json!({ "settings": { "mazurka": { "trusted": false } } });
        client.notify("workspace/didChangeConfiguration", taken);
        assert!(!is_allowed(&mut client));
    }
}

#[test]
fn nothing_is_searched_in_a_folder_that_is_not_trusted() {
    let mut client = Client::with(json!({ "trusted": false }));
    let file = uri("/models/one.maz");
    client.open(&file, COUNTER);
    let params = command("mazurka.check", json!([file]));
    let refused = client.try_request("workspace/executeCommand", params);
    assert!(
        refused
            .expect_err("it is refused")
            .message
            .contains("not trusted")
    );
}

#[test]
fn searches_that_cannot_start_are_errors() {
    let (mut client, file) = opened("process { x := }");
    for (name, arguments) in [
        ("mazurka.check", json!([file])),
        ("mazurka.check", json!(["file:///none.maz"])),
        ("mazurka.check", json!(null)),
        ("mazurka.nonsense", json!([file])),
    ] {
        let refused = client.try_request("workspace/executeCommand", command(name, arguments));
        assert!(refused.is_err());
    }
    assert_eq!(titles(&mut client, &file), Vec::<String>::new());
}
