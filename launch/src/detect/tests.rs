//! Studies on a block so coarse that a press takes a moment.

use super::*;
use palpate_twin::scene;

const COARSE: &str = "name = \"coarse\"\n[block]\nsize_m = [0.1, 0.1, 0.05]\ncell_m = 0.005\n\
    levels = 1\nfine_half_m = [0.01, 0.01]\nfine_depth_m = 0.01\n[[layer]]\nyoung_pa = 5000.0\n\
    poisson = 0.45\n[[inclusion]]\ncenter_m = [0.0, 0.0, -0.01]\nradius_m = 0.006\nyoung_pa = 50000.0\n\
    poisson = 0.45\n[tool]\nradius_m = 0.01\nstiffness_npm = 1e6\n";

fn options() -> Options {
    Options {
        depths_m: vec![0.009, 0.015],
        radii_m: vec![0.006, 0.012],
        contrasts: vec![10.0],
        press_m: 0.004,
        noise: 0.02,
    }
}

fn plan(options: Options) -> Result<Plan, DetectError> {
    Plan::new(scene::load(COARSE).expect("a scene"), options)
}

#[test]
fn a_shallow_lump_is_felt_more_and_one_that_sticks_out_is_left_out() {
    let plan = plan(options()).expect("fits");
    // without the lump, three lumps that fit over and aside, four rules and none on three meshes
    assert_eq!(plan.presses(), 1 + 2 * 3 + 3 * 5);
    let made = AtomicUsize::new(0);
    let count = |_| {
        made.fetch_add(1, Ordering::Relaxed);
    };
    let study = plan
        .run(&AtomicBool::new(false), &count)
        .expect("can be built");
    assert_eq!(made.into_inner(), plan.presses());
    let found = |case: usize| study.cases[case].found.expect("pressed");
    assert_eq!(study.cases[1].unknown, Some(Unknown::NoRoom));
    let (shallow, deep, large) = (found(0), found(2), found(3));
    assert!(shallow.force_change > deep.force_change && large.force_change > deep.force_change);
    assert!(deep.force_change > 0.01, "{deep:?}");
    for one in [shallow, deep, large] {
        // moved aside it is next to nothing
        let aside = one.beside_n / study.plain_n.expect("pressed") - 1.0;
        assert!(
            aside.abs() < 0.05 && aside < 0.3 * one.force_change,
            "{one:?}"
        );
        let spread_n = 0.02 * (0.5 * (one.over_n.powi(2) + one.beside_n.powi(2))).sqrt();
        assert!((one.d_prime * spread_n - (one.over_n - one.beside_n)).abs() < 1e-12);
        assert!((0.5..=1.0).contains(&one.right) && one.stiffness_contrast > 0.0);
    }
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
fn a_study_that_is_stopped_knows_nothing_of_the_rest() {
    let study = plan(options())
        .expect("fits")
        .run(&AtomicBool::new(true), &|_| ());
    let study = study.expect("nothing was built");
    assert_eq!(study.plain_n, None);
    let why = study.cases.iter().map(|case| case.unknown);
    let [no_room, stopped] = [Unknown::NoRoom, Unknown::NotPressed].map(Some);
    assert_eq!(
        why.collect::<Vec<_>>(),
        [stopped, no_room, stopped, stopped]
    );
    assert!(study.meshes.iter().all(|mesh| mesh.force_change.is_none()));
}

#[test]
fn what_is_left_out_follows_from_the_scene() {
    let plan = plan(Options {
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
fn refusals_name_the_flag_or_what_the_scene_lacks() {
    let refusal = |options| plan(options).err().expect("refused").to_string();
    let noise = 0.0;
    assert!(refusal(Options { noise, ..options() }).contains("--noise is 0; expected"));
    let press_m = f64::NAN;
    assert!(
        refusal(Options {
            press_m,
            ..options()
        })
        .contains("--press-mm is NaN")
    );
    let wide = Options {
        depths_m: vec![0.0245],
        radii_m: vec![0.0241],
        ..options()
    };
    assert!(
        refusal(wide).contains("--radii-mm is 24.1; expected a lump that can be moved 54.1 mm")
    );
    let contrasts = vec![-2.0];
    assert!(
        refusal(Options {
            contrasts,
            ..options()
        })
        .contains("--contrasts is -2")
    );
    let deep = Options {
        depths_m: vec![0.06],
        ..options()
    };
    assert!(refusal(deep).contains("--depths-mm is 60"));
    for (name, word) in [("sheet", "is a lattice"), ("block", "has no inclusion")] {
        let error = Plan::new(scene::load(name).expect("built in"), options()).err();
        assert!(error.expect("refused").to_string().contains(word));
    }
}

#[test]
fn a_press_that_met_no_force_says_nothing_of_the_lump() {
    let press = |force_n| Press {
        force_n,
        secant_npm: 1.0,
        chord_npm: 1.0,
    };
    for pair in [[0.0, 0.2], [0.2, 0.0], [f64::NAN, 0.2], [-0.1, 0.2]] {
        assert_eq!(Found::of(pair.map(press), 0.2, 0.02), Err(Unknown::FellIn));
    }
    assert!(Found::of([0.3, 0.2].map(press), 0.2, 0.02).is_ok());
}
