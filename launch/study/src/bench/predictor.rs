//! The condensed predictor: how long a table of some 30 000 nodes takes, and an answer from it.
//!
//! Source: the specification of tissue engines, goal 4. The block of the block test, with the most faces
//! that a scene's table has (34 by 34), graded to its sides. What an answer costs does not depend on what
//! lies inside.

use std::sync::atomic::AtomicBool;

use palpate_fem::{
    Ball, Compliance, ComplianceError, Contacts, Patch, Solid, SolidError, Support, Volumetric,
};
use palpate_geometry::mesh::grade::{GradeError, Grading};
use palpate_geometry::mesh::hex::{HexError, HexMesh, Side};
use palpate_session::stat::spans::Stats;
use palpate_transport::Span;
use palpate_transport::clock::thread_cpu_now;
use palpate_twin::Vec3;
use palpate_twin::law::{Family, Material, MaterialError};
use serde::{Deserialize, Serialize};

use super::goal::{self, Goal};
use super::{BenchError, go_on, now};

/// Edge of the cube \[m\].
const SIZE_M: f64 = 0.1;
/// Half of the patch's edge \[m\]: 34 faces of a millimetre.
const HALF_M: f64 = 0.017;
/// Radius of the ball \[m\].
const RADIUS_M: f64 = 5e-3;
/// Answers that are timed, in each way of moving.
const ANSWERS: usize = 20_000;
/// Poses between two looks at whether to go on.
const LOOK: usize = 1000;

/// What the predictor costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictorReport {
    /// Nodes of the mesh that was condensed.
    pub nodes: usize,
    /// Faces of its patch.
    pub faces: usize,
    /// Memory of the table \[bytes\].
    pub memory_bytes: usize,
    /// CPU time of condensing it, on one thread \[s\].
    pub condense_s: f64,
    /// Wall time of an answer to a ball that wanders in the patch as a hand does.
    pub wandering: Stats,
    /// The same to one that is anywhere from one answer to the next: on the patch, off it, too deep.
    pub anywhere: Stats,
    /// What is wanted of them.
    pub goals: Vec<Goal>,
}

/// Why there is no table to measure.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PredictorError {
    /// The mesh cannot be graded.
    #[error("the predictor's block: {0}")]
    Grade(#[from] GradeError),
    /// The mesh is unfit.
    #[error("the predictor's block: {0}")]
    Mesh(#[from] HexError),
    /// The material is none.
    #[error("the predictor's block: {0}")]
    Material(#[from] MaterialError),
    /// Mesh and material make no solid.
    #[error("the predictor's block: {0}")]
    Solid(#[from] SolidError),
    /// It cannot be condensed.
    #[error("the predictor's block: {0}")]
    Compliance(#[from] ComplianceError),
}

/// Condenses and asks.
///
/// # Errors
/// [`BenchError`] if there is no table, or `stop` is set.
pub fn predictor(stop: &AtomicBool) -> Result<PredictorReport, BenchError> {
    go_on(stop)?;
    let (solid, mesh) = block(1e-3, 1.5).map_err(BenchError::Predictor)?;
    let patch = Patch {
        centre_m: [0.5 * SIZE_M; 2],
        half_m: [HALF_M; 2],
    };
    let begun = thread_cpu_now();
    let table = Compliance::new(&solid, &mesh, patch).map_err(PredictorError::Compliance);
    let table = table.map_err(BenchError::Predictor)?;
    let condense_s = (thread_cpu_now() - begun).s();
    asked(&table, condense_s, mesh.nodes_m.len(), stop)
}

/// The block and its mesh, with fine cells of `cell_m` that grow by `growth`.
fn block(cell_m: f64, growth: f64) -> Result<(Solid, HexMesh), PredictorError> {
    let grade = |from_m, to_m| Grading {
        from_m,
        to_m,
        cell_m,
        growth,
    };
    let across_m = grade(0.5 * SIZE_M - HALF_M, 0.5 * SIZE_M + HALF_M).axis(SIZE_M)?;
    let up_m = grade(SIZE_M - 4e-3, SIZE_M).axis(SIZE_M)?;
    let mesh = HexMesh::block([&across_m, &across_m, &up_m])?;
    let moduli = vec![Material::new(5e3, 0.45, 1e3)?.moduli(); mesh.cells.len()];
    let held = [Support::Fixed(Side::ZMin)];
    let law = (Family::NeoHookean, &moduli[..]);
    let solid = Solid::new(&mesh, law, &held, Volumetric::Mean)?;
    Ok((solid, mesh))
}

fn asked(
    table: &Compliance,
    condense_s: f64,
    nodes: usize,
    stop: &AtomicBool,
) -> Result<PredictorReport, BenchError> {
    let mut dice = 1_u64;
    let mut random = |low: f64, high: f64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        low + (high - low) * ((dice >> 11) as f64 / (1_u64 << 53) as f64)
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
        Goal::at_most("answer to any pose, p99", anywhere.us_p99, 20.0, "us"),
        Goal::at_most(
            "answer to a wandering hand, p99",
            wandering.us_p99,
            20.0,
            "us",
        ),
        Goal::at_most("time to condense", condense_s, 30.0, "s"),
        Goal::at_most("table", memory_bytes as f64 * 1e-6, 64.0, "MB"),
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

/// Wall time of answers at poses from just touching the middle of the patch.
fn timed(
    table: &Compliance,
    stop: &AtomicBool,
    mut pose: impl FnMut(usize) -> Vec3,
) -> Result<Stats, BenchError> {
    let touching = Vec3::new(0.5 * SIZE_M, 0.5 * SIZE_M, SIZE_M + RADIUS_M);
    let mut contacts = Contacts::default();
    let mut spans: Vec<Span> = Vec::with_capacity(ANSWERS);
    for step in 0..ANSWERS {
        if step % LOOK == 0 {
            go_on(stop)?;
        }
        let ball = Ball {
            centre_m: touching + pose(step),
            radius_m: RADIUS_M,
            stiffness_npm: f64::INFINITY,
        };
        // the clock of the thread costs a tenth of an answer
        let begun = now();
        std::hint::black_box(contacts.press(table, &ball));
        spans.push(now() - begun);
    }
    Ok(Stats::of(&spans).unwrap_or_default())
}

impl PredictorReport {
    /// As lines for people.
    #[must_use]
    pub fn table(&self) -> String {
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
    fn a_small_table_is_asked_and_judged() {
        let (solid, mesh) = block(5e-3, 2.0).expect("a block");
        let patch = Patch {
            centre_m: [0.5 * SIZE_M; 2],
            half_m: [HALF_M; 2],
        };
        let table = Compliance::new(&solid, &mesh, patch).expect("held");
        let stop = AtomicBool::new(false);
        let report = asked(&table, 0.1, mesh.nodes_m.len(), &stop).expect("answers");
        assert_eq!(report.anywhere.samples, ANSWERS);
        assert_eq!(report.goals.len(), 4);
        assert!(report.goals[2].held && report.goals[3].held, "{report:?}");
        assert!(report.table().contains("goal at most 64 MB: held"));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        let stopped = asked(&table, 0.1, 1, &stop);
        assert!(matches!(stopped, Err(BenchError::Stopped)));
    }
}
