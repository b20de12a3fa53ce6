//! Tests of nodes dragged through a volume (row DF-13), and of the nodes visited (DF-14).

use crate::voxel::drag::DraggedVolume;
use crate::voxel::printed_chainmail::{CandidateRule, PrintedChainmail};
use crate::voxel::propagation::PropagationMethod;
use crate::voxel::test_volumes::{
    LimitCheck as _, SourceLimits as _, TestRng, block, pin_ground, volume,
};
use palpate_twin::edits::NeighbourDirection;
use palpate_voxel::chainmail::NodeTarget;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::VoxelNodes;

/// Energy of all links \[J\].
fn stored_j(nodes: &VoxelNodes<f32>) -> f64 {
    let all = (0..nodes.slots()).flat_map(|e| NeighbourDirection::POSITIVE.map(|to| (e, to)));
    let of = |(node, to): (u32, NeighbourDirection)| {
        let other = nodes.neighbour(node, to)?;
        let (own, beside) = (nodes.displacement_m(node), nodes.displacement_m(other));
        let apart2: f32 = own.iter().zip(beside).map(|(a, b)| (b - a) * (b - a)).sum();
        let stiffness_npm = nodes.stiffness_npm(node, other, to.axis());
        Some(0.5 * f64::from(stiffness_npm) * f64::from(apart2))
    };
    all.filter_map(of).sum()
}

/// Row DF-13: a node is dragged; all limits are kept, and once released it returns to rest. The updates per second
/// are in `cargo bench -p palpate-reference`.
#[test]
fn df_13_dragged_node_moves_the_rest() {
    let mut nodes: VoxelNodes<f32> = block([20; 3], BondLimits::MEDIUM);
    pin_ground(&mut nodes);
    let node = nodes.at_site([10, 10, 19]).expect("there");
    let beside = nodes.at_site([10, 10, 18]).expect("there");
    let mut drag = DraggedVolume::new(nodes, PropagationMethod::Chainmail).expect("fixed");
    let mut rng = TestRng::new(4);
    let (mut at_m, mut farthest_m) = ([0.0_f32; 3], 0.0_f32);
    for _ in 0..200 {
        at_m = at_m.map(|x| (x + rng.symmetric(1.0) as f32).clamp(-3.0, 3.0));
        let moved = drag.move_to(&[NodeTarget {
            node,
            displacement_m: at_m,
        }]);
        assert!(moved.expect("gives way").considered > 0);
        assert_eq!(drag.nodes().displacement_m(node), at_m);
        assert!(drag.nodes().limit_excess_m() <= 1e-5);
        farthest_m = farthest_m.max(drag.nodes().displacement_m(beside)[2].abs());
    }
    let before_j = stored_j(drag.nodes());
    assert!(farthest_m > 1.0 && before_j > 0.0);
    for _ in 0..600 {
        drag.move_to(&[]).expect("nobody holds");
    }
    let after_j = stored_j(drag.nodes());
    assert!(after_j < 0.01 * before_j, "{before_j} {after_j}");
    // a pinned node does not move, and nothing else moved
    let at_m = drag.nodes().displacement_m(node);
    let far = NodeTarget {
        node,
        displacement_m: [0.0, 0.0, 30.0],
    };
    assert!(drag.move_to(&[far]).is_err());
    assert_eq!(drag.nodes().displacement_m(node), at_m);
}

/// Row DF-14 in counts, independent of the machine: a move visits all of a rigid sheet, and a smaller share of a
/// loose one the larger it is. Times are in `cargo bench -p palpate-reference`.
#[test]
fn df_14_rigid_sheet_is_visited_whole_and_loose_one_in_part() {
    let considered = |limits: BondLimits, edge: i32| {
        let mut sheet: VoxelNodes<f32> = volume([edge, edge, 1], &[limits], |_| true, |_| 0);
        let node = sheet.at_site([edge / 2, edge / 2, 0]).expect("there");
        let mut chain = PrintedChainmail::new(sheet.slots(), CandidateRule::Box);
        let mut visited = Vec::new();
        for nth in 1..=40 {
            // out along x and back along y, in steps of half a link
            let distance = 0.5 * nth as f32;
            let to_m = [distance.min(10.0), (distance - 10.0).max(0.0), 0.0];
            let moved = chain.propagate(
                &mut sheet,
                &[NodeTarget {
                    node,
                    displacement_m: to_m,
                }],
            );
            visited.push(moved.expect("nothing is held").considered);
        }
        visited
    };
    for edge in [10, 50, 100] {
        let all = (edge * edge - 1) as usize;
        assert!(
            considered(BondLimits::RIGID, edge)
                .iter()
                .all(|&visited| visited == all)
        );
    }
    let [small, large] =
        [50, 100].map(|edge| considered(BondLimits::LOOSE, edge).iter().sum::<usize>());
    assert!(
        small > 0 && large < 2 * small,
        "{small} {large}: four times the nodes"
    );
}
