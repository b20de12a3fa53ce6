//! Limit on the force commanded to a simulated device.

use palpate_transport::Axes;

/// Usable force by axis \[N\]: a force that is not finite becomes 0, a larger one than the limit is clamped.
#[must_use]
pub fn limited(force_n: &Axes, limit_n: &Axes) -> Axes {
    core::array::from_fn(|axis| {
        if force_n[axis].is_finite() {
            force_n[axis].clamp(-limit_n[axis], limit_n[axis])
        } else {
            0.0
        }
    })
}
