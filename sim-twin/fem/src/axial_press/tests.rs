//! The force against the closed form, and refusals.

use super::*;
use palpate_twin::law::Material;

fn material(young_pa: f64) -> CellMaterial {
    Material::new(young_pa, 0.45, 1e3)
        .expect("in range")
        .cell_material()
}

#[test]
fn a_shallow_press_on_a_deep_cylinder_follows_hertz() {
    let layers = [(0.1, material(5e3)), (0.1, material(5e3))];
    let press = AxialPress {
        family: LawFamily::NeoHookean,
        layers: &layers,
        outer_m: 0.2,
        radius_m: 0.01,
        coarser: 1.0,
    };
    let depths_m = [2e-5, 5e-5];
    let forces_n = press.forces_n(&depths_m).expect("in range");
    for (depth_m, force_n) in depths_m.into_iter().zip(forces_n) {
        let hertz_n =
            4.0 / 3.0 * material(5e3).moduli.contact_pa() * (0.01 * depth_m.powi(3)).sqrt();
        assert!(
            (force_n / hertz_n - 1.0).abs() < 0.01,
            "{depth_m}: {force_n} {hertz_n}"
        );
    }
}

#[test]
fn numbers_out_of_range_are_named() {
    let layers = [(0.03, material(5e3))];
    let good = AxialPress {
        family: LawFamily::NeoHookean,
        layers: &layers,
        outer_m: 0.05,
        radius_m: 0.01,
        coarser: 1.0,
    };
    let refused = |press: AxialPress<'_>, depths_m: &[f64], text: &str| {
        let refusal = press
            .forces_n(depths_m)
            .expect_err("out of range")
            .to_string();
        assert!(refusal.starts_with(text), "{refusal}");
    };
    refused(
        AxialPress {
            radius_m: 0.0,
            ..good
        },
        &[1e-3],
        "`radius_m` is 0;",
    );
    refused(
        AxialPress {
            outer_m: f64::NAN,
            ..good
        },
        &[1e-3],
        "`outer_m` is NaN;",
    );
    refused(
        AxialPress {
            layers: &[],
            ..good
        },
        &[1e-3],
        "`layers` is 0;",
    );
    refused(
        AxialPress {
            coarser: -1.0,
            ..good
        },
        &[1e-3],
        "`coarser` is -1;",
    );
    refused(good, &[2e-3, 1e-3], "`depths_m` is 0.001;");
    assert!(good.forces_n(&[]).expect("nothing to do").is_empty());
}

/// A layer that is squeezed to a fifth has unstable elements, which stopped the press.
#[test]
fn issue_squeezed_fat_stopped_the_press_and_coarse_elements_agree() {
    let layers = [
        (0.0018, material(34e3)),
        (0.0085, material(2e3)),
        (0.0185, material(75e3)),
    ];
    let press = AxialPress {
        family: LawFamily::NeoHookean,
        layers: &layers,
        outer_m: 0.05,
        radius_m: 0.008,
        coarser: 1.0,
    };
    let depths_m = [2e-3, 5e-3, 8e-3, 0.01];
    let fine_n = press.forces_n(&depths_m).expect("in range");
    let coarse_n = AxialPress {
        coarser: 1.45,
        ..press
    }
    .forces_n(&depths_m);
    let coarse_n = coarse_n.expect("in range");
    assert_eq!((fine_n.len(), coarse_n.len()), (4, 4));
    for (fine_n, coarse_n) in fine_n.iter().zip(coarse_n) {
        assert!(
            (coarse_n / fine_n - 1.0).abs() < 0.01,
            "{fine_n} {coarse_n}"
        );
    }
}
