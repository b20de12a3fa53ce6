//! Damping and inertia that the channel displays, in contact and in free motion.
//!
//! Source: teleop section 7 ("regress F on (x, v, a) in contact / free"). In contact they are the other two
//! coefficients of the regression that gives the stiffness of a press, meaningful only beside it. In free motion,
//! force is regressed on velocity and acceleration of x, y and z together.

use palpate_calib::fit;
use palpate_transport::Span;
use palpate_transport::trace::TickRecord;

use super::{Traces, newest_of};

/// Contact force below which a side is in free motion \[N\]: noise of the sensor.
const FREE_N: f64 = 0.05;

/// Records to either side from which an acceleration is taken, as in [`super::press`].
const ACCELERATION_RECORDS: usize = 10;

/// Records left out before and after contact, during which waves still return.
const CONTACT_MARGIN_RECORDS: usize = 200;

/// Fewest records that a fit rests on: half a second.
const RECORDS_MIN: usize = 500;

/// Impedance displayed in free motion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FreeImpedance {
    /// Damping \[N s/m\].
    pub damping_nspm: f64,
    /// Inertia \[kg\], without that of the handle itself.
    pub inertia_kg: f64,
}

/// Fits damping and inertia of free motion, over moments at which neither side touches anything. None if there are too
/// few, or if the two cannot be separated.
#[must_use]
pub(crate) fn free_impedance(traces: &Traces<'_>) -> Option<FreeImpedance> {
    let master = traces.master;
    let touches = |record: &TickRecord| (0..3).any(|a| record.tissue_force_n[a].abs() > FREE_N);
    let mut clear = vec![true; master.len()];
    // by the clock: either side may have missed ticks, or begun earlier
    for (index, (record, remote)) in newest_of(master, Span(0), traces.slave).enumerate() {
        if touches(record) || remote.is_some_and(touches) {
            let from = index.saturating_sub(CONTACT_MARGIN_RECORDS);
            let to = (index + CONTACT_MARGIN_RECORDS).min(master.len() - 1);
            clear[from..=to].fill(false);
        }
    }
    let inner = ACCELERATION_RECORDS
        ..master
            .len()
            .saturating_sub(ACCELERATION_RECORDS)
            .max(ACCELERATION_RECORDS);
    let (mut rate, mut acceleration, mut force) = (Vec::new(), Vec::new(), Vec::new());
    for index in inner.filter(|&index| clear[index]) {
        let (before, after) = (
            &master[index - ACCELERATION_RECORDS],
            &master[index + ACCELERATION_RECORDS],
        );
        let span_s = (after.now_ns - before.now_ns) as f64 * 1e-9;
        for axis in 0..3 {
            rate.push(master[index].velocity_mps[axis]);
            acceleration.push((after.velocity_mps[axis] - before.velocity_mps[axis]) / span_s);
            force.push(master[index].port_force_n[axis]);
        }
    }
    if rate.len() < 3 * RECORDS_MIN {
        return None;
    }
    let fit = fit::least_squares(&[&rate, &acceleration], &force).ok()?;
    let known = fit.unidentifiable.is_empty() && fit.coefficients.iter().all(|c| c.is_finite());
    known.then(|| FreeImpedance {
        damping_nspm: fit.coefficients[0],
        inertia_kg: fit.coefficients[1],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mass_and_a_damper_are_identified_and_contact_is_left_out() {
        let record = |tick: i64| {
            let at_s = tick as f64 * 1e-3;
            let wave = |hz: f64| libm::sincos(core::f64::consts::TAU * hz * at_s);
            let ((s1, c1), (s2, c2)) = (wave(0.7), wave(1.9));
            let v = 0.05 * s1 + 0.02 * s2;
            let a = core::f64::consts::TAU * (0.7 * 0.05 * c1 + 1.9 * 0.02 * c2);
            let touched = tick >= 4000;
            let push = if touched { 5.0 } else { 0.0 };
            TickRecord {
                now_ns: tick * 1_000_000,
                velocity_mps: [v, 0.0, 0.0, 0.0],
                port_force_n: [3.0 * v + 0.5 * a + push, 0.0, 0.0, 0.0],
                tissue_force_n: [0.0, 0.0, push, 0.0],
                ..TickRecord::default()
            }
        };
        let master: Vec<TickRecord> = (0..6000).map(record).collect();
        let traces = Traces {
            master: &master,
            slave: &[],
        };
        let found = free_impedance(&traces).expect("four seconds");
        assert!((found.damping_nspm - 3.0).abs() < 0.02, "{found:?}");
        assert!((found.inertia_kg - 0.5).abs() < 0.01, "{found:?}");
        let traces = Traces {
            master: &master[4000..],
            slave: &[],
        };
        assert_eq!(free_impedance(&traces), None);
    }

    /// The slave began two seconds late: its contact must be placed by the clock, not by record number.
    #[test]
    fn sides_are_paired_by_the_clock() {
        let record = |tick: i64, push_n: f64| {
            let (sin, cos) = libm::sincos(core::f64::consts::TAU * 0.7 * tick as f64 * 1e-3);
            let a = core::f64::consts::TAU * 0.7 * 0.05 * cos;
            TickRecord {
                now_ns: tick * 1_000_000,
                velocity_mps: [0.05 * sin, 0.0, 0.0, 0.0],
                port_force_n: [0.15 * sin + 0.5 * a + push_n, 0.0, 0.0, 0.0],
                ..TickRecord::default()
            }
        };
        let push_n = |tick: i64| {
            if (3000..3500).contains(&tick) {
                5.0
            } else {
                0.0
            }
        };
        let master: Vec<TickRecord> = (0..6000).map(|tick| record(tick, push_n(tick))).collect();
        let there = |tick: i64| TickRecord {
            now_ns: tick * 1_000_000,
            tissue_force_n: [0.0, 0.0, push_n(tick), 0.0],
            ..TickRecord::default()
        };
        let slave: Vec<TickRecord> = (2000..6000).map(there).collect();
        let traces = Traces {
            master: &master,
            slave: &slave,
        };
        let found = free_impedance(&traces).expect("five seconds");
        assert!((found.damping_nspm - 3.0).abs() < 0.02, "{found:?}");
        assert!((found.inertia_kg - 0.5).abs() < 0.01, "{found:?}");
    }
}
