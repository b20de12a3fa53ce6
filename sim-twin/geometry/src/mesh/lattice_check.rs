//! Checks of a lattice: findings and warnings that name the element.
//!
//! Source: seed-004 3.9 (W20, rows S4-05 and S4-55) for the structure of a sheet, 3.5 (W19) for the
//! radius of a tool. Findings make a lattice unfit to simulate; warnings make it suspicious.

use std::collections::{BTreeMap, BTreeSet};

use crate::Defect;
use crate::mesh::mesh_check::dangling;
use palpate_twin::Vec3;
use palpate_twin::lattice::{Atom, Lattice, LatticeLink};

/// Offset of an apex from below its triangle, over the edge, that causes a warning.
const SKEW_LIMIT: f64 = 0.1;
/// Offset of an apex from the pattern of its neighbours, over the edge, that causes a warning.
const STRAY_LIMIT: f64 = 0.02;
/// Least cosine between two face normals of a sheet that counts as flat.
const FLAT_COSINE: f64 = 0.999;

/// All defects that make `lattice` unfit to simulate, in the order of its elements.
#[must_use]
pub fn findings(lattice: &Lattice) -> Vec<Defect> {
    let mut findings = Vec::new();
    numbers(lattice, &mut findings);
    indices(lattice, &mut findings);
    if findings.is_empty() {
        links(lattice, &mut findings);
        faces(lattice, &mut findings);
    }
    findings
}

/// Suspicious properties of `lattice`, for a person to judge. Unusable elements are skipped.
///
/// These are apexes of tetrahedra that are not below their triangles (W20), and an atom off the pattern of the
/// others, as after a wrong digit in a file.
#[must_use]
pub fn warnings(lattice: &Lattice) -> Vec<String> {
    let mut warnings = Vec::new();
    let apexes = apexes(lattice);
    let edge_m = longest_edge_m(lattice);
    let aside = apexes.iter().map(|apex| apex.offset_m.norm());
    let skewed: Vec<f64> = aside.filter(|&m| m > SKEW_LIMIT * edge_m).collect();
    if !skewed.is_empty() {
        let (count, offset_m) = (
            skewed.len(),
            skewed.iter().sum::<f64>() / skewed.len() as f64,
        );
        warnings.push(format!(
            "{count} lower atoms stand aside of their triangles, by {offset_m} m on average"
        ));
    }
    let Some(first) = apexes.first() else {
        return warnings;
    };
    let mut cosines = apexes.iter().map(|apex| apex.normal.dot(&first.normal));
    if cosines.any(|cosine| cosine < FLAT_COSINE) {
        return warnings;
    }
    let median = |axis: usize| {
        let mut values: Vec<f64> = apexes.iter().map(|apex| apex.offset_m[axis]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let usual_m = Vec3::new(median(0), median(1), median(2));
    for Apex { atom, offset_m, .. } in &apexes {
        let off_m = (offset_m - usual_m).norm();
        if off_m > STRAY_LIMIT * edge_m {
            warnings.push(format!(
                "atom {atom} lies {off_m} m off the pattern of its layer"
            ));
        }
    }
    warnings
}

/// Checks that a sphere of `radius_m` \[m\] cannot fall between three nodes: `R > h / sqrt(3)` (seed-004 3.5).
///
/// # Errors
/// [`Defect`] with the least radius. A NaN radius is refused as well.
pub fn check_contact_radius(lattice: &Lattice, radius_m: f64) -> Result<(), Defect> {
    let edge_m = longest_edge_m(lattice);
    let least_m = edge_m / 3.0_f64.sqrt();
    if radius_m > least_m {
        return Ok(());
    }
    Err(Defect::new(
        format_args!("a tool of radius {radius_m} m can slip between nodes {edge_m} m apart"),
        format_args!("more than {least_m} m"),
    ))
}

/// True if a link ties a free atom to a fixed one at the same position (row S4-06).
#[must_use]
pub fn is_home(lattice: &Lattice, link: &LatticeLink) -> bool {
    let [Some(a), Some(b)] = link.atoms.map(|atom| lattice.atoms.get(atom as usize)) else {
        return false;
    };
    a.fixed != b.fixed && a.position_m == b.position_m
}

/// Tetrahedra of a lattice: every four atoms that are all linked with each other (S4-05).
///
/// Atoms in rising order within each, and sorted. Home links and dangling links do not count.
#[must_use]
pub(super) fn tetrahedra(lattice: &Lattice) -> Vec<[u32; 4]> {
    let mut above: Vec<Vec<u32>> = vec![Vec::new(); lattice.atoms.len()];
    for link in lattice.links.iter().filter(|link| !is_home(lattice, link)) {
        let [low, high] = sorted(link.atoms);
        if low != high && (high as usize) < above.len() {
            above[low as usize].push(high);
        }
    }
    for list in &mut above {
        list.sort_unstable();
        list.dedup();
    }
    let linked = |a: u32, b: u32| above[a as usize].binary_search(&b).is_ok();
    let mut found = Vec::new();
    for (a, near) in (0_u32..).zip(&above) {
        for (i, &b) in near.iter().enumerate() {
            for (j, &c) in near
                .iter()
                .enumerate()
                .skip(i + 1)
                .filter(|&(_, &c)| linked(b, c))
            {
                let last = near[j + 1..]
                    .iter()
                    .filter(|&&d| linked(b, d) && linked(c, d));
                found.extend(last.map(|&d| [a, b, c, d]));
            }
        }
    }
    found
}

/// Longest edge of any face \[m\]; zero without faces.
#[must_use]
pub fn longest_edge_m(lattice: &Lattice) -> f64 {
    let place = |atom: u32| lattice.atoms.get(atom as usize).map(|atom| atom.position_m);
    let edges = lattice
        .faces
        .iter()
        .flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    edges.fold(0.0, |longest_m, [a, b]| match (place(a), place(b)) {
        (Some(a), Some(b)) => longest_m.max((a - b).norm()),
        _ => longest_m,
    })
}

fn numbers(lattice: &Lattice, findings: &mut Vec<Defect>) {
    let mut demand = |field: String, value: f64, least: f64, expected| {
        if !(value.is_finite() && value >= least) {
            findings.push(Defect::field(field, value, expected));
        }
    };
    for (index, atom) in lattice.atoms.iter().enumerate() {
        for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
            let (field, value) = (format!("atom {index}: {field}"), atom.position_m[axis]);
            demand(field, value, f64::NEG_INFINITY, "a finite number");
        }
        // The mass of a fixed atom is never used: the seed calls home atoms massless (3.3).
        let least = if atom.fixed { 0.0 } else { f64::MIN_POSITIVE };
        let (field, expected) = (
            format!("atom {index}: mass_kg"),
            "more than 0, or 0 if fixed",
        );
        demand(field, atom.mass_kg, least, expected);
    }
    for (index, link) in lattice.links.iter().enumerate() {
        let numbers = [
            ("stiffness_npm", link.stiffness_npm),
            ("damping_nspm", link.damping_nspm),
        ];
        for (field, value) in numbers {
            demand(
                format!("link {index}: {field}"),
                value,
                0.0,
                "finite, at least 0",
            );
        }
    }
}

fn indices(lattice: &Lattice, findings: &mut Vec<Defect>) {
    let mut demand = |element, index, atoms: &[u32], limit: usize| {
        for &atom in atoms.iter().filter(|&&atom| atom as usize >= limit) {
            findings.push(dangling(
                format_args!("{element} {index} names atom {atom}"),
                limit,
            ));
        }
    };
    for (index, link) in lattice.links.iter().enumerate() {
        demand("link", index, &link.atoms, lattice.atoms.len());
    }
    for (index, face) in lattice.faces.iter().enumerate() {
        demand("face", index, face, lattice.surface_count());
    }
}

fn links(lattice: &Lattice, findings: &mut Vec<Defect>) {
    let mut first_links = BTreeMap::new();
    for (link, element) in lattice.links.iter().enumerate() {
        let [low, high] = sorted(element.atoms);
        if let Some(&first) = first_links.get(&[low, high]) {
            findings.push(Defect::from_text(format!(
                "link {link} joins atoms {low} and {high} again, as link {first} does"
            )));
        } else {
            first_links.insert([low, high], link);
        }
        let [a, b] = element.atoms;
        let [from_m, to_m] = [a, b].map(|atom| lattice.atoms[atom as usize].position_m);
        if from_m == to_m && !is_home(lattice, element) {
            findings.push(Defect::from_text(format!(
                "link {link} between atoms {a} and {b} has length 0; only home links may"
            )));
        }
    }
}

fn faces(lattice: &Lattice, findings: &mut Vec<Defect>) {
    let links = lattice.links.iter().map(|link| sorted(link.atoms));
    let linked: BTreeSet<_> = links.collect();
    let mut edges: BTreeMap<[u32; 2], Vec<(usize, bool)>> = BTreeMap::new();
    for (face, &[a, b, c]) in lattice.faces.iter().enumerate() {
        for run in [[a, b], [b, c], [c, a]] {
            let edge @ [low, high] = sorted(run);
            edges.entry(edge).or_default().push((face, edge == run));
            if !linked.contains(&edge) {
                findings.push(Defect::from_text(format!(
                    "edge {low} - {high} of face {face} has no link between its surface atoms"
                )));
            }
        }
    }
    for ([low, high], owners) in edges.iter().filter(|(_, owners)| owners.len() > 2) {
        let found = format_args!("edge {low} - {high} belongs to {} faces", owners.len());
        findings.push(Defect::new(found, "1 or 2"));
    }
    let inner = inner_neighbours(lattice);
    let mut flipped: BTreeSet<usize> = (0..lattice.faces.len())
        .filter(|&face| looks_inward(lattice, &inner, lattice.faces[face]))
        .collect();
    // Without atoms inside, only opposite neighbours are detected; the later face is named.
    let contradictory = edges
        .values()
        .filter(|owners| owners.len() == 2 && owners[0].1 == owners[1].1);
    for owners in contradictory {
        if !owners.iter().any(|owner| flipped.contains(&owner.0)) {
            flipped.insert(owners[0].0.max(owners[1].0));
        }
    }
    findings.extend(flipped.into_iter().map(|face| {
        let found = format_args!("face {face} is clockwise seen from outside");
        Defect::new(found, "counter-clockwise")
    }));
}

/// Links both ways, as (from, to); links with invalid ends are skipped.
fn link_directions<'a>(
    lattice: &'a Lattice,
    link: &LatticeLink,
) -> impl Iterator<Item = [(u32, &'a Atom); 2]> {
    let [a, b] = link.atoms;
    let at = |atom: u32| lattice.atoms.get(atom as usize).map(|found| (atom, found));
    let ends = at(a).zip(at(b));
    ends.into_iter().flat_map(|(a, b)| [[a, b], [b, a]])
}

/// Linked atoms below the surface of every atom, homes excepted.
fn inner_neighbours(lattice: &Lattice) -> Vec<Vec<u32>> {
    let mut inner = vec![Vec::new(); lattice.atoms.len()];
    for link in lattice.links.iter().filter(|link| !is_home(lattice, link)) {
        for [(from, _), (to, other)] in link_directions(lattice, link) {
            if !other.surface {
                inner[from as usize].push(to);
            }
        }
    }
    inner
}

/// True if the atoms below a face lie on the side to which its normal points.
fn looks_inward(lattice: &Lattice, inner: &[Vec<u32>], face: [u32; 3]) -> bool {
    let place = |atom: u32| lattice.atoms[atom as usize].position_m;
    let [a, b, c] = face.map(place);
    let normal = (b - a).cross(&(c - a));
    let below = face.iter().flat_map(|&atom| &inner[atom as usize]);
    below
        .map(|&atom| (place(atom) - a).dot(&normal))
        .sum::<f64>()
        > 0.0
}

/// Atom below the surface and its offset from the triangle above it.
struct Apex {
    atom: u32,
    /// Unit normal of the triangle.
    normal: Vec3,
    /// Vector from the centre of the triangle to the atom, along the triangle \[m\].
    offset_m: Vec3,
}

fn apexes(lattice: &Lattice) -> Vec<Apex> {
    let mut above: BTreeMap<u32, Vec<Vec3>> = BTreeMap::new();
    for link in &lattice.links {
        for [(from, lower), (_, upper)] in link_directions(lattice, link) {
            if upper.surface && !lower.surface && !lower.fixed {
                above.entry(from).or_default().push(upper.position_m);
            }
        }
    }
    let apex = |(&atom, corners): (&u32, &Vec<Vec3>)| {
        let &[a, b, c] = corners.as_slice() else {
            return None;
        };
        let normal = (b - a).cross(&(c - a)).try_normalize(0.0)?;
        let away_m = lattice.atoms[atom as usize].position_m - (a + b + c) / 3.0;
        // Signed so that the atom is below: the corner order in a file is unreliable.
        let normal = if away_m.dot(&normal) > 0.0 {
            -normal
        } else {
            normal
        };
        Some(Apex {
            atom,
            normal,
            offset_m: away_m - normal * away_m.dot(&normal),
        })
    };
    above.iter().filter_map(apex).collect()
}

fn sorted([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use palpate_twin::lattice::fixture;

    #[test]
    fn data_set_is_valid_and_only_the_printed_one_warns() {
        assert_eq!(findings(&fixture::regular()), []);
        assert_eq!(findings(&fixture::printed()), []);
        assert!(warnings(&fixture::regular()).is_empty());
        let printed = warnings(&fixture::printed());
        assert_eq!(printed.len(), 1);
        let start = "14 lower atoms stand aside of their triangles, by 0.";
        assert!(printed[0].starts_with(start), "{}", printed[0]);
        let aside = apexes(&fixture::printed());
        let sum_m: f64 = aside.iter().map(|apex| apex.offset_m.norm()).sum();
        assert!((sum_m / 14.0 - 0.5).abs() < 1e-3);
    }

    #[test]
    fn w20_the_wrong_digit_of_atom_56_is_found() {
        let mut lattice = fixture::printed();
        lattice.atoms[56].position_m.y = 2.827;
        let text = &warnings(&lattice)[1];
        assert!(text.starts_with("atom 56 lies 0.0"), "{text}");
        let words: Vec<&str> = text.split(' ').collect();
        assert!((words[3].parse::<f64>().unwrap() - 0.06).abs() < 1e-3);
    }

    #[test]
    fn s4_05_fourteen_upright_and_eight_inverted_tetrahedra() {
        let lattice = fixture::regular();
        let surface = |tetra: &[u32; 4]| tetra.iter().filter(|&&atom| atom < 22).count();
        let all = tetrahedra(&lattice);
        let with = |count| all.iter().filter(|&tetra| surface(tetra) == count).count();
        assert_eq!(
            [with(0), with(1), with(2), with(3), with(4)],
            [0, 8, 0, 14, 0]
        );
    }

    #[test]
    fn every_defect_is_named() {
        let spoil = |change: &dyn Fn(&mut Lattice)| {
            let mut lattice = fixture::regular();
            change(&mut lattice);
            findings(&lattice)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            spoil(&|l| l.links.push(LatticeLink {
                atoms: [1, 0],
                ..l.links[0]
            })),
            ["link 141 joins atoms 0 and 1 again, as link 0 does"]
        );
        assert_eq!(
            spoil(&|l| l.links[5].atoms[1] = 58),
            ["link 5 names atom 58; expected an index below 58"]
        );
        assert_eq!(
            spoil(&|l| l.faces[2][0] = 22),
            ["face 2 names atom 22; expected an index below 22"]
        );
        assert_eq!(
            spoil(&|l| l.faces[9].swap(0, 1)),
            ["face 9 is clockwise seen from outside; expected counter-clockwise"]
        );
        assert_eq!(
            spoil(&|l| l.atoms[44].position_m = l.atoms[45].position_m),
            [format!(
                "link {} between atoms 44 and 45 has length 0; only home links may",
                link_between(44, 45)
            )]
        );
        assert_eq!(
            spoil(&|l| l.atoms[3].mass_kg = 0.0),
            ["atom 3: mass_kg is 0; expected more than 0, or 0 if fixed"]
        );
        assert!(spoil(&|l| l.faces.push(l.faces[4]))[0].contains("belongs to 3 faces"));
        assert!(spoil(&|l| l.links.truncate(0))[0].starts_with("edge 0 - 1 of face 0"));
    }

    fn link_between(a: u32, b: u32) -> usize {
        let links = fixture::regular().links;
        links.iter().position(|link| link.atoms == [a, b]).unwrap()
    }

    #[test]
    fn inverted_face_is_found_without_inner_atoms() {
        let mut lattice = fixture::regular();
        lattice
            .links
            .retain(|link| link.atoms.iter().all(|&atom| atom < 22));
        lattice.faces[9].swap(0, 1);
        let text = findings(&lattice)[0].to_string();
        assert!(text.starts_with("face 9 is clockwise"), "{text}");
    }

    #[test]
    fn w19_a_tool_must_not_fall_between_the_nodes() {
        let lattice = fixture::regular();
        assert!(check_contact_radius(&lattice, 1.5).is_ok());
        let error = check_contact_radius(&lattice, 0.5).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("expected more than 0.57"), "{text}");
        assert!(check_contact_radius(&lattice, f64::NAN).is_err());
    }
}
