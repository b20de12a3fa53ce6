//! Tests of exact propagation against the closed form.

use crate::voxel::closed_form;
use crate::voxel::test_volumes::{SourceLimits as _, TestRng, block, random_target};
use palpate_voxel::chainmail::Chainmail;
use palpate_voxel::limits::BondLimits;

/// Row DF-01: the closed form of section 3.3.4, 2 000 moves in each of four settings.
#[test]
fn df_01_exact_propagation_matches_the_closed_form_on_a_block() {
    let uneven = BondLimits {
        shortest: [0.7, 0.9, 0.8],
        longest: [1.5, 1.1, 1.3],
        shear: [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.05, 0.25, 0.15]],
    };
    for (seed, (size, limits)) in [
        ([8, 8, 8], BondLimits::MEDIUM),
        ([12, 6, 9], BondLimits::LOOSE),
        ([5, 5, 5], BondLimits::RIGID),
        ([7, 9, 6], uneven),
    ]
    .into_iter()
    .enumerate()
    {
        let mut rng = TestRng::new(seed as u64 + 1);
        let mut exact_one = block::<f64>(size, limits);
        let mut clamped = exact_one.clone();
        let mut chainmail = Chainmail::new(exact_one.slots());
        for _ in 0..2000 {
            let target = random_target(&mut rng, &exact_one, 3.0);
            chainmail
                .propagate(&mut exact_one, &[target])
                .expect("nothing is held");
            closed_form::clamp_block(&mut clamped, &target);
            for axis in 0..3 {
                let pairs = exact_one.displacement_m[axis]
                    .iter()
                    .zip(&clamped.displacement_m[axis]);
                let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst <= 1e-12, "{size:?}: {worst}");
            }
            // both continue from equal bits: the test compares single moves
            clamped.displacement_m.clone_from(&exact_one.displacement_m);
        }
    }
}
