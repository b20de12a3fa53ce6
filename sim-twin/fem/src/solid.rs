//! A mesh with laws and supports, without units: what the implicit solver and the predictor's table are made
//! from.
//!
//! Source: ours; see [`super`] for the scales. Vectors over the nodes are slices of `Vec3`, in the
//! order of the mesh.

use super::element::{Deformed, Points, Split, Volumetric};
use super::sparse::BlockMatrix;
use nalgebra::Matrix3;
use palpate_geometry::mesh::defect::Finding;
use palpate_geometry::mesh::hex::{HexError, HexMesh, Side};
use palpate_geometry::mesh::quadratic::Quadratic;
use palpate_twin::Vec3;
use palpate_twin::law::{Elastic, Family, FamilyError, Moduli};

/// Directions in which a side of the block cannot move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Not at all.
    Fixed(Side),
    /// Not along its normal: a plane of symmetry, or a smooth wall.
    Sliding(Side),
}

/// Why mesh and materials make no solid.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SolidError {
    /// The mesh is unfit.
    #[error(transparent)]
    Mesh(#[from] HexError),
    /// Moduli are not one a cell.
    #[error("{found} moduli for {cells} cells")]
    Count {
        /// Cells of the mesh.
        cells: usize,
        /// Moduli given.
        found: usize,
    },
    /// A mesh of tetrahedra is unfit.
    #[error(transparent)]
    Tets(#[from] Finding),
    /// A modulus is out of range.
    #[error("cell {cell} has moduli {moduli:?}; expected shear and bulk modulus above 0")]
    Modulus {
        /// The cell.
        cell: usize,
        /// Its moduli.
        moduli: Moduli,
    },
    /// The law is unfit.
    #[error(transparent)]
    Law(#[from] FamilyError),
    /// Nothing holds the mesh.
    #[error("nothing is fixed: nothing would hold the tissue")]
    Unsupported,
}

/// A mesh with a law a cell, without units: hexahedra, or tetrahedra with ten nodes and four points.
#[derive(Debug, Clone)]
pub struct Solid<const N: usize = 8, const P: usize = 8> {
    /// Places of the nodes at rest.
    pub(crate) nodes: Vec<Vec3>,
    /// Nodes of every cell.
    pub(crate) cells: Vec<[u32; N]>,
    /// Law of every cell.
    pub(crate) laws: Vec<Split>,
    /// Directions in which every node cannot move.
    pub(crate) fixed: Vec<[bool; 3]>,
    /// Metres a unit of length.
    pub(crate) length_m: f64,
    /// Pascals a unit of stress.
    pub(crate) stress_pa: f64,
    /// From the places of a cell's nodes to its points.
    points: fn(&[Vec3; N]) -> Points<N, P>,
}

impl Solid<8, 8> {
    /// A solid on a checked mesh, with one pair of moduli a cell.
    ///
    /// # Errors
    /// Names the cell whose moduli or shape are unfit.
    pub fn new(
        mesh: &HexMesh,
        law: (Family, &[Moduli]),
        supports: &[Support],
        volumetric: Volumetric,
    ) -> Result<Self, SolidError> {
        mesh.check()?;
        if !supports.iter().any(|s| matches!(s, Support::Fixed(_))) {
            return Err(SolidError::Unsupported);
        }
        let laws = Laws::new(law.0, law.1, volumetric, mesh.cells.len())?;
        let length_m = mesh.extent_m();
        Ok(Self {
            nodes: mesh.nodes_m.iter().map(|x| x / length_m).collect(),
            cells: mesh.cells.clone(),
            laws: laws.laws,
            fixed: fixed(mesh, supports),
            length_m,
            stress_pa: laws.stress_pa,
            points: Points::of_hex,
        })
    }
}

impl Solid<10, 4> {
    /// A solid of quadratic tetrahedra, with one pair of moduli a cell; nodes that are `held` do not move.
    ///
    /// # Errors
    /// Names the cell whose moduli or shape are unfit.
    pub(crate) fn of_tets(
        mesh: &Quadratic,
        law: (Family, &[Moduli]),
        held: &[bool],
        volumetric: Volumetric,
    ) -> Result<Self, SolidError> {
        mesh.corners().check()?;
        if !held.contains(&true) {
            return Err(SolidError::Unsupported);
        }
        let laws = Laws::new(law.0, law.1, volumetric, mesh.cells.len())?;
        let length_m = mesh.extent_m();
        let nodes = mesh.nodes_m.len();
        // a list that is too short holds no more
        let held = held.iter().copied().chain(std::iter::repeat(false));
        Ok(Self {
            nodes: mesh.nodes_m.iter().map(|x| x / length_m).collect(),
            cells: mesh.cells.clone(),
            laws: laws.laws,
            fixed: held.map(|held| [held; 3]).take(nodes).collect(),
            length_m,
            stress_pa: laws.stress_pa,
            points: Points::of_tet,
        })
    }
}

/// A law a cell, and the stress that they are over \[Pa\].
struct Laws {
    laws: Vec<Split>,
    stress_pa: f64,
}

impl Laws {
    fn new(
        family: Family,
        moduli: &[Moduli],
        volumetric: Volumetric,
        cells: usize,
    ) -> Result<Self, SolidError> {
        family.check()?;
        if moduli.len() != cells {
            let found = moduli.len();
            return Err(SolidError::Count { cells, found });
        }
        for (cell, &moduli) in moduli.iter().enumerate() {
            let positive = |value: f64| value.is_finite() && value > 0.0;
            if !(positive(moduli.mu_pa) && positive(moduli.bulk_pa())) {
                return Err(SolidError::Modulus { cell, moduli });
            }
        }
        let stress_pa = moduli.iter().map(|m| m.mu_pa).fold(0.0, f64::max);
        let law = |m: &Moduli| Split::new(family, m.scaled(1.0 / stress_pa), volumetric);
        Ok(Self {
            laws: moduli.iter().map(law).collect(),
            stress_pa,
        })
    }
}

impl<const N: usize, const P: usize> Solid<N, P> {
    /// Newtons a unit of force.
    #[must_use]
    pub(crate) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// Points of a cell.
    #[must_use]
    pub(crate) fn points(&self, cell: usize) -> Points<N, P> {
        (self.points)(&self.cells[cell].map(|node| self.nodes[node as usize]))
    }

    /// Places of a cell's nodes at the displacements `u`.
    pub(crate) fn moved(&self, cell: usize, u: &[Vec3]) -> [Vec3; N] {
        self.cells[cell].map(|node| u[node as usize])
    }

    /// Adds the slope of the forces to `matrix`.
    pub(crate) fn add_stiffness(&self, u: &[Vec3], matrix: &mut BlockMatrix) {
        for cell in 0..self.cells.len() {
            let points = self.points(cell);
            let moved = self.moved(cell, u);
            let deformed = Deformed::new(&points, &self.laws[cell], &moved);
            let stiffness = deformed.stiffness();
            for (a, &row) in self.cells[cell].iter().enumerate() {
                for (b, &column) in self.cells[cell].iter().enumerate() {
                    matrix.add(row, column, &stiffness[a][b]);
                }
            }
        }
    }

    /// Least shear modulus at rest of the cells at these faces, over the stiffest of all: what the
    /// stiffness of a contact goes by.
    pub(super) fn softest_shear<const F: usize>(&self, faces: &[[u32; F]]) -> f64 {
        let mut touched = vec![false; self.nodes.len()];
        for &node in faces.iter().flatten() {
            touched[node as usize] = true;
        }
        let mut shear = Matrix3::zeros();
        shear[(0, 1)] = 1.0;
        let cells = self.cells.iter().zip(&self.laws);
        cells
            .filter(|(cell, _)| cell.iter().any(|&node| touched[node as usize]))
            .map(|(_, split)| split.law().tangent(&Matrix3::identity(), &shear)[(0, 1)])
            .fold(f64::MAX, f64::min)
    }
}

/// Sets the components that are `fixed` to zero.
pub(crate) fn mask(fixed: &[[bool; 3]], vector: &mut [Vec3]) {
    for (value, fixed) in vector.iter_mut().zip(fixed) {
        for axis in 0..3 {
            if fixed[axis] {
                value[axis] = 0.0;
            }
        }
    }
}

fn fixed(mesh: &HexMesh, supports: &[Support]) -> Vec<[bool; 3]> {
    let mut fixed = vec![[false; 3]; mesh.nodes_m.len()];
    for support in supports {
        let (side, axes) = match *support {
            Support::Fixed(side) => (side, [true; 3]),
            Support::Sliding(side) => {
                let normal = side as usize / 2;
                (side, [0, 1, 2].map(|axis| axis == normal))
            }
        };
        for node in mesh.side_nodes(side) {
            for axis in 0..3 {
                fixed[node as usize][axis] |= axes[axis];
            }
        }
    }
    fixed
}
