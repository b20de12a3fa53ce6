//! The `.fem` file: the physics of a lattice as text.
//!
//! Source: seed-004 3.9 and 3.1 (row S4-54). Header `name atoms links`, then one line an atom
//! (`x y z mass boundary surface`) and one a link (`atom atom stiffness damping`). Boundary code
//! 1000 is fixed and 1001 free; surface code 2001 is surface and 2000 inside. Rest lengths are not
//! in the file: a link rests at the loaded distance of its atoms. No file is opened here.

use std::fmt::Write as _;

use crate::mesh::rows::{self, FileError, Rows};
use crate::mesh::units::Units;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Atom, Lattice, Link};

const FIXED: &str = "1000";
const FREE: &str = "1001";
const INSIDE: &str = "2000";
const SURFACE: &str = "2001";
const HEADER: &str = "name atoms links";
const ATOM: &str = "x y z mass boundary surface";
const LINK: &str = "atom atom stiffness damping";

/// Read a `.fem` file whose numbers count in `units`. The lattice has no faces yet.
///
/// # Errors
/// [`FileError`] naming line, field, value and what would be right.
pub fn read(bytes: &[u8], units: &Units) -> Result<Lattice, FileError> {
    units.check()?;
    let rows = Rows::read(bytes, HEADER, ["number of atoms", "number of links"])?;
    let (atom_rows, link_rows) = rows.records.split_at(rows.counts[0]);
    let mut atoms: Vec<Atom> = Vec::with_capacity(atom_rows.len());
    for &row in atom_rows {
        let inside = atoms.last().is_some_and(|before| !before.surface);
        atoms.push(atom(row, inside)?);
    }
    let links = link_rows
        .iter()
        .map(|&row| link(row, atoms.len()))
        .collect::<Result<_, _>>()?;
    let lattice = Lattice {
        name: rows.name.to_owned(),
        atoms,
        links,
        faces: Vec::new(),
    };
    Ok(units.import(&lattice))
}

/// Write a lattice as a `.fem` file that counts in `units`.
///
/// Numbers have the fewest digits that read back as the same value, so that with [`Units::SI`]
/// reading gives the lattice back bit for bit, without its faces.
///
/// # Errors
/// [`FileError::Unwritable`] if the name or a number does not fit the format.
pub fn write(lattice: &Lattice, units: &Units) -> Result<String, FileError> {
    units.check()?;
    let name = rows::writable_name(&lattice.name)?;
    let mut text = format!("{name} {} {}\n\n", lattice.atoms.len(), lattice.links.len());
    let file = units.export(lattice);
    for (index, atom) in file.atoms.iter().enumerate() {
        let element = || format!("atom {index}");
        for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
            let value = atom.position_m[axis];
            let value = rows::writable(element, field, value, f64::NEG_INFINITY)?;
            let _ = write!(text, "{value:?} ");
        }
        let mass = rows::writable(element, "mass", atom.mass_kg, 0.0)?;
        let boundary = if atom.fixed { FIXED } else { FREE };
        let surface = if atom.surface { SURFACE } else { INSIDE };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mass:?} {boundary} {surface}");
    }
    text.push('\n');
    for (index, link) in file.links.iter().enumerate() {
        let element = || format!("link {index}");
        let stiffness = rows::writable(element, "stiffness", link.stiffness_npm, 0.0)?;
        let damping = rows::writable(element, "damping", link.damping_nspm, 0.0)?;
        let [first, second] = link.atoms;
        let _ = writeln!(text, "{first} {second} {stiffness:?} {damping:?}");
    }
    Ok(text)
}

fn atom(row: (usize, &str), inside: bool) -> Result<Atom, FileError> {
    let line = row.0;
    let [x, y, z, mass, boundary, surface] = rows::fields(row.0, row.1, ATOM)?;
    let place = |field, word| rows::number(line, field, word, f64::NEG_INFINITY);
    let position_m = Vec3::new(place("x", x)?, place("y", y)?, place("z", z)?);
    let mass_kg = rows::number(line, "mass", mass, 0.0)?;
    let fixed = match boundary {
        FIXED => true,
        FREE => false,
        other => {
            return Err(rows::wrong(
                line,
                "boundary",
                other,
                "1000 (fixed) or 1001 (free)",
            ));
        }
    };
    if !fixed && mass_kg == 0.0 {
        return Err(rows::wrong(
            line,
            "mass",
            mass,
            "more than 0 for a free atom",
        ));
    }
    let surface = match surface {
        SURFACE if inside => {
            let expected = "2000: surface atoms come before all others";
            return Err(rows::wrong(line, "surface", SURFACE, expected));
        }
        SURFACE => true,
        INSIDE => false,
        other => {
            return Err(rows::wrong(
                line,
                "surface",
                other,
                "2001 (surface) or 2000 (inside)",
            ));
        }
    };
    Ok(Atom {
        position_m,
        mass_kg,
        fixed,
        surface,
    })
}

fn link(row: (usize, &str), atoms: usize) -> Result<Link, FileError> {
    let line = row.0;
    let [first, second, stiffness, damping] = rows::fields(row.0, row.1, LINK)?;
    let expected = format!("the index of one of {atoms} atoms, counted from 0");
    let end = |word: &str| match word.parse::<u32>() {
        Ok(index) if (index as usize) < atoms => Ok(index),
        _ => Err(rows::wrong(line, "atom", word, &expected)),
    };
    let ends = [end(first)?, end(second)?];
    if ends[0] == ends[1] {
        return Err(rows::wrong(
            line,
            "atom",
            second,
            "another atom than the first",
        ));
    }
    Ok(Link {
        atoms: ends,
        stiffness_npm: rows::number(line, "stiffness", stiffness, 0.0)?,
        damping_nspm: rows::number(line, "damping", damping, 0.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::lattice::fixture;
    use proptest::prelude::*;

    fn homeless() -> String {
        "hex 2 1\n\n0 0 0 0.002 1001 2001\n1.5 0 -.25 0.002 1000 2000\n\n0 1 15 0.2\n".to_owned()
    }

    fn refusal(text: &str) -> String {
        read(text.as_bytes(), &Units::SI).unwrap_err().to_string()
    }

    #[test]
    fn s4_54_write_then_read_is_the_identity() {
        for lattice in [fixture::printed(), fixture::regular()] {
            let text = write(&lattice, &Units::SI).unwrap();
            let back = read(text.as_bytes(), &Units::SI).unwrap();
            assert_eq!(
                back,
                Lattice {
                    faces: Vec::new(),
                    ..lattice
                }
            );
        }
    }

    #[test]
    fn codes_and_numbers_are_read() {
        let lattice = read(homeless().as_bytes(), &Units::INCH_NEWTON).unwrap();
        assert_eq!(lattice.name, "hex");
        assert!(lattice.atoms[0].surface && !lattice.atoms[0].fixed);
        assert!(!lattice.atoms[1].surface && lattice.atoms[1].fixed);
        assert!((lattice.atoms[1].position_m.z + 0.25 * 0.0254).abs() < 1e-15);
        assert!((lattice.links[0].stiffness_npm - 15.0 / 0.0254).abs() < 1e-9);
    }

    #[test]
    fn refusals_name_line_field_value_and_remedy() {
        let swap = |from: &str, to: &str| refusal(&homeless().replacen(from, to, 1));
        assert_eq!(
            swap("hex 2 1", "hex 2 2"),
            "line 1: the header promises 4 records; 3 lines follow"
        );
        assert_eq!(
            swap("hex 2 1", "hex 3 18446744073709551615"),
            "line 1: the header promises 18446744073709551615 records; 3 lines follow"
        );
        assert_eq!(
            swap("0.002 1001", "0.002 1002"),
            "line 3: boundary is `1002`; expected 1000 (fixed) or 1001 (free)"
        );
        assert_eq!(
            swap("1.5", "nan"),
            "line 4: x is `nan`; expected a finite number"
        );
        assert_eq!(
            swap("15 0.2", "15 -0.2"),
            "line 6: damping is `-0.2`; expected a finite number, at least 0"
        );
        assert_eq!(
            swap("0 1 15", "0 2 15"),
            "line 6: atom is `2`; expected the index of one of 2 atoms, counted from 0"
        );
        assert_eq!(
            swap("15 0.2", "15"),
            "line 6: 3 fields; expected `atom atom stiffness damping`"
        );
        assert!(refusal("").contains("name atoms links"));
        assert!(refusal("hex 2").contains("2 fields"));
    }

    #[test]
    fn a_late_surface_atom_is_refused() {
        let text = homeless()
            .replacen("2001", "2000", 1)
            .replacen("1000 2000", "1000 2001", 1);
        assert!(refusal(&text).starts_with("line 4: surface is `2001`; expected 2000"));
    }

    #[test]
    fn bytes_that_are_no_text_are_placed() {
        let error = read(b"hex 1 0\n\n0 0 \xff", &Units::SI).unwrap_err();
        assert_eq!(
            error,
            FileError::Encoding {
                line: 3,
                byte: 0xff
            }
        );
    }

    #[test]
    fn what_the_format_cannot_carry_is_not_written() {
        let mut lattice = fixture::regular();
        lattice.atoms[3].position_m.y = f64::INFINITY;
        let error = write(&lattice, &Units::SI).unwrap_err().to_string();
        assert!(
            error.starts_with("atom 3 cannot be written with y `inf`"),
            "{error}"
        );
        lattice.name = "two\nlines".to_owned();
        assert!(
            write(&lattice, &Units::SI)
                .unwrap_err()
                .to_string()
                .contains("name")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_numbers_survive_the_text(
            places in prop::collection::vec(prop::array::uniform3(-1e9..1e9_f64), 2..9),
            mass_kg in 1e-12..1e3_f64,
            stiffness_npm in 0.0..1e12_f64,
        ) {
            let atom = |p: &[f64; 3]| Atom {
                position_m: Vec3::from(*p), mass_kg, fixed: false, surface: p[0] < 2e9,
            };
            let lattice = Lattice {
                name: "any lattice".to_owned(),
                atoms: places.iter().map(atom).collect(),
                links: vec![Link {
                    atoms: [1, 0], stiffness_npm, damping_nspm: stiffness_npm / 3.0,
                }],
                faces: Vec::new(),
            };
            let text = write(&lattice, &Units::SI).unwrap();
            prop_assert_eq!(read(text.as_bytes(), &Units::SI).unwrap(), lattice);
        }

        #[test]
        fn garbage_is_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes, &Units::SI);
            let mut text = homeless().into_bytes();
            let at = bytes.first().map_or(0, |&byte| byte as usize % text.len());
            text[at] = bytes.last().copied().unwrap_or(b'x');
            if let Ok(lattice) = read(&text, &Units::SI) {
                prop_assert!(lattice.links.iter().flat_map(|l| l.atoms).all(|a| (a as usize) < 2));
            }
        }
    }
}
