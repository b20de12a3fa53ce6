//! Any bytes: a compliance table with finite forces and an exact round trip, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fem::{ComplianceTable, ContactSolver, ContactSphere};
use palpate_twin::Vec3;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(table) = ComplianceTable::from_bytes(bytes) {
        assert_eq!(table.to_bytes(), bytes);
        let sphere = ContactSphere {
            centre_m: Vec3::new(0.0, 0.0, 4e-3),
            radius_m: 5e-3,
            stiffness_npm: 1e3,
        };
        let reaction = ContactSolver::default().press(&table, &sphere);
        assert!(reaction.force_n.iter().all(|x| x.is_finite()));
    }
});
