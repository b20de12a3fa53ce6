//! Construction of cells, masses and the touchable surface from a mesh with materials.

use super::cells::{Cell, ViscousMaterial};
use super::{ImplicitError, ImplicitParams};
use crate::solid::Solid;
use crate::sparse::BlockMatrix;
use crate::sphere_contact::ContactSurface;
use palpate_geometry::mesh::hex::{BlockSide, HexMesh};
use palpate_geometry::mesh::quadratic::QuadraticTetMesh;
use palpate_twin::Vec3;
use palpate_twin::law::viscous::KelvinVoigt;
use palpate_twin::law::{CellMaterial, LawFamily, Moduli, Viscosity};

/// Constant data of a tissue.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) params: ImplicitParams,
    pub(super) hexes: Vec<Cell<8, 8>>,
    pub(super) tets: Vec<Cell<10, 4>>,
    /// Distinct viscous materials.
    pub(super) materials: Vec<ViscousMaterial>,
    /// Number of Gauss points with a memory.
    pub(super) memories: usize,
    /// Pattern of the tangent, without values.
    pub(super) pattern: BlockMatrix,
    /// Positions of the nodes at rest.
    pub(super) rest: Vec<Vec3>,
    pub(super) masses: Vec<f64>,
    pub(super) fixed: Vec<[bool; 3]>,
    pub(super) surface: ContactSurface,
    /// Nodes of the surface, ascending, with their positions at rest \[m\].
    pub(super) top: Vec<u32>,
    pub(super) rest_m: Vec<Vec3>,
    pub(super) triangles: Vec<[u32; 3]>,
    /// `E / (1 - nu^2)` of the softest cell under the surface.
    pub(super) contact_modulus: f64,
    pub(super) damping: f64,
    pub(super) length_m: f64,
    pub(super) stress_pa: f64,
    pub(super) time_s: f64,
}

/// Fractions of a hexahedron's mass at its corners.
const HEX_MASS: [f64; 8] = [0.125; 8];

/// Fractions of a quadratic tetrahedron's mass at its nodes, in proportion to the diagonal of the consistent
/// matrix, which is never negative (Hinton, Rock and Zienkiewicz 1976).
const TET_MASS: [f64; 10] = {
    let mut shares = [4.0 / 27.0; 10];
    let mut corner = 0;
    while corner < 4 {
        shares[corner] = 1.0 / 36.0;
        corner += 1;
    }
    shares
};

/// Touchable surface: the points of its faces, and triangles of their nodes.
struct Skin {
    surface: ContactSurface,
    faces: Vec<[u32; 3]>,
}

impl Model {
    /// Constructs a block that can be touched on its top.
    pub(super) fn of_block(
        mesh: &HexMesh,
        family: LawFamily,
        cell_materials: &[CellMaterial],
        params: &ImplicitParams,
    ) -> Result<Self, ImplicitError> {
        params.check()?;
        let solid = Solid::new(mesh, family, &moduli(cell_materials)).with_own_laws(cell_materials);
        let faces = mesh.side(BlockSide::ZMax);
        let edge = |face: &[u32; 4]| {
            let at = face.map(|node| solid.nodes[node as usize]);
            (at[0] - at[1]).norm().min((at[1] - at[2]).norm())
        };
        let shortest = faces.iter().map(edge).fold(f64::MAX, f64::min);
        let stiffness = params.contact_stiffness * solid.softest_shear(faces) / shortest;
        let mut surface = ContactSurface::new(&solid.nodes, faces, stiffness);
        surface.depth_max = shortest;
        let halves = faces
            .iter()
            .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]);
        let faces = halves.collect();
        let skin = Skin { surface, faces };
        let (mut model, hexes) = Self::of_solid(&solid, &HEX_MASS, skin, cell_materials, params);
        model.hexes = hexes;
        Ok(model)
    }

    /// Constructs a body that can be touched on all faces that are not supported.
    pub(super) fn of_tets(
        mesh: &QuadraticTetMesh,
        supported: &[bool],
        family: LawFamily,
        cell_materials: &[CellMaterial],
        params: &ImplicitParams,
    ) -> Result<Self, ImplicitError> {
        params.check()?;
        let solid = Solid::of_tets(mesh, family, &moduli(cell_materials), supported)
            .with_own_laws(cell_materials);
        let free = |face: &&[u32; 6]| !face.iter().all(|&node| solid.fixed[node as usize][0]);
        let faces: Vec<[u32; 6]> = mesh.faces.iter().filter(free).copied().collect();
        if faces.is_empty() {
            return Err(ImplicitError::Untouchable);
        }
        // from a corner to the adjacent node, as between two corners of a hexahedron
        let edge = |face: &[u32; 6]| {
            let at = face.map(|node| solid.nodes[node as usize]);
            [(0, 3), (1, 4), (2, 5)].map(|(a, b)| (at[a] - at[b]).norm())
        };
        let shortest = faces.iter().flat_map(edge).fold(f64::MAX, f64::min);
        let stiffness = params.contact_stiffness * solid.softest_shear(&faces) / shortest;
        let mut surface = ContactSurface::of_triangles(&solid.nodes, &faces, stiffness);
        surface.depth_max = shortest;
        let quarters = faces
            .iter()
            .flat_map(|&[a, b, c, d, e, f]| [[a, d, f], [d, b, e], [f, e, c], [d, e, f]]);
        let faces = quarters.collect();
        let skin = Skin { surface, faces };
        let (mut model, tets) = Self::of_solid(&solid, &TET_MASS, skin, cell_materials, params);
        model.tets = tets;
        Ok(model)
    }

    /// Returns the model without its cells, and the cells.
    fn of_solid<const N: usize, const P: usize>(
        solid: &Solid<N, P>,
        mass: &[f64; N],
        skin: Skin,
        cell_materials: &[CellMaterial],
        params: &ImplicitParams,
    ) -> (Self, Vec<Cell<N, P>>) {
        let Skin { surface, faces } = skin;
        let densities_kgpm3 = cell_materials.iter().map(|own| own.density_kgpm3);
        let density_kgpm3 = densities_kgpm3.clone().fold(0.0, f64::max);
        let (length_m, stress_pa) = (solid.length_m, solid.stress_pa);
        let time_s = length_m * (density_kgpm3 / stress_pa).sqrt();
        let mut top: Vec<u32> = faces.iter().flatten().copied().collect();
        top.sort_unstable();
        top.dedup();
        // every node of a face is in the list of their nodes
        let place = |node: u32| top.binary_search(&node).unwrap_or_default() as u32;
        let mut model = Self {
            params: *params,
            hexes: Vec::new(),
            tets: Vec::new(),
            materials: Vec::new(),
            memories: 0,
            pattern: BlockMatrix::pattern(solid.nodes.len(), &solid.cells),
            rest: solid.nodes.clone(),
            masses: vec![0.0; solid.nodes.len()],
            fixed: solid.fixed.clone(),
            surface,
            rest_m: top
                .iter()
                .map(|&node| solid.nodes[node as usize] * length_m)
                .collect(),
            triangles: faces.iter().map(|face| face.map(place)).collect(),
            contact_modulus: softest_contact(solid, &top, cell_materials) / stress_pa,
            top,
            damping: params.damping_per_s * time_s,
            length_m,
            stress_pa,
            time_s,
        };
        let mut cells = Vec::with_capacity(solid.cells.len());
        for (cell, density) in densities_kgpm3.enumerate() {
            cells.push(model.cell(solid, mass, cell, density / density_kgpm3));
        }
        model.add_viscosities(&mut cells, cell_materials);
        (model, cells)
    }

    /// Returns the unit of force \[N\].
    pub(super) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// Returns the unit of energy \[J\].
    pub(super) fn energy_j(&self) -> f64 {
        self.force_n() * self.length_m
    }

    /// Returns a cell and adds its mass to its nodes.
    fn cell<const N: usize, const P: usize>(
        &mut self,
        solid: &Solid<N, P>,
        mass: &[f64; N],
        cell: usize,
        density: f64,
    ) -> Cell<N, P> {
        let nodes = solid.cells[cell];
        let points = solid.points(cell);
        for (&node, share) in nodes.iter().zip(mass) {
            self.masses[node as usize] += density * points.volume() * share;
        }
        let pairs = nodes.map(|row| {
            // every pair of a cell's nodes is in the pattern of the cells
            nodes.map(|column| self.pattern.place(row, column).unwrap_or_default())
        });
        Cell {
            nodes,
            points,
            law: solid.laws[cell],
            pairs,
            material: None,
            memory: 0,
            shear: 0.0,
        }
    }

    fn add_viscosities<const N: usize, const P: usize>(
        &mut self,
        cells: &mut [Cell<N, P>],
        cell_materials: &[CellMaterial],
    ) {
        if cell_materials
            .iter()
            .all(|own| own.viscosity == Viscosity::NONE)
        {
            return;
        }
        let scale = 1.0 / (self.stress_pa * self.time_s);
        let mut viscosities: Vec<Viscosity> = Vec::new();
        for (own, cell_materials) in cells.iter_mut().zip(cell_materials) {
            let (viscosity, moduli) = (cell_materials.viscosity, cell_materials.moduli);
            let found = viscosities.iter().position(|other| *other == viscosity);
            let index = found.unwrap_or(viscosities.len());
            if found.is_none() {
                viscosities.push(viscosity);
                self.materials.push(ViscousMaterial {
                    viscosity,
                    dashpot: KelvinVoigt {
                        shear: viscosity.shear_pas * scale,
                        bulk: 0.0,
                    },
                    bulk: viscosity.bulk_pas * scale,
                    series: viscosity.series(0.0),
                });
            }
            own.material = Some(index);
            own.shear = 2.0 * moduli.mu_pa / self.stress_pa;
            own.memory = self.memories;
            let share = viscosity.share();
            if share > 0.0 {
                self.memories += P;
                let elastic_fraction = 1.0 - share;
                let (mu_pa, bulk_pa) = (moduli.mu_pa * elastic_fraction, moduli.bulk_pa());
                let elastic_moduli = Moduli::from_bulk(mu_pa, bulk_pa).scaled(1.0 / self.stress_pa);
                own.law = own.law.with_moduli(elastic_moduli);
            }
        }
    }
}

fn moduli(cell_materials: &[CellMaterial]) -> Vec<Moduli> {
    cell_materials.iter().map(|own| own.moduli).collect()
}

/// Returns the smallest contact modulus of the cells at the nodes of the surface, which are ascending \[Pa\].
fn softest_contact<const N: usize, const P: usize>(
    solid: &Solid<N, P>,
    top: &[u32],
    cell_materials: &[CellMaterial],
) -> f64 {
    let touched = |cell: &[u32; N]| cell.iter().any(|node| top.binary_search(node).is_ok());
    let cells = solid.cells.iter().zip(cell_materials);
    cells
        .filter(|(cell, _)| touched(cell))
        .map(|(_, own)| own.moduli.contact_pa())
        .fold(f64::MAX, f64::min)
}
