//! What other engines need for the block test: published numbers, never measured by this program.
//!
//! Source: the specification of tissue engines, tables 3.2 (ms a step at a step of 1 ms) and 3.3 (best
//! real-time factor at any step that stayed stable, here as its inverse), one thread each. They were
//! measured on another machine than the one this runs on, so a ratio to them says an order of
//! magnitude and no more.

use serde::{Deserialize, Serialize};

/// Nodes of the meshes of the tables.
pub(crate) const NODES: [usize; 4] = [729, 2_197, 9_261, 29_791];

/// Where the numbers stand.
pub const SOURCE: &str =
    "specification of tissue engines, tables 3.2 and 3.3, measured on another machine";

/// One engine on the block test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Engine and mode.
    pub engine: String,
    /// Step \[ms\], or `best` for that with the best factor at each size.
    pub step: String,
    /// CPU time of a simulated millisecond at `NODES` \[ms\].
    pub ms_per_ms: [f64; 4],
    /// Whether all nodes are free: an engine of a few coarse cells does other work.
    pub whole: bool,
    /// What must be known beside the time.
    pub remark: String,
}

/// An engine as a constant: name, step, times, whether all nodes are free, remark.
type Row = (&'static str, &'static str, [f64; 4], bool, &'static str);

const TABLE: [Row; 7] = [
    (
        "SOFA fast corotational, CG",
        "1",
        [0.56, 1.80, 10.5, 37.9],
        true,
        "node contact; 0.095 N at 2 mm, slipped at 10 mm (9 261 nodes)",
    ),
    (
        "pyPBD FEM-XPBD, 1 iteration",
        "1",
        [0.29, 1.09, 6.5, 33.0],
        true,
        "0.121 and 0.221 N at 2 and 10 mm (729 nodes): the law collapses",
    ),
    (
        "MuJoCo 4 trilinear, 1 cell",
        "1",
        [0.041, 0.10, 0.40, 1.26],
        false,
        "12 free values; 1.85 and 8.55 N at 2 and 10 mm: 37 and 21 times too high",
    ),
    (
        "SOFA fast corotational, CG",
        "best",
        [1.0 / 14.6, 1.0 / 4.4, 1.0 / 0.57, 1.0 / 0.026],
        true,
        "steps of 10, 10, 10, 1 ms; 0.139 and 0.388 N at 2 and 10 mm (729), invalid from 9 261 nodes",
    ),
    (
        "SOFA neo-Hookean, CG",
        "best",
        [1.0 / 3.0, 1.0 / 0.88, 1.0 / 0.17, 1.0 / 0.011],
        true,
        "steps of 5, 5, 5, 1 ms; 0.061 and 0.392 N at 2 and 10 mm (9 261)",
    ),
    (
        "CHAI3D GEL",
        "best",
        [1.0 / 4.3, 1.0 / 1.3, 1.0 / 0.22, 1.0 / 0.060],
        true,
        "springs, no continuum; lost contact",
    ),
    (
        "NiftySim TLED",
        "best",
        [1.0 / 5.4, 1.0 / 0.80, 1.0 / 0.085, 1.0 / 0.010],
        true,
        "a node was driven; no contact",
    ),
];

/// The engines with the least time at some size, and those nearest to them in kind.
#[must_use]
pub fn peers() -> Vec<Peer> {
    let peer = |&(engine, step, ms_per_ms, whole, remark): &Row| Peer {
        engine: engine.to_owned(),
        step: step.to_owned(),
        ms_per_ms,
        whole,
        remark: remark.to_owned(),
    };
    TABLE.iter().map(peer).collect()
}

/// The engine with all nodes free that is fastest at a size of [`NODES`], at steps of 1 ms or at its
/// best step, and its CPU time of a simulated millisecond \[ms\].
#[must_use]
pub(crate) fn fastest(peers: &[Peer], nodes: usize, step: &str) -> Option<(String, f64)> {
    let column = NODES.iter().position(|&n| n == nodes)?;
    let fitting = peers.iter().filter(|p| p.whole && p.step == step);
    let least = fitting.min_by(|a, b| a.ms_per_ms[column].total_cmp(&b.ms_per_ms[column]))?;
    Some((least.engine.clone(), least.ms_per_ms[column]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_is_told_by_size_and_step() {
        let peers = peers();
        let (engine, ms) = fastest(&peers, 9_261, "1").expect("a size of the table");
        assert_eq!((engine.as_str(), ms), ("pyPBD FEM-XPBD, 1 iteration", 6.5));
        let (engine, ms) = fastest(&peers, 29_791, "best").expect("a size of the table");
        assert_eq!(engine, "CHAI3D GEL");
        assert!((ms - 16.7).abs() < 0.1, "{ms}");
        assert_eq!(fastest(&peers, 1000, "1"), None);
    }
}
