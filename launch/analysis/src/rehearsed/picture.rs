//! What a report draws of tissue that was operated on: two sections at rest, and the surface from above.
//!
//! Source: ours. Lengths in mm, as they are drawn; everything is of the specimen, which nobody touches.

use palpate_twin::Vec3;

use super::specimen::Specimen;

/// A square of a section.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Its middle, to the right and up \[mm\].
    pub at_mm: [f64; 2],
    /// Whether it was cut off from what is to its right, and from what is above it.
    pub cuts: [bool; 2],
    /// Red to alpha.
    pub colour: [u8; 4],
    /// Whether it is still there.
    pub there: bool,
}

/// A layer of elements, as a cut through the tissue shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Which layer it is.
    pub name: String,
    /// Width and height of a cell \[mm\].
    pub cell_mm: [f64; 2],
    /// All cells.
    pub cells: Vec<Cell>,
}

/// A triangle as it is seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Its corners, to the right and up \[mm\].
    pub corners_mm: [[f64; 2]; 3],
    /// Red, green and blue, in its light.
    pub colour: [u8; 3],
}

/// What the tissue looks like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pictures {
    /// Sections through the middle of what was done.
    pub sections: Vec<Section>,
    /// Triangles that can be seen from above, the farthest first; none if there are too many to draw.
    pub surface: Vec<Seen>,
}

/// Most triangles that are drawn: a page of a few megabytes.
const SEEN_MAX: usize = 20_000;

/// From where the tissue is looked at: as many degrees above the horizon, from the operator's right.
const LOOK: Vec3 = Vec3::new(0.35, -0.6, 0.72);

/// Share of the light that comes from everywhere.
const AMBIENT: f64 = 0.45;

impl Pictures {
    /// Of a specimen.
    #[must_use]
    pub fn of(specimen: &Specimen) -> Self {
        let middle_m = specimen.middle_m();
        Self {
            sections: vec![
                section(specimen, &middle_m, 1, "x and z at y"),
                section(specimen, &middle_m, 0, "y and z at x"),
            ],
            surface: seen(specimen),
        }
    }
}

/// A section across the x or the y axis, 0 or 1, through a place.
fn section(specimen: &Specimen, through_m: &Vec3, axis: usize, name: &str) -> Section {
    let (across, at_m) = (1 - axis, through_m[axis]);
    let mut cells: Vec<Cell> = Vec::new();
    let mut shown_mm = at_m * 1e3;
    for (place_m, cuts, colour, there) in specimen.layer(axis, at_m) {
        shown_mm = place_m[axis] * 1e3;
        cells.push(Cell {
            at_mm: [place_m[across] * 1e3, place_m.z * 1e3],
            cuts: [cuts[across], cuts[2]],
            colour,
            there,
        });
    }
    let [x_m, y_m, z_m] = specimen.spacings_m();
    Section {
        name: format!("{name} = {shown_mm:.1} mm"),
        cell_mm: [[x_m, y_m][across] * 1e3, z_m * 1e3],
        cells,
    }
}

/// Triangles that face the eye, farthest first, lit from it.
fn seen(specimen: &Specimen) -> Vec<Seen> {
    let (places_m, faces, colours) = specimen.surface();
    let look = LOOK.normalize();
    let right = Vec3::z().cross(&look).normalize();
    let up = look.cross(&right);
    let mut found: Vec<(f64, Seen)> = Vec::new();
    for face in faces {
        let corners = face.map(|corner| places_m[corner as usize]);
        let normal = (corners[1] - corners[0]).cross(&(corners[2] - corners[0]));
        let facing = normal.dot(&look) / normal.norm().max(f64::MIN_POSITIVE);
        if facing <= 0.0 {
            continue;
        }
        let light = AMBIENT + (1.0 - AMBIENT) * facing;
        let mean = |channel: usize| {
            let sum: f64 = face
                .iter()
                .map(|&c| f64::from(colours[c as usize][channel]))
                .sum();
            (light * sum / 3.0).round().clamp(0.0, 255.0) as u8
        };
        let seen = Seen {
            corners_mm: corners.map(|at| [at.dot(&right) * 1e3, at.dot(&up) * 1e3]),
            colour: [0, 1, 2].map(mean),
        };
        let near_m: f64 = corners.iter().map(|at| at.dot(&look)).sum();
        found.push((near_m, seen));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    if found.len() > SEEN_MAX {
        return Vec::new();
    }
    found.into_iter().map(|(_, seen)| seen).collect()
}
