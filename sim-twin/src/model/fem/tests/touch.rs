//! The condensed predictor against the nonlinear truth.
//!
//! Times: `cargo run --release -p palpate-twin --example block -- predict 1`.

use super::block::REFERENCE;
use super::*;
use std::sync::OnceLock;

/// A table of 12 by 12 faces of 1 mm in the middle of the block of the block test.
fn table() -> &'static Compliance {
    static TABLE: OnceLock<Compliance> = OnceLock::new();
    TABLE.get_or_init(|| {
        let grade = |from_m: f64, to_m: f64| Grading {
            from_m,
            to_m,
            cell_m: 1e-3,
            growth: 1.7,
        };
        let across_m = grade(0.044, 0.056).axis(0.1).unwrap();
        let up_m = grade(0.097, 0.1).axis(0.1).unwrap();
        let mesh = HexMesh::block([&across_m, &across_m, &up_m]).unwrap();
        let law = (Family::NeoHookean, &moduli(&mesh, 5e3, 0.45)[..]);
        let supports = [Support::Fixed(Side::ZMin)];
        let solid = Solid::new(&mesh, law, &supports, Volumetric::Mean).unwrap();
        let patch = Patch {
            centre_m: [0.05; 2],
            half_m: 0.006,
        };
        Compliance::new(&solid, &mesh, patch).unwrap()
    })
}

fn above(depth_m: f64) -> Vec3 {
    Vec3::new(0.05, 0.05, 0.105 - depth_m)
}

#[test]
fn a_shallow_touch_is_within_four_percent_of_the_nonlinear_truth() {
    let mut contacts = Contacts::new(table());
    for (depth_m, force_n) in &REFERENCE[..2] {
        for _ in 0..5 {
            contacts.press(table(), above(*depth_m), 5e-3);
        }
        let answer = contacts.press(table(), above(*depth_m), 5e-3);
        assert!(
            (answer.force_n.z / force_n - 1.0).abs() < 0.04,
            "{answer:?}"
        );
        assert!(answer.force_n.x.abs() < 1e-3 * force_n && answer.valid);
    }
    assert!(!contacts.press(table(), above(2.1e-3), 5e-3).valid);
    let lifted = contacts.press(table(), above(-1e-3), 5e-3);
    assert_eq!((lifted.force_n, lifted.touched), (Vec3::zeros(), 0));
    assert!(lifted.valid);
}

#[test]
fn the_way_to_a_pose_does_not_show_in_the_answer() {
    let at_m = Vec3::new(0.0503, 0.0498, 0.105 - 1.3e-3);
    let mut exact = Contacts::new(table());
    let settle = |contacts: &mut Contacts| {
        (0..10)
            .map(|_| contacts.press(table(), at_m, 5e-3).force_n)
            .last()
    };
    let exact_n = settle(&mut exact).unwrap();
    let mut other = Contacts::new(table());
    for step in 0..50 {
        let off_m = Vec3::new(2e-5, -3e-5, 4e-5) * f64::from(50 - step);
        other.press(table(), at_m + off_m, 5e-3);
    }
    let other_n = settle(&mut other).unwrap();
    assert!(
        (other_n - exact_n).amax() < 2e-3 * exact_n.z,
        "{exact_n} {other_n}"
    );
}

#[test]
fn a_stored_table_is_the_same_table() {
    let bytes = table().to_bytes();
    assert_eq!(&Compliance::from_bytes(&bytes).unwrap(), table());
    for end in [0, 7, 20, 30, bytes.len() - 1] {
        assert!(Compliance::from_bytes(&bytes[..end]).is_err());
    }
    let mut wrong = bytes;
    wrong[8..16].fill(0xff);
    assert!(Compliance::from_bytes(&wrong).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn wild_tools_get_a_finite_force_and_leave_no_trace(
        wild in prop::collection::vec(
            (prop::array::uniform3(-1.0..1.0_f64), 0..6_u8, 1e-6..1.0_f64), 1..20,
        ),
    ) {
        let mut contacts = Contacts::new(table());
        for (offset, kind, radius_m) in wild {
            let at_m = above(1e-3) + Vec3::from(offset) * 0.02;
            let (at_m, radius_m) = match kind {
                0 => (Vec3::new(f64::NAN, 0.0, 0.0), radius_m),
                1 => (at_m, f64::INFINITY),
                2 => (at_m, 1e-300),
                3 => (at_m * 1e200, radius_m),
                _ => (at_m, radius_m),
            };
            let force_n = contacts.press(table(), at_m, radius_m).force_n;
            prop_assert!(force_n.iter().all(|x| x.is_finite()), "{force_n}");
        }
        let mut fresh = Contacts::new(table());
        let mut pair = [0.0; 2];
        for _ in 0..10 {
            pair = [&mut contacts, &mut fresh].map(|c| c.press(table(), above(1e-3), 5e-3).force_n.z);
        }
        prop_assert!((pair[0] / pair[1] - 1.0).abs() < 2e-3, "{pair:?}");
    }
}
