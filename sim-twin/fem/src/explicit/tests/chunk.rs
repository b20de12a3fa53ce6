//! Tests of the division of grids into chunks, and of the sum over chunks.

use super::super::grid::Chunk;
use super::*;

#[test]
fn chunks_partition_a_grid() {
    let tissue = tissue((30, 1), &ExplicitParams::default());
    let grid = &tissue.model.grids[0];
    assert_eq!(grid.chunks.len(), 8);
    let mut next = (0, 0, 0);
    for chunk in &grid.chunks {
        let begun = (
            chunk.places.start,
            chunk.slabs.start,
            chunk.node_ranges.start,
        );
        assert_eq!(begun, next);
        next = (chunk.places.end, chunk.slabs.end, chunk.node_ranges.end);
    }
    assert_eq!(
        next,
        (grid.mass.len(), grid.slabs.len(), grid.node_ranges.len())
    );
}

/// Returns the same tissue with every grid in one chunk.
fn undivided(grids: (u32, usize), params: &ExplicitParams) -> ExplicitTissue {
    let nested = nested(0.1, grids, [0.0; 2]);
    let mut model = Model::new(&nested, &uniform_materials(&nested, 5e3), params).unwrap();
    for grid in &mut model.grids {
        grid.chunks = vec![Chunk {
            slabs: 0..grid.slabs.len(),
            node_ranges: 0..grid.node_ranges.len(),
            places: 0..grid.mass.len(),
        }];
    }
    ExplicitTissue::from_model(Arc::new(model))
}

#[test]
fn chunks_sum_to_the_undivided_grid() {
    for grids in [(12, 1), (12, 3)] {
        let (mut cut, mut whole) = (
            tissue(grids, &ExplicitParams::default()),
            undivided(grids, &ExplicitParams::default()),
        );
        for step in 0..120 {
            let depth_m = 8e-5 * f64::from(step);
            let tool = ball([2e-3, 1e-3, 0.01 - depth_m], 0.01);
            tick(&mut cut, tool);
            tick(&mut whole, tool);
        }
        // a different order of sums changes only the rounding
        for (cut, whole) in cut.state.motions.iter().zip(&whole.state.motions) {
            let most = whole.u[2].iter().fold(0.0_f32, |a, b| a.max(b.abs()));
            let pairs = cut.u.iter().flatten().zip(whole.u.iter().flatten());
            let off = pairs.fold(0.0_f32, |off, (a, b)| off.max((a - b).abs()));
            assert!(most > 0.0 && off < 1e-4 * most, "{off} of {most}");
        }
    }
}
