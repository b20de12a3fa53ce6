//! Snapshots and arbitrary tools: invariants for any input.

use super::*;

#[test]
fn restored_tissue_continues_bit_for_bit_and_checks_size() {
    let with_sleep = IdmsParams {
        sleeps: true,
        ..face(1.5)
    };
    for params in [with_sleep, seed()] {
        let mut tissue = regular(&params);
        let pose = |n: u32| {
            let t = f64::from(n) * 1e-3;
            tweezers(1.5 + t, 1.7, 1.4 + 0.2 * libm::cos(9.0 * t), 0.1, n > 300)
        };
        for n in 0..500 {
            touch(&mut tissue, pose(n));
        }
        let snapshot = snapshot_of(&tissue);
        let mut other = regular(&params);
        other.restore(&snapshot).unwrap();
        for n in 500..1500 {
            assert_eq!(
                touch(&mut tissue, pose(n)),
                touch(&mut other, pose(n)),
                "step {n}"
            );
        }
        assert_eq!(snapshot_of(&tissue), snapshot_of(&other));
        let mut short = snapshot.clone();
        short.numbers.pop();
        assert!(tissue.restore(&short).is_err());
        assert_eq!(snapshot_of(&tissue), snapshot_of(&other));
    }
}

#[test]
fn tool_that_crosses_the_surface_is_pushed_back() {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_tool_yields_finite_reactions(
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
                prop_assert!(reaction.stiffness_npm.is_finite() && reaction.grip_force_n.is_finite());
            }
            prop_assert!(tissue.state.x_m.iter().all(|x| x.iter().all(|value| value.is_finite())));
            prop_assert!(tissue.ledger().residual_j.is_finite());
        }
    }

    #[test]
    fn no_closed_motion_over_the_tissue_yields_energy(
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
        let energy = tissue.ledger();
        // a press here takes some 0.05; a shallow graze that starts and stops at once leaves an
        // integration error of up to a hundredth of that, which the ledger shows as residual
        prop_assert!(energy.tool_work_j >= -5e-4, "{energy:?}");
        prop_assert!(energy.stored_j() < 1e-6, "{energy:?}");
    }
}
