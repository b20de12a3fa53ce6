//! Positions of the surface nodes, updated where runs moved.
//!
//! Source: ours (row RN-01). Surface nodes are listed by run, so a step visits only the runs that moved, however
//! large the surface is.

use crate::index_sets::BitSet;
use crate::nodes::{NONE, VoxelNodes};
use crate::stencil::Stencil;
use palpate_twin::Vec3;

/// Present and rest positions of the surface nodes \[m\]. Allocated once.
#[derive(Debug, Clone, Default)]
pub(super) struct SurfacePositions {
    pub(super) at_m: Vec<Vec3>,
    pub(super) rest_m: Vec<Vec3>,
    /// Vertex indices with their nodes, grouped by run; irregular nodes come last.
    by_run: Vec<[u32; 2]>,
    /// Start of each run's group, and the end of the last group.
    run_start: Vec<u32>,
}

impl SurfacePositions {
    /// Returns an empty list, with capacity for every slot.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            at_m: Vec::with_capacity(slots),
            rest_m: Vec::with_capacity(slots),
            by_run: Vec::with_capacity(slots),
            run_start: Vec::with_capacity(slots + 2),
        }
    }

    /// Rebuilds the list, after the surface or the runs changed.
    pub(super) fn rebuild(&mut self, vertices: &[u32], nodes: &VoxelNodes<f32>, stencil: &Stencil) {
        self.rest_m.clear();
        self.rest_m
            .extend(vertices.iter().map(|&node| nodes.rest_m(node)));
        self.at_m.clear();
        self.at_m
            .extend(vertices.iter().map(|&node| nodes.position_m(node)));
        let irregular = stencil.runs.len();
        let run_of = |node: u32| match stencil.run_of[node as usize] {
            NONE => irregular,
            run => run as usize,
        };
        self.run_start.clear();
        self.run_start.resize(irregular + 2, 0);
        for &node in vertices {
            self.run_start[run_of(node) + 1] += 1;
        }
        for run in 0..=irregular {
            self.run_start[run + 1] += self.run_start[run];
        }
        self.by_run.clear();
        self.by_run.resize(vertices.len(), [NONE; 2]);
        for (number, &node) in (0..).zip(vertices) {
            let run = run_of(node);
            self.by_run[self.run_start[run] as usize] = [number, node];
            self.run_start[run] += 1;
        }
        // each start is now the former end
        self.run_start.copy_within(..=irregular, 1);
        self.run_start[0] = 0;
    }

    /// Updates the positions of the runs that moved, and of irregular nodes.
    pub(super) fn update(&mut self, moved: &BitSet, nodes: &VoxelNodes<f32>, stencil: &Stencil) {
        let mut run = 0;
        while let Some(one) = moved.next(run) {
            self.update_run(one, nodes);
            run = one + 1;
        }
        self.update_run(stencil.runs.len(), nodes);
    }

    /// Updates the vertices of a run.
    fn update_run(&mut self, run: usize, nodes: &VoxelNodes<f32>) {
        let Some(&[from, to]) = self.run_start.get(run..run + 2) else {
            return;
        };
        let listed = self.by_run.get(from as usize..to as usize);
        let [x, y, z] = &nodes.displacement_m;
        for &[number, node] in listed.unwrap_or_default() {
            let (number, slot) = (number as usize, node as usize);
            let there = (self.at_m.get_mut(number), self.rest_m.get(number));
            let moved_m = (x.get(slot), y.get(slot), z.get(slot));
            if let ((Some(at_m), Some(rest_m)), (Some(&x), Some(&y), Some(&z))) = (there, moved_m) {
                *at_m = rest_m + Vec3::from([x, y, z].map(f64::from));
            }
        }
    }
}
