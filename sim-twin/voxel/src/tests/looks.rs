//! The surface: its counts, that it is closed, that it is kept up with edits, and its colours.

use std::collections::{BTreeMap, BTreeSet};

use super::press::slab;
use super::{Draw, SHAPES, block, matter, volume};
use crate::carve::Scoop;
use crate::elements::Elements;
use crate::knife::{Blade, Sweep};
use crate::limits::Limits;
use crate::surface::Surface;
use crate::surgery::Surgery;
use palpate_twin::Vec3;
use palpate_twin::law::Real;
use palpate_twin::{Edit, Tissue};

/// The triangles as elements, each begun at its lowest, in order.
pub(super) fn triangles(surface: &Surface) -> Vec<[u32; 3]> {
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

/// The first edge that belongs to an odd number of triangles, if there is one.
pub(super) fn odd_edge(surface: &Surface) -> Option<(u32, u32)> {
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

/// Asserts that a surface is what would be made anew.
pub(super) fn assert_fresh<R: Real>(surface: &Surface, links: &Elements<R>) {
    let fresh = Surface::new(links);
    assert_eq!(triangles(surface), triangles(&fresh));
    let mut vertices = [surface, &fresh].map(|s| s.vertices().to_vec());
    vertices.iter_mut().for_each(|v| v.sort_unstable());
    assert_eq!(vertices[0], vertices[1]);
}

/// Six times the volume inside.
fn volume6(surface: &Surface, elements: &Elements<f32>) -> f64 {
    let at = |corner: u32| elements.at_m(surface.vertices()[corner as usize]);
    let faces = surface.faces().iter();
    faces
        .map(|&[a, b, c]| at(a).dot(&at(b).cross(&at(c))))
        .sum()
}

/// Row RN-02: the counts of section 2.1 for blocks, closed and facing out.
#[test]
fn rn_02_a_block_has_the_surface_of_a_block() {
    for (n, v, e, f) in [
        (20, 2168, 6498, 4332),
        (30, 5048, 15138, 10092),
        (40, 9128, 27378, 18252),
    ] {
        let elements: Elements<f32> = block([n; 3], Limits::MEDIUM);
        let surface = Surface::new(&elements);
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
        let inside = volume6(&surface, &elements) / 6.0;
        assert!((inside - f64::from(n - 1).powi(3)).abs() < 1e-6 * inside);
    }
}

/// Row RN-02: every shape is closed and its triangles hold the cells that are whole.
#[test]
fn rn_02_every_shape_is_closed() {
    for (name, is_in) in SHAPES {
        let elements: Elements<f32> = volume([16, 12, 8], &[Limits::MEDIUM], is_in, |_| 0);
        let surface = Surface::new(&elements);
        assert_eq!(odd_edge(&surface), None, "{name}");
        let corner = |v: i32, bit: i32| v + bit;
        let whole = (0..7)
            .flat_map(|z| (0..11).flat_map(move |y| (0..15).map(move |x| [x, y, z])))
            .filter(|&[x, y, z]| {
                (0..8).all(|k| is_in([corner(x, k & 1), corner(y, k >> 1 & 1), corner(z, k >> 2)]))
            })
            .count();
        let inside = volume6(&surface, &elements) / 6.0;
        assert!(
            (inside - whole as f64).abs() < 1e-6 * inside,
            "{name}: {inside} {whole}"
        );
    }
}

/// Row RN-02: after every carve and cut all edges are shared by an even number, no triangle is stale, and only
/// what is near the edit was looked at.
#[test]
fn rn_02_the_surface_is_kept_up_with_edits() {
    let mut elements: Elements<f32> = block([14, 13, 12], Limits::MEDIUM);
    let mut surgery = Surgery::new(&mut elements, 100_000);
    let mut draw = Draw::new(9);
    for round in 0..60 {
        let before = surgery.surface().looked;
        let mut at = || {
            Vec3::new(
                draw.share() * 13.0,
                draw.share() * 12.0,
                draw.share() * 11.0,
            )
        };
        let (p, q, s) = (at(), at(), at());
        let done = match round % 3 {
            0 => surgery.carve(&mut elements, &Scoop::ball(p, p, 1.2)),
            1 => {
                let sweep = Sweep {
                    before: Blade { from_m: p, to_m: q },
                    after: Blade { from_m: s, to_m: s },
                };
                surgery.cut(&mut elements, &sweep, f64::INFINITY)
            }
            _ => {
                surgery.undo(&mut elements);
                surgery.join(&mut elements, p, 2.0)
            }
        };
        let looked = surgery.surface().looked - before;
        if round % 3 < 2 {
            let ends = surgery.ends().len() as u64;
            assert!(looked <= 27 * ends, "{looked} {ends} {done:?}");
        }
        assert_eq!(odd_edge(surgery.surface()), None, "round {round}");
        assert_fresh(surgery.surface(), &elements);
    }
}

/// Section 3.6: a sheet one element thick is seen from both sides; a row of elements is points without
/// triangles.
#[test]
fn thin_sheets_have_two_sides() {
    let sheet: Elements<f32> = block([6, 5, 1], Limits::MEDIUM);
    let surface = Surface::new(&sheet);
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
    let row: Elements<f32> = block([6, 1, 1], Limits::MEDIUM);
    let surface = Surface::new(&row);
    assert_eq!((surface.vertices().len(), surface.faces().len()), (6, 0));
}

/// Row RN-03: where a layered block is cut open, the new faces have the colours of the layers that they
/// show, which were seen nowhere before.
#[test]
fn rn_03_cut_faces_show_what_was_inside() {
    let layers = [Limits::MEDIUM; 3];
    // the middle layer is wrapped in the outer ones on all sides
    let of = |[x, y, z]: [i32; 3]| {
        let depth = x.min(11 - x).min(y.min(9 - y)).min(z.min(9 - z));
        u8::try_from((depth / 2).min(2)).expect("small")
    };
    let mut elements: Elements<f32> = volume([12, 10, 10], &layers, |_| true, of);
    let colours = [
        [250, 220, 190, 255],
        [240, 210, 90, 255],
        [150, 30, 40, 255],
    ];
    for element in 0..elements.slots() {
        let matter = usize::from(elements.matter(element));
        elements.colour[element as usize] = colours[matter];
    }
    let mut surgery = Surgery::new(&mut elements, 10_000);
    let seen = |surgery: &Surgery, elements: &Elements<f32>| -> BTreeSet<[u8; 4]> {
        let vertices = surgery.surface().vertices().iter();
        vertices.map(|&e| elements.colour(e)).collect()
    };
    assert_eq!(seen(&surgery, &elements).len(), 1);
    let edge = |z| Blade {
        from_m: Vec3::new(5.5, -9.0, z),
        to_m: Vec3::new(5.5, 30.0, z),
    };
    let sweep = Sweep {
        before: edge(30.0),
        after: edge(-9.0),
    };
    assert_eq!(surgery.cut(&mut elements, &sweep, f64::INFINITY).links, 100);
    assert_eq!(seen(&surgery, &elements).len(), 3);
    // every element of the two new faces is a corner of triangles, in the colour of its layer
    let corners: BTreeSet<u32> = surgery
        .surface()
        .faces()
        .iter()
        .flatten()
        .copied()
        .collect();
    for y in 0..10 {
        for z in 0..10 {
            for x in [5, 6] {
                let element = elements.at_site([x, y, z]).expect("there");
                let at = surgery
                    .surface()
                    .vertices()
                    .iter()
                    .position(|&e| e == element);
                let at = u32::try_from(at.expect("on the surface")).expect("small");
                assert!(corners.contains(&at));
                let layer = usize::from(of([x, y, z]));
                assert_eq!(elements.colour(element), colours[layer]);
            }
        }
    }
}

/// The tissue shows triangles whose corners are where its elements are, also after a cut and a thaw.
#[test]
fn rn_02_a_tissue_shows_its_surface() {
    let mut tissue = slab([12, 11, 8], vec![matter(Limits::MEDIUM)], |_| 0);
    let before = palpate_twin::Snapshot::of(&tissue);
    let shown = |tissue: &crate::Linked| {
        let view = tissue.view();
        assert_eq!(view.positions_m.len(), tissue.surface().vertices().len());
        assert_eq!(view.rest_m.len(), view.positions_m.len());
        for (at, &element) in tissue.surface().vertices().iter().enumerate() {
            assert_eq!(view.positions_m[at], tissue.elements().at_m(element));
            assert_eq!(view.rest_m[at], tissue.elements().rest_m(element));
        }
        assert_eq!(odd_edge(tissue.surface()), None);
        assert_fresh(tissue.surface(), tissue.elements());
        view.faces.len()
    };
    let whole = shown(&tissue);
    assert_eq!(whole, 4 * (11 * 10 + 11 * 7 + 10 * 7));
    let cut = Edit::Cut {
        point_m: Vec3::zeros(),
        normal: Vec3::new(1.0, 0.3, 0.2),
    };
    tissue.edit(&cut).expect("can");
    assert_ne!(shown(&tissue), whole);
    tissue.thaw(&before).expect("its own");
    assert_eq!(shown(&tissue), whole);
}
