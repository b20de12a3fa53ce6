//! Block test: cost of a tick of the explicit tissue, beside the resulting force.
//!
//! Source: the specification of tissue engines, section 3: a cube of 0.1 m (E = 5 kPa, nu = 0.45),
//! pressed 10 mm by a frictionless sphere of 5 mm within 0.5 s and held, on even cells of four
//! sizes and on the graded mesh of the scene `block`. Converged neo-Hookean forces from its table 3.1.

use palpate_analysis::Failure;
use palpate_fem::explicit::ExplicitTissue;
use palpate_scene as scene;
use palpate_scene::{Block, SceneBody};
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use palpate_session::run::allocation::held_bytes;
use palpate_session::stat::spans::DurationStats;
use palpate_transport::clock::{PERIOD, thread_cpu_now};
use palpate_twin::{Reaction, Tissue, Tool};
use serde::Serialize;

use super::goal::{self, BenchGoal};
use super::layers::{self, LayersRow};
use super::outside::{self, ReferenceRow};
use super::peers::{self, PeerEngine};
use super::roofline::{BYTES_PER_CELL, CellTimeBound, FLOPS_PER_CELL, Roofline};
use super::{ball, now};
use crate::abort::{Abort, check_stop, refusal};

/// Depths of the compared forces \[mm\].
pub(super) const DEPTHS_MM: [u32; 4] = [1, 2, 5, 10];
/// Converged forces there \[N\].
const REFERENCE_N: [f64; 4] = [0.0185, 0.0504, 0.1805, 0.4115];
/// Motion down per tick \[m\].
const DOWN_M: f64 = 2e-5;
/// Ticks until the whole depth is reached.
const PRESS_TICKS: u32 = 500;
/// Ticks in all: the press, and a hold.
const TICKS: u32 = 750;
/// First ticks that are not timed, until contact is complete.
const WARM_TICKS: usize = 50;

/// Block test on every mesh, with the limits of the machine and times of other engines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TissueReport {
    /// One row per mesh.
    pub blocks: Vec<BlockRow>,
    /// Layers of other stiffness with a nodule.
    pub layers: Vec<LayersRow>,
    /// Presses beside forces of an outside engine.
    pub reference: Vec<ReferenceRow>,
    /// Goals of those presses.
    pub reference_goals: Vec<BenchGoal>,
    /// Limits of one core.
    pub machine: Roofline,
    /// Bytes that a cell moves in a sub-step, an estimate.
    pub bytes_per_cell: f64,
    /// Operations of a cell in a sub-step, an estimate.
    pub flops_per_cell: f64,
    /// Published numbers of other engines.
    pub peers: [PeerEngine; 7],
    /// Source of those numbers.
    pub peers_source: &'static str,
}

/// Result of one mesh.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BlockRow {
    /// Number of nodes of an even mesh, `graded` for the scene `block`.
    pub name: String,
    /// Nodes that can move.
    pub nodes_free: usize,
    /// Cells.
    pub cells: usize,
    /// Sub-steps in a tick of 1 ms.
    pub substeps: u32,
    /// CPU time of a tick under contact.
    pub cpu: DurationStats,
    /// Wall time of a tick under contact.
    pub wall: DurationStats,
    /// Simulated time over CPU time.
    pub real_time_cpu: f64,
    /// Simulated time over wall time.
    pub real_time_wall: f64,
    /// Force at 1, 2, 5 and 10 mm, while it is pressed \[N\].
    pub force_n: [f64; 4],
    /// Relative error against the converged force.
    pub force_error: [f64; 4],
    /// Relative error of the force by the mesh, as the tissue estimates it.
    pub error_estimate: [Option<f64>; 4],
    /// Bytes of model and state, by the counting allocator; none if that is not active.
    pub memory_bytes: Option<u64>,
    /// Time to build grids, materials and model \[s\].
    pub build_s: f64,
    /// Median CPU time over cells and sub-steps, including contact and energy balance \[ns\].
    pub ns_per_cell: f64,
    /// Lower bound of that time.
    pub bound: CellTimeBound,
    /// CPU time of a simulated millisecond of the fastest other engine with all nodes free at steps of 1 ms,
    /// over that of Palpate. None for a mesh that is not in the tables.
    pub peer_over_ours_1ms: Option<f64>,
    /// The same ratio at the best step of every engine.
    pub peer_over_ours_best: Option<f64>,
    /// Goals of this mesh.
    pub goals: Vec<BenchGoal>,
}

/// Measures all meshes.
///
/// # Errors
/// If the scene or a mesh is refused, or `stop` is set.
pub(crate) fn tissue(stop: &AtomicBool) -> Result<TissueReport, Abort> {
    let graded = block("block", "block")?;
    let machine = Roofline::measure();
    let mut meshes: Vec<(String, Block)> = peers::NODES
        .into_iter()
        .zip([8_u32, 12, 20, 30])
        .map(|(nodes, edges)| (nodes.to_string(), even(&graded, edges)))
        .collect();
    meshes.push(("graded".to_owned(), graded));
    let row = |(name, block): (String, Block)| measure(name, &block, &machine, stop);
    let blocks = meshes.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let reference = outside::reference(stop)?;
    Ok(TissueReport {
        blocks,
        layers: layers::layers(stop)?,
        reference_goals: outside::goals(&reference),
        reference,
        machine,
        bytes_per_cell: BYTES_PER_CELL,
        flops_per_cell: FLOPS_PER_CELL,
        peers: peers::PEERS,
        peers_source: peers::SOURCE,
    })
}

/// The block of a scene, by its name or its text.
pub(super) fn block(scene: &str, name: &str) -> Result<Block, Failure> {
    match scene::load(scene).map_err(refusal)?.body {
        SceneBody::Block(block) => Ok(block),
        _ => {
            let name = name.to_owned();
            Err(refusal(scene::SceneError::Unknown { name }))
        }
    }
}

/// The same block on even cells, with a number of cells along every edge.
fn even(graded: &Block, edges: u32) -> Block {
    let mut block = graded.clone();
    block.zone.cell_m = block.size_m[0] / f64::from(edges);
    block.zone.levels = 1;
    block
}

/// Times and forces of one press.
pub(super) struct PressRun {
    pub(super) cpu: Vec<palpate_transport::Span>,
    pub(super) wall: Vec<palpate_transport::Span>,
    pub(super) force_n: [f64; 4],
    /// Force errors by the mesh, if the tissue estimates them.
    pub(super) error_n: [Option<f64>; 4],
}

fn measure(
    name: String,
    block: &Block,
    machine: &Roofline,
    stop: &AtomicBool,
) -> Result<BlockRow, Abort> {
    check_stop(stop)?;
    let (before, started) = (held_bytes(), now());
    let mut tissue = {
        let (nested, materials) = block.grids_and_materials().map_err(refusal)?;
        ExplicitTissue::new(&nested, &materials, &block.params).map_err(refusal)?
    };
    let build_s = (now() - started).s();
    // without the counting allocator the count is 0
    let memory_bytes = u64::try_from(held_bytes() - before).ok().filter(|&b| b > 0);
    let run = press(&mut tissue, stop)?;
    let seconds = |spans: &[palpate_transport::Span]| spans.iter().map(|s| s.s()).sum::<f64>();
    let simulated_s = PERIOD.s() * run.cpu.len() as f64;
    let (cpu_s, wall_s) = (seconds(&run.cpu), seconds(&run.wall));
    let cpu = DurationStats::of(&run.cpu).unwrap_or_default();
    let (cells, substeps) = (tissue.caps().elements, substeps(&tissue));
    let force_error = std::array::from_fn(|at| run.force_n[at] / REFERENCE_N[at] - 1.0);
    let error_estimate = std::array::from_fn(|at| {
        let share = run.error_n[at].map(|error_n| error_n / run.force_n[at]);
        share.filter(|share| share.is_finite())
    });
    Ok(with_peers(BlockRow {
        name,
        nodes_free: tissue.caps().nodes,
        cells,
        substeps,
        cpu,
        wall: DurationStats::of(&run.wall).unwrap_or_default(),
        real_time_cpu: simulated_s / cpu_s,
        real_time_wall: simulated_s / wall_s,
        force_n: run.force_n,
        force_error,
        error_estimate,
        memory_bytes,
        build_s,
        ns_per_cell: cpu.us_p50 * 1e3 / (cells as f64 * f64::from(substeps)),
        bound: machine.bound(cells),
        peer_over_ours_1ms: None,
        peer_over_ours_best: None,
        goals: Vec::new(),
    }))
}

/// Least number of steps that the finest cells need in a tick.
pub(super) fn substeps(tissue: &ExplicitTissue) -> u32 {
    (PERIOD.s() / tissue.substep_s()).ceil().max(1.0) as u32
}

/// Presses with a ball of 5 mm in the middle and holds it there.
pub(super) fn press(tissue: &mut ExplicitTissue, stop: &AtomicBool) -> Result<PressRun, Abort> {
    let mut reaction = [Reaction::default()];
    let mut run = PressRun {
        cpu: Vec::with_capacity(TICKS as usize),
        wall: Vec::with_capacity(TICKS as usize),
        force_n: [0.0; 4],
        error_n: [None; 4],
    };
    for tick in 0..=TICKS {
        check_stop(stop)?;
        let depth_m = DOWN_M * f64::from(tick.min(PRESS_TICKS));
        let tool = Tool {
            stiffness_npm: 1e9,
            ..ball(0.0, depth_m)
        };
        let (wall, cpu) = (now(), thread_cpu_now());
        tissue.step(&[tool], PERIOD.s(), &mut reaction);
        run.cpu.push(thread_cpu_now() - cpu);
        run.wall.push(now() - wall);
        for (at, depth_mm) in DEPTHS_MM.into_iter().enumerate() {
            if tick == 50 * depth_mm {
                run.force_n[at] = reaction[0].force_n.z;
                run.error_n[at] = reaction[0].mesh_error_n;
            }
        }
    }
    run.cpu.drain(..WARM_TICKS);
    run.wall.drain(..WARM_TICKS);
    Ok(run)
}

/// Adds the ratios to other engines, and the goals.
fn with_peers(mut row: BlockRow) -> BlockRow {
    let ours_ms = 1.0 / row.real_time_cpu;
    let ratio = |step| peers::fastest(row.nodes(), step).map(|(_, ms)| ms / ours_ms);
    (row.peer_over_ours_1ms, row.peer_over_ours_best) = (ratio("1"), ratio("best"));
    row.goals = goals(&row);
    row
}

/// Goals of a row, with its ratios to other engines (issue 3, "what must hold").
fn goals(row: &BlockRow) -> Vec<BenchGoal> {
    let worst = row.force_error.iter().fold(0.0_f64, |a, e| a.max(e.abs()));
    let mut goals = match row.name.as_str() {
        "graded" => vec![
            BenchGoal::at_most("CPU of a tick, p50", row.cpu.us_p50, 500.0, "us"),
            BenchGoal::at_most("CPU of a tick, p99", row.cpu.us_p99, 750.0, "us"),
            BenchGoal::at_most("largest error of the force", 100.0 * worst, 3.0, "%"),
        ],
        "9261" => vec![BenchGoal::at_most(
            "CPU of a tick, p99",
            row.cpu.us_p99,
            400.0,
            "us",
        )],
        _ => Vec::new(),
    };
    if let Some(ratio) = row.peer_over_ours_1ms {
        let name = "fastest other engine's CPU over ours";
        goals.push(BenchGoal::at_least(name, ratio, 20.0, ""));
    }
    goals
}

impl BlockRow {
    /// Nodes of the mesh as in the tables of other engines; 0 for one that is not in them.
    fn nodes(&self) -> usize {
        self.name.parse().unwrap_or(0)
    }

    /// Formats a line of the table.
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
    /// Formats the report as a table; times in microseconds unless stated otherwise.
    pub(crate) fn table(&self) -> String {
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
        // writing to a string cannot fail
        let _ = writeln!(
            text,
            "one core: triad {l2_gbps:.0} GB/s in L2, {l3_gbps:.0} in L3, {peak_gflops:.0} GFLOP/s; a cell \
             and sub-step {:.0} B and {:.0} FLOP (estimated)",
            self.bytes_per_cell, self.flops_per_cell
        );
        for row in &self.layers {
            text += &row.line();
        }
        text += &outside::table(&self.reference);
        text += "goals:\n";
        for row in &self.blocks {
            text += &goal::lines(&row.name, &row.goals);
        }
        for row in &self.layers {
            text += &goal::lines(&row.name, &row.goals);
        }
        text += &goal::lines("reference", &self.reference_goals);
        text + &self.peer_lines()
    }

    /// All goals.
    pub(crate) fn goals(&self) -> impl Iterator<Item = &BenchGoal> {
        let blocks = self.blocks.iter().flat_map(|row| &row.goals);
        let layers = self.layers.iter().flat_map(|row| &row.goals);
        blocks.chain(layers).chain(&self.reference_goals)
    }

    fn peer_lines(&self) -> String {
        let mut text = format!("other engines: {}\n", self.peers_source);
        for row in &self.blocks {
            let words = |step: &str, ratio: Option<f64>| {
                let (engine, ms) = peers::fastest(row.nodes(), step)?;
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
        let graded = block("block", "block").expect("built in");
        let stop = AtomicBool::new(false);
        let block = even(&graded, 8);
        measure("729".to_owned(), &block, &MACHINE, &stop).expect("fits")
    }

    #[test]
    fn coarsest_mesh_is_measured_completely() {
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
        // the tissue's estimate agrees
        assert!(
            row.error_estimate.is_sorted_by(|a, b| a >= b) && row.error_estimate[1] > Some(0.1)
        );
        assert!(row.real_time_cpu > 0.0 && row.ns_per_cell > 0.0);
    }

    #[test]
    fn table_names_meshes_limits_and_sources() {
        let mut row = coarse();
        row.real_time_cpu = 100.0;
        let row = with_peers(row);
        assert_eq!(row.peer_over_ours_1ms.map(f64::round), Some(29.0));
        let report = TissueReport {
            blocks: vec![row],
            layers: Vec::new(),
            reference: Vec::new(),
            reference_goals: Vec::new(),
            machine: MACHINE,
            bytes_per_cell: BYTES_PER_CELL,
            flops_per_cell: FLOPS_PER_CELL,
            peers: peers::PEERS,
            peers_source: peers::SOURCE,
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
        let json = serde_json::to_value(&report).expect("writable");
        assert_eq!(json["peers"][0]["step"], "1");
        assert_eq!(json["blocks"][0]["cells"], 512);
    }
}
