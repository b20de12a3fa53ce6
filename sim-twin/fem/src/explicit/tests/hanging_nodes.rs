//! Tests of hanging nodes on the coarser grid.

use super::*;
use std::array::{from_mut, from_ref};

/// Returns a field of whole numbers times `unit`, so that all sums are exact.
fn whole(length: usize, noise: &mut Noise, unit: f32) -> Vec<f32> {
    (0..length)
        .map(|_| (noise.next() * 100.0).floor() as f32 * unit)
        .collect()
}

#[test]
fn hanging_nodes_interpolate_linear_fields_exactly() {
    // the corner of the block too, where three sides do not hang
    for centre in [[0.0; 2], [-0.45, -0.45], [0.45, 0.0]] {
        let nested = nested(0.1, (8, 3), centre);
        let tissue = ExplicitTissue::new(
            &nested,
            &uniform_materials(&nested, 5e3),
            &ExplicitParams::default(),
        )
        .unwrap();
        let model = &tissue.model;
        // the shortest edge is one, so positions are whole numbers
        let linear = |x: [f64; 3]| {
            let [x, y, z] = x.map(f64::round);
            (0.25 * x - 0.5 * y + 0.125 * z + 3.0) as f32
        };
        for (index, hanging) in model.hanging_nodes.iter().enumerate() {
            let (above, fine) = (&model.grids[index], &model.grids[index + 1]);
            let field: Vec<f32> = (0..above.mass.len())
                .map(|n| linear(above.rest_position(n)))
                .collect();
            let mut fine_field = vec![f32::NAN; fine.mass.len()];
            hanging.interpolate(&[field], from_mut(&mut fine_field));
            let mut count = 0;
            for node in (0..fine.count()).filter(|&node| !fine_field[node].is_nan()) {
                assert_eq!(
                    fine_field[node],
                    linear(fine.rest_position(node)),
                    "node {node}"
                );
                assert_eq!(
                    fine.mass[node], 0.0,
                    "a hanging node has no mass of its own"
                );
                count += 1;
            }
            // no node is missing: all sides but those on the border
            let hangs = nested.hanging_sides(index + 1);
            let sides = |node: usize| {
                let (x, low) = (fine.rest_position(node), fine.low);
                (0..6).any(|s| {
                    let (axis, far) = (s / 2, s % 2 == 1);
                    let long = fine.edge[axis] * (fine.nodes[axis] - 1) as f64;
                    let end = low[axis] + if far { long } else { 0.0 };
                    hangs[s] && (x[axis] - end).abs() < 0.1
                })
            };
            let in_plane = |node: &usize| node % fine.plane < fine.nodes[0] * fine.nodes[1];
            let expected = (0..fine.count())
                .filter(in_plane)
                .filter(|&n| sides(n))
                .count();
            assert_eq!(count, expected);
        }
    }
}

#[test]
fn hanging_nodes_conserve_momentum_and_mass() {
    let tissue = tissue((8, 3), &ExplicitParams::default());
    let model = &tissue.model;
    let mut noise = Noise(5);
    for (index, hanging) in model.hanging_nodes.iter().enumerate() {
        let mut above = whole(model.grids[index].mass.len(), &mut noise, 1.0);
        let mut fine = vec![0.0; model.grids[index + 1].mass.len()];
        // only hanging nodes
        let ones = vec![1.0; above.len()];
        hanging.interpolate(&[ones], from_mut(&mut fine));
        for (f, loads) in fine
            .iter_mut()
            .zip(whole(above.len().max(50_000), &mut noise, 16.0))
        {
            *f *= loads;
        }
        let sum = |field: &[f32]| field.iter().copied().map(f64::from).sum::<f64>();
        let loads = sum(&above) + sum(&fine);
        assert!(sum(&fine) > 0.0);
        hanging.add_to_rim(from_mut(&mut above), from_ref(&fine));
        hanging.clear(&mut fine);
        assert_eq!(sum(&fine), 0.0);
        assert_eq!(sum(&above), loads);
    }
    // nodes on the fixed bottom have no mass: half a coarsest cell of it
    let mass: f64 = model
        .grids
        .iter()
        .flat_map(|g| &g.mass)
        .copied()
        .map(f64::from)
        .sum();
    let floor = 0.5 / f64::from(8_u32);
    let expected = model.extent.powi(3) * (1.0 - floor);
    assert!((mass / expected - 1.0).abs() < 1e-5, "{mass} {expected}");
}
