//! Collision of linked volumes: who meets whom, how far a step may go, and what forces part them.
//!
//! Source: seed-001 section 3.2 (rows CD-01 to CD-13, FU-03 to FU-05, CL-04). [`grid`] says which cell a
//! place is in and `heads` who is first in it; [`occupancy`] is the map of all bodies, dense or hashed,
//! [`scales`] its form for stretched volumes, [`local`] the one that exists only where boxes overlap and
//! [`hierarchy`] the one that skips what is empty. [`backtrack`] finds the largest step without a hit.
//! [`distance`] has depth and normals, [`penalty`] the forces of them, [`rigid`] stiff bodies under these,
//! [`shatter`] links that break of an impact, [`soft`] two volumes pressed together; [`table`] is the experiment of the
//! source.

pub mod backtrack;
pub mod distance;
pub mod grid;
mod heads;
pub mod hierarchy;
pub mod local;
pub mod occupancy;
pub mod penalty;
pub mod rigid;
pub mod scales;
pub mod shatter;
pub mod shell;
pub mod soft;
pub mod table;
#[cfg(test)]
mod tests;
