//! Tests a search by many processes and a real NATS server. The tests kill processes and the server
//! during the search. `cargo test -p mazurka-cli --features cluster --test cluster` runs them. Only
//! loopback addresses are used.

mod processes;

use std::time::{Duration, Instant};

use processes::{CommandResult, Nats, Random, mazurka, run_to_end, worker};

const FIB: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../corpus/maz/fib/program.maz"
);

/// The published number of traces of fib(6), which is also in the corpus.
const TRACES: u64 = 73_789;

/// Returns the arguments of a search that is cut into some hundred parts.
fn fib(n: u32, server: &str) -> Vec<String> {
    let n = format!("N={n}");
    let words = [
        "explore",
        FIB,
        "--set",
        &n,
        "--cluster",
        server,
        "--part-steps",
        "3000",
        "--format",
        "json",
        "--patience",
        "60s",
    ];
    words.map(str::to_owned).to_vec()
}

/// Returns a record without its times, as text.
fn timeless(record: &str) -> String {
    let is_time = |line: &&str| !line.trim_start().starts_with("\"seconds\":");
    let lines: Vec<&str> = record.lines().filter(is_time).collect();
    assert_eq!(lines.len() + 1, record.lines().count(), "{record}");
    lines.join("\n")
}

/// Returns the findings of one process that explores the same parts.
fn alone(n: u32) -> CommandResult {
    let alone = run_to_end(mazurka(&fib(n, "here")));
    assert_eq!(alone.code, 0, "{alone:?}");
    alone
}

fn traces(record: &str) -> Option<u64> {
    let record: serde_json::Value = serde_json::from_str(record).expect("a record");
    record["traces"].as_u64()
}

#[test]
fn any_number_of_workers_makes_the_same_record() {
    let alone = alone(6);
    assert_eq!(traces(&alone.out), Some(TRACES));
    for workers in [1, 3, 8] {
        let Some(nats) = Nats::start(&[]) else { return };
        let _workers: Vec<_> = (0..workers).map(|_| worker(&nats.url, &[])).collect();
        let together = run_to_end(mazurka(&fib(6, &nats.url)));
        assert_eq!(together.code, 0, "{together:?}");
        assert_eq!(timeless(&together.out), timeless(&alone.out), "{workers}");
        // Nothing is left on the server.
        let listed = run_to_end(mazurka(&["cluster", &nats.url]));
        assert!(listed.out.starts_with("no searches\n"), "{listed:?}");
        let named = listed.out.matches("worker ").count();
        assert_eq!(named, workers, "{listed:?}");
    }
}

#[test]
fn one_process_alone_finds_the_same() {
    let parts = alone(5);
    let words = [
        "explore", FIB, "--set", "N=5", "--format", "json", "--jobs", "1",
    ];
    let plain = run_to_end(mazurka(&words));
    let read = |record: &str| -> serde_json::Value {
        let mut record: serde_json::Value = serde_json::from_str(record).expect("a record");
        // Remove times, workers, and the fields that depend on where parts are cut.
        for word in ["seconds", "options", "steps", "events", "blocked"] {
            record[word] = serde_json::Value::Null;
        }
        record
    };
    assert_eq!(read(&parts.out), read(&plain.out));
}

#[test]
fn every_process_may_be_killed_at_any_time() {
    let alone = alone(6);
    for seed in 1..=2 {
        let mut random = Random(seed);
        let Some(mut nats) = Nats::start(&[]) else {
            return;
        };
        let words = fib(6, &nats.url);
        let mut workers: Vec<_> = (0..3).map(|_| worker(&nats.url, &[])).collect();
        let mut coordinator = mazurka(&words);
        let (mut kills, start) = ([0; 3], Instant::now());
        while coordinator.is_running() {
            assert!(
                start.elapsed() < Duration::from_secs(600),
                "seed {seed}: {kills:?}"
            );
            std::thread::sleep(Duration::from_millis(200 + random.below(600)));
            if kills.iter().sum::<u32>() >= 14 || !coordinator.is_running() {
                continue;
            }
            let what = random.below(5) as usize;
            match what {
                0..=2 => workers[what] = worker(&nats.url, &[]),
                3 => nats.restart(),
                _ => coordinator = mazurka(&words),
            }
            kills[what.saturating_sub(2)] += 1;
        }
        println!("seed {seed}: workers, server, coordinator were killed {kills:?} times");
        let together = run_to_end(coordinator);
        assert_eq!(together.code, 0, "seed {seed}: {together:?}");
        assert_eq!(timeless(&together.out), timeless(&alone.out), "seed {seed}");
    }
}

#[test]
fn a_message_that_is_deleted_only_delays() {
    let alone = alone(5);
    let Some(nats) = Nats::start(&[]) else { return };
    let coordinator = mazurka(&fib(5, &nats.url));
    // Delete the order of the whole search. Later, when it was sent again, delete all waiting
    // orders.
    nats.wait_for(0, 1);
    nats.publish("$JS.API.STREAM.MSG.DELETE.mazurka-orders", r#"{"seq":1}"#);
    let _worker = worker(&nats.url, &[]);
    nats.wait_for(2, 10);
    nats.publish("$JS.API.STREAM.PURGE.mazurka-orders", "");
    let together = run_to_end(coordinator);
    assert_eq!(
        timeless(&together.out),
        timeless(&alone.out),
        "{together:?}"
    );
}

#[test]
fn a_message_that_is_not_a_result_is_ignored() {
    let alone = alone(4);
    let Some(nats) = Nats::start(&[]) else { return };
    let coordinator = mazurka(&fib(4, &nats.url));
    let listed = nats.wait_for(0, 1);
    let id = &listed.out["search ".len()..][..32];
    let head = r#"{"of":"x","checksum":"y","bytes":99999999999999,"piece":1,"executions":5}"#;
    nats.publish(&format!("$KV.mazurka-{id}.head.0"), head);
    nats.publish(&format!("$KV.mazurka-{id}.head.0.7"), "rubbish");
    nats.publish(&format!("mazurka.orders.{id}.0.5.7"), "rubbish");
    nats.publish("mazurka.orders.x.0", "rubbish");
    let _worker = worker(&nats.url, &["--quiet"]);
    let together = run_to_end(coordinator);
    assert_eq!(
        timeless(&together.out),
        timeless(&alone.out),
        "{together:?}"
    );
}

#[test]
fn an_interrupted_search_can_be_continued() {
    let alone = alone(4);
    let Some(nats) = Nats::start(&[]) else { return };
    let words = fib(4, &nats.url);
    let coordinator = mazurka(&words);
    nats.wait_for(0, 1);
    coordinator.interrupt();
    let interrupted = run_to_end(coordinator);
    assert_eq!(interrupted.code, 2, "{interrupted:?}");
    assert!(
        interrupted.out.contains("\"interrupted\""),
        "{interrupted:?}"
    );
    let advice = "to continue it, run the same command again";
    assert!(interrupted.err.contains(advice), "{interrupted:?}");
    let _worker = worker(&nats.url, &[]);
    let together = run_to_end(mazurka(&words));
    assert_eq!(
        timeless(&together.out),
        timeless(&alone.out),
        "{together:?}"
    );
}

#[test]
fn a_search_can_be_cancelled() {
    let Some(nats) = Nats::start(&[]) else { return };
    let coordinator = mazurka(&fib(4, &nats.url));
    let listed = nats.wait_for(0, 1);
    assert!(listed.out.contains("program.maz"), "{listed:?}");
    let id = &listed.out["search ".len()..][..8];
    let other = run_to_end(mazurka(&["cluster", &nats.url, "--cancel", "x"]));
    assert_eq!(other.code, 3, "{other:?}");
    let cancelled = run_to_end(mazurka(&["cluster", &nats.url, "--cancel", id]));
    assert_eq!(cancelled.code, 0, "{cancelled:?}");
    let ended = run_to_end(coordinator);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.err.contains("cancelled"), "{ended:?}");
    let listed = run_to_end(mazurka(&["cluster", &nats.url]));
    assert!(listed.out.starts_with("no searches\n"), "{listed:?}");
}

#[test]
fn a_worker_stays_within_its_limits() {
    let Some(nats) = Nats::start(&[]) else { return };
    let _worker = worker(&nats.url, &["--max-part-steps", "1000"]);
    let refused = run_to_end(mazurka(&fib(4, &nats.url)));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.err.contains("--max-part-steps is 1000"),
        "{refused:?}"
    );
}

#[test]
fn a_worker_without_work_ends() {
    let Some(nats) = Nats::start(&[]) else { return };
    let ended = run_to_end(worker(&nats.url, &["--idle", "1s"]));
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.err.contains("0 parts done"), "{ended:?}");
}

#[test]
fn a_server_with_a_password_refuses_others() {
    let Some(nats) = Nats::start(&["--user", "me", "--pass", "secret"]) else {
        return;
    };
    let refused = run_to_end(mazurka(&["cluster", &nats.url, "--patience", "1s"]));
    assert_eq!(refused.code, 3, "{refused:?}");
    let url = nats.url.replace("nats://", "nats://me:secret@");
    let listed = run_to_end(mazurka(&["cluster", &url]));
    assert_eq!(
        (listed.code, &*listed.out),
        (0, "no searches\nno workers\n")
    );
    let _worker = worker(&url, &[]);
    let together = run_to_end(mazurka(&fib(3, &url)));
    assert_eq!(traces(&together.out), Some(141), "{together:?}");
    assert!(!together.err.contains("secret"), "{together:?}");
}

#[test]
fn options_that_workers_do_not_support_are_refused() {
    let refused = |words: &[&str]| {
        let mut all = vec![
            "explore",
            FIB,
            "--cluster",
            "nats://127.0.0.1:1",
            "--patience",
            "1s",
        ];
        all.extend(words);
        let result = run_to_end(mazurka(&all));
        assert_eq!(result.code, 3, "{result:?}");
        result.err
    };
    assert!(refused(&["--max-steps", "5"]).contains("--max-steps"));
    assert!(refused(&["--algorithm", "stateful"]).contains("compares states"));
    assert!(refused(&["--format", "svg"]).contains("dot and svg"));
    assert!(refused(&[]).contains("cannot connect to nats://127.0.0.1:1"));
    let c = run_to_end(mazurka(&["explore", "x.c", "--cluster", "here"]));
    assert!(c.err.contains("not in C"), "{c:?}");
}
