//! A map of several sizes of cells: volumes that are stretched far are without holes in it.
//!
//! Source: seed-001 row FU-03 ("multi-scale maps / volume filling"). Every element fills the box half-way to its
//! neighbours, and lies in the map whose cells are no smaller than that box; who asks for a place looks through
//! the cells beside it of every map, and then into the boxes. So nothing is missed at any stretch, and nothing is
//! found outside of the boxes.

use crate::voxel::collide::grid::{Grid, GridError};
use crate::voxel::collide::occupancy::{Occupancy, Refused};
use palpate_twin::Vec3;
use palpate_twin::edits::Direction;
use palpate_twin::law::Real;
use palpate_voxel::elements::Elements;

/// Most sizes of cells, each twice as large as the one before.
const SIZES: usize = 16;

/// An element and how far it reaches along the axes \[m\].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fill {
    /// Which element.
    pub element: u32,
    /// Where it is \[m\].
    pub at_m: Vec3,
    /// Half of the box that it fills \[m\].
    pub half_m: Vec3,
}

impl Fill {
    /// Half-way to the farthest neighbour along every axis, half the spacing at rest where it has none.
    #[must_use]
    pub fn of<R: Real>(elements: &Elements<R>, element: u32) -> Self {
        let at_m = elements.at_m(element);
        let mut half_m = Vec3::from(elements.frame().spacing_m) * 0.5;
        for to in Direction::ALL {
            if let Some(other) = elements.neighbour(element, to) {
                let way_m = elements.at_m(other) - at_m;
                half_m = half_m.sup(&(way_m.abs() * 0.5));
            }
        }
        Self {
            element,
            at_m,
            half_m,
        }
    }
}

/// Elements of one body by how far they reach.
#[derive(Debug, Clone)]
pub struct Scales {
    maps: Vec<(Occupancy, Vec<Fill>)>,
}

impl Scales {
    /// Maps of cells from a size \[m\] up, in a box from `low_m` to `high_m`.
    ///
    /// # Errors
    /// [`ScalesError`] if the box or the cells have no size or an element is outside.
    pub fn new(
        [low_m, high_m]: [Vec3; 2],
        pitch_m: f64,
        fills: &[Fill],
    ) -> Result<Self, ScalesError> {
        let mut by_size: Vec<Vec<Fill>> = vec![Vec::new(); SIZES];
        for &fill in fills {
            let mut size = 0;
            let mut cell_m = pitch_m;
            while cell_m < 2.0 * fill.half_m.amax() && size + 1 < SIZES {
                size += 1;
                cell_m *= 2.0;
            }
            by_size[size].push(fill);
        }
        let mut maps = Vec::new();
        let mut cell_m = pitch_m;
        for fills in by_size {
            if !fills.is_empty() {
                let size = std::array::from_fn(|axis| count(high_m[axis] - low_m[axis], cell_m));
                let mut map = Occupancy::hashed(Grid::new(low_m, cell_m, size)?);
                let placed: Vec<(u32, Vec3)> = (0..)
                    .zip(&fills)
                    .map(|(nth, fill)| (nth, fill.at_m))
                    .collect();
                map.add(&placed)?;
                maps.push((map, fills));
            }
            cell_m *= 2.0;
        }
        Ok(Self { maps })
    }

    /// Elements whose boxes a place is in.
    pub fn at(&self, at_m: &Vec3, mut found: impl FnMut(u32)) {
        for (map, fills) in &self.maps {
            let Some(middle) = map.grid().cell(at_m) else {
                continue;
            };
            for beside in 0..27 {
                let off = [beside % 3 - 1, beside / 3 % 3 - 1, beside / 9 - 1];
                let cell = std::array::from_fn(|axis| middle[axis] + off[axis]);
                for (who, place_m) in map.in_cell(cell) {
                    let fill = &fills[who.element as usize];
                    let way_m = (at_m - place_m).abs();
                    if (0..3).all(|axis| way_m[axis] <= fill.half_m[axis]) {
                        found(fill.element);
                    }
                }
            }
        }
    }
}

/// Cells that a length takes.
fn count(length_m: f64, cell_m: f64) -> u32 {
    let cells = (length_m / cell_m).floor() + 1.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "cut to what a grid refuses"
    )]
    let cells = cells.clamp(0.0, f64::from(u32::MAX)) as u32;
    cells
}

/// Why there is no such map.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ScalesError {
    /// The box or the cells have no size.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// An element is outside.
    #[error(transparent)]
    Refused(#[from] Refused),
}
