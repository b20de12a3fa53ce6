//! Tests of the slope estimate of a contact, and of invalid contacts.

use super::super::estimate::TouchEstimate;
use super::super::skin::{ToolContact, ToolRod};
use super::*;

#[test]
fn the_slope_estimate_holds_for_a_lying_rod() {
    let mut tissue = tissue((8, 3), &ExplicitParams::default());
    let step = |index: u32| {
        let tool = rod(
            [-0.008, 0.0, 5e-3 - 2e-5 * f64::from(index)],
            5e-3,
            [0.016, 0.0, 0.0],
        );
        tick(&mut tissue, tool)
    };
    let reactions: Vec<Reaction> = (0..=270).map(step).collect();
    for at in [100, 250] {
        let slope_npm =
            (reactions[at + 20].force_n.z - reactions[at - 20].force_n.z) / (40.0 * 2e-5);
        let ratio = reactions[at].stiffness_npm / slope_npm;
        assert!((0.7..1.3).contains(&ratio), "{at}: {ratio} of {slope_npm}");
    }
}

#[test]
fn invalid_contacts_have_finite_bounded_estimates() {
    let values = [
        0.0_f32,
        f32::MIN_POSITIVE,
        1.0,
        1e30,
        f32::INFINITY,
        f32::NAN,
    ];
    for area in values {
        for slope in values {
            for z in [-1e6_f32, 8.0, 9.0, 12.0, f32::NAN] {
                let contact = ToolContact {
                    area,
                    rest_area_ratio: area,
                    stiffness: slope,
                    contacts: 3,
                    ..ToolContact::default()
                };
                let rod = ToolRod {
                    centre: [0.0, 0.0, z],
                    shaft: [0.0; 3],
                    radius: 1.0,
                    boundary_compliance: 0.0,
                    spread: 0.0,
                };
                let touch = TouchEstimate {
                    force: 0.7,
                    contact: &contact,
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
