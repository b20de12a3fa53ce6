//! Checks of cells and triangles: findings and warnings that name the element.
//!
//! Source: ours. Findings make a mesh unfit to simulate or to touch; warnings make it suspicious.
//! Numbers and indices are checked first, then cells, then the faces and edges between them, since an
//! earlier error would cause errors in the later kinds.

mod connectivity;

use crate::Defect;
use crate::mesh::MixedMesh;
use crate::mesh::coincidence::coincident_nodes;
use crate::mesh::hex::{VOLUME_RATIO_MIN, corner_ratio};
use crate::mesh::tet::volume_m3;
use palpate_twin::Vec3;

/// Least and largest extent of tissue without a warning \[m\]: some cells, ten metres.
const EXTENT_M: [f64; 2] = [1e-5, 10.0];

/// Usual extents of tissue \[m\], to guess a unit by.
const USUAL_M: [f64; 2] = [2e-3, 2.0];

/// Kind of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Tet,
    Hex,
    Triangle,
}

/// An element: its kind and its index among those of its kind, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Element {
    kind: Kind,
    index: usize,
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Tet => "tetrahedron",
            Kind::Hex => "hexahedron",
            Kind::Triangle => "triangle",
        };
        write!(f, "{kind} {}", self.index)
    }
}

/// All defects that make `parts` unfit to simulate or to touch, in the order of its elements.
#[must_use]
pub fn findings(parts: &MixedMesh) -> Vec<Defect> {
    let mut findings = Vec::new();
    if elements(parts).next().is_none() {
        findings.push(Defect::new("no cells and no triangles", "at least one"));
    }
    numbers(parts, &mut findings);
    indices(parts, &mut findings);
    if findings.is_empty() {
        let twins = coincident_nodes(&parts.nodes_m, parts.size_m().max());
        let again =
            |(node, first)| Defect::from_text(format!("node {node} is where node {first} is"));
        findings.extend(twins.map(again));
        shapes(parts, &mut findings);
        connectivity::repeats(parts, &mut findings);
        loose(parts, &mut findings);
    }
    if findings.is_empty() {
        connectivity::joints(parts, &mut findings);
    }
    findings
}

/// Checks every node, element, face and edge.
///
/// # Errors
/// The first of the [`findings`].
pub fn check(parts: &MixedMesh) -> Result<(), Defect> {
    findings(parts).into_iter().next().map_or(Ok(()), Err)
}

/// Suspicious properties of `parts`, for a person to judge. Not meaningful if there are findings.
#[must_use]
pub fn warnings(parts: &MixedMesh) -> Vec<String> {
    let mut warnings: Vec<String> = extent(parts.size_m().max()).into_iter().collect();
    let limit = parts.nodes_m.len();
    let sound = elements(parts).all(|(_, nodes)| nodes.iter().all(|&node| (node as usize) < limit));
    if parts.volume_cells() > 0 || parts.triangles.is_empty() || !sound {
        return warnings;
    }
    if let Some(open) = connectivity::rim(parts) {
        warnings.push(open);
    } else {
        let volume_m3 = parts.enclosed_m3();
        if volume_m3 < 0.0 {
            warnings.push(format!(
                "the surface looks inward: its volume is {volume_m3} m3; expected more than 0"
            ));
        }
    }
    warnings
}

/// Formats a length in few digits, of any magnitude.
fn brief(length_m: f64) -> String {
    match (1e-9..1e9).contains(&length_m) {
        true => length_m.to_string(),
        false => format!("{length_m:e}"),
    }
}

/// Warning if a mesh of this extent \[m\] is not plausible as tissue, with units that would make it plausible.
fn extent(extent_m: f64) -> Option<String> {
    let [least_m, most_m] = EXTENT_M;
    // other checks report a mesh without extent
    if extent_m == 0.0 || (least_m..=most_m).contains(&extent_m) {
        return None;
    }
    let units = [("um", 1e-6), ("mm", 1e-3), ("cm", 1e-2), ("inches", 0.0254)];
    let mut hints = Vec::new();
    for (name, unit_m) in units {
        let (other_m, from) = if extent_m > most_m {
            (extent_m * unit_m, format!("{name} rather than m"))
        } else {
            (extent_m / unit_m, format!("m rather than {name}"))
        };
        if (USUAL_M[0]..=USUAL_M[1]).contains(&other_m) {
            hints.push(format!("{from} (then {other_m} m)"));
        }
    }
    let hint = if hints.is_empty() {
        "No usual unit explains it".to_owned()
    } else {
        format!("The file may be in {}", hints.join(" or "))
    };
    let extent = brief(extent_m);
    Some(format!(
        "the mesh is {extent} m long; tissue is 0.00001 m to 10 m. {hint}"
    ))
}

/// All elements with their nodes: tetrahedra, hexahedra, triangles.
fn elements(parts: &MixedMesh) -> impl Iterator<Item = (Element, &[u32])> {
    let tets = numbered(Kind::Tet, &parts.tets.nodes);
    let hexes = numbered(Kind::Hex, &parts.hexes.nodes);
    tets.chain(hexes)
        .chain(numbered(Kind::Triangle, &parts.triangles.nodes))
}

fn numbers(parts: &MixedMesh, findings: &mut Vec<Defect>) {
    for (node, at_m) in parts.nodes_m.iter().enumerate() {
        findings.extend(not_finite(node, at_m));
    }
}

/// Defect of a node's position \[m\], if its coordinates are not finite.
pub(super) fn not_finite(node: usize, at_m: &Vec3) -> Option<Defect> {
    let found = || format!("node {node} is at {:?} m", at_m.as_slice());
    let finite = at_m.iter().all(|x| x.is_finite());
    (!finite).then(|| Defect::new(found(), "finite numbers"))
}

fn indices(parts: &MixedMesh, findings: &mut Vec<Defect>) {
    let limit = parts.nodes_m.len();
    for (element, nodes) in elements(parts) {
        for (place, &node) in nodes.iter().enumerate() {
            let found = format_args!("{element} names node {node}");
            if node as usize >= limit {
                findings.push(dangling(found, limit));
            } else if nodes[..place].contains(&node) {
                let found = format!("{found} twice");
                findings.push(Defect::new(found, "different nodes"));
            }
        }
    }
}

/// Defect of an invalid index of a node or an atom.
pub(super) fn dangling(found: impl std::fmt::Display, limit: usize) -> Defect {
    Defect::new(found, format_args!("an index below {limit}"))
}

fn shapes(parts: &MixedMesh, findings: &mut Vec<Defect>) {
    let at_m = |node: u32| parts.nodes_m[node as usize];
    let tets = parts.tets.nodes.iter().map(|tet| tet_ratio(tet.map(at_m)));
    let hexes = parts.hexes.nodes.iter();
    let hexes = hexes.map(|hex| hex_ratio(&hex.map(at_m)));
    let triangles = parts.triangles.nodes.iter();
    let triangles = triangles.map(|triangle| triangle_ratio(triangle.map(at_m)));
    let ratios = tets.chain(hexes).chain(triangles);
    for ((element, _), ratio) in elements(parts).zip(ratios) {
        if !ratio.is_nan() && ratio > VOLUME_RATIO_MIN {
            continue;
        }
        findings.push(if element.kind == Kind::Triangle {
            let found =
                format!("{element} has {ratio} of the area of a square on its longest edge");
            Defect::new(found, "more than 0")
        } else {
            let found = format!("{element} has {ratio} of the volume of its box");
            let why = match ratio < 0.0 {
                true => "it is inside out",
                false => "it is flat",
            };
            Defect::new(found, format_args!("more than 0 ({why})"))
        });
    }
}

fn loose(parts: &MixedMesh, findings: &mut Vec<Defect>) {
    let volume = parts.volume_cells() > 0;
    let mut used = vec![false; parts.nodes_m.len()];
    for (element, nodes) in elements(parts) {
        if !volume || element.kind != Kind::Triangle {
            nodes.iter().for_each(|&node| used[node as usize] = true);
        }
    }
    let of = if volume { "cell" } else { "triangle" };
    let loose = used.iter().enumerate().filter(|(_, used)| !**used);
    findings.extend(
        loose.map(|(node, _)| Defect::from_text(format!("node {node} belongs to no {of}"))),
    );
}

fn numbered<const N: usize>(
    kind: Kind,
    cells: &[[u32; N]],
) -> impl Iterator<Item = (Element, &[u32])> {
    let element = move |index| Element { kind, index };
    let cells = cells.iter().enumerate();
    cells.map(move |(index, nodes)| (element(index), nodes.as_slice()))
}

/// Jacobian over the cube of the longest edge; 0.71 in the best tetrahedron.
fn tet_ratio(corners_m: [Vec3; 4]) -> f64 {
    let pairs = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];
    let lengths_m = pairs.map(|[a, b]: [usize; 2]| (corners_m[a] - corners_m[b]).norm());
    let longest_m = lengths_m.into_iter().fold(0.0, f64::max);
    6.0 * volume_m3(corners_m) / (longest_m * longest_m * longest_m)
}

/// Least Jacobian of the corners; 1 in a cube.
fn hex_ratio(corners_m: &[Vec3; 8]) -> f64 {
    let ratios = (0..8).map(|corner| corner_ratio(corners_m, corner));
    ratios.fold(f64::INFINITY, |least, ratio| {
        if ratio.is_nan() {
            ratio
        } else {
            least.min(ratio)
        }
    })
}

/// Twice the area over the square of the longest edge.
fn triangle_ratio([a, b, c]: [Vec3; 3]) -> f64 {
    let longest_m = (b - a).norm().max((c - b).norm()).max((a - c).norm());
    (b - a).cross(&(c - a)).norm() / (longest_m * longest_m)
}

#[cfg(test)]
mod tests;
