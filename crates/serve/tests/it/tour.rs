//! Tests the page in a browser: the actions of a user, and what the page shows.
//!
//! The tests use the page that `page/build` makes, with the command as WebAssembly, and the page of
//! `mazurka serve`. Without a browser they print that they were skipped.

use std::process::Command;

use mazurka_serve::Settings;
use serde_json::json;

use crate::browser::{Page, browser, files, root, runtime};
use crate::command;
use crate::server::start;

const COUNTER: &str = "atomicity access\nvar x: int = 0\nensures both: x == 2\nprocess { x := x + 1 }\nprocess { x := x + 1 }\n";
const TWO: &str = "var x: int = 0\nprocess p { x := 1 }\nprocess q { x := 2 }\n";
const ENDLESS: &str = "var x: int = 0\nvar y: int = 0\nprocess p (i in 0..9) { for j in 0..9 { x := x + i; y := x } }\n";
const WEAK: &str = "atomicity access\nvar x: atomic int = 0\nvar y: atomic int = 0\nvar a: int = 1\nvar b: int = 1\nensures a == 1 || b == 1\nprocess { x.store(1, relaxed); let r = y.load(relaxed); a := r }\nprocess { y.store(1, relaxed); let r = x.load(relaxed); b := r }\n";

/// 3 processes of 4 steps: 110 251 prefixes of runs.
const MANY: &str = "var x: int = 0\nprocess p { x := 1; x := 2; x := 3; x := 4 }\nprocess q { x := 5; x := 6; x := 7; x := 8 }\nprocess r { x := 9; x := 10; x := 11; x := 12 }\n";

const KEY_ENTER: &str = "\u{e007}";
const KEY_HOME: &str = "\u{e011}";
const KEY_END: &str = "\u{e010}";
const KEY_RIGHT: &str = "\u{e014}";
const KEY_LEFT: &str = "\u{e012}";
const CONTROL_ENTER: &str = "\u{e009}\u{e007}\u{e000}";

async fn tour(page: &Page, engine: &str) {
    typing(page, engine).await;
    stepping(page).await;
    pictures(page).await;
    margins_and_engines(page).await;
    links(page).await;
    keyboard(page).await;
    large_tree(page).await;
    cancelling(page).await;
    page.assert_quiet(None).await;
}

async fn typing(page: &Page, engine: &str) {
    // The first verdict appears without a click.
    assert!(page.text("#answer .verdict").await.starts_with("violated"));
    assert!(page.text("#engine").await.contains(engine));
    page.shoot("check").await;

    // Type a program: mistakes, then a verdict.
    page.write("var x: int = 0 process { y := 1 }").await;
    page.wait("document.querySelector('#mistakes').innerText.includes('M0201')")
        .await;
    page.wait("document.querySelector('.cm-lintRange-error')")
        .await;
    assert_eq!(page.count("#answer.outdated").await, 1);
    page.shoot("mistakes").await;
    page.write("var x: int = 0 process { x := 1 }").await;
    page.wait("document.querySelector('#mistakes').innerText === ''")
        .await;
    page.run_command().await;
    assert!(page.text("#answer .verdict").await.starts_with("verified"));
    assert_eq!(page.count("#answer.outdated").await, 0);
    // Names in the program are completed.
    page.write("var counter: int = 0 process { cou").await;
    page.keys("n").await;
    page.wait("document.querySelector('.cm-tooltip-autocomplete')?.innerText.includes('counter')")
        .await;
}

async fn stepping(page: &Page) {
    // Step to a failure.
    page.program(COUNTER, "check", json!({})).await;
    page.run_command().await;
    page.js("document.querySelector('#answer .picture').focus()")
        .await;
    page.keys(KEY_HOME).await;
    assert!(
        page.text("#answer output")
            .await
            .contains("before the first")
    );
    assert!(page.text("#answer table.values").await.contains('0'));
    page.keys(KEY_RIGHT).await;
    assert!(page.text("#answer output").await.contains("step 1 of 4"));
    assert_eq!(page.count(".cm-line.step").await, 1);
    page.keys(KEY_LEFT).await;
    assert!(
        page.text("#answer output")
            .await
            .contains("before the first")
    );
    page.keys(KEY_END).await;
    let end = page.text("#answer figure").await;
    assert!(end.contains("step 4 of 4") && end.contains('✗'), "{end}");
    page.click("#answer .races button").await;
    assert!(page.text("#answer .races").await.contains("races with"));

    // Two runs that end differently, side by side.
    page.program(TWO, "check", json!({})).await;
    page.run_command().await;
    assert_eq!(page.count("#answer .figures figure").await, 2);
    assert!(
        page.text("#answer table.differs")
            .await
            .contains("what differs")
    );
    let sides = page.js("return [...document.querySelectorAll('#answer .figures figure')].map((one) => one.getBoundingClientRect().top)").await;
    assert_eq!(sides[0], sides[1], "side by side");
    page.shoot("two-runs").await;

    // A node of the tree opens its run.
    page.program(COUNTER, "explore", json!({})).await;
    page.run_command().await;
    page.js("[...document.querySelectorAll('#answer [data-node]')].at(-1).dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))").await;
    page.wait("document.querySelector('.opened figure .steps')")
        .await;
    assert!(page.text(".opened output").await.contains("step 4 of 4"));
    page.js("document.querySelector('[data-node]').closest('figure').scrollIntoView()")
        .await;
    page.shoot("tree").await;
}

async fn pictures(page: &Page) {
    // States, nets, execution graphs, proofs.
    for (name, command, text, options, title) in [
        (
            "states",
            "explore",
            COUNTER,
            json!({"algorithm": "stateful"}),
            "the states",
        ),
        ("net", "unfold", TWO, json!({}), "contextual net"),
        ("graph", "check", WEAK, json!({"memory": "rc11"}), "ensures"),
        (
            "proof",
            "prove",
            "var x: int = 0\nensures x == 2\nprocess { atomic { x := x + 1 } }\nprocess { atomic { x := x + 1 } }\n",
            json!({}),
            "the proof",
        ),
        (
            "permutations",
            "permute",
            COUNTER,
            json!({}),
            "partial order",
        ),
        (
            "symbolic",
            "symbolic",
            "var x: int\nvar y: int = 0\nprocess { if x > 0 { y := 1 } else { y := 2 } }\n",
            json!({}),
            "symbolic states",
        ),
    ] {
        page.program(text, command, options).await;
        page.run_command().await;
        assert!(page.count("#answer figure svg").await > 0, "{name}");
        let titles = page.js("return [...document.querySelectorAll('#answer figcaption')].map((one) => one.innerText).join('; ')").await;
        assert!(
            titles.as_str().is_some_and(|all| all.contains(title)),
            "{name}: {titles}"
        );
        page.js("[...document.querySelectorAll('#answer figure')].at(-1).scrollIntoView()")
            .await;
        page.shoot(name).await;
    }
}

async fn margins_and_engines(page: &Page) {
    // Coverage in the margin.
    page.program(
        "var x: int = 0\nprocess { if x == 0 { x := 1 } else { x := 2 } }\n",
        "check",
        json!({}),
    )
    .await;
    page.run_command().await;
    page.wait("document.querySelector('.coverage.half')").await;
    page.shoot("coverage").await;

    // Engines side by side.
    page.program(COUNTER, "check", json!({})).await;
    page.click("#compare").await;
    page.wait("document.querySelectorAll('table.engines tbody tr').length >= 7 && document.querySelector('#cancel').disabled").await;
    let table = page.text("table.engines").await;
    assert!(
        table.contains("optimal") && table.contains("stateful"),
        "{table}"
    );
    page.shoot("engines").await;
}

async fn links(page: &Page) {
    // A link restores everything; a damaged or too large one is refused.
    page.program(
        TWO,
        "explore",
        json!({"algorithm": "naive", "set": ["N=1"]}),
    )
    .await;
    assert_eq!(
        page.js("return document.querySelector('#command').value")
            .await,
        "explore"
    );
    let words = page.text("#words").await;
    assert!(
        words.contains("--algorithm=naive") && words.contains("--set=N=1"),
        "{words}"
    );
    assert!(page.text(".cm-content").await.contains("process q"));
    // The button makes the same link.
    page.click("#share").await;
    page.wait("location.hash.startsWith('#1')").await;
    let shared = page.js("return location.hash").await;
    page.visit(shared.as_str().expect("text")).await;
    assert_eq!(page.text("#words").await, words);
    page.visit("#1abc").await;
    assert!(page.text("#progress").await.contains("damaged"));
    page.visit("#9abc").await;
    assert!(page.text("#progress").await.contains("another version"));
}

/// From the first key to a run, without a mouse.
async fn keyboard(page: &Page) {
    page.visit("").await;
    page.tab_to("#example").await;
    page.tab_to(".cm-content").await;
    page.keys("\u{e009}a\u{e000}\u{e003}").await;
    page.keys(TWO).await;
    page.keys("\u{e00c}").await;
    page.wait("document.querySelector('.cm-content').innerText.includes('process q')")
        .await;
    page.tab_to("#command").await;
    page.keys("explore").await;
    page.tab_to("#option-algorithm").await;
    page.keys("naive").await;
    assert!(page.text("#words").await.contains("--algorithm=naive"));
    page.keys(CONTROL_ENTER).await;
    page.wait("document.querySelector('#answer [data-node]')")
        .await;
    page.wait("document.querySelector('#cancel').disabled")
        .await;
    page.tab_to("#answer [data-node='2']").await;
    page.keys(KEY_ENTER).await;
    page.wait("document.querySelector('.opened figure .steps')")
        .await;
    page.tab_to(".opened .picture").await;
    page.keys(KEY_HOME).await;
    assert!(
        page.text(".opened output")
            .await
            .contains("before the first")
    );
}

/// Checks that a tree of more than 100 000 states is folded, and can be searched.
async fn large_tree(page: &Page) {
    let options = json!({"algorithm": "naive", "time-limit": "60s"});
    page.program(MANY, "explore", options).await;
    page.run_command().await;
    let facts = page.text("#answer .tree .facts").await;
    assert!(
        facts.contains("110251 states") && facts.contains("34650 final"),
        "{facts}"
    );
    let rows = page.count("#answer .tree *").await;
    assert!(rows < 300, "{rows} elements, although the tree is folded");
    // A summary unfolds the alternatives that the search tried.
    page.click("#answer .tree summary").await;
    page.wait("document.querySelectorAll('#answer .tree details[open] > ol').length === 1")
        .await;
    page.js("document.querySelector('#answer .tree').scrollIntoView()")
        .await;
    page.shoot("large-tree").await;
    // The end of a run is found, and opens the run.
    let took = page
        .js("const from = performance.now(); for (let k = 0; k < 100; k++) [...document.querySelectorAll('#answer .tree .steps button')][0].click(); return performance.now() - from")
        .await;
    println!("100 ends of a tree of 110251 states: {took} ms");
    assert!(
        page.text("#answer .tree .row.now")
            .await
            .contains("→ final")
    );
    page.wait("document.querySelector('.opened output')?.innerText.includes('step 12 of 12')")
        .await;
}

async fn cancelling(page: &Page) {
    page.program(
        ENDLESS,
        "explore",
        json!({"algorithm": "naive", "time-limit": "2s"}),
    )
    .await;
    page.wait("document.querySelector('#cancel').disabled")
        .await;
    page.js("document.querySelector('#option-time-limit').value = '60s'; document.querySelector('#option-time-limit').dispatchEvent(new Event('input'))").await;
    page.click("#go").await;
    page.wait("document.querySelector('#progress').innerText.includes('executions')")
        .await;
    page.shoot("progress").await;
    let took = page
        .client
        .execute_async(
            "const done = arguments[0], from = performance.now(); document.querySelector('#cancel').click(); \
             const look = () => document.querySelector('#progress').innerText === 'cancelled' ? done(performance.now() - from) : setTimeout(look, 1); look()",
            Vec::new(),
        )
        .await
        .expect("cancelled");
    println!("cancelled within {took} ms");
    assert!(took.as_f64().is_some_and(|ms| ms < 200.0), "{took}");
    assert_eq!(
        page.js("return document.querySelector('#go').disabled")
            .await,
        false
    );
    // The next search is not affected.
    page.program(TWO, "check", json!({})).await;
    page.run_command().await;
    assert!(page.text("#answer .verdict").await.starts_with("violated"));
}

#[test]
fn the_static_page_does_everything() {
    let folder = root().join("target/page");
    if !folder.join("mazurka.wasm.lzma").exists() {
        println!("skipped: mazurka.wasm.lzma missing (page/build makes it)");
        return;
    }
    let at = format!("http://{}/", files(folder));
    runtime().block_on(async {
        let Some((_driver, client)) = browser().await else {
            return;
        };
        let page = Page::open(client, at).await;
        // The times are printed but not asserted: other machines take longer.
        for opened in ["opened", "opened again"] {
            let shown = page
                .js("return performance.getEntriesByName('verdict')[0].startTime")
                .await;
            println!("{opened}: the first verdict after {shown} ms");
            page.visit("").await;
        }
        tour(&page, "in this browser").await;

        // Dark and narrow.
        let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
        page.devtools("Emulation.setEmulatedMedia", dark).await;
        page.program(COUNTER, "check", json!({})).await;
        let ground = page
            .js("return getComputedStyle(document.body).backgroundColor")
            .await;
        assert_eq!(ground, "rgb(22, 25, 28)");
        page.shoot("dark").await;
        page.devtools("Emulation.setEmulatedMedia", json!({"features": []}))
            .await;
        page.client.set_window_size(420, 900).await.expect("a size");
        page.visit("").await;
        let wide = page
            .js("return document.documentElement.scrollWidth <= window.innerWidth + 1")
            .await;
        assert_eq!(wide, true, "nothing is wider than the screen");
        page.shoot("narrow").await;
        page.client.close().await.expect("closed");
    });
}

#[test]
fn the_served_page_does_everything() {
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return;
    };
    let at = format!(
        "http://{}/",
        start(Settings {
            port: 0,
            ..Settings::new(command)
        })
    );
    runtime().block_on(async {
        let Some((_driver, client)) = browser().await else {
            return;
        };
        let page = Page::open(client, at).await;
        tour(&page, "native").await;
        page.client.close().await.expect("closed");
    });
}

#[test]
fn a_report_opens_from_disk() {
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("p.maz");
    std::fs::write(&program, COUNTER).expect("written");
    let status = Command::new(command)
        .args(["check", "p.maz", "--format", "html"])
        .current_dir(folder.path())
        .output()
        .expect("a report");
    let report = folder.path().join("report.html");
    std::fs::write(&report, status.stdout).expect("written");
    runtime().block_on(async {
        let Some((_driver, client)) = browser().await else {
            return;
        };
        let at = format!("file://{}", report.display());
        let page = Page { client, at };
        page.client.goto(&page.at).await.expect("the report");
        page.wait("document.querySelector('.steps output')").await;
        page.click(".steps button").await;
        assert!(
            page.text(".steps output")
                .await
                .contains("before the first")
        );
        page.shoot("report").await;
        let requests = page
            .js("return performance.getEntriesByType('resource').length")
            .await;
        assert_eq!(requests, 0);
        page.client.close().await.expect("closed");
    });
}
