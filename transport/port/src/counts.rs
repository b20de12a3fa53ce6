//! What went wrong at a simulated device, and what is made of a force that cannot be used.

use palpate_transport::Axes;

/// What went wrong at a device so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Forces that were not finite, taken as 0.
    pub refused_forces: u64,
    /// Writes whose force was beyond what the device can give.
    pub saturations: u64,
    /// Forces of the environment that were not finite or absurd, taken as 0 or cut (robots).
    pub environment_faults: u64,
    /// Times that a simulated plant was not a number and began again.
    pub resets: u64,
    /// Times that the simulated plant was too far behind and jumped.
    pub time_jumps: u64,
}

impl Counts {
    /// The force that can be looked at \[N\]: not finite counts as 0 and is counted, larger is cut.
    pub fn finite(&mut self, force_n: &Axes, limit_n: &Axes) -> Axes {
        if force_n.iter().any(|force| !force.is_finite()) {
            self.refused_forces += 1;
        }
        core::array::from_fn(|axis| limited(force_n[axis], limit_n[axis]))
    }

    /// The force that the device can give \[N\], likewise; a larger one is counted as well.
    pub fn accepted(&mut self, force_n: &Axes, limit_n: &Axes) -> Axes {
        let mut pairs = force_n.iter().zip(limit_n);
        if pairs.any(|(force, limit)| force.is_finite() && force.abs() > *limit) {
            self.saturations += 1;
        }
        self.finite(force_n, limit_n)
    }

    /// The environment's force that can be used \[N\], likewise.
    pub fn trusted(&mut self, force_n: &Axes, limit_n: f64) -> Axes {
        // a not-a-number is not within the limit either
        if !force_n.iter().all(|force| force.abs() <= limit_n) {
            self.environment_faults += 1;
        }
        force_n.map(|force| limited(force, limit_n))
    }
}

fn limited(force_n: f64, limit_n: f64) -> f64 {
    if force_n.is_finite() {
        force_n.clamp(-limit_n, limit_n)
    } else {
        0.0
    }
}
