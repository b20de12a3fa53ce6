//! What a console shows: the newest of everything, ready to be sent, for as many pages as look.
//!
//! Whoever shows writes, and never waits for a reader; a page that is slow finds the newest when it looks again,
//! and what it missed is gone. A board has places for two sessions beside each other, of which most use the first;
//! [`Word`]s are what is said of them. Source: ours.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use palpate_transport::clock::{Clock as _, MonotonicClock};
use palpate_transport::trace::{self, TickRecord};
use tokio::sync::watch;

use super::blind;
use super::wire::{self, Header, Kind};

/// Time after which a side that was silent is not waited for \[s\].
const SILENT_S: f64 = 0.1;

/// Sessions that a board can show beside each other.
pub const PLACES: usize = 2;

/// The newest of all that is shown.
#[derive(Debug)]
pub struct Board {
    places: [Place; PLACES],
    words: [watch::Sender<String>; 2],
    facts: watch::Sender<serde_json::Value>,
}

/// A word to every page, which hears the newest of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// What is shown.
    Whole = 0,
    /// Where it stands.
    Moment = 1,
}

/// The newest of one session.
#[derive(Debug)]
pub struct Place {
    /// Its number, which every frame of it has.
    number: u8,
    shown: Mutex<Shown>,
    state: watch::Sender<Bytes>,
    surface: watch::Sender<Bytes>,
    mesh: watch::Sender<Bytes>,
    records: watch::Sender<[Option<TickRecord>; 2]>,
    /// Whether what tells the condition of a trial is hidden.
    blind: bool,
}

#[derive(Debug)]
struct Shown {
    blocks: [[u8; 8 * wire::FIELDS]; 2],
    /// When the operator's side spoke last \[s\].
    spoke_s: f64,
    states: u32,
    surfaces: u32,
    /// Revision, nodes and faces of the mesh.
    mesh: (u32, u32, u32),
}

/// What a page that looks is given to read.
pub struct Looks {
    /// Of each place.
    pub places: [LooksAt; PLACES],
    /// The words, by their kind.
    pub words: [watch::Receiver<String>; 2],
    /// What the session is, told when a page comes and when it is another.
    pub facts: watch::Receiver<serde_json::Value>,
}

/// The same of one session.
pub struct LooksAt {
    /// The block of both sides.
    pub state: watch::Receiver<Bytes>,
    /// Positions of the surface now.
    pub surface: watch::Receiver<Bytes>,
    /// Rest positions and faces.
    pub mesh: watch::Receiver<Bytes>,
}

impl Board {
    /// An empty board; `facts` is what a page is told of the session when it comes.
    #[must_use]
    pub fn new(facts: serde_json::Value) -> Self {
        Self::of((facts, false))
    }

    /// The same for a trial: no page is sent what tells its condition.
    #[must_use]
    pub fn blinded(facts: serde_json::Value) -> Self {
        Self::of((facts, true))
    }

    fn of((facts, blind): (serde_json::Value, bool)) -> Self {
        Self {
            places: [0, 1].map(|number| Place::new(number, blind)),
            words: [const { String::new() }; 2].map(watch::Sender::new),
            facts: watch::Sender::new(facts),
        }
    }

    /// What a page is told of the session.
    #[must_use]
    pub fn facts(&self) -> serde_json::Value {
        self.facts.borrow().clone()
    }

    /// The session is another from now on: every page is told.
    pub fn tell(&self, facts: serde_json::Value) {
        self.facts.send_replace(facts);
    }

    /// Something of the session is another from now on: every page is told.
    pub fn amend(&self, change: impl FnOnce(&mut serde_json::Value)) {
        self.facts.send_modify(change);
    }

    /// The session has ended, and its files are being written to this folder: every page is told, those that come now too.
    pub fn ends(&self, folder: &Path) {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
        let folder = folder.display().to_string();
        self.amend(|facts| facts["ending"] = serde_json::json!({ "folder": folder }));
    }

    /// A session's place, the first or, of any other number, the second.
    #[must_use]
    pub fn place(&self, number: usize) -> &Place {
        &self.places[number.min(PLACES - 1)]
    }

    /// Say something to every page, in the place of what was said before.
    pub fn say(&self, word: Word, value: &serde_json::Value) {
        self.words[word as usize].send_replace(value.to_string());
    }

    /// [`Place::show`] of the first session.
    pub fn show(&self, side: trace::Side, block: &[u8; 8 * wire::FIELDS]) {
        self.places[0].show(side, block);
    }

    /// [`Place::show_mesh`] of the first session.
    pub fn show_mesh(&self, rest_m: &[[f32; 3]], faces: &[[u32; 3]]) {
        self.places[0].show_mesh(rest_m, faces);
    }

    /// [`Place::show_surface`] of the first session.
    pub fn show_surface(&self, positions_m: &[[f32; 3]]) {
        self.places[0].show_surface(positions_m);
    }

    /// For a page that has come: it finds what there is as new.
    pub fn looks(&self) -> Looks {
        Looks {
            places: self.places.each_ref().map(Place::looks),
            words: self.words.each_ref().map(new),
            facts: self.facts.subscribe(),
        }
    }
}

/// A receiver that finds what there is as new.
fn new<T>(sender: &watch::Sender<T>) -> watch::Receiver<T> {
    let mut receiver = sender.subscribe();
    receiver.mark_changed();
    receiver
}

impl Place {
    fn new(number: u8, blind: bool) -> Self {
        Self {
            number,
            blind,
            shown: Mutex::new(Shown {
                blocks: [[0; 8 * wire::FIELDS]; 2],
                spoke_s: f64::NEG_INFINITY,
                states: 0,
                surfaces: 0,
                mesh: (0, 0, 0),
            }),
            state: watch::Sender::new(Bytes::new()),
            surface: watch::Sender::new(Bytes::new()),
            mesh: watch::Sender::new(Bytes::new()),
            records: watch::Sender::new([None; 2]),
        }
    }

    /// Tell who reads records the newest of its side.
    pub fn record(&self, record: &TickRecord) {
        if !self.blind {
            self.records
                .send_modify(|newest| newest[record.side as usize] = Some(*record));
        }
    }

    /// Whether anybody reads records, so that they need be made; those of a trial are nobody's to read.
    #[must_use]
    pub fn wants_records(&self) -> bool {
        !self.blind && self.records.receiver_count() > 0
    }

    /// Whether there is any record.
    #[must_use]
    pub fn has_records(&self) -> bool {
        self.records.borrow().iter().any(Option::is_some)
    }

    /// The newest records of both sides, whenever they change.
    #[must_use]
    pub fn records(&self) -> watch::Receiver<[Option<TickRecord>; 2]> {
        self.records.subscribe()
    }

    /// The newest mesh, as it is sent: see [`wire`]; empty without one.
    #[must_use]
    pub fn mesh_sent(&self) -> watch::Receiver<Bytes> {
        new(&self.mesh)
    }

    /// The newest surface, as it is sent: see [`wire`]; empty without one.
    #[must_use]
    pub fn surface_sent(&self) -> watch::Receiver<Bytes> {
        new(&self.surface)
    }

    /// Show a side, by its block ([`wire::Side::block`]). The pages hear of it with the operator's side, or at
    /// once while that is silent.
    pub fn show(&self, side: trace::Side, block: &[u8; 8 * wire::FIELDS]) {
        let now_s = now_s();
        let mut shown = self.lock();
        shown.blocks[side as usize] = *block;
        if self.blind {
            blind::veil(side, &mut shown.blocks[side as usize]);
        }
        if side == trace::Side::Master {
            shown.spoke_s = now_s;
        } else if now_s - shown.spoke_s < SILENT_S {
            return;
        }
        shown.states = shown.states.wrapping_add(1);
        let header = Header {
            kind: Kind::State,
            number: shown.states,
            nodes: 0,
            faces: 0,
            revision: 0,
            at_s: now_s,
        };
        let mut bytes = Vec::with_capacity(wire::HEADER + 16 * wire::FIELDS);
        self.put(&header, &mut bytes);
        shown.blocks.iter().for_each(|block| bytes.extend(block));
        self.state.send_replace(bytes.into());
    }

    /// Show another surface from now on: rest positions \[m\] and faces.
    pub fn show_mesh(&self, rest_m: &[[f32; 3]], faces: &[[u32; 3]]) {
        let mut shown = self.lock();
        let revision = shown.mesh.0.wrapping_add(1);
        shown.mesh = (revision, rest_m.len() as u32, faces.len() as u32);
        let mut bytes = self.begun(&shown, Kind::Mesh, revision);
        bytes.extend(rest_m.iter().flatten().flat_map(|x| x.to_le_bytes()));
        bytes.extend(faces.iter().flatten().flat_map(|n| n.to_le_bytes()));
        self.mesh.send_replace(bytes.into());
    }

    /// Show where the nodes of the surface are now \[m\]; of another number than the mesh has, nothing.
    pub fn show_surface(&self, positions_m: &[[f32; 3]]) {
        let mut shown = self.lock();
        if positions_m.len() != shown.mesh.1 as usize {
            return;
        }
        shown.surfaces = shown.surfaces.wrapping_add(1);
        let mut bytes = self.begun(&shown, Kind::Surface, shown.surfaces);
        bytes.extend(positions_m.iter().flatten().flat_map(|x| x.to_le_bytes()));
        self.surface.send_replace(bytes.into());
    }

    fn looks(&self) -> LooksAt {
        LooksAt {
            state: new(&self.state),
            surface: new(&self.surface),
            mesh: new(&self.mesh),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        // whoever panicked here left whole numbers behind
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A header, with the number of this place beside its kind.
    fn put(&self, header: &Header, bytes: &mut Vec<u8>) {
        let at = bytes.len();
        header.put(bytes);
        bytes[at + wire::PLACE] = self.number;
    }

    /// A frame of the mesh, begun.
    fn begun(&self, shown: &Shown, kind: Kind, number: u32) -> Vec<u8> {
        let (revision, nodes, faces) = shown.mesh;
        let mut bytes = Vec::with_capacity(wire::HEADER + 12 * (nodes + faces) as usize);
        let header = Header {
            kind,
            number,
            nodes,
            faces,
            revision,
            at_s: now_s(),
        };
        self.put(&header, &mut bytes);
        bytes
    }
}

fn now_s() -> f64 {
    MonotonicClock.now().0 as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board() -> Board {
        Board::new(serde_json::Value::Null)
    }

    #[test]
    fn a_page_finds_the_newest_and_no_other() {
        let board = board();
        let mut looks = board.looks();
        for tick in 0..5_u8 {
            let mut block = [0; 8 * wire::FIELDS];
            block[0] = tick;
            board.show(trace::Side::Slave, &block);
            board.show(trace::Side::Master, &block);
        }
        let state = looks.places[0].state.borrow_and_update().clone();
        assert_eq!(state.len(), wire::HEADER + 16 * wire::FIELDS);
        let second = wire::HEADER + 8 * wire::FIELDS;
        assert_eq!((state[wire::HEADER], state[second]), (4, 4));
        assert!(!looks.places[0].state.has_changed().expect("open"));
        // the remote side alone is shown while the other is silent, and not twice beside it
        assert_eq!(state[8..12], 6_u32.to_le_bytes());
    }

    #[test]
    fn a_surface_belongs_to_its_mesh() {
        let board = board();
        board.show_surface(&[[0.0; 3]]);
        assert!(
            board.looks().places[0].surface.borrow().is_empty(),
            "no mesh yet"
        );
        board.show_mesh(&[[0.0; 3], [1.0; 3], [2.0; 3]], &[[0, 1, 2]]);
        board.show_surface(&[[0.5; 3]; 3]);
        board.show_surface(&[[0.5; 3]; 2]);
        let [looks, beside] = board.looks().places;
        assert!(beside.mesh.borrow().is_empty());
        let (mesh, surface) = (looks.mesh.borrow(), looks.surface.borrow());
        assert_eq!(mesh.len(), wire::HEADER + 36 + 12);
        assert_eq!(surface.len(), wire::HEADER + 36);
        assert_eq!(mesh[20..24], surface[20..24]);
        assert_eq!(surface[8..12], 1_u32.to_le_bytes());
    }

    #[test]
    fn two_sessions_have_frames_of_their_own_and_words_are_the_newest() {
        let board = board();
        board.show_mesh(&[[0.0; 3]; 3], &[[0, 1, 2]]);
        board.place(1).show_mesh(&[[0.0; 3]; 4], &[[0, 1, 2]]);
        board.say(Word::Moment, &serde_json::json!({"at": 1}));
        board.say(Word::Moment, &serde_json::json!({"at": 2}));
        let looks = board.looks();
        let [first, second] = looks.places.each_ref().map(|at| at.mesh.borrow().clone());
        assert_eq!(first[6..8], [3, 0]);
        assert_eq!(second[6..8], [3, 1]);
        assert_eq!(second[12..16], 4_u32.to_le_bytes());
        assert_eq!(*looks.words[1].borrow(), "{\"at\":2}");
        assert!(looks.words[0].borrow().is_empty());
    }
}
