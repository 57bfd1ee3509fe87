//! Tests the answers and refusals of the server over HTTP.

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use mazurka_serve::{Server, Settings};
use serde_json::{Value, json};

use crate::command;
use crate::http::{Answer, get, post, send};

/// One server for all tests; `None` if the command is not built.
static SERVER: LazyLock<Option<SocketAddr>> = LazyLock::new(|| {
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return None;
    };
    Some(start(Settings {
        port: 0,
        most_time: Duration::from_secs(20),
        ..Settings::new(command)
    }))
});

/// Starts a server in a thread that ends with the tests.
pub fn start(settings: Settings) -> SocketAddr {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let server = Server::bind(settings).await.expect("a port");
            sender.send(server.address()).expect("the test waits");
            server.run().await.expect("a server");
        });
    });
    receiver.recv().expect("an address")
}

fn search_request(source: &str, options: Value) -> String {
    let request = json!({
        "command": "check", "file": "p.maz", "files": {"p.maz": source}, "options": options, "format": "json",
    });
    request.to_string()
}

/// Returns the answer, which is the last event.
fn answer(events: &Answer) -> Value {
    assert_eq!(events.status, 200, "{events:?}");
    let lines = events.body.lines();
    let mut data = lines.filter_map(|line| line.strip_prefix("data: "));
    let last = data.next_back().expect("an event");
    serde_json::from_str(last).expect("JSON")
}

const RACE: &str = "var x: int = 0 ensures x == 1 process { x := 1 } process { x := 2 }";

#[test]
fn a_search_is_answered_with_the_record() {
    let Some(server) = *SERVER else { return };
    let found = answer(&post(
        server,
        "/api/search",
        &[],
        &search_request(RACE, json!({})),
    ));
    assert_eq!(found["code"], 1);
    let record: Value = serde_json::from_str(found["out"].as_str().expect("text")).expect("JSON");
    assert_eq!(record["verdict"], "violated");
    assert_eq!(record["program"]["file"], "p.maz");
    // A mistake is reported as by the command.
    let wrong = answer(&post(
        server,
        "/api/search",
        &[],
        &search_request("var x", json!({})),
    ));
    assert_eq!(wrong["code"], 3);
    assert!(wrong["out"].as_str().expect("text").contains("diagnostics"));
}

#[test]
fn includes_come_as_a_map() {
    let Some(server) = *SERVER else { return };
    let request = json!({
        "command": "check", "file": "p.maz", "format": "json",
        "files": {"p.maz": "include \"lib/shared.maz\"\nprocess { x := 1 }", "lib/shared.maz": "var x: int = 0\n"},
    });
    let found = answer(&post(server, "/api/search", &[], &request.to_string()));
    assert_eq!(found["code"], 0, "{found}");
    let outside = json!({
        "command": "check", "file": "p.maz", "format": "json",
        "files": {"p.maz": "include \"../../../../../../../../etc/hostname\"\nprocess { skip }"},
    });
    let refused = answer(&post(server, "/api/search", &[], &outside.to_string()));
    assert_eq!(refused["code"], 3, "{refused}");
}

#[test]
fn the_page_is_served_with_a_policy() {
    let Some(server) = *SERVER else { return };
    for path in [
        "/",
        "/page.js",
        "/editor.js",
        "/view.js",
        "/examples.json",
        "/examples/counter.maz",
    ] {
        let page = get(server, path, &[]);
        assert_eq!(page.status, 200, "{path}");
        assert!(
            page.head
                .contains("content-security-policy: default-src 'none'"),
            "{path}"
        );
        assert!(
            page.head.contains("x-content-type-options: nosniff"),
            "{path}"
        );
    }
    let page = get(server, "/", &[]).body;
    assert!(page.contains("<meta name=\"engine\" content=\"native\">"));
    let listed: Value =
        serde_json::from_str(&get(server, "/examples.json", &[]).body).expect("JSON");
    for example in listed.as_array().expect("a list") {
        let file = example["file"].as_str().expect("a name");
        assert_eq!(
            get(server, &format!("/examples/{file}"), &[]).status,
            200,
            "{file}"
        );
    }
}

#[test]
fn paths_lead_to_no_file() {
    let Some(server) = *SERVER else { return };
    for path in [
        "/../Cargo.toml",
        "/..%2fCargo.toml",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/examples/../../Cargo.toml",
        "/examples/..%2f..%2fREADME.md",
        "//etc/passwd",
        "/editor/package.json",
        "/api/../index.html",
        "/index.html%00.js",
    ] {
        let answer = get(server, path, &[]);
        assert!(
            [400, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
    }
}

#[test]
fn other_sites_are_refused() {
    let Some(server) = *SERVER else { return };
    let port = server.port();
    let body = search_request(RACE, json!({}));
    let two = post(
        server,
        "/api/search",
        &[
            ("origin", &format!("http://{server}")),
            ("origin", "http://evil.example"),
        ],
        &body,
    );
    assert_eq!(two.status, 400, "two origins");
    let foreign = [
        ("origin", "http://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", format!("https://{server}")),
        ("host", "evil.example".to_owned()),
        ("host", format!("evil.example:{port}")),
        ("host", "127.0.0.1".to_owned()),
        ("host", String::new()),
    ];
    for (name, value) in &foreign {
        let header = [(*name, value.as_str())];
        assert_eq!(
            post(server, "/api/search", &header, &body).status,
            403,
            "{name}: {value}"
        );
        assert_eq!(get(server, "/", &header).status, 403, "{name}: {value}");
    }
    let own = format!("http://{server}");
    assert_eq!(
        post(server, "/api/search", &[("origin", &own)], &body).status,
        200
    );
    // A form of another site cannot send this content type.
    let plain = format!(
        "POST /api/search HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(send(server, plain.as_bytes()).status, 415);
}

#[test]
fn large_and_wrong_requests_are_refused() {
    let Some(server) = *SERVER else { return };
    let large = search_request(&"x".repeat(10 << 20), json!({}));
    assert_eq!(post(server, "/api/search", &[], &large).status, 413);
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in ["", "{", "[]", "null", "{\"command\": 1}", &nested, "\u{0}"] {
        let status = post(server, "/api/search", &[], body).status;
        assert!((400..500).contains(&status), "{body:.20}: {status}");
    }
    for (key, value) in [
        ("options", json!({"witness": "x"})),
        ("options", json!({"solver": "z3"})),
        ("options", json!({"dump-smt": "x"})),
        ("options", json!({"checkpoint": "x"})),
        ("file", json!("p.c")),
        ("file", json!("../p.maz")),
        ("command", json!("serve")),
        ("format", json!("text")),
        ("extra", json!(1)),
    ] {
        let mut request: Value =
            serde_json::from_str(&search_request(RACE, json!({}))).expect("JSON");
        request[key] = value.clone();
        let status = post(server, "/api/search", &[], &request.to_string()).status;
        assert!([400, 422].contains(&status), "{key} {value}: {status}");
    }
    for bytes in [
        &b"\x00\x01\x02\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
    ] {
        let status = send(server, bytes).status;
        assert!(status == 0 || (400..600).contains(&status), "{status}");
    }
    let host = format!("host: {server}\r\n");
    for (line, headers) in [
        ("GET /", "content-length: -5\r\n".to_owned()),
        ("GET /", "host: evil.example\r\n".to_owned()),
        ("GET http://evil.example/", String::new()),
        ("GET /", format!("x: {}\r\n", "a".repeat(2 << 20))),
        ("GET /", (0..5000).map(|n| format!("x{n}: a\r\n")).collect()),
        (
            "POST /api/search",
            "content-length: 3\r\ntransfer-encoding: chunked\r\n".to_owned(),
        ),
    ] {
        let bytes = format!("{line} HTTP/1.1\r\nconnection: close\r\n{host}{headers}\r\n");
        let status = send(server, bytes.as_bytes()).status;
        assert!(
            [0, 400, 415, 431].contains(&status),
            "{line} {headers:.40}: {status}"
        );
    }
    assert_eq!(get(server, "/", &[]).status, 200, "it still answers");
}

#[test]
fn two_hundred_clients_are_answered() {
    let Some(server) = *SERVER else { return };
    let clients: Vec<_> = (0..200)
        .map(|client| {
            std::thread::spawn(move || match client % 4 {
                0 => {
                    answer(&post(
                        server,
                        "/api/search",
                        &[],
                        &search_request(RACE, json!({})),
                    ))["code"]
                        == 1
                }
                1 => get(server, "/about.json", &[]).status == 200,
                2 => post(server, "/api/search", &[], "{").status == 400,
                _ => get(server, "/page.js", &[]).status == 200,
            })
        })
        .collect();
    let right = clients.into_iter().filter_map(|client| client.join().ok());
    assert_eq!(right.filter(|right| *right).count(), 200);
}

#[test]
fn a_search_ends_when_its_client_disconnects() {
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return;
    };
    // Only one search may run: the second is answered only if the first is ended.
    let server = start(Settings {
        port: 0,
        searches: 1,
        ..Settings::new(command)
    });
    let endless = "var x: int = 0 var y: int = 0 process p (i in 0..9) { for j in 0..9 { x := x + i; y := x } }";
    let body = search_request(endless, json!({"keep-going": true}));
    let head = format!(
        "POST /api/search HTTP/1.1\r\nhost: {server}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(server).expect("a connection");
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("sent");
    let mut first = [0; 4096];
    let read = std::io::Read::read(&mut stream, &mut first).expect("progress");
    assert!(read > 0);
    std::thread::sleep(Duration::from_millis(300));
    drop(stream);
    let start = Instant::now();
    let found = answer(&post(
        server,
        "/api/search",
        &[],
        &search_request(RACE, json!({})),
    ));
    assert_eq!(found["code"], 1);
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn other_machines_need_a_token() {
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return;
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let settings = Settings {
        port: 0,
        address: std::net::Ipv4Addr::UNSPECIFIED.into(),
        hosts: vec!["lab3.example".to_owned()],
        ..Settings::new(command)
    };
    let server = runtime.block_on(Server::bind(settings)).expect("a port");
    let token = server.token().expect("a token").to_owned();
    assert_eq!(token.len(), 32);
    let port = server.address().port();
    // The URL printed for the user works.
    assert_eq!(
        server.url(),
        format!("http://127.0.0.1:{port}/#token={token}")
    );
    let address = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
    runtime.spawn(server.run());
    let given = |token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        post(
            address,
            "/api/search",
            &headers,
            &search_request(RACE, json!({})),
        )
        .status
    };
    assert_eq!(
        post(
            address,
            "/api/search",
            &[],
            &search_request(RACE, json!({}))
        )
        .status,
        401
    );
    assert_eq!(given(""), 401);
    assert_eq!(given(&token[1..]), 401);
    assert_eq!(given(&format!("{}x", &token[1..])), 401);
    assert_eq!(given(&token), 200);
    // Numeric addresses cannot be rebound to this machine; names can.
    let host = |name: &str| get(address, "/", &[("host", name)]).status;
    for known in [
        "192.168.7.7:8421",
        "[fe80::1]:80",
        "LAB3.example:9",
        "localhost",
    ] {
        assert_eq!(host(known), 200, "{known}");
    }
    for foreign in [
        "evil.example",
        "lab3.example.evil",
        "a@127.0.0.1",
        "",
        "127.0.0.1.evil:80",
    ] {
        assert_eq!(host(foreign), 403, "{foreign}");
    }
}

#[test]
fn sizes_are_read_as_the_command_reads_them() {
    let Some(server) = *SERVER else { return };
    let ask = |size: &str| {
        let body = search_request(RACE, json!({"memory-limit": size}));
        answer(&post(server, "/api/search", &[], &body))
    };
    for size in ["1T", "1.5G", "1g", "1GB", "512M"] {
        assert_eq!(ask(size)["code"], 1, "{size}");
    }
    let refused = ask("lots");
    assert_eq!(refused["code"], 3);
    assert!(
        refused["err"]
            .as_str()
            .expect("text")
            .contains("such as 512M")
    );
}

#[test]
fn no_request_raises_the_limit_of_memory() {
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return;
    };
    let server = start(Settings {
        port: 0,
        most_memory: 1 << 20,
        ..Settings::new(command)
    });
    // The limit of the server is so small that every process of the command exceeds it from the
    // beginning.
    let source = "var x: int = 0 process p (i in 0..9) { for j in 0..9 { x := x + i } }";
    let options = json!({"memory-limit": "8G", "time-limit": "60s", "keep-going": true});
    let found = answer(&post(
        server,
        "/api/search",
        &[],
        &search_request(source, options),
    ));
    assert_eq!(found["code"], 2, "{found}");
    let output = format!("{}{}", found["out"], found["err"]);
    assert!(output.contains("memory"), "{output}");
}

#[test]
fn silent_connections_are_closed() {
    let Some(server) = *SERVER else { return };
    let mut idle = std::net::TcpStream::connect(server).expect("a connection");
    let mut slow = std::net::TcpStream::connect(server).expect("a connection");
    std::io::Write::write_all(&mut slow, b"GET / HTTP/1.1\r\nhost: ").expect("sent");
    for stream in [&mut idle, &mut slow] {
        let patience = Some(Duration::from_secs(60));
        stream.set_read_timeout(patience).expect("a timeout");
        let mut all = Vec::new();
        // The connection must be closed, perhaps after a refusal; a timeout would be an error.
        std::io::Read::read_to_end(stream, &mut all).expect("an end");
        let refusal = String::from_utf8_lossy(&all);
        assert!(
            all.is_empty() || refusal.starts_with("HTTP/1.1 4"),
            "{refusal}"
        );
    }
}

/// Makes a command that starts another process, as a search starts a solver, and waits for its end.
/// The command writes the ids of both processes into the folder of the test. Returns its path.
#[cfg(target_os = "linux")]
fn command_with_a_solver(folder: &std::path::Path) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = flags ]; then echo '{{\"commands\": [{{\"name\": \"check\", \"flags\": []}}]}}'; exit; fi\nsleep 1000 &\necho $! $$ > {0}/new && mv {0}/new {0}/numbers\nwait\n",
        folder.display()
    );
    let path = folder.join("command");
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    path
}

/// Waits until a condition holds; the test runner ends a test that waits for ever.
#[cfg(target_os = "linux")]
fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits for the ids of the processes.
#[cfg(target_os = "linux")]
fn numbers(folder: &std::path::Path) -> Vec<String> {
    let path = folder.join("numbers");
    until(|| path.exists());
    let text = std::fs::read_to_string(path).expect("numbers");
    text.split_whitespace().map(str::to_owned).collect()
}

/// Whether a process runs; a zombie does not.
#[cfg(target_os = "linux")]
fn runs(number: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    let state = status
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

#[test]
#[cfg(target_os = "linux")]
fn the_processes_of_a_search_end_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(Settings {
        port: 0,
        ..Settings::new(command_with_a_solver(folder.path()))
    });
    let body = search_request(RACE, json!({}));
    let head = format!(
        "POST /api/search HTTP/1.1\r\nhost: {server}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(server).expect("a connection");
    std::io::Write::write_all(&mut stream, head.as_bytes()).expect("sent");
    let started = numbers(folder.path());
    assert!(started.iter().all(|number| runs(number)), "{started:?}");
    drop(stream);
    until(|| !started.iter().any(|number| runs(number)));
}

#[test]
#[cfg(target_os = "linux")]
fn folders_of_searches_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let server = start(Settings {
        port: 0,
        ..Settings::new(command_with_a_solver(folder.path()))
    });
    let client = std::thread::spawn(move || {
        let _ended = post(server, "/api/search", &[], &search_request(RACE, json!({})));
    });
    let started = numbers(folder.path());
    let place = std::fs::read_link(format!("/proc/{}/cwd", started[1])).expect("a folder");
    let mode = std::fs::metadata(place)
        .expect("a folder")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o700);
    // The command only waits for this process. So it ends when the process is killed.
    let killed = std::process::Command::new("kill").arg(&started[0]).status();
    assert!(killed.expect("kill").success());
    client.join().expect("an answer");
}

/// Returns the children of a process.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).expect("threads");
    let lists = threads
        .flatten()
        .map(|thread| std::fs::read_to_string(thread.path().join("children")).unwrap_or_default());
    let all: Vec<String> = lists.collect();
    let numbers = all.iter().flat_map(|list| list.split_whitespace());
    numbers.map(str::to_owned).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn searches_end_with_the_server() {
    use std::io::BufRead;
    use std::process::{Command, Stdio};
    let Some(command) = command() else {
        println!("skipped: mazurka missing (cargo build -p mazurka-cli)");
        return;
    };
    for signal in ["-TERM", "-INT", "-KILL"] {
        let mut server = Command::new(&command)
            .args(["serve", "--port", "0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        let out = server.stdout.take().expect("a pipe");
        std::io::BufReader::new(out)
            .read_line(&mut line)
            .expect("a line");
        let Some(address) = line.trim().strip_prefix("open http://") else {
            let _ended = server.wait();
            println!("skipped: mazurka with the feature `serve` missing");
            return;
        };
        let address: SocketAddr = address.trim_end_matches('/').parse().expect("an address");
        let endless = "var x: int = 0 var y: int = 0 process p (i in 0..9) { for j in 0..9 { x := x + i; y := x } }";
        let body = search_request(endless, json!({"keep-going": true}));
        let client = std::thread::spawn(move || {
            let _broken = post(address, "/api/search", &[], &body);
        });
        let mut found = Vec::new();
        until(|| {
            found = children(server.id());
            !found.is_empty()
        });
        let number = server.id().to_string();
        let sent = Command::new("kill").args([signal, &number]).status();
        assert!(sent.expect("kill").success());
        server.wait().expect("an end");
        until(|| !found.iter().any(|number| runs(number)));
        client.join().expect("an end");
    }
}
