//! The server of the console: this host only, one token a run, and a clear status for whoever it refuses.
//!
//! Every path begins with the token: `/TOKEN/` is the page, `/TOKEN/live` its WebSocket. There is no file behind
//! any path (`asset`), so none can be climbed out of. A request must name this host as its host, against names
//! that are made to resolve here, and a WebSocket must come from a page of this server. It runs on one thread of
//! low priority, so that no page takes the processor from a servo. Source: ours.

use core::time::Duration;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use palpate_session::monitor::{Board, Desk};
use palpate_session::run::realtime;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::client::{self, House, Logged};
use super::foxglove::Foxglove;
use super::{asset, random};

/// Port at which a free one is looked for if none is asked for.
pub const PORT: u16 = 7780;

/// Ports that are tried, from the first on.
const PORTS_TRIED: u16 = 20;

/// Bytes that wait in the system for a page that does not read: a second of states, or some surfaces.
const SEND_BUFFER: u32 = 256 * 1024;

/// Connections that wait to be accepted: the system of one beyond tries again only after a second.
const WAITING: u32 = 1024;

/// Longest head of a request \[bytes\].
const HEAD_MAX: usize = 16 * 1024;

/// How long a connection may take to send the head of a request.
const HEAD_WAIT: Duration = Duration::from_secs(5);

/// How long a connection beyond the limit is told so.
const FAREWELL: Duration = Duration::from_millis(500);

/// Longest message of a page \[bytes\].
const MESSAGE_MAX: usize = 4096;

/// How a console is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleOptions {
    /// First port to try.
    pub port: u16,
    /// Connections at once; pages that are being watched are counted apart.
    pub connections: usize,
    /// Pages at once.
    pub pages: usize,
}

impl Default for ConsoleOptions {
    fn default() -> Self {
        Self {
            port: PORT,
            connections: 64,
            pages: 16,
        }
    }
}

/// Why there is no console.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// No port is free.
    #[error(
        "no port from {first} to {last} is free on 127.0.0.1: {source}; choose another with --console-port"
    )]
    Ports {
        /// First that was tried.
        first: u16,
        /// Last that was tried.
        last: u16,
        /// What the system said of it.
        source: io::Error,
    },
    /// The port for Foxglove's protocol is not free.
    #[error(
        "no server of Foxglove's protocol at 127.0.0.1:{port}: {said}; choose another with --foxglove PORT"
    )]
    Foxglove {
        /// The port.
        port: u16,
        /// What the system said of it.
        said: String,
    },
    /// The machine refused something else.
    #[error("{what}: {source}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// The refusal.
        source: io::Error,
    },
}

/// A console that is served until it is dropped.
#[derive(Debug)]
pub struct Console {
    port: u16,
    token: String,
    house: Arc<House>,
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    foxglove: Option<Foxglove>,
}

impl Console {
    /// Serve `board` and let `desk` do what is asked.
    ///
    /// # Errors
    /// [`ConsoleError`] if no port is free, or the machine has no random numbers or threads.
    pub fn open(
        options: &ConsoleOptions,
        board: Arc<Board>,
        desk: Arc<dyn Desk>,
    ) -> Result<Self, ConsoleError> {
        let system = |what| move |source| ConsoleError::System { what, source };
        let token = random::token().map_err(system("random numbers for the token"))?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .thread_name("console-order")
            .build()
            .map_err(system("the console's runtime"))?;
        let (listener, port) = {
            let _inside = runtime.enter();
            listen(options.port)?
        };
        let house = Arc::new(House::new(board, desk, options.pages));
        let gate = Arc::new(Gate {
            token: token.clone(),
            port,
            house: Arc::clone(&house),
        });
        let (end, ended) = watch::channel(false);
        let connections = options.connections;
        let thread = std::thread::Builder::new()
            .name("console".into())
            .spawn(move || {
                realtime::yield_to_others();
                runtime.block_on(serve(listener, gate, connections, ended));
                // what a desk still waits for must not hold up the end of a session
                runtime.shutdown_background();
            })
            .map_err(system("the console's thread"))?;
        Ok(Self {
            port,
            token,
            house,
            end,
            thread: Some(thread),
            foxglove: None,
        })
    }

    /// Serve what it shows to viewers of Foxglove's protocol as well, until it is dropped; gives the port.
    ///
    /// # Errors
    /// [`ConsoleError`] if the port is not free or the machine has no threads.
    pub(crate) fn serve_foxglove(&mut self, port: u16) -> Result<u16, ConsoleError> {
        let house = Arc::clone(&self.house);
        let board = Arc::clone(house.board());
        let served = Foxglove::open(port, board, move |anybody| house.look(anybody))?;
        Ok(self.foxglove.insert(served).port())
    }

    /// Port that it listens at, on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its page is.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// What it shows.
    #[must_use]
    pub fn board(&self) -> &Board {
        self.house.board()
    }

    /// What was asked for so far, and how it was answered.
    #[must_use]
    pub fn log(&self) -> Vec<Logged> {
        self.house.log()
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        self.foxglove = None;
        self.end.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // it has no work but to leave
            let _ = thread.join();
        }
    }
}

/// Listen at the first free port from `first` on.
fn listen(first: u16) -> Result<(TcpListener, u16), ConsoleError> {
    let last = first.saturating_add(PORTS_TRIED - 1);
    let mut refusal = None;
    for port in first..=last {
        match listen_at(port) {
            Ok(listening) => return Ok(listening),
            Err(error) => refusal = Some(error),
        }
    }
    let source = refusal.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into());
    Err(ConsoleError::Ports {
        first,
        last,
        source,
    })
}

fn listen_at(port: u16) -> io::Result<(TcpListener, u16)> {
    let socket = TcpSocket::new_v4()?;
    // a port of a run that has just ended is free; one that is listened at is not
    socket.set_reuseaddr(true)?;
    // connections take it over
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)))?;
    let listener = socket.listen(WAITING)?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// What a request must pass.
struct Gate {
    token: String,
    port: u16,
    house: Arc<House>,
}

/// Accept connections until the end.
async fn serve(
    listener: TcpListener,
    gate: Arc<Gate>,
    connections: usize,
    mut ended: watch::Receiver<bool>,
) {
    let router = Router::new().fallback(answer).with_state(Arc::clone(&gate));
    let places = Arc::new(Semaphore::new(connections));
    let farewells = Arc::new(Semaphore::new(connections));
    loop {
        let accepted = tokio::select! {
            _ = ended.changed() => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // out of descriptors: others must close first
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        if let Ok(place) = Arc::clone(&places).try_acquire_owned() {
            let router = router.clone();
            tokio::spawn(async move {
                connection(stream, router).await;
                drop(place);
            });
        } else if let Ok(place) = Arc::clone(&farewells).try_acquire_owned() {
            tokio::spawn(async move {
                let _ = tokio::time::timeout(FAREWELL, turn_away(stream)).await;
                drop(place);
            });
        }
    }
    gate.house.close().await;
}

/// Serve the requests of one connection.
async fn connection(stream: TcpStream, router: Router) {
    // what waits is small and wanted at once
    let _ = stream.set_nodelay(true);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    // a connection that breaks off is its own business
    let _ = served.await;
}

/// Tell a connection beyond the limit that it is one.
async fn turn_away(mut stream: TcpStream) {
    const TEXT: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n\
        Content-Length: 22\r\nConnection: close\r\n\r\nToo many connections.\n";
    if stream.write_all(TEXT.as_bytes()).await.is_ok() && stream.shutdown().await.is_ok() {
        // what it still sends is read, or the answer would be lost with it
        let mut unread = [0; 1024];
        while matches!(stream.read(&mut unread).await, Ok(1..)) {}
    }
}

/// Answer a request.
async fn answer(
    State(gate): State<Arc<Gate>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let mut response = match gate.admit(&method, &uri, &headers) {
        Err((status, text)) => (status, text).into_response(),
        Ok("live") => gate.attend(socket, &headers),
        Ok(name) => match gate.house.resource(name) {
            Some((media_type, bytes)) => {
                ([(header::CONTENT_TYPE, media_type)], bytes).into_response()
            }
            None => page(name),
        },
    };
    gate.protect(response.headers_mut());
    response
}

type Refusal = (StatusCode, &'static str);

impl Gate {
    /// What the path names behind the token, if the request may be answered at all.
    fn admit<'a>(
        &self,
        method: &Method,
        uri: &'a Uri,
        headers: &HeaderMap,
    ) -> Result<&'a str, Refusal> {
        let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
        if !host.is_some_and(|host| self.hosts().iter().any(|own| own.as_bytes() == host)) {
            let text = "The console answers to 127.0.0.1 and localhost only.\n";
            return Err((StatusCode::MISDIRECTED_REQUEST, text));
        }
        if method != Method::GET && method != Method::HEAD {
            return Err((StatusCode::METHOD_NOT_ALLOWED, "GET only.\n"));
        }
        let path = uri.path().strip_prefix('/').unwrap_or_default();
        let (token, name) = path.split_once('/').unwrap_or((path, ""));
        if token.is_empty() || token == "favicon.ico" {
            let text =
                "The address of the console has the token of its run: see what palpate printed.\n";
            return Err((StatusCode::UNAUTHORIZED, text));
        }
        if !random::same(token, &self.token) {
            let text = "Not the token of this run: see what palpate printed.\n";
            return Err((StatusCode::FORBIDDEN, text));
        }
        if !path.contains('/') {
            return Err((StatusCode::NOT_FOUND, "The address ends with a slash.\n"));
        }
        Ok(name)
    }

    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port))
    }

    /// Let a page of this server look and ask.
    fn attend(
        &self,
        socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
        headers: &HeaderMap,
    ) -> Response {
        let origin = headers.get(header::ORIGIN).map(HeaderValue::as_bytes);
        let own = |origin: &[u8]| {
            let page = origin.strip_prefix(b"http://");
            page.is_some_and(|page| self.hosts().iter().any(|own| own.as_bytes() == page))
        };
        if !origin.is_some_and(own) {
            let text = "A console is opened by its own page only.\n";
            return (StatusCode::FORBIDDEN, text).into_response();
        }
        let socket = match socket {
            Ok(socket) => socket,
            Err(rejection) => return rejection.into_response(),
        };
        let Some(seat) = House::seat(&self.house) else {
            let text = "As many pages look at this session as may.\n";
            return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        };
        socket
            .max_message_size(MESSAGE_MAX)
            .max_frame_size(MESSAGE_MAX)
            .on_upgrade(move |socket| client::attend(socket, seat))
    }

    /// What a browser may do with an answer: nothing but show this page with what is beside it.
    fn protect(&self, headers: &mut HeaderMap) {
        let [ip, name] = self.hosts();
        let policy = format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
             connect-src 'self' ws://{ip} ws://{name}; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        );
        let fixed = |text| HeaderValue::from_static(text);
        let rows: [(HeaderName, HeaderValue); 6] = [
            (
                header::CONTENT_SECURITY_POLICY,
                // made of a number and fixed words
                HeaderValue::try_from(policy).unwrap_or(fixed("default-src 'none'")),
            ),
            (header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff")),
            (header::X_FRAME_OPTIONS, fixed("DENY")),
            (header::REFERRER_POLICY, fixed("no-referrer")),
            (header::CACHE_CONTROL, fixed("no-store")),
            (
                HeaderName::from_static("cross-origin-resource-policy"),
                fixed("same-origin"),
            ),
        ];
        headers.extend(rows);
    }
}

fn page(name: &str) -> Response {
    match asset::named(name) {
        Some(asset) => ([(header::CONTENT_TYPE, asset.media_type)], asset.bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "The console has no such file.\n").into_response(),
    }
}
