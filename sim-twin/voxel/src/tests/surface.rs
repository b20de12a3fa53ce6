//! Tests of the surface: counts, closedness, updates after edits, and colours.

use std::collections::{BTreeMap, BTreeSet};

use super::press::slab;
use super::{SHAPES, TestRng, block, material, volume};
use crate::carve::RoundToolMotion;
use crate::knife::{BladeEdge, BladeMotion};
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use crate::nodes::{NodeSeed, VoxelNodes};
use crate::surface::VoxelSurface;
use crate::topology_editor::TopologyEditor;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_twin::{Edit, Tissue};

/// Returns the triangles by node, each from its lowest corner, sorted.
pub(super) fn triangles(surface: &VoxelSurface) -> Vec<[u32; 3]> {
    let name = |face: &[u32; 3]| {
        let [a, b, c] = face.map(|corner| surface.vertices()[corner as usize]);
        let least = a.min(b).min(c);
        match least {
            _ if least == a => [a, b, c],
            _ if least == b => [b, c, a],
            _ => [c, a, b],
        }
    };
    let mut all: Vec<[u32; 3]> = surface.faces().iter().map(name).collect();
    all.sort_unstable();
    all
}

/// Returns the first edge that belongs to an odd number of triangles, if any.
pub(super) fn odd_edge(surface: &VoxelSurface) -> Option<(u32, u32)> {
    let mut edges: Vec<(u32, u32)> = Vec::with_capacity(3 * surface.faces().len());
    for &[a, b, c] in surface.faces() {
        edges.extend([(a, b), (b, c), (c, a)].map(|(a, b)| (a.min(b), a.max(b))));
    }
    edges.sort_unstable();
    let odd = edges
        .chunk_by(|a, b| a == b)
        .find(|same| same.len() % 2 == 1);
    odd.map(|same| same[0])
}

/// Asserts that a surface equals a rebuilt one.
pub(super) fn assert_fresh<R: Real>(surface: &VoxelSurface, nodes: &VoxelNodes<R>) {
    let fresh = VoxelSurface::new(nodes);
    assert_eq!(triangles(surface), triangles(&fresh));
    let mut vertices = [surface, &fresh].map(|s| s.vertices().to_vec());
    vertices.iter_mut().for_each(|v| v.sort_unstable());
    assert_eq!(vertices[0], vertices[1]);
}

/// Returns six times the enclosed volume.
fn volume6(surface: &VoxelSurface, nodes: &VoxelNodes<f32>) -> f64 {
    let at = |corner: u32| nodes.position_m(surface.vertices()[corner as usize]);
    let faces = surface.faces().iter();
    faces
        .map(|&[a, b, c]| at(a).dot(&at(b).cross(&at(c))))
        .sum()
}

/// Row RN-02: the counts of section 2.1 for blocks, closed and facing out.
#[test]
fn rn_02_block_surface_has_the_expected_counts() {
    for (n, v, e, f) in [
        (20, 2168, 6498, 4332),
        (30, 5048, 15138, 10092),
        (40, 9128, 27378, 18252),
    ] {
        let nodes: VoxelNodes<f32> = block([n; 3], BondLimits::MEDIUM);
        let surface = VoxelSurface::new(&nodes);
        let edges: BTreeSet<(u32, u32)> = surface
            .faces()
            .iter()
            .flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)])
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        let found = (surface.vertices().len(), edges.len(), surface.faces().len());
        assert_eq!(found, (v, e, f));
        assert_eq!(v + f - e, 2);
        assert_eq!(odd_edge(&surface), None);
        let inside = volume6(&surface, &nodes) / 6.0;
        assert!((inside - f64::from(n - 1).powi(3)).abs() < 1e-6 * inside);
    }
}

/// Row RN-02: the surface of every shape is closed and encloses its full cells.
#[test]
fn rn_02_surface_of_every_shape_is_closed() {
    for (name, is_in) in SHAPES {
        let nodes: VoxelNodes<f32> = volume([16, 12, 8], &[BondLimits::MEDIUM], is_in, |_| 0);
        let surface = VoxelSurface::new(&nodes);
        assert_eq!(odd_edge(&surface), None, "{name}");
        let corner = |v: i32, bit: i32| v + bit;
        let expected = (0..7)
            .flat_map(|z| (0..11).flat_map(move |y| (0..15).map(move |x| [x, y, z])))
            .filter(|&[x, y, z]| {
                (0..8).all(|k| is_in([corner(x, k & 1), corner(y, k >> 1 & 1), corner(z, k >> 2)]))
            })
            .count();
        let inside = volume6(&surface, &nodes) / 6.0;
        assert!(
            (inside - expected as f64).abs() < 1e-6 * inside,
            "{name}: {inside} {expected}"
        );
    }
}

/// Row RN-02: after every carve and cut all edges have an even number of triangles, no triangle is stale, and only
/// nodes near the edit were visited.
#[test]
fn rn_02_surface_stays_current_under_edits() {
    let mut nodes: VoxelNodes<f32> = block([14, 13, 12], BondLimits::MEDIUM);
    let mut editor = TopologyEditor::new(&mut nodes, 100_000);
    let mut rng = TestRng::new(9);
    for round in 0..60 {
        let before = editor.derived.surface.nodes_visited;
        let mut at = || Vec3::new(rng.unit() * 13.0, rng.unit() * 12.0, rng.unit() * 11.0);
        let (p, q, s) = (at(), at(), at());
        let changed_links = match round % 3 {
            0 => {
                editor
                    .carve(&mut nodes, &RoundToolMotion::ball(p, p, 1.2))
                    .links
            }
            1 => {
                let sweep = BladeMotion {
                    before: BladeEdge([p, q]),
                    after: BladeEdge([s, s]),
                };
                editor.cut(&mut nodes, &sweep, f64::INFINITY).links
            }
            _ => {
                editor.undo_or_redo(&mut nodes, true);
                editor.join(&mut nodes, p, 2.0).links
            }
        };
        let visited = editor.derived.surface.nodes_visited - before;
        if round % 3 < 2 {
            let ends = editor.derived.changed_nodes.len() as u64;
            assert!(visited <= 27 * ends, "{visited} {ends} {changed_links}");
        }
        assert_eq!(odd_edge(&editor.derived.surface), None, "round {round}");
        assert_fresh(&editor.derived.surface, &nodes);
    }
}

/// Section 3.6: a sheet one node thick has two sides; a row of nodes has points and no triangles.
#[test]
fn thin_sheets_have_two_sides() {
    let sheet: VoxelNodes<f32> = block([6, 5, 1], BondLimits::MEDIUM);
    let surface = VoxelSurface::new(&sheet);
    assert_eq!(
        (surface.vertices().len(), surface.faces().len()),
        (30, 4 * 20)
    );
    assert_eq!(odd_edge(&surface), None);
    let mut sides = BTreeMap::new();
    for face in triangles(&surface) {
        let mut corners = face;
        corners.sort_unstable();
        *sides.entry(corners).or_insert(0) += 1;
    }
    assert!(sides.values().all(|&count| count == 2));
    assert_eq!(volume6(&surface, &sheet), 0.0);
    let row: VoxelNodes<f32> = block([6, 1, 1], BondLimits::MEDIUM);
    let surface = VoxelSurface::new(&row);
    assert_eq!((surface.vertices().len(), surface.faces().len()), (6, 0));
}

/// Row RN-03: where a layered block is cut open, the new faces have the colours of the layers, which were hidden
/// before.
#[test]
fn rn_03_cut_faces_show_the_inner_layers() {
    let layers = [BondLimits::MEDIUM; 3];
    // the middle layer is enclosed by the outer ones on all sides
    let of = |[x, y, z]: [i32; 3]| {
        let depth = x.min(11 - x).min(y.min(9 - y)).min(z.min(9 - z));
        u8::try_from((depth / 2).min(2)).expect("small")
    };
    let plain: VoxelNodes<f32> = volume([12, 10, 10], &layers, |_| true, of);
    let colours = [
        [250, 220, 190, 255],
        [240, 210, 90, 255],
        [150, 30, 40, 255],
    ];
    let materials = colours.map(|colour| VoxelMaterial {
        colour,
        ..material(BondLimits::MEDIUM)
    });
    let seeds: Vec<NodeSeed> = (0..plain.slots())
        .map(|node| NodeSeed {
            site: plain.site(node),
            material: plain.material(node),
            object: 0,
        })
        .collect();
    let mut nodes =
        VoxelNodes::<f32>::new(*plain.frame(), materials.to_vec(), &seeds).expect("fit");
    let mut editor = TopologyEditor::new(&mut nodes, 10_000);
    let visible_colours = |editor: &TopologyEditor, nodes: &VoxelNodes<f32>| -> BTreeSet<[u8; 4]> {
        let vertices = editor.derived.surface.vertices().iter();
        vertices.map(|&e| nodes.colour(e)).collect()
    };
    assert_eq!(visible_colours(&editor, &nodes).len(), 1);
    let edge = |z| BladeEdge([Vec3::new(5.5, -9.0, z), Vec3::new(5.5, 30.0, z)]);
    let sweep = BladeMotion {
        before: edge(30.0),
        after: edge(-9.0),
    };
    assert_eq!(editor.cut(&mut nodes, &sweep, f64::INFINITY).links, 100);
    assert_eq!(visible_colours(&editor, &nodes).len(), 3);
    // every node of the two new faces is a corner of triangles, in the colour of its layer
    let corners: BTreeSet<u32> = editor
        .derived
        .surface
        .faces()
        .iter()
        .flatten()
        .copied()
        .collect();
    for y in 0..10 {
        for z in 0..10 {
            for x in [5, 6] {
                let node = nodes.at_site([x, y, z]).expect("there");
                let at = editor
                    .derived
                    .surface
                    .vertices()
                    .iter()
                    .position(|&e| e == node);
                let at = u32::try_from(at.expect("on the surface")).expect("small");
                assert!(corners.contains(&at));
                let layer = usize::from(of([x, y, z]));
                assert_eq!(nodes.colour(node), colours[layer]);
            }
        }
    }
}

/// The view has triangles whose corners are at its nodes, also after a cut and a restored snapshot.
#[test]
fn rn_02_view_contains_the_surface() {
    let mut tissue = slab([12, 11, 8], vec![material(BondLimits::MEDIUM)], |_| 0);
    let before = palpate_twin::Snapshot::of(&tissue);
    let check_view = |tissue: &crate::VoxelModel| {
        let view = tissue.view();
        assert_eq!(view.positions_m.len(), tissue.surface().vertices().len());
        assert_eq!(view.rest_m.len(), view.positions_m.len());
        for (at, &node) in tissue.surface().vertices().iter().enumerate() {
            assert_eq!(view.positions_m[at], tissue.nodes().position_m(node));
            assert_eq!(view.rest_m[at], tissue.nodes().rest_m(node));
        }
        assert_eq!(odd_edge(tissue.surface()), None);
        assert_fresh(tissue.surface(), tissue.nodes());
        view.faces.len()
    };
    let expected = check_view(&tissue);
    assert_eq!(expected, 4 * (11 * 10 + 11 * 7 + 10 * 7));
    let cut = Edit::Cut {
        point_m: Vec3::zeros(),
        normal: Vec3::new(1.0, 0.3, 0.2),
    };
    tissue.edit(&cut).expect("can");
    assert_ne!(check_view(&tissue), expected);
    tissue.restore(&before).expect("its own");
    assert_eq!(check_view(&tissue), expected);
}
