//! Tests of depth, forces and impacts (rows CD-07 to CD-09, CL-04, FU-05).

use crate::voxel::test_volumes::SourceLimits as _;
use nalgebra::{Isometry3, UnitQuaternion};

use crate::voxel::collide::collision_grid::CollisionGrid;
use crate::voxel::collide::distance_map::{DistanceMap, SurfacePlacement};
use crate::voxel::collide::map_nodes;
use crate::voxel::collide::penalty::{ForceDirection, PenaltyBody, PenaltyLaw, TorqueOrder};
use crate::voxel::collide::rigid_body;
use crate::voxel::collide::rigid_body::RigidVoxelBody;
use crate::voxel::collide::shatter::shatter;
use crate::voxel::collide::soft_contact::SoftContact;
use crate::voxel::storage::VoxelStorage as _;
use crate::voxel::test_volumes::{TestRng, block, material};
use palpate_twin::Vec3;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};

fn frame(spacing_m: f64) -> LatticeFrame {
    LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [spacing_m; 3],
    }
}

/// Distances equal their definition, for a few sites.
#[test]
fn cd_08_distances_are_exact() {
    let mut rng = TestRng::new(6);
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0, 0.5, 2.0],
    };
    for nth in 0..12 {
        let share = 0.1 + 0.08 * f64::from(nth);
        let is_in: Vec<bool> = (0..9 * 7 * 8).map(|_| rng.unit() < share).collect();
        let at = |site: [i32; 3]| is_in[(site[0] + 9 * (site[1] + 7 * site[2])) as usize];
        let map = DistanceMap::new(
            frame,
            [[0; 3], [8, 6, 7]],
            2,
            SurfacePlacement::Outermost,
            at,
        )
        .expect("fits");
        let boxed = |site: [i32; 3]| (0..3).all(|a| (0..[9, 7, 8][a]).contains(&site[a]));
        let inside = |site: [i32; 3]| boxed(site) && at(site);
        let all: Vec<[i32; 3]> = (-2..10)
            .flat_map(|z| (-2..9).flat_map(move |y| (-2..11).map(move |x| [x, y, z])))
            .collect();
        for &site in all.iter().step_by(3) {
            let own = inside(site);
            let far = |other: &&[i32; 3]| (frame.rest_m(site) - frame.rest_m(**other)).norm();
            let least = all
                .iter()
                .filter(|&&other| inside(other) != own)
                .map(|o| far(&o))
                .fold(f64::MAX, f64::min);
            // the surface is at the first sample outside
            let want = if own { least } else { 0.5 - least };
            let depth = map.at_site(site).expect("in the box");
            assert!(
                (depth - want).abs() < 1e-12 || least > 1e300,
                "{site:?} {depth} {want}"
            );
        }
    }
}

#[test]
fn cd_08_depth_and_normals_of_a_ball_match_closed_form() {
    let inside = |[x, y, z]: [i32; 3]| x * x + y * y + z * z <= 900;
    let raw = DistanceMap::new(
        frame(1.0),
        [[-30; 3], [30; 3]],
        8,
        SurfacePlacement::Halfway,
        inside,
    )
    .expect("fits");
    let smooth = raw.clone().smooth_normals(16);
    let mut rng = TestRng::new(9);
    let mut worst = [[0.0_f64; 2]; 2];
    for _ in 0..40_000 {
        // away from the medial axis, which is the centre
        let at = Vec3::from_fn(|_, _| rng.symmetric(33.0));
        let far = at.norm();
        if !(8.0..33.0).contains(&far) {
            continue;
        }
        for (map, worst) in [&raw, &smooth].into_iter().zip(&mut worst) {
            let depth = map.at(&at).expect("in the box");
            worst[0] = worst[0].max((depth.depth_m - (30.0 - far)).abs());
            let inward = map.inward(&at).expect("a slope");
            let angle = inward
                .cross(&at)
                .norm()
                .atan2(-inward.dot(&at))
                .to_degrees();
            worst[1] = worst[1].max(angle);
        }
    }
    println!(
        "depth and normal, raw {:?}, smooth {:?}",
        worst[0], worst[1]
    );
    assert!(worst[1][0] <= 0.5 && worst[1][1] <= 3.0, "{worst:?}");
    // without smoothing, the printed normals vary with the steps
    assert!(worst[0][1] > 10.0);
}

/// Returns the distance map of a large wall below z = 0, whose top layer is at z = 0.
fn wall(h: f64, surface: SurfacePlacement) -> DistanceMap {
    DistanceMap::new(frame(h), [[-20, -20, -14], [20, 20, 0]], 4, surface, |_| {
        true
    })
    .expect("fits")
}

/// Returns a box of n x n x n about the z axis, whose lowest layer is p - 1 layers below the wall's top one.
fn pressed(n: i32, p: i32, h: f64, surface_only: bool) -> Vec<Vec3> {
    let mut points = Vec::new();
    for z in 0..n {
        for y in 0..n {
            for x in 0..n {
                let bare = [x, y, z].iter().any(|&along| along == 0 || along == n - 1);
                let lowest = z == 0;
                if !surface_only || (bare && lowest) {
                    let aside = |along: i32| f64::from(along) - 0.5 * f64::from(n - 1);
                    points.push(Vec3::new(aside(x), aside(y), f64::from(z + 1 - p)) * h);
                }
            }
        }
    }
    points
}

fn part<'a>(points_m: &'a [Vec3], distance: &'a DistanceMap, centre_m: Vec3) -> PenaltyBody<'a> {
    PenaltyBody {
        points_m,
        distance,
        pose: Isometry3::identity(),
        centre_m,
    }
}

#[test]
fn cd_07_box_pressed_into_a_wall_matches_closed_form() {
    for h in [1.0, 0.5] {
        let below = wall(h, SurfacePlacement::Outermost);
        for (n, p) in [(5, 1), (6, 3), (9, 4)] {
            let k = 70.0;
            for along in [ForceDirection::Unit, ForceDirection::Slope] {
                let penalty = PenaltyLaw {
                    direction: along,
                    ..PenaltyLaw::per_node(k)
                };
                for surface in [false, true] {
                    let points = pressed(n, p, h, surface);
                    let (a, b) = (
                        part(&points, &below, Vec3::z() * 3.0),
                        part(&[], &below, Vec3::z() * -3.0),
                    );
                    let push = penalty.one_way(&a, &b, |_| ());
                    let (n2, p) = (f64::from(n * n), f64::from(p));
                    let layers = if surface { p } else { p * (p + 1.0) / 2.0 };
                    let want = k * h * n2 * layers;
                    // into the wall, and its opposite on the box
                    let on_wall = push.wrenches[1].force_n;
                    assert!(
                        (on_wall.norm() / want - 1.0).abs() < 1e-6,
                        "{on_wall:?} {want}"
                    );
                    assert!(on_wall.angle(&-Vec3::z()).to_degrees() < 2.0);
                    assert_eq!(push.wrenches[0].force_n, -on_wall);
                    assert!((push.deepest_m - p * h).abs() < 1e-9);
                }
            }
        }
    }
    // stiffness per area: the same force at any spacing, of a face 4 x 4 m at a depth of 1 m
    let force = |n: i32, p: i32, h: f64| {
        let (points, below) = (pressed(n, p, h, true), wall(h, SurfacePlacement::Outermost));
        let (a, b) = (
            part(&points, &below, Vec3::z()),
            part(&[], &below, Vec3::zeros()),
        );
        PenaltyLaw::of_area(10.0, h)
            .one_way(&a, &b, |_| ())
            .wrenches[0]
            .force_n
            .z
    };
    assert!((force(4, 1, 1.0) / force(8, 2, 0.5) - 1.0).abs() < 1e-9);
}

#[test]
fn cd_07_torque_is_arm_cross_force_and_printed_order_has_opposite_sign() {
    let below = wall(1.0, SurfacePlacement::Outermost);
    let points = pressed(3, 2, 1.0, true);
    // the centre is to the left of the pressed part: the upward force turns the box about -y
    let centre = Vec3::new(-4.0, 0.0, 5.0);
    let (a, b) = (
        part(&points, &below, centre),
        part(&[], &below, Vec3::zeros()),
    );
    let penalty = PenaltyLaw::per_node(1.0);
    let push = penalty.one_way(&a, &b, |_| ());
    assert!((push.wrenches[0].force_n.z - 18.0).abs() < 1e-9);
    assert!((push.wrenches[0].torque_nm - Vec3::new(0.0, -72.0, 0.0)).norm() < 1e-9);
    // about a common point both torques are equal and opposite too
    let about = |nth: usize, centre: Vec3| {
        push.wrenches[nth].torque_nm + centre.cross(&push.wrenches[nth].force_n)
    };
    assert!((about(0, centre) + about(1, Vec3::zeros())).norm() < 1e-9);
    let printed = PenaltyLaw {
        torque: TorqueOrder::AsPrinted,
        ..penalty
    };
    let printed = printed.one_way(&a, &b, |_| ());
    assert_eq!(printed.wrenches[0].torque_nm, -push.wrenches[0].torque_nm);
}

/// Returns a box of nodes as a rigid body with its distance map.
fn stiff(size: [i32; 3], mass_kg: f64) -> RigidVoxelBody {
    let map = DistanceMap::new(
        frame(1.0),
        [[0; 3], size.map(|n| n - 1)],
        4,
        SurfacePlacement::Outermost,
        |_| true,
    );
    let nodes = block::<f64>(size, BondLimits::RIGID);
    let points: Vec<Vec3> = map_nodes::surface_nodes(&nodes)
        .iter()
        .map(|&e| nodes.position_m(e))
        .collect();
    RigidVoxelBody::new(&points, map.expect("fits"), mass_kg).expect("fit")
}

#[test]
fn cd_07_mutual_forces_are_equal_and_opposite_in_either_order() {
    let mut pair = [stiff([6, 5, 4], 2.0), stiff([7, 7, 7], 3.0)];
    let mut rng = TestRng::new(12);
    let mut contact_count = 0;
    for _ in 0..200 {
        pair[1].centre_m = pair[0].centre_m + Vec3::from_fn(|_, _| rng.symmetric(5.0));
        pair[1].orientation =
            UnitQuaternion::from_scaled_axis(Vec3::from_fn(|_, _| rng.symmetric(3.0)));
        let penalty = PenaltyLaw {
            direction: ForceDirection::Unit,
            ..PenaltyLaw::per_node(5.0)
        };
        let push = rigid_body::contact_forces(&penalty, [&pair[0], &pair[1]], |_| ());
        let swapped = rigid_body::contact_forces(&penalty, [&pair[1], &pair[0]], |_| ());
        let size = push.wrenches[0].force_n.norm();
        contact_count += usize::from(size > 0.0);
        assert!((push.wrenches[0].force_n + push.wrenches[1].force_n).norm() <= 1e-12 * size);
        assert!((push.wrenches[0].force_n - swapped.wrenches[1].force_n).norm() <= 1e-12 * size);
        let about = |nth: usize| {
            push.wrenches[nth].torque_nm + pair[nth].centre_m.cross(&push.wrenches[nth].force_n)
        };
        assert!((about(0) + about(1)).norm() <= 1e-10 * size.max(1.0));
    }
    assert!(contact_count > 100);
}

#[test]
fn cd_09_rigid_boxes_conserve_momentum_and_gain_no_energy() {
    // head on, off the centre, an edge first, and rotating
    let cases: [([f64; 3], [f64; 3], [f64; 3]); 5] = [
        ([12.0, 0.0, 0.0], [0.0; 3], [0.0; 3]),
        ([12.0, 2.5, 1.5], [0.0; 3], [0.0; 3]),
        ([12.0, 0.0, 0.0], [0.2, 0.5, 0.7], [0.0; 3]),
        ([13.0, -1.0, 2.0], [0.6, 0.1, 0.3], [0.4, -0.3, 0.6]),
        ([0.5, 0.3, 11.0], [1.1, 0.6, -0.4], [0.1, 0.5, 0.2]),
    ];
    for (apart, turn, spin) in cases {
        let mut a = stiff([6, 6, 6], 2.0);
        let mut b = stiff([7, 5, 6], 3.0);
        let penalty = PenaltyLaw::per_node(40.0);
        let apart = Vec3::from(apart);
        b.centre_m = a.centre_m + apart;
        b.orientation = UnitQuaternion::from_scaled_axis(Vec3::from(turn));
        a.momentum_ns = apart.normalize() * 2.0 * 1.5;
        b.momentum_ns = -apart.normalize() * 3.0 * 0.5;
        b.spin_nms = Vec3::from(spin) * 10.0;
        let dt_s = rigid_body::dt_s_best(&penalty, [&a, &b], 36.0);
        let momentum = a.momentum_ns + b.momentum_ns;
        let angular = a.angular_momentum_nms() + b.angular_momentum_nms();
        let before_j = a.kinetic_j() + b.kinetic_j();
        let mut push = rigid_body::contact_forces(&penalty, [&a, &b], |_| ());
        let (mut most_j, mut deepest, mut time_s) = (0.0_f64, 0.0_f64, 0.0);
        while time_s < 14.0 {
            rigid_body::step(&penalty, [&mut a, &mut b], &mut push, dt_s, |_| ());
            most_j = most_j.max(a.kinetic_j() + b.kinetic_j() + push.energy_j);
            deepest = deepest.max(push.deepest_m);
            time_s += dt_s;
        }
        let after_j = a.kinetic_j() + b.kinetic_j() + push.energy_j;
        println!(
            "{apart:?} dt {dt_s:.4}: {before_j:.4} most {most_j:.4} after {after_j:.4} deep {deepest:.2}"
        );
        assert!(deepest > 0.05 && push.contacts == 0, "{deepest}");
        assert!((a.momentum_ns + b.momentum_ns - momentum).norm() < 1e-6 * 3.0);
        assert!(
            (a.angular_momentum_nms() + b.angular_momentum_nms() - angular).norm()
                < 1e-6 * angular.norm().max(1.0)
        );
        assert!(most_j <= 1.01 * before_j, "{most_j} {before_j}");
        assert!(
            after_j >= 0.97 * before_j && (a.velocity_mps() - b.velocity_mps()).dot(&apart) < 0.0
        );
    }
}

/// A rigid block of brittle nodes hits another: the faster, the more links break; slowly, none.
#[test]
fn cl_04_impact_breaks_links_only_above_threshold() {
    let impact = |speed_mps: f64| {
        let brittle = VoxelMaterial {
            toughness_jpm2: 0.05,
            ..material(BondLimits::RIGID)
        };
        let sites = (0..6).flat_map(|z| (0..6).flat_map(move |y| (0..6).map(move |x| [x, y, z])));
        let seeds: Vec<NodeSeed> = sites
            .map(|site| NodeSeed {
                site,
                material: 0,
                object: 0,
            })
            .collect();
        let mut nodes = VoxelNodes::<f64>::new(frame(1.0), vec![brittle], &seeds).expect("fit");
        let whole = nodes.link_count();
        let skin = map_nodes::surface_nodes(&nodes);
        let (mut a, mut b) = (stiff([6, 6, 6], 2.0), stiff([6, 6, 6], 2.0));
        b.centre_m.x += 8.0;
        a.momentum_ns.x = 2.0 * speed_mps;
        let penalty = PenaltyLaw::per_node(40.0);
        let dt_s = rigid_body::dt_s_best(&penalty, [&a, &b], 36.0);
        let mut push = rigid_body::contact_forces(&penalty, [&a, &b], |_| ());
        let mut most_j = vec![0.0_f64; skin.len()];
        for _ in 0..(8.0 / speed_mps / dt_s) as usize {
            rigid_body::step(&penalty, [&mut a, &mut b], &mut push, dt_s, |contact| {
                if contact.body == 0 {
                    most_j[contact.point] = most_j[contact.point].max(contact.energy_j);
                }
            });
        }
        assert_eq!(push.contacts, 0, "still in contact");
        let broken = shatter(&mut nodes, skin.iter().copied().zip(most_j.iter().copied()));
        assert_eq!(nodes.link_count() + broken.links, whole);
        assert_eq!(nodes.asymmetric_link(), None);
        assert!((broken.paid_j - 0.05 * broken.links as f64).abs() < 1e-9);
        assert!(broken.paid_j <= most_j.iter().sum());
        // broken links are near the contact
        for node in 0..nodes.slots() {
            let gone = nodes.site(node)[0] < 4 && map_nodes::all(&nodes).contains(&node);
            let links = palpate_twin::edits::NeighbourDirection::ALL;
            let count = links
                .iter()
                .filter(|&&to| nodes.neighbour(node, to).is_some())
                .count();
            let edges = nodes
                .site(node)
                .iter()
                .filter(|&&along| along == 0 || along == 5)
                .count();
            assert!(!gone || count + edges == 6);
        }
        broken.links
    };
    // 36 nodes of each face share m v^2 / 4 of 1 kg: each energy is about v^2 / 72 / ...
    let broken = [0.3, 0.8, 4.0, 8.0].map(impact);
    println!("broken at rising speeds: {broken:?}");
    assert_eq!(broken[0], 0);
    assert!(broken[2] > 0 && broken[3] >= broken[2], "{broken:?}");
}

/// Returns a soft block from a height up; the layer that is farthest from the other block is held.
fn pad(size: [i32; 3], from_z: f64, limits: BondLimits, held_z: i32) -> VoxelNodes<f64> {
    let frame = LatticeFrame {
        origin_m: Vec3::new(0.0, 0.0, from_z),
        spacing_m: [1.0; 3],
    };
    let sites = (0..size[2])
        .flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])));
    let seeds: Vec<NodeSeed> = sites
        .map(|site| NodeSeed {
            site,
            material: 0,
            object: 0,
        })
        .collect();
    let mut nodes = VoxelNodes::new(frame, vec![material(limits)], &seeds).expect("fit");
    for node in 0..nodes.slots() {
        nodes.set_pinned(node, nodes.site(node)[2] == held_z);
    }
    nodes
}

#[test]
fn fu_05_soft_blocks_in_contact_have_opposite_forces_and_stay_apart() {
    // the second is narrower and off the centre by half a spacing; wide limits, since a link at its limit carries
    // force without its spring
    let wide = BondLimits::even(0.05, 3.0, 3.0);
    let lower = pad([12, 12, 8], 0.0, wide, 0);
    let mut upper = pad([8, 7, 6], 8.2, wide, 5);
    for along in 0..2 {
        upper.displacement_m[along]
            .iter_mut()
            .for_each(|x| *x = 2.5);
    }
    let grid = CollisionGrid::new(Vec3::repeat(-5.0), 1.25, [24; 3]).expect("fit");
    let link_npm = lower.bonds().of(0, 0, 2).stiffness_npm;
    let mut pressed = SoftContact::new([lower, upper], grid, 8.0 * link_npm).expect("inside");
    let mut last = 0.0;
    for down in 1..=30 {
        for node in 0..pressed.volumes[1].slots() {
            if pressed.volumes[1].pinned(node) {
                pressed.volumes[1].displacement_m[2][node as usize] = -0.1 * f64::from(down);
            }
        }
        let mut now = pressed.pass().expect("inside");
        let passes = if down == 30 { 2000 } else { 30 };
        for nth in 0..passes {
            if down == 30 && nth % 400 == 0 {
                println!("{nth} {now:?}");
            }
            now = pressed.pass().expect("inside");
            let size = now.force_n[0].norm().max(1e-300);
            assert!((now.force_n[0] + now.force_n[1]).norm() <= 1e-9 * size);
            assert!(now.deepest_m <= 1.0, "{}", now.deepest_m);
        }
        if down > 6 {
            assert!(now.contacts > 0 && now.force_n[1].z > 0.0, "{now:?}");
        }
        last = now.force_n[1].z;
    }
    // the holding forces of both blocks equal that force
    let held = |own: usize| {
        let volume = &pressed.volumes[own];
        let pinned = (0..volume.slots()).filter(|&e| volume.pinned(e));
        pinned
            .map(|node| pressed.link_force_n(own, node))
            .sum::<Vec3>()
    };
    println!("pressed by {last} N, held {:?} {:?}", held(0), held(1));
    assert!((held(0).z + last).abs() < 0.01 * last && (held(1).z - last).abs() < 0.01 * last);
}
