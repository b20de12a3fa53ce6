//! Binary layout of the frames for the console's page: little-endian, every frame with the same header.
//!
//! | bytes | header |
//! |---|---|
//! | 0..4 | `PLPC` |
//! | 4..6 | version of this layout, [`VERSION`] |
//! | 6 | kind: 1 state, 2 surface, 3 mesh; from the page: 16 pointer target |
//! | 7 | session index: 0, or 1 for the one shown beside it |
//! | 8..12 | number of the frame among its kind, from 1 |
//! | 12..16 | nodes of the mesh, 0 of a state |
//! | 16..20 | faces of the mesh, 0 of a state |
//! | 20..24 | revision of the mesh, from 1: a surface belongs to the mesh of its revision |
//! | 24..32 | time of its making, f64 on the monotonic clock of the host \[s\] |
//!
//! A **state** continues with two blocks of [`FIELDS`] f64, the operator's side and the remote side, in the order
//! of `SideView::numbers`. A **mesh** continues with the rest positions (3 f32 a node \[m\]) and the faces (3 u32
//! each); a **surface** with the present positions (3 f32 a node \[m\]). A **pointer target** has another header,
//! see [`parse_aim`].

use bytes::Buf as _;
use palpate_master::device::pointer::PointerTarget;
use palpate_transport::AXES;

use crate::run::crtk_publisher::ServoSnapshot;

/// Version of the layout.
pub const VERSION: u16 = 3;

/// First bytes of every frame.
pub(crate) const MAGIC: [u8; 4] = *b"PLPC";

/// Length of the header \[bytes\].
pub const HEADER: usize = 32;

/// Numbers of one side in a state.
pub const FIELDS: usize = 72;

/// Length of a pointer target \[bytes\].
const AIM: usize = 56;

/// Kind of a pointer target.
const AIM_KIND: u16 = 16;

/// Kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PageFrameKind {
    /// State of both sides.
    State = 1,
    /// Present positions of the twin's surface.
    Surface = 2,
    /// Rest positions and faces of the surface.
    Mesh = 3,
}

/// Mesh of a frame; all 0 for a state, which has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct FrameMesh {
    /// Revision, from 1.
    pub(super) revision: u32,
    /// Number of nodes.
    pub(super) nodes: u32,
    /// Number of faces.
    pub(super) faces: u32,
}

/// Starts a frame, made at `at_s` \[s\], with its header; `number` is its number among its kind.
pub(super) fn begin_frame(
    kind: PageFrameKind,
    session_index: u8,
    number: u32,
    mesh: FrameMesh,
    at_s: f64,
) -> Vec<u8> {
    let room = THREE * (mesh.nodes + mesh.faces) as usize;
    let mut bytes = Vec::with_capacity(HEADER + room.max(16 * FIELDS));
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([kind as u8, session_index]);
    for number in [number, mesh.nodes, mesh.faces, mesh.revision] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(at_s.to_le_bytes());
    bytes
}

/// State of one side as a console shows it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SideView {
    /// Snapshot of its servo.
    pub servo: ServoSnapshot,
    /// Operating state as it is reported, numbered as in CRTK.
    pub state: u8,
    /// Commanded operating state, numbered likewise.
    pub commanded_state: u8,
    /// True if the other side is on the bus.
    pub peer_present: bool,
    /// The pointer, if one drives the handle.
    pub pointer: Option<PointerStatus>,
}

/// Status of a pointer as an input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PointerStatus {
    /// Age of its newest target \[s\].
    pub age_s: f64,
    /// Targets per second.
    pub rate_hz: f64,
    /// The page's own time of that target \[ms\].
    pub page_time_ms: f64,
}

impl SideView {
    /// All numbers in their order: 1 (0 for a side without a state yet), tick, time \[s\], late ticks, state, peer
    /// present, events, phase; position, velocity, port position, port force, tissue force, tank energy, energy
    /// sent, energy received and intended position (4 each); tissue energy, update energy \[J\], relative
    /// corrections, confidence, twin's share; age of the newest frame, one-way delay, its bound, round trip \[s\];
    /// frames received, compute time \[us\], impedance \[N s/m\], mode, age \[s\], rate \[Hz\] and time \[ms\] of
    /// the pointer, force measured, commanded state, links cut; position of and force on a tool that was put down
    /// (4 each, 0 without one), height of the twin's surface. NaN is unknown.
    #[must_use]
    pub(crate) fn numbers(&self) -> [f64; FIELDS] {
        let (servo, record) = (&self.servo, &self.servo.record);
        let flag = |set: bool| f64::from(u8::from(set));
        let span_s = |ns: i64| if ns < 0 { f64::NAN } else { ns as f64 * 1e-9 };
        let pointer = self
            .pointer
            .map_or([f64::NAN; 3], |of| [of.age_s, of.rate_hz, of.page_time_ms]);
        let mut numbers = [0.0; FIELDS];
        let mut at = 0;
        let mut put = |values: &[f64]| {
            numbers[at..at + values.len()].copy_from_slice(values);
            at += values.len();
        };
        put(&[1.0, record.tick as f64, record.now_ns as f64 * 1e-9]);
        put(&[servo.late_ticks as f64, f64::from(self.state)]);
        put(&[flag(self.peer_present), f64::from(record.events)]);
        put(&[f64::from(record.phase)]);
        for axes in [
            &record.position_m,
            &record.velocity_mps,
            &record.port_position_m,
            &record.port_force_n,
            &record.tissue_force_n,
            &record.tank_j,
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
        put(&[servo.impedance_nspm, f64::from(servo.mode)]);
        put(&pointer);
        put(&[flag(servo.force_measured), f64::from(self.commanded_state)]);
        put(&[record.links_cut as f64]);
        put(&record.parked_m);
        put(&record.parked_n);
        put(&[record.twin_height_m]);
        numbers
    }

    /// The numbers as bytes.
    #[must_use]
    pub fn block(&self) -> [u8; 8 * FIELDS] {
        let mut block = [0; 8 * FIELDS];
        for (place, number) in block.chunks_exact_mut(8).zip(self.numbers()) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        block
    }
}

/// Length of a node or a face \[bytes\].
pub(super) const THREE: usize = 12;

/// Triples of numbers as bytes.
pub(super) fn flat<T: Copy>(threes: &[[T; 3]], bytes: fn(T) -> [u8; 4]) -> Vec<u8> {
    threes.iter().flatten().flat_map(|&n| bytes(n)).collect()
}

/// Parses a pointer target of the page: `PLPC`, version u16, kind 16 as u16, number u32, flags u32 (1 present, 2
/// closed), page time f64 \[ms\], position and opening 4 f64 \[m\]. Returns the target and the page time.
///
/// # Errors
/// The fault of the bytes.
pub fn parse_aim(bytes: &[u8]) -> Result<(PointerTarget, f64), &'static str> {
    if bytes.len() != AIM {
        return Err("an aim has 56 bytes");
    }
    let (magic, mut rest) = bytes.split_at(MAGIC.len());
    let head = (magic, rest.get_u16_le(), rest.get_u16_le());
    if head != (&MAGIC[..], VERSION, AIM_KIND) {
        return Err("expected PLPC, version 3, kind 16");
    }
    let (number, flags, page_time_ms) = (rest.get_u32_le(), rest.get_u32_le(), rest.get_f64_le());
    let position_m: [f64; AXES] = core::array::from_fn(|_| rest.get_f64_le());
    if !position_m.iter().all(|place| place.is_finite()) {
        return Err("a place of an aim is not a number");
    }
    let aim = PointerTarget {
        sequence: u64::from(number),
        position_m,
        present: flags & 1 != 0,
        closed: flags & 2 != 0,
    };
    Ok((aim, page_time_ms))
}

/// Encodes a pointer target as a page does.
pub(super) fn aim_bytes(aim: &PointerTarget, page_time_ms: f64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(AIM);
    bytes.extend(MAGIC);
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend(AIM_KIND.to_le_bytes());
    // the number wraps after 2^32
    bytes.extend((aim.sequence as u32).to_le_bytes());
    let flags = u32::from(aim.present) | u32::from(aim.closed) << 1;
    bytes.extend(flags.to_le_bytes());
    bytes.extend(page_time_ms.to_le_bytes());
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
    fn header_has_documented_length_and_order() {
        let mesh = FrameMesh {
            revision: 2,
            nodes: 3,
            faces: 1,
        };
        let bytes = begin_frame(PageFrameKind::Mesh, 0, 7, mesh, 1.5);
        assert_eq!(bytes.len(), HEADER);
        assert_eq!(&bytes[..8], b"PLPC\x03\x00\x03\x00");
        assert_eq!(
            bytes[8..24],
            [7, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]
        );
        assert_eq!(f64_at(&bytes, 24), 1.5);
    }

    #[test]
    fn side_block_has_all_fields_and_nan_for_unknown() {
        let mut side = SideView {
            commanded_state: 2,
            ..SideView::default()
        };
        side.servo.record.tick = 12;
        side.servo.record.port_force_n = [1.0, 2.0, 3.0, 4.0];
        side.servo.record.oneway_ns = -1;
        side.servo.record.links_cut = -3;
        side.servo.record.parked_m[0] = 0.01;
        side.servo.record.parked_n[3] = 0.5;
        side.servo.record.twin_height_m = 0.003;
        side.servo.record.rtt_ns = 100_000_000;
        let block = side.block();
        let number = |index: usize| f64_at(&block, 8 * index);
        assert_eq!((number(0), number(1)), (1.0, 12.0));
        assert_eq!([20, 21, 22, 23].map(number), [1.0, 2.0, 3.0, 4.0]);
        assert!(number(50).is_nan() && (number(52) - 0.1).abs() < 1e-12);
        assert!(number(57).is_nan());
        assert_eq!(number(61), 2.0);
        assert_eq!(
            [62, 63, 70, FIELDS - 1].map(number),
            [-3.0, 0.01, 0.5, 0.003]
        );
    }

    #[test]
    fn pointer_target_round_trips_and_garbage_is_refused() {
        let written = PointerTarget {
            sequence: 9,
            position_m: [0.01, -0.02, 0.005, 0.02],
            present: true,
            closed: true,
        };
        let mut bytes = aim_bytes(&written, 12.5);
        assert_eq!(&bytes[..8], b"PLPC\x03\x00\x10\x00");
        assert_eq!(super::parse_aim(&bytes), Ok((written, 12.5)));
        assert!(super::parse_aim(&bytes[..55]).is_err() && super::parse_aim(&[]).is_err());
        for (at, value) in [(0, b'X'), (4, 1), (6, 1)] {
            let mut bad = bytes.clone();
            bad[at] = value;
            assert!(super::parse_aim(&bad).is_err(), "byte {at}");
        }
        bytes[24..32].copy_from_slice(&f64::NAN.to_le_bytes());
        assert!(super::parse_aim(&bytes).is_err());
    }
}
