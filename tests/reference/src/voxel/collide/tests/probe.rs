//! CD-04: a probe that indents a ball of 40 elements across.

use super::voxels;
use crate::voxel::bodies::matter;
use crate::voxel::bodies::{Judged as _, Printed as _};
use crate::voxel::collide::grid::Grid;
use crate::voxel::collide::occupancy::{Occupancy, Rule};
use crate::voxel::collide::shell;
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};
use palpate_voxel::elements::{Elements, Frame, Seed};
use palpate_voxel::exact::{Control, Exact};
use palpate_voxel::limits::Limits;
use palpate_voxel::{Linked, LinkedParams};

/// Radii of the ball and of the probe, in spacings.
const BALL: f64 = 20.0;
const PROBE: f64 = 4.0;

/// The ball about the origin; its lowest parts are held.
fn ball<R: palpate_twin::law::Real>(h: f64, limits: Limits) -> Elements<R> {
    let frame = Frame {
        origin_m: Vec3::repeat(-19.5 * h),
        spacing_m: [h; 3],
    };
    let sites = (0..40).flat_map(|z| (0..40).flat_map(move |y| (0..40).map(move |x| [x, y, z])));
    let inside = |site: &[i32; 3]| {
        site.iter()
            .map(|&x| (f64::from(x) - 19.5).powi(2))
            .sum::<f64>()
            <= BALL * BALL
    };
    let seeds: Vec<Seed> = sites
        .filter(inside)
        .map(|site| Seed {
            site,
            matter: 0,
            object: 0,
        })
        .collect();
    let mut elements = Elements::new(frame, vec![matter(limits)], &seeds).expect("fit");
    for element in 0..elements.slots() {
        elements.pin(element, elements.site(element)[2] < 4);
    }
    elements
}

fn ways() -> Vec<Vec3> {
    [
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0],
        [0.0, -1.0, 0.4],
        [1.0, 1.0, 1.0],
        [-0.3, 0.5, 0.9],
    ]
    .map(|way| Vec3::from(way).normalize())
    .to_vec()
}

/// Hits of the map begin where the surface is, and the chain on the elements hit makes room for the probe.
#[test]
fn cd_04_a_probe_meets_a_ball_within_a_cell_of_its_surface_and_indents_it() {
    let grid = Grid::around(Vec3::repeat(-99.5), 1.0, [200; 3]).expect("fits");
    let tip = voxels([[-4; 3], [4; 3]], |[x, y, z]| {
        (9..=16).contains(&(x * x + y * y + z * z))
    });
    for way in ways() {
        let mut elements = ball::<f64>(1.0, Limits::LOOSE);
        let mut exact = Exact::new(elements.slots());
        let mut map = Occupancy::dense(grid).expect("small");
        let all = shell::all(&elements);
        let body = map.add(&shell::placed(&elements, &all)).expect("inside");
        let probe = map.add(&tip).expect("inside");
        let mut began = None;
        let mut followed = 0;
        let mut far = 40.0;
        while far > BALL + PROBE - 3.0 {
            far -= 0.25;
            let at_m = way * far;
            let mut met = Vec::new();
            let to_m = |nth: usize, _: &Vec3| tip[nth].1 + at_m;
            map.try_move(probe, Rule::Detect, to_m, |hit| met.push(hit.other.element))
                .expect("inside");
            met.sort_unstable();
            met.dedup();
            if met.is_empty() {
                continue;
            }
            began.get_or_insert(far);
            // out to the surface of the probe
            let controls: Vec<Control<f64>> = met
                .into_iter()
                .filter(|&element| (elements.at_m(element) - at_m).norm() < PROBE)
                .map(|element| {
                    let out = (elements.at_m(element) - at_m).normalize();
                    let to_m = at_m + out * PROBE - elements.rest_m(element);
                    Control {
                        element,
                        to_m: to_m.into(),
                    }
                })
                .collect();
            // one after the other: two at once may ask for more than the link between them gives
            for control in controls {
                let went = exact.propagate(&mut elements, &[control]);
                followed += went.map_or(0, |_| 1);
            }
            assert!(elements.worst_m() < 1e-9);
            map.try_move(body, Rule::Detect, |nth, _| elements.at_m(all[nth]), |_| ())
                .expect("inside");
        }
        let began = began.expect("met");
        println!("{way:?}: began {began}, controls {followed}");
        assert!((began - BALL - PROBE).abs() <= 1.0, "{way:?}: {began}");
        assert!(followed > 5, "{way:?}: {followed}");
        // the tip of the ball has been pushed in
        let tops = all.iter().map(|&element| elements.at_m(element));
        let under = tops.filter(|at| at.dot(&way) > 0.0 && at.cross(&way).norm() < 1.0);
        let top = under.map(|at| at.dot(&way)).fold(0.0, f64::max);
        assert!(top < BALL - 1.0, "{way:?}: {top}");
    }
}

/// The same of the tissue that sessions step, by what the hand feels.
#[test]
fn cd_04_the_hand_feels_the_ball_within_a_cell_of_its_surface() {
    let h = 1e-3;
    for way in ways() {
        let mut tissue =
            Linked::new(ball(h, Limits::MEDIUM), LinkedParams::default()).expect("fit");
        let mut felt = [Reaction::default()];
        let mut began = None;
        let mut last_n = 0.0;
        let mut far = BALL + PROBE + 3.0;
        while far > BALL + PROBE - 2.0 {
            far -= 0.25;
            let tool = Tool {
                position_m: way * far * h,
                velocity_mps: Vec3::zeros(),
                radius_m: PROBE * h,
                stiffness_npm: 300.0,
                shaft_m: Vec3::zeros(),
                side_m: Vec3::zeros(),
                instrument: Instrument::Blunt,
                jaws: None,
            };
            for _ in 0..3 {
                tissue.step(&[tool], 1e-3, &mut felt);
            }
            if felt[0].contacts > 0 {
                began.get_or_insert(far);
            }
            last_n = felt[0].force_n.dot(&way);
            assert!(tissue.elements().worst_m() <= 1e-8);
        }
        let began = began.expect("met");
        assert!((began - BALL - PROBE).abs() <= 1.0, "{way:?}: {began}");
        assert!(last_n > 0.0, "{way:?}");
    }
}
