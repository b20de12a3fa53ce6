//! Reading and writing of `.fem` files: the physics of a lattice as text.
//!
//! Source: seed-004 3.9 and 3.1 (row S4-54). Header `name atoms links`, then one line an atom
//! (`x y z mass boundary surface`) and one a link (`atom atom stiffness damping`). Boundary code
//! 1000 is fixed and 1001 free; surface code 2001 is surface and 2000 inside. Rest lengths are not
//! in the file: the rest length of a link is the loaded distance of its atoms.

use std::fmt::Write as _;

use crate::Defect;
use crate::mesh::records::{self, Record, RecordFile};
use crate::mesh::units::Units;
use palpate_twin::lattice::{Atom, Lattice, LatticeLink};

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
/// [`Defect`] naming line, field, value and what would be right.
pub fn read(bytes: &[u8], units: &Units) -> Result<Lattice, Defect> {
    units.check()?;
    let counts = ["number of atoms", "number of links"];
    let RecordFile { name, records } = records::read(bytes, HEADER, counts)?;
    let [atom_rows, link_rows] = records;
    let mut atoms: Vec<Atom> = Vec::with_capacity(atom_rows.len());
    for row in &atom_rows {
        let inside = atoms.last().is_some_and(|before| !before.surface);
        atoms.push(atom(row, inside)?);
    }
    let links = link_rows.iter().map(|row| link(row, atoms.len()));
    let lattice = Lattice {
        name: name.to_owned(),
        links: links.collect::<Result<_, _>>()?,
        atoms,
        faces: Vec::new(),
    };
    Ok(units.import(&lattice))
}

/// Writes a lattice as a `.fem` file with numbers in `units`.
///
/// Numbers have the fewest digits that read back as the same value, so that with [`Units::SI`]
/// reading restores the lattice bit for bit, without its faces.
///
/// # Errors
/// [`Defect`] if the name or a number does not fit the format.
pub fn write(lattice: &Lattice, units: &Units) -> Result<String, Defect> {
    units.check()?;
    let name = records::writable_name(&lattice.name)?;
    let mut text = format!("{name} {} {}\n\n", lattice.atoms.len(), lattice.links.len());
    let file = units.export(lattice);
    for (index, atom) in file.atoms.iter().enumerate() {
        let element = format!("atom {index}");
        let place = records::writable_place(&element, &atom.position_m)?;
        let mass = records::writable(&element, "mass", atom.mass_kg, 0.0)?;
        let boundary = if atom.fixed { FIXED } else { FREE };
        let surface = if atom.surface { SURFACE } else { INSIDE };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{place} {mass} {boundary} {surface}");
    }
    text.push('\n');
    for (index, link) in file.links.iter().enumerate() {
        let element = format!("link {index}");
        let stiffness = records::writable(&element, "stiffness", link.stiffness_npm, 0.0)?;
        let damping = records::writable(&element, "damping", link.damping_nspm, 0.0)?;
        let [first, second] = link.atoms;
        let _ = writeln!(text, "{first} {second} {stiffness} {damping}");
    }
    Ok(text)
}

fn atom(row: &Record<'_>, inside: bool) -> Result<Atom, Defect> {
    let [x, y, z, mass, boundary, surface] = row.fields(ATOM)?;
    let position_m = row.place([x, y, z])?;
    let mass_kg = row.number("mass", mass, 0.0)?;
    let fixed = match boundary {
        FIXED => true,
        FREE => false,
        other => return Err(row.field_error("boundary", other, "1000 (fixed) or 1001 (free)")),
    };
    if !fixed && mass_kg == 0.0 {
        return Err(row.field_error("mass", mass, "more than 0 for a free atom"));
    }
    let surface = match surface {
        SURFACE if inside => {
            let expected = "2000: surface atoms come before all others";
            return Err(row.field_error("surface", SURFACE, expected));
        }
        SURFACE => true,
        INSIDE => false,
        other => return Err(row.field_error("surface", other, "2001 (surface) or 2000 (inside)")),
    };
    Ok(Atom {
        position_m,
        mass_kg,
        fixed,
        surface,
    })
}

fn link(row: &Record<'_>, atoms: usize) -> Result<LatticeLink, Defect> {
    let [first, second, stiffness, damping] = row.fields(LINK)?;
    let ends = [
        row.index("atom", first, atoms)?,
        row.index("atom", second, atoms)?,
    ];
    if ends[0] == ends[1] {
        return Err(row.field_error("atom", second, "another atom than the first"));
    }
    Ok(LatticeLink {
        atoms: ends,
        stiffness_npm: row.number("stiffness", stiffness, 0.0)?,
        damping_nspm: row.number("damping", damping, 0.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::Vec3;
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
    fn surface_atom_after_inner_atoms_is_refused() {
        let text = homeless()
            .replacen("2001", "2000", 1)
            .replacen("1000 2000", "1000 2001", 1);
        assert!(refusal(&text).starts_with("line 4: surface is `2001`; expected 2000"));
    }

    #[test]
    fn invalid_utf8_is_located() {
        let error = read(b"hex 1 0\n\n0 0 \xff", &Units::SI).unwrap_err();
        let text = error.to_string();
        assert_eq!(text, "line 3: byte 0xff is not UTF-8 text");
    }

    #[test]
    fn unwritable_values_are_refused() {
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
        fn any_finite_numbers_round_trip(
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
                links: vec![LatticeLink {
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
