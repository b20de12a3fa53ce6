//! Tests of the condensed predictor against the nonlinear solution.
//!
//! Times: `cargo run --release -p palpate-scene --example block -- predict 1`.

use super::block::REFERENCE;
use super::*;
use std::sync::OnceLock;

/// Returns a table of 12 by 12 faces of 1 mm in the middle of the block of the block test.
fn table() -> &'static ComplianceTable {
    static TABLE: OnceLock<ComplianceTable> = OnceLock::new();
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
        let solid = Solid::new(&mesh, LawFamily::NeoHookean, &moduli(&mesh, 5e3, 0.45));
        let patch = Patch {
            centre_m: [0.05; 2],
            half_m: [0.006; 2],
        };
        ComplianceTable::new(&solid, &mesh, patch).unwrap()
    })
}

fn ball(centre_m: Vec3) -> ContactSphere {
    ContactSphere {
        centre_m,
        radius_m: 5e-3,
        stiffness_npm: f64::INFINITY,
    }
}

fn above(depth_m: f64) -> Vec3 {
    Vec3::new(0.05, 0.05, 0.105 - depth_m)
}

fn press(at_m: Vec3) -> SphereForce {
    ContactSolver::default().press(table(), &ball(at_m))
}

#[test]
fn a_shallow_contact_is_within_four_percent_of_the_nonlinear_solution() {
    for (depth_m, force_n) in &REFERENCE[..2] {
        let answer = press(above(*depth_m));
        assert!(
            (answer.force_n.z / force_n - 1.0).abs() < 0.04,
            "{answer:?}"
        );
        assert!(answer.force_n.x.abs() < 1e-3 * force_n, "{answer:?}");
    }
    let lifted = press(above(-1e-3));
    assert_eq!((lifted.force_n, lifted.touched), (Vec3::zeros(), 0));
    assert_eq!(lifted.weight, 1.0);
}

#[test]
fn a_contact_of_few_faces_follows_hertz() {
    // E / (1 - nu^2) of the block, whose bottom is twenty radii below
    let hertz_n =
        |depth_m: f64| 4.0 / 3.0 * 5e3 / (1.0 - 0.45 * 0.45) * (5e-3 * depth_m.powi(3)).sqrt();
    for aside_m in [0.0, 0.3e-3, 0.5e-3] {
        for depth_m in [0.02e-3, 0.1e-3, 0.2e-3, 0.5e-3, 0.7e-3] {
            let answer = press(above(depth_m) + Vec3::x() * aside_m);
            let ratio = answer.force_n.z / hertz_n(depth_m);
            assert!(
                (0.97..1.08).contains(&ratio),
                "{aside_m} {depth_m}: {ratio}"
            );
        }
    }
}

#[test]
fn weight_fades_at_depth_and_border_and_the_force_is_limited() {
    assert_eq!(press(above(1.4e-3)).weight, 1.0);
    assert!((0.1..0.9).contains(&press(above(1.75e-3)).weight));
    let last = press(above(2e-3));
    assert!(last.weight < 1e-9 && last.force_n.z > 0.0);
    let beyond = press(above(4e-3));
    assert!((beyond.force_n - last.force_n).amax() < 1e-3 * last.force_n.z);
    assert_eq!((beyond.weight, beyond.depth_m > 3.9e-3), (0.0, true));
    let aside = press(above(1e-3) + Vec3::x() * 8e-3);
    assert_eq!(aside.weight, 0.0);
}

#[test]
fn a_soft_sphere_acts_as_a_spring_in_series() {
    let rigid = press(above(1e-3));
    let mut last_n = rigid.force_n.z;
    for stiffness_npm in [1e6, 1e3, 30.0, 0.1] {
        let soft = ContactSphere {
            stiffness_npm,
            ..ball(above(1e-3))
        };
        let force_n = ContactSolver::default().press(table(), &soft).force_n.z;
        assert!(force_n > 0.0 && force_n < last_n, "{stiffness_npm}");
        last_n = force_n;
    }
    // for the softest boundary only the sphere deforms: an elastic foundation under its cap
    let (radius, depth) = (5e-3_f64, 1e-3_f64);
    let slice = |index: u32| {
        let off = (f64::from(index) + 0.5) * 1e-3 * radius;
        let cosine = (1.0 - (off / radius).powi(2)).sqrt();
        let gap = off * off / radius + cosine * (radius - depth) - radius;
        (-gap).max(0.0) * cosine * 2.0 * off * 1e-3 / radius
    };
    let cap_n = 0.1 * (0..1000).map(slice).sum::<f64>();
    assert!((last_n / cap_n - 1.0).abs() < 0.03, "{last_n} {cap_n}");
}

#[test]
fn the_force_depends_on_the_pose_alone() {
    let at_m = Vec3::new(0.0503, 0.0498, 0.105 - 1.3e-3);
    let mut other = ContactSolver::default();
    for step in 0..50 {
        let off_m = Vec3::new(2e-5, -3e-5, 4e-5) * f64::from(50 - step);
        other.press(table(), &ball(at_m + off_m));
    }
    assert_eq!(other.press(table(), &ball(at_m)), press(at_m));
}

/// Work of the force around a closed loop over elastic tissue: the energy that late ticks could generate.
#[test]
fn a_closed_loop_generates_no_energy() {
    let mut contacts = ContactSolver::default();
    let (mut gained_j, mut moved_j) = (0.0, 0.0_f64);
    let steps = 2000;
    let place = |step: u32| {
        let turn = std::f64::consts::TAU * f64::from(step) / f64::from(steps);
        above(1e-3 - 0.4e-3 * turn.cos()) + Vec3::x() * (1.5e-3 * turn.sin())
    };
    let mut last_n = contacts.press(table(), &ball(place(0))).force_n;
    for step in 1..=steps {
        let force_n = contacts.press(table(), &ball(place(step))).force_n;
        let work_j = 0.5 * (force_n + last_n).dot(&(place(step) - place(step - 1)));
        gained_j += work_j;
        moved_j += work_j.abs();
        last_n = force_n;
    }
    assert!(gained_j.abs() < 0.02 * moved_j, "{gained_j} {moved_j}");
}

#[test]
fn a_table_round_trips_and_damage_is_reported() {
    let bytes = table().to_bytes();
    assert_eq!(&ComplianceTable::from_bytes(&bytes).unwrap(), table());
    for end in [0, 7, 20, 30, 43, bytes.len() - 1] {
        assert!(ComplianceTable::from_bytes(&bytes[..end]).is_err());
    }
    let damaged = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x40;
        ComplianceTable::from_bytes(&bytes).unwrap_err()
    };
    assert_eq!(damaged(7), ComplianceDecodeError::Magic);
    assert!(matches!(damaged(9), ComplianceDecodeError::Checksum { .. }));
    assert!(matches!(damaged(12), ComplianceDecodeError::Length { .. }));
    assert!(matches!(damaged(15), ComplianceDecodeError::Faces { .. }));
    assert!(matches!(
        damaged(bytes.len() - 3),
        ComplianceDecodeError::Checksum { .. }
    ));
    // damage with a matching checksum
    let signed = |at: usize, value: &[u8]| {
        let mut bytes = bytes.clone();
        bytes[at..at + value.len()].copy_from_slice(value);
        let sum = crc32fast::hash(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
        ComplianceTable::from_bytes(&bytes).unwrap_err()
    };
    let of_length = ComplianceDecodeError::Number("the unit of length");
    assert_eq!(signed(20, &0.0_f64.to_le_bytes()), of_length);
    let of_line = ComplianceDecodeError::Number("a coordinate");
    assert_eq!(signed(44, &f64::NAN.to_le_bytes()), of_line);
    let of_block = ComplianceDecodeError::Number("a block of the table");
    assert_eq!(signed(bytes.len() - 4, &f32::NAN.to_le_bytes()), of_block);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn random_and_invalid_spheres_have_finite_forces_and_no_memory(
        tools in prop::collection::vec(
            (prop::array::uniform3(-1.0..1.0_f64), 0..7_u8, 1e-6..1.0_f64), 1..20,
        ),
    ) {
        let mut contacts = ContactSolver::default();
        for (offset, kind, radius_m) in tools {
            let at_m = above(1e-3) + Vec3::from(offset) * 0.02;
            let (centre_m, radius_m, stiffness_npm) = match kind {
                0 => (Vec3::new(f64::NAN, 0.0, 0.0), radius_m, 1e3),
                1 => (at_m, f64::INFINITY, 1e3),
                2 => (at_m, 1e-300, 0.0),
                3 => (at_m * 1e200, radius_m, -1.0),
                4 => (at_m, radius_m, f64::NAN),
                5 => (at_m, 1e200, 1e3),
                _ => (at_m, radius_m, 1e6),
            };
            let answer = contacts.press(table(), &ContactSphere { centre_m, radius_m, stiffness_npm });
            prop_assert!(answer.force_n.iter().all(|x| x.is_finite()), "{answer:?}");
            prop_assert!((0.0..=1.0).contains(&answer.weight), "{answer:?}");
            prop_assert!(answer.force_n.z >= 0.0, "{answer:?}");
        }
        prop_assert_eq!(contacts.press(table(), &ball(above(1e-3))), press(above(1e-3)));
    }
}
