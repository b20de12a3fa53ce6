//! Any bytes: a surface that can be judged, written as `.ply` and read back as it was, or a refusal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::mesh::file::{Format, ply_write, read};
use palpate_geometry::mesh::{Units, defect};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(parts) = read(Format::Obj, bytes, &Units::SI) {
        let _ = (defect::findings(&parts), defect::warnings(&parts));
        if let Ok(written) = ply_write::write(&parts, &Units::SI) {
            let again = read(Format::Ply, &written, &Units::SI).expect("what was written");
            assert_eq!(again.nodes_m, parts.nodes_m);
            assert_eq!(again.triangles, parts.triangles);
        }
    }
});
