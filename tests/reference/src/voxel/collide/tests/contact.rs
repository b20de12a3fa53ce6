//! CD-07, 08 and 09, CL-04, FU-05.

use crate::voxel::bodies::Printed as _;
use nalgebra::{Isometry3, UnitQuaternion};

use crate::voxel::bodies::{Draw, block, matter};
use crate::voxel::collide::distance::{Distance, Surface};
use crate::voxel::collide::grid::Grid;
use crate::voxel::collide::penalty::{Along, Part, Penalty, Torque};
use crate::voxel::collide::rigid;
use crate::voxel::collide::rigid::Rigid;
use crate::voxel::collide::shatter::shatter;
use crate::voxel::collide::shell;
use crate::voxel::collide::soft::Pressed;
use crate::voxel::links::Links as _;
use palpate_twin::Vec3;
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::limits::Limits;
use palpate_voxel::matter::Matter;

fn frame(spacing_m: f64) -> Frame {
    Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [spacing_m; 3],
    }
}

/// The definition, for a few sites.
#[test]
fn cd_08_distances_are_exact() {
    let mut draw = Draw::new(6);
    let frame = Frame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0, 0.5, 2.0],
    };
    for nth in 0..12 {
        let share = 0.1 + 0.08 * f64::from(nth);
        let is_in: Vec<bool> = (0..9 * 7 * 8).map(|_| draw.share() < share).collect();
        let at = |site: [i32; 3]| is_in[(site[0] + 9 * (site[1] + 7 * site[2])) as usize];
        let map =
            Distance::new(frame, [[0; 3], [8, 6, 7]], 2, Surface::Outermost, at).expect("fits");
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
fn cd_08_a_ball_of_30_has_its_depth_and_its_normals() {
    let inside = |[x, y, z]: [i32; 3]| x * x + y * y + z * z <= 900;
    let raw =
        Distance::new(frame(1.0), [[-30; 3], [30; 3]], 8, Surface::Halfway, inside).expect("fits");
    let smooth = raw.clone().smooth_normals(16);
    let mut draw = Draw::new(9);
    let mut worst = [[0.0_f64; 2]; 2];
    for _ in 0..40_000 {
        // away from the medial axis, which is the middle
        let at = Vec3::from_fn(|_, _| draw.around(33.0));
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
    // the printed way, steps and all, is what the smoothing is for
    assert!(worst[0][1] > 10.0);
}

/// A wall below z = 0, large, whose top layer is at z = 0.
fn wall(h: f64, surface: Surface) -> Distance {
    Distance::new(frame(h), [[-20, -20, -14], [20, 20, 0]], 4, surface, |_| {
        true
    })
    .expect("fits")
}

/// A box of n x n x n about the z axis whose lowest layer is p - 1 layers below the wall's top one.
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

fn part<'a>(points_m: &'a [Vec3], distance: &'a Distance, centre_m: Vec3) -> Part<'a> {
    Part {
        points_m,
        distance,
        pose: Isometry3::identity(),
        centre_m,
    }
}

#[test]
fn cd_07_a_box_pressed_into_a_wall_has_the_closed_form() {
    for h in [1.0, 0.5] {
        let below = wall(h, Surface::Outermost);
        for (n, p) in [(5, 1), (6, 3), (9, 4)] {
            let k = 70.0;
            for along in [Along::Unit, Along::Slope] {
                let penalty = Penalty {
                    along,
                    ..Penalty::of_element(k)
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
                    let on_wall = push.on[1].force_n;
                    assert!(
                        (on_wall.norm() / want - 1.0).abs() < 1e-6,
                        "{on_wall:?} {want}"
                    );
                    assert!(on_wall.angle(&-Vec3::z()).to_degrees() < 2.0);
                    assert_eq!(push.on[0].force_n, -on_wall);
                    assert!((push.deepest_m - p * h).abs() < 1e-9);
                }
            }
        }
    }
    // stiffness by area: the same force at any spacing, of a face 4 x 4 m, 1 m deep
    let force = |n: i32, p: i32, h: f64| {
        let (points, below) = (pressed(n, p, h, true), wall(h, Surface::Outermost));
        let (a, b) = (
            part(&points, &below, Vec3::z()),
            part(&[], &below, Vec3::zeros()),
        );
        Penalty::of_area(10.0, h).one_way(&a, &b, |_| ()).on[0]
            .force_n
            .z
    };
    assert!((force(4, 1, 1.0) / force(8, 2, 0.5) - 1.0).abs() < 1e-9);
}

#[test]
fn cd_07_a_torque_is_arm_cross_force_and_the_printed_one_turns_the_other_way() {
    let below = wall(1.0, Surface::Outermost);
    let points = pressed(3, 2, 1.0, true);
    // the centre is to the left of what is pressed: the push up turns the box about -y
    let centre = Vec3::new(-4.0, 0.0, 5.0);
    let (a, b) = (
        part(&points, &below, centre),
        part(&[], &below, Vec3::zeros()),
    );
    let penalty = Penalty::of_element(1.0);
    let push = penalty.one_way(&a, &b, |_| ());
    assert!((push.on[0].force_n.z - 18.0).abs() < 1e-9);
    assert!((push.on[0].torque_nm - Vec3::new(0.0, -72.0, 0.0)).norm() < 1e-9);
    // about one point both torques are equal and opposite too
    let about =
        |nth: usize, centre: Vec3| push.on[nth].torque_nm + centre.cross(&push.on[nth].force_n);
    assert!((about(0, centre) + about(1, Vec3::zeros())).norm() < 1e-9);
    let printed = Penalty {
        torque: Torque::AsPrinted,
        ..penalty
    };
    let printed = printed.one_way(&a, &b, |_| ());
    assert_eq!(printed.on[0].torque_nm, -push.on[0].torque_nm);
}

/// A box of elements as a stiff body, and its depth.
fn stiff(size: [i32; 3], mass_kg: f64) -> Rigid {
    let map = Distance::new(
        frame(1.0),
        [[0; 3], size.map(|n| n - 1)],
        4,
        Surface::Outermost,
        |_| true,
    );
    let elements = block::<f64>(size, Limits::RIGID);
    let points: Vec<Vec3> = shell::surface(&elements)
        .iter()
        .map(|&e| elements.at_m(e))
        .collect();
    Rigid::new(&points, map.expect("fits"), mass_kg).expect("fit")
}

#[test]
fn cd_07_both_ways_is_equal_and_opposite_whoever_is_first() {
    let mut pair = [stiff([6, 5, 4], 2.0), stiff([7, 7, 7], 3.0)];
    let mut draw = Draw::new(12);
    let mut met = 0;
    for _ in 0..200 {
        pair[1].centre_m = pair[0].centre_m + Vec3::from_fn(|_, _| draw.around(5.0));
        pair[1].turned = UnitQuaternion::from_scaled_axis(Vec3::from_fn(|_, _| draw.around(3.0)));
        let penalty = Penalty {
            along: Along::Unit,
            ..Penalty::of_element(5.0)
        };
        let push = rigid::push(&penalty, [&pair[0], &pair[1]], |_| ());
        let swapped = rigid::push(&penalty, [&pair[1], &pair[0]], |_| ());
        let size = push.on[0].force_n.norm();
        met += usize::from(size > 0.0);
        assert!((push.on[0].force_n + push.on[1].force_n).norm() <= 1e-12 * size);
        assert!((push.on[0].force_n - swapped.on[1].force_n).norm() <= 1e-12 * size);
        let about =
            |nth: usize| push.on[nth].torque_nm + pair[nth].centre_m.cross(&push.on[nth].force_n);
        assert!((about(0) + about(1)).norm() <= 1e-10 * size.max(1.0));
    }
    assert!(met > 100);
}

#[test]
fn cd_09_two_stiff_boxes_keep_momentum_and_win_no_energy() {
    // head on, off the middle, an edge first, and turning
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
        let penalty = Penalty::of_element(40.0);
        let apart = Vec3::from(apart);
        b.centre_m = a.centre_m + apart;
        b.turned = UnitQuaternion::from_scaled_axis(Vec3::from(turn));
        a.momentum_ns = apart.normalize() * 2.0 * 1.5;
        b.momentum_ns = -apart.normalize() * 3.0 * 0.5;
        b.spin_nms = Vec3::from(spin) * 10.0;
        let dt_s = rigid::dt_s_best(&penalty, [&a, &b], 36.0);
        let momentum = a.momentum_ns + b.momentum_ns;
        let angular = a.angular_nms() + b.angular_nms();
        let before_j = a.kinetic_j() + b.kinetic_j();
        let mut push = rigid::push(&penalty, [&a, &b], |_| ());
        let (mut most_j, mut deepest, mut time_s) = (0.0_f64, 0.0_f64, 0.0);
        while time_s < 14.0 {
            rigid::step(&penalty, [&mut a, &mut b], &mut push, dt_s, |_| ());
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
            (a.angular_nms() + b.angular_nms() - angular).norm() < 1e-6 * angular.norm().max(1.0)
        );
        assert!(most_j <= 1.01 * before_j, "{most_j} {before_j}");
        assert!(
            after_j >= 0.97 * before_j && (a.velocity_mps() - b.velocity_mps()).dot(&apart) < 0.0
        );
    }
}

/// A stiff block of brittle elements thrown at another: the harder, the more links break; softly, none.
#[test]
fn cl_04_an_impact_breaks_links_above_its_threshold_and_none_below() {
    let impact = |speed_mps: f64| {
        let brittle = Matter {
            toughness_jpm2: 0.05,
            ..matter(Limits::RIGID)
        };
        let sites = (0..6).flat_map(|z| (0..6).flat_map(move |y| (0..6).map(move |x| [x, y, z])));
        let seeds: Vec<Seed> = sites
            .map(|site| Seed {
                site,
                matter: 0,
                object: 0,
            })
            .collect();
        let mut elements = Elements::<f64>::new(frame(1.0), vec![brittle], &seeds).expect("fit");
        let whole = elements.link_count();
        let skin = shell::surface(&elements);
        let (mut a, mut b) = (stiff([6, 6, 6], 2.0), stiff([6, 6, 6], 2.0));
        b.centre_m.x += 8.0;
        a.momentum_ns.x = 2.0 * speed_mps;
        let penalty = Penalty::of_element(40.0);
        let dt_s = rigid::dt_s_best(&penalty, [&a, &b], 36.0);
        let mut push = rigid::push(&penalty, [&a, &b], |_| ());
        let mut most_j = vec![0.0_f64; skin.len()];
        for _ in 0..(8.0 / speed_mps / dt_s) as usize {
            rigid::step(&penalty, [&mut a, &mut b], &mut push, dt_s, |contact| {
                if contact.body == 0 {
                    most_j[contact.point] = most_j[contact.point].max(contact.energy_j);
                }
            });
        }
        assert_eq!(push.contacts, 0, "still in contact");
        let broken = shatter(
            &mut elements,
            skin.iter().copied().zip(most_j.iter().copied()),
        );
        assert_eq!(elements.link_count() + broken.links, whole);
        assert_eq!(elements.one_sided(), None);
        assert!((broken.paid_j - 0.05 * broken.links as f64).abs() < 1e-9);
        assert!(broken.paid_j <= most_j.iter().sum());
        // what is broken is where it was hit
        for element in 0..elements.slots() {
            let gone = elements.site(element)[0] < 4 && shell::all(&elements).contains(&element);
            let links = palpate_twin::edits::Direction::ALL;
            let count = links
                .iter()
                .filter(|&&to| elements.neighbour(element, to).is_some())
                .count();
            let edges = elements
                .site(element)
                .iter()
                .filter(|&&along| along == 0 || along == 5)
                .count();
            assert!(!gone || count + edges == 6);
        }
        broken.links
    };
    // 36 elements of each face share m v^2 / 4 of 1 kg: each energy is about v^2 / 72 / ...
    let broken = [0.3, 0.8, 4.0, 8.0].map(impact);
    println!("broken at rising speeds: {broken:?}");
    assert_eq!(broken[0], 0);
    assert!(broken[2] > 0 && broken[3] >= broken[2], "{broken:?}");
}

/// A soft block from a height on; the layer that is farthest from the other one is held.
fn pad(size: [i32; 3], from_z: f64, limits: Limits, held_z: i32) -> Elements<f64> {
    let frame = Frame {
        origin_m: Vec3::new(0.0, 0.0, from_z),
        spacing_m: [1.0; 3],
    };
    let sites = (0..size[2])
        .flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])));
    let seeds: Vec<Seed> = sites
        .map(|site| Seed {
            site,
            matter: 0,
            object: 0,
        })
        .collect();
    let mut elements = Elements::new(frame, vec![matter(limits)], &seeds).expect("fit");
    for element in 0..elements.slots() {
        elements.pin(element, elements.site(element)[2] == held_z);
    }
    elements
}

#[test]
fn fu_05_two_soft_blocks_pressed_together_push_alike_and_stay_apart() {
    // the second is narrower and lies off the middle, by half a spacing
    // links that come to no limit: what a limit carries is no force of a spring
    let wide = Limits::even(0.05, 3.0, 3.0);
    let lower = pad([12, 12, 8], 0.0, wide, 0);
    let mut upper = pad([8, 7, 6], 8.2, wide, 5);
    for along in 0..2 {
        upper.moved_m[along].iter_mut().for_each(|x| *x = 2.5);
    }
    let grid = Grid::new(Vec3::repeat(-5.0), 1.25, [24; 3]).expect("fit");
    let link_npm = lower.bonds().of(0, 0, 2).stiffness_npm;
    let mut pressed = Pressed::new([lower, upper], grid, 8.0 * link_npm).expect("inside");
    let mut last = 0.0;
    for down in 1..=30 {
        for element in 0..pressed.volumes[1].slots() {
            if pressed.volumes[1].pinned(element) {
                pressed.volumes[1].moved_m[2][element as usize] = -0.1 * f64::from(down);
            }
        }
        let mut now = pressed.sweep().expect("inside");
        let sweeps = if down == 30 { 2000 } else { 30 };
        for nth in 0..sweeps {
            if down == 30 && nth % 400 == 0 {
                println!("{nth} {now:?}");
            }
            now = pressed.sweep().expect("inside");
            let size = now.on_n[0].norm().max(1e-300);
            assert!((now.on_n[0] + now.on_n[1]).norm() <= 1e-9 * size);
            assert!(now.deepest_m <= 1.0, "{}", now.deepest_m);
        }
        if down > 6 {
            assert!(now.contacts > 0 && now.on_n[1].z > 0.0, "{now:?}");
        }
        last = now.on_n[1].z;
    }
    // what holds both blocks feels that force and no other
    let held = |own: usize| {
        let volume = &pressed.volumes[own];
        let pinned = (0..volume.slots()).filter(|&e| volume.pinned(e));
        pinned
            .map(|element| pressed.pull_n(own, element))
            .sum::<Vec3>()
    };
    println!("pressed by {last} N, held {:?} {:?}", held(0), held(1));
    assert!((held(0).z + last).abs() < 0.01 * last && (held(1).z - last).abs() < 0.01 * last);
}
