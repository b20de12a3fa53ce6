//! From a lattice to a checked, immutable model.
//!
//! Source: seed-004 3.1 (rows S4-01 to S4-07, S4-09). Home links become one vector spring a node;
//! their fixed atoms, and links between two fixed atoms, take no part in any step.

use crate::idms::compliance::Compliance;
use crate::idms::params::{Contact, GraspLaw, IdmsError, IdmsParams, Scheme};
use palpate_twin::Vec3;
use palpate_twin::contact::Skin;
use palpate_twin::integrate;
use palpate_twin::integrate::{Assembly, Stepper};
use palpate_twin::lattice::{Face, Lattice};

/// A link between two nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spring {
    pub(super) ends: [u32; 2],
    pub(super) stiffness_npm: f64,
    pub(super) damping_nspm: f64,
    pub(super) length_m: f64,
}

/// Everything about a tissue that no step changes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Model {
    pub(super) params: IdmsParams,
    /// Rest positions of all nodes, surface nodes first.
    pub(super) rest_m: Vec<Vec3>,
    pub(super) mass_kg: Vec<f64>,
    /// Zero for fixed nodes.
    pub(super) inverse_mass: Vec<f64>,
    pub(super) home_k: Vec<f64>,
    pub(super) home_b: Vec<f64>,
    /// Reference length of each home spring: the mean length of the node's links.
    pub(super) home_length_m: Vec<f64>,
    pub(super) springs: Vec<Spring>,
    pub(super) star: Star,
    pub(super) faces: Vec<Face>,
    pub(super) skin: Skin,
    pub(super) compliance: Compliance,
    pub(super) elements: usize,
    pub(super) dt_s_max: f64,
    /// Largest stiffness factor for which the advisor still promises stability.
    pub(super) scale_max: f64,
}

/// The springs that meet at each node.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Star {
    begins: Vec<u32>,
    springs: Vec<u32>,
}

/// Bounds of a node's stiffness factor (documented at [`palpate_twin::Edit::Stiffen`]).
pub(super) const SCALE_MIN: f64 = 0.05;
pub(super) const SCALE_MAX: f64 = 50.0;
/// `kappa + 2 beta` that stiffening may reach: 80 % of the limit of 4.
const STIFFENED: f64 = 3.2;
/// Contact curvature over tool stiffness: the norm over six faces around a node gives 1.57, and
/// a node pressed into a valley is held sideways as well.
const FACE_FACTOR: f64 = 2.0;

impl Star {
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
    /// The other end.
    pub(super) fn other(&self, node: usize) -> usize {
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
        let surface = lattice.surface_count();
        check_atoms(lattice, surface)?;
        check_faces(lattice, surface)?;
        let roles = Roles::new(lattice)?;
        let mut model = roles.model(lattice, params, surface);
        model.gate(lattice)?;
        Ok(model)
    }

    /// Run the stability advisor; refuse what it refuses unless the caller opted out.
    ///
    /// In node contact every surface atom may carry a tool and a grasp; the same bound serves
    /// face contact, where a tool presses one point only.
    fn gate(&mut self, lattice: &Lattice) -> Result<(), IdmsError> {
        let params = self.params;
        let mut bare = Assembly::new(lattice);
        bare.scale_stiffness(params.law.steepest());
        let face = matches!(params.contact, Contact::Face { .. });
        let contact = if face { FACE_FACTOR } else { 1.0 } * params.tool_stiffness_npm;
        let mut touched = bare.clone();
        touched.touch_surface(contact + params.tool_stiffness_npm, 0.0);
        if params.contact_damping_ratio > 0.0 {
            let heaviest = self.mass_kg.iter().copied().fold(0.0, f64::max);
            let critical = 2.0 * (params.tool_stiffness_npm * heaviest).sqrt();
            touched.touch_surface(0.0, params.contact_damping_ratio * critical);
        }
        let dt_s = params.dt_s / f64::from(params.substeps);
        self.dt_s_max = touched.dt_s_max(integrate::GATE) * f64::from(params.substeps);
        let reached = touched.largest(dt_s * dt_s, 2.0 * dt_s);
        let own = bare.largest(dt_s * dt_s, 0.0);
        let room = if own > 0.0 {
            1.0 + (STIFFENED - reached).max(0.0) / own
        } else {
            SCALE_MAX
        };
        self.scale_max = if params.unchecked {
            SCALE_MAX
        } else {
            room.min(SCALE_MAX)
        };
        if params.unchecked {
            return Ok(());
        }
        if let Scheme::Printed { lambda, .. } = params.scheme {
            let kappa = touched.largest(dt_s * dt_s, 0.0);
            let radius =
                integrate::mode_radius(Stepper::Printed { lambda }, kappa, bare.largest(0.0, dt_s));
            if radius >= 1.0 {
                return Err(IdmsError::Printed { radius, dt_s });
            }
        }
        if reached > integrate::GATE {
            return Err(IdmsError::Unstable {
                reached,
                limit: integrate::GATE,
                dt_s,
                dt_s_max: self.dt_s_max / f64::from(params.substeps),
            });
        }
        Ok(())
    }

    /// Stiffness of a grasp's spring to a tool \[N/m\] and its full damping \[N s/m\] at `node`.
    pub(super) fn grasp(&self, node: usize, tool_npm: f64) -> (f64, f64) {
        match self.params.grasp {
            GraspLaw::Fixed => (tool_npm, 2.0 * (tool_npm * self.mass_kg[node]).sqrt()),
            GraspLaw::Shell => (tool_npm, 0.0),
        }
    }
}

fn check_atoms(lattice: &Lattice, surface: usize) -> Result<(), IdmsError> {
    for (index, atom) in lattice.atoms.iter().enumerate() {
        let wrong = |field, value, expected| IdmsError::Atom {
            atom: index,
            field,
            value,
            expected,
        };
        for value in atom.position_m.iter().copied() {
            if !value.is_finite() {
                return Err(wrong("position_m", value, "finite numbers"));
            }
        }
        let heavy = atom.mass_kg > 0.0 && atom.mass_kg.is_finite();
        if !(atom.fixed || heavy) {
            return Err(wrong(
                "mass_kg",
                atom.mass_kg,
                "a finite number greater than 0",
            ));
        }
        if atom.surface && index >= surface {
            return Err(wrong(
                "surface",
                1.0,
                "0, since surface atoms must come first",
            ));
        }
    }
    if lattice.atoms.iter().all(|atom| atom.fixed) {
        return Err(IdmsError::Rigid {
            atoms: lattice.atoms.len(),
        });
    }
    Ok(())
}

fn check_faces(lattice: &Lattice, surface: usize) -> Result<(), IdmsError> {
    for (index, face) in lattice.faces.iter().enumerate() {
        if let Some(&atom) = face.iter().find(|&&atom| atom as usize >= surface) {
            return Err(IdmsError::Face {
                face: index,
                atom,
                surface,
            });
        }
    }
    Ok(())
}

/// What each link is for, and which atoms become nodes.
struct Roles {
    /// Node of each atom; `None` for atoms that only serve as homes.
    nodes: Vec<Option<u32>>,
    count: usize,
}

impl Roles {
    /// Check every link, and number the atoms that take part: surface, other free, fixed.
    fn new(lattice: &Lattice) -> Result<Self, IdmsError> {
        let atoms = &lattice.atoms;
        let mut linked = vec![false; atoms.len()];
        for (index, link) in lattice.links.iter().enumerate() {
            check_link(lattice, index)?;
            let [a, b] = link.atoms.map(|atom| atom as usize);
            if atoms[a].position_m != atoms[b].position_m {
                linked[a] |= !atoms[b].fixed;
                linked[b] |= !atoms[a].fixed;
            }
        }
        let mut nodes = vec![None; atoms.len()];
        let mut count = 0_u32;
        for wanted in 0..3 {
            for (index, atom) in atoms.iter().enumerate() {
                let class = match (atom.surface, atom.fixed) {
                    (true, _) => 0,
                    (false, false) => 1,
                    (false, true) if linked[index] => 2,
                    _ => 3,
                };
                if class == wanted {
                    nodes[index] = Some(count);
                    count += 1;
                }
            }
        }
        Ok(Self {
            nodes,
            count: count as usize,
        })
    }

    fn model(&self, lattice: &Lattice, params: &IdmsParams, surface: usize) -> Model {
        let count = self.count;
        let mut rest_m = vec![Vec3::zeros(); count];
        let mut mass_kg = vec![0.0; count];
        let mut inverse_mass = vec![0.0; count];
        for (atom, node) in lattice.atoms.iter().zip(&self.nodes) {
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
            let ends = link.atoms.map(|atom| self.nodes[atom as usize]);
            if length_m > 0.0 {
                // Both ends of a stretched link with a free end were numbered in `new`.
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
        let star = Star::new(count, &springs);
        let patch_m = match params.contact {
            Contact::Face { patch_m } => patch_m,
            Contact::Node => 0.0,
        };
        let skin = Skin::new(&rest_m[..surface], &lattice.faces, patch_m);
        let mut model = Model {
            params: *params,
            home_length_m: home_lengths(count, &star, &springs),
            rest_m,
            mass_kg,
            inverse_mass,
            home_k,
            home_b,
            springs,
            star,
            faces: lattice.faces.clone(),
            skin,
            compliance: Compliance::default(),
            elements,
            dt_s_max: 0.0,
            scale_max: 1.0,
        };
        model.compliance = Compliance::new(&model);
        model
    }
}

/// Mean length of the links of each node; 1 if it has none.
fn home_lengths(count: usize, star: &Star, springs: &[Spring]) -> Vec<f64> {
    let mean = |node: usize| {
        let list = star.of(node);
        let sum: f64 = list
            .iter()
            .map(|&spring| springs[spring as usize].length_m)
            .sum();
        if list.is_empty() {
            1.0
        } else {
            sum / list.len() as f64
        }
    };
    (0..count).map(mean).collect()
}

fn check_link(lattice: &Lattice, index: usize) -> Result<(), IdmsError> {
    let link = &lattice.links[index];
    let wrong = |field, value, expected| IdmsError::Link {
        link: index,
        field,
        value,
        expected,
    };
    let natural = "a finite number, 0 or more";
    for (field, value) in [
        ("stiffness_npm", link.stiffness_npm),
        ("damping_nspm", link.damping_nspm),
    ] {
        if !(value >= 0.0 && value.is_finite()) {
            return Err(wrong(field, value, natural));
        }
    }
    for atom in link.atoms {
        if atom as usize >= lattice.atoms.len() {
            return Err(wrong(
                "atoms",
                f64::from(atom),
                "an index of the lattice's atoms",
            ));
        }
    }
    let [a, b] = link.atoms.map(|atom| &lattice.atoms[atom as usize]);
    if a.position_m == b.position_m && !a.fixed && !b.fixed {
        return Err(wrong(
            "length",
            0.0,
            "greater than 0 between two free atoms",
        ));
    }
    Ok(())
}
