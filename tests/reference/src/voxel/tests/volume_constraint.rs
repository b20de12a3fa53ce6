//! Tests of the volume constraint and its side effects.

use crate::voxel::relaxation::{Relaxation, RelaxationParams};
use crate::voxel::test_volumes::{LimitCheck as _, SourceLimits as _};
use crate::voxel::test_volumes::{block, volume};
use crate::voxel::volume_constraint::VolumeConstraint;
use palpate_voxel::chainmail::{Chainmail, NodeTarget};
use palpate_voxel::limits::BondLimits;
use palpate_voxel::nodes::VoxelNodes;

/// Returns the volume over that at rest, after a plate pressed a block on pinned ground, relaxed with or without the
/// constraint.
fn pressed(depth: f64, keeps: bool) -> (f64, VoxelNodes<f64>) {
    let mut nodes: VoxelNodes<f64> = block([12, 12, 8], BondLimits::LOOSE);
    for node in 0..nodes.slots() {
        nodes.set_pinned(node, nodes.site(node)[2] == 0);
    }
    let preserve = VolumeConstraint::new(&nodes, 1.0).expect("fit");
    assert_eq!(preserve.count(), 11 * 11 * 7);
    let rest_m3 = preserve.volume_m3(&nodes);
    assert!((rest_m3 - 11.0 * 11.0 * 7.0).abs() < 1e-9);
    let plate: Vec<u32> = (0..nodes.slots())
        .filter(|&e| {
            let [x, y, z] = nodes.site(e);
            z == 7 && (3..9).contains(&x) && (3..9).contains(&y)
        })
        .collect();
    let mut chainmail = Chainmail::new(nodes.slots());
    let mut relax = Relaxation::new(RelaxationParams::default(), &nodes).expect("fit");
    for step in 1..=20 {
        let targets: Vec<_> = plate
            .iter()
            .map(|&node| NodeTarget {
                node,
                displacement_m: [0.0, 0.0, -depth * f64::from(step) / 20.0],
            })
            .collect();
        chainmail.propagate(&mut nodes, &targets).expect("within");
        for _ in 0..10 {
            relax.pass(&mut nodes, &plate);
            for _ in 0..if keeps { 8 } else { 0 } {
                preserve.pass(&mut nodes, &plate);
            }
            assert!(nodes.limit_excess_m() <= 1e-9, "a limit is broken");
        }
    }
    (preserve.volume_m3(&nodes) / rest_m3, nodes)
}

/// Row FU-02: a pressed block keeps its volume to 2 %, better than without, and all its limits; it bulges.
#[test]
fn fu_02_pressed_block_keeps_its_volume() {
    let (without, flat) = pressed(1.5, false);
    let (with, bulged) = pressed(1.5, true);
    assert!((with - 1.0).abs() < 0.02, "{with}");
    assert!(
        (with - 1.0).abs() < 0.5 * (without - 1.0).abs(),
        "{without}"
    );
    let side = |nodes: &VoxelNodes<f64>| {
        let node = nodes.at_site([0, 6, 4]).expect("there");
        nodes.displacement_m(node)[0]
    };
    assert!(side(&bulged) < side(&flat) - 0.01, "{}", side(&bulged));
}

/// Row FU-02: rest is a fixed point, held nodes stay, and only full cells count.
#[test]
fn fu_02_rest_and_held_nodes_do_not_move() {
    let mut nodes: VoxelNodes<f64> = volume([4; 3], &[BondLimits::MEDIUM], |_| true, |_| 0);
    let before = nodes.clone();
    let preserve = VolumeConstraint::new(&nodes, 0.5).expect("fit");
    preserve.pass(&mut nodes, &[]);
    let still = (0..nodes.slots()).all(|e| {
        let displacement = nodes.displacement_m(e);
        displacement.iter().all(|x| x.abs() < 1e-14)
    });
    assert!(still && preserve.count() == 27);
    let mut nodes = before;
    let middle = nodes.at_site([1, 1, 1]).expect("there");
    nodes.displacement_m[0][middle as usize] = 0.15;
    let all: Vec<u32> = (0..nodes.slots()).collect();
    let moved = nodes.clone();
    preserve.pass(&mut nodes, &all);
    assert!(nodes == moved);
    nodes.carve(middle);
    assert_eq!(
        VolumeConstraint::new(&nodes, 0.5).expect("fit").count(),
        27 - 8
    );
    for bad in [0.0, 1.5, f64::NAN] {
        assert!(VolumeConstraint::new(&nodes, bad).is_err());
    }
}
