//! Penalty forces between penetrating bodies: proportional to depth, along its gradient.
//!
//! Source: seed-001 section 3.2.4 (row CD-07). As printed, `k depth grad` points into the body that owns the distance
//! map and is the force on that body; the other has the opposite. A torque is the arm from the centre of mass, cross
//! the force. The printed order is the reverse, a sign error, and an option here.

use nalgebra::{Isometry3, Point3};

use crate::voxel::collide::distance_map::DistanceMap;
use palpate_twin::Vec3;

/// A body in contact.
#[derive(Debug, Clone, Copy)]
pub struct PenaltyBody<'a> {
    /// Nodes, in the body's own frame \[m\].
    pub points_m: &'a [Vec3],
    /// Distance map, in the same frame.
    pub distance: &'a DistanceMap,
    /// Pose of that frame in the world.
    pub pose: Isometry3<f64>,
    /// Centre of mass in the world \[m\].
    pub centre_m: Vec3,
}

/// Direction of a force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ForceDirection {
    /// Unit vector of central differences, as the source prints it.
    Unit,
    /// Gradient of the sampled depth, with its own length. The force then has the energy `k depth^2 / 2` and is
    /// conservative.
    #[default]
    Slope,
}

/// Order of the factors of a torque.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TorqueOrder {
    /// Arm from the centre of mass, cross force.
    #[default]
    ArmByForce,
    /// Force cross arm, as the source prints it: the wrong sign.
    AsPrinted,
}

/// Parameters of penalty forces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PenaltyLaw {
    /// Stiffness of one node \[N/m\].
    pub stiffness_npm: f64,
    /// Direction of the force.
    pub direction: ForceDirection,
    /// Order of the torque.
    pub torque: TorqueOrder,
}

/// A force with a torque.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PenaltyWrench {
    /// Force \[N\].
    pub force_n: Vec3,
    /// Torque about the centre of mass \[N m\].
    pub torque_nm: Vec3,
}

/// Contact of two bodies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PenaltyForces {
    /// Forces on the first body and on the second.
    pub wrenches: [PenaltyWrench; 2],
    /// Energy stored in contact \[J\], if forces are along the gradient.
    pub energy_j: f64,
    /// Greatest depth of a node \[m\]; 0 without contact.
    pub deepest_m: f64,
    /// Number of nodes inside the other body.
    pub contacts: usize,
}

impl PenaltyForces {
    const NONE: Self = Self {
        wrenches: [PenaltyWrench {
            force_n: Vec3::new(0.0, 0.0, 0.0),
            torque_nm: Vec3::new(0.0, 0.0, 0.0),
        }; 2],
        energy_j: 0.0,
        deepest_m: 0.0,
        contacts: 0,
    };
}

/// A node inside the other body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PenaltyContact {
    /// Index among the points of its body.
    pub point: usize,
    /// The body, 0 or 1.
    pub body: usize,
    /// Position \[m\].
    pub at_m: Vec3,
    /// Depth \[m\].
    pub depth_m: f64,
    /// Energy of its spring \[J\].
    pub energy_j: f64,
}

impl PenaltyLaw {
    /// Returns parameters with `stiffness_npm` \[N/m\] per node.
    #[must_use]
    pub const fn per_node(stiffness_npm: f64) -> Self {
        Self {
            stiffness_npm,
            direction: ForceDirection::Slope,
            torque: TorqueOrder::ArmByForce,
        }
    }

    /// Returns parameters with a force independent of resolution for surface nodes: stiffness per area \[N/m^3\],
    /// spacing \[m\].
    #[must_use]
    pub fn of_area(stiffness_npm3: f64, spacing_m: f64) -> Self {
        Self::per_node(stiffness_npm3 * spacing_m * spacing_m)
    }

    /// Returns parameters with a force independent of resolution for all nodes: stiffness per volume \[N/m^4\],
    /// spacing \[m\].
    #[must_use]
    pub fn of_volume(stiffness_npm4: f64, spacing_m: f64) -> Self {
        Self::per_node(stiffness_npm4 * spacing_m * spacing_m * spacing_m)
    }

    /// Computes contact both ways: nodes of the first in the second's map, of the second in the first's, and the mean
    /// of the two.
    pub fn mutual(
        &self,
        parts: [&PenaltyBody<'_>; 2],
        mut contact: impl FnMut(PenaltyContact),
    ) -> PenaltyForces {
        let mut push = PenaltyForces::NONE;
        for body in 0..2 {
            let one = self.one_way(parts[body], parts[1 - body], |mut found| {
                found.body = body;
                found.energy_j *= 0.5;
                contact(found);
            });
            for (own, from) in [(body, 0), (1 - body, 1)] {
                push.wrenches[own].force_n += one.wrenches[from].force_n * 0.5;
                push.wrenches[own].torque_nm += one.wrenches[from].torque_nm * 0.5;
            }
            push.energy_j += 0.5 * one.energy_j;
            push.deepest_m = push.deepest_m.max(one.deepest_m);
            push.contacts += one.contacts;
        }
        push
    }

    /// Computes contact of the first body's nodes in the map of the second.
    pub fn one_way(
        &self,
        a: &PenaltyBody<'_>,
        b: &PenaltyBody<'_>,
        mut contact: impl FnMut(PenaltyContact),
    ) -> PenaltyForces {
        let mut push = PenaltyForces::NONE;
        let to_b = b.pose.inv_mul(&a.pose);
        for (point, point_m) in a.points_m.iter().enumerate() {
            let in_b = to_b * Point3::from(*point_m);
            let Some(depth) = b.distance.at(&in_b.coords).filter(|d| d.depth_m > 0.0) else {
                continue;
            };
            let inward = match self.direction {
                ForceDirection::Slope => Some(depth.slope),
                ForceDirection::Unit => b.distance.inward(&in_b.coords),
            };
            let inward = b.pose.rotation * inward.unwrap_or_else(Vec3::zeros);
            let force_n = inward * (self.stiffness_npm * depth.depth_m);
            let at_m = (a.pose * Point3::from(*point_m)).coords;
            self.add_force(&mut push.wrenches[0], -force_n, at_m - a.centre_m);
            self.add_force(&mut push.wrenches[1], force_n, at_m - b.centre_m);
            let energy_j = 0.5 * self.stiffness_npm * depth.depth_m * depth.depth_m;
            push.energy_j += energy_j;
            push.deepest_m = push.deepest_m.max(depth.depth_m);
            push.contacts += 1;
            contact(PenaltyContact {
                point,
                body: 0,
                at_m,
                depth_m: depth.depth_m,
                energy_j,
            });
        }
        push
    }

    fn add_force(&self, to: &mut PenaltyWrench, force_n: Vec3, arm_m: Vec3) {
        to.force_n += force_n;
        to.torque_nm += match self.torque {
            TorqueOrder::ArmByForce => arm_m.cross(&force_n),
            TorqueOrder::AsPrinted => force_n.cross(&arm_m),
        };
    }
}
