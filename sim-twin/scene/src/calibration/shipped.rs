//! Depth maps of the built-in scenes, computed once: `scenes/depth_maps.toml`.
//!
//! Source: ours. Each has the key of its scene, so that a scene that changes is calibrated anew. A test computes them
//! again; with `PALPATE_MAPS=write` it writes the file.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::super::Scene;
use palpate_fem::explicit::{DepthKnot, DepthMap};

const TEXT: &str = include_str!("../../scenes/depth_maps.toml");

/// File of maps.
#[derive(Debug, Default, Serialize, Deserialize)]
struct MapFile {
    #[serde(default)]
    map: Vec<MapEntry>,
}

/// Map of one scene; a knot is its depth, the four depths in the model, their slopes, and the doubt.
#[derive(Debug, Serialize, Deserialize)]
struct MapEntry {
    scene: String,
    key: String,
    node_m: [f64; 2],
    edge_m: [f64; 2],
    knots: Vec<[f64; 10]>,
}

/// Returns the shipped map of a key, for the tool of the scene.
pub(super) fn find(key: u64, scene: &Scene) -> Option<DepthMap> {
    static FILE: OnceLock<MapFile> = OnceLock::new();
    // the test below parses it
    let file = FILE.get_or_init(|| toml::from_str(TEXT).unwrap_or_default());
    let key = format!("{key:016x}");
    let entry = file.map.iter().find(|entry| entry.key == key)?;
    let knot = |row: &[f64; 10]| {
        let [depth_m, node, along, across, middle, a, b, c, d, doubt] = *row;
        DepthKnot {
            depth_m,
            model_m: [node, along, across, middle],
            slope: [a, b, c, d],
            doubt,
        }
    };
    Some(DepthMap {
        radius_m: scene.tool_radius_m,
        stiffness_npm: scene.tool_stiffness_npm,
        node_m: entry.node_m,
        edge_m: entry.edge_m,
        knots: entry.knots.iter().map(knot).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Calibrated;
    use crate::{built_in_names, load};

    fn row(knot: &DepthKnot) -> [f64; 10] {
        let [node, along, across, middle] = knot.model_m;
        let [a, b, c, d] = knot.slope;
        [
            knot.depth_m,
            node,
            along,
            across,
            middle,
            a,
            b,
            c,
            d,
            knot.doubt,
        ]
    }

    #[test]
    fn shipped_maps_are_those_of_the_scenes() {
        let mut file = MapFile::default();
        for name in built_in_names() {
            let scene = load(name).unwrap();
            let Some(Calibrated { key, block }) = scene.calibrated() else {
                continue;
            };
            let map = block.calibrate(scene.tool_radius_m, scene.tool_stiffness_npm);
            let map = map.unwrap().expect("a map");
            file.map.push(MapEntry {
                scene: name.to_owned(),
                key: format!("{key:016x}"),
                node_m: map.node_m,
                edge_m: map.edge_m,
                knots: map.knots.iter().map(row).collect(),
            });
        }
        if std::env::var("PALPATE_MAPS").is_ok_and(|value| value == "write") {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenes/depth_maps.toml");
            std::fs::write(path, toml::to_string(&file).unwrap()).unwrap();
            return;
        }
        let shipped: MapFile = toml::from_str(TEXT).unwrap();
        assert_eq!(shipped.map.len(), file.map.len());
        for (shipped, own) in shipped.map.iter().zip(&file.map) {
            assert_eq!((&shipped.scene, &shipped.key), (&own.scene, &own.key));
            for (shipped, own) in shipped.knots.iter().zip(&own.knots) {
                for (shipped, own) in shipped.iter().zip(own) {
                    assert!((shipped - own).abs() < 1e-9, "{shipped} {own}");
                }
            }
        }
    }
}
