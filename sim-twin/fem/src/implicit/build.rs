//! From a mesh with materials to cells, masses and the surface that can be touched.

use super::cells::{Cell, Material};
use super::{ImplicitError, Matter, Params, Viscosity};
use crate::element::Volumetric;
use crate::probe::Surface;
use crate::solid::{Solid, Support};
use crate::sparse::BlockMatrix;
use palpate_geometry::mesh::hex::{HexMesh, Side};
use palpate_geometry::mesh::quadratic::Quadratic;
use palpate_twin::Vec3;
use palpate_twin::law::Moduli;

/// What never changes after construction.
#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) params: Params,
    pub(super) hexes: Vec<Cell<8, 8>>,
    pub(super) tets: Vec<Cell<10, 4>>,
    /// Every different viscous material once.
    pub(super) materials: Vec<Material>,
    /// Gauss points that remember.
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

/// Shares of a hexahedron's mass that its corners get.
const HEX_MASS: [f64; 8] = [0.125; 8];

/// Shares of a quadratic tetrahedron's mass that its nodes get: in proportion to the diagonal of the
/// consistent matrix, which is never negative (Hinton, Rock and Zienkiewicz 1976).
const TET_MASS: [f64; 10] = {
    let mut shares = [4.0 / 27.0; 10];
    let mut corner = 0;
    while corner < 4 {
        shares[corner] = 1.0 / 36.0;
        corner += 1;
    }
    shares
};

/// What can be touched: the points of its faces, and triangles of their nodes.
struct Skin {
    surface: Surface,
    faces: Vec<[u32; 3]>,
}

impl Model {
    /// A block that can be touched on its top.
    pub(super) fn of_block(
        mesh: &HexMesh,
        matter: &Matter<'_>,
        supports: &[Support],
        params: &Params,
    ) -> Result<Self, ImplicitError> {
        params.check()?;
        let law = (matter.family, matter.moduli);
        let solid = Solid::new(mesh, law, supports, Volumetric::Mean)?;
        let faces = mesh.side(Side::ZMax);
        let edge = |face: &[u32; 4]| {
            let at = face.map(|node| solid.nodes[node as usize]);
            (at[0] - at[1]).norm().min((at[1] - at[2]).norm())
        };
        let shortest = faces.iter().map(edge).fold(f64::MAX, f64::min);
        let stiffness = params.contact_stiffness * solid.softest_shear(faces) / shortest;
        let mut surface = Surface::new(&solid.nodes, faces, params.order, stiffness);
        surface.deepest = shortest;
        let halves = faces
            .iter()
            .flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]);
        let faces = halves.collect();
        let skin = Skin { surface, faces };
        let (mut model, hexes) = Self::of_solid(&solid, &HEX_MASS, skin, matter, params)?;
        model.hexes = hexes;
        Ok(model)
    }

    /// A body that can be touched wherever it is not held.
    pub(super) fn of_tets(
        mesh: &Quadratic,
        matter: &Matter<'_>,
        held: &[bool],
        params: &Params,
    ) -> Result<Self, ImplicitError> {
        params.check()?;
        let law = (matter.family, matter.moduli);
        let solid = Solid::of_tets(mesh, law, held, Volumetric::Shared)?;
        let free = |face: &&[u32; 6]| !face.iter().all(|&node| solid.fixed[node as usize][0]);
        let faces: Vec<[u32; 6]> = mesh.faces.iter().filter(free).copied().collect();
        if faces.is_empty() {
            return Err(ImplicitError::Untouchable);
        }
        // between a corner and the node beside it, as between two corners of a hexahedron
        let edge = |face: &[u32; 6]| {
            let at = face.map(|node| solid.nodes[node as usize]);
            [(0, 3), (1, 4), (2, 5)].map(|(a, b)| (at[a] - at[b]).norm())
        };
        let shortest = faces.iter().flat_map(edge).fold(f64::MAX, f64::min);
        let stiffness = params.contact_stiffness * solid.softest_shear(&faces) / shortest;
        let mut surface = Surface::of_triangles(&solid.nodes, &faces, params.order, stiffness);
        surface.deepest = shortest;
        let quarters = faces
            .iter()
            .flat_map(|&[a, b, c, d, e, f]| [[a, d, f], [d, b, e], [f, e, c], [d, e, f]]);
        let faces = quarters.collect();
        let skin = Skin { surface, faces };
        let (mut model, tets) = Self::of_solid(&solid, &TET_MASS, skin, matter, params)?;
        model.tets = tets;
        Ok(model)
    }

    /// The model without its cells, and these.
    fn of_solid<const N: usize, const P: usize>(
        solid: &Solid<N, P>,
        mass: &[f64; N],
        skin: Skin,
        matter: &Matter<'_>,
        params: &Params,
    ) -> Result<(Self, Vec<Cell<N, P>>), ImplicitError> {
        let Skin { surface, faces } = skin;
        let density_kgpm3 = largest_density(solid.cells.len(), matter.densities_kgpm3)?;
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
            contact_modulus: softest_contact(solid, &top, matter.moduli) / stress_pa,
            top,
            damping: params.damping_hz * time_s,
            length_m,
            stress_pa,
            time_s,
        };
        let mut cells = Vec::with_capacity(solid.cells.len());
        for (cell, density) in matter.densities_kgpm3.iter().enumerate() {
            cells.push(model.cell(solid, mass, cell, density / density_kgpm3));
        }
        model.add_viscosities(&mut cells, matter)?;
        Ok((model, cells))
    }

    /// Newtons a unit of force.
    pub(super) fn force_n(&self) -> f64 {
        self.stress_pa * self.length_m * self.length_m
    }

    /// Joules a unit of energy.
    pub(super) fn energy_j(&self) -> f64 {
        self.force_n() * self.length_m
    }

    /// A cell, whose mass goes to its nodes.
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
        matter: &Matter<'_>,
    ) -> Result<(), ImplicitError> {
        let viscosities = matter.viscosities;
        if !viscosities.is_empty() && viscosities.len() != cells.len() {
            return Err(ImplicitError::Count {
                what: "viscosities",
                cells: cells.len(),
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
            let (own, moduli) = (&mut cells[cell], matter.moduli[cell]);
            own.material = Some(index);
            own.shear = 2.0 * moduli.mu_pa / self.stress_pa;
            own.memory = self.memories;
            if !viscosity.prony.is_empty() {
                self.memories += P;
                let lasting = viscosity.prony.relaxation(f64::INFINITY);
                let (mu_pa, bulk_pa) = (moduli.mu_pa * lasting, moduli.bulk_pa());
                let lasting = Moduli::from_bulk(mu_pa, bulk_pa).scaled(1.0 / self.stress_pa);
                own.law = own.law.with(matter.family, lasting);
            }
        }
        Ok(())
    }
}

/// Least contact modulus of the cells at the nodes of the surface, ascending \[Pa\].
fn softest_contact<const N: usize, const P: usize>(
    solid: &Solid<N, P>,
    top: &[u32],
    moduli: &[Moduli],
) -> f64 {
    let touched = |cell: &[u32; N]| cell.iter().any(|node| top.binary_search(node).is_ok());
    let cells = solid.cells.iter().zip(moduli);
    cells
        .filter(|(cell, _)| touched(cell))
        .map(|(_, moduli)| moduli.contact_pa())
        .fold(f64::MAX, f64::min)
}

fn largest_density(cells: usize, densities_kgpm3: &[f64]) -> Result<f64, ImplicitError> {
    if densities_kgpm3.len() != cells {
        return Err(ImplicitError::Count {
            what: "densities",
            cells,
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
