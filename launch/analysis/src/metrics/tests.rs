//! A synthetic session with known answers, also used by the report's tests.

use palpate_session::audit::{PortTraces, audit};
use palpate_transport::AXES;
use palpate_transport::trace::{EventFlags, Side};

use super::*;
use crate::summary::{SessionLimits, TwinSummary};

const FWD_NS: i64 = 50_000_000;
const BACK_NS: i64 = 50_000_000;
const SOFT_NPM: f64 = 300.0;
const LUMP_NPM: f64 = 420.0;

/// Records and facts of a synthetic session with known results.
pub(crate) struct Example {
    /// Master's records.
    pub master: Vec<TickRecord>,
    /// Slave's records.
    pub slave: Vec<TickRecord>,
    /// Facts.
    pub facts: SessionFacts,
}

fn true_npm(phase: u16) -> f64 {
    if phase == 5 { LUMP_NPM } else { SOFT_NPM }
}

/// Height of the handle and phase at a tick: nine presses of 1 s, 8 mm deep, with travel between.
fn motion(tick: i64) -> (f64, u16) {
    let (site, within) = (tick.div_euclid(2000), tick.rem_euclid(2000) as f64 * 1e-3);
    if tick < 0 || site >= 9 || within >= 1.2 {
        return (0.010, if tick < 0 { 0 } else { 10 });
    }
    // down, dwell, up
    let ramp = |from: f64| ((within - from) / 0.4).clamp(0.0, 1.0);
    let smooth = |r: f64| r * r * r * (10.0 + r * (6.0 * r - 15.0));
    let rise = smooth(ramp(0.0)) - smooth(ramp(0.8));
    (0.010 - 0.018 * rise, site as u16 + 1)
}

/// Returns a tick of a side that follows `delay_ns` after the hand, on tissue of a stiffness by phase.
fn record(side: Side, tick: i64, delay_ns: i64, npm: &dyn Fn(u16) -> f64) -> TickRecord {
    let (z_m, phase) = motion(tick - 500 - delay_ns / 1_000_000);
    let place = f64::from((phase.max(1) - 1) % 3) * 0.01 - 0.01;
    let force_n = (-z_m).max(0.0) * npm(phase);
    let position_m = [place, 0.0, z_m, if tick == 0 { 0.0 } else { 0.01 }];
    let (later_m, _) = motion(tick + 1 - 500 - delay_ns / 1_000_000);
    // an uneven speed separates depth, rate and acceleration
    let rate_mps = (later_m - z_m) * 1e3;
    let back_ms = tick - BACK_NS / 1_000_000;
    TickRecord {
        side,
        tick: tick as u64,
        now_ns: tick * 1_000_000,
        late_ns: 4_000 + (tick * 7919 % 9_000),
        compute_ns: 9_000 + (tick * 104_729 % 11_000),
        position_m,
        velocity_mps: [0.0, 0.0, rate_mps, 0.0],
        port_position_m: position_m,
        held_to_m: position_m,
        // the hand first closes the gripper: 10 mJ, more than sampled presses give back
        port_force_n: [0.0, 0.0, -force_n, f64::from(tick == 0)],
        tissue_force_n: [0.0, 0.0, force_n, 0.0],
        energy_received_j: [if tick == 0 { 0.0 } else { 1.0 }; AXES],
        age_ns: FWD_NS,
        oneway_ns: FWD_NS + (tick * 31 % 5 - 2) * 1_000_000,
        oneway_bound_ns: 3_000_000,
        rtt_ns: 100_000_000 + (tick % 100) * 100_000,
        received_sequence: back_ms.max(0) as u64,
        received_count: (back_ms.max(0) as u64) * 49 / 50,
        state: 1,
        phase: if side == Side::Master { phase } else { 0 },
        ..TickRecord::default()
    }
}

/// Returns a session that displays `displayed` stiffness (by phase).
pub(crate) fn example(displayed: impl Fn(u16) -> f64) -> Example {
    let ticks = 20_000;
    let master = (0..ticks)
        .map(|k| record(Side::Master, k, 0, &displayed))
        .collect();
    let slave = (0..ticks)
        .map(|k| record(Side::Slave, k, FWD_NS, &true_npm))
        .collect();
    Example {
        master,
        slave,
        facts: known_facts(),
    }
}

/// Facts of the example beside its records.
fn known_facts() -> SessionFacts {
    let site = |phase| Site {
        phase,
        place_m: [
            f64::from((phase - 1) % 3) * 0.01 - 0.01,
            f64::from((phase - 1) / 3) * 0.01 - 0.01,
        ],
        true_npm: Some(true_npm(phase)),
        over_lump: phase == 5,
        ..Site::default()
    };
    SessionFacts {
        prefilled: Summary {
            command: "lab".to_owned(),
            seed: Some(7),
            servo: ServoSummary::punctual(),
            twin: TwinSummary {
                method: Some("idms".to_owned()),
                ..TwinSummary::default()
            },
            ..Summary::default()
        },
        mode: "mmt".to_owned(),
        oneway: [Some(Span(FWD_NS)), Some(Span(BACK_NS))],
        sites: (1..=9).map(site).collect(),
        frame_bytes: Some(400),
        live_parts: Some(Vec::new()),
        ..SessionFacts::default()
    }
}

/// Measures an example.
pub(crate) fn summary_of(example: &Example) -> (Audit, Summary) {
    let traces = Traces {
        master: &example.master,
        slave: &example.slave,
    };
    let ports = PortTraces {
        master: traces.master,
        slave: traces.slave,
        slave_clock_ahead: Span(0),
    };
    let audit = audit(&ports, 600);
    let summary = measure(&traces, &audit, &Tally::of(&traces), &example.facts);
    (audit, summary)
}

/// Limits of the example.
pub(crate) const LIMITS: SessionLimits = SessionLimits {
    force_n: 6.0,
    uncommanded_motion_mm: 10.0,
    tissue_n: 8.0,
    robot_mps: 0.3,
    active_j: 0.0,
    passive: true,
    forged: false,
};

fn near(found: Option<f64>, expected: f64, within: f64) {
    let found = found.expect("known");
    assert!(
        (found - expected).abs() <= within,
        "{found} is not {expected} within {within}"
    );
}

#[test]
fn stiffness_and_contrast_are_measured() {
    // the channel displays 90 % of the stiffness, and half of the lump's contrast
    let example = example(|phase| if phase == 5 { 270.0 * 1.2 } else { 270.0 });
    let (_, summary) = summary_of(&example);
    let contact = &summary.contact;
    near(contact.displayed_stiffness_npm, 270.0, 1e-4);
    near(contact.true_stiffness_npm, 300.0, 1e-9);
    near(contact.stiffness_error, -0.1, 1e-6);
    near(contact.contrast_displayed, 0.2, 1e-6);
    near(contact.contrast_true, 0.4, 1e-9);
    near(contact.contrast_transmission, 0.5, 1e-6);
    near(contact.peak_force_n, 0.008 * 324.0, 1e-3);
    // here the channel adds nothing to the twin
    near(summary.twin.stiffness_error, -0.1, 1e-6);
    near(summary.twin.contrast_transmission, 0.5, 1e-6);
}

#[test]
fn a_side_alone_judges_its_own_record_and_names_the_rest() {
    for (side, other, own) in [
        (Side::Master, "energy at the robot's measured port", "hand"),
        (Side::Slave, "energy put in by the hand", "robot"),
    ] {
        let mut example = example(true_npm);
        example.facts.only_side = Some(side);
        match side {
            Side::Master => example.slave.clear(),
            Side::Slave => example.master.clear(),
        }
        let (_, mut summary) = summary_of(&example);
        assert_eq!(summary.passivity.not_judged[1], other);
        summary.state_checks(&example.facts, &LIMITS);
        let energies = summary.checks.iter().filter(|check| check.unit == "J");
        let energies: Vec<_> = energies.map(|check| (check.held, &check.name)).collect();
        assert!(
            energies.len() == 1 && energies[0].0 && energies[0].1.contains(own),
            "{energies:?}"
        );
    }
}

#[test]
fn aligned_sides_agree_and_others_do_not() {
    let mut example = example(true_npm);
    let (_, summary) = summary_of(&example);
    near(summary.contact.force_rmse_n, 0.0, 1e-12);
    near(summary.tracking.position_rmse_mm, 0.0, 1e-12);
    near(summary.tracking.drift_mm_max, 0.0, 1e-12);
    assert_eq!(summary.tracking.resync_ms_max, None);
    "wave".clone_into(&mut example.facts.mode);
    let (_, summary) = summary_of(&example);
    assert!(summary.contact.force_rmse_n.unwrap() > 0.1);
}

#[test]
fn an_outage_has_a_resynchronisation_time() {
    let mut example = example(true_npm);
    for record in &mut example.slave[4000..4500] {
        record.age_ns = 400_000_000;
    }
    for record in &mut example.slave[4000..4530] {
        record.port_position_m[0] += 0.005;
    }
    let (_, summary) = summary_of(&example);
    near(summary.tracking.resync_ms_max, 30.0, 1e-9);
    near(summary.tracking.drift_mm_max, 5.0, 1e-6);
    near(summary.tracking.drift_mm_end, 0.0, 1e-9);
}

#[test]
fn the_link_is_counted() {
    let mut example = example(true_npm);
    let (_, summary) = summary_of(&example);
    near(summary.link.rtt_ms_p50, 105.0, 0.2);
    near(summary.link.loss, 0.02, 1e-3);
    near(summary.link.jitter_ms, 2.0_f64.sqrt(), 1e-3);
    near(summary.link.packets_per_s_fwd, 1000.0, 5.0);
    near(summary.link.bytes_per_s, 800_000.0, 4000.0);
    assert_eq!(summary.link.oneway_bound_ok_fraction, None);
    // Of five estimates, at -2..2 ms of 50 ms, those above 50.5 ms are off by more than 3 ms here.
    let truth = vec![FWD_NS - 1_500_000; example.master.len()];
    example.facts.oneway_truth = Some(OnewayTruth {
        master_ns: truth.clone(),
        slave_ns: truth,
    });
    let (_, summary) = summary_of(&example);
    near(summary.link.oneway_bound_ok_fraction, 0.8, 1e-9);
    example.facts.frames = Some(NetworkFrameCounts {
        streams: [90, 100].map(|arrived| DirectionCounts { sent: 100, arrived }),
        bytes: 0,
    });
    near(summary_of(&example).1.link.loss, 0.05, 1e-12);
}

#[test]
fn events_become_limits_trips_and_updates() {
    let mut example = example(true_npm);
    example.master[3000].events = EventFlags::FORCE_LIMIT | EventFlags::TWIN_UPDATED;
    example.master[3000].update_energy_j = 1e-3;
    for record in &mut example.slave[5000..5100] {
        record.events = EventFlags::STALE | EventFlags::DEBT_DAMPING;
        record.state = 2;
    }
    example.slave[5050].position_m[1] += 3e-3;
    for tick in (4000..4500).chain(6000..6010) {
        example.master[tick].events = EventFlags::LIMIT_CYCLE;
    }
    let (_, summary) = summary_of(&example);
    assert_eq!(summary.safety.limit_hits["force"], 1);
    assert_eq!(summary.safety.limit_hits["speed"], 0);
    assert_eq!(summary.safety.watchdog_trips, Some(1));
    assert_eq!(summary.safety.limit_cycles, Some(2));
    assert_eq!(summary.passivity.interventions, Some(100));
    assert_eq!(summary.twin.updates, Some(1));
    assert_eq!(summary.safety.state.as_deref(), Some("ENABLED"));
    assert!(summary.safety.uncommanded_motion_mm_max.unwrap() >= 3.0);
}

#[test]
fn a_collapsed_tissue_is_named_and_counted_once_per_fault() {
    let mut example = example(true_npm);
    assert_eq!(summary_of(&example).1.safety.tissue_rebuilds, Some(0));
    for tick in (4000..4500).chain(6000..6010) {
        example.slave[tick].events = EventFlags::TISSUE_COLLAPSED;
    }
    example.master[7000].events = EventFlags::INVALID_READING;
    example.master[7001].events = EventFlags::TISSUE_COLLAPSED;
    let safety = summary_of(&example).1.safety;
    assert_eq!(safety.tissue_rebuilds, Some(3));
    let expected = [
        "master: invalid reading at tick 7000",
        "master: tissue collapsed and rebuilt at tick 7001",
        "slave: tissue collapsed and rebuilt at tick 4000",
    ];
    assert_eq!(safety.faults, expected);
}

#[test]
fn confidence_and_share_count_in_contact_only_and_switches_are_counted() {
    let mut example = example(true_npm);
    assert_eq!(summary_of(&example).1.twin.switches, Some(0));
    for (tick, record) in example.master.iter_mut().enumerate() {
        let touches = record.tissue_force_n[2].abs() > 0.05;
        // values in free space do not count
        (record.confidence, record.twin_share) = if touches { (0.75, 0.25) } else { (0.0, 0.0) };
        if (2000..3000).contains(&tick) && !touches {
            record.twin_share = 1.0;
        }
    }
    example.master.last_mut().expect("a tick").twin_height_m = 0.004;
    let (_, summary) = summary_of(&example);
    near(summary.twin.height_m, 0.004, 1e-12);
    near(summary.twin.confidence, 0.75, 1e-9);
    near(summary.twin.twin_share, 0.25, 1e-9);
    assert!(summary.twin.switches.unwrap() >= 2);
}

/// A correction of 4 % within 50 ms of a press, and one of 30 % in free space, which is not felt.
#[test]
fn the_largest_correction_in_contact_is_reported() {
    let mut example = example(true_npm);
    let pressed = 500 + 600;
    for (tick, record) in example.master.iter_mut().enumerate() {
        let done = tick.saturating_sub(pressed).min(50) as f64 / 50.0;
        record.corrected = 0.3 + 0.04 * done;
    }
    example.master[0].corrected = 0.0;
    let (_, summary) = summary_of(&example);
    near(summary.twin.force_step_max_fraction_per_100ms, 0.04, 1e-9);
}

/// Frames are 50 ms old; the force is 20 % too large, and corrected by 1 % of it in every 100 ms at 1 mJ/s.
#[test]
fn correction_cost_is_grouped_by_error_and_age_of_frames() {
    let mut example = example(|phase| 1.2 * true_npm(phase));
    for (tick, record) in example.master.iter_mut().enumerate() {
        record.corrected = 1e-4 * tick as f64;
        record.update_energy_j = -1e-6 * tick as f64;
    }
    let (_, summary) = summary_of(&example);
    near(summary.twin.correction_horizon_s, 0.05, 1e-9);
    let (error_n, change_n) = (
        summary.twin.correction_error_n.unwrap(),
        summary.twin.correction_change_n.unwrap(),
    );
    // presses of up to 3 N: a fifth of the true force, a hundredth of the displayed one
    assert!(error_n > 0.2 && error_n < 0.5, "{error_n}");
    assert!(change_n > 0.01 && change_n < 0.03, "{change_n}");
    let cells = summary.twin.correction.unwrap();
    assert!(cells.iter().all(|cell| cell.horizon_s_min == 0.03));
    let windows: u64 = cells.iter().map(|cell| cell.windows).sum();
    let energy_j: f64 = cells.iter().map(|cell| cell.energy_j).sum();
    assert!(windows > 50 && (energy_j + 99e-6 * windows as f64).abs() < 1e-9);
    let bounded = |cell: &CorrectionCell| cell.change_n_mean <= cell.change_n_max + 1e-12;
    assert!(cells.iter().all(bounded));
    // a session without a twin makes no corrections
    example.facts.mode = "wave".to_owned();
    assert_eq!(summary_of(&example).1.twin.correction, None);
}

#[test]
fn the_summary_obeys_the_schema_and_virtual_time_has_no_lateness() {
    let mut example = example(true_npm);
    let (_, mut summary) = summary_of(&example);
    summary.state_checks(&SessionFacts::default(), &LIMITS);
    crate::summary::tests::check_schema(&summary.to_json());
    assert!(summary.servo.wake_us_p99.is_some());
    example.facts.live_parts = None;
    let (_, summary) = summary_of(&example);
    assert_eq!(
        (summary.servo.wake_us_p99, summary.servo.late_ticks),
        (None, None)
    );
    crate::summary::tests::check_schema(&summary.to_json());
}

#[test]
fn an_empty_session_has_no_values() {
    let summary = measure(
        &Traces::default(),
        &Audit::default(),
        &Tally::default(),
        &SessionFacts::default(),
    );
    assert_eq!(summary.contact, Default::default());
    assert_eq!(summary.link, Default::default());
    assert_eq!(summary.duration_s, None);
    crate::summary::tests::check_schema(&summary.to_json());
}

/// A force that oscillates in a press gives no stiffness, and the summary states the reason.
#[test]
fn issue_a_wall_never_touched_had_a_true_stiffness_and_an_error() {
    let mut example = example(true_npm);
    for record in &mut example.slave {
        record.tissue_force_n = [0.01, 0.0, -0.02, 0.0];
    }
    let (_, summary) = summary_of(&example);
    let contact = &summary.contact;
    let none = [
        contact.displayed_stiffness_npm,
        contact.true_stiffness_npm,
        contact.stiffness_error,
    ];
    assert_eq!((none, summary.twin.stiffness_error), ([None; 3], None));
    assert_eq!(
        contact.stiffness_unknown.as_deref(),
        Some("the tissue was not touched")
    );
    assert_eq!(contact.sites.len(), 9);
}

#[test]
fn issue_a_ringing_press_had_a_wild_stiffness() {
    let mut example = example(true_npm);
    for record in &mut example.master {
        let phase = record.tick as f64 * 0.02;
        record.port_force_n[2] *= 1.0 + phase.sin();
    }
    let (_, summary) = summary_of(&example);
    assert_eq!(summary.contact.displayed_stiffness_npm, None);
    assert_eq!(summary.contact.contrast_transmission, None);
    let reason = summary.contact.stiffness_unknown.expect("a reason");
    assert!(reason.contains("of 8 presses depth, speed and"), "{reason}");
}

/// Terms that depend on the rate have both signs in a press, down and up, and do not count as stiffness.
#[test]
fn a_quick_press_of_a_damped_tissue_shows_its_stiffness() {
    let mut example = example(|_| SOFT_NPM);
    for record in &mut example.master {
        let touching = record.port_force_n[2] < 0.0;
        record.port_force_n[2] += f64::from(u8::from(touching)) * 8.0 * record.velocity_mps[2];
    }
    let (_, summary) = summary_of(&example);
    near(summary.contact.displayed_stiffness_npm, SOFT_NPM, 0.5);
    assert!(summary.contact.press_s.is_some_and(|s| s > 0.4 && s < 1.2));
}

/// Records added one by one give the same tally as all at once.
#[test]
fn a_tally_tick_by_tick_equals_one_of_all_records() {
    let example = example(true_npm);
    let traces = Traces {
        master: &example.master,
        slave: &example.slave,
    };
    let mut tally = Tally::default();
    for (master, slave) in example.master.iter().zip(&example.slave) {
        tally.add(master);
        tally.add(slave);
    }
    assert_eq!(tally, Tally::of(&traces));
}

/// A stop at 0.1 m/s may take 0.55 mm; the rest of the motion is judged.
#[test]
fn motion_beyond_the_stopping_distance_is_reported_apart() {
    let mut example = example(true_npm);
    for record in &mut example.slave[5000..5100] {
        record.state = 2;
    }
    example.slave[5000].velocity_mps = [0.0, 0.1, 0.0, 0.0];
    example.slave[5050].position_m = example.slave[5000].position_m;
    example.slave[5050].position_m[1] += 3e-3;
    example.slave[4000].peak_contact_n[2] = -9.5;
    let robot = Tally::of(&Traces {
        master: &example.master,
        slave: &example.slave,
    })
    .robot;
    near(Some(robot.stopping_m), 0.55e-3, 1e-12);
    near(Some(robot.contact_n[2]), 9.5, 1e-12);
    assert!(robot.uncommanded_m >= 3e-3, "{robot:?}");
    assert!(robot.unexplained_m >= 2.45e-3 - 1e-12, "{robot:?}");
}
