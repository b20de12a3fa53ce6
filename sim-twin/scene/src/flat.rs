//! The flat sheet of a scene file, checked. Source: ours; the sheet is that of seed-004 section 3.7.

use serde::Deserialize;

use super::SceneError;
use super::text::{field, finite, positive};
use palpate_springs::flat::FlatSheet;

/// Most nodes along an edge of what is shown.
const NODES_MAX: f64 = 400.0;

/// The table `[flat]`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlatText {
    size_m: [f64; 2],
    cell_m: f64,
    between_m: [f64; 2],
    stiffness_npm: [f64; 2],
    pinch_npm: f64,
    jaw_friction: f64,
    tent_m: f64,
}

impl FlatText {
    /// The sheet.
    pub(super) fn sheet(&self) -> Result<FlatSheet, SceneError> {
        for edge_m in self.size_m {
            positive("flat.size_m", edge_m)?;
        }
        positive("flat.cell_m", self.cell_m)?;
        let cells = self.size_m.map(|edge_m| (edge_m / self.cell_m).round());
        if cells.iter().any(|cells| !(1.0..NODES_MAX).contains(cells)) {
            let expected = "1 to 399 cells along each edge of flat.size_m";
            return Err(field("flat.cell_m", self.cell_m, expected));
        }
        for place_m in self.between_m {
            finite("flat.between_m", place_m)?;
        }
        if self.between_m[0] >= self.between_m[1] {
            let found = format!("{:?}", self.between_m);
            return Err(field(
                "flat.between_m",
                found,
                "the left place before the right one",
            ));
        }
        for npm in self.stiffness_npm {
            positive("flat.stiffness_npm", npm)?;
        }
        positive("flat.pinch_npm", self.pinch_npm)?;
        if !(0.0..=10.0).contains(&self.jaw_friction) {
            return Err(field("flat.jaw_friction", self.jaw_friction, "0 to 10"));
        }
        positive("flat.tent_m", self.tent_m)?;
        Ok(FlatSheet {
            size_m: self.size_m,
            cell_m: self.cell_m,
            between_m: self.between_m,
            stiffness_npm: self.stiffness_npm,
            pinch_npm: self.pinch_npm,
            jaw_friction: self.jaw_friction,
            tent_m: self.tent_m,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::load;

    #[test]
    fn what_is_no_flat_sheet_is_named() {
        let plain = super::super::text("flat-sheet").expect("built in");
        for (from, to, named) in [
            ("cell_m = 0.002", "cell_m = 1e-9", "flat.cell_m"),
            ("[-0.04, 0.04]", "[0.04, -0.04]", "flat.between_m"),
            ("[150.0, 600.0]", "[150.0, -1.0]", "flat.stiffness_npm"),
            ("tent_m = 0.025", "tent_m = nan", "flat.tent_m"),
            ("[0.12, 0.08]", "[0.12, inf]", "flat.size_m"),
            (
                "jaw_friction = 0.5",
                "jaw_friction = -1.0",
                "flat.jaw_friction",
            ),
        ] {
            let error = load(&plain.replace(from, to))
                .err()
                .map(|error| error.to_string());
            assert!(
                error.clone().is_some_and(|error| error.contains(named)),
                "{error:?}"
            );
        }
    }
}
