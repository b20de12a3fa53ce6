use super::*;
use crate::mesh::hex::HexMesh;
use crate::mesh::mesh_check;
use crate::mesh::mesh_check::findings;
use crate::mesh::tests::even;
use proptest::prelude::*;
use std::fmt::Write as _;

mod bytes;

/// Block of two layers: hexahedra of region 1 below tetrahedra of region 2, with a triangle.
pub(super) fn block() -> MixedMesh {
    let axis_m = even(0.1, 2);
    let block = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
    let regions: Vec<u32> = (0..8).map(|cell| 1 + cell / 4).collect();
    let mut parts = MixedMesh::from_hex(&block, &regions);
    let upper: Vec<[u32; 8]> = parts.hexes.nodes.drain(4..).collect();
    parts.hexes.regions.truncate(4);
    for tet in upper.iter().flat_map(crate::mesh::tet::cut) {
        parts.tets.push(tet, 2);
    }
    parts.triangles.push([0, 1, 3], 9);
    parts
}

pub(super) fn skin() -> MixedMesh {
    let axis_m = even(0.1, 2);
    let block = HexMesh::block([&axis_m, &axis_m, &axis_m]).unwrap();
    MixedMesh::from_hex(&block, &[])
        .boundary_mesh()
        .into_owned()
}

/// Elements with Gmsh's type and their region.
fn elements(parts: &MixedMesh) -> Vec<(u8, u32, Vec<u32>)> {
    let tets = parts
        .tets
        .iter()
        .map(|(nodes, region)| (4, region, nodes.to_vec()));
    let hexes = parts
        .hexes
        .iter()
        .map(|(nodes, region)| (5, region, nodes.to_vec()));
    let triangles = parts
        .triangles
        .iter()
        .map(|(nodes, region)| (2, region, nodes.to_vec()));
    tets.chain(hexes).chain(triangles).collect()
}

/// Numbers of nodes in the test's Gmsh files do not begin at 1 and have gaps.
fn tag(node: u32) -> u64 {
    100 + 7 * u64::from(node)
}

fn tags(nodes: &[u32]) -> String {
    let words: Vec<String> = nodes.iter().map(|&node| tag(node).to_string()).collect();
    words.join(" ")
}

/// Gmsh 2.2, as Gmsh writes it.
pub(super) fn msh2(parts: &MixedMesh) -> String {
    let mut text =
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Comment\n$Nodes 3\n$EndComment\n".to_owned();
    let _ = writeln!(text, "$PhysicalNames\n{}", parts.names.len());
    for ((dimension, number), name) in &parts.names {
        let _ = writeln!(text, "{dimension} {number} \"{name}\"");
    }
    let _ = writeln!(text, "$EndPhysicalNames\n$Nodes\n{}", parts.nodes_m.len());
    for (node, at) in (0..).zip(&parts.nodes_m) {
        let _ = writeln!(text, "{} {:?} {:?} {:?}", tag(node), at.x, at.y, at.z);
    }
    let elements = elements(parts);
    let _ = writeln!(
        text,
        "$EndNodes\n$Elements\n{}\n1 15 2 0 1 100",
        elements.len() + 1
    );
    for (index, (kind, region, nodes)) in elements.iter().enumerate() {
        let _ = writeln!(text, "{} {kind} 2 {region} 4 {}", index + 2, tags(nodes));
    }
    text + "$EndElements\n"
}

/// Gmsh 4.1, as Gmsh writes it: a block for every element, whose entity has the region's group.
pub(super) fn msh4(parts: &MixedMesh) -> String {
    let mut text = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n".to_owned();
    let elements = elements(parts);
    let dimension = |kind: u8| if kind == 2 { 2 } else { 3 };
    let count = |wanted: u8| {
        elements
            .iter()
            .filter(|element| dimension(element.0) == wanted)
            .count()
    };
    let _ = writeln!(
        text,
        "$Entities\n1 1 {} {}\n5 0 0 0 0\n6 0 0 0 1 1 1 0 2 5 -5",
        count(2),
        count(3)
    );
    for wanted in [2, 3] {
        for (index, (kind, region, _)) in elements.iter().enumerate() {
            if dimension(*kind) == wanted {
                let _ = writeln!(text, "{index} 0 0 0 1 1 1 1 -{region} 1 6");
            }
        }
    }
    let total = parts.nodes_m.len();
    let _ = writeln!(
        text,
        "$EndEntities\n$Nodes\n2 {total} 100 9999\n1 6 1 1\n100"
    );
    let row = |at: &Vec3| format!("{:?} {:?} {:?}\n", at.x, at.y, at.z);
    text += &(row(&parts.nodes_m[0]).trim().to_owned() + " 0.5\n");
    let _ = writeln!(text, "3 0 0 {}", total - 1);
    for node in 1..total {
        let _ = writeln!(text, "{}", tag(u32::try_from(node).unwrap()));
    }
    parts.nodes_m[1..].iter().for_each(|at| text += &row(at));
    let count = elements.len();
    let _ = writeln!(text, "$EndNodes\n$Elements\n{count} {count} 1 {count}");
    for (index, (kind, _, nodes)) in elements.iter().enumerate() {
        let _ = writeln!(
            text,
            "{} {index} {kind} 1\n{index} {}",
            dimension(*kind),
            tags(nodes)
        );
    }
    text + "$EndElements\n"
}

pub(super) fn obj(parts: &MixedMesh) -> String {
    let mut text = "# a comment\nmtllib none\no block\n".to_owned();
    for at in &parts.nodes_m {
        let _ = writeln!(text, "v {:?} {:?} {:?}", at.x, at.y, at.z);
    }
    let count = parts.nodes_m.len();
    for (index, [a, b, c]) in parts.triangles.nodes.iter().enumerate() {
        let back = count - *c as usize;
        let _ = match index % 3 {
            0 => writeln!(text, "f {} {} {}", a + 1, b + 1, c + 1),
            1 => writeln!(text, "f {}/1 {}/2/3 -{back}", a + 1, b + 1),
            _ => writeln!(text, "f {}//1 {}//1 {}//1 # end", a + 1, b + 1, c + 1),
        };
    }
    text
}

pub(super) fn stl(parts: &MixedMesh) -> String {
    let mut text = "solid two words\r\n".to_owned();
    for triangle in &parts.triangles.nodes {
        text += "facet normal nan 0 0\n outer loop\n";
        for node in triangle {
            let at = parts.nodes_m[*node as usize];
            let _ = writeln!(text, "  vertex {:?} {:?} {:?}", at.x, at.y, at.z);
        }
        text += " endloop\nendfacet\n";
    }
    text + "endsolid two words\n"
}

/// Binary, with a header that begins as a text does.
pub(super) fn stl_binary(parts: &MixedMesh) -> Vec<u8> {
    let mut bytes = b"solid".to_vec();
    bytes.resize(80, b' ');
    bytes.extend(u32::try_from(parts.triangles.len()).unwrap().to_le_bytes());
    for triangle in &parts.triangles.nodes {
        bytes.extend([0; 12]);
        for node in triangle {
            parts.nodes_m[*node as usize]
                .iter()
                .for_each(|&x| bytes.extend((x as f32).to_le_bytes()));
        }
        bytes.extend([0; 2]);
    }
    bytes
}

pub(super) fn ply_text(parts: &MixedMesh) -> String {
    let (nodes, faces) = (parts.nodes_m.len(), parts.triangles.len());
    let mut text = format!(
        "ply\r\nformat ascii 1.0\ncomment end_header is next\nelement vertex {nodes}\n\
         property float y\nproperty double x\nproperty float z\nproperty uchar red\n\
         property list uchar int near\nelement nothing 1000000000000\nelement face {faces}\n\
         property float area\nproperty list uchar int vertex_index\nend_header\n"
    );
    for at in &parts.nodes_m {
        let _ = writeln!(text, "{:?} {:?} {:?} 255 2 1 1", at.y, at.x, at.z);
    }
    for [a, b, c] in &parts.triangles.nodes {
        let _ = writeln!(text, "0.5 3 {a} {b} {c}");
    }
    text
}

/// Sorted corner positions of all triangles, independent of node numbers.
fn places(parts: &MixedMesh) -> Vec<[Vec3; 3]> {
    let triangles = parts.triangles.nodes.iter();
    triangles
        .map(|nodes| nodes.map(|node| parts.nodes_m[node as usize]))
        .collect()
}

fn si(format: MeshFormat, bytes: impl AsRef<[u8]>) -> Result<MixedMesh, Defect> {
    read(format, bytes.as_ref(), &Units::SI)
}

/// The bytes of a mesh in metres.
pub(super) fn written(format: MeshFormat, parts: &MixedMesh) -> Vec<u8> {
    let bytes = write(format, &parts.clone().into(), &Units::SI);
    bytes.unwrap().expect("a format that can be written")
}

fn refusal(format: MeshFormat, bytes: impl AsRef<[u8]>) -> String {
    si(format, bytes).unwrap_err().to_string()
}

#[test]
fn every_format_round_trips() {
    let mut parts = block();
    // a quadrangle and two triangles do not meet face to face
    assert!(findings(&parts)[0].to_string().contains("4 outer faces"));
    assert_eq!(mesh_check::check(&parts.tetrahedra()), Ok(()));
    assert_eq!(
        si(MeshFormat::Vtu, written(MeshFormat::Vtu, &parts)),
        Ok(parts.clone())
    );
    assert_eq!(si(MeshFormat::Msh, msh4(&parts)), Ok(parts.clone()));
    parts.names.insert((3, 2), "soft \"tissue\"".to_owned());
    assert_eq!(si(MeshFormat::Msh, msh2(&parts)), Ok(parts));
    let skin = skin();
    assert_eq!(
        si(MeshFormat::Ply, written(MeshFormat::Ply, &skin)),
        Ok(skin.clone())
    );
    assert_eq!(si(MeshFormat::Ply, ply_text(&skin)), Ok(skin.clone()));
    assert_eq!(si(MeshFormat::Obj, obj(&skin)), Ok(skin.clone()));
    let soup = si(MeshFormat::Stl, stl(&skin)).unwrap();
    assert_eq!(
        (soup.nodes_m.len(), places(&soup)),
        (skin.nodes_m.len(), places(&skin))
    );
    let soup = si(MeshFormat::Stl, stl_binary(&skin)).unwrap();
    assert_eq!(
        (soup.nodes_m.len(), soup.triangles.len()),
        (skin.nodes_m.len(), skin.triangles.len())
    );
    assert_eq!(mesh_check::check(&soup), Ok(()));
}

#[test]
fn stated_units_scale_lengths() {
    let millimetre = Units {
        length_m: 1e-3,
        force_n: 1.0,
    };
    let parts = block();
    let in_mm = |format| {
        let bytes = write(format, &parts.clone().into(), &millimetre);
        bytes.unwrap().expect("a format that can be written")
    };
    let text = String::from_utf8(in_mm(MeshFormat::Vtu)).unwrap();
    assert!(text.contains("100.0 100.0 100.0"), "{text}");
    let back = read(MeshFormat::Vtu, text.as_bytes(), &millimetre).unwrap();
    assert!((back.size_m() - parts.size_m()).norm() < 1e-15);
    let outside = read(MeshFormat::Ply, &in_mm(MeshFormat::Ply), &millimetre).unwrap();
    // the lower half is hexahedra, whose sides are cut as those of tetrahedra are
    assert_eq!(outside.triangles.len(), 6 * 4 * 2);
    let nothing = Units {
        length_m: 0.0,
        force_n: 1.0,
    };
    assert!(
        read(MeshFormat::Obj, b"v 1 2 3", &nothing)
            .unwrap_err()
            .to_string()
            .contains("length_m")
    );
}

#[test]
fn unwritable_values_are_named() {
    let mut parts = block();
    parts.nodes_m[3].x = f64::INFINITY;
    for format in [MeshFormat::Vtu, MeshFormat::Ply, MeshFormat::Obj] {
        let error = write(format, &parts.clone().into(), &Units::SI).unwrap_err();
        let text = error.to_string();
        let start = "cannot be written with coordinates [inf";
        assert!(text.starts_with("node ") && text.contains(start), "{text}");
    }
    assert_eq!(write(MeshFormat::Stl, &parts.into(), &Units::SI), Ok(None));
}

#[test]
fn refusals_of_gmsh_files_name_line_field_value_and_remedy() {
    let good = msh4(&block());
    let change = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        refusal(MeshFormat::Msh, good.replacen(from, to, 1))
    };
    assert_eq!(
        refusal(MeshFormat::Msh, ""),
        "line 1: first line is missing; expected `$MeshFormat`"
    );
    let text = change("4.1 0 8", "4.0 0 8");
    assert!(
        text.starts_with("line 2: version is `4.0`; expected 2.2 or 4.1"),
        "{text}"
    );
    let text = change("4.1 0 8", "4.1 1 8");
    assert!(
        text.starts_with("line 2: file type is `1`; expected 0 (ASCII)"),
        "{text}"
    );
    let text = change("$EndNodes", "3.0 $EndNodes");
    assert!(
        text.contains("end of section is `3.0`; expected `$EndNodes`"),
        "{text}"
    );
    let text = change("2 27 100 9999", "2 28 100 9999");
    assert!(
        text.contains("number of nodes is `28`; expected 27, the sum of the blocks"),
        "{text}"
    );
    let text = change(" 100 107 ", " 101 107 ");
    assert!(
        text.contains("node is `101`; expected the number of a node"),
        "{text}"
    );
    let text = change("3 0 4 1", "3 0 11 1");
    assert!(
        text.contains("element type is `11`") && text.contains("ElementOrder = 1"),
        "{text}"
    );
    let good = msh2(&block());
    let text = refusal(
        MeshFormat::Msh,
        good.replacen("\n107 0.05", "\n107 1e999", 1),
    );
    assert!(
        text.contains("x is `1e999`; expected a finite number"),
        "{text}"
    );
    let text = refusal(MeshFormat::Msh, good.replacen("\n107 ", "\n100 ", 1));
    assert!(text.contains("number of a node is `100`"), "{text}");
    let text = refusal(MeshFormat::Msh, &good[..good.len() - 20]);
    assert!(text.contains("expected"), "{text}");
}

#[test]
fn refusals_of_surfaces_name_line_field_value_and_remedy() {
    let cases = [
        (
            MeshFormat::Obj,
            "v 0 0\n",
            "line 1: z is missing; expected three numbers `v x y z`",
        ),
        (
            MeshFormat::Obj,
            "v 0 0 0\nf 1 1\n",
            "line 2: number of corners is `2`; expected at least 3",
        ),
        (
            MeshFormat::Obj,
            "v 0 0 0\nf 1 1 2\n",
            "line 2: vertex of a face is `2`; expected 1 to 1",
        ),
        (
            MeshFormat::Obj,
            "v 0 0 0\nf 1 1 0\n",
            "line 2: vertex of a face is `0`",
        ),
        (
            MeshFormat::Obj,
            "v 0 0 0\nf 1 1 -2\n",
            "line 2: vertex of a face is `-2`",
        ),
        (MeshFormat::Obj, "", "vertex is missing"),
        (MeshFormat::Stl, "", "byte 0: header is missing"),
        (
            MeshFormat::Stl,
            "solid\nfacet normal 0 0 1 outer loop vertex 0 0 inf",
            "line 2: z is `inf`; expected a finite number",
        ),
        (
            MeshFormat::Stl,
            "solid\nfacet abnormal",
            "line 2: keyword is `abnormal`; expected `normal`",
        ),
        (
            MeshFormat::Stl,
            "other",
            "byte 80: number of triangles is missing",
        ),
        (
            MeshFormat::Ply,
            "plx\n",
            "line 1: first line is `plx`; expected `ply`",
        ),
        (
            MeshFormat::Ply,
            "ply\nformat ebcdic 1.0\n",
            "line 2: format is `ebcdic`; expected ascii",
        ),
        (
            MeshFormat::Ply,
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty half x\n",
            "line 4: type is `half`",
        ),
        (
            MeshFormat::Ply,
            "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n",
            "line 3: y is missing",
        ),
    ];
    for (format, text, expected) in cases {
        let error = refusal(format, text);
        assert!(error.contains(expected), "{text}: {error}");
    }
    let good = ply_text(&skin());
    let text = refusal(MeshFormat::Ply, good.replacen("0.5 3 ", "0.5 2 ", 1));
    assert!(
        text.contains("number of corners is `2`; expected at least 3"),
        "{text}"
    );
    let mut bytes = stl_binary(&skin());
    bytes[82] = 0x70;
    let text = refusal(MeshFormat::Stl, &bytes[10..]);
    assert!(text.contains("number of triangles is"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_finite_numbers_round_trip(
        places in prop::collection::vec(prop::array::uniform3(prop::num::f64::NORMAL | prop::num::f64::ZERO), 8..20),
        regions in prop::collection::vec(any::<u32>(), 3),
    ) {
        let mut parts = MixedMesh { nodes_m: places.into_iter().map(Vec3::from).collect(), ..MixedMesh::default() };
        parts.tets.push([3, 1, 4, 5], regions[0]);
        parts.hexes.push([0, 1, 2, 3, 7, 6, 5, 4], regions[1]);
        parts.triangles.push([2, 7, 1], regions[2]);
        let vtu = written(MeshFormat::Vtu, &parts);
        prop_assert_eq!(si(MeshFormat::Vtu, vtu), Ok(parts.clone()));
        prop_assert_eq!(si(MeshFormat::Msh, msh2(&parts)), Ok(parts.clone()));
        prop_assert_eq!(si(MeshFormat::Msh, msh4(&parts)), Ok(parts.clone()));
        parts.tets = Default::default();
        parts.hexes = Default::default();
        parts.triangles.regions[0] = 0;
        let ply = written(MeshFormat::Ply, &parts);
        prop_assert_eq!(si(MeshFormat::Ply, ply), Ok(parts.clone()));
        prop_assert_eq!(si(MeshFormat::Obj, obj(&parts)), Ok(parts));
    }
}

/// Coloured surfaces keep their triangles in every readable format, and colours are where other programs read them.
#[test]
fn rn_03_colours_are_written_beside_positions() {
    let painted = ColouredMesh {
        mesh: MixedMesh::compact(
            &[[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.0, 0.3, 0.0]].map(Vec3::from),
            &[[0, 1, 2], [2, 1, 0]],
        ),
        colours: vec![[255, 0, 51], [1, 2, 3], [9, 8, 7]],
        materials: vec![1, 2, 2],
    };
    let bytes = |format| {
        write(format, &painted, &Units::SI)
            .unwrap()
            .expect("written")
    };
    let [ply, obj, vtu] = [MeshFormat::Ply, MeshFormat::Obj, MeshFormat::Vtu].map(bytes);
    let [obj, vtu] = [obj, vtu].map(|text| String::from_utf8(text).unwrap());
    assert!(obj.contains("\nv 0.0 0.0 0.0 1.0000 0.0000 0.2000\n") && obj.contains("\nf 1 2 3\n"));
    assert!(vtu.contains("<PointData Scalars=\"colour\">") && vtu.contains("\n255 0 51\n"));
    let header = String::from_utf8_lossy(&ply[..300.min(ply.len())]).into_owned();
    assert!(header.contains("property uchar red"), "{header}");
    for (format, bytes) in [
        (MeshFormat::Ply, ply),
        (MeshFormat::Obj, obj.into_bytes()),
        (MeshFormat::Vtu, vtu.into_bytes()),
    ] {
        let again = read(format, &bytes, &Units::SI).unwrap();
        assert_eq!(again.nodes_m, painted.mesh.nodes_m, "{format:?}");
        assert_eq!(
            again.triangles.nodes, painted.mesh.triangles.nodes,
            "{format:?}"
        );
    }
}
