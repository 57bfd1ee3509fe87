//! Tests the network layer without programs, with a real server on a loopback port. The work is to
//! add numbers, and an order is a number. An order above [`LARGE`] is cut into four orders of about
//! a quarter each, with the same total. The result of any other order is its number.

use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mazurka_cluster::{
    Ended, Error, Failure, PartResult, Plan, Progress, Search, Server, Task, Work, WorkerSettings,
    cancel, coordinate, status, work,
};

/// Numbers above this are cut.
const LARGE: u64 = 30;
/// The order for the whole.
const WHOLE: u64 = 1000;
/// A search.
const ID: &str = "0123456789abcdef0123456789abcdef";

fn number(bytes: &[u8]) -> Result<u64, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let number = text.trim_end().parse();
    number.map_err(|_| format!("`{text}` is not a number"))
}

fn children(number: u64) -> Vec<Vec<u8>> {
    let cut = |k: u64| ((number + k) / 4).to_string().into_bytes();
    if number > LARGE {
        (0..4).map(cut).collect()
    } else {
        Vec::new()
    }
}

struct Adder {
    over: AtomicBool,
    pause: Duration,
    /// The order that it refuses, like a worker that cannot explore a part.
    unknown: Option<u64>,
}

impl Work for Adder {
    fn explore(&self, task: &Task<'_>) -> Result<PartResult, Failure> {
        assert_eq!((task.id, task.job), (ID, &b"add"[..]));
        let number = number(task.order).map_err(Failure::Refused)?;
        if self.unknown == Some(number) {
            return Err(Failure::Refused("unknown number".to_owned()));
        }
        let start = Instant::now();
        while start.elapsed() < self.pause {
            if self.over.load(Ordering::SeqCst) || task.stop.load(Ordering::SeqCst) {
                return Err(Failure::Stopped);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let children = children(number);
        // Large enough to be written in pieces.
        let padding = if number % 2 == 0 { 0 } else { 1200 << 10 };
        let mut result = number.to_string().into_bytes();
        result.resize(result.len() + padding, b' ');
        Ok(PartResult {
            result,
            executions: if children.is_empty() { number } else { 0 },
            children,
        })
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    fn report(&self, what: &str) {
        println!("{what}");
    }
}

#[derive(Default)]
struct Numbers(Vec<u64>);

impl Plan for Numbers {
    fn root(&self) -> Vec<u8> {
        WHOLE.to_string().into_bytes()
    }

    fn children(&self, result: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        number(result).map(children)
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, result: &[u8]) -> Result<(), String> {
        number(result).map(|number| self.0.push(number))
    }
}

/// Returns all numbers, in the order of the tree.
fn expected() -> Vec<u64> {
    let (mut all, mut open) = (Vec::new(), vec![WHOLE]);
    while let Some(next) = open.pop() {
        all.push(next);
        let cut = children(next);
        open.extend(
            cut.iter()
                .rev()
                .map(|child| number(child).expect("a number")),
        );
    }
    all
}

/// A server, which is killed when the value is dropped.
struct Nats {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Nats {
    fn start() -> Option<Self> {
        if Command::new("nats-server")
            .arg("--version")
            .output()
            .is_err()
        {
            println!("skipped: nats-server missing");
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = port.local_addr().expect("an address").port();
        let folder = tempfile::tempdir().expect("a folder");
        let child = serve(port, &folder);
        Some(Self {
            child,
            port,
            folder,
        })
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn restart(&mut self) {
        self.kill();
        self.child = serve(self.port, &self.folder);
    }

    fn server(&self) -> Server {
        Server {
            url: format!("nats://127.0.0.1:{}", self.port),
            credentials: None,
            authorities: None,
            certificate: None,
            patience: Duration::from_secs(30),
        }
    }

    /// Starts a worker in threads of this process.
    fn worker(&self, adder: Adder) -> (Arc<Adder>, JoinHandle<Result<u64, Error>>) {
        let (server, adder) = (self.server(), Arc::new(adder));
        let work_of = Arc::clone(&adder) as Arc<dyn Work>;
        let settings = WorkerSettings {
            name: "adder".to_owned(),
            jobs: 4,
            idle: None,
        };
        let thread = std::thread::spawn(move || work(&server, &settings, work_of));
        (adder, thread)
    }

    /// Runs a search, and calls a function meanwhile.
    fn add(
        &self,
        look: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> (Result<Ended, Error>, Vec<u64>) {
        let mut numbers = Numbers::default();
        let search = Search {
            id: ID,
            job: b"add",
            keep: false,
        };
        let ended = coordinate(&self.server(), &search, &mut numbers, look);
        (ended, numbers.0)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

fn serve(port: u16, folder: &tempfile::TempDir) -> Child {
    let mut command = Command::new("nats-server");
    command.args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"]);
    let command = command.arg(folder.path()).stdout(Stdio::null());
    let child = command.stderr(Stdio::null()).spawn().expect("a server");
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            start.elapsed() < Duration::from_secs(30),
            "it does not start"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

fn adder(pause: u64) -> Adder {
    Adder {
        over: AtomicBool::new(false),
        pause: Duration::from_millis(pause),
        unknown: None,
    }
}

fn end((adder, thread): (Arc<Adder>, JoinHandle<Result<u64, Error>>)) -> u64 {
    adder.over.store(true, Ordering::SeqCst);
    thread.join().expect("a thread").expect("a worker")
}

fn patiently(seconds: u64) -> impl FnMut(&Progress) -> ControlFlow<()> {
    let start = Instant::now();
    move |progress| {
        assert!(
            start.elapsed() < Duration::from_secs(seconds),
            "{progress:?}"
        );
        ControlFlow::Continue(())
    }
}

#[test]
fn all_results_are_added_in_order() {
    let Some(nats) = Nats::start() else { return };
    let worker = nats.worker(adder(0));
    let (ended, numbers) = nats.add(&mut patiently(120));
    assert_eq!((ended, &numbers), (Ok(Ended::Complete), &expected()));
    let on_server = status(&nats.server()).expect("a server");
    assert_eq!(on_server.searches, []);
    assert_eq!(on_server.workers.len(), 1);
    // Start a search with the same name again, at once.
    let (ended, numbers) = nats.add(&mut patiently(120));
    assert_eq!((ended, &numbers), (Ok(Ended::Complete), &expected()));
    assert!(end(worker) >= 2 * expected().len() as u64);
}

#[test]
fn a_server_may_be_killed() {
    let Some(mut nats) = Nats::start() else {
        return;
    };
    let worker = nats.worker(adder(50));
    let (sent, progressed) = std::sync::mpsc::channel();
    let server = nats.server();
    let coordinator = std::thread::spawn(move || {
        let mut numbers = Numbers::default();
        let search = Search {
            id: ID,
            job: b"add",
            keep: false,
        };
        let mut patience = patiently(180);
        let ended = coordinate(&server, &search, &mut numbers, &mut |progress| {
            let _ = sent.send(*progress);
            patience(progress)
        });
        (ended, numbers.0)
    });
    for done in [1, 8, 20, 40] {
        while progressed.recv().is_ok_and(|progress| progress.done < done) {}
        nats.restart();
    }
    let (ended, numbers) = coordinator.join().expect("a thread");
    assert_eq!((ended, numbers), (Ok(Ended::Complete), expected()));
    end(worker);
}

#[test]
fn a_stopped_search_can_be_continued() {
    let Some(nats) = Nats::start() else { return };
    let worker = nats.worker(adder(10));
    let (ended, some) = nats.add(&mut |progress| match progress.done {
        0..10 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert_eq!(ended, Ok(Ended::Stopped));
    assert!(
        !some.is_empty() && some.len() <= expected().len(),
        "{some:?}"
    );
    let on_server = status(&nats.server()).expect("a server");
    assert_eq!(on_server.searches.len(), 1);
    assert_eq!(on_server.searches[0].job.as_deref(), Some(&b"add"[..]));
    let (ended, numbers) = nats.add(&mut patiently(120));
    assert_eq!((ended, numbers), (Ok(Ended::Complete), expected()));
    end(worker);
}

#[test]
fn a_search_can_be_cancelled() {
    let Some(nats) = Nats::start() else { return };
    // It would take minutes.
    let worker = nats.worker(adder(60_000));
    let server = nats.server();
    let canceller = std::thread::spawn({
        let server = server.clone();
        move || {
            let busy = || status(&server).is_ok_and(|on| on.workers.iter().any(|w| w.busy > 0));
            while !busy() {
                std::thread::sleep(Duration::from_millis(50));
            }
            cancel(&server, ID)
        }
    });
    let (ended, _) = nats.add(&mut patiently(60));
    assert_eq!(canceller.join().expect("a thread"), Ok(()));
    assert_eq!(ended, Err(Error::Gone));
    assert_eq!(cancel(&server, ID), Err(Error::Gone));
    assert!(matches!(cancel(&server, "../x"), Err(Error::Name(_))));
    // Wait until the worker has noticed.
    let start = Instant::now();
    while status(&server)
        .expect("a server")
        .workers
        .iter()
        .any(|w| w.busy > 0)
    {
        assert!(start.elapsed() < Duration::from_secs(30), "it continues");
        std::thread::sleep(Duration::from_millis(100));
    }
    end(worker);
}

#[test]
fn a_part_that_every_worker_refuses_ends_the_search() {
    let Some(nats) = Nats::start() else { return };
    let worker = nats.worker(Adder {
        unknown: Some(62),
        ..adder(0)
    });
    let (ended, some) = nats.add(&mut patiently(120));
    let Ok(Ended::Failed(why)) = ended else {
        panic!("{ended:?}");
    };
    assert!(why[0].contains("unknown number"), "{why:?}");
    assert!(why[0].contains("(worker adder)"), "{why:?}");
    assert!(some.len() < expected().len());
    end(worker);
}

#[test]
fn no_server_is_an_error() {
    let server = Server {
        url: "nats://me:secret@127.0.0.1:1".to_owned(),
        credentials: None,
        authorities: None,
        certificate: None,
        patience: Duration::from_millis(300),
    };
    let error = status(&server).expect_err("there is none").to_string();
    assert!(
        error.starts_with("cannot connect to nats://127.0.0.1:1: "),
        "{error}"
    );
}
