//! From a mesh with materials to cells, masses and the surface that can be touched.

use super::cells::{Cell, Material};
use super::{ImplicitError, Params, Viscosity};
use crate::Vec3;
use crate::law::{Family, Law, Moduli};
use crate::mesh::hex::{HexMesh, Side};
use crate::model::fem::element::{Points, Volumetric};
use crate::model::fem::probe::Surface;
use crate::model::fem::solid::{Solid, Support};
use crate::model::fem::sparse::BlockMatrix;

/// What never changes after construction.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) params: Params,
    pub(super) cells: Vec<Cell>,
    /// Every different viscous material once.
    pub(super) materials: Vec<Material>,
    /// Cells that remember.
    pub(super) memories: usize,
    /// The pattern of the tangent, without values.
    pub(super) pattern: BlockMatrix,
    /// Places of the nodes at rest.
    pub(super) rest: Vec<Vec3>,
    pub(super) masses: Vec<f64>,
    pub(super) fixed: Vec<[bool; 3]>,
    pub(super) surface: Surface,
    /// Nodes of the surface, ascending, with their places at rest \[m\].
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

impl Model {
    pub(super) fn new(
        mesh: &HexMesh,
        (family, moduli, densities_kgpm3): (Family, &[Moduli], &[f64]),
        viscosities: &[Viscosity],
        supports: &[Support],
        params: &Params,
    ) -> Result<Self, ImplicitError> {
        params.check()?;
        let solid = Solid::new(mesh, (family, moduli), supports, Volumetric::Mean)?;
        let density_kgpm3 = largest_density(mesh, densities_kgpm3)?;
        let (length_m, stress_pa) = (solid.length_m, solid.stress_pa);
        let time_s = length_m * (density_kgpm3 / stress_pa).sqrt();
        let pattern = BlockMatrix::pattern(mesh.nodes_m.len(), &mesh.cells);
        let mut model = Self {
            params: *params,
            cells: Vec::with_capacity(mesh.cells.len()),
            materials: Vec::new(),
            memories: 0,
            rest: solid.nodes.clone(),
            masses: vec![0.0; mesh.nodes_m.len()],
            surface: surface(mesh, &solid, params),
            top: mesh.side_nodes(Side::ZMax),
            rest_m: Vec::new(),
            triangles: Vec::new(),
            contact_modulus: 0.0,
            damping: params.damping_hz * time_s,
            length_m,
            stress_pa,
            time_s,
            fixed: solid.fixed.clone(),
            pattern,
        };
        for (cell, density) in densities_kgpm3.iter().enumerate() {
            model.add_cell(&solid, cell, density / density_kgpm3);
        }
        model.add_viscosities((family, moduli), viscosities)?;
        model.add_top(mesh);
        model.contact_modulus = model.softest_contact(moduli) / stress_pa;
        Ok(model)
    }

    /// Newtons a unit of force.
    pub(super) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// Joules a unit of energy.
    pub(super) fn energy_j(&self) -> f64 {
        self.force_n() * self.length_m
    }

    /// An eighth of the cell's mass goes to each of its corners.
    fn add_cell(&mut self, solid: &Solid, cell: usize, density: f64) {
        let nodes = solid.cells[cell];
        let points = Points::new(&nodes.map(|node| solid.nodes[node as usize]));
        for &node in &nodes {
            self.masses[node as usize] += density * points.volume() / 8.0;
        }
        let pairs = nodes.map(|row| {
            // every pair of a cell's nodes is in the pattern of the cells
            nodes.map(|column| self.pattern.place(row, column).unwrap_or_default())
        });
        self.cells.push(Cell {
            nodes,
            points,
            law: solid.laws[cell],
            pairs,
            material: None,
            memory: 0,
            shear: 0.0,
        });
    }

    fn add_viscosities(
        &mut self,
        (family, moduli): (Family, &[Moduli]),
        viscosities: &[Viscosity],
    ) -> Result<(), ImplicitError> {
        if !viscosities.is_empty() && viscosities.len() != self.cells.len() {
            return Err(ImplicitError::Count {
                what: "viscosities",
                cells: self.cells.len(),
                found: viscosities.len(),
            });
        }
        let unit_pas = self.stress_pa * self.time_s;
        let mut known: Vec<Viscosity> = Vec::new();
        for (cell, viscosity) in viscosities.iter().enumerate() {
            let found = known.iter().position(|other| other == viscosity);
            let index = found.unwrap_or(known.len());
            if found.is_none() {
                known.push(*viscosity);
                let dashpot = viscosity.kelvin_voigt.scaled(1.0 / unit_pas);
                self.materials.push(Material {
                    dashpot: dashpot.of_shape(),
                    bulk: dashpot.bulk(),
                    prony: viscosity.prony,
                    step: viscosity.prony.step(0.0),
                });
            }
            let own = &mut self.cells[cell];
            own.material = Some(index);
            own.shear = 2.0 * moduli[cell].mu_pa / self.stress_pa;
            own.memory = self.memories;
            if !viscosity.prony.is_empty() {
                self.memories += 1;
                let lasting = viscosity.prony.relaxation(f64::INFINITY);
                let (mu_pa, bulk_pa) = (moduli[cell].mu_pa * lasting, moduli[cell].bulk_pa());
                let lasting = Moduli::from_bulk(mu_pa, bulk_pa).scaled(1.0 / self.stress_pa);
                own.law = Law::new(family, lasting);
            }
        }
        Ok(())
    }

    fn add_top(&mut self, mesh: &HexMesh) {
        let top = &self.top;
        let places = top.iter().map(|&node| mesh.nodes_m[node as usize]);
        self.rest_m = places.collect();
        // every node of a face of the top is in the list of its nodes
        let place = |node: u32| top.binary_search(&node).unwrap_or_default() as u32;
        let quads = mesh.side(Side::ZMax).iter().map(|face| face.map(place));
        let halves = quads.flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]);
        self.triangles = halves.collect();
    }

    /// Least contact modulus of the cells at the top \[Pa\].
    fn softest_contact(&self, moduli: &[Moduli]) -> f64 {
        let touched = |cell: &Cell| {
            let mut nodes = cell.nodes.iter();
            nodes.any(|node| self.top.binary_search(node).is_ok())
        };
        let cells = self.cells.iter().zip(moduli);
        cells
            .filter(|(cell, _)| touched(cell))
            .map(|(_, moduli)| moduli.contact_pa())
            .fold(f64::MAX, f64::min)
    }
}

fn largest_density(mesh: &HexMesh, densities_kgpm3: &[f64]) -> Result<f64, ImplicitError> {
    if densities_kgpm3.len() != mesh.cells.len() {
        return Err(ImplicitError::Count {
            what: "densities",
            cells: mesh.cells.len(),
            found: densities_kgpm3.len(),
        });
    }
    for (cell, &density_kgpm3) in densities_kgpm3.iter().enumerate() {
        if !(density_kgpm3.is_finite() && density_kgpm3 > 0.0) {
            return Err(ImplicitError::Density {
                cell,
                density_kgpm3,
            });
        }
    }
    Ok(densities_kgpm3.iter().copied().fold(0.0, f64::max))
}

/// The top with a stiffness after its softest law and its shortest edge.
fn surface(mesh: &HexMesh, solid: &Solid, params: &Params) -> Surface {
    let faces = mesh.side(Side::ZMax);
    let edge = |face: &[u32; 4]| {
        let at = face.map(|node| solid.nodes[node as usize]);
        (at[0] - at[1]).norm().min((at[1] - at[2]).norm())
    };
    let shortest = faces.iter().map(edge).fold(f64::MAX, f64::min);
    let stiffness = params.contact_stiffness * solid.softest_shear(faces) / shortest;
    let mut surface = Surface::new(&solid.nodes, faces, params.order, stiffness);
    surface.deepest = shortest;
    surface
}
