//! Cells and nodes of a sub-step, chunk by chunk.
//!
//! Source: ours. The cells of a chunk act on its own nodes and on the plane beyond, which belongs to the next
//! chunk. Impulses on that plane are stored separately; they are added when the next chunk's nodes move,
//! after its own cells. So every sum has one order, and the working set of a chunk stays in the cache.

use super::build::Model;
use super::cells::{Buffer, Field, ForcePass, ForceTarget, PassTotals};
use super::grid::{Grid, Motion};
use super::leapfrog::{self, StepFactors};
use super::skin::DueForces;
use super::viscous::{self, Heat, ViscousPass};
use palpate_twin::law::Real;

/// Working memory of all chunks.
#[derive(Debug, Clone)]
pub(super) struct ChunkScratch {
    /// Impulses by grid on the plane beyond each chunk; the last chunk has no such plane.
    overlaps: Vec<Vec<[Field; 3]>>,
    buffer: Buffer,
    /// True if overlaps are added before nodes move, as hanging and coupled nodes require.
    join_before_step: bool,
}

impl ChunkScratch {
    pub(super) fn new(model: &Model) -> Self {
        let overlaps = |grid: &Grid| {
            let plane = || [(); 3].map(|()| vec![0.0; grid.plane]);
            grid.chunks[1..].iter().map(|_| plane()).collect()
        };
        Self {
            overlaps: model.grids.iter().map(overlaps).collect(),
            buffer: Buffer::new(),
            join_before_step: !model.hanging_nodes.is_empty() || model.coupled_inertia.is_some(),
        }
    }

    /// Clears the overlaps.
    pub(super) fn clear(&mut self) {
        let fields = self.overlaps.iter_mut().flatten().flatten();
        fields.for_each(|field| field.fill(0.0));
    }

    /// Adds the forces of the cells that are due. Returns their totals and the energy that viscous ones
    /// dissipated.
    pub(super) fn add_due_forces<const WITH_ENERGY: bool>(
        &mut self,
        due: &DueForces,
        model: &Model,
        motions: &mut [Motion],
        demands: &mut [Field],
    ) -> (PassTotals, f64) {
        let (mut totals, mut dissipated) = (PassTotals::default(), 0.0);
        let fields = motions.iter_mut().zip(&mut self.overlaps).zip(demands);
        for (grid, ((motion, overlaps), demands)) in model.grids.iter().zip(fields) {
            let (u, moduli) = (&motion.u, motion.moduli.each_ref());
            let mut overlaps = overlaps.iter_mut();
            for chunk in &grid.chunks {
                let mut target = ForceTarget {
                    first_node: chunk.places.start,
                    own: motion.f.each_mut().map(|f| &mut f[chunk.places.clone()]),
                    overlap: overlaps.next().map(slices).unwrap_or_default(),
                };
                let (mut own, mut heat) = (PassTotals::default(), Heat::default());
                let slabs = grid.slabs[chunk.slabs.clone()].iter();
                for slab in slabs.filter(|slab| slab.class <= due.class) {
                    let times = f64::from(1_u32 << slab.class);
                    let whole = ForcePass {
                        cells: &grid.cells,
                        moduli,
                        runs: &slab.runs,
                        lanes: None,
                        weight: due.weight * f32::of(times),
                        u,
                    };
                    let buffer = &mut self.buffer;
                    for (law, pass) in grid.passes(slab, whole) {
                        let law = &*model.laws[law];
                        if WITH_ENERGY {
                            own = own.merge(law.add_forces_with_energy(
                                &pass,
                                &mut target,
                                buffer,
                                demands,
                            ));
                        } else {
                            law.add_forces(&pass, &mut target, buffer);
                        }
                    }
                    if let Some(viscous) =
                        grid.viscous.as_ref().filter(|_| !slab.viscous.is_empty())
                    {
                        let viscous_pass = ViscousPass {
                            viscous,
                            dt: f32::of(due.dt * times),
                            pass: ForcePass {
                                runs: &slab.viscous,
                                ..whole
                            },
                        };
                        heat.add(viscous::add_viscous_forces(
                            &viscous_pass,
                            &mut motion.viscous_memory,
                            &mut target,
                            buffer,
                        ));
                    }
                }
                totals = totals.merge(own);
                totals.energy += heat.stored;
                dissipated += heat.dissipated;
            }
        }
        (totals, dissipated)
    }

    /// Adds the overlaps early if all impulses are needed before the nodes move; otherwise they are added
    /// then.
    pub(super) fn join_overlaps_early(&mut self, grids: &[Grid], motions: &mut [Motion]) {
        if self.join_before_step {
            self.join_overlaps(grids, motions);
        }
    }

    fn join_overlaps(&mut self, grids: &[Grid], motions: &mut [Motion]) {
        for (grid, (motion, overlaps)) in
            grids.iter().zip(motions.iter_mut().zip(&mut self.overlaps))
        {
            for (chunk, overlap) in grid.chunks[1..].iter().zip(overlaps) {
                for (f, overlap) in motion.f.iter_mut().zip(overlap) {
                    leapfrog::add_and_clear(&mut f[chunk.places.start..], overlap);
                }
            }
        }
    }

    /// Integrates the nodes whose class is due, except separate rims; the `LAST` time of a tick changes only
    /// their velocities. Returns the energy dissipated by damping.
    pub(super) fn integrate_due<const LAST: bool>(
        &mut self,
        due: usize,
        factors: impl Fn(usize) -> StepFactors,
        grids: &[Grid],
        motions: &mut [Motion],
    ) -> f64 {
        if !self.join_before_step {
            self.join_overlaps(grids, motions);
        }
        let mut dissipated = 0.0;
        for (grid, motion) in grids.iter().zip(motions) {
            for chunk in &grid.chunks {
                let ranges = grid.node_ranges[chunk.node_ranges.clone()].iter();
                let of_chunk = ranges.filter(|range| range.class <= due).map(|range| {
                    leapfrog::integrate::<LAST>(range.nodes.clone(), motion, &factors(range.class))
                });
                // summed by chunk, for reproducible bits
                dissipated += of_chunk.fold(0.0, |sum, own| sum + own);
            }
        }
        dissipated
    }
}

fn slices(fields: &mut [Field; 3]) -> [&mut [f32]; 3] {
    fields.each_mut().map(Vec::as_mut_slice)
}
