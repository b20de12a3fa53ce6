//! Data of a contact surface that is computed in advance: grids, rims and the patches that share a load.
//!
//! Source: ours, after seed-004 3.5 and W18. A tool much stiffer than tissue presses on one point,
//! and the stiffness of a lattice under a point load ripples from node to edge to face. Spreading
//! every load over a patch, and measuring depth against the same weighted surface, removes the
//! ripple. Displacement and force use the same weights, so work stays exact.

use crate::Vec3;
use crate::contact::grid::PointGrid;
use crate::lattice::Face;

/// Contact surface at rest. Surface nodes come first in every slice of positions; `rest_m` holds exactly these.
#[derive(Debug, Clone, PartialEq)]
pub struct RestSurface {
    rest_m: Vec<Vec3>,
    faces: Vec<Face>,
    node_grid: PointGrid,
    face_grid: PointGrid,
    /// Largest distance of a corner from the centre of its face \[m\].
    face_reach_m: f64,
    patch_begins: Vec<u32>,
    patch: Vec<(u32, f64)>,
    rim_nodes: Vec<bool>,
    rim_edges: Vec<[bool; 3]>,
    normals: Vec<Vec3>,
    /// Slack of a neighbour list of this surface \[m\].
    pub(super) slack_m: f64,
}

/// Slack of a neighbour list over the mean edge: longer lists against fewer rebuilds.
const SLACK_RATIO: f64 = 0.15;

impl RestSurface {
    /// Prepares a surface; loads spread over nodes within `patch_m` of each other at rest.
    ///
    /// Zero `patch_m` keeps every load on the corners of its face.
    #[must_use]
    pub fn new(rest_m: &[Vec3], faces: &[Face], patch_m: f64) -> Self {
        let centers: Vec<Vec3> = faces
            .iter()
            .map(|face| corners(rest_m, face).sum::<Vec3>() / 3.0)
            .collect();
        let edge_m = mean_edge(rest_m, faces);
        let reach = |(face, center): (&Face, &Vec3)| {
            let reaches = face.map(|node| (rest_m[node as usize] - center).norm());
            reaches.into_iter().fold(0.0, f64::max)
        };
        let (rim_nodes, rim_edges) = rims(rest_m.len(), faces);
        let node_grid = PointGrid::new(rest_m, edge_m);
        let (areas, normals) = areas_and_normals(rest_m, faces);
        let (patch_begins, patch) = patches(rest_m, &areas, &node_grid, patch_m);
        Self {
            face_reach_m: faces.iter().zip(&centers).map(reach).fold(0.0, f64::max),
            face_grid: PointGrid::new(&centers, edge_m),
            rest_m: rest_m.to_vec(),
            faces: faces.to_vec(),
            node_grid,
            patch_begins,
            patch,
            rim_nodes,
            rim_edges,
            normals,
            slack_m: SLACK_RATIO * edge_m,
        }
    }

    /// Triangles of the surface.
    #[must_use]
    #[inline]
    pub fn faces(&self) -> &[Face] {
        &self.faces
    }

    /// Number of surface nodes.
    #[must_use]
    #[inline]
    pub fn nodes(&self) -> usize {
        self.rest_m.len()
    }

    /// Outward unit normal of a surface node at rest, from the faces around it; z if it has none.
    #[must_use]
    #[inline]
    pub fn normal(&self, node: usize) -> Vec3 {
        self.normals[node]
    }

    /// Nodes that share a load on `node`, with weights that add up to 1.
    #[must_use]
    #[inline]
    pub fn patch(&self, node: usize) -> &[(u32, f64)] {
        &self.patch[self.patch_begins[node] as usize..self.patch_begins[node + 1] as usize]
    }

    /// Position of corner `node` of the contact surface while nodes are at `positions_m`.
    #[must_use]
    #[inline]
    pub(crate) fn corner(&self, node: usize, positions_m: &[Vec3]) -> Vec3 {
        let patch = self.patch(node);
        if patch.len() == 1 {
            return positions_m[node];
        }
        let mut corner_m = self.rest_m[node];
        for &(other, weight) in patch {
            let other = other as usize;
            corner_m += weight * (positions_m[other] - self.rest_m[other]);
        }
        corner_m
    }

    /// True if the foot with these weights lies on the open rim of the surface.
    #[must_use]
    #[inline]
    pub(super) fn on_rim(&self, face: usize, weights: &[f64; 3]) -> bool {
        let zero = weights.map(|weight| weight == 0.0);
        match zero.iter().filter(|&&flag| flag).count() {
            0 => false,
            1 => (0..3).any(|i| zero[i] && self.rim_edges[face][i]),
            _ => (0..3).any(|i| !zero[i] && self.rim_nodes[self.faces[face][i] as usize]),
        }
    }

    /// Largest sideways displacement of a surface node from rest \[m\].
    #[must_use]
    #[inline]
    pub(crate) fn drift_m(&self, positions_m: &[Vec3]) -> f64 {
        let aside = |(now, rest): (&Vec3, &Vec3)| (now - rest).xy().norm_squared();
        positions_m
            .iter()
            .zip(&self.rest_m)
            .map(aside)
            .fold(0.0, f64::max)
            .sqrt()
    }

    /// Visits a superset of the nodes that can be within `reach_m` of `center_m`.
    pub(super) fn for_nodes(&self, center_m: &Vec3, reach_m: f64, visit: impl FnMut(u32)) {
        self.node_grid.for_near(center_m, reach_m, visit);
    }

    /// Visits a superset of the faces that can be within `reach_m` of `center_m`.
    pub(super) fn for_faces(&self, center_m: &Vec3, reach_m: f64, visit: impl FnMut(u32)) {
        self.face_grid
            .for_near(center_m, reach_m + self.face_reach_m, visit);
    }
}

/// Corners of a face.
fn corners<'a>(rest_m: &'a [Vec3], face: &Face) -> impl Iterator<Item = &'a Vec3> + use<'a> {
    face.map(|node| &rest_m[node as usize]).into_iter()
}

fn mean_edge(rest_m: &[Vec3], faces: &[Face]) -> f64 {
    let mut sum = 0.0;
    for &[a, b, c] in faces {
        for (from, to) in [(a, b), (b, c), (c, a)] {
            sum += (rest_m[from as usize] - rest_m[to as usize]).norm();
        }
    }
    sum / (3 * faces.len()).max(1) as f64
}

/// Marks the nodes and the edges (opposite to corner i) with a face on one side only.
fn rims(nodes: usize, faces: &[Face]) -> (Vec<bool>, Vec<[bool; 3]>) {
    let edge = |face: &Face, i: usize| {
        let (p, q) = (face[(i + 1) % 3], face[(i + 2) % 3]);
        (p.min(q), p.max(q))
    };
    let mut edges: Vec<(u32, u32)> = faces
        .iter()
        .flat_map(|face| (0..3).map(move |i| edge(face, i)))
        .collect();
    edges.sort_unstable();
    let alone = |wanted: (u32, u32)| {
        let from = edges.partition_point(|&entry| entry < wanted);
        edges.get(from + 1) != Some(&wanted)
    };
    let mut rim_nodes = vec![false; nodes];
    let mut rim_edges = vec![[false; 3]; faces.len()];
    for (flags, face) in rim_edges.iter_mut().zip(faces) {
        for (i, flag) in flags.iter_mut().enumerate() {
            let ends = edge(face, i);
            *flag = alone(ends);
            if *flag {
                rim_nodes[ends.0 as usize] = true;
                rim_nodes[ends.1 as usize] = true;
            }
        }
    }
    (rim_nodes, rim_edges)
}

/// Area of each node \[m^2\] and its outward normal.
fn areas_and_normals(rest_m: &[Vec3], faces: &[Face]) -> (Vec<f64>, Vec<Vec3>) {
    let mut areas = vec![0.0; rest_m.len()];
    let mut normals = vec![Vec3::zeros(); rest_m.len()];
    for &face in faces {
        let [a, b, c] = face.map(|node| rest_m[node as usize]);
        let twice = (b - a).cross(&(c - a));
        for node in face {
            areas[node as usize] += twice.norm() / 6.0;
            normals[node as usize] += twice;
        }
    }
    for normal in &mut normals {
        *normal = normal.try_normalize(0.0).unwrap_or_else(Vec3::z);
    }
    (areas, normals)
}

/// Weights `(1 - r^2/patch^2)^2 area` of the nodes around each node, normalised.
fn patches(
    rest_m: &[Vec3],
    areas: &[f64],
    grid: &PointGrid,
    patch_m: f64,
) -> (Vec<u32>, Vec<(u32, f64)>) {
    let mut begins = vec![0];
    let mut all = Vec::new();
    for (node, here) in rest_m.iter().enumerate() {
        let mut row: Vec<(u32, f64)> = Vec::new();
        grid.for_near(here, patch_m, |other| {
            let far = (rest_m[other as usize] - here).norm_squared();
            let fade = 1.0 - far / (patch_m * patch_m);
            if fade > 0.0 && areas[other as usize] > 0.0 {
                row.push((other, fade * fade * areas[other as usize]));
            }
        });
        let sum: f64 = row.iter().map(|&(_, weight)| weight).sum();
        if row.len() < 2 || sum <= 0.0 {
            row = vec![(node as u32, 1.0)];
        } else {
            row.sort_unstable_by_key(|&(other, _)| other);
            row.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
        all.extend(row);
        begins.push(all.len() as u32);
    }
    (begins, all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::fixture;

    fn skin(patch_m: f64) -> RestSurface {
        let lattice = fixture::regular();
        let rest: Vec<Vec3> = lattice.atoms[..22]
            .iter()
            .map(|atom| atom.position_m)
            .collect();
        RestSurface::new(&rest, &lattice.faces, patch_m)
    }

    #[test]
    fn patch_weights_sum_to_one_and_keep_rigid_shifts() {
        let skin = skin(1.5);
        let shift = Vec3::new(0.1, -0.2, 0.3);
        let moved: Vec<Vec3> = skin.rest_m.iter().map(|rest| rest + shift).collect();
        for node in 0..22 {
            let sum: f64 = skin.patch(node).iter().map(|&(_, weight)| weight).sum();
            assert!((sum - 1.0).abs() < 1e-12);
            let corner = skin.corner(node, &moved);
            assert!((corner - moved[node]).norm() < 1e-12);
            assert!((skin.normal(node) - Vec3::z()).norm() < 1e-12);
        }
        assert_eq!(skin.patch(10).len(), 7);
        assert!((skin.drift_m(&moved) - 0.05_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn zero_patch_keeps_the_node_alone() {
        assert_eq!(skin(0.0).patch(3), &[(3, 1.0)]);
    }

    #[test]
    fn the_rim_of_the_sheet_is_its_border() {
        let skin = skin(0.0);
        let rim = (0..22).filter(|&node| skin.rim_nodes[node]).count();
        assert_eq!(rim, 14, "22 nodes, 8 inside");
        assert_eq!(
            skin.rim_edges
                .iter()
                .flatten()
                .filter(|&&flag| flag)
                .count(),
            14
        );
    }
}
