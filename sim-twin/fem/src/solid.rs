//! Mesh with laws and supports, without units: input of the implicit solver and of the predictor's table.
//!
//! Source: ours; see [`super`] for the scales. Vectors over the nodes are slices of `Vec3`, in the
//! order of the mesh.

use super::element::{AveragedLaw, BULK_OVER_SHEAR_LOCAL, Deformed, GaussPoints};
use super::sparse::BlockMatrix;
use nalgebra::Matrix3;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_geometry::mesh::quadratic::QuadraticTetMesh;
use palpate_twin::Vec3;
use palpate_twin::law::{CellMaterial, ElasticLaw, LawFamily, Moduli};

/// Mesh with one law per cell, without units: hexahedra, or tetrahedra with ten nodes and four points.
#[derive(Debug, Clone)]
pub struct Solid<const N: usize = 8, const P: usize = 8> {
    /// Positions of the nodes at rest.
    pub(crate) nodes: Vec<Vec3>,
    /// Nodes of every cell.
    pub(crate) cells: Vec<[u32; N]>,
    /// Law of every cell.
    pub(crate) laws: Vec<AveragedLaw>,
    /// Directions in which each node is fixed.
    pub(crate) fixed: Vec<[bool; 3]>,
    /// Unit of length \[m\].
    pub(crate) length_m: f64,
    /// Unit of stress \[Pa\].
    pub(crate) stress_pa: f64,
    /// Function from the positions of a cell's nodes to its Gauss points.
    points: fn(&[Vec3; N]) -> GaussPoints<N, P>,
}

impl Solid<8, 8> {
    /// Constructs a solid from a checked hexahedral mesh, fixed at its bottom. `moduli` has one entry per
    /// cell; `family` has passed [`LawFamily::check`].
    ///
    /// # Panics
    /// If there is not one entry per cell.
    #[must_use]
    pub fn new(mesh: &HexMesh, family: LawFamily, moduli: &[Moduli]) -> Self {
        let mut fixed = vec![[false; 3]; mesh.nodes_m.len()];
        for node in mesh.side_nodes(BlockSide::ZMin) {
            fixed[node as usize] = [true; 3];
        }
        let (laws, stress_pa) = laws(family, moduli, 0.0);
        let length_m = mesh.extent_m();
        Self {
            nodes: mesh.nodes_m.iter().map(|x| x / length_m).collect(),
            cells: mesh.cells.clone(),
            laws,
            fixed,
            length_m,
            stress_pa,
            points: GaussPoints::of_hex,
        }
        .checked()
    }

    /// Lets the nodes of a side move in its plane only: the side is a plane of symmetry.
    pub(crate) fn mirror(&mut self, mesh: &HexMesh, side: BlockSide) {
        for node in mesh.side_nodes(side) {
            self.fixed[node as usize][side as usize / 2] = true;
        }
    }
}

impl Solid<10, 4> {
    /// Constructs a solid of checked quadratic tetrahedra, as [`Solid::new`]; nodes that are `supported` do
    /// not move.
    ///
    /// # Panics
    /// If there is not one entry per cell, or if no node is supported.
    #[must_use]
    pub(crate) fn of_tets(
        mesh: &QuadraticTetMesh,
        family: LawFamily,
        moduli: &[Moduli],
        supported: &[bool],
    ) -> Self {
        let (laws, stress_pa) = laws(family, moduli, BULK_OVER_SHEAR_LOCAL);
        let length_m = mesh.extent_m();
        Self {
            nodes: mesh.nodes_m.iter().map(|x| x / length_m).collect(),
            cells: mesh.cells.clone(),
            laws,
            fixed: supported.iter().map(|&supported| [supported; 3]).collect(),
            length_m,
            stress_pa,
            points: GaussPoints::of_tet,
        }
        .checked()
    }
}

/// Returns one law per cell, as [`AveragedLaw::new`], and the unit of stress \[Pa\].
pub(crate) fn laws(family: LawFamily, moduli: &[Moduli], shared: f64) -> (Vec<AveragedLaw>, f64) {
    let stress_pa = moduli.iter().map(|m| m.mu_pa).fold(0.0, f64::max);
    let law = |m: &Moduli| AveragedLaw::new(family, m.scaled(1.0 / stress_pa), shared);
    (moduli.iter().map(law).collect(), stress_pa)
}

impl<const N: usize, const P: usize> Solid<N, P> {
    /// Gives every cell whose material has a law of its own that law.
    #[must_use]
    pub(crate) fn with_own_laws(mut self, cell_materials: &[CellMaterial]) -> Self {
        for (law, material) in self.laws.iter_mut().zip(cell_materials) {
            if let Some(family) = material.law {
                let moduli = material.moduli.scaled(1.0 / self.stress_pa);
                *law = law.with_family(family, moduli);
            }
        }
        self
    }

    /// Returns the solid; panics if its lists differ in length or no node is fixed.
    fn checked(self) -> Self {
        assert_eq!(self.laws.len(), self.cells.len(), "one law per cell");
        assert_eq!(self.fixed.len(), self.nodes.len(), "one entry per node");
        assert!(self.fixed.contains(&[true; 3]), "the tissue has a support");
        self
    }

    /// Returns the unit of force \[N\].
    #[must_use]
    pub(crate) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// Returns the Gauss points of a cell.
    #[must_use]
    pub(crate) fn points(&self, cell: usize) -> GaussPoints<N, P> {
        (self.points)(&self.cells[cell].map(|node| self.nodes[node as usize]))
    }

    /// Returns the displacements of a cell's nodes from those of all nodes, `u`.
    pub(crate) fn cell_displacements(&self, cell: usize, u: &[Vec3]) -> [Vec3; N] {
        self.cells[cell].map(|node| u[node as usize])
    }

    /// Adds the derivative of the forces to `matrix`.
    pub(crate) fn add_stiffness(&self, u: &[Vec3], matrix: &mut BlockMatrix) {
        for cell in 0..self.cells.len() {
            let points = self.points(cell);
            let moved = self.cell_displacements(cell, u);
            let deformed = Deformed::new(&points, &self.laws[cell], &moved);
            let stiffness = deformed.stiffness();
            for (a, &row) in self.cells[cell].iter().enumerate() {
                for (b, &column) in self.cells[cell].iter().enumerate() {
                    matrix.add(row, column, &stiffness[a][b]);
                }
            }
        }
    }

    /// Returns the smallest shear modulus at rest of the cells at these faces, over the largest of all; the
    /// contact stiffness scales with it.
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
            .map(|(_, split)| split.law.tangent(&Matrix3::identity(), &shear)[(0, 1)])
            .fold(f64::MAX, f64::min)
    }
}

/// Sets the fixed components to zero.
pub(crate) fn zero_fixed(fixed: &[[bool; 3]], vector: &mut [Vec3]) {
    for (value, fixed) in vector.iter_mut().zip(fixed) {
        for axis in 0..3 {
            if fixed[axis] {
                value[axis] = 0.0;
            }
        }
    }
}
