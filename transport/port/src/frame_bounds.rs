//! Bounds of a received frame: what a declared device can have done in the time since the last one.
//!
//! A frame beyond them was forged, or its sender is broken; it is refused as a whole, and the next one is compared with
//! the last accepted frame. So a device that really leapt is accepted again once it had time for the leap.
//! Source: ours, on teleop E19; the wave of a port is `u = (b v + F) / sqrt(2 b)` (Niemeyer and Slotine 1991).
//!
//! | symbol | quantity | unit |
//! |---|---|---|
//! | v | largest speed of a device, `coupling.device_mps_max` | m/s |
//! | F | largest force at its port, `coupling.device_n_max` | N |
//! | b | wave impedance of an axis | N s/m |

use palpate_transport::coupling::CouplingParams;
use palpate_transport::{AXES, HapticFrame};

/// Length beyond the largest speed that a position may change \[m\]: noise and steps of encoders.
const POSITION_STEP_M: f64 = 1e-3;

/// True if the values of a frame are those of a declared device.
#[must_use]
pub(crate) fn has_device_values(frame: &HapticFrame, coupling: &CouplingParams) -> bool {
    (0..AXES).all(|axis| {
        frame.velocity_mps[axis].abs() <= coupling.device_mps_max
            && frame.port_force_n[axis].abs() <= coupling.device_n_max
            && frame.contact_force_n[axis].abs() <= coupling.device_n_max
            && frame.wave[axis].abs() <= wave_max(frame, coupling, axis)
    })
}

/// True if a declared device can have changed from the frame `last` to `frame` of the same run within `passed_s`.
#[must_use]
pub(crate) fn can_follow(
    frame: &HapticFrame,
    last: &HapticFrame,
    coupling: &CouplingParams,
    passed_s: f64,
) -> bool {
    let (mps, n) = (coupling.device_mps_max, coupling.device_n_max);
    // a change of b rescales the whole sum
    let units = (frame.impedance_nspm / last.impedance_nspm).sqrt();
    (0..AXES).all(|axis| {
        let moved_m = frame.position_m[axis] - last.position_m[axis];
        let waved = match units.is_finite() {
            true => frame.wave_integral[axis] - last.wave_integral[axis] * units,
            false => frame.wave_integral[axis] - last.wave_integral[axis],
        };
        let credit_j = frame.energy_sent_j[axis] - last.energy_sent_j[axis];
        moved_m.abs() <= mps * passed_s + POSITION_STEP_M
            && waved.abs() <= wave_max(frame, coupling, axis) * passed_s
            && credit_j <= n * mps * passed_s
    })
}

/// Largest wave of a declared device \[sqrt(W)\]; 0 if b is out of its range, as no port has one then.
fn wave_max(frame: &HapticFrame, coupling: &CouplingParams, axis: usize) -> f64 {
    frame.wave_impedance_nspm().map_or(0.0, |own_nspm| {
        let b = own_nspm * coupling.impedance_ratio[axis];
        (b * coupling.device_mps_max + coupling.device_n_max) / (2.0 * b).sqrt()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> HapticFrame {
        HapticFrame {
            impedance_nspm: 10.0,
            ..HapticFrame::default()
        }
    }

    /// Changes one field of a frame to a value.
    type Change = fn(&mut HapticFrame, f64);

    #[test]
    fn frame_is_refused_just_beyond_each_bound() {
        let coupling = CouplingParams::default();
        let (mps, n) = (coupling.device_mps_max, coupling.device_n_max);
        let wave = (10.0 * mps + n) / 20.0_f64.sqrt();
        let values: [(Change, f64); 4] = [
            (|frame, value| frame.velocity_mps[1] = value, mps),
            (|frame, value| frame.port_force_n[2] = value, n),
            (|frame, value| frame.contact_force_n[0] = value, n),
            (|frame, value| frame.wave[3] = value, wave),
        ];
        for (change, bound) in values {
            let admits = |value| {
                let mut frame = frame();
                change(&mut frame, value);
                has_device_values(&frame, &coupling)
            };
            assert!(admits(0.999 * bound) && admits(-0.999 * bound), "{bound}");
            assert!(!admits(1.001 * bound) && !admits(-1.001 * bound), "{bound}");
        }
        let without_b = HapticFrame {
            impedance_nspm: 0.0,
            wave: [0.1; AXES],
            ..frame()
        };
        assert!(!has_device_values(&without_b, &coupling));
        let passed_s = 0.02;
        let steps: [(Change, f64); 3] = [
            (
                |frame, value| frame.position_m[1] += value,
                mps * passed_s + 1e-3,
            ),
            (
                |frame, value| frame.wave_integral[2] += value,
                wave * passed_s,
            ),
            (
                |frame, value| frame.energy_sent_j[0] += value,
                n * mps * passed_s,
            ),
        ];
        for (change, bound) in steps {
            let mut last = frame();
            change(&mut last, 0.3);
            let admits = |value| {
                let mut frame = last;
                change(&mut frame, value);
                can_follow(&frame, &last, &coupling, passed_s)
            };
            assert!(admits(0.999 * bound), "{bound}");
            assert!(!admits(1.001 * bound), "{bound}");
        }
    }

    #[test]
    fn retuned_sum_of_waves_follows() {
        let coupling = CouplingParams::default();
        let last = HapticFrame {
            wave_integral: [100.0; AXES],
            ..frame()
        };
        let retuned = HapticFrame {
            impedance_nspm: 40.0,
            wave_integral: [200.0; AXES],
            ..frame()
        };
        assert!(can_follow(&retuned, &last, &coupling, 1e-3));
        let kept = HapticFrame {
            wave_integral: [100.0; AXES],
            ..retuned
        };
        assert!(!can_follow(&kept, &last, &coupling, 1e-3));
    }
}
