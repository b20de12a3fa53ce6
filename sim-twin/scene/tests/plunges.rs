//! Plunges, diagonal drives and leaps into finite elements: none breaks the tissue, and no drive makes energy.

use palpate_scene::{Scene, load};
use palpate_twin::{Reaction, Snapshot, Tissue, Tool, Vec3};

const TICK_S: f64 = 1e-3;
/// Ticks at the end of a drive.
const STAY: u32 = 50;
/// Ticks of rest before the last press.
const REST: u32 = 1000;

/// Returns a block 30 mm high of layers, for a tool of 8 mm.
fn block(name: &str, layers: &str) -> Scene {
    let text = format!(
        "name = \"{name}\"\n[block]\nsize_m = [0.08, 0.08, 0.03]\ncell_m = 0.003\nlevels = 2\n\
         fine_half_m = [0.02, 0.02]\nfine_depth_m = 0.008\nsubsteps_max = 8\ndamping_per_s = 30.0\n{layers}\n\
         [tool]\nradius_m = 0.008\nstiffness_npm = 50000.0\n"
    );
    load(&text).expect("a scene")
}

/// Returns the scenes with the height of their blocks \[m\].
fn scenes() -> Vec<(Scene, f64)> {
    let soft = "[[layer]]\nyoung_pa = 1000.0";
    let contrast = "[[layer]]\nyoung_pa = 40000.0\nthickness_m = 0.002\n\
                    [[layer]]\nyoung_pa = 2000.0\nthickness_m = 0.01\n[[layer]]\nyoung_pa = 40000.0";
    let built_in = |name: &str| load(name).expect("built in");
    vec![
        (built_in("layered"), 0.032),
        (built_in("layered-lump"), 0.0288),
        (built_in("rough"), 0.03),
        (block("soft", soft), 0.03),
        (block("contrast", contrast), 0.03),
        // its tool is small, and breaks through the surface
        (built_in("block"), 0.05),
    ]
}

/// Tissue with its tool, and what happened in a drive.
struct Bench {
    tissue: Box<dyn Tissue>,
    tool: Tool,
    collapses: u32,
    peak_n: f64,
    /// Elastic and contact energy at most, beyond the work of the tool, and that work at most \[J\].
    excess_j: f64,
    work_j: f64,
}

impl Bench {
    fn new(scene: &Scene) -> Self {
        Self {
            tissue: scene.build().expect("a tissue"),
            tool: scene.tool_at(Vec3::new(0.0, 0.0, 0.1)),
            collapses: 0,
            peak_n: 0.0,
            excess_j: f64::MIN,
            work_j: 0.0,
        }
    }

    fn step(&mut self, to_m: Vec3) -> Reaction {
        let mut reaction = [Reaction::default()];
        self.tool.velocity_mps = (to_m - self.tool.position_m) / TICK_S;
        self.tool.position_m = to_m;
        self.tissue.step(&[self.tool], TICK_S, &mut reaction);
        let force_n = reaction[0].force_n;
        assert!(force_n.iter().all(|x| x.is_finite()), "{force_n}");
        self.collapses += u32::from(reaction[0].collapsed);
        self.peak_n = self.peak_n.max(force_n.norm());
        let energy = self.tissue.view().energy;
        let kept_j = energy.elastic_j + energy.contact_j;
        self.work_j = self.work_j.max(energy.tool_work_j);
        self.excess_j = self.excess_j.max(kept_j - energy.tool_work_j);
        reaction[0]
    }

    fn drive(&mut self, to_m: Vec3, speed_mps: f64) {
        let from_m = self.tool.position_m;
        let ticks = (to_m - from_m).norm() / (speed_mps * TICK_S);
        let ticks = ticks.ceil().max(1.0);
        for tick in 1..=ticks as u32 {
            self.step(from_m + (to_m - from_m) * (f64::from(tick) / ticks));
        }
    }

    fn stay(&mut self, ticks: u32) -> Reaction {
        (0..ticks).fold(Reaction::default(), |_, _| self.step(self.tool.position_m))
    }

    /// Returns the force of a slow press in the middle by a third of the radius, after a rest \[N\].
    fn pressed_n(&mut self) -> f64 {
        let radius_m = self.tool.radius_m;
        self.drive(Vec3::new(0.0, 0.0, 3.0 * radius_m), f64::INFINITY);
        self.stay(REST);
        self.drive(Vec3::new(0.0, 0.0, radius_m), 0.5);
        self.drive(Vec3::new(0.0, 0.0, radius_m * (2.0 / 3.0)), 0.02);
        self.stay(2 * STAY).force_n.z
    }
}

/// Places of a drive, reached at its speed one after the other; the first in a leap.
type Drive = (f64, Vec<Vec3>);

/// Returns the drives into a block of a height \[m\] with a tool of a radius \[m\].
fn drives(height_m: f64, radius_m: f64) -> Vec<Drive> {
    let above_m = Vec3::new(1e-3, 5e-4, radius_m + 1e-3);
    let deep_m = |share: f64| Vec3::new(1e-3, 5e-4, radius_m - share * height_m);
    let mut drives = Vec::new();
    for speed_mps in [0.2, 0.35, 0.5, f64::INFINITY] {
        for share in [0.5, 1.0] {
            drives.push((speed_mps, vec![above_m, deep_m(share)]));
        }
        // issue 19
        let corner_m = Vec3::new(-0.02, -0.02, 8e-3);
        let across_m = [[0.02, 0.01], [-0.02, 0.01], [0.02, -0.01]];
        let across_m = across_m.map(|[x, y]| Vec3::new(x, y, -8e-3));
        drives.push((speed_mps, [&[corner_m][..], &across_m].concat()));
    }
    drives
}

#[test]
fn issue_19_plunges_and_diagonal_drives_collapsed_the_tissue() {
    for (scene, height_m) in scenes() {
        let expected_n = Bench::new(&scene).pressed_n();
        let mut bench = Bench::new(&scene);
        let fresh = Snapshot::of(bench.tissue.as_ref());
        for (speed_mps, places_m) in drives(height_m, scene.tool_radius_m) {
            bench.tissue.restore(&fresh).expect("its own");
            (bench.excess_j, bench.work_j, bench.peak_n) = (f64::MIN, 0.0, 0.0);
            bench.tool.position_m = places_m[0];
            for &place_m in &places_m {
                bench.drive(place_m, speed_mps);
            }
            bench.stay(STAY);
            let residual_j = bench.tissue.view().energy.residual_j;
            let (excess_j, work_j) = (bench.excess_j, bench.work_j);
            let last_m = places_m[places_m.len() - 1];
            let case = format!("{} at {speed_mps} m/s to {last_m:?}", scene.name);
            println!(
                "{case}: {} N, {work_j} J, excess {excess_j} J, residual {residual_j} J",
                bench.peak_n
            );
            assert_eq!(bench.collapses, 0, "{case}");
            assert!(bench.peak_n < 50.0, "{case}: {} N", bench.peak_n);
            // leaps of 15 m/s are not resolved: docs/limits.md
            if speed_mps.is_finite() {
                assert!(excess_j <= 1e-4 * work_j, "{case}: {excess_j} J");
                assert!(residual_j < 0.1 * work_j, "{case}: {residual_j} J");
            }
        }
        // without a new start: the force returns after the last of them
        let force_n = bench.pressed_n();
        assert!(
            (force_n / expected_n - 1.0).abs() < 0.01,
            "{}: {force_n} N, {expected_n} N when fresh",
            scene.name
        );
    }
}
