//! What the console's page is sent, byte by byte: little-endian, every frame with the same header.
//!
//! | bytes | header |
//! |---|---|
//! | 0..4 | `PLPC` |
//! | 4..6 | version of this layout, [`VERSION`] |
//! | 6 | kind: 1 state, 2 surface, 3 mesh; from the page: 16 aim |
//! | 7 | which session, 0 or, of one that is shown beside it, 1 |
//! | 8..12 | number of the frame of its kind, from 1 |
//! | 12..16 | nodes of the mesh, 0 of a state |
//! | 16..20 | faces of the mesh, 0 of a state |
//! | 20..24 | revision of the mesh, from 1: a surface belongs to the mesh of its revision |
//! | 24..32 | when it was made, f64 on the monotonic clock of the host \[s\] |
//!
//! A **state** goes on with two blocks of [`FIELDS`] f64, the operator's side and the remote side, in the order
//! of [`Side::numbers`]. A **mesh** goes on with the rest positions (3 f32 a node \[m\]) and the faces (3 u32
//! each); a **surface** with the positions now (3 f32 a node \[m\]). An **aim** has no such header: see [`aim`].

use palpate_master::device::pointer::Aim;
use palpate_transport::AXES;
use palpate_transport::trace::TickRecord;

/// Version of the layout.
pub const VERSION: u16 = 2;

/// First bytes of every frame.
pub const MAGIC: [u8; 4] = *b"PLPC";

/// Length of the header \[bytes\].
pub const HEADER: usize = 32;

/// Where a header says which session it is of.
pub const PLACE: usize = 7;

/// Numbers of one side in a state.
pub const FIELDS: usize = 71;

/// Length of an aim \[bytes\].
pub const AIM: usize = 56;

/// Kind of an aim.
const AIM_KIND: u16 = 16;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// Both sides as they are.
    State = 1,
    /// Where the nodes of the twin's surface are.
    Surface = 2,
    /// Which surface that is.
    Mesh = 3,
}

/// Header of a frame; what does not belong to its kind is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Header {
    /// What the frame is.
    pub kind: Kind,
    /// Its number among its kind.
    pub number: u32,
    /// Nodes of the mesh.
    pub nodes: u32,
    /// Faces of the mesh.
    pub faces: u32,
    /// Revision of the mesh.
    pub revision: u32,
    /// When it was made \[s\].
    pub at_s: f64,
}

impl Header {
    /// Write it at the end of `bytes`.
    pub fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.kind as u16).to_le_bytes());
        for number in [self.number, self.nodes, self.faces, self.revision] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.at_s.to_le_bytes());
    }
}

/// One side as a console shows it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Side {
    /// Newest record.
    pub record: TickRecord,
    /// Ticks that woke late so far.
    pub late_ticks: u64,
    /// Operating state towards whoever watches, as CRTK numbers it.
    pub state: u8,
    /// State that it was told to be in, likewise.
    pub ordered: u8,
    /// Whether the other side is on the bus.
    pub peer_present: bool,
    /// Whether the contact force was measured.
    pub force_known: bool,
    /// Wave impedance of now \[N s/m\]; 0 if this side does not know.
    pub impedance_nspm: f64,
    /// Number of the coupling mode of now.
    pub mode: u32,
    /// The pointer, if one leads the handle.
    pub pointer: Option<Pointed>,
}

/// What is known of a pointer as an input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pointed {
    /// Age of its newest word \[s\].
    pub age_s: f64,
    /// Words a second.
    pub rate_hz: f64,
    /// The page's own time of that word \[ms\].
    pub said_ms: f64,
}

impl Side {
    /// All numbers in their order: 1 (0 is a side that has not spoken), tick, time \[s\], late ticks, state, peer
    /// present, events, phase; position, velocity, port position, port force, tissue force, reservoir, energy
    /// sent, energy received and intended position (4 each); tissue energy, update energy \[J\], relative
    /// corrections, confidence, twin's share; age of the newest frame, one-way delay, its bound, round trip \[s\];
    /// frames received, compute time \[us\], impedance \[N s/m\], mode, age \[s\], rate \[Hz\] and time \[ms\] of the
    /// pointer, force known, state that it was told to be in, links cut; place of and force on a tool that the hand has
    /// put down (4 each, 0 of none). Not-a-number is unknown.
    #[must_use]
    pub fn numbers(&self) -> [f64; FIELDS] {
        let record = &self.record;
        let flag = |set: bool| f64::from(u8::from(set));
        let span_s = |ns: i64| if ns < 0 { f64::NAN } else { ns as f64 * 1e-9 };
        let pointer = self
            .pointer
            .map_or([f64::NAN; 3], |of| [of.age_s, of.rate_hz, of.said_ms]);
        let mut numbers = [0.0; FIELDS];
        let mut at = 0;
        let mut put = |values: &[f64]| {
            numbers[at..at + values.len()].copy_from_slice(values);
            at += values.len();
        };
        put(&[1.0, record.tick as f64, record.now_ns as f64 * 1e-9]);
        put(&[self.late_ticks as f64, f64::from(self.state)]);
        put(&[flag(self.peer_present), f64::from(record.events)]);
        put(&[f64::from(record.phase)]);
        for axes in [
            &record.position_m,
            &record.velocity_mps,
            &record.port_position_m,
            &record.port_force_n,
            &record.tissue_force_n,
            &record.reservoir_j,
            &record.energy_sent_j,
            &record.energy_received_j,
            &record.intended_m,
        ] {
            put(axes);
        }
        put(&[record.tissue_energy_j, record.update_energy_j]);
        put(&[record.corrected, record.confidence, record.twin_share]);
        put(&[span_s(record.age_ns), span_s(record.oneway_ns)]);
        put(&[span_s(record.oneway_bound_ns), span_s(record.rtt_ns)]);
        put(&[
            record.received_count as f64,
            record.compute_ns as f64 * 1e-3,
        ]);
        put(&[self.impedance_nspm, f64::from(self.mode)]);
        put(&pointer);
        put(&[flag(self.force_known), f64::from(self.ordered)]);
        put(&[record.links_cut as f64]);
        put(&record.parked_m);
        put(&record.parked_n);
        numbers
    }

    /// The same as bytes.
    #[must_use]
    pub fn block(&self) -> [u8; 8 * FIELDS] {
        let mut block = [0; 8 * FIELDS];
        for (place, number) in block.chunks_exact_mut(8).zip(self.numbers()) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        block
    }
}

/// An aim of the page: `PLPC`, version u16, kind 16 as u16, number u32, flags u32 (1 present, 2 closed), the page's
/// time f64 \[ms\], position and opening 4 f64 \[m\]. Gives the aim and that time.
///
/// # Errors
/// What is wrong with it, in words.
pub fn aim(bytes: &[u8]) -> Result<(Aim, f64), &'static str> {
    if bytes.len() != AIM {
        return Err("an aim has 56 bytes");
    }
    let word = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    let number = |at: usize| {
        let ([a, b, c, d], [e, f, g, h]) = (word(at), word(at + 4));
        f64::from_le_bytes([a, b, c, d, e, f, g, h])
    };
    let [version_low, version_high, kind_low, kind_high] = word(4);
    let head = (
        word(0),
        u16::from_le_bytes([version_low, version_high]),
        u16::from_le_bytes([kind_low, kind_high]),
    );
    if head != (MAGIC, VERSION, AIM_KIND) {
        return Err("expected PLPC, version 2, kind 16");
    }
    let flags = u32::from_le_bytes(word(12));
    let position_m: [f64; AXES] = core::array::from_fn(|axis| number(24 + 8 * axis));
    if !position_m.iter().all(|place| place.is_finite()) {
        return Err("a place of an aim is not a number");
    }
    let aim = Aim {
        number: u64::from(u32::from_le_bytes(word(8))),
        position_m,
        present: flags & 1 != 0,
        closed: flags & 2 != 0,
    };
    Ok((aim, number(16)))
}

/// An aim as a page writes it.
#[must_use]
pub fn aim_bytes(aim: &Aim, said_ms: f64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(AIM);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(AIM_KIND.to_le_bytes());
    // counted anew after four thousand million
    bytes.extend((aim.number as u32).to_le_bytes());
    let flags = u32::from(aim.present) | u32::from(aim.closed) << 1;
    bytes.extend(flags.to_le_bytes());
    bytes.extend(said_ms.to_le_bytes());
    for place in aim.position_m {
        bytes.extend(place.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f64_at(bytes: &[u8], at: usize) -> f64 {
        f64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
    }

    #[test]
    fn the_header_is_as_long_as_it_says_and_in_its_order() {
        let header = Header {
            kind: Kind::Mesh,
            number: 7,
            nodes: 3,
            faces: 1,
            revision: 2,
            at_s: 1.5,
        };
        let mut bytes = Vec::new();
        header.put(&mut bytes);
        assert_eq!(bytes.len(), HEADER);
        assert_eq!(&bytes[..8], b"PLPC\x02\x00\x03\x00");
        assert_eq!(
            bytes[8..24],
            [7, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]
        );
        assert_eq!(f64_at(&bytes, 24), 1.5);
    }

    #[test]
    fn a_side_fills_its_block_and_what_is_unknown_is_no_number() {
        let mut side = Side {
            ordered: 2,
            ..Side::default()
        };
        side.record.tick = 12;
        side.record.port_force_n = [1.0, 2.0, 3.0, 4.0];
        side.record.oneway_ns = -1;
        side.record.links_cut = -3;
        side.record.parked_m[0] = 0.01;
        side.record.parked_n[3] = 0.5;
        side.record.rtt_ns = 100_000_000;
        let block = side.block();
        let number = |index: usize| f64_at(&block, 8 * index);
        assert_eq!((number(0), number(1)), (1.0, 12.0));
        assert_eq!([20, 21, 22, 23].map(number), [1.0, 2.0, 3.0, 4.0]);
        assert!(number(50).is_nan() && (number(52) - 0.1).abs() < 1e-12);
        assert!(number(57).is_nan());
        assert_eq!(number(61), 2.0);
        assert_eq!([62, 63, FIELDS - 1].map(number), [-3.0, 0.01, 0.5]);
    }

    #[test]
    fn an_aim_is_read_and_garbage_is_not() {
        let written = Aim {
            number: 9,
            position_m: [0.01, -0.02, 0.005, 0.02],
            present: true,
            closed: true,
        };
        let mut bytes = aim_bytes(&written, 12.5);
        assert_eq!(&bytes[..8], b"PLPC\x02\x00\x10\x00");
        assert_eq!(super::aim(&bytes), Ok((written, 12.5)));
        assert!(super::aim(&bytes[..55]).is_err() && super::aim(&[]).is_err());
        for (at, value) in [(0, b'X'), (4, 1), (6, 1)] {
            let mut bad = bytes.clone();
            bad[at] = value;
            assert!(super::aim(&bad).is_err(), "byte {at}");
        }
        bytes[24..32].copy_from_slice(&f64::NAN.to_le_bytes());
        assert!(super::aim(&bytes).is_err());
    }
}
