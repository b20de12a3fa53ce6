//! Surface of a voxel model in the colours of its nodes, for other programs.
//!
//! Source: seed-001 rows RN-02 and RN-03. A surface node is a node of the model, so an exposed face of a cut has the
//! colours of the exposed nodes.

use palpate_geometry::mesh::ColouredMesh;
use palpate_voxel::nodes::VoxelNodes;
use palpate_voxel::surface::VoxelSurface;

/// Surface of a voxel model at the present positions of its nodes, with their colours and materials; nodes without a
/// triangle are left out.
#[must_use]
pub fn coloured_surface(volume: &VoxelNodes<f32>, surface: &VoxelSurface) -> ColouredMesh {
    let mut number = vec![u32::MAX; surface.vertices().len()];
    let mut coloured = ColouredMesh::default();
    for face in surface.faces() {
        let face = face.map(|corner| {
            let place = &mut number[corner as usize];
            if *place == u32::MAX {
                // no more surface nodes than nodes
                *place = u32::try_from(coloured.colours.len()).unwrap_or(u32::MAX);
                let node = surface.vertices()[corner as usize];
                let [red, green, blue, _] = volume.colour(node);
                coloured.mesh.nodes_m.push(volume.position_m(node));
                coloured.colours.push([red, green, blue]);
                let number = u32::from(volume.material(node)) + 1;
                coloured.materials.push(number);
            }
            *place
        });
        coloured.mesh.triangles.push(face, 0);
    }
    coloured
}

/// Removes all nodes whose rest position along `axis` is beyond `most_m` \[m\], to expose the inside. Returns their
/// number.
pub fn clip(volume: &mut VoxelNodes<f32>, axis: usize, most_m: f64) -> usize {
    let beyond = |volume: &VoxelNodes<f32>, node| volume.rest_m(node)[axis] > most_m;
    let all = 0..volume.slots();
    let removed: Vec<u32> = all.filter(|&node| beyond(volume, node)).collect();
    removed
        .into_iter()
        .filter(|&node| volume.carve(node))
        .count()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{SceneBody, load};
    use palpate_geometry::volume::phantom::LimbPhantom;
    use palpate_geometry::volume::sample;
    use palpate_twin::Vec3;

    /// Labels of the phantom.
    const MUSCLE: u32 = 3;
    const BONE: u32 = 4;

    /// Row RN-03: a cut through the limb exposes the colours of the layers there, by the phantom's own
    /// voxels; row RN-02: the surface stays closed and follows the cut.
    #[test]
    fn rn_03_a_cut_through_the_limb_shows_its_layers() {
        let SceneBody::VoxelBody(body) = load("limb").expect("built in").body else {
            panic!("of voxels");
        };
        let mut volume = body.volume().expect("fits");
        let mut surface = VoxelSurface::new(&volume);
        let whole = coloured_surface(&volume, &surface);
        let phantom = LimbPhantom {
            spacing_m: 0.002,
            ..LimbPhantom::default()
        };
        let truth = phantom.labels().expect("fits");
        let colour_at = |at_m: &Vec3| {
            // the highest node is at z = 0, the centre of its voxel 1 mm below the ridge
            let from_m = at_m - Vec3::new(0.0, 0.0, 1e-3) - truth.grid.origin_m;
            let index: [f64; 3] = std::array::from_fn(|axis| from_m[axis] / 2e-3);
            let label = sample::nearest(&truth, index)?;
            let tissue = body.tissues.iter().find(|tissue| tissue.label == label)?;
            let [red, green, blue, _] = tissue.material.colour;
            Some([red, green, blue])
        };
        let bone = |coloured: &ColouredMesh| coloured.materials.contains(&BONE);
        let ends = |at_m: &Vec3| at_m.x.abs() > 0.033;
        let inside = |coloured: &ColouredMesh| {
            let nodes = coloured.mesh.nodes_m.iter().zip(&coloured.materials);
            let deep = |(at_m, material): &(&Vec3, &u32)| !ends(at_m) && **material == MUSCLE;
            nodes.filter(deep).count()
        };
        assert_eq!(inside(&whole), 0, "skin and fat hide the muscle");
        for node in 0..volume.slots() {
            if volume.rest_m(node).y > 0.0005 {
                surface.mark_changed(&volume, node);
            }
        }
        assert!(clip(&mut volume, 1, 0.0005) > 10_000);
        surface.update(&volume);
        let cut = coloured_surface(&volume, &surface);
        let fresh = coloured_surface(&volume, &VoxelSurface::new(&volume));
        assert_eq!(cut.mesh.triangles.len(), fresh.mesh.triangles.len());
        assert!(bone(&cut) && inside(&cut) > 300, "{}", inside(&cut));
        let mut edges = BTreeMap::new();
        for &[a, b, c] in &cut.mesh.triangles.nodes {
            for (a, b) in [(a, b), (b, c), (c, a)] {
                *edges.entry((a.min(b), a.max(b))).or_insert(0) += 1;
            }
        }
        assert!(edges.values().all(|count| count % 2 == 0));
        let nodes = cut.mesh.nodes_m.iter().zip(&cut.colours);
        let on_cut: Vec<_> = nodes.filter(|(at_m, _)| at_m.y > -1.5e-3).collect();
        assert!(on_cut.len() > 500, "{}", on_cut.len());
        for (at_m, colour) in on_cut {
            assert_eq!(colour_at(at_m), Some(*colour), "{at_m:?}");
        }
        // every node has the colour of a material
        for (colour, &material) in cut.colours.iter().zip(&cut.materials) {
            let [red, green, blue, _] = body.tissues[material as usize - 1].material.colour;
            assert_eq!(*colour, [red, green, blue]);
        }
    }
}
