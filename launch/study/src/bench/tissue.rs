//! The block test: what a tick of the explicit tissue costs, beside the force that it gives.
//!
//! Source: the specification of tissue engines, section 3: a cube of 0.1 m (E = 5 kPa, nu = 0.45),
//! pressed 10 mm by a frictionless sphere of 5 mm within 0.5 s and held, on even cells of four
//! sizes and on the graded mesh of the scene `block`. Converged neo-Hookean forces from its table 3.1.

use palpate_fem::explicit::Explicit;
use palpate_scene as scene;
use palpate_scene::{Block, Body};
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use palpate_session::run::allocation::held_bytes;
use palpate_session::stat::spans::Stats;
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_twin::{Reaction, Tissue, Vec3};
use serde::{Deserialize, Serialize};

use super::goal::{self, Goal};
use super::layers::{self, LayersRow};
use super::peers::{self, Peer};
use super::roofline::{BYTES_PER_CELL, Bound, FLOPS_PER_CELL, Roofline};
use super::{BenchError, go_on, now};

/// Depths at which the force is judged \[mm\].
pub(super) const DEPTHS_MM: [u32; 4] = [1, 2, 5, 10];
/// Converged forces there \[N\].
const REFERENCE_N: [f64; 4] = [0.0185, 0.0504, 0.1805, 0.4115];
/// Way down in a tick \[m\].
const DOWN_M: f64 = 2e-5;
/// Ticks until the whole depth is reached.
const PRESS_TICKS: u32 = 500;
/// Ticks in all: the press, and a hold.
const TICKS: u32 = 750;
/// First ticks that are not timed: the touch is not yet whole.
const WARM_TICKS: usize = 50;

/// The block test on every mesh, beside what the machine can do and what others need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TissueReport {
    /// One row a mesh.
    pub blocks: Vec<BlockRow>,
    /// Layers of other stiffness with a nodule.
    pub layers: Vec<LayersRow>,
    /// Limits of one core.
    pub machine: Roofline,
    /// Bytes that a cell moves in a sub-step, an estimate.
    pub bytes_per_cell: f64,
    /// Operations of a cell in a sub-step, an estimate.
    pub flops_per_cell: f64,
    /// Published numbers of other engines.
    pub peers: Vec<Peer>,
    /// Where those stand.
    pub peers_source: String,
}

/// One mesh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BlockRow {
    /// Nodes of an even mesh, `graded` for the scene `block`.
    pub name: String,
    /// Nodes that can move.
    pub nodes_free: usize,
    /// Cells.
    pub cells: usize,
    /// Sub-steps in a tick of 1 ms.
    pub substeps: u32,
    /// CPU time of a tick under contact.
    pub cpu: Stats,
    /// Wall time of a tick under contact.
    pub wall: Stats,
    /// Simulated time over CPU time.
    pub real_time_cpu: f64,
    /// Simulated time over wall time.
    pub real_time_wall: f64,
    /// Force at 1, 2, 5 and 10 mm, while it is pressed \[N\].
    pub force_n: [f64; 4],
    /// Its error against the converged force, as a share.
    pub force_error: [f64; 4],
    /// What the tissue's own estimate says of the mesh's part in the force there, as a share of it.
    pub error_estimate: [Option<f64>; 4],
    /// Bytes that model and state hold, by the counting allocator; unknown where that does not run.
    pub memory_bytes: Option<u64>,
    /// Time to build grids, materials and model \[s\].
    pub build_s: f64,
    /// Median CPU time over cells and sub-steps, contact and books included \[ns\].
    pub ns_per_cell: f64,
    /// The least that it could be.
    pub bound: Bound,
    /// Fastest other engine with all nodes free at steps of 1 ms: CPU time of a simulated millisecond
    /// over ours. Unknown for a mesh that is not in the tables.
    pub peer_over_ours_1ms: Option<f64>,
    /// The same at the best step of every engine.
    pub peer_over_ours_best: Option<f64>,
    /// What is wanted of this mesh.
    pub goals: Vec<Goal>,
}

/// Measures all meshes.
///
/// # Errors
/// [`BenchError`] if the scene or a mesh is refused, or `stop` is set.
pub fn tissue(stop: &AtomicBool) -> Result<TissueReport, BenchError> {
    let scene = scene::load("block")?;
    let Body::Block(graded) = scene.body else {
        return Err(BenchError::Scene(scene::SceneError::Unknown {
            name: "block".to_owned(),
        }));
    };
    let (machine, peers) = (Roofline::measure(), peers::peers());
    let mut meshes: Vec<(String, Block, usize)> = peers::NODES
        .into_iter()
        .zip([8_u32, 12, 20, 30])
        .map(|(nodes, edges)| (nodes.to_string(), even(&graded, edges), nodes))
        .collect();
    meshes.push(("graded".to_owned(), graded, 0));
    let mut blocks = Vec::new();
    for (name, block, nodes) in meshes {
        let row = measure(&name, &block, &machine, stop)?;
        blocks.push(beside(row, &peers, nodes));
    }
    Ok(TissueReport {
        blocks,
        layers: layers::layers(stop)?,
        machine,
        bytes_per_cell: BYTES_PER_CELL,
        flops_per_cell: FLOPS_PER_CELL,
        peers,
        peers_source: peers::SOURCE.to_owned(),
    })
}

/// The same block on even cells, so many along every edge.
fn even(graded: &Block, edges: u32) -> Block {
    let mut block = graded.clone();
    block.zone.cell_m = block.size_m[0] / f64::from(edges);
    block.zone.levels = 1;
    block
}

/// What one press took and gave.
pub(super) struct Pressed {
    pub(super) cpu: Vec<palpate_transport::Span>,
    pub(super) wall: Vec<palpate_transport::Span>,
    pub(super) force_n: [f64; 4],
    /// What the mesh does to them, where the tissue estimates it.
    pub(super) error_n: [Option<f64>; 4],
}

fn measure(
    name: &str,
    block: &Block,
    machine: &Roofline,
    stop: &AtomicBool,
) -> Result<BlockRow, BenchError> {
    go_on(stop)?;
    let (before, begun) = (held_bytes(), now());
    let mut tissue = {
        let (nested, stuff) = block.grids()?;
        Explicit::new(&nested, &stuff, &block.params)?
    };
    let build_s = (now() - begun).s();
    // without the counting allocator nothing is ever held
    let memory_bytes = u64::try_from(held_bytes() - before).ok().filter(|&b| b > 0);
    let pressed = press(&mut tissue, stop)?;
    let seconds = |spans: &[palpate_transport::Span]| spans.iter().map(|s| s.s()).sum::<f64>();
    let simulated_s = PERIOD.s() * pressed.cpu.len() as f64;
    let (cpu_s, wall_s) = (seconds(&pressed.cpu), seconds(&pressed.wall));
    let cpu = Stats::of(&pressed.cpu).unwrap_or_default();
    let (cells, substeps) = (tissue.caps().elements, substeps(&tissue));
    let pairs = pressed.force_n.iter().zip(REFERENCE_N);
    let mut force_error = [0.0; 4];
    for (error, (force_n, reference_n)) in force_error.iter_mut().zip(pairs) {
        *error = force_n / reference_n - 1.0;
    }
    let error_estimate = std::array::from_fn(|at| {
        let share = pressed.error_n[at].map(|error_n| error_n / pressed.force_n[at]);
        share.filter(|share| share.is_finite())
    });
    Ok(BlockRow {
        name: name.to_owned(),
        nodes_free: tissue.caps().nodes,
        cells,
        substeps,
        cpu,
        wall: Stats::of(&pressed.wall).unwrap_or_default(),
        real_time_cpu: simulated_s / cpu_s,
        real_time_wall: simulated_s / wall_s,
        force_n: pressed.force_n,
        force_error,
        error_estimate,
        memory_bytes,
        build_s,
        ns_per_cell: cpu.us_p50 * 1e3 / (cells as f64 * f64::from(substeps)),
        bound: machine.bound(cells),
        peer_over_ours_1ms: None,
        peer_over_ours_best: None,
        goals: Vec::new(),
    })
}

/// Fewest steps that the finest cells bear in a tick.
pub(super) fn substeps(tissue: &Explicit) -> u32 {
    (PERIOD.s() / tissue.substep_s()).ceil().max(1.0) as u32
}

/// Presses with a ball of 5 mm in the middle and holds it there.
pub(super) fn press(tissue: &mut Explicit, stop: &AtomicBool) -> Result<Pressed, BenchError> {
    let mut reaction = [Reaction::default()];
    let mut pressed = Pressed {
        cpu: Vec::with_capacity(TICKS as usize),
        wall: Vec::with_capacity(TICKS as usize),
        force_n: [0.0; 4],
        error_n: [None; 4],
    };
    for tick in 0..=TICKS {
        go_on(stop)?;
        let depth_m = DOWN_M * f64::from(tick.min(PRESS_TICKS));
        let tool = palpate_twin::Tool {
            position_m: Vec3::new(0.0, 0.0, 5e-3 - depth_m),
            velocity_mps: Vec3::zeros(),
            radius_m: 5e-3,
            stiffness_npm: 1e9,
            shaft_m: Vec3::zeros(),
            side_m: Vec3::zeros(),
            instrument: palpate_twin::Instrument::Blunt,
            jaws: None,
        };
        let (wall, cpu) = (now(), thread_cpu_now());
        tissue.step(&[tool], PERIOD.s(), &mut reaction);
        pressed.cpu.push(thread_cpu_now() - cpu);
        pressed.wall.push(now() - wall);
        for (at, depth_mm) in DEPTHS_MM.into_iter().enumerate() {
            if tick == 50 * depth_mm {
                pressed.force_n[at] = reaction[0].force_n.z;
                pressed.error_n[at] = reaction[0].error_n;
            }
        }
    }
    pressed.cpu.drain(..WARM_TICKS);
    pressed.wall.drain(..WARM_TICKS);
    Ok(pressed)
}

fn beside(mut row: BlockRow, peers: &[Peer], nodes: usize) -> BlockRow {
    let ours_ms = 1.0 / row.real_time_cpu;
    let ratio = |step| peers::fastest(peers, nodes, step).map(|(_, ms)| ms / ours_ms);
    (row.peer_over_ours_1ms, row.peer_over_ours_best) = (ratio("1"), ratio("best"));
    row.goals = goals(&row);
    row
}

/// What is wanted of a row, once it stands beside the others (issue 3, "what must hold").
fn goals(row: &BlockRow) -> Vec<Goal> {
    let worst = row.force_error.iter().fold(0.0_f64, |a, e| a.max(e.abs()));
    let mut goals = match row.name.as_str() {
        "graded" => vec![
            Goal::at_most("CPU of a tick, p50", row.cpu.us_p50, 500.0, "us"),
            Goal::at_most("CPU of a tick, p99", row.cpu.us_p99, 750.0, "us"),
            Goal::at_most("largest error of the force", 100.0 * worst, 3.0, "%"),
        ],
        "9261" => vec![Goal::at_most(
            "CPU of a tick, p99",
            row.cpu.us_p99,
            400.0,
            "us",
        )],
        _ => Vec::new(),
    };
    if let Some(ratio) = row.peer_over_ours_1ms {
        let name = "fastest other engine's CPU over ours";
        goals.push(Goal::at_least(name, ratio, 20.0, ""));
    }
    goals
}

impl BlockRow {
    /// A line of the table.
    fn line(&self) -> String {
        let errors = self.force_error.map(|e| format!("{:+.1}", 100.0 * e));
        let estimates = self
            .error_estimate
            .map(|e| e.map_or("?".to_owned(), |e| format!("{:.0}", 100.0 * e)));
        let memory = self
            .memory_bytes
            .map_or("?".to_owned(), |b| format!("{:.1}", b as f64 * 1e-6));
        let bound = format!("{:.1} {}", self.bound.ns_per_cell, self.bound.by);
        format!(
            "{:<10}{:>7}{:>7}{:>4}{:>8.0}{:>8.0}{:>8.0}{:>8.0}{:>9.2}{:>7.2}{:>26}{:>12}{memory:>6}\
             {:>9.1}{:>16}\n",
            self.name,
            self.nodes_free,
            self.cells,
            self.substeps,
            self.cpu.us_p50,
            self.cpu.us_p99,
            self.wall.us_p50,
            self.wall.us_p99,
            self.real_time_cpu,
            self.real_time_wall,
            errors.join(" "),
            estimates.join(" "),
            self.ns_per_cell,
            bound,
        )
    }
}

impl TissueReport {
    /// As a table for people; times in microseconds unless said otherwise.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = format!(
            "{:<10}{:>7}{:>7}{:>4}{:>8}{:>8}{:>8}{:>8}{:>9}{:>7}{:>26}{:>12}{:>6}{:>9}{:>16}\n",
            "block test",
            "free n",
            "cells",
            "sub",
            "cpu p50",
            "p99",
            "wall",
            "p99",
            "rtf cpu",
            "wall",
            "force 1/2/5/10 mm [%]",
            "estimated",
            "MB",
            "ns/cell",
            "bound"
        );
        for row in &self.blocks {
            text += &row.line();
        }
        let Roofline {
            l2_gbps,
            l3_gbps,
            peak_gflops,
        } = self.machine;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "one core: triad {l2_gbps:.0} GB/s in L2, {l3_gbps:.0} in L3, {peak_gflops:.0} GFLOP/s; a cell \
             and sub-step {:.0} B and {:.0} FLOP (estimated)",
            self.bytes_per_cell, self.flops_per_cell
        );
        for row in &self.layers {
            text += &row.line();
        }
        text += "what is wanted:\n";
        for row in &self.blocks {
            text += &goal::lines(&row.name, &row.goals);
        }
        for row in &self.layers {
            text += &goal::lines(&row.name, &row.goals);
        }
        text + &self.peer_lines()
    }

    /// Everything that is wanted of it.
    pub fn goals(&self) -> impl Iterator<Item = &Goal> {
        let blocks = self.blocks.iter().flat_map(|row| &row.goals);
        blocks.chain(self.layers.iter().flat_map(|row| &row.goals))
    }

    fn peer_lines(&self) -> String {
        let mut text = format!("other engines: {}\n", self.peers_source);
        for row in &self.blocks {
            let nodes = row.name.parse().unwrap_or(0);
            let words = |step: &str, ratio: Option<f64>| {
                let (engine, ms) = peers::fastest(&self.peers, nodes, step)?;
                Some(format!("{engine} {ms:.3} ms, {:.0} times ours", ratio?))
            };
            let pair =
                words("1", row.peer_over_ours_1ms).zip(words("best", row.peer_over_ours_best));
            if let Some((at_1ms, best)) = pair {
                let _ = writeln!(
                    text,
                    "  {:<8}CPU of a simulated ms {:.3} ms; at 1 ms steps {at_1ms}; at the best step {best}",
                    row.name,
                    1.0 / row.real_time_cpu
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Roofline = Roofline {
        l2_gbps: 140.0,
        l3_gbps: 70.0,
        peak_gflops: 362.0,
    };

    fn coarse() -> BlockRow {
        let Body::Block(graded) = scene::load("block").expect("built in").body else {
            panic!("no block");
        };
        let stop = AtomicBool::new(false);
        let block = even(&graded, 8);
        measure("729", &block, &MACHINE, &stop).expect("fits")
    }

    #[test]
    fn the_coarsest_mesh_is_measured_whole() {
        let row = coarse();
        assert_eq!((row.cells, row.nodes_free), (512, 648));
        assert!((1..=4).contains(&row.substeps), "{}", row.substeps);
        assert_eq!(row.cpu.samples, TICKS as usize + 1 - WARM_TICKS);
        // cells of 12.5 mm are too stiff under a ball of 5 mm, the less the deeper it is
        let [_, shallow, _, deep] = row.force_error;
        assert!(row.force_n[0] > 0.0 && row.force_n.is_sorted(), "{row:?}");
        assert!(
            shallow > 0.2 && shallow < 3.0 && deep < shallow && deep > -0.2,
            "{row:?}"
        );
        // and their own estimate says so
        assert!(
            row.error_estimate.is_sorted_by(|a, b| a >= b) && row.error_estimate[1] > Some(0.1)
        );
        assert!(row.real_time_cpu > 0.0 && row.ns_per_cell > 0.0);
    }

    #[test]
    fn the_table_names_meshes_limits_and_where_others_come_from() {
        let peers = peers::peers();
        let mut row = beside(coarse(), &peers, 729);
        row.real_time_cpu = 100.0;
        let row = beside(row, &peers, 729);
        assert_eq!(row.peer_over_ours_1ms.map(f64::round), Some(29.0));
        let report = TissueReport {
            blocks: vec![row],
            layers: Vec::new(),
            machine: MACHINE,
            bytes_per_cell: BYTES_PER_CELL,
            flops_per_cell: FLOPS_PER_CELL,
            peers,
            peers_source: peers::SOURCE.to_owned(),
        };
        let table = report.table();
        assert!(report.goals().count() == 1 && report.goals().all(|goal| goal.held));
        let mut slow = report.blocks[0].clone();
        slow.peer_over_ours_1ms = Some(1.0);
        let missed = goals(&slow);
        assert!(missed.len() == 1 && !missed[0].held, "{missed:?}");
        for word in ["729", "GFLOP/s", "another machine", "29 times ours", "held"] {
            assert!(table.contains(word), "{word} is not in\n{table}");
        }
        let json = serde_json::to_string(&report).expect("writable");
        let read: TissueReport = serde_json::from_str(&json).expect("readable");
        assert_eq!(read.peers.len(), report.peers.len());
        assert_eq!(read.blocks[0].cells, 512);
    }
}
