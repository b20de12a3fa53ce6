//! Tools with jaws: two bodies that close on a fold of the tissue.
//!
//! Source: ours, after rows S4-26 and S4-P12 of seed-004. Each jaw is a body of the tool's own shape;
//! their facing sides are [`palpate_twin::Jaws::opening_m`] apart, along x or, if the tool has a shaft, across
//! it. They hold by [`super::friction`] alone, within twice the coefficient times the grip, and open
//! jaws hold nothing. The opening says all of that, so [`palpate_twin::Jaws::closed`] is not looked at.
//!
//! On a flat block of one material they squeeze and rub but pluck no fold: what touches a jaw is
//! replaced by what comes after it, and friction, which knows the mean of it only, lets it go
//! (measured, up to a coefficient of 10). To pull tissue up, take a lattice, which ties a node.

use super::state::{BODIES, TOOLS};
use palpate_twin::Vec3;
use palpate_twin::contact::jaw_axis;
use palpate_twin::twin::{Reaction, Tool};

/// From a tool's place to that of its first jaw \[m\].
fn arm_m(tool: &Tool) -> Vec3 {
    let opening_m = tool.jaws.map_or(0.0, |jaws| jaws.opening_m.max(0.0));
    jaw_axis(&tool.shaft_m) * (0.5 * opening_m + tool.radius_m)
}

/// The bodies of tools: the first of each, then the second ones of those with jaws, if jaws are felt.
pub(super) fn bodies(tools: &[Tool], jaws: bool) -> [Option<Tool>; BODIES] {
    let mut bodies = [None; BODIES];
    for (index, tool) in tools.iter().enumerate().take(TOOLS) {
        if !(jaws && tool.jaws.is_some()) {
            bodies[index] = Some(*tool);
            continue;
        }
        let arm_m = arm_m(tool);
        for (body, arm_m) in [(index, arm_m), (index + TOOLS, -arm_m)] {
            bodies[body] = Some(Tool {
                position_m: tool.position_m + arm_m,
                ..*tool
            });
        }
    }
    bodies
}

/// What a tool feels of its two jaws.
pub(super) fn join(tool: &Tool, [one, other]: [Reaction; 2]) -> Reaction {
    let arm_m = arm_m(tool);
    let force_n = one.force_n + other.force_n;
    let apart_n = one.force_n - other.force_n;
    let size_n = force_n.norm();
    Reaction {
        force_n,
        edge_n: one.edge_n + other.edge_n,
        torque_nm: one.torque_nm + other.torque_nm + arm_m.cross(&apart_n),
        grip_n: 0.5 * apart_n.dot(&jaw_axis(&tool.shaft_m)),
        normal: if size_n > 0.0 {
            force_n / size_n
        } else {
            Vec3::zeros()
        },
        penetration_m: one.penetration_m.max(other.penetration_m),
        to_proxy_m: 0.5 * (one.to_proxy_m + other.to_proxy_m),
        stiffness_npm: one.stiffness_npm + other.stiffness_npm,
        damping_nspm: one.damping_nspm + other.damping_nspm,
        error_n: match [one.error_n, other.error_n] {
            [None, None] => None,
            both => Some(both.iter().flatten().sum()),
        },
        contacts: one.contacts + other.contacts,
    }
}
