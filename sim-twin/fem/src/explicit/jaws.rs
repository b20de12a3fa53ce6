//! Tools with jaws: two bodies that grasp a fold of the tissue.
//!
//! Source: ours, after rows S4-26 and S4-P12 of seed-004. Each jaw is a body of the tool's own shape; their
//! facing sides are [`palpate_twin::Jaws::opening_m`] apart, along x or, if the tool has a shaft, across it.
//! They grasp by [`super::friction`] alone, within twice the coefficient times the grip force; open jaws
//! grasp nothing. The opening determines all of that, so [`palpate_twin::Jaws::closed`] is not read.
//!
//! On a flat block of one material they squeeze and rub but lift no fold. The surface that touches a jaw is
//! replaced by other surface, and friction, which uses only the mean of the contact, releases it (measured,
//! up to a coefficient of 10). To pull tissue up, use a spring lattice, which attaches a node.

use super::state::{BODIES, TOOLS};
use palpate_twin::Vec3;
use palpate_twin::contact::jaw_axis;
use palpate_twin::twin::{Reaction, Tool};

/// Returns the vector from a tool's position to that of its first jaw \[m\].
fn jaw_offset_m(tool: &Tool) -> Vec3 {
    let opening_m = tool.jaws.map_or(0.0, |jaws| jaws.opening_m.max(0.0));
    jaw_axis(&tool.shaft_m) * (0.5 * opening_m + tool.radius_m)
}

/// Returns the bodies of tools: the first of each, then the second ones of tools with jaws, if `jaws` is
/// enabled.
pub(super) fn bodies(tools: &[Tool], jaws: bool) -> [Option<Tool>; BODIES] {
    let mut bodies = [None; BODIES];
    for (index, tool) in tools.iter().enumerate().take(TOOLS) {
        if !(jaws && tool.jaws.is_some()) {
            bodies[index] = Some(*tool);
            continue;
        }
        let arm_m = jaw_offset_m(tool);
        for (body, arm_m) in [(index, arm_m), (index + TOOLS, -arm_m)] {
            bodies[body] = Some(Tool {
                position_m: tool.position_m + arm_m,
                ..*tool
            });
        }
    }
    bodies
}

/// Combines the reactions of two jaws to that of their tool.
pub(super) fn combine_reactions(tool: &Tool, one: &Reaction, other: &Reaction) -> Reaction {
    let arm_m = jaw_offset_m(tool);
    let force_n = one.force_n + other.force_n;
    let apart_n = one.force_n - other.force_n;
    let size_n = force_n.norm();
    Reaction {
        force_n,
        blade_force_n: one.blade_force_n + other.blade_force_n,
        torque_nm: one.torque_nm + other.torque_nm + arm_m.cross(&apart_n),
        grip_force_n: 0.5 * apart_n.dot(&jaw_axis(&tool.shaft_m)),
        normal: if size_n > 0.0 {
            force_n / size_n
        } else {
            Vec3::zeros()
        },
        penetration_m: one.penetration_m.max(other.penetration_m),
        proxy_offset_m: 0.5 * (one.proxy_offset_m + other.proxy_offset_m),
        stiffness_npm: one.stiffness_npm + other.stiffness_npm,
        damping_nspm: one.damping_nspm + other.damping_nspm,
        mesh_error_n: match [one.mesh_error_n, other.mesh_error_n] {
            [None, None] => None,
            both => Some(both.iter().flatten().sum()),
        },
        contacts: one.contacts + other.contacts,
        collapsed: one.collapsed || other.collapsed,
    }
}
