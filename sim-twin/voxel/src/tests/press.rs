//! Tests of contact: force of a press, energy balance, and limits of links.

use super::{TestRng, material};
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use crate::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use crate::{VoxelModel, VoxelParams};
use palpate_twin::{Edit, Instrument, Reaction, Snapshot, Tissue, Tool, Vec3};

/// Returns a block with its surface at z = 0 and its ground pinned: `size` nodes, spacing 1 mm.
pub(super) fn slab(
    size: [i32; 3],
    materials: Vec<VoxelMaterial>,
    of: impl Fn([i32; 3]) -> u8,
) -> VoxelModel {
    let h = 1e-3;
    let middle = |n: i32| -0.5 * f64::from(n - 1) * h;
    let frame = LatticeFrame {
        origin_m: Vec3::new(
            middle(size[0]),
            middle(size[1]),
            -f64::from(size[2] - 1) * h,
        ),
        spacing_m: [h; 3],
    };
    let seeds: Vec<NodeSeed> = (0..size[2])
        .flat_map(|z| (0..size[1]).flat_map(move |y| (0..size[0]).map(move |x| [x, y, z])))
        .map(|site| NodeSeed {
            site,
            material: of(site),
            object: 0,
        })
        .collect();
    let mut nodes = VoxelNodes::new(frame, materials, &seeds).expect("fit");
    for node in 0..nodes.slots() {
        nodes.set_pinned(node, nodes.site(node)[2] == 0);
    }
    VoxelModel::new(nodes, VoxelParams::default()).expect("fit")
}

pub(super) fn ball(at_m: Vec3, radius_m: f64) -> Tool {
    Tool {
        position_m: at_m,
        velocity_mps: Vec3::zeros(),
        radius_m,
        stiffness_npm: 300.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: None,
    }
}

/// Steps with a tool whose lowest point is at a depth \[m\].
fn press_for(tissue: &mut VoxelModel, depth_m: f64, ticks: usize) -> Reaction {
    let mut reactions = [Reaction::default()];
    let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - depth_m), 5e-3);
    for _ in 0..ticks {
        tissue.step(&[tool], 1e-3, &mut reactions);
    }
    reactions[0]
}

/// The energy balance of a press and release closes.
#[test]
fn press_and_release_dissipate_energy() {
    let soft = material(BondLimits::LOOSE);
    let mut tissue = slab([21, 21, 12], vec![soft], |_| 0);
    let mut reactions = [Reaction::default()];
    let mut work_j = 0.0;
    let mut deepest_n: f64 = 0.0;
    for k in 0..=400 {
        let share = 1.0 - (f64::from(k) / 400.0 * 2.0 - 1.0).abs();
        let depth_m = 3e-3 * share;
        let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - depth_m), 5e-3);
        tissue.step(&[tool], 1e-3, &mut reactions);
        let step_m = if k <= 200 {
            -3e-3 / 200.0
        } else {
            3e-3 / 200.0
        };
        // the force is the mean over the motion
        work_j -= reactions[0].force_n.z * step_m;
        deepest_n = deepest_n.max(reactions[0].force_n.z);
        assert!(tissue.nodes().limit_excess_m() <= 1e-9, "tick {k}");
        let balance = tissue.ledger();
        if depth_m < 1.2e-3 && k <= 200 {
            // before links lock, the hand's work equals the recorded work, but for the held force
            assert!((balance.tool_work_j - work_j).abs() <= 0.02 * work_j + 1e-8);
        }
        let out =
            balance.stored_j() - balance.tool_work_j + balance.dissipated_j - balance.residual_j;
        assert!(out.abs() < 1e-12, "{balance:?}");
        assert!(balance.residual_j < 1e-9, "{balance:?}");
    }
    let balance = tissue.ledger();
    assert!(deepest_n > 0.01 && work_j > balance.tool_work_j && balance.tool_work_j > 0.0);
}

/// Random motions keep forces finite, limits kept, and the energy balance closed.
#[test]
fn random_tools_keep_limits_and_energy_balance() {
    let mut rng = TestRng::new(5);
    let mut tissue = slab([15, 13, 9], vec![material(BondLimits::MEDIUM)], |_| 0);
    let mut reactions = [Reaction::default(); 2];
    for k in 0..3000 {
        let at = |rng: &mut TestRng| {
            Vec3::new(
                rng.symmetric(8e-3),
                rng.symmetric(8e-3),
                rng.symmetric(6e-3),
            )
        };
        let tools = [ball(at(&mut rng), 3e-3), ball(at(&mut rng), 2e-3)];
        tissue.step(&tools, 1e-3, &mut reactions);
        assert!(tissue.nodes().limit_excess_m() <= 1e-8, "tick {k}");
        assert!(reactions.iter().all(|f| f.force_n.norm() < 100.0));
    }
    let balance = tissue.ledger();
    assert!(
        balance.residual_j < 1e-6 * balance.tool_work_j.abs().max(1e-3),
        "{balance:?}"
    );
}

/// A held press settles, and its force grows with depth.
#[test]
fn held_press_settles_and_force_grows_with_depth() {
    let mut tissue = slab([31, 31, 20], vec![material(BondLimits::LOOSE)], |_| 0);
    let mut last = 0.0;
    for depth_m in [0.5e-3, 1e-3, 2e-3] {
        let reactions = press_for(&mut tissue, depth_m, 600);
        let again = press_for(&mut tissue, depth_m, 100);
        assert!((again.force_n - reactions.force_n).norm() < 1e-3 * reactions.force_n.norm());
        assert!(reactions.force_n.z > last);
        last = reactions.force_n.z;
    }
}

/// A snapshot restores all state that a step reads: equal bits afterwards, also after a cut in between.
#[test]
fn restored_snapshot_continues_bit_for_bit() {
    let mut tissue = slab([13, 12, 8], vec![material(BondLimits::MEDIUM)], |_| 0);
    press_for(&mut tissue, 1e-3, 20);
    let before = Snapshot::of(&tissue);
    let first = press_for(&mut tissue, 2e-3, 30);
    let after = Snapshot::of(&tissue);
    let cut = Edit::Cut {
        point_m: Vec3::zeros(),
        normal: Vec3::new(1.0, 0.2, 0.0),
    };
    let report = tissue.edit(&cut).expect("can");
    assert!(report.elements > 50 && report.energy_j < 0.0, "{report:?}");
    assert_eq!(tissue.nodes().asymmetric_link(), None);
    let softer = press_for(&mut tissue, 2e-3, 300).force_n.norm();
    tissue.restore(&before).expect("its own");
    assert_eq!(press_for(&mut tissue, 2e-3, 30), first);
    assert_eq!(Snapshot::of(&tissue), after);
    assert!(softer < press_for(&mut tissue, 2e-3, 300).force_n.norm());
}

/// Row S4-P30: a lying capsule and a flat box press every node along its shortest way out; these forces sum to the
/// reaction. A larger tool has a larger force.
#[test]
fn s4_p30_capsules_and_boxes_press_by_the_depth_of_each_node() {
    let shapes = [
        (Vec3::zeros(), Vec3::zeros()),
        (Vec3::new(6e-3, 0.0, 0.0), Vec3::zeros()),
        (Vec3::new(6e-3, 0.0, 0.0), Vec3::new(0.0, 6e-3, 0.0)),
    ];
    let mut pressed_n = Vec::new();
    for (shaft_m, side_m) in shapes {
        let mut tissue = slab([25, 25, 10], vec![material(BondLimits::LOOSE)], |_| 0);
        assert!(tissue.caps().shafts && tissue.caps().plates);
        let middle_m = -0.5 * (shaft_m + side_m);
        let tool = Tool {
            shaft_m,
            side_m,
            ..ball(middle_m + Vec3::z() * 4e-3, 5e-3)
        };
        let mut reactions = [Reaction::default()];
        for _ in 0..500 {
            tissue.step(&[tool], 1e-3, &mut reactions);
        }
        let nodes = tissue.nodes();
        let mut sum_n = Vec3::zeros();
        let mut count = 0;
        for node in (0..nodes.slots()).filter(|&e| nodes.alive(e)) {
            // by hand: the distance from the rectangle in its own axes
            let off_m = nodes.position_m(node) - tool.position_m;
            let clear = |step_m: f64, long_m: f64| step_m - step_m.clamp(0.0, long_m);
            let away_m = Vec3::new(clear(off_m.x, shaft_m.x), clear(off_m.y, side_m.y), off_m.z);
            let depth_m = tool.radius_m - away_m.norm();
            if depth_m > 0.0 {
                sum_n -= away_m.normalize() * (tool.stiffness_npm * depth_m);
                count += 1;
            }
        }
        assert_eq!(count, reactions[0].contacts);
        // the reaction is the mean over the step, and the tissue is settled
        assert!(
            (sum_n - reactions[0].force_n).norm() < 1e-3 * reactions[0].force_n.norm(),
            "{sum_n}"
        );
        assert!(
            reactions[0].force_n.xy().norm() < 0.02 * reactions[0].force_n.z,
            "{reactions:?}"
        );
        let middle = reactions[0].force_n.cross(&middle_m);
        assert!(
            (reactions[0].torque_nm - middle).norm() < 0.02 * reactions[0].force_n.z * 6e-3,
            "{reactions:?}"
        );
        let mut snapshot = Snapshot::default();
        tissue.save(&mut snapshot);
        let mut again = slab([25, 25, 10], vec![material(BondLimits::LOOSE)], |_| 0);
        again.restore(&snapshot).expect("the same volume");
        let mut other = reactions;
        tissue.step(&[tool], 1e-3, &mut reactions);
        again.step(&[tool], 1e-3, &mut other);
        assert_eq!(reactions, other, "a plate is part of the state");
        pressed_n.push(reactions[0].force_n.z);
    }
    assert!(
        pressed_n[0] * 1.3 < pressed_n[1] && pressed_n[1] * 1.3 < pressed_n[2],
        "{pressed_n:?}"
    );
}
