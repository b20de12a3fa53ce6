//! The twin's surface on its way from the servo thread to whoever draws it.
//!
//! [`Painter`] copies a bounded part of it in each tick into a cell that was made before, so a tick pays at most a
//! microsecond or two whatever the mesh, and nothing while nobody watches. Nodes of one picture are therefore up to
//! some tens of milliseconds apart, which no eye sees. Source: ours.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use palpate_transport::mailbox::{LatestReader, LatestWriter, latest};
use palpate_twin::{Vec3, View};

/// Nodes or faces that one tick copies.
const PART: usize = 512;

/// Ticks from one picture to the next at least: 60 Hz.
const TICKS: u32 = 16;

/// How often the mesh may outgrow itself: twice its size at the start.
const GROWTH: usize = 2;

/// A picture of a surface.
#[derive(Debug, Clone, Default)]
pub struct Surface {
    rest_m: Vec<[f32; 3]>,
    positions_m: Vec<[f32; 3]>,
    faces: Vec<[u32; 3]>,
    nodes: usize,
    triangles: usize,
    /// Which mesh its rest and its faces are of.
    revision: u32,
}

impl Surface {
    /// Rest positions of its nodes \[m\].
    #[must_use]
    pub fn rest_m(&self) -> &[[f32; 3]] {
        &self.rest_m[..self.nodes]
    }

    /// Positions of its nodes now \[m\].
    #[must_use]
    pub fn positions_m(&self) -> &[[f32; 3]] {
        &self.positions_m[..self.nodes]
    }

    /// Its faces.
    #[must_use]
    pub fn faces(&self) -> &[[u32; 3]] {
        &self.faces[..self.triangles]
    }

    /// Counts the meshes, from 1: a new one when the number of nodes or faces is another.
    #[must_use]
    pub fn revision(&self) -> u32 {
        self.revision
    }
}

/// The end at the servo thread.
pub struct Painter {
    cell: LatestWriter<Surface>,
    watched: Arc<AtomicBool>,
    revision: u32,
    /// Nodes and faces of the mesh of this revision.
    size: (usize, usize),
    /// Parts done of the picture that is being made.
    part: usize,
    /// Ticks since it was begun.
    ticks: u32,
}

/// A painter of a surface, and where its pictures are found; `watched` says whether any are wanted.
#[must_use]
pub fn painter(view: &View<'_>, watched: Arc<AtomicBool>) -> (Painter, LatestReader<Surface>) {
    let room = |now: usize| GROWTH * now;
    let (cell, pictures) = latest(Surface {
        rest_m: vec![[0.0; 3]; room(view.positions_m.len())],
        positions_m: vec![[0.0; 3]; room(view.positions_m.len())],
        faces: vec![[0; 3]; room(view.faces.len())],
        ..Surface::default()
    });
    let painter = Painter {
        cell,
        watched,
        revision: 0,
        size: (0, 0),
        part: 0,
        ticks: 0,
    };
    (painter, pictures)
}

impl Painter {
    /// Go on with the picture; once a tick.
    pub fn paint(&mut self, view: &View<'_>) {
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
        let picture = self.cell.draft();
        if size.0 > picture.positions_m.len() || size.1 > picture.faces.len() {
            // a mesh that has outgrown its cell is not shown any more
            return;
        }
        let whole = picture.revision == self.revision;
        let parts = size.0.div_ceil(PART);
        let done = if self.part < parts {
            let place = self.part * PART..((self.part + 1) * PART).min(size.0);
            let now_m = &view.positions_m[place.clone()];
            copy(&mut picture.positions_m[place.clone()], now_m);
            if !whole {
                copy(&mut picture.rest_m[place.clone()], &view.rest_m[place]);
            }
            whole && self.part + 1 == parts
        } else {
            let begin = (self.part - parts) * PART;
            let place = begin.min(size.1)..(begin + PART).min(size.1);
            picture.faces[place.clone()].copy_from_slice(&view.faces[place]);
            begin + PART >= size.1
        };
        self.part += 1;
        if done {
            (picture.nodes, picture.triangles) = size;
            picture.revision = self.revision;
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
    use palpate_twin::Ledger;

    use super::*;
    use crate::run::allocation;

    fn nodes(count: usize, z_m: f64) -> Vec<Vec3> {
        (0..count).map(|n| Vec3::new(n as f64, 0.0, z_m)).collect()
    }

    fn view<'a>(now_m: &'a [Vec3], rest_m: &'a [Vec3], faces: &'a [[u32; 3]]) -> View<'a> {
        View {
            positions_m: now_m,
            rest_m,
            faces,
            ledger: Ledger::default(),
            topology: None,
            changes: &[],
            edit: 0,
        }
    }

    #[test]
    fn pictures_are_whole_and_only_made_for_somebody() {
        let (rest_m, now_m) = (nodes(1300, 0.0), nodes(1300, 2.0));
        let faces: Vec<[u32; 3]> = (0..2000).map(|n| [n, n + 1, n + 2]).collect();
        let seen = view(&now_m, &rest_m, &faces);
        let watched = Arc::new(AtomicBool::new(false));
        let (mut painter, mut pictures) = painter(&seen, Arc::clone(&watched));
        for _ in 0..100 {
            painter.paint(&seen);
        }
        assert!(pictures.read_new().is_none(), "nobody watches");
        watched.store(true, Ordering::Relaxed);
        let mut made = 0;
        let before = allocation::count();
        for _ in 0..1000 {
            painter.paint(&seen);
            let Some(picture) = pictures.read_new() else {
                continue;
            };
            made += 1;
            assert_eq!(picture.faces(), &faces[..]);
            assert_eq!((picture.nodes, picture.revision()), (1300, 1));
            let expected = |n: usize, z_m: f32| [n as f32, 0.0, z_m];
            assert!((0..1300).all(|n| picture.positions_m()[n] == expected(n, 2.0)));
            assert!((0..1300).all(|n| picture.rest_m()[n] == expected(n, 0.0)));
        }
        assert_eq!(allocation::count(), before);
        assert!((50..=63).contains(&made), "{made} in a second");
    }

    #[test]
    fn another_mesh_is_another_revision_and_one_too_large_is_not_shown() {
        let (small, large, huge) = (nodes(10, 0.0), nodes(15, 0.0), nodes(21, 0.0));
        let faces = [[0, 1, 2]; 4];
        let first = view(&small, &small, &faces);
        let (mut painter, mut pictures) = painter(&first, Arc::new(AtomicBool::new(true)));
        let mut last = |view: &View<'_>| {
            for _ in 0..50 {
                painter.paint(view);
            }
            pictures.read_new().map(|it| (it.nodes, it.revision()))
        };
        assert_eq!(last(&first), Some((10, 1)));
        assert_eq!(last(&view(&large, &large, &faces)), Some((15, 2)));
        assert_eq!(last(&view(&huge, &huge, &faces)), None);
        assert_eq!(last(&first), Some((10, 4)));
    }
}
