use super::*;
use crate::mesh::hex::HexMesh;
use crate::mesh::tests::even;
use proptest::prelude::*;

fn block() -> HexMesh {
    let axis_m = even(0.1, 3);
    HexMesh::block([&axis_m, &axis_m, &even(0.05, 2)]).unwrap()
}

/// Boundary of the block as twelve triangles.
fn shell() -> MixedMesh {
    let axis_m = even(0.1, 1);
    let cube = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
    MixedMesh::from_hex(&cube, &[]).boundary_mesh().into_owned()
}

fn only(findings: &[Defect]) -> String {
    assert_eq!(findings.len(), 1, "{findings:?}");
    findings[0].to_string()
}

#[test]
fn cut_block_keeps_its_volume_and_boundary() {
    let block = block();
    let mesh = MixedMesh::from_hex(&block, &[3; 18]).tetrahedra();
    assert_eq!(findings(&mesh), []);
    assert_eq!(mesh.tets.len(), 6 * 18);
    assert!(mesh.tets.regions.iter().all(|&region| region == 3));
    let volume_m3: f64 = (0..mesh.tets.len()).map(|cell| mesh.tet_m3(cell)).sum();
    assert!((volume_m3 - 0.1 * 0.1 * 0.05).abs() < 1e-15);
    let quads: usize = block.faces.iter().map(Vec::len).sum();
    let skin = mesh.boundary_mesh();
    assert_eq!(skin.triangles.len(), 2 * quads);
    assert_eq!(findings(&skin), []);
    assert!((skin.enclosed_m3() - volume_m3).abs() < 1e-15);
    assert!(warnings(&skin).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_cut_is_conforming_however_nodes_are_numbered(keys in prop::collection::vec(any::<u32>(), 48)) {
        let block = block();
        let mut order: Vec<usize> = (0..block.nodes_m.len()).collect();
        order.sort_by_key(|&node| keys[node]);
        let mut renamed = block.clone();
        for (new, &old) in order.iter().enumerate() {
            renamed.nodes_m[new] = block.nodes_m[old];
        }
        let name = |old: u32| order.iter().position(|&node| node == old as usize).unwrap() as u32;
        renamed.cells.iter_mut().for_each(|cell| *cell = cell.map(name));
        let mesh = MixedMesh::from_hex(&renamed, &[]).tetrahedra();
        prop_assert_eq!(findings(&mesh), []);
        let quads: usize = block.faces.iter().map(Vec::len).sum();
        // a face that two neighbours cut differently would be part of the boundary
        prop_assert_eq!(mesh.boundary().len(), 2 * quads);
    }
}

#[test]
fn cell_defects_are_named() {
    let good = MixedMesh::from_hex(&block(), &[]).tetrahedra();
    let broken = |change: &dyn Fn(&mut MixedMesh)| {
        let mut mesh = good.clone();
        change(&mut mesh);
        findings(&mesh)
    };
    let text = only(&broken(&|mesh| mesh.nodes_m[7].z = f64::NAN));
    assert!(
        text.starts_with("node 7 is at [") && text.contains("NaN"),
        "{text}"
    );
    let text = only(&broken(&|mesh| mesh.tets.nodes[5][2] = 99));
    assert_eq!(
        text,
        "tetrahedron 5 names node 99; expected an index below 48"
    );
    let text = only(&broken(&|mesh| {
        mesh.tets.nodes[5][2] = mesh.tets.nodes[5][0]
    }));
    assert!(
        text.starts_with("tetrahedron 5 names node") && text.contains("twice"),
        "{text}"
    );
    let text = only(&broken(&|mesh| mesh.tets.nodes[5].swap(0, 1)));
    assert!(
        text.starts_with("tetrahedron 5 has -") && text.contains("inside out"),
        "{text}"
    );
    let text = only(&broken(&|mesh| mesh.tets.push(mesh.tets.nodes[5], 0)));
    assert_eq!(text, "tetrahedron 108 has the nodes of tetrahedron 5 again");
    let text = only(&broken(&|mesh| mesh.nodes_m.push(Vec3::repeat(0.2))));
    assert_eq!(text, "node 48 belongs to no cell");
    let twin = broken(&|mesh| {
        mesh.nodes_m.push(mesh.nodes_m[0] + Vec3::repeat(1e-12));
        let cell = mesh
            .tets
            .nodes
            .iter()
            .position(|cell| cell.contains(&0))
            .unwrap();
        mesh.tets.nodes[cell] = mesh.tets.nodes[cell].map(|node| if node == 0 { 48 } else { node });
    });
    assert_eq!(only(&twin), "node 48 is where node 0 is");
    assert_eq!(
        check(&MixedMesh::default()).unwrap_err().to_string(),
        "no cells and no triangles; expected at least one"
    );
}

#[test]
fn connectivity_defects_are_named() {
    let mut mesh = MixedMesh {
        nodes_m: [
            [0, 0, 0],
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1],
            [0, 0, -1],
            [1, 1, 2],
        ]
        .map(|at: [i8; 3]| Vec3::from(at.map(f64::from)))
        .to_vec(),
        ..MixedMesh::default()
    };
    mesh.tets.push([0, 1, 2, 3], 0);
    mesh.tets.push([0, 2, 1, 4], 0);
    let mut three = mesh.clone();
    mesh.nodes_m.pop();
    assert_eq!(check(&mesh), Ok(()));
    three.tets.push([0, 1, 2, 5], 0);
    let text = only(&findings(&three));
    assert_eq!(
        text,
        "the face of tetrahedron 2 with nodes [0, 1, 2] belongs to 3 cells; expected 1 or 2"
    );
    three.tets.nodes.remove(1);
    three.nodes_m.remove(4);
    three.tets.nodes[1] = [0, 1, 2, 4];
    let text = only(&findings(&three));
    assert!(
        text.contains("lie on the same side of the face with nodes [0, 1, 2]"),
        "{text}"
    );
}

#[test]
fn two_blocks_that_touch_along_an_edge_are_named() {
    let cut = |shift: f64| {
        HexMesh::block([&[shift, shift + 1.0], &[shift, shift + 1.0], &[0.0, 1.0]]).unwrap()
    };
    let (one, other) = (cut(0.0), cut(1.0));
    let mut parts = MixedMesh::from_hex(&one, &[]);
    // nodes 3 and 7 of the first cell are 0 and 4 of the second
    let nodes = other.cells[0].map(|node| match node {
        0 => 3,
        4 => 7,
        node => node + 8 - u32::from(node > 0) - u32::from(node > 4),
    });
    parts
        .nodes_m
        .extend([1, 2, 3, 5, 6, 7].map(|node: usize| other.nodes_m[node]));
    parts.hexes.push(nodes, 0);
    let text = only(&findings(&parts));
    assert!(text.starts_with("edge 3 - 7 of hexahedron"), "{text}");
    assert!(text.contains("belongs to 4 outer faces"), "{text}");
}

#[test]
fn surface_defects_are_named() {
    let good = shell();
    let broken = |change: &dyn Fn(&mut MixedMesh)| {
        let mut surface = good.clone();
        change(&mut surface);
        surface
    };
    assert_eq!(check(&good), Ok(()));
    let turned = findings(&broken(&|surface| surface.triangles.nodes[4].swap(0, 1)));
    assert_eq!(turned.len(), 3);
    let text = turned[0].to_string();
    assert!(
        text.contains("triangle 4 ") && text.contains("turned over"),
        "{text}"
    );
    let open = broken(&|surface| surface.triangles.nodes.truncate(11));
    assert_eq!(check(&open), Ok(()));
    let text = warnings(&open)[0].to_string();
    assert!(
        text.starts_with("the surface is open: 3 edges have one triangle"),
        "{text}"
    );
    let inward = broken(&|surface| {
        let faces = &mut surface.triangles.nodes;
        faces.iter_mut().for_each(|face| face.swap(0, 1));
    });
    assert_eq!(check(&inward), Ok(()));
    let text = warnings(&inward)[0].to_string();
    assert!(text.contains("looks inward"), "{text}");
    let fin = broken(&|surface| {
        surface.nodes_m.push(Vec3::new(0.3, 0.3, 0.4));
        let [a, b, _] = surface.triangles.nodes[0];
        surface.triangles.push([a, b, 8], 0);
    });
    let text = only(&findings(&fin));
    assert!(text.contains("belongs to 3 outer faces"), "{text}");
    let flat = broken(&|surface| {
        surface
            .nodes_m
            .push((surface.nodes_m[0] + surface.nodes_m[1]) / 2.0);
        surface.triangles.push([0, 1, 8], 0);
    });
    let text = only(&findings(&flat));
    assert!(text.starts_with("triangle 12 has 0 of the area"), "{text}");
}

#[test]
fn implausible_extent_suggests_units() {
    assert_eq!(extent(0.1), None);
    let text = extent(120.0).unwrap().to_string();
    assert!(
        text.contains("120 m long") && text.contains("mm rather than m (then 0.12 m)"),
        "{text}"
    );
    let text = extent(1e-7).unwrap().to_string();
    assert!(text.contains("m rather than um (then 0.1 m)"), "{text}");
    assert!(extent(1e30).unwrap().to_string().contains("No usual unit"));
    let mut parts = MixedMesh::from_hex(&block(), &[]);
    assert!(warnings(&parts).is_empty());
    parts.nodes_m.iter_mut().for_each(|at_m| *at_m *= 1e3);
    assert_eq!(warnings(&parts).len(), 1);
}

#[test]
fn coincident_nodes_across_grid_borders_are_found() {
    // places on every side of a grain's border, closer than the grain
    for step in 0..40_u8 {
        let shift_m = f64::from(step) * 0.13e-9;
        let mut parts = MixedMesh::from_hex(&block(), &[]);
        parts
            .nodes_m
            .push(parts.nodes_m[5] + Vec3::new(shift_m, 0.0, 0.0));
        parts
            .nodes_m
            .push(parts.nodes_m[5] + Vec3::new(shift_m + 0.5e-10, 0.0, 0.0));
        let twin = |finding: &Defect| finding.to_string().starts_with("node 49 is where node");
        assert!(findings(&parts).iter().any(twin), "{step}");
    }
}
