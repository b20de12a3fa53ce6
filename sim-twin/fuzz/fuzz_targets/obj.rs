//! Any bytes: a surface that passes the checks and the round trip through `.ply`, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::mesh::file::{MeshFormat, read, write};
use palpate_geometry::mesh::{Units, mesh_check};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(parts) = read(MeshFormat::Obj, bytes, &Units::SI) {
        let _ = (mesh_check::findings(&parts), mesh_check::warnings(&parts));
        if let Ok(Some(written)) = write(MeshFormat::Ply, &parts.clone().into(), &Units::SI) {
            let again = read(MeshFormat::Ply, &written, &Units::SI).expect("what was written");
            assert_eq!(again.nodes_m, parts.nodes_m);
            assert_eq!(again.triangles, parts.triangles);
        }
    }
});
