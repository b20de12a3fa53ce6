//! What holds the operator's blade. The robot has no blade: neither that force nor its work is on the line.

use crate::Axes;

/// The force on a blade beside the method's, and what the hand put into it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Blade {
    /// Force that was demanded last, of method and blade, by axis \[N\].
    pub(super) demanded_n: Axes,
    /// Of the port's force, what was written of a blade's, by axis \[N\].
    written_n: Axes,
    /// What the hand put into that and did not get back, by axis \[J\]: parting took it or will give it back, and
    /// it is nobody else's.
    pub(super) kept_j: Axes,
}

impl Blade {
    /// Note that the handle moved \[m\] under the force of the last tick; returns the work on the blade \[J\].
    pub(super) fn book(&mut self, axis: usize, moved_m: f64) -> f64 {
        let work_j = self.written_n[axis] * moved_m;
        if work_j.is_finite() {
            self.kept_j[axis] = (self.kept_j[axis] + work_j).max(0.0);
        }
        work_j
    }

    /// Note the whole force that is written, of which `edge_n` of a blade's was demanded; returns what was written
    /// of that \[N\], the share of all that was demanded.
    pub(super) fn write(&mut self, axis: usize, written_n: f64, edge_n: f64) -> f64 {
        let demanded_n = self.demanded_n[axis];
        let share = match demanded_n == 0.0 {
            true => 1.0,
            false => (written_n / demanded_n).clamp(0.0, 1.0),
        };
        self.written_n[axis] = -edge_n * share;
        self.written_n[axis]
    }
}
