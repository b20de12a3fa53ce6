//! Any bytes: a condensed table that answers with finite forces and is written as it was, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_fem::{Ball, Compliance, Contacts};
use palpate_twin::Vec3;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(table) = Compliance::from_bytes(bytes) {
        assert_eq!(table.to_bytes(), bytes);
        let ball = Ball {
            centre_m: Vec3::new(0.0, 0.0, 4e-3),
            radius_m: 5e-3,
            stiffness_npm: 1e3,
        };
        let answer = Contacts::default().press(&table, &ball);
        assert!(answer.force_n.iter().all(|x| x.is_finite()));
    }
});
