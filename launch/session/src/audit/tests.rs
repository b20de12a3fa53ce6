//! Tests of the audit against sums computed by hand.

use palpate_transport::trace::Side;
use proptest::prelude::*;

use super::*;

fn stream(side: Side, signals: &[(i64, f64, f64)]) -> Vec<TickRecord> {
    signals
        .iter()
        .enumerate()
        .map(|(k, &(at_ms, x_m, f_n))| TickRecord {
            side,
            tick: k as u64,
            now_ns: at_ms * 1_000_000,
            port_position_m: [0.0, 0.0, x_m, 0.0],
            port_force_n: [0.0, 0.0, f_n, 0.0],
            held_to_m: [0.0, 0.0, x_m, 0.0],
            ..TickRecord::default()
        })
        .collect()
}

#[test]
fn released_force_does_no_work() {
    let mut master = stream(Side::Master, &[(0, 0.0, 2.0), (9, -0.003, 0.0)]);
    let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (9, 0.0, 0.0)]);
    assert!((judge(&master, &slave, 0).energy_in_j[2] + 6e-3).abs() < 1e-15);
    master[1].held_to_m[2] = 0.001;
    // without the flag in its record, a release is not accepted
    assert!((judge(&master, &slave, 0).energy_in_j[2] + 6e-3).abs() < 1e-15);
    master[1].given = InputFlags::FORCE_RELEASED;
    // nor with the flag in a tick that came in time
    let mut in_time = master.clone();
    in_time[1].now_ns = 1_000_000;
    assert!((judge(&in_time, &slave, 0).energy_in_j[2] + 6e-3).abs() < 1e-15);
    let audit = judge(&master, &slave, 0);
    assert!((audit.energy_in_j[2] - 2e-3).abs() < 1e-15);
    assert_eq!(audit.violations, 0);
}

fn judge(master: &[TickRecord], slave: &[TickRecord], ahead_ms: i64) -> Audit {
    let ports = PortTraces {
        master,
        slave,
        slave_clock_ahead: Span(ahead_ms * 1_000_000),
    };
    audit(&ports, 100)
}

#[test]
fn known_energies_are_summed() {
    // in: 2 N held over 3 mm, then 1 N over 1 mm = 7 mJ; out: 4 N over 1 mm = 4 mJ
    let master = stream(
        Side::Master,
        &[
            (0, 0.0, 2.0),
            (1, 0.003, 1.0),
            (2, 0.004, 9.0),
            (9, 0.004, 0.0),
        ],
    );
    let slave = stream(
        Side::Slave,
        &[(0, 0.0, 0.0), (5, 0.001, 4.0), (9, 0.001, 3.0)],
    );
    let audit = judge(&master, &slave, 0);
    assert!((audit.energy_in_j[2] - 7e-3).abs() < 1e-15);
    assert!((audit.energy_out_j[2] - 4e-3).abs() < 1e-15);
    assert_eq!(audit.violations, 0);
    assert_eq!(audit.min_channel_energy_j, 0.0);
    assert_eq!(audit.instants, 5);
    for sample in &audit.trace {
        let stored_j = sample.in_j[2] - sample.out_j[2];
        let bounds_j = sample.min_j[2] - 1e-15..=sample.max_j[2] + 1e-15;
        assert!(
            bounds_j.contains(&stored_j),
            "{stored_j} within {bounds_j:?}"
        );
    }
    let last = audit.trace.last().unwrap();
    assert!((last.in_j[2] - last.out_j[2] - 3e-3).abs() < 1e-15);
}

#[test]
fn energy_out_before_in_is_a_violation() {
    let master = stream(
        Side::Master,
        &[(0, 0.0, 2.0), (6, 0.003, 2.0), (8, 0.003, 0.0)],
    );
    let slave = stream(
        Side::Slave,
        &[(0, 0.0, 0.0), (4, 0.001, 4.0), (8, 0.001, 0.0)],
    );
    let audit = judge(&master, &slave, 0);
    assert_eq!(audit.violations, 1);
    assert_eq!(audit.first_violation_ns, Some(4_000_000));
    assert!((audit.min_channel_energy_per_axis_j[2] + 4e-3).abs() < 1e-15);
    // the same slave on a clock 3 ms behind delivers after the payment
    assert_eq!(judge(&master, &slave, -3).violations, 0);
}

#[test]
fn energy_of_one_axis_does_not_cover_another() {
    let mut master = stream(
        Side::Master,
        &[(0, 0.0, 2.0), (1, 0.003, 0.0), (2, 0.003, 0.0)],
    );
    let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (2, 0.001, 4.0)]);
    for record in &mut master {
        record.port_position_m.swap(0, 2);
        record.port_force_n.swap(0, 2);
        record.held_to_m.swap(0, 2);
    }
    let audit = judge(&master, &slave, 0);
    assert_eq!(audit.min_channel_energy_j, 0.0);
    assert_eq!(audit.violations, 1);
}

#[test]
fn not_a_number_is_a_violation() {
    let master = stream(
        Side::Master,
        &[(0, 0.0, 1.0), (1, f64::NAN, 1.0), (2, 0.0, 0.0)],
    );
    let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (2, 0.0, 0.0)]);
    assert!(judge(&master, &slave, 0).violations > 0);
}

#[test]
fn missing_ticks_are_counted() {
    let mut master = stream(Side::Master, &[(0, 0.0, 0.0), (1, 0.0, 0.0), (5, 0.0, 0.0)]);
    let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (5, 0.0, 0.0)]);
    master[2].tick = 5;
    let audit = judge(&master, &slave, 0);
    assert_eq!((audit.gaps, audit.missing), (1, 3));
}

#[test]
fn unpaired_records_at_the_end_are_not_judged() {
    let master = stream(Side::Master, &[(0, 0.0, 0.0), (1, 0.0, 0.0)]);
    let slave = stream(Side::Slave, &[(0, 0.0, 0.0), (1, 0.0, 0.0), (2, 1.0, 1.0)]);
    let audit = judge(&master, &slave, 0);
    assert_eq!(
        (audit.unpaired_records, audit.violations, audit.instants),
        (1, 0, 2)
    );
    assert_eq!(judge(&master, &[], 0).instants, 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Second route: the sums by a plain loop over a pure delay line, which is passive.
    #[test]
    fn delay_line_is_passive_and_time_advance_is_not(
        steps in prop::collection::vec((-1e-3..1e-3f64, 0.0..5.0f64), 3..60),
        delay in 1usize..5,
    ) {
        let (mut x, mut signals) = (0.0, Vec::new());
        for (k, &(dx, f)) in steps.iter().enumerate() {
            x += dx;
            // the handle pushes in the direction in which it will move: only energy in
            let ahead = steps.get(k + 1).map_or(0.0, |n| n.0);
            signals.push((k as i64, x, f * ahead.signum()));
        }
        let master = stream(Side::Master, &signals);
        let mut out = vec![(0, signals[0].1, 0.0)];
        for k in 1..signals.len() {
            out.push(((k + delay) as i64, signals[k].1, signals[k - 1].2));
        }
        let mut slave = stream(Side::Slave, &out);
        let idle = TickRecord { now_ns: 1_000_000_000, tick: 99, ..*master.last().unwrap() };
        let rest = TickRecord { now_ns: 1_000_000_000, tick: 99, ..*slave.last().unwrap() };
        let master: Vec<_> = master.into_iter().chain([idle]).collect();
        slave.push(rest);
        let good = judge(&master, &slave, 0);
        prop_assert_eq!(good.violations, 0);
        let plain: f64 = (1..signals.len())
            .map(|k| signals[k - 1].2 * (signals[k].1 - signals[k - 1].1)).sum();
        prop_assert!((good.energy_in_j[2] - plain).abs() < 1e-12);
        prop_assert!((good.energy_out_j[2] - plain).abs() < 1e-12);
        if plain > 1e-6 {
            let early: Vec<_> = slave.iter()
                .map(|r| TickRecord { now_ns: r.now_ns - 100_000_000, ..*r }).collect();
            prop_assert!(judge(&master, &early, 0).violations > 0);
        }
    }
}
