//! The `.plg` file: the looks of a lattice as text, and the pair that it makes with a `.fem` file.
//!
//! Source: seed-004 3.9 (row S4-55). Header `name vertices faces`, then one line a vertex
//! (`x y z`) and one a face (`3 vertex vertex vertex`, counted from 0, counter-clockwise from
//! outside). Vertex i is surface atom i of the `.fem` file of the same stem.

use std::fmt::Write as _;

use crate::mesh::check::{self, Warning};
use crate::mesh::fem;
use crate::mesh::rows::{self, FileError, Rows};
use crate::mesh::units::Units;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Face, Lattice};

const HEADER: &str = "name vertices faces";
const VERTEX: &str = "x y z";
const FACE: &str = "3 vertex vertex vertex";

/// How far a vertex may lie from its atom, over the size of the patch: the files are written with
/// few digits, and by different programs.
const PAIR_TOLERANCE: f64 = 1e-4;

/// What a `.plg` file holds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Polyhedron {
    /// Name, as in the file.
    pub name: String,
    /// Vertices \[m\].
    pub vertices_m: Vec<Vec3>,
    /// Triangles, counter-clockwise seen from outside.
    pub faces: Vec<Face>,
}

/// A lattice from a pair of files, and what looks odd about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The lattice, with faces.
    pub lattice: Lattice,
    /// What a person should know before trusting it.
    pub warnings: Vec<Warning>,
}

/// Read a `.plg` file whose numbers count in `units`.
///
/// # Errors
/// [`FileError`] naming line, field, value and what would be right.
pub fn read(bytes: &[u8], units: &Units) -> Result<Polyhedron, FileError> {
    units.check()?;
    let rows = Rows::read(bytes, HEADER, ["number of vertices", "number of faces"])?;
    let (vertex_rows, face_rows) = rows.records.split_at(rows.counts[0]);
    let vertex = |&row: &(usize, &str)| {
        let [x, y, z] = rows::fields(row.0, row.1, VERTEX)?;
        let place = |field, word| rows::number(row.0, field, word, f64::NEG_INFINITY);
        Ok(Vec3::new(place("x", x)?, place("y", y)?, place("z", z)?) * units.length_m)
    };
    let vertices_m = vertex_rows
        .iter()
        .map(vertex)
        .collect::<Result<Vec<_>, FileError>>()?;
    let face = |&row: &(usize, &str)| face(row, vertices_m.len());
    let faces = face_rows.iter().map(face).collect::<Result<_, _>>()?;
    Ok(Polyhedron {
        name: rows.name.to_owned(),
        vertices_m,
        faces,
    })
}

/// Write the surface of a lattice as a `.plg` file that counts in `units`.
///
/// With [`Units::SI`], reading gives the same surface back bit for bit.
///
/// # Errors
/// [`FileError::Unwritable`] if the name or a number does not fit the format.
pub fn write(lattice: &Lattice, units: &Units) -> Result<String, FileError> {
    units.check()?;
    let name = rows::writable_name(&lattice.name)?;
    let count = lattice.surface_count();
    let mut text = format!("{name} {count} {}\n\n", lattice.faces.len());
    for (index, atom) in lattice.atoms[..count].iter().enumerate() {
        for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
            let value = atom.position_m[axis] / units.length_m;
            let element = || format!("atom {index}");
            let value = rows::writable(element, field, value, f64::NEG_INFINITY)?;
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{value:?}", if axis == 0 { "" } else { " " });
        }
        text.push('\n');
    }
    text.push('\n');
    for [a, b, c] in &lattice.faces {
        let _ = writeln!(text, "3 {a} {b} {c}");
    }
    Ok(text)
}

/// Read both files of a pair into one lattice, with warnings about its make.
///
/// # Errors
/// [`FileError`] from either file, or [`FileError::Pair`] if vertices are not the surface atoms.
pub fn read_pair(fem: &[u8], plg: &[u8], units: &Units) -> Result<Loaded, FileError> {
    let mut lattice = fem::read(fem, units)?;
    let polyhedron = read(plg, units)?;
    let surface = &lattice.atoms[..lattice.surface_count()];
    if surface.len() != polyhedron.vertices_m.len() {
        return Err(FileError::Pair {
            vertex: polyhedron.vertices_m.len(),
            value: format!(
                "one past the last of {} vertices",
                polyhedron.vertices_m.len()
            ),
            expected: format!("as many vertices as the {} surface atoms", surface.len()),
        });
    }
    let size_m = surface.iter().fold(0.0_f64, |size_m, atom| {
        size_m.max((atom.position_m - surface[0].position_m).norm())
    });
    for (index, (atom, vertex_m)) in surface.iter().zip(&polyhedron.vertices_m).enumerate() {
        if (atom.position_m - vertex_m).norm() > PAIR_TOLERANCE * size_m {
            return Err(FileError::Pair {
                vertex: index,
                value: format!("at {:?} m", vertex_m.as_slice()),
                expected: format!("surface atom {index} at {:?} m", atom.position_m.as_slice()),
            });
        }
    }
    lattice.faces = polyhedron.faces;
    let warnings = check::warnings(&lattice);
    Ok(Loaded { lattice, warnings })
}

fn face(row: (usize, &str), vertices: usize) -> Result<Face, FileError> {
    let line = row.0;
    let sides = row.1.split_whitespace().next().unwrap_or("");
    if sides != "3" {
        return Err(rows::wrong(
            line,
            "number of sides",
            sides,
            "3: tissue faces are triangles",
        ));
    }
    let [_, first, second, third] = rows::fields(row.0, row.1, FACE)?;
    let expected = format!("the index of one of {vertices} vertices, counted from 0");
    let corner = |word: &str| match word.parse::<u32>() {
        Ok(index) if (index as usize) < vertices => Ok(index),
        _ => Err(rows::wrong(line, "vertex", word, &expected)),
    };
    let face = [corner(first)?, corner(second)?, corner(third)?];
    if face[0] == face[1] || face[1] == face[2] || face[2] == face[0] {
        return Err(rows::wrong(
            line,
            "vertex",
            row.1,
            "three different vertices",
        ));
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
        let fem = fem::write(&lattice, &Units::SI).unwrap();
        let back = read_pair(fem.as_bytes(), plg.as_bytes(), &Units::SI).unwrap();
        assert_eq!(
            back,
            Loaded {
                lattice,
                warnings: Vec::new()
            }
        );
    }

    #[test]
    fn refusals_name_line_field_value_and_remedy() {
        let good = "tri 3 1\n\n0 0 0\n1 0 0\n0 1 0\n\n3 0 1 2\n";
        let refusal = |from: &str, to: &str| {
            read(good.replacen(from, to, 1).as_bytes(), &Units::SI)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            read(good.as_bytes(), &Units::SI).unwrap().faces,
            [[0, 1, 2]]
        );
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
        let fem = fem::write(&lattice, &Units::SI).unwrap();
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
