//! Test of a scripted session through the tissue interface (row TP-11).

use super::instruments::balance_error_j;
use super::material;
use super::press::{ball, slab};
use crate::VoxelModel;
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use palpate_twin::{Instrument, Reaction, Tissue, Tool, Vec3};

/// Moves a tool on a straight line in `steps`; returns the last reaction and all changes.
fn move_tool(
    tissue: &mut VoxelModel,
    tool: &mut Tool,
    to_m: Vec3,
    steps: u32,
) -> (Reaction, usize) {
    let step_m = (to_m - tool.position_m) / f64::from(steps);
    let (mut reactions, mut changes) = ([Reaction::default()], 0);
    for _ in 0..steps {
        tool.position_m += step_m;
        tissue.step(&[*tool], 1e-3, &mut reactions);
        changes += tissue.view().changes.len();
        assert!(tissue.nodes().limit_excess_m() < 1e-8);
        assert!(
            balance_error_j(tissue).abs() < 1e-12,
            "{:?}",
            tissue.ledger()
        );
    }
    (reactions[0], changes)
}

/// Row TP-11: press, deform, carve a pit, press again in the pit, on a block of 20 nodes a side.
#[test]
fn tp_11_press_carve_and_press_again_in_the_pit() {
    let wide = VoxelMaterial {
        limits: BondLimits::even(0.05, 6.0, 6.0),
        ..material(BondLimits::LOOSE)
    };
    let mut tissue = slab([20; 3], vec![wide], |_| 0);
    let count = tissue.nodes().count();
    let mut finger = ball(Vec3::new(0.0, 0.0, 3.2e-3), 3e-3);
    let (first, _) = move_tool(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, 1.5e-3), 200);
    assert!(first.force_n.z > 1e-3, "{first:?}");
    move_tool(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, 8e-3), 200);
    let mut curette = ball(Vec3::new(0.0, 0.0, 8e-3), 3e-3);
    curette.instrument = Instrument::Curette;
    let (_, carved) = move_tool(&mut tissue, &mut curette, Vec3::new(0.0, 0.0, -2e-3), 200);
    move_tool(&mut tissue, &mut curette, Vec3::new(0.0, 0.0, 8e-3), 100);
    let gone = count - tissue.nodes().count();
    // a hole as wide as the tool and five nodes deep, of nodes of a cubic millimetre
    assert!(
        (80..150).contains(&gone) && carved > 3 * gone,
        "{gone} {carved}"
    );
    let mut finger = ball(Vec3::new(0.0, 0.0, 8e-3), 2.4e-3);
    let (free, _) = move_tool(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, -1.5e-3), 300);
    assert!(
        free.force_n.norm() < 1e-6,
        "in the pit there is nothing: {free:?}"
    );
    let (again, _) = move_tool(&mut tissue, &mut finger, Vec3::new(0.0, 0.0, -4e-3), 200);
    assert!(again.force_n.z > 1e-3, "its ground is reactions: {again:?}");
    assert_eq!(tissue.nodes().asymmetric_link(), None);
}
