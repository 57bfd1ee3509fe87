//! Tests that the page shows hostile programs, links and records as text, or refuses them.

use mazurka_serve::Settings;
use serde_json::{Value, json};

use crate::browser::{Page, browser, files, root, runtime};
use crate::command;
use crate::server::start;

/// Markup in every place for free text: a comment, a message, a property.
const MARKUP: &str = "// </script><script>window.harmed = 1</script>\nvar x: int = 0\nprocess p {\n  print \"</script><img src=x onerror='window.harmed = 1'> {x}\";\n  assert x == 1, \"<svg onload='window.harmed = 1'></title></style></script>\"\n}\n";

/// Asserts that no script ran, and that the page still answers.
async fn assert_unharmed(page: &Page, about: &str) {
    let harmed = page.js("return window.harmed ?? null").await;
    assert_eq!(harmed, Value::Null, "{about}");
    let foreign = "#answer script:not([type='application/json']), #answer img, #answer iframe, #answer [onload], #answer [onerror]";
    assert_eq!(page.count(foreign).await, 0, "{about}");
}

async fn programs(page: &Page) {
    for (command, text) in [
        ("check", MARKUP),
        ("explore", MARKUP),
        ("run", MARKUP),
        (
            "check",
            "var x: int = 0 process \"<img src=x onerror='window.harmed=1'>\" { x := 1 }",
        ),
    ] {
        page.program(text, command, json!({})).await;
        page.run_command().await;
        assert_unharmed(page, command).await;
    }
    // Mistakes are marked a moment after the text has changed.
    page.wait("document.querySelector('#mistakes').innerText.includes('error')")
        .await;
    // The markup is shown as text.
    page.program(MARKUP, "check", json!({})).await;
    page.run_command().await;
    let shown = page.text("#answer").await;
    assert!(shown.contains("<svg onload="), "{shown}");

    // Deep nesting, a long line, letters of other alphabets, and characters that change the
    // direction of writing.
    let deep = format!(
        "var x: int = 0\nprocess {{ x := {}1{} }}",
        "(".repeat(20_000),
        ")".repeat(20_000)
    );
    let blocks = format!(
        "process {{ {} {} }}",
        "if true { ".repeat(5_000),
        "} ".repeat(5_000)
    );
    let long = format!(
        "var x: int = 0 process {{ x := 1{} }}",
        " + 1".repeat(20_000)
    );
    let others = "var größe: int = 0 // \u{202e}\u{2066}漢字\u{0}\u{feff}\nprocess { größe := 1 }"
        .to_owned();
    for text in [
        deep,
        blocks,
        long,
        others,
        "\u{0}".repeat(1000),
        String::new(),
    ] {
        page.program(&text, "check", json!({"time-limit": "5s"}))
            .await;
        page.run_command().await;
        let text = page.text("#answer").await;
        assert!(!text.is_empty(), "{text:.60}");
        assert_unharmed(page, &text[..text.len().min(20)]).await;
    }
}

async fn links(page: &Page) {
    let program = |more: Value| {
        let mut all = json!({"text": MARKUP, "file": "p.maz", "command": "check", "options": {}});
        for (key, value) in more.as_object().into_iter().flatten() {
            all[key] = value.clone();
        }
        all
    };
    for odd in [
        json!({"command": "serve"}),
        json!({"command": "<img src=x onerror='window.harmed=1'>"}),
        json!({"file": "--help"}),
        json!({"file": "../../etc/passwd"}),
        json!({"file": "<img src=x onerror='window.harmed=1'>.maz"}),
        json!({"file": "p.maz; rm -rf ~"}),
        json!({"file": ""}),
        json!({"options": {"algorithm": {"a": 1}, "set": [["x"]], "seed": null}}),
        json!({"options": {"witness": "out.json", "solver": "/bin/sh", "__proto__": {"x": 1}}}),
        json!({"options": {"time-limit": "<b>", "property": "'\"><script>"}}),
        json!({"options": []}),
    ] {
        let link = page.link(&program(odd.clone())).await;
        page.visit(&link).await;
        page.run_command().await;
        assert_unharmed(page, &odd.to_string()).await;
        let words = page.text("#words").await;
        assert!(
            !words.contains("witness") && !words.contains("/bin/sh"),
            "{words}"
        );
    }
    // The command line shown can be pasted into a shell.
    let link = page
        .link(&program(json!({"file": "p.maz; rm -rf ~"})))
        .await;
    page.visit(&link).await;
    assert!(page.text("#words").await.contains("'p.maz; rm -rf ~'"));
    // A link of a megabyte is opened; a larger one is refused.
    let most = page
        .link(&program(json!({"text": "/".repeat(1_000_000)})))
        .await;
    page.visit(&most).await;
    assert_eq!(page.text("#progress").await, "");
    for code in [
        "btoa(String.fromCharCode(...new Uint8Array(await new Response(new Blob(['x'.repeat(20 << 20)]).stream().pipeThrough(new CompressionStream('deflate-raw'))).arrayBuffer())))",
        "btoa('['.repeat(500000))",
        "'A'.repeat(1900000)",
    ] {
        let fragment = page
            .client
            .execute_async(
                &format!("const done = arguments[0]; (async () => done({code}))()"),
                Vec::new(),
            )
            .await
            .expect("a link");
        let plain = fragment
            .as_str()
            .expect("text")
            .replace('+', "-")
            .replace('/', "_");
        page.visit(&format!("#1{}", plain.trim_end_matches('=')))
            .await;
        let text = page.text("#progress").await;
        assert!(text.contains("1 MB") || text.contains("damaged"), "{text}");
        // The page shows its first program.
        assert!(page.text("#answer .verdict").await.starts_with("violated"));
    }
}

/// Records from elsewhere, some of them invalid.
async fn records(page: &Page) {
    page.visit("").await;
    let folder = tempfile::tempdir().expect("a folder");
    let good = page
        .client
        .execute_async(
            "const done = arguments[0]; document.querySelector('#answer .verdict') && import(new URL('start.js', location)).then(({found}) => found).then(({engine}) => engine.twin().ask({command: 'check', file: 'p.maz', files: {'p.maz': 'var x: int = 0 process { x := 1 } process { x := 2 }'}, options: {}, format: 'json'})).then(({out}) => done(out))",
            Vec::new(),
        )
        .await
        .expect("a record");
    let good: Value = serde_json::from_str(good.as_str().expect("text")).expect("JSON");
    let changed = |path: &str, value: Value| {
        let mut record = good.clone();
        *record.pointer_mut(path).expect("a field") = value;
        record.to_string()
    };
    let bad = "</script><img src=x onerror='window.harmed = 1'>";
    let cases = [
        (changed("/program/file", json!(bad)), true),
        (changed("/witnesses/0/message", json!(bad)), true),
        (
            changed("/witnesses/0/runs/0/steps/0/label", json!(bad)),
            true,
        ),
        (changed("/algorithm", json!(bad)), true),
        (
            changed("/witnesses/0/runs/0/steps/0/line", json!(4_000_000_000_u32)),
            true,
        ),
        (
            changed("/witnesses/0/runs/0/steps/0/process", json!("7.7.7")),
            true,
        ),
        (changed("/witnesses/0/runs/0/steps", json!([])), true),
        (changed("/witnesses/0/runs", json!([])), true),
        (changed("/verdict", json!("perhaps")), false),
        (changed("/version", json!(99)), false),
        (changed("/witnesses", json!({})), false),
        ("[".repeat(1_000_000), false),
        (String::new(), false),
        ("null".to_owned(), false),
        ("\u{0}".to_owned(), false),
    ];
    for (number, (text, shown)) in cases.iter().enumerate() {
        let path = folder.path().join(format!("{number}.json"));
        std::fs::write(&path, text).expect("written");
        page.js("document.querySelector('#answer').replaceChildren()")
            .await;
        let input = page.client.find(fantoccini::Locator::Css("#record")).await;
        let input = input.expect("the input");
        input
            .send_keys(&path.display().to_string())
            .await
            .expect("a file");
        page.wait("document.querySelector('#answer').innerText !== ''")
            .await;
        assert_unharmed(page, &format!("{text:.80}")).await;
        let failed = page.count("#answer .failed").await == 1;
        let text = page.text("#answer").await;
        assert_eq!(failed, !shown, "record {number}: {text}");
        if page.count("#answer .steps button").await > 0 {
            page.js("for (const button of document.querySelectorAll('#answer .steps button')) button.click()")
                .await;
        }
    }
}

async fn run_attacks(page: &Page) {
    programs(page).await;
    links(page).await;
    records(page).await;
    // The browser reports the refusals of the server.
    page.assert_quiet(Some(
        "/api/search - Failed to load resource: the server responded with a status of 400",
    ))
    .await;
}

#[test]
fn the_static_page_is_unharmed() {
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
        run_attacks(&page).await;
        page.client.close().await.expect("closed");
    });
}

#[test]
fn the_served_page_is_unharmed() {
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return;
    };
    let settings = Settings {
        port: 0,
        ..Settings::new(command)
    };
    let at = format!("http://{}/", start(settings));
    runtime().block_on(async {
        let Some((_driver, client)) = browser().await else {
            return;
        };
        let page = Page::open(client, at).await;
        run_attacks(&page).await;
        page.client.close().await.expect("closed");
    });
}
