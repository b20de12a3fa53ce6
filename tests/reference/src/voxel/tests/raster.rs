//! Tests of the cut as printed, with links drawn into cells.

use crate::voxel::raster::{KnifeHit, Raster, RasterCell, RasterSelection, line};
use crate::voxel::storage::VoxelStorage as _;
use crate::voxel::test_volumes::SourceLimits as _;
use crate::voxel::test_volumes::{block, volume};
use palpate_twin::edits::NeighbourDirection;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::VoxelNodes;
use palpate_voxel::piece_search::PieceSearch;

/// Returns nodes along x at a distance of three cells, in rows of `size`.
fn stretched(size: [i32; 3]) -> VoxelNodes<f64> {
    let mut nodes = volume(size, &[BondLimits::LOOSE], |_| true, |_| 0);
    for node in 0..nodes.slots() {
        let site = nodes.site(node).map(f64::from);
        nodes
            .set_displacement_m(node, site.map(|x| 2.0 * x))
            .expect("there");
    }
    nodes
}

/// Row TP-03: every cell of the line between two nodes that are three cells apart refers to their link, and a knife
/// between them cuts it.
#[test]
fn tp_03_cells_between_neighbours_refer_to_their_link() {
    let mut nodes = stretched([2, 2, 1]);
    let raster = Raster::new(&nodes, 1.0, RasterSelection::All);
    assert_eq!(raster.written(), 8);
    for (a, to) in [(0, NeighbourDirection::Right), (0, NeighbourDirection::Top)] {
        let b = nodes.neighbour(a, to).expect("linked");
        let cells = line(
            raster.cell_of(&nodes.position_m(a)),
            raster.cell_of(&nodes.position_m(b)),
        );
        assert_eq!(cells.len(), 4);
        for &cell in &cells[1..3] {
            assert_eq!(raster.cell(cell), Some(&RasterCell::Links(vec![(a, to)])));
        }
        assert_eq!(raster.cell(cells[0]), Some(&RasterCell::Node(a)));
    }
    let slanted = line([0, 0, 0], [7, -3, 2]);
    assert_eq!((slanted.len(), slanted[7]), (8, [7, -3, 2]));
    assert!(
        slanted
            .windows(2)
            .all(|pair| (0..3).all(|a| (pair[0][a] - pair[1][a]).abs() <= 1))
    );
    let mut raster = raster;
    let mut hits = Vec::new();
    raster.cut_path(&mut nodes, &line([1, -3, 0], [1, 6, 0]), |nodes, hit| {
        hits.push(hit);
        if let KnifeHit::Link(node, to) = hit {
            nodes.cut(node, to);
        }
    });
    assert_eq!(hits.len(), 2);
    assert_eq!((nodes.link_count(), nodes.count()), (2, 4));
    // at rest neighbours are adjacent cells: the printed knife removes a layer of nodes
    let mut packed: VoxelNodes<f64> = block([5, 5, 1], BondLimits::MEDIUM);
    let mut raster = Raster::new(&packed, 1.0, RasterSelection::All);
    assert_eq!(raster.written(), 0);
    raster.cut_path(&mut packed, &line([2, -1, 0], [2, 6, 0]), |nodes, hit| {
        if let KnifeHit::Node(node) = hit {
            nodes.carve(node);
        }
    });
    assert_eq!(packed.count(), 20);
}

/// Row TP-04: with the links of the surface and those that cuts expose, a knife from outside makes the same cuts. The
/// written cells grow with the surface.
#[test]
fn tp_04_surface_links_suffice_for_a_knife_from_outside() {
    let mut written = Vec::new();
    for n in [5_i32, 10] {
        let mut path = Vec::new();
        let far = 3 * n;
        for z in (-2..=far).rev() {
            path.extend(line([4, -2, z], [5, far, z]));
        }
        let mut results = Vec::new();
        for selection in [RasterSelection::All, RasterSelection::Surface] {
            let mut nodes = stretched([n, n, n]);
            let mut raster = Raster::new(&nodes, 1.0, selection);
            written.push(raster.written());
            raster.cut_path(&mut nodes, &path, |nodes, hit| match hit {
                KnifeHit::Node(node) => drop(nodes.carve(node)),
                KnifeHit::Link(node, to) => drop(nodes.cut(node, to)),
            });
            let mut walk = PieceSearch::new(nodes.slots());
            assert!(walk.piece(&nodes, 0).len() < nodes.count());
            results.push(nodes);
        }
        assert!(results[0] == results[1]);
    }
    let [all_5, skin_5, all_10, skin_10] = written[..] else {
        panic!("four")
    };
    assert_eq!((all_5, all_10), (2 * 3 * 25 * 4, 2 * 3 * 100 * 9));
    assert!(skin_10 < all_10 && skin_10 < 6 * skin_5, "{written:?}");
    let ratio = skin_10 as f64 / skin_5 as f64;
    assert!((3.5..5.5).contains(&ratio), "{written:?}");
}
