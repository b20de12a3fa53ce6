//! Contact of two soft volumes: equal and opposite forces, and depth of penetration.
//!
//! Source: seed-001 row FU-05 and section 3.2.4. The distance map of a deforming body is defined at rest. So a node
//! in another volume is mapped to rest by the displacement of the nodes around it, weighted by distance with weights
//! that sum to 1; the result is continuous. Contact is a spring along the gradient of that depth. Links pull as
//! elsewhere (section 3.4.2, weighted). Passes converge to the least energy of both, within the limits of links.

use crate::voxel::collide::collision_grid::CollisionGrid;
use crate::voxel::collide::distance_map::{DistanceMap, SurfacePlacement};
use crate::voxel::collide::map_nodes;
use crate::voxel::collide::occupancy::{MapMoveError, MapMoveRule, OccupancyMap};
use palpate_twin::Vec3;
use palpate_twin::edits::NeighbourDirection;
use palpate_voxel::nodes::VoxelNodes;

/// Two volumes in contact.
#[derive(Debug, Clone)]
pub struct SoftContact {
    /// Both volumes.
    pub volumes: [VoxelNodes<f64>; 2],
    stiffness_npm: f64,
    depths: [DistanceMap; 2],
    map: OccupancyMap,
    /// All nodes, in the order of the map.
    all: [Vec<u32>; 2],
    surface_nodes: [Vec<u32>; 2],
    /// Contact force by node \[N\].
    force_n: [Vec<Vec3>; 2],
    /// Sum of the contact stiffness by node \[N/m\].
    stiff_npm: [Vec<f64>; 2],
    /// Nodes around a place, with their weights.
    shares: Vec<(u32, f64)>,
}

/// Contact of two volumes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftContactForces {
    /// Sum of the forces on each \[N\].
    pub force_n: [Vec3; 2],
    /// Greatest depth of a node in the other volume \[m\].
    pub deepest_m: f64,
    /// Number of pairs in contact.
    pub contacts: usize,
}

impl SoftContact {
    /// Returns two volumes in a grid with cells no smaller than linked nodes can be apart. Each pair in contact
    /// pushes with `stiffness_npm` \[N/m\].
    ///
    /// # Errors
    /// [`MapMoveError`] if a node is outside of the cells.
    pub fn new(
        volumes: [VoxelNodes<f64>; 2],
        grid: CollisionGrid,
        stiffness_npm: f64,
    ) -> Result<Self, MapMoveError> {
        let mut map = OccupancyMap::hashed(grid);
        let all = [0, 1].map(|own| map_nodes::all(&volumes[own]));
        for (nodes, all) in volumes.iter().zip(&all) {
            map.add(&map_nodes::placed(nodes, all))?;
        }
        let slots = [0, 1].map(|own| volumes[own].slots() as usize);
        Ok(Self {
            depths: [0, 1].map(|own| depth_at_rest(&volumes[own])),
            surface_nodes: [0, 1].map(|own| map_nodes::surface_nodes(&volumes[own])),
            force_n: slots.map(|count| vec![Vec3::zeros(); count]),
            stiff_npm: slots.map(|count| vec![0.0; count]),
            // more than the nodes of 27 cells compressed to their limits
            shares: Vec::with_capacity(1024),
            all,
            map,
            stiffness_npm,
            volumes,
        })
    }

    /// Finds contacts at the present positions, then relaxes both volumes once; returns the contact.
    ///
    /// # Errors
    /// [`MapMoveError`] if a node has left the grid; nothing has moved then.
    pub fn pass(&mut self) -> Result<SoftContactForces, MapMoveError> {
        for (body, nodes) in (0..).zip(&self.volumes) {
            let all = &self.all[body as usize];
            let to_m = |nth: usize, _: &Vec3| nodes.position_m(all[nth]);
            self.map.try_move(body, MapMoveRule::Detect, to_m, |_| ())?;
        }
        let pressing = self.find_contacts();
        for own in 0..2 {
            self.relax(own);
        }
        Ok(pressing)
    }

    /// Computes the forces of all contacts.
    fn find_contacts(&mut self) -> SoftContactForces {
        let mut pressing = SoftContactForces {
            force_n: [Vec3::zeros(); 2],
            deepest_m: 0.0,
            contacts: 0,
        };
        for own in 0..2 {
            self.force_n[own].fill(Vec3::zeros());
            self.stiff_npm[own].fill(0.0);
        }
        // each node of both counts in the other, with half the force
        let half_npm = 0.5 * self.stiffness_npm;
        for own in 0..2 {
            let other = 1 - own;
            for nth in 0..self.surface_nodes[own].len() {
                let node = self.surface_nodes[own][nth];
                let at_m = self.volumes[own].position_m(node);
                let Some(moved_m) = self.interpolate_displacement(other, &at_m) else {
                    continue;
                };
                let depth = self.depths[other].at(&(at_m - moved_m));
                let Some(depth) = depth.filter(|depth| depth.depth_m > 0.0) else {
                    continue;
                };
                let force_n = depth.slope * (half_npm * depth.depth_m);
                pressing.force_n[own] -= force_n;
                self.force_n[own][node as usize] -= force_n;
                self.stiff_npm[own][node as usize] += half_npm;
                for &(near, weight) in &self.shares {
                    pressing.force_n[other] += force_n * weight;
                    self.force_n[other][near as usize] += force_n * weight;
                    self.stiff_npm[other][near as usize] += half_npm * weight;
                }
                pressing.deepest_m = pressing.deepest_m.max(depth.depth_m);
                pressing.contacts += 1;
            }
        }
        pressing
    }

    /// Returns the mean displacement of the nodes around a place, by weight, and stores the weights; none if no node
    /// is nearer than a cell along every axis.
    fn interpolate_displacement(&mut self, body: usize, at_m: &Vec3) -> Option<Vec3> {
        let grid = *self.map.grid();
        let middle = grid.cell(at_m)?;
        let (mut sum, mut moved_m) = (0.0, Vec3::zeros());
        self.shares.clear();
        for beside in 0..27 {
            let off = [beside % 3 - 1, beside / 3 % 3 - 1, beside / 9 - 1];
            let cell = std::array::from_fn(|axis| middle[axis] + off[axis]);
            for (map_node, place_m) in self.map.in_cell(cell) {
                let offset = (place_m - at_m).abs() / grid.pitch_m();
                let weight: f64 = offset.iter().map(|x| (1.0 - x).max(0.0)).product();
                if map_node.body as usize == body && weight > 0.0 {
                    self.shares.push((map_node.node, weight));
                    moved_m += (place_m - self.volumes[body].rest_m(map_node.node)) * weight;
                    sum += weight;
                }
            }
        }
        self.shares
            .iter_mut()
            .for_each(|(_, weight)| *weight /= sum);
        (sum > 0.0).then(|| moved_m / sum)
    }

    /// Moves every free node to the least energy of its links and contacts, with these fixed.
    fn relax(&mut self, own: usize) {
        let nodes = &mut self.volumes[own];
        for node in 0..nodes.slots() {
            if !nodes.alive(node) || nodes.pinned(node) {
                continue;
            }
            let slot = node as usize;
            let mut pull_n = self.force_n[own][slot];
            // both ends of a contact give way at once: each moves half of the distance
            let mut stiff_npm = 2.0 * self.stiff_npm[own][slot];
            let own_m = nodes.displacement_m(node);
            let mut room = [(f64::NEG_INFINITY, f64::INFINITY); 3];
            for to in NeighbourDirection::ALL {
                let Some(other) = nodes.neighbour(node, to) else {
                    continue;
                };
                let pair = [nodes.material(node), nodes.material(other)];
                let bond_npm = nodes.bonds().of(pair[0], pair[1], to.axis()).stiffness_npm;
                let other_m = nodes.displacement_m(other);
                stiff_npm += bond_npm;
                for along in 0..3 {
                    pull_n[along] += bond_npm * (other_m[along] - own_m[along]);
                    let (least, most) = nodes.bonds().range_m(pair, to, along);
                    let (low, high) = &mut room[along];
                    *low = low.max(other_m[along] - most);
                    *high = high.min(other_m[along] - least);
                }
            }
            if stiff_npm > 0.0 {
                for along in 0..3 {
                    let (low, high) = room[along];
                    let to_m = own_m[along] + pull_n[along] / stiff_npm;
                    // a link beyond its limit allows no further step
                    nodes.displacement_m[along][slot] = to_m.max(low).min(high.max(low));
                }
            }
        }
    }

    /// Returns the force of links on a node \[N\]; the holding force of a pinned node is its opposite.
    #[must_use]
    pub fn link_force_n(&self, own: usize, node: u32) -> Vec3 {
        let nodes = &self.volumes[own];
        let mut pull_n = Vec3::zeros();
        for to in NeighbourDirection::ALL {
            if let Some(other) = nodes.neighbour(node, to) {
                let pair = [nodes.material(node), nodes.material(other)];
                let bond_npm = nodes.bonds().of(pair[0], pair[1], to.axis()).stiffness_npm;
                let offset = Vec3::from(nodes.displacement_m(other))
                    - Vec3::from(nodes.displacement_m(node));
                pull_n += offset * bond_npm;
            }
        }
        pull_n
    }
}

/// Returns the distance map of a volume at rest.
fn depth_at_rest(nodes: &VoxelNodes<f64>) -> DistanceMap {
    let sites = (0..nodes.slots()).map(|node| nodes.site(node));
    let mut corners = [[i32::MAX; 3], [i32::MIN; 3]];
    for site in sites {
        for axis in 0..3 {
            corners[0][axis] = corners[0][axis].min(site[axis]);
            corners[1][axis] = corners[1][axis].max(site[axis]);
        }
    }
    let there = |site| nodes.at_site(site).is_some_and(|e| nodes.alive(e));
    let frame = *nodes.frame();
    let map = DistanceMap::new(frame, corners, 3, SurfacePlacement::Outermost, there);
    // slots fit the map's number of samples, unless the volume is nearly empty
    map.unwrap_or_else(|| DistanceMap::nowhere(frame))
}
