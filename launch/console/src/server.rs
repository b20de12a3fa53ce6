//! HTTP server of the console: this host only, one token per run, and a clear status for every refusal.
//!
//! Every path begins with the token: `/TOKEN/` is the page, `/TOKEN/live` its WebSocket. No path maps to a file
//! (`asset`), so no traversal is possible. A request must name this host as its host, against DNS rebinding, and a
//! WebSocket must come from a page of this server. The server runs on one thread of low priority, so that no page
//! takes the processor from a servo. Source: ours.

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
use palpate_session::monitor::{LatestState, MonitorController};
use palpate_session::run::realtime;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use super::client::{self, OrderLogEntry, PageRegistry};
use super::foxglove::Foxglove;
use super::{asset, token};

/// Default port, from which a free one is searched.
pub const PORT: u16 = 7780;

/// Number of ports that are tried, from the first on.
const PORTS_TRIED: u16 = 20;

/// Bytes that wait in the system for a slow page: a second of states, or some surfaces.
const SEND_BUFFER: u32 = 256 * 1024;

/// Connections that wait to be accepted; the client of a connection beyond these retries only after a second.
const ACCEPT_BACKLOG: u32 = 1024;

/// Longest head of a request \[bytes\].
const HEAD_MAX: usize = 16 * 1024;

/// Time in which a connection must send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for the refusal of a connection beyond the limit.
const REFUSAL_TIMEOUT: Duration = Duration::from_millis(500);

/// Longest message of a page \[bytes\].
const MESSAGE_MAX: usize = 4096;

/// Options of a console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConsoleOptions {
    /// First port to try.
    pub port: u16,
    /// Connections at once; open WebSockets of pages are counted separately.
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

/// Failure to open a console.
#[derive(Debug, thiserror::Error)]
pub enum ConsoleError {
    /// No port is free.
    #[error(
        "no port from {first} to {last} is free on 127.0.0.1: {source}; choose another with --console-port"
    )]
    Ports {
        /// First port that was tried.
        first: u16,
        /// Last port that was tried.
        last: u16,
        /// Error of the system.
        source: io::Error,
    },
    /// The port for Foxglove's protocol is not free.
    #[error(
        "cannot serve Foxglove's protocol at 127.0.0.1:{port}: {reason}; choose another port \
         with --foxglove PORT"
    )]
    Foxglove {
        /// The port.
        port: u16,
        /// Error of the system.
        reason: String,
    },
    /// Another refusal of the machine.
    #[error("{what}: {source}")]
    System {
        /// The requested resource.
        what: &'static str,
        /// The refusal.
        source: io::Error,
    },
}

/// A thread of low priority that serves until it is dropped.
#[derive(Debug)]
pub(super) struct ServerThread {
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl ServerThread {
    /// Spawns a thread that runs `serve` on a runtime of one thread, until its receiver changes; `what` names it in
    /// errors.
    ///
    /// # Errors
    /// [`ConsoleError::System`] if no thread can be started.
    pub(super) fn spawn<S: Future<Output = ()>>(
        name: &'static str,
        what: &'static str,
        runtime: Runtime,
        serve: impl FnOnce(watch::Receiver<bool>) -> S + Send + 'static,
    ) -> Result<Self, ConsoleError> {
        let (end, ended) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                realtime::lower_priority();
                runtime.block_on(serve(ended));
                // an order that still runs must not delay the end of a session
                runtime.shutdown_background();
            });
        let thread = thread.map_err(|source| ConsoleError::System { what, source })?;
        Ok(Self {
            end,
            thread: Some(thread),
        })
    }

    /// Returns a runtime; `what` names it in errors.
    ///
    /// # Errors
    /// [`ConsoleError::System`] if the system has none.
    pub(super) fn runtime(what: &'static str) -> Result<Runtime, ConsoleError> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .thread_name("console-order")
            .build()
            .map_err(|source| ConsoleError::System { what, source })
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        self.end.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // an error of the thread changes nothing here: the console ends in any case
            let _ = thread.join();
        }
    }
}

/// A console that is served until it is dropped; its Foxglove server ends first.
#[derive(Debug)]
pub struct Console {
    foxglove: Option<Foxglove>,
    gate: Arc<Gate>,
    _server: ServerThread,
}

impl Console {
    /// Serves `state`, with `controller` executing the orders.
    ///
    /// # Errors
    /// [`ConsoleError`] if no port is free, or the machine has no random numbers or threads.
    pub fn open(
        options: &ConsoleOptions,
        state: Arc<LatestState>,
        controller: Arc<dyn MonitorController>,
    ) -> Result<Self, ConsoleError> {
        let token = token::generate().map_err(|source| ConsoleError::System {
            what: "random numbers for the token",
            source,
        })?;
        let runtime = ServerThread::runtime("the console's runtime")?;
        let (listener, port) = {
            let _inside = runtime.enter();
            listen(options.port)?
        };
        let gate = Arc::new(Gate {
            token,
            port,
            registry: Arc::new(PageRegistry::new(state, controller, options.pages)),
        });
        let (served, connections) = (Arc::clone(&gate), options.connections);
        let serve = move |ended| serve(listener, served, connections, ended);
        Ok(Self {
            foxglove: None,
            gate,
            _server: ServerThread::spawn("console", "the console's thread", runtime, serve)?,
        })
    }

    /// Serves the state to viewers of Foxglove's protocol as well, until it is dropped; returns their address.
    ///
    /// # Errors
    /// [`ConsoleError`] if the port is not free or the machine has no threads.
    pub(crate) fn serve_foxglove(&mut self, port: u16) -> Result<String, ConsoleError> {
        let registry = Arc::clone(&self.gate.registry);
        let state = Arc::clone(&registry.latest_state);
        let token = &self.gate.token;
        let watch = move |present| registry.set_viewers(present);
        let served = Foxglove::open(port, token.clone(), state, watch)?;
        let address = format!("ws://127.0.0.1:{}/{token}", served.port);
        self.foxglove = Some(served);
        Ok(address)
    }

    /// Returns its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.gate.port
    }

    /// Returns the address of its page.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.gate.port, self.gate.token)
    }

    /// Returns the shown state.
    #[must_use]
    pub fn latest_state(&self) -> &LatestState {
        &self.gate.registry.latest_state
    }

    /// Returns the orders so far, with their answers.
    #[must_use]
    pub fn log(&self) -> Vec<OrderLogEntry> {
        client::lock(&self.gate.registry.log).clone()
    }
}

/// Listens at the first free port from `first` on.
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
    // a port of a run that has just ended is free; one in use is not
    socket.set_reuseaddr(true)?;
    // connections inherit it
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)))?;
    let listener = socket.listen(ACCEPT_BACKLOG)?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Conditions that a request must meet, and the pages that it reaches.
#[derive(Debug)]
struct Gate {
    token: String,
    port: u16,
    registry: Arc<PageRegistry>,
}

/// Accepts connections until the end.
async fn serve(
    listener: TcpListener,
    gate: Arc<Gate>,
    connections: usize,
    mut ended: watch::Receiver<bool>,
) {
    let router = Router::new().fallback(answer).with_state(Arc::clone(&gate));
    let slots = Arc::new(Semaphore::new(connections));
    let refusals = Arc::new(Semaphore::new(connections));
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
        if let Ok(slot) = Arc::clone(&slots).try_acquire_owned() {
            let router = router.clone();
            tokio::spawn(async move {
                connection(stream, router).await;
                drop(slot);
            });
        } else if let Ok(slot) = Arc::clone(&refusals).try_acquire_owned() {
            tokio::spawn(async move {
                let _ = tokio::time::timeout(REFUSAL_TIMEOUT, turn_away(stream)).await;
                drop(slot);
            });
        }
    }
    gate.registry.close().await;
}

/// Serves the requests of one connection.
async fn connection(stream: TcpStream, router: Router) {
    // messages are small and urgent
    let _ = stream.set_nodelay(true);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .with_upgrades();
    // an interrupted connection is no error of the server
    let _ = served.await;
}

/// Refuses a connection beyond the limit.
async fn turn_away(mut stream: TcpStream) {
    const TEXT: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\n\
        Content-Length: 22\r\nConnection: close\r\n\r\nToo many connections.\n";
    if stream.write_all(TEXT.as_bytes()).await.is_ok() && stream.shutdown().await.is_ok() {
        // unread input would discard the answer
        let mut unread = [0; 1024];
        while matches!(stream.read(&mut unread).await, Ok(1..)) {}
    }
}

/// Answers a request.
async fn answer(
    State(gate): State<Arc<Gate>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    socket: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let mut response = match gate.admit(&method, &uri, &headers) {
        Err((status, text)) => (status, text).into_response(),
        Ok("live") => gate.open_socket(socket, &headers),
        Ok(name) => match gate.registry.resource(name).or_else(|| asset::named(name)) {
            Some((media_type, bytes)) => {
                ([(header::CONTENT_TYPE, media_type)], bytes).into_response()
            }
            None => (StatusCode::NOT_FOUND, "The console has no such file.\n").into_response(),
        },
    };
    gate.protect(response.headers_mut());
    response
}

type Refusal = (StatusCode, &'static str);

impl Gate {
    /// Returns the name after the token, if the request is allowed.
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
            return Err((StatusCode::METHOD_NOT_ALLOWED, "GET and HEAD only.\n"));
        }
        let path = uri.path().strip_prefix('/').unwrap_or_default();
        let (token, name) = path.split_once('/').unwrap_or((path, ""));
        if token.is_empty() || token == "favicon.ico" {
            let text = "The address of the console must contain the token of its run: see what \
                        palpate printed.\n";
            return Err((StatusCode::UNAUTHORIZED, text));
        }
        if !token::constant_time_eq(token, &self.token) {
            let text = "Not the token of this run: see what palpate printed.\n";
            return Err((StatusCode::FORBIDDEN, text));
        }
        if !path.contains('/') {
            let text = "The address must end with a slash.\n";
            return Err((StatusCode::NOT_FOUND, text));
        }
        Ok(name)
    }

    fn hosts(&self) -> [String; 2] {
        ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port))
    }

    /// Opens the WebSocket of a page of this server.
    fn open_socket(
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
            let text = "Only the console's own page may open its WebSocket.\n";
            return (StatusCode::FORBIDDEN, text).into_response();
        }
        let socket = match socket {
            Ok(socket) => socket,
            Err(rejection) => return rejection.into_response(),
        };
        let Some((connection, queue)) = PageRegistry::connect(&self.registry) else {
            let text = "The limit of pages of this session is reached.\n";
            return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        };
        socket
            .max_message_size(MESSAGE_MAX)
            .max_frame_size(MESSAGE_MAX)
            .on_upgrade(move |socket| client::serve_page(socket, connection, queue))
    }

    /// Adds headers that restrict the browser to this page and its files.
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
                // cannot fail: the policy is fixed text, hosts and a port number
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
