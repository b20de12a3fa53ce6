//! Tests of the six tools of a palette on a sheet (row TP-08), each with its expected effect.

use super::instruments::balance_error_j;
use super::material;
use super::press::{ball, slab};
use crate::VoxelModel;
use crate::limits::BondLimits;
use palpate_twin::{Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

/// A sheet in x and z on its pinned lowest row, 1 mm per node, with its top at z = 0.
const SIZE: [i32; 3] = [21, 1, 12];
/// Rows between which it is cut, and the height of that \[m\].
const CUT: [i32; 2] = [7, 8];
const CUT_Z_M: f64 = -3.5e-3;

/// Moves a tool on a straight line in `ticks[0]` ticks, and holds it for `ticks[1]`.
fn move_tool(tissue: &mut VoxelModel, tool: &mut Tool, to_m: Vec3, ticks: [u32; 2]) {
    let (from_m, mut reactions) = (tool.position_m, [Reaction::default()]);
    for tick in 1..=ticks[0] + ticks[1] {
        let share = (f64::from(tick) / f64::from(ticks[0])).min(1.0);
        tool.position_m = from_m + (to_m - from_m) * share;
        tissue.step(&[*tool], 1e-3, &mut reactions);
        assert!(
            balance_error_j(tissue).abs() < 1e-12,
            "{:?}",
            tissue.ledger()
        );
    }
}

/// Replaces the tool of the hand at a place.
fn pick_tool(tissue: &mut VoxelModel, instrument: Instrument, radius_m: f64, at_m: Vec3) -> Tool {
    let tool = Tool {
        instrument,
        ..ball(at_m, radius_m)
    };
    tissue.step(&[tool], 1e-3, &mut [Reaction::default()]);
    tool
}

/// Closes forceps around a place.
fn grasp(tissue: &mut VoxelModel, at_m: Vec3) -> Tool {
    let jaws = |closed| {
        Some(Jaws {
            opening_m: 3e-3,
            opening_velocity_mps: 0.0,
            closed,
        })
    };
    let mut tool = Tool {
        jaws: jaws(false),
        ..ball(at_m, 0.6e-3)
    };
    let mut reactions = [Reaction::default()];
    tissue.step(&[tool], 1e-3, &mut reactions);
    tool.jaws = jaws(true);
    tissue.step(&[tool], 1e-3, &mut reactions);
    assert!(reactions[0].contacts > 1, "{reactions:?}");
    tool
}

fn moved_m(tissue: &VoxelModel, site: [i32; 3]) -> Vec3 {
    let node = tissue.nodes().at_site(site).expect("there");
    Vec3::from(tissue.nodes().displacement_m(node).map(f64::from))
}

/// Iterates over the sites of rows from one to another.
fn sites(displacements_m: [i32; 2]) -> impl Iterator<Item = [i32; 3]> {
    (displacements_m[0]..=displacements_m[1]).flat_map(|z| (0..SIZE[0]).map(move |x| [x, 0, z]))
}

fn cut(tissue: &mut VoxelModel) {
    let before = tissue.nodes().link_count();
    let edge_m = Vec3::new(0.0, 6e-3, 0.0);
    let from_m = Vec3::new(-14e-3, -3e-3, CUT_Z_M);
    let mut blade = pick_tool(tissue, Instrument::Scalpel { edge_m }, 1e-5, from_m);
    move_tool(tissue, &mut blade, from_m + Vec3::x() * 28e-3, [400, 0]);
    // all links across and no others
    assert_eq!(before - tissue.nodes().link_count(), 21);
    assert_eq!(tissue.editor.derived.pieces.sizes.len(), 2);
}

fn translate(tissue: &mut VoxelModel) {
    let (from_m, by_m) = (Vec3::zeros(), Vec3::new(2e-3, 0.0, 3e-3));
    let mut tool = grasp(tissue, from_m);
    let piece = || sites([CUT[1], SIZE[2] - 1]);
    // the ball between the jaws holds the grasped nodes a little lower
    move_tool(tissue, &mut tool, from_m, [1, 2500]);
    let were_m: Vec<Vec3> = piece().map(|site| moved_m(tissue, site)).collect();
    move_tool(tissue, &mut tool, from_m + by_m, [300, 2500]);
    for (site, was_m) in piece().zip(were_m) {
        let off_m = (moved_m(tissue, site) - was_m - by_m).norm();
        assert!(off_m < 1e-6, "{site:?}: {off_m}");
    }
    for site in sites([0, CUT[0]]) {
        assert!(moved_m(tissue, site).norm() < 1e-6, "{site:?} went along");
    }
    // and back to the start
    move_tool(tissue, &mut tool, from_m, [300, 2500]);
}

fn glue(tissue: &mut VoxelModel) {
    let before = tissue.nodes().link_count();
    let at_m = Vec3::new(0.0, 0.0, CUT_Z_M);
    pick_tool(tissue, Instrument::Glue { reach_m: 3e-2 }, 1e-4, at_m);
    assert_eq!(tissue.nodes().link_count() - before, 21);
    assert_eq!(tissue.editor.derived.pieces.sizes.len(), 1);
}

fn deform(tissue: &mut VoxelModel) {
    let mut tool = grasp(tissue, Vec3::zeros());
    move_tool(tissue, &mut tool, Vec3::z() * 3e-3, [300, 1500]);
    let displacements_m: Vec<f64> = (0..SIZE[2])
        .map(|z| moved_m(tissue, [10, 0, z]).z)
        .collect();
    assert!(
        displacements_m[11] > 2.2e-3 && displacements_m[0] == 0.0,
        "{displacements_m:?}"
    );
    // across the glued links too
    assert!(
        displacements_m.windows(2).all(|pair| pair[1] > pair[0]),
        "{displacements_m:?}"
    );
    assert!(moved_m(tissue, [0, 0, 11]).z < 0.9 * displacements_m[11]);
    assert!(tissue.nodes().limit_excess_m() < 1e-8);
    tool.jaws.as_mut().expect("jaws").closed = false;
    let here_m = tool.position_m;
    move_tool(tissue, &mut tool, here_m, [1, 3000]);
    let left_m = moved_m(tissue, [10, 0, 10]).norm();
    assert!(left_m < 0.05 * 3e-3, "it comes back: {left_m}");
}

fn tack(tissue: &mut VoxelModel) {
    let held_m = Vec3::new(5e-3, 0.0, -1e-3);
    pick_tool(tissue, Instrument::Tack, 0.4e-3, held_m);
    let node = tissue.nodes().at_site([15, 0, 10]).expect("there");
    assert!(tissue.nodes().pinned(node));
    let before_m = tissue.nodes().displacement_m(node);
    let pull = |tissue: &mut VoxelModel| {
        let mut tool = grasp(tissue, Vec3::new(2e-3, 0.0, 0.0));
        move_tool(tissue, &mut tool, Vec3::new(2e-3, 0.0, 3e-3), [300, 500]);
        let there_m = tissue.nodes().displacement_m(node);
        move_tool(tissue, &mut tool, Vec3::new(2e-3, 0.0, 0.0), [300, 1500]);
        there_m
    };
    assert_eq!(pull(tissue), before_m, "it is held under any drag");
    pick_tool(tissue, Instrument::Untack, 0.4e-3, held_m);
    assert!(!tissue.nodes().pinned(node));
    assert!(pull(tissue)[2] > before_m[2] + 2e-4, "it goes along");
}

fn erase(tissue: &mut VoxelModel) {
    let from_m = Vec3::new(-8e-3, 0.0, 4e-3);
    let radius_m = 1.7e-3;
    let before: Vec<(u32, Vec3)> = (0..tissue.nodes().slots())
        .filter(|&e| tissue.nodes().alive(e))
        .map(|e| (e, tissue.nodes().position_m(e)))
        .collect();
    let mut curette = pick_tool(tissue, Instrument::Curette, radius_m, from_m);
    move_tool(tissue, &mut curette, from_m - Vec3::z() * 6e-3, [300, 0]);
    let mut gone = 0;
    for (node, at_m) in before {
        // below the lowest place it is a ball
        let off_m = Vec3::new(at_m.x - from_m.x, at_m.y, (at_m.z + 2e-3).min(0.0));
        let taken = !tissue.nodes().alive(node);
        assert_eq!(taken, off_m.norm() <= radius_m, "{at_m}");
        gone += i32::from(taken);
    }
    assert!(gone > 5, "{gone}");
    assert_eq!(tissue.nodes().asymmetric_link(), None);
}

/// Row TP-08: cut, move, glue, grasp and move, tack and erase, in one session with one hand and changing tools.
#[test]
fn tp_08_six_palette_tools_have_their_effects() {
    let soft = crate::material::VoxelMaterial {
        toughness_jpm2: 0.0,
        ..material(BondLimits::LOOSE)
    };
    let mut tissue = slab(SIZE, vec![soft], |_| 0);
    for work in [cut, translate, glue, deform, tack, erase] {
        work(&mut tissue);
    }
}
