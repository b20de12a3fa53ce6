//! Ranges and defaults of the options.
//!
//! Source: ours.

use palpate_twin::Vec3;

use super::DetectOptions;
use crate::messages::wrong;

/// Replaces empty depths and radii by multiples of those of the scene's lump, its centre and radius \[m\].
pub(super) fn with_defaults(
    mut options: DetectOptions,
    centre_m: Vec3,
    radius_m: f64,
) -> DetectOptions {
    if options.depths_m.is_empty() {
        options.depths_m = [0.8, 1.0, 1.5, 2.0].map(|f| f * -centre_m.z).to_vec();
    }
    if options.radii_m.is_empty() {
        options.radii_m = [0.6, 1.0, 1.5].map(|f| f * radius_m).to_vec();
    }
    options
}

/// Checks the options for a block of a height \[m\]; names the first flag that is out of its range.
pub(super) fn check(options: &DetectOptions, height_m: f64) -> Result<(), String> {
    let number = |field, value: f64, right: bool, expected: &str| match right {
        true => Ok(()),
        false => Err(wrong(field, value, expected)),
    };
    let DetectOptions { press_m, noise, .. } = *options;
    let height_mm = 1e3 * height_m;
    let below = format!("more than 0 and less than half of the block's {height_mm:.1} mm");
    let pressed = press_m > 0.0 && press_m < 0.5 * height_m;
    number("--press-mm", 1e3 * press_m, pressed, &below)?;
    let share = "a share of the force, more than 0 and at most 1";
    number("--noise", noise, noise > 0.0 && noise <= 1.0, share)?;
    let size = "a length inside the block, more than 0";
    for (field, list) in [
        ("--depths-mm", &options.depths_m),
        ("--radii-mm", &options.radii_m),
    ] {
        for &value in list {
            number(field, 1e3 * value, value > 0.0 && value < height_m, size)?;
        }
    }
    let factor = "a factor above 0 and at most 10000";
    options
        .contrasts
        .iter()
        .try_for_each(|&value| number("--contrasts", value, value > 0.0 && value <= 1e4, factor))
}
