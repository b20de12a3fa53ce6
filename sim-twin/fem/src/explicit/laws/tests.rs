//! Tests of the laws in SIMD lanes against those of `palpate_twin::law`.

use super::*;
use nalgebra::Matrix3;
use palpate_twin::law::{ElasticLaw, MaterialLaw, Moduli};

const LAMBDA: f32 = 9.0;

fn at(family: LawFamily, h: [f32; 9]) -> LawResponse {
    simd_law(family).response(h, 1.0, LAMBDA)
}

const SHAPES: [[f32; 9]; 3] = [
    [0.2, 0.1, -0.05, 0.0, -0.3, 0.1, 0.07, 0.02, 0.15],
    [0.5, 0.0, 0.2, 0.1, 0.3, 0.0, -0.1, 0.2, -0.4],
    [1e-3, 2e-3, 0.0, -1e-3, -2e-3, 1e-3, 0.0, 5e-4, 1e-3],
];

#[test]
fn every_family_matches_stress_and_energy_of_its_law() {
    let moduli = Moduli {
        mu_pa: 1.0,
        lambda_pa: f64::from(LAMBDA),
    };
    for family in LawFamily::ALL {
        let law = MaterialLaw::new(family, moduli);
        for h in SHAPES {
            let found = at(family, h);
            let f = Matrix3::identity() + Matrix3::from_column_slice(&h.map(f64::from));
            for (found, expected) in found.stress.iter().zip(law.stress(&f).iter()) {
                let close = (f64::from(*found) - expected).abs() < 2e-5 * (1.0 + expected.abs());
                assert!(close, "{family:?} {h:?}: {found} {expected}");
            }
            let (found, expected) = (f64::from(found.energy), law.energy(&f));
            assert!(
                (found - expected).abs() < 3e-6 * (1.0 + expected),
                "{family:?}: {found} {expected}"
            );
        }
    }
}

#[test]
fn stress_is_the_energy_gradient_even_when_inverted() {
    for family in LawFamily::ALL {
        for shift in [0.0, -0.6, -1.1, -2.0] {
            let mut h = SHAPES[0];
            h[0] += shift;
            let slope = |i: usize| {
                let (mut up, mut down) = (h, h);
                up[i] += 1e-3;
                down[i] -= 1e-3;
                (at(family, up).energy - at(family, down).energy) / 2e-3
            };
            for (i, stress) in at(family, h).stress.iter().enumerate() {
                assert!(stress.is_finite(), "{family:?} {shift}");
                let close = (slope(i) - stress).abs() < 2e-2 * (1.0 + stress.abs());
                assert!(close, "{family:?} {i} {shift}: {} {stress}", slope(i));
            }
        }
    }
}

#[test]
fn demand_is_one_at_rest_and_bounds_the_tangent() {
    let moduli = Moduli {
        mu_pa: 1.0,
        lambda_pa: f64::from(LAMBDA),
    };
    for family in LawFamily::ALL {
        for wave_stiffness in at(family, [0.0; 9]).wave_stiffness {
            assert!(
                (wave_stiffness - 1.0).abs() < 1e-5,
                "{family:?}: {wave_stiffness}"
            );
        }
        let law = MaterialLaw::new(family, moduli);
        for h in SHAPES {
            let f = Matrix3::identity() + Matrix3::from_column_slice(&h.map(f64::from));
            let tangent = law.tangent_matrix(&f);
            for (a, wave_stiffness) in at(family, h).wave_stiffness.into_iter().enumerate() {
                // stiffness of a wave along this edge
                let block = tangent.fixed_view::<3, 3>(3 * a, 3 * a).into_owned();
                let required = block.symmetric_eigenvalues().max() / (2.0 + f64::from(LAMBDA));
                assert!(
                    f64::from(wave_stiffness) > 0.9 * required,
                    "{family:?} {h:?} {a}: {wave_stiffness} {required}"
                );
            }
        }
    }
}

#[test]
fn an_absent_cell_has_no_force() {
    for family in LawFamily::ALL {
        for h in [
            [0.0; 9],
            SHAPES[0],
            [-40.0; 9],
            [30.0, -7.0, 2.0, 9.0, -50.0, 3.0, 1.0, 8.0, 60.0],
        ] {
            let found = simd_law(family).response(h, 0.0, 0.0);
            assert!(found.stress.iter().all(|&s| s == 0.0), "{family:?} {h:?}");
            assert_eq!(found.energy, 0.0, "{family:?} {h:?}");
            assert!(
                found.wave_stiffness.iter().all(|s| s.is_finite()),
                "{family:?} {h:?}"
            );
        }
    }
}
