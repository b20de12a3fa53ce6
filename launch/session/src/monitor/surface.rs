//! Surface of the twin, sampled in the servo thread for display.
//!
//! `SurfaceSampler` copies a bounded part per tick into a preallocated cell. So a tick pays at most a microsecond
//! or two for any mesh, and nothing while nobody watches. Nodes of one sample are therefore up to some tens of
//! milliseconds apart, which is not visible. Source: ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_transport::mailbox::{LatestReader, LatestWriter, latest};
use palpate_twin::{TissueView, Vec3};

/// Nodes or faces copied per tick.
const PART: usize = 512;

/// Least ticks between two samples: 60 Hz.
const TICKS: u32 = 16;

/// Capacity of the cell as a multiple of the mesh at the start.
const GROWTH: usize = 2;

/// A sample of a surface.
#[derive(Debug, Clone, Default)]
pub(crate) struct TwinSurface {
    rest_m: Vec<[f32; 3]>,
    positions_m: Vec<[f32; 3]>,
    faces: Vec<[u32; 3]>,
    nodes: usize,
    triangles: usize,
    /// Revision of rest positions and faces, from 1; it changes when the number of nodes or faces does.
    pub(super) revision: u32,
}

impl TwinSurface {
    /// Rest positions of its nodes \[m\].
    #[must_use]
    pub(crate) fn rest_m(&self) -> &[[f32; 3]] {
        &self.rest_m[..self.nodes]
    }

    /// Present positions of its nodes \[m\].
    #[must_use]
    pub(crate) fn positions_m(&self) -> &[[f32; 3]] {
        &self.positions_m[..self.nodes]
    }

    /// Its faces.
    #[must_use]
    pub(crate) fn faces(&self) -> &[[u32; 3]] {
        &self.faces[..self.triangles]
    }
}

/// Sampler of the servo thread.
pub(crate) struct SurfaceSampler {
    cell: LatestWriter<TwinSurface>,
    watched: Arc<AtomicBool>,
    revision: u32,
    /// Nodes and faces of the mesh of this revision.
    size: (usize, usize),
    /// Finished parts of the present sample.
    part: usize,
    /// Ticks since it was started.
    ticks: u32,
}

/// Returns a sampler of a surface, and the receiver of its samples; it samples only while `watched` is true.
pub(crate) fn surface_sampler(
    view: &TissueView<'_>,
    watched: Arc<AtomicBool>,
) -> (SurfaceSampler, LatestReader<TwinSurface>) {
    let room = |now: usize| GROWTH * now;
    let (cell, samples) = latest(TwinSurface {
        rest_m: vec![[0.0; 3]; room(view.positions_m.len())],
        positions_m: vec![[0.0; 3]; room(view.positions_m.len())],
        faces: vec![[0; 3]; room(view.faces.len())],
        ..TwinSurface::default()
    });
    let sampler = SurfaceSampler {
        cell,
        watched,
        revision: 0,
        size: (0, 0),
        part: 0,
        ticks: 0,
    };
    (sampler, samples)
}

impl SurfaceSampler {
    /// Copies the next part; called once a tick.
    pub(crate) fn sample_part(&mut self, view: &TissueView<'_>) {
        self.ticks = self.ticks.saturating_add(1);
        if !self.watched.load(Ordering::Relaxed) {
            self.part = 0;
            return;
        }
        if self.part == 0 {
            if self.ticks < TICKS {
                return;
            }
            self.ticks = 0;
        }
        let size = (view.positions_m.len(), view.faces.len());
        if size != self.size {
            (self.size, self.part) = (size, 0);
            self.revision = self.revision.wrapping_add(1);
        }
        let sample = self.cell.draft();
        if size.0 > sample.positions_m.len() || size.1 > sample.faces.len() {
            // a mesh larger than the cell is no longer shown
            return;
        }
        let mesh_complete = sample.revision == self.revision;
        let parts = size.0.div_ceil(PART);
        let done = if self.part < parts {
            let place = self.part * PART..((self.part + 1) * PART).min(size.0);
            let now_m = &view.positions_m[place.clone()];
            copy(&mut sample.positions_m[place.clone()], now_m);
            if !mesh_complete {
                copy(&mut sample.rest_m[place.clone()], &view.rest_m[place]);
            }
            mesh_complete && self.part + 1 == parts
        } else {
            let begin = (self.part - parts) * PART;
            let place = begin.min(size.1)..(begin + PART).min(size.1);
            sample.faces[place.clone()].copy_from_slice(&view.faces[place]);
            begin + PART >= size.1
        };
        self.part += 1;
        if done {
            (sample.nodes, sample.triangles) = size;
            sample.revision = self.revision;
            self.cell.publish();
            self.part = 0;
        }
    }
}

fn copy(to: &mut [[f32; 3]], from_m: &[Vec3]) {
    for (to, from) in to.iter_mut().zip(from_m) {
        *to = [from.x as f32, from.y as f32, from.z as f32];
    }
}

#[cfg(test)]
mod tests {
    use palpate_twin::TissueEnergy;

    use super::*;
    use crate::run::allocation;

    fn nodes(count: usize, z_m: f64) -> Vec<Vec3> {
        (0..count).map(|n| Vec3::new(n as f64, 0.0, z_m)).collect()
    }

    fn view<'a>(now_m: &'a [Vec3], rest_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> TissueView<'a> {
        TissueView::new(now_m, rest_m, faces, TissueEnergy::default())
    }

    #[test]
    fn samples_are_complete_and_only_taken_if_watched() {
        let (rest_m, now_m) = (nodes(1300, 0.0), nodes(1300, 2.0));
        let faces: Vec<[u32; 3]> = (0..2000).map(|n| [n, n + 1, n + 2]).collect();
        let current = view(&now_m, &rest_m, &faces);
        let watched = Arc::new(AtomicBool::new(false));
        let (mut sampler, mut samples) = surface_sampler(&current, Arc::clone(&watched));
        for _ in 0..100 {
            sampler.sample_part(&current);
        }
        assert!(samples.read_new().is_none(), "nobody watches");
        watched.store(true, Ordering::Relaxed);
        let mut count = 0;
        let before = allocation::count();
        for _ in 0..1000 {
            sampler.sample_part(&current);
            let Some(sample) = samples.read_new() else {
                continue;
            };
            count += 1;
            assert_eq!(sample.faces(), &faces[..]);
            assert_eq!((sample.nodes, sample.revision), (1300, 1));
            let expected = |n: usize, z_m: f32| [n as f32, 0.0, z_m];
            assert!((0..1300).all(|n| sample.positions_m()[n] == expected(n, 2.0)));
            assert!((0..1300).all(|n| sample.rest_m()[n] == expected(n, 0.0)));
        }
        assert_eq!(allocation::count(), before);
        assert!((50..=63).contains(&count), "{count} in a second");
    }

    #[test]
    fn changed_mesh_gets_a_new_revision_and_too_large_is_skipped() {
        let (small, large, huge) = (nodes(10, 0.0), nodes(15, 0.0), nodes(21, 0.0));
        let faces = [[0, 1, 2]; 4];
        let first = view(&small, &small, &faces);
        let (mut sampler, mut samples) = surface_sampler(&first, Arc::new(AtomicBool::new(true)));
        let mut last = |view: &TissueView<'_>| {
            for _ in 0..50 {
                sampler.sample_part(view);
            }
            samples.read_new().map(|it| (it.nodes, it.revision))
        };
        assert_eq!(last(&first), Some((10, 1)));
        assert_eq!(last(&view(&large, &large, &faces)), Some((15, 2)));
        assert_eq!(last(&view(&huge, &huge, &faces)), None);
        assert_eq!(last(&first), Some((10, 4)));
    }
}
