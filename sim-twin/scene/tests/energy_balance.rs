//! Force times displacement is the recorded tool work, for free tissue and for tissue at its limits.

use palpate_scene::load;
use palpate_twin::{Reaction, Vec3};

/// Largest depth of the presses \[m\].
const DEPTH_M: f64 = 5e-3;

/// A voxel model returns the mean force over the motion of a step, whose product with the displacement is the tool
/// work in its energy balance. Neighbours move with the pressed nodes; their loss of energy is not a loss to the
/// hand. A tool at rest does no work.
#[test]
fn fu_10_force_times_displacement_is_the_recorded_work() {
    for (name, share) in [("linked-nodule", 0.005), ("limb", 0.02)] {
        let scene = load(name).expect("built in");
        let mut tissue = scene.build().expect("built in");
        let mut tool = scene.tool_at(Vec3::new(0.0, 0.0, scene.tool_radius_m));
        let depth_m = |k: u32| {
            DEPTH_M * 0.5 * (1.0 - libm::cos(f64::from(k) * std::f64::consts::TAU / 400.0))
        };
        let (mut work_j, mut most_n, mut reactions) = (0.0, 0.0_f64, [Reaction::default()]);
        for k in 1..=1000 {
            let travel_m = depth_m(k) - depth_m(k - 1);
            tool.position_m.z -= travel_m;
            tissue.step(&[tool], 1e-3, &mut reactions);
            work_j += reactions[0].force_n.z * travel_m;
            most_n = most_n.max(reactions[0].force_n.z);
        }
        let balance = tissue.view().energy;
        let scale_j = most_n * DEPTH_M;
        let error = (balance.tool_work_j - work_j) / scale_j;
        for _ in 0..200 {
            tissue.step(&[tool], 1e-3, &mut reactions);
        }
        let rest_work = (tissue.view().energy.tool_work_j - balance.tool_work_j) / scale_j;
        let residual = balance.residual_j / scale_j;
        println!("{name}: {error} at rest {rest_work} residual {residual}, {most_n} N");
        assert!(error.abs() < share, "{name}: {error}");
        assert!(rest_work.abs() < 0.001, "{name}: {rest_work}");
        assert!(residual.abs() < 1e-4, "{name}: {residual}");
    }
}
