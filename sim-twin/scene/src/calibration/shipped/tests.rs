//! The shipped maps are those of the scenes.

use super::*;
use crate::calibration::Calibrated;
use crate::{built_in_names, load};

fn row(knot: &DepthKnot) -> [f64; ROW] {
    let mut numbers = [knot.depth_m]
        .into_iter()
        .chain(knot.model_m)
        .chain(knot.slope)
        .chain([knot.doubt]);
    std::array::from_fn(|_| numbers.next().expect("as many as a row has"))
}

/// Ball of a session without flags: radius \[m\] and stiffness \[N/m\].
const SESSION_BALL: (f64, f64) = (0.008, 3000.0);

/// Scenes that are calibrated, each with its own ball and that of a session.
fn calibrated() -> Vec<(Scene, Calibrated)> {
    let scenes = built_in_names().into_iter().map(|name| load(name).unwrap());
    let both = scenes.flat_map(|scene| {
        let (radius_m, stiffness_npm) = SESSION_BALL;
        let touched = scene.clone().with_tool(radius_m, stiffness_npm);
        [scene, touched]
    });
    let found = both.filter_map(|scene| scene.calibrated().map(|own| (scene, own)));
    found.collect()
}

fn entry(scene: &Scene, own: &Calibrated) -> MapEntry {
    let map = own.block.calibrate(scene, own.viscous);
    let map = map.unwrap().expect("a map");
    MapEntry {
        key: format!("{:016x}", own.key),
        node_m: map.node_m,
        edge_m: map.edge_m,
        knots: map.knots.iter().map(row).collect(),
    }
}

fn text(scene: &str, entry: &MapEntry) -> String {
    let MapEntry {
        key,
        node_m,
        edge_m,
        knots,
    } = entry;
    let numbers = |knot: &[f64; ROW]| knot.map(|number| format!("{number:.8e}")).join(", ");
    let knots: String = knots
        .iter()
        .map(|knot| format!("    [{}],\n", numbers(knot)))
        .collect();
    format!(
        "\n[[map]]\nscene = \"{scene}\"\nkey = \"{key}\"\nnode_m = {node_m:?}\nedge_m = {edge_m:?}\nknots = [\n{knots}]\n"
    )
}

#[test]
fn shipped_maps_are_those_of_the_scenes() {
    let scenes = calibrated();
    let shipped: MapFile = toml::from_str(TEXT).unwrap();
    let keys = scenes.iter().map(|(_, own)| format!("{:016x}", own.key));
    let entries = shipped.map.iter().map(|entry| entry.key.clone());
    assert_eq!(keys.collect::<Vec<_>>(), entries.collect::<Vec<_>>());
    // the others take long: a change of the computation changes this one
    let (scene, own) = &scenes[1];
    let (shipped, own) = (&shipped.map[1], entry(scene, own));
    assert_eq!(scene.name, "layered");
    assert_eq!(shipped.knots.len(), own.knots.len());
    for (shipped, own) in shipped.knots.iter().zip(&own.knots) {
        // forces are in single precision
        for (at, (shipped, own)) in shipped.iter().zip(own).enumerate() {
            let scale = if at < ROW - 1 { own.abs() } else { 1.0 };
            assert!((shipped - own).abs() < 1e-3 * scale, "{shipped} {own}");
        }
    }
}

#[test]
#[ignore = "takes minutes: prints the file"]
fn print_maps() {
    println!(
        "# Depth maps of the built-in scenes; calibration/shipped.rs says what they are; its test `print_maps` prints them."
    );
    for (scene, own) in &calibrated() {
        print!("{}", text(&scene.name, &entry(scene, own)));
    }
}
