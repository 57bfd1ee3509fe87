//! The page in a browser: Debian's chromium and its driver.
//!
//! The tests use the page that `page/build` makes, with the command as WebAssembly, and the page
//! of `mazurka serve`. Where the browser is missing, they say that they were skipped.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder, Locator};
use mazurka_serve::Settings;
use serde_json::{Value, json};

use crate::command;
use crate::server::start;

const DRIVER: &str = "/usr/bin/chromedriver";
const PATIENCE: Duration = Duration::from_secs(30);

/// A driver that ends with the test.
struct Driver(Child);

impl Drop for Driver {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Serves a folder, as any server of files would.
fn files(folder: PathBuf) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let folder = folder.clone();
            std::thread::spawn(move || answer(stream, &folder));
        }
    });
    address
}

fn answer(mut stream: TcpStream, folder: &Path) {
    let mut head = [0; 8192];
    let read = stream.read(&mut head).unwrap_or(0);
    let head = String::from_utf8_lossy(&head[..read]).into_owned();
    let path = head.split(' ').nth(1).unwrap_or("/");
    let name = match path.trim_start_matches('/') {
        "" => "index.html",
        name => name,
    };
    let kind = match name.rsplit('.').next() {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        _ => "text/plain",
    };
    let (status, body) = match std::fs::read(folder.join(name)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    let _sent = stream.write_all(head.as_bytes());
    let _sent = stream.write_all(&body);
}

/// A free port.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A browser, if there is one.
async fn browser() -> Option<(Driver, Client)> {
    if !Path::new(DRIVER).exists() {
        println!("skipped: chromium missing");
        return None;
    }
    let port = port();
    let child = Command::new(DRIVER)
        .arg(format!("--port={port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the driver");
    let driver = Driver(child);
    let wanted = json!({
        "goog:chromeOptions": {"args": [
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1400,1000",
        ]},
        "goog:loggingPrefs": {"browser": "ALL"},
    });
    let Value::Object(wanted) = wanted else {
        unreachable!("an object")
    };
    let began = Instant::now();
    loop {
        let mut builder =
            ClientBuilder::new(hyper_util::client::legacy::connect::HttpConnector::new());
        builder.capabilities(wanted.clone());
        match builder.connect(&format!("http://127.0.0.1:{port}")).await {
            Ok(client) => return Some((driver, client)),
            Err(error) if began.elapsed() > PATIENCE => panic!("no browser: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}

/// A page, and what is asked of it.
struct Page {
    client: Client,
    at: String,
}

impl Page {
    async fn open(client: Client, at: String) -> Self {
        let page = Self { client, at };
        page.visit("").await;
        page
    }

    async fn visit(&self, fragment: &str) {
        // A fragment alone would not load the page again.
        self.client.goto("about:blank").await.expect("a page");
        let url = format!("{}{fragment}", self.at);
        self.client.goto(&url).await.expect("the page");
        self.wait("document.body.dataset.ready === 'true'").await;
    }

    async fn js(&self, code: &str) -> Value {
        let done = self.client.execute(code, Vec::new()).await;
        done.unwrap_or_else(|error| panic!("{code}: {error}"))
    }

    /// Waits until an expression is true.
    async fn wait(&self, condition: &str) {
        let began = Instant::now();
        while self.js(&format!("return !!({condition})")).await != true {
            let answer = self.js("return document.body.innerText").await;
            assert!(began.elapsed() < PATIENCE, "never: {condition}\n{answer}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    async fn text(&self, selector: &str) -> String {
        let found = self
            .js(&format!(
                "return document.querySelector({selector:?})?.innerText ?? ''"
            ))
            .await;
        found.as_str().unwrap_or_default().to_owned()
    }

    async fn count(&self, selector: &str) -> u64 {
        let found = self
            .js(&format!(
                "return document.querySelectorAll({selector:?}).length"
            ))
            .await;
        found.as_u64().unwrap_or(0)
    }

    async fn click(&self, selector: &str) {
        let found = self.client.find(Locator::Css(selector)).await;
        found
            .unwrap_or_else(|error| panic!("{selector}: {error}"))
            .click()
            .await
            .expect("a click");
    }

    /// Types a program as a user does, in place of the one that is there.
    async fn write(&self, text: &str) {
        let editor = self
            .client
            .find(Locator::Css(".cm-content"))
            .await
            .expect("the editor");
        editor.click().await.expect("a click");
        editor
            .send_keys("\u{e009}a\u{e000}\u{e003}")
            .await
            .expect("keys");
        editor.send_keys(text).await.expect("keys");
        // What the editor completes at the end of the text is taken away again.
        editor.send_keys("\u{e00c}").await.expect("keys");
    }

    /// A link to a program.
    async fn link(&self, program: &Value) -> String {
        let code = format!(
            "const done = arguments[0]; import(new URL('link.js', location)).then(({{packed}}) => packed({program})).then(done)"
        );
        let packed = self
            .client
            .execute_async(&code, Vec::new())
            .await
            .expect("a link");
        packed.as_str().expect("text").to_owned()
    }

    async fn program(&self, text: &str, command: &str, options: Value) {
        let wanted = json!({"text": text, "file": "p.maz", "command": command, "options": options});
        let link = self.link(&wanted).await;
        self.visit(&link).await;
    }

    /// Keeps a picture of what is shown, where one is asked for.
    async fn shoot(&self, name: &str) {
        let Ok(folder) = std::env::var("MAZURKA_SCREENSHOTS") else {
            return;
        };
        let picture = self.client.screenshot().await.expect("a picture");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(Path::new(&folder).join(format!("page-{name}.png")), picture)
            .expect("written");
    }

    /// No request went elsewhere, and nothing was complained about.
    async fn is_quiet(&self) {
        let asked = self
            .js("return performance.getEntriesByType('resource').map(({name}) => name).filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))")
            .await;
        assert_eq!(asked, json!([]));
        let log = self.client.issue_cmd(BrowserLog).await.expect("the log");
        assert!(log.is_array(), "{log}");
        let bad = log.as_array().into_iter().flatten().filter(|line| {
            let level = line["level"].as_str().unwrap_or_default();
            ["SEVERE", "WARNING"].contains(&level)
        });
        assert_eq!(bad.count(), 0, "{log}");
    }
}

/// Asks the driver for the console.
#[derive(Debug)]
struct BrowserLog;

impl fantoccini::wd::WebDriverCompatibleCommand for BrowserLog {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (
            http::Method::POST,
            Some(json!({"type": "browser"}).to_string()),
        )
    }
}

const COUNTER: &str = "atomicity access\nvar x: int = 0\nensures both: x == 2\nprocess { x := x + 1 }\nprocess { x := x + 1 }\n";
const TWO: &str = "var x: int = 0\nprocess p { x := 1 }\nprocess q { x := 2 }\n";
const ENDLESS: &str = "var x: int = 0\nvar y: int = 0\nprocess p (i in 0..9) { for j in 0..9 { x := x + 1; y := x } }\n";
const WEAK: &str = "atomicity access\nvar x: atomic int = 0\nvar y: atomic int = 0\nvar a: int = 1\nvar b: int = 1\nensures a == 1 || b == 1\nprocess { x.store(1, relaxed); let r = y.load(relaxed); a := r }\nprocess { y.store(1, relaxed); let r = x.load(relaxed); b := r }\n";

async fn tour(page: &Page, engine: &str) {
    // The first verdict is there without a click.
    assert!(page.text("#answer .verdict").await.starts_with("violated"));
    assert!(page.text("#engine").await.contains(engine));
    page.shoot("check").await;

    // A program is typed: mistakes, then a verdict.
    page.write("var x: int = 0 process { y := 1 }").await;
    page.wait("document.querySelector('#mistakes').innerText.includes('M0201')")
        .await;
    page.wait("document.querySelector('.cm-lintRange-error')")
        .await;
    page.shoot("mistakes").await;
    page.write("var x: int = 0 process { x := 1 }").await;
    page.wait("document.querySelector('#mistakes').innerText === ''")
        .await;
    page.click("#go").await;
    page.wait("document.querySelector('#answer .verdict')?.innerText.startsWith('verified')")
        .await;

    // To a failure, step by step, with keys alone.
    page.program(COUNTER, "check", json!({})).await;
    page.click("#go").await;
    page.wait("document.querySelector('#answer .verdict')")
        .await;
    page.js("document.querySelector('#answer .picture').focus()")
        .await;
    let keys = |keys: &'static str| async move {
        let focused = page.client.active_element().await.expect("focus");
        focused.send_keys(keys).await.expect("keys");
    };
    keys("\u{e011}").await;
    assert!(
        page.text("#answer output")
            .await
            .contains("before the first")
    );
    assert!(page.text("#answer table.values").await.contains('0'));
    keys("\u{e014}").await;
    assert!(page.text("#answer output").await.contains("step 1 of 4"));
    assert_eq!(page.count(".cm-line.step").await, 1);
    keys("\u{e010}").await;
    assert!(page.text("#answer output").await.contains("step 4 of 4"));
    page.click("#answer .races button").await;
    assert!(
        page.text("#answer output").await.contains("races with")
            || page.text("#answer .races").await.contains("races with")
    );
    // The command alone starts a search, from anywhere.
    keys("\u{e009}\u{e007}\u{e000}").await;
    page.wait("document.querySelector('#answer .verdict')")
        .await;

    // Two runs that end differently, side by side.
    page.program(TWO, "check", json!({})).await;
    page.click("#go").await;
    page.wait("document.querySelectorAll('#answer .figures figure').length === 2")
        .await;
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
    page.click("#go").await;
    page.wait("document.querySelector('#answer [data-node]')")
        .await;
    page.js("[...document.querySelectorAll('#answer [data-node]')].at(-1).dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}))").await;
    page.wait("document.querySelector('.opened figure .steps')")
        .await;
    assert!(page.text(".opened output").await.contains("step 4 of 4"));
    page.js("document.querySelector('[data-node]').closest('figure').scrollIntoView()")
        .await;
    page.shoot("tree").await;

    // States, nets, graphs of executions, proofs.
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
        page.click("#go").await;
        page.wait("document.querySelector('#answer figure svg')")
            .await;
        let titles = page.js("return [...document.querySelectorAll('#answer figcaption')].map((one) => one.innerText).join('; ')").await;
        assert!(
            titles.as_str().is_some_and(|all| all.contains(title)),
            "{name}: {titles}"
        );
        page.js("[...document.querySelectorAll('#answer figure')].at(-1).scrollIntoView()")
            .await;
        page.shoot(name).await;
    }
    page.js("window.scrollTo(0, 0)").await;

    // Coverage in the margin.
    page.program(
        "var x: int = 0\nprocess { if x == 0 { x := 1 } else { x := 2 } }\n",
        "check",
        json!({}),
    )
    .await;
    page.click("#go").await;
    page.wait("document.querySelector('.seen.half')").await;
    page.shoot("coverage").await;

    // Engines beside each other.
    page.program(COUNTER, "check", json!({})).await;
    page.click("#compare").await;
    page.wait("document.querySelectorAll('table.engines tbody tr').length >= 7 && document.querySelector('#cancel').disabled").await;
    let table = page.text("table.engines").await;
    assert!(
        table.contains("optimal") && table.contains("stateful"),
        "{table}"
    );
    page.shoot("engines").await;

    // A link restores everything; one that is damaged or too large is refused.
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
    page.visit("#1abc").await;
    assert!(
        page.text("#progress").await.contains("damaged")
            || page.text("#answer .verdict").await.contains("violated")
    );

    // Cancel.
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
        .js("const from = performance.now(); document.querySelector('#cancel').click(); return performance.now() - from")
        .await;
    page.wait("document.querySelector('#progress').innerText === 'cancelled'")
        .await;
    assert!(took.as_f64().is_some_and(|ms| ms < 200.0), "{took}");
    assert_eq!(
        page.js("return document.querySelector('#go').disabled")
            .await,
        false
    );
    page.is_quiet().await;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

#[test]
fn the_static_page_does_everything() {
    let folder = root().join("target/page");
    if !folder.join("mazurka.wasm").exists() {
        println!("skipped: mazurka.wasm missing (page/build makes it)");
        return;
    }
    let at = format!("http://{}/", files(folder));
    runtime().block_on(async {
        let Some((_driver, client)) = browser().await else {
            return;
        };
        let page = Page::open(client, at).await;
        // Opened once more, with a warm browser: the verdict is there within a second.
        page.client.goto("about:blank").await.expect("a page");
        page.client.goto(&page.at).await.expect("the page");
        page.wait("document.querySelector('#answer .verdict')")
            .await;
        let shown = page.js("return performance.now()").await;
        println!("first verdict after {shown} ms");
        page.wait("document.body.dataset.ready === 'true'").await;
        tour(&page, "in this browser").await;

        // Narrow and dark.
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
    let made = Command::new(command)
        .args(["check", "p.maz", "--format", "html"])
        .current_dir(folder.path())
        .output()
        .expect("a report");
    let report = folder.path().join("report.html");
    std::fs::write(&report, made.stdout).expect("written");
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
        let asked = page
            .js("return performance.getEntriesByType('resource').length")
            .await;
        assert_eq!(asked, 0);
        page.client.close().await.expect("closed");
    });
}
