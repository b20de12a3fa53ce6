//! Collision of voxel models: detection, largest free step, and contact forces.
//!
//! Source: seed-001 section 3.2 (rows CD-01 to CD-13, FU-03 to FU-05, CL-04). [`collision_grid`] maps places to
//! cells, and `cell_heads` stores the first entry of each. [`occupancy`] is the map of all bodies, dense or hashed.
//! [`multi_scale`] is its form for stretched volumes, [`local_map`] exists only where boxes overlap, and
//! [`hierarchy`] skips empty space. [`map_nodes`] selects nodes, and [`backtrack`] finds the largest step without a
//! hit.
//!
//! [`distance_map`] gives depth and normals, [`penalty`] forces from them, and [`rigid_body`] the motion of rigid
//! bodies. [`shatter`] breaks links by impact, [`soft_contact`] presses two volumes together, and
//! [`collision_course`] is the experiment of the source.

pub mod backtrack;
mod cell_heads;
pub mod collision_course;
pub mod collision_grid;
pub mod distance_map;
pub mod hierarchy;
pub mod local_map;
pub mod map_nodes;
pub mod multi_scale;
pub mod occupancy;
pub mod penalty;
pub mod rigid_body;
pub mod shatter;
pub mod soft_contact;
#[cfg(test)]
mod tests;
