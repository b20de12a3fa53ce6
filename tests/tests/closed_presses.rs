//! Test of row S4-20 on all built-in scenes: a closed press never gives its user energy.

use palpate_scene as scene;
use palpate_scene::SceneBody;
use palpate_twin::{Reaction, Vec3};

/// Depth of a press \[m\], unless a tenth of the tool is less.
const DEPTH_M: f64 = 0.004;

/// Energies that the user spends on a press at a place and back \[J\]: with the force of each tick over the motion to it,
/// and with the force held over the motion to the next, as motors do.
fn spent_j(scene: &scene::Scene, place_m: [f64; 2]) -> [f64; 2] {
    let mut tissue = scene.build().expect("a tissue");
    let dt_s = tissue.caps().preferred_dt_s.max(1e-3);
    let rest_m = tissue.view().rest_m;
    let top_m = rest_m.iter().map(|at_m| at_m.z).fold(f64::MIN, f64::max);
    let depth_m = DEPTH_M.min(0.5 * scene.tool_radius_m);
    let (mut spent_j, mut force_n, mut reactions) = ([0.0; 2], 0.0, [Reaction::default()]);
    let mut z_m = top_m + scene.tool_radius_m + 0.001;
    for tick in 0..=1500 {
        let share = (f64::from(tick) / 750.0 - 1.0).abs();
        let next_m = top_m + scene.tool_radius_m + 0.001 - (depth_m + 0.001) * (1.0 - share);
        let step_m = next_m - z_m;
        z_m = next_m;
        spent_j[1] -= force_n * step_m;
        let at_m = Vec3::new(place_m[0], place_m[1], z_m);
        tissue.step(&[scene.tool_at(at_m)], dt_s, &mut reactions);
        force_n = reactions[0].force_n.z;
        spent_j[0] -= force_n * step_m;
    }
    spent_j
}

#[test]
fn s4_20_closed_press_of_every_built_in_scene_costs_its_user_energy() {
    for name in scene::built_in_names() {
        let scene = scene::load(name).expect("built in");
        if scene.method() == "implicit" {
            continue;
        }
        let springs = matches!(scene.body, SceneBody::Lattice { .. });
        let places_m = [[0.0, 0.0], [0.007, -0.011]];
        for place_m in &places_m[..1 + usize::from(springs)] {
            let [at_port_j, held_j] = spent_j(&scene, *place_m);
            assert!(at_port_j > 0.0, "{name} at {place_m:?}: {at_port_j} J");
            // the dampers of springs pay for a held force as well; elsewhere the energy tank of the session does
            if springs {
                assert!(held_j > 0.0, "{name} at {place_m:?}: {held_j} J held");
            }
        }
    }
}
