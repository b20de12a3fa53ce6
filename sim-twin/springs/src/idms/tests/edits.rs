//! Edits, snapshots, bad lattices and wild tools: what must hold whatever is asked.

use super::*;

#[test]
fn e16_stiffening_in_contact_keeps_the_force_and_takes_energy_out() {
    for params in [face(0.0), seed()] {
        let mut tissue = regular(&IdmsParams {
            relax_s: 0.5,
            ..params
        });
        for _ in 0..3000 {
            touch(&mut tissue, sphere(2.0, 1.7, 1.2));
        }
        let before = touch(&mut tissue, sphere(2.0, 1.7, 1.2)).force_n;
        for (factor, keeps) in [(3.0, true), (0.3, false)] {
            let stored = tissue.ledger().stored_j();
            let edit = Edit::Stiffen {
                center_m: Vec3::new(2.0, 1.7, 0.0),
                radius_m: 2.0,
                factor,
                passive: true,
            };
            let report = tissue.edit(&edit).unwrap();
            assert!(report.elements > 10 && report.energy_j < 0.0, "{report:?}");
            assert!((tissue.ledger().stored_j() - stored - report.energy_j).abs() < 1e-12);
            if keeps {
                let after = touch(&mut tissue, sphere(2.0, 1.7, 1.2)).force_n;
                assert!(
                    (after - before).norm() < 1e-4 * before.norm(),
                    "{after} {before}"
                );
                assert!(tissue.stiffness_scale(10) > 2.0);
            }
        }
        for _ in 0..20_000 {
            touch(&mut tissue, sphere(2.0, 1.7, 3.0));
            assert!(tissue.ledger().edit_j <= 0.0);
        }
        assert!(!tissue.state.shifted, "all rests are back");
        assert!(tissue.ledger().stored_j() < 1e-12);
    }
}

#[test]
fn bad_edits_are_refused_and_change_nothing() {
    let mut tissue = regular(&face(0.0));
    let before = freeze(&tissue);
    let stiffen = |radius_m, factor| Edit::Stiffen {
        center_m: Vec3::zeros(),
        radius_m,
        factor,
        passive: true,
    };
    for (edit, name) in [
        (stiffen(0.0, 2.0), "radius_m"),
        (stiffen(1.0, f64::NAN), "factor"),
        (stiffen(1.0, -1.0), "factor"),
        (
            Edit::Cut {
                point_m: Vec3::zeros(),
                normal: Vec3::zeros(),
            },
            "normal",
        ),
    ] {
        match tissue.edit(&edit) {
            Err(EditError::Field { field, .. }) => assert_eq!(field, name),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(freeze(&tissue), before);
}

#[test]
fn thaw_continues_bit_for_bit_and_refuses_another_size() {
    let rest = IdmsParams::default().rest;
    for params in [IdmsParams { rest, ..face(1.5) }, seed()] {
        let mut tissue = regular(&params);
        let pose = |n: u32| {
            let t = f64::from(n) * 1e-3;
            tweezers(1.5 + t, 1.7, 1.4 + 0.2 * libm::cos(9.0 * t), 0.1, n > 300)
        };
        for n in 0..500 {
            touch(&mut tissue, pose(n));
        }
        let snapshot = freeze(&tissue);
        let mut other = regular(&params);
        other.thaw(&snapshot).unwrap();
        for n in 500..1500 {
            assert_eq!(
                touch(&mut tissue, pose(n)),
                touch(&mut other, pose(n)),
                "step {n}"
            );
        }
        assert_eq!(freeze(&tissue), freeze(&other));
        let mut short = snapshot.clone();
        short.numbers.pop();
        assert!(tissue.thaw(&short).is_err());
        assert_eq!(freeze(&tissue), freeze(&other));
    }
}

#[test]
fn a_tool_that_goes_through_is_pushed_back_to_its_side() {
    let mut tissue = regular(&face(0.0));
    touch(&mut tissue, sphere(2.0, 1.7, 2.0));
    let deep = touch(&mut tissue, sphere(2.0, 1.7, -1.0));
    assert!(deep.force_n.z > 100.0, "{}", deep.force_n);
    let back = touch(&mut tissue, sphere(2.0, 1.7, 4.0));
    assert_eq!(back.force_n, Vec3::zeros());
    let mut beside = regular(&face(0.0));
    let reaction = touch(&mut beside, sphere(-1.45, 0.866, 0.0));
    assert!(
        reaction.force_n.x < 0.0,
        "beside the rim: {}",
        reaction.force_n
    );
}

#[test]
fn lattice_errors_name_what_is_wrong() {
    let good = fixture::regular();
    let new = |lattice: &Lattice| Idms::new(lattice, &seed()).err();
    let mut bad = good.clone();
    bad.atoms[3].position_m.y = f64::NAN;
    assert!(matches!(
        new(&bad),
        Some(IdmsError::Atom {
            atom: 3,
            field: "position_m",
            ..
        })
    ));
    let mut bad = good.clone();
    bad.links[7].stiffness_npm = -1.0;
    assert!(matches!(
        new(&bad),
        Some(IdmsError::Link {
            link: 7,
            field: "stiffness_npm",
            ..
        })
    ));
    let mut bad = good.clone();
    bad.links[7].atoms[1] = 99;
    assert!(matches!(
        new(&bad),
        Some(IdmsError::Link {
            link: 7,
            field: "atoms",
            ..
        })
    ));
    let mut bad = good.clone();
    bad.faces[2][0] = 30;
    assert!(matches!(
        new(&bad),
        Some(IdmsError::Face {
            face: 2,
            atom: 30,
            surface: 22
        })
    ));
    assert!(matches!(
        new(&Lattice::default()),
        Some(IdmsError::Rigid { atoms: 0 })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_tool_gives_finite_answers(
        raw in prop::collection::vec(
            (prop::num::f64::ANY, prop::num::f64::ANY, -3.0..3.0_f64, prop::num::f64::ANY), 1..12),
        seed_mode in any::<bool>(),
    ) {
        let mut tissue = regular(&if seed_mode { seed() } else { face(1.5) });
        let mut reactions = [Reaction::default(); 2];
        for (a, b, z, c) in raw {
            let wild = Tool { radius_m: c, ..sphere(a, b, z) };
            let jaws = tweezers(2.0, 1.7, z, 0.1, c > 0.0);
            let near = Tool { velocity_mps: Vec3::new(0.0, b, 0.0), ..jaws };
            for _ in 0..20 {
                tissue.step(&[near, wild], 1e-3, &mut reactions);
            }
            tissue.step(&[wild, near], a, &mut reactions);
            for reaction in &reactions {
                prop_assert!(reaction.force_n.iter().all(|value| value.is_finite()));
                prop_assert!(reaction.stiffness_npm.is_finite() && reaction.grip_n.is_finite());
            }
            prop_assert!(tissue.state.x_m.iter().all(|x| x.iter().all(|value| value.is_finite())));
            prop_assert!(tissue.ledger().residual_j.is_finite());
        }
    }

    #[test]
    fn no_closed_walk_over_the_tissue_yields_energy(
        legs in prop::collection::vec((0.5..3.5_f64, 0.3..3.2_f64, 1.1..1.7_f64), 2..6),
        patch_m in prop::sample::select(vec![0.0, 1.5]),
    ) {
        let mut tissue = regular(&face(patch_m));
        let start = (2.0, 1.7, 1.8);
        let mut from = start;
        for to in legs.into_iter().chain([start]) {
            for n in 1..=300 {
                let s = f64::from(n) / 300.0;
                let mix = |a: f64, b: f64| a + s * (b - a);
                let tool = sphere(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2));
                touch(&mut tissue, tool);
            }
            from = to;
        }
        for _ in 0..500 {
            touch(&mut tissue, sphere(start.0, start.1, start.2));
        }
        let books = tissue.ledger();
        // a press here takes some 0.05; a shallow graze that starts and stops at once leaves an
        // integration error of up to a hundredth of that, which the ledger shows as residual
        prop_assert!(books.tool_work_j >= -5e-4, "{books:?}");
        prop_assert!(books.stored_j() < 1e-6, "{books:?}");
    }

    #[test]
    fn edits_never_put_energy_in(
        edits in prop::collection::vec(
            (0.5..3.5_f64, 0.5..3.0_f64, 0.4..2.0_f64, 0.2..5.0_f64), 1..6),
    ) {
        let mut tissue = regular(&face(1.5));
        for (x, y, radius_m, factor) in edits {
            for _ in 0..100 {
                touch(&mut tissue, sphere(x, y, 1.3));
            }
            let edit = Edit::Stiffen { center_m: Vec3::new(x, y, 0.0), radius_m, factor, passive: true };
            let report = tissue.edit(&edit).unwrap();
            prop_assert!(report.energy_j <= 1e-12, "{report:?}");
            for _ in 0..100 {
                touch(&mut tissue, sphere(x, y, 1.3));
                prop_assert!(tissue.ledger().edit_j <= 1e-12);
            }
        }
    }
}
