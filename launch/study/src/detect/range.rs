//! What can be swept, and what is swept if nothing is said.
//!
//! Source: ours.

use palpate_twin::Vec3;

use super::{DetectError, Options};

/// Depths and radii around those of the scene's lump, its centre and radius \[m\], where none are given.
pub(super) fn with_defaults(mut options: Options, centre_m: Vec3, radius_m: f64) -> Options {
    if options.depths_m.is_empty() {
        options.depths_m = [0.8, 1.0, 1.5, 2.0].map(|f| f * -centre_m.z).to_vec();
    }
    if options.radii_m.is_empty() {
        options.radii_m = [0.6, 1.0, 1.5].map(|f| f * radius_m).to_vec();
    }
    options
}

/// Names the first flag that is out of its range, of a block so high \[m\].
pub(super) fn check(options: &Options, height_m: f64) -> Result<(), DetectError> {
    let below = format!(
        "more than 0 and less than half of the block's {:.1} mm",
        1e3 * height_m
    );
    let number = |field, value: f64, right: bool, expected: &str| {
        if right {
            return Ok(());
        }
        Err(DetectError::Field {
            field,
            value,
            expected: expected.to_owned(),
        })
    };
    let Options { press_m, noise, .. } = *options;
    let pressed = press_m > 0.0 && press_m < 0.5 * height_m;
    number("--press-mm", 1e3 * press_m, pressed, &below)?;
    let noisy = noise > 0.0 && noise <= 1.0;
    number(
        "--noise",
        noise,
        noisy,
        "a share of the force, more than 0 and at most 1",
    )?;
    let size = "a length inside the block, more than 0";
    for (field, list) in [
        ("--depths-mm", &options.depths_m),
        ("--radii-mm", &options.radii_m),
    ] {
        for &value in list {
            number(field, 1e3 * value, value > 0.0 && value < height_m, size)?;
        }
    }
    for &value in &options.contrasts {
        let right = value > 0.0 && value <= 1e4;
        number(
            "--contrasts",
            value,
            right,
            "a factor above 0 and at most 10000",
        )?;
    }
    Ok(())
}
