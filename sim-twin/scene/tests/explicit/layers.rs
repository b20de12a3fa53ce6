//! Layers of the default twin against the offline truth.

use palpate_scene::load;

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
