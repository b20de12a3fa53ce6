//! Tests of friction, jaws, tearing and tacks.

use super::instruments::balance_error_j;
use super::press::{ball, slab};
use super::{TestRng, material};
use crate::friction::ToolTie;
use crate::limits::BondLimits;
use crate::{VoxelModel, VoxelParams};
use palpate_twin::{Edit, Instrument, Jaws, Reaction, Tissue, Tool, Vec3};

fn with(params: VoxelParams) -> VoxelModel {
    let nodes = slab([25, 21, 10], vec![material(BondLimits::LOOSE)], |_| 0)
        .nodes()
        .clone();
    VoxelModel::new(nodes, params).expect("fit")
}

/// Moves a tool on a straight line; returns the work of the hand \[J\] and the last reaction.
fn move_tool(tissue: &mut VoxelModel, tool: &mut Tool, to_m: Vec3) -> (f64, Reaction) {
    let motion_m = to_m - tool.position_m;
    let count = (motion_m.norm() / 2e-5).ceil().max(1.0);
    let mut reactions = [Reaction::default()];
    let mut work_j = 0.0;
    for _ in 0..count as usize {
        tool.position_m += motion_m / count;
        tissue.step(&[*tool], 1e-3, &mut reactions);
        work_j -= reactions[0].force_n.dot(&motion_m) / count;
        assert!(
            balance_error_j(tissue).abs() < 1e-12,
            "{:?}",
            tissue.ledger()
        );
    }
    (work_j, reactions[0])
}

fn rest(tissue: &mut VoxelModel, tool: &Tool, ticks: usize) -> Reaction {
    let mut reactions = [Reaction::default()];
    for _ in 0..ticks {
        tissue.step(&[*tool], 1e-3, &mut reactions);
    }
    reactions[0]
}

const FRICTION: f64 = 0.3;

/// Coulomb friction, node by node: at most the coefficient times the normal force, against the motion, and zero
/// without a coefficient.
#[test]
fn fu_10_sliding_finger_obeys_coulomb_friction() {
    let mut rubbed_n = Vec::new();
    for friction in [0.0, FRICTION] {
        let mut tissue = with(VoxelParams {
            friction,
            ..VoxelParams::default()
        });
        let start_m = Vec3::new(-5e-3, 0.0, 4e-3);
        let mut finger = ball(start_m + Vec3::z() * 1e-3, 5e-3);
        let (down_j, _) = move_tool(&mut tissue, &mut finger, start_m);
        rest(&mut tissue, &finger, 200);
        let (work_j, reactions) = move_tool(&mut tissue, &mut finger, start_m + Vec3::x() * 1e-2);
        rubbed_n.push((-reactions.force_n.x, reactions.force_n.z));
        let (return_j, _) = move_tool(&mut tissue, &mut finger, start_m);
        let (up_j, _) = move_tool(&mut tissue, &mut finger, start_m + Vec3::z() * 1e-3);
        assert!(down_j + work_j + return_j + up_j > 0.0);
        // some nodes are at their cone, none beyond
        move_tool(&mut tissue, &mut finger, start_m);
        move_tool(&mut tissue, &mut finger, start_m + Vec3::x() * 1e-2);
        let pull = |tie: &ToolTie| {
            let shape = tissue.contact.shapes[tie.tool].expect("there");
            let at_m = tissue.nodes().position_m(tie.node);
            let bears_m = friction * shape.depth_m(&at_m).0;
            tie.spring(&shape).stretch_m(&at_m).norm() / bears_m
        };
        let pulls: Vec<f64> = tissue.contact.ties.iter().map(pull).collect();
        assert_eq!(pulls.is_empty(), friction == 0.0);
        assert!(pulls.iter().all(|&pull| pull <= 1.0 + 1e-9), "{pulls:?}");
        let slides = pulls.iter().filter(|&&pull| pull > 0.99).count();
        assert!(2 * slides >= pulls.len(), "{pulls:?}");
    }
    let [(smooth_n, _), (rough_n, pressed_n)] = rubbed_n[..] else {
        panic!("two")
    };
    assert!(smooth_n.abs() < 0.01 * pressed_n, "{rubbed_n:?}");
    // the bulge ahead of the finger resists too
    assert!(
        (1.0..2.5).contains(&(rough_n / (FRICTION * pressed_n))),
        "{rubbed_n:?}"
    );
}

fn forceps(at_m: Vec3, closed: bool) -> Tool {
    Tool {
        jaws: Some(Jaws {
            opening_m: 3e-3,
            opening_velocity_mps: 0.0,
            closed,
        }),
        ..ball(at_m, 1.6e-3)
    }
}

/// Rows TP-05 and TP-09: grasped tissue follows the jaws, slips where all links are at their limits, or tears. Pinned
/// nodes stay.
#[test]
fn tp_05_tp_09_forceps_pull_grasped_nodes() {
    for tears in [false, true] {
        let mut tissue = with(VoxelParams {
            tears,
            ..VoxelParams::default()
        });
        let links = tissue.nodes().link_count();
        let start_m = Vec3::new(0.0, 0.0, 1e-3);
        let mut tool = forceps(start_m, false);
        rest(&mut tissue, &tool, 50);
        tool.jaws = forceps(start_m, true).jaws;
        assert!(rest(&mut tissue, &tool, 50).contacts > 10);
        let held: Vec<u32> = tissue.contact.ties.iter().map(|tie| tie.node).collect();
        let (work_j, reactions) = move_tool(&mut tissue, &mut tool, start_m + Vec3::z() * 6e-3);
        assert!(reactions.force_n.z < -0.05 && work_j > 0.0, "{reactions:?}");
        for &node in &held {
            assert!(tissue.nodes().position_m(node).z > 4e-3, "{node} stayed");
        }
        assert_eq!(tissue.nodes().link_count(), links);
        move_tool(&mut tissue, &mut tool, start_m + Vec3::z() * 20e-3);
        let (_, reactions) = move_tool(&mut tissue, &mut tool, start_m + Vec3::z() * 24e-3);
        let torn = links - tissue.nodes().link_count();
        if tears {
            assert!(
                torn > 10 && reactions.force_n.norm() < 1e-3,
                "{torn} {reactions:?}"
            );
            assert!(tissue.editor.derived.pieces.sizes.len() > 1);
        } else {
            // each node slips in the jaws beyond one spacing
            let most_n = 300.0 * 1e-3 * f64::from(reactions.contacts);
            let pulled = (0.9 * most_n..1.001 * most_n).contains(&-reactions.force_n.z);
            assert!(torn == 0 && pulled, "{torn} {reactions:?}");
        }
        assert!(tissue.nodes().limit_excess_m() < 1e-8);
        let pinned = |e: &u32| tissue.nodes().pinned(*e);
        let pinned: Vec<u32> = (0..tissue.nodes().slots()).filter(pinned).collect();
        assert_eq!(pinned.len(), 25 * 21);
        for node in pinned {
            assert_eq!(tissue.nodes().displacement_m(node), [0.0; 3]);
        }
        tool.jaws = forceps(start_m, false).jaws;
        let reactions = rest(&mut tissue, &tool, 2);
        assert!(
            reactions.force_n.norm() < 1e-3 && tissue.contact.ties.is_empty(),
            "{reactions:?}"
        );
        assert!(
            balance_error_j(&tissue).abs() < 1e-12,
            "{:?}",
            tissue.ledger()
        );
    }
}

/// Friction coefficient of smooth jaws.
const JAWS: f64 = 0.4;

fn smooth() -> VoxelParams {
    VoxelParams {
        jaw_friction: Some(JAWS),
        ..VoxelParams::default()
    }
}

/// Opens or closes jaws to a width in steps, and lets the tissue settle.
fn squeeze(tissue: &mut VoxelModel, tool: &mut Tool, opening_m: f64) -> Reaction {
    let from_m = tool.jaws.expect("jaws").opening_m;
    for step in 1..=100 {
        let jaws = tool.jaws.as_mut().expect("jaws");
        jaws.opening_m = from_m + (opening_m - from_m) * f64::from(step) / 100.0;
        rest(tissue, tool, 1);
    }
    rest(tissue, tool, 300)
}

/// Returns the force of ties across the jaws \[N\], without the pressing of the ball between them.
fn pull_n(tissue: &VoxelModel) -> f64 {
    let ties = tissue.contact.ties.iter().filter(|tie| tie.is_grasped());
    let across = ties.map(|tie| {
        let shape = tissue.contact.shapes[tie.tool].expect("there");
        let at_m = tissue.nodes().position_m(tie.node);
        let r = tie.spring(&shape).stretch_m(&at_m);
        Vec3::new(0.0, r.y, r.z) * shape.stiffness_npm
    });
    across.sum::<Vec3>().norm()
}

/// Row S4-P12 on a thick slab, whose nodes pull in several directions, so some slip earlier. Jaws that are dragged
/// off keep at most twice the coefficient times their grip, and less the wider they open.
#[test]
fn s4_p12_smooth_jaws_hold_at_most_their_friction_on_both_sides() {
    for squeezed_m in [1.2e-3, 2.0e-3] {
        let mut tissue = with(smooth());
        let start_m = Vec3::new(0.0, 0.0, 1e-3);
        let mut tool = forceps(start_m, false);
        rest(&mut tissue, &tool, 50);
        tool.jaws = forceps(start_m, true).jaws;
        rest(&mut tissue, &tool, 50);
        let before = squeeze(&mut tissue, &mut tool, 3e-3 - squeezed_m);
        assert!(before.grip_force_n > 1e-3, "{before:?}");
        let mut shares = Vec::new();
        for step in 1..=160 {
            move_tool(
                &mut tissue,
                &mut tool,
                start_m + Vec3::y() * (5e-5 * f64::from(step)),
            );
            let reactions = rest(&mut tissue, &tool, 30);
            shares.push(pull_n(&tissue) / (2.0 * JAWS * reactions.grip_force_n));
        }
        // at most the limit, within the 5 % of the row
        assert!(shares.iter().all(|&share| share < 1.05), "{shares:?}");
        let most = shares.iter().copied().fold(0.0, f64::max);
        assert!(most > 0.95, "{shares:?}");
        // as the jaws open, their grip and the held force go to zero
        let (mut last_n, full_n) = (f64::MAX, pull_n(&tissue));
        for opening_m in [2.4e-3, 2.7e-3, 3.0e-3, 3.4e-3, 4.0e-3] {
            squeeze(&mut tissue, &mut tool, opening_m);
            let now_n = pull_n(&tissue);
            assert!(
                now_n <= last_n * (1.0 + 1e-9),
                "{opening_m}: {now_n} {last_n}"
            );
            last_n = now_n;
        }
        assert!(last_n < 0.02 * full_n, "{last_n} {full_n}");
        assert!(
            balance_error_j(&tissue).abs() < 1e-12,
            "{:?}",
            tissue.ledger()
        );
    }
}

/// Row S4-P12 on a fold that both jaws pull alike: it slips if and only if it pulls more than twice the coefficient
/// times the grip.
#[test]
fn s4_p12_fold_slips_iff_pull_exceeds_friction() {
    for squeezed_m in [1.0e-4, 2.0e-4, 3.5e-4] {
        let nodes = slab([2, 1, 10], vec![material(BondLimits::LOOSE)], |_| 0)
            .nodes()
            .clone();
        let mut tissue = VoxelModel::new(nodes, smooth()).expect("fit");
        let mut tool = Tool {
            radius_m: 0.3e-3,
            ..forceps(Vec3::zeros(), true)
        };
        tool.jaws.as_mut().expect("jaws").opening_m = 1.2e-3;
        rest(&mut tissue, &tool, 10);
        assert_eq!(tissue.contact.ties.len(), 2, "the two at its top");
        squeeze(&mut tissue, &mut tool, 1.2e-3 - squeezed_m);
        let places = |tissue: &VoxelModel| -> Vec<Vec3> {
            tissue.contact.ties.iter().map(|tie| tie.arm_m).collect()
        };
        let (mut held, mut slipped) = (0, 0);
        for step in 1..=200 {
            let was = places(&tissue);
            let from_m = tool.position_m.z;
            for part in 1..=10 {
                tool.position_m.z = from_m + 1e-6 * f64::from(part);
                rest(&mut tissue, &tool, 1);
            }
            let reactions = rest(&mut tissue, &tool, 60);
            let share = pull_n(&tissue) / (2.0 * JAWS * reactions.grip_force_n);
            let moved_m = was.iter().zip(places(&tissue)).map(|(a, b)| (a - b).norm());
            let slips = moved_m.fold(0.0, f64::max) > 1e-9;
            // within the 5 % of the row
            assert!(share < 1.05, "{step}: {share}, and it holds");
            assert!(!slips || share > 0.95, "{step}: {share}, and it slips");
            (held, slipped) = (held + i32::from(!slips), slipped + i32::from(slips));
        }
        assert!(held > 5 && slipped > 5, "{held} {slipped}");
    }
}

/// A closed motion of grasping jaws never takes energy from the tissue.
#[test]
fn tp_05_closed_motion_of_jaws_yields_no_energy() {
    let mut rng = TestRng::new(21);
    for round in 0..6 {
        let mut tissue = with(VoxelParams {
            friction: 0.5 * rng.unit(),
            tears: round % 2 == 0,
            ..VoxelParams::default()
        });
        let start_m = Vec3::new(0.0, 0.0, 1e-3);
        let mut tool = forceps(start_m, false);
        rest(&mut tissue, &tool, 20);
        tool.jaws = forceps(start_m, true).jaws;
        let mut work_j = 0.0;
        for _ in 0..6 {
            let way = Vec3::new(rng.symmetric(4e-3), rng.symmetric(4e-3), 8e-3 * rng.unit());
            work_j += move_tool(&mut tissue, &mut tool, start_m + way).0;
        }
        work_j += move_tool(&mut tissue, &mut tool, start_m).0;
        assert!(work_j > 0.0, "round {round}: {work_j}");
    }
}

/// Row TP-09: pinned tissue does not move under any drag, reacts as rigid, and moves again once unpinned.
#[test]
fn tp_09_pinned_tissue_stays_and_resists() {
    let mut tissue = with(VoxelParams::default());
    let mut tool = ball(Vec3::new(0.0, 0.0, 3e-3), 5e-3);
    let before = rest(&mut tissue, &tool, 200);
    tool.instrument = Instrument::Tack;
    let after = rest(&mut tissue, &tool, 1);
    let jump_n = (after.force_n - before.force_n).norm();
    assert!(
        jump_n < 0.01 * before.force_n.norm(),
        "{before:?} {after:?}"
    );
    tool.instrument = Instrument::Blunt;
    let places: Vec<_> = (0..tissue.nodes().slots())
        .filter(|&e| tissue.nodes().pinned(e))
        .map(|e| (e, tissue.nodes().displacement_m(e)))
        .collect();
    assert!(places.len() > 25 * 21 + 10);
    let harder = move_tool(&mut tissue, &mut tool, Vec3::new(1e-3, 0.0, 2e-3)).1;
    assert!(harder.force_n.z > before.force_n.z);
    for &(node, moved_m) in &places {
        assert_eq!(tissue.nodes().displacement_m(node), moved_m);
    }
    tissue.edit(&Edit::Undo).expect("can");
    let unpinned = rest(&mut tissue, &tool, 300);
    assert!(
        unpinned.force_n.z < 0.5 * harder.force_n.z,
        "{unpinned:?} {harder:?}"
    );
}
