//! Forces that part two bodies which are in each other: proportional to depth, along its slope.
//!
//! Source: seed-001 section 3.2.4 (row CD-07). As printed, `k depth grad` points into the body that owns the
//! distance map and is the force on that one; the other has the opposite. A torque is the arm from the centre
//! of mass, then the force; the printed order of the two is a slip of sign, and an option here.

use nalgebra::{Isometry3, Point3};

use crate::voxel::collide::distance::Distance;
use palpate_twin::Vec3;

/// A body for contact.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// Elements, in the body's own frame \[m\].
    pub points_m: &'a [Vec3],
    /// How deep a place is, in the same frame.
    pub distance: &'a Distance,
    /// From that frame to the world.
    pub pose: Isometry3<f64>,
    /// Centre of mass in the world \[m\].
    pub centre_m: Vec3,
}

/// Along what a force points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Along {
    /// The unit vector of central differences, as the source prints it.
    Unit,
    /// The slope of the sampled depth itself, whatever its length: then the force is that of an energy
    /// `k depth^2 / 2` and gives no more than it took.
    #[default]
    Slope,
}

/// How a torque is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Torque {
    /// Arm from the centre of mass, cross force.
    #[default]
    ArmByForce,
    /// Force cross arm, as the source prints it: turns the wrong way.
    AsPrinted,
}

/// How hard elements push.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Penalty {
    /// Of one element \[N/m\].
    pub stiffness_npm: f64,
    /// Along what.
    pub along: Along,
    /// How torques are made.
    pub torque: Torque,
}

/// A force and a torque.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wrench {
    /// Force \[N\].
    pub force_n: Vec3,
    /// Torque about the centre of mass \[N m\].
    pub torque_nm: Vec3,
}

/// What two bodies do to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Push {
    /// On the first body and on the second.
    pub on: [Wrench; 2],
    /// Stored in contact \[J\], if forces are along the slope.
    pub energy_j: f64,
    /// Deepest element \[m\], 0 without contact.
    pub deepest_m: f64,
    /// Elements inside the other body.
    pub contacts: usize,
}

impl Push {
    const NONE: Self = Self {
        on: [Wrench {
            force_n: Vec3::new(0.0, 0.0, 0.0),
            torque_nm: Vec3::new(0.0, 0.0, 0.0),
        }; 2],
        energy_j: 0.0,
        deepest_m: 0.0,
        contacts: 0,
    };
}

/// An element inside the other body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact {
    /// Its number among the points of its body.
    pub point: usize,
    /// The body, 0 or 1.
    pub body: usize,
    /// Where \[m\].
    pub at_m: Vec3,
    /// How deep \[m\].
    pub depth_m: f64,
    /// Energy of its spring \[J\].
    pub energy_j: f64,
}

impl Penalty {
    /// Elements that push with `stiffness_npm` \[N/m\] each.
    #[must_use]
    pub const fn of_element(stiffness_npm: f64) -> Self {
        Self {
            stiffness_npm,
            along: Along::Slope,
            torque: Torque::ArmByForce,
        }
    }

    /// The same force at any resolution if bodies are represented by their surface: stiffness of an area
    /// \[N/m^3\], spacing \[m\].
    #[must_use]
    pub fn of_area(stiffness_npm3: f64, spacing_m: f64) -> Self {
        Self::of_element(stiffness_npm3 * spacing_m * spacing_m)
    }

    /// The same force at any resolution if all elements push: stiffness of a volume \[N/m^4\], spacing \[m\].
    #[must_use]
    pub fn of_volume(stiffness_npm4: f64, spacing_m: f64) -> Self {
        Self::of_element(stiffness_npm4 * spacing_m * spacing_m * spacing_m)
    }

    /// Both ways: elements of the first in the second's map, of the second in the first's, and the mean of the two.
    pub fn both(&self, parts: [&Part<'_>; 2], mut contact: impl FnMut(Contact)) -> Push {
        let mut push = Push::NONE;
        for body in 0..2 {
            let one = self.one_way(parts[body], parts[1 - body], |mut found| {
                found.body = body;
                found.energy_j *= 0.5;
                contact(found);
            });
            for (own, from) in [(body, 0), (1 - body, 1)] {
                push.on[own].force_n += one.on[from].force_n * 0.5;
                push.on[own].torque_nm += one.on[from].torque_nm * 0.5;
            }
            push.energy_j += 0.5 * one.energy_j;
            push.deepest_m = push.deepest_m.max(one.deepest_m);
            push.contacts += one.contacts;
        }
        push
    }

    /// Elements of the first body in the map of the second.
    pub fn one_way(&self, a: &Part<'_>, b: &Part<'_>, mut contact: impl FnMut(Contact)) -> Push {
        let mut push = Push::NONE;
        let to_b = b.pose.inv_mul(&a.pose);
        for (point, point_m) in a.points_m.iter().enumerate() {
            let in_b = to_b * Point3::from(*point_m);
            let Some(depth) = b.distance.at(&in_b.coords).filter(|d| d.depth_m > 0.0) else {
                continue;
            };
            let inward = match self.along {
                Along::Slope => Some(depth.slope),
                Along::Unit => b.distance.inward(&in_b.coords),
            };
            let inward = b.pose.rotation * inward.unwrap_or_else(Vec3::zeros);
            let force_n = inward * (self.stiffness_npm * depth.depth_m);
            let at_m = (a.pose * Point3::from(*point_m)).coords;
            self.give(&mut push.on[0], -force_n, at_m - a.centre_m);
            self.give(&mut push.on[1], force_n, at_m - b.centre_m);
            let energy_j = 0.5 * self.stiffness_npm * depth.depth_m * depth.depth_m;
            push.energy_j += energy_j;
            push.deepest_m = push.deepest_m.max(depth.depth_m);
            push.contacts += 1;
            contact(Contact {
                point,
                body: 0,
                at_m,
                depth_m: depth.depth_m,
                energy_j,
            });
        }
        push
    }

    fn give(&self, to: &mut Wrench, force_n: Vec3, arm_m: Vec3) {
        to.force_n += force_n;
        to.torque_nm += match self.torque {
            Torque::ArmByForce => arm_m.cross(&force_n),
            Torque::AsPrinted => force_n.cross(&arm_m),
        };
    }
}
