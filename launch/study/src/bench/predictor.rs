//! Condensed predictor: time to condense a table of some 30 000 nodes, and to answer from it.
//!
//! Source: the specification of tissue engines, goal 4. The block of the block test, with the most faces
//! that a scene's table has (34 by 34), graded to its sides. The cost of an answer does not depend on the
//! interior.

use std::sync::atomic::AtomicBool;

use palpate_analysis::Failure;
use palpate_fem::{ComplianceTable, ContactSolver, ContactSphere, Patch, Solid};
use palpate_geometry::mesh::grading::Grading;
use palpate_geometry::mesh::hex::HexMesh;
use palpate_session::stat::spans::DurationStats;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::Vec3;
use palpate_twin::law::{LawFamily, Material};
use serde::Serialize;

use super::goal::{self, BenchGoal};
use super::now;
use crate::abort::{Abort, check_stop, refusal};

/// Edge of the cube \[m\].
const SIZE_M: f64 = 0.1;
/// Half of the patch's edge \[m\]: 34 faces of a millimetre.
const HALF_M: f64 = 0.017;
/// Radius of the ball \[m\].
const RADIUS_M: f64 = 5e-3;
/// Timed answers for each motion.
const ANSWERS: usize = 20_000;
/// Answers between two checks of `stop`.
const ANSWERS_PER_CHECK: usize = 1000;

/// Costs of the predictor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PredictorReport {
    /// Nodes of the mesh that was condensed.
    pub nodes: usize,
    /// Faces of its patch.
    pub faces: usize,
    /// Memory of the table \[bytes\].
    pub memory_bytes: usize,
    /// CPU time of condensing it, on one thread \[s\].
    pub condense_s: f64,
    /// Wall time of an answer for a ball that moves within the patch like a hand.
    pub wandering: DurationStats,
    /// Wall time for a ball at random places: on the patch, off it, too deep.
    pub anywhere: DurationStats,
    /// Goals of the costs.
    pub goals: Vec<BenchGoal>,
}

/// Condenses a table and times its answers.
///
/// # Errors
/// If there is no table, or `stop` is set.
pub(crate) fn predictor(stop: &AtomicBool) -> Result<PredictorReport, Abort> {
    check_stop(stop)?;
    let (solid, mesh) = block(1e-3, 1.5)?;
    let patch = Patch {
        centre_m: [0.5 * SIZE_M; 2],
        half_m: [HALF_M; 2],
    };
    let started = thread_cpu_now();
    let table = ComplianceTable::new(&solid, &mesh, patch).map_err(invalid)?;
    let condense_s = (thread_cpu_now() - started).s();
    time_answers(&table, condense_s, mesh.nodes_m.len(), stop)
}

fn invalid(error: impl std::fmt::Display) -> Failure {
    refusal(format!("the predictor's block: {error}"))
}

/// Block and mesh, with fine cells of `cell_m` that grow by `growth`.
fn block(cell_m: f64, growth: f64) -> Result<(Solid, HexMesh), Failure> {
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m,
        growth,
    };
    let across_m = grade(0.5 * SIZE_M - HALF_M, 0.5 * SIZE_M + HALF_M)
        .axis(SIZE_M)
        .map_err(invalid)?;
    let up_m = grade(SIZE_M - 4e-3, SIZE_M).axis(SIZE_M).map_err(invalid)?;
    let mesh = HexMesh::block([&across_m, &across_m, &up_m]).map_err(invalid)?;
    let material = Material::new(5e3, 0.45, 1e3).map_err(invalid)?;
    let moduli = vec![material.moduli(); mesh.cells.len()];
    Ok((Solid::new(&mesh, LawFamily::NeoHookean, &moduli), mesh))
}

fn time_answers(
    table: &ComplianceTable,
    condense_s: f64,
    nodes: usize,
    stop: &AtomicBool,
) -> Result<PredictorReport, Abort> {
    let mut state = 1_u64;
    let mut random = |low: f64, high: f64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        low + (high - low) * ((state >> 11) as f64 / (1_u64 << 53) as f64)
    };
    let wandering = timed(table, stop, |step| {
        let t_s = step as f64 * 1e-3;
        let (x_m, y_m) = (libm::sin(3.0 * t_s), libm::cos(2.0 * t_s));
        Vec3::new(x_m, y_m, -1.0 / 3.0 * (1.0 + libm::sin(5.0 * t_s))) * 3e-3
    })?;
    let anywhere = timed(table, stop, |_| {
        let reach_m = 1.5 * HALF_M;
        let (x_m, y_m) = (random(-reach_m, reach_m), random(-reach_m, reach_m));
        Vec3::new(x_m, y_m, random(-4e-3, 0.5e-3))
    })?;
    let memory_bytes = table.memory_bytes();
    let goals = vec![
        BenchGoal::at_most("answer to any pose, p99", anywhere.us_p99, 20.0, "us"),
        BenchGoal::at_most(
            "answer to a wandering hand, p99",
            wandering.us_p99,
            20.0,
            "us",
        ),
        BenchGoal::at_most("time to condense", condense_s, 30.0, "s"),
        BenchGoal::at_most("table", memory_bytes as f64 * 1e-6, 64.0, "MB"),
    ];
    Ok(PredictorReport {
        nodes,
        faces: table.faces(),
        memory_bytes,
        condense_s,
        wandering,
        anywhere,
        goals,
    })
}

/// Wall times of answers at poses relative to first contact with the centre of the patch.
fn timed(
    table: &ComplianceTable,
    stop: &AtomicBool,
    mut pose: impl FnMut(usize) -> Vec3,
) -> Result<DurationStats, Abort> {
    let touching = Vec3::new(0.5 * SIZE_M, 0.5 * SIZE_M, SIZE_M + RADIUS_M);
    let mut contacts = ContactSolver::default();
    let mut spans: Vec<Span> = Vec::with_capacity(ANSWERS);
    for step in 0..ANSWERS {
        if step % ANSWERS_PER_CHECK == 0 {
            check_stop(stop)?;
        }
        let ball = ContactSphere {
            centre_m: touching + pose(step),
            radius_m: RADIUS_M,
            stiffness_npm: f64::INFINITY,
        };
        // reading the thread's CPU clock costs a tenth of an answer
        let started = now();
        std::hint::black_box(contacts.press(table, &ball));
        spans.push(now() - started);
    }
    Ok(DurationStats::of(&spans).unwrap_or_default())
}

impl PredictorReport {
    /// Formats the result as lines.
    pub(crate) fn table(&self) -> String {
        let mut text = format!(
            "predictor: {} nodes, {} faces; an answer {:.1} us p50, {:.1} p99 to a hand, {:.1} and {:.1} to any pose\n",
            self.nodes,
            self.faces,
            self.wandering.us_p50,
            self.wandering.us_p99,
            self.anywhere.us_p50,
            self.anywhere.us_p99
        );
        text += &goal::lines("predictor", &self.goals);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_table_is_timed_and_meets_goals() {
        let (solid, mesh) = block(5e-3, 2.0).expect("a block");
        let patch = Patch {
            centre_m: [0.5 * SIZE_M; 2],
            half_m: [HALF_M; 2],
        };
        let table = ComplianceTable::new(&solid, &mesh, patch).expect("held");
        let stop = AtomicBool::new(false);
        let report = time_answers(&table, 0.1, mesh.nodes_m.len(), &stop).expect("answers");
        assert_eq!(report.anywhere.samples, ANSWERS);
        assert_eq!(report.goals.len(), 4);
        assert!(report.goals[2].held && report.goals[3].held, "{report:?}");
        assert!(report.table().contains("goal at most 64 MB: held"));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let stopped = time_answers(&table, 0.1, 1, &stop);
        assert!(matches!(stopped, Err(None)));
    }
}
