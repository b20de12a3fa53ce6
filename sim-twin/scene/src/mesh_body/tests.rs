use crate::{Scene, SceneBody, load, load_with, scene_text};
use palpate_geometry::mesh::Units;
use palpate_geometry::mesh::file::{self, MeshFormat};
use palpate_geometry::mesh::hex::HexMesh;
use palpate_twin::law::LawFamily;
use palpate_twin::{Reaction, Vec3};

fn mound(from: &str, to: &str) -> Result<Scene, String> {
    let plain = scene_text("mound").unwrap();
    assert!(plain.contains(from), "{from}");
    load(&plain.replacen(from, to, 1)).map_err(|error| error.to_string())
}

#[test]
fn body_matches_its_file_and_scene() {
    let SceneBody::Mesh(volume) = load("mound").unwrap().body else {
        panic!("a body");
    };
    assert_eq!(volume.mesh.cells.len(), 540);
    let [low_m, high_m] = volume.corners_m();
    assert!((high_m.x - 0.045).abs() < 1e-12 && (low_m.x + 0.045).abs() < 1e-12);
    let [body, lump] = [0, 1].map(|part| volume.material_amount(part));
    assert_eq!((body.0, lump.0), (534, 6));
    // all of the ground is fixed, and nothing else
    for (held, at_m) in volume.fixed.iter().zip(&volume.mesh.nodes_m) {
        assert_eq!(*held, at_m.z < low_m.z + 1e-6, "{at_m}");
    }
    let lumps = volume.lumps();
    assert_eq!((lumps.len(), lumps[0].factor), (1, 6.0));
    let [x_m, y_m] = lumps[0].center_m;
    assert!((x_m - 0.02).abs() < 2e-3 && y_m.abs() < 2e-3, "{x_m} {y_m}");
    assert!((0.009..0.015).contains(&lumps[0].radius_m));
    let parts = volume.to_mixed_mesh();
    assert_eq!(parts.names[&(3, 2)], "lump");
    assert_eq!(
        parts
            .tets
            .regions
            .iter()
            .filter(|region| **region == 2)
            .count(),
        6
    );
}

/// A press over the lump is stiffer than beside it, and a softer law of the same stiffness is softer.
#[test]
fn press_is_stiffer_over_the_lump() {
    let scene = load("mound").unwrap();
    let presses = scene
        .press_stiffness(&[[0.02, 0.0], [-0.02, 0.0]], 3e-3)
        .unwrap();
    let ratio = presses[0].secant_npm / presses[1].secant_npm;
    assert!((1.1..1.6).contains(&ratio), "{presses:?}");
    let viscous = mound(
        "young_pa = 10000.0",
        "young_pa = 10000.0\nrelaxing_share = 0.5\nrelaxing_time_s = 0.01",
    );
    let relaxed = viscous
        .unwrap()
        .press_stiffness(&[[-0.02, 0.0]], 3e-3)
        .unwrap()[0]
        .force_n;
    let ratio = relaxed / presses[1].force_n;
    assert!((0.45..0.75).contains(&ratio), "{ratio}");
}

#[test]
fn fixed_nodes_are_selected_in_every_way() {
    let held = |fixed: &str| {
        let SceneBody::Mesh(volume) = mound("fixed = \"ground\"", fixed)?.body else {
            panic!("a body");
        };
        Ok::<_, String>(volume.fixed.iter().filter(|held| **held).count())
    };
    let ground = held("fixed = \"ground\"").unwrap();
    for same in [
        "\"bottom\"",
        "3",
        "{ below_m = -0.0289 }",
        "[\"bottom\", { below_m = -0.028 }]",
    ] {
        let found = held(&format!("fixed = {same}"));
        // the items of a list must differ
        match same.starts_with('[') {
            true => assert!(found.unwrap_err().contains("mesh.fixed[1]"), "{same}"),
            false => assert_eq!(found, Ok(ground), "{same}"),
        }
    }
    let both = held("fixed = [\"ground\", \"lump\"]").unwrap();
    // 6 tetrahedra of a block with a node on every edge; nothing between lump and ground
    assert_eq!(both, ground + 27);
    for (fixed, part) in [
        ("\"roof\"", "body, lump"),
        ("77", "mesh.fixed` is 77"),
        ("{ below_m = -1 }", "not held yet"),
        ("{ above_m = 0 }", "`bottom`, the name"),
        ("[]", "`bottom`, the name"),
        ("{ below_m = 1.0 }", "no face is left to touch"),
    ] {
        let error = held(&format!("fixed = {fixed}")).unwrap_err();
        assert!(error.contains(part), "{fixed}: {error}");
    }
}

/// A law is read with its number; a missing number, or one of another law, is refused.
#[test]
fn law_and_its_number_are_read() {
    let law = |lines: &str| {
        let SceneBody::Mesh(volume) = mound("damping_per_s = 30.0", lines)?.body else {
            panic!("a body");
        };
        Ok::<_, String>(volume.law)
    };
    let mooney = law("law = \"mooney-rivlin\"\nmooney_second = 0.25");
    assert_eq!(mooney, Ok(LawFamily::MooneyRivlin { second: 0.25 }));
    let fung = law("law = \"fung\"\nfung_growth = 3.0");
    assert_eq!(fung, Ok(LawFamily::Fung { growth: 3.0 }));
    for (lines, part) in [
        (
            "law = \"mooney-rivlin\"\nfung_growth = 3.0",
            "mesh.mooney_second` is missing",
        ),
        (
            "law = \"fung\"\nmooney_second = 0.25",
            "mesh.fung_growth` is missing",
        ),
        ("mooney_second = 0.25", "mesh.mooney_second` is 0.25"),
    ] {
        let error = law(lines).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn refusals_name_file_field_and_valid_form() {
    for (from, to, parts) in [
        (
            "mound.msh",
            "mound.step",
            ["mesh.file` is mound.step", ".msh, .vtu, .obj"],
        ),
        (
            "mound.msh",
            "other.msh",
            ["other.msh", "expected a mesh file beside the scene"],
        ),
        ("unit = \"mm\"", "unit = \"yard\"", ["yard", "inch"]),
        ("unit = \"mm\"\n", "", ["missing field `unit`", ""]),
        (
            "name = \"lump\"",
            "name = \"tumour\"",
            ["region[1].name` is tumour", "group 2 \"lump\""],
        ),
        (
            "name = \"lump\"",
            "id = 9",
            ["region[1].id` is 9", "group 1 \"body\""],
        ),
        ("name = \"lump\"", "id = 1", ["region[1]", "group 1 again"]),
        (
            "young_pa = 60000.0",
            "",
            ["region[1].young_pa` is missing", "tissue"],
        ),
        (
            "young_pa = 60000.0",
            "young_kpa = 60.0",
            ["unknown field `young_kpa`", "`lump`"],
        ),
        (
            "damping_per_s = 30.0",
            "damping_per_s = -1.0",
            ["damping_per_s", "-1"],
        ),
        (
            "damping_per_s = 30.0",
            "law = \"hencky\"",
            ["mesh.law", "neo-hookean"],
        ),
        (
            "damping_per_s = 30.0",
            "shift_m = [nan, 0.0, 0.0]",
            ["mesh.shift_m", "finite"],
        ),
        (
            "[tool]",
            "[[layer]]\nyoung_pa = 1.0\n[tool]",
            ["`layer` is given", "[[region]]"],
        ),
    ] {
        let error = mound(from, to).expect_err(to);
        assert!(
            parts.iter().all(|part| error.contains(part)),
            "{to}: {error}"
        );
    }
    let without = scene_text("mound")
        .unwrap()
        .split("[[region]]\nname = \"lump\"")
        .next()
        .unwrap();
    let without = format!("{without}\n[tool]\nradius_m = 0.008\nstiffness_npm = 5e4\n");
    let error = load(&without).unwrap_err().to_string();
    assert!(error.contains("group 2 \"lump\" of 6 cells"), "{error}");
    let of_block = scene_text("block")
        .unwrap()
        .replace("[tool]", "[[region]]\nyoung_pa = 1.0\n[tool]");
    assert!(load(&of_block).unwrap_err().to_string().contains("[mesh]"));
}

/// Damaged files are refused with a line or a field.
#[test]
fn damaged_file_is_refused_with_its_line() {
    let plain = include_str!("../../scenes/mound.msh");
    let scene = scene_text("mound").unwrap();
    let refused = |bytes: Vec<u8>, scene: &str| {
        let read = |_: &str| Ok(bytes.clone());
        load_with(scene, &read).map(|_| ()).unwrap_err().to_string()
    };
    let broken = plain.replacen("\n17 ", "\n17 x", 1);
    let error = refused(broken.into_bytes(), scene);
    assert!(
        error.contains("mound.msh: line ") && error.contains("expected"),
        "{error}"
    );
    let surface = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let scene_of = |file: &str| scene.replace("mound.msh", file);
    let error = refused(surface.into(), &scene_of("liver.obj"));
    assert!(
        error.contains("liver.obj, with 1 triangles and no cells"),
        "{error}"
    );
    assert!(error.contains("Gmsh or TetGen"), "{error}");
    // two nodes of a cell swapped
    let (head, cell) = plain.rsplit_once(" 2 1 1 ").unwrap();
    let nodes: Vec<&str> = cell.split_whitespace().take(4).collect();
    let turned = [nodes[1], nodes[0], nodes[2], nodes[3]].join(" ");
    let inverted = format!(
        "{head} 2 1 1 {}",
        cell.replacen(&nodes.join(" "), &turned, 1)
    );
    let error = refused(inverted.into_bytes(), scene);
    assert!(
        error.contains("inside out") && error.contains("palpate model validate"),
        "{error}"
    );
}

/// Hexahedra without groups, from another format, need neither name nor number.
#[test]
fn a_file_of_hexahedra_without_groups_is_cut() {
    let axis_m = [0.0, 1.0, 2.0, 3.0].map(|part| 0.04 * part / 3.0);
    let block = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
    let mut parts = palpate_geometry::mesh::MixedMesh {
        nodes_m: block.nodes_m,
        ..Default::default()
    };
    for cell in block.cells {
        parts.hexes.push(cell, 0);
    }
    let bytes = file::write(MeshFormat::Vtu, &parts.into(), &Units::SI);
    let bytes = bytes.unwrap().expect("can be written");
    let read = |_: &str| Ok(bytes.clone());
    let text = "name = \"cube\"\n[mesh]\nfile = \"cube.vtu\"\nunit = \"m\"\nfixed = \"bottom\"\n\
                [[region]]\ntissue = \"muscle\"\n[tool]\nradius_m = 0.008\nstiffness_npm = 5e4\n";
    let scene = load_with(text, &read).unwrap();
    let SceneBody::Mesh(volume) = &scene.body else {
        panic!("a body");
    };
    assert_eq!(volume.mesh.cells.len(), 6 * 27);
    assert_eq!(volume.to_mixed_mesh().tetrahedra().tets.len(), 6 * 27);
    // the middle of the top is at the origin
    assert!((volume.corners_m()[1] - Vec3::new(0.02, 0.02, 0.0)).norm() < 1e-12);
    let mut tissue = scene.build().unwrap();
    let mut reaction = [Reaction::default()];
    for step in 1..=20 {
        let depth_m = 2e-3 * f64::from(step) / 20.0;
        tissue.step(
            &[scene.tool_at(Vec3::z() * (0.008 - depth_m))],
            5e-3,
            &mut reaction,
        );
    }
    assert!(reaction[0].force_n.z > 0.05, "{:?}", reaction[0]);
}
