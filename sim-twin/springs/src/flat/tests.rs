//! Tests of the flat sheet: forces on a plane, grasps and slips, energy, and damaged snapshots.

use proptest::prelude::*;

use super::*;
use palpate_twin::{Instrument, Jaws};

const R_M: f64 = 0.002;
const DT_S: f64 = 1e-3;

/// Sheet of the scene `flat-sheet`.
fn sheet() -> FlatSheet {
    FlatSheet {
        size_m: [0.12, 0.08],
        cell_m: 0.002,
        between_m: [-0.04, 0.04],
        stiffness_npm: [150.0, 600.0],
        pinch_npm: 400.0,
        jaw_friction: 0.5,
        tent_m: 0.025,
    }
}

/// Tool whose lowest point is here \[mm\], with jaws far open or firmly closed.
fn at(tip_mm: [f64; 3], closed: bool) -> Tool {
    with_jaws(tip_mm, closed, if closed { -1.0 } else { 0.01 })
}

fn with_jaws(tip_mm: [f64; 3], closed: bool, opening_m: f64) -> Tool {
    let [x, y, z] = tip_mm.map(|mm| 1e-3 * mm);
    Tool {
        position_m: Vec3::new(x, y, z + R_M),
        velocity_mps: Vec3::zeros(),
        radius_m: R_M,
        stiffness_npm: 3000.0,
        shaft_m: Vec3::zeros(),
        side_m: Vec3::zeros(),
        instrument: Instrument::Blunt,
        jaws: Some(Jaws {
            opening_m,
            opening_velocity_mps: 0.0,
            closed,
        }),
    }
}

fn feel(flat: &mut FlatTissue, tool: Tool) -> Reaction {
    let mut reaction = [Reaction::default()];
    flat.step(&[tool], DT_S, &mut reaction);
    reaction[0]
}

#[test]
fn s4_28_plane_force_is_stiffness_times_depth() {
    let (mut flat, sheet) = (FlatTissue::new(&sheet()), sheet());
    for x_mm in [-58.0, 58.0] {
        for depth_mm in [0.5, 2.0, 8.0] {
            let force_n = feel(&mut flat, at([x_mm, 3.0, -depth_mm], false)).force_n;
            let (npm, _) = sheet.stiffness(1e-3 * x_mm);
            assert!((force_n.z - npm * 1e-3 * depth_mm).abs() < 1e-12);
            assert_eq!((force_n.x, force_n.y), (0.0, 0.0), "no lateral force");
        }
        assert_eq!(
            feel(&mut flat, at([x_mm, 3.0, 0.1], false)),
            Reaction::default()
        );
    }
    // where the stiffness changes, the force has the slope of the energy, and it is small
    let force_n = feel(&mut flat, at([0.0, 0.0, -5.0], false)).force_n;
    assert!(
        force_n.x < 0.0 && force_n.x.abs() < 0.05 * force_n.z,
        "{force_n}"
    );
}

#[test]
fn s4_29_grasp_pulls_back_to_its_place() {
    let (mut flat, sheet) = (FlatTissue::new(&sheet()), sheet());
    feel(&mut flat, at([10.0, 0.0, -3.0], false));
    let closing = feel(&mut flat, with_jaws([10.0, 0.0, -3.0], true, 0.01));
    assert_eq!(closing.force_n, Vec3::zeros(), "gripped where it is");
    let (npm, _) = sheet.stiffness(0.01);
    for tip_mm in [[22.0, 5.0, -3.0], [10.0, 0.0, 15.0], [-8.0, -9.0, 4.0]] {
        let reaction = feel(&mut flat, at(tip_mm, true));
        let offset_m = Vec3::from(tip_mm) * 1e-3 - Vec3::new(0.01, 0.0, -0.003);
        assert!(
            (reaction.force_n + npm * offset_m).norm() < 1e-12,
            "{reaction:?}"
        );
    }
    let opened = feel(&mut flat, at([-8.0, -9.0, 4.0], false));
    assert_eq!(opened, Reaction::default());
    let ledger = flat.view().energy;
    assert!(ledger.dissipated_j > 0.0 && ledger.stored_j() == 0.0);
}

#[test]
fn s4_30_jaws_closed_before_contact_skate() {
    let mut flat = FlatTissue::new(&sheet());
    feel(&mut flat, at([50.0, 0.0, 1.0], true));
    for x_mm in [50.0, 55.0, 58.0] {
        let reaction = feel(&mut flat, at([x_mm, 0.0, -2.0], true));
        assert!(
            reaction.force_n.z > 0.5 && reaction.force_n.x == 0.0,
            "{reaction:?}"
        );
    }
    // opened in the sheet it touches, and only then the next closing grasps
    feel(&mut flat, at([58.0, 0.0, -2.0], false));
    feel(&mut flat, with_jaws([58.0, 0.0, -2.0], true, 0.01));
    let reaction = feel(&mut flat, at([52.0, 0.0, -2.0], true));
    assert!(reaction.force_n.x > 0.5, "{reaction:?}");
}

#[test]
fn s4_31_stiffness_rises_from_left_to_right() {
    let (mut flat, sheet) = (FlatTissue::new(&sheet()), sheet());
    let [left_npm, right_npm] = sheet.stiffness_npm;
    let slopes = [-45.0, 0.0, 45.0].map(|x_mm| {
        let [low, high] =
            [2.0, 4.0].map(|mm| feel(&mut flat, at([x_mm, 0.0, -mm], false)).force_n.z);
        (high - low) / 0.002
    });
    let wanted = [left_npm, 0.5 * (left_npm + right_npm), right_npm];
    for (slope, npm) in slopes.iter().zip(wanted) {
        assert!(
            (slope / npm - 1.0).abs() < 0.02,
            "{slopes:?}, wanted {wanted:?}"
        );
    }
    assert!(slopes[0] < slopes[1] && slopes[1] < slopes[2]);
}

#[test]
fn s4_p12_grasp_slips_beyond_friction_of_both_jaws() {
    let sheet = sheet();
    let (npm, _) = sheet.stiffness(0.055);
    for squeeze_m in [1e-3, 3e-3, 6e-3] {
        let hold_n = 2.0 * sheet.jaw_friction * sheet.pinch_npm * squeeze_m;
        for (over, slips) in [(0.95, false), (1.05, true)] {
            let mut flat = FlatTissue::new(&sheet);
            let (open_m, shut_m) = (0.01, 0.01 - squeeze_m);
            feel(&mut flat, with_jaws([50.0, 0.0, -2.0], false, open_m));
            feel(&mut flat, with_jaws([50.0, 0.0, -2.0], true, open_m));
            feel(&mut flat, with_jaws([50.0, 0.0, -2.0], true, shut_m));
            let out_mm = 50.0 + 1e3 * over * hold_n / npm;
            let mut pulled_n = 0.0_f64;
            for step in 1..=100 {
                let x_mm = 50.0 + (out_mm - 50.0) * f64::from(step) / 100.0;
                let reaction = feel(&mut flat, with_jaws([x_mm, 0.0, -2.0], true, shut_m));
                assert!((reaction.grip_force_n - sheet.pinch_npm * squeeze_m).abs() < 1e-9);
                pulled_n = pulled_n.max(reaction.force_n.norm());
            }
            let wanted_n = if slips { hold_n } else { over * hold_n };
            assert!(
                (pulled_n / wanted_n - 1.0).abs() < 1e-6,
                "{pulled_n} {wanted_n}"
            );
            let slid_m = flat.tools[0].grip_m.x - 0.05;
            assert_eq!(slid_m > 1e-9, slips, "{squeeze_m} {over}: {slid_m}");
            assert_eq!(
                flat.view().energy.dissipated_j > 0.5 * npm * 4e-6 + 1e-12,
                slips
            );
        }
    }
}

#[test]
fn grasp_dragged_out_of_the_sheet_ends() {
    let mut flat = FlatTissue::new(&sheet());
    feel(&mut flat, with_jaws([0.0, 0.0, -2.0], false, 0.01));
    feel(&mut flat, with_jaws([0.0, 0.0, -2.0], true, 0.01));
    feel(&mut flat, with_jaws([0.0, 0.0, -2.0], true, 0.0095));
    let up = (0..200).map(|mm| {
        feel(
            &mut flat,
            with_jaws([0.0, 0.0, f64::from(mm)], true, 0.0095),
        )
    });
    assert_eq!(up.last(), Some(Reaction::default()));
    assert!(flat.view().energy.stored_j() == 0.0);
}

#[test]
fn s4_32_vertex_under_the_tool_follows_in_the_same_step() {
    let mut flat = FlatTissue::new(&sheet());
    let under = |flat: &FlatTissue| {
        let view = flat.view();
        let node = view.rest_m.iter().position(|at| at.norm() < 1e-9);
        view.positions_m[node.expect("a node in the middle")]
    };
    feel(&mut flat, at([0.0, 0.0, -3.0], false));
    assert!((under(&flat) - Vec3::new(0.0, 0.0, -0.003)).norm() < 1e-12);
    feel(&mut flat, with_jaws([0.0, 0.0, -3.0], true, 0.01));
    feel(&mut flat, at([12.0, 6.0, 9.0], true));
    assert!((under(&flat) - Vec3::new(0.012, 0.006, 0.009)).norm() < 1e-12);
    feel(&mut flat, at([12.0, 6.0, 9.0], false));
    assert_eq!(flat.view().positions_m, flat.view().rest_m, "flat again");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// For any motion, the hand receives no energy that it did not put in.
    #[test]
    fn s4_20_no_state_sequence_creates_energy(
        targets in prop::collection::vec(([-40.0..40.0_f64, -20.0..20.0, -8.0..4.0], any::<bool>(), 0.0..0.01), 2..40),
    ) {
        let mut flat = FlatTissue::new(&sheet());
        let mut from_mm = [0.0, 0.0, 3.0];
        let targets = targets.into_iter().chain([([0.0, 0.0, 3.0], false, 0.01)]);
        for (to_mm, closed, opening_m) in targets {
            for step in 1..=400 {
                let share = f64::from(step) / 400.0;
                let tip_mm = core::array::from_fn(|n| from_mm[n] + share * (to_mm[n] - from_mm[n]));
                feel(&mut flat, with_jaws(tip_mm, closed, opening_m));
            }
            from_mm = to_mm;
        }
        let ledger = flat.view().energy;
        prop_assert!(ledger.stored_j().abs() < 1e-15);
        prop_assert!(ledger.residual_j.abs() < 1e-4, "{ledger:?}");
        prop_assert!(ledger.tool_work_j > -1e-4, "{ledger:?}");
    }
}

proptest! {
    /// A damaged snapshot was accepted.
    #[test]
    fn issue_damaged_snapshot_was_accepted(at: prop::sample::Index, bit in 0..64_u32) {
        let mut flat = FlatTissue::new(&sheet());
        let mut reaction = [Reaction::default()];
        flat.step(&[at_depth()], DT_S, &mut reaction);
        let good = Snapshot::of(&flat);
        let mut bad = good.clone();
        let at = at.index(bad.numbers.len() + bad.integers.len());
        match at.checked_sub(bad.numbers.len()) {
            None => bad.numbers[at] = f64::from_bits(bad.numbers[at].to_bits() ^ 1 << bit),
            Some(at) => bad.integers[at] ^= 1 << bit,
        }
        let refused = flat.restore(&bad);
        prop_assert!(matches!(refused, Err(SnapshotError::Damaged { .. })), "{refused:?}");
        prop_assert_eq!(Snapshot::of(&flat), good.clone());
        flat.restore(&good).expect("own snapshot");
        let mut other = FlatTissue::new(&FlatSheet { pinch_npm: 1.0, ..sheet() });
        let refused = other.restore(&good);
        prop_assert!(matches!(refused, Err(SnapshotError::Damaged { .. })), "{refused:?}");
    }
}

fn at_depth() -> Tool {
    at([1.0, 0.0, -1.0], false)
}
