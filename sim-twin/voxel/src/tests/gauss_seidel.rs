//! Tests of the cost of a poke (FU-10), passes over runs against single nodes (FU-07), and view positions (RN-01).

use super::press::{ball, slab};
use super::{TestRng, material};
use crate::gauss_seidel::{pass_node, pass_runs};
use crate::limits::BondLimits;
use crate::material::VoxelMaterial;
use crate::nodes::VoxelNodes;
use crate::stencil::Stencil;
use palpate_twin::{Reaction, Tissue as _, Vec3};

/// Row FU-10: a small poke visits only the runs around it, however large the model.
#[test]
fn fu_10_cost_of_a_small_poke_is_independent_of_model_size() {
    let woken = |size: i32| {
        let mut tissue = slab([size; 3], vec![material(BondLimits::LOOSE)], |_| 0);
        let mut reactions = [Reaction::default()];
        for _ in 0..3 {
            tissue.step(&[ball(Vec3::z() * 1.7e-3, 2e-3)], 1e-3, &mut reactions);
        }
        assert!(reactions[0].contacts > 0);
        tissue.active_set.active.count()
    };
    let [small, large] = [24, 48].map(woken);
    assert!(small > 0 && large <= small + small / 4, "{small} {large}");
}

/// Row FU-07: a pass over runs equals a pass over single nodes, far from limits and with clamped steps, in uniform
/// and other runs.
#[test]
fn fu_07_pass_over_runs_equals_pass_over_nodes() {
    for (limits, most_m) in [(BondLimits::LOOSE, 1e-4), (BondLimits::MEDIUM, 0.99e-4)] {
        let stiff = VoxelMaterial {
            modulus_pa: 20.0 * material(limits).modulus_pa,
            ..material(limits)
        };
        let of = |[x, y, _]: [i32; 3]| u8::from(x > 20 && y < 5);
        let tissue = slab([45, 9, 7], vec![material(limits), stiff], of);
        let mut batched = tissue.nodes().clone();
        let mut rng = TestRng::new(11);
        for slot in 0..batched.slots() {
            if !batched.pinned(slot) {
                for moved_m in &mut batched.displacement_m {
                    moved_m[slot as usize] = rng.symmetric(most_m) as f32;
                }
            }
        }
        // a cut, and a node that a tool touches
        let cut = batched.at_site([12, 4, 3]).expect("there");
        for to in palpate_twin::edits::NeighbourDirection::ALL {
            batched.cut(cut, to);
        }
        compare_run_and_node_passes(batched);
    }
}

fn compare_run_and_node_passes(mut batched: VoxelNodes<f32>) {
    let rest = batched.clone();
    let mut stencil = Stencil::new(&batched);
    let taken = batched.at_site([30, 4, 6]).expect("there");
    stencil.gain[taken as usize] = 0.0;
    for run in 0..stencil.runs.len() {
        stencil.classify_run(&batched, run);
    }
    let uniform = (0..)
        .zip(&stencil.runs)
        .filter(|(run, _)| stencil.uniform_run(*run).is_some());
    let uniform = uniform.count();
    assert!(
        uniform > 20 && uniform < stencil.runs.len() - 20,
        "{uniform}"
    );
    let mut one_by_one = batched.clone();
    let before_m = batched.displacement_m(taken);
    let mut margin_m = vec![-1.0; stencil.runs.len()];
    for sweep in 0..6 {
        for (index, run) in (0..)
            .zip(&stencil.runs)
            .filter(|(_, run)| run.colour == sweep % 2)
        {
            let result = pass_runs(&mut batched, &stencil, &[index], 1.3, &mut margin_m);
            let (batched_j, farthest) = (result.lost_j, result.farthest_m);
            margin_m[index as usize] -= farthest[0];
            for &beside in stencil.adjacent_runs(index as usize) {
                margin_m[beside as usize] -= farthest[0];
            }
            let mut lost_j = 0.0;
            let mut farthest_m = 0.0_f32;
            for slot in run.start..run.start + run.len {
                let step = pass_node(&mut one_by_one, &stencil, slot, 1.3);
                lost_j += step.lost_j;
                farthest_m = farthest_m.max(step.farthest_m);
            }
            assert!((farthest[0] - farthest_m).abs() < 1e-9);
            assert!((batched_j - lost_j).abs() <= 1e-5 * lost_j.abs() + 1e-15);
        }
    }
    for (all, step) in batched
        .displacement_m
        .iter()
        .zip(&one_by_one.displacement_m)
    {
        assert!(all.iter().zip(step).all(|(a, b)| (a - b).abs() < 1e-9));
    }
    assert!(batched.limit_excess_m() <= rest.limit_excess_m().max(1e-10));
    assert_eq!(batched.displacement_m(taken), before_m);
    assert_ne!(batched, rest);
}

/// Row RN-01: view points are exactly the surface nodes, at their positions, although a step visits only the runs
/// that moved.
#[test]
fn rn_01_view_points_are_the_surface_nodes() {
    let mut tissue = slab([30; 3], vec![material(BondLimits::LOOSE)], |_| 0);
    assert_eq!(tissue.view().positions_m.len(), 30 * 30 * 30 - 28 * 28 * 28);
    let check_view = |tissue: &crate::VoxelModel| {
        let vertices = tissue.surface().vertices();
        let bare = |node: u32| {
            let links = palpate_twin::edits::NeighbourDirection::ALL.into_iter();
            let mut links = links.map(|to| tissue.nodes().neighbour(node, to));
            links.any(|other| other.is_none())
        };
        assert!(vertices.iter().all(|&node| bare(node)));
        let at_m = vertices.iter().map(|&node| tissue.nodes().position_m(node));
        assert!(at_m.eq(tissue.view().positions_m.iter().copied()));
    };
    let mut reactions = [Reaction::default()];
    for tick in 0..60 {
        let aside_m = 2e-4 * f64::from(tick);
        let at_m = Vec3::new(aside_m, 0.0, 4e-3 - aside_m.min(2e-3));
        tissue.step(&[ball(at_m, 4e-3)], 1e-3, &mut reactions);
        check_view(&tissue);
        if tick == 30 {
            let before = tissue.view().positions_m.len();
            let cut = palpate_twin::Edit::Cut {
                point_m: Vec3::new(0.2e-3, 0.0, 0.0),
                normal: Vec3::x(),
            };
            tissue.edit(&cut).expect("can");
            assert!(tissue.view().positions_m.len() >= before + 2 * 28 * 28);
        }
    }
    assert!(reactions[0].contacts > 0);
}

/// Row DF-07: passes end at equilibrium, and at rest without a prescribed displacement. A column of two materials
/// with a displaced top is a chain of springs in series: each half is straight, and as steep as it is compliant.
#[test]
fn df_07_held_column_settles_as_springs_in_series_and_free_one_at_rest() {
    let (soft, held_m) = (material(BondLimits::LOOSE), [1.1e-4, -0.7e-4, 0.9e-4]);
    let stiff = VoxelMaterial {
        modulus_pa: 3.0 * soft.modulus_pa,
        ..soft.clone()
    };
    let of = |[_, _, z]: [i32; 3]| u8::from(z > 6);
    let tissue = slab([19, 5, 13], vec![soft, stiff], of);
    let mut nodes = tissue.nodes().clone();
    let mut stencil = Stencil::new(&nodes);
    for slot in 0..nodes.slots() {
        if nodes.site(slot)[2] == 12 {
            stencil.gain[slot as usize] = 0.0;
            for (along, to_m) in held_m.into_iter().enumerate() {
                nodes.displacement_m[along][slot as usize] = to_m as f32;
            }
        }
    }
    relax(&mut nodes, &stencil);
    let at = |z: i32, along: usize| {
        let slot = nodes.at_site([7, 2, z]).expect("there");
        f64::from(nodes.displacement_m[along][slot as usize])
    };
    for (along, held_m) in held_m.into_iter().enumerate() {
        let [soft_m, stiff_m] = [at(5, along) / 5.0, (at(12, along) - at(8, along)) / 4.0];
        assert!((at(2, along) / 2.0 / soft_m - 1.0).abs() < 1e-3, "{along}");
        assert!((soft_m / stiff_m - 3.0).abs() < 1e-2, "{soft_m} {stiff_m}");
        // six soft links, five stiff ones, and one between them
        let between_m = held_m - 6.0 * soft_m - 5.0 * stiff_m;
        let (least, most) = (stiff_m / soft_m, 1.0);
        assert!((least..most).contains(&(between_m / soft_m)), "{between_m}");
    }
    relax(&mut nodes, &Stencil::new(tissue.nodes()));
    let farthest_m = nodes.displacement_m.iter().flatten();
    let farthest_m = farthest_m.fold(0.0_f32, |most, at_m| most.max(at_m.abs()));
    assert!(farthest_m < 1e-9, "{farthest_m}");
}

/// Runs enough passes for a column of some tens of nodes.
fn relax(nodes: &mut VoxelNodes<f32>, stencil: &Stencil) {
    let mut margin_m = vec![-1.0; stencil.runs.len()];
    for sweep in 0..1200 {
        for (index, _) in (0..)
            .zip(&stencil.runs)
            .filter(|(_, run)| run.colour == sweep % 2)
        {
            margin_m[index as usize] = -1.0;
            pass_runs(nodes, stencil, &[index], 1.8, &mut margin_m);
        }
    }
    assert!(stencil.irregular.is_empty());
}
