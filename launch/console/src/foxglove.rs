//! What the console shows, for viewers that speak Foxglove's WebSocket protocol: on this host, off unless asked for.
//!
//! The topics and messages of a session are those of its recording ([`topic`]); `/palpate/scene` is what there is to be
//! seen, as `foxglove.SceneUpdate`: the twin's surface, the tool, the probe, the force on the hand. A second session
//! has the same below `/beside`. Times are those of the ticks. The newest is taken from the board, on a thread of low
//! priority, at a bounded rate and only where a viewer has subscribed, so no servo knows of it; viewers may look and
//! change nothing. Source: ours, by the crate `foxglove`.

use core::time::Duration;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use axum::body::Bytes;
use foxglove::messages::SceneUpdate;
use foxglove::websocket::Capability;
use foxglove::{Channel, Context, PartialMetadata, RawChannel, Schema, WebSocketServerHandle};
use palpate_session::monitor::Board;
use palpate_session::monitor::board::{PLACES, Place};
use palpate_session::record::topic::{self, Encode};
use palpate_session::run::realtime;
use palpate_transport::msg::schema;
use palpate_transport::trace::{Side, TickRecord};
use tokio::sync::watch;

use super::ConsoleError;
use super::scene_update::{self, Surface};

/// Time between two messages of a topic.
const EVERY: Duration = Duration::from_millis(20);

/// Surfaces a second at most, and bytes of them: a large surface comes more seldom.
const SCENES_HZ: f64 = 30.0;
const SCENE_BYTES_PER_S: f64 = 12e6;

/// Messages that wait for a viewer that does not read; older ones are dropped.
const BACKLOG: usize = 64;

/// Time after which what has not changed is told again, to whoever has come since.
const AGAIN: Duration = Duration::from_secs(1);

/// A step back in time that is a seek and no jitter \[ns\].
const BACK_NS: i64 = 50_000_000;

/// Serves viewers until it is dropped.
#[derive(Debug)]
pub(super) struct Foxglove {
    port: u16,
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Foxglove {
    /// Serve `board` at a port of 127.0.0.1; `watch` is told whether anybody looks at surfaces.
    ///
    /// # Errors
    /// [`ConsoleError::Foxglove`] if the port is taken, [`ConsoleError::System`] if there is no thread.
    pub(super) fn open(
        port: u16,
        board: Arc<Board>,
        watch: impl Fn(bool) + Send + 'static,
    ) -> Result<Self, ConsoleError> {
        let system = |what| move |source| ConsoleError::System { what, source };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(system("the runtime of Foxglove's protocol"))?;
        let (end, ended) = watch::channel(false);
        let (opened, known) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("foxglove".into())
            .spawn(move || {
                realtime::yield_to_others();
                runtime.block_on(serve(port, &board, &watch, ended, &opened));
                runtime.shutdown_background();
            })
            .map_err(system("the thread of Foxglove's protocol"))?;
        let refused = |said: String| ConsoleError::Foxglove { port, said };
        let known = known
            .recv()
            .map_err(|_| refused("its thread ended".into()))?;
        Ok(Self {
            port: known.map_err(refused)?,
            end,
            thread: Some(thread),
        })
    }

    /// Port that it listens at, on 127.0.0.1.
    #[must_use]
    pub(super) fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Foxglove {
    fn drop(&mut self) {
        self.end.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // it has no work but to leave
            let _ = thread.join();
        }
    }
}

async fn serve(
    port: u16,
    board: &Board,
    watch: &impl Fn(bool),
    mut ended: watch::Receiver<bool>,
    opened: &mpsc::Sender<Result<u16, String>>,
) {
    let context = Context::new();
    let server = context
        .websocket_server()
        .name(concat!("palpate ", env!("CARGO_PKG_VERSION")))
        .bind("127.0.0.1", port)
        .capabilities([Capability::Time])
        .message_backlog_size(BACKLOG)
        .start()
        .await;
    let server = match server {
        Ok(server) => server,
        Err(error) => {
            let _ = opened.send(Err(error.to_string()));
            return;
        }
    };
    let _ = opened.send(Ok(server.port()));
    let mut shown: Vec<Shown> = Vec::new();
    let mut time = tokio::time::interval(EVERY);
    time.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut now_ns, mut looked) = (i64::MIN, false);
    let mut told_all = tokio::time::Instant::now();
    loop {
        tokio::select! {
            _ = ended.changed() => break,
            _ = time.tick() => {}
        }
        for number in shown.len()..PLACES {
            let place = board.place(number);
            // topics of a second session are there when it is
            if number == 0 || place.has_records() {
                match Shown::new(&context, number, place) {
                    Ok(new) => shown.push(new),
                    Err(_) => break,
                }
            }
        }
        let again = told_all.elapsed() >= AGAIN;
        if again {
            told_all = tokio::time::Instant::now();
        }
        let newest_ns = shown.first().and_then(Shown::newest_ns);
        if let Some(newest_ns) = newest_ns.filter(|newest_ns| again || *newest_ns != now_ns) {
            tell_time(&server, &mut now_ns, newest_ns);
        }
        shown.iter_mut().for_each(|one| one.tell(again));
        let looks = shown.iter().any(|one| one.scene.has_sinks());
        if looks != looked {
            looked = looks;
            watch(looks);
        }
    }
    server.stop().wait().await;
}

/// Tell viewers the time; one that went back is a new session to them, or they would keep what was later.
fn tell_time(server: &WebSocketServerHandle, now_ns: &mut i64, newest_ns: i64) {
    if newest_ns < now_ns.saturating_sub(BACK_NS) {
        server.clear_session(None);
    }
    *now_ns = newest_ns;
    server.broadcast_time(newest_ns.max(0) as u64);
}

/// What viewers are told of one session.
struct Shown {
    records: watch::Receiver<[Option<TickRecord>; 2]>,
    sides: [Vec<(Arc<RawChannel>, Encode)>; 2],
    told: [Option<i64>; 2],
    scene: Channel<SceneUpdate>,
    mesh: watch::Receiver<Bytes>,
    surface: watch::Receiver<Bytes>,
    drawn: Surface,
    /// Time of the ticks that were drawn last \[ns\].
    drawn_ns: Option<i64>,
    /// When the next scene may be told.
    next: tokio::time::Instant,
    bytes: Vec<u8>,
}

impl Shown {
    fn new(
        context: &Arc<Context>,
        number: usize,
        place: &Place,
    ) -> Result<Self, foxglove::FoxgloveError> {
        let below = if number == 0 { "" } else { "/beside" };
        let channels = |side: Side| {
            let open = |topic: topic::Topic| {
                let text = schema::ros2msg(topic.message);
                let schema = Schema::new(topic.message.name, topic::SCHEMA, text.into_bytes());
                let channel = context
                    .channel_builder(format!("{below}{}", topic.name))
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
        Ok(Self {
            records: place.records(),
            sides: [channels(Side::Master)?, channels(Side::Slave)?],
            told: [None; 2],
            scene: context
                .channel_builder(format!("{below}/palpate/scene"))
                .build(),
            mesh: place.mesh_sent(),
            surface: place.surface_sent(),
            drawn: Surface::default(),
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

    /// Tell what has changed, or all `again`.
    fn tell(&mut self, again: bool) {
        let newest = *self.records.borrow_and_update();
        if again {
            (self.told, self.drawn_ns) = ([None; 2], None);
        }
        for record in newest.iter().flatten() {
            let told = &mut self.told[record.side as usize];
            if *told == Some(record.now_ns) {
                continue;
            }
            *told = Some(record.now_ns);
            let at = PartialMetadata::with_log_time(record.now_ns.max(0) as u64);
            for (channel, encode) in &self.sides[record.side as usize] {
                if channel.has_sinks() && encode(record, &mut self.bytes).is_ok() {
                    channel.log_with_meta(&self.bytes, at);
                }
            }
        }
        self.draw(&newest);
    }

    /// Tell what is to be seen, if anybody looks and it is time.
    fn draw(&mut self, newest: &[Option<TickRecord>; 2]) {
        let now = tokio::time::Instant::now();
        let Some(at_ns) = newest.iter().flatten().map(|record| record.now_ns).max() else {
            return;
        };
        if !self.scene.has_sinks() || now < self.next {
            return;
        }
        let mut changed = self.drawn_ns != Some(at_ns);
        if self.mesh.has_changed().unwrap_or(false) {
            self.drawn.mesh(&self.mesh.borrow_and_update());
            changed = true;
        }
        if self.surface.has_changed().unwrap_or(false) {
            self.drawn.moved(&self.surface.borrow_and_update());
            changed = true;
        }
        if !changed {
            return;
        }
        self.drawn_ns = Some(at_ns);
        let update = scene_update::of(newest, &self.drawn, at_ns);
        let every_s = (self.drawn.bytes() as f64 / SCENE_BYTES_PER_S).max(1.0 / SCENES_HZ);
        self.next = now + Duration::from_secs_f64(every_s);
        let at = PartialMetadata::with_log_time(at_ns.max(0) as u64);
        self.scene.log_with_meta(&update, at);
    }
}
