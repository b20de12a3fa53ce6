//! Meshes of other programs: description, validation and conversion.
//!
//! Source: ours; reading, writing and validation are those of `palpate_geometry::mesh`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use palpate_geometry::mesh::file;
use palpate_geometry::mesh::file::MeshFormat;
use palpate_geometry::mesh::{MixedMesh, Units};

use super::{CommandOutcome, Failure, bad_input, put_mesh, read};

/// Format of a file by its extension.
pub(super) fn format_of(path: &Path) -> Option<MeshFormat> {
    MeshFormat::from_extension(path.extension()?.to_str()?)
}

/// Reads a file of a known format.
pub(super) fn load(path: &Path, format: MeshFormat, units: &Units) -> Result<MixedMesh, Failure> {
    let bytes = read(path, "a readable file")?;
    file::read(format, &bytes, units).map_err(bad_input(path.display()))
}

/// Describes counts and sizes.
pub(super) fn words(parts: &MixedMesh) -> String {
    let size = parts.size_m() * 1e3;
    let mut text = format!(
        "nodes    {}\ncells    {} tetrahedra, {} hexahedra, {} triangles\n\
         size     {} x {} x {} mm\n",
        parts.nodes_m.len(),
        parts.tets.len(),
        parts.hexes.len(),
        parts.triangles.len(),
        shown(size.x, 1),
        shown(size.y, 1),
        shown(size.z, 1),
    );
    text.push_str(&regions(parts));
    let outside = parts.boundary_mesh();
    // writing to a string cannot fail
    let _ = writeln!(
        text,
        "outside  {} triangles, {} nodes",
        outside.triangles.len(),
        outside.nodes_m.len()
    );
    text
}

/// A number in few digits, of any size: files hold coordinates of 1e300 too.
fn shown(value: f64, digits: usize) -> String {
    if value.abs() < 1e9 {
        format!("{value:.digits$}")
    } else {
        format!("{value:e}")
    }
}

/// One line per region: its cells with their volume, or its triangles.
fn regions(parts: &MixedMesh) -> String {
    let mesh = parts.tetrahedra();
    let mut found: BTreeMap<(u8, u32), (usize, f64)> = BTreeMap::new();
    for (cell, (_, region)) in mesh.tets.iter().enumerate() {
        found.entry((3, region)).or_default().1 += mesh.tet_m3(cell);
    }
    let cells = parts.tets.regions.iter().chain(&parts.hexes.regions);
    for &region in cells {
        found.entry((3, region)).or_default().0 += 1;
    }
    for &region in &parts.triangles.regions {
        found.entry((2, region)).or_default().0 += 1;
    }
    let mut text = String::new();
    for ((dimension, region), (count, volume_m3)) in found {
        let name = parts.names.get(&(dimension, region));
        let name = name.map_or(String::new(), |name| format!(" \"{name}\""));
        let what = match dimension {
            2 => format!("{count} triangles"),
            _ => format!("{count} cells, {} ml", shown(volume_m3 * 1e6, 3)),
        };
        let _ = writeln!(text, "region   {region}{name}: {what}");
    }
    text
}

/// Writes a mesh as `.vtu`, or its outside as `.ply` or `.obj`.
pub(super) fn write(
    parts: &MixedMesh,
    target: &Path,
    units: &Units,
) -> Result<CommandOutcome, Failure> {
    let expected = "a file that ends in .vtu, or in .ply or .obj for the outside; \
                    only a lattice has the masses and links of a .fem file";
    put_mesh(&parts.clone().into(), target, units, expected)
}
