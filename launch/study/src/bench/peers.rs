//! Published times of other engines for the block test; this program never measures them.
//!
//! Source: the specification of tissue engines, tables 3.2 (ms a step at a step of 1 ms) and 3.3 (best
//! real-time factor at any step that stayed stable, here as its inverse), one thread each. They were
//! measured on another machine than the present one, so a ratio to them is an order of
//! magnitude only.

use serde::Serialize;

/// Nodes of the meshes of the tables.
pub(super) const NODES: [usize; 4] = [729, 2_197, 9_261, 29_791];

/// Source of the numbers.
pub(super) const SOURCE: &str =
    "specification of tissue engines, tables 3.2 and 3.3, measured on another machine";

/// One engine on the block test.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeerEngine {
    /// Engine and mode.
    engine: &'static str,
    /// Step \[ms\], or `best` for that with the best factor at each size.
    step: &'static str,
    /// CPU time of a simulated millisecond at `NODES` \[ms\].
    ms_per_ms: [f64; 4],
    /// True if all nodes are free: an engine of a few coarse cells does less work.
    whole: bool,
    /// Remark on validity.
    remark: &'static str,
}

/// Engines with the least time at some size, and those of a similar kind.
pub(super) const PEERS: [PeerEngine; 7] = [
    PeerEngine {
        engine: "SOFA fast corotational, CG",
        step: "1",
        ms_per_ms: [0.56, 1.80, 10.5, 37.9],
        whole: true,
        remark: "node contact; 0.095 N at 2 mm, slipped at 10 mm (9 261 nodes)",
    },
    PeerEngine {
        engine: "pyPBD FEM-XPBD, 1 iteration",
        step: "1",
        ms_per_ms: [0.29, 1.09, 6.5, 33.0],
        whole: true,
        remark: "0.121 and 0.221 N at 2 and 10 mm (729 nodes): the law collapses",
    },
    PeerEngine {
        engine: "MuJoCo 4 trilinear, 1 cell",
        step: "1",
        ms_per_ms: [0.041, 0.10, 0.40, 1.26],
        whole: false,
        remark: "12 free values; 1.85 and 8.55 N at 2 and 10 mm: 37 and 21 times too high",
    },
    PeerEngine {
        engine: "SOFA fast corotational, CG",
        step: "best",
        ms_per_ms: [1.0 / 14.6, 1.0 / 4.4, 1.0 / 0.57, 1.0 / 0.026],
        whole: true,
        remark: "steps of 10, 10, 10, 1 ms; 0.139 and 0.388 N at 2 and 10 mm (729), invalid from 9 261 nodes",
    },
    PeerEngine {
        engine: "SOFA neo-Hookean, CG",
        step: "best",
        ms_per_ms: [1.0 / 3.0, 1.0 / 0.88, 1.0 / 0.17, 1.0 / 0.011],
        whole: true,
        remark: "steps of 5, 5, 5, 1 ms; 0.061 and 0.392 N at 2 and 10 mm (9 261)",
    },
    PeerEngine {
        engine: "CHAI3D GEL",
        step: "best",
        ms_per_ms: [1.0 / 4.3, 1.0 / 1.3, 1.0 / 0.22, 1.0 / 0.060],
        whole: true,
        remark: "springs, no continuum; lost contact",
    },
    PeerEngine {
        engine: "NiftySim TLED",
        step: "best",
        ms_per_ms: [1.0 / 5.4, 1.0 / 0.80, 1.0 / 0.085, 1.0 / 0.010],
        whole: true,
        remark: "a node was driven; no contact",
    },
];

/// Fastest engine with all nodes free at a size of [`NODES`], at steps of 1 ms or at its
/// best step, and its CPU time of a simulated millisecond \[ms\].
pub(super) fn fastest(nodes: usize, step: &str) -> Option<(&'static str, f64)> {
    let column = NODES.iter().position(|&n| n == nodes)?;
    let fitting = PEERS.into_iter().filter(|p| p.whole && p.step == step);
    let least = fitting.min_by(|a, b| a.ms_per_ms[column].total_cmp(&b.ms_per_ms[column]))?;
    Some((least.engine, least.ms_per_ms[column]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fastest_engine_depends_on_size_and_step() {
        let (engine, ms) = fastest(9_261, "1").expect("a size of the table");
        assert_eq!((engine, ms), ("pyPBD FEM-XPBD, 1 iteration", 6.5));
        let (engine, ms) = fastest(29_791, "best").expect("a size of the table");
        assert_eq!(engine, "CHAI3D GEL");
        assert!((ms - 16.7).abs() < 0.1, "{ms}");
        assert_eq!(fastest(1000, "1"), None);
    }
}
