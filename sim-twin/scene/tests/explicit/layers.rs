//! Layers of the default twin against the offline truth.

use palpate_scene::{BallPress, PressMotion, Scene, SceneBody, load};

#[test]
fn the_default_twin_is_near_the_offline_truth_of_its_layers() {
    let scene = load("layered").expect("a scene");
    // `cargo run --release -p palpate-scene --example block -- truth layered 0.8`: 15 625 nodes of a
    // quarter, rigid sphere; 1 mm cells are within 3, 1 and 1 percent of it
    let truth = [
        (2e-3, 0.0935, 0.27),
        (4e-3, 0.3452, 0.1),
        (8e-3, 1.363, 0.06),
    ];
    for (depth_m, truth_n, bound) in truth {
        let force_n = scene
            .press_stiffness(&[[0.0; 2]], depth_m)
            .expect("it builds")[0]
            .force_n;
        let error = force_n / truth_n - 1.0;
        assert!(error.abs() < bound, "{depth_m} m: {force_n} N, {error:+.3}");
    }
}

/// Small block of two layers and what is added to it; `method` is the solver and `top` the law of its upper layer.
fn small(method: &str, top: &str, more: &str) -> Scene {
    load(&text(method, top, more)).expect("a scene")
}

/// Text of that block.
fn text(method: &str, top: &str, more: &str) -> String {
    let explicit = "substeps_max = 12\nstiff = \"mass\"\nfine_depth_m = 0.012\n";
    let implicit = "method = \"implicit\"\nfine_depth_m = 0.006\n";
    let own = if method == "fem" { explicit } else { implicit };
    format!(
        "name = \"own\"\n[block]\nsize_m = [0.06, 0.06, 0.024]\ncell_m = 0.0015\nlevels = 2\n{own}\
         fine_half_m = [0.012, 0.012]\ndamping_per_s = 30.0\n\
         [[layer]]\nyoung_pa = 12000.0\nthickness_m = 0.003\n{top}[[layer]]\nyoung_pa = 4000.0\n{more}\
         [tool]\nradius_m = 0.007\nstiffness_npm = 1e5\n"
    )
}

const PRESS: BallPress = BallPress {
    at_m: [0.0; 2],
    radius_m: 7e-3,
    depth_m: 4e-3,
};

fn force_n(scene: &Scene) -> f64 {
    scene
        .press(&PRESS, PressMotion::Slow)
        .expect("a press")
        .force_n
}

fn truth_n(scene: &Scene) -> f64 {
    let found = scene.press_truth(&PRESS, PressMotion::Slow);
    found.expect("an equilibrium").expect("a block").force_n
}

/// The law of both layers is that of the block: the same bits from the live model and the axial truth.
#[test]
fn the_law_of_every_layer_is_as_good_as_that_of_the_block() {
    let law = "law = \"yeoh\"\nyeoh = [8.0, 20.0]\n";
    let scene = |of_block: &str, of_layers: &str| {
        let mut text = text("fem", of_layers, "");
        text = text.replace("[block]\n", &format!("[block]\n{of_block}"));
        let bottom = "[[layer]]\nyoung_pa = 4000.0\n";
        load(&text.replace(bottom, &format!("{bottom}{of_layers}"))).expect("a scene")
    };
    let forces = |scene: &Scene| [force_n(scene), truth_n(scene)];
    let of_layers = forces(&scene("", law));
    assert_eq!(of_layers, forces(&scene(law, "")));
    assert_ne!(of_layers, forces(&scene("", "")));
}

#[test]
#[ignore = "takes minutes; not finished once"]
fn a_layer_with_its_own_law_has_the_converged_force_in_every_solver() {
    let plain_n = truth_n(&small("fem", "", ""));
    for top in [
        "law = \"yeoh\"\nyeoh = [8.0, 20.0]\n",
        "law = \"ogden\"\nogden = [[1.0, 14.0]]\n",
    ] {
        let truth_n = truth_n(&small("fem", top, ""));
        assert!(truth_n > 1.1 * plain_n, "{top}: {truth_n} {plain_n}");
        for method in ["fem", "implicit"] {
            let error = force_n(&small(method, top, "")) / truth_n - 1.0;
            assert!(error.abs() < 0.03, "{method}, {top}: {error:+.4}");
        }
    }
}

#[test]
#[ignore = "goal missed: a box is 3.3 % too soft on cells of 1.5 mm, 3.5 % on 1 mm"]
fn a_box_and_an_ellipsoid_have_the_converged_force() {
    let plain_n = truth_n(&small("fem", "", ""));
    let at = "[[inclusion]]\ncenter_m = [0.0, 0.0, -0.008]\nyoung_pa = 60000.0\n";
    for form in [
        "shape = \"box\"\nhalf_m = [0.006, 0.003, 0.002]\n",
        "shape = \"ellipsoid\"\nhalf_m = [0.003, 0.007, 0.003]\nturn_deg = 90.0\n",
    ] {
        let mut scene = small("fem", "", &format!("{at}{form}"));
        // cells of 1.5 mm are hardly worse
        if let SceneBody::Block(block) = &mut scene.body {
            block.zone.cell_m = 1e-3;
        }
        let truth_n = truth_n(&scene);
        let error = force_n(&scene) / truth_n - 1.0;
        assert!(truth_n > 1.06 * plain_n, "{form}: {truth_n} {plain_n}");
        assert!(error.abs() < 0.03, "{form}: {error:+.4}");
    }
}

#[test]
#[ignore = "takes minutes; not finished once"]
fn an_inclusion_with_its_own_law_has_it() {
    let at = "[[inclusion]]\ncenter_m = [0.0, 0.0, -0.006]\nyoung_pa = 4000.0\nradius_m = 0.004\n";
    let own = format!("{at}law = \"fung\"\nfung_growth = 12.0\n");
    for method in ["fem", "implicit"] {
        let [plain_n, own_n] = [at, &own].map(|more| force_n(&small(method, "", more)));
        assert!(own_n > 1.02 * plain_n, "{method}: {plain_n} {own_n}");
    }
}
