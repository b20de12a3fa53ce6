//! What edits of stiffness ask for, and what of that is refused.
//!
//! Source: ours.

use crate::Vec3;
use crate::shape::Shape;
use crate::twin::{Edit, EditError};

/// Where stiffness is to change, in the rest configuration.
#[derive(Debug, Clone, Copy)]
pub enum Stiffening {
    /// Fading from a place to a radius \[m\].
    Fading(Vec3, f64),
    /// By its share of a region.
    Region(Shape),
}

/// Where an edit changes stiffness, by which factor, and whether passively.
///
/// # Errors
/// [`EditError`] if a number is out of its range or the edit is of another kind.
pub fn checked(edit: &Edit<'_>) -> Result<(Stiffening, f64, bool), EditError> {
    let field = |field, value, expected| EditError::Field {
        field,
        value,
        expected,
    };
    let positive = |name, value: f64| {
        if value > 0.0 && value.is_finite() {
            return Ok(());
        }
        Err(field(name, value, "a finite number above 0"))
    };
    let place = |name, at_m: Vec3| {
        if at_m.iter().all(|x| x.is_finite()) {
            return Ok(());
        }
        Err(field(name, at_m.sum(), "finite numbers"))
    };
    let (change, factor, passive) = match *edit {
        Edit::Stiffen {
            center_m,
            radius_m,
            factor,
            passive,
        } => (Stiffening::Fading(center_m, radius_m), factor, passive),
        Edit::Scale {
            shape,
            factor,
            passive,
        } => (Stiffening::Region(shape), factor, passive),
        _ => return Err(EditError::Kind(edit.kind())),
    };
    match change {
        Stiffening::Region(Shape::All) => {}
        Stiffening::Region(Shape::Layer { from_m, to_m }) => {
            // the lowest and the highest may go on without end
            if from_m.is_nan() || to_m.is_nan() {
                return Err(field("shape", f64::NAN, "two heights"));
            }
        }
        Stiffening::Region(Shape::Ball { centre_m, radius_m })
        | Stiffening::Fading(centre_m, radius_m) => {
            place("center_m", centre_m)?;
            positive("radius_m", radius_m)?;
        }
    }
    positive("factor", factor)?;
    Ok((change, factor, passive))
}
