//! Controls a browser for tests: Debian's chromium, through its driver.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource, KeyAction, KeyActions};
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use tempfile::TempDir;

const DRIVER: &str = "/usr/bin/chromedriver";
const PATIENCE: Duration = Duration::from_secs(30);

/// A driver that ends with the test, and the folder for the browser's profile.
pub struct Driver {
    child: Child,
    _profile: TempDir,
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("a runtime")
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Serves a folder, as any file server does.
pub fn files(folder: PathBuf) -> SocketAddr {
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

/// Returns a free port.
fn port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// Starts a browser, if it is installed.
pub async fn browser() -> Option<(Driver, Client)> {
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
    let profile = tempfile::tempdir().expect("a folder");
    let own = format!("--user-data-dir={}", profile.path().display());
    let driver = Driver {
        child,
        _profile: profile,
    };
    // The browser makes no requests except for the page.
    let wanted = json!({
        "goog:chromeOptions": {"args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-quic", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--window-size=1400,1000", own,
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

/// An open page and actions on it.
pub struct Page {
    pub client: Client,
    pub at: String,
}

impl Page {
    pub async fn open(client: Client, at: String) -> Self {
        let page = Self { client, at };
        page.visit("").await;
        page
    }

    /// Loads the page again.
    pub async fn visit(&self, fragment: &str) {
        self.assert_no_other_host().await;
        // Changing only the fragment would not load the page again.
        self.client.goto("about:blank").await.expect("a page");
        let url = format!("{}{fragment}", self.at);
        self.client.goto(&url).await.expect("the page");
        self.wait("document.body.dataset.ready === 'true'").await;
    }

    pub async fn js(&self, code: &str) -> Value {
        let done = self.client.execute(code, Vec::new()).await;
        done.unwrap_or_else(|error| panic!("{code}: {error}"))
    }

    /// Waits until an expression is true.
    pub async fn wait(&self, condition: &str) {
        let began = Instant::now();
        while self.js(&format!("return !!({condition})")).await != true {
            let answer = self.js("return document.body.innerText").await;
            assert!(began.elapsed() < PATIENCE, "never: {condition}\n{answer}");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    pub async fn text(&self, selector: &str) -> String {
        let found = self
            .js(&format!(
                "return document.querySelector({selector:?})?.innerText ?? ''"
            ))
            .await;
        found.as_str().unwrap_or_default().to_owned()
    }

    pub async fn count(&self, selector: &str) -> u64 {
        let found = self
            .js(&format!(
                "return document.querySelectorAll({selector:?}).length"
            ))
            .await;
        found.as_u64().unwrap_or(0)
    }

    pub async fn click(&self, selector: &str) {
        let found = self.client.find(Locator::Css(selector)).await;
        found
            .unwrap_or_else(|error| panic!("{selector}: {error}"))
            .click()
            .await
            .expect("a click");
    }

    /// Types a program as a user does, replacing the current one.
    pub async fn write(&self, text: &str) {
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
        // Delete what the editor completed at the end of the text.
        editor.send_keys("\u{e00c}").await.expect("keys");
    }

    /// Runs the command, and waits for its end.
    pub async fn run_command(&self) {
        self.click("#go").await;
        self.wait("document.querySelector('#cancel').disabled")
            .await;
    }

    /// Sends a command of the DevTools protocol.
    pub async fn devtools(&self, command: &str, parameters: Value) {
        let request = DevTools(json!({"cmd": command, "params": parameters}));
        self.client.issue_cmd(request).await.expect("done");
    }

    /// Presses keys in the focused element.
    pub async fn keys(&self, keys: &str) {
        let focused = self.client.active_element().await.expect("focus");
        focused.send_keys(keys).await.expect("keys");
    }

    /// Presses Tab until this element has the focus.
    pub async fn tab_to(&self, selector: &str) {
        for _ in 0..80 {
            // Press Tab by an action, and not by `keys`: a file field would read the keys as a file
            // name.
            let tab = KeyActions::new("keys".to_owned())
                .then(KeyAction::Down { value: '\u{e004}' })
                .then(KeyAction::Up { value: '\u{e004}' });
            self.client.perform_actions(tab).await.expect("Tab");
            let has_focus = format!("return document.activeElement.matches({selector:?})");
            if self.js(&has_focus).await == true {
                return;
            }
        }
        panic!("no way to {selector} with Tab");
    }

    /// Makes a link to a program.
    pub async fn link(&self, program: &Value) -> String {
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

    pub async fn program(&self, text: &str, command: &str, options: Value) {
        let wanted = json!({"text": text, "file": "p.maz", "command": command, "options": options});
        let link = self.link(&wanted).await;
        self.visit(&link).await;
    }

    /// Saves a screenshot, if the environment requests it.
    pub async fn shoot(&self, name: &str) {
        let Ok(folder) = std::env::var("MAZURKA_SCREENSHOTS") else {
            return;
        };
        let picture = self.client.screenshot().await.expect("a picture");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(Path::new(&folder).join(format!("page-{name}.png")), picture)
            .expect("written");
    }

    async fn assert_no_other_host(&self) {
        let request = self
            .js("return performance.getEntriesByType('resource').map(({name}) => name).filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))")
            .await;
        assert_eq!(request, json!([]));
    }

    /// Asserts that no request went elsewhere, and that the console has only expected messages.
    pub async fn assert_quiet(&self, expected: Option<&str>) {
        self.assert_no_other_host().await;
        let log = self.client.issue_cmd(BrowserLog).await.expect("the log");
        assert!(log.is_array(), "{log}");
        let bad = log.as_array().into_iter().flatten().filter(|line| {
            let level = line["level"].as_str().unwrap_or_default();
            let message = line["message"].as_str().unwrap_or_default();
            let expected = expected.is_some_and(|expected| message.contains(expected));
            ["SEVERE", "WARNING"].contains(&level) && !expected
        });
        assert_eq!(bad.count(), 0, "{log}");
    }
}

/// A command of the DevTools protocol.
#[derive(Debug)]
struct DevTools(Value);

impl fantoccini::wd::WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        let session = session.unwrap_or_default();
        base.join(&format!("session/{session}/goog/cdp/execute"))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.0.to_string()))
    }
}

/// A request for the console log.
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
