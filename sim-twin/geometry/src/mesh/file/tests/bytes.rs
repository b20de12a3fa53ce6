//! Damaged files and files with huge counts: refused, without a panic and in little memory.

use super::*;

/// A valid file of every kind.
fn samples() -> Vec<(MeshFormat, Vec<u8>)> {
    let (block, skin) = (block(), skin());
    let vtu = written(MeshFormat::Vtu, &block);
    vec![
        (MeshFormat::Msh, msh2(&block).into_bytes()),
        (MeshFormat::Msh, msh4(&block).into_bytes()),
        (MeshFormat::Vtu, vtu),
        (MeshFormat::Vtu, grid(ZLIB, "zlib").into_bytes()),
        (MeshFormat::Vtu, raw()),
        (MeshFormat::Obj, obj(&skin).into_bytes()),
        (MeshFormat::Stl, stl(&skin).into_bytes()),
        (MeshFormat::Stl, stl_binary(&skin)),
        (MeshFormat::Ply, ply_text(&skin).into_bytes()),
        (MeshFormat::Ply, written(MeshFormat::Ply, &skin)),
    ]
}

/// Points, connectivity, offsets, types and regions of one tetrahedron, as VTK 9.6 writes them:
/// UInt32 headers, plain and in zlib blocks.
const PLAIN: [&str; 5] = [
    "YAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAPA/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA8D8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAADwPw==",
    "IAAAAAAAAAAAAAAAAQAAAAAAAAACAAAAAAAAAAMAAAAAAAAA",
    "CAAAAAQAAAAAAAAA",
    "AQAAAAo=",
    "BAAAAAcAAAA=",
];
const ZLIB: [&str; 5] = [
    "AQAAAACAAABgAAAAEgAAAA==eF5jYMAHPtjjlSZCHgB4XQOO",
    "AQAAAACAAAAgAAAAEwAAAA==eF5jYIAARijNBKWZoTQAAHAABw==",
    "AQAAAACAAAAIAAAACwAAAA==eF5jYYAAAAAoAAU=",
    "AQAAAACAAAABAAAACQAAAA==eF7jAgAACwAL",
    "AQAAAACAAAAEAAAADAAAAA==eF5jZ2BgAAAAIAAI",
];

/// A file of one tetrahedron with arrays in base64.
fn grid(arrays: [&str; 5], coding: &str) -> String {
    let compressor = if coding == "zlib" {
        " compressor=\"vtkZLibDataCompressor\""
    } else {
        ""
    };
    let [points, nodes, ends, types, regions] = arrays;
    let array = |kind: &str, name: &str, data: &str| {
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"binary\">\n  {data}\n</DataArray>\n"
        )
    };
    format!(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" byte_order=\"LittleEndian\" \
         header_type=\"UInt32\"{compressor}>\n<UnstructuredGrid>\n\
         <Piece NumberOfPoints=\"4\" NumberOfCells=\"1\">\n<CellData>{}</CellData>\n\
         <Points>{}</Points>\n<Cells>{}{}{}</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n",
        array("Int32", "medit:ref", regions),
        array("Float64", "Points", points),
        array("Int64", "connectivity", nodes),
        array("Int64", "offsets", ends),
        array("UInt8", "types", types),
    )
}

/// The same file with its arrays appended raw, big endian.
fn raw() -> Vec<u8> {
    let mut data = Vec::new();
    let mut offsets = Vec::new();
    let mut append = |bytes: &[u8]| {
        offsets.push(data.len());
        data.extend((bytes.len() as u64).to_be_bytes());
        data.extend(bytes);
    };
    let places: [f64; 12] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    append(&places.map(f64::to_be_bytes).concat());
    append(&[0_i16, 1, 2, 3].map(i16::to_be_bytes).concat());
    append(&4_u32.to_be_bytes());
    append(&[10]);
    append(&7.0_f32.to_be_bytes());
    let array = |kind: &str, name: &str, index: usize| {
        let offset = offsets[index];
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" format=\"appended\" offset=\"{offset}\"/>"
        )
    };
    let text = format!(
        "<VTKFile type=\"UnstructuredGrid\" byte_order=\"BigEndian\" header_type=\"UInt64\">\n\
         <UnstructuredGrid><Piece NumberOfPoints=\"4\" NumberOfCells=\"1\"><CellData>{}</CellData>\
         <Points>{}</Points><Cells>{}{}{}</Cells></Piece></UnstructuredGrid>\n\
         <AppendedData encoding=\"raw\">\n_",
        array("Float32", "region", 4),
        array("Float64", "Points", 0),
        array("Int16", "connectivity", 1),
        array("UInt32", "offsets", 2),
        array("UInt8", "types", 3),
    );
    [text.as_bytes(), &data, b"\n</AppendedData>\n</VTKFile>\n"].concat()
}

fn one_tet() -> MixedMesh {
    let places = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
    ];
    let mut parts = MixedMesh {
        nodes_m: places.map(Vec3::from).to_vec(),
        ..MixedMesh::default()
    };
    parts.tets.push([0, 1, 2, 3], 7);
    parts
}

#[test]
fn binary_arrays_of_every_coding_are_read() {
    assert_eq!(si(MeshFormat::Vtu, grid(PLAIN, "plain")), Ok(one_tet()));
    assert_eq!(si(MeshFormat::Vtu, grid(ZLIB, "zlib")), Ok(one_tet()));
    assert_eq!(si(MeshFormat::Vtu, raw()), Ok(one_tet()));
}

#[test]
fn refusals_of_grids_name_line_field_value_and_remedy() {
    let good = String::from_utf8(written(MeshFormat::Vtu, &block())).unwrap();
    let change = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        refusal(MeshFormat::Vtu, good.replacen(from, to, 1))
    };
    let text = change("</Cells>", "");
    assert!(
        text.starts_with("line ") && text.contains("expected well-formed XML"),
        "{text}"
    );
    let text = change("UnstructuredGrid", "PolyData");
    assert!(
        text.contains("line 2: root element is `PolyData`"),
        "{text}"
    );
    let text = change("NumberOfPoints=\"27\"", "NumberOfPoints=\"-1\"");
    assert!(
        text.contains("line 4: NumberOfPoints is `-1`; expected a whole number"),
        "{text}"
    );
    let text = change("NumberOfPoints=\"27\"", "NumberOfPoints=\"1000000000000\"");
    assert!(
        text.contains("number of coordinates is `81 numbers`; expected 3000000000000"),
        "{text}"
    );
    let text = change(
        "NumberOfCells=\"29\"",
        "NumberOfCells=\"18446744073709551615\"",
    );
    assert!(text.contains("number of types is `29 numbers`"), "{text}");
    let text = change("0.05 0.0 0.0", "0.05 nan 0.0");
    assert!(
        text.contains("y is `NaN`; expected a finite number (point 1)"),
        "{text}"
    );
    let text = change("UInt8", "Complex");
    assert!(text.contains("type of an array is `Complex`"), "{text}");
    let text = change("\n12\n12\n", "\n13\n12\n");
    assert!(
        text.contains("type of a cell is `13 with 8 nodes`; expected 10"),
        "{text}"
    );
    let text = change("\n4\n8\n", "\n4\n3\n");
    assert!(
        text.contains("offset is `3`; expected 4 to 131, ascending (cell 1)"),
        "{text}"
    );
    let text = refusal(MeshFormat::Vtu, grid(ZLIB, "zlib").replace("ZLib", "LZ4"));
    assert!(
        text.contains(
            "compressor is `vtkLZ4DataCompressor`; expected vtkZLibDataCompressor or none"
        ),
        "{text}"
    );
}

#[test]
fn huge_header_counts_are_refused_at_once() {
    let many = "1000000000000";
    let texts = [
        (MeshFormat::Msh, format!("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{many}\n1 0 0 0\n")),
        (MeshFormat::Msh, format!("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {many} 1 {many}\n3 1 0 {many}\n1\n")),
        (MeshFormat::Msh, format!("$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n{many} 0 0 0\n")),
        (MeshFormat::Ply, format!("ply\nformat ascii 1.0\nelement vertex {many}\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 1 1\n")),
        (MeshFormat::Ply, "ply\nformat binary_little_endian 1.0\nelement face 9\nproperty list uint uchar vertex_indices\nend_header\n\u{7f}\u{7f}\u{7f}\u{7f}".to_owned()),
        (MeshFormat::Stl, format!("{:84}", "not solid")),
    ];
    for (format, text) in texts {
        let error = refusal(format, &text);
        assert!(error.contains("expected"), "{error}");
    }
    // 2^31 blocks, a block of 2^31 bytes, an array of 2^31 bytes
    for (arrays, coding) in [
        (["AAAAgAAAAIAAAACAAAAAgA=="; 5], "zlib"),
        (["AQAAAAAAAIAAAAAACAAAAA=="; 5], "zlib"),
        (["AAAAgA=="; 5], "plain"),
    ] {
        let error = refusal(MeshFormat::Vtu, grid(arrays, coding));
        assert!(error.contains("expected"), "{error}");
    }
    let deep = "<VTKFile>".repeat(50_000);
    assert!(refusal(MeshFormat::Vtu, deep).contains("XML"));
}

#[test]
fn truncated_files_are_refused_or_read_without_a_panic() {
    for (format, bytes) in samples() {
        assert!(
            si(format, &bytes).is_ok(),
            "{format:?}: {:?}",
            si(format, &bytes)
        );
        for end in 0..bytes.len() {
            let _ = si(format, &bytes[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn random_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        for (_, format) in FORMATS {
            let _ = si(format, &bytes);
        }
    }

    #[test]
    fn changed_bytes_are_refused_or_read_without_a_panic(
        sample in 0..10_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..5_u8), 1..6),
    ) {
        let (format, mut bytes) = samples().swap_remove(sample);
        for (place, value, what) in changes {
            let at = place.index(bytes.len());
            match what {
                0 => bytes[at] = value,
                1 => bytes[at] = b'0' + value % 10,
                2 => bytes.insert(at, value),
                3 => drop(bytes.remove(at)),
                _ => {
                    let tail = bytes.split_off(at);
                    bytes.extend(&tail[..tail.len().min(usize::from(value))]);
                    bytes.extend(tail);
                }
            }
        }
        if let Ok(parts) = si(format, &bytes) {
            // every mesh that is read can be checked, and every cell has its region
            let found = findings(&parts);
            let dangles = found.iter().any(|one| one.to_string().contains("expected an index below"));
            prop_assert!(!dangles, "{:?}", found);
            prop_assert_eq!(parts.tets.len(), parts.tets.regions.len());
            let _ = crate::mesh::mesh_check::warnings(&parts);
        }
    }
}
