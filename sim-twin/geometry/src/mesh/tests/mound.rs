//! Mesh of the scene `mound`: a small body of tetrahedra with a curved top and a hidden lump.
//!
//! Source: ours. A block of 90 x 90 x 29 mm on uneven axes, cut into tetrahedra. Its inner nodes moved
//! by a seeded chance so that no two cells are alike, and its top is pressed into a shallow dome, 4 mm
//! lower at the corners. `sim-twin/scene/scenes/mound.msh` is the text of [`msh`], printed by
//! `cargo test -p palpate-geometry -- --ignored --nocapture the_mesh_in_print`.

use crate::Defect;
use crate::mesh::MixedMesh;
use crate::mesh::hex::{BlockSide, HexMesh};
use crate::mesh::tet::halves;
use palpate_twin::Vec3;
use std::fmt::Write as _;

/// Coordinates along the axes \[mm\].
const X_MM: [f64; 7] = [-45.0, -28.0, -12.0, 0.0, 12.0, 28.0, 45.0];
const Y_MM: [f64; 6] = [-45.0, -24.0, -8.0, 8.0, 24.0, 45.0];
const Z_MM: [f64; 4] = [-29.0, -15.0, -5.0, 0.0];
/// Height of the middle of the top above its corners \[mm\].
const DOME_MM: f64 = 4.0;
/// Farthest that an inner node moves along each axis \[mm\].
const JITTER_MM: f64 = 1.2;
/// Seed of the pseudo-random displacements.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// Region of the lump; all else is 1, the ground below it 3.
const LUMP: u32 = 2;

/// Tetrahedra in millimetres, with the triangles of the ground.
///
/// # Errors
/// None: the axes ascend.
fn parts() -> Result<MixedMesh, Defect> {
    let mut block = HexMesh::block([&X_MM, &Y_MM, &Z_MM])?;
    let low_mm = Vec3::new(X_MM[0], Y_MM[0], Z_MM[0]);
    let mut state = SEED;
    for at_mm in &mut block.nodes_m {
        let inner = [at_mm.x.abs() < 44.0, at_mm.y.abs() < 44.0, at_mm.z > -28.0];
        for axis in 0..3 {
            let noise = chance(&mut state);
            // the top moves along itself only
            let free = inner[0] && inner[1] && inner[2] && (axis < 2 || at_mm.z < -1.0);
            at_mm[axis] += if free { JITTER_MM * noise } else { 0.0 };
        }
        let square = (at_mm.x * at_mm.x + at_mm.y * at_mm.y) / (2.0 * 45.0 * 45.0);
        let share = (at_mm.z - low_mm.z) / -low_mm.z;
        at_mm.z -= DOME_MM * square * share;
    }
    let [wide, long] = [X_MM.len() - 1, Y_MM.len() - 1];
    let is_lump =
        |cell: usize| [cell % wide, cell / wide % long, cell / (wide * long)] == [4, 2, 1];
    let regions: Vec<u32> = (0..block.cells.len())
        .map(|cell| if is_lump(cell) { LUMP } else { 1 })
        .collect();
    let mut parts = MixedMesh::from_hex(&block, &regions).tetrahedra();
    for face in block
        .side(BlockSide::ZMin)
        .iter()
        .flat_map(|face| halves(*face))
    {
        parts.triangles.push(face, 3);
    }
    for (key, name) in [((3, 1), "body"), ((3, LUMP), "lump"), ((2, 3), "ground")] {
        parts.names.insert(key, name.to_owned());
    }
    Ok(parts)
}

/// Text of the mesh for Gmsh, version 2.2, in millimetres.
///
/// # Errors
/// As [`parts`].
fn msh() -> Result<String, Defect> {
    let parts = parts()?;
    let mut text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n".to_owned();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", parts.names.len());
    for ((dimension, number), name) in &parts.names {
        let _ = writeln!(text, "{dimension} {number} \"{name}\"");
    }
    let _ = writeln!(text, "$EndPhysicalNames\n$Nodes\n{}", parts.nodes_m.len());
    for (node, at_mm) in parts.nodes_m.iter().enumerate() {
        let _ = writeln!(
            text,
            "{} {:.4} {:.4} {:.4}",
            node + 1,
            at_mm.x,
            at_mm.y,
            at_mm.z
        );
    }
    let cells = parts.triangles.len() + parts.tets.len();
    let _ = writeln!(text, "$EndNodes\n$Elements\n{cells}");
    let triangles = parts
        .triangles
        .iter()
        .map(|(nodes, region)| (2, region, &nodes[..]));
    let tets = parts
        .tets
        .iter()
        .map(|(nodes, region)| (4, region, &nodes[..]));
    for (index, (kind, region, nodes)) in triangles.chain(tets).enumerate() {
        let _ = write!(text, "{} {kind} 2 {region} {region}", index + 1);
        for node in nodes {
            let _ = write!(text, " {}", node + 1);
        }
        text.push('\n');
    }
    text.push_str("$EndElements\n");
    Ok(text)
}

/// Pseudo-random number in [-1, 1), the same in every run (xorshift, Marsaglia 2003).
fn chance(state: &mut u64) -> f64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Units;
    use crate::mesh::file::{MeshFormat, read};
    use crate::mesh::mesh_check;

    #[test]
    #[ignore = "prints the file of the scene"]
    fn the_mesh_in_print() {
        print!("{}", msh().unwrap());
    }

    #[test]
    fn the_file_of_the_scene_is_this_one_and_is_sound() {
        let text = msh().unwrap();
        let file = include_str!("../../../../scene/scenes/mound.msh");
        assert!(
            text == file,
            "make sim-twin/scene/scenes/mound.msh anew, as the head of this file says"
        );
        let parts = read(MeshFormat::Msh, file.as_bytes(), &Units::SI).unwrap();
        assert!(mesh_check::findings(&parts).is_empty());
        assert_eq!((parts.nodes_m.len(), parts.tets.len()), (168, 540));
        let of = |wanted: u32| {
            let cells = parts.tets.regions.iter().enumerate();
            let own = cells.filter(|(_, region)| **region == wanted);
            own.map(|(cell, _)| parts.tet_m3(cell)).sum::<f64>()
        };
        let (body_mm3, lump_mm3) = (of(1), of(LUMP));
        assert!((2000.0..3000.0).contains(&lump_mm3), "{lump_mm3}");
        // the dome takes 2/3 of its depth off on average
        let whole_mm3 = 90.0 * 90.0 * (29.0 - DOME_MM / 3.0);
        let ratio = (body_mm3 + lump_mm3) / whole_mm3;
        assert!((ratio - 1.0).abs() < 0.01, "{ratio}");
    }
}
