//! Reading and writing of `.plg` files: the surface of a lattice as text, paired with a `.fem` file.
//!
//! Source: seed-004 3.9 (row S4-55). Header `name vertices faces`, then one line a vertex
//! (`x y z`) and one a face (`3 vertex vertex vertex`, counted from 0, counter-clockwise from
//! outside). Vertex i is surface atom i of the `.fem` file of the same stem.

use std::fmt::Write as _;

use crate::Defect;
use crate::mesh::fem_file;
use crate::mesh::records::{self, Record};
use crate::mesh::units::Units;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Face, Lattice};

const HEADER: &str = "name vertices faces";
const VERTEX: &str = "x y z";
const FACE: &str = "3 vertex vertex vertex";

/// Largest distance of a vertex from its atom, over the size of the patch: the files have few digits and come
/// from different programs.
const PAIR_TOLERANCE: f64 = 1e-4;

/// Reads vertices \[m\] and faces of a `.plg` file with numbers in `units`.
fn read(bytes: &[u8], units: &Units) -> Result<(Vec<Vec3>, Vec<Face>), Defect> {
    units.check()?;
    let counts = ["number of vertices", "number of faces"];
    let [vertex_rows, face_rows] = records::read(bytes, HEADER, counts)?.records;
    let vertex = |row: &Record<'_>| Ok(row.place(row.fields(VERTEX)?)? * units.length_m);
    let vertices_m = vertex_rows.iter().map(vertex);
    let vertices_m = vertices_m.collect::<Result<Vec<_>, Defect>>()?;
    let faces = face_rows.iter().map(|row| face(row, vertices_m.len()));
    let faces = faces.collect::<Result<_, _>>()?;
    Ok((vertices_m, faces))
}

/// Writes the surface of a lattice as a `.plg` file with numbers in `units`.
///
/// With [`Units::SI`], reading restores the same surface bit for bit.
///
/// # Errors
/// [`Defect`] if the name or a number does not fit the format.
pub fn write(lattice: &Lattice, units: &Units) -> Result<String, Defect> {
    units.check()?;
    let name = records::writable_name(&lattice.name)?;
    let count = lattice.surface_count();
    let mut text = format!("{name} {count} {}\n\n", lattice.faces.len());
    for (index, atom) in lattice.atoms[..count].iter().enumerate() {
        let at = atom.position_m / units.length_m;
        text += &records::writable_place(&format!("atom {index}"), &at)?;
        text.push('\n');
    }
    text.push('\n');
    for [a, b, c] in &lattice.faces {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "3 {a} {b} {c}");
    }
    Ok(text)
}

/// Reads both files of a pair into one lattice.
///
/// # Errors
/// [`Defect`] from either file, or naming the vertex that is not the surface atom.
pub fn read_pair(fem: &[u8], plg: &[u8], units: &Units) -> Result<Lattice, Defect> {
    let mut lattice = fem_file::read(fem, units)?;
    let (vertices_m, faces) = read(plg, units)?;
    let surface = &lattice.atoms[..lattice.surface_count()];
    let differ = |vertex: usize, value: String, expected: String| {
        let field = format_args!("vertex {vertex} of the plg file");
        Err(Defect::field(field, value, expected))
    };
    let count = vertices_m.len();
    if surface.len() != count {
        let value = format!("one past the last of {count} vertices");
        let expected = format!("as many vertices as the {} surface atoms", surface.len());
        return differ(count, value, expected);
    }
    let size_m = surface.iter().fold(0.0_f64, |size_m, atom| {
        size_m.max((atom.position_m - surface[0].position_m).norm())
    });
    for (index, (atom, vertex_m)) in surface.iter().zip(&vertices_m).enumerate() {
        if (atom.position_m - vertex_m).norm() > PAIR_TOLERANCE * size_m {
            let at_m = atom.position_m.as_slice();
            let value = format!("at {:?} m", vertex_m.as_slice());
            return differ(index, value, format!("surface atom {index} at {at_m:?} m"));
        }
    }
    lattice.faces = faces;
    Ok(lattice)
}

fn face(row: &Record<'_>, vertices: usize) -> Result<Face, Defect> {
    let sides = row.text.split_whitespace().next().unwrap_or("");
    if sides != "3" {
        let expected = "3: tissue faces are triangles";
        return Err(row.field_error("number of sides", sides, expected));
    }
    let [_, first, second, third] = row.fields(FACE)?;
    let corner = |word| row.index("vertex", word, vertices);
    let face = [corner(first)?, corner(second)?, corner(third)?];
    if face[0] == face[1] || face[1] == face[2] || face[2] == face[0] {
        return Err(row.field_error("vertex", row.text, "three different vertices"));
    }
    Ok(face)
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::lattice::fixture;
    use proptest::prelude::*;

    #[test]
    fn s4_55_write_then_read_is_the_identity() {
        let lattice = fixture::regular();
        let plg = write(&lattice, &Units::SI).unwrap();
        let fem = fem_file::write(&lattice, &Units::SI).unwrap();
        let back = read_pair(fem.as_bytes(), plg.as_bytes(), &Units::SI).unwrap();
        assert_eq!(back, lattice);
    }

    #[test]
    fn refusals_name_line_field_value_and_remedy() {
        let good = "tri 3 1\n\n0 0 0\n1 0 0\n0 1 0\n\n3 0 1 2\n";
        let refusal = |from: &str, to: &str| {
            read(good.replacen(from, to, 1).as_bytes(), &Units::SI)
                .unwrap_err()
                .to_string()
        };
        let (_, faces) = read(good.as_bytes(), &Units::SI).unwrap();
        assert_eq!(faces, [[0, 1, 2]]);
        assert_eq!(
            refusal("3 0 1 2", "4 0 1 2 2"),
            "line 7: number of sides is `4`; expected 3: tissue faces are triangles"
        );
        assert_eq!(
            refusal("0 1 2", "0 1 3"),
            "line 7: vertex is `3`; expected the index of one of 3 vertices, counted from 0"
        );
        assert_eq!(
            refusal("0 1 2", "0 1 1"),
            "line 7: vertex is `3 0 1 1`; expected three different vertices"
        );
        assert_eq!(
            refusal("1 0 0", "1 0"),
            "line 4: 2 fields; expected `x y z`"
        );
        assert!(refusal("tri 3 1", "tri 3 2").contains("promises 5 records; 4 lines follow"));
    }

    #[test]
    fn a_pair_that_does_not_match_is_refused() {
        let lattice = fixture::regular();
        let fem = fem_file::write(&lattice, &Units::SI).unwrap();
        let mut moved = lattice.clone();
        moved.atoms[7].position_m.z = 0.1;
        let plg = write(&moved, &Units::SI).unwrap();
        let error = read_pair(fem.as_bytes(), plg.as_bytes(), &Units::SI).unwrap_err();
        assert!(
            error.to_string().starts_with("vertex 7 of the plg file"),
            "{error}"
        );
        let error = read_pair(fem.as_bytes(), b"none 0 0", &Units::SI).unwrap_err();
        assert!(error.to_string().contains("22 surface atoms"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn garbage_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes, &Units::SI);
            let _ = read_pair(&bytes, &bytes, &Units::SI);
        }
    }
}
