//! What can be wrong or odd about a lattice, said of the element that has it.
//!
//! Source: seed-004 3.9 (W20, rows S4-05 and S4-55) for the make of a sheet, 3.5 (W19) for the
//! radius of a tool. Findings make a lattice unfit to simulate; warnings make it suspicious.

use std::collections::BTreeMap;

use palpate_twin::Vec3;
use palpate_twin::lattice::{Lattice, Link};

/// An apex this far from under its triangle, over the edge, is worth a warning.
const SKEW_LIMIT: f64 = 0.1;
/// An apex this far from where its neighbours stand, over the edge, is worth a warning.
const STRAY_LIMIT: f64 = 0.02;
/// Least cosine between two face normals of a sheet that counts as flat.
const FLAT_COSINE: f64 = 0.999;

/// Why a lattice is unfit to simulate.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Finding {
    /// A number that is out of its range.
    #[error("{element} {index}: {field} is {value}; expected {expected}")]
    Number {
        /// Kind of the element.
        element: &'static str,
        /// Its index.
        index: usize,
        /// Name of the field.
        field: &'static str,
        /// Value found.
        value: f64,
        /// What would be right.
        expected: &'static str,
    },
    /// An index that points at nothing.
    #[error("{element} {index} names atom {atom}; expected an index below {limit}")]
    Dangling {
        /// Kind of the element.
        element: &'static str,
        /// Its index.
        index: usize,
        /// The atom it names.
        atom: u32,
        /// Number of atoms that it may name.
        limit: usize,
    },
    /// Two links between the same atoms.
    #[error("link {link} joins atoms {} and {} again, as link {first} does", atoms[0], atoms[1])]
    DuplicateLink {
        /// The later link.
        link: usize,
        /// The earlier link.
        first: usize,
        /// Their atoms, lower index first.
        atoms: [u32; 2],
    },
    /// A link without length that is no home link: it has no direction.
    #[error(
        "link {link} between atoms {} and {} has length 0; only home links may",
        atoms[0], atoms[1]
    )]
    ZeroLength {
        /// The link.
        link: usize,
        /// Its atoms.
        atoms: [u32; 2],
    },
    /// A face whose normal points inward, or against its neighbour.
    #[error("face {face} is clockwise seen from outside; expected counter-clockwise")]
    FlippedFace {
        /// The face.
        face: usize,
    },
    /// A surface edge with more than two faces, or with two that run the same way.
    #[error("edge {} - {} belongs to {faces} faces; expected 1 or 2", edge[0], edge[1])]
    NonManifold {
        /// Atoms of the edge, lower index first.
        edge: [u32; 2],
        /// Number of faces that share it.
        faces: usize,
    },
    /// A surface edge that no link stiffens.
    #[error("edge {} - {} of face {face} has no link between its surface atoms", edge[0], edge[1])]
    EdgeWithoutLink {
        /// The face.
        face: usize,
        /// Atoms of the edge, lower index first.
        edge: [u32; 2],
    },
}

/// Something odd in a lattice that can still be simulated.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Warning {
    /// Apexes of tetrahedra that do not stand under their triangles (W20).
    #[error("{apexes} lower atoms stand aside of their triangles, by {offset_m} m on average")]
    SkewedLayer {
        /// Number of such atoms.
        apexes: usize,
        /// Mean distance from under the centre of the triangle, along it \[m\].
        offset_m: f64,
    },
    /// One atom off the pattern of the others, as a wrong digit in a file makes it.
    #[error("atom {atom} lies {offset_m} m off the pattern of its layer")]
    StrayAtom {
        /// The atom.
        atom: u32,
        /// Distance from the place that the pattern gives it \[m\].
        offset_m: f64,
        /// That place \[m\].
        expected_m: Vec3,
    },
}

/// Why a tool is too small for a surface in node contact (seed-004 3.5).
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error(
    "a tool of radius {radius_m} m can slip between nodes {edge_m} m apart; \
     expected more than {least_m} m"
)]
pub struct RadiusError {
    /// Radius of the tool \[m\].
    pub radius_m: f64,
    /// Longest surface edge \[m\].
    pub edge_m: f64,
    /// The radius that is just too small \[m\].
    pub least_m: f64,
}

/// Everything that makes `lattice` unfit to simulate, in the order of its elements.
#[must_use]
pub fn findings(lattice: &Lattice) -> Vec<Finding> {
    let mut findings = Vec::new();
    numbers(lattice, &mut findings);
    indices(lattice, &mut findings);
    if findings.is_empty() {
        links(lattice, &mut findings);
        faces(lattice, &mut findings);
    }
    findings
}

/// What is odd about `lattice`, for a person to judge. Unusable elements are passed over.
#[must_use]
pub fn warnings(lattice: &Lattice) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let apexes = apexes(lattice);
    let edge_m = longest_edge_m(lattice);
    let offset = |apex: &Apex| apex.offset_m;
    let aside: Vec<f64> = apexes.iter().map(|apex| offset(apex).norm()).collect();
    let skewed: Vec<f64> = aside
        .into_iter()
        .filter(|&m| m > SKEW_LIMIT * edge_m)
        .collect();
    if !skewed.is_empty() {
        let offset_m = skewed.iter().sum::<f64>() / skewed.len() as f64;
        warnings.push(Warning::SkewedLayer {
            apexes: skewed.len(),
            offset_m,
        });
    }
    let Some(first) = apexes.first() else {
        return warnings;
    };
    if apexes
        .iter()
        .any(|apex| apex.normal.dot(&first.normal) < FLAT_COSINE)
    {
        return warnings;
    }
    let median = |axis: usize| {
        let mut values: Vec<f64> = apexes.iter().map(|apex| offset(apex)[axis]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let usual_m = Vec3::new(median(0), median(1), median(2));
    for apex in &apexes {
        let off_m = offset(apex) - usual_m;
        if off_m.norm() > STRAY_LIMIT * edge_m {
            let expected_m = lattice.atoms[apex.atom as usize].position_m - off_m;
            let stray = Warning::StrayAtom {
                atom: apex.atom,
                offset_m: off_m.norm(),
                expected_m,
            };
            warnings.push(stray);
        }
    }
    warnings
}

/// Check that a sphere of `radius_m` \[m\] cannot fall between three nodes: `R > h / sqrt(3)`.
///
/// # Errors
/// [`RadiusError`] with the least radius. A NaN radius is refused as well.
pub fn contact_radius(lattice: &Lattice, radius_m: f64) -> Result<(), RadiusError> {
    let edge_m = longest_edge_m(lattice);
    let least_m = edge_m / 3.0_f64.sqrt();
    if radius_m > least_m {
        Ok(())
    } else {
        Err(RadiusError {
            radius_m,
            edge_m,
            least_m,
        })
    }
}

/// Whether a link ties a free atom to a fixed one at the same place (row S4-06).
#[must_use]
pub fn is_home(lattice: &Lattice, link: &Link) -> bool {
    let [Some(a), Some(b)] = link.atoms.map(|atom| lattice.atoms.get(atom as usize)) else {
        return false;
    };
    a.fixed != b.fixed && a.position_m == b.position_m
}

/// The tetrahedra of a lattice: every four atoms that are all linked with each other (S4-05).
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

/// Signed volume of a tetrahedron with corners at `corners_m` \[m^3\].
#[must_use]
pub fn volume_m3(corners_m: [Vec3; 4]) -> f64 {
    let [a, b, c, d] = corners_m;
    (b - a).cross(&(c - a)).dot(&(d - a)) / 6.0
}

/// The longest edge of any face \[m\]; zero without faces.
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

fn numbers(lattice: &Lattice, findings: &mut Vec<Finding>) {
    let mut demand = |element, index, field, value: f64, least: f64, expected| {
        if !(value.is_finite() && value >= least) {
            findings.push(Finding::Number {
                element,
                index,
                field,
                value,
                expected,
            });
        }
    };
    for (index, atom) in lattice.atoms.iter().enumerate() {
        for (axis, field) in ["x", "y", "z"].into_iter().enumerate() {
            let value = atom.position_m[axis];
            demand(
                "atom",
                index,
                field,
                value,
                f64::NEG_INFINITY,
                "a finite number",
            );
        }
        // The mass of a fixed atom is never used: the seed calls home atoms massless (3.3).
        let least = if atom.fixed { 0.0 } else { f64::MIN_POSITIVE };
        demand(
            "atom",
            index,
            "mass_kg",
            atom.mass_kg,
            least,
            "more than 0, or 0 if fixed",
        );
    }
    for (index, link) in lattice.links.iter().enumerate() {
        let [k, b] = [link.stiffness_npm, link.damping_nspm];
        demand("link", index, "stiffness_npm", k, 0.0, "finite, at least 0");
        demand("link", index, "damping_nspm", b, 0.0, "finite, at least 0");
    }
}

fn indices(lattice: &Lattice, findings: &mut Vec<Finding>) {
    let mut demand = |element, index, atoms: &[u32], limit: usize| {
        for &atom in atoms.iter().filter(|&&atom| atom as usize >= limit) {
            findings.push(Finding::Dangling {
                element,
                index,
                atom,
                limit,
            });
        }
    };
    for (index, link) in lattice.links.iter().enumerate() {
        demand("link", index, &link.atoms, lattice.atoms.len());
    }
    for (index, face) in lattice.faces.iter().enumerate() {
        demand("face", index, face, lattice.surface_count());
    }
}

fn links(lattice: &Lattice, findings: &mut Vec<Finding>) {
    let mut seen = BTreeMap::new();
    for (link, element) in lattice.links.iter().enumerate() {
        let atoms = sorted(element.atoms);
        if let Some(&first) = seen.get(&atoms) {
            findings.push(Finding::DuplicateLink { link, first, atoms });
        } else {
            seen.insert(atoms, link);
        }
        let [a, b] = element
            .atoms
            .map(|atom| lattice.atoms[atom as usize].position_m);
        if a == b && !is_home(lattice, element) {
            findings.push(Finding::ZeroLength {
                link,
                atoms: element.atoms,
            });
        }
    }
}

fn faces(lattice: &Lattice, findings: &mut Vec<Finding>) {
    let linked: std::collections::BTreeSet<_> = lattice
        .links
        .iter()
        .map(|link| sorted(link.atoms))
        .collect();
    let mut edges: BTreeMap<[u32; 2], Vec<(usize, bool)>> = BTreeMap::new();
    for (face, &[a, b, c]) in lattice.faces.iter().enumerate() {
        for run in [[a, b], [b, c], [c, a]] {
            let edge = sorted(run);
            edges.entry(edge).or_default().push((face, edge == run));
            if !linked.contains(&edge) {
                findings.push(Finding::EdgeWithoutLink { face, edge });
            }
        }
    }
    for (&edge, owners) in &edges {
        if owners.len() > 2 {
            findings.push(Finding::NonManifold {
                edge,
                faces: owners.len(),
            });
        }
    }
    let inner = inner_neighbours(lattice);
    let mut flipped: Vec<usize> = (0..lattice.faces.len())
        .filter(|&face| looks_inward(lattice, &inner, lattice.faces[face]))
        .collect();
    // Without atoms inside, only a quarrel between neighbours shows; the later face is named.
    let quarrels = edges
        .values()
        .filter(|owners| owners.len() == 2 && owners[0].1 == owners[1].1);
    for owners in quarrels {
        let face = owners[0].0.max(owners[1].0);
        if !owners.iter().any(|owner| flipped.contains(&owner.0)) {
            flipped.push(face);
        }
    }
    flipped.sort_unstable();
    flipped.dedup();
    findings.extend(
        flipped
            .into_iter()
            .map(|face| Finding::FlippedFace { face }),
    );
}

/// For every atom, the atoms below the surface that it is linked with, homes excepted.
fn inner_neighbours(lattice: &Lattice) -> Vec<Vec<u32>> {
    let mut inner = vec![Vec::new(); lattice.atoms.len()];
    for link in lattice.links.iter().filter(|link| !is_home(lattice, link)) {
        for [from, to] in [link.atoms, [link.atoms[1], link.atoms[0]]] {
            if !lattice.atoms[to as usize].surface {
                inner[from as usize].push(to);
            }
        }
    }
    inner
}

/// Whether the atoms below a face lie on the side to which its normal points.
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

/// An atom below the surface and where it stands against the triangle above it.
struct Apex {
    atom: u32,
    /// Unit normal of the triangle.
    normal: Vec3,
    /// From the centre of the triangle to the atom, along the triangle \[m\].
    offset_m: Vec3,
}

fn apexes(lattice: &Lattice) -> Vec<Apex> {
    let mut above: BTreeMap<u32, Vec<Vec3>> = BTreeMap::new();
    for link in &lattice.links {
        for [from, to] in [link.atoms, [link.atoms[1], link.atoms[0]]] {
            let (Some(lower), Some(upper)) = (
                lattice.atoms.get(from as usize),
                lattice.atoms.get(to as usize),
            ) else {
                continue;
            };
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
        // Signed so that the atom is below: corner order in a file says nothing.
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
    fn the_data_set_is_fit_and_only_the_printed_one_is_odd() {
        assert_eq!(findings(&fixture::regular()), []);
        assert_eq!(findings(&fixture::printed()), []);
        assert_eq!(warnings(&fixture::regular()), []);
        let [Warning::SkewedLayer { apexes, offset_m }] = warnings(&fixture::printed())[..] else {
            panic!("one warning expected");
        };
        assert_eq!(apexes, 14);
        assert!((offset_m - 0.5).abs() < 1e-3);
    }

    #[test]
    fn w20_the_wrong_digit_of_atom_56_is_found() {
        let mut lattice = fixture::printed();
        lattice.atoms[56].position_m.y = 2.827;
        let Warning::StrayAtom {
            atom,
            offset_m,
            expected_m,
        } = warnings(&lattice)[1]
        else {
            panic!("a stray atom expected");
        };
        assert_eq!(atom, 56);
        assert!((offset_m - 0.06).abs() < 1e-3);
        assert!((expected_m.y - 2.887).abs() < 1e-3);
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
            spoil(&|l| l.links.push(Link {
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
    fn a_face_against_its_neighbours_is_found_without_atoms_inside() {
        let mut lattice = fixture::regular();
        lattice
            .links
            .retain(|link| link.atoms.iter().all(|&atom| atom < 22));
        lattice.faces[9].swap(0, 1);
        assert!(findings(&lattice).contains(&Finding::FlippedFace { face: 9 }));
    }

    #[test]
    fn w19_a_tool_must_not_fall_between_the_nodes() {
        let lattice = fixture::regular();
        assert!(contact_radius(&lattice, 1.5).is_ok());
        let error = contact_radius(&lattice, 0.5).unwrap_err();
        assert!((error.least_m - 0.57735).abs() < 1e-3);
        assert!(contact_radius(&lattice, f64::NAN).is_err());
    }
}
