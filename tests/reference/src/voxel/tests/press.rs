//! What a hand feels of the tissue of sessions, beside the solve.

use crate::voxel::bodies::{ball, matter, slab};
use crate::voxel::settle::{pull_n, settle};
use palpate_twin::{Reaction, Tissue, Vec3};
use palpate_voxel::Linked;
use palpate_voxel::exact::Control;
use palpate_voxel::limits::Limits;
use palpate_voxel::matter::Matter;

/// Steps with a tool whose lowest point is at a depth \[m\].
fn hold(tissue: &mut Linked, depth_m: f64, ticks: usize) -> Reaction {
    let mut felt = [Reaction::default()];
    let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - depth_m), 5e-3);
    for _ in 0..ticks {
        tissue.step(&[tool], 1e-3, &mut felt);
    }
    felt[0]
}

/// Row FU-08 in small, section 3.4.2: what sweeps in single precision settle to is the solve in double, with
/// a stiff inclusion too.
#[test]
fn df_07_a_held_press_is_felt_as_the_solve_says() {
    let stiff = Matter {
        modulus_pa: 10.0 * matter(Limits::LOOSE).modulus_pa,
        ..matter(Limits::LOOSE)
    };
    let of = |[x, y, z]: [i32; 3]| u8::from((8..13).contains(&x) && (8..13).contains(&y) && z > 4);
    let mut forces = Vec::new();
    for inclusion in [false, true] {
        let matters = vec![matter(Limits::LOOSE), stiff.clone()];
        let mut tissue = slab(
            [21, 21, 12],
            matters,
            |site| {
                if inclusion { of(site) } else { 0 }
            },
        );
        let depth_m = 1e-3;
        let felt = hold(&mut tissue, depth_m, 800).force_n.z;
        let mut solved = tissue.elements().clone();
        let centre = Vec3::new(0.0, 0.0, 5e-3 - depth_m);
        let controls: Vec<_> = (0..solved.slots())
            .filter(|&e| (solved.at_m(e) - centre).norm() < 5e-3)
            .map(|element| Control {
                element,
                to_m: solved.moved_m(element),
            })
            .collect();
        assert!(settle(&mut solved, &controls, 1e-9, 1000).residual <= 1e-9);
        let pushed: f64 = controls.iter().map(|c| pull_n(&solved, c.element).z).sum();
        assert!((felt / pushed - 1.0).abs() < 0.01, "{felt} {pushed}");
        forces.push(felt);
    }
    assert!(forces[1] > 1.2 * forces[0], "{forces:?}");
}
