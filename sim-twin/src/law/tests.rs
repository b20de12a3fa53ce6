use super::*;
use crate::law::viscous::{KelvinVoigt, ViscousError, ViscousState};
use nalgebra::{Rotation3, Vector3};
use proptest::prelude::*;

fn moduli(poisson: f64) -> Moduli {
    let material = Material::new(5e3, poisson, 1000.0).unwrap();
    material.moduli().scaled(1.0 / 5e3)
}

/// Gradients with a volume between about a half and two, far from the kink of the exponential.
fn gradient() -> impl Strategy<Value = Matrix3<f64>> {
    let entry = -0.25..0.25_f64;
    prop::array::uniform9(entry).prop_map(|e| Matrix3::identity() + Matrix3::from_row_slice(&e))
}

fn rotation() -> impl Strategy<Value = Rotation3<f64>> {
    prop::array::uniform3(-3.0..3.0_f64).prop_map(|v| Rotation3::new(Vector3::from(v)))
}

fn any_law() -> impl Strategy<Value = (LawFamily, MaterialLaw)> {
    (prop::sample::select(LawFamily::ALL.to_vec()), 0.0..0.49_f64)
        .prop_map(|(family, poisson)| (family, MaterialLaw::new(family, moduli(poisson))))
}

/// Largest difference of two matrices over the size of the second, at least 1.
fn apart<const R: usize, const C: usize>(a: &SMatrix<f64, R, C>, b: &SMatrix<f64, R, C>) -> f64 {
    (a - b).amax() / b.amax().max(1.0)
}

/// Mooney and Rivlin's law as Ogden's, with the second invariant's share.
fn mooney_terms(second: f64) -> LawFamily {
    let term = |share, exponent| OgdenTerm { share, exponent };
    LawFamily::Ogden {
        terms: [term(1.0 - second, 2.0), term(second, -2.0), OgdenTerm::NONE],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn ogden_with_exponents_two_and_minus_two_is_mooney_rivlin(
        f in gradient(), d in gradient(), second in 0.0..1.0_f64,
    ) {
        let ogden = MaterialLaw::new(mooney_terms(second), moduli(0.45));
        let mooney = MaterialLaw::new(LawFamily::MooneyRivlin { second }, moduli(0.45));
        let energy = mooney.energy(&f);
        prop_assert!((ogden.energy(&f) - energy).abs() < 1e-13 * (1.0 + energy));
        prop_assert!(apart(&ogden.stress(&f), &mooney.stress(&f)) < 1e-13);
        // quotients of differences near the limit of equal stretches lose digits
        prop_assert!(apart(&ogden.tangent(&f, &d), &mooney.tangent(&f, &d)) < 1e-9);
    }

    #[test]
    fn ogden_s_tangent_is_continuous_where_stretches_become_equal(
        d in gradient(), turn in rotation(), log in -12.0..-1.0_f64,
    ) {
        let near = 1.0 + libm::exp10(log);
        let of = |second: f64| {
            let stretches = Vector3::new(1.2, 1.2 * second, 0.8);
            turn.matrix() * Matrix3::from_diagonal(&stretches) * turn.matrix().transpose()
        };
        let law = MaterialLaw::new(LawFamily::ALL[7], moduli(0.45));
        let h = 1e-5;
        let f = of(near);
        let rise = (law.stress(&(f + d * h)) - law.stress(&(f - d * h))) / (2.0 * h);
        prop_assert!(apart(&rise, &law.tangent(&f, &d)) < 1e-6);
        prop_assert!(apart(&law.tangent(&f, &d), &law.tangent(&of(1.0), &d)) < 40.0 * (near - 1.0) + 1e-8);
    }

    #[test]
    fn eigenvalues_and_vectors_rebuild_their_matrix(entries in prop::array::uniform6(-1.0..1.0_f64), log in -9.0..2.0_f64) {
        let scale = libm::exp10(log);
        // a cluster: the second half of the entries is small
        let at = |k: usize| entries[k] * if k.is_multiple_of(2) { 1.0 } else { scale };
        let (diagonal, off) = ([at(0), at(1), at(2)], [at(3), at(4), at(5)]);
        let matrix = Matrix3::new(
            diagonal[0], off[2], off[1], off[2], diagonal[1], off[0], off[1], off[0], diagonal[2],
        );
        let size = matrix.amax().max(1e-300);
        let rebuilt = |values: [f64; 3], vectors: [[f64; 3]; 3]| -> Matrix3<f64> {
            let parts = values.into_iter().zip(vectors.map(Vector3::from));
            parts.map(|(value, n)| n * n.transpose() * value).sum()
        };
        let double = spectral::Spectral::new::<{ spectral::SWEEPS_DOUBLE }>(diagonal, off);
        prop_assert!((rebuilt(double.values, double.vectors) - matrix).amax() < 1e-14 * size);
        let single = |x: [f64; 3]| x.map(f32::of);
        let found = spectral::Spectral::new::<{ spectral::SWEEPS_SINGLE }>(single(diagonal), single(off));
        let vectors = found.vectors.map(|n| n.map(f64::from));
        prop_assert!((rebuilt(found.values.map(f64::from), vectors) - matrix).amax() < 4e-6 * size);
    }

    #[test]
    fn stress_is_the_slope_of_the_energy((_, law) in any_law(), f in gradient(), d in gradient()) {
        let h = 1e-5;
        let rise = law.energy(&(f + d * h)) - law.energy(&(f - d * h));
        let slope = law.stress(&f).dot(&d);
        prop_assert!((rise / (2.0 * h) - slope).abs() < 1e-6 * (1.0 + slope.abs()));
    }

    #[test]
    fn tangent_is_the_slope_of_the_stress((_, law) in any_law(), f in gradient(), d in gradient()) {
        let h = 1e-5;
        let rise = (law.stress(&(f + d * h)) - law.stress(&(f - d * h))) / (2.0 * h);
        prop_assert!(apart(&rise, &law.tangent(&f, &d)) < 1e-6);
        let whole = law.tangent_matrix(&f);
        let column = nalgebra::SVector::<f64, 9>::from_column_slice(d.as_slice());
        let by_matrix = Matrix3::from_column_slice((whole * column).as_slice());
        prop_assert!(apart(&by_matrix, &law.tangent(&f, &d)) < 1e-12);
        prop_assert!(apart(&whole.transpose(), &whole) < 1e-12);
    }

    #[test]
    fn energy_is_objective_and_isotropic(
        (family, law) in any_law(), f in gradient(), turn in rotation(),
    ) {
        prop_assume!(family != LawFamily::Linear);
        let turned = turn.matrix() * f;
        let energy = law.energy(&f);
        prop_assert!((law.energy(&turned) - energy).abs() < 1e-9 * (1.0 + energy.abs()));
        prop_assert!(apart(&law.stress(&turned), &(turn.matrix() * law.stress(&f))) < 1e-9);
        // isotropy: a turn of the reference
        prop_assert!((law.energy(&(f * turn.matrix())) - energy).abs() < 1e-9 * (1.0 + energy.abs()));
    }

    #[test]
    fn every_family_is_hookean_at_rest(poisson in 0.0..0.49_f64, d in gradient()) {
        let exact: MaterialLaw = MaterialLaw::new(LawFamily::Linear, moduli(poisson));
        let rest = Matrix3::identity();
        for family in LawFamily::ALL {
            let law: MaterialLaw = MaterialLaw::new(family, moduli(poisson));
            prop_assert!(law.energy(&rest).abs() < 1e-14);
            prop_assert!(law.stress(&rest).amax() < 1e-13, "{family:?}");
            prop_assert!(apart(&law.tangent(&rest, &d), &exact.tangent(&rest, &d)) < 1e-12);
        }
    }

    #[test]
    fn the_stable_form_is_finite_everywhere(entries in prop::array::uniform9(-5.0..5.0_f64)) {
        let law: MaterialLaw = MaterialLaw::new(LawFamily::StableNeoHookean, moduli(0.49));
        let f = Matrix3::from_row_slice(&entries);
        prop_assert!(law.energy(&f).is_finite());
        prop_assert!(law.stress(&f).iter().all(|x| x.is_finite()));
    }

    #[test]
    fn mixtures_lie_between_their_bounds(share in 0.0..1.0_f64, contrast in 1.0..50.0_f64) {
        let (soft, hard) = (moduli(0.45), moduli(0.45).scaled(contrast));
        let phases = [(1.0 - share, soft), (share, hard)];
        let of = |mixing| mix_moduli(mixing, phases).unwrap();
        let (low, mid, high) = (of(MixingRule::Reuss), of(MixingRule::Hill), of(MixingRule::Voigt));
        prop_assert!(low.mu_pa <= mid.mu_pa * (1.0 + 1e-12));
        prop_assert!(mid.mu_pa <= high.mu_pa * (1.0 + 1e-12));
        let even = of(MixingRule::Geometric);
        prop_assert!(low.mu_pa <= even.mu_pa * (1.0 + 1e-12));
        prop_assert!(even.mu_pa <= high.mu_pa * (1.0 + 1e-12));
        prop_assert!(low.bulk_pa() <= high.bulk_pa() * (1.0 + 1e-12));
        prop_assert!(low.mu_pa >= soft.mu_pa * (1.0 - 1e-12));
        prop_assert!(high.mu_pa <= hard.mu_pa * (1.0 + 1e-12));
    }

    #[test]
    fn dashpots_only_dissipate(f in gradient(), rate in gradient(), turn in rotation()) {
        let dashpot = KelvinVoigt {
            shear: 1.5,
            bulk: 0.4,
        };
        let rate = rate - Matrix3::identity();
        let heat = dashpot.dissipation(&f, &rate);
        prop_assert!(heat >= -1e-15);
        let power = dashpot.stress(&f, &rate).dot(&rate);
        prop_assert!((power - heat).abs() < 1e-12 * (1.0 + heat));
        // a spin alone strains nothing
        let spin = turn.matrix() - turn.matrix().transpose();
        prop_assert!(dashpot.stress(&f, &(spin * f)).amax() < 1e-12);
    }
}

#[test]
fn an_inverted_gradient_has_infinite_energy() {
    let f = Matrix3::from_diagonal(&Vector3::new(-1.0, 1.0, 1.0));
    for family in [
        LawFamily::NeoHookean,
        LawFamily::MooneyRivlin { second: 0.3 },
        LawFamily::Fung { growth: 2.0 },
        LawFamily::Yeoh {
            second: 0.8,
            third: 0.5,
        },
    ] {
        let law: MaterialLaw = MaterialLaw::new(family, moduli(0.45));
        assert!(law.energy(&f).is_infinite(), "{family:?}");
    }
}

#[test]
fn uniaxial_neo_hookean_matches_the_closed_form() {
    // W&B: P11 = mu l1 + (lambda ln J - mu) / l1, sideways the same with zero stress
    let law: MaterialLaw = MaterialLaw::new(LawFamily::NeoHookean, moduli(0.0));
    // lambda = 0: the sides stay as they are, and P11 = mu (l - 1/l)
    let f = Matrix3::from_diagonal(&Vector3::new(1.3, 1.0, 1.0));
    let stress = law.stress(&f);
    assert!((stress[(0, 0)] - 0.5 * (1.3 - 1.0 / 1.3)).abs() < 1e-14);
    assert!(stress[(1, 1)].abs() < 1e-14);
}

#[test]
fn ogden_s_law_matches_closed_forms_of_pulling_and_shearing() {
    let LawFamily::Ogden { terms } = LawFamily::ALL[7] else {
        panic!("the last family is Ogden's");
    };
    let law = MaterialLaw::new(LawFamily::ALL[7], moduli(0.45));
    let mu = moduli(0.45).mu_pa;
    // of an incompressible bar the pressure is the stress across: P = sum 2 mu s / a (l^(a-1) - l^(-a/2-1))
    for l in [0.6, 0.9, 1.2, 1.6] {
        let across = 1.0 / f64::sqrt(l);
        let stress = law.stress(&Matrix3::from_diagonal(&Vector3::new(l, across, across)));
        let pulled = stress[(0, 0)] - stress[(1, 1)] * across / l;
        let term = |term: &OgdenTerm| {
            let (a, weight) = (term.exponent, 2.0 * mu * term.share / term.exponent);
            weight * (libm::pow(l, a - 1.0) - libm::pow(l, -0.5 * a - 1.0))
        };
        let expected: f64 = terms.iter().map(term).sum();
        assert!(
            (pulled - expected).abs() < 1e-12 * (1.0 + expected.abs()),
            "{l}"
        );
    }
    // simple shear g has the stretches l and 1/l with l - 1/l = g; P12 = dW/dg = sum 2 mu s / a (l^a - l^-a) / (l + 1/l)
    for g in [1e-3, 0.1, 0.5, 1.0] {
        let l = 0.5 * (g + f64::sqrt(g * g + 4.0));
        let mut f = Matrix3::identity();
        f[(0, 1)] = g;
        let term = |term: &OgdenTerm| {
            let (a, weight) = (term.exponent, 2.0 * mu * term.share / term.exponent);
            weight * (libm::pow(l, a) - libm::pow(l, -a)) / (l + 1.0 / l)
        };
        let expected: f64 = terms.iter().map(term).sum();
        let found = law.stress(&f)[(0, 1)];
        assert!(
            (found - expected).abs() < 1e-12 * (1.0 + expected),
            "{g}: {found} {expected}"
        );
    }
}

#[test]
fn laws_of_the_first_invariant_stay_smooth_beyond_their_limits() {
    let stretch = |l: f64| Matrix3::from_diagonal(&Vector3::new(l, 1.0 / l, 1.0));
    let yeoh = LawFamily::Yeoh {
        second: 3.0,
        third: 2.0,
    };
    for family in [LawFamily::Fung { growth: 20.0 }, yeoh, mooney_terms(0.3)] {
        let law: MaterialLaw = MaterialLaw::new(family, moduli(0.45));
        let mut last = (0.0, 0.0);
        for step in 0..400 {
            let f = stretch(1.0 + 0.01 * f64::from(step));
            let (stress, energy) = (law.stress(&f)[(0, 0)], law.energy(&f));
            assert!(stress.is_finite() && energy.is_finite());
            assert!(stress >= last.0, "{family:?}: stress falls at step {step}");
            assert!(energy >= last.1, "{family:?}: energy falls at step {step}");
            last = (stress, energy);
        }
        // the stress is the slope of the energy, also beyond the limit
        let (at, by) = (
            stretch(4.5),
            Matrix3::from_diagonal(&Vector3::new(1e-5, 0.0, 0.0)),
        );
        let slope = (law.energy(&(at + by)) - law.energy(&(at - by))) / 2e-5;
        assert!(
            (slope / law.stress(&at)[(0, 0)] - 1.0).abs() < 1e-6,
            "{family:?}"
        );
    }
}

/// Speed of pressure waves at rest \[m/s\].
fn pressure_wave_mps(material: &Material) -> f64 {
    let moduli = material.moduli();
    ((moduli.lambda_pa + 2.0 * moduli.mu_pa) / material.density_kgpm3()).sqrt()
}

#[test]
fn materials_refuse_parameters_out_of_range() {
    assert_eq!(Material::new(0.0, 0.4, 1e3), Err(MaterialError::Young(0.0)));
    assert_eq!(
        Material::new(5e3, 0.5, 1e3),
        Err(MaterialError::Poisson(0.5))
    );
    assert!(matches!(
        Material::new(5e3, f64::NAN, 1e3),
        Err(MaterialError::Poisson(_))
    ));
    assert_eq!(
        Material::new(5e3, 0.4, -1.0),
        Err(MaterialError::Density(-1.0))
    );
    let block = Material::new(5e3, 0.45, 1e3).unwrap();
    let Moduli { mu_pa, lambda_pa } = block.moduli();
    let young_pa = mu_pa * (3.0 * lambda_pa + 2.0 * mu_pa) / (lambda_pa + mu_pa);
    assert!((young_pa - 5e3).abs() < 1e-9);
    // 4.36 m/s in the reference of the block test
    assert!((pressure_wave_mps(&block) - 4.36).abs() < 0.01);
}

#[test]
fn every_tissue_of_the_library_is_a_material_with_a_source() {
    for tissue in &tissue_library::TISSUES {
        let (young_pa, density) = (tissue.young_pa, tissue.density_kgpm3);
        let material = Material::new(young_pa, tissue_library::POISSON, density).unwrap();
        assert!(pressure_wave_mps(&material) < 100.0);
        assert!(tissue.source.contains(char::is_numeric) && !tissue.note.is_empty());
        assert!(tissue.regime.contains("slow") || tissue.regime.contains(" Hz"));
        assert_eq!(tissue_library::find(tissue.name).unwrap(), tissue);
    }
    assert!(tissue_library::find("cheese").is_none());
}

fn branch(share: f64, time_s: f64) -> Viscosity {
    let mut viscosity = Viscosity::NONE;
    viscosity.branches[0] = RelaxingShare { share, time_s };
    viscosity
}

/// Stress after one step: the relaxed part of the elastic law, and the branch.
fn stress(series: &Viscosity, dt_s: f64, memory: &mut ViscousState, elastic: f64) -> f64 {
    let steps = series.series(dt_s);
    steps.advance(memory, &(Matrix3::identity() * elastic));
    let branches: f64 = memory.branches.iter().map(|own| own[(0, 0)]).sum();
    (1.0 - series.share()) * elastic + branches
}

#[test]
fn constant_strain_relaxes_by_all_branches() {
    let pair = [(0.3, 0.01), (0.2, 0.2)].map(|(share, time_s)| RelaxingShare { share, time_s });
    let (series, dt) = (Viscosity::of_branches(&pair).unwrap(), 1e-3);
    let mut memory = ViscousState::default();
    // a jump is a step without length: the instantaneous stress
    let sudden = stress(&series, 0.0, &mut memory, 1.0);
    assert!((sudden - 1.0).abs() < 1e-15);
    for n in 1..=2000_u32 {
        let found = stress(&series, dt, &mut memory, 1.0);
        let lost = |own: &RelaxingShare| own.share * libm::expm1(-dt * f64::from(n) / own.time_s);
        let exact = 1.0 + pair.iter().map(lost).sum::<f64>();
        assert!((found - exact).abs() < 1e-12);
    }
}

#[test]
fn a_ramp_is_integrated_exactly_by_any_step() {
    // of a branch (g, tau) under S0 = t: g tau (1 - exp(-t / tau))
    let (share, tau, end) = (0.4, 0.05, 0.2);
    let series = branch(share, tau);
    for steps in [1_u32, 7, 500] {
        let dt = end / f64::from(steps);
        let (mut memory, mut found) = (ViscousState::default(), 0.0);
        for n in 1..=steps {
            found = stress(&series, dt, &mut memory, dt * f64::from(n));
        }
        let exact = (1.0 - share) * end + share * tau * (1.0 - libm::exp(-end / tau));
        assert!((found - exact).abs() < 1e-12, "{steps} steps");
    }
}

#[test]
fn closed_strain_loop_never_creates_energy() {
    let series = branch(0.3, 0.01);
    for rate_hz in [0.1, 1.0, 10.0, 100.0] {
        let steps = 1000_u32;
        let (dt, mut memory) = (1.0 / rate_hz / f64::from(steps), ViscousState::default());
        let (mut work, mut last, mut held) = (0.0, 0.0, 0.0);
        for n in 1..=3 * steps {
            let strain = (std::f64::consts::TAU * f64::from(n) / f64::from(steps)).sin();
            let stress = stress(&series, dt, &mut memory, strain);
            // the last of three loops, when the start is forgotten
            work += 0.5 * (stress + held) * (strain - last);
            (last, held) = (strain, stress);
        }
        assert!(work > 0.0, "{rate_hz} Hz gives {work}");
    }
}

#[test]
fn viscosities_refuse_parameters_out_of_range() {
    assert_eq!(branch(1.1, 1.0).check(), Err(ViscousError::Shares(1.1)));
    assert!(matches!(
        branch(0.6, 0.0).check(),
        Err(ViscousError::Branch { .. })
    ));
    let wrong = Viscosity {
        shear_pas: -1.0,
        ..Viscosity::NONE
    };
    assert_eq!(wrong.check(), Err(ViscousError::Viscosity(-1.0)));
    assert_eq!(branch(0.6, 1.0).check(), Ok(()));
    let half = RelaxingShare {
        share: 0.5,
        time_s: 1.0,
    };
    let refused = |series: &[RelaxingShare]| Viscosity::of_branches(series).unwrap_err();
    assert_eq!(refused(&[half; 2]), ViscousError::Shares(1.0));
    assert_eq!(refused(&[half; 5]), ViscousError::Branches(5));
    let none = RelaxingShare { share: 0.0, ..half };
    assert!(matches!(refused(&[none]), ViscousError::Branch { .. }));
}

#[test]
fn single_phase_is_not_mixed_and_lambda_stays_non_negative() {
    for step in 1..200_u32 {
        let material = |young_pa| Material::new(young_pa, 0.0, 1e3).unwrap().moduli();
        let (soft, hard) = (material(137.0 * f64::from(step)), material(1e5));
        for mixing in [
            MixingRule::Voigt,
            MixingRule::Reuss,
            MixingRule::Hill,
            MixingRule::Geometric,
        ] {
            assert_eq!(mix_moduli(mixing, [(0.3, soft)]), Some(soft));
            assert_eq!(mix_moduli(mixing, [(0.0, hard), (0.3, soft)]), Some(soft));
            let both = mix_moduli(mixing, [(0.3, soft), (0.7, hard)]).unwrap();
            assert!(both.lambda_pa >= 0.0, "{mixing:?} {both:?}");
        }
    }
}

#[test]
fn relaxed_material_has_the_bulk_modulus_and_the_rest_of_the_shear_modulus() {
    let viscosity = branch(0.4, 0.1);
    let material = Material::new(8e3, 0.45, 1e3).unwrap();
    let relaxed = material.with_viscosity(viscosity).unwrap().relaxed();
    let (own, left) = (material.moduli(), relaxed.moduli());
    assert!((left.mu_pa / (0.6 * own.mu_pa) - 1.0).abs() < 1e-12);
    assert!((left.bulk_pa() / own.bulk_pa() - 1.0).abs() < 1e-12);
    assert_eq!(relaxed.viscosity(), Viscosity::NONE);
}
