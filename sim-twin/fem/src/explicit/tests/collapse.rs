//! Tests of collapse: it is detected, reported and repaired, and a leaping tool does not cause it.

use super::*;

/// Returns the force of a slow press of 4 mm at a place x, y \[N\].
fn reference_press_n(tissue: &mut ExplicitTissue, x_m: f64, y_m: f64) -> f64 {
    let steps = (0..200).map(|step| (4e-5 * f64::from(step)).min(4e-3));
    let forces = steps.map(|depth_m| {
        tick(tissue, ball([x_m, y_m, 5e-3 - depth_m], 5e-3))
            .force_n
            .z
    });
    forces.last().expect("it has steps")
}

fn assert_finite(tissue: &ExplicitTissue) {
    let snapshot = Snapshot::of(tissue);
    assert!(snapshot.numbers.iter().all(|x| x.is_finite()));
    assert!(tissue.view().energy.sum_j().is_finite());
}

/// Returns the number of a free node in a field.
fn free(motion: &mut grid::Motion, field: fn(&mut grid::Motion) -> &mut cells::Field) -> &mut f32 {
    let node = motion
        .inverse_mass
        .iter()
        .position(|&inverse| inverse > 0.0);
    &mut field(motion)[node.expect("a node moves")]
}

#[test]
fn a_number_that_is_not_finite_leaves_the_state_within_a_tick() {
    let mut fresh = tissue((4, 2), &ExplicitParams::default());
    let expected_n = reference_press_n(&mut fresh.clone(), 0.0, 0.0);
    let broken: [fn(&mut State, f32); 5] = [
        |state, bad| *free(&mut state.motions[0], |motion| &mut motion.u[2]) = bad,
        |state, bad| *free(&mut state.motions[1], |motion| &mut motion.v[0]) = bad,
        |state, bad| *free(&mut state.motions[1], |motion| &mut motion.f[1]) = bad,
        |state, bad| state.tools[0].friction_spring.dissipated = bad.into(),
        |state, bad| state.ledger.tool_work_j = bad.into(),
    ];
    tick(&mut fresh, ball([0.0, 0.0, 3e-3], 5e-3));
    for (case, break_state) in broken.into_iter().enumerate() {
        for bad in [f32::NAN, f32::INFINITY] {
            let mut tissue = fresh.clone();
            break_state(&mut tissue.state, bad);
            let reaction = tick(&mut tissue, ball([0.0, 0.0, 3e-3], 5e-3));
            assert!(
                reaction.force_n.iter().all(|x| x.is_finite()),
                "{case} {bad}"
            );
            assert_finite(&tissue);
            // the tool leaves, and comes back slowly
            for _ in 0..300 {
                tick(&mut tissue, ball([0.0, 0.0, 0.05], 5e-3));
            }
            let force_n = reference_press_n(&mut tissue, 0.0, 0.0);
            assert!(
                (force_n / expected_n - 1.0).abs() < 0.01,
                "{case} {bad}: {force_n} {expected_n}"
            );
        }
    }
}

#[test]
fn a_tool_in_a_rebuilt_tissue_touches_nothing_until_it_has_left() {
    let mut tissue = tissue((8, 2), &ExplicitParams::default());
    tick(&mut tissue, ball([0.0, 0.0, 3e-3], 5e-3));
    let before = tissue.view().energy;
    tissue.state.ledger.elastic_j = f64::NAN;
    tissue.state.ledger.tool_work_j = f64::NAN;
    let reaction = tick(&mut tissue, ball([0.0, 0.0, 3e-3], 5e-3));
    assert_eq!(reaction, Reaction::of_collapse());
    assert_eq!(tissue.collapses(), 1);
    assert!(before.stored_j() > 0.0 && tissue.view().energy.stored_j() == 0.0);
    for height_m in [3e-3, 2e-3, 4.5e-3] {
        let reaction = tick(&mut tissue, ball([0.0, 0.0, height_m], 5e-3));
        assert_eq!(reaction, Reaction::default());
    }
    tick(&mut tissue, ball([0.0, 0.0, 5e-3], 5e-3));
    tick(&mut tissue, ball([0.0, 0.0, 4e-3], 5e-3));
    let reaction = tick(&mut tissue, ball([0.0, 0.0, 3e-3], 5e-3));
    assert!(reaction.force_n.z > 0.0 && !reaction.collapsed);
    assert_eq!(tissue.collapses(), 1);
}

#[test]
fn a_leaping_tool_follows_its_path_and_collapses_nothing() {
    for params in [
        ExplicitParams::default(),
        ExplicitParams {
            friction: 0.4,
            ..ExplicitParams::default()
        },
    ] {
        let mut tissue = tissue((8, 2), &params);
        let fresh = tissue.clone();
        let places_m = [
            [0.0, 0.0, 0.03],
            [0.0, 0.0, 1e-3],
            [0.02, 0.01, 1e-3],
            [-0.02, 0.0, 0.03],
        ];
        for place_m in places_m.into_iter().cycle().take(12) {
            let first = tick(&mut tissue, ball(place_m, 5e-3));
            let mut last = first;
            // the block rings for half a second
            for _ in 0..700 {
                last = tick(&mut tissue, ball(place_m, 5e-3));
            }
            assert_eq!(tissue.collapses(), 0, "{place_m:?}");
            // the reaction builds up as the tool comes in, and is gone at once when it has left
            assert!(first.penetration_m <= 2e-3, "{first:?}");
            let presses = place_m[2] < 5e-3;
            let slow_n = reference_press_n(&mut fresh.clone(), place_m[0], place_m[1]);
            let share = last.force_n.z / slow_n;
            let expected = if presses { 0.9..1.1 } else { 0.0..1e-6 };
            assert!(expected.contains(&share), "{place_m:?} {slow_n} {last:?}");
            assert!(presses || first.force_n == Vec3::zeros(), "{first:?}");
        }
    }
}

#[test]
fn a_plunge_continues_bit_for_bit_after_a_restore_and_in_a_copy() {
    let params = ExplicitParams {
        classes: CLASSES,
        ..ExplicitParams::default()
    };
    let mut tissue = tissue((8, 4), &params);
    let plunge = |tissue: &mut ExplicitTissue, ticks: std::ops::Range<u32>| {
        let heights_m = ticks.map(|tick| 5e-3 - 5e-4 * f64::from(tick));
        heights_m
            .map(|height_m| tick(tissue, ball([0.0, 0.0, height_m], 5e-3)))
            .collect::<Vec<_>>()
    };
    plunge(&mut tissue, 0..25);
    assert!(tissue.squeezed_added_mass_kg() > 0.0);
    let before = Snapshot::of(&tissue);
    let mut copy = tissue.clone();
    let expected = plunge(&mut tissue, 25..40);
    let after = Snapshot::of(&tissue);
    assert_eq!(plunge(&mut copy, 25..40), expected);
    assert_eq!(Snapshot::of(&copy), after);
    tissue.restore(&before).expect("its own");
    assert_eq!(plunge(&mut tissue, 25..40), expected);
    assert_eq!(Snapshot::of(&tissue), after);
}
