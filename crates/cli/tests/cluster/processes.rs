//! Starts the processes of a cluster. A process is ended when its handle is dropped.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Limit on every wait.
const PATIENCE: Duration = Duration::from_secs(300);

/// A process, and the threads that collect its output.
pub struct Process {
    child: Child,
    out: Option<JoinHandle<String>>,
    err: Option<JoinHandle<String>>,
}

impl Process {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null());
        let mut child = { command.stdout(Stdio::piped()) }
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let out = child.stdout.take().map(listen);
        let err = child.stderr.take().map(listen);
        Self { child, out, err }
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a process").is_none()
    }

    /// Interrupts the process, as Ctrl-C does.
    pub fn interrupt(&self) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("the command kill").success());
    }

    /// Kills the process, as `kill -9` does.
    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn listen(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = pipe.read_to_end(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    })
}

/// The exit code and the output of a process.
#[derive(Debug)]
pub struct CommandResult {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Waits for the end of a process. Panics if it does not end.
pub fn run_to_end(mut process: Process) -> CommandResult {
    let start = Instant::now();
    while process.is_running() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = !process.is_running();
    process.kill();
    let text = |thread: Option<JoinHandle<String>>| {
        let text = thread.and_then(|thread| thread.join().ok());
        text.unwrap_or_default()
    };
    let status = process.child.wait().expect("a process");
    let result = CommandResult {
        code: status.code().unwrap_or(-1),
        out: text(process.out.take()),
        err: text(process.err.take()),
    };
    assert!(ended, "it has no end: {result:?}");
    result
}

/// Starts the command.
pub fn mazurka<S: AsRef<OsStr>>(words: &[S]) -> Process {
    Process::start(Command::new(env!("CARGO_BIN_EXE_mazurka")).args(words))
}

/// Starts a worker with one part at a time.
pub fn worker(url: &str, words: &[&str]) -> Process {
    let mut all = vec!["worker", url, "--jobs", "1", "--patience", "60s"];
    all.extend(words);
    mazurka(&all)
}

/// A server with data of its own.
pub struct Nats {
    pub url: String,
    port: u16,
    words: Vec<String>,
    process: Process,
    folder: tempfile::TempDir,
}

impl Nats {
    /// Starts a server, if one is installed.
    pub fn start(words: &[&str]) -> Option<Self> {
        let version = Command::new("nats-server").arg("--version").output();
        if version.is_err() {
            println!("skipped: nats-server missing");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = port.local_addr().expect("an address").port();
        let folder = tempfile::tempdir().expect("a folder");
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let process = serve(port, &folder, &words);
        Some(Self {
            url: format!("nats://127.0.0.1:{port}"),
            port,
            words,
            process,
            folder,
        })
    }

    /// Kills the server, and starts it again with the same data.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = serve(self.port, &self.folder, &self.words);
    }

    /// Sends a message by hand.
    pub fn publish(&self, subject: &str, text: &str) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let size = text.len();
        let sent = format!(
            "CONNECT {{\"verbose\":false}}\r\nSUB answer 1\r\nPUB {subject} answer {size}\r\n{text}\r\nPING\r\n"
        );
        stream.write_all(sent.as_bytes()).expect("the server");
        let mut lines = BufReader::new(stream).lines();
        let answered = lines.any(|line| line.expect("the server").starts_with("MSG answer"));
        assert!(answered, "{subject}");
    }

    /// Waits until the only search has at least these numbers of parts done and of parts open.
    pub fn wait_for(&self, done: u64, open: u64) -> CommandResult {
        let start = Instant::now();
        loop {
            let listed = run_to_end(mazurka(&["cluster", &self.url]));
            let number = |before: &str, after: &str| {
                let (_, rest) = listed.out.split_once(before)?;
                rest.split_once(after)?.0.parse::<u64>().ok()
            };
            let first = listed.out.lines().next().unwrap_or_default();
            let far = first.starts_with("search ")
                && number(": ", " parts done").is_some_and(|n| n >= done)
                && number("parts done, ", " open").is_some_and(|n| n >= open);
            if far {
                return listed;
            }
            assert!(start.elapsed() < PATIENCE, "{listed:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn serve(port: u16, folder: &tempfile::TempDir, words: &[String]) -> Process {
    let port = port.to_string();
    let mut command = Command::new("nats-server");
    command.args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd"]);
    let process = Process::start(command.arg(folder.path()).args(words));
    let start = Instant::now();
    let address = format!("127.0.0.1:{port}");
    while TcpStream::connect(&address).is_err() {
        assert!(start.elapsed() < PATIENCE, "the server does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    process
}

/// A reproducible sequence of numbers (a simple generator).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x5bd1_e995;
        (self.0 >> 7) % most
    }
}
