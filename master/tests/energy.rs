//! Energy and steps of the force on the hand, for frames that no passive remote side would send.

use palpate_master::device::{HandleCaps, HandleReading};
use palpate_master::{MasterParams, MasterState, tick};
use palpate_port::TickInputs;
use palpate_port::inbox::RunIds;
use palpate_transport::coupling::{CouplingParams, Mode};
use palpate_transport::trace::{EventFlags, TickRecord};
use palpate_transport::{AXES, HapticFrame, Time};

/// Records of a hand that moves at `velocity_mps` on axis x, while the other side sends the force of `force_n` at
/// every tick and 1 mJ on each axis.
fn session(
    coupling: &CouplingParams,
    velocity_mps: fn(u64) -> f64,
    force_n: fn(u64) -> f64,
) -> Vec<TickRecord> {
    let caps = HandleCaps {
        resolution_m: [0.0; AXES],
        mass_kg_min: [0.1; AXES],
        force_timeout_s: Some(2e-3),
    };
    let mut state = MasterState::new(None, &caps, RunIds::default());
    let mut reading = HandleReading {
        present: true,
        ..HandleReading::default()
    };
    let mut step = |number: u64| {
        let now = Time(number as i64 * 1_000_000);
        reading.velocity_mps[0] = velocity_mps(number);
        reading.position_m[0] += 1e-3 * reading.velocity_mps[0];
        let frame = HapticFrame {
            sequence: number,
            sent_ns: now.0,
            impedance_nspm: coupling.impedance_nspm,
            // the robot of a spring, and the force or wave of the other methods
            position_m: [-0.02, 0.0, 0.0, 0.0],
            port_force_n: [force_n(number), 0.0, 0.0, 0.0],
            wave: [-force_n(number) / 4.0, 0.0, 0.0, 0.0],
            energy_sent_j: [1e-3 * number as f64; AXES],
            reservoir_j: [1.0; AXES],
            ..HapticFrame::default()
        };
        let at = TickInputs {
            now,
            frame: Some((frame, now)),
            ..TickInputs::at_tick(number)
        };
        tick(
            &MasterParams::default(),
            coupling,
            &mut state,
            &at,
            &reading,
        )
        .record
    };
    (1..=1000).map(&mut step).collect()
}

/// Least energy that the hand has put in (teleop E18) \[J\].
fn least_hand_energy_j(records: &[TickRecord]) -> f64 {
    let (mut put_in_j, mut least_j) = (0.0_f64, 0.0_f64);
    for pair in records.windows(2) {
        for axis in 0..AXES {
            let moved_m = pair[1].held_to_m[axis] - pair[0].position_m[axis];
            put_in_j += pair[0].port_force_n[axis] * moved_m;
        }
        least_j = least_j.min(put_in_j);
    }
    least_j
}

const PASSIVE: [Mode; 5] = [
    Mode::Wave,
    Mode::Tdpa,
    Mode::WaveTdpa,
    Mode::Tank,
    Mode::Pspm,
];

#[test]
fn hand_gains_no_more_from_an_active_remote_than_the_budget() {
    for mode in PASSIVE {
        let pushed = |active_j_max: f64| {
            let coupling = CouplingParams {
                mode,
                active_j_max,
                ..CouplingParams::default()
            };
            session(&coupling, |_| -0.1, |_| 2.0)
        };
        let refused = pushed(0.0);
        let gained_j = -least_hand_energy_j(&refused);
        assert!(gained_j <= 1e-9, "{mode:?}: {gained_j} J");
        let last = refused.last().expect("ticks");
        assert_ne!(last.events & EventFlags::CREDIT_REFUSED, 0, "{mode:?}");
        let gained_j = -least_hand_energy_j(&pushed(0.05));
        assert!(
            gained_j > 1e-3 && gained_j <= 0.05 + 1e-9,
            "{mode:?}: {gained_j} J"
        );
    }
}
