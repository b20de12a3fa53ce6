//! Validation of stiffness edits.
//!
//! Source: ours.

use crate::shape::RegionShape;
use crate::twin::{Edit, EditError};

/// Returns the region of a stiffness edit in the rest configuration, its factor, and whether it is passive.
///
/// # Errors
/// [`EditError`] if a number is out of its range or the edit is of another kind.
pub fn validate_scale(edit: &Edit<'_>) -> Result<(RegionShape, f64, bool), EditError> {
    let Edit::Scale {
        shape,
        factor,
        passive,
    } = *edit
    else {
        return Err(EditError::Kind(edit.kind()));
    };
    let above_0 = |value: f64| value > 0.0 && value.is_finite();
    let is_unit = |[x, y]: [f64; 2]| (x * x + y * y - 1.0).abs() < 1e-9;
    let positive = "a finite number above 0";
    let wrong = match shape {
        // the lowest and the highest layer may be unbounded
        RegionShape::Layer { from_m, to_m } if from_m.is_nan() || to_m.is_nan() => {
            Some(("shape", f64::NAN, "two heights"))
        }
        RegionShape::Ball { centre_m, .. } if centre_m.iter().any(|x| !x.is_finite()) => {
            Some(("center_m", centre_m.sum(), "finite numbers"))
        }
        RegionShape::Ball { radius_m, .. } if !above_0(radius_m) => {
            Some(("radius_m", radius_m, positive))
        }
        RegionShape::Solid { centre_m, .. } if centre_m.iter().any(|x| !x.is_finite()) => {
            Some(("center_m", centre_m.sum(), "finite numbers"))
        }
        RegionShape::Solid { solid, .. } if !solid.half_m.iter().all(|&half_m| above_0(half_m)) => {
            Some(("half_m", solid.half_m.min(), positive))
        }
        RegionShape::Solid { solid, .. } if !is_unit(solid.axis) => {
            Some(("axis", solid.axis[0], "cosine and sine of a turn"))
        }
        _ if !above_0(factor) => Some(("factor", factor, positive)),
        _ => None,
    };
    match wrong {
        Some((field, value, expected)) => Err(EditError::Field {
            field,
            value,
            expected,
        }),
        None => Ok((shape, factor, passive)),
    }
}
