//! Force times way is the work that is booked, of tissue that is free and of tissue at its limits.

use palpate_scene::load;
use palpate_twin::{Reaction, Vec3};

/// Deepest way of the presses \[m\].
const DEPTH_M: f64 = 5e-3;

/// A linked volume tells the mean of its force over the motion of a step: the product of that and the way is what its
/// books say that the tool put in. Beside the pressed elements others go along; what they lose by that is not lost to
/// the hand. Nothing is put in while the tool stays.
#[test]
fn fu_10_force_times_way_is_the_work_that_is_booked() {
    for (name, share) in [("linked-nodule", 0.005), ("limb", 0.02)] {
        let scene = load(name).expect("built in");
        let mut tissue = scene.build().expect("built in");
        let mut tool = scene.tool_at(Vec3::new(0.0, 0.0, scene.tool_radius_m));
        let depth_m = |k: u32| {
            DEPTH_M * 0.5 * (1.0 - libm::cos(f64::from(k) * std::f64::consts::TAU / 400.0))
        };
        let (mut paid_j, mut most_n, mut felt) = (0.0, 0.0_f64, [Reaction::default()]);
        for k in 1..=1000 {
            let way_m = depth_m(k) - depth_m(k - 1);
            tool.position_m.z -= way_m;
            tissue.step(&[tool], 1e-3, &mut felt);
            paid_j += felt[0].force_n.z * way_m;
            most_n = most_n.max(felt[0].force_n.z);
        }
        let books = tissue.view().ledger;
        let scale_j = most_n * DEPTH_M;
        let off = (books.tool_work_j - paid_j) / scale_j;
        for _ in 0..200 {
            tissue.step(&[tool], 1e-3, &mut felt);
        }
        let still = (tissue.view().ledger.tool_work_j - books.tool_work_j) / scale_j;
        let residual = books.residual_j / scale_j;
        println!("{name}: {off} still {still} residual {residual}, {most_n} N");
        assert!(off.abs() < share, "{name}: {off}");
        assert!(still.abs() < 0.001, "{name}: {still}");
        assert!(residual.abs() < 1e-4, "{name}: {residual}");
    }
}
