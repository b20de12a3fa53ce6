//! Block test: a cube of 0.1 m, 5 kPa, under a sphere of 5 mm at 20 mm/s.
//!
//! Tick times and other meshes: `cargo run --release -p palpate-scene --example block -- explicit`.

use super::*;

/// Converged forces of the static press, by depth in millimetres.
const REFERENCE: [(u32, f64); 4] = [(1, 0.0185), (2, 0.0504), (5, 0.1805), (10, 0.4115)];

fn block() -> ExplicitTissue {
    let zone = RefinementZone {
        cell_m: 1.4e-3,
        levels: 4,
        centre_m: [0.0; 2],
        half_m: [0.016, 0.008],
        depth_m: 0.008,
    };
    let (low_m, high_m) = (Vec3::new(-0.05, -0.05, -0.1), Vec3::new(0.05, 0.05, 0.0));
    let nested = NestedGrid::new(low_m, high_m, &zone).unwrap();
    ExplicitTissue::new(
        &nested,
        &uniform_materials(&nested, 5e3),
        &ExplicitParams::default(),
    )
    .unwrap()
}

#[test]
fn press_hold_and_slide_match_the_reference_forces() {
    let mut tissue = block();
    assert!(tissue.caps().elements < 4500);
    let (mut held_n, mut lateral_n) = ([0.0; 2], 0.0_f64);
    for step in 0..=1500_u32 {
        let depth_m = (2e-5 * f64::from(step)).min(0.01);
        let x_m = (2e-5 * (f64::from(step) - 1000.0)).max(0.0);
        let force_n = tick(&mut tissue, ball([x_m, 0.0, 5e-3 - depth_m], 5e-3)).force_n;
        for (depth, reference_n) in REFERENCE {
            if step == 50 * depth {
                let close = (force_n.z / reference_n - 1.0).abs() < 0.03;
                assert!(close, "{depth} mm: {force_n} {reference_n}");
            }
        }
        // means over the remaining oscillation
        match step {
            550..650 => held_n[0] += 0.01 * force_n.z,
            900..1000 => held_n[1] += 0.01 * force_n.z,
            _ => {}
        }
        // the start of the slide is a jerk
        if step > 1100 {
            assert!((force_n.z / 0.4115 - 1.0).abs() < 0.05, "{step}: {force_n}");
            lateral_n = lateral_n.max(force_n.x.abs()).max(force_n.y.abs());
        }
    }
    let drift = (held_n[1] / held_n[0] - 1.0) / 0.35;
    assert!(drift.abs() < 5e-3, "{drift} a second");
    assert!(lateral_n < 0.01 * 0.4115, "{lateral_n}");
    let balance = tissue.view().energy;
    assert!(
        balance.residual_j.abs() < 2e-3 * balance.tool_work_j,
        "{balance:?}"
    );
}
