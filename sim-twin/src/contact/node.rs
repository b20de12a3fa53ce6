//! Point-in-sphere penalty of the source: every surface node inside the tool is pushed out.
//!
//! Source: seed-004 3.5 (rows S4-17, S4-18), without its misprint `/(r)` and without the loop over all nodes.
//! For a rod or a plate the push is from the nearest point of its core (row S4-P30).
//! [`crate::contact::face`] is the default.

use crate::Vec3;
use crate::contact::{NeighbourList, RestSurface, SurfaceContact, ToolCore};
use crate::twin::Tool;

/// Rebuilds the list of nodes that `tool` may reach if the list is not complete any more.
pub fn update_list(
    near: &mut NeighbourList,
    skin: &RestSurface,
    positions_m: &[Vec3],
    tool: &Tool,
    travel_m: f64,
) {
    let reach_m = tool.radius_m + ToolCore::of_tool(tool).diagonal_m();
    let at_m = tool.position_m;
    near.update(at_m, travel_m, reach_m, skin.slack_m, |far_m, found| {
        let drift_m = skin.drift_m(&positions_m[..skin.nodes()]);
        skin.for_nodes(&at_m, far_m + drift_m, |node| {
            if (positions_m[node as usize] - at_m).norm() < far_m {
                found.push(node);
            }
        });
    });
}

/// Pushes every listed node that is inside the tool along the outward radius.
///
/// `push(node, force)` receives the force on each node \[N\]; `last_normal` is the direction for a node
/// exactly in the centre.
pub fn press(
    nodes: &[u32],
    positions_m: &[Vec3],
    tool: &Tool,
    last_normal: Vec3,
    mut push: impl FnMut(u32, Vec3),
) -> SurfaceContact {
    let mut touch = SurfaceContact {
        normal: last_normal,
        ..SurfaceContact::default()
    };
    let (span, mut nearest_m) = (ToolCore::of_tool(tool), f64::INFINITY);
    for &node in nodes {
        let off_m = positions_m[node as usize] - tool.position_m;
        let away = off_m - span.nearest_offset_m(&off_m);
        let distance_m = away.norm();
        let depth_m = tool.radius_m - distance_m;
        if depth_m <= 0.0 {
            continue;
        }
        // `last_normal` points at the tool, this one away from it.
        let outward = if distance_m > 0.0 {
            away / distance_m
        } else {
            -last_normal
        };
        let force_n = tool.stiffness_npm * depth_m * outward;
        push(node, force_n);
        touch.force_n -= force_n;
        touch.energy_j += 0.5 * tool.stiffness_npm * depth_m * depth_m;
        touch.penetration_m = touch.penetration_m.max(depth_m);
        touch.contacts += 1;
        if distance_m < nearest_m {
            nearest_m = distance_m;
            touch.nearest = Some(node);
        }
    }
    touch.normal = touch.force_n.try_normalize(0.0).unwrap_or(last_normal);
    touch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lattice::fixture;
    use rand_like::Sequence;

    /// Deterministic pseudo-random sequence.
    mod rand_like {
        pub(super) struct Sequence(pub(super) u64);
        impl Sequence {
            pub(super) fn next(&mut self, low: f64, high: f64) -> f64 {
                self.0 = self
                    .0
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                low + (high - low) * (self.0 >> 11) as f64 / (1_u64 << 53) as f64
            }
        }
    }

    fn tool(position_m: Vec3, radius_m: f64, span: ToolCore) -> Tool {
        Tool {
            position_m,
            velocity_mps: Vec3::zeros(),
            radius_m,
            stiffness_npm: 400.0,
            shaft_m: span.shaft_m,
            side_m: span.side_m,
            instrument: crate::Instrument::Blunt,
            jaws: None,
        }
    }

    /// Checks that the list and the press find exactly the nodes inside by plain distances.
    fn matches_brute_force(poses: u32, shape: impl Fn(&mut Sequence) -> ToolCore) {
        let lattice = fixture::regular();
        let rest: Vec<Vec3> = lattice.atoms[..22]
            .iter()
            .map(|atom| atom.position_m)
            .collect();
        let skin = RestSurface::new(&rest, &lattice.faces, 0.0);
        let mut near = NeighbourList::new(22);
        let mut random = Sequence(4);
        let mut now = rest.clone();
        let mut touched = 0;
        for pose in 0..poses {
            if pose % 1000 == 0 {
                for (now, rest) in now.iter_mut().zip(&rest) {
                    *now = rest + Vec3::from_fn(|_, _| random.next(-0.3, 0.3));
                }
                near.invalidate();
            }
            let pressed = tool(
                Vec3::new(
                    random.next(-2.0, 6.0),
                    random.next(-2.0, 6.0),
                    random.next(-2.0, 2.0),
                ),
                random.next(0.05, 1.8),
                shape(&mut random),
            );
            update_list(&mut near, &skin, &now, &pressed, 0.0);
            let mut found = Vec::new();
            press(near.items(), &now, &pressed, Vec3::z(), |node, _| {
                found.push(node)
            });
            let far_m =
                |at_m: Vec3| far_from(&ToolCore::of_tool(&pressed), &(at_m - pressed.position_m));
            let inside = |&node: &u32| far_m(now[node as usize]) < pressed.radius_m;
            let oracle: Vec<u32> = (0..22).filter(inside).collect();
            assert_eq!(found, oracle, "pose {pose} {pressed:?}");
            touched += found.len();
        }
        assert!(
            2 * touched > poses as usize,
            "the poses hardly touch: {touched}"
        );
    }

    /// Distance of a position from a tool core, in the axes of the core: above it, beside an edge, or off a corner.
    fn far_from(span: &ToolCore, off_m: &Vec3) -> f64 {
        let mut rest_m = *off_m;
        let mut beside2_m2 = 0.0;
        for edge_m in [span.shaft_m, span.side_m] {
            let Some(along) = edge_m.try_normalize(0.0) else {
                continue;
            };
            let along_m = off_m.dot(&along);
            rest_m -= along * along_m;
            let beside_m = (-along_m).max(along_m - edge_m.norm()).max(0.0);
            beside2_m2 += beside_m * beside_m;
        }
        (rest_m.norm_squared() + beside2_m2).sqrt()
    }

    fn any(random: &mut Sequence) -> Vec3 {
        Vec3::from_fn(|_, _| random.next(-1.5, 1.5))
    }

    fn plate(random: &mut Sequence) -> ToolCore {
        let (shaft_m, other_m) = (any(random), any(random));
        let along = other_m.dot(&shaft_m) / shaft_m.norm_squared();
        ToolCore {
            shaft_m,
            side_m: other_m - shaft_m * along,
        }
    }

    #[test]
    fn s4_17_point_in_sphere_matches_brute_force() {
        matches_brute_force(100_000, |_| ToolCore::default());
    }

    #[test]
    fn s4_p30_points_in_a_capsule_and_in_a_box_match_brute_force() {
        matches_brute_force(100_000, |random| ToolCore {
            shaft_m: any(random),
            side_m: Vec3::zeros(),
        });
        matches_brute_force(100_000, plate);
    }

    #[test]
    fn s4_p30_capsule_and_box_push_along_the_shortest_exit_by_depth() {
        let mut random = Sequence(9);
        for round in 0..1000 {
            let span = if round % 2 == 0 {
                ToolCore {
                    shaft_m: any(&mut random),
                    side_m: Vec3::zeros(),
                }
            } else {
                plate(&mut random)
            };
            let pressed = tool(any(&mut random), 0.8, span);
            // a position inside, on any side of the middle
            let inner_m =
                span.shaft_m * random.next(0.0, 1.0) + span.side_m * random.next(0.0, 1.0);
            let node_m = pressed.position_m + inner_m + 0.3 * any(&mut random);
            let mut on_node = Vec3::zeros();
            let touch = press(&[0], &[node_m], &pressed, Vec3::z(), |_, force_n| {
                on_node += force_n
            });
            let depth =
                |at_m: Vec3| pressed.radius_m - far_from(&span, &(at_m - pressed.position_m));
            let depth_m = depth(node_m);
            assert!(
                (touch.force_n.norm() - 400.0 * depth_m.max(0.0)).abs() < 1e-9,
                "{touch:?}"
            );
            assert_eq!(touch.force_n, -on_node);
            if touch.contacts > 0 {
                // the shortest way out: all of the depth is gone there
                let out_m = node_m + on_node.normalize() * depth_m;
                assert!(depth(out_m).abs() < 1e-9, "{pressed:?}");
            }
        }
    }

    #[test]
    fn s4_18_force_is_proportional_to_depth_and_opposite() {
        let pressed = tool(Vec3::new(0.0, 0.0, 1.0), 1.5, ToolCore::default());
        let mut on_node = Vec3::zeros();
        let touch = press(&[0], &[Vec3::zeros()], &pressed, Vec3::z(), |_, force| {
            on_node += force
        });
        assert_eq!(touch.force_n, Vec3::new(0.0, 0.0, 200.0));
        assert_eq!(touch.force_n + on_node, Vec3::zeros());
        assert_eq!((touch.contacts, touch.nearest), (1, Some(0)));
        let centred = Tool {
            position_m: Vec3::zeros(),
            ..pressed
        };
        let touch = press(&[0], &[Vec3::zeros()], &centred, Vec3::x(), |_, _| {});
        assert_eq!(touch.normal, Vec3::x());
    }
}
