//! Records made by one block, explained by another.

use super::*;
use palpate_twin::Reaction;
use palpate_twin::scene;
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
        Vec3::new(place[0], place[1], radius_m + 1e-3 - (depth_m + 1e-3) * down)
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

#[test]
fn explore() {
    let text = std::env::var("SCENE").unwrap_or("layered-lump".into());
    let s: f64 = std::env::var("SECONDS").ok().map_or(2.0, |t| t.parse().unwrap());
    let begin = scene::load(&text).unwrap();
    let body = model::Body::of(&begin).unwrap();
    let logs: Vec<f64> = [1.3_f64, 0.7, 1.25, 0.6].iter().map(|f| f.ln()).collect();
    let truth = body.scaled(&logs[..body.parts().len()]).unwrap();
    for visits in [
        vec![([0.0, 0.0], 0.006), ([0.02, 0.0], 0.006)],
        vec![([-0.01, 0.0], 0.002), ([-0.01, 0.0], 0.009), ([0.02, 0.0], 0.004), ([0.02, 0.0], 0.009)],
    ] {
        let path = presses(begin.tool_radius_m, &visits, s);
        for common in [[0.0, 0.0], [1.0, -1.0]] {
        let samples = record(&truth, &path, 7, common);
        let t = std::time::Instant::now();
        let found = identify(&begin, &samples, &Settings::default()).unwrap();
        println!("{visits:?} {common:?}: {:?} runs {} settled {} excess {:.2} misfit {:?} gain {:?} height {:?}, peak {:.3} N",
            t.elapsed(), found.runs, found.settled, found.excess, found.misfit_n, found.gain, found.height_m,
            found.bins.iter().map(|b| b.measured_n).fold(0.0, f64::max));
        for (e, log) in found.estimates.iter().zip(&logs) {
            let err = (e.after / e.before).ln() - log;
            println!("  {} {:.0} -> {:.0}: error {:+.3} sd {:.3} told {:.3}", e.name, e.before, e.after, err, e.log_sd, e.told);
        }
        for d in &found.directions { println!("  {} singular {:.1} sd {:.3} {}", d.words, d.singular, d.log_sd, d.told); }
        }
    }
}
