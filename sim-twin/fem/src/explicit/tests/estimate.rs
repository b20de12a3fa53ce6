//! What a touch says of its own slope, and what it says of nonsense.

use super::super::estimate::Touch;
use super::super::skin::{Met, Rod};
use super::*;

#[test]
fn a_lying_rod_knows_its_slope_too() {
    let mut tissue = tissue((8, 3), &Params::default());
    let step = |index: u32| {
        let tool = rod(
            [-0.008, 0.0, 5e-3 - 2e-5 * f64::from(index)],
            5e-3,
            [0.016, 0.0, 0.0],
        );
        tick(&mut tissue, tool)
    };
    let felt: Vec<Reaction> = (0..=270).map(step).collect();
    for at in [100, 250] {
        let slope_npm = (felt[at + 20].force_n.z - felt[at - 20].force_n.z) / (40.0 * 2e-5);
        let ratio = felt[at].stiffness_npm / slope_npm;
        assert!((0.7..1.3).contains(&ratio), "{at}: {ratio} of {slope_npm}");
    }
}

#[test]
fn what_is_no_touch_gives_finite_bounded_answers() {
    let wild = [
        0.0_f32,
        f32::MIN_POSITIVE,
        1.0,
        1e30,
        f32::INFINITY,
        f32::NAN,
    ];
    for area in wild {
        for slope in wild {
            for z in [-1e6_f32, 8.0, 9.0, 12.0, f32::NAN] {
                let met = Met {
                    area,
                    faces: area,
                    slope,
                    contacts: 3,
                    ..Met::default()
                };
                let rod = Rod {
                    centre: [0.0, 0.0, z],
                    shaft: [0.0; 3],
                    radius: 1.0,
                    give: 0.0,
                };
                let touch = Touch {
                    force: 0.7,
                    met: &met,
                    rod,
                    top: 10.0,
                };
                let (error, stiffness) = (touch.error(), touch.stiffness());
                assert!((0.0..=0.7).contains(&error), "{area} {z}: {error}");
                let bound = f64::from(slope).clamp(0.0, f64::MAX);
                assert!(
                    (0.0..=bound.max(0.0)).contains(&stiffness),
                    "{area} {slope} {z}: {stiffness}"
                );
            }
        }
    }
}
