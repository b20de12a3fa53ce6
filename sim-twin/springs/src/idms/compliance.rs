//! Compliance of the surface under a unit load: the tissue's part of a local contact model.
//!
//! Source: ours, after seed-004 3.5 (tool and node stiffness act in series). A
//! unit load along the rest normal is applied to each patch, and a small static problem over the
//! nodes around it is solved by conjugate gradients, once, at construction.

use crate::idms::build::Model;
use palpate_twin::Vec3;
use palpate_twin::conjugate_gradient::{CgWorkspace, LinearOperator};

/// Normal compliance between the corners of the contact surface \[m/N\].
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Compliance {
    /// Of each surface node with itself.
    pub(super) own: Vec<f64>,
    /// Between the two corners opposite to corner i of each face.
    cross: Vec<[f64; 3]>,
}

/// Rings of links around the load whose nodes may move: displacements decay about fivefold per ring.
const RINGS: usize = 4;
/// Number of rings for large surfaces, where the full number would delay the start noticeably.
const RINGS_LARGE: usize = 2;
const LARGE: usize = 600;
const ITERATIONS: usize = 60;
/// Tolerance of the residual over the load.
const TOLERANCE: f64 = 1e-6;

impl Compliance {
    pub(super) fn new(model: &Model) -> Self {
        let nodes = model.skin.nodes();
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for (index, face) in model.faces.iter().enumerate() {
            face.iter()
                .for_each(|&node| around[node as usize].push(index as u32));
        }
        let mut compliance = Self {
            own: vec![0.0; nodes],
            cross: vec![[0.0; 3]; model.faces.len()],
        };
        let mut patch = Local::new(model);
        for (node, faces) in around.iter().enumerate() {
            patch.solve(node);
            compliance.own[node] = patch.normal_displacement(node);
            for &index in faces {
                let face = model.faces[index as usize];
                for i in 0..3 {
                    // corner i+1 carries the load and the displacement of corner i+2 is read, and the reverse
                    let pair = [face[(i + 1) % 3] as usize, face[(i + 2) % 3] as usize];
                    if pair.contains(&node) {
                        let other = if pair[0] == node { pair[1] } else { pair[0] };
                        compliance.cross[index as usize][i] +=
                            0.5 * patch.normal_displacement(other);
                    }
                }
            }
        }
        compliance
    }

    /// Compliance of a point of a face with the given barycentric weights \[m/N\].
    pub(super) fn face(&self, model: &Model, face: usize, weights: &[f64; 3]) -> f64 {
        let nodes = model.faces[face];
        let own = |i: usize| weights[i] * weights[i] * self.own[nodes[i] as usize];
        let cross =
            |i: usize| 2.0 * weights[(i + 1) % 3] * weights[(i + 2) % 3] * self.cross[face][i];
        (0..3).map(|i| own(i) + cross(i)).sum()
    }
}

/// Static problem around one load.
struct Local<'a> {
    model: &'a Model,
    region: Vec<u32>,
    /// Index of each node in `region`, or `u32::MAX`.
    place: Vec<u32>,
    shift: Vec<Vec3>,
    rings: usize,
}

impl<'a> Local<'a> {
    fn new(model: &'a Model) -> Self {
        let large = model.skin.nodes() > LARGE;
        Self {
            model,
            region: Vec::new(),
            place: vec![u32::MAX; model.rest_m.len()],
            shift: Vec::new(),
            rings: if large { RINGS_LARGE } else { RINGS },
        }
    }

    fn admit(&mut self, node: usize) {
        if self.place[node] == u32::MAX && self.model.inverse_mass[node] > 0.0 {
            self.place[node] = self.region.len() as u32;
            self.region.push(node as u32);
        }
    }

    /// Solves for the displacements under a unit load along the normal, into the surface, on a node's patch.
    fn solve(&mut self, node: usize) {
        let model = self.model;
        self.region
            .iter()
            .for_each(|&old| self.place[old as usize] = u32::MAX);
        self.region.clear();
        for &(other, _) in model.skin.patch(node) {
            self.admit(other as usize);
        }
        let mut begin = 0;
        for _ in 0..self.rings {
            let end = self.region.len();
            for index in begin..end {
                let here = self.region[index] as usize;
                for &spring in model.node_springs.of(here) {
                    self.admit(model.springs[spring as usize].other_end(here));
                }
            }
            begin = end;
        }
        let mut load = vec![Vec3::zeros(); self.region.len()];
        for &(other, weight) in model.skin.patch(node) {
            if let Some(slot) = load.get_mut(self.place[other as usize] as usize) {
                *slot += weight * model.skin.normal(node);
            }
        }
        let mut shift = vec![Vec3::zeros(); load.len()];
        CgWorkspace::new(load.len()).solve(self, &load, &mut shift, TOLERANCE, ITERATIONS);
        self.shift = shift;
    }

    /// Normal displacement of a patch.
    fn normal_displacement(&self, node: usize) -> f64 {
        let normal = self.model.skin.normal(node);
        let part = |&(other, weight): &(u32, f64)| {
            let shift = self.shift.get(self.place[other as usize] as usize);
            weight * shift.map_or(0.0, |shift| shift.dot(&normal))
        };
        self.model.skin.patch(node).iter().map(part).sum()
    }
}

/// Stiffness operator of the region: forces of its springs for displacements of its nodes, all others fixed.
impl LinearOperator for Local<'_> {
    fn multiply(&self, u: &[Vec3], out: &mut [Vec3]) {
        let model = self.model;
        for (index, (&node, out)) in self.region.iter().zip(out).enumerate() {
            let node = node as usize;
            let mut sum = model.home_stiffness_npm[node] * u[index];
            for &spring in model.node_springs.of(node) {
                let spring = &model.springs[spring as usize];
                let other = spring.other_end(node);
                let along = (model.rest_m[other] - model.rest_m[node]) / spring.length_m;
                let far = u
                    .get(self.place[other] as usize)
                    .copied()
                    .unwrap_or_default();
                sum += spring.stiffness_npm * along.dot(&(u[index] - far)) * along;
            }
            *out = sum;
        }
    }
}
