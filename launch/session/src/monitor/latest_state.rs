//! Latest state of a session, encoded for any number of console pages.
//!
//! Writers never wait for a reader. A slow page gets the newest state when it reads again, and loses the states
//! between. There is room for two sessions side by side, of which most uses need the first; [`PageMessage`]s
//! describe them. Source: ours.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use bytes::Bytes;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::trace::{self, TickRecord};
use tokio::sync::watch;

use super::blinding;
use super::controller::lock;
use super::wire::{self, FrameMesh, PageFrameKind};
use crate::record::host_epoch_ns;

/// Silence after which the operator's side is no longer waited for \[s\].
const SILENT_S: f64 = 0.1;

/// Most sessions shown side by side.
pub const SESSIONS_MAX: usize = 2;

/// Latest state of all sessions that are shown.
#[derive(Debug)]
pub struct LatestState {
    sessions: [LatestSessionState; SESSIONS_MAX],
    messages: [watch::Sender<String>; 2],
    facts: watch::Sender<serde_json::Value>,
}

/// Kind of a message to every page; only the newest of each kind is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMessage {
    /// Content that is shown.
    Content = 0,
    /// Position of a playback or a rehearsal.
    Position = 1,
}

/// Latest state of one session.
#[derive(Debug)]
pub struct LatestSessionState {
    /// Number of the session, part of every frame.
    number: u8,
    blocks: Mutex<StateBlocks>,
    state: watch::Sender<Bytes>,
    surface: watch::Sender<Bytes>,
    mesh: watch::Sender<Bytes>,
    records: watch::Sender<[Option<TickRecord>; 2]>,
    /// ROS time at which the clock of the records reads 0 \[ns\].
    epoch_ns: AtomicI64,
    /// True to hide the fields that reveal the condition of a trial.
    blind: bool,
}

#[derive(Debug)]
struct StateBlocks {
    /// Block of each side.
    sides: [[u8; 8 * wire::FIELDS]; 2],
    /// Time of the last state of the operator's side \[s\].
    last_state_s: f64,
    states: u32,
    surfaces: u32,
    mesh: FrameMesh,
}

/// Receivers of a page.
pub struct StateReceivers {
    /// Receivers of each session.
    pub sessions: [SessionReceivers; SESSIONS_MAX],
    /// Receivers of the messages, by kind.
    pub messages: [watch::Receiver<String>; 2],
    /// Session facts, sent when a page connects and when they change.
    pub facts: watch::Receiver<serde_json::Value>,
}

/// Receivers of one session.
pub struct SessionReceivers {
    /// Blocks of both sides.
    pub state: watch::Receiver<Bytes>,
    /// Present positions of the surface.
    pub surface: watch::Receiver<Bytes>,
    /// Rest positions and faces.
    pub mesh: watch::Receiver<Bytes>,
}

impl LatestState {
    /// Returns an empty state; `facts` describes the session to a page that connects.
    #[must_use]
    pub fn new(facts: serde_json::Value) -> Self {
        Self::with_blinding(facts, false)
    }

    /// Returns an empty state of a trial, which hides the condition from every page.
    #[must_use]
    pub fn blinded(facts: serde_json::Value) -> Self {
        Self::with_blinding(facts, true)
    }

    fn with_blinding(facts: serde_json::Value, blind: bool) -> Self {
        Self {
            sessions: [0, 1].map(|number| LatestSessionState::new(number, blind)),
            messages: [const { String::new() }; 2].map(watch::Sender::new),
            facts: watch::Sender::new(facts),
        }
    }

    /// Session facts.
    #[must_use]
    pub fn facts(&self) -> serde_json::Value {
        self.facts.borrow().clone()
    }

    /// Replaces the session facts for every page.
    pub fn set_facts(&self, facts: serde_json::Value) {
        self.facts.send_replace(facts);
    }

    /// Changes the session facts for every page.
    pub(crate) fn update_facts(&self, change: impl FnOnce(&mut serde_json::Value)) {
        self.facts.send_modify(change);
    }

    /// Announces to every page that the session has ended and its files are being written to this folder.
    pub fn announce_end(&self, folder: &Path) {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
        let folder = folder.display().to_string();
        self.update_facts(|facts| facts["ending"] = serde_json::json!({ "folder": folder }));
    }

    /// Announces to every page whether the link of the session is secured.
    pub fn announce_security(&self, secured: bool) {
        self.update_facts(|facts| facts["secured"] = secured.into());
    }

    /// State of a session: the first, or the second for any other number.
    #[must_use]
    pub fn session(&self, number: usize) -> &LatestSessionState {
        &self.sessions[number.min(SESSIONS_MAX - 1)]
    }

    /// Sends a message to every page; it replaces the last of its kind.
    pub fn send_message(&self, kind: PageMessage, value: &serde_json::Value) {
        self.messages[kind as usize].send_replace(value.to_string());
    }

    /// Subscribes a page; the present state counts as unread.
    pub fn subscribe(&self) -> StateReceivers {
        StateReceivers {
            sessions: self.sessions.each_ref().map(LatestSessionState::subscribe),
            messages: self.messages.each_ref().map(subscribe_unread),
            facts: self.facts.subscribe(),
        }
    }
}

/// Receiver to which the present value is unread.
fn subscribe_unread<T>(sender: &watch::Sender<T>) -> watch::Receiver<T> {
    let mut receiver = sender.subscribe();
    receiver.mark_changed();
    receiver
}

impl LatestSessionState {
    fn new(number: u8, blind: bool) -> Self {
        Self {
            number,
            blind,
            epoch_ns: AtomicI64::new(host_epoch_ns()),
            blocks: Mutex::new(StateBlocks {
                sides: [[0; 8 * wire::FIELDS]; 2],
                last_state_s: f64::NEG_INFINITY,
                states: 0,
                surfaces: 0,
                mesh: FrameMesh::default(),
            }),
            state: watch::Sender::new(Bytes::new()),
            surface: watch::Sender::new(Bytes::new()),
            mesh: watch::Sender::new(Bytes::new()),
            records: watch::Sender::new([None; 2]),
        }
    }

    /// Publishes a record as the newest of its side.
    pub fn record(&self, record: &TickRecord) {
        if !self.blind {
            self.records
                .send_modify(|newest| newest[record.side as usize] = Some(*record));
        }
    }

    /// True if records have a reader, so that they must be produced; never in a trial.
    pub(crate) fn wants_records(&self) -> bool {
        !self.blind && self.records.receiver_count() > 0
    }

    /// Sets the ROS time at which the clock of the records reads 0 \[ns\]; before, it is that of this host.
    pub fn set_epoch_ns(&self, epoch_ns: i64) {
        self.epoch_ns.store(epoch_ns, Ordering::Relaxed);
    }

    /// ROS time at which the clock of the records reads 0 \[ns\].
    #[must_use]
    pub fn epoch_ns(&self) -> i64 {
        self.epoch_ns.load(Ordering::Relaxed)
    }

    /// True if there is any record.
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.records.borrow().iter().any(Option::is_some)
    }

    /// Receiver of the newest records of both sides.
    #[must_use]
    pub fn records(&self) -> watch::Receiver<[Option<TickRecord>; 2]> {
        self.records.subscribe()
    }

    /// Shows a side, by its block ([`wire::SideView::block`]). Pages receive it with the operator's side, or at
    /// once while that side is silent.
    pub fn show(&self, side: trace::Side, block: &[u8; 8 * wire::FIELDS]) {
        let now_s = now_s();
        let mut blocks = lock(&self.blocks);
        blocks.sides[side as usize] = *block;
        if self.blind {
            blinding::hide_condition(side, &mut blocks.sides[side as usize]);
        }
        if side == trace::Side::Master {
            blocks.last_state_s = now_s;
        } else if now_s - blocks.last_state_s < SILENT_S {
            return;
        }
        blocks.states = blocks.states.wrapping_add(1);
        let no_mesh = FrameMesh::default();
        let mut bytes = self.begun(PageFrameKind::State, blocks.states, no_mesh);
        blocks.sides.iter().for_each(|block| bytes.extend(block));
        self.state.send_replace(bytes.into());
    }

    /// Shows a new surface: rest positions \[m\] and faces.
    pub fn show_mesh(&self, rest_m: &[[f32; 3]], faces: &[[u32; 3]]) {
        let mut bytes = wire::flat(rest_m, f32::to_le_bytes);
        bytes.extend(wire::flat(faces, u32::to_le_bytes));
        self.put_mesh(rest_m.len(), &bytes);
    }

    /// Shows a new surface from encoded nodes and faces; ignores a message that is cut short.
    pub(super) fn put_mesh(&self, nodes: usize, sent: &[u8]) {
        let Some(faces) = (sent.len() / wire::THREE).checked_sub(nodes) else {
            return;
        };
        let mut blocks = lock(&self.blocks);
        let revision = blocks.mesh.revision.wrapping_add(1);
        blocks.mesh = FrameMesh {
            revision,
            nodes: nodes as u32,
            faces: faces as u32,
        };
        let mut bytes = self.begun(PageFrameKind::Mesh, revision, blocks.mesh);
        bytes.extend(&sent[..wire::THREE * (nodes + faces)]);
        self.mesh.send_replace(bytes.into());
    }

    /// Shows present positions of the surface's nodes \[m\]; ignores them if their number differs from the mesh.
    pub fn show_surface(&self, positions_m: &[[f32; 3]]) {
        self.put_surface(&wire::flat(positions_m, f32::to_le_bytes));
    }

    /// Shows present positions, encoded.
    pub(super) fn put_surface(&self, sent: &[u8]) {
        let mut blocks = lock(&self.blocks);
        if sent.len() != wire::THREE * blocks.mesh.nodes as usize {
            return;
        }
        blocks.surfaces = blocks.surfaces.wrapping_add(1);
        let mut bytes = self.begun(PageFrameKind::Surface, blocks.surfaces, blocks.mesh);
        bytes.extend(sent);
        self.surface.send_replace(bytes.into());
    }

    /// Subscribes; the present state counts as unread.
    #[must_use]
    pub fn subscribe(&self) -> SessionReceivers {
        SessionReceivers {
            state: subscribe_unread(&self.state),
            surface: subscribe_unread(&self.surface),
            mesh: subscribe_unread(&self.mesh),
        }
    }

    /// Starts a frame of this session, made now, with its header; a state has no mesh.
    fn begun(&self, kind: PageFrameKind, number: u32, mesh: FrameMesh) -> Vec<u8> {
        wire::begin_frame(kind, self.number, number, mesh, now_s())
    }
}

fn now_s() -> f64 {
    MonotonicClock.now().0 as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_state() -> LatestState {
        LatestState::new(serde_json::Value::Null)
    }

    #[test]
    fn page_reads_only_the_newest_state() {
        let latest_state = empty_state();
        let mut receivers = latest_state.subscribe();
        for tick in 0..5_u8 {
            let mut block = [0; 8 * wire::FIELDS];
            block[0] = tick;
            latest_state.session(0).show(trace::Side::Slave, &block);
            latest_state.session(0).show(trace::Side::Master, &block);
        }
        let state = receivers.sessions[0].state.borrow_and_update().clone();
        assert_eq!(state.len(), wire::HEADER + 16 * wire::FIELDS);
        let second = wire::HEADER + 8 * wire::FIELDS;
        assert_eq!((state[wire::HEADER], state[second]), (4, 4));
        assert!(!receivers.sessions[0].state.has_changed().expect("open"));
        // the remote side alone is sent while the other is silent, and not twice beside it
        assert_eq!(state[8..12], 6_u32.to_le_bytes());
    }

    #[test]
    fn surface_needs_a_matching_mesh() {
        let latest_state = empty_state();
        latest_state.session(0).show_surface(&[[0.0; 3]]);
        assert!(
            latest_state.subscribe().sessions[0]
                .surface
                .borrow()
                .is_empty(),
            "no mesh yet"
        );
        latest_state
            .session(0)
            .show_mesh(&[[0.0; 3], [1.0; 3], [2.0; 3]], &[[0, 1, 2]]);
        latest_state.session(0).put_mesh(4, &[0; 36]);
        latest_state.session(0).show_surface(&[[0.5; 3]; 3]);
        latest_state.session(0).show_surface(&[[0.5; 3]; 2]);
        let [receivers, second] = latest_state.subscribe().sessions;
        assert!(second.mesh.borrow().is_empty());
        let (mesh, surface) = (receivers.mesh.borrow(), receivers.surface.borrow());
        assert_eq!(mesh.len(), wire::HEADER + 36 + 12);
        assert_eq!(surface.len(), wire::HEADER + 36);
        assert_eq!(mesh[20..24], surface[20..24]);
        assert_eq!(surface[8..12], 1_u32.to_le_bytes());
    }

    #[test]
    fn sessions_have_separate_frames_and_newest_messages() {
        let latest_state = empty_state();
        latest_state
            .session(0)
            .show_mesh(&[[0.0; 3]; 3], &[[0, 1, 2]]);
        latest_state
            .session(1)
            .show_mesh(&[[0.0; 3]; 4], &[[0, 1, 2]]);
        latest_state.send_message(PageMessage::Position, &serde_json::json!({"at": 1}));
        latest_state.send_message(PageMessage::Position, &serde_json::json!({"at": 2}));
        let receivers = latest_state.subscribe();
        let [first, second] = receivers
            .sessions
            .each_ref()
            .map(|at| at.mesh.borrow().clone());
        assert_eq!(first[6..8], [3, 0]);
        assert_eq!(second[6..8], [3, 1]);
        assert_eq!(second[12..16], 4_u32.to_le_bytes());
        assert_eq!(*receivers.messages[1].borrow(), "{\"at\":2}");
        assert!(receivers.messages[0].borrow().is_empty());
    }
}
