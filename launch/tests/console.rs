//! Tests of the console's server against misuse: wrong tokens, other sites, garbage, crowds, pages that do not
//! read.

mod load_monitor;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use load_monitor::{PATIENCE, not_judged, wait_for};
use palpate_console::{Console, ConsoleOptions};
use palpate_master::device::pointer::PointerTarget;
use palpate_session::monitor::{LatestState, MonitorController, OperatorOrder, OrderReply, wire};
use palpate_transport::trace::Side;

/// Controller that stores its calls.
#[derive(Default)]
struct StubController {
    stops: AtomicU64,
    aims: Mutex<Vec<PointerTarget>>,
    orders: Mutex<Vec<OperatorOrder>>,
    watched: Mutex<Vec<bool>>,
}

impl MonitorController for StubController {
    fn execute(&self, order: &OperatorOrder) -> OrderReply {
        self.orders.lock().expect("whole").push(order.clone());
        match order {
            OperatorOrder::Impedance { nspm } if *nspm < 0.0 => Err("less than nothing".into()),
            _ => Ok("done".into()),
        }
    }

    fn stop(&self) {
        self.stops.fetch_add(1, Ordering::SeqCst);
    }

    fn aim(&self, aim: PointerTarget, _page_time_ms: f64) {
        self.aims.lock().expect("whole").push(aim);
    }

    fn set_watched(&self, anybody: bool) {
        self.watched.lock().expect("whole").push(anybody);
    }
}

struct Served {
    console: Console,
    latest_state: Arc<LatestState>,
    controller: Arc<StubController>,
}

/// Serves at any free port.
fn serve(connections: usize, pages: usize) -> Served {
    serve_from(0, connections, pages)
}

fn serve_from(port: u16, connections: usize, pages: usize) -> Served {
    let latest_state = Arc::new(LatestState::new(serde_json::json!({"name": "test"})));
    let controller = Arc::new(StubController::default());
    let options = ConsoleOptions {
        port,
        connections,
        pages,
    };
    let console = Console::open(
        &options,
        Arc::clone(&latest_state),
        Arc::clone(&controller) as _,
    );
    Served {
        console: console.expect("a free port"),
        latest_state,
        controller,
    }
}

impl Served {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.console.port())).expect("listening");
        stream.set_read_timeout(Some(PATIENCE)).expect("set");
        stream
    }

    /// Path of the page: `/TOKEN/`.
    fn path(&self) -> String {
        let url = self.console.url();
        url[url.rfind(":").expect("a port")..]
            .split_once('/')
            .map(|(_, path)| format!("/{path}"))
            .expect("a path")
    }

    /// Requests a path; returns status and whole response.
    fn ask(&self, method: &str, path: &str, host: Option<&str>, more: &str) -> (u16, String) {
        let mut stream = self.connect();
        let own = format!("127.0.0.1:{}", self.console.port());
        let host = host.unwrap_or(&own);
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        answer(&mut stream)
    }

    fn page(&self) -> Page {
        Page::open(self).expect("a page")
    }
}

fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    // a server that refuses may reset the connection without reading
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.get(9..12).and_then(|status| status.parse().ok());
    (status.unwrap_or(0), text)
}

/// Console page of this server, written by hand.
struct Page {
    stream: TcpStream,
}

/// Message to a page.
#[derive(Debug, PartialEq)]
enum PageInput {
    Text(serde_json::Value),
    Binary(Vec<u8>),
    Closed(u16),
}

fn upgrade(origin: &str) -> String {
    format!(
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{origin}\r\n"
    )
}

impl Page {
    fn open(served: &Served) -> Result<Self, (u16, String)> {
        let port = served.console.port();
        let origin = format!("Origin: http://127.0.0.1:{port}\r\n");
        let mut stream = served.connect();
        let path = served.path();
        let request = format!(
            "GET {path}live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{}",
            upgrade(&origin)
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut head = Vec::new();
        let mut byte = [0];
        // a server that refuses may close without a response
        while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
            head.extend(byte);
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let status = text
            .get(9..12)
            .and_then(|status| status.parse().ok())
            .unwrap_or(0);
        if status == 101 {
            Ok(Self { stream })
        } else {
            Err((status, text))
        }
    }

    fn send(&mut self, opcode: u8, payload: &[u8]) -> std::io::Result<()> {
        let mut frame = vec![0x80 | opcode];
        match payload.len() {
            short @ ..126 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(long).expect("short").to_be_bytes());
            }
        }
        // a mask of zeros is valid
        frame.extend([0; 4]);
        frame.extend(payload);
        self.stream.write_all(&frame)
    }

    fn send_text(&mut self, text: &str) {
        self.send(1, text.as_bytes()).expect("sent");
    }

    fn order(&mut self, id: u64, order: &str) -> serde_json::Value {
        self.send_text(&format!("{{\"id\":{id},\"order\":{order}}}"));
        self.until(|word| word["kind"] == "answer" && word["id"] == id)
    }

    fn next(&mut self) -> std::io::Result<PageInput> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length)?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length)?;
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        let mut payload = vec![0; length as usize];
        self.stream.read_exact(&mut payload)?;
        Ok(match head[0] & 0xf {
            1 => PageInput::Text(serde_json::from_slice(&payload).expect("JSON")),
            2 => PageInput::Binary(payload),
            8 => PageInput::Closed(u16::from_be_bytes([payload[0], payload[1]])),
            other => panic!("opcode {other}"),
        })
    }

    /// Waits for the first message that is wanted.
    fn until(&mut self, wanted: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        loop {
            if let PageInput::Text(word) = self.next().expect("a word")
                && wanted(&word)
            {
                return word;
            }
        }
    }

    /// Close code of the page, whatever comes before.
    fn closed(&mut self) -> Option<u16> {
        loop {
            match self.next() {
                Ok(PageInput::Closed(code)) => return Some(code),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("still open"),
                Err(_) => return None,
            }
        }
    }
}

/// Waits until the check is true.
fn wait_until(what: &str, check: impl Fn() -> bool) {
    wait_for(what, || check().then_some(()));
}

#[test]
fn only_the_run_token_is_accepted() {
    let served = serve(64, 4);
    let own = served.path();
    let wrong = format!("/{}/", "0".repeat(32));
    for (path, expected) in [
        ("/", 401),
        ("/favicon.ico", 401),
        (&*wrong, 403),
        ("/index.html", 403),
        (&own[..own.len() - 1], 404),
        (&*own, 200),
    ] {
        let (status, text) = served.ask("GET", path, None, "");
        assert_eq!(status, expected, "{path}: {text}");
        assert!(text.contains("default-src 'none'"), "{path}: {text}");
        assert!(!text.contains("unsafe-"), "{path}");
    }
    let live = format!("{wrong}live");
    let origin = format!("Origin: http://127.0.0.1:{}\r\n", served.console.port());
    let (status, _) = served.ask("GET", &live, None, &upgrade(&origin));
    assert_eq!(status, 403);
}

#[test]
fn only_page_files_are_served() {
    let served = serve(64, 4);
    let own = served.path();
    for climb in [
        "../Cargo.toml",
        "../../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "vendor/../../server.rs",
        "/etc/passwd",
        "..\\..\\etc",
        "vendor/",
        "console.js%00.html",
    ] {
        let (status, text) = served.ask("GET", &format!("{own}{climb}"), None, "");
        assert!([400, 404].contains(&status), "{climb}: {text}");
        assert!(!text.contains("root:"), "{climb}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(served.ask(method, &own, None, "").0, 405, "{method}");
    }
    // a foreign name that resolves to this address
    let (status, _) = served.ask("GET", &own, Some("evil.example"), "");
    assert_eq!(status, 421);
    let (status, _) = served.ask(
        "GET",
        &own,
        None,
        &format!("X-Long: {}\r\n", "x".repeat(40_000)),
    );
    assert!([400, 431].contains(&status), "{status}");
    assert_eq!(served.ask("GET", &own, None, "").0, 200);
}

#[test]
fn foreign_origin_gets_no_socket() {
    let served = serve(64, 4);
    let live = format!("{}live", served.path());
    for origin in [
        "",
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: http://127.0.0.1\r\n",
    ] {
        let (status, text) = served.ask("GET", &live, None, &upgrade(origin));
        assert_eq!(status, 403, "{origin}: {text}");
    }
    let (status, _) = served.ask("GET", &live, None, "");
    assert!((400..500).contains(&status), "no upgrade: {status}");
    assert!(served.controller.watched.lock().expect("whole").is_empty());
    drop(served.page());
}

#[test]
fn one_page_operates_and_every_page_can_stop() {
    let served = serve(64, 4);
    let mut first = served.page();
    let hello = first.until(|word| word["kind"] == "hello");
    assert_eq!(
        (&hello["session"]["name"], &hello["layout"]),
        (
            &"test".into(),
            &palpate_session::monitor::wire::VERSION.into()
        )
    );
    first.until(|word| word["operator"] == true);
    let mut second = served.page();
    second
        .until(|word| word["kind"] == "role" && word["operator"] == false && word["taken"] == true);
    let refused = second.order(1, r#"{"do":"impedance","nspm":3}"#);
    assert!(
        refused["ok"] == false && refused["text"].to_string().contains("watch"),
        "{refused}"
    );
    assert!(second.order(2, r#"{"do":"operate"}"#)["ok"] == false);
    assert_eq!(second.order(3, r#"{"do":"stop"}"#)["ok"], true);
    assert_eq!(served.controller.stops.load(Ordering::SeqCst), 1);
    assert_eq!(first.order(9, r#"{"do":"impedance","nspm":3}"#)["ok"], true);
    let refused = first.order(10, r#"{"do":"impedance","nspm":-3}"#);
    assert!(
        refused["ok"] == false && refused["text"] == "less than nothing",
        "{refused}"
    );
    // the operator's target drives the handle, another page's does not, and a closed page releases it
    let aim = |x_m: f64| {
        // version 2, kind 16, number 1, present
        let mut bytes = b"PLPC\x03\0\x10\0\x01\0\0\0\x01\0\0\0".to_vec();
        let numbers = [0.0, x_m, 0.0, 0.0, 0.0];
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    };
    second.send(2, &aim(0.5)).expect("sent");
    first.send(2, &aim(0.25)).expect("sent");
    let aims = || served.controller.aims.lock().expect("whole").clone();
    wait_until("the aim arrives", || {
        aims().iter().any(|aim| aim.position_m[0] == 0.25)
    });
    drop(first);
    wait_until("it is let go", || {
        aims().last().is_some_and(|aim| !aim.present)
    });
    assert!(aims().iter().all(|aim| aim.position_m[0] != 0.5));
    let numbers: Vec<u64> = aims().iter().map(|aim| aim.sequence).collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "{numbers:?}"
    );
    assert_eq!(second.order(4, r#"{"do":"operate"}"#)["ok"], true);
    drop(second);
    wait_until("nobody watches", || {
        served.controller.watched.lock().expect("whole")[..] == [true, false]
    });
    let log = served.console.log();
    assert_eq!(
        log.iter()
            .filter(|entry| entry.order == OperatorOrder::Stop && entry.ok)
            .count(),
        1
    );
}

#[test]
fn repeated_garbage_closes_the_connection() {
    let served = serve(64, 4);
    let mut good = served.page();
    let mut bad = served.page();
    bad.send_text("[[[[");
    bad.until(|word| word["kind"] == "refused");
    for _ in 0..8 {
        // it may be closed before all of it is sent
        let _ = bad.send(2, b"\x00\x01\x02");
    }
    assert_eq!(bad.closed(), Some(1008));
    let mut long = served.page();
    let _ = long.send(1, &vec![b'x'; 60_000]);
    assert!([Some(1008), None].contains(&long.closed()));
    // not even a frame
    let mut noise = served.page();
    noise.stream.write_all(&[0xff; 64]).expect("sent");
    assert!([Some(1008), None].contains(&noise.closed()));
    assert_eq!(good.order(5, r#"{"do":"stop"}"#)["ok"], true);
}

/// Time after which a silent connection is dropped: a crowd that takes longer to connect is already being dropped.
const SILENT: Duration = Duration::from_secs(5);

/// Response to a page while `crowd` silent connections wait before it; none if they took too long to connect, and
/// the first were dropped.
fn response_behind(served: &Served, crowd: usize) -> Option<(u16, String)> {
    let begun = Instant::now();
    let idle: Vec<TcpStream> = (0..crowd).map(|_| served.connect()).collect();
    let answer = served.ask("GET", &served.path(), None, "");
    let all = begun.elapsed();
    drop(idle);
    wait_until("it is served again", || {
        served.ask("GET", &served.path(), None, "").0 == 200
    });
    if all >= SILENT {
        let why = format!("{crowd} connections came within {all:.1?}, against {SILENT:?}");
        not_judged("what is answered behind a crowd", &why);
        return None;
    }
    Some(answer)
}

#[test]
fn excess_connections_are_refused() {
    // both ends of a thousand connections are in this process
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).expect("a limit");
    setrlimit(Resource::RLIMIT_NOFILE, most, most).expect("as many as are allowed");
    let many = 1000.min(most.saturating_sub(300) as usize);
    let served = serve(8, 2);
    // fewer than the accept queue holds, so that they connect at once; and many more
    let few = wait_for("crowd in time", || response_behind(&served, 40));
    for (status, text) in [Some(few), response_behind(&served, many)]
        .into_iter()
        .flatten()
    {
        // beyond the first few it is refused, or closed if even the refused are many
        assert!([0, 503].contains(&status), "{text}");
    }
    // silent connections are dropped
    let silent: Vec<TcpStream> = (0..8).map(|_| served.connect()).collect();
    wait_until("silent ones are let go", || {
        served.ask("GET", &served.path(), None, "").0 == 200
    });
    drop(silent);
    let page = || wait_for("place", || Page::open(&served).ok());
    let (mut one, _two) = (page(), page());
    let (status, _) = Page::open(&served).err().expect("no place");
    assert_eq!(status, 503);
    assert_eq!(one.order(1, r#"{"do":"stop"}"#)["ok"], true);
}

#[test]
fn slow_page_does_not_block_others() {
    let served = serve(64, 4);
    let nodes = vec![[0.0_f32; 3]; 20_000];
    served
        .latest_state
        .session(0)
        .show_mesh(&nodes, &[[0, 1, 2]]);
    let (_stalled, mut reader) = (served.page(), served.page());
    let done = Arc::new(AtomicU64::new(0));
    let (shown, latest_state) = (Arc::clone(&done), Arc::clone(&served.latest_state));
    // 480 MB in all: no system buffers that for a page that does not read
    let showing = std::thread::spawn(move || {
        for _ in 0..2000 {
            latest_state.session(0).show_surface(&nodes);
            latest_state
                .session(0)
                .show(Side::Master, &[0; 8 * wire::FIELDS]);
            shown.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut newest = 0;
    while newest < 2000 {
        if let PageInput::Binary(frame) = reader.next().expect("a frame")
            && frame[6] == 2
        {
            let number = u32::from_le_bytes([frame[8], frame[9], frame[10], frame[11]]);
            assert!(number > newest, "{number} after {newest}");
            newest = number;
        }
    }
    showing.join().expect("shown");
    assert_eq!(done.load(Ordering::SeqCst), 2000);
}

#[test]
fn port_in_use_is_skipped_and_end_closes_pages() {
    let one = serve(8, 2);
    let taken = one.console.port();
    let two = serve_from(taken, 8, 2);
    let port = two.console.port();
    assert!(
        (taken + 1..taken + 20).contains(&port),
        "{port} after {taken}"
    );
    assert_ne!(one.console.url(), two.console.url());
    // the token of one is invalid at the other
    assert_eq!(two.ask("GET", &one.path(), None, "").0, 403);
    let mut page = one.page();
    page.until(|word| word["kind"] == "hello");
    drop(one);
    assert_eq!(page.closed(), Some(1000));
}
