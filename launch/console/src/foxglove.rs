//! Foxglove WebSocket server of the shown state: on this host, off by default, behind [`super::viewer_gate`].
//!
//! The topics and messages of a session are those of its recording ([`topic`]). `/palpate/scene` shows the twin's
//! surface, the tool, the probe and the force on the hand as `foxglove.SceneUpdate`. A second session has the same
//! topics below `/beside`. Times are those of the ticks. A thread of low priority reads the newest state at a bounded
//! rate, only for subscribed topics, so no servo depends on it; viewers cannot change anything. Source: ours, by the
//! crate `foxglove`.

use core::time::Duration;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};

use axum::body::Bytes;
use foxglove::messages::SceneUpdate;
use foxglove::websocket::Capability;
use foxglove::{Channel, Context, PartialMetadata, RawChannel, Schema, WebSocketServerHandle};
use palpate_session::monitor::LatestState;
use palpate_session::monitor::latest_state::{LatestSessionState, SESSIONS_MAX};
use palpate_session::record::topic::{self, TopicEncoder};
use palpate_transport::msg::schema;
use palpate_transport::trace::{Side, TickRecord};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::ConsoleError;
use super::scene_update::{self, SceneSurface};
use super::server::ServerThread;
use super::viewer_gate::{ViewerGate, hidden_address};

/// Time between two messages of a topic.
const SEND_INTERVAL: Duration = Duration::from_millis(20);

/// Most surfaces per second, and most bytes of them per second: a large surface is sent less often.
const SCENES_HZ: f64 = 30.0;
const SCENE_BYTES_PER_S: f64 = 12e6;

/// Messages that wait for a slow viewer; older ones are dropped.
const BACKLOG: usize = 64;

/// Time after which unchanged data is sent again, for new viewers.
const RESEND_INTERVAL: Duration = Duration::from_secs(1);

/// Step back in time that is a seek and no jitter \[ns\].
const SEEK_BACK_NS: i64 = 50_000_000;

/// Server of viewers, until it is dropped.
#[derive(Debug)]
pub(super) struct Foxglove {
    /// Port on 127.0.0.1.
    pub(super) port: u16,
    _thread: ServerThread,
}

impl Foxglove {
    /// Serves `state` at a port of 127.0.0.1 to viewers with the `token`; `watch` receives true while surfaces are
    /// subscribed.
    ///
    /// # Errors
    /// [`ConsoleError::Foxglove`] if the port is taken, [`ConsoleError::System`] if no thread can be started.
    pub(super) fn open(
        port: u16,
        token: String,
        state: Arc<LatestState>,
        watch: impl Fn(bool) + Send + 'static,
    ) -> Result<Self, ConsoleError> {
        let runtime = ServerThread::runtime("the runtime of Foxglove's protocol")?;
        let (opened, bound) = mpsc::channel();
        let serve = move |ended| async move {
            let begun = begin(port, token).await;
            let _ = opened.send(begun.as_ref().map(|begun| begun.port).map_err(Clone::clone));
            if let Ok(begun) = begun {
                send_until(&begun, &state, &watch, ended).await;
                begun.gate.abort();
                begun.server.stop().wait().await;
            }
        };
        let what = "the thread of Foxglove's protocol";
        let served = ServerThread::spawn("foxglove", what, runtime, serve)?;
        let bound = bound.recv().unwrap_or(Err("its thread ended".into()));
        let port = bound.map_err(|reason| ConsoleError::Foxglove { port, reason })?;
        Ok(Self {
            port,
            _thread: served,
        })
    }
}

/// Server that is open.
struct OpenServer {
    context: Arc<Context>,
    server: WebSocketServerHandle,
    gate: tokio::task::JoinHandle<()>,
    /// Port of the gate.
    port: u16,
}

/// Opens the server and the gate before it; the reason if that fails.
async fn begin(port: u16, token: String) -> Result<OpenServer, String> {
    let words = |error: std::io::Error| error.to_string();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .map_err(words)?;
    let port = listener.local_addr().map_err(words)?.port();
    let hidden = hidden_address().map_err(words)?;
    let context = Context::new();
    let server = context
        .websocket_server()
        .name(concat!("palpate ", env!("CARGO_PKG_VERSION")))
        .bind(hidden.to_string(), 0)
        .capabilities([Capability::Time])
        .message_backlog_size(BACKLOG)
        .start()
        .await
        .map_err(|error| error.to_string())?;
    let gate = ViewerGate {
        token,
        port,
        server: SocketAddr::from((hidden, server.port())),
    };
    Ok(OpenServer {
        gate: tokio::spawn(gate.serve(listener)),
        context,
        server,
        port,
    })
}

/// Sends the state to viewers until the end.
async fn send_until(
    open: &OpenServer,
    state: &LatestState,
    watch: &impl Fn(bool),
    mut ended: watch::Receiver<bool>,
) {
    let mut sessions: Vec<SessionChannels> = Vec::new();
    let mut time = tokio::time::interval(SEND_INTERVAL);
    time.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut now_ns, mut watched) = (i64::MIN, false);
    let mut resent_at = tokio::time::Instant::now();
    loop {
        tokio::select! {
            _ = ended.changed() => break,
            _ = time.tick() => {}
        }
        for number in sessions.len()..SESSIONS_MAX {
            let session = state.session(number);
            // topics of a second session appear with it
            if number == 0 || session.has_records() {
                match SessionChannels::new(&open.context, number, session) {
                    Ok(new) => sessions.push(new),
                    Err(_) => break,
                }
            }
        }
        let resend = resent_at.elapsed() >= RESEND_INTERVAL;
        if resend {
            resent_at = tokio::time::Instant::now();
        }
        let epoch_ns = state.session(0).epoch_ns();
        let newest_ns = sessions.first().and_then(SessionChannels::newest_ns);
        let newest_ns = newest_ns.map(|now_ns| epoch_ns.saturating_add(now_ns));
        if let Some(newest_ns) = newest_ns.filter(|newest_ns| resend || *newest_ns != now_ns) {
            send_time(&open.server, &mut now_ns, newest_ns);
        }
        sessions
            .iter_mut()
            .enumerate()
            .for_each(|(number, one)| one.send_changes(resend, state.session(number).epoch_ns()));
        let subscribed = sessions.iter().any(|one| one.scene.has_sinks());
        if subscribed != watched {
            watched = subscribed;
            watch(subscribed);
        }
    }
}

/// Sends the time to viewers; a step back starts a new session for them, or they would keep later data.
fn send_time(server: &WebSocketServerHandle, now_ns: &mut i64, newest_ns: i64) {
    if newest_ns < now_ns.saturating_sub(SEEK_BACK_NS) {
        server.clear_session(None);
    }
    *now_ns = newest_ns;
    server.broadcast_time(newest_ns.max(0) as u64);
}

/// Channels of one session.
struct SessionChannels {
    records: watch::Receiver<[Option<TickRecord>; 2]>,
    sides: [Vec<(Arc<RawChannel>, TopicEncoder)>; 2],
    sent_ns: [Option<i64>; 2],
    scene: Channel<SceneUpdate>,
    mesh: watch::Receiver<Bytes>,
    surface: watch::Receiver<Bytes>,
    drawn: SceneSurface,
    /// Time of the last drawn ticks \[ns\].
    drawn_ns: Option<i64>,
    /// Time from which the next scene may be sent.
    next: tokio::time::Instant,
    bytes: Vec<u8>,
}

impl SessionChannels {
    fn new(
        context: &Arc<Context>,
        number: usize,
        session: &LatestSessionState,
    ) -> Result<Self, foxglove::FoxgloveError> {
        let prefix = if number == 0 { "" } else { "/beside" };
        let channels = |side: Side| {
            let open = |topic: topic::RecordedTopic| {
                let text = schema::ros2msg(topic.message);
                let schema = Schema::new(topic.message.name, topic::SCHEMA, text.into_bytes());
                let channel = context
                    .channel_builder(format!("{prefix}{}", topic.name))
                    .message_encoding(topic::ENCODING)
                    .schema(schema)
                    .build_raw()?;
                Ok::<_, foxglove::FoxgloveError>((channel, topic.encode))
            };
            topic::of(side)
                .into_iter()
                .map(open)
                .collect::<Result<Vec<_>, _>>()
        };
        let receivers = session.subscribe();
        Ok(Self {
            records: session.records(),
            sides: [channels(Side::Master)?, channels(Side::Slave)?],
            sent_ns: [None; 2],
            scene: context
                .channel_builder(format!("{prefix}/palpate/scene"))
                .build(),
            mesh: receivers.mesh,
            surface: receivers.surface,
            drawn: SceneSurface::default(),
            drawn_ns: None,
            next: tokio::time::Instant::now(),
            bytes: Vec::new(),
        })
    }

    /// Time of the newest tick \[ns\].
    fn newest_ns(&self) -> Option<i64> {
        let newest = self.records.borrow();
        newest.iter().flatten().map(|record| record.now_ns).max()
    }

    /// Sends changed records, or all if `resend`.
    fn send_changes(&mut self, resend: bool, epoch_ns: i64) {
        let newest = *self.records.borrow_and_update();
        if resend {
            (self.sent_ns, self.drawn_ns) = ([None; 2], None);
        }
        for record in newest.iter().flatten() {
            let sent = &mut self.sent_ns[record.side as usize];
            if *sent == Some(record.now_ns) {
                continue;
            }
            *sent = Some(record.now_ns);
            let at_ns = epoch_ns.saturating_add(record.now_ns);
            let at = PartialMetadata::with_log_time(at_ns.max(0) as u64);
            for (channel, encode) in &self.sides[record.side as usize] {
                if channel.has_sinks() && encode(record, epoch_ns, &mut self.bytes).is_ok() {
                    channel.log_with_meta(&self.bytes, at);
                }
            }
        }
        self.draw(&newest, epoch_ns);
    }

    /// Sends the scene, if it is subscribed, changed and due.
    fn draw(&mut self, newest: &[Option<TickRecord>; 2], epoch_ns: i64) {
        let now = tokio::time::Instant::now();
        let Some(at_ns) = newest.iter().flatten().map(|record| record.now_ns).max() else {
            return;
        };
        let at_ns = epoch_ns.saturating_add(at_ns);
        if !self.scene.has_sinks() || now < self.next {
            return;
        }
        let mut changed = self.drawn_ns != Some(at_ns);
        if self.mesh.has_changed().unwrap_or(false) {
            self.drawn.set_mesh(&self.mesh.borrow_and_update());
            changed = true;
        }
        if self.surface.has_changed().unwrap_or(false) {
            self.drawn.set_positions(&self.surface.borrow_and_update());
            changed = true;
        }
        if !changed {
            return;
        }
        self.drawn_ns = Some(at_ns);
        let update = scene_update::of(newest, &self.drawn, at_ns);
        let interval_s = (self.drawn.bytes() as f64 / SCENE_BYTES_PER_S).max(1.0 / SCENES_HZ);
        self.next = now + Duration::from_secs_f64(interval_s);
        let at = PartialMetadata::with_log_time(at_ns.max(0) as u64);
        self.scene.log_with_meta(&update, at);
    }
}
