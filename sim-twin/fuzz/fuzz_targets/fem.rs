//! Any bytes as the pair `.fem` and `.plg`: a lattice that can be judged, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::mesh::{Units, check, plg};

fuzz_target!(|pair: (&[u8], &[u8])| {
    if let Ok(loaded) = plg::read_pair(pair.0, pair.1, &Units::SI) {
        let _ = check::findings(&loaded.lattice);
    }
});
