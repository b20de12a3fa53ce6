//! Any bytes: a mesh that can be judged, written as `.vtu` and read back as it was, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::mesh::file::{Format, read, vtu_write};
use palpate_geometry::mesh::{Units, defect};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(parts) = read(Format::Msh, bytes, &Units::SI) {
        let _ = (defect::findings(&parts), defect::warnings(&parts));
        if let Ok(text) = vtu_write::write(&parts, &Units::SI) {
            let again = read(Format::Vtu, text.as_bytes(), &Units::SI).expect("what was written");
            assert_eq!(again.nodes_m, parts.nodes_m);
            assert_eq!(again.tets, parts.tets);
            assert_eq!(again.hexes, parts.hexes);
            assert_eq!(again.triangles, parts.triangles);
        }
    }
});
