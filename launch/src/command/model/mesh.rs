//! Meshes of other programs: what they hold, whether they are fit, and writing them anew.
//!
//! Source: ours; reading, writing and judging are those of `palpate_geometry::mesh`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use palpate_geometry::mesh::file;
use palpate_geometry::mesh::file::{FORMATS, Format, obj_write, ply_write, vtu_write};
use palpate_geometry::mesh::{Painted, Parts, Surface, TetMesh, Units, defect};

use super::{Done, Failure};

/// Findings that are printed one by one; a mesh may have one for every cell.
const SHOWN: usize = 20;

/// Endings of the names of all mesh files, for messages.
pub(super) fn endings() -> String {
    FORMATS
        .map(|format| format!(".{}", format.extension()))
        .join(", ")
}

/// The format that the name of a file tells.
pub(super) fn format_of(path: &Path) -> Option<Format> {
    Format::of_extension(path.extension()?.to_str()?)
}

/// Read a file of a known format.
pub(super) fn load(path: &Path, format: Format, units: &Units) -> Result<Parts, Failure> {
    let named =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", path.display()));
    let bytes = std::fs::read(path)
        .map_err(|error| named(&format!("{error}; expected a readable file")))?;
    file::read(format, &bytes, units).map_err(|error| named(&error))
}

/// Count, measure and describe.
pub(super) fn inspect(parts: &Parts) -> Done {
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
    let outside = Surface::from_parts(parts);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "outside  {} triangles, {} nodes",
        outside.faces.len(),
        outside.nodes_m.len()
    );
    text.push_str(&remarks(parts));
    Done {
        stdout: text,
        held: true,
        ..Done::default()
    }
}

/// A number in few digits, of whatever size it is: files hold coordinates of 1e300 too.
fn shown(value: f64, digits: usize) -> String {
    if value.abs() < 1e9 {
        format!("{value:.digits$}")
    } else {
        format!("{value:e}")
    }
}

/// A line for every region: its cells with their volume, or its triangles.
fn regions(parts: &Parts) -> String {
    let mesh = TetMesh::from_parts(parts);
    let mut found: BTreeMap<(u8, u32), (usize, f64)> = BTreeMap::new();
    for (cell, (_, region)) in mesh.cells.iter().enumerate() {
        found.entry((3, region)).or_default().1 += mesh.volume_m3(cell);
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

/// Whether a mesh is fit to simulate or to touch.
pub(super) fn validate(model: &str, parts: &Parts) -> Done {
    let findings = defect::findings(parts).len();
    let verdict = match findings {
        0 if parts.volume_cells() > 0 => format!("{model}: fit to simulate\n"),
        0 => format!("{model}: fit to touch; a surface has no inside to simulate\n"),
        count => format!("{model}: unfit to simulate, {count} findings\n"),
    };
    Done {
        stdout: verdict + &remarks(parts),
        held: findings == 0,
        ..Done::default()
    }
}

/// Findings and warnings, one a line.
fn remarks(parts: &Parts) -> String {
    let mut text = String::new();
    let findings = defect::findings(parts);
    for finding in findings.iter().take(SHOWN) {
        let _ = writeln!(text, "finding  {finding}");
    }
    if let Some(more) = findings.len().checked_sub(SHOWN + 1) {
        let _ = writeln!(text, "finding  and {} more", more + 1);
    }
    for warning in defect::warnings(parts) {
        let _ = writeln!(text, "warning  {warning}");
    }
    text
}

/// Write a mesh as `.vtu`, or its outside as `.ply` or `.obj`.
pub(super) fn write(parts: &Parts, target: &Path, units: &Units) -> Result<Done, Failure> {
    let refused =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", target.display()));
    let bytes = match format_of(target) {
        Some(Format::Vtu) => vtu_write::write(parts, units).map(String::into_bytes),
        Some(Format::Ply) => ply_write::write(parts, units),
        Some(Format::Obj) => {
            obj_write::write(&Painted::plain(parts), units).map(String::into_bytes)
        }
        _ => {
            let expected = "expected a file that ends in .vtu, or in .ply or .obj for the outside; \
                            only a lattice has the masses and links of a .fem file";
            return Err(refused(&expected));
        }
    };
    let bytes = bytes.map_err(|error| refused(&error))?;
    std::fs::write(target, bytes).map_err(|error| refused(&error))?;
    Ok(Done {
        stdout: format!("{}\n", target.display()),
        held: true,
        ..Done::default()
    })
}
