//! Tests of back-tracking (CD-06) and of pieces that cannot overlap (CD-13).

use super::{cells, cube, maps, voxels};
use crate::voxel::collide::backtrack::{approach, tests_max};
use crate::voxel::collide::occupancy::{MapMoveError, MapMoveRule, OccupancyMap};
use crate::voxel::test_volumes::TestRng;
use palpate_twin::Vec3;

#[test]
fn cd_06_cube_stops_within_tolerance_of_a_wall() {
    for tolerance_m in [1.0, 0.1, 1e-3] {
        for mut map in maps([-30, 30]) {
            // its face is at x = -0.5
            map.add(&voxels([[0, -20, -20], [0, 20, 20]], |_| true))
                .expect("inside");
            let mover = map.add(&cube(5, [-25, -2, -2], true)).expect("inside");
            for step in [Vec3::new(40.0, 0.0, 0.0), Vec3::new(33.3, 7.0, -3.3)] {
                let travel = approach(&mut map, mover, &step, tolerance_m).expect("known");
                let front = map
                    .places_m(mover)
                    .iter()
                    .map(|at| at.x)
                    .fold(f64::MIN, f64::max);
                assert!(
                    front < -0.5 && front > -0.5 - tolerance_m,
                    "{front} {travel:?}"
                );
                assert!(
                    travel.tests <= tests_max(&step, 1.0, tolerance_m),
                    "{travel:?}"
                );
                assert!(
                    matches!(travel.stopped, Some(MapMoveError::Hit(_))),
                    "{travel:?}"
                );
                // touching: the first stride fails, and bisection finds no more
                let again = approach(&mut map, mover, &step, tolerance_m).expect("known");
                assert!(again.share * step.amax() <= tolerance_m && again.tests <= 12);
                // and back again, all the way
                let back = Vec3::new(-25.0 + 4.0 - front, 0.0, 0.0);
                let travel =
                    approach(&mut map, mover, &(back + Vec3::x() * 0.0), 1.0).expect("known");
                assert!(
                    (travel.share - 1.0).abs() < 1e-9 && travel.stopped.is_none(),
                    "{travel:?}"
                );
            }
        }
    }
}

/// Any wall one cell thick, also one whose cells share only edges or corners, with steps of any length.
#[test]
fn cd_06_no_step_passes_a_wall_one_cell_thick() {
    let normals = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [2, 1, 0], [3, -1, 2]];
    let mut rng = TestRng::new(8);
    for normal in normals {
        let thick = normal.map(i32::abs).into_iter().max().expect("three");
        // the thinnest set of cells that no path through cell faces passes
        let wall = voxels([[-25; 3], [25; 3]], |site| {
            let off: i32 = (0..3).map(|a| normal[a] * site[a]).sum();
            (0..thick).contains(&off)
        });
        let mut map = OccupancyMap::dense(cells([-25, 25])).expect("small");
        map.add(&wall).expect("inside");
        let far = normal.map(|along| along.signum() * -15);
        let mover = map.add(&cube(1, far, false)).expect("inside");
        let pair = map
            .add(&cube(2, far.map(|along| along - 3 * along.signum()), false))
            .expect("inside");
        let mut stopped = 0;
        for nth in 0..3000 {
            let body = if nth % 4 == 0 { pair } else { mover };
            let long = if nth % 2 == 0 { 60.0 } else { 3.0 };
            // mostly towards the wall
            let push = Vec3::from(normal.map(f64::from)) * rng.unit() * 2.0;
            let step = Vec3::from_fn(|_, _| rng.symmetric(long)) + push;
            let travel = approach(&mut map, body, &step, 0.01).expect("known");
            stopped += usize::from(matches!(travel.stopped, Some(MapMoveError::Hit(_))));
            assert!(travel.tests <= tests_max(&step, 1.0, 0.01));
            for at in map.places_m(body) {
                let cell = map.grid().cell(at).expect("inside");
                let off: i32 = (0..3).map(|a| normal[a] * (cell[a] - 25)).sum();
                assert!(off < 0, "{normal:?} {step:?} {at:?}");
                assert!(map.in_cell(cell).all(|(who, _)| who.body == body));
            }
        }
        assert!(stopped > 500, "{normal:?} {stopped}");
        let nowhere = approach(&mut map, mover, &Vec3::repeat(f64::INFINITY), 0.1).expect("known");
        assert_eq!((nowhere.share, nowhere.tests), (0.0, 0));
        assert!(approach(&mut map, 9, &Vec3::x(), 0.1).is_err());
    }
}

/// A planar jigsaw: the frame holds all but one piece, which is dragged out and back.
#[test]
fn cd_13_dragged_piece_overlaps_no_other() {
    // the corner piece, its neighbour with a nose, and the moving piece with the matching hole
    let flat = |is_in: fn([i32; 3]) -> bool| voxels([[-12, -12, 0], [12, 12, 1]], is_in);
    let wall = flat(|[x, y, _]| x.abs() == 12 || y.abs() == 12);
    let nose = flat(|[x, y, _]| {
        ((-4..4).contains(&x) && (-4..0).contains(&y))
            || ((-1..1).contains(&x) && (0..2).contains(&y))
    });
    let other = flat(|[x, y, _]| (6..10).contains(&x) && (-8..8).contains(&y));
    let hole = flat(|[x, y, _]| {
        (-4..4).contains(&x)
            && (4..9).contains(&y)
            && !((-1..1).contains(&x) && (4..6).contains(&y))
    });
    for mut map in maps([-14, 14]) {
        let bodies: Vec<u32> = [&wall, &nose, &other, &hole]
            .map(|piece| map.add(piece).expect("inside"))
            .to_vec();
        let piece = bodies[3];
        let mut rng = TestRng::new(4);
        let free = |map: &OccupancyMap, when: usize| {
            for (cell, list) in map.contents() {
                assert!(
                    list.windows(2).all(|two| two[0].body == two[1].body),
                    "{when} {cell} {list:?}"
                );
            }
        };
        let mut held = 0;
        for nth in 0..1500 {
            let step = Vec3::new(rng.symmetric(9.0), rng.symmetric(9.0), 0.0);
            // sometimes another piece is dragged
            let body = if nth % 5 == 4 {
                bodies[1 + nth % 2]
            } else {
                piece
            };
            let travel = approach(&mut map, body, &step, 0.05).expect("known");
            held += usize::from(travel.stopped.is_some());
            if nth % 10 == 0 {
                free(&map, nth);
            }
        }
        assert!(held > 500, "{held}");
        // apart, then back: onto the nose, and no farther
        for (body, all) in [(bodies[1], &nose), (piece, &hole)] {
            let to_m = |nth: usize, _: &Vec3| all[nth].1;
            let _ = map
                .try_move(body, MapMoveRule::Detect, to_m, |_| ())
                .is_ok();
        }
        let off = map.places_m(bodies[2])[0] - other[0].1;
        let _ = map.try_move(bodies[2], MapMoveRule::Detect, |_, at| at - off, |_| ());
        free(&map, 9999);
        let down = Vec3::new(0.0, -9.0, 0.0);
        let travel = approach(&mut map, piece, &down, 1e-3).expect("known");
        let came = map.places_m(piece)[0].y - hole[0].1.y;
        // half a cell nearer than nodes lie at home: that is where they would share a cell
        assert!(
            (came + 4.5).abs() < 1e-2 && travel.stopped.is_some(),
            "{came}"
        );
        // on the nose it cannot move sideways
        let travel = approach(&mut map, piece, &Vec3::new(5.0, 0.0, 0.0), 1e-3).expect("known");
        assert!(travel.share * 5.0 < 0.6, "{travel:?}");
        free(&map, 10_000);
    }
}
