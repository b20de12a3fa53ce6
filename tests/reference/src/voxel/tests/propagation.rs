//! Exact propagation against the closed form.

use crate::voxel::bodies::{Draw, Printed as _, block, some_control};
use crate::voxel::bounds;
use palpate_voxel::exact::Exact;
use palpate_voxel::limits::Limits;

/// Row DF-01: the oracle of section 3.3.4, 2 000 moves in each of four settings.
#[test]
fn df_01_exact_propagation_is_the_clamp_on_a_block() {
    let uneven = Limits {
        shortest: [0.7, 0.9, 0.8],
        longest: [1.5, 1.1, 1.3],
        shear: [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.05, 0.25, 0.15]],
    };
    for (seed, (size, limits)) in [
        ([8, 8, 8], Limits::MEDIUM),
        ([12, 6, 9], Limits::LOOSE),
        ([5, 5, 5], Limits::RIGID),
        ([7, 9, 6], uneven),
    ]
    .into_iter()
    .enumerate()
    {
        let mut draw = Draw::new(seed as u64 + 1);
        let mut exact_one = block::<f64>(size, limits);
        let mut clamped = exact_one.clone();
        let mut exact = Exact::new(exact_one.slots());
        for _ in 0..2000 {
            let control = some_control(&mut draw, &exact_one, 3.0);
            exact
                .propagate(&mut exact_one, &[control])
                .expect("nothing is held");
            bounds::clamp(&mut clamped, &control);
            for axis in 0..3 {
                let pairs = exact_one.moved_m[axis].iter().zip(&clamped.moved_m[axis]);
                let worst = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst <= 1e-12, "{size:?}: {worst}");
            }
            // both go on from the same bits: what is compared is a move, not the sum of all
            clamped.moved_m.clone_from(&exact_one.moved_m);
        }
    }
}
