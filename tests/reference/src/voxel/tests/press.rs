//! Tests of the session tissue's contact force against the direct solve.

use crate::voxel::equilibrium::{link_force_n, solve_equilibrium};
use crate::voxel::test_volumes::{ball, material, slab};
use palpate_twin::{Reaction, Tissue, Vec3};
use palpate_voxel::VoxelModel;
use palpate_voxel::chainmail::NodeTarget;
use palpate_voxel::limits::BondLimits;
use palpate_voxel::material::VoxelMaterial;

/// Steps with a tool whose lowest point is at a depth \[m\].
fn press_for(tissue: &mut VoxelModel, depth_m: f64, ticks: usize) -> Reaction {
    let mut reactions = [Reaction::default()];
    let tool = ball(Vec3::new(0.0, 0.0, 5e-3 - depth_m), 5e-3);
    for _ in 0..ticks {
        tissue.step(&[tool], 1e-3, &mut reactions);
    }
    reactions[0]
}

/// Row FU-08 in small, section 3.4.2: passes in single precision converge to the solve in double, also with a stiff
/// inclusion.
#[test]
fn df_07_held_press_converges_to_the_solve() {
    let stiff = VoxelMaterial {
        modulus_pa: 10.0 * material(BondLimits::LOOSE).modulus_pa,
        ..material(BondLimits::LOOSE)
    };
    let of = |[x, y, z]: [i32; 3]| u8::from((8..13).contains(&x) && (8..13).contains(&y) && z > 4);
    let mut forces = Vec::new();
    for inclusion in [false, true] {
        let materials = vec![material(BondLimits::LOOSE), stiff.clone()];
        let mut tissue = slab([21, 21, 12], materials, |site| {
            if inclusion { of(site) } else { 0 }
        });
        let depth_m = 1e-3;
        let reactions = press_for(&mut tissue, depth_m, 800).force_n.z;
        let mut solved = tissue.nodes().clone();
        let centre = Vec3::new(0.0, 0.0, 5e-3 - depth_m);
        let targets: Vec<_> = (0..solved.slots())
            .filter(|&e| (solved.position_m(e) - centre).norm() < 5e-3)
            .map(|node| NodeTarget {
                node,
                displacement_m: solved.displacement_m(node),
            })
            .collect();
        assert!(solve_equilibrium(&mut solved, &targets, 1e-9, 1000).residual <= 1e-9);
        let pushed: f64 = targets
            .iter()
            .map(|c| link_force_n(&solved, c.node).z)
            .sum();
        assert!(
            (reactions / pushed - 1.0).abs() < 0.01,
            "{reactions} {pushed}"
        );
        forces.push(reactions);
    }
    assert!(forces[1] > 1.2 * forces[0], "{forces:?}");
}
