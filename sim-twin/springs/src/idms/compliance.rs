//! How far the surface gives way under a unit load: the tissue's part of a local model.
//!
//! Source: ours, after seed-004 3.5 (a contact feels the series of tool and node stiffness). A
//! unit load along the rest normal is put on each patch, and a small static problem over the
//! nodes around it is solved by conjugate gradients, once, at construction.

use crate::idms::build::Model;
use palpate_twin::Vec3;
use palpate_twin::conjugate::{Operator, Room};

/// Normal compliance between the corners of the contact surface \[m/N\].
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Compliance {
    /// Of each surface node against itself.
    own: Vec<f64>,
    /// Of the two corners opposite to corner i of each face, against each other.
    cross: Vec<[f64; 3]>,
}

/// Rings of links around the load that may move: loads decay about fivefold a ring.
const RINGS: usize = 4;
/// The same for surfaces so large that exactness would cost a noticeable start-up time.
const RINGS_LARGE: usize = 2;
const LARGE: usize = 600;
const ITERATIONS: usize = 60;
/// Of the residual over the load.
const TOLERANCE: f64 = 1e-6;

impl Compliance {
    pub(super) fn new(model: &Model) -> Self {
        let nodes = model.skin.nodes();
        let mut around: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        for (index, face) in model.faces.iter().enumerate() {
            face.iter()
                .for_each(|&node| around[node as usize].push(index as u32));
        }
        let mut this = Self {
            own: vec![0.0; nodes],
            cross: vec![[0.0; 3]; model.faces.len()],
        };
        let mut patch = Local::new(model);
        for (node, faces) in around.iter().enumerate() {
            patch.solve(model, node);
            this.own[node] = patch.read(model, node);
            for &index in faces {
                let face = model.faces[index as usize];
                for i in 0..3 {
                    // Corner i+1 carries the load and corner i+2 is read, and the other way.
                    let pair = [face[(i + 1) % 3] as usize, face[(i + 2) % 3] as usize];
                    if pair.contains(&node) {
                        let other = if pair[0] == node { pair[1] } else { pair[0] };
                        this.cross[index as usize][i] += 0.5 * patch.read(model, other);
                    }
                }
            }
        }
        this
    }

    /// Of one node \[m/N\].
    pub(super) fn node(&self, node: usize) -> f64 {
        self.own[node]
    }

    /// Of a point of a face with the given barycentric weights \[m/N\].
    pub(super) fn face(&self, model: &Model, face: usize, weights: &[f64; 3]) -> f64 {
        let nodes = model.faces[face];
        let own = |i: usize| weights[i] * weights[i] * self.own[nodes[i] as usize];
        let cross =
            |i: usize| 2.0 * weights[(i + 1) % 3] * weights[(i + 2) % 3] * self.cross[face][i];
        (0..3).map(|i| own(i) + cross(i)).sum()
    }
}

/// The static problem around one load.
struct Local {
    region: Vec<u32>,
    /// Place of each node in `region`, or `u32::MAX`.
    place: Vec<u32>,
    shift: Vec<Vec3>,
    rings: usize,
}

impl Local {
    fn new(model: &Model) -> Self {
        let large = model.skin.nodes() > LARGE;
        Self {
            region: Vec::new(),
            place: vec![u32::MAX; model.rest_m.len()],
            shift: Vec::new(),
            rings: if large { RINGS_LARGE } else { RINGS },
        }
    }

    fn admit(&mut self, model: &Model, node: usize) {
        if self.place[node] == u32::MAX && model.inverse_mass[node] > 0.0 {
            self.place[node] = self.region.len() as u32;
            self.region.push(node as u32);
        }
    }

    /// Displacements under a unit load along the normal, into the surface, on a node's patch.
    fn solve(&mut self, model: &Model, node: usize) {
        self.region
            .iter()
            .for_each(|&old| self.place[old as usize] = u32::MAX);
        self.region.clear();
        for &(other, _) in model.skin.patch(node) {
            self.admit(model, other as usize);
        }
        let mut begin = 0;
        for _ in 0..self.rings {
            let end = self.region.len();
            for index in begin..end {
                let here = self.region[index] as usize;
                for &spring in model.star.of(here) {
                    self.admit(model, model.springs[spring as usize].other(here));
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
        let operator = Stiffness { local: self, model };
        Room::new(load.len()).solve(&operator, &load, &mut shift, TOLERANCE, ITERATIONS);
        self.shift = shift;
    }

    /// Normal displacement of a patch.
    fn read(&self, model: &Model, node: usize) -> f64 {
        let normal = model.skin.normal(node);
        let part = |&(other, weight): &(u32, f64)| {
            let shift = self.shift.get(self.place[other as usize] as usize);
            weight * shift.map_or(0.0, |shift| shift.dot(&normal))
        };
        model.skin.patch(node).iter().map(part).sum()
    }
}

/// What the springs of a region pull when its nodes move and all others stand.
struct Stiffness<'a> {
    local: &'a Local,
    model: &'a Model,
}

impl Operator for Stiffness<'_> {
    fn multiply(&self, u: &[Vec3], out: &mut [Vec3]) {
        let model = self.model;
        for (index, (&node, out)) in self.local.region.iter().zip(out).enumerate() {
            let node = node as usize;
            let mut sum = model.home_k[node] * u[index];
            for &spring in model.star.of(node) {
                let spring = &model.springs[spring as usize];
                let other = spring.other(node);
                let along = (model.rest_m[other] - model.rest_m[node]) / spring.length_m;
                let far = u
                    .get(self.local.place[other] as usize)
                    .copied()
                    .unwrap_or_default();
                sum += spring.stiffness_npm * along.dot(&(u[index] - far)) * along;
            }
            *out = sum;
        }
    }
}
