//! Force on the operator's blade. The robot has no blade: this force and its work stay out of the channel.

use crate::Axes;

/// Force on a blade beside the method's, and the work that the hand put into it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct BladeForce {
    /// Force demanded last, of method and blade, by axis \[N\].
    pub(super) demanded_n: Axes,
    /// Blade's part of the commanded port force, by axis \[N\].
    commanded_n: Axes,
    /// Work of the hand on the blade that it did not get back, by axis \[J\]: parting dissipated it or will return it,
    /// so that no method may send it.
    pub(super) recoverable_j: Axes,
}

impl BladeForce {
    /// Records that the handle moved \[m\] under the force of the last tick; returns the work on the blade \[J\].
    pub(super) fn record_work(&mut self, axis: usize, moved_m: f64) -> f64 {
        let work_j = self.commanded_n[axis] * moved_m;
        if work_j.is_finite() {
            self.recoverable_j[axis] = (self.recoverable_j[axis] + work_j).max(0.0);
        }
        work_j
    }

    /// Records the commanded port force, of which a blade's `edge_n` was demanded; returns the blade's part of it
    /// \[N\], in proportion to the demand.
    pub(super) fn write(&mut self, axis: usize, written_n: f64, edge_n: f64) -> f64 {
        let demanded_n = self.demanded_n[axis];
        let share = match demanded_n == 0.0 {
            true => 1.0,
            false => (written_n / demanded_n).clamp(0.0, 1.0),
        };
        self.commanded_n[axis] = -edge_n * share;
        self.commanded_n[axis]
    }
}
