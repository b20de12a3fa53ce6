//! Tests of collision maps (rows CD-01, 02, 03, 05, 10 and 11, FU-03 and FU-04).

use super::{ball, cells, cube, maps, voxels};
use crate::voxel::collide::collision_grid::CollisionGrid;
use crate::voxel::collide::hierarchy::CountPyramid;
use crate::voxel::collide::local_map::{BodyBox, LocalMap, pairs};
use crate::voxel::collide::map_nodes;
use crate::voxel::collide::map_nodes::MapResolution;
use crate::voxel::collide::multi_scale::{MultiScaleMap, NodeBox};
use crate::voxel::collide::occupancy::{CellHit, MapMoveError, MapMoveRule, MapNode, OccupancyMap};
use crate::voxel::test_volumes::SourceLimits as _;
use crate::voxel::test_volumes::{TestRng, block};
use palpate_twin::Vec3;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::VoxelNodes;

/// Returns all pairs of two bodies in one cell.
fn brute(grid: &CollisionGrid, a: (u32, &[Vec3]), b: (u32, &[Vec3])) -> Vec<CellHit> {
    let mut hits = Vec::new();
    for (node, at_m) in (0..).zip(a.1) {
        for (other, other_m) in (0..).zip(b.1) {
            if grid.cell(at_m) == grid.cell(other_m) {
                hits.push(CellHit {
                    mover: MapNode { body: a.0, node },
                    other: MapNode {
                        body: b.0,
                        node: other,
                    },
                });
            }
        }
    }
    hits
}

/// Returns a body of up to 60 nodes.
fn lump(rng: &mut TestRng) -> Vec<(u32, Vec3)> {
    let share = 0.3 + 0.7 * rng.unit();
    let mut seed = TestRng::new(rng.below(1 << 30).into());
    let mut all = voxels([[-2, -1, -2], [1, 2, 1]], |_| seed.unit() < share);
    all.truncate(60);
    all
}

#[test]
fn cd_01_hits_match_all_pairs_at_a_thousand_poses() {
    for mut map in maps([-12, 12]) {
        let mut rng = TestRng::new(11);
        let lumps = [lump(&mut rng), lump(&mut rng), lump(&mut rng)];
        for lump in &lumps {
            map.add(lump).expect("inside");
        }
        let mut hit_count = 0;
        for nth in 0..1000 {
            let body = nth % 3;
            // any rotation and any place, not on the grid
            let axis = Vec3::new(rng.symmetric(3.0), rng.symmetric(3.0), rng.symmetric(3.0));
            let turn = nalgebra::Rotation3::new(axis);
            let by_m = Vec3::new(rng.symmetric(4.0), rng.symmetric(4.0), rng.symmetric(4.0));
            let own = &lumps[body as usize];
            let mut hits = Vec::new();
            let to_m = |nth: usize, _: &Vec3| turn * own[nth].1 + by_m;
            map.try_move(body, MapMoveRule::Detect, to_m, |hit| hits.push(hit))
                .expect("inside");
            let mut wanted = Vec::new();
            for other in (0..3).filter(|&other| other != body) {
                let pair = ((body, map.places_m(body)), (other, map.places_m(other)));
                wanted.extend(brute(map.grid(), pair.0, pair.1));
            }
            hits.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(hits, wanted, "pose {nth}");
            hit_count += usize::from(!hits.is_empty());
        }
        assert!(hit_count > 300, "{hit_count}");
    }
}

/// Returns the same bodies in a rebuilt map.
fn anew(map: &OccupancyMap, bodies: u32) -> OccupancyMap {
    let mut anew = OccupancyMap::hashed(*map.grid());
    for body in 0..bodies {
        let placed = map.body_nodes(body).zip(map.places_m(body).iter().copied());
        anew.add(&placed.collect::<Vec<_>>()).expect("inside");
    }
    anew
}

#[test]
fn cd_02_updated_map_equals_a_rebuilt_map() {
    for mut map in maps([-9, 9]) {
        let mut rng = TestRng::new(3);
        let lumps: Vec<_> = (0..4).map(|_| lump(&mut rng)).collect();
        for lump in &lumps {
            map.add(lump).expect("inside");
        }
        let (mut taken, mut refused) = (0, [0; 2]);
        for nth in 0..2000 {
            let body = rng.below(4);
            let rule = [
                MapMoveRule::Detect,
                MapMoveRule::Prevent,
                MapMoveRule::Sweep,
            ][nth % 3];
            let by_m = Vec3::from_fn(|_, _| rng.symmetric(8.0));
            // compressed too, so that nodes of one body share cells
            let squeeze = 0.5 + 0.7 * rng.unit();
            let before = (map.places_m(body).to_vec(), map.contents());
            let move_m = |nth: usize, _: &Vec3| lumps[body as usize][nth].1 * squeeze + by_m;
            match map.try_move(body, rule, move_m, |_| ()) {
                Ok(()) => taken += 1,
                Err(why) => {
                    refused[usize::from(matches!(why, MapMoveError::OutOfSpace(_)))] += 1;
                    assert!(map.places_m(body) == before.0 && map.contents() == before.1);
                }
            }
            assert_eq!(map.contents(), anew(&map, 4).contents(), "move {nth}");
        }
        assert!(
            taken > 300 && refused[0] > 50 && refused[1] > 50,
            "{taken} {refused:?}"
        );
        assert_eq!(
            map.try_move(9, MapMoveRule::Detect, |_, at| *at, |_| ()),
            Err(MapMoveError::Unknown(9))
        );
        let nan = |_: usize, _: &Vec3| Vec3::repeat(f64::NAN);
        assert!(map.try_move(0, MapMoveRule::Detect, nan, |_| ()).is_err());
    }
}

/// The source's map loses a body that another one has passed through.
#[test]
fn cd_02_penetrated_body_stays_in_the_map() {
    for mut map in maps([-20, 20]) {
        let wall = map
            .add(&voxels([[0, -3, -3], [0, 3, 3]], |_| true))
            .expect("inside");
        let mover = map.add(&cube(3, [-8, -1, -1], false)).expect("inside");
        for _ in 0..14 {
            let step = |_: usize, at_m: &Vec3| at_m + Vec3::x();
            map.try_move(mover, MapMoveRule::Detect, step, |_| ())
                .expect("inside");
        }
        let back = |_: usize, at_m: &Vec3| at_m - Vec3::x() * 6.0;
        let mut hits = 0;
        map.try_move(mover, MapMoveRule::Detect, back, |_| hits += 1)
            .expect("inside");
        assert_eq!(hits, 9);
        assert!(map.places_m(wall).iter().all(|at| {
            map.in_cell(map.grid().cell(at).expect("in"))
                .any(|(map_node, _)| map_node.body == wall)
        }));
        // carved, it is absent; restored, it is present
        assert!(map.set_present(wall, 24, false) && !map.set_present(wall, 24, false));
        let middle = map.places_m(wall)[24];
        assert!(
            map.in_cell(map.grid().cell(&middle).expect("in"))
                .all(|(map_node, _)| map_node.body != wall)
        );
        assert!(map.set_present(wall, 24, true));
        assert_eq!(map.contents(), anew(&map, 2).contents());
    }
}

/// Returns a block of unit spacing, stretched.
fn stretched(n: i32, by: f64) -> VoxelNodes<f64> {
    let mut nodes = block([n; 3], BondLimits::LOOSE);
    for node in 0..nodes.slots() {
        let site = nodes.site(node);
        for (moved_m, along) in nodes.displacement_m.iter_mut().zip(site) {
            moved_m[node as usize] = f64::from(along) * (by - 1.0);
        }
    }
    nodes
}

#[test]
fn cd_03_two_cell_probe_never_slips_into_a_volume_stretched_by_1_9() {
    let nodes = stretched(8, 1.9);
    assert!(!MapResolution::of(&nodes, 1.0).is_under_resolved());
    assert!(MapResolution::of(&stretched(8, 2.01), 1.0).is_under_resolved());
    let edge = 7.0 * 1.9;
    for mut map in maps([-6, 20]) {
        map.add(&map_nodes::placed(&nodes, &map_nodes::all(&nodes)))
            .expect("inside");
        let probe = map.add(&cube(2, [-5, -5, -5], false)).expect("inside");
        let mut rng = TestRng::new(1);
        for _ in 0..2000 {
            // wholly inside, at any place
            let corner = Vec3::from_fn(|_, _| 0.5 + rng.unit() * (edge - 2.0));
            let to_m = |nth: usize, _: &Vec3| {
                corner + Vec3::new((nth & 1) as f64, (nth >> 1 & 1) as f64, (nth >> 2) as f64)
            };
            let mut hits = 0;
            map.try_move(probe, MapMoveRule::Detect, to_m, |_| hits += 1)
                .expect("inside");
            assert!(hits > 0, "{corner:?}");
        }
    }
}

#[test]
fn fu_03_all_contacts_are_found_at_four_times_the_spacing() {
    let nodes = stretched(6, 4.0);
    assert!(MapResolution::of(&nodes, 1.0).is_under_resolved());
    let fills: Vec<NodeBox> = (0..nodes.slots()).map(|e| NodeBox::of(&nodes, e)).collect();
    let scales =
        MultiScaleMap::new([Vec3::repeat(-8.0), Vec3::repeat(30.0)], 1.0, &fills).expect("fit");
    let mut rng = TestRng::new(2);
    let (mut inside, mut missed_by_plain) = (0, 0);
    let mut plain = OccupancyMap::hashed(cells([-8, 30]));
    plain
        .add(&map_nodes::placed(&nodes, &map_nodes::all(&nodes)))
        .expect("inside");
    for _ in 0..20_000 {
        let at_m = Vec3::from_fn(|_, _| -4.0 + rng.unit() * 28.0);
        let mut found = Vec::new();
        scales.at(&at_m, |node| found.push(node));
        found.sort_unstable();
        let in_box =
            |fill: &&NodeBox| (0..3).all(|a| (at_m - fill.at_m)[a].abs() <= fill.half_m[a]);
        let wanted: Vec<u32> = fills.iter().filter(in_box).map(|fill| fill.node).collect();
        assert_eq!(found, wanted);
        if at_m.iter().all(|&x| (0.0..=20.0).contains(&x)) {
            // no hole anywhere between the outermost nodes
            assert!(!found.is_empty(), "{at_m:?}");
            inside += 1;
            let cell = plain.grid().cell(&at_m).expect("inside");
            missed_by_plain += usize::from(plain.in_cell(cell).next().is_none());
        }
    }
    assert!(inside > 5000 && missed_by_plain > inside * 9 / 10);
}

/// Returns a planar strip, folded back onto itself above its bend.
fn strip(fold: bool, sway: f64) -> (VoxelNodes<f64>, OccupancyMap, u32) {
    let mut nodes: VoxelNodes<f64> = block([30, 4, 2], BondLimits::LOOSE);
    for node in 0..nodes.slots() {
        let [x, _, z] = nodes.site(node).map(f64::from);
        let slot = node as usize;
        if fold && x > 14.0 {
            // rotated about the bend: it returns through the first half
            nodes.displacement_m[0][slot] = 29.0 - x - x;
            nodes.displacement_m[2][slot] = 1.2 - z - z;
        } else {
            nodes.displacement_m[2][slot] = sway * (0.35 * x).sin();
        }
    }
    let mut map = OccupancyMap::hashed(cells([-10, 40]));
    let body = map
        .add(&map_nodes::placed(&nodes, &map_nodes::all(&nodes)))
        .expect("inside");
    (nodes, map, body)
}

#[test]
fn cd_05_folded_strip_hits_itself_and_bent_one_does_not() {
    let reports = |fold, sway, near| {
        let (nodes, mut map, body) = strip(fold, sway);
        let mut hits = Vec::new();
        map.self_hits(body, near, |node| nodes.site(node), |hit| hits.push(hit));
        for hit in &hits {
            let [a, b] = [hit.mover, hit.other].map(|map_node| nodes.site(map_node.node));
            assert!((0..3).any(|axis| (a[axis] - b[axis]).abs() > near));
        }
        hits.len()
    };
    assert_eq!(reports(false, 0.0, 1), 0);
    for sway in [0.2, 0.5, 0.9] {
        assert_eq!(reports(false, sway, 1), 0);
    }
    assert!(reports(true, 0.0, 1) > 40 && reports(true, 0.0, 2) > 40);
    // nodes of one body that share a cell, all neighbours: a hit only without the filter
    let squeezed = stretched(4, 0.6);
    let mut map = OccupancyMap::hashed(cells([-4, 8]));
    let body = map
        .add(&map_nodes::placed(&squeezed, &map_nodes::all(&squeezed)))
        .expect("inside");
    let mut count = [0; 2];
    map.self_hits(body, 0, |node| squeezed.site(node), |_| count[0] += 1);
    map.self_hits(body, 1, |node| squeezed.site(node), |_| count[1] += 1);
    assert!(count[0] > 0 && count[1] == 0, "{count:?}");
}

#[test]
fn cd_10_surface_map_detects_first_contact() {
    let whole = block::<f64>([31; 3], BondLimits::MEDIUM);
    assert_eq!(
        map_nodes::surface_nodes(&whole).len(),
        31_i32.pow(3) as usize - 29_usize.pow(3)
    );
    let directions = [
        [1, 0, 0],
        [0, -1, 0],
        [0, 0, 1],
        [1, 1, 0],
        [1, -1, 1],
        [-1, 0, 1],
    ];
    for direction in directions {
        for n in [5, 8] {
            let from = direction.map(|along| -18 * along - n / 2);
            let first = [false, true].map(|surface| {
                let mut map = OccupancyMap::hashed(cells([-32, 32]));
                let inside = ball(9);
                map.add(&inside).expect("inside");
                let mover = map.add(&cube(n, from, surface)).expect("inside");
                let by_m = Vec3::from(direction.map(f64::from)) * 0.5;
                let step = |_: usize, at_m: &Vec3| at_m + by_m;
                (0..40).position(|_| {
                    map.try_move(mover, MapMoveRule::Prevent, step, |_| ())
                        .is_err()
                })
            });
            assert!(
                first[0].is_some() && first[0] == first[1],
                "{direction:?} {first:?}"
            );
        }
    }
}

#[test]
fn cd_11_local_map_matches_the_global_map_without_memory_for_distant_bodies() {
    let mut rng = TestRng::new(5);
    let grid = cells([-40, 40]);
    let (a, b) = (cube(9, [-4; 3], false), cube(7, [-3; 3], false));
    let a_m: Vec<Vec3> = a.iter().map(|&(_, at)| at).collect();
    let mut hit_count = 0;
    for _ in 0..200 {
        let by_m = Vec3::from_fn(|_, _| rng.symmetric(11.0));
        let b_m: Vec<Vec3> = b.iter().map(|&(_, at)| at + by_m).collect();
        let mut local = LocalMap::default();
        let hits = local.hits(&grid, &a_m, &b_m);
        let wanted = brute(&grid, (0, &a_m), (1, &b_m));
        let wanted: Vec<[u32; 2]> = wanted
            .iter()
            .map(|hit| [hit.mover.node, hit.other.node])
            .collect();
        assert_eq!(hits, wanted);
        hit_count += usize::from(!hits.is_empty());
        let boxes = [&a_m, &b_m].map(|all| BodyBox::of(all).expect("some"));
        match boxes[0].common(&boxes[1], grid.pitch_m()) {
            Some(common) => {
                let volume: f64 = (common.high_m - common.low_m)
                    .iter()
                    .map(|x| x + 2.0)
                    .product();
                assert!(
                    local.allocated_cells() as f64 <= volume,
                    "{} {volume}",
                    local.allocated_cells()
                );
            }
            None => assert_eq!(local.allocated_cells(), 0),
        }
    }
    assert!((20..180).contains(&hit_count), "{hit_count}");
    // memory is independent of the size of the space
    let mut local = LocalMap::default();
    let far: Vec<Vec3> = a_m.iter().map(|at| at + Vec3::x() * 500.0).collect();
    assert!(local.hits(&grid, &a_m, &far).is_empty() && local.allocated_cells() == 0);
    let boxes: Vec<BodyBox> = (0..60)
        .map(|_| {
            let low_m = Vec3::from_fn(|_, _| rng.symmetric(8.0));
            let high_m = low_m + Vec3::from_fn(|_, _| 5.0 * rng.unit());
            BodyBox { low_m, high_m }
        })
        .collect();
    let all = (0..60).flat_map(|i| (i + 1..60).map(move |j| [i, j]));
    let wanted: Vec<[usize; 2]> = all
        .filter(|&[i, j]| boxes[i].common(&boxes[j], 0.5).is_some())
        .collect();
    assert!(wanted.len() > 10);
    assert_eq!(pairs(&boxes, 0.5), wanted);
}

#[test]
fn fu_04_culling_needs_a_tenth_of_the_tests_and_tracks_carving() {
    let sites: Vec<[i32; 3]> = (0..64)
        .flat_map(|z| (0..64).flat_map(move |y| (0..64).map(move |x| [x, y, z])))
        .collect();
    let all = CountPyramid::of(&sites).expect("fits");
    let mut carved = all.clone();
    let plain = sites.len() as u64;
    for shift in [
        [56, 56, 56],
        [60, 3, -2],
        [59, -60, 57],
        [63, 63, 0],
        [-61, 5, 7],
        [70, 0, 0],
    ] {
        let wanted: Vec<[i32; 3]> = sites
            .iter()
            .copied()
            .filter(|site| (0..3).all(|axis| (0..64).contains(&(site[axis] - shift[axis]))))
            .collect();
        let mut found = Vec::new();
        let tests = all.overlap(&all, shift, |cell| found.push(cell));
        found.sort_unstable_by_key(|&[x, y, z]| [z, y, x]);
        assert_eq!(found, wanted, "{shift:?}");
        if found.len() < 5000 {
            assert!(10 * tests <= plain, "{shift:?}: {tests}");
        }
    }
    // carve the overlap of the first: no hits remain, and the counts are those of the rest
    let gone = |site: &[i32; 3]| site.iter().all(|&along| along >= 56);
    for &site in sites.iter().filter(|site| gone(site)) {
        assert!(carved.remove(site) && !carved.remove(site));
    }
    assert!(!carved.remove([64, 0, 0]));
    let mut found = 0;
    let tests = carved.overlap(&all, [56; 3], |_| found += 1);
    assert!(found == 0 && tests < 100, "{tests}");
    let left: Vec<[i32; 3]> = sites.iter().copied().filter(|site| !gone(site)).collect();
    assert_eq!(carved, CountPyramid::of(&left).expect("fits"));
    assert_eq!(carved.count() as usize, left.len());
    // a small body against a large one, both ways
    let small = CountPyramid::of(&[[3, 4, 5], [-9, 4, 5]]).expect("fits");
    for (shift, want) in [
        ([0; 3], 1),
        ([40, 0, 0], 2),
        ([62, 0, 0], 1),
        ([0, 61, 0], 0),
    ] {
        let mut found = [0; 2];
        all.overlap(&small, shift, |_| found[0] += 1);
        small.overlap(&all, shift.map(|x: i32| -x), |_| found[1] += 1);
        assert_eq!(found, [want; 2], "{shift:?}");
    }
}
