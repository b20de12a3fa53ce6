//! Any bytes as the pair `.fem` and `.plg`: a lattice that can be checked, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::mesh::{Units, lattice_check, plg_file};

fuzz_target!(|pair: (&[u8], &[u8])| {
    if let Ok(lattice) = plg_file::read_pair(pair.0, pair.1, &Units::SI) {
        let _ = lattice_check::findings(&lattice);
    }
});
