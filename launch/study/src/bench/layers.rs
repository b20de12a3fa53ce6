//! Layers of other stiffness with a hard nodule: the tissue that asks for the shortest steps.
//!
//! Source: the specification of tissue engines, goal 5: skin of 100 kPa, fat of 2, muscle of 20, a nodule
//! of 100 in the fat (50 times as stiff) or in the muscle (10 times), Poisson's ratio 0.49. Pressed as the
//! block test. There are no converged forces to judge by.

use std::sync::atomic::AtomicBool;

use palpate_scene as scene;
use palpate_scene::Body;
use palpate_session::stat::spans::Stats;
use palpate_transport::clock::PERIOD;
use palpate_twin::Tissue as _;
use serde::{Deserialize, Serialize};

use super::goal::Goal;
use super::tissue::{DEPTHS_MM, press, substeps};
use super::{BenchError, go_on};

/// The scene but for its nodule.
const SCENE: &str = "name = \"layers\"\n\
    [block]\nsize_m = [0.1, 0.1, 0.032]\ncell_m = 0.0034\nlevels = 3\n\
    fine_half_m = [0.016, 0.016]\nfine_depth_m = 0.0095\ndamping_hz = 30.0\n\
    [[layer]]\nthickness_m = 0.002\nyoung_pa = 100e3\npoisson = 0.49\n\
    [[layer]]\nthickness_m = 0.008\nyoung_pa = 2e3\npoisson = 0.49\n\
    [[layer]]\nyoung_pa = 20e3\npoisson = 0.49\n\
    [tool]\nradius_m = 0.005\nstiffness_npm = 1e6\n";
/// Nodules by name: depth \[m\], radius \[m\], stiffness \[Pa\].
const NODULES: [(&str, [f64; 3]); 2] = [
    ("layers, nodule 50x", [0.006, 0.003, 100e3]),
    ("layers, nodule 10x", [0.016, 0.005, 200e3]),
];

/// One tissue of layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LayersRow {
    /// What it is.
    pub name: String,
    /// Nodes that can move.
    pub nodes_free: usize,
    /// Cells.
    pub cells: usize,
    /// Sub-steps of the finest cells in a tick of 1 ms.
    pub substeps: u32,
    /// CPU time of a tick under contact.
    pub cpu: Stats,
    /// Wall time of it.
    pub wall: Stats,
    /// Force at 1, 2, 5 and 10 mm \[N\].
    pub force_n: [f64; 4],
    /// Mass that cells have for the step beyond their own, over the block's.
    pub added_mass: f64,
    /// How often cells fell in.
    pub collapses: u64,
    /// What is wanted of it.
    pub goals: Vec<Goal>,
}

/// Presses them.
///
/// # Errors
/// [`BenchError`] if a scene is refused, or `stop` is set.
pub fn layers(stop: &AtomicBool) -> Result<Vec<LayersRow>, BenchError> {
    let one = |(name, nodule)| row(name, nodule, stop);
    NODULES.into_iter().map(one).collect()
}

fn row(
    name: &str,
    [deep_m, radius_m, young_pa]: [f64; 3],
    stop: &AtomicBool,
) -> Result<LayersRow, BenchError> {
    go_on(stop)?;
    let nodule = format!(
        "[[inclusion]]\nname = \"nodule\"\ncenter_m = [0.0, 0.0, {}]\nradius_m = {radius_m}\n\
         young_pa = {young_pa}\npoisson = 0.49\n",
        -deep_m
    );
    let scene = scene::load(&(SCENE.to_owned() + &nodule))?;
    let Body::Block(block) = scene.body else {
        return Err(BenchError::Scene(scene::SceneError::Unknown {
            name: name.to_owned(),
        }));
    };
    let mut tissue = block.solver()?;
    let pressed = press(&mut tissue, stop)?;
    let cpu = Stats::of(&pressed.cpu).unwrap_or_default();
    let [x_m, y_m, z_m] = block.size_m;
    let mass_kg = 1e3 * x_m * y_m * z_m;
    Ok(LayersRow {
        name: name.to_owned(),
        nodes_free: tissue.caps().nodes,
        cells: tissue.caps().elements,
        substeps: substeps(&tissue),
        cpu,
        wall: Stats::of(&pressed.wall).unwrap_or_default(),
        force_n: pressed.force_n,
        added_mass: (tissue.stiff_mass_kg() + tissue.added_mass_kg()) / mass_kg,
        collapses: tissue.collapses(),
        goals: vec![
            Goal::at_most("CPU of a tick, p99", cpu.us_p99, 800.0, "us"),
            Goal::at_most("cells that fell in", tissue.collapses() as f64, 0.0, ""),
        ],
    })
}

impl LayersRow {
    /// As a line for people; times in microseconds.
    pub(super) fn line(&self) -> String {
        let pairs = DEPTHS_MM.iter().zip(self.force_n);
        let forces = pairs.map(|(mm, force_n)| format!("{force_n:.3} at {mm} mm"));
        let forces: Vec<String> = forces.collect();
        format!(
            "{}: {} nodes, {} sub-steps in {:.0} ms, cpu p50 {:.0} p99 {:.0}, {} N, {:.0} % mass added\n",
            self.name,
            self.nodes_free,
            self.substeps,
            1e3 * PERIOD.s(),
            self.cpu.us_p50,
            self.cpu.us_p99,
            forces.join(", "),
            100.0 * self.added_mass
        )
    }
}
