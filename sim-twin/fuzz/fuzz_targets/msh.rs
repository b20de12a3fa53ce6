//! Any bytes: a mesh that passes the checks and the round trip through `.vtu`, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use palpate_geometry::mesh::file::{MeshFormat, read, write};
use palpate_geometry::mesh::{Units, mesh_check};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(parts) = read(MeshFormat::Msh, bytes, &Units::SI) {
        let _ = (mesh_check::findings(&parts), mesh_check::warnings(&parts));
        if let Ok(Some(written)) = write(MeshFormat::Vtu, &parts.clone().into(), &Units::SI) {
            let again = read(MeshFormat::Vtu, &written, &Units::SI).expect("what was written");
            assert_eq!(again.nodes_m, parts.nodes_m);
            assert_eq!(again.tets, parts.tets);
            assert_eq!(again.hexes, parts.hexes);
            assert_eq!(again.triangles, parts.triangles);
        }
    }
});
