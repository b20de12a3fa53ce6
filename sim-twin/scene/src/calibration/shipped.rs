//! Depth maps of the built-in scenes, computed once: `scenes/depth_maps.toml`.
//!
//! Source: ours. Each has the key of its scene, so that a scene that changes is calibrated anew. A test computes them
//! again; another, which is ignored, prints the file.

use std::sync::OnceLock;

use serde::Deserialize;

use super::super::Scene;
use palpate_fem::explicit::{DepthKnot, DepthMap, PLACES};

const TEXT: &str = include_str!("../../scenes/depth_maps.toml");

/// Numbers of a knot.
const ROW: usize = 2 * PLACES + 2;

/// File of maps.
#[derive(Debug, Deserialize)]
struct MapFile {
    #[serde(default)]
    map: Vec<MapEntry>,
}

/// Map of one scene; a knot is its depth, the depths in the model, their slopes, and the doubt.
#[derive(Debug, Deserialize)]
struct MapEntry {
    key: String,
    node_m: [f64; 2],
    edge_m: [f64; 2],
    knots: Vec<[f64; ROW]>,
}

/// Returns the shipped map of a key, for the tool of the scene and the halves of the edges of its top \[m\].
pub(super) fn find(key: u64, scene: &Scene, half_m: [f64; 2]) -> Option<DepthMap> {
    static FILE: OnceLock<MapFile> = OnceLock::new();
    // a test parses it
    let file = FILE.get_or_init(|| toml::from_str(TEXT).expect("the file is built in"));
    let key = format!("{key:016x}");
    let entry = file.map.iter().find(|entry| entry.key == key)?;
    let knot = |row: &[f64; ROW]| {
        let [model_from, slope_from] = [1, 1 + PLACES];
        DepthKnot {
            depth_m: row[0],
            model_m: std::array::from_fn(|at| row[model_from + at]),
            slope: std::array::from_fn(|at| row[slope_from + at]),
            doubt: row[ROW - 1],
            // only scenes of elastic tissue have a shipped map
            contact_share: 0.0,
        }
    };
    Some(DepthMap {
        radius_m: scene.tool_radius_m,
        stiffness_npm: scene.tool_stiffness_npm,
        node_m: entry.node_m,
        edge_m: entry.edge_m,
        half_m,
        knots: entry.knots.iter().map(knot).collect(),
    })
}

#[cfg(test)]
mod tests;
