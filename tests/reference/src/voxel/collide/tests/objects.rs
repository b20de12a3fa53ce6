//! Tests of pieces as bodies of a map (row LV-06).

use crate::voxel::collide::collision_grid::CollisionGrid;
use crate::voxel::collide::map_nodes;
use crate::voxel::collide::occupancy::{CellHit, MapMoveRule, OccupancyMap};
use crate::voxel::test_volumes::TestRng;
use palpate_twin::{Edit, Tissue as _, Vec3};
use palpate_voxel::material::VoxelMaterial;
use palpate_voxel::nodes::{LatticeFrame, NodeSeed, VoxelNodes};
use palpate_voxel::piece_search::PieceSearch;
use palpate_voxel::{VoxelModel, VoxelParams};

/// Returns pairs of objects that meet if each moves one cell to the right, by the ids of their nodes; every object is
/// a body.
fn hits(nodes: &VoxelNodes<f32>) -> std::collections::BTreeSet<(u32, u32)> {
    let grid = CollisionGrid::new(Vec3::repeat(-9.5), 1.0, [32; 3]).expect("small");
    let mut map = OccupancyMap::hashed(grid);
    let mut bodies = std::collections::BTreeMap::new();
    for node in map_nodes::all(nodes) {
        let of: &mut Vec<u32> = bodies.entry(nodes.object(node)).or_default();
        of.push(node);
    }
    let mut ids = Vec::new();
    for (&object, members) in &bodies {
        map.add(&map_nodes::placed(nodes, members)).expect("inside");
        ids.push(object);
    }
    let (mut found, mut own) = (std::collections::BTreeSet::new(), 0);
    for body in 0..u32::try_from(ids.len()).expect("few") {
        let mut copy = map.clone();
        let message = |hit: CellHit| {
            let [mover, other] = [hit.mover, hit.other].map(|who| nodes.object(who.node));
            assert_eq!(mover, ids[hit.mover.body as usize]);
            assert_eq!(other, ids[hit.other.body as usize]);
            own += usize::from(mover == other);
            found.insert((mover, other));
        };
        let right = Vec3::x();
        copy.try_move(body, MapMoveRule::Detect, |_, at_m| at_m + right, message)
            .expect("inside");
    }
    assert_eq!(own, 0, "a body does not hit itself");
    found
}

/// Row LV-06: two touching objects report hits of each other only, by node ids. After splits and joins every piece
/// has a unique id, and hits refer to these.
#[test]
fn lv_06_touching_objects_hit_each_other_and_ids_stay_unique() {
    let frame = LatticeFrame {
        origin_m: Vec3::zeros(),
        spacing_m: [1.0; 3],
    };
    let seeds: Vec<NodeSeed> = (0..6 * 4 * 4)
        .map(|nth| [nth % 6, nth / 6 % 4, nth / 24])
        .map(|site| NodeSeed {
            site,
            material: 0,
            object: 4 + u32::from(site[0] >= 3) * 3,
        })
        .collect();
    let materials = vec![VoxelMaterial::of_young("test", 2e3, 0.0)];
    let nodes = VoxelNodes::<f32>::new(frame, materials, &seeds).expect("fit");
    let mut tissue = VoxelModel::new(nodes, VoxelParams::default()).expect("fit");
    assert_eq!(hits(tissue.nodes()), [(4, 7)].into());
    // the left one is split, and its parts get unused ids
    let mut rng = TestRng::new(5);
    let mut most = 0;
    for round in 0..60 {
        let edit = match rng.below(4) {
            0 | 1 => Edit::Cut {
                point_m: Vec3::x() * [0.3, 1.3, 3.3, 4.3][rng.below(4) as usize],
                normal: Vec3::x(),
            },
            2 => Edit::Undo,
            _ => Edit::Redo,
        };
        tissue.edit(&edit).expect("can");
        let nodes = tissue.nodes();
        let mut walk = PieceSearch::new(nodes.slots());
        let mut of_object = std::collections::BTreeMap::new();
        for node in 0..nodes.slots() {
            let first = walk.piece(nodes, node).iter().min().copied();
            let piece = *of_object.entry(nodes.object(node)).or_insert(first);
            assert_eq!(piece, first, "round {round}: one id, one piece");
        }
        let pieces: std::collections::BTreeSet<_> = of_object.values().collect();
        assert_eq!(
            pieces.len(),
            of_object.len(),
            "round {round}: one piece, one id"
        );
        most = most.max(pieces.len());
        let found = hits(nodes);
        // slices in a row: each but the last hits the next
        assert_eq!(found.len(), pieces.len() - 1, "round {round}: {found:?}");
    }
    assert!(most > 3, "{most}");
}
