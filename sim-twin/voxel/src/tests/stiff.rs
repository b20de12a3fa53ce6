//! Stiffness that changes while a volume is touched.

use super::matter;
use super::operate::out_j;
use super::press::{ball, slab};
use crate::Linked;
use crate::limits::Limits;
use crate::matter::Matter;
use palpate_twin::shape::Shape;
use palpate_twin::{Edit, EditError, Instrument, Reaction, Tissue, Tool, Vec3};

fn of(times: f64) -> Matter {
    Matter {
        modulus_pa: times * matter(Limits::LOOSE).modulus_pa,
        ..matter(Limits::LOOSE)
    }
}

/// Presses to a depth in 100 ticks and stays for 300.
fn press(tissue: &mut Linked, depth_m: f64) -> Reaction {
    let mut felt = [Reaction::default()];
    for tick in 1..=400 {
        let share = f64::from(tick.min(100)) / 100.0;
        let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - share * depth_m), 5e-3);
        tissue.step(&[tool], 1e-3, &mut felt);
    }
    felt[0]
}

const ALL: Shape = Shape::All;

fn scale(shape: Shape, factor: f64, passive: bool) -> Edit<'static> {
    Edit::Scale {
        shape,
        factor,
        passive,
    }
}

/// Tissue that was made stiffer by an edit is felt as tissue of stiffer matter, of one and of two materials.
#[test]
fn an_edit_of_stiffness_is_felt_as_stiffer_matter() {
    let half = |[x, _, _]: [i32; 3]| u8::from(x > 7);
    let mut plain = slab([15, 15, 8], vec![of(3.0), of(6.0)], half);
    let mut edited = slab([15, 15, 8], vec![of(1.0), of(2.0)], half);
    let report = edited.edit(&scale(ALL, 3.0, true)).expect("can");
    assert_eq!(
        (report.elements, report.energy_j, report.share),
        (15 * 15 * 8, 0.0, 1.0)
    );
    let [a, b] = [&mut plain, &mut edited].map(|tissue| press(tissue, 1e-3).force_n);
    assert!((a - b).norm() < 1e-3 * a.norm(), "{a} {b}");
    let mut soft = slab([15, 15, 8], vec![of(1.0), of(2.0)], half);
    assert!(press(&mut soft, 1e-3).force_n.z < 0.7 * a.z);
    // a layer at the top counts for less than all, and more than nothing
    let top = Shape::Layer {
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

/// What an edit stores is booked; a passive one takes no more than hands have lost, and says what share it made. A cut
/// after it finds the energy of the links as they are.
#[test]
fn a_passive_edit_of_stiffness_gives_no_energy() {
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
        shares.push(report.share);
    }
    assert!(shares[0] > 0.0 && shares[39] < 0.01, "{shares:?}");
    let loose = tissue.edit(&scale(ALL, 2.0, false)).expect("can");
    assert!(loose.share == 1.0 && loose.energy_j > 0.0, "{loose:?}");
    assert!(press(&mut tissue, 1.5e-3).force_n.z > 1.2 * pressed_n.z);
    let soft = tissue.edit(&scale(ALL, 0.5, true)).expect("can");
    assert!(soft.share == 1.0 && soft.energy_j < 0.0, "{soft:?}");
    let mut tool = Tool {
        instrument: Instrument::Scalpel {
            edge_m: Vec3::new(0.0, 0.0, -5e-3),
        },
        ..ball(Vec3::new(-9e-3, 0.3e-3, 0.0), 1e-5)
    };
    let mut felt = [Reaction::default()];
    for _ in 0..400 {
        tool.position_m.x += 5e-5;
        tissue.step(&[tool], 1e-3, &mut felt);
        assert!(out_j(&tissue).abs() < 1e-12, "{:?}", tissue.ledger());
    }
    let books = tissue.ledger();
    assert!(
        books.residual_j.abs() < 1e-9 && books.dissipated_j > 0.0,
        "{books:?}"
    );
}

#[test]
fn a_wrong_edit_of_stiffness_is_refused_by_name() {
    let mut tissue = slab([5, 5, 4], vec![of(1.0)], |_| 0);
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let told = tissue.edit(&scale(ALL, factor, true)).expect_err("wrong");
        assert!(
            matches!(
                told,
                EditError::Field {
                    field: "factor",
                    ..
                }
            ),
            "{told}"
        );
    }
    let nowhere = Edit::Stiffen {
        center_m: Vec3::repeat(f64::NAN),
        radius_m: 1e-3,
        factor: 2.0,
        passive: true,
    };
    let told = tissue.edit(&nowhere).expect_err("nowhere");
    assert!(
        matches!(
            told,
            EditError::Field {
                field: "center_m",
                ..
            }
        ),
        "{told}"
    );
}

/// Elements have a range of stiffness; what goes beyond it is not done and not said to be.
#[test]
fn issue_an_edit_beyond_the_range_of_stiffness_said_that_all_was_done() {
    let mut tissue = slab([9, 9, 6], vec![of(1.0)], |_| 0);
    let whole = tissue.edit(&scale(ALL, 25.0, false)).expect("can");
    assert_eq!(whole.share, 1.0);
    // 25 to 50 of a way from 25 to 100
    let part = tissue.edit(&scale(ALL, 4.0, true)).expect("can");
    assert!((part.share - 1.0 / 3.0).abs() < 1e-6, "{part:?}");
    let none = tissue.edit(&scale(ALL, 1.1, false)).expect("can");
    assert_eq!((none.share, none.energy_j), (0.0, 0.0));
    assert_eq!(
        tissue.edit(&scale(ALL, 0.5, false)).expect("can").share,
        1.0
    );
    // what is at its limit already does not make the others go too far: their share is all
    let mut mixed = slab([9, 9, 6], vec![of(1.0)], |_| 0);
    let top = Shape::Layer {
        from_m: -2.5e-3,
        to_m: 1.0,
    };
    mixed.edit(&scale(top, 50.0, false)).expect("can");
    let some = mixed.edit(&scale(ALL, 2.0, false)).expect("can");
    assert_eq!(some.share, 1.0, "{some:?}");
}

/// A volume of which no row is ever still sees to what is edited as others do.
#[test]
fn issue_edits_woke_nothing_where_nothing_is_still() {
    use crate::{Linked, LinkedParams};
    let moved_m = |still: f32, edit: Edit<'_>| {
        let elements = slab([11, 11, 7], vec![of(1.0)], |_| 0).elements().clone();
        let params = LinkedParams {
            still,
            ..LinkedParams::default()
        };
        let mut tissue = Linked::new(elements, params).expect("fit");
        press(&mut tissue, 1.5e-3);
        // long at rest
        let mut felt = [Reaction::default()];
        let held = ball(Vec3::new(0.0, 0.0, 3.5e-3), 5e-3);
        for _ in 0..3000 {
            tissue.step(&[held], 1e-3, &mut felt);
        }
        let before_n = felt[0].force_n.z;
        tissue.edit(&edit).expect("can");
        for _ in 0..600 {
            tissue.step(&[held], 1e-3, &mut felt);
        }
        felt[0].force_n.z / before_n
    };
    let top = Shape::Layer {
        from_m: -2.5e-3,
        to_m: 1.0,
    };
    let cut = Edit::Cut {
        point_m: Vec3::new(1.5e-3, 0.0, 0.0),
        normal: Vec3::x(),
    };
    for edit in [scale(top, 0.25, false), cut] {
        let [usual, never] = [1e-6, 0.0].map(|still| moved_m(still, edit));
        assert!(usual < 0.95, "{usual}");
        assert!((usual - never).abs() < 2e-3, "{usual} {never}");
    }
}
