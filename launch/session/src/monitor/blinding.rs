//! Blinding of the monitor in a trial: a page sees position and force of the tool, and nothing that reveals the
//! condition.
//!
//! The list names the fields that are shown, so a new field is hidden by default. Delays, modes, impedances, frame
//! counts, energies and the remote side would each reveal the condition; force and position are judged. Source:
//! ours.

use palpate_transport::trace::Side;

use super::wire::FIELDS;

/// Indices of the operator's side that are shown, see [`super::wire::SideView::numbers`].
const VISIBLE_FIELDS: [std::ops::Range<usize>; 6] = [
    // present, tick, time
    0..3,
    // state
    4..5,
    // position and velocity
    8..16,
    // port force
    20..24,
    // intended position
    40..44,
    // age, rate and time of the pointer; force measured, commanded state
    57..62,
];

/// Hides the fields of a side that a page of a trial may not see: they become NaN, and the block of the remote side
/// becomes zero.
pub(super) fn hide_condition(side: Side, block: &mut [u8; 8 * FIELDS]) {
    if side == Side::Slave {
        block.fill(0);
        return;
    }
    for (index, number) in block.chunks_exact_mut(8).enumerate() {
        if !VISIBLE_FIELDS.iter().any(|range| range.contains(&index)) {
            number.copy_from_slice(&f64::NAN.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::trace::TickRecord;

    use super::*;
    use crate::monitor::wire;
    use crate::run::crtk_publisher::ServoSnapshot;

    fn number(block: &[u8], index: usize) -> f64 {
        f64::from_le_bytes(
            block[8 * index..8 * index + 8]
                .try_into()
                .expect("eight bytes"),
        )
    }

    /// Compares two conditions that differ in every hidden field: the visible frames must be equal.
    #[test]
    fn blinded_frames_do_not_reveal_the_condition() {
        let of = |rtt_ns: i64, mode: u32, impedance_nspm: f64, twin_share: f64| {
            let record = TickRecord {
                tick: 7,
                position_m: [0.01, 0.02, 0.03, 0.02],
                port_force_n: [0.0, 0.0, -1.5, 0.0],
                tissue_force_n: [0.0, 0.0, impedance_nspm, 0.0],
                tank_j: [impedance_nspm; 4],
                rtt_ns,
                oneway_ns: rtt_ns / 2,
                oneway_bound_ns: rtt_ns / 3,
                age_ns: rtt_ns / 2,
                received_count: rtt_ns as u64,
                compute_ns: rtt_ns / 1000,
                twin_share,
                ..TickRecord::default()
            };
            let side = wire::SideView {
                servo: ServoSnapshot {
                    record,
                    late_ticks: mode.into(),
                    mode,
                    impedance_nspm,
                    ..ServoSnapshot::default()
                },
                ..wire::SideView::default()
            };
            [Side::Master, Side::Slave].map(|of| {
                let mut block = side.block();
                hide_condition(of, &mut block);
                block
            })
        };
        let (near, far) = (of(2_000_000, 1, 10.0, 0.0), of(200_000_000, 2, 30.0, 1.0));
        assert_eq!(near, far);
        // the judged fields are present
        assert_eq!((number(&near[0], 22), number(&near[0], 10)), (-1.5, 0.03));
        assert!(number(&near[0], 52).is_nan() && number(&near[1], 0) == 0.0);
    }
}
