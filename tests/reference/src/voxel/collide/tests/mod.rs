//! Test bodies for the rows of collision.

mod contact;
mod maps;
mod objects;
mod probe;
mod timing;
mod walls;

use super::collision_grid::CollisionGrid;
use super::occupancy::OccupancyMap;
use palpate_twin::Vec3;

/// Returns cells of 1 m around integer places, from `low` to `high` included.
pub(super) fn cells([low, high]: [i32; 2]) -> CollisionGrid {
    let side = (high - low + 1) as u32;
    CollisionGrid::around(Vec3::repeat(f64::from(low)), 1.0, [side; 3]).expect("fit")
}

/// Returns one map of either kind.
pub(super) fn maps(sides: [i32; 2]) -> [OccupancyMap; 2] {
    let grid = cells(sides);
    [
        OccupancyMap::dense(grid).expect("small"),
        OccupancyMap::hashed(grid),
    ]
}

/// Returns numbered nodes at integer places of a box wherever `is_in` is true.
pub(super) fn voxels(
    [low, high]: [[i32; 3]; 2],
    mut is_in: impl FnMut([i32; 3]) -> bool,
) -> Vec<(u32, Vec3)> {
    let sites = (low[2]..=high[2]).flat_map(|z| {
        (low[1]..=high[1]).flat_map(move |y| (low[0]..=high[0]).map(move |x| [x, y, z]))
    });
    let places = sites
        .filter(|&site| is_in(site))
        .map(|site| Vec3::from(site.map(f64::from)));
    (0..).zip(places).collect()
}

/// Returns a cube of n nodes along each edge from a corner, all of it or its surface.
pub(super) fn cube(n: i32, from: [i32; 3], surface: bool) -> Vec<(u32, Vec3)> {
    let to = from.map(|along| along + n - 1);
    let bare = |site: [i32; 3]| (0..3).any(|a| site[a] == from[a] || site[a] == to[a]);
    voxels([from, to], |site| !surface || bare(site))
}

/// Returns the lattice ball of a radius about the origin.
pub(super) fn ball(radius: i32) -> Vec<(u32, Vec3)> {
    let inside = |[x, y, z]: [i32; 3]| x * x + y * y + z * z <= radius * radius;
    voxels([[-radius; 3], [radius; 3]], inside)
}
