//! Tests of studies on a block so coarse that a press is quick.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use palpate_scene as scene;

use super::*;

const COARSE: &str = "name = \"coarse\"\n[block]\nsize_m = [0.1, 0.1, 0.05]\ncell_m = 0.005\n\
    levels = 1\nfine_half_m = [0.01, 0.01]\nfine_depth_m = 0.01\n[[layer]]\nyoung_pa = 5000.0\n\
    poisson = 0.45\n[[inclusion]]\ncenter_m = [0.0, 0.0, -0.01]\nradius_m = 0.006\nyoung_pa = 50000.0\n\
    poisson = 0.45\n[tool]\nradius_m = 0.01\nstiffness_npm = 1e6\n";

fn options() -> DetectOptions {
    DetectOptions {
        depths_m: vec![0.009, 0.015],
        radii_m: vec![0.006, 0.012],
        contrasts: vec![10.0],
        press_m: 0.004,
        noise: 0.02,
    }
}

fn plan(options: DetectOptions) -> Result<DetectPlan, palpate_analysis::Failure> {
    DetectPlan::new(scene::load(COARSE).expect("a scene"), options)
}

#[test]
fn shallow_lump_is_more_detectable_and_unfit_lump_is_skipped() {
    let plan = plan(options()).expect("fits");
    // without the lump, three lumps that fit, four rules and none on three meshes
    assert_eq!(plan.presses(), 1 + 3 + 3 * 5);
    let made = AtomicUsize::new(0);
    let count = |_| {
        made.fetch_add(1, Ordering::Relaxed);
    };
    let study = plan
        .run(&AtomicBool::new(false), &count)
        .expect("can be built");
    assert_eq!(made.into_inner(), plan.presses());
    let found = |case: usize| study.cases[case].found.expect("pressed");
    assert_eq!(study.cases[1].unknown, Some(UnknownReason::NoRoom));
    let (shallow, deep, large) = (found(0), found(2), found(3));
    assert!(shallow.force_change > deep.force_change && large.force_change > deep.force_change);
    assert!(deep.force_change > 0.01, "{deep:?}");
    let plain_n = study.plain_n.expect("pressed");
    for one in [shallow, deep, large] {
        // all relative to the press without the lump
        assert!((one.over_n / plain_n - 1.0 - one.force_change).abs() < 1e-12);
        let spread_n = 0.02 * (0.5 * (one.over_n.powi(2) + plain_n.powi(2))).sqrt();
        assert!((one.d_prime * spread_n - (one.over_n - plain_n)).abs() < 1e-12);
        assert!((0.5..=1.0).contains(&one.right) && one.stiffness_contrast > 0.0);
    }
    let spread = study.spread.as_ref().expect("all pressed");
    assert_eq!((&*spread.least_by, &*spread.most_by), ("reuss", "voigt"));
    let change = |mixing: &str| {
        let of = study
            .meshes
            .iter()
            .find(|m| m.mixing == mixing && m.shift_cells == 0.0);
        of.and_then(|m| m.force_change).expect("pressed")
    };
    assert!(change("voigt") > change("geometric") && change("geometric") > change("reuss"));
    assert_eq!(study.meshes.len(), 12);
}

#[test]
fn stopped_study_leaves_the_rest_unknown() {
    let study = plan(options())
        .expect("fits")
        .run(&AtomicBool::new(true), &|_| ());
    let study = study.expect("nothing was built");
    assert_eq!(study.plain_n, None);
    let reasons = study.cases.iter().map(|case| case.unknown);
    let [no_room, stopped] = [UnknownReason::NoRoom, UnknownReason::NotPressed].map(Some);
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        [stopped, no_room, stopped, stopped]
    );
    assert!(study.meshes.iter().all(|mesh| mesh.force_change.is_none()));
}

#[test]
fn default_options_follow_from_the_scene() {
    let plan = plan(DetectOptions {
        depths_m: Vec::new(),
        radii_m: Vec::new(),
        ..options()
    });
    let near = |found: &[f64], expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-12),
            "{found:?}"
        );
    };
    let plan = plan.expect("fits");
    near(&plan.options.depths_m, &[0.008, 0.01, 0.015, 0.02]);
    near(&plan.options.radii_m, &[0.0036, 0.006, 0.009]);
}

#[test]
fn refusals_name_the_flag_or_the_missing_part() {
    let refusal = |options| plan(options).err().expect("refused").to_string();
    let noise = 0.0;
    assert!(refusal(DetectOptions { noise, ..options() }).contains("--noise is 0; expected"));
    let press_m = f64::NAN;
    assert!(
        refusal(DetectOptions {
            press_m,
            ..options()
        })
        .contains("--press-mm is NaN")
    );
    let contrasts = vec![-2.0];
    assert!(
        refusal(DetectOptions {
            contrasts,
            ..options()
        })
        .contains("--contrasts is -2")
    );
    let deep = DetectOptions {
        depths_m: vec![0.06],
        ..options()
    };
    assert!(refusal(deep).contains("--depths-mm is 60"));
    for (name, word) in [("sheet", "is a lattice"), ("block", "has no inclusion")] {
        let error = DetectPlan::new(scene::load(name).expect("built in"), options()).err();
        assert!(error.expect("refused").to_string().contains(word));
    }
}

#[test]
fn press_without_force_yields_no_result() {
    let press = |force_n| PressStiffness {
        force_n,
        secant_npm: 1.0,
        chord_npm: 1.0,
    };
    for [over_n, plain_n] in [[0.0, 0.2], [0.2, 0.0], [f64::NAN, 0.2], [-0.1, 0.2]] {
        let found = LumpDetection::of(press(over_n), press(plain_n), 0.02);
        assert_eq!(found, Err(UnknownReason::FellIn));
    }
    assert!(LumpDetection::of(press(0.3), press(0.2), 0.02).is_ok());
}

#[test]
fn issue_lump_could_exceed_the_side_of_the_block() {
    let near_the_side = COARSE.replace("center_m = [0.0, 0.0,", "center_m = [0.0, 0.042,");
    let plan = DetectPlan::new(
        scene::load(&near_the_side).expect("a scene"),
        DetectOptions {
            depths_m: vec![0.015],
            radii_m: vec![0.006, 0.009],
            ..options()
        },
    );
    let study = plan.expect("fits").run(&AtomicBool::new(true), &|_| ());
    let cases = study.expect("nothing was built").cases;
    let reasons: Vec<_> = cases.iter().map(|case| case.unknown).collect();
    let [not_pressed, no_room] = [UnknownReason::NotPressed, UnknownReason::NoRoom].map(Some);
    assert_eq!(reasons, [not_pressed, no_room]);
}

#[test]
fn detectable_change_has_the_d_prime_limit() {
    assert!((detectability::correct_probability(D_PRIME_DETECTED) - 0.95).abs() < 1e-12);
    for noise in [0.001, 0.02, 0.3] {
        let change = detectable_change(noise).expect("reachable");
        assert!(
            (d_prime(change, noise) - D_PRIME_DETECTED).abs() < 1e-9,
            "{noise}"
        );
    }
    // the error of a reading grows with the force, and d' is always below sqrt(2) over the noise
    assert_eq!(detectable_change(0.5), None);
}

/// Row FU-01: a nodule in a voxel model that is 10 times as stiff is detectable, the more the shallower.
#[test]
fn fu_01_voxel_nodule_detectability_falls_with_depth() {
    let text = "name = \"links\"\n[linked]\nsize_m = [0.06, 0.06, 0.024]\nspacing_m = 0.002\n\
        [[layer]]\nyoung_pa = 5000.0\nshortest = 0.05\nlongest = 6.0\nshear = 6.0\n\
        [[inclusion]]\ncenter_m = [0.0, 0.0, -0.008]\nradius_m = 0.005\nyoung_pa = 50000.0\n\
        shortest = 0.05\nlongest = 6.0\nshear = 6.0\n\
        [tool]\nradius_m = 0.008\nstiffness_npm = 3000.0\n";
    let options = DetectOptions {
        depths_m: vec![0.007, 0.009, 0.013],
        radii_m: vec![0.005],
        contrasts: vec![1.0, 10.0],
        press_m: 0.003,
        noise: 0.02,
    };
    let plan = DetectPlan::new(scene::load(text).expect("a scene"), options).expect("fits");
    // without the lump, six lumps, one rule and none on three shifts
    assert_eq!(plan.presses(), 1 + 6 + 3 * 2);
    let study = plan.run(&AtomicBool::new(false), &|_| ()).expect("built");
    let found: Vec<LumpDetection> = study.cases.iter().filter_map(|case| case.found).collect();
    assert_eq!(found.len(), 6);
    for (nth, one) in found.iter().enumerate() {
        if nth % 2 == 0 {
            assert!(
                one.force_change.abs() < 1e-3,
                "a lump like the rest: {one:?}"
            );
        } else {
            assert!(one.force_change > 0.01 && one.d_prime > 0.0, "{one:?}");
        }
    }
    assert!(found[1].d_prime > found[3].d_prime && found[3].d_prime > found[5].d_prime);
    assert!(study.meshes.iter().all(|mesh| mesh.mixing == "series"));
    assert!(study.spread.is_some_and(|spread| !spread.doubtful));
}
