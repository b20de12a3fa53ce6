//! Stiff cells among soft ones with few sub-steps: added mass must withstand a deep press.

use super::*;
use palpate_scene::{SceneBody, load};

/// Scene `block-nodule` with a larger nodule and few sub-steps.
fn nodule(radius_m: f64, substeps_max: u32) -> ExplicitTissue {
    let SceneBody::Block(mut block) = load("block-nodule").expect("a scene").body else {
        panic!("the scene is a block")
    };
    block.inclusions[0].radius_m = radius_m;
    block.params.substeps_max = substeps_max;
    let (nested, stuff) = block.grids_and_materials().expect("it builds");
    ExplicitTissue::new(&nested, &stuff, &block.params).expect("it builds")
}

#[test]
fn soft_cells_between_tool_and_nodule_do_not_collapse() {
    // collapsed at 16, at the end of the press
    for substeps_max in [8, 16, 24] {
        let mut tissue = nodule(7.5e-3, substeps_max);
        let mut held_n = 0.0;
        for step in 0..400 {
            let depth_m = (2e-5 * f64::from(step)).min(5e-3);
            held_n = tick(&mut tissue, ball([0.0, 0.0, 5e-3 - depth_m], 5e-3))
                .force_n
                .z;
        }
        assert_eq!(tissue.collapses(), 0, "{substeps_max}");
        // as with enough sub-steps
        assert!(
            (held_n / 0.325 - 1.0).abs() < 0.02,
            "{substeps_max}: {held_n}"
        );
        assert!(
            tissue.squeezed_added_mass_kg() < 1e-3,
            "{}",
            tissue.squeezed_added_mass_kg()
        );
        let balance = tissue.view().energy;
        assert!(
            balance.residual_j.abs() < 0.01 * balance.tool_work_j,
            "{balance:?}"
        );
    }
}
