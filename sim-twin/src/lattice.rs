//! A lattice of point masses and links, as the `.fem`/`.plg` pair of seed-004 3.9 describes it.
//!
//! SI units. Surface atoms come first, and face indices point at them.

pub mod fixture;

use crate::Vec3;

/// A point mass (seed-004 Table 3.1, row S4-02).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Atom {
    /// Rest position \[m\].
    pub position_m: Vec3,
    /// Mass \[kg\].
    pub mass_kg: f64,
    /// Immobile (file code 1000) rather than free (1001).
    pub fixed: bool,
    /// On the outer surface (file code 2001) rather than inside or home (2000).
    pub surface: bool,
}

/// A spring and dashpot between two atoms (seed-004 Table 3.2, row S4-03).
///
/// Its rest length is the distance of its atoms at rest; zero makes it a home link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LatticeLink {
    /// The two atoms.
    pub atoms: [u32; 2],
    /// Spring stiffness \[N/m\].
    pub stiffness_npm: f64,
    /// Dashpot \[N s/m\].
    pub damping_nspm: f64,
}

/// A surface triangle, counter-clockwise seen from outside.
pub type Face = [u32; 3];

/// Lattice of atoms and links, from which a model is built.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lattice {
    /// Name, as in the file.
    pub name: String,
    /// All atoms, surface atoms first.
    pub atoms: Vec<Atom>,
    /// All links.
    pub links: Vec<LatticeLink>,
    /// Surface triangles.
    pub faces: Vec<Face>,
}

impl Lattice {
    /// Number of surface atoms: the length of the leading run of `surface` atoms.
    #[must_use]
    pub fn surface_count(&self) -> usize {
        self.atoms.iter().take_while(|atom| atom.surface).count()
    }
}
