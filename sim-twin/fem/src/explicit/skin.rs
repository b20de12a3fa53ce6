//! The top of the block under rigid tools: pressure at points inside its faces.
//!
//! Source: as [`super::super::probe`], in single precision. Every point carries the energy
//! `k d^2 / 2` an area of depth `d`, which goes on linearly beyond some of the face's size, so that a
//! tool in the middle of the tissue pushes with a limited force; forces are the energy's gradient.
//! The area is that of the stretched face: with the area at rest, tissue under a deep tool would gain
//! by flowing out from under it, and the tool would break through (measured). A point
//! that has come above the tool's middle is pushed down again and not out at the other side.
//!
//! Friction is one spring a tool, between the tool and the mean of what it touches weighted by
//! area, which slips at Coulomb's limit (elastic-plastic form, Curnier 1984): its force goes to
//! the points by the same weights, so that its power on both sides is one. Weights by pressure would
//! be Coulomb's law at every point, and an elastic body that slides so has no steady slide: waves of
//! the size of a cell grow out of nothing (Adams 1995; measured: the force flutters by a third at a
//! coefficient of 0.4). A mean over the contact is a non-local law (Oden and Martins 1985); it slides
//! without flutter up to a coefficient of about 0.5.

use super::Params;
use super::grid::{Grid, Motion};
use super::matter::Matter;
use super::points::{Batch, FACES, Pressed, Rule, cross, from_axis, on_faces, rule, square};
use palpate_twin::law::Real;

/// Depth to which the pressure of a point grows, over its face's shorter edge: a face that is
/// stretched under the tool has several times its pressure at rest.
pub(super) const DEEPEST: f64 = 4.0;

/// Area beyond which a stretched face counts no more, over that at rest. A ball stretches single faces
/// so far where it is pressed by more than three of its radii; with 8 it breaks through at three, and
/// with 4 at two and a half (measured).
///
/// Pressures and areas that end bound the force of a tool, whatever it does: [`DEEPEST`] times
/// [`STRETCHED`] times [`Params::contact_stiffness`] shear moduli of the top, times its area at rest.
pub(super) const STRETCHED: f64 = 16.0;

/// A face that may be touched.
#[derive(Debug, Clone)]
pub(super) struct Face {
    /// Grid of its nodes.
    pub(super) grid: u32,
    pub(super) nodes: [u32; 4],
    /// Places of the nodes at rest, their middle, and the farthest from it.
    pub(super) rest: [[f32; 3]; 4],
    middle: [f32; 3],
    wide: f32,
    pub(super) area: f32,
    /// Pressure a depth.
    pub(super) stiffness: f32,
    /// Depth to which the pressure grows.
    pub(super) deepest: f32,
    /// Area to which it counts.
    pub(super) most: f32,
    /// Class of its grid's top.
    pub(super) class: usize,
}

/// A rounded rod, without units; a sphere if both ends are one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rod {
    pub(super) centre: [f32; 3],
    /// From the centre to the other end.
    pub(super) shaft: [f32; 3],
    pub(super) radius: f32,
    /// Depth a pressure of the tool's own boundary.
    pub(super) give: f32,
}

/// Which faces push at an instant, and how much that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Beat {
    pub(super) weight: f32,
    /// Faces of this class and faster ones push, each for the `2^class` sub-steps until its next time.
    pub(super) due: usize,
    /// Whether the others are looked at too.
    pub(super) whole: bool,
}

impl Beat {
    /// The beat at the ends of a tick, when all faces push.
    pub(super) fn all(weight: f32, slowest: usize) -> Self {
        Self {
            weight,
            due: slowest,
            whole: true,
        }
    }
}

/// What a tool met.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Met {
    /// Force on the tool at this instant, friction left out.
    pub(super) force: [f64; 3],
    /// Impulse on the tool over the shortest sub-step, of the faces that are due.
    pub(super) push: [f64; 3],
    /// Turn of those impulses about its centre.
    pub(super) twist: [f64; 3],
    pub(super) energy: f64,
    pub(super) depth: f32,
    pub(super) area: f32,
    /// The same, every face's over that of the face at rest: so many faces' worth.
    pub(super) faces: f32,
    /// Slope of the force against depth, with the tissue held.
    pub(super) slope: f32,
    /// Sum of the points' weights in friction.
    pub(super) weight: f32,
    /// Mean velocity of what is touched.
    pub(super) velocity: [f32; 3],
    pub(super) contacts: u32,
}

/// A touched face, so that it gets its part of friction.
#[derive(Debug, Clone, Copy)]
struct Touch {
    face: u32,
    /// Sub-steps for which it pushes now, 0 if it is not due.
    count: f32,
    /// As [`Pressed::shares`] and [`Pressed::moment`].
    shares: [f32; 4],
    moment: [f32; 3],
}

/// Faces that a tool touches, to give them their part of friction.
#[derive(Debug, Clone)]
pub(super) struct Touches(Vec<Touch>);

impl Touches {
    pub(super) fn new(skin: &Skin) -> Self {
        Self(Vec::with_capacity(skin.faces.len()))
    }
}

/// The faces with their quadrature rule.
#[derive(Debug, Clone)]
pub(super) struct Skin {
    pub(super) faces: Vec<Face>,
    pub(super) rule: Rule,
}

impl Skin {
    pub(super) fn new(matter: &Matter, grids: &[Grid]) -> Self {
        let (nested, stuff, params) = (matter.nested, matter.stuff, matter.params);
        let mut skin = Self {
            faces: Vec::new(),
            rule: rule(params.order),
        };
        for (index, level) in nested.levels.iter().enumerate() {
            let (grid, [nx, ny, nz]) = (&grids[index], level.cells);
            for j in 0..ny {
                for i in 0..nx {
                    let place = [i, j, nz - 1];
                    let on_top = index == 0 || !nested.hangs(index)[5];
                    if level.is_replaced(place) || !on_top {
                        continue;
                    }
                    let moduli = &stuff[index].moduli[i + nx * (j + ny * (nz - 1))];
                    let mu = moduli.mu_pa / matter.scale.stress_pa;
                    skin.faces.push(face(index, grid, [i, j, nz], mu, params));
                }
            }
        }
        skin
    }

    /// Lists the faces that the tool can reach before it has gone `way`, if no node of the top is
    /// farther than `moved` from its rest.
    pub(super) fn near(
        &self,
        rod: &Rod,
        way: f32,
        moved: f32,
        motions: &[Motion],
        list: &mut Vec<u32>,
    ) {
        list.clear();
        for (index, face) in (0..).zip(&self.faces) {
            let rest = [0, 1, 2].map(|axis| face.middle[axis] - rod.centre[axis]);
            let far = rod.radius + way + moved + face.wide;
            if square(&from_axis(&rest, &rod.shaft)) > far * far {
                continue;
            }
            let u = &motions[face.grid as usize].u;
            let corners = places(face, u, &rod.centre);
            let mut middle = [0.0; 3];
            for corner in &corners {
                for axis in 0..3 {
                    middle[axis] += 0.25 * corner[axis];
                }
            }
            let mut wide2 = 0.0_f32;
            for corner in &corners {
                let mut out = *corner;
                for axis in 0..3 {
                    out[axis] -= middle[axis];
                }
                wide2 = wide2.max(square(&out));
            }
            let reach = rod.radius + way + wide2.sqrt();
            if square(&from_axis(&middle, &rod.shaft)) <= reach * reach {
                list.push(index);
            }
        }
    }

    /// Adds the impulses of the tool on the listed faces that are due.
    pub(super) fn press(
        &self,
        near: &[u32],
        rod: &Rod,
        beat: &Beat,
        motions: &mut [Motion],
        touches: &mut Touches,
    ) -> Met {
        let mut met = Met::default();
        let mut batch = Batch::NONE;
        let round = square(&rod.shaft) == 0.0;
        touches.0.clear();
        for faces in near.chunks(FACES) {
            batch.clear_from(faces.len());
            for (lane, &index) in faces.iter().enumerate() {
                let face = &self.faces[index as usize];
                let corners = places(face, &motions[face.grid as usize].u, &rod.centre);
                batch.set(lane, face, &corners, rod.give);
            }
            let mut pressed = on_faces(&self.rule, &batch, rod);
            if round {
                // a sphere that only pushes is not turned
                pressed.torque = [[0.0; FACES]; 3];
            }
            for (lane, &index) in faces.iter().enumerate() {
                let face = &self.faces[index as usize];
                let count = beat.count(face);
                if pressed.count[lane] == 0.0 || (count == 0.0 && !beat.whole) {
                    continue;
                }
                met.add(batch.stiffness(lane), face.area, &pressed, lane);
                let at = |rows: &[[f32; FACES]; 3]| rows.map(|row| row[lane]);
                met.push(count, &at(&pressed.total), &at(&pressed.torque));
                let corners = pressed.corners.map(|rows| at(&rows));
                let motion = &mut motions[face.grid as usize];
                give(face, beat.weight * count, &corners, motion);
                touches.0.push(Touch {
                    face: index,
                    count,
                    shares: pressed.shares.map(|row| row[lane]),
                    moment: at(&pressed.moment),
                });
            }
        }
        met
    }

    /// Mean velocity of the touched points, by their weights.
    pub(super) fn velocity(&self, touches: &Touches, weight: f32, motions: &[Motion]) -> [f32; 3] {
        let mut sum = [0.0_f32; 3];
        for touch in &touches.0 {
            let face = &self.faces[touch.face as usize];
            let v = &motions[face.grid as usize].v;
            for (&node, part) in face.nodes.iter().zip(touch.shares) {
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

    /// Shares out the friction `on_tool` among the faces that are due, and adds it to what `met`
    /// has of impulses.
    pub(super) fn drag(
        &self,
        touches: &Touches,
        beat: &Beat,
        on_tool: [f32; 3],
        motions: &mut [Motion],
        met: &mut Met,
    ) {
        if met.weight <= 0.0 {
            return;
        }
        let push = on_tool.map(|f| -f / met.weight);
        for touch in touches.0.iter().filter(|touch| touch.count > 0.0) {
            let face = &self.faces[touch.face as usize];
            let part = touch.shares.iter().sum::<f32>();
            let turn = cross(&touch.moment, &push);
            met.push(touch.count, &push.map(|p| p * part), &turn);
            let corners = touch.shares.map(|share| push.map(|p| p * share));
            let motion = &mut motions[face.grid as usize];
            give(face, beat.weight * touch.count, &corners, motion);
        }
    }

    /// Contact stiffness of every node if a tool is everywhere, times the square of its step.
    pub(super) fn springs(&self, grids: &[Grid]) -> Vec<Vec<f32>> {
        let mut springs: Vec<Vec<f32>> = grids.iter().map(|g| vec![0.0; g.count()]).collect();
        for face in &self.faces {
            let weight = f32::of(f64::from(1_u32 << (2 * face.class)));
            for &node in &face.nodes {
                let spring = &mut springs[face.grid as usize][node as usize];
                *spring += 0.25 * face.area * face.stiffness * weight;
            }
        }
        springs
    }
}

impl Beat {
    /// Sub-steps for which a face pushes now.
    pub(super) fn count(&self, face: &Face) -> f32 {
        if face.class > self.due {
            return 0.0;
        }
        f32::of(f64::from(1_u32 << face.class))
    }
}

impl Met {
    /// Adds the impulses of a face that pushes for so many sub-steps.
    pub(super) fn push(&mut self, count: f32, force: &[f32; 3], torque: &[f32; 3]) {
        for axis in 0..3 {
            self.push[axis] -= f64::from(count * force[axis]);
            self.twist[axis] -= f64::from(count * torque[axis]);
        }
    }

    /// Adds a face whose points have that much pressure a depth, and which had that area at rest.
    fn add(&mut self, stiffness: f32, area: f32, pressed: &Pressed, lane: usize) {
        for (force, total) in self.force.iter_mut().zip(&pressed.total) {
            *force -= f64::from(total[lane]);
        }
        self.energy += f64::from(pressed.energy[lane]);
        self.depth = self.depth.max(pressed.depth[lane]);
        self.area += pressed.area[lane];
        self.faces += pressed.area[lane] / area;
        self.slope += stiffness * pressed.area[lane];
        self.weight += pressed.shares.iter().map(|row| row[lane]).sum::<f32>();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 16"
        )]
        let count = pressed.count[lane] as u32;
        self.contacts += count;
    }
}

/// The face above the cell at `[i, j]`, in plane `k` of nodes.
fn face(index: usize, grid: &Grid, [i, j, k]: [usize; 3], mu: f64, params: &Params) -> Face {
    let at = [[i, j, k], [i + 1, j, k], [i + 1, j + 1, k], [i, j + 1, k]].map(|p| grid.at(p));
    let short = grid.edge[0].min(grid.edge[1]);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "grids are below 2^32 nodes"
    )]
    Face {
        grid: index as u32,
        nodes: at.map(|node| node as u32),
        rest: at.map(|node| grid.rest(node).map(f32::of)),
        middle: [0, 1, 2].map(|a| f32::of(0.5 * (grid.rest(at[0])[a] + grid.rest(at[2])[a]))),
        wide: f32::of(0.5 * libm::hypot(grid.edge[0], grid.edge[1])),
        area: f32::of(grid.edge[0] * grid.edge[1]),
        stiffness: f32::of(params.contact_stiffness * mu / short),
        deepest: f32::of(DEEPEST * short),
        most: f32::of(STRETCHED * grid.edge[0] * grid.edge[1]),
        class: grid.slabs.last().map_or(0, |slab| slab.class),
    }
}

/// Corners of a face from a place.
fn places(face: &Face, u: &[Vec<f32>; 3], from: &[f32; 3]) -> [[f32; 3]; 4] {
    let mut corners = [[0.0; 3]; 4];
    for (corner, (rest, &node)) in corners.iter_mut().zip(face.rest.iter().zip(&face.nodes)) {
        for axis in 0..3 {
            corner[axis] = (rest[axis] - from[axis]) + u[axis][node as usize];
        }
    }
    corners
}

fn give(face: &Face, weight: f32, forces: &[[f32; 3]; 4], motion: &mut Motion) {
    for (&node, force) in face.nodes.iter().zip(forces) {
        for (f, force) in motion.f.iter_mut().zip(force) {
            f[node as usize] += force * weight;
        }
    }
}
