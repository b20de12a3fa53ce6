//! The point-in-sphere penalty of the source: every surface node inside the sphere is pushed out.
//!
//! Source: seed-004 3.5 (rows S4-17, S4-18), with the spurious `/(r)` of the print left out and
//! the loop over the whole list. Used by the seed mode; [`crate::contact::face`] is the default.

use crate::Vec3;
use crate::contact::{Near, Skin, Sphere, Touch};

/// Make the list of nodes that `sphere` may reach.
pub fn gather(near: &mut Near, skin: &Skin, positions_m: &[Vec3], sphere: &Sphere, travel_m: f64) {
    let slack_m = skin.slack_m();
    near.restart(sphere.center_m, travel_m, sphere.radius_m, slack_m);
    let reach_m = sphere.radius_m + slack_m;
    let drift_m = skin.drift_m(&positions_m[..skin.nodes()]);
    skin.for_nodes(&sphere.center_m, reach_m + drift_m, |node| {
        if (positions_m[node as usize] - sphere.center_m).norm() < reach_m {
            near.push(node);
        }
    });
    near.sort();
}

/// Push every listed node that is inside the sphere along the outward radius.
///
/// `push(node, force)` receives the force on each node \[N\]; `last_normal` serves a node that
/// sits exactly in the centre.
pub fn press(
    nodes: &[u32],
    positions_m: &[Vec3],
    sphere: &Sphere,
    last_normal: Vec3,
    mut push: impl FnMut(u32, Vec3),
) -> Touch {
    let mut touch = Touch::none(last_normal);
    let mut nearest_m = f64::INFINITY;
    for &node in nodes {
        let away = positions_m[node as usize] - sphere.center_m;
        let distance_m = away.norm();
        let depth_m = sphere.radius_m - distance_m;
        if depth_m <= 0.0 {
            continue;
        }
        // `last_normal` points at the tool, this one away from it.
        let outward = if distance_m > 0.0 {
            away / distance_m
        } else {
            -last_normal
        };
        let force_n = sphere.stiffness_npm * depth_m * outward;
        push(node, force_n);
        touch.force_n -= force_n;
        touch.energy_j += 0.5 * sphere.stiffness_npm * depth_m * depth_m;
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
    use crate::mesh::fixture;
    use rand_like::Sequence;

    /// A small deterministic sequence; tests need spread, not quality.
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

    #[test]
    fn s4_17_point_in_sphere_matches_brute_force() {
        let lattice = fixture::regular();
        let rest: Vec<Vec3> = lattice.atoms[..22]
            .iter()
            .map(|atom| atom.position_m)
            .collect();
        let skin = Skin::new(&rest, &lattice.faces, 0.0);
        let mut near = Near::new(22);
        let mut random = Sequence(4);
        let mut now = rest.clone();
        let mut touched = 0;
        for pose in 0..100_000 {
            if pose % 1000 == 0 {
                for (now, rest) in now.iter_mut().zip(&rest) {
                    *now = rest + Vec3::from_fn(|_, _| random.next(-0.3, 0.3));
                }
                near.forget();
            }
            let sphere = Sphere {
                center_m: Vec3::new(
                    random.next(-2.0, 6.0),
                    random.next(-2.0, 6.0),
                    random.next(-2.0, 2.0),
                ),
                radius_m: random.next(0.05, 1.8),
                stiffness_npm: 400.0,
            };
            if !near.covers(&sphere.center_m, 0.0, sphere.radius_m) {
                gather(&mut near, &skin, &now, &sphere, 0.0);
            }
            let mut found = Vec::new();
            press(near.items(), &now, &sphere, Vec3::z(), |node, _| {
                found.push(node)
            });
            let inside =
                |&node: &u32| (now[node as usize] - sphere.center_m).norm() < sphere.radius_m;
            let oracle: Vec<u32> = (0..22).filter(inside).collect();
            assert_eq!(found, oracle, "pose {pose} {sphere:?}");
            touched += found.len();
        }
        assert!(touched > 50_000, "the poses hardly touch: {touched}");
    }

    #[test]
    fn s4_18_force_is_proportional_to_depth_and_opposite() {
        let sphere = Sphere {
            center_m: Vec3::new(0.0, 0.0, 1.0),
            radius_m: 1.5,
            stiffness_npm: 400.0,
        };
        let mut on_node = Vec3::zeros();
        let touch = press(&[0], &[Vec3::zeros()], &sphere, Vec3::z(), |_, force| {
            on_node += force
        });
        assert_eq!(touch.force_n, Vec3::new(0.0, 0.0, 200.0));
        assert_eq!(touch.force_n + on_node, Vec3::zeros());
        assert_eq!((touch.contacts, touch.nearest), (1, Some(0)));
        let centred = Sphere {
            center_m: Vec3::zeros(),
            ..sphere
        };
        let touch = press(&[0], &[Vec3::zeros()], &centred, Vec3::x(), |_, _| {});
        assert_eq!(touch.normal, Vec3::x());
    }
}
