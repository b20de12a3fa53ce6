//! Tests of stiffness edits in contact.

use super::instruments::balance_error_j;
use super::material;
use super::press::{ball, slab};
use crate::VoxelModel;
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use palpate_twin::shape::RegionShape;
use palpate_twin::{Edit, EditError, Instrument, Reaction, Tissue, Tool, Vec3};

fn of(times: f64) -> VoxelMaterial {
    VoxelMaterial {
        modulus_pa: times * material(BondLimits::LOOSE).modulus_pa,
        ..material(BondLimits::LOOSE)
    }
}

/// Presses to a depth in 100 ticks and stays for 300.
fn press(tissue: &mut VoxelModel, depth_m: f64) -> Reaction {
    let mut reactions = [Reaction::default()];
    for tick in 1..=400 {
        let share = f64::from(tick.min(100)) / 100.0;
        let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - share * depth_m), 5e-3);
        tissue.step(&[tool], 1e-3, &mut reactions);
    }
    reactions[0]
}

const ALL: RegionShape = RegionShape::All;

fn scale(shape: RegionShape, factor: f64, passive: bool) -> Edit<'static> {
    Edit::Scale {
        shape,
        factor,
        passive,
    }
}

/// Tissue that an edit stiffened reacts as tissue of stiffer material, with one and with two materials.
#[test]
fn stiffness_edit_equals_stiffer_material() {
    let half = |[x, _, _]: [i32; 3]| u8::from(x > 7);
    let mut plain = slab([15, 15, 8], vec![of(3.0), of(6.0)], half);
    let mut edited = slab([15, 15, 8], vec![of(1.0), of(2.0)], half);
    let report = edited.edit(&scale(ALL, 3.0, true)).expect("can");
    assert_eq!(
        (report.elements, report.energy_j, report.applied_fraction),
        (15 * 15 * 8, 0.0, 1.0)
    );
    let [a, b] = [&mut plain, &mut edited].map(|tissue| press(tissue, 1e-3).force_n);
    assert!((a - b).norm() < 1e-3 * a.norm(), "{a} {b}");
    let mut soft = slab([15, 15, 8], vec![of(1.0), of(2.0)], half);
    assert!(press(&mut soft, 1e-3).force_n.z < 0.7 * a.z);
    // a layer at the top has less effect than all of it, and more than none
    let top = RegionShape::Layer {
        from_m: -2.5e-3,
        to_m: 1.0,
    };
    let mut layered = slab([15, 15, 8], vec![of(1.0), of(2.0)], half);
    assert_eq!(
        layered.edit(&scale(top, 3.0, false)).expect("can").elements,
        15 * 15 * 3
    );
    let c = press(&mut layered, 1e-3).force_n;
    assert!(
        c.z > 1.05 * press(&mut soft, 1e-3).force_n.z && c.z < 0.97 * a.z,
        "{c} {a}"
    );
}

/// The stored energy of an edit is recorded. A passive edit takes no more than was dissipated, and reports its share.
/// A later cut uses the present link energies.
#[test]
fn passive_stiffness_edit_adds_no_energy() {
    let mut tissue = slab([15, 15, 8], vec![of(1.0)], |_| 0);
    let pressed_n = press(&mut tissue, 1.5e-3).force_n;
    let (mut free_j, mut shares) = (tissue.ledger().dissipated_j, Vec::new());
    for _ in 0..40 {
        let before_j = tissue.ledger().stored_j();
        let report = tissue.edit(&scale(ALL, 2.0, true)).expect("can");
        free_j -= report.energy_j;
        assert!(free_j >= -1e-15 && report.energy_j >= 0.0, "{report:?}");
        let gained_j = tissue.ledger().stored_j() - before_j;
        assert!((gained_j - report.energy_j).abs() < 1e-15, "{report:?}");
        shares.push(report.applied_fraction);
    }
    assert!(shares[0] > 0.0 && shares[39] < 0.01, "{shares:?}");
    let irregular = tissue.edit(&scale(ALL, 2.0, false)).expect("can");
    assert!(
        irregular.applied_fraction == 1.0 && irregular.energy_j > 0.0,
        "{irregular:?}"
    );
    assert!(press(&mut tissue, 1.5e-3).force_n.z > 1.2 * pressed_n.z);
    let soft = tissue.edit(&scale(ALL, 0.5, true)).expect("can");
    assert!(
        soft.applied_fraction == 1.0 && soft.energy_j < 0.0,
        "{soft:?}"
    );
    let mut tool = Tool {
        instrument: Instrument::Scalpel {
            edge_m: Vec3::new(0.0, 0.0, -5e-3),
        },
        ..ball(Vec3::new(-9e-3, 0.3e-3, 0.0), 1e-5)
    };
    let mut reactions = [Reaction::default()];
    for _ in 0..400 {
        tool.position_m.x += 5e-5;
        tissue.step(&[tool], 1e-3, &mut reactions);
        assert!(
            balance_error_j(&tissue).abs() < 1e-12,
            "{:?}",
            tissue.ledger()
        );
    }
    let balance = tissue.ledger();
    assert!(
        balance.residual_j.abs() < 1e-9 && balance.dissipated_j > 0.0,
        "{balance:?}"
    );
}

#[test]
fn invalid_stiffness_edit_is_refused_by_name() {
    let mut tissue = slab([5, 5, 4], vec![of(1.0)], |_| 0);
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let message = tissue.edit(&scale(ALL, factor, true)).expect_err("wrong");
        assert!(
            matches!(
                message,
                EditError::Field {
                    field: "factor",
                    ..
                }
            ),
            "{message}"
        );
    }
    let nowhere = RegionShape::Ball {
        centre_m: Vec3::repeat(f64::NAN),
        radius_m: 1e-3,
    };
    let nowhere = scale(nowhere, 2.0, true);
    let message = tissue.edit(&nowhere).expect_err("nowhere");
    assert!(
        matches!(
            message,
            EditError::Field {
                field: "center_m",
                ..
            }
        ),
        "{message}"
    );
}

/// Stiffness factors have a range; the report excludes what is beyond it.
#[test]
fn issue_stiffness_edit_beyond_range_reported_full_application() {
    let mut tissue = slab([9, 9, 6], vec![of(1.0)], |_| 0);
    let full = tissue.edit(&scale(ALL, 25.0, false)).expect("can");
    assert_eq!(full.applied_fraction, 1.0);
    // 25 to 50 as a share of 25 to 100
    let part = tissue.edit(&scale(ALL, 4.0, true)).expect("can");
    assert!((part.applied_fraction - 1.0 / 3.0).abs() < 1e-6, "{part:?}");
    let none = tissue.edit(&scale(ALL, 1.1, false)).expect("can");
    assert_eq!((none.applied_fraction, none.energy_j), (0.0, 0.0));
    assert_eq!(
        tissue
            .edit(&scale(ALL, 0.5, false))
            .expect("can")
            .applied_fraction,
        1.0
    );
    // a node at its limit does not make the others overshoot: their share is 1
    let mut mixed = slab([9, 9, 6], vec![of(1.0)], |_| 0);
    let top = RegionShape::Layer {
        from_m: -2.5e-3,
        to_m: 1.0,
    };
    mixed.edit(&scale(top, 50.0, false)).expect("can");
    let some = mixed.edit(&scale(ALL, 2.0, false)).expect("can");
    assert_eq!(some.applied_fraction, 1.0, "{some:?}");
}

/// A model with a settled step of zero responds to edits as others do.
#[test]
fn issue_edits_activated_no_runs_at_zero_settled_step() {
    use crate::{VoxelModel, VoxelParams};
    let moved_m = |settled_step: f32, edit: Edit<'_>| {
        let nodes = slab([11, 11, 7], vec![of(1.0)], |_| 0).nodes().clone();
        let params = VoxelParams {
            settled_step,
            ..VoxelParams::default()
        };
        let mut tissue = VoxelModel::new(nodes, params).expect("fit");
        press(&mut tissue, 1.5e-3);
        // settled for long
        let mut reactions = [Reaction::default()];
        let held = ball(Vec3::new(0.0, 0.0, 3.5e-3), 5e-3);
        for _ in 0..3000 {
            tissue.step(&[held], 1e-3, &mut reactions);
        }
        let before_n = reactions[0].force_n.z;
        tissue.edit(&edit).expect("can");
        for _ in 0..600 {
            tissue.step(&[held], 1e-3, &mut reactions);
        }
        reactions[0].force_n.z / before_n
    };
    let top = RegionShape::Layer {
        from_m: -2.5e-3,
        to_m: 1.0,
    };
    let cut = Edit::Cut {
        point_m: Vec3::new(1.5e-3, 0.0, 0.0),
        normal: Vec3::x(),
    };
    for edit in [scale(top, 0.25, false), cut] {
        let [usual, never] = [1e-6, 0.0].map(|settled_step| moved_m(settled_step, edit));
        assert!(usual < 0.95, "{usual}");
        assert!((usual - never).abs() < 2e-3, "{usual} {never}");
    }
}
