//! Which elements of a volume must be in a map, and whether the map's cells are small enough for it.
//!
//! Source: seed-001 rows CD-03 (spacing against cells) and CD-10 (surface elements only).

use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;

/// Spacing over the size of a cell from which a map can miss a tool two cells wide (seed-001 L166).
pub const SPACING_MAX: f64 = 2.0;

/// Elements with a side to the outside: those that lack a neighbour.
#[must_use]
pub fn surface<R: Real>(links: &Elements<R>) -> Vec<u32> {
    let bare = |&e: &u32| {
        let mut all = Direction::ALL.iter();
        links.alive(e) && all.any(|&to| links.neighbour(e, to).is_none())
    };
    (0..links.slots()).filter(bare).collect()
}

/// All elements that are there.
#[must_use]
pub fn all<R: Real>(links: &Elements<R>) -> Vec<u32> {
    (0..links.slots()).filter(|&e| links.alive(e)).collect()
}

/// Elements with their places \[m\], as maps take them.
#[must_use]
pub fn placed<R: Real>(elements: &Elements<R>, which: &[u32]) -> Vec<(u32, Vec3)> {
    let place = |&element: &u32| (element, elements.at_m(element));
    which.iter().map(place).collect()
}

/// How well cells resolve a deformed volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Resolution {
    /// Farthest that linked elements are apart along an axis of the world, over the size of a cell.
    pub spacing: f64,
}

impl Resolution {
    /// Of a volume in cells of this size \[m\].
    #[must_use]
    pub fn of<R: Real>(elements: &Elements<R>, pitch_m: f64) -> Self {
        let mut apart_m: f64 = 0.0;
        for element in 0..elements.slots() {
            for to in Direction::UP {
                if let Some(other) = elements.neighbour(element, to) {
                    let way_m = elements.at_m(other) - elements.at_m(element);
                    apart_m = apart_m.max(way_m.amax());
                }
            }
        }
        Self {
            spacing: apart_m / pitch_m,
        }
    }

    /// Whether the map is under-resolved: a tool may slip between elements, and [`super::scales`] is what finds it.
    #[must_use]
    pub fn under(&self) -> bool {
        self.spacing.is_nan() || self.spacing > SPACING_MAX
    }
}
