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
            tank_j: [1.0; AXES],
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
    (1..=1200).map(&mut step).collect()
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

/// Alternates the direction of the hand and the remote force, abruptly, with forces up to the ceiling.
#[test]
fn a_step_of_the_force_is_bounded_in_both_directions_unless_it_is_unpaid() {
    let (mut slowed, mut unpaid) = (0, 0);
    for mode in PASSIVE.into_iter().chain([Mode::Direct]) {
        for active_j_max in [0.0, 100.0] {
            let coupling = CouplingParams {
                mode,
                active_j_max,
                ..CouplingParams::default()
            };
            let forward = |tick| if tick % 300 < 200 { 0.1 } else { -0.2 };
            let force_n = |tick: u64| [0.0, 6.0, -3.0, 5.0][(tick / 40 % 4) as usize];
            for pair in session(&coupling, forward, force_n).windows(2) {
                let step_n = (pair[1].port_force_n[0] - pair[0].port_force_n[0]).abs();
                let events = pair[1].events;
                let excused = events & EventFlags::UNPAID_FALL != 0;
                assert!(step_n <= 1.0 + 1e-9 || excused, "{mode:?}: {step_n} N");
                let falls = pair[1].port_force_n[0].abs() < pair[0].port_force_n[0].abs();
                slowed += u32::from(falls && events & EventFlags::SLEW_LIMIT != 0);
                unpaid += u32::from(excused);
            }
        }
    }
    assert!(slowed > 0 && unpaid > 0, "{slowed} {unpaid}");
}

#[test]
fn a_limit_cycle_fades_and_the_force_returns() {
    let coupling = CouplingParams {
        mode: Mode::Direct,
        ..CouplingParams::default()
    };
    // 14 Hz, then steady
    let force_n = |tick: u64| {
        if tick > 520 || tick % 72 < 36 {
            1.0
        } else {
            -1.0
        }
    };
    let records = session(&coupling, |_| 0.0, force_n);
    let cycling = |record: &&TickRecord| record.events & EventFlags::LIMIT_CYCLE != 0;
    let first = records.iter().find(cycling).expect("a limit cycle");
    assert!((504..640).contains(&first.tick), "{}", first.tick);
    let faded = records.iter().rfind(cycling).expect("it fades");
    assert!(faded.port_force_n[0].abs() < 0.01, "{faded:?}");
    let after = records.iter().find(|record| record.tick == faded.tick + 5);
    let after_n = after.map(|record| record.port_force_n[0]);
    assert_eq!(after_n, Some(1.0), "the steady force returns");
}
