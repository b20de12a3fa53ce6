//! Contact of the top of the block with rigid tools: pressure at points inside its faces.
//!
//! Source: as [`super::super::sphere_contact`], in single precision. Every point carries the energy `k d^2 /
//! 2` per area at depth `d`. It continues linearly beyond a depth proportional to the face's size, so that a
//! tool deep in the tissue pushes with a bounded force; forces are the gradient of the energy. The area is
//! that of the stretched face. With the area at rest, tissue under a deep tool would lower its energy by
//! flowing out from under it, and the tool would break through (measured). The push is along the offset from
//! the axis everywhere. Points above the axis were once pushed down: at that border the force was no gradient of
//! an energy, and a tissue that crossed it gained ten times the tool's work (measured).
//!
//! Friction is one spring per tool, between the tool and the area-weighted mean of its contact, which slips
//! at Coulomb's limit (elastic-plastic form, Curnier 1984). Its force is distributed to the points by the
//! same weights, so that its power on both sides is equal. Weights by pressure would be Coulomb's law at
//! every point, and an elastic body then has no steady slide. Waves of the size of a cell grow from rounding
//! (Adams 1995; measured: the force fluctuates by a third at a coefficient of 0.4). A mean over the contact
//! is a non-local law (Oden and Martins 1985); alone, it slides steadily up to a coefficient of about 0.5, and with the
//! dashpots of `surface_waves` up to 1.

use super::ExplicitParams;
use super::contact_lag::ContactViscosity;
use super::face_points::{
    FACES_PER_BATCH, FaceBatch, FaceLoads, RulePoint, from_axis, gauss_rule, press_faces, square,
};
use super::grid::{Grid, Motion};
use super::material::CellMaterials;
use nalgebra::Vector3;
use palpate_twin::law::Real;

/// Depth up to which the pressure of a point grows, over its face's shorter edge: a stretched face under the
/// tool has several times its pressure at rest.
pub(super) const DEPTH_MAX_RATIO: f64 = 4.0;

/// Area over that at rest beyond which a stretched face counts no more. A sphere stretches single faces so
/// far where it is pressed by more than three of its radii. With 8 it breaks through at three, and with 4 at
/// two and a half (measured).
///
/// Bounded pressures and areas bound the force of any tool: [`DEPTH_MAX_RATIO`] times [`AREA_MAX_RATIO`]
/// times [`ExplicitParams::contact_stiffness`] shear moduli of the top, times its area at rest.
pub(super) const AREA_MAX_RATIO: f64 = 16.0;

/// Face that may be touched.
#[derive(Debug, Clone)]
pub(super) struct Face {
    /// Grid of its nodes.
    pub(super) grid: u32,
    pub(super) nodes: [u32; 4],
    /// Positions of the nodes at rest, their middle, and the largest distance from it.
    pub(super) rest: [[f32; 3]; 4],
    middle: [f32; 3],
    half_diagonal: f32,
    pub(super) area: f32,
    /// Its edges at rest.
    pub(super) edges: [f32; 2],
    /// Pressure per depth.
    pub(super) stiffness: f32,
    /// Depth up to which the pressure grows.
    pub(super) depth_max: f32,
    /// Area up to which it counts.
    pub(super) area_max: f32,
    /// Step class of its grid's top.
    pub(super) class: usize,
    /// Mass of half of the cell below, and impedance of shear waves there, per area.
    pub(super) mass: f32,
    pub(super) impedance: f32,
}

/// Rounded rod, without units; a sphere if both ends coincide.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ToolRod {
    pub(super) centre: [f32; 3],
    /// Vector from the centre to the other end.
    pub(super) shaft: [f32; 3],
    pub(super) radius: f32,
    /// Compliance of the tool's boundary: depth per pressure.
    pub(super) boundary_compliance: f32,
    /// Distance along both axes of the top by which four copies of the tool are shifted, over the edges of a face; each
    /// has a quarter of its stiffness. 0 for one tool.
    pub(super) spread: f32,
}

/// Cells and faces that act at an instant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DueForces {
    /// Weight of the impulses, in shortest sub-steps.
    pub(super) weight: f32,
    /// Class up to which cells and faces act, each for the `2^class` sub-steps until its next time.
    pub(super) class: usize,
    /// Length of the shortest sub-step; 0 if no time has passed.
    pub(super) dt: f64,
    /// True if the other faces are evaluated too.
    pub(super) sum_all: bool,
}

impl DueForces {
    /// Returns all cells and faces, after no time.
    pub(super) fn all(weight: f32, slowest: usize) -> Self {
        Self {
            weight,
            class: slowest,
            dt: 0.0,
            sum_all: true,
        }
    }

    /// Returns the number of sub-steps for which a face acts now.
    pub(super) fn substeps(&self, face: &Face) -> f32 {
        if face.class > self.class {
            return 0.0;
        }
        f32::of(f64::from(1_u32 << face.class))
    }
}

/// Contact of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct ToolContact {
    /// Force on the tool at this instant, without friction.
    pub(super) force: [f64; 3],
    /// Impulse on the tool over the shortest sub-step, of the faces that are due.
    pub(super) impulse: [f64; 3],
    /// Moment of those impulses about its centre.
    pub(super) angular_impulse: [f64; 3],
    pub(super) energy: f64,
    pub(super) depth: f32,
    pub(super) area: f32,
    /// Sum over faces of the ratio of touched area to area at rest: the equivalent number of whole faces.
    pub(super) rest_area_ratio: f32,
    /// Derivative of the force by depth, with the tissue fixed.
    pub(super) stiffness: f32,
    /// Sum of the weights of the points in friction.
    pub(super) friction_weight: f32,
    /// Mean velocity of the touched surface.
    pub(super) velocity: [f32; 3],
    pub(super) contacts: u32,
}

/// Face that a tool touches, with its weights in friction.
#[derive(Debug, Clone, Copy)]
pub(super) struct TouchedFace {
    pub(super) face: u32,
    /// Number of sub-steps for which it acts now, 0 if it is not due.
    pub(super) count: f32,
    /// As [`FaceLoads::friction_weights`] and [`FaceLoads::moment`].
    pub(super) friction_weights: [f32; 4],
    moment: [f32; 3],
}

/// Faces of the top with their quadrature rule.
#[derive(Debug, Clone)]
pub(super) struct Skin {
    pub(super) faces: Vec<Face>,
    pub(super) rule: Vec<RulePoint>,
    /// Viscosity of the cells below the faces.
    pub(super) viscosity: ContactViscosity,
}

impl Skin {
    pub(super) fn new(materials: &CellMaterials, grids: &[Grid]) -> Self {
        let (nested, cell_materials, params) =
            (materials.nested, materials.cell_materials, materials.params);
        let (mut faces, mut below) = (Vec::new(), Vec::new());
        for (index, level) in nested.levels.iter().enumerate() {
            let (grid, [nx, ny, nz]) = (&grids[index], level.cells);
            for j in 0..ny {
                for i in 0..nx {
                    let place = [i, j, nz - 1];
                    let on_top = index == 0 || !nested.hanging_sides(index)[5];
                    if level.is_replaced(place) || !on_top {
                        continue;
                    }
                    let cell = &cell_materials[index][i + nx * (j + ny * (nz - 1))];
                    let mu = cell.moduli.mu_pa / materials.scale.stress_pa;
                    let density = cell.density_kgpm3 / materials.scale.density_kgpm3;
                    let mut face = face(index, grid, [i, j, nz], mu, params);
                    face.mass = f32::of(0.5 * density * grid.edge[2]);
                    face.impedance = f32::of((density * mu).sqrt());
                    faces.push(face);
                    below.push(cell);
                }
            }
        }
        Self {
            faces,
            rule: gauss_rule(),
            viscosity: ContactViscosity::mean(below.into_iter()),
        }
    }

    /// Lists the faces that the tool can reach within a displacement `reach`, if no node of the top is
    /// farther than `moved` from its rest.
    pub(super) fn near(
        &self,
        rod: &ToolRod,
        reach: f32,
        moved: f32,
        motions: &[Motion],
        list: &mut Vec<u32>,
    ) {
        list.clear();
        for (index, face) in (0..).zip(&self.faces) {
            let rest = [0, 1, 2].map(|axis| face.middle[axis] - rod.centre[axis]);
            let shift = 2.0 * rod.spread * face.half_diagonal;
            let far = rod.radius + reach + moved + shift + face.half_diagonal;
            if square(&from_axis(&rest, &rod.shaft)) > far * far {
                continue;
            }
            let u = &motions[face.grid as usize].u;
            let corners = corner_offsets(face, u, &rod.centre);
            let mut middle = [0.0; 3];
            for corner in &corners {
                for axis in 0..3 {
                    middle[axis] += 0.25 * corner[axis];
                }
            }
            let mut half_diagonal2 = 0.0_f32;
            for corner in &corners {
                let mut out = *corner;
                for axis in 0..3 {
                    out[axis] -= middle[axis];
                }
                half_diagonal2 = half_diagonal2.max(square(&out));
            }
            let limit = rod.radius + reach + shift + half_diagonal2.sqrt();
            if square(&from_axis(&middle, &rod.shaft)) <= limit * limit {
                list.push(index);
            }
        }
    }

    /// Adds the impulses of the tool on the listed faces that are due.
    pub(super) fn press(
        &self,
        near: &[u32],
        rod: &ToolRod,
        due: &DueForces,
        motions: &mut [Motion],
        touches: &mut Vec<TouchedFace>,
    ) -> ToolContact {
        let mut contact = ToolContact::default();
        let mut batch = FaceBatch::NONE;
        let round = square(&rod.shaft) == 0.0;
        touches.clear();
        for faces in near.chunks(FACES_PER_BATCH) {
            batch.clear_from(faces.len());
            for (lane, &index) in faces.iter().enumerate() {
                let face = &self.faces[index as usize];
                let corners = corner_offsets(face, &motions[face.grid as usize].u, &rod.centre);
                batch.set(lane, face, &corners, rod);
            }
            let mut loads = press_faces(&self.rule, &batch, rod);
            if round {
                // frictionless contact exerts no torque on a sphere
                loads.torque = [[0.0; FACES_PER_BATCH]; 3];
            }
            for (lane, &index) in faces.iter().enumerate() {
                let face = &self.faces[index as usize];
                let count = due.substeps(face);
                if loads.count[lane] == 0.0 || (count == 0.0 && !due.sum_all) {
                    continue;
                }
                contact.add(batch.stiffness[lane], face.area, &loads, lane);
                let at = |rows: &[[f32; FACES_PER_BATCH]; 3]| rows.map(|row| row[lane]);
                contact.add_impulse(count, &at(&loads.total), &at(&loads.torque));
                let corners = loads.corners.map(|rows| at(&rows));
                let motion = &mut motions[face.grid as usize];
                add_impulses(face, due.weight * count, &corners, motion);
                touches.push(TouchedFace {
                    face: index,
                    count,
                    friction_weights: loads.friction_weights.map(|row| row[lane]),
                    moment: at(&loads.moment),
                });
            }
        }
        contact
    }

    /// Returns the mean velocity of the touched points by their weights.
    pub(super) fn velocity(
        &self,
        touches: &[TouchedFace],
        weight: f32,
        motions: &[Motion],
    ) -> [f32; 3] {
        let mut sum = [0.0_f32; 3];
        for touch in touches {
            let face = &self.faces[touch.face as usize];
            let v = &motions[face.grid as usize].v;
            for (&node, part) in face.nodes.iter().zip(touch.friction_weights) {
                for axis in 0..3 {
                    sum[axis] += part * v[axis][node as usize];
                }
            }
        }
        if weight > 0.0 {
            sum.map(|s| s / weight)
        } else {
            [0.0; 3]
        }
    }

    /// Distributes the friction `on_tool` among the faces that are due, and adds it to the impulses of
    /// `contact`.
    pub(super) fn apply_friction(
        &self,
        touches: &[TouchedFace],
        due: &DueForces,
        on_tool: [f32; 3],
        motions: &mut [Motion],
        contact: &mut ToolContact,
    ) {
        if contact.friction_weight <= 0.0 {
            return;
        }
        let push = on_tool.map(|f| -f / contact.friction_weight);
        for touch in touches.iter().filter(|touch| touch.count > 0.0) {
            let face = &self.faces[touch.face as usize];
            let part = touch.friction_weights.iter().sum::<f32>();
            let turn = Vector3::from(touch.moment).cross(&Vector3::from(push));
            contact.add_impulse(touch.count, &push.map(|p| p * part), &turn.into());
            let corners = touch.friction_weights.map(|share| push.map(|p| p * share));
            let motion = &mut motions[face.grid as usize];
            add_impulses(face, due.weight * touch.count, &corners, motion);
        }
    }

    /// Returns the contact stiffness of every node with tools everywhere, times the square of its step.
    pub(super) fn contact_stiffness(&self, grids: &[Grid]) -> Vec<Vec<f32>> {
        let mut node_stiffness: Vec<Vec<f32>> =
            grids.iter().map(|g| vec![0.0; g.count()]).collect();
        for face in &self.faces {
            let weight = f32::of(f64::from(1_u32 << (2 * face.class)));
            for &node in &face.nodes {
                let stiffness = &mut node_stiffness[face.grid as usize][node as usize];
                *stiffness += 0.25 * face.area * face.stiffness * weight;
            }
        }
        node_stiffness
    }
}

impl ToolContact {
    /// Adds the impulses of a face that acts for `count` sub-steps.
    pub(super) fn add_impulse(&mut self, count: f32, force: &[f32; 3], torque: &[f32; 3]) {
        for axis in 0..3 {
            self.impulse[axis] -= f64::from(count * force[axis]);
            self.angular_impulse[axis] -= f64::from(count * torque[axis]);
        }
    }

    /// Adds a face with the pressure per depth `stiffness` and the area at rest `area`.
    fn add(&mut self, stiffness: f32, area: f32, loads: &FaceLoads, lane: usize) {
        for (force, total) in self.force.iter_mut().zip(&loads.total) {
            *force -= f64::from(total[lane]);
        }
        self.energy += f64::from(loads.energy[lane]);
        self.depth = self.depth.max(loads.depth[lane]);
        self.area += loads.area[lane];
        self.rest_area_ratio += loads.area[lane] / area;
        self.stiffness += stiffness * loads.area[lane];
        self.friction_weight += loads
            .friction_weights
            .iter()
            .map(|row| row[lane])
            .sum::<f32>();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 9"
        )]
        let count = loads.count[lane] as u32;
        self.contacts += count;
    }
}

/// Constructs the face above the cell at `[i, j]`, in plane `k` of nodes.
fn face(
    index: usize,
    grid: &Grid,
    [i, j, k]: [usize; 3],
    mu: f64,
    params: &ExplicitParams,
) -> Face {
    let at = [[i, j, k], [i + 1, j, k], [i + 1, j + 1, k], [i, j + 1, k]].map(|p| grid.index(p));
    let short = grid.edge[0].min(grid.edge[1]);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "grids are below 2^32 nodes"
    )]
    Face {
        grid: index as u32,
        nodes: at.map(|node| node as u32),
        rest: at.map(|node| grid.rest_position(node).map(f32::of)),
        middle: [0, 1, 2]
            .map(|a| f32::of(0.5 * (grid.rest_position(at[0])[a] + grid.rest_position(at[2])[a]))),
        half_diagonal: f32::of(0.5 * libm::hypot(grid.edge[0], grid.edge[1])),
        area: f32::of(grid.edge[0] * grid.edge[1]),
        edges: [f32::of(grid.edge[0]), f32::of(grid.edge[1])],
        stiffness: f32::of(params.contact_stiffness * mu / short),
        depth_max: f32::of(DEPTH_MAX_RATIO * short),
        area_max: f32::of(AREA_MAX_RATIO * grid.edge[0] * grid.edge[1]),
        class: grid.slabs.last().map_or(0, |slab| slab.class),
        mass: 0.0,
        impedance: 0.0,
    }
}

/// Returns the corners of a face relative to a position.
fn corner_offsets(face: &Face, u: &[Vec<f32>; 3], from: &[f32; 3]) -> [[f32; 3]; 4] {
    let mut corners = [[0.0; 3]; 4];
    for (corner, (rest, &node)) in corners.iter_mut().zip(face.rest.iter().zip(&face.nodes)) {
        for axis in 0..3 {
            corner[axis] = (rest[axis] - from[axis]) + u[axis][node as usize];
        }
    }
    corners
}

pub(super) fn add_impulses(face: &Face, weight: f32, forces: &[[f32; 3]; 4], motion: &mut Motion) {
    for (&node, force) in face.nodes.iter().zip(forces) {
        for (f, force) in motion.f.iter_mut().zip(force) {
            f[node as usize] += force * weight;
        }
    }
}
