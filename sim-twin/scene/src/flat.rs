//! Validation of the flat sheet of a scene file.

use super::SceneError;
use super::text::{field_error, require_finite, require_positive};
use palpate_springs::flat::FlatSheet;

/// Most nodes along an edge of the displayed grid.
const NODES_MAX: f64 = 400.0;

/// Returns the sheet if every number of it is in its range.
pub(super) fn validated(sheet: &FlatSheet) -> Result<FlatSheet, SceneError> {
    for edge_m in sheet.size_m {
        require_positive("flat.size_m", edge_m)?;
    }
    require_positive("flat.cell_m", sheet.cell_m)?;
    let cells = sheet.size_m.map(|edge_m| (edge_m / sheet.cell_m).round());
    if cells.iter().any(|cells| !(1.0..NODES_MAX).contains(cells)) {
        let expected = "1 to 399 cells along each edge of flat.size_m";
        return Err(field_error("flat.cell_m", sheet.cell_m, expected));
    }
    for place_m in sheet.between_m {
        require_finite("flat.between_m", place_m)?;
    }
    if sheet.between_m[0] >= sheet.between_m[1] {
        let found = format!("{:?}", sheet.between_m);
        return Err(field_error(
            "flat.between_m",
            found,
            "the left place before the right one",
        ));
    }
    for npm in sheet.stiffness_npm {
        require_positive("flat.stiffness_npm", npm)?;
    }
    require_positive("flat.pinch_npm", sheet.pinch_npm)?;
    if !(0.0..=10.0).contains(&sheet.jaw_friction) {
        return Err(field_error(
            "flat.jaw_friction",
            sheet.jaw_friction,
            "0 to 10",
        ));
    }
    require_positive("flat.tent_m", sheet.tent_m)?;
    Ok(*sheet)
}

#[cfg(test)]
mod tests {
    use super::super::load;

    #[test]
    fn invalid_flat_sheets_are_named() {
        let plain = super::super::scene_text("flat-sheet").expect("built in");
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
