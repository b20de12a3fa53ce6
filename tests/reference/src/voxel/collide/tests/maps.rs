//! CD-01, 02, 03, 05, 10 and 11, FU-03 and FU-04.

use super::{ball, cells, cube, maps, voxels};
use crate::voxel::bodies::Printed as _;
use crate::voxel::bodies::{Draw, block};
use crate::voxel::collide::grid::Grid;
use crate::voxel::collide::hierarchy::Pyramid;
use crate::voxel::collide::local::{Around, Local, pairs};
use crate::voxel::collide::occupancy::{Hit, Occupancy, Refused, Rule, Who};
use crate::voxel::collide::scales::{Fill, Scales};
use crate::voxel::collide::shell;
use crate::voxel::collide::shell::Resolution;
use palpate_twin::Vec3;
use palpate_voxel::elements::Elements;
use palpate_voxel::limits::Limits;

/// All pairs of two bodies in one cell.
fn brute(grid: &Grid, a: (u32, &[Vec3]), b: (u32, &[Vec3])) -> Vec<Hit> {
    let mut hits = Vec::new();
    for (element, at_m) in (0..).zip(a.1) {
        for (other, other_m) in (0..).zip(b.1) {
            if grid.cell(at_m) == grid.cell(other_m) {
                hits.push(Hit {
                    mover: Who { body: a.0, element },
                    other: Who {
                        body: b.0,
                        element: other,
                    },
                });
            }
        }
    }
    hits
}

/// A lump of up to 60 elements.
fn lump(draw: &mut Draw) -> Vec<(u32, Vec3)> {
    let share = 0.3 + 0.7 * draw.share();
    let mut seed = Draw::new(draw.below(1 << 30).into());
    let mut all = voxels([[-2, -1, -2], [1, 2, 1]], |_| seed.share() < share);
    all.truncate(60);
    all
}

#[test]
fn cd_01_hits_are_those_of_all_pairs_at_a_thousand_poses() {
    for mut map in maps([-12, 12]) {
        let mut draw = Draw::new(11);
        let lumps = [lump(&mut draw), lump(&mut draw), lump(&mut draw)];
        for lump in &lumps {
            map.add(lump).expect("inside");
        }
        let mut met = 0;
        for nth in 0..1000 {
            let body = nth % 3;
            // any turn and any place, not whole
            let axis = Vec3::new(draw.around(3.0), draw.around(3.0), draw.around(3.0));
            let turn = nalgebra::Rotation3::new(axis);
            let by_m = Vec3::new(draw.around(4.0), draw.around(4.0), draw.around(4.0));
            let own = &lumps[body as usize];
            let mut hits = Vec::new();
            let to_m = |nth: usize, _: &Vec3| turn * own[nth].1 + by_m;
            map.try_move(body, Rule::Detect, to_m, |hit| hits.push(hit))
                .expect("inside");
            let mut wanted = Vec::new();
            for other in (0..3).filter(|&other| other != body) {
                let pair = ((body, map.places_m(body)), (other, map.places_m(other)));
                wanted.extend(brute(map.grid(), pair.0, pair.1));
            }
            hits.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(hits, wanted, "pose {nth}");
            met += usize::from(!hits.is_empty());
        }
        assert!(met > 300, "{met}");
    }
}

/// The same bodies in a map made anew.
fn anew(map: &Occupancy, bodies: u32) -> Occupancy {
    let mut anew = Occupancy::hashed(*map.grid());
    for body in 0..bodies {
        let placed = map.elements(body).zip(map.places_m(body).iter().copied());
        anew.add(&placed.collect::<Vec<_>>()).expect("inside");
    }
    anew
}

#[test]
fn cd_02_a_map_is_always_that_of_a_map_made_anew() {
    for mut map in maps([-9, 9]) {
        let mut draw = Draw::new(3);
        let lumps: Vec<_> = (0..4).map(|_| lump(&mut draw)).collect();
        for lump in &lumps {
            map.add(lump).expect("inside");
        }
        let (mut taken, mut refused) = (0, [0; 2]);
        for nth in 0..2000 {
            let body = draw.below(4);
            let rule = [Rule::Detect, Rule::Prevent, Rule::Sweep][nth % 3];
            let by_m = Vec3::from_fn(|_, _| draw.around(8.0));
            // squeezed too, so that elements of one body share cells
            let squeeze = 0.5 + 0.7 * draw.share();
            let before = (map.places_m(body).to_vec(), map.contents());
            let move_m = |nth: usize, _: &Vec3| lumps[body as usize][nth].1 * squeeze + by_m;
            match map.try_move(body, rule, move_m, |_| ()) {
                Ok(()) => taken += 1,
                Err(why) => {
                    refused[usize::from(matches!(why, Refused::OutOfSpace(_)))] += 1;
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
            map.try_move(9, Rule::Detect, |_, at| *at, |_| ()),
            Err(Refused::Unknown(9))
        );
        let nan = |_: usize, _: &Vec3| Vec3::repeat(f64::NAN);
        assert!(map.try_move(0, Rule::Detect, nan, |_| ()).is_err());
    }
}

/// The source's map forgets a body that another one has passed through.
#[test]
fn cd_02_who_was_passed_through_is_still_there() {
    for mut map in maps([-20, 20]) {
        let wall = map
            .add(&voxels([[0, -3, -3], [0, 3, 3]], |_| true))
            .expect("inside");
        let mover = map.add(&cube(3, [-8, -1, -1], false)).expect("inside");
        for _ in 0..14 {
            let step = |_: usize, at_m: &Vec3| at_m + Vec3::x();
            map.try_move(mover, Rule::Detect, step, |_| ())
                .expect("inside");
        }
        let back = |_: usize, at_m: &Vec3| at_m - Vec3::x() * 6.0;
        let mut hits = 0;
        map.try_move(mover, Rule::Detect, back, |_| hits += 1)
            .expect("inside");
        assert_eq!(hits, 9);
        assert!(map.places_m(wall).iter().all(|at| {
            map.in_cell(map.grid().cell(at).expect("in"))
                .any(|(who, _)| who.body == wall)
        }));
        // carved, it is not; put back, it is
        assert!(map.set_there(wall, 24, false) && !map.set_there(wall, 24, false));
        let middle = map.places_m(wall)[24];
        assert!(
            map.in_cell(map.grid().cell(&middle).expect("in"))
                .all(|(who, _)| who.body != wall)
        );
        assert!(map.set_there(wall, 24, true));
        assert_eq!(map.contents(), anew(&map, 2).contents());
    }
}

/// A block of unit spacing, stretched.
fn stretched(n: i32, by: f64) -> Elements<f64> {
    let mut elements = block([n; 3], Limits::LOOSE);
    for element in 0..elements.slots() {
        let site = elements.site(element);
        for (moved_m, along) in elements.moved_m.iter_mut().zip(site) {
            moved_m[element as usize] = f64::from(along) * (by - 1.0);
        }
    }
    elements
}

#[test]
fn cd_03_a_probe_of_two_cells_never_slips_into_a_volume_stretched_by_1_9() {
    let elements = stretched(8, 1.9);
    assert!(!Resolution::of(&elements, 1.0).under());
    assert!(Resolution::of(&stretched(8, 2.01), 1.0).under());
    let edge = 7.0 * 1.9;
    for mut map in maps([-6, 20]) {
        map.add(&shell::placed(&elements, &shell::all(&elements)))
            .expect("inside");
        let probe = map.add(&cube(2, [-5, -5, -5], false)).expect("inside");
        let mut draw = Draw::new(1);
        for _ in 0..2000 {
            // wholly inside, wherever
            let corner = Vec3::from_fn(|_, _| 0.5 + draw.share() * (edge - 2.0));
            let to_m = |nth: usize, _: &Vec3| {
                corner + Vec3::new((nth & 1) as f64, (nth >> 1 & 1) as f64, (nth >> 2) as f64)
            };
            let mut hits = 0;
            map.try_move(probe, Rule::Detect, to_m, |_| hits += 1)
                .expect("inside");
            assert!(hits > 0, "{corner:?}");
        }
    }
}

#[test]
fn fu_03_all_contacts_are_found_at_four_times_the_spacing() {
    let elements = stretched(6, 4.0);
    assert!(Resolution::of(&elements, 1.0).under());
    let fills: Vec<Fill> = (0..elements.slots())
        .map(|e| Fill::of(&elements, e))
        .collect();
    let scales = Scales::new([Vec3::repeat(-8.0), Vec3::repeat(30.0)], 1.0, &fills).expect("fit");
    let mut draw = Draw::new(2);
    let (mut inside, mut missed_by_plain) = (0, 0);
    let mut plain = Occupancy::hashed(cells([-8, 30]));
    plain
        .add(&shell::placed(&elements, &shell::all(&elements)))
        .expect("inside");
    for _ in 0..20_000 {
        let at_m = Vec3::from_fn(|_, _| -4.0 + draw.share() * 28.0);
        let mut found = Vec::new();
        scales.at(&at_m, |element| found.push(element));
        found.sort_unstable();
        let in_box = |fill: &&Fill| (0..3).all(|a| (at_m - fill.at_m)[a].abs() <= fill.half_m[a]);
        let wanted: Vec<u32> = fills
            .iter()
            .filter(in_box)
            .map(|fill| fill.element)
            .collect();
        assert_eq!(found, wanted);
        if at_m.iter().all(|&x| (0.0..=20.0).contains(&x)) {
            // no hole anywhere between the outermost elements
            assert!(!found.is_empty(), "{at_m:?}");
            inside += 1;
            let cell = plain.grid().cell(&at_m).expect("inside");
            missed_by_plain += usize::from(plain.in_cell(cell).next().is_none());
        }
    }
    assert!(inside > 5000 && missed_by_plain > inside * 9 / 10);
}

/// A strip in the plane, folded back onto itself above its bend.
fn strip(fold: bool, sway: f64) -> (Elements<f64>, Occupancy, u32) {
    let mut elements: Elements<f64> = block([30, 4, 2], Limits::LOOSE);
    for element in 0..elements.slots() {
        let [x, _, z] = elements.site(element).map(f64::from);
        let slot = element as usize;
        if fold && x > 14.0 {
            // turned about the bend: comes back through the first half
            elements.moved_m[0][slot] = 29.0 - x - x;
            elements.moved_m[2][slot] = 1.2 - z - z;
        } else {
            elements.moved_m[2][slot] = sway * (0.35 * x).sin();
        }
    }
    let mut map = Occupancy::hashed(cells([-10, 40]));
    let body = map
        .add(&shell::placed(&elements, &shell::all(&elements)))
        .expect("inside");
    (elements, map, body)
}

#[test]
fn cd_05_a_folded_strip_meets_itself_and_a_bent_one_does_not() {
    let reports = |fold, sway, near| {
        let (elements, mut map, body) = strip(fold, sway);
        let mut hits = Vec::new();
        map.meet_self(
            body,
            near,
            |element| elements.site(element),
            |hit| hits.push(hit),
        );
        for hit in &hits {
            let [a, b] = [hit.mover, hit.other].map(|who| elements.site(who.element));
            assert!((0..3).any(|axis| (a[axis] - b[axis]).abs() > near));
        }
        hits.len()
    };
    assert_eq!(reports(false, 0.0, 1), 0);
    for sway in [0.2, 0.5, 0.9] {
        assert_eq!(reports(false, sway, 1), 0);
    }
    assert!(reports(true, 0.0, 1) > 40 && reports(true, 0.0, 2) > 40);
    // elements of one body that share a cell, all neighbours: only without the filter is that a hit
    let squeezed = stretched(4, 0.6);
    let mut map = Occupancy::hashed(cells([-4, 8]));
    let body = map
        .add(&shell::placed(&squeezed, &shell::all(&squeezed)))
        .expect("inside");
    let mut count = [0; 2];
    map.meet_self(body, 0, |element| squeezed.site(element), |_| count[0] += 1);
    map.meet_self(body, 1, |element| squeezed.site(element), |_| count[1] += 1);
    assert!(count[0] > 0 && count[1] == 0, "{count:?}");
}

#[test]
fn cd_10_a_surface_meets_first_when_the_whole_does() {
    let whole = block::<f64>([31; 3], Limits::MEDIUM);
    assert_eq!(
        shell::surface(&whole).len(),
        31_i32.pow(3) as usize - 29_usize.pow(3)
    );
    let ways = [
        [1, 0, 0],
        [0, -1, 0],
        [0, 0, 1],
        [1, 1, 0],
        [1, -1, 1],
        [-1, 0, 1],
    ];
    for way in ways {
        for n in [5, 8] {
            let from = way.map(|along| -18 * along - n / 2);
            let first = [false, true].map(|surface| {
                let mut map = Occupancy::hashed(cells([-32, 32]));
                let inside = ball(9);
                map.add(&inside).expect("inside");
                let mover = map.add(&cube(n, from, surface)).expect("inside");
                let by_m = Vec3::from(way.map(f64::from)) * 0.5;
                let step = |_: usize, at_m: &Vec3| at_m + by_m;
                (0..40).position(|_| map.try_move(mover, Rule::Prevent, step, |_| ()).is_err())
            });
            assert!(
                first[0].is_some() && first[0] == first[1],
                "{way:?} {first:?}"
            );
        }
    }
}

#[test]
fn cd_11_a_local_map_finds_what_a_global_one_does_and_takes_no_room_for_distant_bodies() {
    let mut draw = Draw::new(5);
    let grid = cells([-40, 40]);
    let (a, b) = (cube(9, [-4; 3], false), cube(7, [-3; 3], false));
    let a_m: Vec<Vec3> = a.iter().map(|&(_, at)| at).collect();
    let mut met = 0;
    for _ in 0..200 {
        let by_m = Vec3::from_fn(|_, _| draw.around(11.0));
        let b_m: Vec<Vec3> = b.iter().map(|&(_, at)| at + by_m).collect();
        let mut local = Local::default();
        let hits = local.hits(&grid, &a_m, &b_m);
        let wanted = brute(&grid, (0, &a_m), (1, &b_m));
        let wanted: Vec<[u32; 2]> = wanted
            .iter()
            .map(|hit| [hit.mover.element, hit.other.element])
            .collect();
        assert_eq!(hits, wanted);
        met += usize::from(!hits.is_empty());
        let boxes = [&a_m, &b_m].map(|all| Around::of(all).expect("some"));
        match boxes[0].common(&boxes[1], grid.pitch_m()) {
            Some(common) => {
                let volume: f64 = (common.high_m - common.low_m)
                    .iter()
                    .map(|x| x + 2.0)
                    .product();
                assert!(local.room() as f64 <= volume, "{} {volume}", local.room());
            }
            None => assert_eq!(local.room(), 0),
        }
    }
    assert!((20..180).contains(&met), "{met}");
    // the room does not depend on the size of the space
    let mut local = Local::default();
    let far: Vec<Vec3> = a_m.iter().map(|at| at + Vec3::x() * 500.0).collect();
    assert!(local.hits(&grid, &a_m, &far).is_empty() && local.room() == 0);
    let boxes: Vec<Around> = (0..60)
        .map(|_| {
            let low_m = Vec3::from_fn(|_, _| draw.around(8.0));
            let high_m = low_m + Vec3::from_fn(|_, _| 5.0 * draw.share());
            Around { low_m, high_m }
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
fn fu_04_culling_needs_a_tenth_of_the_tests_and_follows_a_carve() {
    let sites: Vec<[i32; 3]> = (0..64)
        .flat_map(|z| (0..64).flat_map(move |y| (0..64).map(move |x| [x, y, z])))
        .collect();
    let all = Pyramid::of(&sites).expect("fits");
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
    // carve the overlap of the first: nothing left to meet, and the counts are those of what is left
    let gone = |site: &[i32; 3]| site.iter().all(|&along| along >= 56);
    for &site in sites.iter().filter(|site| gone(site)) {
        assert!(carved.remove(site) && !carved.remove(site));
    }
    assert!(!carved.remove([64, 0, 0]));
    let mut found = 0;
    let tests = carved.overlap(&all, [56; 3], |_| found += 1);
    assert!(found == 0 && tests < 100, "{tests}");
    let left: Vec<[i32; 3]> = sites.iter().copied().filter(|site| !gone(site)).collect();
    assert_eq!(carved, Pyramid::of(&left).expect("fits"));
    assert_eq!(carved.count() as usize, left.len());
    // a small body against a large one, both ways
    let small = Pyramid::of(&[[3, 4, 5], [-9, 4, 5]]).expect("fits");
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
