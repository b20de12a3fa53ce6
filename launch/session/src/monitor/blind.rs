//! What a page may see of a trial: where the tool is and what the hand feels, and nothing that tells the condition.
//!
//! A list of what is shown, not of what is hidden, so that a number that is new is hidden. Delays, modes, impedances,
//! counts of frames, energies and the remote side would each tell; force and place are what is being judged. Source: ours.

use palpate_transport::trace::Side;

use super::wire::FIELDS;

/// Places of the numbers of the operator's side that are shown, see [`super::wire::Side::numbers`].
const SHOWN: [std::ops::Range<usize>; 6] = [
    // spoken, tick, time
    0..3,
    // state
    4..5,
    // position and velocity
    8..16,
    // port force
    20..24,
    // intended position
    40..44,
    // age, rate and time of the pointer; force known, ordered
    57..62,
];

/// Hide in the block of a side what a page of a trial may not see: it is no number there, and of the remote side
/// nothing is shown at all.
pub(super) fn veil(side: Side, block: &mut [u8; 8 * FIELDS]) {
    if side == Side::Slave {
        block.fill(0);
        return;
    }
    for (index, number) in block.chunks_exact_mut(8).enumerate() {
        if !SHOWN.iter().any(|range| range.contains(&index)) {
            number.copy_from_slice(&f64::NAN.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use palpate_transport::trace::TickRecord;

    use super::*;
    use crate::monitor::wire;

    fn number(block: &[u8], index: usize) -> f64 {
        f64::from_le_bytes(
            block[8 * index..8 * index + 8]
                .try_into()
                .expect("eight bytes"),
        )
    }

    /// All that differs between conditions is made to differ; what is left must not.
    #[test]
    fn frames_of_two_conditions_carry_neither() {
        let of = |rtt_ns: i64, mode: u32, impedance_nspm: f64, twin_share: f64| {
            let record = TickRecord {
                tick: 7,
                position_m: [0.01, 0.02, 0.03, 0.02],
                port_force_n: [0.0, 0.0, -1.5, 0.0],
                tissue_force_n: [0.0, 0.0, impedance_nspm, 0.0],
                reservoir_j: [impedance_nspm; 4],
                rtt_ns,
                oneway_ns: rtt_ns / 2,
                oneway_bound_ns: rtt_ns / 3,
                age_ns: rtt_ns / 2,
                received_count: rtt_ns as u64,
                compute_ns: rtt_ns / 1000,
                twin_share,
                ..TickRecord::default()
            };
            let side = wire::Side {
                record,
                late_ticks: mode.into(),
                mode,
                impedance_nspm,
                ..wire::Side::default()
            };
            [Side::Master, Side::Slave].map(|of| {
                let mut block = side.block();
                veil(of, &mut block);
                block
            })
        };
        let (near, far) = (of(2_000_000, 1, 10.0, 0.0), of(200_000_000, 2, 30.0, 1.0));
        assert_eq!(near, far);
        // and what is judged is there
        assert_eq!((number(&near[0], 22), number(&near[0], 10)), (-1.5, 0.03));
        assert!(number(&near[0], 52).is_nan() && number(&near[1], 0) == 0.0);
    }
}
