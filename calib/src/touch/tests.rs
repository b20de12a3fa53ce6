//! Records made by one block, explained by another.

use super::*;
use palpate_twin::Reaction;
use palpate_twin::scene::{self, Body};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Two normal numbers.
fn normals(random: &mut Xoshiro256PlusPlus) -> [f64; 2] {
    let mut unit = || (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let radius = (-2.0 * libm::log(1.0 - unit())).sqrt();
    let (sin, cos) = libm::sincos(2.0 * core::f64::consts::PI * unit());
    [radius * cos, radius * sin]
}

/// Presses of equal length at places, to depths, as smooth as a hand: the path of the tool.
fn presses(radius_m: f64, visits: &[([f64; 2], f64)], seconds: f64) -> Vec<Vec3> {
    let ticks = (seconds * 1e3) as usize;
    let each = ticks / visits.len();
    let one = |tick: usize| {
        let (place, depth_m) = visits[(tick / each).min(visits.len() - 1)];
        let phase = (tick % each) as f64 / each as f64;
        let down = 0.5 - 0.5 * libm::cos(2.0 * core::f64::consts::PI * phase);
        Vec3::new(
            place[0],
            place[1],
            radius_m + 1e-3 - (depth_m + 1e-3) * down,
        )
    };
    (0..ticks).map(one).collect()
}

/// What `truth` answers to a path, as noisy instruments see it: 2 % and 5 mN of force and 50 um of
/// pose a sample, and `common` times 2 % and 50 um of the whole record.
fn record(truth: &Scene, path: &[Vec3], seed: u64, common: [f64; 2]) -> Vec<Sample> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut tissue = truth.build().unwrap();
    let mut reaction = [Reaction::default()];
    let one = |(tick, place_m): (usize, &Vec3)| {
        let mut tool = truth.tool_at(*place_m);
        tool.velocity_mps = (place_m - path[tick.saturating_sub(1)]) / 1e-3;
        tissue.step(&[tool], 1e-3, &mut reaction);
        let [share, floor] = normals(&mut random);
        let [x, y] = normals(&mut random);
        let [z, _] = normals(&mut random);
        let gain = 1.0 + 0.02 * (share + common[0]);
        Sample {
            time_s: tick as f64 * 1e-3,
            position_m: place_m + Vec3::new(x, y, z + common[1]) * 50e-6,
            force_n: reaction[0].force_n * gain + Vec3::new(0.0, 0.0, 5e-3 * floor),
        }
    };
    path.iter().enumerate().map(one).collect()
}

/// Off the lump and on it, both deep: shallow pressing is part of deep pressing. Deeper yet, fat of
/// 8.5 mm is squeezed to a quarter, where the mesh buckles and the force falls with depth.
const BOTH: [([f64; 2], f64); 2] = [([-0.012, 0.0], 0.010), ([0.02, 0.0], 0.010)];

fn settings() -> Settings {
    Settings {
        noise: Noise {
            force_n: 5e-3,
            ..Noise::default()
        },
        finer_mesh: false,
        ..Settings::default()
    }
}

/// A scene with its parameters times factors, and the logarithms of those.
fn other(scene: &Scene, factors: &[f64]) -> (Scene, Vec<f64>) {
    let logs: Vec<f64> = factors.iter().copied().map(libm::log).collect();
    (model::Body::of(scene).unwrap().scaled(&logs).unwrap(), logs)
}

fn errors(found: &Identified, logs: &[f64]) -> Vec<f64> {
    let error =
        |(estimate, log): (&Estimate, &f64)| libm::log(estimate.after / estimate.before) - log;
    found.estimates.iter().zip(logs).map(error).collect()
}

#[test]
fn two_deep_presses_tell_every_layer_and_the_lump_within_a_tenth() {
    let scene = scene::load("layered-lump").unwrap();
    let (truth, logs) = other(&scene, &[1.3, 0.7, 1.25, 0.6]);
    let path = presses(scene.tool_radius_m, &BOTH, 2.0);
    let samples = record(&truth, &path, 7, [0.7, -0.7]);
    let found = identify(&scene, &samples, &settings()).unwrap();
    assert!(found.settled && found.excess < 1.5, "{}", found.excess);
    for (estimate, error) in found.estimates.iter().zip(errors(&found, &logs)) {
        assert!(error.abs() < 0.1, "{estimate:?}: {error}");
        assert!(error.abs() < 3.0 * estimate.log_sd, "{estimate:?}: {error}");
        assert!(
            estimate.log_sd < 0.1 && estimate.told > 0.97,
            "{estimate:?}"
        );
    }
    assert!(found.directions.iter().all(|direction| direction.told));
    // the height is seen in the onset of force, the gain in nothing
    assert!(
        (found.height_m[0] + 35e-6).abs() < 3.0 * found.height_m[1] && found.height_m[1] < 30e-6
    );
    assert!(found.gain[1] > 0.015);
    let largest = |bin: &Bin| bin.measured_n > 1.0;
    assert!(found.bins.iter().filter(|bin| largest(bin)).count() > 10);
    assert!(
        found.misfit_n[1] < 0.1 * found.misfit_n[0],
        "{:?}",
        found.misfit_n
    );
}

#[test]
fn a_shallow_press_beside_the_lump_keeps_what_it_cannot_tell() {
    let scene = scene::load("layered-lump").unwrap();
    let (truth, logs) = other(&scene, &[1.3, 0.7, 1.25, 0.6]);
    let path = presses(scene.tool_radius_m, &[([-0.012, 0.0], 0.003)], 0.4);
    let samples = record(&truth, &path, 3, [0.0, 0.0]);
    let found = identify(&scene, &samples, &settings()).unwrap();
    for (estimate, error) in found.estimates.iter().zip(errors(&found, &logs)) {
        assert!(error.abs() < 3.0 * estimate.log_sd, "{estimate:?}: {error}");
    }
    let lump = &found.estimates[3];
    assert!(
        (lump.after / lump.before - 1.0).abs() < 0.02 && lump.told < 0.05,
        "{lump:?}"
    );
    assert!(lump.log_sd > 0.9 * found.prior_log);
    let blind = found.directions.last().unwrap();
    assert!(
        !blind.told && blind.words == "lump contrast alone",
        "{blind:?}"
    );
}

#[test]
fn a_scene_without_the_lump_is_found_out_and_does_not_run_away() {
    let scene = scene::load("layered-lump").unwrap();
    let path = presses(scene.tool_radius_m, &BOTH, 0.5);
    let samples = record(&scene, &path, 5, [0.0, 0.0]);
    let twin = scene::load("layered").unwrap();
    let few = Settings {
        steps_max: 6,
        ..settings()
    };
    let found = identify(&twin, &samples, &few).unwrap();
    assert!(found.excess > 5.0, "{}", found.excess);
    for estimate in &found.estimates {
        let log = libm::log(estimate.after / estimate.before);
        assert!(log.abs() < 3.0 * found.prior_log, "{estimate:?}");
        assert!(estimate.log_sd > 0.05, "{estimate:?}");
    }
}

#[test]
fn what_the_mesh_does_is_reported_beside_the_noise() {
    let mut scene = scene::load("layered-lump").unwrap();
    let path = presses(
        scene.tool_radius_m,
        &[(BOTH[0].0, 0.007), (BOTH[1].0, 0.007)],
        0.5,
    );
    let Body::Block(block) = &mut scene.body else {
        panic!("not a block");
    };
    block.zone.half_m = [0.024; 2];
    let finer = model::Body::of(&scene).unwrap().finer();
    let samples = record(&finer, &path, 11, [0.0, 0.0]);
    let found = identify(
        &scene,
        &samples,
        &Settings {
            finer_mesh: true,
            ..settings()
        },
    )
    .unwrap();
    // what was pressed has the scene's moduli on a finer mesh
    for estimate in &found.estimates {
        let error = libm::log(estimate.after / estimate.before);
        let mesh = estimate.mesh_log.unwrap();
        let left = error + mesh;
        assert!(
            // it is of first order, and the cells are coarse: right in sign, up to four times too large
            left.abs() < 3.0 * estimate.log_sd + 0.75 * mesh.abs(),
            "{estimate:?}: {error}"
        );
    }
}

#[test]
fn what_is_unfit_is_named() {
    let scene = scene::load("block").unwrap();
    let sample = |tick: u32| Sample {
        time_s: f64::from(tick) * 1e-3,
        position_m: Vec3::new(0.0, 0.0, 0.02),
        force_n: Vec3::zeros(),
    };
    let samples: Vec<Sample> = (0..200).map(sample).collect();
    let refusal =
        |samples: &[Sample], settings: &Settings| identify(&scene, samples, settings).unwrap_err();
    let ours = Settings::default();
    let few = TouchError::Few {
        found: 3,
        expected: 50,
    };
    assert_eq!(refusal(&samples[..3], &ours), few);
    assert!(matches!(
        refusal(&samples, &ours),
        TouchError::NoContact { .. }
    ));
    let mut broken = samples.clone();
    broken[60].force_n.z = f64::NAN;
    assert!(
        refusal(&broken, &ours)
            .to_string()
            .contains("sample 60: force_n is NaN")
    );
    broken[60] = samples[59];
    assert!(
        refusal(&broken, &ours)
            .to_string()
            .contains("sample 60: time_s since")
    );
    let wild = Settings {
        prior_log: f64::NAN,
        ..ours
    };
    assert!(refusal(&samples, &wild).to_string().contains("prior_log"));
    let sheet = scene::load("sheet").unwrap();
    let error = identify(&sheet, &samples, &ours).unwrap_err();
    assert!(matches!(error, TouchError::NotABlock { .. }), "{error}");
}
