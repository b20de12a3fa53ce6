//! Extremes of the robot over every tick, for the checks of its limits: force, speed, workspace and unwanted motion.
//!
//! Source: ours; the stopping distance is that of `palpate_slave::stopping_distance_m`.

use palpate_transport::trace::TickRecord;
use palpate_transport::{AXES, Axes};

use super::norm_xyz;

/// Number of the operating state in which the robot may move.
const ENABLED: u8 = 1;

/// Share by which the smoothed velocity follows the measured one in a tick: 10 ms, so that the steps of an encoder are no
/// speed.
const SMOOTHING: f64 = 0.1;

/// Extremes of a robot.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RobotExtremes {
    /// Largest force of the tissue on the probe, by axis \[N\].
    pub(crate) contact_n: Axes,
    /// Largest smoothed speed, by axis \[m/s\].
    pub(crate) speed_mps: Axes,
    /// Least and largest position, by axis \[m\]; none before the first tick.
    pub(crate) extent_m: Option<[Axes; 2]>,
    /// Largest motion while the robot was not enabled \[m\].
    pub(crate) uncommanded_m: f64,
    /// Largest part of such a motion beyond the stopping distance \[m\].
    pub(crate) unexplained_m: f64,
    /// Largest stopping distance at the begin of a stop \[m\].
    pub(crate) stopping_m: f64,
    /// Largest change of the contact force during a stop \[N\], to which the robot yields.
    pub(crate) yield_n: f64,
    velocity_mps: Axes,
    stop: Option<Stop>,
}

/// State of the robot when it stopped being enabled.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Stop {
    position_m: Axes,
    contact_n: Axes,
    distance_m: f64,
}

impl RobotExtremes {
    /// Counts the next record of the slave.
    pub(super) fn add(&mut self, record: &TickRecord) {
        let extent_m = self.extent_m.get_or_insert([record.position_m; 2]);
        for (bound_m, larger) in extent_m.iter_mut().zip([f64::min, f64::max]) {
            *bound_m = core::array::from_fn(|axis| larger(bound_m[axis], record.position_m[axis]));
        }
        for axis in 0..AXES {
            let velocity_mps = &mut self.velocity_mps[axis];
            *velocity_mps += SMOOTHING * (record.velocity_mps[axis] - *velocity_mps);
            keep_larger(&mut self.speed_mps[axis], velocity_mps.abs());
            keep_larger(&mut self.contact_n[axis], record.peak_contact_n[axis].abs());
        }
        self.watch_stop(record);
    }

    /// Measures the distance of the probe from its position when the robot stopped being enabled.
    fn watch_stop(&mut self, record: &TickRecord) {
        if record.state == ENABLED {
            self.stop = None;
            return;
        }
        let stop = *self.stop.get_or_insert_with(|| Stop {
            position_m: record.position_m,
            contact_n: record.tissue_force_n,
            distance_m: palpate_slave::stopping_distance_m(norm_xyz(&record.velocity_mps)),
        });
        let moved_m = distance(&record.position_m, &stop.position_m);
        keep_larger(&mut self.uncommanded_m, moved_m);
        keep_larger(
            &mut self.unexplained_m,
            (moved_m - stop.distance_m).max(0.0),
        );
        keep_larger(&mut self.stopping_m, stop.distance_m);
        let changed_n = distance(&record.tissue_force_n, &stop.contact_n);
        keep_larger(&mut self.yield_n, changed_n);
    }

    /// Largest distance outside of a workspace, over x, y and z \[m\].
    pub(crate) fn outside_m(&self, low_m: &Axes, high_m: &Axes) -> f64 {
        let Some([least_m, most_m]) = &self.extent_m else {
            return 0.0;
        };
        (0..3).fold(0.0, |outside_m: f64, axis| {
            outside_m
                .max(low_m[axis] - least_m[axis])
                .max(most_m[axis] - high_m[axis])
        })
    }
}

/// Distance between x, y and z of two points.
fn distance(a: &Axes, b: &Axes) -> f64 {
    norm_xyz(&core::array::from_fn::<f64, AXES, _>(|k| a[k] - b[k]))
}

/// Replaces a value by a larger one; unlike `f64::max`, NaN is kept.
pub(super) fn keep_larger(most: &mut f64, value: f64) {
    if value.is_nan() || value > *most {
        *most = value;
    }
}
