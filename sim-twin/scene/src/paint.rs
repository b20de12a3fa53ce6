//! The surface of a linked volume as it is, in the colours of its elements, for other programs.
//!
//! Source: seed-001 rows RN-02 and RN-03. A node is an element, so what a cut lays bare has the colours of what it
//! laid bare.

use palpate_geometry::mesh::Painted;
use palpate_voxel::elements::Elements;
use palpate_voxel::surface::Surface;

/// The surface of a volume where its elements are, with their colours and materials; elements without a triangle are
/// left out.
#[must_use]
pub fn painted(volume: &Elements<f32>, surface: &Surface) -> Painted {
    let mut number = vec![u32::MAX; surface.vertices().len()];
    let mut painted = Painted::default();
    let mut faces = Vec::with_capacity(surface.faces().len());
    for face in surface.faces() {
        faces.push(face.map(|corner| {
            let place = &mut number[corner as usize];
            if *place == u32::MAX {
                // no more nodes than elements
                *place = u32::try_from(painted.colours.len()).unwrap_or(u32::MAX);
                let element = surface.vertices()[corner as usize];
                let [red, green, blue, _] = volume.colour(element);
                painted.surface.nodes_m.push(volume.at_m(element));
                painted.colours.push([red, green, blue]);
                painted
                    .materials
                    .push(u32::from(volume.matter(element)) + 1);
            }
            *place
        }));
    }
    painted.surface.faces = faces;
    painted
}

/// Takes away all elements that rest beyond a plane, so that its inside is seen: those farther along `axis` than
/// `most_m` \[m\]. How many.
pub fn clip(volume: &mut Elements<f32>, axis: usize, most_m: f64) -> usize {
    let beyond = |volume: &Elements<f32>, element| volume.rest_m(element)[axis] > most_m;
    let all = 0..volume.slots();
    let gone: Vec<u32> = all.filter(|&element| beyond(volume, element)).collect();
    gone.into_iter()
        .filter(|&element| volume.carve(element))
        .count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Body, load};
    use palpate_geometry::volume::phantom;
    use palpate_geometry::volume::phantom::Phantom;
    use palpate_geometry::volume::sample;
    use palpate_twin::Vec3;

    /// Row RN-03: what a cut through the limb lays bare has the colours of the layers there, as the phantom's own
    /// voxels tell; and row RN-02: the surface stays closed and is kept up with the cut.
    #[test]
    fn rn_03_a_cut_through_the_limb_shows_its_layers() {
        let Body::Voxels(body) = load("limb").expect("built in").body else {
            panic!("of voxels");
        };
        let mut volume = body.volume().expect("fits");
        let mut surface = Surface::new(&volume);
        let whole = painted(&volume, &surface);
        let phantom = Phantom {
            spacing_m: 0.002,
            ..Phantom::default()
        };
        let truth = phantom.labels().expect("fits");
        let colour_at = |at_m: &Vec3| {
            // the highest element is at z = 0, the middle of its voxel 1 mm below the ridge
            let from_m = at_m - Vec3::new(0.0, 0.0, 1e-3) - truth.grid.origin_m;
            let index: [f64; 3] = std::array::from_fn(|axis| from_m[axis] / 2e-3);
            let label = sample::nearest(&truth, index)?;
            let tissue = body.tissues.iter().find(|tissue| tissue.label == label)?;
            let [red, green, blue, _] = tissue.matter.colour;
            Some([red, green, blue])
        };
        let bone = |painted: &Painted| painted.materials.contains(&u32::from(phantom::BONE));
        let ends = |at_m: &Vec3| at_m.x.abs() > 0.033;
        let inside = |painted: &Painted| {
            let nodes = painted.surface.nodes_m.iter().zip(&painted.materials);
            let deep = |(at_m, material): &(&Vec3, &u32)| {
                !ends(at_m) && **material == u32::from(phantom::MUSCLE)
            };
            nodes.filter(deep).count()
        };
        assert_eq!(inside(&whole), 0, "skin and fat hide the muscle");
        for element in 0..volume.slots() {
            if volume.rest_m(element).y > 0.0005 {
                surface.touch(&volume, element);
            }
        }
        assert!(clip(&mut volume, 1, 0.0005) > 10_000);
        surface.update(&volume);
        let cut = painted(&volume, &surface);
        let fresh = painted(&volume, &Surface::new(&volume));
        assert_eq!(cut.surface.faces.len(), fresh.surface.faces.len());
        assert!(bone(&cut) && inside(&cut) > 300, "{}", inside(&cut));
        let mut edges = BTreeMap::new();
        for &[a, b, c] in &cut.surface.faces {
            for (a, b) in [(a, b), (b, c), (c, a)] {
                *edges.entry((a.min(b), a.max(b))).or_insert(0) += 1;
            }
        }
        assert!(edges.values().all(|count| count % 2 == 0));
        let nodes = cut.surface.nodes_m.iter().zip(&cut.colours);
        let on_cut: Vec<_> = nodes.filter(|(at_m, _)| at_m.y > -1.5e-3).collect();
        assert!(on_cut.len() > 500, "{}", on_cut.len());
        for (at_m, colour) in on_cut {
            assert_eq!(colour_at(at_m), Some(*colour), "{at_m:?}");
        }
        // every node has the very colour of an element's material
        for (colour, &material) in cut.colours.iter().zip(&cut.materials) {
            let [red, green, blue, _] = body.tissues[material as usize - 1].matter.colour;
            assert_eq!(*colour, [red, green, blue]);
        }
    }
}
