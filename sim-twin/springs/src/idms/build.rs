//! Construction of an immutable model from a sound lattice, with the stability check.
//!
//! Source: seed-004 3.1 (rows S4-01 to S4-07, S4-09). Home links become one vector spring a node;
//! their fixed atoms, and links between two fixed atoms, take no part in any step.

use crate::idms::compliance::Compliance;
use crate::idms::params::{IdmsError, IdmsParams, LatticeContact, TimeIntegration};
use palpate_twin::Vec3;
use palpate_twin::contact::RestSurface;
use palpate_twin::lattice::{Face, Lattice};
use palpate_twin::stability;
use palpate_twin::stability::LinearizedLattice;

/// Spring between two nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spring {
    pub(super) ends: [u32; 2],
    pub(super) stiffness_npm: f64,
    pub(super) damping_nspm: f64,
    pub(super) length_m: f64,
}

/// Parts of a tissue that no step changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    pub(super) params: IdmsParams,
    /// Rest positions of all nodes, surface nodes first.
    pub(super) rest_m: Vec<Vec3>,
    pub(super) mass_kg: Vec<f64>,
    /// Zero for fixed nodes.
    pub(super) inverse_mass: Vec<f64>,
    pub(super) home_stiffness_npm: Vec<f64>,
    pub(super) home_damping_nspm: Vec<f64>,
    /// Reference length of each home spring: the mean length of the node's links.
    pub(super) home_length_m: Vec<f64>,
    pub(super) springs: Vec<Spring>,
    pub(super) node_springs: NodeSprings,
    pub(super) faces: Vec<Face>,
    pub(super) skin: RestSurface,
    pub(super) compliance: Compliance,
    pub(super) elements: usize,
    pub(super) dt_s_max: f64,
}

/// Springs at each node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeSprings {
    begins: Vec<u32>,
    springs: Vec<u32>,
}

/// Contact curvature over tool stiffness: the norm over six faces around a node is 1.57, and
/// a node in a valley is loaded sideways as well.
const FACE_FACTOR: f64 = 2.0;

impl NodeSprings {
    fn new(nodes: usize, springs: &[Spring]) -> Self {
        let mut begins = vec![0_u32; nodes + 1];
        for end in springs.iter().flat_map(|spring| spring.ends) {
            begins[end as usize + 1] += 1;
        }
        for node in 0..nodes {
            begins[node + 1] += begins[node];
        }
        let mut next = begins.clone();
        let mut list = vec![0; 2 * springs.len()];
        for (index, spring) in springs.iter().enumerate() {
            for end in spring.ends {
                list[next[end as usize] as usize] = index as u32;
                next[end as usize] += 1;
            }
        }
        Self {
            begins,
            springs: list,
        }
    }

    pub(super) fn of(&self, node: usize) -> &[u32] {
        &self.springs[self.begins[node] as usize..self.begins[node + 1] as usize]
    }
}

impl Spring {
    /// Returns the other end.
    pub(super) fn other_end(&self, node: usize) -> usize {
        (if self.ends[0] as usize == node {
            self.ends[1]
        } else {
            self.ends[0]
        }) as usize
    }
}

impl Model {
    pub(super) fn new(lattice: &Lattice, params: &IdmsParams) -> Result<Self, IdmsError> {
        params.check()?;
        let mut model = Self::at_rest(lattice, params);
        model.check_stability(lattice)?;
        Ok(model)
    }

    /// Runs the stability advisor; refuses an unstable step unless the check is switched off.
    ///
    /// In node contact every surface atom may carry a tool and a grasp; the same bound serves
    /// face contact, where a tool presses one point only.
    fn check_stability(&mut self, lattice: &Lattice) -> Result<(), IdmsError> {
        let params = self.params;
        let mut bare = LinearizedLattice::new(lattice);
        bare.scale_stiffness(params.law.steepest());
        let face = matches!(params.contact, LatticeContact::Face { .. });
        let contact = if face { FACE_FACTOR } else { 1.0 } * params.tool_stiffness_npm;
        let mut touched = bare.clone();
        touched.add_surface_contact(contact + params.tool_stiffness_npm, 0.0);
        if params.contact_damping_ratio > 0.0 {
            let heaviest = self.mass_kg.iter().copied().fold(0.0, f64::max);
            let critical = 2.0 * (params.tool_stiffness_npm * heaviest).sqrt();
            touched.add_surface_contact(0.0, params.contact_damping_ratio * critical);
        }
        let dt_s = params.dt_s / f64::from(params.substeps);
        self.dt_s_max = touched.dt_s_max(stability::STABILITY_LIMIT) * f64::from(params.substeps);
        let reached = touched.largest_eigenvalue(dt_s * dt_s, 2.0 * dt_s);
        if params.unchecked {
            return Ok(());
        }
        if let TimeIntegration::FilteredEuler { lambda, .. } = params.scheme {
            let kappa = touched.largest_eigenvalue(dt_s * dt_s, 0.0);
            let radius =
                stability::spectral_radius(kappa, bare.largest_eigenvalue(0.0, dt_s), lambda);
            if radius >= 1.0 {
                return Err(IdmsError::FilteredEulerUnstable { radius, dt_s });
            }
        }
        if reached > stability::STABILITY_LIMIT {
            return Err(IdmsError::Unstable {
                reached,
                limit: stability::STABILITY_LIMIT,
                dt_s,
                dt_s_max: self.dt_s_max / f64::from(params.substeps),
            });
        }
        Ok(())
    }

    /// Constructs the model without its check.
    fn at_rest(lattice: &Lattice, params: &IdmsParams) -> Self {
        let NodeNumbering { nodes, count } = number_nodes(lattice);
        let mut rest_m = vec![Vec3::zeros(); count];
        let mut mass_kg = vec![0.0; count];
        let mut inverse_mass = vec![0.0; count];
        for (atom, node) in lattice.atoms.iter().zip(&nodes) {
            let Some(node) = *node else { continue };
            rest_m[node as usize] = atom.position_m;
            if !atom.fixed {
                mass_kg[node as usize] = atom.mass_kg;
                inverse_mass[node as usize] = 1.0 / atom.mass_kg;
            }
        }
        let (mut home_k, mut home_b) = (vec![0.0; count], vec![0.0; count]);
        let mut springs = Vec::new();
        let mut elements = 0;
        for link in &lattice.links {
            let atoms = link.atoms.map(|atom| &lattice.atoms[atom as usize]);
            if atoms[0].fixed && atoms[1].fixed {
                continue;
            }
            elements += 1;
            let length_m = (atoms[1].position_m - atoms[0].position_m).norm();
            let ends = link.atoms.map(|atom| nodes[atom as usize]);
            if length_m > 0.0 {
                // both ends of a stretched link with a free end were numbered
                if let [Some(a), Some(b)] = ends {
                    springs.push(Spring {
                        ends: [a, b],
                        stiffness_npm: link.stiffness_npm,
                        damping_nspm: link.damping_nspm,
                        length_m,
                    });
                }
            } else if let Some(node) = ends[usize::from(atoms[0].fixed)] {
                home_k[node as usize] += link.stiffness_npm;
                home_b[node as usize] += link.damping_nspm;
            }
        }
        let node_springs = NodeSprings::new(count, &springs);
        let patch_m = match params.contact {
            LatticeContact::Face { patch_m } => patch_m,
            LatticeContact::Node => 0.0,
        };
        let surface_m = &rest_m[..lattice.surface_count()];
        let skin = RestSurface::new(surface_m, &lattice.faces, patch_m);
        let mut model = Self {
            params: *params,
            home_length_m: home_lengths(count, &node_springs, &springs),
            rest_m,
            mass_kg,
            inverse_mass,
            home_stiffness_npm: home_k,
            home_damping_nspm: home_b,
            springs,
            node_springs,
            faces: lattice.faces.clone(),
            skin,
            compliance: Compliance::default(),
            elements,
            dt_s_max: 0.0,
        };
        model.compliance = Compliance::new(&model);
        model
    }
}

/// Numbering of atoms as nodes.
struct NodeNumbering {
    /// Node of each atom; `None` for atoms that only serve as homes.
    nodes: Vec<Option<u32>>,
    /// Number of nodes.
    count: usize,
}

/// Numbers the atoms that take part: surface, other free, fixed.
fn number_nodes(lattice: &Lattice) -> NodeNumbering {
    let atoms = &lattice.atoms;
    let mut has_link = vec![false; atoms.len()];
    for link in &lattice.links {
        let [a, b] = link.atoms.map(|atom| atom as usize);
        if atoms[a].position_m != atoms[b].position_m {
            has_link[a] |= !atoms[b].fixed;
            has_link[b] |= !atoms[a].fixed;
        }
    }
    let mut nodes = vec![None; atoms.len()];
    let mut count = 0_u32;
    for class_in_turn in 0..3 {
        for (index, atom) in atoms.iter().enumerate() {
            let class = match (atom.surface, atom.fixed) {
                (true, _) => 0,
                (false, false) => 1,
                (false, true) if has_link[index] => 2,
                _ => 3,
            };
            if class == class_in_turn {
                nodes[index] = Some(count);
                count += 1;
            }
        }
    }
    let count = count as usize;
    NodeNumbering { nodes, count }
}

/// Mean length of the links of each node; 1 if it has none.
fn home_lengths(count: usize, node_springs: &NodeSprings, springs: &[Spring]) -> Vec<f64> {
    let mean = |node: usize| {
        let list = node_springs.of(node);
        let lengths_m = list.iter().map(|&spring| springs[spring as usize].length_m);
        if list.is_empty() {
            1.0
        } else {
            lengths_m.sum::<f64>() / list.len() as f64
        }
    };
    (0..count).map(mean).collect()
}
