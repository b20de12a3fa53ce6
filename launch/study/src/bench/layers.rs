//! Layers of different stiffness with a hard nodule: the tissue that needs the shortest steps.
//!
//! Source: the specification of tissue engines, goal 5: skin of 100 kPa, fat of 2, muscle of 20, a nodule
//! of 100 in the fat (50 times as stiff) or in the muscle (10 times), Poisson's ratio 0.49. Pressed as the
//! block test. There are no converged reference forces.

use std::sync::atomic::AtomicBool;

use palpate_session::stat::spans::DurationStats;
use palpate_transport::clock::PERIOD;
use palpate_twin::Tissue as _;
use serde::Serialize;

use super::goal::BenchGoal;
use super::tissue::{DEPTHS_MM, block, press, substeps};
use crate::abort::{Abort, check_stop, refusal};

/// Scene without its nodule.
const SCENE: &str = "name = \"layers\"\n\
    [block]\nsize_m = [0.1, 0.1, 0.032]\ncell_m = 0.0034\nlevels = 3\n\
    fine_half_m = [0.016, 0.016]\nfine_depth_m = 0.0095\ndamping_hz = 30.0\n\
    [[layer]]\nthickness_m = 0.002\nyoung_pa = 100e3\npoisson = 0.49\n\
    [[layer]]\nthickness_m = 0.008\nyoung_pa = 2e3\npoisson = 0.49\n\
    [[layer]]\nyoung_pa = 20e3\npoisson = 0.49\n\
    [tool]\nradius_m = 0.005\nstiffness_npm = 1e6\n";

/// Hard ball in the layers.
struct Nodule {
    name: &'static str,
    depth_m: f64,
    radius_m: f64,
    young_pa: f64,
}

const NODULES: [Nodule; 2] = [
    Nodule {
        name: "layers, nodule 50x",
        depth_m: 0.006,
        radius_m: 0.003,
        young_pa: 100e3,
    },
    Nodule {
        name: "layers, nodule 10x",
        depth_m: 0.016,
        radius_m: 0.005,
        young_pa: 200e3,
    },
];

/// Result of one layered tissue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LayersRow {
    /// Name of the tissue.
    pub name: String,
    /// Nodes that can move.
    pub nodes_free: usize,
    /// Cells.
    pub cells: usize,
    /// Sub-steps of the finest cells in a tick of 1 ms.
    pub substeps: u32,
    /// CPU time of a tick under contact.
    pub cpu: DurationStats,
    /// Wall time of that tick.
    pub wall: DurationStats,
    /// Force at 1, 2, 5 and 10 mm \[N\].
    pub force_n: [f64; 4],
    /// Mass that was added to cells for the step length, over the block's mass.
    pub added_mass: f64,
    /// Number of collapsed cells.
    pub collapses: u64,
    /// Goals of the tissue.
    pub goals: Vec<BenchGoal>,
}

/// Presses all layered tissues.
///
/// # Errors
/// If a scene is refused, or `stop` is set.
pub(crate) fn layers(stop: &AtomicBool) -> Result<Vec<LayersRow>, Abort> {
    NODULES.iter().map(|nodule| row(nodule, stop)).collect()
}

fn row(nodule: &Nodule, stop: &AtomicBool) -> Result<LayersRow, Abort> {
    check_stop(stop)?;
    let Nodule {
        name,
        depth_m,
        radius_m,
        young_pa,
    } = nodule;
    let nodule = format!(
        "[[inclusion]]\nname = \"nodule\"\ncenter_m = [0.0, 0.0, {}]\nradius_m = {radius_m}\n\
         young_pa = {young_pa}\npoisson = 0.49\n",
        -depth_m
    );
    let block = block(&(SCENE.to_owned() + &nodule), name)?;
    let mut tissue = block.explicit_solver().map_err(refusal)?;
    let pressed = press(&mut tissue, stop)?;
    let cpu = DurationStats::of(&pressed.cpu).unwrap_or_default();
    let [x_m, y_m, z_m] = block.size_m;
    let mass_kg = 1e3 * x_m * y_m * z_m;
    Ok(LayersRow {
        name: (*name).to_owned(),
        nodes_free: tissue.caps().nodes,
        cells: tissue.caps().elements,
        substeps: substeps(&tissue),
        cpu,
        wall: DurationStats::of(&pressed.wall).unwrap_or_default(),
        force_n: pressed.force_n,
        added_mass: (tissue.stiff_added_mass_kg() + tissue.squeezed_added_mass_kg()) / mass_kg,
        collapses: tissue.collapses(),
        goals: vec![
            BenchGoal::at_most("CPU of a tick, p99", cpu.us_p99, 800.0, "us"),
            BenchGoal::at_most("collapsed cells", tissue.collapses() as f64, 0.0, ""),
        ],
    })
}

impl LayersRow {
    /// Formats the result as a line; times in microseconds.
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
