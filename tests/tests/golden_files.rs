//! Tests of the seed's data set as files: their content, and round trips.
//!
//! Source: seed-004 3.9 (rows S4-02, S4-05, S4-06, S4-54 to S4-56, W20) and 4C. The files in `tests/data`
//! contain the numbers as printed, including the wrong digit of atom 56.

use std::collections::BTreeSet;

use palpate_geometry::mesh::lattice_check;
use palpate_geometry::mesh::{Units, fem_file, plg_file};
use palpate_twin::lattice::{Lattice, fixture};

const FEM: &str = include_str!("../data/hex_4x5_home.fem");
const PLG: &str = include_str!("../data/hex_4x5_home.plg");

fn load(units: &Units) -> Lattice {
    plg_file::read_pair(FEM.as_bytes(), PLG.as_bytes(), units)
        .expect("the checked-in files are good")
}

fn links(lattice: &Lattice) -> BTreeSet<[u32; 2]> {
    let pair = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
    lattice.links.iter().map(|link| pair(link.atoms)).collect()
}

/// Returns faces with the lowest atom first, in unchanged sense of rotation.
fn faces(lattice: &Lattice) -> BTreeSet<[u32; 3]> {
    let lowest_first = |face: &[u32; 3]| {
        let mut face = *face;
        let lowest = (0..3).min_by_key(|&corner| face[corner]).unwrap_or(0);
        face.rotate_left(lowest);
        face
    };
    lattice.faces.iter().map(lowest_first).collect()
}

#[test]
fn s4_56_the_generator_reproduces_the_printed_file_exactly() {
    let mut file = load(&Units::SI);
    let generated = fixture::printed();
    assert_eq!(file.atoms[56].position_m.y, 2.827);
    file.atoms[56].position_m.y = 2.887;
    assert_eq!(file.name, generated.name);
    assert_eq!(file.atoms, generated.atoms);
    assert_eq!(links(&file), links(&generated));
    assert_eq!(file.links.len(), generated.links.len());
    assert!(
        file.links
            .iter()
            .all(|link| link.stiffness_npm == 15.0 && link.damping_nspm == 0.2)
    );
    assert_eq!(faces(&file), faces(&generated));
    assert_eq!(file.faces.len(), generated.faces.len());
}

#[test]
fn w20_the_oddities_of_the_printed_file_are_reported() {
    let warnings = lattice_check::warnings(&load(&Units::SI));
    let starts = ["14 lower atoms stand aside", "atom 56 lies "];
    for (warning, start) in warnings.iter().zip(starts) {
        assert!(warning.starts_with(start), "{warning}");
    }
    assert_eq!(warnings.len(), 2);
}

#[test]
fn s4_55_all_faces_point_up_and_their_edges_are_links() {
    let lattice = load(&Units::SI);
    assert_eq!(lattice_check::findings(&lattice), []);
    for &[a, b, c] in &lattice.faces {
        let place = |atom: u32| lattice.atoms[atom as usize].position_m;
        assert!((place(b) - place(a)).cross(&(place(c) - place(a))).z > 0.0);
    }
    // a flat disc: vertices - edges + faces = 1, and its edges are the 49 top links
    let edges: BTreeSet<[u32; 2]> = links(&lattice)
        .into_iter()
        .filter(|pair| pair[1] < 22)
        .collect();
    assert_eq!(edges.len(), 49);
    assert_eq!(22 + lattice.faces.len(), 49 + 1);
}

#[test]
fn s4_54_reading_and_writing_are_inverse() {
    let first = load(&Units::SI);
    let fem = fem_file::write(&first, &Units::SI).unwrap();
    let plg = plg_file::write(&first, &Units::SI).unwrap();
    assert_eq!(
        plg_file::read_pair(fem.as_bytes(), plg.as_bytes(), &Units::SI).unwrap(),
        first
    );

    let inches = load(&Units::INCH_NEWTON);
    let text = fem_file::write(&inches, &Units::INCH_NEWTON).unwrap();
    let back = fem_file::read(text.as_bytes(), &Units::INCH_NEWTON).unwrap();
    for (a, b) in inches.atoms.iter().zip(&back.atoms) {
        assert!((a.position_m - b.position_m).norm() < 1e-15);
    }
}

#[test]
fn wrong_counts_are_refused_with_the_line() {
    for (stated, found) in [
        ("hex 58 140", 198),
        ("hex 59 141", 200),
        ("hex 999999999999 1", 0),
    ] {
        let text = FEM.replacen("hex 58 141", stated, 1);
        let error = fem_file::read(text.as_bytes(), &Units::SI)
            .unwrap_err()
            .to_string();
        let promise = if found == 0 {
            1_000_000_000_000_u64
        } else {
            found
        };
        let expected = format!("line 1: the header promises {promise} records; 199 lines follow");
        assert_eq!(error, expected);
    }
    // correct in sum, wrong in parts: an atom line is then read as a link, and reported
    let text = FEM.replacen("hex 58 141", "hex 57 142", 1);
    let error = fem_file::read(text.as_bytes(), &Units::SI)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "line 60: 6 fields; expected `atom atom stiffness damping`"
    );
}
